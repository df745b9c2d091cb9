/*
 * bound.c - Lagrangian bound over sets and intervals; see bound.h.
 */
#include "plan/bound.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/sharing.h"

#define INTERVALS 28
#define GROWTH    1.3   /* of an interval against the one before */
#define STEPS     120
#define REACH     3.0   /* the last interval starts so many times after the known plan's end */

/* A set that was looked at, as small as may be. */
struct looked {
	uint32_t type, n;
	uint16_t kind[HES_SHARE_MOST];
	double   rate[HES_SHARE_MOST];  /* iterations a microsecond */
	double   power;                 /* mJ a microsecond */
};

struct interval {
	double start_us, length_us;
};

/* The best set of a type in an interval. */
struct taken {
	double        gain;   /* above its power; 0: none */
	const struct looked *set;
};

struct bound {
	const struct hes_problem *p;
	double           lambda;
	struct looked   *sets;
	size_t           n_sets, room;
	bool             failed;
	struct interval  at[INTERVALS];
	double          *boards;    /* [type] */
	double          *price;     /* [n] mJ for the whole job */
	double          *slope;     /* [n] */
	double          *worth;     /* [interval * kinds] mJ an iteration brings there */
	uint32_t        *best_job;  /* [interval * kinds]: whose iterations they are */
	struct taken    *taken;     /* [interval * types] */
	double          *least_us;  /* [kind] an iteration in the best set */
};

static void keep(void *ctx, const struct hes_set *s, const struct hes_pace *pace)
{
	struct bound *b = ctx;
	struct looked *l;

	if (s->n > HES_SHARE_MOST || b->failed)
		return;
	if (b->n_sets == b->room) {
		size_t room = b->room ? 2 * b->room : 4096;
		struct looked *v = reallocarray(b->sets, room, sizeof(*v));

		if (!v) {
			b->failed = true;
			return;
		}
		b->sets = v;
		b->room = room;
	}
	l = &b->sets[b->n_sets++];
	*l = (struct looked){ .type = s->type, .n = s->n, .power = pace->power_mw * 1e-6 };
	for (uint32_t i = 0; i < s->n; i++) {
		l->kind[i] = s->m[i].kind;
		l->rate[i] = 1 / pace->iteration_us[i];
		b->least_us[s->m[i].kind] = fmin(b->least_us[s->m[i].kind], pace->iteration_us[i]);
	}
}

/* Short intervals first, where many jobs end. */
static void cut_time(struct bound *b, const struct hes_flow_times *known)
{
	double end_us = 0, at = 0;

	for (size_t i = 0; i < b->p->n; i++)
		end_us = fmax(end_us, known[i].end_us);
	for (size_t t = 0; t < INTERVALS; t++) {
		double next = REACH * end_us * pow(GROWTH, (double)t + 1 - (INTERVALS - 1));

		b->at[t] = (struct interval){ at, next - at };
		at = next;
	}
	/* From there on jobs bring nothing, so that how long it lasts does not matter. */
	b->at[INTERVALS - 1].length_us = 0;
}

/* Jobs bring at most what keeps the time after the last interval worthless. */
static void clip(struct bound *b)
{
	for (size_t i = 0; i < b->p->n; i++)
		b->price[i] = fmin(fmax(b->price[i], 0), b->lambda * b->at[INTERVALS - 1].start_us);
}

static void find_worth(struct bound *b, size_t t)
{
	const size_t kinds = b->p->n_kinds;
	double *worth = &b->worth[t * kinds];

	memset(worth, 0, kinds * sizeof(*worth));
	for (size_t i = 0; i < b->p->n; i++) {
		const struct hes_problem_job *j = &b->p->jobs[i];
		double each = (b->price[i] - b->lambda * b->at[t].start_us) / j->iterations;

		if (each > worth[j->kind]) {
			worth[j->kind] = each;
			b->best_job[t * kinds + j->kind] = (uint32_t)i;
		}
	}
}

static void take_best(struct bound *b, size_t t)
{
	const double *worth = &b->worth[t * b->p->n_kinds];
	struct taken *taken = &b->taken[t * b->p->n_types];

	find_worth(b, t);
	memset(taken, 0, b->p->n_types * sizeof(*taken));
	for (size_t s = 0; s < b->n_sets; s++) {
		const struct looked *l = &b->sets[s];
		double gain = -l->power;

		for (uint32_t i = 0; i < l->n; i++)
			gain += worth[l->kind[i]] * l->rate[i];
		if (gain > taken[l->type].gain)
			taken[l->type] = (struct taken){ gain, l };
	}
}

