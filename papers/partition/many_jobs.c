/*
 * many_jobs.c - splits for three and four jobs: the search against the best of all splits by the
 * truth.
 *
 * The models never saw four jobs together, and three at most in other sets than those that are
 * tested.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study.h"

#define SETS       200
#define SETS_QUICK 20
#define LEVELS     (100 / TESTBED_STEP)
#define HEADER                                                                                  \
	"trained,jobs,rate_error_pct,power_error_pct,throughput_loss_pct,throughput_worst_pct," \
	"normalized_loss_pct,"                                                                  \
	"normalized_worst_pct,energy_loss_pct,energy_worst_pct"
#define MOST_LOSS 3 /* percent below the oracle on average */

enum { OBJECTIVES = HES_PARTITION_ENERGY + 1 };

/* A set of jobs with the best that is possible. */
struct task {
	size_t n, job[HES_PARTITION_MAX_JOBS]; /* by rising index */
	double best[OBJECTIVES];
};

static const struct {
	const char *name;
	size_t most_jobs; /* of sets that it learns from */
} trained[] = {
	{ "corrected, no set", 0 },
	{ "corrected, pairs", 2 },
	{ "corrected, pairs and triples", 3 },
};

static double true_per_watt(const struct testbed *t, const struct co_run_set *s, int objective)
{
	double sum = 0, stretch = 0;

	for (size_t i = 0; i < s->n; i++) {
		double part = s->rate[i] /
			      (objective == HES_PARTITION_SUM ? 1 : t->alone_rate[s->job[i]]);

		sum += part;
		stretch += 1 / part;
	}
	return (objective == HES_PARTITION_ENERGY ? (double)(s->n * s->n) / stretch : sum) /
	       s->power_w;
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

static int try_split(const struct testbed *t, struct task *task, struct co_run_set *s,
		     struct hes_err *err)
{
	int rc = testbed_truth(t, s, err);

	for (int o = 0; o < OBJECTIVES && !rc; o++)
		task->best[o] = fmax(task->best[o], true_per_watt(t, s, o));
	return rc;
}

/* Try all splits of the jobs from number @i on, among the levels that are left. */
static int enumerate(const struct testbed *t, struct task *task, struct co_run_set *s, size_t i,
		     uint32_t left, struct hes_err *err)
{
	int rc = 0;

	if (i == s->n)
		return try_split(t, task, s, err);
	for (uint32_t level = 1; level + (s->n - 1 - i) <= left && !rc; level++) {
		s->sm_pct[i] = level * TESTBED_STEP;
		rc = enumerate(t, task, s, i + 1, left - level, err);
	}
	return rc;
}

static int make_tasks(const struct testbed *t, struct hes_rng *rng, size_t n_jobs, struct task *v,
		      size_t n, struct hes_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++) {
		struct co_run_set s = { .n = n_jobs };

		v[i] = (struct task){ .n = n_jobs };
		draw_jobs(t, rng, n_jobs, v[i].job);
		memcpy(s.job, v[i].job, sizeof(s.job));
		rc = enumerate(t, &v[i], &s, 0, LEVELS, err);
		for (size_t k = 0; k < n_jobs;
		     k++) /* equal shares, which are no multiples of the step */
			s.sm_pct[k] = 100 / (uint32_t)n_jobs;
		if (!rc)
			rc = try_split(t, &v[i], &s, err);
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

/* Every job has one level; the others fall at random. */
static void draw_shares(struct hes_rng *rng, struct co_run_set *s)
{
	for (size_t i = 0; i < s->n; i++)
		s->sm_pct[i] = TESTBED_STEP;
	for (size_t level = s->n; level < LEVELS; level++)
		s->sm_pct[hes_rng_below(rng, s->n)] += TESTBED_STEP;
}

/* All pairs, and random triples of jobs that are no task. */
static int make_training(const struct testbed *t, struct hes_rng *rng, const struct task *tasks,
			 size_t n, struct co_run_sets *out, struct hes_err *err)
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

/* What a model is worth for jobs of one number, percent. */
struct result {
	double rate_error, power_error; /* at a random split */
	double loss[OBJECTIVES], worst[OBJECTIVES];
	double search_s;
};

/* Mean errors at a random split of each task against the truth. */
static int find_errors(const struct study *s, const struct testbed *t,
		       const struct hes_partition_model *m, const struct task *tasks, size_t n,
		       struct result *out, struct hes_err *err)
{
	struct hes_rng rng;
	int rc = 0;

	hes_rng_seed(&rng, s->seed);
	for (size_t i = 0; i < n && !rc; i++) {
		struct co_run_set set = { .n = tasks[i].n };
		double rate, power, sum = 0;

		memcpy(set.job, tasks[i].job, sizeof(set.job));
		draw_shares(&rng, &set);
		rc = testbed_truth(t, &set, err);
		rate = testbed_predict(t, m, &set, &power);
		for (size_t k = 0; k < set.n; k++)
			sum += set.rate[k];
		out->rate_error += 100 * fabs(rate / sum - 1) / (double)n;
		out->power_error += 100 * fabs(power / set.power_w - 1) / (double)n;
	}
	return rc;
}

/* Loss of the split that the search finds, part of the oracle's. */
static int search(const struct testbed *t, const struct hes_partition_model *m,
		  const struct task *task, int objective, double *loss, struct hes_err *err)
{
	const struct hes_partition_goal goal = { .objective =
							 (enum hes_partition_objective)objective,
						 .step = TESTBED_STEP };
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

static int find_losses(const struct testbed *t, const struct hes_partition_model *m,
		       const struct task *tasks, size_t n, struct result *out, struct hes_err *err)
{
	double loss, from = study_seconds();
	int rc = 0;

	for (int o = 0; o < OBJECTIVES; o++)
		for (size_t i = 0; i < n && !rc; i++) {
			rc = search(t, m, &tasks[i], o, &loss, err);
			out->loss[o] += 100 * loss / (double)n;
			out->worst[o] = fmax(out->worst[o], 100 * loss);
		}
	out->search_s = (study_seconds() - from) / (double)(n * OBJECTIVES);
	return rc;
}

static void print_result(const char *name, size_t n_jobs, const struct result *r, FILE *f)
{
	printf("%-34s %4zu %7.2f %6.2f", name, n_jobs, r->rate_error, r->power_error);
	fprintf(f, "\"%s\",%zu,%.4f,%.4f", name, n_jobs, r->rate_error, r->power_error);
	for (int o = 0; o < OBJECTIVES; o++) {
		printf(" %6.2f %6.2f", r->loss[o], r->worst[o]);
		fprintf(f, ",%.4f,%.4f", r->loss[o], r->worst[o]);
	}
	printf(" %6.2f\n", 1000 * r->search_s);
	fputc('\n', f);
}

/* @param most  the greatest mean loss of the corrected method so far */
static int test_model(const struct study *s, const struct testbed *t,
		      const struct hes_partition_model *m, size_t which, const struct task *tasks,
		      size_t n, FILE *f, double *most, struct hes_err *err)
{
	struct result r = { 0 };
	int rc = find_errors(s, t, m, tasks, n, &r, err);

	if (!rc)
		rc = find_losses(t, m, tasks, n, &r, err);
	if (rc)
		return rc;
	print_result(trained[which].name, tasks[0].n, &r, f);
	for (int o = 0; o < OBJECTIVES; o++)
		*most = fmax(*most, r.loss[o]);
	return 0;
}

static void print_titles(size_t n)
{
	printf("\nThree and four jobs: error at a random split, loss of the chosen one against the "
	       "oracle, %% (%zu sets each)\n"
	       "%-34s %4s %14s",
	       n, "", "", "error");
	for (int o = 0; o < OBJECTIVES; o++)
		printf(" %13s", hes_partition_objectives[o]);
	printf("\n%-34s %4s %7s %6s", "trained on", "jobs", "thrpt", "power");
	for (int o = 0; o < OBJECTIVES; o++)
		printf(" %6s %6s", "mean", "worst");
	printf(" %6s\n", "ms");
}

static int test_all(struct study *s, const struct testbed *t, const struct task *three,
		    const struct task *four, size_t n, const struct co_run_sets *sets, FILE *f,
		    struct hes_err *err)
{
	bool *use = malloc(sets->n * sizeof(*use));
	double most = 0;
	int rc = use ? 0 : hes_fail(err, -ENOMEM, "out of memory for sets of jobs");

	for (size_t k = 0; k < sizeof(trained) / sizeof(trained[0]) && !rc; k++) {
		struct hes_partition_model *m;

		for (size_t i = 0; i < sets->n; i++)
			use[i] = sets->v[i].n <= trained[k].most_jobs;
		rc = testbed_train(t, sets, use, &m, err);
		if (rc)
			break;
		rc = test_model(s, t, m, k, three, n, f, &most, err);
		if (!rc)
			rc = test_model(s, t, m, k, four, n, f, &most, err);
		hes_partition_free(m);
	}
	free(use);
	if (!rc)
		study_check(s, "corrected, three and four jobs: greatest mean loss, %", most,
			    MOST_LOSS);
	return rc;
}

int study_many_jobs(struct study *s, const struct testbed *t, struct hes_err *err)
{
	const size_t n = s->quick ? SETS_QUICK : SETS;
	struct task *tasks = calloc(2 * n, sizeof(*tasks));
	struct co_run_sets sets = { 0 };
	FILE *f = study_csv(s, "many_jobs.csv", HEADER, err);
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
	print_titles(n);
	if (!rc)
		rc = test_all(s, t, tasks, tasks + n, n, &sets, f, err);
	free(sets.v);
	free(tasks);
	if (study_csv_end(f, rc ? NULL : err) && !rc)
		rc = -EIO;
	return rc;
}
