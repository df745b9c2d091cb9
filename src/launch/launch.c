/*
 * launch.c - jobs' processes from their start to their end; see launch.h.
 *
 * A process that has ended keeps its pid until it is reaped. So the processes that it left are
 * searched before that.
 */
#include "launch/launch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/cgroup.h"
#include "launch/members.h"
#include "launch/start.h"

#define KILL_MS 200  /* for killed processes to end, if the caller checks again */
#define DROP_MS 5000 /* the same if the caller does not check again */
#define CLIENTS 64   /* MPS serves at most 60 */

struct hes_member_rule hes_child_rule(const struct hes_child *c)
{
	return (struct hes_member_rule){
		.leader = c->id, .mark = c->mark, .cgroup = c->cgroup, .mps_pipe = ""
	};
}

void hes_child_forget(struct hes_child *c)
{
	if (c->pidfd >= 0)
		close(c->pidfd);
	if (c->gate >= 0)
		close(c->gate);
	hes_cgroup_remove(c->cgroup);
	*c = (struct hes_child){ .pidfd = -1, .gate = -1 };
}

static const char *step_name(int step)
{
	switch (step) {
	case HES_START_USER:
		return "becoming the job's user";
	case HES_START_FOLDER:
		return "going to the job's folder";
	case HES_START_EXEC:
		return "running the command";
	default:
		return "making the job's process ready";
	}
}

/* Read a message; -ESRCH the socket was closed: the process runs the command, or has ended. */
static int read_message(int gate, struct hes_start_message *w)
{
	ssize_t n;

	while ((n = recv(gate, w, sizeof(*w), 0)) < 0 && errno == EINTR)
		;
	return n == sizeof(*w) ? 0 : -ESRCH;
}

/* Fork the process. */
static int fork_child(struct hes_start *s, struct hes_child *c, struct hes_err *err)
{
	int ends[2], rc;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return hes_fail(err, -errno, "a socket: %s", strerror(errno));
	pid = fork();
	if (!pid)
		hes_start_run(s, ends[1]);
	rc = pid < 0 ? hes_fail(err, -errno, "a new process: %s", strerror(errno)) : 0;
	close(ends[1]);
	if (rc) {
		close(ends[0]);
		return rc;
	}
	c->gate = ends[0];
	c->id.pid = pid;
	c->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (c->pidfd >= 0 && !hes_process_of(pid, &c->id))
		return 0;
	rc = hes_fail(err, c->pidfd < 0 ? -errno : -EIO, "watching process %d: %s", (int)pid,
		      strerror(errno));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return rc;
}

int hes_child_fork(const struct hes_launch *l, struct hes_child *out, struct hes_err *err)
{
	struct hes_child c = { .pidfd = -1, .gate = -1 };
	struct hes_start_message w = { 0 };
	struct hes_start s;
	int rc = hes_start_make(&s, l, c.mark, err);

	if (rc)
		return rc;
	rc = fork_child(&s, &c, err);
	hes_start_finish(&s);
	if (rc) {
		hes_child_forget(&c);
		return rc;
	}
	rc = read_message(c.gate, &w);
	if (rc || w.error) {
		hes_child_drop(&c);
		if (rc)
			return hes_fail(err, rc, "a job's process was killed before it was ready");
		return hes_fail(err, -w.error, "%s: %s%s%s",
				w.step == HES_START_FOLDER ? l->folder : step_name(w.step),
				strerror(w.error), w.step == HES_START_FOLDER ? ", " : "",
				w.step == HES_START_FOLDER ? step_name(w.step) : "");
	}
	hes_cgroup_make(c.mark + strlen(c.mark) - 16, c.id.pid, c.cgroup);
	*out = c;
	return 0;
}

int hes_child_go(struct hes_child *c, struct hes_err *err)
{
	struct hes_start_message w = { 0 };
	ssize_t n;

	if (!c->id.pid || c->gate < 0)
		return hes_fail(err, -EINVAL, "process %d already runs its command",
				(int)c->id.pid);
	n = send(c->gate, "g", 1, MSG_NOSIGNAL);
	if (n == 1 && read_message(c->gate, &w)) {
		/* The socket closes when the command runs and when the process is killed: its end
		 * shows which. */
		close(c->gate);
		c->gate = -1;
		return 0;
	}
	hes_child_drop(c);
	if (n != 1)
		return hes_fail(err, -ESRCH,
				"the job's process was killed before it ran the command");
	return hes_fail(err, -w.error, "%s: %s", step_name(w.step), strerror(w.error));
}

