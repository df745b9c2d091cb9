/*
 * igniter_data.c - iGniter's measurements as points; see igniter_data.h.
 */
#include "igniter_data.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "core/co_run_text.h"

#define GPU_TYPE  "V100-SXM2-32"
#define POWER_MW  150000 /* of every point */
#define L2_PER_SM 0.40   /* L2 use of a GPU whose SMs all work */
#define LINK_MIBS 11444  /* 12 GB/s: what copies reach on a V100 */
#define MAX_ROWS  2000

const char *const igniter_networks[IGNITER_NETWORKS] = { "alexnet", "resnet50", "vgg19" };

static int network_of(const char *name)
{
	for (int i = 0; i < IGNITER_NETWORKS; i++)
		if (strcmp(igniter_networks[i], name) == 0)
			return i;
	return -1;
}

/* Columns by name; a number is parsed with its range, and may be missing where so said. */
struct column {
	const char *name;
	double min, max;
	bool may_miss;
};

static int read_numbers(struct hes_csv *c, const struct column *columns, size_t n, double *out,
			struct hes_err *err)
{
	for (size_t i = 0; i < n; i++) {
		int at = hes_csv_column(c, columns[i].name, err), rc;

		if (at < 0)
			return at;
		out[i] = NAN;
		if (columns[i].may_miss && !*hes_csv_text(c, at))
			continue;
		rc = hes_csv_double(c, at, columns[i].min, columns[i].max, &out[i], err);
		if (rc)
			return rc;
	}
	return 0;
}

/* Part of the latency that pipelining hides: copying. */
static double copying_part(const struct igniter_alone *a)
{
	return fmax(0, 1 - a->batch / (a->images_per_s * a->latency_ms * 1e-3));
}

static struct hes_point point_of(const struct igniter_alone *a, const struct hes_gpu_type *g)
{
	struct hes_point p = {
		.batch_size = a->batch,
		.sm_pct = a->sm_pct,
		.clock_mhz = g->clock_default_mhz,
		.iteration_us = a->latency_ms * 1e3,
		.windows = 1,
		.seconds = 1,
		.memory_mib = NAN,
		.power_mw = POWER_MW,
		.power_cv = NAN,
		.held_mhz = NAN,
		.capped = NAN,
		.busy = NAN,
		.memory_busy = NAN,
		.sm_active = fmin(a->l2 / L2_PER_SM, 1),
		.sm_occupancy = NAN,
		.dram_active = a->dram,
		.fp32_active = NAN,
		.tensor_active = NAN,
		.pcie_tx_mibs = 0,
		.pcie_rx_mibs = copying_part(a) * LINK_MIBS,
	};

	strcpy(p.workload, igniter_networks[a->network]);
	strcpy(p.gpu_type, g->name);
	return p;
}

static int read_alone(struct hes_csv *c, struct igniter *d, struct hes_err *err)
{
	static const struct column columns[] = {
		{ "batch", 1, 1024, false },        { "mps_pct", 1, 100, false },
		{ "latency_ms", 1e-3, 1e6, false }, { "throughput_ips", 1e-3, 1e9, false },
		{ "l2_util_pct", 0, 100, true },    { "dram_util_pct", 0, 100, true },
	};
	int model = hes_csv_column(c, "model", err), rc;

	if (model < 0)
		return model;
	while ((rc = hes_csv_next(c, err)) > 0) {
		int network = network_of(hes_csv_text(c, model));
		double v[sizeof(columns) / sizeof(columns[0])];

		rc = read_numbers(c, columns, sizeof(columns) / sizeof(columns[0]), v, err);
		if (rc)
			return rc;
		if (network < 0 || isnan(v[4]) || isnan(v[5]))
			continue; /* a network in no pair, or a row whose throughput is known to be
				     wrong */
		if (d->n_alone == MAX_ROWS)
			return hes_csv_fail(c, err, -E2BIG, "more than %d rows", MAX_ROWS);
		d->alone[d->n_alone] = (struct igniter_alone){
			(size_t)network, (uint32_t)v[0], (uint32_t)v[1], v[2], v[3],
			v[4] / 100,      v[5] / 100
		};
		d->solo.v[d->n_alone] = point_of(&d->alone[d->n_alone], d->gpu);
		d->solo.n = ++d->n_alone;
	}
	return rc;
}

static size_t find_alone(const struct igniter *d, size_t network, double batch, double sm_pct)
{
	size_t i = 0;

	while (i < d->n_alone &&
	       (d->alone[i].network != network || d->alone[i].batch != (uint32_t)batch ||
		d->alone[i].sm_pct != (uint32_t)sm_pct))
		i++;
	return i;
}

/* Rows of a pair: its jobs' times alone, slowed down as measured. */
static void fill_rows(const struct igniter *d, struct igniter_pair *p)
{
	for (size_t k = 0; k < 2; k++) {
		const struct hes_point *other = &d->solo.v[p->alone[1 - k]];
		struct hes_point *row = &p->rows[k];

		*row = d->solo.v[p->alone[k]];
		row->iteration_us *= p->slowdown[k];
		hes_co_run_text_job(row->co_runners, other->workload, other->batch_size,
				    other->sm_pct);
	}
}

