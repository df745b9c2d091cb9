/* test_sim.c - batches played on the physics: every time and joule checked against the model. */
#include <math.h>

#include "base/rng.h"
#include "sim_bench.h"
#include "unit_test.h"

#define BENCH_TEST(test) TEST_ON(struct bench, b, test, sim_bench_setup, sim_bench_teardown)

/* What the model says of these jobs together at the type's default clock. */
static void query_model(const struct bench *b, size_t gpu, uint32_t clock_mhz, size_t n,
			const uint32_t *jobs, const uint32_t *sm_pct, struct hes_rate *rates,
			struct hes_instant *at)
{
	struct hes_model_job r[HES_MODEL_MAX_JOBS];

	for (size_t i = 0; i < n; i++) {
		r[i].workload = hes_model_workload(b->model, b->v[jobs[i]].workload, NULL);
		r[i].batch = b->v[jobs[i]].batch_size;
		r[i].sm_pct = sm_pct[i];
	}
	assert_int_equal(hes_model_instant(b->model, b->fleet.gpus[gpu].type, clock_mhz, 0, r, n,
					   rates, at, NULL),
			 0);
}

static double rate_alone(const struct bench *b, size_t gpu, uint32_t job, uint32_t sm_pct)
{
	struct hes_rate rate;
	struct hes_instant at;

	query_model(b, gpu, 0, 1, &job, &sm_pct, &rate, &at);
	return rate.iterations_per_s;
}

static void assert_us(int64_t actual, double expected_s, double slack_us)
{
	if (fabs((double)actual - expected_s * 1e6) > slack_us)
		fail_msg("%lld us where %.3f is right", (long long)actual, expected_s * 1e6);
}

BENCH_TEST(a_job_alone_ends_when_its_iterations_are_done)
{
	uint32_t j = add_job(b, "resnet50", 12345, 0);
	struct hes_sim s = request(b);

	plan_batch(b, 1, 1, &j);
	run_sim(b, &s);
	assert_int_equal(b->replay.jobs[0].start_us, 0);
	assert_int_equal(b->replay.jobs[0].gpu, 1);
	assert_us(b->replay.jobs[0].end_us, 12345 / rate_alone(b, 1, j, 100), 1);
	assert_int_equal(b->replay.n_segments, 1);
	assert_int_equal(b->replay.totals.makespan_us, b->replay.jobs[0].end_us);
	assert_true(b->replay.totals.avg_jct_us == (double)b->replay.jobs[0].end_us);
}

/* Until the short job ends both run at their shared rates, then the long one alone at its own. */
BENCH_TEST(jobs_slow_each_other_only_while_both_are_there)
{
	uint32_t jobs[] = { add_job(b, "resnet152", 2000, 0), add_job(b, "vgg19", 40000, 0) },
		 half[] = { 50, 50 };
	struct hes_sim s = request(b);
	struct hes_rate both[2];
	struct hes_instant at;
	double first, second;

	plan_batch(b, 0, 2, jobs);
	run_sim(b, &s);
	query_model(b, 0, 0, 2, jobs, half, both, &at);
	first = 2000 / both[0].iterations_per_s;
	second = first + (40000 - first * both[1].iterations_per_s) / rate_alone(b, 0, jobs[1], 50);
	assert_us(b->replay.jobs[0].end_us, first, 1);
	assert_us(b->replay.jobs[1].end_us, second, 2);
	assert_int_equal(b->replay.n_segments, 2);
	assert_int_equal(b->replay.segments[0].jobs, 2);
	assert_int_equal(b->replay.segments[0].power_mw, at.power_mw);
	assert_int_equal(b->replay.segments[1].jobs, 1);
	assert_int_equal(b->replay.segments[1].start_us, b->replay.jobs[0].end_us);
}

