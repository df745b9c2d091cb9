/*
 * calibrate.c - Levenberg-Marquardt on the baseline's constants; see calibrate.h.
 *
 * The unknowns are the shared constants, those of a type in general and each type's deviations from
 * them, those of a workload in general and each workload's deviations. They are logarithms, or
 * values where the prior is linear. A sample depends only on its own type and workload, and on
 * general constants as on deviations, so a row of the Jacobian has few distinct entries. Priors are
 * further rows: (value - prior) / spread.
 */
#include "predict/baseline/calibrate.h"

#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#define OUTPUTS      3    /* time, power, power before the task started */
#define ROBUST       2.0  /* residuals above this many noises count less than squared */
#define MAX_ROWS     3000 /* to fit on; of more rows, every k-th */
#define MAX_ROUNDS   20
#define STEP_DAMPING 1e-6 /* damping of the step without some rows */
#define FIRST_DAMPING \
	10.0 /* initial damping: larger first steps run into the ends of ranges and stay there */
#define MAX_TRIES    8    /* of one round, each with more damping */
#define ENOUGH       1e-3 /* relative gain of a round that counts */
#define PATIENCE     2    /* rounds without such a gain */
#define STEP         1e-3 /* of an unknown, in spreads, for its derivative */
#define LOCAL        (SHARED_CONSTANTS + TYPE_CONSTANTS + WORKLOAD_CONSTANTS)
#define GENERAL      3.0 /* the prior of general workload constants is wider by this factor */
#define GENERAL_TYPE 2.0
#define MOST_NAMED   8 /* co-runners of a sample whose kernels' lengths are fitted, too */

/*
 * Of a logarithm; weighs samples against priors. Co-runners' power from profiles has a larger error
 * than a measurement.
 */
static const double noise[OUTPUTS] = { 0.02, 0.02, 0.06 };

/*
 * The residuals of one observation and their derivatives by its constants. The load of its named
 * co-runners is computed with the constants at the start of a step and stays fixed during the step,
 * but for the length of their kernels: how long a task waits depends on the ratio to its own.
 */
struct row {
	struct observation o; /* the row's own */
	size_t at;            /* which observation it is */
	size_t type, workload;
	bool before;       /* of the last co-runner that joined the others, before the task */
	bool has[OUTPUTS]; /* what was measured */
	double measured[OUTPUTS]; /* logarithms */
	double r[OUTPUTS];        /* predicted - measured, in noises, flattened */
	double d[OUTPUTS][LOCAL];
	size_t n_kernels; /* named co-runners, or 0: the length of their kernels stays fixed */
	struct {
		size_t workload;
		double us; /* of the load's kernel_us, for each us of ISSUE_US */
	} kernels[MOST_NAMED];
};

/* The first unknown of each group. */
struct layout {
	size_t types, departures, workloads, workload_departures, n;
	size_t n_types, n_workloads; /* that have departures */
};

struct problem {
	struct layout at;
	struct constants_table *t;
	struct constants_table aside; /* a small step from each of them */
	struct row *rows;
	size_t n;
	uint32_t threads;
	double *x; /* unknowns */
	double *best;
	double *trial;
	double *step;
	double *a, *factor; /* n x n, lower halves: normal equations and their Cholesky factor */
	double *g;          /* gradient */
};

static double constant_of(const struct prior *b, double unknown)
{
	double v = b->linear ? unknown : exp(unknown);

	return fmin(fmax(v, b->min), b->max);
}

static double prior_unknown(const struct prior *b)
{
	return b->linear ? b->start : log(b->start);
}

static struct layout layout_of(size_t n_types, size_t n_workloads)
{
	struct layout l = { .types = SHARED_CONSTANTS,
			    .n_types = n_types,
			    .n_workloads = n_workloads };

	l.departures = l.types + TYPE_CONSTANTS;
	l.workloads = l.departures + n_types * TYPE_CONSTANTS;
	l.workload_departures = l.workloads + WORKLOAD_CONSTANTS;
	l.n = l.workload_departures + n_workloads * WORKLOAD_CONSTANTS;
	return l;
}

