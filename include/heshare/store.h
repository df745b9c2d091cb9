/*
 * store.h - what was learnt of workloads, kept between runs: profiles and
 * samples with where each came from, and what predictors said of samples that
 * they had not seen.
 *
 * One SQLite file in WAL mode (docs/store.md). A call that adds or removes is
 * one transaction: when it returns 0 its rows are on the disk, and when it
 * fails the store is as it was. Only when the disk fails to sync at the very end
 * (-EIO) the whole change may be there when the file is opened again. Several processes may use one file at a time;
 * writers wait for one another. A handle belongs to one thread at a time.
 *
 * Errors of every call: -EBUSY another process held the file for longer than
 * the wait; -ENOSPC no room; -EROFS, -EACCES not to be written; -EBADMSG
 * damaged; -EIO; -ENOMEM. The sentence names the file. Outputs are written on
 * success alone; arrays are the caller's, free() them.
 */
#ifndef HESHARE_STORE_H
#define HESHARE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heshare/err.h"
#include "heshare/point.h"
#include "heshare/profile.h"

#define HES_STORE_WAIT_MS     10000 /* a wait for other writers that suits a person */
#define HES_STORE_ORIGIN_NAME 256

struct hes_store;

enum hes_store_mode {
	HES_STORE_READ,  /* the file must be there; it is only written to bring an older version up */
	HES_STORE_WRITE, /* made if it is not there, its folder must be; checked for damage first */
};

/** Where rows come from. */
enum hes_source {
	HES_SOURCE_MEASURED, /* heshare measured them on a GPU */
	HES_SOURCE_IMPORTED, /* somebody else did */
	HES_SOURCE_MODELLED, /* drawn from the testbed's physics: kept apart unless requested */
};

extern const char *const hes_source_names[]; /* by enum hes_source; ends with NULL */

/**
 * Open a store, in the present version of its schema.
 * @param wait_ms  how long to wait for other writers, now and in every later call
 * @return 0; -ENOENT none there; -EINVAL not a store; -ENOTSUP written by a newer heshare
 */
int  hes_store_open(const char *path, enum hes_store_mode mode, int wait_ms, struct hes_store **out,
		    struct hes_err *err);
void hes_store_close(struct hes_store *s);
/** Name of its file. */
const char *hes_store_path(const struct hes_store *s);

/** A prediction of one sample; iteration_us 0: none was made. */
struct hes_forecast {
	double   iteration_us;
	uint32_t power_mw;
};

/** A predictor as the store knows it: by what its file holds. */
struct hes_store_predictor {
	uint32_t    crc;   /* hes_predictor_checksum() */
	uint32_t    rows;  /* samples it was fitted on */
	int64_t     at_us; /* when it was first heard of, us since 1970 UTC */
	const char *name;  /* of its file, for people */
};

/** Rows that come together. */
struct hes_delivery {
	enum hes_source            source;
	int64_t                    at_us;     /* when they were measured or drawn, us since 1970 UTC */
	const char                *name;      /* file or command, for people; cut after HES_STORE_ORIGIN_NAME - 1 bytes */
	const struct hes_profiles *profiles;  /* may be NULL */
	const struct hes_samples  *samples;   /* may be NULL */
	const struct hes_store_predictor *predictor; /* may be NULL; that of the forecasts */
	const struct hes_forecast *forecasts; /* one a sample, made before anybody learnt from it */
	const struct hes_points   *points;    /* may be NULL */
	int64_t     into;      /* number of an earlier delivery that these rows belong to; 0: one of their own */
};

struct hes_delivered {
	size_t  profiles_new, profiles_known; /* known: a row of the same values was there */
	size_t  samples_new, samples_known;
	size_t  points_new, points_known;
	size_t  forecasts;  /* kept: those of new samples */
	int64_t origin;     /* number of this delivery; 0 when nothing was new */
};

