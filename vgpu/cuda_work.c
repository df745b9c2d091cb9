/*
 * cuda_work.c - libcuda's stand-in: modules, launches, streams and events.
 *
 * Launches of a context run one after the other, whatever their stream: the
 * physics knows jobs, not kernels. An event is the number of the launch that it
 * waits for, and of its time once somebody has seen it pass.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_stand_in.h"

#define N_PARAMS 2

struct cuda_module {
	char none;
};

struct cuda_stream {
	char none;
};

struct cuda_event {
	struct cuda_context *context;  /* NULL: not recorded yet */
	uint64_t             target;   /* launches that were asked for before it */
	double               at_s;     /* when it was recorded; once it is seen, when it came to pass */
	bool                 seen;
};

EXPORT int cuModuleLoadData(struct cuda_module **out, const void *image)
{
	struct cuda_context *c;
	int rc = cuda_current(&c);

	if (rc)
		return rc;
	if (!out || !image)
		return CUDA_INVALID_VALUE;
	if (strncmp(image, VGPU_IMAGE, strlen(VGPU_IMAGE)) != 0)
		return CUDA_NO_BINARY;
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : VGPU_CUDA_OUT_OF_MEMORY;
}

EXPORT int cuModuleLoadDataEx(struct cuda_module **out, const void *image, unsigned n, int *options, void **values)
{
	(void)n;
	(void)options;
	(void)values;
	return cuModuleLoadData(out, image);
}

EXPORT int cuModuleUnload(struct cuda_module *m)
{
	free(m);
	return 0;
}

/* A function is a workload of the lab. */
EXPORT int cuModuleGetFunction(const struct hes_workload **out, struct cuda_module *m, const char *name)
{
	struct vgpu_lab *lab = vgpu_here();

	if (!out || !m || !name || !lab)
		return CUDA_INVALID_VALUE;
	for (uint32_t i = 0; i < lab->n_workloads; i++) {
		if (strcmp(lab->workloads[i].name, name) == 0) {
			*out = &lab->workloads[i];
			return 0;
		}
	}
	return CUDA_NOT_FOUND;
}

/* Wait for room in the queue, as a driver does. */
static int enqueue(struct cuda_context *c, const struct vgpu_launch *l)
{
	for (;;) {
		uint64_t first;
		int rc = cuda_take(&c);

		if (rc)
			return rc;
		if (vgpu_board_launch(c->board, c->client, l))
			return cuda_give(c, 0);
		first = c->client->completed + 1;
		cuda_give(c, 0);
		rc = cuda_wait(c, first);
		if (rc)
			return rc;
	}
}

EXPORT int cuLaunchKernel(const struct hes_workload *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
			  unsigned bz, unsigned shared_bytes, struct cuda_stream *stream, void **params, void **extra)
{
	struct vgpu_lab *lab = vgpu_here();
	struct vgpu_launch l = { 0 };
	struct cuda_context *c;
	uint32_t v[N_PARAMS];
	int rc = cuda_current(&c);

	(void)shared_bytes;
	(void)stream;
	if (rc)
		return rc;
	if (f < lab->workloads || f >= lab->workloads + lab->n_workloads)
		return CUDA_INVALID_HANDLE;
	if (!params || extra || !gx || !gy || !gz || !bx || !by || !bz)
		return CUDA_INVALID_VALUE;
	for (int i = 0; i < N_PARAMS; i++)
		memcpy(&v[i], params[i], sizeof(v[i]));
	if (v[0] < 1 || v[0] > HES_MODEL_MAX_BATCH || v[1] < 1)
		return CUDA_INVALID_VALUE;
	l = (struct vgpu_launch){ .workload = (uint32_t)(f - lab->workloads), .batch = v[0], .left = v[1] };
	return enqueue(c, &l);
}

EXPORT int cuLaunchKernel_ptsz(const struct hes_workload *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
			       unsigned by, unsigned bz, unsigned shared_bytes, struct cuda_stream *stream, void **params,
			       void **extra)
{
	return cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared_bytes, stream, params, extra);
}

EXPORT int cuStreamCreate(struct cuda_stream **out, unsigned flags)
{
	struct cuda_context *c;
	int rc = cuda_current(&c);

	(void)flags;
	if (rc || !out)
		return rc ? rc : CUDA_INVALID_VALUE;
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : VGPU_CUDA_OUT_OF_MEMORY;
}

