/*
 * test_joint.c - the joint search against enumeration, and under constraints.
 * The predictor is plan_bench.h's.
 */
#include <inttypes.h>
#include <math.h>

#include "enumeration.h"
#include "plan/batch/compose.h"
#include "plan/joint/joint_search.h"
#include "plan_bench.h"
#include "unit_test.h"

#define BENCH_TEST(test) TEST_ON(struct bench, b, test, bench_setup, plan_bench_teardown)

static int bench_setup(void **state)
{
	const int rc = plan_bench_setup(state);

	stand_in.power_by_use = true;
	return rc;
}

static struct hes_joint *search(const struct hes_problem *p, const struct hes_joint_options *o)
{
	struct hes_joint *j;

	assert_int_equal(hes_joint_search(p, o, &j), 0);
	return j;
}

/* Six jobs, two GPUs: every assignment, order, batch, share and clock. */
BENCH_TEST(on_six_jobs_the_front_has_99_percent_of_what_enumeration_finds)
{
	struct hes_pareto all = { 0 };
	struct hes_objectives reference;
	struct hes_joint *j;
	double found, there;

	make_six_jobs(b);
	enumerate_batches(&b->p, &all);
	reference = (struct hes_objectives){ 1.1 * all.v[all.n - 1].at.energy_mj,
					     1.1 * all.v[0].at.jct_us };
	j = search(&b->p, &(struct hes_joint_options){ .seed = 1 });
	found = hes_pareto_hypervolume(hes_joint_front(j), &reference);
	there = hes_pareto_hypervolume(&all, &reference);
	if (!(found >= 0.99 * there))
		fail_msg("%.4f of %.4f", found, there);
	hes_joint_free(j);
	hes_pareto_free(&all);
}

/* GPUs with so few clocks that everything can be enumerated: the lowest, the highest, and some
 * between. */
static void thin_clocks(struct bench *b, size_t n)
{
	for (size_t g = 0; g < b->fleet.n; g++) {
		struct hes_gpu_type *type = b->catalogue.types;

		for (size_t t = 0; t < b->catalogue.n; t++)
			if (&b->catalogue.types[t] == b->fleet.gpus[g].type)
				type = &b->catalogue.types[t];
		for (size_t i = 0; i < n; i++)
			type->clocks_mhz[i] = type->clocks_mhz[i * (type->n_clocks - 1) / (n - 1)];
		type->n_clocks = n;
	}
}

#define SEEDS 3

/* The least part of the true hypervolume that some seeds reach. */
static double least_part(const struct bench *b, const struct hes_pareto *all, double slack)
{
	struct hes_objectives reference = { 1.1 * all->v[all->n - 1].at.energy_mj,
					    1.1 * all->v[0].at.jct_us };
	const struct hes_objectives outside = { reference.energy_mj * (1 + slack),
						reference.jct_us * (1 + slack) };
	const double there = hes_pareto_hypervolume(all, &outside);
	double least = 2;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct hes_joint *j = search(&b->p, &(struct hes_joint_options){ .seed = seed });

		least = fmin(least, hes_pareto_hypervolume(hes_joint_front(j), &reference) / there);
		hes_joint_free(j);
	}
	return least;
}

/* Everything the search may decide: assignment, order, share and clock of every job, admitted as
 * there is room. */
static void assert_99_percent_of_all_open_queues(struct bench *b, size_t clocks)
{
	const double slack = 3e-4;
	struct hes_pareto all = { 0 };
	double least;

	thin_clocks(b, clocks);
	make_problem(b);
	enumerate_open(&b->p, slack, &all);
	least = least_part(b, &all, slack);
	if (!(least >= 0.99 && least <= 1))
		fail_msg("%.4f of what is possible", least);
	hes_pareto_free(&all);
}

BENCH_TEST(on_four_jobs_the_front_has_99_percent_of_all_open_queues)
{
	add_job(b, "full", 3000, 1000);
	add_job(b, "half", 9000, 1000);
	add_job(b, "light", 4000, 1000);
	add_job(b, "half", 5000, 1000);
	assert_99_percent_of_all_open_queues(b, 3);
}

BENCH_TEST(shares_beyond_the_gpu_are_used_as_well_as_enumeration_can)
{
	stand_in.shares_pct = 200;
	add_job(b, "light", 3000, 1000);
	add_job(b, "half", 9000, 1000);
	add_job(b, "light", 14000, 1000);
	add_job(b, "half", 5000, 1000);
	assert_99_percent_of_all_open_queues(b, 2);
}

