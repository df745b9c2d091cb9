/*
 * cuda_entry.c - libcuda's stand-in: functions by name, as CUDA's runtime asks for them, and errors by name.
 *
 * A base name ("cuMemAlloc") stands for the version that the asked CUDA has; of those
 * that are here every CUDA from 11.0 on has the same.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "cuda_stand_in.h"

#define OLDEST 11000

enum { FOUND, NOT_FOUND, TOO_OLD };

static void *find(const char *name)
{
	static const char *const versioned[] = {
		"cuCtxCreate", "cuCtxDestroy", "cuCtxPushCurrent", "cuCtxPopCurrent", "cuDevicePrimaryCtxRelease",
		"cuDeviceTotalMem", "cuMemAlloc", "cuMemFree", "cuMemGetInfo", "cuMemcpyHtoD", "cuMemcpyDtoH",
		"cuMemcpyDtoD", "cuMemsetD8", "cuStreamDestroy", "cuEventDestroy", "cuGetProcAddress",
	};
	char full[64];
	Dl_info own;
	void *handle, *f;

	if (strlen(name) + 4 > sizeof(full) || strncmp(name, "cu", 2) != 0 || !dladdr(versioned, &own))
		return NULL;
	strcpy(full, name);
	for (size_t i = 0; i < sizeof(versioned) / sizeof(versioned[0]); i++)
		if (strcmp(versioned[i], name) == 0)
			strcat(full, "_v2");
	handle = dlopen(own.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	f = handle ? dlsym(handle, full) : NULL;
	if (handle)
		dlclose(handle);
	return f;
}

EXPORT int cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags, int *status)
{
	(void)flags;
	if (!name || !out)
		return CUDA_INVALID_VALUE;
	*out = version >= OLDEST ? find(name) : NULL;
	if (status)
		*status = *out ? FOUND : version < OLDEST ? TOO_OLD : NOT_FOUND;
	return *out ? 0 : CUDA_NOT_FOUND;
}

EXPORT int cuGetProcAddress(const char *name, void **out, int version, uint64_t flags)
{
	return cuGetProcAddress_v2(name, out, version, flags, NULL);
}

static const struct {
	int         code;
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
	{ CUDA_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found" },
	{ CUDA_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready" },
	{ VGPU_CUDA_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure" },
	{ CUDA_MPS_NO_CONNECTION, "CUDA_ERROR_MPS_CONNECTION_FAILED", "no connection to MPS" },
	{ VGPU_CUDA_MPS_RPC_FAILURE, "CUDA_ERROR_MPS_RPC_FAILURE", "the MPS server does not answer" },
	{ CUDA_MPS_SERVER_NOT_READY, "CUDA_ERROR_MPS_SERVER_NOT_READY", "the MPS server is not ready" },
	{ VGPU_CUDA_MPS_MAX_CLIENTS, "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED", "too many MPS clients" },
	{ VGPU_CUDA_MPS_CLIENT_TERMINATED, "CUDA_ERROR_MPS_CLIENT_TERMINATED", "the MPS client was terminated" },
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
