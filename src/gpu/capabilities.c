/*
 * capabilities.c - find what is missing on a GPU, and what to do about it; see
 * heshare/capabilities.h.
 */
#include "heshare/capabilities.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu/gpm.h"
#include "gpu/nvml.h"
#include "heshare/activity.h"

#define VOLTA             70 /* compute capabilities x 10 */
#define BLACKWELL         100
#define CAP_SYS_ADMIN_BIT 21
#define MPS_PIPE_DIR      "/tmp/nvidia-mps"

struct missing_capabilities {
	struct hes_missing_capability *v;
	long n;
};

static void add_missing(struct missing_capabilities *l, enum hes_capability capability,
			const char *what_to_do, const char *why, ...)
	__attribute__((format(printf, 4, 5)));

static void add_missing(struct missing_capabilities *l, enum hes_capability capability,
			const char *what_to_do, const char *why, ...)
{
	struct hes_missing_capability *o = &l->v[l->n++];
	va_list ap;

	o->capability = capability;
	snprintf(o->what_to_do, sizeof(o->what_to_do), "%s", what_to_do);
	va_start(ap, why);
	vsnprintf(o->why, sizeof(o->why), why, ap);
	va_end(ap);
}

static bool has_capability(void)
{
	unsigned long long bits = 0;
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, "CapEff:", 7) == 0)
			bits = strtoull(line + 7, NULL, 16);
	if (f)
		fclose(f);
	return bits >> CAP_SYS_ADMIN_BIT & 1;
}

/*
 * Whether this process may change settings: set the persistence mode again that was just read. If
 * the mode cannot be read, or is not 0 or 1, nothing is set and the capabilities of the process
 * decide.
 */
static bool may_set(const struct hes_devices *d, size_t i)
{
	int mode = -1, code = NVML_NOT_SUPPORTED;

	if (d->nvml.persistence && d->nvml.set_persistence &&
	    !d->nvml.persistence(d->gpus[i].handle, &mode) && (mode == 0 || mode == 1))
		code = d->nvml.set_persistence(d->gpus[i].handle, mode);
	return code == NVML_NO_PERMISSION ? false : code ? has_capability() : true;
}

/* Compute capability x 10; 0: unknown. */
static int compute_of(const struct hes_devices *d, size_t i)
{
	int major = 0, minor = 0;

	return !NVML_CALL(d, i, capability, &major, &minor) ? 10 * major + minor : 0;
}

static void look_at_settings(const struct hes_devices *d, size_t i, const struct hes_device_info *b,
			     struct missing_capabilities *l)
{
	static const char root[] = "run as root, in a container with CAP_SYS_ADMIN";
	const int compute = compute_of(d, i);
	bool may = may_set(d, i);
	int mode;

	if (compute && compute < VOLTA)
		add_missing(l, HES_CAPABILITY_LOCK_CLOCK, "nothing: plans use the default clock",
			    "clocks cannot be locked: GPUs before Volta have no clock locks");
	else if (!(b->can & HES_CAN_LOCK_CLOCK))
		add_missing(l, HES_CAPABILITY_LOCK_CLOCK,
			    "install a newer driver; until then plans use the default clock",
			    "clocks cannot be locked: the driver has no function for it");
	else if (!may)
		add_missing(l, HES_CAPABILITY_LOCK_CLOCK, root,
			    "clocks cannot be locked: the driver does not let this user");
	if (!(b->can & HES_CAN_LIMIT_POWER))
		add_missing(l, HES_CAPABILITY_LIMIT_POWER, "nothing: the GPU keeps its limit",
			    "the power limit cannot be set: the driver has no function for it");
	else if (!may)
		add_missing(l, HES_CAPABILITY_LIMIT_POWER, root,
			    "the power limit cannot be set: the driver does not let this user");
	if (!NVML_CALL(d, i, persistence, &mode) && !mode)
		add_missing(l, HES_CAPABILITY_PERSISTENCE,
			    "sudo nvidia-smi -pm 1, or start nvidia-persistenced",
			    "persistence mode is off: the driver forgets settings when its last "
			    "user leaves");
}

/* What to do without a sensor depends on the others. */
static void look_at_sensors(const struct hes_device_info *b, struct missing_capabilities *l)
{
	static const struct {
		enum hes_device_can can, other;
		enum hes_capability capability;
		const char *why, *with_other, *without;
	} sensors[] = {
		{ HES_CAN_READ_POWER, HES_CAN_READ_ENERGY, HES_CAPABILITY_READ_POWER,
		  "power cannot be read", "nothing: joules come from the energy counter",
		  "nothing: the GPU reports neither power nor energy, so joules are not known" },
		{ HES_CAN_READ_ENERGY, HES_CAN_READ_POWER, HES_CAPABILITY_READ_ENERGY,
		  "there is no energy counter", "nothing: joules come from the integral of power",
		  "nothing: the GPU reports neither power nor energy, so joules are not known" },
		{ HES_CAN_READ_CLOCK, 0, HES_CAPABILITY_READ_CLOCK, "clocks cannot be read", NULL,
		  "nothing: locks cannot be verified" },
		{ HES_CAN_READ_REASONS, HES_CAN_READ_CLOCK, HES_CAPABILITY_READ_REASONS,
		  "throttling cannot be seen", "compare the locked clocks with the measured ones",
		  "nothing: clocks cannot be read, either" },
	};

	for (size_t k = 0; k < sizeof(sensors) / sizeof(sensors[0]); k++)
		if (!(b->can & sensors[k].can))
			add_missing(l, sensors[k].capability,
				    b->can & sensors[k].other ? sensors[k].with_other
							      : sensors[k].without,
				    "%s", sensors[k].why);
}

