/*
 * inputs.c - what commands share about their inputs; see inputs.h.
 */
#include "cli/inputs/inputs.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "app/catalogue.h"
#include "app/known.h"
#include "base/plural.h"
#include "base/quantity.h"
#include "base/visible.h"
#include "cli/cli.h"
#include "heshare/policy.h"

int cli_parse_when(const char *what, const char *text, int64_t *out_us, struct hes_err *err)
{
	static const char *const forms[] = { "%Y-%m-%d", "%Y-%m-%dT%H:%M:%SZ" };

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct tm t = { 0 };
		const char *end = strptime(text, forms[i], &t);
		int day = t.tm_mday;
		time_t s;

		if (!end || *end)
			continue;
		s = timegm(&t);
		/* The 31st of February was taken for a day of March. */
		if (t.tm_mday != day)
			continue;
		*out_us = (int64_t)s * 1000000;
		return 0;
	}
	return hes_fail(err, -EINVAL,
			"%s: \"%.40s\" is no date such as 2026-11-21 or 2026-11-21T14:30:00Z (UTC)",
			what, text);
}

void cli_format_when(int64_t us, char out[20])
{
	time_t s = (time_t)(us / 1000000);
	struct tm t;

	if (!gmtime_r(&s, &t) || !strftime(out, 20, "%Y-%m-%d %H:%M", &t))
		strcpy(out, "?");
}

void cli_known_print(FILE *f, const uint32_t known[HES_KNOWN_SOURCES])
{
	static const char *const words[][2] = { { "measured", "measured" },
						{ "known network", "known networks" },
						{ "derived", "derived" },
						{ "unknown", "unknown" } };
	size_t put = 0;

	fputs("Jobs:", f);
	for (int i = 0; i < HES_KNOWN_SOURCES; i++)
		if (known[i])
			fprintf(f, "%s %" PRIu32 " %s", put++ ? "," : "", known[i],
				words[i][known[i] > 1]);
	fputs(".", f);
}

json_t *cli_known_json(const uint32_t known[HES_KNOWN_SOURCES])
{
	json_t *o = json_object();

	for (int i = 0; i < HES_KNOWN_SOURCES; i++)
		json_object_set_new(o, hes_known_sources[i], json_integer(known[i]));
	return o;
}

void cli_plan_progress(void *policy, size_t done, size_t of)
{
	char what[2 * HES_NAME_MAX];

	snprintf(what, sizeof(what), "planning by %s, cell",
		 ((const struct hes_policy *)policy)->name);
	cli_progress(what, done, of);
}

#define LIST_GPUS 8 /* for which a list of policies says how many jobs they take */

void offer_contenders(opt_say_fn *say, void *ctx)
{
	for (size_t i = 0; hes_policies[i].name; i++) {
		const struct hes_policy *p = &hes_policies[i];
		const char *const *known = p->prefers ? p->prefers : p->variants;

		say(p->name, ctx);
		for (size_t k = 0; known && known[k]; k++) {
			char name[2 * HES_NAME_MAX];

			snprintf(name, sizeof(name), "%s:%s", p->name, known[k]);
			say(name, ctx);
		}
	}
}

static void name_row(struct table *t, const char *heading, const char *name, const char *what)
{
	const struct cell row[] = {
		cell_text(NULL, heading, name),
		cell_text(NULL, "what it does", what),
	};

	TABLE_ROW(t, row);
}

static void policy_row(struct table *t, const struct hes_policy *p)
{
	const struct cell row[] = {
		cell_text(NULL, "policy", p->name),
		cell_count(NULL, "most jobs", (int64_t)hes_policy_most_jobs(p, LIST_GPUS)),
		cell_text(NULL, "what it does", p->summary),
	};

	TABLE_ROW(t, row);
}

int offer_print_policies(void)
{
	static const char *const rows[][2] = {
		{ "balanced", "energy and average completion time together" },
		{ "energy", "the least energy of busy GPUs" },
		{ "jct", "the least average completion time" },
		{ "fleet", "the least energy of all GPUs, idle ones included" },
		{ "eft", "the GPU of earliest predicted finish, first come first served" },
		{ "least", "the GPU with the least queued work, first come first served; "
			   "exclusive, static and cap do so by themselves" },
		{ "edp-sjf", "shortest first, the GPU of least predicted finish x energy" },
		{ "pwr:shared", "lets jobs share GPUs, and also weighs the fragmentation "
				"that a job leaves" },
	};
	struct table policies = { 0 }, preferences = { 0 }, variants = { 0 };

	for (size_t i = 0; hes_policies[i].name; i++)
		policy_row(&policies, &hes_policies[i]);
	for (size_t i = 0; i < 4; i++)
		name_row(&preferences, "preference", rows[i][0], rows[i][1]);
	for (size_t i = 4; i < sizeof(rows) / sizeof(rows[0]); i++)
		name_row(&variants, "variant", rows[i][0], rows[i][1]);
	cli_print_table(&policies, stdout, 0);
	printf("Most jobs: at once on %d GPUs.\n\n", LIST_GPUS);
	puts("heshare, heshare-tuned and joint take a preference, as in joint:energy:\n");
	cli_print_table(&preferences, stdout, 2);
	puts("\nmorak, muserve, batchdvfs, mps-equal, mps-default, static, static-equal, cap and\n"
	     "exclusive take a variant, as in morak:edp-sjf:\n");
	cli_print_table(&variants, stdout, 2);
	return 0;
}

