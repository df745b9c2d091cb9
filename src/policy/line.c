/*
 * line.c - the waiting jobs in a policy's order, and the beginning of their plan; see line.h.
 */
#include "policy/line.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/decide.h"

#define FIRST_EACH 2 /* jobs for each GPU, and for each that a batch looks ahead, at first */

struct line_job {
	double key; /* the order: first its key, then its arrival, then its index */
	int64_t arrival_us;
	uint32_t job;
};

struct hes_line {
	const struct hes_policy *policy;
	const char *prefer;
	struct hes_request q; /* the last one: waiting and free_at_us are the line's own */
	struct line_job *order, *merged; /* [jobs]; the n first wait */
	size_t n, planned;
	struct hes_kinds *kinds; /* NULL: each plan predicts what it needs */
	uint32_t *waiting;       /* [jobs]: scratch, the jobs of a request */
	int64_t *free_at_us;     /* [GPUs] */
	bool *known, *waits;     /* [jobs]: is or was in the line; waits now */
};

static uint32_t looks_ahead(const struct hes_policy *policy, const char *prefer)
{
	return *prefer ? policy->variant_looks_ahead : policy->looks_ahead;
}

bool hes_line_can(const struct hes_policy *policy, const char *prefer)
{
	return looks_ahead(policy, prefer) > 0;
}

struct hes_line *hes_line_new(const struct hes_policy *policy, const char *prefer)
{
	struct hes_line *l = hes_line_can(policy, prefer) ? calloc(1, sizeof(*l)) : NULL;

	if (l) {
		l->policy = policy;
		l->prefer = prefer;
	}
	return l;
}

void hes_line_free(struct hes_line *l)
{
	if (!l)
		return;
	hes_kinds_free(l->kinds);
	free(l->order);
	free(l->merged);
	free(l->waiting);
	free(l->free_at_us);
	free(l->known);
	free(l->waits);
	free(l);
}

static int line_make_room(struct hes_line *l, const struct hes_request *q)
{
	const size_t n = q->jobs->n + 1;

	if (l->order)
		return 0;
	l->order = calloc(n, sizeof(*l->order));
	l->merged = calloc(n, sizeof(*l->merged));
	l->waiting = calloc(n, sizeof(*l->waiting));
	l->free_at_us = calloc(q->fleet->n + 1, sizeof(*l->free_at_us));
	l->known = calloc(n, sizeof(*l->known));
	l->waits = calloc(n, sizeof(*l->waits));
	l->kinds = hes_kinds_new(q);
	return l->order && l->merged && l->waiting && l->free_at_us && l->known && l->waits
		       ? 0
		       : -ENOMEM;
}

static int before(const void *a, const void *b)
{
	const struct line_job *x = a, *y = b;

	if (x->key < y->key || x->key > y->key)
		return x->key < y->key ? -1 : 1;
	if (x->arrival_us != y->arrival_us)
		return x->arrival_us < y->arrival_us ? -1 : 1;
	return x->job < y->job ? -1 : x->job > y->job;
}

/* Jobs that no longer wait leave the line. */
static void line_drop_started(struct hes_line *l, const struct hes_request *q)
{
	size_t n = 0;

	memset(l->waits, 0, q->jobs->n * sizeof(*l->waits));
	for (size_t i = 0; i < q->n_waiting; i++)
		l->waits[q->waiting[i]] = true;
	for (size_t i = 0; i < l->n; i++)
		if (l->waits[l->order[i].job])
			l->order[n++] = l->order[i];
	l->n = n;
}

/* The keys of new jobs: their shortest time alone, where the variant sorts by it. */
static int line_set_keys(const struct hes_line *l, const struct hes_request *q,
			 struct line_job *new, size_t n, struct hes_err *err)
{
	struct hes_request r = *q;
	struct hes_problem p;
	int rc;

