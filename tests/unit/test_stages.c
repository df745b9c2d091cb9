/*
 * test_stages.c - batches, shares and clocks under a predictor simple enough
 * to compute by hand (plan_bench.h).
 */
#include <math.h>

#include "plan/batch/compose.h"
#include "plan/batch/priced.h"
#include "plan/batch/sharing.h"
#include "plan/timeline.h"
#include "plan_bench.h"
#include "unit_test.h"

#define BENCH_TEST(test) TEST_ON(struct bench, b, test, plan_bench_setup, plan_bench_teardown)

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fabs(b) + 1e-9;
}

BENCH_TEST(a_job_alone_costs_its_time_and_the_gpus_power)
{
	add_job(b, "full", 3000, 1000);
	make_problem(b);
	assert_true(near(b->p.cost[0].time_us, 3e6));
	assert_true(near(b->p.cost[0].energy_mj, 3 * 30000)); /* 10 W idle + 20 W */
	assert_true(near(b->p.cost[1].time_us, 6e5));
	assert_true(near(b->p.cost[1].energy_mj, 0.6 * 75000)); /* 55 W idle + 20 W */
}

/*
 * Two "full" at 50 %, each using half its bandwidth: 2 x 1.125 ms an iteration. The
 * first ends after 2.25 s at 30 W; of the second 1000 iterations are left, alone at
 * 50 %: 2 s at 20 W.
 */
BENCH_TEST(a_batch_is_run_phase_by_phase)
{
	const struct hes_group g = { 2, { { 1, 50 }, { 0, 50 } } };
	struct hes_group_cost c;

	add_job(b, "full", 1000, 1000);
	add_job(b, "full", 2000, 1000);
	make_problem(b);
	hes_group_run(&b->p, 0, 1590, &g, &c);
	assert_true(near(c.end_us[1], 2.25e6));
	assert_true(near(c.end_us[0], 4.25e6));
	assert_true(near(c.ends_us, 6.5e6));
	assert_true(near(c.last_us, 4.25e6));
	assert_true(near(c.energy_mj, 2.25 * 30000 + 2 * 20000));
}

BENCH_TEST(jobs_that_end_together_end_one_phase)
{
	const struct hes_group g = { 3, { { 0, 30 }, { 1, 30 }, { 2, 30 } } };
	struct hes_group_cost c;

	for (int i = 0; i < 3; i++)
		add_job(b, "light", 700, 1000);
	make_problem(b);
	hes_group_run(&b->p, 0, 1590, &g, &c);
	assert_true(near(c.end_us[0], 7e5 * 1.1));
	assert_true(c.end_us[0] == c.end_us[1] && c.end_us[1] == c.end_us[2]);
	assert_true(near(c.energy_mj, 0.77 * (10000 + 3 * 6000)));
}

BENCH_TEST(a_set_is_predicted_once)
{
	const struct hes_group g = { 3, { { 0, 20 }, { 1, 30 }, { 2, 50 } } };
	const struct hes_group other = { 3, { { 5, 50 }, { 3, 20 }, { 4, 30 } } };
	struct hes_group_cost c;
	uint64_t before;

	for (uint64_t i = 0; i < 2; i++) {
		add_job(b, "light", 700 + i, 1000);
		add_job(b, "half", 800 + i, 1000);
		add_job(b, "full", 900 + i, 1000);
	}
	make_problem(b);
	before = stand_in.queries;
	hes_group_run(&b->p, 0, 1590, &g, &c);
	/* Eight queries give the trio: three alone, two pairs, three in the trio; more as they end.
	 */
	assert_true(stand_in.queries - before >= 8 && stand_in.queries - before <= 12);
	before = stand_in.queries;
	hes_group_run(&b->p, 0, 1590, &(struct hes_group){ 3, { { 3, 20 }, { 4, 30 }, { 5, 50 } } },
		      &c);
	hes_group_run(&b->p, 0, 1590, &other, &c);
	assert_int_equal(stand_in.queries, before);
	hes_group_run(&b->p, 0, 945, &other, &c);
	assert_true(stand_in.queries > before);
}

