/*
 * cuda_copy.c - libcuda's stand-in: copies and fills, in the order of their stream.
 *
 * Those without a stream use a default stream and wait. Functions named _ptds and _ptsz take the thread's own one.
 * Copies take no time of the GPU.
 */
#include <stdlib.h>
#include <string.h>

#include "cuda_capture.h"
#include "cuda_stand_in.h"

#define STAGED_BYTES (64 << 10)  /* of host memory up to this many are read when the copy is asked for */

enum { LEGACY, PER_THREAD };

/* Whether a stream records: then it is the graph that reads the memory. */
static bool copy_is_captured(const struct cuda_stream *s)
{
	return __atomic_load_n(&s->capture, __ATOMIC_ACQUIRE) != NULL;
}

static int copy_enqueue(struct cuda_op *op, bool from_host, void *handle, bool per_thread)
{
	struct cuda_stream *s;
	int rc = cuda_stream_find(handle, per_thread, &s);

	if (rc || !op->bytes)
		return rc;
	if (from_host && op->bytes <= STAGED_BYTES && !copy_is_captured(s)) {
		op->staged = malloc(op->bytes);
		if (!op->staged)
			return VGPU_CUDA_OUT_OF_MEMORY;
		memcpy(op->staged, (const void *)op->from, op->bytes);
	}
	rc = cuda_enqueue(s, op, 1);
	if (rc)
		free(op->staged);
	return rc;
}

/* In a default stream, and wait for it. */
static int copy_now(struct cuda_op *op, bool per_thread)
{
	struct cuda_stream *s;
	int rc = cuda_stream_find(NULL, per_thread, &s);

	if (!rc)
		rc = cuda_capture_allows_wait(s);
	if (!rc)
		rc = cuda_capture_allows_unsafe();
	if (!rc && op->bytes)
		rc = cuda_enqueue(s, op, 1);
	return rc ? rc : cuda_await(s->context, cuda_stream_end(s));
}

static struct cuda_op copy_of(uintptr_t to, uintptr_t from, size_t bytes)
{
	return (struct cuda_op){ .effect = CUDA_COPY, .to = to, .from = from, .bytes = bytes };
}

static bool on_gpu(uintptr_t at, size_t bytes)
{
	return !bytes || cuda_memory_holds(at, bytes);
}

static int copy_to_gpu(uintptr_t to, const void *from, size_t bytes, bool per_thread)
{
	struct cuda_op op = copy_of(to, (uintptr_t)from, bytes);

	return from && on_gpu(to, bytes) ? copy_now(&op, per_thread) : CUDA_INVALID_VALUE;
}

EXPORT int cuMemcpyHtoD_v2(uintptr_t to, const void *from, size_t bytes)
{
	return copy_to_gpu(to, from, bytes, LEGACY);
}

EXPORT int cuMemcpyHtoD_v2_ptds(uintptr_t to, const void *from, size_t bytes)
{
	return copy_to_gpu(to, from, bytes, PER_THREAD);
}

static int copy_from_gpu(void *to, uintptr_t from, size_t bytes, bool per_thread)
{
	struct cuda_op op = copy_of((uintptr_t)to, from, bytes);

	return to && on_gpu(from, bytes) ? copy_now(&op, per_thread) : CUDA_INVALID_VALUE;
}

EXPORT int cuMemcpyDtoH_v2(void *to, uintptr_t from, size_t bytes)
{
	return copy_from_gpu(to, from, bytes, LEGACY);
}

EXPORT int cuMemcpyDtoH_v2_ptds(void *to, uintptr_t from, size_t bytes)
{
	return copy_from_gpu(to, from, bytes, PER_THREAD);
}

static int copy_on_gpu(uintptr_t to, uintptr_t from, size_t bytes, bool per_thread)
{
	struct cuda_op op = copy_of(to, from, bytes);

	return on_gpu(to, bytes) && on_gpu(from, bytes) ? copy_now(&op, per_thread) : CUDA_INVALID_VALUE;
}

EXPORT int cuMemcpyDtoD_v2(uintptr_t to, uintptr_t from, size_t bytes)
{
	return copy_on_gpu(to, from, bytes, LEGACY);
}

EXPORT int cuMemcpyDtoD_v2_ptds(uintptr_t to, uintptr_t from, size_t bytes)
{
	return copy_on_gpu(to, from, bytes, PER_THREAD);
}

/* Any addresses: what is not the GPU's is the program's. */
static int copy_any(uintptr_t to, uintptr_t from, size_t bytes, bool per_thread)
{
	struct cuda_op op = copy_of(to, from, bytes);

	return to && from ? copy_now(&op, per_thread) : CUDA_INVALID_VALUE;
}

EXPORT int cuMemcpy(uintptr_t to, uintptr_t from, size_t bytes)
{
	return copy_any(to, from, bytes, LEGACY);
}

EXPORT int cuMemcpy_ptds(uintptr_t to, uintptr_t from, size_t bytes)
{
	return copy_any(to, from, bytes, PER_THREAD);
}

static int copy_any_later(uintptr_t to, uintptr_t from, size_t bytes, void *stream, bool per_thread)
{
	struct cuda_op op = copy_of(to, from, bytes);

	return to && from ? copy_enqueue(&op, !cuda_memory_holds(from, bytes), stream, per_thread) : CUDA_INVALID_VALUE;
}

