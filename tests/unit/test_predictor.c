/* test_predictor.c - predictors: errors, files, accuracy on modelled GPUs; samples drawn from the
 * physics. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <zlib.h>

#include "heshare/profiler.h"
#include "unit_test.h"
#include "paper_lab.h"

static char path[] = "/tmp/hes-predictor-XXXXXX";

static int set_up(void **state)
{
	(void)state;
	return paper_lab_init(1000);
}

static int tear_down(void **state)
{
	(void)state;
	paper_lab_finish();
	return 0;
}

static struct hes_sample sample(double iteration_us, uint32_t power_mw)
{
	return (struct hes_sample){
		.task = { "net", "T4", 1, 100, 1590, 100, 0.5, 0.4, 0.1, 0.1, 50000, 0, 0, 0 },
		.sm_pct = 50,
		.clock_mhz = 1590,
		.co_runners.power_mw = 10000,
		.iteration_us = iteration_us,
		.power_mw = power_mw,
	};
}

static struct hes_test test_of(const struct hes_predictor *p, const struct hes_samples *s)
{
	struct hes_estimate *said = estimates(p, s);
	struct hes_test t;

	assert_int_equal(hes_estimates_test(s, said, 0.9, &t, NULL), 0);
	free(said);
	return t;
}

/* The estimates are 100 us and 50 W for everything. */
TEST(errors_are_those_of_table_v)
{
	struct hes_sample v[3] = { sample(80, 40000), sample(100, 50000), sample(125, 50000) };
	const struct hes_samples test = { .v = v, .n = 3 };
	const struct hes_estimate e = { .iteration_us = 100, .power_mw = 50000 };
	const struct hes_estimate said[3] = { e, e, e };
	struct hes_test t;

	assert_int_equal(hes_estimates_test(&test, said, 0.9, &t, NULL), 0);
	assert_true(fabs(t.time.abs_error_pct - 4500.0 / 305) < 1e-10);
	assert_true(fabs(t.time.rel_error_pct - (20.0 / 80 + 25.0 / 125) / .03) < 1e-10);
	assert_true(fabs(t.time.mae - 15) < 1e-9);
	assert_true(fabs(t.time.r2 - (1 - 1025 / (32025 - 305.0 * 305 / 3))) < 1e-9);
	assert_true(fabs(t.power.abs_error_pct - 1000.0 / 140) < 1e-10);
	assert_true(fabs(t.power.rel_error_pct - 25.0 / 3) < 1e-10);
}

TEST(the_papers_errors_are_reached_on_modelled_gpus)
{
	struct hes_samples fit = { lab.samples.v, 750, &lab.profiles },
			   test = { lab.samples.v + 750, 250, &lab.profiles };
	struct hes_predictor *p = train(&fit, (struct hes_train_options){ .seed = 1 });
	const struct hes_test t = test_of(p, &test);

	assert_true(t.time.rel_error_pct < 3.91 && t.time.abs_error_pct < 3.10);
	assert_true(t.power.rel_error_pct < 3.91 && t.power.abs_error_pct < 3.10);
	hes_predictor_free(p);
}

/* Errors of power on samples with co-runners, against GPUs without the noise of a meter. */
static double error_with_co_runners(bool named)
{
	const struct hes_draw still = { lab.m, lab.types, 3, 0, 1 };
	struct hes_samples fit = { lab.samples.v, 750, named ? &lab.profiles : NULL };
	struct hes_samples test = { lab.samples.v + 750, 250, fit.known }, truth;
	struct hes_predictor *p = train(&fit, (struct hes_train_options){ .seed = 1 });
	struct hes_estimate said[250];
	struct hes_profiles profiles;
	double sum = 0, n = 0;

	assert_int_equal(hes_draw_profiles(&still, &profiles, NULL), 0);
	assert_int_equal(hes_draw_samples(&still, &profiles, 1000, &truth, NULL), 0);
	assert_int_equal(hes_predict_samples(p, &test, &lab.c, said, NULL), 0);
	for (size_t i = 0; i < test.n; i++)
		if (test.v[i].co_runners.jobs) {
			assert_string_equal(test.v[i].co_runner_names,
					    truth.v[750 + i].co_runner_names);
			sum += fabs(said[i].power_mw / (double)truth.v[750 + i].power_mw - 1);
			n++;
		}
	hes_profiles_free(&profiles);
	hes_samples_free(&truth);
	hes_predictor_free(p);
	return sum / n;
}

