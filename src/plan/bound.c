/*
 * bound.c - least energy for a sum of completion times, from a linear program over sets and moments;
 * see bound.h. Energies are in units of a job's mean, times in units of the mean completion.
 */
#include "plan/bound.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/bound_rest.h"
#include "plan/columns.h"

#define MOMENTS BOUND_MOMENTS /* capacity is counted between them; at the last one it is endless */
#define GROWTH  1.35  /* of the time between two moments against the time before */
#define REACH   1.3   /* the last moment, in ends of the known plan */
#define PACES   5     /* cuts a job */
#define ROUNDS  40
#define CLOSE   0.004 /* of the program's least: near enough to it */
#define TOP     6     /* sets taken at once for a type and moment */
#define CHUNKS  16
#define DEAR    20.0  /* what leaving a row unmet costs: a job's work, in units beyond what it is thought to, and a cut, in units a time unit */
#define GUESS   0.4   /* what a unit of time costs, to begin with */
#define EXCHANGES 4000
#define PASSES    2     /* of looking for sets that nobody has asked about */
#define TOLERANCE 0.003 /* of a set's power, that it may bring beyond what is known */

/* A cut: a job of pace a (its time for all of its work) ends at least half of a after its mean moment, less what it did faster. */
static const double paces[PACES] = { 1, 1.5, 2.2, 3.3, 5 };

struct taken {
	double gain;
	size_t set;
};

struct tops {
	struct taken v[TOP]; /* best first; gain 0: none */
	uint32_t     n;
};

/* What one chunk of the menu comes to. */
struct found {
	struct tops *tops;   /* [type * MOMENTS + moment] */
	double       excess; /* most that a set brings at the last moment, in times of its power */
};

struct bound {
	const struct hes_problem *p;
	struct bound_menu   menu;
	double              energy_unit, time_unit;
	double              goal;            /* sum of completion times, in time units */
	double              at[MOMENTS];
	double              width[MOMENTS];  /* by trapezoids; of the last: none */
	double             *boards;          /* [type] */
	double             *price;           /* [rows] where the bound is taken */
	double             *centre;          /* [rows] where it was best */
	double             *slope;           /* [n] what a unit of time costs a job there: the sum over its cuts */
	struct found        chunks[CHUNKS];
	struct hes_columns *lp;
	struct bound_rest  *rest;
	double              best;
};

/* No plan has less energy than this, where the completion times sum to the goal, and this slope elsewhere. */
struct bound_line {
	double energy, slope;
};

/* Rows: each job's work, boards at moments, cuts, the sum of completion times. */
static size_t row_of_board(const struct bound *b, size_t type, size_t t)
{
	return b->p->n + type * (MOMENTS - 1) + t;
}

static size_t row_of_cut(const struct bound *b, size_t job, size_t pace)
{
	return row_of_board(b, b->p->n_types, 0) + job * PACES + pace;
}

static size_t row_of_goal(const struct bound *b)
{
	return row_of_cut(b, b->p->n, 0);
}

static size_t rows_of(const struct bound *b)
{
	return row_of_goal(b) + 1;
}

static double pace_of(const struct bound *b, size_t job, size_t pace)
{
	return paces[pace] * b->menu.least[job];
}

/* What a job brings in a set at a moment, running at @speed: its work in a unit of time. */
static double extra(const struct bound *b, size_t job, double speed)
{
	const double *cut = &b->price[row_of_cut(b, job, 0)];
	double sum = 0;

	for (size_t k = 0; k < PACES; k++) {
		const double faster = pace_of(b, job, k) * speed - 1;

		sum += faster > 0 ? cut[k] * faster : 0;
	}
	return sum;
}

static double brings(const struct bound *b, size_t job, double speed, double more, size_t t)
{
	return (b->price[job] - b->slope[job] * b->at[t]) * speed + more;
}

/* The best of a kind's jobs at a rate. */
static void kind_brings(const void *ctx, uint32_t kind, double rate, double out[MOMENTS])
{
	const struct bound *b = ctx;

	memset(out, 0, MOMENTS * sizeof(*out));
	for (uint32_t j = b->menu.first[kind]; j < b->menu.first[kind + 1]; j++) {
		const uint32_t job = b->menu.jobs[j];
		const double speed = rate / b->p->jobs[job].iterations, more = extra(b, job, speed);

		for (size_t t = 0; t < MOMENTS; t++) {
			const double each = brings(b, job, speed, more, t);

			out[t] = each > out[t] ? each : out[t];
		}
	}
}

