/*
 * baseline_power.c - the parts of a GPU's power, and the clock that keeps it within its limit; see
 * baseline_parts.h.
 */
#include "base/bracket.h"
#include "predict/baseline/baseline_parts.h"

#define LIMIT_ROUNDS 12    /* to find the clock that keeps the power limit */
#define LIMIT_FIT    1e-5  /* of the limit */
#define MIN_DYNAMIC  0.01  /* of the power limit */
#define NEAR_LIMIT   0.95  /* of the limit: from here on the limiter holds the GPU, ... */
#define NEAR_WIDTH   0.015 /* ... with a soft edge */
#define HARDLY_HELD  1e-6  /* smaller effects of the edge are ignored */
#define DRAM_BUSY    0.85  /* unit of a co-runner's dram_busy, of the data sheet's bandwidth */

bool baseline_reads_power(const struct query *q)
{
	const struct hes_load *o = q->co_runners;

	return o->jobs && o->pace > 0 && !o->predicted_mw && o->power_mw &&
	       o->power_mw < NEAR_LIMIT * hes_gpu_type_default_limit_mw(q->gpu);
}

/* Voltage at a part of the full clock, of that there: flat to a knee, then rising. */
static double voltage(const double *type, double clock)
{
	double above = (clock - type[KNEE]) / (1 - type[KNEE]);

	return type[VOLTAGE_FLOOR] +
	       (above > 0 ? (1 - type[VOLTAGE_FLOOR]) * pow(above, type[VOLTAGE_BEND]) : 0);
}

double baseline_switching(const struct base_task *t, double mhz)
{
	double clock = mhz / t->gpu->clock_max_mhz, volt = voltage(t->k.type, clock);

	return clock * volt * volt;
}

double baseline_own(const struct base_task *t)
{
	const struct hes_gpu_type *g = t->gpu;
	const double *type = t->k.type;
	double limit = hes_gpu_type_default_limit_mw(g) * 1e-3,
	       solo = baseline_switching(t, t->solo_mhz);
	double dynamic = t->task->power_mw * 1e-3 - g->idle_power_mw * 1e-3 -
			 type[CONTEXT] * limit * solo -
			 type[DRAM_POWER] * limit * t->task->dram_util;

	return greater(dynamic, MIN_DYNAMIC * limit) / solo /
	       (t->computing + type[STALL] * (t->memory_part * t->width));
}

/* The co-runners' dynamic power by their profiles, with V^2 scaled from their solo clocks to the
 * requested one. */
static double others_profiled(const struct state *s, const struct watts *w)
{
	const struct hes_load *o = s->co_runners;
	const struct crowd *c = &s->crowd;
	const double *k = s->t->k.shared;
	double requested = s->b->clock_mhz,
	       solo = o->solo_clock_mhz > 0 ? o->solo_clock_mhz : requested;
	double at_solo = baseline_switching(s->t, solo), dram = w->dram * DRAM_BUSY * o->dram_busy;
	double slow = 1 - c->busy + w->others_longer * c->busy;
	double moving = o->solo_power_mw * 1e-3 - w->context * at_solo * o->pace - dram;

	slow += k[COPY_CROWD] * o->serial / c->n * c->busy_sum * (c->n - 1) / c->n; /* copies */
	slow *= 1 + s->t->k.type[DRAM_CROWD] * k[CO_RUNNER_DRAM] * c->dram * (c->n - 1) / c->n;
	return (s->t->k.type[POWER_SCALE] * greater(moving, 0) * s->b->switching / requested *
			solo / at_solo +
		dram) /
	       greater(slow, 0.5);
}

/*
 * A weighted mean of the power reading and of the co-runners' profiles, since both have errors. A
 * reading at the limit says nothing about the power that they would draw.
 */
static void find_others(const struct state *s, struct watts *w)
{
	const struct hes_load *o = s->co_runners;
	const double *k = s->t->k.shared;
	double before = o->power_mw * 1e-3, awake = w->context * s->b->switching,
	       room = w->limit - w->idle - awake;
	double held, estimate = 0, trust = 0, others = (s->crowd.n - 1) / s->crowd.n;
	bool several = s->crowd.n > 1;

	w->others_longer = crowd_longer(s, s->crowd.sm_busy * others, 1) *
			   (1 + crowd_wait_with(s, s->crowd.wide * others, 0, 0));
	w->others = greater(before - w->idle - awake, 0);
	w->others_dram =
		w->dram * s->t->k.type[REACH] * (o->pace > 0 ? o->dram_busy : o->dram_util);
	held = 1 / (1 + exp(clamp((NEAR_LIMIT - before / w->limit) / NEAR_WIDTH, -50, 50)));
	if (o->pace > 0 && (!o->predicted_mw || held > HARDLY_HELD)) {
		estimate = others_profiled(s, w);
		w->profiled = w->idle + awake + estimate;
		w->others += held * greater(k[HELD_SCALE] * estimate - w->others, 0);
		trust = k[several ? CROWD_TRUST : POWER_TRUST];
	}
	if (o->predicted_mw) {
		estimate = o->predicted_mw * 1e-3 - w->idle - awake;
		trust = k[several ? CHAIN_TRUST : NAMED_TRUST];
	}
	if (trust > 0)
		w->others +=
			(1 - held) * trust * (clamp(estimate, 0, greater(room, 0)) - w->others);
	w->others_dram = clamp(w->others_dram / greater(w->others, 1e-3), 0, 0.8) * w->others;
}