/* The second begins to work while the first works; before, the first has the GPU alone. */
BENCH_TEST(in_its_start_up_a_job_puts_no_load_on_the_gpu)
{
	uint32_t jobs[] = { add_job(b, "resnet152", 2000, 0), add_job(b, "vgg19", 4000, 0) },
		 half[] = { 50, 50 };
	struct hes_profile start = {
		.workload = "vgg19", .gpu_type = "V100-SXM2-32", .batch_size = 8, .start_s = 5
	};
	const struct hes_profiles profiles = { &start, 1 };
	struct hes_sim s = request(b);
	struct hes_rate both[2];
	struct hes_instant at;
	double first;

	s.profiles = &profiles;
	plan_batch(b, 0, 2, jobs);
	run_sim(b, &s);
	query_model(b, 0, 0, 2, jobs, half, both, &at);
	first = 5 + (2000 - 5 * rate_alone(b, 0, jobs[0], 50)) / both[0].iterations_per_s;
	assert_us(b->replay.jobs[0].end_us, first, 1);
	assert_us(b->replay.jobs[1].end_us,
		  first + (4000 - (first - 5) * both[1].iterations_per_s) /
				  rate_alone(b, 0, jobs[1], 50),
		  2);
	assert_int_equal(b->replay.n_segments, 3);
	assert_int_equal(b->replay.segments[1].start_us, 5000000);
	assert_int_equal(b->replay.segments[1].power_mw, at.power_mw);
	/* Alone in its start-up: the GPU is idle. */
	start.start_s = 1000;
	run_sim(b, &s);
	assert_int_equal(b->replay.n_segments, 3);
	assert_int_equal(b->replay.segments[1].end_us, 1000000000);
	assert_int_equal(b->replay.segments[1].power_mw, b->fleet.gpus[0].type->idle_power_mw);
	assert_us(b->replay.jobs[1].end_us, 1000 + 4000 / rate_alone(b, 0, jobs[1], 50), 2);
}

BENCH_TEST(a_batch_waits_for_the_last_job_of_the_one_before)
{
	uint32_t jobs[] = { add_job(b, "resnet152", 200, 0), add_job(b, "vgg19", 9000, 0),
			    add_job(b, "bert-large", 10, 0) };
	struct hes_sim s = request(b);

	plan_batch(b, 0, 2, jobs);
	plan_batch(b, 0, 1, &jobs[2]);
	run_sim(b, &s);
	assert_true(b->replay.jobs[0].end_us < b->replay.jobs[1].end_us);
	assert_int_equal(b->replay.jobs[2].start_us, b->replay.jobs[1].end_us);
	assert_int_equal(b->replay.totals.makespan_us, b->replay.jobs[2].end_us);
}

/* The GPU stands idle while it changes its clock, and only when it changes. */
BENCH_TEST(a_clock_change_costs_its_latency_once)
{
	uint32_t jobs[] = { add_job(b, "resnet50", 100, 0), add_job(b, "resnet50", 100, 0),
			    add_job(b, "resnet50", 100, 0) };
	const struct hes_gpu_type *g = b->fleet.gpus[0].type;
	struct hes_sim s = request(b);
	struct hes_batch slow = batch_of(g, 1, &jobs[1]), slow_too = batch_of(g, 1, &jobs[2]);

	slow.clock_mhz = slow_too.clock_mhz = g->clocks_mhz[0];
	plan_batch(b, 0, 1, jobs);
	hes_plan_append(&b->plan, 0, &slow);
	hes_plan_append(&b->plan, 0, &slow_too);
	s.clock_change_us = 50000;
	run_sim(b, &s);
	assert_int_equal(b->replay.jobs[0].start_us, 0);
	assert_int_equal(b->replay.jobs[1].start_us, b->replay.jobs[0].end_us + 50000);
	assert_int_equal(b->replay.jobs[2].start_us, b->replay.jobs[1].end_us);
	assert_int_equal(b->replay.jobs[1].clock_mhz, g->clocks_mhz[0]);
	assert_true(b->replay.jobs[2].end_us - b->replay.jobs[2].start_us >
		    b->replay.jobs[0].end_us);
	assert_int_equal(b->replay.gpus[0].busy_us, b->replay.jobs[2].end_us - 50000);
}

BENCH_TEST(a_job_of_a_fixed_plan_does_not_start_before_it_arrives)
{
	uint32_t jobs[] = { add_job(b, "resnet50", 100, 7000000),
			    add_job(b, "vgg16", 100, 9000000) };
	struct hes_sim s = request(b);

	plan_batch(b, 0, 2, jobs);
	run_sim(b, &s);
	assert_int_equal(b->replay.jobs[0].start_us, 9000000); /* a batch starts together */
	assert_int_equal(b->replay.jobs[1].start_us, 9000000);
	assert_true(b->replay.totals.avg_jct_us > 1e6);
}

