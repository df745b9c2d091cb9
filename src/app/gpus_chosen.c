/*
 * gpus_chosen.c - show and choose GPUs; see gpus_chosen.h.
 */
#include "app/gpus_chosen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "app/catalogue.h"
#include "app/gpus_visible.h"
#include "heshare/activity.h"
#include "heshare/capabilities.h"
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

/* A GPU as it is now. */
struct shown {
	size_t index;
	struct hes_device_info info;
	struct hes_reading reading;
	enum hes_activity_from activity;
	struct hes_missing_capability lacks[HES_CAPABILITIES];
	long n_lacks;
	struct hes_contexts contexts;
};

static json_t *lacks_json(const struct shown *s)
{
	json_t *o = json_array();

	for (long k = 0; k < s->n_lacks; k++)
		json_array_append_new(o,
				      json_pack("{s:s, s:s, s:s}", "capability",
						hes_capability_name(s->lacks[k].capability), "why",
						s->lacks[k].why, "do", s->lacks[k].what_to_do));
	return o;
}

static json_t *contexts_json(const struct shown *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->contexts.n; i++) {
		const struct hes_context *c = &s->contexts.v[i];

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
static void print_contexts(const struct shown *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < s[i].contexts.n; k++) {
			char text[160];

			if (s[i].contexts.v[k].server)
				continue;
			hes_context_text(&s[i].contexts.v[k], text, sizeof(text));
			printf("GPU %zu is not free: %s has a context there\n", s[i].index, text);
		}
}

static void shown_free(struct shown *s, size_t n)
{
	for (size_t i = 0; s && i < n; i++)
		hes_contexts_free(&s[i].contexts);
	free(s);
}

static json_t *can_json(const struct hes_device_info *b)
{
	json_t *can = json_array();

	for (size_t k = 0; k < N_ABILITIES; k++)
		if (b->can & abilities[k].can)
			json_array_append_new(can, json_string(abilities[k].name));
	return can;
}

static void gpu_row(struct table *t, const struct shown *s)
{
	const struct hes_device_info *b = &s->info;
	const struct hes_reading *r = &s->reading;
	const struct cell row[] = {
		cell_count("index", "GPU", (int64_t)s->index),
		cell_text("name", "name", b->name),
		cell_text("type", "type", *b->type ? b->type : NULL),
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
			cell_count("busy_pct", "busy %", r->busy_pct)),
		cell_text("uuid", "UUID", b->uuid),
		cell_text("bus", NULL, b->bus),
		cell_json("can", can_json(b)),
		cell_text("activity", NULL, hes_activity_from_name(s->activity)),
		cell_json("missing", lacks_json(s)),
		cell_json("contexts", contexts_json(s)),
	};

	TABLE_ROW(t, row);
}

static bool lacks(const struct shown *s, const struct hes_missing_capability *l)
{
	for (long k = 0; k < s->n_lacks; k++)
		if (s->lacks[k].capability == l->capability && strcmp(s->lacks[k].why, l->why) == 0)
			return true;
	return false;
}

/* "GPUs 0-3, 6" of those that lack the same. */
static void print_who(FILE *f, const struct shown *s, size_t n,
		      const struct hes_missing_capability *l)
{
	size_t many = 0, runs = 0;

	for (size_t i = 0; i < n; i++)
		many += lacks(&s[i], l);
	fprintf(f, "GPU%s ", many > 1 ? "s" : "");
	for (size_t i = 0; i < n; i++) {
		size_t last = i;

		if (!lacks(&s[i], l))
			continue;
		while (last + 1 < n && s[last + 1].index == s[last].index + 1 &&
		       lacks(&s[last + 1], l))
			last++;
		fprintf(f, "%s%zu", runs++ ? ", " : "", s[i].index);
		if (last > i)
			fprintf(f, "-%zu", s[last].index);
		i = last;
	}
}

/* Each lack once, with all GPUs that have it. @instead  NULL: all capabilities, with what to do;
 * else what happens without @capability */
static void print_lacks(FILE *f, const struct shown *s, size_t n, enum hes_capability capability,
			const char *instead)
{
	for (size_t i = 0; i < n; i++)
		for (long k = 0; k < s[i].n_lacks; k++) {
			const struct hes_missing_capability *l = &s[i].lacks[k];
			size_t first = 0;

			while (!lacks(&s[first], l))
				first++;
			if (first < i || (instead && l->capability != capability))
				continue;
			print_who(f, s, n, l);
			if (instead)
				fprintf(f, ": %s; %s\n", l->why, instead);
			else
				fprintf(f, ": %s\n    to do: %s\n", l->why, l->what_to_do);
		}
}

