/*
 * cuda_entry.c - libcuda's stand-in: find functions by name, as CUDA's runtime does, and the names
 * of errors.
 *
 * A base name ("cuMemAlloc") stands for the function of the requested CUDA version. With the flag
 * for per-thread default streams it is the variant _ptsz or _ptds, if there is one.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cuda_stand_in.h"

enum { FOUND, NOT_FOUND, TOO_OLD };

#define PER_THREAD (1u << 1) /* of the flags */

/* Base names whose function depends on the requested version; newest first. */
static const struct {
	const char *base, *exported;
	int since;
} versions[] = {
	{ "cuCtxCreate", "cuCtxCreate_v2", 3020 },
	{ "cuCtxDestroy", "cuCtxDestroy_v2", 4000 },
	{ "cuCtxGetCurrent", "cuCtxGetCurrent", 4000 },
	{ "cuCtxGetStreamPriorityRange", "cuCtxGetStreamPriorityRange", 5050 },
	{ "cuCtxPopCurrent", "cuCtxPopCurrent_v2", 4000 },
	{ "cuCtxPushCurrent", "cuCtxPushCurrent_v2", 4000 },
	{ "cuCtxSetCurrent", "cuCtxSetCurrent", 4000 },
	{ "cuDeviceGetUuid", "cuDeviceGetUuid_v2", 11040 },
	{ "cuDeviceGetUuid", "cuDeviceGetUuid", 9020 },
	{ "cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxRelease_v2", 11000 },
	{ "cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRetain", 7000 },
	{ "cuDeviceTotalMem", "cuDeviceTotalMem_v2", 3020 },
	{ "cuEventDestroy", "cuEventDestroy_v2", 4000 },
	{ "cuEventRecordWithFlags", "cuEventRecordWithFlags", 11010 },
	{ "cuGetErrorName", "cuGetErrorName", 6000 },
	{ "cuGetErrorString", "cuGetErrorString", 6000 },
	{ "cuGetProcAddress", "cuGetProcAddress_v2", 12000 },
	{ "cuGetProcAddress", "cuGetProcAddress", 11030 },
	{ "cuGraphCreate", "cuGraphCreate", 10000 },
	{ "cuGraphDestroy", "cuGraphDestroy", 10000 },
	{ "cuGraphExecDestroy", "cuGraphExecDestroy", 10000 },
	{ "cuGraphGetNodes", "cuGraphGetNodes", 10000 },
	{ "cuGraphInstantiate", "cuGraphInstantiateWithFlags", 12000 },
	{ "cuGraphInstantiate", "cuGraphInstantiate_v2", 11000 },
	{ "cuGraphInstantiate", "cuGraphInstantiate", 10000 },
	{ "cuGraphInstantiateWithFlags", "cuGraphInstantiateWithFlags", 11040 },
	{ "cuGraphLaunch", "cuGraphLaunch", 10000 },
	{ "cuGraphUpload", "cuGraphUpload", 11010 },
	{ "cuLaunchCooperativeKernel", "cuLaunchCooperativeKernel", 9000 },
	{ "cuLaunchHostFunc", "cuLaunchHostFunc", 10000 },
	{ "cuLaunchKernel", "cuLaunchKernel", 4000 },
	{ "cuLaunchKernelEx", "cuLaunchKernelEx", 11060 },
	{ "cuMemAlloc", "cuMemAlloc_v2", 3020 },
	{ "cuMemAllocHost", "cuMemAllocHost_v2", 3020 },
	{ "cuMemFree", "cuMemFree_v2", 3020 },
	{ "cuMemGetInfo", "cuMemGetInfo_v2", 3020 },
	{ "cuMemcpy", "cuMemcpy", 4000 },
	{ "cuMemcpyAsync", "cuMemcpyAsync", 4000 },
	{ "cuMemcpyDtoD", "cuMemcpyDtoD_v2", 3020 },
	{ "cuMemcpyDtoDAsync", "cuMemcpyDtoDAsync_v2", 3020 },
	{ "cuMemcpyDtoH", "cuMemcpyDtoH_v2", 3020 },
	{ "cuMemcpyDtoHAsync", "cuMemcpyDtoHAsync_v2", 3020 },
	{ "cuMemcpyHtoD", "cuMemcpyHtoD_v2", 3020 },
	{ "cuMemcpyHtoDAsync", "cuMemcpyHtoDAsync_v2", 3020 },
	{ "cuMemsetD32", "cuMemsetD32_v2", 3020 },
	{ "cuMemsetD32Async", "cuMemsetD32Async", 3020 },
	{ "cuMemsetD8", "cuMemsetD8_v2", 3020 },
	{ "cuMemsetD8Async", "cuMemsetD8Async", 3020 },
	{ "cuStreamBeginCapture", "cuStreamBeginCapture_v2", 10010 },
	{ "cuStreamBeginCapture", "cuStreamBeginCapture", 10000 },
	{ "cuStreamCreateWithPriority", "cuStreamCreateWithPriority", 5050 },
	{ "cuStreamDestroy", "cuStreamDestroy_v2", 4000 },
	{ "cuStreamEndCapture", "cuStreamEndCapture", 10000 },
	{ "cuStreamGetCaptureInfo", "cuStreamGetCaptureInfo_v2", 11030 },
	{ "cuStreamGetCaptureInfo", "cuStreamGetCaptureInfo", 10010 },
	{ "cuStreamGetCtx", "cuStreamGetCtx", 9020 },
	{ "cuStreamGetFlags", "cuStreamGetFlags", 5050 },
	{ "cuStreamGetPriority", "cuStreamGetPriority", 5050 },
	{ "cuStreamIsCapturing", "cuStreamIsCapturing", 10000 },
	{ "cuStreamWaitEvent", "cuStreamWaitEvent", 3020 },
	{ "cuThreadExchangeStreamCaptureMode", "cuThreadExchangeStreamCaptureMode", 10010 },
};

