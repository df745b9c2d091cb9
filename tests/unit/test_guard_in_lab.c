/*
 * test_guard_in_lab.c - a guard restores GPUs: clocks, MPS. Run inside the lab (tests/meson.build).
 */
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "guarded.h"
#include "launch/members.h"
#include "launch/undo_file.h"
#include "unit_test.h"

#define T4         0
#define A100       6
#define LOCKED_MHZ 1200
#define WAIT_MS    60000 /* of the lab's time */

static struct hes_devices *devices;

static void fault(const char *spec)
{
	char line[64];

	snprintf(line, sizeof(line), "vgpu-fault %s", spec);
	assert_int_equal(system(line), 0);
}

static int set_up(void **state)
{
	return guarded_set_up(state) || hes_devices_open(NULL, &devices, NULL);
}

static int tear_down(void **state)
{
	fault("all:clear");
	hes_devices_close(devices);
	return guarded_tear_down(state);
}

/* A lock also raises the clock of an idle GPU. */
static uint32_t clock_of(size_t i)
{
	struct hes_reading r;

	assert_int_equal(hes_device_read(devices, i, HES_HAS_CLOCK, &r, NULL), 0);
	assert_true(r.has & HES_HAS_CLOCK);
	return r.clock_mhz;
}

/* Programs of MPS with a pipe directory in @folder. */
static size_t mps_programs(const char *folder)
{
	char pipe[128];
	const struct hes_member_rule rule = { .mark = "", .cgroup = "", .mps_pipe = pipe };
	struct hes_member *m = NULL;
	long n;

	snprintf(pipe, sizeof(pipe), "%s/pipe", folder);
	n = hes_members_find(&rule, 1, &m);
	assert_true(n >= 0);
	free(m);
	return (size_t)n;
}

struct shared {
	struct hes_mps mps;
	struct hes_child job;
	int rc;
};

static int lock_clocks(struct hes_guard *g, const char *folder, void *shared)
{
	struct hes_devices *d;

	(void)folder;
	(void)shared;
	return hes_devices_open(NULL, &d, NULL) ||
	       hes_guard_lock_clock(g, d, T4, LOCKED_MHZ, NULL) ||
	       hes_guard_lock_clock(g, d, A100, LOCKED_MHZ, NULL) ||
	       hes_guard_lock_clock(g, d, A100, LOCKED_MHZ + 15, NULL);
}

static void expect_untouched(void)
{
	assert_true(clock_of(T4) < LOCKED_MHZ);
	assert_true(clock_of(A100) < LOCKED_MHZ);
}

TEST_WITH(clocks_are_unlocked, set_up, tear_down)
{
	const char *folder = *state;
	pid_t pid = guarded_start(folder, lock_clocks, NULL, NULL);

	assert_int_equal(clock_of(T4), LOCKED_MHZ);
	assert_int_equal(clock_of(A100), LOCKED_MHZ + 15);
	guarded_kill(pid);
	guarded_await_end(folder);
	expect_untouched();
	assert_false(guarded_exists(folder, "guard.list"));
}

TEST_WITH(settings_that_the_program_restored_are_unregistered, set_up, tear_down)
{
	const char *folder = *state;
	struct hes_guard *g;

	g = guarded_guard(folder);
	assert_int_equal(hes_guard_lock_clock(g, devices, A100, LOCKED_MHZ, NULL), 0);
	assert_int_equal(hes_guard_unlock_clock(g, devices, A100, NULL), 0);
	expect_untouched();
	/* Another program's lock from here on. */
	assert_int_equal(hes_device_lock_clock(devices, A100, LOCKED_MHZ, NULL), 0);
	assert_int_equal(hes_guard_finish(g, NULL), 0);
	assert_int_equal(clock_of(A100), LOCKED_MHZ);
	assert_int_equal(hes_device_unlock_clock(devices, A100, NULL), 0);
}

TEST_WITH(a_refused_setting_is_not_registered, set_up, tear_down)
{
	const char *folder = *state;
	struct hes_guard *g;

	fault("0:no-permission");
	g = guarded_guard(folder);
	assert_int_equal(hes_guard_lock_clock(g, devices, T4, LOCKED_MHZ, NULL), -EPERM);
	assert_int_equal(hes_guard_finish(g, NULL), 0);
}

