/*
 * tally.c - pairs of published jobs without SM shares; see tally.h.
 *
 * The jobs are no workloads of physics.yaml, and nobody measured their kernels. Each has the GPU
 * busy alone. The slowdown of the light one tells how long the other's kernels are against its own;
 * the model then has to predict the slowdown of the heavy one.
 */
#include "measured/tally.h"

#include <errno.h>
#include <math.h>

#include "model/params.h"

#define TYPE     "A100-SXM-40"
#define SHORT_S  40e-6 /* a kernel of the light job */
#define LEAST_S  4e-6  /* ... of the heavy one, at least, ... */
#define MOST_S   1.0   /* ... and at most */
#define SETTLED  1e-6
#define ROUNDS   60
#define LIMIT_MW 2000000 /* their power is not known: no limit acts */

static double tally_number(struct set_reader *r, const char *column)
{
	int at = r->rc ? -1 : hes_csv_column(r->csv, column, r->err);
	double v = 0;

	if (!r->rc)
		r->rc = at < 0 ? at : hes_csv_double(r->csv, at, 1e-6, 1e6, &v, r->err);
	return v;
}

void tally_read(struct set_reader *r)
{
	if (!set_reader_open(r, "tally_a100/pairs_training.csv"))
		return;
	while (set_reader_next(r)) {
		const struct hes_gpu_type *g = hes_gpu_type_find(r->c, TYPE, r->err);
		double slowdown[2] = { tally_number(r, "first_slowdown"),
				       tally_number(r, "second_slowdown") },
		       per_s[2] = { tally_number(r, "first_alone_per_s"),
				    tally_number(r, "second_alone_per_s") };
		const int light = slowdown[1] > slowdown[0];
		struct hes_setup s = { .n = 0 };

		if (!g && !r->rc)
			r->rc = -ENOENT;
		if (r->rc)
			continue;
		s.gpu = *g;
		if (set_reader_observe(r, HES_SERIES_TALLY_PAIRS, HES_METRIC_TIME_S, &s,
				       slowdown[!light], false))
			r->out->v[r->out->n - 1].crowded =
				(struct hes_crowded){ 1 / per_s[light], 1 / per_s[!light],
						      slowdown[light] };
	}
}

/* A job that computes for so long alone, in kernels of a length. */
static struct hes_workload computing(const struct hes_model *m, const struct hes_gpu_type *g,
				     double time_s, double kernel_s)
{
	const struct hes_gpu_physics *p = hes_model_gpu(m, g->name);
	struct hes_workload w = { .math = HES_MATH_FP32,
				  .efficiency = 1,
				  .parallel_sms = 1e6,
				  .activity = 1,
				  .kernels = time_s / kernel_s };

	w.gflop_per_item = (time_s - w.kernels * p->launch_us * 1e-6) * g->clock_default_mhz *
			   1e-3 * g->sm_count * hes_model_rate(m, p, &w);
	return w;
}

int tally_slowdown(const struct hes_model *m, const struct hes_observation *o, double *out,
		   struct hes_err *err)
{
	const struct hes_crowded *c = &o->crowded;
	const struct hes_gpu_type *g = &o->at.gpu;
	double low = LEAST_S, high = MOST_S, value = NAN;
	int rc = hes_model_gpu(m, g->name) ? 0 : -ENOENT;

	if (rc)
		return hes_fail(err, rc, "the model has no parameters for GPU type \"%s\"",
				g->name);
	for (int i = 0; !rc && i < ROUNDS && high > low * (1 + SETTLED); i++) {
		const double kernel_s = sqrt(low * high);
		const struct hes_workload w[] = { computing(m, g, c->light_s, SHORT_S),
						  computing(m, g, c->heavy_s, kernel_s) };
		const struct hes_model_job r[] = { { &w[0], 1, 100 }, { &w[1], 1, 100 } };
		struct hes_rate rates[2];
		struct hes_steady now;

		rc = hes_model_steady(m, g, 0, LIMIT_MW, r, 2, rates, &now, err);
		value = 1 / rates[1].iterations_per_s / c->heavy_s;
		if (1 / rates[0].iterations_per_s / c->light_s > c->light_slowdown)
			high = kernel_s;
		else
			low = kernel_s;
	}
	if (!rc)
		*out = value;
	return rc;
}
