/*
 * cmd_profiles.c - `heshare profiles`: its options and actions; export, forget.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/texts.h"
#include "base/num.h"
#include "base/plural.h"
#include "cli/cli.h"
#include "cli/inputs/inputs.h"
#include "cli/commands.h"
#include "app/catalogue.h"
#include "cli/profiles/profiles.h"
#include "app/known_folder.h"

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
	{ .name = "predictor", .kind = OPT_FILE, AT(predictor), .arg = "FILE",
	  .help = "import: predict each new sample first and store the forecast; drift: judge this "
		  "predictor" },
	CLI_CATALOGUE_OPT(offsetof(struct profiles_opts, catalogue)),
	{ .name = "last", .kind = OPT_U64, AT(last), .arg = "N", .def = "200", .min = 1,
	  .max = 1000000,
	  .help = "drift: number of recent predictions of each GPU type" },
	{ .name = "with-modelled", .kind = OPT_FLAG, AT(with_modelled),
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

static struct hes_store_query query_of(const struct profiles_opts *o)
{
	return (struct hes_store_query){ .with_modelled = o->with_modelled };
}

static int profiles_export(const struct profiles_opts *o, int n, char **operands)
{
	const struct hes_store_query q = query_of(o);
	struct hes_profiles p = { 0 };
	struct hes_samples s = { 0 };
	struct hes_points points = { 0 };
	struct hes_store *store = NULL;
	struct hes_err err;
	int rc = profiles_open(o, HES_STORE_READ, &store, &err);

	(void)n;
	if (!rc)
		rc = hes_store_profiles(store, &q, &p, &err);
	if (!rc)
		rc = hes_store_samples(store, &q, &s, &err);
	if (!rc)
		rc = hes_store_points(store, &q, &points, &err);
	if (!rc && p.n + s.n + points.n == 0)
		rc = hes_fail(&err, -ENOENT, "the store has no such rows%s",
			      o->with_modelled ? "" : "; --with-modelled takes modelled ones too");
	if (!rc)
		rc = app_rows_save(operands[0], &p, &s, &err);
	if (!rc && points.n)
		rc = profiles_save_points(operands[0], o->catalogue, &points, &err);
	if (!rc && o->json)
		rc = cli_print_json("heshare-profiles-export",
				    json_pack("{s:s, s:I, s:I, s:I}", "folder", operands[0],
					      "profiles", (json_int_t)p.n, "samples",
					      (json_int_t)s.n, "points", (json_int_t)points.n));
	else if (!rc)
		printf("%s: %zu profile%s, %zu sample%s", operands[0], p.n, hes_s(p.n), s.n,
		       hes_s(s.n));
	if (!rc && !o->json && points.n)
		printf(", %zu row%s of points", points.n, hes_s(points.n));
	if (!rc && !o->json)
		putchar('\n');
	hes_points_free(&points);
	hes_profiles_free(&p);
	hes_samples_free(&s);
	hes_store_close(store);
	return rc < 0 ? cli_fail("profiles", &err) : rc;
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
	{ "import", " FILE...", 1, 1000, profiles_import },
	{ "export", " DIR", 1, 1, profiles_export },
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
