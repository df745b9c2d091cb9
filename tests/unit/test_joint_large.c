/*
 * test_joint_large.c - the joint search on a larger fleet: 520 jobs on 20 GPUs. The predictor is
 * plan_bench.h's.
 */
#include <math.h>

#include "plan/joint/joint_search.h"
#include "plan_bench.h"
#include "unit_test.h"

#define BENCH_TEST(test) TEST_ON(struct large, l, test, setup, teardown)

#define JOBS    520
#define GPUS    20
#define RUNNING 3

/* Twelve T4 and eight A100; jobs of all workloads, some of which one type alone can run. */
struct large {
	struct bench *bench;
	struct hes_fleet fleet;
	struct hes_job v[JOBS + 1 + RUNNING];
	struct hes_jobs jobs;
	uint32_t waiting[JOBS];
	int64_t free_at_us[GPUS];
	struct hes_running running[RUNNING];
	struct hes_request request;
	struct hes_problem p;
};

static void make_fleet(struct large *l, const char *gpus)
{
	char yaml[200];

	snprintf(yaml, sizeof(yaml), "name: large\nnodes:\n  - name: a\n    gpus: [ %s ]\n", gpus);
	hes_fleet_free(&l->fleet);
	assert_int_equal(hes_fleet_parse("large", yaml, strlen(yaml), &l->bench->catalogue,
					 &l->fleet, &l->bench->err),
			 0);
	assert_int_equal(l->fleet.n, GPUS);
}

static int setup(void **state)
{
	static const char *const workloads[] = { "full", "half", "light", "small", "half" };
	struct large *l = calloc(1, sizeof(*l));
	void *bench;

	assert_non_null(l);
	assert_int_equal(plan_bench_setup(&bench), 0);
	stand_in.power_by_use = true;
	l->bench = bench;
	make_fleet(
		l,
		"{ type: T4, count: 6 }, { type: A100-SXM-80, count: 8 }, { type: T4, count: 6 }");
	for (uint32_t i = 0; i < JOBS + 1 + RUNNING; i++) {
		struct hes_job *j = &l->v[i];

		*j = (struct hes_job){ .batch_size = 1,
				       .iterations = 500 + i * 7919 % 30000,
				       .weight = 1 };
		snprintf(j->id, sizeof(j->id), "j%u", i);
		snprintf(j->workload, sizeof(j->workload), "%s", workloads[i % 5]);
		j->memory_mib = i % 5 != 3 && i % 7 == 0 ? 20000 : 1000; /* more than a T4 has */
		if (i < JOBS)
			l->waiting[i] = i;
	}
	l->jobs = (struct hes_jobs){ .v = l->v, .n = JOBS + 1 + RUNNING };
	l->request = (struct hes_request){ .fleet = &l->fleet,
					   .jobs = &l->jobs,
					   .waiting = l->waiting,
					   .n_waiting = JOBS,
					   .free_at_us = l->free_at_us,
					   .profiles = &l->bench->profiles,
					   .seed = 1 };
	*state = l;
	return 0;
}

static int teardown(void **state)
{
	struct large *l = *state;

	if (l->p.request)
		hes_problem_finish(&l->p);
	hes_fleet_free(&l->fleet);
	plan_bench_teardown((void **)&l->bench);
	free(l);
	return 0;
}

static void make(struct large *l)
{
	if (hes_problem_init(&l->p, &l->request, &l->bench->err))
		fail_msg("%s", l->bench->err.msg);
}

static struct hes_joint *search(const struct hes_problem *p, const struct hes_joint_options *o)
{
	struct hes_joint *j;

	assert_int_equal(hes_joint_search(p, o, &j), 0);
	return j;
}

static void count(void *ctx, size_t done, size_t of)
{
	size_t *reported = ctx;

	assert_int_equal(done, ++*reported);
	assert_true(done <= of);
}