/* Unknowns to constants. */
static void set_constants(const struct problem *p, const double *x)
{
	const struct layout *l = &p->at;

	for (size_t i = 0; i < SHARED_CONSTANTS; i++)
		p->t->shared[i] = constant_of(&shared_priors[i], x[i]);
	for (size_t k = 0; k <= l->n_types; k++)
		for (size_t i = 0; i < TYPE_CONSTANTS; i++) {
			double own = k < l->n_types ? x[l->departures + k * TYPE_CONSTANTS + i] : 0;

			p->t->types[k].v[i] = constant_of(&type_priors[i], x[l->types + i] + own);
		}
	for (size_t k = 0; k <= l->n_workloads; k++)
		for (size_t i = 0; i < WORKLOAD_CONSTANTS; i++) {
			double own =
				k < l->n_workloads
					? x[l->workload_departures + k * WORKLOAD_CONSTANTS + i]
					: 0;

			p->t->workloads[k].v[i] =
				constant_of(&workload_priors[i], x[l->workloads + i] + own);
		}
	constants_settle(p->t);
}

/* The prior of an unknown. @param spread  its standard deviation */
static double prior_of(const struct layout *l, size_t i, double *spread)
{
	const struct prior *b;
	bool general = true;

	if (i < l->types) {
		b = &shared_priors[i];
		*spread = b->spread;
		return prior_unknown(b);
	}
	if (i < l->workloads) {
		general = i < l->departures;
		b = &type_priors[(i - l->types) % TYPE_CONSTANTS];
		*spread = b->spread * (general ? GENERAL_TYPE : 1);
	} else {
		general = i < l->workload_departures;
		b = &workload_priors[(i - l->workloads) % WORKLOAD_CONSTANTS];
		*spread = b->spread * (general ? GENERAL : 1);
	}
	return general ? prior_unknown(b) : 0;
}

/* Pseudo-Huber: squared near 0, absolute far away. *slope: derivative. */
static double flatten(double r, double *slope)
{
	double z = r / ROBUST, root = sqrt(1 + z * z), flat = ROBUST * sqrt(2 * (root - 1));

	*slope = flat > 1e-9 ? fabs(r) / root / flat : 1;
	return r < 0 ? -flat : flat;
}

/* Residuals of the outputs. @param slope  of flatten(); 0 for outputs that were not measured */
static void compare(struct row *row, const struct baseline_outputs *said, double slope[OUTPUTS])
{
	const double at[OUTPUTS] = { log(said->slowdown * row->o.query.task->iteration_us),
				     log(said->power_w), log(said->predicted_w) };

	for (int j = 0; j < OUTPUTS; j++) {
		slope[j] = 0;
		row->r[j] =
			row->has[j] ? flatten((at[j] - row->measured[j]) / noise[j], &slope[j]) : 0;
	}
}

static void evaluate(const struct problem *p, struct row *row)
{
	const struct constants k = constants_at(p->t, row->type, row->workload);
	const struct baseline b = baseline_of(&k, &row->o.query);
	const struct baseline_outputs said = { b.slowdown, b.power_w, b.predicted_w };
	double slope[OUTPUTS];

	compare(row, &said, slope);
}

static double kernel_us_of(const struct problem *p, const struct row *row, size_t i)
{
	return row->kernels[i].us * p->t->workloads[row->kernels[i].workload].v[ISSUE_US];
}

static void evaluate_row(const struct problem *p, struct row *row)
{
	if (row->n_kernels)
		row->o.co_runners.kernel_us = 0;
	for (size_t i = 0; i < row->n_kernels; i++)
		row->o.co_runners.kernel_us += kernel_us_of(p, row, i);
	evaluate(p, row);
}

/* A small step from each constant, into its range. */
static void step_aside(const double *v, const struct prior *priors, size_t n, double *aside)
{
	for (size_t i = 0; i < n; i++) {
		double unknown = priors[i].linear ? v[i] : log(v[i]), h = STEP * priors[i].spread;

		aside[i] = constant_of(&priors[i], unknown + h);
		if (aside[i] <= v[i])
			aside[i] = constant_of(&priors[i], unknown - h);
	}
}

