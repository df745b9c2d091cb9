/*
 * fuzz_predictor.c - any block is a predictor that answers queries, or an error with a sentence.
 */
#include <math.h>

#include "fuzz_body.h"
#include "heshare/predict.h"

static const struct hes_profile task = {
	.workload = "resnet50",
	.gpu_type = "T4",
	.batch_size = 32,
	.memory_mib = 4000,
	.clock_mhz = 1590,
	.iteration_us = 120000,
	.busy = 0.9,
	.sm_util = 0.9,
	.dram_util = 0.5,
	.l2_util = 1,
	.power_mw = 65000,
};

/* Every walk must end in a leaf of its own tree, which the sanitizers watch over; every interval
 * holds its prediction. */
static void ask(const struct hes_predictor *p)
{
	static struct hes_catalogue catalogue;
	static const struct hes_setting settings[] = { { 10, 405 }, { 50, 900 }, { 100, 1590 } };
	struct hes_load co_runners = { .power_mw = 10000 };

	if (!catalogue.n && hes_catalogue_load(NULL, &catalogue, NULL))
		abort();
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		struct hes_estimate out;

		hes_predict(p, &catalogue.types[0], &task, &settings[i], &co_runners, &out);
		if (!isfinite(out.iteration_us) || !(out.iteration_us > 0))
			abort();
		if (!(out.iteration_low_us <= out.iteration_us &&
		      out.iteration_us <= out.iteration_high_us) ||
		    out.power_low_mw > out.power_mw || out.power_mw > out.power_high_mw ||
		    !isfinite(out.iteration_high_us) || !isfinite(out.widening) ||
		    !(out.widening >= 1))
			abort();
		hes_predict_load_add(p, &catalogue.types[0], &task, &settings[i], &co_runners);
	}
}

static int load(const char *path, struct hes_err *err)
{
	struct hes_predictor *p;
	int rc = hes_predictor_load(path, &p, err);

	if (!rc) {
		ask(p);
		hes_predictor_free(p);
	}
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	return fuzz_body(data, len, "heshare predictor 8\n", load);
}
