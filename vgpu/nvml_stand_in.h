/*
 * nvml_stand_in.h - inside of the stand-in for libnvidia-ml: taking and giving back a board.
 *
 * A device handle is the address of a board in this process's map of the
 * lab. Every exported function that looks at a board is one nvml_take, the
 * look, one nvml_give.
 */
#ifndef VGPU_NVML_STAND_IN_H
#define VGPU_NVML_STAND_IN_H

#include "virtual_board.h"
#include "gpu/nvml_abi.h"
#include "products.h"

/** @return 0 with the board locked and up to date; NVML's code with it free */
int nvml_take(struct vgpu_board *b, const void *out);
/** Give it back. @return @code */
int nvml_give(struct vgpu_board *b, int code);
/** The same for setters: refused where nobody may set anything. */
int nvml_take_to_set(struct vgpu_board *b);

/** Whether nvmlInit was called more often than nvmlShutdown. */
struct vgpu_lab *nvml_lab(void);

/** Copy a text into a caller's buffer. @return NVML's code */
int nvml_text(char *out, unsigned length, const char *text);

/** The highest clock of the board's list that is not above @mhz; the lowest one if all are. */
uint32_t nvml_snap(const struct hes_gpu_type *g, uint32_t mhz);

#endif
