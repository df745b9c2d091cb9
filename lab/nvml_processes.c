/*
 * nvml_processes.c - libnvidia-ml's stand-in: which processes use a GPU, and error events.
 *
 * As with a real driver, an MPS server stands for its clients: the list of compute processes names
 * the server with the memory of all its clients, and the list of MPS processes names the clients.
 */
#include <stdlib.h>
#include <string.h>

#include "nvml_stand_in.h"

#define EVENT_POLL_S 0.02 /* virtual */
#define NO_MEMORY    20   /* NVML's code */
#define NO_INSTANCE  0xffffffff

struct user {
	unsigned pid;
	unsigned long long memory;
	double sm, dram;
};

/* @param mps  MPS clients; else processes without MPS, and servers. @return how many */
static unsigned users_of(const struct lab_gpu *b, bool mps, struct user *out)
{
	unsigned n = 0;

	for (size_t i = 0; i < b->slots; i++) {
		const struct vgpu_client *c = &b->clients[i];
		unsigned pid = (unsigned)(c->server && !mps ? c->server : c->pid), at = 0;

		if (!c->pid || (mps && !c->server))
			continue;
		while (at < n && out[at].pid != pid)
			at++;
		if (at == n)
			out[n++] = (struct user){ .pid = pid };
		out[at].memory += c->memory;
		out[at].sm += c->sm_util;
		out[at].dram += c->dram_util;
	}
	return n;
}

static int list_users(struct lab_gpu *b, bool mps, unsigned *count, void *out, size_t stride)
{
	struct user users[VGPU_MAX_CLIENTS];
	int rc = nvml_take(b, count);
	unsigned n, room;

	if (rc)
		return rc;
	n = users_of(b, mps, users);
	room = out ? *count : 0;
	*count = n;
	if (n > room)
		return nvml_give(b, NVML_INSUFFICIENT_SIZE);
	for (unsigned i = 0; i < n; i++) {
		struct nvml_process p = { users[i].pid, users[i].memory, NO_INSTANCE, NO_INSTANCE };

		memcpy((char *)out + i * stride, &p, stride);
	}
	return nvml_give(b, 0);
}

#define LIST(name, mps, row)                                           \
	int NVML(name)(struct lab_gpu * b, unsigned *count, void *out) \
	{                                                              \
		return list_users(b, mps, count, out, sizeof(row));    \
	}

LIST(nvmlDeviceGetComputeRunningProcesses, false, struct nvml_process_v1)
LIST(nvmlDeviceGetComputeRunningProcesses_v2, false, struct nvml_process)
NVML_ALIAS(nvmlDeviceGetComputeRunningProcesses_v3, nvmlDeviceGetComputeRunningProcesses_v2)
LIST(nvmlDeviceGetMPSComputeRunningProcesses, true, struct nvml_process_v1)
LIST(nvmlDeviceGetMPSComputeRunningProcesses_v2, true, struct nvml_process)
NVML_ALIAS(nvmlDeviceGetMPSComputeRunningProcesses_v3, nvmlDeviceGetMPSComputeRunningProcesses_v2)

/* The lab has no graphics. */
int NVML(nvmlDeviceGetGraphicsRunningProcesses)(struct lab_gpu *b, unsigned *count, void *out)
{
	int rc = nvml_take(b, count);

	(void)out;
	if (rc)
		return rc;
	*count = 0;
	return nvml_give(b, 0);
}

NVML_ALIAS(nvmlDeviceGetGraphicsRunningProcesses_v2, nvmlDeviceGetGraphicsRunningProcesses)
NVML_ALIAS(nvmlDeviceGetGraphicsRunningProcesses_v3, nvmlDeviceGetGraphicsRunningProcesses)

int NVML(nvmlDeviceGetProcessUtilization)(struct lab_gpu *b, struct nvml_process_util *out,
					  unsigned *count, unsigned long long last_seen_us)
{
	struct user users[VGPU_MAX_CLIENTS];
	int rc = nvml_take(b, count);
	unsigned long long now_us;
	unsigned n, room;

	if (rc)
		return rc;
	n = users_of(b, false, users);
	room = out ? *count : 0;
	*count = n;
	now_us = vgpu_wall_us(vgpu_here(), b->now_s);
	if (n > room || !out)
		return nvml_give(b, NVML_INSUFFICIENT_SIZE);
	if (!n || now_us <= last_seen_us)
		return nvml_give(b, NVML_NOT_FOUND);
	for (unsigned i = 0; i < n; i++)
		out[i] = (struct nvml_process_util){ .pid = users[i].pid,
						     .time_us = now_us,
						     .sm = (unsigned)(users[i].sm * 100 + 0.5),
						     .memory = (unsigned)(users[i].dram * 100 +
									  0.5) };
	return nvml_give(b, 0);
}

/* Per GPU: whether events are wanted, and the number of errors that were already reported. */
struct event_set {
	bool wanted[VGPU_MAX_GPUS];
	uint64_t reported[VGPU_MAX_GPUS];
};

int NVML(nvmlEventSetCreate)(struct event_set **out)
{
	if (!nvml_lab() || !out)
		return out ? NVML_UNINITIALIZED : NVML_INVALID_ARGUMENT;
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : NO_MEMORY;
}

int NVML(nvmlEventSetFree)(struct event_set *set)
{
	free(set);
	return 0;
}

NVML_GETTER(nvmlDeviceGetSupportedEventTypes, unsigned long long, NVML_EVENT_XID)

int NVML(nvmlDeviceRegisterEvents)(struct lab_gpu *b, unsigned long long types,
				   struct event_set *set)
{
	int rc = nvml_take(b, set);

	if (rc)
		return rc;
	if (types & ~NVML_EVENT_XID)
		return nvml_give(b, NVML_NOT_SUPPORTED);
	set->wanted[b - nvml_lab()->gpus] = true;
	set->reported[b - nvml_lab()->gpus] = b->xid_count;
	return nvml_give(b, 0);
}

/* @return whether one of the GPUs had an error that was not reported yet */
static bool next_event(struct vgpu_lab *lab, struct event_set *set, struct nvml_event *out)
{
	for (uint32_t i = 0; i < lab->n_gpus; i++) {
		struct lab_gpu *b = &lab->gpus[i];
		bool found;

		if (!set->wanted[i])
			continue;
		vgpu_lock(lab, b);
		found = b->xid_count > set->reported[i];
		if (found) {
			set->reported[i] = b->xid_count;
			*out = (struct nvml_event){ .device = b,
						    .type = NVML_EVENT_XID,
						    .data = b->xid,
						    .gpu_instance = NO_INSTANCE,
						    .compute_instance = NO_INSTANCE };
		}
		vgpu_unlock(b);
		if (found)
			return true;
	}
	return false;
}

int NVML(nvmlEventSetWait_v2)(struct event_set *set, struct nvml_event *out, unsigned timeout_ms)
{
	struct vgpu_lab *lab = nvml_lab();
	double until;

	if (!lab || !set || !out)
		return lab ? NVML_INVALID_ARGUMENT : NVML_UNINITIALIZED;
	until = vgpu_now(lab) + timeout_ms * 1e-3;
	while (!next_event(lab, set, out)) {
		double now = vgpu_now(lab);

		if (now >= until)
			return NVML_TIMEOUT;
		vgpu_sleep(lab, &lab->gpus[0], lab->gpus[0].changed,
			   now + EVENT_POLL_S * lab->speed);
	}
	return 0;
}

NVML_ALIAS(nvmlEventSetWait, nvmlEventSetWait_v2)
