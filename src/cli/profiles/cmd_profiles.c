/*
 * cmd_profiles.c - `heshare profiles`: its options and actions; import, export, forget.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "app/profiles_export.h"
#include "app/profiles_import.h"
#include "base/clock.h"
#include "base/texts.h"
#include "base/num.h"
#include "base/plural.h"
#include "cli/cli.h"
#include "cli/inputs/inputs.h"
#include "cli/commands.h"
#include "cli/profiles/profiles.h"

#define AT(member) .offset = offsetof(struct profiles_opts, member)

/* clang-format off */
static const struct opt profiles_opts[] = {
	{ .name = "store", .kind = OPT_FILE, AT(store), .arg = "FILE",
	  .help = "the store; without it " CLI_STORE_PLACE },
	{ .name = "as", .kind = OPT_CHOICE, AT(as), .arg = "SOURCE", .def = "imported",
	  .choices = hes_source_names,
	  .help = "import: origin of the rows" },
	{ .name = "when", .kind = OPT_TEXT, AT(when), .arg = "DATE",
	  .help = "import: date of the measurement in UTC, such as 2026-11-21; without it, now" },
	{ .name = "predictor", .kind = OPT_FILE, AT(drift.predictor), .arg = "FILE",
	  .help = "import: predict each new sample first and store the forecast; drift: judge this "
		  "predictor" },
	CLI_CATALOGUE_OPT(offsetof(struct profiles_opts, catalogue)),
	{ .name = "last", .kind = OPT_U64, AT(drift.last), .arg = "N", .def = "200", .min = 1,
	  .max = 1000000,
	  .help = "drift: number of recent predictions of each GPU type" },
	{ .name = "with-modelled", .kind = OPT_FLAG, AT(drift.with_modelled),
	  .help = "show, export, drift: include modelled rows" },
	{ .name = "wait", .kind = OPT_DOUBLE, AT(wait_s), .arg = "S", .def = "10", .max = 3600,
	  .help = "wait for other programs that write to the store, seconds" },
	{ .name = "json", .kind = OPT_FLAG, AT(json), .help = "print one JSON document" },
	{ 0 }
};
/* clang-format on */

int profiles_open(const struct profiles_opts *o, enum hes_store_mode mode, struct hes_store **out,
		  struct hes_err *err)
{
	return app_store_open(cli_app(), o->store, mode, (int)(o->wait_s * 1000), out, err);
}

static int export_rows(const struct profiles_opts *o, int n, char **operands)
{
	const struct export_request q = { .app = cli_app(),
					  .store = o->store,
					  .catalogue = o->catalogue,
					  .folder = operands[0],
					  .wait_ms = (int)(o->wait_s * 1000),
					  .with_modelled = o->drift.with_modelled };
	struct exported e;
	struct hes_err err;

	(void)n;
	if (profiles_export(&q, &e, &err))
		return cli_fail("profiles", &err);
	if (o->json)
		return cli_print_json("heshare-profiles-export",
				      json_pack("{s:s, s:I, s:I, s:I}", "folder", q.folder,
						"profiles", (json_int_t)e.profiles, "samples",
						(json_int_t)e.samples, "points",
						(json_int_t)e.points));
	printf("%s: %zu profile%s, %zu sample%s", q.folder, e.profiles, hes_s(e.profiles),
	       e.samples, hes_s(e.samples));
	if (e.points)
		printf(", %zu row%s of points", e.points, hes_s(e.points));
	putchar('\n');
	return 0;
}

/* What is shown of an import. */
struct reported {
	const struct profiles_opts *o;
	json_t *list;
};

static void tell_import(void *ctx, const char *path, const struct hes_delivered *d)
{
	const struct reported *im = ctx;

	if (im->o->json) {
		json_array_append_new(im->list,
				      json_pack("{s:s, s:I, s:{s:I, s:I}, s:{s:I, s:I}, s:I, s:I}",
						"from", path, "number", (json_int_t)d->origin,
						"profiles", "new", (json_int_t)d->profiles_new,
						"known", (json_int_t)d->profiles_known, "samples",
						"new", (json_int_t)d->samples_new, "known",
						(json_int_t)d->samples_known, "named",
						(json_int_t)d->samples_named, "predicted",
						(json_int_t)d->forecasts));
		return;
	}
	printf("%s: profiles: %zu new, %zu known; samples: %zu new, %zu known", path,
	       d->profiles_new, d->profiles_known, d->samples_new, d->samples_known);
	if (d->samples_named)
		printf(", %zu of them got the names of their co-runners", d->samples_named);
	if (d->points_new + d->points_known)
		printf("; points: %zu new, %zu known", d->points_new, d->points_known);
	if (im->o->drift.predictor)
		printf(", %zu predicted", d->forecasts);
	putchar('\n');
	fflush(stdout);
}

