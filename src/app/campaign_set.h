/*
 * campaign_set.h - a set of jobs with all that its campaign borrows, and several sets: what a
 * request names is loaded, policies are chosen, profiles and a predictor are made known, runs are
 * done.
 *
 * The steps are called in this order. campaign_set_free() takes a set that is zeroed or that
 * failed anywhere. Errors of the second step name an option.
 */
#ifndef HES_APP_CAMPAIGN_SET_H
#define HES_APP_CAMPAIGN_SET_H

#include "app/app.h"
#include "app/campaign.h"
#include "app/model_add.h"

/** What is planned and replayed. Strings that are NULL: the usual. */
struct campaign_request {
	const struct app *app;
	void (*progress)(const char *what, uint64_t done, uint64_t total); /* NULL: none */
	const char *catalogue, *fleet;                                     /* files */
	const char *plan;                         /* file of one more contender */
	const char *store, *predictor, *profiles; /* files */
	const char *physics;                      /* file, or APP_SECOND_PHYSICS */
	const char *policies;                     /* all, or none with a plan */
	const char *prefer, *seeds;               /* seeds: "1..10" */
	const char *static_clocks, *power_limits; /* "T4=900,V100-PCIe=945", MHz or W */
	const char *reference, *show;             /* contenders that must be there */
	double exec_limit_s, time_noise_pct, power_noise_pct, clock_change_ms;
	uint64_t threads, model_draws;
	bool burst, replan;
	bool keep, keep_jobs; /* as in struct campaign */
};

struct campaign_set {
	char name[HES_NAME_MAX]; /* "draw 3", or the file's name */
	struct hes_catalogue catalogue;
	struct hes_fleet fleet;
	struct hes_jobs jobs;
	struct hes_plan plan;
	struct hes_model *model;
	struct app_fits fits;
	struct app_known knowledge;
	struct campaign campaign;
};

/** Load jobs, fleet and model. @param jobs  a file; NULL: @s has them already. @return 0 or a
 * negative errno */
int campaign_set_load(struct campaign_set *s, const struct campaign_request *q, const char *jobs,
		      struct hes_err *err);
/** Choose policies and seeds. @return 0; a negative errno: an option is wrong */
int campaign_set_choose(struct campaign_set *s, const struct campaign_request *q,
			struct hes_err *err);
/** Get profiles and a predictor. */
int campaign_set_learn(struct campaign_set *s, const struct campaign_request *q,
		       struct hes_err *err);
/**
 * Do the runs again on models whose uncertain parameters vary: hes_model_varied(), seeds 1 to
 * q->model_draws, with profiles and a predictor of each. Needs the campaign's own runs.
 */
int campaign_set_draw(struct campaign_set *s, const struct campaign_request *q,
		      struct hes_err *err);
void campaign_set_free(struct campaign_set *s);

/** Several sets: files, or draws of a trace. Every policy plans every set, so that differences
 * between policies are paired. The steps are those of one set. */
struct campaign_sets {
	struct campaign_set *v; /* owned */
	size_t n;
	const char *source;                   /* of the draws; NULL: files. Borrowed */
	uint64_t *seeds;                      /* of the draws; owned */
	struct hes_store_profiling profiling; /* of the workloads of all jobs */
};

/**
 * Load the sets.
 * @param draws  seeds, "10" for 1..10 or "3..7", that draw sets from the one trace in @names; NULL:
 * the names are jobs files
 */
int campaign_sets_load(struct campaign_sets *s, const struct campaign_request *q, const char *draws,
		       size_t n, char *const *names, struct hes_err *err);
/** Choose their policies; a draw is planned with its own seed. @return as campaign_set_choose() */
int campaign_sets_choose(struct campaign_sets *s, const struct campaign_request *q,
			 struct hes_err *err);
/** Learn, plan and replay, set by set. */
int campaign_sets_run(struct campaign_sets *s, const struct campaign_request *q,
		      struct hes_err *err);
void campaign_sets_free(struct campaign_sets *s);

#endif