/* Who reads no meter while jobs share loses little. */
TEST(named_co_runners_predict_power_about_as_well_as_a_meter)
{
	assert_true(error_with_co_runners(true) < 1.1 * error_with_co_runners(false));
}

/* A GPU on which co-runners cost half as much again as the model says. */
static size_t measured_samples(struct hes_sample *v)
{
	size_t n = 0;

	for (size_t i = 0; i < lab.samples.n; i++)
		if (lab.samples.v[i].co_runners.jobs &&
		    !strcmp(lab.samples.v[i].task.gpu_type, "V100-SXM2-32")) {
			v[n] = lab.samples.v[i];
			v[n++].iteration_us *= 1.5;
		}
	return n;
}

/* log(measured / predicted) of the last samples, in means. */
static double missed(const struct hes_predictor *p, struct hes_sample *v, size_t n)
{
	struct hes_estimate said[200];
	double sum = 0;

	assert_int_equal(hes_predict_samples(p, &(struct hes_samples){ v, n, &lab.profiles },
					     &lab.c, said, NULL),
			 0);
	for (size_t i = 0; i < n; i++)
		sum += log(v[i].iteration_us / said[i].iteration_us);
	return sum / (double)n;
}

TEST(measured_samples_move_the_prior_and_intervals_hold_them)
{
	static const size_t many[] = { 0, 1, 16, 64 };
	const struct hes_samples prior = { lab.samples.v, 300, &lab.profiles };
	struct hes_sample v[1000];
	size_t n = measured_samples(v), held = n - 100;
	double last = log(1.5) + 0.05, off;
	struct hes_predictor *p;

	assert_true(n > 164);
	for (size_t i = 0; i < 4; i++) {
		struct hes_coverage c;

		p = train(&(struct hes_samples){ v, many[i], &lab.profiles },
			  (struct hes_train_options){ .seed = 1, .prior = &prior });
		off = missed(p, v + held, 100);
		/* One says little, and of one place. */
		assert_true(off < last + (many[i] == 1 ? 0.01 : 0));
		last = off;
		c = coverage_of(p, &(struct hes_samples){ v + held, 100, &lab.profiles });
		/* Modelled errors of 5 % hold none of them. */
		assert_true(many[i] < 16 ? many[i] || c.time < 0.1 : c.time > 0.8);
		hes_predictor_free(p);
	}
	assert_true(last < log(1.5) / 2);
	/* The same 64 samples with a standard error of 20 % each move it less. */
	for (size_t i = 0; i < 64; i++)
		v[i].time_se = 0.2;
	p = train(&(struct hes_samples){ v, 64, &lab.profiles },
		  (struct hes_train_options){ .seed = 1, .prior = &prior });
	off = missed(p, v + held, 100);
	assert_true(off > last + 0.1 && off < log(1.5));
	hes_predictor_free(p);
}

/* What one H100 measured of four programs in 105 s. The prior knows another H100, with other
 * programs. */
