/*
 * policy_request.c - a request to plan as JSON, for programs; see policy_program.h and
 * docs/formats/policy.md.
 */
#include <stdlib.h>
#include <string.h>

#include "app/policy_program.h"

static json_t *job_json(const struct hes_job *j)
{
	const uint32_t memory_mib = hes_job_memory_mib(j);
	json_t *o = json_pack("{s:s, s:s, s:I, s:I, s:o, s:I}", "id", j->id, "workload",
			      j->workload, "batch_size", (json_int_t)j->batch_size, "iterations",
			      (json_int_t)j->iterations, "memory_mib",
			      memory_mib ? json_integer((json_int_t)memory_mib) : json_null(),
			      "arrival_us", (json_int_t)j->arrival_us);

	if (j->has_deadline)
		json_object_set_new(o, "deadline_us", json_integer(j->deadline_us));
	if (j->user[0])
		json_object_set_new(o, "user", json_string(j->user));
	return o;
}

static json_t *running_json(const struct hes_request *r, size_t gpu)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->n_running; i++) {
		const struct hes_running *run = &r->running[i];

		if (run->gpu == gpu)
			json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:I, s:I}", "job",
							      r->jobs->v[run->job].id, "sm_pct",
							      (json_int_t)run->sm_pct, "clock_mhz",
							      (json_int_t)run->clock_mhz,
							      "start_us", (json_int_t)run->start_us,
							      "end_us", (json_int_t)run->end_us));
	}
	return list;
}

static json_t *type_json(const struct hes_gpu_type *g)
{
	json_t *clocks = json_array();

	for (size_t i = 0; i < g->n_clocks; i++)
		json_array_append_new(clocks, json_integer(g->clocks_mhz[i]));
	return json_pack("{s:s, s:b, s:I, s:I, s:I, s:f, s:f, s:I, s:o}", "gpu_type", g->name,
			 "mps", !g->alone, "sm_count", (json_int_t)g->sm_count, "memory_mib",
			 (json_int_t)g->memory_mib, "memory_bandwidth_gbs",
			 (json_int_t)g->memory_bandwidth_gbs, "power_limit_w",
			 g->power_limit_mw * 1e-3, "idle_power_w", g->idle_power_mw * 1e-3,
			 "clock_default_mhz", (json_int_t)g->clock_default_mhz, "clocks_mhz",
			 clocks);
}

static json_t *profile_json(const struct hes_profile *p)
{
	return json_pack("{s:s, s:s, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "workload",
			 p->workload, "gpu_type", p->gpu_type, "batch_size",
			 (json_int_t)p->batch_size, "memory_mib", (json_int_t)p->memory_mib,
			 "clock_mhz", (json_int_t)p->clock_mhz, "iteration_us", p->iteration_us,
			 "power_w", p->power_mw * 1e-3, "busy", p->busy, "sm_util", p->sm_util,
			 "dram_util", p->dram_util, "l2_util", p->l2_util, "start_s", p->start_s);
}

static int by_kind(const void *a, const void *b)
{
	const struct hes_job *x = *(const struct hes_job *const *)a,
			     *y = *(const struct hes_job *const *)b;
	const int order = strcmp(x->workload, y->workload);

	return order ? order : (x->batch_size > y->batch_size) - (x->batch_size < y->batch_size);
}

/* A profile for each kind of the waiting jobs on each type on which it can be known, batch sizes
 * interpolated. */
static json_t *profiles_json(const struct hes_request *r, const struct hes_gpu_type *const *types,
			     size_t n_types)
{
	const struct hes_job **kinds = calloc(r->n_waiting + 1, sizeof(*kinds));
	json_t *list = kinds ? json_array() : NULL;

	for (size_t i = 0; kinds && i < r->n_waiting; i++)
		kinds[i] = &r->jobs->v[r->waiting[i]];
	if (kinds)
		qsort(kinds, r->n_waiting, sizeof(*kinds), by_kind);
	for (size_t i = 0; kinds && i < r->n_waiting; i++)
		for (size_t t = 0; t < n_types && (!i || by_kind(&kinds[i - 1], &kinds[i])); t++) {
			struct hes_profile p;

			if (!hes_profile_find(r->profiles, kinds[i]->workload, kinds[i]->batch_size,
					      types[t]->name, &p, NULL))
				json_array_append_new(list, profile_json(&p));
		}
	free(kinds);
	return list;
}

json_t *policy_request_json(const struct hes_request *r)
{
	const struct hes_gpu_type **types = calloc(r->fleet->n + 1, sizeof(*types));
	const size_t n_types = types ? hes_fleet_types(r->fleet, types, r->fleet->n) : 0;
	json_t *jobs = json_array(), *gpus = json_array(), *about = json_array();
	json_t *profiles = types ? profiles_json(r, types, n_types) : NULL;

	for (size_t i = 0; i < r->n_waiting; i++)
		json_array_append_new(jobs, job_json(&r->jobs->v[r->waiting[i]]));
	for (size_t g = 0; g < r->fleet->n; g++)
		json_array_append_new(gpus, json_pack("{s:s, s:s, s:I, s:o}", "gpu",
						      r->fleet->gpus[g].name, "gpu_type",
						      r->fleet->gpus[g].type->name, "free_at_us",
						      (json_int_t)r->free_at_us[g], "running",
						      running_json(r, g)));
	for (size_t t = 0; t < n_types; t++)
		json_array_append_new(about, type_json(types[t]));
	free(types);
	return json_pack("{s:s, s:i, s:I, s:I, s:o, s:o, s:o, s:o}", "format", "heshare-request",
			 "version", 2, "seed", (json_int_t)r->seed, "now_us", (json_int_t)r->now_us,
			 "jobs", jobs, "gpus", gpus, "gpu_types", about, "profiles", profiles);
}
