/*
 * lap.c - shortest augmenting paths (Jonker and Volgenant, 1987), from job to job over full
 * positions; see lap.h.
 *
 * Jobs are inserted one by one, the longest first. A path leads from the new job to the nearest
 * position with a free slot: at each step a job takes the slot of the next one. Then positions
 * nearer than the end of the path rise in price.
 *
 * Invariant: the jobs of a group fill its positions from 0 on, m slots each. Only the last one in
 * use may be partly free, and it has no price.
 */
#include "plan/assign/lap.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Loops over positions: compiled for AVX2 as well, with the same results. Clang does not vectorise
 * this minimum.
 */
#if defined(__clang__)
#define LAP_CLONES
#define LAP_LEAST
#else
#define LAP_LEAST _Pragma("omp simd reduction(min : least)")
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__SANITIZE_ADDRESS__)
#define LAP_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define LAP_CLONES
#endif
#endif

struct lap_group {
	uint32_t type, m;   /* m: its GPUs */
	uint32_t first_gpu; /* into gpus */
	uint32_t assigned;
	double wait_us, wait_cost;
	size_t n, room; /* jobs; positions there is memory for */
	uint32_t *job;  /* [room * m] */
	double *price;  /* [room] */
	/* One search: */
	double *open_price; /* [room]: INFINITY once scanned */
	double *distance;   /* [room]: INFINITY once scanned */
	uint64_t *from;     /* [room]: the job that reached it */
	double least;       /* distance */
};

/* Cost of a job on a type at the weights: base + slope * position, positions from 1. */
struct lap_line {
	double base, slope;
};

struct lap_slot {
	uint32_t group, at; /* position at / m */
};

struct lap_scanned {
	uint32_t group, position;
	double distance;
};

struct hes_lap {
	const struct hes_assign *a;
	struct lap_group *groups;
	size_t n_groups;
	uint32_t *gpus;           /* [k], group by group */
	struct lap_line *lines;   /* [job * n_types + type] */
	struct lap_slot *slot_of; /* [n] */
	double *count;            /* 1, 2, ... */
	size_t n_count;
	struct lap_scanned *scanned;
	size_t n_scanned, scanned_room;
	double within; /* the path is no longer */
};

static size_t tail_of(const struct lap_group *g)
{
	return g->n / g->m;
}

static struct lap_line line_of(const struct hes_lap *l, uint32_t job, const struct lap_group *g)
{
	const struct lap_line *line = &l->lines[job * l->a->n_types + g->type];

	return (struct lap_line){ line->base + g->wait_cost, line->slope };
}

/* --- groups --- */

struct gpu_key {
	double wait_us;
	uint32_t type, gpu;
};

static int by_type_and_wait(const void *a, const void *b)
{
	const struct gpu_key *x = a, *y = b;

	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	if (x->wait_us != y->wait_us)
		return x->wait_us < y->wait_us ? -1 : 1;
	return x->gpu < y->gpu ? -1 : x->gpu > y->gpu;
}

static int group_gpus(struct hes_lap *l)
{
	const struct hes_assign *a = l->a;
	struct gpu_key *keys = calloc(a->k + 1, sizeof(*keys));

	if (!keys)
		return -ENOMEM;
	for (size_t g = 0; g < a->k; g++)
		keys[g] = (struct gpu_key){ a->gpus[g].wait_us, a->gpus[g].type, (uint32_t)g };
	qsort(keys, a->k, sizeof(*keys), by_type_and_wait);
	for (size_t g = 0; g < a->k; g++) {
		l->gpus[g] = keys[g].gpu;
		if (g == 0 || keys[g].type != keys[g - 1].type ||
		    keys[g].wait_us != keys[g - 1].wait_us)
			l->groups[l->n_groups++] = (struct lap_group){ .type = keys[g].type,
								       .first_gpu = (uint32_t)g,
								       .wait_us = keys[g].wait_us };
		l->groups[l->n_groups - 1].m++;
	}
	free(keys);
	return 0;
}

static int resize(void *array, size_t n, size_t size)
{
	void *more = reallocarray(*(void **)array, n, size);

	if (!more)
		return -ENOMEM;
	*(void **)array = more;
	return 0;
}