/* --- modes that forbid jobs, or turns --- */

static int compute_mode_of(const struct hes_devices *d, size_t i)
{
	int mode;

	return !NVML_CALL(d, i, compute_mode, &mode) ? mode : NVML_COMPUTE_DEFAULT;
}

bool hes_device_is_exclusive(const struct hes_devices *d, size_t i)
{
	const int mode = compute_mode_of(d, i);

	return mode == NVML_COMPUTE_EXCLUSIVE || mode == NVML_COMPUTE_EXCLUSIVE_THREAD;
}

static bool is_mig(const struct hes_devices *d, size_t i)
{
	unsigned current = 0, pending;

	return !NVML_CALL(d, i, mig_mode, &current, &pending) && current == 1;
}

static const char
	prohibited[] = "compute mode is Prohibited: no job can run",
	exclusive[] = "compute mode is Exclusive_Process: jobs share the GPU by MPS "
		      "alone, and cannot take turns",
	mig[] = "MIG is on: jobs cannot use the whole GPU, and heshare plans no instances",
	to_default[] = "sudo nvidia-smi -c DEFAULT", to_whole[] = "sudo nvidia-smi -mig 0";

static void look_at_modes(const struct hes_devices *d, size_t i, struct missing_capabilities *l)
{
	if (is_mig(d, i))
		add_missing(l, HES_CAPABILITY_COMPUTE_MODE, to_whole, "%s", mig);
	else if (compute_mode_of(d, i) == NVML_COMPUTE_PROHIBITED)
		add_missing(l, HES_CAPABILITY_COMPUTE_MODE, to_default, "%s", prohibited);
	else if (hes_device_is_exclusive(d, i))
		add_missing(l, HES_CAPABILITY_TURNS,
			    "nothing for plans and runs with MPS; for heshare fair: sudo "
			    "nvidia-smi -c DEFAULT",
			    "%s", exclusive);
}

int hes_device_check(const struct hes_devices *d, size_t i, bool turns, struct hes_err *err)
{
	if (is_mig(d, i))
		return hes_fail(err, -EPERM, "GPU %zu: %s; %s", i, mig, to_whole);
	if (compute_mode_of(d, i) == NVML_COMPUTE_PROHIBITED)
		return hes_fail(err, -EPERM, "GPU %zu: %s; %s", i, prohibited, to_default);
	if (turns && hes_device_is_exclusive(d, i))
		return hes_fail(err, -EPERM, "GPU %zu: %s; %s", i, exclusive, to_default);
	return 0;
}

static void look_at_mps(const struct hes_devices *d, size_t i, const struct hes_mps_status *m,
			struct missing_capabilities *l)
{
	if (!m->found)
		add_missing(l, HES_CAPABILITY_MPS,
			    "install it (Debian: nvidia-cuda-mps; else it comes with the driver) "
			    "and add it to PATH",
			    "jobs cannot share the GPU: nvidia-cuda-mps-control is not found");
	else if (!m->may_run)
		add_missing(
			l, HES_CAPABILITY_MPS, "get the right to execute it",
			"jobs cannot share the GPU: this user may not run nvidia-cuda-mps-control");
	else if (m->daemon && m->owner != getuid() && hes_device_is_exclusive(d, i))
		add_missing(l, HES_CAPABILITY_MPS,
			    "let its owner end it: echo quit | nvidia-cuda-mps-control",
			    "jobs cannot share the GPU: it is in exclusive mode, and an MPS daemon "
			    "of user %u (process %d) runs with %s",
			    (unsigned)m->owner, (int)m->daemon, m->pipe_dir);
	else if (m->daemon)
		add_missing(l, HES_CAPABILITY_CO_RUNNERS,
			    "let its owner end it before you measure: echo quit | "
			    "nvidia-cuda-mps-control",
			    "an MPS daemon of user %u (process %d) runs with %s: its clients may "
			    "be on the GPU, too",
			    (unsigned)m->owner, (int)m->daemon, m->pipe_dir);
}

/* DCGM's profiling fields are for data center and workstation GPUs from Volta on, and for all from
 * Blackwell on. */
static bool dcgm_helps(int compute, const char *name)
{
	return compute >= BLACKWELL ||
	       (compute >= VOLTA && !strstr(name, "GeForce") && !strstr(name, "TITAN") &&
		!strstr(name, "Orin") && !strstr(name, "Xavier"));
}