/* The bound at the prices in hand, and its slope. */
static double evaluate(struct bound *b)
{
	const size_t kinds = b->p->n_kinds, types = b->p->n_types;
	double sum = 0;

#pragma omp parallel for schedule(static, 1)
	for (size_t t = 0; t < INTERVALS; t++)
		take_best(b, t);
	for (size_t i = 0; i < b->p->n; i++) {
		sum += b->price[i] + b->lambda * 0.5 * b->p->jobs[i].iterations * b->least_us[b->p->jobs[i].kind];
		b->slope[i] = 1;
	}
	for (size_t t = 0; t < INTERVALS; t++)
		for (size_t g = 0; g < types; g++) {
			const struct taken *x = &b->taken[t * types + g];
			double us = b->boards[g] * b->at[t].length_us;

			sum -= us * x->gain;
			for (uint32_t i = 0; x->set && i < x->set->n; i++) {
				uint32_t job = b->best_job[t * kinds + x->set->kind[i]];

				if (b->worth[t * kinds + x->set->kind[i]] > 0)
					b->slope[job] -= us * x->set->rate[i] / b->p->jobs[job].iterations;
			}
		}
	return sum;
}

/* @param known  energy + lambda * completion times of the known plan: the bound is not above it */
static double ascend(struct bound *b, double known)
{
	double best = 0, step = 1;
	uint32_t idle = 0;

	for (uint32_t i = 0; i < STEPS; i++) {
		double value = evaluate(b), norm = 0;

		if (value > best) {
			best = value;
			idle = 0;
		} else if (++idle == 6) {
			step /= 2;
			idle = 0;
		}
		/* Prices differ by orders of magnitude; steps go by each one's own. */
		for (size_t j = 0; j < b->p->n; j++)
			norm += b->slope[j] * b->slope[j] * b->price[j];
		if (!(norm > 0) || value >= known)
			break;
		for (size_t j = 0; j < b->p->n; j++)
			b->price[j] += b->price[j] * b->slope[j] * step * (known - value) / norm;
		clip(b);
	}
	return best;
}

static int bound_init(struct bound *b, const struct hes_problem *p, double lambda)
{
	*b = (struct bound){ .p = p, .lambda = lambda };
	b->boards = calloc(p->n_types + 1, sizeof(*b->boards));
	b->price = calloc(2 * (p->n + 1), sizeof(*b->price));
	b->worth = calloc(INTERVALS * p->n_kinds + 1, sizeof(*b->worth));
	b->best_job = calloc(INTERVALS * p->n_kinds + 1, sizeof(*b->best_job));
	b->taken = calloc(INTERVALS * p->n_types + 1, sizeof(*b->taken));
	b->least_us = calloc(p->n_kinds + 1, sizeof(*b->least_us));
	if (!b->boards || !b->price || !b->worth || !b->best_job || !b->taken || !b->least_us)
		return -ENOMEM;
	b->slope = b->price + p->n + 1;
	for (size_t g = 0; g < p->k; g++)
		b->boards[p->gpus[g].type]++;
	for (size_t k = 0; k < p->n_kinds; k++)
		b->least_us[k] = INFINITY;
	return 0;
}

static void bound_finish(struct bound *b)
{
	free(b->sets);
	free(b->boards);
	free(b->price);
	free(b->worth);
	free(b->best_job);
	free(b->taken);
	free(b->least_us);
}

int hes_bound(const struct hes_problem *p, struct hes_rates *const *memos, size_t n_memos,
	      const struct hes_flow_times *known, double lambda, double *least)
{
	struct bound b;
	double value = 0;
	int rc = bound_init(&b, p, lambda);

	if (!rc) {
		for (size_t i = 0; i < n_memos; i++)
			hes_rates_each(memos[i], keep, &b);
		rc = b.failed ? -ENOMEM : 0;
	}
	if (!rc) {
		cut_time(&b, known);
		for (size_t i = 0; i < p->n; i++) {
			b.price[i] = known[i].energy_mj + lambda * known[i].end_us;
			value += b.price[i];
		}
		clip(&b);
		*least = ascend(&b, value);
	}
	bound_finish(&b);
	return rc;
}
