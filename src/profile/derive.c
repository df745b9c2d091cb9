/*
 * derive.c - profiles and samples from measured points; see heshare/profiler.h.
 *
 * Every point counts, with its standard error. Points of one setting that agree within their errors
 * are combined. Where they differ by more, program or GPU have changed, and the last one counts.
 *
 * Invariant: the result depends on the points only. Their order matters only between points of the
 * same setting.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/session.h"

#define WHOLE     100  /* percent */
#define SATURATED 0.97 /* of the throughput on the whole GPU: the job does not use more SMs */
#define NOISY     0.05 /* variation from which a point without a standard error gets one */
#define AGREE     3.0  /* standard errors of the difference of two measurements */

/* A row with the text of its co-run set; entries are sorted. */
struct entry {
	const struct hes_point *p;
	struct hes_point *combined; /* of several points; NULL: p is a point */
	uint32_t lock_mhz;          /* 0: none */
	size_t at;                  /* index in the points */
	double time_se;             /* 0: unknown */
	char text[HES_CO_RUN_ALL_MAX];
};

struct derivation {
	struct entry *v;
	size_t n;
	struct hes_catalogue c; /* with the clocks that were held */
	struct hes_profiles profiles;
	struct hes_samples samples;
};

static int compare_setting(const struct entry *a, const struct entry *b)
{
	int d = strcmp(a->p->gpu_type, b->p->gpu_type);

	if (!d)
		d = (a->lock_mhz > b->lock_mhz) - (a->lock_mhz < b->lock_mhz);
	return d ? d : strcmp(a->text, b->text);
}

static int compare_job(const struct hes_point *a, const struct hes_point *b)
{
	int d = strcmp(a->workload, b->workload);

	if (!d)
		d = (a->batch_size > b->batch_size) - (a->batch_size < b->batch_size);
	return d ? d : (a->sm_pct > b->sm_pct) - (a->sm_pct < b->sm_pct);
}

static int compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int d = compare_setting(x, y);

	if (!d)
		d = compare_job(x->p, y->p);
	return d ? d : (x->at > y->at) - (x->at < y->at);
}

static double round_digits(double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.*g", HES_PROFILE_DIGITS, value);
	return strtod(text, NULL);
}

/* A single window has no standard error, but is not certain. Points of earlier versions have none;
 * nothing was learnt from the noisy ones. */
static double time_se_of(const struct hes_point *p)
{
	if (!isnan(p->time_se))
		return round_digits(p->time_se);
	if (p->windows == 1)
		return NOISY;
	return p->cv >= NOISY && p->windows ? round_digits(p->cv / sqrt(p->windows)) : 0;
}

/* The mean of two readings; where one is missing, the other. */
static double mean_of(double a, double b, double weight_b)
{
	return isnan(a) ? b : isnan(b) ? a : a + weight_b * (b - a);
}

/* Combine two measurements by the inverse squares of their errors. @return 0 or -ENOMEM */
static int combine(struct entry *a, const struct entry *b)
{
	static const size_t readings[] = {
		offsetof(struct hes_point, iteration_us), offsetof(struct hes_point, memory_mib),
		offsetof(struct hes_point, held_mhz),     offsetof(struct hes_point, busy),
		offsetof(struct hes_point, memory_busy),  offsetof(struct hes_point, sm_active),
		offsetof(struct hes_point, dram_active),
	};
	double sum = a->time_se * a->time_se + b->time_se * b->time_se,
	       weight = a->time_se * a->time_se / sum;
	struct hes_point *made = a->combined ? a->combined : malloc(sizeof(*made));

	if (!made)
		return -ENOMEM;
	if (!a->combined)
		*made = *a->p;
	for (size_t i = 0; i < sizeof(readings) / sizeof(readings[0]); i++) {
		double *to = (double *)(void *)((char *)made + readings[i]);

		*to = round_digits(mean_of(
			*to, *(const double *)(const void *)((const char *)b->p + readings[i]),
			weight));
	}
	made->power_mw = (uint32_t)lround(mean_of(made->power_mw, b->p->power_mw, weight));
	a->p = a->combined = made;
	a->time_se = round_digits(a->time_se * b->time_se / sqrt(sum));
	return 0;
}

