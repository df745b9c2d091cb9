/*
 * cmd_train.c - `heshare train`: its options. train_samples.c trains the predictor.
 */
#include <omp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/inputs/inputs.h"
#include "app/catalogue.h"
#include "app/known_store.h"
#include "cli/train/train.h"

const char *const train_recipes[] = { "full", "table-ii", "plain", NULL };

#define AT(member) offsetof(struct train_opts, member)

/* clang-format off */
static const struct opt train_opts[] = {
	{ .heading = "the predictor",
	  .name = "output", .letter = 'o', .kind = OPT_FILE, .offset = AT(out), .arg = "FILE",
	  .written = true,
	  .help = "write the predictor to this file" },
	{ .name = "trees", .kind = OPT_U64, .offset = AT(trees), .arg = "N", .def = "0",
	  .max = HES_REGRESSOR_MAX_TREES, .help = "trees per output; 0: the default" },
	{ .name = "seed", .letter = 's', .kind = OPT_U64, .offset = AT(seed), .arg = "S",
	  .def = "1", .max = 0x1p64,
	  .help = "seed of the trees and of the samples held back" },
	{ .name = "threads", .letter = 't', .kind = OPT_U64, .offset = AT(threads), .arg = "T",
	  .def = "0", .max = 1024,
	  .help = "threads; 0: one per processor; the result is the same" },
	{ .name = "recipe", .kind = OPT_CHOICE, .offset = AT(recipe), .arg = "NAME", .def = "full",
	  .choices = train_recipes,
	  .help = "features: full; table-ii (the paper's 14); plain (table-ii without the "
		  "baseline)" },
	{ .heading = "validation",
	  .name = "validate", .kind = OPT_DOUBLE, .offset = AT(validate_pct), .arg = "PCT",
	  .def = "25", .max = 90,
	  .help = "samples to hold back for validation, %" },
	{ .name = "noise", .kind = OPT_DOUBLE, .offset = AT(noise_pct), .arg = "PCT", .def = "1.7",
	  .max = 50,
	  .help = "run-to-run variation of the samples, %; only for the noise floor in the "
		  "output" },
	{ .name = "coverage", .kind = OPT_DOUBLE, .offset = AT(coverage_pct), .arg = "PCT",
	  .def = "90", .min = 50, .max = 99,
	  .help = "coverage of the prediction intervals, %" },
	{ .name = "left-out", .kind = OPT_FLAG, .offset = AT(left_out),
	  .help = "also train without each workload, print the errors on it" },
	{ .name = "left-out-types", .kind = OPT_FLAG, .offset = AT(left_out_types),
	  .help = "also train without each GPU type, print the errors on it" },
	{ .name = "features-csv", .kind = OPT_FILE, .offset = AT(features_csv), .arg = "FILE",
	  .written = true,
	  .help = "write features and measurements of the samples, for other programs" },
	{ .heading = "samples and output",
	  .name = "from-store", .kind = OPT_FLAG, .offset = AT(from_store),
	  .help = "train on the measured and imported samples of the store" },
	{ .name = "store", .kind = OPT_FILE, .offset = AT(store), .arg = "FILE",
	  .help = "with --from-store: the store; without it " CLI_STORE_PLACE },
	CLI_CATALOGUE_OPT(AT(catalogue)),
	{ .name = "with-modelled", .kind = OPT_FLAG, .offset = AT(with_modelled),
	  .help = "with --from-store: modelled samples, too" },
	{ .name = "json", .kind = OPT_FLAG, .offset = AT(json),
	  .help = "one JSON document on standard output" },
	{ 0 }
};
/* clang-format on */

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
	.text = "Trains a predictor of the time of a job that shares a GPU, and of the GPU's "
		"power. SAMPLES is a samples.csv, or the folder of `heshare profile`, whose "
		"profiles.csv has the profiles of co-runners.\n\n"
		"Prints the errors on samples that were held back: absolute is mean |y - "
		"predicted| / mean y, relative is mean |y - predicted| / y. The interval columns "
		"show how many of these samples are inside of their prediction interval, and the "
		"width of the interval.\n\n"
		"Any number of samples will do. With fewer than 100, modelled samples of the same "
		"GPU types are added, and count less the more samples there are. All samples are "
		"then learnt from, and each is left out in turn for the errors.\n\n"
		"--from-store trains on the store of `heshare profiles`, which then compares later "
		"samples with this validation.",
	.example = "  heshare train profiles -o predictor --left-out",
	.opts = train_opts,
	.opts_size = sizeof(struct train_opts),
	.run = run_train,
};
