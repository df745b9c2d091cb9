/*
 * test_guard.c - undo entries, the undo file, and the guard of a program with jobs. GPUs are in
 * test_guard_in_lab.c.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "guarded.h"
#include "launch/cgroup.h"
#include "launch/guard_undo.h"
#include "launch/guard_wire.h"
#include "launch/undo_file.h"
#include "unit_test.h"

#define SECONDS_AT_MOST 60

/* --- undo entries --- */

TEST(an_entry_is_the_same_after_writing_and_reading)
{
	const struct hes_undo entries[] = {
		{ .kind = HES_UNDO_CLOCK, .uuid = "GPU-0a1b" },
		{ .kind = HES_UNDO_CLAIM, .uuid = "GPU-0a1b" },
		{ .kind = HES_UNDO_MPS,
		  .uuid = "GPU-0a1b",
		  .dir = "/var/run/a folder with spaces" },
		{ .kind = HES_UNDO_JOB,
		  .job = { 4711, 123456789012 },
		  .mark = "outer/0011223344556677",
		  .cgroup = "/sys/fs/cgroup/x y" },
		{ .kind = HES_UNDO_JOB, .job = { 4711, 1 }, .mark = "0011223344556677" },
		{ .kind = HES_UNDO_HOLD,
		  .job = { 4711, 1 },
		  .mark = "0011223344556677",
		  .cgroup = "/sys/fs/cgroup/x" },
	};
	char line[HES_UNDO_LINE_MAX], again[HES_UNDO_LINE_MAX];

	for (size_t i = 0; i < N(entries); i++) {
		struct hes_undo d;
		struct hes_err err = { 0 };

		assert_int_equal(hes_undo_format(&entries[i], line, NULL), 0);
		if (hes_undo_parse(line, &d, &err))
			fail_msg("%s: %s", line, err.msg);
		assert_int_equal(hes_undo_format(&d, again, NULL), 0);
		assert_string_equal(line, again);
		assert_int_equal(d.kind, entries[i].kind);
		assert_string_equal(d.dir, entries[i].dir);
		assert_string_equal(d.cgroup, entries[i].cgroup);
	}
}

TEST(a_wrong_entry_is_refused)
{
	static const char *const lines[] = { "",
					     "clock",
					     "clock ",
					     "clock a b",
					     "job 4294967298 2 mark",
					     "job 12 -2 mark",
					     "mps GPU-1",
					     "mps GPU-1 ",
					     "job",
					     "job 1 2 mark",
					     "job 0 2 mark",
					     "job -5 2 mark",
					     "job 12 x mark",
					     "job 12 13",
					     "fan GPU-1",
					     "clocks GPU-1" };
	struct hes_undo d = { .uuid = "as it was" },
			bad = { .kind = HES_UNDO_MPS, .uuid = "GPU-1", .dir = "/a\nb" };
	char line[HES_UNDO_LINE_MAX] = "as it was";

	for (size_t i = 0; i < N(lines); i++)
		if (hes_undo_parse(lines[i], &d, NULL) != -EINVAL)
			fail_msg("\"%s\" was taken", lines[i]);
	assert_string_equal(d.uuid, "as it was");
	assert_int_equal(hes_undo_format(&bad, line, NULL), -EINVAL);
	assert_string_equal(line, "as it was");
	bad = (struct hes_undo){ .kind = HES_UNDO_CLOCK };
	assert_int_equal(hes_undo_format(&bad, line, NULL), -EINVAL);
}

TEST(the_answer_lists_all_that_was_undone_or_is_refused)
{
	static const char *const wrong[] = { "ok",
					     "ok 1 2 3",
					     "ok 0 0 0 2 2 77:123",
					     "ok 0 0 0 1 1 1:5",
					     "ok 0 0 0 0 0 7",
					     "ok 0 0 0 0 99999999999",
					     "ok -1 0 0 0 0" };
	struct hes_undone m = { .clocks = 1,
				.jobs = 2,
				.failed = 3,
				.n_stuck = 1,
				.stuck = { { 77, 123 } } },
			  back = { 0 };
	char text[HES_GUARD_TEXT_MAX];

	hes_undone_write(&m, text);
	assert_string_equal(text, "ok 1 0 2 3 1 77:123");
	assert_true(hes_undone_read(text, &back));
	assert_memory_equal(&m, &back, sizeof(m));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(hes_undone_read(wrong[i], &back));
	assert_memory_equal(&m, &back, sizeof(m));
}

