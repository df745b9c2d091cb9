/*
 * keeper.c - watch the processes that have contexts, through pidfds; see keeper.h.
 *
 * The keeper looks for new processes at intervals; the end of a watched process is noticed at once.
 */
#include "keeper.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "virtual_gpu.h"

int vgpu_keeper_init(struct vgpu_keeper *k, struct vgpu_lab *lab, int signals)
{
	/* Contexts, as many servers, and the signals. */
	size_t capacity = 2 * (size_t)lab->n_gpus * VGPU_MAX_CLIENTS + 1;

	*k = (struct vgpu_keeper){ .lab = lab, .signals = signals, .capacity = capacity, .n = 1 };
	k->fds = calloc(capacity, sizeof(*k->fds));
	k->pids = calloc(capacity, sizeof(*k->pids));
	if (!k->fds || !k->pids) {
		vgpu_keeper_finish(k);
		return -ENOMEM;
	}
	k->fds[0] = (struct pollfd){ .fd = signals, .events = POLLIN };
	return 0;
}

void vgpu_keeper_finish(struct vgpu_keeper *k)
{
	for (size_t i = 1; i < k->n; i++)
		close(k->fds[i].fd);
	free(k->fds);
	free(k->pids);
	*k = (struct vgpu_keeper){ 0 };
}

/* @return false: it has ended already. A process without a free pidfd is noticed when another one
 * ends. */
static bool keeper_watch(struct vgpu_keeper *k, pid_t pid)
{
	int fd;

	for (size_t i = 1; i < k->n; i++)
		if (k->pids[i] == pid)
			return true;
	if (!pid || k->n == k->capacity)
		return true;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return errno != ESRCH;
	k->fds[k->n] = (struct pollfd){ .fd = fd, .events = POLLIN };
	k->pids[k->n++] = pid;
	return true;
}

static void keeper_forget(struct vgpu_keeper *k, size_t i)
{
	close(k->fds[i].fd);
	k->n--;
	k->fds[i] = k->fds[k->n];
	k->pids[i] = k->pids[k->n];
}

/* Watch the processes with new contexts, and their servers. @return whether one has ended already
 */
static bool watch_new(struct vgpu_keeper *k)
{
	bool gone = false;

	for (uint32_t i = 0; i < k->lab->n_gpus; i++) {
		struct lab_gpu *b = &k->lab->gpus[i];

		if (__atomic_load_n(&b->joins, __ATOMIC_RELAXED) == k->seen[i])
			continue;
		vgpu_lock(k->lab, b);
		k->seen[i] = b->joins;
		for (size_t j = 0; j < b->slots; j++) {
			const struct vgpu_client *c = &b->clients[j];

			if (!c->pid)
				continue;
			gone |= !keeper_watch(k, c->pid);
			gone |= !keeper_watch(k, c->server);
		}
		vgpu_unlock(b);
	}
	return gone;
}

void vgpu_reap(struct vgpu_lab *lab)
{
	for (uint32_t i = 0; i < lab->n_gpus; i++) {
		struct lab_gpu *b = &lab->gpus[i];

		vgpu_lock(lab, b);
		for (size_t j = 0; j < b->slots; j++) {
			struct vgpu_client *c = &b->clients[j];

			if (c->pid && vgpu_process_started(c->pid) != c->started)
				lab_gpu_leave(b, c);
			else if (c->pid && c->server && !c->error &&
				 !vgpu_process_started(c->server))
				lab_gpu_fail(b, c->server, 0, VGPU_CUDA_MPS_RPC_FAILURE);
		}
		vgpu_unlock(b);
	}
}

bool vgpu_keeper_wait(struct vgpu_keeper *k, int timeout_ms)
{
	bool gone = watch_new(k);

	if (poll(k->fds, k->n, gone ? 0 : timeout_ms) < 0)
		k->fds[0].revents = 0;
	for (size_t i = k->n; --i > 0;) {
		if (k->fds[i].revents) {
			keeper_forget(k, i);
			gone = true;
		}
	}
	if (gone)
		vgpu_reap(k->lab);
	return k->fds[0].revents != 0;
}
