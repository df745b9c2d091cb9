/*
 * params.c - physics parameters: their tables, the YAML file, look-ups;
 * see params.h and data/physics.yaml.
 */
#include "model/params.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/data.h"
#include "base/texts.h"
#include "base/yaml.h"

/* name, least, most: the one list of each kind's parameters. Files of older versions lack those
 * that are called later ones. */
/* clang-format off */
#define WORKLOAD_PARAMS(X) \
	X(host_us, 0, 1e9) \
	X(serial_us, 0, 1e9) \
	X(serial_us_per_item, 0, 1e9) \
	X(copy_mib_per_item, 0, 1e6) \
	X(kernels, 0, 1e6) \
	X(gflop_per_item, 0, 1e9) \
	X(efficiency, 1e-6, 10) \
	X(winograd, 0, 1) \
	X(padding, 0, 1) \
	X(parallel_sms, 1e-3, 1e6) \
	X(parallel_growth, 0, 1) \
	X(traffic_mib, 0, 1e9) \
	X(traffic_mib_per_item, 0, 1e9) \
	X(working_set_mib, 0, 1e6) \
	X(activity, 0, 10) \
	X(memory_mib, 0, 1e7) \
	X(memory_mib_per_item, 0, 1e6)

#define GPU_PARAMS(X) \
	X(bandwidth_fraction, 0.05, 1) \
	X(saturating_share, 0.01, 4) \
	X(launch_us, 0, 1000) \
	X(pcie_gbs, 0.1, 1000) \
	X(host_factor, 0.05, 20) \
	X(context_w, 0, 1000) \
	X(switch_w, 0, 5000) \
	X(stall, 0, 2) \
	X(dram_w, 0, 1000) \
	X(volt_min, 0.3, 1) \
	X(volt_knee, 0, 0.999) \
	X(volt_bend, 0.3, 5) \
	X(limiter_ms, 0, 1e5)

#define LATER_GPU_PARAMS(X) \
	X(clocked_w, 0, 1000) \
	X(interference, 0, 100) \
	X(volt_spread, 0, 1) \
	X(interference_spread, 0, 2)

#define NATURE_PARAMS(X) \
	X(sm_sharpness, 0.5, 50) \
	X(host_sharpness, 0.5, 50) \
	X(fp32_reach, 0.1, 3) \
	X(transfer_interference, 0, 10) \
	X(host_interference, 0, 10)

#define LATER_NATURE_PARAMS(X) X(crowding, 0, 1)

#define EAGER_PARAMS(X) \
	X(host_us, 0, 1e9) \
	X(host_spread, 0, 3) \
	X(start_s, 0, 1e7) \
	X(start_spread, 0, 3)
/* clang-format on */

#define WORKLOAD_ROW(m, lo, hi) { #m, offsetof(struct hes_workload, m), lo, hi },
#define GPU_ROW(m, lo, hi)      { #m, offsetof(struct hes_gpu_physics, m), lo, hi },
#define NATURE_ROW(m, lo, hi)   { #m, offsetof(struct hes_nature, m), lo, hi },
#define EAGER_ROW(m, lo, hi)    { #m, offsetof(struct hes_eager, m), lo, hi },
#define COUNT(a)                (sizeof(a) / sizeof((a)[0]))

const struct hes_param hes_workload_params[] = { WORKLOAD_PARAMS(WORKLOAD_ROW) };
const size_t hes_workload_param_count = COUNT(hes_workload_params);
const struct hes_param hes_gpu_params[] = {
	{ "rate_fp32", offsetof(struct hes_gpu_physics, rate[HES_MATH_FP32]), 1, 1e6 },
	{ "rate_tf32", offsetof(struct hes_gpu_physics, rate[HES_MATH_TF32]), 0, 1e6 },
	{ "rate_fp16", offsetof(struct hes_gpu_physics, rate[HES_MATH_FP16]), 1, 1e6 },
	GPU_PARAMS(GPU_ROW) LATER_GPU_PARAMS(GPU_ROW)
};
const size_t hes_gpu_param_count = COUNT(hes_gpu_params);
const struct hes_param hes_nature_params[] = { NATURE_PARAMS(NATURE_ROW)
						       LATER_NATURE_PARAMS(NATURE_ROW) };
const struct hes_param hes_eager_params[] = { EAGER_PARAMS(EAGER_ROW) };
const size_t hes_eager_param_count = COUNT(hes_eager_params);
const size_t hes_nature_param_count = COUNT(hes_nature_params);

