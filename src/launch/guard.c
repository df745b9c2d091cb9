/*
 * guard.c - the program's side: start the guard, send it changes, start another when it has died;
 * see guard.h.
 *
 * The program has the same undo log. A change without an answer is sent again to the next guard;
 * every message may be sent twice without harm.
 */
#include "launch/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/signals.h"
#include "launch/undo_log.h"
#include "launch/guard_wire.h"
#include "launch/process.h"

#define CHANGE_MS 10000 /* longest wait for the answer to a change */
#define WORK_MS \
	30000 /* longest wait for undoing all: twice LAST_MS of guard_undo.c, and the settings */
#define STOPPED_MS 3000 /* longest wait for a guard that is stopped */
#define LOOK_MS    100  /* between two checks whether it is stopped */
#define END_MS     5000 /* longest wait for its end after the last answer */

struct hes_guard {
	char **argv;
	char *folder;
	int channel, watch; /* -1: none */
	pid_t pid;
	struct hes_undo_log log;
};

static void free_words(char **argv)
{
	for (size_t i = 0; argv && argv[i]; i++)
		free(argv[i]);
	free(argv);
}

static char **copy_words(const char *const *argv)
{
	size_t n = 0;
	char **out;

	while (argv[n])
		n++;
	out = calloc(n + 1, sizeof(*out));
	for (size_t i = 0; out && i < n; i++) {
		out[i] = strdup(argv[i]);
		if (!out[i]) {
			free_words(out);
			return NULL;
		}
	}
	return out;
}

/* Start it in its own session, with the channel as input; it closes our other descriptors itself.
 */
static int guard_spawn(struct hes_guard *g, int channel)
{
	posix_spawn_file_actions_t act;
	posix_spawnattr_t attr;
	int rc;

	posix_spawnattr_init(&attr);
	hes_signals_spawn(&attr, POSIX_SPAWN_SETSID);
	posix_spawn_file_actions_init(&act);
	posix_spawn_file_actions_adddup2(&act, channel, STDIN_FILENO);
	posix_spawn_file_actions_addopen(&act, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&act, STDOUT_FILENO, STDERR_FILENO);
	rc = posix_spawnp(&g->pid, g->argv[0], &act, &attr, g->argv, environ);
	posix_spawn_file_actions_destroy(&act);
	posix_spawnattr_destroy(&attr);
	return -rc;
}

