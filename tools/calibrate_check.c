/*
 * calibrate_check.c - print the model's errors; see calibrate_check.h.
 */
#include "calibrate_check.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "base/json.h"

static json_t *row_json(const struct hes_check_row *r)
{
	json_t *o = json_pack("{s:s, s:s, s:I, s:s}", "set", r->set, "what", r->series->what,
			      "values", (json_int_t)r->n, "kind", hes_check_kind_name(r->kind));

	if (!r->series->set)
		json_object_set_new(o, "part", json_string(r->held ? "held back" : "to fit"));
	if (r->n)
		json_object_update_new(o, json_pack("{s:f, s:f, s:f}", "median_error", r->median,
						    "mean_error", r->mean, "p90_error", r->p90));
	if (r->n && (!r->met || !r->series->chosen))
		json_object_set_new(o, "met", json_boolean(r->met));
	if (!isnan(r->rank))
		json_object_set_new(o, "rank_correlation", json_real(r->rank));
	if (r->series->target_sign > 0)
		json_object_set_new(o, "right_sign", json_real(r->right_sign));
	if (r->series->target > 0)
		json_object_set_new(o, "target", json_real(r->series->target));
	if (r->series->target_p90 > 0)
		json_object_set_new(o, "target_p90", json_real(r->series->target_p90));
	return o;
}

static void print_row(const struct hes_check_row *r)
{
	const struct hes_series *s = r->series;
	char target[32] = "-", rank[16] = "", what[64], sign[32] = "";

	snprintf(what, sizeof(what), "%s%s", s->what, r->held ? ", held back" : "");
	if (r->n == 0 && (r->kind == HES_CHECK_LEFT_OUT || r->kind == HES_CHECK_CHOSEN ||
			  r->kind == HES_CHECK_RULE))
		return;
	if (r->n == 0) {
		printf("%-19s %-40s not there, skipped\n", r->set, what);
		return;
	}
	if (s->target_p90 > 0)
		snprintf(target, sizeof(target), "%g / %g", 100 * s->target, 100 * s->target_p90);
	else if (s->target > 0)
		snprintf(target, sizeof(target), "%g", 100 * s->target);
	if (!isnan(r->rank))
		snprintf(rank, sizeof(rank), "%.2f", r->rank);
	if (s->target_sign > 0)
		snprintf(sign, sizeof(sign), "; sign right %.0f %%", 100 * r->right_sign);
	printf("%-19s %-40s %6zu %7.2f %7.2f %7.2f %5s  %-7s %s%s%s\n", r->set, what, r->n,
	       100 * r->median, 100 * r->mean, 100 * r->p90, rank, target,
	       hes_check_kind_name(r->kind),
	       s->target == 0 || (r->met && s->chosen) ? ""
	       : r->met                                ? ", met"
						       : ", NOT MET",
	       sign);
}

static void print_left_out(const struct hes_measured_gpu *b)
{
	printf("%s: %s; rows left out: %zu not steady, %zu of workloads and %zu of sharing that "
	       "the model does not have\n",
	       b->name, b->type, b->unsteady, b->unknown, b->undescribed);
}

static int print_json(json_t *rows)
{
	json_t *doc =
		hes_json_document("heshare-calibrate-check", json_pack("{s:o}", "rows", rows));
	int rc = doc ? json_dumpf(doc, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(10)) : -1;

	json_decref(doc);
	return rc || putchar('\n') == EOF;
}

int calibrate_check_print(const struct hes_check *c, const struct hes_observations *obs, bool json)
{
	json_t *rows = json_array();
	bool published = false, met = true;

	for (size_t i = 0; i < HES_SERIES_PUBLISHED; i++)
		published = published || c->rows[i].n;
	if (!json)
		printf("%-19s %-40s values median%%   mean%%    p90%%  rank  target%% kind\n",
		       "set", "what");
	for (size_t i = published ? 0 : HES_SERIES_PUBLISHED; i < c->n; i++) {
		met = met && c->rows[i].met;
		if (json)
			json_array_append_new(rows, row_json(&c->rows[i]));
		else
			print_row(&c->rows[i]);
	}
	if (json)
		return print_json(rows) || !met;
	json_decref(rows);
	if (obs->n_gpus)
		putchar('\n');
	for (size_t i = 0; i < obs->n_gpus; i++)
		print_left_out(&obs->gpus[i]);
	return !met;
}
