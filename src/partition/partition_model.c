/*
 * partition_model.c - learn what jobs do together, and predict it; see heshare/partition.h.
 *
 * The corrected method: trees predict the logarithm of measured / closed form, for each job's rate and for
 * the power. What they say is weighed by the factor that was best on sets that were left out: one factor for jobs that were
 * measured together at other splits, one for jobs that were not. So trees that learnt nothing of use change nothing.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "partition/co_features.h"
#include "partition/partition_model.h"

#define LEAST_SETS 5     /* to grow trees from */
#define LEAST_WHO  3   /* different jobs together, to learn how well trees do on others */
#define FOLDS      5
#define FOLD_TREES 2   /* a fold grows the model's trees divided by this */
#define COVERAGE   0.9
#define PRIOR_LOW  0.90  /* interval where nothing was measured together: twice iGniter's spread of slowdowns */
#define PRIOR_HIGH 1.08
#define TREES      100

enum { RATE, POWER, OUTPUTS };
enum { UNSEEN, SEEN, KINDS }; /* whether these jobs were measured together */

/* One learnt output. */
struct learnt {
	struct hes_regressor *trees;  /* NULL: none */
	double                weight[KINDS]; /* of the correction; 1 in the paper's method */
	float                 min[CO_FEATURES_MAX], range[CO_FEATURES_MAX]; /* the paper's scaling */
};

struct base {
	char     gpu_type[HES_NAME_MAX];
	uint32_t clock_mhz;
	double   watts;
};

struct hes_partition_model {
	struct hes_partition_info info;
	struct learnt             of[OUTPUTS];
	struct base              *bases;
	size_t                    n_bases;
	uint64_t                 *known;   /* co_run_who() of the sets it learnt from; sorted */
	size_t                    n_known;
};

/* What is learnt from: rows of features and targets of both outputs, and the set that each row is of. */
struct lessons {
	float  *x[OUTPUTS];     /* column by column */
	double *y[OUTPUTS];
	size_t *set_of[OUTPUTS];
	size_t  n[OUTPUTS];
};

static bool paper(const struct hes_partition_model *m)
{
	return m->info.options.method == HES_PARTITION_PAPER;
}

static size_t width(const struct hes_partition_model *m, int output)
{
	if (paper(m))
		return output == RATE ? CO_PAPER_RATE : CO_PAPER_POWER;
	return output == RATE ? CO_JOB : CO_POWER;
}

double partition_base_w(const struct hes_partition_model *m, const struct hes_gpu_type *g, uint32_t clock_mhz)
{
	for (size_t i = 0; i < m->n_bases; i++)
		if (m->bases[i].clock_mhz == clock_mhz && strcmp(m->bases[i].gpu_type, g->name) == 0)
			return m->bases[i].watts;
	return g->idle_power_mw * 1e-3;
}

static int learn_bases(struct hes_partition_model *m, const struct hes_share_profiles *solo, const struct hes_catalogue *c,
		       struct hes_err *err)
{
	m->bases = calloc(solo->n + 1, sizeof(*m->bases));
	if (!m->bases)
		return hes_fail(err, -ENOMEM, "out of memory for a partition model");
	for (size_t i = 0; i < solo->n; i++) {
		const struct hes_share_profile *p = &solo->v[i];
		const struct hes_gpu_type *g = hes_gpu_type_find(c, p->gpu_type, err);
		struct base *b = &m->bases[m->n_bases];
		size_t k = 0;

		if (!g)
			return -ENOENT;
		while (k < m->n_bases && (m->bases[k].clock_mhz != p->clock_mhz || strcmp(m->bases[k].gpu_type, p->gpu_type)))
			k++;
		if (k < m->n_bases)
			continue;
		strcpy(b->gpu_type, p->gpu_type);
		b->clock_mhz = p->clock_mhz;
		b->watts = co_base_w(solo, g, p->clock_mhz);
		m->n_bases++;
	}
	return 0;
}

