/*
 * interval.c - interval widths from errors of samples that were left out; see interval.h.
 * docs/predictor.md names the sources.
 */
#include "predict/interval.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define PRIOR                                                                                    \
	20.0 /* errors of all samples that each number of co-runners gets in addition to its own \
	      */
#define PRIOR_SCORES 5.0  /* all errors on modelled samples together, where some are measured */
#define LEAST        1e-4 /* half-width */
#define LEAST_BEYOND                                                                            \
	0.01 /* per unit of distance: never 0, because unseen cases are less certain even if no \
		error shows it */
#define MOST       4.6        /* ... a factor of 100 either way, when nothing is known */
#define ALL        UINT32_MAX /* groups */
#define MAX_TYPES  4
#define MIN_SCORES 10 /* scores of a kind; with fewer, the prior is used */
/* Half-widths per unit of distance outside of the training range: what modelled samples show, and
 * more. Those of workloads and GPU types are learnt where samples are many. */
#define OF_SETTING   0.1
#define OF_CROWD     0.1
#define OF_PAIR      0.1 /* whatever the distance */
#define OF_CO_RUNNER 0.03
#define PRIOR_TASK   1.0
#define PRIOR_TYPE   0.1
/* Offsets that make small distances count, in the unit of each. */
#define NEAR_SETTING 0.25
#define NEAR_TASK    0.05
#define FAR_TASK     0.01 /* for each standard deviation to the tasks nearest to it */
#define NEAR_TYPE    5    /* a type that is near differs, too */
#define NEAR_STRANGE 0.25

enum kind { WITHIN, TASK, TYPE, OTHER };

static enum kind kind_of(const struct range_distance *d)
{
	if (d->outside == 0)
		return WITHIN;
	if (d->outside == HES_OUTSIDE_TYPE)
		return TYPE;
	return d->outside == HES_OUTSIDE_WORKLOAD ? TASK : OTHER;
}

static size_t crowd_of(uint32_t co_runners)
{
	return co_runners < INTERVAL_CROWDS ? co_runners : INTERVAL_CROWDS - 1;
}

/* An error and what it counts. */
struct error {
	double off, weight;
};

static int rising(const void *a, const void *b)
{
	double x = ((const struct error *)a)->off, y = ((const struct error *)b)->off;

	return (x > y) - (x < y);
}

/* The value that a further error stays below with probability @coverage (split conformal
 * prediction), weighted. @param n  1 and more */
static double quantile(struct error *v, size_t n, double coverage)
{
	double all = 1, below = 0;
	size_t i = 0;

	for (size_t k = 0; k < n; k++)
		all += v[k].weight;
	qsort(v, n, sizeof(*v), rising);
	while (i + 1 < n && (below += v[i].weight) < coverage * all)
		i++;
	return v[i].off;
}

/* What an error on a modelled sample counts among those of a kind. */
static double modelled_weight(const struct interval_score *v, size_t n, enum kind kind)
{
	double modelled = 0, measured = 0;

	for (size_t i = 0; i < n; i++)
		if (kind_of(&v[i].distance) == kind)
			*(v[i].modelled ? &modelled : &measured) += 1;
	return measured > 0 && modelled > PRIOR_SCORES ? PRIOR_SCORES / modelled : 1;
}

static double weight_of(const struct interval_score *s, double modelled)
{
	return s->modelled ? modelled : s->weight;
}

/* Mean errors by number of co-runners; widths are proportional to them. */
static void find_levels(const struct interval_score *v, size_t n, int output, double modelled,
			double level[INTERVAL_CROWDS])
{
	double sum[INTERVAL_CROWDS] = { 0 }, count[INTERVAL_CROWDS] = { 0 }, all = 0, of = 0;

	for (size_t i = 0; i < n; i++)
		if (kind_of(&v[i].distance) == WITHIN) {
			double weight = weight_of(&v[i], modelled);

			sum[crowd_of(v[i].co_runners)] += weight * fabs(v[i].off[output]);
			count[crowd_of(v[i].co_runners)] += weight;
			all += weight * fabs(v[i].off[output]);
			of += weight;
		}
	for (size_t k = 0; k < INTERVAL_CROWDS; k++)
		level[k] = fmax((sum[k] + PRIOR * (of > 0 ? all / of : 0)) / (count[k] + PRIOR),
				LEAST);
}

static void learn_within(const struct interval_score *v, size_t n, int output, double coverage,
			 struct error *room, struct interval_width *out)
{
	double level[INTERVAL_CROWDS], q, modelled = modelled_weight(v, n, WITHIN);
	size_t many = 0;

	find_levels(v, n, output, modelled, level);
	for (size_t i = 0; i < n; i++)
		if (kind_of(&v[i].distance) == WITHIN)
			room[many++] = (struct error){ fabs(v[i].off[output]) /
							       level[crowd_of(v[i].co_runners)],
						       weight_of(&v[i], modelled) };
	q = many ? quantile(room, many, coverage) : INFINITY;
	for (size_t k = 0; k < INTERVAL_CROWDS; k++)
		out->within[k] = fmin(fmax(q * level[k], LEAST), MOST);
}

/* Distances to an unseen task and type, plus their offsets; 0: it was sampled. */
static double task_reach(const struct range_distance *d, int output)
{
	return d->outside & HES_OUTSIDE_WORKLOAD ? d->guess[output] + NEAR_TASK + FAR_TASK * d->task
						 : 0;
}

