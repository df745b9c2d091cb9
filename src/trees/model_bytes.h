/*
 * model_bytes.h - model files: a line that names the format, then little-endian bytes.
 *
 * A file is "heshare NOUN VERSION\n", the length of the body (8 bytes), its CRC-32 (4 bytes), the
 * body. Writers only append, and a read past the end is harmless, so both check for failure once,
 * at the end.
 */
#ifndef HES_TREES_MODEL_BYTES_H
#define HES_TREES_MODEL_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heshare/err.h"

/** A body that grows. Zero it first, free(v) at last. @failed: memory ran out */
struct model_writer {
	unsigned char *v;
	size_t n, room;
	bool failed;
};

void model_put_u64(struct model_writer *b, uint64_t x, size_t bytes);
void model_put_f32(struct model_writer *b, float x);
void model_put_f64(struct model_writer *b, double x);
/** At most 255 bytes. */
void model_put_text(struct model_writer *b, const char *text);

/** CRC-32 of a body that has not failed, as in the header of its file. */
uint32_t model_checksum(const struct model_writer *b);

/** The file in memory. @param out  free() it */
int model_pack(const char *noun, uint32_t version, const struct model_writer *b, char **out,
	       size_t *n, struct hes_err *err);
int model_save(const char *path, const char *noun, uint32_t version, const struct model_writer *b,
	       struct hes_err *err);

/** Bytes that remain. A read past the end returns 0 and sets @bad; readers set it for a wrong
 * value. */
struct model_reader {
	const char *path; /* for messages */
	const unsigned char *v;
	size_t n;
	bool bad;
};

uint64_t model_get_u64(struct model_reader *r, size_t bytes);
uint32_t model_get_u32(struct model_reader *r);
float model_get_f32(struct model_reader *r);
double model_get_f64(struct model_reader *r);
/** A number within a range, which NaN never is; others set @bad. */
double model_get_within(struct model_reader *r, double low, double high);
/** Well-formed UTF-8 of fewer than @room bytes, NUL-terminated in @out. */
void model_get_text(struct model_reader *r, char *out, size_t room);

/** Check line, length and CRC of the file that @r has in memory. On success @r is its body. @return
 * 0; -EINVAL another format or version, or damaged */
int model_unpack(struct model_reader *r, const char *noun, uint32_t version, struct hes_err *err);

/**
 * Read a file and check its line, length and CRC.
 * @param version  the one that is read
 * @param bytes    what @out points into; free() it
 * @return 0; -EINVAL another format or version, or damaged; -errno
 */
int model_load(const char *path, const char *noun, uint32_t version, char **bytes,
	       struct model_reader *out, struct hes_err *err);

#endif
