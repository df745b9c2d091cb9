/*
 * inputs.h - what commands share about their inputs: rows of option tables, dates, GPU types by
 * name, how jobs are known, progress of planning.
 */
#ifndef HES_CLI_INPUTS_INPUTS_H
#define HES_CLI_INPUTS_INPUTS_H

#include <jansson.h>
#include <stdio.h>

#include "heshare/fleet.h"
#include "heshare/plan.h"

/* Where the store is that no --store names. */
#define CLI_STORE_PLACE "HESHARE_STORE, or heshare/store.db below XDG_DATA_HOME or ~/.local/share"

#define CLI_KNOWN_STORE_HELP "store with what was measured; without it, " CLI_STORE_PLACE

/* Rows of option tables. @param where  offset of a const char * */
#define CLI_CATALOGUE_OPT(where)                                                                 \
	{                                                                                        \
		.name = "catalogue", .kind = OPT_FILE, .offset = (where), .arg = "FILE",         \
		.help = "add the GPU types and workloads of this YAML file; a row replaces the " \
			"one of the same name"                                                   \
	}
#define CLI_PREDICTOR_OPT(where)                                                              \
	{                                                                                     \
		.name = "predictor", .kind = OPT_FILE, .offset = (where), .arg = "FILE",      \
		.help = "predictor of heshare train; without it, one trained on the store's " \
			"samples, or on modelled ones where the store has none"               \
	}
#define CLI_PROFILES_OPT(where)                                                         \
	{                                                                               \
		.name = "profiles", .kind = OPT_FILE, .offset = (where), .arg = "FILE", \
		.help = "profiles.csv or its folder, in place of the store's profiles"  \
	}
#define CLI_PROGRESS_OPT(where)                                                          \
	{                                                                                \
		.name = "progress", .kind = OPT_TEXT, .offset = (where), .arg = "REGEX", \
		.help = "count a job's iterations in lines that match REGEX, with one "  \
			"group around the count: '(\\d+)/\\d+', 'step (\\d+)'; lines "   \
			"\"heshare: N iterations\" always count"                         \
	}

/** "2026-11-21" or "2026-11-21T14:30:00Z". @what names the option in the error */
int cli_parse_when(const char *what, const char *text, int64_t *out_us, struct hes_err *err);
/** "2026-11-21 14:30", UTC. */
void cli_format_when(int64_t us, char out[20]);

/** "Jobs: 12 measured, 47 known networks, 1 derived." without an end of line. */
void cli_known_print(FILE *f, const uint32_t known[HES_KNOWN_SOURCES]);
/** @return {"measured": 12, "known": 47, "derived": 1, "unknown": 0} */
json_t *cli_known_json(const uint32_t known[HES_KNOWN_SOURCES]);

/** hes_progress_fn: cli_progress() of a search in cells. @param policy  struct hes_policy */
void cli_plan_progress(void *policy, size_t done, size_t of);

#endif
