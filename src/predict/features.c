/*
 * features.c - the table of features; see features.h.
 */
#include "predict/features.h"

#include <math.h>

#define MIN_UTIL 1e-4 /* smaller values would make the logarithm noisy */

/* Table II */
static double task_sm(const struct query *q)
{
	return q->task->sm_util;
}
static double task_dram(const struct query *q)
{
	return q->task->dram_util;
}
static double task_l2(const struct query *q)
{
	return q->task->l2_util;
}
static double task_time(const struct query *q)
{
	return q->task->iteration_us;
}
static double share(const struct query *q)
{
	return q->setting->sm_pct;
}
static double clock_mhz(const struct query *q)
{
	return q->setting->clock_mhz;
}
static double others_sm(const struct query *q)
{
	return q->co_runners->sm_util;
}
static double others_dram(const struct query *q)
{
	return q->co_runners->dram_util;
}
static double others_l2(const struct query *q)
{
	return q->co_runners->l2_util;
}
static double others_power(const struct query *q)
{
	return q->co_runners->power_mw * 1e-3;
}
static double gpu_sms(const struct query *q)
{
	return q->gpu->sm_count;
}
static double gpu_bandwidth(const struct query *q)
{
	return q->gpu->memory_bandwidth_gbs;
}
static double gpu_l2(const struct query *q)
{
	return q->gpu->l2_kib / 1024.0;
}
static double gpu_idle(const struct query *q)
{
	return q->gpu->idle_power_mw * 1e-3;
}

/* Measured along with Table II */
static double task_busy(const struct query *q)
{
	return q->task->busy;
}
static double others_count(const struct query *q)
{
	return q->co_runners->jobs;
}
static double others_busy(const struct query *q)
{
	return q->co_runners->busy;
}
static double others_sm_busy(const struct query *q)
{
	return q->co_runners->sm_busy;
}
static double others_l2_sets(const struct query *q)
{
	return q->co_runners->l2_sets;
}
static double others_serial(const struct query *q)
{
	return q->co_runners->serial;
}
static double others_dram_busy(const struct query *q)
{
	return q->co_runners->dram_busy;
}
static double others_pace(const struct query *q)
{
	return q->co_runners->pace;
}
static double others_rate(const struct query *q)
{
	return q->co_runners->iterations_per_s;
}
static double others_solo_power(const struct query *q)
{
	return q->co_runners->solo_power_mw / hes_gpu_type_default_limit_mw(q->gpu);
}
static double share_sum(const struct query *q)
{
	return q->co_runners->sm_pct + q->setting->sm_pct;
}

/* Derived */
static double task_width(const struct query *q)
{
	return baseline_width(q->task);
}

static double sm_rate(const struct query *q)
{
	return (q->task->sm_util + MIN_UTIL) * q->gpu->sm_count * baseline_clock_mhz(q);
}

static double dram_rate(const struct query *q)
{
	return (q->task->dram_util + MIN_UTIL) * q->gpu->memory_bandwidth_gbs;
}

static double task_work(const struct query *q)
{
	return log(q->task->iteration_us * sm_rate(q));
}
static double task_intensity(const struct query *q)
{
	return log(dram_rate(q) / sm_rate(q));
}
static double relative_clock(const struct query *q)
{
	return q->setting->clock_mhz / baseline_clock_mhz(q);
}
static double baseline_slowdown(const struct query *q)
{
	return log(q->base.slowdown);
}
static double baseline_demand(const struct query *q)
{
	return q->base.demand_w * 1e3 / hes_gpu_type_default_limit_mw(q->gpu);
}
static double held_clock(const struct query *q)
{
	return q->base.clock;
}
static double off_gpu(const struct query *q)
{
	return q->base.off_gpu;
}
static double baseline_others(const struct query *q)
{
	return q->base.others_w * 1e3 / hes_gpu_type_default_limit_mw(q->gpu);
}
static double crowded_sm(const struct query *q)
{
	return q->base.crowded_sm;
}
static double task_power(const struct query *q)
{
	return (double)q->task->power_mw / hes_gpu_type_default_limit_mw(q->gpu);
}

