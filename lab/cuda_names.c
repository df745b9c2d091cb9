/*
 * cuda_names.c - libcuda's stand-in: the table of all functions that it exports.
 *
 * cuGetProcAddress uses this table and not dlsym(), which a preloaded library may replace. For the
 * same reason the library is linked with -Bsymbolic. A test compares the table with the exported
 * symbols.
 */
#include <stdlib.h>
#include <string.h>

#include "cuda_stand_in.h"

/* clang-format off */
#define EXPORTED(F) \
	F(cuCtxCreate_v2) F(cuCtxDestroy_v2) F(cuCtxGetCurrent) F(cuCtxGetDevice) \
	F(cuCtxGetStreamPriorityRange) \
	F(cuCtxPopCurrent_v2) F(cuCtxPushCurrent_v2) F(cuCtxSetCurrent) F(cuCtxSynchronize) \
	F(cuDeviceComputeCapability) \
	F(cuDeviceGet) F(cuDeviceGetAttribute) F(cuDeviceGetCount) F(cuDeviceGetName) \
	F(cuDeviceGetPCIBusId) \
	F(cuDeviceGetUuid) F(cuDeviceGetUuid_v2) F(cuDevicePrimaryCtxRelease_v2) \
	F(cuDevicePrimaryCtxRetain) \
	F(cuDeviceTotalMem_v2) F(cuDriverGetVersion) F(cuEventCreate) F(cuEventDestroy_v2) \
	F(cuEventElapsedTime) \
	F(cuEventQuery) F(cuEventRecord) F(cuEventRecordWithFlags) \
	F(cuEventRecordWithFlags_ptsz) F(cuEventRecord_ptsz) \
	F(cuEventSynchronize) F(cuGetErrorName) F(cuGetErrorString) F(cuGetProcAddress) \
	F(cuGetProcAddress_v2) \
	F(cuGraphCreate) F(cuGraphDestroy) F(cuGraphExecDestroy) F(cuGraphGetNodes) \
	F(cuGraphInstantiate) \
	F(cuGraphInstantiateWithFlags) F(cuGraphInstantiate_v2) F(cuGraphLaunch) \
	F(cuGraphLaunch_ptsz) F(cuGraphUpload) \
	F(cuGraphUpload_ptsz) F(cuInit) F(cuLaunchCooperativeKernel) \
	F(cuLaunchCooperativeKernel_ptsz) F(cuLaunchHostFunc) \
	F(cuLaunchHostFunc_ptsz) F(cuLaunchKernel) F(cuLaunchKernelEx) F(cuLaunchKernelEx_ptsz) \
	F(cuLaunchKernel_ptsz) \
	F(cuMemAllocHost_v2) F(cuMemAlloc_v2) F(cuMemFreeHost) F(cuMemFree_v2) \
	F(cuMemGetInfo_v2) F(cuMemHostAlloc) \
	F(cuMemcpy) F(cuMemcpyAsync) F(cuMemcpyAsync_ptsz) F(cuMemcpyDtoDAsync_v2) \
	F(cuMemcpyDtoDAsync_v2_ptsz) \
	F(cuMemcpyDtoD_v2) F(cuMemcpyDtoD_v2_ptds) F(cuMemcpyDtoHAsync_v2) \
	F(cuMemcpyDtoHAsync_v2_ptsz) F(cuMemcpyDtoH_v2) \
	F(cuMemcpyDtoH_v2_ptds) F(cuMemcpyHtoDAsync_v2) F(cuMemcpyHtoDAsync_v2_ptsz) \
	F(cuMemcpyHtoD_v2) \
	F(cuMemcpyHtoD_v2_ptds) F(cuMemcpy_ptds) F(cuMemsetD32Async) F(cuMemsetD32Async_ptsz) \
	F(cuMemsetD32_v2) \
	F(cuMemsetD32_v2_ptds) F(cuMemsetD8Async) F(cuMemsetD8Async_ptsz) F(cuMemsetD8_v2) \
	F(cuMemsetD8_v2_ptds) \
	F(cuModuleGetFunction) F(cuModuleLoadData) F(cuModuleLoadDataEx) F(cuModuleUnload) \
	F(cuStreamBeginCapture) \
	F(cuStreamBeginCapture_ptsz) F(cuStreamBeginCapture_v2) F(cuStreamBeginCapture_v2_ptsz) \
	F(cuStreamCreate) \
	F(cuStreamCreateWithPriority) F(cuStreamDestroy_v2) F(cuStreamEndCapture) \
	F(cuStreamEndCapture_ptsz) \
	F(cuStreamGetCaptureInfo) F(cuStreamGetCaptureInfo_ptsz) F(cuStreamGetCaptureInfo_v2) \
	F(cuStreamGetCaptureInfo_v2_ptsz) F(cuStreamGetCtx) F(cuStreamGetCtx_ptsz) \
	F(cuStreamGetFlags) \
	F(cuStreamGetFlags_ptsz) F(cuStreamGetPriority) F(cuStreamGetPriority_ptsz) \
	F(cuStreamIsCapturing) \
	F(cuStreamIsCapturing_ptsz) F(cuStreamQuery) F(cuStreamQuery_ptsz) F(cuStreamSynchronize) \
	F(cuStreamSynchronize_ptsz) F(cuStreamWaitEvent) F(cuStreamWaitEvent_ptsz) \
	F(cuThreadExchangeStreamCaptureMode)
/* clang-format on */

#define DECLARE(name) extern void name(void);
#define ROW(name)     { #name, name },

EXPORTED(DECLARE)

struct row {
	const char *name;
	void (*function)(void);
};

/* In the order of strcmp. */
static const struct row rows[] = { EXPORTED(ROW) };

static int row_compare(const void *name, const void *row)
{
	return strcmp(name, ((const struct row *)row)->name);
}

void *cuda_exported(const char *name)
{
	const struct row *r =
		bsearch(name, rows, sizeof(rows) / sizeof(rows[0]), sizeof(rows[0]), row_compare);
	void *f = NULL;

	if (r)
		memcpy(&f, &r->function, sizeof(f));
	return f;
}
