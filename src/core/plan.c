/*
 * plan.c - build and check plans in memory; see plan.h. plan_json.c reads and writes plan files.
 */
#include "heshare/plan.h"
#include "base/grow.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int hes_plan_init(struct hes_plan *p, size_t n_gpus)
{
	struct hes_queue *queues = calloc(n_gpus ? n_gpus : 1, sizeof(*queues));

	if (!queues)
		return -ENOMEM;
	*p = (struct hes_plan){ .queues = queues, .n_gpus = n_gpus };
	return 0;
}

void hes_plan_finish(struct hes_plan *p)
{
	for (size_t g = 0; g < p->n_gpus; g++)
		free(p->queues[g].batches);
	free(p->queues);
	free(p->remainders);
	free(p->infeasible);
	*p = (struct hes_plan){ 0 };
}

int hes_plan_append(struct hes_plan *p, size_t gpu, const struct hes_batch *b)
{
	struct hes_queue *q = &p->queues[gpu];
	struct hes_batch *v = hes_grow(q->batches, q->n, sizeof(*v));

	if (!v)
		return -ENOMEM;
	q->batches = v;
	q->batches[q->n++] = *b;
	return 0;
}

int hes_plan_append_remainder(struct hes_plan *p, const struct hes_remainder *o)
{
	struct hes_remainder *v = hes_grow(p->remainders, p->n_remainders, sizeof(*v));

	if (!v)
		return -ENOMEM;
	p->remainders = v;
	p->remainders[p->n_remainders++] = *o;
	return 0;
}

/* Where in a plan a check stands, for its sentences. */
struct place {
	const struct hes_fleet *fleet;
	const struct hes_jobs *jobs;
	size_t gpu, batch;
};

int64_t hes_queue_busy_us(const struct hes_queue *q)
{
	int64_t busy_us = 0;

	for (size_t b = 0; b < q->n; b++) {
		if (!q->together)
			busy_us += q->batches[b].end_us - q->batches[b].start_us;
		else if (q->batches[b].end_us > busy_us)
			busy_us = q->batches[b].end_us;
	}
	return busy_us;
}

static const char *gpu_name(const struct place *at)
{
	return at->fleet->gpus[at->gpu].name;
}

static int check_placement(const struct place *at, const struct hes_batch *b,
			   const struct hes_placement *p, bool *seen, struct hes_err *err)
{
	if (p->job >= at->jobs->n)
		return hes_fail(err, -EINVAL,
				"%s: batch %zu: job number %" PRIu32 " is not one of the %zu jobs",
				gpu_name(at), at->batch, p->job, at->jobs->n);
	if (seen[p->job])
		return hes_fail(err, -EEXIST, "%s: batch %zu: job %s is planned twice",
				gpu_name(at), at->batch, at->jobs->v[p->job].id);
	if (p->sm_pct < 1 || p->sm_pct > 100)
		return hes_fail(err, -ERANGE,
				"%s: batch %zu: job %s: SM share %" PRIu32
				" %% is outside 1 to 100 %%",
				gpu_name(at), at->batch, at->jobs->v[p->job].id, p->sm_pct);
	if (p->end_us < p->start_us)
		return hes_fail(err, -EINVAL, "%s: batch %zu: job %s ends before it starts",
				gpu_name(at), at->batch, at->jobs->v[p->job].id);
	if (p->start_us < b->start_us || p->end_us > b->end_us)
		return hes_fail(err, -EINVAL,
				"%s: batch %zu: job %s is planned from %" PRId64 " to %" PRId64
				" us, outside of its batch, "
				"from %" PRId64 " to %" PRId64 " us",
				gpu_name(at), at->batch, at->jobs->v[p->job].id, p->start_us,
				p->end_us, b->start_us, b->end_us);
	seen[p->job] = true;
	return 0;
}

static uint32_t memory_of(const struct place *at, const struct hes_placement *p)
{
	return hes_memory_on(at->fleet->gpus[at->gpu].type,
			     hes_job_memory_mib(&at->jobs->v[p->job]));
}

