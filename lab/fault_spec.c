/*
 * fault_spec.c - parse and inject faults; see fault_spec.h.
 */
#include "fault_spec.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "nvml_names.h"
#include "virtual_gpu.h"

#define LONGEST_S    1e9
#define LARGEST      1e15 /* value of a reading */
#define HOLD_STEP_NS 10000000

static const struct {
	const char *name;
	const char *what;
} faults[] = {
	[VGPU_FAULT_SENSOR_GAP] = { "sensor-gap", "power, energy and clocks cannot be read" },
	[VGPU_FAULT_NO_PERMISSION] = { "no-permission", "no setting of the GPU may be changed" },
	[VGPU_FAULT_GPU_LOST] = { "gpu-lost", "the GPU falls off the bus, and its contexts fail" },
	[VGPU_FAULT_LOCK_IGNORED] = { "lock-ignored",
				      "a clock lock is accepted and has no effect" },
	[VGPU_FAULT_CRASH] = { "crash",
			       "the next launch fails; under MPS all clients of its server fail" },
	[VGPU_FAULT_HANG] = { "hang", "launches make no progress" },
	[VGPU_FAULT_NO_COUNTERS] = { "no-counters", "performance counters are for root: GPM and "
						    "DCGM in the process are refused" },
	[VGPU_FAULT_DRIVER_THREAD] = { "driver-thread",
				       "NVML starts a thread in each process that loads it" },
	[VGPU_FAULT_STALL] = { "stall", "an MPS client that is stopped in a launch holds up the "
					"other clients of its server" },
	{ "unkillable",
	  "processes with contexts on the GPU cannot be killed, as if they waited in the driver" },
	{ "mps-death", "the MPS servers of the GPU are killed" },
	{ "clear", "all faults of the GPU end" },
	{ "nvmlNAME=CODE[#N[+]]", "this function of NVML returns CODE; with #N only its N-th call, "
				  "with #N+ all from it on" },
	{ "interference=xN", "co-runners slow each other down N times as much as the model says" },
	{ "READING=VALUE", "power (W), energy (J), clock, memory-clock (MHz), memory (MiB in use), "
			   "temperature (C),\n"
			   "                       utilisation, memory-utilisation or counters (%) "
			   "is VALUE: N, xN (times N), +N (plus N),\n"
			   "                       frozen, or reset (counts from 0 again)" },
};

/* Readings by name; "counters" are all that GPM and DCGM have. */
static const char *const readings[VGPU_READING_COUNT] = {
	[VGPU_READING_POWER] = "power",       [VGPU_READING_ENERGY] = "energy",
	[VGPU_READING_CLOCK] = "clock",       [VGPU_READING_MEMORY_CLOCK] = "memory-clock",
	[VGPU_READING_MEMORY] = "memory",     [VGPU_READING_TEMPERATURE] = "temperature",
	[VGPU_READING_BUSY] = "utilisation",  [VGPU_READING_MEMORY_BUSY] = "memory-utilisation",
	[VGPU_READING_GRAPHICS] = "counters", [VGPU_READING_SM] = "counters",
	[VGPU_READING_TENSOR] = "counters",   [VGPU_READING_DRAM] = "counters",
	[VGPU_READING_FP32] = "counters",     [VGPU_READING_PCIE_IN] = "counters",
	[VGPU_READING_PCIE_OUT] = "counters", [VGPU_READING_OCCUPANCY] = "counters",
};

#define N_NAMES    (sizeof(faults) / sizeof(faults[0]))
#define UNKILLABLE (N_NAMES - 6)
#define MPS_DEATH  (N_NAMES - 5)
#define CLEAR      (N_NAMES - 4)

const char *vgpu_fault_describe(size_t i, const char **what)
{
	if (i >= N_NAMES)
		return NULL;
	*what = faults[i].what;
	return faults[i].name;
}

/*
 * A traced process stops at its exit, even when killed, until the tracer ends. The tracer is a
 * process that ends with the lab.
 */
