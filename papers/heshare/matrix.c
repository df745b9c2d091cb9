/*
 * matrix.c - numbers without a header, row by row over zlib; see matrix.h.
 */
#include "matrix.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/num.h"

struct reader {
	const char *path;
	double min, max;
	gzFile gz;
	char *line;
	size_t room, len, number; /* of the line in hand; number from 1 */
	struct hes_matrix m;
	size_t cells; /* room in m.v */
};

void hes_matrix_free(struct hes_matrix *m)
{
	free(m->v);
	*m = (struct hes_matrix){ 0 };
}

static int fail_memory(const struct reader *r, struct hes_err *err)
{
	return hes_fail(err, -ENOMEM, "%s: out of memory", r->path);
}

static int fail_gz(const struct reader *r, struct hes_err *err)
{
	int code, saved = errno;
	const char *why = gzerror(r->gz, &code);

	if (code == Z_ERRNO)
		return hes_fail(err, saved ? -saved : -EIO, "%s: %s", r->path,
				strerror(saved ? saved : EIO));
	return hes_fail(err, -EIO, "%s: %s", r->path,
			code == Z_BUF_ERROR ? "truncated gzip file" : why);
}

/* @return 1 a line is in hand, its end cut off; 0 end of file; negative errno */
static int next_line(struct reader *r, struct hes_err *err)
{
	int code;

	r->len = 0;
	r->number++;
	for (;;) {
		if (r->room - r->len < 2) {
			char *wider =
				r->room < HES_MATRIX_MAX_ROW ? realloc(r->line, 2 * r->room) : NULL;

			if (!wider && r->room >= HES_MATRIX_MAX_ROW)
				return hes_fail(err, -E2BIG, "%s:%zu: row longer than %zu bytes",
						r->path, r->number, HES_MATRIX_MAX_ROW);
			if (!wider)
				return fail_memory(r, err);
			r->line = wider;
			r->room *= 2;
		}
		if (!gzgets(r->gz, r->line + r->len, (int)(r->room - r->len)))
			break;
		r->len += strlen(r->line + r->len);
		if (r->len && r->line[r->len - 1] == '\n')
			break;
		if (r->room - r->len > 1 && !gzeof(r->gz))
			return hes_fail(err, -EINVAL, "%s:%zu: a NUL byte; this is not a text file",
					r->path, r->number);
	}
	gzerror(r->gz, &code);
	if (code != Z_OK && code != Z_STREAM_END)
		return fail_gz(r, err);
	if ((uint64_t)gztell(r->gz) > HES_MATRIX_MAX_BYTES)
		return hes_fail(err, -EFBIG,
				"%s:%zu: more than %" PRIu64
				" GiB, unpacked; no file of this kind has",
				r->path, r->number, HES_MATRIX_MAX_BYTES >> 30);
	if (r->len == 0)
		return 0;
	while (r->len && (r->line[r->len - 1] == '\n' || r->line[r->len - 1] == '\r'))
		r->line[--r->len] = '\0';
	return 1;
}

static size_t count_fields(const char *line)
{
	size_t n = 1;

	for (; (line = strchr(line, ',')); line++)
		n++;
	return n;
}

static int read_field(const struct reader *r, const char *text, size_t column, double *out,
		      struct hes_err *err)
{
	char what[32];

	if (text[strspn(text, " \t")] == '\0') {
		*out = NAN;
		return 0;
	}
	if (hes_parse_double("", text, r->min, r->max, out, NULL) == 0)
		return 0;
	snprintf(what, sizeof(what), "column %zu", column + 1);
	hes_parse_double(what, text, r->min, r->max, out, err);
	return hes_fail_in(err, "%s:%zu", r->path, r->number);
}

static int make_room(struct reader *r, struct hes_err *err)
{
	const size_t wanted = (r->m.rows + 1) * r->m.columns;
	size_t cells = r->cells ? r->cells : 1024;
	double *v;

	if (wanted > HES_MATRIX_MAX_CELLS)
		return hes_fail(err, -E2BIG, "%s:%zu: more than %zu numbers", r->path, r->number,
				HES_MATRIX_MAX_CELLS);
	if (wanted <= r->cells)
		return 0;
	while (cells < wanted)
		cells *= 2;
	cells = cells < HES_MATRIX_MAX_CELLS ? cells : HES_MATRIX_MAX_CELLS;
	v = reallocarray(r->m.v, cells, sizeof(*v));
	if (!v)
		return fail_memory(r, err);
	r->m.v = v;
	r->cells = cells;
	return 0;
}

static int read_row(struct reader *r, struct hes_err *err)
{
	size_t columns = count_fields(r->line);
	char *field = r->line, *end;
	int rc;

	if (r->m.rows == 0)
		r->m.columns = columns;
	if (columns != r->m.columns)
		return hes_fail(err, -EINVAL, "%s:%zu: %zu numbers where the rows before have %zu",
				r->path, r->number, columns, r->m.columns);
	rc = make_room(r, err);
	for (size_t i = 0; i < columns && !rc; i++, field = end + 1) {
		end = strchrnul(field, ',');
		*end = '\0';
		rc = read_field(r, field, i, &r->m.v[r->m.rows * columns + i], err);
	}
	r->m.rows += rc == 0;
	return rc;
}

static int read_rows(struct reader *r, struct hes_err *err)
{
	size_t blank = 0;
	int rc, bad = 0;

	while ((rc = next_line(r, err)) == 1 && !bad)
		if (r->len)
			bad = read_row(r, err);
		else if (++blank > HES_MATRIX_MAX_BLANK)
			bad = hes_fail(err, -E2BIG, "%s:%zu: more than %d blank lines", r->path,
				       r->number, HES_MATRIX_MAX_BLANK);
	if (bad || rc < 0)
		return bad ? bad : rc;
	return r->m.rows ? 0
			 : hes_fail(err, -EINVAL, "%s: empty file; rows of numbers are needed",
				    r->path);
}

int hes_matrix_read(const char *path, double min, double max, struct hes_matrix *out,
		    struct hes_err *err)
{
	struct reader r = { .path = path, .min = min, .max = max, .room = 1 << 16 };
	int rc;

	errno = 0;
	r.gz = gzopen(path, "re");
	if (!r.gz)
		return hes_fail(err, errno ? -errno : -ENOMEM, "%s: %s", path,
				strerror(errno ? errno : ENOMEM));
	gzbuffer(r.gz, 1 << 17);
	r.line = malloc(r.room);
	rc = r.line ? read_rows(&r, err) : fail_memory(&r, err);
	gzclose(r.gz);
	free(r.line);
	if (rc)
		hes_matrix_free(&r.m);
	else
		*out = r.m;
	return rc;
}
