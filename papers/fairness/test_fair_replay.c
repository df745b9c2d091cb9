/*
 * test_fair_replay.c - tenants on a virtual clock: small cases by hand, random ones that never use
 * more time than passes nor leave any while there is work, shares after arrivals and departures,
 * bad numbers.
 */
#include <math.h>

#include "base/rng.h"
#include "fair_replay.h"
#include "fair_series.h"
#include "unit_test.h"

#define MS   UINT64_C(1000000)
#define S    UINT64_C(1000000000)
#define MANY 12

enum { TIME, ENERGY, ETF };

static struct fair_replay_config config_of(int policy, double phi, uint64_t interval,
					   uint64_t duration_ns)
{
	return (struct fair_replay_config){ .queue = { &hes_fair_policies[policy], phi, interval,
						       MS },
					    .duration_ns = duration_ns };
}

static struct fair_replay_tenant backlogged(double power_w, uint64_t request_ns)
{
	return (struct fair_replay_tenant){ .power_w = power_w,
					    .weight = 1,
					    .departure_ns = FAIR_REPLAY_NEVER,
					    .request_ns = request_ns };
}

static void replay(const struct fair_replay_config *c, const struct fair_replay_tenant *t, size_t n,
		   struct fair_replay_usage *u)
{
	struct hes_err err = { 0 };
	int rc = fair_replay(c, t, n, NULL, NULL, u, &err);

	if (rc)
		print_error("%s\n", err.msg);
	assert_int_equal(rc, 0);
}

/* Section 4.3 of the paper: slices of 14, 9 and 7 quanta, energies 28, 27 and 56 J where a quantum
 * is a second. */
TEST(the_papers_example_runs_for_its_slices)
{
	struct fair_replay_tenant t[] = { backlogged(2, 0), backlogged(3, 0), backlogged(8, 0) };
	struct fair_replay_config c = config_of(ETF, 0.7, 30, 30 * S);
	struct fair_replay_usage u[3];
	struct hes_fairness f;

	c.queue.quantum_ns = S;
	replay(&c, t, 3, u);
	assert_int_equal(u[0].time_ns, 14 * S);
	assert_int_equal(u[1].time_ns, 9 * S);
	assert_int_equal(u[2].time_ns, 7 * S);
	assert_true(u[0].energy_j == 28 && u[1].energy_j == 27 && u[2].energy_j == 56);
	fair_replay_measure(t, u, 3, &f);
	assert_true(f.time == 0.5 && fabs(f.energy - 27.0 / 56) < 1e-12 && f.system == f.energy);
}

TEST(requests_at_a_rate_leave_the_gpu_idle_between_them)
{
	struct fair_replay_tenant t = backlogged(5, 20 * MS);
	struct fair_replay_config c = config_of(ETF, 0.7, 200, S);
	struct fair_replay_usage u;

	t.period_ns = 100 * MS;
	replay(&c, &t, 1, &u);
	assert_int_equal(u.requests, 10);
	assert_int_equal(u.waiting, 0);
	assert_int_equal(u.time_ns, 200 * MS);
	assert_true(u.mean_latency_ns == (double)(20 * MS) && u.p99_latency_ns == 20 * MS);
	assert_true(fabs(u.energy_j - 1) < 1e-12);
	assert_int_equal(u.turns, 10);
}

/* 10 ms each in turn: the first request is not interrupted, later ones wait for the other's turn.
 */
TEST(a_request_waits_for_the_turn_of_the_other_tenant)
{
	struct fair_replay_tenant t[] = { backlogged(5, 10 * MS), backlogged(5, 10 * MS) };
	struct fair_replay_config c = config_of(ETF, 1, 20, 200 * MS);
	struct fair_replay_usage u[2];

	replay(&c, t, 2, u);
	assert_int_equal(u[0].requests, 10);
	assert_true(u[0].mean_latency_ns == (double)(19 * MS) &&
		    u[1].mean_latency_ns == (double)(20 * MS));
	assert_int_equal(u[0].median_latency_ns, 20 * MS);
	assert_int_equal(u[0].waiting, 1); /* submitted as the last one ended */
}

/* Kernels of 7 ms under a slice of 10 ms: a turn is 14 ms long, and what was too long is paid back.
 */