static double type_reach(const struct range_distance *d)
{
	return d->outside & HES_OUTSIDE_TYPE ? d->type + NEAR_TYPE : 0;
}

/* The extra error per unit of distance, of a kind outside of the training range and a group, or all
 * groups; 0: too few samples. */
static double extra_error(const struct interval_score *v, size_t n, int output, double coverage,
			  struct error *room, const struct interval_width *w, enum kind kind,
			  uint32_t group)
{
	double modelled = modelled_weight(v, n, kind);
	size_t many = 0;

	for (size_t i = 0; i < n; i++) {
		double within = w->within[crowd_of(v[i].co_runners)], off = v[i].off[output];

		if (kind_of(&v[i].distance) == kind && (group == ALL || v[i].group == group))
			room[many++] = (struct error){
				sqrt(fmax(off * off - within * within, 0)) /
					(kind == TASK ? task_reach(&v[i].distance, output)
						      : type_reach(&v[i].distance)),
				weight_of(&v[i], modelled)
			};
	}
	return many < MIN_SCORES ? 0 : fmax(quantile(room, many, coverage), LEAST_BEYOND);
}

/* There are few types, each unlike the others in its own way: the one that is held worst counts,
 * and the next one may be further off, as by the mean of so few. */
static double learn_outside(const struct interval_score *v, size_t n, int output, double coverage,
			    struct error *room, const struct interval_width *w, enum kind kind,
			    double believed)
{
	double most = extra_error(v, n, output, coverage, room, w, kind, ALL), types = 0;

	for (uint32_t group = 0; kind == TYPE && group < MAX_TYPES; group++) {
		const double own = extra_error(v, n, output, coverage, room, w, kind, group);

		most = fmax(most, own);
		types += own > 0;
	}
	if (types > 0)
		most *= sqrt(1 + 1 / types);
	return most > 0 ? fmin(most, MOST) : believed;
}

static void settle(struct interval *i)
{
	for (int o = 0; o < INTERVAL_OUTPUTS; o++)
		for (size_t k = 0; k < INTERVAL_CROWDS; k++)
			i->of[o].factor[k] = exp(i->of[o].within[k]);
}

int interval_learn(const struct interval_score *v, size_t n, double coverage, struct interval *out)
{
	struct interval made = { .coverage = coverage };
	struct error *room = calloc(n + 1, sizeof(*room));

	if (!room)
		return -ENOMEM;
	for (int o = 0; o < INTERVAL_OUTPUTS; o++) {
		struct interval_width *w = &made.of[o];

		learn_within(v, n, o, coverage, room, w);
		w->task = learn_outside(v, n, o, coverage, room, w, TASK, PRIOR_TASK);
		w->type = learn_outside(v, n, o, coverage, room, w, TYPE, PRIOR_TYPE);
	}
	settle(&made);
	free(room);
	*out = made;
	return 0;
}

/* How many standard errors hold a measurement with probability @coverage (Tukey, 1960: a close
 * form of the normal quantile). */
static double errors_that_hold(double coverage)
{
	double p = (1 + coverage) / 2;

	return (pow(p, 0.135) - pow(1 - p, 0.135)) / 0.1975;
}

/* A distance plus @near, which makes a small one count, times a half-width; squared. */
static double square_of(double half, double distance, double near)
{
	return distance > 0 ? half * half * (distance + near) * (distance + near) : 0;
}

struct interval_bound interval_bound(const struct interval *i, const struct range_distance *d,
				     uint32_t co_runners)
{
	size_t crowd = crowd_of(co_runners);
	struct interval_bound b = { { i->of[0].factor[crowd], i->of[1].factor[crowd] }, 1 };
	const double by_time = errors_that_hold(i->coverage) * d->time_se,
		     fixed = square_of(OF_SETTING, d->setting, NEAR_SETTING) +
			     square_of(OF_CROWD, d->crowd, NEAR_SETTING) +
			     square_of(OF_CO_RUNNER, d->co_runner, NEAR_STRANGE) +
			     (d->outside & HES_OUTSIDE_PAIR ? OF_PAIR * OF_PAIR : 0);

	for (int o = 0; o < INTERVAL_OUTPUTS && (d->outside || d->time_se > 0); o++) {
		const struct interval_width *w = &i->of[o];
		const double within = w->within[crowd], task = w->task * task_reach(d, o),
			     type = w->type * type_reach(d);
		double half =
			fmin(sqrt(within * within + fixed + task * task + type * type), 2 * MOST);

		b.widening = fmax(b.widening, half / within);
		if (o == 0 && by_time > 0)
			half = sqrt(half * half + by_time * by_time);
		b.factor[o] = exp(half);
	}
	return b;
}

void interval_io(struct model_io *io, struct interval *i)
{
	model_io_part(io, "an interval");
	model_io_f64(io, &i->coverage, 0.01, 0.9999);
	for (int o = 0; o < INTERVAL_OUTPUTS; o++) {
		struct interval_width *w = &i->of[o];
		for (size_t k = 0; k < INTERVAL_CROWDS; k++)
			model_io_f64(io, &w->within[k], LEAST, MOST);
		model_io_f64(io, &w->task, 0, MOST);
		model_io_f64(io, &w->type, 0, MOST);
	}
	settle(i);
}