BENCH_TEST(shares_start_from_what_jobs_use_and_fill_the_gpu)
{
	static const uint32_t want[][4] = {
		{ 100 }, { 20, 80 }, { 10, 60, 30 }, { 10, 30, 20, 40 }
	};

	add_job(b, "light", 1, 1000);
	add_job(b, "full", 1, 1000);
	add_job(b, "half", 1, 1000);
	add_job(b, "full", 1, 1000);
	make_problem(b);
	for (uint32_t n = 1; n <= 4; n++) {
		struct hes_group g = { n, { { 0, 0 }, { 1, 0 }, { 2, 0 }, { 3, 0 } } };

		hes_share_by_use(&b->p, 0, &g);
		for (uint32_t i = 0; i < n; i++)
			assert_int_equal(g.m[i].sm_pct, want[n - 1][i]);
	}
}

/* Sum of completion times of a group with shares, and the delay of those behind it. */
static double jct(const struct hes_problem *p, const struct hes_group *g, size_t behind)
{
	struct hes_group_cost c;

	hes_group_run(p, 0, p->types[0]->clock_default_mhz, g, &c);
	return c.ends_us + c.last_us * (double)behind;
}

/* What a batch is worth: its delay, or with a price the energy and the priced delay at the best
 * clock. */
static double worth(const struct hes_problem *p, const struct hes_group *g, size_t behind,
		    double price)
{
	const struct hes_gpu_type *t = p->types[0];
	double best = INFINITY;

	if (!(price > 0))
		return jct(p, g, behind);
	for (size_t i = 0; i < t->n_clocks; i++) {
		struct hes_group_cost c;

		hes_group_run(p, 0, t->clocks_mhz[i], g, &c);
		best = fmin(best, c.energy_mj + price * (c.ends_us + c.last_us * (double)behind));
	}
	return best;
}

/* The best shares of members @i.. given @left percent: every combination of tens. */
static double best_shares(const struct hes_problem *p, struct hes_group *g, uint32_t i,
			  uint32_t left, size_t behind, double price)
{
	double best = INFINITY;

	if (i == g->n)
		return worth(p, g, behind, price);
	for (uint32_t pct = 10; pct <= left && pct <= 100; pct += 10) {
		g->m[i].sm_pct = pct;
		best = fmin(best, best_shares(p, g, i + 1, left - pct, behind, price));
	}
	return best;
}

/* Every way to cut the queue, every way to share: exhaustion. */
static double best_queue(const struct hes_problem *p, const uint32_t *jobs, size_t n,
			 uint32_t sum_pct, double price)
{
	double best = n ? INFINITY : 0;

	for (uint32_t take = 1; take <= n && take <= HES_SHARE_MOST; take++) {
		struct hes_group g = { .n = take };

		for (uint32_t i = 0; i < take; i++)
			g.m[i].job = jobs[i];
		if (!hes_group_fits(p, 0, &g))
			break;
		best = fmin(best, best_shares(p, &g, 0, sum_pct, n - take, price) +
					  best_queue(p, jobs + take, n - take, sum_pct, price));
	}
	return best;
}

static double found_for(const struct hes_problem *p, const struct hes_sharing_aim *aim,
			const uint32_t *jobs, size_t n, struct hes_batches *out)
{
	double sum = 0;
	size_t behind = n;

	assert_int_equal(hes_sharing_batches(p, 0, aim, jobs, n, out), 0);
	for (size_t i = 0; i < out->n; i++) {
		behind -= out->v[i].n;
		sum += worth(p, &out->v[i], behind, aim->jct_price);
	}
	assert_int_equal(behind, 0);
	return sum;
}

static double found_queue(const struct hes_problem *p, const uint32_t *jobs, size_t n,
			  struct hes_batches *out)
{
	return found_for(p, &(struct hes_sharing_aim){ .jct_price = 0 }, jobs, n, out);
}

