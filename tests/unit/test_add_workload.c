/*
 * test_add_workload.c - a workload that only its profile or public facts describe: how near the
 * model then is, what the error to expect promises, and files of added workloads.
 */
#include <math.h>

#include "base/file.h"
#include "model/fit_profile.h"
#include "model/expected_error.h"
#include "measured/observe.h"
#include "model/workload_file.h"
#include "model_bench.h"

static char file[] = "/tmp/hes-workloads-XXXXXX";

/* Without types that were not measured. */
static int set_up(void **state)
{
	struct hes_err err;

	(void)state;
	close(mkstemp(file));
	return hes_model_load(NULL, &model, &err) || hes_catalogue_load(NULL, &types, &err);
}

static int tear_down(void **state)
{
	return unload(state) || unlink(file);
}

/* What a profile of @w would say, by the model itself, three GPU types and three batch sizes. */
static struct hes_profiles profiles_of(const struct hes_workload *w, const char *name,
				       struct hes_profile v[9])
{
	static const char *const on[] = { "T4", "V100-SXM2-32", "A100-SXM-80" };
	static const uint32_t batches[] = { 1, 8, 32 };

	for (size_t i = 0; i < 9; i++) {
		struct hes_model_job r = { w, batches[i % 3], 100 };
		struct hes_rate rate;
		struct hes_instant now = instant(model, gpu(on[i / 3]), 0, 0, &r, 1, &rate);

		v[i] = (struct hes_profile){
			.batch_size = r.batch,
			.memory_mib = hes_workload_memory_mib(w, r.batch),
			.clock_mhz = now.clock_mhz,
			.iteration_us = 1e6 / rate.iterations_per_s,
			.sm_util = rate.sm_util,
			.dram_util = rate.dram_util,
			.power_mw = now.power_mw,
		};
		snprintf(v[i].workload, HES_NAME_MAX, "%s", name);
		snprintf(v[i].gpu_type, HES_NAME_MAX, "%s", on[i / 3]);
	}
	return (struct hes_profiles){ v, 9 };
}

/* Workloads that no fit starts from, at settings that the profile does not have. */
TEST(a_workload_is_fitted_to_nine_points_of_its_profile)
{
	static const char *const names[] = { "alexnet-trt8", "bert-miso", "cifar10-sia",
					     "bert-base-trt-384" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct hes_model *own;
		struct hes_profile v[9];
		struct hes_profiles p = profiles_of(workload(names[i]), "mine", v);
		struct hes_model_fit fit;
		struct hes_err err;

		assert_int_equal(hes_model_load(NULL, &own, &err), 0);
		assert_int_equal(hes_model_add_workload(own, &types, "mine", NULL, &p, &fit, &err),
				 0);
		assert_string_equal(fit.workload, "mine");
		assert_int_equal(fit.points, 9);
		assert_true(fit.time_error < 0.12 && fit.power_error < 0.12);
		assert_false(hes_model_workload(own, "mine", NULL)->testbed);
		assert_true(abs((int)hes_workload_memory_mib(hes_model_workload(own, "mine", NULL),
							     16) -
				(int)hes_workload_memory_mib(workload(names[i]), 16)) <= 1);
		for (size_t t = 0; t < 9; t += 3) {
			const struct hes_gpu_type *g = gpu(v[t].gpu_type);
			struct hes_model_job is[2] = { { workload(names[i]), 16, 50 },
						       { workload("resnet50"), 16, 50 } };
			struct hes_model_job fitted[2] = {
				{ hes_model_workload(own, "mine", NULL), 16, 50 }, is[1]
			};
			struct hes_rate want[2], got[2];
			struct hes_instant power = instant(model, g, 900, 0, is, 2, want),
					   now = instant(own, g, 900, 0, fitted, 2, got);

			assert_true(fabs(got[0].iterations_per_s / want[0].iterations_per_s - 1) <
				    0.5);
			assert_true(fabs(got[1].iterations_per_s / want[1].iterations_per_s - 1) <
				    0.10);
			assert_true(fabs((double)now.power_mw / power.power_mw - 1) < 0.15);
		}
		hes_model_free(own);
	}
}

