/*
 * test_joint.c - the joint search against enumeration, and under constraints.
 * This file's hes_predict stands in for the library's.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/batch.h"
#include "plan/bound.h"
#include "plan/compose.h"
#include "plan/joint_search.h"
#include "plan/replan.h"
#include "plan/sharing.h"

#define MAX_JOBS 6
#define SUBSETS  (1u << MAX_JOBS)

/* Slowed by what share it lacks and by the bandwidth of its neighbours; half of its time follows the clock. */
void hes_predict(const struct hes_predictor *p, const struct hes_gpu_type *g, const struct hes_profile *task,
		 const struct hes_setting *s, const struct hes_load *beside, struct hes_estimate *out)
{
	double clock = (double)s->clock_mhz / g->clock_default_mhz, share = s->sm_pct / 100.0;
	double held = task->sm_util > share ? task->sm_util / share : 1;

	(void)p;
	*out = (struct hes_estimate){ 0 };
	out->iteration_us = task->iteration_us * held * (1 + beside->dram_util) * (0.5 + 0.5 / clock);
	out->power_mw = beside->power_mw + (uint32_t)(200.0 * fmin(s->sm_pct, 100 * task->sm_util) * clock * clock);
}

void hes_predict_beside(const struct hes_predictor *p, const struct hes_gpu_type *g, const struct hes_profile *solo,
			const struct hes_setting *s, struct hes_load *load)
{
	(void)p;
	hes_load_add(load, g, solo, s->sm_pct, s->clock_mhz);
}

uint32_t hes_predictor_share_sum(const struct hes_predictor *p, const char *gpu_type)
{
	(void)p;
	(void)gpu_type;
	return 100;
}

struct bench {
	struct hes_catalogue catalogue;
	struct hes_fleet     fleet;
	struct hes_profiles  profiles;
	struct hes_job       v[MAX_JOBS];
	struct hes_jobs      jobs;
	uint32_t             waiting[MAX_JOBS];
	int64_t              free_at_us[2];
	struct hes_request   request;
	struct hes_problem   p;
	struct hes_err       err;
};

static void profile(struct bench *b, const char *workload, const char *type, double iteration_us, double sm_util,
		    double dram_util)
{
	struct hes_profile *v = reallocarray(b->profiles.v, b->profiles.n + 1, sizeof(*v));

	assert_non_null(v);
	b->profiles.v = v;
	v = &v[b->profiles.n++];
	*v = (struct hes_profile){ .batch_size = 1, .memory_mib = 1000, .iteration_us = iteration_us,
				   .sm_util = sm_util, .dram_util = dram_util, .power_mw = 1 };
	snprintf(v->workload, sizeof(v->workload), "%s", workload);
	snprintf(v->gpu_type, sizeof(v->gpu_type), "%s", type);
}

static int setup(void **state)
{
	static const char yaml[] = "name: test\nnodes:\n  - name: a\n    gpus: [ { type: T4, count: 1 }, "
				   "{ type: A100-SXM-80, count: 1 } ]\n";
	struct bench *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	assert_int_equal(hes_catalogue_load(NULL, &b->catalogue, &b->err), 0);
	assert_int_equal(hes_fleet_parse("test", yaml, strlen(yaml), &b->catalogue, &b->fleet, &b->err), 0);
	profile(b, "full", "T4", 1000, 1, 0.25);
	profile(b, "full", "A100-SXM-80", 200, 1, 0.25);
	profile(b, "half", "T4", 1000, 0.5, 0.1);
	profile(b, "half", "A100-SXM-80", 500, 0.3, 0.1);
	profile(b, "light", "T4", 1000, 0.2, 0.05);
	profile(b, "light", "A100-SXM-80", 900, 0.1, 0.05);
	hes_profiles_sort(&b->profiles);
	b->jobs.v = b->v;
	b->request = (struct hes_request){ .fleet = &b->fleet, .jobs = &b->jobs, .waiting = b->waiting,
					   .free_at_us = b->free_at_us, .profiles = &b->profiles, .seed = 1 };
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	if (b->p.request)
		hes_problem_finish(&b->p);
	hes_profiles_free(&b->profiles);
	hes_fleet_free(&b->fleet);
	hes_catalogue_free(&b->catalogue);
	free(b);
	return 0;
}

