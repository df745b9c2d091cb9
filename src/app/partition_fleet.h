/*
 * partition_fleet.h - put jobs on the GPUs of a fleet: which of them share a GPU, with which split.
 */
#ifndef HES_APP_PARTITION_FLEET_H
#define HES_APP_PARTITION_FLEET_H

#include "app/known.h"
#include "app/partition_answer.h"
#include "heshare/fleet.h"
#include "heshare/job.h"

struct partition_fleet {
	const struct partition_request *q;
	struct hes_jobs jobs;
	struct hes_fleet fleet;
	struct partition_inputs in;
	struct partition_name *names; /* [jobs.n] */
	const struct hes_gpu_type *types[APP_KNOWN_TYPES];
	size_t n_types;
	const struct hes_share_profile **profiles;
	double *floor;
	uint32_t *memory_mib;
	struct hes_partition_groups groups;
};

/** @param out  partition_fleet_free() it in any case */
int partition_fleet(const struct partition_request *q, struct partition_fleet *out,
		    struct hes_err *err);
void partition_fleet_free(struct partition_fleet *t);

#endif
