/*
 * db.c - SQLite: statements, transactions, errors; see db.h.
 */
#include "store/db.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/texts.h"

#define STEPS_EACH     1000000 /* between two looks */
#define STEPS_LEAST    ((uint64_t)100000000)
#define STEPS_PER_BYTE 20        /* of the file; heshare's own queries take less than 1 */
#define MAX_LENGTH     (1 << 20) /* of a text or a row; of SQL too */
#define MAX_PATTERN    64        /* of LIKE and GLOB, whose time grows with it exponentially */

/* Bytes on the disk: a hole in a file is free to make. */
static uint64_t file_bytes(const char *path, const char *suffix)
{
	struct stat st;
	char *name;
	uint64_t bytes;

	if (asprintf(&name, "%s%s", path, suffix) < 0)
		return 0;
	bytes = stat(name, &st) ? 0 : (uint64_t)st.st_blocks * 512;
	free(name);
	return bytes;
}

static uint64_t most_steps(const struct hes_store *s)
{
	return STEPS_LEAST +
	       STEPS_PER_BYTE * (file_bytes(s->path, "") + file_bytes(s->path, "-wal"));
}

/* @return whether the statement is to end */
static int count_steps(void *ctx)
{
	struct hes_store *s = ctx;

	s->steps += STEPS_EACH;
	return s->steps > STEPS_LEAST && s->steps > most_steps(s);
}

void hes_db_limit(struct hes_store *s)
{
	sqlite3_progress_handler(s->db, STEPS_EACH, count_steps, s);
	sqlite3_limit(s->db, SQLITE_LIMIT_LENGTH, MAX_LENGTH);
	sqlite3_limit(s->db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, MAX_PATTERN);
}

static int io_code(const struct hes_store *s)
{
	int code = sqlite3_system_errno(s->db);

	return code > 0 ? -code : -EIO;
}

/* Why neither the store nor the files next to it can be made, which SQLite does not say. @return 0
 * that is not why */
static int closed_code(const struct hes_store *s)
{
	char folder[PATH_MAX];
	char *slash;

	snprintf(folder, sizeof(folder), "%s", s->path);
	slash = strrchr(folder, '/');
	if (slash)
		slash[slash == folder] = '\0';
	return access(slash ? folder : ".", W_OK) ? -errno : 0;
}

int hes_db_fail(const struct hes_store *s, struct hes_err *err)
{
	int code = io_code(s);

	switch (sqlite3_errcode(s->db) & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return hes_fail(
			err, -EBUSY,
			"%s: another program has been writing to it for %g s; nothing was changed, "
			"try again when it is done",
			s->path, s->wait_ms / 1000.0);
	case SQLITE_FULL:
		return hes_fail(err, -ENOSPC, "%s: no room left on its disk; nothing was changed",
				s->path);
	case SQLITE_IOERR:
		if (sqlite3_extended_errcode(s->db) == SQLITE_IOERR_NOMEM)
			return hes_fail(err, -ENOMEM, "%s: out of memory", s->path);
		/* What was written before is whole: who opens the file next may find it. */
		if (sqlite3_extended_errcode(s->db) == SQLITE_IOERR_FSYNC)
			return hes_fail(err, code,
					"%s: cannot be synced to its disk: %s; the last change is "
					"there wholly or not at all",
					s->path, strerror(-code));
		return hes_fail(err, code, "%s: cannot be read or written: %s; nothing was changed",
				s->path, strerror(-code));
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return hes_fail(err, -EROFS,
				"%s: it, or its folder, may not be written to, which SQLite needs "
				"even to read",
				s->path);
	case SQLITE_CANTOPEN:
		code = closed_code(s) ? closed_code(s) : code;
		return hes_fail(err, code, "%s: cannot open it or the files next to it: %s",
				s->path, strerror(-code));
	case SQLITE_NOTADB:
		return hes_fail(err, -EINVAL, "%s: not a store: no SQLite database", s->path);
	case SQLITE_CORRUPT:
		return hes_fail(err, -EBADMSG, "%s: damaged (%s); put a copy in its place", s->path,
				sqlite3_errmsg(s->db));
	case SQLITE_INTERRUPT:
		return hes_fail(err, -EBADMSG,
				"%s: a query took more than %" PRIu64
				" steps, far more than its rows need; damaged, or made by "
				"somebody else",
				s->path, most_steps(s));
	case SQLITE_NOMEM:
		return hes_fail(err, -ENOMEM, "%s: out of memory", s->path);
	default:
		return hes_fail(err, -EINVAL, "%s: not a store as this version knows it: %s",
				s->path, sqlite3_errmsg(s->db));
	}
}

int hes_db_drop(struct hes_store *s, struct hes_err *err)
{
	s->to_drop = true;
	/* Some failures have ended the transaction by themselves. */
	if (!sqlite3_get_autocommit(s->db) && sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL))
		return hes_db_fail(s, err);
	s->to_drop = false;
	return 0;
}

