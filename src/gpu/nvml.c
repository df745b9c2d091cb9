/*
 * nvml.c - load NVML at run time; see nvml.h.
 *
 * The program must start on a machine without a GPU. The newest symbol comes first. A missing
 * optional symbol is NULL and clears a capability.
 */
#include "gpu/nvml.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *names[2];
	size_t slot;
	bool required;
} symbols[] = {
	{ { "nvmlInit_v2", "nvmlInit" }, offsetof(struct nvml, init), true },
	{ { "nvmlShutdown" }, offsetof(struct nvml, shutdown), true },
	{ { "nvmlErrorString" }, offsetof(struct nvml, error), true },
	{ { "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount" }, offsetof(struct nvml, count), true },
	{ { "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex" },
	  offsetof(struct nvml, handle),
	  true },
	{ { "nvmlSystemGetDriverVersion" }, offsetof(struct nvml, driver), false },
	{ { "nvmlDeviceGetName" }, offsetof(struct nvml, name), true },
	{ { "nvmlDeviceGetUUID" }, offsetof(struct nvml, uuid), true },
	{ { "nvmlDeviceGetPciInfo_v3" }, offsetof(struct nvml, pci), false },
	{ { "nvmlDeviceGetMemoryInfo" }, offsetof(struct nvml, memory), false },
	{ { "nvmlDeviceGetUtilizationRates" }, offsetof(struct nvml, utilization), false },
	{ { "nvmlDeviceGetTemperature" }, offsetof(struct nvml, temperature), false },
	{ { "nvmlDeviceGetPowerUsage" }, offsetof(struct nvml, power), false },
	{ { "nvmlDeviceGetTotalEnergyConsumption" }, offsetof(struct nvml, energy), false },
	{ { "nvmlDeviceGetFieldValues" }, offsetof(struct nvml, fields), false },
	{ { "nvmlDeviceGetClockInfo" }, offsetof(struct nvml, clock), false },
	{ { "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons" },
	  offsetof(struct nvml, reasons),
	  false },
	{ { "nvmlDeviceSetGpuLockedClocks" }, offsetof(struct nvml, lock_clocks), false },
	{ { "nvmlDeviceResetGpuLockedClocks" }, offsetof(struct nvml, unlock_clocks), false },
	/* The limit that was set; the enforced one may be lower. */
	{ { "nvmlDeviceGetPowerManagementLimit", "nvmlDeviceGetEnforcedPowerLimit" },
	  offsetof(struct nvml, power_limit),
	  false },
	{ { "nvmlDeviceSetPowerManagementLimit" }, offsetof(struct nvml, set_power_limit), false },
	{ { "nvmlDeviceGetPersistenceMode" }, offsetof(struct nvml, persistence), false },
	{ { "nvmlDeviceSetPersistenceMode" }, offsetof(struct nvml, set_persistence), false },
	{ { "nvmlDeviceGetComputeMode" }, offsetof(struct nvml, compute_mode), false },
	{ { "nvmlDeviceGetMigMode" }, offsetof(struct nvml, mig_mode), false },
	/* Both versions have the same rows. */
	{ { "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2" },
	  offsetof(struct nvml, processes),
	  false },
	{ { "nvmlDeviceGetMPSComputeRunningProcesses_v3",
	    "nvmlDeviceGetMPSComputeRunningProcesses_v2" },
	  offsetof(struct nvml, mps_processes),
	  false },
	{ { "nvmlDeviceGetProcessUtilization" }, offsetof(struct nvml, process_util), false },
	{ { "nvmlDeviceGetNumGpuCores" }, offsetof(struct nvml, cores), false },
	{ { "nvmlDeviceGetCudaComputeCapability" }, offsetof(struct nvml, capability), false },
	{ { "nvmlDeviceGetMemoryBusWidth" }, offsetof(struct nvml, bus_width), false },
	{ { "nvmlDeviceGetMaxClockInfo" }, offsetof(struct nvml, max_clock), false },
	{ { "nvmlDeviceGetSupportedMemoryClocks" }, offsetof(struct nvml, memory_clocks), false },
	{ { "nvmlDeviceGetSupportedGraphicsClocks" },
	  offsetof(struct nvml, supported_clocks),
	  false },
	{ { "nvmlDeviceGetPowerManagementDefaultLimit" },
	  offsetof(struct nvml, default_limit),
	  false },
	{ { "nvmlDeviceGetMaxPcieLinkGeneration" }, offsetof(struct nvml, pcie_generation), false },
	{ { "nvmlDeviceGetMaxPcieLinkWidth" }, offsetof(struct nvml, pcie_width), false },
	{ { "nvmlGpmQueryDeviceSupport" }, offsetof(struct nvml, gpm_support), false },
	{ { "nvmlGpmSampleAlloc" }, offsetof(struct nvml, gpm_alloc), false },
	{ { "nvmlGpmSampleFree" }, offsetof(struct nvml, gpm_free), false },
	{ { "nvmlGpmSampleGet" }, offsetof(struct nvml, gpm_sample), false },
	{ { "nvmlGpmMetricsGet" }, offsetof(struct nvml, gpm_metrics), false },
};

