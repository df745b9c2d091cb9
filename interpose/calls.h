/*
 * calls.h - the driver's functions that the library stands in front of, as lists.
 *
 *	X(symbol, base name, since, per thread, parameters, arguments, stream)
 *
 * @symbol is what the driver exports. A program passes the base name to cuGetProcAddress() with a
 * CUDA version, at least @since, and a flag for default streams per thread. Where the base name is
 * "" it is not known which versions have these parameters: the exported function with the same
 * address tells. Handles are pointers; structs that are passed on are pointers, too. hooks_launch.c
 * makes the gated functions from the lists, symbols.c its table.
 */
#ifndef HES_INTERPOSE_CALLS_H
#define HES_INTERPOSE_CALLS_H

#include <stddef.h>
#include <stdint.h>

#include "driver.h"

#define PER_THREAD(stream) ((stream) ? (stream) : STREAM_PER_THREAD)

/* Both of a function that has another variant for default streams per thread. */
/* clang-format off */
#define BOTH(X, symbol, suffix, base, since, params, args, stream) \
	X(symbol, base, since, 0, params, args, stream) \
	X(symbol##suffix, base, since, 1, params, args, PER_THREAD(stream))
/* clang-format on */
/* A call without a stream goes to the default stream. */
#define ASYNC(X, symbol, base, since, params, args) \
	BOTH(X, symbol, _ptsz, base, since, params, args, stream)
#define SYNC(X, symbol, base, since, params, args) \
	BOTH(X, symbol, _ptds, base, since, params, args, STREAM_LEGACY)

/* CUlaunchConfig. */
struct launch_config {
	unsigned grid[3], block[3], shared_bytes;
	void *stream;
	void *attributes;
	unsigned n_attributes;
};

/* clang-format off */
#define LAUNCH_CALLS(X) \
	ASYNC(X, cuLaunchKernel, "cuLaunchKernel", 4000, \
	      (void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, \
	      unsigned bz, unsigned shared_bytes, \
	       void *stream, void **params, void **extra), \
	      (f, gx, gy, gz, bx, by, bz, shared_bytes, stream, params, extra)) \
	BOTH(X, cuLaunchKernelEx, _ptsz, "cuLaunchKernelEx", 11060, \
	     (const struct launch_config *config, void *f, void **params, void **extra), \
	     (config, f, params, extra), \
	     (config ? config->stream : NULL)) \
	ASYNC(X, cuLaunchCooperativeKernel, "cuLaunchCooperativeKernel", 9000, \
	      (void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, \
	      unsigned bz, unsigned shared_bytes, \
	       void *stream, void **params), \
	      (f, gx, gy, gz, bx, by, bz, shared_bytes, stream, params)) \
	ASYNC(X, cuGraphLaunch, "cuGraphLaunch", 10000, (void *graph, void *stream), \
	      (graph, stream)) \
	ASYNC(X, cuLaunchHostFunc, "cuLaunchHostFunc", 10000, \
	      (void *stream, void (*f)(void *), void *data), (stream, f, data)) \
	X(cuLaunch, "cuLaunch", 2000, 0, (void *f), (f), STREAM_LEGACY) \
	X(cuLaunchGrid, "cuLaunchGrid", 2000, 0, (void *f, int width, int height), \
	      (f, width, height), STREAM_LEGACY) \
	X(cuLaunchGridAsync, "cuLaunchGridAsync", 2000, 0, \
	      (void *f, int width, int height, void *stream), \
	  (f, width, height, stream), stream)
/* clang-format on */

/* CUmemLocation. */
struct mem_location {
	int type, id;
};

/* DEVICE is a CUdeviceptr. */
#define DEVICE unsigned long long

/* clang-format off */
#define COPY_CALLS(X) \
	SYNC(X, cuMemcpy, "cuMemcpy", 4000, (DEVICE to, DEVICE from, size_t n), (to, from, n)) \
	SYNC(X, cuMemcpyPeer, "cuMemcpyPeer", 4000, \
	      (DEVICE to, void *there, DEVICE from, void *here, size_t n), \
	     (to, there, from, here, n)) \
	SYNC(X, cuMemcpyHtoD_v2, "cuMemcpyHtoD", 3020, (DEVICE to, const void *from, size_t n), \
	      (to, from, n)) \
	SYNC(X, cuMemcpyDtoH_v2, "cuMemcpyDtoH", 3020, (void *to, DEVICE from, size_t n), \
	      (to, from, n)) \
	SYNC(X, cuMemcpyDtoD_v2, "cuMemcpyDtoD", 3020, (DEVICE to, DEVICE from, size_t n), \
	      (to, from, n)) \
	SYNC(X, cuMemcpyDtoA_v2, "cuMemcpyDtoA", 3020, \
	      (void *to, size_t at, DEVICE from, size_t n), (to, at, from, n)) \
	SYNC(X, cuMemcpyAtoD_v2, "cuMemcpyAtoD", 3020, \
	      (DEVICE to, void *from, size_t at, size_t n), (to, from, at, n)) \
	SYNC(X, cuMemcpyHtoA_v2, "cuMemcpyHtoA", 3020, \
	      (void *to, size_t at, const void *from, size_t n), (to, at, from, n)) \
	SYNC(X, cuMemcpyAtoH_v2, "cuMemcpyAtoH", 3020, \
	      (void *to, void *from, size_t at, size_t n), (to, from, at, n)) \
	SYNC(X, cuMemcpyAtoA_v2, "cuMemcpyAtoA", 3020, \
	      (void *to, size_t to_at, void *from, size_t from_at, size_t n), \
	     (to, to_at, from, from_at, n)) \
	SYNC(X, cuMemcpy2D_v2, "cuMemcpy2D", 3020, (const void *copy), (copy)) \
	SYNC(X, cuMemcpy2DUnaligned_v2, "cuMemcpy2DUnaligned", 3020, (const void *copy), (copy)) \
	SYNC(X, cuMemcpy3D_v2, "cuMemcpy3D", 3020, (const void *copy), (copy)) \
	SYNC(X, cuMemcpy3DPeer, "cuMemcpy3DPeer", 4000, (const void *copy), (copy)) \
	ASYNC(X, cuMemcpyAsync, "cuMemcpyAsync", 4000, \
	      (DEVICE to, DEVICE from, size_t n, void *stream), (to, from, n, stream)) \
	ASYNC(X, cuMemcpyPeerAsync, "cuMemcpyPeerAsync", 4000, \
	      (DEVICE to, void *there, DEVICE from, void *here, size_t n, void *stream), \
	      (to, there, from, here, n, stream)) \
	ASYNC(X, cuMemcpyHtoDAsync_v2, "cuMemcpyHtoDAsync", 3020, \
	      (DEVICE to, const void *from, size_t n, void *stream), \
	      (to, from, n, stream)) \
	ASYNC(X, cuMemcpyDtoHAsync_v2, "cuMemcpyDtoHAsync", 3020, \
	      (void *to, DEVICE from, size_t n, void *stream), \
	      (to, from, n, stream)) \
	ASYNC(X, cuMemcpyDtoDAsync_v2, "cuMemcpyDtoDAsync", 3020, \
	      (DEVICE to, DEVICE from, size_t n, void *stream), \
	      (to, from, n, stream)) \
	ASYNC(X, cuMemcpyHtoAAsync_v2, "cuMemcpyHtoAAsync", 3020, \
	      (void *to, size_t at, const void *from, size_t n, void *stream), \
	      (to, at, from, n, stream)) \
	ASYNC(X, cuMemcpyAtoHAsync_v2, "cuMemcpyAtoHAsync", 3020, \
	      (void *to, void *from, size_t at, size_t n, void *stream), \
	      (to, from, at, n, stream)) \
	ASYNC(X, cuMemcpy2DAsync_v2, "cuMemcpy2DAsync", 3020, (const void *copy, void *stream), \
	      (copy, stream)) \
	ASYNC(X, cuMemcpy3DAsync_v2, "cuMemcpy3DAsync", 3020, (const void *copy, void *stream), \
	      (copy, stream)) \
	ASYNC(X, cuMemcpy3DPeerAsync, "cuMemcpy3DPeerAsync", 4000, \
	      (const void *copy, void *stream), (copy, stream)) \
	ASYNC(X, cuMemcpyBatchAsync, "cuMemcpyBatchAsync", 12080, \
	      (DEVICE *to, DEVICE *from, size_t *sizes, size_t n, void *attributes, \
	      size_t *indices, size_t n_attributes, \
	       size_t *failed, void *stream), \
	      (to, from, sizes, n, attributes, indices, n_attributes, failed, stream)) \
	ASYNC(X, cuMemcpyBatchAsync_v2, "cuMemcpyBatchAsync", 13000, \
	      (DEVICE *to, DEVICE *from, size_t *sizes, size_t n, void *attributes, \
	      size_t *indices, size_t n_attributes, \
	       void *stream), \
	      (to, from, sizes, n, attributes, indices, n_attributes, stream)) \
	ASYNC(X, cuMemcpy3DBatchAsync, "cuMemcpy3DBatchAsync", 12080, \
	      (size_t n, void *list, size_t *failed, unsigned long long flags, void *stream), \
	      (n, list, failed, flags, stream)) \
	ASYNC(X, cuMemcpy3DBatchAsync_v2, "cuMemcpy3DBatchAsync", 13000, \
	      (size_t n, void *list, unsigned long long flags, void *stream), \
	      (n, list, flags, stream)) \
	ASYNC(X, cuMemPrefetchAsync, "", 8000, (DEVICE at, size_t n, int device, void *stream), \
	      (at, n, device, stream)) \
	ASYNC(X, cuMemPrefetchAsync_v2, "", 12020, \
	      (DEVICE at, size_t n, struct mem_location where, unsigned flags, void *stream), \
	      (at, n, where, flags, stream)) \
	SYNC(X, cuMemsetD8_v2, "cuMemsetD8", 3020, (DEVICE to, unsigned char x, size_t n), \
	      (to, x, n)) \
	SYNC(X, cuMemsetD16_v2, "cuMemsetD16", 3020, (DEVICE to, unsigned short x, size_t n), \
	      (to, x, n)) \
	SYNC(X, cuMemsetD32_v2, "cuMemsetD32", 3020, (DEVICE to, unsigned x, size_t n), \
	      (to, x, n)) \
	SYNC(X, cuMemsetD2D8_v2, "cuMemsetD2D8", 3020, \
	      (DEVICE to, size_t pitch, unsigned char x, size_t width, size_t height), \
	     (to, pitch, x, width, height)) \
	SYNC(X, cuMemsetD2D16_v2, "cuMemsetD2D16", 3020, \
	      (DEVICE to, size_t pitch, unsigned short x, size_t width, size_t height), \
	     (to, pitch, x, width, height)) \
	SYNC(X, cuMemsetD2D32_v2, "cuMemsetD2D32", 3020, \
	      (DEVICE to, size_t pitch, unsigned x, size_t width, size_t height), \
	     (to, pitch, x, width, height)) \
	ASYNC(X, cuMemsetD8Async, "cuMemsetD8Async", 3020, \
	      (DEVICE to, unsigned char x, size_t n, void *stream), (to, x, n, stream)) \
	ASYNC(X, cuMemsetD16Async, "cuMemsetD16Async", 3020, \
	      (DEVICE to, unsigned short x, size_t n, void *stream), (to, x, n, stream)) \
	ASYNC(X, cuMemsetD32Async, "cuMemsetD32Async", 3020, \
	      (DEVICE to, unsigned x, size_t n, void *stream), (to, x, n, stream)) \
	ASYNC(X, cuMemsetD2D8Async, "cuMemsetD2D8Async", 3020, \
	      (DEVICE to, size_t pitch, unsigned char x, size_t width, size_t height, \
	      void *stream), \
	      (to, pitch, x, width, height, stream)) \
	ASYNC(X, cuMemsetD2D16Async, "cuMemsetD2D16Async", 3020, \
	      (DEVICE to, size_t pitch, unsigned short x, size_t width, size_t height, \
	      void *stream), \
	      (to, pitch, x, width, height, stream)) \
	ASYNC(X, cuMemsetD2D32Async, "cuMemsetD2D32Async", 3020, \
	      (DEVICE to, size_t pitch, unsigned x, size_t width, size_t height, void *stream), \
	      (to, pitch, x, width, height, stream))
/* clang-format on */

/* Not gated: hooks_stream.c, hooks_context.c and symbols.c have a function for each. */
/* clang-format off */
#define WATCHED_CALLS(X) \
	X(cuStreamDestroy, "cuStreamDestroy", 2000, 0, (void *stream), (stream), NULL) \
	X(cuStreamDestroy_v2, "cuStreamDestroy", 4000, 0, (void *stream), (stream), NULL) \
	BOTH(X, cuStreamBeginCapture, _ptsz, "cuStreamBeginCapture", 10000, (void *stream), \
	      (stream), stream) \
	BOTH(X, cuStreamBeginCapture_v2, _ptsz, "cuStreamBeginCapture", 10010, \
	      (void *stream, int mode), (stream, mode), stream) \
	BOTH(X, cuStreamBeginCaptureToGraph, _ptsz, "cuStreamBeginCaptureToGraph", 12030, \
	     (void *stream, void *graph, const void *nodes, const void *edges, size_t n, \
	     int mode), \
	     (stream, graph, nodes, edges, n, mode), stream) \
	BOTH(X, cuStreamEndCapture, _ptsz, "cuStreamEndCapture", 10000, \
	      (void *stream, void **graph), (stream, graph), stream) \
	X(cuCtxCreate, "cuCtxCreate", 2000, 0, (void **out, unsigned flags, int device), \
	      (out, flags, device), NULL) \
	X(cuCtxCreate_v2, "cuCtxCreate", 3020, 0, (void **out, unsigned flags, int device), \
	      (out, flags, device), NULL) \
	X(cuCtxCreate_v3, "cuCtxCreate", 11040, 0, \
	      (void **out, void *affinity, int n, unsigned flags, int device), \
	  (out, affinity, n, flags, device), NULL) \
	X(cuCtxCreate_v4, "cuCtxCreate", 12050, 0, \
	      (void **out, void *parameters, unsigned flags, int device), \
	  (out, parameters, flags, device), NULL) \
	X(cuCtxDestroy, "cuCtxDestroy", 2000, 0, (void *context), (context), NULL) \
	X(cuCtxDestroy_v2, "cuCtxDestroy", 4000, 0, (void *context), (context), NULL) \
	X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", 7000, 0, \
	      (void **out, int device), (out, device), NULL) \
	X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease", 7000, 0, (int device), \
	      (device), NULL) \
	X(cuDevicePrimaryCtxRelease_v2, "cuDevicePrimaryCtxRelease", 11000, 0, (int device), \
	      (device), NULL) \
	X(cuDevicePrimaryCtxReset, "cuDevicePrimaryCtxReset", 7000, 0, (int device), (device), \
	      NULL) \
	X(cuDevicePrimaryCtxReset_v2, "cuDevicePrimaryCtxReset", 11000, 0, (int device), \
	      (device), NULL) \
	X(cuGetProcAddress, "cuGetProcAddress", 11030, 0, \
	      (const char *name, void **out, int version, uint64_t flags), \
	  (name, out, version, flags), NULL) \
	X(cuGetProcAddress_v2, "cuGetProcAddress", 12000, 0, \
	  (const char *name, void **out, int version, uint64_t flags, int *status), \
	  (name, out, version, flags, status), NULL)
/* clang-format on */

#define ALL_CALLS(X) LAUNCH_CALLS(X) COPY_CALLS(X) WATCHED_CALLS(X)

#define EXPORT __attribute__((visibility("default")))

#define CALL_DECLARE(symbol, base, since, per_thread, params, args, stream) \
	EXPORT int symbol params;
ALL_CALLS(CALL_DECLARE)
#undef CALL_DECLARE

#define CALL_NUMBER(symbol, base, since, per_thread, params, args, stream) CALL_##symbol,
enum call { ALL_CALLS(CALL_NUMBER) N_CALLS };
#undef CALL_NUMBER

#endif
