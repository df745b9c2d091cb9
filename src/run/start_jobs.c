/*
 * start_jobs.c - start jobs in three steps; see start_jobs.h.
 */
#include "run/start_jobs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/environment.h"
#include "run/gpu_memory.h"
#include "run/run_files.h"
#include "run/run_place.h"

#define WRAP_MAX   8
#define STARTS_MAX 3 /* of a job whose process is killed before it runs the command */

static bool behind_mps(const struct run_gpu *g, const struct run_task *t)
{
	/* In exclusive mode the MPS server keeps all others off the GPU. */
	return g->mps.on && (g->exclusive || !run_admit_alone(&g->queue, t->place) ||
			     (g->mps.open && !t->charged && !t->co_failures));
}

static bool yields_to_others(const struct run_tasks *ts, const struct run_task *t)
{
	for (size_t i = 0; i < ts->n && !(t->job->keep > 0); i++)
		if (ts->v[i]->job->keep > 0)
			return true;
	return false;
}

static void task_set_environment(const struct run_starter *s, const struct run_gpu *g,
				 const struct run_task *t, const char *launches,
				 struct run_environment *e)
{
	run_environment_set(
		e, &(struct run_environment_of){ .job = t->job,
						 .run = s->log->run->id,
						 .attempt = t->attempt.number,
						 .gpu = run_gpu_name(g),
						 .uuid = g->info.uuid,
						 .sm_pct = t->attempt.sm_pct,
						 .limit_mib = t->limit_mib,
						 .yields = yields_to_others(s->tasks, t),
						 .mps = behind_mps(g, t) ? &g->mps.daemon : NULL,
						 .mps_folder = s->q->mps_folder,
						 .launches = launches,
						 .preload = launches ? s->q->preload : NULL });
}

/* Start the wrapper (wrap.c), which writes the status of the job to its standard input. */
static int fork_wrapped(struct run_starter *s, struct run_task *t, struct hes_launch *l,
			struct hes_err *err)
{
	const char *argv[WRAP_MAX + 3] = { NULL };
	size_t n = 0;

	while (n < WRAP_MAX && s->q->wrap[n]) {
		argv[n] = s->q->wrap[n];
		n++;
	}
	argv[n] = t->command;
	argv[n + 1] = t->job->progress;
	l->argv = argv;
	return hes_guard_fork(s->children->settings->guard, l, &t->child, err);
}

static int fork_paused(struct run_starter *s, struct run_gpu *g, struct run_task *t,
		       struct hes_err *err)
{
	struct run_environment e = { .v = { NULL } };
	struct hes_launch l = { .variables = e.v,
				.output_fd = -1,
				.user = t->job->user[0] ? t->job->user : s->q->user,
				.no_new_rights = !s->q->allow_setuid };
	char launches[PATH_MAX];
	struct hes_owner owner;
	int rc = hes_launch_owner(l.user, &owner, err), other = rc;

	if (rc < 0)
		return rc;
	t->attempt = (struct hes_attempt){ .number = t->record.attempts + 1,
					   .sm_pct = t->place->alone ? 100 : t->place->sm_pct };
	t->alone = t->place->alone && !t->place->invited;
	run_usage_reset(t, behind_mps(g, t) && (!t->place->alone || t->place->invited)
				   ? run_memory_limit(t->job, g->queue.memory_mib)
				   : 0);
	t->energy_j = 0;
	t->energy_missing = t->energy_split = false;
	t->record.clock_mhz = t->record.clock_s = 0;
	snprintf(t->attempt.job, sizeof(t->attempt.job), "%s", t->job->id);
	snprintf(t->attempt.gpu, sizeof(t->attempt.gpu), "%s", run_gpu_name(g));
	run_launches_close(t);
	if (s->q->preload)
		t->launches_fd = run_launches_make(s->log->folder, t->job->id, t->attempt.number,
						   other ? &owner : NULL, launches);
	task_set_environment(s, g, t, t->launches_fd >= 0 ? launches : NULL, &e);
	l.input_fd = run_status_reserve(s->log->folder, t->job->id, t->attempt.number, err);
	if (l.input_fd < 0)
		return l.input_fd;
	l.output_fd = run_output_open(s->log->folder, t->job->id, other ? &owner : NULL,
				      &t->output_from, err);
	rc = l.output_fd < 0 ? l.output_fd : fork_wrapped(s, t, &l, err);
	if (l.output_fd >= 0)
		close(l.output_fd);
	close(l.input_fd);
	return rc;
}

/* What kills this program may kill its jobs' processes, too: one that was killed before it ran its
 * command is tried again. */
static bool start_was_killed(struct run_task *t, int rc)
{
	return rc == -ESRCH && ++t->killed_starts < STARTS_MAX;
}

static bool error_may_pass(int rc)
{
	return rc == -EAGAIN || rc == -ENOMEM || rc == -EMFILE || rc == -ENFILE || rc == -ENOSPC ||
	       rc == -EIO || rc == -EROFS || rc == -EDQUOT;
}