	if (!hes_variant_is_shortest_first(l->prefer))
		return 0;
	for (size_t i = 0; i < n; i++)
		l->waiting[i] = new[i].job;
	r.waiting = l->waiting;
	r.n_waiting = n;
	r.n_running = 0;
	r.prefer = l->prefer;
	r.kinds = l->kinds;
	rc = hes_problem_init(&p, &r, err);
	if (rc)
		return rc;
	/* The problem has them by arrival and index, as the line. */
	for (size_t i = 0; i < n; i++)
		new[i] = (struct line_job){
			.key = hes_variant_least_us(&p, l->policy->alone, i),
			.arrival_us = q->jobs->v[p.jobs[i].job].arrival_us,
			.job = p.jobs[i].job,
		};
	hes_problem_finish(&p);
	return 0;
}

/* Merge the jobs that have arrived since the last call into the order. */
static int line_join(struct hes_line *l, const struct hes_request *q, struct hes_err *err)
{
	struct line_job *new = l->merged, *old;
	size_t n = 0, i = 0, k = 0, at = 0;
	int rc;

	for (size_t w = 0; w < q->n_waiting; w++) {
		const uint32_t job = q->waiting[w];

		if (!l->known[job])
			new[n++] = (struct line_job){ 0, q->jobs->v[job].arrival_us, job };
	}
	rc = n ? line_set_keys(l, q, new, n, err) : 0;
	if (rc)
		return rc;
	qsort(new, n, sizeof(*new), before);
	/* From the back: the new ones are at the front of the other array. */
	old = l->order;
	i = l->n;
	k = n;
	for (at = l->n + n; k;) {
		const bool old_last = i && before(&new[k - 1], &old[i - 1]) < 0;

		old[--at] = old_last ? old[i - 1] : new[k - 1];
		l->known[old[at].job] = true;
		i -= old_last;
		k -= !old_last;
	}
	l->n += n;
	return 0;
}

/* Batches that might be others if more jobs were known. */
static void drop_uncertain(struct hes_plan *plan, uint32_t ahead)
{
	for (size_t g = 0; g < plan->n_gpus; g++) {
		struct hes_queue *q = &plan->queues[g];
		uint32_t behind = 0;

		while (q->n && behind + q->batches[q->n - 1].n < ahead)
			behind += q->batches[--q->n].n;
	}
}

static int line_plan_first(struct hes_line *l, size_t n, struct hes_plan *out, struct hes_err *err)
{
	int rc;

	l->planned = n < l->n ? n : l->n;
	for (size_t i = 0; i < l->planned; i++)
		l->waiting[i] = l->order[i].job;
	l->q.n_waiting = l->planned;
	rc = hes_policy_plan(l->policy, &l->q, out, NULL, err);
	if (!rc && l->planned < l->n)
		drop_uncertain(out, looks_ahead(l->policy, l->prefer));
	return rc;
}

static size_t first_size(const struct hes_line *l)
{
	return FIRST_EACH * l->q.fleet->n * looks_ahead(l->policy, l->prefer);
}

int hes_line_plan(struct hes_line *l, const struct hes_request *q, struct hes_plan *out,
		  struct hes_err *err)
{
	bool idle = false;
	int rc = line_make_room(l, q);

	if (rc)
		return hes_fail(err, rc, "out of memory for %zu jobs", q->jobs->n);
	line_drop_started(l, q);
	rc = line_join(l, q, err);
	if (rc)
		return rc;
	memcpy(l->free_at_us, q->free_at_us, q->fleet->n * sizeof(*q->free_at_us));
	l->q = *q;
	l->q.prefer = l->prefer;
	l->q.waiting = l->waiting;
	l->q.free_at_us = l->free_at_us;
	l->q.kinds = l->kinds;
	/* These belong to the caller and to this moment; no such policy needs them. */
	l->q.running = NULL;
	l->q.n_running = 0;
	for (size_t g = 0; g < q->fleet->n && !idle; g++)
		idle = q->free_at_us[g] <= q->now_us;
	return line_plan_first(l, idle ? first_size(l) : 0, out, err);
}

int hes_line_more(struct hes_line *l, struct hes_plan *out, struct hes_err *err)
{
	return line_plan_first(l, l->planned ? 2 * l->planned : first_size(l), out, err);
}