TEST(a_fit_takes_some_of_many_points)
{
	struct hes_profile v[9], many[3 * HES_MODEL_MAX_FIT_POINTS];
	struct hes_model_fit fit;
	struct hes_model *own;
	struct hes_err err;

	profiles_of(workload("vgg19"), "mine", v);
	for (size_t i = 0; i < 3 * HES_MODEL_MAX_FIT_POINTS; i++)
		many[i] = v[i * 9 / (3 * HES_MODEL_MAX_FIT_POINTS)];
	assert_int_equal(hes_model_load(NULL, &own, &err), 0);
	assert_int_equal(
		hes_model_add_workload(own, &types, "mine", NULL,
				       &(struct hes_profiles){ many, 3 * HES_MODEL_MAX_FIT_POINTS },
				       &fit, &err),
		0);
	assert_int_equal(fit.points, HES_MODEL_MAX_FIT_POINTS);
	/* The last ones, on another GPU type and with other batch sizes, count as well. */
	assert_true(fit.time_error < 0.03 && fit.power_error < 0.03);
	hes_model_free(own);
}

TEST(a_fit_reports_its_errors_and_expects_more_with_one_point)
{
	struct hes_expected_error nine;
	struct hes_model *own;
	struct hes_profile v[9];
	struct hes_profiles p = profiles_of(workload("vgg19"), "mine", v);
	struct hes_model_fit fit;
	struct hes_err err;
	size_t n;

	assert_int_equal(hes_model_load(NULL, &own, &err), 0);
	n = hes_model_workloads(own);
	/* Nothing is fast at batch size 8 alone: an error of 40 % cannot all be fitted away. */
	v[1].iteration_us *= 0.4;
	v[0].start_s = 10;
	v[1].start_s = 14;
	assert_int_equal(hes_model_add_workload(own, &types, "mine", NULL, &p, &fit, &err), 0);
	assert_true(hes_model_workload(own, "mine", NULL)->start_s == 12);
	assert_true(fit.time_error > 0.05 && fit.power_error < fit.time_error);
	nine = fit.expected;
	p.n = 1;
	snprintf(v[0].workload, HES_NAME_MAX, "one");
	assert_int_equal(hes_model_add_workload(own, &types, "one", NULL, &p, &fit, &err), 0);
	assert_int_equal(fit.points, 1);
	assert_true(fit.time_error < 0.1 && fit.power_error < 0.1);
	assert_true(fit.expected.time.high / fit.expected.time.low >
		    1.5 * nine.time.high / nine.time.low);
	assert_int_equal(hes_model_add_workload(own, &types, "one", NULL, &p, &fit, &err), -EEXIST);
	assert_int_equal(hes_model_add_workload(own, &types, "none", NULL, &p, &fit, &err),
			 -ENOENT);
	assert_non_null(strstr(
		err.msg,
		"workload none: the model does not know it, and it has no profile on a GPU type"));
	assert_int_equal(hes_model_workloads(own), n + 2);
	hes_model_free(own);
}

/* The model without a network and without its family. */
static struct hes_model *without(const char *family)
{
	struct hes_model *m;
	struct hes_err err;
	size_t n = 0;

	assert_int_equal(hes_model_load(NULL, &m, &err), 0);
	for (size_t i = 0; i < m->n_workloads; i++)
		if (strncmp(m->workloads[i].name, family, strlen(family)) != 0)
			m->workloads[n++] = m->workloads[i];
	m->n_workloads = n;
	return m;
}

/* Of everything that a network does alone and with others, what lies within the factors of the one
 * that was added instead. */
struct within {
	double time, power, cases;
};

static void count_within(const struct hes_model *own, const struct hes_workload *truth,
			 struct within *in)
{
	static const char *const on[] = { "T4", "V100-SXM2-32", "A100-SXM-80" };
	const struct hes_workload *added = hes_model_workload(own, "mine", NULL);

