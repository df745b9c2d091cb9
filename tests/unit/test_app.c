/*
 * test_app.c - campaigns, training, predictions and splits by src/app alone, as a service would: no
 * terminal, no environment; see test_app_in_lab.c for what needs GPUs.
 */
#include "app/campaign_compare.h"
#include "app/partition_answer.h"
#include "app/predict_query.h"
#include "app/profile.h"
#include "app/train.h"
#include "unit_test.h"

static const struct app service = { .variable = NULL };
static char folder[] = "/tmp/hes-app-XXXXXX";
static uint64_t steps; /* of progress that were reported */

static void count_step(const char *what, uint64_t done, uint64_t total)
{
	assert_true(what && done <= total);
	steps++;
}

static void succeed(int rc, const struct hes_err *err)
{
	if (rc)
		fail_msg("%d: %s", rc, err->msg);
}

static char *file_in(const char *name, char out[64])
{
	snprintf(out, 64, "%s/%s", folder, name);
	return out;
}

static char *jobs_file(const char *name, char out[64])
{
	FILE *f = fopen(file_in(name, out), "we");

	assert_non_null(f);
	fputs("id,arrival_s,workload,batch_size,iterations\n"
	      "a,0,resnet50,16,900\nb,5,resnet18,8,700\nc,9,vgg16,8,500\n",
	      f);
	assert_int_equal(fclose(f), 0);
	return out;
}

TEST(policies_are_compared_on_several_sets)
{
	char one[64], two[64];
	char *const files[] = { jobs_file("one.csv", one), jobs_file("two.csv", two) };
	const struct campaign_request q = { .app = &service,
					    .progress = count_step,
					    .policies = "heshare:energy,exclusive",
					    .seeds = "1",
					    .burst = true };
	struct campaign_sets s = { 0 };
	struct compared x;
	struct hes_err err;

	steps = 0;
	succeed(campaign_sets_load(&s, &q, NULL, 2, files, &err), &err);
	succeed(campaign_sets_choose(&s, &q, &err), &err);
	succeed(campaign_sets_run(&s, &q, &err), &err);
	assert_int_equal(steps, 2 * 2 * 2);
	assert_string_equal(s.v[1].name, "two.csv");
	assert_int_equal(campaign_find(&s.v[0].campaign, "exclusive"), 1);
	succeed(compared_init(&x, &s, NULL, &err), &err);
	assert_int_equal(x.reference, 1);
	assert_true(x.rows[0].realised.fleet_energy_mj > 0);
	/* Both sets are alike. */
	assert_true(compared_no_more(&x, 0, 1) == 0 || compared_no_more(&x, 0, 1) == 2);
	compared_finish(&x);
	campaign_sets_free(&s);
}

TEST(an_option_that_no_policy_has_is_refused_before_any_run)
{
	char file[64];
	const struct campaign_request q = {
		.app = &service, .policies = "exclusive", .seeds = "1", .prefer = "energy"
	};
	struct campaign_set s = { .name = "" };
	struct hes_err err;

	succeed(campaign_set_load(&s, &q, jobs_file("one.csv", file), &err), &err);
	assert_int_equal(campaign_set_choose(&s, &q, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "--prefer energy: none of these policies"));
	campaign_set_free(&s);
}

TEST(what_was_drawn_is_trained_on_and_predicted_from)
{
	char predictor[64];
	const struct profile_request draw = { .app = &service,
					      .progress = count_step,
					      .types = "T4",
					      .folder = folder,
					      .samples = 200,
					      .seed = 1 };
	const struct train_request train = { .app = &service,
					     .progress = count_step,
					     .samples = folder,
					     .out = file_in("predictor", predictor),
					     .trees = 5,
					     .seed = 1,
					     .validate_pct = 25,
					     .coverage_pct = 90,
					     .left_out = true };
	const struct predict_request ask = { .app = &service,
					     .workload = "resnet50",
					     .gpu = "T4",
					     .batch = 8,
					     .share = 50,
					     .co_runners = "vgg16:8:50",
					     .predictor = predictor,
					     .profiles = folder };
	struct profile_drawn drawn;
	struct train_result r;
	struct predict_query p;
	struct hes_err err;

	succeed(profile_draw(&draw, &drawn, &err), &err);
	assert_int_equal(drawn.samples, 200);
	succeed(train_run(&train, &r, &err), &err);
	assert_int_equal(r.fit.n, 150);
	assert_int_equal(r.unseen.time.rows, 50);
	assert_true(r.unseen.time.rel_error_pct > 0 && r.unseen.time.rel_error_pct < 20);
	assert_true(r.left_out[TRAIN_WORKLOADS].n > 10 && !r.left_out[TRAIN_TYPES].n);
	train_free(&r);
	succeed(predict_query(&ask, &p, &err), &err);
	assert_int_equal(p.co_runners.jobs, 1);
	assert_true(p.estimate.iteration_us > p.task.iteration_us);
	predict_query_free(&p);
}

TEST(two_jobs_on_a_modelled_gpu_get_a_split)
{
	const struct partition_name jobs[] = { { "resnet50", 8 }, { "bert-large", 8 } };
	const struct partition_request q = { .from = { .app = &service, .modelled = true },
					     .clocks = "default",
					     .split = "30,70",
					     .objective = HES_PARTITION_NORMALIZED,
					     .step = 10 };
	struct partition_inputs in = { .modelled = false };
	struct hes_device_info info = { .uuid = "" };
	struct partition_answer a;
	struct hes_err err;

	succeed(partition_check(&q, jobs, 2, &err), &err);
	succeed(partition_answer(&q, jobs, 2, &in, &info, &a, &err), &err);
	assert_string_equal(a.g->name, PARTITION_MODELLED_TYPE);
	assert_ptr_equal(partition_chosen(&a), &a.given);
	assert_int_equal(a.given.sm_pct[1], 70);
	assert_true(a.splits[a.best].v[a.splits[a.best].best].per_watt >= a.given.per_watt);
	partition_answer_free(&a);
	partition_inputs_free(&in);
}

static int set_up(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
	static const char *const files[] = { "one.csv", "two.csv", "profiles.csv", "samples.csv",
					     "predictor" };
	char path[64];

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		unlink(file_in(files[i], path));
	return rmdir(folder);
}

int main(void)
{
	return run_unit_tests(set_up, tear_down);
}