static void step_all_aside(struct problem *p)
{
	step_aside(p->t->shared, shared_priors, SHARED_CONSTANTS, p->aside.shared);
	for (size_t i = 0; i < p->t->n_types; i++)
		step_aside(p->t->types[i].v, type_priors, TYPE_CONSTANTS, p->aside.types[i].v);
	for (size_t i = 0; i < p->t->n_workloads; i++)
		step_aside(p->t->workloads[i].v, workload_priors, WORKLOAD_CONSTANTS,
			   p->aside.workloads[i].v);
}

/* Derivatives of logarithms in noises, times @slope of flatten(). */
static void derive(struct row *row, const struct baseline_outputs *at, const double slope[OUTPUTS],
		   const double *v, const double *aside, const struct prior *priors, size_t n,
		   const struct baseline_outputs *moved, size_t column)
{
	for (size_t i = 0; i < n; i++) {
		double h = STEP * priors[i].spread * (aside[i] > v[i] ? 1 : -1);
		double by[OUTPUTS] = { moved[i].slowdown / at->slowdown - 1,
				       moved[i].power_w / at->power_w - 1,
				       moved[i].predicted_w / at->predicted_w - 1 };

		for (int j = 0; j < OUTPUTS; j++)
			row->d[j][column + i] = by[j] / h / noise[j] * slope[j];
	}
}

static void differentiate_row(const struct problem *p, struct row *row)
{
	const struct constants k = constants_at(p->t, row->type, row->workload);
	const struct constants aside = constants_at(&p->aside, row->type, row->workload);
	struct baseline_moves m;
	double slope[OUTPUTS];

	baseline_move(&k, &aside, &row->o.query, &m);
	compare(row, &m.at, slope);
	derive(row, &m.at, slope, k.shared, aside.shared, shared_priors, SHARED_CONSTANTS, m.shared,
	       0);
	derive(row, &m.at, slope, k.type, aside.type, type_priors, TYPE_CONSTANTS, m.type,
	       SHARED_CONSTANTS);
	derive(row, &m.at, slope, k.workload, aside.workload, workload_priors, WORKLOAD_CONSTANTS,
	       m.workload, SHARED_CONSTANTS + TYPE_CONSTANTS);
}

/* Unknowns in rising order, and derivatives by them. */
struct entries {
	size_t index[2 * LOCAL + MOST_NAMED], n;
	double value[2 * LOCAL + MOST_NAMED];
};

/* Without zeros: a row without co-runners does not depend on their constants. */
static void enter(struct entries *e, size_t first, const double *d, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		e->index[e->n] = first + i;
		e->value[e->n] = d[i];
		e->n += d[i] != 0;
	}
}

static void enter_sum(struct entries *e, size_t index, double value)
{
	size_t at = e->n;

	while (at > 0 && e->index[at - 1] > index)
		at--;
	if (at > 0 && e->index[at - 1] == index) {
		e->value[at - 1] += value;
		return;
	}
	memmove(&e->index[at + 1], &e->index[at], (e->n - at) * sizeof(*e->index));
	memmove(&e->value[at + 1], &e->value[at], (e->n - at) * sizeof(*e->value));
	e->index[at] = index;
	e->value[at] = value;
	e->n++;
}

/* Co-runners' kernels: twice as long ones are as good as half as long ones of the task. */
static void enter_kernels(const struct problem *p, const struct row *row, double by_issue,
			  struct entries *e)
{
	const struct layout *l = &p->at;

	for (size_t i = 0; i < row->n_kernels && by_issue != 0; i++) {
		const size_t w = row->kernels[i].workload;
		double value = -by_issue * kernel_us_of(p, row, i) / row->o.co_runners.kernel_us;

		enter_sum(e, l->workloads + ISSUE_US, value);
		if (w < l->n_workloads)
			enter_sum(e, l->workload_departures + w * WORKLOAD_CONSTANTS + ISSUE_US,
				  value);
	}
}

