/*
 * plan_again.c - plan the waiting jobs again while a run goes on; see steps.h.
 *
 * The planner is a function of the request: this file says when, and shows it what runs and waits.
 * It works in a thread of its own while jobs run, on copies, and what has changed meanwhile counts.
 * Jobs that run stay where they are. All others leave their queues and are placed again, in one
 * transaction of the journal.
 */
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

#include "base/plural.h"
#include "base/texts.h"
#include "run/steps.h"

#define DIFFERS         0.2  /* of a job's planned time: then it differs from the plan */
#define LEAST_LEFT      0.01 /* of a job that runs longer than planned */
#define PAUSE_LEAST_US  1000000
#define PAUSE_COSTS     100 /* times what planning took, before it is done again */
#define PAUSE_IDLE      10  /* the same, while a GPU has nothing to do */
#define PAUSE_FAILED_US 60000000
#define NAMES_SHOWN     200 /* bytes of a message */

/* --- when --- */

void run_replan_want(struct runner *r, const char *why)
{
	if (!r->q->replan)
		return;
	r->replanning.due = true;
	snprintf(r->replanning.why, sizeof(r->replanning.why), "%s", why);
}

static int64_t planned_us(const struct run_task *t)
{
	return t->planned_end_us - t->planned_start_us;
}

static bool task_waits(const struct run_task *t)
{
	return t->state == TASK_WAITING && t->place->state == RUN_WAITING;
}

static bool is_usable(const struct run_gpu *g)
{
	return !g->lost && !g->stuck;
}

/* When a running job ends. Of one that runs longer than planned, the end is a quarter of its time
 * away. */
static int64_t end_of(const struct run_task *t, int64_t now)
{
	const int64_t left_us = run_job_left_us(t, now);

	return left_us >= 0 || t->unknown ? now + left_us : now + (now - t->attempt.started_us) / 4;
}

static bool differs(const struct run_task *t, int64_t end_us)
{
	return !t->unknown &&
	       fabs((double)(end_us - t->expected_end_us)) > DIFFERS * (double)planned_us(t);
}

void run_replan_ended(struct runner *r, const struct run_task *t)
{
	char why[RUN_WHY_MAX];
	size_t unknown = 0;

	for (size_t i = 0; i < r->n_tasks; i++)
		unknown += r->tasks[i]->unknown && task_waits(r->tasks[i]);
	if (!t->unknown && !unknown && !differs(t, t->ended_us))
		return;
	snprintf(why, sizeof(why), "job %s ended", t->job->id);
	run_replan_want(r, why);
}

void run_replan_look(struct runner *r, int64_t now)
{
	char why[RUN_WHY_MAX];

	for (size_t i = 0; i < r->n_gpus; i++)
		for (uint32_t k = 0; k < r->gpus[i].n_running; k++) {
			struct run_task *t = r->gpus[i].running[k];
			const int64_t end_us = end_of(t, now);

			if (!differs(t, end_us))
				continue;
			t->expected_end_us = end_us;
			snprintf(why, sizeof(why), "job %s differs from the plan", t->job->id);
			run_replan_want(r, why);
		}
}

/* Jobs that wait for a GPU that cannot be used; once for each such GPU. */
static void look_for_lost(struct runner *r)
{
	char why[RUN_WHY_MAX];

	for (size_t i = 0; i < r->n_gpus; i++) {
		struct run_gpu *g = &r->gpus[i];

		if (is_usable(g) || g->emptied)
			continue;
		g->emptied = true;
		for (size_t k = 0; k < g->queue.n; k++)
			if (task_waits(g->queue.v[k].task)) {
				snprintf(why, sizeof(why), "%s cannot be used", run_gpu_name(g));
				run_replan_want(r, why);
				r->replanning.not_before_us = 0;
				break;
			}
	}
}

