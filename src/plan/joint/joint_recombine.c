/*
 * joint_recombine.c - solutions of queues that never were together; see
 * joint_walk.h.
 *
 * Which jobs a board has is a member's of the front; what it does with them is
 * any of what the pool has. As boards add up, all that is best at some weight is found by
 * marginal analysis: from everybody's most frugal queue on, always the step that saves most time for its energy.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/joint/joint_walk.h"

#define MOST_QUEUES 32 /* of a board */
#define MOST_BOARDS 200000 /* of all members together, up to which each member is gone through; beyond, every second, third, ... one */

/* A board's queues of the same jobs. */
struct choice {
	struct joint_pooled v[MOST_QUEUES];
	size_t              n;
};

/* Which of them it stands at: small, for all boards are gone through at every step. */
struct stand {
	size_t               at;
	struct hes_timeline_cost cost;
	double               saved; /* time for energy, by a step to the next one; 0: there is none */
};

static void stand_at(struct stand *s, const struct choice *c, size_t at)
{
	const struct hes_timeline_cost *a = &c->v[at].cost, *b = &c->v[at + 1 < c->n ? at + 1 : at].cost;

	*s = (struct stand){ at, *a, a == b ? 0 : (a->ends_us - b->ends_us) / (b->energy_mj - a->energy_mj) };
}

static int keep(struct joint_walk *w, const struct choice *choices, const struct stand *stands, const uint32_t *first)
{
	struct hes_objectives at = { 0, 0 };
	double late_us = 0, peak_mw = 0;
	size_t slot;
	int rc;

	for (size_t g = 0; g < w->p->k; g++) {
		const struct hes_timeline_cost *c = &stands[g].cost;

		at.energy_mj += c->energy_mj;
		at.jct_us += c->ends_us;
		late_us += c->late_us;
		peak_mw += c->peak_mw;
	}
	rc = joint_archive_offer(&w->archive, &at, joint_walk_excess(w, late_us, peak_mw), &slot);
	if (rc <= 0)
		return rc;
	for (size_t g = 0; g < w->p->k; g++)
		if (first[g + 1] > first[g])
			memcpy(&w->archive.items[slot * w->p->n + first[g]], choices[g].v[stands[g].at].items,
			       (first[g + 1] - first[g]) * sizeof(*w->archive.items));
	memcpy(&w->archive.first[slot * (w->p->k + 1)], first, (w->p->k + 1) * sizeof(*first));
	return 0;
}

static int keep_all(struct joint_walk *w, const struct choice *choices, struct stand *stands, const uint32_t *first)
{
	for (size_t g = 0; g < w->p->k; g++)
		stand_at(&stands[g], &choices[g], 0);
	for (;;) {
		size_t next = SIZE_MAX;
		double most = 0;
		int rc = keep(w, choices, stands, first);

		if (rc < 0)
			return rc;
		for (size_t g = 0; g < w->p->k; g++)
			if (stands[g].saved > most) {
				most = stands[g].saved;
				next = g;
			}
		if (next == SIZE_MAX)
			return 0;
		stand_at(&stands[next], &choices[next], stands[next].at + 1);
	}
}

/* A pool knows sets of jobs by a number that others may have, too. */
static bool are_of(const struct choice *c, uint32_t n, const uint32_t *board_of, uint32_t board)
{
	for (size_t i = 0; i < c->n; i++)
		for (uint32_t j = 0; j < n; j++)
			if (board_of[c->v[i].items[j].job] != board)
				return false;
	return true;
}

/* @return whether the pool knows queues of all boards' jobs */
static bool look_up(const struct joint_walk *w, const struct hes_joint_solution *s, uint32_t *board_of, struct choice *out)
{
	for (uint32_t g = 0; g < w->p->k; g++)
		for (uint32_t i = s->first[g]; i < s->first[g + 1]; i++)
			board_of[s->items[i].job] = g;
	for (uint32_t g = 0; g < w->p->k; g++) {
		const uint32_t n = s->first[g + 1] - s->first[g];

		out[g].n = joint_pool_hull(w->pool, w->boards[g].like, &s->items[s->first[g]], n, out[g].v, MOST_QUEUES);
		if (!out[g].n || !are_of(&out[g], n, board_of, g))
			return false;
	}
	return true;
}

/* The same of solutions with the same jobs on boards that are alike. */
static uint64_t key_of(const struct joint_walk *w, const struct hes_joint_solution *s)
{
	uint64_t sum = 0;

	for (uint32_t g = 0; g < w->p->k; g++)
		sum += joint_pool_key(w->boards[g].like, &s->items[s->first[g]], s->first[g + 1] - s->first[g]);
	return sum;
}

static bool is_new(uint64_t *seen, size_t *n, uint64_t key)
{
	for (size_t i = 0; i < *n; i++)
		if (seen[i] == key)
			return false;
	seen[(*n)++] = key;
	return true;
}

int joint_walk_recombine(struct joint_walk *w)
{
	struct joint_archive was = { .n = w->p->n, .k = w->p->k };
	uint64_t *seen = calloc(w->archive.front.n + 1, sizeof(*seen));
	uint32_t *board_of = calloc(w->p->n + 1, sizeof(*board_of));
	struct choice *choices = calloc(w->p->k + 1, sizeof(*choices));
	struct stand *stands = calloc(w->p->k + 1, sizeof(*stands));
	const size_t each = w->archive.front.n * w->p->k / MOST_BOARDS + 1;
	size_t n_seen = 0;
	int rc = seen && board_of && choices && stands ? joint_archive_merge(&was, &w->archive) : -ENOMEM;

	for (size_t i = 0; i < was.front.n && !rc; i += each) {
		const size_t slot = was.front.v[i].tag;
		const struct hes_joint_solution s = { &was.items[slot * was.n], &was.first[slot * (was.k + 1)] };

		if (is_new(seen, &n_seen, key_of(w, &s)) && look_up(w, &s, board_of, choices))
			rc = keep_all(w, choices, stands, s.first);
	}
	joint_archive_finish(&was);
	free(seen);
	free(board_of);
	free(choices);
	free(stands);
	return rc;
}
