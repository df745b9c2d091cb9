/*
 * bound.c - least energy for a sum of completion times, from a linear program over co-run sets and
 * moments; see bound.h. GLPK solves the program; its prices are a guess, and bound_prove() proves a
 * bound from them. Energies are in units of a job's mean, times in units of the mean completion
 * time.
 */
#include "bound.h"

#include <errno.h>
#include <glpk.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bound_pricing.h"

#define MOMENTS \
	BOUND_MOMENTS /* GPUs are counted between them; after the last one there is no limit */
#define GROWTH 1.35   /* of the time between two moments against the time before */
#define REACH  1.3    /* the last moment, in ends of the known plan */
#define ROUNDS 40
#define CLOSE  0.002 /* of the program's least: near enough to it */
#define CHUNKS 16    /* of the sets: the best of each is added */
#define UNMET  20.0  /* cost of work that is not done, and of a unit of time above the goal */
#define GUESS  0.4   /* first price of a unit of time */
#define PIVOTS 4000  /* at most, in a round */
#define STEPS  4     /* of Newton's method */
#define PASSES 2     /* of the search for unknown sets */
#define TOLERANCE \
	0.003 /* part of a set's energy that an unknown pair may earn beyond the GPU's price */
#define FASTER \
	0.001 /* part by which the predictor may make a job faster with co-runners than alone */
#define ROUNDING 1e-6 /* safety margin of the proof: its sums are of doubles */

/* In run times of the known plan: most of a bound's jobs run about so fast. One cut more is for the
 * least run time. */
static const double cut_pace[BOUND_CUTS - 1] = { 0.55, 0.7, 0.82, 0.92, 1, 1.12, 1.3, 1.7 };

/* The best set of a chunk for a type and moment. */
struct best {
	double profit; /* 0: none */
	size_t set;
};

struct bound {
	const struct hes_problem *p;
	struct bound_pricing pricing;
	double energy_unit, time_unit;
	double goal;               /* sum of completion times, in time units */
	double least;              /* no plan's completion times sum to less */
	double width[MOMENTS];     /* time around a moment, by trapezoids */
	double *gpus;              /* [type] how many */
	double *price;             /* [rows] where the bound is taken */
	double *centre;            /* [rows] where it was best */
	double *gpu_price;         /* [type * MOMENTS + moment] */
	struct best *best[CHUNKS]; /* [type * MOMENTS + moment] */
	double excess; /* most that a set earns beyond its energy at the last moment, of that */
	double value;  /* the best bound so far */
	glp_prob *lp;
};

/* No plan has less energy than this where the completion times sum to the goal; slope: elsewhere.
 */
struct bound_line {
	double energy, slope;
};

/* Rows, from 1 on as GLPK counts: each job's work, GPUs at moments, cuts, jobs at moments, the sum
 * of completion times. */
static int row_of_gpu(const struct bound *b, size_t type, size_t t)
{
	return (int)(1 + b->p->n + type * (MOMENTS - 1) + t);
}

static int row_of_cut(const struct bound *b, size_t job, size_t cut)
{
	return row_of_gpu(b, b->p->n_types, 0) + (int)(job * BOUND_CUTS + cut);
}

static int row_of_busy(const struct bound *b, size_t job, size_t t)
{
	return row_of_cut(b, b->p->n, 0) + (int)(job * (MOMENTS - 1) + t);
}

static int row_of_goal(const struct bound *b)
{
	return row_of_busy(b, b->p->n, 0);
}

static size_t rows_of(const struct bound *b)
{
	return (size_t)row_of_goal(b) + 1;
}

/* Prices of the right sign; the goal's price covers each job's cuts. */
static void prices_settle(struct bound *b)
{
	double *goal = &b->price[row_of_goal(b)];

	*goal = fmin(*goal, 0);
	for (size_t j = 0; j < b->p->n; j++) {
		struct bound_job *job = &b->pricing.jobs[j];

		job->work = fmax(b->price[1 + j], 0);
		job->slope = 0;
		for (size_t k = 0; k < BOUND_CUTS; k++) {
			job->cut[k] = fmax(b->price[row_of_cut(b, j, k)], 0);
			job->slope += job->cut[k];
		}
		for (size_t t = 0; t < MOMENTS - 1; t++)
			job->busy[t] = fmax(-b->price[row_of_busy(b, j, t)], 0);
		*goal = fmin(*goal, -job->slope);
	}
}

