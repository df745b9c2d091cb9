/*
 * nvml_device.c - libnvidia-ml's stand-in: the library itself, devices and what they are.
 *
 * Neighbours: nvml_sensors.c reads, nvml_settings.c sets, nvml_processes.c lists.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nvml_stand_in.h"

#define EXPORT __attribute__((visibility("default")))
#define DRIVER "535.216.01"
#define CUDA_VERSION 12020
#define HOST_BRIDGE_BUS 1 /* the first board's bus number */

static int users;

struct vgpu_lab *nvml_lab(void)
{
	return __atomic_load_n(&users, __ATOMIC_SEQ_CST) > 0 ? vgpu_here() : NULL;
}

int nvml_take(struct vgpu_board *b, const void *out)
{
	struct vgpu_lab *lab = nvml_lab();

	if (!lab)
		return NVML_UNINITIALIZED;
	if (b < lab->boards || b >= lab->boards + lab->n_gpus || !out)
		return NVML_INVALID_ARGUMENT;
	vgpu_lock(lab, b);
	return vgpu_board_has_fault(b, VGPU_FAULT_GPU_LOST) ? nvml_give(b, NVML_GPU_IS_LOST) : 0;
}

int nvml_give(struct vgpu_board *b, int code)
{
	vgpu_unlock(b);
	return code;
}

int nvml_take_to_set(struct vgpu_board *b)
{
	int rc = nvml_take(b, b);

	if (!rc && vgpu_board_has_fault(b, VGPU_FAULT_NO_PERMISSION))
		return nvml_give(b, NVML_NO_PERMISSION);
	return rc;
}

int nvml_text(char *out, unsigned length, const char *text)
{
	if (!out)
		return NVML_INVALID_ARGUMENT;
	if (strlen(text) >= length)
		return NVML_INSUFFICIENT_SIZE;
	memcpy(out, text, strlen(text) + 1);
	return 0;
}

EXPORT int nvmlInit_v2(void)
{
	if (!vgpu_here())
		return 9; /* driver not loaded */
	__atomic_add_fetch(&users, 1, __ATOMIC_SEQ_CST);
	return 0;
}

EXPORT int nvmlInit(void)
{
	return nvmlInit_v2();
}

EXPORT int nvmlInitWithFlags(unsigned flags)
{
	(void)flags;
	return nvmlInit_v2();
}

EXPORT int nvmlShutdown(void)
{
	if (!nvml_lab())
		return NVML_UNINITIALIZED;
	__atomic_sub_fetch(&users, 1, __ATOMIC_SEQ_CST);
	return 0;
}

EXPORT const char *nvmlErrorString(int code)
{
	static const struct { int code; const char *text; } texts[] = {
		{ NVML_OK, "Success" }, { NVML_UNINITIALIZED, "Uninitialized" },
		{ NVML_INVALID_ARGUMENT, "Invalid Argument" }, { NVML_NOT_SUPPORTED, "Not Supported" },
		{ NVML_NO_PERMISSION, "Insufficient Permissions" }, { NVML_NOT_FOUND, "Not Found" },
		{ NVML_INSUFFICIENT_SIZE, "Insufficient Size" }, { 9, "Driver Not Loaded" },
		{ NVML_TIMEOUT, "Timeout" }, { NVML_FUNCTION_MISSING, "Function Not Found" },
		{ NVML_GPU_IS_LOST, "GPU is lost" }, { NVML_WRONG_VERSION, "Argument Version Mismatch" },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i].code == code)
			return texts[i].text;
	return "Unknown Error";
}

EXPORT int nvmlSystemGetDriverVersion(char *out, unsigned length)
{
	return nvml_lab() ? nvml_text(out, length, DRIVER) : NVML_UNINITIALIZED;
}

EXPORT int nvmlSystemGetNVMLVersion(char *out, unsigned length)
{
	return nvml_lab() ? nvml_text(out, length, "12." DRIVER) : NVML_UNINITIALIZED;
}

EXPORT int nvmlSystemGetCudaDriverVersion_v2(int *out)
{
	if (!nvml_lab() || !out)
		return out ? NVML_UNINITIALIZED : NVML_INVALID_ARGUMENT;
	*out = CUDA_VERSION;
	return 0;
}

EXPORT int nvmlSystemGetCudaDriverVersion(int *out)
{
	return nvmlSystemGetCudaDriverVersion_v2(out);
}

