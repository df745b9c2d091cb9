/* test_lane.c - the speed of a job, from its progress lines and the times of reading them. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>

#include "profile/lane.h"
#include "unit_test.h"

static const struct hes_profiled job = { .workload = "net", .batch_size = 1 };

/* A job that runs, and the end at which it prints. */
static struct lane lane_of(int *printer)
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
	*printer = ends[1];
	return (struct lane){ .job = &job, .fd = ends[0], .child.pidfd = -1, .runs = 1 };
}

static void says(struct lane *l, int printer, double now_s, const char *text)
{
	assert_int_equal(write(printer, text, strlen(text)), strlen(text));
	assert_int_equal(lane_look(l, now_s, NULL), 0);
}

TEST(a_window_counts_from_the_last_line_before_it)
{
	int printer;
	struct lane l = lane_of(&printer);

	says(&l, printer, 1, "heshare: 100 iterations\n");
	lane_window(&l);
	says(&l, printer, 3, "loss 0.1\nheshare: 300 iterations\n");
	assert_true(l.iterations == 200 && l.seconds == 2 && l.gaps == 1);
	assert_string_equal(l.last_line, "loss 0.1");
	close(printer);
	close(l.fd);
}

/* A buffer of the job's gives many lines at once: 300 iterations took 2 s here, not 100. */
TEST(lines_that_arrive_together_lose_no_iterations)
{
	int printer;
	struct lane l = lane_of(&printer);

	says(&l, printer, 1,
	     "heshare: 100 iterations\nheshare: 200 iterations\nheshare: 300 iterations\n");
	says(&l, printer, 3,
	     "heshare: 400 iterations\nheshare: 500 iterations\nheshare: 600 iterations\n");
	says(&l, printer, 5, "heshare: 700 iterations\n");
	assert_true(l.iterations == 600 && l.seconds == 4 && l.gaps == 2);
	close(printer);
	close(l.fd);
}

TEST(a_repeated_count_takes_time_without_progress)
{
	int printer;
	struct lane l = lane_of(&printer);

	says(&l, printer, 1, "heshare: 10 iterations\n");
	says(&l, printer, 2, "heshare: 10 iterations\n");
	assert_true(l.moved_s == 1 && l.gaps == 0);
	says(&l, printer, 3, "heshare: 11 iterations\n");
	assert_true(l.iterations == 1 && l.seconds == 2 && l.moved_s == 3);
	close(printer);
	close(l.fd);
}

TEST(a_wrong_clock_of_the_job_is_ignored)
{
	int printer;
	struct lane l = lane_of(&printer);

	says(&l, printer, 1, "heshare: 10 iterations in 7.0 s\n");
	says(&l, printer, 2, "heshare: 20 iterations in 7.5 s\n");
	assert_true(l.iterations == 10 && l.seconds == 0.5);
	says(&l, printer, 4, "heshare: 30 iterations in inf s\n");
	assert_true(l.iterations == 20 && l.seconds == 2.5);
	says(&l, printer, 5, "heshare: 40 iterations in -3 s\n");
	assert_true(l.iterations == 30 && l.seconds == 3.5);
	close(printer);
	close(l.fd);
}

TEST(the_start_ends_when_the_work_begins_that_the_first_line_reports)
{
	int printer;
	struct lane l = lane_of(&printer);

	l.begun_s = 1;
	l.start_s = NAN;
	says(&l, printer, 9, "loading\n");
	assert_true(isnan(l.start_s));
	says(&l, printer, 10, "heshare: 10 iterations in 0.5 s\n");
	says(&l, printer, 11, "heshare: 20 iterations in 1.5 s\n");
	assert_true(l.start_s == 8.5);
	close(printer);
	close(l.fd);
}

