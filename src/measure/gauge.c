/*
 * gauge.c - joules from counter and power; see gauge.h.
 *
 * The counter moves in steps of the sensor's refresh. Joules at a moment are those at its last step
 * plus the integral of power since. If the next step shows that this was too much, they stand still
 * until the counter has caught up. If the step is not possible, or came too late, they are kept:
 * then the integral has given them.
 *
 * A step alone may be possible though the source has a wrong scale. Over LONG_S the mean power must
 * be possible, too: no GPU draws more than its limit for long.
 */
#include "measure/gauge.h"

#include <math.h>

#include "base/clock.h"

#define STILL      10  /* refreshes without a step: the counter stands still */
#define LIKELY_S   0.1 /* a refresh, as long as two steps were not seen */
#define SLOWEST_S  1.0
#define LATE_STEPS 2 /* so many refreshes more than the time between two steps may be in them */
#define LONG_S     2.0
#define LONG_STEPS 20           /* refreshes */
#define LONG_PART  (1.25 / 1.5) /* of the highest reading, which is 1.5 times the power limit */
#define PROMPT_S   0.002
#define ATTEMPTS   3
#define ROUNDING   1e-6
#define WHOLE      0.9 /* part of the time in which energy must be known */

void hes_gauge_begin(struct hes_gauge *g, double most_w, double least_w)
{
	*g = (struct hes_gauge){ .most_w = most_w, .least_w = least_w };
}

static double gauge_refresh_s(const struct hes_gauge *g)
{
	return g->refresh_s > 0 ? g->refresh_s : LIKELY_S;
}

static bool gauge_still(const struct hes_gauge *g)
{
	return g->looked_s - g->step.since_s > STILL * gauge_refresh_s(g);
}

/* Whether the GPU can have drawn @j in @s. @param what  written if not: why */
static bool gauge_mean_is_possible(const struct hes_gauge *g, double j, double s, double unsure_s,
				   enum hes_left_out *what)
{
	*what = j > LONG_PART * g->most_w * (s + unsure_s) ? HES_LEFT_OUT_JUMP : HES_LEFT_OUT_SLOW;
	return *what == HES_LEFT_OUT_SLOW && j >= g->least_w * (s - unsure_s);
}

/* The integral was not possible for a while: take it back, and leave power out. */
static void gauge_judge_power(struct hes_gauge *g)
{
	enum hes_left_out what;

	if (g->power_s - g->judged_power_s < LONG_S)
		return;
	if (!gauge_mean_is_possible(g, g->integral_j - g->judged_j, g->power_s - g->judged_power_s,
				    0, &what)) {
		g->power_sick = true;
		g->has_power = false;
		g->integral_j = g->judged_j;
		g->power_s = g->judged_power_s;
		g->step.integral_j = fmin(g->step.integral_j, g->integral_j);
		g->step.power_s = fmin(g->step.power_s, g->power_s);
		g->judged.integral_j = fmin(g->judged.integral_j, g->integral_j);
		g->judged.power_s = fmin(g->judged.power_s, g->power_s);
	}
	g->judged_j = g->integral_j;
	g->judged_power_s = g->power_s;
}

static void gauge_power(struct hes_gauge *g, const struct hes_reading *r, double time_s)
{
	const bool has = r->has & HES_HAS_POWER && !g->power_sick;
	const double w = r->power_mw * 1e-3, dt = time_s - g->time_s;

	if (g->begun && has && g->has_power) {
		g->integral_j += (g->power_w + w) / 2 * dt;
		g->power_s += dt;
	}
	g->time_s = time_s;
	g->has_power = has;
	g->power_w = w;
	g->begun = true;
	gauge_judge_power(g);
}

/* Whether the counter gives the joules from its last step to a step at @since_s. */
static bool gauge_step_is_possible(struct hes_gauge *g, uint64_t mj, double since_s)
{
	const double most_s =
		since_s - g->step.since_s + LATE_STEPS * gauge_refresh_s(g) + g->unsure_s;

	if (!g->known || gauge_still(g))
		return false;
	if (mj < g->step.mj) {
		g->left_out[HES_LEFT_OUT_BACK]++;
		return false;
	}
	if ((double)(mj - g->step.mj) * 1e-3 > g->most_w * most_s) {
		g->left_out[HES_LEFT_OUT_JUMP]++;
		return false;
	}
	return true;
}