int hes_nvml_find(struct hes_devices *d, struct hes_err *err)
{
	static const char *const libraries[] = { "libnvidia-ml.so.1", "libnvidia-ml.so" };

	for (size_t i = 0; i < 2 && !d->library; i++)
		d->library = dlopen(libraries[i], RTLD_NOW);
	if (!d->library)
		return hes_fail(err, -ENODEV,
				"no NVIDIA GPUs: neither %s nor %s, which come with NVIDIA's "
				"driver, can be loaded; to do: install the driver; in a container, "
				"start it with GPUs (docker run --gpus all)",
				libraries[0], libraries[1]);
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *f = dlsym(d->library, symbols[i].names[0]);

		if (!f && symbols[i].names[1])
			f = dlsym(d->library, symbols[i].names[1]);
		if (!f && symbols[i].required)
			return hes_fail(err, -EPROTO, "%s has no %s; is it NVIDIA's?", libraries[0],
					symbols[i].names[0]);
		memcpy((char *)&d->nvml + symbols[i].slot, &f, sizeof(f));
	}
	return 0;
}

/* What people do about codes of NVML. */
static const struct {
	int code;
	const char *why, *what_to_do;
} remedies[] = {
	{ NVML_NO_PERMISSION, "this user may not open it",
	  "look at the rights of /dev/nvidia*; in a container or a Slurm job, ask for the GPU" },
	{ NVML_INSUFFICIENT_POWER, "its power cables are not plugged in", "plug them in" },
	{ NVML_DRIVER_NOT_LOADED, "NVIDIA's driver is not loaded",
	  "sudo modprobe nvidia; where that fails, sudo dmesg says why: often the driver was not "
	  "built for this kernel, or Secure Boot refuses it; in a container, start it with GPUs" },
	{ NVML_IRQ_ISSUE, "the kernel has a problem with its interrupts",
	  "reboot; sudo dmesg says more" },
	{ NVML_LIBRARY_NOT_FOUND, "the driver misses a library of its own",
	  "install NVIDIA's driver again" },
	{ NVML_CORRUPTED_INFOROM, "its infoROM is corrupted",
	  "reset the GPU or reboot; if it stays, have the GPU repaired" },
	{ NVML_GPU_IS_LOST, "the GPU is lost; it needs a reset or a reboot",
	  "sudo nvidia-smi --gpu-reset, or reboot; sudo dmesg | grep -i xid names the cause" },
	{ NVML_RESET_REQUIRED, "the GPU needs a reset",
	  "end its processes, then sudo nvidia-smi --gpu-reset, or reboot" },
	{ NVML_OPERATING_SYSTEM, "the operating system blocks it",
	  "in a container or a Slurm job, ask for the GPU; else reboot" },
	{ NVML_DRIVER_MISMATCH,
	  "the driver that is loaded has another version than its library, as after an update",
	  "reboot, or end all GPU programs and load the module again (sudo rmmod nvidia_uvm "
	  "nvidia_drm nvidia_modeset nvidia; sudo modprobe nvidia); start containers again" },
	{ NVML_IN_USE, "another program has it to itself", "end that program" },
	{ NVML_MEMORY, "the machine is out of memory", "end other programs" },
};

