/*
 * replay_tenants.h - the results of `fair_simulate`: replay_tenants.c computes,
 * replay_out.c prints and fair_plot.c draws them.
 */
#ifndef PAPERS_REPLAY_TENANTS_H
#define PAPERS_REPLAY_TENANTS_H

#include "tenants_file.h"
#include "fair_series.h"

/* A replay with one phi. */
struct fair_simulation_run {
	double phi;
	struct hes_fairness f;
	struct fair_replay_usage *usage; /* of each tenant */
};

struct fair_simulation {
	struct fair_tenants t;
	struct fair_replay_config c; /* its phi is that of the last run */
	struct fair_simulation_run *runs;
	size_t n_runs;
	bool sweep, timed;         /* timed: with shares over time */
	struct fair_series series; /* of the only run, where there is no sweep */
	double phi_fair;
};

/** Parts of all GPU time and of all energy that a tenant used in a run. */
double fair_time_share(const struct fair_simulation *s, const struct fair_simulation_run *r,
		       size_t tenant);
double fair_energy_share(const struct fair_simulation *s, const struct fair_simulation_run *r,
			 size_t tenant);

void fair_simulation_print(const struct fair_simulation *s);
/** @return exit status */
int fair_simulation_print_json(const struct fair_simulation *s);
int fair_simulation_write_csv(const struct fair_simulation *s, const char *path,
			      struct hes_err *err);
int fair_simulation_plot(const struct fair_simulation *s, const char *path, struct hes_err *err);

#endif
