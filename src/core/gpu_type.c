/*
 * gpu_type.c - read catalogues of GPU types from YAML; find types by name and by the driver's name;
 * see gpu_type.h.
 */
#include "heshare/gpu_type.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/data.h"
#include "base/texts.h"
#include "base/yaml.h"

#define MEMORY_TOLERANCE 0.1 /* error correction takes a sixteenth, drivers keep some */

/* Document shape; one to one with data/gpu_types.yaml. */
struct doc_clocks {
	double min, max, step, default_mhz, static_mhz;
	double *list;
	unsigned list_count;
};

struct doc_type {
	char *name;
	char **driver_names;
	unsigned driver_names_count;
	double compute;
	uint32_t sms, memory_mib, l2_kib;
	double bandwidth_gbs, pcie_gbs, power_limit_w, default_limit_w, static_limit_w, idle_w;
	struct doc_clocks clocks;
};

struct doc {
	struct doc_type *types;
	unsigned types_count;
};

static const cyaml_schema_value_t clock_value = { CYAML_VALUE_FLOAT(CYAML_FLAG_DEFAULT, double) };

static const cyaml_schema_field_t clock_fields[] = {
	CYAML_FIELD_FLOAT("min", CYAML_FLAG_DEFAULT, struct doc_clocks, min),
	CYAML_FIELD_FLOAT("max", CYAML_FLAG_DEFAULT, struct doc_clocks, max),
	CYAML_FIELD_FLOAT("step", CYAML_FLAG_OPTIONAL, struct doc_clocks, step),
	CYAML_FIELD_FLOAT("default", CYAML_FLAG_DEFAULT, struct doc_clocks, default_mhz),
	CYAML_FIELD_FLOAT("static", CYAML_FLAG_OPTIONAL, struct doc_clocks, static_mhz),
	CYAML_FIELD_SEQUENCE("list", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct doc_clocks,
			     list, &clock_value, 0, HES_MAX_CLOCKS),
	CYAML_FIELD_END
};

static const cyaml_schema_value_t driver_name_value = {
	CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 1, HES_DRIVER_NAME_MAX - 1),
};

static const cyaml_schema_field_t type_fields[] = {
	CYAML_FIELD_STRING_PTR("name", CYAML_FLAG_POINTER, struct doc_type, name, 1,
			       HES_NAME_MAX - 1),
	CYAML_FIELD_SEQUENCE("driver_names", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
			     struct doc_type, driver_names, &driver_name_value, 0,
			     HES_DRIVER_NAMES),
	CYAML_FIELD_FLOAT("compute", CYAML_FLAG_OPTIONAL, struct doc_type, compute),
	CYAML_FIELD_UINT("sms", CYAML_FLAG_DEFAULT, struct doc_type, sms),
	CYAML_FIELD_UINT("memory_mib", CYAML_FLAG_DEFAULT, struct doc_type, memory_mib),
	CYAML_FIELD_FLOAT("bandwidth_gbs", CYAML_FLAG_DEFAULT, struct doc_type, bandwidth_gbs),
	CYAML_FIELD_UINT("l2_kib", CYAML_FLAG_DEFAULT, struct doc_type, l2_kib),
	CYAML_FIELD_FLOAT("pcie_gbs", CYAML_FLAG_OPTIONAL, struct doc_type, pcie_gbs),
	CYAML_FIELD_FLOAT("power_limit_w", CYAML_FLAG_DEFAULT, struct doc_type, power_limit_w),
	CYAML_FIELD_FLOAT("default_limit_w", CYAML_FLAG_OPTIONAL, struct doc_type, default_limit_w),
	CYAML_FIELD_FLOAT("static_limit_w", CYAML_FLAG_OPTIONAL, struct doc_type, static_limit_w),
	CYAML_FIELD_FLOAT("idle_w", CYAML_FLAG_DEFAULT, struct doc_type, idle_w),
	CYAML_FIELD_MAPPING("clocks", CYAML_FLAG_DEFAULT, struct doc_type, clocks, clock_fields),
	CYAML_FIELD_END
};

static const cyaml_schema_value_t type_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct doc_type, type_fields),
};

