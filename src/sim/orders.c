/*
 * orders.c - plans in the simulation: checked when they come, carried out
 * batch by batch; see engine.h.
 *
 * A whole plan is checked before any of it starts. After that a batch waits only for its GPU (in an
 * open queue: for its share of the GPU) and for its jobs to arrive.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "sim/engine.h"

_Static_assert(HES_MAX_SHARING <= HES_MODEL_MAX_JOBS, "a batch fits the model");

/* Streams of noise: one a job, one a batch by its first job. */
static double noise(const struct sim *s, double cv, uint64_t stream)
{
	struct hes_rng r = hes_rng_fork(&s->noise, stream);

	return cv > 0 ? exp(cv * hes_rng_normal(&r)) : 1;
}

static int check_placement(struct sim *s, uint32_t gpu, const struct hes_placement *p,
			   struct hes_err *err)
{
	const struct hes_jobs *jobs = s->in->jobs;
	struct sim_job *j;

	if (p->job >= jobs->n)
		return hes_fail(err, -EINVAL, "job number %" PRIu32 ": there are %zu jobs", p->job,
				jobs->n);
	j = &s->jobs[p->job];
	if (j->started)
		return hes_fail(err, -EINVAL, "job %s has started already", jobs->v[p->job].id);
	if (s->in->replan && jobs->v[p->job].arrival_us > s->now_us)
		return hes_fail(err, -EINVAL, "job %s has not arrived yet", jobs->v[p->job].id);
	if (j->planned == s->plan_no)
		return hes_fail(err, -EINVAL, "job %s is planned twice", jobs->v[p->job].id);
	if (p->sm_pct < 1 || p->sm_pct > 100)
		return hes_fail(err, -EINVAL, "job %s: SM share %" PRIu32 " %% is outside 1 to 100",
				jobs->v[p->job].id, p->sm_pct);
	if (p->end_us < 0 || p->end_us > SIM_LONGEST_US)
		return hes_fail(err, -EINVAL,
				"job %s: predicted end at %" PRId64 " us is outside 0 to 10^16",
				jobs->v[p->job].id, p->end_us);
	j->planned = s->plan_no;
	j->gpu = gpu;
	return 0;
}

static uint32_t memory_of(const struct sim *s, const struct hes_gpu_type *g, uint32_t job)
{
	return hes_memory_on(g, hes_job_memory_mib(&s->in->jobs->v[job]));
}

static int check_batch(struct sim *s, uint32_t gpu, const struct hes_batch *b, struct hes_err *err)
{
	const struct hes_gpu_type *g = s->in->fleet->gpus[gpu].type;
	uint64_t memory_mib = 0;

	if (b->n < 1 || b->n > HES_MAX_SHARING)
		return hes_fail(err, -EINVAL, "%" PRIu32 " jobs where 1 to %d can share", b->n,
				HES_MAX_SHARING);
	if (!b->unlocked && !hes_gpu_type_has_clock(g, b->clock_mhz))
		return hes_fail(err, -EINVAL, "%s cannot run at %" PRIu32 " MHz", g->name,
				b->clock_mhz);
	if (b->start_us < 0 || b->end_us < b->start_us || b->end_us > SIM_LONGEST_US)
		return hes_fail(err, -EINVAL,
				"predicted from %" PRId64 " to %" PRId64
				" us, which is no time span",
				b->start_us, b->end_us);
	for (uint32_t i = 0; i < b->n; i++) {
		int rc = check_placement(s, gpu, &b->jobs[i], err);

		if (rc)
			return rc;
		memory_mib += memory_of(s, g, b->jobs[i].job);
	}
	if (memory_mib > g->memory_mib)
		return hes_fail(err, -ENOSPC, "jobs need %" PRIu64 " MiB together, %s has %" PRIu32,
				memory_mib, g->name, g->memory_mib);
	return 0;
}

