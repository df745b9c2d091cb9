/*
 * baseline.c - a roofline of share, clock and utilisation; see baseline.h.
 *
 * Knows data sheets and solo profiles only.
 */
#include "predict/baseline.h"

#include <math.h>

struct baseline baseline_of(const struct query *q)
{
	const struct hes_profile *t = q->task;
	double share = q->setting->sm_pct / 100.0;
	double clock = (double)q->setting->clock_mhz / q->gpu->clock_default_mhz;
	double idle = q->gpu->idle_power_mw * 1e-3, limit = q->gpu->power_limit_mw * 1e-3;
	double before = fmax(q->beside->power_mw * 1e-3, idle);
	double memory = fmin(t->dram_util, t->sm_util), compute = t->sm_util - memory;
	double narrow = fmax(1, t->sm_util / share);
	double crowd = fmax(1, t->dram_util + q->beside->dram_util);
	double ratio = (1 - t->sm_util) + compute * narrow / clock + memory * fmax(narrow, crowd);
	double moving = fmax(t->power_mw * 1e-3 - idle, 0.01 * limit);

	ratio = fmax(ratio, 0.1);
	return (struct baseline){
		.iteration_us = t->iteration_us * ratio,
		.power_w = fmin(before + moving * clock * clock / ratio, limit),
	};
}
