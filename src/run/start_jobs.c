/*
 * start_jobs.c - start jobs: those that may start now are made and held, written into the
 * journal together, and then let go; see runner.h.
 *
 * A held process runs nothing. If the journal cannot be written it is dropped, and nothing has happened.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/environment.h"
#include "run/runner.h"

#define WRAP_MAX 8

/* A name of a file: bytes that could lead elsewhere are written as %XX, as is the first of the one that the guard's log has. */
static void put_name(char *out, size_t size, const char *before, const char *job, const char *after)
{
	size_t n = (size_t)snprintf(out, size, "%s", before);

	for (const char *c = job; *c && n + 4 < size; c++) {
		if (*c == '/' || *c == '%' || (c == job && (*c == '.' || strcmp(job, "guard") == 0)))
			n += (size_t)snprintf(out + n, size - n, "%%%02X", (unsigned char)*c);
		else
			out[n++] = *c;
	}
	snprintf(out + n, size - n, "%s", after);
}

void run_output_name(const struct run_task *t, char out[RUN_FILE_NAME_MAX])
{
	put_name(out, RUN_FILE_NAME_MAX, "", t->job->id, ".log");
}

void run_status_name(const char *job, uint32_t number, char out[RUN_FILE_NAME_MAX])
{
	char after[32];

	snprintf(after, sizeof(after), ".%" PRIu32 ".status", number);
	put_name(out, RUN_FILE_NAME_MAX, ".", job, after);
}

static void set_environment(const struct runner *r, const struct run_board *b, const struct run_task *t, struct run_environment *e)
{
	run_environment_set(e, &(struct run_environment_of){
		.job = t->job, .run = r->run->id, .attempt = t->attempt.number, .gpu = run_gpu_name(r, b), .uuid = b->info.uuid,
		.sm_pct = t->attempt.sm_pct, .board_mib = b->queue.memory_mib, .mps = b->mps_on ? &b->mps : NULL });
}

/*
 * Room for the job's status, before it starts: how a job ended must be kept on a disk that is full by then. The file is
 * ours, and the job's wrapper gets the descriptor: it need not be able to reach the folder. It is a new file: what
 * somebody put there meanwhile is not written to. @return the descriptor
 */
static int reserve_status(const struct runner *r, const char *name, struct hes_err *err)
{
	char blank[HES_RUN_STATUS_BYTES];
	int fd;

	/* What a run before left there is not this one's. */
	unlinkat(r->folder.fd, name, 0);
	fd = hes_job_file_make(&r->folder, name, NULL, err);
	if (fd < 0)
		return fd;
	memset(blank, ' ', sizeof(blank));
	/* The status is written over the blanks. */
	fcntl(fd, F_SETFL, 0);
	if (pwrite(fd, blank, sizeof(blank), 0) == (ssize_t)sizeof(blank))
		return fd;
	close(fd);
	return hes_fail(err, -ENOSPC, "%s/%s: %s", r->folder.path, name, strerror(ENOSPC));
}

/* The job's output, opened to append to. @return the descriptor */
static int open_output(const struct runner *r, struct run_task *t, const struct hes_owner *owner, struct hes_err *err)
{
	char name[RUN_FILE_NAME_MAX];
	struct stat st;
	int fd;

	run_output_name(t, name);
	fd = hes_job_file_append(&r->folder, name, owner, err);
	if (fd >= 0)
		t->output_from = fstat(fd, &st) ? 0 : (uint64_t)st.st_size;
	return fd;
}

/* Its wrapper, which writes the job's status to its standard input (wrap.c). */
static int hold_wrapped(struct runner *r, struct run_task *t, struct hes_launch *l, struct hes_err *err)
{
	const char *argv[WRAP_MAX + 2] = { NULL };
	size_t n = 0;

	while (n < WRAP_MAX && r->q->wrap[n]) {
		argv[n] = r->q->wrap[n];
		n++;
	}
	argv[n] = t->command;
	l->argv = argv;
	return hes_guard_hold(r->guard, l, &t->child, err);
}

