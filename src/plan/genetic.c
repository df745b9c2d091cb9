/*
 * genetic.c - the paper's genetic algorithm; see genetic.h.
 *
 * All memory is taken before the first generation. Random numbers come from
 * one stream in a fixed order, so a seed gives one front.
 */
#include "plan/genetic.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

const struct hes_genetic_options hes_genetic_defaults = {
	.population = 50, .generations = 500, .mutation = 0.1, .seed = 1,
};

/* An individual's standing among those alive. */
struct member {
	struct hes_assignment *x;
	uint32_t               front;    /* 0: dominated by none */
	double                 crowding;
};

struct genetic {
	const struct hes_assign          *a;
	const struct hes_genetic_options *o;
	struct hes_rng                    rng;
	struct hes_assignment            *pool;    /* individuals, and one more to cross in */
	struct hes_assignment            *child;
	struct member                    *members; /* parents, then offspring */
	double                           *least_energy_mj; /* [n] over the types */
	double                           *quickest_us;     /* [2 * population]: of each front so far */
	bool                             *moves;      /* [n]: the job migrates in this mutation */
	bool                             *from_first; /* [k]: segment inherited from the first parent */
	double                           *busy_us;    /* [k]: each GPU's load while jobs migrate */
	uint32_t                         *gpus;       /* [k]: scratch */
};

static void genetic_finish(struct genetic *g)
{
	free(g->pool);
	free(g->members);
	free(g->least_energy_mj);
	free(g->quickest_us);
	free(g->moves);
	free(g->from_first);
	free(g->busy_us);
	free(g->gpus);
}

static int genetic_init(struct genetic *g, const struct hes_assign *a, const struct hes_genetic_options *o)
{
	*g = (struct genetic){ .a = a, .o = o };
	hes_rng_seed(&g->rng, o->seed);
	g->pool = hes_assignments_new(a, 2 * o->population + 1);
	g->members = calloc(2 * o->population, sizeof(*g->members));
	g->least_energy_mj = calloc(a->n + 1, sizeof(*g->least_energy_mj));
	g->quickest_us = calloc(2 * o->population, sizeof(*g->quickest_us));
	g->moves = calloc(a->n + 1, sizeof(*g->moves));
	g->from_first = calloc(a->k, sizeof(*g->from_first));
	g->busy_us = calloc(a->k, sizeof(*g->busy_us));
	g->gpus = calloc(a->k, sizeof(*g->gpus));
	if (!g->pool || !g->members || !g->least_energy_mj || !g->quickest_us || !g->moves || !g->from_first ||
	    !g->busy_us || !g->gpus)
		return -ENOMEM;
	g->child = &g->pool[2 * o->population];
	for (size_t i = 0; i < 2 * o->population; i++)
		g->members[i].x = &g->pool[i];
	for (size_t i = 0; i < a->n; i++) {
		g->least_energy_mj[i] = INFINITY;
		for (size_t t = 0; t < a->n_types; t++)
			if (isfinite(a->cost[t * a->n + i].time_us))
				g->least_energy_mj[i] = fmin(g->least_energy_mj[i], a->cost[t * a->n + i].energy_mj);
	}
	return 0;
}

/* How many GPUs beat a type for a job, in energy plus in time: twice its average rank. */
static size_t rank_sum(const struct hes_assign *a, size_t job, const struct hes_cost *c)
{
	size_t sum = 0;

	for (size_t k = 0; k < a->k; k++) {
		const struct hes_cost *other = hes_assign_cost(a, job, k);

		sum += (size_t)(other->energy_mj < c->energy_mj) + (size_t)(other->time_us < c->time_us);
	}
	return sum;
}

/* The GPUs of best average rank for a job. @return how many */
static size_t best_ranked(const struct hes_assign *a, size_t job, uint32_t *gpus)
{
	size_t best = SIZE_MAX, n = 0;

	for (size_t t = 0; t < a->n_types; t++) {
		const struct hes_cost *c = &a->cost[t * a->n + job];
		size_t sum = isfinite(c->time_us) ? rank_sum(a, job, c) : SIZE_MAX;

		if (sum > best || sum == SIZE_MAX)
			continue;
		if (sum < best)
			n = 0;
		best = sum;
		for (size_t k = 0; k < a->k; k++)
			if (a->gpus[k].type == t)
				gpus[n++] = (uint32_t)k;
	}
	return n;
}

