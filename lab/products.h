/*
 * products.h - what a driver reports of a GPU type and its row of the catalogue does not contain.
 */
#ifndef VGPU_PRODUCTS_H
#define VGPU_PRODUCTS_H

#include "heshare/gpu_type.h"

struct vgpu_product {
	const char *name;      /* the driver's; of the row */
	int major, minor;      /* compute capability */
	unsigned architecture; /* NVML's number */
	unsigned cores_per_sm;
	unsigned bus_bits; /* of the memory: with its clock it gives the bandwidth */
	unsigned memory_mhz;
	unsigned pcie_gen;
	unsigned min_limit_mw; /* lowest power limit */
	bool mig;              /* can be split into MIG instances */
	double refresh_s;      /* of power and energy readings */
	double average_s;      /* window of a power reading; 0: the refresh */
};

/** Values that follow from the row of a type. Its strings are the row's. */
struct vgpu_product vgpu_product(const struct hes_gpu_type *g);

#endif