/* --- the undo file --- */

static struct hes_process me(void)
{
	struct hes_process p;

	assert_int_equal(hes_process_of(getpid(), &p), 0);
	return p;
}

static void write_list(const char *folder, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/guard.list", folder);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(chmod(path, 0600), 0);
}

TEST_WITH(an_undo_file_is_read_as_it_was_written, guarded_set_up, guarded_tear_down)
{
	const char *folder = *state;
	const struct hes_process p = me();
	const struct hes_undo clock = { .kind = HES_UNDO_CLOCK, .uuid = "GPU-1" };
	struct hes_undo mps = { .kind = HES_UNDO_MPS, .uuid = "GPU-2" };
	struct hes_undo_file l;

	snprintf(mps.dir, sizeof(mps.dir), "%s/mps/0", folder);
	assert_int_equal(hes_undo_file_open(&l, folder, &p, NULL), 0);
	assert_int_equal(hes_undo_file_begin(&l, NULL), 0);
	assert_int_equal(hes_undo_file_add(&l, &clock, NULL), 0);
	assert_int_equal(hes_undo_file_add(&l, &mps, NULL), 0);
	hes_undo_file_remove(&l, &clock);
	hes_undo_file_close(&l);
	assert_int_equal(hes_undo_file_open(&l, folder, NULL, NULL), 0);
	assert_int_equal(l.program.pid, p.pid);
	assert_int_equal(l.log.n, 1);
	assert_string_equal(l.log.v[0].dir, mps.dir);
	assert_false(l.log.v[0].from_program);
	hes_undo_file_remove(&l, &mps);
	hes_undo_file_close(&l);
	/* An empty file is removed. */
	assert_false(guarded_exists(folder, "guard.list"));
	assert_int_equal(hes_undo_file_open(&l, folder, NULL, NULL), -ENOENT);
}

/* No job and no daemon to end is no failure to end one. */
TEST_WITH(undoing_nothing_says_nothing, guarded_set_up, guarded_tear_down)
{
	const struct hes_process p = { 12, 34 };
	struct hes_devices *devices = NULL;
	struct hes_undo_file l;
	struct hes_undone out;
	struct hes_err err = { .msg = "as before" };

	assert_int_equal(hes_undo_file_open(&l, *state, &p, NULL), 0);
	assert_int_equal(hes_guard_undo(&l, &devices, &out, &err), 0);
	assert_true(out.jobs == 0 && out.daemons == 0 && out.clocks == 0 && out.failed == 0 &&
		    !devices);
	assert_string_equal(err.msg, "as before");
	hes_undo_file_close(&l);
}

TEST_WITH(a_partial_last_line_is_dropped, guarded_set_up, guarded_tear_down)
{
	const char *folder = *state;
	const struct hes_undo other = { .kind = HES_UNDO_CLOCK, .uuid = "GPU-3" };
	char text[256], boot[HES_BOOT_MAX];
	struct hes_undo_file l;

	assert_int_equal(hes_process_boot(boot, NULL), 0);
	snprintf(text, sizeof(text), "heshare guard 1 %s\n= 12 34\n+ clock GPU-1\n+ clock GPU-",
		 boot);
	write_list(folder, text);
	assert_int_equal(hes_undo_file_open(&l, folder, NULL, NULL), 0);
	assert_int_equal(l.log.n, 1);
	assert_int_equal(hes_undo_file_add(&l, &other, NULL), 0);
	hes_undo_file_close(&l);
	assert_int_equal(hes_undo_file_open(&l, folder, NULL, NULL), 0);
	assert_int_equal(l.log.n, 2);
	hes_undo_file_close(&l);
}

TEST_WITH(entries_from_before_a_restart_of_the_machine_are_dropped, guarded_set_up,
	  guarded_tear_down)
{
	const char *folder = *state;
	struct hes_undo_file l;

	write_list(folder, "heshare guard 1 00000000-0000-0000-0000-000000000000\n= 12 34\n+ clock "
			   "GPU-1\n+ job 1234 5 mark \n");
	assert_int_equal(hes_undo_file_open(&l, folder, NULL, NULL), 0);
	assert_int_equal(l.log.n, 0);
	hes_undo_file_close(&l);
}

