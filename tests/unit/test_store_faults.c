/* test_store_faults.c - the store when processes die, write at once, lack rights or room: what was
 * acknowledged is there, nothing else is. */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include <sqlite3.h>

#include "base/rng.h"
#include "store_bench.h"
#include "unit_test.h"

enum { ROWS = 40 }; /* of a delivery */

static struct hes_sample sample(uint32_t delivery, uint32_t i)
{
	struct hes_sample s = {
		.task = { .workload = "net",
			  .gpu_type = "T4",
			  .batch_size = 4,
			  .iteration_us = 1000,
			  .power_mw = 60000 },
		.sm_pct = 50,
		.clock_mhz = 1000,
		.iteration_us = 2000.0 + delivery,
		.power_mw = 80000 + i,
	};

	return s;
}

/* Deliver number @delivery, ROWS samples of its own. */
static int deliver(struct hes_store *s, uint32_t delivery, struct hes_delivered *done,
		   struct hes_err *err)
{
	struct hes_sample v[ROWS];
	struct hes_samples samples = { .v = v, .n = ROWS };
	struct hes_delivery d = { .source = HES_SOURCE_MEASURED,
				  .at_us = delivery,
				  .name = "here",
				  .samples = &samples };

	for (uint32_t i = 0; i < ROWS; i++)
		v[i] = sample(delivery, i);
	return hes_store_add(s, &d, done, err);
}

static size_t count(struct hes_store *s)
{
	const struct hes_store_query all = { 0 };
	struct hes_samples got = { 0 };
	struct hes_err err = { 0 };
	size_t n;

	if (hes_store_samples(s, &all, &got, &err))
		fail_msg("%s", err.msg);
	n = got.n;
	hes_samples_free(&got);
	return n;
}

/* In a child: deliver from @first on and write a byte after each, until killed or @n are done. */
static void deliver_many(uint32_t first, uint32_t n, int acknowledge)
{
	struct hes_store *s;
	struct hes_delivered done;

	if (hes_store_open(store_path, HES_STORE_WRITE, 60000, &s, NULL))
		_exit(1);
	for (uint32_t i = 0; i < n; i++)
		if (deliver(s, first + i, &done, NULL) || write(acknowledge, "+", 1) != 1)
			_exit(1);
	hes_store_close(s);
	_exit(0);
}

/* Read acknowledgements until there are @most or the writer's end is closed. */
static uint32_t acknowledged(int fd, uint32_t most)
{
	uint32_t n = 0;
	char c;

	while (n < most && read(fd, &c, 1) == 1)
		n++;
	return n;
}

/* Kill a writer @us after its delivery number @after is kept. @return how many deliveries were
 * acknowledged */