BENCH_TEST(batches_and_shares_are_nearly_as_good_as_exhaustion_finds)
{
	static const struct {
		const char *workload;
		uint64_t iterations;
	} queues[][5] = {
		{ { "light", 500 },
		  { "light", 900 },
		  { "half", 1000 },
		  { "light", 2000 },
		  { "full", 3000 } },
		{ { "full", 500 },
		  { "full", 600 },
		  { "full", 900 },
		  { "half", 1800 },
		  { "half", 2500 } },
		{ { "half", 1000 },
		  { "half", 1000 },
		  { "half", 1000 },
		  { "half", 1100 },
		  { "light", 5000 } },
	};
	static const uint32_t jobs[] = { 0, 1, 2, 3, 4 };

	for (size_t q = 0; q < N(queues); q++) {
		struct hes_batches batches;
		double best, found, apart = 0, end = 0;

		b->jobs.n = 0;
		for (size_t i = 0; i < 5; i++)
			add_job(b, queues[q][i].workload, queues[q][i].iterations, 1000);
		make_problem(b);
		best = best_queue(&b->p, jobs, 5, 100, 0);
		found = found_queue(&b->p, jobs, 5, &batches);
		for (size_t i = 0; i < 5; i++)
			apart += end += b->p.cost[i].time_us;
		assert_true(found >= best * (1 - 1e-9));
		assert_true(found <= best * 1.03);
		assert_true(found <= apart * (1 + 1e-9));
		free(batches.v);
		hes_problem_finish(&b->p);
	}
}

/* Mean power is some tens of watts: a price of 0.01 mJ a us is low, one of 1 high. */
BENCH_TEST(batches_for_a_price_are_nearly_as_good_as_exhaustion_finds)
{
	static const double prices[] = { 0.01, 0.1, 1 };
	static const uint32_t jobs[] = { 0, 1, 2 };

	stand_in.power_by_use = true;
	add_job(b, "light", 900, 1000);
	add_job(b, "half", 1000, 1000);
	add_job(b, "half", 1800, 1000);
	make_problem(b);
	for (uint32_t sum_pct = 100; sum_pct <= 200; sum_pct += 100)
		for (size_t i = 0; i < N(prices); i++) {
			const struct hes_sharing_aim aim = { .overlap = sum_pct > 100,
							     .jct_price = prices[i] };
			struct hes_batches batches;
			double best, found;

			b->p.shares_pct[0] = 200;
			best = best_queue(&b->p, jobs, 3, sum_pct, prices[i]);
			found = found_for(&b->p, &aim, jobs, 3, &batches);
			assert_true(found >= best * (1 - 1e-9));
			assert_true(found <= best * 1.01);
			for (size_t k = 0; k < batches.n; k++) {
				uint32_t sum = 0;

				for (uint32_t m = 0; m < batches.v[k].n; m++)
					sum += batches.v[k].m[m].sm_pct;
				assert_true(sum <= sum_pct);
			}
			free(batches.v);
		}
}

static double ends_and_energy(const struct hes_group_cost *c, const void *arg)
{
	return c->ends_us + *(const double *)arg * c->energy_mj;
}

/* Halves with 30 % each are held back; lights with 60 % each draw power for nothing. */
BENCH_TEST(with_overlap_a_share_rises_or_falls_alone)
{
	static const double energy_weight = 10;
	const struct hes_share_aim aim = { ends_and_energy, &energy_weight };
	struct hes_group halves = { 2, { { 0, 30 }, { 1, 30 } } },
			 lights = { 2, { { 2, 60 }, { 3, 60 } } }, g = halves;
	struct hes_group_cost cost;

	for (int i = 0; i < 4; i++)
		add_job(b, i < 2 ? "half" : "light", 1000, 1000);
	make_problem(b);
	hes_share_tune(&b->p, 0, 1590, 100, &aim, &g, &cost);
	assert_true(g.m[0].sm_pct + g.m[1].sm_pct == 60);
	hes_share_tune(&b->p, 0, 1590, 110, &aim, &halves, &cost);
	assert_true(halves.m[0].sm_pct == 50 && halves.m[1].sm_pct == 50);
	hes_share_tune(&b->p, 0, 1590, 110, &aim, &lights, &cost);
	assert_true(lights.m[0].sm_pct == 20 && lights.m[1].sm_pct == 20);
}

