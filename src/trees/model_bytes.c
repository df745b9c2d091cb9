/*
 * model_bytes.c - little-endian bodies of model files; see block.h.
 */
#include "trees/model_bytes.h"

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

static void put(struct block *b, const void *bytes, size_t n)
{
	if (b->n + n > b->room && !b->failed) {
		size_t room = 2 * (b->room + n);
		unsigned char *v = realloc(b->v, room);

		b->failed = !v;
		b->v = v ? v : b->v;
		b->room = v ? room : b->room;
	}
	if (b->failed)
		return;
	memcpy(b->v + b->n, bytes, n);
	b->n += n;
}

void block_put_u64(struct block *b, uint64_t x, size_t bytes)
{
	unsigned char le[8];

	for (size_t i = 0; i < 8; i++)
		le[i] = (unsigned char)(x >> 8 * i);
	put(b, le, bytes);
}

void block_put_f32(struct block *b, float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	block_put_u64(b, bits, 4);
}

void block_put_f64(struct block *b, double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	block_put_u64(b, bits, 8);
}

void block_put_text(struct block *b, const char *text)
{
	block_put_u64(b, strlen(text), 1);
	put(b, text, strlen(text));
}

uint32_t block_checksum(const struct block *b)
{
	return (uint32_t)crc32_z(0, b->v, b->n);
}

int block_save(const char *path, const char *noun, uint32_t version, const struct block *b,
	       struct hes_err *err)
{
	struct block header = { 0 };
	struct hes_file out;
	int rc;

	block_put_u64(&header, b->n, 8);
	block_put_u64(&header, b->failed ? 0 : block_checksum(b), 4);
	rc = b->failed || header.failed ? hes_fail(err, -ENOMEM, "%s: out of memory", path)
					: hes_file_create(&out, path, err);
	if (!rc) {
		fprintf(out.f, "heshare %s %u\n", noun, version);
		fwrite(header.v, 1, header.n, out.f);
		fwrite(b->v, 1, b->n, out.f);
		rc = hes_file_commit(&out, err);
	}
	free(header.v);
	return rc;
}

uint64_t block_get_u64(struct block_reader *r, size_t bytes)
{
	uint64_t x = 0;

	if (r->n < bytes) {
		r->bad = true;
		return 0;
	}
	for (size_t i = 0; i < bytes; i++)
		x |= (uint64_t)r->v[i] << 8 * i;
	r->v += bytes;
	r->n -= bytes;
	return x;
}

uint32_t block_get_u32(struct block_reader *r)
{
	return (uint32_t)block_get_u64(r, 4);
}

float block_get_f32(struct block_reader *r)
{
	uint32_t bits = block_get_u32(r);
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

double block_get_f64(struct block_reader *r)
{
	uint64_t bits = block_get_u64(r, 8);
	double x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

void block_get_text(struct block_reader *r, char *out, size_t room)
{
	size_t len = (size_t)block_get_u64(r, 1);

	out[0] = '\0';
	if (len >= room || len > r->n || memchr(r->v, '\0', len)) {
		r->bad = true;
		return;
	}
	memcpy(out, r->v, len);
	out[len] = '\0';
	r->v += len;
	r->n -= len;
	r->bad |= !hes_is_utf8(out);
}

/* The line "heshare NOUN VERSION\n" that the file must begin with. @param out  its length */
static int read_line(const struct block_reader *r, const char *noun, uint32_t oldest, uint32_t newest,
		     size_t *out, struct hes_err *err)
{
	char line[FIRST_LINE_MAX + 1] = "", head[FIRST_LINE_MAX];
	const unsigned char *end = memchr(r->v, '\n', r->n < FIRST_LINE_MAX ? r->n : FIRST_LINE_MAX);
	size_t len = (size_t)snprintf(head, sizeof(head), "heshare %s ", noun);
	uint32_t has;

	if (end)
		memcpy(line, r->v, (size_t)(end - r->v));
	if (strncmp(line, head, len) || hes_parse_u32("version", line + len, 1, UINT32_MAX, &has, NULL))
		return hes_fail(err, -EINVAL, "%s: not a %s file: its first line is not \"%s%u\"", r->path, noun, head,
				newest);
	if (has < oldest || has > newest)
		return hes_fail(err, -EINVAL, "%s: version %u of %s files, this program reads %u%s", r->path, has, noun,
				newest, has > newest ? "; a newer heshare wrote it" : "");
	*out = (size_t)(end - r->v) + 1;
	return 0;
}

static int open_body(struct block_reader *r, const char *noun, uint32_t oldest, uint32_t newest, struct hes_err *err)
{
	struct block_reader h = *r;
	uint64_t n;
	uint32_t crc;
	size_t line = 0;
	int rc = read_line(r, noun, oldest, newest, &line, err);

	if (rc)
		return rc;
	h.v += line;
	h.n -= line;
	if (h.n < HEADER_LEN)
		return hes_fail(err, -EINVAL, "%s: damaged: it ends within its header", r->path);
	n = block_get_u64(&h, 8);
	crc = block_get_u32(&h);
	if (h.n != n)
		return hes_fail(err, -EINVAL, "%s: damaged: %zu bytes where the header says %llu", r->path, h.n,
				(unsigned long long)n);
	if (crc32_z(0, h.v, h.n) != crc)
		return hes_fail(err, -EINVAL, "%s: damaged: the checksum does not match", r->path);
	*r = h;
	return 0;
}

int block_load(const char *path, const char *noun, uint32_t oldest, uint32_t newest, char **bytes,
	       struct block_reader *out, struct hes_err *err)
{
	struct block_reader r = { .path = path };
	char *text = NULL;
	int rc = hes_file_slurp(path, MAX_BYTES, &text, &r.n, err);

	if (rc)
		return rc;
	r.v = (const unsigned char *)text;
	rc = open_body(&r, noun, oldest, newest, err);
	if (rc) {
		free(text);
		return rc;
	}
	*bytes = text;
	*out = r;
	return 0;
}
