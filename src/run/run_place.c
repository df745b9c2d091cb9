/*
 * run_place.c - tasks get their places in the queues of GPUs; see run_place.h.
 */
#include "run/run_place.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "base/texts.h"
#include "heshare/capabilities.h"
#include "run/account.h"
#include "run/environment.h"

#define NAMES_SHOWN 200 /* bytes of a message */

/* --- a queue --- */

/* Places have moved in memory, from @at on. */
static void queue_point_back(struct run_queue *q, size_t at)
{
	for (size_t i = at; i < q->n; i++)
		if (q->v[i].task)
			((struct run_task *)q->v[i].task)->place = &q->v[i];
}

int run_queue_grow(struct run_queue *q, size_t n, struct hes_err *err)
{
	struct run_place *v = reallocarray(q->v, q->n + n + 1, sizeof(*v));

	if (!v)
		return hes_fail(err, -ENOMEM, "out of memory for %zu more jobs", n);
	q->v = v;
	queue_point_back(q, 0);
	return 0;
}

static void queue_insert(struct run_queue *q, size_t at, const struct run_place *p)
{
	memmove(&q->v[at + 1], &q->v[at], (q->n - at) * sizeof(*q->v));
	q->v[at] = *p;
	q->n++;
	queue_point_back(q, at);
}

/* Remove the places without a task. */
static void queue_close_ranks(struct run_queue *q)
{
	size_t n = 0;

	for (size_t i = 0; i < q->n; i++)
		if (q->v[i].task)
			q->v[n++] = q->v[i];
	q->n = q->reach = n;
	q->over = 0;
	queue_point_back(q, 0);
}

/* MPS serves one user at a time, so from now on it matters whose the jobs are. */
static void want_mps(struct run_gpu *g)
{
	g->mps.wanted = g->mps.late = true;
	for (size_t i = 0; i < g->queue.n; i++)
		g->queue.v[i].user = run_user(((struct run_task *)g->queue.v[i].task)->job->user);
}

/* Where a job is alone on its GPU, with all of it, nothing is shared. */
static bool place_shares(const struct run_gpu *g, const struct run_place *p, size_t at)
{
	return !p->alone && (p->sm_pct < 100 || (g->queue.together > 1 && g->queue.n) ||
			     (!g->queue.together && at && g->queue.v[at - 1].batch == p->batch));
}

/* A command without a number of iterations may have more work today than when it was measured. */
static int64_t limit_of(const struct hes_run_request *q, const struct run_task *t)
{
	const double us = q->timeout_factor * (double)task_planned_us(t);

	if (q->for_us)
		return q->for_us;
	if (q->timeout_factor <= 0 || t->unknown || t->job->whole_run || us >= (double)RUN_NEVER_US)
		return RUN_NEVER_US;
	return us > (double)q->timeout_least_us ? (int64_t)us : q->timeout_least_us;
}

void run_place_task(const struct run_places *ps, struct run_task *t, struct run_gpu *g,
		    const struct run_place *p, size_t at)
{
	const struct hes_run_request *q = ps->q;
	const struct hes_gpu_type *type = g->planned->type;
	struct run_place *place;

	if (!q->no_mps && !g->mps.wanted && place_shares(g, p, at))
		want_mps(g);
	queue_insert(&g->queue, at, p);
	place = &g->queue.v[at];
	place->task = t;
	place->memory_mib = hes_memory_on(type, hes_job_memory_mib(t->job));
	place->user = g->mps.wanted ? run_user(t->job->user) : 0;
	place->takes_us = task_planned_us(t);
	place->prompt = t->job->has_deadline;
	t->gpu = g;
	t->place = place;
	t->limit_us = limit_of(q, t);
	if (t->activity <= 0)
		t->activity =
			run_activity(q->profiles, type, t->job, place->sm_pct,
				     place->clock_mhz == RUN_UNLOCKED ? type->clock_default_mhz
								      : place->clock_mhz);
	t->start_up_us = run_start_up_us(q->profiles, type, t->job);
	if (g->closed && !g->absent) {
		g->closed = false;
		g->mps.due = g->mps.wanted && !g->mps.refused;
	}
}

/* --- a plan's queue --- */

/* Joules of the jobs of a batch, where the plan does not have them: split like measured ones, in
 * one piece. */