static int hold(struct runner *r, struct run_board *b, struct run_task *t, struct hes_err *err)
{
	struct run_environment e = { .v = { NULL } };
	struct hes_launch l = { .variables = e.v, .output_fd = -1, .user = t->job->user[0] ? t->job->user : r->q->user,
				.no_new_rights = !r->q->allow_setuid };
	struct hes_owner owner;
	char status[RUN_FILE_NAME_MAX];
	int rc = hes_launch_owner(l.user, &owner, err), other = rc;

	if (rc < 0)
		return rc;
	t->attempt = (struct hes_attempt){ .number = t->tries + 1, .sm_pct = b->queue.v[t->place].sm_pct };
	snprintf(t->attempt.job, sizeof(t->attempt.job), "%s", t->job->id);
	snprintf(t->attempt.gpu, sizeof(t->attempt.gpu), "%s", run_gpu_name(r, b));
	run_status_name(t->job->id, t->attempt.number, status);
	set_environment(r, b, t, &e);
	l.input_fd = reserve_status(r, status, err);
	if (l.input_fd < 0)
		return l.input_fd;
	l.output_fd = open_output(r, t, other ? &owner : NULL, err);
	rc = l.output_fd < 0 ? l.output_fd : hold_wrapped(r, t, &l, err);
	if (l.output_fd >= 0)
		close(l.output_fd);
	close(l.input_fd);
	return rc;
}

/* It could not even be made: an end like any other, but one that nobody else caused. */
static void cannot_start(struct runner *r, struct run_task *t, const struct hes_err *err)
{
	run_tell(r, "job %s cannot be started: %s", t->job->id, err->msg);
	t->tries++;
	t->attempt.started_us = t->ended_us = run_now_us(r);
	t->end = (struct hes_child_end){ .code = 127 };
	t->state = TASK_JUDGED;
	t->verdict = HES_VERDICT_FAILED;
	t->over = true;
	r->ended[r->n_ended++] = (uint32_t)(t - r->tasks);
}

static bool for_now(int rc)
{
	return rc == -EAGAIN || rc == -ENOMEM || rc == -EMFILE || rc == -ENFILE || rc == -ENOSPC || rc == -EIO;
}

/* Hold what may start on a board. @return how many of @list were added */
static size_t hold_board(struct runner *r, struct run_board *b, uint32_t *list)
{
	struct hes_err err;
	size_t n = 0;
	long next;

	while (b->n_residents + n < HES_MAX_SHARING && (next = run_admit_next(&b->queue)) >= 0) {
		struct run_place *p = &b->queue.v[next];
		struct run_task *t = &r->tasks[p->task];
		int rc = hold(r, b, t, &err);

		if (rc && for_now(rc)) {
			if (!r->start_told)
				run_tell(r, "jobs cannot be started now, and will be tried again: %s", err.msg);
			r->start_told = true;
			r->retry_us = run_now_us(r) + 1000000;
			break;
		}
		p->state = RUN_STARTED;
		if (rc)
			cannot_start(r, t, &err);
		else
			list[n++] = p->task;
	}
	return n;
}

static void drop(struct runner *r, const uint32_t *list, size_t n)
{
	struct hes_child_end end;

	for (size_t i = 0; i < n; i++) {
		struct run_task *t = &r->tasks[list[i]];

		hes_child_kill(&t->child, NULL);
		while (t->child.id.pid && !hes_guard_reap(r->guard, &t->child, &end, NULL))
			;
		r->boards[t->board].queue.v[t->place].state = RUN_WAITING;
	}
}

