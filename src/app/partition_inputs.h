/*
 * partition_inputs.h - what a partition is predicted from: measured points of a store or file, or
 * drawn from the GPU model, and a model trained on them.
 */
#ifndef HES_APP_PARTITION_INPUTS_H
#define HES_APP_PARTITION_INPUTS_H

#include <stdbool.h>

#include "app/app.h"
#include "heshare/device.h"
#include "heshare/partition.h"

struct partition_from {
	const struct app *app;
	void (*progress)(const char *what, uint64_t done, uint64_t total); /* NULL: none */
	const char *store;                                                 /* NULL: the user's */
	const char *points; /* points.csv or its folder; NULL: the store */
	bool modelled;
};

/** A job as it was named: NAME or NAME/BATCH. */
struct partition_name {
	char workload[HES_NAME_MAX];
	uint32_t batch_size; /* 0: not given */
};

struct partition_inputs {
	const struct partition_from *from; /* of the load; borrowed */
	struct hes_catalogue catalogue;
	char what[HES_ERR_MAX]; /* where points come from, for people */
	bool modelled;
	struct hes_points points;
	struct hes_share_profiles profiles;
	struct hes_partition_model *model;
};

/** Read NAME or NAME/BATCH. @return 0 or -EINVAL */
int partition_name_parse(const char *text, struct partition_name *out, struct hes_err *err);

/**
 * Read or draw points, and make share profiles of them.
 * @param jobs, types  of modelled points: what is drawn; sizes at least 1
 */
int partition_inputs_load(const struct partition_from *from, const struct partition_name *jobs,
			  size_t n_jobs, const struct hes_gpu_type *const *types, size_t n_types,
			  struct partition_inputs *in, struct hes_err *err);
/** Train the model for these types, which are the catalogue's. */
int partition_inputs_train(struct partition_inputs *in, const struct hes_gpu_type *const *types,
			   size_t n_types, struct hes_err *err);
void partition_inputs_free(struct partition_inputs *in);

/** Clocks to choose from, at most. */
#define PARTITION_CLOCKS (HES_MAX_CLOCKS + 1)

/**
 * The share profile of a job on a type at a clock. A batch size that was not given is the only one
 * there is.
 * @return NULL with a sentence that names the command which would measure what is missing
 */
const struct hes_share_profile *partition_find(const struct partition_inputs *in,
					       const struct partition_name *job,
					       const struct hes_gpu_type *g, uint32_t clock_mhz,
					       struct hes_err *err);

/** A stored command as heshare profile takes it. */
const char *partition_command(const char *stored);

/** The one type on which all jobs have a share profile. @return NULL with a sentence */
const struct hes_gpu_type *partition_only_type(const struct partition_inputs *in,
					       const struct partition_name *jobs, size_t n,
					       struct hes_err *err);

#endif