static void run_of_set(const struct hes_partition_model *m, const struct co_set *s, struct co_run *r)
{
	r->g = s->g;
	r->clock_mhz = s->jobs[0]->clock_mhz;
	r->base_w = partition_base_w(m, s->g, s->jobs[0]->clock_mhz);
	r->n = s->n;
	for (size_t i = 0; i < s->n; i++)
		co_job_at(s->jobs[i], s->g, s->sm_pct[i], &r->job[i]);
	co_run_compose(r);
}

static void scale(const struct learnt *l, size_t n, float *row)
{
	for (size_t i = 0; i < n; i++)
		if (l->range[i] > 0)
			row[i] = (row[i] - l->min[i]) / l->range[i];
}

/* Min-max scaling of a column that is learnt from, kept for rows that are asked about. */
static void scale_column(struct learnt *l, size_t k, float *x, size_t n)
{
	float low = INFINITY, high = -INFINITY;

	for (size_t i = 0; i < n; i++) {
		low = fminf(low, x[i]);
		high = fmaxf(high, x[i]);
	}
	l->min[k] = low;
	l->range[k] = high > low ? high - low : 0;
	for (size_t i = 0; i < n && l->range[k] > 0; i++)
		x[i] = (x[i] - low) / l->range[k];
}

static double ask(const struct learnt *l, const float *row)
{
	double out = 0;

	if (l->trees)
		hes_regressor_predict(l->trees, row, &out);
	return out;
}

