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
#include "app/gpus_chosen.h"
#include "app/gpus_visible.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/inputs/inputs.h"
#include "cluster/offer.h"
#include "gpu/cuda_order.h"
#include "launch/contexts.h"

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
	{ .name = "yaml", .letter = 'y', .kind = OPT_FLAG, AT(yaml), .without = "types,fleet,json",
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

/* For the process that asks CUDA (app/gpus_visible.c): all UUIDs in its order, one a line. */
static int cuda_order_print(struct hes_err *err)
{
	int rc;

	/* All GPUs, and those of this machine: an MPS server may have fewer. */
	unsetenv("CUDA_VISIBLE_DEVICES");
	setenv("CUDA_MPS_PIPE_DIRECTORY", "/dev/null", 1);
	rc = hes_cuda_order_print(stdout, err);
	return !rc && fflush(stdout) ? hes_fail(err, -errno, "standard output: %s", strerror(errno))
				     : rc;
}

#define MIB (1024 * 1024)

/* What a GPU can, for programs. */
static const struct {
	enum hes_device_can can;
	const char *name;
} abilities[] = {
	{ HES_CAN_READ_POWER, "read_power" }, { HES_CAN_READ_ENERGY, "read_energy" },
	{ HES_CAN_READ_CLOCK, "read_clock" }, { HES_CAN_READ_REASONS, "read_reasons" },
	{ HES_CAN_LOCK_CLOCK, "lock_clock" }, { HES_CAN_LIMIT_POWER, "limit_power" },
};
#define N_ABILITIES (sizeof(abilities) / sizeof(abilities[0]))

static json_t *lacks_json(const struct gpus_seen *s)
{
	json_t *o = json_array();

	for (long k = 0; k < s->n_lacks; k++)
		json_array_append_new(o,
				      json_pack("{s:s, s:s, s:s}", "capability",
						hes_capability_name(s->lacks[k].capability), "why",
						s->lacks[k].why, "do", s->lacks[k].what_to_do));
	return o;
}

static json_t *contexts_json(const struct hes_contexts *v)
{
	json_t *list = json_array();

	for (size_t i = 0; i < v->n; i++) {
		const struct hes_context *c = &v->v[i];

		if (!c->server)
			json_array_append_new(
				list, json_pack("{s:I, s:s, s:o}", "pid", (json_int_t)c->id.pid,
						"name", c->name, "memory_mib",
						cli_json_maybe(c->has_memory,
							       (double)(c->memory_bytes / MIB))));
	}
	return list;
}

/* What else runs on the GPUs: jobs share them with it. */
static void print_contexts(const struct gpus_seen *s, const struct hes_contexts *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < v[i].n; k++) {
			char text[160];

			if (v[i].v[k].server)
				continue;
			hes_context_text(&v[i].v[k], text, sizeof(text));
			printf("GPU %zu is not free: %s has a context there\n", s[i].index, text);
		}
}

static json_t *can_json(const struct hes_device_info *b)
{
	json_t *can = json_array();

	for (size_t k = 0; k < N_ABILITIES; k++)
		if (b->can & abilities[k].can)
			json_array_append_new(can, json_string(abilities[k].name));
	return can;
}