static const cyaml_strval_t math_names[] = {
	{ "fp32", HES_MATH_FP32 },
	{ "tf32", HES_MATH_TF32 },
	{ "fp16", HES_MATH_FP16 },
};
static const cyaml_strval_t load_names[] = {
	{ "low", HES_LOAD_LOW },
	{ "medium", HES_LOAD_MEDIUM },
	{ "high", HES_LOAD_HIGH },
};

static const cyaml_strval_t style_names[] = {
	{ "eager", HES_STYLE_EAGER },
	{ "graphs", HES_STYLE_GRAPHS },
};

/* Document shape; the entries are the structs of the model themselves. */
struct doc {
	struct hes_nature nature;
	struct hes_eager eager;
	struct hes_gpu_physics *gpus;
	unsigned gpus_count;
	struct hes_workload *workloads;
	unsigned workloads_count;
	struct hes_held_out *held_out;
	unsigned held_out_count;
};

/* clang-format off */
#define WORKLOAD_FIELD(m, lo, hi) \
	CYAML_FIELD_FLOAT(#m, (lo) > 0 ? CYAML_FLAG_DEFAULT : CYAML_FLAG_OPTIONAL, \
			  struct hes_workload, m),
#define GPU_FIELD(m, lo, hi) \
	CYAML_FIELD_FLOAT(#m, CYAML_FLAG_DEFAULT, struct hes_gpu_physics, m),
#define LATER_GPU_FIELD(m, lo, hi) \
	CYAML_FIELD_FLOAT(#m, CYAML_FLAG_OPTIONAL, struct hes_gpu_physics, m),
#define NATURE_FIELD(m, lo, hi) \
	CYAML_FIELD_FLOAT(#m, CYAML_FLAG_DEFAULT, struct hes_nature, m),
#define LATER_NATURE_FIELD(m, lo, hi) \
	CYAML_FIELD_FLOAT(#m, CYAML_FLAG_OPTIONAL, struct hes_nature, m),
#define EAGER_FIELD(m, lo, hi) \
	CYAML_FIELD_FLOAT(#m, CYAML_FLAG_DEFAULT, struct hes_eager, m),
/* clang-format on */

static const cyaml_schema_field_t factors_fields[] = {
	CYAML_FIELD_FLOAT("low", CYAML_FLAG_DEFAULT, struct hes_factors, low),
	CYAML_FIELD_FLOAT("high", CYAML_FLAG_DEFAULT, struct hes_factors, high), CYAML_FIELD_END
};

static const cyaml_schema_field_t workload_fields[] = {
	CYAML_FIELD_STRING("name", CYAML_FLAG_DEFAULT, struct hes_workload, name, 1),
	CYAML_FIELD_STRING("framework", CYAML_FLAG_DEFAULT, struct hes_workload, framework, 1),
	CYAML_FIELD_STRING("origin", CYAML_FLAG_DEFAULT, struct hes_workload, origin, 1),
	CYAML_FIELD_BOOL("testbed", CYAML_FLAG_OPTIONAL, struct hes_workload, testbed),
	CYAML_FIELD_ENUM("load", CYAML_FLAG_OPTIONAL, struct hes_workload, load, load_names,
			 COUNT(load_names)),
	CYAML_FIELD_ENUM("math", CYAML_FLAG_DEFAULT, struct hes_workload, math, math_names,
			 COUNT(math_names)),
	CYAML_FIELD_ENUM("style", CYAML_FLAG_OPTIONAL, struct hes_workload, style, style_names,
			 COUNT(style_names)),
	CYAML_FIELD_FLOAT("start_s", CYAML_FLAG_OPTIONAL, struct hes_workload, start_s),
	WORKLOAD_PARAMS(WORKLOAD_FIELD)
		CYAML_FIELD_MAPPING("time_factors", CYAML_FLAG_OPTIONAL, struct hes_workload,
				    time_factors, factors_fields),
	CYAML_FIELD_MAPPING("power_factors", CYAML_FLAG_OPTIONAL, struct hes_workload,
			    power_factors, factors_fields),
	CYAML_FIELD_END
};

static const cyaml_schema_field_t gpu_fields[] = {
	CYAML_FIELD_STRING("type", CYAML_FLAG_DEFAULT, struct hes_gpu_physics, type, 1),
	CYAML_FIELD_STRING("origin", CYAML_FLAG_DEFAULT, struct hes_gpu_physics, origin, 1),
	CYAML_FIELD_FLOAT("rate_fp32", CYAML_FLAG_DEFAULT, struct hes_gpu_physics,
			  rate[HES_MATH_FP32]),
	CYAML_FIELD_FLOAT("rate_tf32", CYAML_FLAG_DEFAULT, struct hes_gpu_physics,
			  rate[HES_MATH_TF32]),
	CYAML_FIELD_FLOAT("rate_fp16", CYAML_FLAG_DEFAULT, struct hes_gpu_physics,
			  rate[HES_MATH_FP16]),
	GPU_PARAMS(GPU_FIELD) LATER_GPU_PARAMS(LATER_GPU_FIELD) CYAML_FIELD_END
};

static const cyaml_schema_field_t nature_fields[] = { NATURE_PARAMS(
	NATURE_FIELD) LATER_NATURE_PARAMS(LATER_NATURE_FIELD) CYAML_FIELD_END };

static const cyaml_schema_field_t eager_fields[] = {
	CYAML_FIELD_STRING("origin", CYAML_FLAG_DEFAULT, struct hes_eager, origin, 1),
	EAGER_PARAMS(EAGER_FIELD) CYAML_FIELD_END
};

static const cyaml_schema_field_t held_out_fields[] = {
	CYAML_FIELD_STRING("workload", CYAML_FLAG_DEFAULT, struct hes_held_out, workload, 1),
	CYAML_FIELD_MAPPING("nature", CYAML_FLAG_DEFAULT, struct hes_held_out, nature,
			    nature_fields),
	CYAML_FIELD_END
};

static const cyaml_schema_value_t held_out_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct hes_held_out, held_out_fields),
};
static const cyaml_schema_value_t workload_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct hes_workload, workload_fields),
};
static const cyaml_schema_value_t gpu_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct hes_gpu_physics, gpu_fields),
};
static const cyaml_schema_field_t doc_fields[] = {
	CYAML_FIELD_MAPPING("nature", CYAML_FLAG_DEFAULT, struct doc, nature, nature_fields),
	CYAML_FIELD_MAPPING("eager", CYAML_FLAG_OPTIONAL, struct doc, eager, eager_fields),
	CYAML_FIELD_SEQUENCE("gpus", CYAML_FLAG_POINTER, struct doc, gpus, &gpu_value, 1, 1000),
	CYAML_FIELD_SEQUENCE("workloads", CYAML_FLAG_POINTER, struct doc, workloads,
			     &workload_value, 1, 10000),
	CYAML_FIELD_SEQUENCE("held_out", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct doc,
			     held_out, &held_out_value, 0, 1000),
	CYAML_FIELD_END
};
static const cyaml_schema_value_t doc_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct doc, doc_fields),
};