static int look(const struct hes_devices *d, size_t i, const struct hes_mps_status *mps,
		struct shown *out, struct hes_err *err)
{
	struct shown s = { .index = i };
	int rc = hes_device_info(d, i, &s.info, err);

	if (!rc)
		rc = hes_device_read(d, i, HES_HAS_ALL, &s.reading, err);
	if (!rc)
		s.n_lacks = hes_capabilities_missing(d, i, mps, s.lacks, err);
	if (rc || s.n_lacks < 0)
		return rc ? rc : (int)s.n_lacks;
	s.activity = hes_activity_source(d, i);
	*out = s;
	return 0;
}

/* A lost GPU is reported among the others, and the command fails. */
static int show(const struct hes_devices *d, bool json)
{
	struct shown *s = calloc(hes_devices_count(d) + 1, sizeof(*s));
	struct hes_mps_status mps;
	struct table t = { 0 };
	struct hes_err err;
	int status = 0;
	size_t n = 0;

	if (!s) {
		hes_fail(&err, -ENOMEM, "no memory for %zu GPUs", hes_devices_count(d));
		return cli_fail("gpus", &err);
	}
	hes_mps_find(getenv("PATH"), getenv("CUDA_MPS_PIPE_DIRECTORY"), &mps);
	for (size_t i = 0; i < hes_devices_count(d); i++) {
		if (look(d, i, &mps, &s[n], &err))
			status = cli_fail("gpus", &err);
		else
			hes_contexts_look(d, i, NULL, 0, &s[n++].contexts, NULL);
	}
	for (size_t i = 0; i < n; i++)
		gpu_row(&t, &s[i]);
	if (json) {
		status = cli_print_json(table_json(&t)) ? 1 : status;
	} else {
		cli_print_table(&t, stdout, 0);
		print_lacks(stdout, s, n, HES_CAPABILITY_MPS, NULL);
		print_contexts(s, n);
	}
	shown_free(s, n);
	return status;
}

/* @return the GPUs; NULL where there are none, which a sentence on stderr says */
static struct hes_devices *open_or_say(const struct hes_catalogue *c)
{
	struct hes_devices *d = NULL;
	struct hes_err err;
	int rc = cli_devices_open(c, &d, &err);

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
		seen[i] = cli_gpu_type(d, i, c, &err);
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

long gpus_find(const struct hes_devices *d, const char *option, const char *name,
	       struct hes_err *err)
{
	struct hes_err why = { .msg = "" };
	struct hes_device_info info;
	long i = hes_devices_find(d, name);
	int rc = i < 0 ? 0 : hes_device_info(d, (size_t)i, &info, err);

	if (i >= 0)
		return rc ? rc : i;
	if (i == -ENOTUNIQ)
		return hes_fail(err, -EINVAL,
				"%s: several UUIDs begin with \"%.80s\"; see heshare gpus", option,
				name);
	hes_devices_refused(d, &why);
	return hes_fail(err, -ENOENT,
			"%s: no GPU \"%.80s\"; there are %zu, from 0 on: see heshare gpus%s%s",
			option, name, hes_devices_count(d), *why.msg ? "; " : "", why.msg);
}

static int check_use(const struct hes_devices *d, size_t i, enum gpus_use use, struct hes_err *err)
{
	return use == GPUS_READ ? 0 : hes_device_check(d, i, use == GPUS_SHARE, err);
}

static int choose(const struct hes_devices *d, const char *name, enum gpus_use use, size_t *chosen,
		  size_t *n, struct hes_err *err)
{
	long i = gpus_find(d, "--gpus", name, err);
	int rc = i < 0 ? (int)i : check_use(d, (size_t)i, use, err);

	if (rc)
		return rc;
	for (size_t k = 0; k < *n; k++)
		if (chosen[k] == (size_t)i)
			return hes_fail(err, -EEXIST, "--gpus: GPU %ld is named twice", i);
	chosen[(*n)++] = (size_t)i;
	return 0;
}

/* Whether a word may name a GPU on some machine. */
static bool is_gpu_name(const char *name)
{
	return strncmp(name, "GPU-", 4) == 0 || strncmp(name, "MIG-", 4) == 0 ||
	       (*name && !name[strspn(name, "0123456789")]) ||
	       (strchr(name, ':') && !name[strspn(name, "0123456789abcdefABCDEF:.")]);
}

int gpus_check(const char *list, struct hes_err *err)
{
	const char *at = list && strcmp(list, "all") != 0 ? list : NULL;

	while (at) {
		char name[HES_UUID_MAX];
		size_t n = strcspn(at, ",");

		snprintf(name, sizeof(name), "%.*s", (int)n, at);
		if (n >= sizeof(name) || !is_gpu_name(name))
			return hes_fail(
				err, -EINVAL,
				"--gpus: \"%s\" names no GPU; write all, or indices, UUIDs, "
				"PCI addresses with commas: see heshare gpus",
				name);
		at = at[n] ? at + n + 1 : NULL;
	}
	return 0;
}

static void say_left_out(const struct hes_err *why)
{
	fprintf(stderr, "left out: %s\n", why->msg);
}

/* @return 0; there are GPUs and none can be used: why the first cannot */
static int choose_all(const struct hes_devices *d, enum gpus_use use, size_t *chosen, size_t *n,
		      struct hes_err *err)
{
	struct hes_err first = { .code = 0 };

