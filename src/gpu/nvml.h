/*
 * nvml.h - the functions of NVML, loaded at run time.
 */
#ifndef HES_GPU_NVML_H
#define HES_GPU_NVML_H

#include "gpu/nvml_abi.h"
#include "heshare/device.h"

/* Optional functions may be NULL. */
struct nvml {
	int (*init)(void);
	int (*shutdown)(void);
	const char *(*error)(int code);
	int (*count)(unsigned *out);
	int (*handle)(unsigned index, void **out);
	int (*driver)(char *out, unsigned length);
	int (*name)(void *dev, char *out, unsigned length);
	int (*uuid)(void *dev, char *out, unsigned length);
	int (*pci)(void *dev, struct nvml_pci *out);
	int (*memory)(void *dev, struct nvml_memory *out);
	int (*utilization)(void *dev, struct nvml_utilization *out);
	int (*temperature)(void *dev, int sensor, unsigned *out);
	int (*power)(void *dev, unsigned *mw);
	int (*energy)(void *dev, unsigned long long *mj);
	int (*fields)(void *dev, int n, struct nvml_field *f);
	int (*clock)(void *dev, int what, unsigned *mhz);
	int (*reasons)(void *dev, unsigned long long *out);
	int (*lock_clocks)(void *dev, unsigned min_mhz, unsigned max_mhz);
	int (*unlock_clocks)(void *dev);
	int (*power_limit)(void *dev, unsigned *mw);
	int (*set_power_limit)(void *dev, unsigned mw);
	int (*persistence)(void *dev, int *mode);
	int (*set_persistence)(void *dev, int mode);
	int (*compute_mode)(void *dev, int *mode);
	int (*mig_mode)(void *dev, unsigned *current, unsigned *pending);
	int (*processes)(void *dev, unsigned *n, struct nvml_process *out);
	int (*mps_processes)(void *dev, unsigned *n, struct nvml_process *out);
	int (*process_util)(void *dev, struct nvml_process_util *out, unsigned *n,
			    unsigned long long since_us);
	int (*cores)(void *dev, unsigned *out);
	int (*capability)(void *dev, int *major, int *minor);
	int (*bus_width)(void *dev, unsigned *bits);
	int (*max_clock)(void *dev, int what, unsigned *mhz);
	int (*memory_clocks)(void *dev, unsigned *n, unsigned *mhz);
	int (*supported_clocks)(void *dev, unsigned memory_mhz, unsigned *n, unsigned *mhz);
	int (*default_limit)(void *dev, unsigned *mw);
	int (*pcie_generation)(void *dev, unsigned *out);
	int (*pcie_width)(void *dev, unsigned *out);
	int (*gpm_support)(void *dev, struct nvml_gpm_support *out);
	int (*gpm_alloc)(void **out);
	int (*gpm_free)(void *sample);
	int (*gpm_sample)(void *dev, void *sample);
	int (*gpm_metrics)(struct nvml_gpm_metrics *get);
};

struct nvml_gpu {
	void *handle;               /* NULL: NVML does not open the GPU */
	int refused;                /* NVML's code where it has no handle */
	bool instant;               /* it has the field of instant power */
	unsigned most_mw, most_mhz; /* above these a reading is impossible */
	unsigned least_mw;          /* below it, too */
	char type[HES_NAME_MAX];
	char uuid[sizeof(((struct hes_device_info *)0)->uuid)]; /* "": refused when it was opened */
};

struct hes_devices {
	void *library;
	struct nvml nvml;
	bool started; /* NVML, which is to be shut down */
	size_t n;
	struct nvml_gpu *gpus;
};

/** Call an optional function for a GPU with a handle. @return NVML's code */
#define NVML_CALL(d, i, function, ...)                                             \
	((d)->nvml.function ? (d)->nvml.function((d)->gpus[i].handle, __VA_ARGS__) \
			    : NVML_FUNCTION_MISSING)

/** Load the library and its functions. @return 0; -ENODEV, -EPROTO */
int hes_nvml_find(struct hes_devices *d, struct hes_err *err);

/** @return 0, and the GPU has a handle; -EINVAL no such GPU; as hes_nvml_refuse() */
int hes_nvml_has(const struct hes_devices *d, size_t i, struct hes_err *err);

/** A GPU that cannot be used because NVML refuses its handle, name, UUID or memory: a sentence with
 * the remedy, and an errno. */
int hes_nvml_refuse(const struct hes_devices *d, size_t i, const char *what, int code,
		    struct hes_err *err);

/** The same where NVML does not start: no GPU can be used. */
int hes_nvml_refuse_all(const struct hes_devices *d, const char *what, int code,
			struct hes_err *err);

/** Turn an NVML code into a sentence, "GPU 3: WHAT: ...", and an errno. */
int hes_nvml_fail(const struct hes_devices *d, size_t i, const char *what, int code,
		  struct hes_err *err);

#endif