/* @param weight  1, or -1 to remove a row */
static void add_row(struct problem *p, const struct row *row, int output, double weight)
{
	const struct layout *l = &p->at;
	const double *shared = row->d[output], *type = shared + SHARED_CONSTANTS,
		     *workload = type + TYPE_CONSTANTS;
	struct entries e;

	if (!row->has[output])
		return;
	e.n = 0;
	enter(&e, 0, shared, SHARED_CONSTANTS);
	enter(&e, l->types, type, TYPE_CONSTANTS);
	if (row->type < l->n_types)
		enter(&e, l->departures + row->type * TYPE_CONSTANTS, type, TYPE_CONSTANTS);
	enter(&e, l->workloads, workload, WORKLOAD_CONSTANTS);
	if (row->workload < l->n_workloads)
		enter(&e, l->workload_departures + row->workload * WORKLOAD_CONSTANTS, workload,
		      WORKLOAD_CONSTANTS);
	enter_kernels(p, row, workload[ISSUE_US], &e);
	for (size_t i = 0; i < e.n; i++) {
		double *below = p->a + e.index[i] * l->n;

		double value = weight * row->o.weight * e.value[i];

		p->g[e.index[i]] += value * row->r[output];
		for (size_t j = 0; j <= i; j++)
			below[e.index[j]] += value * e.value[j];
	}
}

static double cost_of_priors(const struct problem *p, const double *x)
{
	double sum = 0;

	for (size_t i = 0; i < p->at.n; i++) {
		double spread, off = x[i] - prior_of(&p->at, i, &spread);

		sum += off * off / (spread * spread);
	}
	return sum;
}

static void update_load(const struct constants_table *t, struct row *row)
{
	double us[MOST_NAMED];

	row->n_kernels = row->o.n_named <= MOST_NAMED ? row->o.n_named : 0;
	observation_predict_load(t, &row->o, row->n_kernels ? us : NULL);
	for (size_t i = 0; i < row->n_kernels; i++) {
		row->kernels[i].workload = constants_workload(t, row->o.named[i].solo.workload);
		row->kernels[i].us = us[i] / t->workloads[row->kernels[i].workload].v[ISSUE_US];
	}
}

/* Set the constants to p->x, and the loads of named co-runners. */
static void update_loads(struct problem *p)
{
	set_constants(p, p->x);
#pragma omp parallel for num_threads((int)p->threads) schedule(static)
	for (size_t i = 0; i < p->n; i++) {
		struct observation *o = &p->rows[i].o;

		update_load(p->t, &p->rows[i]);
		if (p->rows[i].before && o->n_named)
			o->co_runners.power_mw = o->co_runners.predicted_mw;
	}
}

/* Evaluate all rows. */
static void evaluate_rows(struct problem *p)
{
#pragma omp parallel for num_threads((int)p->threads) schedule(static)
	for (size_t i = 0; i < p->n; i++)
		evaluate_row(p, &p->rows[i]);
}

/* The same with derivatives. */
static void differentiate(struct problem *p)
{
	step_all_aside(p);
#pragma omp parallel for num_threads((int)p->threads) schedule(static)
	for (size_t i = 0; i < p->n; i++)
		differentiate_row(p, &p->rows[i]);
}

/* The sum of squares of the last evaluation, and of the priors. */
static double cost_of(const struct problem *p, const double *x)
{
	double sum = 0;

	for (size_t i = 0; i < p->n; i++)
		for (int j = 0; j < OUTPUTS; j++)
			sum += p->rows[i].o.weight * p->rows[i].r[j] * p->rows[i].r[j];
	return sum + cost_of_priors(p, x);
}

/* Leaves the constants at @x. */
static double cost_at(struct problem *p, const double *x)
{
	set_constants(p, x);
	evaluate_rows(p);
	return cost_of(p, x);
}

/* Normal equations at p->x. */
static void add_rows(struct problem *p)
{
	size_t n = p->at.n;

	memset(p->a, 0, n * n * sizeof(*p->a));
	memset(p->g, 0, n * sizeof(*p->g));
	for (size_t i = 0; i < p->n; i++)
		for (int j = 0; j < OUTPUTS; j++)
			add_row(p, &p->rows[i], j, 1);
	for (size_t i = 0; i < n; i++) {
		double spread, off = p->x[i] - prior_of(&p->at, i, &spread);

		p->a[i * n + i] += 1 / (spread * spread);
		p->g[i] += off / (spread * spread);
	}
}