	for (size_t i = 0; i < 3 * 4 * 2 * 2; i++) {
		const uint32_t batch = 1U << 2 * (i / 3 % 4),
			       share = 50 * (1 + (uint32_t)(i / 12 % 2));
		const struct hes_model_job is[2] = { { truth, batch, share },
						     { workload("resnet152"), 16, 50 } };
		const struct hes_model_job guess[2] = { { added, batch, share }, is[1] };
		struct hes_rate want[2], got[2];
		double power = instant(model, gpu(on[i % 3]), 0, 0, is, 1 + i / 24, want).power_mw,
		       time;

		power /= instant(model, gpu(on[i % 3]), 0, 0, guess, 1 + i / 24, got).power_mw;
		time = got[0].iterations_per_s / want[0].iterations_per_s;
		in->time += time > added->time_factors.low && time < added->time_factors.high;
		in->power += power > added->power_factors.low && power < added->power_factors.high;
		in->cases++;
	}
}

static const struct {
	const char *name, *family;
} measured[] = {
	{ "resnet152", "resnet" },
	{ "resnet50", "resnet" },
	{ "resnet50-trt8", "resnet" },
	{ "densenet121", "densenet" },
	{ "densenet201", "densenet" },
	{ "vgg19", "vgg" },
	{ "vgg16", "vgg" },
	{ "vgg19-trt8", "vgg" },
	{ "mobilenetv2", "mobilenet" },
	{ "inceptionv3", "inception" },
	{ "bert-large", "bert" },
	{ "bert-base-trt-384", "bert" },
	{ "alexnet-trt8", "alexnet" },
	{ "ssd-trt8", "ssd" },
};

static struct hes_workload_facts facts_of(const struct hes_workload *w)
{
	return (struct hes_workload_facts){ .gflop_per_item = w->gflop_per_item,
					    .weights_mib = w->traffic_mib,
					    .kernels = w->kernels,
					    .has_math = true,
					    .math = w->math };
}

/* The factors come from the other families alone. */
static struct within coverage(bool facts, bool profile)
{
	struct within in = { 0 };

	for (size_t i = 0; i < N(measured); i++) {
		const struct hes_workload *truth = workload(measured[i].name);
		const struct hes_workload_facts known = facts_of(truth);
		struct hes_model *own = without(measured[i].family);
		struct hes_profile v[9];
		struct hes_profiles p = profiles_of(truth, "mine", v);
		struct hes_model_fit fit;
		struct hes_err err;

		assert_int_equal(hes_model_add_workload(own, &types, "mine", facts ? &known : NULL,
							profile ? &p : NULL, &fit, &err),
				 0);
		count_within(own, truth, &in);
		hes_model_free(own);
	}
	in.time /= in.cases;
	in.power /= in.cases;
	return in;
}

TEST(the_error_to_expect_holds_for_families_that_it_was_not_found_on)
{
	const struct within facts = coverage(true, false), profile = coverage(false, true),
			    both = coverage(true, true);

	assert_true(facts.time > 0.75 && facts.power > 0.75);
	assert_true(profile.time > 0.85 && profile.power > 0.85);
	assert_true(both.time > 0.85 && both.power > 0.85);
}

/* Nine solo times of a network, on slices with 1, 3 and 7 of 7 parts of an A100, and batches of 1,
 * 8 and 32. No watts, no counters. */
static size_t solo_times(const struct hes_observations *o, const struct hes_workload *w,
			 struct hes_profile v[9], struct hes_fit_point at[9])
{
	size_t n = 0;

	for (size_t i = 0; i < o->n && n < 9; i++) {
		const struct hes_setup *s = &o->v[i].at;
		const uint32_t batch = s->r[0].batch, sms = s->gpu.sm_count;

		if (o->v[i].series != HES_SERIES_PARVA_ALONE || s->r[0].workload != w ||
		    (batch != 1 && batch != 8 && batch != 32) ||
		    (sms != 14 && sms != 42 && sms != 98))
			continue;
		v[n] = (struct hes_profile){ .batch_size = batch,
					     .iteration_us = 1e6 * batch / o->v[i].measured };
		at[n] = (struct hes_fit_point){ &v[n], &s->gpu };
		n++;
	}
	return n;
}

