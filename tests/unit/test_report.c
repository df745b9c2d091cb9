/* test_report.c - reports and figures. With a file name as argument, leaves the sample report there
 * to look at. */
#include <sys/stat.h>

#include "base/file.h"
#include "report/place.h"
#include "report/text.h"
#include "report_sample.h"
#include "unit_test.h"

static char dir[] = "/tmp/hes-report-XXXXXX";
static char path[64];

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/report", dir);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir); /* fails if a test left something behind */
}

static struct sample s;
static char *text;

/* After a test: what it left in s and text. */
static int finish(void **state)
{
	(void)state;
	free(text);
	text = NULL;
	sample_finish(&s);
	return 0;
}

static char *slurp(void)
{
	char *content = NULL;
	size_t len;
	struct hes_err err;

	assert_int_equal(hes_file_slurp(path, 64 << 20, &content, &len, &err), 0);
	unlink(path);
	return content;
}

static char *report_of(const struct sample *of)
{
	struct hes_err err = { 0 };

	if (hes_report_write(path, &of->report, &err))
		fail_msg("%s", err.msg);
	return slurp();
}

static size_t count(const char *in, const char *what)
{
	size_t n = 0;

	for (const char *p = in; (p = strstr(p, what)); p += strlen(what))
		n++;
	return n;
}

static void name_end(const char *p, char *out)
{
	size_t n = strcspn(p, " />\t\n");

	assert_true(n < 32);
	memcpy(out, p, n);
	out[n] = '\0';
}

/* Every element closed by its own name, in order; what a browser would forgive is not forgiven. */
static void assert_well_formed(const char *markup)
{
	char open[64][32];
	size_t depth = 0;

	for (const char *p = markup; (p = strchr(p, '<')); p++) {
		const char *end = strchr(p, '>');
		char name[32];

		assert_non_null(end);
		if (p[1] == '!' || p[1] == '?')
			continue;
		if (p[1] == '/') {
			name_end(p + 2, name);
			assert_true(depth > 0);
			assert_string_equal(name, open[--depth]);
		} else if (end[-1] != '/') {
			assert_true(depth < 64);
			name_end(p + 1, open[depth++]);
		}
		assert_null(memchr(p + 1, '<', (size_t)(end - p - 1)));
	}
	assert_int_equal(depth, 0);
}

TEST_WITH(a_report_names_every_job_and_gpu_and_has_all_figures, NULL, finish)
{
	sample_init(&s, sample_fleet, 60, 7);
	s.report.derived = "A<40";
	text = report_of(&s);
	assert_well_formed(text);
	assert_int_equal(count(text, "<dt>derived</dt><dd>from data sheets, not fitted to "
				     "measurements: A&lt;40</dd>"),
			 1);
	assert_int_equal(count(text, "<svg "), HES_FIGURES);
	for (size_t i = 0; i < s.jobs.n; i++) {
		char cell[96];

		snprintf(cell, sizeof(cell), ">%s<", s.jobs.v[i].id);
		assert_true(count(text, cell) >= 1);
		snprintf(cell, sizeof(cell), "<title>%s: ", s.jobs.v[i].id);
		assert_int_equal(count(text, cell), 1);
	}
	for (size_t i = 0; i < s.fleet.n; i++) /* three figures and a table */
		assert_true(count(text, s.fleet.gpus[i].name) >= 4);
}

TEST_WITH(a_report_needs_nothing_from_elsewhere, NULL, finish)
{
	static const char *const fetchers[] = { "src=", "<script", "<link", "@import",
						"url(", "<iframe", "https:" };

	sample_init(&s, sample_fleet, 10, 7);
	text = report_of(&s);
	for (size_t i = 0; i < sizeof(fetchers) / sizeof(fetchers[0]); i++)
		assert_null(strstr(text, fetchers[i]));
	assert_int_equal(count(text, "http:"), count(text, "=\"http://www.w3.org/"));
}

TEST_WITH(the_same_input_gives_the_same_bytes, NULL, finish)
{
	char *first, *second;

	sample_init(&s, sample_fleet, 40, 3);
	first = report_of(&s);
	second = report_of(&s);
	assert_string_equal(first, second);
	assert_null(strstr(first, "Produced by"));
	free(first);
	free(second);
}

