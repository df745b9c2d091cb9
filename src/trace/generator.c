/*
 * generator.c - rows drawn from a fitted profile, in place of a log; see trace.h.
 *
 * Arrivals are a renewal process whose clock runs at the hour's and day's
 * rate: a gap is drawn in expected arrivals, then spent hour by hour. Size and
 * run time are drawn independently of it. A row takes three random numbers,
 * so that row i is the same however many are requested.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/data.h"
#include "base/file.h"
#include "base/rng.h"
#include "base/yaml.h"
#include "trace/source.h"

#define HOURS      24
#define DAYS       7
#define MAX_POINTS 1001
#define MAX_BYTES  ((size_t)16 << 20)

struct size {
	uint32_t gpus;
	double share;
	double *runtimes_s;
	unsigned runtimes_s_count;
};

struct profile {
	char *name;
	double jobs_per_hour;
	double hour_of_day[HOURS];
	double day_of_week[DAYS];
	double *probabilities;
	unsigned probabilities_count;
	double *gaps;
	unsigned gaps_count;
	struct size *sizes;
	unsigned sizes_count;
};

static const cyaml_schema_value_t number = { CYAML_VALUE_FLOAT(CYAML_FLAG_DEFAULT, double) };

static const cyaml_schema_field_t size_fields[] = {
	CYAML_FIELD_UINT("gpus", CYAML_FLAG_DEFAULT, struct size, gpus),
	CYAML_FIELD_FLOAT("share", CYAML_FLAG_DEFAULT, struct size, share),
	CYAML_FIELD_SEQUENCE("runtimes_s", CYAML_FLAG_POINTER, struct size, runtimes_s, &number, 2,
			     MAX_POINTS),
	CYAML_FIELD_END
};

static const cyaml_schema_value_t size_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct size, size_fields),
};

static const cyaml_schema_field_t profile_fields[] = {
	CYAML_FIELD_STRING_PTR("name", CYAML_FLAG_POINTER, struct profile, name, 1,
			       HES_NAME_MAX - 1),
	CYAML_FIELD_FLOAT("jobs_per_hour", CYAML_FLAG_DEFAULT, struct profile, jobs_per_hour),
	CYAML_FIELD_SEQUENCE_FIXED("hour_of_day", CYAML_FLAG_DEFAULT, struct profile, hour_of_day,
				   &number, HOURS),
	CYAML_FIELD_SEQUENCE_FIXED("day_of_week", CYAML_FLAG_DEFAULT, struct profile, day_of_week,
				   &number, DAYS),
	CYAML_FIELD_SEQUENCE("probabilities", CYAML_FLAG_POINTER, struct profile, probabilities,
			     &number, 2, MAX_POINTS),
	CYAML_FIELD_SEQUENCE("gaps", CYAML_FLAG_POINTER, struct profile, gaps, &number, 2,
			     MAX_POINTS),
	CYAML_FIELD_SEQUENCE("sizes", CYAML_FLAG_POINTER, struct profile, sizes, &size_value, 1,
			     64),
	CYAML_FIELD_END
};

static const cyaml_schema_value_t profile_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct profile, profile_fields),
};

struct generator {
	struct hes_trace base;
	struct profile *profile;
	struct hes_rng rng;
	uint64_t left; /* rows still to give */
	double share_sum;
	double hours; /* arrival of the last row */
};

/* A number outside its range, named. */
static int check_number(const char *file, const char *field, double v, double min, double max,
			struct hes_err *err)
{
	if (v >= min && v <= max)
		return 0;
	return hes_fail(err, -ERANGE, "%s: %s: %g is outside %g to %g", file, field, v, min, max);
}

/* A quantile table: as long as the probabilities, never falling, within limits. */
static int check_table(const char *file, const char *field, const double *v, unsigned n,
		       unsigned expected, double min, double max, struct hes_err *err)
{
	if (n != expected)
		return hes_fail(err, -EINVAL, "%s: %s has %u values where probabilities has %u",
				file, field, n, expected);
	for (unsigned i = 0; i < n; i++) {
		int rc = check_number(file, field, v[i], min, max, err);

		if (rc)
			return rc;
		if (i && v[i] < v[i - 1])
			return hes_fail(err, -EINVAL,
					"%s: %s: %g after %g; quantiles must not fall", file, field,
					v[i], v[i - 1]);
	}
	return 0;
}

static int check_arrivals(const char *file, const struct profile *p, struct hes_err *err)
{
	unsigned n = p->probabilities_count;
	int rc = check_number(file, "jobs_per_hour", p->jobs_per_hour, 1e-3, 1e6, err);

	for (int i = 0; i < HOURS && !rc; i++)
		rc = check_number(file, "hour_of_day", p->hour_of_day[i], 1e-3, 1e3, err);
	for (int i = 0; i < DAYS && !rc; i++)
		rc = check_number(file, "day_of_week", p->day_of_week[i], 1e-3, 1e3, err);
	if (!rc)
		rc = check_table(file, "probabilities", p->probabilities, n, n, 0, 1, err);
	if (!rc && (p->probabilities[0] > 0 || p->probabilities[n - 1] < 1))
		rc = hes_fail(err, -EINVAL, "%s: probabilities must go from 0 to 1", file);
	if (!rc)
		rc = check_table(file, "gaps", p->gaps, p->gaps_count, n, 0, 1e4, err);
	return rc;
}

