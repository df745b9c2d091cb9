/*
 * test_undo_check.c - which undo entries are accepted. Only the decisions: nothing is signalled
 * here.
 */
#include "launch/members.h"
#include "launch/undo_check.h"
#include "unit_test.h"

#define MARK   "0123456789abcdef"
#define CGROUP "/sys/fs/cgroup/user/heshare-77-" MARK

/* Process 100 restores, started by 50, of 1; in job outer/aaaa... */
static const struct hes_undo_facts facts = {
	.above = { { 100, 1000 }, { 50, 500 }, { 1, 1 } },
	.n_above = 3,
	.cgroup = "/sys/fs/cgroup/user/heshare-9-aaaaaaaaaaaaaaaa/below",
	.mark = "aaaaaaaaaaaaaaaa/bbbbbbbbbbbbbbbb",
	.folder = "/home/a/plan.run",
	.uid = 1000,
};

static struct hes_undo job(pid_t pid, uint64_t started, const char *mark, const char *cgroup)
{
	struct hes_undo d = { .kind = HES_UNDO_JOB, .job = { pid, started } };

	snprintf(d.mark, sizeof(d.mark), "%s", mark);
	snprintf(d.cgroup, sizeof(d.cgroup), "%s", cgroup);
	return d;
}

static void expect(const struct hes_undo *d, const char *refusal)
{
	struct hes_err err = { 0 };
	int rc = hes_undo_check(d, &facts, &err);

	if (!refusal && rc)
		fail_msg("refused: %s", err.msg);
	if (refusal && (rc != -EPERM || !strstr(err.msg, refusal)))
		fail_msg("\"%s\" (%d) does not contain \"%s\"", err.msg, rc, refusal);
}

TEST(entries_of_heshare_are_accepted)
{
	const struct hes_undo entries[] = {
		job(4711, 7, MARK, ""),
		job(4711, 7, MARK, CGROUP),
		job(4711, 7, "outer/0000000000000000/" MARK, CGROUP),
		/* A reused pid that is now ours or an ancestor's: the start time differs. */
		job(100, 999, MARK, ""),
		job(50, 499, MARK, ""),
		/* A job of ours, inside the job that we run in. */
		job(4711, 7, "aaaaaaaaaaaaaaaa/bbbbbbbbbbbbbbbb/" MARK,
		    "/sys/fs/cgroup/user/heshare-9-aaaaaaaaaaaaaaaa/below/heshare-100-" MARK),
		{ .kind = HES_UNDO_CLOCK, .uuid = "GPU-1ab00000-0001-4002-8003-000000000004" },
		{ .kind = HES_UNDO_CLAIM, .uuid = "MIG-1ab00000-0001-4002-8003-000000000004" },
		{ .kind = HES_UNDO_MPS, .uuid = "GPU-1", .dir = "/home/a/plan.run/mps/0" },
		{ .kind = HES_UNDO_MPS, .uuid = "GPU-1", .dir = "/home/a/plan.run" },
		{ .kind = HES_UNDO_MPS, .uuid = "GPU-1", .dir = "/tmp/heshare-1000-" MARK "/0" },
	};

	for (size_t i = 0; i < N(entries); i++)
		expect(&entries[i], NULL);
}

TEST(processes_that_are_no_jobs_are_refused)
{
	const struct {
		struct hes_undo d;
		const char *refusal;
	} rows[] = {
		{ job(0, 7, MARK, ""), "process 0 is no job's" },
		{ job(-1, 7, MARK, ""), "process -1 is no job's" },
		{ job(1, 7, MARK, ""), "process 1 is no job's" },
		{ job(100, 1000, MARK, ""), "process 100 is this one" },
		{ job(50, 500, MARK, ""), "process 50 is this one, or one above it" },
		{ job(4711, 7, "", ""), "no mark" },
		{ job(4711, 7, "mark", ""), "no mark" },
		{ job(4711, 7, "0123456789ABCDEF", ""), "no mark" },
		{ job(4711, 7, MARK "0", ""), "no mark" },
		{ job(4711, 7, MARK "/", ""), "no mark" },
		{ job(4711, 7, "aaaaaaaaaaaaaaaa", ""),
		  "this process belongs to job aaaaaaaaaaaaaaaa itself" },
		{ job(4711, 7, "aaaaaaaaaaaaaaaa/bbbbbbbbbbbbbbbb", ""),
		  "this process belongs to job" },
	};

	for (size_t i = 0; i < N(rows); i++)
		expect(&rows[i].d, rows[i].refusal);
}