/* What the sets of a chunk earn beyond their energy. @return the excess at the last moment */
static double chunk_price(const struct bound *b, size_t chunk)
{
	double excess = 0;

	memset(b->best[chunk], 0, b->p->n_types * MOMENTS * sizeof(**b->best));
	for (size_t s = chunk; s < b->pricing.n; s += CHUNKS) {
		const struct bound_set *set = &b->pricing.sets[s];
		struct best *best = &b->best[chunk][set->type * MOMENTS];
		double earns[MOMENTS];

		bound_set_earns(&b->pricing, set, earns);
		for (size_t t = 0; t < MOMENTS; t++)
			if (earns[t] - set->power > best[t].profit)
				best[t] = (struct best){ earns[t] - set->power, s };
		excess = fmax(excess, earns[MOMENTS - 1] / set->power - 1);
	}
	return excess;
}

/* What a GPU is worth at each moment, by the sets that are known. */
static void find_gpu_prices(struct bound *b)
{
	double excess = 0;

#pragma omp parallel for schedule(dynamic, 1) reduction(max : excess)
	for (size_t c = 0; c < CHUNKS; c++)
		excess = fmax(excess, chunk_price(b, c));
	b->excess = excess;
	for (size_t x = 0; x < b->p->n_types * MOMENTS; x++) {
		b->gpu_price[x] = 0;
		for (size_t c = 0; c < CHUNKS && x % MOMENTS != MOMENTS - 1; c++)
			b->gpu_price[x] = fmax(b->gpu_price[x], b->best[c][x].profit);
	}
}

/*
 * The bound at the prices in hand, by weak duality. Where a set earns more than its energy at the
 * last moment, all prices are scaled down until it does not.
 */
static double bound_prove(struct bound *b)
{
	double sum;

	prices_settle(b);
	find_gpu_prices(b);
	sum = b->price[row_of_goal(b)] * b->goal;
	for (size_t j = 0; j < b->p->n; j++) {
		const struct bound_job *job = &b->pricing.jobs[j];

		sum += job->work;
		for (size_t k = 0; k < BOUND_CUTS; k++)
			sum += job->cut[k] * job->pace[k] / 2;
		for (size_t t = 0; t < MOMENTS - 1; t++)
			sum -= b->width[t] * job->busy[t];
	}
	for (size_t x = 0; x < b->p->n_types * MOMENTS; x++)
		sum -= b->gpus[x / MOMENTS] * b->width[x % MOMENTS] * b->gpu_price[x];
	return sum / (1 + b->excess) - ROUNDING;
}

/* A column: at most so many entries. */
struct column {
	double cost;
	int n, row[2 + HES_SHARE_MOST * (2 + BOUND_CUTS)];
	double v[2 + HES_SHARE_MOST * (2 + BOUND_CUTS)]; /* from 1 on, as GLPK counts */
};

/* GLPK wants each row once. */
static void column_put(struct column *c, int row, double v)
{
	for (int i = 1; i <= c->n; i++)
		if (c->row[i] == row) {
			c->v[i] += v;
			return;
		}
	c->row[++c->n] = row;
	c->v[c->n] = v;
}

static void column_add(struct bound *b, const struct column *c)
{
	const int at = glp_add_cols(b->lp, 1);

	glp_set_obj_coef(b->lp, at, c->cost);
	glp_set_col_bnds(b->lp, at, GLP_LO, 0, 0);
	glp_set_mat_col(b->lp, at, c->n, c->row, c->v);
}