/* Whether a job waits for the power cap. */
static bool waits_for_power(struct run_starter *s, struct run_task *t)
{
	struct hes_meter_power now;
	double with_w;

	if (s->cap->cap_w <= 0)
		return false;
	hes_meter_power(s->children->meter->meter, &now);
	if (!run_cap_delays(s->cap, s->gpus->v, s->gpus->n, t, now.now_w, &with_w))
		return false;
	if (!t->waited_power && with_w > s->cap->cap_w)
		run_tell(s->log,
			 "job %s waits for the power cap of %.0f W: with it the GPUs might draw "
			 "%.0f W",
			 t->job->id, s->cap->cap_w, with_w);
	s->cap->delayed += !t->waited_power;
	t->waited_power = true;
	return true;
}

/* Whether a job would join others, and the run may say no. Jobs with deadlines start as planned. */
static bool start_joins(const struct run_starter *s, const struct run_gpu *g, size_t n,
			const struct run_task *t)
{
	return g->n_running + n && s->learner->prefer && !s->q->waiting_stay && !t->place->alone &&
	       !t->place->invited && !t->job->has_deadline;
}

/* Jobs that did worse together than in turns: this one waits, and has the whole GPU then.
 * @param list  what starts with it */
static bool start_is_refused(struct run_starter *s, const struct run_gpu *g,
			     struct run_task *const *list, size_t n, struct run_task *t)
{
	struct run_task *v[HES_MAX_SHARING];
	uint32_t many = 0;
	bool keep = false;

	v[many++] = t;
	for (uint32_t i = 0; i < g->n_running; i++)
		v[many++] = g->running[i];
	for (size_t i = 0; i < n; i++)
		v[many++] = list[i];
	for (uint32_t i = 0; i < many; i++)
		keep |= v[i]->job->keep > 0;
	if (keep || !run_learner_refuses(s->learner, v, many))
		return false;
	t->place->alone = true;
	run_learner_note(s->learner, run_gpu_name(g), t->job->id,
			 "runs alone: with job %s it would do worse than in turns, as was measured",
			 v[1]->job->id);
	return true;
}

static int64_t longest_left_us(const struct run_gpu *g, int64_t now)
{
	int64_t longest_us = 0;

	for (uint32_t i = 0; i < run_gpu_started(g); i++) {
		const int64_t left_us = task_left_us(g->running[i], now);

		if (!g->running[i]->place->backfilled && left_us > longest_us)
			longest_us = left_us;
	}
	return longest_us;
}

/* Make the processes of the jobs that may start on a GPU. @return how many were added to @list */
static size_t fork_jobs(struct run_starter *s, struct run_gpu *g, bool plan_near,
			struct run_task **list)
{
	struct hes_err err;
	size_t n = 0;
	long next;

	g->queue.left_us = longest_left_us(g, run_now_us(s->log->clock));
	while (run_gpu_started(g) + n < HES_MAX_SHARING &&
	       (next = run_admit_next(&g->queue)) >= 0) {
		struct run_task *t = g->queue.v[next].task;
		const bool joins = start_joins(s, g, n, t);
		int rc;

		/* A planner of what waits may change the profiles that are read here. */
		if ((plan_near && (t->unplaced || joins)) || waits_for_power(s, t) ||
		    run_waits_for_outside(s->gpus->devices, s->log, t))
			break;
		if (joins && start_is_refused(s, g, list, n, t))
			continue;
		rc = fork_paused(s, g, t, &err);
		if (rc == -ESTALE) {
			run_tell(s->log, "nothing new starts: %s; --resume makes it again",
				 err.msg);
			s->stop->signals += !s->stop->signals;
			break;
		}
		if (rc && (error_may_pass(rc) || start_was_killed(t, rc))) {
			if (!s->reported)
				run_tell(s->log,
					 "jobs cannot be started now, and will be tried again: %s",
					 err.msg);
			s->reported = true;
			run_retry(s->log, &err);
			break;
		}
		if (rc)
			run_judge_not_started(s->children->judge, t, false, &err);
		else if (task_go(s->tasks, t, TASK_FORKED))
			list[n++] = t;
	}
	return n;
}

static void drop_forked(struct run_starter *s, struct run_task *const *list, size_t n)
{
	struct hes_child_end end;

	for (size_t i = 0; i < n; i++) {
		struct run_task *t = list[i];

		hes_child_kill(&t->child, NULL);
		while (t->child.id.pid &&
		       !hes_guard_reap(s->children->settings->guard, &t->child, &end, NULL))
			;
		task_go(s->tasks, t, TASK_WAITING);
	}
}