TEST_WITH(the_dark_style_has_every_colour_of_a_figure, NULL, finish)
{
	char *dark, *figure;

	sample_init(&s, sample_fleet, 40, 3);
	text = report_of(&s);
	figure = strstr(text, "<svg ");
	dark = strstr(text, "prefers-color-scheme:dark){\nsvg ");
	assert_non_null(dark);
	for (const char *p = figure; (p = strstr(p, "=\"#")); p++) {
		char rule[32];

		if (strncmp(p - 4, "href", 4) == 0)
			continue;
		snprintf(rule, sizeof(rule), "[fill=\"%.7s\"]", p + 2);
		assert_non_null(strstr(dark, rule));
	}
	assert_null(strstr(figure, "rgb("));
}

/* Names that would break HTML, SVG, gnuplot's strings, its substitution or its data blocks. */
static const char *const nasty[] = {
	"<script>alert(1)</script>",
	"a&b;\"q\"'s'",
	"`touch pwned`",
	"@0@",
	"$d0",
	"EOD",
	"back\\slash\\n",
	"under_score^{x}",
	"new\nline\ttab",
	"caf\xC3\xA9 \xE6\x97\xA5\xE6\x9C\xAC",
	"broken\xFF\xC3",
	"%s%n",
	"]]>",
	"rgb(1,2,3)",
	"\u202ereversed",
	"system('x')",
	"</svg>",
	"{/Bold x}",
};

#define N_NASTY (sizeof(nasty) / sizeof(nasty[0]))

TEST_WITH(names_are_never_markup, NULL, finish)
{
	sample_init(&s, sample_fleet, 60, 7);
	for (size_t i = 0; i < s.jobs.n; i++) {
		snprintf(s.jobs.v[i].id, HES_NAME_MAX, "%s", nasty[i % N_NASTY]);
		snprintf(s.jobs.v[i].workload, HES_NAME_MAX, "%s", nasty[(i + 5) % N_NASTY]);
	}
	snprintf(s.fleet.gpus[0].name, HES_NAME_MAX, "%s", nasty[0]);
	s.report.title = "<b>&`id`";
	s.report.command = "x </code><script>";
	text = report_of(&s);
	assert_well_formed(text);
	assert_null(strstr(text, "<script"));
	assert_null(strstr(text, "<b>&"));
	assert_non_null(strstr(text, "&lt;script&gt;alert(1)&lt;/script&gt;: "));
	assert_non_null(strstr(text, "caf\xC3\xA9 \xE6\x97\xA5\xE6\x9C\xAC"));
	assert_non_null(strstr(text, "new\xEF\xBF\xBDline\xEF\xBF\xBDtab"));
	assert_non_null(strstr(text, "broken\xEF\xBF\xBD\xEF\xBF\xBD<"));
	assert_non_null(strstr(text, ">@0@<"));
	assert_non_null(strstr(text, ">rgb(1,2,3)<"));
	assert_null(strchr(text, '\xFF'));
	assert_null(strstr(text, "\xE2\x80\xAE"));
}

TEST_WITH(one_gpu_and_one_job_are_enough, NULL, finish)
{
	sample_init(
		&s,
		"name: edge\nnodes:\n  - name: box\n    gpus: [ { type: Jetson-TX2, count: 1 } ]\n",
		1, 1);
	s.report.front = NULL;
	s.report.n_policies = 1;
	s.report.chosen = s.report.reference = 0;
	text = report_of(&s);
	assert_well_formed(text);
	assert_int_equal(count(text, "<svg "), HES_FIGURES);
	assert_null(strstr(text, "nan"));
	assert_null(strstr(text, "% against "));
}

TEST_WITH(a_replay_without_jobs_is_still_a_report, NULL, finish)
{
	sample_init(&s, sample_fleet, 0, 1);
	text = report_of(&s);
	assert_well_formed(text);
	assert_int_equal(count(text, "<svg "), HES_FIGURES - 1); /* no completion times */
}

static double height_of(const char *report, const char *figure)
{
	const char *p = strstr(report, figure);
	double height = 0;

	assert_non_null(p);
	p = strstr(p, " height=\"");
	assert_non_null(p);
	assert_int_equal(sscanf(p, " height=\"%lf", &height), 1);
	return height;
}

