/*
 * plan_again.c - plan the waiting jobs again; see plan_again.h.
 */
#include "run/plan_again.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Of a job's planned time: then it differs, if its error is not known. */
#define DIFFERS         0.2
#define SURE_US         10000000 /* of progress with the same co-runners and clock */
#define DIFFERS_LEAST   0.05     /* the same, however small its error is */
#define LEAST_LEFT      0.01     /* of a job that runs longer than planned */
#define PAUSE_LEAST_US  1000000
#define PAUSE_COSTS     100 /* times what planning took, before it is done again */
#define PAUSE_IDLE      10  /* the same, while a GPU has nothing to do */
#define PAUSE_FAILED_US 60000000

/* --- when --- */

static bool replan_is_used(const struct run_replans *p)
{
	return p->q->replan != NULL;
}

/* Whether there is a job to place: in a run of a plan one that was added. */
static bool something_moves(const struct run_replans *p)
{
	for (size_t i = 0; i < p->tasks->n; i++) {
		const struct run_task *t = p->tasks->v[i];

		if (task_waits(t) && (t->unplaced || !p->q->waiting_stay))
			return true;
	}
	return false;
}

void run_replan_want(struct run_replans *p, const char *why)
{
	if (!replan_is_used(p) || !something_moves(p))
		return;
	p->due = true;
	snprintf(p->why, sizeof(p->why), "%s", why);
}

void run_replan_want_now(struct run_replans *p, const char *why)
{
	run_replan_want(p, why);
	p->not_before_us = p->idle_not_before_us = 0;
}

/* How long a job still takes at its rate since the jobs or the clock of its GPU changed last.
 * @return false: not known for sure */
static bool task_left_now_us(const struct run_task *t, int64_t now, int64_t *left_us)
{
	const struct run_segment *s = &t->gpu->energy.now;
	const double part = task_part_done(t);
	double left, since;

	for (uint32_t i = 0; i < s->n; i++) {
		const struct run_rate *r = &s->rates[i];

		if (r->task != t || part < 0 || !r->seen || r->last <= r->first ||
		    run_rate_us(r) < SURE_US)
			continue;
		left = (1 - part) * (double)t->job->iterations * run_rate_us(r) /
		       (double)(r->last - r->first);
		since = (double)(now - r->last_us);
		*left_us = (int64_t)fmax(left - since, since);
		return true;
	}
	return false;
}

/* When a running job ends. Of one that runs longer than planned, the end is a quarter of its time
 * away. */
static int64_t task_end_of(const struct run_task *t, int64_t now)
{
	int64_t left_us;

	if (!task_left_now_us(t, now, &left_us))
		left_us = task_left_us(t, now);
	return left_us >= 0 || t->unknown ? now + left_us : now + task_ran_us(t, now) / 4;
}

static double task_error(const struct run_task *t)
{
	return t->time_error > 0 ? fmax(t->time_error, DIFFERS_LEAST) : DIFFERS;
}

static bool task_differs(const struct run_task *t, int64_t end_us)
{
	return !t->unknown && fabs((double)(end_us - t->expected_end_us)) >
				      task_error(t) * (double)task_planned_us(t);
}

/* A surprise is no doing of this run: it tried no clock and changed no set. @param times  the whole
 * time that the job takes, of its planned one */
static bool task_surprises(const struct run_task *t, double times)
{
	return !t->unknown && !t->clock.on && !t->set_changed && fabs(times - 1) > task_error(t);
}

/* Once in an attempt. The report has it when the whole time is known. */
static void look_surprise(struct run_replans *p, struct run_task *t, int64_t takes_us)
{
	const double times = (double)takes_us / (double)task_planned_us(t);

	if (t->surprised || !task_surprises(t, times))
		return;
	t->surprised = true;
	t->replanned = replan_is_used(p) && something_moves(p);
	run_act(p->learner->log, run_gpu_name(t->gpu), t->job->id, NULL,
		"at its present rate it takes %.2f times its planned time", times);
}

static void note_surprise(struct run_replans *p, struct run_task *t)
{
	const double times = (double)task_ran_us(t, t->ended_us) / (double)task_planned_us(t);

	if (!task_surprises(t, times))
		return;
	t->replanned |= replan_is_used(p) && something_moves(p);
	run_learner_note(
		p->learner, run_gpu_name(t->gpu), t->job->id,
		"takes %.2f times its planned time, which was thought to be off by %.2f at "
		"most: %s",
		times, task_error(t),
		t->replanned ? "what waits is planned again" : "nothing waits that could move");
}

