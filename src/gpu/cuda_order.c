/*
 * cuda_order.c - libcuda by dlopen; see cuda_order.h. The program starts on a machine without it.
 */
#include "gpu/cuda_order.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#define LIBRARY        "libcuda.so.1"
#define CUDA_NO_DEVICE 100

struct cuda {
	int (*init)(unsigned flags);
	int (*count)(int *out);
	int (*device)(int *out, int ordinal);
	int (*uuid)(unsigned char out[16], int device);
	int (*error_name)(int code, const char **out);
};

static int cuda_find(struct cuda *d, struct hes_err *err)
{
	/* In the order of the members. */
	static const char *const names[] = { "cuInit", "cuDeviceGetCount", "cuDeviceGet",
					     "cuDeviceGetUuid", "cuGetErrorName" };
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE), *f;

	if (!library)
		return hes_fail(err, -ENODEV, "no CUDA driver: %s", dlerror());
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		f = dlsym(library, names[i]);
		if (!f)
			return hes_fail(err, -ENODEV, "%s has no %s", LIBRARY, names[i]);
		memcpy((char *)d + i * sizeof(f), &f, sizeof(f));
	}
	return 0;
}

static int cuda_fail(const struct cuda *d, const char *what, int code, struct hes_err *err)
{
	const char *name = NULL;

	d->error_name(code, &name);
	return hes_fail(err, code == CUDA_NO_DEVICE ? -ENODEV : -EIO, "%s: %s (%d)", what,
			name ? name : "unknown error", code);
}

static void uuid_print(FILE *f, const unsigned char u[16])
{
	fputs("GPU-", f);
	for (size_t i = 0; i < 16; i++)
		fprintf(f, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u[i]);
	fputc('\n', f);
}

int hes_cuda_order_print(FILE *f, struct hes_err *err)
{
	struct cuda d;
	int n = 0, device, code, rc = cuda_find(&d, err);

	if (rc)
		return rc;
	code = d.init(0);
	if (code)
		return cuda_fail(&d, "cuInit", code, err);
	code = d.count(&n);
	if (code)
		return cuda_fail(&d, "cuDeviceGetCount", code, err);
	for (int i = 0; i < n; i++) {
		unsigned char u[16];

		code = d.device(&device, i);
		code = code ? code : d.uuid(u, device);
		if (code)
			return cuda_fail(&d, "cuDeviceGetUuid", code, err);
		uuid_print(f, u);
	}
	return 0;
}
