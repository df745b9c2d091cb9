/*
 * table.c - keep the rows of a table and lay its text out; see table.h.
 */
#include "report/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/grow.h"
#include "base/quantity.h"
#include "base/utf8.h"
#include "base/visible.h"

#define ELLIPSIS "\xE2\x80\xA6"
#define GAP      2

#define LEAST_WORDS 20 /* columns in which words at the end of a line may go on below */

struct table_column {
	char *name, *heading; /* NULL: none */
	bool left;            /* words */
	bool key;
	int value, note; /* widths; note 0: none */
	int tail;        /* of a key column: what words that are cut keep of their end */
};

struct table_text {
	char *value, *note; /* owned, printable; NULL: nothing */
	bool bold;
};

static struct cell cell_of(const char *name, const char *heading, enum cell_kind kind)
{
	return (struct cell){ .name = name, .heading = heading, .kind = kind, .known = true };
}

struct cell cell_text(const char *name, const char *heading, const char *text)
{
	struct cell c = cell_of(name, heading, CELL_TEXT);

	c.known = text != NULL;
	c.text = text;
	return c;
}

struct cell cell_count(const char *name, const char *heading, int64_t count)
{
	struct cell c = cell_of(name, heading, CELL_COUNT);

	c.count = count;
	return c;
}

struct cell cell_real(const char *name, const char *heading, int digits, double number)
{
	struct cell c = cell_of(name, heading, CELL_REAL);

	c.known = isfinite(number);
	c.digits = digits;
	c.number = number;
	return c;
}

struct cell cell_time(const char *name, const char *heading, double us)
{
	struct cell c = cell_real(name, heading, 0, us);

	c.kind = CELL_TIME;
	return c;
}

struct cell cell_energy(const char *name, const char *heading, double mj)
{
	struct cell c = cell_real(name, heading, 0, mj);

	c.kind = CELL_ENERGY;
	return c;
}

struct cell cell_flag(const char *name, const char *heading, bool flag)
{
	struct cell c = cell_of(name, heading, CELL_FLAG);

	c.count = flag;
	return c;
}

struct cell cell_json(const char *name, json_t *json)
{
	struct cell c = cell_of(name, NULL, CELL_JSON);

	c.known = json != NULL;
	c.json = json;
	return c;
}

struct cell cell_if(bool known, struct cell cell)
{
	cell.known = known && cell.known;
	return cell;
}

struct cell cell_key(struct cell cell)
{
	cell.key = true;
	return cell;
}

struct cell cell_shown(struct cell cell, const char *text)
{
	cell.text = text;
	return cell;
}

struct cell cell_noted(struct cell cell, const char *note)
{
	cell.note = note;
	return cell;
}

/* --- rows --- */

static json_t *value_json(const struct cell *c)
{
	if (!c->known)
		return json_null();
	switch (c->kind) {
	case CELL_TEXT:
		return json_string(c->text);
	case CELL_COUNT:
		return json_integer(c->count);
	case CELL_REAL:
		return json_real(c->number);
	case CELL_TIME:
		return json_real(c->number * 1e-6);
	case CELL_ENERGY:
		return json_real(c->number * 1e-3);
	case CELL_FLAG:
		return json_boolean(c->count);
	case CELL_JSON:
		return json_incref(c->json);
	}
	return NULL;
}

static const char *value_text(const struct cell *c, char out[64])
{
	if (c->text)
		return c->text;
	if (!c->known)
		return "-";
	if (c->kind == CELL_TIME)
		return hes_time_text(out, c->number);
	if (c->kind == CELL_ENERGY)
		return hes_energy_text(out, c->number);
	if (c->kind == CELL_FLAG)
		return c->count ? "yes" : "no";
	if (c->kind == CELL_REAL)
		snprintf(out, 64, c->digits < 0 ? "%.*g" : "%.*f", abs(c->digits), c->number);
	else
		snprintf(out, 64, "%lld", (long long)c->count);
	return out;
}

/* @return @text so that it cannot control the terminal; NULL without memory */
static char *printable(const char *text)
{
	char *out = NULL;
	size_t size;
	FILE *f = open_memstream(&out, &size);

	if (!f)
		return NULL;
	hes_visible_put(f, 0, text);
	if (fclose(f)) {
		free(out);
		return NULL;
	}
	return out;
}

static int text_columns(const char *text)
{
	return text ? hes_utf8_width(text, strlen(text)) : 0;
}

