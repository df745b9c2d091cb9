/*
 * predictor.c - a forest for the time, a forest for the power; see
 * heshare/predict.h.
 */
#include "predict/predictor.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "predict/baseline.h"

#define MIN_SAMPLES 10
#define DEFAULT_TREES 100
#define DEFAULT_MIN_LEAF 1

/* Rows and both targets of a training set. */
struct training {
	struct tree_data data;
	float  *x;       /* column by column */
	double *time;
	double *power;
};

static void training_finish(struct training *t)
{
	tree_data_finish(&t->data);
	free(t->x);
	free(t->time);
	free(t->power);
}

static int query_of(const struct hes_sample *s, size_t index, const struct hes_catalogue *c,
		    struct hes_setting *setting, struct query *out, struct hes_err *err)
{
	const struct hes_gpu_type *g = hes_gpu_type_find(c, s->task.gpu_type, err);

	if (!g) {
		hes_fail_in(err, "sample %zu", index + 1);
		return -ENOENT;
	}
	*setting = (struct hes_setting){ s->sm_pct, s->clock_mhz };
	*out = (struct query){ .gpu = g, .task = &s->task, .setting = setting, .beside = &s->beside };
	return 0;
}

/* What a forest learns in place of a value that the baseline puts at @expected. */
static double target_of(enum hes_recipe recipe, double value, double expected)
{
	return recipe == HES_RECIPE_PLAIN ? value : log(value / expected);
}

static double value_of(enum hes_recipe recipe, double target, double expected)
{
	return recipe == HES_RECIPE_PLAIN ? target : exp(target) * expected;
}

static int fill_row(const struct hes_samples *s, size_t i, const struct hes_catalogue *c,
		    enum hes_recipe recipe, struct training *t, struct hes_err *err)
{
	const struct hes_sample *v = &s->v[i];
	struct hes_setting setting;
	struct query q;
	float row[FEATURE_COUNT];
	int rc = query_of(v, i, c, &setting, &q, err);

	if (rc)
		return rc;
	if (!(v->iteration_us > 0) || !v->power_mw || !(v->task.iteration_us > 0) || !v->clock_mhz)
		return hes_fail(err, -EINVAL, "sample %zu: times, power and clocks must be above 0", i + 1);
	q.base = baseline_of(&q);
	features_fill(&q, row, features_of(recipe));
	for (size_t f = 0; f < features_of(recipe); f++)
		t->x[f * s->n + i] = row[f];
	t->time[i] = target_of(recipe, v->iteration_us, v->task.iteration_us * q.base.slowdown);
	t->power[i] = target_of(recipe, v->power_mw * 1e-3, q.base.power_w);
	return 0;
}

static int training_init(const struct hes_samples *s, const struct hes_catalogue *c,
			 enum hes_recipe recipe, struct training *out, struct hes_err *err)
{
	size_t columns = features_of(recipe);
	struct training t = {
		.x = malloc(s->n * columns * sizeof(*t.x)),
		.time = malloc(s->n * sizeof(*t.time)),
		.power = malloc(s->n * sizeof(*t.power)),
	};
	int rc = 0;

	if (!t.x || !t.time || !t.power)
		rc = hes_fail(err, -ENOMEM, "out of memory for %zu samples", s->n);
	for (size_t i = 0; i < s->n && !rc; i++)
		rc = fill_row(s, i, c, recipe, &t, err);
	if (!rc && tree_data_init(&t.data, t.x, s->n, columns))
		rc = hes_fail(err, -ENOMEM, "out of memory for %zu samples", s->n);
	if (rc)
		training_finish(&t);
	else
		*out = t;
	return rc;
}

static int check_options(const struct hes_train_options *o, struct hes_train_options *out,
			 struct hes_err *err)
{
	uint32_t columns = (uint32_t)features_of(o->recipe);

	*out = *o;
	out->trees = o->trees ? o->trees : DEFAULT_TREES;
	out->features_per_split = o->features_per_split ? o->features_per_split : (columns + 1) / 2;
	out->min_leaf = o->min_leaf ? o->min_leaf : DEFAULT_MIN_LEAF;
	out->threads = 0;
	if (out->trees > FOREST_MAX_TREES)
		return hes_fail(err, -EINVAL, "%u trees; a forest has from 1 to %d", out->trees,
				FOREST_MAX_TREES);
	if (out->features_per_split > columns)
		return hes_fail(err, -EINVAL, "%u features a split; there are %u", out->features_per_split,
				columns);
	if (o->criterion != HES_CRITERION_SQUARED && o->criterion != HES_CRITERION_ABSOLUTE)
		return hes_fail(err, -EINVAL, "criterion %d is neither squared nor absolute error",
				(int)o->criterion);
	if (o->recipe > HES_RECIPE_PLAIN)
		return hes_fail(err, -EINVAL, "recipe %d is unknown", (int)o->recipe);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Distinct names among the samples at @offset of each, sorted. @return 0 or -ENOMEM */
static int collect_names(const struct hes_samples *s, size_t offset, char (**out)[HES_NAME_MAX],
			 uint32_t *out_n)
{
	char (*v)[HES_NAME_MAX] = calloc(s->n, sizeof(*v));
	uint32_t n = 0;

	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < s->n; i++)
		strcpy(v[i], (const char *)&s->v[i] + offset);
	qsort(v, s->n, sizeof(*v), by_name);
	for (size_t i = 0; i < s->n; i++)
		if (n == 0 || strcmp(v[n - 1], v[i]))
			memmove(v[n++], v[i], sizeof(*v));
	*out = v;
	*out_n = n;
	return 0;
}

