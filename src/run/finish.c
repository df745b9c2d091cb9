/*
 * finish.c - what becomes of jobs that ended: reaped, judged (verdict.h), written into the journal, and
 * then over or tried again; see runner.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "run/runner.h"
#include "run/verdict.h"

#define JUDGE_WAIT_US 30000000  /* for neighbours to notice that the server has gone */
#define LAST_WORDS 4096
#define KILL_LOOK_US 1000000    /* between two looks at a job that is killed */
#define STUCK_LOOK_US 5000000   /* the same once it does not end */
#define STUCK_US 10000000       /* that is when it counts as one that cannot be killed */
#define SIGNALLED 128           /* as shells tell it */
#define SIGNALS 64

/* --- asked to end --- */

/* Killed processes end within milliseconds, or wait in the driver for who knows how long. */
static void look_again(struct runner *r, struct run_task *t)
{
	int64_t now = run_now_us(r);

	t->kill_us = now + (t->stuck ? STUCK_LOOK_US : KILL_LOOK_US);
	if (t->stuck_us == RUN_NEVER_US)
		t->stuck_us = now + STUCK_US;
}

void run_set_aside(struct runner *r, struct run_task *t)
{
	struct run_board *b = &r->boards[t->board];

	t->stuck_us = RUN_NEVER_US;
	if (t->stuck)
		return;
	t->stuck = true;
	b->stuck++;
	r->stuck++;
	run_tell(r, "job %s: its processes are killed and do not end: they wait in the driver; nothing starts on %s until they have",
		 t->job->id, run_gpu_name(r, b));
}

static void end_setting_aside(struct runner *r, struct run_task *t)
{
	struct run_board *b = &r->boards[t->board];

	if (!t->stuck)
		return;
	t->stuck = false;
	b->stuck--;
	r->stuck--;
	run_tell(r, "job %s has ended after all%s%s", t->job->id, b->stuck ? "" : "; jobs start again on ", b->stuck ? "" : run_gpu_name(r, b));
}

void run_end(struct runner *r, struct run_task *t, enum run_ending why)
{
	struct run_board *b = &r->boards[t->board];
	bool again = t->ending != ENDING_OWN;

	if (t->state != TASK_RUNNING)
		return;
	t->ending = again ? t->ending : why;
	t->deadline_us = RUN_NEVER_US;
	if (again) {
		hes_child_kill(&t->child, b->mps_on && !t->stuck ? &b->mps : NULL);
		look_again(r, t);
		return;
	}
	if (why == ENDING_TIMEOUT)
		run_tell(r, "job %s: not done after %.0f s, where %.0f s were planned; it is ended", t->job->id,
			 (double)t->limit_us * 1e-6, (double)(t->planned_end_us - t->planned_start_us) * 1e-6);
	hes_child_terminate(&t->child);
	t->kill_us = run_now_us(r) + r->q->grace_us;
}

/* --- reaped --- */

static void leave(struct run_board *b, uint32_t task)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < b->n_residents; i++)
		if (b->residents[i] != task)
			b->residents[n++] = b->residents[i];
	b->n_residents = n;
}

static void begin_judging(struct runner *r, struct run_board *b)
{
	b->judging = true;
	b->judge_from_us = run_now_us(r);
	b->judge_until_us = b->judge_from_us + JUDGE_WAIT_US;
	memcpy(b->members, b->residents, b->n_residents * sizeof(b->members[0]));
	b->n_members = b->n_residents;
}

static bool complete(const struct run_task *t)
{
	return t->end.code == 0 && t->progress.known && t->progress.iterations >= t->job->iterations;
}

/* A job that waits for an MPS daemon that does not answer is not to blame for the time. */
static enum hes_verdict judge_timeout(struct runner *r, const struct run_task *t)
{
	struct run_board *b = &r->boards[t->board];

