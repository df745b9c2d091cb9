/*
 * paper_learners.c - the three learners that Han et al. compare; see paper_learners.h.
 */
#include "paper_learners.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "study.h"

#define FOLDS     5
#define MOST_SETS (LEARNERS_BUDGET / FOLDS) /* settings that are tried */

/* Settings that are tried on rows, in folds. */
struct search {
	const struct training_rows *rows;
	uint64_t seed;
	uint8_t *fold; /* of each row */
	struct paper_setting tried[MOST_SETS];
	double *predicted[MOST_SETS]; /* of each row, by a fit that did not see it */
	double error[MOST_SETS];
	size_t n, fits;
};

static void search_close(struct search *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->predicted[i]);
	free(s->fold);
}

static int search_open(struct search *s, const struct training_rows *rows, uint64_t seed,
		       struct hes_err *err)
{
	uint32_t *order = malloc(rows->n * sizeof(*order));
	struct hes_rng rng;

	*s = (struct search){ .rows = rows, .seed = seed, .fold = malloc(rows->n) };
	if (!order || !s->fold) {
		free(order);
		return hes_fail(err, -ENOMEM, "out of memory for %zu rows", rows->n);
	}
	for (size_t i = 0; i < rows->n; i++)
		order[i] = (uint32_t)i;
	hes_rng_seed(&rng, seed);
	hes_rng_shuffle(&rng, order, rows->n);
	for (size_t i = 0; i < rows->n; i++)
		s->fold[order[i]] = (uint8_t)(i % FOLDS);
	free(order);
	return 0;
}

static void copy_row(const struct training_rows *rows, size_t i, float *out)
{
	for (size_t k = 0; k < rows->n_features; k++)
		out[k] = rows->x[k * rows->n + i];
}

/* Fit to the rows outside of a fold, and predict those in it. @param x, y  room for all rows */
static int try_fold(const struct search *s, const struct paper_setting *o, uint8_t fold, float *x,
		    double *y, double *out, struct hes_err *err)
{
	const struct training_rows *all = s->rows;
	struct training_rows rows = {
		.x = x, .y = y, .n_features = all->n_features, .n_outputs = 1
	};
	float row[PAPER_MAX_FEATURES];
	struct paper_regressor r;
	int rc;

	for (size_t i = 0; i < all->n; i++)
		rows.n += s->fold[i] != fold;
	for (size_t i = 0, at = 0; i < all->n; i++) {
		if (s->fold[i] == fold)
			continue;
		for (size_t k = 0; k < all->n_features; k++)
			x[k * rows.n + at] = all->x[k * all->n + i];
		y[at++] = all->y[i];
	}
	rc = paper_regressor_fit(&rows, o, &r, err);
	for (size_t i = 0; i < all->n && !rc; i++)
		if (s->fold[i] == fold) {
			copy_row(all, i, row);
			paper_regressor_predict(&r, row, &out[i]);
		}
	if (!rc)
		paper_regressor_free(&r);
	return rc;
}

static double error_of(const double *y, const double *predicted, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += fabs(predicted[i] / y[i] - 1);
	return sum / (double)n;
}

/* Cross-validation of one more setting. */
static int search_try(struct search *s, struct paper_setting o, struct hes_err *err)
{
	const size_t n = s->rows->n;
	double *predicted = malloc(n * sizeof(*predicted)), *y = malloc(n * sizeof(*y));
	float *x = malloc(n * s->rows->n_features * sizeof(*x));
	int rc = predicted && y && x ? 0 : hes_fail(err, -ENOMEM, "out of memory for %zu rows", n);

	s->tried[s->n] = o;
	o.o.trees = o.o.trees ? o.o.trees / 2 + 1 : 0;
	for (uint8_t fold = 0; fold < FOLDS && !rc; fold++)
		rc = try_fold(s, &o, fold, x, y, predicted, err);
	free(x);
	free(y);
	if (rc) {
		free(predicted);
		return rc;
	}
	s->fits += FOLDS;
	s->error[s->n] = error_of(s->rows->y, predicted, n);
	s->predicted[s->n++] = predicted;
	return 0;
}

static uint32_t third(size_t features, size_t i)
{
	return (uint32_t)((features * i + 2) / 3);
}

static int search_grid(struct search *s, const struct paper_setting *from, struct hes_err *err)
{
	static const uint32_t leaves[] = { 1, 2, 4 };
	int rc = 0;

	for (size_t i = 0; i < 9 && !rc; i++) {
		struct paper_setting o = *from;

		o.learner = PAPER_FOREST;
		o.features_per_split = third(s->rows->n_features, i / 3 + 1);
		o.o.min_leaf = leaves[i % 3];
		rc = search_try(s, o, err);
	}
	return rc;
}

