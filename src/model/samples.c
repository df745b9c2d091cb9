/*
 * samples.c - samples under sharing drawn from the physics; see heshare/draw.h.
 *
 * Every (type, workload) cell gets its turn before any gets a second one;
 * the rest of a combination is random. Most combinations split the SMs,
 * some oversubscribe them, as MPS allows.
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/hash_map.h"
#include "core/co_run_text.h"
#include "model/draw.h"

#define OVERSUBSCRIBED 0.15 /* part of the combinations whose shares may sum to more than 100 */
#define MAX_TRIES      2000 /* for one sample: memory, shares and distinctness may refuse a draw */

struct job {
	uint32_t workload; /* index */
	uint32_t batch;
	uint32_t sm_pct;
};

/* Everything that makes a sample distinct; co-runners in rising order, unused ones 0. */
struct combination {
	uint32_t type, clock_mhz, n_co_runners;
	struct job task;
	struct job co_runners[HES_DRAW_MAX_CO_RUNNERS];
};

struct drawing {
	const struct hes_draw *d;
	const struct hes_profiles *profiles;
	const struct hes_workload **workloads;
	size_t n_workloads;
	struct hes_rng rng;
	uint32_t *cells; /* this round's order of (type, workload) */
	size_t n_cells;
	struct hes_hash_set seen; /* hashes of the combinations drawn so far */
};

static uint32_t below(struct drawing *w, size_t n)
{
	return (uint32_t)hes_rng_below(&w->rng, n);
}

static struct job random_job(struct drawing *w, uint32_t workload)
{
	return (struct job){ workload, 1u << below(w, DRAW_BATCHES), 10 * (1 + below(w, 10)) };
}

static int by_value(const void *a, const void *b)
{
	const struct job *x = a, *y = b;

	if (x->workload != y->workload)
		return x->workload < y->workload ? -1 : 1;
	if (x->batch != y->batch)
		return x->batch < y->batch ? -1 : 1;
	return (x->sm_pct > y->sm_pct) - (x->sm_pct < y->sm_pct);
}

static struct combination random_combination(struct drawing *w, uint32_t cell)
{
	const struct hes_gpu_type *g = w->d->types[cell / w->n_workloads];
	struct combination c = {
		.type = (uint32_t)(cell / w->n_workloads),
		.clock_mhz = g->clocks_mhz[below(w, g->n_clocks)],
		.n_co_runners = below(w, HES_DRAW_MAX_CO_RUNNERS + 1),
	};
	bool split = hes_rng_unit(&w->rng) >= OVERSUBSCRIBED;
	uint32_t sum;

	do {
		c.task = random_job(w, (uint32_t)(cell % w->n_workloads));
		sum = c.task.sm_pct;
		for (uint32_t i = 0; i < c.n_co_runners; i++) {
			c.co_runners[i] = random_job(w, below(w, w->n_workloads));
			sum += c.co_runners[i].sm_pct;
		}
	} while (split && sum > 100);
	qsort(c.co_runners, c.n_co_runners, sizeof(*c.co_runners), by_value);
	return c;
}

static bool fits(const struct drawing *w, const struct combination *c)
{
	uint64_t mib = hes_workload_memory_mib(w->workloads[c->task.workload], c->task.batch);

	for (uint32_t i = 0; i < c->n_co_runners; i++)
		mib += hes_workload_memory_mib(w->workloads[c->co_runners[i].workload],
					       c->co_runners[i].batch);
	return mib <= w->d->types[c->type]->memory_mib;
}

/* Two combinations of one hash count as the same: one of them is drawn again. */
static uint64_t hash_of(const struct combination *c)
{
	return hes_hash_bytes(HES_HASH_START, c, sizeof(*c));
}

/* The GPU with some jobs on it; @first: 0 with the task, 1 the co-runners alone. */
static int measure(const struct drawing *w, const struct combination *c, size_t first,
		   struct hes_rate *rates, struct hes_instant *now, struct hes_err *err)
{
	struct hes_model_job r[1 + HES_DRAW_MAX_CO_RUNNERS];

	for (size_t i = 0; i <= c->n_co_runners; i++) {
		const struct job *j = i ? &c->co_runners[i - 1] : &c->task;

		r[i] = (struct hes_model_job){ w->workloads[j->workload], j->batch, j->sm_pct };
	}
	return hes_model_instant(w->d->model, w->d->types[c->type], c->clock_mhz, 0, r + first,
				 1 + c->n_co_runners - first, rates, now, err);
}

static int look_up(const struct drawing *w, const struct combination *c, const struct job *j,
		   struct hes_profile *out, struct hes_err *err)
{
	return hes_profile_find(w->profiles, w->workloads[j->workload]->name, j->batch,
				w->d->types[c->type]->name, out, err);
}

/* Profiles stay below the batch sizes that fit a type's memory, and so does fits(). */
static int fill_load(struct drawing *w, const struct combination *c, struct hes_load *out,
		     struct hes_err *err)
{
	struct hes_rate rates[HES_DRAW_MAX_CO_RUNNERS];
	struct hes_load load = { .power_mw = w->d->types[c->type]->idle_power_mw };
	double *const reals[] = {
		&load.sm_util, &load.dram_util,        &load.l2_util,       &load.busy,
		&load.sm_busy, &load.l2_sets,          &load.serial,        &load.dram_busy,
		&load.pace,    &load.iterations_per_s, &load.solo_power_mw, &load.solo_clock_mhz
	};
	struct hes_instant now;
	int rc = 0;

