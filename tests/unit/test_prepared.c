/* test_prepared.c - prepared predictions equal predictions from scratch. */
#include <math.h>

#include "base/rng.h"
#include "heshare/draw.h"
#include "plan/rates.h"
#include "predict/baseline/smooth_max.h"
#include "predict/prepared.h"
#include "unit_test.h"

#define QUERIES 3000
#define SETS    1500
#define MEMBERS 20000 /* more than are kept at a time */

#define KINDS 40

/* GPUs of four types, of which three are sampled, and all but one workload of these. */
static struct {
	struct hes_catalogue c;
	struct hes_model *m;
	const struct hes_gpu_type *types[4];
	struct hes_samples samples;
	struct hes_profile solo[4 * KINDS]; /* by type, then kind, as planners have them */
} lab;

static int number_kinds(const struct hes_profiles *p)
{
	for (size_t t = 0; t < 4; t++) {
		size_t n = 0;

		for (size_t i = 0; i < p->n && n < KINDS; i++)
			if (!strcmp(p->v[i].gpu_type, lab.types[t]->name))
				lab.solo[t * KINDS + n++] = p->v[i];
		if (n < KINDS)
			return -1;
	}
	return 0;
}

static int set_up(void **state)
{
	static const char *const names[] = { "T4", "V100-SXM2-32", "A100-SXM-80", "L4" };
	struct hes_draw d = { .types = lab.types, .n_types = 4, .noise = 0.017, .seed = 1 };
	struct hes_profiles all, sampled;
	size_t kept = 0;

	(void)state;
	if (hes_catalogue_load(NULL, &lab.c, NULL) || hes_model_load(NULL, &lab.m, NULL) ||
	    hes_model_derive(lab.m, &lab.c, NULL))
		return -1;
	d.model = lab.m;
	for (int i = 0; i < 4; i++)
		lab.types[i] = hes_gpu_type_find(&lab.c, names[i], NULL);
	if (hes_draw_profiles(&d, &all, NULL) || number_kinds(&all))
		return -1;
	d.n_types = 3;
	if (hes_draw_profiles(&d, &sampled, NULL) ||
	    hes_draw_samples(&d, &sampled, 400, &lab.samples, NULL))
		return -1;
	for (size_t i = 0; i < lab.samples.n; i++)
		if (strcmp(lab.samples.v[i].task.workload, lab.solo[0].workload))
			lab.samples.v[kept++] = lab.samples.v[i];
	lab.samples.n = kept;
	hes_profiles_free(&all);
	hes_profiles_free(&sampled);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	hes_samples_free(&lab.samples);
	hes_model_free(lab.m);
	hes_catalogue_free(&lab.c);
	return 0;
}

static struct hes_predictor *train(struct hes_train_options o)
{
	struct hes_predictor *p = NULL;

	assert_int_equal(hes_predictor_train(&lab.samples, &lab.c, &o, &p, NULL), 0);
	return p;
}

static bool near(double x, double y)
{
	return fabs(x - y) <= 1e-9 * fabs(y);
}

static void check_load(const struct hes_load *x, const struct hes_load *y)
{
	assert_true(near(x->sm_util, y->sm_util) && near(x->dram_util, y->dram_util) &&
		    near(x->l2_util, y->l2_util));
	assert_true(x->jobs == y->jobs && x->sm_pct == y->sm_pct);
	assert_true(near(x->busy, y->busy) && near(x->sm_busy, y->sm_busy) &&
		    near(x->l2_sets, y->l2_sets));
	assert_true(near(x->dram_busy, y->dram_busy) && near(x->serial, y->serial) &&
		    near(x->pace, y->pace));
	assert_true(near(x->iterations_per_s, y->iterations_per_s) &&
		    near(x->solo_power_mw, y->solo_power_mw));
	assert_true(near(x->solo_clock_mhz, y->solo_clock_mhz) &&
		    near(x->unseen_distance, y->unseen_distance));
	assert_true(near(x->computing, y->computing) && near(x->syncing, y->syncing) &&
		    near(x->saved, y->saved) && near(x->wide, y->wide) &&
		    near(x->kernel_us, y->kernel_us));
}

