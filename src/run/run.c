/*
 * run.c - a plan being carried out: made, run, taken apart; see runner.h and heshare/run.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/plural.h"
#include "run/environment.h"
#include "run/fit_boards.h"
#include "run/runner.h"

int64_t run_now_us(const struct runner *r)
{
	return r->offset_us + (int64_t)((hes_monotonic_s() - r->mono_s) * 1e6);
}

void run_tell(const struct runner *r, const char *fmt, ...)
{
	char text[HES_ERR_MAX + RUN_TEXT_MAX];
	va_list ap;

	if (!r->q->listener.told)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	r->q->listener.told(r->q->listener.ctx, text);
}

const char *run_gpu_name(const struct runner *r, const struct run_board *b)
{
	return r->q->fleet->gpus[b->gpu].name;
}

int run_act(struct runner *r, const struct run_board *b, const struct run_task *t, struct hes_err *err, const char *fmt, ...)
{
	const char *gpu = b ? run_gpu_name(r, b) : NULL, *job = t ? t->job->id : NULL;
	int64_t now = run_now_us(r);
	char text[RUN_TEXT_MAX];
	va_list ap;
	int rc;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	rc = hes_journal_act(r->journal, r->run->id, now, gpu, job, text, err);
	if (!rc && r->q->listener.act)
		r->q->listener.act(r->q->listener.ctx, now, gpu, job, text);
	return rc;
}

void run_hold(struct runner *r, const struct hes_err *err)
{
	if (!r->hold_told)
		run_tell(r, "the journal cannot be written, so nothing new starts until it can: %s", err->msg);
	r->held = r->hold_told = true;
	r->retry_us = run_now_us(r) + 1000000;
}

/* --- made --- */

static int64_t limit_of(const struct hes_run_request *q, const struct hes_placement *p)
{
	double us = q->timeout_factor * (double)(p->end_us - p->start_us);

	if (q->timeout_factor <= 0)
		return RUN_NEVER_US;
	if (us >= (double)RUN_NEVER_US)
		return RUN_NEVER_US;
	return us > (double)q->timeout_least_us ? (int64_t)us : q->timeout_least_us;
}

static void make_task(struct runner *r, uint32_t board, uint32_t place, uint32_t task, const struct hes_batch *batch,
		      const struct hes_placement *p, uint32_t index)
{
	const struct hes_job *job = &r->q->jobs->v[p->job];

	r->tasks[task] = (struct run_task){
		.job = job, .command = r->q->commands[p->job], .board = board, .place = place,
		.planned_start_us = p->start_us, .planned_end_us = p->end_us, .child = { .pidfd = -1, .gate = -1 },
		.progress = { .fd = -1 }, .limit_us = limit_of(r->q, p), .kill_us = RUN_NEVER_US,
		.activity = run_activity(r, &r->boards[board], job, p->sm_pct, batch->clock_mhz),
	};
	r->boards[board].queue.v[place] = (struct run_place){
		.task = task, .batch = index, .sm_pct = p->sm_pct, .clock_mhz = batch->clock_mhz, .memory_mib = job->memory_mib,
		.user = r->boards[board].shares ? run_user(job->user) : 0,
	};
}

/* The batch's energy among its jobs, as the meter's will be; an open queue's batch is its job's alone. */
static void share_energy(struct runner *r, const struct run_board *b, const struct hes_batch *batch, uint32_t first_task)
{
	double seconds = (double)(batch->end_us - batch->start_us) * 1e-6, nobody_j = 0;
	double idle_w = r->q->fleet->gpus[b->gpu].type->idle_power_mw * 1e-3;
	struct hes_sharer v[HES_MAX_SHARING];
	bool known = true;

	for (uint32_t i = 0; i < batch->n; i++)
		known &= r->tasks[first_task + i].activity > 0;
	for (uint32_t i = 0; i < batch->n; i++)
		v[i] = (struct hes_sharer){
			.start_s = (double)(batch->jobs[i].start_us - batch->start_us) * 1e-6,
			.end_s = fmin((double)(batch->jobs[i].end_us - batch->start_us) * 1e-6, seconds),
			.sm_pct = batch->jobs[i].sm_pct,
			.activity = known ? r->tasks[first_task + i].activity : batch->jobs[i].sm_pct,
		};
	if (hes_attribute((double)batch->energy_mj * 1e-3, idle_w, seconds, v, batch->n, &nobody_j, NULL))
		return;
	for (uint32_t i = 0; i < batch->n; i++)
		r->tasks[first_task + i].planned_mj = (uint64_t)(v[i].energy_j * 1e3 + 0.5);
}

