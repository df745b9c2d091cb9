/*
 * slots.c - the problem of slots: groups, costs, a start from given prices,
 * the way back to an assignment; see slots.h and slots_state.h.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/assign/slots_state.h"

#define ROWS_FROM    8    /* GPUs of a group, on average, from which rows of steps pay */
#define ROWS_MOST    512  /* columns up to which there is memory for them */
#define SAMPLE_LEAST 2000 /* jobs of the smallest sample, about */
#define SAMPLE_STEP  4    /* each sample has so many times fewer jobs than the next */
#define FAR_OFF      25   /* a start with one job of so many too much in its column is worse than samples */

void slots_enter(struct hes_slots *s, uint32_t job, size_t column)
{
	s->column_of[job] = (uint32_t)column;
	s->before[job] = SLOTS_NONE;
	s->behind[job] = s->first[column];
	if (s->first[column] != SLOTS_NONE)
		s->before[s->first[column]] = job;
	s->first[column] = job;
	s->count[column]++;
	slots_row_enter(s, column, job);
}

void slots_leave(struct hes_slots *s, uint32_t job)
{
	size_t column = s->column_of[job];

	if (s->before[job] != SLOTS_NONE)
		s->behind[s->before[job]] = s->behind[job];
	else
		s->first[column] = s->behind[job];
	if (s->behind[job] != SLOTS_NONE)
		s->before[s->behind[job]] = s->before[job];
	s->count[column]--;
	slots_row_leave(s, column, job);
}

static void free_columns(struct hes_slots *s)
{
	free(s->price);
	free(s->count);
	free(s->first);
	free(s->position);
	free(s->open_price);
	free(s->key);
	free(s->at);
	free(s->scanned);
	free(s->path);
	free(s->rows);
	free(s->row_known);
	free(s->stale);
}

/* Memory for columns of 1 << @room_bits positions a group, all empty. */
static int allocate_columns(struct hes_slots *s, uint32_t room_bits)
{
	const size_t room = (size_t)1 << room_bits, columns = s->n_groups * room;
	const bool rows = columns <= ROWS_MOST && s->a->k >= ROWS_FROM * s->n_groups;

	s->room = room;
	s->room_bits = room_bits;
	s->price = calloc(columns, sizeof(*s->price));
	s->count = calloc(columns, sizeof(*s->count));
	s->first = malloc(columns * sizeof(*s->first));
	s->position = calloc(room, sizeof(*s->position));
	s->open_price = calloc(columns, sizeof(*s->open_price));
	s->key = calloc(columns, sizeof(*s->key));
	s->at = calloc(columns, sizeof(*s->at));
	s->scanned = calloc(columns + 1, sizeof(*s->scanned));
	s->path = calloc(columns + 1, sizeof(*s->path));
	s->rows = rows ? malloc(columns * columns * sizeof(*s->rows)) : NULL;
	s->row_known = calloc(columns, sizeof(*s->row_known));
	s->stale = calloc(columns, sizeof(*s->stale));
	if (!s->price || !s->count || !s->first || !s->position || !s->open_price || !s->key || !s->at ||
	    !s->scanned || !s->path || (rows && !s->rows) || !s->row_known || !s->stale) {
		free_columns(s);
		s->room = 0; /* there are none to free again */
		return -ENOMEM;
	}
	memset(s->first, 0xff, columns * sizeof(*s->first));
	for (size_t p = 0; p < room; p++)
		s->position[p] = (double)(p + 1);
	return 0;
}

/* Twice the positions: columns are renumbered. */
static int widen(struct hes_slots *s)
{
	struct hes_slots old = *s;

	if (allocate_columns(s, old.room_bits + 1)) {
		*s = old;
		return -ENOMEM;
	}
	for (size_t g = 0; g < s->n_groups; g++)
		for (size_t p = 0; p < old.room; p++) {
			s->price[g * s->room + p] = old.price[g * old.room + p];
			s->count[g * s->room + p] = old.count[g * old.room + p];
			s->first[g * s->room + p] = old.first[g * old.room + p];
		}
	for (size_t i = 0; i < s->n; i++)
		s->column_of[i] = (uint32_t)(slots_group(&old, s->column_of[i]) * s->room +
						 slots_position(&old, s->column_of[i]));
	free_columns(&old);
	return 0;
}