TEST_WITH(a_setting_that_the_driver_refuses_is_tried_again, set_up, tear_down)
{
	const char *folder = *state;
	pid_t pid = guarded_start(folder, lock_clocks, NULL, NULL);

	fault("0:no-permission:0.1");
	guarded_kill(pid);
	guarded_await_end(folder);
	expect_untouched();
}

TEST_WITH(what_could_not_be_undone_stays_in_the_file, set_up, tear_down)
{
	const char *folder = *state;
	struct hes_undone m = { 0 };
	pid_t pid = guarded_start(folder, lock_clocks, NULL, NULL);

	fault("0:no-permission");
	guarded_kill(pid);
	guarded_await_end(folder);
	assert_int_equal(clock_of(T4), LOCKED_MHZ);
	assert_true(clock_of(A100) < LOCKED_MHZ);
	assert_true(guarded_exists(folder, "guard.list"));
	assert_int_equal(hes_guard_restore(folder, &m, NULL), -EIO);
	assert_int_equal(m.failed, 1);
	fault("0:clear");
	assert_int_equal(hes_guard_restore(folder, &m, NULL), 0);
	assert_int_equal(m.clocks, 1);
	assert_int_equal(m.failed, 0);
	expect_untouched();
}

TEST_WITH(a_lost_gpu_does_not_block_the_others, set_up, tear_down)
{
	const char *folder = *state;
	pid_t pid = guarded_start(folder, lock_clocks, NULL, NULL);

	fault("0:gpu-lost");
	guarded_kill(pid);
	guarded_await_end(folder);
	fault("0:clear");
	assert_true(clock_of(A100) < LOCKED_MHZ);
	assert_false(guarded_exists(folder, "guard.list"));
	hes_device_unlock_clock(devices, T4, NULL);
}

/* Such a setting was once counted as unlocked. */
TEST_WITH(a_setting_of_a_missing_gpu_is_dropped_and_logged, set_up, tear_down)
{
	const char *folder = *state;
	const struct hes_process dead = { .pid = getpid(), .started = 1 };
	const struct hes_undo clock = { .kind = HES_UNDO_CLOCK, .uuid = "GPU-none-1" };
	struct hes_undone m = { 0 };
	struct hes_undo_file l;
	char path[96], text[1024] = "";
	FILE *log;

	assert_int_equal(hes_undo_file_open(&l, folder, &dead, NULL), 0);
	assert_int_equal(hes_undo_file_begin(&l, NULL), 0);
	assert_int_equal(hes_undo_file_add(&l, &clock, NULL), 0);
	hes_undo_file_close(&l);
	assert_int_equal(hes_guard_restore(folder, &m, NULL), 0);
	assert_int_equal(m.clocks + m.failed, 0);
	assert_false(guarded_exists(folder, "guard.list"));
	snprintf(path, sizeof(path), "%s/guard.log", folder);
	log = fopen(path, "r");
	assert_non_null(log);
	assert_true(fread(text, 1, sizeof(text) - 1, log) > 0);
	fclose(log);
	assert_non_null(
		strstr(text, "clock of GPU-none-1: not restored, the GPU is not on this machine"));
}

/* Start a job as an MPS client. */
static int share_gpu(struct hes_guard *g, const char *folder, void *shared)
{
	struct shared *s = shared;
	char rows[4][HES_MPS_VARIABLE_MAX];
	const char *variables[5] = { NULL };
	const char *const argv[] = { "vgpu-task", "--workload",   "resnet50", "--batch",
				     "16",        "--iterations", "1000000",  NULL };
	const struct hes_launch l = { .argv = argv, .variables = variables, .output_fd = -1 };
	struct hes_device_info info;
	struct hes_devices *d;
	struct hes_err err;
	size_t n;

	if (hes_devices_open(NULL, &d, NULL) || hes_device_info(d, A100, &info, NULL) ||
	    hes_guard_mps_start(g, &s->mps, info.uuid, folder, &err))
		return -1;
	n = hes_mps_variables(&s->mps, 50, 0, rows);
	for (size_t i = 0; i < n; i++)
		variables[i] = rows[i];
	if (hes_guard_fork(g, &l, &s->job, &err) || hes_child_go(&s->job, &err))
		return -1;
	for (int ms = 0; hes_mps_clients(&s->mps, NULL, 0, NULL) < 1; ms += 20) {
		if (ms > WAIT_MS)
			return -1;
		guarded_sleep_ms(20);
	}
	return 0;
}

