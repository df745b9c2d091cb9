/*
 * activity.h - how busy the parts of a GPU are: SMs, memory, tensor cores, PCIe.
 *
 * A watch samples GPUs and sums up; the difference of two sums is the activity of the window
 * between them. Sources, best first: GPM (NVML on Hopper and newer), DCGM's profiling fields,
 * NVML's utilisation rates. The rates are coarse: time with any kernel and time with any memory
 * traffic, however small. A value without a source is missing, never 0.
 *
 * One thread at a time uses a watch. hes_meter (measure.h) has its own watch.
 */
#ifndef HESHARE_ACTIVITY_H
#define HESHARE_ACTIVITY_H

#include <stdbool.h>
#include <stddef.h>

#include "heshare/device.h"
#include "heshare/err.h"

enum hes_activity_from {
	HES_ACTIVITY_UNKNOWN,
	HES_ACTIVITY_UTILISATION, /* nvmlDeviceGetUtilizationRates: HES_ACT_BUSY and HES_ACT_COPYING
				     alone */
	HES_ACTIVITY_DCGM,
	HES_ACTIVITY_GPM,
};

/** What is measured. All but the last two are means over time, from 0 to 1. */
enum hes_act {
	HES_ACT_BUSY,      /* time with a kernel running */
	HES_ACT_COPYING,   /* time with device memory being read or written */
	HES_ACT_SM,        /* part of the SMs with work */
	HES_ACT_OCCUPANCY, /* active warps, of the warps that fit */
	HES_ACT_DRAM,      /* memory bandwidth used, of the peak */
	HES_ACT_TENSOR,    /* busy tensor pipes */
	HES_ACT_FP32,      /* busy FP32 pipes */
	HES_ACT_PCIE_OUT,  /* MiB/s from the GPU */
	HES_ACT_PCIE_IN,   /* MiB/s to the GPU */
	HES_ACTS
};

/** A mean and the length of its time; 0 s: missing. */
struct hes_mean {
	double value, seconds;
};

/** The activity of a GPU over a window. */
struct hes_activity {
	enum hes_activity_from from; /* best source with a value */
	struct hes_mean of[HES_ACTS];
};

/** The sums of a GPU since its watch began. */
struct hes_activity_sums {
	enum hes_activity_from from;
	double value_s[HES_ACTS]; /* values times seconds */
	double seconds[HES_ACTS];
	double rate_s, rate_seconds; /* HES_ACT_BUSY by the rates, for windows without a value of
					the source */
};

struct hes_watch;

/** Shortest useful time between two samples: sensors do not refresh faster. */
#define HES_WATCH_FASTEST_S 0.1

/**
 * Watch GPUs. A GPU without GPM uses DCGM: the host engine of this machine if it answers, else an
 * engine in this process.
 * @param gpus  @n indices of @d, which must outlive the watch
 * @return 0, also where no GPU has a source; -ENOMEM
 */
int hes_watch_start(struct hes_watch **out, const struct hes_devices *d, const size_t *gpus,
		    size_t n, struct hes_err *err);
/** NULL is harmless. */
void hes_watch_stop(struct hes_watch *w);

/**
 * Sample every GPU and add what happened since the last sample. Rates cover at most the last
 * second, so sample once a second; counters lose nothing between two samples.
 * @param counters  read counters, too
 */
void hes_watch_look(struct hes_watch *w, bool counters);
/** The same for the @k-th GPU, in the order given, with its counters. */
void hes_watch_look_at(struct hes_watch *w, size_t k);
/** The sums of the @k-th GPU. */
void hes_watch_sums(const struct hes_watch *w, size_t k, struct hes_activity_sums *out);

/** The activity between two sums of one GPU, @from before @to. */
void hes_activity_between(const struct hes_activity_sums *from, const struct hes_activity_sums *to,
			  struct hes_activity *out);

/** The source that a watch would use for a GPU, found without starting one. */
enum hes_activity_from hes_activity_source(const struct hes_devices *d, size_t i);

/** "GPM", "DCGM", "utilisation", "unknown". */
const char *hes_activity_from_name(enum hes_activity_from f);
/** "busy", "copying", "sm", "occupancy", "dram", "tensor", "fp32", "pcie_out_mib_s",
 * "pcie_in_mib_s". */
const char *hes_act_name(enum hes_act a);

#endif