/* A unit of time of a set at a moment, if that lowers the program's cost. @return columns added */
static size_t set_add(struct bound *b, const struct bound_set *s, size_t t)
{
	struct column c = { .cost = s->power };
	double reduced = s->power;

	if (t < MOMENTS - 1)
		column_put(&c, row_of_gpu(b, s->type, t), 1);
	for (uint32_t i = 0; i < s->n; i++) {
		double earns[MOMENTS], speed;
		uint32_t who[MOMENTS];

		bound_kind_earns(&b->pricing, s->kind[i], s->rate[i], earns, who);
		if (who[t] == UINT32_MAX)
			continue;
		speed = s->rate[i] / b->p->jobs[who[t]].iterations;
		column_put(&c, 1 + (int)who[t], speed);
		if (t < MOMENTS - 1)
			column_put(&c, row_of_busy(b, who[t], t), 1);
		for (size_t k = 0; k < BOUND_CUTS; k++)
			column_put(&c, row_of_cut(b, who[t], k),
				   fmax(0, b->pricing.jobs[who[t]].pace[k] * speed - 1) -
					   speed * b->pricing.at[t]);
	}
	for (int i = 1; i <= c.n; i++)
		reduced -= glp_get_row_dual(b->lp, c.row[i]) * c.v[i];
	if (reduced > -1e-9)
		return 0;
	column_add(b, &c);
	return 1;
}

/* The program without sets: work may stay undone and the goal be missed, at a cost. */
static void program_new(struct bound *b)
{
	struct column miss = { .cost = UNMET * BOUND_CUTS };

	b->lp = glp_create_prob();
	glp_add_rows(b->lp, row_of_goal(b));
	for (size_t g = 0; g < b->p->n_types; g++)
		for (size_t t = 0; t < MOMENTS - 1; t++)
			glp_set_row_bnds(b->lp, row_of_gpu(b, g, t), GLP_UP, 0,
					 b->gpus[g] * b->width[t]);
	for (size_t j = 0; j < b->p->n; j++) {
		struct column undone = { .cost = UNMET * (1 + b->centre[1 + j]) },
			      ends = { .cost = 0 };

		glp_set_row_bnds(b->lp, 1 + (int)j, GLP_LO, 1, 0);
		for (size_t t = 0; t < MOMENTS - 1; t++)
			glp_set_row_bnds(b->lp, row_of_busy(b, j, t), GLP_UP, 0, b->width[t]);
		column_put(&undone, 1 + (int)j, 1);
		column_add(b, &undone);
		for (size_t k = 0; k < BOUND_CUTS; k++) {
			glp_set_row_bnds(b->lp, row_of_cut(b, j, k), GLP_LO,
					 b->pricing.jobs[j].pace[k] / 2, 0);
			column_put(&ends, row_of_cut(b, j, k), 1);
		}
		column_put(&ends, row_of_goal(b), 1);
		column_add(b, &ends);
	}
	column_put(&miss, row_of_goal(b), -1);
	column_add(b, &miss);
}

/* @return the program's least cost over the columns so far, about */
static double program_solve(struct bound *b)
{
	glp_smcp how;

	glp_init_smcp(&how);
	how.msg_lev = GLP_MSG_OFF;
	how.it_lim = PIVOTS;
	glp_simplex(b->lp, &how);
	return glp_get_obj_val(b->lp);
}

/* Prove a bound between the program's prices and the best ones so far: that converges faster
 * (Wentges, 1997). */
static size_t improve(struct bound *b, double centre)
{
	size_t added = 0;
	double value;

	for (size_t i = 1; i < rows_of(b); i++)
		b->price[i] =
			centre * b->centre[i] + (1 - centre) * glp_get_row_dual(b->lp, (int)i);
	value = bound_prove(b);
	if (value > b->value) {
		b->value = value;
		memcpy(b->centre, b->price, rows_of(b) * sizeof(*b->price));
	}
	for (size_t c = 0; c < CHUNKS; c++)
		for (size_t x = 0; x < b->p->n_types * MOMENTS; x++)
			if (b->best[c][x].profit > 0)
				added += set_add(b, &b->pricing.sets[b->best[c][x].set],
						 x % MOMENTS);
	return added;
}

