/*
 * test_model.c - the physics: what must hold for all parameters, errors that name their place, and
 * points drawn from the physics.
 */
#include <math.h>

#include "base/file.h"
#include "base/rng.h"
#include "heshare/draw.h"
#include "core/row.h"
#include "measured/measured.h"
#include "model/params.h"
#include "model_bench.h"

static double rate_of(const struct hes_gpu_type *g, uint32_t mhz, const struct hes_model_job *r,
		      size_t n)
{
	struct hes_rate rates[HES_MODEL_MAX_JOBS];

	instant(model, g, mhz, 0, r, n, rates);
	return rates[0].iterations_per_s;
}

/* Call @body for every workload of the testbed on every GPU type at three batch sizes. */
static void everywhere(void (*body)(const struct hes_gpu_type *g, struct hes_model_job r))
{
	static const uint32_t batches[] = { 1, 8, 64 };

	for (size_t t = 0; t < types.n; t++)
		for (size_t i = 0; i < hes_model_workloads(model); i++)
			for (size_t b = 0; b < 3 && hes_model_workload_at(model, i)->testbed; b++)
				body(&types.types[t],
				     (struct hes_model_job){ hes_model_workload_at(model, i),
							     batches[b], 100 });
}

TEST(the_testbed_is_table_iv)
{
	static const char *const names[] = {
		"resnet152",   "resnet101",   "resnet50",    "resnet34",    "resnet18",
		"densenet121", "densenet161", "densenet201", "vgg19",       "vgg16",
		"mobilenet",   "mobilenetv2", "bert-large",  "transformer", "gpt2",
	};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_true(workload(names[i])->testbed);
	for (size_t i = 0; i < hes_model_workloads(model); i++)
		n += hes_model_workload_at(model, i)->testbed;
	assert_int_equal(n, 15);
	assert_string_equal(hes_load_class_name(workload("bert-large")->load), "high");
	assert_string_equal(hes_load_class_name(workload("densenet201")->load), "medium");
	assert_string_equal(hes_load_class_name(workload("mobilenet")->load), "low");
	for (size_t t = 0; t < types.n; t++)
		assert_true(hes_model_knows_gpu(model, types.types[t].name));
}

static void more_share(const struct hes_gpu_type *g, struct hes_model_job r)
{
	double before = 0;

	for (r.sm_pct = 5; r.sm_pct <= 100; r.sm_pct += 5) {
		double rate = rate_of(g, 0, &r, 1);

		assert_true(rate >= before * (1 - 1e-6)); /* a limited clock is as exact as the
							     power, to a millionth */
		before = rate;
	}
}

TEST(a_larger_share_is_never_slower)
{
	everywhere(more_share);
}

static void more_clock(const struct hes_gpu_type *g, struct hes_model_job r)
{
	struct hes_rate rate;
	double before = 0, power = 0;

	for (size_t i = 0; i < g->n_clocks; i++) {
		struct hes_instant now = instant(model, g, g->clocks_mhz[i], 0, &r, 1, &rate);

		assert_true(rate.iterations_per_s >= before * (1 - 1e-5));
		assert_true(now.power_mw >= power * (1 - 1e-5) - 1);
		assert_true(now.clock_mhz <= g->clocks_mhz[i]);
		before = rate.iterations_per_s;
		power = now.power_mw;
	}
}

TEST(a_higher_clock_is_never_slower_and_never_draws_less)
{
	everywhere(more_clock);
}

static void within_limits(const struct hes_gpu_type *g, struct hes_model_job r)
{
	const struct hes_model_job all[] = { r, r, r };
	struct hes_rate rates[3];

	for (uint32_t n = 0; n <= 3; n++) {
		struct hes_instant now = instant(model, g, 0, 0, all, n, rates);
		double sm = 0, dram = 0, l2 = 0;

		assert_true(now.power_mw >= g->idle_power_mw &&
			    now.power_mw <= g->power_limit_mw + 1);
		assert_true(now.throttled ? now.clock_mhz < g->clock_default_mhz
					  : now.clock_mhz + 1 >= g->clock_default_mhz);
		for (uint32_t i = 0; i < n; i++) {
			sm += rates[i].sm_util;
			dram += rates[i].dram_util;
			l2 += rates[i].l2_util;
			assert_true(rates[i].iterations_per_s > 0);
		}
		assert_true(sm <= 1 + 1e-9 && dram <= 1 + 1e-9 && l2 <= 1 + 1e-9);
	}
}

TEST(power_is_between_idle_and_limit_and_no_part_is_used_twice)
{
	everywhere(within_limits);
}

