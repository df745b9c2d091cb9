/*
 * genetic.c - the paper's three improvements, and its genetic algorithm:
 * those, with the survivors of NSGA-II; see genetic.h and assign_search.h.
 */
#include "plan/assign/genetic.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/assign/assign_search.h"

const struct hes_genetic_options hes_genetic_defaults = {
	.population = 50, .generations = 500, .mutation = 0.1, .seed = 1, .threads = 1,
};

static size_t gpus_of_type(const struct hes_assign_search *s, size_t type)
{
	return s->first_of_type[type + 1] - s->first_of_type[type];
}

/* A type's cost for one job, and how many GPUs beat it there: in energy plus in time, twice the average rank. */
struct standing {
	double   energy_mj, time_us;
	uint32_t type;
	size_t   beaten_by;
};

static int by_energy(const void *a, const void *b)
{
	const struct standing *x = a, *y = b;

	if (x->energy_mj != y->energy_mj)
		return x->energy_mj < y->energy_mj ? -1 : 1;
	return x->type < y->type ? -1 : x->type > y->type;
}

static int by_time(const void *a, const void *b)
{
	const struct standing *x = a, *y = b;

	if (x->time_us != y->time_us)
		return x->time_us < y->time_us ? -1 : 1;
	return x->type < y->type ? -1 : x->type > y->type;
}

/* Add to each its rank in the order of @compare; equals share the better one. */
static void add_rank(const struct hes_assign_search *s, struct standing *v, size_t n, bool energy)
{
	size_t ahead = 0, rank = 0;

	qsort(v, n, sizeof(*v), energy ? by_energy : by_time);
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || (energy ? v[i].energy_mj != v[i - 1].energy_mj : v[i].time_us != v[i - 1].time_us))
			rank = ahead;
		v[i].beaten_by += rank;
		ahead += gpus_of_type(s, v[i].type);
	}
}

/* The types of best average rank for a job. @return how many */
static size_t rank_for(const struct hes_assign_search *s, size_t job, struct standing *v, uint32_t *best)
{
	size_t n = 0, n_best = 0, least = SIZE_MAX;

	for (size_t t = 0; t < s->a->n_types; t++) {
		const struct hes_cost *c = &s->a->exact[t * s->a->n + job];

		if (isfinite(c->time_us) && gpus_of_type(s, t))
			v[n++] = (struct standing){ c->energy_mj, c->time_us, (uint32_t)t, 0 };
	}
	add_rank(s, v, n, true);
	add_rank(s, v, n, false);
	for (size_t i = 0; i < n; i++)
		least = v[i].beaten_by < least ? v[i].beaten_by : least;
	for (size_t i = 0; i < n; i++)
		if (v[i].beaten_by == least)
			best[n_best++] = v[i].type;
	return n_best;
}

static int rank_types(struct hes_assign_search *s)
{
	const size_t n = s->a->n, n_types = s->a->n_types;
	struct standing *v = calloc(n_types + 1, sizeof(*v));
	size_t at = 0, room = 0;

	s->ranked_first = calloc(n + 1, sizeof(*s->ranked_first));
	for (size_t i = 0; v && s->ranked_first && i < n; i++) {
		if (room - at < n_types) {
			uint32_t *more = realloc(s->ranked_types, (room = 2 * room + 2 * n + n_types) * sizeof(*more));

			if (!more)
				break;
			s->ranked_types = more;
		}
		at += rank_for(s, i, v, s->ranked_types + at);
		s->ranked_first[i + 1] = (uint32_t)at;
	}
	free(v);
	return s->ranked_first && (n == 0 || s->ranked_first[n]) ? 0 : -ENOMEM;
}

int hes_genetic_prepare(struct hes_assign_search *s)
{
	int rc = s->ranked_start ? rank_types(s) : 0;

	return rc || !s->migrate ? rc : hes_delays_init(&s->delays, s->a);
}

/* Multi-objective initialisation: the GPU of best average rank, ties by lot. */
static uint32_t best_ranked(const struct hes_assign_search *s, struct hes_rng *r, size_t job)
{
	const uint32_t *types = s->ranked_types + s->ranked_first[job];
	size_t n = s->ranked_first[job + 1] - s->ranked_first[job], tied = 0, at, t = 0;

	for (size_t i = 0; i < n; i++)
		tied += gpus_of_type(s, types[i]);
	for (at = hes_rng_below(r, tied); at >= gpus_of_type(s, types[t]); t++)
		at -= gpus_of_type(s, types[t]);
	return s->by_type[s->first_of_type[types[t]] + at];
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
	const struct hes_gpu_queue *q = &x->v[gpu];
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
	const double n = (double)s->a->n, gap = s->mutation_gap;
	size_t moving = 0;

	memset(room->moves, 0, s->a->n);
	for (double at = floor(hes_rng_exponential(r, gap)); at < n; at += 1 + floor(hes_rng_exponential(r, gap))) {
		room->moving[moving++] = (uint32_t)at;
		room->moves[(size_t)at] = 1;
	}
	return moving;
}

/* Of the type of least energy, the GPU least busy. */
static uint32_t least_energy_gpu(const struct hes_assign_search *s, const struct hes_queues *x, size_t job)
{
	const uint32_t type = s->cheapest_type[job];
	double least_us = INFINITY;
	uint32_t best = 0;

	for (uint32_t i = s->first_of_type[type]; i < s->first_of_type[type + 1]; i++) {
		uint32_t gpu = s->by_type[i];
		double busy_us = s->a->exact_wait_us[gpu] + x->v[gpu].sum.busy_us;

		if (busy_us < least_us) {
			least_us = busy_us;
			best = gpu;
		}
	}
	return best;
}