int slots_keep_open(struct hes_slots *s, size_t group)
{
	for (;;) {
		size_t last = group * s->room + s->open[group] - 1;

		if (!s->count[last] && s->price[last] <= 0)
			return 0;
		if (s->open[group] == s->room && widen(s))
			return -ENOMEM;
		s->open[group]++;
	}
}

struct gpu_key {
	double   wait_us;
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

static int group_gpus(struct hes_slots *s)
{
	const struct hes_assign *a = s->a;
	struct gpu_key *keys = calloc(a->k + 1, sizeof(*keys));

	if (!keys)
		return -ENOMEM;
	for (size_t g = 0; g < a->k; g++)
		keys[g] = (struct gpu_key){ a->gpus[g].wait_us, a->gpus[g].type, (uint32_t)g };
	qsort(keys, a->k, sizeof(*keys), by_type_and_wait);
	for (size_t g = 0; g < a->k; g++) {
		s->gpus[g] = keys[g].gpu;
		if (g == 0 || keys[g].type != keys[g - 1].type || keys[g].wait_us != keys[g - 1].wait_us)
			s->groups[s->n_groups++] = (struct slot_group){
				.type = keys[g].type, .first_gpu = (uint32_t)g, .wait_us = keys[g].wait_us };
		s->groups[s->n_groups - 1].n_gpus++;
	}
	free(keys);
	return 0;
}

static uint32_t bits_for(size_t n)
{
	uint32_t bits = 0;

	while ((size_t)1 << bits < n)
		bits++;
	return bits;
}

static void note_most(struct hes_slots *s)
{
	const struct hes_assign *a = s->a;

	for (size_t i = 0; i < a->n * a->n_types; i++) {
		if (!isfinite(a->cost[i].time_us))
			continue;
		s->most.energy_mj = fmax(s->most.energy_mj, a->cost[i].energy_mj);
		s->most.time_us = fmax(s->most.time_us, a->cost[i].time_us);
	}
	for (size_t g = 0; g < s->n_groups; g++)
		s->most.time_us = fmax(s->most.time_us, s->groups[g].wait_us);
}

struct hes_slots *hes_slots_new(const struct hes_assign *a)
{
	struct hes_slots *s = calloc(1, sizeof(*s));
	const size_t n = a->n + 1;

