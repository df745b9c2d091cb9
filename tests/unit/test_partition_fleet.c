/*
 * test_partition_fleet.c - which jobs share a GPU of a fleet.
 */
#include <math.h>

#include "base/rng.h"
#include "partition_bench.h"
#include "unit_test.h"

#define NOISE                 0.017
#define assert_near(a, b, by) assert_true(fabs((a) - (b)) <= (by))

struct fleet_bench {
	struct partition_bench b;
	struct hes_fleet fleet;
	const struct hes_share_profile *profiles[24];
	struct hes_partition_jobs p;
};

static void fleet_open(struct fleet_bench *f, size_t n, size_t gpus, uint32_t most)
{
	f->b = bench_of_all(NOISE);
	bench_learn(&f->b);
	f->fleet = (struct hes_fleet){ .gpus = calloc(gpus, sizeof(struct hes_gpu)), .n = gpus };
	for (size_t i = 0; i < gpus; i++)
		f->fleet.gpus[i].type = f->b.g;
	for (size_t i = 0; i < n; i++)
		f->profiles[i] = bench_profile(&f->b, bench_jobs[i % BENCH_JOBS]);
	f->p = (struct hes_partition_jobs){ .fleet = &f->fleet,
					    .n = n,
					    .profiles = f->profiles,
					    .objective = HES_PARTITION_ENERGY,
					    .most = most,
					    .seed = 1,
					    .effort = 20000 };
}

static void fleet_close(struct fleet_bench *f)
{
	free(f->fleet.gpus);
	bench_close(&f->b);
}

TEST(every_job_is_in_one_group_and_jobs_beyond_the_gpus_wait_for_a_wave)
{
	struct hes_partition_groups g;
	struct fleet_bench f;
	size_t seen[20] = { 0 };
	double power = 0;

	fleet_open(&f, 20, 4, 3);
	assert_int_equal(hes_partition_group(f.b.m, &f.p, &g, NULL), 0);
	assert_int_equal(g.waves, 2);
	assert_int_equal(g.n, 8);
	for (size_t i = 0; i < g.n; i++) {
		uint32_t sum = 0;

		assert_int_equal(g.v[i].gpu, i % 4);
		assert_int_equal(g.v[i].wave, i / 4);
		assert_true(g.v[i].n <= 3);
		for (size_t k = 0; k < g.v[i].n; k++) {
			seen[g.v[i].job[k]]++;
			sum += g.v[i].split.sm_pct[k];
		}
		assert_true(sum <= 100);
		power += g.v[i].split.estimate.power_w / 2;
	}
	for (size_t i = 0; i < 20; i++)
		assert_int_equal(seen[i], 1);
	assert_near(g.power_w, power, 1e-6);
	assert_near(g.per_watt, g.work / g.power_w, 1e-12);
	hes_partition_groups_free(&g);
	fleet_close(&f);
}

/* Work per watt of pairs that are adjacent in an order, each with its best split. */
static double worth_of_order(const struct fleet_bench *f, const uint32_t *order)
{
	const struct hes_partition_goal goal = { .objective = f->p.objective };
	double work = 0, stretch = 0, power = 0, n = (double)f->p.n;

	for (size_t i = 0; i < f->p.n; i += 2) {
		const struct hes_share_profile *p[] = { f->profiles[order[i]],
							f->profiles[order[i + 1]] };
		struct hes_splits s;

		assert_int_equal(hes_partition_search(f->b.m, f->b.g, p, 2, &goal, &s, NULL), 0);
		work += s.v[s.best].work;
		stretch += 4 / s.v[s.best].work;
		power += s.v[s.best].estimate.power_w;
		hes_splits_free(&s);
	}
	return (goal.objective == HES_PARTITION_ENERGY ? n * n / stretch : work) / power;
}

TEST(groups_are_never_worse_than_first_come_first_served_or_pairs_at_random)
{
	struct fleet_bench f;
	struct hes_rng rng;
	uint32_t order[16];

	fleet_open(&f, 16, 8, 2);
	hes_rng_seed(&rng, 11);
	for (int o = HES_PARTITION_SUM; o <= HES_PARTITION_ENERGY; o++) {
		struct hes_partition_groups g;
		double filled, in_turn, best = 0;

		f.p.objective = (enum hes_partition_objective)o;
		assert_int_equal(hes_partition_group(f.b.m, &f.p, &g, NULL), 0);
		for (uint32_t i = 0; i < 16; i++)
			order[i] = i;
		filled = worth_of_order(&f, order);
		for (uint32_t i = 0; i < 16; i++)
			order[i] = i / 2 + 8 * (i % 2);
		in_turn = worth_of_order(&f, order);
		for (int i = 0; i < 30; i++) {
			hes_rng_shuffle(&rng, order, 16);
			best = fmax(best, worth_of_order(&f, order));
		}
		print_message("%s: groups %.5f; filled in order %.5f, assigned in turn %.5f, the "
			      "best of 30 random pairings %.5f\n",
			      hes_partition_objectives[o], g.per_watt, filled, in_turn, best);
		assert_true(g.per_watt >= filled && g.per_watt >= in_turn && g.per_watt >= best);
		hes_partition_groups_free(&g);
	}
	fleet_close(&f);
}

