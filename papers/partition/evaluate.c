/*
 * evaluate.c - the tables and figures of Han et al., "Energy-efficient GPU SM allocation", on a
 * modelled V100.
 *
 * Exit status: 0; 1 a limit was not held, or the run failed; 2 wrong usage.
 */
#include <stddef.h>
#include <string.h>

#include "base/file.h"
#include "study.h"
#include "usage.h"

#define AT(field) offsetof(struct study, field)

static const struct {
	const char *name;
	int (*run)(struct study *s, const struct testbed *t, struct hes_err *err);
} studies[] = {
	{ "table1", study_table1 },       { "learning", study_learning },
	{ "unseen", study_unseen },       { "many-jobs", study_many_jobs },
	{ "predictor", study_predictor }, { "export", study_export },
};

static void offer_studies(opt_say_fn *say, void *ctx)
{
	for (size_t i = 0; i < sizeof(studies) / sizeof(studies[0]); i++)
		say(studies[i].name, ctx);
}

/* clang-format off */
static const struct opt options[] = {
	{ .name = "output", .kind = OPT_TEXT, .offset = AT(output), .arg = "DIR", .def = ".",
	  .help = "write CSV files and pictures here" },
	{ .name = "seed", .kind = OPT_U64, .offset = AT(seed), .arg = "N", .def = "1", .max = 1e9,
	  .help = "of noise, of splits into training and test rows, of trees" },
	{ .name = "noise", .kind = OPT_DOUBLE, .offset = AT(noise_pct), .arg = "PCT", .def = "1.7",
	  .max = 20,
	  .help = "coefficient of variation of a measurement" },
	{ .name = "trees", .kind = OPT_U64, .offset = AT(trees), .arg = "N", .def = "0",
	  .max = 10000,
	  .help = "of each output; 0: the library's default" },
	{ .name = "threads", .kind = OPT_U64, .offset = AT(threads), .arg = "N", .def = "0",
	  .max = 256,
	  .help = "0: all processors" },
	{ .name = "only", .kind = OPT_CHOICE, .offset = AT(only), .arg = "STUDY",
	  .offer = offer_studies,
	  .help = "table1, learning, unseen, many-jobs, predictor or export; default all" },
	{ .name = "quick", .kind = OPT_FLAG, .offset = AT(quick),
	  .help = "fewer repetitions and sets; for tests" },
	{ .name = NULL },
};
/* clang-format on */

static const struct command evaluate = {
	.name = "evaluate",
	.args = "WORKLOADS",
	.min_args = 1,
	.max_args = 1,
	.opts = options,
	.opts_size = sizeof(struct study),
	.summary = "Tables and figures of \"Energy-efficient GPU SM allocation\" on a modelled "
		   "V100; WORKLOADS is a YAML file.",
};

int main(int argc, char **argv)
{
	struct study s = { 0 };
	struct testbed t;
	struct hes_err err;
	int status, rc;

	if (usage_parse(&evaluate, argc, argv, &s, &status) < 0)
		return status;
	study_progress("the workloads alone and in pairs");
	rc = hes_folder_create(s.output, &err);
	if (rc) {
		fprintf(stderr, "evaluate: %s\n", err.msg);
		return 1;
	}
	rc = testbed_open(argv[1], s.noise_pct / 100, s.seed, &t, &err);
	printf("16 workloads on a modelled V100, noise %.1f %%, seed %llu\n", s.noise_pct,
	       (unsigned long long)s.seed);
	for (size_t i = 0; i < sizeof(studies) / sizeof(studies[0]) && !rc; i++)
		rc = !s.only || strcmp(s.only, studies[i].name) == 0 ? studies[i].run(&s, &t, &err)
								     : 0;
	testbed_close(&t);
	study_claim_text(&s, NEEDS_HARDWARE, "all figures",
			 "the 16 workloads on a real V100, with power");
	if (!rc)
		rc = study_summary(&s, &err);
	if (rc) {
		fprintf(stderr, "evaluate: %s\n", err.msg);
		return 1;
	}
	study_progress("done");
	if (s.failed)
		printf("\n%zu limit%s not held\n", s.failed, s.failed == 1 ? " was" : "s were");
	return s.failed > 0;
}
