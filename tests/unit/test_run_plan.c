/* test_run_plan.c - a plan made ready to run: commands from patterns, GPUs to GPUs, what a job
 * finds in its environment. */
#include "heshare/run.h"
#include "run/environment.h"
#include "app/jobs_load.h"
#include "app/run_gpus.h"
#include "unit_test.h"

static const struct hes_job job = {
	.id = "it's",
	.workload = "my net",
	.batch_size = 16,
	.iterations = 5000000000,
	.memory_mib = 1000,
	.weight = 1,
};

static void check_words(const char *pattern, const char *expected)
{
	struct hes_err err = { 0 };
	char *text = NULL;

	if (app_command_words(pattern, &job, &text, &err))
		fail_msg("%s: %s", pattern, err.msg);
	assert_string_equal(text, expected);
	free(text);
}

TEST(values_of_the_job_take_the_place_of_their_names)
{
	check_words("run {batch} {iterations} {memory}", "run 16 5000000000 1000");
	check_words("{workload} {job}", "'my net' 'it'\\''s'");
	check_words("", "");
}

TEST(other_braces_stay_for_the_shell)
{
	check_words("awk '{print $1}' ${HOME} ${home} {a,b} {}",
		    "awk '{print $1}' ${HOME} ${home} {a,b} {}");
	check_words("{{batch} {batch}", "{batch} 16");
}

TEST(an_unknown_name_in_braces_is_refused)
{
	struct hes_err err = { 0 };
	char *text = NULL;

	assert_int_equal(app_command_words("x {iteration}", &job, &text, &err), -EINVAL);
	assert_null(text);
	assert_non_null(strstr(err.msg, "{iteration}"));
	assert_non_null(strstr(err.msg, "{iterations}"));
}

/* Two T4 on node a and a V100 on node b; the second T4 has no work. */
struct bench {
	struct hes_catalogue catalogue;
	struct hes_fleet fleet;
	struct hes_plan plan;
};

static int set_up(void **state)
{
	static const char yaml[] =
		"name: test\nnodes:\n  - name: a\n    gpus: [ { type: T4, count: 2 } ]\n"
		"  - name: b\n    gpus: [ { type: V100-SXM2-32, count: 1 } ]\n";
	const struct hes_batch one = { .clock_mhz = 1590,
				       .n = 1,
				       .jobs = { { .job = 0, .sm_pct = 100 } } };
	struct bench *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	assert_int_equal(hes_catalogue_load(NULL, &b->catalogue, NULL), 0);
	assert_int_equal(
		hes_fleet_parse("test", yaml, strlen(yaml), &b->catalogue, &b->fleet, NULL), 0);
	assert_int_equal(hes_plan_init(&b->plan, 3), 0);
	assert_int_equal(hes_plan_append(&b->plan, 0, &one), 0);
	assert_int_equal(hes_plan_append(&b->plan, 2, &one), 0);
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;

	hes_plan_finish(&b->plan);
	hes_fleet_free(&b->fleet);
	hes_catalogue_free(&b->catalogue);
	free(b);
	return 0;
}

TEST_WITH(planned_gpus_get_real_ones_of_their_type_in_order, set_up, tear_down)
{
	const struct fit_gpu gpus[] = {
		{ "V100-SXM2-32", "" }, { "GeForce", "" }, { "T4", "" }, { "T4", "" }
	};
	const struct bench *b = *state;
	long at[3];

	assert_int_equal(fit_gpus(&b->fleet, &b->plan, NULL, 0, gpus, 4, at, NULL), 0);
	assert_int_equal(at[0], 2);
	assert_int_equal(at[1], 3);
	assert_int_equal(at[2], 0);
}