TEST(the_time_in_which_a_job_is_stopped_belongs_to_no_window)
{
	const struct hes_launch launch = { .shell = "sleep 1000", .output_fd = -1 };
	int printer, pidfd;
	struct lane l = lane_of(&printer);

	says(&l, printer, 1, "heshare: 100 iterations\n");
	lane_settle(&l, 1);
	assert_int_equal(write(printer, "heshare: 140 iterations\n", 24), 24);
	/* One that cannot be stopped is not waiting: it may work on. */
	assert_int_equal(lane_stop(&l, 2), -ESRCH);
	assert_true(l.lines == 1 && l.state != LANE_STOPPED);
	assert_int_equal(hes_child_fork(&launch, &l.child, NULL), 0);
	assert_int_equal(hes_child_go(&l.child, NULL), 0);
	assert_int_equal(lane_stop(&l, 2), 0);
	assert_true(l.lines == 2 && l.state == LANE_STOPPED);
	lane_continue(&l, 50);
	pidfd = l.child.pidfd;
	l.child.pidfd = -1;
	says(&l, printer, 51, "heshare: 150 iterations\n");
	lane_settle(&l, 51);
	says(&l, printer, 53, "heshare: 190 iterations\n");
	assert_true(l.iterations == 40 && l.seconds == 2 && l.moved_s == 53);
	l.child.pidfd = pidfd;
	hes_child_drop(&l.child);
	close(printer);
	close(l.fd);
}

/* Else a poll on it would return at once, again and again. */
TEST(a_progress_bar_with_carriage_returns_is_read)
{
	int printer;
	struct lane l = lane_of(&printer);

	says(&l, printer, 1, "\rheshare: 100 iterations\r 10 %");
	says(&l, printer, 3, "\rheshare: 300 iterations\r 30 %");
	assert_true(l.iterations == 200 && l.seconds == 2);
	assert_string_equal(l.last_line, " 10 %");
	close(printer);
	close(l.fd);
}

static const char *why_no_progress(const struct lane *l)
{
	static struct hes_err err;

	assert_int_equal(lane_no_progress(l, -ETIME, "stands still", &err), -ETIME);
	return err.msg;
}

TEST(missing_progress_is_explained_by_what_came)
{
	static const struct hes_profiled counted = { .workload = "net",
						     .batch_size = 1,
						     .iterations = 50 };
	int printer;
	struct lane l = lane_of(&printer);

	assert_non_null(strstr(why_no_progress(&l),
			       "net at batch size 1 stands still: it printed "
			       "nothing, where lines \"heshare: N iterations\""));
	assert_non_null(strstr(why_no_progress(&l), "flush=True"));
	assert_non_null(strstr(why_no_progress(&l), "stdbuf -oL"));
	/* A dot is no sign of flushing. */
	says(&l, printer, 1, ".");
	assert_non_null(strstr(why_no_progress(&l), "it printed 1 byte but no line"));
	assert_non_null(strstr(why_no_progress(&l), "its last line: .; programs hold back"));
	assert_non_null(strstr(why_no_progress(&l), "flush=True"));
	says(&l, printer, 1, "\nstep 5\n");
	assert_non_null(strstr(why_no_progress(&l), "it printed 9 bytes but no line \"heshare: N "
						    "iterations\""));
	assert_non_null(strstr(why_no_progress(&l), "its last line: step 5"));
	says(&l, printer, 1, "heshare: 9 iterations\n");
	assert_non_null(strstr(why_no_progress(&l), "its last progress line says 9 iterations"));
	/* With -n lines do not count. */
	l.job = &counted;
	assert_non_null(
		strstr(why_no_progress(&l), "progress lines are ignored, though it prints some"));
	close(printer);
	close(l.fd);
}

TEST(a_closed_output_is_dropped)
{
	int printer;
	struct lane l = lane_of(&printer);

	says(&l, printer, 1, "heshare: 10 iterations\n");
	assert_true(l.fd >= 0);
	close(printer);
	assert_int_equal(lane_look(&l, 2, NULL), 0);
	assert_int_equal(l.fd, -1);
	assert_int_equal(lane_look(&l, 3, NULL), 0);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
