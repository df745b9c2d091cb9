/*
 * list.c - `heshare profiles list` and `show`: print the rows of the store, as text or JSON.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "base/visible.h"
#include "cli/cli.h"
#include "cli/inputs/inputs.h"
#include "cli/profiles/profiles.h"

struct listing {
	struct hes_store_holding *holdings;
	struct hes_store_origin *origins;
	size_t n_holdings, n_origins;
	bool has_drift;
	struct drift_report drift;
};

static int load_listing(const struct profiles_opts *o, struct listing *l, struct hes_err *err)
{
	struct hes_store *s = NULL;
	int rc = profiles_open(o, HES_STORE_READ, &s, err);

	if (!rc)
		rc = hes_store_holdings(s, &l->holdings, &l->n_holdings, err);
	if (!rc)
		rc = hes_store_origins(s, &l->origins, &l->n_origins, err);
	if (!rc) {
		rc = drift_report_make(s, o, &l->drift, err);
		l->has_drift = !rc;
		rc = rc == -ENOENT ? 0 : rc;
	}
	hes_store_close(s);
	return rc;
}

/* Scripts have long names. */
static int workload_width(const struct listing *l)
{
	int width = 22;

	for (size_t i = 0; i < l->n_holdings; i++) {
		const int n = (int)strlen(l->holdings[i].workload);

		width = n > width ? n : width;
	}
	return width;
}

static void print_holdings(const struct listing *l)
{
	uint64_t profiles = 0, profiles_modelled = 0, samples = 0, samples_modelled = 0, points = 0;
	const int width = workload_width(l);

	printf("%-*s %-16s %11s %8s %9s %8s %9s %7s  %s\n", width, "workload", "GPU type",
	       "batch sizes", "profiles", "modelled", "samples", "modelled", "points",
	       "newest, UTC");
	for (size_t i = 0; i < l->n_holdings; i++) {
		const struct hes_store_holding *h = &l->holdings[i];
		char batches[32] = "-", when[20];

		if (h->batch_min < h->batch_max)
			snprintf(batches, sizeof(batches), "%u..%u", h->batch_min, h->batch_max);
		else if (h->batch_min)
			snprintf(batches, sizeof(batches), "%u", h->batch_min);
		cli_format_when(h->newest_us, when);
		hes_visible_put(stdout, width, h->workload);
		putchar(' ');
		hes_visible_put(stdout, 16, h->gpu_type);
		printf(" %11s %8u %9u %8u %9u %7u  %s\n", batches, h->profiles,
		       h->profiles_modelled, h->samples, h->samples_modelled, h->points, when);
		profiles += h->profiles;
		profiles_modelled += h->profiles_modelled;
		samples += h->samples;
		samples_modelled += h->samples_modelled;
		points += h->points;
	}
	printf("%" PRIu64 " profile%s, %" PRIu64 " modelled; %" PRIu64 " sample%s, %" PRIu64
	       " modelled; %" PRIu64 " row%s of points\n",
	       profiles, hes_s(profiles), profiles_modelled, samples, hes_s(samples),
	       samples_modelled, points, hes_s(points));
}

static void print_origins(const struct listing *l)
{
	printf("\n%6s  %-16s  %-8s  %10s  %8s  %8s  %s\n", "number", "when, UTC", "source",
	       "point rows", "profiles", "samples", "from");
	for (size_t i = 0; i < l->n_origins; i++) {
		const struct hes_store_origin *o = &l->origins[i];
		char when[20];

		cli_format_when(o->at_us, when);
		printf("%6" PRId64 "  %-16s  %-8s  %10u  %8u  %8u  ", o->id, when,
		       hes_source_names[o->source], o->points, o->profiles, o->samples);
		hes_visible_put(stdout, 0, o->name);
		putchar('\n');
	}
}

static json_t *holdings_json(const struct listing *l)
{
	json_t *list = json_array();

	for (size_t i = 0; i < l->n_holdings; i++) {
		const struct hes_store_holding *h = &l->holdings[i];

		json_array_append_new(
			list, json_pack("{s:s, s:s, s:{s:i, s:i, s:i, s:i}, s:i, s:i, s:i, s:I}",
					"workload", h->workload, "gpu_type", h->gpu_type,
					"batch_sizes", "profiled", (int)h->profiles, "modelled",
					(int)h->profiles_modelled, "min", (int)h->batch_min, "max",
					(int)h->batch_max, "samples", (int)h->samples, "modelled",
					(int)h->samples_modelled, "points", (int)h->points,
					"newest_us", (json_int_t)h->newest_us));
	}
	return list;
}

