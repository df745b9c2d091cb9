/*
 * known.h - what is known of workloads: their profiles, each with its source and its error, and a
 * predictor.
 *
 * A row is a workload at a batch size on a GPU type. Measured rows come first: those of the store,
 * or of profiles that take their place. Then come the networks that the GPU model knows (known.c).
 * What was measured only on other GPU types or at other batch sizes is derived: the model is fitted
 * to the measurements (known_derive.c). A job that nobody knows has no row. If its script was
 * measured with other arguments there is a guess of it (known_runs.c).
 */
#ifndef HES_APP_KNOWN_H
#define HES_APP_KNOWN_H

#include "app/app.h"
#include "heshare/fleet.h"
#include "heshare/job.h"
#include "heshare/model.h"
#include "heshare/plan.h"
#include "heshare/predict.h"
#include "heshare/store.h"
#include "model/fit_profile.h"

#define APP_KNOWN_TYPES   64    /* GPU types of a request, at most */
#define APP_KNOWN_SAMPLES 1000  /* that are drawn for a predictor: the paper's number */
#define APP_KNOWN_NOISE   0.017 /* coefficient of variation that was measured on a V100 */
#define APP_KNOWN_SEED    1

/** How well a row is known. Errors are standard errors as parts of the value; 0: not known. */
struct app_known_row {
	enum hes_known_source source;
	double time_error, power_error;
};

/** A job that nobody knows, by runs of its script with other arguments. */
struct app_known_run {
	char workload[HES_NAME_MAX];
	char gpu_type[HES_NAME_MAX];
	double run_s; /* of a whole run alone, with its start-up */
};

struct app_known {
	struct hes_profiles profiles; /* of all sources: what planners read */
	struct app_known_row *rows;   /* [profiles.n] */
	struct hes_profiles measured; /* the measured ones of them, as they were measured */
	struct hes_predictor *predictor;
	bool learnt; /* the predictor has learnt from measured samples, not from modelled ones
			alone */
	struct app_known_run
		*runs; /* of jobs whose iterations were not given, or that nobody knows */
	size_t n_runs;
	struct hes_model_fit *fits; /* workloads that were added to the model */
	size_t n_fits;
};

/** What to load, and from where. NULL: the usual place. */
struct app_known_request {
	const struct app *app;
	const struct hes_catalogue *catalogue;
	const struct hes_fleet *fleet; /* to plan for; NULL: types */
	const struct hes_gpu_type *const *types;
	size_t n_types;              /* APP_KNOWN_TYPES at most */
	const char *store;           /* file; there may be none at the usual place */
	const char *predictor;       /* file, in place of one that is trained on the store */
	const char *profiles;        /* file or folder, in place of the store's profiles */
	struct hes_model *model;     /* NULL: the built-in one. Measured workloads that it does not
					know are added, if other batch sizes have to be
					derived, or all of them if @replayed is set */
	const struct hes_jobs *jobs; /* whose rows are derived; NULL: none */
	/* In place of store and profiles; of workloads that the model knows by no name. Rows come
	   from these alone. NULL: not so */
	const struct hes_profiles *seen;
	bool replayed;      /* on the model: it needs every workload of the jobs */
	bool profiles_only; /* no predictor is needed */
	bool again;         /* it was loaded before: nothing is said of it */
};

/**
 * The same request and store give the same result. A predictor is trained unless the store keeps
 * the one of the same samples; one that was trained is kept there.
 * @param out  app_known_free() it; written on success only
 * @return 0; -EPERM another user can write the store; errors of reading the store, the predictor,
 * the profiles or the model
 */
int app_known_load(const struct app_known_request *q, struct app_known *out, struct hes_err *err);
void app_known_free(struct app_known *k);

/**
 * Profiles that were measured: derived from the points of jobs alone, and the store's profiles of
 * what has no such points. @types may be missing in the catalogue; points of other types that it
 * lacks are passed over.
 * @return 0; errors of reading the store; -ENOMEM
 */
int app_known_measured(struct hes_store *s, const struct hes_catalogue *c,
		       const struct hes_gpu_type *const *types, size_t n_types,
		       struct hes_profiles *out, struct hes_err *err);

/** What profiling took of what is measured of @jobs. @profiles as in a request; of them it is not
 * known. @return 0; errors of reading the store; -ENOMEM */
int app_known_profiling(struct hes_store *s, const struct hes_profiles *profiles,
			const struct hes_jobs *jobs, struct hes_store_profiling *out,
			struct hes_err *err);

/** The same for a request, of which it needs app, store, profiles and jobs. */
int app_known_profiling_of(const struct app_known_request *q, struct hes_store_profiling *out,
			   struct hes_err *err);

/** How well a workload at a batch size is known on a GPU type. Of two rows to interpolate between,
 * the worse one counts. No row: unknown. */
struct app_known_row app_known_of(const struct app_known *k, const char *workload,
				  uint32_t batch_size, const char *gpu_type);

/** How long a job that nobody knows may take alone on a GPU type, by runs of its script with other
 * arguments; of other GPU types, if this one had none. @return seconds; 0: not known */
double app_known_run_s(const struct app_known *k, const struct hes_job *job, const char *gpu_type);

/** Count the jobs of a plan by the source of their row on the GPU type on which they are placed. */
void app_known_count_plan(const struct app_known *k, const struct hes_fleet *f,
			  const struct hes_jobs *jobs, struct hes_plan *p);
/** Jobs by the source of their worst row on any GPU type of a fleet. */
void app_known_count_jobs(const struct app_known *k, const struct hes_fleet *f,
			  const struct hes_jobs *jobs, uint32_t out[HES_KNOWN_SOURCES]);

/**
 * Fit types to what was measured: their default clock is the one that GPUs held without a lock.
 * What was measured on a type counts before what was modelled. Clocks that the predictor of a file
 * never saw are not offered.
 * @param file  whether the predictor comes from a file
 */
void app_known_fit(const struct app_known *k, bool file, struct hes_gpu_type *types, size_t n);

#endif