TEST_WITH(the_gantt_chart_grows_with_the_fleet, NULL, finish)
{
	double eight;

	sample_init(&s, sample_fleet, 60, 7);
	text = report_of(&s);
	eight = height_of(text, "<section id=\"gantt\"");
	free(text);
	sample_finish(&s);
	sample_init(&s,
		    "name: big\nnodes:\n  - name: a\n    gpus: [ { type: T4, count: 40 } ]\n"
		    "  - name: b\n    gpus: [ { type: H100-SXM, count: 24 } ]\n",
		    400, 7);
	text = report_of(&s);
	assert_well_formed(text);
	assert_true(height_of(text, "<section id=\"gantt\"") > 2 * eight);
	assert_non_null(strstr(text, ">b/23<"));
}

/* Jobs admitted as shares free, with no barrier between batches. */
TEST_WITH(bands_never_overlap_where_shares_become_free_one_by_one, NULL, finish)
{
	static const struct {
		uint32_t sm_pct;
		int64_t start_s, end_s;
	} placed[] = {
		{ 40, 0, 100 },
		{ 30, 0, 50 },
		{ 30, 0, 200 },
		{ 60, 100, 300 },
	};

	sample_init(&s, "name: x\nnodes:\n  - name: a\n    gpus: [ { type: T4, count: 1 } ]\n", 4,
		    1);
	for (size_t i = 0; i < 4; i++) {
		s.replay.jobs[i] = (struct hes_outcome){ .sm_pct = placed[i].sm_pct,
							 .clock_mhz = 1590,
							 .start_us = placed[i].start_s * 1000000,
							 .end_us = placed[i].end_s * 1000000 };
	}
	s.replay.totals.makespan_us = 300 * 1000000LL;
	text = report_of(&s);
	/* 0..40, 40..70, 70..100; the fourth finds 0..70 free. */
	assert_true(height_of(text, "<section id=\"gantt\"") < 185);
	free(text);
	s.replay.jobs[1].end_us =
		200 * 1000000LL; /* now only 0..40 is: it goes on top, the row grows */
	text = report_of(&s);
	assert_true(height_of(text, "<section id=\"gantt\"") > 235);
}

TEST_WITH(each_figure_is_a_file_of_its_own, NULL, finish)
{
	struct hes_err err;

	sample_init(&s, sample_fleet, 60, 7);
	for (enum hes_figure i = 0; i < HES_FIGURES; i++) {
		char *figure;

		assert_int_equal(hes_report_figure(path, i, &s.report, &err), 0);
		figure = slurp();
		assert_well_formed(figure);
		assert_int_equal(strncmp(figure, "<?xml ", 6), 0);
		assert_int_equal(count(figure, "<svg "), 1);
		assert_non_null(strstr(figure, "prefers-color-scheme:dark"));
		free(figure);
	}
}

TEST_WITH(without_gnuplot_the_error_names_the_package_and_no_file_is_left, NULL, finish)
{
	struct hes_err err = { 0 };
	char *saved = strdup(getenv("PATH"));

	sample_init(&s, sample_fleet, 10, 7);
	setenv("PATH", dir, 1);
	assert_int_equal(hes_report_write(path, &s.report, &err), -ENOENT);
	setenv("PATH", saved, 1);
	assert_non_null(strstr(err.msg, "gnuplot-nox"));
	assert_int_equal(access(path, F_OK), -1);
	free(saved);
}

TEST_WITH(a_gnuplot_that_fails_is_quoted_and_leaves_the_old_file, NULL, finish)
{
	struct hes_err err = { 0 };
	char *saved = strdup(getenv("PATH")), fake[96];
	FILE *f;

	snprintf(fake, sizeof(fake), "%s/gnuplot", dir);
	f = fopen(fake, "we");
	fputs("#!/bin/sh\necho line 0: no such terminal >&2\nexit 3\n", f);
	fclose(f);
	chmod(fake, 0700);
	f = fopen(path, "we");
	fputs("old", f);
	fclose(f);
	sample_init(&s, sample_fleet, 10, 7);
	setenv("PATH", dir, 1);
	assert_int_equal(hes_report_write(path, &s.report, &err), -EIO);
	setenv("PATH", saved, 1);
	unlink(fake);
	assert_non_null(strstr(err.msg, "status 3: line 0: no such terminal"));
	text = slurp();
	assert_string_equal(text, "old");
	free(saved);
}

