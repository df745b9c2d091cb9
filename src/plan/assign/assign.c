/*
 * assign.c - evaluation of an assignment of jobs to GPUs; see assign.h.
 */
#include "plan/assign/assign.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct keyed {
	double time_us;
	uint32_t job;
};

static int shorter(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;

	if (x->time_us != y->time_us)
		return x->time_us < y->time_us ? -1 : 1;
	return x->job < y->job ? -1 : x->job > y->job;
}

static void rank_jobs(struct hes_assign *a, struct keyed *keys)
{
	for (size_t t = 0; t < a->n_types; t++) {
		for (size_t i = 0; i < a->n; i++)
			keys[i] = (struct keyed){ a->cost[t * a->n + i].time_us, (uint32_t)i };
		qsort(keys, a->n, sizeof(*keys), shorter);
		for (size_t i = 0; i < a->n; i++) {
			a->rank[t * a->n + keys[i].job] = (uint32_t)i;
			a->order[t * a->n + i] = keys[i].job;
		}
	}
}

static int higher_rank(const void *a, const void *b)
{
	return -shorter(a, b);
}

static void order_by_mean_rank(struct hes_assign *a, struct keyed *keys)
{
	for (size_t i = 0; i < a->n; i++) {
		keys[i] = (struct keyed){ 0, (uint32_t)i };
		for (size_t t = 0; t < a->n_types; t++)
			keys[i].time_us += a->rank[t * a->n + i];
	}
	qsort(keys, a->n, sizeof(*keys), higher_rank);
	for (size_t i = 0; i < a->n; i++)
		a->longest_first[i] = keys[i].job;
}

/* The grid spacing at which every sum up to @most is exact. */
static double grid_for(double most)
{
	int exponent;

	frexp(most, &exponent);
	return ldexp(1, exponent - 52);
}

static double on_grid(double v, double grid)
{
	return isfinite(v) ? nearbyint(v / grid) * grid : v;
}

static void round_costs(struct hes_assign *a)
{
	double longest_us = 0, energy_mj = 0, wait_us = 0, time_grid, energy_grid;

	for (size_t g = 0; g < a->k; g++)
		wait_us = fmax(wait_us, a->gpus[g].wait_us);
	for (size_t i = 0; i < a->n; i++) {
		double time_most = 0, energy_most = 0;

		for (size_t t = 0; t < a->n_types; t++) {
			const struct hes_cost *c = &a->cost[t * a->n + i];

			if (!isfinite(c->time_us))
				continue;
			time_most = fmax(time_most, c->time_us);
			energy_most = fmax(energy_most, c->energy_mj);
		}
		longest_us += time_most;
		energy_mj += energy_most;
	}
	time_grid = grid_for((double)a->n * (longest_us + wait_us));
	energy_grid = grid_for(energy_mj);
	for (size_t i = 0; i < a->n * a->n_types; i++)
		a->exact[i] = (struct hes_cost){ on_grid(a->cost[i].time_us, time_grid),
						 on_grid(a->cost[i].energy_mj, energy_grid) };
	for (size_t g = 0; g < a->k; g++)
		a->exact_wait_us[g] = on_grid(a->gpus[g].wait_us, time_grid);
}

int hes_assign_init(struct hes_assign *a, size_t n, size_t k, size_t n_types,
		    const struct hes_cost *cost, const struct hes_assign_gpu *gpus)
{
	struct hes_assign made = { .n = n, .k = k, .n_types = n_types, .cost = cost, .gpus = gpus };
	struct keyed *keys = calloc(n + 1, sizeof(*keys));

	made.rank = calloc(n * n_types + 1, sizeof(*made.rank));
	made.order = calloc(n * n_types + 1, sizeof(*made.order));
	made.longest_first = calloc(n + 1, sizeof(*made.longest_first));
	made.exact = calloc(n * n_types + 1, sizeof(*made.exact));
	made.exact_wait_us = calloc(k + 1, sizeof(*made.exact_wait_us));
	if (!keys || !made.rank || !made.order || !made.longest_first || !made.exact ||
	    !made.exact_wait_us) {
		free(keys);
		hes_assign_finish(&made);
		return -ENOMEM;
	}
	rank_jobs(&made, keys);
	order_by_mean_rank(&made, keys);
	round_costs(&made);
	free(keys);
	*a = made;
	return 0;
}