/* Multi-objective initialisation: the GPU of best average rank, ties by lot. */
static void initialise(struct genetic *g)
{
	for (size_t i = 0; i < g->a->n; i++) {
		size_t n = best_ranked(g->a, i, g->gpus);

		for (size_t p = 0; p < g->o->population; p++)
			g->pool[p].gpu_of[i] = g->gpus[hes_rng_below(&g->rng, n)];
	}
	for (size_t p = 0; p < g->o->population; p++)
		hes_assign_evaluate(g->a, &g->pool[p]);
}

static int by_objectives(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->x->at.energy_mj != y->x->at.energy_mj)
		return x->x->at.energy_mj < y->x->at.energy_mj ? -1 : 1;
	if (x->x->at.jct_us != y->x->at.jct_us)
		return x->x->at.jct_us < y->x->at.jct_us ? -1 : 1;
	return x->x < y->x ? -1 : x->x > y->x;
}

static int by_front(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->front != y->front)
		return x->front < y->front ? -1 : 1;
	return by_objectives(a, b);
}

static int by_fitness(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->front != y->front)
		return x->front < y->front ? -1 : 1;
	if (x->crowding != y->crowding)
		return x->crowding > y->crowding ? -1 : 1;
	return by_objectives(a, b);
}

/* Fronts of members sorted by objectives; of equal members all but one fall behind. */
static void number_fronts(struct genetic *g, size_t n)
{
	size_t fronts = 0;

	for (size_t i = 0; i < n; i++) {
		struct member *m = &g->members[i];
		size_t f = 0;

		while (f < fronts && g->quickest_us[f] <= m->x->at.jct_us)
			f++;
		m->front = (uint32_t)f;
		g->quickest_us[f] = m->x->at.jct_us;
		fronts += f == fronts;
	}
}

/* Crowding distance of one front, members by rising energy. */
static void crowd(struct member *m, size_t n)
{
	double energy = m[n - 1].x->at.energy_mj - m[0].x->at.energy_mj;
	double jct = m[0].x->at.jct_us - m[n - 1].x->at.jct_us;

	m[0].crowding = m[n - 1].crowding = INFINITY;
	for (size_t i = 1; i + 1 < n; i++)
		m[i].crowding = (m[i + 1].x->at.energy_mj - m[i - 1].x->at.energy_mj) / energy +
				(m[i - 1].x->at.jct_us - m[i + 1].x->at.jct_us) / jct;
}

/* Order the first @n members best first. */
static void judge(struct genetic *g, size_t n)
{
	qsort(g->members, n, sizeof(*g->members), by_objectives);
	number_fronts(g, n);
	qsort(g->members, n, sizeof(*g->members), by_front);
	for (size_t i = 0, j; i < n; i = j) {
		for (j = i + 1; j < n && g->members[j].front == g->members[i].front; j++)
			;
		crowd(&g->members[i], j - i);
	}
	qsort(g->members, n, sizeof(*g->members), by_fitness);
}

/* Binary tournament; members are ordered best first. */
static const struct hes_assignment *tournament(struct genetic *g)
{
	uint64_t x = hes_rng_below(&g->rng, g->o->population);
	uint64_t y = hes_rng_below(&g->rng, g->o->population);

	return g->members[x < y ? x : y].x;
}

/* What an offspring aims at: the weight of energy against completion time, in the parents' terms. */
struct aim {
	double energy_weight;
	double energy_scale_mj;  /* mean of a job's energy */
	double jct_scale_us;     /* mean of a job's completion time */
	double excess_scale;     /* mean energy over least energy */
};

static struct aim draw_aim(struct genetic *g, const struct hes_assignment *p, const struct hes_assignment *q)
{
	double n = 2 * (double)g->a->n, least = 0;

	for (size_t i = 0; i < g->a->n; i++)
		least += g->least_energy_mj[i];
	return (struct aim){
		.energy_weight = hes_rng_unit(&g->rng),
		.energy_scale_mj = (p->at.energy_mj + q->at.energy_mj) / n,
		.jct_scale_us = (p->at.jct_us + q->at.jct_us) / n,
		.excess_scale = (p->at.energy_mj + q->at.energy_mj) / (2 * least),
	};
}

