/*
 * cuda_kernels.h - small functions of the lab's module besides its workloads: they compute, or take a given GPU time.
 */
#ifndef VGPU_CUDA_KERNELS_H
#define VGPU_CUDA_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CUDA_KERNEL_ARGS 4

struct cuda_kernel {
	const char *name;
	uint8_t     bytes[CUDA_KERNEL_ARGS];   /* of each parameter; 0: no more */
	double    (*us)(const uint64_t *args); /* of GPU time, at any clock; NULL: none */
	int       (*run)(const uint64_t *args); /* NULL: computes nothing. @return 0; -EFAULT */
};

/** @return the function of that name; NULL: none */
const struct cuda_kernel *cuda_kernel_find(const char *name);
/** @return whether a pointer that a program passes as a function is one of these */
bool cuda_kernel_is(const void *f);
/** Compute. @return 0; -EFAULT memory that the program does not have on the GPU */
int  cuda_kernel_run(const struct cuda_kernel *k, const uint64_t *args);

#endif
