/*
 * mps.c - start and control MPS daemons through nvidia-cuda-mps-control; see heshare/mps.h.
 */
#include "heshare/mps.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "gpu/mps_answer.h"
#include "gpu/spawn.h"

#define CONTROL    "nvidia-cuda-mps-control"
#define ANSWER_MS  5000  /* for an answer of a running daemon */
#define START_MS   60000 /* for a daemon to start: loading the driver can take seconds */
#define QUIT_MS    5000  /* for a daemon to end after the grace of its clients */
#define LOOK_MS    10
#define ANSWER_MAX 8192
#define ROWS       3

/* The environment that selects the daemon of @m. */
static void mps_environment(const struct hes_mps *m, char rows[ROWS][HES_MPS_VARIABLE_MAX],
			    const char *out[ROWS + 1])
{
	snprintf(rows[0], sizeof(rows[0]), "CUDA_MPS_PIPE_DIRECTORY=%s", m->pipe_dir);
	snprintf(rows[1], sizeof(rows[1]), "CUDA_MPS_LOG_DIRECTORY=%s", m->log_dir);
	snprintf(rows[2], sizeof(rows[2]), "CUDA_VISIBLE_DEVICES=%s", m->uuid);
	for (int i = 0; i < ROWS; i++)
		out[i] = rows[i];
	out[ROWS] = NULL;
}

static int mps_call(const struct hes_mps *m, const char *flag, const char *input, char *out,
		    size_t size, int *status, struct hes_err *err)
{
	char rows[ROWS][HES_MPS_VARIABLE_MAX], control[] = CONTROL, option[4] = "";
	const char *variables[ROWS + 1];
	char *argv[] = { control, flag ? option : NULL, NULL };
	int rc;

	mps_environment(m, rows, variables);
	if (flag)
		snprintf(option, sizeof(option), "%s", flag);
	rc = hes_spawn(argv, variables, input, NULL, 0, flag ? START_MS : ANSWER_MS, out, size,
		       status, err);
	if (rc == -ENOENT)
		return hes_fail(err, rc, "%s is not on this machine; it comes with NVIDIA's driver",
				CONTROL);
	return rc;
}

static int mps_command(const struct hes_mps *m, const char *line, char *out, size_t size,
		       struct hes_err *err)
{
	char input[256];
	int status = 0, rc;

	snprintf(input, sizeof(input), "%s\n", line);
	rc = mps_call(m, NULL, input, out, size, &status, err);
	if (rc)
		return rc;
	return status ? hes_fail(err, -EPIPE, "%s: no MPS control daemon answers there",
				 m->pipe_dir)
		      : 0;
}

static void pause_ms(int ms)
{
	struct timespec t = { .tv_nsec = ms * 1000000l };

	nanosleep(&t, NULL);
}

bool hes_mps_alive(const struct hes_mps *m)
{
	char out[ANSWER_MAX];

	return !mps_command(m, "get_server_list", out, sizeof(out), NULL);
}

static int mps_folder(char *out, const char *dir, const char *name, struct hes_err *err)
{
	if (snprintf(out, HES_MPS_PATH_MAX, "%s/%s", dir, name) >= HES_MPS_PATH_MAX)
		return hes_fail(err, -ENAMETOOLONG, "%s: the name is too long for a folder of MPS",
				dir);
	/* Jobs of any user connect to the daemon; the daemon decides whom it serves. */
	if (mkdir(out, 0755) ? errno != EEXIST : chmod(out, 0755))
		return hes_fail(err, -errno, "%s: %s", out, strerror(errno));
	return 0;
}