TEST(points_of_an_h100_lessen_the_errors_of_the_others_and_intervals_hold_them)
{
	char file[PATH_MAX];
	struct hes_catalogue c;
	const struct hes_gpu_type *g;
	struct hes_points points;
	struct hes_profiles profiles, drawn;
	struct hes_samples samples, prior;
	struct hes_draw d = { lab.m, &g, 1, 0.017, 1 };
	struct hes_train_options o = { .seed = 1, .prior = &prior };
	struct hes_estimate said[2][40];
	struct hes_test t[2];
	struct hes_predictor *p = NULL;

	snprintf(file, sizeof(file), "%s/data/measured/h100-80gb-hbm3/run/points.csv",
		 getenv("HES_SOURCE_ROOT"));
	assert_int_equal(hes_catalogue_load(NULL, &c, NULL), 0);
	assert_int_equal(hes_model_derive(lab.m, &c, NULL), 0);
	g = hes_gpu_type_find(&c, "H100-SXM", NULL);
	assert_int_equal(hes_draw_profiles(&d, &drawn, NULL), 0);
	assert_int_equal(hes_draw_samples(&d, &drawn, 1000, &prior, NULL), 0);
	prior.known = &drawn;
	assert_int_equal(hes_points_load(file, &points, NULL), 0);
	assert_int_equal(hes_points_derive(&points, &c, &profiles, &samples, NULL), 0);
	assert_int_equal(profiles.n, 4); /* the eager resnet50, too */
	assert_int_equal(samples.n, 20); /* bert-large at 20 % was never measured alone */
	samples.known = &profiles;
	assert_int_equal(hes_predictor_train(&(struct hes_samples){ 0 }, &c, &o, &p, NULL), 0);
	assert_int_equal(hes_predict_samples(p, &samples, &c, said[0], NULL), 0);
	assert_int_equal(hes_predict_left_out(&samples, &c, &o, 5, said[1], NULL), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(hes_estimates_test(&samples, said[i], 0.9, &t[i], NULL), 0);
	assert_true(t[0].time.rel_error_pct > 4 && t[1].time.rel_error_pct < 4);
	assert_true(t[0].power.rel_error_pct > 10 && t[1].power.rel_error_pct < 5);
	assert_true(t[0].cover.time < 0.7 && t[0].cover.power < 0.5);
	assert_true(t[1].cover.time >= 0.85 && t[1].cover.power >= 0.85);
	hes_predictor_free(p);
	hes_points_free(&points);
	hes_profiles_free(&profiles);
	hes_profiles_free(&drawn);
	hes_samples_free(&samples);
	hes_samples_free(&prior);
	hes_catalogue_free(&c);
}

TEST(a_prior_alone_is_training_on_it)
{
	const struct hes_train_options o = { .seed = 1, .trees = 4, .prior = &lab.samples },
				       plain = { .seed = 1, .trees = 4 };
	struct hes_predictor *p = train(&(struct hes_samples){ 0 }, o),
			     *q = train(&lab.samples, plain);
	uint32_t a = 0, b = 1;

	assert_int_equal(hes_predictor_checksum(p, &a, NULL), 0);
	assert_int_equal(hes_predictor_checksum(q, &b, NULL), 0);
	assert_int_equal(a, b);
	hes_predictor_free(p);
	hes_predictor_free(q);
}

TEST(one_sample_is_enough_to_train_on)
{
	struct hes_predictor *p = train(&(struct hes_samples){ .v = lab.samples.v, .n = 1 },
					(struct hes_train_options){ .seed = 1 });

	assert_true(fabs(missed(p, lab.samples.v, 1)) < 0.3);
	hes_predictor_free(p);
}

/* Named co-runners without a profile are sums, as nameless ones are. */
TEST(names_that_nobody_profiled_change_nothing)
{
	struct hes_profiles nobody = { 0 };
	struct hes_samples named = { lab.samples.v, 300, &nobody },
			   sums = { .v = lab.samples.v, .n = 300 };
	const struct hes_train_options few = { .seed = 1, .trees = 4 };
	struct hes_predictor *p = train(&named, few), *q = train(&sums, few);
	uint32_t a = 0, b = 1;

	assert_int_equal(hes_predictor_checksum(p, &a, NULL), 0);
	assert_int_equal(hes_predictor_checksum(q, &b, NULL), 0);
	assert_int_equal(a, b);
	hes_predictor_free(p);
	hes_predictor_free(q);
}

TEST(a_workload_that_was_sampled_only_with_co_runners_is_inside_the_training_range)
{
	struct hes_sample *v = calloc(lab.samples.n, sizeof(*v));
	struct hes_samples s = { v, 0, &lab.profiles };
	const struct hes_setting setting = { 40, 900 };
	struct hes_load sums = { 0 }, named = { 0 };
	struct hes_predictor *p, *q;
	struct hes_profile solo;

	for (size_t i = 0; i < 400; i++)
		if (strcmp(lab.samples.v[i].task.workload, "vgg16"))
			v[s.n++] = lab.samples.v[i];
	p = train(&s, (struct hes_train_options){ .trees = 4 });
	s.known = NULL;
	q = train(&s, (struct hes_train_options){ .trees = 4 });
	assert_int_equal(hes_profile_find(&lab.profiles, "vgg16", 16, "T4", &solo, NULL), 0);
	hes_predict_load_add(p, lab.types[0], &solo, &setting, &named);
	hes_predict_load_add(q, lab.types[0], &solo, &setting, &sums);
	assert_true(named.unseen_distance == 0 && sums.unseen_distance > 0);
	hes_predictor_free(p);
	hes_predictor_free(q);
	free(v);
}

static struct hes_estimate ask(const struct hes_predictor *p, const struct hes_gpu_type *g,
			       const char *workload, struct hes_setting s, uint32_t co_runner_names)
{
	struct hes_load co_runners = { .power_mw = g->idle_power_mw };
	struct hes_estimate e;
	struct hes_profile task, other;

	assert_int_equal(hes_profile_find(&lab.profiles, workload, 32, g->name, &task, NULL), 0);
	assert_int_equal(hes_profile_find(&lab.profiles, "resnet152", 32, g->name, &other, NULL),
			 0);
	for (uint32_t i = 0; i < co_runner_names; i++)
		hes_load_add(&co_runners, g, &other, 40, s.clock_mhz);
	if (co_runner_names)
		co_runners.power_mw = g->power_limit_mw * 8 / 10;
	hes_predict(p, g, &task, &s, &co_runners, &e);
	return e;
}

TEST(more_share_less_time_and_more_clock_more_power)
{
	struct hes_predictor *p = train(&lab.samples, (struct hes_train_options){ .seed = 2 });

	for (int i = 0; i < 3; i++) {
		const struct hes_gpu_type *g = lab.types[i];
		struct hes_setting small = { 20, g->clock_default_mhz },
				   large = { 80, g->clock_default_mhz };
		struct hes_setting slow = { 80, g->clocks_mhz[2] };
		struct hes_estimate few = ask(p, g, "vgg16", small, 0),
				    many = ask(p, g, "vgg16", large, 0);

		assert_true(many.iteration_us < 0.6 * few.iteration_us);
		assert_true(many.power_mw > few.power_mw);
		assert_true(ask(p, g, "vgg16", slow, 0).power_mw < many.power_mw);
		assert_true(ask(p, g, "vgg16", slow, 0).iteration_us > many.iteration_us);
		assert_true(ask(p, g, "vgg16", small, 2).iteration_us > few.iteration_us);
	}
	hes_predictor_free(p);
}

static char *slurp(size_t *n)
{
	FILE *f = fopen(path, "re");
	char *v = malloc(1 << 24);

	assert_non_null(f);
	*n = fread(v, 1, 1 << 24, f);
	fclose(f);
	return v;
}

static void spit(const char *v, size_t n)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_int_equal(fwrite(v, 1, n, f), n);
	fclose(f);
}

