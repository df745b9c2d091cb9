/*
 * cmd_measure.c - `heshare measure`: run a command and report energy, power and clocks of the GPUs.
 */
#include <errno.h>
#include <inttypes.h>
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
#include "base/json.h"
#include "base/signals.h"
#include "app/catalogue.h"
#include "cli/inputs/inputs.h"
#include "app/gpus_chosen.h"
#include "app/gpus_visible.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/gpu/measure_report.h"

#define MAX_ARGS    4096
#define NOT_FOUND   127 /* as shells say it */
#define NOT_RUN     126
#define INTERRUPTED 130

struct measure_opts {
	const char *gpus, *output, *catalogue, *csv;
	bool json;
	uint64_t runs, warmup;
};

#define AT(member) .offset = offsetof(struct measure_opts, member)

/* clang-format off */
static const struct opt measure_opts[] = {
	{ .name = "gpus", .letter = 'g', .kind = OPT_TEXT, AT(gpus), .arg = "LIST",
	  .help = "measure these GPUs: all, or indices, UUIDs, PCI addresses with commas; without "
		  "it, all" },
	CLI_CATALOGUE_OPT(offsetof(struct measure_opts, catalogue)),
	{ .name = "output", .letter = 'o', .kind = OPT_FILE, AT(output), .arg = "FILE",
	  .written = true,
	  .help = "write the report to this file (-: standard output) instead of standard error" },
	{ .name = "json", .kind = OPT_FLAG, AT(json),
	  .help = "write the report as one JSON document" },
	{ .name = "csv", .kind = OPT_FILE, AT(csv), .arg = "FILE", .written = true,
	  .help = "also write a row for each run and GPU to this CSV file (-: standard output)" },
	{ .name = "runs", .kind = OPT_U64, AT(runs), .arg = "N", .def = "1", .min = 1, .max = 1000,
	  .help = "run the command N times; report mean, standard deviation, least and greatest "
		  "value" },
	{ .name = "warmup", .kind = OPT_U64, AT(warmup), .arg = "K", .def = "0", .max = 1000,
	  .help = "before that, run it K times that do not count" },
	{ 0 }
};
/* clang-format on */

/*
 * Signals are the command's: handed on, and the report comes when it has ended. What a key of the
 * terminal sends has reached the command already.
 */
static const struct {
	int number;
	bool of_terminal;
} handed_on[] = {
	{ SIGINT, true },  { SIGQUIT, true },  { SIGTERM, false },
	{ SIGHUP, false }, { SIGUSR1, false }, { SIGUSR2, false },
};
#define N_HANDED_ON (sizeof(handed_on) / sizeof(handed_on[0]))

static void hand_on(const siginfo_t *signal, pid_t to)
{
	for (size_t i = 0; i < N_HANDED_ON; i++)
		if (handed_on[i].number == signal->si_signo &&
		    !(handed_on[i].of_terminal && hes_signals_of_terminal(signal)))
			kill(to, signal->si_signo);
}

