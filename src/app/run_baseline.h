/*
 * run_baseline.h - what the jobs of a run would have taken one at a time on each GPU at its default
 * clock: an estimate, from their profiles or else from the GPU model.
 */
#ifndef HES_APP_RUN_BASELINE_H
#define HES_APP_RUN_BASELINE_H

#include "app/app.h"
#include "heshare/profile.h"
#include "heshare/run.h"

/** What the jobs do alone: as it was measured, and else from all sources. */
struct run_baseline_from {
	const struct hes_profiles *measured, *known;
	const struct hes_run_added *added; /* jobs that were added to the run */
	size_t n_added;
};

struct run_baseline {
	size_t profiled, modelled; /* of the jobs that are done: with an estimate, by its source */
	size_t energies;           /* of these: with measured joules */
	uint64_t alone_mj, measured_mj; /* of these */
	/* Every job of the run is done and has an estimate: each alone on the GPU that it ran on,
	 * the shortest first. */
	bool has_times;
	struct hes_totals alone;
};

/** @param jobs  of the plan. @return 0; -ENOMEM */
int run_baseline_estimate(const struct app *app, const struct hes_run_report *r,
			  const struct hes_jobs *jobs, const struct run_baseline_from *from,
			  const struct hes_catalogue *c, struct run_baseline *out,
			  struct hes_err *err);

#endif