/* An iteration of a mean co-runner without the task. */
static double crowd_alone(const struct state *s)
{
	const struct crowd *c = &s->crowd;
	double others = (c->n - 1) / c->n, rest = c->sm_busy * others,
	       crowd = s->t->k.shared[CO_RUNNER_CROWD];

	return crowd_paced(s, crowd_longer(s, rest, crowd), 1,
			   crowd_wait_with(s, c->wide * others, 0, 0)) +
	       crowd_serial(s, c->busy_sum * others, c->serving * others);
}

struct watts baseline_watts(const struct state *s)
{
	const struct hes_gpu_type *g = s->t->gpu;
	double limit = hes_gpu_type_default_limit_mw(g) * 1e-3;
	struct watts w = {
		.limit = limit,
		.idle = g->idle_power_mw * 1e-3,
		.context = s->t->k.type[CONTEXT] * limit,
		.dram = s->t->k.type[DRAM_POWER] * limit,
	};

	if (s->crowd.n > 0) {
		find_others(s, &w);
		w.alone = crowd_alone(s);
	}
	return w;
}

/* An iteration of a mean co-runner with the task / without it. */
static double crowd_slowdown(const struct state *s, const struct watts *w,
			     const struct iteration *it, double mhz)
{
	const struct crowd *c = &s->crowd;
	const double *k = s->t->k.shared;
	double task = it->compute_us / it->us * s->b->sms;
	double draws = s->t->memory_part * s->t->solo_us * s->traffic / it->us;
	double others = (c->n - 1) / c->n, rest = c->sm_busy * others;
	double queue = c->misses * (1 + s->t->k.type[DRAM_CROWD] * k[CO_RUNNER_DRAM] * draws);
	double with = crowd_paced(s,
				  crowd_longer(s, rest + task, k[CO_RUNNER_CROWD]) *
					  s->b->clock_mhz / mhz,
				  queue,
				  crowd_wait_with(s, c->wide * others,
						  it->gpu_us / it->us * s->b->sms, it->kernel_us)) +
		      crowd_serial(s, c->busy_sum * others + it->gpu_us / it->us,
				   c->serving * others + s->t->off_gpu);

	return greater(with / w->alone, 0.5);
}

struct moment baseline_moment(const struct state *s, const struct watts *w,
			      const struct iteration *it, double mhz, double g)
{
	const struct base_task *t = s->t;
	const struct crowd *c = &s->crowd;
	struct moment m = { .it = *it };
	double requested = s->b->clock_mhz, us = m.it.us, pause, window, moving,
	       computing = t->computing * t->solo_mhz / mhz;

	moving = t->own * g *
			 (computing * t->solo_us + t->k.type[STALL] * s->memory_us * s->b->sms) /
			 us +
		 w->dram * t->task->dram_util * s->traffic * t->solo_us / us;
	pause = clamp(1 - m.it.gpu_us / us, 0, 1);
	if (c->n > 0) {
		double slow = crowd_slowdown(s, w, &m.it, mhz);

		moving += ((w->others - w->others_dram) * g / s->b->switching * requested / mhz +
			   w->others_dram * c->misses) /
			  slow;
		for (int i = 0; i < (int)c->n; i++)
			pause *= 1 - lesser(c->busy, 0.98);
	}
	window = us / (us + t->k.type[LIMITER_S] * 1e6);
	m.power_w = w->idle + w->context * g + moving;
	m.limiter_w = m.power_w + moving * window * (1 / (1 - pause + 1e-6) - 1);
	return m;
}

static struct moment moment_at(const struct state *s, const struct watts *w, double mhz, double g)
{
	const struct iteration it = baseline_iteration(s, mhz);

	return baseline_moment(s, w, &it, mhz, g);
}

struct moment baseline_fit_clock(const struct state *s, const struct watts *w, struct moment top,
				 double high, double *mhz)
{
	struct hes_bracket b = { .low = s->t->gpu->clock_min_mhz,
				 .high = high,
				 .over = top.limiter_w - w->limit };
	struct moment m = moment_at(s, w, b.low, baseline_switching(s->t, b.low));
	double mid;

	*mhz = b.low;
	b.under = m.limiter_w - w->limit;
	if (b.under >= 0 || b.low >= high)
		return m;
	mid = clamp(0.95 * high * cbrt(w->limit / top.limiter_w), b.low, high);
	for (int round = 0; round < LIMIT_ROUNDS; round++) {
		double at;

		m = moment_at(s, w, mid, baseline_switching(s->t, mid));
		*mhz = mid;
		at = m.limiter_w - w->limit;
		if (fabs(at) < LIMIT_FIT * w->limit)
			break;
		hes_bracket_narrow(&b, mid, at);
		mid = hes_bracket_next(&b);
	}
	return m;
}

struct baseline baseline_powered(const struct state *s)
{
	double requested = s->b->clock_mhz, mhz = requested;
	struct watts w = baseline_watts(s);
	struct moment m = moment_at(s, &w, requested, s->b->switching);
	struct baseline b = {
		.demand_w = greater(m.power_w, 1e-3),
		.others_w = w.others,
		.predicted_w = greater(w.profiled, 1e-3),
		.off_gpu = s->t->off_gpu,
	};

	if (m.limiter_w > w.limit)
		m = baseline_fit_clock(s, &w, m, requested, &mhz);
	b.slowdown = greater(m.it.us / s->t->solo_us, BASELINE_MIN_SLOWDOWN);
	b.power_w = greater(m.power_w, 1e-3);
	b.clock = mhz / requested;
	b.crowded_sm = m.it.crowd_sms;
	return b;
}