/* @param from  the first batch that has not started */
static int check_queue(struct sim *s, uint32_t gpu, const struct hes_queue *q, size_t from,
		       size_t *n, struct hes_err *err)
{
	for (size_t k = 0; k < from && k < q->n; k++)
		*n += q->batches[k].n;
	for (size_t k = from; k < q->n; k++) {
		int rc = check_batch(s, gpu, &q->batches[k], err);

		if (!rc && q->together && q->batches[k].n != 1)
			rc = hes_fail(err, -EINVAL, "%" PRIu32 " jobs where an open queue has one",
				      q->batches[k].n);
		if (rc)
			return hes_fail_in(err, "plan: GPU %s, batch %zu",
					   s->in->fleet->gpus[gpu].name, k + 1),
			       rc;
		*n += q->batches[k].n;
	}
	if (q->together > HES_MAX_SHARING)
		return hes_fail(err, -EINVAL,
				"plan: GPU %s: %" PRIu32 " jobs at a time where %d can share",
				s->in->fleet->gpus[gpu].name, q->together, HES_MAX_SHARING);
	if (hes_queue_shares_pct(q) < 100)
		return hes_fail(err, -EINVAL,
				"plan: GPU %s: shares that sum to %" PRIu32
				" %%, where a job may take 100 %%",
				s->in->fleet->gpus[gpu].name, q->shares_pct);
	return 0;
}

static int name_missing(const struct sim *s, struct hes_err *err)
{
	for (size_t i = 0; i < s->in->jobs->n; i++) {
		const struct sim_job *j = &s->jobs[i];
		bool due = !s->in->replan || s->in->jobs->v[i].arrival_us <= s->now_us;

		if (due && !j->started && j->planned != s->plan_no)
			return hes_fail(err, -EINVAL, "the plan leaves out job %s",
					s->in->jobs->v[i].id);
	}
	return hes_fail(err, -EINVAL, "the plan leaves out a job");
}

/* Check a plan and put it in force. @param longer  it begins with the batches of the last one */
static int adopt(struct sim *s, const struct hes_plan *p, size_t n_expected, bool longer,
		 struct hes_err *err)
{
	size_t n = 0;

	if (p->n_gpus != s->in->fleet->n)
		return hes_fail(err, -EINVAL, "the plan is for %zu GPUs, the fleet has %zu",
				p->n_gpus, s->in->fleet->n);
	s->plan_no++;
	for (uint32_t g = 0; g < p->n_gpus; g++) {
		int rc;

		if (!longer)
			s->gpus[g].next_batch = 0;
		rc = check_queue(s, g, &p->queues[g], s->gpus[g].next_batch, &n, err);
		if (rc)
			return rc;
	}
	if (n > n_expected || (n < n_expected && !s->in->more && !s->in->order))
		return name_missing(s, err);
	s->n_unplanned = s->in->more ? n_expected - n : 0;
	s->plan = p;
	return 0;
}

int sim_adopt(struct sim *s, const struct hes_plan *p, size_t n_expected, struct hes_err *err)
{
	return adopt(s, p, n_expected, false, err);
}

static void forget_started(struct sim *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_waiting; i++)
		if (!s->jobs[s->waiting[i]].started)
			s->waiting[n++] = s->waiting[i];
	s->n_waiting = n;
}

/* A job that overran its prediction ends later than now. */
static int64_t not_yet(const struct sim *s, int64_t predicted_us)
{
	return predicted_us > s->now_us ? predicted_us : s->now_us + 1;
}

/* The part of a task's predicted time that is left: above 0, at most 1. */
static double part_left(const struct sim *s, const struct sim_task *t)
{
	const int64_t end_us = not_yet(s, t->end_us), from_us = t->begins_us > t->predicted_at_us
									? t->begins_us
									: t->predicted_at_us;

	return from_us < s->now_us ? (double)(end_us - s->now_us) / (double)(end_us - from_us) : 1;
}

static size_t list_running(const struct sim *s)
{
	size_t n = 0;

	for (uint32_t g = 0; g < s->in->fleet->n; g++)
		for (uint32_t i = 0; i < s->gpus[g].n; i++) {
			const struct sim_task *t = &s->gpus[g].tasks[i];

			s->running[n++] = (struct hes_running){
				.job = t->job,
				.gpu = g,
				.sm_pct = t->sm_pct,
				.clock_mhz = t->clock_mhz,
				.start_us = t->start_us,
				.end_us = not_yet(s, t->end_us),
				.left = t->part * part_left(s, t),
				.starting = t->begins_us > s->now_us,
			};
		}
	return n;
}