/* p->step with a damping, by Cholesky; priors keep the matrix positive definite. */
static void solve_step(struct problem *p, double damping)
{
	size_t n = p->at.n;
	double *f = p->factor, *s = p->step;

	memcpy(f, p->a, n * n * sizeof(*f));
	for (size_t j = 0; j < n; j++) {
		double d = f[j * n + j] * (1 + damping);

		for (size_t k = 0; k < j; k++)
			d -= f[j * n + k] * f[j * n + k];
		d = sqrt(fmax(d, 1e-12));
		f[j * n + j] = d;
		for (size_t i = j + 1; i < n; i++) {
			double v = f[i * n + j];

			for (size_t k = 0; k < j; k++)
				v -= f[i * n + k] * f[j * n + k];
			f[i * n + j] = v / d;
		}
	}
	for (size_t i = 0; i < n; i++) {
		s[i] = -p->g[i];
		for (size_t k = 0; k < i; k++)
			s[i] -= f[i * n + k] * s[k];
		s[i] /= f[i * n + i];
	}
	for (size_t i = n; i-- > 0;) {
		for (size_t k = i + 1; k < n; k++)
			s[i] -= f[k * n + i] * s[k];
		s[i] /= f[i * n + i];
	}
}

/* One step that lowers the cost. @return relative gain; 0: there is none */
static double step_down(struct problem *p, double *damping)
{
	double before = cost_of(p, p->x), next = INFINITY;

	for (int i = 0; i < MAX_TRIES && !(next < before); i++) {
		solve_step(p, *damping);
		for (size_t k = 0; k < p->at.n; k++)
			p->trial[k] = p->x[k] + p->step[k];
		next = cost_at(p, p->trial);
		*damping = fmax(*damping * (next < before ? 0.2 : 5), 1e-7);
	}
	if (!(next < before))
		return 0;
	memcpy(p->x, p->trial, p->at.n * sizeof(*p->x));
	return 1 - next / before;
}

/*
 * A step with co-runners' loads fixed, and loads of the new constants, in turn, until both together
 * gain nothing. Leaves the best constants, and their normal equations with derivatives of the last
 * step, which was small.
 */
static void descend(struct problem *p)
{
	size_t bytes = p->at.n * sizeof(*p->x);
	double damping = FIRST_DAMPING, lowest = INFINITY;
	int vain = 0;

	for (int round = 0; round < MAX_ROUNDS && vain < PATIENCE; round++) {
		double cost;

		update_loads(p);
		differentiate(p);
		cost = cost_of(p, p->x);
		vain = cost > lowest * (1 - ENOUGH) ? vain + 1 : 0;
		if (cost < lowest) {
			lowest = cost;
			memcpy(p->best, p->x, bytes);
		}
		add_rows(p);
		if (step_down(p, &damping) <= 0)
			break;
	}
	memcpy(p->x, p->best, bytes);
	update_loads(p);
	evaluate_rows(p);
	add_rows(p);
}

static void problem_finish(struct problem *p)
{
	constants_finish(&p->aside);
	free(p->rows);
	free(p->x);
	free(p->best);
	free(p->trial);
	free(p->step);
	free(p->a);
	free(p->factor);
	free(p->g);
}

static struct row row_of(const struct constants_table *t, const struct observation *o, size_t at)
{
	bool tells = !o->n_named && baseline_reads_power(&o->query);
	struct row row = {
		.o = *o,
		.at = at,
		.type = constants_type(t, o->query.task->gpu_type),
		.workload = constants_workload(t, o->query.task->workload),
		.has = { o->iteration_us > 0, true, tells },
		.measured = { log(fmax(o->iteration_us, 1e-3)), log(o->power_w), 0 },
	};

	if (tells)
		row.measured[OUTPUTS - 1] = log(o->query.co_runners->power_mw * 1e-3);
	return row;
}

/* The power reading before the task: the result of the last co-runner joining the others. */
static struct row row_before(const struct constants_table *t, const struct observation *o,
			     size_t at)
{
	const struct named_co_runner *last = observation_last_named(o);
	struct observation before = {
		.query = { .gpu = o->query.gpu, .task = &last->solo },
		.setting = { last->sm_pct, o->setting.clock_mhz },
		.power_w = o->co_runners.power_mw * 1e-3,
		.weight = o->weight,
		.named = o->named,
		.n_named = o->n_named - 1,
	};
	struct row row;

	before.co_runners.power_mw = o->query.gpu->idle_power_mw;
	observation_relink(&before);
	row = row_of(t, &before, at);
	row.before = true;
	return row;
}

