/* test_profile.c - profiles and samples: files, look-up, loads. */
#include <math.h>

#include "heshare/point.h"
#include "heshare/profile.h"
#include "heshare/training_range.h"
#include "unit_test.h"

static char path[] = "/tmp/hes-profile-XXXXXX";

static const char header[] = "workload,gpu_type,batch_size,memory_mib,clock_mhz,iteration_us,busy,"
			     "sm_util,dram_util,l2_util,power_mw\n";

static void write_rows(const char *rows)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_true(fprintf(f, "%s%s", header, rows) > 0);
	fclose(f);
}

/* What hes_point_command() gives for a job of 40000 iterations, against another command. */
static bool same_as_run(const char *ran, const char *other)
{
	char command[HES_POINT_COMMAND];

	hes_point_command(ran, 40000, command);
	return hes_point_same_command(command, other);
}

TEST(the_number_of_iterations_makes_no_other_command)
{
	char command[HES_POINT_COMMAND];

	assert_true(same_as_run("exec ./job.sh net 16 40000", "exec ./job.sh net 16"));
	assert_true(same_as_run("./job.sh net 16 40000", "exec ./job.sh net 16 {iterations}"));
	assert_true(same_as_run("./job.sh --steps 40000 net", "./job.sh net"));
	assert_true(same_as_run("./job.sh --steps=40000 net", "./job.sh net"));
	assert_true(same_as_run("./job.sh -v 40000", "./job.sh -v"));
	assert_false(same_as_run("./job.sh net 16 40000", "./job.sh net 32"));
	assert_false(same_as_run("./job.sh --layers 4000 net", "./job.sh net"));
	assert_false(same_as_run("./job.sh v40000 net", "./job.sh net"));
	/* Which of the two is the number of iterations is not known. */
	hes_point_command("./job.sh net 16\t16\xff", 16, command);
	assert_string_equal(command, "./job.sh net 16 16?");
}

TEST(between_two_batch_sizes_a_profile_is_interpolated)
{
	struct hes_profiles p;
	struct hes_profile out;
	struct hes_err err;

	write_rows("net,T4,8,1000,1500,800,0.8,0.4,0.2,0.1,60000\n"
		   "net,T4,4,600,1590,500,0.4,0.2,0.1,0.3,40000\n"
		   "net,V100,4,600,1530,90,0.4,0.2,0.1,0.3,90000\n");
	assert_int_equal(hes_profiles_load(path, &p, &err), 0);
	assert_int_equal(hes_profile_find(&p, "net", 5, "T4", &out, &err), 0);
	assert_int_equal(out.batch_size, 5);
	assert_int_equal(out.memory_mib, 700);
	assert_int_equal(out.clock_mhz, 1568); /* 1567.5 */
	assert_true(fabs(out.iteration_us - 575) < 1e-9);
	assert_true(fabs(out.busy - 0.5) < 1e-12);
	assert_true(fabs(out.sm_util - 0.25) < 1e-12);
	assert_true(fabs(out.l2_util - 0.25) < 1e-12);
	assert_int_equal(out.power_mw, 45000);
	assert_int_equal(hes_profile_find(&p, "net", 8, "T4", &out, &err), 0);
	assert_true(out.iteration_us == 800);
	/* A start-up that is known at one batch size alone is that of all. */
	p.v[0].start_s = 10;
	assert_int_equal(hes_profile_find(&p, "net", 5, "T4", &out, &err), 0);
	assert_true(out.start_s == 10);
	p.v[1].start_s = 14;
	assert_int_equal(hes_profile_find(&p, "net", 5, "T4", &out, &err), 0);
	assert_true(fabs(out.start_s - 11) < 1e-12);
	hes_profiles_free(&p);
}