/* The counter was not possible for a while: take the integral since, and leave the counter out. */
static void gauge_judge_counter(struct hes_gauge *g)
{
	const struct hes_gauge_step *from = &g->judged;
	const double s = g->step.since_s - from->since_s, refresh_s = gauge_refresh_s(g);
	enum hes_left_out what;

	if (s < fmax(LONG_S, LONG_STEPS * refresh_s))
		return;
	if (!gauge_mean_is_possible(g, (double)(g->step.mj - from->mj) * 1e-3, s,
				    LATE_STEPS * refresh_s + g->unsure_s, &what)) {
		g->counter_sick = true;
		g->left_out[what]++;
		g->step.energy_j = from->energy_j + g->step.integral_j - from->integral_j;
		g->step.counter_s = from->counter_s;
		g->step.known_s = from->known_s + g->step.power_s - from->power_s;
	}
	g->judged = g->step;
}

static void gauge_step(struct hes_gauge *g, uint64_t mj, double time_s)
{
	const double refresh_s = gauge_refresh_s(g),
		     refresh_most_s = g->refresh_s > 0 ? g->refresh_s : SLOWEST_S,
		     had_step_s = time_s - g->before_s + g->unsure_s;
	const double since_s =
		g->known ? fmax((g->looked_s + time_s) / 2, time_s - refresh_s / 2) : time_s;
	/* The integral reaches to now, the step is earlier. */
	const double later_s = g->has_power ? fmin(time_s - since_s, g->power_s) : 0;
	const double integral_j = g->integral_j - g->power_w * later_s,
		     power_s = g->power_s - later_s;
	const bool possible = gauge_step_is_possible(g, mj, since_s);

	if (possible) {
		const double s = since_s - g->step.since_s;

		g->step.energy_j += (double)(mj - g->step.mj) * 1e-3;
		g->step.counter_s += s;
		g->step.known_s += s;
	} else {
		g->step.energy_j += integral_j - g->step.integral_j;
		g->step.known_s += power_s - g->step.power_s;
	}
	if (g->known && had_step_s < refresh_most_s)
		g->refresh_s = had_step_s;
	g->before_s = g->looked_s;
	g->step.integral_j = integral_j;
	g->step.power_s = power_s;
	g->step.since_s = since_s;
	g->step.mj = mj;
	g->known = true;
	if (possible)
		gauge_judge_counter(g);
	else
		g->judged = g->step;
}

static void gauge_counter(struct hes_gauge *g, uint64_t mj, double time_s, double unsure_s)
{
	g->unsure_s = fmax(g->unsure_s, unsure_s);
	if (!g->known || mj != g->step.mj) {
		gauge_step(g, mj, time_s);
		g->unsure_s = unsure_s;
	}
	g->looked_s = time_s;
	if (gauge_still(g))
		g->left_out[HES_LEFT_OUT_STILL]++;
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
		g->step.since_s = g->looked_s = s->time_s;
	gauge_power(g, r, s->time_s);
	if (r->has & HES_HAS_ENERGY && !g->counter_sick)
		gauge_counter(g, r->energy_mj, s->time_s, s->unsure_s);
	for (size_t i = 0; i < sizeof(readings) / sizeof(readings[0]); i++)
		if (r->impossible & readings[i].has)
			g->left_out[readings[i].what]++;
	g->left_out[HES_LEFT_OUT_POWER] += g->power_sick && r->has & HES_HAS_POWER;
	s->has = g->power_sick ? r->has & ~(unsigned)HES_HAS_POWER : r->has;
	s->power_w = r->power_mw * 1e-3;
	s->clock_mhz = r->clock_mhz;
	s->capped = r->power_capped || r->heat_capped;
	s->counted = g->known && r->has & HES_HAS_ENERGY && !g->counter_sick && !gauge_still(g);
	stretch_s = s->time_s - g->step.since_s;
	filled_s = g->power_s - g->step.power_s;
	g->reported_j = fmax(g->reported_j, g->step.energy_j + g->integral_j - g->step.integral_j);
	s->energy_j = g->reported_j;
	s->counter_s = g->step.counter_s + (s->counted ? stretch_s : 0);
	s->known_s = g->step.known_s + (s->counted ? stretch_s : filled_s);
	s->counter_sick = g->counter_sick;
	s->integral_j = g->integral_j;
	s->power_s = g->power_s;
	for (size_t i = 0; i < HES_LEFT_OUTS; i++)
		s->left_out[i] = g->left_out[i];
}