TEST(an_idle_gpu_draws_its_idle_power)
{
	for (size_t t = 0; t < types.n; t++)
		assert_int_equal(instant(model, &types.types[t], 0, 0, NULL, 0, NULL).power_mw,
				 types.types[t].idle_power_mw);
}

static void draw_jobs(struct hes_rng *rng, uint32_t least, uint32_t step, uint32_t n_steps,
		      struct hes_model_job r[4])
{
	for (size_t i = 0; i < 4; i++) {
		const struct hes_workload *w = hes_model_workload_at(model, hes_rng_below(rng, 15));
		const uint32_t batch = 1u << hes_rng_below(rng, 7);

		r[i] = (struct hes_model_job){
			w, batch, least + step * (uint32_t)hes_rng_below(rng, n_steps)
		};
	}
}

/* Random sets of up to four jobs whose shares sum to 100 % at most. */
TEST(a_co_runner_never_speeds_up_a_job)
{
	struct hes_rng rng;

	hes_rng_seed(&rng, 7);
	for (int k = 0; k < 5000; k++) {
		const struct hes_gpu_type *g = &types.types[hes_rng_below(&rng, types.n)];
		double before = INFINITY;
		struct hes_model_job r[4];

		draw_jobs(&rng, 10, 5, 4, r);
		for (size_t n = 1; n <= 4; n++) {
			double rate = rate_of(g, 0, r, n);

			if (rate > before * (1 + 1e-6))
				fail_msg("%s on %s: %g/s, and %g/s with co-runner %s",
					 r[0].workload->name, g->name, before, rate,
					 r[n - 1].workload->name);
			before = rate;
		}
	}
}

/*
 * Above 100 %, a power limit can let the clock rise. A newcomer can also slow down others that the
 * job waits for, in few sets by more than it costs itself.
 */
TEST(where_shares_exceed_the_gpu_hardly_any_co_runner_speeds_up_a_job_beyond_its_clock)
{
	struct hes_rate rates[HES_MODEL_MAX_JOBS];
	struct hes_rng rng;
	int faster = 0, joins = 0;

	hes_rng_seed(&rng, 7);
	for (int k = 0; k < 5000; k++) {
		const struct hes_gpu_type *g = &types.types[hes_rng_below(&rng, types.n)];
		double before = 0, clock = 0;
		struct hes_model_job r[4];

		draw_jobs(&rng, 10, 10, 10, r);
		for (size_t n = 1; n <= 4; n++) {
			struct hes_instant now = instant(model, g, 0, 0, r, n, rates);
			double ratio = n > 1 ? rates[0].iterations_per_s / before /
						       fmax(1, now.clock_mhz / clock)
					     : 1;

			if (ratio > 1.15)
				fail_msg("%s on %s: %g times as fast with co-runner %s",
					 r[0].workload->name, g->name, ratio,
					 r[n - 1].workload->name);
			joins += n > 1;
			faster += ratio > 1.01;
			before = rates[0].iterations_per_s;
			clock = now.clock_mhz;
		}
	}
	assert_true(faster < joins / 500);
}

#define NO_LIMIT_MW 10000000

/* Compute without stalls: all that moves follows clock and voltage. */
TEST(near_the_top_the_power_of_computing_grows_with_about_the_cube_of_the_clock)
{
	const struct hes_gpu_type *g = gpu("H100-SXM");
	struct hes_model_job r = { workload("bert-large-fp16-graphs"), 32, 100 };
	const uint32_t low = g->clock_max_mhz * 9 / 10, high = g->clock_max_mhz;
	struct hes_rate rate;
	double idle = instant(model, g, 0, 0, NULL, 0, NULL).power_mw,
	       a = instant(model, g, low, NO_LIMIT_MW, &r, 1, &rate).power_mw - idle,
	       b = instant(model, g, high, NO_LIMIT_MW, &r, 1, &rate).power_mw - idle,
	       power = log(b / a) / log((double)high / low);

	if (power < 2 || power > 4)
		fail_msg("%g", power);
}

