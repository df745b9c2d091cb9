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

struct hes_gauge {
	double most_w; /* a counter that rises faster jumps */
	/* The last reading, and the integral of power until then. */
	double time_s, power_w, integral_j, power_s;
	bool begun, has_power;
	/* The counter: its last step is assumed in the middle between two readings, at most half a
	 * refresh ago. */
	uint64_t mj;
	double since_s, looked_s;
	double before_s;  /* last reading before that step */
	double refresh_s; /* shortest time that certainly had a step; 0: not known yet */
	bool known;
	/* The sums at that step. */
	struct {
		double energy_j, counter_s, known_s, integral_j, power_s;
	} step;
	double reported_j; /* joules never go back */
	uint32_t left_out[HES_LEFT_OUTS];
};

/** A GPU at one moment. */
struct hes_gauge_sample {
	double time_s;
	unsigned has;
	double power_w, clock_mhz;
	bool capped;
	bool lost;
	/* Since the first reading. */
	double energy_j;
	double counter_s; /* time in which the counter gave them */
	double known_s;   /* time in which counter or power gave them */
	bool counted;     /* the counter gives them now */
	uint32_t left_out[HES_LEFT_OUTS];
};

void hes_gauge_begin(struct hes_gauge *g, double most_w);
/** Take a reading. @param s  its time is set; written: the rest */
void hes_gauge_read(struct hes_gauge *g, const struct hes_reading *r, struct hes_gauge_sample *s);
/** Write energy_j, known_s, mean_w, from and left_out of @out, whose seconds are set. */
void hes_gauge_between(const struct hes_gauge_sample *first, const struct hes_gauge_sample *last,
		       struct hes_measured *out);

#endif