/* A batch's plan says what its shares sum to; a file of an older version could not. */
BENCH_TEST(a_batch_whose_shares_overlap_is_a_valid_plan)
{
	const struct hes_group g = { 2, { { 0, 90 }, { 1, 60 } } };
	struct hes_plan plan;

	add_job(b, "half", 1000, 1000);
	add_job(b, "full", 1000, 1000);
	make_problem(b);
	assert_int_equal(hes_plan_init(&plan, b->p.k), 0);
	assert_int_equal(hes_compose_batch(&b->p, &plan, 0, 1590, &g), 0);
	hes_compose_totals(&b->p, &plan);
	assert_int_equal(hes_queue_shares_pct(&plan.queues[0]), 150);
	assert_int_equal(hes_plan_validate(&plan, &b->fleet, &b->jobs, 100, &b->err), 0);
	plan.queues[0].shares_pct = 140;
	assert_int_equal(hes_plan_validate(&plan, &b->fleet, &b->jobs, 100, &b->err), -ERANGE);
	assert_non_null(strstr(b->err.msg, "shares sum to 150 %, more than 140 %"));
	hes_plan_finish(&plan);
}

/* By what they use: 30 and 70 %. But the long one can use 50 %, and delays itself most. */
BENCH_TEST(shares_are_tuned_from_what_jobs_use_to_what_ends_them_soonest)
{
	static const uint32_t jobs[] = { 0, 1 };
	struct hes_group g = { 2, { { 0, 0 }, { 1, 0 } } };
	struct hes_batches batches;

	add_job(b, "half", 3000, 1000);
	add_job(b, "full", 300, 1000);
	make_problem(b);
	hes_share_by_use(&b->p, 0, &g);
	assert_true(g.m[0].sm_pct == 30 && g.m[1].sm_pct == 70);
	assert_true(
		near(found_queue(&b->p, jobs, 2, &batches), best_shares(&b->p, &g, 0, 100, 0, 0)));
	assert_true(batches.n == 1 && batches.v[0].m[0].sm_pct == 50 &&
		    batches.v[0].m[1].sm_pct == 50);
	free(batches.v);
}

/* Two with equal work and shares of 20 and 60 %: 10 W of idle power by share, 200 mW a percent of
 * share by activity. */
BENCH_TEST(idle_joules_of_a_batch_and_of_an_open_queue_go_by_share)
{
	const struct hes_group g = { 2, { { 0, 20 }, { 1, 60 } } };
	struct hes_timeline_item items[2];
	struct hes_timeline_times times[2];
	struct hes_timeline_cost c;
	struct hes_plan plan;
	double activity_w = 0;

	for (size_t i = 0; i < b->profiles.n; i++)
		b->profiles.v[i].power_mw = 70000;
	add_job(b, "light", 1000, 1000);
	add_job(b, "light", 1000, 1000);
	make_problem(b);
	for (uint32_t i = 0; i < 2; i++) {
		items[i] = (struct hes_timeline_item){ i, (uint16_t)g.m[i].sm_pct,
						       (uint16_t)(b->p.types[0]->n_clocks - 1) };
		times[i].activity_w = hes_problem_activity_w(&b->p, i, 0, g.m[i].sm_pct, 1590);
		activity_w += times[i].activity_w;
	}
	assert_int_equal(hes_plan_init(&plan, b->p.k), 0);
	assert_int_equal(hes_compose_batch(&b->p, &plan, 0, 1590, &g), 0);
	hes_timeline_run(&b->p, b->p.rates, 0, items, 2, &c, times);
	for (uint32_t i = 0; i < 2; i++) {
		const double part_mj = 1.05 * (10000 * g.m[i].sm_pct / 80.0 +
					       16000 * times[i].activity_w / activity_w);

		assert_true(near(times[i].energy_mj, part_mj));
		assert_true(fabs((double)plan.queues[0].batches[0].jobs[i].energy_mj - part_mj) <
			    1);
	}
	hes_plan_finish(&plan);
}

BENCH_TEST(jobs_that_leave_room_share_and_jobs_that_do_not_are_split)
{
	static const uint32_t jobs[] = { 0, 1, 2 };
	struct hes_batches batches;

	for (int i = 0; i < 3; i++)
		add_job(b, "light", 1000, 1000);
	make_problem(b);
	found_queue(&b->p, jobs, 3, &batches);
	assert_int_equal(batches.n, 1);
	free(batches.v);
	hes_problem_finish(&b->p);
	for (size_t i = 0; i < 3; i++)
		strcpy(b->v[i].workload, "full");
	make_problem(b);
	found_queue(&b->p, jobs, 3, &batches);
	assert_int_equal(batches.n, 3);
	free(batches.v);
}

