/*
 * type_learn.c - learn from jobs that were measured together on GPUs of one type; see type_model.h.
 *
 * Cross-validation twice: sets left out at random, for jobs that were measured together at other
 * splits; and all sets of the same jobs left out, for jobs that were not. Each gives the weight
 * with which corrections are used.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "partition/type_model.h"

#define TREE_SETS 20 /* to grow trees from that correct the closed form */
#define LEAST_WHO 3  /* different jobs together, to learn how well trees do on others */
#define FOLDS     5
#define COVERAGE  0.9
#define SEED      1
#define MEASURED  0.06 /* error of the logarithm of a rate or a power by the closed form */
#define STEP      0.01 /* of a numeric derivative */
#define NEWTON    4
#define REST      0.06 /* spread of work per watt before any co-run, */
#define REST_SETS 5    /* ... which counts as so many co-runs */

static const size_t widths[TYPE_OUTPUTS] = { CO_JOB, CO_POWER };

/* What is learnt from: rows of features and targets of both outputs, and the set that each row is
 * of. */
struct co_rows {
	float *x[TYPE_OUTPUTS]; /* row by row */
	double *y[TYPE_OUTPUTS];
	size_t *set_of[TYPE_OUTPUTS];
	size_t n[TYPE_OUTPUTS];
};

/* --- the constants of the closed form --- */

/*
 * V100: iGniter's pairs, of which the form without memory waits was fitted. H100: five pairs of
 * networks at equal shares. Other types may be like either.
 */
static const struct {
	const char *types; /* their names begin so */
	double mean[CO_CONSTANTS], sd[CO_CONSTANTS];
} priors[] = {
	{ "V100-", { 0, 0 }, { 0.1, 0.03 } },
	{ "H100-", { 0.65, 0.06 }, { 0.25, 0.05 } },
	{ "", { 0.35, 0.03 }, { 0.35, 0.05 } },
};

static void interference_prior(const struct hes_gpu_type *g, struct interference *out)
{
	size_t i = 0;

	while (strncmp(g->name, priors[i].types, strlen(priors[i].types)) != 0)
		i++;
	memcpy(out->mean, priors[i].mean, sizeof(out->mean));
	memcpy(out->sd, priors[i].sd, sizeof(out->sd));
	out->rest = REST;
}

/* Logarithms of the composed rates, then of the power. */
static void compose_logs(struct co_run *r, const double *constant, double *out)
{
	memcpy(r->constant, constant, sizeof(r->constant));
	co_run_compose(r);
	for (size_t i = 0; i < r->n; i++)
		out[i] = log(r->rate[i]);
	out[r->n] = log(r->power_w);
}

/* One step of Gauss and Newton for one constant. @return its precision */
static double improve_constant(const struct interference *prior, struct interference *x, size_t k,
			       const struct co_set *sets, struct co_run *runs, size_t n)
{
	double weight = 1 / (prior->sd[k] * prior->sd[k]),
	       pull = (prior->mean[k] - x->mean[k]) * weight, moved[CO_CONSTANTS];

	memcpy(moved, x->mean, sizeof(moved));
	moved[k] += STEP;
	for (size_t s = 0; s < n; s++) {
		double at[HES_PARTITION_MAX_JOBS + 1], there[HES_PARTITION_MAX_JOBS + 1];

		compose_logs(&runs[s], moved, there);
		compose_logs(&runs[s], x->mean, at);
		for (size_t i = 0; i <= runs[s].n; i++) {
			double right = log(i < runs[s].n ? sets[s].rate[i] : sets[s].power_w),
			       slope = (there[i] - at[i]) / STEP / MEASURED;

			pull += slope * (right - at[i]) / MEASURED;
			weight += slope * slope;
		}
	}
	x->mean[k] += pull / weight;
	if (k == CO_MEMORY)
		x->mean[k] = fmax(x->mean[k], 0);
	return weight;
}

/* What is left of work per watt, with the constants in place. */
static double rest_of(const struct interference *x, const struct co_set *sets, struct co_run *runs,
		      size_t n)
{
	double squares = REST_SETS * REST * REST;

	for (size_t s = 0; s < n; s++) {
		double at[HES_PARTITION_MAX_JOBS + 1], work = 0, measured = 0;

		compose_logs(&runs[s], x->mean, at);
		for (size_t i = 0; i < runs[s].n; i++) {
			work += runs[s].rate[i] / runs[s].job[i].alone.rate;
			measured += sets[s].rate[i] / runs[s].job[i].alone.rate;
		}
		squares += pow(log(measured / sets[s].power_w) - log(work / runs[s].power_w), 2);
	}
	return sqrt(squares / (double)(REST_SETS + n));
}

