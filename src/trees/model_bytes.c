/*
 * model_bytes.c - model files as little-endian bytes; see model_bytes.h.
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

static void put(struct model_writer *b, const void *bytes, size_t n)
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

void model_put_u64(struct model_writer *b, uint64_t x, size_t bytes)
{
	unsigned char le[8];

	for (size_t i = 0; i < 8; i++)
		le[i] = (unsigned char)(x >> 8 * i);
	put(b, le, bytes);
}

void model_put_f32(struct model_writer *b, float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	model_put_u64(b, bits, 4);
}

void model_put_f64(struct model_writer *b, double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	model_put_u64(b, bits, 8);
}

void model_put_text(struct model_writer *b, const char *text)
{
	model_put_u64(b, strlen(text), 1);
	put(b, text, strlen(text));
}

uint32_t model_checksum(const struct model_writer *b)
{
	return (uint32_t)crc32_z(0, b->v, b->n);
}

int model_pack(const char *noun, uint32_t version, const struct model_writer *b, char **out,
	       size_t *n, struct hes_err *err)
{
	struct model_writer all = { .failed = b->failed };
	char line[FIRST_LINE_MAX];

	snprintf(line, sizeof(line), "heshare %s %u\n", noun, version);
	put(&all, line, strlen(line));
	model_put_u64(&all, b->n, 8);
	model_put_u64(&all, b->failed ? 0 : model_checksum(b), 4);
	put(&all, b->v, b->n);
	if (all.failed) {
		free(all.v);
		return hes_fail(err, -ENOMEM, "out of memory for a %s", noun);
	}
	*out = (char *)all.v;
	*n = all.n;
	return 0;
}

int model_save(const char *path, const char *noun, uint32_t version, const struct model_writer *b,
	       struct hes_err *err)
{
	struct hes_file out;
	char *bytes = NULL;
	size_t n;
	int rc = model_pack(noun, version, b, &bytes, &n, err);

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

uint64_t model_get_u64(struct model_reader *r, size_t bytes)
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

uint32_t model_get_u32(struct model_reader *r)
{
	return (uint32_t)model_get_u64(r, 4);
}

float model_get_f32(struct model_reader *r)
{
	uint32_t bits = model_get_u32(r);
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

double model_get_f64(struct model_reader *r)
{
	uint64_t bits = model_get_u64(r, 8);
	double x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

double model_get_within(struct model_reader *r, double low, double high)
{
	double x = model_get_f64(r);

	r->bad |= !(x >= low && x <= high);
	return x;
}

void model_get_text(struct model_reader *r, char *out, size_t room)
{
	size_t len = (size_t)model_get_u64(r, 1);

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
static int read_line(const struct model_reader *r, const char *noun, uint32_t version, size_t *out,
		     struct hes_err *err)
{
	char line[FIRST_LINE_MAX + 1] = "", head[FIRST_LINE_MAX];
	const unsigned char *end =
		memchr(r->v, '\n', r->n < FIRST_LINE_MAX ? r->n : FIRST_LINE_MAX);
	size_t len = (size_t)snprintf(head, sizeof(head), "heshare %s ", noun);
	uint32_t has;

	if (end)
		memcpy(line, r->v, (size_t)(end - r->v));
	if (strncmp(line, head, len) ||
	    hes_parse_u32("version", line + len, 1, UINT32_MAX, &has, NULL))
		return hes_fail(err, -EINVAL, "%s: not a %s file: its first line is not \"%s%u\"",
				r->path, noun, head, version);
	if (has != version)
		return hes_fail(err, -EINVAL, "%s: version %u of %s files, this program reads %u%s",
				r->path, has, noun, version,
				has > version ? "; a newer heshare wrote it" : "");
	*out = (size_t)(end - r->v) + 1;
	return 0;
}

int model_unpack(struct model_reader *r, const char *noun, uint32_t version, struct hes_err *err)
{
	struct model_reader h = *r;
	uint64_t n;
	uint32_t crc;
	size_t line = 0;
	int rc = read_line(r, noun, version, &line, err);

	if (rc)
		return rc;
	h.v += line;
	h.n -= line;
	if (h.n < HEADER_LEN)
		return hes_fail(err, -EINVAL, "%s: damaged: it ends within its header", r->path);
	n = model_get_u64(&h, 8);
	crc = model_get_u32(&h);
	if (h.n != n)
		return hes_fail(err, -EINVAL, "%s: damaged: %zu bytes where the header says %llu",
				r->path, h.n, (unsigned long long)n);
	if (crc32_z(0, h.v, h.n) != crc)
		return hes_fail(err, -EINVAL, "%s: damaged: the checksum does not match", r->path);
	*r = h;
	return 0;
}

int model_load(const char *path, const char *noun, uint32_t version, char **bytes,
	       struct model_reader *out, struct hes_err *err)
{
	struct model_reader r = { .path = path };
	char *text = NULL;
	int rc = hes_file_slurp(path, MAX_BYTES, &text, &r.n, err);

	if (rc)
		return rc;
	r.v = (const unsigned char *)text;
	rc = model_unpack(&r, noun, version, err);
	if (rc) {
		free(text);
		return rc;
	}
	*bytes = text;
	*out = r;
	return 0;
}