static const cyaml_schema_field_t doc_fields[] = {
	CYAML_FIELD_SEQUENCE("types", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct doc, types,
			     &type_value, 0, 1000),
	CYAML_FIELD_IGNORE("workloads", CYAML_FLAG_OPTIONAL), /* params.c in src/model reads them */
	CYAML_FIELD_END
};

static const cyaml_schema_value_t doc_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct doc, doc_fields),
};

struct range {
	const char *field;
	double value, min, max;
	const char *unit;
};

static int check_ranges(const char *file, const struct doc_type *d, struct hes_err *err)
{
	const struct range ranges[] = {
		{ "compute", d->compute, 0, 99, "(compute capability)" },
		{ "sms", d->sms, 1, 10000, "SMs" },
		{ "memory_mib", d->memory_mib, 16, 16777216, "MiB" },
		{ "bandwidth_gbs", d->bandwidth_gbs, 1, 100000, "GB/s" },
		{ "l2_kib", d->l2_kib, 16, 16777216, "KiB" },
		{ "pcie_gbs", d->pcie_gbs, 0, 10000, "GB/s" },
		{ "power_limit_w", d->power_limit_w, 1, 10000, "W" },
		{ "default_limit_w", d->default_limit_w > 0 ? d->default_limit_w : 1, 1, 10000,
		  "W" },
		{ "idle_w", d->idle_w, 0, d->power_limit_w, "W" },
		{ "static_limit_w", d->static_limit_w > 0 ? d->static_limit_w : d->power_limit_w,
		  d->idle_w, d->power_limit_w, "W" },
		{ "clocks.min", d->clocks.min, 1, 10000, "MHz" },
		{ "clocks.max", d->clocks.max, d->clocks.min, 10000, "MHz" },
		{ "clocks.default", d->clocks.default_mhz, d->clocks.min, d->clocks.max, "MHz" },
		{ "clocks.step", d->clocks.step, 0, 10000, "MHz" },
		{ "clocks.static", d->clocks.static_mhz > 0 ? d->clocks.static_mhz : d->clocks.min,
		  d->clocks.min, d->clocks.default_mhz, "MHz" },
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		const struct range *r = &ranges[i];

		if (!(r->value >= r->min && r->value <= r->max))
			return hes_fail(err, -ERANGE,
					"%s: type %s: %s is %g; it must be from %g to %g %s", file,
					d->name, r->field, r->value, r->min, r->max, r->unit);
	}
	if (d->idle_w == d->power_limit_w)
		return hes_fail(err, -ERANGE,
				"%s: type %s: idle_w is %g; it must be below power_limit_w", file,
				d->name, d->idle_w);
	if (d->clocks.step > 0 && d->clocks.step < 0.1) /* clocks are walked step by step */
		return hes_fail(err, -ERANGE,
				"%s: type %s: clocks.step is %g; it must be at least 0.1 MHz", file,
				d->name, d->clocks.step);
	if (d->clocks.step == 0 && d->clocks.list_count == 0)
		return hes_fail(err, -EINVAL, "%s: type %s: clocks needs a step or a list", file,
				d->name);
	for (unsigned i = 0; i < d->clocks.list_count; i++)
		if (!(d->clocks.list[i] >= d->clocks.min && d->clocks.list[i] <= d->clocks.max) ||
		    (i && d->clocks.list[i] <= d->clocks.list[i - 1]))
			return hes_fail(err, -ERANGE,
					"%s: type %s: clocks.list[%u] is %g; the list must rise "
					"from min to max",
					file, d->name, i, d->clocks.list[i]);
	return 0;
}

void hes_gpu_type_choose_clocks(struct hes_gpu_type *g)
{
	double from = g->clock_default_mhz, low = fmax(from / 4, g->clock_min_mhz);
	long steps = (long)floor((from - low) / g->clock_step_mhz);

	g->n_clocks = 0;
	for (long i = 0; i < HES_MAX_CLOCKS; i++) {
		long down = steps * (HES_MAX_CLOCKS - 1 - i) / (HES_MAX_CLOCKS - 1);
		uint32_t mhz = (uint32_t)(from - (double)down * g->clock_step_mhz);

		if (g->n_clocks == 0 || mhz > g->clocks_mhz[g->n_clocks - 1])
			g->clocks_mhz[g->n_clocks++] = mhz;
	}
}

