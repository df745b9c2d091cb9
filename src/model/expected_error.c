/*
 * expected_error.c - leave measured networks out, add them again, and compare; see
 * expected_error.h.
 *
 * The truth is the model with the network's own parameters. Points of its profile get noise of the
 * size that the fit assumes.
 */
#include "model/expected_error.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

#define COUNT(a)        (sizeof(a) / sizeof((a)[0]))
#define PART            0.9 /* of the truths that the factors hold */
#define CO_RUNNER_STEP  3   /* every third measured network is a co-runner */
#define CO_RUNNER_BATCH 16
#define SLOW_CLOCK      0.6 /* of the default */
/* Within which nine in ten measurements are of a model that was fitted to them (heshare-calibrate
 * --check), as
 * logarithms: throughput of 2 to 5 processes, and power in watts over all sets. */
#define OWN_TIME_ERROR  0.2
#define OWN_POWER_ERROR 0.16

/* One type of each generation that was measured. */
static const char *const judged_on[] = { "T4", "V100-SXM2-32", "A100-SXM-80" };
static const uint32_t batches[] = { 1, 4, 16, 64 };
static const uint32_t shares[] = { 50, 100 };

/* log(true / model) */
struct ratios {
	double *v;
	size_t n, room;
};

struct trial {
	const struct hes_model *m; /* whole */
	const struct hes_catalogue *c;
	const struct hes_workload *truth;
	struct hes_workload guess;
	struct ratios alone, shared, co_runner, power;
	size_t networks;
	bool out_of_memory;
};

static void note(struct trial *t, struct ratios *r, double truth, double guess)
{
	if (r->n == r->room) {
		double *v = reallocarray(r->v, 2 * r->room + 256, sizeof(*v));

		t->out_of_memory |= !v;
		if (!v)
			return;
		r->v = v;
		r->room = 2 * r->room + 256;
	}
	r->v[r->n++] = log(truth / guess);
}

/* Programs of which the published sets have networks that only infer. */
static bool is_judged(const struct hes_model *m, size_t i)
{
	return hes_prior_counts(m, i) || !strncmp(m->workloads[i].framework, "tensor", 6);
}

static size_t family_length(const char *name)
{
	size_t n = 0;

	while (isalpha((unsigned char)name[n]))
		n++;
	return n;
}

static bool same_family(const char *a, const char *b)
{
	return family_length(a) == family_length(b) && !strncmp(a, b, family_length(a));
}

/* A known network of the family besides @w itself; NULL: none. */
static const struct hes_workload *sibling(const struct hes_model *m, const struct hes_workload *w)
{
	for (size_t i = 0; i < m->n_workloads; i++)
		if (&m->workloads[i] != w && hes_prior_counts(m, i) &&
		    same_family(m->workloads[i].name, w->name))
			return &m->workloads[i];
	return NULL;
}

/* The model's jobs on @g with the truth as the first, then with the guess. */
static void compare(struct trial *t, const struct hes_gpu_type *g, uint32_t clock_mhz,
		    struct hes_model_job *jobs, size_t n)
{
	struct hes_steady was, is;
	struct hes_rate truth[2], guess[2];

	jobs[0].workload = t->truth;
	if (hes_model_steady(t->m, g, clock_mhz, 0, jobs, n, truth, &was, NULL))
		return;
	jobs[0].workload = &t->guess;
	if (hes_model_steady(t->m, g, clock_mhz, 0, jobs, n, guess, &is, NULL))
		return;
	note(t, n > 1 ? &t->shared : &t->alone, guess[0].iterations_per_s,
	     truth[0].iterations_per_s);
	note(t, &t->power, was.power_w, is.power_w);
	if (n > 1)
		note(t, &t->co_runner, guess[1].iterations_per_s, truth[1].iterations_per_s);
}

