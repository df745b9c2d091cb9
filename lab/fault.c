/*
 * fault.c - vgpu-fault: inject faults into the lab that this process runs in.
 */
#include <stdio.h>
#include <string.h>

#include "fault_spec.h"

static void help(FILE *f)
{
	const char *what, *name;

	fputs("usage: vgpu-fault GPU:KIND[:SECONDS]...\n"
	      "Inject a fault into a GPU (an index, or all) of this lab, for SECONDS of virtual "
	      "time\n"
	      "or for good:\n",
	      f);
	for (size_t i = 0; (name = vgpu_fault_describe(i, &what)); i++)
		fprintf(f, "  %-20s %s\n", name, what);
}

int main(int argc, char **argv)
{
	struct vgpu_lab *lab = vgpu_here();
	struct hes_err err;

	if (argc > 1 && strcmp(argv[1], "--help") == 0) {
		help(stdout);
		return 0;
	}
	if (argc < 2) {
		help(stderr);
		return 2;
	}
	if (!lab) {
		fputs("vgpu-fault: no lab here; run it as lab -- COMMAND\n", stderr);
		return 1;
	}
	for (int i = 1; i < argc; i++) {
		if (vgpu_fault_inject(lab, argv[i], &err)) {
			fprintf(stderr, "vgpu-fault: %s\n", err.msg);
			return 2;
		}
	}
	return 0;
}
