/*
 * nvml_device.c - libnvidia-ml's stand-in: the library itself, devices and their fixed properties.
 *
 * nvml_sensors.c reads, nvml_settings.c sets, nvml_processes.c lists processes.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nvml_stand_in.h"

#define DRIVER            "535.216.01-lab"
#define CUDA_VERSION      12020
#define DRIVER_NOT_LOADED 9
#define FIRST_BUS         1 /* bus number of the first GPU */
#define PCIE_WIDTH        16
#define PCI_NVIDIA        0x10de

static int users;

struct vgpu_lab *nvml_lab(void)
{
	return __atomic_load_n(&users, __ATOMIC_SEQ_CST) > 0 ? vgpu_here() : NULL;
}

int nvml_take(struct lab_gpu *b, const void *out)
{
	struct vgpu_lab *lab = nvml_lab();

	if (!lab)
		return NVML_UNINITIALIZED;
	if (b < lab->gpus || b >= lab->gpus + lab->n_gpus || !out)
		return NVML_INVALID_ARGUMENT;
	vgpu_lock(lab, b);
	return lab_gpu_has_fault(b, VGPU_FAULT_GPU_LOST) ? nvml_give(b, NVML_GPU_IS_LOST) : 0;
}

int nvml_give(struct lab_gpu *b, int code)
{
	vgpu_unlock(b);
	return code;
}

int nvml_take_to_set(struct lab_gpu *b)
{
	int rc = nvml_take(b, b);

	if (!rc && lab_gpu_has_fault(b, VGPU_FAULT_NO_PERMISSION))
		return nvml_give(b, NVML_NO_PERMISSION);
	return rc;
}

/* Copy a text into a caller's buffer. @return NVML's code */
static int copy_text(char *out, unsigned length, const char *text)
{
	if (!out)
		return NVML_INVALID_ARGUMENT;
	if (strlen(text) >= length)
		return NVML_INSUFFICIENT_SIZE;
	memcpy(out, text, strlen(text) + 1);
	return 0;
}

/* The driver's thread waits for its end, and gets every signal of its process. */
static struct {
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t stop;
	pthread_t thread;
	pid_t process; /* that the thread is in; 0: none */
	bool stopping;
} driver = { .lock = PTHREAD_MUTEX_INITIALIZER, .stop = PTHREAD_COND_INITIALIZER };

static void *driver_wait(void *unused)
{
	sigset_t none;

	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
	pthread_mutex_lock(&driver.lock);
	while (!driver.stopping)
		pthread_cond_wait(&driver.stop, &driver.lock);
	pthread_mutex_unlock(&driver.lock);
	return unused;
}

static void driver_start(struct vgpu_lab *lab)
{
	struct lab_gpu *b = &lab->gpus[0];
	bool wanted;

	vgpu_lock(lab, b);
	wanted = lab_gpu_has_fault(b, VGPU_FAULT_DRIVER_THREAD);
	vgpu_unlock(b);
	pthread_mutex_lock(&driver.lock);
	driver.stopping = false;
	if (wanted && driver.process != getpid() &&
	    !pthread_create(&driver.thread, NULL, driver_wait, NULL))
		driver.process = getpid();
	pthread_mutex_unlock(&driver.lock);
}

static void driver_end(void)
{
	bool mine;

	pthread_mutex_lock(&driver.lock);
	mine = driver.process == getpid();
	driver.process = 0;
	driver.stopping = true;
	pthread_cond_signal(&driver.stop);
	pthread_mutex_unlock(&driver.lock);
	if (mine)
		pthread_join(driver.thread, NULL);
}

int NVML(nvmlInit_v2)(void)
{
	struct vgpu_lab *lab = vgpu_here();

	if (!lab)
		return DRIVER_NOT_LOADED;
	if (__atomic_fetch_add(&users, 1, __ATOMIC_SEQ_CST) == 0)
		driver_start(lab);
	return 0;
}

NVML_ALIAS(nvmlInit, nvmlInit_v2)

int NVML(nvmlInitWithFlags)(unsigned flags)
{
	(void)flags;
	return NVML(nvmlInit_v2)();
}

int NVML(nvmlShutdown)(void)
{
	if (!nvml_lab())
		return NVML_UNINITIALIZED;
	if (__atomic_sub_fetch(&users, 1, __ATOMIC_SEQ_CST) == 0)
		driver_end();
	return 0;
}

