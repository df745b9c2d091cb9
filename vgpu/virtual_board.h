/*
 * virtual_board.h - what happens on a virtual board as time goes by.
 *
 * Between two events (a launch, a launch's end, a setting, a fault) power and rates
 * are constant, so a board is carried from event to event exactly,
 * however late somebody looks. Every function here wants the board locked.
 *
 * Clients of one MPS server run together, as the physics says. Others, and
 * servers among them, have the board in turn: with n of them at work each has
 * an n-th of the time. A context runs its launches in the order they came.
 */
#ifndef VGPU_VIRTUAL_BOARD_H
#define VGPU_VIRTUAL_BOARD_H

#include "state.h"

#define vgpu_board_cool_c 33.0  /* an idle board */

/* CUresult values that a board can cause. */
#define VGPU_CUDA_OUT_OF_MEMORY    2
#define VGPU_CUDA_DEVICE_UNAVAILABLE 46
#define VGPU_CUDA_LAUNCH_FAILED    719
#define VGPU_CUDA_MPS_RPC_FAILURE  806
#define VGPU_CUDA_MPS_MAX_CLIENTS  808
#define VGPU_CUDA_MPS_CLIENT_TERMINATED 810
#define VGPU_CUDA_UNKNOWN          999

/** Carry the board to virtual time @now_s; earlier than its own: nothing. */
void vgpu_board_advance(struct vgpu_lab *lab, struct vgpu_board *b, double now_s);

/** When the launch in front of one of the contexts ends; infinite if none does. */
double vgpu_board_next_s(const struct vgpu_board *b);

/** Open a context for this process. @return its client; NULL: no room, *@error is the CUresult */
struct vgpu_client *vgpu_board_join(struct vgpu_board *b, pid_t pid, pid_t server, uint32_t sm_pct,
				    uint64_t memory_limit, uint64_t memory, int *error);
void vgpu_board_leave(struct vgpu_board *b, struct vgpu_client *c);
/** @return 0; a CUresult */
int  vgpu_board_allocate(struct vgpu_board *b, struct vgpu_client *c, uint64_t bytes);
void vgpu_board_release(struct vgpu_board *b, struct vgpu_client *c, uint64_t bytes);
/** @return false: the queue is full */
bool vgpu_board_launch(struct vgpu_board *b, struct vgpu_client *c, const struct vgpu_launch *l);

/** All contexts of a server (or, 0, of a process) get an error for good. */
void vgpu_board_fail(struct vgpu_board *b, pid_t server, pid_t pid, int error);

uint64_t vgpu_board_memory_total(const struct vgpu_board *b);
uint64_t vgpu_board_memory_used(const struct vgpu_board *b);

/** A setting was changed. */
void vgpu_board_reconfigure(struct vgpu_board *b);

void vgpu_board_set_fault(struct vgpu_board *b, enum vgpu_fault f, double for_s);
bool vgpu_board_has_fault(const struct vgpu_board *b, enum vgpu_fault f);

/** Between two samples, the second later: parts of the time, all of it 1, and what was copied to the board. */
struct vgpu_means {
	double graphics, sm, tensor, dram, fp32, copied_mib_s;
};
struct vgpu_means vgpu_means_between(const struct vgpu_sample *from, const struct vgpu_sample *to);

/** The sample of the grid at or before a moment, among those that are kept. */
struct vgpu_sample vgpu_board_sample(const struct vgpu_board *b, double time_s);

#endif
