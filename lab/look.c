/*
 * look.c - vgpu-look: print the real settings of the lab's GPUs and the GPU time of each process,
 * whatever faults hide.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

static void print_gpu(struct vgpu_lab *lab, uint32_t i)
{
	struct lab_gpu *b = &lab->gpus[i];
	uint32_t min, max, limit;
	unsigned contexts = 0;

	vgpu_lock(lab, b);
	min = b->lock_min_mhz;
	max = b->lock_max_mhz;
	limit = b->power_limit_mw;
	for (size_t k = 0; k < b->slots; k++)
		contexts += b->clients[k].pid != 0;
	vgpu_unlock(b);
	printf("%-4u %-16s ", i, b->type.name);
	if (max)
		printf("%5u-%-5u ", min, max);
	else
		printf("%-11s ", "-");
	if (limit != hes_gpu_type_default_limit_mw(&b->type))
		printf("%7.1f ", limit * 1e-3);
	else
		printf("%7s ", "-");
	printf("%8u\n", contexts);
}

/* GPU seconds of a process, in open and closed contexts. */
static void print_process(const struct lab_gpu *b, uint32_t i, pid_t pid, uint64_t started)
{
	double gpu_s = 0;

	for (size_t k = 0; k < b->slots; k++)
		if (b->clients[k].pid == pid && b->clients[k].started == started)
			gpu_s += b->clients[k].gpu_s;
	for (size_t k = 0; k < VGPU_ACCOUNTS; k++)
		if (b->accounts[k].pid == pid && b->accounts[k].started == started)
			gpu_s += b->accounts[k].gpu_s;
	printf("%-4u %-8d %14.6f\n", i, (int)pid, gpu_s);
}

/* Whether context @k is the first of its process, and no closed context of it is listed. */
static bool is_first(const struct lab_gpu *b, size_t k)
{
	for (size_t i = 0; i < k; i++)
		if (b->clients[i].pid == b->clients[k].pid &&
		    b->clients[i].started == b->clients[k].started)
			return false;
	for (size_t i = 0; i < VGPU_ACCOUNTS; i++)
		if (b->accounts[i].pid == b->clients[k].pid &&
		    b->accounts[i].started == b->clients[k].started)
			return false;
	return true;
}

static void print_clients(struct vgpu_lab *lab, uint32_t i)
{
	struct lab_gpu *b = &lab->gpus[i], *now = malloc(sizeof(*now));

	if (!now)
		return;
	vgpu_lock(lab, b);
	memcpy(now, b, sizeof(*now));
	vgpu_unlock(b);
	printf("%-4u %-8s %14.6f\n", i, "all", now->held_s);
	for (size_t k = 0; k < VGPU_ACCOUNTS; k++)
		if (now->accounts[k].pid)
			print_process(now, i, now->accounts[k].pid, now->accounts[k].started);
	for (size_t k = 0; k < now->slots; k++)
		if (now->clients[k].pid && is_first(now, k))
			print_process(now, i, now->clients[k].pid, now->clients[k].started);
	free(now);
}

int main(int argc, char **argv)
{
	struct vgpu_lab *lab = vgpu_here();
	bool clients = argc == 2 && strcmp(argv[1], "--clients") == 0;

	if (argc > 1 && !clients) {
		FILE *f = strcmp(argv[1], "--help") == 0 ? stdout : stderr;

		fputs("usage: vgpu-look [--clients]\n"
		      "Print for each GPU its locked clocks in MHz and its power limit in W (-: "
		      "default), and\n"
		      "the number of open contexts.\n"
		      "  --clients   print instead the GPU seconds of each process, and their sum "
		      "(all)\n",
		      f);
		return f == stdout ? 0 : 2;
	}
	if (!lab) {
		fputs("vgpu-look: no lab here; run it as lab -- COMMAND\n", stderr);
		return 1;
	}
	if (clients)
		printf("%-4s %-8s %14s\n", "gpu", "pid", "gpu_s");
	else
		printf("%-4s %-16s %-11s %7s %8s\n", "gpu", "type", "lock_mhz", "limit_w",
		       "contexts");
	for (uint32_t i = 0; i < lab->n_gpus; i++)
		(clients ? print_clients : print_gpu)(lab, i);
	return 0;
}
