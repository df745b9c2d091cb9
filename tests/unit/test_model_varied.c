/*
 * test_model_varied.c - models with parameters drawn within their uncertainty, and the second
 * physics: what must hold whatever their numbers are.
 */
#include <math.h>
#include <string.h>

#include "model/params.h"
#include "model_bench.h"

#define DRAWS 200

static struct hes_model *varied(uint64_t seed)
{
	struct hes_model *m;

	assert_int_equal(hes_model_varied(model, seed, &m, NULL), 0);
	return m;
}

static bool equal(const struct hes_model *a, const struct hes_model *b)
{
	return memcmp(a->workloads, b->workloads, a->n_workloads * sizeof(*a->workloads)) == 0 &&
	       memcmp(a->gpus, b->gpus, a->n_gpus * sizeof(*a->gpus)) == 0 &&
	       memcmp(&a->nature, &b->nature, sizeof(a->nature)) == 0;
}

TEST(a_seed_always_gives_the_same_model_and_the_original_stays)
{
	struct hes_model *a = varied(7), *b = varied(7), *other = varied(8);

	assert_true(equal(a, b));
	assert_false(equal(a, other));
	assert_false(equal(a, model));
	hes_model_free(b);
	b = varied(7);
	assert_true(equal(a, b));
	hes_model_free(a);
	hes_model_free(b);
	hes_model_free(other);
}

TEST(published_facts_never_vary)
{
	struct hes_model *m = varied(3);

	for (size_t i = 0; i < m->n_workloads; i++) {
		const struct hes_workload *v = &m->workloads[i], *w = &model->workloads[i];

		assert_string_equal(v->name, w->name);
		assert_true(v->gflop_per_item == w->gflop_per_item && v->kernels == w->kernels);
		assert_true(v->memory_mib == w->memory_mib &&
			    v->memory_mib_per_item == w->memory_mib_per_item);
	}
	hes_model_free(m);
}

TEST(every_varied_parameter_stays_in_the_range_of_its_table)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct hes_model *m = varied(seed);

		for (size_t i = 0; i < m->n_gpus; i++)
			for (size_t k = 0; k < hes_gpu_param_count; k++) {
				double v = *hes_param_in(&hes_gpu_params[k], &m->gpus[i]);

				assert_true(v >= hes_gpu_params[k].min &&
					    v <= hes_gpu_params[k].max);
			}
		for (size_t i = 0; i < m->n_workloads; i++)
			for (size_t k = 0; k < hes_workload_param_count; k++) {
				double v = *hes_param_in(&hes_workload_params[k], &m->workloads[i]);

				assert_true(v >= hes_workload_params[k].min &&
					    v <= hes_workload_params[k].max);
			}
		hes_model_free(m);
	}
}

TEST(of_the_fits_without_a_network_draws_take_the_interference_alone)
{
	double reach = 0;

	for (uint64_t seed = 1; seed <= DRAWS; seed++) {
		struct hes_model *m = varied(seed);

		assert_true(m->nature.host_sharpness == model->nature.host_sharpness &&
			    m->nature.sm_sharpness == model->nature.sm_sharpness);
		reach += log(m->nature.fp32_reach / model->nature.fp32_reach) / DRAWS;
		hes_model_free(m);
	}
	assert_true(fabs(reach) < 4 * 0.1 / sqrt(DRAWS));
}

/* Standard deviation of the logarithm of a workload's efficiency over the draws, and the mean. */
static double spread_of(const char *name, double *mean)
{
	double sum = 0, squares = 0;

	for (uint64_t seed = 1; seed <= DRAWS; seed++) {
		struct hes_model *m = varied(seed);
		double x = log(hes_model_workload(m, name, NULL)->efficiency /
			       hes_model_workload(model, name, NULL)->efficiency);

		sum += x;
		squares += x * x;
		hes_model_free(m);
	}
	*mean = sum / DRAWS;
	return sqrt(squares / DRAWS - *mean * *mean);
}

TEST(what_was_derived_varies_more_than_what_was_fitted_and_both_about_the_model)
{
	double fitted_mean, derived_mean;
	double fitted = spread_of("resnet50", &fitted_mean),
	       derived = spread_of("gpt2", &derived_mean);

	assert_true(strcmp(hes_model_workload(model, "resnet50", NULL)->origin,
			   HES_MODEL_DERIVED) != 0);
	assert_string_equal(hes_model_workload(model, "gpt2", NULL)->origin, HES_MODEL_DERIVED);
	assert_true(fitted > 0.01 && derived > 1.5 * fitted && derived < 0.5);
	assert_true(fabs(fitted_mean) < 4 * fitted / sqrt(DRAWS) &&
		    fabs(derived_mean) < 4 * derived / sqrt(DRAWS));
}