/* The task of a running job; NULL: it does not run. */
static struct sim_task *task_of(const struct sim *s, uint32_t job)
{
	struct sim_gpu *b;

	if (job >= s->in->jobs->n || !s->jobs[job].started)
		return NULL;
	b = &s->gpus[s->out.jobs[job].gpu];
	for (uint32_t i = 0; i < b->n; i++)
		if (b->tasks[i].job == job)
			return &b->tasks[i];
	return NULL;
}

/* A new plan predicts a running job again: it gets co-runners that the last plan did not know. */
static int update_prediction(struct sim *s, const struct hes_remainder *o, struct hes_err *err)
{
	struct sim_task *t = task_of(s, o->job);
	double left;

	if (!t || o->end_us < s->now_us || o->end_us > SIM_LONGEST_US)
		return hes_fail(err, -EINVAL,
				"plan: job number %" PRIu32 " does not run, or its end at %" PRId64
				" us is before now or after 10^16",
				o->job, o->end_us);
	left = part_left(s, t);
	s->predicted_mj += (double)o->energy_mj - t->energy_mj * left;
	t->part *= left;
	t->energy_mj = (double)o->energy_mj;
	t->end_us = o->end_us;
	t->predicted_at_us = t->start_us > s->now_us ? t->start_us : s->now_us;
	s->out.jobs[o->job].predicted_end_us = o->end_us;
	return 0;
}

/* A GPU is free when the last of its running jobs ends. */
static int update_predictions(struct sim *s, const struct hes_plan *p, struct hes_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < p->n_remainders && !rc; i++)
		rc = update_prediction(s, &p->remainders[i], err);
	for (size_t g = 0; g < s->in->fleet->n && !rc && p->n_remainders; g++) {
		struct sim_gpu *b = &s->gpus[g];
		int64_t last_us = 0;

		for (uint32_t i = 0; i < b->n; i++)
			last_us = b->tasks[i].end_us > last_us ? b->tasks[i].end_us : last_us;
		if (b->n) {
			b->predicted_busy_us += (double)(last_us - b->free_us);
			b->free_us = last_us;
		}
	}
	return rc;
}

int sim_replan(struct sim *s, struct hes_err *err)
{
	struct hes_plan p = { 0 };
	int rc;

	forget_started(s);
	for (size_t g = 0; g < s->in->fleet->n; g++) {
		const struct sim_gpu *b = &s->gpus[g];

		s->free_at_us[g] = b->state == SIM_IDLE ? s->now_us : not_yet(s, b->free_us);
	}
	rc = s->in->replan(s->in->ctx, s->now_us, s->waiting, s->n_waiting, s->free_at_us,
			   s->running, list_running(s), &p, err);
	if (rc)
		return rc;
	hes_plan_finish(&s->own);
	s->own = p;
	rc = update_predictions(s, &s->own, err);
	return rc ? rc : sim_adopt(s, &s->own, s->n_waiting, err);
}

/* Plan further while a GPU without work has nothing to start and jobs are in no plan. */
static int lengthen_plan(struct sim *s, uint32_t gpu, struct hes_err *err)
{
	const struct sim_gpu *b = &s->gpus[gpu];
	int rc = 0;

	while (!rc && s->n_unplanned && b->state == SIM_IDLE &&
	       b->next_batch >= s->plan->queues[gpu].n) {
		struct hes_plan p = { 0 };

		rc = s->in->more(s->in->ctx, &p, err);
		if (rc)
			break;
		hes_plan_finish(&s->own);
		s->own = p;
		rc = adopt(s, &s->own, s->n_waiting, true, err);
	}
	return rc;
}

static bool all_arrived(const struct sim *s, const struct hes_batch *b)
{
	for (uint32_t i = 0; i < b->n; i++)
		if (s->in->jobs->v[b->jobs[i].job].arrival_us > s->now_us)
			return false;
	return true;
}

