/* test_baseline.c - constants moved one by one, against the baseline with each of them. */
#include <math.h>

#include "predict/baseline/observation.h"
#include "predict/features.h"
#include "unit_test.h"
#include "paper_lab.h"

#define N_CONSTANTS (SHARED_CONSTANTS + TYPE_CONSTANTS + WORKLOAD_CONSTANTS)
#define SMALL       1e-3 /* move of a constant, of its spread */
#define FOUND       1e-4 /* a clock under the limit is found to this, of what it brings */

static struct observations seen;
static struct constants_table assumed;

static int set_up(void **state)
{
	(void)state;
	if (paper_lab_init(200))
		return -1;
	lab.samples.known = &lab.profiles;
	if (observations_init(&seen, &lab.samples, &lab.c, NULL) || constants_init(&assumed, 1, 1))
		return -1;
	/* Every other sample's co-runners are known by name, the others by their sums. */
	for (size_t i = 0; i < seen.n; i += 2)
		observation_predict_load(&assumed, &seen.v[i], NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	constants_finish(&assumed);
	observations_finish(&seen);
	paper_lab_finish();
	return 0;
}

static void move_aside(const double *v, const struct prior *b, size_t n, double *out)
{
	for (size_t i = 0; i < n; i++) {
		double by = SMALL * b[i].spread;

		out[i] = b[i].linear ? v[i] + by : v[i] * exp(by);
		if (out[i] > b[i].max)
			out[i] = b[i].linear ? v[i] - by : v[i] * exp(-by);
	}
}

/* A constant of all kinds, in one row. */
struct row {
	double v[N_CONSTANTS];
};

static struct constants constants_in(const struct row *r)
{
	return (struct constants){ .shared = r->v,
				   .type = r->v + SHARED_CONSTANTS,
				   .workload = r->v + SHARED_CONSTANTS + TYPE_CONSTANTS };
}

static void set_rows(struct row *believed, struct row *aside)
{
	double *type = believed->v + SHARED_CONSTANTS, *workload = type + TYPE_CONSTANTS;

	memcpy(believed->v, assumed.shared, sizeof(assumed.shared));
	memcpy(type, assumed.types[0].v, sizeof(assumed.types[0].v));
	memcpy(workload, assumed.workloads[0].v, sizeof(assumed.workloads[0].v));
	move_aside(believed->v, shared_priors, SHARED_CONSTANTS, aside->v);
	move_aside(type, type_priors, TYPE_CONSTANTS, aside->v + SHARED_CONSTANTS);
	move_aside(workload, workload_priors, WORKLOAD_CONSTANTS,
		   aside->v + SHARED_CONSTANTS + TYPE_CONSTANTS);
}

static void spread_out(const struct baseline_moves *m, struct baseline_outputs out[N_CONSTANTS])
{
	memcpy(out, m->shared, sizeof(m->shared));
	memcpy(out + SHARED_CONSTANTS, m->type, sizeof(m->type));
	memcpy(out + SHARED_CONSTANTS + TYPE_CONSTANTS, m->workload, sizeof(m->workload));
}

/* Where no limit lowers the clock the numbers are the same. Where one does, the change is
 * proportional. */
static void agree(double got, double want, double at, bool held)
{
	double allowed = held ? 0.1 * fabs(want - at) + FOUND * at : 1e-12 * at;

	assert_true(fabs(got - want) <= allowed);
}

TEST(a_constant_moved_alone_says_what_the_baseline_says_with_it)
{
	struct row believed, aside;
	size_t felt[N_CONSTANTS] = { 0 }, n_held = 0;

	set_rows(&believed, &aside);
	for (size_t i = 0; i < seen.n; i++) {
		const struct query *q = &seen.v[i].query;
		const struct constants k = constants_in(&believed), to = constants_in(&aside);
		const struct baseline at = baseline_of(&k, q);
		bool held = at.clock < 1;
		struct baseline_moves m;
		struct baseline_outputs moved[N_CONSTANTS];

		n_held += held;
		baseline_move(&k, &to, q, &m);
		agree(m.at.slowdown, at.slowdown, at.slowdown, false);
		agree(m.at.power_w, at.power_w, at.power_w, false);
		agree(m.at.predicted_w, at.predicted_w, at.predicted_w, false);
		spread_out(&m, moved);
		for (size_t c = 0; c < N_CONSTANTS; c++) {
			struct row one = believed;
			struct constants other = constants_in(&one);
			struct baseline want;

			one.v[c] = aside.v[c];
			want = baseline_of(&other, q);
			if (held != (want.clock < 1))
				continue;
			agree(moved[c].slowdown, want.slowdown, at.slowdown, held);
			agree(moved[c].power_w, want.power_w, at.power_w, held);
			agree(moved[c].predicted_w, want.predicted_w, at.predicted_w, false);
			felt[c] +=
				moved[c].slowdown != at.slowdown || moved[c].power_w != at.power_w;
		}
	}
	/* None of the constants is one that no sample here feels; and limits hold some. */
	for (size_t c = 0; c < N_CONSTANTS; c++)
		assert_true(felt[c] > 0);
	assert_in_range(n_held, 5, seen.n - 5);
}

/* Table II and what else is measured; all inputs differ, so no feature can be another's. */
TEST(each_measured_feature_is_the_number_that_its_name_says)
{
	const struct hes_gpu_type gpu = { .sm_count = 40,
					  .memory_bandwidth_gbs = 320,
					  .l2_kib = 4096,
					  .idle_power_mw = 10000,
					  .power_limit_mw = 70000 };
	const struct hes_profile task = {
		.sm_util = 11, .dram_util = 12, .l2_util = 13, .iteration_us = 14, .busy = 15
	};
	const struct hes_setting setting = { .sm_pct = 16, .clock_mhz = 17 };
	const struct hes_load load = { .sm_util = 18,
				       .dram_util = 19,
				       .l2_util = 21,
				       .power_mw = 22000,
				       .jobs = 2,
				       .sm_pct = 23,
				       .busy = 24,
				       .sm_busy = 25,
				       .l2_sets = 26,
				       .serial = 27,
				       .dram_busy = 28,
				       .pace = 29,
				       .iterations_per_s = 31,
				       .solo_power_mw = 140000 };
	const struct query q = {
		.gpu = &gpu, .task = &task, .setting = &setting, .co_runners = &load
	};
	static const float want[] = { 11, 12, 13, 14, 16, 17, 18, 19, 21, 22, 40, 320, 4,
				      10, 15, 2,  39, 24, 25, 26, 27, 28, 29, 31, 2 };
	float row[FEATURE_COUNT];

	features_fill(&q, row);
	for (size_t i = 0; i < N(want); i++)
		if (row[i] < want[i] || row[i] > want[i])
			fail_msg("%s: %g instead of %g", feature_names[i], (double)row[i],
				 (double)want[i]);
}

int main(void)
{
	return run_unit_tests(set_up, tear_down);
}