static int import_rows(const struct profiles_opts *o, int n, char **operands)
{
	struct reported reported = { o, json_array() };
	struct import_request q = { .app = cli_app(),
				    .store = o->store,
				    .catalogue = o->catalogue,
				    .predictor = o->drift.predictor,
				    .wait_ms = (int)(o->wait_s * 1000),
				    .at_us = hes_wall_us(),
				    .each = tell_import,
				    .ctx = &reported };
	struct hes_err err;
	int rc = o->when ? cli_parse_when("--when", o->when, &q.at_us, &err) : 0;

	while (strcmp(o->as, hes_source_names[q.source]))
		q.source++;
	if (!rc)
		rc = profiles_import(&q, (size_t)n, operands, &err);
	if (o->json && (!rc || json_array_size(reported.list)))
		cli_print_json("heshare-profiles-import",
			       json_pack("{s:O}", "imports", reported.list));
	json_decref(reported.list);
	return rc ? cli_fail("profiles", &err) : 0;
}

static int profiles_forget(const struct profiles_opts *o, int n, char **operands)
{
	struct hes_store *store = NULL;
	struct hes_err err;
	uint64_t origin;
	int rc;

	(void)n;
	if (hes_parse_u64("forget", operands[0], 1, INT64_MAX, &origin, &err)) {
		cli_fail("profiles", &err);
		return 2;
	}
	rc = profiles_open(o, HES_STORE_READ, &store, &err);
	if (!rc)
		rc = hes_store_forget(store, (int64_t)origin, &err);
	hes_store_close(store);
	return rc ? cli_fail("profiles", &err) : 0;
}

static const char *const action_names[] = { "list",   "show",  "import", "export",
					    "forget", "drift", NULL };

static const struct profiles_action actions[] = {
	{ "list", "", 0, 0, profiles_list },
	{ "show", " WORKLOAD", 1, 1, profiles_show },
	{ "import", " FILE...", 1, 1000, import_rows },
	{ "export", " DIR", 1, 1, export_rows },
	{ "forget", " NUMBER", 1, 1, profiles_forget },
	{ "drift", "", 0, 0, profiles_drift },
};

#define N_ACTIONS (sizeof(actions) / sizeof(actions[0]))

static int no_such_action(const char *word)
{
	const char *near = hes_text_nearest(word, action_names, N_ACTIONS);

	fprintf(stderr, "heshare profiles: nothing called \"%.60s\"%s%s%s; there are", word,
		near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
	for (size_t i = 0; i < N_ACTIONS; i++)
		fprintf(stderr, "%s %s", i ? "," : "", action_names[i]);
	fputc('\n', stderr);
	return 2;
}

static int run_profiles(const void *opts, int n_args, char **args)
{
	for (size_t i = 0; i < N_ACTIONS; i++) {
		const struct profiles_action *a = &actions[i];

		if (strcmp(a->name, args[0]))
			continue;
		if (n_args - 1 >= a->min && n_args - 1 <= a->max)
			return a->run(opts, n_args - 1, args + 1);
		fprintf(stderr, "heshare profiles: usage: heshare profiles %s%s\n", a->name,
			a->operands);
		return 2;
	}
	return no_such_action(args[0]);
}

const struct command cmd_profiles = {
	.name = "profiles",
	.args = "ACTION [OPERAND]...",
	.min_args = 1,
	.max_args = 1001,
	.words = action_names,
	.summary = "manage the store of profiles and samples",
	.text = "list: prints the workloads and GPU types of the store with the number of profiled "
		"batch sizes, of samples and points, and their age; then the deliveries, the "
		"imports, measurements and runs that added rows.\n\n"
		"show WORKLOAD: prints the rows of a workload, also of a script: \"./train.sh 7\"."
		"\n\n"
		"import FILE...: adds profiles.csv, samples.csv, a folder with both, or points.csv "
		"with the profiles and samples that follow from it. A file is added completely or "
		"not "
		"at all. Rows that are in the store are skipped.\n\n"
		"export DIR: writes profiles.csv and samples.csv, and points.csv with a row for "
		"each job of a measured point.\n\n"
		"forget NUMBER: removes the rows of a delivery, by its number in list.\n\n"
		"drift: compares the errors of a predictor on samples that came later with those "
		"at validation, and says whether to train again.\n\n"
		"Modelled rows count only with --with-modelled. See docs/store.md.",
	.example = "  heshare profiles import lab\n"
		   "  heshare train --from-store -o predictor\n"
		   "  heshare profiles import --predictor predictor this-week/samples.csv\n"
		   "  heshare profiles drift",
	.opts = profiles_opts,
	.opts_size = sizeof(struct profiles_opts),
	.run = run_profiles,
};
