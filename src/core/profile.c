/*
 * profile.c - read, write, sort and find profiles and samples; see profile.h. row.h describes the
 * tables of columns.
 */
#include "base/texts.h"
#include "heshare/profile.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/co_run_text.h"
#include "core/row.h"
#include "heshare/job.h"

#define PROFILE(member) offsetof(struct hes_profile, member)
#define SAMPLE(member)  offsetof(struct hes_sample, member)
#define N(array)        (sizeof(array) / sizeof((array)[0]))

#define MIN_US      1e-3
#define MAX_US      1e12
#define MAX_MIB     16777216
#define MAX_MW      10000000
#define MAX_UTIL    1
#define MAX_LOAD    64 /* a sum over co-runners */
#define MAX_SE      1e6
#define MAX_START_S 1e7

static const struct hes_row_column profile_columns[] = {
	{ "workload", HES_ROW_TEXT, PROFILE(workload), 0, 0, HES_ROW_NEEDED },
	{ "gpu_type", HES_ROW_TEXT, PROFILE(gpu_type), 0, 0, HES_ROW_NEEDED },
	{ "batch_size", HES_ROW_U32, PROFILE(batch_size), 1, 65536, HES_ROW_NEEDED },
	{ "memory_mib", HES_ROW_U32, PROFILE(memory_mib), 0, MAX_MIB, HES_ROW_NEEDED },
	{ "clock_mhz", HES_ROW_U32, PROFILE(clock_mhz), 0, 10000, HES_ROW_OPTIONAL },
	{ "iteration_us", HES_ROW_REAL, PROFILE(iteration_us), MIN_US, MAX_US, HES_ROW_NEEDED },
	{ "busy", HES_ROW_REAL, PROFILE(busy), 0, MAX_UTIL, HES_ROW_OPTIONAL },
	{ "sm_util", HES_ROW_REAL, PROFILE(sm_util), 0, MAX_UTIL, HES_ROW_NEEDED },
	{ "dram_util", HES_ROW_REAL, PROFILE(dram_util), 0, MAX_UTIL, HES_ROW_NEEDED },
	{ "l2_util", HES_ROW_REAL, PROFILE(l2_util), 0, MAX_UTIL, HES_ROW_OPTIONAL },
	{ "power_mw", HES_ROW_U32, PROFILE(power_mw), 1, MAX_MW, HES_ROW_NEEDED },
	{ "time_se", HES_ROW_REAL, PROFILE(time_se), 0, MAX_SE, HES_ROW_LATER },
	{ "start_s", HES_ROW_REAL, PROFILE(start_s), 0, MAX_START_S, HES_ROW_LATER },
};