/* What follows must not become part of a transaction that has failed. */
static int drop_failed(struct hes_store *s, struct hes_err *err)
{
	return s->to_drop ? hes_db_drop(s, err) : 0;
}

int hes_db_exec(struct hes_store *s, const char *sql, struct hes_err *err)
{
	int rc = drop_failed(s, err);

	if (rc)
		return rc;
	s->steps = 0;
	return sqlite3_exec(s->db, sql, NULL, NULL, NULL) ? hes_db_fail(s, err) : 0;
}

int hes_db_prepare(struct hes_store *s, const char *sql, sqlite3_stmt **out, struct hes_err *err)
{
	*out = NULL;
	return sqlite3_prepare_v2(s->db, sql, -1, out, NULL) ? hes_db_fail(s, err) : 0;
}

int hes_db_step(struct hes_store *s, sqlite3_stmt *q, struct hes_err *err)
{
	int rc;

	if (!sqlite3_stmt_busy(q)) {
		rc = drop_failed(s, err);
		if (rc)
			return rc;
		s->steps = 0;
	}
	rc = sqlite3_step(q);
	return rc == SQLITE_ROW ? 1 : rc == SQLITE_DONE ? 0 : hes_db_fail(s, err);
}

int hes_db_run(struct hes_store *s, sqlite3_stmt *q, struct hes_err *err)
{
	int rc = hes_db_step(s, q, err);

	sqlite3_reset(q);
	return rc < 0 ? rc : 0;
}

void hes_db_bind(sqlite3_stmt *q, const struct hes_db_value *v)
{
	for (int i = 1; v && v->type != HES_DB_END; i++, v++)
		switch (v->type) {
		case HES_DB_INTEGER:
			sqlite3_bind_int64(q, i, v->integer);
			break;
		case HES_DB_REAL:
			sqlite3_bind_double(q, i, v->real);
			break;
		case HES_DB_TEXT:
			sqlite3_bind_text(q, i, v->bytes, v->n, SQLITE_STATIC);
			break;
		case HES_DB_BYTES:
			sqlite3_bind_blob(q, i, v->bytes, v->n, SQLITE_STATIC);
			break;
		default:
			sqlite3_bind_null(q, i);
		}
}

/* @return the statement, prepared now or before; NULL: *rc is why */
static sqlite3_stmt *kept_statement(struct hes_store *s, const char *sql, int *rc,
				    struct hes_err *err)
{
	sqlite3_stmt **q = &s->kept[s->oldest];

	for (size_t i = 0; i < HES_DB_KEPT; i++)
		if (s->kept[i] && strcmp(sqlite3_sql(s->kept[i]), sql) == 0)
			return s->kept[i];
	sqlite3_finalize(*q);
	*rc = hes_db_prepare(s, sql, q, err);
	s->oldest = (s->oldest + 1) % HES_DB_KEPT;
	return *q;
}

int hes_db_do(struct hes_store *s, const char *sql, const struct hes_db_value *v,
	      struct hes_err *err)
{
	int rc = 0;
	sqlite3_stmt *q = kept_statement(s, sql, &rc, err);

	if (rc)
		return rc;
	hes_db_bind(q, v);
	return hes_db_run(s, q, err);
}

/* @return 1 with a row; 0 without; negative errno. Finalize @q. */
static int first_row(struct hes_store *s, const char *sql, const struct hes_db_value *v,
		     sqlite3_stmt **q, struct hes_err *err)
{
	int rc = hes_db_prepare(s, sql, q, err);

	if (rc)
		return rc;
	hes_db_bind(*q, v);
	return hes_db_step(s, *q, err);
}

int hes_db_has(struct hes_store *s, const char *sql, const struct hes_db_value *v,
	       struct hes_err *err)
{
	sqlite3_stmt *q;
	int rc = first_row(s, sql, v, &q, err);

	sqlite3_finalize(q);
	return rc;
}

int hes_db_number(struct hes_store *s, const char *sql, int64_t *out, struct hes_err *err)
{
	sqlite3_stmt *q;
	int rc = first_row(s, sql, NULL, &q, err);

	if (rc > 0)
		*out = sqlite3_column_int64(q, 0);
	sqlite3_finalize(q);
	return rc < 0 ? rc : 0;
}

int hes_db_line(struct hes_store *s, const char *sql, char *out, size_t size, struct hes_err *err)
{
	sqlite3_stmt *q;
	int rc = first_row(s, sql, NULL, &q, err);

	if (rc > 0)
		hes_db_text(q, 0, out, size);
	sqlite3_finalize(q);
	return rc;
}

