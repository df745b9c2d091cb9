/*
 * cross_validation.c - leave samples out in turn; see cross_validation.h.
 *
 * The baseline's constants without them are one step away from those of all samples (calibrate.h);
 * trees are fitted again. Of many samples a part is used.
 */
#include "predict/cross_validation.h"

#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

#define ROWS         4000 /* to fit on or to predict; of more, every k-th */
#define RANDOM_FOLDS 4    /* folds of random samples */
/* folds by workload and by type at most: a fold leaves out several when there are more */
#define BY_NAME      4
#define FOLDS        (RANDOM_FOLDS + 2 * BY_NAME)
#define MIN_FIT      10   /* samples to fit on at least */
#define MOST_RATE    0.25 /* that is doubled to save time */
#define FOLDS_STREAM 0x666f6c6473u

/* What decides which fold a sample is in: its place in a shuffle, and the index of its workload and
 * its type among the sorted names. */
enum fold_kind { RANDOM, WORKLOAD, TYPE, KINDS };

struct tag {
	uint32_t of[KINDS];
};

struct fold {
	enum fold_kind kind;
	uint32_t group, groups;
};

struct folding {
	const struct observation *v;
	size_t n, every;
	struct tag *tags;
	const struct calibration *fit;
	struct boosting_options o;
};

static bool left_out(const struct tag *t, const struct fold *f)
{
	return t->of[f->kind] % f->groups == f->group;
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
static uint32_t number_names(struct folding *w, struct named *room, size_t name,
			     enum fold_kind kind)
{
	uint32_t names = 0;

	for (size_t i = 0; i < w->n; i++)
		room[i] = (struct named){ (const char *)w->v[i].query.task + name, i };
	qsort(room, w->n, sizeof(*room), by_name);
	for (size_t i = 0; i < w->n; i++) {
		names += i > 0 && strcmp(room[i].name, room[i - 1].name) != 0;
		w->tags[room[i].at].of[kind] = names;
	}
	return names + 1;
}

static void shuffle_samples(struct folding *w, uint32_t *order)
{
	struct hes_rng rng;

	for (uint32_t i = 0; i < w->n; i++)
		order[i] = i;
	hes_rng_seed(&rng, w->o.seed ^ FOLDS_STREAM);
	hes_rng_shuffle(&rng, order, w->n);
	for (uint32_t i = 0; i < w->n; i++)
		w->tags[order[i]].of[RANDOM] = i;
}

/* One fold per name, BY_NAME at most; none when there is only one name. */
static int add_folds(struct fold *to, enum fold_kind kind, uint32_t names)
{
	uint32_t groups = names < BY_NAME ? names : BY_NAME;

	for (uint32_t i = 0; i < groups && groups > 1; i++)
		to[i] = (struct fold){ .kind = kind, .group = i, .groups = groups };
	return groups > 1 ? (int)groups : 0;
}

/* @return the number of folds; -ENOMEM */
static int choose_folds(struct folding *w, struct fold *folds)
{
	struct named *names = calloc(w->n, sizeof(*names));
	uint32_t *order = calloc(w->n, sizeof(*order));
	int n = -ENOMEM;

	if (names && order) {
		shuffle_samples(w, order);
		n = add_folds(folds, RANDOM, RANDOM_FOLDS);
		n += add_folds(
			folds + n, WORKLOAD,
			number_names(w, names, offsetof(struct hes_profile, workload), WORKLOAD));
		n += add_folds(
			folds + n, TYPE,
			number_names(w, names, offsetof(struct hes_profile, gpu_type), TYPE));
	}
	free(names);
	free(order);
	return n;
}

/* A predictor fitted without some samples. */
struct partial_fit {
	struct hes_predictor p;
	struct observation *seen;
	size_t n_seen;
	bool *without;
};

static void partial_fit_finish(struct partial_fit *h)
{
	constants_finish(&h->p.constants);
	ensemble_finish(&h->p.residual);
	range_finish(&h->p.range);
	free(h->seen);
	free(h->without);
}

static int partial_fit(const struct folding *w, const struct fold *f, struct partial_fit *h,
		       struct hes_err *err)
{
	int rc;

	h->p.weight[PREDICTOR_TIME] = h->p.weight[PREDICTOR_POWER] = 1;
	h->seen = calloc(w->n, sizeof(*h->seen));
	h->without = calloc(w->n, sizeof(*h->without));
	if (!h->seen || !h->without)
		return hes_fail(err, -ENOMEM, "out of memory for %zu samples", w->n);
	for (size_t i = 0; i < w->n; i++) {
		h->without[i] = left_out(&w->tags[i], f);
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

static void score_left_out(const struct folding *w, const struct partial_fit *h,
			   const struct fold *f, struct fold_scores *out)
{
	for (size_t i = 0; i < w->n; i += w->every) {
		struct interval_score *s = &out->v[out->n];
		struct observation o = w->v[i];
		double predicted[PREDICTOR_OUTPUTS];
		struct query q;

		if (!h->without[i])
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
	struct partial_fit h = { .n_seen = 0 };
	int rc = partial_fit(w, f, &h, err);

	out->v = rc ? NULL : calloc(w->n / w->every + 1, sizeof(*out->v));
	if (!rc && !out->v)
		rc = hes_fail(err, -ENOMEM, "out of memory for %zu samples", w->n);
	if (!rc && h.p.residual.n_outputs)
		score_left_out(w, &h, f, out);
	partial_fit_finish(&h);
	return rc;
}

/* One list of all folds' scores, in their order. */
static int join_scores(struct fold_scores *parts, int n, struct fold_scores *out,
		       struct hes_err *err)
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
		rc = join_scores(parts, n, out, err);
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

int cross_validate(const struct observation *v, size_t n, const struct calibration *fit,
		   const struct boosting_options *o, struct fold_scores *out, struct hes_err *err)
{
	struct folding w = { v, n, (n + ROWS - 1) / ROWS, calloc(n, sizeof(*w.tags)), fit, *o };
	uint32_t threads = o->threads ? o->threads : (uint32_t)omp_get_max_threads();
	struct fold folds[FOLDS];
	int rc = w.tags ? choose_folds(&w, folds) : -ENOMEM;

	w.o.threads = 1;
	use_fewer_trees(&w.o);
	if (rc < 0)
		hes_fail(err, rc, "out of memory for %zu samples", n);
	else
		rc = run_folds(&w, folds, rc, threads, out, err);
	free(w.tags);
	return rc;
}
