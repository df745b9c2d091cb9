/*
 * pipes.c - how far jobs use the parts of a GPU, as its counters show it: SMs, memory, FP32 and
 * tensor pipes, PCIe; see params.h.
 *
 * physics.c gives the rates that this starts from. The virtual GPUs of the lab and
 * drawn points both take their counters from here. Like physics.c it needs libc alone.
 * docs/gpu-model.md numbers the equations.
 */
#include <math.h>

#include "model/params.h"

/* (17) Time with traffic grows with the traffic: an H100 showed exponents of 1.29 to 1.48. */
#define TRAFFIC_SPREAD 1.37
/* (19) PCIe, as an H100 counted it: a launch's commands and arguments, its requests and answers,
 * and the requests that bring a copy in. */
#define LAUNCH_IN_MIB  (2.0 / 1024)
#define LAUNCH_OUT_MIB (0.2 / 1024)
#define COPY_OUT       0.17 /* of what is copied in */

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

		double per_s = rates[i].iterations_per_s, launches = w->kernels * per_s;
		double copied = w->copy_mib_per_item * r[i].batch * per_s;

		idle *= 1 - rates[i].busy;
		a.sm += rates[i].sm_util;
		a.occupancy += rates[i].occupancy;
		a.dram += rates[i].dram_util;
		*(tensor ? &a.tensor : &a.fp32) +=
			pipe_use(p, g, &r[i], tensor ? w->math : HES_MATH_FP32, per_s, clock_ghz);
		a.pcie_in_mib_s += copied + LAUNCH_IN_MIB * launches;
		a.pcie_out_mib_s += COPY_OUT * copied + LAUNCH_OUT_MIB * launches;
	}
	a.busy = 1 - idle;
	a.memory_busy = 1 - pow(fmax(0, 1 - a.dram), TRAFFIC_SPREAD);
	*out = a;
}