TEST_WITH(a_file_of_another_format_is_not_changed, guarded_set_up, guarded_tear_down)
{
	static const char *const rows[][2] = {
		{ "hello\n", "line 1" },
		{ "@\n= 1 2\n* clock GPU-1\n", "line 3" },
		{ "@\n= 12 34\n+ fan GPU-1\n", "line 3" },
		{ "@\n= me\n", "line 2" },
	};
	const char *folder = *state;
	char boot[HES_BOOT_MAX], text[256];

	assert_int_equal(hes_process_boot(boot, NULL), 0);
	for (size_t i = 0; i < N(rows); i++) {
		struct hes_undo_file l;
		struct hes_err err = { 0 };

		if (*rows[i][0] == '@')
			snprintf(text, sizeof(text), "heshare guard 1 %s%s", boot, rows[i][0] + 1);
		else
			snprintf(text, sizeof(text), "%s", rows[i][0]);
		write_list(folder, text);
		assert_int_equal(hes_undo_file_open(&l, folder, NULL, &err), -EINVAL);
		if (!strstr(err.msg, folder) || !strstr(err.msg, rows[i][1]))
			fail_msg("%s", err.msg);
		assert_true(guarded_exists(folder, "guard.list"));
	}
}

TEST_WITH(a_file_that_other_users_may_write_is_refused, guarded_set_up, guarded_tear_down)
{
	const char *folder = *state;
	char boot[HES_BOOT_MAX], text[256], path[256];
	struct hes_undo_file l;
	struct hes_err err;

	assert_int_equal(hes_process_boot(boot, NULL), 0);
	snprintf(text, sizeof(text), "heshare guard 1 %s\n= 12 34\n+ clock GPU-1\n", boot);
	write_list(folder, text);
	snprintf(path, sizeof(path), "%s/guard.list", folder);
	assert_int_equal(chmod(path, 0666), 0);
	assert_int_equal(hes_undo_file_open(&l, folder, NULL, &err), -EPERM);
	assert_non_null(strstr(err.msg, "writable by you alone"));
	if (!geteuid() && !chown(path, 12345, 12345) && !chmod(path, 0644))
		assert_int_equal(hes_undo_file_open(&l, folder, NULL, &err), -EPERM);
	assert_int_equal(unlink(path), 0);
	write_list(folder, text);
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(hes_undo_file_open(&l, folder, NULL, &err), 0);
	hes_undo_file_close(&l);
}

TEST_WITH(a_full_disk_registers_nothing, guarded_set_up, guarded_tear_down)
{
	const char *folder = *state;
	const struct hes_process p = me();
	struct hes_undo d = { .kind = HES_UNDO_CLOCK };
	struct rlimit before, low = { .rlim_cur = 300 };
	struct hes_undo_file l;
	struct hes_err err = { 0 };
	size_t held;
	int rc = 0;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	low.rlim_max = before.rlim_max;
	assert_int_equal(hes_undo_file_open(&l, folder, &p, NULL), 0);
	assert_int_equal(hes_undo_file_begin(&l, NULL), 0);
	setrlimit(RLIMIT_FSIZE, &low);
	for (int i = 0; !rc && i < 100; i++) {
		snprintf(d.uuid, sizeof(d.uuid), "GPU-%d", i);
		rc = hes_undo_file_add(&l, &d, &err);
	}
	setrlimit(RLIMIT_FSIZE, &before);
	assert_true(rc < 0);
	assert_non_null(strstr(err.msg, "guard.list"));
	held = l.log.n;
	assert_true(held > 5 && held < 50);
	hes_undo_file_close(&l);
	/* The file has the registered entries and no others. */
	assert_int_equal(hes_undo_file_open(&l, folder, NULL, NULL), 0);
	assert_int_equal(l.log.n, held);
	hes_undo_file_close(&l);
}

/* --- the guard --- */

static void await_count(const char *folder, unsigned n)
{
	for (int i = 0; i < 6000 && guarded_count(folder) != n; i++)
		guarded_sleep_ms(10);
	assert_int_equal(guarded_count(folder), n);
}

struct jobs {
	struct hes_child child[3];
};