void run_replan_ended(struct run_replans *p, struct run_task *t)
{
	char why[RUN_WHY_MAX];
	size_t unknown = 0;

	for (size_t i = 0; i < p->tasks->n; i++)
		unknown += p->tasks->v[i]->unknown && task_waits(p->tasks->v[i]);
	if (t->verdict == HES_VERDICT_DONE)
		note_surprise(p, t);
	if (!t->unknown && !unknown && !task_differs(t, t->ended_us))
		return;
	snprintf(why, sizeof(why), "job %s ended", t->job->id);
	run_replan_want(p, why);
}

void run_replan_look(struct run_replans *p, int64_t now)
{
	char why[RUN_WHY_MAX];

	for (size_t i = 0; i < p->gpus->n; i++)
		for (uint32_t k = 0; k < p->gpus->v[i].n_running; k++) {
			struct run_task *t = p->gpus->v[i].running[k];
			const int64_t end_us = task_end_of(t, now);
			int64_t left_us;

			/* Without progress lines only the plan tells. */
			if (task_part_done(t) >= 0 && !task_left_now_us(t, now, &left_us))
				continue;
			if (task_part_done(t) >= 0)
				look_surprise(p, t, task_ran_us(t, now) + end_us - now);
			if (!task_differs(t, end_us))
				continue;
			t->expected_end_us = end_us;
			snprintf(why, sizeof(why), "job %s differs from the plan", t->job->id);
			run_replan_want(p, why);
		}
}

/* Jobs that wait for a GPU that cannot be used; once for each such GPU. */
static void look_for_lost(struct run_replans *p)
{
	char why[RUN_WHY_MAX];

	for (size_t i = 0; i < p->gpus->n; i++) {
		struct run_gpu *g = &p->gpus->v[i];

		if (run_gpu_is_usable(g) || g->emptied)
			continue;
		g->emptied = true;
		for (size_t k = 0; k < g->queue.n; k++)
			if (task_waits(g->queue.v[k].task)) {
				snprintf(why, sizeof(why), "%s cannot be used", run_gpu_name(g));
				run_replan_want(p, why);
				p->not_before_us = 0;
				break;
			}
	}
}

static bool has_idle_gpu(const struct run_replans *p)
{
	for (size_t i = 0; i < p->gpus->n; i++)
		if (run_gpu_is_usable(&p->gpus->v[i]) && !run_gpu_started(&p->gpus->v[i]))
			return true;
	return false;
}

int64_t run_replan_time(const struct run_replans *p)
{
	if (!p->due || p->planning)
		return RUN_NEVER_US;
	return has_idle_gpu(p) && !p->failed ? p->idle_not_before_us : p->not_before_us;
}

bool run_replan_is_near(const struct run_replans *p)
{
	return p->planning || run_replan_time(p) <= run_now_us(p->log->clock);
}

/* --- what there is --- */

struct snapshot {
	struct hes_run_now now;
	struct hes_jobs jobs; /* shallow copies, by task */
	uint32_t *waiting;
	struct hes_running *running;
	bool *usable;
};

static void snapshot_free(struct snapshot *s)
{
	free(s->jobs.v);
	free(s->waiting);
	free(s->running);
	free(s->usable);
}

static void snapshot_running(const struct run_replans *p, const struct run_gpu *g,
			     struct snapshot *s)
{
	for (uint32_t k = 0; k < run_gpu_started(g); k++) {
		struct run_task *t = g->running[k];
		const int64_t now = s->now.now_us, end_us = task_end_of(t, now);
		const double part = task_part_done(t),
			     by_plan = (double)(task_ran_us(t, now) - t->start_up_us) /
				       fmax((double)(task_planned_us(t) - t->start_up_us), 1);

		s->running[s->now.n_running++] = (struct hes_running){
			.job = (uint32_t)t->index,
			.gpu = (uint32_t)run_fleet_index(p->gpus, g),
			.sm_pct = t->attempt.sm_pct,
			.clock_mhz = hes_gpu_type_clock(g->planned->type, t->attempt.clock_mhz),
			.start_us = now - task_ran_us(t, now),
			.end_us = end_us > now || t->unknown ? end_us : now + 1,
			.left = fmin(fmax(1 - (part > 0 ? part : by_plan), LEAST_LEFT), 1),
			.starting = task_is_starting(t, now),
		};
		t->expected_end_us = end_us;
	}
}