static bool agree(const struct entry *a, const struct entry *b)
{
	return a->time_se > 0 && b->time_se > 0 &&
	       fabs(log(b->p->iteration_us / a->p->iteration_us)) <=
		       AGREE * sqrt(a->time_se * a->time_se + b->time_se * b->time_se);
}

/* One entry for each job in each setting. @return 0 or -ENOMEM */
static int combine_repeated(struct derivation *t)
{
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; i < t->n; i++) {
		struct entry *last = n ? &t->v[n - 1] : NULL;

		if (!last || compare_setting(last, &t->v[i]) || compare_job(last->p, t->v[i].p)) {
			t->v[n++] = t->v[i];
		} else if (agree(last, &t->v[i])) {
			rc = rc ? rc : combine(last, &t->v[i]);
		} else {
			free(last->combined);
			*last = t->v[i];
		}
	}
	t->n = n;
	return rc;
}

static int index_points(struct derivation *t, const struct hes_points *p, struct hes_err *err)
{
	t->v = calloc(p->n + 1, sizeof(*t->v));
	if (!t->v)
		return hes_fail(err, -ENOMEM, "out of memory for %zu rows of points", p->n);
	for (size_t i = 0; i < p->n; i++) {
		struct entry *e = &t->v[t->n];
		const struct hes_gpu_type *g;

		g = hes_gpu_type_find(&t->c, p->v[i].gpu_type, err);
		if (!g)
			return -ENOENT;
		*e = (struct entry){ .p = &p->v[i],
				     .lock_mhz = setting_lock(g, p->v[i].clock_mhz),
				     .time_se = time_se_of(&p->v[i]),
				     .at = i };
		hes_co_run_text_all(e->p, e->text);
		t->n++;
	}
	if (t->n)
		qsort(t->v, t->n, sizeof(*t->v), compare);
	return combine_repeated(t) ? hes_fail(err, -ENOMEM, "out of memory for points") : 0;
}

/* The last row of a setting: every row of a setting has the GPU's power. */
static const struct entry *find_setting(const struct derivation *t, const char *type,
					uint32_t lock_mhz, const char *text)
{
	size_t low = 0, high = t->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct entry *e = &t->v[mid];
		int d = strcmp(e->p->gpu_type, type);

		if (!d)
			d = (e->lock_mhz > lock_mhz) - (e->lock_mhz < lock_mhz);
		if (!d)
			d = strcmp(e->text, text);
		if (d <= 0)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || strcmp(t->v[low - 1].p->gpu_type, type) || t->v[low - 1].lock_mhz != lock_mhz ||
	    strcmp(t->v[low - 1].text, text))
		return NULL;
	return &t->v[low - 1];
}

/*
 * SM utilisation on GPUs without a counter of active SMs: the smallest share at which the job alone
 * is as fast as on the whole GPU, times its busy time.
 */
static double guess_sm_util(const struct derivation *t, const struct hes_point *whole)
{
	uint32_t least = WHOLE;

	for (size_t i = 0; i < t->n; i++) {
		const struct hes_point *p = t->v[i].p;

		if (!p->co_runners[0] && p->sm_pct < least && !t->v[i].lock_mhz &&
		    p->batch_size == whole->batch_size &&
		    strcmp(p->workload, whole->workload) == 0 &&
		    strcmp(p->gpu_type, whole->gpu_type) == 0 &&
		    p->iteration_us * SATURATED <= whole->iteration_us)
			least = p->sm_pct;
	}
	return whole->busy * least / WHOLE;
}

/* The mean start-up of a job on a type, in all settings; 0: unknown. */
static double start_of(const struct derivation *t, const struct hes_point *job)
{
	double sum = 0, n = 0;

	for (size_t i = 0; i < t->n; i++) {
		const struct hes_point *p = t->v[i].p;

		if (p->batch_size == job->batch_size && !isnan(p->start_s) &&
		    !strcmp(p->workload, job->workload) && !strcmp(p->gpu_type, job->gpu_type)) {
			sum += p->start_s;
			n++;
		}
	}
	return n > 0 ? round_digits(sum / n) : 0;
}

/* @return false: the GPU did not report what a profile needs */
static bool profile_of(const struct derivation *t, const struct entry *e, struct hes_profile *out)
{
	struct hes_point p = *e->p;

	p.sm_active = isnan(p.sm_active) ? guess_sm_util(t, e->p) : p.sm_active;
	if (!hes_point_profile(&p, out))
		return false;
	out->time_se = e->time_se;
	out->start_s = start_of(t, e->p);
	return true;
}