/**
 * Add rows. A row of the same values (reals to HES_PROFILE_DIGITS digits) is never added again, so that adding is idempotent;
 * co-runners have a fixed order, and a sample is the same with and without their names.
 * @return 0; -EEXIST a row is there as modelled and now comes as measured or imported, or the other
 *         way round; -EINVAL, -ERANGE a value that profiles and samples cannot have
 */
int hes_store_add(struct hes_store *s, const struct hes_delivery *d, struct hes_delivered *out,
		  struct hes_err *err);

/** Remove what a delivery brought, and the forecasts of it. @return 0; -ENOENT no such origin */
int hes_store_forget(struct hes_store *s, int64_t origin, struct hes_err *err);

/** Rows wanted. */
struct hes_store_query {
	const char *workload;      /* NULL: all */
	bool        with_modelled;
};

/**
 * Profiles, sorted; of several of one workload, type and batch size, the newest, measured and
 * imported ones before modelled ones. None is no error.
 * @return 0; -EBADMSG a row whose values are not those that were added
 */
int hes_store_profiles(struct hes_store *s, const struct hes_store_query *q, struct hes_profiles *out,
		       struct hes_err *err);
/** Samples in the order they came. */
int hes_store_samples(struct hes_store *s, const struct hes_store_query *q, struct hes_samples *out,
		      struct hes_err *err);

/** Rows of measured points in the order they came. */
int hes_store_points(struct hes_store *s, const struct hes_store_query *q, struct hes_points *out,
		     struct hes_err *err);

/** What there is of a workload on a GPU type. */
struct hes_store_holding {
	char     workload[HES_NAME_MAX];
	char     gpu_type[HES_NAME_MAX];
	uint32_t profiles;             /* batch sizes that have one */
	uint32_t profiles_modelled;    /* of these, those that only have modelled ones */
	uint32_t batch_min, batch_max; /* 0: none */
	uint32_t samples;
	uint32_t samples_modelled;     /* of these */
	int64_t  newest_us;            /* of profiles and samples */
};

/** Sorted by (workload, type). */
int hes_store_holdings(struct hes_store *s, struct hes_store_holding **out, size_t *out_n, struct hes_err *err);

/** A delivery that added something. */
struct hes_store_origin {
	int64_t         id;
	int64_t         at_us;
	enum hes_source source;
	char            name[HES_STORE_ORIGIN_NAME];
	uint32_t        profiles, samples, points; /* rows of each */
};

/** In the order they came. */
int hes_store_origins(struct hes_store *s, struct hes_store_origin **out, size_t *out_n, struct hes_err *err);

/**
 * Keep what a predictor says of samples of this store that were held back from its training: its
 * errors there are what later ones are compared with. Samples that are no longer in the store
 * and samples without a prediction are skipped.
 */
int hes_store_keep_validation(struct hes_store *s, const struct hes_store_predictor *p,
			      const struct hes_samples *held_back, const struct hes_forecast *forecasts,
			      struct hes_err *err);

/** A predictor that the store has forecasts of. */
struct hes_store_forecaster {
	uint32_t crc, rows;
	int64_t  at_us;
	char     name[HES_STORE_ORIGIN_NAME];
	uint32_t held_back, fresh; /* forecasts of rows held back from training, and of rows that came later */
};

/** Those with the latest fresh forecasts first, then the latest. */
int hes_store_forecasters(struct hes_store *s, struct hes_store_forecaster **out, size_t *out_n,
			  struct hes_err *err);

/** How far one forecast was off. */
struct hes_store_miss {
	char   gpu_type[HES_NAME_MAX];
	bool   fresh;       /* of a row that came after training; else held back from it */
	double time, power; /* |measured - predicted| / measured */
};

/**
 * Of a predictor's forecasts: those of rows held back, whatever their source, then the fresh ones, latest first.
 * @param with_modelled  fresh ones of modelled samples too
 * @return 0; -ENOENT the store has none of this predictor
 */
int hes_store_misses(struct hes_store *s, uint32_t crc, bool with_modelled, struct hes_store_miss **out,
		     size_t *out_n, struct hes_err *err);

#endif
