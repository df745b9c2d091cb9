/*
 * pipes.c - how far jobs use the parts of a GPU, as its counters show it: SMs, memory, FP32 and
 * tensor pipes, PCIe; see params.h.
 *
 * physics.c gives the rates that this starts from. The virtual GPUs of the lab and
 * drawn points both take their counters from here. Like physics.c it needs libc alone.
 */
#include <math.h>

#include "model/params.h"

/* The part of the GPU's pipes for one arithmetic that a job keeps at work. */
static double pipe_use(const struct hes_gpu_physics *p, const struct hes_gpu_type *g,
		       const struct hes_model_job *r, enum hes_math math, double iterations_per_s,
		       double clock_ghz)
{
	double gflop = r->workload->gflop_per_item * pow(r->batch, 1 + r->workload->padding);

	return iterations_per_s * gflop / (p->rate[math] * g->sm_count * clock_ghz);
}

void hes_model_activity(const struct hes_model *m, const struct hes_gpu_type *g, double clock_ghz,
			const struct hes_model_job *r, const struct hes_rate *rates, size_t n,
			struct hes_model_activity *out)
{
	const struct hes_gpu_physics *p = hes_model_gpu(m, g->name);
	struct hes_model_activity a = { 0 };
	double idle = 1;

	for (size_t i = 0; i < n; i++) {
		const struct hes_workload *w = r[i].workload;
		bool tensor = w->math != HES_MATH_FP32 && p->rate[w->math] > 0;

		idle *= 1 - rates[i].busy;
		a.sm += rates[i].sm_util;
		a.dram += rates[i].dram_util;
		*(tensor ? &a.tensor : &a.fp32) +=
			pipe_use(p, g, &r[i], tensor ? w->math : HES_MATH_FP32,
				 rates[i].iterations_per_s, clock_ghz);
		a.copied_mib_s += w->copy_mib_per_item * r[i].batch * rates[i].iterations_per_s;
	}
	a.busy = 1 - idle;
	*out = a;
}