#define PAIRED 8 /* jobs that every pairing is tried of */

/* All splits of every pair. */
struct all_pairs {
	struct hes_splits of[PAIRED][PAIRED];
	enum hes_partition_objective objective;
};

/* Gain and power of a pair's best split at a price; gain as the objective's sum has it. */
static void best_at(const struct all_pairs *a, size_t i, size_t k, double price, double *gain,
		    double *power)
{
	const struct hes_splits *s = &a->of[i > k ? i : k][i > k ? k : i];
	double best = -INFINITY, best_gain = 0, best_power = 0;

	for (size_t x = 0; x < s->n; x++) {
		double g = a->objective == HES_PARTITION_ENERGY ? -4 / s->v[x].work : s->v[x].work,
		       w = s->v[x].estimate.power_w;

		if (g - price * w > best) {
			best = g - price * w;
			best_gain = g;
			best_power = w;
		}
	}
	*gain += best_gain;
	*power += best_power;
}

/* Work per watt of a pairing with the best splits for it. */
static double worth_of(const struct all_pairs *a, const size_t *mate)
{
	double price = 0, worth = 0;

	for (int round = 0; round < 20; round++) {
		double gain = 0, power = 0, now;

		for (size_t i = 0; i < PAIRED; i++)
			if (mate[i] < i)
				best_at(a, i, mate[i], price, &gain, &power);
		now = (a->objective == HES_PARTITION_ENERGY ? PAIRED * PAIRED / -gain : gain) /
		      power;
		if (now <= worth)
			break;
		worth = now;
		price = fabs(gain) / power;
	}
	return worth;
}

static double best_pairing(const struct all_pairs *a, size_t *mate)
{
	double best = 0;
	size_t first = 0;

	while (first < PAIRED && mate[first] < PAIRED)
		first++;
	if (first == PAIRED)
		return worth_of(a, mate);
	for (size_t k = first + 1; k < PAIRED; k++)
		if (mate[k] == PAIRED) {
			mate[first] = k;
			mate[k] = first;
			best = fmax(best, best_pairing(a, mate));
			mate[first] = mate[k] = PAIRED;
		}
	return best;
}

/* 105 pairings of 8 jobs on 4 GPUs, 45 splits a pair. */
TEST(groups_reach_98_per_cent_of_the_best_of_all_pairings)
{
	struct hes_partition_groups g;
	struct all_pairs a;
	struct fleet_bench f;

	fleet_open(&f, PAIRED, 4, 2);
	for (int o = HES_PARTITION_SUM; o <= HES_PARTITION_ENERGY; o++) {
		const struct hes_partition_goal goal = { .objective =
								 (enum hes_partition_objective)o };
		size_t mate[PAIRED];
		double best;

		a.objective = f.p.objective = goal.objective;
		for (size_t i = 0; i < PAIRED; i++) {
			mate[i] = PAIRED;
			for (size_t k = 0; k < i; k++)
				assert_int_equal(
					hes_partition_search(f.b.m, f.b.g,
							     (const struct hes_share_profile *[]){
								     f.profiles[i], f.profiles[k] },
							     2, &goal, &a.of[i][k], NULL),
					0);
		}
		best = best_pairing(&a, mate);
		assert_int_equal(hes_partition_group(f.b.m, &f.p, &g, NULL), 0);
		print_message("%s: groups %.2f %% of the best pairing\n",
			      hes_partition_objectives[o], 100 * g.per_watt / best);
		assert_true(g.per_watt > 0.98 * best && g.per_watt < 1.0001 * best);
		hes_partition_groups_free(&g);
		for (size_t i = 0; i < PAIRED; i++)
			for (size_t k = 0; k < i; k++)
				hes_splits_free(&a.of[i][k]);
	}
	fleet_close(&f);
}

/* What annealing with exact assignments of up to 64 jobs found, work per watt: jobs, GPUs, most, by
 * objective. */
static const struct {
	uint32_t jobs, gpus, most;
	double per_watt[HES_PARTITION_ENERGY + 1];
} known[] = {
	{ 20, 4, 3, { 1.0756967684, 0.0065284041, 0.0047654323 } },
	{ 16, 8, 2, { 0.8569425654, 0.0057825359, 0.0047350154 } },
	{ 24, 7, 4, { 1.0647624749, 0.0070554969, 0.0049140133 } },
};