/* @param shares_pct  what the shares may sum to */
static int check_batch(const struct place *at, const struct hes_batch *b, uint32_t shares_pct,
		       bool *seen, struct hes_err *err)
{
	const struct hes_gpu_type *type = at->fleet->gpus[at->gpu].type;
	uint64_t memory_mib = 0;
	uint32_t shares = 0;

	if (b->n < 1 || b->n > HES_MAX_SHARING)
		return hes_fail(err, -ERANGE, "%s: batch %zu: %" PRIu32 " jobs are outside 1 to %d",
				gpu_name(at), at->batch, b->n, HES_MAX_SHARING);
	if (!b->unlocked && !hes_gpu_type_has_clock(type, b->clock_mhz))
		return hes_fail(err, -EINVAL, "%s: batch %zu: %s has no clock of %" PRIu32 " MHz",
				gpu_name(at), at->batch, type->name, b->clock_mhz);
	if (b->start_us < 0 || b->end_us < b->start_us || b->end_us > HES_PLAN_LONGEST_US)
		return hes_fail(err, -ERANGE,
				"%s: batch %zu: it is planned from %" PRId64 " to %" PRId64
				" us, outside 0 to %" PRId64 " us",
				gpu_name(at), at->batch, b->start_us, b->end_us,
				(int64_t)HES_PLAN_LONGEST_US);
	for (uint32_t i = 0; i < b->n; i++) {
		int rc = check_placement(at, b, &b->jobs[i], seen, err);

		if (rc)
			return rc;
		memory_mib += memory_of(at, &b->jobs[i]);
		shares += b->jobs[i].sm_pct;
	}
	if (b->n > 1 && shares > shares_pct)
		return hes_fail(err, -ERANGE,
				"%s: batch %zu: shares sum to %" PRIu32 " %%, more than %" PRIu32
				" %%",
				gpu_name(at), at->batch, shares, shares_pct);
	if (memory_mib > type->memory_mib)
		return hes_fail(err, -ENOSPC,
				"%s: batch %zu: its jobs need %" PRIu64 " MiB, %s has %" PRIu32
				" MiB",
				gpu_name(at), at->batch, memory_mib, type->name, type->memory_mib);
	return 0;
}

/* Those of an open queue that run when the one in hand is admitted. */
struct co_run {
	const struct hes_batch *live[HES_MAX_SHARING + 1];
	uint32_t n;
};

/* Who ended before @b starts leaves; @b joins. */
static int check_co_run(const struct place *at, struct co_run *c, const struct hes_batch *b,
			const struct hes_queue *q, struct hes_err *err)
{
	const struct hes_gpu_type *type = at->fleet->gpus[at->gpu].type;
	uint64_t memory_mib = 0;
	uint32_t shares = 0, n = 0;

	for (uint32_t i = 0; i < c->n; i++)
		if (c->live[i]->end_us > b->start_us)
			c->live[n++] = c->live[i];
	c->live[n++] = b;
	c->n = n;
	for (uint32_t i = 0; i < n; i++) {
		memory_mib += memory_of(at, &c->live[i]->jobs[0]);
		shares += c->live[i]->jobs[0].sm_pct;
	}
	if (n > q->together)
		return hes_fail(err, -ERANGE,
				"%s: batch %zu: %" PRIu32
				" jobs run when it is admitted, more than %" PRIu32,
				gpu_name(at), at->batch, n, q->together);
	if (n > 1 && shares > hes_queue_shares_pct(q))
		return hes_fail(err, -ERANGE,
				"%s: batch %zu: shares sum to %" PRIu32 " %% when it is admitted, "
				"more than %" PRIu32 " %%",
				gpu_name(at), at->batch, shares, hes_queue_shares_pct(q));
	if (memory_mib > type->memory_mib)
		return hes_fail(err, -ENOSPC,
				"%s: batch %zu: %" PRIu64
				" MiB are needed when it is admitted, %s has %" PRIu32 " MiB",
				gpu_name(at), at->batch, memory_mib, type->name, type->memory_mib);
	return 0;
}

