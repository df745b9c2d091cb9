/* test_groups.c - jobs in groups: the search against the exact optimum and its own starts. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/rng.h"
#include "partition/groups.h"
#include "unit_test.h"

#define MAX_JOBS   120
#define MAX_SLOTS  60
#define KINDS      3
#define EXACT_MOST 12 /* jobs */

/* Jobs that slow each other down, on kinds of different speed and memory. */
struct drawn {
	struct groups_problem p;
	uint32_t kind_of[MAX_SLOTS];
	double work[MAX_JOBS], memory[MAX_JOBS], load[MAX_JOBS];
	double harm[MAX_JOBS][MAX_JOBS]; /* to the first by the second */
	double speed[KINDS][MAX_JOBS], room[KINDS];
	uint64_t calls;
};

static double value_of(void *ctx, uint32_t kind, const uint32_t *jobs, uint32_t n)
{
	struct drawn *d = ctx;
	double memory = 0, load = 0, value = 0.05;

	d->calls++;
	for (uint32_t i = 0; i < n; i++) {
		assert_true(i == 0 || jobs[i - 1] < jobs[i]);
		memory += d->memory[jobs[i]];
		load += d->load[jobs[i]];
	}
	for (uint32_t i = 0; i < n; i++) {
		double slower = fmax(1, load);

		for (uint32_t k = 0; k < n; k++)
			slower += k == i ? 0 : d->harm[jobs[i]][jobs[k]];
		value += d->work[jobs[i]] * d->speed[kind][jobs[i]] / slower;
	}
	return memory > d->room[kind] ? -INFINITY : value;
}

static void draw(struct drawn *d, uint32_t n_jobs, uint32_t n_slots, uint32_t most, uint64_t seed)
{
	struct hes_rng r;

	assert_true(n_jobs <= MAX_JOBS && n_slots <= MAX_SLOTS);
	memset(d, 0, sizeof(*d));
	hes_rng_seed(&r, seed);
	for (uint32_t i = 0; i < n_jobs; i++) {
		d->work[i] = 0.5 + hes_rng_exponential(&r, 1);
		d->memory[i] = 2 + 22 * hes_rng_unit(&r) * hes_rng_unit(&r);
		d->load[i] = 0.1 + 0.8 * hes_rng_unit(&r);
		for (uint32_t k = 0; k < n_jobs; k++)
			d->harm[i][k] = 0.5 * hes_rng_unit(&r) * hes_rng_unit(&r);
		for (uint32_t k = 0; k < KINDS; k++)
			d->speed[k][i] = (1 + k) * (0.5 + hes_rng_unit(&r));
	}
	for (uint32_t k = 0; k < KINDS; k++)
		d->room[k] = 40 + 20 * k;
	for (uint32_t i = 0; i < n_slots; i++)
		d->kind_of[i] = i * KINDS / n_slots;
	d->p = (struct groups_problem){ n_jobs, n_slots, d->kind_of, most, value_of, d, NULL };
}

/* What a placement is worth; checks that it is one. */
static double worth(const struct groups_problem *p, const uint32_t *slot_of)
{
	uint32_t placed = 0;
	double total = 0;

	for (uint32_t slot = 0; slot < p->n_slots; slot++) {
		uint32_t jobs[MAX_JOBS], n = 0;

		for (uint32_t i = 0; i < p->n_jobs; i++)
			if (slot_of[i] == slot)
				jobs[n++] = i;
		assert_true(n <= p->most);
		placed += n;
		total += p->value(p->ctx, p->kind_of[slot], jobs, n);
	}
	assert_int_equal(placed, p->n_jobs);
	return total;
}

static const struct groups_options short_search = { .seed = 1, .evaluations = 5000 };

static double search(const struct groups_problem *p, uint64_t seed, uint64_t evaluations,
		     uint32_t *slot_of)
{
	const struct groups_options o = { .seed = seed, .evaluations = evaluations };
	struct hes_err err = { 0 };
	double total = NAN;

	assert_int_equal(groups_solve(p, &o, slot_of, &total, &err), 0);
	assert_true(fabs(worth(p, slot_of) - total) <= 1e-9 * fabs(total));
	return total;
}

