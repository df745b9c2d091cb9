/*
 * fit_profile.c - fit a workload's parameters to its profile; see fit_profile.h.
 *
 * Levenberg-Marquardt on the logarithms of some parameters, from each network of the testbed in each arithmetic. Each parameter is pulled
 * to the network's by a prior, so that fewer points than parameters are enough. The start with the least sum of squares
 * is the nearest network. calibrate.c in tools fits what the model is made of.
 */
#include "model/fit_profile.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/params.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define FREE      COUNT(free_params)
#define ROWS      5      /* of one point */
#define MAX_ROUNDS 40
#define MAX_TRIES 8      /* of one round, each with more damping */
#define STEP      1e-4   /* of a logarithm, for its derivative */
#define ENOUGH    1e-5   /* relative gain of a round at which the fit ends */

/* Of a logarithm; of a part of the GPU, which counters measure less well. */
#define TIME_TOLERANCE  0.02
#define POWER_TOLERANCE 0.03
#define PART_TOLERANCE  0.15

/* What a profile can say something of: its range, and how far it may well be from that of the nearest network. */
static const struct free_param {
	size_t offset;
	double least, most;
	double spread; /* standard deviation of the logarithm */
} free_params[] = {
	{ offsetof(struct hes_workload, gflop_per_item), 1e-4, 1e9, 3 },
	{ offsetof(struct hes_workload, traffic_mib_per_item), 1e-3, 1e9, 2 },
	{ offsetof(struct hes_workload, traffic_mib), 0.1, 1e9, 2 },
	{ offsetof(struct hes_workload, efficiency), 0.02, 1.2, 0.7 },
	{ offsetof(struct hes_workload, parallel_sms), 0.1, 1e4, 1.5 },
	{ offsetof(struct hes_workload, parallel_growth), 0.02, 1, 0.7 },
	{ offsetof(struct hes_workload, host_us), 10, 1e8, 2 },
	{ offsetof(struct hes_workload, serial_us), 1, 1e8, 2 },
	{ offsetof(struct hes_workload, serial_us_per_item), 0.01, 1e8, 2 },
	{ offsetof(struct hes_workload, activity), 0.1, 5, 0.5 },
};

struct point {
	const struct hes_profile  *measured;
	const struct hes_gpu_type *type;
};

struct fit {
	const struct hes_model *m;
	struct point           *points;
	size_t                  n;
	struct hes_workload     start;
	double                 *r;      /* [rows]: residuals */
	double                 *trial;  /* [rows] */
	double                 *jacobian; /* [FREE][rows] */
	size_t                  rows;
};

static struct hes_workload workload_at(const struct fit *f, const double *x)
{
	struct hes_workload w = f->start;

	for (size_t i = 0; i < FREE; i++) {
		const struct free_param *p = &free_params[i];
		double *v = (double *)(void *)((char *)&w + p->offset);

		*v = fmin(fmax(fmax(*v, p->least) * exp(x[i]), p->least), p->most);
	}
	return w;
}

/* The model's rates and power of a point. @return 0, or the model's error */
static int model_point(const struct fit *f, const struct hes_workload *w, const struct point *p, struct hes_rate *rate,
		       struct hes_steady *now)
{
	const struct hes_model_job alone = { w, p->measured->batch_size, 100 };

	return hes_model_steady(f->m, p->type, 0, 0, &alone, 1, rate, now, NULL);
}

