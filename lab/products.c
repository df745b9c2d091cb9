/*
 * products.c - the table of products; see products.h.
 *
 * Sensors: GPUs up to GA100 report instant power, later ones the mean of a second.
 */
#include "products.h"

#include <string.h>

static const struct vgpu_product products[] = {
	{ "T4",           "Tesla T4",                7, 5, 6,  64, 0x1eb810de, 5001, 3, 0.10, 0 },
	{ "V100-PCIe",    "Tesla V100-PCIE-16GB",    7, 0, 5,  64, 0x1db410de, 877,  3, 0.02, 0 },
	{ "V100-SXM2-32", "Tesla V100-SXM2-32GB",    7, 0, 5,  64, 0x1db510de, 877,  3, 0.02, 0 },
	{ "A100-PCIe-40", "NVIDIA A100-PCIE-40GB",   8, 0, 7,  64, 0x20f110de, 1215, 4, 0.10, 0 },
	{ "A100-SXM-80",  "NVIDIA A100-SXM4-80GB",   8, 0, 7,  64, 0x20b210de, 1593, 4, 0.10, 0 },
	{ "H100-SXM",     "NVIDIA H100 80GB HBM3",   9, 0, 9, 128, 0x233010de, 2619, 5, 0.10, 1 },
	{ "H200",         "NVIDIA H200",             9, 0, 9, 128, 0x233510de, 3201, 5, 0.10, 1 },
	{ "L4",           "NVIDIA L4",               8, 9, 8, 128, 0x27b810de, 6251, 4, 0.10, 1 },
	{ "A10G",         "NVIDIA A10G",             8, 6, 7, 128, 0x223710de, 6251, 4, 0.10, 1 },
	{ "Jetson-TX2",   "NVIDIA Tegra X2",         6, 2, 4, 128, 0x000010de, 1866, 2, 0.10, 0 },
	{ "",             "NVIDIA Graphics Device",  8, 0, 7,  64, 0x000010de, 1000, 4, 0.10, 0 },
};

const struct vgpu_product *vgpu_product(const char *type)
{
	const struct vgpu_product *p = products;

	while (*p->type && strcmp(p->type, type) != 0)
		p++;
	return p;
}