/* Energy of both GPUs until the last one is free, added up by hand. */
static double fleet_energy_mj(const struct hes_problem *p, struct hes_joint_solution s)
{
	struct hes_timeline_cost c[2];
	double last_us = 0, sum_mj = 0;

	for (size_t g = 0; g < 2; g++) {
		hes_timeline_run(p, p->rates, g, &s.items[s.first[g]], s.first[g + 1] - s.first[g],
				 &c[g], NULL);
		last_us = fmax(last_us, c[g].last_us);
	}
	for (size_t g = 0; g < 2; g++)
		sum_mj += c[g].energy_mj + p->types[p->gpus[g].type]->idle_power_mw * 1e-6 *
						   (last_us - c[g].last_us);
	return sum_mj;
}

/* The A100's idle power is much of what there is to save, so an early end of all counts. */
BENCH_TEST(the_fleets_energy_is_that_of_busy_and_idle_gpus_and_the_least_found)
{
	struct hes_joint *fleet, *busy;
	double least = INFINITY;

	make_twelve_jobs(b);
	fleet = search(&b->p, &(struct hes_joint_options){ .seed = 1, .wanted = HES_JOINT_FLEET });
	busy = search(&b->p, &(struct hes_joint_options){ .seed = 1, .wanted = HES_JOINT_ENERGY });
	for (size_t m = 0; m < hes_joint_front(fleet)->n; m++) {
		const double ours = hes_joint_front(fleet)->v[m].at.energy_mj,
			     by_hand = fleet_energy_mj(&b->p, hes_joint_member(fleet, m));

		if (!(fabs(ours - by_hand) <= 1e-9 * by_hand))
			fail_msg("member %zu: %.3f mJ, by hand %.3f", m, ours, by_hand);
	}
	for (size_t m = 0; m < hes_joint_front(busy)->n; m++)
		least = fmin(least, fleet_energy_mj(&b->p, hes_joint_member(busy, m)));
	assert_int_equal(hes_joint_wanted(fleet), 0);
	assert_true(hes_joint_front(fleet)->v[0].at.energy_mj < least);
	hes_joint_free(fleet);
	hes_joint_free(busy);
}

static void assert_same_front(const struct hes_joint *x, const struct hes_joint *y)
{
	const struct hes_pareto *a = hes_joint_front(x), *b = hes_joint_front(y);

	assert_int_equal(a->n, b->n);
	for (size_t i = 0; i < a->n; i++)
		assert_memory_equal(&a->v[i].at, &b->v[i].at, sizeof(a->v[i].at));
}

static void assert_same_by_one_thread_and_two(const struct hes_problem *p, uint64_t evaluations)
{
	struct hes_joint *one = search(
		p,
		&(struct hes_joint_options){ .seed = 3, .evaluations = evaluations, .threads = 1 });
	struct hes_joint *two = search(
		p,
		&(struct hes_joint_options){ .seed = 3, .evaluations = evaluations, .threads = 2 });

	assert_same_front(one, two);
	hes_joint_free(one);
	hes_joint_free(two);
}

BENCH_TEST(the_front_does_not_depend_on_the_number_of_threads)
{
	make_six_jobs(b);
	assert_same_by_one_thread_and_two(&b->p, 4000);
}

BENCH_TEST(nor_does_that_of_more_jobs)
{
	make_twelve_jobs(b);
	assert_same_by_one_thread_and_two(&b->p, 4000);
}

/* What a member costs, from its queues alone. */
static struct hes_timeline_cost cost_of(const struct hes_problem *p, const struct hes_joint *j,
					size_t member)
{
	const struct hes_joint_solution s = hes_joint_member(j, member);
	struct hes_timeline_cost all = { 0 };

	for (size_t g = 0; g < p->k; g++) {
		struct hes_timeline_cost c;

		hes_timeline_run(p, p->rates, g, &s.items[s.first[g]], s.first[g + 1] - s.first[g],
				 &c, NULL);
		all.energy_mj += c.energy_mj;
		all.ends_us += c.ends_us;
		all.late_us += c.late_us;
		all.peak_mw += fmax(c.peak_mw, p->types[p->gpus[g].type]->idle_power_mw);
	}
	return all;
}

BENCH_TEST(a_member_is_what_its_queues_come_to)
{
	struct hes_joint *j;

	make_six_jobs(b);
	j = search(&b->p, &(struct hes_joint_options){ .seed = 1, .evaluations = 4000 });
	for (size_t i = 0; i < hes_joint_front(j)->n; i++) {
		const struct hes_objectives *at = &hes_joint_front(j)->v[i].at;
		struct hes_timeline_cost c = cost_of(&b->p, j, i);

		assert_true(fabs(c.energy_mj / at->energy_mj - 1) < 1e-12);
		assert_true(fabs(c.ends_us / at->jct_us - 1) < 1e-12);
	}
	hes_joint_free(j);
}