/* @return the sum of squares; INFINITY where the model has no result */
static double residuals(const struct fit *f, const double *x, double *out)
{
	const struct hes_workload w = workload_at(f, x);
	double sum = 0;
	size_t row = 0;

	for (size_t i = 0; i < f->n; i++) {
		const struct hes_profile *p = f->points[i].measured;
		struct hes_steady now;
		struct hes_rate rate;

		if (model_point(f, &w, &f->points[i], &rate, &now))
			return INFINITY;
		out[row++] = log(1e6 / rate.iterations_per_s / p->iteration_us) / TIME_TOLERANCE;
		out[row++] = log(now.power_w * 1e3 / p->power_mw) / POWER_TOLERANCE;
		out[row++] = (rate.sm_util - p->sm_util) / PART_TOLERANCE;
		out[row++] = (rate.dram_util - p->dram_util) / PART_TOLERANCE;
		out[row++] = p->busy > 0 ? (rate.busy - p->busy) / PART_TOLERANCE : 0;
	}
	for (size_t i = 0; i < FREE; i++)
		out[row++] = x[i] / free_params[i].spread;
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

/* One step down from @x, whose residuals are in r. @return the new sum; the old one where no step was found */
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

/* Fit from f->start. @return the sum of squares */
static double minimise(struct fit *f, double *x)
{
	double damping = 1e-2, sum, before;

	memset(x, 0, FREE * sizeof(*x));
	sum = residuals(f, x, f->r);
	for (int i = 0; i < MAX_ROUNDS && isfinite(sum); i++) {
		before = sum;
		sum = step_down(f, x, sum, &damping);
		if (before - sum <= ENOUGH * before)
			break;
	}
	return sum;
}

/* From every network of the testbed; the best is the nearest. @return false the model has no result from any */
static bool fit_from_all(struct fit *f, struct hes_workload *out, struct hes_model_fit *about)
{
	double best = INFINITY, x[FREE];

	for (size_t i = 0; i < HES_MATHS * f->m->n_workloads; i++) {
		double sum;

		f->start = f->m->workloads[i / HES_MATHS];
		if (!f->start.testbed)
			continue;
		f->start.math = (enum hes_math)(i % HES_MATHS);
		sum = minimise(f, x);
		if (sum < best) {
			best = sum;
			*out = workload_at(f, x);
			strcpy(about->nearest, f->start.name);
		}
	}
	return isfinite(best);
}

static void find_errors(const struct fit *f, const struct hes_workload *w, struct hes_model_fit *about)
{
	about->points = f->n;
	about->time_error = about->power_error = 0;
	for (size_t i = 0; i < f->n; i++) {
		const struct hes_profile *p = f->points[i].measured;
		struct hes_steady now;
		struct hes_rate rate;

		if (model_point(f, w, &f->points[i], &rate, &now))
			continue;
		about->time_error += fabs(1e6 / rate.iterations_per_s / p->iteration_us - 1) / (double)f->n;
		about->power_error += fabs(now.power_w * 1e3 / p->power_mw - 1) / (double)f->n;
	}
}

/* A line through the memory at the smallest and at the largest batch size. */
static void fit_memory(const struct fit *f, struct hes_workload *w)
{
	const struct hes_profile *low = f->points[0].measured, *high = low;

	for (size_t i = 1; i < f->n; i++) {
		const struct hes_profile *p = f->points[i].measured;

		low = p->batch_size < low->batch_size ? p : low;
		high = p->batch_size > high->batch_size ? p : high;
	}
	w->memory_mib_per_item = high == low ? 0 : fmax(0, ((double)high->memory_mib - low->memory_mib) /
							  (high->batch_size - low->batch_size));
	w->memory_mib = fmax(0, low->memory_mib - w->memory_mib_per_item * low->batch_size);
}

/* Of many points some, evenly, with the first and the last. */
static void thin_out(struct fit *f)
{
	if (f->n <= HES_MODEL_MAX_FIT_POINTS)
		return;
	for (size_t i = 0; i < HES_MODEL_MAX_FIT_POINTS; i++)
		f->points[i] = f->points[i * (f->n - 1) / (HES_MODEL_MAX_FIT_POINTS - 1)];
	f->n = HES_MODEL_MAX_FIT_POINTS;
}

/* The profiles that can be reproduced. @return 0; -ENOENT; -ENOMEM */
static int take_points(struct fit *f, const struct hes_catalogue *c, const struct hes_profiles *profiles,
		       const char *workload, struct hes_err *err)
{
	f->points = calloc(profiles->n + 1, sizeof(*f->points));
	for (size_t i = 0; f->points && i < profiles->n; i++) {
		const struct hes_profile *p = &profiles->v[i];
		const struct hes_gpu_type *type;

		if (strcmp(p->workload, workload) || p->batch_size > HES_MODEL_MAX_BATCH || !hes_model_knows_gpu(f->m, p->gpu_type))
			continue;
		type = hes_gpu_type_find(c, p->gpu_type, NULL);
		if (type)
			f->points[f->n++] = (struct point){ p, type };
	}
	thin_out(f);
	f->rows = f->n * ROWS + FREE;
	f->r = calloc(f->rows * (2 + FREE), sizeof(*f->r));
	if (!f->points || !f->r)
		return hes_fail(err, -ENOMEM, "out of memory for %zu profiles", profiles->n);
	f->trial = f->r + f->rows;
	f->jacobian = f->trial + f->rows;
	return f->n ? 0 : hes_fail(err, -ENOENT, "workload %s: the model does not know it, and it has no profile on a GPU type that the "
				   "model knows", workload);
}

static int append(struct hes_model *m, const struct hes_workload *w, struct hes_err *err)
{
	struct hes_workload *v = reallocarray(m->workloads, m->n_workloads + 1, sizeof(*v));

	if (!v)
		return hes_fail(err, -ENOMEM, "out of memory");
	m->workloads = v;
	v[m->n_workloads++] = *w;
	return 0;
}

int hes_model_fit_profile(struct hes_model *m, const struct hes_catalogue *c, const struct hes_profiles *profiles,
			  const char *workload, struct hes_model_fit *out, struct hes_err *err)
{
	struct fit f = { .m = m };
	struct hes_model_fit about = { .points = 0 };
	struct hes_workload w;
	int rc;

	if (hes_model_workload(m, workload, NULL))
		return hes_fail(err, -EEXIST, "workload %s: the model knows it", workload);
	rc = take_points(&f, c, profiles, workload, err);
	if (!rc && !fit_from_all(&f, &w, &about))
		rc = hes_fail(err, -ENOENT, "workload %s: no network of the model comes near its profile", workload);
	if (!rc) {
		strcpy(w.name, workload);
		strcpy(about.workload, workload);
		strcpy(w.framework, "profile");
		strcpy(w.origin, "profile");
		w.testbed = false;
		fit_memory(&f, &w);
		find_errors(&f, &w, &about);
		rc = append(m, &w, err);
	}
	if (!rc)
		*out = about;
	free(f.points);
	free(f.r);
	return rc;
}
