/*
 * keeper.c - watch the processes that have contexts, through pidfds; see keeper.h.
 *
 * A process is watched from the first look after its context was opened; its
 * death then shows at once, and not at the next look.
 */
#include "keeper.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "virtual_board.h"

int vgpu_keeper_init(struct vgpu_keeper *k, struct vgpu_lab *lab, int signals)
{
	/* Contexts and as many servers, and the signals. */
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

static void watch(struct vgpu_keeper *k, pid_t pid)
{
	int fd;

	for (size_t i = 1; i < k->n; i++)
		if (k->pids[i] == pid)
			return;
	if (!pid || k->n == k->capacity)
		return;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return; /* gone already: vgpu_reap finds out */
	k->fds[k->n] = (struct pollfd){ .fd = fd, .events = POLLIN };
	k->pids[k->n++] = pid;
}

static void forget(struct vgpu_keeper *k, size_t i)
{
	close(k->fds[i].fd);
	k->n--;
	k->fds[i] = k->fds[k->n];
	k->pids[i] = k->pids[k->n];
}

/* Contexts are read without their boards' locks: one that is just being opened has a join to come. */
static void watch_all(struct vgpu_keeper *k)
{
	for (uint32_t i = 0; i < k->lab->n_gpus; i++) {
		const struct vgpu_board *b = &k->lab->boards[i];
		uint32_t joins = b->joins;

		if (joins == k->seen[i])
			continue;
		k->seen[i] = joins;
		for (size_t j = 0; j < b->slots; j++) {
			const struct vgpu_client *c = &b->clients[j];

			if (c->pid) {
				watch(k, c->pid);
				watch(k, c->server);
			}
		}
	}
}

void vgpu_reap(struct vgpu_lab *lab)
{
	for (uint32_t i = 0; i < lab->n_gpus; i++) {
		struct vgpu_board *b = &lab->boards[i];

		vgpu_lock(lab, b);
		for (size_t j = 0; j < b->slots; j++) {
			struct vgpu_client *c = &b->clients[j];

			if (c->pid && vgpu_process_started(c->pid) != c->started)
				vgpu_board_leave(b, c);
			else if (c->pid && c->server && !c->error && !vgpu_process_started(c->server))
				vgpu_board_fail(b, c->server, 0, VGPU_CUDA_MPS_RPC_FAILURE);
		}
		vgpu_unlock(b);
	}
}

bool vgpu_keeper_wait(struct vgpu_keeper *k, int timeout_ms)
{
	bool gone = false;

	watch_all(k);
	if (poll(k->fds, k->n, timeout_ms) < 0)
		return false;
	for (size_t i = k->n; --i > 0; ) {
		if (k->fds[i].revents) {
			forget(k, i);
			gone = true;
		}
	}
	if (gone)
		vgpu_reap(k->lab);
	return k->fds[0].revents != 0;
}