/* A catalogue, whose GPU types are read by gpu_type.c. */
struct own_doc {
	struct hes_workload *workloads;
	unsigned workloads_count;
};

static const cyaml_schema_field_t own_fields[] = {
	CYAML_FIELD_IGNORE("types", CYAML_FLAG_OPTIONAL),
	CYAML_FIELD_SEQUENCE("workloads", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct own_doc,
			     workloads, &workload_value, 0, 10000),
	CYAML_FIELD_END
};
static const cyaml_schema_value_t own_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct own_doc, own_fields),
};

/* @return 0, or -ERANGE naming file, entry, field and value; NaN is out of every range. */
static int check_params(const char *file, const char *kind, const char *name, void *object,
			const struct hes_param *table, size_t n, struct hes_err *err)
{
	for (size_t i = 0; i < n; i++) {
		double v = *hes_param_in(&table[i], object);

		if (!(v >= table[i].min && v <= table[i].max))
			return hes_fail(err, -ERANGE,
					"%s: %s%s%s: %s is %g; it must be from %g to %g", file,
					kind, name[0] ? " " : "", name, table[i].name, v,
					table[i].min, table[i].max);
	}
	return 0;
}

/* Errors of files of older versions are not known; known ones hold the model's own value. */
static int check_factors(const char *file, const struct hes_workload *w, const char *field,
			 const struct hes_factors *f, struct hes_err *err)
{
	if ((f->low == 0 && f->high == 0) || (f->low > 0 && f->low <= f->high && f->high <= 1e6))
		return 0;
	return hes_fail(err, -ERANGE,
			"%s: workload %s: %s are %g to %g; two rising factors above 0 are needed",
			file, w->name, field, f->low, f->high);
}