	run_revive_mps(r, b);
	return t->mps_daemon && t->mps_daemon <= b->mps_gone ? HES_VERDICT_FELL : HES_VERDICT_TIMEOUT;
}

/* What needs nobody else to be known. @return whether it was */
static bool judge_alone(struct runner *r, struct run_task *t)
{
	if (t->end.code == 0 && (t->ending == ENDING_OWN || t->ending == ENDING_LEFT || complete(t)))
		t->verdict = HES_VERDICT_DONE;
	else if (t->ending == ENDING_STOP)
		t->verdict = HES_VERDICT_STOPPED;
	else if (t->ending == ENDING_TIMEOUT)
		t->verdict = judge_timeout(r, t);
	else
		return false;
	return true;
}

void run_reap(struct runner *r, struct run_task *t)
{
	struct run_board *b = &r->boards[t->board];
	struct hes_err err;
	int rc;

	if (t->state != TASK_RUNNING)
		return;
	epoll_ctl(r->epoll, EPOLL_CTL_DEL, t->child.pidfd, NULL);
	/* Joules first: its neighbours are charged from now on. */
	run_account(r, b);
	run_look(r, t);
	rc = hes_guard_reap(r->guard, &t->child, &t->end, &err);
	if (rc == 0 && !run_watch(r, t)) /* an event of a process before this one, or it is killed and still there */
		return;
	if (rc == -EBUSY) { /* its own descriptor stays readable: what it left has no other */
		t->ending = t->ending == ENDING_OWN ? ENDING_LEFT : t->ending;
		look_again(r, t);
		return;
	}
	end_setting_aside(r, t);
	if (rc < 0)
		run_tell(r, "job %s: %s", t->job->id, err.msg);
	t->ended_us = r->woken_us;
	t->state = judge_alone(r, t) ? TASK_JUDGED : TASK_ENDED;
	if (t->state == TASK_ENDED && !b->judging)
		begin_judging(r, b);
	leave(b, (uint32_t)(t - r->tasks));
	run_segment_begin(r, b);
	hes_progress_close(&t->progress);
	r->ended[r->n_ended++] = (uint32_t)(t - r->tasks);
	r->running--;
}

/* --- judged --- */

static bool last_words(const struct runner *r, const struct run_task *t)
{
	char name[RUN_FILE_NAME_MAX], text[LAST_WORDS + 1];
	struct hes_err err;
	ssize_t n = 0;
	off_t size;
	int fd;

	run_output_name(t, name);
	fd = hes_job_file_read(&r->folder, name, &err);
	if (fd < 0) {
		run_tell(r, "job %s: %s; passed over", t->job->id, err.msg);
		return false;
	}
	size = lseek(fd, 0, SEEK_END);
	if (size >= 0) {
		off_t from = size > LAST_WORDS ? size - LAST_WORDS : 0;

		n = pread(fd, text, LAST_WORDS, from > (off_t)t->output_from ? from : (off_t)t->output_from);
	}
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return run_tells_of_mps(text);
}

static struct run_seen seen(const struct runner *r, const struct run_board *b, const struct run_task *t)
{
	bool failed = t->state == TASK_ENDED, there = t->state == TASK_RUNNING;

	return (struct run_seen){
		.failed = failed, .orphaned = failed && last_words(r, t),
		.lives = !failed && (!there || t->told_us > b->judge_from_us),
		.signal = t->end.signal ? t->end.signal
			: t->end.code > SIGNALLED && t->end.code <= SIGNALLED + SIGNALS ? t->end.code - SIGNALLED : 0,
		.code = t->end.code, .end_us = t->ended_us, .falls = t->falls,
	};
}

/* A board that fell off the bus is nobody's fault, and nothing runs there any more. */
static bool is_lost(struct runner *r, struct run_board *b)
{
	struct hes_reading now;

	if (!b->lost && hes_device_read(r->q->devices, b->device, HES_HAS_CLOCK, &now, NULL) == -ENODEV) {
		b->lost = true;
		run_tell(r, "%s is lost: it fell off the bus; its jobs wait for --resume", run_gpu_name(r, b));
	}
	return b->lost;
}

