/*
 * fleet.c - read fleets from YAML; see fleet.h.
 *
 * A file lists nodes with the types and numbers of their GPUs. The GPUs of a node are numbered from
 * 0: "gpu0/3".
 */
#include "heshare/fleet.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/plural.h"
#include "base/utf8.h"
#include "base/yaml.h"

struct doc_gpus {
	char *type;
	uint32_t count;
	double power_limit_w; /* 0: the type's */
};

struct doc_node {
	char *name;
	uint32_t repeat; /* 0: one node; else NAME1 .. NAMEn */
	struct doc_gpus *gpus;
	unsigned gpus_count;
};

struct doc {
	char *name;
	struct doc_node *nodes;
	unsigned nodes_count;
};

static const cyaml_schema_field_t gpus_fields[] = {
	CYAML_FIELD_STRING_PTR("type", CYAML_FLAG_POINTER, struct doc_gpus, type, 1,
			       HES_NAME_MAX - 1),
	CYAML_FIELD_UINT("count", CYAML_FLAG_DEFAULT, struct doc_gpus, count),
	CYAML_FIELD_FLOAT("power_limit_w", CYAML_FLAG_OPTIONAL, struct doc_gpus, power_limit_w),
	CYAML_FIELD_END
};

static const cyaml_schema_value_t gpus_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct doc_gpus, gpus_fields),
};

static const cyaml_schema_field_t node_fields[] = {
	CYAML_FIELD_STRING_PTR("name", CYAML_FLAG_POINTER, struct doc_node, name, 1, 32),
	CYAML_FIELD_UINT("repeat", CYAML_FLAG_OPTIONAL, struct doc_node, repeat),
	CYAML_FIELD_SEQUENCE("gpus", CYAML_FLAG_POINTER, struct doc_node, gpus, &gpus_value, 1, 64),
	CYAML_FIELD_END
};

static const cyaml_schema_value_t node_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct doc_node, node_fields),
};

static const cyaml_schema_field_t doc_fields[] = {
	CYAML_FIELD_STRING_PTR("name", CYAML_FLAG_POINTER, struct doc, name, 1, HES_NAME_MAX - 1),
	CYAML_FIELD_SEQUENCE("nodes", CYAML_FLAG_POINTER, struct doc, nodes, &node_value, 1,
			     HES_MAX_GPUS),
	CYAML_FIELD_END
};

static const cyaml_schema_value_t doc_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct doc, doc_fields),
};

static const char name_bytes[] =
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

/* @param limits  GPUs of a node with a power limit of their own, at most */
static int count_gpus(const char *file, const struct doc *d, size_t *out, size_t *limits,
		      struct hes_err *err)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < d->nodes_count; i++) {
		const struct doc_node *node = &d->nodes[i];

		if (node->name[strspn(node->name, name_bytes)])
			return hes_fail(err, -EINVAL,
					"%s: nodes[%u].name: \"%s\" may hold letters, digits, '.', "
					"'_' and '-' only",
					file, i, node->name);
		for (unsigned k = 0; k < node->gpus_count; k++) {
			if (node->gpus[k].count < 1 || node->gpus[k].count > 64)
				return hes_fail(
					err, -ERANGE,
					"%s: nodes[%u].gpus[%u].count: %u is outside 1 to 64", file,
					i, k, node->gpus[k].count);
			n += (uint64_t)node->gpus[k].count * (node->repeat ? node->repeat : 1);
			*limits += node->gpus[k].power_limit_w != 0;
		}
		if (n > HES_MAX_GPUS)
			return hes_fail(err, -ERANGE, "%s: more than %d GPUs", file, HES_MAX_GPUS);
	}
	*out = (size_t)n;
	return 0;
}

static void add_node(struct hes_fleet *f, const char *name, const struct doc_node *node,
		     const struct hes_gpu_type *const *types)
{
	unsigned number = 0;

	for (unsigned k = 0; k < node->gpus_count; k++)
		for (uint32_t i = 0; i < node->gpus[k].count; i++) {
			struct hes_gpu *g = &f->gpus[f->n++];

			g->type = types[k];
			snprintf(g->node, sizeof(g->node), "%s", name);
			snprintf(g->name, sizeof(g->name), "%.40s/%u", name, number++);
		}
}

static int add_nodes(const char *file, unsigned i, const struct doc_node *node,
		     const struct hes_catalogue *c, struct hes_fleet *f, struct hes_err *err)
{
	const struct hes_gpu_type *types[64];
	char name[44];

	for (unsigned k = 0; k < node->gpus_count; k++) {
		const double limit_w = node->gpus[k].power_limit_w;

		types[k] = hes_gpu_type_find(c, node->gpus[k].type, err);
		if (!types[k]) {
			hes_fail_in(err, "%s: nodes[%u].gpus[%u].type", file, i, k);
			return -ENOENT;
		}
		if (limit_w != 0 && !(limit_w * 1e3 > types[k]->idle_power_mw && limit_w <= 10000))
			return hes_fail(err, -ERANGE,
					"%s: nodes[%u].gpus[%u].power_limit_w: %g is not above the "
					"%g W that %s %s draws when idle, and at most 10000",
					file, i, k, limit_w, types[k]->idle_power_mw * 1e-3,
					hes_article(types[k]->name), types[k]->name);
		types[k] = hes_fleet_limit(f, types[k], limit_w);
	}
	if (!node->repeat)
		add_node(f, node->name, node, types);
	for (uint32_t r = 1; r <= node->repeat; r++) {
		snprintf(name, sizeof(name), "%.32s%u", node->name, r);
		add_node(f, name, node, types);
	}
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(const struct hes_gpu *const *)a)->name,
		      (*(const struct hes_gpu *const *)b)->name);
}