/* An iteration takes time. */
static int check_work(const char *file, const struct hes_workload *w, struct hes_err *err)
{
	if (w->gflop_per_item + w->traffic_mib + w->traffic_mib_per_item + w->copy_mib_per_item +
		    w->kernels + w->host_us + w->serial_us + w->serial_us_per_item >
	    0)
		return 0;
	return hes_fail(err, -ERANGE,
			"%s: workload %s: an iteration takes no time; one of gflop_per_item, "
			"traffic_mib, traffic_mib_per_item, "
			"kernels, host_us and the like must be above 0",
			file, w->name);
}

const char *hes_style_name(enum hes_style s)
{
	return s == HES_STYLE_EAGER ? "eager" : "graphs";
}

void hes_workload_take_style(const struct hes_model *m, struct hes_workload *w)
{
	if (w->style == HES_STYLE_EAGER && w->host_us == 0)
		w->host_us = m->eager.host_us;
	if (w->style == HES_STYLE_EAGER && w->start_s == 0)
		w->start_s = m->eager.start_s;
	if (w->style == HES_STYLE_GRAPHS)
		w->host_us = 0;
}

static int check_workload(const char *file, const struct hes_model *m, struct hes_workload *w,
			  struct hes_err *err)
{
	/* No part of the physics: it is neither fitted nor varied. */
	static const struct hes_param start = { "start_s", offsetof(struct hes_workload, start_s),
						0, 1e7 };
	int rc = check_params(file, "workload", w->name, w, hes_workload_params,
			      hes_workload_param_count, err);

	if (!rc)
		rc = check_params(file, "workload", w->name, w, &start, 1, err);
	if (w->activity == 0)
		w->activity = 1;
	hes_workload_take_style(m, w);
	if (!rc)
		rc = check_work(file, w, err);
	if (!rc)
		rc = check_factors(file, w, "time_factors", &w->time_factors, err);
	return rc ? rc : check_factors(file, w, "power_factors", &w->power_factors, err);
}

static int check(const char *file, struct hes_model *m, struct hes_err *err)
{
	int rc = check_params(file, "nature", "", &m->nature, hes_nature_params,
			      hes_nature_param_count, err);

	if (!rc)
		rc = check_params(file, "eager", "", &m->eager, hes_eager_params,
				  hes_eager_param_count, err);
	for (size_t i = 0; !rc && i < m->n_gpus; i++) {
		if (hes_model_gpu(m, m->gpus[i].type) != &m->gpus[i])
			return hes_fail(err, -EEXIST, "%s: gpu %s is given twice", file,
					m->gpus[i].type);
		rc = check_params(file, "gpu", m->gpus[i].type, &m->gpus[i], hes_gpu_params,
				  hes_gpu_param_count, err);
		if (m->gpus[i].interference == 0)
			m->gpus[i].interference = 1;
	}
	for (size_t i = 0; !rc && i < m->n_workloads; i++) {
		struct hes_workload *w = &m->workloads[i];

		if (hes_model_workload(m, w->name, NULL) != w)
			return hes_fail(err, -EEXIST, "%s: workload %s is given twice", file,
					w->name);
		rc = check_workload(file, m, w, err);
	}
	for (size_t i = 0; !rc && i < m->n_held_out; i++)
		rc = check_params(file, "held_out", m->held_out[i].workload, &m->held_out[i].nature,
				  hes_nature_params, hes_nature_param_count, err);
	return rc;
}

/* The entries move from the document to the model: libcyaml's memory is malloc's. */
static int adopt(const char *file, struct doc *d, struct hes_model **out, struct hes_err *err)
{
	struct hes_model *m = calloc(1, sizeof(*m));
	int rc;

	if (!m)
		return hes_fail(err, -ENOMEM, "%s: out of memory", file);
	m->nature = d->nature;
	m->eager = d->eager;
	m->gpus = d->gpus;
	m->n_gpus = d->gpus_count;
	m->workloads = d->workloads;
	m->n_workloads = d->workloads_count;
	m->held_out = d->held_out;
	m->n_held_out = d->held_out_count;
	d->gpus = NULL;
	d->workloads = NULL;
	d->held_out = NULL;
	d->gpus_count = d->workloads_count = d->held_out_count = 0;
	rc = check(file, m, err);
	if (rc) {
		hes_model_free(m);
		return rc;
	}
	*out = m;
	return 0;
}