#define BY_RANK 16 /* by rank where the queue is longer than the root of so many times all jobs: looks at any job, anywhere in memory, are dear */

static bool may_swap(const struct hes_assign *a, const uint8_t *moves, const struct hes_queues *x, uint32_t job, uint32_t gpu,
		     uint32_t to)
{
	return hes_queues_gpus(a, x)[job] == gpu && !moves[job] && isfinite(hes_assign_cost(a, job, to)->time_us);
}

/*
 * The same as below, found from the job's own place among all jobs by their time on that type: of the next one shorter that
 * may go and the next one longer the nearer, of equals the shorter; where several take as long as the shorter, the first.
 */
static size_t most_similar_by_rank(const struct hes_assign *a, const uint8_t *moves, const struct hes_queues *x, size_t job,
				   uint32_t gpu, uint32_t to)
{
	const size_t row = a->gpus[gpu].type * a->n, at = a->rank[row + job];
	const struct hes_cost *costs = &a->exact[row];
	const uint32_t *order = &a->order[row];
	double nearest = INFINITY;
	size_t best = a->n;

	for (size_t i = at; i-- > 0 && costs[job].time_us - costs[order[i]].time_us <= nearest;)
		if (may_swap(a, moves, x, order[i], gpu, to)) {
			nearest = costs[job].time_us - costs[order[i]].time_us;
			best = order[i];
		}
	for (size_t i = at + 1; i < a->n && costs[order[i]].time_us - costs[job].time_us < nearest; i++)
		if (may_swap(a, moves, x, order[i], gpu, to))
			return order[i];
	return best;
}

size_t hes_most_similar(const struct hes_assign *a, const uint8_t *moves, const struct hes_queues *x, size_t job, uint32_t gpu,
			uint32_t to)
{
	const struct hes_cost *costs = &a->exact[a->gpus[gpu].type * a->n];
	const uint32_t *next = hes_queues_next(a, x);
	double nearest = INFINITY;
	size_t best = a->n;

	if ((size_t)x->v[gpu].n * x->v[gpu].n > BY_RANK * a->n)
		return most_similar_by_rank(a, moves, x, job, gpu, to);
	for (uint32_t i = x->v[gpu].head; i != HES_QUEUES_END; i = next[i]) {
		double d = fabs(costs[i].time_us - costs[job].time_us);

		if (d >= nearest && costs[i].time_us > costs[job].time_us)
			break; /* those behind are longer still */
		if (i == job || moves[i] || d >= nearest || !isfinite(hes_assign_cost(a, i, to)->time_us))
			continue;
		nearest = d;
		best = i;
	}
	return best;
}

/* The rows of delays are kept where they are asked. */
static void move(const struct hes_assign_search *s, const struct hes_assign_scratch *room, bool for_energy,
		 struct hes_queues *x, uint32_t job, uint32_t gpu)
{
	const uint32_t from = hes_queues_gpus(s->a, x)[job];

	hes_queues_shift(s->a, x, job, gpu);
	if (!for_energy)
		hes_delays_moved(&s->delays, room->delays, job, from, gpu);
}

/*
 * Priority mutation: the drawn jobs migrate to the GPU of least energy, or of
 * least degradation. To keep that GPU's load, its most similar job goes where
 * the migrant came from; since a queue has no capacity to exceed, only every
 * second time, by lot, or queue lengths could never change here.
 */
uint64_t hes_migrate(const struct hes_assign_search *s, struct hes_rng *r, const struct hes_assign_scratch *room,
		     size_t n_moving, bool for_energy, struct hes_queues *x)
{
	const struct hes_assign *a = s->a;
	const uint32_t *gpu_of = hes_queues_gpus(a, x);

	if (!for_energy)
		hes_delays_fill(&s->delays, x, room->delays);
	for (size_t i = 0; i < n_moving; i++) {
		uint32_t job = room->moving[i], source = gpu_of[job];
		uint32_t target = for_energy ? least_energy_gpu(s, x, job) : hes_delays_least(&s->delays, x, room->delays, job);
		size_t other;

		if (target == source)
			continue;
		move(s, room, for_energy, x, job, target);
		if (hes_rng_u64(r) >> 63)
			continue;
		other = hes_most_similar(a, room->moves, x, job, target, source);
		if (other < a->n)
			move(s, room, for_energy, x, (uint32_t)other, source);
	}
	hes_queues_settle(a, x);
	return for_energy ? 0 : n_moving;
}

int hes_genetic_run(const struct hes_assign *a, const struct hes_genetic_options *o,
		    struct hes_assign_front *out, uint64_t *evaluations)
{
	const struct hes_evolve_options e = {
		.population = o->population, .generations = o->generations, .evaluations = o->evaluations,
		.seed = o->seed, .threads = o->threads,
	};
	struct hes_assign_search s;
	int rc = hes_assign_search_init(&s, a);

	if (rc)
		return rc;
	s.crossover = 0.9;
	s.mutation_gap = hes_mutation_gap(o->plain_mutation ? 2 / (double)a->n : o->mutation);
	s.ranked_start = !o->plain_start;
	s.inherit = !o->plain_crossover;
	s.migrate = !o->plain_mutation;
	rc = hes_genetic_prepare(&s);
	if (!rc)
		rc = hes_assign_search_run(&s, hes_nsga2, &e, out, evaluations);
	hes_assign_search_finish(&s);
	return rc;
}
