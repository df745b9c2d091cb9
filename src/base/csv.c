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
#include "base/texts.h"

#define SEPARATORS ",;|\t"

struct hes_csv {
	gzFile gz;
	char *path;
	char separator;   /* 0: not known before the first row is read */
	bool log;         /* opened by hes_csv_open_log */
	bool unnamed;     /* the first row is no header */
	bool first_again; /* the next row is the first one */
	size_t line;      /* of the row in hand */
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
	char numbered[HES_CSV_MAX_COLUMNS][sizeof("column 1024")];
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

static bool separates(const struct hes_csv *c, char ch)
{
	return c->separator ? ch == c->separator : strchr(SEPARATORS, ch) != NULL;
}

/* Whether a quote that comes after @len bytes of a row begins a quoted field. */
static bool begins_field(const struct hes_csv *c, const char *row, size_t len)
{
	while (len && row[len - 1] == ' ')
		len--;
	return len == 0 || separates(c, row[len - 1]);
}

/* Programs that separate by bars or tabs do not quote: a quote may be part of a name. */
static bool one_line(const struct hes_csv *c)
{
	return c->log && (c->separator == '|' || c->separator == '\t');
}

/* Whether a field that begins with the quote at @p ends with one. */
static bool is_closed(const struct hes_csv *c, const char *p)
{
	if (!one_line(c))
		return true;
	for (p++; *p; p++)
		if (*p == '"' && *++p != '"')
			return !p[strspn(p, " ")] || p[strspn(p, " ")] == c->separator;
	return false;
}

/* Read bytes of one record into c->row, quotes kept; a quoted newline does not end it. */
static int read_record(struct hes_csv *c, struct hes_err *err)
{
	bool quoted = false, closed = false; /* closed: the byte before closed a quoted field */
	int ch;

	c->len = 0;
	c->line = c->next_line;
	while ((ch = next_byte(c)) >= 0) {
		const bool was_closed = closed;

		if (ch == '\n')
			c->next_line++;
		if (ch == '\n' && !quoted)
			break;
		if (ch == '\0')
			return hes_csv_fail(c, err, -EINVAL, "a NUL byte; this is not a text file");
		closed = ch == '"' && quoted;
		if (ch == '"' && !one_line(c) &&
		    (quoted || was_closed || begins_field(c, c->row, c->len)))
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

/* One field starting at *s, unquoted in place; *s moves behind its separator, or to NULL. */
static char *split_field(const struct hes_csv *c, char **s)
{
	char *start = *s, *to = *s, *p = *s;
	bool quoted = false;

	for (; *p && (quoted || *p != c->separator); p++) {
		if (*p != '"')
			*to++ = *p;
		else if (quoted && p[1] == '"')
			*to++ = *p++;
		else if (quoted || (begins_field(c, *s, (size_t)(p - *s)) && is_closed(c, p)))
			quoted = !quoted;
		else
			*to++ = *p;
	}
	*s = *p ? p + 1 : NULL;
	while (c->log && to > start && to[-1] == ' ')
		to--;
	*to = '\0';
	return start + (c->log ? strspn(start, " ") : 0);
}

static int split(struct hes_csv *c, char *text, char **fields, size_t *n, struct hes_err *err)
{
	char *s = text;

	*n = 0;
	while (s) {
		if (*n == HES_CSV_MAX_COLUMNS)
			return hes_csv_fail(c, err, -E2BIG, "more than %d columns",
					    HES_CSV_MAX_COLUMNS);
		fields[(*n)++] = split_field(c, &s);
	}
	return 0;
}

/* The separator that the first row has most of. */
static char find_separator(const char *row)
{
	size_t counts[sizeof(SEPARATORS)] = { 0 }, best = 0;
	bool quoted = false;

	for (; *row; row++) {
		const char *at = strchr(SEPARATORS, *row);

		quoted ^= *row == '"';
		if (at && !quoted)
			counts[at - SEPARATORS]++;
	}
	for (size_t i = 1; SEPARATORS[i]; i++)
		best = counts[i] > counts[best] ? i : best;
	return SEPARATORS[best];
}

static int read_header(struct hes_csv *c, struct hes_err *err)
{
	static const char bom[] = "\xef\xbb\xbf";
	int rc;

	do
		rc = read_record(c, err);
	while (rc > 0 && c->len == 0);
	if (rc < 0)
		return rc;
	if (rc == 0)
		return hes_fail(err, -EINVAL, "%s: empty file; a header row is needed", c->path);
	c->header = strdup(strncmp(c->row, bom, 3) ? c->row : c->row + 3);
	if (!c->header)
		return hes_fail(err, -ENOMEM, "%s: out of memory", c->path);
	if (!c->separator)
		c->separator = find_separator(c->header);
	rc = split(c, c->header, c->names, &c->n_names, err);
	if (!rc && c->log && c->n_names > 1 && !*c->names[c->n_names - 1])
		c->n_names--;
	for (size_t i = 0; i < c->n_names && !rc && !c->log; i++)
		if (*c->names[i] && hes_csv_find(c, c->names[i]) != (int)i)
			rc = hes_fail(err, -EEXIST, "%s:1: column \"%.60s\" is there twice",
				      c->path, c->names[i]);
	return rc;
}

static int csv_open(const char *path, bool log, struct hes_csv **out, struct hes_err *err)
{
	struct hes_csv *c = calloc(1, sizeof(*c));
	int rc = -ENOMEM;

	if (!c || !(c->path = strdup(path))) {
		free(c);
		return hes_fail(err, -ENOMEM, "%s: out of memory", path);
	}
	c->log = log;
	c->separator = log ? '\0' : ',';
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

int hes_csv_open(const char *path, struct hes_csv **out, struct hes_err *err)
{
	return csv_open(path, false, out, err);
}

int hes_csv_open_log(const char *path, struct hes_csv **out, struct hes_err *err)
{
	return csv_open(path, true, out, err);
}

void hes_csv_unname(struct hes_csv *c)
{
	for (size_t i = 0; i < c->n_names; i++) {
		c->fields[i] = c->names[i];
		snprintf(c->numbered[i], sizeof(c->numbered[i]), "column %zu", i + 1);
		c->names[i] = c->numbered[i];
	}
	c->n_fields = c->n_names;
	c->unnamed = c->first_again = true;
}

char hes_csv_separator(const struct hes_csv *c)
{
	return c->separator;
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
	const bool otherwise = c->n_names == 1 && strpbrk(c->names[0], ";|\t");
	const char *near;
	char have[256] = "";

	if (i >= 0)
		return i;
	near = hes_text_nearest(name, (const char *const *)c->names, c->n_names);
	for (size_t k = 0; k < c->n_names; k++)
		hes_text_add(have, sizeof(have), ", ", "%.40s", c->names[k]);
	return hes_fail(err, -ENOENT, "%s:1: no column \"%s\"%s%s%s; there are: %s%s", c->path,
			name, near ? " (\"" : "", near ? near : "", near ? "\"?)" : "", have,
			otherwise ? "; columns are separated by commas" : "");
}

/* Whether one quoted field is the whole row. */
static bool is_quoted(const char *row)
{
	if (*row++ != '"')
		return false;
	for (; *row && (*row != '"' || row[1] == '"'); row++)
		row += *row == '"';
	return *row && !row[1 + strspn(row + 1, " ")];
}

int hes_csv_next(struct hes_csv *c, struct hes_err *err)
{
	int rc;

	if (c->first_again) {
		c->first_again = false;
		return 1;
	}
	while ((rc = read_record(c, err)) == 1 && c->len == 0)
		if (++c->blank > HES_CSV_MAX_BLANK)
			return hes_csv_fail(c, err, -E2BIG, "more than %d blank lines",
					    HES_CSV_MAX_BLANK);
	if (rc <= 0)
		return rc;
	if (!c->log && c->n_names == 1 && !is_quoted(c->row)) {
		c->fields[0] = c->row;
		c->n_fields = 1;
		return 1;
	}
	rc = split(c, c->row, c->fields, &c->n_fields, err);
	if (rc)
		return rc;
	if (c->log && c->n_fields == c->n_names + 1 && !*c->fields[c->n_names])
		c->n_fields--;
	if (c->n_fields != c->n_names)
		return hes_csv_fail(c, err, -EINVAL, "%zu fields where the %s has %zu%s",
				    c->n_fields, c->unnamed ? "first row" : "header", c->n_names,
				    c->n_fields > c->n_names && !c->log
					    ? "; put a field with a comma in it into quotes"
					    : "");
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

int hes_csv_u32(const struct hes_csv *c, int column, uint32_t min, uint32_t max, uint32_t *out,
		struct hes_err *err)
{
	return in_row(c,
		      hes_parse_u32(c->names[column], hes_csv_text(c, column), min, max, out, err),
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