TEST(a_turn_ends_where_a_piece_ends)
{
	struct fair_replay_tenant t[] = { backlogged(5, 70 * MS), backlogged(5, 0) };
	struct fair_replay_config c = config_of(ETF, 1, 20, 24 * MS);
	struct fair_replay_usage u[2];

	t[0].piece_ns = 7 * MS;
	replay(&c, t, 2, u);
	assert_int_equal(u[0].time_ns, 14 * MS);
	assert_int_equal(u[1].time_ns, 10 * MS);
	c.duration_ns = 100 * S;
	replay(&c, t, 2, u);
	assert_true(u[0].time_ns > u[1].time_ns ? u[0].time_ns - u[1].time_ns <= 14 * MS
						: u[1].time_ns - u[0].time_ns <= 14 * MS);
}

TEST(switches_cost_time_that_nobody_is_charged_for)
{
	struct fair_replay_tenant t[] = { backlogged(5, 0), backlogged(5, 0) };
	struct fair_replay_config c = config_of(ETF, 1, 20, 110 * MS);
	struct fair_replay_usage u[2];

	c.switch_ns = 2 * MS;
	replay(&c, t, 2,
	       u); /* ten turns of 10 ms would need 100 ms; five and a half pairs of 12 ms fit */
	assert_int_equal(u[0].time_ns + u[1].time_ns, 110 * MS - 9 * 2 * MS);
}

TEST(a_tenant_alone_has_all_of_the_time)
{
	struct fair_replay_tenant t = backlogged(5, 3 * MS);
	struct fair_replay_config c = config_of(ETF, 0.7, 200, 10 * S);
	struct fair_replay_usage u;

	c.switch_ns = MS;
	replay(&c, &t, 1, &u);
	assert_int_equal(u.time_ns, 10 * S);
	assert_int_equal(u.requests, 3333);
}

/* Turns alone are 200 ms, slices of two 100 ms: who has run for longer makes way at once, else
 * after its slice. */
TEST(a_tenant_alone_makes_way_after_its_slice)
{
	struct fair_replay_tenant t[] = { backlogged(5, 0), backlogged(5, 10 * MS) };
	struct fair_replay_config c = config_of(ETF, 0.7, 200, 900 * MS);
	struct fair_replay_usage u[2];

	t[1].period_ns = S;
	t[1].arrival_ns = 550 * MS; /* a turn began at 400 ms */
	replay(&c, t, 2, u);
	assert_true(u[1].mean_latency_ns == (double)(10 * MS));
	t[1].arrival_ns = 430 * MS;
	replay(&c, t, 2, u);
	assert_true(u[1].mean_latency_ns == (double)(80 * MS));
	assert_int_equal(u[0].time_ns, 890 * MS);
	t[0].piece_ns = 60 * MS;
	t[1].arrival_ns = 550 * MS; /* the piece ends at 600 ms */
	replay(&c, t, 2, u);
	assert_true(u[1].mean_latency_ns == (double)(60 * MS));
}

TEST(a_tenant_that_departs_in_its_turn_drops_its_work)
{
	struct fair_replay_tenant t[] = { backlogged(5, 50 * MS), backlogged(5, 0),
					  backlogged(9, 0) };
	struct fair_replay_config c = config_of(TIME, 0, 20, 100 * MS);
	struct fair_replay_usage u[3];

	t[0].departure_ns = 4 * MS;
	t[2].arrival_ns = 10 * MS; /* its slot of the queue is that of the first */
	replay(&c, t, 3, u);
	assert_int_equal(u[0].time_ns, 4 * MS);
	assert_int_equal(u[0].present_ns, 4 * MS);
	assert_int_equal(u[0].requests, 0);
	assert_int_equal(u[0].waiting, 1);
	assert_int_equal(u[1].time_ns + u[2].time_ns, 96 * MS);
	assert_int_equal(u[2].present_ns, 90 * MS);
}

/* --- random tenants --- */

static void random_tenants(struct hes_rng *rng, struct fair_replay_tenant *t, size_t n,
			   uint64_t duration_ns)
{
	for (size_t i = 0; i < n; i++) {
		t[i] = backlogged(0.5 + 20 * hes_rng_unit(rng),
				  hes_rng_below(rng, 3) ? 1 + hes_rng_below(rng, 80 * MS) : 0);
		t[i].weight = 0.5 + 3 * hes_rng_unit(rng);
		if (hes_rng_below(rng, 2))
			t[i].arrival_ns = hes_rng_below(rng, duration_ns);
		if (hes_rng_below(rng, 2))
			t[i].departure_ns = t[i].arrival_ns + 1 + hes_rng_below(rng, duration_ns);
		if (t[i].request_ns && hes_rng_below(rng, 2))
			t[i].period_ns = 5 * MS + hes_rng_below(rng, 500 * MS);
		t[i].random = t[i].period_ns && hes_rng_below(rng, 2);
		if (hes_rng_below(rng, 3) == 0)
			t[i].piece_ns = 1 + hes_rng_below(rng, 5 * MS);
	}
}

