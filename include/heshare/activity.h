/*
 * activity.h - what the parts of a GPU do over time: SMs, memory, tensor cores, PCIe.
 *
 * A watch looks at GPUs now and then and adds up; the difference of two sums is the activity
 * of the window between them. Sources, best first: GPM (NVML on Hopper and newer), DCGM's profiling
 * fields where DCGM is installed, and NVML's utilisation rates, which most GPUs have. The latter are
 * coarser: parts of the time with any kernel and with any memory traffic, whatever part of the GPU
 * that kept busy. What no source tells is missing, never 0.
 *
 * A watch belongs to one thread at a time. hes_meter (measure.h) has one of its own.
 */
#ifndef HESHARE_ACTIVITY_H
#define HESHARE_ACTIVITY_H

#include <stdbool.h>
#include <stddef.h>

#include "heshare/device.h"
#include "heshare/err.h"

enum hes_activity_from {
	HES_ACTIVITY_UNKNOWN,
	HES_ACTIVITY_UTILISATION,  /* nvmlDeviceGetUtilizationRates: HES_ACT_BUSY and HES_ACT_COPYING alone */
	HES_ACTIVITY_DCGM,
	HES_ACTIVITY_GPM,
};

/** What is looked at. All but the last two are parts, 0 to 1, as means over time. */
enum hes_act {
	HES_ACT_BUSY,       /* time with a kernel running */
	HES_ACT_COPYING,    /* time with device memory being read or written */
	HES_ACT_SM,         /* SMs with work, of all */
	HES_ACT_OCCUPANCY,  /* warps resident on SMs, of those that fit */
	HES_ACT_DRAM,       /* memory bandwidth used, of the most there is */
	HES_ACT_TENSOR,     /* tensor pipes at work */
	HES_ACT_FP32,       /* FP32 pipes at work */
	HES_ACT_PCIE_OUT,   /* MiB/s from the GPU */
	HES_ACT_PCIE_IN,    /* MiB/s to the GPU */
	HES_ACTS
};

/** A mean, and the time that it is of; 0 s: missing. */
struct hes_mean {
	double value, seconds;
};

/** The activity of a GPU over a window. */
struct hes_activity {
	enum hes_activity_from from;       /* best source that told anything */
	struct hes_mean        of[HES_ACTS];
};

/** What a watch has seen of a GPU since it began. */
struct hes_activity_sums {
	enum hes_activity_from from;
	double value_s[HES_ACTS];          /* values times seconds */
	double seconds[HES_ACTS];
	double rate_s, rate_seconds;       /* HES_ACT_BUSY by the rates, for windows in which the source told none */
};

struct hes_watch;

/** Looks closer together than this see nothing new. */
#define HES_WATCH_FASTEST_S 0.1

/**
 * Watch GPUs. DCGM is taken only where a GPU lacks GPM: a host engine on this machine if one
 * answers, else one within this process.
 * @param gpus  @n indices of @d, which must outlive the watch
 * @return 0, also where no GPU tells anything; -ENOMEM
 */
int  hes_watch_start(struct hes_watch **out, const struct hes_devices *d, const size_t *gpus, size_t n,
		     struct hes_err *err);
/** NULL is harmless. */
void hes_watch_stop(struct hes_watch *w);

/**
 * Look at every GPU and add what happened since the last look. Rates are means of the driver's last second
 * at most and want a look as often; counters lose nothing between two looks.
 * @param counters  read them, too
 */
void hes_watch_look(struct hes_watch *w, bool counters);
/** What was added up of the @k-th GPU, in the order given. */
void hes_watch_sums(const struct hes_watch *w, size_t k, struct hes_activity_sums *out);

/** The activity between two sums of one GPU, @from before @to. */
void hes_activity_between(const struct hes_activity_sums *from, const struct hes_activity_sums *to,
			  struct hes_activity *out);

/** The source that a watch would take for a GPU, as far as that shows without starting one. */
enum hes_activity_from hes_activity_source(const struct hes_devices *d, size_t i);

/** "GPM", "DCGM", "utilisation", "unknown". */
const char *hes_activity_from_name(enum hes_activity_from f);
/** "busy", "copying", "sm", "occupancy", "dram", "tensor", "fp32", "pcie_out_mib_s", "pcie_in_mib_s". */
const char *hes_act_name(enum hes_act a);

#endif