static void gpu_row(struct table *t, const struct gpus_seen *s, const struct hes_contexts *c)
{
	const struct hes_device_info *b = &s->info;
	const struct hes_reading *r = &s->reading;
	char busy[16];

	snprintf(busy, sizeof(busy), "%u", (unsigned)r->busy_pct);
	const struct cell row[] = {
		cell_count("gpu", "GPU", (int64_t)s->index),
		cell_text("name", "name", b->name),
		cell_text("gpu_type", "type", *b->type ? b->type : NULL),
		cell_if(b->memory_bytes,
			cell_count("memory_mib", "MiB", (int64_t)(b->memory_bytes / MIB))),
		cell_if(r->has & HES_HAS_MEMORY, cell_real("memory_used_mib", "used", 0,
							   (double)r->memory_used_bytes / MIB)),
		cell_if(r->has & HES_HAS_POWER, cell_real("power_w", "W", 0, r->power_mw * 1e-3)),
		cell_if(b->power_limit_mw,
			cell_real("power_limit_w", "limit", 0, b->power_limit_mw * 1e-3)),
		cell_if(r->has & HES_HAS_CLOCK, cell_count("clock_mhz", "MHz", r->clock_mhz)),
		cell_if(r->has & HES_HAS_TEMPERATURE,
			cell_count("temperature_c", "C", r->temperature_c)),
		cell_if(r->has & HES_HAS_UTILISATION,
			cell_shown(cell_real("busy", "busy %", 0, r->busy_pct / 100.0), busy)),
		cell_text("uuid", "UUID", b->uuid),
		cell_text("bus", NULL, b->bus),
		cell_json("can", can_json(b)),
		cell_text("activity", NULL, hes_activity_from_name(s->activity)),
		cell_json("missing", lacks_json(s)),
		cell_json("contexts", contexts_json(c)),
	};

	TABLE_ROW(t, row);
}

static void print_lack(void *ctx, const char *gpus, const struct hes_missing_capability *l)
{
	(void)ctx;
	printf("%s: %s\n    to do: %s\n", gpus, l->why, l->what_to_do);
}

/* A lost GPU is reported among the others, and the command fails. */
static int show(const struct hes_devices *d, bool json)
{
	struct gpus_seen *s = calloc(hes_devices_count(d) + 1, sizeof(*s));
	struct hes_contexts *v = calloc(hes_devices_count(d) + 1, sizeof(*v));
	struct hes_mps_status mps;
	struct table t = { 0 };
	struct hes_err err;
	int status = 0;
	size_t n = 0;

	if (!s || !v) {
		hes_fail(&err, -ENOMEM, "no memory for %zu GPUs", hes_devices_count(d));
		status = cli_fail("gpus", &err);
	}
	hes_mps_find(getenv("PATH"), getenv("CUDA_MPS_PIPE_DIRECTORY"), &mps);
	for (size_t i = 0; s && v && i < hes_devices_count(d); i++) {
		if (gpus_look(d, i, &mps, &s[n], &err))
			status = cli_fail("gpus", &err);
		else
			hes_contexts_look(d, i, NULL, 0, &v[n++], NULL);
	}
	for (size_t i = 0; i < n; i++)
		gpu_row(&t, &s[i], &v[i]);
	if (json) {
		status = cli_print_json("heshare-gpus", json_pack("{s:o}", "gpus", table_json(&t)))
				 ? 1
				 : status;
	} else {
		cli_print_table(&t, stdout, 0);
		gpus_lacks(s, n, print_lack, NULL);
		print_contexts(s, v, n);
	}
	while (n)
		hes_contexts_free(&v[--n]);
	free(v);
	free(s);
	return status;
}

/* @return the GPUs; NULL where there are none, which a sentence on stderr says */
static struct hes_devices *open_or_say(const struct hes_catalogue *c)
{
	struct hes_devices *d = NULL;
	struct hes_err err;
	int rc = app_devices_open(cli_app(), c, &d, &err);

	/* In a Slurm job the sentence has the remedy. */
	if (rc == -ENODEV && !getenv("SLURM_JOB_ID"))
		fprintf(stderr,
			"heshare gpus: %s; --types lists the types that heshare knows, and in the "
			"virtual lab there are GPUs "
			"to try: build/lab/lab -- build/src/cli/heshare gpus (docs/lab.md)\n",
			err.msg);
	else if (rc)
		cli_fail("gpus", &err);
	return d;
}

static int gpus_list(const struct hes_catalogue *c, bool json)
{
	struct hes_devices *d = open_or_say(c);
	int rc = d ? show(d, json) : 1;

	hes_devices_close(d);
	return rc;
}