/* The jobs of a GPU share one clock: each is as fast as if that clock were locked. */
TEST(a_power_limit_holds_one_clock_for_all_jobs_and_it_falls_as_they_join)
{
	const struct hes_gpu_type *g = gpu("H100-SXM");
	const struct hes_model_job r[] = { { workload("bert-large-fp16-graphs"), 32, 40 },
					   { workload("vgg19-fp16-graphs"), 32, 30 },
					   { workload("resnet50-fp16-graphs"), 32, 30 } };
	const uint32_t limit_mw = 300000;
	double before = g->clock_max_mhz + 1.0;

	for (size_t n = 1; n <= 3; n++) {
		struct hes_rate limited[3], locked[3];
		struct hes_instant now = instant(model, g, 0, limit_mw, r, n, limited),
				   same = instant(model, g, now.clock_mhz, NO_LIMIT_MW, r, n,
						  locked);

		assert_true(now.power_mw <= limit_mw + 1 && now.clock_mhz < before);
		assert_true(fabs((double)same.power_mw / now.power_mw - 1) < .01);
		for (size_t i = 0; i < n; i++)
			assert_true(fabs(locked[i].iterations_per_s / limited[i].iterations_per_s -
					 1) < .005);
		before = now.clock_mhz;
	}
	assert_true(before < .9 * g->clock_default_mhz);
}

/* Copies on the whole GPU: a further one adds throughput until the GPU is full, and then takes none
 * away. */
static void more_processes(const struct hes_gpu_type *g, struct hes_model_job r)
{
	const struct hes_model_job all[] = { r, r, r, r, r };
	struct hes_rate rates[5];
	double before = 0, power = 0;

	for (uint32_t n = 1; n <= 5; n++) {
		struct hes_instant now = instant(model, g, 0, 0, all, n, rates);
		double total = n * rates[0].iterations_per_s;

		assert_true(total >= before * 0.99);
		assert_true(now.power_mw >= power * 0.99);
		before = total;
		power = now.power_mw;
	}
}

TEST(many_processes_on_the_whole_gpu_lose_neither_throughput_nor_power)
{
	everywhere(more_processes);
}

/* In time slices both would be slowed down about alike. */
TEST(without_shares_a_job_of_many_short_kernels_waits_for_long_ones)
{
	const struct hes_gpu_type *g = gpu("V100-SXM2-32");
	const struct hes_model_job r[] = { { workload("mobilenetv2"), 64, 100 },
					   { workload("vgg19"), 64, 100 } };
	const struct hes_nature as_read = model->nature;
	double slices[2], turns[2];

	for (int i = 0; i < 2; i++) {
		const struct hes_model_job set[] = { r[i], r[1 - i] };
		struct hes_rate alone, together[2];

		instant(model, g, 0, 0, &r[i], 1, &alone);
		model->nature.crowding = 0;
		instant(model, g, 0, 0, set, 2, together);
		slices[i] = alone.iterations_per_s / together[0].iterations_per_s;
		model->nature.crowding = 1;
		instant(model, g, 0, 0, set, 2, together);
		turns[i] = alone.iterations_per_s / together[0].iterations_per_s;
		model->nature = as_read;
	}
	assert_true(turns[0] > 1.3 * slices[0] && turns[1] < .8 * slices[1]);
	assert_true(turns[0] > 2 * turns[1]);
}

/* While a co-runner only adds pressure on transfers, a larger one slows a job no less. */
TEST(a_larger_share_of_the_co_runner_never_speeds_up_a_job)
{
	double before = INFINITY;

	for (uint32_t share = 10; share <= 50; share += 5) {
		const struct hes_model_job r[] = { { workload("densenet121"), 16, 50 },
						   { workload("vgg19"), 16, share } };
		double rate = rate_of(gpu("H100-SXM"), 0, r, 2);

		assert_true(rate <= before * (1 + 1e-9));
		before = rate;
	}
}

TEST(the_order_of_co_runners_does_not_matter)
{
	const struct hes_model_job a[] = { { workload("vgg19"), 8, 60 },
					   { workload("bert-large"), 4, 40 } };
	const struct hes_model_job b[] = { a[1], a[0] };
	struct hes_rate x[2], y[2];

	instant(model, gpu("T4"), 0, 0, a, 2, x);
	instant(model, gpu("T4"), 0, 0, b, 2, y);
	assert_true(fabs(x[0].iterations_per_s / y[1].iterations_per_s - 1) < 1e-6);
	assert_true(fabs(x[1].iterations_per_s / y[0].iterations_per_s - 1) < 1e-6);
}

TEST(a_lower_limit_throttles)
{
	const struct hes_model_job r = { workload("vgg19"), 32, 100 };
	struct hes_rate free_run, held;
	struct hes_instant now;

	assert_false(instant(model, gpu("H100-SXM"), 0, 0, &r, 1, &free_run).throttled);
	now = instant(model, gpu("H100-SXM"), 0, 250000, &r, 1, &held);
	assert_true(now.throttled);
	assert_true(now.power_mw <= 250000 && now.power_mw > 230000);
	assert_true(held.iterations_per_s < free_run.iterations_per_s);
}

