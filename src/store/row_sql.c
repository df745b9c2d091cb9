/*
 * row_sql.c - bind, read and check rows in the database; see row_sql.h.
 */
#include "store/row_sql.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

static const void *slot_of(const struct hes_row_column *c, const void *row)
{
	return (const char *)row + c->offset;
}

static void *slot_in(const struct hes_row_column *c, void *row)
{
	return (char *)row + c->offset;
}

void hes_row_names(const struct hes_row_table *t, const char *prefix, char out[HES_ROW_SQL_MAX])
{
	size_t at = 0;

	out[0] = '\0';
	for (size_t i = 0; i < t->n_columns && at < HES_ROW_SQL_MAX; i++)
		at += (size_t)snprintf(out + at, HES_ROW_SQL_MAX - at, "%s%s%s", i ? "," : "",
				       prefix, t->columns[i].name);
}

int hes_row_check(const struct hes_row_table *t, const void *row, const char *what,
		  struct hes_err *err)
{
	for (size_t i = 0; i < t->n_columns; i++) {
		const struct hes_row_column *c = &t->columns[i];
		const void *slot = slot_of(c, row);
		double x;
		int rc;

		if (c->kind == HES_ROW_TEXT || c->kind == HES_ROW_LINE) {
			rc = hes_row_check_text(c, slot, err);
			if (rc) {
				hes_fail_in(err, "%s", what);
				return rc;
			}
			continue;
		}
		x = c->kind == HES_ROW_U32 ? *(const uint32_t *)slot : *(const double *)slot;
		if (c->kind == HES_ROW_MAYBE && isnan(x))
			continue;
		if (!(x >= c->min && x <= c->max))
			return hes_fail(err, -ERANGE, "%s: %s: %.10g is not within %.10g to %.10g",
					what, c->name, x, c->min, c->max);
	}
	return 0;
}

struct key {
	uint64_t high, low;
};

/* Times 2^88 + 0x13b, the 128-bit prime of FNV. */
static struct key times_prime(struct key k)
{
	uint64_t low = (k.low & 0xffffffff) * 0x13b;
	uint64_t carry = (k.low >> 32) * 0x13b + (low >> 32);

	return (struct key){ k.high * 0x13b + (carry >> 32) + (k.low << 24),
			     carry << 32 | (low & 0xffffffff) };
}

static struct key fnv1a(const char *text, size_t len)
{
	struct key k = { 0x6c62272e07bb0142, 0x62b821756295c58d };

	for (size_t i = 0; i < len; i++) {
		k.low ^= (unsigned char)text[i];
		k = times_prime(k);
	}
	return k;
}

int hes_row_key(const struct hes_row_table *t, const void *row,
		unsigned char out[HES_ROW_KEY_BYTES], struct hes_err *err)
{
	char line[HES_ROW_MAX_TEXT];
	FILE *f = fmemopen(line, sizeof(line), "w");
	struct key k;
	long len;

	if (!f)
		return hes_fail(err, -ENOMEM, "out of memory");
	hes_row_put(f, t, false, row);
	fflush(f);
	len = ftell(f);
	fclose(f);
	k = fnv1a(line, len > 0 ? (size_t)len : 0);
	for (int i = 0; i < 8; i++) {
		out[i] = (unsigned char)(k.high >> (56 - 8 * i));
		out[8 + i] = (unsigned char)(k.low >> (56 - 8 * i));
	}
	return 0;
}

static double as_in_files(double x)
{
	char text[32];

	snprintf(text, sizeof(text), "%.*g", HES_PROFILE_DIGITS, x + 0.0);
	return strtod(text, NULL);
}

void hes_row_bind(sqlite3_stmt *q, int first, const struct hes_row_table *t, const void *row)
{
	for (size_t i = 0; i < t->n_columns; i++) {
		const struct hes_row_column *c = &t->columns[i];
		const void *slot = slot_of(c, row);
		int at = first + (int)i;

		if (c->kind == HES_ROW_TEXT || c->kind == HES_ROW_LINE)
			sqlite3_bind_text(q, at, slot, -1, SQLITE_STATIC);
		else if (c->kind == HES_ROW_U32)
			sqlite3_bind_int64(q, at, *(const uint32_t *)slot);
		else if (c->kind == HES_ROW_MAYBE && isnan(*(const double *)slot))
			sqlite3_bind_null(q, at);
		else
			sqlite3_bind_double(q, at, as_in_files(*(const double *)slot));
	}
}

static void read_value(sqlite3_stmt *q, int at, const struct hes_row_column *c, void *slot)
{
	sqlite3_int64 x = sqlite3_column_int64(q, at);

	if (c->kind == HES_ROW_TEXT)
		hes_db_text(q, at, slot, HES_NAME_MAX);
	else if (c->kind == HES_ROW_LINE)
		hes_db_text(q, at, slot, (size_t)c->max + 1);
	else if (c->kind == HES_ROW_U32)
		*(uint32_t *)slot = x < 0 || x > UINT32_MAX ? UINT32_MAX : (uint32_t)x;
	else if (c->kind == HES_ROW_MAYBE && sqlite3_column_type(q, at) == SQLITE_NULL)
		*(double *)slot = NAN;
	else
		*(double *)slot = sqlite3_column_double(q, at);
}

int hes_row_read(const struct hes_store *s, sqlite3_stmt *q, const struct hes_row_table *t,
		 void *out, struct hes_err *err)
{
	unsigned char key[HES_ROW_KEY_BYTES];
	struct hes_err why = { 0 };
	char what[64];
	int rc;

	for (size_t i = 0; i < t->n_columns; i++)
		read_value(q, 1 + (int)i, &t->columns[i], slot_in(&t->columns[i], out));
	if (sqlite3_errcode(s->db) == SQLITE_NOMEM)
		return hes_db_fail(s, err);
	snprintf(what, sizeof(what), "a row of its %s", t->what);
	rc = hes_row_check(t, out, what, &why);
	if (rc)
		return hes_fail(err, -EBADMSG, "%s: damaged: %s", s->path, why.msg);
	rc = hes_row_key(t, out, key, err);
	if (!rc && (sqlite3_column_bytes(q, 0) != HES_ROW_KEY_BYTES ||
		    memcmp(sqlite3_column_blob(q, 0), key, sizeof(key)) != 0))
		rc = hes_fail(
			err, -EBADMSG,
			"%s: damaged: %s (%s on %s) is not what was added; put a copy in its place",
			s->path, what, (const char *)slot_of(&t->columns[0], out),
			(const char *)slot_of(&t->columns[1], out));
	return rc;
}