static void print_row(const struct hes_gpu_type *g)
{
	printf("  - { name: %s, driver_names: [", g->name);
	for (size_t i = 0; i < HES_DRIVER_NAMES && g->driver_names[i][0]; i++)
		printf("%s\"%s\"", i ? ", " : "", g->driver_names[i]);
	printf("], compute: %g, sms: %u, memory_mib: %u,\n      bandwidth_gbs: %u, l2_kib: %u, "
	       "pcie_gbs: %g, power_limit_w: %g,",
	       g->compute / 10.0, g->sm_count, g->memory_mib, g->memory_bandwidth_gbs, g->l2_kib,
	       g->pcie_gbs, g->power_limit_mw / 1e3);
	if (g->default_limit_mw)
		printf(" default_limit_w: %g,", g->default_limit_mw / 1e3);
	printf(" idle_w: %g,\n      clocks: { min: %u, max: %u, default: %u, ",
	       g->idle_power_mw / 1e3, g->clock_min_mhz, g->clock_max_mhz, g->clock_default_mhz);
	if (g->clock_step_mhz > 0) {
		printf("step: %g } }\n", g->clock_step_mhz);
		return;
	}
	for (size_t i = 0; i < g->n_clocks; i++)
		printf("%s%u", i ? ", " : "list: [", g->clocks_mhz[i]);
	puts("] } }");
}

static int gpus_list_rows(const struct hes_catalogue *c)
{
	struct hes_devices *d = open_or_say(c);
	size_t n = d ? hes_devices_count(d) : 0;
	const struct hes_gpu_type **seen = calloc(n + 1, sizeof(const struct hes_gpu_type *));
	int status = d && seen ? 0 : 1;
	struct hes_err err;

	if (!status)
		puts("types:");
	for (size_t i = 0, k = 0; seen && i < n; i++) {
		seen[i] = app_gpu_type(d, i, c, &err);
		if (!seen[i])
			status = cli_fail("gpus", &err);
		for (k = 0; seen[k] != seen[i]; k++)
			;
		if (seen[i] && k == i)
			print_row(seen[i]);
	}
	free(seen);
	hes_devices_close(d);
	return status;
}

static int run_gpus(const struct call *call, struct hes_err *err)
{
	const struct gpus_opts *o = call->opts;
	struct hes_catalogue c = { 0 };
	struct hes_fleet f = { 0 };
	int rc;

	/* Before anything else of this process looks at GPUs. */
	if (o->cuda_order)
		return cuda_order_print(err);
	rc = app_catalogue_load(cli_app(), o->catalogue, !o->types && !o->fleet, &c, err);
	if (!rc && o->fleet)
		rc = hes_fleet_load(o->fleet, &c, &f, err);
	if (!rc && o->offer)
		rc = offer_put(cli_app(), stdout, &c, o->restore) ? 1 : 0;
	else if (!rc && o->yaml)
		rc = gpus_list_rows(&c);
	else if (!rc && (o->fleet || o->types))
		rc = o->fleet ? list_fleet(&f, o->json) : list_types(&c, o->json);
	else if (!rc)
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
		"knows: size, memory, bandwidth, power, and the clocks that plans use.\n\n"
		"A GPU that no row of the catalogue names is a type of its own, with the values "
		"that NVML reports. Where CUDA_VISIBLE_DEVICES, SLURM_STEP_GPUS or SLURM_JOB_GPUS "
		"names GPUs, only these are listed and used, by all commands, and numbered from 0 "
		"in that order. An index in CUDA_VISIBLE_DEVICES is CUDA's: the fastest GPU is 0, "
		"unless CUDA_DEVICE_ORDER is PCI_BUS_ID. --yaml prints its row, to be corrected "
		"and kept in ~/.config/heshare/gpu_types.yaml or /etc/heshare/gpu_types.yaml, "
		"which all commands read (docs/formats/gpu-types.md).",
	.example = "  heshare gpus\n"
		   "  heshare gpus --fleet data/fleets/heshare.yaml\n  heshare gpus --types --json",
	.opts = gpus_opts,
	.opts_size = sizeof(struct gpus_opts),
	.run = run_gpus,
};
