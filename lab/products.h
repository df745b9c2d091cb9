/*
 * products.h - what a driver reports of a GPU type and the catalogue does not contain.
 */
#ifndef VGPU_PRODUCTS_H
#define VGPU_PRODUCTS_H

#include <stdbool.h>

struct vgpu_product {
	const char *type;          /* in the catalogue */
	const char *name;          /* the driver's */
	int         major, minor;  /* compute capability */
	unsigned    architecture;  /* NVML's number */
	unsigned    cores_per_sm;
	unsigned    pci_id;
	unsigned    memory_mhz;
	unsigned    pcie_gen;
	double      refresh_s;     /* of power and energy readings */
	double      average_s;     /* window of a power reading; 0: the refresh */
};

/** @return the product of a GPU type; types that are not in the table get default values */
const struct vgpu_product *vgpu_product(const char *type);

#endif
