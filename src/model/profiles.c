/*
 * profiles.c - solo profiles drawn from the physics; see heshare/draw.h.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "model/draw.h"

int draw_check_noise(const struct hes_draw *d, struct hes_err *err)
{
	if (!(d->noise >= 0 && d->noise <= 0.5))
		return hes_fail(err, -EINVAL,
				"noise %g; a coefficient of variation is from 0 to 0.5", d->noise);
	return 0;
}

int draw_check(const struct hes_draw *d, struct hes_err *err)
{
	if (!d->n_types)
		return hes_fail(err, -EINVAL, "no GPU types to draw for");
	if (draw_check_noise(d, err))
		return -EINVAL;
	for (size_t i = 0; i < d->n_types; i++)
		if (!hes_model_knows_gpu(d->model, d->types[i]->name))
			return hes_fail(err, -ENOENT,
					"the model has no parameters for GPU type \"%s\"",
					d->types[i]->name);
	return 0;
}

double draw_noise(struct hes_rng *rng, double cv)
{
	return fmax(0.1, 1 + cv * hes_rng_normal(rng));
}

double draw_digits(double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.*g", HES_PROFILE_DIGITS, value);
	return strtod(text, NULL);
}

const struct hes_workload **draw_workloads(const struct hes_model *m, size_t *n)
{
	const struct hes_workload **out = calloc(hes_model_workloads(m) + 1, sizeof(*out));

	*n = 0;
	for (size_t i = 0; out && i < hes_model_workloads(m); i++)
		if (hes_model_workload_at(m, i)->testbed || hes_model_workload_at(m, i)->own)
			out[(*n)++] = hes_model_workload_at(m, i);
	return out;
}

static int draw_profile(const struct hes_draw *d, const struct hes_gpu_type *g,
			const struct hes_workload *w, uint32_t batch, struct hes_rng *rng,
			struct hes_profile *out, struct hes_err *err)
{
	const struct hes_model_job alone = { w, batch, 100 };
	double cv = d->noise / sqrt(HES_DRAW_REPEATS);
	struct hes_instant now;
	struct hes_rate rate;
	int rc = hes_model_instant(d->model, g, 0, 0, &alone, 1, &rate, &now, err);

	if (rc)
		return rc;
	*out = (struct hes_profile){
		.batch_size = batch,
		.memory_mib = hes_workload_memory_mib(w, batch),
		.clock_mhz = now.clock_mhz,
		.iteration_us = draw_digits(1e6 / rate.iterations_per_s * draw_noise(rng, cv)),
		.busy = draw_digits(rate.busy),
		.sm_util = draw_digits(rate.sm_util),
		.dram_util = draw_digits(rate.dram_util),
		.l2_util = draw_digits(rate.l2_util),
		.power_mw = (uint32_t)lround(now.power_mw * draw_noise(rng, cv)),
		.start_s = draw_digits(w->start_s),
	};
	strcpy(out->workload, w->name);
	strcpy(out->gpu_type, g->name);
	return 0;
}

int hes_draw_profile(const struct hes_draw *d, const struct hes_gpu_type *g,
		     const struct hes_workload *w, uint32_t batch, struct hes_profile *out,
		     struct hes_err *err)
{
	struct hes_rng rng;

	hes_rng_seed(&rng, d->seed);
	return draw_profile(d, g, w, batch, &rng, out, err);
}

/* One workload on one type, from a random stream of its own. */
static int draw_curve(const struct hes_draw *d, const struct hes_gpu_type *g,
		      const struct hes_workload *w, struct hes_rng rng, struct hes_profiles *out,
		      struct hes_err *err)
{
	for (uint32_t batch = 1; batch <= HES_DRAW_MAX_BATCH; batch *= 2) {
		int rc;

		if (hes_workload_memory_mib(w, batch) > g->memory_mib)
			break;
		rc = draw_profile(d, g, w, batch, &rng, &out->v[out->n], err);
		if (rc)
			return rc;
		out->n++;
	}
	return 0;
}

int hes_draw_profiles(const struct hes_draw *d, struct hes_profiles *out, struct hes_err *err)
{
	const struct hes_workload **w;
	struct hes_profiles p = { 0 };
	struct hes_rng rng;
	size_t n;
	int rc = draw_check(d, err);

	if (rc)
		return rc;
	w = draw_workloads(d->model, &n);
	p.v = calloc(n * d->n_types * DRAW_BATCHES, sizeof(*p.v));
	if (!w || !p.v)
		rc = hes_fail(err, -ENOMEM, "out of memory for profiles");
	hes_rng_seed(&rng, d->seed);
	for (size_t t = 0; t < d->n_types; t++)
		for (size_t i = 0; i < n && !rc; i++)
			rc = draw_curve(d, d->types[t], w[i], hes_rng_fork(&rng, t * n + i), &p,
					err);
	free(w);
	if (rc) {
		hes_profiles_free(&p);
		return rc;
	}
	hes_profiles_sort(&p);
	*out = p;
	return 0;
}
