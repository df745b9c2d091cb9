/*
 * between.c - searches all gaps of a front and merges the results; see between.h.
 */
#include "between.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gap.h"

#define EVALUATIONS    200000000u        /* by default */
#define MOST_MARGINALS ((size_t)1 << 24) /* values per thread */
#define MEMORY         ((size_t)1 << 29) /* bytes of the front's assignments */

struct between {
	const struct hes_assign *a;
	const struct hes_between_options *o;
	const struct hes_assign_front *from;
	struct hes_gap *gaps; /* [n_gaps] */
	size_t n_gaps;
};

static int search_some(struct between *b, struct hes_gap_room *r, size_t first, size_t step)
{
	int rc = 0;

	for (size_t i = first; i < b->n_gaps && !rc; i += step)
		rc = hes_gap_search(&b->gaps[i], r);
	return rc;
}

static int search_all(struct between *b)
{
	const uint64_t all = b->o->evaluations ? b->o->evaluations : EVALUATIONS;
	const uint32_t threads = b->o->threads < b->n_gaps ? b->o->threads : (uint32_t)b->n_gaps;
	int rc = 0;

	for (size_t i = 0; i < b->n_gaps; i++)
		b->gaps[i] = (struct hes_gap){
			.ends = { b->from->v[i].gpu_of, b->from->v[i + 1].gpu_of },
			.limit = all / b->n_gaps,
		};
#pragma omp parallel for schedule(static, 1) num_threads((int)threads) reduction(min : rc)
	for (uint32_t t = 0; t < threads; t++) {
		struct hes_gap_room r;
		int failed = hes_gap_room_init(&r, b->a, MOST_MARGINALS);

		if (!failed) {
			failed = search_some(b, &r, t, threads);
			hes_gap_room_finish(&r);
		}
		rc = failed < rc ? failed : rc;
	}
	return rc;
}

static size_t bytes_of(const struct hes_assign *a)
{
	return sizeof(struct hes_assignment) +
	       a->k * (sizeof(struct hes_gpu_sum) + sizeof(uint32_t)) +
	       a->n * (sizeof(double) + 2 * sizeof(uint32_t));
}

/* The front over all gaps; a tag is the gap's number and the node's. */
static int merge(const struct between *b, struct hes_pareto *all)
{
	const size_t most = MEMORY / bytes_of(b->a) / b->n_gaps + 2;
	int rc = 0;

	for (size_t i = 0; i < b->n_gaps && rc >= 0; i++) {
		hes_pareto_thin(&b->gaps[i].front, most);
		for (size_t m = 0; m < b->gaps[i].front.n && rc >= 0; m++)
			rc = hes_pareto_insert(all, &b->gaps[i].front.v[m].at,
					       (uint64_t)i << 32 | b->gaps[i].front.v[m].tag);
	}
	return rc < 0 ? rc : 0;
}

/* As assignments. Their objectives are computed again and rounded differently: equal and dominated
 * ones are dropped. */
static int merge_assignments(const struct between *b, const struct hes_pareto *all,
			     struct hes_assign_front *out)
{
	struct hes_assignment *v = hes_assignments_new(b->a, all->n);
	size_t n = 0;

	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < all->n; i++) {
		hes_gap_assignment(&b->gaps[all->v[i].tag >> 32], b->a, (uint32_t)all->v[i].tag,
				   v[n].gpu_of);
		hes_assign_evaluate(b->a, &v[n]);
		if (n == 0 || (v[n].at.energy_mj > v[n - 1].at.energy_mj &&
			       v[n].at.jct_us < v[n - 1].at.jct_us))
			n++;
	}
	*out = (struct hes_assign_front){ v, n };
	return 0;
}

int hes_between_search(const struct hes_assign *a, const struct hes_between_options *o,
		       struct hes_assign_front *front, uint64_t *evaluations)
{
	struct between b = { .a = a, .o = o, .from = front, .n_gaps = front->n - (front->n > 0) };
	struct hes_pareto all = { 0 };
	struct hes_assign_front found;
	int rc;

	*evaluations = 0;
	if (!b.n_gaps)
		return 0;
	b.gaps = calloc(b.n_gaps, sizeof(*b.gaps));
	rc = b.gaps ? search_all(&b) : -ENOMEM;
	if (!rc)
		rc = merge(&b, &all);
	if (!rc)
		rc = merge_assignments(&b, &all, &found);
	for (size_t i = 0; b.gaps && i < b.n_gaps; i++) {
		*evaluations += b.gaps[i].evaluations;
		hes_gap_finish(&b.gaps[i]);
	}
	if (!rc) {
		free(front->v);
		*front = found;
	}
	free(b.gaps);
	hes_pareto_free(&all);
	return rc;
}
