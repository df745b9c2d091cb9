/*
 * test_table.c - text, JSON and CSV of a table from one list of cells.
 */
#include "report/table.h"

#include <math.h>

#include "base/utf8.h"
#include "unit_test.h"

static char *text; /* what was printed last */
static size_t text_size;

static const char *printed(struct table *t, int width)
{
	FILE *f = open_memstream(&text, &text_size);

	table_print(t, f, 0, width);
	fclose(f);
	return text;
}

static void job(struct table *t, const char *name, double us, const char *gpu)
{
	const struct cell row[] = {
		cell_text("job", "job", name),
		cell_if(us > 0, cell_time("time_s", "time", us)),
		cell_text("gpu", "GPU", gpu),
		cell_count("sm_pct", NULL, 40),
		cell_shown(cell_count(NULL, "MHz", 0), "own"),
	};

	TABLE_ROW(t, row);
}

TEST(words_stand_left_and_numbers_right)
{
	struct table t = { 0 };

	job(&t, "a", 65e6, "n0/0");
	job(&t, "long name", 0, NULL);
	assert_string_equal(printed(&t, 80), "job             time  GPU   MHz\n"
					     "a          1 min 5 s  n0/0  own\n"
					     "long name          -  -     own\n");
	free(text);
}

TEST(wide_characters_and_marks_count_as_the_terminal_shows_them)
{
	struct table t = { 0 };

	assert_int_equal(hes_utf8_width("\xe8\xa8\x93\xe7\xb7\xb4", 6), 4);
	assert_int_equal(hes_utf8_width("e\xcc\x81\xf0\x9f\x98\x80\xff", 8), 4);
	job(&t, "\xe8\xa8\x93\xe7\xb7\xb4", 1e6, "0");
	job(&t, "b", 1e6, "0");
	assert_string_equal(printed(&t, 80), "job     time  GPU  MHz\n"
					     "\xe8\xa8\x93\xe7\xb7\xb4  1.00 s  0    own\n"
					     "b     1.00 s  0    own\n");
	free(text);
}

TEST(columns_that_do_not_fit_follow_below)
{
	struct table t = { 0 };

	job(&t, "a", 1e6, "n0/0");
	assert_string_equal(printed(&t, 14), "job    time\n"
					     "a    1.00 s\n"
					     "\n"
					     "job  GPU   MHz\n"
					     "a    n0/0  own\n");
	free(text);
}

TEST(key_columns_tell_rows_apart_in_what_follows_below)
{
	struct table t = { 0 };

	for (int i = 0; i < 2; i++) {
		const struct cell row[] = {
			cell_text(NULL, "workload", "resnet50"),
			cell_key(cell_count(NULL, "batch", i ? 16 : 8)),
			cell_count(NULL, "W", 1),
			cell_count(NULL, "MHz", 2),
		};

		TABLE_ROW(&t, row);
	}
	assert_string_equal(printed(&t, 18), "workload  batch  W\n"
					     "resnet50      8  1\n"
					     "resnet50     16  1\n"
					     "\n"
					     "workload  batch  MHz\n"
					     "resnet50      8    2\n"
					     "resnet50     16    2\n");
	free(text);
}

TEST(words_longer_than_a_line_go_on_below_and_those_of_the_first_column_lose_their_middle)
{
	struct table t = { 0 };

	job(&t, "abcdefghijklmnopqrstuvwxyz", 1e6,
	    "\xe8\xa8\x93\xe7\xb7\xb4\xe8\xa8\x93\xe7\xb7\xb4\xe8\xa8\x93 at 0");
	assert_string_equal(
		printed(&t, 20),
		"job           time\n"
		"abcd\xe2\x80\xa6vwxyz  1.00 s\n"
		"\n"
		"job         GPU\n"
		"abcd\xe2\x80\xa6vwxyz  \xe8\xa8\x93\xe7\xb7\xb4\xe8\xa8\x93\xe7\xb7\xb4\n"
		"            \xe8\xa8\x93 at 0\n"
		"\n"
		"job         MHz\n"
		"abcd\xe2\x80\xa6vwxyz  own\n");
	free(text);
}

TEST(a_cut_keeps_what_tells_a_row_from_the_next)
{
	struct table t = { 0 };

	job(&t, "train.py --seed 41: whole run", 1e6, "0");
	job(&t, "train.py --seed 42: whole run", 1e6, "0");
	printed(&t, 32);
	assert_non_null(strstr(text, "1: whole run"));
	assert_non_null(strstr(text, "2: whole run"));
	free(text);
}

TEST(a_cut_keeps_whole_characters)
{
	struct table t = { 0 };

	job(&t, "\xe8\xa8\x93\xe7\xb7\xb4\xe8\xa8\x93\xe7\xb7\xb4\xe8\xa8\x93\xe7\xb7\xb4", 1e6,
	    "0");
	assert_string_equal(printed(&t, 16),
			    "job         time\n"
			    "\xe8\xa8\x93\xe2\x80\xa6\xe8\xa8\x93\xe7\xb7\xb4   1.00 s\n"
			    "\n"
			    "job       GPU\n"
			    "\xe8\xa8\x93\xe2\x80\xa6\xe8\xa8\x93\xe7\xb7\xb4   0\n"
			    "\n"
			    "job       MHz\n"
			    "\xe8\xa8\x93\xe2\x80\xa6\xe8\xa8\x93\xe7\xb7\xb4   own\n");
	free(text);
}

TEST(a_note_has_a_width_of_its_own)
{
	struct table t = { 0 };

	for (int i = 0; i < 2; i++) {
		const struct cell row[] = {
			cell_text(NULL, "", i ? "b" : "a"),
			cell_noted(cell_real(NULL, "", 1, i ? 10 : 2.5), i ? "-7" : NULL),
			cell_real(NULL, "", 0, 1),
		};

		TABLE_ROW(&t, row);
	}
	assert_string_equal(printed(&t, 80), "a   2.5     1\n"
					     "b  10.0 -7  1\n");
	free(text);
}

TEST(what_is_not_known_is_null_and_an_empty_field)
{
	struct table t = { 0 };
	json_t *rows;
	FILE *f;

	job(&t, "a,b", 0, "0");
	rows = table_json(&t);
	assert_true(json_is_null(json_object_get(json_array_get(rows, 0), "time_s")));
	assert_int_equal(json_object_size(json_array_get(rows, 0)), 4);
	json_decref(rows);
	job(&t, "a,b", 0, "0");
	job(&t, "c", 1.5e6, NULL);
	f = open_memstream(&text, &text_size);
	table_csv(&t, f);
	fclose(f);
	assert_string_equal(text, "job,time_s,gpu,sm_pct\n\"a,b\",,0,40\nc,1.5,,40\n");
	free(text);
}

TEST(control_characters_are_not_printed_as_they_are)
{
	struct table t = { 0 };

	job(&t, "a\033[2J", NAN, "0");
	assert_null(strchr(printed(&t, 80), '\033'));
	free(text);
}

TEST(a_table_without_rows_prints_nothing_and_is_an_empty_array)
{
	struct table t = { 0 };
	json_t *rows = table_json(&t);

	assert_int_equal(json_array_size(rows), 0);
	assert_true(json_is_array(rows));
	json_decref(rows);
	assert_string_equal(printed(&t, 80), "");
	free(text);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
