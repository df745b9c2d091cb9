/*
 * test_joint_walk.c - what a walk of the joint search rests on: queues tried from
 * where they differ, and solutions made of queues of different GPUs. The predictor is plan_bench.h's.
 */
#include <math.h>

#include "base/rough.h"
#include "plan/joint/joint_moves.h"
#include "plan/joint/joint_places.h"
#include "plan/joint/joint_walk.h"
#include "plan_bench.h"
#include "unit_test.h"

#define QUEUE 6

static struct hes_timeline_item random_item(const struct bench *b, struct hes_rng *rng, uint32_t job, uint32_t gpu)
{
	const struct hes_gpu_type *type = b->p.types[b->p.gpus[gpu].type];

	return (struct hes_timeline_item){ job, (uint16_t)(10 * (1 + hes_rng_below(rng, 10))),
				       (uint16_t)hes_rng_below(rng, type->n_clocks) };
}

/* Values, not bytes: there may be padding. */
static void assert_same_cost(const struct hes_timeline_cost *a, const struct hes_timeline_cost *b)
{
	const double left[] = { a->ends_us, a->energy_mj, a->last_us, a->late_us, a->peak_mw, a->rough_us, a->far_us };
	const double right[] = { b->ends_us, b->energy_mj, b->last_us, b->late_us, b->peak_mw, b->rough_us, b->far_us };

	assert_memory_equal(left, right, sizeof(left));
}

TEST_WITH(a_queue_tried_from_where_it_differs_costs_the_same, plan_bench_setup, plan_bench_teardown)
{
	const struct hes_timeline_stop never = { 0, INFINITY, false };
	struct bench *b = *state;
	struct hes_timeline_state marks[QUEUE + 1];
	struct hes_timeline_item items[QUEUE];
	struct hes_rates *rates;
	struct hes_paces *paces;
	struct hes_rng rng;

	make_six_jobs(b);
	rates = hes_rates_new(NULL, b->p.types, b->p.solo, b->p.n_kinds);
	paces = hes_paces_new(&b->p, rates, NULL);
	hes_rng_seed(&rng, 1);
	for (uint32_t i = 0; i < QUEUE; i++)
		items[i] = random_item(b, &rng, i, 0);
	hes_timeline_mark(&b->p, paces, 0, items, QUEUE, 0, marks);
	for (int tries = 0; tries < 200; tries++) {
		const uint32_t at = (uint32_t)hes_rng_below(&rng, QUEUE), n = QUEUE - (uint32_t)hes_rng_below(&rng, QUEUE - at);
		struct hes_timeline_cost whole, rest;

		items[at] = random_item(b, &rng, items[at].job, 0);
		assert_true(hes_timeline_try(&b->p, paces, 0, items, n, NULL, 0, &never, &whole));
		assert_true(hes_timeline_try(&b->p, paces, 0, items, n, marks, at, &never, &rest));
		assert_same_cost(&whole, &rest);
		hes_timeline_mark(&b->p, paces, 0, items, QUEUE, at, marks);
	}
	hes_paces_free(paces);
	hes_rates_free(rates);
}

TEST(of_the_same_jobs_a_pool_tells_what_is_best_at_some_weight)
{
	/* By the order they come in: the second is dominated by a later one, the fourth by an earlier one, the fifth above the hull. */
	static const double costs[][2] = { { 10, 100 }, { 41, 41 }, { 40, 40 }, { 50, 50 }, { 24, 73 }, { 100, 10 } };
	const struct hes_timeline_item items[2] = { { 3, 50, 0 }, { 7, 50, 1 } }, others[2] = { { 3, 50, 0 }, { 8, 50, 1 } };
	const struct hes_timeline_item turned[2] = { items[1], items[0] };
	struct joint_pool *pool = joint_pool_new();
	struct joint_pooled found[8];

	for (size_t i = 0; i < sizeof(costs) / sizeof(costs[0]); i++)
		joint_pool_put(pool, 0, i % 2 ? items : turned, 2,
			       &(struct hes_timeline_cost){ .energy_mj = costs[i][0], .ends_us = costs[i][1] });
	joint_pool_put(pool, 0, others, 2, &(struct hes_timeline_cost){ .energy_mj = 1, .ends_us = 1 });
	joint_pool_put(pool, 1, items, 2, &(struct hes_timeline_cost){ .energy_mj = 1, .ends_us = 1 });
	assert_int_equal(joint_pool_hull(pool, 0, items, 2, found, 8), 3);
	assert_true(fabs(found[0].cost.energy_mj - 10) < 1e-9 && fabs(found[1].cost.energy_mj - 40) < 1e-9 &&
		    fabs(found[2].cost.energy_mj - 100) < 1e-9);
	assert_int_equal(found[0].items[0].job, 7); /* as it was put */
	assert_int_equal(joint_pool_hull(pool, 0, items, 2, found, 2), 2);
	assert_int_equal(joint_pool_hull(pool, 2, items, 2, found, 8), 0);
	joint_pool_free(pool);
}