	for (size_t i = 0; i < hes_devices_count(d); i++) {
		struct hes_device_info info;
		struct hes_err why;

		if (!hes_device_info(d, i, &info, &why) && !check_use(d, i, use, &why)) {
			chosen[(*n)++] = i;
			continue;
		}
		if (!first.code)
			first = why;
		say_left_out(&why);
	}
	return *n || !first.code ? 0 : hes_fail(err, first.code, "%s", first.msg);
}

int gpus_choose(const struct hes_devices *d, const char *list, enum gpus_use use, size_t **out,
		size_t *n, struct hes_err *err)
{
	const bool all = !list || strcmp(list, "all") == 0;
	size_t *chosen = calloc(hes_devices_count(d) + 1, sizeof(*chosen)), many = 0;
	char *text = strdup(all ? "" : list), *at = text, *name;
	int rc = 0;

	if (!chosen || !text)
		rc = hes_fail(err, -ENOMEM, "no memory for a list of GPUs");
	if (!rc && all)
		rc = choose_all(d, use, chosen, &many, err);
	while (!rc && !all && (name = strsep(&at, ",")))
		rc = choose(d, name, use, chosen, &many, err);
	free(text);
	if (rc) {
		free(chosen);
		return rc;
	}
	*out = chosen;
	*n = many;
	return 0;
}

/* The capabilities that planning needs. */
enum { CLOCK = 1, MPS = 2 };

static unsigned capabilities_missing(const struct shown *s)
{
	unsigned without = 0;

	for (long k = 0; k < s->n_lacks; k++)
		without |= s->lacks[k].capability == HES_CAPABILITY_LOCK_CLOCK ? CLOCK
			   : s->lacks[k].capability == HES_CAPABILITY_MPS      ? MPS
									       : 0;
	return without;
}

/* A GPU's type as it can be used: a row of @types for each type, power limit and set of
 * capabilities. */
static const struct hes_gpu_type *usable(const struct hes_gpu_type *g, unsigned without,
					 struct gpus_fleet *b)
{
	struct hes_gpu_type *o = NULL;

