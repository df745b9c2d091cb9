/*
 * predict_csv.c - `heshare predict --csv`: ask a regressor, row by row of a
 * table; see predict_csv.h.
 */
#include "cli/predict_csv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/table.h"
#include "cli/cli.h"
#include "cli/train/model_files.h"

struct answers {
	struct hes_regressor            *r;
	const struct hes_regressor_info *about;
	struct hes_table                 t;   /* the features, in the regressor's order */
	double                          *out; /* row by row */
};

static int load_rows(struct answers *a, const char *path, struct hes_err *err)
{
	size_t n = a->about->n_features;
	const char **names = calloc(n, sizeof(*names));
	int rc;

	if (!names)
		return hes_fail(err, -ENOMEM, "out of memory for %zu columns", n);
	for (size_t i = 0; i < n; i++)
		names[i] = hes_regressor_feature_name(a->r, i);
	rc = hes_table_load(path, &(struct hes_table_wanted){ .columns = { names, n } }, &a->t, err);
	free(names);
	return rc;
}

static int ask(struct answers *a, uint32_t threads, struct hes_err *err)
{
	size_t n = a->t.n_rows * a->t.n_columns;
	float *rows = malloc((n + 1) * sizeof(*rows));

	a->out = calloc(a->t.n_rows * a->about->n_outputs + 1, sizeof(*a->out));
	if (!rows || !a->out) {
		free(rows);
		return hes_fail(err, -ENOMEM, "out of memory for %zu rows", a->t.n_rows);
	}
	for (size_t i = 0; i < n; i++)
		rows[i] = (float)a->t.v[i];
	hes_regressor_predict_rows(a->r, rows, a->t.n_rows, a->out, threads);
	free(rows);
	return 0;
}

static int write_csv(const struct answers *a, const char *path, struct hes_err *err)
{
	size_t outputs = a->about->n_outputs;
	struct hes_file file;
	int rc = hes_file_create(&file, path ? path : "-", err);

	if (rc)
		return rc;
	for (size_t k = 0; k < outputs; k++) {
		fputs(k ? "," : "", file.f);
		hes_csv_put(file.f, hes_regressor_output_name(a->r, k));
	}
	fputc('\n', file.f);
	for (size_t i = 0; i < a->t.n_rows; i++)
		for (size_t k = 0; k < outputs; k++)
			fprintf(file.f, "%.9g%c", a->out[i * outputs + k], k + 1 < outputs ? ',' : '\n');
	return hes_file_commit(&file, err);
}

static int print_json(const struct answers *a)
{
	size_t outputs = a->about->n_outputs;
	json_t *all = json_object();

	for (size_t k = 0; k < outputs; k++) {
		json_t *column = json_array();

		for (size_t i = 0; i < a->t.n_rows; i++)
			json_array_append_new(column, json_real(a->out[i * outputs + k]));
		json_object_set_new(all, hes_regressor_output_name(a->r, k), column);
	}
	return cli_print_json(json_pack("{s:I, s:o}", "rows", (json_int_t)a->t.n_rows, "predicted", all));
}

int predict_csv(const struct predict_csv *o)
{
	struct answers a = { 0 };
	struct hes_err err;
	int status = 0, rc = cli_regressor_load(o->model, &a.r, &err);

	if (!rc) {
		a.about = hes_regressor_about(a.r);
		rc = load_rows(&a, o->csv, &err);
	}
	if (!rc)
		rc = ask(&a, (uint32_t)o->threads, &err);
	if (!rc && o->json)
		status = print_json(&a);
	else if (!rc)
		rc = write_csv(&a, o->out, &err);
	if (rc)
		status = cli_fail("predict", &err);
	free(a.out);
	hes_table_free(&a.t);
	hes_regressor_free(a.r);
	return status;
}
