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
};

static int load_listing(const struct profiles_opts *o, struct listing *l, struct hes_err *err)
{
	struct hes_store *s = NULL;
	int rc = profiles_open(o, HES_STORE_READ, &s, err);

	if (!rc)
		rc = hes_store_holdings(s, &l->holdings, &l->n_holdings, err);
	if (!rc)
		rc = hes_store_origins(s, &l->origins, &l->n_origins, err);
	hes_store_close(s);
	return rc;
}

static json_t *batches_json(const struct hes_store_holding *h)
{
	return json_pack("{s:I, s:I, s:I, s:I}", "profiled", (json_int_t)h->profiles, "modelled",
			 (json_int_t)h->profiles_modelled, "min", (json_int_t)h->batch_min, "max",
			 (json_int_t)h->batch_max);
}

/* @return "(N modelled)", or "" for none */
static const char *modelled_note(char out[32], uint64_t modelled)
{
	out[0] = '\0';
	if (modelled)
		snprintf(out, 32, "(%" PRIu64 " modelled)", modelled);
	return out;
}

static struct table holdings_table(const struct listing *l)
{
	struct table t = { 0 };

	for (size_t i = 0; i < l->n_holdings; i++) {
		const struct hes_store_holding *h = &l->holdings[i];
		char batches[32], when[20], profiles[32], samples[32];

		snprintf(batches, sizeof(batches), h->batch_min < h->batch_max ? "%u..%u" : "%u",
			 h->batch_min, h->batch_max);
		modelled_note(profiles, h->profiles_modelled);
		modelled_note(samples, h->samples_modelled);
		cli_format_when(h->newest_us, when);
		const struct cell row[] = {
			cell_text("workload", "workload", h->workload),
			cell_key(cell_text("gpu_type", "GPU type", h->gpu_type)),
			cell_shown(cell_count(NULL, "batch", 0), h->batch_max ? batches : "-"),
			cell_json("batch_sizes", batches_json(h)),
			cell_noted(cell_count(NULL, "profiles", h->profiles), profiles),
			cell_noted(cell_count("samples", "samples", h->samples), samples),
			cell_count("modelled", NULL, h->samples_modelled),
			cell_count("points", "points", h->points),
			cell_text(NULL, "newest, UTC", when),
			cell_count("newest_us", NULL, h->newest_us),
		};
		TABLE_ROW(&t, row);
	}
	return t;
}

static void print_sum(const char *noun, uint64_t n, uint64_t modelled)
{
	char note[32];

	modelled_note(note, modelled);
	printf("%" PRIu64 " %s%s%s%s, ", n, noun, hes_s(n), *note ? " " : "", note);
}

static void print_sums(const struct listing *l)
{
	uint64_t profiles = 0, profiles_modelled = 0, samples = 0, samples_modelled = 0, points = 0;

	for (size_t i = 0; i < l->n_holdings; i++) {
		profiles += l->holdings[i].profiles;
		profiles_modelled += l->holdings[i].profiles_modelled;
		samples += l->holdings[i].samples;
		samples_modelled += l->holdings[i].samples_modelled;
		points += l->holdings[i].points;
	}
	print_sum("profile", profiles, profiles_modelled);
	print_sum("sample", samples, samples_modelled);
	printf("%" PRIu64 " row%s of points\n\n", points, hes_s(points));
}

static struct table origins_table(const struct listing *l)
{
	struct table t = { 0 };

	for (size_t i = 0; i < l->n_origins; i++) {
		const struct hes_store_origin *o = &l->origins[i];
		char when[20];

		cli_format_when(o->at_us, when);
		const struct cell row[] = {
			cell_count("number", "no.", o->id),
			cell_text(NULL, "when, UTC", when),
			cell_count("at_us", NULL, o->at_us),
			cell_text("source", "source", hes_source_names[o->source]),
			cell_count("points", "points", o->points),
			cell_count("profiles", "profiles", o->profiles),
			cell_count("samples", "samples", o->samples),
			cell_real("gpu_s", NULL, 1, o->cost.gpu_s),
			cell_energy("energy_j", NULL, o->cost.energy_j * 1e3),
			cell_text("from", "from", o->name),
		};
		TABLE_ROW(&t, row);
	}
	return t;
}

static int print_listing(const struct listing *l, bool json)
{
	struct table holdings = holdings_table(l), origins = origins_table(l);

	if (json)
		return cli_print_json("heshare-profiles-list",
				      json_pack("{s:o, s:o}", "workloads", table_json(&holdings),
						"deliveries", table_json(&origins)));
	cli_print_table(&holdings, stdout, 0);
	print_sums(l);
	cli_print_table(&origins, stdout, 0);
	return 0;
}

int profiles_list(const struct call *call, struct hes_err *err)
{
	const struct profiles_opts *o = call->opts;
	struct listing l = { 0 };
	int rc = load_listing(o, &l, err);

	if (!rc)
		rc = print_listing(&l, o->json);
	free(l.holdings);
	free(l.origins);
	return rc;
}