/* Every job once, where it runs; and what the queues come to, what runs already included. */
static void assert_members_are_plans(const struct large *l, const struct hes_joint *j)
{
	for (size_t m = 0; m < hes_joint_front(j)->n; m++) {
		const struct hes_joint_solution s = hes_joint_member(j, m);
		const struct hes_objectives *at = &hes_joint_front(j)->v[m].at;
		struct hes_objectives sum = { 0, 0 };
		uint8_t times[JOBS] = { 0 };

		for (size_t g = 0; g < GPUS; g++) {
			struct hes_timeline_cost c;

			for (uint32_t i = s.first[g]; i < s.first[g + 1]; i++) {
				times[s.items[i].job]++;
				assert_true(
					hes_problem_runs(&l->p, s.items[i].job, l->p.gpus[g].type));
			}
			hes_timeline_run(&l->p, l->p.rates, g, &s.items[s.first[g]],
					 s.first[g + 1] - s.first[g], &c, NULL);
			sum.energy_mj += c.energy_mj;
			sum.jct_us += c.ends_us;
		}
		for (size_t i = 0; i < l->p.n; i++)
			assert_int_equal(times[i], 1);
		assert_true(fabs(sum.energy_mj / at->energy_mj - 1) < 1e-9 &&
			    fabs(sum.jct_us / at->jct_us - 1) < 1e-9);
	}
}

BENCH_TEST(every_member_has_every_job_once_where_it_runs)
{
	struct hes_joint *j;

	for (uint32_t i = 0; i < RUNNING; i++)
		l->running[i] = (struct hes_running){
			.job = JOBS + 2, .gpu = 5 * i, .sm_pct = 60, .clock_mhz = 585, .left = 1
		};
	l->request.running = l->running;
	l->request.n_running = RUNNING;
	make(l);
	j = search(&l->p, &(struct hes_joint_options){ .seed = 1, .evaluations = 4000 });
	assert_true(hes_joint_front(j)->n > 10);
	assert_members_are_plans(l, j);
	hes_joint_free(j);
}

static double late_us(const struct large *l, const struct hes_joint *j, size_t member)
{
	const struct hes_joint_solution s = hes_joint_member(j, member);
	double sum = 0;

	for (size_t g = 0; g < GPUS; g++) {
		struct hes_timeline_cost c;

		hes_timeline_run(&l->p, l->p.rates, g, &s.items[s.first[g]],
				 s.first[g + 1] - s.first[g], &c, NULL);
		sum += c.late_us;
	}
	return sum;
}

/* A long job every 26th, and an hour for it, where the last ones end after more than two. */
BENCH_TEST(deadlines_of_a_large_fleet_are_kept)
{
	struct hes_joint *j;

	for (uint32_t i = 0; i < JOBS; i++)
		l->v[i].iterations *= 20;
	make(l);
	j = search(&l->p, &(struct hes_joint_options){
				  .seed = 1, .evaluations = 4000, .wanted = HES_JOINT_ENERGY });
	for (uint32_t i = 0; i < JOBS; i += 26)
		l->p.jobs[i].deadline_us = 3600e6;
	assert_true(late_us(l, j, 0) > 0);
	hes_joint_free(j);
	j = search(&l->p, &(struct hes_joint_options){ .seed = 1, .evaluations = 8000 });
	for (size_t m = 0; m < hes_joint_front(j)->n; m++)
		assert_true(!(late_us(l, j, m) > 0));
	hes_joint_free(j);
}

BENCH_TEST(large_plans_do_not_depend_on_the_number_of_threads)
{
	struct hes_joint *j[2];

	make(l);
	for (uint32_t i = 0; i < 2; i++)
		j[i] = search(&l->p, &(struct hes_joint_options){
					     .seed = 3, .evaluations = 4000, .threads = i + 1 });
	assert_int_equal(hes_joint_front(j[0])->n, hes_joint_front(j[1])->n);
	assert_int_equal(hes_joint_evaluated(j[0]), hes_joint_evaluated(j[1]));
	for (size_t m = 0; m < hes_joint_front(j[0])->n; m++) {
		const struct hes_joint_solution a = hes_joint_member(j[0], m),
						b = hes_joint_member(j[1], m);

		assert_memory_equal(a.items, b.items, JOBS * sizeof(*a.items));
		assert_memory_equal(a.first, b.first, (GPUS + 1) * sizeof(*a.first));
	}
	hes_joint_free(j[0]);
	hes_joint_free(j[1]);
}