struct watch {
	const struct fair_replay_tenant *t;
	bool work_conserving; /* somebody always has work */
	uint64_t last_ns;
	size_t samples;
};

static void usage_is_possible(uint64_t at_ns, const struct fair_replay_usage *u, size_t n,
			      void *ctx)
{
	struct watch *w = ctx;
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		sum += u[i].time_ns;
		assert_true(u[i].time_ns <= u[i].present_ns);
		assert_true(fabs(u[i].energy_j - w->t[i].power_w * (double)u[i].time_ns / 1e9) <=
			    1e-9 * u[i].energy_j);
		if (w->t[i].request_ns)
			assert_true(u[i].requests * w->t[i].request_ns <= u[i].time_ns &&
				    u[i].time_ns < (u[i].requests + 1) * w->t[i].request_ns);
	}
	assert_true(w->work_conserving ? sum == at_ns : sum <= at_ns);
	assert_true(at_ns > w->last_ns);
	w->last_ns = at_ns;
	w->samples++;
}

TEST(tenants_use_the_time_that_passes_and_no_more)
{
	struct hes_rng rng;

	hes_rng_seed(&rng, 11);
	for (int k = 0; k < 400; k++) {
		struct fair_replay_tenant t[MANY];
		struct fair_replay_usage u[MANY];
		struct fair_replay_config c =
			config_of((int)hes_rng_below(&rng, 3), hes_rng_unit(&rng),
				  10 + hes_rng_below(&rng, 200), 5 * S);
		struct watch w = { .t = t };
		size_t n = 1 + hes_rng_below(&rng, MANY);

		random_tenants(&rng, t, n, c.duration_ns);
		c.every_ns = 1 + hes_rng_below(&rng, S);
		c.seed = (uint64_t)k;
		w.work_conserving = hes_rng_below(&rng, 2);
		if (w.work_conserving)
			t[n - 1] = backlogged(7, 0);
		else
			c.switch_ns = hes_rng_below(&rng, MS);
		assert_int_equal(fair_replay(&c, t, n, usage_is_possible, &w, u, NULL), 0);
		assert_int_equal(w.last_ns, c.duration_ns);
		assert_int_equal(w.samples, (c.duration_ns + c.every_ns - 1) / c.every_ns);
	}
}

/* Shares from two intervals after the last arrival or departure are those of the tenants that are
 * there: to within a slice at each end of the window, and a quantum an interval, since ties of
 * Algorithm 1 go by the slot of the queue. */
TEST(shares_settle_within_two_intervals)
{
	const uint64_t interval = 100, window = 20;
	struct hes_rng rng;

	hes_rng_seed(&rng, 12);
	for (int k = 0; k < 300; k++) {
		struct fair_replay_tenant t[MANY];
		struct fair_replay_usage before[MANY], after[MANY];
		struct fair_replay_config c =
			config_of((int)hes_rng_below(&rng, 3), hes_rng_unit(&rng), interval, 0);
		struct hes_fair_tenant there[MANY];
		uint64_t slices[MANY], round = 0, change = S + hes_rng_below(&rng, S);
		struct hes_fair_request r = { c.queue.policy, interval, c.queue.phi, there, 0 };
		size_t n = 2 + hes_rng_below(&rng, MANY - 1), at = 0;

		for (size_t i = 0; i < n; i++) {
			t[i] = backlogged(1 + 9 * hes_rng_unit(&rng), 0);
			if (i && hes_rng_below(&rng, 3) == 0)
				t[i].arrival_ns = change;
			else if (i && hes_rng_below(&rng, 3) == 0)
				t[i].departure_ns = change;
			if (t[i].departure_ns != change)
				there[r.n++] = (struct hes_fair_tenant){ t[i].power_w, 1,
									 HES_FAIR_BACKLOGGED };
		}
		assert_int_equal(hes_fair_slices(&r, slices, NULL), 0);
		for (size_t i = 0; i < r.n; i++)
			round += slices[i] = slices[i] ? slices[i] : 1; /* nobody starves */
		c.duration_ns = change + 2 * interval * MS;
		replay(&c, t, n, before);
		c.duration_ns += window * interval * MS;
		replay(&c, t, n, after);
		for (size_t i = 0; i < n; i++) {
			double got = (double)(after[i].time_ns - before[i].time_ns) / (double)MS,
			       due;

			if (t[i].departure_ns == change) {
				assert_true(got == 0);
				continue;
			}
			due = (double)slices[at++];
			assert_true(fabs(got - due * (double)(window * interval) / (double)round) <=
				    2 * due + (double)window);
		}
	}
}

