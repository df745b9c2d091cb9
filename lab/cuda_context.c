/*
 * cuda_context.c - libcuda's stand-in: cuInit, devices, contexts.
 *
 * cuda_session.c selects the GPUs of the process, cuda_work.c launches, cuda_memory.c allocates,
 * cuda_entry.c finds functions by name.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda_capture.h"
#include "cuda_stand_in.h"
#include "cuda_session.h"
#include "products.h"

#define CONTEXT_BYTES (256ull << 20)
#define STACK         32
#define TPC_SMS       2 /* MPS gives a client SMs in pairs */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static struct cuda_session session;
static struct cuda_context *contexts;
static pid_t owner; /* the process that called cuInit; 0: none; a forked child must call it again */
static uint64_t opened; /* number of contexts ever opened */

static _Thread_local struct cuda_context *stack[STACK];
static _Thread_local int depth;

static void forget_parent(void)
{
	owner = 0;
	depth = 0;
	contexts = NULL;
	pthread_mutex_init(&lock, NULL);
}

/* Comparing getpid() at every call would cost more than the call. */
static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, forget_parent);
}

EXPORT int cuInit(unsigned flags)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct vgpu_lab *lab = vgpu_here();
	int rc = 0;

	if (flags)
		return CUDA_INVALID_VALUE;
	if (!lab)
		return CUDA_NO_DEVICE;
	pthread_once(&once, watch_forks);
	pthread_mutex_lock(&lock);
	if (!owner) {
		rc = cuda_session_open(lab, &session);
		owner = rc ? 0 : getpid();
		contexts = NULL;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

int cuda_devices(void)
{
	return owner ? session.n : 0;
}

struct lab_gpu *cuda_gpu(int device)
{
	return device >= 0 && device < cuda_devices() ? &session.lab->gpus[session.gpus[device]]
						      : NULL;
}

EXPORT int cuDriverGetVersion(int *out)
{
	if (!out)
		return CUDA_INVALID_VALUE;
	*out = VGPU_DRIVER_VERSION;
	return 0;
}

EXPORT int cuDeviceGetCount(int *out)
{
	if (!out || !owner)
		return out ? CUDA_NOT_INITIALIZED : CUDA_INVALID_VALUE;
	*out = session.n;
	return 0;
}

EXPORT int cuDeviceGet(int *out, int ordinal)
{
	if (!out || !owner)
		return out ? CUDA_NOT_INITIALIZED : CUDA_INVALID_VALUE;
	if (!cuda_gpu(ordinal))
		return CUDA_INVALID_DEVICE;
	*out = ordinal;
	return 0;
}

EXPORT int cuDeviceGetName(char *out, int length, int device)
{
	const struct lab_gpu *b = cuda_gpu(device);

	if (!b || !out || length < 1)
		return b ? CUDA_INVALID_VALUE : CUDA_INVALID_DEVICE;
	snprintf(out, (size_t)length, "%s", vgpu_product(&b->type).name);
	return 0;
}

EXPORT int cuDeviceGetUuid(unsigned char out[16], int device)
{
	const struct lab_gpu *b = cuda_gpu(device);
	const char *hex;

	if (!b || !out)
		return b ? CUDA_INVALID_VALUE : CUDA_INVALID_DEVICE;
	hex = b->uuid + strlen("GPU-");
	for (int i = 0; i < 16; i++) {
		unsigned byte;

		hex += *hex == '-';
		sscanf(hex, "%2x", &byte);
		out[i] = (unsigned char)byte;
		hex += 2;
	}
	return 0;
}

EXPORT int cuDeviceGetUuid_v2(unsigned char out[16], int device)
{
	return cuDeviceGetUuid(out, device);
}

EXPORT int cuDeviceTotalMem_v2(size_t *out, int device)
{
	const struct lab_gpu *b = cuda_gpu(device);

	if (!b || !out)
		return b ? CUDA_INVALID_VALUE : CUDA_INVALID_DEVICE;
	*out = (size_t)lab_gpu_memory_total(b);
	return 0;
}

EXPORT int cuDeviceComputeCapability(int *major, int *minor, int device)
{
	const struct lab_gpu *b = cuda_gpu(device);

	if (!b || !major || !minor)
		return b ? CUDA_INVALID_VALUE : CUDA_INVALID_DEVICE;
	*major = vgpu_product(&b->type).major;
	*minor = vgpu_product(&b->type).minor;
	return 0;
}

EXPORT int cuDeviceGetPCIBusId(char *out, int length, int device)
{
	const struct lab_gpu *b = cuda_gpu(device);

	if (!b || !out || length < 13)
		return b ? CUDA_INVALID_VALUE : CUDA_INVALID_DEVICE;
	snprintf(out, (size_t)length, "0000:%02X:00.0",
		 (unsigned)(session.gpus[device] + 1) & 0xff);
	return 0;
}

/* The SMs that this process may use: its MPS share in whole pairs. */
static int usable_sms(const struct lab_gpu *b)
{
	uint32_t sms = b->type.sm_count * session.sm_pct / 100;

	if (session.sm_pct == 100)
		return (int)b->type.sm_count;
	return (int)(sms < TPC_SMS ? TPC_SMS : sms / TPC_SMS * TPC_SMS);
}

EXPORT int cuDeviceGetAttribute(int *out, int attribute, int device)
{
	const struct lab_gpu *b = cuda_gpu(device);
	struct vgpu_product p;

	if (!b || !out)
		return b ? CUDA_INVALID_VALUE : CUDA_INVALID_DEVICE;
	p = vgpu_product(&b->type);
	switch (attribute) {
	case 1:
	case 2:
	case 3:
		*out = 1024;
		break; /* threads of a block; its x and y */
	case 4:
		*out = 64;
		break; /* its z */
	case 5:
		*out = 2147483647;
		break; /* grid: x, y, z */
	case 6:
	case 7:
		*out = 65535;
		break;
	case 8:
		*out = 49152;
		break; /* shared memory of a block */
	case 10:
		*out = 32;
		break; /* warp */
	case 13:
		*out = (int)b->type.clock_max_mhz * 1000;
		break;
	case 16:
		*out = usable_sms(b);
		break;
	case 20:
		*out = (int)b->compute_mode;
		break;
	case 31:
	case 41:
		*out = 1;
		break; /* concurrent kernels, unified addresses */
	case 33:
		*out = (int)session.gpus[device] + 1;
		break;
	case 34:
	case 50:
	case 17:
	case 18:
		*out = 0;
		break; /* PCI device and domain; time limit, integrated */
	case 36:
		*out = (int)p.memory_mhz * 1000;
		break;
	case 37:
		*out = (int)p.bus_bits;
		break;
	case 38:
		*out = (int)b->type.l2_kib * 1024;
		break;
	case 39:
		*out = p.major == 7 && p.minor == 5 ? 1024 : 2048;
		break; /* threads of an SM */
	case 40:
		*out = 2;
		break; /* copy engines */
	case 75:
		*out = p.major;
		break;
	case 76:
		*out = p.minor;
		break;
	default:
		return CUDA_INVALID_VALUE;
	}
	return 0;
}

static void context_free(struct cuda_context *c)
{
	cuda_streams_close(c);
	free(c->queue);
	free(c);
}

static struct cuda_context *context_make(struct lab_gpu *b, int device, bool primary)
{
	struct cuda_context *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	*c = (struct cuda_context){ .next = contexts,
				    .gpu = b,
				    .device = device,
				    .users = 1,
				    .primary = primary,
				    .number = ++opened,
				    .queue = calloc(1, sizeof(*c->queue)) };
	c->legacy = c->queue ? cuda_stream_legacy(c) : NULL;
	if (!c->legacy) {
		context_free(c);
		return NULL;
	}
	cuda_queue_open(c);
	return c;
}

/* Open a context on a device; the lock is held. */
static int open_context(int device, bool primary, struct cuda_context **out)
{
	struct lab_gpu *b = cuda_gpu(device);
	struct cuda_context *c;
	int error = 0;

	if (!b)
		return owner ? CUDA_INVALID_DEVICE : CUDA_NOT_INITIALIZED;
	c = context_make(b, device, primary);
	if (!c)
		return VGPU_CUDA_OUT_OF_MEMORY;
	vgpu_lock(session.lab, b);
	if (lab_gpu_has_fault(b, VGPU_FAULT_GPU_LOST))
		error = VGPU_CUDA_DEVICE_UNAVAILABLE;
	else
		c->client = lab_gpu_join(b, owner, session.server, session.sm_pct,
					 session.limits[device], CONTEXT_BYTES, &error);
	vgpu_unlock(b);
	if (!c->client) {
		context_free(c);
		return error;
	}
	contexts = c;
	*out = c;
	return 0;
}

/* Close a context; the lock is held. @at_exit: other threads may still use it */
static void close_context(struct cuda_context *c, bool at_exit)
{
	struct cuda_context **at = &contexts;

	while (*at && *at != c)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = c->next;
	for (int i = depth; i-- > 0;)
		if (stack[i] == c)
			memmove(&stack[i], &stack[i + 1], (size_t)(--depth - i) * sizeof(*stack));
	vgpu_lock(session.lab, c->gpu);
	__atomic_store_n(&c->closed, true, __ATOMIC_RELEASE);
	if (c->client->pid == owner)
		lab_gpu_leave(c->gpu, c->client);
	vgpu_unlock(c->gpu);
	cuda_queue_close(c, at_exit);
	if (at_exit)
		return;
	cuda_forget_memory(c);
	context_free(c);
}

static bool is_open(const struct cuda_context *c)
{
	const struct cuda_context *at = contexts;

	while (at && at != c)
		at = at->next;
	return at != NULL;
}

EXPORT int cuCtxCreate_v2(struct cuda_context **out, unsigned flags, int device)
{
	int rc;

	(void)flags;
	if (!out || depth == STACK)
		return CUDA_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	rc = open_context(device, false, out);
	pthread_mutex_unlock(&lock);
	if (!rc)
		stack[depth++] = *out;
	return rc;
}

EXPORT int cuCtxDestroy_v2(struct cuda_context *c)
{
	int rc = CUDA_INVALID_CONTEXT;

	pthread_mutex_lock(&lock);
	if (is_open(c) && !c->primary) {
		close_context(c, false);
		rc = 0;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

EXPORT int cuDevicePrimaryCtxRetain(struct cuda_context **out, int device)
{
	struct cuda_context *c;
	int rc = 0;

	if (!out)
		return CUDA_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	for (c = contexts; c && !(c->primary && c->device == device); c = c->next)
		;
	if (c)
		c->users++;
	else
		rc = open_context(device, true, &c);
	pthread_mutex_unlock(&lock);
	if (!rc)
		*out = c;
	return rc;
}

EXPORT int cuDevicePrimaryCtxRelease_v2(int device)
{
	struct cuda_context *c;

	pthread_mutex_lock(&lock);
	for (c = contexts; c && !(c->primary && c->device == device); c = c->next)
		;
	if (c && !--c->users)
		close_context(c, false);
	pthread_mutex_unlock(&lock);
	return c ? 0 : CUDA_INVALID_CONTEXT;
}

EXPORT int cuCtxPushCurrent_v2(struct cuda_context *c)
{
	if (depth == STACK || !c)
		return CUDA_INVALID_VALUE;
	stack[depth++] = c;
	return 0;
}

EXPORT int cuCtxPopCurrent_v2(struct cuda_context **out)
{
	if (!depth)
		return CUDA_INVALID_CONTEXT;
	depth--;
	if (out)
		*out = stack[depth];
	return 0;
}

EXPORT int cuCtxSetCurrent(struct cuda_context *c)
{
	depth -= depth > 0;
	return c ? cuCtxPushCurrent_v2(c) : 0;
}

EXPORT int cuCtxGetCurrent(struct cuda_context **out)
{
	if (!out)
		return CUDA_INVALID_VALUE;
	*out = depth ? stack[depth - 1] : NULL;
	return 0;
}

int cuda_current(struct cuda_context **out)
{
	if (!owner)
		return CUDA_NOT_INITIALIZED;
	if (!depth)
		return CUDA_INVALID_CONTEXT;
	*out = stack[depth - 1];
	return 0;
}

int cuda_take(struct cuda_context **out)
{
	int rc = cuda_current(out);

	if (rc)
		return rc;
	vgpu_lock(session.lab, (*out)->gpu);
	return (*out)->client->error ? cuda_give(*out, (*out)->client->error) : 0;
}

int cuda_give(struct cuda_context *c, int code)
{
	vgpu_unlock(c->gpu);
	return code;
}

int cuda_wait(struct cuda_context *c, uint64_t target)
{
	for (;;) {
		double until;
		uint32_t seen;
		int error;
		bool done;

		vgpu_lock(session.lab, c->gpu);
		error = c->closed ? CUDA_INVALID_CONTEXT : c->client->error;
		done = c->client->completed >= target;
		until = lab_gpu_next_s(c->gpu);
		seen = c->gpu->changed;
		vgpu_unlock(c->gpu);
		if (error || done)
			return error;
		vgpu_sleep(session.lab, c->gpu, seen, until);
	}
}

EXPORT int cuCtxGetDevice(int *out)
{
	struct cuda_context *c;
	int rc = out ? cuda_current(&c) : CUDA_INVALID_VALUE;

	if (!rc)
		*out = c->device;
	return rc;
}

EXPORT int cuCtxSynchronize(void)
{
	struct cuda_context *c;
	int rc = cuda_current(&c);

	if (!rc)
		rc = cuda_capture_allows_context_wait(c);
	return rc ? rc : cuda_await(c, cuda_context_end(c));
}

/* The driver closes contexts that a process leaves open. */
__attribute__((destructor)) static void close_all(void)
{
	while (owner == getpid() && contexts)
		close_context(contexts, true);
}