static void hold_exits(const struct lab_gpu *b, const pid_t *pids, size_t n, double real_s)
{
	const struct timespec step = { .tv_nsec = HOLD_STEP_NS };
	uint32_t cleared = __atomic_load_n(&b->cleared, __ATOMIC_RELAXED);

	for (size_t i = 0; i < n; i++)
		ptrace(PTRACE_SEIZE, pids[i], NULL, PTRACE_O_TRACEEXIT);
	/* By system call: in the lab nanosleep() runs at the lab's speed. */
	for (double s = 0; s < real_s && __atomic_load_n(&b->cleared, __ATOMIC_RELAXED) == cleared;
	     s += HOLD_STEP_NS * 1e-9)
		syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &step, NULL);
	_exit(0);
}

static int make_unkillable(struct vgpu_lab *lab, struct lab_gpu *b, double seconds,
			   struct hes_err *err)
{
	pid_t pids[VGPU_MAX_CLIENTS], child;
	size_t n = 0;

	vgpu_lock(lab, b);
	for (size_t i = 0; i < b->slots; i++)
		if (b->clients[i].pid)
			pids[n++] = b->clients[i].pid;
	vgpu_unlock(b);
	if (!n)
		return hes_fail(err, -ESRCH,
				"fault: unkillable needs a process with a context on the GPU");
	child = fork();
	if (!child)
		hold_exits(b, pids, n, seconds / lab->speed);
	return child < 0 ? hes_fail(err, -errno, "fault: fork: %s", strerror(errno)) : 0;
}

static void inject_fault(struct vgpu_lab *lab, struct lab_gpu *b, size_t kind, double seconds)
{
	vgpu_lock(lab, b);
	if (kind < VGPU_FAULT_COUNT)
		lab_gpu_set_fault(b, (enum vgpu_fault)kind, seconds);
	if (kind == CLEAR)
		lab_gpu_clear(b);
	for (size_t i = 0; kind == MPS_DEATH && i < b->slots; i++)
		if (b->clients[i].pid && b->clients[i].server)
			kill(b->clients[i].server, SIGKILL);
	vgpu_unlock(b);
}

static bool is_nvml_function(const char *name)
{
#define NAME(name) #name,
	static const char *const names[] = { NVML_FUNCTIONS(NAME) };
	const size_t n = strlen(name);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(names[i], name, n) == 0 &&
		    (!names[i][n] || strncmp(names[i] + n, "_v", 2) == 0))
			return true;
	return false;
}

static int parse_call(const char *kind, struct vgpu_call_fault *out, struct hes_err *err)
{
	struct vgpu_call_fault f = { .first = 1, .last = UINT64_MAX };
	char plus = 0, rest;
	int n = sscanf(kind, "%63[^=]=%d#%" SCNu64 "%c%c", f.name, &f.code, &f.first, &plus, &rest);

	if (n < 2 || n > 4 || (n == 2 && strchr(kind, '#')) || (n == 4 && plus != '+') || !f.first)
		return hes_fail(err, -EINVAL,
				"fault \"%s\"; it is written NAME=CODE[#N[+]], as in "
				"nvmlDeviceGetUUID=15#3: the third call returns 15",
				kind);
	if (!is_nvml_function(f.name))
		return hes_fail(err, -EINVAL, "fault \"%s\": the lab's NVML has no function \"%s\"",
				kind, f.name);
	if (n == 3)
		f.last = f.first;
	*out = f;
	return 0;
}

static int add_call_fault(struct vgpu_lab *lab, struct lab_gpu *b, const char *kind, double seconds,
			  struct hes_err *err)
{
	struct vgpu_call_fault f;
	int rc = parse_call(kind, &f, err);

	if (rc)
		return rc;
	f.until_s = seconds;
	vgpu_lock(lab, b);
	if (!lab_gpu_add_call_fault(b, &f))
		rc = hes_fail(err, -E2BIG,
			      "fault \"%s\": a GPU has room for %d faults of functions", kind,
			      VGPU_CALL_FAULTS);
	vgpu_unlock(b);
	return rc;
}

static int parse_change(const char *kind, char name[32], struct vgpu_reading_fault *out,
			struct hes_err *err)
{
	struct vgpu_reading_fault f = { .how = VGPU_READING_SET };
	char text[32] = "", *at = text, *end;

