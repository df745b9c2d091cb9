/*
 * test_launch.c - start jobs in two steps, and end them with all processes that they started.
 */
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "guarded.h"
#include "launch/cgroup.h"
#include "launch/launch.h"
#include "launch/members.h"
#include "launch/process.h"
#include "unit_test.h"

#define BENCH_TEST(test) TEST_ON(struct place, p, test, set_up, tear_down)

struct place {
	char dir[64];
	char output[96];
};

TEST(a_folder_that_is_not_there_is_no_folder_of_jobs)
{
	struct hes_job_folder f = { .fd = -7 };
	struct hes_err err;

	assert_int_equal(hes_job_folder_open(&f, "/nowhere/at/all", &err), -ENOENT);
	assert_non_null(strstr(err.msg, "/nowhere/at/all"));
	assert_int_equal(f.fd, -7);
	assert_int_equal(hes_job_folder_open(&f, "/dev/null", &err), -ENOTDIR);
}

static int set_up(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	guarded_folder(p->dir);
	snprintf(p->output, sizeof(p->output), "%s/output", p->dir);
	*state = p;
	return chmod(p->dir, 0777);
}

static int tear_down(void **state)
{
	struct place *p = *state;

	guarded_remove(p->dir);
	free(p);
	return 0;
}

static void await_end(const struct hes_child *c)
{
	struct pollfd fd = { .fd = c->pidfd, .events = POLLIN };

	assert_int_equal(poll(&fd, 1, 60000), 1);
}

static struct hes_child_end wait_for(struct hes_child *c)
{
	struct hes_child_end end;

	await_end(c);
	assert_int_equal(hes_child_reap(c, &end), 1);
	assert_int_equal(c->id.pid, 0);
	assert_int_equal(hes_child_reap(c, &end), -ECHILD);
	return end;
}

static void start(const struct hes_launch *l, struct hes_child *c)
{
	struct hes_err err = { 0 };

	if (hes_child_fork(l, c, &err) || hes_child_go(c, &err))
		fail_msg("%s", err.msg);
}