static int note_starts(struct run_starter *s, struct run_task *const *list, size_t n,
		       struct hes_err *err)
{
	int64_t now = run_now_us(s->log->clock);
	int rc = hes_journal_begin(s->log->journal, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < n && !rc; i++) {
		struct run_task *t = list[i];
		struct run_gpu *g = t->gpu;
		uint32_t mhz = run_clock_wanted(g);
		struct hes_run_process p = { .pid = t->child.id.pid,
					     .start = (int64_t)t->child.id.started };

		memcpy(p.boot, s->log->run->runner.boot, sizeof(p.boot));
		if (mhz && (!i || list[i - 1]->gpu != g))
			rc = run_note_clock(s->log, g, mhz, err);
		t->attempt.started_us = now;
		t->attempt.clock_mhz = mhz == RUN_UNLOCKED ? 0 : mhz ? mhz : g->lock.mhz;
		if (!rc)
			rc = run_act(s->log, run_gpu_name(g), t->job->id, err,
				     "start attempt %" PRIu32 " with %" PRIu32
				     " %% of the SMs: %.*s",
				     t->attempt.number, t->attempt.sm_pct, 300, t->command);
		if (!rc)
			rc = hes_journal_attempt(s->log->journal, s->log->run->id, &t->attempt,
						 err);
		if (!rc)
			rc = hes_journal_attempt_runs(s->log->journal, t->attempt.id, &p, err);
		if (!rc && t->unplaced)
			rc = run_note_place(s->log, t, err);
	}
	return hes_journal_end(s->log->journal, rc, err);
}

static void task_let_go(struct run_starter *s, struct run_task *t)
{
	char output[RUN_FILE_NAME_MAX];
	struct run_gpu *g = t->gpu;
	struct hes_err err;
	int rc = hes_guard_go(s->children->settings->guard, &t->child, &err);

	if (rc) {
		run_judge_not_started(s->children->judge, t, start_was_killed(t, rc), &err);
		return;
	}
	task_go(s->tasks, t, TASK_RUNNING);
	t->record.attempts++;
	t->ending = ENDING_OWN;
	t->kill_us = t->stuck_us = RUN_NEVER_US;
	t->progress_us = t->begun_us = t->moved_us = 0;
	t->hold = (struct run_hold){ 0 };
	t->late_us = 0;
	t->seen[0] = '\0';
	t->waits_outside = false;
	t->clock = (struct run_job_clock){ 0 };
	t->surprised = t->replanned = t->set_changed = false;
	t->began = t->began ? t->began : t->child.id.started;
	t->mps_daemon = behind_mps(g, t) ? g->mps.gone + 1 : 0;
	t->attempt.started_us = run_now_us(s->log->clock);
	t->deadline_us =
		t->limit_us == RUN_NEVER_US ? RUN_NEVER_US : t->attempt.started_us + t->limit_us;
	run_output_name(t->job->id, output);
	if (hes_progress_open(&t->progress, s->log->folder, output, t->output_from,
			      t->job->progress, &err))
		run_tell(s->log, "job %s: its progress cannot be seen: %s", t->job->id, err.msg);
	g->running[run_gpu_started(g)] = g->running[g->n_running];
	t->set_changed = t->place->invited;
	for (uint32_t i = 0; t->place->invited && i < run_gpu_started(g); i++) {
		g->running[i]->alone = false;
		g->running[i]->set_changed = true;
	}
	t->place->invited = false;
	g->running[g->n_running++] = t;
	if (run_watch(s->children, t))
		run_end(s->children, t, ENDING_STOP);
}

/* Jobs whose starts are in the journal. Clocks first: setting them takes time. */
static void tasks_let_go(struct run_starter *s, struct run_task *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct run_gpu *g = list[i]->gpu;

		if (i && list[i - 1]->gpu == g)
			continue;
		run_account(s->children->meter, g);
		run_set_clock(s->children->settings, g, run_clock_wanted(g));
	}
	if (n && !s->begun)
		run_clock_begin(s->clock, s->log->folder, s->log->run->runner.boot);
	s->begun |= n > 0;
	for (size_t i = 0; i < n; i++) {
		task_let_go(s, list[i]);
		if (i + 1 < n && list[i + 1]->gpu == list[i]->gpu)
			continue;
		run_segment_begin(s->children->meter, list[i]->gpu);
		run_observe_begin(s->children->samples, list[i]);
	}
}

static bool may_start_on(const struct run_gpu *g)
{
	return run_gpu_is_usable(g) && !g->failure.open && !g->closed && !g->mps.late;
}

bool run_start(struct run_starter *s, bool plan_near)
{
	struct run_task **list;
	struct hes_err err;
	size_t n = 0, ended = s->tasks->n_ended;

	for (size_t i = 0; !s->stop->signals && i < s->gpus->n; i++)
		run_start_mps(s->children->settings, &s->gpus->v[i]);
	if (s->stop->signals || s->log->paused)
		return false;
	list = calloc(s->gpus->n * HES_MAX_SHARING + 1, sizeof(struct run_task *));
	if (!list) {
		hes_fail(&err, -ENOMEM, "out of memory");
		run_retry(s->log, &err);
		return false;
	}
	run_cap_round(s->cap);
	for (size_t i = 0; i < s->gpus->n; i++)
		if (may_start_on(&s->gpus->v[i]))
			n += fork_jobs(s, &s->gpus->v[i], plan_near, list + n);
	if (n && note_starts(s, list, n, &err)) {
		drop_forked(s, list, n);
		run_pause(s->log, &err);
		n = 0;
	}
	s->log->blocked_us = n ? RUN_NEVER_US : s->log->blocked_us;
	tasks_let_go(s, list, n);
	free(list);
	return s->tasks->n_ended > ended;
}
