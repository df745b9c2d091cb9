/*
 * check.c - predict every observation by the model, and sum up the errors of each series; see check.h.
 */
#include "model/check.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/params.h"

#define CHANGE .05 /* a ratio nearer to 1 is noise, not a change */

bool hes_is_pair(const struct hes_observation *o, const struct hes_held_out *pair)
{
	const char *a = o->at.n > 1 ? o->at.r[0].workload->name : "";
	const char *b = o->at.n > 1 ? o->at.r[1].workload->name : "";

	return (strcmp(a, pair->one) == 0 && strcmp(b, pair->two) == 0) ||
	       (strcmp(a, pair->two) == 0 && strcmp(b, pair->one) == 0);
}

static int measure(const struct hes_model *m, const struct hes_setup *s, enum hes_metric metric,
		   double *out, struct hes_err *err)
{
	struct hes_rate rates[HES_MODEL_MAX_JOBS];
	struct hes_steady now;
	int rc = hes_model_steady(m, &s->gpu, s->clock_mhz, s->power_limit_mw, s->r, s->n, rates, &now, err);

	if (rc)
		return rc;
	*out = 0;
	switch (metric) {
	case HES_METRIC_TIME_S:
		*out = 1 / rates[0].iterations_per_s;
		break;
	case HES_METRIC_GPU_S:
		*out = rates[0].busy / rates[0].iterations_per_s;
		break;
	case HES_METRIC_ITEMS_PER_S:
		for (size_t i = 0; i < s->n; i++)
			*out += rates[i].iterations_per_s * s->r[i].batch;
		break;
	case HES_METRIC_POWER_W:
		*out = now.power_w;
		break;
	case HES_METRIC_ENERGY_J:
		*out = now.power_w / rates[0].iterations_per_s;
		break;
	case HES_METRIC_DRAM_UTIL:
		*out = rates[0].dram_util;
		break;
	case HES_METRIC_CLOCK_GHZ:
		*out = now.clock_ghz;
		break;
	}
	return 0;
}

int hes_reproduce(const struct hes_model *m, const struct hes_observation *o, double *out,
		  struct hes_err *err)
{
	struct hes_model held = *m;
	double base = 1, value;
	int rc;

	for (size_t i = 0; o->series == HES_SERIES_IGNITER_HELD && i < m->n_held_out; i++)
		if (hes_is_pair(o, &m->held_out[i]))
			held.nature = m->held_out[i].nature;
	for (size_t i = 0; o->series >= HES_SERIES_TYPES && o->series < HES_SERIES_PUBLISHED && i < m->n_left_out; i++)
		if (strcmp(m->left_out[i].type, o->at.gpu.name) == 0) {
			held.gpus = &m->left_out[i];
			held.n_gpus = 1;
		}
	rc = measure(&held, &o->at, o->metric, &value, err);
	if (!rc && o->relative)
		rc = measure(&held, &o->against, o->metric, &base, err);
	if (!rc)
		*out = value / base;
	return rc;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The values that make up a row: a series of the published sets, or a GPU's part of one. */
struct chosen {
	enum hes_series_id series;
	size_t             gpu;
	bool               held;
};

/* What is known of a row's values. */
struct errors {
	double *v;               /* |model / measured - 1| */
	size_t  n;
	size_t  changes, right;  /* ratios that are not 1, and those whose sign the model has right */
};

static void collect_one(const struct hes_observation *o, double value, struct errors *e)
{
	e->v[e->n++] = fabs(value / o->measured - 1);
	if (!o->relative || fabs(o->measured - 1) < CHANGE)
		return;
	e->changes++;
	e->right += (value > 1) == (o->measured > 1);
}

static int collect(const struct hes_model *m, const struct hes_observations *o, struct chosen c,
		   struct errors *e, struct hes_err *err)
{
	e->n = e->changes = e->right = 0;
	for (size_t i = 0; i < o->n; i++) {
		const struct hes_observation *v = &o->v[i];
		double value;
		int rc;

		if (v->series != c.series || v->gpu != c.gpu || v->held != c.held)
			continue;
		rc = hes_reproduce(m, v, &value, err);
		if (rc)
			return rc;
		collect_one(v, value, e);
	}
	return 0;
}

static struct hes_check_row sum_up(const struct hes_series *s, struct errors *e)
{
	struct hes_check_row row = { .series = s, .set = s->set, .n = e->n, .met = true };
	double *errors = e->v;
	size_t n = e->n;

