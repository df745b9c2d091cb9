/*
 * split_fleet.c - `heshare partition --jobs`: choose the jobs that share a GPU of a fleet, and
 * their splits.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "cli/cli.h"
#include "app/jobs_load.h"
#include "app/catalogue.h"
#include "cli/inputs/inputs.h"
#include "app/known_files.h"
#include "cli/partition/partition.h"

struct task {
	const struct partition_opts *o;
	struct hes_jobs jobs;
	struct hes_fleet fleet;
	struct partition_inputs in;
	struct partition_name *names; /* [jobs.n] */
	const struct hes_gpu_type *types[HES_KNOWN_TYPES];
	size_t n_types;
	const struct hes_share_profile **profiles;
	double *floor;
	uint32_t *memory_mib;
	enum hes_partition_objective objective;
	enum hes_partition_method method;
};

static void show_progress(void *ctx, uint64_t done, uint64_t of)
{
	(void)ctx;
	cli_progress("grouping jobs, groups looked at", done < of ? done : of - 1, of);
}

static int load(struct task *t, struct hes_err *err)
{
	const struct partition_opts *o = t->o;
	int rc = app_catalogue_load(cli_app(), o->catalogue, !o->from.modelled, &t->in.catalogue,
				    err);

	if (!rc)
		rc = app_jobs_load(cli_app(), NULL, o->jobs, true, &t->jobs, err);
	if (!rc)
		rc = app_fleet_load(o->fleet, &t->in.catalogue, &t->fleet, err);
	if (rc)
		return rc;
	t->n_types = hes_fleet_types(&t->fleet, t->types, HES_KNOWN_TYPES);
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
	return partition_floors(o->floor, t->names, t->jobs.n, t->floor, err);
}

/* Distinct workloads and batch sizes: what modelled points are drawn of. */
static size_t distinct(const struct task *t, struct partition_name *out)
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
static int find_profiles(struct task *t, struct hes_err *err)
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

static int group(struct task *t, struct hes_partition_groups *out, struct hes_err *err)
{
	const struct partition_opts *o = t->o;
	const struct hes_partition_jobs p = {
		.fleet = &t->fleet,
		.n = t->jobs.n,
		.profiles = t->profiles,
		.floor = t->floor,
		.memory_mib = t->memory_mib,
		.objective = t->objective,
		.step = (uint32_t)o->step,
		.most = (uint32_t)o->most,
		.seed = o->seed,
		.effort = o->effort,
		.progress = show_progress,
	};
	struct partition_name *drawn = calloc(t->jobs.n, sizeof(*drawn));
	int rc = drawn ? 0 : hes_fail(err, -ENOMEM, "out of memory for %zu jobs", t->jobs.n);

	if (!rc)
		rc = partition_inputs_load(&o->from, drawn, distinct(t, drawn), t->types,
					   t->n_types, &t->in, err);
	free(drawn);
	if (!rc)
		rc = partition_inputs_train(&t->in, t->method, t->types, t->n_types, err);
	if (!rc)
		rc = find_profiles(t, err);
	return rc ? rc : hes_partition_group(t->in.model, &p, out, err);
}

static json_t *jobs_json(const struct task *t, const struct hes_partition_group *g)
{
	json_t *jobs = json_array();

	for (uint32_t i = 0; i < g->n; i++)
		json_array_append_new(jobs,
				      json_pack("{s:s, s:i, s:f}", "id", t->jobs.v[g->job[i]].id,
						"sm_pct", (int)g->split.sm_pct[i], "throughput",
						g->split.estimate.rate[i]));
	return jobs;
}

/* "a resnet50/8 @ 40 %, b ..." @return NULL without memory; to free() */
static char *jobs_text(const struct task *t, const struct hes_partition_group *g)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	for (uint32_t i = 0; f && i < g->n; i++)
		fprintf(f, "%s%s %s/%u @ %u %%", i ? ", " : "", t->jobs.v[g->job[i]].id,
			t->jobs.v[g->job[i]].workload, t->jobs.v[g->job[i]].batch_size,
			g->split.sm_pct[i]);
	if (f)
		fclose(f);
	return text;
}

static struct table groups_table(const struct task *t, const struct hes_partition_groups *g)
{
	struct table out = { 0 };

	for (size_t i = 0; i < g->n; i++) {
		const struct hes_partition_group *one = &g->v[i];
		const struct hes_gpu *gpu = &t->fleet.gpus[one->gpu];
		char *text = jobs_text(t, one);
		const struct cell row[] = {
			cell_text("gpu", "GPU", gpu->name),
			cell_text(NULL, "type", gpu->type->name),
			cell_count("wave", NULL, one->wave),
			cell_count(NULL, g->waves > 1 ? "wave" : NULL, one->wave + 1),
			cell_real("power_w", "GPU W", 1, one->split.estimate.power_w),
			cell_text(NULL, "jobs @ SM share", one->n ? text : "idle"),
			cell_json("jobs", jobs_json(t, one)),
		};

		TABLE_ROW(&out, row);
		free(text);
	}
	return out;
}

static void print_groups(const struct task *t, const struct hes_partition_groups *g)
{
	bool raw = t->objective == HES_PARTITION_SUM;
	struct table groups = groups_table(t, g);

	printf("%zu job%s on %zu GPU%s, at most %llu on one at a time%s\nPredicted from %s.\n",
	       t->jobs.n, hes_s(t->jobs.n), t->fleet.n, hes_s(t->fleet.n),
	       (unsigned long long)t->o->most,
	       g->waves > 1 ? ", in waves: one after the other" : "", t->in.what);
	putchar('\n');
	cli_print_table(&groups, stdout, 0);
	printf("\nThe fleet does %.4g %s at %.1f W, idle GPUs included: %.4g %s.\n", g->work,
	       raw ? "iterations a second" : "GPUs' worth of work", g->power_w,
	       raw ? g->per_watt : 1e3 * g->per_watt,
	       raw ? "iterations a joule" : "GPU-seconds of work a kilojoule");
}

static json_t *groups_json(const struct task *t, const struct hes_partition_groups *g)
{
	struct table groups = groups_table(t, g);

	return json_pack("{s:s, s:o, s:i, s:f, s:f, s:f}", "objective",
			 hes_partition_objectives[t->objective], "groups", table_json(&groups),
			 "waves", (int)g->waves, "work", g->work, "power_w", g->power_w, "per_watt",
			 g->per_watt);
}

int partition_fleet(const struct partition_opts *o)
{
	struct task t = { .o = o,
			  .objective = HES_PARTITION_ENERGY,
			  .method = partition_method(o) };
	struct hes_partition_groups g = { .v = NULL };
	struct hes_err err;
	int status = 0, rc;

	if (o->objective)
		t.objective = (enum hes_partition_objective)partition_word(
			o->objective, hes_partition_objectives);
	rc = load(&t, &err);
	if (!rc)
		rc = group(&t, &g, &err);
	cli_progress("grouping jobs, groups looked at", 1, 1);
	if (!rc && o->json)
		status = cli_print_json("heshare-partition-fleet", groups_json(&t, &g));
	else if (!rc)
		print_groups(&t, &g);
	hes_partition_groups_free(&g);
	free(t.names);
	free(t.floor);
	free(t.memory_mib);
	free(t.profiles);
	hes_jobs_free(&t.jobs);
	hes_fleet_free(&t.fleet);
	partition_inputs_free(&t.in);
	return rc ? cli_fail("partition", &err) : status;
}
