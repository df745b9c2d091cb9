/*
 * study.c - what all studies share; see study.h.
 */
#include "paper_method.h"
#include "study.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *const method_names[METHODS] = {
	[METHOD_PAPER_ET] = "paper, extra trees",
	[METHOD_CORRECTED] = "corrected",
};

void study_check(struct study *s, const char *what, double value, double limit)
{
	bool good = value <= limit;

	printf("%s  %s: %.2f, at most %.2f\n", good ? "ok  " : "FAIL", what, value, limit);
	s->failed += !good;
}

void study_claim_text(struct study *s, enum verdict verdict, const char *where, const char *fmt,
		      ...)
{
	struct claim *c = &s->claims[s->n_claims];
	va_list args;

	if (s->n_claims == STUDY_CLAIMS)
		return;
	s->n_claims++;
	c->verdict = verdict;
	snprintf(c->where, sizeof(c->where), "%s", where);
	va_start(args, fmt);
	vsnprintf(c->what, sizeof(c->what), fmt, args);
	va_end(args);
}

void study_claim(struct study *s, const char *where, const char *what, double paper, double ours,
		 int better)
{
	enum verdict v = fabs(ours - paper) <= STUDY_POINTS ? WITHIN_POINTS
			 : better * (ours - paper) > 0      ? AT_LEAST
							    : MISSED;

	study_claim_text(s, v, where, "%s: %.1f (paper %.1f)", what, ours, paper);
}

static const char *const verdicts[] = {
	[WITHIN_POINTS] = "within 10 points",
	[AT_LEAST] = "at least",
	[MISSED] = "missed",
	[AN_INPUT] = "an input",
	[NEEDS_HARDWARE] = "needs hardware",
};

/* One row of the statements from @first on that are of the same figure. @return their number */
static size_t put_figure(FILE *f, const struct claim *first, size_t n)
{
	const struct claim *worst = first;
	size_t of = 0, missed = 0;

	for (; of < n && strcmp(first[of].where, first->where) == 0; of++) {
		worst = first[of].verdict > worst->verdict ? &first[of] : worst;
		missed += first[of].verdict == MISSED;
	}
	fprintf(f, "Han,%s,%s,\"%s", first->where, verdicts[worst->verdict], worst->what);
	if (of > 1)
		fprintf(f, "; %zu of %zu statements hold", of - missed, of);
	fprintf(f, "\"\n");
	return of;
}

int study_summary(const struct study *s, struct hes_err *err)
{
	FILE *f = study_csv(s, "summary.csv", "paper,item,state,note", err);

	if (!f)
		return -EIO;
	printf("\nThe paper's statements, and how they came out\n");
	for (size_t i = 0; i < s->n_claims; i++)
		printf("%-17s %-16s %s\n", verdicts[s->claims[i].verdict], s->claims[i].where,
		       s->claims[i].what);
	for (size_t i = 0; i < s->n_claims;)
		i += put_figure(f, &s->claims[i], s->n_claims - i);
	return study_csv_end(f, err);
}

FILE *study_csv(const struct study *s, const char *name, const char *header, struct hes_err *err)
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", s->output, name);
	f = fopen(path, "we");
	if (!f) {
		hes_fail(err, -errno, "%s: %s", path, strerror(errno));
		return NULL;
	}
	fprintf(f, "%s\n", header);
	return f;
}

int study_csv_end(FILE *f, struct hes_err *err)
{
	bool bad = ferror(f);

	return fclose(f) || bad ? hes_fail(err, -EIO, "a CSV file cannot be written") : 0;
}

int study_choose_rows(uint64_t seed, size_t n, uint32_t tenths, bool *use, struct hes_err *err)
{
	uint32_t *order = malloc((n + 1) * sizeof(*order));
	struct hes_rng rng;

	if (!order)
		return hes_fail(err, -ENOMEM, "out of memory for %zu rows", n);
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	hes_rng_seed(&rng, seed);
	hes_rng_shuffle(&rng, order, n);
	for (size_t i = 0; i < n; i++)
		use[order[i]] = i % 10 < tenths;
	free(order);
	return 0;
}

void study_predict(const struct testbed *t, const struct hes_partition_model *m,
		   struct predicted *out)
{
	for (size_t i = 0; i < t->pairs.n; i++)
		out[i].rate = testbed_predict(t, m, &t->pairs.v[i], &out[i].power_w);
}

int study_learn(const struct study *s, const struct testbed *t, int method, const bool *use,
		struct predicted *out, struct hes_err *err)
{
	struct hes_partition_model *m;
	double fit_s = 0;
	int rc;

	if (method == METHOD_PAPER_ET)
		return paper_method_learn(t, use, LEARNER_EXTRA_TREES, s->seed, (uint32_t)s->trees,
					  out, &fit_s, err);
	rc = testbed_train(t, &t->pairs, use, &m, err);
	if (!rc) {
		study_predict(t, m, out);
		hes_partition_free(m);
	}
	return rc;
}

size_t study_best_split(const struct predicted *p, size_t pair)
{
	const struct predicted *of = p + pair * TESTBED_SPLITS;
	size_t best = 0;

	for (size_t k = 1; k < TESTBED_SPLITS; k++)
		if (of[k].rate / of[k].power_w > of[best].rate / of[best].power_w)
			best = k;
	return best;
}

static double choice_loss(const struct testbed *t, const struct predicted *p, size_t with)
{
	double loss = 0;
	size_t n = 0;

	for (size_t pair = 0; pair < t->n_pairs; pair++) {
		if (with < TESTBED_JOBS && !testbed_pair_has(t, pair, with))
			continue;
		loss += 1 - testbed_per_watt(t, pair, study_best_split(p, pair)) /
				    testbed_per_watt(t, pair, testbed_best_split(t, pair));
		n++;
	}
	return 100 * loss / (double)n;
}

void study_score(const struct testbed *t, const struct predicted *p, const bool *use, size_t with,
		 double out[SCORES])
{
	size_t n = 0;

	out[SCORE_RATE] = out[SCORE_POWER] = 0;
	for (size_t i = 0; i < t->pairs.n; i++) {
		const struct co_run_set *set = &t->pairs.v[i];

		if (use[i])
			continue;
		out[SCORE_RATE] += 100 * fabs(p[i].rate / set->measured_rate - 1);
		out[SCORE_POWER] += 100 * fabs(p[i].power_w / set->measured_power_w - 1);
		n++;
	}
	out[SCORE_RATE] /= (double)n;
	out[SCORE_POWER] /= (double)n;
	out[SCORE_LOSS] = choice_loss(t, p, with);
}

void study_progress(const char *fmt, ...)
{
	static double start;
	va_list args;

	if (start == 0)
		start = study_seconds();
	fprintf(stderr, "[%5.1f s] ", study_seconds() - start);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
}

static double clock_seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double study_seconds(void)
{
	return clock_seconds(CLOCK_MONOTONIC);
}

double study_cpu_seconds(void)
{
	return clock_seconds(CLOCK_THREAD_CPUTIME_ID);
}
