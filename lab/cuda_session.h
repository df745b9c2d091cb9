/*
 * cuda_session.h - the GPUs, MPS server and limits of a process, fixed when it calls cuInit.
 */
#ifndef VGPU_CUDA_SESSION_H
#define VGPU_CUDA_SESSION_H

#include "state.h"

struct cuda_session {
	struct vgpu_lab *lab;
	uint32_t
		gpus[VGPU_MAX_GPUS]; /* indices in the lab, in the order of the process's devices */
	uint64_t limits[VGPU_MAX_GPUS]; /* memory in bytes; 0: none */
	int n;
	pid_t server; /* of MPS; 0: none */
	uint32_t sm_pct;
};

/** @return CUresult */
int cuda_session_open(struct vgpu_lab *lab, struct cuda_session *out);

#endif
