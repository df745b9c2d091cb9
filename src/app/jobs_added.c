/*
 * add_plan.c - place jobs that are added to a run; see add_plan.h.
 *
 * Open queues are replanned as `heshare simulate` does when a job arrives (plan/replan.h), but only
 * the new jobs move: the runner may start any other job meanwhile.
 */
#include "app/jobs_added.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_map.h"
#include "app/policy_program.h"
#include "heshare/policy.h"
#include "plan/replan.h"
#include "run/account.h"

#define LEAST_LEFT 0.01 /* of a job that runs longer than planned */

/* The jobs of the run by their index in add_plan.jobs. */
struct state {
	const struct hes_run_job **row;      /* [jobs]; NULL: a new one, or one of another node */
	const struct run_view_job **running; /* [jobs]; NULL: it does not run */
	uint32_t *waiting;                   /* [n_waiting] */
	size_t n_waiting;
	struct hes_running *runs; /* [n_runs], by GPU */
	size_t n_runs;
	int64_t *free_at_us; /* [GPUs] */
};

static void state_free(struct state *s)
{
	free(s->row);
	free(s->running);
	free(s->waiting);
	free(s->runs);
	free(s->free_at_us);
}

static int find_rows(const struct add_plan *a, struct state *s)
{
	const struct run_view *v = a->view;
	struct hes_text_map names = { 0 };
	int rc = hes_text_map_make(&names, v->jobs, sizeof(*v->jobs), v->n_jobs);

	for (size_t i = 0; i < a->first_new && !rc; i++) {
		const uint32_t at = hes_text_map_find(&names, a->jobs->v[i].id);

		s->row[i] = at == HES_HASH_NONE ? NULL : &v->jobs[at];
		for (size_t k = 0; s->row[i] && k < v->n_running; k++)
			if (v->running[k].job == s->row[i])
				s->running[i] = &v->running[k];
	}
	hes_hash_map_finish(&names.map);
	return rc;
}

static int state_make(const struct add_plan *a, struct state *s, struct hes_err *err)
{
	const size_t n = a->jobs->n + 1;

	*s = (struct state){
		.row = calloc(n, sizeof(const struct hes_run_job *)),
		.running = calloc(n, sizeof(const struct run_view_job *)),
		.waiting = calloc(n, sizeof(*s->waiting)),
		.runs = calloc(n, sizeof(*s->runs)),
		.free_at_us = calloc(a->fleet->n + 1, sizeof(*s->free_at_us)),
	};
	if (!s->row || !s->running || !s->waiting || !s->runs || !s->free_at_us || find_rows(a, s))
		return hes_fail(err, -ENOMEM, "out of memory for %zu jobs", a->jobs->n);
	return 0;
}

static bool waits(const struct state *s, uint32_t job)
{
	return s->row[job] && !s->running[job] && s->row[job]->state == HES_RUN_JOB_WAITING;
}

/* The part of its time that is left to a running job: by its progress, else by the plan.
 * @param before_us  its start-up, where its work alone counts; else 0 */
static double part_left(const struct add_plan *a, const struct run_view_job *r, double before_us)
{
	const double planned_us = (double)(r->job->planned_end_us - r->job->planned_start_us);
	const double worked_us = (double)(a->now_us - r->attempt->started_us) - before_us;
	const double left =
		r->done >= 0 ? 1 - r->done : 1 - worked_us / fmax(planned_us - before_us, 1);

	return fmin(fmax(left, LEAST_LEFT), 1);
}

static struct hes_running running_on(const struct add_plan *a, const struct run_view_job *r,
				     uint32_t job, size_t gpu)
{
	const struct hes_gpu_type *type = a->fleet->gpus[gpu].type;
	const int64_t start_up_us =
			      run_start_up_us(&a->knowledge->profiles, type, &a->jobs->v[job]),
		      ran_us = a->now_us - r->attempt->started_us,
		      planned_us = r->job->planned_end_us - r->job->planned_start_us;
	const bool starting = r->done < 0 && ran_us < start_up_us;
	const double left = part_left(a, r, (double)start_up_us),
		     left_us = starting ? (double)(planned_us - ran_us)
					: left * (double)(planned_us - start_up_us);

	return (struct hes_running){
		.job = job,
		.gpu = (uint32_t)gpu,
		.sm_pct = r->attempt->sm_pct,
		.clock_mhz = hes_gpu_type_clock(type, r->attempt->clock_mhz),
		.start_us = r->attempt->started_us,
		.end_us = a->now_us + 1 + (int64_t)fmax(left_us, 0),
		.left = left,
		.starting = starting,
	};
}

