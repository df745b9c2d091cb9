/*
 * test_evolve.c - the evolutionary algorithms on ZDT1 and ZDT3 (Zitzler, Deb and Thiele,
 * Evolutionary Computation 8(2), 2000), whose fronts are known, with the operators of the NSGA-II
 * paper.
 */
#include <math.h>

#include "search.h"
#include "unit_test.h"

#define VARIABLES  30
#define ETA_CROSS  20.0
#define ETA_MUTATE 20.0

static void draw(const void *problem, struct hes_rng *r, void *scratch, void *x)
{
	double *v = x;

	(void)problem;
	(void)scratch;
	for (size_t i = 0; i < VARIABLES; i++)
		v[i] = hes_rng_unit(r);
}

/* Simulated binary crossover of one variable in [0, 1], with the bounds' correction. */
static void cross_variable(struct hes_rng *r, double p, double q, double *first, double *second)
{
	double lo = fmin(p, q), hi = fmax(p, q), u = hes_rng_unit(r), c[2];

	for (int side = 0; side < 2; side++) {
		double room = side == 0 ? lo : 1 - hi, beta = 1 + 2 * room / (hi - lo);
		double alpha = 2 - pow(beta, -(ETA_CROSS + 1));
		double spread = u <= 1 / alpha ? pow(u * alpha, 1 / (ETA_CROSS + 1))
					       : pow(1 / (2 - u * alpha), 1 / (ETA_CROSS + 1));

		c[side] = 0.5 * (lo + hi + (side == 0 ? -1 : 1) * spread * (hi - lo));
		c[side] = fmin(fmax(c[side], 0), 1);
	}
	*first = c[hes_rng_u64(r) >> 63];
	*second = c[0] + c[1] - *first;
}

static void mutate(struct hes_rng *r, double *v)
{
	for (size_t i = 0; i < VARIABLES; i++) {
		double u, power = 1 / (ETA_MUTATE + 1);

		if (hes_rng_unit(r) >= 1.0 / VARIABLES)
			continue;
		u = hes_rng_unit(r);
		if (u < 0.5)
			v[i] += pow(2 * u + (1 - 2 * u) * pow(1 - v[i], ETA_MUTATE + 1), power) - 1;
		else
			v[i] += 1 -
				pow(2 * (1 - u) + 2 * (u - 0.5) * pow(v[i], ETA_MUTATE + 1), power);
		v[i] = fmin(fmax(v[i], 0), 1);
	}
}

static uint64_t vary(const void *problem, struct hes_rng *r, void *scratch, const void *p,
		     const void *q, void *first, void *second)
{
	const double *a = p, *b = q;
	double *c = first, spare[VARIABLES], *d = second ? second : spare;

	(void)problem;
	(void)scratch;
	memcpy(c, a, VARIABLES * sizeof(*c));
	memcpy(d, b, VARIABLES * sizeof(*d));
	if (hes_rng_unit(r) < 0.9)
		for (size_t i = 0; i < VARIABLES; i++)
			if (hes_rng_u64(r) >> 63 && fabs(a[i] - b[i]) > 1e-14)
				cross_variable(r, a[i], b[i], &c[i], &d[i]);
	mutate(r, c);
	if (second)
		mutate(r, d);
	return 0;
}

static double mean_of_rest(const double *v)
{
	double sum = 0;

	for (size_t i = 1; i < VARIABLES; i++)
		sum += v[i];
	return 1 + 9 * sum / (VARIABLES - 1);
}

static struct hes_objectives zdt1(const void *problem, const void *x)
{
	const double *v = x;
	double g = mean_of_rest(v);

	(void)problem;
	return (struct hes_objectives){ v[0], g * (1 - sqrt(v[0] / g)) };
}

static struct hes_objectives zdt3(const void *problem, const void *x)
{
	const double *v = x;
	double g = mean_of_rest(v);

	(void)problem;
	return (struct hes_objectives){ v[0], g * (1 - sqrt(v[0] / g) -
						   v[0] / g * sin(10 * acos(-1) * v[0])) };
}

static double hypervolume_of(const struct hes_evolved *e)
{
	const struct hes_objectives reference = { 1.1, 1.1 };
	struct hes_pareto p = { 0 };
	double area;

	for (size_t i = 0; i < e->n; i++)
		assert_int_equal(hes_pareto_insert(&p, &e->at[i], i),
				 1); /* none dominates another */
	area = hes_pareto_hypervolume(&p, &reference) * 1.1 * 1.1;
	hes_pareto_free(&p);
	return area;
}

static const struct hes_evolvable zdt1_problem = {
	.size = VARIABLES * sizeof(double),
	.draw = draw,
	.vary = vary,
	.judge = zdt1,
};
static const struct hes_evolvable zdt3_problem = {
	.size = VARIABLES * sizeof(double),
	.draw = draw,
	.vary = vary,
	.judge = zdt3,
};

static double median_of_three(hes_evolve_fn *search, const struct hes_evolvable *v)
{
	double h[3];

	for (uint64_t seed = 1; seed <= 3; seed++) {
		const struct hes_evolve_options o = {
			.population = 50, .generations = 500, .seed = seed, .threads = 1
		};
		struct hes_evolved e;

		assert_int_equal(search(v, &o, &e), 0);
		assert_true(e.n >= 2 && e.n <= 50);
		h[seed - 1] = hypervolume_of(&e);
		hes_evolved_free(&e);
	}
	return fmax(fmin(h[0], h[1]), fmin(fmax(h[0], h[1]), h[2]));
}

