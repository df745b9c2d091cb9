/*
 * fit_profile.c - fit a workload's parameters to its profile and to public facts; see
 * fit_profile.h.
 *
 * Levenberg-Marquardt on the logarithms of some parameters, in each arithmetic. Each parameter is
 * pulled to what the known networks have by a prior (workload_prior.h), so that fewer points than
 * parameters are enough, or none. calibrate.c in tools fits what the model is made of.
 */
#include "model/fit_profile.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/expected_error.h"

#define FREE       HES_PRIOR_PARAMS
#define ROWS       5 /* of one point */
#define MAX_ROUNDS 40
#define MAX_TRIES  8    /* of one round, each with more damping */
#define STEP       1e-4 /* of a logarithm, for its derivative */
#define ENOUGH     1e-5 /* relative gain of a round at which the fit ends */

struct fit {
	const struct hes_model *m;
	const struct hes_fit_point *points;
	size_t n;
	struct hes_workload_prior prior;
	double *r;        /* [rows]: residuals */
	double *trial;    /* [rows] */
	double *jacobian; /* [FREE][rows] */
	size_t rows;
};

/* The model's rates and power of a point. @return 0, or the model's error */
static int model_point(const struct fit *f, const struct hes_workload *w,
		       const struct hes_fit_point *p, struct hes_rate *rate, struct hes_steady *now)
{
	const struct hes_model_job alone = { w, p->measured->batch_size, 100 };

	return hes_model_steady(f->m, p->type, 0, 0, &alone, 1, rate, now, NULL);
}

/* @return the sum of squares; INFINITY where the model has no result */
static double residuals(const struct fit *f, const double *x, double *out)
{
	const struct hes_workload w = hes_prior_at(&f->prior, x);
	double sum = 0;
	size_t row = 0;

	for (size_t i = 0; i < f->n; i++) {
		const struct hes_profile *p = f->points[i].measured;
		struct hes_steady now;
		struct hes_rate rate;

		if (model_point(f, &w, &f->points[i], &rate, &now))
			return INFINITY;
		out[row++] =
			log(1e6 / rate.iterations_per_s / p->iteration_us) / HES_FIT_TIME_TOLERANCE;
		out[row++] =
			p->power_mw ? log(now.power_w * 1e3 / p->power_mw) / HES_FIT_POWER_TOLERANCE
				    : 0;
		out[row++] =
			p->sm_util > 0 ? (rate.sm_util - p->sm_util) / HES_FIT_PART_TOLERANCE : 0;
		out[row++] = p->sm_util > 0
				     ? (rate.dram_util - p->dram_util) / HES_FIT_PART_TOLERANCE
				     : 0;
		out[row++] = p->busy > 0 ? (rate.busy - p->busy) / HES_FIT_PART_TOLERANCE : 0;
	}
	for (size_t i = 0; i < FREE; i++)
		out[row++] = x[i] / f->prior.spread[i];
	for (size_t i = 0; i < row; i++)
		sum += out[i] * out[i];
	return isfinite(sum) ? sum : INFINITY;
}

/* Solve (J'J + damping x its diagonal) step = -J'r. @return false not positive definite */
static bool solve(const struct fit *f, double damping, double *step)
{
	double a[FREE][FREE], g[FREE];

	for (size_t i = 0; i < FREE; i++) {
		const double *ji = &f->jacobian[i * f->rows];

		g[i] = 0;
		for (size_t k = 0; k < f->rows; k++)
			g[i] -= ji[k] * f->r[k];
		for (size_t j = 0; j <= i; j++) {
			a[i][j] = 0;
			for (size_t k = 0; k < f->rows; k++)
				a[i][j] += ji[k] * f->jacobian[j * f->rows + k];
		}
		a[i][i] *= 1 + damping;
	}
	for (size_t i = 0; i < FREE; i++)
		for (size_t j = 0; j <= i; j++) {
			for (size_t k = 0; k < j; k++)
				a[i][j] -= a[i][k] * a[j][k];
			if (i == j && !(a[i][i] > 0))
				return false;
			a[i][j] = i == j ? sqrt(a[i][i]) : a[i][j] / a[j][j];
		}
	for (size_t i = 0; i < FREE; i++) {
		for (size_t k = 0; k < i; k++)
			g[i] -= a[i][k] * g[k];
		g[i] /= a[i][i];
	}
	for (size_t i = FREE; i-- > 0;) {
		for (size_t k = i + 1; k < FREE; k++)
			g[i] -= a[k][i] * step[k];
		step[i] = g[i] / a[i][i];
	}
	return true;
}

