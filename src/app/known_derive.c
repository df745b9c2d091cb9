/*
 * known_derive.c - rows of workloads that were measured on other GPU types or at other batch sizes
 * only; see known.h.
 *
 * The GPU model tells the row of a known network; it is scaled by what was measured against what
 * the model says there. Another workload does on another GPU type what the known networks do that
 * use the measured one alike. At other batch sizes it is fitted to its profiles.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/known_rows.h"

#define NINE_IN_TEN 3.29 /* standard deviations between the factors of struct hes_factors */
/* Of known networks on types that were not measured: half are within 15 %. */
#define NETWORK_ERROR 0.22

/* What the model says of a workload at a batch size, without noise. */
static int model_row(const struct known_load *l, const struct hes_gpu_type *g, const char *workload,
		     uint32_t batch_size, struct hes_profile *out)
{
	const struct hes_workload *w = hes_model_workload(l->model, workload, NULL);
	struct hes_draw exact = l->draw;

	exact.noise = 0;
	return w ? hes_draw_profile(&exact, g, w, batch_size, out, NULL) : -ENOENT;
}

/* Measured / model: sums over measured rows of the logarithms; and of their start-ups. */
struct ratio {
	size_t n, n_power, n_start;
	double time, power, start_s;
};

static void add_to_ratio(const struct known_load *l, const struct hes_gpu_type *g,
			 const struct hes_profile *measured, struct ratio *r)
{
	struct hes_profile said;

	if (model_row(l, g, measured->workload, measured->batch_size, &said))
		return;
	r->n_start += measured->start_s > 0;
	r->start_s += measured->start_s;
	r->n++;
	r->time += log(measured->iteration_us / said.iteration_us);
	if (measured->power_mw > g->idle_power_mw && said.power_mw > g->idle_power_mw) {
		r->n_power++;
		r->power += log((double)(measured->power_mw - g->idle_power_mw) /
				(said.power_mw - g->idle_power_mw));
	}
}

/* Over the measured rows of a workload: on one type, or on all where @type is NULL. */
static struct ratio ratio_of(const struct known_load *l, const struct hes_profiles *measured,
			     const char *workload, const char *type)
{
	struct ratio r = { .n = 0 };

	for (size_t i = 0; i < measured->n; i++) {
		const struct hes_profile *p = &measured->v[i];
		const struct hes_gpu_type *g = NULL;

		if (strcmp(p->workload, workload) || (type && strcmp(p->gpu_type, type)))
			continue;
		for (size_t t = 0; t < l->n_types && !g; t++)
			g = strcmp(l->types[t]->name, p->gpu_type) ? NULL : l->types[t];
		if (!g)
			g = hes_gpu_type_find(l->q->catalogue, p->gpu_type, NULL);
		if (g && hes_model_knows_gpu(l->model, g->name))
			add_to_ratio(l, g, p, &r);
	}
	return r;
}

static void scale(struct hes_profile *p, const struct ratio *r, const struct hes_gpu_type *g)
{
	const double limit = g->power_limit_mw ? g->power_limit_mw : UINT32_MAX;
	double power_mw = p->power_mw;

	if (r->n_start)
		p->start_s = r->start_s / (double)r->n_start;
	if (r->n)
		p->iteration_us *= exp(r->time / (double)r->n);
	if (r->n_power && power_mw > g->idle_power_mw)
		power_mw = g->idle_power_mw +
			   (power_mw - g->idle_power_mw) * exp(r->power / (double)r->n_power);
	p->power_mw = (uint32_t)lround(fmin(power_mw, limit));
}

/* Standard error, from the factors between which nine in ten measurements lie. */
static double spread(const struct hes_factors *f)
{
	return f->low > 0 && f->high > f->low ? log(f->high / f->low) / NINE_IN_TEN : NETWORK_ERROR;
}

static bool is_measured(const struct hes_profiles *measured, const char *workload)
{
	for (size_t i = 0; i < measured->n; i++)
		if (strcmp(measured->v[i].workload, workload) == 0)
			return true;
	return false;
}