/* Move a prior by measured sets: least squares, one constant after the other.
 * @param runs  of the sets, without constants; [n] */
static void interference_learn(struct interference *x, const struct co_set *sets,
			       struct co_run *runs, size_t n)
{
	const struct interference prior = *x;

	for (int round = 0; round < NEWTON; round++)
		for (size_t k = 0; k < CO_CONSTANTS; k++)
			x->sd[k] = 1 / sqrt(improve_constant(&prior, x, k, sets, runs, n));
	x->rest = rest_of(x, sets, runs, n);
}

static int learn_bases(struct type_model *m, const struct hes_share_profiles *solo,
		       struct hes_err *err)
{
	m->bases = calloc(solo->n + 1, sizeof(*m->bases));
	if (!m->bases)
		return hes_fail(err, -ENOMEM, "out of memory for a partition model");
	for (size_t i = 0; i < solo->n; i++) {
		uint32_t mhz = solo->v[i].clock_mhz;
		size_t k = 0;

		while (k < m->n_bases && m->bases[k].clock_mhz != mhz)
			k++;
		if (k == m->n_bases && strcmp(solo->v[i].gpu_type, m->g->name) == 0)
			m->bases[m->n_bases++] =
				(struct type_base){ mhz, co_base_w(solo, m->g, mhz) };
	}
	return 0;
}

static struct co_run run_of_set(const struct type_model *m, const struct co_set *s)
{
	struct co_run r = type_model_run(m, s->jobs[0]->clock_mhz, s->n);

	for (size_t i = 0; i < s->n; i++)
		co_job_at(s->jobs[i], s->g, s->sm_pct[i], &r.job[i]);
	co_run_compose(&r);
	return r;
}

static int learn_interference(struct type_model *m, const struct co_sets *sets, struct hes_err *err)
{
	struct co_run *runs = malloc((sets->n + 1) * sizeof(*runs));

	if (!runs)
		return hes_fail(err, -ENOMEM, "out of memory for %zu co-runs", sets->n);
	for (size_t i = 0; i < sets->n; i++)
		runs[i] = run_of_set(m, &sets->v[i]);
	interference_learn(&m->interference, sets->v, runs, sets->n);
	free(runs);
	return 0;
}

/* --- trees that correct it --- */

static void co_rows_free(struct co_rows *l)
{
	for (int o = 0; o < TYPE_OUTPUTS; o++) {
		free(l->x[o]);
		free(l->y[o]);
		free(l->set_of[o]);
	}
}

static int co_rows_room(struct co_rows *l, size_t rows, struct hes_err *err)
{
	for (int o = 0; o < TYPE_OUTPUTS; o++) {
		l->x[o] = malloc(rows * widths[o] * sizeof(float));
		l->y[o] = malloc(rows * sizeof(double));
		l->set_of[o] = malloc(rows * sizeof(size_t));
		if (!l->x[o] || !l->y[o] || !l->set_of[o])
			return hes_fail(err, -ENOMEM, "out of memory for %zu rows of co-runs",
					rows);
	}
	return 0;
}

static void co_rows_put(struct co_rows *l, int o, const float *row, double y, size_t set)
{
	memcpy(l->x[o] + l->n[o] * widths[o], row, widths[o] * sizeof(*row));
	l->y[o][l->n[o]] = y;
	l->set_of[o][l->n[o]++] = set;
}

/* Rows of one set: of each job, and of the power. */
static void co_rows_add(struct co_rows *l, const struct type_model *m, const struct co_set *s,
			size_t set)
{
	const struct co_run r = run_of_set(m, s);
	float row[CO_JOB];

	for (size_t i = 0; i < s->n; i++) {
		co_features_job(&r, i, row);
		co_rows_put(l, TYPE_RATE, row, log(s->rate[i] / r.rate[i]), set);
	}
	co_features_power(&r, row);
	co_rows_put(l, TYPE_POWER, row, log(s->power_w / r.power_w), set);
}

/* Fit one output to the rows whose set is not in a fold. @param fold  -1: to all; @fold_of may be
 * NULL then */
