/*
 * operators.c - the paper's three operators on assignments; see operators.h.
 */
#include "plan/assign/operators.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t gpus_of_type(const struct hes_operators *ops, size_t type)
{
	return ops->first_of_type[type + 1] - ops->first_of_type[type];
}

/* --- what the operators know of a problem --- */

static void list_by_type(struct hes_operators *ops)
{
	const struct hes_assign *a = ops->a;
	uint32_t *first = ops->first_of_type;

	for (size_t g = 0; g < a->k; g++)
		first[a->gpus[g].type + 1]++;
	for (size_t t = 0; t < a->n_types; t++)
		first[t + 1] += first[t];
	for (size_t g = 0; g < a->k; g++)
		ops->by_type[first[a->gpus[g].type]++] = (uint32_t)g;
	/* The loop moved each start to its end, which is the next type's start. */
	memmove(first + 1, first, a->n_types * sizeof(*first));
	first[0] = 0;
}

static void find_cheapest(struct hes_operators *ops)
{
	const struct hes_assign *a = ops->a;

	for (size_t i = 0; i < a->n; i++)
		ops->least_energy_mj[i] = INFINITY;
	for (size_t t = 0; t < a->n_types; t++)
		for (size_t i = 0; i < a->n; i++) {
			const struct hes_cost *c = &a->exact[t * a->n + i];

			if (!isfinite(c->time_us) || c->energy_mj >= ops->least_energy_mj[i])
				continue;
			ops->least_energy_mj[i] = c->energy_mj;
			ops->cheapest_type[i] = (uint32_t)t;
		}
}

struct type_cost {
	double energy_mj, time_us;
	uint32_t type;
};

static int by_time(const void *a, const void *b)
{
	const struct type_cost *x = a, *y = b;

	if (x->time_us != y->time_us)
		return x->time_us < y->time_us ? -1 : 1;
	return x->type < y->type ? -1 : x->type > y->type;
}

/* The job's rank on a type is the number of GPUs with less energy plus the number of GPUs with less
 * time. */
static void rank_types(struct hes_operators *ops, size_t job, struct type_cost *v)
{
	uint32_t *best = ops->ranked_types + job * ops->a->n_types, *n_best = &ops->n_ranked[job];
	size_t n = 0, least = SIZE_MAX;

	for (size_t t = 0; t < ops->a->n_types; t++) {
		const struct hes_cost *c = &ops->a->exact[t * ops->a->n + job];

		if (isfinite(c->time_us) && gpus_of_type(ops, t))
			v[n++] = (struct type_cost){ c->energy_mj, c->time_us, (uint32_t)t };
	}
	qsort(v, n, sizeof(*v), by_time);
	for (size_t i = 0; i < n; i++) {
		size_t rank = 0;

		for (size_t j = 0; j < n; j++)
			rank += gpus_of_type(ops, v[j].type) *
				(size_t)((v[j].energy_mj < v[i].energy_mj) +
					 (v[j].time_us < v[i].time_us));
		if (rank > least)
			continue;
		if (rank < least)
			*n_best = 0;
		least = rank;
		best[(*n_best)++] = v[i].type;
	}
}

void hes_operators_finish(struct hes_operators *ops)
{
	free(ops->least_energy_mj);
	free(ops->cheapest_type);
	free(ops->ranked_types);
	free(ops->n_ranked);
	hes_delays_finish(&ops->delays);
	free(ops->by_type);
	free(ops->first_of_type);
	*ops = (struct hes_operators){ 0 };
}