static void compare_on(struct trial *t, const struct hes_gpu_type *g, uint32_t batch)
{
	const uint32_t slow = (uint32_t)(SLOW_CLOCK * g->clock_default_mhz);

	for (size_t s = 0; s < COUNT(shares); s++) {
		struct hes_model_job jobs[2] = { { NULL, batch, shares[s] },
						 { NULL, CO_RUNNER_BATCH, shares[s] } };
		size_t known = 0;

		compare(t, g, 0, jobs, 1);
		compare(t, g, slow > g->clock_min_mhz ? slow : g->clock_min_mhz, jobs, 1);
		for (size_t i = 0; i < t->m->n_workloads; i++) {
			if (!hes_prior_counts(t->m, i) || known++ % CO_RUNNER_STEP)
				continue;
			jobs[1].workload = &t->m->workloads[i];
			compare(t, g, 0, jobs, 2);
		}
	}
}

/* The profile that the truth would have at the point, with noise. */
static int draw_point(const struct trial *t, const struct hes_fit_point *at, struct hes_rng *rng,
		      struct hes_profile *out)
{
	const struct hes_model_job alone = { t->truth, at->measured->batch_size, 100 };
	struct hes_steady now;
	struct hes_rate rate;
	int rc = hes_model_steady(t->m, at->type, 0, 0, &alone, 1, &rate, &now, NULL);

	if (rc)
		return rc;
	*out = (struct hes_profile){
		.batch_size = alone.batch,
		.iteration_us = 1e6 / rate.iterations_per_s *
				exp(HES_FIT_TIME_TOLERANCE * hes_rng_normal(rng)),
		.power_mw = at->measured->power_mw
				    ? (uint32_t)(1e3 * now.power_w *
						 exp(HES_FIT_POWER_TOLERANCE * hes_rng_normal(rng)))
				    : 0,
	};
	if (at->measured->sm_util > 0) {
		out->sm_util =
			fmin(1, rate.sm_util * exp(HES_FIT_PART_TOLERANCE * hes_rng_normal(rng)));
		out->dram_util =
			fmin(1, rate.dram_util * exp(HES_FIT_PART_TOLERANCE * hes_rng_normal(rng)));
	}
	if (at->measured->busy > 0)
		out->busy = fmin(1, rate.busy * exp(HES_FIT_PART_TOLERANCE * hes_rng_normal(rng)));
	return 0;
}

/* The model without the truth and, unless siblings are what it is like, without its family. */
static void reduce(const struct trial *t, bool keep_family, struct hes_model *out)
{
	out->n_workloads = 0;
	for (size_t i = 0; i < t->m->n_workloads; i++) {
		const struct hes_workload *w = &t->m->workloads[i];

		if (w != t->truth && (keep_family || !same_family(w->name, t->truth->name)))
			out->workloads[out->n_workloads++] = *w;
	}
}

/* Facts of the truth, of the kinds that are known of the added workload. */
static struct hes_workload_facts facts_of(const struct trial *t,
					  const struct hes_workload_facts *kinds,
					  const struct hes_workload *like)
{
	const struct hes_workload *w = t->truth;

	return (struct hes_workload_facts){
		.gflop_per_item = kinds->gflop_per_item > 0 ? w->gflop_per_item : 0,
		.weights_mib = kinds->weights_mib > 0 ? w->traffic_mib : 0,
		.traffic_mib_per_item =
			kinds->traffic_mib_per_item > 0 ? w->traffic_mib_per_item : 0,
		.kernels = kinds->kernels > 0 ? w->kernels : 0,
		.like = like ? like->name : NULL,
		.has_math = kinds->has_math,
		.math = w->math,
	};
}

static int leave_out_one(struct trial *t, const struct hes_workload_facts *kinds,
			 const struct hes_fit_point *points, size_t n, struct hes_model *reduced,
			 struct hes_err *err)
{
	const struct hes_workload *like = kinds->like ? sibling(t->m, t->truth) : NULL;
	struct hes_workload_facts facts = facts_of(t, kinds, like);
	struct hes_profile drawn[HES_EXPECTED_ERROR_POINTS];
	struct hes_fit_point at[HES_EXPECTED_ERROR_POINTS];
	struct hes_rng rng;
	size_t drawn_n = 0;
	int rc;

