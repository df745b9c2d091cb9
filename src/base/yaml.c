/*
 * yaml.c - read YAML through libcyaml; see yaml.h.
 *
 * libcyaml logs an error as a headline and a line for each level, innermost first. These become one
 * sentence, "FILE:LINE: gpus[1].type: headline". Aliases are refused, because a short file could
 * expand to gigabytes.
 */
#include "base/yaml.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/texts.h"

#define MAX_YAML_BYTES ((size_t)256 << 20)

/* --- errors of libcyaml with a remedy, from the schema --- */

/* What the schema says of the field at @path; NULL: it has no such field. */
static const cyaml_schema_value_t *schema_at(const cyaml_schema_value_t *v, const char *path)
{
	while (v && *path) {
		const size_t n = strcspn(path, ".[");
		const cyaml_schema_field_t *f = v->type == CYAML_MAPPING ? v->mapping.fields : NULL;

		if (*path == '.') {
			path++;
		} else if (*path == '[') {
			v = v->type == CYAML_SEQUENCE || v->type == CYAML_SEQUENCE_FIXED
				    ? v->sequence.entry
				    : NULL;
			path += strcspn(path, "]");
			path += *path == ']';
		} else {
			while (f && f->key && (strlen(f->key) != n || strncmp(f->key, path, n)))
				f++;
			v = f && f->key ? &f->value : NULL;
			path += n;
		}
	}
	return v;
}

/* Append @intro and the keys of a mapping: "; there are: name, count". */
static void yaml_add_keys(const cyaml_schema_value_t *v, const char *intro, char *out, size_t size)
{
	if (!v || v->type != CYAML_MAPPING)
		return;
	for (const cyaml_schema_field_t *f = v->mapping.fields; f->key; f++)
		hes_text_add(out, size, f == v->mapping.fields ? intro : ", ", "%s", f->key);
}

/* "is not a whole number from 0 to 4294967295" */
static void number(const cyaml_schema_value_t *v, const char *value, char *out, size_t size)
{
	const unsigned bits = v ? (unsigned)v->data_size * 8 : 64;

	if (v && v->type == CYAML_UINT && bits < 64)
		snprintf(out, size, "\"%s\" is not a whole number from 0 to %" PRIu64, value,
			 (UINT64_C(1) << bits) - 1);
	else if (v && v->type == CYAML_FLOAT)
		snprintf(out, size, "\"%s\" is not a number, such as 0.5", value);
	else
		snprintf(out, size, "\"%s\" is not a whole number%s", value,
			 v && v->type == CYAML_UINT ? " from 0 on" : " that fits here");
}

static void choices(const cyaml_schema_value_t *v, const char *value, char *out, size_t size)
{
	snprintf(out, size, "\"%s\" is none of: ", value);
	for (uint32_t i = 0; v && v->type == CYAML_ENUM && i < v->enumeration.count; i++)
		hes_text_add(out, size, i ? ", " : "", "%s", v->enumeration.strings[i].str);
}

/* @name is of libyaml's events, or of libcyaml's types. */
static const char *kind_of(const char *name)
{
	return strncmp(name, "MAPPING", 7) == 0    ? "fields (KEY: VALUE)"
	       : strncmp(name, "SEQUENCE", 8) == 0 ? "a list ([A, B], or lines that begin with -)"
						   : "a single value";
}

/* The text behind @word in @headline, without quotes; NULL: the headline is another one. */
static const char *behind(const char *headline, const char *word, char value[128])
{
	const size_t n = strlen(word);
	size_t length;

	if (strncmp(headline, word, n) != 0)
		return NULL;
	headline += n;
	headline += *headline == '\'';
	snprintf(value, 128, "%.100s", headline);
	length = strlen(value);
	if (length && value[length - 1] == '\'')
		value[length - 1] = '\0';
	return value;
}

/* The form of the document. @return whether the headline is about it */
static bool remedy_form(const char *headline, char *out, size_t size)
{
	char value[128], what[32], got[32];
	unsigned n, least;

	if (sscanf(headline, "Expecting %31[^,], got event: %31s", what, got) == 2)
		snprintf(out, size, "%s is expected, not %s", kind_of(what), kind_of(got));
	else if (sscanf(headline, "Insufficient entries (%u of %u min)", &n, &least) == 2)
		snprintf(out, size, "the list has %u entries; it needs %u at least", n, least);
	else if (sscanf(headline, "Excessive entries (%u max)", &n) == 1)
		snprintf(out, size, "the list has more than %u entries", n);
	else if (sscanf(headline, "STRING length < %u", &n) == 1)
		snprintf(out, size, "the text is too short; it has %u byte%s at least", n,
			 n == 1 ? "" : "s");
	else if (sscanf(headline, "STRING length > %u: %127[^\n]", &n, value) == 2)
		snprintf(out, size, "\"%.40s...\" is too long; it has %u bytes at most", value, n);
	else if (behind(headline, "libyaml: ", value) &&
		 (strcasestr(value, "control character") || strcasestr(value, "UTF-")))
		snprintf(out, size, "this is no text in UTF-8 but another kind of file: %s", value);
	else if (behind(headline, "libyaml: ", value))
		snprintf(out, size,
			 "this is not YAML: %s; indent with blanks, not tabs, and put text with : "
			 "# or @ in quotes",
			 value);
	else if (strstr(headline, "alias"))
		snprintf(out, size, "aliases (&NAME, *NAME) are not taken; write the values out");
	else
		return false;
	return true;
}

/* @param headline  libcyaml's
 * @param path      of the field, "gpus[1].type"; "" at the top */
static void yaml_remedy(const char *headline, const char *path, const cyaml_schema_value_t *schema,
			char *out, size_t size)
{
	const cyaml_schema_value_t *v = schema_at(schema, path);
	char value[128];

	if (behind(headline, "Unexpected key: ", value)) {
		snprintf(out, size, "there is no field \"%s\"", value);
		yaml_add_keys(v, "; there are: ", out, size);
	} else if (behind(headline, "Missing required mapping field: ", value)) {
		snprintf(out, size, "the field \"%s\" is missing", value);
		yaml_add_keys(v, "; fields are: ", out, size);
	} else if (behind(headline, "Mapping field already seen: ", value)) {
		snprintf(out, size, "the field \"%s\" is given twice; leave one out", value);
	} else if (behind(headline, "Invalid ENUM value: ", value)) {
		choices(v, value, out, size);
	} else if (behind(headline, "Invalid uint64_t value: ", value) ||
		   behind(headline, "Invalid UINT value: ", value) ||
		   behind(headline, "Invalid INT value: ", value) ||
		   behind(headline, "Invalid FLOAT value: ", value) ||
		   behind(headline, "FLOAT overflow: ", value) ||
		   behind(headline, "FLOAT underflow: ", value)) {
		number(v, value, out, size);
	} else if (!remedy_form(headline, out, size)) {
		snprintf(out, size, "%s", headline);
	}
}

/* --- documents --- */

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