static struct hes_job *add(struct bench *b, const char *workload, uint64_t iterations)
{
	struct hes_job *j = &b->v[b->jobs.n];

	*j = (struct hes_job){ .batch_size = 1, .iterations = iterations, .memory_mib = 1000, .weight = 1 };
	snprintf(j->id, sizeof(j->id), "j%zu", b->jobs.n);
	snprintf(j->workload, sizeof(j->workload), "%s", workload);
	b->waiting[b->jobs.n] = (uint32_t)b->jobs.n;
	b->request.n_waiting = ++b->jobs.n;
	return j;
}

static void six_jobs(struct bench *b)
{
	static const struct { const char *workload; uint64_t iterations; } jobs[MAX_JOBS] = {
		{ "full", 3000 }, { "half", 20000 }, { "light", 4000 }, { "light", 30000 }, { "half", 5000 }, { "full", 9000 },
	};

	for (size_t i = 0; i < MAX_JOBS; i++)
		add(b, jobs[i].workload, jobs[i].iterations);
	assert_int_equal(hes_problem_init(&b->p, &b->request, &b->err), 0);
}

/* Every way to give the jobs of a batch shares that sum to at most 100, from the @i-th on; its cost goes to each queue. */
struct enumeration {
	const struct hes_problem *p;
	uint32_t          gpu;
	struct hes_pareto best[SUBSETS]; /* of the queues of each set of jobs */
	struct hes_group  batch;
	uint32_t          members;       /* of the batch in hand */
};

static uint32_t count(uint32_t set)
{
	return (uint32_t)__builtin_popcount(set);
}

/* Trade-offs of the batch itself, by what it adds: tag is the delay it is for those behind. */
static void run_batch(struct enumeration *e, uint32_t rest_set, struct hes_pareto *out)
{
	const struct hes_gpu_type *type = e->p->types[e->p->gpus[e->gpu].type];
	const uint32_t behind = count(rest_set);

	for (size_t c = 0; c < type->n_clocks; c++) {
		struct hes_group_cost cost;

		hes_group_run(e->p, e->p->gpus[e->gpu].type, type->clocks_mhz[c], &e->batch, &cost);
		hes_pareto_insert(out, &(struct hes_objectives){ cost.energy_mj, cost.ends_us + cost.last_us * behind }, 0);
	}
}

static void share_out(struct enumeration *e, uint32_t rest_set, uint32_t i, uint32_t left, struct hes_pareto *out)
{
	if (i == e->batch.n) {
		run_batch(e, rest_set, out);
		return;
	}
	for (uint32_t pct = HES_SHARE_STEP_PCT; pct <= left; pct += HES_SHARE_STEP_PCT) {
		e->batch.m[i].sm_pct = pct;
		share_out(e, rest_set, i + 1, left - pct, out);
	}
}

/* The queues of a set that begin with the batch of @members. */
static void begin_with(struct enumeration *e, uint32_t set, uint32_t members)
{
	const struct hes_pareto *rest = &e->best[set & ~members];
	struct hes_pareto first = { 0 };

	e->batch.n = 0;
	for (uint32_t j = 0; j < MAX_JOBS; j++)
		if (members >> j & 1)
			e->batch.m[e->batch.n++].job = j;
	share_out(e, set & ~members, 0, HES_SHARE_SUM_PCT, &first);
	for (size_t i = 0; i < first.n; i++)
		for (size_t k = 0; k < rest->n; k++)
			hes_pareto_insert(&e->best[set], &(struct hes_objectives){
				first.v[i].at.energy_mj + rest->v[k].at.energy_mj,
				first.v[i].at.jct_us + rest->v[k].at.jct_us }, 0);
	hes_pareto_free(&first);
}

/* All queues of batches with a barrier, of every set of the jobs: exact, for delays add up batch by batch. */
static void enumerate(struct enumeration *e)
{
	hes_pareto_insert(&e->best[0], &(struct hes_objectives){ 0, 0 }, 0);
	for (uint32_t set = 1; set < SUBSETS; set++)
		for (uint32_t members = set; members; members = (members - 1) & set)
			if (count(members) <= HES_SHARE_MOST)
				begin_with(e, set, members);
}