static int add_pair(struct hes_csv *c, struct igniter *d, const int network[2], const double *v,
		    struct hes_err *err)
{
	struct igniter_pair *p = &d->pairs[d->n_pairs];

	if (network[0] < 0 || network[1] < 0 || network[0] == network[1])
		return hes_csv_fail(
			c, err, -EINVAL,
			"two different networks of alexnet, resnet50, vgg19 make a pair");
	if (d->n_pairs == MAX_ROWS)
		return hes_csv_fail(c, err, -E2BIG, "more than %d rows", MAX_ROWS);
	*p = (struct igniter_pair){ .slowdown = { v[4], v[5] },
				    .networks = (size_t)(network[0] + network[1] - 1) };
	for (size_t k = 0; k < 2; k++) {
		p->alone[k] = find_alone(d, (size_t)network[k], v[k], v[2 + k]);
		p->whole[k] = find_alone(d, (size_t)network[k], v[k], IGNITER_SHARE);
		if (p->alone[k] == d->n_alone || p->whole[k] == d->n_alone)
			return hes_csv_fail(c, err, -EINVAL, "%s was not measured alone so",
					    igniter_networks[network[k]]);
	}
	p->setting = (p->networks * 64 + (size_t)v[0]) * 64 + (size_t)v[1];
	fill_rows(d, p);
	d->n_pairs++;
	return 0;
}

static int read_pairs(struct hes_csv *c, struct igniter *d, struct hes_err *err)
{
	static const struct column columns[] = {
		{ "batch1", 1, 63, false },       { "batch2", 1, 63, false },
		{ "mps1", 1, 100, false },        { "mps2", 1, 100, false },
		{ "slowdown1", 0.1, 100, false }, { "slowdown2", 0.1, 100, false },
	};
	int models[2] = { hes_csv_column(c, "model1", err), hes_csv_column(c, "model2", err) }, rc;

	if (models[0] < 0 || models[1] < 0)
		return -ENOENT;
	while ((rc = hes_csv_next(c, err)) > 0) {
		const int network[2] = { network_of(hes_csv_text(c, models[0])),
					 network_of(hes_csv_text(c, models[1])) };
		double v[sizeof(columns) / sizeof(columns[0])];

		rc = read_numbers(c, columns, sizeof(columns) / sizeof(columns[0]), v, err);
		if (!rc)
			rc = add_pair(c, d, network, v, err);
		if (rc)
			return rc;
	}
	return rc;
}

static int read_file(const char *folder, const char *name,
		     int (*read)(struct hes_csv *, struct igniter *, struct hes_err *),
		     struct igniter *d, struct hes_err *err)
{
	char path[PATH_MAX];
	struct hes_csv *c;
	int rc;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	rc = hes_csv_open(path, &c, err);
	if (rc)
		return rc;
	rc = read(c, d, err);
	hes_csv_close(c);
	return rc;
}

int igniter_open(const char *folder, struct igniter *out, struct hes_err *err)
{
	int rc;

	*out = (struct igniter){ .alone = calloc(MAX_ROWS, sizeof(*out->alone)),
				 .pairs = calloc(MAX_ROWS, sizeof(*out->pairs)),
				 .solo = { .v = calloc(MAX_ROWS, sizeof(*out->solo.v)) } };
	rc = out->alone && out->pairs && out->solo.v
		     ? hes_catalogue_load(NULL, &out->catalogue, err)
		     : hes_fail(err, -ENOMEM, "out of memory for measurements");
	if (!rc) {
		out->gpu = hes_gpu_type_find(&out->catalogue, GPU_TYPE, err);
		rc = out->gpu ? read_file(folder, "solo_mps.csv", read_alone, out, err) : -ENOENT;
	}
	if (!rc)
		rc = read_file(folder, "pair_mps.csv", read_pairs, out, err);
	if (!rc)
		rc = hes_share_profiles_from(&out->solo, &out->catalogue, &out->profiles, err);
	for (size_t i = 0; i < out->n_pairs && !rc; i++)
		for (size_t k = 0; k < 2; k++)
			if (!igniter_profile(out, &out->alone[out->pairs[i].alone[k]]))
				return hes_fail(err, -EINVAL,
						"a job of a pair was measured alone at one share; "
						"a profile needs two");
	if (!rc && !out->n_pairs)
		rc = hes_fail(err, -EINVAL, "%s: no pairs", folder);
	return rc;
}

void igniter_close(struct igniter *d)
{
	hes_share_profiles_free(&d->profiles);
	hes_points_free(&d->solo);
	hes_catalogue_free(&d->catalogue);
	free(d->pairs);
	free(d->alone);
}

const struct hes_share_profile *igniter_profile(const struct igniter *d,
						const struct igniter_alone *a)
{
	return hes_share_profile_find(&d->profiles, d->gpu->name, igniter_networks[a->network],
				      a->batch, d->gpu->clock_default_mhz);
}