/* Start a job that sleeps. */
static int start_sleeper(struct hes_guard *g, const char *folder, struct hes_child *out)
{
	const struct hes_launch l = { .shell = "exec sleep 1000",
				      .folder = folder,
				      .output_fd = -1 };

	return hes_guard_fork(g, &l, out, NULL) || hes_child_go(out, NULL) ? -1 : 0;
}

/* Three jobs: one with a family, stopped; one held. */
static int run_jobs(struct hes_guard *g, const char *folder, void *shared)
{
	struct jobs *jobs = shared;
	const char *const lines[] = {
		"setsid sleep 1000 & setsid sh -c 'env -i sleep 1000 & echo > family; wait' & wait",
		"exec sleep 1000", "sleep 1000"
	};

	for (size_t i = 0; i < 3; i++) {
		const struct hes_launch l = { .shell = lines[i],
					      .folder = folder,
					      .output_fd = -1 };

		if (hes_guard_fork(g, &l, &jobs->child[i], NULL) ||
		    (i < 2 && hes_child_go(&jobs->child[i], NULL)))
			return -1;
	}
	while (!guarded_exists(folder, "family"))
		guarded_sleep_ms(10);
	return hes_guard_stop(g, &jobs->child[0], NULL);
}

TEST_WITH(jobs_and_their_descendants_die_with_the_program, guarded_set_up, guarded_tear_down)
{
	const char *folder = *state;
	struct jobs *jobs = guarded_share(sizeof(*jobs));
	pid_t pid = guarded_start(folder, run_jobs, jobs, NULL);

	await_count(folder, 6);
	assert_true(guarded_exists(folder, "guard.list"));
	guarded_kill_and_expect_clean(folder, pid);
	assert_true(guarded_exists(folder, "guard.log"));
}

/* Its entry as a job is gone, so that it is not killed: what it left stands still. */
static int hold_family(struct hes_guard *g, const char *folder, void *shared)
{
	struct jobs *jobs = shared;
	struct hes_child *c = &jobs->child[0];
	struct hes_undo entry = { .kind = HES_UNDO_JOB };
	const struct hes_launch l = { .shell = "while :; do date >> ticks; sleep .01; done & wait",
				      .folder = folder,
				      .output_fd = -1 };

	if (hes_guard_fork(g, &l, c, NULL) || hes_child_go(c, NULL))
		return -1;
	entry.job = c->id;
	memcpy(entry.mark, c->mark, sizeof(entry.mark));
	memcpy(entry.cgroup, c->cgroup, sizeof(entry.cgroup));
	while (!guarded_exists(folder, "ticks"))
		guarded_sleep_ms(10);
	return hes_guard_stop(g, c, NULL) || hes_guard_continue(g, c, NULL) ||
	       hes_guard_stop(g, c, NULL) || hes_guard_unregister(g, &entry, NULL);
}

TEST_WITH(a_held_job_that_is_not_killed_goes_on_when_the_program_dies, guarded_set_up,
	  guarded_tear_down)
{
	const char *folder = *state;
	struct jobs *jobs = guarded_share(sizeof(*jobs));
	pid_t pid = guarded_start(folder, hold_family, jobs, NULL);
	struct hes_member_rule rule = hes_child_rule(&jobs->child[0]);
	char path[128];
	struct stat before, after;

	snprintf(path, sizeof(path), "%s/ticks", folder);
	assert_int_equal(stat(path, &before), 0);
	guarded_sleep_ms(50);
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(after.st_size, before.st_size);
	guarded_kill(pid);
	guarded_await_end(folder);
	assert_false(guarded_exists(folder, "guard.list"));
	while (after.st_size == before.st_size) {
		guarded_sleep_ms(10);
		assert_int_equal(stat(path, &after), 0);
	}
	assert_int_equal(hes_members_end(&rule, 1, SIGKILL, 60000, NULL), 0);
	hes_cgroup_remove(jobs->child[0].cgroup);
}

/* A process outside of its session, without mark and parent. */
static int hide_job(struct hes_guard *g, const char *folder, void *shared)
{
	struct jobs *jobs = shared;
	const struct hes_launch l = { .shell = "(setsid env -i sh -c 'echo > hidden; exec sleep "
					       "1000' &) ; exec sleep 1000",
				      .folder = folder,
				      .output_fd = -1 };

	if (hes_guard_fork(g, &l, &jobs->child[0], NULL) || hes_child_go(&jobs->child[0], NULL))
		return -1;
	while (!guarded_exists(folder, "hidden"))
		guarded_sleep_ms(10);
	return 0;
}

