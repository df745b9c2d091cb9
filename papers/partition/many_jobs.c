/*
 * many_jobs.c - splits for three and four jobs: the search against the best of all splits by the truth.
 *
 * The models never saw four jobs together, and three at most in other sets than those that are tested.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study.h"

#define SETS       200
#define SETS_QUICK 20
#define LEVELS     (100 / TESTBED_STEP)
#define MOST_LOSS  3 /* percent below the oracle on average */

enum { OBJECTIVES = HES_PARTITION_ENERGY + 1 };

/* A set of jobs with the best that is possible. */
struct task {
	size_t n, job[HES_PARTITION_MAX_JOBS]; /* by rising index */
	double best[OBJECTIVES];
};

static const struct {
	const char *name;
	int         method;
	size_t      most_jobs; /* of sets that it learns from */
} trained[] = {
	{ "corrected, no set", METHOD_CORRECTED, 0 },
	{ "corrected, pairs", METHOD_CORRECTED, 2 },
	{ "corrected, pairs and triples", METHOD_CORRECTED, 3 },
	{ "paper's method, pairs", METHOD_PAPER_ET, 2 },
	{ "paper's method, pairs and triples", METHOD_PAPER_ET, 3 },
};

static double true_per_watt(const struct testbed *t, const struct co_run_set *s, int objective)
{
	double sum = 0, stretch = 0;

	for (size_t i = 0; i < s->n; i++) {
		double part = s->rate[i] / (objective == HES_PARTITION_THROUGHPUT ? 1 : t->alone_rate[s->job[i]]);

		sum += part;
		stretch += 1 / part;
	}
	return (objective == HES_PARTITION_ENERGY ? (double)(s->n * s->n) / stretch : sum) / s->power_w;
}

static int by_index(const void *a, const void *b)
{
	const size_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void draw_jobs(const struct testbed *t, struct hes_rng *rng, size_t n, size_t *job)
{
	do {
		for (size_t i = 0; i < n; i++)
			job[i] = hes_rng_below(rng, TESTBED_JOBS);
		qsort(job, n, sizeof(*job), by_index);
	} while (!testbed_fits(t, job, n));
}

/* Try all splits of the jobs from number @i on, among the levels that are left. */
static int enumerate(const struct testbed *t, struct task *task, struct co_run_set *s, size_t i, uint32_t left, struct hes_err *err)
{
	int rc = 0;

	if (i == s->n) {
		rc = testbed_truth(t, s, err);
		for (int o = 0; o < OBJECTIVES && !rc; o++)
			task->best[o] = fmax(task->best[o], true_per_watt(t, s, o));
		return rc;
	}
	for (uint32_t level = 1; level + (s->n - 1 - i) <= left && !rc; level++) {
		s->sm_pct[i] = level * TESTBED_STEP;
		rc = enumerate(t, task, s, i + 1, left - level, err);
	}
	return rc;
}

static int make_tasks(const struct testbed *t, struct hes_rng *rng, size_t n_jobs, struct task *v, size_t n, struct hes_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++) {
		struct co_run_set s = { .n = n_jobs };

		v[i] = (struct task){ .n = n_jobs };
		draw_jobs(t, rng, n_jobs, v[i].job);
		memcpy(s.job, v[i].job, sizeof(s.job));
		rc = enumerate(t, &v[i], &s, 0, LEVELS, err);
	}
	return rc;
}

static bool is_task(const struct task *v, size_t n, const struct co_run_set *s)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].n == s->n && memcmp(v[i].job, s->job, s->n * sizeof(s->job[0])) == 0)
			return true;
	return false;
}

/* Shares of three jobs: two cuts of the GPU. */
static void draw_shares(struct hes_rng *rng, struct co_run_set *s)
{
	uint32_t a, b;

	do {
		a = 1 + hes_rng_small(rng, LEVELS);
		b = 1 + hes_rng_small(rng, LEVELS);
	} while (a + b >= LEVELS);
	s->sm_pct[0] = a * TESTBED_STEP;
	s->sm_pct[1] = b * TESTBED_STEP;
	s->sm_pct[2] = 100 - s->sm_pct[0] - s->sm_pct[1];
}

/* All pairs, and random triples of jobs that are no task. */
static int make_training(const struct testbed *t, struct hes_rng *rng, const struct task *tasks, size_t n, struct co_run_sets *out,
			 struct hes_err *err)
{
	int rc = 0;

	out->v = malloc((t->pairs.n + n) * sizeof(*out->v));
	if (!out->v)
		return hes_fail(err, -ENOMEM, "out of memory for sets of jobs");
	memcpy(out->v, t->pairs.v, t->pairs.n * sizeof(*out->v));
	for (out->n = t->pairs.n; out->n < t->pairs.n + n && !rc; out->n++) {
		struct co_run_set *s = &out->v[out->n];

		*s = (struct co_run_set){ .n = 3 };
		do
			draw_jobs(t, rng, s->n, s->job);
		while (is_task(tasks, n, s));
		draw_shares(rng, s);
		rc = testbed_measure(t, s, 0, err);
	}
	return rc;
}

