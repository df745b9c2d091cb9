/*
 * gauge.h - joules of a GPU from its energy counter and its power readings, whichever can be
 * believed.
 *
 * The counter gives the joules, power those of the time in which there is no counter or the counter
 * says what is not possible. A gauge has the sums since its first reading; those of a window are a
 * difference.
 */
#ifndef HES_MEASURE_GAUGE_H
#define HES_MEASURE_GAUGE_H

#include "heshare/measure.h"

/** The sums at a step of the counter. */
struct hes_gauge_step {
	double energy_j, counter_s, known_s, integral_j, power_s;
	double since_s; /* its time: the middle between two readings, at most half a refresh ago */
	uint64_t mj;
};

struct hes_gauge {
	double most_w, least_w; /* a counter that rises faster jumps; the idle GPU draws more */
	/* The last reading, and the integral of power until then. */
	double time_s, power_w, integral_j, power_s;
	bool begun, has_power;
	double judged_j, judged_power_s; /* the integral, which is possible until then */
	bool power_sick, counter_sick;   /* its mean is not possible: left out for good */
	double looked_s;                 /* last reading of the counter */
	double before_s;                 /* last reading before its last step */
	double unsure_s;                 /* of the times of readings: the longest since then */
	double refresh_s; /* shortest time that certainly had a step; 0: not known yet */
	bool known;       /* a step was seen */
	struct hes_gauge_step step,
		judged;    /* the last one, and until where the counter is possible */
	double reported_j; /* joules never go back */
	uint32_t left_out[HES_LEFT_OUTS];
};

/** A GPU at one moment. */
struct hes_gauge_sample {
	double time_s, unsure_s;
	unsigned has;
	double power_w, clock_mhz;
	bool capped;
	bool lost;
	/* Since the first reading. */
	double energy_j;
	double counter_s; /* time in which the counter gave them */
	double known_s;   /* time in which counter or power gave them */
	bool counted;     /* the counter gives them now */
	bool counter_sick;
	double integral_j, power_s; /* of power alone */
	uint32_t left_out[HES_LEFT_OUTS];
};

/** @param most_w, least_w  the highest and lowest power that a reading of the GPU can have */
void hes_gauge_begin(struct hes_gauge *g, double most_w, double least_w);
/** Read a GPU and take the reading. @param want  as of hes_device_read(). @return whether the GPU
 * answered; else only time_s and lost of @s are set */
bool hes_gauge_look(struct hes_gauge *g, const struct hes_devices *d, size_t gpu, unsigned want,
		    struct hes_gauge_sample *s);
/** Take a reading. @param s  its time is set; written: the rest */
void hes_gauge_read(struct hes_gauge *g, const struct hes_reading *r, struct hes_gauge_sample *s);
/** Write energy_j, known_s, mean_w, from and left_out of @out, whose seconds are set. */
void hes_gauge_between(const struct hes_gauge_sample *first, const struct hes_gauge_sample *last,
		       struct hes_measured *out);

#endif