TEST_WITH(parts_that_do_not_belong_together_are_refused, NULL, finish)
{
	struct hes_err err;

	sample_init(&s, sample_fleet, 10, 7);
	s.jobs.n = 9;
	assert_int_equal(hes_report_write(path, &s.report, &err), -EINVAL);
	s.jobs.n = 10;
	s.replay.jobs[3].gpu = 8;
	assert_int_equal(hes_report_write(path, &s.report, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "job 3 ran on GPU 8 of 8"));
	s.replay.jobs[3].gpu = 0;
	s.report.chosen = 10;
	assert_int_equal(hes_report_write(path, &s.report, &err), -EINVAL);
	s.report.chosen = 8;
	s.front.v[2].energy_j = -1.0 / 0.0;
	assert_int_equal(hes_report_write(path, &s.report, &err), -EINVAL);
	assert_int_equal(access(path, F_OK), -1);
}

TEST_WITH(an_unwritable_place_is_named, NULL, finish)
{
	struct hes_err err;

	sample_init(&s, sample_fleet, 10, 7);
	assert_int_equal(hes_report_write("/nonexistent/r.html", &s.report, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "/nonexistent/r.html"));
}

TEST(quantities_are_printed_with_units_and_digits_for_people)
{
	char out[QUANTITY_MAX];

	assert_string_equal(format_number(out, 1234567.8, 1), "1\u202f234\u202f567.8");
	assert_string_equal(format_number(out, -999.6, 0), "\u22121\u202f000");
	assert_string_equal(format_number(out, -0.004, 2), "0.00");
	assert_string_equal(format_time(out, 83.2e6), "1\u202fmin\u202f23\u202fs");
	assert_string_equal(format_time(out, -5400e6), "\u22121\u202fh\u202f30\u202fmin");
	assert_string_equal(format_energy(out, 5.8e9), "5.80\u202fMJ");
	assert_string_equal(format_energy(out, 58e9), "58.0\u202fMJ");
	assert_string_equal(format_power(out, 1.2e6), "1\u202f200\u202fW");
	assert_string_equal(format_change(out, 74, 100), "\u221226.0\u202f%");
	assert_string_equal(format_change(out, 103, 100), "+3.0\u202f%");
	assert_string_equal(format_change(out, 100.01, 100), "0.0\u202f%");
	assert_string_equal(format_change(out, 1, 0), "\u2013");
}

TEST(text_is_cut_between_characters)
{
	char out[64];

	assert_true(text_fit(out, sizeof(out), "job-0042", 10, 1000));
	assert_string_equal(out, "job-0042");
	assert_true(text_fit(out, sizeof(out), "\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9",
			     10, 40));
	assert_string_equal(out, "\u00e9\u00e9\u00e9\u00e9\u2026");
	assert_true(text_width(out, 10) <= 40);
	assert_true(text_fit_tail(out, sizeof(out), "job-0042", 10, 36));
	assert_string_equal(out, "\u20260042");
	assert_false(text_fit(out, sizeof(out), "job-0042", 10, 12));
	assert_string_equal(out, "");
	assert_false(text_fit_tail(out, sizeof(out), "job-0042", 10, 12));
}

static bool apart(const struct box *a, const struct box *b)
{
	return a->x + a->w <= b->x || b->x + b->w <= a->x || a->y + a->h <= b->y ||
	       b->y + b->h <= a->y;
}

TEST(labels_of_close_points_do_not_overlap)
{
	const struct box bounds = { 0, 0, 400, 300 };
	struct place_label l[8];

	for (size_t i = 0; i < 8; i++)
		l[i] = (struct place_label){ .x = 380 - 3.0 * (double)i,
					     .y = 150 + 4.0 * (double)(i % 3),
					     .w = 70,
					     .h = 16 };
	place_labels(l, 8, NULL, 0, &bounds);
	for (size_t i = 0; i < 8; i++) {
		assert_true(l[i].at.x >= 0 && l[i].at.x + l[i].at.w <= 400);
		for (size_t j = i + 1; j < 8; j++)
			assert_true(apart(&l[i].at, &l[j].at));
	}
}

static int show(const char *file)
{
	struct hes_err err;
	int rc;

	sample_init(&s, sample_fleet, 60, 7);
	rc = hes_report_write(file, &s.report, &err);
	if (rc)
		fprintf(stderr, "%s\n", err.msg);
	sample_finish(&s);
	return rc ? 1 : 0;
}

int main(int argc, char **argv)
{
	if (argc == 2)
		return show(argv[1]);
	return run_unit_tests(set_up, tear_down);
}
