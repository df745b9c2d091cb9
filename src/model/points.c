/*
 * points.c - points drawn from the physics: what profiling would measure of jobs that share a GPU;
 * see heshare/draw.h.
 *
 * The noise of a point is drawn from a stream of its own: its seed is the caller's and
 * a hash of what the point is. So a point comes out the same whenever it is drawn.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "core/co_run_text.h"
#include "heshare/point.h"
#include "model/draw.h"
#include "model/params.h"

/* What `heshare profile` takes by default when all is steady at once. */
#define WINDOWS  3
#define WINDOW_S 2.0

struct drawn_job {
	char text[HES_CO_RUN_JOB_MAX]; /* jobs are sorted by it */
	size_t at;                     /* in the caller's order */
};

/* A point as the physics has it. Jobs are sorted: their order in the call must not matter, to the
 * last digit. */
struct drawn_point {
	size_t n;
	struct drawn_job jobs[HES_MODEL_MAX_JOBS];
	struct hes_model_job placements[HES_MODEL_MAX_JOBS];
	struct hes_rate rates[HES_MODEL_MAX_JOBS];
	struct hes_steady now;
	struct hes_model_activity use;
	double power_noise, time_noise[HES_MODEL_MAX_JOBS]; /* factors */
};

static int job_order(const void *a, const void *b)
{
	const struct drawn_job *x = a, *y = b;
	int c = strcmp(x->text, y->text);

	return c ? c : (x->at > y->at) - (x->at < y->at);
}

static void sort_jobs(struct drawn_point *p, const struct hes_model_job *r, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		hes_co_run_text_job(p->jobs[i].text, r[i].workload->name, r[i].batch, r[i].sm_pct);
		p->jobs[i].at = i;
	}
	qsort(p->jobs, n, sizeof(p->jobs[0]), job_order);
	for (size_t i = 0; i < n; i++)
		p->placements[i] = r[p->jobs[i].at];
	p->n = n;
}

static void draw_factors(const struct hes_draw *d, const struct hes_gpu_type *g, uint32_t clock_mhz,
			 struct drawn_point *p)
{
	uint64_t h = hes_hash_text(HES_HASH_START, g->name);
	char clock[16];
	struct hes_rng rng;

	snprintf(clock, sizeof(clock), "%u", clock_mhz);
	h = hes_hash_text(h, clock);
	for (size_t i = 0; i < p->n; i++)
		h = hes_hash_text(h, p->jobs[i].text);
	hes_rng_seed(&rng, d->seed);
	rng = hes_rng_fork(&rng, h);
	p->power_noise = draw_noise(&rng, d->noise);
	for (size_t i = 0; i < p->n; i++)
		p->time_noise[i] = draw_noise(&rng, d->noise);
}

static int check_memory(const struct hes_gpu_type *g, const struct drawn_point *p,
			struct hes_err *err)
{
	uint64_t mib = 0;

	for (size_t i = 0; i < p->n; i++)
		mib += hes_workload_memory_mib(p->placements[i].workload, p->placements[i].batch);
	if (mib > g->memory_mib)
		return hes_fail(
			err, -ENOSPC, "%s%s take%s %llu MiB of device memory; %s has %u MiB",
			p->jobs[0].text, p->n > 1 ? " and its co-runners" : "", p->n > 1 ? "" : "s",
			(unsigned long long)mib, g->name, g->memory_mib);
	return 0;
}

/* What belongs to the GPU. */
static struct hes_point gpu_row(const struct hes_draw *d, const struct hes_gpu_type *g,
				uint32_t clock_mhz, const struct drawn_point *p)
{
	struct hes_point row = {
		.clock_mhz = clock_mhz,
		.cv = draw_digits(d->noise),
		.windows = WINDOWS,
		.seconds = WINDOWS * WINDOW_S,
		.memory_mib = NAN,
		.power_mw = (uint32_t)lround(p->now.power_w * 1e3 * p->power_noise),
		.power_cv = draw_digits(d->noise),
		.held_mhz = draw_digits(p->now.clock_ghz * 1e3),
		.capped = p->now.clock_ghz * 1e3 < clock_mhz - 0.5,
		.busy = draw_digits(fmin(p->use.busy, 1)),
		.memory_busy = draw_digits(fmin(p->use.memory_busy, 1)),
		.sm_active = draw_digits(fmin(p->use.sm, 1)),
		.sm_occupancy = draw_digits(fmin(p->use.occupancy, 1)),
		.dram_active = draw_digits(fmin(p->use.dram, 1)),
		.fp32_active = draw_digits(fmin(p->use.fp32, 1)),
		.tensor_active = draw_digits(fmin(p->use.tensor, 1)),
		.pcie_tx_mibs = draw_digits(p->use.pcie_out_mib_s),
		.pcie_rx_mibs = draw_digits(p->use.pcie_in_mib_s),
		.temperature_c = NAN,
		.time_se = NAN,
		.first_use_s = NAN,
		.start_s = NAN,
		.run_s = NAN,
	};

	strcpy(row.gpu_type, g->name);
	return row;
}

static void name_co_runners(const struct drawn_point *p, size_t but, char out[HES_CO_RUN_TEXT_MAX])
{
	char jobs[HES_MODEL_MAX_JOBS][HES_CO_RUN_JOB_MAX];
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		if (i != but)
			strcpy(jobs[n++], p->jobs[i].text);
	hes_co_run_text_join(jobs, n, out, HES_CO_RUN_TEXT_MAX);
}

/* @rows are in the caller's order. */
static void fill_rows(const struct hes_point *gpu, const struct drawn_point *p,
		      struct hes_point *rows)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct hes_model_job *r = &p->placements[i];
		struct hes_point *row = &rows[p->jobs[i].at];

		*row = *gpu;
		strcpy(row->workload, r->workload->name);
		row->batch_size = r->batch;
		row->sm_pct = r->sm_pct;
		row->iteration_us =
			draw_digits(1e6 / p->rates[i].iterations_per_s * p->time_noise[i]);
		name_co_runners(p, i, row->co_runners);
		if (p->n == 1)
			row->memory_mib = hes_workload_memory_mib(r->workload, r->batch);
	}
}

static int check_jobs(const struct hes_draw *d, size_t n, struct hes_err *err)
{
	if (!n)
		return hes_fail(err, -EINVAL, "a point of no jobs; it has one at least");
	if (n > HES_MODEL_MAX_JOBS)
		return hes_fail(err, -E2BIG, "a point of %zu jobs; the model takes at most %d", n,
				HES_MODEL_MAX_JOBS);
	return draw_check_noise(d, err);
}

int hes_draw_point(const struct hes_draw *d, const struct hes_gpu_type *g, uint32_t clock_mhz,
		   const struct hes_model_job *r, size_t n, struct hes_point *rows,
		   struct hes_err *err)
{
	uint32_t requested_mhz = clock_mhz ? clock_mhz : g->clock_default_mhz;
	struct drawn_point p;
	struct hes_point gpu;
	int rc = check_jobs(d, n, err);

	if (rc)
		return rc;
	sort_jobs(&p, r, n);
	rc = hes_model_steady(d->model, g, requested_mhz, 0, p.placements, n, p.rates, &p.now, err);
	if (!rc)
		rc = check_memory(g, &p, err);
	if (rc)
		return rc;
	hes_model_activity(d->model, g, p.now.clock_ghz, p.placements, p.rates, n, &p.use);
	draw_factors(d, g, requested_mhz, &p);
	gpu = gpu_row(d, g, requested_mhz, &p);
	fill_rows(&gpu, &p, rows);
	return 0;
}