static int wider(int width, int other)
{
	return width > other ? width : other;
}

static bool table_columns_init(struct table *t, const struct cell *cells, size_t n)
{
	t->rows = json_array();
	t->columns = calloc(n + 1, sizeof(*t->columns));
	for (size_t c = 0; t->columns && c < n; c++) {
		struct table_column *col = &t->columns[t->n_columns++];

		col->name = cells[c].name ? strdup(cells[c].name) : NULL;
		col->heading = cells[c].heading ? strdup(cells[c].heading) : NULL;
		col->left = cells[c].kind == CELL_TEXT || cells[c].kind == CELL_FLAG;
		col->key = cells[c].key;
		if ((cells[c].name && !col->name) || (cells[c].heading && !col->heading))
			return false;
	}
	return t->rows && t->columns;
}

static bool text_init(struct table_text *text, struct table_column *col, const struct cell *c)
{
	char number[64];

	text->bold = c->bold;
	text->value = printable(value_text(c, number));
	text->note = c->note ? printable(c->note) : NULL;
	col->value = wider(col->value, text_columns(text->value));
	col->note = wider(col->note, text_columns(text->note));
	return text->value && (text->note || !c->note);
}

static bool row_keep(struct table *t, const struct cell *cells, json_t *row)
{
	struct table_text *texts = t->texts;

	if (!(t->n_rows & (t->n_rows - 1)))
		texts = reallocarray(t->texts, (t->n_rows ? 2 * t->n_rows : 1) * t->n_columns,
				     sizeof(*texts));
	if (!texts)
		return false;
	t->texts = texts;
	texts += t->n_rows * t->n_columns;
	memset(texts, 0, t->n_columns * sizeof(*texts));
	t->n_rows++;
	for (size_t c = 0; c < t->n_columns; c++) {
		if (cells[c].heading && !text_init(&texts[c], &t->columns[c], &cells[c]))
			return false;
		if (cells[c].name && json_object_set_new(row, cells[c].name, value_json(&cells[c])))
			return false;
	}
	return json_array_append(t->rows, row) == 0;
}

void table_row(struct table *t, const struct cell *cells, size_t n)
{
	json_t *row = json_object();

	if (!t->columns && !table_columns_init(t, cells, n))
		t->failed = true;
	if (!t->failed && !(row && row_keep(t, cells, row)))
		t->failed = true;
	json_decref(row);
	for (size_t c = 0; c < n; c++)
		json_decref(cells[c].json);
}

void table_free(struct table *t)
{
	for (size_t c = 0; c < t->n_columns; c++) {
		free(t->columns[c].name);
		free(t->columns[c].heading);
	}
	for (size_t i = 0; i < t->n_rows * t->n_columns; i++) {
		free(t->texts[i].value);
		free(t->texts[i].note);
	}
	free(t->columns);
	free(t->texts);
	json_decref(t->rows);
	*t = (struct table){ 0 };
}

/* --- text --- */

/* A line is written from left to right; blanks at its end are left out. */
struct line {
	FILE *f;
	int at, blanks; /* columns that are written, and blanks before what comes next */
};

static void line_put(struct line *l, const char *text, size_t n)
{
	fprintf(l->f, "%*s", l->blanks, "");
	fwrite(text, 1, n, l->f);
	l->at += l->blanks + hes_utf8_width(text, n);
	l->blanks = 0;
}

/* @return bytes of the characters of @text that end before column @to */
static size_t bytes_before(const char *text, int to)
{
	size_t n = 0;

	for (int at = 0; text[n];) {
		const size_t bytes = hes_utf8_character(text + n, strlen(text + n)),
			     more = bytes ? bytes : 1;

		at += hes_utf8_width(text + n, more);
		if (at > to)
			break;
		n += more;
	}
	return n;
}

/* Words that are wider than @room lose their middle, and keep @tail columns at the end. @return
 * bytes before the middle */
static size_t text_cut(const char *text, int room, int tail, const char **end)
{
	size_t from = bytes_before(text, text_columns(text) - tail);

	while (text_columns(text + from) > tail)
		from += hes_utf8_character(text + from, strlen(text + from));
	*end = text + from;
	return bytes_before(text, room - 1 - tail);
}

static void put_cut(struct line *l, const char *text, int room, int tail)
{
	const char *end;

	line_put(l, text, text_cut(text, room, tail, &end));
	line_put(l, ELLIPSIS, strlen(ELLIPSIS));
	line_put(l, end, strlen(end));
}

