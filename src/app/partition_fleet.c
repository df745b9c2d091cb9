/*
 * partition_fleet.c - choose the jobs that share a GPU of a fleet, and their splits; see
 * partition_fleet.h.
 */
#include "app/partition_fleet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/jobs_load.h"
#include "app/catalogue.h"
#include "app/known.h"

static void fleet_progress(void *ctx, uint64_t done, uint64_t of)
{
	const struct partition_request *q = ctx;

	if (q->from.progress)
		q->from.progress("grouping jobs, groups looked at", done < of ? done : of - 1, of);
}

static int fleet_load(struct partition_fleet *t, struct hes_err *err)
{
	const struct partition_request *q = t->q;
	int rc = app_catalogue_load(q->from.app, q->catalogue, !q->from.modelled, &t->in.catalogue,
				    err);

	if (!rc)
		rc = app_jobs_load(q->from.app, NULL, q->jobs, true, &t->jobs, err);
	if (!rc)
		rc = app_fleet_load(q->fleet, &t->in.catalogue, &t->fleet, err);
	if (rc)
		return rc;
	t->n_types = hes_fleet_types(&t->fleet, t->types, APP_KNOWN_TYPES);
	t->names = calloc(t->jobs.n, sizeof(*t->names));
	t->floor = calloc(t->jobs.n, sizeof(*t->floor));
	t->memory_mib = calloc(t->jobs.n, sizeof(*t->memory_mib));
	t->profiles = calloc(t->jobs.n * t->n_types, sizeof(const struct hes_share_profile *));
	if (!t->names || !t->floor || !t->memory_mib || !t->profiles)
		return hes_fail(err, -ENOMEM, "out of memory for %zu jobs", t->jobs.n);
	for (size_t i = 0; i < t->jobs.n; i++) {
		strcpy(t->names[i].workload, t->jobs.v[i].workload);
		t->names[i].batch_size = t->jobs.v[i].batch_size;
		t->memory_mib[i] = hes_job_memory_mib(&t->jobs.v[i]);
	}
	return partition_floors(q->floor, t->names, t->jobs.n, t->floor, err);
}

/* Distinct workloads and batch sizes: what modelled points are drawn of. */
static size_t fleet_distinct(const struct partition_fleet *t, struct partition_name *out)
{
	size_t n = 0;

	for (size_t i = 0; i < t->jobs.n; i++) {
		size_t k = 0;

		while (k < n && (out[k].batch_size != t->names[i].batch_size ||
				 strcmp(out[k].workload, t->names[i].workload)))
			k++;
		if (k == n)
			out[n++] = t->names[i];
	}
	return n;
}

/* A job may lack a profile on some types, where it cannot go, but not on all. */
static int fleet_find_profiles(struct partition_fleet *t, struct hes_err *err)
{
	for (size_t i = 0; i < t->jobs.n; i++) {
		bool any = false;

		for (size_t k = 0; k < t->n_types; k++) {
			const struct hes_share_profile *p =
				partition_find(&t->in, &t->names[i], t->types[k],
					       t->types[k]->clock_default_mhz, NULL);

			t->profiles[i * t->n_types + k] = p;
			any |= p != NULL;
		}
		if (!any && !partition_find(&t->in, &t->names[i], t->types[0],
					    t->types[0]->clock_default_mhz, err))
			return hes_fail_in(err, "job %s", t->jobs.v[i].id);
	}
	return 0;
}

static int fleet_group(struct partition_fleet *t, struct hes_err *err)
{
	const struct partition_request *q = t->q;
	const struct hes_partition_jobs p = {
		.fleet = &t->fleet,
		.n = t->jobs.n,
		.profiles = t->profiles,
		.floor = t->floor,
		.memory_mib = t->memory_mib,
		.objective = q->objective,
		.step = (uint32_t)q->step,
		.most = (uint32_t)q->most,
		.seed = q->seed,
		.effort = q->effort,
		.progress = fleet_progress,
		.ctx = (void *)(uintptr_t)q,
	};
	struct partition_name *drawn = calloc(t->jobs.n, sizeof(*drawn));
	int rc = drawn ? 0 : hes_fail(err, -ENOMEM, "out of memory for %zu jobs", t->jobs.n);

	if (!rc)
		rc = partition_inputs_load(&q->from, drawn, fleet_distinct(t, drawn), t->types,
					   t->n_types, &t->in, err);
	free(drawn);
	if (!rc)
		rc = partition_inputs_train(&t->in, t->types, t->n_types, err);
	if (!rc)
		rc = fleet_find_profiles(t, err);
	return rc ? rc : hes_partition_group(t->in.model, &p, &t->groups, err);
}

int partition_fleet(const struct partition_request *q, struct partition_fleet *out,
		    struct hes_err *err)
{
	int rc;

	*out = (struct partition_fleet){ .q = q };
	rc = fleet_load(out, err);
	if (!rc)
		rc = fleet_group(out, err);
	if (q->from.progress)
		q->from.progress("grouping jobs, groups looked at", 1, 1);
	return rc;
}

void partition_fleet_free(struct partition_fleet *t)
{
	hes_partition_groups_free(&t->groups);
	free(t->names);
	free(t->floor);
	free(t->memory_mib);
	free(t->profiles);
	hes_jobs_free(&t->jobs);
	hes_fleet_free(&t->fleet);
	partition_inputs_free(&t->in);
}
