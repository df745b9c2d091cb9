/*
 * export.c - rows of the paper's method with a split into training and test rows, and our errors on
 * them, so that compare_sklearn.py can compare scikit-learn with ours.
 *
 * Of a job with itself only one of two splits that are mirror images is exported: ours would
 * average them.
 */
#include <errno.h>
#include <stdlib.h>

#include "paper_method.h"

static const uint32_t sizes[] = { 1, 3, 5, 7, 9 }; /* tenths of the rows to learn from */

#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static bool mirrored(const struct co_run_set *s)
{
	return s->job[0] == s->job[1] && s->sm_pct[0] > s->sm_pct[1];
}

static void put_features(FILE *f, const struct testbed *t, const struct co_run_set *s)
{
	float row[PAPER_RATE];

	paper_features(t, s, row);
	for (size_t k = 0; k < PAPER_RATE; k++)
		fprintf(f, "%.9g,", (double)row[k]);
}

/* @param train  [SIZES][pairs] */
static int write_rows(const struct study *s, const struct testbed *t, const bool *train,
		      struct hes_err *err)
{
	FILE *f = study_csv(
		s, "rows.csv",
		"sm,occupancy,fp32,dram,memory_busy,pcie_tx,pcie_rx,sensitivity,rate_alone,"
		"rate,power_w,train_10,train_30,train_50,train_70,train_90",
		err);

	if (!f)
		return -EIO;
	for (size_t i = 0; i < t->pairs.n; i++) {
		const struct co_run_set *set = &t->pairs.v[i];

		if (mirrored(set))
			continue;
		put_features(f, t, set);
		fprintf(f, "%.9g,%.9g", set->measured_rate, set->measured_power_w);
		for (size_t k = 0; k < SIZES; k++)
			fprintf(f, ",%d", train[k * t->pairs.n + i]);
		fputc('\n', f);
	}
	return study_csv_end(f, err);
}

/* Errors of our extra trees on the exported rows. @param skip, p  room for each row */
static int write_ours(const struct study *s, const struct testbed *t, const bool *train, bool *skip,
		      struct predicted *p, struct hes_err *err)
{
	FILE *f = study_csv(s, "rows_ours.csv", "training_pct,trees,rate_mape_pct,power_mape_pct",
			    err);
	int rc = f ? 0 : -EIO;

	for (size_t k = 0; k < SIZES && !rc; k++) {
		double score[SCORES];

		rc = study_learn(s, t, METHOD_PAPER_ET, train + k * t->pairs.n, p, err);
		if (rc)
			break;
		for (size_t i = 0; i < t->pairs.n; i++)
			skip[i] = train[k * t->pairs.n + i] || mirrored(&t->pairs.v[i]);
		study_score(t, p, skip, TESTBED_JOBS, score);
		fprintf(f, "%u,%u,%.4f,%.4f\n", 10 * sizes[k],
			s->trees ? (unsigned)s->trees : LEARNERS_TREES, score[SCORE_RATE],
			score[SCORE_POWER]);
	}
	if (f && study_csv_end(f, rc ? NULL : err) && !rc)
		rc = -EIO;
	return rc;
}

int study_export(struct study *s, const struct testbed *t, struct hes_err *err)
{
	const size_t n = t->pairs.n;
	bool *train = malloc((SIZES + 1) * n * sizeof(*train));
	struct predicted *p = malloc(n * sizeof(*p));
	int rc = train && p ? 0 : hes_fail(err, -ENOMEM, "out of memory for %zu rows", n);

	study_progress("rows for compare_sklearn.py");
	for (size_t k = 0; k < SIZES && !rc; k++) {
		rc = study_choose_rows(s->seed + k, n, sizes[k], train + k * n, err);
		for (size_t i = 0; i < n && !rc; i++)
			train[k * n + i] = train[k * n + i] && !mirrored(&t->pairs.v[i]);
	}
	if (!rc)
		rc = write_rows(s, t, train, err);
	if (!rc)
		rc = write_ours(s, t, train, train + SIZES * n, p, err);
	free(p);
	free(train);
	return rc;
}