TEST(what_was_not_profiled_is_named)
{
	struct hes_profile out = { .batch_size = 77 };
	struct hes_profiles p;
	struct hes_err err;

	write_rows("net,T4,4,600,1590,500,0.4,0.2,0.1,0.3,40000\nnet,T4,16,600,1590,500,0.4,0.2,0."
		   "1,0.3,40000\n");
	assert_int_equal(hes_profiles_load(path, &p, &err), 0);
	assert_int_equal(hes_profile_find(&p, "other", 4, "T4", &out, &err), -ENOENT);
	assert_string_equal(err.msg, "workload \"other\" was never profiled (heshare profile "
				     "measures it; heshare run takes it as it is); there are: net");
	assert_int_equal(hes_profile_find(&p, "Net", 4, "T4", &out, &err), -ENOENT);
	assert_string_equal(
		err.msg, "workload \"Net\" was never profiled (did you mean net?); there are: net");
	assert_int_equal(hes_profile_find(&p, "net: whole run", 1, "T4", &out, &err), -ENOENT);
	assert_string_equal(err.msg,
			    "workload \"net: whole run\" was never run (heshare run measures "
			    "jobs without iterations); there are: net");
	assert_int_equal(hes_profile_find(&p, "net", 4, "V100", &out, &err), -ENOENT);
	assert_string_equal(err.msg, "workload \"net\" was never profiled on V100");
	assert_int_equal(hes_profile_find(&p, "net", 2, "T4", &out, &err), -ERANGE);
	assert_string_equal(err.msg, "net on T4: batch size 2 is outside the profiled 4 to 16");
	assert_int_equal(hes_profile_find(&p, "net", 17, "T4", &out, &err), -ERANGE);
	assert_int_equal(out.batch_size, 77); /* untouched */
	hes_profiles_free(&p);
}

TEST(bad_rows_are_refused_with_line_column_and_value)
{
	static const struct {
		const char *rows, *says;
	} bad[] = {
		{ "", "no profiles below the header" },
		{ "net,T4,0,600,1590,500,0.4,0.2,0.1,0.3,40000\n", ":2: batch_size: 0" },
		{ "net,T4,4,600,1590,nan,0.4,0.2,0.1,0.3,40000\n", ":2: iteration_us: \"nan\"" },
		{ "net,T4,4,600,1590,-5,0.4,0.2,0.1,0.3,40000\n", ":2: iteration_us: -5" },
		{ "net,T4,4,600,1590,500,0.4,1.2,0.1,0.3,40000\n", ":2: sm_util: 1.2" },
		{ ",T4,4,600,1590,500,0.4,0.2,0.1,0.3,40000\n",
		  ":2: workload: empty; a name is needed" },
		{ "n\033[1m,T4,4,600,1590,500,0.4,0.2,0.1,0.3,40000\n",
		  ":2: workload: control character 0x1b in byte 2" },
		{ "net,T4,4,600,1590,500,0.4,0.2,0.1,0.3,1\nnet,T4,4,600,1590,500,0.4,0.2,0.1,0.3,"
		  "1\n",
		  "net on T4 at batch size 4 is given twice" },
	};
	struct hes_profiles p = { .n = 42 };
	struct hes_err err;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		write_rows(bad[i].rows);
		assert_true(hes_profiles_load(path, &p, &err) < 0);
		assert_non_null(strstr(err.msg, bad[i].says));
		assert_int_equal(p.n, 42); /* untouched */
	}
}

static char *contents(void)
{
	static char text[4096];
	FILE *f = fopen(path, "re");
	size_t n = fread(text, 1, sizeof(text) - 1, f);

	text[n] = '\0';
	fclose(f);
	return text;
}

