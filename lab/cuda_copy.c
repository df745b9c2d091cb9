/*
 * cuda_copy.c - libcuda's stand-in: copies and fills, in the order of their stream.
 *
 * Synchronous calls use a default stream and wait for it. Copies take no GPU time.
 */
#include <stdlib.h>
#include <string.h>

#include "cuda_capture.h"
#include "cuda_stand_in.h"

#define STAGED_BYTES (64 << 10) /* host memory up to this size is read by the call itself */

enum {
	ANY = 0,
	TO_GPU = 1,
	FROM_GPU = 2,
	IN_GPU = TO_GPU | FROM_GPU
}; /* which addresses must be device memory */

/* A capturing stream reads the memory later, when its graph runs. */
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

/* Run @op in a default stream and wait for it. */
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

static bool on_gpu(uintptr_t at, size_t bytes)
{
	return !bytes || cuda_memory_holds(at, bytes);
}

/* @return whether the addresses suit the copy */
static bool copy_fits(const struct cuda_op *op, unsigned sides)
{
	return (sides & TO_GPU ? on_gpu(op->to, op->bytes) : op->to != 0) &&
	       (sides & FROM_GPU ? on_gpu(op->from, op->bytes) : op->from != 0);
}

static int copy(uintptr_t to, uintptr_t from, size_t bytes, unsigned sides, bool per_thread)
{
	struct cuda_op op = { .effect = CUDA_COPY, .to = to, .from = from, .bytes = bytes };

	return copy_fits(&op, sides) ? copy_now(&op, per_thread) : CUDA_INVALID_VALUE;
}

static int copy_async(uintptr_t to, uintptr_t from, size_t bytes, unsigned sides, void *stream,
		      bool per_thread)
{
	struct cuda_op op = { .effect = CUDA_COPY, .to = to, .from = from, .bytes = bytes };

	if (!copy_fits(&op, sides))
		return CUDA_INVALID_VALUE;
	return copy_enqueue(&op, !(sides & FROM_GPU) && !cuda_memory_holds(from, bytes), stream,
			    per_thread);
}

EXPORT_BOTH(cuMemcpy, _ptds, (uintptr_t to, uintptr_t from, size_t bytes),
	    copy(to, from, bytes, ANY, per_thread))
EXPORT_BOTH(cuMemcpyHtoD_v2, _ptds, (uintptr_t to, uintptr_t from, size_t bytes),
	    copy(to, from, bytes, TO_GPU, per_thread))
EXPORT_BOTH(cuMemcpyDtoH_v2, _ptds, (uintptr_t to, uintptr_t from, size_t bytes),
	    copy(to, from, bytes, FROM_GPU, per_thread))
EXPORT_BOTH(cuMemcpyDtoD_v2, _ptds, (uintptr_t to, uintptr_t from, size_t bytes),
	    copy(to, from, bytes, IN_GPU, per_thread))

EXPORT_BOTH(cuMemcpyAsync, _ptsz, (uintptr_t to, uintptr_t from, size_t bytes, void *stream),
	    copy_async(to, from, bytes, ANY, stream, per_thread))
EXPORT_BOTH(cuMemcpyHtoDAsync_v2, _ptsz, (uintptr_t to, uintptr_t from, size_t bytes, void *stream),
	    copy_async(to, from, bytes, TO_GPU, stream, per_thread))
EXPORT_BOTH(cuMemcpyDtoHAsync_v2, _ptsz, (uintptr_t to, uintptr_t from, size_t bytes, void *stream),
	    copy_async(to, from, bytes, FROM_GPU, stream, per_thread))
EXPORT_BOTH(cuMemcpyDtoDAsync_v2, _ptsz, (uintptr_t to, uintptr_t from, size_t bytes, void *stream),
	    copy_async(to, from, bytes, IN_GPU, stream, per_thread))

/* A fill of @n elements of @width bytes. @return CUresult */
static int set_op(uintptr_t at, uint32_t value, uint32_t width, size_t n, struct cuda_op *op)
{
	*op = (struct cuda_op){
		.effect = CUDA_SET, .to = at, .value = value, .width = width, .bytes = n * width
	};
	return n <= SIZE_MAX / width && at % width == 0 && on_gpu(at, op->bytes)
		       ? 0
		       : CUDA_INVALID_VALUE;
}

static int set(uintptr_t at, uint32_t value, uint32_t width, size_t n, bool per_thread)
{
	struct cuda_op op;
	int rc = set_op(at, value, width, n, &op);

	return rc ? rc : copy_now(&op, per_thread);
}

static int set_async(uintptr_t at, uint32_t value, uint32_t width, size_t n, void *stream,
		     bool per_thread)
{
	struct cuda_op op;
	int rc = set_op(at, value, width, n, &op);

	return rc ? rc : copy_enqueue(&op, false, stream, per_thread);
}

EXPORT_BOTH(cuMemsetD8_v2, _ptds, (uintptr_t at, unsigned char value, size_t n),
	    set(at, value, 1, n, per_thread))
EXPORT_BOTH(cuMemsetD32_v2, _ptds, (uintptr_t at, unsigned value, size_t n),
	    set(at, value, 4, n, per_thread))
EXPORT_BOTH(cuMemsetD8Async, _ptsz, (uintptr_t at, unsigned char value, size_t n, void *stream),
	    set_async(at, value, 1, n, stream, per_thread))
EXPORT_BOTH(cuMemsetD32Async, _ptsz, (uintptr_t at, unsigned value, size_t n, void *stream),
	    set_async(at, value, 4, n, stream, per_thread))
