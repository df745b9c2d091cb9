/*
 * serve_cuda.c - kernels of the models on a GPU, by the CUDA driver alone; see serve_models.h.
 *
 * It opens the device's primary context, as CUDA's runtime and PyTorch do. The scheduler uses the
 * same one.
 */
#include "serve_models.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define THREADS   256 /* of a block */
#define LAB_IMAGE "heshare-lab workloads 1\n"

/* void serve(float *out, unsigned steps): each thread multiplies and adds. */
static const char ptx[] = ".version 6.4\n"
			  ".target sm_70\n"
			  ".address_size 64\n"
			  ".visible .entry serve(.param .u64 out, .param .u32 steps)\n"
			  "{\n"
			  "	.reg .pred %more;\n"
			  "	.reg .f32 %x;\n"
			  "	.reg .b32 %i, %n, %block, %size, %thread, %index;\n"
			  "	.reg .b64 %base, %offset, %at;\n"
			  "	ld.param.u64 %base, [out];\n"
			  "	ld.param.u32 %n, [steps];\n"
			  "	mov.f32 %x, 0f3F800000;\n"
			  "	mov.u32 %i, 0;\n"
			  "again:\n"
			  "	fma.rn.f32 %x, %x, 0f3F7FFFFF, 0f33800000;\n"
			  "	add.u32 %i, %i, 1;\n"
			  "	setp.lt.u32 %more, %i, %n;\n"
			  "	@%more bra again;\n"
			  "	mov.u32 %block, %ctaid.x;\n"
			  "	mov.u32 %size, %ntid.x;\n"
			  "	mov.u32 %thread, %tid.x;\n"
			  "	mad.lo.u32 %index, %block, %size, %thread;\n"
			  "	cvta.to.global.u64 %base, %base;\n"
			  "	mul.wide.u32 %offset, %index, 4;\n"
			  "	add.u64 %at, %base, %offset;\n"
			  "	st.global.f32 [%at], %x;\n"
			  "	ret;\n"
			  "}\n";

struct serve_cuda {
	void *library, *context, *module;
	int device, retained;
	int (*init)(unsigned flags);
	int (*device_get)(int *out, int ordinal);
	int (*retain)(void **context, int device);
	int (*release)(int device);
	int (*push)(void *context);
	int (*pop)(void **context);
	int (*load)(void **module, const void *image);
	int (*unload)(void *module);
	int (*function)(void **out, void *module, const char *name);
	int (*allocate)(uint64_t *out, size_t bytes);
	int (*release_memory)(uint64_t memory);
	int (*error_name)(int code, const char **out);
	int lab;
	uint64_t out; /* device memory that the PTX kernel writes to */
	struct launch {
		struct hes_fair_kernel kernel;
		uint32_t numbers[2];
		void *params[2];
	} launches[N_MODELS];
};

static const struct {
	const char *name;
	size_t slot;
} symbols[] = {
	{ "cuInit", offsetof(struct serve_cuda, init) },
	{ "cuDeviceGet", offsetof(struct serve_cuda, device_get) },
	{ "cuDevicePrimaryCtxRetain", offsetof(struct serve_cuda, retain) },
	{ "cuDevicePrimaryCtxRelease_v2", offsetof(struct serve_cuda, release) },
	{ "cuCtxPushCurrent_v2", offsetof(struct serve_cuda, push) },
	{ "cuCtxPopCurrent_v2", offsetof(struct serve_cuda, pop) },
	{ "cuModuleLoadData", offsetof(struct serve_cuda, load) },
	{ "cuModuleUnload", offsetof(struct serve_cuda, unload) },
	{ "cuModuleGetFunction", offsetof(struct serve_cuda, function) },
	{ "cuMemAlloc_v2", offsetof(struct serve_cuda, allocate) },
	{ "cuMemFree_v2", offsetof(struct serve_cuda, release_memory) },
	{ "cuGetErrorName", offsetof(struct serve_cuda, error_name) },
};

static int cuda_check(const struct serve_cuda *g, const char *what, int code, struct hes_err *err)
{
	const char *name = NULL;

	if (!code)
		return 0;
	g->error_name(code, &name);
	return hes_fail(err, -EIO, "%s: %s (%d)", what, name ? name : "unknown error", code);
}