TEST(the_same_seed_gives_the_same_replay)
{
	struct fair_replay_tenant t[] = { backlogged(5, 7 * MS), backlogged(2, 30 * MS) };
	struct fair_replay_config c = config_of(ETF, 0.7, 50, 20 * S);
	struct fair_replay_usage a[2], b[2], other[2];

	t[0].period_ns = 40 * MS;
	t[0].random = true;
	replay(&c, t, 2, a);
	replay(&c, t, 2, b);
	assert_memory_equal(a, b, sizeof(a));
	c.seed = 9;
	replay(&c, t, 2, other);
	assert_true(memcmp(a, other, sizeof(a)) != 0);
	assert_in_range(a[0].requests, 420, 580);
}

/* --- shares over time --- */

TEST(windows_hold_the_shares_of_their_own_time)
{
	struct fair_replay_tenant t[] = { backlogged(3, 0), backlogged(1, 0) };
	struct fair_replay_config c = config_of(TIME, 0, 20, 2 * S);
	struct fair_series s = { .n = 2 };
	struct fair_replay_usage u[2];

	c.every_ns = S;
	t[1].arrival_ns = S;
	assert_int_equal(fair_replay(&c, t, 2, fair_series_sample, &s, u, NULL), 0);
	assert_int_equal(s.n_samples, 2);
	assert_true(s.at_s[0] == 1 && s.at_s[1] == 2);
	assert_true(s.time_share[0] == 1 && s.time_share[1] == 0 && s.energy_share[0] == 1);
	assert_true(fabs(s.time_share[2] - 0.5) < 0.02 && fabs(s.energy_share[2] - 0.75) < 0.02);
	fair_series_free(&s);
}

TEST(tenants_that_never_came_do_not_count_as_unfair)
{
	struct fair_replay_tenant t[] = { backlogged(3, 0), backlogged(1, 0) };
	struct fair_replay_config c = config_of(TIME, 0, 20, S);
	struct fair_replay_usage u[2];
	struct hes_fairness f;

	t[1].arrival_ns = 5 * S;
	replay(&c, t, 2, u);
	fair_replay_measure(t, u, 2, &f);
	assert_true(f.time == 1 && f.energy == 1 && f.system == 1);
}

/* --- what cannot be --- */

static void refused(const struct fair_replay_config *c, const struct fair_replay_tenant *t,
		    size_t n, const char *sentence)
{
	struct fair_replay_usage u = { .time_ns = 77 };
	struct hes_err err = { 0 };

	assert_int_equal(fair_replay(c, t, n, NULL, NULL, &u, &err), -EINVAL);
	assert_non_null(strstr(err.msg, sentence));
	assert_int_equal(u.time_ns, 77);
}

TEST(numbers_out_of_range_are_refused)
{
	struct fair_replay_tenant good = backlogged(5, MS), t;
	struct fair_replay_config c = config_of(ETF, 0.7, 20, S), bad;

	refused(&c, &good, 0, "0 tenants are outside 1 to 10000");
	bad = c;
	bad.duration_ns = 0;
	refused(&bad, &good, 1, "a duration of 0 ns");
	bad = c;
	bad.queue.phi = 2;
	refused(&bad, &good, 1, "phi 2 is outside 0 to 1");
	t = good;
	t.power_w = 0;
	refused(&c, &t, 1, "tenant 0: power 0 is outside");
	t = good;
	t.arrival_ns = HES_FAIR_MAX_NS + 1;
	refused(&c, &t, 1, "tenant 0: an arrival time of");
	t = good;
	t.departure_ns = 0;
	refused(&c, &t, 1, "not after its arrival");
	t = backlogged(5, 0);
	t.period_ns = MS;
	refused(&c, &t, 1, "requests at a rate need a length");
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