	if (!s)
		return NULL;
	s->a = a;
	s->groups = calloc(a->k + 1, sizeof(*s->groups));
	s->gpus = calloc(a->k + 1, sizeof(*s->gpus));
	s->job = calloc(n, sizeof(*s->job));
	s->column_of = calloc(n, sizeof(*s->column_of));
	s->before = calloc(n, sizeof(*s->before));
	s->behind = calloc(n, sizeof(*s->behind));
	if (!s->groups || !s->gpus || !s->job || !s->column_of || !s->before || !s->behind || group_gpus(s))
		goto failed;
	s->cost = calloc(n * s->n_groups, sizeof(*s->cost));
	s->open = calloc(s->n_groups, sizeof(*s->open));
	s->least = calloc(s->n_groups, sizeof(*s->least));
	s->awaited = calloc(s->n_groups, sizeof(*s->awaited));
	s->dealt = calloc(s->n_groups, sizeof(*s->dealt));
	s->pays = calloc(n, sizeof(*s->pays));
	s->start = calloc(n, sizeof(*s->start));
	s->wait = calloc(s->n_groups, sizeof(*s->wait));
	if (!s->pays || !s->cost || !s->open || !s->least || !s->awaited || !s->dealt ||
	    !s->wait || !s->start || allocate_columns(s, bits_for(a->n / a->k + 8)))
		goto failed;
	note_most(s);
	s->low = s->rows ? NULL : calloc(n * s->n_groups, sizeof(*s->low));
	if (!s->rows && !s->low)
		goto failed;
	return s;
failed:
	hes_slots_free(s);
	return NULL;
}

void hes_slots_free(struct hes_slots *s)
{
	if (!s)
		return;
	if (s->room)
		free_columns(s);
	free(s->groups);
	free(s->gpus);
	free(s->job);
	free(s->cost);
	free(s->open);
	free(s->column_of);
	free(s->before);
	free(s->behind);
	free(s->least);
	free(s->awaited);
	free(s->low);
	free(s->dealt);
	free(s->wait);
	free(s->start);
	free(s->pays);
	free(s);
}

/* Every @step-th job by run time, and as many times fewer slots. */
static void take_part(struct hes_slots *s, size_t step)
{
	const struct hes_assign *a = s->a;

	s->n = 0;
	for (size_t i = step / 2; i < a->n; i += step)
		s->job[s->n++] = step == 1 ? (uint32_t)i : a->longest_first[i];
	if (s->step == step)
		return;
	s->step = step;
	for (size_t g = 0; g < s->n_groups; g++) {
		const struct hes_cost *costs = &a->cost[s->groups[g].type * a->n];

		s->groups[g].m = (uint32_t)((s->groups[g].n_gpus + step / 2) / step);
		for (size_t i = 0; i < s->n; i++) {
			const struct hes_cost *c = &costs[s->job[i]];
			bool runs = isfinite(c->time_us);

			s->cost[i * s->n_groups + g] = (struct slot_cost){ runs ? c->energy_mj : INFINITY,
									   runs ? c->time_us : 0 };
		}
	}
}

static void weigh(struct hes_slots *s, const struct hes_weights *w)
{
	s->w = *w;
	for (size_t g = 0; g < s->n_groups; g++)
		s->wait[g] = w->jct * s->groups[g].wait_us;
	s->greatest = w->energy * s->most.energy_mj + 2 * w->jct * s->most.time_us;
}

static void empty_columns(struct hes_slots *s)
{
	const size_t columns = slots_columns(s);

	memset(s->count, 0, columns * sizeof(*s->count));
	memset(s->first, 0xff, columns * sizeof(*s->first));
	memset(s->row_known, 0, columns * sizeof(*s->row_known));
}

/* A price of an earlier end; nothing beyond its positions. */
static double price_then(const struct hes_slots_end *e, size_t group, size_t position)
{
	return e && position >> e->room_bits == 0 ? e->price[(group << e->room_bits) + position] : 0;
}

static int set_prices(struct hes_slots *s, const struct hes_slots_start *start)
{
	empty_columns(s);
	s->n = 0; /* no job has a column that widening would renumber */
	while (start->p && (s->room_bits < start->p->room_bits || s->room_bits < start->q->room_bits))
		if (widen(s))
			return -ENOMEM;
	for (size_t g = 0; g < s->n_groups; g++) {
		s->open[g] = 1;
		for (size_t p = 0; p < s->room; p++) {
			double price = start->x * price_then(start->p, g, p) + start->y * price_then(start->q, g, p);

			s->price[g * s->room + p] = price;
			if (price > 0)
				s->open[g] = p + 1;
		}
		if (slots_keep_open(s, g))
			return -ENOMEM;
	}
	return 0;
}

static int place_jobs(struct hes_slots *s, const struct hes_slots_start *start)
{
	int rc = 0;

	s->fallen = 0;
	if (!start->p && !s->rows) {
		/* Longest first: most then only go behind those before. */
		for (size_t i = 0; i < s->n && !rc; i++) {
			uint32_t job = s->a->longest_first[i];

			slots_enter(s, job, slots_first_column(s, start, job));
			rc = slots_shed(s, s->column_of[job]);
		}
		return rc;
	}
	for (size_t i = 0; i < s->n; i++)
		slots_enter(s, (uint32_t)i, slots_first_column(s, start, (uint32_t)i));
	for (size_t g = 0; g < s->n_groups && !rc; g++)
		rc = slots_keep_open(s, g);
	return rc;
}

/*
 * From nothing: samples of the jobs on as many times fewer GPUs, each start
 * being the prices of the one before. Prices hardly depend on the size.
 */
static int solve_samples(struct hes_slots *s)
{
	const struct hes_slots_start nothing = { NULL, NULL, 0, 0 };
	size_t step = 1, m = s->a->k / s->n_groups;
	int rc;

	while (s->rows && s->a->n / step > SAMPLE_STEP * SAMPLE_LEAST && m / step >= 4 * SAMPLE_STEP)
		step *= SAMPLE_STEP;
	rc = set_prices(s, &nothing);
	for (; step > 1 && !rc; step /= SAMPLE_STEP) {
		empty_columns(s);
		take_part(s, step);
		rc = place_jobs(s, &nothing);
		if (!rc)
			rc = slots_settle(s);
	}
	empty_columns(s);
	return rc;
}

/* Shortest first on each GPU, the jobs of a group dealt to its GPUs from the longest on. */
static void deal(struct hes_slots *s, uint32_t *gpu_of)
{
	const struct hes_assign *a = s->a;
	bool all = true;

	for (size_t i = 0; i < a->n; i++) {
		const struct slot_group *group = &s->groups[slots_group(s, s->column_of[i])];

		gpu_of[i] = s->gpus[group->first_gpu];
		all &= group->n_gpus == 1;
	}
	memset(s->dealt, 0, s->n_groups * sizeof(*s->dealt));
	for (size_t t = 0; t < a->n_types && !all; t++)
		for (size_t i = a->n; i-- > 0;) {
			uint32_t job = a->order[t * a->n + i];
			size_t g = slots_group(s, s->column_of[job]);
			const struct slot_group *group = &s->groups[g];

			if (group->type == t)
				gpu_of[job] = s->gpus[group->first_gpu + s->dealt[g]++ % group->n_gpus];
		}
}

static bool far_off(const struct hes_slots *s)
{
	size_t too_many = 0;

	for (size_t g = 0; g < s->n_groups; g++)
		for (size_t c = g * s->room; c < g * s->room + s->open[g]; c++)
			too_many += s->count[c] > s->groups[g].m ? s->count[c] - s->groups[g].m : 0;
	return too_many > s->n / FAR_OFF;
}

static int start_from(struct hes_slots *s, const struct hes_slots_start *start)
{
	int rc = start->p ? set_prices(s, start) : solve_samples(s);

	if (rc)
		return rc;
	take_part(s, 1);
	return place_jobs(s, start);
}

int hes_slots_solve(struct hes_slots *s, const struct hes_weights *w, const struct hes_slots_start *start,
		    uint32_t *gpu_of, double *bound)
{
	const struct hes_slots_start nothing = { NULL, NULL, 0, 0 };
	int rc;

	weigh(s, w);
	rc = start_from(s, start);

	if (!rc && start->p && s->rows && far_off(s))
		rc = start_from(s, &nothing);
	if (!rc)
		rc = slots_settle(s);
	if (rc)
		return rc;
	deal(s, gpu_of);
	*bound = slots_bound(s);
	return 0;
}

int hes_slots_save(const struct hes_slots *s, struct hes_slots_end *out)
{
	struct hes_slots_end e = { .room_bits = s->room_bits };

	e.price = malloc(slots_columns(s) * sizeof(*e.price));
	e.column_of = malloc((s->n + 1) * sizeof(*e.column_of));
	if (!e.price || !e.column_of || slots_save_low(s, &e)) {
		hes_slots_end_free(&e);
		return -ENOMEM;
	}
	memcpy(e.price, s->price, slots_columns(s) * sizeof(*e.price));
	memcpy(e.column_of, s->column_of, s->n * sizeof(*e.column_of));
	*out = e;
	return 0;
}

void hes_slots_end_free(struct hes_slots_end *e)
{
	free(e->price);
	free(e->column_of);
	free(e->excess);
	free(e->least);
	*e = (struct hes_slots_end){ 0 };
}
