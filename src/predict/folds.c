/*
 * folds.c - leave samples out in turn; see folds.h.
 *
 * The baseline's constants without them are one step away from those of all samples (calibrate.h);
 * trees are fitted again. Of many samples a part is used.
 */
#include "predict/folds.h"

#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

#define ROWS         4000 /* to fit on or to predict; of more, every k-th */
#define RANDOM_FOLDS 4    /* folds of random samples */
#define BY_NAME                                                                                   \
	4 /* folds by workload and by type at most: a fold leaves out several when there are more \
	   */
#define BY_PAIR                                                                                  \
	3 /* one in so many pairs of workload and type; each type and workload stays with others \
	   */
#define CO_RUNNER_FOLDS 4 /* folds that leave one workload out, as a task and as a co-runner */
#define FOLDS           (RANDOM_FOLDS + 2 * BY_NAME + 1 + CO_RUNNER_FOLDS + 2)
#define MIN_FIT         10   /* samples to fit on at least */
#define END_PART        0.1  /* part of the samples at an end of a setting, at least */
#define END_MOST        0.4  /* ... and at most */
#define MOST_RATE       0.25 /* that is doubled to save time */
#define LOT_STREAM      0x666f6c6473u

enum fold_kind { RANDOM, WORKLOAD, TYPE, PAIR, CO_RUNNER, LOW_END, HIGH_END };

struct fold {
	enum fold_kind kind;
	uint32_t group, groups;
	const char *name; /* of a stranger */
};

/* What decides the folds of a sample. */
struct tag {
	uint32_t random, workload,
		type;   /* index of its workload and its type among the sorted names */
	bool low, high; /* at an end of one of its settings */
};

struct folding {
	const struct observation *v;
	size_t n, every;
	struct tag *tags;
	const struct calibration *fit;
	struct boosting_options o;
};

static bool is_co_runner(const struct observation *o, const char *workload)
{
	for (size_t i = 0; i < o->n_named; i++)
		if (strcmp(o->named[i].solo.workload, workload) == 0)
			return true;
	return false;
}

static bool left_out(const struct tag *t, const struct observation *o, const struct fold *f)
{
	switch (f->kind) {
	case RANDOM:
		return t->random % f->groups == f->group;
	case WORKLOAD:
		return t->workload % f->groups == f->group;
	case TYPE:
		return t->type % f->groups == f->group;
	case PAIR:
		return (t->workload + t->type) % f->groups == f->group;
	case CO_RUNNER:
		return strcmp(o->query.task->workload, f->name) == 0 || is_co_runner(o, f->name);
	case LOW_END:
		return t->low;
	default:
		return t->high;
	}
}

struct named {
	const char *name;
	size_t at;
};

static int by_name(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : (x->at > y->at) - (x->at < y->at);
}

/* Number names in sorted order, so that similar names fall into different groups. @return the
 * number of names */
static uint32_t number_names(struct folding *w, struct named *room, size_t name, size_t number)
{
	uint32_t names = 0;

	for (size_t i = 0; i < w->n; i++)
		room[i] = (struct named){ (const char *)w->v[i].query.task + name, i };
	qsort(room, w->n, sizeof(*room), by_name);
	for (size_t i = 0; i < w->n; i++) {
		names += i > 0 && strcmp(room[i].name, room[i - 1].name) != 0;
		*(uint32_t *)(void *)((char *)&w->tags[room[i].at] + number) = names;
	}
	return names + 1;
}