	for (size_t k = 0; k < b->n_types && !o; k++)
		if (strcmp(b->types[k].name, g->name) == 0 &&
		    b->types[k].power_limit_mw == g->power_limit_mw &&
		    b->types[k].alone == ((without & MPS) != 0) &&
		    (b->types[k].n_clocks == 1) == (without & CLOCK || g->n_clocks == 1))
			o = &b->types[k];
	if (o)
		return o;
	o = &b->types[b->n_types++];
	*o = *g;
	o->alone = without & MPS;
	if (without & CLOCK) {
		o->clocks_mhz[0] = g->clock_default_mhz;
		o->n_clocks = 1;
	}
	return o;
}

int gpus_fleet_make(struct gpus_fleet *b, const char *name, size_t n, struct hes_err *err)
{
	*b = (struct gpus_fleet){ .types = calloc(n + 1, sizeof(*b->types)) };
	b->fleet.gpus = calloc(n + 1, sizeof(*b->fleet.gpus));
	snprintf(b->fleet.name, sizeof(b->fleet.name), "%s", name);
	return b->types && b->fleet.gpus ? 0 : hes_fail(err, -ENOMEM, "no memory for %zu GPUs", n);
}

void gpus_fleet_put(struct gpus_fleet *b, const char *node, size_t index, const char *uuid,
		    const struct hes_gpu_type *g, uint32_t limit_mw, bool clocks, bool mps)
{
	struct hes_gpu *o = &b->fleet.gpus[b->fleet.n++];
	struct hes_gpu_type limited = *g;

	hes_gpu_type_limit(&limited, limit_mw);

	snprintf(o->node, sizeof(o->node), "%.41s", node);
	snprintf(o->name, sizeof(o->name), "%.41s/%zu", node, index);
	snprintf(o->uuid, sizeof(o->uuid), "%s", uuid);
	o->type = usable(&limited, (clocks ? 0 : CLOCK) | (mps ? 0 : MPS), b);
}

static int add_gpu(const struct hes_devices *d, const struct shown *s, const char *host,
		   const struct hes_catalogue *c, struct gpus_fleet *b, struct hes_err *err)
{
	const unsigned without = capabilities_missing(s);
	const struct hes_gpu_type *g;

	for (long k = 0; k < s->n_lacks; k++)
		if (s->lacks[k].capability == HES_CAPABILITY_COMPUTE_MODE)
			return hes_fail(err, -EPERM, "GPU %zu: %s; %s; or leave it out with --gpus",
					s->index, s->lacks[k].why, s->lacks[k].what_to_do);
	g = cli_gpu_type(d, s->index, c, err);
	if (!g)
		return err->code;
	gpus_fleet_put(b, host, s->index, s->info.uuid, g, s->info.power_limit_mw,
		       !(without & CLOCK), !(without & MPS));
	return 0;
}

/* @param n  of @gpus; afterwards of @s
 * @param all  a GPU that cannot be planned for is left out */
static int fill_fleet(const struct hes_devices *d, const size_t *gpus, size_t *n, bool all,
		      const struct hes_catalogue *c, struct shown *s, struct gpus_fleet *b,
		      struct hes_err *err)
{
	const size_t many = *n;
	struct hes_mps_status mps;
	char host[HES_NAME_MAX] = "";
	int rc = 0;

	hes_mps_find(getenv("PATH"), getenv("CUDA_MPS_PIPE_DIRECTORY"), &mps);
	if (gethostname(host, sizeof(host) - 1) || !*host)
		snprintf(host, sizeof(host), "localhost");
	rc = gpus_fleet_make(b, host, many, err);
	*n = 0;
	for (size_t i = 0; i < many && !rc; i++) {
		struct hes_err why;

		rc = look(d, gpus[i], &mps, &s[*n], &why);
		if (!rc)
			rc = add_gpu(d, &s[*n], host, c, b, &why);
		*n += !rc;
		if (rc && all && (*n || i + 1 < many)) {
			say_left_out(&why);
			rc = 0;
		} else if (rc) {
			hes_fail(err, rc, "%s", why.msg);
		}
	}
	return rc;
}

int gpus_fleet_load(const char *list, const struct hes_catalogue *c, FILE *notes,
		    struct gpus_fleet *out, struct hes_err *err)
{
	struct gpus_fleet b = { .n_types = 0 };
	struct hes_devices *d = NULL;
	struct shown *s = NULL;
	size_t *gpus = NULL, n = 0;
	int rc = gpus_check(list, err);

	if (!rc)
		rc = cli_devices_open(c, &d, err);
	if (!rc)
		rc = gpus_choose(d, list, GPUS_READ, &gpus, &n, err);
	if (!rc) {
		s = calloc(n + 1, sizeof(*s));
		if (!s)
			rc = hes_fail(err, -ENOMEM, "no memory for %zu GPUs", n);
	}
	if (!rc)
		rc = fill_fleet(d, gpus, &n, !list || strcmp(list, "all") == 0, c, s, &b, err);
	if (!rc && notes) {
		print_lacks(notes, s, n, HES_CAPABILITY_LOCK_CLOCK, "planned at the default clock");
		print_lacks(notes, s, n, HES_CAPABILITY_MPS, "planned one job at a time");
	}
	free(s);
	free(gpus);
	hes_devices_close(d);
	if (rc)
		gpus_fleet_free(&b);
	else
		*out = b;
	return rc;
}

void gpus_fleet_free(struct gpus_fleet *b)
{
	hes_fleet_free(&b->fleet);
	free(b->types);
	*b = (struct gpus_fleet){ .n_types = 0 };
}