BENCH_TEST(no_member_draws_more_than_the_power_cap)
{
	struct hes_joint *free_, *capped;
	double most_mw = 0;

	make_six_jobs(b);
	free_ = search(&b->p, &(struct hes_joint_options){ .seed = 1 });
	for (size_t i = 0; i < hes_joint_front(free_)->n; i++)
		most_mw = fmax(most_mw, cost_of(&b->p, free_, i).peak_mw);
	capped = search(&b->p,
			&(struct hes_joint_options){ .seed = 1, .power_cap_mw = 0.8 * most_mw });
	for (size_t i = 0; i < hes_joint_front(capped)->n; i++)
		assert_true(cost_of(&b->p, capped, i).peak_mw <= 0.8 * most_mw);
	hes_joint_free(free_);
	hes_joint_free(capped);
}

/* Over some seeds, for one search may be lucky; few evaluations, for the ends of twelve jobs' front
 * are soon found. */
BENCH_TEST(a_search_finds_most_where_it_is_wanted)
{
	double least_mj[3] = { 0 }, least_us[3] = { 0 };

	make_twelve_jobs(b);
	for (uint64_t seed = 1; seed <= 8; seed++)
		for (enum hes_joint_wanted wanted = HES_JOINT_BALANCED; wanted <= HES_JOINT_JCT;
		     wanted++) {
			struct hes_joint *j =
				search(&b->p, &(struct hes_joint_options){ .seed = seed,
									   .wanted = wanted,
									   .evaluations = 6000 });
			const struct hes_pareto *f = hes_joint_front(j);
			const size_t last = f->n - 1, member = hes_joint_wanted(j);

			assert_true(wanted != HES_JOINT_ENERGY || member == 0);
			assert_true(wanted != HES_JOINT_JCT || member == last);
			least_mj[wanted] += f->v[0].at.energy_mj;
			least_us[wanted] += f->v[last].at.jct_us;
			hes_joint_free(j);
		}
	assert_true(least_mj[HES_JOINT_ENERGY] < least_mj[HES_JOINT_BALANCED] &&
		    least_mj[HES_JOINT_ENERGY] < least_mj[HES_JOINT_JCT]);
	assert_true(least_us[HES_JOINT_JCT] <= least_us[HES_JOINT_BALANCED] &&
		    least_us[HES_JOINT_JCT] <= least_us[HES_JOINT_ENERGY]);
}

/* Of its gains in energy and in time over the knee of Algorithm 1's front. The larger gain is
 * largest at an end. */
BENCH_TEST(balanced_is_the_member_whose_smaller_gain_is_largest)
{
	const struct hes_joint_options o = { .seed = 1, .evaluations = 6000 };
	struct hes_objectives over;
	struct plan_archive starts;
	struct hes_joint *j;
	double gain[2] = { -INFINITY, -INFINITY };

	make_six_jobs(b);
	assert_int_equal(hes_joint_starts(&b->p, &o, &over, true, &starts), 0);
	plan_archive_finish(&starts);
	j = search(&b->p, &o);
	for (size_t i = 0; i < hes_joint_front(j)->n; i++) {
		const struct hes_objectives *at = &hes_joint_front(j)->v[i].at;
		double *most = &gain[i == hes_joint_wanted(j)];

		*most = fmax(*most, fmin(1 - at->energy_mj / over.energy_mj,
					 1 - at->jct_us / over.jct_us));
	}
	assert_true(gain[1] > gain[0]);
	hes_joint_free(j);
}

/* The longest job alone on the quicker GPU, first and at its default clock, just meets it. */
BENCH_TEST(a_deadline_that_can_be_met_is_met_by_every_member)
{
	struct hes_job *j = add_job(b, "light", 30000, 1000);
	struct hes_joint *found;

	j->has_deadline = true;
	j->deadline_us = 27100000;
	for (int i = 0; i < 5; i++)
		add_job(b, "light", 3000, 1000);
	make_problem(b);
	found = search(&b->p, &(struct hes_joint_options){ .seed = 1 });
	for (size_t i = 0; i < hes_joint_front(found)->n; i++)
		assert_true(cost_of(&b->p, found, i).late_us == 0);
	hes_joint_free(found);
}

/* What breaks constraints least is all that is kept, so that one such deadline once cost the other
 * jobs a fifth of both objectives. */