/* Add columns until the bound is close to the program's cost. */
static void converge(struct bound *b)
{
	for (int i = 0; i < ROUNDS; i++) {
		if (program_solve(b) <= b->value * (1 + CLOSE))
			return;
		if (!improve(b, i ? 0.5 : 1) && !improve(b, 0))
			return;
	}
}

/*
 * The program at a goal. A pass ends with a search for unknown sets at the best prices, and the
 * proof includes them. Without passes the line holds for known sets alone.
 */
static int solve(struct bound *b, double goal, int passes, struct bound_line *out)
{
	double tolerance;
	bool found;
	int rc = 0;

	b->goal = goal;
	b->value = 0;
	glp_set_row_bnds(b->lp, row_of_goal(b), GLP_UP, 0, goal);
	do {
		const size_t before = b->pricing.n;

		converge(b);
		memcpy(b->price, b->centre, rows_of(b) * sizeof(*b->price));
		bound_prove(b);
		tolerance = fmax(TOLERANCE, b->excess);
		if (passes > 0)
			rc = bound_search(&b->pricing, b->gpu_price, tolerance);
		found = b->pricing.n > before;
		b->value = bound_prove(b);
	} while (!rc && found && --passes > 0);
	tolerance = fmax(tolerance, b->excess);
	out->energy = b->value * (1 + b->excess) / (1 + tolerance);
	out->slope = b->price[row_of_goal(b)] / (1 + tolerance);
	return rc;
}

/* The least sum of completion times at an energy, by a line. */
static double goal_where(const struct bound *b, const struct bound_line *l, double energy)
{
	return fmax(b->least, l->slope < 0 ? b->goal + (energy - l->energy) / l->slope : 0);
}

/* The least run time of a job: alone, at any share and clock on any type. */
static double least_us(const struct bound *b, uint32_t kind, double iterations)
{
	const struct hes_problem *p = b->p;
	double least = INFINITY;

	for (uint32_t t = 0; t < p->n_types; t++)
		for (size_t c = 0;
		     c < p->types[t]->n_clocks && p->solo[t * p->n_kinds + kind].iteration_us > 0;
		     c++)
			for (uint16_t pct = HES_SHARE_STEP_PCT; pct <= HES_SHARE_SUM_PCT;
			     pct += HES_SHARE_STEP_PCT) {
				const struct hes_set s = { t,
							   p->types[t]->clocks_mhz[c],
							   1,
							   { { (uint16_t)kind, pct } } };
				struct hes_set_rates rates;

				hes_rates_of(p->rates, &s, &rates);
				least = fmin(least, rates.iteration_us[0]);
			}
	return least * iterations;
}

static int bound_init(struct bound *b, const struct hes_joint *met,
		      const struct hes_timeline_times *known)
{
	const struct hes_problem *p = b->p;
	const size_t cells = p->n_types * MOMENTS;
	double end_us = 0, ends_us = 0;
	int rc;

	for (size_t i = 0; i < p->n; i++) {
		end_us = fmax(end_us, known[i].end_us);
		ends_us += known[i].end_us;
		b->energy_unit += known[i].energy_mj / (double)p->n;
	}
	b->time_unit = ends_us / (double)p->n;
	rc = bound_pricing_init(&b->pricing, p, met, b->time_unit, b->energy_unit);
	b->gpus = calloc(p->n_types + 1, sizeof(*b->gpus));
	b->price = calloc(rows_of(b), sizeof(*b->price));
	b->centre = calloc(rows_of(b), sizeof(*b->centre));
	b->gpu_price = calloc(cells + 1, sizeof(*b->gpu_price));
	b->best[0] = calloc(CHUNKS * (cells + 1), sizeof(**b->best));
	if (rc || !b->gpus || !b->price || !b->centre || !b->gpu_price || !b->best[0])
		return -ENOMEM;
	for (size_t c = 1; c < CHUNKS; c++)
		b->best[c] = b->best[0] + c * cells;
	for (size_t t = 0; t < MOMENTS; t++)
		b->pricing.at[t] = REACH * end_us / b->time_unit * (pow(GROWTH, (double)t) - 1) /
				   (pow(GROWTH, MOMENTS - 1) - 1);
	for (size_t t = 0; t < MOMENTS - 1; t++)
		b->width[t] = (b->pricing.at[t + 1] - b->pricing.at[t > 0 ? t - 1 : 0]) / 2;
	for (size_t g = 0; g < p->k; g++)
		b->gpus[p->gpus[g].type]++;
	for (size_t i = 0; i < p->n; i++) {
		const double least =
			least_us(b, p->jobs[i].kind, p->jobs[i].iterations) / b->time_unit;

		b->least += least * (1 - FASTER);
		b->pricing.jobs[i].pace[0] = least;
		for (size_t k = 1; k < BOUND_CUTS; k++)
			b->pricing.jobs[i].pace[k] =
				fmax(cut_pace[k - 1] * (known[i].end_us - known[i].start_us) /
					     b->time_unit,
				     least);
		b->centre[1 + i] = known[i].energy_mj / b->energy_unit +
				   GUESS * known[i].end_us / b->time_unit;
		b->centre[row_of_cut(b, i, 0)] = GUESS;
	}
	return 0;
}

