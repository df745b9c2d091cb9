/*
 * test_paces.c - rates as the joint search knows them: estimated, learnt, asked about and
 * forgotten. The predictor is plan_bench.h's.
 */
#include <inttypes.h>
#include <math.h>

#include "plan/paces.h"
#include "plan_bench.h"
#include "unit_test.h"

static int bench_setup(void **state)
{
	const int rc = plan_bench_setup(state);

	stand_in.power_by_use = true;
	return rc;
}

static struct hes_brief pace_of(const struct bench *b, struct hes_paces *paces, const struct hes_set *s, bool roughly)
{
	uint16_t clock = 0;

	while (b->p.types[s->type]->clocks_mhz[clock] != s->clock_mhz)
		if (++clock == b->p.types[s->type]->n_clocks)
			fail_msg("no clock of %" PRIu32 " MHz on type %" PRIu32, s->clock_mhz, s->type);
	return hes_paces_of(paces, s, clock, roughly);
}

/* Rates are estimated first, then predicted; known rates are returned unchanged. */
TEST_WITH(a_set_is_estimated_near_its_rates_without_asking_for_it, bench_setup, plan_bench_teardown)
{
	struct bench *b = *state;
	const struct hes_set sets[] = {
		{ 0, 1590, 2, { { 0, 60 }, { 1, 40 } } }, { 0, 945, 2, { { 1, 50 }, { 2, 30 } } },
		{ 1, 1410, 3, { { 0, 50 }, { 1, 20 }, { 2, 30 } } },
	};
	struct hes_estimator *e;

	make_six_jobs(b);
	assert_int_equal(hes_estimator_new(&b->p, 1, false, &e), 0);
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		struct hes_rates *fresh = hes_rates_new(NULL, b->p.types, b->p.solo, b->p.n_kinds);
		struct hes_paces *paces = hes_paces_new(&b->p, fresh, e);
		struct hes_brief said = pace_of(b, paces, &sets[i], true);
		struct hes_pace rate;

		assert_false(said.known);
		assert_int_equal(hes_rates_queries(fresh), sets[i].n);
		hes_rates_of(fresh, &sets[i], &rate);
		for (uint32_t m = 0; m < sets[i].n; m++)
			if (!(fabs(log(said.us[m] / rate.iteration_us[m])) < 0.15))
				fail_msg("set %zu: %g us, not %g", i, said.us[m], rate.iteration_us[m]);
		if (!(fabs(log(said.power_mw / rate.power_mw)) < 0.25))
			fail_msg("set %zu: %g mW, not %g", i, said.power_mw, rate.power_mw);
		pace_of(b, paces, &sets[i], false);
		said = pace_of(b, paces, &sets[i], true);
		assert_true(said.known);
		assert_memory_equal(said.us, rate.iteration_us, sets[i].n * sizeof(rate.iteration_us[0]));
		assert_true(said.power_mw >= rate.power_mw && said.power_mw <= rate.power_mw);
		hes_paces_free(paces);
		hes_rates_free(fresh);
	}
	hes_estimator_free(e);
}

/* Two kinds that were predicted together at one clock are estimated nearer to their rates at another. */
TEST_WITH(estimates_learn_from_predictions_of_the_same_co_runners, bench_setup, plan_bench_teardown)
{
	struct bench *b = *state;
	const struct hes_set learnt = { 0, 1590, 2, { { 0, 60 }, { 1, 40 } } };
	const struct hes_set other = { 0, 945, 2, { { 0, 60 }, { 1, 40 } } };
	struct hes_estimator *e;
	struct hes_rates *rates, *apart;
	struct hes_paces *paces;
	struct hes_pace rate;
	double before = 0, after = 0, estimated_us;

	make_six_jobs(b);
	assert_int_equal(hes_estimator_new(&b->p, 1, false, &e), 0);
	rates = hes_rates_new(NULL, b->p.types, b->p.solo, b->p.n_kinds);
	apart = hes_rates_new(NULL, b->p.types, b->p.solo, b->p.n_kinds);
	paces = hes_paces_new(&b->p, rates, e);
	hes_rates_of(apart, &other, &rate);
	for (uint32_t m = 0; m < 2; m++)
		before += fabs(log(pace_of(b, paces, &other, true).us[m] / rate.iteration_us[m]));
	pace_of(b, paces, &learnt, false);
	for (uint32_t m = 0; m < 2; m++)
		after += fabs(log(pace_of(b, paces, &other, true).us[m] / rate.iteration_us[m]));
	if (!(after < before))
		fail_msg("off by %g, before by %g", after, before);
	estimated_us = pace_of(b, paces, &other, true).us[0];
	hes_paces_hope(paces, 0.1);
	assert_true(fabs(pace_of(b, paces, &other, true).us[0] / estimated_us - 0.9) < 1e-6);
	assert_true(fabs(pace_of(b, paces, &learnt, true).us[0] / pace_of(b, paces, &learnt, false).us[0] - 1) < 1e-12);
	hes_paces_free(paces);
	hes_rates_free(rates);
	hes_rates_free(apart);
	hes_estimator_free(e);
}

