/*
 * test_descriptors.c - new processes have nothing open that is not theirs.
 *
 * Runs as it is and as on an older kernel (tests/tools/old_kernel.c), where another way is taken.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/descriptors.h"
#include "gpu/spawn.h"
#include "guarded.h"
#include "unit_test.h"

#define MANY 400 /* more than one reading of /proc/self/fd tells */

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* In a process of its own with MANY descriptors, every third of them closed. @return the first that
 * is wrong; 0: none */
static int wrong_after(int keep)
{
	int last = 0, wrong = 0, status;
	pid_t pid = fork();

	if (!pid) {
		for (int i = 0; i < MANY; i++)
			last = dup(STDIN_FILENO);
		for (int fd = STDERR_FILENO + 1; fd < last; fd += 3)
			if (fd != keep)
				close(fd);
		if (hes_close_but(keep))
			_exit(255);
		for (int fd = last; fd >= 0; fd--)
			if (is_open(fd) != (fd <= STDERR_FILENO || fd == keep))
				wrong = fd < 254 ? fd + 1 : 254;
		_exit(wrong);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

TEST(all_descriptors_but_the_standard_ones_are_closed)
{
	assert_int_equal(wrong_after(-1), 0);
	assert_int_equal(wrong_after(STDIN_FILENO), 0);
	assert_int_equal(wrong_after(STDERR_FILENO), 0);
}

TEST(the_descriptor_to_keep_stays_open)
{
	assert_int_equal(wrong_after(3), 0);
	assert_int_equal(wrong_after(4), 0);
	assert_int_equal(wrong_after(200), 0);
	assert_int_equal(wrong_after(MANY), 0);
}

/* Whether @pid has what @fd of ours is; it is a pipe's end. */
static bool has(pid_t pid, int fd)
{
	char path[64];
	struct stat ours, its;

	assert_int_equal(fstat(fd, &ours), 0);
	for (int i = 0; i < 64; i++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, i);
		if (!stat(path, &its) && its.st_ino == ours.st_ino && its.st_dev == ours.st_dev)
			return true;
	}
	return false;
}

TEST(a_guard_keeps_nothing_of_the_process_that_started_it)
{
	char folder[64];
	struct hes_guard *g = NULL;
	int leak[2];
	pid_t pid;

	assert_int_equal(pipe(leak), 0);
	guarded_folder(folder);
	assert_int_equal(hes_guard_start(&g, guarded_argv, folder, NULL, NULL), 0);
	pid = guarded_find(getpid());
	assert_true(pid > 0);
	assert_true(has(getpid(), leak[1]));
	assert_false(has(pid, leak[1]));
	assert_int_equal(hes_guard_finish(g, NULL), 0);
	guarded_remove(folder);
	close(leak[0]);
	close(leak[1]);
}

/* MPS daemons are started so, and stay. */
TEST(an_executed_program_inherits_no_descriptor)
{
	char *argv[] = { "sh", "-c", "ls /proc/$$/fd", NULL },
	     *absent[] = { "heshare-no-such-program", NULL };
	static const char *const nothing[] = { NULL };
	char output[256];
	int leak[2], status;

	assert_int_equal(pipe(leak), 0);
	assert_int_equal(
		hes_spawn(argv, nothing, "", NULL, 0, 10000, output, sizeof(output), &status, NULL),
		0);
	assert_int_equal(status, 0);
	assert_string_equal(output, "0\n1\n2\n");
	assert_int_equal(hes_spawn(absent, nothing, "", NULL, 0, 10000, output, sizeof(output),
				   &status, NULL),
			 -ENOENT);
	close(leak[0]);
	close(leak[1]);
}

/* A program may print far more than anybody wants; it is read to its end, or until its time is
 * over. */
TEST(of_a_long_output_the_first_bytes_are_kept)
{
	char *argv[] = { "sh", "-c",
			 "yes 12345 | head -c 300000; yes ab | head -c 300000 >&2; exit 3", NULL },
	     *endless[] = { "sh", "-c", "yes >&2 & exec yes", NULL };
	static const char *const nothing[] = { NULL };
	char output[8], errors[4];
	int status;

	assert_int_equal(hes_spawn(argv, nothing, "", errors, sizeof(errors), 60000, output,
				   sizeof(output), &status, NULL),
			 0);
	assert_int_equal(status, 3);
	assert_string_equal(output, "12345\n1");
	assert_string_equal(errors, "ab\n");
	assert_int_equal(hes_spawn(endless, nothing, "", errors, sizeof(errors), 100, output,
				   sizeof(output), &status, NULL),
			 -ETIMEDOUT);
}

int main(int argc, char **argv)
{
	int status;

	return guarded_main(argc, argv, &status) ? status : run_unit_tests(NULL, NULL);
}