/* The file of a small predictor. */
static char *saved(size_t *n)
{
	struct hes_predictor *p =
		train(&lab.samples, (struct hes_train_options){ .seed = 3, .trees = 2 });

	assert_int_equal(hes_predictor_save(path, p, NULL), 0);
	hes_predictor_free(p);
	return slurp(n);
}

static void refuse(const char *says)
{
	struct hes_predictor *p = NULL;
	struct hes_err err = { 0 };

	assert_int_equal(hes_predictor_load(path, &p, &err), -EINVAL);
	assert_null(p);
	assert_non_null(strstr(err.msg, path));
	assert_non_null(strstr(err.msg, says));
}

TEST(a_predictor_read_back_says_the_same)
{
	struct hes_predictor *p = train(&lab.samples,
					(struct hes_train_options){ .seed = 3, .trees = 20 }),
			     *q;
	struct hes_setting s = { 40, 900 };
	struct hes_estimate a, b;
	uint32_t made = 0, read = 1;

	assert_int_equal(hes_predictor_save(path, p, NULL), 0);
	assert_int_equal(hes_predictor_load(path, &q, NULL), 0);
	assert_int_equal(hes_predictor_checksum(p, &made, NULL), 0);
	assert_int_equal(hes_predictor_checksum(q, &read, NULL), 0);
	assert_int_equal(made, read);
	assert_memory_equal(&hes_predictor_about(p)->options, &hes_predictor_about(q)->options,
			    sizeof(struct hes_train_options));
	assert_int_equal(hes_predictor_about(q)->rows, 1000);
	assert_int_equal(hes_predictor_about(q)->n_workloads, 15);
	assert_true(hes_predictor_knows(q, "T4"));
	assert_false(hes_predictor_knows(q, "H200"));
	for (size_t i = 0; i < lab.profiles.n; i++) {
		const struct hes_gpu_type *g =
			hes_gpu_type_find(&lab.c, lab.profiles.v[i].gpu_type, NULL);
		struct hes_load co_runners = { .power_mw = g->idle_power_mw };

		hes_predict(p, g, &lab.profiles.v[i], &s, &co_runners, &a);
		hes_predict(q, g, &lab.profiles.v[i], &s, &co_runners, &b);
		assert_true(a.iteration_us == b.iteration_us && a.power_mw == b.power_mw);
		assert_true(a.iteration_low_us == b.iteration_low_us &&
			    a.power_high_mw == b.power_high_mw);
		assert_true(a.outside == b.outside && a.widening == b.widening);
	}
	hes_predictor_free(p);
	hes_predictor_free(q);
}