static void shuffle_samples(struct folding *w, uint32_t *order)
{
	struct hes_rng rng;

	for (uint32_t i = 0; i < w->n; i++)
		order[i] = i;
	hes_rng_seed(&rng, w->o.seed ^ LOT_STREAM);
	hes_rng_shuffle(&rng, order, w->n);
	for (uint32_t i = 0; i < w->n; i++)
		w->tags[order[i]].random = i;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double axis_value(const struct observation *o, size_t axis)
{
	const struct query *q = &o->query;
	const double at[] = {
		(double)q->setting->clock_mhz / q->gpu->clock_max_mhz,
		q->setting->sm_pct,
		q->task->batch_size,
		q->co_runners->jobs,
	};

	return at[axis];
}

#define END_AXES 4 /* the last, co-runners, has only a high end: a job alone is the common case */

/* The value up to which END_PART of sorted values lie; *part: how many do. */
static double low_end(const double *sorted, size_t n, double *part)
{
	double end = sorted[(size_t)((double)n * END_PART)];
	size_t count = 0;

	while (count < n && sorted[count] <= end)
		count++;
	*part = (double)count / (double)n;
	return end;
}

/* A setting with few values may have too many samples at an end to leave them out. */
static void mark_ends(struct folding *w, double *room, size_t axis, bool high)
{
	double sign = high ? -1 : 1, part, end;

	for (size_t i = 0; i < w->n; i++)
		room[i] = sign * axis_value(&w->v[i], axis);
	qsort(room, w->n, sizeof(*room), by_value);
	end = low_end(room, w->n, &part);
	for (size_t i = 0; i < w->n && part <= END_MOST; i++) {
		bool at_end = sign * axis_value(&w->v[i], axis) <= end;

		w->tags[i].high |= high && at_end;
		w->tags[i].low |= !high && at_end;
	}
}

/* One fold per name, BY_NAME at most; none when there is only one name. */
static int add_folds(struct fold *to, enum fold_kind kind, uint32_t names)
{
	uint32_t groups = names < BY_NAME ? names : BY_NAME;

	for (uint32_t i = 0; i < groups && groups > 1; i++)
		to[i] = (struct fold){ .kind = kind, .group = i, .groups = groups };
	return groups > 1 ? (int)groups : 0;
}

/* Workloads that samples name as co-runners; of many, some that are far apart in sorted order. */
static int add_co_runner_folds(const struct folding *w, struct fold *to, uint32_t workloads)
{
	uint32_t most = workloads < CO_RUNNER_FOLDS ? workloads : CO_RUNNER_FOLDS;
	int n = 0;

	for (uint32_t k = 0; k < most && workloads > 1; k++) {
		const char *name = NULL;
		bool co_runners = false;

		for (size_t i = 0; i < w->n && !name; i++)
			if (w->tags[i].workload == k * workloads / most)
				name = w->v[i].query.task->workload;
		for (size_t i = 0; i < w->n && !co_runners; i++)
			co_runners = is_co_runner(&w->v[i], name);
		if (co_runners)
			to[n++] = (struct fold){ .kind = CO_RUNNER, .name = name };
	}
	return n;
}

/* @return the number of folds; -ENOMEM */
static int lay_out(struct folding *w, struct fold *folds)
{
	struct named *names = calloc(w->n, sizeof(*names));
	double *values = calloc(w->n, sizeof(*values));
	uint32_t *order = calloc(w->n, sizeof(*order)), workloads, types;
	int n = -ENOMEM;

	if (names && values && order) {
		n = 0;
		shuffle_samples(w, order);
		workloads = number_names(w, names, offsetof(struct hes_profile, workload),
					 offsetof(struct tag, workload));
		types = number_names(w, names, offsetof(struct hes_profile, gpu_type),
				     offsetof(struct tag, type));
		for (size_t axis = 0; axis < END_AXES; axis++) {
			mark_ends(w, values, axis, true);
			if (axis + 1 < END_AXES)
				mark_ends(w, values, axis, false);
		}
		for (uint32_t i = 0; i < RANDOM_FOLDS; i++)
			folds[n++] =
				(struct fold){ .kind = RANDOM, .group = i, .groups = RANDOM_FOLDS };
		n += add_folds(folds + n, WORKLOAD, workloads);
		n += add_folds(folds + n, TYPE, types);
		if (types > 1 && workloads > 1)
			folds[n++] = (struct fold){ .kind = PAIR, .groups = BY_PAIR };
		n += add_co_runner_folds(w, folds + n, workloads);
		folds[n++] = (struct fold){ .kind = LOW_END };
		folds[n++] = (struct fold){ .kind = HIGH_END };
	}
	free(names);
	free(values);
	free(order);
	return n;
}

/* A predictor fitted without some samples. */
struct half {
	struct hes_predictor p;
	struct observation *seen;
	size_t n_seen;
	bool *without;
};

static void half_finish(struct half *h)
{
	constants_finish(&h->p.constants);
	ensemble_finish(&h->p.residual);
	range_finish(&h->p.range);
	free(h->seen);
	free(h->without);
}

static int learn(const struct folding *w, const struct fold *f, struct half *h, struct hes_err *err)
{
	int rc;

	h->p.weight[PREDICTOR_TIME] = h->p.weight[PREDICTOR_POWER] = 1;
	h->seen = calloc(w->n, sizeof(*h->seen));
	h->without = calloc(w->n, sizeof(*h->without));
	if (!h->seen || !h->without)
		return hes_fail(err, -ENOMEM, "out of memory for %zu samples", w->n);
	for (size_t i = 0; i < w->n; i++) {
		h->without[i] = left_out(&w->tags[i], &w->v[i], f);
		if (!h->without[i] && i % w->every == 0)
			h->seen[h->n_seen++] = w->v[i];
	}
	for (size_t i = 0; i < h->n_seen; i++)
		observation_relink(&h->seen[i]);
	if (h->n_seen < MIN_FIT)
		return 0;
	rc = calibration_without(w->fit, h->without, &h->p.constants);
	if (!rc)
		rc = range_fit(h->seen, h->n_seen, &h->p.range);
	if (rc)
		return hes_fail(err, rc, "out of memory for %zu samples", w->n);
	for (size_t i = 0; i < h->n_seen; i++)
		predictor_set_load(&h->p, &h->seen[i]);
	return predictor_fit_residual(&h->p, h->seen, h->n_seen, &w->o, err);
}

/* For an unseen co-runner, the tasks that ran with it are scored. */
static void score(const struct folding *w, const struct half *h, const struct fold *f,
		  struct fold_scores *out)
{
	for (size_t i = 0; i < w->n; i += w->every) {
		struct interval_score *s = &out->v[out->n];
		struct observation o = w->v[i];
		double predicted[PREDICTOR_OUTPUTS];
		struct query q;

		if (!h->without[i] ||
		    (f->kind == CO_RUNNER && !strcmp(o.query.task->workload, f->name)))
			continue;
		observation_relink(&o);
		predictor_set_load(&h->p, &o);
		predictor_query(&h->p, o.query.gpu, o.query.task, o.query.setting,
				o.query.co_runners, &q);
		predictor_predict(&h->p, &q, predicted);
		*s = (struct interval_score){ .distance = predictor_distance(&h->p, &q),
					      .co_runners = q.co_runners->jobs,
					      .weight = o.weight,
					      .modelled = o.modelled,
					      .random = f->kind == RANDOM,
					      .group = f->group };
		s->off[PREDICTOR_TIME] = log(o.iteration_us / predicted[PREDICTOR_TIME]);
		s->off[PREDICTOR_POWER] = log(o.power_w / predicted[PREDICTOR_POWER]);
		s->residual[PREDICTOR_TIME] =
			log(predicted[PREDICTOR_TIME] / (q.task->iteration_us * q.base.slowdown));
		s->residual[PREDICTOR_POWER] = log(predicted[PREDICTOR_POWER] / q.base.power_w);
		out->n++;
	}
}

/* Scores of one fold; none when too few samples are left. */
static int run_fold(const struct folding *w, const struct fold *f, struct fold_scores *out,
		    struct hes_err *err)
{
	struct half h = { .n_seen = 0 };
	int rc = learn(w, f, &h, err);

	out->v = rc ? NULL : calloc(w->n / w->every + 1, sizeof(*out->v));
	if (!rc && !out->v)
		rc = hes_fail(err, -ENOMEM, "out of memory for %zu samples", w->n);
	if (!rc && h.p.residual.n_outputs)
		score(w, &h, f, out);
	half_finish(&h);
	return rc;
}

/* One list of all folds' scores, in their order. */
static int join(struct fold_scores *parts, int n, struct fold_scores *out, struct hes_err *err)
{
	struct fold_scores all = { 0 };
	size_t room = 1;

	for (int i = 0; i < n; i++)
		room += parts[i].n;
	all.v = calloc(room, sizeof(*all.v));
	if (!all.v)
		return hes_fail(err, -ENOMEM, "out of memory for %zu errors", room);
	for (int i = 0; i < n; i++) {
		if (parts[i].n)
			memcpy(all.v + all.n, parts[i].v, parts[i].n * sizeof(*all.v));
		all.n += parts[i].n;
	}
	*out = all;
	return 0;
}

static int run_folds(const struct folding *w, const struct fold *folds, int n, uint32_t threads,
		     struct fold_scores *out, struct hes_err *err)
{
	struct fold_scores parts[FOLDS] = { { 0 } };
	int rc = 0;

#pragma omp parallel for num_threads((int)threads) schedule(dynamic)
	for (int i = 0; i < n; i++) {
		struct hes_err own;
		int failed = run_fold(w, &folds[i], &parts[i], &own);

#pragma omp critical
		if (failed && !rc) {
			rc = failed;
			if (err)
				*err = own;
		}
	}
	if (!rc)
		rc = join(parts, n, out, err);
	for (int i = 0; i < n; i++)
		free(parts[i].v);
	return rc;
}

/* A quarter of the trees with four times the learning rate is hardly less accurate. */
static void use_fewer_trees(struct boosting_options *o)
{
	for (int i = 0; i < 2; i++)
		if (o->trees > 1 && o->learning_rate <= MOST_RATE) {
			o->trees = (o->trees + 1) / 2;
			o->learning_rate *= 2;
		}
}

int folds_score(const struct observation *v, size_t n, const struct calibration *fit,
		const struct boosting_options *o, struct fold_scores *out, struct hes_err *err)
{
	struct folding w = { v, n, (n + ROWS - 1) / ROWS, calloc(n, sizeof(*w.tags)), fit, *o };
	uint32_t threads = o->threads ? o->threads : (uint32_t)omp_get_max_threads();
	struct fold folds[FOLDS];
	int rc = w.tags ? lay_out(&w, folds) : -ENOMEM;

	w.o.threads = 1;
	use_fewer_trees(&w.o);
	if (rc < 0)
		hes_fail(err, rc, "out of memory for %zu samples", n);
	else
		rc = run_folds(&w, folds, rc, threads, out, err);
	free(w.tags);
	return rc;
}