int hes_operators_init(struct hes_operators *ops, const struct hes_assign *a, double mutation)
{
	struct type_cost *v = calloc(a->n_types + 1, sizeof(*v));

	*ops = (struct hes_operators){ .a = a,
				       .mutation_gap = mutation < 1 ? -1 / log1p(-mutation) : 0 };
	ops->least_energy_mj = calloc(a->n + 1, sizeof(*ops->least_energy_mj));
	ops->cheapest_type = calloc(a->n + 1, sizeof(*ops->cheapest_type));
	ops->ranked_types = calloc(a->n * a->n_types + 1, sizeof(*ops->ranked_types));
	ops->n_ranked = calloc(a->n + 1, sizeof(*ops->n_ranked));
	ops->by_type = calloc(a->k + 1, sizeof(*ops->by_type));
	ops->first_of_type = calloc(a->n_types + 1, sizeof(*ops->first_of_type));
	if (!v || !ops->least_energy_mj || !ops->cheapest_type || !ops->ranked_types ||
	    !ops->n_ranked || !ops->by_type || !ops->first_of_type ||
	    hes_delays_init(&ops->delays, a)) {
		free(v);
		hes_operators_finish(ops);
		return -ENOMEM;
	}
	list_by_type(ops);
	find_cheapest(ops);
	for (size_t i = 0; i < a->n; i++)
		rank_types(ops, i, v);
	free(v);
	return 0;
}

size_t hes_operator_room_size(const struct hes_assign *a)
{
	return a->n * (2 * sizeof(double) + 3 * sizeof(uint32_t) + 1) +
	       hes_delays_rows(a) * sizeof(double) + a->k;
}

struct hes_operator_room hes_operator_room_in(const struct hes_assign *a, void *bytes)
{
	/* Widest first, so that each is aligned. */
	double *end_us = bytes, *delays = end_us + 2 * a->n;
	uint32_t *gpu_of = (uint32_t *)(void *)(delays + hes_delays_rows(a)),
		 *moving = gpu_of + 2 * a->n;
	uint8_t *moves = (uint8_t *)(void *)(moving + a->n);

	return (struct hes_operator_room){ gpu_of, end_us, delays, moving, moves, moves + a->n };
}

/* --- initialisation: each job on a GPU of best average rank, ties at random --- */

static uint32_t best_ranked(const struct hes_operators *ops, struct hes_rng *r, size_t job)
{
	const uint32_t *types = ops->ranked_types + job * ops->a->n_types;
	size_t tied = 0, at, t = 0;

	for (size_t i = 0; i < ops->n_ranked[job]; i++)
		tied += gpus_of_type(ops, types[i]);
	for (at = hes_rng_below(r, tied); at >= gpus_of_type(ops, types[t]); t++)
		at -= gpus_of_type(ops, types[t]);
	return ops->by_type[ops->first_of_type[types[t]] + at];
}

void hes_ranked_draw(const struct hes_operators *ops, struct hes_rng *r, struct hes_queues *x)
{
	uint32_t *gpu_of = hes_queues_gpu_of(ops->a, x);

	for (size_t i = 0; i < ops->a->n; i++)
		gpu_of[i] = best_ranked(ops, r, i);
	hes_queues_build(ops->a, x);
}

/* --- inheritance: each GPU's segment from the parent where it is better --- */

/* How a child weighs energy against completion time, in units of the parents' means. */
struct aim {
	double energy_weight;
	double energy_scale_mj; /* mean energy of a job */
	double jct_scale_us;    /* mean completion time of a job */
	double excess_scale;    /* mean energy over least energy */
};

static struct aim draw_aim(const struct hes_operators *ops, struct hes_rng *r,
			   const struct hes_queues *p, const struct hes_queues *q)
{
	double n = 2 * (double)ops->a->n, least = 0;

	for (size_t i = 0; i < ops->a->n; i++)
		least += ops->least_energy_mj[i];
	return (struct aim){
		.energy_weight = hes_rng_unit(r),
		.energy_scale_mj = (p->at.energy_mj + q->at.energy_mj) / n,
		.jct_scale_us = (p->at.jct_us + q->at.jct_us) / n,
		.excess_scale = (p->at.energy_mj + q->at.energy_mj) / (2 * least),
	};
}

