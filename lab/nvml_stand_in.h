/*
 * nvml_stand_in.h - inside of the stand-in for libnvidia-ml: how its functions look at a GPU.
 *
 * A device handle is the address of a GPU in this process's map of the lab. Every exported function
 * locks the GPU with nvml_take, reads or sets it, and unlocks it with nvml_give. A new function
 * needs its name in nvml_names.h.
 */
#ifndef VGPU_NVML_STAND_IN_H
#define VGPU_NVML_STAND_IN_H

#include "gpu/nvml_abi.h"
#include "products.h"
#include "virtual_gpu.h"

#define EXPORT __attribute__((visibility("default")))

/** The function that nvml_calls.c exports as @name. */
#define NVML(name) lab_##name

/** Another exported name of the same function. */
#define NVML_ALIAS(name, of) \
	extern __typeof__(NVML(of)) NVML(name) __attribute__((alias("lab_" #of)));

/** A function that writes one value of the locked GPU @b. */
#define NVML_GETTER(name, type, value)                 \
	int NVML(name)(struct lab_gpu * b, type * out) \
	{                                              \
		int rc = nvml_take(b, out);            \
                                                       \
		if (rc)                                \
			return rc;                     \
		*out = (value);                        \
		return nvml_give(b, 0);                \
	}

/** A function that no GPU of the lab supports; @params begin with the GPU @b, @out is its
 * output. */
#define NVML_UNSUPPORTED(name, params, out, code)    \
	int NVML(name) params                        \
	{                                            \
		int rc = nvml_take(b, out);          \
                                                     \
		return rc ? rc : nvml_give(b, code); \
	}

/** Lock a GPU and advance it to the present. @return 0; NVML's code, and the GPU is not locked */
int nvml_take(struct lab_gpu *b, const void *out);
/** Unlock it. @return @code */
int nvml_give(struct lab_gpu *b, int code);
/** As nvml_take, for setters: refused while the fault no-permission lasts. */
int nvml_take_to_set(struct lab_gpu *b);

/** The lab; NULL: nvmlInit was not called, or as often as nvmlShutdown. */
struct vgpu_lab *nvml_lab(void);

/** The product of a GPU. */
static inline struct vgpu_product nvml_product(const struct lab_gpu *b)
{
	return vgpu_product(&b->type);
}

/** The highest clock of the GPU type that is not above @mhz; the lowest clock if all are. */
uint32_t nvml_snap(const struct hes_gpu_type *type, uint32_t mhz);

#endif
