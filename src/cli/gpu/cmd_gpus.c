/*
 * cmd_gpus.c - `heshare gpus`: list the GPUs of this machine, of a fleet, or the GPU types of the
 * catalogue.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/catalogue.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/gpu/gpu_list.h"
#include "cli/inputs/inputs.h"
#include "cluster/offer.h"
#include "gpu/cuda_driver.h"

struct gpus_opts {
	const char *fleet, *catalogue, *restore;
	bool types, yaml, json, offer, cuda_order;
};

#define AT(member) .offset = offsetof(struct gpus_opts, member)

/* clang-format off */
static const struct opt gpus_opts[] = {
	{ .name = "fleet", .letter = 'f', .kind = OPT_FILE, AT(fleet), .arg = "FILE",
	  .help = "list the GPUs of this fleet file" },
	{ .name = "types", .letter = 't', .kind = OPT_FLAG, AT(types),
	  .help = "list the GPU types that heshare knows" },
	{ .name = "yaml", .letter = 'y', .kind = OPT_FLAG, AT(yaml),
	  .without = "types,fleet,json",
	  .help = "print rows of a catalogue for the GPUs of this machine, also for GPUs without a "
		  "row" },
	CLI_CATALOGUE_OPT(offsetof(struct gpus_opts, catalogue)),
	{ .name = "json", .kind = OPT_FLAG, AT(json), .help = "print one JSON document" },
	{ .name = "offer", .kind = OPT_FLAG, AT(offer), .hidden = true,
	  .help = "internal: print a line for each GPU, for a plan of several nodes" },
	{ .name = "restore", .kind = OPT_FILE, AT(restore), .hidden = true,
	  .help = "internal: with --offer, the folder of an earlier run" },
	{ .name = "cuda-order", .kind = OPT_FLAG, AT(cuda_order), .hidden = true,
	  .help = "internal: print the UUIDs of the GPUs in CUDA's order" },
	{ 0 }
};
/* clang-format on */

static json_t *clocks_json(const struct hes_gpu_type *g)
{
	json_t *clocks = json_array();

	for (size_t i = 0; i < g->n_clocks; i++)
		json_array_append_new(clocks, json_integer(g->clocks_mhz[i]));
	return clocks;
}

/* @param gpu  of this type; NULL: a row of types */
static void type_row(struct table *t, const struct hes_gpu *gpu, const struct hes_gpu_type *g)
{
	char clocks[32];

	snprintf(clocks, sizeof(clocks), "%u-%u", g->clocks_mhz[0], g->clock_default_mhz);
	const struct cell row[] = {
		cell_text(gpu ? "gpu" : NULL, gpu ? "gpu" : NULL, gpu ? gpu->name : NULL),
		cell_text(gpu ? "node" : NULL, NULL, gpu ? gpu->node : NULL),
		cell_text("gpu_type", gpu ? NULL : "type", g->name),
		cell_count("sm_count", "SMs", g->sm_count),
		cell_count("memory_mib", "MiB", g->memory_mib),
		cell_count("memory_bandwidth_gbs", "GB/s", g->memory_bandwidth_gbs),
		cell_count("l2_kib", "L2 KiB", g->l2_kib),
		cell_real("power_limit_w", "W max", 1, g->power_limit_mw / 1e3),
		cell_real("idle_power_w", "W idle", 1, g->idle_power_mw / 1e3),
		cell_text(NULL, "MHz", clocks),
		cell_count("clock_default_mhz", NULL, g->clock_default_mhz),
		cell_json("clocks_mhz", clocks_json(g)),
	};
	TABLE_ROW(t, row);
}

static int list_types(const struct hes_catalogue *c, bool json)
{
	struct table t = { 0 };

	for (size_t i = 0; i < c->n; i++)
		type_row(&t, NULL, &c->types[i]);
	return cli_table_out(&t, "heshare-gpu-types", "gpu_types", json);
}

static int list_fleet(const struct hes_fleet *f, bool json)
{
	struct table t = { 0 };

	for (size_t i = 0; i < f->n; i++)
		type_row(&t, &f->gpus[i], f->gpus[i].type);
	return cli_table_out(&t, "heshare-fleet", "gpus", json);
}