/* 0 is a missing value. */
static struct cell real_if(const char *name, const char *heading, int digits, double v)
{
	return cell_if(v > 0, cell_real(name, heading, digits, v));
}

static struct cell count_if(const char *name, const char *heading, uint32_t v)
{
	return cell_if(v, cell_count(name, heading, v));
}

static void solo_row(struct table *t, const struct hes_profile *r)
{
	const struct cell row[] = {
		cell_text("gpu_type", "GPU type", r->gpu_type),
		cell_key(cell_count("batch_size", "batch", r->batch_size)),
		count_if("memory_mib", "MiB", r->memory_mib),
		count_if("clock_mhz", "MHz", r->clock_mhz),
		cell_real("iteration_us", "us/iteration", 0, r->iteration_us),
		real_if(NULL, "busy %", 1, 100 * r->busy),
		real_if("busy", NULL, 0, r->busy),
		cell_real(NULL, "SM %", 1, 100 * r->sm_util),
		cell_real("sm_util", NULL, 0, r->sm_util),
		cell_real(NULL, "DRAM %", 1, 100 * r->dram_util),
		cell_real("dram_util", NULL, 0, r->dram_util),
		real_if(NULL, "L2 %", 1, 100 * r->l2_util),
		real_if("l2_util", NULL, 0, r->l2_util),
		cell_real("power_w", "W", 1, r->power_mw / 1e3),
	};

	TABLE_ROW(t, row);
}

static json_t *solo_json(const struct hes_profile *r)
{
	struct table t = { 0 };

	solo_row(&t, r);
	return table_object(&t);
}

static void sample_row(struct table *t, const struct hes_sample *r)
{
	const struct cell row[] = {
		cell_text(NULL, "GPU type", r->task.gpu_type),
		cell_count(NULL, "batch", r->task.batch_size),
		cell_json("solo", solo_json(&r->task)),
		cell_count("sm_pct", "share %", r->sm_pct),
		/* A dash: unlocked. */
		cell_shown(cell_count("clock_mhz", "MHz", r->clock_mhz), r->clock_mhz ? NULL : "-"),
		cell_count("co_runner_count", "others", r->co_runners.jobs),
		cell_key(cell_count("co_runner_sm_pct", "their %", r->co_runners.sm_pct)),
		cell_real("co_runner_sm_util", NULL, 0, r->co_runners.sm_util),
		cell_real("co_runner_dram_util", NULL, 0, r->co_runners.dram_util),
		cell_real("co_runner_l2_util", NULL, 0, r->co_runners.l2_util),
		cell_real("co_runner_power_w", NULL, 0, r->co_runners.power_mw / 1e3),
		cell_real("iteration_us", "us/iteration", 0, r->iteration_us),
		cell_real("power_w", "GPU W", 1, r->power_mw / 1e3),
	};

	TABLE_ROW(t, row);
}

static void point_row(struct table *t, const struct hes_point *p)
{
	const struct cell row[] = {
		cell_text("gpu_type", "GPU type", p->gpu_type),
		cell_count("batch_size", "batch", p->batch_size),
		cell_count("sm_pct", "share %", p->sm_pct),
		/* A dash: unlocked. */
		cell_key(cell_shown(cell_count("clock_mhz", "MHz", p->clock_mhz),
				    p->clock_mhz ? NULL : "-")),
		cell_text("co_runners", NULL, p->co_runners),
		cell_text("command", NULL, p->command),
		cell_real("iteration_us", "us/iteration", 0, p->iteration_us),
		real_if("time_se", NULL, 0, p->time_se),
		real_if("start_s", "start s", 2, p->start_s),
		real_if("run_s", "run s", 2, p->run_s),
		cell_real("power_w", "GPU W", 1, p->power_mw / 1e3),
		real_if("memory_mib", "MiB", 0, p->memory_mib),
	};

	TABLE_ROW(t, row);
}

/* What a run saw of the workload with others. */
static void set_row(struct table *t, const struct hes_store_set *s)
{
	char when[20];

	cli_format_when(s->at_us, when);
	const struct cell row[] = {
		cell_text("gpu_type", "GPU type", s->gpu_type),
		cell_text("jobs", "jobs", s->jobs),
		cell_real("time", "time", 2, s->time),
		cell_real("time_se", "+-", 3, s->se),
		cell_if(s->energy > 0, cell_real("energy", "energy", 2, s->energy)),
		cell_text(NULL, "when, UTC", when),
		cell_count("at_us", NULL, s->at_us),
	};

	TABLE_ROW(t, row);
}

/* Rows of a workload. */
struct shown {
	char name[HES_NAME_MAX];
	struct hes_store_set *sets;
	size_t n_sets;
	bool never_held;
	struct hes_profiles p;
	struct hes_samples s;
	struct hes_points points;
};

