/*
 * nvml_processes.c - libnvidia-ml's stand-in: who uses a board, and error events.
 *
 * As with a real driver the clients of MPS stand behind their server:
 * the list of compute processes has the server with all their memory, the list of
 * MPS processes has the clients.
 */
#include <stdlib.h>
#include <string.h>

#include "nvml_stand_in.h"

#define EXPORT __attribute__((visibility("default")))
#define EVENT_POLL_S 0.02  /* virtual */

struct user {
	unsigned           pid;
	unsigned long long memory;
	double             sm, dram;
};

/* @mps: the clients; else processes without MPS, and servers. @return how many */
static unsigned users_of(const struct vgpu_board *b, bool mps, struct user *out)
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

static int list(struct vgpu_board *b, bool mps, unsigned *count, void *out, size_t stride)
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
		struct nvml_process p = { users[i].pid, users[i].memory, 0xffffffff, 0xffffffff };

		memcpy((char *)out + i * stride, &p, stride);
	}
	return nvml_give(b, 0);
}

EXPORT int nvmlDeviceGetComputeRunningProcesses(struct vgpu_board *b, unsigned *count, void *out)
{
	return list(b, false, count, out, sizeof(struct nvml_process_v1));
}

EXPORT int nvmlDeviceGetComputeRunningProcesses_v2(struct vgpu_board *b, unsigned *count, void *out)
{
	return list(b, false, count, out, sizeof(struct nvml_process));
}

EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(struct vgpu_board *b, unsigned *count, void *out)
{
	return list(b, false, count, out, sizeof(struct nvml_process));
}

EXPORT int nvmlDeviceGetMPSComputeRunningProcesses(struct vgpu_board *b, unsigned *count, void *out)
{
	return list(b, true, count, out, sizeof(struct nvml_process_v1));
}

EXPORT int nvmlDeviceGetMPSComputeRunningProcesses_v2(struct vgpu_board *b, unsigned *count, void *out)
{
	return list(b, true, count, out, sizeof(struct nvml_process));
}

EXPORT int nvmlDeviceGetMPSComputeRunningProcesses_v3(struct vgpu_board *b, unsigned *count, void *out)
{
	return list(b, true, count, out, sizeof(struct nvml_process));
}

/* Nothing is drawn on a board of the lab. */
static int none(struct vgpu_board *b, unsigned *count)
{
	int rc = nvml_take(b, count);

	if (rc)
		return rc;
	*count = 0;
	return nvml_give(b, 0);
}

EXPORT int nvmlDeviceGetGraphicsRunningProcesses(struct vgpu_board *b, unsigned *count, void *out)
{
	(void)out;
	return none(b, count);
}

EXPORT int nvmlDeviceGetGraphicsRunningProcesses_v2(struct vgpu_board *b, unsigned *count, void *out)
{
	(void)out;
	return none(b, count);
}

EXPORT int nvmlDeviceGetGraphicsRunningProcesses_v3(struct vgpu_board *b, unsigned *count, void *out)
{
	(void)out;
	return none(b, count);
}

EXPORT int nvmlDeviceGetProcessUtilization(struct vgpu_board *b, struct nvml_process_util *out, unsigned *count,
					   unsigned long long last_seen_us)
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
		out[i] = (struct nvml_process_util){ .pid = users[i].pid, .time_us = now_us,
						     .sm = (unsigned)(users[i].sm * 100 + 0.5),
						     .memory = (unsigned)(users[i].dram * 100 + 0.5) };
	return nvml_give(b, 0);
}

/* Events: a set remembers how many errors each board had when it was last told. */
struct event_set {
	bool     wanted[VGPU_MAX_GPUS];
	uint64_t told[VGPU_MAX_GPUS];
};

EXPORT int nvmlEventSetCreate(struct event_set **out)
{
	if (!nvml_lab() || !out)
		return out ? NVML_UNINITIALIZED : NVML_INVALID_ARGUMENT;
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : 20; /* no memory */
}

EXPORT int nvmlEventSetFree(struct event_set *set)
{
	free(set);
	return 0;
}

EXPORT int nvmlDeviceGetSupportedEventTypes(struct vgpu_board *b, unsigned long long *out)
{
	int rc = nvml_take(b, out);

	if (rc)
		return rc;
	*out = NVML_EVENT_XID;
	return nvml_give(b, 0);
}

EXPORT int nvmlDeviceRegisterEvents(struct vgpu_board *b, unsigned long long types, struct event_set *set)
{
	int rc = nvml_take(b, set);

	if (rc)
		return rc;
	if (types & ~NVML_EVENT_XID)
		return nvml_give(b, NVML_NOT_SUPPORTED);
	set->wanted[b - nvml_lab()->boards] = true;
	set->told[b - nvml_lab()->boards] = b->xid_count;
	return nvml_give(b, 0);
}

/* @return whether one of the boards had an error that the set was not told of */
static bool next_event(struct vgpu_lab *lab, struct event_set *set, struct nvml_event *out)
{
	for (uint32_t i = 0; i < lab->n_gpus; i++) {
		struct vgpu_board *b = &lab->boards[i];
		bool news;

		if (!set->wanted[i])
			continue;
		vgpu_lock(lab, b);
		news = b->xid_count > set->told[i];
		if (news) {
			set->told[i] = b->xid_count;
			*out = (struct nvml_event){ .device = b, .type = NVML_EVENT_XID, .data = b->xid,
						    .gpu_instance = 0xffffffff, .compute_instance = 0xffffffff };
		}
		vgpu_unlock(b);
		if (news)
			return true;
	}
	return false;
}

EXPORT int nvmlEventSetWait_v2(struct event_set *set, struct nvml_event *out, unsigned timeout_ms)
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
		vgpu_sleep(lab, &lab->boards[0], lab->boards[0].changed, now + EVENT_POLL_S * lab->speed);
	}
	return 0;
}

EXPORT int nvmlEventSetWait(struct event_set *set, struct nvml_event *out, unsigned timeout_ms)
{
	return nvmlEventSetWait_v2(set, out, timeout_ms);
}