/*
 * Score of one GPU's jobs, less is better: their energy relative to the least possible, and their
 * mean completion time. Also writes their completion times to end_us.
 */
static double segment_score(const struct hes_operators *ops, const struct hes_queues *x, size_t gpu,
			    const struct aim *aim, double *end_us)
{
	const struct hes_cost *costs = &ops->a->exact[ops->a->gpus[gpu].type * ops->a->n];
	const uint32_t *next = hes_queues_next(ops->a, x);
	const struct hes_gpu_queue *q = &x->v[gpu];
	double least = 0, end = ops->a->exact_wait_us[gpu];

	if (q->n == 0)
		return INFINITY;
	for (uint32_t i = q->head; i != HES_QUEUES_END; i = next[i]) {
		end += costs[i].time_us;
		end_us[i] = end;
		least += ops->least_energy_mj[i];
	}
	return aim->energy_weight * q->sum.energy_mj / least / aim->excess_scale +
	       (1 - aim->energy_weight) * q->sum.ends_us / (double)q->n / aim->jct_scale_us;
}

static double job_score(const struct hes_operators *ops, size_t job, uint32_t gpu, double end_us,
			const struct aim *aim)
{
	return aim->energy_weight *
		       ops->a->exact[ops->a->gpus[gpu].type * ops->a->n + job].energy_mj /
		       aim->energy_scale_mj +
	       (1 - aim->energy_weight) * end_us / aim->jct_scale_us;
}

/* A job in two inherited segments, or in none, takes the GPU where its own score is better. */
void hes_inherit(const struct hes_operators *ops, struct hes_rng *r, struct hes_operator_room *room,
		 const struct hes_queues *p, const struct hes_queues *q, struct hes_queues *child)
{
	const size_t n = ops->a->n;
	const uint32_t *at_p = hes_queues_gpus(ops->a, p), *at_q = hes_queues_gpus(ops->a, q);
	double *end_p = room->end_us, *end_q = room->end_us + n;
	struct aim aim = draw_aim(ops, r, p, q);

	for (size_t k = 0; k < ops->a->k; k++) {
		double score_p = segment_score(ops, p, k, &aim, end_p),
		       score_q = segment_score(ops, q, k, &aim, end_q);

		room->from_first[k] = score_p <= score_q;
	}
	for (size_t i = 0; i < n; i++) {
		bool in_p = room->from_first[at_p[i]], in_q = !room->from_first[at_q[i]];

		if (in_p == in_q && at_p[i] != at_q[i])
			in_p = job_score(ops, i, at_p[i], end_p[i], &aim) <=
			       job_score(ops, i, at_q[i], end_q[i], &aim);
		room->gpu_of[i] = in_p ? at_p[i] : at_q[i];
	}
	memcpy(child, p, hes_queues_size(ops->a));
	hes_queues_become(ops->a, child, room->gpu_of);
}

/* --- mutation: jobs migrate to the GPU of least energy or of least degradation --- */

size_t hes_choose_migrants(const struct hes_operators *ops, struct hes_rng *r,
			   struct hes_operator_room *room)
{
	const double n = (double)ops->a->n, gap = ops->mutation_gap;
	size_t moving = 0;

	memset(room->moves, 0, ops->a->n);
	for (double at = floor(hes_rng_exponential(r, gap)); at < n;
	     at += 1 + floor(hes_rng_exponential(r, gap))) {
		room->moving[moving++] = (uint32_t)at;
		room->moves[(size_t)at] = 1;
	}
	return moving;
}

/* The least busy GPU of the type of least energy. */
static uint32_t least_energy_gpu(const struct hes_operators *ops, const struct hes_queues *x,
				 size_t job)
{
	const uint32_t type = ops->cheapest_type[job];
	double least_us = INFINITY;
	uint32_t best = 0;

	for (uint32_t i = ops->first_of_type[type]; i < ops->first_of_type[type + 1]; i++) {
		uint32_t gpu = ops->by_type[i];
		double busy_us = ops->a->exact_wait_us[gpu] + x->v[gpu].sum.busy_us;

		if (busy_us < least_us) {
			least_us = busy_us;
			best = gpu;
		}
	}
	return best;
}

