/*
 * auction.c - jobs bid for positions, one at a time; see auction.h.
 *
 * Costs and prices are floats in units of a job's mean cost. The last two positions of a GPU are
 * free and have no price, so there is always a best and a second best.
 */
#include "auction.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NOBODY     UINT32_MAX
#define FIRST_ROOM 16
#define MOST_RAISE 1e6f /* if there is no second best */
#define LEAST_LOT  2    /* free positions of each GPU */

struct hes_auction {
	const struct hes_assign *a;
	float *energy; /* [job * n_types + type], in units of the mean over the jobs of their least
			*/
	float *time;   /* the same */
	double energy_unit, time_unit;
};

struct lot {
	float *price;     /* [room], those beyond n are 0 */
	uint32_t *owner;  /* [room] */
	uint32_t n, room; /* positions in play: the last two are free */
};

/* One solve. */
struct sale {
	const struct hes_auction *x;
	const struct hes_assign *a;
	float w_energy, w_time; /* a job's mean cost is about 1 */
	float step;
	float *wait;      /* [k]: what waiting costs */
	struct lot *lots; /* [k] */
	float *position;  /* [most] 1, 2, ... */
	uint32_t most;
	uint32_t *gpu_of;     /* [n] */
	uint32_t (*liked)[2]; /* [n]: the two best GPUs of a job's last bid */
	uint32_t *queue;      /* [n]: jobs without a position, a ring */
	size_t head, waiting;
	uint64_t bids;
	int rc;
};

struct hes_auction *hes_auction_new(const struct hes_assign *a)
{
	struct hes_auction *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->a = a;
	x->energy = malloc((a->n * a->n_types + 1) * sizeof(*x->energy));
	x->time = malloc((a->n * a->n_types + 1) * sizeof(*x->time));
	if (!x->energy || !x->time) {
		hes_auction_free(x);
		return NULL;
	}
	for (size_t i = 0; i < a->n; i++) {
		double energy = INFINITY, time = INFINITY;

		for (size_t t = 0; t < a->n_types; t++) {
			energy = fmin(energy, a->cost[t * a->n + i].energy_mj);
			time = fmin(time, a->cost[t * a->n + i].time_us);
		}
		x->energy_unit += energy / (double)a->n;
		x->time_unit += time / (double)a->n;
	}
	x->energy_unit = fmax(x->energy_unit, 1e-9);
	x->time_unit = fmax(x->time_unit, 1e-9);
	for (size_t i = 0; i < a->n; i++)
		for (size_t t = 0; t < a->n_types; t++) {
			x->energy[i * a->n_types + t] =
				(float)(a->cost[t * a->n + i].energy_mj / x->energy_unit);
			x->time[i * a->n_types + t] =
				(float)(a->cost[t * a->n + i].time_us / x->time_unit);
		}
	return x;
}

void hes_auction_free(struct hes_auction *x)
{
	if (!x)
		return;
	free(x->energy);
	free(x->time);
	free(x);
}

static int grow_lot(struct lot *l)
{
	const uint32_t room = l->room ? 2 * l->room : FIRST_ROOM;
	float *price = reallocarray(l->price, room, sizeof(*price));
	uint32_t *owner;

	if (!price)
		return -ENOMEM;
	l->price = price;
	owner = reallocarray(l->owner, room, sizeof(*owner));
	if (!owner)
		return -ENOMEM;
	l->owner = owner;
	for (uint32_t p = l->room; p < room; p++) {
		price[p] = 0;
		owner[p] = NOBODY;
	}
	l->room = room;
	return 0;
}

static int grow_positions(struct sale *s, uint32_t most)
{
	float *v;

	if (most <= s->most)
		return 0;
	v = reallocarray(s->position, most, sizeof(*v));
	if (!v)
		return -ENOMEM;
	s->position = v;
	for (; s->most < most; s->most++)
		v[s->most] = (float)(s->most + 1);
	return 0;
}

static float least_of(const float *price, const float *position, uint32_t n, float slope)
{
	float least = INFINITY;

	for (uint32_t p = 0; p < n; p++) {
		const float v = slope * position[p] + price[p];

		least = v < least ? v : least;
	}
	return least;
}

/* The best position of a GPU; @second: the cost of the second best there. */
static uint32_t best_of(const struct lot *l, float slope, float *second)
{
	float best = INFINITY;
	uint32_t at = 0;

	*second = INFINITY;
	for (uint32_t p = 0; p < l->n; p++) {
		const float v = slope * (float)(p + 1) + l->price[p];

		if (v < best) {
			*second = best;
			best = v;
			at = p;
		} else if (v < *second) {
			*second = v;
		}
	}
	return at;
}

static void take(struct sale *s, uint32_t job, uint32_t gpu, uint32_t position, float price)
{
	struct lot *l = &s->lots[gpu];
	const uint32_t before = l->owner[position];

	l->price[position] = price;
	l->owner[position] = job;
	s->gpu_of[job] = gpu;
	if (before != NOBODY)
		s->queue[(s->head + s->waiting++) % s->a->n] = before;
	if (position + LEAST_LOT < l->n)
		return;
	l->n++;
	if (l->n > l->room)
		s->rc = grow_lot(l);
	if (!s->rc)
		s->rc = grow_positions(s, l->room);
}

/* The two GPUs where a job pays least. */
struct choice {
	float best, next;
	uint32_t gpu[2];
};

