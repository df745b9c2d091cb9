/*
 * predictor.c - train a predictor: a baseline fitted to samples, and boosted trees for the
 * residual; see heshare/predict.h.
 */
#include "predict/predictor.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/clamp.h"
#include "base/texts.h"
#include "predict/baseline/calibrate.h"
#include "predict/cross_validation.h"

#define MAX_LOG          20.0 /* of a ratio to the baseline */
#define DEFAULT_COVERAGE 0.9
#define MIN_COVERAGE     0.5
#define MAX_COVERAGE     0.99
#define PRIOR_HALF       1.0   /* measured samples at which modelled ones count half */
#define MOST_REPEATS     32    /* of a row that counts more than others in trees */
#define MOST_ROWS        20000 /* with all repeats */

/* What the trees learn instead of a value for which the baseline predicts @expected. */
static double target_of(double value, double expected)
{
	return log(value / expected);
}

/* Positive and finite for any output of the trees. */
static double value_of(double target, double expected)
{
	return exp(clamp(target, -MAX_LOG, MAX_LOG)) * expected;
}

void predictor_query(const struct hes_predictor *p, const struct hes_gpu_type *g,
		     const struct hes_profile *task, const struct hes_setting *s,
		     const struct hes_load *co_runners, struct query *out)
{
	const struct constants k = constants_of(&p->constants, g->name, task->workload);

	*out = (struct query){ .gpu = g, .task = task, .setting = s, .co_runners = co_runners };
	out->base = baseline_of(&k, out);
}

/* How often each observation is a row, so that trees learn by weights: once where all are equal.
 * Trees take from two rows. @return how many rows */
static size_t repeat_rows(const struct observation *v, size_t n, size_t *repeats)
{
	double least = INFINITY, heaviest = 0, most = clamp(MOST_ROWS / (double)n, 1, MOST_REPEATS);
	size_t rows = 0;

	for (size_t i = 0; i < n; i++) {
		least = fmin(least, v[i].weight);
		heaviest = fmax(heaviest, v[i].weight);
	}
	least = fmax(least, heaviest / most);
	for (size_t i = 0; i < n; i++) {
		repeats[i] = (size_t)llround(clamp(v[i].weight / least, n < 2 ? 2 : 1, most));
		rows += repeats[i];
	}
	return rows;
}

/* @param x, y  column by column, of @rows; y: times, then powers */
static void fill_rows(const struct hes_predictor *p, const struct observation *v,
		      const size_t *repeats, size_t rows, float *x, double *y)
{
	for (size_t i = 0, at = 0; at < rows; i++) {
		const struct observation *o = &v[i];
		float row[FEATURE_COUNT];
		struct query q;

		predictor_query(p, o->query.gpu, o->query.task, o->query.setting,
				o->query.co_runners, &q);
		features_fill(&q, row);
		for (size_t end = at + repeats[i]; at < end; at++) {
			for (size_t f = 0; f < FEATURE_COUNT; f++)
				x[f * rows + at] = row[f];
			y[at] = target_of(o->iteration_us, q.task->iteration_us * q.base.slowdown);
			y[rows + at] = target_of(o->power_w, q.base.power_w);
		}
	}
}

/* Found by bench/predictor on samples of modelled GPUs. */
static struct boosting_options boosting_of(const struct hes_train_options *o)
{
	return (struct boosting_options){ .trees = o->trees ? o->trees : 40,
					  .min_leaf = 4,
					  .max_leaves = 8,
					  .learning_rate = 0.07,
					  .row_fraction = 0.5,
					  .seed = o->seed,
					  .threads = o->threads };
}

/* Distinct names in profiles of tasks at @offset of each, sorted. @return 0 or -ENOMEM */
static int collect_names(const struct observation *v, size_t n, size_t offset,
			 char (**out)[HES_NAME_MAX], uint32_t *out_n)
{
	char(*names)[HES_NAME_MAX] = calloc(n, sizeof(*names));

	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		strcpy(names[i], (const char *)v[i].query.task + offset);
	*out = names;
	*out_n = (uint32_t)hes_texts_distinct(names, n, sizeof(*names));
	return 0;
}

static int describe(const struct observation *v, size_t n, struct hes_predictor *p,
		    struct hes_err *err)
{
	struct hes_predictor_info *a = &p->about;

	a->rows = (uint32_t)n;
	a->nodes = (uint32_t)p->residual.n_nodes;
	a->options.coverage = p->interval.coverage;
	if (collect_names(v, n, offsetof(struct hes_profile, gpu_type), &a->types, &a->n_types) ||
	    collect_names(v, n, offsetof(struct hes_profile, workload), &a->workloads,
			  &a->n_workloads))
		return hes_fail(err, -ENOMEM, "out of memory for %zu samples", n);
	return 0;
}