/*
 * How good one GPU's segment is, less being better: its energy against the
 * least its jobs could take anywhere, and its average completion time.
 */
static double segment_score(const struct genetic *g, const struct hes_assignment *x, size_t gpu,
			    const struct aim *aim)
{
	double least = 0, n = (double)(x->first[gpu + 1] - x->first[gpu]);

	if (n == 0)
		return INFINITY;
	for (uint32_t i = x->first[gpu]; i < x->first[gpu + 1]; i++)
		least += g->least_energy_mj[x->queue[i]];
	return aim->energy_weight * x->sums[gpu].energy_mj / least / aim->excess_scale +
	       (1 - aim->energy_weight) * x->sums[gpu].ends_us / n / aim->jct_scale_us;
}

static double job_score(const struct genetic *g, const struct hes_assignment *x, size_t job,
			const struct aim *aim)
{
	return aim->energy_weight * hes_assign_cost(g->a, job, x->gpu_of[job])->energy_mj / aim->energy_scale_mj +
	       (1 - aim->energy_weight) * x->end_us[job] / aim->jct_scale_us;
}

/*
 * Multi-objective elitism: each GPU's segment comes from the parent where it
 * is better. A job in two inherited segments, or in none, goes where it
 * does better itself.
 */
static void inherit(struct genetic *g, const struct hes_assignment *p, const struct hes_assignment *q,
		    struct hes_assignment *child)
{
	struct aim aim = draw_aim(g, p, q);

	for (size_t k = 0; k < g->a->k; k++)
		g->from_first[k] = segment_score(g, p, k, &aim) <= segment_score(g, q, k, &aim);
	for (size_t i = 0; i < g->a->n; i++) {
		bool in_p = g->from_first[p->gpu_of[i]], in_q = !g->from_first[q->gpu_of[i]];

		if (in_p == in_q)
			in_p = job_score(g, p, i, &aim) <= job_score(g, q, i, &aim);
		child->gpu_of[i] = in_p ? p->gpu_of[i] : q->gpu_of[i];
	}
	hes_assign_evaluate(g->a, child);
}

/* Least energy; among equals, the GPU least busy. */
static size_t least_energy_gpu(const struct genetic *g, size_t job)
{
	const struct hes_assign *a = g->a;
	size_t best = SIZE_MAX;

	for (size_t k = 0; k < a->k; k++) {
		const struct hes_cost *c = hes_assign_cost(a, job, k);
		double than = best == SIZE_MAX ? INFINITY : hes_assign_cost(a, job, best)->energy_mj;

		if (!isfinite(c->time_us) || c->energy_mj > than)
			continue;
		if (c->energy_mj < than || g->busy_us[k] < g->busy_us[best])
			best = k;
	}
	return best;
}

/* What a job adds to the sum of completion times on a GPU: its own, and its delay of the longer ones. */
static double degradation(const struct genetic *g, const struct hes_assignment *x, size_t job, size_t gpu)
{
	const struct hes_assign *a = g->a;
	const uint32_t *rank = &a->rank[a->gpus[gpu].type * a->n];
	double time_us = hes_assign_cost(a, job, gpu)->time_us;
	uint32_t lo = x->first[gpu], hi = x->first[gpu + 1];
	double ahead_us;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (rank[x->queue[mid]] < rank[job])
			lo = mid + 1;
		else
			hi = mid;
	}
	ahead_us = lo > x->first[gpu] ? x->end_us[x->queue[lo - 1]] : a->gpus[gpu].wait_us;
	return ahead_us + time_us * (double)(1 + x->first[gpu + 1] - lo - (x->gpu_of[job] == gpu));
}

static size_t least_degradation_gpu(const struct genetic *g, const struct hes_assignment *x, size_t job)
{
	double least = INFINITY;
	size_t best = SIZE_MAX;

	for (size_t k = 0; k < g->a->k; k++) {
		double d;

		if (!isfinite(hes_assign_cost(g->a, job, k)->time_us))
			continue;
		d = degradation(g, x, job, k);
		if (best == SIZE_MAX || d < least) {
			least = d;
			best = k;
		}
	}
	return best;
}

