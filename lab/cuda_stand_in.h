/*
 * cuda_stand_in.h - inside of the stand-in for libcuda: devices and contexts.
 *
 * A context is a client on a virtual GPU (state.h). The GPU runs workloads of the physics, not
 * machine code: a module is the text VGPU_IMAGE, its functions are workloads by name, and a launch
 * takes two 32-bit parameters, batch size and iterations. A few small kernels compute
 * (cuda_kernels.h). Other modules fail as code for another GPU type does.
 */
#ifndef VGPU_CUDA_STAND_IN_H
#define VGPU_CUDA_STAND_IN_H

#include "virtual_gpu.h"

#define EXPORT __attribute__((visibility("default")))

/*
 * Export a function of the driver twice: @name for the legacy default stream, and with @suffix for
 * the calling thread's own default stream. @call uses per_thread.
 */
#define EXPORT_BOTH(name, suffix, params, call) \
	EXPORT int name params                  \
	{                                       \
		const bool per_thread = false;  \
		return call;                    \
	}                                       \
	EXPORT int name##suffix params          \
	{                                       \
		const bool per_thread = true;   \
		return call;                    \
	}

#define VGPU_DRIVER_VERSION 12020

#define VGPU_IMAGE "heshare-lab workloads 1"

enum {
	CUDA_OK = 0,
	CUDA_INVALID_VALUE = 1,
	CUDA_NOT_INITIALIZED = 3,
	CUDA_NO_DEVICE = 100,
	CUDA_INVALID_DEVICE = 101,
	CUDA_INVALID_IMAGE = 200,
	CUDA_INVALID_CONTEXT = 201,
	CUDA_NO_BINARY = 209,
	CUDA_INVALID_HANDLE = 400,
	CUDA_ILLEGAL_STATE = 401,
	CUDA_NOT_FOUND = 500,
	CUDA_NOT_READY = 600,
	CUDA_ILLEGAL_ADDRESS = 700,
	CUDA_CAPTURE_UNSUPPORTED = 900,
	CUDA_CAPTURE_INVALIDATED = 901,
	CUDA_CAPTURE_MERGE = 902,
	CUDA_CAPTURE_UNMATCHED = 903,
	CUDA_CAPTURE_UNJOINED = 904,
	CUDA_CAPTURE_ISOLATION = 905,
	CUDA_CAPTURE_IMPLICIT = 906,
	CUDA_CAPTURED_EVENT = 907,
	CUDA_CAPTURE_WRONG_THREAD = 908,
	CUDA_MPS_NO_CONNECTION = 805,
	CUDA_MPS_SERVER_NOT_READY = 807,
};

struct cuda_stream;
struct cuda_queue;

struct cuda_context {
	struct cuda_context *next;
	struct lab_gpu *gpu;
	struct vgpu_client *client;
	int device;
	unsigned users; /* of a primary context; others: 1 */
	bool primary;
	bool closed;     /* waits for its GPU end with an error */
	uint64_t number; /* unique in the process */
	struct cuda_stream *legacy;
	struct cuda_queue *queue;
};

/** The calling thread's context. @return 0; its permanent error; CUDA_INVALID_CONTEXT */
int cuda_current(struct cuda_context **out);

/** The same, with its GPU locked: the lock guards the client. */
int cuda_take(struct cuda_context **out);
int cuda_give(struct cuda_context *c, int code);

/** Wait until launch number @target (1, 2, ...) of the context has ended. @return CUresult */
int cuda_wait(struct cuda_context *c, uint64_t target);

/** @return the exported function with this full name; NULL: none */
void *cuda_exported(const char *name);

/** @return whether these bytes are device memory of the process */
bool cuda_memory_holds(uintptr_t at, size_t bytes);

/** Free the memory of a context that is about to be closed. */
void cuda_forget_memory(const struct cuda_context *c);

/** @return the GPU of a device; NULL if there is none */
struct lab_gpu *cuda_gpu(int device);
int cuda_devices(void);

#endif
