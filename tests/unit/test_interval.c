/* test_interval.c - intervals of predictions: what they hold, where they widen, what of a file is
 * refused. */
#include <math.h>

#include "predict/interval.h"
#include "predict/predictor.h"
#include "unit_test.h"
#include "paper_lab.h"

#define N_FIT 400

static struct hes_predictor *first; /* of the first samples */

static int set_up(void **state)
{
	(void)state;
	if (paper_lab_init(1000))
		return -1;
	first = train(&(struct hes_samples){ lab.samples.v, N_FIT, &lab.profiles },
		      (struct hes_train_options){ .seed = 1 });
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	hes_predictor_free(first);
	paper_lab_finish();
	return 0;
}

static struct hes_coverage cover(const struct hes_predictor *p, struct hes_sample *v, size_t n)
{
	return coverage_of(p, &(struct hes_samples){ v, n, &lab.profiles });
}

/* 600 unseen samples: four standard deviations are 5 %. Twice as wide would hold all, half as wide
 * six of ten. */
TEST(as_many_unseen_samples_lie_in_intervals_as_they_say)
{
	struct hes_coverage c = cover(first, lab.samples.v + N_FIT, 1000 - N_FIT);

	assert_true(c.stated == 0.9);
	assert_true(c.time > 0.84 && c.time < 0.96);
	assert_true(c.power > 0.84 && c.power < 0.96);
	assert_true(c.time_width < 0.1 && c.power_width < 0.1);
}

TEST(a_smaller_coverage_gives_narrower_intervals_that_hold_fewer)
{
	struct hes_predictor *p =
		train(&(struct hes_samples){ lab.samples.v, N_FIT, &lab.profiles },
		      (struct hes_train_options){ .seed = 1, .coverage = 0.6 });
	struct hes_coverage c = cover(p, lab.samples.v + N_FIT, 1000 - N_FIT);

	assert_true(c.stated == 0.6);
	assert_true(c.time > 0.5 && c.time < 0.72);
	assert_true(c.power > 0.5 && c.power < 0.72);
	hes_predictor_free(p);
}

TEST(coverages_that_make_no_sense_are_refused)
{
	static const double bad[] = { -0.1, 0.3, 1, 90 };
	struct hes_predictor *p = NULL;
	struct hes_err err;

	for (int i = 0; i < 4; i++) {
		struct hes_train_options o = { .coverage = bad[i] };

		assert_int_equal(hes_predictor_train(&lab.samples, &lab.c, &o, &p, &err), -ERANGE);
		assert_null(p);
		assert_non_null(strstr(err.msg, "coverage"));
	}
}

static bool is_new(const struct hes_sample *s, const char *what)
{
	bool v100 = !strcmp(s->task.gpu_type, "V100-SXM2-32");

	if (strcmp(what, "workload") == 0)
		return !strcmp(s->task.workload, "vgg16") || !strcmp(s->task.workload, "mobilenet");
	if (strcmp(what, "pair") == 0)
		return v100 ? !strcmp(s->task.workload, "gpt2") || s->task.workload[0] == 'd'
			    : !strncmp(s->task.workload, "vgg", 3) &&
				       !strcmp(s->task.gpu_type, "T4");
	return !strcmp(s->task.gpu_type, what);
}

/* Trained without some samples: their intervals hold nearly as often, are wider, and the query is
 * reported as extrapolated. */
static struct hes_coverage never_sampled(const char *what, uint32_t outside)
{
	struct hes_sample *seen = calloc(1000, sizeof(*seen)),
			  *unseen = calloc(1000, sizeof(*unseen));
	size_t n_seen = 0, n_unseen = 0;
	struct hes_predictor *p;
	struct hes_coverage c, known;