static int snapshot_make(struct run_replans *p, struct snapshot *s, struct hes_err *err)
{
	*s = (struct snapshot){
		.jobs.v = calloc(p->tasks->n + 1, sizeof(*s->jobs.v)),
		.waiting = calloc(p->tasks->n + 1, sizeof(*s->waiting)),
		.running = calloc(p->gpus->n * HES_MAX_SHARING + 1, sizeof(*s->running)),
		.usable = calloc(p->q->fleet->n + 1, sizeof(*s->usable)),
	};
	if (!s->jobs.v || !s->waiting || !s->running || !s->usable)
		return hes_fail(err, -ENOMEM, "out of memory for %zu jobs", p->tasks->n);
	s->jobs.n = p->tasks->n;
	s->now = (struct hes_run_now){ .now_us = run_now_us(p->log->clock),
				       .jobs = &s->jobs,
				       .waiting = s->waiting,
				       .running = s->running,
				       .usable = s->usable };
	for (size_t i = 0; i < p->tasks->n; i++) {
		p->tasks->v[i]->index = i;
		s->jobs.v[i] = *p->tasks->v[i]->job;
		if (task_waits(p->tasks->v[i]))
			s->waiting[s->now.n_waiting++] = (uint32_t)i;
	}
	for (size_t i = 0; i < p->gpus->n; i++) {
		const struct run_gpu *g = &p->gpus->v[i];

		s->usable[run_fleet_index(p->gpus, g)] = run_gpu_is_usable(g);
		snapshot_running(p, g, s);
	}
	return 0;
}

/* --- all of it --- */

/* A plan that is being made. */
struct run_planning {
	struct snapshot s;
	char due_to[RUN_WHY_MAX];
	hes_run_replan_fn *replan;
	void *ctx;
	struct hes_plan plan;
	struct hes_err why;
	int rc;
	pthread_t thread;
	int fd; /* readable when it is made */
};

static void *planning_run(void *arg)
{
	struct run_planning *g = arg;

	g->rc = g->replan(g->ctx, &g->s.now, &g->plan, &g->why);
	eventfd_write(g->fd, 1);
	return NULL;
}

static void planning_free(struct run_planning *g)
{
	if (!g)
		return;
	if (!g->rc)
		hes_plan_finish(&g->plan);
	snapshot_free(&g->s);
	if (g->fd >= 0)
		close(g->fd);
	free(g);
}

/* The plan is made: jobs go where it says. */
static int planning_take(struct run_replans *p, struct run_planning *g, struct hes_err *err)
{
	const int64_t now = run_now_us(p->log->clock), took_us = now - g->s.now.now_us;
	int rc;

	if (g->rc && !p->failed)
		run_tell(p->log, "%s: %s",
			 p->q->waiting_stay ? "new jobs run alone, behind those that wait"
					    : "the jobs that wait stay where they are",
			 g->why.msg);
	p->failed = g->rc != 0;
	p->due |= p->failed;
	rc = p->failed ? run_move_jobs(p->places, err)
		       : run_places_apply(p->places, &g->plan, g->due_to, err);
	p->not_before_us =
		now + (p->failed ? PAUSE_FAILED_US
				 : (int64_t)fmax(PAUSE_LEAST_US, (double)took_us * PAUSE_COSTS));
	p->idle_not_before_us = now + took_us * PAUSE_IDLE;
	return rc;
}

/* @return 0; 1 no thread could be made */
static int planning_begin(struct run_replans *p, struct run_planning *g)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = p };

	g->fd = eventfd(0, EFD_CLOEXEC);
	if (g->fd < 0 || epoll_ctl(p->epoll, EPOLL_CTL_ADD, g->fd, &e) ||
	    pthread_create(&g->thread, NULL, planning_run, g))
		return 1;
	p->planning = g;
	return 0;
}

static int planning_start(struct run_replans *p, struct hes_err *err)
{
	struct run_planning *g = calloc(1, sizeof(*g));
	int rc;

	if (!g)
		return hes_fail(err, -ENOMEM, "out of memory");
	g->fd = -1;
	p->due = false;
	rc = snapshot_make(p, &g->s, err);
	if (rc || !g->s.now.n_waiting) {
		planning_free(g);
		return rc;
	}
	memcpy(g->due_to, p->why, sizeof(g->due_to));
	g->replan = p->q->replan;
	g->ctx = p->q->replan_ctx;
	/* What runs goes on meanwhile; where nothing runs, jobs wait for the plan. */
	if (p->tasks->running && !planning_begin(p, g))
		return 0;
	planning_run(g);
	rc = planning_take(p, g, err);
	planning_free(g);
	return rc;
}

