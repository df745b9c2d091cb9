/*
 * drift_out.c - `heshare profiles drift`: print errors at validation and recently.
 */
#include <stdio.h>

#include "base/visible.h"
#include "cli/cli.h"
#include "cli/inputs/inputs.h"
#include "cli/profiles/profiles.h"

static const char *const verdicts[] = { "too few rows", "no",
					"retrain" }; /* enum hes_drift_verdict */
static const char *const verdict_names[] = { "unknown", "none", "due" };

static double ratio(const struct hes_drift *d)
{
	return d->validation > 0 ? d->recent / d->validation : 0;
}

static void print_due(FILE *f, const struct drift_group *g, bool further)
{
	fprintf(f, "%s %s on ", further ? ";" : "", g->output);
	hes_visible_put(f, 0, g->gpu_type);
	fprintf(f, " is off %.1f %%, %.1f %% at validation", 100 * g->drift.recent,
		100 * g->drift.validation);
}

void drift_report_print_due(const struct drift_report *r, FILE *f)
{
	if (!r->n_due)
		return;
	fprintf(f, "\nretraining is due:");
	for (size_t i = 0, n = 0; i < r->n_groups; i++)
		if (r->groups[i].drift.verdict == HES_DRIFT_DUE)
			print_due(f, &r->groups[i], n++ > 0);
	fputc('\n', f);
}

static json_t *side_json(size_t rows, double error)
{
	return json_pack("{s:I, s:o}", "rows", (json_int_t)rows, "rel_error_pct",
			 cli_json_maybe(rows > 0, 100 * error));
}

/* Errors are means in %; none is no 0. */
static struct table groups_table(const struct drift_report *r)
{
	struct table t = { 0 };

	for (size_t i = 0; i < r->n_groups; i++) {
		const struct drift_group *g = &r->groups[i];
		const struct hes_drift *d = &g->drift;
		const bool known = d->verdict != HES_DRIFT_UNKNOWN;
		const struct cell row[] = {
			cell_text("gpu_type", "GPU type", g->gpu_type),
			cell_key(cell_text("output", "output", g->output)),
			cell_count(NULL, "rows", (int64_t)d->n_validation),
			cell_if(d->n_validation,
				cell_real(NULL, "error %", 2, 100 * d->validation)),
			cell_json("validation", side_json(d->n_validation, d->validation)),
			cell_count(NULL, "recent", (int64_t)d->n_recent),
			cell_if(d->n_recent, cell_real(NULL, "error %", 2, 100 * d->recent)),
			cell_json("recent", side_json(d->n_recent, d->recent)),
			cell_if(known, cell_real("ratio", "times", 2, ratio(d))),
			cell_if(known, cell_real("chance", "chance", -2, d->chance)),
			cell_text(NULL, "drift", verdicts[d->verdict]),
			cell_text("drift", NULL, verdict_names[d->verdict]),
		};

		TABLE_ROW(&t, row);
	}
	return t;
}

static int print_text(const struct drift_report *r, uint64_t last)
{
	struct table groups = groups_table(r);
	char when[20];

	cli_format_when(r->of.at_us, when);
	printf("predictor %08x (", r->of.crc);
	hes_visible_put(stdout, 0, r->of.name);
	printf(", %s), fitted on %u samples; the last %ju predictions of a type\n\n", when,
	       r->of.rows, (uintmax_t)last);
	puts("mean relative error at validation and recently");
	cli_print_table(&groups, stdout, 0);
	drift_report_print_due(r, stdout);
	return 0;
}

static int print_json(const struct drift_report *r, uint64_t last)
{
	struct table groups = groups_table(r);
	char crc[12];

	snprintf(crc, sizeof(crc), "%08x", r->of.crc);
	return cli_print_json("heshare-profiles-drift",
			      json_pack("{s:{s:s, s:s, s:I}, s:I, s:f, s:f, s:o, s:b}", "predictor",
					"checksum", crc, "name", r->of.name, "rows",
					(json_int_t)r->of.rows, "last", (json_int_t)last,
					"due_ratio", HES_DRIFT_RATIO, "due_chance",
					HES_DRIFT_CHANCE, "groups", table_json(&groups), "retrain",
					r->n_due > 0));
}

int profiles_drift(const void *opts, int n, char **operands)
{
	const struct profiles_opts *o = opts;
	struct drift_report r = { 0 };
	struct hes_store *s = NULL;
	struct hes_err err;
	int status, rc = profiles_open(o, HES_STORE_READ, &s, &err);

	(void)n;
	(void)operands;
	if (!rc)
		rc = drift_report_make(s, &o->drift, &r, &err);
	if (rc)
		status = cli_fail("profiles", &err);
	else
		status = o->json ? print_json(&r, o->drift.last) : print_text(&r, o->drift.last);
	drift_report_free(&r);
	hes_store_close(s);
	return status;
}
