/*
 * test_front_data.c - exact fronts of instances whose exact front is known: files in
 * $HES_BENCH/front. Skips without them.
 */
#include <math.h>

#include "matrix.h"
#include "algorithms.h"
#include "instance.h"
#include "unit_test.h"

static const char *path_of(const char *name)
{
	static char path[4096];
	const char *dir = getenv("HES_BENCH");

	snprintf(path, sizeof(path), "%s/front/%s", dir ? dir : "none", name);
	if (access(path, R_OK) != 0)
		skip();
	return path;
}

static struct hes_instance instance(const char *time, const char *energy)
{
	struct hes_matrix time_s, energy_j;
	struct hes_instance in;
	struct hes_err err;

	assert_int_equal(hes_matrix_read(path_of(time), 0, 1e10, &time_s, &err), 0);
	assert_int_equal(hes_matrix_read(path_of(energy), 0, 1e15, &energy_j, &err), 0);
	assert_int_equal(hes_instance_init(&in, &time_s, &energy_j, NULL, &err), 0);
	hes_matrix_free(&time_s);
	hes_matrix_free(&energy_j);
	return in;
}

/* Lines of "energy J, average completion s" below a header; as objectives of @n jobs. */
static size_t read_points(const char *name, size_t n, struct hes_objectives *v, size_t room)
{
	FILE *f = fopen(path_of(name), "re");
	char line[256];
	size_t count = 0;

	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	while (count < room && fgets(line, sizeof(line), f)) {
		char *rest;
		double energy_j = strtod(line, &rest);

		assert_true(*rest == ',');
		v[count++] = (struct hes_objectives){ energy_j * 1e3,
						      strtod(rest + 1, NULL) * 1e6 * (double)n };
	}
	fclose(f);
	return count;
}

/* How far a point lies below a hull of points by rising energy, relative; 0: not at all. */
static double below(const struct hes_objectives *hull, size_t n, const struct hes_objectives *p)
{
	double most =
		fmax(1 - p->energy_mj / hull[0].energy_mj, 1 - p->jct_us / hull[n - 1].jct_us);

	for (size_t i = 0; i + 1 < n; i++) {
		double we = hull[i].jct_us - hull[i + 1].jct_us,
		       wj = hull[i + 1].energy_mj - hull[i].energy_mj;
		double line = we * hull[i].energy_mj + wj * hull[i].jct_us;

		most = fmax(most, 1 - (we * p->energy_mj + wj * p->jct_us) / line);
	}
	return fmax(most, 0);
}

static double hypervolume(const struct hes_assign_front *f, const struct hes_objectives *reference)
{
	struct hes_pareto p = { 0 };
	double area;

	for (size_t i = 0; i < f->n; i++)
		assert_int_equal(hes_pareto_insert(&p, &f->v[i].at, i), 1);
	area = hes_pareto_hypervolume(&p, reference);
	hes_pareto_free(&p);
	return area;
}

static struct hes_algorithm_result exact_front(const struct hes_instance *in, uint32_t weights)
{
	struct hes_algorithm_options o = hes_algorithm_defaults;
	struct hes_algorithm_result found;

	o.weights = weights;
	assert_int_equal(hes_algorithm_find("exact")->run(&in->a, &o, &found), 0);
	return found;
}

static void assert_none_below(const struct hes_assign_front *f, const struct hes_objectives *hull,
			      size_t n)
{
	for (size_t i = 0; i < f->n; i++)
		assert_true(below(hull, n, &f->v[i].at) < 2e-9); /* the file has ten digits */
}

TEST(sixty_jobs_have_the_known_front_point_by_point)
{
	struct hes_instance in = instance("n60_k8_time.csv", "n60_k8_energy.csv");
	struct hes_algorithm_result found = exact_front(&in, 0);
	struct hes_objectives known[100], reference;
	size_t n = read_points("n60_k8_exact.csv", 60, known, 100);

	assert_int_equal(read_points("n60_k8_ref.csv", 60, &reference, 1), 1);
	assert_int_equal(found.front.n, n);
	for (size_t i = 0; i < n; i++) {
		assert_true(fabs(found.front.v[i].at.energy_mj / known[i].energy_mj - 1) < 1e-8);
		assert_true(fabs(found.front.v[i].at.jct_us / known[i].jct_us - 1) < 1e-8);
	}
	assert_true(fabs(hypervolume(&found.front, &reference) - 0.371838) < 1e-6);
	assert_true(fabs(hes_halfplanes_bound(found.halfplanes, found.n_halfplanes, &reference) -
			 0.372342) < 1e-6);
	free(found.front.v);
	free(found.halfplanes);
	hes_instance_finish(&in);
}

TEST(fifty_weights_of_a_thousand_jobs_are_all_but_the_optimum)
{
	struct hes_instance in = instance("n1000_k64_time.csv.gz", "n1000_k64_energy.csv.gz");
	struct hes_algorithm_result found = exact_front(&in, 50);
	struct hes_objectives *known = calloc(2000, sizeof(*known)), reference;
	size_t n = read_points("n1000_k64_exact.csv", 1000, known, 2000);

	assert_int_equal(read_points("n1000_k64_ref.csv", 1000, &reference, 1), 1);
	assert_int_equal(n, 1004);
	assert_none_below(&found.front, known, n);
	assert_true(hypervolume(&found.front, &reference) > 0.4180);
	assert_true(hes_halfplanes_bound(found.halfplanes, found.n_halfplanes, &reference) <
		    0.41836);
	free(known);
	free(found.front.v);
	free(found.halfplanes);
	hes_instance_finish(&in);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