	for (size_t i = 0; i < 1000; i++)
		if (is_new(&lab.samples.v[i], what))
			unseen[n_unseen++] = lab.samples.v[i];
		else if (n_seen < N_FIT)
			seen[n_seen++] = lab.samples.v[i];
	p = train(&(struct hes_samples){ seen, n_seen, &lab.profiles },
		  (struct hes_train_options){ .seed = 1 });
	c = cover(p, unseen, n_unseen);
	known = cover(p, seen, n_seen);
	if (outside != HES_OUTSIDE_TYPE)
		assert_true(c.time > 0.85 && c.power > 0.82);
	assert_int_equal(c.outside, n_unseen);
	assert_int_equal(known.outside, 0);
	/* Medians are of other numbers of co-runners, too; a pair is little wider than that. */
	if (outside != HES_OUTSIDE_PAIR)
		assert_true(c.time_width > known.time_width && c.power_width > known.power_width);
	for (size_t i = 0; i < n_unseen; i++) {
		struct hes_setting s = { unseen[i].sm_pct, unseen[i].clock_mhz };
		struct hes_estimate e;

		hes_predict(p, hes_gpu_type_find(&lab.c, unseen[i].task.gpu_type, NULL),
			    &unseen[i].task, &s, &unseen[i].co_runners, &e);
		assert_true(e.outside & outside);
		assert_true(e.widening > 1);
	}
	hes_predictor_free(p);
	free(seen);
	free(unseen);
	return c;
}

TEST(workloads_never_sampled_are_reported_and_have_wider_intervals)
{
	never_sampled("workload", HES_OUTSIDE_WORKLOAD);
}

/* A GPU type differs from the two others in more ways than a workload does. */
TEST(gpu_types_never_sampled_are_reported_and_have_wider_intervals)
{
	double time = 0, power = 0;

	for (size_t i = 0; i < 3; i++) {
		const struct hes_coverage c = never_sampled(lab.types[i]->name, HES_OUTSIDE_TYPE);

		assert_true(c.time > 0.85 && c.power > 0.82);
		time += c.time / 3;
		power += c.power / 3;
	}
	assert_true(time > 0.87 && power > 0.87);
}

/* DenseNets and GPT-2 were seen on T4 and A100, VGGs on V100 and A100. */
TEST(workloads_never_sampled_on_a_type_are_reported_though_both_are_known)
{
	never_sampled("pair", HES_OUTSIDE_PAIR);
}

/* Samples name their co-runners; two workloads are there as co-runners only. */
TEST(workloads_seen_only_as_co_runners_have_constants_of_their_own_and_are_held)
{
	struct hes_sample *seen = calloc(1000, sizeof(*seen)),
			  *unseen = calloc(1000, sizeof(*unseen));
	struct hes_samples fit = { .v = seen, .known = &lab.profiles },
			   test = { .v = unseen, .known = &lab.profiles };
	const struct known_workload *own, *general;
	struct hes_predictor *p;
	struct hes_coverage c;

	for (size_t i = 0; i < 1000; i++) {
		const struct hes_sample *s = &lab.samples.v[i];
		struct hes_samples *to = is_new(s, "workload") ? &test : &fit;

		to->v[to->n++] = *s;
	}
	p = train(&fit, (struct hes_train_options){ .seed = 1 });
	c = coverage_of(p, &test);
	assert_int_equal(c.outside, test.n);
	assert_true(c.time > 0.85 && c.power > 0.82);
	general = &p->constants.workloads[p->constants.n_workloads - 1];
	own = &p->constants.workloads[constants_workload(&p->constants, "mobilenet")];
	assert_ptr_not_equal(own, general);
	assert_true(own->v[FIXED_MB] != general->v[FIXED_MB]);
	hes_predictor_free(p);
	free(seen);
	free(unseen);
}

