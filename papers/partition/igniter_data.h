/*
 * igniter_data.h - iGniter's measurements of three networks on a V100, alone and in pairs, as
 * points.
 *
 * Of power nothing was published for pairs: every point has the same, so that it does not matter.
 * Latency of a batch is taken as the time of an iteration.
 */
#ifndef PAPERS_IGNITER_DATA_H
#define PAPERS_IGNITER_DATA_H

#include "heshare/partition.h"

#define IGNITER_NETWORKS 3
#define IGNITER_PAIRS    3 /* of networks */
#define IGNITER_SPLITS   5
#define IGNITER_SHARE    80 /* percent; the largest that every network was measured at */

extern const char *const igniter_networks[IGNITER_NETWORKS];

/** A network alone at a batch size and a share. Uses are parts of 1. */
struct igniter_alone {
	size_t network;
	uint32_t batch, sm_pct;
	double latency_ms, images_per_s, l2, dram;
};

/** Two networks together. Index 0: the one that comes first in the file. */
struct igniter_pair {
	size_t alone[2];    /* index of the same settings alone */
	size_t whole[2];    /* ... at IGNITER_SHARE */
	double slowdown[2]; /* latency together / alone */
	size_t networks;    /* number of the pair of networks: sum of their indices - 1 */
	size_t setting;     /* the same for all splits of the same networks and batch sizes */
	struct hes_point rows[2];
};

struct igniter {
	struct igniter_alone *alone;
	size_t n_alone;
	struct igniter_pair *pairs;
	size_t n_pairs;
	struct hes_points solo; /* row i is alone[i] */
	struct hes_catalogue catalogue;
	const struct hes_gpu_type *gpu;
	struct hes_share_profiles profiles;
};

/**
 * @param folder  of solo_mps.csv and pair_mps.csv
 * @param out     igniter_close it, also after a failure
 * @return 0; -ENOENT and others of reading the files; -EINVAL a pair whose job was not measured
 * alone; -ENOMEM
 */
int igniter_open(const char *folder, struct igniter *out, struct hes_err *err);
void igniter_close(struct igniter *d);

const struct hes_share_profile *igniter_profile(const struct igniter *d,
						const struct igniter_alone *a);

#endif
