/*
 * keeper.h - close the contexts of processes that have ended, as a driver does.
 */
#ifndef VGPU_KEEPER_H
#define VGPU_KEEPER_H

#include "state.h"

struct vgpu_keeper {
	struct vgpu_lab *lab;
	int signals;        /* a signalfd */
	struct pollfd *fds; /* [0] is signals, then a pidfd for each of pids[1..] */
	pid_t *pids;
	size_t n, capacity;
	uint32_t seen[VGPU_MAX_GPUS]; /* of lab_gpu.joins when its contexts were last looked at */
};

/** @param signals  a signalfd that wakes vgpu_keeper_wait. @return 0; -ENOMEM */
int vgpu_keeper_init(struct vgpu_keeper *k, struct vgpu_lab *lab, int signals);
void vgpu_keeper_finish(struct vgpu_keeper *k);

/**
 * Watch processes until a signal comes or @timeout_ms have passed; close the contexts of ended
 * ones.
 * @return whether a signal is waiting
 */
bool vgpu_keeper_wait(struct vgpu_keeper *k, int timeout_ms);

/** Close contexts whose process has ended; fail contexts whose MPS server has ended. */
void vgpu_reap(struct vgpu_lab *lab);

#endif