TEST(cgroups_that_are_no_jobs_are_refused)
{
	static const char *const paths[] = {
		"/",
		"/sys/fs/cgroup",
		"/sys/fs/cgroup/",
		"/sys/fs/cgroup/unified",
		"sys/heshare-77-" MARK,
		"heshare-77-" MARK,
		".",
		"/..",
		CGROUP "/",
		CGROUP "/below",
		CGROUP "/..",
		CGROUP "/.",
		CGROUP "//",
		"/sys/fs/../cgroup/heshare-77-" MARK,
		"/sys/./heshare-77-" MARK,
		"/sys/fs/cgroup/heshare-77-",
		"/sys/fs/cgroup/heshare-77",
		"/sys/fs/cgroup/heshare--" MARK,
		"/sys/fs/cgroup/heshare--5-" MARK,
		"/sys/fs/cgroup/heshare- 5-" MARK,
		"/sys/fs/cgroup/heshare-77-" MARK "0",
		"/sys/fs/cgroup/xheshare-77-" MARK,
		/* Another job's. */
		"/sys/fs/cgroup/heshare-77-fedcba9876543210",
	};
	const struct hes_undo ours = job(4711, 7, "x/aaaaaaaaaaaaaaaa",
					 "/sys/fs/cgroup/user/heshare-9-aaaaaaaaaaaaaaaa");

	for (size_t i = 0; i < N(paths); i++) {
		const struct hes_undo d = job(4711, 7, MARK, paths[i]);

		expect(&d, "it is no cgroup of a job");
	}
	expect(&ours, "this process is in that cgroup");
}

TEST(the_cgroup_of_this_process_and_those_above_are_not_killed)
{
	static const struct {
		pid_t pids[3];
		bool may;
	} rows[] = {
		{ { 4711, 4712, 4713 }, true }, { { 4711, 0, 4713 }, false },
		{ { 1, 4712, 4713 }, false },   { { 4711, 4712, 100 }, false },
		{ { 50, 4712, 4713 }, false },  { { 4711, -1, 4713 }, false },
	};

	for (size_t i = 0; i < N(rows); i++)
		assert_int_equal(hes_cgroup_may_be_killed(rows[i].pids, 3, &facts), rows[i].may);
	assert_true(hes_cgroup_may_be_killed(NULL, 0, &facts));
}

TEST(folders_of_other_daemons_are_refused)
{
	static const char *const dirs[] = {
		"",
		"/",
		"/tmp/nvidia-mps",
		"/home/a/plan.run2/mps",
		"/home/a",
		"/home/a/plan.run/../other",
		"/home/a/plan.run/mps/..",
		"home/a/plan.run",
		"/tmp/heshare-1001-" MARK "/0",
		"/tmp/heshare-1000-" MARK,
		"/tmp/heshare-1000-0123/0",
		"/tmp/heshare-1000-" MARK "/../x",
		"/var/tmp/heshare-1000-" MARK "/0",
	};

	for (size_t i = 0; i < N(dirs); i++) {
		struct hes_undo d = { .kind = HES_UNDO_MPS, .uuid = "GPU-1" };

		snprintf(d.dir, sizeof(d.dir), "%s", dirs[i]);
		expect(&d, "it is no folder of this run's MPS daemons");
	}
}

TEST(values_that_no_gpu_has_are_refused)
{
	static const char *const uuids[] = { "",           "0",      "GPU-",      "gpu-1",
					     "GPU-1/../2", "GPU-1;", "../../etc", "GPU-\x01" };

	for (size_t i = 0; i < N(uuids); i++)
		for (int kind = HES_UNDO_CLOCK; kind <= HES_UNDO_CLAIM; kind++) {
			struct hes_undo d = { .kind = (enum hes_undo_kind)kind,
					      .dir = "/home/a/plan.run" };

			snprintf(d.uuid, sizeof(d.uuid), "%s", uuids[i]);
			if (kind != HES_UNDO_JOB && kind != HES_UNDO_HOLD)
				expect(&d, "no UUID of a GPU");
		}
}

TEST(the_facts_are_those_of_this_process)
{
	struct hes_undo_facts f;

	assert_int_equal(setenv(HES_MARK_VARIABLE, "7-of-tests", 1), 0);
	hes_undo_facts_get(&f, -1);
	assert_string_equal(f.mark, "7-of-tests");
	unsetenv(HES_MARK_VARIABLE);
	assert_true(f.n_above >= 2);
	assert_int_equal(f.above[0].pid, getpid());
	assert_int_equal(f.above[1].pid, getppid());
	assert_int_equal(f.uid, geteuid());
	assert_string_equal(f.folder, "");
}

TEST(this_process_and_its_ancestors_are_no_members)
{
	struct hes_member_rule b = { .mark = "", .cgroup = "", .mps_pipe = "" };
	struct hes_member *m = NULL;
	struct hes_undo_facts f;

	hes_undo_facts_get(&f, -1);
	/* The leader of our session is an ancestor or ourselves. */
	for (size_t i = 0; i < f.n_above; i++) {
		long n;

		b.leader = f.above[i];
		n = hes_members_find(&b, 1, &m);
		for (long k = 0; k < n; k++)
			for (size_t j = 0; j < f.n_above; j++)
				assert_int_not_equal(m[k].id.pid, f.above[j].pid);
		free(m);
	}
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