static void true_front(const struct hes_problem *p, struct hes_pareto *all)
{
	struct enumeration *e = calloc(2, sizeof(*e));

	assert_non_null(e);
	for (uint32_t g = 0; g < 2; g++) {
		e[g].p = p;
		e[g].gpu = g;
		enumerate(&e[g]);
	}
	for (uint32_t set = 0; set < SUBSETS; set++) {
		const struct hes_pareto *a = &e[0].best[set], *b = &e[1].best[SUBSETS - 1 - set];

		for (size_t i = 0; i < a->n; i++)
			for (size_t k = 0; k < b->n; k++)
				hes_pareto_insert(all, &(struct hes_objectives){
					a->v[i].at.energy_mj + b->v[k].at.energy_mj,
					a->v[i].at.jct_us + b->v[k].at.jct_us }, 0);
	}
	for (uint32_t g = 0; g < 2; g++)
		for (uint32_t set = 0; set < SUBSETS; set++)
			hes_pareto_free(&e[g].best[set]);
	free(e);
}

static struct hes_joint *search(const struct hes_problem *p, const struct hes_joint_options *o)
{
	struct hes_joint *j;

	assert_int_equal(hes_joint_search(p, o, &j), 0);
	return j;
}

/* Six jobs, two GPUs: every assignment, order, batch, share and clock. */
static void on_six_jobs_the_front_has_99_percent_of_what_enumeration_finds(void **state)
{
	struct bench *b = *state;
	struct hes_pareto all = { 0 };
	struct hes_objectives reference;
	struct hes_joint *j;
	double found, there;

	six_jobs(b);
	true_front(&b->p, &all);
	reference = (struct hes_objectives){ 1.1 * all.v[all.n - 1].at.energy_mj, 1.1 * all.v[0].at.jct_us };
	j = search(&b->p, &(struct hes_joint_options){ .seed = 1 });
	found = hes_pareto_hypervolume(hes_joint_front(j), &reference);
	there = hes_pareto_hypervolume(&all, &reference);
	if (!(found >= 0.99 * there))
		fail_msg("%.4f of %.4f", found, there);
	hes_joint_free(j);
	hes_pareto_free(&all);
}

static void assert_same_front(const struct hes_joint *x, const struct hes_joint *y)
{
	const struct hes_pareto *a = hes_joint_front(x), *b = hes_joint_front(y);

	assert_int_equal(a->n, b->n);
	for (size_t i = 0; i < a->n; i++)
		assert_memory_equal(&a->v[i].at, &b->v[i].at, sizeof(a->v[i].at));
}

static void the_front_does_not_depend_on_the_number_of_threads(void **state)
{
	struct bench *b = *state;
	struct hes_joint *one, *two;

	six_jobs(b);
	one = search(&b->p, &(struct hes_joint_options){ .seed = 3, .evaluations = 4000, .threads = 1 });
	two = search(&b->p, &(struct hes_joint_options){ .seed = 3, .evaluations = 4000, .threads = 2 });
	assert_same_front(one, two);
	hes_joint_free(one);
	hes_joint_free(two);
}

/* What a member costs, from its queues alone. */
static struct hes_flow_cost cost_of(const struct hes_problem *p, const struct hes_joint *j, size_t member)
{
	const struct hes_joint_solution s = hes_joint_member(j, member);
	struct hes_flow_cost all = { 0 };

	for (size_t g = 0; g < p->k; g++) {
		struct hes_flow_cost c;

		hes_flow_run(p, p->rates, g, &s.items[s.first[g]], s.first[g + 1] - s.first[g], &c, NULL);
		all.energy_mj += c.energy_mj;
		all.ends_us += c.ends_us;
		all.late_us += c.late_us;
		all.peak_mw += fmax(c.peak_mw, p->types[p->gpus[g].type]->idle_power_mw);
	}
	return all;
}

