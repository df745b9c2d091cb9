/*
 * generation.c - the table of generations; see generation.h.
 *
 * Sources: CUDA C++ Programming Guide, "Arithmetic instructions" and the tables of compute
 * capabilities (cores); NVIDIA's architecture white papers (tensor cores, L2; which generations
 * have integer units of their own).
 */
#include "core/generation.h"

#define A100 80

static const struct hes_generation generations[] = {
	{ 30, 192, true, false, 0, 0, 64 },
	{ 50, 128, true, false, 0, 0, 128 },
	{ 60, 64, true, true, 0, 0, 73 }, /* P100 */
	{ 61, 128, true, false, 0, 0, 102 },
	{ 62, 128, true, false, 0, 0, 256 },        /* Jetson TX2 */
	{ 70, 64, false, true, 0, 1024, 77 },       /* V100 */
	{ 75, 64, false, false, 0, 1024, 85 },      /* T4, RTX 2080 Ti */
	{ 80, 64, false, true, 1024, 2048, 379 },   /* A100, A30 */
	{ 86, 128, true, false, 512, 1024, 75 },    /* A10, A40, RTX 3090 */
	{ 87, 128, true, false, 512, 1024, 256 },   /* Jetson Orin */
	{ 89, 128, true, false, 512, 1024, 600 },   /* L4, L40S, RTX 4090 */
	{ 90, 128, false, true, 2048, 4096, 388 },  /* H100, H200 */
	{ 100, 128, false, true, 4096, 8192, 872 }, /* B200 */
	{ 120, 128, true, false, 512, 1024, 578 },  /* RTX 5090 */
};

const struct hes_generation *hes_generation_of(uint32_t compute)
{
	const struct hes_generation *g = generations;

	for (size_t i = 1; i < sizeof(generations) / sizeof(generations[0]); i++)
		if (generations[i].compute <= (compute ? compute : A100))
			g = &generations[i];
	return g;
}