static struct hes_setting draw_setting(struct hes_rng *rng, const struct hes_gpu_type *g)
{
	return (struct hes_setting){ 1 + (uint32_t)hes_rng_below(rng, 100),
				     g->clocks_mhz[hes_rng_below(rng, g->n_clocks)] };
}

/* A job with up to four co-runners, prepared and from scratch, with the GPU's power measured or
 * predicted. */
static void ask_both_ways(const struct hes_predictor *p, struct hes_rng *rng)
{
	const uint32_t type = (uint32_t)hes_rng_below(rng, 4),
		       others = (uint32_t)hes_rng_below(rng, 5);
	const struct hes_profile *solo = &lab.solo[type * KINDS],
				 *task = &solo[hes_rng_below(rng, KINDS)];
	const struct hes_gpu_type *g = lab.types[type];
	struct hes_setting s = draw_setting(rng, g);
	struct hes_load joined = { .power_mw = g->idle_power_mw }, co_runners = joined;
	struct hes_prepared r;
	struct hes_quick_estimate said;
	struct hes_estimate want;

	for (uint32_t i = 0; i < others; i++) {
		const struct hes_profile *other = &solo[hes_rng_below(rng, KINDS)];
		const struct hes_setting its = { 1 + (uint32_t)hes_rng_below(rng, 100),
						 s.clock_mhz };

		hes_prepare(p, g, other, &its, &r);
		hes_load_join(&joined, &r.load);
		hes_predict_load_add(p, g, other, &its, &co_runners);
		joined.power_mw += (uint32_t)hes_rng_below(rng, g->power_limit_mw / 3);
	}
	check_load(&joined, &co_runners);
	joined.predicted_mw = others && hes_rng_below(rng, 2) ? joined.power_mw : 0;
	hes_prepare(p, g, task, &s, &r);
	hes_prepared_predict(&r, &joined, &said);
	hes_predict(p, g, task, &s, &joined, &want);
	assert_true(near(said.iteration_us, want.iteration_us));
	assert_int_equal(said.power_mw, want.power_mw);
	assert_int_equal(said.outside, want.outside);
	assert_true(near(hes_prepared_widening(&r, &joined), want.widening));
}

static void check_queries(struct hes_train_options o, size_t n)
{
	struct hes_predictor *p = train(o);
	struct hes_rng rng;

	hes_rng_seed(&rng, o.seed);
	for (size_t i = 0; i < n; i++)
		ask_both_ways(p, &rng);
	hes_predictor_free(p);
}

TEST(prepared_queries_equal_queries_from_scratch)
{
	check_queries((struct hes_train_options){ .seed = 1 }, QUERIES);
	/* Too many trees for sets of leaves. */
	check_queries((struct hes_train_options){ .seed = 4, .trees = 150 }, QUERIES / 4);
}

static int by_member(const void *a, const void *b)
{
	const struct hes_member *x = a, *y = b;

	return x->kind != y->kind ? (x->kind > y->kind) - (x->kind < y->kind)
				  : (x->sm_pct > y->sm_pct) - (x->sm_pct < y->sm_pct);
}

static struct hes_set draw_set(struct hes_rng *rng)
{
	struct hes_set s = { .type = (uint32_t)hes_rng_below(rng, 4),
			     .n = 1 + (uint32_t)hes_rng_below(rng, 4) };
	const struct hes_gpu_type *g = lab.types[s.type];

	s.clock_mhz = g->clocks_mhz[hes_rng_below(rng, g->n_clocks)];
	for (uint32_t i = 0; i < s.n; i++)
		s.m[i] = (struct hes_member){ (uint16_t)hes_rng_below(rng, 3),
					      (uint16_t)(10 + 20 * hes_rng_below(rng, 5)) };
	qsort(s.m, s.n, sizeof(s.m[0]), by_member);
	return s;
}