/* The best placement, by dynamic programming over subsets. Slot after slot: the most that the slots
 * so far are worth with exactly a subset of the jobs, a mask. */
struct exact {
	const struct groups_problem *p;
	uint32_t n_masks;
	double *value;    /* [n_masks] of sets on the present kind */
	double *best;     /* [n_masks] of the slots so far */
	uint16_t *choice; /* [n_slots * n_masks]: a slot's set */
};

static void exact_values(struct exact *x, uint32_t kind)
{
	for (uint32_t mask = 0; mask < x->n_masks; mask++) {
		uint32_t jobs[EXACT_MOST], n = 0;
		double v = -INFINITY;

		for (uint32_t left = mask; left; left &= left - 1)
			jobs[n++] = (uint32_t)__builtin_ctz(left);
		if (n <= x->p->most)
			v = x->p->value(x->p->ctx, kind, jobs, n);
		x->value[mask] = isfinite(v) ? v : -INFINITY;
	}
}

/* One slot more. Masks fall, so that the smaller ones are still those of the slots before. */
static void exact_slot(struct exact *x, uint16_t *choice)
{
	for (uint32_t mask = x->n_masks; mask-- > 0;) {
		double best = -INFINITY;

		for (uint32_t set = mask;; set = (set - 1) & mask) {
			const double v = x->best[mask ^ set] + x->value[set];

			if (v > best) {
				best = v;
				choice[mask] = (uint16_t)set;
			}
			if (!set)
				break;
		}
		x->best[mask] = best;
	}
}

static int exact_result(const struct exact *x, uint32_t *slot_of, double *total)
{
	uint32_t mask = x->n_masks - 1;

	if (!isfinite(x->best[mask]))
		return -ENOSPC;
	*total = x->best[mask];
	for (uint32_t slot = x->p->n_slots; slot-- > 0;) {
		const uint32_t set = x->choice[(size_t)slot * x->n_masks + mask];

		for (uint32_t left = set; left; left &= left - 1)
			slot_of[__builtin_ctz(left)] = slot;
		mask ^= set;
	}
	return 0;
}

static int groups_exact(const struct groups_problem *p, uint32_t *slot_of, double *total)
{
	struct exact x = { .p = p, .n_masks = (uint32_t)1 << p->n_jobs };
	int rc;

	x.value = calloc(x.n_masks, sizeof(*x.value));
	x.best = calloc(x.n_masks, sizeof(*x.best));
	x.choice = calloc((size_t)(p->n_slots + 1) * x.n_masks, sizeof(*x.choice));
	assert_true(x.value && x.best && x.choice);
	for (uint32_t mask = 1; mask < x.n_masks; mask++)
		x.best[mask] = -INFINITY;
	for (uint32_t slot = 0; slot < p->n_slots; slot++) {
		if (slot == 0 || p->kind_of[slot] != p->kind_of[slot - 1])
			exact_values(&x, p->kind_of[slot]);
		exact_slot(&x, &x.choice[(size_t)slot * x.n_masks]);
	}
	rc = exact_result(&x, slot_of, total);
	free(x.value);
	free(x.best);
	free(x.choice);
	return rc;
}

/* One of those with tight memory may be hard. */
TEST(the_search_is_within_two_percent_of_the_exact_optimum)
{
	/* Jobs, slots, most. */
	static const uint32_t shapes[][3] = { { 8, 4, 2 },  { 9, 3, 3 },  { 10, 3, 4 },
					      { 11, 6, 2 }, { 12, 4, 4 }, { 10, 12, 3 },
					      { 9, 2, 8 } };
	double worst = 1, sum = 0;
	uint32_t n = 0, below = 0;

	for (uint64_t seed = 1; seed <= RANDOM_CASES(350); seed++) {
		const uint32_t *shape = shapes[seed % 7];
		uint32_t slot_of[MAX_JOBS];
		double best, ratio;
		struct drawn d;

		draw(&d, shape[0], shape[1], shape[2], seed);
		if (groups_exact(&d.p, slot_of, &best) == -ENOSPC)
			continue;
		assert_true(fabs(worth(&d.p, slot_of) - best) < 1e-9 * best);
		ratio = search(&d.p, seed, 3000, slot_of) / best;
		assert_true(ratio < 1 + 1e-9);
		below += ratio < 0.98;
		worst = fmin(worst, ratio);
		sum += ratio;
		n++;
	}
	print_message("of the optimum: worst %.5f, mean %.6f over %u problems\n", worst, sum / n,
		      n);
	assert_true(n > RANDOM_CASES(250) && below <= 1 && sum / n > 0.9995);
}