static void a_member_is_what_its_queues_come_to(void **state)
{
	struct bench *b = *state;
	struct hes_joint *j;

	six_jobs(b);
	j = search(&b->p, &(struct hes_joint_options){ .seed = 1, .evaluations = 4000 });
	for (size_t i = 0; i < hes_joint_front(j)->n; i++) {
		const struct hes_objectives *at = &hes_joint_front(j)->v[i].at;
		struct hes_flow_cost c = cost_of(&b->p, j, i);

		assert_true(fabs(c.energy_mj / at->energy_mj - 1) < 1e-12);
		assert_true(fabs(c.ends_us / at->jct_us - 1) < 1e-12);
	}
	hes_joint_free(j);
}

static void no_member_draws_more_than_the_power_cap(void **state)
{
	struct bench *b = *state;
	struct hes_joint *free_, *capped;
	double most_mw = 0;

	six_jobs(b);
	free_ = search(&b->p, &(struct hes_joint_options){ .seed = 1 });
	for (size_t i = 0; i < hes_joint_front(free_)->n; i++)
		most_mw = fmax(most_mw, cost_of(&b->p, free_, i).peak_mw);
	capped = search(&b->p, &(struct hes_joint_options){ .seed = 1, .power_cap_mw = 0.8 * most_mw });
	for (size_t i = 0; i < hes_joint_front(capped)->n; i++)
		assert_true(cost_of(&b->p, capped, i).peak_mw <= 0.8 * most_mw);
	hes_joint_free(free_);
	hes_joint_free(capped);
}

/* The longest job alone on the quicker board, first and at its default clock, just meets it. */
static void a_deadline_that_can_be_met_is_met_by_every_member(void **state)
{
	struct bench *b = *state;
	struct hes_job *j = add(b, "light", 30000);
	struct hes_joint *found;

	j->has_deadline = true;
	j->deadline_us = 27100000;
	for (int i = 0; i < 5; i++)
		add(b, "light", 3000);
	assert_int_equal(hes_problem_init(&b->p, &b->request, &b->err), 0);
	found = search(&b->p, &(struct hes_joint_options){ .seed = 1 });
	for (size_t i = 0; i < hes_joint_front(found)->n; i++)
		assert_true(cost_of(&b->p, found, i).late_us == 0);
	hes_joint_free(found);
}

static void the_bound_is_below_every_plan_and_near_one_that_is_best(void **state)
{
	struct bench *b = *state;
	struct hes_joint *j;
	struct hes_bounds least;

	six_jobs(b);
	j = search(&b->p, &(struct hes_joint_options){ .seed = 1, .evaluations = 3000 });
	for (size_t i = 0; i < hes_joint_front(j)->n; i += 1 + hes_joint_front(j)->n / 2) {
		const struct hes_objectives *at = &hes_joint_front(j)->v[i].at;

		assert_int_equal(hes_joint_bounds(j, i, &least), 0);
		assert_true(least.least_mj > 0.6 * at->energy_mj);
		assert_true(least.least_jct_us > 0.4 * at->jct_us);
		/* Nobody who is at least as quick takes less; nobody who takes no more is quicker. */
		for (size_t k = i; k < hes_joint_front(j)->n; k++)
			assert_true(hes_joint_front(j)->v[k].at.energy_mj >= least.least_mj);
		for (size_t k = 0; k <= i; k++)
			assert_true(hes_joint_front(j)->v[k].at.jct_us >= least.least_jct_us);
	}
	hes_joint_free(j);
}

/* Least energy among all that end no later in sum. */
static double least_energy(const struct hes_pareto *all, double jct_us)
{
	double least_mj = INFINITY;

	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].at.jct_us <= jct_us * (1 + 1e-12))
			least_mj = fmin(least_mj, all->v[i].at.energy_mj);
	return least_mj;
}