static int ascending(const void *a, const void *b)
{
	return (*(const double *)a > *(const double *)b) -
	       (*(const double *)a < *(const double *)b);
}

/*
 * Relative errors of the throughput of 2 to 5 processes of @w, by the model with @guess in its
 * place. @return how many
 * @param within  counts those within the factors
 */
static size_t shared_errors(const struct hes_observations *o, const struct hes_workload *w,
			    const struct hes_workload *guess, const struct hes_factors *time,
			    double *out, double *within)
{
	size_t n = 0;

	for (size_t i = 0; i < o->n; i++) {
		struct hes_setup s = o->v[i].at;
		struct hes_rate rates[HES_MODEL_MAX_JOBS];
		struct hes_instant now;
		double items = 0;

		if (o->v[i].series != HES_SERIES_PARVA_SHARED || s.r[0].workload != w)
			continue;
		for (size_t k = 0; k < s.n; k++)
			s.r[k].workload = guess;
		assert_int_equal(
			hes_model_instant(model, &s.gpu, 0, 0, s.r, s.n, rates, &now, NULL), 0);
		for (size_t k = 0; k < s.n; k++)
			items += rates[k].iterations_per_s * s.r[k].batch;
		*within += items / o->v[i].measured > time->low &&
			   items / o->v[i].measured < time->high;
		out[n++] = fabs(items / o->v[i].measured - 1);
	}
	return n;
}

/* Measured sharing of networks that were left out with their family. */
TEST(nine_measured_solo_times_tell_how_a_network_shares)
{
	static const char *const families[] = { "resnet",    "densenet",  "vgg",
						"mobilenet", "inception", "bert" };
	static double errors[2][4096];
	struct hes_observations o = { 0 };
	struct hes_err err;
	double within[2] = { 0 };
	size_t n[2] = { 0 };

	if (!getenv("HES_DATA") || hes_observe(model, &types, getenv("HES_DATA"), false, &o, &err))
		skip();
	for (size_t i = 0; i < 2 * model->n_workloads; i++) {
		const struct hes_workload *w = &model->workloads[i / 2];
		const struct hes_workload_facts all = facts_of(w), none = { .gflop_per_item = 0 };
		struct hes_profile v[9];
		struct hes_fit_point at[9];
		struct hes_workload guess;
		struct hes_expected_error expected;
		struct hes_model *own;
		size_t family = 0, points = solo_times(&o, w, v, at);

		if (!points || !hes_prior_counts(model, i / 2))
			continue;
		while (strncmp(w->name, families[family], strlen(families[family])))
			assert_true(++family < N(families));
		own = without(families[family]);
		assert_int_equal(
			hes_fit_workload(own, i % 2 ? &all : &none, at, points, &guess, NULL, &err),
			0);
		assert_int_equal(hes_expect_error(own, &types, i % 2 ? &all : &none, at, points,
						  &expected, &err),
				 0);
		n[i % 2] += shared_errors(&o, w, &guess, &expected.time, errors[i % 2] + n[i % 2],
					  &within[i % 2]);
		hes_model_free(own);
	}
	hes_observations_free(&o);
	if (!n[0])
		skip();
	for (size_t k = 0; k < 2; k++) {
		qsort(errors[k], n[k], sizeof(double), ascending);
		print_message("%s: %zu shared rows, median %.1f %%, 90th percentile %.1f %%, %.0f "
			      "%% within the factors\n",
			      k ? "times and facts" : "times alone", n[k],
			      100 * errors[k][n[k] / 2], 100 * errors[k][n[k] * 9 / 10],
			      100 * within[k] / (double)n[k]);
		assert_true(errors[k][n[k] / 2] < 0.25 && errors[k][n[k] * 9 / 10] < 0.6);
		assert_true(within[k] > 0.7 * (double)n[k]);
	}
}