static int problem_init(struct problem *p, const struct observation *v, size_t n, uint32_t threads,
			struct constants_table *t)
{
	size_t every = (n + MAX_ROWS - 1) / MAX_ROWS, k;

	*p = (struct problem){ .at = layout_of(t->n_types - 1, t->n_workloads - 1), .t = t };
	p->threads = threads ? threads : (uint32_t)omp_get_max_threads();
	k = p->at.n;
	p->rows = malloc(2 * (n / every + 1) * sizeof(*p->rows));
	p->x = calloc(k, sizeof(*p->x));
	p->best = calloc(k, sizeof(*p->best));
	p->trial = calloc(k, sizeof(*p->trial));
	p->step = calloc(k, sizeof(*p->step));
	p->a = calloc(k * k, sizeof(*p->a));
	p->factor = calloc(k * k, sizeof(*p->factor));
	p->g = calloc(k, sizeof(*p->g));
	if (constants_copy(t, &p->aside) || !p->rows || !p->x || !p->best || !p->trial ||
	    !p->step || !p->a || !p->factor || !p->g)
		return -ENOMEM;
	for (size_t i = 0; i < n; i += every) {
		p->rows[p->n++] = row_of(t, &v[i], i);
		if (observation_last_named(&v[i]))
			p->rows[p->n++] = row_before(t, &v[i], i);
	}
	for (size_t i = 0; i < p->n; i++)
		observation_relink(&p->rows[i].o);
	for (size_t i = 0; i < k; i++) {
		double spread;

		p->x[i] = prior_of(&p->at, i, &spread);
	}
	return 0;
}

struct calibration {
	struct problem p; /* normal equations and rows as at the end */
	struct constants_table t;
};

int calibration_new(const struct observation *v, size_t n, uint32_t threads,
		    struct calibration **out)
{
	struct calibration *c = calloc(1, sizeof(*c));
	int rc = c ? observations_constants(v, n, &c->t) : -ENOMEM;

	if (!rc)
		rc = problem_init(&c->p, v, n, threads, &c->t);
	if (!rc) {
		descend(&c->p);
		*out = c;
	} else {
		calibration_free(c);
	}
	return rc;
}

void calibration_free(struct calibration *c)
{
	if (!c)
		return;
	problem_finish(&c->p);
	constants_finish(&c->t);
	free(c);
}

int calibration_constants(const struct calibration *c, struct constants_table *out)
{
	return constants_copy(&c->t, out);
}

int calibration_without(const struct calibration *c, const bool *without,
			struct constants_table *out)
{
	size_t n = c->p.at.n;
	struct problem own = c->p;
	struct constants_table t;
	int rc = constants_copy(&c->t, &t);

	if (rc)
		return rc;
	own.t = &t;
	own.trial = calloc(n, sizeof(*own.trial));
	own.step = calloc(n, sizeof(*own.step));
	own.g = calloc(n, sizeof(*own.g));
	own.a = calloc(n * n, sizeof(*own.a));
	own.factor = calloc(n * n, sizeof(*own.factor));
	rc = own.trial && own.step && own.g && own.a && own.factor ? 0 : -ENOMEM;
	if (!rc) {
		memcpy(own.g, c->p.g, n * sizeof(*own.g));
		memcpy(own.a, c->p.a, n * n * sizeof(*own.a));
		for (size_t i = 0; i < own.n; i++)
			for (int output = 0; output < OUTPUTS && without[own.rows[i].at]; output++)
				add_row(&own, &own.rows[i], output, -1);
		solve_step(&own, STEP_DAMPING);
		for (size_t i = 0; i < n; i++)
			own.trial[i] = own.x[i] + own.step[i];
		set_constants(&own, own.trial);
		*out = t;
	} else {
		constants_finish(&t);
	}
	free(own.trial);
	free(own.step);
	free(own.g);
	free(own.a);
	free(own.factor);
	return rc;
}
