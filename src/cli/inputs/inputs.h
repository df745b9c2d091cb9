/*
 * inputs.h - what commands share about their inputs: rows of option tables and values of options,
 * dates, how jobs are known and workloads were fitted, what profiling took, progress of planning.
 */
#ifndef HES_CLI_INPUTS_INPUTS_H
#define HES_CLI_INPUTS_INPUTS_H

#include <jansson.h>
#include <stdio.h>

#include "cli/opt.h"
#include "heshare/fleet.h"
#include "heshare/plan.h"
#include "heshare/store.h"
#include "model/fit_profile.h"

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

/* The row of an option for the time limit; a double at @at. */
#define EXEC_LIMIT_OPT(at)                                                                    \
	{                                                                                     \
		.name = "exec-limit", .kind = OPT_DOUBLE, .offset = (at), .arg = "S",         \
		.def = "600", .min = 0.001, .max = 1e7,                                       \
		.help = "end an exec: program and its processes that has no plan after this " \
			"time, "                                                              \
			"seconds"                                                             \
	}

#define PREFER_OPT(at)                                                                       \
	{                                                                                    \
		.name = "prefer", .kind = OPT_TEXT, .offset = (at), .arg = "NAME",           \
		.offer = offer_preferences,                                                  \
		.help = "what to favour: average completion time (jct), the energy of busy " \
			"GPUs (energy) or of all (fleet), or time and energy (balanced); "   \
			"without it, balanced"                                               \
	}

/** Policies, each alone and with each of its preferences or variants: "heshare", "heshare:energy",
 * "morak:eft". */
opt_offer_fn offer_contenders;
#define OFFER_LIST "list" /* in a policy's place: say what there is */
/** Tables of policies, their preferences and variants. @return 0, the exit status */
int offer_print_policies(void);
/** Every preference that any policy has, once. */
opt_offer_fn offer_preferences;
/** Of the built-in catalogue. */
opt_offer_fn offer_gpu_types;
/** That the testbed's physics knows, each once. */
opt_offer_fn offer_workloads;

/** How well, and the error to expect, a line each. */
void cli_fits_print(const struct hes_model_fit *v, size_t n);
json_t *cli_expected_json(const struct hes_expected_error *e);
/** @return a list; NULL where there are none */
json_t *cli_fits_json(const struct hes_model_fit *v, size_t n);

#define CLI_PROFILING_MAX 160
/** "12.3 kJ in 4 min 10 s of GPU time". @return @out */
const char *cli_profiling_text(char out[CLI_PROFILING_MAX], const struct hes_profiling_cost *cost);
/** The same, or "none", or that it was not measured, of all or some. */
const char *cli_known_profiling_text(char out[CLI_PROFILING_MAX],
				     const struct hes_store_profiling *p);
/** @return {"sessions": 2, "not_measured": 0, "gpu_s": 250.1, "energy_j": 12345.6} */
json_t *cli_known_profiling_json(const struct hes_store_profiling *p);

#endif