static int derive_profiles(struct derivation *t, struct hes_err *err)
{
	t->profiles.v = calloc(t->n + 1, sizeof(*t->profiles.v));
	if (!t->profiles.v)
		return hes_fail(err, -ENOMEM, "out of memory for profiles");
	for (size_t i = 0; i < t->n; i++) {
		const struct hes_point *p = t->v[i].p;

		if (!p->co_runners[0] && p->sm_pct == WHOLE && !t->v[i].lock_mhz)
			t->profiles.n += profile_of(t, &t->v[i], &t->profiles.v[t->profiles.n]);
	}
	hes_profiles_sort(&t->profiles);
	hes_profiles_hold(&t->profiles, t->c.types, t->c.n);
	return 0;
}

/* Rounded as in files, so that a sample is the same before and after it is stored. */
static void round_load(struct hes_load *l)
{
	double *const v[] = {
		&l->sm_util, &l->dram_util,        &l->l2_util,       &l->busy,
		&l->sm_busy, &l->l2_sets,          &l->dram_busy,     &l->serial,
		&l->pace,    &l->iterations_per_s, &l->solo_power_mw, &l->solo_clock_mhz
	};

	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		*v[i] = round_digits(*v[i]);
}

/*
 * Where the co-runners were never measured without the job, their power is 0: unknown.
 * @return false: a co-runner's name cannot be read, or it has no profile
 */
static bool load_of(const struct derivation *t, const struct entry *e, struct hes_load *out)
{
	const struct hes_point *p = e->p;
	const struct hes_gpu_type *g = hes_gpu_type_find(&t->c, p->gpu_type, NULL);
	const struct entry *without =
		p->co_runners[0] ? find_setting(t, p->gpu_type, e->lock_mhz, p->co_runners) : NULL;
	const char *at = p->co_runners;
	struct hes_co_run_job job;

	*out = (struct hes_load){ .power_mw = without            ? without->p->power_mw
					      : p->co_runners[0] ? 0
								 : g->idle_power_mw };
	while (hes_co_run_text_next(&at, &job)) {
		struct hes_profile solo;

		if (hes_profile_find(&t->profiles, job.workload, job.batch_size, p->gpu_type, &solo,
				     NULL))
			return false;
		hes_load_add(out, g, &solo, job.sm_pct, hes_gpu_type_clock(g, e->lock_mhz));
	}
	if (*at)
		return false;
	round_load(out);
	return true;
}

static int derive_samples(struct derivation *t, struct hes_err *err)
{
	t->samples.v = calloc(t->n + 1, sizeof(*t->samples.v));
	if (!t->samples.v)
		return hes_fail(err, -ENOMEM, "out of memory for samples");
	for (size_t i = 0; i < t->n; i++) {
		const struct hes_point *p = t->v[i].p;
		struct hes_sample *s = &t->samples.v[t->samples.n];

		if (hes_profile_find(&t->profiles, p->workload, p->batch_size, p->gpu_type,
				     &s->task, NULL) ||
		    !load_of(t, &t->v[i], &s->co_runners))
			continue;
		s->sm_pct = p->sm_pct;
		s->clock_mhz = t->v[i].lock_mhz;
		strcpy(s->co_runner_names, p->co_runners);
		s->iteration_us = round_digits(p->iteration_us);
		s->power_mw = p->power_mw;
		s->time_se = t->v[i].time_se;
		t->samples.n++;
	}
	return 0;
}

int hes_points_derive(const struct hes_points *p, const struct hes_catalogue *c,
		      struct hes_profiles *profiles, struct hes_samples *samples,
		      struct hes_err *err)
{
	struct derivation t = { .n = 0 };
	int rc = hes_catalogue_put(&t.c, c->types, c->n, err);

	if (!rc)
		rc = index_points(&t, p, err);
	if (!rc)
		rc = derive_profiles(&t, err);
	if (!rc)
		rc = derive_samples(&t, err);
	for (size_t i = 0; i < t.n; i++)
		free(t.v[i].combined);
	free(t.v);
	hes_catalogue_free(&t.c);
	if (rc) {
		hes_profiles_free(&t.profiles);
		hes_samples_free(&t.samples);
		return rc;
	}
	*profiles = t.profiles;
	*samples = t.samples;
	return 0;
}