TEST_WITH(planned_gpus_keep_their_numbers_where_the_type_fits, set_up, tear_down)
{
	const struct fit_gpu gpus[] = { { "V100-SXM2-32", "" }, { "T4", "" }, { "T4", "" } };
	struct bench *b = *state;
	long at[3];

	strcpy(b->fleet.gpus[0].name, "a/2");
	strcpy(b->fleet.gpus[1].name, "a/1");
	assert_int_equal(fit_gpus(&b->fleet, &b->plan, NULL, 0, gpus, 3, at, NULL), 0);
	assert_int_equal(at[0], 2);
	assert_int_equal(at[1], 1);
	assert_int_equal(at[2], 0);
}

TEST_WITH(a_gpu_without_work_needs_no_real_one, set_up, tear_down)
{
	const struct fit_gpu gpus[] = { { "T4", "" }, { "V100-SXM2-32", "" } };
	const struct bench *b = *state;
	long at[3];

	assert_int_equal(fit_gpus(&b->fleet, &b->plan, NULL, 0, gpus, 2, at, NULL), 0);
	assert_int_equal(at[0], 0);
	assert_int_equal(at[1], HES_RUN_NO_GPU);
	assert_int_equal(at[2], 1);
}

TEST_WITH(a_plan_that_does_not_fit_is_refused_with_numbers, set_up, tear_down)
{
	const struct fit_gpu gpus[] = { { "T4", "" }, { "T4", "" } };
	const struct bench *b = *state;
	struct hes_err err = { 0 };
	long at[3] = { 7, 7, 7 };

	assert_int_equal(fit_gpus(&b->fleet, &b->plan, NULL, 0, gpus, 2, at, &err), -ENODEV);
	assert_non_null(strstr(
		err.msg,
		"work for 1 GPU of type V100-SXM2-32, this machine has 0, of 2 GPUs in all"));
	assert_int_equal(at[0], 7);
}

TEST_WITH(a_plan_that_names_uuids_runs_on_these_gpus_alone, set_up, tear_down)
{
	const struct fit_gpu gpus[] = {
		{ "V100-SXM2-32", "GPU-v" }, { "T4", "GPU-b" }, { "T4", "GPU-a" }, { "", "" }
	};
	struct bench *b = *state;
	struct hes_err err = { 0 };
	long at[3] = { 7, 7, 7 };

	strcpy(b->fleet.gpus[0].uuid, "GPU-a");
	strcpy(b->fleet.gpus[1].uuid, "GPU-b");
	assert_int_equal(fit_gpus(&b->fleet, &b->plan, NULL, 0, gpus, 4, at, NULL), 0);
	assert_int_equal(at[0], 2);
	assert_int_equal(at[1], 1);
	assert_int_equal(at[2], 0);
	strcpy(b->fleet.gpus[2].uuid, "GPU-w");
	assert_int_equal(fit_gpus(&b->fleet, &b->plan, NULL, 0, gpus, 4, at, &err), -ENODEV);
	assert_non_null(strstr(
		err.msg, "GPU-w (b/0 of the plan) is not on this machine, which has GPU-v; "));
	assert_non_null(strstr(err.msg, "--other-gpus"));
	/* An idle GPU may be missing. */
	strcpy(b->fleet.gpus[1].uuid, "GPU-x");
	assert_int_equal(fit_gpus(&b->fleet, &b->plan, NULL, FIT_OTHERS, gpus, 4, at, NULL), 0);
	assert_int_equal(at[0], 2);
	assert_int_equal(at[1], 1);
	assert_int_equal(at[2], 0);
	/* Its own machine, without one of its GPUs. */
	assert_int_equal(fit_gpus(&b->fleet, &b->plan, NULL, FIT_LOST, gpus, 4, at, NULL), 0);
	assert_int_equal(at[0], 2);
	assert_int_equal(at[2], HES_RUN_GPU_LOST);
	strcpy(b->fleet.gpus[0].uuid, "GPU-y");
	assert_int_equal(fit_gpus(&b->fleet, &b->plan, NULL, FIT_LOST, gpus, 4, at, &err), -ENODEV);
}

