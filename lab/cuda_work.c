/*
 * cuda_work.c - libcuda's stand-in: modules, launches of kernels and host functions.
 *
 * A function is a workload of the physics, with batch size and iterations as parameters, or a small
 * kernel of the lab (cuda_kernels.h).
 */
#include <string.h>

#include "cuda_capture.h"
#include "cuda_kernels.h"
#include "cuda_stand_in.h"

struct cuda_module {
	struct cuda_handle handle;
};

static struct cuda_pool modules = CUDA_POOL(struct cuda_module, 1 << 16);

/* As in NVIDIA's cuda.h from 11.6 on. */
struct cuda_launch_config {
	unsigned gx, gy, gz, bx, by, bz;
	unsigned shared_bytes;
	void *stream;
	void *attributes;
	unsigned n_attributes;
};

EXPORT int cuModuleLoadData(struct cuda_module **out, const void *image)
{
	struct cuda_context *c;
	int rc = cuda_current(&c);

	if (!rc)
		rc = cuda_capture_allows_unsafe();
	if (rc)
		return rc;
	if (!out || !image)
		return CUDA_INVALID_VALUE;
	if (strncmp(image, VGPU_IMAGE, strlen(VGPU_IMAGE)) != 0)
		return CUDA_NO_BINARY;
	*out = cuda_pool_take(&modules);
	return *out ? 0 : VGPU_CUDA_OUT_OF_MEMORY;
}

EXPORT int cuModuleLoadDataEx(struct cuda_module **out, const void *image, unsigned n, int *options,
			      void **values)
{
	(void)n;
	(void)options;
	(void)values;
	return cuModuleLoadData(out, image);
}

EXPORT int cuModuleUnload(struct cuda_module *m)
{
	int rc = cuda_capture_allows_unsafe();

	if (rc)
		return rc;
	if (!cuda_pool_has(&modules, m))
		return CUDA_INVALID_HANDLE;
	cuda_pool_give(&modules, m);
	return 0;
}

EXPORT int cuModuleGetFunction(const void **out, struct cuda_module *m, const char *name)
{
	struct vgpu_lab *lab = vgpu_here();

	if (!out || !name || !lab)
		return CUDA_INVALID_VALUE;
	if (!cuda_pool_has(&modules, m))
		return CUDA_INVALID_HANDLE;
	*out = cuda_kernel_find(name);
	for (uint32_t i = 0; !*out && i < lab->n_workloads; i++)
		if (strcmp(lab->workloads[i].name, name) == 0)
			*out = &lab->workloads[i];
	return *out ? 0 : CUDA_NOT_FOUND;
}

static int launch_workload(const struct hes_workload *w, void **params, struct cuda_op *op)
{
	const struct vgpu_lab *lab = vgpu_here();
	uint32_t batch, n;

	if (w < lab->workloads || w >= lab->workloads + lab->n_workloads)
		return CUDA_INVALID_HANDLE;
	if (!params)
		return CUDA_INVALID_VALUE;
	memcpy(&batch, params[0], sizeof(batch));
	memcpy(&n, params[1], sizeof(n));
	if (batch < 1 || batch > HES_MODEL_MAX_BATCH || n < 1)
		return CUDA_INVALID_VALUE;
	op->launch = (struct vgpu_launch){ .workload = (uint32_t)(w - lab->workloads),
					   .batch = batch,
					   .left = n };
	return 0;
}

static int launch_small(const struct cuda_kernel *k, void **params, struct cuda_op *op)
{
	for (int i = 0; i < CUDA_KERNEL_ARGS && k->bytes[i]; i++) {
		if (!params || !params[i])
			return CUDA_INVALID_VALUE;
		memcpy(&op->args[i], params[i], k->bytes[i]);
	}
	if (k->us)
		op->launch = (struct vgpu_launch){ .workload = VGPU_SPIN, .left = k->us(op->args) };
	op->kernel = k;
	op->effect = k->run ? CUDA_COMPUTE : CUDA_NO_EFFECT;
	return 0;
}

static int launch(const struct cuda_launch_config *how, const void *f, void **params, void **extra,
		  bool per_thread)
{
	struct cuda_op op = { 0 };
	struct cuda_stream *s;
	struct cuda_context *c;
	int rc = cuda_current(&c);

	if (!rc)
		rc = cuda_stream_find(how->stream, per_thread, &s);
	if (rc)
		return rc;
	if (extra || !how->gx || !how->gy || !how->gz || !how->bx || !how->by || !how->bz)
		return CUDA_INVALID_VALUE;
	rc = cuda_kernel_is(f) ? launch_small(f, params, &op) : launch_workload(f, params, &op);
	return rc ? rc : cuda_enqueue(s, &op, 1);
}

#define GRID                                                                          \
	unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, \
		unsigned shared_bytes, void *stream
#define CONFIG                                                        \
	&(struct cuda_launch_config)                                  \
	{                                                             \
		gx, gy, gz, bx, by, bz, shared_bytes, stream, NULL, 0 \
	}

EXPORT_BOTH(cuLaunchKernel, _ptsz, (const void *f, GRID, void **params, void **extra),
	    launch(CONFIG, f, params, extra, per_thread))
EXPORT_BOTH(cuLaunchCooperativeKernel, _ptsz, (const void *f, GRID, void **params),
	    launch(CONFIG, f, params, NULL, per_thread))

/* Launch attributes have no effect in the lab. */
EXPORT_BOTH(cuLaunchKernelEx, _ptsz,
	    (const struct cuda_launch_config *how, const void *f, void **params, void **extra),
	    how ? launch(how, f, params, extra, per_thread) : CUDA_INVALID_VALUE)

static int host_function(void *handle, void (*function)(void *), void *data, bool per_thread)
{
	struct cuda_op op = { .effect = CUDA_HOST, .function = function, .data = data };
	struct cuda_stream *s;
	int rc = function ? cuda_stream_find(handle, per_thread, &s) : CUDA_INVALID_VALUE;

	return rc ? rc : cuda_enqueue(s, &op, 1);
}

EXPORT_BOTH(cuLaunchHostFunc, _ptsz, (void *stream, void (*function)(void *), void *data),
	    host_function(stream, function, data, per_thread))