BENCH_TEST(a_large_fleet_keeps_to_a_power_cap)
{
	double idle_mw = 0, most_mw = 0;
	struct hes_joint *j;

	make(l);
	j = search(&l->p, &(struct hes_joint_options){ .seed = 1, .evaluations = 4000 });
	for (size_t g = 0; g < GPUS; g++)
		idle_mw += l->p.types[l->p.gpus[g].type]->idle_power_mw;
	for (size_t m = 0; m < hes_joint_front(j)->n; m++)
		most_mw = fmax(most_mw, hes_joint_peak_mw(j, m));
	hes_joint_free(j);
	j = search(&l->p, &(struct hes_joint_options){ .seed = 1,
						       .evaluations = 8000,
						       .power_cap_mw = idle_mw +
								       0.7 * (most_mw - idle_mw) });
	for (size_t m = 0; m < hes_joint_front(j)->n; m++)
		assert_true(hes_joint_peak_mw(j, m) <= idle_mw + 0.7 * (most_mw - idle_mw));
	hes_joint_free(j);
}

/* A clock that runs a thousandth a look. */
static double tick(void *ctx)
{
	double *now = ctx;

#pragma omp critical(tick)
	*now += 0.001;
	return *now;
}

BENCH_TEST(progress_is_reported_and_a_clock_ends_the_search)
{
	size_t reported = 0;
	double now = 0;

	make(l);
	hes_joint_free(search(&l->p, &(struct hes_joint_options){ .seed = 1,
								  .spent = tick,
								  .spent_ctx = &now,
								  .threads = 1,
								  .progress = count,
								  .progress_ctx = &reported }));
	assert_int_equal(reported, 2 * 14 + 4); /* annealings of all rounds */
	assert_true(now > 0.99 && now < 1.3);
}

/* Of 300,000 jobs there is room for 3 members, but 16 are kept at least; the ends stay. */
TEST(an_archive_keeps_to_its_memory)
{
	struct plan_archive a = { .n = 300000, .k = 8 };
	struct hes_joint_solution slot;

	for (uint32_t i = 0; i < 300; i++)
		assert_int_equal(plan_archive_offer(&a, &(struct hes_objectives){ 1 + i, 300 - i },
						    0, &slot),
				 1);
	assert_true(a.room <= 32 && a.used <= a.room && a.front.n <= a.used);
	assert_true(a.front.n >= 8);
	assert_true(a.front.v[0].at.energy_mj == 1 && a.front.v[a.front.n - 1].at.energy_mj == 300);
	plan_archive_finish(&a);
}

TEST(plans_that_violate_less_replace_all_others)
{
	struct plan_archive a = { .n = 1, .k = 1 };
	struct hes_joint_solution slot;

	assert_int_equal(plan_archive_offer(&a, &(struct hes_objectives){ 1, 1 }, 5, &slot), 1);
	assert_int_equal(plan_archive_offer(&a, &(struct hes_objectives){ 2, 2 }, 5, &slot), 0);
	assert_int_equal(plan_archive_offer(&a, &(struct hes_objectives){ 0, 0 }, 6, &slot), 0);
	assert_int_equal(plan_archive_offer(&a, &(struct hes_objectives){ 3, 3 }, 0, &slot), 1);
	assert_int_equal(a.front.n, 1);
	assert_true(a.front.v[0].at.energy_mj == 3);
	plan_archive_finish(&a);
}

/* As docs/policies.md has it. */
TEST(so_many_jobs_take_all_effort_there_is)
{
	static const struct {
		size_t gpus, jobs;
	} most[] = {
		{ 8, 4629 }, { 16, 4800 }, { 100, 30000 }, { 1000, 38729 }, { 10000, 122474 },
	};

	for (size_t i = 0; i < sizeof(most) / sizeof(most[0]); i++) {
		assert_true(hes_joint_effort(most[i].jobs, most[i].gpus) <= 1);
		assert_true(hes_joint_effort(most[i].jobs + 1, most[i].gpus) > 1);
	}
	/* Where some can be planned, fewer can; and small plannings on many GPUs are no small
	 * effort. */
	for (size_t n = 1; n < 122474; n++)
		assert_true(hes_joint_effort(n, 10000) <= 1);
	assert_true(hes_joint_effort(60, 1000) > 0.1);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