static struct hes_usage usage_of(const struct hes_assign *a, uint32_t type, size_t job)
{
	if (a->usage)
		return a->usage[type * a->n + job];
	return (struct hes_usage){ .sm = a->exact[type * a->n + job].time_us };
}

static double usage_distance(const struct hes_usage *p, const struct hes_usage *q)
{
	return fabs(p->sm - q->sm) + fabs(p->bandwidth - q->bandwidth) +
	       fabs(p->memory - q->memory);
}

size_t hes_most_similar(const struct hes_assign *a, const uint8_t *moves,
			const struct hes_queues *x, const struct hes_usage *usage, uint32_t gpu,
			uint32_t to)
{
	const uint32_t *next = hes_queues_next(a, x);
	double nearest = INFINITY;
	size_t best = a->n;

	for (uint32_t i = x->v[gpu].head; i != HES_QUEUES_END; i = next[i]) {
		const struct hes_usage own = usage_of(a, a->gpus[gpu].type, i);
		const double d = usage_distance(&own, usage);

		if (moves[i] || d >= nearest || !isfinite(hes_assign_cost(a, i, to)->time_us))
			continue;
		nearest = d;
		best = i;
	}
	return best;
}

static void migrate_job(const struct hes_operators *ops, const struct hes_operator_room *room,
			bool for_energy, struct hes_queues *x, uint32_t job, uint32_t gpu)
{
	const uint32_t from = hes_queues_gpus(ops->a, x)[job];

	hes_queues_shift(ops->a, x, job, gpu);
	if (!for_energy)
		hes_delays_moved(&ops->delays, room->delays, job, from, gpu);
}

/*
 * Recovery: jobs leave the migrant's new GPU, those of the most similar usage first, until its sum
 * is what it was. They go where the migrant came from.
 */
static void recover(const struct hes_operators *ops, const struct hes_operator_room *room,
		    bool for_energy, struct hes_queues *x, uint32_t job, uint32_t source)
{
	const struct hes_assign *a = ops->a;
	const uint32_t target = hes_queues_gpus(a, x)[job], type = a->gpus[target].type;
	struct hes_usage excess = usage_of(a, type, job);

	while (excess.sm + excess.bandwidth + excess.memory > 0) {
		size_t other = hes_most_similar(a, room->moves, x, &excess, target, source);
		struct hes_usage left;

		if (other == a->n)
			return;
		left = usage_of(a, type, other);
		excess.sm -= left.sm;
		excess.bandwidth -= left.bandwidth;
		excess.memory -= left.memory;
		migrate_job(ops, room, for_energy, x, (uint32_t)other, source);
	}
}

uint64_t hes_migrate(const struct hes_operators *ops, const struct hes_operator_room *room,
		     size_t n_moving, bool for_energy, struct hes_queues *x)
{
	const struct hes_assign *a = ops->a;
	const uint32_t *gpu_of = hes_queues_gpus(a, x);

	if (!for_energy)
		hes_delays_fill(&ops->delays, x, room->delays);
	for (size_t i = 0; i < n_moving; i++) {
		uint32_t job = room->moving[i], source = gpu_of[job];
		uint32_t target = for_energy ? least_energy_gpu(ops, x, job)
					     : hes_delays_least(&ops->delays, x, room->delays, job);

		if (target == source)
			continue;
		migrate_job(ops, room, for_energy, x, job, target);
		if (!ops->no_recovery)
			recover(ops, room, for_energy, x, job, source);
	}
	hes_queues_settle(a, x);
	return for_energy ? 0 : n_moving;
}