static int describe(const struct hes_samples *s, const struct training *t, struct hes_predictor *p,
		    struct hes_err *err)
{
	struct hes_predictor_info *a = &p->about;
	uLong crc = crc32(0, (const Bytef *)t->x, (uInt)(s->n * t->data.n_features * sizeof(*t->x)));

	crc = crc32(crc, (const Bytef *)t->time, (uInt)(s->n * sizeof(*t->time)));
	a->samples_crc = (uint32_t)crc32(crc, (const Bytef *)t->power, (uInt)(s->n * sizeof(*t->power)));
	a->rows = (uint32_t)s->n;
	a->nodes = (uint32_t)(p->time.n_nodes + p->power.n_nodes);
	if (collect_names(s, offsetof(struct hes_sample, task.gpu_type), &a->types, &a->n_types) ||
	    collect_names(s, offsetof(struct hes_sample, task.workload), &a->workloads, &a->n_workloads))
		return hes_fail(err, -ENOMEM, "out of memory for %zu samples", s->n);
	return 0;
}

static int fit(const struct training *t, const struct hes_train_options *asked, struct hes_predictor *p,
	       struct hes_err *err)
{
	const struct hes_train_options *o = &p->about.options;
	struct forest_options f = {
		.tree = { o->criterion, o->features_per_split, o->min_leaf, o->max_depth },
		.trees = o->trees,
		.threads = asked->threads,
		.seed = o->seed,
	};

	if (forest_fit(&t->data, t->time, &f, &p->time) ||
	    forest_fit(&t->data, t->power, &f, &p->power))
		return hes_fail(err, -ENOMEM, "out of memory for %u trees", o->trees);
	return 0;
}

int hes_predictor_train(const struct hes_samples *s, const struct hes_catalogue *c,
			const struct hes_train_options *o, struct hes_predictor **out,
			struct hes_err *err)
{
	struct hes_predictor *p = calloc(1, sizeof(*p));
	struct training t = { 0 };
	int rc;

	if (!p)
		return hes_fail(err, -ENOMEM, "out of memory for a predictor");
	rc = check_options(o, &p->about.options, err);
	if (!rc && (s->n < MIN_SAMPLES || s->n > TREE_MAX_ROWS))
		rc = hes_fail(err, -EINVAL, "%zu samples; training takes from %d to %d", s->n, MIN_SAMPLES,
			      TREE_MAX_ROWS);
	if (!rc)
		rc = training_init(s, c, o->recipe, &t, err);
	if (!rc)
		rc = fit(&t, o, p, err);
	if (!rc)
		rc = describe(s, &t, p, err);
	training_finish(&t);
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
	forest_finish(&p->time);
	forest_finish(&p->power);
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

static void predict(const struct hes_predictor *p, struct query *q, struct hes_estimate *out)
{
	enum hes_recipe recipe = p->about.options.recipe;
	float row[FEATURE_COUNT + 1];
	double time, power;

	q->base = baseline_of(q);
	features_fill(q, row, features_of(recipe));
	time = value_of(recipe, forest_predict(&p->time, row), q->task->iteration_us * q->base.slowdown);
	power = value_of(recipe, forest_predict(&p->power, row), q->base.power_w);
	*out = (struct hes_estimate){ time, (uint32_t)lround(fmax(power, 0) * 1e3) };
}

void hes_predict(const struct hes_predictor *p, const struct hes_gpu_type *g,
		 const struct hes_profile *task, const struct hes_setting *s,
		 const struct hes_load *beside, struct hes_estimate *out)
{
	predict(p, &(struct query){ .gpu = g, .task = task, .setting = s, .beside = beside }, out);
}

/* Of one output. Squares are of deviations from the first value, against cancellation. */
struct sums {
	double n, first;
	double value, difference, relative;
	double deviation, squares, residual;
};

static void add_error(struct sums *s, double y, double predicted)
{
	if (s->n == 0)
		s->first = y;
	s->n++;
	s->value += y;
	s->difference += fabs(y - predicted);
	s->relative += fabs(y - predicted) / y;
	s->deviation += y - s->first;
	s->squares += (y - s->first) * (y - s->first);
	s->residual += (y - predicted) * (y - predicted);
}

static struct hes_accuracy accuracy_of(const struct sums *s)
{
	double total = s->squares - s->deviation * s->deviation / s->n;

	return (struct hes_accuracy){
		.abs_error = s->difference / s->value,
		.rel_error = s->relative / s->n,
		.mae = s->difference / s->n,
		.r2 = total > 0 ? 1 - s->residual / total : 0,
	};
}

int hes_predictor_test(const struct hes_predictor *p, const struct hes_samples *s,
		       const struct hes_catalogue *c, struct hes_accuracy *time,
		       struct hes_accuracy *power, struct hes_err *err)
{
	struct sums t = { 0 }, w = { 0 };

	if (!s->n)
		return hes_fail(err, -EINVAL, "no samples to test on");
	for (size_t i = 0; i < s->n; i++) {
		struct hes_setting setting;
		struct hes_estimate e;
		struct query q;
		int rc = query_of(&s->v[i], i, c, &setting, &q, err);

		if (rc)
			return rc;
		predict(p, &q, &e);
		add_error(&t, s->v[i].iteration_us, e.iteration_us);
		add_error(&w, s->v[i].power_mw, e.power_mw);
	}
	*time = accuracy_of(&t);
	*power = accuracy_of(&w);
	return 0;
}