static void least_energy(const struct hes_gpu_type *g, struct hes_model_job r)
{
	struct hes_rate rate;
	double best = INFINITY;
	size_t at = 0;

	if (r.batch < 8)
		return;
	for (size_t i = 0; i < g->n_clocks; i++) {
		double energy = instant(model, g, g->clocks_mhz[i], 0, &r, 1, &rate).power_mw /
				rate.iterations_per_s;

		if (energy <
		    best * (1 - 1e-5)) { /* not where the power limit holds the clock anyway */
			best = energy;
			at = i;
		}
	}
	assert_true(at + 1 < g->n_clocks);
}

/* Dynamic energy falls with the voltage down to its knee; below, idle power over longer times wins.
 */
TEST(the_default_clock_never_takes_the_least_energy_at_large_batches)
{
	everywhere(least_energy);
}

TEST(a_loaded_v100_takes_least_energy_inside_its_clock_range)
{
	const struct hes_model_job r = { workload("resnet50"), 32, 100 };
	const struct hes_gpu_type *g = gpu("V100-PCIe");
	struct hes_rate rate;
	double energy[HES_MAX_CLOCKS], least = INFINITY;

	for (size_t i = 0; i < g->n_clocks; i++) {
		energy[i] = instant(model, g, g->clocks_mhz[i], 0, &r, 1, &rate).power_mw /
			    rate.iterations_per_s;
		least = fmin(least, energy[i]);
	}
	assert_true(least < 0.95 * energy[0]);
	assert_true(least < 0.85 * energy[g->n_clocks - 1]);
}

/* HeShare, section II-B: MobileNet hardly differs between GPUs, BERT more than fivefold. */
TEST(light_networks_gain_little_from_a_large_gpu_and_heavy_ones_much)
{
	struct hes_model_job r = { workload("mobilenet"), 1, 100 };

	assert_true(rate_of(gpu("A100-SXM-80"), 0, &r, 1) < 1.3 * rate_of(gpu("T4"), 0, &r, 1));
	r = (struct hes_model_job){ workload("bert-large"), 16, 100 };
	assert_true(rate_of(gpu("A100-SXM-80"), 0, &r, 1) > 5 * rate_of(gpu("T4"), 0, &r, 1));
	assert_true(rate_of(gpu("V100-PCIe"), 0, &r, 1) > 1.8 * rate_of(gpu("T4"), 0, &r, 1));
}

TEST(the_same_query_has_the_same_answer_to_the_bit)
{
	const struct hes_model_job r[] = { { workload("resnet50"), 8, 50 },
					   { workload("gpt2"), 2, 50 } };
	struct hes_rate a[2], b[2];
	struct hes_instant x = instant(model, gpu("T4"), 900, 0, r, 2, a),
			   y = instant(model, gpu("T4"), 900, 0, r, 2, b);

	assert_memory_equal(a, b, sizeof(a));
	assert_int_equal(x.power_mw, y.power_mw);
	assert_int_equal(x.clock_mhz, y.clock_mhz);
}

static void refused(int code, const struct hes_gpu_type *g, uint32_t mhz, uint32_t limit,
		    const struct hes_model_job *r, size_t n, const char *words)
{
	struct hes_rate rates[HES_MODEL_MAX_JOBS + 1], untouched[HES_MODEL_MAX_JOBS + 1];
	struct hes_instant out = { 1, 2, true };
	struct hes_err err = { 0 };

	memset(rates, 7, sizeof(rates));
	memset(untouched, 7, sizeof(untouched));
	assert_int_equal(hes_model_instant(model, g, mhz, limit, r, n, rates, &out, &err), code);
	assert_non_null(strstr(err.msg, words));
	assert_int_equal(out.power_mw, 1);
	assert_memory_equal(rates, untouched, sizeof(rates));
}