/* Loss of the split that the search finds, part of the oracle's. */
static int search(const struct testbed *t, const struct hes_partition_model *m, const struct task *task, int objective, double *loss,
		  struct hes_err *err)
{
	const struct hes_partition_goal goal = { .objective = (enum hes_partition_objective)objective, .step = TESTBED_STEP };
	const struct hes_share_profile *jobs[HES_PARTITION_MAX_JOBS];
	struct co_run_set s = { .n = task->n };
	struct hes_splits splits;
	int rc;

	memcpy(s.job, task->job, sizeof(s.job));
	for (size_t i = 0; i < task->n; i++)
		jobs[i] = t->profile[task->job[i]];
	rc = hes_partition_search(m, t->gpu, jobs, task->n, &goal, &splits, err);
	if (rc)
		return rc;
	memcpy(s.sm_pct, splits.v[splits.best].sm_pct, sizeof(s.sm_pct));
	hes_splits_free(&splits);
	rc = testbed_truth(t, &s, err);
	*loss = 1 - true_per_watt(t, &s, objective) / task->best[objective];
	return rc;
}

/* @param most  the greatest mean loss of the corrected method so far */
static int test_model(const struct testbed *t, const struct hes_partition_model *m, size_t which, const struct task *tasks, size_t n,
		      FILE *f, double *most, struct hes_err *err)
{
	int rc = 0;

	for (int o = 0; o < OBJECTIVES && !rc; o++) {
		double mean = 0, worst = 0, loss, from = study_seconds();

		for (size_t i = 0; i < n && !rc; i++) {
			rc = search(t, m, &tasks[i], o, &loss, err);
			mean += 100 * loss / (double)n;
			worst = fmax(worst, 100 * loss);
		}
		printf("%-34s %4zu  %-12s %8.2f %8.2f %10.2f\n", trained[which].name, tasks[0].n, hes_partition_objectives[o], mean, worst,
		       1000 * (study_seconds() - from) / (double)n);
		fprintf(f, "\"%s\",%zu,%s,%.4f,%.4f\n", trained[which].name, tasks[0].n, hes_partition_objectives[o], mean, worst);
		if (trained[which].method == METHOD_CORRECTED)
			*most = fmax(*most, mean);
	}
	return rc;
}

static int test_all(struct study *s, const struct testbed *t, const struct task *three, const struct task *four, size_t n,
		    const struct co_run_sets *sets, FILE *f, struct hes_err *err)
{
	bool *use = malloc(sets->n * sizeof(*use));
	double most = 0;
	int rc = use ? 0 : hes_fail(err, -ENOMEM, "out of memory for sets of jobs");

	for (size_t k = 0; k < sizeof(trained) / sizeof(trained[0]) && !rc; k++) {
		const struct hes_partition_options o = method_options(s, trained[k].method);
		struct hes_partition_model *m;

		for (size_t i = 0; i < sets->n; i++)
			use[i] = sets->v[i].n <= trained[k].most_jobs;
		rc = testbed_train(t, sets, use, &o, &m, err);
		if (rc)
			break;
		rc = test_model(t, m, k, three, n, f, &most, err);
		if (!rc)
			rc = test_model(t, m, k, four, n, f, &most, err);
		hes_partition_free(m);
	}
	free(use);
	if (!rc)
		study_check(s, "corrected, three and four jobs: greatest mean loss, %", most, MOST_LOSS);
	return rc;
}

int study_many_jobs(struct study *s, const struct testbed *t, struct hes_err *err)
{
	const size_t n = s->quick ? SETS_QUICK : SETS;
	struct task *tasks = calloc(2 * n, sizeof(*tasks));
	struct co_run_sets sets = { 0 };
	FILE *f = study_csv(s, "many_jobs.csv", "trained,jobs,objective,mean_loss_pct,worst_loss_pct", err);
	struct hes_rng rng;
	int rc = tasks ? 0 : hes_fail(err, -ENOMEM, "out of memory for sets of jobs");

	if (!f) {
		free(tasks);
		return -EIO;
	}
	study_progress("three and four jobs: %zu sets each, all splits", n);
	hes_rng_seed(&rng, s->seed);
	if (!rc)
		rc = make_tasks(t, &rng, 3, tasks, n, err);
	if (!rc)
		rc = make_tasks(t, &rng, 4, tasks + n, n, err);
	if (!rc)
		rc = make_training(t, &rng, tasks, n, &sets, err);
	printf("\nThree and four jobs: loss of throughput per watt against the oracle, %% (%zu sets each)\n%-34s %4s  %-12s %8s %8s %10s\n", n,
	       "trained on", "jobs", "objective", "mean", "worst", "search, ms");
	if (!rc)
		rc = test_all(s, t, tasks, tasks + n, n, &sets, f, err);
	free(sets.v);
	free(tasks);
	if (study_csv_end(f, rc ? NULL : err) && !rc)
		rc = -EIO;
	return rc;
}
