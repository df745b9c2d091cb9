/*
 * measure.h - how long, how many joules, at which power and clock: GPUs over a window of time.
 *
 * A meter samples its GPUs in a thread of its own, as often as their sensors refresh.
 * Windows may nest and overlap; several threads may have windows of one meter, each of them one's own.
 * A GPU's joules come from its energy counter where it has one, and are cross-checked with
 * the integral of power; time without a reading is a gap, told as such and never taken for 0 W.
 */
#ifndef HESHARE_MEASURE_H
#define HESHARE_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heshare/activity.h"
#include "heshare/device.h"
#include "heshare/err.h"

struct hes_meter;
struct hes_window;

enum hes_energy_from {
	HES_ENERGY_UNKNOWN,   /* not a single reading */
	HES_ENERGY_COUNTER,   /* the GPU's counter, at both ends of the window */
	HES_ENERGY_INTEGRAL,  /* of power over the time that has readings */
};

/** A GPU over a window. */
struct hes_measured {
	double   seconds;
	enum hes_energy_from from;
	double   energy_j;         /* valid unless from is HES_ENERGY_UNKNOWN */
	double   integral_j;       /* of power, over power_s */
	double   power_s;          /* time with power readings; the rest of seconds is a gap */
	double   mean_w;           /* energy_j over the time that it is of; valid unless HES_ENERGY_UNKNOWN */
	double   peak_w;           /* highest reading; 0: none */
	double   longest_gap_s;    /* without a power reading */
	double   clock_s;          /* time with clock readings */
	double   clock_mhz;        /* mean over clock_s; valid where that is above 0 */
	double   reasons_s;        /* time with readings of what holds the clock down */
	double   capped_s;         /* of it, power or heat did */
	uint64_t samples;
	bool     lost;             /* the GPU fell off the bus */
	struct hes_activity activity; /* of SMs, memory, ...: what a source told */
};

/** Bounds of a meter's period. Asked more often than that, sensors repeat themselves and now and then refuse. */
#define HES_METER_FASTEST_S 0.05
#define HES_METER_SLOWEST_S 1.0

/**
 * Start measuring GPUs. Takes up to half a second to find out how often their sensors refresh.
 * @param gpus  @n indices of @d, which must outlive the meter
 * @return 0; -EINVAL a GPU that is not there; -ENODEV it is lost; -ENOMEM, -EAGAIN
 */
int  hes_meter_start(struct hes_meter **out, const struct hes_devices *d, const size_t *gpus, size_t n,
		     struct hes_err *err);
/** The same with a period that is given, for those who look less often than sensors refresh. */
int  hes_meter_start_every(struct hes_meter **out, const struct hes_devices *d, const size_t *gpus, size_t n,
			   double period_s, struct hes_err *err);
/** Its windows end with it. NULL is harmless. */
void hes_meter_stop(struct hes_meter *m);

/** Seconds between two samples. */
double hes_meter_period_s(const struct hes_meter *m);

/** Begin a window; end it with hes_window_end. @return 0; -ENOMEM */
int  hes_window_begin(struct hes_meter *m, struct hes_window **out, struct hes_err *err);
/** What has come together so far, one entry a GPU in the order given to the meter. */
void hes_window_look(struct hes_window *w, struct hes_measured *out);
/** The same of the meter's GPU number @i alone, at the price of one GPU's sample. */
void hes_window_look_at(struct hes_window *w, size_t i, struct hes_measured *out);
/** What has come together, and the window is gone. */
void hes_window_end(struct hes_window *w, struct hes_measured *out);

/** A job on a GPU that others shared. */
struct hes_sharer {
	double   start_s, end_s;
	uint32_t sm_pct;       /* 1..100 */
	double   activity;     /* what it makes the GPU draw above idle, in any unit: predicted watts */
	double   energy_j;     /* result: attributed */
};

/**
 * Attribute a GPU's joules over [0, @seconds] to the jobs on it. The idle part is split by SM share
 * among the jobs that are there at each moment, the rest by activity times time; idle power
 * while nobody is there belongs to nobody. The jobs' parts and @nobody_j sum to @energy_j.
 * @return 0; -EINVAL a job that lies outside of the time, has no share or a negative activity
 */
int hes_attribute(double energy_j, double idle_w, double seconds, struct hes_sharer *jobs, size_t n,
		  double *nobody_j, struct hes_err *err);

#endif
