/*
 * training_range.h - which parts of a query are outside of the training range, the range of the
 * samples that the predictor learnt from. Such a prediction is extrapolated.
 */
#ifndef HESHARE_TRAINING_RANGE_H
#define HESHARE_TRAINING_RANGE_H

#include <stdint.h>

/** A set of these is a uint32_t; 0: inside of the training range. */
enum hes_outside {
	HES_OUTSIDE_TYPE = 1 << 0,       /* the GPU type was never sampled */
	HES_OUTSIDE_WORKLOAD = 1 << 1,   /* the workload was never sampled */
	HES_OUTSIDE_BATCH_SIZE = 1 << 2, /* smaller or larger than any sampled of the workload */
	HES_OUTSIDE_SHARE =
		1 << 3, /* the job's own SM share is less or more than any sampled on the type */
	HES_OUTSIDE_CLOCK =
		1 << 4, /* the SM clock is lower or higher than any sampled on the type */
	HES_OUTSIDE_CO_RUN = 1 << 5, /* more co-runners, or a larger sum of shares, than any sample
					on the type had */
	HES_OUTSIDE_PAIR = 1 << 6,   /* workload and GPU type were sampled, but never together */
	HES_OUTSIDE_CO_RUNNER = 1 << 7, /* the workload of a co-runner was never sampled */
};

#define HES_OUTSIDE_ALL ((uint32_t)(1 << 8) - 1)

/** The parts that a plan can change for a job on a GPU. */
#define HES_OUTSIDE_SETTING                                                      \
	((uint32_t)(HES_OUTSIDE_SHARE | HES_OUTSIDE_CLOCK | HES_OUTSIDE_CO_RUN | \
		    HES_OUTSIDE_CO_RUNNER))

/**
 * "GPU type", "workload", "batch size", "share", "clock", "co-runners", "workload on GPU type",
 * "unsampled co-runner"; NULL for any other value.
 */
const char *hes_outside_name(enum hes_outside one);

#define HES_OUTSIDE_TEXT 112

/** The names in a set, a comma and a space between them. */
void hes_outside_text(uint32_t set, char out[HES_OUTSIDE_TEXT]);

/** @return the value with this name; 0: none */
uint32_t hes_outside_find(const char *name);

#endif
