/* test_csv.c - CSV reading: quoting, errors that name their place. */
#include "base/csv.h"
#include "unit_test.h"

static char path[] = "/tmp/hes-csv-XXXXXX";

static void write_file(const char *text)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_int_equal(fputs(text, f) < 0, 0);
	fclose(f);
}

TEST(quoted_fields_keep_commas_quotes_and_newlines)
{
	struct hes_csv *c;
	struct hes_err err;

	write_file("a,b\n\"x,\"\"y\"\"\n2\",7\r\n");
	assert_int_equal(hes_csv_open(path, &c, &err), 0);
	assert_int_equal(hes_csv_next(c, &err), 1);
	assert_string_equal(hes_csv_text(c, 0), "x,\"y\"\n2");
	assert_string_equal(hes_csv_text(c, 1), "7");
	assert_int_equal(hes_csv_next(c, &err), 0);
	hes_csv_close(c);
}

TEST(an_error_names_file_line_column_and_value)
{
	struct hes_csv *c;
	struct hes_err err;
	double v = 42;

	write_file("time_s\n1\nnan\n");
	assert_int_equal(hes_csv_open(path, &c, &err), 0);
	assert_int_equal(hes_csv_next(c, &err), 1);
	assert_int_equal(hes_csv_double(c, 0, 0, 9, &v, &err), 0);
	assert_int_equal(hes_csv_next(c, &err), 1);
	assert_true(hes_csv_double(c, 0, 0, 9, &v, &err) < 0);
	assert_true(v == 1); /* untouched */
	assert_non_null(strstr(err.msg, ":3: time_s: \"nan\""));
	hes_csv_close(c);
}

TEST(short_rows_empty_files_and_missing_columns_are_refused)
{
	struct hes_csv *c;
	struct hes_err err;

	write_file("");
	assert_true(hes_csv_open(path, &c, &err) < 0);
	assert_non_null(strstr(err.msg, "empty file"));
	write_file("\n\n\n");
	assert_true(hes_csv_open(path, &c, &err) < 0);
	assert_non_null(strstr(err.msg, "empty file"));
	write_file("\n\r\na,b\n1,2\n");
	assert_int_equal(hes_csv_open(path, &c, &err), 0);
	assert_int_equal(hes_csv_next(c, &err), 1);
	assert_string_equal(hes_csv_text(c, 1), "2");
	assert_int_equal(hes_csv_line(c), 4);
	hes_csv_close(c);
	write_file("a,b\n1\n");
	assert_int_equal(hes_csv_open(path, &c, &err), 0);
	assert_true(hes_csv_column(c, "zz", &err) < 0);
	assert_non_null(strstr(err.msg, "there are: a, b"));
	assert_true(hes_csv_next(c, &err) < 0);
	assert_non_null(strstr(err.msg, ":2: 1 fields where the header has 2"));
	hes_csv_close(c);
	write_file("a,b,,a,\n1,2,3,4,5\n");
	assert_true(hes_csv_open(path, &c, &err) < 0);
	assert_non_null(strstr(err.msg, ":1: column \"a\" is there twice"));
	write_file("a,b,,\n1,2,3,4\n");
	assert_int_equal(hes_csv_open(path, &c, &err), 0);
	hes_csv_close(c);
}

/* "/etc:1: Is a directory" it once said. */
TEST(a_folder_is_refused_without_a_line)
{
	struct hes_csv *c;
	struct hes_err err;

	assert_int_equal(hes_csv_open("/", &c, &err), -EISDIR);
	assert_string_equal(err.msg, "/: Is a directory");
}

static void write_times(const char *first, const char *line, size_t times)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	fputs(first, f);
	for (size_t i = 0; i < times; i++)
		fputs(line, f);
	fclose(f);
}

/* A few kilobytes of gzip can hold gigabytes of them. */
TEST(blank_lines_are_skipped_up_to_a_bound)
{
	struct hes_csv *c;
	struct hes_err err;

	write_times("a,b\n1,2\n", "\n", HES_CSV_MAX_BLANK);
	assert_int_equal(hes_csv_open(path, &c, &err), 0);
	assert_int_equal(hes_csv_next(c, &err), 1);
	assert_int_equal(hes_csv_next(c, &err), 0);
	hes_csv_close(c);
	write_times("a,b\n1,2\n", "\r\n", HES_CSV_MAX_BLANK + 1);
	assert_int_equal(hes_csv_open(path, &c, &err), 0);
	assert_int_equal(hes_csv_next(c, &err), 1);
	assert_int_equal(hes_csv_next(c, &err), -E2BIG);
	assert_non_null(strstr(err.msg, ":100003: more than 100000 blank lines"));
	hes_csv_close(c);
}

TEST(a_file_has_at_most_the_bytes_of_its_kind)
{
	struct hes_csv *c;
	struct hes_err err;
	int rc;

	write_times("a,b\n", "1234567,1234567\n", (1 << 16) + 1);
	assert_int_equal(hes_csv_open(path, &c, &err), 0);
	hes_csv_bound(c, 1 << 20);
	while ((rc = hes_csv_next(c, &err)) == 1)
		;
	assert_int_equal(rc, -EFBIG);
	assert_non_null(strstr(err.msg, "more than 1 MiB, unpacked; no file of this kind has"));
	hes_csv_close(c);
}

int main(void)
{
	return run_unit_tests_with_file(path);
}