static bool is_kept(const struct hes_pareto *f, double mj, double us)
{
	for (size_t i = 0; i < f->n; i++)
		if (fabs(f->v[i].at.energy_mj / mj - 1) < 1e-12 && fabs(f->v[i].at.jct_us / us - 1) < 1e-12)
			return true;
	return false;
}

static struct hes_timeline_cost thriftier(const struct hes_timeline_cost *c)
{
	struct hes_timeline_cost half = *c;

	half.energy_mj /= 2;
	half.ends_us *= 2;
	return half;
}

/* Each board once had a queue of the same jobs that took half the energy and twice the time. */
TEST_WITH(queues_that_never_were_together_make_solutions, plan_bench_setup, plan_bench_teardown)
{
	struct bench *b = *state;
	struct hes_timeline_item items[4] = { { 0, 100, 3 }, { 1, 100, 3 }, { 2, 100, 3 }, { 3, 100, 3 } };
	uint32_t first[3] = { 0, 2, 4 };
	const struct hes_pareto *f;
	struct hes_timeline_cost c[2], half[2];
	struct joint_walk w;
	struct hes_rates *rates;
	struct hes_paces *paces;
	bool first_step, other_step;

	for (int i = 0; i < 4; i++)
		add_job(b, "full", 3000, 1000);
	make_problem(b);
	rates = hes_rates_new(NULL, b->p.types, b->p.solo, b->p.n_kinds);
	paces = hes_paces_new(&b->p, rates, NULL);
	assert_int_equal(joint_walk_init(&w, &b->p, paces), 0);
	w.lambda = 1;
	w.pool = joint_pool_new();
	assert_int_equal(joint_walk_start(&w, &(struct hes_joint_solution){ items, first }), 0);
	for (uint32_t g = 0; g < 2; g++) {
		c[g] = w.boards[g].queue.cost;
		half[g] = thriftier(&c[g]);
		items[2 * g].clock = 0; /* to know it by */
		joint_pool_put(w.pool, w.boards[g].like, &items[2 * g], 2, &half[g]);
	}
	assert_int_equal(joint_walk_recombine(&w), 0);
	f = &w.archive.front;
	assert_int_equal(f->n, 3);
	assert_true(is_kept(f, c[0].energy_mj + c[1].energy_mj, c[0].ends_us + c[1].ends_us));
	assert_true(is_kept(f, half[0].energy_mj + half[1].energy_mj, half[0].ends_us + half[1].ends_us));
	/* Between them the step that saves more time for its energy. */
	first_step = c[0].ends_us / c[0].energy_mj > c[1].ends_us / c[1].energy_mj;
	other_step = is_kept(f, half[0].energy_mj + c[1].energy_mj, half[0].ends_us + c[1].ends_us);
	assert_true(first_step ? is_kept(f, c[0].energy_mj + half[1].energy_mj, c[0].ends_us + half[1].ends_us) : other_step);
	/* The member with the least energy has the other queue of both GPUs, each on its own GPU. */
	assert_int_equal(w.archive.items[f->v[0].tag * 4].clock, 0);
	assert_int_equal(w.archive.items[f->v[0].tag * 4].job, 0);
	assert_int_equal(w.archive.items[f->v[0].tag * 4 + 2].clock, 0);
	joint_walk_finish(&w);
	hes_paces_free(paces);
	hes_rates_free(rates);
}