static struct hes_estimate ask(uint32_t sm_pct, uint32_t clock_mhz, uint32_t batch_size,
			       uint32_t co_runner_names)
{
	const struct hes_gpu_type *g = lab.types[1];
	struct hes_load co_runners = { .power_mw = g->idle_power_mw };
	struct hes_setting s = { sm_pct, clock_mhz };
	struct hes_profile task;
	struct hes_estimate e;

	assert_int_equal(hes_profile_find(&lab.profiles, "resnet50", 32, g->name, &task, NULL), 0);
	task.batch_size = batch_size;
	for (uint32_t i = 0; i < co_runner_names; i++)
		hes_load_add(&co_runners, g, &task, 10, clock_mhz);
	hes_predict(first, g, &task, &s, &co_runners, &e);
	return e;
}

static double width(const struct hes_estimate *e)
{
	assert_true(e->iteration_low_us < e->iteration_us &&
		    e->iteration_us < e->iteration_high_us);
	assert_true(e->power_low_mw < e->power_mw && e->power_mw < e->power_high_mw);
	return e->iteration_high_us / e->iteration_us;
}

/* Shares, clocks and batch sizes leave the training range step by step. Each step is reported and
 * has a wider interval. */
TEST(intervals_widen_with_the_distance_from_the_samples)
{
	static const struct {
		uint32_t sm_pct, clock_mhz, batch_size, outside;
	} steps[][3] = {
		{ { 5, 1000, 32, HES_OUTSIDE_SHARE },
		  { 3, 1000, 32, HES_OUTSIDE_SHARE },
		  { 1, 1000, 32, HES_OUTSIDE_SHARE } },
		{ { 50, 110, 32, HES_OUTSIDE_CLOCK },
		  { 50, 60, 32, HES_OUTSIDE_CLOCK },
		  { 50, 30, 32, HES_OUTSIDE_CLOCK } },
		{ { 50, 1000, 100, HES_OUTSIDE_BATCH_SIZE },
		  { 50, 1000, 300, HES_OUTSIDE_BATCH_SIZE },
		  { 50, 1000, 900, HES_OUTSIDE_BATCH_SIZE } },
	};
	struct hes_estimate within = ask(50, 1000, 32, 0);

	assert_int_equal(within.outside, 0);
	assert_true(within.widening == 1);
	for (int i = 0; i < 3; i++) {
		double last = width(&within);

		for (int k = 0; k < 3; k++) {
			struct hes_estimate e = ask(steps[i][k].sm_pct, steps[i][k].clock_mhz,
						    steps[i][k].batch_size, 0);

			assert_int_equal(e.outside, steps[i][k].outside);
			assert_true(width(&e) > last);
			last = width(&e);
		}
	}
}

TEST(an_uncertain_profile_widens_the_interval_of_time_alone)
{
	const struct hes_gpu_type *g = lab.types[1];
	const struct hes_load alone = { .power_mw = g->idle_power_mw };
	const struct hes_setting s = { 50, 1000 };
	struct hes_estimate certain, uncertain;
	struct hes_profile task;

	assert_int_equal(hes_profile_find(&lab.profiles, "resnet50", 32, g->name, &task, NULL), 0);
	hes_predict(first, g, &task, &s, &alone, &certain);
	task.time_se = 0.1;
	hes_predict(first, g, &task, &s, &alone, &uncertain);
	assert_true(uncertain.iteration_us == certain.iteration_us);
	/* 1.645 standard errors hold 90 %. */
	assert_true(fabs(log(uncertain.iteration_high_us / uncertain.iteration_us) -
			 hypot(0.1645, log(certain.iteration_high_us / certain.iteration_us))) <
		    1e-3);
	assert_int_equal(uncertain.power_high_mw, certain.power_high_mw);
	assert_true(uncertain.widening == 1);
}

TEST(more_co_runners_than_sampled_are_reported)
{
	assert_int_equal(ask(50, 1000, 32, 3).outside, 0);
	assert_int_equal(ask(50, 1000, 32, 5).outside, HES_OUTSIDE_CO_RUN);
	assert_true(ask(50, 1000, 32, 5).widening > 1);
}