/* A GPU's batches as tasks, and the energy and time that are planned for them. */
static void make_tasks(struct runner *r, uint32_t board, const struct hes_queue *queue, uint32_t *n_tasks)
{
	struct hes_run_gpu *g = &r->gpus[board];
	uint32_t place = 0;

	for (size_t i = 0; i < queue->n; i++) {
		const struct hes_batch *batch = &queue->batches[i];

		g->planned_mj += batch->energy_mj;
		/* Jobs of an open queue overlap; those of batches do not. */
		if (!queue->together)
			g->planned_busy_us += batch->end_us - batch->start_us;
		else if (!i || batch->end_us > g->planned_busy_us)
			g->planned_busy_us = batch->end_us;
		for (uint32_t k = 0; k < batch->n; k++)
			make_task(r, board, place++, (*n_tasks)++, batch, &batch->jobs[k], (uint32_t)i);
		share_energy(r, &r->boards[board], batch, *n_tasks - batch->n);
	}
}

/* What the plan says of one GPU: its jobs, whether they share, its energy. */
static int make_board(struct runner *r, uint32_t board, size_t gpu, uint32_t *n_tasks, struct hes_err *err)
{
	const struct hes_queue *queue = &r->q->plan->queues[gpu];
	struct run_board *b = &r->boards[board];
	struct hes_run_gpu *g = &r->gpus[board];
	int rc;

	b->gpu = gpu;
	b->device = (size_t)r->q->boards[gpu];
	b->verify_us = RUN_NEVER_US;
	b->shares = !r->q->no_mps && run_shares(queue);
	rc = hes_device_info(r->q->devices, b->device, &b->info, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < queue->n; i++)
		b->queue.n += queue->batches[i].n;
	b->queue.together = queue->together;
	b->queue.memory_mib = r->q->fleet->gpus[gpu].type->memory_mib;
	b->queue.v = calloc(b->queue.n + 1, sizeof(*b->queue.v));
	if (!b->queue.v)
		return hes_fail(err, -ENOMEM, "out of memory for %zu jobs", b->queue.n);
	snprintf(g->gpu, sizeof(g->gpu), "%s", r->q->fleet->gpus[gpu].name);
	snprintf(g->gpu_type, sizeof(g->gpu_type), "%s", r->q->fleet->gpus[gpu].type->name);
	snprintf(g->uuid, sizeof(g->uuid), "%s", b->info.uuid);
	make_tasks(r, board, queue, n_tasks);
	b->clock_refused = r->q->no_clocks;
	return 0;
}

static int make(struct runner *r, struct hes_err *err)
{
	size_t tasks = 0, board = 0;
	uint32_t n_tasks = 0;
	int rc = 0;

	for (size_t g = 0; g < r->q->fleet->n; g++) {
		const struct hes_queue *q = &r->q->plan->queues[g];

		r->n_boards += r->q->boards[g] >= 0;
		for (size_t i = 0; i < q->n && r->q->boards[g] >= 0; i++)
			tasks += q->batches[i].n;
	}
	r->boards = calloc(r->n_boards + 1, sizeof(*r->boards));
	r->gpus = calloc(r->n_boards + 1, sizeof(*r->gpus));
	r->tasks = calloc(tasks + 1, sizeof(*r->tasks));
	r->ended = calloc(tasks + 1, sizeof(*r->ended));
	if (!r->boards || !r->gpus || !r->tasks || !r->ended)
		return hes_fail(err, -ENOMEM, "out of memory for %zu jobs on %zu GPUs", tasks, r->n_boards);
	for (size_t g = 0; g < r->q->fleet->n && !rc; g++)
		if (r->q->boards[g] >= 0)
			rc = make_board(r, (uint32_t)board++, g, &n_tasks, err);
	r->n_tasks = n_tasks;
	return rc;
}

/* --- begun --- */