static void split_planned(const struct run_gpu *g, const struct hes_batch *b,
			  struct run_task *const *tasks)
{
	double seconds = (double)(b->end_us - b->start_us) * 1e-6;
	struct hes_sharer v[HES_MAX_SHARING];
	bool known;

	for (uint32_t i = 0; i < b->n; i++)
		v[i] = (struct hes_sharer){
			.start_s = (double)(b->jobs[i].start_us - b->start_us) * 1e-6,
			.end_s = fmin((double)(b->jobs[i].end_us - b->start_us) * 1e-6, seconds),
			.sm_pct = b->jobs[i].sm_pct,
			.activity = tasks[b->jobs[i].job]->activity,
		};
	known = !hes_attribute_known((double)b->energy_mj * 1e-3,
				     g->planned->type->idle_power_mw * 1e-3, seconds, v, b->n);
	for (uint32_t i = 0; i < b->n; i++)
		if (task_waits(tasks[b->jobs[i].job]))
			tasks[b->jobs[i].job]->record.planned_mj =
				b->jobs[i].energy_mj ? b->jobs[i].energy_mj
				: known              ? (uint64_t)(v[i].energy_j * 1e3 + 0.5)
						     : 0;
}

static void place_batch(const struct run_places *ps, struct run_gpu *g, const struct hes_batch *b,
			uint32_t number, struct run_task *const *tasks)
{
	for (uint32_t k = 0; k < b->n; k++) {
		const struct hes_placement *p = &b->jobs[k];
		struct run_task *t = tasks[p->job];
		const struct run_place place = {
			.batch = number,
			.sm_pct = p->sm_pct,
			.clock_mhz = b->unlocked ? RUN_UNLOCKED : b->clock_mhz,
			.expected_mhz = b->unlocked && !b->unknown ? b->clock_mhz : 0,
			.alone = b->unknown || t->was_alone,
		};

		if (t->place)
			continue;
		t->planned_start_us = p->start_us;
		t->planned_end_us = t->expected_end_us = p->end_us;
		t->activity = p->activity_mw * 1e-3;
		t->time_error = p->time_error;
		t->share = (struct learn_share){ p->share_time, p->share_power };
		t->unknown = b->unknown;
		t->unplaced = false;
		run_place_task(ps, t, g, &place, g->queue.n);
	}
	split_planned(g, b, tasks);
}

/* Room is there. @param tasks  by the plan's indices of jobs */
static void place_queue(const struct run_places *ps, struct run_gpu *g,
			const struct hes_queue *from, struct run_task *const *tasks)
{
	struct run_queue *q = &g->queue;
	const uint32_t first = q->n ? q->v[q->n - 1].batch + 1 : 0;

	if (from->n && (!run_gpu_started(g) || run_admit_alone(q, g->running[0]->place))) {
		q->together = from->together;
		q->shares_pct = hes_queue_shares_pct(from);
	}
	for (size_t b = 0; b < from->n; b++)
		place_batch(ps, g, &from->batches[b], first + (uint32_t)b, tasks);
}

static size_t queue_jobs(const struct hes_queue *q)
{
	size_t n = 0;

	for (size_t i = 0; i < q->n; i++)
		n += q->batches[i].n;
	return n;
}

/* --- the plan of the request --- */

static void row_make(struct run_gpu *g, const struct hes_queue *q)
{
	bool unknown = false;

	g->row.planned_busy_us = hes_queue_busy_us(q);
	snprintf(g->row.gpu, sizeof(g->row.gpu), "%s", run_gpu_name(g));
	snprintf(g->row.gpu_type, sizeof(g->row.gpu_type), "%s", g->planned->type->name);
	snprintf(g->row.uuid, sizeof(g->row.uuid), "%s", g->info.uuid);
	for (size_t i = 0; i < q->n; i++) {
		const struct hes_batch *b = &q->batches[i];

		g->row.planned_mj += b->energy_mj;
		unknown |= b->unknown;
	}
	/* Behind a job of which nothing is known, no time is. */
	if (unknown)
		g->row.planned_busy_us = 0;
}

/* Whether jobs wait for a GPU, and may be let in next to others (job_set.c). */
static bool run_invites(const struct hes_run_request *q)
{
	return q->explore_pct > 0 && q->replan && !q->waiting_stay && *q->plan->prefer &&
	       !q->plan->power_cap_mw && q->jobs->n > q->fleet->n;
}