void hes_assign_finish(struct hes_assign *a)
{
	free(a->rank);
	free(a->order);
	free(a->longest_first);
	free(a->exact);
	free(a->exact_wait_us);
	*a = (struct hes_assign){ 0 };
}

static void sort_queue(uint32_t *queue, uint32_t n, const uint32_t *rank)
{
	for (uint32_t i = 1; i < n; i++) {
		uint32_t job = queue[i], at = i;

		for (; at > 0 && rank[queue[at - 1]] > rank[job]; at--)
			queue[at] = queue[at - 1];
		queue[at] = job;
	}
}

/* By mean rank, which is nearly right on every type, then sorted queue by queue. */
static void fill_and_sort(const struct hes_assign *a, struct hes_assignment *x)
{
	for (size_t i = a->n; i-- > 0;) {
		uint32_t job = a->longest_first[i];

		x->queue[x->first[x->gpu_of[job]]++] = job;
	}
	for (size_t g = 0; g < a->k; g++) {
		uint32_t start = g ? x->first[g - 1] : 0;

		sort_queue(x->queue + start, x->first[g] - start, &a->rank[a->gpus[g].type * a->n]);
	}
}

static void fill_queues(const struct hes_assign *a, struct hes_assignment *x)
{
	memset(x->first, 0, (a->k + 1) * sizeof(*x->first));
	for (size_t i = 0; i < a->n; i++)
		x->first[x->gpu_of[i] + 1]++;
	for (size_t g = 0; g < a->k; g++)
		x->first[g + 1] += x->first[g];
	fill_and_sort(a, x);
	/* The loops moved each start to its end, which is the next start. */
	memmove(x->first + 1, x->first, a->k * sizeof(*x->first));
	x->first[0] = 0;
}

void hes_assign_evaluate(const struct hes_assign *a, struct hes_assignment *x)
{
	fill_queues(a, x);
	x->at = (struct hes_objectives){ 0, 0 };
	for (size_t g = 0; g < a->k; g++) {
		const struct hes_cost *row = &a->cost[a->gpus[g].type * a->n];
		struct hes_gpu_sum sum = { 0, 0, 0 };
		double end_us = a->gpus[g].wait_us;

		for (uint32_t i = x->first[g]; i < x->first[g + 1]; i++) {
			const struct hes_cost *c = &row[x->queue[i]];

			end_us += c->time_us;
			x->end_us[x->queue[i]] = end_us;
			sum.energy_mj += c->energy_mj;
			sum.ends_us += end_us;
		}
		sum.busy_us = end_us - a->gpus[g].wait_us;
		x->sums[g] = sum;
		x->at.energy_mj += sum.energy_mj;
		x->at.jct_us += sum.ends_us;
	}
}

struct hes_assignment *hes_assignments_new(const struct hes_assign *a, size_t count)
{
	/* Widest members first: every array is aligned. */
	size_t each = a->k * sizeof(struct hes_gpu_sum) + a->n * sizeof(double) +
		      (2 * a->n + a->k + 1) * sizeof(uint32_t);
	struct hes_assignment *x;
	char *room;

	each = (each + 15) / 16 * 16;
	x = calloc(count, sizeof(*x) + each);
	if (!x)
		return NULL;
	room = (char *)(x + count);
	for (size_t i = 0; i < count; i++, room += each) {
		x[i].sums = (struct hes_gpu_sum *)(void *)room;
		x[i].end_us = (double *)(void *)(x[i].sums + a->k);
		x[i].gpu_of = (uint32_t *)(void *)(x[i].end_us + a->n);
		x[i].queue = x[i].gpu_of + a->n;
		x[i].first = x[i].queue + a->n;
	}
	return x;
}