TEST(samples_come_back_from_their_file_as_they_went)
{
	struct hes_sample v[2] = {
		{ .task = { "a, \"b\"", "T4", 4, 600, 1590, 123.456789, 0.5, 0.25, 0.125, 1, 40000,
			    99.5, 0, 0 },
		  .sm_pct = 30,
		  .clock_mhz = 900,
		  .co_runners = { .sm_util = 1.5,
				  .dram_util = 0.25,
				  .l2_util = 2,
				  .power_mw = 35000,
				  .jobs = 2,
				  .sm_pct = 120,
				  .busy = 1.25,
				  .l2_sets = 12.5,
				  .serial = 0.125,
				  .pace = 1.5 },
		  .co_runner_names = "b/8@100,x/y/1@20",
		  .iteration_us = 1e9 / 3,
		  .power_mw = 55555 },
		{ .task = { "c", "T4", 1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0 },
		  .sm_pct = 1,
		  .clock_mhz = 1,
		  .iteration_us = 1,
		  .power_mw = 1 },
	};
	struct hes_samples in = { .v = v, .n = 2 }, out, again;
	struct hes_err err;
	char first[4096];

	assert_int_equal(hes_samples_save(path, &in, &err), 0);
	strcpy(first, contents());
	assert_int_equal(hes_samples_load(path, &out, &err), 0);
	assert_int_equal(out.n, 2);
	assert_string_equal(out.v[0].task.workload, "a, \"b\"");
	assert_true(out.v[0].task.iteration_us == 123.456789);
	assert_true(fabs(out.v[0].iteration_us / v[0].iteration_us - 1) < 1e-8);
	assert_int_equal(out.v[0].co_runners.sm_pct, 120);
	assert_true(out.v[0].task.least_us == 99.5);
	assert_string_equal(out.v[0].co_runner_names, "b/8@100,x/y/1@20");
	assert_string_equal(out.v[1].co_runner_names, "");
	assert_true(out.v[0].co_runners.l2_sets == 12.5 && out.v[0].co_runners.serial == 0.125);
	assert_int_equal(hes_samples_save(path, &out, &err), 0);
	assert_string_equal(contents(), first);
	assert_int_equal(hes_samples_load(path, &again, &err), 0);
	hes_samples_free(&out);
	hes_samples_free(&again);
}

TEST(co_runners_are_read_in_their_order)
{
	struct hes_sample v = {
		.task = { "a", "T4", 4, 600, 1590, 123, 0.5, 0.25, 0.125, 1, 40000, 99.5, 0, 0 },
		.sm_pct = 30,
		.clock_mhz = 900,
		.co_runners = { .jobs = 3, .sm_pct = 70 },
		.co_runner_names = "x/y/1@20,b/16@30,b/08@20",
		.iteration_us = 10,
		.power_mw = 55555,
	};
	struct hes_samples in = { .v = &v, .n = 1 }, out;
	struct hes_err err;

	assert_int_equal(hes_samples_save(path, &in, &err), 0);
	assert_int_equal(hes_samples_load(path, &out, &err), 0);
	assert_string_equal(out.v[0].co_runner_names, "b/16@30,b/8@20,x/y/1@20");
	hes_samples_free(&out);
}

TEST(joined_profiles_have_each_point_once_the_first_before_the_rest)
{
	struct hes_profile a[] = { { "b", "T4", 4, .iteration_us = 10 },
				   { "b", "T4", 8, .iteration_us = 20 } };
	struct hes_profile b[] = {
		{ "a", "T4", 1, .iteration_us = 7 },
		{ "b", "T4", 4, .iteration_us = 11 },
		{ "b", "T4", 6, .iteration_us = 5 },
	};
	const struct hes_profiles first = { a, 2 }, rest = { b, 3 }, none = { NULL, 0 };
	struct hes_profiles all;

	assert_int_equal(hes_profiles_join(&first, &rest, &all), 0);
	assert_int_equal(all.n, 4);
	assert_string_equal(all.v[0].workload, "a");
	assert_true(all.v[1].iteration_us == 10 && all.v[2].iteration_us == 5 &&
		    all.v[3].iteration_us == 20);
	assert_true(all.v[3].least_us == 5); /* what profiles tell of one another */
	hes_profiles_free(&all);
	assert_int_equal(hes_profiles_join(&none, &rest, &all), 0);
	assert_int_equal(all.n, 3);
	hes_profiles_free(&all);
}