static void fill(struct hes_gpu_type *g, const struct doc_type *d)
{
	*g = (struct hes_gpu_type){
		.compute = (uint32_t)lround(10 * d->compute),
		.sm_count = d->sms,
		.memory_mib = d->memory_mib,
		.memory_bandwidth_gbs = (uint32_t)lround(d->bandwidth_gbs),
		.l2_kib = d->l2_kib,
		.pcie_gbs = d->pcie_gbs,
		.power_limit_mw = (uint32_t)lround(d->power_limit_w * 1e3),
		.default_limit_mw = (uint32_t)lround(d->default_limit_w * 1e3),
		.idle_power_mw = (uint32_t)lround(d->idle_w * 1e3),
		.clock_min_mhz = (uint32_t)d->clocks.min,
		.clock_max_mhz = (uint32_t)d->clocks.max,
		.clock_step_mhz = d->clocks.step,
		.clock_default_mhz = (uint32_t)d->clocks.default_mhz,
		.clock_static_mhz = (uint32_t)d->clocks.static_mhz,
		.limit_static_mw = (uint32_t)lround(d->static_limit_w * 1e3),
	};
	strcpy(g->name, d->name);
	for (unsigned i = 0; i < d->driver_names_count; i++)
		strcpy(g->driver_names[i], d->driver_names[i]);
	for (; g->n_clocks < d->clocks.list_count; g->n_clocks++)
		g->clocks_mhz[g->n_clocks] = (uint32_t)d->clocks.list[g->n_clocks];
	if (!g->n_clocks)
		hes_gpu_type_choose_clocks(g);
}

static int convert(const char *file, const struct doc *doc, struct hes_catalogue *out,
		   struct hes_err *err)
{
	struct hes_catalogue c = { .types = calloc(doc->types_count + 1, sizeof(*c.types)) };

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

int hes_catalogue_put(struct hes_catalogue *c, const struct hes_gpu_type *types, size_t n,
		      struct hes_err *err)
{
	struct hes_gpu_type *all = realloc(c->types, (c->n + n + 1) * sizeof(*all));

	if (!all)
		return hes_fail(err, -ENOMEM, "out of memory for %zu GPU types", c->n + n);
	c->types = all;
	for (size_t i = 0; i < n; i++) {
		const struct hes_gpu_type *there = hes_gpu_type_find(c, types[i].name, NULL);

		all[there ? (size_t)(there - all) : c->n++] = types[i];
	}
	return 0;
}

int hes_catalogue_add(struct hes_catalogue *c, const char *path, struct hes_err *err)
{
	struct hes_catalogue more;
	int rc = hes_catalogue_load(path, &more, err);

	if (rc)
		return rc;
	rc = hes_catalogue_put(c, more.types, more.n, err);
	hes_catalogue_free(&more);
	return rc;
}

void hes_catalogue_free(struct hes_catalogue *c)
{
	free(c->types);
	*c = (struct hes_catalogue){ 0 };
}

static bool has_text(const char *name, const char *text)
{
	for (size_t n = strlen(text); strlen(name) >= n; name++)
		if (strncasecmp(name, text, n) == 0)
			return true;
	return false;
}

/* Names of types that have @like in them, whatever its case, with commas. */
static void list_names(const struct hes_catalogue *c, const char *like, char *out, size_t size)
{
	for (size_t i = 0; i < c->n; i++)
		if (has_text(c->types[i].name, like))
			hes_text_add(out, size, ", ", "%s", c->types[i].name);
}

const struct hes_gpu_type *hes_gpu_type_find(const struct hes_catalogue *c, const char *name,
					     struct hes_err *err)
{
	char like[300] = "", have[400] = "";

