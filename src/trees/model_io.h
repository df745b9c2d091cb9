/*
 * model_io.h - model files: a line that names the format, then little-endian bytes.
 *
 * A file is "heshare NOUN VERSION\n", the length of the body (8 bytes), its CRC-32 (4 bytes), the
 * body. One function describes each part of a body, for writing and for reading: it passes all
 * values by model_io_*() in their order. When something was wrong, later calls do nothing.
 */
#ifndef HES_TREES_MODEL_IO_H
#define HES_TREES_MODEL_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heshare/err.h"

/** A body that is written or read; free(v) at last. */
struct model_io {
	const char *path; /* for messages */
	const char *part; /* of the body, for messages */
	bool reads;
	unsigned char *v;
	size_t n, at, room; /* at: read so far */
	int rc;             /* 0; -ENOMEM; -EINVAL a value is missing or wrong */
};

/** From now on, what is wrong is wrong with this part: "a constant". */
void model_io_part(struct model_io *io, const char *part);
/** When reading: something is wrong unless @right. */
void model_io_check(struct model_io *io, bool right);

void model_io_u64(struct model_io *io, uint64_t *x, size_t bytes);
void model_io_u32(struct model_io *io, uint32_t *x);
void model_io_f32(struct model_io *io, float *x);
/** Read only within a range, which NaN never is. */
void model_io_f64(struct model_io *io, double *x, double low, double high);
/** At most 255 bytes; read as UTF-8 of fewer than @room bytes. */
void model_io_text(struct model_io *io, char *text, size_t room);
/**
 * The number of members of an array.
 * @param v      the array when writing
 * @param size   bytes of a member
 * @param least  bytes in the file of a member at least, which limits what a wrong count allocates
 * @return @v; when reading, zeroed memory for *n members, to free(), or NULL
 */
void *model_io_array(struct model_io *io, void *v, size_t *n, size_t size, size_t least);

/** The sentence for what was wrong. @return io->rc */
int model_io_fail(const struct model_io *io, struct hes_err *err);

/** CRC-32 of a body that was written, as in the header of its file. */
uint32_t model_io_checksum(const struct model_io *io);
/** The file of a body that was written, in memory. @param out  free() it */
int model_pack(const char *noun, uint32_t version, const struct model_io *io, char **out, size_t *n,
	       struct hes_err *err);
int model_save(const char *path, const char *noun, uint32_t version, const struct model_io *io,
	       struct hes_err *err);

/** Check line, length and CRC of a file in memory, and begin to read its body, which is copied.
 * @return 0; -EINVAL another format or version, or damaged; -ENOMEM */
int model_unpack(const char *path, const char *bytes, size_t n, const char *noun, uint32_t version,
		 struct model_io *out, struct hes_err *err);
/** The same of a file. @return also -errno of reading it */
int model_load(const char *path, const char *noun, uint32_t version, struct model_io *out,
	       struct hes_err *err);

#endif