/* Whether the next job of an open queue finds its part of the GPU free. */
static bool has_room(const struct sim *s, const struct sim_gpu *b, const struct hes_queue *q,
		     const struct hes_placement *p)
{
	uint64_t memory_mib = memory_of(s, b->type, p->job);
	uint32_t shares = p->sm_pct;

	for (uint32_t i = 0; i < b->n; i++) {
		memory_mib += b->tasks[i].memory_mib;
		shares += b->tasks[i].sm_pct;
	}
	return b->n < q->together && shares <= hes_queue_shares_pct(q) &&
	       memory_mib <= b->type->memory_mib;
}

static int64_t start_up_us(const struct sim *s, const struct hes_job *job,
			   const struct hes_workload *w, const struct hes_gpu_type *type)
{
	struct hes_profile p;

	if (w->start_s > 0 || !s->in->profiles ||
	    hes_profile_find(s->in->profiles, job->workload, job->batch_size, type->name, &p, NULL))
		return llround(w->start_s * 1e6);
	return llround(p.start_s * 1e6);
}

static void commit_job(struct sim *s, uint32_t gpu, const struct hes_batch *batch,
		       const struct hes_placement *p, int64_t begin_us)
{
	const struct hes_job *job = &s->in->jobs->v[p->job];
	struct sim_gpu *b = &s->gpus[gpu];

	b->tasks[b->n++] = (struct sim_task){
		.workload = s->jobs[p->job].workload,
		.job = p->job,
		.batch_size = job->batch_size,
		.sm_pct = p->sm_pct,
		.clock_mhz = batch->clock_mhz,
		.memory_mib = memory_of(s, b->type, p->job),
		.start_us = begin_us,
		.begins_us = begin_us + start_up_us(s, job, s->jobs[p->job].workload, b->type),
		.predicted_at_us = begin_us,
		.end_us = begin_us + (p->end_us - p->start_us),
		.part = 1,
		.energy_mj = (double)batch->energy_mj / batch->n,
		.left = (double)job->iterations,
		.pace = noise(s, s->in->time_noise, p->job),
	};
	s->jobs[p->job].started = true;
	s->out.jobs[p->job] = (struct hes_outcome){
		.gpu = gpu,
		.sm_pct = p->sm_pct,
		.clock_mhz = batch->clock_mhz,
		.start_us = begin_us,
		.predicted_end_us = p->end_us,
	};
}

/* Several jobs of an open queue overlap: only what lengthens the GPU's time adds to it. */
static void commit(struct sim *s, uint32_t gpu, const struct hes_batch *batch, int64_t begin_us)
{
	struct sim_gpu *b = &s->gpus[gpu];
	const int64_t end_us = begin_us + (batch->end_us - batch->start_us);
	int64_t from_us = begin_us;

	if (b->n && b->free_us > from_us)
		from_us = b->free_us;
	if (b->n == 0) {
		b->free_us = end_us;
		b->power_factor = noise(s, s->in->power_noise, s->in->jobs->n + batch->jobs[0].job);
	}
	if (end_us > from_us)
		b->predicted_busy_us += (double)(end_us - from_us);
	b->free_us = end_us > b->free_us ? end_us : b->free_us;
	s->predicted_mj += (double)batch->energy_mj;
	for (uint32_t i = 0; i < batch->n; i++)
		commit_job(s, gpu, batch, &batch->jobs[i], begin_us);
}

/* The next batch of a GPU's queue, if it may start now. */
static const struct hes_batch *next_to_start(const struct sim *s, uint32_t gpu)
{
	const struct sim_gpu *b = &s->gpus[gpu];
	const struct hes_queue *q = &s->plan->queues[gpu];
	const struct hes_batch *batch;

	if (b->next_batch >= q->n || b->state == SIM_SWITCHING)
		return NULL;
	batch = &q->batches[b->next_batch];
	if (!all_arrived(s, batch))
		return NULL;
	if (b->state == SIM_IDLE)
		return batch;
	return q->together && has_room(s, b, q, &batch->jobs[0]) ? batch : NULL;
}