static int device_print(const struct cuda_driver *d, int ordinal, struct hes_err *err)
{
	uint8_t u[16];
	int device, code = d->device_get(&device, ordinal);

	if (!code)
		code = d->device_uuid(u, device);
	if (code)
		return cuda_driver_fail(d, "cuDeviceGetUuid", code, err);
	printf("GPU-");
	for (size_t i = 0; i < sizeof(u); i++)
		printf("%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u[i]);
	putchar('\n');
	return 0;
}

/* For the process that asks CUDA (app/gpus_visible.c): all UUIDs in its order, one a line. */
static int cuda_order_print(void)
{
	struct cuda_driver d;
	struct hes_err err;
	int n = 0, code, rc;

	/* All GPUs, and those of this machine: an MPS server may have fewer. */
	unsetenv("CUDA_VISIBLE_DEVICES");
	setenv("CUDA_MPS_PIPE_DIRECTORY", "/dev/null", 1);
	rc = cuda_driver_open(&d, &err);
	code = rc ? 0 : d.device_count(&n);
	if (code)
		rc = cuda_driver_fail(&d, "cuDeviceGetCount", code, &err);
	for (int i = 0; !rc && i < n; i++)
		rc = device_print(&d, i, &err);
	if (!rc && fflush(stdout))
		rc = hes_fail(&err, -errno, "standard output: %s", strerror(errno));
	return rc ? cli_fail("gpus", &err) : 0;
}

static int run_gpus(const void *opts, int n_args, char **args)
{
	const struct gpus_opts *o = opts;
	struct hes_catalogue c = { 0 };
	struct hes_fleet f = { 0 };
	struct hes_err err;
	int rc;

	(void)n_args;
	(void)args;
	/* Before anything else of this process looks at GPUs. */
	if (o->cuda_order)
		return cuda_order_print();
	rc = app_catalogue_load(cli_app(), o->catalogue, !o->types && !o->fleet, &c, &err);
	if (!rc && o->fleet)
		rc = hes_fleet_load(o->fleet, &c, &f, &err);
	if (rc)
		rc = cli_fail("gpus", &err);
	else if (o->offer)
		rc = offer_put(cli_app(), stdout, &c, o->restore) ? 1 : 0;
	else if (o->yaml)
		rc = gpus_list_rows(&c);
	else if (o->fleet || o->types)
		rc = o->fleet ? list_fleet(&f, o->json) : list_types(&c, o->json);
	else
		rc = gpus_list(&c, o->json);
	hes_fleet_free(&f);
	hes_catalogue_free(&c);
	return rc;
}

const struct command cmd_gpus = {
	.name = "gpus",
	.args = "",
	.summary = "list the GPUs of this machine, of a fleet, or GPU types",
	.text = "Without an option, lists the GPUs of this machine as NVIDIA's driver reports "
		"them: type, memory, power, clock. Then it lists what cannot be read or set, with "
		"the remedy. A GPU that cannot be used is named with the remedy, and all commands "
		"use the others. The exit status is 1 if there is such a GPU, or none at all. "
		"--fleet lists every GPU of a fleet. --types lists the GPU types that heshare "
		"knows: size, memory, bandwidth, "
		"power, and the clocks that plans use.\n\n"
		"A GPU that no row of the catalogue names is a type of its own, with the values "
		"that NVML reports. Where CUDA_VISIBLE_DEVICES, SLURM_STEP_GPUS or SLURM_JOB_GPUS "
		"names GPUs, only these are listed and used, by all commands, and numbered from 0 "
		"in that order. An index in CUDA_VISIBLE_DEVICES is CUDA's: the fastest GPU is 0, "
		"unless CUDA_DEVICE_ORDER is PCI_BUS_ID. --yaml prints its row, to be corrected "
		"and kept in "
		"~/.config/heshare/gpu_types.yaml or /etc/heshare/gpu_types.yaml, which all "
		"commands read (docs/formats/gpu-types.md).",
	.example = "  heshare gpus\n"
		   "  heshare gpus --fleet data/fleets/heshare.yaml\n  heshare gpus --types --json",
	.opts = gpus_opts,
	.opts_size = sizeof(struct gpus_opts),
	.run = run_gpus,
};
