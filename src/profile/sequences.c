/*
 * sequences.c - choose sequences of jobs with their shares and clocks; see heshare/profiler.h.
 *
 * Pure: a function of its arguments and the seed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/rng.h"
#include "heshare/profiler.h"

#define WHOLE        100  /* percent */
#define DRAWN_CLOCKS 2    /* of a random sequence */
#define SOLO_CLOCKS  2    /* of a job alone on the whole GPU, with the default clock more */
#define USABLE       0.97 /* of a GPU's memory: the driver needs the rest */
#define MAX_TRIES    200  /* draws for one sequence: it may not fit memory or shares */
#define MAX_DRY      1000 /* sequences in a row that did not fit */

struct list {
	struct hes_sequence *v;
	size_t n;
};

static struct hes_sequence *list_add(struct list *l)
{
	struct hes_sequence *v = hes_grow(l->v, l->n, sizeof(*v));

	if (!v)
		return NULL;
	l->v = v;
	v[l->n] = (struct hes_sequence){ 0 };
	return &v[l->n++];
}

/* Append the list to @out; on failure @out does not change. */
static int list_finish(struct list *l, bool enough, struct hes_sequences *out, struct hes_err *err)
{
	struct hes_sequence *v = enough ? realloc(out->v, (out->n + l->n) * sizeof(*v)) : NULL;

	if (!v && (!enough || out->n + l->n)) {
		free(l->v);
		return hes_fail(err, -ENOMEM, "out of memory for %zu sequences", out->n + l->n);
	}
	if (l->n)
		memcpy(v + out->n, l->v, l->n * sizeof(*v));
	out->v = v;
	out->n += l->n;
	free(l->v);
	return 0;
}

void hes_sequences_free(struct hes_sequences *t)
{
	free(t->v);
	t->v = NULL;
	t->n = 0;
}

uint32_t hes_sequence_stages(const struct hes_sequence *t)
{
	return 2 * t->n - 1;
}

struct hes_stage hes_sequence_stage(const struct hes_sequence *t, uint32_t i)
{
	return i < t->n ? (struct hes_stage){ 0, i + 1 } : (struct hes_stage){ i - t->n + 1, t->n };
}

static void at_all_clocks(const struct hes_grid *g, struct hes_sequence *t)
{
	t->n_clocks = (uint32_t)g->n_clocks;
	memcpy(t->clocks_mhz, g->clocks_mhz, g->n_clocks * sizeof(*g->clocks_mhz));
}

static void sequence_join(struct hes_sequence *t, uint32_t job, uint32_t sm_pct)
{
	t->jobs[t->n++] = (struct hes_sequence_job){ job, sm_pct };
}

/* An equal part of the share that @pct leaves. @return 0: nothing is left */
static uint32_t part_of_rest(uint32_t pct, const struct hes_co_runners *s)
{
	return pct < WHOLE ? (WHOLE - pct) / s->n : 0;
}

static bool add_set(const struct hes_grid *g, uint32_t job, const struct hes_co_runners *s,
		    uint32_t pct, struct list *l)
{
	uint32_t each = part_of_rest(pct, s);
	struct hes_sequence *t = each ? list_add(l) : NULL;

	if (!t)
		return !each;
	at_all_clocks(g, t);
	sequence_join(t, job, pct);
	for (uint32_t i = 0; i < s->n; i++)
		sequence_join(t, s->job[i], each);
	return true;
}

/* For the profiles of co-runners: each alone on the whole GPU. */
static bool add_solos(const struct hes_co_runners *sets, size_t n_sets, struct list *l)
{
	bool done[HES_PROFILER_JOBS] = { false }, enough = true;

	for (size_t k = 0; k < n_sets; k++)
		for (uint32_t i = 0; i < sets[k].n && enough; i++) {
			struct hes_sequence *t = done[sets[k].job[i]] ? NULL : list_add(l);

			enough = t || done[sets[k].job[i]];
			if (t)
				sequence_join(t, sets[k].job[i], WHOLE);
			done[sets[k].job[i]] = true;
		}
	return enough;
}

int hes_sequences_grid(const struct hes_grid *g, uint32_t job, const struct hes_co_runners *sets,
		       size_t n_sets, struct hes_sequences *out, struct hes_err *err)
{
	struct list l = { 0 };
	bool enough = true;

	/* The whole GPU first: it gives the profile. */
	for (size_t i = g->n_shares; i-- > 0 && enough;) {
		struct hes_sequence *t = list_add(&l);

		enough = t != NULL;
		if (t) {
			at_all_clocks(g, t);
			sequence_join(t, job, g->shares[i]);
		}
	}
	enough = enough && add_solos(sets, n_sets, &l);
	for (size_t i = g->n_shares; i-- > 0;)
		for (size_t k = 0; k < n_sets && enough; k++)
			enough = add_set(g, job, &sets[k], g->shares[i], &l);
	return list_finish(&l, enough, out, err);
}