	for (size_t i = 0; i < c->n; i++)
		if (strcmp(c->types[i].name, name) == 0)
			return &c->types[i];
	if (!err)
		return NULL;
	list_names(c, name, like, sizeof(like));
	list_names(c, "", have, sizeof(have));
	if (*name && name[1] && *like) /* one letter is in many names */
		hes_fail(err, -ENOENT, "unknown GPU type \"%s\"; did you mean %s?", name, like);
	else
		hes_fail(err, -ENOENT,
			 "unknown GPU type \"%s\"; known: %s; --catalogue FILE adds others", name,
			 have);
	return NULL;
}

/* The name without the maker's: drivers before 465 say "Tesla T4" and "GeForce RTX 3090", later
 * ones "NVIDIA T4". */
static const char *bare_name(const char *driver_name)
{
	static const char *const makers[] = { "NVIDIA ", "Tesla " };

	for (size_t i = 0; i < 2; i++)
		if (strncasecmp(driver_name, makers[i], strlen(makers[i])) == 0)
			driver_name += strlen(makers[i]);
	return driver_name;
}

static bool is_called(const struct hes_gpu_type *g, const char *driver_name)
{
	for (size_t i = 0; i < HES_DRIVER_NAMES && g->driver_names[i][0]; i++)
		if (strcasecmp(bare_name(g->driver_names[i]), bare_name(driver_name)) == 0)
			return true;
	return false;
}

const struct hes_gpu_type *hes_gpu_type_of_driver(const struct hes_catalogue *c,
						  const char *driver_name, uint32_t memory_mib)
{
	const struct hes_gpu_type *found = NULL;
	double least = MEMORY_TOLERANCE;

	for (size_t i = 0; i < c->n; i++) {
		double off = memory_mib ? fabs((double)memory_mib / c->types[i].memory_mib - 1) : 0;

		if (off <= least && is_called(&c->types[i], driver_name)) {
			found = &c->types[i];
			least = off;
		}
	}
	return found;
}

void hes_gpu_type_name(const char *driver_name, char out[HES_NAME_MAX])
{
	size_t n = 0;

	for (const char *at = bare_name(driver_name); *at && n < HES_NAME_MAX - 1; at++)
		if (isalnum((unsigned char)*at) || strchr("._-", *at))
			out[n++] = *at;
		else if (n && out[n - 1] != '-')
			out[n++] = '-';
	while (n && out[n - 1] == '-')
		n--;
	out[n] = '\0';
	if (!n)
		strcpy(out, "GPU");
}

void hes_gpu_type_limit(struct hes_gpu_type *g, uint32_t limit_mw)
{
	const uint32_t standard_mw = hes_gpu_type_default_limit_mw(g);

	if (!limit_mw || limit_mw <= g->idle_power_mw)
		return;
	g->power_limit_mw = limit_mw;
	g->default_limit_mw = limit_mw == standard_mw ? 0 : standard_mw;
}

/* Before heshare had a setting for it, what was measured without a lock had the row's default. */
bool hes_gpu_type_is_unlocked(const struct hes_gpu_type *g, uint32_t clock_mhz)
{
	return !clock_mhz || clock_mhz == g->clock_default_mhz || clock_mhz == g->clock_row_mhz;
}

uint32_t hes_gpu_type_clock(const struct hes_gpu_type *g, uint32_t clock_mhz)
{
	return hes_gpu_type_is_unlocked(g, clock_mhz) ? g->clock_default_mhz : clock_mhz;
}

uint32_t hes_gpu_type_static_clock(const struct hes_gpu_type *g)
{
	size_t i = g->n_clocks;

	if (g->n_clocks == 1)
		return g->clocks_mhz[0];
	if (g->clock_static_mhz && g->clock_static_mhz <= g->clock_default_mhz)
		return g->clock_static_mhz;
	while (i > 1 && g->clocks_mhz[i - 1] > HES_STATIC_CLOCK_PART * g->clock_default_mhz)
		i--;
	return g->clocks_mhz[i - 1];
}

uint32_t hes_gpu_type_static_limit_mw(const struct hes_gpu_type *g)
{
	const uint32_t mw = g->limit_static_mw ? g->limit_static_mw
					       : (uint32_t)lround(HES_STATIC_LIMIT_PART *
								  hes_gpu_type_default_limit_mw(g));

	return mw < g->power_limit_mw ? mw : g->power_limit_mw;
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