/* One step down from @x, whose residuals are in r. @return the new sum; the old one where no step
 * was found */
static double step_down(struct fit *f, double *x, double sum, double *damping)
{
	double aside[FREE], step[FREE];

	for (size_t i = 0; i < FREE; i++) {
		double *column = &f->jacobian[i * f->rows];

		memcpy(aside, x, sizeof(aside));
		aside[i] += STEP;
		if (!isfinite(residuals(f, aside, column)))
			return sum;
		for (size_t k = 0; k < f->rows; k++)
			column[k] = (column[k] - f->r[k]) / STEP;
	}
	for (int i = 0; i < MAX_TRIES; i++, *damping *= 8) {
		double next;

		if (!solve(f, *damping, step))
			continue;
		for (size_t k = 0; k < FREE; k++)
			aside[k] = x[k] + step[k];
		next = residuals(f, aside, f->trial);
		if (next < sum) {
			memcpy(x, aside, sizeof(aside));
			memcpy(f->r, f->trial, f->rows * sizeof(*f->r));
			*damping /= 16;
			return next;
		}
	}
	return sum;
}

/* Fit from the prior's means. @return the sum of squares */
static double minimise(struct fit *f, double *x)
{
	double damping = 1e-2, sum, before;

	memset(x, 0, FREE * sizeof(*x));
	sum = residuals(f, x, f->r);
	for (int i = 0; i < MAX_ROUNDS && sum > 0 && isfinite(sum); i++) {
		before = sum;
		sum = step_down(f, x, sum, &damping);
		if (before - sum <= ENOUGH * before)
			break;
	}
	return sum;
}

/* In the arithmetic that is known, or in the one that fits best. */
static int fit_in_math(struct fit *f, const struct hes_workload_facts *facts,
		       struct hes_workload *out, struct hes_err *err)
{
	struct hes_workload_prior best_prior;
	double best = INFINITY, sum, x[FREE];
	int rc = 0;

	for (int math = 0; math < HES_MATHS && !rc; math++) {
		if (facts->has_math && math != (int)facts->math)
			continue;
		rc = hes_workload_prior(f->m, facts, (enum hes_math)math, &f->prior, err);
		sum = rc ? INFINITY : minimise(f, x);
		if (sum < best) {
			best = sum;
			best_prior = f->prior;
			*out = hes_prior_at(&f->prior, x);
		}
	}
	if (!rc && !isfinite(best))
		rc = hes_fail(err, -ENOENT, "the model has no result near the known networks");
	if (!rc)
		f->prior = best_prior;
	return rc;
}

int hes_fit_workload(const struct hes_model *m, const struct hes_workload_facts *facts,
		     const struct hes_fit_point *points, size_t n, struct hes_workload *out,
		     const struct hes_workload **nearest, struct hes_err *err)
{
	struct fit f = { .m = m, .points = points, .n = n, .rows = n * ROWS + FREE };
	int rc;

	f.r = calloc(f.rows * (2 + FREE), sizeof(*f.r));
	if (!f.r)
		return hes_fail(err, -ENOMEM, "out of memory for %zu profiles", n);
	f.trial = f.r + f.rows;
	f.jacobian = f.trial + f.rows;
	rc = fit_in_math(&f, facts, out, err);
	if (!rc && nearest)
		*nearest = hes_prior_nearest(m, &f.prior, out);
	free(f.r);
	return rc;
}

static void find_errors(const struct fit *f, const struct hes_workload *w,
			struct hes_model_fit *about)
{
	about->points = f->n;
	for (size_t i = 0; i < f->n; i++) {
		const struct hes_profile *p = f->points[i].measured;
		struct hes_steady now;
		struct hes_rate rate;

		if (model_point(f, w, &f->points[i], &rate, &now))
			continue;
		about->time_error +=
			fabs(1e6 / rate.iterations_per_s / p->iteration_us - 1) / (double)f->n;
		about->power_error +=
			p->power_mw ? fabs(now.power_w * 1e3 / p->power_mw - 1) / (double)f->n : 0;
	}
}