/* Room for one more job, and for an empty position behind it. */
static int group_grow(struct hes_lap *l, struct lap_group *g)
{
	const size_t room = g->room ? 2 * g->room : 8;

	if (tail_of(g) + 2 <= g->room)
		return 0;
	if (resize(&g->job, room * g->m, sizeof(*g->job)) ||
	    resize(&g->price, room, sizeof(*g->price)) ||
	    resize(&g->open_price, room, sizeof(*g->open_price)) ||
	    resize(&g->distance, room, sizeof(*g->distance)) ||
	    resize(&g->from, room, sizeof(*g->from)))
		return -ENOMEM;
	for (size_t p = g->room; p < room; p++)
		g->price[p] = 0;
	g->room = room;
	if (room <= l->n_count)
		return 0;
	if (resize(&l->count, room, sizeof(*l->count)))
		return -ENOMEM;
	for (; l->n_count < room; l->n_count++)
		l->count[l->n_count] = (double)(l->n_count + 1);
	return 0;
}

struct hes_lap *hes_lap_new(const struct hes_assign *a)
{
	struct hes_lap *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->a = a;
	l->groups = calloc(a->k + 1, sizeof(*l->groups));
	l->gpus = calloc(a->k + 1, sizeof(*l->gpus));
	l->lines = calloc(a->n * a->n_types + 1, sizeof(*l->lines));
	l->slot_of = calloc(a->n + 1, sizeof(*l->slot_of));
	if (!l->groups || !l->gpus || !l->lines || !l->slot_of || group_gpus(l)) {
		hes_lap_free(l);
		return NULL;
	}
	return l;
}

void hes_lap_free(struct hes_lap *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n_groups; i++) {
		struct lap_group *g = &l->groups[i];
		free(g->job);
		free(g->price);
		free(g->open_price);
		free(g->distance);
		free(g->from);
	}
	free(l->groups);
	free(l->gpus);
	free(l->lines);
	free(l->slot_of);
	free(l->count);
	free(l->scanned);
	free(l);
}

/* --- a path --- */

static inline void relax_group(struct lap_group *g, const double *restrict count, double base,
			       double slope, uint64_t job)
{
	const double *restrict price = g->open_price;
	double *restrict distance = g->distance, least = INFINITY;
	uint64_t *restrict from = g->from;
	const size_t n = tail_of(g) + 1;

	LAP_LEAST
	for (size_t p = 0; p < n; p++) {
		const double d = (base + slope * count[p]) + price[p];
		const bool nearer = d < distance[p];

		distance[p] = nearer ? d : distance[p];
		from[p] = nearer ? job : from[p];
		least = distance[p] < least ? distance[p] : least;
	}
	g->least = least;
}

/* A job can go anywhere from @start on: its own distance less what it pays where it is. Prices are
 * not below 0. */
LAP_CLONES static void relax_job(struct hes_lap *l, uint32_t job, double start)
{
	for (uint64_t i = 0; i < l->n_groups; i++) {
		struct lap_group *g = &l->groups[i];
		const struct lap_line line = line_of(l, job, g);
		double free_slot;

		if (!(start + line.base + line.slope < l->within))
			continue;
		relax_group(g, l->count, start + line.base, line.slope, job);
		free_slot = g->distance[tail_of(g)];
		l->within = free_slot < l->within ? free_slot : l->within;
	}
}

static void refresh_least(struct lap_group *g)
{
	const size_t n = tail_of(g) + 1;

	g->least = INFINITY;
	for (size_t p = 0; p < n; p++)
		g->least = g->distance[p] < g->least ? g->distance[p] : g->least;
}

static int search_scan(struct hes_lap *l, struct lap_group *g, size_t position)
{
	const double distance = g->distance[position];

	if (l->n_scanned == l->scanned_room) {
		const size_t room = 2 * l->scanned_room + 64;

		if (resize(&l->scanned, room, sizeof(*l->scanned)))
			return -ENOMEM;
		l->scanned_room = room;
	}
	l->scanned[l->n_scanned++] =
		(struct lap_scanned){ (uint32_t)(g - l->groups), (uint32_t)position, distance };
	g->distance[position] = g->open_price[position] = INFINITY;
	for (size_t i = position * g->m; i < (position + 1) * g->m; i++) {
		const struct lap_line line = line_of(l, g->job[i], g);

		relax_job(l, g->job[i],
			  distance - (line.base + line.slope * l->count[position] +
				      g->price[position]));
	}
	refresh_least(g);
	return 0;
}

static void search_begin(struct hes_lap *l)
{
	l->n_scanned = 0;
	l->within = INFINITY;
	for (uint64_t i = 0; i < l->n_groups; i++) {
		struct lap_group *g = &l->groups[i];
		const size_t n = tail_of(g) + 1;

		memcpy(g->open_price, g->price, n * sizeof(*g->price));
		for (size_t p = 0; p < n; p++)
			g->distance[p] = INFINITY;
		g->least = INFINITY;
	}
}

