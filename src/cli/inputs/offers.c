/*
 * offers.c - policies, preferences, GPU types and workloads as values of options; see offers.h.
 */
#include "cli/inputs/offers.h"
#include "cli/cli.h"

#include <stdio.h>

#include "app/catalogue.h"
#include "heshare/policy.h"

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
	puts("simulate also takes learn: joint that knows no workload at the start, and learns\n"
	     "while jobs work.\n");
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