	if (kinds->like && !like)
		return 0;
	hes_rng_seed(&rng, t->networks + 1);
	for (size_t i = 0; i < n; i++)
		if (!draw_point(t, &points[i], &rng, &drawn[drawn_n])) {
			at[drawn_n] = (struct hes_fit_point){ &drawn[drawn_n], points[i].type };
			drawn_n++;
		}
	reduce(t, like, reduced);
	rc = hes_fit_workload(reduced, &facts, at, drawn_n, &t->guess, NULL, err);
	if (rc)
		return rc;
	t->networks++;
	for (size_t g = 0; g < COUNT(judged_on); g++) {
		const struct hes_gpu_type *type = hes_gpu_type_find(t->c, judged_on[g], NULL);

		for (size_t b = 0; type && b < COUNT(batches); b++)
			compare_on(t, type, batches[b]);
	}
	return 0;
}

static int ascending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double quantile(struct ratios *r, double q)
{
	qsort(r->v, r->n, sizeof(*r->v), ascending);
	return r->v[(size_t)(q * (double)(r->n - 1) + 0.5)];
}

/* As a part of the model's value. Leaves absolute values behind. */
static double median_error(struct ratios *r)
{
	for (size_t i = 0; i < r->n; i++)
		r->v[i] = fabs(r->v[i]);
	return exp(quantile(r, 0.5)) - 1;
}

/* The wider one of what two lists say, with the model's own error, which is independent of it. */
static struct hes_factors factors_of(struct ratios *a, struct ratios *b, double own)
{
	const double below = 0.5 - PART / 2, above = 0.5 + PART / 2;
	const double low = fmin(fmin(quantile(a, below), quantile(b, below)), 0);
	const double high = fmax(fmax(quantile(a, above), quantile(b, above)), 0);

	return (struct hes_factors){ exp(-sqrt(low * low + own * own)),
				     exp(sqrt(high * high + own * own)) };
}

static int sum_up(struct trial *t, struct hes_expected_error *out, struct hes_err *err)
{
	if (t->out_of_memory)
		return hes_fail(err, -ENOMEM, "out of memory for errors");
	if (!t->alone.n || !t->shared.n)
		return hes_fail(err, -ENODATA,
				"no measured network can be left out to find the error to expect");
	*out = (struct hes_expected_error){
		.networks = t->networks,
		.time = factors_of(&t->alone, &t->shared, OWN_TIME_ERROR),
		.power = factors_of(&t->power, &t->power, OWN_POWER_ERROR),
	};
	out->time_alone = median_error(&t->alone);
	out->time_shared = median_error(&t->shared);
	out->co_runner = median_error(&t->co_runner);
	out->power_median = median_error(&t->power);
	return 0;
}

int hes_expect_error(const struct hes_model *m, const struct hes_catalogue *c,
		     const struct hes_workload_facts *facts, const struct hes_fit_point *points,
		     size_t n, struct hes_expected_error *out, struct hes_err *err)
{
	struct hes_model reduced = *m;
	struct trial t = { .m = m, .c = c };
	int rc = 0;

	reduced.workloads = calloc(m->n_workloads + 1, sizeof(*reduced.workloads));
	if (!reduced.workloads)
		return hes_fail(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < m->n_workloads && !rc; i++) {
		t.truth = &m->workloads[i];
		if (is_judged(m, i))
			rc = leave_out_one(&t, facts, points, n, &reduced, err);
	}
	if (!rc)
		rc = sum_up(&t, out, err);
	free(reduced.workloads);
	free(t.alone.v);
	free(t.shared.v);
	free(t.co_runner.v);
	free(t.power.v);
	return rc;
}