/* How much of the least energy the bound proves at a sum of completion times; what is known of a plan is a guess. */
static double proven(const struct hes_problem *p, const struct hes_pareto *all, double jct_us)
{
	const double least_mj = least_energy(all, jct_us);
	struct hes_flow_times known[MAX_JOBS];
	struct hes_bounds bound;

	for (size_t i = 0; i < p->n; i++)
		known[i] = (struct hes_flow_times){ .end_us = jct_us / (double)p->n * (0.5 + 0.2 * (double)i),
						    .energy_mj = least_mj / (double)p->n };
	assert_int_equal(hes_bound(p, &p->rates, 1, known, &(struct hes_objectives){ least_mj, jct_us }, &bound), 0);
	if (bound.least_mj > least_mj * (1 + 1e-9))
		fail_msg("%g mJ, but %g are enough for %g us", bound.least_mj, least_mj, jct_us);
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].at.energy_mj <= least_mj && all->v[i].at.jct_us < bound.least_jct_us * (1 - 1e-9))
			fail_msg("%g us, but %g mJ are enough for %g", bound.least_jct_us, least_mj, all->v[i].at.jct_us);
	return bound.least_mj / least_mj;
}

/* Every plan of batches, and the open queues met by a search, whose sets enumeration has asked about. */
static void at_no_completion_time_is_the_bound_above_the_least_energy(void **state)
{
	struct bench *b = *state;
	struct hes_pareto all = { 0 };
	struct hes_joint *j;
	double mean = 0;

	six_jobs(b);
	true_front(&b->p, &all);
	j = search(&b->p, &(struct hes_joint_options){ .seed = 1 });
	for (size_t i = 0; i < hes_joint_front(j)->n; i++)
		hes_pareto_insert(&all, &hes_joint_front(j)->v[i].at, 0);
	for (uint32_t i = 0; i < 5; i++) {
		const double quickest = all.v[all.n - 1].at.jct_us, slowest = all.v[0].at.jct_us;

		mean += proven(&b->p, &all, quickest + (slowest - quickest) * i / 4) / 5;
	}
	if (!(mean >= 0.7))
		fail_msg("%.3f of the least energy on average", mean);
	hes_joint_free(j);
	hes_pareto_free(&all);
}

/* A clock that runs a thousandth a look. */
static double tick(void *ctx)
{
	double *now = ctx;

#pragma omp critical(tick)
	*now += 0.001;
	return *now;
}

static void a_clock_ends_the_search_wherever_it_is(void **state)
{
	struct bench *b = *state;
	struct hes_joint *j;
	double late = 5, now = 0;

	six_jobs(b);
	j = search(&b->p, &(struct hes_joint_options){ .seed = 1, .spent = tick, .spent_ctx = &now });
	assert_true(now >= 1);
	assert_true(hes_joint_front(j)->n > 1);
	hes_joint_free(j);
	j = search(&b->p, &(struct hes_joint_options){ .seed = 1, .spent = tick, .spent_ctx = &late });
	assert_true(hes_joint_front(j)->n >= 1); /* the start at least */
	hes_joint_free(j);
}

/* What runs is not moved, and the next job starts beside it, not behind it. */
static void a_queue_begins_beside_the_jobs_that_run(void **state)
{
	struct bench *b = *state;
	const struct hes_running running = { .job = 1, .gpu = 0, .sm_pct = 60, .clock_mhz = 1590, .start_us = -1000000,
					     .end_us = 1000000 };
	const struct hes_flow_item items[] = { { 0, 40, 11 }, { 0, 50, 11 } };
	struct hes_flow_times beside, behind;
	struct hes_flow_cost c;

	add(b, "light", 1000);
	add(b, "light", 2000);
	b->request.n_waiting = 1;
	b->request.running = &running;
	b->request.n_running = 1;
	b->free_at_us[0] = 1000000;
	assert_int_equal(hes_problem_init(&b->p, &b->request, &b->err), 0);
	hes_flow_run(&b->p, b->p.rates, 0, &items[0], 1, &c, &beside);
	hes_flow_run(&b->p, b->p.rates, 0, &items[1], 1, &c, &behind);
	assert_true(beside.start_us == 0);
	/* Half of 2000 iterations of a millisecond are left: a second, the two slowing each other but for a while. */
	assert_true(behind.start_us > 0 && behind.start_us < 1100000);
}

/* Four of the six jobs planned, as open queues. */
static struct hes_plan plan_four(struct bench *b)
{
	struct hes_joint_solution s;
	struct hes_plan plan;
	struct hes_joint *j;