/* A forest or boosting with settings at random. */
static struct paper_setting draw_setting(struct hes_rng *rng, size_t features,
					 const struct paper_setting *from)
{
	static const double rates[] = { 0.05, 0.1, 0.2 }, parts[] = { 0.5, 0.7, 1 };
	static const uint32_t leaves[] = { 4, 8, 16, 31 };
	struct paper_setting o = *from;

	o.learner = hes_rng_small(rng, 2) ? PAPER_BOOSTING : PAPER_FOREST;
	o.o.min_leaf = 1 + hes_rng_small(rng, 5);
	if (o.learner == PAPER_FOREST) {
		o.features_per_split = third(features, 1 + hes_rng_small(rng, 3));
		return o;
	}
	o.o.trees *= 1 + hes_rng_small(rng, 3);
	o.o.learning_rate = rates[hes_rng_small(rng, 3)];
	o.o.row_fraction = parts[hes_rng_small(rng, 3)];
	o.o.max_leaves = leaves[hes_rng_small(rng, 4)];
	return o;
}

static int search_auto(struct search *s, const struct paper_setting *from, struct hes_err *err)
{
	static const enum paper_learner first[LEARNT_MOST] = { PAPER_FOREST, PAPER_BOOSTING,
							       PAPER_TREE, PAPER_LINEAR };
	struct hes_rng rng;
	int rc = 0;

	hes_rng_seed(&rng, s->seed);
	/* The last fits of the budget are those on all rows. */
	for (size_t i = 0; s->fits + FOLDS + LEARNT_MOST <= LEARNERS_BUDGET && !rc; i++) {
		struct paper_setting o = *from;

		if (i >= LEARNT_MOST)
			o = draw_setting(&rng, s->rows->n_features, from);
		else
			o.learner = first[i];
		if (o.learner == PAPER_TREE || o.learner == PAPER_LINEAR)
			o.o.trees = 0;
		rc = search_try(s, o, err);
	}
	return rc;
}

/* The best setting of each kind, the kind with the least error first. @return their number */
static size_t best_of_kinds(const struct search *s, size_t best[LEARNT_MOST])
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		size_t k = 0, at;

		while (k < n && s->tried[best[k]].learner != s->tried[i].learner)
			k++;
		if (k < n && s->error[best[k]] <= s->error[i])
			continue;
		at = k < n ? k : n++;
		for (; at > 0 && s->error[best[at - 1]] > s->error[i]; at--)
			best[at] = best[at - 1];
		best[at] = i;
	}
	return n;
}

/* How many of the first to take the mean of. */
static size_t best_mean(const struct search *s, const size_t *best, size_t n, double *room)
{
	const size_t rows = s->rows->n;
	double least = INFINITY;
	size_t take = 1;

	for (size_t k = 1; k <= n; k++) {
		double error;

		for (size_t i = 0; i < rows; i++) {
			room[i] = 0;
			for (size_t j = 0; j < k; j++)
				room[i] += s->predicted[best[j]][i] / (double)k;
		}
		error = error_of(s->rows->y, room, rows);
		if (error < least) {
			least = error;
			take = k;
		}
	}
	return take;
}

static int fit_all(const struct training_rows *rows, const struct paper_setting *o,
		   struct learnt *to, struct hes_err *err)
{
	double from = study_cpu_seconds();
	int rc = paper_regressor_fit(rows, o, &to->of[to->n], err);

	if (rc)
		return rc;
	to->n++;
	to->fits++;
	to->fit_s += study_cpu_seconds() - from;
	return 0;
}

static int fit_best(const struct search *s, struct learnt *to, struct hes_err *err)
{
	double *room = malloc(s->rows->n * sizeof(*room));
	size_t best[LEARNT_MOST], n = best_of_kinds(s, best);
	int rc = room ? 0 : hes_fail(err, -ENOMEM, "out of memory for %zu rows", s->rows->n);

	if (!rc)
		n = best_mean(s, best, n, room);
	free(room);
	to->fits = s->fits;
	for (size_t i = 0; i < n && !rc; i++)
		rc = fit_all(s->rows, &s->tried[best[i]], to, err);
	return rc;
}

int learner_fit(enum learner learner, const struct training_rows *rows, uint64_t seed,
		uint32_t trees, struct learnt *out, struct hes_err *err)
{
	const struct paper_setting o = {
		.learner = PAPER_EXTRA_TREES,
		.o = { .seed = seed, .trees = trees ? trees : LEARNERS_TREES, .threads = 1 }
	};
	struct learnt to = { .n = 0 };
	struct search s = { .n = 0 };
	int rc = 0;

	if (learner == LEARNER_EXTRA_TREES) {
		rc = fit_all(rows, &o, &to, err);
	} else {
		rc = search_open(&s, rows, seed, err);
		if (!rc)
			rc = learner == LEARNER_AUTO ? search_auto(&s, &o, err)
						     : search_grid(&s, &o, err);
		if (!rc)
			rc = fit_best(&s, &to, err);
		search_close(&s);
	}
	if (rc)
		learnt_free(&to);
	else
		*out = to;
	return rc;
}

double learnt_predict(const struct learnt *l, const float *row)
{
	double sum = 0;

	for (size_t i = 0; i < l->n; i++) {
		double v;

		paper_regressor_predict(&l->of[i], row, &v);
		sum += v / (double)l->n;
	}
	return sum;
}

void learnt_free(struct learnt *l)
{
	for (size_t i = 0; i < l->n; i++)
		paper_regressor_free(&l->of[i]);
}