/* Thirty jobs in batches of one to four, arrivals, two GPUs, shares and clocks at random. */
static void plan_at_random(struct bench *b, uint64_t seed)
{
	static const char *const workloads[] = { "resnet18", "resnet50",   "densenet121",
						 "vgg16",    "bert-large", "gpt2" };
	struct hes_rng rng;

	hes_rng_seed(&rng, seed);
	while (b->jobs.n + 4 < MAX_TEST_JOBS) {
		size_t gpu = hes_rng_below(&rng, 2);
		const struct hes_gpu_type *g = b->fleet.gpus[gpu].type;
		struct hes_batch batch = {
			.n = 1 + (uint32_t)hes_rng_below(&rng, 4),
			.clock_mhz = g->clocks_mhz[hes_rng_below(&rng, g->n_clocks)]
		};

		for (uint32_t i = 0; i < batch.n; i++) {
			batch.jobs[i].job = add_job(b, workloads[hes_rng_below(&rng, N(workloads))],
						    1 + hes_rng_below(&rng, 20000),
						    (int64_t)hes_rng_below(&rng, 400000000));
			b->v[batch.jobs[i].job].memory_mib = 3000;
			batch.jobs[i].sm_pct =
				10 * (1 + (uint32_t)hes_rng_below(&rng, 100 / batch.n / 10));
		}
		assert_int_equal(hes_plan_append(&b->plan, gpu, &batch), 0);
	}
}

/* Jobs that run on a GPU all through a segment. */
static size_t placements_of(const struct bench *b, const struct hes_segment *seg, uint32_t *jobs,
			    uint32_t *sm_pct)
{
	size_t n = 0;

	for (uint32_t i = 0; i < b->jobs.n; i++) {
		const struct hes_outcome *o = &b->replay.jobs[i];

		if (o->gpu == seg->gpu && o->start_us <= seg->start_us &&
		    o->end_us >= seg->end_us) {
			jobs[n] = i;
			sm_pct[n++] = o->sm_pct;
		}
	}
	return n;
}

BENCH_TEST(every_iteration_is_done_once_and_every_joule_is_power_times_time)
{
	struct hes_sim s = request(b);
	double done[MAX_TEST_JOBS] = { 0 }, energy_mj = 0, busy_us[2] = { 0 }, idle_mj = 0;

	plan_at_random(b, 11);
	run_sim(b, &s);
	for (size_t k = 0; k < b->replay.n_segments; k++) {
		const struct hes_segment *seg = &b->replay.segments[k];
		double us = (double)(seg->end_us - seg->start_us);
		uint32_t jobs[8] = { 0 }, pct[8] = { 0 };
		size_t n = placements_of(b, seg, jobs, pct);
		struct hes_rate rates[8];
		struct hes_instant at;

		assert_int_equal(n, seg->jobs);
		query_model(b, seg->gpu, b->replay.jobs[jobs[0]].clock_mhz, n, jobs, pct, rates,
			    &at);
		assert_true(labs((long)at.power_mw - (long)seg->power_mw) <= 1);
		assert_int_equal(at.clock_mhz, seg->clock_mhz);
		for (size_t i = 0; i < n; i++)
			done[jobs[i]] += rates[i].iterations_per_s * us * 1e-6;
		energy_mj += seg->power_mw * us * 1e-6;
		busy_us[seg->gpu] += us;
	}
	for (size_t i = 0; i < b->jobs.n;
	     i++) /* a microsecond holds at most a thousandth of an iteration here */
		assert_true(fabs(done[i] - (double)b->v[i].iterations) < 1e-2);
	for (size_t g = 0; g < 2; g++)
		idle_mj += b->fleet.gpus[g].type->idle_power_mw *
			   ((double)b->replay.totals.makespan_us - busy_us[g]) * 1e-6;
	assert_true(fabs(energy_mj - (double)b->replay.totals.busy_energy_mj) < 2);
	assert_true(fabs(energy_mj + idle_mj - (double)b->replay.totals.fleet_energy_mj) < 2);
}

BENCH_TEST(an_idle_gpu_draws_its_idle_power_until_the_last_job_ends)
{
	uint32_t j = add_job(b, "resnet50", 100000, 2000000);
	struct hes_sim s = request(b);
	double idle_mj;

	plan_batch(b, 1, 1, &j);
	run_sim(b, &s);
	idle_mj =
		b->fleet.gpus[0].type->idle_power_mw * (double)b->replay.totals.makespan_us * 1e-6;
	assert_true(fabs((double)b->replay.gpus[0].idle_energy_mj - idle_mj) <= 1);
	assert_int_equal(b->replay.gpus[0].busy_energy_mj, 0);
	assert_int_equal(b->replay.gpus[1].idle_energy_mj,
			 2 * b->fleet.gpus[1].type->idle_power_mw);
	assert_true(b->replay.gpus[0].mean_util == 0);
	assert_true(fabs(b->replay.mean_util - b->replay.gpus[1].mean_util / 2) < 1e-12);
}

