/*
 * mps_daemon.c - the commands of the control daemon; see mps_daemon.h. mps_control.c is the
 * program.
 */
#include "mps_daemon.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "virtual_gpu.h"

#define SERVER_NOT_READY 807
#define MAX_WORDS        4
#define FOR_GOOD_S       1e12

size_t mps_daemon_clients(const struct mps_daemon *d)
{
	size_t n = 0;

	for (uint32_t i = 0; i < d->lab->n_gpus; i++)
		for (size_t j = 0; j < d->lab->gpus[i].slots; j++)
			n += d->server && d->lab->gpus[i].clients[j].pid &&
			     d->lab->gpus[i].clients[j].server == d->server;
	return n;
}

void mps_daemon_stop_server(struct mps_daemon *d)
{
	if (d->server)
		kill(d->server, SIGTERM);
}

void mps_daemon_child_ended(struct mps_daemon *d, pid_t pid)
{
	if (pid == d->server)
		d->server = 0;
}

static int start_server(struct mps_daemon *d, uid_t uid)
{
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (!pid) {
		if (getuid() == 0 && uid && setuid(uid))
			_exit(1);
		execl(d->server_program, "nvidia-cuda-mps-server", (char *)NULL);
		_exit(1);
	}
	d->server = pid;
	d->uid = uid;
	d->server_pct = d->default_pct;
	return 0;
}

/* Make sure that the server is of this user; another user's server is replaced once it has no
 * clients. */
static int server_for(struct mps_daemon *d, uid_t uid)
{
	if (d->quitting || (getuid() != 0 && uid != getuid()))
		return -EPERM;
	if (d->server && d->uid == uid)
		return 0;
	if (d->server && mps_daemon_clients(d))
		return -EAGAIN;
	mps_daemon_stop_server(d);
	d->server = 0;
	return start_server(d, uid);
}

void mps_daemon_client(struct mps_daemon *d, pid_t pid, uid_t uid, FILE *out)
{
	bool any = false;

	(void)pid;
	if (server_for(d, uid)) {
		fprintf(out, "error %d\n", SERVER_NOT_READY);
		return;
	}
	fprintf(out, "server %d %u ", (int)d->server, (unsigned)fmax(1, floor(d->server_pct)));
	for (int i = 0; i < MPS_MAX_DEVICES; i++) {
		if (d->limits[i][0]) {
			fprintf(out, "%s%d=%s", any ? "," : "", i, d->limits[i]);
			any = true;
		}
	}
	fprintf(out, "%s %s\n", any ? "" : "-", d->uuids);
}

/* The commands; words[0] is the command. */

static bool is_server(const struct mps_daemon *d, const char *word, FILE *out)
{
	if (word && d->server && strtol(word, NULL, 10) == d->server)
		return true;
	fprintf(out, "Server %s not found\n", word ? word : "(none)");
	return false;
}

static void cmd_start_server(struct mps_daemon *d, char **words, FILE *out)
{
	uid_t uid = words[1] && strcmp(words[1], "-uid") == 0 && words[2]
			    ? (uid_t)strtoul(words[2], NULL, 10)
			    : getuid();

	if (server_for(d, uid))
		fprintf(out, "Cannot start a server for user %u\n", (unsigned)uid);
}

static void cmd_server_list(struct mps_daemon *d, char **words, FILE *out)
{
	(void)words;
	if (d->server)
		fprintf(out, "%d\n", (int)d->server);
}

static void each_client(const struct mps_daemon *d, FILE *out, bool table)
{
	for (uint32_t i = 0; i < d->lab->n_gpus; i++) {
		const struct lab_gpu *b = &d->lab->gpus[i];

		for (size_t j = 0; j < b->slots; j++) {
			const struct vgpu_client *c = &b->clients[j];

			if (!c->pid || !d->server || c->server != d->server)
				continue;
			if (table)
				fprintf(out, "%-10d %-6zu %-10d %s\n", (int)c->pid, j,
					(int)c->server, b->uuid);
			else
				fprintf(out, "%d\n", (int)c->pid);
		}
	}
}

static void cmd_client_list(struct mps_daemon *d, char **words, FILE *out)
{
	if (is_server(d, words[1], out))
		each_client(d, out, false);
}

static void cmd_ps(struct mps_daemon *d, char **words, FILE *out)
{
	(void)words;
	fprintf(out, "%-10s %-6s %-10s %s\n", "PID", "ID", "SERVER", "DEVICE");
	each_client(d, out, true);
}

static bool parse_percentage(const char *word, double *out)
{
	char *end = NULL;
	double v = word ? strtod(word, &end) : 0;

	if (!word || *end || !(v > 0 && v <= 100))
		return false;
	*out = v;
	return true;
}

static void cmd_set_default_pct(struct mps_daemon *d, char **words, FILE *out)
{
	if (parse_percentage(words[1], &d->default_pct))
		fprintf(out, "%.1f\n", d->default_pct);
	else
		fputs("The percentage must be above 0 and at most 100\n", out);
}