/* A repeated node's names may meet those of another: "a" repeated gives a1, a2. */
static int check_unique(const char *file, const struct hes_fleet *f, struct hes_err *err)
{
	const struct hes_gpu **sorted = calloc(f->n, sizeof(const struct hes_gpu *));
	int rc = 0;

	if (!sorted)
		return hes_fail(err, -ENOMEM, "%s: out of memory for %zu GPUs", file, f->n);
	for (size_t i = 0; i < f->n; i++)
		sorted[i] = &f->gpus[i];
	qsort(sorted, f->n, sizeof(const struct hes_gpu *), by_name);
	for (size_t i = 1; i < f->n && !rc; i++)
		if (strcmp(sorted[i - 1]->name, sorted[i]->name) == 0)
			rc = hes_fail(err, -EEXIST,
				      "%s: nodes: two nodes are called %s; names must differ", file,
				      sorted[i]->node);
	free(sorted);
	return rc;
}

static int convert(const char *file, const struct doc *d, const struct hes_catalogue *c,
		   struct hes_fleet *out, struct hes_err *err)
{
	struct hes_fleet f = { 0 };
	size_t n = 0, limits = 0;
	int rc = hes_check_name("name", d->name, HES_NAME_MAX - 1, err);

	if (rc) {
		hes_fail_in(err, "%s", file);
		return rc;
	}
	rc = count_gpus(file, d, &n, &limits, err);
	if (rc)
		return rc;
	f.gpus = calloc(n, sizeof(*f.gpus));
	f.limited = calloc(limits + 1, sizeof(*f.limited));
	if (!f.gpus || !f.limited) {
		hes_fleet_free(&f);
		return hes_fail(err, -ENOMEM, "%s: out of memory for %zu GPUs", file, n);
	}
	strcpy(f.name, d->name);
	for (unsigned i = 0; i < d->nodes_count && !rc; i++)
		rc = add_nodes(file, i, &d->nodes[i], c, &f, err);
	if (!rc)
		rc = check_unique(file, &f, err);
	if (rc)
		hes_fleet_free(&f);
	else
		*out = f;
	return rc;
}

int hes_fleet_parse(const char *name, const char *text, size_t len, const struct hes_catalogue *c,
		    struct hes_fleet *out, struct hes_err *err)
{
	void *doc;
	int rc = hes_yaml_load_text(name, text, len, &doc_schema, &doc, err);

	if (rc)
		return rc;
	rc = convert(name, doc, c, out, err);
	hes_yaml_free(&doc_schema, doc);
	return rc;
}

int hes_fleet_load(const char *path, const struct hes_catalogue *c, struct hes_fleet *out,
		   struct hes_err *err)
{
	char *text;
	size_t len;
	int rc = hes_file_slurp(path, (size_t)64 << 20, &text, &len, err);

	if (rc)
		return rc;
	rc = hes_fleet_parse(path, text, len, c, out, err);
	free(text);
	return rc;
}

void hes_fleet_free(struct hes_fleet *f)
{
	free(f->gpus);
	free(f->limited);
	*f = (struct hes_fleet){ 0 };
}

const struct hes_gpu_type *hes_fleet_limit(struct hes_fleet *f, const struct hes_gpu_type *g,
					   double limit_w)
{
	struct hes_gpu_type limited = *g;

	hes_gpu_type_limit(&limited, (uint32_t)lround(limit_w * 1e3));
	if (limited.power_limit_mw == g->power_limit_mw)
		return g;
	for (size_t i = 0; i < f->n_limited; i++)
		if (f->limited[i].power_limit_mw == limited.power_limit_mw &&
		    strcmp(f->limited[i].name, g->name) == 0)
			return &f->limited[i];
	f->limited[f->n_limited] = limited;
	return &f->limited[f->n_limited++];
}

int hes_fleet_lower(const struct hes_fleet *f, struct hes_fleet *out)
{
	struct hes_fleet lower = *f;

	lower.gpus = malloc((f->n + 1) * sizeof(*lower.gpus));
	lower.limited = calloc(f->n + 1, sizeof(*lower.limited));
	lower.n_limited = 0;
	if (!lower.gpus || !lower.limited) {
		free(lower.gpus);
		free(lower.limited);
		return -ENOMEM;
	}
	memcpy(lower.gpus, f->gpus, f->n * sizeof(*lower.gpus));
	for (size_t i = 0; i < f->n; i++) {
		const struct hes_gpu_type *g = f->gpus[i].type;

		lower.gpus[i].type =
			hes_fleet_limit(&lower, g, hes_gpu_type_static_limit_mw(g) * 1e-3);
	}
	*out = lower;
	return 0;
}

long hes_fleet_find(const struct hes_fleet *f, const char *name)
{
	for (size_t i = 0; i < f->n; i++)
		if (strcmp(f->gpus[i].name, name) == 0)
			return (long)i;
	return -1;
}

size_t hes_fleet_types(const struct hes_fleet *f, const struct hes_gpu_type **out, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++) {
		bool seen = false;

		for (size_t k = 0; k < n && !seen; k++)
			seen = out[k] == f->gpus[i].type;
		if (!seen && n < max)
			out[n++] = f->gpus[i].type;
	}
	return n;
}
