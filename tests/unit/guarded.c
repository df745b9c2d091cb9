/*
 * guarded.c - a program with a guard, for tests that kill it; see guarded.h.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "base/signals.h"
#include "guarded.h"
#include "launch/process.h"
#include "unit_test.h"

const char *const guarded_argv[] = { "/proc/self/exe", "--guard", NULL };

bool guarded_main(int argc, char **argv, int *status)
{
	if (argc != 2 || strcmp(argv[1], "--guard") != 0)
		return false;
	*status = hes_guard_serve(STDIN_FILENO, NULL) != 0;
	return true;
}

void guarded_sleep_ms(int ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000l };

	nanosleep(&t, NULL);
}

void guarded_folder(char out[64])
{
	snprintf(out, 64, "/tmp/test_guard.XXXXXX");
	assert_non_null(mkdtemp(out));
}

void guarded_remove(const char *folder)
{
	char line[128];

	snprintf(line, sizeof(line), "rm -rf '%s'", folder);
	assert_int_equal(system(line), 0);
}

int guarded_set_up(void **state)
{
	*state = malloc(64);
	guarded_folder(*state);
	return 0;
}

int guarded_tear_down(void **state)
{
	guarded_remove(*state);
	free(*state);
	return 0;
}

struct hes_guard *guarded_guard(const char *folder)
{
	struct hes_guard *g = NULL;

	assert_int_equal(hes_guard_start(&g, guarded_argv, folder, NULL, NULL), 0);
	return g;
}

bool guarded_exists(const char *folder, const char *file)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	return !access(path, F_OK);
}

unsigned guarded_count(const char *folder)
{
	char path[64], where[256];
	struct hes_proc *all;
	long n = hes_proc_all(&all);
	unsigned count = 0;

	assert_true(n >= 0);
	for (long i = 0; i < n; i++) {
		ssize_t length;

		snprintf(path, sizeof(path), "/proc/%d/cwd", (int)all[i].id.pid);
		length = all[i].ended ? -1 : readlink(path, where, sizeof(where) - 1);
		where[length > 0 ? length : 0] = '\0';
		count += strcmp(where, folder) == 0;
	}
	free(all);
	return count;
}

void *guarded_share(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	return p;
}

pid_t guarded_find(pid_t pid)
{
	struct hes_proc *all;
	long n = hes_proc_all(&all);
	pid_t found = 0;

	/* The kernel names it by the link /proc/self/exe. */
	for (long i = 0; i < n && !found; i++)
		if (all[i].parent == pid && strcmp(all[i].name, "exe") == 0 && !all[i].ended)
			found = all[i].id.pid;
	if (n >= 0)
		free(all);
	return found;
}

static void be_program(const char *folder, guarded_act *act, void *shared, int report)
{
	struct hes_guard *g;
	struct hes_err err = { 0 };
	pid_t guard;

	/* Ends with the test. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* A sanitizer handles some, and a shell's "&" ignores some. */
	hes_signals_as_started();
	if (hes_guard_start(&g, guarded_argv, folder, NULL, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		_exit(1);
	}
	guard = guarded_find(getpid());
	if (act(g, folder, shared) || write(report, &guard, sizeof(guard)) < 0)
		_exit(1);
	for (;;)
		pause();
}

pid_t guarded_start(const char *folder, guarded_act *act, void *shared, pid_t *guard)
{
	int ends[2];
	pid_t pid, found;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (!pid)
		be_program(folder, act, shared, ends[1]);
	close(ends[1]);
	assert_int_equal(read(ends[0], &found, sizeof(found)), sizeof(found));
	close(ends[0]);
	if (guard)
		*guard = found;
	return pid;
}

void guarded_kill(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

void guarded_await_end(const char *folder)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/guard.list", folder);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	assert_int_equal(flock(fd, LOCK_EX), 0);
	close(fd);
}

void guarded_kill_and_expect_clean(const char *folder, pid_t pid)
{
	guarded_kill(pid);
	guarded_await_end(folder);
	assert_int_equal(guarded_count(folder), 0);
	assert_false(guarded_exists(folder, "guard.list"));
}
