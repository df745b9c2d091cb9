/*
 * test_progress.c - the progress of a job, from the file with its output.
 */
#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>

#include "launch/progress.h"
#include "unit_test.h"

#define BENCH_TEST(test) TEST_ON(struct output, o, test, set_up, tear_down)

struct output {
	char path[64];
	int fd;
	struct hes_progress p;
};

static int set_up(void **state)
{
	struct output *o = calloc(1, sizeof(*o));

	snprintf(o->path, sizeof(o->path), "/tmp/test_progress.XXXXXX");
	o->fd = mkostemp(o->path, O_CLOEXEC | O_APPEND);
	*state = o;
	return o->fd < 0 || hes_progress_open(&o->p, NULL, o->path, 0, NULL, NULL);
}

static int tear_down(void **state)
{
	struct output *o = *state;

	hes_progress_close(&o->p);
	close(o->fd);
	unlink(o->path);
	free(o);
	return 0;
}

static void say(struct output *o, const char *text)
{
	assert_int_equal(write(o->fd, text, strlen(text)), (ssize_t)strlen(text));
}

BENCH_TEST(lines_among_others_are_found)
{
	assert_int_equal(hes_progress_read(&o->p), 0);
	assert_false(o->p.known);
	say(o, "epoch 1\nheshare: 20 iterations\nloss 0.3\n");
	assert_int_equal(hes_progress_read(&o->p), 1);
	assert_int_equal(o->p.iterations, 20);
	assert_int_equal(hes_progress_read(&o->p), 0);
	say(o, "heshare: 40 iterations\nheshare: 60 iterations\n");
	assert_int_equal(hes_progress_read(&o->p), 1);
	assert_int_equal(o->p.iterations, 60);
	assert_int_equal(o->p.step, 20);
}

BENCH_TEST(a_line_may_contain_its_time)
{
	say(o, "heshare: 20 iterations in 1.5 s\n");
	assert_int_equal(hes_progress_read(&o->p), 1);
	assert_int_equal(o->p.iterations, 20);
	say(o, "heshare: 30 iterations, or so\nheshare: 40 iterationsin 2 s\n");
	assert_int_equal(hes_progress_read(&o->p), 0);
}

BENCH_TEST(a_line_counts_when_it_is_complete)
{
	say(o, "heshare: 12");
	assert_int_equal(hes_progress_read(&o->p), 0);
	say(o, "34 itera");
	assert_int_equal(hes_progress_read(&o->p), 0);
	say(o, "tions\n");
	assert_int_equal(hes_progress_read(&o->p), 1);
	assert_int_equal(o->p.iterations, 1234);
}

BENCH_TEST(similar_lines_are_not_progress)
{
	static const char *const lines[] = {
		"heshare: iterations\n",     "heshare: -3 iterations\n",
		"heshare: 3.5 iterations\n", " heshare: 3 iterations\n",
		"heshare: 3 iterations.\n",  "heshare: 99999999999999999999 iterations\n",
		"heshare: 3  iterations\n",  "Heshare: 3 iterations\n",
		"heshare: 3 iteration\n",    "heshare: 18446744073709551617 iterations\n"
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		say(o, lines[i]);
		assert_int_equal(hes_progress_read(&o->p), 0);
	}
	assert_false(o->p.known);
}

BENCH_TEST(a_progress_bar_with_carriage_returns_hides_no_line)
{
	say(o, "10 %|#     |\r20 %|##    |\rheshare: 7 iterations\r30 %");
	assert_int_equal(hes_progress_read(&o->p), 1);
	assert_int_equal(o->p.iterations, 7);
}

BENCH_TEST(a_long_line_is_skipped_completely)
{
	char text[10001];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	say(o, text);
	assert_int_equal(hes_progress_read(&o->p), 0);
	say(o, "heshare: 5 iterations\nheshare: 6 iterations\n");
	assert_int_equal(hes_progress_read(&o->p), 1);
	assert_int_equal(o->p.iterations, 6);
	assert_int_equal(o->p.step, 6);
}

static uint64_t count_with(struct output *o, const char *pattern, const char *text)
{
	hes_progress_close(&o->p);
	assert_int_equal(ftruncate(o->fd, 0), 0);
	assert_int_equal(hes_progress_open(&o->p, NULL, o->path, 0, pattern, NULL), 0);
	say(o, text);
	hes_progress_read(&o->p);
	return o->p.known ? o->p.iterations : UINT64_MAX;
}

