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
#include "base/yaml_remedy.h"

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

/* A file of another kind: no fields at all, or none that this kind has. */
static bool is_other_kind(const struct trace *t, const cyaml_schema_value_t *schema)
{
	return !t->path[0] && schema->type == CYAML_MAPPING &&
	       strncmp(t->headline, "Expecting MAPPING", 17) == 0;
}

/* Where libyaml gives no line: that of the first tab in an indentation. */
static unsigned tab_line(const char *text, size_t len)
{
	const char *end = text + len;
	unsigned line = 1;

	for (const char *at = text; at < end; line++) {
		const char *next = memchr(at, '\n', (size_t)(end - at));

		while (at < end && *at == ' ')
			at++;
		if (at < end && *at == '\t')
			return line;
		at = next ? next + 1 : end;
	}
	return 0;
}

/* From the field that was read last to what it is in. */
static void leave_field(char *path)
{
	char *dot = strrchr(path, '.'), *bracket = strrchr(path, ']');

	if (!bracket || (dot && dot > bracket))
		*(dot ? dot : path) = '\0';
}

static int load_failed(const char *name, struct trace *t, const char *text, size_t len,
		       const cyaml_schema_value_t *schema, struct hes_err *err)
{
	const bool syntax = strncmp(t->headline, "libyaml", 7) == 0;
	const unsigned tab = syntax ? tab_line(text, len) : 0;
	char what[360] = "";

	if (is_other_kind(t, schema)) {
		yaml_add_keys(schema, "", what, sizeof(what));
		return hes_fail(err, -EINVAL,
				"%s:%u: not YAML with the keys of this kind of file: %s", name,
				t->line ? t->line : 1, what);
	}
	if (strncmp(t->headline, "Missing", 7) == 0)
		leave_field(t->path);
	yaml_remedy(t->headline, t->path, schema, what, sizeof(what));
	return hes_fail(err, -EINVAL, "%s:%u: %s%s%s", name,
			tab       ? tab
			: t->line ? t->line
				  : 1,
			t->path, t->path[0] ? ": " : "", what);
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
	if (rc != CYAML_OK) {
		if (!t.headline[0])
			snprintf(t.headline, sizeof(t.headline), "%s", cyaml_strerror(rc));
		return load_failed(name, &t, text, len, schema, err);
	}
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