const struct feature features[FEATURE_COUNT] = {
	/* Table II: the task alone on the whole GPU */
	{ "task_sm_util", "part", task_sm, FEATURE_OF_TASK },
	{ "task_dram_util", "part", task_dram, FEATURE_OF_TASK },
	{ "task_l2_util", "part", task_l2, FEATURE_OF_TASK },
	{ "task_iteration", "us", task_time, FEATURE_OF_TASK },
	/* ... MPS configuration, DVFS frequency */
	{ "sm_share", "%", share, FEATURE_OF_SETTING },
	{ "clock", "MHz", clock_mhz, FEATURE_OF_SETTING },
	/* ... collocation: the GPU before the task arrives */
	{ "occupied_sm_util", "parts", others_sm, FEATURE_OF_OTHERS },
	{ "occupied_dram_util", "parts", others_dram, FEATURE_OF_OTHERS },
	{ "occupied_l2_util", "parts", others_l2, FEATURE_OF_OTHERS },
	{ "current_power", "W", others_power, FEATURE_OF_OTHERS },
	/* ... GPU */
	{ "gpu_sms", "SMs", gpu_sms, FEATURE_OF_TASK },
	{ "gpu_memory_bandwidth", "GB/s", gpu_bandwidth, FEATURE_OF_TASK },
	{ "gpu_l2", "MiB", gpu_l2, FEATURE_OF_TASK },
	{ "gpu_idle_power", "W", gpu_idle, FEATURE_OF_TASK },
	/* further measurements of profiles and sharing */
	{ "task_busy", "part of the time", task_busy, FEATURE_OF_TASK },
	{ "co_runners", "jobs", others_count, FEATURE_OF_OTHERS },
	{ "share_sum", "%", share_sum, FEATURE_OF_OTHERS },
	{ "occupied_busy", "jobs", others_busy, FEATURE_OF_OTHERS },
	{ "occupied_sm_busy", "parts", others_sm_busy, FEATURE_OF_OTHERS },
	{ "occupied_l2_sets", "L2 capacities", others_l2_sets, FEATURE_OF_OTHERS },
	{ "occupied_serial", "jobs", others_serial, FEATURE_OF_OTHERS },
	{ "occupied_dram_busy", "parts", others_dram_busy, FEATURE_OF_OTHERS },
	{ "occupied_pace", "of their solo speeds, summed", others_pace, FEATURE_OF_OTHERS },
	{ "occupied_rate", "iterations/s", others_rate, FEATURE_OF_OTHERS },
	{ "occupied_solo_power", "parts of the power limit", others_solo_power, FEATURE_OF_OTHERS },
	/* derived from the above */
	{ "task_width", "part of the SMs while busy", task_width, FEATURE_OF_TASK },
	{ "task_power", "part of the power limit", task_power, FEATURE_OF_TASK },
	{ "task_work", "log SM-cycles of an iteration", task_work, FEATURE_OF_TASK },
	{ "task_intensity", "log bytes a cycle", task_intensity, FEATURE_OF_TASK },
	{ "relative_clock", "of the profiled one", relative_clock, FEATURE_OF_SETTING },
	{ "baseline_slowdown", "log of time / solo time", baseline_slowdown, FEATURE_OF_OTHERS },
	{ "baseline_demand", "part of the power limit", baseline_demand, FEATURE_OF_OTHERS },
	{ "baseline_clock", "of the requested one", held_clock, FEATURE_OF_OTHERS },
	{ "baseline_off_gpu", "part of the solo iteration", off_gpu, FEATURE_OF_TASK },
	{ "baseline_others", "part of the power limit", baseline_others, FEATURE_OF_OTHERS },
	{ "baseline_crowd", "parts of the SMs", crowded_sm, FEATURE_OF_OTHERS },
};

void features_fill(const struct query *q, float *row)
{
	for (size_t i = 0; i < FEATURE_COUNT; i++)
		row[i] = (float)features[i].fill(q);
}

struct feature_list features_needing(enum feature_need need)
{
	struct feature_list list = { .n = 0 };

	for (size_t i = 0; i < FEATURE_COUNT; i++)
		if (features[i].need == need)
			list.of[list.n++] = (uint8_t)i;
	return list;
}

void features_fill_some(const struct query *q, const struct feature_list *some, float *row)
{
	for (size_t i = 0; i < some->n; i++)
		row[some->of[i]] = (float)features[some->of[i]].fill(q);
}