TEST(what_cannot_be_is_refused_and_changes_nothing)
{
	const struct hes_workload *w = workload("resnet50");
	struct hes_model_job r[HES_MODEL_MAX_JOBS + 1];
	const struct hes_gpu_type *g = gpu("T4");
	struct hes_gpu_type unknown = *g;

	for (size_t i = 0; i <= HES_MODEL_MAX_JOBS; i++)
		r[i] = (struct hes_model_job){ w, 1, 10 };
	strcpy(unknown.name, "K80");
	refused(-E2BIG, g, 0, 0, r, HES_MODEL_MAX_JOBS + 1, "at most 8");
	refused(-ENOENT, &unknown, 0, 0, r, 1, "K80");
	refused(-ERANGE, g, 2000, 0, r, 1, "2000 MHz; T4 runs from 300 to 1590");
	refused(-EINVAL, g, 0, 9000, r, 1, "not above the idle power");
	r[1].batch = 0;
	refused(-EINVAL, g, 0, 0, r, 2, "batch size 0");
	r[0].sm_pct = 0;
	refused(-EINVAL, g, 0, 0, r, 1, "SM share 0 %");
	r[0].sm_pct = 101;
	refused(-EINVAL, g, 0, 0, r, 1, "SM share 101 %");
}

TEST(an_unknown_workload_is_answered_with_the_testbeds)
{
	struct hes_err err;

	assert_null(hes_model_workload(model, "resnet51", &err));
	assert_int_equal(err.code, -ENOENT);
	assert_non_null(strstr(err.msg, "resnet50"));
}

TEST(memory_grows_with_the_batch)
{
	const struct hes_workload *w = workload("resnet50");

	assert_true(hes_workload_memory_mib(w, 64) > hes_workload_memory_mib(w, 1));
	assert_true(hes_workload_memory_mib(w, 64) < gpu("T4")->memory_mib);
}

