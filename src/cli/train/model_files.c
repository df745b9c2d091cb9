/*
 * model_files.c - load a regressor by what its file is; see
 * model_files.h.
 */
#include "cli/train/model_files.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/learn_table.h"

/* LightGBM's text begins with a line "tree". A file that cannot be read is left to the loader's sentence. */
static bool is_lightgbm(const char *path)
{
	char line[8] = "";
	FILE *f = fopen(path, "re");

	if (f && !fgets(line, sizeof(line), f))
		line[0] = '\0';
	if (f)
		fclose(f);
	line[strcspn(line, "\r\n")] = '\0';
	return strcmp(line, "tree") == 0;
}

int cli_regressor_load(const char *list, struct hes_regressor **out, struct hes_err *err)
{
	struct name_list files;
	int rc = name_list_parse("--model", list, &files, err);

	if (rc)
		return rc;
	if (files.n > 1 || is_lightgbm(files.v[0]))
		rc = hes_regressor_import_lightgbm(files.v, files.n, out, err);
	else
		rc = hes_regressor_load(files.v[0], out, err);
	name_list_free(&files);
	return rc;
}

static int export(const char *prefix, const struct hes_regressor *r, size_t output, struct hes_err *err)
{
	const char *name = hes_regressor_output_name(r, output);
	char *path;
	int rc;

	if (strchr(name, '/'))
		return hes_fail(err, -EINVAL, "--export-lightgbm: the output \"%s\" cannot be part of a file's name",
				name);
	if (asprintf(&path, "%s.%s.txt", prefix, name) < 0)
		return hes_fail(err, -ENOMEM, "out of memory");
	rc = hes_regressor_export_lightgbm(path, r, output, err);
	free(path);
	return rc;
}

int cli_regressor_export(const char *prefix, const struct hes_regressor *r, struct hes_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < hes_regressor_about(r)->n_outputs && !rc; i++)
		rc = export(prefix, r, i, err);
	return rc;
}
