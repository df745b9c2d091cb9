/*
 * gpus_order.h - CUDA's numbers of the GPUs of this machine.
 *
 * CUDA counts the fastest GPU first, unless CUDA_DEVICE_ORDER is PCI_BUS_ID; NVML counts by PCI
 * address. A process of its own asks CUDA, so that heshare never holds a CUDA context.
 */
#ifndef HES_APP_GPUS_ORDER_H
#define HES_APP_GPUS_ORDER_H

#include <stddef.h>

#include "heshare/err.h"

#define CUDA_ORDER_UUID_MAX 44

/**
 * Start this program as `gpus --cuda-order` and read its answer.
 * @param out  UUIDs in CUDA's order; free()
 * @return 0; -EIO CUDA does not say; -errno
 */
int cuda_order_ask(char (**out)[CUDA_ORDER_UUID_MAX], size_t *n, struct hes_err *err);

#endif