static int check(const char *file, const struct profile *p, struct hes_err *err)
{
	double sum = 0;
	int rc = check_arrivals(file, p, err);

	for (unsigned i = 0; i < p->sizes_count && !rc; i++) {
		const struct size *s = &p->sizes[i];

		sum += s->share;
		rc = check_number(file, "sizes.gpus", s->gpus, 1, 100000, err);
		if (!rc)
			rc = check_number(file, "sizes.share", s->share, 0, 1, err);
		if (!rc)
			rc = check_table(file, "sizes.runtimes_s", s->runtimes_s,
					 s->runtimes_s_count, p->probabilities_count, 1e-3, 1e9,
					 err);
	}
	return rc ? rc : check_number(file, "sum of sizes.share", sum, 0.999, 1.001, err);
}

/* Index i with probabilities[i] <= u < probabilities[i + 1], and how far u lies between. */
static unsigned locate(const struct profile *p, double u, double *part)
{
	unsigned low = 0, high = p->probabilities_count - 1;

	while (high - low > 1) {
		unsigned mid = (low + high) / 2;

		if (p->probabilities[mid] <= u)
			low = mid;
		else
			high = mid;
	}
	*part = (u - p->probabilities[low]) / (p->probabilities[high] - p->probabilities[low]);
	return low;
}

static double draw_gap(const struct profile *p, double u)
{
	double part;
	unsigned i = locate(p, u, &part);

	return p->gaps[i] + part * (p->gaps[i + 1] - p->gaps[i]);
}

/* Straight in the logarithm: run times span five decades. */
static double draw_runtime_s(const struct profile *p, const struct size *s, double u)
{
	double part;
	unsigned i = locate(p, u, &part);

	return s->runtimes_s[i] * pow(s->runtimes_s[i + 1] / s->runtimes_s[i], part);
}

/* Let @gap expected arrivals pass. */
static void advance(struct generator *g, double gap)
{
	const struct profile *p = g->profile;

	for (;;) {
		double hour = floor(g->hours), end = hour + 1;
		unsigned h = (unsigned)fmod(hour, HOURS), d = (unsigned)fmod(hour / HOURS, DAYS);
		double rate = p->jobs_per_hour * p->hour_of_day[h] * p->day_of_week[d];

		if (gap <= rate * (end - g->hours)) {
			g->hours += gap / rate;
			return;
		}
		gap -= rate * (end - g->hours);
		g->hours = end;
	}
}

static const struct size *draw_size(const struct generator *g, double u)
{
	const struct profile *p = g->profile;
	unsigned i = 0;

	for (u *= g->share_sum; i + 1 < p->sizes_count && u >= p->sizes[i].share; i++)
		u -= p->sizes[i].share;
	return &p->sizes[i];
}

/* Whole seconds, as logs have them. */
static int generator_next(struct hes_trace *t, struct hes_trace_row *out, struct hes_err *err)
{
	struct generator *g = (struct generator *)t;
	const struct size *s;
	double runtime_s;

	(void)err;
	if (!g->left)
		return 0;
	g->left--;
	advance(g, draw_gap(g->profile, hes_rng_unit(&g->rng)));
	s = draw_size(g, hes_rng_unit(&g->rng));
	runtime_s = draw_runtime_s(g->profile, s, hes_rng_unit(&g->rng));
	*out = (struct hes_trace_row){
		.arrival_us = llround(g->hours * 3600) * 1000000,
		.runtime_us = llround(fmax(runtime_s, 1)) * 1000000,
		.gpu_milli = s->gpus * 1000,
	};
	return 1;
}

static void generator_close(struct hes_trace *t)
{
	hes_yaml_free(&profile_schema, ((struct generator *)t)->profile);
	free(t);
}

static int load(const char *path, void **out, struct hes_err *err)
{
	const char *name = "traces/helios_like.yaml", *text;
	char *own = NULL;
	size_t len;
	int rc = path ? hes_file_slurp(path, MAX_BYTES, &own, &len, err) : 0;

	if (rc)
		return rc;
	text = path ? own : hes_data_find(name, &len);
	rc = hes_yaml_load_text(path ? path : name, text, len, &profile_schema, out, err);
	if (!rc) {
		rc = check(path ? path : name, *out, err);
		if (rc)
			hes_yaml_free(&profile_schema, *out);
	}
	free(own);
	return rc;
}

int hes_trace_generate(const char *path, uint64_t seed, uint64_t n, struct hes_trace **out,
		       struct hes_err *err)
{
	struct generator *g;
	void *profile;
	int rc = load(path, &profile, err);

	if (rc)
		return rc;
	g = calloc(1, sizeof(*g));
	if (!g) {
		hes_yaml_free(&profile_schema, profile);
		return hes_fail(err, -ENOMEM, "%s: out of memory",
				path ? path : HES_TRACE_GENERATOR);
	}
	g->profile = profile;
	g->left = n;
	g->base = (struct hes_trace){
		.format = "generator",
		.name = g->profile->name,
		.next = generator_next,
		.close = generator_close,
	};
	for (unsigned i = 0; i < g->profile->sizes_count; i++)
		g->share_sum += g->profile->sizes[i].share;
	hes_rng_seed(&g->rng, seed);
	*out = &g->base;
	return 0;
}
