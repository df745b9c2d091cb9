/*
 * measured_about.c - gpu.json of a measured GPU; see measured_about.h.
 */
#include "model/measured_about.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"

#define FORMAT       "heshare measured GPU"
#define VERSION      1
#define MAX_GPU_JSON (1 << 20)

void hes_inference_name(char name[HES_NAME_MAX], const char *network, const char *precision,
			enum hes_style style)
{
	snprintf(name, HES_NAME_MAX, "%.*s-%.6s%s", HES_NETWORK_MAX, network, precision,
		 style == HES_STYLE_GRAPHS ? "-graphs" : "");
}

static int check_format(const char *path, const json_t *doc, bool tests, struct hes_err *err)
{
	const char *format = json_string_value(json_object_get(doc, "format"));
	const json_t *version = json_object_get(doc, "version"),
		     *test = json_object_get(doc, "test");

	if (!format || strcmp(format, FORMAT))
		return hes_fail(err, -EINVAL, "%s: format: \"" FORMAT "\" is needed", path);
	if (!json_is_integer(version) || json_integer_value(version) != VERSION)
		return hes_fail(err, -EINVAL, "%s: version: this program reads version %d", path,
				VERSION);
	if (test && !json_is_boolean(test))
		return hes_fail(err, -EINVAL, "%s: test: true or false is needed", path);
	if (json_is_true(test) && !tests)
		return hes_fail(err, -EINVAL,
				"%s: test: true, so this is a recording and no measured GPU", path);
	return 0;
}

/* A folder without the key was measured with eager programs, as bench/gpu/measure runs them. */
static int read_style(const char *path, const json_t *doc, enum hes_style *out, struct hes_err *err)
{
	const json_t *style = json_object_get(doc, "style");
	const char *text = style ? json_string_value(style) : "eager";

	if (!text || (strcmp(text, "eager") && strcmp(text, "graphs")))
		return hes_fail(err, -EINVAL, "%s: style: \"eager\" or \"graphs\" is needed", path);
	*out = strcmp(text, "graphs") ? HES_STYLE_EAGER : HES_STYLE_GRAPHS;
	return 0;
}

static int read_type(const char *path, const json_t *doc, const struct hes_catalogue *c,
		     const struct hes_gpu_type **out, struct hes_err *err)
{
	const json_t *gpu = json_object_get(doc, "gpu");
	const char *type = json_string_value(json_object_get(gpu, "gpu_type"));
	const char *name = json_string_value(json_object_get(gpu, "name"));

	if (!type)
		return hes_fail(
			err, -ENOENT,
			"%s: gpu_type: \"%.80s\" is no type of the catalogue; give it a row "
			"there (`heshare gpus` lists them) and write that row's name here",
			path, name ? name : "a GPU without a name");
	*out = hes_gpu_type_find(c, type, err);
	return *out ? 0 : hes_fail_in(err, "%s: gpu_type", path);
}

int hes_measured_about_load(const char *dir, const struct hes_catalogue *c, bool tests,
			    struct hes_measured_about *out, struct hes_err *err)
{
	struct hes_measured_about a = { 0 };
	char path[PATH_MAX + 16];
	int rc;

	snprintf(path, sizeof(path), "%s/gpu.json", dir);
	rc = hes_file_check_plain(path, err);
	if (!rc)
		rc = hes_json_load(path, MAX_GPU_JSON, &a.doc, err);
	if (!rc)
		rc = check_format(path, a.doc, tests, err);
	if (!rc)
		rc = read_style(path, a.doc, &a.style, err);
	if (!rc)
		rc = read_type(path, a.doc, c, &a.type, err);
	if (rc)
		json_decref(a.doc);
	else
		*out = a;
	return rc;
}