/* A board may run more than any search puts together: jobs that others started. */
TEST_WITH(beside_many_that_run_a_queue_costs_the_same_from_where_it_differs, plan_bench_setup, plan_bench_teardown)
{
	const struct hes_timeline_stop never = { 0, INFINITY, false };
	const struct hes_timeline_item items[3] = { { 0, 20, 3 }, { 1, 20, 3 }, { 2, 20, 3 } };
	struct bench *b = *state;
	struct hes_running running[5];
	struct hes_timeline_state marks[4];
	struct hes_timeline_cost whole, rest;
	struct hes_rates *rates;
	struct hes_paces *paces;

	for (uint32_t i = 0; i < 8; i++)
		add_job(b, "light", 1000 + 500 * i, 1000);
	for (uint32_t i = 0; i < 5; i++)
		running[i] = (struct hes_running){ .job = 3 + i, .gpu = 0, .sm_pct = 10, .clock_mhz = 1590, .start_us = -1000000,
						   .end_us = 1000000, .left = .5 };
	b->request.n_waiting = 3;
	b->request.running = running;
	b->request.n_running = 5;
	make_problem(b);
	rates = hes_rates_new(NULL, b->p.types, b->p.solo, b->p.n_kinds);
	paces = hes_paces_new(&b->p, rates, NULL);
	memset(marks, 0xff, sizeof(marks));
	hes_timeline_mark(&b->p, paces, 0, items, 3, 0, marks);
	assert_int_equal(marks[0].n, 5);
	assert_true(hes_timeline_try(&b->p, paces, 0, items, 3, NULL, 0, &never, &whole));
	for (size_t same = 0; same <= 3; same++) {
		assert_true(hes_timeline_try(&b->p, paces, 0, items, 3, marks, same, &never, &rest));
		assert_same_cost(&whole, &rest);
	}
	hes_paces_free(paces);
	hes_rates_free(rates);
}

/* A walk with estimates that has begun, and what it asks. */
struct walking {
	struct hes_rates     *rates;
	struct hes_estimator *estimator;
	struct hes_paces     *paces;
	struct joint_walk     w;
};

static void begin_walk(struct walking *x, const struct bench *b, bool knows_all, double lambda, struct hes_timeline_item *items,
		       uint32_t *first)
{
	x->rates = hes_rates_new(NULL, b->p.types, b->p.solo, b->p.n_kinds);
	assert_int_equal(hes_estimator_new(&b->p, 1, knows_all, &x->estimator), 0);
	x->paces = hes_paces_new(&b->p, x->rates, x->estimator);
	assert_int_equal(joint_walk_init(&x->w, &b->p, x->paces), 0);
	assert_true(x->w.screens);
	hes_rng_seed(&x->w.rng, 1);
	x->w.lambda = lambda;
	assert_int_equal(joint_walk_start(&x->w, &(struct hes_joint_solution){ items, first }), 0);
}

/* All six jobs, so many on the first board. */
static void begin_six(struct walking *x, struct bench *b, uint32_t on_first)
{
	struct hes_timeline_item items[6] = { { 0, 50, 3 }, { 1, 50, 3 }, { 2, 60, 3 }, { 3, 60, 3 }, { 4, 40, 3 }, { 5, 30, 3 } };
	uint32_t first[3] = { 0, on_first, 6 };

	make_six_jobs(b);
	begin_walk(x, b, true, 0.05, items, first);
}

static void end_walk(struct walking *x)
{
	joint_walk_finish(&x->w);
	hes_paces_free(x->paces);
	hes_rates_free(x->rates);
	hes_estimator_free(x->estimator);
}

/* Five of the six jobs are in queues. What a sixth one costs at places of these queues: estimated, and evaluated. */
struct placed {
	double told_mj, run_mj;
};

static struct placed place_somewhere(struct joint_walk *w, const struct bench *b, struct hes_rng *rng)
{
	struct joint_place x = { .gpu = (uint32_t)hes_rng_below(rng, 2) };
	const struct joint_queue *q = &w->boards[x.gpu].queue;

	x.item = random_item(b, rng, 5, x.gpu);
	x = joint_place_in(w, x.gpu, q, (uint32_t)hes_rng_below(rng, q->n + 1u), &x.item);
	joint_place_tell(w, &x);
	assert_int_equal(joint_queue_copy(&w->trial[0], q), 0);
	joint_queue_put(&w->trial[0], x.at, x.item);
	assert_true(joint_walk_try(w, x.gpu, &w->trial[0], INFINITY, false));
	return (struct placed){ x.told_mj, joint_walk_price(w, &w->trial[0].cost) - joint_walk_price(w, &q->cost) };
}