static int check_open_queue(struct place *at, const struct hes_queue *q, uint32_t max_share_sum,
			    bool *seen, struct hes_err *err)
{
	struct co_run c = { .n = 0 };

	if (q->together > HES_MAX_SHARING)
		return hes_fail(err, -ERANGE, "%s: %" PRIu32 " jobs at a time are more than %d",
				gpu_name(at), q->together, HES_MAX_SHARING);
	for (size_t b = 0; b < q->n; b++) {
		int rc;

		at->batch = b;
		rc = check_batch(at, &q->batches[b], max_share_sum, seen, err);
		if (rc)
			return rc;
		if (q->batches[b].n != 1)
			return hes_fail(err, -EINVAL,
					"%s: batch %zu: %" PRIu32
					" jobs where an open queue has one",
					gpu_name(at), b, q->batches[b].n);
		if (b && q->batches[b].start_us < q->batches[b - 1].start_us)
			return hes_fail(err, -EINVAL,
					"%s: batch %zu is admitted before the one ahead of it",
					gpu_name(at), b);
		rc = check_co_run(at, &c, &q->batches[b], q, err);
		if (rc)
			return rc;
	}
	return 0;
}

static int check_queue(struct place *at, const struct hes_queue *q, uint32_t max_share_sum,
		       bool *seen, struct hes_err *err)
{
	const uint32_t shares_pct =
		hes_queue_shares_pct(q) > max_share_sum ? q->shares_pct : max_share_sum;
	int64_t free_us = 0;

	if (q->shares_pct && (q->shares_pct < 100 || q->shares_pct > HES_MAX_SHARING * 100))
		return hes_fail(err, -ERANGE,
				"%s: shares that sum to %" PRIu32 " %% are outside 100 to %d %%",
				gpu_name(at), q->shares_pct, HES_MAX_SHARING * 100);
	if (q->together)
		return check_open_queue(at, q, max_share_sum, seen, err);

	for (size_t b = 0; b < q->n; b++) {
		int rc;

		at->batch = b;
		rc = check_batch(at, &q->batches[b], shares_pct, seen, err);
		if (rc)
			return rc;
		if (q->batches[b].start_us < free_us)
			return hes_fail(err, -EINVAL,
					"%s: batch %zu starts before the one ahead of it ends",
					gpu_name(at), b);
		free_us = q->batches[b].end_us;
	}
	return 0;
}

int hes_plan_validate(const struct hes_plan *p, const struct hes_fleet *f,
		      const struct hes_jobs *jobs, uint32_t max_share_sum, struct hes_err *err)
{
	struct place at = { .fleet = f, .jobs = jobs };
	bool *seen;
	int rc = 0;

	if (p->n_gpus != f->n)
		return hes_fail(err, -EINVAL, "the plan is for %zu GPUs, the fleet has %zu",
				p->n_gpus, f->n);
	seen = calloc(jobs->n ? jobs->n : 1, sizeof(*seen));
	if (!seen)
		return hes_fail(err, -ENOMEM, "out of memory for %zu jobs", jobs->n);
	for (at.gpu = 0; at.gpu < p->n_gpus && !rc; at.gpu++)
		rc = check_queue(&at, &p->queues[at.gpu], max_share_sum, seen, err);
	for (size_t i = 0; i < jobs->n && !rc; i++)
		if (!seen[i])
			rc = hes_fail(err, -ENOENT, "job %s is not in the plan", jobs->v[i].id);
	free(seen);
	return rc;
}

size_t hes_plan_missed(const struct hes_plan *p, const struct hes_jobs *jobs)
{
	size_t n = 0;

	for (size_t g = 0; g < p->n_gpus; g++)
		for (size_t b = 0; b < p->queues[g].n; b++)
			for (uint32_t i = 0; i < p->queues[g].batches[b].n; i++) {
				const struct hes_placement *at = &p->queues[g].batches[b].jobs[i];

				n += jobs->v[at->job].has_deadline &&
				     at->end_us > jobs->v[at->job].deadline_us;
			}
	return n;
}
