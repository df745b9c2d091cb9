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
	{ "task_sm_util", "part", task_sm },
	{ "task_dram_util", "part", task_dram },
	{ "task_l2_util", "part", task_l2 },
	{ "task_iteration", "us", task_time },
	/* ... MPS configuration, DVFS frequency */
	{ "sm_share", "%", share },
	{ "clock", "MHz", clock_mhz },
	/* ... collocation: the GPU before the task arrives */
	{ "occupied_sm_util", "parts", others_sm },
	{ "occupied_dram_util", "parts", others_dram },
	{ "occupied_l2_util", "parts", others_l2 },
	{ "current_power", "W", others_power },
	/* ... GPU */
	{ "gpu_sms", "SMs", gpu_sms },
	{ "gpu_memory_bandwidth", "GB/s", gpu_bandwidth },
	{ "gpu_l2", "MiB", gpu_l2 },
	{ "gpu_idle_power", "W", gpu_idle },
	/* further measurements of profiles and sharing */
	{ "task_busy", "part of the time", task_busy },
	{ "co_runners", "jobs", others_count },
	{ "share_sum", "%", share_sum },
	{ "occupied_busy", "jobs", others_busy },
	{ "occupied_sm_busy", "parts", others_sm_busy },
	{ "occupied_l2_sets", "L2 capacities", others_l2_sets },
	{ "occupied_serial", "jobs", others_serial },
	{ "occupied_dram_busy", "parts", others_dram_busy },
	{ "occupied_pace", "of their solo speeds, summed", others_pace },
	{ "occupied_rate", "iterations/s", others_rate },
	{ "occupied_solo_power", "parts of the power limit", others_solo_power },
	/* derived from the above */
	{ "task_width", "part of the SMs while busy", task_width },
	{ "task_power", "part of the power limit", task_power },
	{ "task_work", "log SM-cycles of an iteration", task_work },
	{ "task_intensity", "log bytes a cycle", task_intensity },
	{ "relative_clock", "of the profiled one", relative_clock },
	{ "baseline_slowdown", "log of time / solo time", baseline_slowdown },
	{ "baseline_demand", "part of the power limit", baseline_demand },
	{ "baseline_clock", "of the requested one", held_clock },
	{ "baseline_off_gpu", "part of the solo iteration", off_gpu },
	{ "baseline_others", "part of the power limit", baseline_others },
	{ "baseline_crowd", "parts of the SMs", crowded_sm },
};

void features_fill(const struct query *q, float *row)
{
	for (size_t i = 0; i < FEATURE_COUNT; i++)
		row[i] = (float)features[i].fill(q);
}