static int note(struct runner *r, const uint32_t *list, size_t n, struct hes_err *err)
{
	int64_t now = run_now_us(r);
	int rc = hes_journal_begin(r->journal, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < n && !rc; i++) {
		struct run_task *t = &r->tasks[list[i]];
		struct run_board *b = &r->boards[t->board];
		uint32_t mhz = run_clock_wanted(b);
		struct hes_run_process p = { .pid = t->child.id.pid, .start = (int64_t)t->child.id.started };

		memcpy(p.boot, r->run->runner.boot, sizeof(p.boot));
		if (mhz && mhz != b->clock_mhz && (!i || r->tasks[list[i - 1]].board != t->board))
			rc = run_act(r, b, NULL, err, "lock the clock at %" PRIu32 " MHz", mhz);
		t->attempt.started_us = now;
		t->attempt.clock_mhz = mhz;
		if (!rc)
			rc = run_act(r, b, t, err, "start attempt %" PRIu32 " with %" PRIu32 " %% of the SMs: %.*s", t->attempt.number,
				     t->attempt.sm_pct, 300, t->command);
		if (!rc)
			rc = hes_journal_attempt(r->journal, r->run->id, &t->attempt, err);
		if (!rc)
			rc = hes_journal_attempt_runs(r->journal, t->attempt.id, &p, err);
	}
	return hes_journal_end(r->journal, rc, err);
}

static void let_go(struct runner *r, struct run_task *t)
{
	char output[RUN_FILE_NAME_MAX];
	struct run_board *b = &r->boards[t->board];
	struct hes_err err;

	if (hes_guard_go(r->guard, &t->child, &err)) {
		cannot_start(r, t, &err);
		return;
	}
	t->tries++;
	t->state = TASK_RUNNING;
	t->ending = ENDING_OWN;
	t->kill_us = t->stuck_us = RUN_NEVER_US;
	t->told_us = 0;
	t->mps_daemon = b->mps_on ? b->mps_gone + 1 : 0;
	t->attempt.started_us = run_now_us(r);
	t->deadline_us = t->limit_us == RUN_NEVER_US ? RUN_NEVER_US : t->attempt.started_us + t->limit_us;
	run_output_name(t, output);
	if (hes_progress_open(&t->progress, &r->folder, output, t->output_from, &err))
		run_tell(r, "job %s: its progress cannot be seen: %s", t->job->id, err.msg);
	b->residents[b->n_residents++] = (uint32_t)(t - r->tasks);
	r->running++;
	if (run_watch(r, t))
		run_end(r, t, ENDING_STOP);
}

/* The jobs of a list, once they are in the journal. Clocks first: they take their time. */
static void let_go_all(struct runner *r, const uint32_t *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct run_board *b = &r->boards[r->tasks[list[i]].board];

		if (i && r->tasks[list[i - 1]].board == r->tasks[list[i]].board)
			continue;
		run_account(r, b);
		run_set_clock(r, b, run_clock_wanted(b));
	}
	if (n && !r->begun)
		run_begin_clock(r);
	r->begun |= n > 0;
	for (size_t i = 0; i < n; i++) {
		let_go(r, &r->tasks[list[i]]);
		if (i + 1 == n || r->tasks[list[i + 1]].board != r->tasks[list[i]].board)
			run_segment_begin(r, &r->boards[r->tasks[list[i]].board]);
	}
}

bool run_start(struct runner *r)
{
	uint32_t *list;
	struct hes_err err;
	size_t n = 0, ended = r->n_ended;

	if (!r->stopping)
		run_start_mps(r);
	if (r->stopping || r->held)
		return false;
	list = calloc(r->n_boards * HES_MAX_SHARING + 1, sizeof(*list));
	if (!list) {
		r->retry_us = run_now_us(r) + 1000000;
		return false;
	}
	for (size_t i = 0; i < r->n_boards; i++)
		if (!r->boards[i].judging && !r->boards[i].closed && !r->boards[i].lost && !r->boards[i].stuck)
			n += hold_board(r, &r->boards[i], list + n);
	if (n && note(r, list, n, &err)) {
		drop(r, list, n);
		run_hold(r, &err);
		n = 0;
	}
	let_go_all(r, list, n);
	free(list);
	return r->n_ended > ended;
}
