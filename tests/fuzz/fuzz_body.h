/*
 * fuzz_body.h - the fuzzer of a model file (docs/formats/model.md). It writes
 * what stands behind the header; the header with its right checksum is put
 * before it here, for a fuzzer cannot guess one.
 */
#ifndef HES_FUZZ_BODY_H
#define HES_FUZZ_BODY_H

#include <string.h>
#include <zlib.h>

#include "fuzz_loader.h"

static inline void fuzz_put(uint8_t *to, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		to[i] = (uint8_t)(v >> 8 * i);
}

/**
 * @param line  the file's first one
 * @param load  as fuzz_loader()'s
 * @return 0, for libFuzzer
 */
static inline int fuzz_body(const uint8_t *data, size_t len, const char *line,
			    int (*load)(const char *path, struct hes_err *err))
{
	size_t head = strlen(line);
	uint8_t *file = malloc(head + 12 + len);

	if (!file)
		return 0;
	memcpy(file, line, head);
	fuzz_put(file + head, len, 8);
	fuzz_put(file + head + 8, crc32_z(0, data, len), 4);
	if (len)
		memcpy(file + head + 12, data, len);
	fuzz_loader(file, head + 12 + len, "", load);
	free(file);
	return 0;
}

#endif
