/*
 * check.c - predict every observation by the model, and sum up the errors of each series; see
 * check.h.
 */
#include "measured/check.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measured/left_out.h"
#include "measured/locked.h"
#include "measured/tally.h"
#include "model/params.h"

#define CHANGE .05 /* a ratio nearer to 1 is noise, not a change */

bool hes_has_workload(const struct hes_observation *o, const char *name)
{
	for (size_t i = 0; i < o->at.n; i++)
		if (strcmp(o->at.r[i].workload->name, name) == 0)
			return true;
	return false;
}

static int measure(const struct hes_model *m, const struct hes_setup *s, enum hes_metric metric,
		   double *out, struct hes_err *err)
{
	struct hes_rate rates[HES_MODEL_MAX_JOBS];
	struct hes_steady now;
	int rc = 0;

	*out = 0;
	if (metric != HES_METRIC_START_S)
		rc = hes_model_steady(m, &s->gpu, s->clock_mhz, s->power_limit_mw, s->r, s->n,
				      rates, &now, err);
	if (rc)
		return rc;
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
	case HES_METRIC_START_S:
		*out = m->eager.start_s;
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

	if (o->locked.mhz > 0)
		return locked_power(m, o, out, err);
	if (o->crowded.heavy_s > 0)
		return tally_slowdown(m, o, out, err);
	for (size_t i = 0;
	     o->series >= HES_SERIES_TYPES && o->series < HES_SERIES_PUBLISHED && i < m->n_left_out;
	     i++)
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

/* Between two of rising values where @part falls between them. */
static double quantile(const double *rising, size_t n, double part)
{
	const double at = part * (double)(n - 1);
	const size_t i = (size_t)at;

	return i + 1 < n ? rising[i] + (at - (double)i) * (rising[i + 1] - rising[i]) : rising[i];
}

/* The values that make up a row: a series of the published sets, or a GPU's part of one. */
struct chosen {
	enum hes_series_id series;
	size_t gpu;
	bool held;
};

/* A row's values, of the model or a rule, and measured. */
struct values {
	double *model, *measured, *work;
	size_t n;
	size_t changes; /* of ratios that are not near 1, but for noise */
	size_t right;   /* ... of these, with the right sign */
};

static int collect(const struct hes_model *m, const struct hes_observations *o, struct chosen c,
		   struct values *x, struct hes_err *err)
{
	const struct hes_left_out *left_out = hes_left_out_find(c.series);
	enum hes_series_id of = left_out ? left_out->of : c.series;

	x->n = x->changes = x->right = 0;
	for (size_t i = 0; i < o->n; i++) {
		const struct hes_observation *v = &o->v[i];
		double value;
		int rc;

		if (v->series != of || v->gpu != c.gpu || (left_out ? c.held : v->held != c.held))
			continue;
		rc = left_out ? hes_left_out(m, o, c.series, v, &value, err)
			      : hes_reproduce(m, v, &value, err);
		if (rc)
			return rc;
		if (isnan(value))
			continue;
		x->model[x->n] = value;
		x->measured[x->n++] = v->measured;
		if (fabs(v->measured - 1) < CHANGE || v->noise)
			continue;
		x->changes++;
		x->right += (value > 1) == (v->measured > 1);
	}
	return 0;
}

/* Twice the rank of @v among @all, ties at their middle. */
static double rank_in(const double *all, size_t n, double v)
{
	double below = 0, equal = 0;

	for (size_t i = 0; i < n; i++) {
		below += all[i] < v;
		equal += all[i] == v;
	}
	return 2 * below + equal;
}

/* Spearman's: Pearson's of the ranks; NAN where either does not vary. */
static double rank_correlation(const struct values *x)
{
	double ab = 0, aa = 0, bb = 0;

	for (size_t i = 0; i < x->n; i++) {
		double a = rank_in(x->model, x->n, x->model[i]) - (double)x->n;
		double b = rank_in(x->measured, x->n, x->measured[i]) - (double)x->n;

		ab += a * b;
		aa += a * a;
		bb += b * b;
	}
	return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : NAN;
}

static bool is_slowdown(enum hes_series_id s)
{
	return s == HES_SERIES_IGNITER_PAIRS || s == HES_SERIES_GPU_PAIRS ||
	       s == HES_SERIES_TALLY_PAIRS;
}

static struct hes_check_row sum_up(enum hes_series_id id, const struct values *x)
{
	const struct hes_left_out *left_out = hes_left_out_find(id);
	const struct hes_series *s = &hes_series[id];
	struct hes_check_row row = {
		.series = s, .set = s->set, .n = x->n, .met = true, .rank = NAN
	};
	double *errors = x->work, sum = 0;
	size_t n = x->n;

	row.kind = left_out && left_out->rule ? HES_CHECK_RULE
		   : s->fitted                ? HES_CHECK_FITTED
		   : s->chosen                ? HES_CHECK_CHOSEN
		   : left_out                 ? HES_CHECK_LEFT_OUT
					      : HES_CHECK_PREDICTED;
	if (n == 0)
		return row;
	for (size_t i = 0; i < n; i++)
		sum += errors[i] = fabs(x->model[i] / x->measured[i] - 1);
	qsort(errors, n, sizeof(*errors), by_size);
	row.median = quantile(errors, n, 0.5);
	row.mean = sum / (double)n;
	row.p90 = quantile(errors, n, 0.9);
	row.right_sign = x->changes ? (double)x->right / (double)x->changes : 1;
	row.met = row.right_sign >= s->target_sign && (s->target == 0 || row.median <= s->target) &&
		  (s->target_p90 == 0 || row.p90 <= s->target_p90);
	if (is_slowdown(left_out ? left_out->of : id))
		row.rank = rank_correlation(x);
	return row;
}

/* Whether parameters were fitted on a GPU: the origin of its type or of a workload says so. */
static bool is_fitted_on(const struct hes_model *m, const struct hes_measured_gpu *b)
{
	const char *origin = hes_model_gpu_origin(m, b->type);

	for (size_t i = 0; i < m->n_workloads; i++)
		if (strcmp(m->workloads[i].origin, b->name) == 0)
			return true;
	return (origin && strcmp(origin, b->name) == 0) || strcmp(m->eager.origin, b->name) == 0;
}

static enum hes_check_kind kind_of(const struct hes_model *m, const struct hes_measured_gpu *b,
				   const struct hes_series *s, bool held)
{
	const struct hes_left_out *left_out =
		hes_left_out_find((enum hes_series_id)(s - hes_series));

	if (left_out)
		return left_out->rule ? HES_CHECK_RULE : HES_CHECK_LEFT_OUT;
	if (!is_fitted_on(m, b))
		return HES_CHECK_PREDICTED;
	if (held && s->chosen)
		return HES_CHECK_CHOSEN;
	return held ? HES_CHECK_HELD_BACK : s->fitted ? HES_CHECK_FITTED : HES_CHECK_PREDICTED;
}

static int check_gpu(const struct hes_model *m, const struct hes_observations *o, size_t gpu,
		     struct values *x, struct hes_check *c, struct hes_err *err)
{
	const struct hes_measured_gpu *b = &o->gpus[gpu - 1];

	for (int i = 2 * HES_SERIES_PUBLISHED; i < 2 * HES_SERIES_COUNT; i++) {
		struct chosen which = { (enum hes_series_id)(i / 2), gpu, i % 2 };
		int rc = collect(m, o, which, x, err);

		if (rc)
			return rc;
		if (x->n == 0)
			continue;
		c->rows[c->n] = sum_up(which.series, x);
		c->rows[c->n].set = b->name;
		c->rows[c->n].held = which.held;
		c->rows[c->n++].kind = kind_of(m, b, &hes_series[which.series], which.held);
	}
	return 0;
}

int hes_model_check(const struct hes_model *m, const struct hes_observations *o,
		    struct hes_check *out, struct hes_err *err)
{
	size_t most =
		HES_SERIES_PUBLISHED + o->n_gpus * 2 * (HES_SERIES_COUNT - HES_SERIES_PUBLISHED);
	double *room = malloc(3 * (o->n + 1) * sizeof(*room));
	struct values x = { .model = room };
	struct hes_check c = { malloc(most * sizeof(*c.rows)), 0 };
	int rc = 0;

	if (!room || !c.rows)
		rc = hes_fail(err, -ENOMEM, "out of memory");
	if (!rc) {
		x.measured = room + o->n;
		x.work = room + 2 * o->n;
	}
	for (size_t i = 0; !rc && i < HES_SERIES_PUBLISHED; i++) {
		rc = collect(m, o, (struct chosen){ (enum hes_series_id)i, 0, false }, &x, err);
		if (!rc)
			c.rows[c.n++] = sum_up((enum hes_series_id)i, &x);
	}
	for (size_t i = 1; !rc && i <= o->n_gpus; i++)
		rc = check_gpu(m, o, i, &x, &c, err);
	free(room);
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
	static const char *const names[] = { "fitted",   "held back",      "predicted",
					     "left out", "chosen in view", "rule" };

	return names[k];
}