/*
 * Kill the processes that the job left. Search all processes of the machine, also with a cgroup:
 * some may have moved out of it, with their children.
 */
static int end_left(struct hes_child *c)
{
	struct hes_member_rule rule = hes_child_rule(c);
	unsigned left = 0;
	int rc = hes_members_end(&rule, 1, SIGKILL, KILL_MS, &left);

	hes_cgroup_kill(c->cgroup);
	c->left = left > c->left ? left : c->left;
	return rc;
}

/* Reap the first process, which has ended. */
static void child_collect(struct hes_child *c, struct hes_child_end *out)
{
	int status = 0;
	struct hes_child_end end = { .left = c->left };

	while (waitpid(c->id.pid, &status, 0) < 0 && errno == EINTR)
		;
	end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	end.code = end.signal ? 128 + end.signal : WEXITSTATUS(status);
	hes_child_forget(c);
	*out = end;
}

static bool child_ended(const struct hes_child *c, int wait_ms)
{
	struct pollfd fd = { .fd = c->pidfd, .events = POLLIN };

	return poll(&fd, 1, wait_ms) > 0;
}

int hes_child_reap(struct hes_child *c, struct hes_child_end *out)
{
	if (!c->id.pid)
		return -ECHILD;
	if (!child_ended(c, 0))
		return 0;
	if (end_left(c) == -EBUSY)
		return -EBUSY;
	child_collect(c, out);
	return 1;
}

void hes_child_terminate(const struct hes_child *c)
{
	/* Our child, not reaped: no other group can have this number. */
	if (c->id.pid)
		kill(-c->id.pid, SIGTERM);
}

/* Whether a member of the job is not in its cgroup: it was moved. */
static bool some_left_cgroup(const struct hes_member_rule *rule)
{
	struct hes_member *m = NULL;
	pid_t *in = NULL;
	long found = hes_members_find(rule, 1, &m), n = hes_cgroup_list(rule->cgroup, &in);
	bool left = found < 0 || n < 0;

	for (long i = 0; i < found && !left; i++) {
		long k = 0;

		while (k < n && in[k] != m[i].id.pid)
			k++;
		left = k == n;
	}
	free(m);
	free(in);
	return left;
}

int hes_child_stop(const struct hes_child *c)
{
	struct hes_member_rule rule = hes_child_rule(c);

	if (!c->id.pid)
		return -ESRCH;
	if (!hes_cgroup_freeze(c->cgroup, true)) {
		if (!some_left_cgroup(&rule))
			return 0;
		hes_cgroup_freeze(c->cgroup, false);
	}
	return hes_members_stop(&rule, 1);
}

void hes_child_continue(const struct hes_child *c)
{
	struct hes_member_rule rule = hes_child_rule(c);

	/* It may be stopped in both ways, and its cgroup may have changed since. */
	if (c->id.pid) {
		hes_members_continue(&rule, 1);
		hes_cgroup_freeze(c->cgroup, false);
	}
}

/* Let the MPS daemon end the work of those processes of the job that are its clients. */
static void end_clients(const struct hes_member_rule *rule, const struct hes_mps *mps)
{
	pid_t clients[CLIENTS];
	long n = hes_mps_clients(mps, clients, CLIENTS, NULL), found;
	struct hes_member *m = NULL;

	found = n > 0 ? hes_members_find(rule, 1, &m) : 0;
	for (long i = 0; i < found; i++)
		for (long k = 0; k < n && k < CLIENTS; k++)
			if (clients[k] == m[i].id.pid)
				hes_mps_terminate(mps, clients[k], NULL);
	free(m);
}

unsigned hes_child_kill(const struct hes_child *c, const struct hes_mps *mps)
{
	struct hes_member_rule rule = hes_child_rule(c);
	unsigned killed = 0;

	if (!c->id.pid)
		return 0;
	if (mps)
		end_clients(&rule, mps);
	hes_members_end(&rule, 1, SIGKILL, KILL_MS, &killed);
	hes_cgroup_kill(c->cgroup);
	return killed;
}

void hes_child_drop(struct hes_child *c)
{
	struct hes_child_end end;

	if (!c->id.pid)
		return;
	hes_child_kill(c, NULL);
	if (child_ended(c, DROP_MS)) {
		end_left(c);
		child_collect(c, &end);
	} else {
		hes_child_forget(c);
	}
}
