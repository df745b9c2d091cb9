/*
 * instance.c - finds and merges equal columns; see instance.h.
 */
#include "instance.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A column and its hash. */
struct column {
	uint64_t hash;
	uint32_t at;
};

static uint64_t bits_of(double v)
{
	uint64_t bits;

	v = v == 0 ? 0 : v; /* -0 is 0 */
	memcpy(&bits, &v, sizeof(bits));
	return isnan(v) ? 1 : bits;
}

static void hash_columns(const struct hes_matrix *time_s, const struct hes_matrix *energy_j,
			 struct column *columns)
{
	const size_t width = time_s->columns;

	for (size_t c = 0; c < width; c++)
		columns[c] = (struct column){ 0, (uint32_t)c };
	for (size_t i = 0; i < time_s->rows; i++)
		for (size_t c = 0; c < width; c++) {
			uint64_t h = columns[c].hash;

			h = (h ^ bits_of(time_s->v[i * width + c])) * 0x9e3779b97f4a7c15u;
			h = (h ^ (h >> 29) ^ bits_of(energy_j->v[i * width + c])) *
			    0xbf58476d1ce4e5b9u;
			columns[c].hash = h ^ (h >> 32);
		}
}

static int by_hash(const void *a, const void *b)
{
	const struct column *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static bool equal_columns(const struct hes_matrix *m, size_t x, size_t y)
{
	for (size_t i = 0; i < m->rows; i++)
		if (bits_of(m->v[i * m->columns + x]) != bits_of(m->v[i * m->columns + y]))
			return false;
	return true;
}

/* For each column the first equal column, or itself. */
static void find_first_equals(const struct hes_matrix *time_s, const struct hes_matrix *energy_j,
			      struct column *columns, uint32_t *first_equal)
{
	const size_t width = time_s->columns;

	hash_columns(time_s, energy_j, columns);
	qsort(columns, width, sizeof(*columns), by_hash);
	for (size_t c = 0; c < width; c++) {
		uint32_t at = columns[c].at;

		first_equal[at] = at;
		for (size_t d = c; d > 0 && columns[d - 1].hash == columns[c].hash; d--) {
			uint32_t before = columns[d - 1].at;

			if (first_equal[before] == before && equal_columns(time_s, before, at) &&
			    equal_columns(energy_j, before, at)) {
				first_equal[at] = before;
				break;
			}
		}
	}
}

/* Number the types by their first column. @return how many */
static size_t number_types(uint32_t *first_equal, size_t width)
{
	size_t n_types = 0;

	for (size_t c = 0; c < width; c++) {
		if (first_equal[c] == c)
			first_equal[c] = (uint32_t)n_types++;
		else
			first_equal[c] = first_equal[first_equal[c]];
	}
	return n_types;
}

static int check(const struct hes_matrix *time_s, const struct hes_matrix *energy_j,
		 struct hes_err *err)
{
	const size_t width = time_s->columns;

	for (size_t i = 0; i < time_s->rows; i++) {
		size_t runs = 0;

		for (size_t c = 0; c < width; c++) {
			bool has_time = !isnan(time_s->v[i * width + c]);

			if (has_time != !isnan(energy_j->v[i * width + c]))
				return hes_fail(
					err, -EINVAL,
					"row %zu, column %zu: a run time without an energy or the "
					"reverse; both empty say that the job cannot run there",
					i + 1, c + 1);
			runs += has_time;
		}
		if (!runs)
			return hes_fail(
				err, -EINVAL,
				"row %zu: every field is empty; each job must be able to run on "
				"some GPU",
				i + 1);
	}
	return 0;
}

static void fill_costs(struct hes_instance *in, const struct hes_matrix *time_s,
		       const struct hes_matrix *energy_j, const uint32_t *type_of)
{
	const size_t n = time_s->rows, width = time_s->columns;

	for (size_t i = 0; i < n; i++)
		for (size_t c = 0; c < width; c++) {
			double t = time_s->v[i * width + c], e = energy_j->v[i * width + c];

			in->cost[type_of[c] * n + i] =
				isnan(t) ? (struct hes_cost){ INFINITY, INFINITY }
					 : (struct hes_cost){ t * 1e6, e * 1e3 };
		}
}

static int build(struct hes_instance *in, const struct hes_matrix *time_s,
		 const struct hes_matrix *energy_j, const uint32_t *counts, const uint32_t *type_of,
		 size_t n_types)
{
	const size_t n = time_s->rows, width = time_s->columns;
	size_t k = 0, at = 0;

	for (size_t c = 0; c < width; c++)
		k += counts ? counts[c] : 1;
	in->cost = calloc(n * n_types, sizeof(*in->cost));
	in->gpus = calloc(k, sizeof(*in->gpus));
	if (!in->cost || !in->gpus)
		return -ENOMEM;
	for (size_t c = 0; c < width; c++)
		for (size_t i = 0; i < (counts ? counts[c] : 1); i++)
			in->gpus[at++].type = type_of[c];
	fill_costs(in, time_s, energy_j, type_of);
	return hes_assign_init(&in->a, n, k, n_types, in->cost, in->gpus);
}

int hes_instance_init(struct hes_instance *in, const struct hes_matrix *time_s,
		      const struct hes_matrix *energy_j, const uint32_t *counts,
		      struct hes_err *err)
{
	const size_t width = time_s->columns;
	struct hes_instance made = { 0 };
	struct column *columns;
	uint32_t *type_of;
	int rc = check(time_s, energy_j, err);

	if (rc)
		return rc;
	columns = calloc(width, sizeof(*columns));
	type_of = calloc(width, sizeof(*type_of));
	rc = columns && type_of ? 0 : -ENOMEM;
	if (!rc) {
		find_first_equals(time_s, energy_j, columns, type_of);
		rc = build(&made, time_s, energy_j, counts, type_of, number_types(type_of, width));
	}
	free(columns);
	free(type_of);
	if (rc) {
		hes_instance_finish(&made);
		return hes_fail(err, rc, "out of memory for %zu jobs on %zu GPUs", time_s->rows,
				width);
	}
	*in = made;
	return 0;
}

int hes_instance_set_usage(struct hes_instance *in, const struct hes_matrix *usage,
			   const uint32_t *counts, struct hes_err *err)
{
	const size_t n = in->a.n;
	struct hes_usage *made;
	size_t width = 0;

	for (size_t at = 0; at < in->a.k; width++)
		at += counts ? counts[width] : 1;
	if (usage->rows != n || usage->columns != 3 * width)
		return hes_fail(
			err, -EINVAL,
			"%zu rows of %zu numbers; give a row for each of the %zu jobs, with "
			"three numbers for each of the %zu columns of the times",
			usage->rows, usage->columns, n, width);
	made = calloc(in->a.n_types * n, sizeof(*made));
	if (!made)
		return hes_fail(err, -ENOMEM, "out of memory for the usage of %zu jobs", n);
	for (size_t c = 0, at = 0; c < width; at += counts ? counts[c] : 1, c++)
		for (size_t i = 0; i < n; i++) {
			const double *v = &usage->v[i * usage->columns + 3 * c];

			if (isnan(v[0] + v[1] + v[2]) &&
			    isfinite(hes_assign_cost(&in->a, i, at)->time_us)) {
				free(made);
				return hes_fail(err, -EINVAL,
						"row %zu: no usage of column %zu, where the job "
						"can run",
						i + 1, c + 1);
			}
			made[in->gpus[at].type * n + i] = (struct hes_usage){ v[0], v[1], v[2] };
		}
	free(in->usage);
	in->usage = made;
	in->a.usage = made;
	return 0;
}

void hes_instance_finish(struct hes_instance *in)
{
	hes_assign_finish(&in->a);
	free(in->usage);
	free(in->cost);
	free(in->gpus);
	*in = (struct hes_instance){ 0 };
}