/* Whether words that differ in rows next to each other still do when they have lost their middle.
 */
static bool cuts_differ(const struct table *t, size_t c, int tail)
{
	const int room = t->columns[c].value;

	for (size_t i = 1; i < t->n_rows; i++) {
		const char *a = t->texts[(i - 1) * t->n_columns + c].value,
			   *b = t->texts[i * t->n_columns + c].value, *a_end, *b_end;
		size_t n;

		if (!strcmp(a, b) || text_columns(a) <= room || text_columns(b) <= room)
			continue;
		n = text_cut(a, room, tail, &a_end);
		if (n == text_cut(b, room, tail, &b_end) && !memcmp(a, b, n) &&
		    !strcmp(a_end, b_end))
			return false;
	}
	return true;
}

/* Half of the room, or more where rows would look the same. */
static void choose_tail(struct table *t, size_t c)
{
	struct table_column *col = &t->columns[c];
	const int half = col->value / 2;

	for (col->tail = half; !cuts_differ(t, c, col->tail);)
		if (++col->tail > col->value - 2) {
			col->tail = half;
			return;
		}
}

/* Words that are wider than @room go on below, between blanks where there are any. */
static void put_wrapped(struct line *l, const char *text, int room)
{
	const int start = l->at + l->blanks;

	while (*text) {
		size_t n = bytes_before(text, room), word = n;

		while (text[n] && word && text[word] != ' ')
			word--;
		n = word ? word : n ? n : strlen(text);
		line_put(l, text, n);
		text += n + strspn(text + n, " ");
		if (*text) {
			fputc('\n', l->f);
			l->at = 0;
			l->blanks = start;
		}
	}
}

/* @text in @room columns. @param tail  kept of the end of what is too wide; -1: it goes on
 * below */
static void put_value(struct line *l, const char *text, int room, bool left, int tail)
{
	const int wide = text_columns(text), start = l->at + l->blanks;

	if (!left)
		l->blanks += room - wide;
	if (wide > room && tail >= 0)
		put_cut(l, text, room, tail);
	else if (wide > room)
		put_wrapped(l, text, room);
	else if (wide)
		line_put(l, text, strlen(text));
	l->blanks = start + room - l->at;
}

static int column_width(const struct table_column *c)
{
	return c->value + (c->note ? 1 + c->note : 0);
}

static void put_heading(struct line *l, const struct table_column *c)
{
	const int room = wider(c->value, text_columns(c->heading));

	put_value(l, c->heading, room, c->left, -1);
	l->blanks += column_width(c) - room;
}

static void put_cell(struct line *l, const struct table_column *c, const struct table_text *t,
		     bool key)
{
	fputs(t->bold ? "\033[1m" : "", l->f);
	put_value(l, t->value, c->value, c->left, key ? c->tail : -1);
	fputs(t->bold ? "\033[0m" : "", l->f);
	if (!c->note)
		return;
	l->blanks++;
	put_value(l, t->note ? t->note : "", c->note, true, -1);
}

struct layout {
	struct table *t;
	FILE *f;
	int indent, width;
	size_t keys; /* the first shown column behind the key columns */
	bool headings;
};

static size_t next_column(const struct table *t, size_t c)
{
	while (c < t->n_columns && !t->columns[c].heading)
		c++;
	return c;
}

static size_t first_behind_keys(const struct table *t)
{
	size_t keys = next_column(t, 0) + 1;

	for (size_t c = keys; c < t->n_columns; c++)
		if (t->columns[c].heading && t->columns[c].key)
			keys = c + 1;
	return next_column(t, keys);
}

/* One line, of the headings if @row is SIZE_MAX: the key columns and those of @from to @to. */
static void put_line(const struct layout *y, size_t from, size_t to, size_t row)
{
	struct line l = { y->f, 0, y->indent };

	for (size_t c = next_column(y->t, 0); c < to; c = next_column(y->t, c + 1)) {
		if (c >= y->keys && c < from)
			continue;
		if (row == SIZE_MAX)
			put_heading(&l, &y->t->columns[c]);
		else
			put_cell(&l, &y->t->columns[c], &y->t->texts[row * y->t->n_columns + c],
				 c < y->keys);
		l.blanks += GAP;
	}
	fputc('\n', y->f);
}

