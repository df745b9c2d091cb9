/*
 * inference.c - the testbed's networks as bench/gpu/measure runs them: in a bare
 * loop and in a precision of their own; see measured.h.
 *
 * A workload is a network in one program. The testbed's programs copy every input to the
 * GPU and wait for every result; the loop has its inputs there and two iterations in
 * flight. What is left is the GPU's work and the time to issue it; with CUDA graphs the GPU's work
 * alone.
 */
#include "measured/measured.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/params.h"

#define TF32_OVER_FP32 8    /* rates of the A100's units, flop a cycle and SM */
#define FP32_REACH     0.85 /* highest part of the rate for a network without FP32 measurements */

static const struct precision {
	const char *name;
	enum hes_math math;
	double bytes; /* of a value, of those of FP32 */
} precisions[] = {
	{ "fp16", HES_MATH_FP16, .5 },
	{ "fp32", HES_MATH_FP32, 1 },
	{ "tf32", HES_MATH_TF32, 1 },
};
#define N_LOOPS \
	(2 * sizeof(precisions) / sizeof(precisions[0])) /* of a network, with both styles */

static struct hes_workload loop_of(const struct hes_model *m, struct hes_workload w,
				   const struct precision *p, enum hes_style style)
{
	char network[HES_NAME_MAX];

	memcpy(network, w.name, sizeof(network));
	hes_inference_name(w.name, network, p->name, style);
	snprintf(w.framework, sizeof(w.framework), "pytorch, %s, %s",
		 style == HES_STYLE_GRAPHS ? "CUDA graphs" : "bare loop", p->name);
	w.style = style;
	if (m->eager.host_us > 0)
		w.host_us = 0;
	hes_workload_take_style(m, &w);
	snprintf(w.origin, sizeof(w.origin), "derived");
	w.testbed = false;
	w.load = HES_LOAD_LOW;
	w.math = p->math;
	if (p->math == HES_MATH_FP32)
		w.efficiency = fmin(FP32_REACH, TF32_OVER_FP32 * w.efficiency);
	w.serial_us = w.serial_us_per_item = w.copy_mib_per_item = 0;
	w.traffic_mib *= p->bytes;
	w.traffic_mib_per_item *= p->bytes;
	w.working_set_mib *= p->bytes;
	return w;
}

/* An eager program does the work of the graphs, which a GPU may have shown without the host. */
static struct hes_workload eager_of(const struct hes_model *m, const struct hes_workload *w,
				    const struct precision *p)
{
	struct hes_workload loop = loop_of(m, *w, p, HES_STYLE_EAGER);
	const struct hes_workload *graphs;
	char name[HES_NAME_MAX];

	hes_inference_name(name, w->name, p->name, HES_STYLE_GRAPHS);
	graphs = hes_model_workload(m, name, NULL);
	if (graphs) {
		loop.efficiency = graphs->efficiency;
		loop.parallel_sms = graphs->parallel_sms;
		loop.parallel_growth = graphs->parallel_growth;
		loop.traffic_mib_per_item = graphs->traffic_mib_per_item;
		loop.activity = graphs->activity;
	}
	return loop;
}

int hes_model_add_inference(struct hes_model *m, struct hes_err *err)
{
	const size_t n = m->n_workloads;
	struct hes_workload *grown = realloc(m->workloads, (1 + N_LOOPS) * n * sizeof(*grown));

	if (!grown)
		return hes_fail(err, -ENOMEM, "out of memory");
	m->workloads = grown;
	for (size_t i = 0; i < n * N_LOOPS; i++) {
		struct hes_workload w = grown[i / N_LOOPS];

		if (!w.testbed)
			continue;
		w = i % 2 ? loop_of(m, w, &precisions[i % N_LOOPS / 2], HES_STYLE_GRAPHS)
			  : eager_of(m, &w, &precisions[i % N_LOOPS / 2]);
		if (!hes_model_workload(m, w.name, NULL))
			grown[m->n_workloads++] = w;
	}
	return 0;
}