TEST(more_facts_narrow_the_error_to_expect)
{
	const struct hes_workload_facts less = { .gflop_per_item = 8,
						 .has_math = true,
						 .math = HES_MATH_TF32 };
	const struct hes_workload_facts more = { .gflop_per_item = 8,
						 .weights_mib = 98,
						 .traffic_mib_per_item = 110,
						 .kernels = 170,
						 .has_math = true,
						 .math = HES_MATH_TF32 };
	struct hes_model_fit one, all;
	struct hes_model *own = without("-");
	struct hes_err err;

	assert_int_equal(hes_model_add_workload(own, &types, "less", &less, NULL, &one, &err), 0);
	assert_int_equal(hes_model_add_workload(own, &types, "more", &more, NULL, &all, &err), 0);
	assert_true(all.expected.time.high / all.expected.time.low <
		    one.expected.time.high / one.expected.time.low);
	assert_true(all.points == 0 && all.expected.networks == one.expected.networks);
	/* Facts are kept as they are. */
	assert_true(fabs(hes_model_workload(own, "more", NULL)->gflop_per_item / 8 - 1) < 1e-9);
	assert_true(fabs(hes_model_workload(own, "more", NULL)->traffic_mib / 98 - 1) < 1e-9);
	assert_true(hes_model_workload(own, "more", NULL)->kernels == 170);
	hes_model_free(own);
}

TEST(draws_of_a_model_hold_what_the_error_to_expect_of_an_added_workload_says)
{
	const struct hes_workload_facts f = {
		.gflop_per_item = 30, .kernels = 200, .has_math = true, .math = HES_MATH_TF32
	};
	struct hes_model *own = without("-");
	const struct hes_workload *w;
	struct hes_model_fit fit;
	struct hes_model_job job;
	struct hes_rate rate;
	struct hes_err err;
	double ratios[200], is, middle;

	assert_int_equal(hes_model_add_workload(own, &types, "mine", &f, NULL, &fit, &err), 0);
	w = hes_model_workload(own, "mine", NULL);
	job = (struct hes_model_job){ w, 16, 100 };
	instant(own, gpu("V100-SXM2-32"), 0, 0, &job, 1, &rate);
	is = rate.iterations_per_s;
	for (uint64_t seed = 0; seed < N(ratios); seed++) {
		struct hes_model *drawn;

		assert_int_equal(hes_model_varied(own, seed, &drawn, &err), 0);
		job.workload = hes_model_workload(drawn, "mine", NULL);
		assert_true(fabs(job.workload->kernels / w->kernels /
					 (job.workload->host_us / w->host_us) -
				 1) < 1e-9);
		assert_true(fabs(job.workload->copy_mib_per_item / w->copy_mib_per_item /
					 (job.workload->host_us / w->host_us) -
				 1) < 1e-9);
		instant(drawn, gpu("V100-SXM2-32"), 0, 0, &job, 1, &rate);
		ratios[seed] = is / rate.iterations_per_s;
		hes_model_free(drawn);
	}
	qsort(ratios, N(ratios), sizeof(double), ascending);
	/* The 5th and the 95th percentile, but for the drawn GPU's own variation. */
	middle = sqrt(w->time_factors.low * w->time_factors.high);
	assert_true(fabs(ratios[N(ratios) / 2] / middle - 1) < 0.2);
	assert_true(ratios[10] / w->time_factors.low > 0.7 &&
		    ratios[10] / w->time_factors.low < 1.3);
	assert_true(ratios[190] / w->time_factors.high > 0.7 &&
		    ratios[190] / w->time_factors.high < 1.3);
	hes_model_free(own);
}