BENCH_TEST(a_batch_never_exceeds_the_gpus_memory)
{
	static const uint32_t jobs[] = { 0, 1, 2 };
	struct hes_batches batches;

	for (int i = 0; i < 3; i++)
		add_job(b, "light", 1000, 7600); /* two fit 15360 MiB, three do not */
	make_problem(b);
	found_queue(&b->p, jobs, 3, &batches);
	assert_int_equal(batches.n, 2);
	free(batches.v);
}

/* Stage 1's front and what stage 2 makes of it. */
struct stages {
	struct hes_assign a;
	struct hes_assign_front f;
	struct hes_configured *c;
	const struct hes_pareto *front;
};

static void stage1(const struct hes_problem *p, struct stages *s)
{
	struct hes_genetic_options o = hes_genetic_defaults;

	o.generations = 60;
	assert_int_equal(hes_assign_init(&s->a, p->n, p->k, p->n_types, p->cost, p->gpus), 0);
	assert_int_equal(hes_genetic_run(&s->a, &o, &s->f), 0);
}

static void stage2(const struct hes_problem *p, const struct hes_sharing_aim *aims,
		   struct stages *s)
{
	assert_int_equal(hes_configure(p, &s->f, aims, &s->c), 0);
	s->front = hes_configured_front(s->c);
}

static void find_front(const struct hes_problem *p, struct stages *s)
{
	stage1(p, s);
	stage2(p, NULL, s);
}

static struct hes_plan plan_of(const struct hes_problem *p, const struct stages *s, size_t member)
{
	struct hes_plan plan;

	assert_int_equal(hes_plan_init(&plan, p->k), 0);
	assert_int_equal(hes_configured_plan(s->c, member, &plan), 0);
	return plan;
}

static void forget(struct stages *s)
{
	hes_configured_free(s->c);
	free(s->f.v);
	hes_assign_finish(&s->a);
}

static void mixed_jobs(struct bench *b)
{
	static const char *const names[] = { "full", "half", "light", "light", "half", "full" };

	for (size_t i = 0; i < N(names); i++)
		add_job(b, names[i], 500 + 700 * i, 2000);
	b->free_at_us[1] = 400000;
	make_problem(b);
}

/* What the front promises is what its plan predicts. */
static void check_members(struct bench *b, const struct stages *s)
{
	for (size_t i = 0; i < s->front->n; i++) {
		const struct hes_objectives *at = &s->front->v[i].at;
		struct hes_plan plan = plan_of(&b->p, s, i);

		assert_int_equal(hes_plan_validate(&plan, &b->fleet, &b->jobs, 100, &b->err), 0);
		assert_true(fabs(plan.predicted.avg_jct_us * 6 - at->jct_us) < 20);
		assert_true(fabs((double)plan.predicted.busy_energy_mj - at->energy_mj) < 10);
		hes_plan_finish(&plan);
	}
}

BENCH_TEST(every_member_of_the_front_is_a_plan_with_its_objectives)
{
	struct stages s;

	mixed_jobs(b);
	find_front(&b->p, &s);
	assert_true(s.front->n > s.f.n);
	check_members(b, &s);
	forget(&s);
}

/* Then every clock has the same delay, and the power falls with the clock. */
BENCH_TEST(where_the_clock_costs_no_time_the_one_of_least_energy_is_taken)
{
	struct stages s;

	stand_in.clock_free = true;
	mixed_jobs(b);
	find_front(&b->p, &s);
	for (size_t i = 0; i < s.front->n; i++) {
		struct hes_plan plan = plan_of(&b->p, &s, i);

		for (size_t g = 0; g < b->p.k; g++)
			for (size_t k = 0; k < plan.queues[g].n; k++)
				assert_int_equal(plan.queues[g].batches[k].clock_mhz,
						 b->fleet.gpus[g].type->clocks_mhz[0]);
		hes_plan_finish(&plan);
	}
	forget(&s);
}