EXPORT int cuMemcpyAsync(uintptr_t to, uintptr_t from, size_t bytes, void *stream)
{
	return copy_any_later(to, from, bytes, stream, LEGACY);
}

EXPORT int cuMemcpyAsync_ptsz(uintptr_t to, uintptr_t from, size_t bytes, void *stream)
{
	return copy_any_later(to, from, bytes, stream, PER_THREAD);
}

static int copy_to_gpu_later(uintptr_t to, const void *from, size_t bytes, void *stream, bool per_thread)
{
	struct cuda_op op = copy_of(to, (uintptr_t)from, bytes);

	return from && on_gpu(to, bytes) ? copy_enqueue(&op, true, stream, per_thread) : CUDA_INVALID_VALUE;
}

EXPORT int cuMemcpyHtoDAsync_v2(uintptr_t to, const void *from, size_t bytes, void *stream)
{
	return copy_to_gpu_later(to, from, bytes, stream, LEGACY);
}

EXPORT int cuMemcpyHtoDAsync_v2_ptsz(uintptr_t to, const void *from, size_t bytes, void *stream)
{
	return copy_to_gpu_later(to, from, bytes, stream, PER_THREAD);
}

static int copy_from_gpu_later(void *to, uintptr_t from, size_t bytes, void *stream, bool per_thread)
{
	struct cuda_op op = copy_of((uintptr_t)to, from, bytes);

	return to && on_gpu(from, bytes) ? copy_enqueue(&op, false, stream, per_thread) : CUDA_INVALID_VALUE;
}

EXPORT int cuMemcpyDtoHAsync_v2(void *to, uintptr_t from, size_t bytes, void *stream)
{
	return copy_from_gpu_later(to, from, bytes, stream, LEGACY);
}

EXPORT int cuMemcpyDtoHAsync_v2_ptsz(void *to, uintptr_t from, size_t bytes, void *stream)
{
	return copy_from_gpu_later(to, from, bytes, stream, PER_THREAD);
}

static int copy_on_gpu_later(uintptr_t to, uintptr_t from, size_t bytes, void *stream, bool per_thread)
{
	struct cuda_op op = copy_of(to, from, bytes);

	return on_gpu(to, bytes) && on_gpu(from, bytes) ? copy_enqueue(&op, false, stream, per_thread) : CUDA_INVALID_VALUE;
}

EXPORT int cuMemcpyDtoDAsync_v2(uintptr_t to, uintptr_t from, size_t bytes, void *stream)
{
	return copy_on_gpu_later(to, from, bytes, stream, LEGACY);
}

EXPORT int cuMemcpyDtoDAsync_v2_ptsz(uintptr_t to, uintptr_t from, size_t bytes, void *stream)
{
	return copy_on_gpu_later(to, from, bytes, stream, PER_THREAD);
}

/* @return CUresult; a fill of @n elements of @width bytes */
static int set_op(uintptr_t at, uint32_t value, uint32_t width, size_t n, struct cuda_op *op)
{
	*op = (struct cuda_op){ .effect = CUDA_SET, .to = at, .value = value, .width = width, .bytes = n * width };
	return n <= SIZE_MAX / width && at % width == 0 && on_gpu(at, op->bytes) ? 0 : CUDA_INVALID_VALUE;
}

static int set_now(uintptr_t at, uint32_t value, uint32_t width, size_t n, bool per_thread)
{
	struct cuda_op op;
	int rc = set_op(at, value, width, n, &op);

	return rc ? rc : copy_now(&op, per_thread);
}

static int set_later(uintptr_t at, uint32_t value, uint32_t width, size_t n, void *stream, bool per_thread)
{
	struct cuda_op op;
	int rc = set_op(at, value, width, n, &op);

	return rc ? rc : copy_enqueue(&op, false, stream, per_thread);
}

EXPORT int cuMemsetD8_v2(uintptr_t at, unsigned char value, size_t n)
{
	return set_now(at, value, 1, n, LEGACY);
}

EXPORT int cuMemsetD8_v2_ptds(uintptr_t at, unsigned char value, size_t n)
{
	return set_now(at, value, 1, n, PER_THREAD);
}

EXPORT int cuMemsetD32_v2(uintptr_t at, unsigned value, size_t n)
{
	return set_now(at, value, 4, n, LEGACY);
}

EXPORT int cuMemsetD32_v2_ptds(uintptr_t at, unsigned value, size_t n)
{
	return set_now(at, value, 4, n, PER_THREAD);
}

EXPORT int cuMemsetD8Async(uintptr_t at, unsigned char value, size_t n, void *stream)
{
	return set_later(at, value, 1, n, stream, LEGACY);
}

EXPORT int cuMemsetD8Async_ptsz(uintptr_t at, unsigned char value, size_t n, void *stream)
{
	return set_later(at, value, 1, n, stream, PER_THREAD);
}

EXPORT int cuMemsetD32Async(uintptr_t at, unsigned value, size_t n, void *stream)
{
	return set_later(at, value, 4, n, stream, LEGACY);
}

EXPORT int cuMemsetD32Async_ptsz(uintptr_t at, unsigned value, size_t n, void *stream)
{
	return set_later(at, value, 4, n, stream, PER_THREAD);
}
