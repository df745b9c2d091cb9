/*
 * fuzz_regressor.c - any block is a regressor that can be asked, or an error with a sentence.
 *
 * The fuzzer writes what stands behind the header; the header with its right
 * checksum is put before it here, for a fuzzer cannot guess one.
 */
#include <math.h>
#include <string.h>
#include <zlib.h>

#include "fuzz_regressor.h"

static const char magic[] = "heshare regressor 1\n";

static int load(const char *path, struct hes_err *err)
{
	struct hes_regressor *r;
	int rc = hes_regressor_load(path, &r, err);

	if (!rc)
		fuzz_ask(r);
	return rc;
}

static void put(uint8_t *to, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		to[i] = (uint8_t)(v >> 8 * i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	size_t head = sizeof(magic) - 1;
	uint8_t *file = malloc(head + 12 + len);

	if (!file)
		return 0;
	memcpy(file, magic, head);
	put(file + head, len, 8);
	put(file + head + 8, crc32_z(0, data, len), 4);
	memcpy(file + head + 12, data, len);
	fuzz_loader(file, head + 12 + len, "", load);
	free(file);
	return 0;
}
