/*
 * observation.c - samples as a predictor learns from them; see observation.h.
 */
#include "predict/baseline/observation.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/texts.h"
#include "core/co_run_text.h"

#define MAX_MW  4e9
#define CERTAIN (0.02 * 0.02) /* a sample with this squared error counts half */

/* Profiles of a sample's co-runners, all of them or none. @return how many */
static size_t find_named(const struct hes_sample *s, const struct hes_profiles *known,
			 struct named_co_runner *out)
{
	const char *at = s->co_runner_names;
	struct hes_co_run_job job;
	size_t n = 0;

	while (known && hes_co_run_text_next(&at, &job)) {
		if (hes_profile_find(known, job.workload, job.batch_size, s->task.gpu_type,
				     &out[n].solo, NULL))
			return 0;
		out[n++].sm_pct = job.sm_pct;
	}
	return n;
}

static int observe(const struct hes_sample *s, size_t index, const struct hes_catalogue *c,
		   struct observation *out, struct hes_err *err)
{
	const struct hes_gpu_type *g = hes_gpu_type_find(c, s->task.gpu_type, err);
	int rc = g ? hes_co_run_text_check(s, err) : -ENOENT;

	if (rc) {
		hes_fail_in(err, "sample %zu", index + 1);
		return rc;
	}
	if (!(s->iteration_us > 0) || !s->power_mw || !(s->task.iteration_us > 0) || !s->sm_pct)
		return hes_fail(err, -EINVAL, "sample %zu: times, power and shares must be above 0",
				index + 1);
	*out = (struct observation){
		.query = { .gpu = g, .task = &s->task },
		.setting = { s->sm_pct, hes_gpu_type_clock(g, s->clock_mhz) },
		.co_runners = s->co_runners,
		.iteration_us = s->iteration_us,
		.power_w = s->power_mw * 1e-3,
		.weight = CERTAIN / (CERTAIN + s->time_se * s->time_se),
		.power_unknown = s->co_runners.jobs && !s->co_runners.power_mw,
	};
	observation_relink(out);
	return 0;
}

void observation_relink(struct observation *o)
{
	o->query.setting = &o->setting;
	o->query.co_runners = &o->co_runners;
}

/* Samples whose names are sound name as many as reside. */
static size_t count_named(const struct hes_samples *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n && s->known; i++)
		n += s->v[i].co_runner_names[0] ? s->v[i].co_runners.jobs : 0;
	return n;
}

int observations_init(struct observations *o, const struct hes_samples *s,
		      const struct hes_catalogue *c, struct hes_err *err)
{
	struct observations made = { calloc(s->n + 1, sizeof(*made.v)), s->n,
				     calloc(count_named(s) + 1, sizeof(*made.named)) };
	struct named_co_runner *next = made.named;
	int rc = made.v && made.named
			 ? 0
			 : hes_fail(err, -ENOMEM, "out of memory for %zu samples", s->n);

	for (size_t i = 0; i < s->n && !rc; i++) {
		rc = observe(&s->v[i], i, c, &made.v[i], err);
		if (rc)
			break;
		made.v[i].named = next;
		made.v[i].n_named = find_named(&s->v[i], s->known, next);
		next += made.v[i].n_named;
	}
	if (rc)
		observations_finish(&made);
	else
		*o = made;
	return rc;
}

void observations_finish(struct observations *o)
{
	free(o->v);
	free(o->named);
	*o = (struct observations){ 0 };
}

void observation_predict_load(const struct constants_table *t, struct observation *o,
			      double *kernel_us)
{
	const struct hes_gpu_type *g = o->query.gpu;
	struct hes_load load = { .power_mw = g->idle_power_mw };

	for (size_t i = 0; i < o->n_named; i++) {
		const struct hes_setting setting = { o->named[i].sm_pct,
						     o->query.setting->clock_mhz };
		const struct constants k = constants_of(t, g->name, o->named[i].solo.workload);
		const struct base_task task = baseline_task(&k, g, &o->named[i].solo);
		const struct base_setting b = baseline_setting(&task, &setting);
		double power_mw = baseline_with(&task, &b, &load).power_w * 1e3,
		       before_us = load.kernel_us;

		baseline_join(&task, &b, &setting, &load);
		if (kernel_us)
			kernel_us[i] = load.kernel_us - before_us;
		load.power_mw = load.predicted_mw = (uint32_t)lround(fmin(power_mw, MAX_MW));
	}
	if (!o->n_named)
		return;
	load.power_mw = o->power_unknown ? load.predicted_mw : o->co_runners.power_mw;
	o->co_runners = load;
}

const struct named_co_runner *observation_last_named(const struct observation *o)
{
	return o->n_named && !o->power_unknown ? &o->named[o->n_named - 1] : NULL;
}

/* A name and how often it occurs. */
struct tally {
	const char *name; /* first: hes_by_pointed_text() sorts them */
	size_t count;
};

static int by_count(const void *a, const void *b)
{
	const struct tally *x = a, *y = b;

	return x->count != y->count ? (x->count < y->count ? 1 : -1) : strcmp(x->name, y->name);
}

/* Distinct names, sorted; where they are more than @most, the most frequent ones. @return how many
 */
static size_t tally(struct tally *v, size_t n, size_t most)
{
	size_t distinct = 0;

	qsort(v, n, sizeof(*v), hes_by_pointed_text);
	for (size_t i = 0; i < n; i++)
		if (distinct && strcmp(v[distinct - 1].name, v[i].name) == 0)
			v[distinct - 1].count++;
		else
			v[distinct++] = v[i];
	if (distinct > most) {
		qsort(v, distinct, sizeof(*v), by_count);
		distinct = most;
		qsort(v, distinct, sizeof(*v), hes_by_pointed_text);
	}
	return distinct;
}

int observations_constants(const struct observation *v, size_t n, struct constants_table *out)
{
	struct tally *types = malloc(n * sizeof(*types)),
		     *workloads = malloc(2 * n * sizeof(*workloads));
	size_t n_types, n_workloads, named = 0;
	int rc = types && workloads ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !rc; i++) {
		const struct named_co_runner *before = observation_last_named(&v[i]);

		types[i] = (struct tally){ v[i].query.task->gpu_type, 1 };
		workloads[named++] = (struct tally){ v[i].query.task->workload, 1 };
		if (before)
			workloads[named++] = (struct tally){ before->solo.workload, 1 };
	}
	if (!rc) {
		n_types = tally(types, n, CONSTANTS_MAX_TYPES);
		n_workloads = tally(workloads, named, CONSTANTS_MAX_WORKLOADS);
		rc = constants_init(out, n_types + 1, n_workloads + 1);
		for (size_t i = 0; i < n_types && !rc; i++)
			strcpy(out->types[i].name, types[i].name);
		for (size_t i = 0; i < n_workloads && !rc; i++)
			strcpy(out->workloads[i].name, workloads[i].name);
	}
	free(types);
	free(workloads);
	return rc;
}