TEST(a_program_style_gives_host_time_and_start_up_that_vary_by_their_spreads)
{
	struct hes_workload_facts facts = { .gflop_per_item = 8, .style = HES_STYLE_EAGER };
	struct hes_model *own = without("-"), *draw;
	const struct hes_eager *e = &own->eager;
	const struct hes_workload *w;
	struct hes_model_fit fit;
	double host = 0, start = 0;
	struct hes_err err;

	assert_int_equal(hes_model_add_workload(own, &types, "eager", &facts, NULL, &fit, &err), 0);
	facts.style = HES_STYLE_GRAPHS;
	assert_int_equal(hes_model_add_workload(own, &types, "graphs", &facts, NULL, &fit, &err),
			 0);
	w = hes_model_workload(own, "graphs", NULL);
	assert_true(w->host_us == 0 && w->start_s == 0);
	w = hes_model_workload(own, "eager", NULL);
	assert_true(e->host_us > 0 && fabs(w->host_us / e->host_us - 1) < 1e-9);
	assert_true(e->start_s > 0 && w->start_s == e->start_s);
	for (uint64_t seed = 1; seed <= 200; seed++) {
		assert_int_equal(hes_model_varied(own, seed, &draw, &err), 0);
		w = hes_model_workload(draw, "eager", NULL);
		host += pow(log(w->host_us / e->host_us), 2) / 200;
		start += pow(log(w->start_s / e->start_s), 2) / 200;
		hes_model_free(draw);
	}
	assert_true(fabs(sqrt(host) / e->host_spread - 1) < .2 &&
		    fabs(sqrt(start) / e->start_spread - 1) < .2);
	hes_model_free(own);
}

TEST(a_network_like_a_known_one_takes_its_other_parameters)
{
	const struct hes_workload *known = workload("bert-large");
	struct hes_workload_facts like = { .gflop_per_item = 22,
					   .weights_mib = 418,
					   .kernels = 300,
					   .like = "bert-large",
					   .has_math = true,
					   .math = HES_MATH_TF32 };
	const struct hes_workload *added;
	struct hes_model_fit fit;
	struct hes_model *own = without("-");
	struct hes_err err;

	assert_int_equal(hes_model_add_workload(own, &types, "bert-base", &like, NULL, &fit, &err),
			 0);
	added = hes_model_workload(own, "bert-base", NULL);
	assert_true(fabs(added->efficiency / known->efficiency - 1) < 1e-9);
	assert_true(fabs(added->host_us / known->host_us / (300 / known->kernels) - 1) < 1e-9);
	like.math = HES_MATH_FP16;
	assert_int_equal(hes_model_add_workload(own, &types, "half", &like, NULL, &fit, &err), 0);
	assert_true(fabs(hes_model_workload(own, "half", NULL)->traffic_mib_per_item /
				 known->traffic_mib_per_item -
			 0.5) < 1e-9);
	like.like = "bert-tiny";
	assert_int_equal(hes_model_add_workload(own, &types, "tiny", &like, NULL, &fit, &err),
			 -ENOENT);
	assert_non_null(
		strstr(err.msg, "\"bert-tiny\" is not one of the known networks: resnet152, "));
	assert_null(hes_model_workload(own, "tiny", NULL));
	hes_model_free(own);
}

TEST(a_model_of_too_few_networks_adds_none)
{
	const struct hes_workload_facts f = { .gflop_per_item = 8 };
	struct hes_model_fit fit;
	struct hes_model *own = without("-");
	struct hes_err err;

	own->n_workloads = 3;
	assert_int_equal(hes_model_add_workload(own, &types, "mine", &f, NULL, &fit, &err),
			 -ENODATA);
	assert_non_null(strstr(err.msg, "known networks; 4 or more are needed to add one"));
	hes_model_free(own);
}