/* Load the built-in parameters with one piece of text replaced. */
static int load_changed(const char *from, const char *to, struct hes_err *err)
{
	char path[] = "/tmp/hes-physics-XXXXXX", source[1024], *text, *at;
	struct hes_model *m = NULL;
	int fd = mkstemp(path), rc;
	size_t len;
	FILE *f;

	assert_true(fd >= 0);
	snprintf(source, sizeof(source), "%s/data/physics.yaml", getenv("HES_SOURCE_ROOT"));
	assert_int_equal(hes_file_slurp(source, 1 << 20, &text, &len, err), 0);
	at = strstr(text, from);
	assert_non_null(at);
	f = fdopen(fd, "w");
	assert_non_null(f);
	fprintf(f, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
	fclose(f);
	rc = hes_model_load(path, &m, err);
	assert_true((rc == 0) == (m != NULL));
	hes_model_free(m);
	free(text);
	unlink(path);
	return rc;
}

TEST(bad_parameters_are_named_by_file_entry_and_field)
{
	struct hes_err err;

	if (!getenv("HES_SOURCE_ROOT"))
		skip();
	assert_int_equal(load_changed("rate_fp32: 128", "rate_fp32: nan", &err), -ERANGE);
	assert_non_null(strstr(err.msg, "/tmp/hes-physics-"));
	assert_non_null(strstr(err.msg, "T4: rate_fp32 is nan"));
	assert_int_equal(load_changed("name: resnet50\n", "name: resnet152\n", &err), -EEXIST);
	assert_non_null(strstr(err.msg, "resnet152 is given twice"));
	assert_int_equal(load_changed("volt_knee:", "volt_knie:", &err), -EINVAL);
	assert_non_null(strstr(err.msg, "volt_knie"));
	assert_int_equal(load_changed("rate_fp32: 128", "rate_fp32: 127", &err), 0);
}

/* --- points drawn from the model --- */

static struct hes_model_job job(const char *name, uint32_t batch, uint32_t sm_pct)
{
	return (struct hes_model_job){ workload(name), batch, sm_pct };
}

static void draw(double noise, uint64_t seed, uint32_t mhz, const struct hes_model_job *r, size_t n,
		 struct hes_point *rows)
{
	const struct hes_draw d = { .model = model, .noise = noise, .seed = seed };
	struct hes_err err;

	if (hes_draw_point(&d, gpu("V100-SXM2-32"), mhz, r, n, rows, &err))
		fail_msg("%s", err.msg);
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-8 * fabs(b);
}

TEST(a_point_alone_is_what_the_physics_says)
{
	const struct hes_model_job r = job("bert-large", 8, 60);
	struct hes_instant now;
	struct hes_rate rate;
	struct hes_point p;

	draw(0, 1, 1200, &r, 1, &p);
	assert_int_equal(
		hes_model_instant(model, gpu("V100-SXM2-32"), 1200, 0, &r, 1, &rate, &now, NULL),
		0);
	assert_string_equal(p.workload, "bert-large");
	assert_string_equal(p.gpu_type, "V100-SXM2-32");
	assert_string_equal(p.co_runners, "");
	assert_string_equal(p.command, "");
	assert_int_equal(p.batch_size, 8);
	assert_int_equal(p.sm_pct, 60);
	assert_int_equal(p.clock_mhz, 1200);
	assert_true(near(p.iteration_us, 1e6 / rate.iterations_per_s));
	assert_int_equal(p.power_mw, now.power_mw);
	assert_int_equal((uint32_t)(p.held_mhz + 1e-3), now.clock_mhz);
	assert_true(p.capped == 0 && !now.throttled);
	assert_true(near(p.busy, rate.busy) && near(p.sm_active, rate.sm_util) &&
		    near(p.dram_active, rate.dram_util));
	assert_true(p.memory_mib == hes_workload_memory_mib(r.workload, 8));
	assert_true(near(p.sm_occupancy, rate.occupancy));
	assert_true(p.fp32_active > 0.1 && p.tensor_active == 0); /* a V100 has no TF32 */
	assert_true(p.windows > 0 && p.seconds > 0 && p.cv == 0 && p.power_cv == 0);
	assert_true(p.pcie_rx_mibs > 8 * r.workload->copy_mib_per_item * rate.iterations_per_s);
}

/* An H100 showed them: a graph of kernels, 32 items, at all SMs and at a fifth; then one item. */
TEST(warps_follow_blocks_and_kernels_not_the_sms_alone)
{
	const struct hes_model_job shares[] = { job("resnet50", 32, 100), job("resnet50", 32, 20),
						job("resnet50", 1, 100) };
	double warps[3]; /* on an SM with work, of those that fit */
	struct hes_point p;

	for (size_t i = 0; i < 3; i++) {
		draw(0, 1, 0, &shares[i], 1, &p);
		warps[i] = p.sm_occupancy / p.sm_active;
		assert_true(warps[i] > 0 && warps[i] <= 1);
	}
	assert_true(warps[1] > warps[0]);        /* as many blocks on fewer SMs */
	assert_true(warps[2] < 0.75 * warps[0]); /* few blocks, short kernels */
}

/* An H100 showed 1.25 to 1.46 times the bandwidth used, alone and together, at every share. */
TEST(memory_is_busy_for_longer_than_its_bandwidth_is_used)
{
	const struct hes_model_job r[] = { job("resnet50", 8, 20), job("bert-large", 4, 80),
					   job("vgg19-trt8", 32, 100) };
	struct hes_point alone, both[2];

	for (size_t i = 0; i < 3; i++) {
		draw(0, 1, 0, &r[i], 1, &alone);
		assert_true(alone.memory_busy > 1.1 * alone.dram_active &&
			    alone.memory_busy < 1.5 * alone.dram_active && alone.memory_busy < 1);
	}
	draw(0, 1, 0, r, 1, &alone);
	draw(0, 1, 0, r, 2, both);
	assert_true(both[0].memory_busy > alone.memory_busy && both[0].memory_busy <= 1);
}

TEST(pcie_carries_launches_as_well_as_copies_and_answers_to_both)
{
	const struct hes_model_job r[] = { job("gpt2", 1, 100), job("vgg19", 32, 100) };
	struct hes_point launches, copies;

	draw(0, 1, 0, &r[0], 1, &launches);
	draw(0, 1, 0, &r[1], 1, &copies);
	assert_true(launches.pcie_rx_mibs >
		    10 * r[0].workload->copy_mib_per_item * (1e6 / launches.iteration_us));
	assert_true(launches.pcie_tx_mibs > 0 && copies.pcie_tx_mibs > 0);
	assert_true(launches.pcie_tx_mibs / launches.pcie_rx_mibs <
		    copies.pcie_tx_mibs / copies.pcie_rx_mibs);
}

TEST(without_a_clock_the_types_default_holds_and_a_power_limit_shows)
{
	const struct hes_model_job r = job("vgg19-trt8", 32, 100);
	struct hes_point p;

	draw(0, 1, 0, &r, 1, &p);
	assert_int_equal(p.clock_mhz, gpu("V100-SXM2-32")->clock_default_mhz);
	assert_true(p.capped == 1 && p.held_mhz < p.clock_mhz - 1);
	assert_true(p.fp32_active <= 1); /* Winograd: more operations than the pipes do */
}

TEST(rows_of_a_co_run_set_agree_in_what_belongs_to_the_gpu)
{
	const struct hes_model_job r[] = { job("resnet50", 4, 30), job("bert-large", 2, 50),
					   job("mobilenetv2", 1, 20) };
	struct hes_point p[3], a, b;

	draw(0.017, 3, 1005, r, 3, p);
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(p[i].workload, r[i].workload->name);
		assert_int_equal(p[i].batch_size, r[i].batch);
		assert_int_equal(p[i].sm_pct, r[i].sm_pct);
		assert_true(isnan(p[i].memory_mib) && p[i].iteration_us > 0);
	}
	assert_string_equal(p[0].co_runners, "bert-large/2@50,mobilenetv2/1@20");
	assert_string_equal(p[1].co_runners, "mobilenetv2/1@20,resnet50/4@30");
	assert_string_equal(p[2].co_runners, "bert-large/2@50,resnet50/4@30");
	/* Without what is a job's own, rows are the same to the last bit, missing readings too. */
	for (size_t i = 1; i < 3; i++) {
		a = p[0];
		b = p[i];
		memset(a.workload, 0, sizeof(a.workload));
		memset(b.workload, 0, sizeof(b.workload));
		memset(a.co_runners, 0, sizeof(a.co_runners));
		memset(b.co_runners, 0, sizeof(b.co_runners));
		b.batch_size = a.batch_size;
		b.sm_pct = a.sm_pct;
		b.iteration_us = a.iteration_us;
		assert_memory_equal(&a.clock_mhz, &b.clock_mhz, sizeof(a.clock_mhz));
		assert_memory_equal(&a.command, &b.command,
				    sizeof(a) - offsetof(struct hes_point, command));
		assert_string_equal(a.gpu_type, b.gpu_type);
	}
}