/* Standard deviation of the logarithm of a parameter of a type over the draws. */
static double type_spread_of(const char *type, size_t offset)
{
	const struct hes_param at = { .offset = offset };
	double squares = 0;

	for (uint64_t seed = 1; seed <= DRAWS; seed++) {
		struct hes_model *m = varied(seed);
		double x = log(*hes_param_in(&at, (void *)hes_model_gpu(m, type)) /
			       *hes_param_in(&at, (void *)hes_model_gpu(model, type)));

		squares += x * x;
		hes_model_free(m);
	}
	return sqrt(squares / DRAWS);
}

TEST(voltage_and_interference_vary_more_on_types_that_did_not_tell_of_them)
{
	const size_t volt = offsetof(struct hes_gpu_physics, volt_min),
		     interference = offsetof(struct hes_gpu_physics, interference);

	/* V100s were measured at locked clocks and with jobs that share, T4 with neither. */
	assert_true(type_spread_of("V100-PCIe", volt) < 0.09);
	assert_true(type_spread_of("T4", volt) > 0.12);
	assert_true(type_spread_of("V100-PCIe", interference) < 0.4);
	assert_true(type_spread_of("T4", interference) > 0.65);
	assert_true(type_spread_of("H100-PCIe", interference) > 0.65);
}

static double rate_with(const struct hes_model *m, const struct hes_gpu_type *g, uint32_t mhz,
			const struct hes_model_job *r, size_t n, struct hes_instant *now)
{
	struct hes_rate rates[HES_MODEL_MAX_JOBS];
	double sm = 0, dram = 0;

	assert_int_equal(hes_model_instant(m, g, mhz, 0, r, n, rates, now, NULL), 0);
	for (size_t i = 0; i < n; i++) {
		assert_true(isfinite(rates[i].iterations_per_s) && rates[i].iterations_per_s > 0);
		assert_true(rates[i].busy >= 0 && rates[i].busy <= 1);
		sm += rates[i].sm_util;
		dram += rates[i].dram_util;
	}
	assert_true(sm <= 1 + 1e-9 && dram <= 1 + 1e-9);
	return rates[0].iterations_per_s;
}

TEST(in_the_second_physics_a_lower_clock_is_slower_and_power_stays_within_the_limit)
{
	struct hes_model *m = varied(1);

	hes_model_second(m);
	for (size_t t = 0; t < types.n; t++)
		for (size_t i = 0; i < m->n_workloads; i++) {
			const struct hes_gpu_type *g = &types.types[t];
			const struct hes_model_job alone = { &m->workloads[i], 8, 100 };
			struct hes_instant high, low;

			if (!m->workloads[i].testbed)
				continue;
			assert_true(rate_with(m, g, g->clock_min_mhz, &alone, 1, &low) <=
				    rate_with(m, g, 0, &alone, 1, &high) * 1.0001);
			assert_true(low.power_mw <= high.power_mw);
			assert_true(high.power_mw <= g->power_limit_mw ||
				    high.clock_mhz <= g->clock_min_mhz);
		}
	hes_model_free(m);
}

TEST(the_second_physics_slows_pairs_in_another_way_than_the_first)
{
	const struct hes_gpu_type *g = hes_gpu_type_find(&types, "A100-SXM-80", NULL);
	struct hes_model *second;
	double differs = 0;
	size_t n = 0;

	assert_int_equal(hes_model_varied(model, 1, &second, NULL), 0);
	memcpy(second->workloads, model->workloads, model->n_workloads * sizeof(*model->workloads));
	memcpy(second->gpus, model->gpus, model->n_gpus * sizeof(*model->gpus));
	hes_model_second(second);
	for (size_t i = 0; i < model->n_workloads; i++)
		for (size_t j = 0; j < model->n_workloads; j++) {
			const struct hes_model_job pair[2] = { { &model->workloads[i], 16, 50 },
							       { &model->workloads[j], 16, 50 } };
			struct hes_instant now;
			double one, two;

			if (!model->workloads[i].testbed || !model->workloads[j].testbed)
				continue;
			one = rate_with(model, g, 0, pair, 1, &now) /
			      rate_with(model, g, 0, pair, 2, &now);
			two = rate_with(second, g, 0, pair, 1, &now) /
			      rate_with(second, g, 0, pair, 2, &now);
			assert_true(two > 0.8 && two < 5);
			differs += fabs(log(one / two));
			n++;
		}
	assert_true(differs / (double)n > 0.02);
	hes_model_free(second);
}

int main(void)
{
	return run_unit_tests(load, unload);
}
