/*
 * constants.h - the baseline's fitted constants: shared ones, those of each sampled GPU type and
 * workload, and general ones for others.
 */
#ifndef HES_PREDICT_CONSTANTS_H
#define HES_PREDICT_CONSTANTS_H

#include <stdbool.h>
#include <stddef.h>

#include "predict/baseline/baseline.h"
#include "trees/model_io.h"

#define CONSTANTS_MAX_TYPES     32
#define CONSTANTS_MAX_WORKLOADS 100

/** What is assumed about a constant before there are samples. */
struct prior {
	const char *name;
	double start;
	double spread; /* standard deviation of its logarithm; of itself when linear */
	double min, max;
	bool linear;
};

extern const struct prior shared_priors[SHARED_CONSTANTS];
extern const struct prior type_priors[TYPE_CONSTANTS];
extern const struct prior workload_priors[WORKLOAD_CONSTANTS];

struct known_type {
	char name[HES_NAME_MAX];
	double v[TYPE_CONSTANTS];
};

struct known_workload {
	char name[HES_NAME_MAX];
	double v[WORKLOAD_CONSTANTS];
};

/** Sorted by name; the last type and the last workload have no name and are used for those never
 * sampled. */
struct constants_table {
	double shared[SHARED_CONSTANTS];
	struct known_type *types;
	size_t n_types; /* 1 and more */
	struct known_workload *workloads;
	size_t n_workloads;     /* 1 and more */
	bool settled;           /* constants are final, and host is valid */
	struct smooth_max host; /* by HOST_SHARPNESS */
};

/** Every constant at its prior, names empty. @return 0 or -ENOMEM */
int constants_init(struct constants_table *t, size_t n_types, size_t n_workloads);
void constants_finish(struct constants_table *t);
/** @return 0 or -ENOMEM */
int constants_copy(const struct constants_table *t, struct constants_table *out);

/** Index of a name; of the last one when it is not there. */
size_t constants_type(const struct constants_table *t, const char *name);
size_t constants_workload(const struct constants_table *t, const char *name);

/** Compute what depends only on constants; call it when they are final. */
void constants_settle(struct constants_table *t);

struct constants constants_at(const struct constants_table *t, size_t type, size_t workload);
struct constants constants_of(const struct constants_table *t, const char *type,
			      const char *workload);

/** Write constants, or read them settled. */
void constants_io(struct model_io *io, struct constants_table *t);

#endif