static uint32_t kill_writer(uint32_t first, uint32_t after, uint32_t us)
{
	const struct timespec wait = { us / 1000000, us % 1000000 * 1000 };
	int pipe_fd[2], status;
	uint32_t n;
	pid_t pid;

	assert_int_equal(pipe2(pipe_fd, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		deliver_many(first, 100000, pipe_fd[1]);
	close(pipe_fd[1]);
	n = acknowledged(pipe_fd[0], after);
	nanosleep(&wait, NULL);
	kill(pid, SIGKILL);
	n += acknowledged(pipe_fd[0], UINT32_MAX);
	close(pipe_fd[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	return n;
}

/* The first kills come while the store is being made. */
TEST_WITH(no_acknowledged_row_is_lost_when_the_writer_is_killed, store_set_up, store_tear_down)
{
	uint32_t kept = 0, first = 0;
	struct hes_rng rng;

	hes_rng_seed(&rng, 1);
	for (uint32_t round = 0; round < 12; round++) {
		uint32_t n = kill_writer(first, round < 4 ? 0 : round / 2,
					 (uint32_t)hes_rng_below(&rng, 10000));
		struct hes_store *s = store_opened(HES_STORE_WRITE);
		struct hes_delivered done;
		size_t rows = count(s);

		/* One more may be on the disk, with all of its rows, whose acknowledgement did not
		 * get out. */
		assert_true(rows == (kept + n) * ROWS || rows == (kept + n + 1) * ROWS);
		for (uint32_t i = 0; i < n; i++) {
			assert_int_equal(deliver(s, first + i, &done, NULL), 0);
			assert_int_equal(done.samples_new, 0);
		}
		kept = (uint32_t)(rows / ROWS);
		first += n + 1;
		hes_store_close(s);
	}
	print_message("12 kills, %u deliveries kept\n", kept);
	assert_true(kept > 12);
}

TEST_WITH(writers_at_once_wait_for_one_another, store_set_up, store_tear_down)
{
	enum { WRITERS = 4, EACH = 15, APART = 5 };
	int pipe_fd[2], status;
	struct hes_store *s;
	pid_t pids[WRITERS];

	assert_int_equal(pipe2(pipe_fd, O_CLOEXEC), 0);
	for (uint32_t w = 0; w < WRITERS; w++) {
		pids[w] = fork();
		if (pids[w] == 0)
			deliver_many(w * APART, EACH, pipe_fd[1]); /* most rows are another's too */
	}
	close(pipe_fd[1]);
	assert_int_equal(acknowledged(pipe_fd[0], UINT32_MAX), WRITERS * EACH);
	close(pipe_fd[0]);
	for (size_t w = 0; w < WRITERS; w++) {
		assert_int_equal(waitpid(pids[w], &status, 0), pids[w]);
		assert_int_equal(status, 0);
	}
	s = store_opened(HES_STORE_WRITE);
	assert_int_equal(count(s), ((WRITERS - 1) * APART + EACH) * ROWS);
	hes_store_close(s);
}

TEST_WITH(a_locked_store_gives_an_error_after_the_wait, store_set_up, store_tear_down)
{
	struct hes_delivered done = { .origin = 77 };
	struct hes_store *s = store_opened(HES_STORE_WRITE), *t = NULL;
	struct hes_err err = { 0 };
	sqlite3 *other;

	hes_store_close(s);
	assert_int_equal(hes_store_open(store_path, HES_STORE_WRITE, 30, &s, &err), 0);
	assert_int_equal(sqlite3_open(store_path, &other), SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(deliver(s, 1, &done, &err), -EBUSY);
	assert_non_null(strstr(
		err.msg, "another program has been writing to it for 0.03 s; nothing was changed"));
	assert_int_equal(done.origin, 77);
	assert_int_equal(count(s), 0); /* readers do not wait */
	sqlite3_exec(other, "COMMIT; PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE",
		     NULL, NULL, NULL);
	sqlite3_close(other);
	assert_int_equal(deliver(s, 1, &done, &err), 0);
	assert_int_equal(count(s), ROWS);
	hes_store_close(s);
	assert_int_equal(hes_store_open(store_path, HES_STORE_WRITE, 30, &t, &err), 0);
	hes_store_close(t);
}

/* In a child, whose limit is its own: deliver until the file may not grow. @return the exit status
 */
static int fill_up(void)
{
	const struct rlimit limit = { 200000, 200000 };
	struct hes_store *s = NULL;
	struct hes_delivered done;
	struct hes_err err = { 0 };
	uint32_t n = 0;
	int rc;

	signal(SIGXFSZ, SIG_IGN);
	if (hes_store_open(store_path, HES_STORE_WRITE, 1000, &s, &err) ||
	    setrlimit(RLIMIT_FSIZE, &limit))
		return 100;
	while (n < 90 && (rc = deliver(s, n, &done, &err)) == 0)
		n++;
	if (n == 90 || (rc != -EFBIG && rc != -ENOSPC && rc != -EIO) ||
	    !strstr(err.msg, "nothing was changed"))
		return 101;
	/* The store still answers, and holds what it said it does. */
	rc = count(s) == n * ROWS ? (int)n : 102;
	hes_store_close(s);
	return rc;
}

TEST_WITH(a_store_without_room_keeps_what_it_has, store_set_up, store_tear_down)
{
	struct hes_delivered done;
	struct hes_store *s;
	int status;
	pid_t pid;

	hes_store_close(store_opened(HES_STORE_WRITE));
	pid = fork();
	if (pid == 0)
		_exit(fill_up());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_in_range(WEXITSTATUS(status), 1, 89);
	s = store_opened(HES_STORE_WRITE);
	assert_int_equal(count(s), WEXITSTATUS(status) * ROWS);
	assert_int_equal(deliver(s, 95, &done, NULL), 0); /* with room again */
	hes_store_close(s);
}

/* As somebody who may not write the file. @return 0 all is as it should be */
static int try_as_nobody(void)
{
	struct hes_store *s = NULL;
	struct hes_err err = { 0 };

	if (getuid() == 0 && (setgid(65534) || setuid(65534)))
		return 1;
	if (hes_store_open(store_path, HES_STORE_WRITE, 100, &s, &err) != -EROFS)
		return 2;
	return strstr(err.msg, "may not be written to") ? 0 : 3;
}

TEST_WITH(a_store_without_write_permission_gives_an_error, store_set_up, store_tear_down)
{
	struct hes_store *s = store_opened(HES_STORE_WRITE);
	struct hes_delivered done;
	int status;
	pid_t pid;

	assert_int_equal(deliver(s, 1, &done, NULL), 0);
	hes_store_close(s);
	assert_int_equal(chmod(store_path, 0444), 0);
	assert_int_equal(chmod(store_folder, 0555), 0);
	pid = fork();
	if (pid == 0)
		_exit(try_as_nobody());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(chmod(store_folder, 0755), 0);
	assert_int_equal(chmod(store_path, 0644), 0);
	assert_int_equal(status, 0);
	s = store_opened(HES_STORE_WRITE);
	assert_int_equal(count(s), ROWS);
	hes_store_close(s);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
