/*
 * yaml_remedy.c - errors of libcyaml with a remedy, from the schema; see yaml_remedy.h.
 */
#include "base/yaml_remedy.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/texts.h"

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

void yaml_add_keys(const cyaml_schema_value_t *v, const char *intro, char *out, size_t size)
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

void yaml_remedy(const char *headline, const char *path, const cyaml_schema_value_t *schema,
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
