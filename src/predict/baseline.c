/*
 * baseline.c - a roofline of share, clock and utilisation; see baseline.h.
 *
 * Knows data sheets, solo profiles and the state of the GPU, as a planner
 * does. The constants are round numbers that hold for GPUs in general; what
 * they miss is for the forests to learn.
 */
#include "predict/baseline.h"

#include <math.h>

#define BANDWIDTH_REACHED   0.9  /* of the data sheet's */
#define SATURATING_SHARE    0.5  /* of the SMs, that can draw all of the bandwidth */
#define L2_INTERFERENCE     0.1  /* slowdown of computing beside fully busy neighbours */
#define DRAM_INTERFERENCE   0.1  /* slowdown of memory phases beside neighbours that fill the bandwidth */
#define HOST_INTERFERENCE   0.1  /* slowdown of host work for each neighbour */
#define ENERGY_EXPONENT     1.5  /* energy of an operation ~ clock^1.5 (voltage^2) */
#define LIMIT_ROUNDS        3    /* to find the clock that fits under the power limit */
#define MIN_BUSY            1e-3
#define MIN_SLOWDOWN        0.05
#define MIN_DYNAMIC         0.01 /* of the power limit */

static double clamp(double x, double low, double high)
{
	return fmin(fmax(x, low), high);
}

static double busy_of(const struct hes_profile *task)
{
	return clamp(fmax(task->busy, task->sm_util), MIN_BUSY, 1);
}

double baseline_width(const struct hes_profile *task)
{
	return task->sm_util / busy_of(task);
}

double baseline_clock_mhz(const struct query *q)
{
	return q->task->clock_mhz ? q->task->clock_mhz : q->gpu->clock_default_mhz;
}

/* How much longer a memory phase takes when only a share of the SMs draws. */
static double thirst(double share)
{
	return fmax(1, SATURATING_SHARE / share);
}

/*
 * An iteration alone is host work (1 - busy), memory phases and computing.
 * Its share narrows computing and drawing, neighbours crowd both, and only
 * computing feels the clock, given as part of the profiled one.
 */
static double slowdown_at(const struct query *q, double clock)
{
	const struct hes_profile *t = q->task;
	const struct hes_load *o = q->beside;
	double share = q->setting->sm_pct / 100.0, busy = busy_of(t), width = baseline_width(t);
	double memory = fmin(t->dram_util / BANDWIDTH_REACHED, busy), compute = busy - memory;
	double narrow = fmax(1, width / share);
	double crowd = fmax(1, fmin(width, share) + o->sm_util) * (1 + L2_INTERFERENCE * fmin(1, o->sm_util));
	double queue = fmax(1 + DRAM_INTERFERENCE * o->dram_util, t->dram_util / narrow + o->dram_util);
	double host = (1 - busy) * (1 + HOST_INTERFERENCE * o->residents);

	compute *= narrow * crowd / clock;
	memory *= fmax(thirst(share), queue);
	return fmax(host + compute + memory, MIN_SLOWDOWN);
}

/*
 * Above idle, a job draws what an operation costs at a clock times the rate
 * of operations. Over its limit, a board lowers the clock of everything.
 */
struct baseline baseline_of(const struct query *q)
{
	const struct hes_profile *t = q->task;
	double idle = q->gpu->idle_power_mw * 1e-3, limit = q->gpu->power_limit_mw * 1e-3;
	double asked = q->setting->clock_mhz / baseline_clock_mhz(q), clock = asked;
	double granted = fmin(baseline_width(t), q->setting->sm_pct / 100.0);
	double crowd = fmax(1, granted + fmin(1, q->beside->sm_util));
	double others = fmax(q->beside->power_mw * 1e-3 - idle, 0) / crowd;
	double own = fmax(t->power_mw * 1e-3 - idle, MIN_DYNAMIC * limit);
	struct baseline b = { .slowdown = slowdown_at(q, clock) };
	double power = idle + others + own * pow(clock, ENERGY_EXPONENT) / b.slowdown;

	b.demand_w = power;
	b.power_w = fmin(power, limit);
	for (int i = 0; i < LIMIT_ROUNDS && power > limit && limit > idle; i++) {
		clock *= pow((limit - idle) / (power - idle), 1 / (1 + ENERGY_EXPONENT));
		b.slowdown = slowdown_at(q, clock);
		power = idle + others * pow(clock / asked, 1 + ENERGY_EXPONENT) +
			own * pow(clock, ENERGY_EXPONENT) / b.slowdown;
	}
	return b;
}