/* The last of the first n members, with those before it as co-runners, as rates.h says. */
static struct hes_estimate ask_plainly(const struct hes_predictor *p, const struct hes_set *s,
				       const struct hes_member *m, uint32_t n)
{
	const struct hes_gpu_type *g = lab.types[s->type];
	const struct hes_profile *solo = &lab.solo[s->type * KINDS];
	struct hes_load co_runners = { .power_mw = g->idle_power_mw };
	struct hes_estimate e;

	if (n > 1)
		co_runners.power_mw = co_runners.predicted_mw =
			ask_plainly(p, s, m, n - 1).power_mw;
	for (uint32_t i = 0; i + 1 < n; i++)
		hes_predict_load_add(p, g, &solo[m[i].kind],
				     &(struct hes_setting){ m[i].sm_pct, s->clock_mhz },
				     &co_runners);
	hes_predict(p, g, &solo[m[n - 1].kind],
		    &(struct hes_setting){ m[n - 1].sm_pct, s->clock_mhz }, &co_runners, &e);
	return e;
}

TEST(rates_of_a_set_are_those_of_its_members_with_the_others)
{
	struct hes_predictor *p = train((struct hes_train_options){ .seed = 1 });
	struct hes_rates *r = hes_rates_new(p, lab.types, lab.solo, KINDS);
	struct hes_rng rng;

	hes_rng_seed(&rng, 6);
	for (size_t i = 0; i < SETS; i++) {
		const struct hes_set s = draw_set(&rng);
		struct hes_set_rates rates, again;
		bool far = false;
		double power_mw = 0;

		hes_rates_of(r, &s, &rates);
		for (uint32_t k = 0; k < s.n; k++) {
			struct hes_member m[HES_MAX_SHARING];
			struct hes_estimate e;

			/* It comes last. */
			memcpy(m, s.m, sizeof(m));
			memmove(&m[k], &m[k + 1], (s.n - 1 - k) * sizeof(m[0]));
			m[s.n - 1] = s.m[k];
			e = ask_plainly(p, &s, m, s.n);
			assert_true(near(rates.iteration_us[k], e.iteration_us));
			assert_int_equal(rates.outside[k], e.outside);
			far |= (e.outside & HES_OUTSIDE_SETTING) && e.widening >= HES_RATES_FAR;
			power_mw += e.power_mw;
		}
		assert_true(fabs(rates.power_mw - power_mw / s.n) <=
			    1); /* mW: whole ones at each step of the chain */
		assert_int_equal(rates.far, far);
		hes_rates_of(r, &s, &again);
		assert_memory_equal(again.iteration_us, rates.iteration_us,
				    s.n * sizeof(rates.iteration_us[0]));
	}
	hes_rates_free(r);
	hes_predictor_free(p);
}

/* Of more members than there is memory for, the first are worked out again. */
TEST(forgotten_rates_are_computed_again_and_equal)
{
	struct hes_predictor *p = train((struct hes_train_options){ .seed = 1, .trees = 2 });
	struct hes_rates *r = hes_rates_new(p, lab.types, lab.solo, KINDS),
			 *fresh = hes_rates_new(p, lab.types, lab.solo, KINDS);
	struct hes_set pair = {
		.type = 1, .clock_mhz = 1380, .n = 2, .m = { { 0, 30 }, { 1, 70 } }
	};
	struct hes_set_rates rates, want;
	uint32_t made = 0;

	for (uint16_t pct = 1; pct <= 100; pct++)
		for (uint16_t kind = 0; kind < KINDS; kind++)
			for (uint32_t clock_mhz = 1335; clock_mhz <= 1530 && made < MEMBERS;
			     clock_mhz += 30, made++)
				hes_rates_of(
					r, &(struct hes_set){ 1, clock_mhz, 1, { { kind, pct } } },
					&rates);
	assert_int_equal(made, MEMBERS);
	hes_rates_of(r, &pair, &rates);
	hes_rates_of(fresh, &pair, &want);
	assert_memory_equal(rates.iteration_us, want.iteration_us,
			    2 * sizeof(want.iteration_us[0]));
	assert_true(rates.power_mw >= want.power_mw && rates.power_mw <= want.power_mw);
	hes_rates_free(r);
	hes_rates_free(fresh);
	hes_predictor_free(p);
}

