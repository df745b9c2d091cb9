/*
 * cmd_profiles.c - `heshare profiles`: its options and actions; import, export, forget.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "app/profiles_files.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/plural.h"
#include "base/texts.h"
#include "base/visible.h"
#include "cli/cli.h"
#include "cli/inputs/inputs.h"
#include "cli/commands.h"
#include "cli/profiles/profiles.h"

#define NOT_READ_MAX 20 /* names that are printed */

#define AT(member) .offset = offsetof(struct profiles_opts, member)

/* clang-format off */
#define STORE_OPT { .name = "store", .kind = OPT_FILE, AT(store), .arg = "FILE", \
	.help = "the store; without it " CLI_STORE_PLACE }
#define WAIT_OPT { .name = "wait", .kind = OPT_DOUBLE, AT(wait_s), .arg = "S", .def = "10", \
	.max = 3600, .help = "wait for other programs that write to the store, seconds" }
#define JSON_OPT { .name = "json", .kind = OPT_FLAG, AT(json), .help = "print one JSON document" }
#define MODELLED_OPT { .name = "with-modelled", .kind = OPT_FLAG, AT(with_modelled), \
	.help = "include modelled rows" }

static const struct opt list_opts[] = { STORE_OPT, WAIT_OPT, JSON_OPT, { 0 } };
static const struct opt show_opts[] = { STORE_OPT, MODELLED_OPT, WAIT_OPT, JSON_OPT, { 0 } };
static const struct opt import_opts[] = {
	STORE_OPT,
	{ .name = "as", .kind = OPT_CHOICE, AT(as), .arg = "SOURCE", .def = "imported",
	  .choices = hes_source_names, .help = "origin of the rows" },
	{ .name = "when", .kind = OPT_TEXT, AT(when), .arg = "DATE",
	  .help = "date of the measurement in UTC, such as 2026-11-21; without it, now" },
	CLI_CATALOGUE_OPT(offsetof(struct profiles_opts, catalogue)), WAIT_OPT, JSON_OPT, { 0 }
};
static const struct opt export_opts[] = {
	STORE_OPT, MODELLED_OPT, WAIT_OPT, JSON_OPT, { 0 }
};
static const struct opt forget_opts[] = {
	STORE_OPT,
	{ .name = "sets", .kind = OPT_FLAG, AT(sets),
	  .help = "forget how a workload did with others, not a delivery" },
	WAIT_OPT, { 0 }
};
/* clang-format on */

int profiles_open(const struct profiles_opts *o, enum hes_store_mode mode, struct hes_store **out,
		  struct hes_err *err)
{
	return app_store_open(cli_app(), o->store, mode, (int)(o->wait_s * 1000), out, err);
}