	six_jobs(b);
	hes_problem_finish(&b->p);
	b->request.n_waiting = 4;
	assert_int_equal(hes_problem_init(&b->p, &b->request, &b->err), 0);
	j = search(&b->p, &(struct hes_joint_options){ .seed = 1, .evaluations = 4000 });
	s = hes_joint_member(j, hes_joint_front(j)->n / 2);
	assert_int_equal(hes_plan_init(&plan, b->p.k), 0);
	for (size_t g = 0; g < b->p.k; g++)
		assert_int_equal(hes_compose_flow(&b->p, &plan, g, &s.items[s.first[g]], s.first[g + 1] - s.first[g]), 0);
	hes_joint_free(j);
	return plan;
}

static void assert_same_batch(const struct hes_batch *x, const struct hes_batch *y)
{
	assert_int_equal(x->jobs[0].job, y->jobs[0].job);
	assert_int_equal(x->jobs[0].sm_pct, y->jobs[0].sm_pct);
	assert_int_equal(x->clock_mhz, y->clock_mhz);
}

/* Jobs started by then keep their places; the other queue is as it was; the plan of all five is sound. */
static void an_arriving_job_is_placed_and_what_started_stays(void **state)
{
	struct bench *b = *state;
	struct hes_plan before = plan_four(b), after;
	struct hes_replan *r;
	const int64_t now_us = 3000000;
	size_t gpu = 9, moved = 0;

	assert_int_equal(hes_replan_open(&b->request, &before, 50, &r, &b->err), 0);
	assert_int_equal(hes_replan_arrive(r, 4, now_us, &gpu, &b->err), 0);
	assert_true(gpu < 2);
	assert_int_equal(hes_plan_init(&after, 2), 0);
	for (size_t g = 0; g < 2; g++) {
		const struct hes_queue *x = &before.queues[g], *y = &after.queues[g];

		assert_int_equal(hes_replan_write(r, g, &after), 0);
		assert_int_equal(y->n, x->n + (g == gpu));
		for (size_t i = 0; i < y->n; i++) {
			if (y->batches[i].jobs[0].job == 4) {
				assert_true(y->batches[i].start_us >= now_us);
				moved = 1;
				continue;
			}
			assert_same_batch(&y->batches[i], &x->batches[i - (g == gpu ? moved : 0)]);
			if (x->batches[i].start_us <= now_us && i < x->n && !moved)
				assert_int_equal(y->batches[i].start_us, x->batches[i].start_us);
		}
	}
	assert_int_equal(moved, 1);
	b->jobs.n = 5;
	if (hes_plan_validate(&after, &b->fleet, &b->jobs, 100, &b->err))
		fail_msg("%s", b->err.msg);
	hes_plan_finish(&before);
	hes_plan_finish(&after);
	hes_replan_close(r);
}

/* A light job goes beside what runs rather than behind it, when time is worth much. */
static void an_arriving_job_takes_the_share_that_is_free(void **state)
{
	struct bench *b = *state;
	struct hes_plan plan, after;
	const struct hes_flow_item item = { 0, 60, 11 };
	struct hes_replan *r;
	size_t gpu;

	for (int i = 0; i < 3; i++)
		add(b, "light", 10000);
	b->request.n_waiting = 1;
	assert_int_equal(hes_problem_init(&b->p, &b->request, &b->err), 0);
	assert_int_equal(hes_plan_init(&plan, 2), 0);
	assert_int_equal(hes_compose_flow(&b->p, &plan, 0, &item, 1), 0);
	assert_int_equal(hes_compose_flow(&b->p, &plan, 1, &(struct hes_flow_item){ 0, 60, 11 }, 0), 0);
	assert_int_equal(hes_replan_open(&b->request, &plan, 1e6, &r, &b->err), 0);
	for (uint32_t job = 1; job < 3; job++) {
		assert_int_equal(hes_replan_arrive(r, job, 1000, &gpu, &b->err), 0);
		assert_int_equal(hes_plan_init(&after, 2), 0);
		assert_int_equal(hes_replan_write(r, gpu, &after), 0);
		assert_int_equal(after.queues[gpu].batches[after.queues[gpu].n - 1].start_us, 1000);
		hes_plan_finish(&after);
	}
	hes_plan_finish(&plan);
	hes_replan_close(r);
}

