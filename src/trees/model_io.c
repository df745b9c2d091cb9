/*
 * model_io.c - model files as little-endian bytes; see model_io.h.
 */
#include "trees/model_io.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/file.h"
#include "base/num.h"
#include "base/utf8.h"

#define MAX_BYTES      ((size_t)1 << 32)
#define FIRST_LINE_MAX 64
#define HEADER_LEN     12 /* behind the line: the body's length and CRC */

void model_io_part(struct model_io *io, const char *part)
{
	if (!io->rc)
		io->part = part;
}

void model_io_check(struct model_io *io, bool right)
{
	if (io->reads && !right && !io->rc)
		io->rc = -EINVAL;
}

static void io_bytes(struct model_io *io, void *bytes, size_t n)
{
	if (io->reads) {
		model_io_check(io, io->n - io->at >= n);
		if (!io->rc)
			memcpy(bytes, io->v + io->at, n);
		io->at += io->rc ? 0 : n;
		return;
	}
	if (io->n + n > io->room && !io->rc) {
		size_t room = 2 * (io->room + n);
		unsigned char *v = realloc(io->v, room);

		if (!v) {
			io->rc = -ENOMEM;
			return;
		}
		io->v = v;
		io->room = room;
	}
	if (io->rc)
		return;
	memcpy(io->v + io->n, bytes, n);
	io->n += n;
}

void model_io_u64(struct model_io *io, uint64_t *x, size_t bytes)
{
	unsigned char le[8] = { 0 };

	for (size_t i = 0; i < bytes; i++)
		le[i] = (unsigned char)(*x >> 8 * i);
	io_bytes(io, le, bytes);
	if (!io->reads)
		return;
	*x = 0;
	for (size_t i = 0; i < bytes && !io->rc; i++)
		*x |= (uint64_t)le[i] << 8 * i;
}

void model_io_u32(struct model_io *io, uint32_t *x)
{
	uint64_t wide = *x;

	model_io_u64(io, &wide, 4);
	*x = (uint32_t)wide;
}

void model_io_f32(struct model_io *io, float *x)
{
	uint32_t bits;

	memcpy(&bits, x, sizeof(bits));
	model_io_u32(io, &bits);
	memcpy(x, &bits, sizeof(bits));
}

void model_io_f64(struct model_io *io, double *x, double low, double high)
{
	uint64_t bits;

	memcpy(&bits, x, sizeof(bits));
	model_io_u64(io, &bits, 8);
	memcpy(x, &bits, sizeof(bits));
	model_io_check(io, *x >= low && *x <= high);
}

void model_io_text(struct model_io *io, char *text, size_t room)
{
	uint64_t len = io->reads ? 0 : strlen(text);

	model_io_u64(io, &len, 1);
	model_io_check(io, len < room);
	if (!io->rc)
		io_bytes(io, text, len);
	if (!io->reads)
		return;
	text[io->rc ? 0 : len] = '\0';
	model_io_check(io, strlen(text) == len && hes_is_utf8(text));
}

void *model_io_array(struct model_io *io, void *v, size_t *n, size_t size, size_t least)
{
	uint64_t count = *n;

	model_io_u64(io, &count, 4);
	if (!io->reads)
		return v;
	model_io_check(io, count <= (io->n - io->at) / least);
	v = io->rc ? NULL : calloc(count + 1, size);
	if (!v && !io->rc)
		io->rc = -ENOMEM;
	*n = v ? count : 0;
	return v;
}

int model_io_fail(const struct model_io *io, struct hes_err *err)
{
	if (io->rc == -ENOMEM)
		return hes_fail(err, io->rc, "%s: out of memory", io->path);
	return hes_fail(err, io->rc,
			"%s: not sound, though its checksum is right: %s is missing or out of its "
			"range",
			io->path, io->part);
}

uint32_t model_io_checksum(const struct model_io *io)
{
	return (uint32_t)crc32_z(0, io->v, io->n);
}

int model_pack(const char *noun, uint32_t version, const struct model_io *io, char **out, size_t *n,
	       struct hes_err *err)
{
	struct model_io all = { .path = noun, .rc = io->rc };
	char line[FIRST_LINE_MAX];
	uint64_t length = io->n;
	uint32_t crc = io->rc ? 0 : model_io_checksum(io);