static int start_command(char **argv, pid_t *pid)
{
	posix_spawnattr_t attr;
	int rc;

	posix_spawnattr_init(&attr);
	hes_signals_spawn(&attr, 0);
	rc = posix_spawnp(pid, argv[0], NULL, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	return -rc;
}

/* Whether SIGCONT waits to be read: it ends a stop. timeout and systemd send it after SIGTERM, too.
 */
static bool was_resumed(void)
{
	const struct timespec now = { 0 };
	sigset_t resumed;

	sigemptyset(&resumed);
	sigaddset(&resumed, SIGCONT);
	return sigtimedwait(&resumed, NULL, &now) == SIGCONT;
}

/* @param stopped  set if a signal came that asks to end
 * @return exit status as a shell would tell it; negative: it did not start */
static int run_command(char **argv, bool *stopped, bool *resumed)
{
	int list[N_HANDED_ON + 3] = { SIGCHLD, SIGCONT };
	struct hes_signals taken;
	siginfo_t signal;
	int status = 0, rc;
	pid_t pid;

	for (size_t i = 0; i < N_HANDED_ON; i++)
		list[i + 2] = handed_on[i].number;
	hes_signals_take(&taken, list);
	rc = start_command(argv, &pid);
	while (!rc && waitpid(pid, &status, WNOHANG) == 0)
		if (sigwaitinfo(&taken.set, &signal) > 0) {
			*resumed |= signal.si_signo == SIGCONT;
			*stopped |= signal.si_signo != SIGCHLD && signal.si_signo != SIGCONT &&
				    signal.si_signo != SIGUSR1 && signal.si_signo != SIGUSR2;
			hand_on(&signal, pid);
		}
	*resumed |= was_resumed();
	hes_signals_leave(&taken);
	if (rc)
		return rc;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int write_csv(const char *path, const struct measured_series *s, struct hes_err *err)
{
	struct hes_file file;
	int rc = hes_file_create(&file, path, err);

	if (rc)
		return rc;
	series_csv(file.f, s);
	return hes_file_commit(&file, err);
}

static int write_report(const struct measure_opts *o, const struct measured_series *s, int status,
			struct hes_err *err)
{
	const struct measured_run *first = s->runs;
	struct hes_file file;
	FILE *f = stderr;
	int rc = o->output ? hes_file_create(&file, o->output, err) : 0;

	if (rc)
		return rc;
	if (o->output)
		f = file.f;
	if (o->json) {
		json_t *doc = hes_json_document(
			"heshare-measure", o->runs > 1
						   ? series_json(s, status)
						   : measure_json(first, s->n_gpus, s->period_s));

		json_dumpf(doc, f, JSON_INDENT(2) | JSON_REAL_PRECISION(10));
		fputc('\n', f);
		json_decref(doc);
	} else if (o->runs > 1) {
		series_text(f, s);
	} else {
		measure_text(f, first, s->n_gpus);
	}
	rc = o->output ? hes_file_commit(&file, err) : 0;
	return rc || !o->csv ? rc : write_csv(o->csv, s, err);
}

/* One run of the command, between the two ends of a window. @return 0; negative: nothing can be
 * measured */
static int measure_run(struct hes_meter *meter, char **argv, size_t n_gpus, struct measured_run *r,
		       bool *stopped, struct hes_err *err)
{
	struct hes_measured *m = calloc(n_gpus + 1, sizeof(*m));
	struct hes_window *w = NULL;
	int rc = m ? hes_window_begin(meter, &w, err)
		   : hes_fail(err, -ENOMEM, "no memory to measure %zu GPUs", n_gpus);

	if (!rc) {
		const double start = hes_monotonic_s();

		r->status = run_command(argv, stopped, &r->resumed);
		r->seconds = hes_monotonic_s() - start;
		hes_window_end(w, m);
		for (size_t i = 0; i < n_gpus; i++)
			r->gpus[i].m = m[i];
	}
	free(m);
	return rc;
}

/* Say why the series ends with this run. */
static void say_run_failed(const struct measure_opts *o, uint64_t i, const struct measured_run *r,
			   bool stopped)
{
	const bool warm = i < o->warmup;

	fprintf(stderr, "heshare measure: %s %" PRIu64 " of %" PRIu64 " ", warm ? "warm-up" : "run",
		warm ? i + 1 : i + 1 - o->warmup, warm ? o->warmup : o->runs);
	if (stopped)
		fputs("was interrupted and does not count\n", stderr);
	else
		fprintf(stderr, "ended with exit status %d and does not count; the runs end here\n",
			r->status);
}

/*
 * Warm up and run as often as requested, until a run fails or a signal says to stop. A run alone
 * counts however it ends.
 * @return the last exit status; negative: nothing can be measured
 */
static int measure_runs(const struct measure_opts *o, struct hes_meter *meter, char **argv,
			struct measured_series *s, struct hes_err *err)
{
	const bool alone = o->runs == 1;
	int status = 0;

	for (uint64_t i = 0; i < o->warmup + o->runs; i++) {
		struct measured_run *r = &s->runs[s->n_runs];
		bool stopped = false;
		int rc = measure_run(meter, argv, s->n_gpus, r, &stopped, err);

		if (rc)
			return rc;
		if (r->status < 0) {
			fprintf(stderr, "heshare measure: %s: %s\n", argv[0], strerror(-r->status));
			return r->status == -ENOENT ? NOT_FOUND : NOT_RUN;
		}
		status = r->status;
		if ((status || stopped) && !(alone && i >= o->warmup)) {
			say_run_failed(o, i, r, stopped);
			return status ? status : INTERRUPTED;
		}
		s->n_runs += i >= o->warmup;
	}
	return status;
}

static void series_free(struct measured_series *s, size_t n)
{
	for (size_t i = 0; s->runs && i < n; i++)
		free(s->runs[i].gpus);
	free(s->runs);
}

static int series_init(struct measured_series *s, const struct hes_devices *d, const size_t *gpus,
		       struct hes_err *err)
{
	s->runs = calloc(s->requested, sizeof(*s->runs));
	for (size_t i = 0; s->runs && i < s->requested; i++) {
		struct measured_gpu *b = calloc(s->n_gpus + 1, sizeof(*b));
		int rc = b ? 0
			   : hes_fail(err, -ENOMEM, "no memory for %" PRIu64 " runs", s->requested);

		s->runs[i].gpus = b;
		if (!rc && i > 0)
			memcpy(b, s->runs[0].gpus, s->n_gpus * sizeof(*b));
		for (size_t g = 0; !rc && i == 0 && g < s->n_gpus; g++) {
			b[g].index = gpus[g];
			rc = hes_device_info(d, gpus[g], &b[g].info, err);
		}
		if (rc)
			return rc;
	}
	return s->runs ? 0 : hes_fail(err, -ENOMEM, "no memory for %" PRIu64 " runs", s->requested);
}

/* @return the command's exit status; negative: nothing can be measured */
static int measure(const struct measure_opts *o, const struct hes_devices *d, const size_t *gpus,
		   size_t n, char **argv, struct hes_err *err)
{
	struct measured_series s = { .n_gpus = n, .requested = o->runs, .warmup = o->warmup };
	struct hes_meter *meter = NULL;
	int status, rc = series_init(&s, d, gpus, err);

	if (!rc)
		rc = hes_meter_start(&meter, d, gpus, n, err);
	status = rc ? rc : measure_runs(o, meter, argv, &s, err);
	if (meter)
		s.period_s = hes_meter_period_s(meter);
	hes_meter_stop(meter);
	if (s.n_runs > 0 && status >= 0)
		rc = write_report(o, &s, status, err);
	series_free(&s, s.requested);
	return rc ? rc : status;
}

/* The command is not to be taken for a file. */
static int check_csv(const struct measure_opts *o, struct hes_err *err)
{
	if (o->csv && access(o->csv, X_OK) == 0)
		return hes_fail(
			err, -EEXIST,
			"--csv: %.100s is a program or folder; --csv takes the FILE for the "
			"rows, and the command comes after --",
			o->csv);
	return 0;
}

static int run_measure(const struct call *call, struct hes_err *err)
{
	const struct measure_opts *o = call->opts;
	struct hes_devices *d = NULL;
	struct hes_catalogue c = { 0 };
	size_t *gpus = NULL, n = 0;
	int rc = check_csv(o, err);

	if (!rc)
		rc = gpus_check(o->gpus, err);
	if (!rc)
		rc = app_catalogue_load(cli_app(), o->catalogue, true, &c, err);
	if (!rc)
		rc = app_devices_open(cli_app(), &c, &d, err);
	hes_catalogue_free(&c);
	if (!rc)
		rc = gpus_choose(cli_app(), d, o->gpus, GPUS_READ, &gpus, &n, err);
	if (!rc)
		rc = measure(o, d, gpus, n, call->args, err);
	hes_devices_close(d);
	free(gpus);
	return rc;
}

const struct command cmd_measure = {
	.name = "measure",
	.args = "[--] COMMAND [ARGUMENT]...",
	.min_args = 1,
	.max_args = MAX_ARGS,
	.summary = "measure joules, watts and clocks of the GPUs while a command runs",
	.text = "Runs COMMAND and reports for each GPU, for all programs together: joules, mean "
		"and peak power, and the mean SM clock. It also reports the part of the time in "
		"which power or heat lowered the clock, and the part with a kernel running. Joules "
		"come from the energy counter, or else from the integral of power. With GPM "
		"(Hopper and newer) or DCGM also the use of SMs and of memory bandwidth.\n\n"
		"GPUs are sampled as often as their sensors refresh, every 20 to 100 ms, so "
		"measure commands of many seconds. Time without readings is reported as a gap.\n\n"
		"With --runs, the report has means over the runs; runs end with the first that "
		"fails or is interrupted, which does not count.\n\n"
		"Signals are passed to COMMAND. The exit status is that of COMMAND, or 128 plus "
		"the number of a signal that ended it. It is 126 or 127 if it could not start, 1 "
		"if nothing can be measured.",
	.example = "  heshare measure -- python3 train.py --epochs 1\n"
		   "  heshare measure --gpus 0,2 --json -o joules.json -- ./job.sh\n"
		   "  heshare measure --runs 10 --warmup 2 -- ./job.sh",
	.opts = measure_opts,
	.opts_size = sizeof(struct measure_opts),
	.run = run_measure,
};