BENCH_TEST(a_pattern_counts_in_bars_and_over_epochs)
{
	static const char bar[] = "\r 10%|\xe2\x96\x88   | 1/10 [00:01<00:09]"
				  "\r 20%|\xe2\x96\x88   | 2/10 [00:02<00:08]\r";

	assert_int_equal(count_with(o, "(\\d+)/\\d+", bar), 2);
	assert_int_equal(o->p.step, 1);
	assert_true(isnan(o->p.seconds));
	say(o, "10/10\n");
	assert_int_equal(hes_progress_read(&o->p), 1);
	assert_int_equal(o->p.iterations, 10);
	/* The next epoch counts from its start; a count that comes twice is one. */
	say(o, "0/10\n5/10\n5/10\n10/10\n3/10\n");
	assert_int_equal(hes_progress_read(&o->p), 1);
	assert_int_equal(o->p.iterations, 23);
	/* Lines of heshare's own form always count, and then only these. */
	say(o, "heshare: 30 iterations\n4/10\n");
	assert_int_equal(hes_progress_read(&o->p), 1);
	assert_int_equal(o->p.iterations, 30);
	assert_int_equal(count_with(o, NULL, "1/10\n"), UINT64_MAX);
}

BENCH_TEST(the_beginning_of_a_long_line_is_searched)
{
	char text[HES_PROGRESS_LINE_MAX + 32];

	snprintf(text, sizeof(text), "step 7 %*d\n", HES_PROGRESS_LINE_MAX, 0);
	assert_int_equal(count_with(o, "step (\\d+)", text), 7);
	snprintf(text, sizeof(text), "%*d step 7\n", HES_PROGRESS_LINE_MAX, 0);
	assert_int_equal(count_with(o, "step (\\d+)", text), UINT64_MAX);
	assert_int_equal(count_with(o, "step (\\d+)", "\377\1\xfe step 8\xff\n"), 8);
}

/* A program that prints without end costs heshare no more time. */
BENCH_TEST(so_many_lines_are_searched_in_one_look)
{
	count_with(o, "step (\\d+)", "");
	for (int i = 0; i < HES_PROGRESS_SEARCHES - 1; i++)
		say(o, "step 0\n");
	say(o, "step 1\nstep 2\n");
	assert_int_equal(hes_progress_read(&o->p), 1);
	assert_int_equal(o->p.iterations, 1);
	say(o, "step 3\n");
	assert_int_equal(hes_progress_read(&o->p), 1);
	assert_int_equal(o->p.iterations, 3);
}

BENCH_TEST(older_lines_can_be_left_out)
{
	struct hes_progress later;

	say(o, "heshare: 900 iterations\n");
	assert_int_equal(hes_progress_open(&later, NULL, o->path,
					   (uint64_t)lseek(o->fd, 0, SEEK_END), NULL, NULL),
			 0);
	assert_int_equal(hes_progress_read(&later), 0);
	say(o, "heshare: 1 iterations\n");
	assert_int_equal(hes_progress_read(&later), 1);
	assert_int_equal(later.step, 1);
	hes_progress_close(&later);
}

TEST(a_missing_file_is_an_error)
{
	struct hes_progress p = { .fd = -7 };
	struct hes_err err;

	assert_int_equal(hes_progress_open(&p, NULL, "/nowhere/output", 0, NULL, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "/nowhere/output"));
	assert_int_equal(p.fd, -7);
}

TEST(a_pipe_in_place_of_the_file_is_refused_at_once)
{
	char folder[] = "/tmp/test_progress.XXXXXX", pipe[64], link[64];
	struct hes_progress p = { .fd = -7 };
	struct hes_err err;

	assert_non_null(mkdtemp(folder));
	snprintf(pipe, sizeof(pipe), "%s/pipe", folder);
	snprintf(link, sizeof(link), "%s/link", folder);
	assert_int_equal(mkfifo(pipe, 0600), 0);
	assert_int_equal(symlink("/etc/passwd", link), 0);
	alarm(60);
	assert_int_equal(hes_progress_open(&p, NULL, pipe, 0, NULL, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "not a plain file"));
	assert_int_equal(hes_progress_open(&p, NULL, link, 0, NULL, &err), -EINVAL);
	assert_int_equal(hes_progress_open(&p, NULL, folder, 0, NULL, &err), -EINVAL);
	assert_int_equal(p.fd, -7);
	alarm(0);
	unlink(pipe);
	unlink(link);
	rmdir(folder);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
