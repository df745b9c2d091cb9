/*
 * run_baseline.c - estimate a run without sharing and without clocks; see run_baseline.h.
 */
#include "app/run_baseline.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_map.h"
#include "app/catalogue.h"
#include "heshare/model.h"

/* A job by itself on a GPU. */
struct alone {
	size_t gpu; /* of the report */
	double us;
};

static size_t gpu_of(const struct hes_run_report *r, const struct hes_run_job *j)
{
	size_t g = 0;

	while (g < r->n_gpus && strcmp(r->gpus[g].gpu, j->gpu) != 0)
		g++;
	return g;
}

/* Time and power of a job by the GPU model. @return false: it does not know them */
static bool model_alone(const struct hes_model *m, const struct hes_gpu_type *type,
			const struct hes_job *job, struct hes_profile *out)
{
	const struct hes_model_job one = {
		.workload = m ? hes_model_workload(m, job->workload, NULL) : NULL,
		.batch = job->batch_size,
		.sm_pct = 100,
	};
	struct hes_rate rate;
	struct hes_instant now;

	if (!one.workload || hes_model_instant(m, type, 0, 0, &one, 1, &rate, &now, NULL))
		return false;
	*out = (struct hes_profile){ .iteration_us = 1e6 / rate.iterations_per_s,
				     .power_mw = now.power_mw,
				     .start_s = one.workload->start_s };
	return true;
}

/* Add job @j. @return whether it has an estimate, in *alone */
static bool add_job(struct run_baseline *b, const struct hes_run_report *r,
		    const struct hes_run_job *j, const struct hes_job *job,
		    const struct run_baseline_from *from, const struct hes_gpu_type *type,
		    const struct hes_model *m, struct alone *alone)
{
	struct hes_profile profile;
	const bool measured = !hes_profile_find(from->measured, job->workload, job->batch_size,
						type->name, &profile, NULL);
	double work_us;

	if (!measured &&
	    hes_profile_find(from->known, job->workload, job->batch_size, type->name, &profile,
			     NULL) &&
	    (job->whole_run || !model_alone(m, type, job, &profile)))
		return false;
	b->profiled += measured;
	b->modelled += !measured;
	alone->gpu = gpu_of(r, j);
	work_us = profile.iteration_us * (double)job->iterations;
	alone->us = profile.start_s * 1e6 + work_us;
	if (j->has_energy) {
		b->energies++;
		b->measured_mj += j->energy_mj;
		b->alone_mj += (uint64_t)llround(work_us * 1e-6 * profile.power_mw +
						 profile.start_s * type->idle_power_mw);
	}
	return true;
}

static int by_gpu_and_time(const void *a, const void *b)
{
	const struct alone *x = a, *y = b;

	return x->gpu != y->gpu ? (x->gpu > y->gpu) - (x->gpu < y->gpu)
				: (x->us > y->us) - (x->us < y->us);
}

/* Each GPU runs its jobs one after the other, the shortest first. */
static void sum_times(struct run_baseline *b, const struct hes_run_report *r,
		      const struct hes_catalogue *c, struct alone *v, size_t n)
{
	double end_us = 0, idle_mj = 0;

	qsort(v, n, sizeof(*v), by_gpu_and_time);
	for (size_t i = 0; i < n; i++) {
		end_us = (i && v[i].gpu == v[i - 1].gpu ? end_us : 0) + v[i].us;
		b->alone.avg_jct_us += end_us / (double)n;
		if (end_us > (double)b->alone.makespan_us)
			b->alone.makespan_us = llround(end_us);
	}
	for (size_t g = 0; g < r->n_gpus; g++) {
		const struct hes_gpu_type *type = hes_gpu_type_find(c, r->gpus[g].gpu_type, NULL);
		double busy_us = 0;

		for (size_t i = 0; i < n; i++)
			busy_us += v[i].gpu == g ? v[i].us : 0;
		idle_mj +=
			type ? ((double)b->alone.makespan_us - busy_us) * 1e-6 * type->idle_power_mw
			     : 0;
	}
	b->alone.busy_energy_mj = b->alone_mj;
	b->alone.fleet_energy_mj = b->alone_mj + (uint64_t)llround(fmax(idle_mj, 0));
	b->has_times = true;
}

/* Of the plan, or added; NULL: neither */
static const struct hes_job *find_job(const struct hes_text_map *ids, const struct hes_jobs *jobs,
				      const struct run_baseline_from *from, const char *id)
{
	const uint32_t at = hes_text_map_find(ids, id);

	for (size_t i = 0; i < from->n_added && at == HES_HASH_NONE; i++)
		if (strcmp(from->added[i].job.id, id) == 0)
			return &from->added[i].job;
	return at == HES_HASH_NONE ? NULL : &jobs->v[at];
}

int run_baseline_estimate(const struct app *app, const struct hes_run_report *r,
			  const struct hes_jobs *jobs, const struct run_baseline_from *from,
			  const struct hes_catalogue *c, struct run_baseline *out,
			  struct hes_err *err)
{
	struct alone *v = calloc(r->n_jobs + 1, sizeof(*v));
	struct run_baseline b = { 0 };
	struct hes_text_map ids = { 0 };
	struct hes_model *m = NULL;
	struct hes_err none;
	size_t n = 0;
	int rc = v ? hes_text_map_make(&ids, jobs->v, sizeof(*jobs->v), jobs->n) : -ENOMEM;

	/* Without the model, jobs without a profile have no estimate. */
	if (!rc && app_model_load(app, NULL, c, NULL, 0, &m, &none))
		m = NULL;
	for (size_t i = 0; i < r->n_jobs && !rc; i++) {
		const struct hes_run_job *j = &r->jobs[i];
		const size_t g = gpu_of(r, j);
		const struct hes_gpu_type *type =
			g < r->n_gpus ? hes_gpu_type_find(c, r->gpus[g].gpu_type, NULL) : NULL;
		const struct hes_job *job = find_job(&ids, jobs, from, j->job);

		if (j->state == HES_RUN_JOB_DONE && type && job)
			n += add_job(&b, r, j, job, from, type, m, &v[n]);
	}
	if (!rc && n && n == r->n_jobs && b.energies == n)
		sum_times(&b, r, c, v, n);
	hes_model_free(m);
	hes_hash_map_finish(&ids.map);
	free(v);
	if (rc)
		return hes_fail(err, rc, "out of memory for %zu jobs", r->n_jobs);
	*out = b;
	return 0;
}
