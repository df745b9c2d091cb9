/*
 * drift_report.c - `heshare profiles drift`: compare the errors of a predictor on samples after its
 * training with those at validation, for each GPU type, for time and for power.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/texts.h"
#include "base/visible.h"
#include "cli/cli.h"
#include "cli/inputs/inputs.h"
#include "cli/profiles/profiles.h"

static const char all[] = "all";
static const char *const verdicts[] = { "too few rows", "no",
					"retrain" }; /* enum hes_drift_verdict */
static const char *const verdict_names[] = { "unknown", "none", "due" };

/* Errors of one output on one type, or on all; room for every miss on both sides. */
struct sides {
	double *validation, *recent;
	size_t n_validation, n_recent;
};

static void fill(const struct hes_store_miss *v, size_t n, const char *type, bool time, size_t last,
		 struct sides *out)
{
	out->n_validation = out->n_recent = 0;
	for (size_t i = 0; i < n; i++) {
		double error = time ? v[i].time : v[i].power;

		if (type != all && strcmp(type, v[i].gpu_type))
			continue;
		if (!v[i].fresh)
			out->validation[out->n_validation++] = error;
		else if (out->n_recent < last)
			out->recent[out->n_recent++] = error;
	}
}

static int add_group(struct drift_report *r, const struct hes_store_miss *v, size_t n,
		     const char *type, bool time, size_t last, struct sides *sides,
		     struct hes_err *err)
{
	struct drift_group *g = &r->groups[r->n_groups];
	int rc;

	fill(v, n, type, time, last, sides);
	rc = hes_drift_judge(sides->validation, sides->n_validation, sides->recent, sides->n_recent,
			     &g->drift, err);
	if (rc)
		return rc;
	snprintf(g->gpu_type, sizeof(g->gpu_type), "%s", type);
	g->output = time ? "time" : "power";
	r->n_groups++;
	r->n_due += g->drift.verdict == HES_DRIFT_DUE;
	return 0;
}

static int add_type(struct drift_report *r, const struct hes_store_miss *v, size_t n,
		    const char *type, size_t last, struct sides *sides, struct hes_err *err)
{
	int rc = add_group(r, v, n, type, true, last, sides, err);

	return rc ? rc : add_group(r, v, n, type, false, last, sides, err);
}

static int add_groups(struct drift_report *r, const struct hes_store_miss *v, size_t n, size_t last,
		      const char **types, struct sides *sides, struct hes_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < n; i++)
		types[i] = v[i].gpu_type;
	qsort(types, n, sizeof(*types), hes_by_pointed_text);
	for (size_t i = 0; i < n && !rc; i++)
		if (i == 0 || strcmp(types[i], types[i - 1]))
			rc = add_type(r, v, n, types[i], last, sides, err);
	return rc ? rc : add_type(r, v, n, all, last, sides, err);
}

static int judge(struct drift_report *r, const struct hes_store_miss *v, size_t n, size_t last,
		 struct hes_err *err)
{
	struct sides sides = { calloc(n, sizeof(double)), calloc(n, sizeof(double)), 0, 0 };
	const char **types = calloc(n, sizeof(*types));
	int rc;

	r->groups = calloc(2 * n + 2, sizeof(*r->groups));
	if (sides.validation && sides.recent && types && r->groups)
		rc = add_groups(r, v, n, last, types, &sides, err);
	else
		rc = hes_fail(err, -ENOMEM, "out of memory for %zu predictions", n);
	free(sides.validation);
	free(sides.recent);
	free(types);
	return rc;
}

/* The given one, or the one that predicted last. */
static int choose(struct hes_store *s, const struct profiles_opts *o,
		  struct hes_store_forecaster *out, struct hes_err *err)
{
	struct hes_store_forecaster *v = NULL;
	struct hes_store_predictor wanted = { 0 };
	struct hes_predictor *p = NULL;
	size_t n = 0, i = 0;
	int rc = o->predictor ? hes_predictor_load(o->predictor, &p, err) : 0;

	if (!rc && p)
		rc = app_store_predictor(o->predictor, p, &wanted, err);
	if (!rc)
		rc = hes_store_forecasters(s, &v, &n, err);
	while (p && i < n && v[i].crc != wanted.crc)
		i++;
	if (!rc && i < n)
		*out = v[i];
	else if (!rc)
		rc = hes_fail(
			err, -ENOENT,
			"the store has nothing that %s predicted; import samples with --predictor",
			p ? o->predictor : "a predictor");
	free(v);
	hes_predictor_free(p);
	return rc;
}

int drift_report_make(struct hes_store *s, const struct profiles_opts *o, struct drift_report *out,
		      struct hes_err *err)
{
	struct drift_report r = { 0 };
	struct hes_store_miss *v = NULL;
	size_t n = 0;
	int rc = choose(s, o, &r.of, err);

	if (!rc)
		rc = hes_store_misses(s, r.of.crc, o->with_modelled, &v, &n, err);
	if (!rc)
		rc = judge(&r, v, n, o->last, err);
	free(v);
	if (rc)
		drift_report_free(&r);
	else
		*out = r;
	return rc;
}

void drift_report_free(struct drift_report *r)
{
	free(r->groups);
	*r = (struct drift_report){ 0 };
}

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
			cell_text("output", "output", g->output),
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
					"crc", crc, "name", r->of.name, "rows",
					(json_int_t)r->of.rows, "last", (json_int_t)last,
					"due_ratio", HES_DRIFT_RATIO, "due_chance",
					HES_DRIFT_CHANCE, "groups", table_json(&groups), "retrain",
					r->n_due > 0));
}

int profiles_drift(const struct profiles_opts *o, int n, char **operands)
{
	struct drift_report r = { 0 };
	struct hes_store *s = NULL;
	struct hes_err err;
	int status, rc = profiles_open(o, HES_STORE_READ, &s, &err);

	(void)n;
	(void)operands;
	if (!rc)
		rc = drift_report_make(s, o, &r, &err);
	if (rc)
		status = cli_fail("profiles", &err);
	else
		status = o->json ? print_json(&r, o->last) : print_text(&r, o->last);
	drift_report_free(&r);
	hes_store_close(s);
	return status;
}
