/*
 * external.c - plans of a policy that is not in the library: check what it decided, and predict its
 * times and energies as for any policy; see hes_external_fn.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "policy/decide.h"

/* The waiting jobs by themselves. Their commands stay the request's. @return 0; -ENOMEM */
static int list_waiting(const struct hes_request *r, struct hes_jobs *out)
{
	*out = (struct hes_jobs){ .v = calloc(r->n_waiting + 1, sizeof(*out->v)),
				  .n = r->n_waiting };
	for (size_t i = 0; out->v && i < r->n_waiting; i++)
		out->v[i] = r->jobs->v[r->waiting[i]];
	return out->v ? 0 : -ENOMEM;
}

/* Index of a clock among those that planners may use; -1: it is none of them. */
static long clock_index(const struct hes_gpu_type *g, uint32_t clock_mhz)
{
	for (size_t i = 0; i < g->n_clocks; i++)
		if (g->clocks_mhz[i] == clock_mhz)
			return (long)i;
	return -1;
}

/* What a planner may not decide here, although a plan's file may hold it. */
static int check_queue(const struct hes_problem *p, size_t gpu, const struct hes_queue *q,
		       struct hes_err *err)
{
	const struct hes_gpu *at = &p->request->fleet->gpus[gpu];
	const uint32_t most_pct = p->shares_pct[p->gpus[gpu].type],
		       most = at->type->alone ? 1 : HES_SHARE_MOST;

	if (q->together > most)
		return hes_fail(err, -ERANGE,
				"%s: together is %" PRIu32 "; at most %" PRIu32
				" jobs can share this GPU",
				at->name, q->together, most);
	if (hes_queue_shares_pct(q) > most_pct)
		return hes_fail(err, -ERANGE,
				"%s: shares_pct is %" PRIu32
				"; the predictor knows sums of shares up to %" PRIu32 " %%",
				at->name, q->shares_pct, most_pct);
	for (size_t b = 0; b < q->n; b++) {
		const struct hes_batch *batch = &q->batches[b];

		if (clock_index(at->type, batch->clock_mhz) < 0)
			return hes_fail(err, -ERANGE,
					"%s: batch %zu: %" PRIu32
					" MHz is none of the clocks_mhz of this GPU",
					at->name, b, batch->clock_mhz);
		if (batch->n > most)
			return hes_fail(err, -ERANGE,
					"%s: batch %zu: %" PRIu32 " jobs; at most %" PRIu32
					" can share this GPU",
					at->name, b, batch->n, most);
		if (at->type->alone && batch->jobs[0].sm_pct != 100)
			return hes_fail(err, -ERANGE,
					"%s: batch %zu: a share of %" PRIu32
					" %%; without MPS a job has 100 %%",
					at->name, b, batch->jobs[0].sm_pct);
	}
	return 0;
}

/* @param number  of each waiting job in the problem */
static int predict_batches(const struct hes_problem *p, size_t gpu, const struct hes_queue *q,
			   const uint32_t *number, struct hes_plan *plan)
{
	int rc = 0;

	for (size_t b = 0; b < q->n && !rc; b++) {
		const struct hes_batch *batch = &q->batches[b];
		struct hes_group g = { .n = batch->n };

		for (uint32_t i = 0; i < g.n; i++)
			g.m[i] = (struct hes_grouped){ number[batch->jobs[i].job],
						       batch->jobs[i].sm_pct };
		rc = hes_compose_batch(p, plan, gpu, batch->clock_mhz, &g);
	}
	return rc;
}

/* The queue's own limits hold while it is composed. */
static int predict_open(struct hes_problem *p, size_t gpu, const struct hes_queue *q,
			const uint32_t *number, struct hes_plan *plan)
{
	const uint32_t type = p->gpus[gpu].type, most_pct = p->shares_pct[type], most = p->together;
	struct hes_timeline_item *items = calloc(q->n + 1, sizeof(*items));
	int rc;

	if (!items)
		return -ENOMEM;
	for (size_t b = 0; b < q->n; b++)
		items[b] = (struct hes_timeline_item){
			number[q->batches[b].jobs[0].job],
			(uint16_t)q->batches[b].jobs[0].sm_pct,
			(uint16_t)clock_index(p->types[type], q->batches[b].clock_mhz),
		};
	p->shares_pct[type] = hes_queue_shares_pct(q);
	p->together = q->together;
	rc = hes_compose_open(p, plan, gpu, items, q->n);
	p->shares_pct[type] = most_pct;
	p->together = most;
	free(items);
	return rc;
}

static int predict(struct hes_problem *p, const struct hes_plan *decided, struct hes_plan *plan)
{
	const struct hes_request *r = p->request;
	uint32_t *of_job = calloc(r->jobs->n + 1, sizeof(*of_job)),
		 *number = calloc(r->n_waiting + 1, sizeof(*number));
	int rc = of_job && number ? 0 : -ENOMEM;

	for (size_t i = 0; i < p->n && !rc; i++)
		of_job[p->jobs[i].job] = (uint32_t)i;
	for (size_t i = 0; i < r->n_waiting && !rc; i++)
		number[i] = of_job[r->waiting[i]];
	for (size_t g = 0; g < p->k && !rc; g++)
		rc = decided->queues[g].together
			     ? predict_open(p, g, &decided->queues[g], number, plan)
			     : predict_batches(p, g, &decided->queues[g], number, plan);
	free(of_job);
	free(number);
	return rc;
}

int hes_decide_external(const struct hes_policy *policy, struct hes_problem *p,
			struct hes_plan *plan, struct hes_err *err)
{
	struct hes_plan decided = { 0 };
	struct hes_jobs waiting;
	int rc = list_waiting(p->request, &waiting);

	if (rc)
		return hes_fail(err, rc, "out of memory for %zu jobs", p->n);
	rc = policy->external(policy->external_ctx, p->request, &waiting, &decided, err);
	if (!rc)
		rc = hes_plan_validate(&decided, p->request->fleet, &waiting, HES_SHARE_SUM_PCT,
				       err);
	for (size_t g = 0; g < p->k && !rc; g++)
		rc = check_queue(p, g, &decided.queues[g], err);
	if (rc)
		hes_fail_in(err, "%s", policy->name);
	else if ((rc = predict(p, &decided, plan)))
		hes_policy_fail(p, rc, err);
	hes_plan_finish(&decided);
	free(waiting.v);
	return rc;
}
