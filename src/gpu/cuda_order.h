/*
 * cuda_order.h - GPUs in the order in which CUDA numbers them.
 */
#ifndef HES_GPU_CUDA_ORDER_H
#define HES_GPU_CUDA_ORDER_H

#include <stdio.h>

#include "heshare/err.h"

/**
 * Print the UUIDs of the GPUs in CUDA's order, one a line. Loads and starts the CUDA driver, which
 * stays: call it in a process of its own.
 * @return 0; -ENODEV there is no driver or no GPU; -EIO the driver refuses
 */
int hes_cuda_order_print(FILE *f, struct hes_err *err);

#endif