EXPORT int cuStreamCreateWithPriority(struct cuda_stream **out, unsigned flags, int priority)
{
	(void)priority;
	return cuStreamCreate(out, flags);
}

EXPORT int cuStreamDestroy_v2(struct cuda_stream *s)
{
	free(s);
	return 0;
}

EXPORT int cuStreamSynchronize(struct cuda_stream *s)
{
	struct cuda_context *c;
	uint64_t target;
	int rc = cuda_take(&c);

	(void)s;
	if (rc)
		return rc;
	target = c->client->launched;
	cuda_give(c, 0);
	return cuda_wait(c, target);
}

EXPORT int cuStreamSynchronize_ptsz(struct cuda_stream *s)
{
	return cuStreamSynchronize(s);
}

EXPORT int cuStreamQuery(struct cuda_stream *s)
{
	struct cuda_context *c;
	int rc = cuda_take(&c);

	(void)s;
	return rc ? rc : cuda_give(c, c->client->completed < c->client->launched ? CUDA_NOT_READY : 0);
}

EXPORT int cuStreamQuery_ptsz(struct cuda_stream *s)
{
	return cuStreamQuery(s);
}

/* Launches are in order already. */
EXPORT int cuStreamWaitEvent(struct cuda_stream *s, struct cuda_event *e, unsigned flags)
{
	(void)s;
	(void)flags;
	return e ? 0 : CUDA_INVALID_HANDLE;
}

EXPORT int cuEventCreate(struct cuda_event **out, unsigned flags)
{
	struct cuda_context *c;
	int rc = cuda_current(&c);

	(void)flags;
	if (rc || !out)
		return rc ? rc : CUDA_INVALID_VALUE;
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : VGPU_CUDA_OUT_OF_MEMORY;
}

EXPORT int cuEventDestroy_v2(struct cuda_event *e)
{
	free(e);
	return 0;
}

EXPORT int cuEventRecord(struct cuda_event *e, struct cuda_stream *s)
{
	struct cuda_context *c;
	int rc = e ? cuda_take(&c) : CUDA_INVALID_HANDLE;

	(void)s;
	if (rc)
		return rc;
	*e = (struct cuda_event){ .context = c, .target = c->client->launched, .at_s = c->board->now_s };
	return cuda_give(c, 0);
}

EXPORT int cuEventRecord_ptsz(struct cuda_event *e, struct cuda_stream *s)
{
	return cuEventRecord(e, s);
}

/* An event comes to pass at once, or with the end of the launch before it. @return whether it has; its board is locked */
static bool passed(struct cuda_event *e)
{
	const struct vgpu_client *c = e->context->client;

	if (c->completed < e->target)
		return false;
	if (!e->seen && e->target)
		e->at_s = fmax(e->at_s, c->ended_s[(e->target - 1) % VGPU_ENDS]);
	e->seen = true;
	return true;
}

EXPORT int cuEventQuery(struct cuda_event *e)
{
	struct cuda_context *c;
	int rc = e ? cuda_take(&c) : CUDA_INVALID_HANDLE;

	if (rc)
		return rc;
	return cuda_give(c, e->context && !passed(e) ? CUDA_NOT_READY : 0);
}

EXPORT int cuEventSynchronize(struct cuda_event *e)
{
	int rc;

	if (!e)
		return CUDA_INVALID_HANDLE;
	rc = e->context ? cuda_wait(e->context, e->target) : 0;
	return rc ? rc : cuEventQuery(e);
}

EXPORT int cuEventElapsedTime(float *ms, struct cuda_event *from, struct cuda_event *to)
{
	struct cuda_context *c;
	int rc = ms && from && to ? cuda_take(&c) : CUDA_INVALID_HANDLE;

	if (rc)
		return rc;
	if (!from->context || !to->context)
		return cuda_give(c, CUDA_INVALID_HANDLE);
	if (!passed(from) || !passed(to))
		return cuda_give(c, CUDA_NOT_READY);
	*ms = (float)((to->at_s - from->at_s) * 1e3);
	return cuda_give(c, 0);
}