static bool is_fitted(const struct app_known *k, const char *workload)
{
	for (size_t i = 0; i < k->n_fits; i++)
		if (!strcmp(k->fits[i].workload, workload))
			return true;
	return false;
}

/* Unless the model knows the workload. One that it cannot be fitted to stays unknown, where that is
 * enough. */
static int fit(struct known_load *l, struct app_known *k, const char *workload, struct hes_err *err)
{
	struct hes_model_fit *v;
	struct hes_err why;
	int rc;

	if (hes_model_workload(l->model, workload, NULL) &&
	    !(l->q->seen && !is_fitted(k, workload)))
		return 0;
	v = reallocarray(k->fits, k->n_fits + 1, sizeof(*v));
	if (!v)
		return hes_fail(err, -ENOMEM, "out of memory");
	k->fits = v;
	rc = hes_model_add_workload(l->model, l->q->catalogue, workload, NULL, &k->measured,
				    &v[k->n_fits], &why);
	k->n_fits += !rc;
	return rc && (rc == -ENOMEM || l->q->replayed) ? hes_fail(err, rc, "%s", why.msg) : 0;
}

#define ALIKE 0.1 /* standard deviation of a part in use, for the weights of known networks */

/* Known networks on two types, by weight. */
struct alike {
	double weight, time, times, power, busy, sm, dram, l2; /* sums; time, power: logarithms */
};

static double distance(const struct hes_profile *a, const struct hes_profile *b)
{
	const double busy = (a->busy - b->busy) / ALIKE, sm = (a->sm_util - b->sm_util) / ALIKE,
		     dram = (a->dram_util - b->dram_util) / ALIKE;

	return busy * busy + sm * sm + dram * dram;
}

/* @param from  of the known network on the measured type, @to on the other */
static void add_alike(struct alike *a, const struct hes_profile *measured,
		      const struct hes_profile *from, const struct hes_profile *to,
		      const struct hes_gpu_type *from_type, const struct hes_gpu_type *to_type)
{
	const double weight = exp(-distance(measured, from) / 2) + 1e-12,
		     time = log(to->iteration_us / from->iteration_us);

	a->weight += weight;
	a->time += weight * time;
	a->times += weight * time * time;
	a->power += weight * log(fmax(1, (double)to->power_mw - to_type->idle_power_mw) /
				 fmax(1, (double)from->power_mw - from_type->idle_power_mw));
	a->busy += weight * to->busy;
	a->sm += weight * to->sm_util;
	a->dram += weight * to->dram_util;
	a->l2 += weight * to->l2_util;
}

/* The row of a measured profile on another type. @return its standard error; NaN: the model lacks
 * its type */
static double row_alike(const struct known_load *l, const struct hes_profile *measured,
			const struct hes_gpu_type *g, struct hes_profile *out)
{
	const struct hes_gpu_type *from =
		hes_gpu_type_find(l->q->catalogue, measured->gpu_type, NULL);
	struct alike a = { .weight = 0 };
	double mean, power_mw;

	if (!from || !hes_model_knows_gpu(l->model, from->name))
		return NAN;
	for (size_t i = 0; i < l->drawn.n; i++) {
		const struct hes_profile *to = &l->drawn.v[i];
		struct hes_profile there;

		if (!strcmp(to->gpu_type, g->name) &&
		    !model_row(l, from, to->workload, to->batch_size, &there))
			add_alike(&a, measured, &there, to, from, g);
	}
	if (!(a.weight > 0))
		return NAN;
	mean = a.time / a.weight;
	power_mw = fmax(1, (double)measured->power_mw - from->idle_power_mw);
	*out = *measured;
	snprintf(out->gpu_type, sizeof(out->gpu_type), "%s", g->name);
	out->clock_mhz = 0;
	out->iteration_us *= exp(mean);
	out->power_mw = (uint32_t)fmin(g->power_limit_mw ? g->power_limit_mw : UINT32_MAX,
				       g->idle_power_mw + power_mw * exp(a.power / a.weight));
	out->busy = a.busy / a.weight;
	out->sm_util = a.sm / a.weight;
	out->dram_util = a.dram / a.weight;
	out->l2_util = a.l2 / a.weight;
	return sqrt(NETWORK_ERROR * NETWORK_ERROR + fmax(0, a.times / a.weight - mean * mean));
}

