/*
 * gpu_list.c - print the GPUs of this machine; see gpu_list.h.
 */
#include "cli/gpu/gpu_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/catalogue.h"
#include "app/gpus_chosen.h"
#include "app/gpus_visible.h"
#include "cli/cli.h"
#include "launch/contexts.h"

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

int gpus_list(const struct hes_catalogue *c, bool json)
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

int gpus_list_rows(const struct hes_catalogue *c)
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