static int add_text(struct hes_model *m, const char *text, struct hes_err *err)
{
	FILE *f = fopen(file, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	return hes_model_add_file(m, file, err);
}

TEST(a_workload_that_was_written_is_read_back)
{
	struct hes_workload w = *workload("vgg19");
	const struct hes_workload *back;
	struct hes_model *own = without("-");
	const size_t n = hes_model_workloads(own);
	struct hes_err err;
	FILE *f = fopen(file, "w");

	strcpy(w.name, "it's: mine");
	strcpy(w.framework, "my: tool #3");
	strcpy(w.origin, "[lab]");
	w.time_factors = (struct hes_factors){ 0.5, 2 };
	w.start_s = 12.5;
	w.style = HES_STYLE_EAGER;
	hes_workloads_write_head(f);
	hes_workload_write(&w, f);
	strcpy(w.name, "resnet50");
	hes_workload_write(&w, f);
	fclose(f);
	assert_int_equal(hes_model_add_file(own, file, &err), 0);
	assert_int_equal(hes_model_workloads(own), n + 1);
	back = hes_model_workload(own, "it's: mine", NULL);
	assert_true(back->own && back->time_factors.low == 0.5 && back->time_factors.high == 2 &&
		    back->power_factors.high == 0 && back->start_s == 12.5 &&
		    back->style == HES_STYLE_EAGER);
	assert_string_equal(back->framework, w.framework);
	assert_string_equal(back->origin, w.origin);
	assert_true(back->testbed);
	for (size_t i = 0; i < hes_workload_param_count; i++) {
		const double was = *hes_param_in(&hes_workload_params[i], &w),
			     is = *(const double *)(const void *)((const char *)back +
								  hes_workload_params[i].offset);

		assert_true(fabs(is - was) <= 1e-4 * was);
	}
	/* The row took the place of the testbed's. */
	assert_true(hes_model_workload(own, "resnet50", NULL)->own);
	assert_true(hes_model_workload(own, "resnet50", NULL)->host_us == back->host_us);
	hes_model_free(own);
}

#define ROW                                                                             \
	"  - { name: a, framework: facts, origin: facts, math: tf32, efficiency: 0.5, " \
	"parallel_sms: 9, kernels: 1"

TEST(a_bad_workload_is_named_by_file_entry_and_field_and_adds_nothing)
{
	static const struct {
		const char *text;
		int rc;
		const char *why;
	} cases[] = {
		{ "workloads:\n" ROW ", gflop_per_item: -1 }\n", -ERANGE,
		  "workload a: gflop_per_item is -1; it must be from 0 to 1e+09" },
		{ "workloads:\n" ROW ", gflop_per_item: 1, start_s: -1 }\n", -ERANGE,
		  "workload a: start_s is -1; it must be from 0 to 1e+07" },
		{ "workloads:\n" ROW ", time_factors: { low: 2, high: 1 } }\n", -ERANGE,
		  "workload a: time_factors are 2 to 1; two rising factors above 0 are needed" },
		{ "workloads:\n" ROW ", power_factors: { low: 0, high: 1 } }\n", -ERANGE,
		  "workload a: power_factors are 0 to 1" },
		{ "workloads:\n" ROW " }\n" ROW " }\n", -EEXIST, "workload a is given twice" },
		{ "workloads:\n  - { name: a, framework: facts, origin: facts, math: int8 }\n",
		  -EINVAL, "math" },
		{ "workloads:\n" ROW ", gflops: 1 }\n", -EINVAL, "gflops" },
		{ "workload:\n" ROW " }\n", -EINVAL, "workload" },
		{ "workloads:\n  - { name: a, framework: f, origin: o, math: fp32, efficiency: 1, "
		  "parallel_sms: 1, working_set_mib: 9 }\n",
		  -ERANGE, "workload a: an iteration takes no time" },
	};
	struct hes_model *own = without("-");
	const size_t n = hes_model_workloads(own);

	for (size_t i = 0; i < N(cases); i++) {
		struct hes_err err;

		assert_int_equal(add_text(own, cases[i].text, &err), cases[i].rc);
		assert_non_null(strstr(err.msg, file));
		assert_non_null(strstr(err.msg, cases[i].why));
		assert_int_equal(hes_model_workloads(own), n);
	}
	assert_int_equal(
		add_text(own, "types: []\nworkloads:\n" ROW " }\n", &(struct hes_err){ 0 }), 0);
	assert_int_equal(hes_model_workloads(own), n + 1);
	assert_true(hes_model_workload(own, "a", NULL)->activity == 1);
	hes_model_free(own);
}

int main(void)
{
	return run_unit_tests(set_up, tear_down);
}