static const struct hes_row_column sample_columns[] = {
	{ "workload", HES_ROW_TEXT, SAMPLE(task.workload), 0, 0, HES_ROW_NEEDED },
	{ "gpu_type", HES_ROW_TEXT, SAMPLE(task.gpu_type), 0, 0, HES_ROW_NEEDED },
	{ "batch_size", HES_ROW_U32, SAMPLE(task.batch_size), 1, 65536, HES_ROW_NEEDED },
	{ "memory_mib", HES_ROW_U32, SAMPLE(task.memory_mib), 0, MAX_MIB, HES_ROW_NEEDED },
	{ "solo_clock_mhz", HES_ROW_U32, SAMPLE(task.clock_mhz), 0, 10000, HES_ROW_OPTIONAL },
	{ "solo_iteration_us", HES_ROW_REAL, SAMPLE(task.iteration_us), MIN_US, MAX_US,
	  HES_ROW_NEEDED },
	{ "solo_busy", HES_ROW_REAL, SAMPLE(task.busy), 0, MAX_UTIL, HES_ROW_OPTIONAL },
	{ "solo_sm_util", HES_ROW_REAL, SAMPLE(task.sm_util), 0, MAX_UTIL, HES_ROW_NEEDED },
	{ "solo_dram_util", HES_ROW_REAL, SAMPLE(task.dram_util), 0, MAX_UTIL, HES_ROW_NEEDED },
	{ "solo_l2_util", HES_ROW_REAL, SAMPLE(task.l2_util), 0, MAX_UTIL, HES_ROW_OPTIONAL },
	{ "solo_power_mw", HES_ROW_U32, SAMPLE(task.power_mw), 1, MAX_MW, HES_ROW_NEEDED },
	{ "least_us", HES_ROW_REAL, SAMPLE(task.least_us), 0, MAX_US, HES_ROW_OPTIONAL },
	{ "sm_pct", HES_ROW_U32, SAMPLE(sm_pct), 1, 100, HES_ROW_NEEDED },
	{ "clock_mhz", HES_ROW_U32, SAMPLE(clock_mhz), 0, 10000, HES_ROW_NEEDED },
	{ "co_runner_count", HES_ROW_U32, SAMPLE(co_runners.jobs), 0, 63, HES_ROW_NEEDED },
	{ "co_runner_sm_pct", HES_ROW_U32, SAMPLE(co_runners.sm_pct), 0, 6300, HES_ROW_NEEDED },
	{ "co_runner_sm_util", HES_ROW_REAL, SAMPLE(co_runners.sm_util), 0, MAX_LOAD,
	  HES_ROW_NEEDED },
	{ "co_runner_dram_util", HES_ROW_REAL, SAMPLE(co_runners.dram_util), 0, MAX_LOAD,
	  HES_ROW_NEEDED },
	{ "co_runner_l2_util", HES_ROW_REAL, SAMPLE(co_runners.l2_util), 0, MAX_LOAD,
	  HES_ROW_OPTIONAL },
	{ "co_runner_power_mw", HES_ROW_U32, SAMPLE(co_runners.power_mw), 0, MAX_MW,
	  HES_ROW_NEEDED },
	{ "co_runner_busy", HES_ROW_REAL, SAMPLE(co_runners.busy), 0, MAX_LOAD, HES_ROW_OPTIONAL },
	{ "co_runner_sm_busy", HES_ROW_REAL, SAMPLE(co_runners.sm_busy), 0, MAX_LOAD,
	  HES_ROW_OPTIONAL },
	{ "co_runner_l2_sets", HES_ROW_REAL, SAMPLE(co_runners.l2_sets), 0, 1e6, HES_ROW_OPTIONAL },
	{ "co_runner_dram_busy", HES_ROW_REAL, SAMPLE(co_runners.dram_busy), 0, MAX_LOAD,
	  HES_ROW_OPTIONAL },
	{ "co_runner_serial", HES_ROW_REAL, SAMPLE(co_runners.serial), 0, MAX_LOAD,
	  HES_ROW_OPTIONAL },
	{ "co_runner_relative_rate", HES_ROW_REAL, SAMPLE(co_runners.pace), 0, MAX_LOAD,
	  HES_ROW_OPTIONAL },
	{ "co_runner_iterations_per_s", HES_ROW_REAL, SAMPLE(co_runners.iterations_per_s), 0, 1e12,
	  HES_ROW_OPTIONAL },
	{ "co_runner_solo_power_mw", HES_ROW_REAL, SAMPLE(co_runners.solo_power_mw), 0, 1e9,
	  HES_ROW_OPTIONAL },
	{ "co_runner_solo_clock_mhz", HES_ROW_REAL, SAMPLE(co_runners.solo_clock_mhz), 0, 10000,
	  HES_ROW_OPTIONAL },
	{ "co_runners", HES_ROW_LINE, SAMPLE(co_runner_names), 0, HES_CO_RUN_TEXT_MAX - 1,
	  HES_ROW_OPTIONAL },
	{ "iteration_us", HES_ROW_REAL, SAMPLE(iteration_us), MIN_US, MAX_US, HES_ROW_NEEDED },
	{ "power_mw", HES_ROW_U32, SAMPLE(power_mw), 1, MAX_MW, HES_ROW_NEEDED },
	{ "time_se", HES_ROW_REAL, SAMPLE(time_se), 0, MAX_SE, HES_ROW_LATER },
};

const struct hes_row_table hes_profile_table = {
	"profiles",
	profile_columns,
	N(profile_columns),
	sizeof(struct hes_profile),
};

const struct hes_row_table hes_sample_table = {
	"samples",
	sample_columns,
	N(sample_columns),
	sizeof(struct hes_sample),
};

