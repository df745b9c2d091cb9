/*
 * products.c - a driver's values of a GPU type, from its row of the catalogue; see products.h.
 *
 * Sensors: GPUs up to GA100 report instant power, later ones the mean of a second.
 */
#include "products.h"

#include <math.h>
#include <string.h>

#include "core/generation.h"

#define GA100 80

static unsigned architecture_of(unsigned compute)
{
	static const struct {
		unsigned compute, number;
	} from[] = {
		{ 100, 10 }, { 90, 9 }, { 89, 8 }, { 80, 7 }, { 75, 6 },
		{ 70, 5 },   { 60, 4 }, { 50, 3 }, { 0, 2 },
	};
	size_t i = 0;

	while (compute < from[i].compute)
		i++;
	return from[i].number;
}

/* HBM is on the chips for computing, x.0, and has a wide bus. */
static unsigned bus_of(unsigned compute, unsigned gbs)
{
	if (compute % 10)
		return gbs < 150 ? 128 : gbs < 400 ? 256 : 384;
	return gbs < 1000 ? 4096 : gbs < 4000 ? 5120 : gbs < 6000 ? 6144 : 8192;
}

/* The lowest power limit that a GPU takes: "Min Power Limit" of nvidia-smi. */
static unsigned min_limit_mw(const struct hes_gpu_type *g)
{
	static const struct {
		const char *type; /* the beginning of its name */
		unsigned watts;
	} least[] = {
		{ "P100-PCIe", 125 }, { "P100-SXM2", 150 }, { "V100-PCIe", 100 },
		{ "V100-SXM2", 150 }, { "T4", 60 },         { "GeForce-RTX-2080-Ti", 100 },
		{ "A100-PCIe", 150 }, { "A100-SXM", 100 },  { "GeForce-RTX-4090", 150 },
		{ "L4", 40 },         { "L40", 100 },       { "H100", 200 },
		{ "H200", 200 },
	};
	unsigned mw = 100000;

	for (size_t i = 0; i < sizeof(least) / sizeof(least[0]); i++)
		if (strncmp(g->name, least[i].type, strlen(least[i].type)) == 0)
			mw = least[i].watts * 1000;
	return mw < g->power_limit_mw ? mw : g->power_limit_mw;
}

struct vgpu_product vgpu_product(const struct hes_gpu_type *g)
{
	unsigned compute = g->compute ? g->compute : GA100,
		 bus = bus_of(compute, g->memory_bandwidth_gbs);

	return (struct vgpu_product){
		.name = g->driver_names[0][0] ? g->driver_names[0] : g->name,
		.major = (int)compute / 10,
		.minor = (int)compute % 10,
		.architecture = architecture_of(compute),
		.cores_per_sm = hes_generation_of(compute)->cores_per_sm,
		.bus_bits = bus,
		.memory_mhz = (unsigned)lround(g->memory_bandwidth_gbs * 4e3 / bus),
		.pcie_gen = g->pcie_gbs > 40   ? 5
			    : g->pcie_gbs > 20 ? 4
					       : 3,
		.min_limit_mw = min_limit_mw(g),
		.mig = compute >= GA100 && compute % 10 == 0,
		.refresh_s = compute == 70 ? 0.02 : 0.1,
		.average_s = compute > GA100 ? 1 : 0,
	};
}
