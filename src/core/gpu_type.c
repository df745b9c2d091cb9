/*
 * gpu_type.c - read the catalogue of GPU types from YAML; see gpu_type.h.
 */
#include "heshare/gpu_type.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data.h"
#include "base/yaml.h"

/* Document shape; one to one with data/gpu_types.yaml. */
struct doc_clocks {
	double   min, max, step, default_mhz;
	double  *list;
	unsigned list_count;
};

struct doc_type {
	char    *name;
	uint32_t sms, memory_mib, l2_kib;
	double   bandwidth_gbs, pcie_gbs, power_limit_w, idle_w;
	struct doc_clocks clocks;
};

struct doc {
	struct doc_type *types;
	unsigned         types_count;
};

static const cyaml_schema_value_t clock_value = { CYAML_VALUE_FLOAT(CYAML_FLAG_DEFAULT, double) };

static const cyaml_schema_field_t clock_fields[] = {
	CYAML_FIELD_FLOAT("min", CYAML_FLAG_DEFAULT, struct doc_clocks, min),
	CYAML_FIELD_FLOAT("max", CYAML_FLAG_DEFAULT, struct doc_clocks, max),
	CYAML_FIELD_FLOAT("step", CYAML_FLAG_OPTIONAL, struct doc_clocks, step),
	CYAML_FIELD_FLOAT("default", CYAML_FLAG_DEFAULT, struct doc_clocks, default_mhz),
	CYAML_FIELD_SEQUENCE("list", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct doc_clocks, list,
			     &clock_value, 0, HES_MAX_CLOCKS),
	CYAML_FIELD_END
};

static const cyaml_schema_field_t type_fields[] = {
	CYAML_FIELD_STRING_PTR("name", CYAML_FLAG_POINTER, struct doc_type, name, 1, HES_NAME_MAX - 1),
	CYAML_FIELD_UINT("sms", CYAML_FLAG_DEFAULT, struct doc_type, sms),
	CYAML_FIELD_UINT("memory_mib", CYAML_FLAG_DEFAULT, struct doc_type, memory_mib),
	CYAML_FIELD_FLOAT("bandwidth_gbs", CYAML_FLAG_DEFAULT, struct doc_type, bandwidth_gbs),
	CYAML_FIELD_UINT("l2_kib", CYAML_FLAG_DEFAULT, struct doc_type, l2_kib),
	CYAML_FIELD_FLOAT("pcie_gbs", CYAML_FLAG_OPTIONAL, struct doc_type, pcie_gbs),
	CYAML_FIELD_FLOAT("power_limit_w", CYAML_FLAG_DEFAULT, struct doc_type, power_limit_w),
	CYAML_FIELD_FLOAT("idle_w", CYAML_FLAG_DEFAULT, struct doc_type, idle_w),
	CYAML_FIELD_MAPPING("clocks", CYAML_FLAG_DEFAULT, struct doc_type, clocks, clock_fields),
	CYAML_FIELD_END
};

static const cyaml_schema_value_t type_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct doc_type, type_fields),
};

static const cyaml_schema_field_t doc_fields[] = {
	CYAML_FIELD_SEQUENCE("types", CYAML_FLAG_POINTER, struct doc, types, &type_value, 1, 1000),
	CYAML_FIELD_END
};

static const cyaml_schema_value_t doc_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct doc, doc_fields),
};

struct range {
	const char *field;
	double      value, min, max;
	const char *unit;
};

static int check_ranges(const char *file, const struct doc_type *d, struct hes_err *err)
{
	const struct range ranges[] = {
		{ "sms", d->sms, 1, 10000, "SMs" },
		{ "memory_mib", d->memory_mib, 16, 16777216, "MiB" },
		{ "bandwidth_gbs", d->bandwidth_gbs, 1, 100000, "GB/s" },
		{ "l2_kib", d->l2_kib, 16, 16777216, "KiB" },
		{ "pcie_gbs", d->pcie_gbs, 0, 10000, "GB/s" },
		{ "power_limit_w", d->power_limit_w, 1, 10000, "W" },
		{ "idle_w", d->idle_w, 0, d->power_limit_w, "W" },
		{ "clocks.min", d->clocks.min, 1, 10000, "MHz" },
		{ "clocks.max", d->clocks.max, d->clocks.min, 10000, "MHz" },
		{ "clocks.default", d->clocks.default_mhz, d->clocks.min, d->clocks.max, "MHz" },
		{ "clocks.step", d->clocks.step, 0, 10000, "MHz" },
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		const struct range *r = &ranges[i];

		if (!(r->value >= r->min && r->value <= r->max))
			return hes_fail(err, -ERANGE, "%s: type %s: %s is %g; it must be from %g to %g %s",
					file, d->name, r->field, r->value, r->min, r->max, r->unit);
	}
	if (d->clocks.step > 0 && d->clocks.step < 0.1) /* clocks are walked step by step */
		return hes_fail(err, -ERANGE, "%s: type %s: clocks.step is %g; it must be at least 0.1 MHz", file,
				d->name, d->clocks.step);
	if (d->clocks.step == 0 && d->clocks.list_count == 0)
		return hes_fail(err, -EINVAL, "%s: type %s: clocks needs a step or a list", file, d->name);
	for (unsigned i = 0; i < d->clocks.list_count; i++)
		if (!(d->clocks.list[i] >= d->clocks.min && d->clocks.list[i] <= d->clocks.max) ||
		    (i && d->clocks.list[i] <= d->clocks.list[i - 1]))
			return hes_fail(err, -ERANGE,
					"%s: type %s: clocks.list[%u] is %g; the list must rise from min to max",
					file, d->name, i, d->clocks.list[i]);
	return 0;
}

