/*
 * members.c - find the members of jobs in /proc, and signal them; see members.h.
 *
 * One pass over /proc serves any number of rules. Signals go through pidfds that were checked to be
 * the process that was found, so that a reused pid hits no other process.
 */
#include "launch/members.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "launch/cgroup.h"
#include "launch/launch.h"
#include "launch/process.h"

#define NONE ((size_t)-1)
/* control and server; the kernel cuts names at 15 characters */
#define MPS_NAME "nvidia-cuda-mps"

struct scan {
	struct hes_proc *all;
	size_t n;
	size_t *of;  /* rule of each process; NONE */
	bool *above; /* processes that must never be ended */
	char *room;  /* for environments */
};

static const struct hes_proc *with_pid(const struct scan *s, pid_t pid)
{
	size_t low = 0, high = s->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->all[middle].id.pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return low < s->n && s->all[low].id.pid == pid ? &s->all[low] : NULL;
}

bool hes_mark_is_of(const char *value, const char *mark)
{
	size_t n = strlen(mark);

	return n && strncmp(value, mark, n) == 0 && (value[n] == '\0' || value[n] == '/');
}

bool hes_process_has_mark(const struct hes_process *p, const char *mark)
{
	char *room = malloc(HES_ENVIRONMENT_MAX);
	const char *value = room && hes_process_runs(p)
				    ? hes_proc_variable(p->pid, HES_MARK_VARIABLE, room)
				    : NULL;
	bool has = value && hes_mark_is_of(value, mark) && hes_process_runs(p);

	free(room);
	return has;
}

static size_t by_environment(struct scan *s, const struct hes_proc *p,
			     const struct hes_member_rule *b, size_t n)
{
	bool mps = strcmp(p->name, MPS_NAME) == 0;
	const char *value = hes_proc_variable(
		p->id.pid, mps ? "CUDA_MPS_PIPE_DIRECTORY" : HES_MARK_VARIABLE, s->room);

	for (size_t i = 0; value && i < n; i++)
		if (mps ? *b[i].mps_pipe && strcmp(value, b[i].mps_pipe) == 0
			: hes_mark_is_of(value, b[i].mark))
			return i;
	return NONE;
}

/* The rule that a process meets by itself. */
static size_t rule_of(struct scan *s, const struct hes_proc *p, const bool *led,
		      const struct hes_member_rule *b, size_t n)
{
	bool old = true;

	for (size_t i = 0; i < n; i++) {
		if (led[i] && p->session == b[i].leader.pid)
			return i;
		old = old && p->id.started < b[i].leader.started;
	}
	/* Processes that are older than all leaders are no members. */
	return old ? NONE : by_environment(s, p, b, n);
}

/* This process, its ancestors and process 1 are no members, and make no other process a member. */
static void find_above(struct scan *s)
{
	pid_t pid = getpid();

	for (size_t i = 0; i < s->n; i++)
		s->above[i] = s->all[i].id.pid <= 1;
	for (const struct hes_proc *p = with_pid(s, pid);
	     p && p->id.pid > 1 && !s->above[p - s->all]; p = with_pid(s, p->parent))
		s->above[p - s->all] = true;
}

static void follow_cgroup(struct scan *s, const struct hes_member_rule *b, size_t i)
{
	pid_t *pids = NULL;
	long n = *b->cgroup ? hes_cgroup_list(b->cgroup, &pids) : 0;

	for (long k = 0; k < n; k++) {
		const struct hes_proc *p = with_pid(s, pids[k]);

		if (p && !s->above[p - s->all])
			s->of[p - s->all] = i;
	}
	free(pids);
}

static void follow_parents(struct scan *s)
{
	for (bool more = true; more;) {
		more = false;
		for (size_t i = 0; i < s->n; i++) {
			const struct hes_proc *parent =
				s->of[i] == NONE ? with_pid(s, s->all[i].parent) : NULL;

			if (!parent || s->above[i] || s->of[parent - s->all] == NONE)
				continue;
			s->of[i] = s->of[parent - s->all];
			more = true;
		}
	}
}

static int scan_processes(struct scan *s, const struct hes_member_rule *b, size_t n)
{
	bool *led = calloc(n + 1, sizeof(*led));
	long found = hes_proc_all(&s->all);

	s->n = found > 0 ? (size_t)found : 0;
	s->of = malloc((s->n + 1) * sizeof(*s->of));
	s->room = malloc(HES_ENVIRONMENT_MAX);
	s->above = malloc((s->n + 1) * sizeof(*s->above));
	if (found < 0 || !s->of || !s->room || !s->above || !led) {
		free(led);
		return found < 0 ? (int)found : -ENOMEM;
	}
	find_above(s);
	for (size_t i = 0; i < n; i++) {
		const struct hes_proc *leader = with_pid(s, b[i].leader.pid);

		led[i] = leader && leader->id.started == b[i].leader.started;
	}
	for (size_t i = 0; i < s->n; i++)
		s->of[i] = s->above[i] ? NONE : rule_of(s, &s->all[i], led, b, n);
	for (size_t i = 0; i < n; i++)
		follow_cgroup(s, &b[i], i);
	follow_parents(s);
	free(led);
	return 0;
}

