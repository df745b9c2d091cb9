/*
 * gauge.c - joules from counter and power; see gauge.h.
 *
 * The counter moves in steps of the sensor's refresh. Joules at a moment are those at its last step
 * plus the integral of power since. If the next step shows that this was too much, they stand still
 * until the counter has caught up. If the step is not possible, or came too late, they are kept:
 * then the integral has given them.
 */
#include "measure/gauge.h"

#include <math.h>

#define STILL      10  /* refreshes without a step: the counter stands still */
#define LIKELY_S   0.1 /* a refresh, as long as two steps were not seen */
#define SLOWEST_S  1.0
#define LATE_STEPS 2 /* so many refreshes more than the time between two steps may be in them */
#define ROUNDING   1e-6

void hes_gauge_begin(struct hes_gauge *g, double most_w)
{
	*g = (struct hes_gauge){ .most_w = most_w, .refresh_s = 0 };
}

static double gauge_refresh_s(const struct hes_gauge *g)
{
	return g->refresh_s > 0 ? g->refresh_s : LIKELY_S;
}

static bool gauge_still(const struct hes_gauge *g)
{
	return g->looked_s - g->since_s > STILL * gauge_refresh_s(g);
}

static void gauge_leave_out(struct hes_gauge *g, enum hes_left_out what)
{
	g->left_out[__builtin_ctz(what)]++;
}

static void gauge_power(struct hes_gauge *g, const struct hes_reading *r, double time_s)
{
	const bool has = r->has & HES_HAS_POWER;
	const double w = r->power_mw * 1e-3, dt = time_s - g->time_s;

	if (g->begun && has && g->has_power) {
		g->integral_j += (g->power_w + w) / 2 * dt;
		g->power_s += dt;
	}
	g->time_s = time_s;
	g->has_power = has;
	g->power_w = w;
	g->begun = true;
}

/* Whether the counter gives the joules from its last step to a step at @since_s. */
static bool gauge_step_is_possible(struct hes_gauge *g, uint64_t mj, double since_s)
{
	const double most_s = since_s - g->since_s + LATE_STEPS * gauge_refresh_s(g);

	if (!g->known || gauge_still(g))
		return false;
	if (mj < g->mj) {
		gauge_leave_out(g, HES_LEFT_OUT_BACK);
		return false;
	}
	if ((double)(mj - g->mj) * 1e-3 > g->most_w * most_s) {
		gauge_leave_out(g, HES_LEFT_OUT_JUMP);
		return false;
	}
	return true;
}

static void gauge_step(struct hes_gauge *g, uint64_t mj, double time_s)
{
	const double refresh_s = gauge_refresh_s(g),
		     refresh_most_s = g->refresh_s > 0 ? g->refresh_s : SLOWEST_S;
	const double since_s =
		g->known ? fmax((g->looked_s + time_s) / 2, time_s - refresh_s / 2) : time_s;
	/* The integral reaches to now, the step is earlier. */
	const double later_s = g->has_power ? fmin(time_s - since_s, g->power_s) : 0;
	const double integral_j = g->integral_j - g->power_w * later_s,
		     power_s = g->power_s - later_s;

	if (gauge_step_is_possible(g, mj, since_s)) {
		const double s = since_s - g->since_s;

		g->step.energy_j += (double)(mj - g->mj) * 1e-3;
		g->step.counter_s += s;
		g->step.known_s += s;
	} else {
		g->step.energy_j += integral_j - g->step.integral_j;
		g->step.known_s += power_s - g->step.power_s;
	}
	if (g->known && time_s - g->before_s < refresh_most_s)
		g->refresh_s = time_s - g->before_s;
	g->before_s = g->looked_s;
	g->step.integral_j = integral_j;
	g->step.power_s = power_s;
	g->since_s = since_s;
	g->mj = mj;
	g->known = true;
}

void hes_gauge_read(struct hes_gauge *g, const struct hes_reading *r, struct hes_gauge_sample *s)
{
	static const struct {
		unsigned has;
		enum hes_left_out what;
	} readings[] = { { HES_HAS_POWER, HES_LEFT_OUT_POWER },
			 { HES_HAS_ENERGY, HES_LEFT_OUT_ENERGY },
			 { HES_HAS_CLOCK, HES_LEFT_OUT_CLOCK } };
	double stretch_s, filled_s;

	if (!g->begun)
		g->since_s = g->looked_s = s->time_s;
	gauge_power(g, r, s->time_s);
	if (r->has & HES_HAS_ENERGY) {
		if (!g->known || r->energy_mj != g->mj)
			gauge_step(g, r->energy_mj, s->time_s);
		g->looked_s = s->time_s;
		if (gauge_still(g))
			gauge_leave_out(g, HES_LEFT_OUT_STILL);
	}
	for (size_t i = 0; i < sizeof(readings) / sizeof(readings[0]); i++)
		if (r->impossible & readings[i].has)
			gauge_leave_out(g, readings[i].what);
	s->has = r->has;
	s->power_w = r->power_mw * 1e-3;
	s->clock_mhz = r->clock_mhz;
	s->capped = r->power_capped || r->heat_capped;
	s->counted = g->known && r->has & HES_HAS_ENERGY && !gauge_still(g);
	stretch_s = s->time_s - g->since_s;
	filled_s = g->power_s - g->step.power_s;
	g->reported_j = fmax(g->reported_j, g->step.energy_j + g->integral_j - g->step.integral_j);
	s->energy_j = g->reported_j;
	s->counter_s = g->step.counter_s + (s->counted ? stretch_s : 0);
	s->known_s = g->step.known_s + (s->counted ? stretch_s : filled_s);
	for (size_t i = 0; i < HES_LEFT_OUTS; i++)
		s->left_out[i] = g->left_out[i];
}

void hes_gauge_between(const struct hes_gauge_sample *first, const struct hes_gauge_sample *last,
		       struct hes_measured *out)
{
	const double counter_s = last->counter_s - first->counter_s;

	for (size_t i = 0; i < HES_LEFT_OUTS; i++)
		out->left_out |= last->left_out[i] > first->left_out[i] ? 1u << i : 0;
	out->known_s = fmin(fmax(last->known_s - first->known_s, 0), out->seconds);
	out->energy_j = last->energy_j - first->energy_j;
	if (last->counted && counter_s >= out->seconds * (1 - ROUNDING) - ROUNDING)
		out->from = HES_ENERGY_COUNTER;
	else if (out->known_s > 0)
		out->from = HES_ENERGY_INTEGRAL;
	out->mean_w = out->known_s > 0 ? out->energy_j / out->known_s : last->power_w;
}

const char *hes_left_out_text(size_t i)
{
	static const char *const texts[HES_LEFT_OUTS] = {
		"the energy counter while it stood still",
		"the energy counter where it went back",
		"the energy counter where it rose faster than the GPU can draw power",
		"power readings above what the GPU can draw",
		"energy counter readings that are not possible",
		"clock readings that are not possible",
	};

	return texts[i];
}