	for (uint32_t i = 0; i < c->n_co_runners && !rc; i++) {
		struct hes_profile solo;

		rc = look_up(w, c, &c->co_runners[i], &solo, err);
		if (!rc)
			hes_load_add(&load, w->d->types[c->type], &solo, c->co_runners[i].sm_pct,
				     c->clock_mhz);
	}
	if (!rc && c->n_co_runners) {
		rc = measure(w, c, 1, rates, &now, err);
		if (!rc)
			load.power_mw =
				(uint32_t)lround(now.power_mw * draw_noise(&w->rng, w->d->noise));
	}
	for (size_t i = 0; i < sizeof(reals) / sizeof(reals[0]); i++)
		*reals[i] = draw_digits(*reals[i]);
	*out = load;
	return rc;
}

static void name_co_runners(const struct drawing *w, const struct combination *c,
			    struct hes_sample *out)
{
	char jobs[HES_DRAW_MAX_CO_RUNNERS][HES_CO_RUN_JOB_MAX];

	for (uint32_t i = 0; i < c->n_co_runners; i++)
		hes_co_run_text_job(jobs[i], w->workloads[c->co_runners[i].workload]->name,
				    c->co_runners[i].batch, c->co_runners[i].sm_pct);
	hes_co_run_text_put(out, jobs, c->n_co_runners);
}

static int fill_sample(struct drawing *w, const struct combination *c, struct hes_sample *out,
		       struct hes_err *err)
{
	struct hes_rate rates[1 + HES_DRAW_MAX_CO_RUNNERS];
	struct hes_instant now;
	int rc = look_up(w, c, &c->task, &out->task, err);

	if (!rc)
		rc = fill_load(w, c, &out->co_runners, err);
	if (!rc)
		rc = measure(w, c, 0, rates, &now, err);
	if (rc)
		return rc;
	out->sm_pct = c->task.sm_pct;
	out->clock_mhz = c->clock_mhz;
	name_co_runners(w, c, out);
	out->iteration_us =
		draw_digits(1e6 / rates[0].iterations_per_s * draw_noise(&w->rng, w->d->noise));
	out->power_mw = (uint32_t)lround(now.power_mw * draw_noise(&w->rng, w->d->noise));
	return 0;
}

static int draw_sample(struct drawing *w, size_t index, struct hes_sample *out, struct hes_err *err)
{
	if (index % w->n_cells == 0)
		hes_rng_shuffle(&w->rng, w->cells, w->n_cells);
	for (int i = 0; i < MAX_TRIES; i++) {
		struct combination c = random_combination(w, w->cells[index % w->n_cells]);

		int added = fits(w, &c) ? hes_hash_set_add(&w->seen, hash_of(&c)) : 0;

		if (added < 0)
			return hes_fail(err, added, "out of memory for %zu samples", index);
		if (added)
			return fill_sample(w, &c, out, err);
	}
	return hes_fail(err, -ENOSPC, "%zu distinct samples were found, no more; request fewer",
			index);
}

static int drawing_init(struct drawing *w, const struct hes_draw *d,
			const struct hes_profiles *profiles, size_t n, struct hes_err *err)
{
	*w = (struct drawing){ .d = d, .profiles = profiles };
	w->workloads = draw_workloads(d->model, &w->n_workloads);
	w->n_cells = w->n_workloads * d->n_types;
	w->cells = malloc(w->n_cells * sizeof(*w->cells));
	if (!w->workloads || !w->cells)
		return hes_fail(err, -ENOMEM, "out of memory for %zu samples", n);
	for (uint32_t i = 0; i < w->n_cells; i++)
		w->cells[i] = i;
	hes_rng_seed(&w->rng, d->seed ^ 0x73616d706c6573u);
	return 0;
}

int hes_draw_samples(const struct hes_draw *d, const struct hes_profiles *profiles, size_t n,
		     struct hes_samples *out, struct hes_err *err)
{
	struct hes_samples s = { 0 };
	struct drawing w = { 0 };
	int rc = draw_check(d, err);

	if (!rc && (n < 1 || n > HES_DRAW_MAX_SAMPLES))
		rc = hes_fail(err, -EINVAL, "%zu samples; it must be from 1 to %d", n,
			      HES_DRAW_MAX_SAMPLES);
	if (!rc)
		rc = drawing_init(&w, d, profiles, n, err);
	if (!rc && !(s.v = calloc(n, sizeof(*s.v))))
		rc = hes_fail(err, -ENOMEM, "out of memory for %zu samples", n);
	for (; !rc && s.n < n; s.n += !rc)
		rc = draw_sample(&w, s.n, &s.v[s.n], err);
	hes_hash_set_finish(&w.seen);
	free(w.workloads);
	free(w.cells);
	if (rc)
		hes_samples_free(&s);
	else
		*out = s;
	return rc;
}