TEST_WITH(one_nodes_part_can_be_carried_out_alone, set_up, tear_down)
{
	const struct fit_gpu gpus[] = { { "T4", "" }, { "T4", "" } };
	const struct bench *b = *state;
	struct hes_err err = { 0 };
	long at[3];

	assert_int_equal(fit_gpus(&b->fleet, &b->plan, "a", 0, gpus, 2, at, &err), 0);
	assert_int_equal(at[0], 0);
	assert_int_equal(at[2], HES_RUN_NO_GPU);
	assert_int_equal(fit_gpus(&b->fleet, &b->plan, "c", 0, gpus, 2, at, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "no GPU of the plan is on a node \"c\""));
}

static bool has(const struct run_environment *e, const char *row)
{
	for (const char *const *v = e->v; *v; v++)
		if (strcmp(*v, row) == 0)
			return true;
	return false;
}

TEST(behind_mps_a_job_has_share_limit_and_the_uuid_of_its_gpu)
{
	const struct hes_mps mps = { .uuid = "GPU-1", .pipe_dir = "/run/p", .log_dir = "/run/l" };
	struct run_environment_of of = { .job = &job,
					 .run = 4,
					 .attempt = 2,
					 .gpu = "a/0",
					 .uuid = "GPU-1",
					 .sm_pct = 40,
					 .limit_mib = run_memory_limit(&job, 15360),
					 .mps = &mps,
					 .mps_folder = "/run/mps" };
	struct run_environment e;

	run_environment_set(&e, &of);
	assert_true(has(&e, "CUDA_MPS_PIPE_DIRECTORY=/run/p"));
	assert_true(has(&e, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=40"));
	assert_true(has(&e, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=1100M"));
	assert_true(has(&e, "HESHARE_RUN=4"));
	assert_true(has(&e, "HESHARE_JOB=it's"));
	assert_true(has(&e, "HESHARE_ATTEMPT=2"));
	assert_true(has(&e, "CUDA_VISIBLE_DEVICES=GPU-1"));
	assert_false(has(&e, "CUDA_MPS_CLIENT_PRIORITY=1"));
	of.yields = true;
	run_environment_set(&e, &of);
	assert_true(has(&e, "CUDA_MPS_CLIENT_PRIORITY=1"));
	of.limit_mib = run_memory_limit(&job, 1050); /* one above the GPU's memory is none */
	run_environment_set(&e, &of);
	assert_false(has(&e, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=1100M"));
	of.mps = NULL;
	run_environment_set(&e, &of);
	assert_true(has(&e, "CUDA_VISIBLE_DEVICES=GPU-1"));
	assert_false(has(&e, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=40"));
	/* A daemon that was there before heshare is not used. */
	assert_true(has(&e, "CUDA_MPS_PIPE_DIRECTORY=/run/mps/none"));
}

TEST(a_limit_is_a_tenth_above_what_is_known_of_memory)
{
	struct hes_job j = { .memory_mib = 4000, .measured_mib = 7679 };

	assert_int_equal(run_memory_limit(&j, 15360), 4400);
	j.memory_mib = 0; /* 7679 and a tenth are 8446 */
	assert_int_equal(run_memory_limit(&j, 15360), 9290);
	j.measured_mib = 0;
	assert_int_equal(run_memory_limit(&j, 15360), 0);
}

TEST(mps_is_used_only_for_jobs_that_share)
{
	struct hes_batch v[2] = { { .n = 1, .jobs = { { .sm_pct = 100 } } },
				  { .n = 1, .jobs = { { .sm_pct = 100 } } } };
	struct hes_queue q = { .batches = v, .n = 2 };

	assert_false(run_shares(&q));
	q.together = 2;
	assert_true(run_shares(&q));
	q.together = 1;
	assert_false(run_shares(&q));
	v[1].jobs[0].sm_pct = 90;
	assert_true(run_shares(&q));
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
