/*
 * offers.h - values of options, from the tables of policies, GPU types and workloads.
 */
#ifndef HES_CLI_INPUTS_OFFERS_H
#define HES_CLI_INPUTS_OFFERS_H

#include "cli/opt.h"

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

#endif