BENCH_TEST(a_deadline_that_no_plan_can_meet_costs_no_other_job)
{
	struct hes_joint *without, *with;

	make_six_jobs(b);
	without = search(&b->p, &(struct hes_joint_options){ .seed = 1, .evaluations = 6000 });
	hes_problem_finish(&b->p);
	b->v[3].has_deadline = true; /* 27 s on the quicker GPU */
	b->v[3].deadline_us = 1000000;
	make_problem(b);
	assert_true(isinf(b->p.jobs[3].deadline_us) && fabs(b->p.jobs[3].least_us - 27e6) < 1);
	with = search(&b->p, &(struct hes_joint_options){ .seed = 1, .evaluations = 6000 });
	assert_same_front(without, with);
	hes_joint_free(without);
	hes_joint_free(with);
}

BENCH_TEST(a_deadline_is_infeasible_only_where_the_fastest_clock_misses_it)
{
	const double slower = 2, least_us = 27e6 * (0.5 + 0.5 / slower);

	for (size_t t = 0; t < b->catalogue.n; t++)
		b->catalogue.types[t].clock_default_mhz /= (uint32_t)slower;
	add_job(b, "light", 30000, 1000)->has_deadline = true;
	b->v[0].deadline_us =
		(int64_t)(0.9992 * least_us); /* with co-runners it might be a thousandth quicker */
	make_problem(b);
	assert_true(isfinite(b->p.jobs[0].deadline_us) && b->p.jobs[0].least_us == 0);
	hes_problem_finish(&b->p);
	b->v[0].deadline_us = (int64_t)(0.998 * least_us);
	make_problem(b);
	assert_true(isinf(b->p.jobs[0].deadline_us) && fabs(b->p.jobs[0].least_us - least_us) < 1);
}

/* It takes 27 s and has until 37.1 s: enough from 10 s on, not from 11 s. */
BENCH_TEST(so_is_that_of_a_job_that_comes_too_late)
{
	add_job(b, "light", 4000, 1000);
	for (int i = 1; i < 3; i++) {
		add_job(b, "light", 30000, 1000)->has_deadline = true;
		b->v[i].deadline_us = 37100000;
	}
	b->request.n_waiting = 1;
	assert_int_equal(hes_problem_init_for_more(&b->p, &b->request, 2, 0, &b->err), 0);
	assert_int_equal(hes_problem_add(&b->p, 1, 10e6, &b->err), 1);
	assert_int_equal(hes_problem_add(&b->p, 2, 11e6, &b->err), 2);
	assert_true(b->p.jobs[1].deadline_us == 37.1e6 && b->p.jobs[1].least_us == 0);
	assert_true(isinf(b->p.jobs[2].deadline_us) && fabs(b->p.jobs[2].least_us - 27e6) < 1);
}

/* Fewer than eight jobs have a number of their own. */
TEST(more_jobs_are_searched_no_less)
{
	for (size_t n = 8; n < 2000; n++)
		if (hes_joint_evaluations(n + 1, 8) < hes_joint_evaluations(n, 8))
			fail_msg("%" PRIu64 " evaluations for %zu jobs, fewer for one more",
				 hes_joint_evaluations(n, 8), n);
}

/* A clock that runs a thousandth a look. */
static double tick(void *ctx)
{
	double *now = ctx, then;

#pragma omp critical(tick)
	{
		*now += 0.001;
		then = *now;
	}
	return then;
}

BENCH_TEST(a_clock_ends_the_search_wherever_it_is)
{
	struct hes_joint *j;
	double late = 5, now = 0;

	make_six_jobs(b);
	j = search(&b->p,
		   &(struct hes_joint_options){ .seed = 1, .spent = tick, .spent_ctx = &now });
	assert_true(now >= 1);
	assert_true(hes_joint_front(j)->n > 1);
	hes_joint_free(j);
	j = search(&b->p,
		   &(struct hes_joint_options){ .seed = 1, .spent = tick, .spent_ctx = &late });
	assert_true(hes_joint_front(j)->n >= 1);   /* the start at least, */
	assert_true(hes_joint_evaluated(j) < 200); /* and hardly more */
	hes_joint_free(j);
}