	if (sscanf(kind, "%31[^=]=%31s", name, text) == 2 && strcmp(text, "frozen") == 0)
		f.how = VGPU_READING_FROZEN;
	else if (strcmp(text, "reset") == 0)
		f.how = VGPU_READING_RESET;
	else if (*text == 'x' || *text == '+')
		f.how = *at++ == 'x' ? VGPU_READING_TIMES : VGPU_READING_PLUS;
	if (f.how < VGPU_READING_FROZEN) {
		f.value = strtod(at, &end);
		if (end == at || *end || !(f.value >= -LARGEST && f.value <= LARGEST))
			return hes_fail(err, -EINVAL,
					"fault \"%s\": the value is a number, as in 0, x10 or +-5, "
					"or frozen or reset",
					kind);
	}
	*out = f;
	return 0;
}

static int change_reading(struct vgpu_lab *lab, struct lab_gpu *b, const char *kind, double seconds,
			  struct hes_err *err)
{
	struct vgpu_reading_fault f;
	char name[32];
	bool known = false;
	int rc = parse_change(kind, name, &f, err);

	if (rc)
		return rc;
	if (strcmp(name, "interference") == 0 && (f.how != VGPU_READING_TIMES || f.value < 0))
		return hes_fail(
			err, -EINVAL,
			"fault \"%s\": it is written interference=xN, as in interference=x4", kind);
	f.until_s = seconds;
	vgpu_lock(lab, b);
	if (strcmp(name, "interference") == 0) {
		lab_gpu_set_interference(b, f.value, seconds);
		known = true;
	}
	for (size_t i = 0; i < VGPU_READING_COUNT; i++) {
		if (strcmp(readings[i], name) != 0)
			continue;
		lab_gpu_add_reading_fault(b, (enum vgpu_reading)i, &f);
		known = true;
	}
	vgpu_unlock(b);
	return known ? 0
		     : hes_fail(err, -EINVAL,
				"fault \"%s\": no reading \"%s\"; vgpu-fault --help lists them",
				kind, name);
}

/* Inject one fault into one GPU. */
static int inject_kind(struct vgpu_lab *lab, struct lab_gpu *b, const char *kind, double seconds,
		       struct hes_err *err)
{
	size_t k = 0;

	if (strncmp(kind, "nvml", 4) == 0)
		return add_call_fault(lab, b, kind, seconds, err);
	if (strchr(kind, '='))
		return change_reading(lab, b, kind, seconds, err);
	while (k < N_NAMES && strcmp(faults[k].name, kind) != 0)
		k++;
	if (k == N_NAMES)
		return hes_fail(err, -EINVAL, "no fault \"%s\"; vgpu-fault --help lists the faults",
				kind);
	if (k == UNKILLABLE)
		return make_unkillable(lab, b, seconds, err);
	inject_fault(lab, b, k, seconds);
	return 0;
}

static int parse_gpu(const struct vgpu_lab *lab, const char *text, uint32_t *first, uint32_t *last,
		     struct hes_err *err)
{
	unsigned long i;
	char *end;

	if (strcmp(text, "all") == 0) {
		*first = 0;
		*last = lab->n_gpus - 1;
		return 0;
	}
	i = strtoul(text, &end, 10);
	if (*end || end == text || i >= lab->n_gpus)
		return hes_fail(err, -EINVAL, "fault: no GPU \"%s\"; there are 0 to %u, and all",
				text, lab->n_gpus - 1);
	*first = *last = (uint32_t)i;
	return 0;
}

int vgpu_fault_inject(struct vgpu_lab *lab, const char *spec, struct hes_err *err)
{
	char gpu[16], kind[96], rest;
	double seconds = LONGEST_S;
	int n = sscanf(spec, "%15[^:]:%95[^:]:%lf%c", gpu, kind, &seconds, &rest), rc;
	uint32_t first = 0, last = 0;

	if (n < 2 || n > 3 || (n == 2 && strchr(strchr(spec, ':') + 1, ':')) ||
	    !(seconds > 0 && seconds <= LONGEST_S))
		return hes_fail(
			err, -EINVAL,
			"fault \"%s\"; it is written GPU:KIND[:SECONDS], as in 0:sensor-gap:5",
			spec);
	rc = parse_gpu(lab, gpu, &first, &last, err);
	for (uint32_t i = first; i <= last && !rc; i++)
		rc = inject_kind(lab, &lab->gpus[i], kind, seconds, err);
	return rc;
}
