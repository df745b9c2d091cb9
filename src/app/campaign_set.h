/*
 * simulated.h - `heshare simulate` on one set of jobs: its options, what it loads, and its
 * campaign.
 */
#ifndef HES_CLI_SIMULATE_SIMULATED_H
#define HES_CLI_SIMULATE_SIMULATED_H

#include "cli/simulate/campaign_out.h"

struct simulate_opts {
	const char *fleet, *policy, *prefer, *seeds, *plan, *store, *predictor, *profiles, *physics,
		*csv, *per_job, *show, *catalogue, *draws, *reference, *static_clocks,
		*sweep_figure;
	const char *limit_given;
	bool burst, replan, json, wide, no_timing, sweep;
	double exec_limit_s, time_noise_pct, power_noise_pct, clock_change_ms, limit_pct;
	uint64_t threads, model_draws;
	struct campaign_pages pages;
};

/** A set of jobs with all that its campaign borrows. */
struct simulated {
	char name[HES_NAME_MAX]; /* "draw 3", or the file's name */
	struct hes_catalogue catalogue;
	struct hes_fleet fleet;
	struct hes_jobs jobs;
	struct hes_plan plan;
	struct hes_model *model;
	struct cli_fits fits;
	struct hes_known knowledge;
	struct campaign campaign;
};

/** Load jobs, fleet and model. @param jobs  a file; NULL: @s has them already. @return 0 or a
 * negative errno */
int simulated_load(struct simulated *s, const struct simulate_opts *o, const char *jobs,
		   struct hes_err *err);
/** Choose policies and seeds. @return 0; a negative errno: an option is wrong */
int simulated_choose(struct simulated *s, const struct simulate_opts *o, struct hes_err *err);
/** Get profiles and a predictor. */
int simulated_learn(struct simulated *s, const struct simulate_opts *o, struct hes_err *err);
/** Plan, replay and write the files that options name. */
int simulated_run(struct simulated *s, const struct simulate_opts *o, const char *jobs,
		  struct hes_err *err);
void simulated_free(struct simulated *s);

#endif