EXPORT const char *nvmlErrorString(int code)
{
	static const char *const texts[] = {
		[NVML_OK] = "Success",
		[NVML_UNINITIALIZED] = "Uninitialized",
		[NVML_INVALID_ARGUMENT] = "Invalid Argument",
		[NVML_NOT_SUPPORTED] = "Not Supported",
		[NVML_NO_PERMISSION] = "Insufficient Permissions",
		[NVML_NOT_FOUND] = "Not Found",
		[NVML_INSUFFICIENT_SIZE] = "Insufficient Size",
		[DRIVER_NOT_LOADED] = "Driver Not Loaded",
		[NVML_TIMEOUT] = "Timeout",
		[12] = "NVML Shared Library Not Found",
		[NVML_FUNCTION_MISSING] = "Function Not Found",
		[14] = "Corrupted infoROM",
		[NVML_GPU_IS_LOST] = "GPU is lost",
		[16] = "GPU requires reset",
		[18] = "Driver/library version mismatch",
		[19] = "In use by another client",
		[20] = "Insufficient Memory",
		[NVML_WRONG_VERSION] = "Argument Version Mismatch",
	};

	if (code >= 0 && code < (int)(sizeof(texts) / sizeof(texts[0])) && texts[code])
		return texts[code];
	return "Unknown Error";
}

int NVML(nvmlSystemGetDriverVersion)(char *out, unsigned length)
{
	return nvml_lab() ? copy_text(out, length, DRIVER) : NVML_UNINITIALIZED;
}

int NVML(nvmlSystemGetNVMLVersion)(char *out, unsigned length)
{
	return nvml_lab() ? copy_text(out, length, "12." DRIVER) : NVML_UNINITIALIZED;
}

int NVML(nvmlSystemGetCudaDriverVersion_v2)(int *out)
{
	if (!nvml_lab() || !out)
		return out ? NVML_UNINITIALIZED : NVML_INVALID_ARGUMENT;
	*out = CUDA_VERSION;
	return 0;
}

NVML_ALIAS(nvmlSystemGetCudaDriverVersion, nvmlSystemGetCudaDriverVersion_v2)

int NVML(nvmlSystemGetProcessName)(unsigned pid, char *out, unsigned length)
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

int NVML(nvmlDeviceGetCount_v2)(unsigned *out)
{
	if (!nvml_lab() || !out)
		return out ? NVML_UNINITIALIZED : NVML_INVALID_ARGUMENT;
	*out = nvml_lab()->n_gpus;
	return 0;
}

NVML_ALIAS(nvmlDeviceGetCount, nvmlDeviceGetCount_v2)

int NVML(nvmlDeviceGetHandleByIndex_v2)(unsigned index, struct lab_gpu **out)
{
	struct vgpu_lab *lab = nvml_lab();

	if (!lab)
		return NVML_UNINITIALIZED;
	if (index >= lab->n_gpus || !out)
		return NVML_INVALID_ARGUMENT;
	*out = &lab->gpus[index];
	return 0;
}

NVML_ALIAS(nvmlDeviceGetHandleByIndex, nvmlDeviceGetHandleByIndex_v2)

static unsigned index_of(const struct lab_gpu *b)
{
	return (unsigned)(b - vgpu_here()->gpus);
}

static struct nvml_pci pci_of(const struct lab_gpu *b)
{
	struct nvml_pci pci = { .bus = FIRST_BUS + index_of(b), .device_id = PCI_NVIDIA };

	snprintf(pci.bus_id_legacy, sizeof(pci.bus_id_legacy), "0000:%02X:00.0", pci.bus & 0xff);
	snprintf(pci.bus_id, sizeof(pci.bus_id), "00000000:%02X:00.0", pci.bus & 0xff);
	return pci;
}

static bool has_uuid(const struct lab_gpu *b, const char *uuid)
{
	return strcmp(b->uuid, uuid) == 0;
}

static bool has_bus_id(const struct lab_gpu *b, const char *bus_id)
{
	const struct nvml_pci pci = pci_of(b);

	return strcasecmp(pci.bus_id, bus_id) == 0 || strcasecmp(pci.bus_id_legacy, bus_id) == 0;
}

static int find_handle(const char *name, bool (*has)(const struct lab_gpu *b, const char *name),
		       struct lab_gpu **out)
{
	struct vgpu_lab *lab = nvml_lab();

	if (!lab)
		return NVML_UNINITIALIZED;
	for (unsigned i = 0; name && out && i < lab->n_gpus; i++) {
		if (has(&lab->gpus[i], name)) {
			*out = &lab->gpus[i];
			return 0;
		}
	}
	return name && out ? NVML_NOT_FOUND : NVML_INVALID_ARGUMENT;
}