/* Each member once corrected the pair of all four, so that estimates got worse with every prediction. */
TEST_WITH(estimates_of_co_runners_of_one_kind_do_not_run_away, bench_setup, plan_bench_teardown)
{
	struct bench *b = *state;
	struct hes_set set = { .n = 4 };
	struct hes_estimator *e;
	struct hes_rates *rates;
	struct hes_paces *paces;
	double before = 0, after = 0;

	make_six_jobs(b);
	for (uint32_t m = 0; m < 4; m++)
		set.m[m] = (struct hes_member){ 1, 25 };
	assert_int_equal(hes_estimator_new(&b->p, 1, false, &e), 0);
	rates = hes_rates_new(NULL, b->p.types, b->p.solo, b->p.n_kinds);
	paces = hes_paces_new(&b->p, rates, e);
	for (size_t c = 0; c < b->p.types[0]->n_clocks; c++) {
		double off;

		set.clock_mhz = b->p.types[0]->clocks_mhz[c];
		off = pace_of(b, paces, &set, true).us[0];
		off = fabs(log(off / pace_of(b, paces, &set, false).us[0]));
		before = c ? before : off;
		after = off;
	}
	if (!(after <= fmax(before, 0.02)))
		fail_msg("off by %g, at first by %g", after, before);
	hes_paces_free(paces);
	hes_rates_free(rates);
	hes_estimator_free(e);
}

/* Every share of one kind with every share of another: more pairs than the first table has room for. */
TEST_WITH(sets_stay_known_while_their_table_grows_until_they_are_forgotten, bench_setup, plan_bench_teardown)
{
	static double us[100][100];
	struct bench *b = *state;
	struct hes_set pair = { 0, 1590, 2, { { 0, 0 }, { 1, 0 } } };
	struct hes_estimator *e;
	struct hes_rates *rates;
	struct hes_paces *paces;

	make_six_jobs(b);
	assert_int_equal(hes_estimator_new(&b->p, 1, false, &e), 0);
	rates = hes_rates_new(NULL, b->p.types, b->p.solo, b->p.n_kinds);
	paces = hes_paces_new(&b->p, rates, e);
	for (int round = 0; round < 2; round++)
		for (uint16_t one = 0; one < 100; one++)
			for (uint16_t other = 0; other < 100; other++) {
				struct hes_brief said;

				pair.m[0].sm_pct = (uint16_t)(one + 1);
				pair.m[1].sm_pct = (uint16_t)(other + 1);
				said = pace_of(b, paces, &pair, round > 0);
				assert_true(said.known);
				if (round)
					assert_memory_equal(&said.us[1], &us[one][other], sizeof(us[one][other]));
				us[one][other] = said.us[1];
			}
	hes_paces_forget(paces, 10000);
	assert_true(pace_of(b, paces, &pair, true).known);
	hes_paces_forget(paces, 9999);
	assert_false(pace_of(b, paces, &pair, true).known);
	hes_paces_free(paces);
	hes_rates_free(rates);
	hes_estimator_free(e);
}

int main(void) { return run_unit_tests(NULL, NULL); }