static void tell_places(const struct bench *b, bool knows_all)
{
	struct hes_timeline_item items[5] = { { 0, 50, 3 }, { 1, 50, 3 }, { 2, 60, 3 }, { 3, 60, 3 }, { 4, 40, 3 } };
	uint32_t first[3] = { 0, 2, 5 };
	struct placed v[200];
	struct walking x;
	struct hes_rng rng;
	size_t same = 0, pairs = 0;

	begin_walk(&x, b, knows_all, 0.05, items, first);
	hes_rng_seed(&rng, 1);
	for (size_t i = 0; i < 200; i++) {
		v[i] = place_somewhere(&x.w, b, &rng);
		for (size_t k = 0; k < i; k++, pairs++)
			same += (v[i].told_mj < v[k].told_mj) == (v[i].run_mj < v[k].run_mj);
	}
	if (!((double)same > 0.65 * (double)pairs))
		fail_msg("%zu of %zu pairs of places are estimated in the order of their costs", same, pairs);
	end_walk(&x);
}

TEST_WITH(places_estimated_cheaper_cost_less, plan_bench_setup, plan_bench_teardown)
{
	struct bench *b = *state;

	make_six_jobs(b);
	tell_places(b, true);
	tell_places(b, false);
}

/* At the head of a queue it starts at once and keeps two waiting for its part of the board; at the end it waits itself. */
TEST_WITH(in_anothers_stead_a_job_takes_its_own_time_and_that_of_those_behind, plan_bench_setup, plan_bench_teardown)
{
	struct bench *b = *state;
	struct hes_timeline_item items[3] = { { 0, 100, 3 }, { 1, 100, 3 }, { 2, 100, 3 } };
	uint32_t first[3] = { 0, 3, 3 };
	struct hes_timeline_item other = items[1];
	struct walking x;
	double priced, work, own;

	for (int i = 0; i < 3; i++)
		add_job(b, "full", (uint64_t)(1000 + 1000 * i), 1000);
	make_problem(b);
	begin_walk(&x, b, true, 0, items, first);
	work = joint_place_instead(&x.w, 0, 0, &other);
	x.w.lambda = 1;
	priced = joint_place_instead(&x.w, 0, 0, &other) - work;
	assert_true(fabs(priced / 2 / (joint_place_instead(&x.w, 0, 0, &items[0]) - work / 2) - 1) < 1e-6); /* half as long */
	own = priced / (1 + 2 * 100.0 / b->p.shares_pct[0]);
	assert_true(fabs(joint_place_instead(&x.w, 0, 2, &other) - work - x.w.boards[0].marks[3].now_us - own) < 1e-6 * priced);
	end_walk(&x);
}

/* Every job is once in what boards would run, and trials are like the boards' queues up to where they say. */
static void assert_moves_jobs_about(const struct joint_walk *w, const struct joint_move *m)
{
	uint32_t met[6] = { 0 };

	assert_true(m->n == 1 || (m->n == 2 && m->gpu[0] != m->gpu[1]));
	for (uint32_t g = 0; g < 2; g++) {
		const struct joint_queue *was = &w->boards[g].queue, *q = was;

		for (uint32_t i = 0; i < m->n; i++)
			q = m->gpu[i] == g ? &w->trial[i] : q;
		for (uint32_t i = 0; i < q->n; i++)
			met[q->items[i].job]++;
		if (q == was)
			continue;
		for (uint32_t i = 0; i < q->same; i++)
			assert_true(q->items[i].job == was->items[i].job && q->items[i].sm_pct == was->items[i].sm_pct &&
				    q->items[i].clock == was->items[i].clock);
	}
	for (uint32_t job = 0; job < 6; job++)
		assert_int_equal(met[job], 1);
}

TEST_WITH(a_move_leaves_every_job_in_one_place, plan_bench_setup, plan_bench_teardown)
{
	struct bench *b = *state;
	uint32_t one = 0, two = 0;
	struct walking x;

	begin_six(&x, b, 3);
	x.w.slack = INFINITY;
	for (int i = 0; i < 2000; i++) {
		struct joint_move m = { 0 };
		const int rc = joint_moves_propose(&x.w, &m);

		assert_true(rc == 0 || rc == 1);
		if (!rc)
			continue;
		assert_moves_jobs_about(&x.w, &m);
		one += m.n == 1;
		two += m.n == 2;
	}
	assert_true(one > 100 && two > 100);
	end_walk(&x);
}