BENCH_TEST(segments_are_in_order_and_do_not_overlap_on_a_gpu)
{
	struct hes_sim s = request(b);
	int64_t end[2] = { 0 }, last = 0;

	plan_at_random(b, 5);
	run_sim(b, &s);
	for (size_t k = 0; k < b->replay.n_segments; k++) {
		const struct hes_segment *seg = &b->replay.segments[k];

		assert_true(seg->start_us >= last && seg->start_us >= end[seg->gpu]);
		assert_true(seg->end_us > seg->start_us);
		last = seg->start_us;
		end[seg->gpu] = seg->end_us;
	}
}

static bool same_outcome(const struct hes_outcome *a, const struct hes_outcome *b)
{
	return a->gpu == b->gpu && a->sm_pct == b->sm_pct && a->clock_mhz == b->clock_mhz &&
	       a->start_us == b->start_us && a->end_us == b->end_us;
}

BENCH_TEST(the_same_request_gives_the_same_replay_with_noise_too)
{
	struct hes_sim s = request(b);
	struct hes_replay again = { 0 };

	plan_at_random(b, 3);
	s.time_noise = 0.02;
	s.power_noise = 0.02;
	s.seed = 4;
	run_sim(b, &s);
	assert_int_equal(hes_sim_run(&s, &again, &b->err), 0);
	assert_int_equal(again.n_segments, b->replay.n_segments);
	for (size_t i = 0; i < again.n_jobs; i++)
		assert_true(same_outcome(&again.jobs[i], &b->replay.jobs[i]));
	assert_memory_equal(&again.totals, &b->replay.totals, sizeof(again.totals));
	hes_replay_free(&again);
	s.seed = 5;
	assert_int_equal(hes_sim_run(&s, &again, &b->err), 0);
	assert_true(again.totals.makespan_us != b->replay.totals.makespan_us);
	hes_replay_free(&again);
}

/* How much longer than the mean job 1 took, alone on a GPU. */
static double luck(struct bench *b, const struct hes_sim *s, size_t gpu)
{
	uint32_t jobs[] = { 0, 1 };

	hes_plan_finish(&b->plan);
	assert_int_equal(hes_plan_init(&b->plan, b->fleet.n), 0);
	plan_batch(b, gpu == 0, 1, &jobs[0]);
	plan_batch(b, gpu, 1, &jobs[1]);
	run_sim(b, s);
	return (double)(b->replay.jobs[1].end_us - b->replay.jobs[1].start_us) * 1e-6 /
	       (5000 / rate_alone(b, gpu, 1, 100));
}

/* The same job gets the same noise in every plan, so that policies are compared fairly. */
BENCH_TEST(a_jobs_noise_does_not_depend_on_the_plan)
{
	struct hes_sim s = request(b);
	double here;

	add_job(b, "resnet50", 5000, 0);
	add_job(b, "vgg16", 5000, 0);
	s.time_noise = 0.1;
	s.seed = 9;
	here = luck(b, &s, 0);
	assert_true(fabs(here - 1) > 1e-3);
	assert_true(fabs(luck(b, &s, 1) - here) < 1e-5);
}

BENCH_TEST(power_noise_moves_power_above_idle_and_no_time)
{
	uint32_t j = add_job(b, "mobilenet", 5000, 0);
	struct hes_sim s = request(b);
	uint32_t quiet_mw;
	int64_t end_us;

	plan_batch(b, 0, 1, &j);
	run_sim(b, &s);
	quiet_mw = b->replay.segments[0].power_mw;
	end_us = b->replay.jobs[0].end_us;
	s.power_noise = 0.1;
	run_sim(b, &s);
	assert_int_not_equal(b->replay.segments[0].power_mw, quiet_mw);
	assert_true(b->replay.segments[0].power_mw > b->fleet.gpus[0].type->idle_power_mw);
	assert_true(b->replay.segments[0].power_mw <= b->fleet.gpus[0].type->power_limit_mw);
	assert_int_equal(b->replay.jobs[0].end_us, end_us);
}

BENCH_TEST(no_jobs_are_an_empty_replay)
{
	struct hes_sim s = request(b);

	run_sim(b, &s);
	assert_int_equal(b->replay.n_jobs, 0);
	assert_int_equal(b->replay.totals.makespan_us, 0);
	assert_int_equal(b->replay.totals.fleet_energy_mj, 0);
	assert_true(b->replay.totals.avg_jct_us == 0);
}

/* --- one that learns --- */

#define WINDOW_US 5000000

/* What a learner in a test does, and what it was shown. */
struct watcher {
	const struct bench *b;
	uint32_t clock_mhz; /* in the first window */
	int64_t held_us;    /* the second member is held that long */
	size_t n_windows, n_plans;
	struct hes_sim_window first;
	bool held_alone; /* in each window of the hold the second member did nothing */
};

