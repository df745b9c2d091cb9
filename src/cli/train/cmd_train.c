/*
 * cmd_train.c - `heshare train`: its options. train_samples.c trains the predictor.
 */
#include <omp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/inputs/store_use.h"
#include "cli/train/train.h"

const char *const train_models[] = { "rf", "et", "gbdt", "tree", "linear", NULL };
const char *const train_criteria[] = { "mse", "mae", NULL };
const char *const train_recipes[] = { "full", "table-ii", "plain", NULL };

#define AT(member) offsetof(struct train_opts, member)

static const struct opt train_opts[] = {
	{ .name = "output", .letter = 'o', .kind = OPT_FILE, .offset = AT(out), .arg = "FILE",
	  .help = "write what was learnt here" },
	{ .name = "model", .letter = 'm', .kind = OPT_CHOICE, .offset = AT(model), .arg = "NAME",
	  .choices = train_models, .help = "what learns; gbdt is the most accurate" },
	{ .name = "trees", .kind = OPT_U64, .offset = AT(trees), .arg = "N", .def = "0",
	  .max = HES_REGRESSOR_MAX_TREES, .help = "trees an output; 0: the model's default" },
	{ .name = "seed", .letter = 's', .kind = OPT_U64, .offset = AT(seed), .arg = "S", .def = "1", .max = 0x1p64,
	  .help = "of the trees and of the choice of rows to validate on" },
	{ .name = "threads", .letter = 't', .kind = OPT_U64, .offset = AT(threads), .arg = "T", .def = "0",
	  .max = 1024, .help = "0: one a processor; what is learnt is the same" },
	{ .name = "criterion", .kind = OPT_CHOICE, .offset = AT(criterion), .arg = "NAME", .def = "mse",
	  .choices = train_criteria, .help = "errors that splits minimise: squared; of gbdt also absolute" },
	{ .name = "recipe", .kind = OPT_CHOICE, .offset = AT(recipe), .arg = "NAME", .def = "full",
	  .choices = train_recipes,
	  .help = "table-ii has only the paper's 14 features, plain those without the baseline" },
	{ .name = "features", .kind = OPT_U64, .offset = AT(features), .arg = "N", .def = "0",
	  .max = HES_REGRESSOR_MAX_FEATURES, .help = "features tried a split; 0: the model's default" },
	{ .name = "min-leaf", .kind = OPT_U64, .offset = AT(min_leaf), .arg = "N", .def = "0", .max = 1000000,
	  .help = "rows in a leaf at least; 0: the model's default" },
	{ .name = "max-depth", .kind = OPT_U64, .offset = AT(max_depth), .arg = "N", .def = "0", .max = 1000000,
	  .help = "splits above a leaf at most; 0: no limit" },
	{ .name = "leaves", .kind = OPT_U64, .offset = AT(leaves), .arg = "N", .def = "0", .max = 1000000,
	  .help = "of gbdt: leaves of a tree at most; 0: the default" },
	{ .name = "learning-rate", .kind = OPT_DOUBLE, .offset = AT(learning_rate), .arg = "RATE", .def = "0",
	  .max = 1, .help = "of gbdt: part of a tree's answer that is taken; 0: the default" },
	{ .name = "row-part", .kind = OPT_DOUBLE, .offset = AT(row_pct), .arg = "PCT", .def = "0", .max = 100,
	  .help = "of gbdt: rows drawn for a tree, %; 0: the default" },
	{ .name = "column-part", .kind = OPT_DOUBLE, .offset = AT(column_pct), .arg = "PCT", .def = "0", .max = 100,
	  .help = "of gbdt: features drawn for a tree, %; 0: the default" },
	{ .name = "validate", .kind = OPT_DOUBLE, .offset = AT(validate_pct), .arg = "PCT", .def = "25", .max = 90,
	  .help = "part of the rows to validate on, %" },
	{ .name = "noise", .kind = OPT_DOUBLE, .offset = AT(noise_pct), .arg = "PCT", .def = "1.7", .max = 50,
	  .help = "run-to-run variation of the samples, %; only for the floor that is shown" },
	{ .name = "coverage", .kind = OPT_DOUBLE, .offset = AT(coverage_pct), .arg = "PCT", .def = "90", .min = 50,
	  .max = 99, .help = "measurements that the intervals of predictions are to hold, %" },
	{ .name = "left-out", .kind = OPT_FLAG, .offset = AT(left_out),
	  .help = "also the errors on each workload when none of its samples were seen" },
	{ .name = "left-out-types", .kind = OPT_FLAG, .offset = AT(left_out_types),
	  .help = "also the errors on each GPU type when none of its samples were seen" },
	{ .name = "features-csv", .kind = OPT_FILE, .offset = AT(features_csv), .arg = "FILE",
	  .help = "write the features of samples and what was measured, for other programs" },
	{ .name = "from-store", .kind = OPT_FLAG, .offset = AT(from_store),
	  .help = "learn from the measured and imported samples of the store in place of SAMPLES" },
	{ .name = "store", .kind = OPT_FILE, .offset = AT(store), .arg = "FILE",
	  .help = "of --from-store: the store; without it " CLI_STORE_PLACE },
	{ .name = "with-modelled", .kind = OPT_FLAG, .offset = AT(with_modelled),
	  .help = "of --from-store: modelled samples too" },
	{ .name = "json", .kind = OPT_FLAG, .offset = AT(json), .help = "one JSON document on standard output" },
	{ 0 }
};

int train_choice(const char *const *names, const char *name)
{
	int i = 0;

	while (strcmp(names[i], name))
		i++;
	return i;
}

uint32_t train_threads(uint64_t threads)
{
	return threads ? (uint32_t)threads : (uint32_t)omp_get_max_threads();
}

/* What is wrong with the options together; NULL: nothing. */
static const char *misuse(const struct train_opts *o, int n_args)
{
	if (o->from_store + n_args > 1)
		return "SAMPLES or --from-store, not both";
	if (!o->from_store && !n_args)
		return "SAMPLES are needed, or --from-store; see heshare train --help";
	if (!o->from_store && (o->store || o->with_modelled))
		return "--store and --with-modelled need --from-store";
	return NULL;
}

static int run_train(const void *opts, int n_args, char **args)
{
	const struct train_opts *o = opts;
	const char *wrong = misuse(o, n_args);

	if (wrong) {
		fprintf(stderr, "heshare train: %s\n", wrong);
		return 2;
	}
	return train_samples(o, n_args ? args[0] : NULL);
}

const struct command cmd_train = {
	.name = "train",
	.args = "[SAMPLES]",
	.min_args = 0,
	.max_args = 1,
	.summary = "train a predictor of time and power on samples",
	.text = "SAMPLES is a samples.csv or the folder of `heshare profile`, whose profiles.csv tells of\n"
		"the neighbours that samples name. Learns the time of a job\n"
		"under sharing and the board's power, validates on samples held back and prints both\n"
		"errors of both: absolute is mean |y - predicted| / mean y, relative is\n"
		"mean |y - predicted| / y. The interval is the one that predictions come with, and how\n"
		"many of those samples it held. With --from-store it learns from what `heshare profiles`\n"
		"keeps, which then compares later samples with this validation.",
	.example = "  heshare train profiles -o predictor --left-out",
	.opts = train_opts,
	.opts_size = sizeof(struct train_opts),
	.run = run_train,
};