TEST(damage_anywhere_in_a_file_is_noticed)
{
	size_t n;
	char *v = saved(&n);

	for (size_t i = 0; i < n; i += i < 400 ? 1 : 997) {
		v[i] = (char)(v[i] ^ 0x10);
		spit(v, n);
		refuse("");
		v[i] = (char)(v[i] ^ 0x10);
	}
	spit(v, n - 1);
	refuse("damaged");
	spit(v, 10);
	refuse("not a predictor file");
	v[n] = 0;
	spit(v, n + 1);
	refuse("damaged");
	free(v);
}

/* Where the header keeps the body's CRC. */
#define CRC_AT   28
#define BLOCK_AT 32
#define NODE     10 /* bytes of a node: value, left child, feature (docs/formats/model.md) */

static void seal(char *v, size_t n)
{
	uLong crc = crc32(0, (const Bytef *)v + BLOCK_AT, (uInt)(n - BLOCK_AT));

	for (int i = 0; i < 4; i++)
		v[CRC_AT + i] = (char)(crc >> 8 * i);
	spit(v, n);
}

TEST(a_forged_file_cannot_lead_a_walk_out_of_its_tree)
{
	size_t n;
	char *v = saved(&n);

	v[n - NODE + 4] = 1; /* the last leaf gets a child before itself: a walk without end */
	seal(v, n);
	refuse("not sound, though its checksum is right: a tree is missing");
	v[n - NODE + 4] = 0;
	v[n - NODE + 7] = 1; /* ... one far behind it */
	seal(v, n);
	refuse("not sound, though its checksum is right: a tree is missing");
	free(v);
}

/* Positive and finite whatever its trees say. */
TEST(a_forged_leaf_cannot_make_an_estimate_that_is_no_number)
{
	const struct hes_gpu_type *g = lab.types[0];
	struct hes_load co_runners = { .power_mw = g->idle_power_mw };
	struct hes_setting s = { 40, g->clock_default_mhz };
	struct hes_predictor *p = train(&lab.samples, (struct hes_train_options){ .trees = 10 }),
			     *q;
	struct hes_estimate e;
	size_t n;
	char *v;

	assert_int_equal(hes_predictor_save(path, p, NULL), 0);
	v = slurp(&n);
	for (size_t i = n - 100 * NODE; i < n; i += NODE)
		if (!memcmp(v + i + 4, "\0\0\0", 4))
			memcpy(v + i, "\xca\xf2\x49\x71", 4); /* 10^30 */
	seal(v, n);
	assert_int_equal(hes_predictor_load(path, &q, NULL), 0);
	for (size_t i = 0; i < lab.profiles.n; i++) {
		hes_predict(q, g, &lab.profiles.v[i], &s, &co_runners, &e);
		assert_true(isfinite(e.iteration_us) && e.iteration_us > 0 && e.power_mw > 0);
	}
	free(v);
	hes_predictor_free(p);
	hes_predictor_free(q);
}

