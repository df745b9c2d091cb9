/*
 * describe.c - a GPU's row of a catalogue, from what NVML reports; see hes_device_describe() in
 * heshare/device.h.
 *
 * The same GPU and driver give the same row every time: nothing comes from a reading.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/generation.h"
#include "gpu/nvml.h"

#define MAX_SUPPORTED 512
#define IDLE_PART     0.1 /* of the power limit */
#define LANE_3_GBS                                                                                 \
	0.75 /* what copies reach over a lane of PCIe 3, one direction; each generation doubles it \
	      */
#define MAX_MEMORY 64 /* memory clocks */

static int missing(size_t i, const char *what, struct hes_err *err)
{
	return hes_fail(err, -ENOTSUP,
			"GPU %zu: NVML does not report its %s; give its type a row in a catalogue",
			i, what);
}

static bool read_one(int (*get)(void *, unsigned *), void *dev, unsigned *out)
{
	return get && !get(dev, out) && *out;
}

/* Cores, memory and power. */
static int describe_chip(const struct hes_devices *d, size_t i, const struct hes_generation *gen,
			 struct hes_gpu_type *g, struct hes_err *err)
{
	unsigned cores, bits, memory_mhz = 0, limit_mw;
	const struct nvml *nvml = &d->nvml;
	void *dev = d->gpus[i].handle;

	if (!read_one(nvml->cores, dev, &cores) || cores < gen->cores_per_sm)
		return missing(i, "number of cores", err);
	if (!g->memory_mib)
		return missing(i, "memory", err);
	if (!read_one(nvml->bus_width, dev, &bits) || !nvml->max_clock ||
	    nvml->max_clock(dev, NVML_CLOCK_MEM, &memory_mhz) || !memory_mhz)
		return missing(i, "memory's bus width and clock", err);
	if (!read_one(nvml->default_limit, dev, &limit_mw) &&
	    !read_one(nvml->power_limit, dev, &limit_mw))
		return missing(i, "power limit", err);
	g->sm_count = cores / gen->cores_per_sm;
	/* Two transfers a clock, by NVML's counting also of memory that makes more. */
	g->memory_bandwidth_gbs = (uint32_t)lround(2e-3 * memory_mhz * bits / 8);
	g->l2_kib = gen->l2_kib_per_sm * g->sm_count;
	g->power_limit_mw = limit_mw;
	g->idle_power_mw = (uint32_t)(IDLE_PART * limit_mw);
	if (read_one(nvml->power_limit, dev, &limit_mw))
		hes_gpu_type_limit(g, limit_mw);
	return 0;
}

static int by_falling(const void *a, const void *b)
{
	const unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	return (x < y) - (x > y);
}

/* The step of clocks that are named rounded down, highest first; 0: there is none. Steps are
 * multiples of a half. */
static double step_of(const unsigned *mhz, unsigned n)
{
	double step = n > 1 ? round(2.0 * (mhz[0] - mhz[n - 1]) / (n - 1)) / 2 : 0;

	for (unsigned k = 0; k < n; k++)
		if (floor(mhz[0] - k * step) != mhz[k])
			return 0;
	return step;
}

/* The highest memory clock, which decides about the clocks of the SMs. */
static unsigned top_memory_clock(const struct nvml *nvml, void *dev)
{
	unsigned mhz[MAX_MEMORY], n = MAX_MEMORY, top = 0;

	if (!nvml->memory_clocks || nvml->memory_clocks(dev, &n, mhz))
		return nvml->max_clock(dev, NVML_CLOCK_MEM, &top) ? 0 : top;
	for (unsigned k = 0; k < n && k < MAX_MEMORY; k++)
		top = mhz[k] > top ? mhz[k] : top;
	return top;
}

static int describe_clocks(const struct hes_devices *d, size_t i, struct hes_gpu_type *g,
			   struct hes_err *err)
{
	unsigned mhz[MAX_SUPPORTED], n = MAX_SUPPORTED, last;
	const struct nvml *nvml = &d->nvml;
	void *dev = d->gpus[i].handle;

	if (!nvml->supported_clocks ||
	    nvml->supported_clocks(dev, top_memory_clock(nvml, dev), &n, mhz) || !n) {
		n = 1;
		if (nvml->max_clock(dev, NVML_CLOCK_SM, mhz) || !mhz[0])
			return missing(i, "clocks", err);
	}
	/* Drivers list the highest first, but NVML does not promise an order. */
	qsort(mhz, n, sizeof(*mhz), by_falling);
	g->clock_max_mhz = g->clock_default_mhz = mhz[0];
	g->clock_min_mhz = mhz[n - 1];
	g->clock_step_mhz = step_of(mhz, n);
	if (g->clock_step_mhz > 0) {
		hes_gpu_type_choose_clocks(g);
		return 0;
	}
	last = n < HES_MAX_CLOCKS ? n : HES_MAX_CLOCKS;
	for (unsigned k = 0; k < last; k++)
		g->clocks_mhz[g->n_clocks++] =
			mhz[last > 1 ? (last - 1 - k) * (n - 1) / (last - 1) : 0];
	return 0;
}

int hes_device_describe(const struct hes_devices *d, size_t i, struct hes_gpu_type *out,
			struct hes_err *err)
{
	unsigned generation, lanes;
	struct hes_device_info info;
	struct hes_gpu_type g = { 0 };
	int major = 0, minor = 0, rc = hes_device_info(d, i, &info, err);

	if (rc)
		return rc;
	if (!d->nvml.capability || d->nvml.capability(d->gpus[i].handle, &major, &minor))
		return missing(i, "compute capability", err);
	g.compute = (uint32_t)(10 * major + minor);
	g.memory_mib = (uint32_t)(info.memory_bytes >> 20);
	strcpy(g.name, info.type);
	snprintf(g.driver_names[0], sizeof(g.driver_names[0]), "%.*s", HES_DRIVER_NAME_MAX - 1,
		 info.name);
	rc = describe_chip(d, i, hes_generation_of(g.compute), &g, err);
	if (!rc)
		rc = describe_clocks(d, i, &g, err);
	if (rc)
		return rc;
	if (read_one(d->nvml.pcie_generation, d->gpus[i].handle, &generation) && generation >= 1 &&
	    generation <= 8 && read_one(d->nvml.pcie_width, d->gpus[i].handle, &lanes))
		g.pcie_gbs = ldexp(LANE_3_GBS * lanes, (int)generation - 3);
	*out = g;
	return 0;
}
