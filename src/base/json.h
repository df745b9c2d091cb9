/*
 * json.h - read JSON documents with bounds on size and memory.
 *
 * A JSON tree takes many times the bytes of its text: "{}," takes 232 bytes. So the memory is
 * estimated from the text before it is parsed.
 */
#ifndef HES_BASE_JSON_H
#define HES_BASE_JSON_H

#include <jansson.h>
#include <stddef.h>

#include "heshare/err.h"

#define HES_JSON_MAX_MEMORY ((size_t)4 << 30) /* of a document's tree, estimated */

/**
 * A document from a file, plain or .gz, of at most @max_bytes unpacked. Keys that are there twice
 * are refused.
 * @return 0; -EFBIG above a bound; -EINVAL not JSON; -errno
 */
int hes_json_load(const char *path, size_t max_bytes, json_t **out, struct hes_err *err);
/** The same from a text. @param name  of the document, in errors */
int hes_json_parse(const char *name, const char *text, size_t len, json_t **out,
		   struct hes_err *err);

/**
 * A document to write: "format", "version", then the members of @members, whose reference it takes.
 * docs/formats describes each format.
 * @return NULL where @members is NULL, or without memory
 */
json_t *hes_json_document(const char *format, json_t *members);

#endif