static void gains_of(const struct bound *b, const struct bound_set *s, double gain[MOMENTS])
{
	for (size_t t = 0; t < MOMENTS; t++)
		gain[t] = -s->power;
	for (uint32_t i = 0; i < s->n; i++) {
		double best[MOMENTS];

		kind_brings(b, s->kind[i], s->rate[i], best);
		for (size_t t = 0; t < MOMENTS; t++)
			gain[t] += best[t];
	}
}

/* Equal gains: the set with the lower number, which comes first. */
static void offer(struct tops *tops, double gain, size_t set)
{
	uint32_t i;

	if (gain <= 0 || (tops->n == TOP && gain <= tops->v[TOP - 1].gain))
		return;
	i = tops->n < TOP ? tops->n++ : TOP - 1;
	for (; i > 0 && tops->v[i - 1].gain < gain; i--)
		tops->v[i] = tops->v[i - 1];
	tops->v[i] = (struct taken){ gain, set };
}

static void look(const struct bound *b, size_t chunk, struct found *f)
{
	const size_t from = b->menu.n * chunk / CHUNKS, to = b->menu.n * (chunk + 1) / CHUNKS;

	memset(f->tops, 0, b->p->n_types * MOMENTS * sizeof(*f->tops));
	f->excess = 0;
	for (size_t s = from; s < to; s++) {
		const struct bound_set *set = &b->menu.v[s];
		double gain[MOMENTS];

		gains_of(b, set, gain);
		for (size_t t = 0; t < MOMENTS; t++)
			offer(&f->tops[set->type * MOMENTS + t], gain[t], s);
		f->excess = fmax(f->excess, gain[MOMENTS - 1] / set->power);
	}
}

/* All sets at the prices in hand; the tops of all chunks end up in the first one's. */
static void look_all(struct bound *b)
{
#pragma omp parallel for schedule(dynamic, 1)
	for (size_t c = 0; c < CHUNKS; c++)
		look(b, c, &b->chunks[c]);
	for (size_t c = 1; c < CHUNKS; c++) {
		b->chunks[0].excess = fmax(b->chunks[0].excess, b->chunks[c].excess);
		for (size_t x = 0; x < b->p->n_types * MOMENTS; x++)
			for (uint32_t i = 0; i < b->chunks[c].tops[x].n; i++)
				offer(&b->chunks[0].tops[x], b->chunks[c].tops[x].v[i].gain,
				      b->chunks[c].tops[x].v[i].set);
	}
}

/* Prices of the right sign; what a job's cuts add up to costs no more than the goal's. */
static void settle(struct bound *b)
{
	const size_t goal = row_of_goal(b);

	for (size_t i = 0; i < goal; i++) {
		const bool capacity = i >= row_of_board(b, 0, 0) && i < row_of_cut(b, 0, 0);

		b->price[i] = capacity ? fmin(b->price[i], 0) : fmax(b->price[i], 0);
	}
	for (size_t j = 0; j < b->p->n; j++) {
		b->slope[j] = 0;
		for (size_t k = 0; k < PACES; k++)
			b->slope[j] += b->price[row_of_cut(b, j, k)];
		b->price[goal] = fmin(b->price[goal], -b->slope[j]);
	}
}

/*
 * The bound at the prices in hand (weak duality), boards' own prices being what their best sets bring. Where a set still
 * brings something at the last moment, all prices are made so much smaller that it does not.
 */
static double evaluate(struct bound *b)
{
	double sum;

	settle(b);
	look_all(b);
	sum = b->price[row_of_goal(b)] * b->goal;
	for (size_t j = 0; j < b->p->n; j++) {
		sum += b->price[j];
		for (size_t k = 0; k < PACES; k++)
			sum += b->price[row_of_cut(b, j, k)] * pace_of(b, j, k) / 2;
	}
	for (size_t g = 0; g < b->p->n_types; g++)
		for (size_t t = 0; t < MOMENTS - 1; t++)
			sum -= b->boards[g] * b->width[t] * b->chunks[0].tops[g * MOMENTS + t].v[0].gain;
	return sum / (1 + b->chunks[0].excess);
}

