/*
 * joint_join.c - plans of cells put together; see joint_cells.h.
 *
 * Energy and the sum of completion times add up over cells, so that what is best of all together at
 * some weight is the best of each at that weight: from everybody's most frugal plan on, always the step
 * that saves most time for its energy (marginal analysis).
 */
#include "plan/joint/joint_cells.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MEMBERS 100 /* of the front of all, about: each holds the places of all jobs */

void joint_cell_finish(struct joint_cell *c)
{
	free(c->corners);
	free(c->items);
	free(c->first);
	*c = (struct joint_cell){ 0 };
}

int joint_cell_keep(struct joint_cell *c, const struct hes_joint *found)
{
	const struct hes_pareto *front = hes_joint_front(found);
	size_t *hull = calloc(front->n + 1, sizeof(*hull));

	if (!hull)
		return -ENOMEM;
	c->n_corners = hes_pareto_hull(front, hull);
	c->corners = calloc(c->n_corners + 1, sizeof(*c->corners));
	c->items = calloc(c->n_corners * c->n + 1, sizeof(*c->items));
	c->first = calloc(c->n_corners * (c->k + 1), sizeof(*c->first));
	c->excess = found->archive.excess;
	c->knee = found->knee;
	c->evaluations = found->evaluations;
	for (size_t i = 0; i < c->n_corners && c->corners && c->items && c->first; i++) {
		const struct hes_joint_solution s = hes_joint_member(found, hull[i]);
		struct joint_corner *to = &c->corners[i];

		*to = (struct joint_corner){ front->v[hull[i]].at, &c->items[i * c->n], &c->first[i * (c->k + 1)] };
		memcpy(to->first, s.first, (c->k + 1) * sizeof(*s.first));
		for (size_t at = 0; at < c->n; at++) {
			to->items[at] = s.items[at];
			to->items[at].job = c->jobs[s.items[at].job];
		}
	}
	free(hull);
	return c->corners && c->items && c->first ? 0 : -ENOMEM;
}

/* From one corner of a cell to the next. */
struct step {
	double   saved; /* time for energy */
	uint32_t cell, to;
};

static int by_saving(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	if (x->saved != y->saved)
		return x->saved > y->saved ? -1 : 1;
	if (x->cell != y->cell)
		return x->cell < y->cell ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

/* @return how many */
static size_t list_steps(const struct joint_cell *v, size_t n, struct step *out)
{
	size_t steps = 0;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t to = 1; to < v[i].n_corners; to++) {
			const struct hes_objectives *a = &v[i].corners[to - 1].at, *b = &v[i].corners[to].at;

			out[steps] = (struct step){ (a->jct_us - b->jct_us) / (b->energy_mj - a->energy_mj), i, to };
			if (to > 1) /* against rounding: a cell's steps stay in their order */
				out[steps].saved = fmin(out[steps].saved, out[steps - 1].saved);
			steps++;
		}
	qsort(out, steps, sizeof(*out), by_saving);
	return steps;
}

static const struct joint_corner *corner_of(const struct joint_cell *v, const uint32_t *stands, size_t cell)
{
	return &v[cell].corners[stands[cell]];
}

/* The queues of all cells' boards, in the order of boards in the whole. */
static void copy_queues(const struct joint_cell *v, size_t n, const uint32_t *stands, struct hes_timeline_item *items, uint32_t *first, size_t k)
{
	memset(first, 0, (k + 1) * sizeof(*first));
	for (size_t i = 0; i < n; i++) {
		const struct joint_corner *x = corner_of(v, stands, i);

		for (size_t g = 0; g < v[i].k; g++)
			first[v[i].gpus[g] + 1] = x->first[g + 1] - x->first[g];
	}
	for (size_t g = 0; g < k; g++)
		first[g + 1] += first[g];
	for (size_t i = 0; i < n; i++) {
		const struct joint_corner *x = corner_of(v, stands, i);

		for (size_t g = 0; g < v[i].k; g++)
			memcpy(&items[first[v[i].gpus[g]]], &x->items[x->first[g]], (x->first[g + 1] - x->first[g]) * sizeof(*items));
	}
}

static int keep(const struct joint_cell *v, size_t n, const uint32_t *stands, struct joint_archive *out)
{
	struct hes_objectives at = { 0, 0 };
	double excess = 0;
	size_t slot;
	int rc;

	for (size_t i = 0; i < n; i++) {
		const struct joint_corner *x = corner_of(v, stands, i);

		at.energy_mj += x->at.energy_mj;
		at.jct_us += x->at.jct_us;
		excess += v[i].excess;
	}
	rc = joint_archive_offer(out, &at, excess, &slot);
	if (rc <= 0)
		return rc;
	copy_queues(v, n, stands, &out->items[slot * out->n], &out->first[slot * (out->k + 1)], out->k);
	return 0;
}

/* After how many steps the plan is the balanced one. */
static size_t find_balanced(const struct joint_cell *v, size_t n, const struct step *steps, size_t n_steps, const struct hes_objectives *knee)
{
	struct hes_objectives at = { 0, 0 };
	size_t best = 0;
	double most;

	for (size_t i = 0; i < n; i++) {
		at.energy_mj += v[i].corners[0].at.energy_mj;
		at.jct_us += v[i].corners[0].at.jct_us;
	}
	most = joint_lesser_gain(&at, knee);
	for (size_t i = 0; i < n_steps; i++) {
		const struct joint_corner *to = &v[steps[i].cell].corners[steps[i].to];

		at.energy_mj += to->at.energy_mj - to[-1].at.energy_mj;
		at.jct_us += to->at.jct_us - to[-1].at.jct_us;
		if (joint_lesser_gain(&at, knee) > most) {
			most = joint_lesser_gain(&at, knee);
			best = i + 1;
		}
	}
	return best;
}

/* From step to step, keeping one in so many, both ends, and the balanced one. */
static int walk(const struct joint_cell *v, size_t n, const struct step *steps, size_t n_steps, uint32_t *stands, struct hes_joint *out)
{
	const size_t each = (n_steps + MEMBERS) / MEMBERS, balanced = find_balanced(v, n, steps, n_steps, &out->knee);
	int rc = keep(v, n, stands, &out->archive);

	for (size_t i = 1; i <= n_steps && !rc; i++) {
		stands[steps[i - 1].cell] = steps[i - 1].to;
		if (i == n_steps || i % each == 0 || i == balanced)
			rc = keep(v, n, stands, &out->archive);
	}
	return rc;
}

int joint_cells_join(const struct joint_cell *v, size_t n, struct hes_joint *out)
{
	uint32_t *stands = calloc(n + 1, sizeof(*stands));
	struct step *steps;
	size_t room = 0;
	int rc = -ENOMEM;

	for (size_t i = 0; i < n; i++) {
		room += v[i].n_corners;
		out->evaluations += v[i].evaluations;
		out->knee.energy_mj += v[i].knee.energy_mj;
		out->knee.jct_us += v[i].knee.jct_us;
	}
	steps = calloc(room + 1, sizeof(*steps));
	if (stands && steps)
		rc = walk(v, n, steps, list_steps(v, n, steps), stands, out);
	free(stands);
	free(steps);
	return rc;
}
