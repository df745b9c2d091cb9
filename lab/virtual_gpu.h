/*
 * virtual_gpu.h - the state of a virtual GPU over time.
 *
 * Power and rates are constant between two events: a launch, the end of a launch, a setting, a
 * fault. So a GPU is advanced from event to event exactly, whenever a process reads it. Every
 * function needs the GPU locked.
 *
 * Clients of one MPS server run together, as the physics computes. Other contexts and MPS servers
 * share the GPU in turns: with n of them busy, each has an n-th of the time. A context runs its
 * launches in order.
 */
#ifndef VGPU_VIRTUAL_GPU_H
#define VGPU_VIRTUAL_GPU_H

#include "state.h"

#define VGPU_COOL_C 33.0 /* temperature of an idle GPU */

/* CUresult values of errors on a GPU. */
#define VGPU_CUDA_OUT_OF_MEMORY         2
#define VGPU_CUDA_DEVICE_UNAVAILABLE    46
#define VGPU_CUDA_LAUNCH_FAILED         719
#define VGPU_CUDA_MPS_RPC_FAILURE       806
#define VGPU_CUDA_MPS_MAX_CLIENTS       808
#define VGPU_CUDA_MPS_CLIENT_TERMINATED 810
#define VGPU_CUDA_UNKNOWN               999

/** Advance the GPU to virtual time @now_s; an earlier time than its own changes nothing. */
void lab_gpu_advance(struct vgpu_lab *lab, struct lab_gpu *b, double now_s);

/** When the first launch of any context ends; infinite if none does. */
double lab_gpu_next_s(const struct lab_gpu *b);

/** Open a context for this process. @return its client; NULL: no room, *@error is the CUresult */
struct vgpu_client *lab_gpu_join(struct lab_gpu *b, pid_t pid, pid_t server, uint32_t sm_pct,
				 uint64_t memory_limit, uint64_t memory, int *error);
void lab_gpu_leave(struct lab_gpu *b, struct vgpu_client *c);
/** @return 0; a CUresult */
int lab_gpu_allocate(struct lab_gpu *b, struct vgpu_client *c, uint64_t bytes);
void lab_gpu_release(struct lab_gpu *b, struct vgpu_client *c, uint64_t bytes);
/** @return false: the queue is full */
bool lab_gpu_launch(struct lab_gpu *b, struct vgpu_client *c, const struct vgpu_launch *l);

/** Give all contexts of a server, or of a process if @server is 0, a permanent error. */
void lab_gpu_fail(struct lab_gpu *b, pid_t server, pid_t pid, int error);

uint64_t lab_gpu_memory_total(const struct lab_gpu *b);
uint64_t lab_gpu_memory_used(const struct lab_gpu *b);

/** Note that a setting was changed. */
void lab_gpu_reconfigure(struct lab_gpu *b);

void lab_gpu_set_fault(struct lab_gpu *b, enum vgpu_fault f, double for_s);
bool lab_gpu_has_fault(const struct lab_gpu *b, enum vgpu_fault f);
/** Add a fault of an NVML function; its calls and until_s are counted from now. @return false: no
 * room */
bool lab_gpu_add_call_fault(struct lab_gpu *b, const struct vgpu_call_fault *f);
/** Count a call of an NVML function. @return whether it fails, with @code */
bool lab_gpu_call_fails(struct lab_gpu *b, const char *name, int *code);
/** Change a reading from now on; until_s is counted from now. */
void lab_gpu_add_reading_fault(struct lab_gpu *b, enum vgpu_reading r,
			       const struct vgpu_reading_fault *f);
/** @return what a sensor reports in place of @value */
double lab_gpu_reading(struct lab_gpu *b, enum vgpu_reading r, double value);
/** From now on co-runners slow each other down @times as much as the model says. */
void lab_gpu_set_interference(struct lab_gpu *b, double times, double for_s);
/** End all faults. */
void lab_gpu_clear(struct lab_gpu *b);

/** Means between two samples, from 0 to 1, and MiB/s over PCIe. */
struct vgpu_means {
	double graphics, sm, occupancy, tensor, dram, fp32, pcie_in_mib_s, pcie_out_mib_s;
};
/** The means that performance counters report. */
struct vgpu_means lab_gpu_counters(struct lab_gpu *b, const struct vgpu_sample *from,
				   const struct vgpu_sample *to);

/** The last kept sample at or before @time_s. */
struct vgpu_sample lab_gpu_sample(const struct lab_gpu *b, double time_s);

#endif