/* What started is no longer to be planned; what runs is there for as long as it is thought to be. */
static void what_started_leaves_the_queue_and_what_runs_takes_its_share(void **state)
{
	struct bench *b = *state;
	struct hes_plan plan, after;
	const struct hes_flow_item items[] = { { 0, 60, 11 }, { 1, 60, 11 }, { 2, 60, 11 } };
	struct hes_running running = { .job = 1, .gpu = 0, .sm_pct = 60, .clock_mhz = 1590, .start_us = 9000000,
				       .end_us = 12000000 };
	struct hes_replan *r;
	uint32_t queue[4];

	for (int i = 0; i < 3; i++)
		add(b, "light", 10000);
	b->request.n_waiting = 3;
	assert_int_equal(hes_problem_init(&b->p, &b->request, &b->err), 0);
	assert_int_equal(hes_plan_init(&plan, 2), 0);
	assert_int_equal(hes_compose_flow(&b->p, &plan, 0, items, 3), 0);
	assert_int_equal(hes_replan_open(&b->request, &plan, 1e6, &r, &b->err), 0);
	assert_int_equal(hes_replan_queue(r, 0, queue, 4), 3);
	/* The first has ended, the second runs for two seconds more. */
	assert_int_equal(hes_replan_observe(r, 0, 2, &running, 1, 10000000, &b->err), 0);
	assert_int_equal(hes_replan_queue(r, 0, queue, 4), 1);
	assert_int_equal(queue[0], 2);
	assert_int_equal(hes_plan_init(&after, 2), 0);
	assert_int_equal(hes_replan_write(r, 0, &after), 0);
	assert_int_equal(after.queues[0].n, 1);
	/* Two thirds of it are left, by when it should end: its own rate alone says how long that is. */
	assert_true(after.queues[0].batches[0].start_us > 10000000);
	hes_plan_finish(&after);
	/* Once nothing runs, the next starts at once. */
	assert_int_equal(hes_replan_observe(r, 0, 0, NULL, 0, 13000000, &b->err), 0);
	assert_int_equal(hes_plan_init(&after, 2), 0);
	assert_int_equal(hes_replan_write(r, 0, &after), 0);
	assert_int_equal(after.queues[0].batches[0].start_us, 13000000);
	assert_int_equal(hes_replan_observe(r, 0, 2, NULL, 0, 14000000, &b->err), -EINVAL);
	assert_non_null(strstr(b->err.msg, "2 jobs of its queue of 1"));
	hes_plan_finish(&after);
	hes_plan_finish(&plan);
	hes_replan_close(r);
}

static void a_plan_with_barriers_is_not_replanned(void **state)
{
	struct bench *b = *state;
	struct hes_plan plan = plan_four(b);
	struct hes_replan *r;

	plan.queues[plan.queues[0].n ? 0 : 1].together = 0;
	assert_int_equal(hes_replan_open(&b->request, &plan, 50, &r, &b->err), -EINVAL);
	assert_non_null(strstr(b->err.msg, "has barriers"));
	hes_plan_finish(&plan);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(on_six_jobs_the_front_has_99_percent_of_what_enumeration_finds),
		CASE(the_front_does_not_depend_on_the_number_of_threads),
		CASE(a_member_is_what_its_queues_come_to),
		CASE(no_member_draws_more_than_the_power_cap),
		CASE(a_deadline_that_can_be_met_is_met_by_every_member),
		CASE(a_clock_ends_the_search_wherever_it_is),
		CASE(the_bound_is_below_every_plan_and_near_one_that_is_best),
		CASE(at_no_completion_time_is_the_bound_above_the_least_energy),
		CASE(a_queue_begins_beside_the_jobs_that_run),
		CASE(an_arriving_job_is_placed_and_what_started_stays),
		CASE(an_arriving_job_takes_the_share_that_is_free),
		CASE(what_started_leaves_the_queue_and_what_runs_takes_its_share),
		CASE(a_plan_with_barriers_is_not_replanned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