static void scan_finish(struct scan *s)
{
	free(s->all);
	free(s->of);
	free(s->above);
	free(s->room);
}

long hes_members_find(const struct hes_member_rule *b, size_t n, struct hes_member **out)
{
	struct scan s = { 0 };
	struct hes_member *found = NULL;
	long count = scan_processes(&s, b, n);

	if (!count)
		found = malloc((s.n + 1) * sizeof(*found));
	if (!count && !found)
		count = -ENOMEM;
	for (size_t i = 0; count >= 0 && i < s.n; i++)
		if (s.of[i] != NONE && !s.all[i].ended)
			found[count++] = (struct hes_member){ s.all[i].id, s.of[i] };
	scan_finish(&s);
	if (count >= 0)
		*out = found;
	return count;
}

/* Signal a process. @return whether it has ended by @until_ms */
static bool end_one(const struct hes_process *p, int sig, int64_t until_ms)
{
	struct pollfd fd = { .fd = hes_process_open(p), .events = POLLIN };
	int64_t left = until_ms - hes_monotonic_ms();
	bool ended = fd.fd < 0;

	if (!ended) {
		syscall(SYS_pidfd_send_signal, fd.fd, sig, NULL, 0);
		ended = poll(&fd, 1, left > 0 ? (int)left : 0) > 0;
		close(fd.fd);
	}
	return ended;
}

static void signal_all(const struct hes_member *m, long n, int sig)
{
	for (long i = 0; i < n; i++) {
		int fd = hes_process_open(&m[i].id);

		if (fd < 0)
			continue;
		syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0);
		close(fd);
	}
}

/* Whether all of @m are in @before; both are in order of pid. */
static bool all_in(const struct hes_member *m, long n, const struct hes_member *before,
		   long n_before)
{
	long at = 0;

	for (long i = 0; i < n; i++) {
		while (at < n_before && before[at].id.pid < m[i].id.pid)
			at++;
		if (at == n_before || before[at].id.pid != m[i].id.pid ||
		    before[at].id.started != m[i].id.started)
			return false;
	}
	return true;
}

/*
 * Stop members until a scan finds no new one; then none of them can fork. If they were killed one
 * by one, a parent could die before its newest child was found.
 */
static long find_stopped(const struct hes_member_rule *b, size_t n, struct hes_member **out)
{
	struct hes_member *before = NULL, *m = NULL;
	long n_before = 0, found;

	while ((found = hes_members_find(b, n, &m)) > 0 && !all_in(m, found, before, n_before)) {
		signal_all(m, found, SIGSTOP);
		free(before);
		before = m;
		n_before = found;
		m = NULL;
	}
	free(before);
	if (found >= 0)
		*out = m;
	return found;
}

int hes_members_stop(const struct hes_member_rule *b, size_t n)
{
	struct hes_member *m = NULL;
	long found = find_stopped(b, n, &m);

	free(m);
	return found < 0 ? (int)found : 0;
}

int hes_members_continue(const struct hes_member_rule *b, size_t n)
{
	struct hes_member *m = NULL;
	long found = hes_members_find(b, n, &m);

	if (found > 0)
		signal_all(m, found, SIGCONT);
	if (found >= 0)
		free(m);
	return found < 0 ? (int)found : 0;
}

int hes_members_end(const struct hes_member_rule *b, size_t n, int sig, int wait_ms,
		    unsigned *killed)
{
	int64_t until = hes_monotonic_ms() + wait_ms;
	bool first = true, late = false;

	for (;;) {
		struct hes_member *m = NULL;
		long found = sig == SIGKILL ? find_stopped(b, n, &m) : hes_members_find(b, n, &m);

		if (found <= 0 || late) {
			free(m);
			return found < 0 ? (int)found : found > 0 ? -EBUSY : 0;
		}
		/* Signal all of them before waiting for one. */
		signal_all(m, found, sig);
		for (long i = 0; i < found; i++) {
			if (first && killed)
				killed[m[i].of]++;
			late = !end_one(&m[i].id, sig, until) || late;
		}
		first = false;
		free(m);
	}
}