/* @return the columns of words of @from to @to, and in @sum the width of all of them */
static int measure_words(const struct table *t, size_t from, size_t to, int *sum)
{
	int words = 0;

	*sum = -GAP;
	for (size_t c = next_column(t, from); c < to; c = next_column(t, c + 1)) {
		words += t->columns[c].left;
		*sum += column_width(&t->columns[c]) + GAP;
	}
	return words;
}

static void limit_words(struct table *t, size_t from, size_t to, int most)
{
	for (size_t c = next_column(t, from); c < to; c = next_column(t, c + 1))
		if (t->columns[c].left && t->columns[c].value > most)
			t->columns[c].value = most;
}

/* The widths of columns, of headings too. Words take a line at most, of key columns half. */
static void measure_columns(struct layout *y)
{
	struct table *t = y->t;
	const int room = y->width - y->indent;
	int sum, keys, words;

	for (size_t c = next_column(t, 0); c < t->n_columns; c = next_column(t, c + 1)) {
		struct table_column *col = &t->columns[c];
		const int head = text_columns(col->heading);

		if (column_width(col) < head)
			col->value += head - column_width(col);
		y->headings = y->headings || head;
	}
	measure_words(t, 0, t->n_columns, &sum);
	if (sum <= room)
		return;
	words = measure_words(t, 0, y->keys, &keys);
	if (keys > room / 2 && words)
		limit_words(t, 0, y->keys, room / 2 / words);
	measure_words(t, 0, y->keys, &keys);
	limit_words(t, y->keys, t->n_columns, room - keys - GAP);
	for (size_t c = next_column(t, 0); c < y->keys; c = next_column(t, c + 1))
		choose_tail(t, c);
}

/* As many columns as fit; those after them below, with the key columns again. */
static void put_blocks(const struct layout *y)
{
	struct table *t = y->t;
	size_t from = y->keys, to;
	int keys;

	measure_words(t, 0, y->keys, &keys);
	do {
		int used = y->indent + keys;

		if (from > y->keys)
			fputc('\n', y->f);
		for (to = from; to < t->n_columns; to = next_column(t, to + 1)) {
			struct table_column *c = &t->columns[to];
			const int room = y->width - used - GAP;

			if (c->left && c->value > room && room >= LEAST_WORDS &&
			    next_column(t, to + 1) == t->n_columns)
				c->value = room;
			if (column_width(c) > room && to > from)
				break;
			used += GAP + column_width(c);
		}
		if (y->headings)
			put_line(y, from, to, SIZE_MAX);
		for (size_t i = 0; i < t->n_rows; i++)
			put_line(y, from, to, i);
		from = to;
	} while (from < t->n_columns);
}

void table_print(struct table *t, FILE *f, int indent, int width)
{
	struct layout y = { .t = t, .f = f, .indent = indent, .width = width };

	if (t->n_rows && !t->failed) {
		y.keys = first_behind_keys(t);
		measure_columns(&y);
		put_blocks(&y);
	}
	table_free(t);
}

/* --- JSON and CSV --- */

json_t *table_json(struct table *t)
{
	json_t *rows = t->failed ? NULL : t->rows ? json_incref(t->rows) : json_array();

	table_free(t);
	return rows;
}

json_t *table_object(struct table *t)
{
	json_t *rows = table_json(t), *row = json_incref(json_array_get(rows, 0));

	json_decref(rows);
	return row;
}

static void put_field(FILE *f, const json_t *value)
{
	if (json_is_string(value))
		hes_csv_put(f, json_string_value(value));
	else if (json_is_integer(value))
		fprintf(f, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	else if (json_is_real(value))
		fprintf(f, "%.10g", json_real_value(value));
	else if (json_is_boolean(value))
		fputs(json_is_true(value) ? "1" : "0", f);
}

void table_csv(struct table *t, FILE *f)
{
	/* Row 0 is the header. */
	for (size_t i = 0; i <= t->n_rows && !t->failed; i++) {
		const char *comma = "";

		for (size_t c = 0; c < t->n_columns; c++) {
			if (!t->columns[c].name)
				continue;
			fputs(comma, f);
			comma = ",";
			if (i)
				put_field(f, json_object_get(json_array_get(t->rows, i - 1),
							     t->columns[c].name));
			else
				hes_csv_put(f, t->columns[c].name);
		}
		if (t->n_columns)
			fputc('\n', f);
	}
	table_free(t);
}