static void guard_lose(struct hes_guard *g)
{
	if (g->pid > 0) {
		if (g->watch >= 0)
			syscall(SYS_pidfd_send_signal, g->watch, SIGKILL, NULL, 0);
		while (waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (g->channel >= 0)
		close(g->channel);
	if (g->watch >= 0)
		close(g->watch);
	g->channel = g->watch = -1;
	g->pid = 0;
}

/* @return whether an answer or the end of the channel came within @limit_ms; false also if the
 * guard is stopped */
static bool guard_await_answer(const struct hes_guard *g, int limit_ms)
{
	struct pollfd fd = { .fd = g->channel, .events = POLLIN };
	int64_t from = hes_monotonic_ms(), ran = from, now;
	struct hes_proc s;

	while ((now = hes_monotonic_ms()) - from < limit_ms && now - ran < STOPPED_MS) {
		if (poll(&fd, 1, LOOK_MS) > 0)
			return true;
		if (hes_proc_read(g->pid, &s) || !s.stopped)
			ran = now;
	}
	return false;
}

/* Send @text and receive the answer. @return 0; -EPIPE the guard is gone or does not answer; the
 * guard's error */
static int guard_request(struct hes_guard *g, const char *text, int limit_ms, char *answer,
			 size_t size, struct hes_err *err)
{
	ssize_t n = -1;

	if (g->channel >= 0 &&
	    send(g->channel, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) {
		if (!guard_await_answer(g, limit_ms))
			return hes_fail(err, -EPIPE, "the guard, process %d, does not answer",
					(int)g->pid);
		n = recv(g->channel, answer, size - 1, 0);
	}
	if (n <= 0)
		return hes_fail(err, -EPIPE, "the guard is gone");
	answer[n] = '\0';
	return hes_guard_answer_read(answer, err);
}

static int guard_begin(struct hes_guard *g, bool keep, struct hes_undone *undone,
		       struct hes_err *err)
{
	char text[HES_GUARD_TEXT_MAX], answer[HES_GUARD_TEXT_MAX];
	struct hes_undone m = { 0 };
	int ends[2], rc;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return hes_fail(err, -errno, "a socket: %s", strerror(errno));
	g->channel = ends[0];
	rc = guard_spawn(g, ends[1]);
	close(ends[1]);
	if (rc)
		return hes_fail(err, rc, "%s: %s", g->argv[0], strerror(-rc));
	g->watch = (int)syscall(SYS_pidfd_open, g->pid, 0);
	if (g->watch < 0)
		return hes_fail(err, -errno, "watching the guard: %s",
				errno == ENOSYS ? "Linux 5.3 or newer is needed" : strerror(errno));
	snprintf(text, sizeof(text), "%s %s", keep ? "keep" : "fresh", g->folder);
	rc = guard_request(g, text, keep ? CHANGE_MS : WORK_MS, answer, sizeof(answer), err);
	if (rc)
		return rc == -EPIPE ? hes_fail(err, rc, "the guard, %s, ended before it began",
					       g->argv[0])
				    : rc;
	hes_undone_read(answer, &m);
	if (undone)
		*undone = m;
	return 0;
}

static void free_guard(struct hes_guard *g)
{
	free_words(g->argv);
	free(g->folder);
	hes_undo_log_free(&g->log);
	free(g);
}

int hes_guard_start(struct hes_guard **out, const char *const *argv, const char *folder,
		    struct hes_undone *undone, struct hes_err *err)
{
	struct hes_guard *g = calloc(1, sizeof(*g));
	int rc = 0;

	if (!g)
		return hes_fail(err, -ENOMEM, "no memory for a guard");
	g->channel = g->watch = -1;
	g->argv = copy_words(argv);
	g->folder = realpath(folder, NULL);
	if (!g->folder)
		rc = hes_fail(err, -errno, "%s: %s", folder, strerror(errno));
	else if (!g->argv || !g->argv[0])
		rc = hes_fail(err, -EINVAL, "no program to be the guard");
	if (!rc)
		rc = guard_begin(g, false, undone, err);
	if (rc && g->folder)
		hes_fail_in(err, "%s", g->folder);
	if (rc) {
		guard_lose(g);
		free_guard(g);
		return rc;
	}
	*out = g;
	return 0;
}

int hes_guard_fd(const struct hes_guard *g)
{
	return g->watch;
}

const struct hes_undo_log *hes_guard_log(const struct hes_guard *g)
{
	return &g->log;
}

static int send_change(struct hes_guard *g, char sign, const struct hes_undo *d,
		       struct hes_err *err)
{
	char entry[HES_UNDO_LINE_MAX], text[HES_UNDO_LINE_MAX + 4], answer[HES_GUARD_TEXT_MAX];
	int rc = hes_undo_format(d, entry, err);

	if (rc)
		return rc;
	snprintf(text, sizeof(text), "%c %s", sign, entry);
	return guard_request(g, text, CHANGE_MS, answer, sizeof(answer), err);
}

static int guard_begin_another(struct hes_guard *g, struct hes_err *err)
{
	int rc;

	guard_lose(g);
	rc = guard_begin(g, true, NULL, err);
	for (size_t i = 0; !rc && i < g->log.n; i++)
		rc = send_change(g, '+', &g->log.v[i], err);
	if (rc)
		guard_lose(g);
	return rc ? rc : 1;
}

int hes_guard_renew(struct hes_guard *g, struct hes_err *err)
{
	struct pollfd fd = { .fd = g->watch, .events = POLLIN };

	if (g->watch >= 0 && poll(&fd, 1, 0) == 0)
		return 0;
	return guard_begin_another(g, err);
}

/* Send a change to the guard, or to the next one. */
static int send_change_again(struct hes_guard *g, char sign, const struct hes_undo *d,
			     struct hes_err *err)
{
	int rc = send_change(g, sign, d, err);

	for (int i = 0; i < 3 && rc == -EPIPE; i++) {
		rc = guard_begin_another(g, err);
		if (rc > 0)
			rc = send_change(g, sign, d, err);
	}
	return rc;
}

int hes_guard_register(struct hes_guard *g, const struct hes_undo *d, struct hes_err *err)
{
	int rc;

	if (hes_undo_log_find(&g->log, d) >= 0)
		return 0;
	rc = send_change_again(g, '+', d, err);
	return rc ? rc : hes_undo_log_add(&g->log, d, err);
}

int hes_guard_unregister(struct hes_guard *g, const struct hes_undo *d, struct hes_err *err)
{
	long i = hes_undo_log_find(&g->log, d);
	int rc;

	if (i < 0)
		return 0;
	rc = send_change_again(g, '-', d, err);
	if (!rc)
		hes_undo_log_remove(&g->log, (size_t)i);
	return rc;
}

static void guard_await_end(const struct hes_guard *g)
{
	struct pollfd fd = { .fd = g->watch, .events = POLLIN };
	int64_t until = hes_monotonic_ms() + END_MS, left;

	while ((left = until - hes_monotonic_ms()) > 0 && poll(&fd, 1, (int)left) < 0 &&
	       errno == EINTR)
		;
}

int hes_guard_finish(struct hes_guard *g, struct hes_err *err)
{
	char answer[HES_GUARD_TEXT_MAX];
	struct hes_undone m = { 0 };
	int rc;

	if (!g)
		return 0;
	rc = guard_request(g, "end", WORK_MS, answer, sizeof(answer), err);
	if (rc == -EPIPE && guard_begin_another(g, err) > 0)
		rc = guard_request(g, "end", WORK_MS, answer, sizeof(answer), err);
	if (!rc && hes_undone_read(answer, &m) && m.failed)
		rc = hes_fail(err, -EIO,
			      "%u change%s could not be undone, and guard.log in %s says why: "
			      "heshare restore %s tries again",
			      m.failed, m.failed == 1 ? "" : "s", g->folder, g->folder);
	/* It ends after the answer, or is killed. */
	if (rc != -EPIPE)
		guard_await_end(g);
	guard_lose(g);
	free_guard(g);
	return rc;
}
