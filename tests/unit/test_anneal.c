/*
 * test_anneal.c - annealing, its moves, and the rate cache below it. The predictor is
 * plan_bench.h's.
 */
#include <math.h>

#include "plan/joint/anneal.h"
#include "plan_bench.h"
#include "unit_test.h"

#define BENCH_TEST(test) TEST_ON(struct bench, b, test, plan_bench_setup, plan_bench_teardown)

/* All six jobs, three on each GPU. */
static void begin_six(struct anneal *a, struct bench *b)
{
	struct hes_timeline_item items[6] = {
		{ 0, 50, 3 }, { 1, 50, 3 }, { 2, 60, 3 }, { 3, 60, 3 }, { 4, 40, 3 }, { 5, 30, 3 },
	};
	uint32_t first[3] = { 0, 3, 6 };

	make_six_jobs(b);
	*a = (struct anneal){ .p = &b->p, .rates = b->p.rates, .lambda = 0.05, .look = 1 };
	hes_rng_seed(&a->rng, 1);
	assert_int_equal(anneal_init(a), 0);
	assert_int_equal(anneal_start(a, (struct hes_joint_solution){ items, first }), 0);
}

static const struct anneal_queue *queue_after_move(const struct anneal *a, uint32_t gpu)
{
	for (uint32_t i = 0; i < a->move.n; i++)
		if (a->move.gpu[i] == gpu)
			return &a->move.queue[i];
	return &a->queues[gpu];
}

BENCH_TEST(a_move_leaves_every_job_in_one_position)
{
	uint32_t made[3] = { 0 };
	struct anneal a;

	begin_six(&a, b);
	for (int i = 0; i < 2000; i++) {
		uint32_t met[6] = { 0 };
		const int rc = a.objective->propose(&a);

		assert_true(rc == 0 || rc == 1);
		if (!rc)
			continue;
		made[a.move.n]++;
		for (uint32_t g = 0; g < 2; g++) {
			const struct anneal_queue *q = queue_after_move(&a, g);

			for (uint32_t at = 0; at < q->n; at++) {
				met[q->items[at].job]++;
				assert_true(hes_problem_runs(&b->p, q->items[at].job,
							     b->p.gpus[g].type));
				assert_true(q->items[at].clock <
					    b->p.types[b->p.gpus[g].type]->n_clocks);
				assert_true(q->items[at].sm_pct >= 10 &&
					    q->items[at].sm_pct <= 100);
			}
		}
		for (uint32_t job = 0; job < 6; job++)
			assert_int_equal(met[job], 1);
	}
	assert_true(made[1] > 100 && made[2] > 100);
	anneal_finish(&a);
}

/* What the state says of a GPU is what running its queue again says. */
static void assert_knows_gpu(const struct anneal *a, const struct bench *b, uint32_t g)
{
	const struct anneal_queue *q = &a->queues[g];
	struct hes_timeline_times times[6];
	struct hes_timeline_cost c;

	hes_timeline_run(&b->p, b->p.rates, g, q->items, q->n, &c, times);
	assert_true(fabs(c.energy_mj - q->cost.energy_mj) < 1e-9 * (1 + c.energy_mj));
	assert_true(fabs(c.ends_us - q->cost.ends_us) < 1e-9 * (1 + c.ends_us));
	for (uint32_t i = 0; i < q->n; i++) {
		const struct anneal_position at = a->position_of[q->items[i].job];

		assert_true(at.gpu == g && at.at == i);
		assert_true(fabs(times[i].start_us - q->starts_us[i]) <
			    1e-9 * (1 + times[i].start_us));
	}
}

BENCH_TEST(after_moves_the_state_knows_where_every_job_is_and_when_it_starts)
{
	struct anneal a;

	begin_six(&a, b);
	for (uint64_t evaluations = 20; evaluations < 2000; evaluations *= 2) {
		assert_int_equal(anneal_run(&a,
					    &(struct anneal_budget){ .evaluations = evaluations },
					    anneal_mean_cost(&a), 2, 0.5),
				 0);
		assert_int_equal(a.queues[0].n + a.queues[1].n, 6);
		assert_knows_gpu(&a, b, 0);
		assert_knows_gpu(&a, b, 1);
	}
	anneal_finish(&a);
}

BENCH_TEST(annealing_finds_a_better_plan_than_it_started_from)
{
	struct anneal a;
	double before;

	begin_six(&a, b);
	before = a.at.energy_mj + a.lambda * a.at.jct_us;
	assert_int_equal(anneal_run(&a, &(struct anneal_budget){ .evaluations = 3000 },
				    anneal_mean_cost(&a), 0.3, 0.002),
			 0);
	assert_true(a.at.energy_mj + a.lambda * a.at.jct_us < 0.95 * before);
	assert_true(a.archive.front.n > 1);
	anneal_finish(&a);
}

/* The limit of a trial only saves time: a queue that stays below it costs the same. */
BENCH_TEST(a_queue_is_given_up_only_if_it_costs_more_than_the_limit)
{
	const struct hes_timeline_item items[3] = { { 0, 50, 3 }, { 1, 50, 3 }, { 2, 60, 3 } };
	struct hes_timeline_stop stop = { .lambda = 0.05 };
	struct hes_timeline_cost whole, tried;
	double price;

	make_six_jobs(b);
	hes_timeline_run(&b->p, b->p.rates, 0, items, 3, &whole, NULL);
	price = whole.energy_mj + stop.lambda * whole.ends_us;
	stop.limit_mj = price * 1.0001;
	assert_true(hes_timeline_try(&b->p, b->p.rates, 0, items, 3, &stop, NULL, &tried));
	assert_true(fabs(tried.energy_mj - whole.energy_mj) < 1e-9 * whole.energy_mj);
	stop.limit_mj = price * 0.9999;
	assert_false(hes_timeline_try(&b->p, b->p.rates, 0, items, 3, &stop, NULL, &tried));
}

/* Every share of one kind with every share of another: more pairs than the first memory holds. */
BENCH_TEST(sets_stay_in_the_rate_cache_until_they_are_forgotten)
{
	static double us[100][100];
	struct hes_set pair = { 0, 1590, 2, { { 0, 0 }, { 1, 0 } } };
	struct hes_set_rates rates;
	uint64_t queries;

	make_six_jobs(b);
	queries = 0;
	for (int round = 0; round < 2; round++) {
		for (uint16_t one = 0; one < 100; one++)
			for (uint16_t other = 0; other < 100; other++) {
				pair.m[0].sm_pct = (uint16_t)(one + 1);
				pair.m[1].sm_pct = (uint16_t)(other + 1);
				hes_rates_of(b->p.rates, &pair, &rates);
				if (round)
					assert_memory_equal(&rates.iteration_us[1], &us[one][other],
							    sizeof(us[one][other]));
				us[one][other] = rates.iteration_us[1];
			}
		assert_true(round == 0 || hes_rates_queries(b->p.rates) == queries);
		queries = hes_rates_queries(b->p.rates);
	}
	hes_rates_forget(b->p.rates, SIZE_MAX);
	hes_rates_of(b->p.rates, &pair, &rates);
	assert_int_equal(hes_rates_queries(b->p.rates), queries);
	hes_rates_forget(b->p.rates, 9999);
	hes_rates_of(b->p.rates, &pair, &rates);
	assert_true(hes_rates_queries(b->p.rates) > queries);
	assert_memory_equal(&rates.iteration_us[1], &us[99][99], sizeof(us[99][99]));
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