/* A shared constant lies behind the names of types and workloads, the errors of two outputs and two
 * counts. */
TEST(a_constant_out_of_its_range_is_refused)
{
	struct hes_predictor *p =
		train(&lab.samples, (struct hes_train_options){ .seed = 3, .trees = 2 });
	const struct hes_predictor_info *a = hes_predictor_about(p);
	size_t at = BLOCK_AT + 8 + 4 + 4 + 4 + 4 + 4 + 2 * 40 + 8, n;
	char *v;

	for (uint32_t i = 0; i < a->n_types; i++)
		at += 1 + strlen(a->types[i]);
	for (uint32_t i = 0; i < a->n_workloads; i++)
		at += 1 + strlen(a->workloads[i]);
	assert_int_equal(hes_predictor_save(path, p, NULL), 0);
	v = slurp(&n);
	memcpy(v + at, "\0\0\0\0\0\0\xf0\x7f", 8); /* infinite */
	seal(v, n);
	refuse("a constant is missing or out of its range");
	free(v);
	hes_predictor_free(p);
}

TEST(a_file_of_another_version_says_so)
{
	size_t n;
	char *v = saved(&n);

	v[18] = '9';
	spit(v, n);
	refuse("version 9 of predictor files, this program reads 8; a newer heshare wrote it");
	v[18] = '7';
	spit(v, n);
	refuse("version 7 of predictor files, this program reads 8; train it again");
	free(v);
}

TEST(training_refuses_what_it_cannot_learn_from)
{
	struct hes_sample few[12];
	struct hes_samples s = { .v = few, .n = 12 };
	struct hes_predictor *p = NULL;
	struct hes_err err;

	for (int i = 0; i < 12; i++)
		few[i] = sample(100 + i, 50000);
	s.n = 0;
	assert_int_equal(
		hes_predictor_train(&s, &lab.c, &(struct hes_train_options){ 0 }, &p, &err),
		-EINVAL);
	assert_non_null(strstr(err.msg, "0 samples; training takes from 1 to"));
	s.n = 12;
	assert_int_equal(hes_predictor_train(&s, &lab.c,
					     &(struct hes_train_options){ .trees = 10001 }, &p,
					     &err),
			 -EINVAL);
	assert_non_null(strstr(err.msg, "10001 trees; an output has from 1 to 10000"));
	strcpy(few[4].task.gpu_type, "K80");
	assert_int_equal(
		hes_predictor_train(&s, &lab.c, &(struct hes_train_options){ 0 }, &p, &err),
		-ENOENT);
	assert_non_null(strstr(err.msg, "sample 5: unknown GPU type \"K80\""));
	strcpy(few[4].task.gpu_type, "T4");
	few[7].power_mw = 0;
	assert_int_equal(
		hes_predictor_train(&s, &lab.c, &(struct hes_train_options){ 0 }, &p, &err),
		-EINVAL);
	assert_non_null(strstr(err.msg, "sample 8"));
	assert_null(p);
}

static bool same_combination(const struct hes_sample *a, const struct hes_sample *b)
{
	return strcmp(a->task.workload, b->task.workload) == 0 &&
	       strcmp(a->task.gpu_type, b->task.gpu_type) == 0 &&
	       a->task.batch_size == b->task.batch_size && a->sm_pct == b->sm_pct &&
	       a->clock_mhz == b->clock_mhz && a->co_runners.sm_util == b->co_runners.sm_util &&
	       a->co_runners.l2_util == b->co_runners.l2_util &&
	       a->co_runners.sm_pct == b->co_runners.sm_pct &&
	       a->co_runners.jobs == b->co_runners.jobs;
}