/* Of a kind's jobs the one that brings most. @return the number of jobs where none brings anything */
static size_t whose(const struct bound *b, const struct bound_set *s, uint32_t member, size_t t)
{
	size_t best = b->p->n;
	double most = 0;

	for (uint32_t j = b->menu.first[s->kind[member]]; j < b->menu.first[s->kind[member] + 1]; j++) {
		const uint32_t job = b->menu.jobs[j];
		const double speed = s->rate[member] / b->p->jobs[job].iterations;
		const double each = brings(b, job, speed, extra(b, job, speed), t);

		if (each > most) {
			most = each;
			best = job;
		}
	}
	return best;
}

/* A unit of time of a set at a moment. @return entries */
static size_t column_of(const struct bound *b, const struct bound_set *s, size_t t, const size_t jobs[HES_SHARE_MOST],
			struct hes_entry e[])
{
	size_t n = 0;

	if (t < MOMENTS - 1)
		e[n++] = (struct hes_entry){ (uint32_t)row_of_board(b, s->type, t), 1 };
	for (uint32_t i = 0; i < s->n; i++) {
		const size_t job = jobs[i];
		double speed;

		if (job == b->p->n)
			continue;
		speed = s->rate[i] / b->p->jobs[job].iterations;
		e[n++] = (struct hes_entry){ (uint32_t)job, speed };
		for (size_t k = 0; k < PACES; k++)
			e[n++] = (struct hes_entry){ (uint32_t)row_of_cut(b, job, k),
				fmax(0, pace_of(b, job, k) * speed - 1) - speed * b->at[t] };
	}
	return n;
}

/* Add a column unless at the program's prices it would bring nothing. */
static int add(struct bound *b, const struct bound_set *s, size_t t, const size_t jobs[HES_SHARE_MOST], size_t *added)
{
	struct hes_entry e[1 + HES_SHARE_MOST * (1 + PACES)];
	const size_t n = column_of(b, s, t, jobs, e);
	const double *price = hes_columns_prices(b->lp);
	double cost = s->power;

	for (size_t i = 0; i < n; i++)
		cost -= price[e[i].row] * e[i].v;
	if (cost > -1e-9)
		return 0;
	(*added)++;
	return hes_columns_add(b->lp, s->power, e, n);
}

static int add_tops(struct bound *b, size_t *added)
{
	int rc = 0;

	for (size_t x = 0; x < b->p->n_types * MOMENTS; x++)
		for (uint32_t i = 0; i < b->chunks[0].tops[x].n && !rc; i++) {
			const struct bound_set *s = &b->menu.v[b->chunks[0].tops[x].v[i].set];
			size_t jobs[HES_SHARE_MOST];

			for (uint32_t m = 0; m < s->n; m++)
				jobs[m] = whose(b, s, m, x % MOMENTS);
			rc = add(b, s, x % MOMENTS, jobs, added);
		}
	return rc;
}

/* The quickest and the thriftiest set of one for each job at each moment, to begin with. */
static int add_first(struct bound *b)
{
	size_t added;
	int rc = 0;

	for (size_t j = 0; j < b->p->n; j++) {
		const struct bound_set *quick = NULL, *thrifty = NULL;
		const size_t jobs[HES_SHARE_MOST] = { j };

		for (size_t s = 0; s < b->menu.n; s++) {
			const struct bound_set *v = &b->menu.v[s];

			if (v->n != 1 || v->kind[0] != b->p->jobs[j].kind)
				continue;
			if (!quick || v->rate[0] > quick->rate[0])
				quick = v;
			if (!thrifty || v->power / v->rate[0] < thrifty->power / thrifty->rate[0])
				thrifty = v;
		}
		for (size_t t = 0; t < MOMENTS && quick && !rc; t++) {
			rc = add(b, quick, t, jobs, &added);
			if (!rc)
				rc = add(b, thrifty, t, jobs, &added);
		}
	}
	return rc;
}

/* Completion times are variables of their own: at least what each cut says, at most the goal together. */
static int add_completions(struct bound *b)
{
	int rc = 0;

	for (size_t j = 0; j < b->p->n && !rc; j++) {
		struct hes_entry e[PACES + 1];

		for (size_t k = 0; k < PACES; k++) {
			const struct hes_entry beyond = { (uint32_t)row_of_cut(b, j, k), -1 };

			e[k] = (struct hes_entry){ beyond.row, 1 };
			rc = rc ? rc : hes_columns_add(b->lp, 0, &beyond, 1);
		}
		e[PACES] = (struct hes_entry){ (uint32_t)row_of_goal(b), 1 };
		rc = rc ? rc : hes_columns_add(b->lp, 0, e, PACES + 1);
	}
	return rc;
}