#define OLDEST           2000 /* first version of all other names */
#define PER_THREAD_SINCE 7000

static void *exported(const char *name, const char *ending)
{
	char full[96];

	return snprintf(full, sizeof(full), "%s%s", name, ending) < (int)sizeof(full)
		       ? cuda_exported(full)
		       : NULL;
}

/* The exported name for a base name in a CUDA version. */
static const char *name_in(const char *base, int version, int *status)
{
	bool known = false;

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		if (strcmp(versions[i].base, base) != 0)
			continue;
		known = true;
		if (version >= versions[i].since)
			return versions[i].exported;
	}
	*status = known || version < OLDEST ? TOO_OLD : FOUND;
	return known ? NULL : base;
}

static void *find_function(const char *base, int version, uint64_t flags, int *status)
{
	static const char *const endings[] = { "_ptsz", "_ptds" };
	const char *name;
	void *f = NULL;

	*status = NOT_FOUND;
	if (strncmp(base, "cu", 2) != 0)
		return NULL;
	*status = FOUND;
	name = name_in(base, version, status);
	if (name && !exported(name, "")) {
		*status = NOT_FOUND;
		return NULL;
	}
	if (*status != FOUND)
		return NULL;
	for (size_t i = 0; i < 2 && !f && flags & PER_THREAD && version >= PER_THREAD_SINCE; i++)
		f = exported(name, endings[i]);
	return f ? f : exported(name, "");
}

/* A missing function is NULL and no error; @status says why. */
EXPORT int cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags,
			       int *status)
{
	int why;

	if (!name || !out || version < 0 || version > VGPU_DRIVER_VERSION || flags & ~3ull)
		return CUDA_INVALID_VALUE;
	*out = find_function(name, version, flags, &why);
	if (status)
		*status = why;
	return 0;
}

/* The version of CUDA 11 has no status: a missing function is an error. */
EXPORT int cuGetProcAddress(const char *name, void **out, int version, uint64_t flags)
{
	int rc = cuGetProcAddress_v2(name, out, version, flags, NULL);

	return rc || *out ? rc : CUDA_NOT_FOUND;
}

static const struct {
	int code;
	const char *name, *text;
} errors[] = {
	{ CUDA_OK, "CUDA_SUCCESS", "no error" },
	{ CUDA_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument" },
	{ VGPU_CUDA_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory" },
	{ CUDA_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error" },
	{ VGPU_CUDA_DEVICE_UNAVAILABLE, "CUDA_ERROR_DEVICE_UNAVAILABLE", "device unavailable" },
	{ CUDA_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no device" },
	{ CUDA_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal" },
	{ CUDA_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid" },
	{ CUDA_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context" },
	{ CUDA_NO_BINARY, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no code for this device" },
	{ CUDA_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle" },
	{ CUDA_ILLEGAL_STATE, "CUDA_ERROR_ILLEGAL_STATE",
	  "the operation cannot be performed in the present state" },
	{ CUDA_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found" },
	{ CUDA_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready" },
	{ CUDA_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS",
	  "an illegal memory access was encountered" },
	{ VGPU_CUDA_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure" },
	{ CUDA_MPS_NO_CONNECTION, "CUDA_ERROR_MPS_CONNECTION_FAILED", "no connection to MPS" },
	{ VGPU_CUDA_MPS_RPC_FAILURE, "CUDA_ERROR_MPS_RPC_FAILURE",
	  "the MPS server does not answer" },
	{ CUDA_MPS_SERVER_NOT_READY, "CUDA_ERROR_MPS_SERVER_NOT_READY",
	  "the MPS server is not ready" },
	{ VGPU_CUDA_MPS_MAX_CLIENTS, "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED", "too many MPS clients" },
	{ VGPU_CUDA_MPS_CLIENT_TERMINATED, "CUDA_ERROR_MPS_CLIENT_TERMINATED",
	  "the MPS client was terminated" },
	{ CUDA_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
	  "operation not permitted when stream is capturing" },
	{ CUDA_CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
	  "the capture was invalidated by an earlier error" },
	{ CUDA_CAPTURE_MERGE, "CUDA_ERROR_STREAM_CAPTURE_MERGE",
	  "operation would merge two captures" },
	{ CUDA_CAPTURE_UNMATCHED, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
	  "the capture was not begun in this stream" },
	{ CUDA_CAPTURE_UNJOINED, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
	  "the capture has work that was not joined" },
	{ CUDA_CAPTURE_ISOLATION, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
	  "dependency on work outside of the capture" },
	{ CUDA_CAPTURE_IMPLICIT, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
	  "the legacy stream would depend on a capturing stream" },
	{ CUDA_CAPTURED_EVENT, "CUDA_ERROR_CAPTURED_EVENT",
	  "operation not permitted on an event last recorded in a capture" },
	{ CUDA_CAPTURE_WRONG_THREAD, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
	  "the capture was begun by another thread" },
	{ VGPU_CUDA_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error" },
};

static int describe(int code, bool name, const char **out)
{
	if (!out)
		return CUDA_INVALID_VALUE;
	*out = NULL;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].code == code)
			*out = name ? errors[i].name : errors[i].text;
	return *out ? 0 : CUDA_INVALID_VALUE;
}

EXPORT int cuGetErrorName(int code, const char **out)
{
	return describe(code, true, out);
}

EXPORT int cuGetErrorString(int code, const char **out)
{
	return describe(code, false, out);
}