static void judge(struct runner *r, struct run_board *b)
{
	struct run_seen v[HES_MAX_SHARING];
	enum run_blame blame[HES_MAX_SHARING];

	for (uint32_t i = 0; i < b->n_members; i++)
		v[i] = seen(r, b, &r->tasks[b->members[i]]);
	/* Without MPS every job has the board for itself. */
	if (!run_judge(v, b->n_members, !b->mps_on || run_now_us(r) >= b->judge_until_us, blame))
		return;
	b->judging = false;
	is_lost(r, b);
	for (uint32_t i = 0; i < b->n_members; i++) {
		struct run_task *t = &r->tasks[b->members[i]];

		if (t->state != TASK_ENDED)
			continue;
		t->state = TASK_JUDGED;
		t->verdict = !b->lost && (blame[i] == RUN_BLAME_OWN || !b->mps_on) ? HES_VERDICT_FAILED : HES_VERDICT_FELL;
		if (blame[i] == RUN_BLAME_SUSPECT && b->mps_on && !b->lost) {
			b->queue.v[t->place].alone = true;
			run_tell(r, "%s: all jobs there failed together; job %s, which was the first, is tried again by itself",
				 run_gpu_name(r, b), t->job->id);
		}
	}
	if (!b->lost)
		run_revive_mps(r, b);
}

/* Whether a judged job is tried again; said once. */
static void decide(struct runner *r, struct run_task *t)
{
	bool own = t->verdict == HES_VERDICT_FAILED || t->verdict == HES_VERDICT_TIMEOUT;
	char log[RUN_FILE_NAME_MAX];
	const char *then;

	run_output_name(t, log);
	if (t->decided)
		return;
	t->decided = true;
	if (!t->over) /* it could be started */
		t->over = t->verdict == HES_VERDICT_DONE || (own && t->charged >= r->q->retries);
	then = t->over ? "it is given up"
		: r->stopping || r->boards[t->board].lost ? "it waits for --resume" : "it is tried again";
	if (t->verdict == HES_VERDICT_FAILED)
		run_tell(r, "job %s failed with status %d in attempt %" PRIu32 "; %s; %s/%s has its output", t->job->id, t->end.code,
			 t->attempt.number, then, r->q->folder, log);
	else if (t->verdict == HES_VERDICT_TIMEOUT)
		run_tell(r, "job %s timed out in attempt %" PRIu32 "; %s", t->job->id, t->attempt.number, then);
	else if (t->verdict == HES_VERDICT_FELL)
		run_tell(r, "job %s fell with others on its GPU, status %d in attempt %" PRIu32 "; %s", t->job->id, t->end.code,
			 t->attempt.number, then);
}

/* --- written down --- */

static struct hes_run_job result(const struct run_task *t)
{
	struct hes_run_job j = {
		.state = t->verdict == HES_VERDICT_DONE ? HES_RUN_JOB_DONE : HES_RUN_JOB_FAILED,
		.start_us = t->attempt.started_us, .end_us = t->ended_us, .has_energy = !t->energy_missing,
		.energy_mj = (uint64_t)((t->energy_j + t->earlier_j) * 1e3 + 0.5),
	};

	snprintf(j.job, sizeof(j.job), "%s", t->job->id);
	return j;
}

static int write_task(struct runner *r, const struct run_task *t, struct hes_err *err)
{
	struct hes_run_job j = result(t);
	int rc = t->attempt.id ? hes_journal_attempt_ended(r->journal, t->attempt.id, t->ended_us, t->end.code, t->verdict, err) : 0;

	return rc || !t->over ? rc : hes_journal_result(r->journal, r->run->id, &j, err);
}

static struct hes_run_gpu took(const struct runner *r, const struct run_board *b)
{
	struct hes_run_gpu g = r->gpus[b - r->boards];