TEST_WITH(where_jobs_stay_only_shares_and_clocks_change, plan_bench_setup, plan_bench_teardown)
{
	struct bench *b = *state;
	uint32_t shares = 0, clocks = 0;
	struct walking x;

	begin_six(&x, b, 3);
	x.w.stays = true;
	for (int i = 0; i < 2000; i++) {
		struct joint_move m = { 0 };
		const struct joint_queue *q = &x.w.trial[0], *was;
		const int rc = joint_moves_propose(&x.w, &m);

		assert_true(rc == 0 || rc == 1);
		if (!rc)
			continue;
		assert_int_equal(m.n, 1);
		was = &x.w.boards[m.gpu[0]].queue;
		assert_int_equal(q->n, was->n);
		for (uint32_t at = 0; at < q->n; at++) {
			assert_int_equal(q->items[at].job, was->items[at].job);
			shares += q->items[at].sm_pct != was->items[at].sm_pct;
			clocks += q->items[at].clock != was->items[at].clock;
		}
	}
	assert_true(shares > 100 && clocks > 100);
	end_walk(&x);
}

TEST(forgotten_members_of_an_archive_reject_nothing)
{
	struct joint_archive a = { .n = 1, .k = 1 };
	size_t slot;

	assert_int_equal(joint_archive_offer(&a, &(struct hes_objectives){ 1, 1 }, 0, &slot), 1);
	assert_int_equal(joint_archive_offer(&a, &(struct hes_objectives){ 2, 2 }, 0, &slot), 0);
	assert_int_equal(joint_archive_offer(&a, &(struct hes_objectives){ 0, 0 }, 5, &slot), 0);
	joint_archive_clear(&a);
	assert_int_equal(a.front.n, 0);
	assert_int_equal(joint_archive_offer(&a, &(struct hes_objectives){ 2, 2 }, 5, &slot), 1);
	assert_int_equal(slot, 0);
	assert_int_equal(joint_archive_offer(&a, &(struct hes_objectives){ 3, 3 }, 0, &slot), 1);
	assert_int_equal(a.front.n, 1);
	assert_true(a.front.v[0].at.energy_mj == 3);
	joint_archive_finish(&a);
}

/* The estimated start: for the same job with nothing behind it, all else is equal at every place of a GPU. */
static double start_beyond_first(const struct joint_walk *w, uint32_t at)
{
	struct joint_place first = { .at = 0, .item = { 3, 50, 3 } }, other = { .mark = at, .item = { 3, 50, 3 } };

	joint_place_tell(w, &first);
	joint_place_tell(w, &other);
	return other.told_mj - first.told_mj;
}

TEST_WITH(a_place_knows_its_co_runners_also_after_a_job_was_removed, plan_bench_setup, plan_bench_teardown)
{
	struct bench *b = *state;
	struct hes_timeline_item items[3] = { { 0, 50, 3 }, { 1, 50, 3 }, { 2, 50, 3 } };
	uint32_t first[3] = { 0, 3, 3 };
	struct joint_queue left = { 0 };
	struct walking x;

	for (int i = 0; i < 3; i++)
		add_job(b, "full", 2000, 1000);
	make_problem(b);
	begin_walk(&x, b, true, 1, items, first);
	assert_int_equal(joint_queue_copy(&left, &x.w.boards[0].queue), 0);
	joint_queue_take(&left, 1);
	for (uint32_t at = 0; at <= 3; at++) {
		const struct joint_place p = joint_place_in(&x.w, 0, &x.w.boards[0].queue, at, &items[0]);

		assert_true(p.at == at && p.mark == at && p.behind == 3 - at);
	}
	for (uint32_t at = 0; at <= 2; at++) {
		const struct joint_place p = joint_place_in(&x.w, 0, &left, at, &items[1]);

		assert_true(p.at == at && p.mark == (at ? at + 1 : 0) && p.behind == 2 - at);
	}
	free(left.items);
	end_walk(&x);
}

TEST_WITH(a_place_starts_where_shares_are_free_or_with_co_runners_or_before_the_end,
	plan_bench_setup, plan_bench_teardown)
{
	struct bench *b = *state;
	struct hes_timeline_item items[3] = { { 0, 50, 3 }, { 1, 100, 3 }, { 2, 100, 3 } };
	uint32_t first[3] = { 0, 3, 3 };
	struct walking x;
	const struct hes_timeline_state *marks;
	double last_us;

	for (int i = 0; i < 4; i++)
		add_job(b, "full", 2000, 1000);
	stand_in.shares_pct = 100;
	make_problem(b);
	assert_int_equal(b->p.shares_pct[0], 100);
	begin_walk(&x, b, true, 1, items, first);
	marks = x.w.boards[0].marks;
	last_us = x.w.boards[0].queue.cost.last_us;
	assert_true(marks[2].now_us > 0 && marks[3].now_us > marks[2].now_us && last_us > marks[3].now_us);
	/* With the first, with the third, at the end. */
	assert_true(fabs(start_beyond_first(&x.w, 1)) < 1e-6 * last_us);
	assert_true(fabs(start_beyond_first(&x.w, 2) - marks[3].now_us) < 1e-6 * last_us);
	assert_true(start_beyond_first(&x.w, 3) > marks[3].now_us && start_beyond_first(&x.w, 3) < last_us);
	end_walk(&x);
}