static bool was_before(size_t policy, const char *preference)
{
	struct hes_err err;

	for (size_t i = 0; i < policy; i++)
		if (hes_policy_preference(&hes_policies[i], preference, &err))
			return true;
	return false;
}

void offer_preferences(opt_say_fn *say, void *ctx)
{
	for (size_t i = 0; hes_policies[i].name; i++)
		for (size_t k = 0; hes_policies[i].prefers && hes_policies[i].prefers[k]; k++)
			if (!was_before(i, hes_policies[i].prefers[k]))
				say(hes_policies[i].prefers[k], ctx);
}

void offer_gpu_types(opt_say_fn *say, void *ctx)
{
	struct hes_catalogue c = { 0 };
	struct hes_err err;

	if (app_catalogue_load(cli_app(), NULL, false, &c, &err))
		return;
	for (size_t i = 0; i < c.n; i++)
		say(c.types[i].name, ctx);
	hes_catalogue_free(&c);
}

void offer_workloads(opt_say_fn *say, void *ctx)
{
	struct hes_catalogue c = { 0 };
	struct hes_model *m = NULL;
	struct hes_err err;

	if (!app_catalogue_load(cli_app(), NULL, false, &c, &err) &&
	    !app_model_load(cli_app(), NULL, &c, NULL, 0, &m, &err))
		for (size_t i = 0; i < hes_model_workloads(m); i++)
			say(hes_model_workload_at(m, i)->name, ctx);
	hes_model_free(m);
	hes_catalogue_free(&c);
}

static void print_fit(const struct hes_model_fit *f)
{
	hes_visible_put(stdout, 0, f->workload);
	printf(": fitted to %zu point%s: time %.1f %%, power %.1f %%; nearest network %s\n",
	       f->points, hes_s(f->points), 100 * f->time_error, 100 * f->power_error, f->nearest);
}

/* In a file that its user wrote by hand one or both may be missing. */
static void print_expected(const struct hes_model_fit *f)
{
	const struct hes_factors *time = &f->expected.time, *power = &f->expected.power;

	if (!(time->high > 0) && !(power->high > 0))
		return;
	hes_visible_put(stdout, 0, f->workload);
	fputs(": expect", stdout);
	if (time->high > 0)
		printf(" %.2f to %.2f times the modelled time", time->low, time->high);
	if (power->high > 0)
		printf("%s %.2f to %.2f times the %spower", time->high > 0 ? "," : "", power->low,
		       power->high, time->high > 0 ? "" : "modelled ");
	puts(" (9 in 10 measurements, by networks left out)");
}

void cli_fits_print(const struct hes_model_fit *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (v[i].points)
			print_fit(&v[i]);
		print_expected(&v[i]);
	}
}

json_t *cli_expected_json(const struct hes_expected_error *e)
{
	json_t *o = json_object();

	if (e->time.high > 0)
		json_object_set_new(o, "time_factors",
				    json_pack("[f,f]", e->time.low, e->time.high));
	if (e->power.high > 0)
		json_object_set_new(o, "power_factors",
				    json_pack("[f,f]", e->power.low, e->power.high));
	if (e->networks)
		json_object_update_new(o, json_pack("{s:I, s:f, s:f, s:f, s:f}", "networks",
						    (json_int_t)e->networks, "time_alone",
						    e->time_alone, "time_shared", e->time_shared,
						    "co_runner_time", e->co_runner, "power",
						    e->power_median));
	return o;
}

/* A workload that was added before has only its error to expect. */
static json_t *fit_json(const struct hes_model_fit *f)
{
	json_t *o = json_pack("{s:s, s:o}", "workload", f->workload, "expected",
			      cli_expected_json(&f->expected));

	if (f->points)
		json_object_update_new(o, json_pack("{s:s, s:I, s:f, s:f}", "nearest", f->nearest,
						    "points", (json_int_t)f->points, "time_error",
						    f->time_error, "power_error", f->power_error));
	return o;
}

json_t *cli_fits_json(const struct hes_model_fit *v, size_t n)
{
	json_t *list = n ? json_array() : NULL;

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, fit_json(&v[i]));
	return list;
}

const char *cli_profiling_text(char out[CLI_PROFILING_MAX], const struct hes_profiling_cost *cost)
{
	char energy[HES_QUANTITY_MAX], time[HES_QUANTITY_MAX];

	hes_time_text(time, cost->gpu_s * 1e6);
	if (isnan(cost->energy_j))
		snprintf(out, CLI_PROFILING_MAX, "energy not measured, %s of GPU time", time);
	else
		snprintf(out, CLI_PROFILING_MAX, "%s in %s of GPU time",
			 hes_energy_text(energy, cost->energy_j * 1e3), time);
	return out;
}

const char *cli_known_profiling_text(char out[CLI_PROFILING_MAX],
				     const struct hes_store_profiling *p)
{
	size_t at;

	if (!p->origins)
		return "none";
	if (p->unknown == p->origins)
		return "not measured";
	cli_profiling_text(out, &p->cost);
	at = strlen(out);
	if (p->unknown)
		snprintf(out + at, CLI_PROFILING_MAX - at, "; %zu of %zu sessions not measured",
			 p->unknown, p->origins);
	return out;
}

json_t *cli_known_profiling_json(const struct hes_store_profiling *p)
{
	const bool known = !p->origins || p->unknown < p->origins;

	return json_pack("{s:I, s:I, s:o, s:o}", "sessions", (json_int_t)p->origins, "not_measured",
			 (json_int_t)p->unknown, "gpu_s", cli_json_maybe(known, p->cost.gpu_s),
			 "energy_j", cli_json_maybe(known, p->cost.energy_j));
}