/* The job on @gpu whose run time there is most like @job's and that can run on @to; n: none. */
static size_t most_similar(const struct genetic *g, const struct hes_assignment *from,
			   const struct hes_assignment *x, size_t job, size_t gpu, size_t to)
{
	double time_us = hes_assign_cost(g->a, job, gpu)->time_us, nearest = INFINITY;
	size_t best = g->a->n;

	for (uint32_t i = from->first[gpu]; i < from->first[gpu + 1]; i++) {
		size_t other = from->queue[i];
		double d = fabs(hes_assign_cost(g->a, other, gpu)->time_us - time_us);

		if (other == job || x->gpu_of[other] != gpu || g->moves[other] || d >= nearest ||
		    !isfinite(hes_assign_cost(g->a, other, to)->time_us))
			continue;
		nearest = d;
		best = other;
	}
	return best;
}

static void move(struct genetic *g, struct hes_assignment *x, size_t job, size_t gpu)
{
	g->busy_us[x->gpu_of[job]] -= hes_assign_cost(g->a, job, x->gpu_of[job])->time_us;
	g->busy_us[gpu] += hes_assign_cost(g->a, job, gpu)->time_us;
	x->gpu_of[job] = (uint32_t)gpu;
}

/*
 * Priority mutation of a copy of @from: the drawn jobs migrate to the GPU of
 * least energy, or of least degradation. To keep that GPU's load, its most
 * similar job goes where the migrant came from; since a queue has no
 * capacity to exceed, only every second time, by lot, or queue lengths could
 * never change here.
 */
static void migrate(struct genetic *g, const struct hes_assignment *from, bool for_energy,
		    struct hes_assignment *x)
{
	const struct hes_assign *a = g->a;

	memcpy(x->gpu_of, from->gpu_of, a->n * sizeof(*x->gpu_of));
	for (size_t k = 0; k < a->k; k++)
		g->busy_us[k] = a->gpus[k].wait_us + from->sums[k].busy_us;
	for (size_t i = 0; i < a->n; i++) {
		size_t source = x->gpu_of[i], target, other;

		if (!g->moves[i])
			continue;
		target = for_energy ? least_energy_gpu(g, i) : least_degradation_gpu(g, from, i);
		if (target == source)
			continue;
		move(g, x, i, target);
		if (hes_rng_below(&g->rng, 2) == 0)
			continue;
		other = most_similar(g, from, x, i, target, source);
		if (other < a->n)
			move(g, x, other, source);
	}
	hes_assign_evaluate(a, x);
}

static void breed(struct genetic *g)
{
	const uint32_t population = g->o->population;

	for (uint32_t i = 0; i + 1 < population; i += 2) {
		const struct hes_assignment *p = tournament(g), *q = tournament(g);

		inherit(g, p, q, g->child);
		for (size_t j = 0; j < g->a->n; j++)
			g->moves[j] = hes_rng_unit(&g->rng) < g->o->mutation;
		migrate(g, g->child, true, g->members[population + i].x);
		migrate(g, g->child, false, g->members[population + i + 1].x);
	}
}

static int collect(struct genetic *g, struct hes_assign_front *out)
{
	const struct hes_assign *a = g->a;
	struct hes_assignment *v;
	size_t n = 0;

	while (n < g->o->population && g->members[n].front == 0)
		n++;
	qsort(g->members, n, sizeof(*g->members), by_objectives);
	v = hes_assignments_new(a, n);
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		memcpy(v[i].gpu_of, g->members[i].x->gpu_of, a->n * sizeof(*v[i].gpu_of));
		hes_assign_evaluate(a, &v[i]);
	}
	*out = (struct hes_assign_front){ v, n };
	return 0;
}

int hes_genetic_run(const struct hes_assign *a, const struct hes_genetic_options *o,
		    struct hes_assign_front *out)
{
	struct genetic g;
	int rc = genetic_init(&g, a, o);

	if (!rc) {
		initialise(&g);
		judge(&g, o->population);
		for (uint32_t i = 0; i < o->generations; i++) {
			breed(&g);
			judge(&g, 2 * (size_t)o->population);
		}
		rc = collect(&g, out);
	}
	genetic_finish(&g);
	return rc;
}