TEST(noise_does_not_depend_on_the_order_of_calls_or_jobs)
{
	const struct hes_model_job r[] = { job("resnet50", 4, 30), job("bert-large", 2, 50) },
				   turned[] = { r[1], r[0] };
	struct hes_point first[2], later[2], other[2];

	draw(0.05, 7, 0, r, 2, first);
	draw(0.05, 7, 1005, r, 2, other);
	draw(0.05, 7, 0, turned, 2, later);
	assert_true(first[0].iteration_us == later[1].iteration_us &&
		    first[1].iteration_us == later[0].iteration_us);
	assert_int_equal(first[0].power_mw, later[0].power_mw);
	draw(0.05, 8, 0, r, 2, other);
	assert_true(other[0].iteration_us != first[0].iteration_us &&
		    other[0].power_mw != first[0].power_mw);
}

/* What a workload, a clock, a share or a co-runner changes in noise alone. */
TEST(every_setting_has_noise_of_its_own)
{
	const struct hes_model_job r[] = { job("resnet50", 4, 30), job("resnet50", 4, 30) };
	const struct hes_model_job another = job("vgg16", 4, 30);
	struct hes_point with[2], without[2];
	double factor[3];

	draw(0.05, 7, 0, &another, 1, with);
	draw(0, 7, 0, &another, 1, without);
	factor[2] = with[0].iteration_us / without[0].iteration_us;
	draw(0.05, 7, 0, r, 1, with);
	draw(0, 7, 0, r, 1, without);
	assert_true(factor[2] != with[0].iteration_us / without[0].iteration_us);
	for (uint32_t i = 0; i < 3; i++) {
		draw(0.05, 7, i == 1 ? 1005 : 0, r, i == 2 ? 2 : 1, with);
		draw(0, 7, i == 1 ? 1005 : 0, r, i == 2 ? 2 : 1, without);
		factor[i] = with[0].iteration_us / without[0].iteration_us;
	}
	assert_true(factor[0] != factor[1] && factor[0] != factor[2] && factor[1] != factor[2]);
	/* Two of a kind are measured one by one. */
	assert_true(with[0].iteration_us != with[1].iteration_us &&
		    without[0].iteration_us == without[1].iteration_us);
}

TEST(noise_has_the_requested_coefficient_of_variation)
{
	enum { N = 4000 };
	const struct hes_model_job r = job("resnet50", 4, 30);
	struct hes_point p, exact;
	double sum = 0, squares = 0, watts = 0, power_squares = 0;

	draw(0, 0, 0, &r, 1, &exact);
	for (uint64_t seed = 0; seed < N; seed++) {
		double x, y;

		draw(0.04, seed, 0, &r, 1, &p);
		x = p.iteration_us / exact.iteration_us - 1;
		y = (double)p.power_mw / exact.power_mw - 1;
		sum += x;
		squares += x * x;
		watts += y;
		power_squares += y * y;
	}
	assert_true(fabs(sum / N) < 0.003 && fabs(watts / N) < 0.003);
	assert_true(fabs(sqrt(squares / N) - 0.04) < 0.002 &&
		    fabs(sqrt(power_squares / N) - 0.04) < 0.002);
}