int hes_model_load(const char *path, struct hes_model **out, struct hes_err *err)
{
	const char *name = path ? path : "physics.yaml";
	size_t len = 0;
	const char *text = path ? NULL : hes_data_find(name, &len);
	void *doc;
	int rc;

	if (!path && !text)
		return hes_fail(err, -ENOENT, "physics.yaml is not built into this program");
	rc = path ? hes_yaml_load_file(path, &doc_schema, &doc, err)
		  : hes_yaml_load_text(name, text, len, &doc_schema, &doc, err);
	if (rc)
		return rc;
	rc = adopt(name, doc, out, err);
	hes_yaml_free(&doc_schema, doc);
	return rc;
}

int hes_model_put(struct hes_model *m, const struct hes_workload *v, size_t n, struct hes_err *err)
{
	struct hes_workload *all = reallocarray(m->workloads, m->n_workloads + n + 1, sizeof(*all));

	if (!all)
		return hes_fail(err, -ENOMEM, "out of memory for %zu workloads",
				m->n_workloads + n);
	m->workloads = all;
	for (size_t k = 0; k < n; k++) {
		size_t i = 0;

		while (i < m->n_workloads && strcmp(all[i].name, v[k].name))
			i++;
		all[i] = v[k];
		m->n_workloads += i == m->n_workloads;
	}
	return 0;
}

static int add_own(struct hes_model *m, const char *path, const struct own_doc *d,
		   struct hes_err *err)
{
	for (unsigned i = 0; i < d->workloads_count; i++) {
		int rc = check_workload(path, m, &d->workloads[i], err);

		for (unsigned k = 0; k < i && !rc; k++)
			if (!strcmp(d->workloads[k].name, d->workloads[i].name))
				rc = hes_fail(err, -EEXIST, "%s: workload %s is given twice", path,
					      d->workloads[i].name);
		if (rc)
			return rc;
		d->workloads[i].own = true;
	}
	return hes_model_put(m, d->workloads, d->workloads_count, err);
}

int hes_model_add_file(struct hes_model *m, const char *path, struct hes_err *err)
{
	void *doc;
	int rc = hes_yaml_load_file(path, &own_schema, &doc, err);

	if (rc)
		return rc;
	rc = add_own(m, path, doc, err);
	hes_yaml_free(&own_schema, doc);
	return rc;
}

void hes_model_free(struct hes_model *m)
{
	if (!m)
		return;
	free(m->gpus);
	free(m->workloads);
	free(m->held_out);
	free(m->left_out);
	free(m);
}

size_t hes_model_workloads(const struct hes_model *m)
{
	return m->n_workloads;
}

const struct hes_workload *hes_model_workload_at(const struct hes_model *m, size_t i)
{
	return i < m->n_workloads ? &m->workloads[i] : NULL;
}

const struct hes_workload *hes_model_workload(const struct hes_model *m, const char *name,
					      struct hes_err *err)
{
	const char *near = NULL;
	char have[400] = "";

	for (size_t i = 0; i < m->n_workloads; i++) {
		if (strcmp(m->workloads[i].name, name) == 0)
			return &m->workloads[i];
		if (strcasecmp(m->workloads[i].name, name) == 0)
			near = m->workloads[i].name;
	}
	for (size_t i = 0; err && i < m->n_workloads; i++)
		if (m->workloads[i].testbed)
			hes_text_add(have, sizeof(have), ", ", "%s", m->workloads[i].name);
	hes_fail(err, -ENOENT,
		 "the model has no workload \"%s\"%s%s%s; the testbed's are %s; heshare model "
		 "--add-workload adds one",
		 name, near ? " (did you mean " : "", near ? near : "", near ? "?)" : "", have);
	return NULL;
}

bool hes_model_knows_gpu(const struct hes_model *m, const char *type)
{
	return hes_model_gpu(m, type) != NULL;
}

const char *hes_model_gpu_origin(const struct hes_model *m, const char *type)
{
	const struct hes_gpu_physics *p = hes_model_gpu(m, type);

	return p ? p->origin : NULL;
}

const char *hes_load_class_name(enum hes_load_class c)
{
	return load_names[c].str;
}

uint32_t hes_workload_memory_mib(const struct hes_workload *w, uint32_t batch)
{
	double mib = w->memory_mib + w->memory_mib_per_item * batch;

	return mib < 4294967295.0 ? (uint32_t)mib : UINT32_MAX;
}