static void assert_same_state(const struct hes_timeline_state *a, const struct hes_timeline_state *b)
{
	assert_same_cost(&a->cost, &b->cost);
	assert_memory_equal(&a->now_us, &b->now_us, sizeof(a->now_us));
	assert_int_equal(a->n, b->n);
	for (uint32_t i = 0; i < a->n; i++) {
		assert_int_equal(a->v[i].job, b->v[i].job);
		assert_memory_equal(&a->v[i].left, &b->v[i].left, sizeof(a->v[i].left));
	}
}

/* What the search keeps of a GPU equals what its queue gives when it is evaluated again. */
static void assert_knows_its_board(struct walking *x, const struct bench *b, uint32_t g)
{
	const struct joint_board *is = &x->w.boards[g];
	struct hes_timeline_state marks[QUEUE + 1];

	hes_timeline_mark(&b->p, x->paces, g, is->queue.items, is->queue.n, 0, marks);
	for (uint32_t i = 0; i <= is->queue.n; i++) {
		assert_same_state(&is->marks[i], &marks[i]);
		assert_memory_equal(&is->taken[i].now_us, &marks[i].now_us, sizeof(marks[i].now_us));
		assert_int_equal(is->taken[i].memory_mib, marks[i].memory_mib);
		assert_int_equal(is->taken[i].shares_pct, marks[i].shares_pct);
		assert_int_equal(is->taken[i].n, marks[i].n);
	}
	for (uint32_t i = 0; i < is->queue.n; i++) {
		const struct joint_spot spot = x->w.spot_of[is->queue.items[i].job];

		assert_true(spot.gpu == g && spot.at == i);
	}
}

TEST_WITH(after_moves_a_walk_knows_where_every_job_is_and_what_is_taken_when, plan_bench_setup, plan_bench_teardown)
{
	struct bench *b = *state;
	struct walking x;

	begin_six(&x, b, 0);
	for (uint64_t evaluations = 20; evaluations < 2000; evaluations *= 2) {
		x.w.since = x.w.evaluations;
		x.w.budget = evaluations;
		x.w.look = 1;
		assert_int_equal(joint_walk_anneal(&x.w, 1, 2, 0.5), 0);
		assert_int_equal(x.w.boards[0].queue.n + x.w.boards[1].queue.n, 6);
		assert_knows_its_board(&x, b, 0);
		assert_knows_its_board(&x, b, 1);
	}
	end_walk(&x);
}

/* Also where they are equal, zeros of either sign or not numbers. */
TEST(the_greater_and_the_lesser_of_lanes_are_those_of_their_numbers)
{
	static const float v[] = { 0.0f, -0.0f, 1.5f, -2, INFINITY, -INFINITY, NAN };
	const size_t n = sizeof(v) / sizeof(v[0]);

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n; k++) {
			const float greatest = v[i] > v[k] ? v[i] : v[k], least = v[i] < v[k] ? v[i] : v[k];
			const hes_lanes most = hes_lanes_max(hes_lanes_of(v[i]), hes_lanes_of(v[k]));
			const hes_lanes fewest = hes_lanes_min(hes_lanes_of(v[i]), hes_lanes_of(v[k]));

			for (int lane = 0; lane < 4; lane++) {
				assert_memory_equal((float[]){ most[lane] }, &greatest, sizeof(greatest));
				assert_memory_equal((float[]){ fewest[lane] }, &least, sizeof(least));
			}
		}
}

TEST(rough_functions_are_off_by_no_more_than_they_say)
{
	for (float x = -10; x < 10; x += 0.00137f) {
		const double e = (double)hes_rough_exp4((hes_lanes){ 0, x, 0, 0 })[1];
		const float y = (float)e;
		const double l = (double)hes_rough_log4((hes_lanes){ 1, 1, y, 1 })[2];

		assert_true(fabs(e / exp((double)x) - 1) < 5e-6);
		assert_true(fabs(l - log((double)y)) < 2e-7 * (1 + fabs(log((double)y))));
	}
}

int main(void) { return run_unit_tests(NULL, NULL); }
