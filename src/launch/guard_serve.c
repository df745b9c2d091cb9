/*
 * guard_serve.c - the guard's side; see guard.h, and guard_wire.h for the messages.
 *
 * The guard waits for messages of the program and for the program's end: the end of all its
 * threads, after the kernel has killed the jobs' processes.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "launch/undo_file.h"
#include "launch/guard_undo.h"
#include "launch/guard_wire.h"

#define DYING_MS     1000 /* from the end of the channel to the end of the program */
#define NICE         (-10)
#define NEVER_KILLED "-1000" /* oom_score_adj: not killed when memory is short */

struct guard_server {
	int channel;
	struct hes_process program;
	int watch; /* readable when the program has ended */
	struct hes_undo_file file;
	bool open; /* the undo file is */
	bool done;
	struct hes_devices *devices; /* opened before the first clock is locked, so that undoing
					does not wait for the driver */
};

static void send_text(const struct guard_server *s, const char *text)
{
	/* If this fails the program is gone, and poll() reports that. */
	send(s->channel, text, strlen(text), MSG_NOSIGNAL);
}

static void server_answer(const struct guard_server *s, int rc, const struct hes_err *err)
{
	char text[HES_ERR_MAX + 32];

	snprintf(text, sizeof(text), "no %d %s", -rc, err->msg);
	send_text(s, rc ? text : "ok");
}

static void answer_undone(const struct guard_server *s, const struct hes_undone *m)
{
	char text[HES_GUARD_TEXT_MAX];

	hes_undone_write(m, text);
	send_text(s, text);
}

static void log_undone(const struct guard_server *s, const char *why, const struct hes_undone *m,
		       const struct hes_err *err)
{
	char text[HES_ERR_MAX];

	snprintf(text, sizeof(text),
		 "%s: clocks unlocked %u, MPS daemons ended %u, jobs killed %u, "
		 "not undone %u%s%.*s",
		 why, m->clocks, m->daemons, m->jobs, m->failed, m->failed ? ": " : "",
		 m->failed ? 300 : 0, err->msg);
	hes_undo_file_note(&s->file, text);
}

static void server_begin(struct guard_server *s, const char *folder, bool keep)
{
	struct hes_undone m = { 0 };
	struct hes_err err = { 0 };
	int rc = s->open ? hes_fail(&err, -EINVAL, "the guard has a folder already")
			 : hes_undo_file_open(&s->file, folder, &s->program, &err);

	if (!rc) {
		s->open = true;
		if (!keep) {
			hes_guard_undo(&s->file, &s->devices, &m, &err);
			if (m.clocks + m.daemons + m.jobs + m.failed)
				log_undone(s, "left by an earlier run", &m, &err);
		}
		rc = hes_undo_file_begin(&s->file, &err);
	}
	if (rc || keep)
		server_answer(s, rc, &err);
	else
		answer_undone(s, &m);
	s->done = rc != 0;
}

static void server_change(struct guard_server *s, bool add, const char *line)
{
	struct hes_err err = { 0 };
	struct hes_undo d;
	int rc = s->open ? hes_undo_parse(line, &d, &err)
			 : hes_fail(&err, -EINVAL, "the guard has no folder yet");

	if (!rc && !add)
		hes_undo_file_remove(&s->file, &d);
	if (!rc && add && !s->devices && d.kind == HES_UNDO_CLOCK)
		rc = hes_devices_open(NULL, &s->devices, &err);
	if (!rc && add && *d.uuid)
		rc = hes_claim_gpu(&s->file.claims, d.uuid, &err);
	if (!rc && add)
		rc = hes_undo_file_add(&s->file, &d, &err);
	server_answer(s, rc, &err);
}

static void server_undo_all(struct guard_server *s, const char *why, struct hes_undone *m)
{
	struct hes_err err = { 0 };

	*m = (struct hes_undone){ 0 };
	if (s->open)
		hes_guard_undo(&s->file, &s->devices, m, &err);
	if (why && s->open)
		log_undone(s, why, m, &err);
	s->done = true;
}