/* The truth is .87667 and 1.33176; what other implementations reach with 50 x 500 is .864, 1.325
 * (NSGA-II), .8664, 1.3254 (SPEA2). */
TEST(nsga2_reaches_the_known_hypervolumes)
{
	assert_true(fabs(median_of_three(hes_nsga2, &zdt1_problem) - 0.8645) < 0.002);
	assert_true(fabs(median_of_three(hes_nsga2, &zdt3_problem) - 1.3255) < 0.003);
}

TEST(spea2_reaches_the_known_hypervolumes)
{
	assert_true(fabs(median_of_three(paper_spea2, &zdt1_problem) - 0.8670) < 0.002);
	assert_true(fabs(median_of_three(paper_spea2, &zdt3_problem) - 1.3260) < 0.003);
}

/* Other implementations: .8613 and 1.2527. */
TEST(moead_reaches_the_known_hypervolumes)
{
	assert_in_range((int)(1e4 * median_of_three(paper_moead, &zdt1_problem)), 8613, 8767);
	assert_in_range((int)(1e4 * median_of_three(paper_moead, &zdt3_problem)), 12527, 13318);
}

static hes_evolve_fn *const searches[] = { hes_nsga2, paper_spea2, paper_moead };

static void assert_same(const struct hes_evolved *one, const struct hes_evolved *other)
{
	assert_int_equal(one->n, other->n);
	assert_int_equal(one->evaluations, other->evaluations);
	assert_memory_equal(one->at, other->at, one->n * sizeof(*one->at));
	for (size_t k = 0; k < one->n; k++)
		assert_memory_equal(one->solutions + k * one->stride,
				    other->solutions + k * other->stride, zdt1_problem.size);
}

TEST(a_seed_gives_one_front_with_any_number_of_threads)
{
	static const uint32_t threads[] = { 2, 5 };

	for (size_t i = 0; i < N(searches); i++) {
		struct hes_evolve_options o = {
			.population = 800, .generations = 4, .seed = 5, .threads = 1
		}; /* few would be left to one */
		struct hes_evolved one, other;

		assert_int_equal(searches[i](&zdt1_problem, &o, &one), 0);
		for (size_t t = 0; t < N(threads); t++) {
			o.threads = threads[t];
			assert_int_equal(searches[i](&zdt1_problem, &o, &other), 0);
			assert_same(&one, &other);
			hes_evolved_free(&other);
		}
		o.seed = 6;
		assert_int_equal(searches[i](&zdt1_problem, &o, &other), 0);
		assert_true(one.n != other.n ||
			    memcmp(one.at, other.at, one.n * sizeof(*one.at)) != 0);
		hes_evolved_free(&one);
		hes_evolved_free(&other);
	}
}

static uint64_t vary_at_a_price(const void *problem, struct hes_rng *r, void *scratch,
				const void *p, const void *q, void *first, void *second)
{
	vary(problem, r, scratch, p, q, first, second);
	return 3;
}

/* Each solution judged, and what the operators say they evaluated. MOEA/D has one offspring of a
 * mating, the others two. */
TEST(every_evaluation_is_counted)
{
	for (size_t i = 0; i < N(searches); i++) {
		const struct hes_evolve_options o = {
			.population = 800, .generations = 7, .seed = 1, .threads = 2
		};
		struct hes_evolvable v = zdt1_problem;
		struct hes_evolved e;

		assert_int_equal(searches[i](&v, &o, &e), 0);
		assert_int_equal(e.evaluations, 800 * 8);
		hes_evolved_free(&e);
		v.vary = vary_at_a_price;
		assert_int_equal(searches[i](&v, &o, &e), 0);
		assert_int_equal(e.evaluations,
				 800 * 8 + 7 * 3 * (searches[i] == paper_moead ? 800 : 400));
		hes_evolved_free(&e);
	}
}

TEST(a_search_ends_before_it_evaluates_more_than_it_may)
{
	for (size_t i = 0; i < N(searches); i++) {
		struct hes_evolve_options o = { .population = 20,
						.generations = 50,
						.evaluations = 119,
						.seed = 1,
						.threads = 1 };
		struct hes_evolved cut, whole;

		assert_int_equal(searches[i](&zdt1_problem, &o, &cut), 0);
		assert_int_equal(cut.evaluations, 100);
		o.generations = 4;
		o.evaluations = 0;
		assert_int_equal(searches[i](&zdt1_problem, &o, &whole), 0);
		assert_same(&whole, &cut);
		hes_evolved_free(&cut);
		hes_evolved_free(&whole);
	}
}

static struct hes_objectives all_the_same(const void *problem, const void *x)
{
	(void)problem;
	(void)x;
	return (struct hes_objectives){ 1, 1 };
}

/* Ranges and crowding of nothing: no division by it. */
TEST(where_all_solutions_are_equal_one_is_left)
{
	const struct hes_evolvable v = {
		.size = VARIABLES * sizeof(double),
		.draw = draw,
		.vary = vary,
		.judge = all_the_same,
	};
	const struct hes_evolve_options o = {
		.population = 4, .generations = 5, .seed = 1, .threads = 1
	};

	for (size_t i = 0; i < N(searches); i++) {
		struct hes_evolved e;

		assert_int_equal(searches[i](&v, &o, &e), 0);
		assert_int_equal(e.n, 1);
		hes_evolved_free(&e);
	}
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