/* "WHY (NVML's code N); to do: WHAT" */
static const char *refusal_text(const struct hes_devices *d, int code, char out[HES_ERR_MAX])
{
	for (size_t k = 0; k < sizeof(remedies) / sizeof(remedies[0]); k++)
		if (remedies[k].code == code) {
			snprintf(out, HES_ERR_MAX, "%s (NVML's code %d); to do: %s",
				 remedies[k].why, code, remedies[k].what_to_do);
			return out;
		}
	snprintf(out, HES_ERR_MAX,
		 "NVML says \"%s\" (code %d); to do: sudo dmesg | grep -i -e xid -e nvrm names the "
		 "cause; a reset (sudo nvidia-smi --gpu-reset) or a reboot often helps",
		 d->nvml.error(code), code);
	return out;
}

int hes_nvml_refuse(const struct hes_devices *d, size_t i, const char *what, int code,
		    struct hes_err *err)
{
	char text[HES_ERR_MAX];

	return hes_fail(err,
			code == NVML_GPU_IS_LOST || code == NVML_RESET_REQUIRED ? -ENODEV
			: code == NVML_NO_PERMISSION                            ? -EPERM
										: -EIO,
			"GPU %zu cannot be used: %s: %s", i, what, refusal_text(d, code, text));
}

int hes_nvml_refuse_all(const struct hes_devices *d, const char *what, int code,
			struct hes_err *err)
{
	char text[HES_ERR_MAX];

	return hes_fail(err, -ENODEV, "no NVIDIA GPUs: %s: %s", what,
			code == NVML_NO_PERMISSION
				? "this user may not use the driver (NVML's code 4); to do: look "
				  "at the rights of /dev/nvidiactl and /dev/nvidia*; in a "
				  "container or a Slurm job, ask for GPUs"
				: refusal_text(d, code, text));
}

int hes_nvml_has(const struct hes_devices *d, size_t i, struct hes_err *err)
{
	if (i >= d->n)
		return hes_fail(err, -EINVAL, "no GPU %zu; there are %zu", i, d->n);
	return d->gpus[i].handle ? 0 : hes_nvml_refuse(d, i, "opening it", d->gpus[i].refused, err);
}

int hes_nvml_fail(const struct hes_devices *d, size_t i, const char *what, int code,
		  struct hes_err *err)
{
	switch (code) {
	case NVML_NO_PERMISSION:
		return hes_fail(
			err, -EPERM,
			"GPU %zu: %s: the driver allows it to root alone (in a container, with "
			"CAP_SYS_ADMIN)",
			i, what);
	case NVML_NOT_SUPPORTED:
	case NVML_FUNCTION_MISSING:
		return hes_fail(err, -ENOTSUP, "GPU %zu: %s: the GPU or its driver cannot", i,
				what);
	case NVML_GPU_IS_LOST:
		return hes_fail(err, -ENODEV,
				"GPU %zu: %s: the GPU is lost; it needs a reset or a reboot", i,
				what);
	case NVML_INVALID_ARGUMENT:
		return hes_fail(err, -EINVAL, "GPU %zu: %s: the driver refuses the value", i, what);
	default:
		return hes_fail(err, -EIO, "GPU %zu: %s: NVML says \"%s\" (%d)", i, what,
				d->nvml.error(code), code);
	}
}
