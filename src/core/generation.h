/*
 * generation.h - what the SMs of a generation have, by compute capability. NVIDIA's documents, not
 * measurements.
 */
#ifndef HES_CORE_GENERATION_H
#define HES_CORE_GENERATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hes_generation {
	uint32_t compute;       /* capability x 10; the generation lasts until the next row */
	uint32_t cores_per_sm;  /* FP32 cores, two flop a cycle each */
	bool shared_int;        /* integer instructions take FP32 cores, so that fewer of these are
				   sustained */
	bool hbm;               /* stacked memory on its data centre GPUs; else GDDR or LPDDR */
	uint32_t tf32, fp16;    /* flop a cycle and SM of the tensor cores, dense, FP32 sums; 0: no
				   tensor cores for it */
	uint32_t l2_kib_per_sm; /* of a typical GPU of the generation */
};

/** @param compute  capability x 10; 0: unknown, then as the A100. @return never NULL */
const struct hes_generation *hes_generation_of(uint32_t compute);

#endif
