/*
 * known_runs.c - how long jobs that nobody knows may run: as long as their script did with other
 * arguments; see known.h.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/known_rows.h"
#include "core/script.h"

/* A workload alone on the whole GPU, and what it runs. */
struct seen {
	const struct hes_point *p;
	char *script; /* owned; NULL: none was found */
};

static bool is_unknown(const struct known_load *l, const struct app_known *k,
		       const struct hes_job *j)
{
	for (size_t t = 0; t < l->n_types; t++)
		if (app_known_of(k, j->workload, j->batch_size, l->types[t]->name).source !=
		    HES_KNOWN_UNKNOWN)
			return false;
	return true;
}

/* @return 0: it does not say, because its iterations are of another unit */
static double run_s_of(const struct hes_point *p, const struct hes_job *j)
{
	if (j->whole_run)
		return p->run_s > 0 ? p->run_s : 0;
	if (hes_workload_is_whole_run(p->workload))
		return 0;
	return (p->start_s > 0 ? p->start_s : 0) + (double)j->iterations * p->iteration_us * 1e-6;
}

/* The mean over the points of a script on a type. @return false: there is none */
static bool average(const struct seen *v, size_t n, const struct hes_job *j, const char *script,
		    const char *type, struct app_known_run *out)
{
	double sum = 0;
	size_t used = 0;

	for (size_t i = 0; i < n; i++)
		if (v[i].script && strcmp(v[i].script, script) == 0 &&
		    strcmp(v[i].p->gpu_type, type) == 0 && run_s_of(v[i].p, j) > 0) {
			sum += log(run_s_of(v[i].p, j));
			used++;
		}
	if (!used)
		return false;
	*out = (struct app_known_run){ .run_s = exp(sum / (double)used) };
	strcpy(out->workload, j->workload);
	strcpy(out->gpu_type, type);
	return true;
}

/* On every type of @v. */
static int add_runs(const struct seen *v, size_t n, const struct hes_job *j, const char *script,
		    struct app_known *k, struct hes_err *err)
{
	for (size_t i = 0; i < n; i++) {
		struct app_known_run run, *runs;
		size_t first = 0;

		while (strcmp(v[first].p->gpu_type, v[i].p->gpu_type))
			first++;
		if (first < i || !average(v, n, j, script, v[i].p->gpu_type, &run))
			continue;
		runs = reallocarray(k->runs, k->n_runs + 1, sizeof(*runs));
		if (!runs)
			return hes_fail(err, -ENOMEM, "out of memory for %zu runs", k->n_runs);
		k->runs = runs;
		runs[k->n_runs++] = run;
	}
	return 0;
}

/* Jobs alone, unlocked, with all SMs. */
static struct seen *see(const struct hes_points *points, size_t *n)
{
	struct seen *v = calloc(points->n + 1, sizeof(*v));

	*n = 0;
	for (size_t i = 0; v && i < points->n; i++) {
		const struct hes_point *p = &points->v[i];

		if (!p->co_runners[0] && p->sm_pct == 100 && !p->clock_mhz && p->iteration_us > 0)
			v[(*n)++] = (struct seen){ p, hes_script_of(p->command) };
	}
	return v;
}

static int find_runs(const struct known_load *l, struct app_known *k,
		     const struct hes_points *points, struct hes_err *err)
{
	const struct hes_jobs *jobs = l->q->jobs;
	size_t n;
	struct seen *v = see(points, &n);
	int rc = v ? 0 : hes_fail(err, -ENOMEM, "out of memory for %zu points", points->n);

	for (size_t i = 0; i < jobs->n && !rc; i++) {
		const struct hes_job *j = &jobs->v[i];
		char *script = j->command && is_unknown(l, k, j) ? hes_script_of(j->command) : NULL;

		if (script && !(app_known_run_s(k, j, "") > 0))
			rc = add_runs(v, n, j, script, k, err);
		free(script);
	}
	for (size_t i = 0; i < n && v; i++)
		free(v[i].script);
	free(v);
	return rc;
}

int known_runs(struct known_load *l, struct app_known *k, struct hes_err *err)
{
	const struct hes_store_query all = { .workload = NULL };
	struct hes_points points = { .n = 0 };
	bool unknown = false;
	int rc;

	for (size_t i = 0; l->q->jobs && i < l->q->jobs->n && !unknown; i++)
		unknown = l->q->jobs->v[i].command && is_unknown(l, k, &l->q->jobs->v[i]);
	if (!unknown || !l->store)
		return 0;
	rc = hes_store_points(l->store, &all, &points, err);
	if (!rc)
		rc = find_runs(l, k, &points, err);
	hes_points_free(&points);
	return rc;
}

double app_known_run_s(const struct app_known *k, const struct hes_job *job, const char *gpu_type)
{
	double sum = 0;
	size_t n = 0;

	for (size_t r = 0; r < k->n_runs; r++) {
		if (strcmp(k->runs[r].workload, job->workload))
			continue;
		if (strcmp(k->runs[r].gpu_type, gpu_type) == 0)
			return k->runs[r].run_s;
		sum += log(k->runs[r].run_s);
		n++;
	}
	return n ? exp(sum / (double)n) : 0;
}
