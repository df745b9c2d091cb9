/*
 * db.h - the open SQLite database: statements, transactions, errors. Private to src/store.
 */
#ifndef HES_STORE_DB_H
#define HES_STORE_DB_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "heshare/store.h"

#define HES_DB_KEPT 16 /* statements that stay prepared: those of a run fit */

struct hes_store {
	sqlite3 *db;
	char *path;
	int wait_ms;
	uint64_t steps; /* of the statement in hand, in SQLite's virtual machine */
	bool to_drop;   /* the open transaction has failed and could not be dropped yet */
	sqlite3_stmt *kept[HES_DB_KEPT]; /* the last statements of hes_db_do(); NULL: none */
	size_t oldest;                   /* of these: the next one takes its place */
};

struct hes_journal {
	struct hes_store *store;
	bool light; /* the transaction does not wait for the disk */
};

/** A value for a parameter of a statement. What it points to lives until the call returns. */
struct hes_db_value {
	enum hes_db_type {
		HES_DB_END, /* behind the last one */
		HES_DB_NULL,
		HES_DB_INTEGER,
		HES_DB_REAL, /* NaN: NULL */
		HES_DB_TEXT, /* NULL: NULL */
		HES_DB_BYTES,
	} type;
	union {
		int64_t integer;
		double real;
		const void *bytes;
	};
	int n; /* bytes of a text or blob; -1: a text up to its NUL */
};

/** The values of parameters 1, 2, ... */
#define HES_DB(...) ((const struct hes_db_value[]){ __VA_ARGS__, { .type = HES_DB_END } })

static inline struct hes_db_value db_int(int64_t value)
{
	return (struct hes_db_value){ HES_DB_INTEGER, { .integer = value }, 0 };
}

static inline struct hes_db_value db_uint(uint64_t value)
{
	return db_int((int64_t)value);
}

/** NULL unless it is @known. */
static inline struct hes_db_value db_maybe(bool known, int64_t value)
{
	return (struct hes_db_value){ known ? HES_DB_INTEGER : HES_DB_NULL,
				      { .integer = value },
				      0 };
}

static inline struct hes_db_value db_real(double value)
{
	return (struct hes_db_value){ HES_DB_REAL, { .real = value }, 0 };
}

static inline struct hes_db_value db_text(const char *text)
{
	return (struct hes_db_value){ HES_DB_TEXT, { .bytes = text }, -1 };
}

/** The first @max bytes of a text at most. */
static inline struct hes_db_value db_cut(const char *text, size_t max)
{
	return (struct hes_db_value){ HES_DB_TEXT, { .bytes = text }, (int)strnlen(text, max) };
}

static inline struct hes_db_value db_bytes(const void *bytes, size_t n)
{
	return (struct hes_db_value){ HES_DB_BYTES, { .bytes = bytes }, (int)n };
}

/** A column of a query, and the member of a struct that it fills. */
struct hes_db_field {
	const char *column; /* or an expression; NULL: behind the last one */
	enum {
		HES_FIELD_INTEGER, /* of 4 or 8 bytes */
		HES_FIELD_BOOL,
		HES_FIELD_REAL, /* NaN: NULL */
		HES_FIELD_TEXT, /* cut */
		HES_FIELD_WORD, /* enum: the index of a text in @words */
		HES_FIELD_KNOWN /* bool: it is not NULL */
	} kind;
	size_t at, size;          /* of the member */
	const char *const *words; /* ends with NULL; the schema lets no other text in */
};

#define DB_FIELD(column, kind, type, member, words)                                      \
	{                                                                                \
		column, kind, offsetof(type, member), sizeof(((type *)0)->member), words \
	}
#define DB_INT(column, type, member)         DB_FIELD(column, HES_FIELD_INTEGER, type, member, NULL)
#define DB_BOOL(column, type, member)        DB_FIELD(column, HES_FIELD_BOOL, type, member, NULL)
#define DB_REAL(column, type, member)        DB_FIELD(column, HES_FIELD_REAL, type, member, NULL)
#define DB_TEXT(column, type, member)        DB_FIELD(column, HES_FIELD_TEXT, type, member, NULL)
#define DB_WORD(column, type, member, words) DB_FIELD(column, HES_FIELD_WORD, type, member, words)
#define DB_KNOWN(column, type, member)       DB_FIELD(column, HES_FIELD_KNOWN, type, member, NULL)
#define DB_FIELDS_END                               \
	{                                           \
		NULL, HES_FIELD_INTEGER, 0, 0, NULL \
	}