static int start(struct bound *b)
{
	const size_t rows = rows_of(b);
	double *right = calloc(2 * rows, sizeof(*right));
	double *dear;
	int rc;

	if (!right)
		return -ENOMEM;
	dear = right + rows;
	right[row_of_goal(b)] = b->goal;
	for (size_t g = 0; g < b->p->n_types; g++)
		for (size_t t = 0; t < MOMENTS - 1; t++)
			right[row_of_board(b, g, t)] = b->boards[g] * b->width[t];
	for (size_t j = 0; j < b->p->n; j++) {
		right[j] = 1;
		dear[j] = DEAR * (1 + b->centre[j]);
		for (size_t k = 0; k < PACES; k++) {
			right[row_of_cut(b, j, k)] = pace_of(b, j, k) / 2;
			dear[row_of_cut(b, j, k)] = DEAR;
		}
	}
	b->lp = hes_columns_new(rows, right, dear);
	free(right);
	rc = b->lp ? add_completions(b) : -ENOMEM;
	return rc ? rc : add_first(b);
}

/* Prices between the program's own and those that were best so far lead on faster than the former alone. */
static void mix(struct bound *b, double centre)
{
	const double *price = hes_columns_prices(b->lp);

	for (size_t i = 0; i < rows_of(b); i++)
		b->price[i] = centre * b->centre[i] + (1 - centre) * price[i];
}

static int improve(struct bound *b, double centre, size_t *added)
{
	double value;

	mix(b, centre);
	value = evaluate(b);
	if (value > b->best) {
		b->best = value;
		memcpy(b->centre, b->price, rows_of(b) * sizeof(*b->price));
	}
	return add_tops(b, added);
}

static int climb(struct bound *b)
{
	int rc = 0;

	for (int i = 0; i < ROUNDS && !rc; i++) {
		const double least = hes_columns_solve(b->lp, EXCHANGES);
		size_t added = 0;

		if (least <= b->best * (1 + CLOSE))
			break;
		if (b->best > 0 || i == 0)
			rc = improve(b, i ? 0.5 : 1, &added);
		if (!rc && !added)
			rc = improve(b, 0, &added);
		if (!added)
			break;
	}
	return rc;
}

/* What boards are worth at the prices in hand. */
static void find_worth(const struct bound *b, double *worth)
{
	for (size_t g = 0; g < b->p->n_types; g++)
		for (size_t t = 0; t < MOMENTS; t++)
			worth[g * MOMENTS + t] = t + 1 < MOMENTS ? b->chunks[0].tops[g * MOMENTS + t].v[0].gain : 0;
}

/*
 * Sets that nobody has asked about, at the best prices, and the program with them, in turn. Last comes a look, so that at the prices
 * in hand no pair brings more beyond the tolerance; prices are made so much smaller that it does not matter.
 */
static int widen(struct bound *b, struct bound_line *out)
{
	double *worth = calloc(b->p->n_types * MOMENTS + 1, sizeof(*worth)), value = 0, part;
	int rc = worth ? 0 : -ENOMEM;

	for (int pass = 1; !rc; pass++) {
		const size_t before = b->menu.n;
		struct bound_question q = { kind_brings, b, worth, 0 };

		memcpy(b->price, b->centre, rows_of(b) * sizeof(*b->price));
		value = evaluate(b);
		q.tolerance = fmax(TOLERANCE, b->chunks[0].excess);
		find_worth(b, worth);
		rc = bound_rest_look(b->rest, &q, &b->menu);
		if (rc || b->menu.n == before)
			break;
		value = b->best = evaluate(b);
		if (pass == PASSES)
			break;
		rc = climb(b);
	}
	free(worth);
	part = (1 + b->chunks[0].excess) / (1 + fmax(TOLERANCE, b->chunks[0].excess));
	*out = (struct bound_line){ value * part, b->price[row_of_goal(b)] * part / (1 + b->chunks[0].excess) };
	return rc;
}

/* The program at a goal, with what is known from goals before. */
static int solve(struct bound *b, double goal, struct bound_line *out)
{
	int rc;

	hes_columns_free(b->lp);
	b->lp = NULL;
	b->goal = goal;
	b->best = 0;
	rc = start(b);
	if (!rc)
		rc = climb(b);
	return rc ? rc : widen(b, out);
}

