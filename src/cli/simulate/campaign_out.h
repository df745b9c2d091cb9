/*
 * campaign_out.h - show a campaign, or several sets of jobs: tables, JSON and CSV.
 */
#ifndef HES_CLI_SIMULATE_CAMPAIGN_OUT_H
#define HES_CLI_SIMULATE_CAMPAIGN_OUT_H

#include <jansson.h>

#include "app/campaign_compare.h"
#include "cli/inputs/inputs.h"

enum figure_unit { FIGURE_SECONDS, FIGURE_JOULES, FIGURE_PART, FIGURE_PERCENT, FIGURE_COUNT };

/** What is shown of a run: a row a figure, in the order of table, JSON and CSV. */
struct figure {
	const char *key;  /* "avg_jct_s"; "": not in JSON and CSV */
	const char *head; /* of the table's column; NULL: not in the table */
	enum figure_unit unit;
	int better; /* -1 less is better, 2 nearer to zero is, 0 neither */
	bool brief; /* in the table also without --wide, with its change against the reference */
	double (*of)(const struct campaign_run *r);
};

#define CAMPAIGN_TIMING \
	"plan_wall_s" /* the key of the figure that is not the same on every machine */
#define CAMPAIGN_MISSED \
	"deadlines_missed" /* of the one that is a column only where there are deadlines */

extern const struct figure campaign_figures[]; /* ends with a row whose key is NULL */

/** Whether a figure is shown: planning times only with @timing. */
bool campaign_shows(const struct figure *f, bool timing);

/** GPU types and workloads without a sample behind their predictions. @return NULL: nothing was
 * predicted */
json_t *campaign_never_sampled(const struct campaign *c);

/**
 * Aligned text: the mean over the seeds, below it the standard deviation where they differ; at the
 * end the sentence of hes_report_sentence(). On a terminal, columns that do not fit follow below.
 */
int campaign_print_table(const struct campaign *c, bool wide, bool timing, struct hes_err *err);
/** One line for each setting that policies have for all jobs: static clocks, power limits. */
void campaign_print_settings(const struct campaign *c);
/** A line: what profiling took once, which no row of the policies has. */
void campaign_print_profiling(const struct hes_store_profiling *p);
/** @return null where nothing was profiled */
json_t *campaign_profiling_json(const struct hes_store_profiling *p);
/** The ranges over the draws, and a sentence; needs draws. */
int campaign_print_draws(const struct campaign *c, struct hes_err *err);
/** Totals of every draw and contender. @return NULL: no draws */
json_t *campaign_draws_json(const struct campaign *c);
/** A row a contender and seed. @return 0 or a negative errno */
int campaign_write_csv(const struct campaign *c, const char *path, bool timing,
		       struct hes_err *err);
/** docs/formats/simulate.md. @return the document, NULL when out of memory */
json_t *campaign_json(const struct campaign *c, bool timing);

/** Means over the sets, the paired difference from a reference, and who dominates whom.
 * @param reference  a contender; NULL: exclusive, or the first */
int sets_print(const struct campaign_sets *s, const char *reference, struct hes_err *err);
/** docs/formats/simulate.md. @return NULL: out of memory */
json_t *sets_json(const struct campaign_sets *s, const struct campaign_request *q, bool timing);

#endif