static int gpu_make(const struct run_places *ps, struct run_gpu *g, size_t at, struct hes_err *err)
{
	const struct hes_run_request *q = ps->q;
	const struct hes_queue *queue = &q->plan->queues[at];
	int rc;

	*g = (struct run_gpu){ .planned = &q->fleet->gpus[at],
			       .device = (size_t)q->gpus[at],
			       .lock = { .verify_us = RUN_NEVER_US, .refused = q->no_clocks } };
	g->mps.open = !q->no_mps && !run_shares(queue) && run_invites(q);
	g->mps.wanted = g->mps.due = !q->no_mps && (g->mps.open || run_shares(queue));
	if (q->gpus[at] == HES_RUN_GPU_LOST) {
		g->lost = g->absent = g->closed = true;
		memcpy(g->info.uuid, g->planned->uuid, sizeof(g->info.uuid));
	}
	/* A rehearsal may have no devices. */
	if (!q->devices)
		snprintf(g->info.uuid, sizeof(g->info.uuid), "%s", run_gpu_name(g));
	rc = g->absent || !q->devices ? 0 : hes_device_info(q->devices, g->device, &g->info, err);
	g->queue.memory_mib = g->planned->type->memory_mib;
	if (!rc)
		rc = run_queue_grow(&g->queue, queue_jobs(queue), err);
	if (!rc)
		rc = run_tasks_grow(ps->tasks, queue_jobs(queue), err);
	g->exclusive =
		!rc && !g->absent && q->devices && hes_device_is_exclusive(q->devices, g->device);
	if (!rc)
		row_make(g, queue);
	return rc;
}

/* @param tasks  one a job of the request: set for those of this GPU */
static int tasks_make(const struct run_places *ps, struct run_gpu *g, const struct hes_queue *queue,
		      struct run_task **tasks, struct hes_err *err)
{
	for (size_t i = 0; i < queue->n; i++)
		for (uint32_t k = 0; k < queue->batches[i].n; k++) {
			const uint32_t job = queue->batches[i].jobs[k].job;
			struct run_task *t = run_tasks_add(ps->tasks);

			if (!t)
				return hes_fail(err, -ENOMEM, "out of memory for %zu jobs",
						queue_jobs(queue));
			t->job = &ps->q->jobs->v[job];
			t->command = ps->q->jobs->v[job].command;
			tasks[job] = t;
		}
	g->queue.together = queue->together;
	g->queue.shares_pct = hes_queue_shares_pct(queue);
	place_queue(ps, g, queue, tasks);
	if (g->exclusive && !g->mps.wanted)
		run_admit_one_by_one(&g->queue);
	return 0;
}

int run_places_make(struct run_places *ps, struct hes_err *err)
{
	const struct hes_run_request *q = ps->q;
	struct run_task **tasks = calloc(q->jobs->n + 1, sizeof(struct run_task *));
	struct run_gpus *gs = ps->gpus;
	int rc = 0;

	gs->v = calloc(q->fleet->n + 1, sizeof(*gs->v));
	if (!tasks || !gs->v)
		rc = hes_fail(err, -ENOMEM, "out of memory for %zu jobs on %zu GPUs", q->jobs->n,
			      q->fleet->n);
	for (size_t at = 0; at < q->fleet->n && !rc; at++) {
		struct run_gpu *g = &gs->v[gs->n];

		if (q->gpus[at] == HES_RUN_NO_GPU)
			continue;
		gs->n++;
		rc = gpu_make(ps, g, at, err);
		if (!rc)
			rc = tasks_make(ps, g, &q->plan->queues[at], tasks, err);
	}
	if (!rc)
		run_cap_init(ps->cap, q->plan, q->fleet, q->gpus, gs->v);
	free(tasks);
	return rc;
}

/* --- another plan --- */