static bool has_idle_gpu(const struct runner *r)
{
	for (size_t i = 0; i < r->n_gpus; i++)
		if (is_usable(&r->gpus[i]) && !r->gpus[i].n_running)
			return true;
	return false;
}

int64_t run_replan_time(const struct runner *r)
{
	const struct run_replanning *p = &r->replanning;

	if (!p->due || p->planning)
		return RUN_NEVER_US;
	return has_idle_gpu(r) && !p->failed ? p->idle_not_before_us : p->not_before_us;
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

static size_t fleet_index(const struct runner *r, const struct run_gpu *g)
{
	return (size_t)(g->planned - r->q->fleet->gpus);
}

static void snapshot_running(const struct runner *r, const struct run_gpu *g, struct snapshot *s)
{
	for (uint32_t k = 0; k < g->n_running; k++) {
		struct run_task *t = g->running[k];
		const int64_t now = s->now.now_us, end_us = end_of(t, now);
		const double part = run_part_done(t),
			     by_plan = (double)(now - t->attempt.started_us - t->start_up_us) /
				       fmax((double)(planned_us(t) - t->start_up_us), 1);

		s->running[s->now.n_running++] = (struct hes_running){
			.job = (uint32_t)t->index,
			.gpu = (uint32_t)fleet_index(r, g),
			.sm_pct = t->attempt.sm_pct,
			.clock_mhz = hes_gpu_type_clock(g->planned->type, t->attempt.clock_mhz),
			.start_us = t->attempt.started_us,
			.end_us = end_us > now || t->unknown ? end_us : now + 1,
			.left = fmin(fmax(1 - (part > 0 ? part : by_plan), LEAST_LEFT), 1),
			.starting = run_is_starting(t, now),
		};
		t->expected_end_us = end_us;
	}
}

static int snapshot_make(struct runner *r, struct snapshot *s, struct hes_err *err)
{
	*s = (struct snapshot){
		.jobs.v = calloc(r->n_tasks + 1, sizeof(*s->jobs.v)),
		.waiting = calloc(r->n_tasks + 1, sizeof(*s->waiting)),
		.running = calloc(r->n_gpus * HES_MAX_SHARING + 1, sizeof(*s->running)),
		.usable = calloc(r->q->fleet->n + 1, sizeof(*s->usable)),
	};
	if (!s->jobs.v || !s->waiting || !s->running || !s->usable)
		return hes_fail(err, -ENOMEM, "out of memory for %zu jobs", r->n_tasks);
	s->jobs.n = r->n_tasks;
	s->now = (struct hes_run_now){ .now_us = run_now_us(&r->clock),
				       .jobs = &s->jobs,
				       .waiting = s->waiting,
				       .running = s->running,
				       .usable = s->usable };
	for (size_t i = 0; i < r->n_tasks; i++) {
		r->tasks[i]->index = i;
		s->jobs.v[i] = *r->tasks[i]->job;
		if (task_waits(r->tasks[i]))
			s->waiting[s->now.n_waiting++] = (uint32_t)i;
	}
	for (size_t i = 0; i < r->n_gpus; i++) {
		s->usable[fleet_index(r, &r->gpus[i])] = is_usable(&r->gpus[i]);
		snapshot_running(r, &r->gpus[i], s);
	}
	return 0;
}

/* --- applied --- */

/* Jobs that the plan has, and that have not started meanwhile, leave their places. @return how many
 */
static size_t take_out(struct runner *r, const struct hes_plan *plan)
{
	size_t many = 0;

	for (size_t g = 0; g < plan->n_gpus; g++)
		for (size_t b = 0; b < plan->queues[g].n; b++)
			for (uint32_t k = 0; k < plan->queues[g].batches[b].n; k++) {
				struct run_task *t =
					r->tasks[plan->queues[g].batches[b].jobs[k].job];

				if (!task_waits(t))
					continue;
				many++;
				t->before = t->gpu;
				t->was_alone = t->place->alone && !t->unknown;
				t->place->task = NULL;
			}
	for (size_t i = 0; i < r->n_gpus; i++)
		run_queue_close_ranks(&r->gpus[i].queue);
	return many;
}

static void put_task(struct runner *r, struct run_gpu *g, const struct hes_batch *b, uint32_t k,
		     uint32_t number)
{
	const struct hes_placement *p = &b->jobs[k];
	struct run_task *t = r->tasks[p->job];
	const struct run_place place = {
		.batch = number,
		.sm_pct = p->sm_pct,
		.clock_mhz = b->unlocked ? RUN_UNLOCKED : b->clock_mhz,
		.held_mhz = b->unlocked && !b->unknown ? b->clock_mhz : 0,
		.alone = b->unknown || t->was_alone,
	};

	if (!t->before)
		return;
	t->planned_start_us = p->start_us;
	t->planned_end_us = t->expected_end_us = p->end_us;
	t->planned_mj = p->energy_mj ? p->energy_mj : b->energy_mj / b->n;
	t->activity = p->activity_mw * 1e-3;
	t->unknown = b->unknown;
	t->unplaced = false;
	run_task_place(r, t, g, &place, g->queue.n);
}

static int put_queue(struct runner *r, struct run_gpu *g, const struct hes_queue *from,
		     struct hes_err *err)
{
	struct run_queue *q = &g->queue;
	const uint32_t first = q->n ? q->v[q->n - 1].batch + 1 : 0;
	size_t n = 0;
	int rc;

	for (size_t b = 0; b < from->n; b++)
		n += from->batches[b].n;
	rc = run_queue_grow(q, n, err);
	if (rc)
		return rc;
	if (from->n && (!g->n_running || run_admit_alone(q, g->running[0]->place))) {
		q->together = from->together;
		q->shares_pct = hes_queue_shares_pct(from);
	}
	for (size_t b = 0; b < from->n; b++)
		for (uint32_t k = 0; k < from->batches[b].n; k++)
			put_task(r, g, &from->batches[b], k, first + (uint32_t)b);
	return 0;
}

/* Write down where the jobs are now. */
static int note_places(struct runner *r, const struct hes_plan *plan, const char *why,
		       struct hes_err *err)
{
	int rc = hes_journal_begin_light(r->log.journal, err);

	if (rc)
		return rc;
	rc = run_act(&r->log, NULL, NULL, err, "planned again, because %s", why);
	for (size_t g = 0; g < plan->n_gpus; g++)
		for (size_t b = 0; b < plan->queues[g].n && !rc; b++)
			for (uint32_t k = 0; k < plan->queues[g].batches[b].n && !rc; k++) {
				const struct run_task *t =
					r->tasks[plan->queues[g].batches[b].jobs[k].job];

				rc = t->before ? run_note_place(r, t, err) : 0;
			}
	return hes_journal_end(r->log.journal, rc, err);
}

/* One message for each GPU that got jobs of one that is lost. */
static void tell_moved(const struct runner *r, const struct run_gpu *from)
{
	for (size_t g = 0; g < r->n_gpus; g++) {
		char names[NAMES_SHOWN + HES_NAME_MAX] = "";
		size_t many = 0;

		for (size_t i = 0; i < r->n_tasks; i++) {
			const struct run_task *t = r->tasks[i];

			if (t->before != from || t->gpu != &r->gpus[g] || t->gpu == from)
				continue;
			if (strlen(names) < NAMES_SHOWN)
				hes_text_add(names, sizeof(names), ", ", "%s", t->job->id);
			many++;
		}
		if (many)
			run_tell(&r->log,
				 "%zu waiting job%s of %s, which is lost, moved to %s: %s%s", many,
				 hes_s(many), run_gpu_name(from), run_gpu_name(&r->gpus[g]), names,
				 strlen(names) < NAMES_SHOWN ? "" : ", ...");
	}
}

static int plan_apply(struct runner *r, const struct hes_plan *plan, const char *why,
		      struct hes_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < r->n_tasks; i++)
		r->tasks[i]->before = NULL;
	if (!take_out(r, plan))
		return 0;
	for (size_t i = 0; i < r->n_gpus && !rc; i++)
		rc = put_queue(r, &r->gpus[i], &plan->queues[fleet_index(r, &r->gpus[i])], err);
	if (!rc && r->cap.cap_w > 0)
		run_cap_replan(&r->cap, plan, r->q->fleet, r->q->gpus, r->gpus);
	for (size_t i = 0; i < r->n_gpus && !rc; i++)
		if (!is_usable(&r->gpus[i]))
			tell_moved(r, &r->gpus[i]);
	return rc ? rc : note_places(r, plan, why, err);
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
static int planning_take(struct runner *r, struct run_planning *g, struct hes_err *err)
{
	struct run_replanning *p = &r->replanning;
	const int64_t now = run_now_us(&r->clock), took_us = now - g->s.now.now_us;
	int rc;

	if (g->rc && !p->failed)
		run_tell(&r->log, "the jobs that wait stay where they are: %s", g->why.msg);
	p->failed = g->rc != 0;
	p->due |= p->failed;
	rc = p->failed ? run_move_jobs(r, err) : plan_apply(r, &g->plan, g->due_to, err);
	p->not_before_us =
		now + (p->failed ? PAUSE_FAILED_US
				 : (int64_t)fmax(PAUSE_LEAST_US, (double)took_us * PAUSE_COSTS));
	p->idle_not_before_us = now + took_us * PAUSE_IDLE;
	return rc;
}

/* @return 0; 1 no thread could be made */
static int planning_begin(struct runner *r, struct run_planning *g)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = &r->replanning };

	g->fd = eventfd(0, EFD_CLOEXEC);
	if (g->fd < 0 || epoll_ctl(r->events.epoll, EPOLL_CTL_ADD, g->fd, &e) ||
	    pthread_create(&g->thread, NULL, planning_run, g))
		return 1;
	r->replanning.planning = g;
	return 0;
}