int hes_mps_start(struct hes_mps *out, const char *uuid, const char *dir, struct hes_err *err)
{
	struct hes_mps m = { 0 };
	char text[ANSWER_MAX];
	int status = 0, rc = mps_folder(m.pipe_dir, dir, "pipe", err);

	if (!rc)
		rc = mps_folder(m.log_dir, dir, "log", err);
	if (rc)
		return rc;
	snprintf(m.uuid, sizeof(m.uuid), "%s", uuid);
	if (hes_mps_alive(&m))
		return hes_fail(err, -EEXIST, "%s: an MPS control daemon runs there already",
				m.pipe_dir);
	rc = mps_call(&m, "-d", "", text, sizeof(text), &status, err);
	if (rc)
		return rc;
	text[strcspn(text, "\n")] = '\0';
	if (status)
		return hes_fail(err, -EIO, "%s -d for %s failed: %s", CONTROL, uuid, text);
	for (int waited = 0; !hes_mps_alive(&m); waited += LOOK_MS) {
		if (waited >= START_MS)
			return hes_fail(err, -ETIMEDOUT,
					"%s: the MPS control daemon does not answer; see %s",
					m.pipe_dir, m.log_dir);
		pause_ms(LOOK_MS);
	}
	*out = m;
	return 0;
}

size_t hes_mps_processes_read(const char *text, pid_t *out, size_t max)
{
	size_t n = 0;

	for (const char *at = text; *at; at += *at == '\n') {
		const char *first = at + strspn(at, " \t");
		long v = *first >= '0' && *first <= '9' ? strtol(first, NULL, 10) : 0;

		/* A larger number would be another process once it is cut to a pid_t. */
		if (v > 0 && v <= INT_MAX) {
			if (n < max)
				out[n] = (pid_t)v;
			n++;
		}
		at += strcspn(at, "\n");
	}
	return n;
}

int hes_mps_server(const struct hes_mps *m, pid_t *out, struct hes_err *err)
{
	char text[ANSWER_MAX];
	pid_t pid;
	int rc = mps_command(m, "get_server_list", text, sizeof(text), err);

	if (rc)
		return rc;
	if (!hes_mps_processes_read(text, &pid, 1))
		return hes_fail(err, -ESRCH, "%s: no MPS server runs: no client has come yet",
				m->pipe_dir);
	*out = pid;
	return 0;
}

long hes_mps_clients(const struct hes_mps *m, pid_t *out, size_t max, struct hes_err *err)
{
	char line[64], text[ANSWER_MAX];
	pid_t server;
	int rc = hes_mps_server(m, &server, err);

	if (rc)
		return rc == -ESRCH ? 0 : rc;
	snprintf(line, sizeof(line), "get_client_list %d", (int)server);
	rc = mps_command(m, line, text, sizeof(text), err);
	return rc ? rc : (long)hes_mps_processes_read(text, out, max);
}

int hes_mps_terminate(const struct hes_mps *m, pid_t client, struct hes_err *err)
{
	char line[64], text[ANSWER_MAX];
	pid_t server;
	int rc = hes_mps_server(m, &server, err);

	if (rc)
		return rc;
	snprintf(line, sizeof(line), "terminate_client %d %d", (int)server, (int)client);
	return mps_command(m, line, text, sizeof(text), err);
}

int hes_mps_quit(const struct hes_mps *m, unsigned grace_s, struct hes_err *err)
{
	char line[32], text[ANSWER_MAX];
	int rc;

	snprintf(line, sizeof(line), "quit -t %u", grace_s);
	rc = mps_command(m, line, text, sizeof(text), err);
	if (rc)
		return rc;
	for (int waited = 0; hes_mps_alive(m); waited += LOOK_MS) {
		if (waited >= QUIT_MS + (int)grace_s * 1000)
			return hes_fail(err, -ETIMEDOUT, "%s: the MPS control daemon does not end",
					m->pipe_dir);
		pause_ms(LOOK_MS);
	}
	return 0;
}

size_t hes_mps_variables(const struct hes_mps *m, unsigned pct, uint32_t memory_mib,
			 char out[4][HES_MPS_VARIABLE_MAX])
{
	size_t n = 0;

	snprintf(out[n++], HES_MPS_VARIABLE_MAX, "CUDA_MPS_PIPE_DIRECTORY=%s", m->pipe_dir);
	snprintf(out[n++], HES_MPS_VARIABLE_MAX, "CUDA_MPS_LOG_DIRECTORY=%s", m->log_dir);
	if (pct)
		snprintf(out[n++], HES_MPS_VARIABLE_MAX, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=%u",
			 pct);
	if (memory_mib)
		snprintf(out[n++], HES_MPS_VARIABLE_MAX, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=%uM",
			 memory_mib);
	return n;
}