static char *text_of(const char *path)
{
	static char text[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

/* Wait until a job has printed @word. */
static void await_text(const char *path, const char *word)
{
	for (int i = 0; i < 6000 && !strstr(text_of(path), word); i++)
		guarded_sleep_ms(10);
	assert_non_null(strstr(text_of(path), word));
}

BENCH_TEST(a_held_job_runs_nothing_before_go)
{
	const struct hes_launch l = { .shell = "echo ran", .output = p->output, .output_fd = -1 };
	struct hes_child c;
	struct hes_process who;

	assert_int_equal(hes_child_fork(&l, &c, NULL), 0);
	assert_int_equal(hes_process_of(c.id.pid, &who), 0);
	assert_int_equal(who.started, c.id.started);
	assert_true(hes_process_runs(&c.id));
	guarded_sleep_ms(30);
	assert_string_equal(text_of(p->output), "");
	assert_int_equal(hes_child_go(&c, NULL), 0);
	assert_int_equal(wait_for(&c).code, 0);
	assert_string_equal(text_of(p->output), "ran\n");
	assert_false(hes_process_runs(&who));
	assert_int_equal(hes_process_open(&who), -ESRCH);
}

BENCH_TEST(a_dropped_job_never_ran)
{
	const struct hes_launch l = { .shell = "echo ran", .output = p->output, .output_fd = -1 };
	struct hes_child c;
	struct hes_process who;

	assert_int_equal(hes_child_fork(&l, &c, NULL), 0);
	who = c.id;
	hes_child_drop(&c);
	hes_child_drop(&c);
	assert_false(hes_process_runs(&who));
	assert_string_equal(text_of(p->output), "");
}

BENCH_TEST(a_job_gets_its_environment_folder_and_output_and_no_other_descriptor)
{
	static const char *const variables[] = { "CUDA_VISIBLE_DEVICES=GPU-1", "PATH=/usr/bin:/bin",
						 "EMPTY=", NULL };
	static const char *const argv[] = {
		"sh", "-c",
		"echo $CUDA_VISIBLE_DEVICES $EMPTY. $HESHARE_LAUNCH; pwd; ls /proc/$$/fd; "
		"cat; echo on stderr >&2; cut -d ' ' -f 5,6 /proc/$$/stat",
		NULL
	};
	const struct hes_launch l = { .argv = argv,
				      .variables = variables,
				      .folder = p->dir,
				      .output = p->output,
				      .output_fd = -1 };
	struct hes_child c;
	char expected[512];
	int leak = open("/dev/null", O_RDONLY);
	pid_t pid;

	start(&l, &c);
	pid = c.id.pid;
	snprintf(expected, sizeof(expected), "GPU-1 . %s\n%s\n0\n1\n2\non stderr\n", c.mark,
		 p->dir);
	assert_int_equal(wait_for(&c).code, 0);
	assert_memory_equal(text_of(p->output), expected, strlen(expected));
	/* Leader of its session and of its process group. */
	snprintf(expected, sizeof(expected), "%d %d", (int)pid, (int)pid);
	assert_non_null(strstr(text_of(p->output), expected));
	close(leak);
}

BENCH_TEST(output_is_appended)
{
	struct hes_launch l = { .shell = "echo one", .output = p->output, .output_fd = -1 };
	int fd = open(p->output, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	struct hes_child c;

	start(&l, &c);
	wait_for(&c);
	l = (struct hes_launch){ .shell = "echo two", .output_fd = fd };
	start(&l, &c);
	wait_for(&c);
	assert_string_equal(text_of(p->output), "one\ntwo\n");
	close(fd);
}

BENCH_TEST(exit_statuses_and_signals_differ)
{
	static const struct {
		const char *line;
		int code, signal;
	} rows[] = { { "exit 7", 7, 0 },
		     { "kill -SEGV $$", 128 + SIGSEGV, SIGSEGV },
		     { "exit 139", 139, 0 },
		     { "true", 0, 0 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct hes_launch l = { .shell = rows[i].line, .output_fd = -1 };
		struct hes_child c;
		struct hes_child_end end;

		start(&l, &c);
		end = wait_for(&c);
		assert_int_equal(end.code, rows[i].code);
		assert_int_equal(end.signal, rows[i].signal);
		assert_int_equal(end.left, 0);
	}
}

BENCH_TEST(a_job_starts_with_default_signals)
{
	const struct hes_launch l = { .shell = "kill -PIPE $$; kill -USR1 $$; exit 3",
				      .output_fd = -1 };
	sigset_t set, before;
	struct hes_child c;

	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &set, &before);
	signal(SIGPIPE, SIG_IGN);
	start(&l, &c);
	signal(SIGPIPE, SIG_DFL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	assert_int_equal(wait_for(&c).signal, SIGPIPE);
}

BENCH_TEST(a_wrong_launch_fails_with_a_sentence)
{
	static const char *const
		nothing[] = { NULL },
		*const absent[] = { "heshare-no-such-program", NULL },
		*const bad[] = { "NOVALUE", NULL }, *const gone[] = { "/nowhere/program", NULL },
		*const yes[] = { "true", NULL }, *const path[] = { "PATH=/usr/bin:/bin", NULL };
	const struct {
		struct hes_launch l;
		int fork, go;
		const char *says;
	} rows[] = {
		{ { .argv = nothing, .output_fd = -1 }, -EINVAL, 0, "empty command" },
		{ { .argv = absent, .variables = path, .output_fd = -1 },
		  -ENOENT,
		  0,
		  "heshare-no-such-program" },
		{ { .argv = yes, .variables = bad, .output_fd = -1 }, -EINVAL, 0, "NOVALUE" },
		{ { .argv = yes, .folder = "/nowhere", .output_fd = -1 }, -ENOENT, 0, "/nowhere" },
		{ { .argv = yes, .output = "/nowhere/output", .output_fd = -1 },
		  -ENOENT,
		  0,
		  "/nowhere/output" },
		{ { .argv = yes, .output = "/dev/null", .output_fd = -1 },
		  -EINVAL,
		  0,
		  "not a plain file" },
		{ { .argv = yes, .user = "no-such-user-here", .output_fd = -1 },
		  -ENOENT,
		  0,
		  "no-such-user-here" },
		{ { .argv = gone, .output_fd = -1 }, 0, -ENOENT, "running the command" },
	};

	(void)p;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct hes_child c = { .gate = -9 };
		struct hes_err err = { 0 };

		assert_int_equal(hes_child_fork(&rows[i].l, &c, &err), rows[i].fork);
		if (!rows[i].fork) {
			assert_int_equal(hes_child_go(&c, &err), rows[i].go);
			assert_int_equal(c.id.pid, 0);
		} else {
			assert_int_equal(c.gate, -9);
		}
		if (!strstr(err.msg, rows[i].says))
			fail_msg("\"%s\" does not name %s", err.msg, rows[i].says);
	}
}

BENCH_TEST(a_job_of_another_user_runs_as_that_user)
{
	const struct hes_launch l = { .shell = "id -un; id -G; echo $HOME $USER",
				      .user = "nobody",
				      .output = p->output,
				      .output_fd = -1 };
	const struct passwd *nobody = getpwnam("nobody");
	char expected[256];
	struct hes_child c;

	if (!nobody)
		skip();
	if (geteuid() != 0) {
		struct hes_err err;

		if (geteuid() == nobody->pw_uid)
			skip();
		assert_int_equal(hes_child_fork(&l, &c, &err), -EPERM);
		assert_non_null(strstr(err.msg, "root"));
		return;
	}
	start(&l, &c);
	assert_int_equal(wait_for(&c).code, 0);
	snprintf(expected, sizeof(expected), "nobody\n%d\n%s nobody\n", (int)nobody->pw_gid,
		 nobody->pw_dir);
	assert_string_equal(text_of(p->output), expected);
}

/* One in its session, one in a session of its own, one without the environment below that one. */
#define FAMILY \
	"sleep 1000 & setsid sleep 1001 & setsid sh -c 'env -i sleep 1002 & echo there; wait' & "

BENCH_TEST(processes_that_a_job_leaves_are_killed)
{
	const struct hes_launch l = { .shell = FAMILY
				      "while ! grep -q there output; do sleep 0.01; done; exit 4",
				      .folder = p->dir,
				      .output = p->output,
				      .output_fd = -1 };
	struct hes_child c;
	struct hes_child_end end;

	start(&l, &c);
	end = wait_for(&c);
	assert_int_equal(end.code, 4);
	assert_int_equal(end.left, 4);
	assert_int_equal(guarded_count(p->dir), 0);
}

BENCH_TEST(killing_a_job_kills_its_descendants)
{
	const struct hes_launch l = { .shell = "trap '' TERM; " FAMILY "wait; wait",
				      .folder = p->dir,
				      .output = p->output,
				      .output_fd = -1 };
	struct hes_child c;

	start(&l, &c);
	await_text(p->output, "there");
	assert_true(guarded_count(p->dir) >= 4);
	hes_child_terminate(&c);
	guarded_sleep_ms(20);
	assert_true(hes_child_kill(&c, NULL) >= 4);
	assert_int_equal(wait_for(&c).signal, SIGKILL);
	assert_int_equal(guarded_count(p->dir), 0);
}

/* How many members of the job are in the state @which of /proc/PID/stat. */
static unsigned count_in_state(const struct hes_child *c, char which)
{
	const struct hes_member_rule rule = hes_child_rule(c);
	struct hes_member *m = NULL;
	long n = hes_members_find(&rule, 1, &m);
	unsigned count = 0;

	for (long i = 0; i < n; i++) {
		char path[40], *state;

		snprintf(path, sizeof(path), "/proc/%d/stat", (int)m[i].id.pid);
		state = strrchr(text_of(path), ')');
		count += state && state[2] == which;
	}
	free(m);
	return count;
}

static bool cgroup_is_frozen(const char *cgroup)
{
	char path[HES_CGROUP_MAX + 16], text[128] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/cgroup.events", cgroup);
	f = fopen(path, "re");
	assert_non_null(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	return strstr(text, "frozen 1") != NULL;
}

/* Move a process to our own cgroup. */
static void leave_cgroup(pid_t pid)
{
	char path[HES_CGROUP_MAX + 16];
	size_t n;
	FILE *f;

	hes_cgroup_own(path);
	n = strlen(path);
	snprintf(path + n, sizeof(path) - n, "/cgroup.procs");
	f = fopen(path, "we");
	assert_non_null(f);
	assert_true(fprintf(f, "%d", (int)pid) > 0);
	assert_int_equal(fclose(f), 0);
}

/* By the freezer of its cgroup, where it has one, and by signals. */
BENCH_TEST(a_stopped_job_stands_still_with_its_descendants_goes_on_and_can_be_killed)
{
	const struct hes_launch l = {
		.shell = FAMILY "wait; wait", .folder = p->dir, .output = p->output, .output_fd = -1
	};
	struct hes_child c, plain;

	start(&l, &c);
	await_text(p->output, "there");
	plain = c;
	plain.cgroup[0] = '\0';
	assert_int_equal(hes_child_stop(&plain), 0);
	while (count_in_state(&c, 'T') < 5)
		guarded_sleep_ms(1);
	hes_child_continue(&c); /* also where its cgroup could not be frozen */
	while (count_in_state(&c, 'T'))
		guarded_sleep_ms(1);
	assert_int_equal(hes_child_stop(&c), 0);
	while (*c.cgroup && !cgroup_is_frozen(c.cgroup))
		guarded_sleep_ms(1);
	if (*c.cgroup)
		assert_int_equal(count_in_state(&c, 'T'), 0);
	hes_child_continue(&c);
	if (*c.cgroup)
		assert_false(cgroup_is_frozen(c.cgroup));
	if (*c.cgroup) {
		leave_cgroup(c.id.pid);
		assert_int_equal(hes_child_stop(&c), 0);
		while (count_in_state(&c, 'T') < 5)
			guarded_sleep_ms(1);
		hes_child_continue(&c);
	}
	assert_int_equal(hes_child_stop(&(struct hes_child){ 0 }), -ESRCH);
	assert_int_equal(hes_child_stop(&c), 0);
	assert_true(hes_child_kill(&c, NULL) >= 4);
	assert_int_equal(wait_for(&c).signal, SIGKILL);
	assert_int_equal(guarded_count(p->dir), 0);
}

BENCH_TEST(a_job_that_ends_after_sigterm_is_not_killed)
{
	const struct hes_launch l = {
		.shell = "trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done",
		.output = p->output,
		.output_fd = -1
	};
	struct hes_child c;

	start(&l, &c);
	await_text(p->output, "ready");
	hes_child_terminate(&c);
	assert_int_equal(wait_for(&c).code, 5);
}

/*
 * A tracer stops the process at its exit: it cannot be killed, like one that waits in the driver,
 * until *@release is closed.
 */
static void make_unkillable(pid_t pid, int *release)
{
	int ends[2], ready[2];
	char c;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	if (!fork()) {
		close(ends[1]);
		if (!ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACEEXIT) &&
		    write(ready[1], "r", 1) == 1)
			while (read(ends[0], &c, 1) > 0)
				;
		_exit(0);
	}
	close(ends[0]);
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	*release = ends[1];
}

BENCH_TEST(killing_does_not_wait_for_a_job_that_cannot_be_killed)
{
	const struct hes_launch l = { .shell = "echo there; exec sleep 1000",
				      .output = p->output,
				      .output_fd = -1 };
	struct hes_child c;
	struct hes_child_end end;
	int release;

	start(&l, &c);
	await_text(p->output, "there");
	make_unkillable(c.id.pid, &release);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(hes_child_kill(&c, NULL), 1);
		assert_int_equal(hes_child_reap(&c, &end), 0);
	}
	close(release);
	assert_int_equal(wait_for(&c).signal, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0)
		;
}

BENCH_TEST(a_job_has_not_ended_while_a_process_of_it_cannot_be_killed)
{
	const struct hes_launch l = { .shell = "sleep 1000 & echo $!; read x <go; exit 3",
				      .folder = p->dir,
				      .output = p->output,
				      .output_fd = -1 };
	struct hes_child c;
	struct hes_child_end end;
	char go[96];
	int release, fd;

	snprintf(go, sizeof(go), "%s/go", p->dir);
	assert_int_equal(mkfifo(go, 0600), 0);
	start(&l, &c);
	await_text(p->output, "\n");
	make_unkillable((pid_t)atoi(text_of(p->output)), &release);
	fd = open(go, O_WRONLY | O_CLOEXEC);
	assert_int_equal(write(fd, "g\n", 2), 2);
	close(fd);
	await_end(&c);
	assert_int_equal(hes_child_reap(&c, &end), -EBUSY);
	assert_int_equal(hes_child_reap(&c, &end), -EBUSY);
	close(release);
	while (hes_child_reap(&c, &end) == -EBUSY)
		guarded_sleep_ms(10);
	assert_int_equal(end.code, 3);
	assert_int_equal(end.left, 1);
	while (waitpid(-1, NULL, 0) > 0)
		;
}

BENCH_TEST(a_process_with_a_reused_pid_is_not_the_job)
{
	struct hes_process me, other;
	struct hes_member_rule b;
	struct hes_member *m = NULL;

	assert_int_equal(hes_process_of(getpid(), &me), 0);
	other = me;
	other.started--;
	assert_false(hes_process_runs(&other));
	assert_int_equal(hes_process_open(&other), -ESRCH);
	/* Nor are processes in the session of a reused pid. */
	other.pid = getsid(0);
	b = (struct hes_member_rule){ .leader = { .pid = other.pid, .started = 1 },
				      .mark = "",
				      .cgroup = "",
				      .mps_pipe = "" };
	assert_int_equal(hes_members_find(&b, 1, &m), 0);
	free(m);
}

/* Ends after SIGTERM when the other one has it, too; with status 1 where that takes far too long.
 */
static _Noreturn void end_together(int other)
{
	struct pollfd from = { .fd = other, .events = POLLIN };
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	_exit(sigwait(&set, &sig) || write(other, "", 1) != 1 || poll(&from, 1, 20000) != 1);
}

/* Workers of a job may wait for one another when they end: each has to have the signal before any
 * is waited for. */
TEST(all_members_have_the_signal_before_one_is_waited_for)
{
	struct hes_member_rule b = { .mark = "", .cgroup = "", .mps_pipe = "" };
	sigset_t term, before;
	unsigned killed = 0;
	int ends[2], ready[2], status = -1;
	pid_t pid;
	char c;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, &before);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		setsid();
		if (!fork())
			end_together(ends[0]);
		if (write(ready[1], "", 1) == 1)
			end_together(ends[1]);
		_exit(1);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	assert_int_equal(read(ready[0], &c, 1), 1);
	assert_int_equal(hes_process_of(pid, &b.leader), 0);
	assert_int_equal(hes_members_end(&b, 1, SIGTERM, 60000, &killed), 0);
	assert_int_equal(killed, 2);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	for (int i = 0; i < 2; i++) {
		close(ends[i]);
		close(ready[i]);
	}
}

/* A program that is killed after it has started a job, or while it holds the job. */
static void fork_program(const struct hes_launch *l, bool go, struct hes_child *job)
{
	int said[2];
	pid_t pid;

	assert_int_equal(pipe2(said, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		struct hes_child c;

		if (hes_child_fork(l, &c, NULL) || (go && hes_child_go(&c, NULL)) ||
		    write(said[1], &c, sizeof(c)) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	close(said[1]);
	assert_int_equal(read(said[0], job, sizeof(*job)), sizeof(*job));
	close(said[0]);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

BENCH_TEST(a_job_dies_with_the_program_that_started_it)
{
	const struct hes_launch l = { .shell = "while :; do sleep 0.1; echo alive; done",
				      .output = p->output,
				      .output_fd = -1 };

	for (int go = 0; go < 2; go++) {
		struct hes_child job;

		fork_program(&l, go, &job);
		for (int i = 0; i < 6000 && hes_process_runs(&job.id); i++)
			guarded_sleep_ms(10);
		assert_false(hes_process_runs(&job.id));
		hes_cgroup_remove(job.cgroup);
	}
}

/* The program was killed after it made the cgroup and before it registered it. */
BENCH_TEST(an_unregistered_cgroup_is_removed)
{
	const struct hes_launch l = { .shell = "true", .output_fd = -1 };
	struct hes_child lost, ours;

	fork_program(&l, 0, &lost);
	assert_int_equal(hes_child_fork(&l, &ours, NULL), 0);
	for (int i = 0; *lost.cgroup && i < 6000 && !access(lost.cgroup, F_OK); i++) {
		hes_cgroup_sweep();
		guarded_sleep_ms(10);
	}
	assert_true(!*lost.cgroup || access(lost.cgroup, F_OK));
	assert_true(!*ours.cgroup || !access(ours.cgroup, F_OK));
	hes_child_drop(&ours);
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

TEST(memory_is_left_where_each_cgroup_above_has_some)
{
	char at[] = "/tmp/heshare-test-XXXXXX", below[64], path[96];

	assert_non_null(mkdtemp(at));
	snprintf(below, sizeof(below), "%s/job", at);
	assert_int_equal(mkdir(below, 0700), 0);
	assert_true(hes_cgroup_has_memory(below, 0.25));
	snprintf(path, sizeof(path), "%s/memory.max", below);
	write_file(path, "max\n");
	snprintf(path, sizeof(path), "%s/memory.max", at);
	write_file(path, "1000\n");
	snprintf(path, sizeof(path), "%s/memory.current", at);
	write_file(path, "900\n");
	assert_false(hes_cgroup_has_memory(below, 0.25));
	snprintf(path, sizeof(path), "%s/memory.stat", at);
	write_file(path, "anon 700\nfile 200\nshmem 0\ninactive_file 150\nactive_file 50\n");
	assert_true(hes_cgroup_has_memory(below, 0.25));
	assert_false(hes_cgroup_has_memory(below, 0.35));
	assert_true(hes_cgroup_has_memory("", 0.25));
	snprintf(path, sizeof(path), "rm -r %s", at);
	assert_int_equal(system(path), 0);
}

BENCH_TEST(a_job_within_a_job_extends_its_mark)
{
	const struct hes_launch l = { .shell = "true", .output_fd = -1 };
	struct hes_child c;

	setenv(HES_MARK_VARIABLE, "0123456789abcdef", 1);
	start(&l, &c);
	assert_memory_equal(c.mark, "0123456789abcdef/", 17);
	assert_int_equal(strlen(c.mark), 33);
	wait_for(&c);
	/* A blank would end the mark in the undo file. */
	setenv(HES_MARK_VARIABLE, "not a mark", 1);
	start(&l, &c);
	unsetenv(HES_MARK_VARIABLE);
	assert_int_equal(strlen(c.mark), 16);
	wait_for(&c);
}

TEST(a_process_is_forked_until_it_runs_another_program)
{
	struct hes_proc p;
	pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	assert_int_equal(hes_proc_read(pid, &p), 0);
	assert_true(p.forked && p.parent == getpid());
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(hes_proc_read(getpid(), &p), 0);
	assert_false(p.forked);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
