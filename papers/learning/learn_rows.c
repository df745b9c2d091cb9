/*
 * learn_rows.c - what a replay that learns knows of workloads: rows that were measured, and what is
 * derived of them (app/known.h); see learn_state.h.
 */
#include <math.h>
#include <string.h>

#include "app/known.h"
#include "learn_state.h"

#define SHORT_S 100. /* a job that finds out how long it takes */
#define LONG_S  2000.

const struct hes_gpu_type *learner_type(const struct learn_replay *l, uint32_t gpu)
{
	return l->in.fleet->gpus[gpu].type;
}

struct learn_clocks *learner_clocks(const struct learn_replay *l, uint32_t job, uint32_t gpu)
{
	struct learner_job *j = &l->job[job];

	return j->running && j->sm_pct < 100 ? &j->own
					     : &l->clocks[j->kind * l->n_types + l->gpu[gpu].type];
}

bool learner_knows(const struct learn_replay *l, uint32_t job)
{
	return l->workload[l->job[job].workload].known;
}

static bool row_find(const struct hes_profiles *in, const struct hes_job *j,
		     const struct hes_gpu_type *g, struct hes_profile *out)
{
	return !hes_profile_find(in, j->workload, j->batch_size, g->name, out, NULL);
}

double learner_left_s(const struct learn_replay *l, uint32_t job, uint32_t gpu)
{
	const struct learn_clocks *c = learner_clocks(l, job, gpu);
	const double left = l->job[job].left;
	struct hes_profile p;

	if (c->n)
		return left * c->tries[0].seconds / c->tries[0].iterations;
	return row_find(&l->rows, &l->jobs.v[job], learner_type(l, gpu), &p)
		       ? left * p.iteration_us * 1e-6
		       : LEARN_GUESS_S;
}

/* The longest job of a row that has not started, in seconds. */
static double row_longest_s(const struct learn_replay *l, const struct hes_profile *p)
{
	double most = 0;

	for (size_t i = 0; i < l->jobs.n; i++)
		if (!l->job[i].running && l->jobs.v[i].batch_size == p->batch_size &&
		    !strcmp(l->jobs.v[i].workload, p->workload))
			most = fmax(most, (double)l->jobs.v[i].iterations * p->iteration_us * 1e-6);
	return most;
}

/*
 * A long job goes only where its time is sure: a derived time is taken to be longer by its error,
 * by half of it on a type where the workload was measured. A short job may find out.
 */
static void row_doubt(const struct learn_replay *l, const struct hes_profiles *seen,
		      struct hes_profile *p, double error)
{
	const double s = row_longest_s(l, p),
		     part = s > SHORT_S ? fmin(1, log(s / SHORT_S) / log(LONG_S / SHORT_S)) : 0;
	bool here = false;

	for (size_t i = 0; i < seen->n; i++)
		here |= !strcmp(seen->v[i].gpu_type, p->gpu_type);
	p->iteration_us *= exp(part * error * (here ? .5 : 1));
}

static void row_put(struct hes_profiles *in, const struct hes_profile *p)
{
	size_t i = 0;

	while (i < in->n && hes_profile_compare(&in->v[i], p))
		i++;
	in->v[i] = *p;
	in->n += i == in->n;
}

/* Derive the rows of a workload, in place of those that are there. */
static int rows_derive(struct learn_replay *l, const char *workload, struct hes_err *err)
{
	struct hes_profiles seen = { .v = l->measured.v };
	const struct app_known_request q = { .app = l->in.app,
					     .catalogue = l->in.catalogue,
					     .fleet = l->in.fleet,
					     .model = l->model,
					     .jobs = &l->jobs,
					     .seen = &seen,
					     .profiles_only = true,
					     .again = true };
	struct app_known k;
	int rc;

	/* The rows of a workload stand together. */
	while (strcmp(seen.v->workload, workload))
		seen.v++;
	while (seen.v + seen.n < l->measured.v + l->measured.n &&
	       !strcmp(seen.v[seen.n].workload, workload))
		seen.n++;
	rc = app_known_load(&q, &k, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < k.profiles.n; i++) {
		if (k.rows[i].source == HES_KNOWN_DERIVED)
			row_doubt(l, &seen, &k.profiles.v[i], k.rows[i].time_error);
		row_put(&l->rows, &k.profiles.v[i]);
	}
	hes_profiles_sort(&l->rows);
	app_known_free(&k);
	return 0;
}

int learner_keep_row(struct learn_replay *l, uint32_t job, uint32_t gpu,
		     const struct hes_rate *rate, double power_w, struct hes_err *err)
{
	const struct hes_job *j = &l->jobs.v[job];
	const struct hes_gpu_type *g = learner_type(l, gpu);
	struct hes_profile p;
	int rc;

	if (row_find(&l->measured, j, g, &p))
		return 0;
	p = (struct hes_profile){
		.batch_size = j->batch_size,
		.memory_mib = hes_job_memory_mib(j),
		.clock_mhz = g->clock_default_mhz,
		.iteration_us = 1e6 / rate->iterations_per_s,
		.busy = rate->busy,
		.sm_util = rate->sm_util,
		.dram_util = rate->dram_util,
		.l2_util = rate->l2_util,
		.power_mw = (uint32_t)lround(power_w * 1e3),
	};
	strcpy(p.workload, j->workload);
	strcpy(p.gpu_type, g->name);
	row_put(&l->measured, &p);
	hes_profiles_sort(&l->measured);
	l->workload[l->job[job].workload].known = true;
	rc = rows_derive(l, j->workload, err);
	return rc ? rc : 1;
}
