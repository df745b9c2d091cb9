/*
 * measure.h - measure GPUs over a window of time: seconds, joules, power, clock, activity.
 *
 * A meter samples its GPUs in its own thread, as often as their sensors refresh. Windows may nest
 * and overlap. Several threads may use one meter; each has its own windows. Joules come from the
 * energy counter if the GPU has one, else from the integral of power; both are reported. Time
 * without a reading is a gap and never counts as 0 W.
 *
 * A source is left out while what it says is not possible: a counter that stands still, goes back
 * or jumps, and power or clocks that the GPU cannot have. From its joules of two seconds on, a
 * source whose mean power the GPU cannot have is left out until the meter ends. The other source
 * then gives the joules.
 */
#ifndef HESHARE_MEASURE_H
#define HESHARE_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heshare/activity.h"
#include "heshare/attribute.h"
#include "heshare/device.h"
#include "heshare/err.h"

struct hes_meter;
struct hes_window;

enum hes_energy_from {
	HES_ENERGY_UNKNOWN,  /* no reading at all */
	HES_ENERGY_COUNTER,  /* the GPU's counter, all the time */
	HES_ENERGY_INTEGRAL, /* of power, where the counter is missing or left out */
};

/** What was left out of a window. */
enum hes_left_out {
	HES_LEFT_OUT_STILL,  /* the counter stood still while the GPU was on */
	HES_LEFT_OUT_BACK,   /* the counter went back, or was reset */
	HES_LEFT_OUT_JUMP,   /* the counter rose faster than the GPU can draw power */
	HES_LEFT_OUT_SLOW,   /* the counter rose slower than an idle GPU draws power */
	HES_LEFT_OUT_POWER,  /* readings of power that are not possible */
	HES_LEFT_OUT_ENERGY, /* of the counter */
	HES_LEFT_OUT_CLOCK,  /* of the clock */
	HES_LEFT_OUTS
};

/** A GPU over a window. */
struct hes_measured {
	double seconds;
	enum hes_energy_from from;
	double energy_j;      /* over known_s; not valid if from is HES_ENERGY_UNKNOWN */
	double known_s;       /* time with a counter or power readings */
	double integral_j;    /* of power, over power_s */
	double power_s;       /* time with power readings; the rest of seconds is a gap */
	double mean_w;        /* energy_j / known_s; not valid if HES_ENERGY_UNKNOWN */
	double peak_w;        /* highest reading; 0: none */
	double longest_gap_s; /* without a power reading */
	double clock_s;       /* time with clock readings */
	double clock_mhz;     /* mean over clock_s; valid if clock_s is above 0 */
	double reasons_s;     /* time with readings of throttle reasons */
	double capped_s;      /* part of reasons_s in which power or heat lowered the clock */
	uint64_t samples;
	unsigned left_out;            /* bits 1 << enum hes_left_out */
	bool lost;                    /* the GPU fell off the bus */
	struct hes_activity activity; /* of SMs, memory, ... */
};

/** Bounds of a meter's period. Faster reads repeat old values and sometimes fail. */
#define HES_METER_FASTEST_S 0.05
#define HES_METER_SLOWEST_S 1.0

/**
 * Start measuring GPUs. Takes up to half a second, to find how often their sensors refresh.
 * @param gpus  @n indices of @d, which must outlive the meter
 * @return 0; -EINVAL no such GPU; -ENODEV it is lost; -ENOMEM, -EAGAIN
 */
int hes_meter_start(struct hes_meter **out, const struct hes_devices *d, const size_t *gpus,
		    size_t n, struct hes_err *err);
/** As hes_meter_start(), with a given period. */
int hes_meter_start_every(struct hes_meter **out, const struct hes_devices *d, const size_t *gpus,
			  size_t n, double period_s, struct hes_err *err);
/** End the meter and its windows. NULL is harmless. */
void hes_meter_stop(struct hes_meter *m);

/** Power of all GPUs of a meter together. */
struct hes_meter_power {
	double now_w;  /* at the last sample; 0: a GPU gave no reading */
	double peak_w; /* highest sum of readings; 0: none yet */
	double over_s; /* time above the watched power */
};

/** Count the time in which all GPUs together draw more than @watts. Until this call none is
 * counted. */
void hes_meter_watch_power(struct hes_meter *m, double watts);
void hes_meter_power(struct hes_meter *m, struct hes_meter_power *out);

/** Seconds between two samples. */
double hes_meter_period_s(const struct hes_meter *m);

/** Begin a window; end it with hes_window_end. @return 0; -ENOMEM */
int hes_window_begin(struct hes_meter *m, struct hes_window **out, struct hes_err *err);
/** The result so far of the meter's @i-th GPU alone; reads that GPU only. */
void hes_window_look_at(struct hes_window *w, size_t i, struct hes_measured *out);
/** The same with its activity. */
void hes_window_read_at(struct hes_window *w, size_t i, struct hes_measured *out);
/** What was measured between two results of a window for a GPU: the members with a time, and
 * energy. from is HES_ENERGY_UNKNOWN where energy is known for less than 90 % of the time. */
struct hes_measured hes_measured_between(const struct hes_measured *from,
					 const struct hes_measured *to);
/** End and free the window. @param out  results, one for each GPU in the order given to the meter
 */
void hes_window_end(struct hes_window *w, struct hes_measured *out);

/** @return what bit @i of hes_left_out says, for people; @i is below HES_LEFT_OUTS */
const char *hes_left_out_text(size_t i);

#endif