static json_t *origins_json(const struct listing *l)
{
	json_t *list = json_array();

	for (size_t i = 0; i < l->n_origins; i++) {
		const struct hes_store_origin *o = &l->origins[i];

		json_array_append_new(list,
				      json_pack("{s:I, s:I, s:s, s:s, s:i, s:i, s:i}", "number",
						(json_int_t)o->id, "at_us", (json_int_t)o->at_us,
						"source", hes_source_names[o->source], "from",
						o->name, "points", (int)o->points, "profiles",
						(int)o->profiles, "samples", (int)o->samples));
	}
	return list;
}

static int print_listing(const struct listing *l, bool json)
{
	if (json)
		return cli_print_json(json_pack("{s:o, s:o, s:b}", "workloads", holdings_json(l),
						"deliveries", origins_json(l), "retrain",
						l->has_drift && l->drift.n_due > 0));
	print_holdings(l);
	print_origins(l);
	if (l->has_drift)
		drift_report_print_due(&l->drift, stdout);
	return 0;
}

int profiles_list(const struct profiles_opts *o, int n, char **operands)
{
	struct listing l = { 0 };
	struct hes_err err;
	int status =
		load_listing(o, &l, &err) ? cli_fail("profiles", &err) : print_listing(&l, o->json);

	(void)n;
	(void)operands;
	free(l.holdings);
	free(l.origins);
	drift_report_free(&l.drift);
	return status;
}

/* 0 is a missing value. */
static void cell(int width, int digits, double v)
{
	if (v > 0)
		printf(" %*.*f", width, digits, v);
	else
		printf(" %*s", width, "-");
}

static void print_profiles(const struct hes_profiles *p)
{
	if (!p->n)
		return;
	printf("alone on a whole GPU\n%-16s %6s %8s %6s %14s %6s %6s %6s %6s %9s\n", "GPU type",
	       "batch", "MiB", "MHz", "us/iteration", "busy", "SM", "DRAM", "L2", "W");
	for (size_t i = 0; i < p->n; i++) {
		const struct hes_profile *r = &p->v[i];

		hes_visible_put(stdout, 16, r->gpu_type);
		printf(" %6u", r->batch_size);
		cell(8, 0, r->memory_mib);
		cell(6, 0, r->clock_mhz);
		printf(" %14.2f", r->iteration_us);
		cell(6, 3, r->busy);
		printf(" %6.3f %6.3f", r->sm_util, r->dram_util);
		cell(6, 3, r->l2_util);
		printf(" %9.3f\n", r->power_mw / 1e3);
	}
}

static void print_samples(const struct hes_samples *s)
{
	if (!s->n)
		return;
	printf("\njoining others\n%-16s %6s %7s %6s %7s %7s %14s %9s\n", "GPU type", "batch",
	       "share %", "MHz", "co_runners", "their %", "us/iteration", "GPU W");
	for (size_t i = 0; i < s->n; i++) {
		const struct hes_sample *r = &s->v[i];

		hes_visible_put(stdout, 16, r->task.gpu_type);
		printf(" %6u %7u", r->task.batch_size, r->sm_pct);
		cell(6, 0, r->clock_mhz); /* a dash: unlocked */
		printf(" %7u %7u %14.2f %9.3f\n", r->co_runners.jobs, r->co_runners.sm_pct,
		       r->iteration_us, r->power_mw / 1e3);
	}
}

/* Those of the job alone: what runs measure. */
static void print_points(const struct hes_points *points, bool first)
{
	size_t n = 0;

	for (size_t i = 0; i < points->n; i++) {
		const struct hes_point *p = &points->v[i];

		if (p->co_runners[0])
			continue;
		if (n++ == 0)
			printf("%spoints: the job alone\n%-16s %6s %7s %6s %14s %9s %9s %9s %8s\n",
			       first ? "" : "\n", "GPU type", "batch", "share %", "MHz",
			       "us/iteration", "start s", "run s", "GPU W", "MiB");
		hes_visible_put(stdout, 16, p->gpu_type);
		printf(" %6u %7u", p->batch_size, p->sm_pct);
		cell(6, 0, p->clock_mhz); /* a dash: unlocked */
		printf(" %14.2f", p->iteration_us);
		cell(9, 2, p->start_s);
		cell(9, 2, p->run_s);
		printf(" %9.3f", p->power_mw / 1e3);
		cell(8, 0, p->memory_mib);
		putchar('\n');
	}
}

static json_t *number_json(double v)
{
	return cli_json_maybe(v > 0, v);
}

static json_t *point_json(const struct hes_point *p)
{
	return json_pack("{s:s, s:i, s:i, s:i, s:s, s:s, s:f, s:o, s:o, s:o, s:i, s:o}", "gpu_type",
			 p->gpu_type, "batch_size", (int)p->batch_size, "sm_pct", (int)p->sm_pct,
			 "clock_mhz", (int)p->clock_mhz, "co_runners", p->co_runners, "command",
			 p->command, "iteration_us", p->iteration_us, "time_se",
			 number_json(p->time_se), "start_s", number_json(p->start_s), "run_s",
			 number_json(p->run_s), "power_mw", (int)p->power_mw, "memory_mib",
			 number_json(p->memory_mib));
}