static void look_at(const struct sale *s, uint32_t job, uint32_t g, struct choice *c)
{
	const struct hes_assign *a = s->a;
	const size_t cell = job * a->n_types + a->gpus[g].type;
	const float base = s->w_energy * s->x->energy[cell] + s->wait[g],
		    slope = s->w_time * s->x->time[cell];
	float v;

	/* Prices are not negative: this excludes most GPUs. */
	if (!(base + slope < c->next))
		return;
	v = base + least_of(s->lots[g].price, s->position, s->lots[g].n, slope);
	if (v < c->best) {
		c->next = c->best;
		c->gpu[1] = c->gpu[0];
		c->best = v;
		c->gpu[0] = g;
	} else if (v < c->next) {
		c->next = v;
		c->gpu[1] = g;
	}
}

/* First the GPUs that were best before: they exclude most others. */
static void bid(struct sale *s, uint32_t job)
{
	const struct hes_assign *a = s->a;
	struct choice c = { INFINITY, INFINITY, { 0, 0 } };
	uint32_t *before = s->liked[job], position;
	float there, raise, price;
	size_t cell;

	look_at(s, job, before[0], &c);
	if (before[1] != before[0])
		look_at(s, job, before[1], &c);
	for (uint32_t g = 0; g < a->k; g++)
		if (g != before[0] && g != before[1])
			look_at(s, job, g, &c);
	memcpy(before, c.gpu, sizeof(c.gpu));
	cell = job * a->n_types + a->gpus[c.gpu[0]].type;
	position = best_of(&s->lots[c.gpu[0]], s->w_time * s->x->time[cell], &there);
	there += s->w_energy * s->x->energy[cell] + s->wait[c.gpu[0]];
	raise = fminf(c.next, there) - c.best + s->step;
	price = s->lots[c.gpu[0]].price[position];
	/* If rounding removed the step, two jobs would outbid each other forever. */
	price = fmaxf(price + fminf(fmaxf(raise, s->step), MOST_RAISE),
		      nextafterf(price, INFINITY));
	take(s, job, c.gpu[0], position, price);
	s->bids++;
}

/* In doubles and from the original costs. */
static double prove(const struct sale *s, const struct hes_weights *w, double unit)
{
	const struct hes_assign *a = s->a;
	double bound = 0, prices = 0;

	for (uint32_t i = 0; i < a->n; i++) {
		double least = INFINITY;

		for (size_t g = 0; g < a->k; g++) {
			const struct hes_cost *c = &a->cost[a->gpus[g].type * a->n + i];
			const struct lot *l = &s->lots[g];
			double base;

			if (!isfinite(c->time_us))
				continue;
			base = w->energy * c->energy_mj + w->jct * a->gpus[g].wait_us;
			if (base + w->jct * c->time_us >= least)
				continue;
			for (uint32_t p = 0; p < l->n; p++) {
				const double v = base + w->jct * c->time_us * (p + 1) +
						 (double)l->price[p] * unit;

				least = v < least ? v : least;
			}
		}
		bound += least;
	}
	for (size_t g = 0; g < a->k; g++)
		for (uint32_t p = 0; p < s->lots[g].n; p++)
			prices += (double)s->lots[g].price[p] * unit;
	return bound - prices;
}

static int open_sale(struct sale *s, const struct hes_weights *w, double unit)
{
	const struct hes_assign *a = s->a;

	s->w_energy = (float)(w->energy * s->x->energy_unit / unit);
	s->w_time = (float)(w->jct * s->x->time_unit / unit);
	s->wait = calloc(a->k + 1, sizeof(*s->wait));
	s->lots = calloc(a->k + 1, sizeof(*s->lots));
	s->queue = calloc(a->n + 1, sizeof(*s->queue));
	s->liked = calloc(a->n + 1, sizeof(*s->liked));
	if (!s->wait || !s->lots || !s->queue || !s->liked || grow_positions(s, FIRST_ROOM))
		return -ENOMEM;
	for (size_t g = 0; g < a->k; g++) {
		s->wait[g] = (float)(w->jct * a->gpus[g].wait_us / unit);
		s->lots[g].n = LEAST_LOT;
		if (grow_lot(&s->lots[g]))
			return -ENOMEM;
	}
	for (size_t i = 0; i < a->n; i++)
		s->queue[i] = a->longest_first[i];
	s->waiting = a->n;
	return 0;
}

static void close_sale(struct sale *s)
{
	for (size_t g = 0; s->lots && g < s->a->k; g++) {
		free(s->lots[g].price);
		free(s->lots[g].owner);
	}
	free(s->lots);
	free(s->wait);
	free(s->queue);
	free(s->liked);
	free(s->position);
}

int hes_auction_solve(const struct hes_auction *x, const struct hes_weights *w, double part,
		      uint32_t *gpu_of, double *bound, uint64_t *bids)
{
	struct sale s = { .x = x, .a = x->a, .gpu_of = gpu_of, .step = (float)part };
	const double unit = w->energy * x->energy_unit + w->jct * x->time_unit;
	int rc = open_sale(&s, w, unit);

	while (!rc && s.waiting) {
		const uint32_t job = s.queue[s.head];

		s.head = (s.head + 1) % s.a->n;
		s.waiting--;
		bid(&s, job);
		rc = s.rc;
	}
	if (!rc) {
		*bound = prove(&s, w, unit);
		*bids = s.bids;
	}
	close_sale(&s);
	return rc;
}