/* The front of all prices has members of several of them, and covers more than stage 2 as
 * published. */
BENCH_TEST(every_member_for_a_price_is_a_plan_and_together_they_cover_more)
{
	struct hes_sharing_aim aims[HES_PRICES];
	struct hes_objectives reference;
	struct stages old, s;

	stand_in.power_by_use = true;
	mixed_jobs(b);
	find_front(&b->p, &old);
	stage1(&b->p, &s);
	free(s.f.v);
	assert_int_equal(hes_priced_assign(&b->p, &s.f, aims), 0);
	assert_int_equal(s.f.n, HES_PRICES);
	for (size_t i = 1; i < s.f.n; i++)
		assert_true(aims[i].jct_price < aims[i - 1].jct_price && aims[i].jct_price > 0 &&
			    aims[i].overlap);
	stage2(&b->p, aims, &s);
	check_members(b, &s);
	reference = (struct hes_objectives){ 1.2 * old.front->v[old.front->n - 1].at.energy_mj,
					     1.2 * old.front->v[0].at.jct_us };
	assert_true(hes_pareto_hypervolume(s.front, &reference) >
		    hes_pareto_hypervolume(old.front, &reference));
	forget(&s);
	forget(&old);
}

BENCH_TEST(default_clocks_are_far_where_none_was_sampled)
{
	add_job(b, "full", 1000, 1000);
	make_problem(b);
	assert_false(hes_default_is_far(&b->p));
	hes_problem_finish(&b->p);
	stand_in.from_mhz = 1500; /* of the A100 1410 is the default */
	make_problem(b);
	assert_true(hes_default_is_far(&b->p));
}

/* Stage 2 starts from stage 1's set and only ever adds what nothing dominates. */
BENCH_TEST(no_member_of_stage_1_dominates_the_updated_set)
{
	struct stages s;

	mixed_jobs(b);
	find_front(&b->p, &s);
	for (size_t i = 0; i < s.f.n; i++) {
		bool covered = false;

		for (size_t j = 0; j < s.front->n; j++)
			covered |= s.front->v[j].at.energy_mj <= s.f.v[i].at.energy_mj &&
				   s.front->v[j].at.jct_us <= s.f.v[i].at.jct_us;
		assert_true(covered);
	}
	forget(&s);
}

/* One GPU's part of a solution of two jobs: cost at a clock each, or together. */
static void try_alone(const struct hes_problem *p, size_t type, uint32_t job, double start_us,
		      double *energy_mj, double *jct_us, size_t clock)
{
	const struct hes_group g = { 1, { { job, 100 } } };
	struct hes_group_cost c;

	hes_group_run(p, (uint32_t)type, p->types[type]->clocks_mhz[clock], &g, &c);
	*energy_mj = c.energy_mj;
	*jct_us = start_us + c.last_us;
}

/* Two jobs on two GPUs: every assignment, order, batch, share and clock. */
static void exhaust(const struct hes_problem *p, struct hes_pareto *all)
{
	const size_t n0 = p->types[0]->n_clocks, n1 = p->types[1]->n_clocks;

	for (size_t x = 0; x < n0; x++)
		for (size_t y = 0; y < n1; y++)
			for (uint32_t swap = 0; swap < 2; swap++) {
				double e[2], t[2];

				try_alone(p, 0, swap, p->gpus[0].wait_us, &e[0], &t[0], x);
				try_alone(p, 1, 1 - swap, p->gpus[1].wait_us, &e[1], &t[1], y);
				hes_pareto_insert(
					all, &(struct hes_objectives){ e[0] + e[1], t[0] + t[1] },
					0);
			}
	for (uint32_t g = 0; g < 2; g++) {
		const struct hes_gpu_type *type = p->types[g];
		const double wait_us = p->gpus[g].wait_us;

		for (size_t x = 0; x < type->n_clocks; x++) {
			for (size_t y = 0; y < type->n_clocks; y++)
				for (uint32_t swap = 0; swap < 2; swap++) {
					double e[2], t[2];

					try_alone(p, g, swap, wait_us, &e[0], &t[0], x);
					try_alone(p, g, 1 - swap, t[0], &e[1], &t[1], y);
					hes_pareto_insert(all,
							  &(struct hes_objectives){ e[0] + e[1],
										    t[0] + t[1] },
							  0);
				}
			for (uint32_t s = 10; s < 100; s += 10)
				for (uint32_t u = 10; s + u <= 100; u += 10) {
					const struct hes_group both = { 2, { { 0, s }, { 1, u } } };
					struct hes_group_cost c;

					hes_group_run(p, g, type->clocks_mhz[x], &both, &c);
					hes_pareto_insert(
						all,
						&(struct hes_objectives){ c.energy_mj,
									  c.ends_us + 2 * wait_us },
						0);
				}
		}
	}
}

