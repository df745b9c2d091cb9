/*
 * yaml.c - read YAML through libcyaml; see yaml.h.
 *
 * libcyaml logs an error as a headline and a line for each level, innermost first. These become one
 * sentence, "FILE:LINE: gpus[1].type: headline". Aliases are refused, because a short file could
 * expand to gigabytes.
 */
#include "base/yaml.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#define MAX_YAML_BYTES ((size_t)256 << 20)

struct trace {
	char headline[256];
	char path[200];
	unsigned line;
};

static void prepend(struct trace *t, const char *piece)
{
	char old[120];

	snprintf(old, sizeof(old), "%.119s", t->path);
	snprintf(t->path, sizeof(t->path), "%.78s%s%s", piece, old[0] && old[0] != '[' ? "." : "",
		 old);
}

static void collect(cyaml_log_t level, void *ctx, const char *fmt, va_list args)
{
	struct trace *t = ctx;
	char text[256], name[64], piece[80];
	unsigned line = 0, entry;

	(void)level;
	vsnprintf(text, sizeof(text), fmt, args);
	text[strcspn(text, "\n")] = '\0';
	if (sscanf(text, "  in mapping field '%63[^']' (line: %u", name, &line) >= 1)
		prepend(t, name);
	else if (sscanf(text, "  in sequence entry '%u' (line: %u", &entry, &line) >= 1) {
		if (entry) { /* counted from 1; 0 is the list itself */
			snprintf(piece, sizeof(piece), "[%u]", entry - 1);
			prepend(t, piece);
		}
	} else if (strstr(text, "Backtrace"))
		return;
	else if (strncmp(text, "  in ", 5) == 0)
		sscanf(text, "  in mapping (line: %u", &line);
	else if (!t->headline[0])
		snprintf(t->headline, sizeof(t->headline), "%s",
			 strncmp(text, "Load: ", 6) ? text : text + 6);
	if (line && !t->line)
		t->line = line;
}

/* For another kind of file the keys of this one are listed. */
static int fail_top(const char *name, const struct trace *t, const cyaml_schema_value_t *schema,
		    struct hes_err *err)
{
	char keys[200] = "";
	size_t at = 0;

	for (const cyaml_schema_field_t *f = schema->mapping.fields; f->key && at < sizeof(keys);
	     f++)
		at += (size_t)snprintf(keys + at, sizeof(keys) - at, "%s%s", at ? ", " : "",
				       f->key);
	if (strncmp(t->headline, "Expecting MAPPING", 17) == 0)
		return hes_fail(err, -EINVAL,
				"%s:%u: not YAML with the keys of this kind of file: %s", name,
				t->line ? t->line : 1, keys);
	return hes_fail(err, -EINVAL, "%s:%u: %s; the keys of this kind of file: %s", name,
			t->line ? t->line : 1, t->headline, keys);
}

static bool is_top(const struct trace *t, const cyaml_schema_value_t *schema)
{
	return !t->path[0] && schema->type == CYAML_MAPPING &&
	       (strncmp(t->headline, "Expecting MAPPING", 17) == 0 ||
		strncmp(t->headline, "Unexpected key", 14) == 0);
}

int hes_yaml_load_text(const char *name, const char *text, size_t len,
		       const cyaml_schema_value_t *schema, void **out, struct hes_err *err)
{
	struct trace t = { 0 };
	const cyaml_config_t cfg = {
		.log_level = CYAML_LOG_WARNING,
		.flags = CYAML_CFG_NO_ALIAS,
		.log_fn = collect,
		.log_ctx = &t,
		.mem_fn = cyaml_mem,
	};
	cyaml_data_t *data = NULL;
	cyaml_err_t rc = cyaml_load_data((const uint8_t *)text, len, &cfg, schema, &data, NULL);

	if (rc == CYAML_OK && !data)
		return hes_fail(err, -EINVAL, "%s: empty file", name);
	if (rc == CYAML_ERR_OOM)
		return hes_fail(err, -ENOMEM, "%s: out of memory", name);
	if (rc != CYAML_OK && is_top(&t, schema))
		return fail_top(name, &t, schema, err);
	if (rc != CYAML_OK)
		return hes_fail(err, -EINVAL, "%s:%u: %s%s%s", name, t.line ? t.line : 1, t.path,
				t.path[0] ? ": " : "",
				t.headline[0] ? t.headline : cyaml_strerror(rc));
	*out = data;
	return 0;
}

int hes_yaml_load_file(const char *path, const cyaml_schema_value_t *schema, void **out,
		       struct hes_err *err)
{
	char *text;
	size_t len;
	int rc = hes_file_slurp(path, MAX_YAML_BYTES, &text, &len, err);

	if (rc)
		return rc;
	rc = hes_yaml_load_text(path, text, len, schema, out, err);
	free(text);
	return rc;
}

void hes_yaml_free(const cyaml_schema_value_t *schema, void *data)
{
	const cyaml_config_t cfg = { .mem_fn = cyaml_mem };

	if (data)
		cyaml_free(&cfg, schema, data, 0);
}