TEST(names_of_co_runners_must_agree_with_their_sums)
{
	static const struct {
		const char *names, *says;
	} bad[] = {
		{ "b/8@100", "sample 2: co_runners: 1 co-runner with 100 %" },
		{ "b/8@60,c/8@50", "2 co-runners with 110 %" },
		{ "b/8@60,c", "\"c\" is not NAME/BATCH@SHARE" },
		{ "b/0@60,c/1@60", "\"b/0@60,c/1@60\" is not" },
		{ "/8@60,c/1@60", "is not NAME/BATCH@SHARE" },
		{ "b/8@600,c/1@60", "is not NAME/BATCH@SHARE" },
		{ "b/8@60,c/1@60,", "\"c/1@60,\" is not NAME/BATCH@SHARE" },
	};
	struct hes_sample v[2] = {
		{ .task = { "a", "T4", 4, 600, 1590, 123, 0.5, 0.25, 0.125, 1, 40000, 99.5, 0, 0 },
		  .sm_pct = 30,
		  .clock_mhz = 900,
		  .iteration_us = 10,
		  .power_mw = 55555 },
	};
	struct hes_samples in = { .v = v, .n = 2 }, out;
	struct hes_err err;

	v[1] = v[0];
	v[1].co_runners = (struct hes_load){ .jobs = 2, .sm_pct = 120 };
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		strcpy(v[1].co_runner_names, bad[i].names);
		assert_int_equal(hes_samples_save(path, &in, &err), 0);
		assert_int_equal(hes_samples_load(path, &out, &err), -EINVAL);
		assert_non_null(strstr(err.msg, path));
		assert_non_null(strstr(err.msg, bad[i].says));
	}
}

TEST(a_co_runner_counts_with_what_its_share_lets_it_do)
{
	const struct hes_profile wide = { .sm_util = 0.8, .dram_util = 0.4, .l2_util = 0.2 };
	const struct hes_profile narrow = { .sm_util = 0.1, .dram_util = 0.3, .l2_util = 0.5 };
	const struct hes_gpu_type gpu = { .clock_default_mhz = 1000 };
	struct hes_load load = { .power_mw = 7 };

	hes_load_add(&load, &gpu, &wide, 20, 1000);
	assert_true(fabs(load.sm_util - 0.2) < 1e-12);
	assert_true(fabs(load.dram_util - 0.1) < 1e-12);
	assert_true(fabs(load.l2_util - 0.05) < 1e-12);
	hes_load_add(&load, &gpu, &narrow, 50, 1000);
	assert_true(fabs(load.sm_util - 0.3) < 1e-12);
	assert_true(fabs(load.dram_util - 0.4) < 1e-12);
	assert_int_equal(load.jobs, 2);
	assert_int_equal(load.sm_pct, 70);
	assert_int_equal(load.power_mw, 7);
}

/* 0.8 of the shortest iteration is launching, which more work on the GPU hides behind; the two bend
 * into one another by some %. */
TEST(launch_time_follows_from_the_shortest_iteration_of_the_workload)
{
	struct hes_profile v[2] = {
		{ .workload = "net",
		  .gpu_type = "T4",
		  .batch_size = 1,
		  .iteration_us = 1000,
		  .busy = 0.25,
		  .sm_util = 0.25 },
		{ .workload = "net",
		  .gpu_type = "T4",
		  .batch_size = 8,
		  .iteration_us = 2000,
		  .busy = 0.9,
		  .sm_util = 0.9 },
	};
	const struct hes_gpu_type gpu = { .clock_default_mhz = 1000 };
	struct hes_profiles p = { v, 2 };
	struct hes_load load = { 0 };

	hes_profiles_sort(&p);
	assert_true(v[0].least_us == 1000 && v[1].least_us == 1000);
	hes_load_add(&load, &gpu, &v[0], 100, 1000);
	assert_true(fabs(load.serial - 0.2) < 0.002);
	assert_true(fabs(load.pace - 1) < 1e-9);
	hes_load_add(&load, &gpu, &v[0], 100, 500); /* twice the computing, still hidden */
	assert_true(fabs(load.pace - 2) < 0.02);
	hes_load_add(&load, &gpu, &v[1], 100, 500); /* 0.1 off the GPU, 0.9 twice */
	assert_true(fabs(load.pace - 2 - 1 / 1.9) < 0.02);
	assert_true(fabs(load.iterations_per_s - 2000 - 500 / 1.9) < 20);
}