static int note_new_run(struct runner *r, struct hes_err *err)
{
	struct hes_run_job *jobs = calloc(r->n_tasks + 1, sizeof(*jobs));
	int rc;

	if (!jobs)
		return hes_fail(err, -ENOMEM, "out of memory for %zu jobs", r->n_tasks);
	for (size_t i = 0; i < r->n_tasks; i++) {
		const struct run_task *t = &r->tasks[i];
		const struct run_board *b = &r->boards[t->board];

		snprintf(jobs[i].job, sizeof(jobs[i].job), "%s", t->job->id);
		snprintf(jobs[i].workload, sizeof(jobs[i].workload), "%s", t->job->workload);
		snprintf(jobs[i].gpu, sizeof(jobs[i].gpu), "%s", run_gpu_name(r, b));
		jobs[i].sm_pct = b->queue.v[t->place].sm_pct;
		jobs[i].planned_start_us = t->planned_start_us;
		jobs[i].planned_end_us = t->planned_end_us;
	}
	r->run->started_us = hes_wall_us();
	rc = hes_journal_new_run(r->journal, r->run, r->gpus, r->n_boards, jobs, r->n_tasks, err);
	free(jobs);
	return rc;
}

/* Who we are, for those who find the run in the journal. */
static int note_runner(struct hes_run *run, struct hes_err *err)
{
	struct hes_process self;
	int rc = hes_process_of(getpid(), &self);

	if (rc)
		return hes_fail(err, rc, "/proc: this process does not find itself: %s", strerror(-rc));
	run->runner = (struct hes_run_process){ .pid = self.pid, .start = (int64_t)self.started };
	return hes_process_boot(run->runner.boot, err);
}

static int open_events(struct runner *r, struct hes_err *err)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u64 = UINT64_MAX };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	r->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	r->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (r->signals < 0 || r->epoll < 0 || epoll_ctl(r->epoll, EPOLL_CTL_ADD, r->signals, &e))
		return hes_fail(err, -errno, "cannot wait for events: %s", strerror(errno));
	return 0;
}

static void tell_mended(const struct runner *r, const struct hes_mended *m)
{
	if (m->clocks + m->limits + m->daemons + m->jobs)
		run_tell(r, "what a run before had left was set right: %u clock%s, %u power limit%s, "
			 "%u MPS daemon%s, %u job%s", m->clocks, hes_s(m->clocks), m->limits, hes_s(m->limits), m->daemons,
			 hes_s(m->daemons), m->jobs, hes_s(m->jobs));
	if (m->failed)
		run_tell(r, "%u change%s that a run before had left cannot be undone now; tried again at the end; guard.log in %s "
			 "says why", m->failed, hes_s(m->failed), r->q->folder);
}

static int claim_boards(struct runner *r, struct hes_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < r->n_boards && !rc; i++) {
		rc = hes_guard_claim(r->guard, r->boards[i].info.uuid, err);
		if (rc)
			hes_fail_in(err, "%s", run_gpu_name(r, &r->boards[i]));
	}
	return rc;
}

/* Whether root is to start a job of another user. @return 1; 0; -ENOENT no such user */
static int has_others(const struct runner *r, struct hes_err *err)
{
	const char *last = NULL;
	struct hes_owner owner;
	int rc = 0;

	for (size_t i = 0; !geteuid() && !rc && i < r->n_tasks; i++) {
		const char *user = r->tasks[i].job->user[0] ? r->tasks[i].job->user : r->q->user;

		if (!user || (last && strcmp(user, last) == 0))
			continue;
		last = user;
		rc = hes_launch_owner(user, &owner, err);
	}
	return rc;
}

/* What jobs write is opened beneath the folder that is there now. */
static int open_folder(struct runner *r, struct hes_err *err)
{
	int rc = hes_job_folder_open(&r->folder, r->q->folder, err);

	if (!rc)
		rc = has_others(r, err);
	return rc > 0 ? hes_job_folder_check(&r->folder, err) : rc;
}