	g.measured = !b->energy_missing;
	g.busy_us = b->before.busy_us + (int64_t)(b->busy_s * 1e6);
	g.busy_mj = b->before.busy_mj + (uint64_t)(b->busy_j * 1e3);
	g.idle_mj = b->before.idle_mj + (uint64_t)(b->idle_j * 1e3);
	return g;
}

static int write_all(struct runner *r, struct hes_err *err)
{
	int rc = hes_journal_begin(r->journal, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < r->n_ended && !rc; i++) {
		const struct run_task *t = &r->tasks[r->ended[i]];

		if (t->state != TASK_JUDGED)
			continue;
		rc = write_task(r, t, err);
		if (!rc) {
			struct hes_run_gpu g = took(r, &r->boards[t->board]);

			rc = hes_journal_gpu_took(r->journal, r->run->id, &g, err);
		}
	}
	return hes_journal_end(r->journal, rc, err);
}

int run_keep_gpus(struct runner *r, struct hes_err *err)
{
	int rc = hes_journal_begin(r->journal, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < r->n_boards && !rc; i++) {
		struct hes_run_gpu g = took(r, &r->boards[i]);

		rc = hes_journal_gpu_took(r->journal, r->run->id, &g, err);
	}
	return hes_journal_end(r->journal, rc, err);
}

/* The journal has it. */
static void settle(struct runner *r, struct run_task *t)
{
	struct run_place *p = &r->boards[t->board].queue.v[t->place];
	char name[RUN_FILE_NAME_MAX];

	run_status_name(t->job->id, t->attempt.number, name);
	unlinkat(r->folder.fd, name, 0);
	t->decided = false;
	t->charged += t->verdict == HES_VERDICT_FAILED || t->verdict == HES_VERDICT_TIMEOUT;
	t->falls += t->verdict == HES_VERDICT_FELL;
	r->timeouts += t->verdict == HES_VERDICT_TIMEOUT;
	r->felled += t->verdict == HES_VERDICT_FELL;
	if (!t->over) {
		r->retried++;
		t->state = TASK_WAITING;
		p->state = RUN_WAITING;
		return;
	}
	p->state = RUN_OVER;
	t->state = t->verdict == HES_VERDICT_DONE ? TASK_DONE : TASK_FAILED;
	r->done += t->state == TASK_DONE;
	r->failed += t->state == TASK_FAILED;
	if (t->state == TASK_DONE) {
		r->planned_sum_us += (double)(t->planned_end_us - t->planned_start_us);
		r->took_sum_us += (double)(t->ended_us - t->attempt.started_us);
	}
}

void run_close_done(struct runner *r)
{
	for (size_t i = 0; i < r->n_boards; i++)
		if (!r->boards[i].closed && run_admit_over(&r->boards[i].queue))
			run_close_board(r, &r->boards[i]);
}

/* Those that the journal has leave the list. */
static void settle_all(struct runner *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n_ended; i++) {
		if (r->tasks[r->ended[i]].state == TASK_JUDGED)
			settle(r, &r->tasks[r->ended[i]]);
		else
			r->ended[n++] = r->ended[i];
	}
	r->n_ended = n;
}

void run_finish(struct runner *r)
{
	struct hes_err err;
	size_t judged = 0;

	for (size_t i = 0; i < r->n_boards; i++)
		if (r->boards[i].judging)
			judge(r, &r->boards[i]);
	for (size_t i = 0; i < r->n_ended; i++) {
		if (r->tasks[r->ended[i]].state != TASK_JUDGED)
			continue;
		decide(r, &r->tasks[r->ended[i]]);
		judged++;
	}
	if (r->held || !judged)
		return;
	if (write_all(r, &err)) {
		run_hold(r, &err);
		return;
	}
	if (r->hold_told)
		run_tell(r, "the journal can be written again");
	r->hold_told = false;
	settle_all(r);
}