/* Add a row, or replace the one of the same workload, batch size and type. */
static int put_row(struct known_load *l, const struct hes_profile *p, struct app_known_row about,
		   struct hes_err *err)
{
	struct known_row *rows;
	size_t i = 0;

	while (i < l->n && hes_profile_compare(&l->rows[i], p))
		i++;
	rows = i < l->n ? l->rows : reallocarray(l->rows, l->n + 1, sizeof(*rows));
	if (!rows)
		return hes_fail(err, -ENOMEM, "out of memory for %zu profiles", l->n);
	l->rows = rows;
	l->n += i == l->n;
	rows[i] = (struct known_row){ *p, about };
	return 0;
}

/* From the type whose known networks agree best. @return 0; -ENOENT: measured on no other type at
 * this batch size; -ENOMEM */
static int derive_alike(struct known_load *l, const struct app_known *k, const struct hes_job *j,
			const struct hes_gpu_type *g, struct hes_err *err)
{
	struct hes_profile best, row;
	double least = INFINITY;

	for (size_t i = 0; i < k->measured.n; i++) {
		const struct hes_profile *p = &k->measured.v[i];
		double error;

		if (p->batch_size != j->batch_size || strcmp(p->workload, j->workload) ||
		    !strcmp(p->gpu_type, g->name))
			continue;
		error = row_alike(l, p, g, &row);
		if (error < least) {
			least = error;
			best = row;
		}
	}
	if (!isfinite(least))
		return -ENOENT;
	best.time_se = least;
	return put_row(l, &best, (struct app_known_row){ HES_KNOWN_DERIVED, least, NETWORK_ERROR },
		       err);
}

static int derive_on(struct known_load *l, struct app_known *k, const struct hes_job *j,
		     const struct hes_gpu_type *g, struct hes_err *err)
{
	struct hes_profile p;
	struct ratio here;
	const struct hes_workload *w;
	int rc;

	if (!hes_profile_find(&k->measured, j->workload, j->batch_size, g->name, &p, NULL))
		return 0;
	if (!hes_model_workload(l->model, j->workload, NULL) || is_fitted(k, j->workload)) {
		rc = derive_alike(l, k, j, g, err);
		if (rc != -ENOENT)
			return rc;
	}
	rc = fit(l, k, j->workload, err);
	if (rc || model_row(l, g, j->workload, j->batch_size, &p))
		return rc;
	here = ratio_of(l, &k->measured, j->workload, g->name);
	if (!here.n)
		here = ratio_of(l, &k->measured, j->workload, NULL);
	scale(&p, &here, g);
	w = hes_model_workload(l->model, j->workload, NULL);
	p.time_se = spread(&w->time_factors);
	return put_row(l, &p,
		       (struct app_known_row){ HES_KNOWN_DERIVED, spread(&w->time_factors),
					       spread(&w->power_factors) },
		       err);
}

static bool seen_before(const struct hes_jobs *jobs, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (jobs->v[k].batch_size == jobs->v[i].batch_size &&
		    strcmp(jobs->v[k].workload, jobs->v[i].workload) == 0)
			return true;
	return false;
}

int known_derive(struct known_load *l, struct app_known *k, struct hes_err *err)
{
	const struct hes_jobs *jobs = l->q->jobs;
	int rc = 0;

	for (size_t i = 0; jobs && i < jobs->n && !rc; i++) {
		if (!is_measured(&k->measured, jobs->v[i].workload) || seen_before(jobs, i))
			continue;
		if (l->q->replayed)
			rc = fit(l, k, jobs->v[i].workload, err);
		for (size_t t = 0; t < l->n_types && !rc; t++)
			rc = derive_on(l, k, &jobs->v[i], l->types[t], err);
	}
	return rc;
}