	row.kind = s->fitted ? HES_CHECK_FITTED : HES_CHECK_PREDICTED;
	if (n == 0)
		return row;
	qsort(errors, n, sizeof(*errors), by_size);
	row.median = n % 2 ? errors[n / 2] : (errors[n / 2 - 1] + errors[n / 2]) / 2;
	row.p90 = errors[(n - 1) * 9 / 10];
	row.right_sign = e->changes ? (double)e->right / (double)e->changes : 1;
	row.met = row.right_sign >= s->target_sign && (s->target == 0 || row.median <= s->target) &&
		  (s->target_p90 == 0 || row.p90 <= s->target_p90);
	return row;
}

/* Whether the parameters were fitted on a GPU: its type's origin says so. */
static enum hes_check_kind kind_of(const struct hes_model *m, const struct hes_measured_gpu *b,
				   const struct hes_series *s, bool held)
{
	const char *origin = hes_model_gpu_origin(m, b->type);

	if (!origin || strcmp(origin, b->name))
		return HES_CHECK_PREDICTED;
	return held ? HES_CHECK_HELD_BACK : s->fitted ? HES_CHECK_FITTED : HES_CHECK_PREDICTED;
}

static int check_gpu(const struct hes_model *m, const struct hes_observations *o, size_t gpu,
		       struct errors *e, struct hes_check *c, struct hes_err *err)
{
	const struct hes_measured_gpu *b = &o->gpus[gpu - 1];

	for (int i = 2 * HES_SERIES_PUBLISHED; i < 2 * HES_SERIES_COUNT; i++) {
		struct chosen which = { (enum hes_series_id)(i / 2), gpu, i % 2 };
		int rc = collect(m, o, which, e, err);

		if (rc)
			return rc;
		if (e->n == 0)
			continue;
		c->rows[c->n] = sum_up(&hes_series[which.series], e);
		c->rows[c->n].set = b->name;
		c->rows[c->n].held = which.held;
		c->rows[c->n++].kind = kind_of(m, b, &hes_series[which.series], which.held);
	}
	return 0;
}

int hes_model_check(const struct hes_model *m, const struct hes_observations *o,
		    struct hes_check *out, struct hes_err *err)
{
	size_t most = HES_SERIES_PUBLISHED + o->n_gpus * 2 * (HES_SERIES_COUNT - HES_SERIES_PUBLISHED);
	struct errors e = { .v = malloc((o->n + 1) * sizeof(*e.v)) };
	struct hes_check c = { malloc(most * sizeof(*c.rows)), 0 };
	int rc = 0;

	if (!e.v || !c.rows)
		rc = hes_fail(err, -ENOMEM, "out of memory");
	for (size_t i = 0; !rc && i < HES_SERIES_PUBLISHED; i++) {
		rc = collect(m, o, (struct chosen){ (enum hes_series_id)i, 0, false }, &e, err);
		if (!rc)
			c.rows[c.n++] = sum_up(&hes_series[i], &e);
	}
	for (size_t i = 1; !rc && i <= o->n_gpus; i++)
		rc = check_gpu(m, o, i, &e, &c, err);
	free(e.v);
	if (rc)
		hes_check_free(&c);
	else
		*out = c;
	return rc;
}

void hes_check_free(struct hes_check *c)
{
	free(c->rows);
	*c = (struct hes_check){ 0 };
}

const char *hes_check_kind_name(enum hes_check_kind k)
{
	return k == HES_CHECK_FITTED ? "fitted" : k == HES_CHECK_HELD_BACK ? "held back" : "predicted";
}