static int fit_output(struct type_model *m, int o, const struct co_rows *l, const int *fold_of,
		      int fold, struct hes_err *err)
{
	const struct boosting_options options = { .trees = 200,
						  .seed = SEED,
						  .min_leaf = 2,
						  .max_leaves = 16,
						  .learning_rate = 0.05,
						  .row_fraction = 0.5 };
	const size_t width = widths[o];
	float *x = malloc(l->n[o] * width * sizeof(*x));
	double *y = malloc(l->n[o] * sizeof(*y));
	size_t n = 0;
	int rc = x && y ? 0 : -ENOMEM;

	for (size_t i = 0; i < l->n[o] && !rc; i++)
		n += fold < 0 || fold_of[l->set_of[o][i]] != fold;
	for (size_t i = 0, at = 0; i < l->n[o] && !rc; i++) {
		if (fold >= 0 && fold_of[l->set_of[o][i]] == fold)
			continue;
		for (size_t k = 0; k < width; k++)
			x[k * n + at] = l->x[o][i * width + k];
		y[at++] = l->y[o][i];
	}
	ensemble_finish(&m->trees[o]);
	if (!rc)
		rc = boosting_fit(&(struct training_rows){ x, y, n, width, 1 }, &options,
				  &m->trees[o]);
	free(x);
	free(y);
	return rc ? hes_fail(err, rc, "out of memory for %zu rows of co-runs", l->n[o]) : 0;
}

static int learn_known(struct type_model *m, const struct co_sets *sets, struct hes_err *err)
{
	m->known = malloc(sets->n * sizeof(*m->known));
	if (!m->known)
		return hes_fail(err, -ENOMEM, "out of memory for a partition model");
	for (size_t i = 0; i < sets->n; i++) {
		const struct co_run r = run_of_set(m, &sets->v[i]);

		m->known[i] = co_run_who(&r);
	}
	qsort(m->known, sets->n, sizeof(*m->known), type_compare_who);
	for (size_t i = 0; i < sets->n; i++)
		if (!i || m->known[i] != m->known[m->n_known - 1])
			m->known[m->n_known++] = m->known[i];
	return 0;
}

/* Folds of sets; where jobs are to be unseen, sets of the same jobs are in one fold. */
static void choose_folds(const struct type_model *m, const struct co_sets *sets, int kind,
			 int *fold_of)
{
	size_t folds = m->n_known < FOLDS ? m->n_known : FOLDS;

	for (size_t i = 0; i < sets->n; i++) {
		const struct co_run r = run_of_set(m, &sets->v[i]);
		uint64_t who = co_run_who(&r);
		const uint64_t *at =
			bsearch(&who, m->known, m->n_known, sizeof(who), type_compare_who);

		fold_of[i] =
			(int)(kind == TYPE_UNSEEN ? (size_t)(at - m->known) % folds : i % FOLDS);
	}
}

/* Every row predicted by trees that did not see it. @param out  [output][row] */
static int predict_left_out(struct type_model *m, const struct co_rows *l, const int *fold_of,
			    double *out[TYPE_OUTPUTS], struct hes_err *err)
{
	int rc = 0;

	for (int fold = 0; fold < FOLDS && !rc; fold++)
		for (int o = 0; o < TYPE_OUTPUTS && !rc; o++) {
			rc = fit_output(m, o, l, fold_of, fold, err);
			for (size_t i = 0; i < l->n[o] && !rc; i++)
				if (fold_of[l->set_of[o][i]] == fold)
					ensemble_predict(&m->trees[o], l->x[o] + i * widths[o],
							 &out[o][i]);
		}
	return rc;
}

/* The part of a correction that pays on rows that it was not learnt from (stacking, least squares).
 */
static double weight_of(const double *right, const double *predicted, size_t n)
{
	double both = 0, squares = 0;

	for (size_t i = 0; i < n; i++) {
		both += right[i] * predicted[i];
		squares += predicted[i] * predicted[i];
	}
	return squares > 0 ? fmin(fmax(both / squares, 0), 1) : 0;
}

static int compare_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Conformal: the ranks that hold the coverage for a new set; the ends where sets are too few. */
static void learn_interval(struct hes_partition_info *info, double *ratio, size_t n)
{
	size_t rank = (size_t)fmax(floor((1 - COVERAGE) / 2 * (double)(n + 1)), 1);

	qsort(ratio, n, sizeof(*ratio), compare_value);
	info->low = ratio[rank - 1];
	info->high = ratio[n - rank];
}