static int by_hash(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int kind_of(const struct hes_partition_model *m, const struct co_run *r)
{
	uint64_t who = co_run_who(r);

	return m->n_known && bsearch(&who, m->known, m->n_known, sizeof(who), by_hash) ? SEEN : UNSEEN;
}

/* The paper predicts the sum of rates; each job gets the part that it has of the sum alone. */
static void predict_paper(const struct hes_partition_model *m, const struct co_run *r, struct hes_partition_estimate *out)
{
	float row[CO_FEATURES_MAX], scaled[CO_FEATURES_MAX];
	double sum = 0, rate;

	co_features_paper(r, row);
	memcpy(scaled, row, sizeof(scaled));
	scale(&m->of[RATE], CO_PAPER_RATE, scaled);
	rate = ask(&m->of[RATE], scaled);
	scale(&m->of[POWER], CO_PAPER_POWER, row);
	out->power_w = ask(&m->of[POWER], row);
	for (size_t i = 0; i < r->n; i++)
		sum += r->job[i].alone.rate;
	for (size_t i = 0; i < r->n; i++)
		out->rate[i] = rate * r->job[i].alone.rate / sum;
}

void partition_predict_run(const struct hes_partition_model *m, struct co_run *r, struct hes_partition_estimate *out)
{
	float row[CO_FEATURES_MAX];
	int kind;

	if (paper(m)) {
		predict_paper(m, r, out);
		return;
	}
	co_run_compose(r);
	kind = kind_of(m, r);
	for (size_t i = 0; i < r->n; i++) {
		out->rate[i] = r->rate[i];
		if (r->n < 2 || !(m->of[RATE].weight[kind] > 0))
			continue;
		co_features_job(r, i, row);
		out->rate[i] *= exp(m->of[RATE].weight[kind] * ask(&m->of[RATE], row));
	}
	out->power_w = r->power_w;
	if (r->n < 2 || !(m->of[POWER].weight[kind] > 0))
		return;
	co_features_power(r, row);
	out->power_w *= exp(m->of[POWER].weight[kind] * ask(&m->of[POWER], row));
	out->power_w = fmin(out->power_w, r->g->power_limit_mw * 1e-3);
}

static void lessons_free(struct lessons *l)
{
	for (int o = 0; o < OUTPUTS; o++) {
		free(l->x[o]);
		free(l->y[o]);
		free(l->set_of[o]);
	}
}

static int lessons_room(struct lessons *l, const struct hes_partition_model *m, size_t rows, struct hes_err *err)
{
	for (int o = 0; o < OUTPUTS; o++) {
		l->x[o] = malloc(rows * width(m, o) * sizeof(float));
		l->y[o] = malloc(rows * sizeof(double));
		l->set_of[o] = malloc(rows * sizeof(size_t));
		if (!l->x[o] || !l->y[o] || !l->set_of[o])
			return hes_fail(err, -ENOMEM, "out of memory for %zu co-runs to learn from", rows);
	}
	return 0;
}

/* Rows of one set, row by row; columns follow when all are there. */
static void add_lessons(struct lessons *l, const struct hes_partition_model *m, const struct co_set *s, size_t set)
{
	struct co_run r;
	double rate = 0;

	run_of_set(m, s, &r);
	for (size_t i = 0; i < s->n; i++)
		rate += s->rate[i];
	for (size_t i = 0; i < (paper(m) ? 1 : s->n); i++) {
		float *row = l->x[RATE] + l->n[RATE] * width(m, RATE);

		if (paper(m))
			co_features_paper(&r, row);
		else
			co_features_job(&r, i, row);
		l->y[RATE][l->n[RATE]] = paper(m) ? rate : log(s->rate[i] / r.rate[i]);
		l->set_of[RATE][l->n[RATE]++] = set;
	}
	if (paper(m)) {
		float row[CO_PAPER_RATE];

		co_features_paper(&r, row);
		memcpy(l->x[POWER] + l->n[POWER] * CO_PAPER_POWER, row, CO_PAPER_POWER * sizeof(float));
	} else {
		co_features_power(&r, l->x[POWER] + l->n[POWER] * CO_POWER);
	}
	l->y[POWER][l->n[POWER]] = paper(m) ? s->power_w : log(s->power_w / r.power_w);
	l->set_of[POWER][l->n[POWER]++] = set;
}

/* Fit one output to the rows whose set is not left out. @param fold_of  fold of each set; @fold: which to leave out, -1: none */
static int fit(struct hes_partition_model *m, int o, const struct lessons *l, const int *fold_of, int fold, struct hes_err *err)
{
	static const enum hes_regressor_kind kinds[] = {
		[HES_PARTITION_EXTRA_TREES] = HES_REGRESSOR_EXTRA_TREES, [HES_PARTITION_FOREST] = HES_REGRESSOR_FOREST,
		[HES_PARTITION_BOOSTING] = HES_REGRESSOR_BOOSTING,
	};
	const struct hes_partition_options *po = &m->info.options;
	const struct hes_regressor_options ro = { .kind = kinds[po->learner], .trees = fold < 0 ? po->trees : po->trees / FOLD_TREES + 1,
						  .seed = po->seed + (uint64_t)o, .threads = po->threads, .min_leaf = paper(m) ? 0 : 2 };
	struct learnt *to = &m->of[o];
	size_t w = width(m, o), n = 0;
	float *x = malloc(l->n[o] * w * sizeof(*x));
	double *y = malloc(l->n[o] * sizeof(*y));
	int rc = x && y ? 0 : hes_fail(err, -ENOMEM, "out of memory for %zu co-runs to learn from", l->n[o]);

	for (size_t i = 0; i < l->n[o] && !rc; i++)
		n += fold < 0 || fold_of[l->set_of[o][i]] != fold;
	for (size_t i = 0, at = 0; i < l->n[o] && !rc; i++) {
		if (fold >= 0 && fold_of[l->set_of[o][i]] == fold)
			continue;
		for (size_t k = 0; k < w; k++)
			x[k * n + at] = l->x[o][i * w + k];
		y[at++] = l->y[o][i];
	}
	for (size_t k = 0; k < w && paper(m) && !rc; k++)
		scale_column(to, k, x + k * n, n);
	hes_regressor_free(to->trees);
	to->trees = NULL;
	if (!rc)
		rc = hes_regressor_fit(&(struct hes_rows){ .x = x, .y = y, .n = n, .n_features = w, .n_outputs = 1 }, &ro, &to->trees,
				       err);
	free(x);
	free(y);
	return rc;
}

static int learn_known(struct hes_partition_model *m, const struct co_sets *sets, struct hes_err *err)
{
	m->known = malloc(sets->n * sizeof(*m->known));
	if (!m->known)
		return hes_fail(err, -ENOMEM, "out of memory for a partition model");
	for (size_t i = 0; i < sets->n; i++) {
		struct co_run r;

		run_of_set(m, &sets->v[i], &r);
		m->known[i] = co_run_who(&r);
	}
	qsort(m->known, sets->n, sizeof(*m->known), by_hash);
	for (size_t i = 0; i < sets->n; i++)
		if (!i || m->known[i] != m->known[m->n_known - 1])
			m->known[m->n_known++] = m->known[i];
	return 0;
}

/* Folds of sets; where jobs are to be unseen, those of the same jobs are in one fold. */
static void choose_folds(const struct hes_partition_model *m, const struct co_sets *sets, int kind, int *fold_of)
{
	size_t folds = m->n_known < FOLDS ? m->n_known : FOLDS;

	for (size_t i = 0; i < sets->n; i++) {
		struct co_run r;
		const uint64_t *at;
		uint64_t who;

		run_of_set(m, &sets->v[i], &r);
		who = co_run_who(&r);
		at = bsearch(&who, m->known, m->n_known, sizeof(who), by_hash);
		fold_of[i] = (int)(kind == UNSEEN ? (size_t)(at - m->known) % folds : i % FOLDS);
	}
}

/* Every row predicted by trees that did not see it. @param out  [output][row] */
static int predict_left_out(struct hes_partition_model *m, const struct lessons *l, const int *fold_of, double *out[OUTPUTS],
			    struct hes_err *err)
{
	int rc = 0;

	for (int fold = 0; fold < FOLDS && !rc; fold++)
		for (int o = 0; o < OUTPUTS && !rc; o++) {
			rc = fit(m, o, l, fold_of, fold, err);
			for (size_t i = 0; i < l->n[o] && !rc; i++) {
				float row[CO_FEATURES_MAX];

				if (fold_of[l->set_of[o][i]] != fold)
					continue;
				memcpy(row, l->x[o] + i * width(m, o), width(m, o) * sizeof(*row));
				scale(&m->of[o], width(m, o), row);
				out[o][i] = ask(&m->of[o], row);
			}
		}
	return rc;
}

/* The part of a correction that pays on rows that it was not learnt from (stacking, least squares). */
static double weight_of(const double *right, const double *predicted, size_t n)
{
	double both = 0, squares = 0;

	for (size_t i = 0; i < n; i++) {
		both += right[i] * predicted[i];
		squares += predicted[i] * predicted[i];
	}
	return squares > 0 ? fmin(fmax(both / squares, 0), 1) : 0;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Errors and interval, from predictions of rows that were left out. */
static int learn_errors(struct hes_partition_model *m, const struct co_sets *sets, int kind, double *const out[OUTPUTS],
			struct hes_err *err)
{
	double *off = malloc(sets->n * sizeof(*off)), tail = (1 - COVERAGE) / 2;
	struct hes_partition_info *info = &m->info;

	if (!off)
		return hes_fail(err, -ENOMEM, "out of memory for %zu co-runs to learn from", sets->n);
	info->unseen = kind == UNSEEN;
	info->rate_error = info->power_error = 0;
	for (size_t k = 0, row = 0; k < sets->n; k++) {
		const struct co_set *s = &sets->v[k];
		double rate = 0, measured = 0, power;
		struct co_run r;

		run_of_set(m, s, &r);
		for (size_t i = 0; i < s->n; i++) {
			measured += s->rate[i];
			rate += paper(m) ? 0 : r.rate[i] * exp(m->of[RATE].weight[kind] * out[RATE][row++]);
		}
		rate = paper(m) ? out[RATE][row++] : rate;
		power = paper(m) ? out[POWER][k] : r.power_w * exp(m->of[POWER].weight[kind] * out[POWER][k]);
		info->rate_error += fabs(rate / measured - 1) / (double)sets->n;
		info->power_error += fabs(power / s->power_w - 1) / (double)sets->n;
		off[k] = measured / s->power_w / (rate / power);
	}
	qsort(off, sets->n, sizeof(*off), by_value);
	info->low = off[(size_t)(tail * (double)sets->n)];
	info->high = off[sets->n - 1 - (size_t)(tail * (double)sets->n)];
	free(off);
	return 0;
}

/* Cross-validation of one kind: weights of the corrections, errors, interval. */
static int validate(struct hes_partition_model *m, const struct co_sets *sets, const struct lessons *l, int kind,
		    struct hes_err *err)
{
	int *fold_of = malloc(sets->n * sizeof(*fold_of)), rc = 0;
	double *out[OUTPUTS] = { malloc(l->n[RATE] * sizeof(double)), malloc(l->n[POWER] * sizeof(double)) };

	if (!fold_of || !out[RATE] || !out[POWER])
		rc = hes_fail(err, -ENOMEM, "out of memory for %zu co-runs to learn from", sets->n);
	if (!rc) {
		choose_folds(m, sets, kind, fold_of);
		rc = predict_left_out(m, l, fold_of, out, err);
	}
	for (int o = 0; o < OUTPUTS && !rc; o++)
		m->of[o].weight[kind] = paper(m) ? 1 : weight_of(l->y[o], out[o], l->n[o]);
	if (!rc)
		rc = learn_errors(m, sets, kind, out, err);
	free(out[RATE]);
	free(out[POWER]);
	free(fold_of);
	return rc;
}

/* Trees of both outputs, on all sets, with the weights that validation found. The errors told are the harder ones. */
static int learn(struct hes_partition_model *m, const struct co_sets *sets, struct hes_err *err)
{
	struct lessons l = { 0 };
	int rc = lessons_room(&l, m, sets->n * HES_PARTITION_MAX_JOBS, err);

	if (!rc)
		rc = learn_known(m, sets, err);
	for (size_t i = 0; i < sets->n && !rc; i++)
		add_lessons(&l, m, &sets->v[i], i);
	if (!rc)
		rc = validate(m, sets, &l, SEEN, err);
	if (!rc && m->n_known >= LEAST_WHO)
		rc = validate(m, sets, &l, UNSEEN, err);
	for (int o = 0; o < OUTPUTS && !rc; o++)
		rc = fit(m, o, &l, NULL, -1, err);
	lessons_free(&l);
	return rc;
}

int hes_partition_train(const struct hes_points *p, const struct hes_share_profiles *solo, const struct hes_catalogue *c,
			const struct hes_partition_options *o, struct hes_partition_model **out, struct hes_err *err)
{
	struct hes_partition_model *m = calloc(1, sizeof(*m));
	struct co_sets sets = { 0 };
	int rc = m ? co_sets_from(p, solo, c, &sets, err) : hes_fail(err, -ENOMEM, "out of memory for a partition model");

	if (!rc) {
		m->info = (struct hes_partition_info){ .options = *o, .sets = sets.n, .rate_error = NAN, .power_error = NAN,
						       .coverage = COVERAGE, .low = PRIOR_LOW, .high = PRIOR_HIGH };
		m->info.options.trees = o->trees ? o->trees : TREES;
		rc = learn_bases(m, solo, c, err);
	}
	if (!rc && sets.n >= LEAST_SETS)
		rc = learn(m, &sets, err);
	else if (!rc && paper(m))
		rc = hes_fail(err, -EINVAL, "the paper's method learns from jobs that share a GPU, at least %d sets of them; %zu %s "
			      "measured; heshare profile NAME --beside OTHER measures more", LEAST_SETS, sets.n,
			      sets.n == 1 ? "was" : "were");
	free(sets.v);
	if (rc) {
		hes_partition_free(m);
		return rc;
	}
	*out = m;
	return 0;
}

void hes_partition_free(struct hes_partition_model *m)
{
	if (!m)
		return;
	for (int o = 0; o < OUTPUTS; o++)
		hes_regressor_free(m->of[o].trees);
	free(m->bases);
	free(m->known);
	free(m);
}

const struct hes_partition_info *hes_partition_about(const struct hes_partition_model *m)
{
	return &m->info;
}

void hes_partition_predict(const struct hes_partition_model *m, const struct hes_gpu_type *g,
			   const struct hes_share_profile *const *jobs, size_t n, const uint32_t *sm_pct,
			   struct hes_partition_estimate *out)
{
	struct co_run r = { .g = g, .clock_mhz = jobs[0]->clock_mhz, .base_w = partition_base_w(m, g, jobs[0]->clock_mhz), .n = n };

	for (size_t i = 0; i < n; i++)
		co_job_at(jobs[i], g, sm_pct[i], &r.job[i]);
	partition_predict_run(m, &r, out);
}
