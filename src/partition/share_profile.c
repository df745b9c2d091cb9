/*
 * share_profile.c - a job alone at several SM shares, from measured points; see
 * heshare/partition.h.
 *
 * Invariant: shares of a profile rise strictly, and there are at least two.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "heshare/partition.h"

#define WHOLE 100 /* percent */

static int compare_number(double a, double b)
{
	return (a > b) - (a < b);
}

/* By the job, then by share; of one setting the later measurement first. Both are elements of one
 * array of pointers. */
static int compare_points(const void *a, const void *b)
{
	const struct hes_point *x = *(const struct hes_point *const *)a,
			       *y = *(const struct hes_point *const *)b;
	int d = strcmp(x->gpu_type, y->gpu_type);

	if (!d)
		d = strcmp(x->workload, y->workload);
	if (!d)
		d = compare_number(x->batch_size, y->batch_size);
	if (!d)
		d = compare_number(x->clock_mhz, y->clock_mhz);
	if (!d)
		d = compare_number(x->sm_pct, y->sm_pct);
	return d ? d : (y > x) - (y < x);
}

static bool same_job(const struct hes_point *a, const struct hes_point *b)
{
	return a->batch_size == b->batch_size && strcmp(a->workload, b->workload) == 0 &&
	       strcmp(a->gpu_type, b->gpu_type) == 0;
}

static struct hes_share_point point_of(const struct hes_point *p)
{
	return (struct hes_share_point){
		.sm_pct = p->sm_pct,
		.rate = 1e6 / p->iteration_us,
		.power_w = p->power_mw * 1e-3,
		.metric = { [HES_METRIC_SM] = p->sm_active,
			    [HES_METRIC_OCCUPANCY] = p->sm_occupancy,
			    [HES_METRIC_FP32] = p->fp32_active,
			    [HES_METRIC_DRAM] = p->dram_active,
			    [HES_METRIC_MEMORY_BUSY] = p->memory_busy,
			    [HES_METRIC_PCIE_TX] = p->pcie_tx_mibs,
			    [HES_METRIC_PCIE_RX] = p->pcie_rx_mibs },
	};
}

/* Time = fixed + work / share, fitted to relative errors; neither below 0. */
static double fixed_of(const struct hes_share_profile *p)
{
	double a = 0, b = 0, c = 0, d = 0, e = 0, det, fixed, work;

	for (size_t i = 0; i < p->n; i++) {
		double x = p->at[i].rate,
		       y = p->at[i].rate / p->at[i].sm_pct; /* terms as parts of the time */

		a += x * x;
		b += x * y;
		c += y * y;
		d += x;
		e += y;
	}
	det = a * c - b * b;
	fixed = det > 0 ? (d * c - e * b) / det : 0;
	work = det > 0 ? (a * e - b * d) / det : e / c;
	return work < 0 ? d / a : fmax(fixed, 0);
}

/* @param v  points of one job at one clock, [n], by share. @return false: fewer than two shares */
static bool fill_profile(const struct hes_point *const *v, size_t n, struct hes_share_profile *out)
{
	*out = (struct hes_share_profile){ .batch_size = v[0]->batch_size,
					   .clock_mhz = v[0]->clock_mhz,
					   .alone_rate = NAN,
					   .at = out->at };
	strcpy(out->workload, v[0]->workload);
	strcpy(out->gpu_type, v[0]->gpu_type);
	strcpy(out->command, v[0]->command);
	for (size_t i = 0; i < n; i++) {
		if (out->n && out->at[out->n - 1].sm_pct >= v[i]->sm_pct)
			continue;
		out->at[out->n++] = point_of(v[i]);
		if (!isnan(v[i]->memory_mib) && v[i]->memory_mib > out->memory_mib)
			out->memory_mib = (uint32_t)v[i]->memory_mib;
	}
	if (out->n < 2)
		return false;
	out->fixed_s = fixed_of(out);
	return true;
}

/* Throughput alone is measured at the default clock, whatever the clock of a profile. */
static void fill_alone(const struct hes_point *const *v, size_t n, const struct hes_gpu_type *g,
		       struct hes_share_profile *of, size_t n_of)
{
	double rate = NAN;

