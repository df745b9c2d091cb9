/*
 * beyond.h - what of a job's setting lies outside of the samples that a
 * predictor learnt from, so that its prediction is an extrapolation.
 */
#ifndef HESHARE_BEYOND_H
#define HESHARE_BEYOND_H

#include <stdint.h>

/** A set of these is an uint32_t; 0: within the samples. */
enum hes_beyond {
	HES_BEYOND_TYPE       = 1 << 0, /* the GPU type was never sampled */
	HES_BEYOND_WORKLOAD   = 1 << 1, /* ... the workload */
	HES_BEYOND_BATCH_SIZE = 1 << 2, /* smaller or larger than any sampled of the workload */
	HES_BEYOND_SHARE      = 1 << 3, /* the job's own SM share, less or more than any sampled on the type */
	HES_BEYOND_CLOCK      = 1 << 4, /* the same of the SM clock */
	HES_BEYOND_NEIGHBOURS = 1 << 5, /* more neighbours than any sample on the type had, or shares that sum to more */
	HES_BEYOND_PAIR       = 1 << 6, /* the workload was sampled, and the GPU type, but never the one on the other */
	HES_BEYOND_STRANGER   = 1 << 7, /* the workload of a neighbour was never sampled */
};

#define HES_BEYOND_ALL ((uint32_t)(1 << 8) - 1)

/** What a plan can do otherwise for the same job on the same GPU. */
#define HES_BEYOND_SETTING ((uint32_t)(HES_BEYOND_SHARE | HES_BEYOND_CLOCK | HES_BEYOND_NEIGHBOURS | HES_BEYOND_STRANGER))

/**
 * "GPU type", "workload", "batch size", "share", "clock", "neighbours", "workload on GPU type", "unsampled neighbour";
 * NULL for what is not one of them.
 */
const char *hes_beyond_name(enum hes_beyond one);

#define HES_BEYOND_TEXT 112

/** The names in a set, a comma and a space between them. */
void hes_beyond_text(uint32_t set, char out[HES_BEYOND_TEXT]);

/** @return the one of that name; 0: there is none */
uint32_t hes_beyond_find(const char *name);

#endif