static int watcher_saw(void *ctx, const struct hes_sim_window *w, struct hes_err *err)
{
	struct watcher *x = ctx;

	(void)err;
	if (!x->n_windows++)
		x->first = *w;
	if (w->from_us < x->held_us)
		x->held_alone &=
			w->n == 2 && w->members[1].held && w->members[1].rate.iterations_per_s == 0;
	return w->until_us == WINDOW_US && x->n_plans; /* plan again */
}

static int watcher_order(void *ctx, const struct hes_sim_window *now, struct hes_sim_order *out,
			 struct hes_err *err)
{
	const struct watcher *x = ctx;

	(void)err;
	*out = (struct hes_sim_order){ .clock_mhz = now->until_us < WINDOW_US ? x->clock_mhz : 0,
				       .held = now->until_us < x->held_us && now->n == 2 ? 2 : 0,
				       .look_us = now->until_us + WINDOW_US };
	return 0;
}

static struct hes_sim watched(struct bench *b, struct watcher *x)
{
	struct hes_sim s = request(b);

	*x = (struct watcher){ .b = b, .held_alone = true };
	s.saw = watcher_saw;
	s.order = watcher_order;
	s.ctx = x;
	return s;
}

TEST_WITH(a_held_job_does_nothing_until_it_is_released, sim_bench_setup, sim_bench_teardown)
{
	struct bench *b = *state;
	uint32_t jobs[] = { add_job(b, "vgg19", 40000, 0), add_job(b, "resnet152", 2000, 0) },
		 half[] = { 50, 50 };
	struct watcher x;
	struct hes_sim s = watched(b, &x);
	struct hes_rate both[2];
	struct hes_instant at;

	x.held_us = 2 * WINDOW_US;
	plan_batch(b, 0, 2, jobs);
	run_sim(b, &s);
	query_model(b, 0, 0, 2, jobs, half, both, &at);
	assert_true(x.held_alone);
	assert_int_equal(x.first.until_us, WINDOW_US);
	assert_true(x.first.members[0].rate.iterations_per_s == rate_alone(b, 0, jobs[0], 50));
	assert_us(b->replay.jobs[1].end_us, 10 + 2000 / both[1].iterations_per_s, 2);
}

TEST_WITH(an_order_sets_the_clock_until_the_next_one, sim_bench_setup, sim_bench_teardown)
{
	struct bench *b = *state;
	uint32_t j = add_job(b, "resnet50", 12345, 0), whole = 100;
	const uint32_t slow_mhz = b->fleet.gpus[0].type->clocks_mhz[0];
	struct watcher x;
	struct hes_sim s = watched(b, &x);
	struct hes_rate slow;
	struct hes_instant at;

	x.clock_mhz = slow_mhz;
	plan_batch(b, 0, 1, &j);
	run_sim(b, &s);
	query_model(b, 0, slow_mhz, 1, &j, &whole, &slow, &at);
	assert_int_equal(x.first.clock_mhz, slow_mhz);
	assert_us(b->replay.jobs[0].end_us,
		  5 + (12345 - 5 * slow.iterations_per_s) / rate_alone(b, 0, j, 100), 2);
}

/* The first plan leaves out the second job. */
static int plan_one(void *ctx, int64_t now_us, const uint32_t *waiting, size_t n_waiting,
		    const int64_t *free_at_us, const struct hes_running *running, size_t n_running,
		    struct hes_plan *out, struct hes_err *err)
{
	struct watcher *x = ctx;
	const struct hes_batch batch = batch_of(x->b->fleet.gpus[x->n_plans].type, 1, waiting);

	(void)free_at_us;
	(void)running;
	(void)err;
	assert_int_equal(n_waiting, 2 - x->n_plans);
	assert_int_equal(n_running, x->n_plans);
	assert_int_equal(now_us, (int64_t)x->n_plans * WINDOW_US);
	assert_int_equal(hes_plan_init(out, x->b->fleet.n), 0);
	return hes_plan_append(out, x->n_plans++, &batch);
}

TEST_WITH(what_was_seen_can_have_the_rest_planned_again, sim_bench_setup, sim_bench_teardown)
{
	struct bench *b = *state;
	struct watcher x;
	struct hes_sim s;

	add_job(b, "resnet50", 12345, 0);
	add_job(b, "vgg19", 100, 0);
	s = watched(b, &x);
	s.plan = NULL;
	s.replan = plan_one;
	run_sim(b, &s);
	assert_int_equal(x.n_plans, 2);
	assert_int_equal(b->replay.jobs[1].start_us, WINDOW_US);
	assert_int_equal(b->replay.jobs[1].gpu, 1);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