TEST_WITH(processes_cannot_leave_a_cgroup, guarded_set_up, guarded_tear_down)
{
	const char *folder = *state;
	struct jobs *jobs = guarded_share(sizeof(*jobs));
	const struct hes_launch l = { .shell = "true", .output_fd = -1 };
	struct hes_child probe;
	bool confined;
	pid_t pid;

	assert_int_equal(hes_child_fork(&l, &probe, NULL), 0);
	confined = *probe.cgroup;
	hes_child_drop(&probe);
	if (!confined)
		skip();
	pid = guarded_start(folder, hide_job, jobs, NULL);
	await_count(folder, 2);
	guarded_kill_and_expect_clean(folder, pid);
	assert_int_equal(access(jobs->child[0].cgroup, F_OK), -1);
}

TEST_WITH(every_signal_that_ends_the_program_ends_its_jobs, guarded_set_up, guarded_tear_down)
{
	static const int signals[] = { SIGTERM, SIGSEGV, SIGINT };
	const char *folder = *state;
	struct jobs *jobs = guarded_share(sizeof(*jobs));

	for (size_t i = 0; i < N(signals); i++) {
		pid_t pid = guarded_start(folder, run_jobs, jobs, NULL);

		kill(pid, signals[i]);
		waitpid(pid, NULL, 0);
		guarded_await_end(folder);
		assert_int_equal(guarded_count(folder), 0);
	}
}

static int keep_going(struct hes_guard *g, const char *folder, void *shared)
{
	struct jobs *jobs = shared;
	pid_t first = guarded_find(getpid());
	struct pollfd fd = { .fd = hes_guard_fd(g), .events = POLLIN };

	if (start_sleeper(g, folder, &jobs->child[0]))
		return -1;
	/* Noticed through the descriptor, ... */
	kill(first, SIGKILL);
	if (poll(&fd, 1, 60000) != 1 || hes_guard_renew(g, NULL) != 1 ||
	    hes_guard_renew(g, NULL) != 0)
		return -1;
	/* ... and by a registration without an answer. */
	fd.fd = hes_guard_fd(g);
	kill(guarded_find(getpid()), SIGKILL);
	if (poll(&fd, 1, 60000) != 1)
		return -1;
	return start_sleeper(g, folder, &jobs->child[1]);
}

/* A program whose guard was replaced is killed: the new guard undoes the whole list. */
static void assert_all_undone(const char *folder, guarded_act *act)
{
	struct jobs *jobs = guarded_share(sizeof(*jobs));
	pid_t pid = guarded_start(folder, act, jobs, NULL);

	await_count(folder, 2);
	guarded_kill_and_expect_clean(folder, pid);
}

TEST_WITH(a_killed_guard_is_replaced_with_the_whole_log, guarded_set_up, guarded_tear_down)
{
	assert_all_undone(*state, keep_going);
}

TEST_WITH(signals_for_the_program_do_not_end_its_guard, guarded_set_up, guarded_tear_down)
{
	const char *folder = *state;
	struct jobs *jobs = guarded_share(sizeof(*jobs));
	pid_t guard, pid = guarded_start(folder, run_jobs, jobs, &guard);

	kill(guard, SIGTERM);
	kill(guard, SIGINT);
	kill(guard, SIGHUP);
	guarded_kill_and_expect_clean(folder, pid);
}

/* Kill program and guard at once: processes that the kernel does not kill remain. */
static void kill_both(const char *folder)
{
	struct jobs *jobs = guarded_share(sizeof(*jobs));
	pid_t guard, pid = guarded_start(folder, run_jobs, jobs, &guard);

	kill(pid, SIGSTOP);
	kill(guard, SIGKILL);
	guarded_kill(pid);
	assert_true(guarded_exists(folder, "guard.list"));
}