static void server_handle(struct guard_server *s, const char *text)
{
	struct hes_undone m;
	const char *rest;

	switch (hes_guard_word_read(text, &rest)) {
	case HES_GUARD_FRESH:
		server_begin(s, rest, false);
		break;
	case HES_GUARD_KEEP:
		server_begin(s, rest, true);
		break;
	case HES_GUARD_ADD:
		server_change(s, true, rest);
		break;
	case HES_GUARD_REMOVE:
		server_change(s, false, rest);
		break;
	case HES_GUARD_END:
		server_undo_all(s, NULL, &m);
		answer_undone(s, &m);
		break;
	default:
		send_text(s, "no 22 the guard does not know this message");
	}
}

static void server_receive(struct guard_server *s)
{
	char text[HES_GUARD_TEXT_MAX];
	ssize_t n = recv(s->channel, text, sizeof(text) - 1, 0);
	struct pollfd program = { .fd = s->watch, .events = POLLIN };
	struct hes_undone m;

	if (n < 0 && errno == EINTR)
		return;
	text[n > 0 ? n : 0] = '\0';
	if (n > 0) {
		server_handle(s, text);
		return;
	}
	/* The kernel closes files before the process has ended. Or the program runs on as another
	 * program. */
	poll(&program, 1, DYING_MS);
	server_undo_all(s, "the program has gone", &m);
}

static void server_loop(struct guard_server *s)
{
	struct pollfd fds[2] = { { .fd = s->watch, .events = POLLIN },
				 { .fd = s->channel, .events = POLLIN } };
	struct hes_undone m;

	while (!s->done) {
		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[0].revents)
			server_undo_all(s, "the program has died", &m);
		else if (fds[1].revents)
			server_receive(s);
	}
}

/* Signals that end the program, from a terminal or a user, must not end the guard. */
static void ignore_signals(void)
{
	static const int signals[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGPIPE, SIGTSTP,
				       SIGTTIN, SIGTTOU, SIGALRM, SIGUSR1, SIGUSR2 };
	struct sigaction none = { .sa_handler = SIG_IGN };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &none, NULL);
}

/* Run first on a busy machine, and be the last to die when memory is short; both need root and are
 * optional. */
static void go_first(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	setpriority(PRIO_PROCESS, 0, NICE);
	if (fd < 0)
		return;
	if (write(fd, NEVER_KILLED, strlen(NEVER_KILLED)) < 0)
		errno = 0;
	close(fd);
}

int hes_guard_serve(int channel, struct hes_err *err)
{
	struct guard_server s = { .channel = channel, .watch = -1 };
	pid_t parent = getppid();
	int rc;

	ignore_signals();
	go_first();
	rc = hes_close_but(channel);
	if (rc)
		return hes_fail(err, rc, "closing descriptors of the program: %s", strerror(-rc));
	if (!hes_process_of(parent, &s.program))
		s.watch = hes_process_open(&s.program);
	/* The program may have died already: then it has changed nothing. */
	if (s.watch < 0 || getppid() != parent) {
		if (s.watch >= 0)
			close(s.watch);
		return hes_fail(err, -ESRCH, "the program to guard has ended");
	}
	server_loop(&s);
	if (s.open)
		hes_undo_file_close(&s.file);
	hes_devices_close(s.devices);
	close(s.watch);
	return 0;
}

int hes_guard_restore(const char *folder, struct hes_undone *out, struct hes_err *err)
{
	struct hes_devices *devices = NULL;
	struct hes_undo_file l;
	struct hes_undone m = { 0 };
	int rc = hes_undo_file_open(&l, folder, NULL, err);

	if (rc)
		return rc;
	rc = hes_guard_undo(&l, &devices, &m, err);
	hes_undo_file_close(&l);
	hes_devices_close(devices);
	*out = m;
	return rc;
}