/*
 * At most HES_MAX_CLOCKS settings over the upper three quarters of the range:
 * far below, no GPU does useful work per joule.
 */
static void thin_clocks(struct hes_gpu_type *g, const struct doc_clocks *c)
{
	double low = c->default_mhz / 4 > c->min ? c->default_mhz / 4 : c->min;
	long steps;

	g->n_clocks = 0;
	if (c->list_count) {
		for (unsigned i = 0; i < c->list_count; i++)
			g->clocks_mhz[g->n_clocks++] = (uint32_t)c->list[i];
		return;
	}
	steps = (long)floor((c->default_mhz - low) / c->step);
	for (long i = 0; i < HES_MAX_CLOCKS; i++) {
		long down = steps * (HES_MAX_CLOCKS - 1 - i) / (HES_MAX_CLOCKS - 1);
		uint32_t mhz = (uint32_t)(c->default_mhz - (double)down * c->step);

		if (g->n_clocks == 0 || mhz > g->clocks_mhz[g->n_clocks - 1])
			g->clocks_mhz[g->n_clocks++] = mhz;
	}
}

static void fill(struct hes_gpu_type *g, const struct doc_type *d)
{
	*g = (struct hes_gpu_type){
		.sm_count = d->sms,
		.memory_mib = d->memory_mib,
		.memory_bandwidth_gbs = (uint32_t)lround(d->bandwidth_gbs),
		.l2_kib = d->l2_kib,
		.pcie_gbs = d->pcie_gbs,
		.power_limit_mw = (uint32_t)lround(d->power_limit_w * 1e3),
		.idle_power_mw = (uint32_t)lround(d->idle_w * 1e3),
		.clock_min_mhz = (uint32_t)d->clocks.min,
		.clock_max_mhz = (uint32_t)d->clocks.max,
		.clock_step_mhz = d->clocks.step,
		.clock_default_mhz = (uint32_t)d->clocks.default_mhz,
	};
	strcpy(g->name, d->name);
	thin_clocks(g, &d->clocks);
}

static int convert(const char *file, const struct doc *doc, struct hes_catalogue *out,
		   struct hes_err *err)
{
	struct hes_catalogue c = { calloc(doc->types_count, sizeof(*c.types)), 0 };

	if (!c.types)
		return hes_fail(err, -ENOMEM, "%s: out of memory", file);
	for (unsigned i = 0; i < doc->types_count; i++) {
		const struct doc_type *d = &doc->types[i];
		int rc = check_ranges(file, d, err);

		if (!rc && hes_gpu_type_find(&c, d->name, NULL))
			rc = hes_fail(err, -EEXIST, "%s: type %s is given twice", file, d->name);
		if (rc) {
			hes_catalogue_free(&c);
			return rc;
		}
		fill(&c.types[c.n++], d);
	}
	*out = c;
	return 0;
}

int hes_catalogue_load(const char *path, struct hes_catalogue *out, struct hes_err *err)
{
	const char *name = path ? path : "gpu_types.yaml";
	void *doc;
	size_t len;
	const char *text = path ? NULL : hes_data_find(name, &len);
	int rc = path ? hes_yaml_load_file(path, &doc_schema, &doc, err)
		      : hes_yaml_load_text(name, text, len, &doc_schema, &doc, err);

	if (rc)
		return rc;
	rc = convert(name, doc, out, err);
	hes_yaml_free(&doc_schema, doc);
	return rc;
}

void hes_catalogue_free(struct hes_catalogue *c)
{
	free(c->types);
	*c = (struct hes_catalogue){ 0 };
}

const struct hes_gpu_type *hes_gpu_type_find(const struct hes_catalogue *c, const char *name,
					     struct hes_err *err)
{
	char have[400] = "";
	size_t at = 0;

	for (size_t i = 0; i < c->n; i++)
		if (strcmp(c->types[i].name, name) == 0)
			return &c->types[i];
	for (size_t i = 0; err && i < c->n && at < sizeof(have); i++)
		at += (size_t)snprintf(have + at, sizeof(have) - at, "%s%s", i ? ", " : "",
				       c->types[i].name);
	hes_fail(err, -ENOENT, "unknown GPU type \"%s\"; known: %s", name, have);
	return NULL;
}

bool hes_gpu_type_has_clock(const struct hes_gpu_type *g, uint32_t clock_mhz)
{
	for (size_t i = 0; i < g->n_clocks; i++)
		if (g->clocks_mhz[i] == clock_mhz)
			return true;
	if (g->clock_step_mhz <= 0 || clock_mhz < g->clock_min_mhz || clock_mhz > g->clock_max_mhz)
		return false;
	for (double f = g->clock_max_mhz; f >= g->clock_min_mhz; f -= g->clock_step_mhz)
		if ((uint32_t)f == clock_mhz)
			return true;
	return false;
}
