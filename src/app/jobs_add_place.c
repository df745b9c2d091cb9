/*
 * X
 *
 * Open queues are replanned as `heshare simulate` does when a job arrives (plan/replan.h), but only
 * the new jobs move: the runner may start any other job meanwhile.
 */
#include "app/jobs_add.h"

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

/* The jobs of the run by their index among all. */
struct state {
	const struct hes_run_job **row;      /* [jobs]; NULL: a new one, or one of another node */
	const struct run_view_job **running; /* [jobs]; NULL: it does not run */
	uint32_t *waiting;                   /* [n_waiting] */
	size_t n_waiting;
	struct hes_running *runs; /* [n_runs], by GPU */
	size_t n_runs;
	int64_t *free_at_us; /* [GPUs] */
};

/* The jobs of the plan, and those that were added before, come first. */
static size_t first_new(const struct hes_app_add *a)
{
	return a->planned.n + a->n_before;
}

static void state_free(struct state *s)
{
	free(s->row);
	free(s->running);
	free(s->waiting);
	free(s->runs);
	free(s->free_at_us);
}

static int find_rows(const struct hes_app_add *a, struct state *s)
{
	const struct run_view *v = &a->view;
	struct hes_text_map names = { 0 };
	int rc = hes_text_map_make(&names, v->jobs, sizeof(*v->jobs), v->n_jobs);

	for (size_t i = 0; i < first_new(a) && !rc; i++) {
		const uint32_t at = hes_text_map_find(&names, a->all.v[i].id);

		s->row[i] = at == HES_HASH_NONE ? NULL : &v->jobs[at];
		for (size_t k = 0; s->row[i] && k < v->n_running; k++)
			if (v->running[k].job == s->row[i])
				s->running[i] = &v->running[k];
	}
	hes_hash_map_finish(&names.map);
	return rc;
}

static int state_make(const struct hes_app_add *a, struct state *s, struct hes_err *err)
{
	const size_t n = a->all.n + 1;

	*s = (struct state){
		.row = calloc(n, sizeof(const struct hes_run_job *)),
		.running = calloc(n, sizeof(const struct run_view_job *)),
		.waiting = calloc(n, sizeof(*s->waiting)),
		.runs = calloc(n, sizeof(*s->runs)),
		.free_at_us = calloc(a->mine.n + 1, sizeof(*s->free_at_us)),
	};
	if (!s->row || !s->running || !s->waiting || !s->runs || !s->free_at_us || find_rows(a, s))
		return hes_fail(err, -ENOMEM, "out of memory for %zu jobs", a->all.n);
	return 0;
}

static bool waits(const struct state *s, uint32_t job)
{
	return s->row[job] && !s->running[job] && s->row[job]->state == HES_RUN_JOB_WAITING;
}

/* The part of its time that is left to a running job: by its progress, else by the plan.
 * @param before_us  its start-up, where its work alone counts; else 0 */
static double part_left(const struct hes_app_add *a, const struct run_view_job *r, double before_us)
{
	const double planned_us = (double)(r->job->planned_end_us - r->job->planned_start_us);
	const double worked_us = (double)(a->view.now_us - r->attempt->started_us) - before_us;
	const double left =
		r->done >= 0 ? 1 - r->done : 1 - worked_us / fmax(planned_us - before_us, 1);

	return fmin(fmax(left, LEAST_LEFT), 1);
}

static struct hes_running running_on(const struct hes_app_add *a, const struct run_view_job *r,
				     uint32_t job, size_t gpu)
{
	const struct hes_gpu_type *type = a->mine.gpus[gpu].type;
	const int64_t start_up_us = run_start_up_us(&a->known.profiles, type, &a->all.v[job]),
		      ran_us = a->view.now_us - r->attempt->started_us,
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
		.end_us = a->view.now_us + 1 + (int64_t)fmax(left_us, 0),
		.left = left,
		.starting = starting,
	};
}

/* --- open queues --- */

