/*
 * json.c - read JSON with bounds; see json.h.
 */
#include "base/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

/* Memory that jansson 2.14 needs on a 64-bit machine, rounded up. Other values cost at most the
 * bytes counted for their comma or colon. */
#define OBJECT_BYTES 240
#define LIST_BYTES   144
#define TEXT_BYTES   104 /* and its characters; a key too */
#define VALUE_BYTES  48

/* @return the text's end: behind its second quote, or @end */
static const char *skip_text(const char *at, const char *end)
{
	for (at++; at < end && *at != '"'; at++)
		if (*at == '\\')
			at++;
	return at < end ? at + 1 : end;
}

/* An upper estimate of what the parsed text takes. */
static size_t memory_of(const char *text, size_t len)
{
	const char *end = text + len, *at = text;
	size_t bytes = 0;

	while (at < end) {
		const char *from = at;

		switch (*at++) {
		case '"':
			at = skip_text(from, end);
			bytes += TEXT_BYTES + (size_t)(at - from);
			break;
		case '{':
			bytes += OBJECT_BYTES;
			break;
		case '[':
			bytes += LIST_BYTES;
			break;
		case ',':
		case ':':
			bytes += VALUE_BYTES;
			break;
		default:
			break;
		}
	}
	return bytes;
}

int hes_json_parse(const char *name, const char *text, size_t len, json_t **out,
		   struct hes_err *err)
{
	json_error_t bad;
	json_t *doc;

	if (memory_of(text, len) > HES_JSON_MAX_MEMORY)
		return hes_fail(err, -EFBIG, "%s: its JSON would take more than %zu GiB of memory",
				name, HES_JSON_MAX_MEMORY >> 30);
	doc = json_loadb(text, len, JSON_REJECT_DUPLICATES, &bad);
	/* Mostly jansson then fails without a word. */
	if (!doc && (!bad.text[0] || json_error_code(&bad) == json_error_out_of_memory))
		return hes_fail(err, -ENOMEM, "%s: out of memory", name);
	if (!doc)
		return hes_fail(err, -EINVAL, "%s:%d: not JSON: %s", name, bad.line, bad.text);
	*out = doc;
	return 0;
}

int hes_json_load(const char *path, size_t max_bytes, json_t **out, struct hes_err *err)
{
	char *text;
	size_t len;
	int rc = hes_file_slurp(path, max_bytes, &text, &len, err);

	if (rc)
		return rc;
	rc = hes_json_parse(path, text, len, out, err);
	free(text);
	return rc;
}

/* Of a document that lost a member, or has one under another name, since version 1. */
static int document_version(const char *format)
{
	static const char *const second[] = { "heshare-measure", "heshare-profiles-import",
					      "heshare-profiles-list" };

	for (size_t i = 0; i < sizeof(second) / sizeof(second[0]); i++)
		if (!strcmp(format, second[i]))
			return 2;
	return 1;
}

json_t *hes_json_document(const char *format, json_t *members)
{
	json_t *doc = members ? json_pack("{s:s, s:i}", "format", format, "version",
					  document_version(format))
			      : NULL;

	if (doc && json_object_update(doc, members)) {
		json_decref(doc);
		doc = NULL;
	}
	json_decref(members);
	return doc;
}