TEST_WITH(the_next_run_undoes_what_both_left, guarded_set_up, guarded_tear_down)
{
	const char *folder = *state;
	struct hes_undone m = { 0 };
	struct hes_guard *g;

	kill_both(folder);
	assert_true(guarded_count(folder) >= 2);
	assert_int_equal(hes_guard_start(&g, guarded_argv, folder, &m, NULL), 0);
	assert_int_equal(guarded_count(folder), 0);
	assert_true(m.jobs >= 1);
	assert_int_equal(m.failed, 0);
	assert_int_equal(hes_guard_finish(g, NULL), 0);
	assert_false(guarded_exists(folder, "guard.list"));
}

TEST_WITH(restore_undoes_what_both_left, guarded_set_up, guarded_tear_down)
{
	const char *folder = *state;
	struct hes_undone m = { 0 };

	kill_both(folder);
	assert_int_equal(hes_guard_restore(folder, &m, NULL), 0);
	assert_int_equal(guarded_count(folder), 0);
	assert_true(m.jobs >= 1);
	assert_int_equal(hes_guard_restore(folder, &m, NULL), -ENOENT);
}

/* A stopped guard does not answer and keeps the file locked. */
static int stop_guard(struct hes_guard *g, const char *folder, void *shared)
{
	struct jobs *jobs = shared;

	if (start_sleeper(g, folder, &jobs->child[0]))
		return -1;
	alarm(SECONDS_AT_MOST);
	kill(guarded_find(getpid()), SIGSTOP);
	if (start_sleeper(g, folder, &jobs->child[1]))
		return -1;
	alarm(0);
	return 0;
}

TEST_WITH(a_stopped_guard_is_replaced_within_seconds, guarded_set_up, guarded_tear_down)
{
	assert_all_undone(*state, stop_guard);
}

TEST_WITH(a_stopped_guard_of_a_dead_program_is_named_in_the_error, guarded_set_up,
	  guarded_tear_down)
{
	const char *folder = *state;
	struct jobs *jobs = guarded_share(sizeof(*jobs));
	pid_t guard, pid = guarded_start(folder, run_jobs, jobs, &guard);
	struct hes_err err = { 0 }, start_err = { 0 };
	struct hes_guard *g = NULL;
	struct hes_undone m;
	char number[32];
	int rc, start_rc;

	kill(guard, SIGSTOP);
	guarded_kill(pid);
	alarm(2 * SECONDS_AT_MOST);
	rc = hes_guard_restore(folder, &m, &err);
	start_rc = hes_guard_start(&g, guarded_argv, folder, NULL, &start_err);
	alarm(0);
	kill(guard, SIGKILL);
	assert_int_equal(rc, -EBUSY);
	assert_int_equal(start_rc, -EBUSY);
	snprintf(number, sizeof(number), "kill -KILL %d", (int)guard);
	if (!strstr(err.msg, number) || !strstr(err.msg, "stopped") ||
	    !strstr(start_err.msg, number))
		fail_msg("%s; %s", err.msg, start_err.msg);
	assert_int_equal(hes_guard_restore(folder, &m, NULL), 0);
	assert_int_equal(guarded_count(folder), 0);
}

TEST_WITH(finishing_does_not_wait_long_for_a_stopped_guard, guarded_set_up, guarded_tear_down)
{
	const char *folder = *state;
	struct hes_child c;
	struct hes_guard *g;

	g = guarded_guard(folder);
	assert_int_equal(start_sleeper(g, folder, &c), 0);
	kill(guarded_find(getpid()), SIGSTOP);
	alarm(SECONDS_AT_MOST);
	assert_int_equal(hes_guard_finish(g, NULL), 0);
	alarm(0);
	assert_int_equal(guarded_count(folder), 0);
	hes_child_drop(&c);
}

TEST_WITH(a_folder_has_one_run_at_a_time, guarded_set_up, guarded_tear_down)
{
	const char *folder = *state;
	struct jobs *jobs = guarded_share(sizeof(*jobs));
	struct hes_guard *g = NULL;
	struct hes_undone m;
	struct hes_err err;
	pid_t pid = guarded_start(folder, run_jobs, jobs, NULL);
	char number[16];

	snprintf(number, sizeof(number), "%d", (int)pid);
	assert_int_equal(hes_guard_start(&g, guarded_argv, folder, NULL, &err), -EBUSY);
	assert_non_null(strstr(err.msg, number));
	assert_int_equal(hes_guard_restore(folder, &m, &err), -EBUSY);
	await_count(folder, 6);
	guarded_kill(pid);
	/* Also while that run's guard still undoes changes. */
	g = guarded_guard(folder);
	assert_int_equal(guarded_count(folder), 0);
	assert_int_equal(hes_guard_finish(g, NULL), 0);
}