TEST(groups_are_not_worse_than_those_of_exact_assignments)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct hes_partition_groups g;
		struct fleet_bench f;

		fleet_open(&f, known[i].jobs, known[i].gpus, known[i].most);
		for (int o = HES_PARTITION_SUM; o <= HES_PARTITION_ENERGY; o++) {
			f.p.objective = (enum hes_partition_objective)o;
			assert_int_equal(hes_partition_group(f.b.m, &f.p, &g, NULL), 0);
			print_message("%u jobs on %u GPUs, %s: %.10f\n", known[i].jobs,
				      known[i].gpus, hes_partition_objectives[o], g.per_watt);
			assert_true(g.per_watt >= known[i].per_watt[o] * (1 - 1e-7));
			hes_partition_groups_free(&g);
		}
		fleet_close(&f);
	}
}

/* Two jobs of 20,000 MiB each on one GPU of 32,510 MiB, which would hold two by number. */
TEST(jobs_that_do_not_fit_together_run_in_waves)
{
	const uint32_t memory[] = { 20000, 20000, 20000, 100 };
	struct hes_partition_groups g;
	struct fleet_bench f;

	fleet_open(&f, 4, 1, 2);
	f.p.memory_mib = memory;
	assert_int_equal(hes_partition_group(f.b.m, &f.p, &g, NULL), 0);
	assert_int_equal(g.waves, 3);
	for (size_t i = 0; i < g.n; i++)
		assert_true(g.v[i].n < 2 || g.v[i].job[0] == 3 || g.v[i].job[1] == 3);
	hes_partition_groups_free(&g);
	fleet_close(&f);
}

/* A floor just below what two jobs can both keep: interference breaks it where no account is taken
 * of it. */
TEST(a_floor_that_one_gpu_keeps_is_kept_in_a_group)
{
	struct hes_partition_goal goal = { .objective = HES_PARTITION_ENERGY };
	struct hes_partition_groups g;
	struct hes_splits s;
	struct fleet_bench f;
	double floor[2], most = 0;

	fleet_open(&f, 2, 1, 2);
	f.p.floor = floor;
	assert_int_equal(hes_partition_search(f.b.m, f.b.g, f.profiles, 2, &goal, &s, NULL), 0);
	for (size_t i = 0; i < s.n; i++) {
		double least = 1;

		for (size_t k = 0; k < 2; k++)
			least = fmin(least, s.v[i].estimate.rate[k] / f.profiles[k]->alone_rate);
		most = fmax(most, least);
	}
	hes_splits_free(&s);
	floor[0] = floor[1] = most - 1e-9;
	assert_int_equal(hes_partition_group(f.b.m, &f.p, &g, NULL), 0);
	assert_int_equal(g.waves, 1);
	for (size_t k = 0; k < 2; k++)
		assert_true(g.v[0].split.estimate.rate[k] >=
			    floor[k] * f.profiles[g.v[0].job[k]]->alone_rate);
	hes_partition_groups_free(&g);
	fleet_close(&f);
}

/* T4 without a point at 100 %: throughput alone is known of the V100 only. */
TEST(throughput_alone_on_one_type_of_the_fleet_is_enough)
{
	struct hes_share_profile small;
	const struct hes_share_profile *profiles[2];
	const struct hes_gpu_type *types[2];
	struct hes_gpu gpus[2] = { { .type = NULL } };
	struct hes_fleet fleet = { .gpus = gpus, .n = 2 };
	struct hes_partition_jobs p = { .fleet = &fleet,
					.n = 1,
					.profiles = profiles,
					.objective = HES_PARTITION_ENERGY,
					.most = 1 };
	struct partition_bench b = bench_of_all(0);
	struct hes_partition_groups g;
	struct hes_partition_model *m;

	bench_learn(&b);
	gpus[0].type = types[0] = b.g;
	gpus[1].type = types[1] = hes_gpu_type_find(&b.c, "T4", NULL);
	profiles[0] = bench_profile(&b, bench_jobs[1]);
	small = *profiles[0];
	small.alone_rate = NAN;
	profiles[1] = &small;
	assert_int_equal(hes_partition_train(&b.points, &b.profiles, types, 2, &m, NULL), 0);
	assert_int_equal(hes_partition_group(m, &p, &g, NULL), 0);
	assert_int_equal(g.n, 2);
	hes_partition_groups_free(&g);
	hes_partition_free(m);
	bench_close(&b);
}

TEST(a_job_that_no_gpu_runs_and_numbers_out_of_range_are_refused)
{
	const uint32_t memory[6] = { 100, 100, 40000 };
	struct hes_partition_groups g = { .n = 77 };
	struct fleet_bench f;
	struct hes_err err;

	fleet_open(&f, 6, 2, 3);
	f.p.memory_mib = memory;
	assert_int_equal(hes_partition_group(f.b.m, &f.p, &g, &err), -ENOSPC);
	assert_int_equal(g.n, 77);
	assert_non_null(strstr(err.msg, "job 3 "));
	f.p.memory_mib = NULL;
	f.p.most = 9;
	assert_int_equal(hes_partition_group(f.b.m, &f.p, &g, &err), -EINVAL);
	f.p.most = 3;
	f.profiles[3] = NULL;
	assert_int_equal(hes_partition_group(f.b.m, &f.p, &g, &err), -EINVAL);
	fleet_close(&f);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
