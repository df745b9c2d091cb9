/*
 * store.h - the store: profiles, samples and points with their origins.
 *
 * One SQLite file in WAL mode (docs/store.md). A call that adds or removes is one transaction: when
 * it returns 0 its rows are on the disk, and when it fails the store is as it was. Exception: if
 * the last sync to the disk fails (-EIO), the whole change may be in the file. Several processes
 * may use a file at the same time; writers wait for each other. One thread at a time uses a handle.
 *
 * Errors of every call: -EBUSY another process held the file for longer than
 * the wait; -ENOSPC no room; -EROFS, -EACCES the file cannot be written; -EBADMSG it is
 * damaged; -EIO; -ENOMEM. The sentence names the file. Outputs are written only on
 * success; free() arrays.
 */
#ifndef HESHARE_STORE_H
#define HESHARE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heshare/err.h"
#include "heshare/job.h"
#include "heshare/point.h"
#include "heshare/profile.h"

#define HES_STORE_WAIT_MS     10000 /* default wait for other writers */
#define HES_STORE_ORIGIN_NAME 256

struct hes_store;

enum hes_store_mode {
	HES_STORE_READ,  /* the file must exist; it is written only to update an older version */
	HES_STORE_WRITE, /* created if needed, in an existing folder; checked for damage first */
};

/** Where rows come from. */
enum hes_source {
	HES_SOURCE_MEASURED, /* heshare measured them on a GPU */
	HES_SOURCE_IMPORTED, /* measured elsewhere */
	HES_SOURCE_MODELLED, /* drawn from the testbed's physics: kept apart unless requested */
};

extern const char *const hes_source_names[]; /* by enum hes_source; ends with NULL */

/**
 * Open a store, and update its schema if it is old.
 * @param wait_ms  how long to wait for other writers, now and in every later call
 * @return 0; -ENOENT no such file; -EINVAL not a store; -ENOTSUP written by a newer heshare
 */
int hes_store_open(const char *path, enum hes_store_mode mode, int wait_ms, struct hes_store **out,
		   struct hes_err *err);
void hes_store_close(struct hes_store *s);
/** Name of its file. */
const char *hes_store_path(const struct hes_store *s);

/** Rows that are added together. */
struct hes_delivery {
	enum hes_source source;
	int64_t at_us;    /* when they were measured or drawn, us since 1970 UTC */
	const char *name; /* file or command; cut after HES_STORE_ORIGIN_NAME - 1 bytes */
	const struct hes_profiles *profiles; /* may be NULL */
	const struct hes_samples *samples;   /* may be NULL */
	const struct hes_points *points;     /* may be NULL */
	int64_t into; /* number of an earlier delivery to add to; 0: a new delivery */
	const struct hes_points *replaced; /* rows of that delivery that the points replace; may be
					      NULL */
	const struct hes_profiling_cost *cost; /* of all its rows so far; NULL: as it was */
};

struct hes_delivered {
	size_t profiles_new, profiles_known; /* known: the store had a row with the same values */
	size_t samples_new, samples_known;
	size_t points_new, points_known;
	int64_t origin; /* number of this delivery; 0 when nothing was new */
};

/**
 * Add rows. A row with the same values (reals to HES_PROFILE_DIGITS digits) is never added again,
 * so adding is idempotent. Co-runners have a fixed order.
 * @return 0; -EEXIST a row that the store has as modelled is now added as measured or imported, or
 * the reverse; -EINVAL, -ERANGE a value that profiles and samples cannot have
 */
int hes_store_add(struct hes_store *s, const struct hes_delivery *d, struct hes_delivered *out,
		  struct hes_err *err);

/** Remove the rows of a delivery. @return 0; -ENOENT no such origin */
int hes_store_forget(struct hes_store *s, int64_t origin, struct hes_err *err);

/** Which rows to read. */
struct hes_store_query {
	const char *workload; /* NULL: all */
	bool with_modelled;
};

/**
 * Profiles, sorted. Of several with the same workload, type and batch size: the newest measured or
 * imported one, else the newest modelled one. No profile is no error.
 * @return 0; -EBADMSG a row whose values were changed
 */