/* --- open queues --- */

/* What waits and runs; @out is a plan of the waiting jobs. */
static int split_plan(const struct add_plan *a, struct state *s, struct hes_plan *out)
{
	int rc = hes_plan_init(out, a->fleet->n);

	for (size_t g = 0; g < a->fleet->n && !rc; g++) {
		const struct hes_queue *q = &a->plan->queues[g];

		s->free_at_us[g] = a->now_us;
		for (size_t i = 0; i < q->n && !rc; i++) {
			const uint32_t job = q->batches[i].jobs[0].job;

			if (s->running[job])
				s->runs[s->n_runs++] = running_on(a, s->running[job], job, g);
			if (!waits(s, job))
				continue;
			s->waiting[s->n_waiting++] = job;
			rc = hes_plan_append(out, g, &q->batches[i]);
		}
		out->queues[g].together = q->together;
		out->queues[g].shares_pct = q->shares_pct;
	}
	return rc;
}

static int replan(const struct add_plan *a, const struct hes_request *r,
		  const struct hes_plan *waiting, struct hes_plan *out, struct hes_err *err)
{
	struct hes_replan *s = NULL;
	int rc = hes_replan_open(r, waiting, 0, &s, err);

	for (size_t i = a->first_new; i < a->jobs->n && !rc; i++) {
		rc = hes_replan_place(s, (uint32_t)i, a->now_us, err);
		if (rc == -EXFULL)
			hes_fail(err, rc, "%zu jobs are too many to add at once; add them in parts",
				 a->jobs->n - a->first_new);
	}
	for (size_t g = 0; g < a->fleet->n && !rc; g++) {
		rc = hes_replan_write(s, g, out);
		if (rc)
			hes_fail(err, rc, "%s: its queue cannot be planned: %s",
				 a->fleet->gpus[g].name, strerror(-rc));
	}
	hes_replan_close(s);
	return rc;
}

static int plan_open(const struct add_plan *a, struct state *s, struct hes_request *r,
		     struct hes_plan *out, struct hes_err *err)
{
	struct hes_plan waiting = { 0 };
	int rc = split_plan(a, s, &waiting);

	if (!rc)
		rc = hes_plan_init(out, a->fleet->n);
	if (rc)
		hes_fail(err, rc, "out of memory for %zu jobs", a->jobs->n);
	r->n_waiting = s->n_waiting;
	r->running = s->runs;
	r->n_running = s->n_runs;
	if (!rc)
		rc = replan(a, r, &waiting, out, err);
	hes_plan_finish(&waiting);
	return rc;
}

/* --- batches --- */

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* The time that a batch still takes. */
static int64_t batch_left_us(const struct add_plan *a, const struct state *s,
			     const struct hes_batch *b)
{
	int64_t left_us = 0;

	for (uint32_t i = 0; i < b->n; i++) {
		const struct hes_placement *p = &b->jobs[i];
		const int64_t us = p->end_us - p->start_us;

		if (s->running[p->job])
			left_us = later(left_us, (int64_t)((double)us *
							   part_left(a, s->running[p->job], 0)));
		else if (waits(s, p->job))
			left_us = later(left_us, us);
	}
	return left_us;
}

static int plan_batches(const struct add_plan *a, struct state *s, struct hes_request *r,
			struct hes_plan *out, struct hes_err *err)
{
	const struct hes_policy *policy;

	if (policy_program_is(a->plan->policy))
		return hes_fail(err, -ENOTSUP,
				"the plan is that of a program, %s, in batches; jobs can be added "
				"to such a plan only if it has open "
				"queues: plan the jobs and run them afterwards",
				a->plan->policy);
	policy = hes_policy_find(a->plan->policy, err);
	if (!policy)
		return hes_fail_in(err, "the plan's policy, which is to plan the new jobs"),
		       -ENOENT;
	for (size_t g = 0; g < a->fleet->n; g++) {
		s->free_at_us[g] = a->now_us;
		for (size_t i = 0; i < a->plan->queues[g].n; i++)
			s->free_at_us[g] += batch_left_us(a, s, &a->plan->queues[g].batches[i]);
	}
	for (size_t i = a->first_new; i < a->jobs->n; i++)
		s->waiting[s->n_waiting++] = (uint32_t)i;
	r->n_waiting = s->n_waiting;
	return hes_policy_plan(policy, r, out, NULL, err);
}