TEST_WITH(a_claim_lasts_until_the_guard_ends, guarded_set_up, guarded_tear_down)
{
	const char *folder = *state;
	struct hes_claims mine = { 0 };
	struct hes_guard *g;
	struct hes_err err;
	char gpu[80];

	snprintf(gpu, sizeof(gpu), "GPU-of-a-test-%d", (int)getpid());
	g = guarded_guard(folder);
	assert_int_equal(hes_guard_claim(g, gpu, NULL), 0);
	assert_int_equal(hes_guard_claim(g, gpu, NULL), 0);
	assert_int_equal(hes_claim_gpu(&mine, gpu, &err), -EBUSY);
	assert_non_null(strstr(err.msg, gpu));
	assert_int_equal(hes_guard_finish(g, NULL), 0);
	assert_int_equal(hes_claim_gpu(&mine, gpu, NULL), 0);
	assert_int_equal(hes_claim_gpu(&mine, gpu, NULL), 0);
	g = guarded_guard(folder);
	assert_int_equal(hes_guard_claim(g, gpu, NULL), -EBUSY);
	hes_claims_free(&mine);
	assert_int_equal(hes_guard_claim(g, gpu, NULL), 0);
	assert_int_equal(hes_guard_finish(g, NULL), 0);
	assert_false(guarded_exists(folder, "guard.list"));
}

TEST_WITH(a_reaped_job_is_unregistered, guarded_set_up, guarded_tear_down)
{
	const char *folder = *state;
	const struct hes_launch l = { .shell = "exit 3", .output_fd = -1 };
	struct hes_child c;
	struct hes_child_end end;
	struct hes_guard *g;
	struct pollfd fd;

	g = guarded_guard(folder);
	assert_int_equal(hes_guard_fork(g, &l, &c, NULL), 0);
	assert_int_equal(hes_guard_log(g)->n, 1);
	assert_int_equal(hes_guard_reap(g, &c, &end, NULL), 0);
	assert_int_equal(hes_child_go(&c, NULL), 0);
	fd = (struct pollfd){ .fd = c.pidfd, .events = POLLIN };
	assert_int_equal(poll(&fd, 1, 60000), 1);
	assert_int_equal(hes_guard_reap(g, &c, &end, NULL), 1);
	assert_int_equal(end.code, 3);
	assert_int_equal(hes_guard_log(g)->n, 0);
	assert_int_equal(hes_guard_finish(g, NULL), 0);
}

TEST_WITH(finishing_undoes_the_remaining_entries, guarded_set_up, guarded_tear_down)
{
	const char *folder = *state;
	struct hes_child c;
	struct hes_guard *g;

	g = guarded_guard(folder);
	assert_int_equal(start_sleeper(g, folder, &c), 0);
	assert_int_equal(hes_guard_finish(g, NULL), 0);
	assert_int_equal(guarded_count(folder), 0);
	hes_child_drop(&c);
	assert_int_equal(hes_guard_finish(NULL, NULL), 0);
}

TEST_WITH(a_wrong_guard_program_is_an_error, guarded_set_up, guarded_tear_down)
{
	static const char *const nobody[] = { "/nowhere/guard", NULL },
				 *const false_one[] = { "false", NULL }, *const none[] = { NULL };
	const char *folder = *state;
	struct hes_guard *g = NULL;
	struct hes_err err;

	assert_int_equal(hes_guard_start(&g, nobody, folder, NULL, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "/nowhere/guard"));
	assert_int_equal(hes_guard_start(&g, false_one, folder, NULL, &err), -EPIPE);
	assert_int_equal(hes_guard_start(&g, none, folder, NULL, &err), -EINVAL);
	assert_int_equal(hes_guard_start(&g, guarded_argv, "/nowhere", NULL, &err), -ENOENT);
	assert_null(g);
}

int main(int argc, char **argv)
{
	int status;

	return guarded_main(argc, argv, &status) ? status : run_unit_tests(NULL, NULL);
}