/* The dynamic programme against every placement. */
TEST(the_exact_solver_finds_the_best_of_all_placements)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		uint32_t slot_of[MAX_JOBS] = { 0 }, at = 0;
		double best, most = -INFINITY;
		struct drawn d;

		draw(&d, 6, 3, 3, seed);
		while (at < 6) {
			uint32_t n[3] = { 0 };

			for (uint32_t i = 0; i < 6; i++)
				n[slot_of[i]]++;
			if (n[0] <= 3 && n[1] <= 3 && n[2] <= 3)
				most = fmax(most, worth(&d.p, slot_of));
			for (at = 0; at < 6 && ++slot_of[at] == 3; at++)
				slot_of[at] = 0;
		}
		assert_int_equal(groups_exact(&d.p, slot_of, &best), 0);
		assert_true(fabs(best - most) < 1e-9);
	}
}

/* Jobs in a given order, each to the next slot that takes it: first come first served. @return NAN:
 * one has no place */
static double assign_in_turn(const struct drawn *d, const uint32_t *order)
{
	uint32_t slot_of[MAX_JOBS], cursor = 0;

	memset(slot_of, 0xff, sizeof(slot_of));
	for (uint32_t i = 0; i < d->p.n_jobs; i++) {
		uint32_t tried = 0;

		for (; tried < d->p.n_slots; tried++, cursor++) {
			const uint32_t slot = cursor % d->p.n_slots;
			double memory = d->memory[order[i]];
			uint32_t n = 0;

			for (uint32_t k = 0; k < d->p.n_jobs; k++) {
				memory += slot_of[k] == slot ? d->memory[k] : 0;
				n += slot_of[k] == slot;
			}
			if (n < d->p.most && memory <= d->room[d->kind_of[slot]])
				break;
		}
		if (tried == d->p.n_slots)
			return NAN;
		slot_of[order[i]] = cursor++ % d->p.n_slots;
	}
	return worth(&d->p, slot_of);
}

/* With no call beyond those of the starts, which first come first served is one of, and with many.
 */
TEST(the_search_is_never_worse_than_first_come_first_served_or_random_placements)
{
	for (uint64_t seed = 1; seed <= RANDOM_CASES(40); seed++) {
		const uint32_t most = seed % 2 ? 2 : 4, n_jobs = 30 + (uint32_t)seed;
		const bool few = seed % 4 < 2;
		uint32_t order[MAX_JOBS], slot_of[MAX_JOBS];
		struct hes_rng r;
		struct drawn d;
		double found;

		draw(&d, n_jobs, n_jobs / most + 4, most, seed);
		hes_rng_seed(&r, seed);
		for (uint32_t i = 0; i < n_jobs; i++)
			order[i] = i;
		found = search(&d.p, seed, few ? 1 : 20000, slot_of);
		for (int k = 0; k < (few ? 1 : 20); k++) {
			const double in_turn = assign_in_turn(&d, order);

			assert_true(isnan(in_turn) || found >= in_turn * (1 - 1e-12));
			hes_rng_shuffle(&r, order, n_jobs);
		}
	}
}

TEST(the_same_seed_gives_the_same_placement)
{
	uint32_t a[MAX_JOBS], b[MAX_JOBS];
	struct drawn d;

	draw(&d, 90, 30, 4, 5);
	assert_true(search(&d.p, 3, 20000, a) == search(&d.p, 3, 20000, b));
	assert_memory_equal(a, b, 90 * sizeof(*a));
}

