/* test_replay.c - totals of a replay, by hand. */
#include "heshare/replay.h"
#include "unit_test.h"

static const struct hes_gpu_type type = { .name = "X",
					  .idle_power_mw = 10000,
					  .power_limit_mw = 100000 };
static struct hes_gpu gpus[] = { { .name = "x/0", .node = "x", .type = &type },
				 { .name = "x/1", .node = "x", .type = &type } };
static const struct hes_fleet fleet = { .name = "x", .gpus = gpus, .n = 2 };

/* Five jobs with completion times 10, 20, 30, 40 and 100 s; the last ends at 101 s. */
TEST(totals_and_percentiles_are_those_computed_by_hand)
{
	struct hes_job v[5] = { { .id = "a" },
				{ .id = "b" },
				{ .id = "c" },
				{ .id = "d" },
				{ .id = "e", .arrival_us = 1000000 } };
	struct hes_outcome outcomes[5] = { { .end_us = 40000000 },
					   { .end_us = 10000000 },
					   { .end_us = 30000000 },
					   { .end_us = 20000000 },
					   { .gpu = 1, .end_us = 101000000 } };
	struct hes_segment segments[] = {
		{ .gpu = 0, .jobs = 4, .end_us = 40000000, .power_mw = 50000, .sm_util = 0.5F },
		{ .gpu = 1,
		  .jobs = 1,
		  .start_us = 1000000,
		  .end_us = 101000000,
		  .power_mw = 70000,
		  .sm_util = 1 },
	};
	struct hes_jobs jobs = { .v = v, .n = 5 };
	struct hes_replay r = {
		.jobs = outcomes, .n_jobs = 5, .segments = segments, .n_segments = 2
	};

	assert_int_equal(hes_replay_summarise(&r, &fleet, &jobs), 0);
	assert_true(r.totals.avg_jct_us == 40e6);
	assert_int_equal(r.p50_jct_us, 30000000);
	assert_int_equal(r.p95_jct_us, 88000000); /* 0.8 of the way from 40 to 100 */
	assert_int_equal(r.totals.makespan_us, 101000000);
	assert_int_equal(r.totals.busy_energy_mj, 40 * 50000 + 100 * 70000);
	assert_int_equal(r.totals.fleet_energy_mj, 40 * 50000 + 100 * 70000 + (61 + 1) * 10000);
	assert_int_equal(r.gpus[0].busy_us, 40000000);
	assert_int_equal(r.gpus[0].idle_energy_mj, 610000);
	assert_int_equal(r.gpus[1].busy_energy_mj, 7000000);
	assert_true(r.gpus[0].mean_util == 0.5 * 40 / 101);
	assert_true(r.mean_util == (0.5 * 40 / 101 + 1.0 * 100 / 101) / 2);
	free(r.gpus);
}

/* 1 mW for 1 us is a nanojoule: a million of them are one millijoule, not a million times zero. */
TEST(energy_below_a_millijoule_is_not_lost)
{
	enum { N_SEGMENTS = 1000000 };
	struct hes_job v[1] = { { .id = "a" } };
	struct hes_outcome outcome = { .end_us = N_SEGMENTS };
	struct hes_jobs jobs = { .v = v, .n = 1 };
	struct hes_replay r = { .jobs = &outcome, .n_jobs = 1, .n_segments = N_SEGMENTS };

	r.segments = calloc(N_SEGMENTS, sizeof(*r.segments));
	assert_non_null(r.segments);
	for (int i = 0; i < N_SEGMENTS; i++)
		r.segments[i] = (struct hes_segment){
			.jobs = 1, .start_us = i, .end_us = i + 1, .power_mw = 3
		};
	assert_int_equal(hes_replay_summarise(&r, &fleet, &jobs), 0);
	assert_int_equal(r.gpus[0].busy_energy_mj, 3);
	assert_int_equal(r.totals.busy_energy_mj, 3);
	free(r.segments);
	free(r.gpus);
}

TEST(summarising_twice_changes_nothing)
{
	struct hes_job v[1] = { { .id = "a" } };
	struct hes_jobs jobs = { .v = v, .n = 1 };
	struct hes_replay r = { .n_jobs = 1 };
	struct hes_totals first;

	r.jobs = calloc(1, sizeof(*r.jobs));
	assert_non_null(r.jobs);
	r.jobs[0].end_us = 5000000;
	assert_int_equal(hes_replay_summarise(&r, &fleet, &jobs), 0);
	first = r.totals;
	assert_int_equal(hes_replay_summarise(&r, &fleet, &jobs), 0);
	assert_memory_equal(&first, &r.totals, sizeof(first));
	assert_int_equal(r.totals.fleet_energy_mj, 5 * 2 * 10000);
	hes_replay_free(&r);
	assert_null(r.gpus);
	hes_replay_free(NULL);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