/* Batches that start while others run set the clock at once; on an idle GPU that takes
 * clock_change_us. */
static int start_one(struct sim *s, uint32_t gpu, const struct hes_batch *batch,
		     struct hes_err *err)
{
	struct sim_gpu *b = &s->gpus[gpu];
	bool waits =
		b->state == SIM_IDLE && s->in->clock_change_us && batch->clock_mhz != b->clock_mhz;
	int rc = b->state == SIM_RUNNING ? sim_settle(s, gpu, err) : 0;

	if (rc)
		return rc;
	if (s->in->carried_out) {
		if (hes_plan_append(&s->carried_out, gpu, batch))
			return hes_fail(err, -ENOMEM, "out of memory for the plan carried out");
		s->carried_out.queues[gpu].together = s->plan->queues[gpu].together;
		s->carried_out.queues[gpu].shares_pct = s->plan->queues[gpu].shares_pct;
	}
	b->next_batch++;
	commit(s, gpu, batch, s->now_us + (waits ? s->in->clock_change_us : 0));
	if (waits) {
		b->state = SIM_SWITCHING;
		s->next_us[gpu] = s->now_us + s->in->clock_change_us;
	} else if (b->state == SIM_IDLE) {
		b->state = SIM_RUNNING;
		b->now = (struct hes_segment){ .gpu = gpu, .start_us = s->now_us };
	}
	return 0;
}

int sim_start(struct sim *s, uint32_t gpu, struct hes_err *err)
{
	const struct hes_batch *batch;
	bool any = false;
	int rc = lengthen_plan(s, gpu, err);

	while (!rc && (batch = next_to_start(s, gpu))) {
		rc = start_one(s, gpu, batch, err);
		any = true;
	}
	return !rc && any && s->gpus[gpu].state == SIM_RUNNING ? sim_schedule(s, gpu, err) : rc;
}

int sim_begin(struct sim *s, uint32_t gpu, struct hes_err *err)
{
	struct sim_gpu *b = &s->gpus[gpu];

	b->state = SIM_RUNNING;
	b->now = (struct hes_segment){ .gpu = gpu, .start_us = s->now_us };
	return sim_schedule(s, gpu, err);
}

/* Query the one that learns. @param look_us  when to do so again; INT64_MAX: it is not known */
static int query_order(struct sim *s, uint32_t gpu, int64_t *look_us, struct hes_err *err)
{
	struct sim_gpu *b = &s->gpus[gpu];
	struct hes_sim_order o = { 0 };
	struct hes_sim_window now;
	int rc;

	*look_us = INT64_MAX;
	if (!s->in->order)
		return 0;
	sim_window(s, gpu, &now);
	rc = s->in->order(s->in->ctx, &now, &o, err);
	if (rc < 0)
		return rc;
	s->plan_again |= rc > 0;
	b->ordered_mhz = o.clock_mhz;
	for (uint32_t i = 0; i < b->n; i++)
		b->tasks[i].held = o.held >> i & 1;
	if (o.look_us > s->now_us)
		*look_us = o.look_us;
	return 0;
}

int sim_schedule(struct sim *s, uint32_t gpu, struct hes_err *err)
{
	struct sim_gpu *b = &s->gpus[gpu];
	const char *first = s->in->jobs->v[b->tasks[0].job].id;
	int64_t us, look_us;
	int rc = query_order(s, gpu, &look_us, err);

	if (rc)
		return rc;
	if (sim_gpu_refresh(b, s->in->model, err))
		return hes_fail_in(err, "GPU %s, job %s and its co-runners",
				   s->in->fleet->gpus[gpu].name, first);
	us = sim_gpu_next_us(b);
	if (look_us != INT64_MAX && (us < 0 || us > look_us - s->now_us))
		us = look_us - s->now_us;
	if (us < 0 || us > INT64_MAX - s->now_us)
		return hes_fail(err, -ERANGE, "job %s would not end on GPU %s in 300 years", first,
				s->in->fleet->gpus[gpu].name);
	s->next_us[gpu] = s->now_us + us;
	return 0;
}