/* Its co-runner is the same job, under its own name and under a name without samples. */
TEST(co_runners_never_sampled_are_reported_and_have_wider_intervals)
{
	const struct hes_gpu_type *g = lab.types[2];
	const struct hes_setting s = { 40, 1005 };
	struct hes_profile task, other;
	struct hes_estimate e[4];

	assert_int_equal(hes_profile_find(&lab.profiles, "resnet50", 16, g->name, &task, NULL), 0);
	for (int i = 0; i < 4; i++) {
		struct hes_load co_runners = { .power_mw = 150000 };

		other = task;
		strcpy(other.workload, i ? "unheard-of" : "resnet50");
		other.sm_util *= i > 2 ? 0.1 : 1; /* of a kind that no task is */
		hes_predict_load_add(first, g, &other, &s, &co_runners);
		if (i == 2)
			hes_predict_load_add(first, g, &other, &s, &co_runners);
		hes_predict(first, g, &task, &s, &co_runners, &e[i]);
	}
	assert_int_equal(e[0].outside, 0);
	for (int i = 1; i < 4; i++)
		assert_int_equal(e[i].outside, HES_OUTSIDE_CO_RUNNER);
	assert_true(width(&e[1]) > width(&e[0]) &&
		    (double)e[1].power_high_mw / e[1].power_mw >
			    (double)e[0].power_high_mw / e[0].power_mw);
	assert_true(e[2].widening > 1 && e[3].widening > e[1].widening &&
		    e[1].widening > e[0].widening);
	/* A workload without samples gets the constants of workloads in general. */
	assert_true(fabs(e[1].iteration_us / e[0].iteration_us - 1) < 0.1 &&
		    fabs(e[1].power_mw / (double)e[0].power_mw - 1) < 0.1);
}

static struct interval learn(const struct interval_score *v, size_t n)
{
	struct interval i;

	assert_int_equal(interval_learn(v, n, 0.9, &i), 0);
	return i;
}

/* Of nine errors the largest is the bound: a tenth, drawn alike, is below it in nine of ten cases.
 */
TEST(the_bound_is_the_conformal_quantile)
{
	struct interval_score v[9] = { 0 };
	struct interval i;

	for (int k = 0; k < 9; k++) {
		v[k].weight = 1;
		v[k].off[0] = (k % 2 ? -0.01 : 0.01) * (k + 1);
	}
	i = learn(v, 9);
	assert_true(fabs(i.of[0].within[0] - 0.09) < 1e-12);
	assert_true(fabs(i.of[0].factor[0] - exp(0.09)) < 1e-12);
}

/* A hundred modelled samples with errors of 1 %, and twenty measured ones with 1 to 20 %. */
TEST(errors_on_measured_samples_decide_the_bound)
{
	struct interval_score v[120] = { 0 };
	struct interval i;

	for (int k = 0; k < 120; k++) {
		v[k].weight = 1;
		v[k].modelled = k < 100;
		v[k].off[0] = k < 100 ? 0.01 : 0.01 * (k - 99);
	}
	i = learn(v, 100);
	assert_true(fabs(i.of[0].within[0] - 0.01) < 1e-12);
	i = learn(v, 120);
	assert_true(i.of[0].within[0] > 0.175 && i.of[0].within[0] < 0.195);
	for (int k = 110; k < 120; k++)
		v[k].weight = 0.1;
	i = learn(v, 120);
	assert_true(i.of[0].within[0] < 0.15);
}

TEST(without_samples_the_assumed_width_stands)
{
	struct interval_score v[9] = { 0 };
	struct range_distance far = { .outside = HES_OUTSIDE_TYPE, .type = 1 };
	struct interval i = learn(v, 9);

	assert_true(interval_bound(&i, &far, 0).factor[0] > 1.5);
	i = learn(v, 0);
	assert_true(i.of[0].factor[0] > 50);
}