/* What waits and runs; @out is a plan of the waiting jobs. */
static int split_plan(const struct hes_app_add *a, struct state *s, struct hes_plan *out)
{
	int rc = hes_plan_init(out, a->mine.n);

	for (size_t g = 0; g < a->mine.n && !rc; g++) {
		const struct hes_queue *q = &a->merged.queues[g];

		s->free_at_us[g] = a->view.now_us;
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

static int replan(const struct hes_app_add *a, const struct hes_request *r,
		  const struct hes_plan *waiting, struct hes_plan *out, struct hes_err *err)
{
	struct hes_replan *s = NULL;
	int rc = hes_replan_open(r, waiting, 0, &s, err);

	for (size_t i = first_new(a); i < a->all.n && !rc; i++) {
		rc = hes_replan_place(s, (uint32_t)i, a->view.now_us, err);
		if (rc == -EXFULL)
			hes_fail(err, rc, "%zu jobs are too many to add at once; add them in parts",
				 a->all.n - first_new(a));
	}
	for (size_t g = 0; g < a->mine.n && !rc; g++) {
		rc = hes_replan_write(s, g, out);
		if (rc)
			hes_fail(err, rc, "%s: its queue cannot be planned: %s",
				 a->mine.gpus[g].name, strerror(-rc));
	}
	hes_replan_close(s);
	return rc;
}

static int plan_open(const struct hes_app_add *a, struct state *s, struct hes_request *r,
		     struct hes_plan *out, struct hes_err *err)
{
	struct hes_plan waiting = { 0 };
	int rc = split_plan(a, s, &waiting);

	if (!rc)
		rc = hes_plan_init(out, a->mine.n);
	if (rc)
		hes_fail(err, rc, "out of memory for %zu jobs", a->all.n);
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
static int64_t batch_left_us(const struct hes_app_add *a, const struct state *s,
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

static int plan_batches(const struct hes_app_add *a, struct state *s, struct hes_request *r,
			struct hes_plan *out, struct hes_err *err)
{
	const struct hes_policy *policy;

	if (policy_program_is(a->merged.policy))
		return hes_fail(err, -ENOTSUP,
				"the plan is that of a program, %s, in batches; jobs can be added "
				"to such a plan only if it has open "
				"queues: plan the jobs and run them afterwards",
				a->merged.policy);
	policy = hes_policy_find(a->merged.policy, err);
	if (!policy)
		return hes_fail_in(err, "the plan's policy, which is to plan the new jobs"),
		       -ENOENT;
	for (size_t g = 0; g < a->mine.n; g++) {
		s->free_at_us[g] = a->view.now_us;
		for (size_t i = 0; i < a->merged.queues[g].n; i++)
			s->free_at_us[g] += batch_left_us(a, s, &a->merged.queues[g].batches[i]);
	}
	for (size_t i = first_new(a); i < a->all.n; i++)
		s->waiting[s->n_waiting++] = (uint32_t)i;
	r->n_waiting = s->n_waiting;
	return hes_policy_plan(policy, r, out, NULL, err);
}

/* --- the rows --- */

static struct hes_run_added row_of(const struct hes_app_add *a, size_t gpu,
				   const struct hes_queue *q, const struct hes_batch *b, uint32_t i)
{
	const struct hes_placement *p = &b->jobs[i];
	struct hes_run_added row = {
		.job = a->all.v[p->job],
		.sm_pct = p->sm_pct,
		.clock_mhz = b->unlocked ? 0 : b->clock_mhz,
		.together = q->together,
		.shares_pct = hes_queue_shares_pct(q),
		.planned_start_us = p->start_us,
		.planned_end_us = p->end_us,
		.planned_mj = p->energy_mj,
		.activity_mw = p->activity_mw,
	};

	snprintf(row.gpu, sizeof(row.gpu), "%s", a->mine.gpus[gpu].name);
	return row;
}

/* The first job behind it that is not new. */
static void name_next(const struct hes_app_add *a, const struct hes_queue *q, size_t at,
		      struct hes_run_added *row)
{
	while (++at < q->n)
		if (q->batches[at].jobs[0].job < first_new(a)) {
			snprintf(row->before, sizeof(row->before), "%s",
				 a->all.v[q->batches[at].jobs[0].job].id);
			return;
		}
}

static int64_t busy_before(const struct hes_app_add *a, size_t gpu)
{
	for (size_t i = 0; i < a->view.n_gpus; i++)
		if (strcmp(a->view.gpus[i].gpu, a->mine.gpus[gpu].name) == 0)
			return a->view.gpus[i].planned_busy_us;
	return 0;
}

/* The new jobs of a GPU's queue. @return how many */
static size_t rows_of(const struct hes_app_add *a, size_t gpu, const struct hes_queue *q,
		      struct hes_run_added *rows, int64_t *busy_us)
{
	size_t n = 0;

	for (size_t i = 0; i < q->n; i++) {
		const struct hes_batch *b = &q->batches[i];

		if (b->jobs[0].job < first_new(a))
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

static bool is_open(const struct hes_app_add *a)
{
	for (size_t g = 0; g < a->merged.n_gpus; g++)
		if (a->merged.queues[g].n && !a->merged.queues[g].together)
			return false;
	return true;
}

int jobs_add_place(struct hes_app_add *a, struct hes_err *err)
{
	struct hes_plan out = { 0 };
	struct state s;
	int rc = state_make(a, &s, err);
	struct hes_request r = {
		.fleet = &a->mine,
		.jobs = &a->all,
		.waiting = s.waiting,
		.now_us = a->view.now_us,
		.free_at_us = s.free_at_us,
		.predictor = a->known.predictor,
		.profiles = &a->known.profiles,
		.prefer = a->merged.prefer,
		.seed = a->merged.seed,
	};
	size_t at = 0;

	if (!rc)
		rc = is_open(a) ? plan_open(a, &s, &r, &out, err)
				: plan_batches(a, &s, &r, &out, err);
	state_free(&s);
	for (size_t g = 0; g < a->mine.n && !rc; g++)
		at += rows_of(a, g, &out.queues[g], a->rows + at, a->busy_us + at);
	hes_plan_finish(&out);
	return rc;
}