int NVML(nvmlDeviceGetHandleByUUID)(const char *uuid, struct lab_gpu **out)
{
	return find_handle(uuid, has_uuid, out);
}

int NVML(nvmlDeviceGetHandleByPciBusId_v2)(const char *bus_id, struct lab_gpu **out)
{
	return find_handle(bus_id, has_bus_id, out);
}

NVML_GETTER(nvmlDeviceGetPciInfo_v3, struct nvml_pci, pci_of(b))
NVML_ALIAS(nvmlDeviceGetPciInfo_v2, nvmlDeviceGetPciInfo_v3)
NVML_ALIAS(nvmlDeviceGetPciInfo, nvmlDeviceGetPciInfo_v3)

int NVML(nvmlDeviceGetName)(struct lab_gpu *b, char *out, unsigned length)
{
	int rc = nvml_take(b, out);

	return rc ? rc : nvml_give(b, copy_text(out, length, nvml_product(b).name));
}

int NVML(nvmlDeviceGetUUID)(struct lab_gpu *b, char *out, unsigned length)
{
	int rc = nvml_take(b, out);

	return rc ? rc : nvml_give(b, copy_text(out, length, b->uuid));
}

int NVML(nvmlDeviceGetSerial)(struct lab_gpu *b, char *out, unsigned length)
{
	char serial[32];
	int rc = nvml_take(b, out);

	if (rc)
		return rc;
	snprintf(serial, sizeof(serial), "13220%08u", index_of(b) + 1);
	return nvml_give(b, copy_text(out, length, serial));
}

NVML_GETTER(nvmlDeviceGetIndex, unsigned, index_of(b))
NVML_ALIAS(nvmlDeviceGetMinorNumber, nvmlDeviceGetIndex)
NVML_GETTER(nvmlDeviceGetBrand, unsigned, nvml_product(b).major < 8 ? 2 : 14) /* Tesla, NVIDIA */
NVML_GETTER(nvmlDeviceGetArchitecture, unsigned, nvml_product(b).architecture)
NVML_GETTER(nvmlDeviceGetNumGpuCores, unsigned, b->type.sm_count *nvml_product(b).cores_per_sm)
NVML_GETTER(nvmlDeviceGetMemoryBusWidth, unsigned, nvml_product(b).bus_bits)
NVML_GETTER(nvmlDeviceGetMaxPcieLinkGeneration, unsigned, nvml_product(b).pcie_gen)
NVML_ALIAS(nvmlDeviceGetCurrPcieLinkGeneration, nvmlDeviceGetMaxPcieLinkGeneration)
NVML_GETTER(nvmlDeviceGetMaxPcieLinkWidth, unsigned, PCIE_WIDTH)
NVML_ALIAS(nvmlDeviceGetCurrPcieLinkWidth, nvmlDeviceGetMaxPcieLinkWidth)

int NVML(nvmlDeviceGetCudaComputeCapability)(struct lab_gpu *b, int *major, int *minor)
{
	int rc = nvml_take(b, minor ? major : NULL);

	if (rc)
		return rc;
	*major = nvml_product(b).major;
	*minor = nvml_product(b).minor;
	return nvml_give(b, 0);
}

/* The lab has one NUMA node: all CPUs are near every GPU. */
int NVML(nvmlDeviceGetCpuAffinity)(struct lab_gpu *b, unsigned words, unsigned long *set)
{
	const size_t bits = 8 * sizeof(*set);
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int rc = nvml_take(b, set);

	if (rc)
		return rc;
	memset(set, 0, words * sizeof(*set));
	for (size_t i = 0; (long)i < cpus && i < words * bits; i++)
		set[i / bits] |= 1ul << i % bits;
	return nvml_give(b, 0);
}

/* A GPU in MIG mode has no instances. */
NVML_UNSUPPORTED(nvmlDeviceGetMigDeviceHandleByIndex,
		 (struct lab_gpu * b, unsigned index __attribute__((unused)), void **out), out,
		 NVML_NOT_FOUND)
NVML_UNSUPPORTED(nvmlDeviceGetNvLinkState,
		 (struct lab_gpu * b, unsigned link __attribute__((unused)), unsigned *out), out,
		 NVML_NOT_SUPPORTED)
NVML_UNSUPPORTED(nvmlDeviceGetNvLinkRemotePciInfo_v2,
		 (struct lab_gpu * b, unsigned link __attribute__((unused)), struct nvml_pci *out),
		 out, NVML_NOT_SUPPORTED)