TEST(each_distance_widens_on_its_own_and_together)
{
	struct interval_score v[9] = { 0 };
	struct range_distance one = { .outside = HES_OUTSIDE_CLOCK, .setting = 0.5 };
	struct range_distance both = { .outside = HES_OUTSIDE_CLOCK | HES_OUTSIDE_TYPE,
				       .setting = 0.5,
				       .type = 0.5 };
	struct range_distance more = { .outside = HES_OUTSIDE_CO_RUN, .crowd = 0.5 };
	struct interval i;

	for (int k = 0; k < 9; k++)
		v[k].off[0] = v[k].off[1] = 0.01 * (k + 1);
	i = learn(v, 9);
	for (uint32_t n = 0; n < 6; n++) {
		struct interval_bound a = interval_bound(&i, &(struct range_distance){ 0 }, n);
		struct interval_bound b = interval_bound(&i, &one, n),
				      c = interval_bound(&i, &both, n);

		assert_true(a.widening == 1 && b.widening > 1 && c.widening > b.widening);
		assert_true(a.factor[0] < b.factor[0] && b.factor[0] < c.factor[0]);
		assert_true(interval_bound(&i, &more, n).widening > 1);
	}
}

/* Every number of an interval made impossible in turn, and the end cut off. */
TEST(impossible_numbers_of_a_file_are_refused)
{
	static const double bad[] = { NAN, INFINITY, -1, 1e300 };
	struct interval_score v[9] = { 0 };
	struct interval i = learn(v, 9), read;
	struct model_io b = { .path = "x" }, r;

	interval_io(&b, &i);
	for (size_t at = 0; at < b.n; at += 8)
		for (int k = 0; k < 4; k++) {
			unsigned char kept[8];

			memcpy(kept, b.v + at, 8);
			memcpy(b.v + at, &bad[k], 8);
			r = (struct model_io){ .reads = true, .v = b.v, .n = b.n };
			interval_io(&r, &read);
			assert_int_equal(r.rc, -EINVAL);
			memcpy(b.v + at, kept, 8);
		}
	for (size_t n = 0; n <= b.n; n++) {
		r = (struct model_io){ .reads = true, .v = b.v, .n = n };
		interval_io(&r, &read);
		assert_int_equal(r.rc, n < b.n ? -EINVAL : 0);
	}
	free(b.v);
}

/* @return the rc of reading */
static int read_range(struct model_io io, struct training_range *out, struct hes_err *err)
{
	*out = (struct training_range){ 0 };
	io.reads = true;
	range_io(&io, out);
	if (io.rc) {
		range_finish(out);
		model_io_fail(&io, err);
	}
	return io.rc;
}

TEST(what_was_sampled_is_read_back_or_refused)
{
	struct hes_gpu_type g = *lab.types[0];
	struct observation seen[12];
	struct training_range s, back;
	struct model_io b = { .path = "x" }, cut;
	struct hes_err err;

	for (int i = 0; i < 12; i++) {
		const struct hes_sample *from = &lab.samples.v[i];

		seen[i] = (struct observation){ .setting = { from->sm_pct, from->clock_mhz } };
		seen[i].query = (struct query){ .gpu = &g,
						.task = &from->task,
						.setting = &seen[i].setting,
						.co_runners = &from->co_runners };
	}
	assert_int_equal(range_fit(seen, 12, &s), 0);
	range_io(&b, &s);
	assert_int_equal(read_range(b, &back, &err), 0);
	assert_int_equal(back.n_types, s.n_types);
	assert_memory_equal(back.tasks, s.tasks, s.n_tasks * sizeof(*s.tasks));
	range_finish(&back);
	cut = b;
	for (cut.n = 0; cut.n < b.n; cut.n += 5)
		assert_int_equal(read_range(cut, &back, &err), -EINVAL);
	memset(b.v + b.n - 8, 0xff, 8);
	assert_int_equal(read_range(b, &back, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "what was sampled is missing or out of its range"));
	range_finish(&s);
	free(b.v);
}

int main(void)
{
	return run_unit_tests(set_up, tear_down);
}