BENCH_TEST(on_two_jobs_the_set_is_bounded_by_exhaustion_and_near_it)
{
	static const char *const pairs[][2] = { { "full", "full" },
						{ "light", "half" },
						{ "light", "light" } };

	for (size_t i = 0; i < N(pairs); i++) {
		struct hes_pareto all = { 0 };
		struct hes_objectives reference;
		struct stages s;

		b->jobs.n = 0;
		add_job(b, pairs[i][0], 3000, 1000);
		add_job(b, pairs[i][1], 5000, 1000);
		make_problem(b);
		exhaust(&b->p, &all);
		find_front(&b->p, &s);
		for (size_t j = 0; j < s.front->n; j++) {
			const struct hes_objectives *at = &s.front->v[j].at;
			bool bounded = false;

			for (size_t k = 0; k < all.n; k++)
				bounded |= all.v[k].at.energy_mj <= at->energy_mj * (1 + 1e-9) &&
					   all.v[k].at.jct_us <= at->jct_us * (1 + 1e-9);
			assert_true(bounded);
		}
		reference = (struct hes_objectives){ 1.5 * all.v[all.n - 1].at.energy_mj,
						     1.5 * all.v[0].at.jct_us };
		/* Not nearer: pairs that pay only by sharing are no members of stage 1's front. */
		assert_true(hes_pareto_hypervolume(s.front, &reference) >
			    0.85 * hes_pareto_hypervolume(&all, &reference));
		hes_pareto_free(&all);
		forget(&s);
		hes_problem_finish(&b->p);
	}
}

/* Over all members of the front of some jobs: the lowest clock, the most jobs together, jobs that
 * were extrapolated. */
struct extremes {
	uint32_t least_mhz, most_jobs;
	size_t extrapolated, jobs;
};

static void add_plan(const struct hes_plan *plan, struct extremes *x)
{
	for (size_t g = 0; g < plan->n_gpus; g++)
		for (size_t i = 0; i < plan->queues[g].n; i++) {
			const struct hes_batch *batch = &plan->queues[g].batches[i];

			x->least_mhz =
				batch->clock_mhz < x->least_mhz ? batch->clock_mhz : x->least_mhz;
			x->most_jobs = batch->n > x->most_jobs ? batch->n : x->most_jobs;
			x->jobs += batch->n;
			for (uint32_t j = 0; j < batch->n; j++)
				x->extrapolated += batch->jobs[j].outside != 0;
		}
}

static struct extremes extremes_of(struct bench *b)
{
	struct extremes x = { .least_mhz = UINT32_MAX };
	struct stages s;

	b->jobs.n = 0;
	mixed_jobs(b);
	find_front(&b->p, &s);
	for (size_t i = 0; i < s.front->n; i++) {
		struct hes_plan plan = plan_of(&b->p, &s, i);

		add_plan(&plan, &x);
		hes_plan_finish(&plan);
	}
	forget(&s);
	hes_problem_finish(&b->p);
	return x;
}

/* A job of a workload that was never sampled may run, alone. The A100's default clock is 1410 MHz,
 * T4's 1590: with samples from 1400 on, stage 1's own solutions are none of the front's. */
