/*
 * fleet_out.c - print which jobs share the GPUs of a fleet; see split_out.h.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/plural.h"
#include "cli/cli.h"
#include "cli/partition/split_out.h"

static json_t *jobs_json(const struct partition_fleet *t, const struct hes_partition_group *g)
{
	json_t *jobs = json_array();

	for (uint32_t i = 0; i < g->n; i++)
		json_array_append_new(jobs,
				      json_pack("{s:s, s:i, s:f}", "job", t->jobs.v[g->job[i]].id,
						"sm_pct", (int)g->split.sm_pct[i], "throughput",
						g->split.estimate.rate[i]));
	return jobs;
}

/* "a resnet50/8 @ 40 %, b ..." @return NULL without memory; to free() */
static char *jobs_text(const struct partition_fleet *t, const struct hes_partition_group *g)
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

static struct table groups_table(const struct partition_fleet *t)
{
	const struct hes_partition_groups *g = &t->groups;
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

void partition_fleet_print(const struct partition_fleet *t)
{
	const struct hes_partition_groups *g = &t->groups;
	bool raw = t->q->objective == HES_PARTITION_SUM;
	struct table groups = groups_table(t);

	printf("%zu job%s on %zu GPU%s, at most %llu on one at a time%s\nPredicted from %s.\n",
	       t->jobs.n, hes_s(t->jobs.n), t->fleet.n, hes_s(t->fleet.n),
	       (unsigned long long)t->q->most,
	       g->waves > 1 ? ", in waves: one after the other" : "", t->in.what);
	putchar('\n');
	cli_print_table(&groups, stdout, 0);
	printf("\nThe fleet does %.4g %s at %.1f W, idle GPUs included: %.4g %s.\n", g->work,
	       raw ? "iterations a second" : "GPUs' worth of work", g->power_w,
	       raw ? g->per_watt : 1e3 * g->per_watt,
	       raw ? "iterations a joule" : "GPU-seconds of work a kilojoule");
}

json_t *partition_fleet_json(const struct partition_fleet *t)
{
	const struct hes_partition_groups *g = &t->groups;
	struct table groups = groups_table(t);

	return json_pack("{s:s, s:o, s:i, s:f, s:f, s:f}", "objective",
			 hes_partition_objectives[t->q->objective], "groups", table_json(&groups),
			 "waves", (int)g->waves, "work", g->work, "power_w", g->power_w, "per_watt",
			 g->per_watt);
}