static int export_rows(const struct call *call, struct hes_err *err)
{
	const struct profiles_opts *o = call->opts;
	const struct export_request q = { .app = cli_app(),
					  .store = o->store,
					  .folder = call->args[0],
					  .wait_ms = (int)(o->wait_s * 1000),
					  .with_modelled = o->with_modelled };
	struct exported e;
	int rc = profiles_export(&q, &e, err);

	if (rc)
		return rc;
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

static size_t left_out_of(const struct import_files *f)
{
	size_t n = 0;

	for (size_t i = 0; i < MEASURED_REASONS; i++)
		n += f->rows.left_out[i];
	return n;
}

static json_t *import_json(const char *path, const struct import_files *f,
			   const struct hes_delivered *d)
{
	json_t *not_read = json_array();

	for (size_t i = 0; i < f->n_not_read; i++) {
		json_t *name = json_string(f->not_read[i]);

		json_array_append_new(not_read, name ? name : json_string("a name not in UTF-8"));
	}
	return json_pack("{s:s, s:I, s:{s:I, s:I}, s:{s:I, s:I}, s:{s:I, s:I}, s:I, s:o}", "from",
			 path, "number", (json_int_t)d->origin, "profiles", "new",
			 (json_int_t)d->profiles_new, "known", (json_int_t)d->profiles_known,
			 "samples", "new", (json_int_t)d->samples_new, "known",
			 (json_int_t)d->samples_known, "points", "new", (json_int_t)d->points_new,
			 "known", (json_int_t)d->points_known, "left_out",
			 (json_int_t)left_out_of(f), "not_read", not_read);
}

/* What is there and was not stored: rows that are no points, and files of other kinds. */
static void print_not_stored(const char *path, const struct import_files *f)
{
	char left_out[256] = "";

	for (size_t i = 0; i < MEASURED_REASONS; i++)
		if (f->rows.left_out[i])
			hes_text_add(left_out, sizeof(left_out), ", ", "%zu row%s %s",
				     f->rows.left_out[i], hes_s(f->rows.left_out[i]),
				     measured_reason_texts[i]);
	if (left_out[0])
		printf("%s: left out: %s\n", path, left_out);
	if (!f->n_not_read)
		return;
	printf("%s: not read: ", path);
	for (size_t i = 0; i < f->n_not_read && i < NOT_READ_MAX; i++) {
		fputs(i ? ", " : "", stdout);
		hes_visible_put(stdout, 0, f->not_read[i]);
	}
	if (f->n_not_read > NOT_READ_MAX)
		printf(" and %zu more", f->n_not_read - NOT_READ_MAX);
	putchar('\n');
}

static void tell_import(void *ctx, const char *path, const struct import_files *f,
			const struct hes_delivered *d)
{
	const struct reported *im = ctx;

	if (im->o->json) {
		json_array_append_new(im->list, import_json(path, f, d));
		return;
	}
	printf("%s: profiles: %zu new, %zu known; samples: %zu new, %zu known", path,
	       d->profiles_new, d->profiles_known, d->samples_new, d->samples_known);
	if (d->points_new + d->points_known)
		printf("; points: %zu new, %zu known", d->points_new, d->points_known);
	putchar('\n');
	print_not_stored(path, f);
	fflush(stdout);
}

static int import_rows(const struct call *call, struct hes_err *err)
{
	const struct profiles_opts *o = call->opts;
	struct reported reported = { o, json_array() };
	struct import_request q = { .app = cli_app(),
				    .store = o->store,
				    .catalogue = o->catalogue,
				    .wait_ms = (int)(o->wait_s * 1000),
				    .at_us = hes_wall_us(),
				    .each = tell_import,
				    .ctx = &reported };
	int rc = o->when ? cli_parse_when("--when", o->when, &q.at_us, err) : 0;

	while (strcmp(o->as, hes_source_names[q.source]))
		q.source++;
	if (!rc)
		rc = profiles_import(&q, (size_t)call->n, call->args, err);
	if (o->json && (!rc || json_array_size(reported.list)))
		cli_print_json("heshare-profiles-import",
			       json_pack("{s:O}", "imports", reported.list));
	json_decref(reported.list);
	return rc;
}

/* How a workload did with others, by whichever of its names. */
static int forget_sets(struct hes_store *store, const char *operand, struct hes_err *err)
{
	char name[HES_NAME_MAX];
	int rc = -ENOENT;

	for (unsigned i = 0; rc == -ENOENT && profiles_name(i, operand, name); i++)
		rc = hes_store_forget_sets(store, name, err);
	return rc;
}

static int profiles_forget(const struct call *call, struct hes_err *err)
{
	const struct profiles_opts *o = call->opts;
	struct hes_store *store = NULL;
	uint64_t origin = 0;
	int rc;

	if (!o->sets && hes_parse_u64("NUMBER", call->args[0], 1, INT64_MAX, &origin, err))
		return OPT_USAGE;
	rc = profiles_open(o, HES_STORE_READ, &store, err);
	if (!rc)
		rc = o->sets ? forget_sets(store, call->args[0], err)
			     : hes_store_forget(store, (int64_t)origin, err);
	hes_store_close(store);
	return rc;
}

static const struct command cmd_list = {
	.name = "profiles list",
	.args = "",
	.summary = "print the workloads and deliveries of the store",
	.text = "Prints the workloads and GPU types of the store with the number of profiled batch "
		"sizes, of samples and points, and their age. Then come the deliveries: imports, "
		"measurements and runs that added rows.",
	.example = "  heshare profiles list",
	.opts = list_opts,
	.opts_size = sizeof(struct profiles_opts),
	.run = profiles_list,
};

static const struct command cmd_show = {
	.name = "profiles show",
	.args = "WORKLOAD",
	.min_args = 1,
	.max_args = 1,
	.summary = "print the rows of a workload",
	.text = "Prints the rows of a workload, also of a script: \"./train.sh 7\".",
	.example = "  heshare profiles show resnet50",
	.opts = show_opts,
	.opts_size = sizeof(struct profiles_opts),
	.run = profiles_show,
};

static const struct command cmd_import = {
	.name = "profiles import",
	.args = "FILE|FOLDER...",
	.min_args = 1,
	.max_args = 1000,
	.summary = "add rows of files and folders",
	.text = "Adds profiles.csv, samples.csv, or points.csv with the profiles and samples that "
		"follow from it; or a folder with them, or one that bench/gpu/measure wrote. Other "
		"files of a folder are named. A file or folder is added completely or not at all. "
		"Rows that are in the store are skipped.",
	.example = "  heshare profiles import lab\n  heshare profiles import this-week/samples.csv",
	.opts = import_opts,
	.opts_size = sizeof(struct profiles_opts),
	.run = import_rows,
};

static const struct command cmd_export = {
	.name = "profiles export",
	.args = "DIR",
	.min_args = 1,
	.max_args = 1,
	.summary = "write the rows to files",
	.text = "Writes profiles.csv and samples.csv, and points.csv with a row for each job of a "
		"measured point.",
	.example = "  heshare profiles export lab",
	.opts = export_opts,
	.opts_size = sizeof(struct profiles_opts),
	.run = export_rows,
};

static const struct command cmd_forget = {
	.name = "profiles forget",
	.args = "NUMBER|WORKLOAD",
	.min_args = 1,
	.max_args = 1,
	.summary = "remove the rows of a delivery",
	.text = "Removes the rows of a delivery, by its number in heshare profiles list. With "
		"--sets it removes the co-run sets of a workload that runs judged: they are tried "
		"again, and the workload may be held again.",
	.example = "  heshare profiles forget 3\n  heshare profiles forget --sets resnet50",
	.opts = forget_opts,
	.opts_size = sizeof(struct profiles_opts),
	.run = profiles_forget,
};

static const struct command *const subs[] = { &cmd_list,   &cmd_show,   &cmd_import,
					      &cmd_export, &cmd_forget, NULL };

const struct command cmd_profiles = {
	.name = "profiles",
	.args = "ACTION [OPERAND]...",
	.min_args = 1,
	.max_args = 1001,
	.subs = subs,
	.summary = "manage the store of profiles and samples",
	.text = "The store has what was measured of workloads: profiles, samples and points. "
		"Modelled rows count only with --with-modelled. See docs/store.md.",
	.example = "  heshare profiles import lab\n"
		   "  heshare train --from-store -o predictor",
};
