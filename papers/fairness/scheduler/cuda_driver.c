/*
 * cuda_driver.c - libcuda by dlopen; see cuda_driver.h.
 *
 * The library must load on a machine without a driver. The driver's threads stay, so it is never
 * unloaded.
 */
#include "cuda_driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#define LIBRARY            "libcuda.so.1"
#define CUDA_OUT_OF_MEMORY 2
#define CUDA_NO_DEVICE     100
#define CUDA_BAD_DEVICE    101

static const struct {
	const char *name;
	size_t slot;
} symbols[] = {
	{ "cuInit", offsetof(struct cuda_driver, init) },
	{ "cuDeviceGet", offsetof(struct cuda_driver, device_get) },
	{ "cuDevicePrimaryCtxRetain", offsetof(struct cuda_driver, primary_retain) },
	{ "cuDevicePrimaryCtxRelease_v2", offsetof(struct cuda_driver, primary_release) },
	{ "cuCtxPushCurrent_v2", offsetof(struct cuda_driver, push) },
	{ "cuCtxPopCurrent_v2", offsetof(struct cuda_driver, pop) },
	{ "cuStreamCreate", offsetof(struct cuda_driver, stream_create) },
	{ "cuStreamDestroy_v2", offsetof(struct cuda_driver, stream_destroy) },
	{ "cuEventCreate", offsetof(struct cuda_driver, event_create) },
	{ "cuEventDestroy_v2", offsetof(struct cuda_driver, event_destroy) },
	{ "cuEventRecord", offsetof(struct cuda_driver, event_record) },
	{ "cuEventQuery", offsetof(struct cuda_driver, event_query) },
	{ "cuEventElapsedTime", offsetof(struct cuda_driver, event_elapsed) },
	{ "cuLaunchKernel", offsetof(struct cuda_driver, launch) },
	{ "cuGetErrorName", offsetof(struct cuda_driver, error_name) },
};

static int driver_find(struct cuda_driver *d, struct hes_err *err)
{
	d->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!d->library)
		return hes_fail(err, -ENODEV, "no CUDA driver: %s", dlerror());
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *f = dlsym(d->library, symbols[i].name);

		if (!f)
			return hes_fail(err, -ENODEV, "%s has no %s", LIBRARY, symbols[i].name);
		memcpy((char *)d + symbols[i].slot, &f, sizeof(f));
	}
	return 0;
}

int cuda_driver_open(struct cuda_driver *d, struct hes_err *err)
{
	int rc, code;

	memset(d, 0, sizeof(*d));
	rc = driver_find(d, err);
	code = rc ? 0 : d->init(0);
	if (code)
		rc = cuda_driver_fail(d, "cuInit", code, err);
	if (rc)
		cuda_driver_close(d);
	return rc;
}

void cuda_driver_close(struct cuda_driver *d)
{
	if (d->library)
		dlclose(d->library);
	d->library = NULL;
}

int cuda_driver_fail(const struct cuda_driver *d, const char *what, int code, struct hes_err *err)
{
	int rc = code == CUDA_OUT_OF_MEMORY                          ? -ENOMEM
		 : code == CUDA_NO_DEVICE || code == CUDA_BAD_DEVICE ? -ENODEV
								     : -EIO;
	const char *name = NULL;

	d->error_name(code, &name);
	return hes_fail(err, rc, "%s: %s (%d)", what, name ? name : "unknown error", code);
}