static void look_at_activity(const struct hes_devices *d, size_t i, const struct hes_device_info *b,
			     struct missing_capabilities *l)
{
	const enum hes_activity_from from = hes_activity_source(d, i);
	const int compute = compute_of(d, i);

	if (from >= HES_ACTIVITY_DCGM)
		return;
	if (hes_gpm_supported(d, i))
		add_missing(l, HES_CAPABILITY_ACTIVITY,
			    "run as root, load the driver with "
			    "NVreg_RestrictProfilingToAdminUsers=0, or start DCGM's host engine",
			    "how much of SMs and memory is used cannot be read: performance "
			    "counters are refused to this user");
	else if (!compute || dcgm_helps(compute, b->name))
		add_missing(
			l, HES_CAPABILITY_ACTIVITY,
			from == HES_ACTIVITY_UTILISATION
				? "install DCGM (datacenter-gpu-manager); without it profiles "
				  "contain only busy time"
				: "install DCGM (datacenter-gpu-manager); without it jobs cannot "
				  "be profiled",
			"how much of SMs and memory is used cannot be read: the GPU has no "
			"GPM, and DCGM is not installed");
	else
		add_missing(l, HES_CAPABILITY_ACTIVITY,
			    from == HES_ACTIVITY_UTILISATION
				    ? "nothing: profiles contain only busy time"
				    : "nothing: the GPU does not report busy time, either, so jobs "
				      "cannot be profiled",
			    "how much of SMs and memory is used cannot be read: NVIDIA gives no "
			    "counters of this kind of GPU");
}

long hes_capabilities_missing(const struct hes_devices *d, size_t i,
			      const struct hes_mps_status *mps,
			      struct hes_missing_capability out[HES_CAPABILITIES],
			      struct hes_err *err)
{
	struct missing_capabilities l = { .v = out };
	struct hes_device_info b;
	int rc = hes_device_info(d, i, &b, err);

	if (rc)
		return rc;
	look_at_settings(d, i, &b, &l);
	look_at_modes(d, i, &l);
	look_at_mps(d, i, mps, &l);
	look_at_sensors(&b, &l);
	look_at_activity(d, i, &b, &l);
	return l.n;
}

/* Search the file @name in the folders of PATH. */
static bool on_path(const char *path, const char *name, bool *executable)
{
	bool found = false;

	*executable = false;
	while (path && *path && !*executable) {
		size_t n = strcspn(path, ":");
		char file[4096];

		if (snprintf(file, sizeof(file), "%.*s/%s", (int)n, path, name) <
		    (int)sizeof(file)) {
			found |= access(file, F_OK) == 0;
			*executable = access(file, X_OK) == 0;
		}
		path += n + (path[n] == ':');
	}
	return found;
}

/* The daemon of a pipe directory writes its pid there. */
static void find_daemon(struct hes_mps_status *o)
{
	char path[HES_MPS_PATH_MAX + 64];
	struct stat st;
	FILE *f;
	int pid;

	snprintf(path, sizeof(path), "%s/nvidia-cuda-mps-control.pid", o->pipe_dir);
	f = fopen(path, "re");
	if (!f)
		return;
	if (fscanf(f, "%d", &pid) == 1 && pid > 0) {
		snprintf(path, sizeof(path), "/proc/%d", pid);
		if (!stat(path, &st)) {
			o->daemon = pid;
			o->owner = st.st_uid;
		}
	}
	fclose(f);
}

void hes_mps_find(const char *path, const char *pipe_dir, struct hes_mps_status *out)
{
	struct hes_mps_status o = { .found = false };

	o.found = on_path(path, "nvidia-cuda-mps-control", &o.may_run);
	snprintf(o.pipe_dir, sizeof(o.pipe_dir), "%s",
		 pipe_dir && *pipe_dir ? pipe_dir : MPS_PIPE_DIR);
	find_daemon(&o);
	*out = o;
}

const char *hes_capability_name(enum hes_capability k)
{
	static const char *const names[HES_CAPABILITIES] = {
		[HES_CAPABILITY_LOCK_CLOCK] = "lock_clock",
		[HES_CAPABILITY_LIMIT_POWER] = "limit_power",
		[HES_CAPABILITY_MPS] = "mps",
		[HES_CAPABILITY_COMPUTE_MODE] = "compute_mode",
		[HES_CAPABILITY_TURNS] = "turns",
		[HES_CAPABILITY_CO_RUNNERS] = "co_runners",
		[HES_CAPABILITY_PERSISTENCE] = "persistence",
		[HES_CAPABILITY_READ_POWER] = "read_power",
		[HES_CAPABILITY_READ_ENERGY] = "read_energy",
		[HES_CAPABILITY_READ_CLOCK] = "read_clock",
		[HES_CAPABILITY_READ_REASONS] = "read_reasons",
		[HES_CAPABILITY_ACTIVITY] = "activity",
	};

	return names[k];
}
