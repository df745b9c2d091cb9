/* pareto.c - the non-dominated set; see pareto.h. */
#include "plan/assign/pareto.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

void hes_pareto_free(struct hes_pareto *p)
{
	free(p->v);
	*p = (struct hes_pareto){ 0 };
}

/* First member with more energy than @energy_mj. */
static size_t upper_bound(const struct hes_pareto *p, double energy_mj)
{
	size_t lo = 0, hi = p->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (p->v[mid].at.energy_mj <= energy_mj)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

int hes_pareto_insert(struct hes_pareto *p, const struct hes_objectives *at, uint64_t tag)
{
	size_t first, past = upper_bound(p, at->energy_mj);
	struct hes_pareto_point *v;

	/* Among members with no more energy the last is the fastest. */
	if (past > 0 && p->v[past - 1].at.jct_us <= at->jct_us)
		return 0;
	v = hes_grow(p->v, p->n, sizeof(*v));
	if (!v)
		return -ENOMEM;
	p->v = v;
	first = past;
	if (first > 0 && p->v[first - 1].at.energy_mj == at->energy_mj)
		first--;
	while (past < p->n && p->v[past].at.jct_us >= at->jct_us)
		past++;
	memmove(&p->v[first + 1], &p->v[past], (p->n - past) * sizeof(*p->v));
	p->v[first] = (struct hes_pareto_point){ *at, tag };
	p->n = p->n - (past - first) + 1;
	return 1;
}

void hes_pareto_thin(struct hes_pareto *p, size_t most)
{
	while (p->n > most) {
		const struct hes_pareto_point *v = p->v;
		double least = INFINITY;
		size_t first = 1;

		for (size_t i = 1; i + 1 < p->n; i++) {
			const double part = (v[i + 1].at.energy_mj - v[i].at.energy_mj) *
					    (v[i - 1].at.jct_us - v[i].at.jct_us);

			if (part < least) {
				least = part;
				first = i;
			}
		}
		memmove(&p->v[first], &p->v[first + 1], (--p->n - first) * sizeof(*v));
	}
}

size_t hes_pareto_knee(const struct hes_pareto *p)
{
	const struct hes_objectives *a = &p->v[0].at, *b = &p->v[p->n - 1].at;
	double best = 3;
	size_t knee = 0;

	for (size_t i = 0; i < p->n && p->n > 1; i++) {
		double e = (p->v[i].at.energy_mj - a->energy_mj) / (b->energy_mj - a->energy_mj);
		double t = (p->v[i].at.jct_us - b->jct_us) / (a->jct_us - b->jct_us);

		if (e * e + t * t < best) {
			best = e * e + t * t;
			knee = i;
		}
	}
	return knee;
}

double hes_pareto_hypervolume(const struct hes_pareto *p, const struct hes_objectives *reference)
{
	double area = 0, above = 1; /* completion time of the member before, as a fraction */

	for (size_t i = 0; i < p->n; i++) {
		double e = p->v[i].at.energy_mj / reference->energy_mj;
		double t = p->v[i].at.jct_us / reference->jct_us;

		if (e >= 1 || t >= above)
			continue;
		area += (1 - e) * (above - t);
		above = t;
	}
	return area;
}