int hes_db_begin(struct hes_store *s, struct hes_err *err)
{
	int moved = 0;

	/* What is written to a file without its name is lost when the program ends. */
	if (sqlite3_file_control(s->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
	    moved)
		return hes_fail(err, -ESTALE,
				"%s: it was removed or replaced by another file while it was in "
				"use; put it back",
				s->path);
	return hes_db_exec(s, "BEGIN IMMEDIATE", err);
}

int hes_db_end(struct hes_store *s, int rc, struct hes_err *err)
{
	if (!rc)
		rc = hes_db_exec(s, "COMMIT", err);
	if (rc)
		hes_db_drop(s, NULL);
	return rc;
}

void hes_db_text(sqlite3_stmt *q, int column, char *out, size_t size)
{
	const char *text = (const char *)sqlite3_column_text(q, column);
	size_t len = strnlen(text ? text : "", size - 1);

	memcpy(out, text ? text : "", len);
	out[len] = '\0';
}

static int word_of(sqlite3_stmt *q, int column, const char *const *words)
{
	char text[16];
	int i = 0;

	hes_db_text(q, column, text, sizeof(text));
	while (words[i + 1] && strcmp(words[i], text) != 0)
		i++;
	return i;
}

static void read_field(sqlite3_stmt *q, int i, const struct hes_db_field *f, void *to)
{
	const bool known = sqlite3_column_type(q, i) != SQLITE_NULL;

	switch (f->kind) {
	case HES_FIELD_INTEGER:
		if (f->size == sizeof(int64_t))
			*(int64_t *)to = sqlite3_column_int64(q, i);
		else
			*(uint32_t *)to = (uint32_t)sqlite3_column_int64(q, i);
		break;
	case HES_FIELD_BOOL:
		*(bool *)to = sqlite3_column_int64(q, i) != 0;
		break;
	case HES_FIELD_REAL:
		*(double *)to = known ? sqlite3_column_double(q, i) : NAN;
		break;
	case HES_FIELD_TEXT:
		hes_db_text(q, i, to, f->size);
		break;
	case HES_FIELD_WORD:
		*(int *)to = word_of(q, i, f->words);
		break;
	case HES_FIELD_KNOWN:
		*(bool *)to = known;
	}
}

/* @param ctx  struct hes_db_rows */
static int read_fields(const struct hes_store *s, sqlite3_stmt *q, const void *ctx, void *out,
		       struct hes_err *err)
{
	const struct hes_db_rows *rows = ctx;
	const struct hes_db_field *f = rows->fields;

	for (int i = 0; f[i].column; i++)
		read_field(q, i, &f[i], (char *)out + f[i].at);
	return rows->check ? rows->check(s, out, err) : 0;
}

/* "SELECT FIELDS FROM @from"; free() it. NULL: out of memory */
static char *select_text(const struct hes_db_field *f, const char *from)
{
	size_t size = strlen(from) + sizeof("SELECT  FROM ");
	char *sql;

	for (size_t i = 0; f[i].column; i++)
		size += strlen(f[i].column) + 2;
	sql = calloc(1, size);
	for (size_t i = 0; sql && f[i].column; i++)
		hes_text_add(sql, size, ", ", "%s%s", i ? "" : "SELECT ", f[i].column);
	if (sql)
		hes_text_add(sql, size, " FROM ", "%s", from);
	return sql;
}

int hes_db_select(struct hes_store *s, const struct hes_db_rows *rows, const char *from,
		  const struct hes_db_value *v, void *out, size_t *n, struct hes_err *err)
{
	char *sql = select_text(rows->fields, from);
	sqlite3_stmt *q;
	int rc = sql ? hes_db_prepare(s, sql, &q, err)
		     : hes_fail(err, -ENOMEM, "%s: out of memory", s->path);

	free(sql);
	if (rc)
		return rc;
	hes_db_bind(q, v);
	return hes_db_collect(s, q, read_fields, rows, rows->size, out, n, err);
}

int hes_db_select_one(struct hes_store *s, const struct hes_db_rows *rows, const char *from,
		      const struct hes_db_value *v, void *out, struct hes_err *err)
{
	char *all;
	size_t n = 0;
	int rc = hes_db_select(s, rows, from, v, &all, &n, err);

	if (rc)
		return rc;
	if (n)
		memcpy(out, all, rows->size);
	free(all);
	return n > 0;
}

int hes_db_collect(struct hes_store *s, sqlite3_stmt *q, hes_db_row *row, const void *ctx,
		   size_t size, void *out, size_t *out_n, struct hes_err *err)
{
	size_t n = 0;
	char *v = NULL, *more;
	int rc;

	while ((rc = hes_db_step(s, q, err)) > 0) {
		more = hes_grow(v, n, size);
		if (!more) {
			rc = hes_fail(err, -ENOMEM, "%s: out of memory for %zu rows", s->path, n);
			break;
		}
		v = more;
		memset(v + n * size, 0, size);
		rc = row(s, q, ctx, v + n * size, err);
		if (rc)
			break;
		n++;
	}
	sqlite3_finalize(q);
	if (rc) {
		free(v);
		return rc;
	}
	memcpy(out, &v, sizeof(v));
	*out_n = n;
	return 0;
}