int hes_store_profiles(struct hes_store *s, const struct hes_store_query *q,
		       struct hes_profiles *out, struct hes_err *err);
/** Samples in the order in which they were added. */
int hes_store_samples(struct hes_store *s, const struct hes_store_query *q, struct hes_samples *out,
		      struct hes_err *err);

/** Rows of measured points in the order in which they were added. */
int hes_store_points(struct hes_store *s, const struct hes_store_query *q, struct hes_points *out,
		     struct hes_err *err);

/** The rows of a workload on a GPU type. */
struct hes_store_holding {
	char workload[HES_NAME_MAX];
	char gpu_type[HES_NAME_MAX];
	uint32_t profiles;             /* batch sizes that have one */
	uint32_t profiles_modelled;    /* of these, batch sizes that have only modelled profiles */
	uint32_t batch_min, batch_max; /* of profiles and points; 0: none */
	uint32_t samples;
	uint32_t samples_modelled; /* of these */
	uint32_t points;           /* rows */
	int64_t newest_us;         /* of all of these */
};

/** Sorted by (workload, type). */
int hes_store_holdings(struct hes_store *s, struct hes_store_holding **out, size_t *out_n,
		       struct hes_err *err);

/** A delivery that added something. */
struct hes_store_origin {
	int64_t id;
	int64_t at_us;
	enum hes_source source;
	char name[HES_STORE_ORIGIN_NAME];
	uint32_t profiles, samples, points; /* rows of each */
	struct hes_profiling_cost cost;
};

/** In the order in which they were added. */
int hes_store_origins(struct hes_store *s, struct hes_store_origin **out, size_t *out_n,
		      struct hes_err *err);

/** What it took to profile some jobs. */
struct hes_store_profiling {
	size_t origins;                 /* deliveries with rows of their workloads, runs left out */
	size_t unknown;                 /* of these: what they took was not measured */
	struct hes_profiling_cost cost; /* of the others, also for other workloads' rows */
};

/** What the measured and imported rows of the workloads of jobs took. What runs measured took
 * nothing besides the runs. */
int hes_store_profiling(struct hes_store *s, const struct hes_jobs *jobs,
			struct hes_store_profiling *out, struct hes_err *err);

/** A hash of the samples that are not modelled. */
int hes_store_mark(struct hes_store *s, uint64_t *out, struct hes_err *err);

/** The bytes that were kept under @key. @return 0; -ENOENT none */
int hes_store_trained(struct hes_store *s, uint64_t key, char **out, size_t *n,
		      struct hes_err *err);
/** Keep a predictor that was trained, in place of the oldest of eight. @return 0; -E2BIG it is too
 * large for a row */
int hes_store_keep_trained(struct hes_store *s, uint64_t key, int64_t at_us, const char *bytes,
			   size_t n, struct hes_err *err);

#define HES_STORE_SET_MAX 704 /* bytes for the jobs of a set */

/** A co-run set that a run measured against taking turns. */
struct hes_store_set {
	char gpu_type[HES_NAME_MAX];
	char jobs[HES_STORE_SET_MAX]; /* "NAME/BATCH@SHARE" of each, sorted, commas between them */
	double time, energy;          /* of the set / of its jobs in turns; energy NaN: not known */
	double se;                    /* standard error of time, as a part of it */
	int64_t at_us;                /* since 1970 UTC */
};

/** Keep what a run saw, in place of what an earlier one saw of the same set. @return 0; -EINVAL a
 * time that is none */
int hes_store_keep_set(struct hes_store *s, const struct hes_store_set *set, struct hes_err *err);
/** Sorted by (type, jobs). @param workload  one of the jobs; NULL: all sets */
int hes_store_sets(struct hes_store *s, const char *workload, struct hes_store_set **out, size_t *n,
		   struct hes_err *err);
/** @param out  whether jobs of the workload may be held: no co-runner stalled meanwhile */
int hes_store_may_hold(struct hes_store *s, const char *workload, bool *out, struct hes_err *err);
/** Remove the sets of a workload, and whether it may be held. @return 0; -ENOENT there is neither
 */
int hes_store_forget_sets(struct hes_store *s, const char *workload, struct hes_err *err);

#endif