int predictor_fit_residual(struct hes_predictor *p, const struct observation *v, size_t n,
			   const struct boosting_options *o, struct hes_err *err)
{
	size_t *repeats = calloc(n, sizeof(*repeats));
	size_t all = repeats ? repeat_rows(v, n, repeats) : 0;
	float *x = malloc(all * FEATURE_COUNT * sizeof(*x));
	double *y = malloc(all * PREDICTOR_OUTPUTS * sizeof(*y));
	int rc = -ENOMEM;

	if (repeats && x && y) {
		uLong crc;

		fill_rows(p, v, repeats, all, x, y);
		crc = crc32_z(0, (const Bytef *)x, all * FEATURE_COUNT * sizeof(*x));
		p->about.samples_crc = (uint32_t)crc32_z(crc, (const Bytef *)y,
							 all * PREDICTOR_OUTPUTS * sizeof(*y));
		rc = boosting_fit(
			&(struct training_rows){ x, y, all, FEATURE_COUNT, PREDICTOR_OUTPUTS }, o,
			&p->residual);
	}
	if (rc)
		hes_fail(err, rc, "out of memory for %zu samples", n);
	free(repeats);
	free(x);
	free(y);
	return rc;
}

/*
 * The weight of the trees' output: the best factor for samples that were left out at random
 * (stacking; Wolpert, 1992). The errors are changed to those with this weight.
 */
static void weigh_trees(struct fold_scores *s, double weight[PREDICTOR_OUTPUTS])
{
	for (int o = 0; o < PREDICTOR_OUTPUTS; o++) {
		double both = 0, square = 0;

		for (size_t i = 0; i < s->n; i++) {
			double rest = s->v[i].residual[o], missed = s->v[i].off[o] + rest;

			both += s->v[i].random ? s->v[i].weight * missed * rest : 0;
			square += s->v[i].random ? s->v[i].weight * rest * rest : 0;
		}
		weight[o] = square > 0 ? fmin(fmax(both / square, 0), 1) : 1;
		for (size_t i = 0; i < s->n; i++)
			s->v[i].off[o] += (1 - weight[o]) * s->v[i].residual[o];
	}
}

static int learn_interval(const struct observation *v, size_t n, const struct calibration *fit,
			  const struct boosting_options *r, double coverage,
			  struct hes_predictor *p, struct hes_err *err)
{
	struct fold_scores scores;
	int rc = cross_validate(v, n, fit, r, &scores, err);

	if (rc)
		return rc;
	weigh_trees(&scores, p->weight);
	if (range_fit(v, n, &p->range) ||
	    interval_learn(scores.v, scores.n, coverage, &p->interval))
		rc = hes_fail(err, -ENOMEM, "out of memory for %zu samples", n);
	free(scores.v);
	return rc;
}

static int predictor_learn(struct observation *v, size_t n, const struct boosting_options *r,
			   double coverage, struct hes_predictor *p, struct hes_err *err)
{
	struct calibration *fit = NULL;
	int rc = calibration_new(v, n, r->threads, &fit);

	if (!rc)
		rc = calibration_constants(fit, &p->constants);
	if (!rc)
		constants_settle(&p->constants);
	for (size_t i = 0; i < n && !rc; i++)
		observation_predict_load(&p->constants, &v[i], NULL);
	if (rc)
		hes_fail(err, rc, "out of memory for %zu samples", n);
	else
		rc = predictor_fit_residual(p, v, n, r, err);
	if (!rc)
		rc = learn_interval(v, n, fit, r, coverage, p, err);
	calibration_free(fit);
	return rc;
}

static int check_options(const struct hes_train_options *o, size_t n, struct hes_err *err)
{
	if (o->coverage != 0 && !(o->coverage >= MIN_COVERAGE && o->coverage <= MAX_COVERAGE))
		return hes_fail(err, -ERANGE, "a coverage of %g is outside %g to %g", o->coverage,
				MIN_COVERAGE, MAX_COVERAGE);
	if (n < 1 || n > BOOSTING_MAX_ROWS)
		return hes_fail(err, -EINVAL, "%zu samples; training takes from 1 to %d", n,
				BOOSTING_MAX_ROWS);
	if (o->trees > HES_TRAIN_MAX_TREES)
		return hes_fail(err, -EINVAL, "%u trees; an output has from 1 to %d", o->trees,
				HES_TRAIN_MAX_TREES);
	return 0;
}

/* Those of the prior and the measured ones in one list, the prior's with their weight. */
static int join_observations(const struct observations *prior, const struct observations *measured,
			     struct observation **out, struct hes_err *err)
{
	size_t n = prior->n + measured->n;
	struct observation *v = calloc(n, sizeof(*v));
	double sum = 0;

	if (!v)
		return hes_fail(err, -ENOMEM, "out of memory for %zu samples", n);
	memcpy(v, prior->v, prior->n * sizeof(*v));
	memcpy(v + prior->n, measured->v, measured->n * sizeof(*v));
	for (size_t i = prior->n; i < n; i++)
		sum += v[i].weight;
	for (size_t i = 0; i < n; i++) {
		observation_relink(&v[i]);
		v[i].modelled = i < prior->n;
		v[i].weight *= v[i].modelled ? PRIOR_HALF / (PRIOR_HALF + sum) : 1;
	}
	*out = v;
	return 0;
}

