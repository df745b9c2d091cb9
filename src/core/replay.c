/*
 * replay.c - totals of a replay; see replay.h. Energy is summed in whole microseconds times
 * milliwatts, so the order of the segments does not matter.
 */
#include "heshare/replay.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define US_PER_S 1000000

/* Millijoules and the rest below one, in nanojoules. */
struct energy {
	uint64_t mj, nj;
};

static void add_energy(struct energy *e, uint32_t power_mw, int64_t us)
{
	uint64_t s = (uint64_t)us / US_PER_S;

	e->nj += power_mw * ((uint64_t)us % US_PER_S);
	e->mj += power_mw * s + e->nj / US_PER_S;
	e->nj %= US_PER_S;
}

/* What one GPU gathers while the segments are walked. */
struct tally {
	struct energy busy;
	int64_t busy_us;
	double util_us;
};

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Quantile of sorted values, linear between two of them. */
static int64_t quantile(const int64_t *v, size_t n, double q)
{
	double at = q * (double)(n - 1);
	size_t i = (size_t)at;

	if (i + 1 >= n)
		return v[n - 1];
	return v[i] + llround((at - (double)i) * (double)(v[i + 1] - v[i]));
}

static void summarise_jobs(struct hes_replay *r, const struct hes_jobs *jobs, int64_t *jct)
{
	double sum = 0;

	for (size_t i = 0; i < r->n_jobs; i++) {
		jct[i] = r->jobs[i].end_us - jobs->v[i].arrival_us;
		sum += (double)jct[i];
		if (r->jobs[i].end_us > r->totals.makespan_us)
			r->totals.makespan_us = r->jobs[i].end_us;
	}
	if (r->n_jobs == 0)
		return;
	qsort(jct, r->n_jobs, sizeof(*jct), by_value);
	r->totals.avg_jct_us = sum / (double)r->n_jobs;
	r->p50_jct_us = quantile(jct, r->n_jobs, 0.50);
	r->p95_jct_us = quantile(jct, r->n_jobs, 0.95);
}

static void tally_segments(const struct hes_replay *r, struct tally *t)
{
	for (size_t i = 0; i < r->n_segments; i++) {
		const struct hes_segment *s = &r->segments[i];
		int64_t us = s->end_us - s->start_us;

		if (s->jobs == 0)
			continue;
		add_energy(&t[s->gpu].busy, s->power_mw, us);
		t[s->gpu].busy_us += us;
		t[s->gpu].util_us += (double)s->sm_util * (double)us;
	}
}

static void summarise_gpus(struct hes_replay *r, const struct hes_fleet *f, const struct tally *t)
{
	int64_t span = r->totals.makespan_us;
	struct energy busy = { 0 }, idle = { 0 };

	for (size_t g = 0; g < f->n; g++) {
		struct hes_gpu_usage *u = &r->gpus[g];
		struct energy e = { 0 };

		add_energy(&e, f->gpus[g].type->idle_power_mw, span - t[g].busy_us);
		*u = (struct hes_gpu_usage){
			.busy_us = t[g].busy_us,
			.busy_energy_mj = t[g].busy.mj,
			.idle_energy_mj = e.mj,
			.mean_util = span > 0 ? t[g].util_us / (double)span : 0,
		};
		busy.mj += t[g].busy.mj;
		busy.nj += t[g].busy.nj;
		idle.mj += e.mj;
		idle.nj += e.nj;
		r->mean_util += u->mean_util;
	}
	if (f->n)
		r->mean_util /= (double)f->n;
	r->totals.busy_energy_mj = busy.mj + busy.nj / US_PER_S;
	r->totals.fleet_energy_mj = busy.mj + idle.mj + (busy.nj + idle.nj) / US_PER_S;
}

int hes_replay_summarise(struct hes_replay *r, const struct hes_fleet *f,
			 const struct hes_jobs *jobs)
{
	struct hes_gpu_usage *gpus = calloc(f->n ? f->n : 1, sizeof(*gpus));
	struct tally *t = calloc(f->n ? f->n : 1, sizeof(*t));
	int64_t *jct = calloc(r->n_jobs ? r->n_jobs : 1, sizeof(*jct));
	int rc = gpus && t && jct ? 0 : -ENOMEM;

	if (rc == 0) {
		free(r->gpus);
		r->gpus = gpus;
		r->n_gpus = f->n;
		r->totals = (struct hes_totals){ 0 };
		r->p50_jct_us = r->p95_jct_us = 0;
		r->mean_util = 0;
		gpus = NULL;
		summarise_jobs(r, jobs, jct);
		tally_segments(r, t);
		summarise_gpus(r, f, t);
	}
	free(gpus);
	free(t);
	free(jct);
	return rc;
}

void hes_replay_free(struct hes_replay *r)
{
	if (!r)
		return;
	free(r->jobs);
	free(r->segments);
	free(r->gpus);
	memset(r, 0, sizeof(*r));
}