/* @return how many of the plan's jobs still wait */
static size_t take_out(const struct run_places *ps, const struct hes_plan *plan)
{
	size_t many = 0;

	for (size_t i = 0; i < ps->tasks->n; i++)
		ps->tasks->v[i]->before = NULL;
	for (size_t g = 0; g < plan->n_gpus; g++)
		for (size_t b = 0; b < plan->queues[g].n; b++)
			for (uint32_t k = 0; k < plan->queues[g].batches[b].n; k++) {
				struct run_task *t =
					ps->tasks->v[plan->queues[g].batches[b].jobs[k].job];

				if (!task_waits(t))
					continue;
				many++;
				t->before = t->gpu;
				t->was_alone = t->place->alone && !t->unknown;
				t->place->task = NULL;
				t->place = NULL;
			}
	for (size_t i = 0; i < ps->gpus->n; i++)
		queue_close_ranks(&ps->gpus->v[i].queue);
	return many;
}

int run_note_place(struct run_log *log, const struct run_task *t, struct hes_err *err)
{
	struct hes_run_job j = { .sm_pct = t->place->sm_pct,
				 .planned_start_us = t->planned_start_us,
				 .planned_end_us = task_journal_end_us(t),
				 .planned_mj = t->record.planned_mj };

	snprintf(j.job, sizeof(j.job), "%s", t->job->id);
	snprintf(j.gpu, sizeof(j.gpu), "%s", run_gpu_name(t->gpu));
	return hes_journal_replan(log->journal, log->run->id, NULL, 0, &j, 1, err);
}

/* Write down where the jobs are now. */
static int note_places(const struct run_places *ps, const char *why, struct hes_err *err)
{
	struct run_log *log = ps->log;
	int rc = hes_journal_begin_light(log->journal, err);

	if (rc)
		return rc;
	if (why)
		rc = run_act(log, NULL, NULL, err, "planned again, because %s", why);
	for (size_t i = 0; i < ps->tasks->n && !rc; i++) {
		const struct run_task *t = ps->tasks->v[i];

		if (!t->before)
			continue;
		rc = run_note_place(log, t, err);
		if (!rc && t->gpu != t->before && !run_gpu_is_usable(t->before))
			rc = run_act(log, run_gpu_name(t->gpu), t->job->id, err,
				     "moved from %s, which is lost", run_gpu_name(t->before));
	}
	return hes_journal_end(log->journal, rc, err);
}

/* One message for each GPU that got jobs of one that is lost. */
static void tell_moved(const struct run_places *ps, const struct run_gpu *from)
{
	for (size_t g = 0; g < ps->gpus->n; g++) {
		const struct run_gpu *to = &ps->gpus->v[g];
		char names[NAMES_SHOWN + HES_NAME_MAX] = "";
		size_t many = 0;

		for (size_t i = 0; i < ps->tasks->n && to != from; i++) {
			const struct run_task *t = ps->tasks->v[i];

			if (t->before != from || t->gpu != to)
				continue;
			if (strlen(names) < NAMES_SHOWN)
				hes_text_add(names, sizeof(names), ", ", "%s", t->job->id);
			many++;
		}
		if (many)
			run_tell(ps->log,
				 "%zu waiting job%s of %s, which is lost, moved to %s: %s%s", many,
				 hes_s(many), run_gpu_name(from), run_gpu_name(to), names,
				 strlen(names) < NAMES_SHOWN ? "" : ", ...");
	}
}

int run_places_apply(struct run_places *ps, const struct hes_plan *plan, const char *why,
		     struct hes_err *err)
{
	struct run_gpus *gs = ps->gpus;

	/* From here on nothing lacks memory. */
	for (size_t i = 0; i < gs->n; i++) {
		const struct hes_queue *q = &plan->queues[run_fleet_index(gs, &gs->v[i])];
		int rc = run_queue_grow(&gs->v[i].queue, queue_jobs(q), err);

		if (rc)
			return rc;
	}
	if (!take_out(ps, plan))
		return 0;
	for (size_t i = 0; i < gs->n; i++)
		place_queue(ps, &gs->v[i], &plan->queues[run_fleet_index(gs, &gs->v[i])],
			    ps->tasks->v);
	if (why && ps->cap->cap_w > 0 && plan->power_cap_mw)
		run_cap_replan(ps->cap, plan, ps->q->fleet, ps->q->gpus, gs->v);
	for (size_t i = 0; i < gs->n; i++)
		if (!run_gpu_is_usable(&gs->v[i]))
			tell_moved(ps, &gs->v[i]);
	return note_places(ps, why, err);
}