static int cuda_find(struct serve_cuda *g, struct hes_err *err)
{
	g->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!g->library)
		return hes_fail(err, -ENODEV, "no CUDA driver: %s", dlerror());
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *f = dlsym(g->library, symbols[i].name);

		if (!f)
			return hes_fail(err, -ENODEV, "the CUDA driver has no %s", symbols[i].name);
		memcpy((char *)g + symbols[i].slot, &f, sizeof(f));
	}
	return 0;
}

/* The real GPU: out, steps. */
static int launch_of_ptx(struct serve_cuda *g, struct launch *l, const struct model *m,
			 struct hes_err *err)
{
	int rc = cuda_check(g, "the kernel", g->function(&l->kernel.function, g->module, "serve"),
			    err);

	l->numbers[1] = 1000 * m->size;
	l->params[0] = &g->out;
	l->params[1] = &l->numbers[1];
	l->kernel.grid[0] = m->blocks;
	l->kernel.block[0] = THREADS;
	return rc;
}

/* The lab: batch, iterations of a workload. */
static int launch_of_lab(struct serve_cuda *g, struct launch *l, const struct model *m,
			 struct hes_err *err)
{
	l->numbers[0] = m->batch;
	l->numbers[1] = 1;
	l->params[0] = &l->numbers[0];
	l->params[1] = &l->numbers[1];
	return cuda_check(g, m->name, g->function(&l->kernel.function, g->module, m->name), err);
}

static int cuda_load(struct serve_cuda *g, const struct model *models, struct hes_err *err)
{
	unsigned blocks = 1;
	int rc = 0;

	if (g->load(&g->module, ptx)) {
		g->lab = 1;
		rc = cuda_check(g, "loading code for the GPU", g->load(&g->module, LAB_IMAGE), err);
	}
	for (size_t i = 0; i < N_MODELS; i++)
		blocks = models[i].blocks > blocks ? models[i].blocks : blocks;
	if (!rc)
		rc = cuda_check(g, "memory on the GPU",
				g->allocate(&g->out, (size_t)blocks * THREADS * sizeof(float)),
				err);
	for (size_t i = 0; i < N_MODELS && !rc; i++) {
		struct launch *l = &g->launches[i];

		l->kernel = (struct hes_fair_kernel){ .grid = { 1, 1, 1 },
						      .block = { 1, 1, 1 },
						      .params = l->params };
		rc = (g->lab ? launch_of_lab : launch_of_ptx)(g, l, &models[i], err);
	}
	return rc;
}

int serve_cuda_open(const struct model *models, struct serve_cuda **out, struct hes_err *err)
{
	struct serve_cuda *g = calloc(1, sizeof(*g));
	int rc = g ? cuda_find(g, err) : hes_fail(err, -ENOMEM, "out of memory");

	if (!rc)
		rc = cuda_check(g, "cuInit", g->init(0), err);
	if (!rc)
		rc = cuda_check(g, "the first GPU", g->device_get(&g->device, 0), err);
	if (!rc)
		rc = cuda_check(g, "the GPU's context", g->retain(&g->context, g->device), err);
	if (!rc) {
		g->retained = 1;
		rc = cuda_check(g, "the GPU's context", g->push(g->context), err);
	}
	if (!rc) {
		rc = cuda_load(g, models, err);
		g->pop(NULL);
	}
	if (rc) {
		serve_cuda_close(g);
		return rc;
	}
	*out = g;
	return 0;
}

void serve_cuda_close(struct serve_cuda *g)
{
	if (!g)
		return;
	if (g->retained && !g->push(g->context)) {
		if (g->out)
			g->release_memory(g->out);
		if (g->module)
			g->unload(g->module);
		g->pop(NULL);
	}
	if (g->retained)
		g->release(g->device);
	free(g);
}

const struct hes_fair_kernel *serve_cuda_kernel(const struct serve_cuda *g, size_t model)
{
	return &g->launches[model].kernel;
}

const char *serve_cuda_describe(const struct serve_cuda *g)
{
	return g->lab ? "virtual GPU of the lab" : "GPU, by a PTX kernel";
}
