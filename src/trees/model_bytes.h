/*
 * model_bytes.h - little-endian bytes behind a line that names their format: the
 * body of model files.
 *
 * A file is "heshare NOUN VERSION\n", the body's length (8 bytes), its CRC-32
 * (4 bytes), the body. Writers only append; readers run dry without harm, so
 * that both check for failure once, at the end.
 */
#ifndef HES_TREES_MODEL_BYTES_H
#define HES_TREES_MODEL_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heshare/err.h"

/** A growing body; zeroed to begin with, free(v) to end. @failed once memory ran out. */
struct block {
	unsigned char *v;
	size_t         n, room;
	bool           failed;
};

void block_put_u64(struct block *b, uint64_t x, size_t bytes);
void block_put_f32(struct block *b, float x);
void block_put_f64(struct block *b, double x);
/** At most 255 bytes. */
void block_put_text(struct block *b, const char *text);

/** CRC-32 of a body that has not failed: the one in its file's header. */
uint32_t block_checksum(const struct block *b);

int  block_save(const char *path, const char *noun, uint32_t version, const struct block *b,
		struct hes_err *err);

/** Bytes still to be read. A read past the end gives 0 and sets @bad, as do readers that find a wrong value. */
struct block_reader {
	const char          *path; /* for messages */
	const unsigned char *v;
	size_t               n;
	bool                 bad;
};

uint64_t block_get_u64(struct block_reader *r, size_t bytes);
uint32_t block_get_u32(struct block_reader *r);
float    block_get_f32(struct block_reader *r);
double   block_get_f64(struct block_reader *r);
/** Well-formed UTF-8 of fewer than @room bytes, NUL-terminated in @out. */
void     block_get_text(struct block_reader *r, char *out, size_t room);

/**
 * Read a file and check its line, length and CRC.
 * @param oldest  version that is read, and @newest
 * @param bytes  what @out points into; free() it
 * @return 0; -EINVAL another format, a newer version, or damaged; -errno
 */
int block_load(const char *path, const char *noun, uint32_t oldest, uint32_t newest, char **bytes,
	       struct block_reader *out, struct hes_err *err);

#endif