static json_t *solo_json(const struct hes_profile *r)
{
	return json_pack("{s:s, s:i, s:o, s:o, s:f, s:o, s:f, s:f, s:o, s:i}", "gpu_type",
			 r->gpu_type, "batch_size", (int)r->batch_size, "memory_mib",
			 cli_json_maybe(r->memory_mib, r->memory_mib), "clock_mhz",
			 cli_json_maybe(r->clock_mhz, r->clock_mhz), "iteration_us",
			 r->iteration_us, "busy", cli_json_maybe(r->busy > 0, r->busy), "sm_util",
			 r->sm_util, "dram_util", r->dram_util, "l2_util",
			 cli_json_maybe(r->l2_util > 0, r->l2_util), "power_mw", (int)r->power_mw);
}

static json_t *sample_json(const struct hes_sample *r)
{
	return json_pack("{s:o, s:i, s:i, s:{s:i, s:i, s:f, s:f, s:f, s:i}, s:f, s:i}", "solo",
			 solo_json(&r->task), "sm_pct", (int)r->sm_pct, "clock_mhz",
			 (int)r->clock_mhz, "co_runners", "count", (int)r->co_runners.jobs,
			 "sm_pct", (int)r->co_runners.sm_pct, "sm_util", r->co_runners.sm_util,
			 "dram_util", r->co_runners.dram_util, "l2_util", r->co_runners.l2_util,
			 "power_mw", (int)r->co_runners.power_mw, "iteration_us", r->iteration_us,
			 "power_mw", (int)r->power_mw);
}

/* Rows of a workload. */
struct shown {
	char name[HES_NAME_MAX];
	struct hes_profiles p;
	struct hes_samples s;
	struct hes_points points;
};

static int print_rows(const struct shown *w, bool json)
{
	json_t *profiles, *samples, *rows;

	if (!json) {
		print_profiles(&w->p);
		print_samples(&w->s);
		print_points(&w->points, w->p.n + w->s.n == 0);
		return 0;
	}
	profiles = json_array();
	samples = json_array();
	rows = json_array();
	for (size_t i = 0; i < w->p.n; i++)
		json_array_append_new(profiles, solo_json(&w->p.v[i]));
	for (size_t i = 0; i < w->s.n; i++)
		json_array_append_new(samples, sample_json(&w->s.v[i]));
	for (size_t i = 0; i < w->points.n; i++)
		json_array_append_new(rows, point_json(&w->points.v[i]));
	return cli_print_json(json_pack("{s:s, s:o, s:o, s:o}", "workload", w->name, "profiles",
					profiles, "samples", samples, "points", rows));
}

static size_t shown_rows(const struct shown *w)
{
	return w->p.n + w->s.n + w->points.n;
}

static void shown_free(struct shown *w)
{
	hes_points_free(&w->points);
	hes_profiles_free(&w->p);
	hes_samples_free(&w->s);
}

static int shown_read(struct hes_store *store, bool with_modelled, struct shown *w,
		      struct hes_err *err)
{
	const struct hes_store_query q = { w->name, with_modelled };
	int rc = hes_store_profiles(store, &q, &w->p, err);

	if (!rc)
		rc = hes_store_samples(store, &q, &w->s, err);
	return rc ? rc : hes_store_points(store, &q, &w->points, err);
}

int profiles_show(const struct profiles_opts *o, int n, char **operands)
{
	struct shown w = { .p = { 0 } };
	struct hes_store *store = NULL;
	struct hes_err err;
	int status, rc = profiles_open(o, HES_STORE_READ, &store, &err);

	(void)n;
	hes_job_workload_of(operands[0], w.name);
	if (!rc)
		rc = shown_read(store, o->with_modelled, &w, &err);
	/* Of a script there is mostly the whole run alone. */
	if (!rc && !shown_rows(&w)) {
		shown_free(&w);
		hes_job_whole_run_of(operands[0], w.name);
		rc = shown_read(store, o->with_modelled, &w, &err);
	}
	if (!rc && !shown_rows(&w))
		rc = hes_fail(&err, -ENOENT,
			      "no rows of workload \"%.60s\"%s; heshare profiles list shows what "
			      "there is",
			      operands[0], o->with_modelled ? "" : " that are not modelled");
	status = rc ? cli_fail("profiles", &err) : print_rows(&w, o->json);
	shown_free(&w);
	hes_store_close(store);
	return status;
}