/* Seven jobs that need a GPU each, and others, for six GPUs. */
TEST(jobs_beyond_memory_are_refused_with_their_number)
{
	for (uint32_t n_jobs = 10; n_jobs <= 16; n_jobs += 6) {
		uint32_t slot_of[MAX_JOBS] = { 77 };
		struct hes_err err = { 0 };
		double total = 77;
		struct drawn d;

		draw(&d, n_jobs, 6, 4, 1);
		for (uint32_t i = 0; i < n_jobs; i++)
			d.memory[i] = i < 7 ? 39 : 0.1;
		for (uint32_t k = 0; k < KINDS; k++)
			d.room[k] = 40;
		assert_int_equal(groups_solve(&d.p, &short_search, slot_of, &total, &err), -ENOSPC);
		assert_non_null(strstr(err.msg, n_jobs == 10 ? "1 of 10 jobs" : "1 of 16 jobs"));
		assert_true(total == 77 && slot_of[0] == 77);
	}
}

/* Pairs of a large and a small job fill the GPUs, so that dealing in turn fails. */
TEST(jobs_that_fit_only_with_certain_others_are_placed)
{
	uint32_t slot_of[MAX_JOBS];
	struct drawn d;

	draw(&d, 40, 20, 2, 1);
	for (uint32_t i = 0; i < 40; i++)
		d.memory[i] = i < 20 ? 10.5 + i : 40 - (i - 20.0) - 11;
	for (uint32_t k = 0; k < KINDS; k++)
		d.room[k] = 40;
	search(&d.p, 1, 50000, slot_of);
}

TEST(the_smallest_problems_are_solved)
{
	/* Jobs, slots, most. */
	static const uint32_t shapes[][3] = { { 0, 0, 2 },  { 0, 3, 2 }, { 1, 1, 1 },  { 5, 1, 8 },
					      { 3, 40, 4 }, { 5, 5, 1 }, { 40, 40, 1 } };

	for (uint32_t i = 0; i < 7; i++) {
		uint32_t slot_of[MAX_JOBS], again[MAX_JOBS];
		struct hes_err err = { 0 };
		struct drawn d;
		double total;

		draw(&d, shapes[i][0], shapes[i][1], shapes[i][2], i);
		for (uint32_t k = 0; k < KINDS; k++)
			d.room[k] = 1000;
		assert_int_equal(groups_solve(&d.p, &short_search, slot_of, &total, &err), 0);
		assert_true(fabs(worth(&d.p, slot_of) - total) < 1e-9);
		assert_true(search(&d.p, 1, 1000, again) >= 0.98 * total);
	}
}

TEST(impossible_problems_are_refused)
{
	uint32_t slot_of[MAX_JOBS];
	struct hes_err err;
	struct drawn d;
	double total;

	draw(&d, 9, 4, 9, 1);
	assert_int_equal(groups_solve(&d.p, &short_search, slot_of, &total, &err), -EINVAL);
	d.p.most = 2;
	assert_int_equal(groups_solve(&d.p, &short_search, slot_of, &total, &err), -ENOSPC);
	assert_string_equal(err.msg, "1 of 9 jobs have no place: 4 GPUs take 2 jobs each");
	d.p.n_slots = 0;
	assert_int_equal(groups_solve(&d.p, &short_search, slot_of, &total, &err), -ENOSPC);
}

struct watch {
	uint64_t last;
};

static void note(void *ctx, uint64_t done, uint64_t of)
{
	struct watch *w = ctx;

	assert_true(done > w->last && done <= of);
	w->last = done;
}

TEST(progress_rises_to_the_end)
{
	struct watch w = { 0 };
	const struct groups_options o = { .evaluations = 5000, .progress = note, .ctx = &w };
	uint32_t slot_of[MAX_JOBS];
	struct drawn d;
	double total;

	draw(&d, 60, 20, 4, 1);
	assert_int_equal(groups_solve(&d.p, &o, slot_of, &total, NULL), 0);
	assert_int_equal(w.last, 100);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
