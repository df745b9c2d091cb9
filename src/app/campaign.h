/*
 * campaign.h - replay each policy with each seed on one set of jobs, in parallel.
 *
 * A caller sets what is borrowed (model, fleet, jobs, profiles, predictor), names contenders and
 * seeds, and runs all. Each run has its own result, so results do not depend on the number of
 * threads. What the campaign owns goes with campaign_free().
 */
#ifndef HES_APP_CAMPAIGN_H
#define HES_APP_CAMPAIGN_H

#include "app/known.h"
#include "app/policy_program.h"
#include "heshare/report.h"
#include "heshare/sim.h"

#define CAMPAIGN_ALL "all" /* in a list of policies */

/** A policy with its preference, or a plan made beforehand. */
struct contender {
	const struct hes_policy *policy; /* NULL: the plan */
	const struct hes_plan *plan;     /* borrowed */
	const char *name;
	const char *prefer; /* "" for none */
};

/** What one run gave. */
struct campaign_run {
	const struct contender *who;
	uint64_t seed;
	bool keep;
	struct hes_replay replay;    /* without keep and keep_jobs: its totals only */
	struct hes_plan carried_out; /* with keep */
	struct hes_front front; /* with keep: of the planning of all jobs at once; else empty */
	uint32_t deadlines_missed;
	double effort;      /* hes_policy_effort() of all planning calls together */
	double plan_wall_s; /* all planning calls together */
	int rc;
	struct hes_err err; /* valid if rc */
};

struct campaign {
	const struct app *app;
	const struct hes_catalogue *catalogue;
	const struct hes_model *model;
	const struct hes_model_fit *fits; /* of its workloads that were fitted to profiles */
	size_t n_fits;
	const struct hes_fleet *fleet;
	struct hes_fleet limited; /* the fleet for policies that limit power; owned */
	const struct hes_jobs *jobs;
	const struct hes_profiles *profiles;
	const struct hes_predictor *predictor;
	uint32_t known[HES_KNOWN_SOURCES]; /* jobs by how they are known, at worst on a GPU type of
					      the fleet */
	struct hes_store_profiling profiling; /* of the jobs' workloads; no origins: none */
	struct hes_sim terms;                 /* clock change and noise; the rest is filled in */
	bool replan_all; /* policies with open queues, too, plan everything at every arrival
			    (replanner.h) */
	/* Called by one thread at a time, at the start and end of each run; NULL: never. */
	void (*progress)(const char *what, uint64_t done, uint64_t total);
	bool keep;             /* outcomes, segments, plans and fronts of the first seed */
	bool keep_jobs;        /* outcomes and segments of every run */
	struct contender *who; /* owned */
	size_t n_who;
	struct policy_program **programs; /* of contenders; owned */
	size_t n_programs;
	double exec_limit_s; /* of a program, for a plan */
	uint64_t *seeds;     /* owned */
	size_t n_seeds;
	struct campaign_run *runs; /* n_who * n_seeds, by contender and then seed; owned */
	struct hes_totals *draws; /* n_draws * n_who: means over the seeds on other models; owned */
	size_t n_draws;
};

/**
 * Contenders from names such as "heshare:energy,exec:./mine,morak"; CAMPAIGN_ALL stands for every
 * policy of the table.
 * @param prefer  for those named without a preference; NULL: every one of "all", else a policy's
 * first
 */
int campaign_policies(struct campaign *c, const char *list, const char *prefer,
		      struct hes_err *err);
/** One more contender: a plan made beforehand, shown by the name of its file. Plan and path are
 * borrowed. */
int campaign_add_plan(struct campaign *c, const char *path, const struct hes_plan *plan,
		      struct hes_err *err);
/** Seeds from "7", "1,5,9" or "1..10". @param what  the option, for errors */
int campaign_seeds(struct campaign *c, const char *what, const char *text, struct hes_err *err);

/** Whether some contender is a policy for which @is is true. */
bool campaign_any(const struct campaign *c, hes_policy_is *is);
/** hes_policy_is: it has one clock, or one power limit, for each GPU type. */
hes_policy_is campaign_is_static, campaign_limits_power;

/** Whether a contender can plan once and then place what arrives. */
bool campaign_can_replan(const struct contender *w);

/** Do all runs on @threads threads (0: as many as there are). Fails with the first failure in
 * order. */
int campaign_run_all(struct campaign *c, int threads, struct hes_err *err);
void campaign_free_runs(struct campaign *c);
void campaign_free(struct campaign *c);

/** Whether a contender predicts what will happen; a plan written by hand may not. */
static inline bool contender_predicts(const struct contender *w)
{
	return !w->plan || !w->plan->unpredicted;
}

/** "heshare:energy", "random". */
void campaign_contender_label(const struct contender *w, char *out, size_t size);

/** Runs of a contender: n_seeds of them. */
const struct campaign_run *campaign_runs_of(const struct campaign *c, size_t who);

/** A row a contender, seed and job; needs keep_jobs. @return 0 or a negative errno */
int campaign_write_jobs(const struct campaign *c, const char *path, struct hes_err *err);

/** Rows of a report, means over the seeds; jct_s are NULL. @return n_who rows, the caller's:
 * free(); NULL: out of memory */
struct hes_report_policy *campaign_rows(const struct campaign *c);

/** @return index of the first contender called so ("heshare:energy", or "heshare" for its first),
 * or -1 */
long campaign_find(const struct campaign *c, const char *label);
/** What a campaign is shown as; NULL: not so. */
struct campaign_pages {
	const char *report;  /* HTML file with everything */
	const char *figures; /* folder for each figure as an SVG file */
};

/**
 * Write the pages; needs keep.
 * @param chosen   contender whose plan is drawn; NULL: the best
 * @param command  shown as the way to make it again
 */
int campaign_write_report(const struct campaign *c, const struct campaign_pages *pages,
			  const char *chosen, const char *command, struct hes_err *err);

#endif
