/*
 * genetic.c - the paper's three improvements, and its genetic algorithm:
 * those, with the survivors of NSGA-II; see genetic.h and assign_search.h.
 */
#include "plan/genetic.h"

#include <math.h>
#include <string.h>

#include "plan/assign_search.h"

const struct hes_genetic_options hes_genetic_defaults = {
	.population = 50, .generations = 500, .mutation = 0.1, .seed = 1, .threads = 1,
};

static size_t gpus_of_type(const struct hes_assign_search *s, size_t type)
{
	return s->first_of_type[type + 1] - s->first_of_type[type];
}

/* How many GPUs beat a type for a job, in energy plus in time: twice its average rank. */
static size_t rank_sum(const struct hes_assign_search *s, size_t job, size_t type)
{
	const struct hes_cost *c = &s->a->exact[type * s->a->n + job];
	size_t sum = 0;

	for (size_t t = 0; t < s->a->n_types; t++) {
		const struct hes_cost *other = &s->a->exact[t * s->a->n + job];

		sum += gpus_of_type(s, t) *
		       ((size_t)(other->energy_mj < c->energy_mj) + (size_t)(other->time_us < c->time_us));
	}
	return sum;
}

/* Multi-objective initialisation: the GPU of best average rank, ties by lot. */
static uint32_t best_ranked(const struct hes_assign_search *s, struct hes_rng *r, size_t job)
{
	size_t best = SIZE_MAX, tied = 0;
	uint32_t gpu = 0;

	for (size_t t = 0; t < s->a->n_types; t++) {
		size_t sum = isfinite(s->a->exact[t * s->a->n + job].time_us) ? rank_sum(s, job, t) : SIZE_MAX;
		size_t n = gpus_of_type(s, t), at;

		if (sum > best || sum == SIZE_MAX || n == 0)
			continue;
		tied = sum < best ? n : tied + n;
		best = sum;
		at = hes_rng_below(r, tied); /* of those tied so far, each with the same odds */
		if (at < n)
			gpu = s->by_type[s->first_of_type[t] + at];
	}
	return gpu;
}

void hes_ranked_draw(const struct hes_assign_search *s, struct hes_rng *r, struct hes_queues *x)
{
	uint32_t *gpu_of = hes_queues_gpu_of(s->a, x);

	for (size_t i = 0; i < s->a->n; i++)
		gpu_of[i] = best_ranked(s, r, i);
	hes_queues_build(s->a, x);
}

/* What an offspring aims at: the weight of energy against completion time, in the parents' terms. */
struct aim {
	double energy_weight;
	double energy_scale_mj;  /* mean of a job's energy */
	double jct_scale_us;     /* mean of a job's completion time */
	double excess_scale;     /* mean energy over least energy */
};

static struct aim draw_aim(const struct hes_assign_search *s, struct hes_rng *r, const struct hes_queues *p,
			   const struct hes_queues *q)
{
	double n = 2 * (double)s->a->n, least = 0;

	for (size_t i = 0; i < s->a->n; i++)
		least += s->least_energy_mj[i];
	return (struct aim){
		.energy_weight = hes_rng_unit(r),
		.energy_scale_mj = (p->at.energy_mj + q->at.energy_mj) / n,
		.jct_scale_us = (p->at.jct_us + q->at.jct_us) / n,
		.excess_scale = (p->at.energy_mj + q->at.energy_mj) / (2 * least),
	};
}

/*
 * How good one GPU's segment is, less being better: its energy against the
 * least its jobs could take anywhere, and its average completion time. Its
 * jobs' completion times are noted on the way.
 */
static double segment_score(const struct hes_assign_search *s, const struct hes_queues *x, size_t gpu,
			    const struct aim *aim, double *end_us)
{
	const struct hes_cost *costs = &s->a->exact[s->a->gpus[gpu].type * s->a->n];
	const uint32_t *next = hes_queues_next(s->a, x);
	const struct hes_queue *q = &x->v[gpu];
	double least = 0, end = s->a->exact_wait_us[gpu];

	if (q->n == 0)
		return INFINITY;
	for (uint32_t i = q->head; i != HES_QUEUES_END; i = next[i]) {
		end += costs[i].time_us;
		end_us[i] = end;
		least += s->least_energy_mj[i];
	}
	return aim->energy_weight * q->sum.energy_mj / least / aim->excess_scale +
	       (1 - aim->energy_weight) * q->sum.ends_us / (double)q->n / aim->jct_scale_us;
}

static double job_score(const struct hes_assign_search *s, size_t job, uint32_t gpu, double end_us,
			const struct aim *aim)
{
	return aim->energy_weight * s->a->exact[s->a->gpus[gpu].type * s->a->n + job].energy_mj / aim->energy_scale_mj +
	       (1 - aim->energy_weight) * end_us / aim->jct_scale_us;
}

/*
 * Multi-objective elitism: each GPU's segment comes from the parent where it
 * is better. A job in two inherited segments, or in none, goes where it
 * does better itself.
 */