static void print_part(const char *heading, struct table *t, bool *first)
{
	if (!t->n_rows)
		return;
	printf("%s%s\n", *first ? "" : "\n", heading);
	*first = false;
	cli_print_table(t, stdout, 0);
}

static int print_rows(const struct shown *w, bool json)
{
	struct table solos = { 0 }, samples = { 0 }, points = { 0 }, sets = { 0 };
	bool first = true;

	for (size_t i = 0; i < w->p.n; i++)
		solo_row(&solos, &w->p.v[i]);
	for (size_t i = 0; i < w->s.n; i++)
		sample_row(&samples, &w->s.v[i]);
	/* In the text those of the job alone, which runs measure. */
	for (size_t i = 0; i < w->points.n; i++)
		if (json || !w->points.v[i].co_runners[0])
			point_row(&points, &w->points.v[i]);
	for (size_t i = 0; i < w->n_sets; i++)
		set_row(&sets, &w->sets[i]);
	if (json)
		return cli_print_json("heshare-profiles-show",
				      json_pack("{s:s, s:o, s:o, s:o, s:o, s:b}", "workload",
						w->name, "profiles", table_json(&solos), "samples",
						table_json(&samples), "points", table_json(&points),
						"sets", table_json(&sets), "never_held",
						w->never_held));
	print_part("alone on a whole GPU", &solos, &first);
	print_part("joining others", &samples, &first);
	print_part("points: the job alone", &points, &first);
	print_part("with others, against taking turns (below 1 is better)", &sets, &first);
	if (w->never_held)
		printf("%sNever held: its co-runners stalled.\n", first ? "" : "\n");
	return 0;
}

static size_t shown_rows(const struct shown *w)
{
	return w->p.n + w->s.n + w->points.n + w->n_sets + w->never_held;
}

static void shown_free(struct shown *w)
{
	free(w->sets);
	w->sets = NULL;
	hes_points_free(&w->points);
	hes_profiles_free(&w->p);
	hes_samples_free(&w->s);
}

static int shown_read(struct hes_store *store, bool with_modelled, struct shown *w,
		      struct hes_err *err)
{
	const struct hes_store_query q = { w->name, with_modelled };
	bool may_hold = true;
	int rc = hes_store_profiles(store, &q, &w->p, err);

	if (!rc)
		rc = hes_store_samples(store, &q, &w->s, err);
	if (!rc)
		rc = hes_store_points(store, &q, &w->points, err);
	if (!rc)
		rc = hes_store_sets(store, w->name, &w->sets, &w->n_sets, err);
	if (!rc)
		rc = hes_store_may_hold(store, w->name, &may_hold, err);
	w->never_held = !may_hold;
	return rc;
}

bool profiles_name(unsigned i, const char *operand, char out[HES_NAME_MAX])
{
	if (i == 0)
		snprintf(out, HES_NAME_MAX, "%s", operand);
	else if (i == 1)
		hes_job_workload_of(operand, out);
	else
		hes_job_whole_run_of(operand, out);
	return i <= 2;
}

/* As `heshare profiles list` and `heshare advise` print it. @return false: there is none */
static bool name_of_table(struct hes_store *store, const char *operand, char out[HES_NAME_MAX])
{
	const char *slash = strrchr(operand, '/');
	const uint32_t batch_size = slash ? (uint32_t)strtoul(slash + 1, NULL, 10) : 0;
	struct hes_store_holding *v = NULL;
	size_t n = 0, i = 0;

	if (hes_store_holdings(store, &v, &n, NULL))
		return false;
	while (i < n && !hes_workload_is_meant(v[i].workload, batch_size, operand))
		i++;
	if (i < n)
		strcpy(out, v[i].workload);
	free(v);
	return i < n;
}

int profiles_show(const struct call *call, struct hes_err *err)
{
	const struct profiles_opts *o = call->opts;
	struct shown w = { .p = { 0 } };
	struct hes_store *store = NULL;
	int rc = profiles_open(o, HES_STORE_READ, &store, err);

	for (unsigned i = 0; !rc && !shown_rows(&w) && profiles_name(i, call->args[0], w.name);
	     i++) {
		shown_free(&w);
		rc = shown_read(store, o->with_modelled, &w, err);
	}
	if (!rc && !shown_rows(&w) && name_of_table(store, call->args[0], w.name)) {
		shown_free(&w);
		rc = shown_read(store, o->with_modelled, &w, err);
	}
	if (!rc && !shown_rows(&w))
		rc = hes_fail(err, -ENOENT,
			      "no rows of workload \"%.60s\"%s; heshare profiles list shows what "
			      "there is",
			      call->args[0], o->with_modelled ? "" : " that are not modelled");
	if (!rc)
		rc = print_rows(&w, o->json);
	shown_free(&w);
	hes_store_close(store);
	return rc;
}