/* Each job on the path takes the slot of the next one; the last takes the free slot. */
static void shift_jobs(struct hes_lap *l, uint32_t job, size_t group, size_t position)
{
	struct lap_slot free_slot = { (uint32_t)group, (uint32_t)l->groups[group].n++ };

	for (;;) {
		struct lap_group *g = &l->groups[free_slot.group];
		const uint32_t mover = (uint32_t)g->from[position];
		const struct lap_slot left = l->slot_of[mover];

		g->job[free_slot.at] = mover;
		l->slot_of[mover] = free_slot;
		if (mover == job)
			return;
		free_slot = left;
		position = left.at / l->groups[left.group].m;
	}
}

static int lap_insert(struct hes_lap *l, uint32_t job)
{
	struct lap_group *g;
	size_t position;
	double length;

	search_begin(l);
	relax_job(l, job, 0);
	for (;;) {
		g = l->groups;
		for (struct lap_group *other = g + 1; other < l->groups + l->n_groups; other++)
			g = other->least < g->least ? other : g;
		length = g->least;
		for (position = 0; g->distance[position] != length; position++)
			;
		if (position == tail_of(g))
			break;
		if (search_scan(l, g, position))
			return -ENOMEM;
	}
	for (size_t i = 0; i < l->n_scanned; i++)
		l->groups[l->scanned[i].group].price[l->scanned[i].position] +=
			length - l->scanned[i].distance;
	shift_jobs(l, job, (size_t)(g - l->groups), position);
	return group_grow(l, g);
}

/* --- a solve --- */

static int lap_clear(struct hes_lap *l, const struct hes_weights *w)
{
	const struct hes_assign *a = l->a;

	for (size_t t = 0; t < a->n_types; t++)
		for (size_t i = 0; i < a->n; i++) {
			const struct hes_cost *c = &a->cost[t * a->n + i];
			const bool runs = isfinite(c->time_us);

			l->lines[i * a->n_types + t] =
				(struct lap_line){ runs ? w->energy * c->energy_mj : INFINITY,
						   runs ? w->jct * c->time_us : 0 };
		}
	for (uint64_t i = 0; i < l->n_groups; i++) {
		struct lap_group *g = &l->groups[i];
		g->n = g->assigned = 0;
		g->wait_cost = w->jct * g->wait_us;
		if (group_grow(l, g))
			return -ENOMEM;
		memset(g->price, 0, g->room * sizeof(*g->price));
	}
	return 0;
}

/* What jobs pay at least, less the price of all slots. */
LAP_CLONES static double lap_bound(const struct hes_lap *l)
{
	double bound = 0;

	for (uint32_t i = 0; i < l->a->n; i++) {
		double least = INFINITY;

		for (const struct lap_group *g = l->groups; g < l->groups + l->n_groups; g++) {
			const struct lap_line line = line_of(l, i, g);
			const size_t n = tail_of(g) + 1;

			if (!(line.base + line.slope < least))
				continue;
			LAP_LEAST
			for (size_t p = 0; p < n; p++) {
				const double pays =
					line.base + line.slope * l->count[p] + g->price[p];

				least = pays < least ? pays : least;
			}
		}
		bound += least;
	}
	for (const struct lap_group *g = l->groups; g < l->groups + l->n_groups; g++)
		for (size_t p = 0; p < tail_of(g); p++)
			bound -= g->price[p] * g->m;
	return bound;
}

/* The jobs of a group go to its GPUs in turn, the longest first. */
static void lap_assign(struct hes_lap *l, uint32_t *gpu_of)
{
	const struct hes_assign *a = l->a;

	for (size_t t = 0; t < a->n_types; t++)
		for (size_t i = a->n; i-- > 0;) {
			const uint32_t job = a->order[t * a->n + i];
			struct lap_group *g = &l->groups[l->slot_of[job].group];

			if (g->type == t)
				gpu_of[job] = l->gpus[g->first_gpu + g->assigned++ % g->m];
		}
}

int hes_lap_solve(struct hes_lap *l, const struct hes_weights *w, uint32_t *gpu_of, double *bound)
{
	int rc = lap_clear(l, w);

	for (size_t i = 0; i < l->a->n && !rc; i++)
		rc = lap_insert(l, l->a->longest_first[i]);
	if (rc)
		return rc;
	lap_assign(l, gpu_of);
	*bound = lap_bound(l);
	return 0;
}