	snprintf(line, sizeof(line), "heshare %s %u\n", noun, version);
	io_bytes(&all, line, strlen(line));
	model_io_u64(&all, &length, 8);
	model_io_u32(&all, &crc);
	io_bytes(&all, io->v, io->n);
	if (all.rc) {
		free(all.v);
		return model_io_fail(&all, err);
	}
	*out = (char *)all.v;
	*n = all.n;
	return 0;
}

int model_save(const char *path, const char *noun, uint32_t version, const struct model_io *io,
	       struct hes_err *err)
{
	struct hes_file out;
	char *bytes = NULL;
	size_t n;
	int rc = model_pack(noun, version, io, &bytes, &n, err);

	if (rc)
		return hes_fail_in(err, "%s", path);
	rc = hes_file_create(&out, path, err);
	if (!rc) {
		fwrite(bytes, 1, n, out.f);
		rc = hes_file_commit(&out, err);
	}
	free(bytes);
	return rc;
}

/* The line "heshare NOUN VERSION\n" that the file must begin with. @param out  its length */
static int check_line(const struct model_io *io, const char *noun, uint32_t version, size_t *out,
		      struct hes_err *err)
{
	char line[FIRST_LINE_MAX + 1] = "", head[FIRST_LINE_MAX];
	const unsigned char *end =
		memchr(io->v, '\n', io->n < FIRST_LINE_MAX ? io->n : FIRST_LINE_MAX);
	size_t len = (size_t)snprintf(head, sizeof(head), "heshare %s ", noun);
	uint32_t has;

	if (end)
		memcpy(line, io->v, (size_t)(end - io->v));
	if (strncmp(line, head, len) ||
	    hes_parse_u32("version", line + len, 1, UINT32_MAX, &has, NULL))
		return hes_fail(err, -EINVAL, "%s: not a %s file: its first line is not \"%s%u\"",
				io->path, noun, head, version);
	if (has != version)
		return hes_fail(err, -EINVAL, "%s: version %u of %s files, this program reads %u%s",
				io->path, has, noun, version,
				has > version ? "; a newer heshare wrote it"
					      : "; train it again with heshare train");
	*out = (size_t)(end - io->v) + 1;
	return 0;
}

/* Check what is in front of the body, and move behind it. */
static int check_header(struct model_io *io, const char *noun, uint32_t version,
			struct hes_err *err)
{
	uint64_t n = 0;
	uint32_t crc = 0;
	int rc = check_line(io, noun, version, &io->at, err);

	if (rc)
		return rc;
	if (io->n - io->at < HEADER_LEN)
		return hes_fail(err, -EINVAL, "%s: damaged: it ends within its header", io->path);
	model_io_u64(io, &n, 8);
	model_io_u32(io, &crc);
	if (io->n - io->at != n)
		return hes_fail(err, -EINVAL, "%s: damaged: %zu bytes where the header says %llu",
				io->path, io->n - io->at, (unsigned long long)n);
	if (crc32_z(0, io->v + io->at, n) != crc)
		return hes_fail(err, -EINVAL, "%s: damaged: the checksum does not match", io->path);
	return 0;
}

int model_unpack(const char *path, const char *bytes, size_t n, const char *noun, uint32_t version,
		 struct model_io *out, struct hes_err *err)
{
	struct model_io io = { .path = path, .reads = true, .v = malloc(n + 1), .n = n };
	int rc = io.v ? 0 : hes_fail(err, -ENOMEM, "%s: out of memory", path);

	if (!rc) {
		memcpy(io.v, bytes, n);
		rc = check_header(&io, noun, version, err);
	}
	if (rc)
		free(io.v);
	else
		*out = io;
	return rc;
}

int model_load(const char *path, const char *noun, uint32_t version, struct model_io *out,
	       struct hes_err *err)
{
	char *bytes = NULL;
	size_t n;
	int rc = hes_file_slurp(path, MAX_BYTES, &bytes, &n, err);

	if (rc)
		return rc;
	rc = model_unpack(path, bytes, n, noun, version, out, err);
	free(bytes);
	return rc;
}
