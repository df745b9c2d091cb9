/* test_number_table.c - tables of numbers: what is missing, what is refused and where. */
#include <math.h>
#include <zlib.h>

#include "number_table.h"
#include "unit_test.h"

#define NAMES(...)                                                                    \
	{                                                                             \
		(const char *const[]){ __VA_ARGS__ },                                 \
			sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *) \
	}

static char path[] = "/tmp/hes-table-XXXXXX";

static void write_file(const char *text)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_int_equal(fputs(text, f) < 0, 0);
	fclose(f);
}

/* The file is refused with @code and a sentence that holds @says; the table is untouched. */
static void refused(const char *text, const struct hes_table_wanted *w, int code, const char *says)
{
	struct hes_table t = { .n_rows = 77 };
	struct hes_err err = { 0 };

	write_file(text);
	assert_int_equal(hes_table_load(path, w, &t, &err), code);
	if (!strstr(err.msg, says))
		fail_msg("\"%s\" does not say \"%s\"", err.msg, says);
	assert_int_equal(t.n_rows, 77);
}

TEST(numbers_are_stored_row_by_row)
{
	struct hes_table t;
	struct hes_err err;

	write_file("\xef\xbb\xbf"
		   "a,\"b,c\",d\r\n1,-2.5,3e2\r\n\r\n\"4\", 5 ,-0\r\n");
	assert_int_equal(hes_table_load(path, NULL, &t, &err), 0);
	assert_int_equal(t.n_columns, 3);
	assert_int_equal(t.n_rows, 2);
	assert_string_equal(t.names[1], "b,c");
	assert_true(t.v[0] == 1 && t.v[1] == -2.5 && t.v[2] == 300);
	assert_true(t.v[3] == 4 && t.v[4] == 5 && t.v[5] == 0);
	assert_int_equal(hes_table_find(&t, "d"), 2);
	assert_int_equal(hes_table_find(&t, "e"), -1);
	hes_table_free(&t);
	assert_null(t.v);
}

TEST(empty_cells_na_and_nan_are_missing)
{
	struct hes_table t;
	struct hes_err err;

	write_file("a,b\n,1\nNA,1\nnan,1\nNaN,1\n\"\",1\n  ,1\n7,1\n");
	assert_int_equal(hes_table_load(path, NULL, &t, &err), 0);
	assert_int_equal(t.n_rows, 7);
	for (size_t i = 0; i < 6; i++)
		assert_true(isnan(t.v[2 * i]) && t.v[2 * i + 1] == 1);
	assert_true(t.v[12] == 7);
	hes_table_free(&t);
}

TEST(requested_columns_come_in_the_requested_order)
{
	const struct hes_table_wanted w = { .columns = NAMES("c", "a"), .complete = NAMES("a") };
	struct hes_table t;
	struct hes_err err;

	write_file("a,b,c\n1,text,\n2,text,4\n");
	assert_int_equal(hes_table_load(path, &w, &t, &err), 0);
	assert_int_equal(t.n_columns, 2);
	assert_string_equal(t.names[0], "c");
	assert_true(isnan(t.v[0]) && t.v[1] == 1 && t.v[2] == 4 && t.v[3] == 2);
	hes_table_free(&t);
}

TEST(ignored_columns_need_not_be_numbers)
{
	const struct hes_table_wanted w = { .ignored = NAMES("id") };
	struct hes_table t;
	struct hes_err err;

	write_file("id,x\njob-1,1\n");
	assert_int_equal(hes_table_load(path, &w, &t, &err), 0);
	assert_int_equal(t.n_columns, 1);
	assert_string_equal(t.names[0], "x");
	hes_table_free(&t);
	refused("id,x\njob-1,1\n", NULL, -EINVAL, ":2: id: \"job-1\" is not a number");
}

TEST(errors_of_numbers_name_line_and_column)
{
	const struct hes_table_wanted complete = { .complete = NAMES("y") };

	refused("x,y\n1,2\n3,4 W\n", NULL, -EINVAL, ":3: y: \"4 W\" is not a number");
	refused("x,y\n1,2\ninf,4\n", NULL, -ERANGE, ":3: x: \"inf\" is not a finite number");
	refused("x,y\n1e39,4\n", NULL, -ERANGE, ":2: x: 1e39 is outside");
	refused("x,y\n1,2\n1,\n", &complete, -EINVAL, ":3: y: \"\" is a missing value");
	refused("x,y\n\n1,NA\n", &complete, -EINVAL, ":3: y: \"NA\" is a missing value");
	refused("x,y\n1\n", NULL, -EINVAL, ":2: 1 fields where the header has 2");
}

TEST(columns_that_are_absent_doubled_or_nameless_are_refused)
{
	const struct hes_table_wanted z = { .columns = NAMES("x", "z") },
				      ignored = { .ignored = NAMES("q") };
	const struct hes_table_wanted x = { .columns = NAMES("x") },
				      twice = { .columns = NAMES("x", "x") };
	const struct hes_table_wanted none = { .ignored = NAMES("x", "y") };

	refused("x,y\n1,2\n", &z, -ENOENT, ":1: no column \"z\"; there are: x, y");
	refused("x,y\n1,2\n", &ignored, -ENOENT, ":1: no column \"q\"");
	refused("x,y,x\n1,2,3\n", NULL, -EEXIST, ":1: column \"x\" is there twice");
	refused("x,y,x\n1,2,3\n", &x, -EEXIST, ":1: column \"x\" is there twice");
	refused("x,y\n1,2\n", &twice, -EEXIST, ":1: column \"x\" is there twice");
	refused("x,\n1,2\n", NULL, -EINVAL, ":1: column 2 has no name");
	refused("x,y\n1,2\n", &none, -EINVAL, ":1: no column is left");
	refused("1234567890123456789012345678901234567890123456789012345678901234\n1\n", NULL,
		-E2BIG, "longer than 63 bytes");
}

TEST(a_gzip_file_reads_the_same_and_a_cut_one_is_refused)
{
	struct hes_table t;
	struct hes_err err;
	gzFile gz = gzopen(path, "we");

	assert_non_null(gz);
	gzputs(gz, "x,y\n");
	for (int i = 0; i < 2000; i++)
		gzprintf(gz, "%d,%d\n", i, i * i);
	gzclose(gz);
	assert_int_equal(hes_table_load(path, NULL, &t, &err), 0);
	assert_int_equal(t.n_rows, 2000);
	assert_true(t.v[2 * 1999 + 1] == 1999.0 * 1999);
	hes_table_free(&t);
	assert_int_equal(truncate(path, 3000), 0);
	assert_int_equal(hes_table_load(path, NULL, &t, &err), -EIO);
	assert_non_null(strstr(err.msg, "truncated gzip file"));
	assert_int_equal(hes_table_load("/nonexistent/x.csv", NULL, &t, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "/nonexistent/x.csv"));
}

TEST(a_header_alone_is_a_table_without_rows)
{
	struct hes_table t;
	struct hes_err err;

	write_file("x,y\n");
	assert_int_equal(hes_table_load(path, NULL, &t, &err), 0);
	assert_int_equal(t.n_rows, 0);
	assert_int_equal(t.n_columns, 2);
	hes_table_free(&t);
}

int main(void)
{
	return run_unit_tests_with_file(path);
}
