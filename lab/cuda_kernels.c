/*
 * cuda_kernels.c - the lab's small kernels; see cuda_kernels.h.
 *
 *	lab.noop()                            does nothing, in no time
 *	lab.spin(u32 us)                      keeps the GPU busy for @us microseconds
 *	lab.fill(u64 at, u32 count, u32 value)  writes @count 32-bit integers
 *	lab.axpy(u64 y, u64 x, u32 a, u32 count)   y[i] += a * x[i], 32-bit integers
 *	lab.hash(u64 out, u64 in, u32 count)  a 64-bit hash of 32-bit integers, in their order
 */
#include "cuda_kernels.h"

#include <errno.h>
#include <string.h>

#include "cuda_stand_in.h"

#define START_US     3.0   /* of any kernel */
#define BYTES_PER_US 500e3 /* 500 GB/s */

static double kernel_us_of(double bytes)
{
	return START_US + bytes / BYTES_PER_US;
}

static double spin_us(const uint64_t *v)
{
	return (double)v[0];
}

static double fill_us(const uint64_t *v)
{
	return kernel_us_of(4.0 * (double)v[1]);
}

static int fill_run(const uint64_t *v)
{
	uint32_t *to = (uint32_t *)(uintptr_t)v[0];

	if (!cuda_memory_holds((uintptr_t)v[0], v[1] * 4))
		return -EFAULT;
	for (uint64_t i = 0; i < v[1]; i++)
		to[i] = (uint32_t)v[2];
	return 0;
}

static double axpy_us(const uint64_t *v)
{
	return kernel_us_of(12.0 * (double)v[3]);
}

static int axpy_run(const uint64_t *v)
{
	uint32_t *y = (uint32_t *)(uintptr_t)v[0];
	const uint32_t *x = (const uint32_t *)(uintptr_t)v[1];

	if (!cuda_memory_holds((uintptr_t)v[0], v[3] * 4) ||
	    !cuda_memory_holds((uintptr_t)v[1], v[3] * 4))
		return -EFAULT;
	for (uint64_t i = 0; i < v[3]; i++)
		y[i] += (uint32_t)v[2] * x[i];
	return 0;
}

static double hash_us(const uint64_t *v)
{
	return kernel_us_of(4.0 * (double)v[2]);
}

/* FNV-1a, a word at a time. */
static int hash_run(const uint64_t *v)
{
	const uint32_t *in = (const uint32_t *)(uintptr_t)v[1];
	uint64_t h = 0xcbf29ce484222325ull;

	if (!cuda_memory_holds((uintptr_t)v[0], sizeof(h)) ||
	    !cuda_memory_holds((uintptr_t)v[1], v[2] * 4))
		return -EFAULT;
	for (uint64_t i = 0; i < v[2]; i++)
		h = (h ^ in[i]) * 0x100000001b3ull;
	memcpy((void *)(uintptr_t)v[0], &h, sizeof(h));
	return 0;
}

static const struct cuda_kernel kernels[] = {
	{ "lab.noop", { 0 }, NULL, NULL },
	{ "lab.spin", { 4 }, spin_us, NULL },
	{ "lab.fill", { 8, 4, 4 }, fill_us, fill_run },
	{ "lab.axpy", { 8, 8, 4, 4 }, axpy_us, axpy_run },
	{ "lab.hash", { 8, 8, 4 }, hash_us, hash_run },
};

#define N_KERNELS (sizeof(kernels) / sizeof(kernels[0]))

const struct cuda_kernel *cuda_kernel_find(const char *name)
{
	for (size_t i = 0; i < N_KERNELS; i++)
		if (strcmp(kernels[i].name, name) == 0)
			return &kernels[i];
	return NULL;
}

bool cuda_kernel_is(const void *f)
{
	return (uintptr_t)f >= (uintptr_t)kernels &&
	       (uintptr_t)f < (uintptr_t)(kernels + N_KERNELS) &&
	       ((uintptr_t)f - (uintptr_t)kernels) % sizeof(kernels[0]) == 0;
}

int cuda_kernel_run(const struct cuda_kernel *k, const uint64_t *args)
{
	return k->run ? k->run(args) : 0;
}