static struct run_planning *planning_end(struct run_replans *p)
{
	struct run_planning *g = p->planning;

	if (g)
		pthread_join(g->thread, NULL);
	p->planning = NULL;
	return g;
}

void run_replan_made(struct run_replans *p)
{
	p->made = true;
}

void run_replan_stop(struct run_replans *p)
{
	planning_free(planning_end(p));
}

int run_replan(struct run_replans *p, struct hes_err *err)
{
	struct run_planning *g;
	int rc = 0;

	if (!replan_is_used(p) || p->q->waiting_stay)
		rc = run_move_jobs(p->places, err);
	else
		look_for_lost(p);
	if (rc || !replan_is_used(p))
		return rc;
	if (p->made) {
		p->made = false;
		g = planning_end(p);
		rc = planning_take(p, g, err);
		planning_free(g);
	}
	if (rc || p->planning || !p->due || run_now_us(p->log->clock) < run_replan_time(p))
		return rc;
	return planning_start(p, err);
}

/* --- jobs that are added --- */

/* The usable one with the fewest jobs; the planner may choose another one. */
static struct run_gpu *gpu_with_least(const struct run_gpus *gs)
{
	struct run_gpu *best = &gs->v[0];

	for (size_t i = 1; i < gs->n; i++) {
		struct run_gpu *g = &gs->v[i];

		if (run_gpu_is_usable(g) &&
		    (!run_gpu_is_usable(best) ||
		     g->queue.n - g->queue.over < best->queue.n - best->queue.over))
			best = g;
	}
	return best;
}

/* @row is taken, and then empty, on success */
static int take_one(const struct run_places *ps, struct hes_run_added *row, struct hes_err *err)
{
	struct run_gpu *g = gpu_with_least(ps->gpus);
	struct run_queue *q = &g->queue;
	const struct run_place p = { .batch = q->n ? q->v[q->n - 1].batch + 1 : 0,
				     .sm_pct = 100,
				     .clock_mhz = RUN_UNLOCKED,
				     .alone = true };
	struct hes_run_added *own = run_queue_grow(q, 1, NULL) ? NULL : malloc(sizeof(*own));
	struct run_task *t = own ? run_tasks_add(ps->tasks) : NULL;

	if (!t) {
		free(own);
		return hes_fail(err, -ENOMEM, "out of memory for job %s", row->job.id);
	}
	*own = *row;
	row->job.command = row->job.progress = NULL;
	t->added = own;
	t->job = &own->job;
	t->command = own->job.command;
	t->unknown = t->unplaced = true;
	run_place_task(ps, t, g, &p, q->n);
	return 0;
}

int run_take_added(struct run_replans *p, struct hes_err *err)
{
	struct hes_run_added *v = NULL;
	size_t n = 0;
	int rc = hes_journal_added(p->log->journal, p->log->run->id, p->last_added, &v, &n, err);

	if (!rc && n && !p->q->takes_added) {
		run_tell(p->log,
			 "%zu added job%s left out: other users can change the store, its folder, "
			 "or a folder above it",
			 n, n == 1 ? " is" : "s are");
		p->last_added = v[n - 1].id;
		hes_run_added_free(v, n);
		return 0;
	}
	if (!rc && n)
		rc = run_tasks_grow(p->tasks, n, err);
	for (size_t i = 0; i < n && !rc; i++) {
		rc = take_one(p->places, &v[i], err);
		p->last_added = rc ? p->last_added : v[i].id;
		p->added_unconfirmed |= !rc;
	}
	hes_run_added_free(v, n);
	if (rc || !p->added_unconfirmed)
		return rc;
	if (n)
		run_tell(p->log, "%zu job%s added: there are %zu now", n,
			 n == 1 ? " was" : "s were", p->tasks->n);
	if (n)
		run_replan_want_now(p, "jobs were added");
	rc = hes_journal_added_taken(p->log->journal, p->log->run->id, p->last_added, err);
	p->added_unconfirmed = rc != 0;
	return rc;
}
