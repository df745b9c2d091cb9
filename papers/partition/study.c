/*
 * study.c - what all studies share; see study.h.
 */
#include "study.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const struct method methods[METHODS] = {
	[METHOD_PAPER_ET] = { "paper, extra trees", HES_PARTITION_PAPER,
			      HES_PARTITION_EXTRA_TREES },
	[METHOD_PAPER_RF] = { "paper, random forest", HES_PARTITION_PAPER, HES_PARTITION_FOREST },
	[METHOD_PAPER_GB] = { "paper, boosting", HES_PARTITION_PAPER, HES_PARTITION_BOOSTING },
	[METHOD_CORRECTED] = { "corrected", HES_PARTITION_CORRECTED, HES_PARTITION_EXTRA_TREES },
};

struct hes_partition_options method_options(const struct study *s, int method)
{
	return (struct hes_partition_options){
		.method = methods[method].method,
		.learner = methods[method].learner,
		.seed = s->seed,
		.trees = (uint32_t)s->trees,
		.threads = 1,
	};
}

void study_check(struct study *s, const char *what, double value, double limit)
{
	bool good = value <= limit;

	printf("%s  %s: %.2f, at most %.2f\n", good ? "ok  " : "FAIL", what, value, limit);
	s->failed += !good;
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

void study_errors(const struct testbed *t, const struct hes_partition_model *m, const bool *use,
		  double *rate, double *power)
{
	double rates = 0, powers = 0;
	size_t n = 0;

	for (size_t i = 0; i < t->pairs.n; i++) {
		const struct co_run_set *s = &t->pairs.v[i];
		double watts, sum;

		if (use[i])
			continue;
		sum = testbed_predict(t, m, s, &watts);
		rates += fabs(sum / s->measured_rate - 1);
		powers += fabs(watts / s->measured_power_w - 1);
		n++;
	}
	*rate = 100 * rates / (double)n;
	*power = 100 * powers / (double)n;
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