/* Errors and interval, from predictions of rows that were left out. */
static int learn_errors(struct type_model *m, const struct co_sets *sets, int kind,
			double *const out[TYPE_OUTPUTS], struct hes_err *err)
{
	double *ratio = malloc(sets->n * sizeof(*ratio));
	struct hes_partition_info *info = &m->info;

	if (!ratio)
		return hes_fail(err, -ENOMEM, "out of memory for %zu co-runs", sets->n);
	info->unseen = kind == TYPE_UNSEEN;
	info->rate_error = info->power_error = 0;
	for (size_t k = 0, row = 0; k < sets->n; k++) {
		const struct co_set *s = &sets->v[k];
		const struct co_run r = run_of_set(m, s);
		struct hes_partition_estimate e;
		double rate = 0, measured = 0;

		type_model_combine(m, &r, kind, out[TYPE_RATE] + row, out[TYPE_POWER][k], &e);
		row += s->n;
		for (size_t i = 0; i < s->n; i++) {
			measured += s->rate[i];
			rate += e.rate[i];
		}
		info->rate_error += fabs(rate / measured - 1) / (double)sets->n;
		info->power_error += fabs(e.power_w / s->power_w - 1) / (double)sets->n;
		ratio[k] = measured / s->power_w / (rate / e.power_w);
	}
	learn_interval(info, ratio, sets->n);
	free(ratio);
	return 0;
}

/* Cross-validation of one kind: weights of the corrections, errors, interval. */
static int validate(struct type_model *m, const struct co_sets *sets, const struct co_rows *l,
		    int kind, struct hes_err *err)
{
	int *fold_of = malloc(sets->n * sizeof(*fold_of)), rc = 0;
	double *out[TYPE_OUTPUTS] = { malloc(l->n[TYPE_RATE] * sizeof(double)),
				      malloc(l->n[TYPE_POWER] * sizeof(double)) };

	if (!fold_of || !out[TYPE_RATE] || !out[TYPE_POWER])
		rc = hes_fail(err, -ENOMEM, "out of memory for %zu co-runs", sets->n);
	if (!rc) {
		choose_folds(m, sets, kind, fold_of);
		rc = predict_left_out(m, l, fold_of, out, err);
	}
	for (int o = 0; o < TYPE_OUTPUTS && !rc; o++)
		m->weight[o][kind] = weight_of(l->y[o], out[o], l->n[o]);
	if (!rc)
		rc = learn_errors(m, sets, kind, out, err);
	free(out[TYPE_RATE]);
	free(out[TYPE_POWER]);
	free(fold_of);
	return rc;
}

/* Trees of both outputs, on all sets, with the weights that validation found. The errors shown are
 * the harder ones. */
static int learn_sets(struct type_model *m, const struct co_sets *sets, struct hes_err *err)
{
	struct co_rows l = { .n = { 0 } };
	int rc = co_rows_room(&l, sets->n * HES_PARTITION_MAX_JOBS, err);

	if (!rc)
		rc = learn_known(m, sets, err);
	for (size_t i = 0; i < sets->n && !rc; i++)
		co_rows_add(&l, m, &sets->v[i], i);
	if (!rc)
		rc = validate(m, sets, &l, TYPE_SEEN, err);
	if (!rc && m->n_known >= LEAST_WHO)
		rc = validate(m, sets, &l, TYPE_UNSEEN, err);
	for (int o = 0; o < TYPE_OUTPUTS && !rc; o++)
		rc = fit_output(m, o, &l, NULL, -1, err);
	co_rows_free(&l);
	return rc;
}

int type_model_learn(struct type_model *m, const struct hes_points *p,
		     const struct hes_share_profiles *solo, struct hes_err *err)
{
	struct hes_partition_info *info = &m->info;
	struct co_sets sets = { .v = NULL };
	int rc;

	info->rate_error = info->power_error = NAN;
	info->coverage = COVERAGE;
	info->low = info->high = NAN;
	interference_prior(m->g, &m->interference);
	rc = co_sets_from(p, solo, m->g, &sets, err);
	if (rc)
		return rc;
	info->sets = sets.n;
	info->learnt = sets.n >= TREE_SETS;
	rc = learn_bases(m, solo, err);
	if (!rc)
		rc = learn_interference(m, &sets, err);
	if (!rc && info->learnt)
		rc = learn_sets(m, &sets, err);
	free(sets.v);
	return rc;
}
