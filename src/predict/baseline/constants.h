/*
 * constants.h - the baseline's learnt constants: shared ones, and those of
 * each GPU type and workload that was sampled, with a stand-in for others.
 */
#ifndef HES_PREDICT_CONSTANTS_H
#define HES_PREDICT_CONSTANTS_H

#include <stdbool.h>
#include <stddef.h>

#include "predict/baseline/baseline.h"
#include "trees/model_bytes.h"

#define CONSTANTS_MAX_TYPES     32
#define CONSTANTS_MAX_WORKLOADS 100

/** What is believed of a constant before there are samples. */
struct belief {
	const char *name;
	double start;
	double spread;     /* of its logarithm, or of itself where it is linear: one standard deviation */
	double min, max;
	bool   linear;
};

extern const struct belief shared_beliefs[SHARED_CONSTANTS];
extern const struct belief type_beliefs[TYPE_CONSTANTS];
extern const struct belief workload_beliefs[WORKLOAD_CONSTANTS];

struct known_type {
	char   name[HES_NAME_MAX];
	double v[TYPE_CONSTANTS];
};

struct known_workload {
	char   name[HES_NAME_MAX];
	double v[WORKLOAD_CONSTANTS];
};

/** The last type and the last workload, nameless, stand for those that were never sampled; the others are sorted. */
struct constants_table {
	double                 shared[SHARED_CONSTANTS];
	struct known_type     *types;
	size_t                 n_types;     /* 1 and more */
	struct known_workload *workloads;
	size_t                 n_workloads; /* 1 and more */
	bool                   settled;     /* no constant moves any more, and this is there: */
	struct smooth_max      host;        /* by HOST_SHARPNESS */
};

/** Every constant as believed; names are left empty. @return 0 or -ENOMEM */
int  constants_init(struct constants_table *t, size_t n_types, size_t n_workloads);
void constants_finish(struct constants_table *t);
/** @return 0 or -ENOMEM */
int  constants_copy(const struct constants_table *t, struct constants_table *out);

/** Where a name is, or stands for it. */
size_t constants_type(const struct constants_table *t, const char *name);
size_t constants_workload(const struct constants_table *t, const char *name);

/** Make what is worked out of constants that no longer move. */
void constants_settle(struct constants_table *t);

struct constants constants_at(const struct constants_table *t, size_t type, size_t workload);
struct constants constants_of(const struct constants_table *t, const char *type, const char *workload);

void constants_put(struct model_writer *b, const struct constants_table *t);
/** They come settled. @return 0; -EINVAL unsound; -ENOMEM */
int  constants_get(struct model_reader *r, struct constants_table *out, struct hes_err *err);

#endif