TEST(drawn_points_come_back_from_a_file_as_they_were)
{
	const struct hes_model_job r[] = { job("resnet50", 4, 30), job("bert-large", 2, 50) };
	char path[] = "/tmp/heshare-points-XXXXXX";
	struct hes_point drawn[2];
	struct hes_points in = { drawn, 2 }, out;
	struct hes_err err;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	draw(0.017, 3, 0, r, 2, drawn);
	assert_int_equal(hes_rows_save(&hes_point_table, path, in.v, in.n, &err), 0);
	if (hes_points_load(path, &out, &err))
		fail_msg("%s", err.msg);
	unlink(path);
	assert_int_equal(out.n, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_string_equal(out.v[i].co_runners, drawn[i].co_runners);
		assert_true(out.v[i].iteration_us == drawn[i].iteration_us &&
			    out.v[i].power_mw == drawn[i].power_mw);
		assert_true(out.v[i].sm_active == drawn[i].sm_active &&
			    out.v[i].held_mhz == drawn[i].held_mhz);
		assert_true(out.v[i].sm_occupancy == drawn[i].sm_occupancy &&
			    isnan(out.v[i].memory_mib));
	}
	hes_points_free(&out);
}

TEST(what_cannot_be_measured_is_refused_and_writes_no_row)
{
	const struct hes_draw d = { .model = model }, noisy = { .model = model, .noise = 0.6 };
	const struct hes_gpu_type *g = gpu("T4");
	struct hes_model_job r[HES_MODEL_MAX_JOBS + 1];
	struct hes_point rows[HES_MODEL_MAX_JOBS + 1], before[HES_MODEL_MAX_JOBS + 1];
	struct hes_err err;

	for (size_t i = 0; i < HES_MODEL_MAX_JOBS + 1; i++)
		r[i] = job("vgg19", 64, 10);
	memset(rows, 0x5a, sizeof(rows));
	memcpy(before, rows, sizeof(rows));
	assert_int_equal(hes_draw_point(&d, g, 0, r, 8, rows, &err), -ENOSPC);
	assert_non_null(strstr(err.msg, "T4 has"));
	assert_int_equal(hes_draw_point(&d, g, 0, r, HES_MODEL_MAX_JOBS + 1, rows, &err), -E2BIG);
	assert_int_equal(hes_draw_point(&d, g, 0, r, 0, rows, &err), -EINVAL);
	assert_int_equal(hes_draw_point(&d, g, 9999, r, 1, rows, &err), -ERANGE);
	assert_int_equal(hes_draw_point(&noisy, g, 0, r, 1, rows, &err), -EINVAL);
	r[0].sm_pct = 101;
	assert_int_equal(hes_draw_point(&d, g, 0, r, 1, rows, &err), -EINVAL);
	assert_memory_equal(rows, before, sizeof(rows));
}

TEST(a_bare_loop_copies_nothing_and_moves_half_the_bytes_in_fp16)
{
	struct hes_model *m;
	size_t derived = 0, measured = 0;

	assert_int_equal(hes_model_load(NULL, &m, NULL), 0);
	assert_int_equal(hes_model_add_inference(m, NULL), 0);
	for (size_t i = 0, n = hes_model_workloads(model); i < n; i++) {
		const struct hes_workload *of = hes_model_workload_at(model, i), *graphs, *w;
		char name[HES_NAME_MAX];

		hes_inference_name(name, of->name, "fp16", HES_STYLE_GRAPHS);
		graphs = hes_model_workload(m, name, NULL);
		hes_inference_name(name, of->name, "fp16", HES_STYLE_EAGER);
		w = hes_model_workload(m, name, NULL);
		if (!of->testbed || !w || strcmp(w->origin, "derived") != 0)
			continue;
		derived++;
		assert_true(w->serial_us == 0 && w->serial_us_per_item == 0 &&
			    w->copy_mib_per_item == 0 && !w->testbed);
		assert_true(w->traffic_mib == of->traffic_mib / 2 &&
			    w->working_set_mib == of->working_set_mib / 2);
		/* A GPU may have shown the traffic of the graphs, and the eager program has it too.
		 */
		assert_true(w->traffic_mib_per_item == graphs->traffic_mib_per_item);
		measured += strcmp(graphs->origin, "derived") != 0;
		assert_true(strcmp(graphs->origin, "derived") != 0 ||
			    w->traffic_mib_per_item == of->traffic_mib_per_item / 2);
	}
	assert_true(measured > 0 && derived > measured);
	hes_model_free(m);
}

int main(void)
{
	return run_unit_tests(load, unload);
}
