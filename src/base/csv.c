/*
 * csv.c - read CSV as a stream, through zlib; see csv.h.
 */
#include "base/csv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/num.h"

struct hes_csv {
	gzFile gz;
	char *path;
	size_t line; /* of the row in hand */
	size_t next_line;
	char *header; /* text behind names */
	char *names[HES_CSV_MAX_COLUMNS];
	size_t n_names;
	char *fields[HES_CSV_MAX_COLUMNS];
	size_t n_fields;
	size_t len; /* bytes of the row in hand */
	char row[HES_CSV_MAX_ROW];
	char in[1 << 16];
	size_t in_at, in_len;
	uint64_t bytes, max_bytes; /* unpacked */
	size_t blank;              /* lines without anything */
};

int hes_csv_fail(const struct hes_csv *c, struct hes_err *err, int code, const char *fmt, ...)
{
	char msg[HES_ERR_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	return hes_fail(err, code, "%s:%zu: %s", c->path, c->line, msg);
}

/* Next byte, -1 at the end, -2 on a read error, -3 beyond the bound. */
static int next_byte(struct hes_csv *c)
{
	if (c->in_at == c->in_len) {
		int got = gzread(c->gz, c->in, sizeof(c->in));

		if (got < 0)
			return -2;
		if (got == 0)
			return -1;
		c->bytes += (uint64_t)got;
		if (c->bytes > c->max_bytes)
			return -3;
		c->in_at = 0;
		c->in_len = (size_t)got;
	}
	return (unsigned char)c->in[c->in_at++];
}

static int read_failed(struct hes_csv *c, struct hes_err *err)
{
	int zerr;
	const char *why = gzerror(c->gz, &zerr);

	if (zerr == Z_ERRNO) /* the system's: of no line */
		return hes_fail(err, -errno, "%s: %s", c->path, strerror(errno));
	return hes_csv_fail(c, err, -EIO, "%s", zerr == Z_BUF_ERROR ? "truncated gzip file" : why);
}

/* Read bytes of one record into c->row, quotes kept; a quoted newline does not end it. */
static int read_record(struct hes_csv *c, struct hes_err *err)
{
	bool quoted = false;
	int ch;

	c->len = 0;
	c->line = c->next_line;
	while ((ch = next_byte(c)) >= 0) {
		if (ch == '\n')
			c->next_line++;
		if (ch == '\n' && !quoted)
			break;
		if (ch == '\0')
			return hes_csv_fail(c, err, -EINVAL, "a NUL byte; this is not a text file");
		if (ch == '"')
			quoted = !quoted;
		if (c->len + 1 >= sizeof(c->row))
			return hes_csv_fail(c, err, -E2BIG, "row longer than %d bytes",
					    HES_CSV_MAX_ROW);
		c->row[c->len++] = (char)ch;
	}
	if (ch == -2)
		return read_failed(c, err);
	if (ch == -3)
		return hes_csv_fail(c, err, -EFBIG,
				    "more than %" PRIu64 " MiB, unpacked; no file of this kind has",
				    c->max_bytes >> 20);
	if (ch == -1) {
		int zerr;

		gzerror(c->gz, &zerr);
		if (zerr != Z_OK && zerr != Z_STREAM_END)
			return read_failed(c, err);
		if (quoted)
			return hes_csv_fail(c, err, -EINVAL, "a quoted field is never closed");
		if (c->len == 0)
			return 0;
	}
	if (c->len && c->row[c->len - 1] == '\r')
		c->len--;
	c->row[c->len] = '\0';
	return 1;
}

/* One field starting at *s, unquoted in place; *s moves behind its comma, or to NULL. */
static char *split_field(char **s)
{
	char *start = *s, *to = *s, *p = *s;
	bool quoted = false;

	for (; *p && (quoted || *p != ','); p++) {
		if (*p != '"')
			*to++ = *p;
		else if (quoted && p[1] == '"')
			*to++ = *p++;
		else
			quoted = !quoted;
	}
	*s = *p ? p + 1 : NULL;
	*to = '\0';
	return start;
}

static int split(struct hes_csv *c, char *text, char **fields, size_t *n, struct hes_err *err)
{
	char *s = text;

	*n = 0;
	while (s) {
		if (*n == HES_CSV_MAX_COLUMNS)
			return hes_csv_fail(c, err, -E2BIG, "more than %d columns",
					    HES_CSV_MAX_COLUMNS);
		fields[(*n)++] = split_field(&s);
	}
	return 0;
}

static int read_header(struct hes_csv *c, struct hes_err *err)
{
	static const char bom[] = "\xef\xbb\xbf";
	int rc = read_record(c, err);

	if (rc < 0)
		return rc;
	if (rc == 0 || c->len == 0)
		return hes_fail(err, -EINVAL, "%s: empty file; a header row is needed", c->path);
	c->header = strdup(strncmp(c->row, bom, 3) ? c->row : c->row + 3);
	if (!c->header)
		return hes_fail(err, -ENOMEM, "%s: out of memory", c->path);
	return split(c, c->header, c->names, &c->n_names, err);
}

int hes_csv_open(const char *path, struct hes_csv **out, struct hes_err *err)
{
	struct hes_csv *c = calloc(1, sizeof(*c));
	int rc = -ENOMEM;

	if (!c || !(c->path = strdup(path))) {
		free(c);
		return hes_fail(err, -ENOMEM, "%s: out of memory", path);
	}
	c->next_line = 1;
	c->max_bytes = HES_CSV_MAX_BYTES;
	errno = 0;
	c->gz = gzopen(path, "re");
	if (!c->gz) {
		rc = hes_fail(err, errno ? -errno : -ENOMEM, "%s: %s", path,
			      strerror(errno ? errno : ENOMEM));
		hes_csv_close(c);
		return rc;
	}
	rc = read_header(c, err);
	if (rc) {
		hes_csv_close(c);
		return rc;
	}
	*out = c;
	return 0;
}

void hes_csv_bound(struct hes_csv *c, uint64_t max_bytes)
{
	c->max_bytes = max_bytes;
}

void hes_csv_close(struct hes_csv *c)
{
	if (!c)
		return;
	if (c->gz)
		gzclose(c->gz);
	free(c->header);
	free(c->path);
	free(c);
}

size_t hes_csv_columns(const struct hes_csv *c)
{
	return c->n_names;
}

const char *hes_csv_column_name(const struct hes_csv *c, size_t column)
{
	return c->names[column];
}

int hes_csv_find(const struct hes_csv *c, const char *name)
{
	for (size_t i = 0; i < c->n_names; i++)
		if (strcmp(c->names[i], name) == 0)
			return (int)i;
	return -1;
}

int hes_csv_column(const struct hes_csv *c, const char *name, struct hes_err *err)
{
	int i = hes_csv_find(c, name);
	const bool otherwise = c->n_names == 1 && strpbrk(c->names[0], ";\t");
	char have[256] = "";
	size_t at = 0;

	if (i >= 0)
		return i;
	for (size_t k = 0; k < c->n_names && at < sizeof(have); k++)
		at += (size_t)snprintf(have + at, sizeof(have) - at, "%s%.40s", k ? ", " : "",
				       c->names[k]);
	return hes_fail(err, -ENOENT, "%s:1: no column \"%s\"; there are: %s%s", c->path, name,
			have, otherwise ? "; columns are separated by commas" : "");
}

int hes_csv_next(struct hes_csv *c, struct hes_err *err)
{
	int rc;

	while ((rc = read_record(c, err)) == 1 && c->len == 0)
		if (++c->blank > HES_CSV_MAX_BLANK)
			return hes_csv_fail(c, err, -E2BIG, "more than %d blank lines",
					    HES_CSV_MAX_BLANK);
	if (rc <= 0)
		return rc;
	rc = split(c, c->row, c->fields, &c->n_fields, err);
	if (rc)
		return rc;
	if (c->n_fields != c->n_names)
		return hes_csv_fail(c, err, -EINVAL, "%zu fields where the header has %zu",
				    c->n_fields, c->n_names);
	return 1;
}

size_t hes_csv_line(const struct hes_csv *c)
{
	return c->line;
}

const char *hes_csv_path(const struct hes_csv *c)
{
	return c->path;
}

const char *hes_csv_text(const struct hes_csv *c, int column)
{
	return column >= 0 && (size_t)column < c->n_fields ? c->fields[column] : "";
}

static int in_row(const struct hes_csv *c, int rc, struct hes_err *err)
{
	if (rc)
		hes_fail_in(err, "%s:%zu", c->path, c->line);
	return rc;
}

int hes_csv_double(const struct hes_csv *c, int column, double min, double max, double *out,
		   struct hes_err *err)
{
	return in_row(
		c, hes_parse_double(c->names[column], hes_csv_text(c, column), min, max, out, err),
		err);
}

int hes_csv_u64(const struct hes_csv *c, int column, uint64_t min, uint64_t max, uint64_t *out,
		struct hes_err *err)
{
	return in_row(c,
		      hes_parse_u64(c->names[column], hes_csv_text(c, column), min, max, out, err),
		      err);
}

int hes_csv_u32(const struct hes_csv *c, int column, uint32_t min, uint32_t max, uint32_t *out,
		struct hes_err *err)
{
	return in_row(c,
		      hes_parse_u32(c->names[column], hes_csv_text(c, column), min, max, out, err),
		      err);
}

int hes_csv_seconds(const struct hes_csv *c, int column, int64_t *out_us, struct hes_err *err)
{
	return in_row(c, hes_parse_seconds(c->names[column], hes_csv_text(c, column), out_us, err),
		      err);
}

void hes_csv_put(FILE *f, const char *text)
{
	if (!strpbrk(text, ",\"\n\r")) {
		fputs(text, f);
		return;
	}
	fputc('"', f);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', f);
		fputc(*text, f);
	}
	fputc('"', f);
}
