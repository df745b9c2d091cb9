/*
 * features.c - the features of Table II; see features.h.
 */
#include "predict/features.h"

static double task_sm(const struct query *q)       { return q->task->sm_util; }
static double task_dram(const struct query *q)     { return q->task->dram_util; }
static double task_l2(const struct query *q)       { return q->task->l2_util; }
static double task_time(const struct query *q)     { return q->task->iteration_us; }
static double setting_share(const struct query *q) { return q->setting->sm_pct; }
static double setting_clock(const struct query *q) { return q->setting->clock_mhz; }
static double beside_sm(const struct query *q)     { return q->beside->sm_util; }
static double beside_dram(const struct query *q)   { return q->beside->dram_util; }
static double beside_l2(const struct query *q)     { return q->beside->l2_util; }
static double beside_power(const struct query *q)  { return q->beside->power_mw * 1e-3; }
static double gpu_sms(const struct query *q)       { return q->gpu->sm_count; }
static double gpu_dram(const struct query *q)      { return q->gpu->memory_bandwidth_gbs; }
static double gpu_l2(const struct query *q)        { return q->gpu->l2_kib / 1024.0; }
static double gpu_power(const struct query *q)     { return q->gpu->idle_power_mw * 1e-3; }

const struct feature features[FEATURE_COUNT] = {
	/* task features: alone on the whole GPU at its default clock */
	{ "task_sm_util",         "0..1", task_sm },
	{ "task_dram_util",       "0..1", task_dram },
	{ "task_l2_util",         "0..1", task_l2 },
	{ "task_iteration",       "us",   task_time },
	/* MPS configuration, DVFS frequency */
	{ "sm_share",             "%",    setting_share },
	{ "clock",                "MHz",  setting_clock },
	/* collocation features: the GPU before the task arrives */
	{ "occupied_sm_util",     "sum",  beside_sm },
	{ "occupied_dram_util",   "sum",  beside_dram },
	{ "occupied_l2_util",     "sum",  beside_l2 },
	{ "current_power",        "W",    beside_power },
	/* GPU features */
	{ "gpu_sms",              "SMs",  gpu_sms },
	{ "gpu_memory_bandwidth", "GB/s", gpu_dram },
	{ "gpu_l2",               "MiB",  gpu_l2 },
	{ "gpu_idle_power",       "W",    gpu_power },
};

void features_fill(const struct query *q, float *row)
{
	for (int i = 0; i < FEATURE_COUNT; i++)
		row[i] = (float)features[i].fill(q);
}