BENCH_TEST(what_is_far_outside_of_the_samples_is_avoided)
{
	static const struct {
		uint32_t from_mhz, jobs;
		const char *never;
		uint32_t least_mhz, below_mhz;
	} cases[] = {
		{ .below_mhz = 1200 },
		{ .from_mhz = 1200, .least_mhz = 1200, .below_mhz = 1411 },
		{ .jobs = 1, .below_mhz = 1411 },
		{ .never = "light", .below_mhz = 1411 },
		{ .from_mhz = 1400, .least_mhz = 1400, .below_mhz = 1591 },
	};
	const struct stand_in all = stand_in;

	for (size_t i = 0; i < N(cases); i++) {
		struct extremes x;

		stand_in = all;
		stand_in.from_mhz = cases[i].from_mhz ? cases[i].from_mhz : all.from_mhz;
		stand_in.jobs = cases[i].jobs ? cases[i].jobs : all.jobs;
		stand_in.never = cases[i].never;
		x = extremes_of(b);
		assert_true(x.least_mhz >= cases[i].least_mhz && x.least_mhz < cases[i].below_mhz);
		assert_true(cases[i].jobs == 1 ? x.most_jobs == 1 : x.most_jobs > 1);
		assert_int_equal(x.extrapolated, 0);
	}
}

/* A light job draws 4 W at full clock and the GPU 10 or 55 W when idle: any lower clock takes more
 * energy. */
BENCH_TEST(clocks_below_one_that_takes_a_tenth_more_energy_are_not_predicted)
{
	struct stages s;
	uint64_t before;

	stand_in.power_by_use = true;
	add_job(b, "light", 1000, 1000);
	make_problem(b);
	stage1(&b->p, &s);
	before = stand_in.queries;
	stage2(&b->p, NULL, &s);
	assert_true(stand_in.queries - before <=
		    (b->p.types[0]->n_clocks + b->p.types[1]->n_clocks) / 2);
	forget(&s);
}

BENCH_TEST(jobs_that_can_only_be_extrapolated_are_planned_and_reported)
{
	struct extremes x;

	stand_in.from_mhz = 100000;
	x = extremes_of(b);
	assert_true(x.jobs > 0);
	assert_int_equal(x.extrapolated, x.jobs);
}

BENCH_TEST(a_job_runs_only_where_it_was_profiled_and_fits)
{
	add_job(b, "small", 10, 1000);
	add_job(b, "full", 10, 20000);
	make_problem(b);
	assert_true(hes_problem_runs(&b->p, 0, 0) && !hes_problem_runs(&b->p, 0, 1));
	assert_true(!hes_problem_runs(&b->p, 1, 0) && hes_problem_runs(&b->p, 1, 1));
	assert_true(isinf(b->p.cost[1 * 2 + 0].time_us) && isinf(b->p.cost[0 * 2 + 1].time_us));
}

BENCH_TEST(a_job_that_can_run_nowhere_is_named)
{
	add_job(b, "small", 10, 1000);
	add_job(b, "full", 10, 81252);
	assert_int_equal(hes_problem_init(&b->p, &b->request, &b->err), -ENOSPC);
	assert_string_equal(b->err.msg, "job j1 needs 81252 MiB; the largest GPU it can run on, "
					"A100-SXM-80, has 81251 MiB");
	b->v[1].memory_mib = 1;
	b->v[0].memory_mib = 15361; /* profiled on the T4 alone */
	assert_int_equal(hes_problem_init(&b->p, &b->request, &b->err), -ENOSPC);
	assert_non_null(
		strstr(b->err.msg, "job j0 needs 15361 MiB; the largest GPU it can run on, T4,"));
	strcpy(b->v[0].workload, "unheard-of");
	assert_int_equal(hes_problem_init(&b->p, &b->request, &b->err), -ENOENT);
	assert_non_null(strstr(b->err.msg, "job j0: "));
	assert_non_null(strstr(b->err.msg, "unheard-of"));
	b->p.request = NULL;
}

/* 10^12 iterations of a second each would overflow a plan's microseconds before long. */
BENCH_TEST(jobs_that_would_run_for_millennia_are_refused)
{
	add_job(b, "full", 1000, 1000);
	add_job(b, "full", 1000000000000, 1000);
	for (size_t i = 0; i < b->profiles.n; i++)
		b->profiles.v[i].iteration_us = 1e6;
	assert_int_equal(hes_problem_init(&b->p, &b->request, &b->err), -ERANGE);
	assert_string_equal(b->err.msg, "job j1: with it, the jobs would run more than 3169 years");
	b->p.request = NULL;
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