int hes_profile_compare(const void *a, const void *b)
{
	const struct hes_profile *x = a, *y = b;
	int d = strcmp(x->workload, y->workload);

	if (!d)
		d = strcmp(x->gpu_type, y->gpu_type);
	return d ? d : (x->batch_size > y->batch_size) - (x->batch_size < y->batch_size);
}

void hes_profiles_sort(struct hes_profiles *p)
{
	if (p->n)
		qsort(p->v, p->n, sizeof(*p->v), hes_profile_compare);
	for (size_t i = 0, next; i < p->n; i = next) {
		double least = p->v[i].iteration_us;

		for (next = i; next < p->n && strcmp(p->v[next].workload, p->v[i].workload) == 0;
		     next++)
			least = fmin(least, p->v[next].iteration_us);
		for (size_t k = i; k < next; k++)
			p->v[k].least_us = least;
	}
}

int hes_profiles_load(const char *path, struct hes_profiles *out, struct hes_err *err)
{
	struct hes_profiles p = { 0 };
	void *rows;
	int rc = hes_rows_load(&hes_profile_table, path, &rows, &p.n, err);

	if (rc)
		return rc;
	p.v = rows;
	hes_profiles_sort(&p);
	for (size_t i = 1; i < p.n; i++)
		if (hes_profile_compare(&p.v[i - 1], &p.v[i]) == 0) {
			rc = hes_fail(err, -EEXIST, "%s: %s on %s at batch size %u is given twice",
				      path, p.v[i].workload, p.v[i].gpu_type, p.v[i].batch_size);
			hes_profiles_free(&p);
			return rc;
		}
	*out = p;
	return 0;
}

int hes_profiles_join(const struct hes_profiles *first, const struct hes_profiles *rest,
		      struct hes_profiles *out)
{
	struct hes_profiles p = { .v = calloc(first->n + rest->n + 1, sizeof(*p.v)) };

	if (!p.v)
		return -ENOMEM;
	for (size_t i = 0, k = 0; k < rest->n; k++) {
		while (i < first->n && hes_profile_compare(&first->v[i], &rest->v[k]) < 0)
			i++;
		if (i == first->n || hes_profile_compare(&first->v[i], &rest->v[k]))
			p.v[p.n++] = rest->v[k];
	}
	for (size_t i = 0; i < first->n; i++)
		p.v[p.n++] = first->v[i];
	hes_profiles_sort(&p);
	*out = p;
	return 0;
}