static int planning_start(struct runner *r, struct hes_err *err)
{
	struct run_planning *g = calloc(1, sizeof(*g));
	int rc;

	if (!g)
		return hes_fail(err, -ENOMEM, "out of memory");
	g->fd = -1;
	r->replanning.due = false;
	rc = snapshot_make(r, &g->s, err);
	if (rc || !g->s.now.n_waiting) {
		planning_free(g);
		return rc;
	}
	memcpy(g->due_to, r->replanning.why, sizeof(g->due_to));
	g->replan = r->q->replan;
	g->ctx = r->q->replan_ctx;
	/* What runs goes on meanwhile; where nothing runs, jobs wait for the plan. */
	if (r->counts.running && !planning_begin(r, g))
		return 0;
	planning_run(g);
	rc = planning_take(r, g, err);
	planning_free(g);
	return rc;
}

static struct run_planning *planning_end(struct runner *r)
{
	struct run_planning *g = r->replanning.planning;

	if (g)
		pthread_join(g->thread, NULL);
	r->replanning.planning = NULL;
	return g;
}

void run_replan_made(struct runner *r)
{
	r->replanning.made = true;
}

void run_replan_stop(struct runner *r)
{
	planning_free(planning_end(r));
}

int run_replan(struct runner *r, struct hes_err *err)
{
	struct run_planning *g;
	int rc = 0;

	if (!r->q->replan)
		return 0;
	look_for_lost(r);
	if (r->replanning.made) {
		r->replanning.made = false;
		g = planning_end(r);
		rc = planning_take(r, g, err);
		planning_free(g);
	}
	if (rc || r->replanning.planning || !r->replanning.due ||
	    run_now_us(&r->clock) < run_replan_time(r))
		return rc;
	return planning_start(r, err);
}