static int begin(struct runner *r, struct hes_err *err)
{
	bool resumed = r->run->id != 0;
	int rc = open_events(r, err);

	r->mono_s = hes_monotonic_s();
	if (!rc)
		rc = open_folder(r, err);
	/* The guard holds the folder: from here on nobody else carries this run out. */
	if (!rc)
		rc = hes_guard_start(&r->guard, r->q->guard, r->q->folder, &r->mended, err);
	if (!rc)
		tell_mended(r, &r->mended);
	if (!rc)
		rc = claim_boards(r, err);
	if (!rc)
		rc = note_runner(r->run, err);
	if (!rc)
		rc = resumed ? hes_journal_take_over(r->journal, r->run->id, &r->run->runner, err) : note_new_run(r, err);
	if (!rc && resumed)
		run_load_clock(r);
	if (!rc && resumed)
		rc = run_reconcile(r, err);
	if (rc)
		return rc;
	run_open_boards(r);
	rc = run_meter_start(r, err);
	if (!rc && resumed)
		rc = run_resume_clock(r, err);
	r->mono_s = hes_monotonic_s();
	return rc;
}

/* --- ended --- */

static void drop_all(struct runner *r)
{
	for (size_t i = 0; i < r->n_tasks; i++) {
		if (r->tasks[i].stuck)
			hes_child_forget(&r->tasks[i].child);
		hes_child_drop(&r->tasks[i].child);
		hes_progress_close(&r->tasks[i].progress);
	}
}

static void unmake(struct runner *r)
{
	drop_all(r);
	hes_meter_stop(r->meter);
	for (size_t i = 0; r->boards && i < r->n_boards; i++) {
		free(r->boards[i].queue.v);
		free(r->boards[i].segments);
	}
	if (r->epoll >= 0)
		close(r->epoll);
	if (r->signals >= 0)
		close(r->signals);
	hes_job_folder_close(&r->folder);
	free(r->boards);
	free(r->gpus);
	free(r->tasks);
	free(r->ended);
}

static int end(struct runner *r, struct hes_run_report *out, struct hes_err *err)
{
	enum hes_run_state state = r->done == r->n_tasks ? HES_RUN_DONE
		: r->done + r->failed == r->n_tasks ? HES_RUN_FAILED : HES_RUN_STOPPED;
	int rc;

	for (size_t i = 0; i < r->n_boards; i++)
		run_close_board(r, &r->boards[i]);
	/* Boards that were done before the others stood idle until now. */
	for (size_t i = 0; i < r->n_boards; i++)
		run_account(r, &r->boards[i]);
	rc = run_keep_gpus(r, err);
	if (rc)
		return rc;
	r->run->state = state;
	r->run->ended_us = hes_wall_us();
	rc = run_report(r, out, err);
	if (!rc)
		rc = hes_journal_run_ended(r->journal, r->run->id, state, r->run->ended_us, err);
	return rc;
}

int hes_run_carry_out(const struct hes_run_request *q, struct hes_journal *journal, struct hes_run *run,
		      struct hes_run_report *out, struct hes_err *err)
{
	struct runner r = { .q = q, .journal = journal, .run = run, .epoll = -1, .signals = -1, .retry_us = RUN_NEVER_US,
			    .boot_us = RUN_NEVER_US, .folder = { .fd = -1 } };
	struct hes_run_report report = { 0 };
	struct hes_err late = { 0 };
	sigset_t set, before;
	int rc, undone;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, &before);
	rc = make(&r, err);
	if (!rc)
		rc = begin(&r, err);
	if (!rc)
		rc = run_loop(&r, err);
	drop_all(&r);
	if (!rc)
		rc = end(&r, &report, err);
	undone = hes_guard_finish(r.guard, &late);
	if (undone)
		run_tell(&r, "not everything could be set back: %s", late.msg);
	unmake(&r);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (rc)
		hes_run_report_free(&report);
	else
		*out = report;
	return rc;
}

/* --- boards --- */

int hes_run_fit(const struct hes_fleet *f, const struct hes_plan *p, const char *node, const struct hes_devices *d,
		long *out, struct hes_err *err)
{
	size_t n = hes_devices_count(d);
	struct hes_device_info *info = calloc(n + 1, sizeof(*info));
	struct run_board_type *types = calloc(n + 1, sizeof(*types));
	int rc = info && types ? 0 : hes_fail(err, -ENOMEM, "out of memory for %zu boards", n);

	for (size_t i = 0; !rc && i < n; i++) {
		/* A lost board is none; the plan may do without it. */
		hes_device_info(d, i, &info[i], NULL);
		types[i] = (struct run_board_type){ info[i].type, info[i].name };
	}
	if (!rc)
		rc = run_fit(f, p, node, types, n, out, err);
	free(info);
	free(types);
	return rc;
}