EXPORT int nvmlSystemGetProcessName(unsigned pid, char *out, unsigned length)
{
	char path[32], name[256];
	ssize_t n;

	if (!out || !length)
		return NVML_INVALID_ARGUMENT;
	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	n = readlink(path, name, sizeof(name) - 1);
	if (n < 0)
		return NVML_NOT_FOUND;
	name[n] = '\0';
	snprintf(out, length, "%s", name);
	return 0;
}

EXPORT int nvmlDeviceGetCount_v2(unsigned *out)
{
	if (!nvml_lab() || !out)
		return out ? NVML_UNINITIALIZED : NVML_INVALID_ARGUMENT;
	*out = nvml_lab()->n_gpus;
	return 0;
}

EXPORT int nvmlDeviceGetCount(unsigned *out)
{
	return nvmlDeviceGetCount_v2(out);
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct vgpu_board **out)
{
	struct vgpu_lab *lab = nvml_lab();

	if (!lab)
		return NVML_UNINITIALIZED;
	if (index >= lab->n_gpus || !out)
		return NVML_INVALID_ARGUMENT;
	*out = &lab->boards[index];
	return 0;
}

EXPORT int nvmlDeviceGetHandleByIndex(unsigned index, struct vgpu_board **out)
{
	return nvmlDeviceGetHandleByIndex_v2(index, out);
}

EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, struct vgpu_board **out)
{
	struct vgpu_lab *lab = nvml_lab();

	if (!lab)
		return NVML_UNINITIALIZED;
	for (unsigned i = 0; uuid && out && i < lab->n_gpus; i++) {
		if (strcmp(lab->boards[i].uuid, uuid) == 0) {
			*out = &lab->boards[i];
			return 0;
		}
	}
	return uuid && out ? NVML_NOT_FOUND : NVML_INVALID_ARGUMENT;
}

static unsigned index_of(const struct vgpu_board *b)
{
	return (unsigned)(b - vgpu_here()->boards);
}

static struct nvml_pci pci_of(const struct vgpu_board *b)
{
	struct nvml_pci pci = { .bus = HOST_BRIDGE_BUS + index_of(b), .device_id = vgpu_product(b->type.name)->pci_id };

	snprintf(pci.bus_id_legacy, sizeof(pci.bus_id_legacy), "0000:%02X:00.0", pci.bus & 0xff);
	snprintf(pci.bus_id, sizeof(pci.bus_id), "00000000:%02X:00.0", pci.bus & 0xff);
	return pci;
}

EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, struct vgpu_board **out)
{
	struct vgpu_lab *lab = nvml_lab();

	if (!lab)
		return NVML_UNINITIALIZED;
	for (unsigned i = 0; bus_id && out && i < lab->n_gpus; i++) {
		struct nvml_pci pci = pci_of(&lab->boards[i]);

		if (strcasecmp(pci.bus_id, bus_id) == 0 || strcasecmp(pci.bus_id_legacy, bus_id) == 0) {
			*out = &lab->boards[i];
			return 0;
		}
	}
	return bus_id && out ? NVML_NOT_FOUND : NVML_INVALID_ARGUMENT;
}

EXPORT int nvmlDeviceGetPciInfo_v3(struct vgpu_board *b, struct nvml_pci *out)
{
	int rc = nvml_take(b, out);

	if (rc)
		return rc;
	*out = pci_of(b);
	return nvml_give(b, 0);
}

EXPORT int nvmlDeviceGetPciInfo_v2(struct vgpu_board *b, struct nvml_pci *out)
{
	return nvmlDeviceGetPciInfo_v3(b, out);
}

EXPORT int nvmlDeviceGetPciInfo(struct vgpu_board *b, struct nvml_pci *out)
{
	return nvmlDeviceGetPciInfo_v3(b, out);
}

EXPORT int nvmlDeviceGetName(struct vgpu_board *b, char *out, unsigned length)
{
	int rc = nvml_take(b, out);

	return rc ? rc : nvml_give(b, nvml_text(out, length, vgpu_product(b->type.name)->name));
}

EXPORT int nvmlDeviceGetUUID(struct vgpu_board *b, char *out, unsigned length)
{
	int rc = nvml_take(b, out);

	return rc ? rc : nvml_give(b, nvml_text(out, length, b->uuid));
}

EXPORT int nvmlDeviceGetSerial(struct vgpu_board *b, char *out, unsigned length)
{
	char serial[32];
	int rc = nvml_take(b, out);

	if (rc)
		return rc;
	snprintf(serial, sizeof(serial), "13220%08u", index_of(b) + 1);
	return nvml_give(b, nvml_text(out, length, serial));
}