bool hes_gauge_look(struct hes_gauge *g, const struct hes_devices *d, size_t gpu, unsigned want,
		    struct hes_gauge_sample *s)
{
	struct hes_reading r = { 0 }, read;
	double took_s = INFINITY;

	*s = (struct hes_gauge_sample){ 0 };
	/* A thread that lost the CPU during a reading has a wrong time: use the quickest of several
	 * readings. */
	for (int attempt = 0; attempt < ATTEMPTS && took_s > PROMPT_S; attempt++) {
		double before = hes_monotonic_s(), took;
		bool lost = hes_device_read(d, gpu, want, &read, NULL) != 0;

		took = hes_monotonic_s() - before;
		if (took >= took_s)
			continue;
		took_s = took;
		s->lost = lost;
		s->time_s = before + took / 2;
		s->unsure_s = took / 2;
		r = read;
	}
	if (s->lost)
		return false;
	hes_gauge_read(g, &r, s);
	return true;
}

void hes_gauge_between(const struct hes_gauge_sample *first, const struct hes_gauge_sample *last,
		       struct hes_measured *out)
{
	const double counter_s = last->counter_s - first->counter_s;
	const double power_s = last->power_s - first->power_s;

	for (size_t i = 0; i < HES_LEFT_OUTS; i++)
		out->left_out |= last->left_out[i] > first->left_out[i] ? 1u << i : 0;
	out->known_s = fmin(fmax(last->known_s - first->known_s, 0), out->seconds);
	out->energy_j = last->energy_j - first->energy_j;
	/* The first joules may be of the counter, before it was known to be sick. */
	if (last->counter_sick && power_s >= out->known_s * (1 - ROUNDING))
		out->energy_j = last->integral_j - first->integral_j;
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
		"the energy counter where it rose slower than an idle GPU draws power",
		"power readings that are not possible",
		"energy counter readings that are not possible",
		"clock readings that are not possible",
	};

	return texts[i];
}

/* --- between two results of a window --- */

/* The mean of what came after @from. Means times their seconds are sums. */
static struct hes_mean mean_after(struct hes_mean from, struct hes_mean to)
{
	const double seconds = to.seconds - from.seconds;

	return seconds > 0
		       ? (struct hes_mean){ (to.value * to.seconds - from.value * from.seconds) /
						    seconds,
					    seconds }
		       : (struct hes_mean){ 0 };
}

struct hes_measured hes_measured_between(const struct hes_measured *from,
					 const struct hes_measured *to)
{
	const struct hes_mean clock =
		mean_after((struct hes_mean){ from->clock_mhz, from->clock_s },
			   (struct hes_mean){ to->clock_mhz, to->clock_s });
	struct hes_measured o = {
		.seconds = to->seconds - from->seconds,
		.energy_j = to->energy_j - from->energy_j,
		.known_s = to->known_s - from->known_s,
		.clock_s = clock.seconds,
		.clock_mhz = clock.value,
		.reasons_s = to->reasons_s - from->reasons_s,
		.capped_s = to->capped_s - from->capped_s,
		.left_out = to->left_out,
		.lost = to->lost,
		.activity.from = to->activity.from,
	};

	if (o.seconds > 0 && o.known_s >= WHOLE * o.seconds) {
		o.from = to->from;
		o.mean_w = o.energy_j / o.known_s;
	}
	for (size_t i = 0; i < HES_ACTS; i++)
		o.activity.of[i] = mean_after(from->activity.of[i], to->activity.of[i]);
	return o;
}