/* First profile that is not before @key. */
static size_t lower_bound(const struct hes_profiles *p, const struct hes_profile *key)
{
	size_t low = 0, high = p->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (hes_profile_compare(&p->v[mid], key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

void hes_jobs_take_measured(struct hes_jobs *jobs, const struct hes_profiles *p)
{
	for (size_t i = 0; i < jobs->n; i++) {
		struct hes_job *j = &jobs->v[i];
		struct hes_profile first = { .batch_size = 0 };

		memcpy(first.workload, j->workload, sizeof(first.workload));
		for (size_t k = lower_bound(p, &first);
		     k < p->n && strcmp(p->v[k].workload, j->workload) == 0; k++)
			if (p->v[k].batch_size == j->batch_size &&
			    p->v[k].memory_mib > j->measured_mib)
				j->measured_mib = p->v[k].memory_mib;
	}
}

int hes_profiles_save(const char *path, const struct hes_profiles *p, struct hes_err *err)
{
	return hes_rows_save(&hes_profile_table, path, p->v, p->n, err);
}

void hes_profiles_free(struct hes_profiles *p)
{
	free(p->v);
	*p = (struct hes_profiles){ 0 };
}

int hes_samples_load(const char *path, struct hes_samples *out, struct hes_err *err)
{
	struct hes_samples s;
	void *rows;
	size_t n;
	int rc = hes_rows_load(&hes_sample_table, path, &rows, &n, err);

	if (rc)
		return rc;
	s = (struct hes_samples){ .v = rows, .n = n };
	for (size_t i = 0; i < n && !rc; i++) {
		rc = hes_co_run_text_check(&s.v[i], err);
		if (rc)
			hes_fail_in(err, "%s: sample %zu", path, i + 1);
		else
			hes_co_run_text_sort(s.v[i].co_runner_names);
	}
	if (rc)
		hes_samples_free(&s);
	else
		*out = s;
	return rc;
}

int hes_samples_save(const char *path, const struct hes_samples *s, struct hes_err *err)
{
	return hes_rows_save(&hes_sample_table, path, s->v, s->n, err);
}

void hes_samples_free(struct hes_samples *s)
{
	free(s->v);
	*s = (struct hes_samples){ 0 };
}

static bool same_curve(const struct hes_profile *a, const struct hes_profile *b)
{
	return strcmp(a->workload, b->workload) == 0 && strcmp(a->gpu_type, b->gpu_type) == 0;
}

static double between(double a, double b, double t)
{
	return a + (b - a) * t;
}

static uint32_t between_u32(uint32_t a, uint32_t b, double t)
{
	return (uint32_t)lround(between(a, b, t));
}

static void interpolate(const struct hes_profile *a, const struct hes_profile *b,
			uint32_t batch_size, struct hes_profile *out)
{
	double t = (double)(batch_size - a->batch_size) / (b->batch_size - a->batch_size);

	*out = *a;
	out->batch_size = batch_size;
	out->memory_mib = between_u32(a->memory_mib, b->memory_mib, t);
	out->clock_mhz = between_u32(a->clock_mhz, b->clock_mhz, t);
	out->iteration_us = between(a->iteration_us, b->iteration_us, t);
	out->busy = between(a->busy, b->busy, t);
	out->sm_util = between(a->sm_util, b->sm_util, t);
	out->dram_util = between(a->dram_util, b->dram_util, t);
	out->l2_util = between(a->l2_util, b->l2_util, t);
	out->start_s = a->start_s > 0 && b->start_s > 0 ? between(a->start_s, b->start_s, t)
							: fmax(a->start_s, b->start_s);
	out->power_mw = between_u32(a->power_mw, b->power_mw, t);
}

/* Profiles are sorted by workload, so that each name is reported once. */
static int fail_unknown(const struct hes_profiles *p, const char *workload, struct hes_err *err)
{
	const char *near = NULL;
	char known[360] = "";

	for (size_t i = 0; i < p->n && !near; i++)
		if (strcasecmp(p->v[i].workload, workload) == 0)
			near = p->v[i].workload;
	for (size_t i = 0; i < p->n; i++)
		if (i == 0 || strcmp(p->v[i].workload, p->v[i - 1].workload) != 0)
			hes_text_add(known, sizeof(known), ", ", "%s", p->v[i].workload);
	if (hes_workload_is_whole_run(workload))
		return hes_fail(
			err, -ENOENT,
			"workload \"%.60s\" was never run (heshare run measures jobs without "
			"iterations); there are: %s",
			workload, known);
	return hes_fail(err, -ENOENT, "workload \"%.60s\" was never profiled%s%s%s; there are: %s",
			workload, near ? " (did you mean " : "",
			near ? near
			     : " (heshare profile measures it; heshare run takes it as it is)",
			near ? "?)" : "", known);
}

/* Why there is no profile: no such workload, not on this type, or not at this batch size. */
static int not_found(const struct hes_profiles *p, const struct hes_profile *key,
		     struct hes_err *err)
{
	const struct hes_profile *first = NULL, *last = NULL;
	bool workload_known = false;

	for (size_t i = 0; i < p->n; i++) {
		workload_known |= strcmp(p->v[i].workload, key->workload) == 0;
		if (!same_curve(&p->v[i], key))
			continue;
		first = first ? first : &p->v[i];
		last = &p->v[i];
	}
	if (first)
		return hes_fail(err, -ERANGE,
				"%s on %s: batch size %u is outside the profiled %u to %u",
				key->workload, key->gpu_type, key->batch_size, first->batch_size,
				last->batch_size);
	if (workload_known)
		return hes_fail(err, -ENOENT, "workload \"%s\" was never profiled on %s",
				key->workload, key->gpu_type);
	return fail_unknown(p, key->workload, err);
}

/* @return false: a name is too long to be that of a profile */
static bool key_make(struct hes_profile *key, const char *workload, uint32_t batch_size,
		     const char *gpu_type)
{
	if (strlen(workload) >= HES_NAME_MAX || strlen(gpu_type) >= HES_NAME_MAX)
		return false;
	*key = (struct hes_profile){ .batch_size = batch_size };
	strcpy(key->workload, workload);
	strcpy(key->gpu_type, gpu_type);
	return true;
}

bool hes_profile_rows(const struct hes_profiles *p, const char *workload, uint32_t batch_size,
		      const char *gpu_type, size_t *low, size_t *high)
{
	struct hes_profile key;

	if (!key_make(&key, workload, batch_size, gpu_type))
		return false;
	*high = lower_bound(p, &key);
	*low = *high - (*high > 0 && *high < p->n && p->v[*high].batch_size != batch_size);
	return *high < p->n && same_curve(&p->v[*low], &key) && same_curve(&p->v[*high], &key) &&
	       p->v[*low].batch_size <= batch_size;
}

int hes_profile_find(const struct hes_profiles *p, const char *workload, uint32_t batch_size,
		     const char *gpu_type, struct hes_profile *out, struct hes_err *err)
{
	struct hes_profile key;
	size_t low, high;

	if (!hes_profile_rows(p, workload, batch_size, gpu_type, &low, &high))
		return key_make(&key, workload, batch_size, gpu_type)
			       ? not_found(p, &key, err)
			       : fail_unknown(p, workload, err);
	if (low == high)
		*out = p->v[low];
	else
		interpolate(&p->v[low], &p->v[high], batch_size, out);
	return 0;
}

#define BANDWIDTH_REACHED 0.85   /* of the data sheet's */
#define SATURATING_SHARE  0.55   /* of the SMs, that draws all of the bandwidth */
#define MOST_OF_L2        0.98   /* what touches more may be of any size */
#define LAUNCHING_US      4000.0 /* of a workload of which nothing else is known */
#define LAUNCHING_PART    0.8    /* of the shortest iteration */
#define WAITING_POWER     0.4    /* of an SM that waits for memory, of one that computes */
#define SHARE_BEND \
	9.0 /* how sharply a share bends into the SMs and the bandwidth that a task can use */
#define LAUNCHING_BEND 5.0   /* ... launching into the GPU's work, of which the longer counts */
#define NEGLIGIBLE     0.2   /* ratio at which the longer is the larger value */
#define LEAST_SERIAL   0.005 /* of the solo iteration */

/*
 * An iteration in parts of the solo one: computing, waiting for memory, and how long it
 * all takes. Launching hides the more behind the GPU, the less of it there is.
 */
struct parts {
	double serial, compute, memory, whole;
	double sms;    /* part of the SMs it computes on */
	double draw;   /* part of the bandwidth that its share can draw */
	double joules; /* dynamic energy, of the solo iteration's; voltage apart */
};

/*
 * Launching an iteration takes as long whatever the batch size and the type: the shortest
 * iteration known is little else.
 */
static double launching_us(const struct hes_profile *solo)
{
	return solo->least_us > 0 ? LAUNCHING_PART * solo->least_us : LAUNCHING_US;
}

/* The smaller of a part and a share, bending from one to the other; the part where the share is
 * all. */
static double held_to(double part, double share)
{
	return part *
	       pow(1 + pow(part, SHARE_BEND) * (pow(share, -SHARE_BEND) - 1), -1 / SHARE_BEND);
}

/* The larger of two, bending from one to the other. */
static double longer_of(double a, double b)
{
	double lo = fmin(a, b), hi = fmax(a, b);

	return lo > NEGLIGIBLE * hi ? hi * pow(1 + pow(lo / hi, LAUNCHING_BEND), 1 / LAUNCHING_BEND)
				    : hi;
}

static struct parts alone_with_share(const struct hes_gpu_type *g, const struct hes_profile *solo,
				     double share, uint32_t clock_mhz)
{
	double busy = fmax(fmax(solo->busy, solo->sm_util), 1e-3),
	       width = fmin(fmax(solo->sm_util / busy, 1e-3), 1);
	double memory = fmin(solo->dram_util / BANDWIDTH_REACHED, 0.98 * busy);
	double clock =
		clock_mhz / (double)(solo->clock_mhz ? solo->clock_mhz : g->clock_default_mhz);
	double launching = fmin(launching_us(solo) / solo->iteration_us, 1),
	       paced = longer_of(launching, busy), fit;
	struct parts p = { .sms = held_to(width, share), .serial = fmax(1 - paced, LEAST_SERIAL) };

	fit = fmin(1, (1 - p.serial) / paced); /* so that the solo iteration is 1 */
	p.draw = pow((1 + pow(SATURATING_SHARE, SHARE_BEND)) /
			     (1 + pow(SATURATING_SHARE / share, SHARE_BEND)),
		     1 / SHARE_BEND);
	p.compute = (busy - memory) * width / p.sms / clock;
	p.memory = memory / p.draw;
	p.joules = (busy - memory + WAITING_POWER * p.memory * p.sms / width * clock) /
		   (busy - memory + WAITING_POWER * memory);
	p.whole = p.serial + longer_of(launching, p.compute + p.memory) * fit;
	p.compute *= fit;
	p.memory *= fit;
	return p;
}

static void add_activity(struct hes_load *load, const struct hes_gpu_type *g,
			 const struct hes_profile *solo, double share, uint32_t clock_mhz)
{
	struct parts p = alone_with_share(g, solo, share, clock_mhz);
	double dynamic_mw = fmax((double)solo->power_mw - g->idle_power_mw, 1);
	double power_mw = dynamic_mw * p.joules / p.whole, before = load->solo_power_mw;
	double l2 = fmin(solo->l2_util / fmax(fmax(solo->busy, solo->sm_util), 1e-3), MOST_OF_L2);
	double held_mhz = solo->clock_mhz ? solo->clock_mhz : g->clock_default_mhz;

	load->busy += (p.compute + p.memory) / p.whole;
	load->sm_busy += p.compute / p.whole * p.sms;
	load->l2_sets += (p.compute + p.memory) / p.whole * l2 / (1 - l2);
	load->dram_busy += p.memory / p.whole * p.draw;
	load->serial += p.serial / p.whole;
	load->pace += p.joules / p.whole;
	load->iterations_per_s += 1e6 / (solo->iteration_us * p.whole);
	load->solo_power_mw += power_mw;
	load->solo_clock_mhz =
		(load->solo_clock_mhz * before + held_mhz * power_mw) / (before + power_mw);
}

void hes_load_add(struct hes_load *load, const struct hes_gpu_type *g,
		  const struct hes_profile *solo, uint32_t sm_pct, uint32_t clock_mhz)
{
	double share = sm_pct / 100.0;
	/* A co-runner with a smaller share does this part of its work. */
	double part = solo->sm_util > share ? share / solo->sm_util : 1;

	load->sm_util += solo->sm_util * part;
	load->dram_util += solo->dram_util * part;
	load->l2_util += solo->l2_util * part;
	load->jobs++;
	load->sm_pct += sm_pct;
	add_activity(load, g, solo, share, clock_mhz);
}

void hes_load_join(struct hes_load *load, const struct hes_load *more)
{
	double before = load->solo_power_mw, power_mw = before + more->solo_power_mw;

	load->sm_util += more->sm_util;
	load->dram_util += more->dram_util;
	load->l2_util += more->l2_util;
	load->jobs += more->jobs;
	load->sm_pct += more->sm_pct;
	load->busy += more->busy;
	load->sm_busy += more->sm_busy;
	load->l2_sets += more->l2_sets;
	load->dram_busy += more->dram_busy;
	load->serial += more->serial;
	load->pace += more->pace;
	load->iterations_per_s += more->iterations_per_s;
	if (power_mw > 0)
		load->solo_clock_mhz = (load->solo_clock_mhz * before +
					more->solo_clock_mhz * more->solo_power_mw) /
				       power_mw;
	load->solo_power_mw = power_mw;
	load->unseen_distance += more->unseen_distance;
	load->computing += more->computing;
	load->syncing += more->syncing;
	load->saved += more->saved;
	load->wide += more->wide;
	load->kernel_us += more->kernel_us;
}
