/*
 * replanner.c - compare a request with the last one, report the difference to a replan, and write
 * its queues as a plan; see replanner.h.
 */
#include "policy/replanner.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/replan.h"

struct hes_replanner {
	const struct hes_policy *policy;
	struct hes_request
		opened; /* the request that the replan was opened with, without its running jobs */
	uint32_t *waiting;         /* [jobs] of that request */
	int64_t *free_at_us;       /* [GPUs] of it */
	struct hes_replan *replan; /* NULL: nothing is planned yet */
	bool *planned;             /* [jobs]: has a position, or has run */
	bool *waits;               /* [jobs]: scratch */
	uint32_t *queue;           /* [jobs]: scratch */
};

struct hes_replanner *hes_replanner_new(const struct hes_policy *policy)
{
	struct hes_replanner *r = calloc(1, sizeof(*r));

	if (r)
		r->policy = policy;
	return r;
}

void hes_replanner_free(struct hes_replanner *r)
{
	if (!r)
		return;
	hes_replan_close(r->replan);
	free(r->waiting);
	free(r->free_at_us);
	free(r->planned);
	free(r->waits);
	free(r->queue);
	free(r);
}

static int make_room(struct hes_replanner *r, const struct hes_request *q)
{
	const size_t n = q->jobs->n + 1;

	if (r->waiting)
		return 0;
	r->waiting = calloc(n, sizeof(*r->waiting));
	r->free_at_us = calloc(q->fleet->n + 1, sizeof(*r->free_at_us));
	r->planned = calloc(n, sizeof(*r->planned));
	r->waits = calloc(n, sizeof(*r->waits));
	r->queue = calloc(n, sizeof(*r->queue));
	return r->waiting && r->free_at_us && r->planned && r->waits && r->queue ? 0 : -ENOMEM;
}

/* Open the replan with this request and its plan. */
static int open_replan(struct hes_replanner *r, const struct hes_request *q,
		       const struct hes_plan *plan, struct hes_err *err)
{
	int rc;

	hes_replan_close(r->replan);
	r->replan = NULL;
	r->opened = *q;
	memcpy(r->waiting, q->waiting, q->n_waiting * sizeof(*q->waiting));
	memcpy(r->free_at_us, q->free_at_us, q->fleet->n * sizeof(*q->free_at_us));
	r->opened.waiting = r->waiting;
	r->opened.free_at_us = r->free_at_us;
	rc = hes_replan_open(&r->opened, plan, 0, &r->replan, err);
	/* These belong to the caller and to this moment. */
	r->opened.running = NULL;
	r->opened.n_running = 0;
	return rc;
}

/* The first plan. Without later arrivals there is nothing to replan. */
static int plan_first(struct hes_replanner *r, const struct hes_request *q, struct hes_plan *out,
		      struct hes_front *front, struct hes_err *err)
{
	struct hes_plan plan;
	int rc = hes_policy_plan(r->policy, q, &plan, front, err);

	if (rc)
		return rc;
	rc = q->n_waiting < q->jobs->n ? open_replan(r, q, &plan, err) : 0;
	if (rc) {
		hes_plan_finish(&plan);
		return rc;
	}
	for (size_t i = 0; i < q->n_waiting; i++)
		r->planned[q->waiting[i]] = true;
	*out = plan;
	return 0;
}

static size_t running_on(const struct hes_request *q, size_t gpu, size_t from)
{
	size_t n = 0;

	while (from + n < q->n_running && q->running[from + n].gpu == gpu)
		n++;
	return n;
}

/* Jobs start in the order of their queue, so those that no longer wait come first in it. */
static int observe(struct hes_replanner *r, const struct hes_request *q, struct hes_err *err)
{
	size_t at = 0;
	int rc = 0;

	memset(r->waits, 0, q->jobs->n * sizeof(*r->waits));
	for (size_t i = 0; i < q->n_waiting; i++)
		r->waits[q->waiting[i]] = true;
	for (size_t g = 0; g < q->fleet->n && !rc; g++) {
		const size_t n = hes_replan_queue(r->replan, g, r->queue, q->jobs->n),
			     running = running_on(q, g, at);
		size_t started = 0;

		while (started < n && !r->waits[r->queue[started]])
			started++;
		rc = hes_replan_observe(r->replan, g, started, &q->running[at], running, q->now_us,
					err);
		at += running;
	}
	return rc;
}

static int write_plan(const struct hes_replanner *r, const struct hes_request *q,
		      struct hes_plan *out, struct hes_err *err)
{
	struct hes_plan plan;
	int rc = hes_plan_init(&plan, q->fleet->n);

	for (size_t g = 0; g < q->fleet->n && !rc; g++)
		rc = hes_replan_write(r->replan, g, &plan);
	if (rc) {
		hes_plan_finish(&plan);
		return hes_fail(err, rc, "out of memory for a plan of %zu jobs", q->n_waiting);
	}
	strcpy(plan.policy, r->policy->name);
	snprintf(plan.prefer, sizeof(plan.prefer), "%s", q->prefer ? q->prefer : "");
	plan.seed = q->seed;
	*out = plan;
	return 0;
}

/* Open again with room for more jobs; jobs without a position are left out. */
static int reopen(struct hes_replanner *r, const struct hes_request *q, struct hes_err *err)
{
	struct hes_request planned = *q;
	struct hes_plan plan;
	size_t n = 0;
	int rc = write_plan(r, q, &plan, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < q->n_waiting; i++)
		if (r->planned[q->waiting[i]])
			r->queue[n++] = q->waiting[i];
	planned.waiting = r->queue;
	planned.n_waiting = n;
	rc = open_replan(r, &planned, &plan, err);
	hes_plan_finish(&plan);
	return rc;
}

static int insert_arrived(struct hes_replanner *r, const struct hes_request *q, struct hes_err *err)
{
	size_t gpu;
	int rc = 0;

	for (size_t i = 0; i < q->n_waiting && !rc; i++) {
		const uint32_t job = q->waiting[i];

		if (r->planned[job])
			continue;
		rc = hes_replan_arrive(r->replan, job, q->now_us, &gpu, err);
		if (rc == -EXFULL) {
			rc = reopen(r, q, err);
			if (!rc)
				rc = hes_replan_arrive(r->replan, job, q->now_us, &gpu, err);
		}
		r->planned[job] = !rc;
	}
	return rc;
}

int hes_replanner_plan(struct hes_replanner *r, const struct hes_request *q, struct hes_plan *out,
		       struct hes_front *front, struct hes_err *err)
{
	int rc = make_room(r, q);

	if (rc)
		return hes_fail(err, rc, "out of memory for %zu jobs", q->jobs->n);
	if (!r->replan)
		return plan_first(r, q, out, front, err);
	rc = observe(r, q, err);
	if (!rc)
		rc = insert_arrived(r, q, err);
	return rc ? rc : write_plan(r, q, out, err);
}