struct drawing {
	const struct hes_grid *g;
	const struct hes_profiled *jobs;
	size_t n_jobs;
	size_t most;
	const struct hes_gpu_type *type;
	struct hes_rng rng;
};

static uint32_t draw_below(struct drawing *d, size_t n)
{
	return (uint32_t)hes_rng_below(&d->rng, n);
}

/* Choose @n different clocks of the grid, in the grid's order. */
static void draw_clocks(struct drawing *d, struct hes_sequence *t, size_t n, bool with_default)
{
	const struct hes_grid *g = d->g;
	uint32_t order[HES_MAX_CLOCKS];
	bool taken[HES_MAX_CLOCKS] = { false };

	for (uint32_t i = 0; i < g->n_clocks; i++)
		order[i] = i;
	hes_rng_shuffle(&d->rng, order, g->n_clocks);
	for (size_t i = 0; i < n && i < g->n_clocks; i++)
		taken[order[i]] = true;
	for (size_t i = g->n_clocks; i-- > 0;)
		if (taken[i] || (with_default && g->clocks_mhz[i] == d->type->clock_default_mhz))
			t->clocks_mhz[t->n_clocks++] = g->clocks_mhz[i];
}

static bool try_sequence(struct drawing *d, uint32_t first, struct hes_sequence *t)
{
	uint32_t n = 2 + draw_below(d, d->most - 1), shares = 0;
	uint64_t mib = 0;

	*t = (struct hes_sequence){ 0 };
	for (uint32_t i = 0; i < n; i++) {
		uint32_t job = i ? draw_below(d, d->n_jobs) : first;

		sequence_join(t, job, d->g->shares[draw_below(d, d->g->n_shares)]);
		shares += t->jobs[i].sm_pct;
		mib += d->jobs[job].memory_mib;
	}
	return shares <= WHOLE && (double)mib <= USABLE * d->type->memory_mib;
}

/* Swap the first job with a random one, so that each job joins at every position. */
static void swap_first(struct drawing *d, struct hes_sequence *t)
{
	uint32_t at = draw_below(d, t->n);
	struct hes_sequence_job first = t->jobs[0];

	t->jobs[0] = t->jobs[at];
	t->jobs[at] = first;
}

static bool draw_sequence(struct drawing *d, uint32_t first, struct list *l)
{
	struct hes_sequence t, *to;

	for (int i = 0; i < MAX_TRIES; i++) {
		if (!try_sequence(d, first, &t))
			continue;
		swap_first(d, &t);
		draw_clocks(d, &t, DRAWN_CLOCKS, false);
		to = list_add(l);
		if (to)
			*to = t;
		return to;
	}
	return true;
}

static bool draw_solo(struct drawing *d, uint32_t job, struct list *l)
{
	struct hes_sequence *t =
		d->jobs[job].memory_mib <= d->type->memory_mib ? list_add(l) : NULL;

	if (!t)
		return d->jobs[job].memory_mib > d->type->memory_mib;
	sequence_join(t, job, WHOLE);
	draw_clocks(d, t, SOLO_CLOCKS, true);
	return true;
}

int hes_sequences_draw(const struct hes_grid *g, const struct hes_profiled *jobs, size_t n_jobs,
		       size_t most, size_t samples, uint64_t seed, struct hes_sequences *out,
		       struct hes_err *err)
{
	struct drawing d = {
		.g = g, .jobs = jobs, .n_jobs = n_jobs, .most = most, .type = out->type
	};
	uint32_t order[HES_PROFILER_JOBS];
	struct list l = { 0 };
	size_t points = 0, dry = 0;
	bool enough = true;

	hes_rng_seed(&d.rng, seed);
	for (uint32_t i = 0; i < n_jobs; i++)
		order[i] = i;
	for (uint32_t i = 0; i < n_jobs && enough; i++)
		enough = draw_solo(&d, i, &l);
	for (size_t i = 0; points < samples && dry < MAX_DRY && enough; i++) {
		size_t before = l.n;

		if (i % n_jobs == 0)
			hes_rng_shuffle(&d.rng, order, n_jobs);
		enough = draw_sequence(&d, order[i % n_jobs], &l);
		dry = l.n > before ? 0 : dry + 1;
		points += l.n > before
				  ? (size_t)hes_sequence_stages(&l.v[before]) * l.v[before].n_clocks
				  : 0;
	}
	return list_finish(&l, enough, out, err);
}