TEST_WITH(mps_and_its_clients_end_with_the_program, set_up, tear_down)
{
	const char *folder = *state;
	struct shared *s = guarded_share(sizeof(*s));
	pid_t pid = guarded_start(folder, share_gpu, s, NULL);

	/* Control daemon and server. */
	assert_int_equal(mps_programs(folder), 2);
	guarded_kill(pid);
	guarded_await_end(folder);
	assert_int_equal(mps_programs(folder), 0);
	assert_false(hes_process_runs(&s->job.id));
	assert_false(hes_mps_alive(&s->mps));
}

TEST_WITH(a_server_whose_daemon_was_killed_ends_too, set_up, tear_down)
{
	const char *folder = *state;
	struct shared *s = guarded_share(sizeof(*s));
	pid_t pid = guarded_start(folder, share_gpu, s, NULL);
	char path[128];
	int daemon = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/pipe/nvidia-cuda-mps-control.pid", folder);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d", &daemon), 1);
	fclose(f);
	kill(daemon, SIGKILL);
	guarded_kill(pid);
	guarded_await_end(folder);
	assert_int_equal(mps_programs(folder), 0);
}

TEST_WITH(quitting_ends_daemon_and_server_and_unregisters, set_up, tear_down)
{
	const char *folder = *state;
	struct hes_device_info info;
	struct hes_guard *g;
	struct hes_mps m;

	assert_int_equal(hes_device_info(devices, T4, &info, NULL), 0);
	g = guarded_guard(folder);
	for (int round = 0; round < 2; round++) {
		assert_int_equal(hes_guard_mps_start(g, &m, info.uuid, folder, NULL), 0);
		assert_int_equal(mps_programs(folder), 1);
		assert_int_equal(hes_guard_mps_quit(g, &m, 0, NULL), 0);
		assert_int_equal(mps_programs(folder), 0);
	}
	/* Also after the daemon was killed. */
	assert_int_equal(hes_guard_mps_start(g, &m, info.uuid, folder, NULL), 0);
	assert_int_equal(hes_members_end(&(struct hes_member_rule){ .mark = "",
								    .cgroup = "",
								    .mps_pipe = m.pipe_dir },
					 1, SIGKILL, WAIT_MS, NULL),
			 0);
	assert_int_equal(hes_guard_mps_quit(g, &m, 0, NULL), 0);
	assert_int_equal(hes_guard_finish(g, NULL), 0);
}

/* A program that changes settings all the time, to be killed at any moment. */
static void changing_all_the_time(const char *folder)
{
	struct hes_device_info info;
	struct hes_guard *g;
	struct hes_mps m;

	if (hes_device_info(devices, T4, &info, NULL) ||
	    hes_guard_start(&g, guarded_argv, folder, NULL, NULL))
		_exit(1);
	for (;;)
		if (hes_guard_lock_clock(g, devices, T4, LOCKED_MHZ, NULL) ||
		    hes_guard_mps_start(g, &m, info.uuid, folder, NULL) ||
		    hes_guard_mps_quit(g, &m, 0, NULL) ||
		    hes_guard_unlock_clock(g, devices, T4, NULL))
			_exit(1);
}

/* An empty file may not be locked yet, so one could not wait for its guard. */
static bool list_begun(const char *folder)
{
	char path[256];
	struct stat st;

	snprintf(path, sizeof(path), "%s/guard.list", folder);
	return !stat(path, &st) && st.st_size > 0;
}

TEST_WITH(a_kill_at_any_moment_leaves_nothing, set_up, tear_down)
{
	const char *folder = *state;

	for (unsigned moment = 0; moment < 10; moment++) {
		pid_t pid = fork();

		if (!pid)
			changing_all_the_time(folder);
		while (!list_begun(folder))
			guarded_sleep_ms(1);
		/* Virtual time: a round takes about 100 ms of real time. */
		guarded_sleep_ms((int)(moment * 7919 % 10 * 173));
		guarded_kill(pid);
		guarded_await_end(folder);
		assert_false(guarded_exists(folder, "guard.list"));
		assert_int_equal(mps_programs(folder), 0);
		assert_true(clock_of(T4) < LOCKED_MHZ);
	}
}

int main(int argc, char **argv)
{
	int status;

	return guarded_main(argc, argv, &status) ? status : run_unit_tests(NULL, NULL);
}
