/*
 * table.h - a table for people and programs: one list of cells gives text, JSON and CSV.
 *
 * A column is one line of the array of cells that makes a row: the name of its JSON member and CSV
 * column with its unit, its heading in the text, its format, and its value. All rows of a table
 * have the same columns.
 *
 * Text is laid out by the widths of what is shown, wide characters included. Numbers stand right,
 * words left. Columns that do not fit follow below, behind the key columns again: those that tell
 * a row from all others, the first one and those after it that cell_key() marks. Words that are
 * longer than a line go on below, too; those of key columns lose their middle.
 */
#ifndef HES_REPORT_TABLE_H
#define HES_REPORT_TABLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum cell_kind { CELL_TEXT, CELL_COUNT, CELL_REAL, CELL_TIME, CELL_ENERGY, CELL_FLAG, CELL_JSON };

struct cell {
	const char *name;    /* in JSON and CSV; NULL: in the text only */
	const char *heading; /* in the text; NULL: in JSON and CSV only */
	enum cell_kind kind;
	bool known; /* else "-" in the text, null in JSON, nothing in CSV */
	bool bold;
	bool key;   /* of a column that begins a row wherever the table goes on below */
	int digits; /* of CELL_REAL */
	int64_t count;
	double number;
	const char *text; /* of CELL_TEXT; else shown in place of the number, if it is not NULL */
	const char *note; /* shown to the right of the value; NULL: none */
	json_t *json;     /* of CELL_JSON; owned */
};

/** NULL is not known. */
struct cell cell_text(const char *name, const char *heading, const char *text);
struct cell cell_count(const char *name, const char *heading, int64_t count);
/** What is not finite is not known. @param digits  behind the point; below 0: significant ones */
struct cell cell_real(const char *name, const char *heading, int digits, double number);
/** "3 h 52 min" in the text, seconds in JSON and CSV. */
struct cell cell_time(const char *name, const char *heading, double us);
/** "1.85 MJ" in the text, joules in JSON and CSV. */
struct cell cell_energy(const char *name, const char *heading, double mj);
/** true and false; "yes" and "no" in the text. */
struct cell cell_flag(const char *name, const char *heading, bool flag);
/** A value in JSON only, which is the table's then. */
struct cell cell_json(const char *name, json_t *json);

/** The cell, not known unless @known. */
struct cell cell_if(bool known, struct cell cell);
/** The cell of a key column; those before it are key columns, too. */
struct cell cell_key(struct cell cell);
/** The cell with another text than that of its number; NULL: with its own. */
struct cell cell_shown(struct cell cell, const char *text);
/** The cell with @note next to its value: a difference, a deviation. */
struct cell cell_noted(struct cell cell, const char *note);

/** Rows. Begin with { 0 }; end with table_print(), table_json(), table_object(), table_csv() or
 * table_free(), each of which empties it. */
struct table {
	struct table_column *columns;
	size_t n_columns;
	struct table_text *texts; /* n_rows * n_columns */
	json_t *rows;
	size_t n_rows;
	bool failed; /* out of memory: rows are missing */
};

/** Add a row. Texts are copied. */
void table_row(struct table *t, const struct cell *cells, size_t n);
#define TABLE_ROW(t, cells) table_row(t, cells, sizeof(cells) / sizeof((cells)[0]))
/**
 * Headings, if one of them is not "", and rows. Nothing if there is no row.
 * @param indent  blanks before each line
 * @param width   columns of a line, indent included
 */
void table_print(struct table *t, FILE *f, int indent, int width);
/** @return an array of objects, which the caller owns; NULL without memory */
json_t *table_json(struct table *t);
/** @return the object of the first row, which the caller owns; NULL without one */
json_t *table_object(struct table *t);
/** A header row and the rows. */
void table_csv(struct table *t, FILE *f);
void table_free(struct table *t);

#endif
