/*
 * guard_serve.c - the guard's side; see guard.h, and guard_wire.h for what is said.
 *
 * It waits for two things: what the program says, and the program's end. The end is that of all its threads, and comes
 * after the kernel has killed the jobs' processes.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "launch/undo_file.h"
#include "launch/guard_undo.h"
#include "launch/guard_wire.h"

#define DYING_MS 1000  /* from the end of the channel to that of the program */
#define NICE (-10)
#define NEVER_KILLED "-1000" /* by the kernel for want of memory */

struct server {
	int                   channel;
	struct hes_process    program;
	int                   watch;    /* readable when the program has ended */
	struct hes_undo_file list;
	bool                  open;     /* the list is */
	bool                  done;
	struct hes_devices   *devices;  /* opened before the first clock is locked: an end cannot wait for the driver */
};

static void say(const struct server *s, const char *text)
{
	/* Whoever does not hear it is gone, and that is seen. */
	send(s->channel, text, strlen(text), MSG_NOSIGNAL);
}

static void answer(const struct server *s, int rc, const struct hes_err *err)
{
	char text[HES_ERR_MAX + 32];

	snprintf(text, sizeof(text), "no %d %s", -rc, err->msg);
	say(s, rc ? text : "ok");
}

static void answer_mended(const struct server *s, const struct hes_undone *m)
{
	char text[HES_GUARD_TEXT_MAX];

	hes_undone_write(m, text);
	say(s, text);
}

static void log_mended(const struct server *s, const char *why, const struct hes_undone *m, const struct hes_err *err)
{
	char text[HES_ERR_MAX];

	snprintf(text, sizeof(text), "%s: clocks unlocked %u, power limits set back %u, MPS daemons ended %u, jobs killed %u, "
		 "not undone %u%s%.*s", why, m->clocks, m->limits, m->daemons, m->jobs, m->failed, m->failed ? ": " : "",
		 m->failed ? 300 : 0, err->msg);
	hes_undo_file_note(&s->list, text);
}

static void begin(struct server *s, const char *folder, bool keep)
{
	struct hes_undone m = { 0 };
	struct hes_err err = { 0 };
	int rc = s->open ? hes_fail(&err, -EINVAL, "the guard has a folder already") :
		hes_undo_file_open(&s->list, folder, &s->program, &err);

	if (!rc) {
		s->open = true;
		if (!keep) {
			hes_guard_undo(&s->list, &s->devices, &m, &err);
			if (m.clocks + m.limits + m.daemons + m.jobs + m.failed)
				log_mended(s, "left by a run before", &m, &err);
		}
		rc = hes_undo_file_begin(&s->list, &err);
	}
	if (rc || keep)
		answer(s, rc, &err);
	else
		answer_mended(s, &m);
	s->done = rc != 0;
}

static void change(struct server *s, bool add, const char *duty)
{
	struct hes_err err = { 0 };
	struct hes_undo d;
	int rc = s->open ? hes_undo_parse(duty, &d, &err) : hes_fail(&err, -EINVAL, "the guard has no folder yet");

	if (!rc && !add)
		hes_undo_file_remove(&s->list, &d);
	if (!rc && add && !s->devices && (d.kind == HES_UNDO_CLOCK || d.kind == HES_UNDO_POWER))
		rc = hes_devices_open(&s->devices, &err);
	if (!rc && add && *d.uuid)
		rc = hes_claim_gpu(&s->list.claims, d.uuid, &err);
	if (!rc && add)
		rc = hes_undo_file_add(&s->list, &d, &err);
	answer(s, rc, &err);
}

static void undo_all(struct server *s, const char *why, struct hes_undone *m)
{
	struct hes_err err = { 0 };

	*m = (struct hes_undone){ 0 };
	if (s->open)
		hes_guard_undo(&s->list, &s->devices, m, &err);
	if (why && s->open)
		log_mended(s, why, m, &err);
	s->done = true;
}

static void obey(struct server *s, const char *text)
{
	struct hes_undone m;
	const char *rest;

	switch (hes_guard_word_read(text, &rest)) {
	case HES_GUARD_FRESH:
		begin(s, rest, false);
		break;
	case HES_GUARD_KEEP:
		begin(s, rest, true);
		break;
	case HES_GUARD_ADD:
		change(s, true, rest);
		break;
	case HES_GUARD_REMOVE:
		change(s, false, rest);
		break;
	case HES_GUARD_END:
		undo_all(s, NULL, &m);
		answer_mended(s, &m);
		break;
	default:
		say(s, "no 22 the guard does not know this word");
	}
}

static void hear(struct server *s)
{
	char text[HES_GUARD_TEXT_MAX];
	ssize_t n = recv(s->channel, text, sizeof(text) - 1, 0);
	struct pollfd program = { .fd = s->watch, .events = POLLIN };
	struct hes_undone m;

	if (n < 0 && errno == EINTR)
		return;
	text[n > 0 ? n : 0] = '\0';
	if (n > 0) {
		obey(s, text);
		return;
	}
	/* Files are closed before the process has ended; or it runs on as something else. */
	poll(&program, 1, DYING_MS);
	undo_all(s, "the program has gone", &m);
}

static void serve(struct server *s)
{
	struct pollfd fds[2] = { { .fd = s->watch, .events = POLLIN }, { .fd = s->channel, .events = POLLIN } };
	struct hes_undone m;

	while (!s->done) {
		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[0].revents)
			undo_all(s, "the program has died", &m);
		else if (fds[1].revents)
			hear(s);
	}
}

/* What ends the program, from a terminal or a person, is not for its guard. */
static void ignore_signals(void)
{
	static const int signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGTSTP, SIGTTIN, SIGTTOU, SIGALRM, SIGUSR1,
				       SIGUSR2 };
	struct sigaction none = { .sa_handler = SIG_IGN };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &none, NULL);
}

/*
 * GPUs do not wait until a busy machine has time, and a machine without memory ends others first: who may not ask for
 * it, as users other than root, does without.
 */
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
	struct server s = { .channel = channel, .watch = -1 };
	pid_t parent = getppid();
	int rc;

	ignore_signals();
	go_first();
	rc = hes_close_but(channel);
	if (rc)
		return hes_fail(err, rc, "closing descriptors of the program: %s", strerror(-rc));
	if (!hes_process_of(parent, &s.program))
		s.watch = hes_process_open(&s.program);
	/* It may have died before anybody looked: then nothing was changed. */
	if (s.watch < 0 || getppid() != parent) {
		if (s.watch >= 0)
			close(s.watch);
		return hes_fail(err, -ESRCH, "the program to guard has ended");
	}
	serve(&s);
	if (s.open)
		hes_undo_file_close(&s.list);
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
