/*
 * look.c - vgpu-look: how the boards of the lab are set, as they know it themselves and no driver tells.
 */
#include <stdio.h>
#include <string.h>

#include "state.h"

static void print_board(struct vgpu_lab *lab, uint32_t i)
{
	struct vgpu_board *b = &lab->boards[i];
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
	if (limit != b->type.power_limit_mw)
		printf("%7.1f ", limit * 1e-3);
	else
		printf("%7s ", "-");
	printf("%8u\n", contexts);
}

int main(int argc, char **argv)
{
	struct vgpu_lab *lab = vgpu_here();

	if (argc > 1) {
		FILE *f = strcmp(argv[1], "--help") == 0 ? stdout : stderr;

		fputs("usage: vgpu-look\n"
		      "Print a line a board: its locked clocks, MHz, and its power limit, W (-: as it is by\n"
		      "default), and how many contexts are open on it.\n", f);
		return f == stdout ? 0 : 2;
	}
	if (!lab) {
		fputs("vgpu-look: there is no lab here; run it inside lab -- COMMAND\n", stderr);
		return 1;
	}
	printf("%-4s %-16s %-11s %7s %8s\n", "gpu", "type", "lock_mhz", "limit_w", "contexts");
	for (uint32_t i = 0; i < lab->n_gpus; i++)
		print_board(lab, i);
	return 0;
}
