/*
 * about_model.c - `heshare predict` without a workload: what is in a predictor's file; see
 * about_model.h.
 */
#include "cli/train/about_model.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/plural.h"
#include "base/visible.h"
#include "cli/cli.h"
#include "heshare/predict.h"

static json_t *errors_json(const struct hes_regressor_errors *e)
{
	if (!e->rows)
		return json_null();
	return json_pack("{s:I, s:f, s:f, s:f, s:f}", "rows", (json_int_t)e->rows, "mae", e->mae,
			 "r2", e->r2, "abs_error_pct", e->abs_error_pct, "rel_error_pct",
			 e->rel_error_pct);
}

static json_t *output_json(const char *name, const char *unit, const struct hes_regressor_errors *e)
{
	return json_pack("{s:s, s:s, s:o}", "name", name, "unit", unit, "errors", errors_json(e));
}

static void print_errors(const char *name, const char *unit, const struct hes_regressor_errors *e)
{
	fputs("  ", stdout);
	hes_visible_put(stdout, 0, name);
	fputs(*unit ? ", " : "", stdout);
	hes_visible_put(stdout, 0, unit);
	fputs(": ", stdout);
	if (e->rows)
		printf("on %" PRIu64 " row%s held back off by %.6g in the mean, %.2f %% absolute, "
		       "%.2f %% relative\n",
		       e->rows, hes_s(e->rows), e->mae, e->abs_error_pct, e->rel_error_pct);
	else
		puts("never tried on rows held back");
}

static json_t *checksum_json(uint32_t crc)
{
	char text[12];

	snprintf(text, sizeof(text), "%08" PRIx32, crc);
	return json_string(text);
}

/* As text: JSON's integers end at 2^63. */
static json_t *seed_json(uint64_t seed)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, seed);
	return json_string(text);
}

/* The @i-th word of a list. */
static void print_word(size_t i, const char *word)
{
	fputs(i ? ", " : " ", stdout);
	hes_visible_put(stdout, 0, word);
}

static json_t *names_json(char (*names)[HES_NAME_MAX], uint32_t n)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < n; i++)
		json_array_append_new(list, json_string(names[i]));
	return list;
}

static int predictor_json(const struct hes_predictor_info *a, uint32_t checksum)
{
	json_t *outputs = json_pack("[o, o]", output_json("time", "us", &a->time),
				    output_json("power", "mW", &a->power));

	return cli_print_json(
		"heshare-predictor",
		json_pack("{s:I, s:I, s:o, s:I, s:o, s:f, s:o, s:o, s:o, s:o}", "trees",
			  (json_int_t)a->options.trees, "nodes", (json_int_t)a->nodes, "seed",
			  seed_json(a->options.seed), "rows", (json_int_t)a->rows, "rows_checksum",
			  checksum_json(a->samples_crc), "coverage_pct", 100 * a->options.coverage,
			  "checksum", checksum_json(checksum), "gpu_types",
			  names_json(a->types, a->n_types), "workloads",
			  names_json(a->workloads, a->n_workloads), "outputs", outputs));
}

static void print_names(const char *what, char (*names)[HES_NAME_MAX], uint32_t n)
{
	printf("%" PRIu32 " %s:", n, what);
	for (uint32_t i = 0; i < n; i++)
		print_word(i, names[i]);
	putchar('\n');
}

static int print_predictor(const struct hes_predictor_info *a, uint32_t checksum)
{
	printf("predictor %08" PRIx32 ": %" PRIu32 " trees per output with %" PRIu32
	       " nodes in all, fitted on %" PRIu32 " samples (%08" PRIx32 ")\n",
	       checksum, a->options.trees, a->nodes, a->rows, a->samples_crc);
	print_names("GPU types", a->types, a->n_types);
	print_names("workloads", a->workloads, a->n_workloads);
	printf("intervals hold %.0f %% of measurements\n", 100 * a->options.coverage);
	print_errors("time of an iteration", "us", &a->time);
	print_errors("power", "mW", &a->power);
	return 0;
}

int predictor_about(const char *path, bool json)
{
	const struct hes_predictor_info *a;
	struct hes_predictor *p;
	struct hes_err err;
	uint32_t checksum = 0;
	int status;

	if (hes_predictor_load(path, &p, &err))
		return cli_fail("predict", &err);
	a = hes_predictor_about(p);
	if (hes_predictor_checksum(p, &checksum, &err))
		status = cli_fail("predict", &err);
	else
		status = json ? predictor_json(a, checksum) : print_predictor(a, checksum);
	hes_predictor_free(p);
	return status;
}