	for (size_t i = 0; i < n; i++)
		if (v[i]->sm_pct == WHOLE && v[i]->clock_mhz == g->clock_default_mhz && isnan(rate))
			rate = 1e6 / v[i]->iteration_us;
	for (size_t i = 0; i < n_of; i++)
		of[i].alone_rate = rate;
}

/* Profiles of one job, a clock each. @param v  its points, [n] */
static int fill_clocks(const struct hes_point *const *v, size_t n, const struct hes_gpu_type *g,
		       struct hes_share_profiles *out)
{
	size_t first = out->n;

	for (size_t i = 0, k; i < n; i = k) {
		struct hes_share_profile *p = &out->v[out->n];

		for (k = i + 1; k < n && v[k]->clock_mhz == v[i]->clock_mhz;)
			k++;
		p->at = malloc((k - i) * sizeof(*p->at));
		if (!p->at)
			return -ENOMEM;
		if (fill_profile(v + i, k - i, p))
			out->n++;
		else
			free(p->at);
	}
	fill_alone(v, n, g, out->v + first, out->n - first);
	return 0;
}

static int fill_all(const struct hes_point *const *v, size_t n, const struct hes_catalogue *c,
		    struct hes_share_profiles *out, struct hes_err *err)
{
	for (size_t i = 0, k; i < n; i = k) {
		const struct hes_gpu_type *g = hes_gpu_type_find(c, v[i]->gpu_type, NULL);

		for (k = i + 1; k < n && same_job(v[k], v[i]);)
			k++;
		if (g && fill_clocks(v + i, k - i, g, out))
			return hes_fail(err, -ENOMEM, "out of memory for share profiles");
	}
	return 0;
}

int hes_share_profiles_from(const struct hes_points *p, const struct hes_catalogue *c,
			    struct hes_share_profiles *out, struct hes_err *err)
{
	const struct hes_point **v = malloc((p->n + 1) * sizeof(const struct hes_point *));
	struct hes_share_profiles all = { .v = calloc(p->n + 1, sizeof(*all.v)) };
	size_t n = 0;
	int rc = v && all.v ? 0 : hes_fail(err, -ENOMEM, "out of memory for share profiles");

	for (size_t i = 0; i < p->n && !rc; i++)
		if (!p->v[i].co_runners[0])
			v[n++] = &p->v[i];
	if (n)
		qsort(v, n, sizeof(*v), compare_points);
	if (!rc)
		rc = fill_all(v, n, c, &all, err);
	free(v);
	if (rc)
		hes_share_profiles_free(&all);
	else
		*out = all;
	return rc;
}

void hes_share_profiles_free(struct hes_share_profiles *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->v[i].at);
	free(p->v);
	*p = (struct hes_share_profiles){ 0 };
}

const struct hes_share_profile *hes_share_profile_find(const struct hes_share_profiles *p,
						       const char *gpu_type, const char *workload,
						       uint32_t batch_size, uint32_t clock_mhz)
{
	for (const struct hes_share_profile *v = p->v; v < p->v + p->n; v++)
		if (v->batch_size == batch_size && v->clock_mhz == clock_mhz &&
		    strcmp(v->workload, workload) == 0 && strcmp(v->gpu_type, gpu_type) == 0)
			return v;
	return NULL;
}

void hes_share_profile_at(const struct hes_share_profile *p, double sm_pct,
			  struct hes_share_point *out)
{
	size_t i = 1;
	double part;

	while (i + 1 < p->n && p->at[i].sm_pct < sm_pct)
		i++;
	part = (sm_pct - p->at[i - 1].sm_pct) / (p->at[i].sm_pct - p->at[i - 1].sm_pct);
	part = fmin(fmax(part, 0), 1);
	out->sm_pct = sm_pct;
	out->rate = p->at[i - 1].rate + part * (p->at[i].rate - p->at[i - 1].rate);
	out->power_w = p->at[i - 1].power_w + part * (p->at[i].power_w - p->at[i - 1].power_w);
	for (size_t m = 0; m < HES_METRICS; m++)
		out->metric[m] = p->at[i - 1].metric[m] +
				 part * (p->at[i].metric[m] - p->at[i - 1].metric[m]);
}