/* A type with clocks of 300, 900 and 1500 MHz, the last the default of its row. */
static struct hes_gpu_type held(uint32_t mhz, uint32_t power_mw, uint32_t more_mhz)
{
	struct hes_profile v[] = { { .gpu_type = "T4", .clock_mhz = mhz, .power_mw = power_mw },
				   { .gpu_type = "T4", .clock_mhz = more_mhz, .power_mw = 95000 },
				   { .gpu_type = "A30", .clock_mhz = 2500, .power_mw = 1 } };
	struct hes_gpu_type g = { .name = "T4",
				  .power_limit_mw = 100000,
				  .clock_default_mhz = 1500,
				  .clocks_mhz = { 300, 900, 1500 },
				  .n_clocks = 3 };

	hes_profiles_hold(&(struct hes_profiles){ v, 3 }, &g, 1);
	return g;
}

TEST(the_default_clock_is_the_one_that_was_held_without_a_lock)
{
	struct hes_gpu_type g = held(1905, 90000, 1800);

	assert_int_equal(g.clock_default_mhz, 1905);
	assert_int_equal(g.n_clocks, 3); /* nobody locked 1500 MHz */
	assert_true(g.clocks_mhz[1] == 900 && g.clocks_mhz[2] == 1905);
	assert_true(hes_gpu_type_is_unlocked(&g, 0) && hes_gpu_type_is_unlocked(&g, 1500));
	assert_true(hes_gpu_type_clock(&g, 1500) == 1905 && hes_gpu_type_clock(&g, 900) == 900);
	g = held(800, 40000, 700);
	assert_int_equal(g.clock_default_mhz, 800);
	assert_true(g.n_clocks == 2 && g.clocks_mhz[0] == 300 && g.clocks_mhz[1] == 800);
}

TEST(columns_may_have_the_names_of_earlier_versions)
{
	struct hes_samples got;
	struct hes_err err;
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	fputs("workload,gpu_type,batch_size,memory_mib,solo_iteration_us,solo_sm_util,"
	      "solo_dram_util,solo_power_mw,least_us,sm_pct,clock_mhz,beside_residents,"
	      "beside_sm_pct,beside_sm_util,beside_dram_util,beside_power_mw,beside_pace,beside,"
	      "iteration_us,power_mw\n"
	      "a,T4,4,600,123,0.5,0.25,40000,99.5,30,900,1,50,1.5,0.25,35000,0.75,b/8@50,321,"
	      "55555\n",
	      f);
	fclose(f);
	if (hes_samples_load(path, &got, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(got.v[0].co_runners.jobs, 1);
	assert_int_equal(got.v[0].co_runners.sm_pct, 50);
	assert_float_equal(got.v[0].co_runners.pace, 0.75, 0);
	assert_string_equal(got.v[0].co_runner_names, "b/8@50");
	hes_samples_free(&got);
}

/* As a job leaves it that uses the GPU for seconds of an hour: no clock could be tried any more. */
TEST(the_clock_of_an_idle_gpu_is_not_the_default)
{
	struct hes_profile v[] = {
		{ .gpu_type = "T4", .clock_mhz = 300, .power_mw = 10100, .busy = 0.01 },
		{ .gpu_type = "T4", .clock_mhz = 300, .power_mw = 10000 },
		{ .gpu_type = "T4", .clock_mhz = 900, .power_mw = 40000, .busy = 0.5 },
	};
	struct hes_gpu_type g = { .name = "T4",
				  .power_limit_mw = 100000,
				  .idle_power_mw = 10000,
				  .clock_default_mhz = 1500,
				  .clocks_mhz = { 300, 900, 1500 },
				  .n_clocks = 3 };

	hes_profiles_hold(&(struct hes_profiles){ v, 3 }, &g, 1);
	assert_int_equal(g.clock_default_mhz, 1500);
	assert_int_equal(g.n_clocks, 3);
}

TEST(a_clock_that_power_held_down_or_that_hardly_differs_is_not_the_default)
{
	assert_int_equal(held(1200, 95000, 1100).clock_default_mhz, 1500); /* at the limit */
	assert_int_equal(held(1520, 40000, 1480).clock_default_mhz, 1500);
	assert_int_equal(held(800, 40000, 1490).clock_default_mhz, 1500);
	assert_int_equal(held(0, 40000, 0).clock_default_mhz, 1500); /* clocks were not read */
	assert_int_equal(held(0, 40000, 0).n_clocks, 3);
}

int main(void)
{
	return run_unit_tests_with_file(path);
}