/* @return the queries that some sets needed; their rates must be the same as before */
static uint64_t ask_again(struct hes_rates *r, const struct hes_set *sets,
			  const struct hes_set_rates *said, size_t n)
{
	const uint64_t before = hes_rates_queries(r);

	for (size_t i = 0; i < n; i++) {
		struct hes_set_rates rates;

		hes_rates_of(r, &sets[i], &rates);
		assert_memory_equal(rates.iteration_us, said[i].iteration_us,
				    sets[i].n * sizeof(rates.iteration_us[0]));
		assert_memory_equal(&rates.power_mw, &said[i].power_mw, sizeof(rates.power_mw));
	}
	return hes_rates_queries(r) - before;
}

static void count_set(void *ctx, const struct hes_set *s, const struct hes_set_rates *rates)
{
	(void)s;
	(void)rates;
	++*(size_t *)ctx;
}

/* More sets than there is room for at first, several times over. */
TEST(sets_are_known_while_the_rate_cache_grows_and_until_it_forgets_them)
{
	static struct hes_set sets[2 * SETS];
	static struct hes_set_rates said[2 * SETS];
	struct hes_predictor *p = train((struct hes_train_options){ .seed = 1, .trees = 2 });
	struct hes_rates *r = hes_rates_new(p, lab.types, lab.solo, KINDS);
	struct hes_rng rng;
	size_t kept = 0;

	hes_rng_seed(&rng, 8);
	for (size_t i = 0; i < 2 * SETS; i++) {
		sets[i] = draw_set(&rng);
		hes_rates_of(r, &sets[i], &said[i]);
	}
	assert_int_equal(ask_again(r, sets, said, 2 * SETS), 0);
	hes_rates_forget(r, 0);
	assert_true(ask_again(r, sets, said, SETS) > SETS);
	/* A limit below what is there holds, too. */
	hes_rates_limit(r, 1);
	ask_again(r, sets + SETS, said + SETS, SETS);
	hes_rates_each(r, count_set, &kept);
	assert_true(kept <= 1);
	hes_rates_free(r);
	hes_predictor_free(p);
}

TEST(a_smooth_maximum_is_the_same_from_its_table)
{
	static const double sharpness[] = { 1.5, 2, 3.3, 5, 8, 17, 30 };
	struct hes_rng rng;
	struct smooth_max b;

	hes_rng_seed(&rng, 7);
	for (size_t i = 0; i < sizeof(sharpness) / sizeof(sharpness[0]); i++) {
		smooth_max_init(&b, sharpness[i]);
		for (size_t k = 0; k < 20000; k++) {
			double x = 100 * hes_rng_unit(&rng),
			       y = k % 100 ? 100 * hes_rng_unit(&rng) : x;

			assert_true(near(smooth_max(&b, sharpness[i], x, y),
					 smooth_max(NULL, sharpness[i], x, y)));
		}
		assert_true(near(smooth_max(&b, sharpness[i], 1, SMOOTH_MAX_NEGLIGIBLE + 1e-16),
				 smooth_max(NULL, sharpness[i], 1, SMOOTH_MAX_NEGLIGIBLE + 1e-16)));
		assert_true(smooth_max(&b, sharpness[i], 0, 0) <= 0);
	}
}

int main(void)
{
	return run_unit_tests(set_up, tear_down);
}