/* A line through the memory at the smallest and at the largest batch size. */
static void fit_memory(const struct hes_fit_point *points, size_t n, struct hes_workload *w)
{
	const struct hes_profile *low = points[0].measured, *high = low;

	for (size_t i = 1; i < n; i++) {
		const struct hes_profile *p = points[i].measured;

		low = p->batch_size < low->batch_size ? p : low;
		high = p->batch_size > high->batch_size ? p : high;
	}
	w->memory_mib_per_item = high == low
					 ? 0
					 : fmax(0, ((double)high->memory_mib - low->memory_mib) /
							   (high->batch_size - low->batch_size));
	w->memory_mib = fmax(0, low->memory_mib - w->memory_mib_per_item * low->batch_size);
}

/* The mean of those that are known. */
static double mean_start_s(const struct hes_fit_point *points, size_t n)
{
	double sum = 0, known = 0;

	for (size_t i = 0; i < n; i++) {
		sum += points[i].measured->start_s;
		known += points[i].measured->start_s > 0;
	}
	return known > 0 ? sum / known : 0;
}

/* Of many points some, evenly, with the first and the last. */
static size_t thin_out(struct hes_fit_point *points, size_t n, size_t most)
{
	if (n <= most)
		return n;
	for (size_t i = 0; i < most; i++)
		points[i] = points[i * (n - 1) / (most - 1)];
	return most;
}

/* The profiles that can be reproduced. @return how many, in @points */
static size_t take_points(const struct hes_model *m, const struct hes_catalogue *c,
			  const struct hes_profiles *profiles, const char *workload,
			  struct hes_fit_point *points)
{
	size_t n = 0;

	for (size_t i = 0; i < profiles->n; i++) {
		const struct hes_profile *p = &profiles->v[i];
		const struct hes_gpu_type *type;

		if (strcmp(p->workload, workload) || p->batch_size > HES_MODEL_MAX_BATCH ||
		    !hes_model_knows_gpu(m, p->gpu_type))
			continue;
		type = hes_gpu_type_find(c, p->gpu_type, NULL);
		if (type)
			points[n++] = (struct hes_fit_point){ p, type };
	}
	return thin_out(points, n, HES_MODEL_MAX_FIT_POINTS);
}

/* Fit @points, and find the error to expect with as many points. */
static int add(struct hes_model *m, const struct hes_catalogue *c, const char *name,
	       const struct hes_workload_facts *facts, struct hes_fit_point *points, size_t n,
	       struct hes_model_fit *about, struct hes_err *err)
{
	const struct fit f = { .m = m, .points = points, .n = n };
	const struct hes_workload *nearest;
	struct hes_workload w;
	int rc = hes_fit_workload(m, facts, points, n, &w, &nearest, err);

	if (rc)
		return rc;
	strcpy(w.name, name);
	strcpy(w.framework, n ? "profile" : "facts");
	strcpy(w.origin, w.framework);
	w.load = nearest->load;
	w.start_s = mean_start_s(points, n);
	hes_workload_take_style(m, &w);
	if (n)
		fit_memory(points, n, &w);
	strcpy(about->workload, name);
	strcpy(about->nearest, nearest->name);
	find_errors(&f, &w, about);
	rc = hes_expect_error(m, c, facts, points, thin_out(points, n, HES_EXPECTED_ERROR_POINTS),
			      &about->expected, err);
	w.time_factors = about->expected.time;
	w.power_factors = about->expected.power;
	return rc ? rc : hes_model_put(m, &w, 1, err);
}

int hes_model_add_workload(struct hes_model *m, const struct hes_catalogue *c, const char *name,
			   const struct hes_workload_facts *facts,
			   const struct hes_profiles *profiles, struct hes_model_fit *out,
			   struct hes_err *err)
{
	static const struct hes_workload_facts nothing;
	struct hes_fit_point *points = calloc(1 + (profiles ? profiles->n : 0), sizeof(*points));
	struct hes_model_fit about = { .points = 0 };
	size_t n = 0;
	int rc = 0;

	if (!points)
		return hes_fail(err, -ENOMEM, "out of memory for profiles");
	if (hes_model_workload(m, name, NULL) && !hes_model_workload(m, name, NULL)->own)
		rc = hes_fail(err, -EEXIST, "workload %s: the model knows it", name);
	else if (profiles)
		n = take_points(m, c, profiles, name, points);
	if (!rc && profiles && !n)
		rc = hes_fail(err, -ENOENT,
			      "workload %s: the model does not know it, and it has no profile on a "
			      "GPU type that the "
			      "model knows",
			      name);
	if (!rc)
		rc = add(m, c, name, facts ? facts : &nothing, points, n, &about, err);
	if (!rc)
		*out = about;
	free(points);
	return rc;
}