static int predictor_train(const struct hes_samples *s, const struct hes_catalogue *c,
			   const struct hes_train_options *o, struct hes_predictor *p,
			   struct hes_err *err)
{
	const struct hes_samples none = { 0 }, *from = o->prior ? o->prior : &none;
	struct observations prior = { 0 }, measured = { 0 };
	struct observation *v = NULL;
	const struct boosting_options r = boosting_of(o);
	size_t n = from->n + s->n;
	int rc = check_options(o, n, err);

	if (!rc)
		rc = observations_init(&prior, from, c, err);
	if (!rc)
		rc = observations_init(&measured, s, c, err);
	if (!rc)
		rc = join_observations(&prior, &measured, &v, err);
	p->about.options = (struct hes_train_options){ .trees = r.trees, .seed = o->seed };
	p->weight[PREDICTOR_TIME] = p->weight[PREDICTOR_POWER] = 1;
	if (!rc)
		rc = predictor_learn(v, n, &r, o->coverage > 0 ? o->coverage : DEFAULT_COVERAGE, p,
				     err);
	if (!rc)
		rc = describe(v, n, p, err);
	free(v);
	observations_finish(&prior);
	observations_finish(&measured);
	return rc;
}

int hes_predictor_train(const struct hes_samples *s, const struct hes_catalogue *c,
			const struct hes_train_options *o, struct hes_predictor **out,
			struct hes_err *err)
{
	struct hes_predictor *p = calloc(1, sizeof(*p));
	int rc = p ? predictor_train(s, c, o, p, err)
		   : hes_fail(err, -ENOMEM, "out of memory for a predictor");

	if (rc)
		hes_predictor_free(p);
	else
		*out = p;
	return rc;
}

void hes_predictor_free(struct hes_predictor *p)
{
	if (!p)
		return;
	constants_finish(&p->constants);
	range_finish(&p->range);
	ensemble_finish(&p->residual);
	free(p->about.types);
	free(p->about.workloads);
	free(p);
}

const struct hes_predictor_info *hes_predictor_about(const struct hes_predictor *p)
{
	return &p->about;
}

bool hes_predictor_knows(const struct hes_predictor *p, const char *gpu_type)
{
	for (uint32_t i = 0; i < p->about.n_types; i++)
		if (strcmp(p->about.types[i], gpu_type) == 0)
			return true;
	return false;
}

void hes_predictor_offer(const struct hes_predictor *p, struct hes_gpu_type *g)
{
	size_t n = 0;

	for (size_t i = 0; i < g->n_clocks; i++)
		if (hes_gpu_type_is_unlocked(g, g->clocks_mhz[i]) ||
		    range_has_clock(&p->range, g, g->clocks_mhz[i]))
			g->clocks_mhz[n++] = g->clocks_mhz[i];
	g->n_clocks = n;
}

uint32_t hes_predictor_share_sum(const struct hes_predictor *p, const char *gpu_type)
{
	return (uint32_t)(range_share_sum(&p->range, gpu_type) / 10) * 10;
}

void predictor_predict(const struct hes_predictor *p, const struct query *q,
		       double out[PREDICTOR_OUTPUTS])
{
	const double time_us = q->task->iteration_us * q->base.slowdown;
	double rest[PREDICTOR_OUTPUTS];
	float row[FEATURE_COUNT];

	features_fill(q, row);
	ensemble_predict(&p->residual, row, rest);
	out[PREDICTOR_TIME] = value_of(p->weight[PREDICTOR_TIME] * rest[PREDICTOR_TIME], time_us);
	out[PREDICTOR_POWER] = lesser(
		value_of(p->weight[PREDICTOR_POWER] * rest[PREDICTOR_POWER], q->base.power_w),
		PREDICTOR_MAX_W);
}

void predictor_set_load(const struct hes_predictor *p, struct observation *o)
{
	observation_predict_load(&p->constants, o, NULL);
	for (size_t i = 0; i < o->n_named; i++)
		o->co_runners.unseen_distance +=
			range_unseen_distance(&p->range, o->query.gpu, &o->named[i].solo);
}

int hes_predict_samples(const struct hes_predictor *p, const struct hes_samples *s,
			const struct hes_catalogue *c, struct hes_estimate *out,
			struct hes_err *err)
{
	struct observations all;
	int rc = observations_init(&all, s, c, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < all.n; i++) {
		struct observation *o = &all.v[i];

		predictor_set_load(p, o);
		hes_predict(p, o->query.gpu, o->query.task, &o->setting, &o->co_runners, &out[i]);
	}
	observations_finish(&all);
	return 0;
}

void hes_predictor_keep_test(struct hes_predictor *p, const struct hes_test *t)
{
	p->about.time = t->time;
	p->about.power = t->power;
}
