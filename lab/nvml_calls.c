/*
 * nvml_calls.c - libnvidia-ml's stand-in: what the library exports, with the faults of functions.
 *
 * An exported function does what the function of the same name does that nvml_*.c define, unless a
 * fault says that it fails. All parameters are integers and addresses, at most six, so they pass
 * through in registers whatever their types are.
 */
#include <string.h>

#include "nvml_names.h"
#include "nvml_stand_in.h"

#define PARAMETERS 6

typedef int nvml_function(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);

static bool is_gpu(const struct vgpu_lab *lab, uintptr_t p)
{
	return p >= (uintptr_t)lab->gpus && p < (uintptr_t)(lab->gpus + lab->n_gpus);
}

/* @param of  its GPU; 0: the function concerns no GPU, and a fault of any counts */
static bool call_fails(struct vgpu_lab *lab, const char *name, uintptr_t of, int *code)
{
	bool fails = false;

	for (uint32_t i = 0; i < lab->n_gpus; i++) {
		struct lab_gpu *b = &lab->gpus[i];

		if ((of && of != (uintptr_t)b) ||
		    !__atomic_load_n(&b->n_call_faults, __ATOMIC_ACQUIRE))
			continue;
		vgpu_lock(lab, b);
		fails |= lab_gpu_call_fails(b, name, code);
		vgpu_unlock(b);
	}
	return fails;
}

static int nvml_call(const char *name, nvml_function *f, const uintptr_t p[PARAMETERS])
{
	static const char opens[] = "nvmlDeviceGetHandleBy";
	struct vgpu_lab *lab = vgpu_here();
	int code;

	if (lab && strncmp(name, opens, strlen(opens)) == 0) {
		void **handle = (void **)p[1];
		int done = f(p[0], p[1], p[2], p[3], p[4], p[5]);

		if (done || !call_fails(lab, name, (uintptr_t)*handle, &code))
			return done;
		*handle = NULL;
		return code;
	}
	if (lab && call_fails(lab, name, is_gpu(lab, p[0]) ? p[0] : 0, &code))
		return code;
	return f(p[0], p[1], p[2], p[3], p[4], p[5]);
}

#define WRAP(name)                                                                       \
	extern nvml_function NVML(name);                                                 \
	EXPORT int name(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, \
			uintptr_t f)                                                     \
	{                                                                                \
		return nvml_call(#name, NVML(name),                                      \
				 (const uintptr_t[PARAMETERS]){ a, b, c, d, e, f });     \
	}

NVML_FUNCTIONS(WRAP)
