/*
 * prepared.c - what a predictor predicts of one placement with co-runners, and what a placement
 * adds to the load of its co-runners; see predict/prepared.h.
 */
#include "predict/prepared.h"

#include <math.h>
#include <string.h>

#include "base/clamp.h"

#define GUESS_OFF 3.0 /* possible error factor of a constant that is guessed for a workload */

/* All but the load. */
static void prepare(const struct hes_predictor *p, const struct hes_gpu_type *g,
		    const struct hes_profile *task, const struct hes_setting *s,
		    struct hes_prepared *out)
{
	const struct constants k = constants_of(&p->constants, g->name, task->workload);
	const struct range_position place = range_position_of_job(&p->range, g, task);

	out->p = p;
	out->gpu = g;
	out->task = task;
	out->setting = *s;
	out->t = baseline_task(&k, g, task);
	out->b = baseline_setting(&out->t, s);
	out->place = range_position_of_setting(&place, g, s);
}

void hes_prepare(const struct hes_predictor *p, const struct hes_gpu_type *g,
		 const struct hes_profile *task, const struct hes_setting *s,
		 struct hes_prepared *out)
{
	prepare(p, g, task, s, out);
	out->load = (struct hes_load){ 0 };
	baseline_join(&out->t, &out->b, s, &out->load);
	out->load.unseen_distance = range_unseen_distance(&p->range, g, task);
}

static uint32_t to_mw(double watts)
{
	return (uint32_t)lround(lesser(watts, PREDICTOR_MAX_W) * 1e3);
}

static struct query query_of(const struct hes_prepared *r, const struct hes_load *co_runners)
{
	return (struct query){
		.gpu = r->gpu, .task = r->task, .setting = &r->setting, .co_runners = co_runners
	};
}

/* Time in us and power in W. */
static void predict_both(const struct hes_prepared *r, const struct hes_load *co_runners,
			 double out[PREDICTOR_OUTPUTS])
{
	struct query q = query_of(r, co_runners);

	q.base = baseline_with(&r->t, &r->b, co_runners);
	predictor_predict(r->p, &q, out);
}

void hes_prepared_predict(const struct hes_prepared *r, const struct hes_load *co_runners,
			  struct hes_quick_estimate *out)
{
	double predicted[PREDICTOR_OUTPUTS];

	predict_both(r, co_runners, predicted);
	*out = (struct hes_quick_estimate){
		predicted[PREDICTOR_TIME], to_mw(predicted[PREDICTOR_POWER]),
		range_distance_with(&r->place, &r->setting, co_runners).outside
	};
}

/* The baseline when one of the workload's guessed constants is @times as large. */
static void baseline_with_guess(const struct constants *k, const struct query *q, size_t constant,
				double times, double out[2])
{
	double workload[WORKLOAD_CONSTANTS];
	const struct constants guessed = { k->shared, k->type, workload, k->host };
	const struct prior *b = &workload_priors[constant];
	struct baseline base;

	memcpy(workload, k->workload, sizeof(workload));
	workload[constant] = clamp(workload[constant] * times, b->min, b->max);
	base = baseline_of(&guessed, q);
	out[PREDICTOR_TIME] = log(base.slowdown);
	out[PREDICTOR_POWER] = log(base.power_w);
}

/* Add the effect of guessed constants for a workload that was never sampled. */
static void add_guesses(const struct constants *k, const struct query *q, struct range_distance *d)
{
	for (size_t i = 0; i < WORKLOAD_CONSTANTS; i++) {
		double more[PREDICTOR_OUTPUTS], less[PREDICTOR_OUTPUTS];

		baseline_with_guess(k, q, i, GUESS_OFF, more);
		baseline_with_guess(k, q, i, 1 / GUESS_OFF, less);
		for (int o = 0; o < PREDICTOR_OUTPUTS; o++)
			d->guess[o] += (more[o] - less[o]) * (more[o] - less[o]) / 4;
	}
	for (int o = 0; o < PREDICTOR_OUTPUTS; o++)
		d->guess[o] = sqrt(d->guess[o]);
}

struct range_distance predictor_distance(const struct hes_predictor *p, const struct query *q)
{
	struct range_distance d = range_distance_of(&p->range, q);

	if (d.outside & HES_OUTSIDE_WORKLOAD) {
		const struct constants k =
			constants_of(&p->constants, q->gpu->name, q->task->workload);

		add_guesses(&k, q, &d);
	}
	return d;
}

static struct interval_bound bound_of(const struct hes_prepared *r,
				      const struct hes_load *co_runners, uint32_t *outside)
{
	struct range_distance d = range_distance_with(&r->place, &r->setting, co_runners);

	if (d.outside & HES_OUTSIDE_WORKLOAD) {
		const struct query q = query_of(r, co_runners);

		add_guesses(&r->t.k, &q, &d);
	}
	d.time_se = r->task->time_se;
	*outside = d.outside;
	return interval_bound(&r->p->interval, &d, co_runners->jobs);
}

double hes_prepared_widening(const struct hes_prepared *r, const struct hes_load *co_runners)
{
	uint32_t outside;

	return bound_of(r, co_runners, &outside).widening;
}

void hes_predict(const struct hes_predictor *p, const struct hes_gpu_type *g,
		 const struct hes_profile *task, const struct hes_setting *s,
		 const struct hes_load *co_runners, struct hes_estimate *out)
{
	double predicted[PREDICTOR_OUTPUTS], time_us, watts;
	struct hes_prepared placement;
	struct interval_bound bound;
	uint32_t outside;

	prepare(p, g, task, s, &placement);
	predict_both(&placement, co_runners, predicted);
	bound = bound_of(&placement, co_runners, &outside);
	time_us = predicted[PREDICTOR_TIME];
	watts = predicted[PREDICTOR_POWER];
	*out = (struct hes_estimate){
		.iteration_us = time_us,
		.power_mw = to_mw(watts),
		.outside = outside,
		.iteration_low_us = time_us / bound.factor[PREDICTOR_TIME],
		.iteration_high_us = time_us * bound.factor[PREDICTOR_TIME],
		.power_low_mw = to_mw(watts / bound.factor[PREDICTOR_POWER]),
		.power_high_mw = to_mw(watts * bound.factor[PREDICTOR_POWER]),
		.widening = bound.widening,
	};
}

void hes_predict_load_add(const struct hes_predictor *p, const struct hes_gpu_type *g,
			  const struct hes_profile *solo, const struct hes_setting *s,
			  struct hes_load *load)
{
	const struct constants k = constants_of(&p->constants, g->name, solo->workload);
	const struct base_task t = baseline_task(&k, g, solo);
	const struct base_setting b = baseline_setting(&t, s);

	baseline_join(&t, &b, s, load);
	load->unseen_distance += range_unseen_distance(&p->range, g, solo);
}
