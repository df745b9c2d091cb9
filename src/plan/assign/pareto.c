/*
 * pareto.c - the non-dominated set; see pareto.h.
 *
 * Thinning uses a heap ordered by the area that each member adds. A removal changes the two members
 * next to it.
 */
#include "plan/assign/pareto.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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

static int pareto_grow(struct hes_pareto *p)
{
	size_t room = p->room ? 2 * p->room : 64;
	struct hes_pareto_point *v;

	if (p->n < p->room)
		return 0;
	v = reallocarray(p->v, room, sizeof(*v));
	if (!v)
		return -ENOMEM;
	p->v = v;
	p->room = room;
	return 0;
}

int hes_pareto_insert(struct hes_pareto *p, const struct hes_objectives *at, uint64_t tag)
{
	size_t first, past = upper_bound(p, at->energy_mj);

	/* Among members with no more energy the last is the fastest. */
	if (past > 0 && p->v[past - 1].at.jct_us <= at->jct_us)
		return 0;
	if (pareto_grow(p))
		return -ENOMEM;
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

/* A member during thinning. */
struct link {
	double part;          /* area lost without it */
	size_t before, after; /* members; SIZE_MAX: removed */
	size_t where;         /* in the heap */
};

struct thinning {
	const struct hes_pareto_point *v;
	struct link *links; /* [n] */
	size_t *heap;       /* members except the ends, the least part first */
	size_t n;           /* in the heap */
};

static double part_of(const struct thinning *t, size_t m)
{
	const struct hes_objectives *at = &t->v[m].at;

	return (t->v[t->links[m].after].at.energy_mj - at->energy_mj) *
	       (t->v[t->links[m].before].at.jct_us - at->jct_us);
}

static bool heap_before(const struct thinning *t, size_t a, size_t b)
{
	return t->links[a].part != t->links[b].part ? t->links[a].part < t->links[b].part : a < b;
}

static void heap_put(struct thinning *t, size_t at, size_t member)
{
	t->heap[at] = member;
	t->links[member].where = at;
}

/* Move a member up or down in the heap. */
static void heap_settle(struct thinning *t, size_t at)
{
	const size_t m = t->heap[at];

	for (; at > 0 && heap_before(t, m, t->heap[(at - 1) / 2]); at = (at - 1) / 2)
		heap_put(t, at, t->heap[(at - 1) / 2]);
	for (size_t child; (child = 2 * at + 1) < t->n; at = child) {
		if (child + 1 < t->n && heap_before(t, t->heap[child + 1], t->heap[child]))
			child++;
		if (!heap_before(t, t->heap[child], m))
			break;
		heap_put(t, at, t->heap[child]);
	}
	heap_put(t, at, m);
}

static void heap_update(struct thinning *t, size_t m, size_t last)
{
	if (m == 0 || m == last)
		return;
	t->links[m].part = part_of(t, m);
	heap_settle(t, t->links[m].where);
}

static void remove_first(struct thinning *t, size_t last)
{
	const size_t m = t->heap[0];
	struct link *l = &t->links[m];

	heap_put(t, 0, t->heap[--t->n]);
	if (t->n)
		heap_settle(t, 0);
	t->links[l->before].after = l->after;
	t->links[l->after].before = l->before;
	heap_update(t, l->before, last);
	heap_update(t, l->after, last);
	l->after = SIZE_MAX;
}

int hes_pareto_thin(struct hes_pareto *p, size_t most)
{
	struct thinning t = { .v = p->v };
	size_t n = 0;

	if (p->n <= most)
		return 0;
	t.links = calloc(p->n, sizeof(*t.links));
	t.heap = calloc(p->n, sizeof(*t.heap));
	if (!t.links || !t.heap) {
		free(t.links);
		free(t.heap);
		return -ENOMEM;
	}
	for (size_t m = 0; m < p->n; m++) {
		t.links[m] = (struct link){ .before = m - 1, .after = m + 1 };
		if (m == 0 || m + 1 == p->n)
			continue;
		t.links[m].part = part_of(&t, m);
		heap_put(&t, t.n++, m);
		heap_settle(&t, t.n - 1);
	}
	for (size_t left = p->n; left > most; left--)
		remove_first(&t, p->n - 1);
	for (size_t m = 0; m < p->n; m++)
		if (t.links[m].after != SIZE_MAX)
			p->v[n++] = p->v[m];
	p->n = n;
	free(t.links);
	free(t.heap);
	return 0;
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