static void cmd_get_default_pct(struct mps_daemon *d, char **words, FILE *out)
{
	(void)words;
	fprintf(out, "%.1f\n", d->default_pct);
}

static void cmd_set_pct(struct mps_daemon *d, char **words, FILE *out)
{
	if (!is_server(d, words[1], out))
		return;
	if (parse_percentage(words[2], &d->server_pct))
		fprintf(out, "%.1f\n", d->server_pct);
	else
		fputs("The percentage must be above 0 and at most 100\n", out);
}

static void cmd_get_pct(struct mps_daemon *d, char **words, FILE *out)
{
	if (is_server(d, words[1], out))
		fprintf(out, "%.1f\n", d->server_pct);
}

static void cmd_set_limit(struct mps_daemon *d, char **words, FILE *out)
{
	unsigned long device = words[1] ? strtoul(words[1], NULL, 10) : MPS_MAX_DEVICES;
	char unit = 'M', rest;
	unsigned long long size;

	if (device >= MPS_MAX_DEVICES || !words[2] ||
	    sscanf(words[2], "%llu%c%c", &size, &unit, &rest) < 1 || !strchr("KMG", unit)) {
		fputs("A limit is written DEVICE SIZE, the size as in 512M or 2G\n", out);
		return;
	}
	snprintf(d->limits[device], sizeof(d->limits[device]), "%llu%c", size, unit);
	fprintf(out, "%s\n", d->limits[device]);
}

static void cmd_get_limit(struct mps_daemon *d, char **words, FILE *out)
{
	unsigned long device = words[1] ? strtoul(words[1], NULL, 10) : MPS_MAX_DEVICES;

	if (device < MPS_MAX_DEVICES)
		fprintf(out, "%s\n", d->limits[device][0] ? d->limits[device] : "0");
}

/* A terminated client loses its work and gets an error at its next call. */
static void cmd_terminate_client(struct mps_daemon *d, char **words, FILE *out)
{
	pid_t pid = words[1] && words[2] ? (pid_t)strtol(words[2], NULL, 10) : 0;
	bool found = false;

	if (!is_server(d, words[1], out))
		return;
	for (uint32_t i = 0; pid && i < d->lab->n_gpus; i++) {
		struct lab_gpu *b = &d->lab->gpus[i];

		vgpu_lock(d->lab, b);
		for (size_t j = 0; j < b->slots; j++)
			found |= b->clients[j].pid == pid && b->clients[j].server == d->server;
		if (found)
			lab_gpu_fail(b, 0, pid, VGPU_CUDA_MPS_CLIENT_TERMINATED);
		vgpu_unlock(b);
	}
	if (!found)
		fprintf(out, "Client %s not found\n", words[2] ? words[2] : "(none)");
}

static void cmd_shutdown_server(struct mps_daemon *d, char **words, FILE *out)
{
	bool force = words[2] && strcmp(words[2], "-f") == 0;

	if (!is_server(d, words[1], out))
		return;
	if (mps_daemon_clients(d) && !force)
		fputs("The server has clients; it is stopped with -f\n", out);
	else
		mps_daemon_stop_server(d);
}

static void cmd_quit(struct mps_daemon *d, char **words, FILE *out)
{
	bool limited = words[1] && strcmp(words[1], "-t") == 0 && words[2];

	(void)out;
	d->quitting = true;
	d->quit_by_s = vgpu_now(d->lab) + (limited ? strtod(words[2], NULL) : FOR_GOOD_S);
}

static const struct {
	const char *name;
	void (*run)(struct mps_daemon *d, char **words, FILE *out);
} commands[] = {
	{ "start_server", cmd_start_server },
	{ "get_server_list", cmd_server_list },
	{ "get_client_list", cmd_client_list },
	{ "ps", cmd_ps },
	{ "set_default_active_thread_percentage", cmd_set_default_pct },
	{ "get_default_active_thread_percentage", cmd_get_default_pct },
	{ "set_active_thread_percentage", cmd_set_pct },
	{ "get_active_thread_percentage", cmd_get_pct },
	{ "set_default_device_pinned_mem_limit", cmd_set_limit },
	{ "get_default_device_pinned_mem_limit", cmd_get_limit },
	{ "terminate_client", cmd_terminate_client },
	{ "shutdown_server", cmd_shutdown_server },
	{ "quit", cmd_quit },
};

void mps_daemon_command(struct mps_daemon *d, char *line, FILE *out)
{
	char *words[MAX_WORDS + 1] = { NULL }, *word;
	size_t n = 0;

	while (n < MAX_WORDS && (word = strsep(&line, " \t\n")))
		if (*word)
			words[n++] = word;
	if (!n)
		return;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(commands[i].name, words[0]) == 0) {
			commands[i].run(d, words, out);
			return;
		}
	}
	fprintf(out, "Unknown command: %s\n", words[0]);
}