/** Rows of a query: structs of @size bytes. */
struct hes_db_rows {
	const struct hes_db_field *fields;
	size_t size;
	/* Whether a row can be of heshare's. @return 0; -EBADMSG. NULL: all can */
	int (*check)(const struct hes_store *s, const void *row, struct hes_err *err);
};

/** Whether several machines may use a file system of this type (statfs), so that a write-ahead log
 * cannot be used. */
bool hes_store_is_remote(uint32_t type);

/** No statement takes more steps than suit the file; no text or row is longer than any of
 * heshare's. */
void hes_db_limit(struct hes_store *s);

/** Turn SQLite's latest error into a sentence. @return negative errno */
int hes_db_fail(const struct hes_store *s, struct hes_err *err);

/** Run statements that give no rows. */
int hes_db_exec(struct hes_store *s, const char *sql, struct hes_err *err);
/** The first column of the first row of a statement. */
int hes_db_number(struct hes_store *s, const char *sql, int64_t *out, struct hes_err *err);
/** The same as a text, cut. @return 1; 0 no row, and @out is as it was; negative errno */
int hes_db_line(struct hes_store *s, const char *sql, char *out, size_t size, struct hes_err *err);
/** @out is the caller's to finalize, NULL on failure; sqlite3_finalize takes NULL. */
int hes_db_prepare(struct hes_store *s, const char *sql, sqlite3_stmt **out, struct hes_err *err);
/** @param v  of HES_DB(), or NULL */
void hes_db_bind(sqlite3_stmt *q, const struct hes_db_value *v);
/** @return 1 a row; 0 no more; negative errno */
int hes_db_step(struct hes_store *s, sqlite3_stmt *q, struct hes_err *err);
/** Step a statement that gives no row and make it ready for the next values. */
int hes_db_run(struct hes_store *s, sqlite3_stmt *q, struct hes_err *err);
/** Run a statement that gives no row, with values. */
int hes_db_do(struct hes_store *s, const char *sql, const struct hes_db_value *v,
	      struct hes_err *err);
/** Whether a query has a row. @return 1; 0; negative errno */
int hes_db_has(struct hes_store *s, const char *sql, const struct hes_db_value *v,
	       struct hes_err *err);
/**
 * Run "SELECT FIELDS FROM @from".
 * @param out  a pointer to the array of rows, which is the caller's to free
 */
int hes_db_select(struct hes_store *s, const struct hes_db_rows *rows, const char *from,
		  const struct hes_db_value *v, void *out, size_t *n, struct hes_err *err);
/** Its first row into @out. @return 1; 0 there is none, and @out is as it was; negative errno */
int hes_db_select_one(struct hes_store *s, const struct hes_db_rows *rows, const char *from,
		      const struct hes_db_value *v, void *out, struct hes_err *err);

/** The only writer from here on, after waiting for others. @return 0; -ESTALE the file is no longer
 * there by its name; -errno */
int hes_db_begin(struct hes_store *s, struct hes_err *err);
/** Commit when @rc is 0, else leave everything as it was. @return @rc, or why the commit failed */
int hes_db_end(struct hes_store *s, int rc, struct hes_err *err);
/** Drop the open transaction, if there is one. When that fails it is tried again before the next
 * statement. */
int hes_db_drop(struct hes_store *s, struct hes_err *err);

/** Text of a column cut to @size, "" for NULL. */
void hes_db_text(sqlite3_stmt *q, int column, char *out, size_t size);

/** Fills one element, zeroed. @return 0; a negative errno refuses the row */
typedef int hes_db_row(const struct hes_store *s, sqlite3_stmt *q, const void *ctx, void *out,
		       struct hes_err *err);

/** Every row of @q, which is finalized, as an array of elements of @size bytes. @param out  as in
 * hes_db_select() */
int hes_db_collect(struct hes_store *s, sqlite3_stmt *q, hes_db_row *row, const void *ctx,
		   size_t size, void *out, size_t *n, struct hes_err *err);

#endif