/* The sum of completion times from which on a line does not rule an energy out. */
static double goal_where(const struct bound *b, const struct bound_line *l, double energy)
{
	double least = 0;

	for (size_t j = 0; j < b->p->n; j++)
		least += b->menu.least[j];
	return fmax(least, l->slope < 0 ? b->goal + (energy - l->energy) / l->slope : 0);
}

static void choose_moments(struct bound *b, double end)
{
	for (size_t t = 0; t < MOMENTS; t++)
		b->at[t] = REACH * end * (pow(GROWTH, (double)t) - 1) / (pow(GROWTH, MOMENTS - 1) - 1);
	for (size_t t = 0; t + 1 < MOMENTS; t++) {
		b->width[t] += (b->at[t + 1] - b->at[t]) / 2;
		b->width[t + 1] += (b->at[t + 1] - b->at[t]) / 2;
	}
}

static int bound_init(struct bound *b, const struct hes_problem *p, const struct hes_timeline_times *known)
{
	double end_us = 0, ends_us = 0;
	int rc = 0;

	*b = (struct bound){ .p = p };
	for (size_t i = 0; i < p->n; i++) {
		end_us = fmax(end_us, known[i].end_us);
		ends_us += known[i].end_us;
		b->energy_unit += known[i].energy_mj / (double)p->n;
	}
	b->time_unit = ends_us / (double)p->n;
	choose_moments(b, end_us / b->time_unit);
	b->boards = calloc(p->n_types + 1, sizeof(*b->boards));
	b->price = calloc(rows_of(b) + 1, sizeof(*b->price));
	b->centre = calloc(rows_of(b) + 1, sizeof(*b->centre));
	b->slope = calloc(p->n + 1, sizeof(*b->slope));
	for (size_t c = 0; c < CHUNKS; c++) {
		b->chunks[c].tops = calloc(p->n_types * MOMENTS + 1, sizeof(*b->chunks[c].tops));
		rc = b->chunks[c].tops ? rc : -ENOMEM;
	}
	if (!b->boards || !b->price || !b->centre || !b->slope || rc)
		return -ENOMEM;
	for (size_t g = 0; g < p->k; g++)
		b->boards[p->gpus[g].type]++;
	for (size_t i = 0; i < p->n; i++) {
		b->centre[i] = known[i].energy_mj / b->energy_unit + GUESS * known[i].end_us / b->time_unit;
		b->centre[row_of_cut(b, i, 0)] = GUESS;
	}
	return 0;
}

static void bound_finish(struct bound *b)
{
	bound_menu_finish(&b->menu);
	bound_rest_free(b->rest);
	hes_columns_free(b->lp);
	for (size_t c = 0; c < CHUNKS; c++)
		free(b->chunks[c].tops);
	free(b->boards);
	free(b->price);
	free(b->centre);
	free(b->slope);
}

/* The least energy first; the line found there says where to look for the least completion time. */
static int solve_both(struct bound *b, const struct hes_objectives *plan, struct hes_bounds *out)
{
	const double energy = plan->energy_mj / b->energy_unit;
	struct bound_line first, second;
	double goal;
	int rc = solve(b, plan->jct_us / b->time_unit, &first);

	if (rc)
		return rc;
	goal = goal_where(b, &first, energy);
	rc = solve(b, goal, &second);
	if (rc)
		return rc;
	*out = (struct hes_bounds){
		fmax(first.energy, 0) * b->energy_unit, fmax(goal, goal_where(b, &second, energy)) * b->time_unit,
	};
	return 0;
}

int hes_bound(const struct hes_problem *p, struct hes_rates *const *memos, size_t n_memos,
	      const struct hes_timeline_times *known, const struct hes_objectives *plan, struct hes_bounds *out)
{
	struct bound b;
	int rc;

	if (p->n == 0) {
		*out = (struct hes_bounds){ 0, 0 };
		return 0;
	}
	rc = bound_init(&b, p, known);
	if (!rc)
		rc = bound_menu_init(&b.menu, p, memos, n_memos, b.time_unit, b.energy_unit);
	if (!rc) {
		b.rest = bound_rest_new(p, b.time_unit, b.energy_unit);
		rc = b.rest ? solve_both(&b, plan, out) : -ENOMEM;
	}
	bound_finish(&b);
	return rc;
}