void hes_inherit(const struct hes_assign_search *s, struct hes_rng *r, struct hes_assign_scratch *room,
		 const struct hes_queues *p, const struct hes_queues *q, struct hes_queues *child)
{
	const size_t n = s->a->n;
	const uint32_t *at_p = hes_queues_gpus(s->a, p), *at_q = hes_queues_gpus(s->a, q);
	double *end_p = room->end_us, *end_q = room->end_us + n;
	struct aim aim = draw_aim(s, r, p, q);

	for (size_t k = 0; k < s->a->k; k++) {
		double score_p = segment_score(s, p, k, &aim, end_p), score_q = segment_score(s, q, k, &aim, end_q);

		room->from_first[k] = score_p <= score_q;
	}
	for (size_t i = 0; i < n; i++) {
		bool in_p = room->from_first[at_p[i]], in_q = !room->from_first[at_q[i]];

		if (in_p == in_q && at_p[i] != at_q[i])
			in_p = job_score(s, i, at_p[i], end_p[i], &aim) <= job_score(s, i, at_q[i], end_q[i], &aim);
		room->gpu_of[i] = in_p ? at_p[i] : at_q[i];
	}
	memcpy(child, p, hes_queues_size(s->a));
	hes_queues_become(s->a, child, room->gpu_of);
}

size_t hes_choose_migrants(const struct hes_assign_search *s, struct hes_rng *r, struct hes_assign_scratch *room)
{
	const double n = (double)s->a->n, gap = 1 / s->mutation;
	size_t moving = 0;

	memset(room->moves, 0, s->a->n);
	for (double at = floor(hes_rng_exponential(r, gap)); at < n; at += 1 + floor(hes_rng_exponential(r, gap))) {
		room->moving[moving++] = (uint32_t)at;
		room->moves[(size_t)at] = 1;
	}
	return moving;
}

/* Least energy; among equals, the GPU least busy. */
static uint32_t least_energy_gpu(const struct hes_assign_search *s, const struct hes_queues *x, size_t job)
{
	const struct hes_assign *a = s->a;
	double least_us = INFINITY;
	uint32_t best = 0;

	for (size_t t = 0; t < a->n_types; t++) {
		if (!isfinite(a->exact[t * a->n + job].time_us) ||
		    a->exact[t * a->n + job].energy_mj > s->least_energy_mj[job])
			continue;
		for (uint32_t i = s->first_of_type[t]; i < s->first_of_type[t + 1]; i++) {
			uint32_t gpu = s->by_type[i];

			if (a->exact_wait_us[gpu] + x->v[gpu].sum.busy_us < least_us) {
				least_us = a->exact_wait_us[gpu] + x->v[gpu].sum.busy_us;
				best = gpu;
			}
		}
	}
	return best;
}

static uint32_t least_degradation_gpu(const struct hes_assign *a, const struct hes_queues *x, uint32_t job)
{
	double least = INFINITY;
	uint32_t best = 0;

	for (uint32_t k = 0; k < a->k; k++) {
		double d = a->exact_wait_us[k] + a->exact[a->gpus[k].type * a->n + job].time_us;

		if (d >= least)
			continue;
		d = hes_queues_delay_us(a, x, job, k);
		if (d < least) {
			least = d;
			best = k;
		}
	}
	return best;
}

/* The job on @gpu whose run time there is most like @job's and that can run on @to; n: none. */
static size_t most_similar(const struct hes_assign *a, const struct hes_assign_scratch *room,
			   const struct hes_queues *x, size_t job, uint32_t gpu, uint32_t to)
{
	const struct hes_cost *costs = &a->exact[a->gpus[gpu].type * a->n];
	const uint32_t *next = hes_queues_next(a, x);
	double nearest = INFINITY;
	size_t best = a->n;

	for (uint32_t i = x->v[gpu].head; i != HES_QUEUES_END; i = next[i]) {
		double d = fabs(costs[i].time_us - costs[job].time_us);

		if (i == job || room->moves[i] || d >= nearest || !isfinite(hes_assign_cost(a, i, to)->time_us))
			continue;
		nearest = d;
		best = i;
	}
	return best;
}

/*
 * Priority mutation: the drawn jobs migrate to the GPU of least energy, or of
 * least degradation. To keep that GPU's load, its most similar job goes where
 * the migrant came from; since a queue has no capacity to exceed, only every
 * second time, by lot, or queue lengths could never change here.
 */
void hes_migrate(const struct hes_assign_search *s, struct hes_rng *r, const struct hes_assign_scratch *room,
		 size_t n_moving, bool for_energy, struct hes_queues *x)
{
	const struct hes_assign *a = s->a;
	const uint32_t *gpu_of = hes_queues_gpus(a, x);

	for (size_t i = 0; i < n_moving; i++) {
		uint32_t job = room->moving[i], source = gpu_of[job];
		uint32_t target = for_energy ? least_energy_gpu(s, x, job) : least_degradation_gpu(a, x, job);
		size_t other;

		if (target == source)
			continue;
		hes_queues_move(a, x, job, target);
		if (hes_rng_u64(r) >> 63)
			continue;
		other = most_similar(a, room, x, job, target, source);
		if (other < a->n)
			hes_queues_move(a, x, (uint32_t)other, source);
	}
}

int hes_genetic_run(const struct hes_assign *a, const struct hes_genetic_options *o,
		    struct hes_assign_front *out)
{
	const struct hes_evolve_options e = {
		.population = o->population, .generations = o->generations, .seed = o->seed, .threads = o->threads,
	};
	struct hes_assign_search s;
	int rc = hes_assign_search_init(&s, a);

	if (rc)
		return rc;
	s.crossover = 0.9;
	s.mutation = o->plain_mutation ? 2 / (double)a->n : o->mutation;
	s.ranked_start = !o->plain_start;
	s.inherit = !o->plain_crossover;
	s.migrate = !o->plain_mutation;
	rc = hes_assign_search_run(&s, hes_nsga2, &e, out);
	hes_assign_search_finish(&s);
	return rc;
}
