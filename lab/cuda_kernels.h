/*
 * cuda_kernels.h - small kernels in the lab's module: they compute results, or take a given GPU
 * time.
 */
#ifndef VGPU_CUDA_KERNELS_H
#define VGPU_CUDA_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CUDA_KERNEL_ARGS 4

struct cuda_kernel {
	const char *name;
	uint8_t bytes[CUDA_KERNEL_ARGS];    /* size of each parameter; 0: end */
	double (*us)(const uint64_t *args); /* of GPU time, at any clock; NULL: none */
	int (*run)(const uint64_t *args);   /* NULL: computes nothing. @return 0; -EFAULT */
};

/** @return the kernel of that name; NULL: none */
const struct cuda_kernel *cuda_kernel_find(const char *name);
/** @return whether the function handle @f is one of these kernels */
bool cuda_kernel_is(const void *f);
/** Compute the results. @return 0; -EFAULT an address that is not device memory of the program */
int cuda_kernel_run(const struct cuda_kernel *k, const uint64_t *args);

#endif