TEST(drawn_samples_are_distinct_settings_that_a_gpu_can_take)
{
	size_t oversubscribed = 0, alone = 0;

	for (size_t i = 0; i < lab.samples.n; i++) {
		const struct hes_sample *s = &lab.samples.v[i];
		const struct hes_gpu_type *g = hes_gpu_type_find(&lab.c, s->task.gpu_type, NULL);

		assert_true(hes_gpu_type_has_clock(g, s->clock_mhz));
		assert_int_equal(s->sm_pct % 10, 0);
		assert_true(s->sm_pct >= 10 && s->sm_pct <= 100 && s->co_runners.jobs <= 3);
		assert_true(s->task.memory_mib <= g->memory_mib);
		oversubscribed += s->sm_pct + s->co_runners.sm_pct > 100;
		alone += s->co_runners.jobs == 0;
		for (size_t j = 0; j < i; j++)
			assert_false(same_combination(s, &lab.samples.v[j]));
	}
	assert_in_range(oversubscribed, 50, 250);
	assert_in_range(alone, 150, 350);
}

TEST(a_drawn_profile_is_at_least_as_busy_as_its_sms)
{
	for (size_t i = 0; i < lab.profiles.n; i++) {
		const struct hes_profile *p = &lab.profiles.v[i];

		assert_true(p->busy > 0 && p->busy <= 1 && p->busy >= p->sm_util - 1e-9);
		assert_true(p->clock_mhz > 0);
	}
}

/* Against a drawing without noise, value by value. */
TEST(noise_is_as_large_as_requested_and_the_seed_decides)
{
	struct hes_draw quiet = lab.draw, other = lab.draw;
	struct hes_samples still, same;
	double sum = 0, squares = 0;

	quiet.noise = 0;
	assert_int_equal(hes_draw_samples(&lab.draw, &lab.profiles, 1000, &same, NULL), 0);
	assert_memory_equal(same.v, lab.samples.v, 1000 * sizeof(*same.v));
	hes_samples_free(&same);
	other.seed = 2;
	assert_int_equal(hes_draw_samples(&other, &lab.profiles, 1000, &same, NULL), 0);
	assert_memory_not_equal(same.v, lab.samples.v, 1000 * sizeof(*same.v));
	hes_samples_free(&same);
	assert_int_equal(hes_draw_samples(&quiet, &lab.profiles, 1000, &still, NULL), 0);
	for (size_t i = 0; i < 1000; i++) {
		double d = lab.samples.v[i].iteration_us / still.v[i].iteration_us - 1;

		assert_string_equal(lab.samples.v[i].task.workload, still.v[i].task.workload);
		sum += d;
		squares += d * d;
	}
	assert_true(fabs(sum / 1000) < 0.003);
	assert_true(fabs(sqrt(squares / 1000) - 0.017) < 0.002);
	hes_samples_free(&still);
}

TEST(asking_for_more_samples_than_there_are_or_for_an_unknown_gpu_fails)
{
	struct hes_gpu_type odd = *lab.types[0];
	const struct hes_gpu_type *list[] = { &odd };
	struct hes_draw d = lab.draw;
	struct hes_profiles p = { .n = 42 };
	struct hes_samples s;
	struct hes_err err;

	strcpy(odd.name, "Odd");
	d.types = list;
	d.n_types = 1;
	assert_int_equal(hes_draw_profiles(&d, &p, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "\"Odd\""));
	assert_int_equal(p.n, 42); /* untouched */
	assert_int_equal(hes_draw_samples(&lab.draw, &lab.profiles, 0, &s, &err), -EINVAL);
	d = lab.draw;
	d.noise = -1;
	assert_int_equal(hes_draw_profiles(&d, &p, &err), -EINVAL);
}

int main(void)
{
	int rc;

	close(mkstemp(path));
	rc = run_unit_tests(set_up, tear_down);
	unlink(path);
	return rc;
}