/* A running job is not moved. The next job starts together with it, not after it. */
BENCH_TEST(a_queue_begins_together_with_running_jobs)
{
	const struct hes_running running = { .job = 1,
					     .gpu = 0,
					     .sm_pct = 60,
					     .clock_mhz = 1590,
					     .start_us = -1000000,
					     .end_us = 1000000,
					     .left = .5 };
	const struct hes_timeline_item items[] = { { 0, 40, 11 }, { 0, 50, 11 } };
	struct hes_timeline_times together, behind;
	struct hes_timeline_cost c;

	add_job(b, "light", 1000, 1000);
	add_job(b, "light", 2000, 1000);
	b->request.n_waiting = 1;
	b->request.running = &running;
	b->request.n_running = 1;
	b->free_at_us[0] = 1000000;
	make_problem(b);
	hes_timeline_run(&b->p, b->p.rates, 0, &items[0], 1, &c, &together);
	hes_timeline_run(&b->p, b->p.rates, 0, &items[1], 1, &c, &behind);
	assert_true(together.start_us == 0);
	/* Half of 2000 iterations of a millisecond are left: a second, the two slowing each other
	 * but for a while. */
	assert_true(behind.start_us > 0 && behind.start_us < 1100000);
}

BENCH_TEST(more_than_a_gpu_takes_cannot_run_there)
{
	struct hes_running running[HES_MAX_SHARING + 1];

	for (uint32_t i = 0; i < HES_MAX_SHARING + 2; i++)
		add_job(b, "light", 1000, 100);
	for (uint32_t i = 0; i <= HES_MAX_SHARING; i++)
		running[i] = (struct hes_running){ .job = i + 1,
						   .gpu = 0,
						   .sm_pct = 10,
						   .clock_mhz = 1590,
						   .end_us = 1000,
						   .left = 1 };
	b->request.n_waiting = 1;
	b->request.running = running;
	b->request.n_running = HES_MAX_SHARING + 1;
	assert_int_equal(hes_problem_init(&b->p, &b->request, &b->err), -EINVAL);
	assert_string_equal(b->err.msg, "a/0: 9 jobs run there; at most 8 can");
	b->request.n_running = HES_MAX_SHARING;
	make_problem(b);
}

BENCH_TEST(what_runs_is_a_job_on_a_gpu_and_goes_by_gpu)
{
	struct hes_running running[2] = {
		{ .job = 1, .gpu = 1, .sm_pct = 10, .clock_mhz = 1590, .end_us = 1000, .left = 1 }
	};

	for (int i = 0; i < 3; i++)
		add_job(b, "light", 1000, 100);
	b->request.n_waiting = 1;
	b->request.running = running;
	b->request.n_running = 2;
	running[1] = running[0];
	running[1].gpu = 0;
	assert_int_equal(hes_problem_init(&b->p, &b->request, &b->err), -EINVAL);
	assert_string_equal(b->err.msg,
			    "running job 1: GPU number 0 after number 1; running jobs go by GPU");
	running[0].gpu = 7;
	assert_int_equal(hes_problem_init(&b->p, &b->request, &b->err), -EINVAL);
	assert_string_equal(b->err.msg, "running job 0: GPU number 7; the fleet has 2");
	running[0].gpu = 0;
	running[1].job = 3;
	assert_int_equal(hes_problem_init(&b->p, &b->request, &b->err), -EINVAL);
	assert_string_equal(b->err.msg, "running job 1: job number 3; there are 3");
}

/* A plan says when running jobs end, with the co-runners that it gives them. */
BENCH_TEST(a_plan_tells_what_becomes_of_the_jobs_that_run)
{
	const struct hes_running running = { .job = 1,
					     .gpu = 0,
					     .sm_pct = 60,
					     .clock_mhz = 1590,
					     .start_us = -1000000,
					     .end_us = 1000000,
					     .left = .5 };
	const struct hes_timeline_item item = { 0, 40, 11 };
	struct hes_plan alone, together;

	add_job(b, "light", 1000, 1000);
	add_job(b, "light", 2000, 1000);
	b->request.n_waiting = 1;
	b->request.running = &running;
	b->request.n_running = 1;
	make_problem(b);
	assert_int_equal(hes_plan_init(&alone, 2), 0);
	assert_int_equal(hes_plan_init(&together, 2), 0);
	assert_int_equal(hes_compose_open(&b->p, &alone, 0, NULL, 0), 0);
	assert_int_equal(hes_compose_open(&b->p, &together, 0, &item, 1), 0);
	assert_int_equal(alone.n_remainders, 1);
	assert_int_equal(alone.remainders[0].job, 1);
	assert_int_equal(together.n_remainders, 1);
	assert_true(together.remainders[0].end_us > alone.remainders[0].end_us);
	/* Co-runners bear their part of the GPU's energy. */
	assert_true(together.remainders[0].energy_mj < alone.remainders[0].energy_mj);
	hes_plan_finish(&alone);
	hes_plan_finish(&together);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
