/*
 * cmd_measure.c - `heshare measure`: run a command and report energy, power and clocks of the GPUs.
 */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "cli/inputs/catalogue.h"
#include "cli/inputs/gpu_list.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/gpu/measure_report.h"

#define MAX_ARGS 4096
#define NOT_FOUND 127   /* as shells say it */
#define NOT_RUN   126

struct measure_opts {
	const char *gpus, *output;
	bool       json;
};

#define AT(member) .offset = offsetof(struct measure_opts, member)

static const struct opt measure_opts[] = {
	{ .name = "gpus", .letter = 'g', .kind = OPT_TEXT, AT(gpus), .arg = "LIST",
	  .help = "measure these GPUs: all, or indices, UUIDs, PCI addresses with commas; without it, all" },
	{ .name = "output", .letter = 'o', .kind = OPT_FILE, AT(output), .arg = "FILE",
	  .help = "write the report to this file (-: standard output) instead of standard error" },
	{ .name = "json", .kind = OPT_FLAG, AT(json), .help = "write the report as one JSON document" },
	{ 0 }
};

/*
 * Signals are the command's: handed on, and the report comes when it has ended. What a key of the
 * terminal sends has reached the command already.
 */
static const struct {
	int  number;
	bool of_terminal;
} handed_on[] = {
	{ SIGINT, true }, { SIGQUIT, true }, { SIGTERM, false }, { SIGHUP, false }, { SIGUSR1, false }, { SIGUSR2, false },
};
#define N_HANDED_ON (sizeof(handed_on) / sizeof(handed_on[0]))

static void hand_on(const siginfo_t *signal, pid_t to)
{
	for (size_t i = 0; i < N_HANDED_ON; i++)
		if (handed_on[i].number == signal->si_signo && !(handed_on[i].of_terminal && signal->si_code == SI_KERNEL))
			kill(to, signal->si_signo);
}

static int start_command(char **argv, const sigset_t *before, pid_t *pid)
{
	posix_spawnattr_t attr;
	int rc;

	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, before);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	rc = posix_spawnp(pid, argv[0], NULL, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	return -rc;
}

/* @return exit status as a shell would tell it; negative: it did not start */
static int run_command(char **argv)
{
	sigset_t set, before;
	siginfo_t signal;
	int status = 0, rc;
	pid_t pid;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (size_t i = 0; i < N_HANDED_ON; i++)
		sigaddset(&set, handed_on[i].number);
	pthread_sigmask(SIG_BLOCK, &set, &before);
	rc = start_command(argv, &before, &pid);
	while (!rc && waitpid(pid, &status, WNOHANG) == 0)
		if (sigwaitinfo(&set, &signal) > 0)
			hand_on(&signal, pid);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc)
		return rc;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int write_report(const struct measure_opts *o, const struct measured_gpu *b, size_t n, double seconds,
			double period_s, int status, struct hes_err *err)
{
	struct hes_file file;
	FILE *f = stderr;
	int rc = o->output ? hes_file_create(&file, o->output, err) : 0;

	if (rc)
		return rc;
	if (o->output)
		f = file.f;
	if (o->json) {
		json_t *doc = measure_json(b, n, seconds, period_s, status);

		json_dumpf(doc, f, JSON_INDENT(2) | JSON_REAL_PRECISION(10));
		fputc('\n', f);
		json_decref(doc);
	} else {
		measure_text(f, b, n, seconds);
	}
	return o->output ? hes_file_commit(&file, err) : 0;
}

/* The command between the two ends of a window. @return its exit status, or negative */
static int measure(const struct measure_opts *o, const struct hes_devices *d, const size_t *gpus, size_t n,
		   char **argv, struct hes_err *err)
{
	struct measured_gpu *b = calloc(n + 1, sizeof(*b));
	struct hes_measured *m = calloc(n + 1, sizeof(*m));
	struct hes_meter *meter = NULL;
	struct hes_window *w = NULL;
	double start = 0, period = 0;
	int status = 0, rc = b && m ? 0 : hes_fail(err, -ENOMEM, "no memory to measure %zu GPUs", n);

	for (size_t i = 0; !rc && i < n; i++) {
		b[i].index = gpus[i];
		rc = hes_device_info(d, gpus[i], &b[i].info, err);
	}
	if (!rc)
		rc = hes_meter_start(&meter, d, gpus, n, err);
	if (!rc)
		rc = hes_window_begin(meter, &w, err);
	if (!rc) {
		start = hes_monotonic_s();
		status = run_command(argv);
		start = hes_monotonic_s() - start;
		period = hes_meter_period_s(meter);
		hes_window_end(w, m);
	}
	hes_meter_stop(meter);
	for (size_t i = 0; !rc && i < n; i++)
		b[i].m = m[i];
	if (!rc && status < 0)
		fprintf(stderr, "heshare measure: %s: %s\n", argv[0], strerror(-status));
	else if (!rc)
		rc = write_report(o, b, n, start, period, status, err);
	free(b);
	free(m);
	if (status < 0)
		status = status == -ENOENT ? NOT_FOUND : NOT_RUN;
	return rc ? rc : status;
}

static int run_measure(const void *opts, int n_args, char **args)
{
	const struct measure_opts *o = opts;
	char **argv = calloc((size_t)n_args + 1, sizeof(*argv));
	struct hes_devices *d = NULL;
	struct hes_catalogue c = { 0 };
	size_t *gpus = NULL, n = 0;
	struct hes_err err = { 0 };
	int rc = argv ? cli_catalogue_load(NULL, false, &c, &err) : hes_fail(&err, -ENOMEM, "no memory for the command");

	if (!rc)
		rc = hes_devices_open(&c, &d, &err);
	hes_catalogue_free(&c);
	if (!rc)
		rc = gpus_choose(d, o->gpus, &gpus, &n, &err);
	if (!rc) {
		memcpy(argv, args, (size_t)n_args * sizeof(*argv));
		rc = measure(o, d, gpus, n, argv, &err);
	}
	if (rc < 0)
		rc = cli_fail("measure", &err);
	hes_devices_close(d);
	free(gpus);
	free(argv);
	return rc;
}

const struct command cmd_measure = {
	.name = "measure",
	.args = "[--] COMMAND [ARGUMENT]...",
	.min_args = 1,
	.max_args = MAX_ARGS,
	.summary = "measure joules, watts and clocks of the GPUs while a command runs",
	.text = "Runs COMMAND and reports for each GPU, for all programs together: joules, from the energy counter\n"
		"or else from the integral of power; mean and peak power; the mean SM clock; the part of the time\n"
		"in which power or heat lowered the clock; the part with a kernel running. With GPM (Hopper and\n"
		"newer) or DCGM also the use of SMs and of memory bandwidth.\n"
		"\n"
		"GPUs are sampled as often as their sensors refresh, every 20 to 100 ms, so measure commands of\n"
		"many seconds. Time without readings is reported as a gap.\n"
		"\n"
		"Signals are passed to COMMAND. The exit status is that of COMMAND: 128 plus the number of a signal\n"
		"that ended it; 126 or 127 if it could not start; 1 if nothing can be measured.",
	.example = "  heshare measure -- python3 train.py --epochs 1\n"
		   "  heshare measure --gpus 0,2 --json -o joules.json -- ./job.sh",
	.opts = measure_opts,
	.opts_size = sizeof(struct measure_opts),
	.run = run_measure,
};