/* --- the rows --- */

static struct hes_run_added row_of(const struct add_plan *a, size_t gpu, const struct hes_queue *q,
				   const struct hes_batch *b, uint32_t i)
{
	const struct hes_placement *p = &b->jobs[i];
	struct hes_run_added row = {
		.job = a->jobs->v[p->job],
		.sm_pct = p->sm_pct,
		.clock_mhz = b->unlocked ? 0 : b->clock_mhz,
		.together = q->together,
		.shares_pct = hes_queue_shares_pct(q),
		.planned_start_us = p->start_us,
		.planned_end_us = p->end_us,
		.planned_mj = p->energy_mj,
		.activity_mw = p->activity_mw,
	};

	row.job.command = NULL;
	snprintf(row.gpu, sizeof(row.gpu), "%s", a->fleet->gpus[gpu].name);
	return row;
}

/* The first job behind it that is not new. */
static void name_next(const struct add_plan *a, const struct hes_queue *q, size_t at,
		      struct hes_run_added *row)
{
	while (++at < q->n)
		if (q->batches[at].jobs[0].job < a->first_new) {
			snprintf(row->before, sizeof(row->before), "%s",
				 a->jobs->v[q->batches[at].jobs[0].job].id);
			return;
		}
}

static int64_t busy_before(const struct add_plan *a, size_t gpu)
{
	for (size_t i = 0; i < a->view->n_gpus; i++)
		if (strcmp(a->view->gpus[i].gpu, a->fleet->gpus[gpu].name) == 0)
			return a->view->gpus[i].planned_busy_us;
	return 0;
}

/* The new jobs of a GPU's queue. @return how many */
static size_t rows_of(const struct add_plan *a, size_t gpu, const struct hes_queue *q,
		      struct hes_run_added *rows, int64_t *busy_us)
{
	size_t n = 0;

	for (size_t i = 0; i < q->n; i++) {
		const struct hes_batch *b = &q->batches[i];

		if (b->jobs[0].job < a->first_new)
			continue;
		for (uint32_t k = 0; k < b->n; k++) {
			rows[n + k] = row_of(a, gpu, q, b, k);
			if (q->together)
				name_next(a, q, i, &rows[n + k]);
		}
		if (!q->together)
			busy_us[n] = b->end_us - b->start_us;
		n += b->n;
	}
	/* Jobs of an open queue overlap: the queue is busy until its last one ends. */
	for (size_t i = 0; n && q->together && i < q->n; i++)
		busy_us[0] = later(busy_us[0], q->batches[i].end_us - busy_before(a, gpu));
	return n;
}

static bool is_open(const struct add_plan *a)
{
	for (size_t g = 0; g < a->plan->n_gpus; g++)
		if (a->plan->queues[g].n && !a->plan->queues[g].together)
			return false;
	return true;
}

int add_plan_make(const struct add_plan *a, struct hes_run_added **rows, int64_t **busy_us,
		  struct hes_err *err)
{
	const size_t n = a->jobs->n - a->first_new;
	struct hes_plan out = { 0 };
	struct state s;
	int rc = state_make(a, &s, err);
	struct hes_request r = {
		.fleet = a->fleet,
		.jobs = a->jobs,
		.waiting = s.waiting,
		.now_us = a->now_us,
		.free_at_us = s.free_at_us,
		.predictor = a->knowledge->predictor,
		.profiles = &a->knowledge->profiles,
		.prefer = a->plan->prefer,
		.seed = a->plan->seed,
	};
	size_t at = 0;

	if (!rc)
		rc = is_open(a) ? plan_open(a, &s, &r, &out, err)
				: plan_batches(a, &s, &r, &out, err);
	state_free(&s);
	*rows = rc ? NULL : calloc(n + 1, sizeof(**rows));
	*busy_us = rc ? NULL : calloc(n + 1, sizeof(**busy_us));
	if (!rc && (!*rows || !*busy_us))
		rc = hes_fail(err, -ENOMEM, "out of memory for %zu jobs", n);
	for (size_t g = 0; g < a->fleet->n && !rc; g++)
		at += rows_of(a, g, &out.queues[g], *rows + at, *busy_us + at);
	hes_plan_finish(&out);
	return rc;
}
