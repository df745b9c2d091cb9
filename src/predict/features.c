/*
 * features.c - the table of features; see features.h.
 */
#include "predict/features.h"

#include <math.h>
#include <string.h>

#define MIN_UTIL 1e-4 /* smaller values would make the logarithm noisy */

static double sm_rate(const struct query *q)
{
	return (q->task->sm_util + MIN_UTIL) * q->gpu->sm_count * baseline_clock_mhz(q);
}

static double dram_rate(const struct query *q)
{
	return (q->task->dram_util + MIN_UTIL) * q->gpu->memory_bandwidth_gbs;
}

/* Of a power: its part of the power limit. */
static double part_of_limit(const struct query *q, double mw)
{
	return mw / hes_gpu_type_default_limit_mw(q->gpu);
}

/* Rows: name, value by the query q; its unit behind. */
/* clang-format off */
#define FEATURES(ROW) \
	/* Table II: the task alone on the whole GPU */ \
	ROW("task_sm_util", q->task->sm_util) /* part */ \
	ROW("task_dram_util", q->task->dram_util) /* part */ \
	ROW("task_l2_util", q->task->l2_util) /* part */ \
	ROW("task_iteration", q->task->iteration_us) \
	/* ... MPS configuration, DVFS frequency */ \
	ROW("sm_share", q->setting->sm_pct) \
	ROW("clock", q->setting->clock_mhz) \
	/* ... collocation: the GPU before the task arrives */ \
	ROW("occupied_sm_util", q->co_runners->sm_util) /* parts */ \
	ROW("occupied_dram_util", q->co_runners->dram_util) /* parts */ \
	ROW("occupied_l2_util", q->co_runners->l2_util) /* parts */ \
	ROW("current_power", q->co_runners->power_mw * 1e-3) /* W */ \
	/* ... GPU */ \
	ROW("gpu_sms", q->gpu->sm_count) \
	ROW("gpu_memory_bandwidth", q->gpu->memory_bandwidth_gbs) \
	ROW("gpu_l2", q->gpu->l2_kib / 1024.0) /* MiB */ \
	ROW("gpu_idle_power", q->gpu->idle_power_mw * 1e-3) /* W */ \
	/* further measurements of profiles and sharing */ \
	ROW("task_busy", q->task->busy) /* part of the time */ \
	ROW("co_runners", q->co_runners->jobs) \
	ROW("share_sum", q->co_runners->sm_pct + q->setting->sm_pct) /* % */ \
	ROW("occupied_busy", q->co_runners->busy) /* jobs */ \
	ROW("occupied_sm_busy", q->co_runners->sm_busy) /* parts */ \
	ROW("occupied_l2_sets", q->co_runners->l2_sets) /* L2 capacities */ \
	ROW("occupied_serial", q->co_runners->serial) /* jobs */ \
	ROW("occupied_dram_busy", q->co_runners->dram_busy) /* parts */ \
	ROW("occupied_pace", q->co_runners->pace) /* of their solo speeds, summed */ \
	ROW("occupied_rate", q->co_runners->iterations_per_s) \
	ROW("occupied_solo_power", part_of_limit(q, q->co_runners->solo_power_mw)) \
	/* derived from the above */ \
	ROW("task_width", baseline_width(q->task)) /* part of the SMs while busy */ \
	ROW("task_power", part_of_limit(q, q->task->power_mw)) \
	ROW("task_work", log(q->task->iteration_us * sm_rate(q))) /* SM-cycles of an iteration */ \
	ROW("task_intensity", log(dram_rate(q) / sm_rate(q))) /* bytes a cycle */ \
	ROW("relative_clock", q->setting->clock_mhz / baseline_clock_mhz(q)) \
	ROW("baseline_slowdown", log(q->base.slowdown)) \
	ROW("baseline_demand", part_of_limit(q, q->base.demand_w * 1e3)) \
	ROW("baseline_clock", q->base.clock) /* of the requested one */ \
	ROW("baseline_off_gpu", q->base.off_gpu) /* part of the solo iteration */ \
	ROW("baseline_others", part_of_limit(q, q->base.others_w * 1e3)) \
	ROW("baseline_crowd", q->base.crowded_sm) /* parts of the SMs */
/* clang-format on */

#define NAME(name, value)  name,
#define VALUE(name, value) (float)(double)(value),

const char *const feature_names[FEATURE_COUNT] = { FEATURES(NAME) };

void features_fill(const struct query *q, float *row)
{
	const float values[FEATURE_COUNT] = { FEATURES(VALUE) };

	memcpy(row, values, sizeof(values));
}