/* The least energy at the plan's completion times; then the goal where energy is the plan's, by
 * Newton's method. */
static int solve_both(struct bound *b, const struct hes_objectives *plan, struct hes_bounds *out)
{
	const double energy = plan->energy_mj / b->energy_unit;
	struct bound_line line;
	double goal;
	int rc;

	program_new(b);
	rc = solve(b, plan->jct_us / b->time_unit, PASSES, &line);
	out->least_mj = fmax(line.energy, 0) * b->energy_unit;
	goal = goal_where(b, &line, energy);
	out->least_jct_us = goal * b->time_unit;
	for (int i = 1; i <= STEPS && !rc; i++) {
		rc = solve(b, goal, i < STEPS ? 0 : PASSES, &line);
		goal = goal_where(b, &line, energy);
	}
	out->least_jct_us = fmax(out->least_jct_us, goal * b->time_unit);
	return rc;
}

int hes_bound(const struct hes_problem *p, const struct hes_joint *met,
	      const struct hes_timeline_times *known, const struct hes_objectives *plan,
	      struct hes_bounds *out)
{
	const int printed = glp_term_out(GLP_OFF);
	struct bound b = { .p = p };
	struct hes_bounds found = { 0, 0 };
	int rc;

	rc = bound_init(&b, met, known);
	if (!rc)
		rc = solve_both(&b, plan, &found);
	if (!rc)
		*out = found;
	if (b.lp)
		glp_delete_prob(b.lp);
	glp_term_out(printed);
	bound_pricing_finish(&b.pricing);
	free(b.gpus);
	free(b.price);
	free(b.centre);
	free(b.gpu_price);
	free(b.best[0]);
	return rc;
}

/* When each job of a member ends, and its energy. */
static void find_times(const struct hes_problem *p, const struct hes_joint *j, size_t member,
		       struct hes_timeline_times *of_job, struct hes_timeline_times *room)
{
	const struct hes_joint_solution s = hes_joint_member(j, member);

	for (size_t g = 0; g < p->k; g++) {
		const struct hes_timeline_item *items = &s.items[s.first[g]];
		const uint32_t n = s.first[g + 1] - s.first[g];
		struct hes_timeline_cost c;

		hes_timeline_run(p, p->rates, g, items, n, &c, room);
		for (uint32_t i = 0; i < n; i++)
			of_job[items[i].job] = room[i];
	}
}

int hes_bound_joint(const struct hes_problem *p, const struct hes_joint *j, size_t member,
		    struct hes_bounds *out)
{
	struct hes_timeline_times *times = calloc(2 * (p->n + 1), sizeof(*times));
	int rc;

	if (!times)
		return -ENOMEM;
	find_times(p, j, member, times, times + p->n + 1);
	rc = hes_bound(p, j, times, &hes_joint_front(j)->v[member].at, out);
	free(times);
	return rc;
}