/* A number of a board that never changes. */
static int fixed(struct vgpu_board *b, unsigned *out, unsigned value)
{
	int rc = nvml_take(b, out);

	if (rc)
		return rc;
	*out = value;
	return nvml_give(b, 0);
}

/* The product of a handle that was not looked at yet. */
static const struct vgpu_product *product(const struct vgpu_board *b)
{
	const struct vgpu_lab *lab = nvml_lab();

	return vgpu_product(lab && b >= lab->boards && b < lab->boards + lab->n_gpus ? b->type.name : "");
}

EXPORT int nvmlDeviceGetIndex(struct vgpu_board *b, unsigned *out)
{
	return fixed(b, out, nvml_lab() ? index_of(b) : 0);
}

EXPORT int nvmlDeviceGetMinorNumber(struct vgpu_board *b, unsigned *out)
{
	return nvmlDeviceGetIndex(b, out);
}

EXPORT int nvmlDeviceGetBrand(struct vgpu_board *b, unsigned *out)
{
	return fixed(b, out, product(b)->major < 8 ? 2 : 14); /* Tesla, NVIDIA */
}

EXPORT int nvmlDeviceGetArchitecture(struct vgpu_board *b, unsigned *out)
{
	return fixed(b, out, product(b)->architecture);
}

EXPORT int nvmlDeviceGetNumGpuCores(struct vgpu_board *b, unsigned *out)
{
	int rc = nvml_take(b, out);

	if (rc)
		return rc;
	*out = b->type.sm_count * vgpu_product(b->type.name)->cores_per_sm;
	return nvml_give(b, 0);
}

EXPORT int nvmlDeviceGetCudaComputeCapability(struct vgpu_board *b, int *major, int *minor)
{
	int rc = nvml_take(b, minor ? major : NULL);

	if (rc)
		return rc;
	*major = vgpu_product(b->type.name)->major;
	*minor = vgpu_product(b->type.name)->minor;
	return nvml_give(b, 0);
}

EXPORT int nvmlDeviceGetMaxPcieLinkGeneration(struct vgpu_board *b, unsigned *out)
{
	return fixed(b, out, product(b)->pcie_gen);
}

EXPORT int nvmlDeviceGetCurrPcieLinkGeneration(struct vgpu_board *b, unsigned *out)
{
	return fixed(b, out, product(b)->pcie_gen);
}

EXPORT int nvmlDeviceGetMaxPcieLinkWidth(struct vgpu_board *b, unsigned *out)
{
	return fixed(b, out, 16);
}

EXPORT int nvmlDeviceGetCurrPcieLinkWidth(struct vgpu_board *b, unsigned *out)
{
	return fixed(b, out, 16);
}

/* Every board hangs on the first CPUs: the lab has one node of memory. */
EXPORT int nvmlDeviceGetCpuAffinity(struct vgpu_board *b, unsigned words, unsigned long *set)
{
	int rc = nvml_take(b, set);
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (rc)
		return rc;
	memset(set, 0, words * sizeof(*set));
	for (long i = 0; i < cpus && i < (long)(words * 8 * sizeof(*set)); i++)
		set[(size_t)i / (8 * sizeof(*set))] |= 1ul << ((size_t)i % (8 * sizeof(*set)));
	return nvml_give(b, 0);
}

/* No board of the lab is partitioned. */
EXPORT int nvmlDeviceGetMigMode(struct vgpu_board *b, unsigned *current, unsigned *pending)
{
	int rc = nvml_take(b, pending ? current : NULL);

	if (rc)
		return rc;
	if (vgpu_product(b->type.name)->major < 8)
		return nvml_give(b, NVML_NOT_SUPPORTED);
	*current = *pending = 0;
	return nvml_give(b, 0);
}

EXPORT int nvmlDeviceGetMaxMigDeviceCount(struct vgpu_board *b, unsigned *out)
{
	return fixed(b, out, 0);
}

EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(struct vgpu_board *b, unsigned index, void **out)
{
	int rc = nvml_take(b, out);

	(void)index;
	return rc ? rc : nvml_give(b, NVML_NOT_FOUND);
}

EXPORT int nvmlDeviceGetNvLinkState(struct vgpu_board *b, unsigned link, unsigned *out)
{
	int rc = nvml_take(b, out);

	(void)link;
	return rc ? rc : nvml_give(b, NVML_NOT_SUPPORTED);
}

EXPORT int nvmlDeviceGetNvLinkRemotePciInfo_v2(struct vgpu_board *b, unsigned link, struct nvml_pci *out)
{
	int rc = nvml_take(b, out);

	(void)link;
	return rc ? rc : nvml_give(b, NVML_NOT_SUPPORTED);
}
