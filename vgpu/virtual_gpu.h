/*
 * virtual_gpu.h - what happens on a virtual GPU as time goes by.
 *
 * Between two events (a launch, a launch's end, a setting, a fault) power and rates
 * are constant, so a GPU is carried from event to event exactly,
 * however late somebody looks. Every function here wants the GPU locked.
 *
 * Clients of one MPS server run together, as the physics says. Others, and
 * servers among them, have the GPU in turn: with n of them at work each has
 * an n-th of the time. A context runs its launches in the order they came.
 */
#ifndef VGPU_VIRTUAL_GPU_H
#define VGPU_VIRTUAL_GPU_H

#include "state.h"

#define lab_gpu_cool_c 33.0  /* an idle GPU */

/* CUresult values that a GPU can cause. */
#define VGPU_CUDA_OUT_OF_MEMORY    2
#define VGPU_CUDA_DEVICE_UNAVAILABLE 46
#define VGPU_CUDA_LAUNCH_FAILED    719
#define VGPU_CUDA_MPS_RPC_FAILURE  806
#define VGPU_CUDA_MPS_MAX_CLIENTS  808
#define VGPU_CUDA_MPS_CLIENT_TERMINATED 810
#define VGPU_CUDA_UNKNOWN          999

/** Carry the GPU to virtual time @now_s; earlier than its own: nothing. */
void lab_gpu_advance(struct vgpu_lab *lab, struct lab_gpu *b, double now_s);

/** When the launch in front of one of the contexts ends; infinite if none does. */
double lab_gpu_next_s(const struct lab_gpu *b);

/** Open a context for this process. @return its client; NULL: no room, *@error is the CUresult */
struct vgpu_client *lab_gpu_join(struct lab_gpu *b, pid_t pid, pid_t server, uint32_t sm_pct,
				    uint64_t memory_limit, uint64_t memory, int *error);
void lab_gpu_leave(struct lab_gpu *b, struct vgpu_client *c);
/** @return 0; a CUresult */
int  lab_gpu_allocate(struct lab_gpu *b, struct vgpu_client *c, uint64_t bytes);
void lab_gpu_release(struct lab_gpu *b, struct vgpu_client *c, uint64_t bytes);
/** @return false: the queue is full */
bool lab_gpu_launch(struct lab_gpu *b, struct vgpu_client *c, const struct vgpu_launch *l);

/** All contexts of a server (or, 0, of a process) get an error for good. */
void lab_gpu_fail(struct lab_gpu *b, pid_t server, pid_t pid, int error);

uint64_t lab_gpu_memory_total(const struct lab_gpu *b);
uint64_t lab_gpu_memory_used(const struct lab_gpu *b);

/** A setting was changed. */
void lab_gpu_reconfigure(struct lab_gpu *b);

void lab_gpu_set_fault(struct lab_gpu *b, enum vgpu_fault f, double for_s);
bool lab_gpu_has_fault(const struct lab_gpu *b, enum vgpu_fault f);

/** Between two samples, the second later: parts of the time, all of it 1, and what was copied to the GPU. */
struct vgpu_means {
	double graphics, sm, tensor, dram, fp32, copied_mib_s;
};
struct vgpu_means vgpu_means_between(const struct vgpu_sample *from, const struct vgpu_sample *to);

/** The sample of the grid at or before a moment, among those that are kept. */
struct vgpu_sample lab_gpu_sample(const struct lab_gpu *b, double time_s);

#endif
