/*
 * test_derive_type.c - GPU types that nobody measured, and what a power cap costs on those that
 * were.
 */
#include <math.h>

#include "model/params.h"
#include "model_bench.h"

TEST(types_that_nobody_measured_are_derived_from_the_measured_type_most_like_them)
{
	static const struct {
		const char *type, *from;
		double fp32, tf32, fp16;
	} cases[] = {
		{ "A100-SXM-40", "A100-SXM-80", 1, 1, 1 }, { "A10", "A40", 1, 1, 1 },
		{ "GeForce-RTX-3090", "A40", 1, 1, 1 },    { "B200", "H100-SXM", 1, 2, 2 },
		{ "Jetson-AGX-Orin-64", "A40", 1, 1, 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct hes_gpu_physics *p = hes_model_gpu(model, cases[i].type),
					     *from = hes_model_gpu(model, cases[i].from);

		assert_string_equal(p->origin, HES_MODEL_DERIVED);
		/* Of FP32, what the generations sustain that share its cores with integers; the A40
		 * is one of them. */
		assert_true(
			fabs(p->rate[HES_MATH_FP32] / (cases[i].fp32 * from->rate[HES_MATH_FP32]) -
			     1) < .15);
		if (cases[i].tf32 > 0)
			assert_true(p->rate[HES_MATH_TF32] ==
				    cases[i].tf32 * from->rate[HES_MATH_TF32]);
		assert_true(
			fabs(p->rate[HES_MATH_FP16] / (cases[i].fp16 * from->rate[HES_MATH_FP16]) -
			     1) < 1e-9);
		assert_true(p->volt_knee == from->volt_knee && p->stall == from->stall);
	}
	/* The same chip with another limit draws the same until the limit holds it. */
	assert_true(hes_model_gpu(model, "A100-SXM-40")->switch_w ==
		    hes_model_gpu(model, "A100-SXM-80")->switch_w);
	/* A voltage curve is the generation's, whatever the memory. */
	assert_true(hes_model_gpu(model, "A30")->volt_min ==
		    hes_model_gpu(model, "A100-PCIe-40")->volt_min);
}

TEST(a_type_with_another_memory_size_alone_counts_as_the_measured_one)
{
	const struct hes_gpu_type *type = gpu("V100-PCIe-32");
	const struct hes_gpu_physics *p = hes_model_gpu(model, "V100-PCIe-32");
	struct hes_gpu_physics from = *hes_model_gpu(model, "V100-PCIe");
	char derived[64];

	strcpy(from.type, p->type);
	assert_memory_equal(p, &from, sizeof(from));
	hes_model_derived(model, &type, 1, derived, sizeof(derived));
	assert_string_equal(derived, "");
}

TEST(a_small_gpu_on_pcie_is_not_derived_from_the_jetson)
{
	struct hes_gpu_type small = { .name = "Quadro-P620",
				      .compute = 61,
				      .sm_count = 5,
				      .memory_mib = 2048,
				      .memory_bandwidth_gbs = 80,
				      .l2_kib = 1024,
				      .pcie_gbs = 12,
				      .power_limit_mw = 75000,
				      .idle_power_mw = 5000,
				      .clock_min_mhz = 139,
				      .clock_max_mhz = 1354,
				      .clock_default_mhz = 1354 };
	struct hes_catalogue c;
	struct hes_model *own;
	struct hes_err err;

	assert_int_equal(hes_model_load(NULL, &own, &err) || hes_catalogue_load(NULL, &c, &err) ||
				 hes_catalogue_put(&c, &small, 1, &err),
			 0);
	assert_int_equal(hes_model_derive(own, &c, &err), 0);
	assert_true(hes_model_gpu(own, "Quadro-P620")->context_w > 1 &&
		    hes_model_gpu(own, "Quadro-P620")->dram_w > 1);
	hes_model_free(own);
	hes_catalogue_free(&c);
}

/* An A40 at a third of its limit: 2.8 times the time for 39 % more energy in Zeus's table, and a
 * V100 saves (NSDI 2023). */
TEST(a_low_cap_costs_energy_on_a_gpu_with_gddr6_and_saves_it_on_one_with_hbm)
{
	const struct {
		const char *type;
		bool costs;
	} cases[] = { { "A40", true }, { "V100-PCIe", false } };

	for (size_t i = 0; i < 2; i++) {
		const struct hes_gpu_type *g = gpu(cases[i].type);
		struct hes_model_job r = { workload("resnet50-imagenet-zeus"), 128, 100 };
		struct hes_rate full, capped;
		struct hes_instant at_full = instant(model, g, 0, 0, &r, 1, &full),
				   at_cap = instant(model, g, 0, 100000, &r, 1, &capped);
		double energy = at_cap.power_mw / capped.iterations_per_s /
				(at_full.power_mw / full.iterations_per_s);

		assert_true(cases[i].costs ? energy > 1.2 : energy < 0.95);
	}
}

/* GDDR6 draws a seventh (Turing) to a fifth (Ampere) of the power above idle as soon as there is a
 * context, HBM of an A100 nearly nothing. */
TEST(types_without_measurements_take_static_power_from_those_with_their_kind_of_memory)
{
	static const struct {
		const char *type;
		double least, most;
	} cases[] = {
		{ "T4", .14, .18 },
		{ "L4", .16, .2 }, /* no type of its generation: the mean of all with GDDR6 */
		{ "A10G", .2, .25 },
		{ "GeForce-RTX-3090", .2, .25 },
		{ "GeForce-RTX-2080-Ti", .14, .18 },
		{ "A30", 0, .05 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct hes_gpu_type *g = gpu(cases[i].type);
		double part = hes_model_gpu(model, g->name)->context_w * 1e3 /
			      (g->power_limit_mw - g->idle_power_mw);

		assert_true(part > cases[i].least && part < cases[i].most);
	}
}

static double switching_of_an_sm(const struct hes_gpu_physics *p)
{
	return p->switch_w / gpu(p->type)->sm_count / gpu(p->type)->clock_max_mhz;
}

/* Of an A40 that nobody measured: no type of another generation says what its memory draws and
 * where its voltage ends, so both are means. A V100's memory is like a P100's, not like Turing's.
 */
static void expect_means(const struct hes_gpu_physics *p)
{
	const struct hes_gpu_physics *turing = hes_model_gpu(model, "Quadro-RTX-8000");

	if (strcmp(p->type, "A40") == 0)
		assert_true(p->dram_w / gpu("A40")->memory_bandwidth_gbs >
				    1.2 * turing->dram_w /
					    gpu(turing->type)->memory_bandwidth_gbs &&
			    p->volt_min > hes_model_gpu(model, "A100-PCIe-40")->volt_min &&
			    p->volt_min < hes_model_gpu(model, "A100-SXM-80")->volt_min);
	if (strncmp(p->type, "V100", 4) == 0)
		assert_true(p->context_w < .5 * turing->context_w);
}

/* As the check leaves each measured type out: derived from others, not from itself. */
TEST(a_measured_type_can_be_derived_as_if_nobody_had_measured_it)
{
	bool seen = false;

	for (size_t i = 0; i < model->n_left_out; i++) {
		const struct hes_gpu_physics *p = &model->left_out[i];

		assert_string_equal(p->origin, HES_MODEL_DERIVED);
		assert_string_not_equal(hes_model_gpu(model, p->type)->origin, HES_MODEL_DERIVED);
		expect_means(p);
		/* Its chip is of the A100's generation. */
		if (strcmp(p->type, "A40") == 0)
			assert_true(fabs(switching_of_an_sm(p) / switching_of_an_sm(hes_model_gpu(
									 model, "A100-PCIe-40")) -
					 1) < 1e-9);
		if (strcmp(p->type, "V100-SXM2-32"))
			continue;
		seen = true;
		assert_true(p->volt_bend != hes_model_gpu(model, "V100-PCIe")->volt_bend &&
			    p->volt_bend != hes_model_gpu(model, p->type)->volt_bend);
	}
	assert_true(seen);
}

int main(void)
{
	return run_unit_tests(load, unload);
}
