/*
 * catalogue.c - load GPU types and the GPU model; see catalogue.h.
 */
#include "app/catalogue.h"
#include "app/gpus_visible.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/data.h"
#include "base/file.h"
#include "base/plural.h"
#include "base/texts.h"

#define TYPES_FILE     "gpu_types.yaml"
#define WORKLOADS_FILE "workloads.yaml"

/* Add a file to a catalogue or to a model. */
typedef int add_fn(void *to, const char *path, struct hes_err *err);

static int add_types(void *to, const char *path, struct hes_err *err)
{
	return hes_catalogue_add(to, path, err);
}

static int add_workloads(void *to, const char *path, struct hes_err *err)
{
	return hes_model_add_file(to, path, err);
}

static int add_if_there(add_fn *add, void *to, const char *path, struct hes_err *err)
{
	int rc;

	if (access(path, F_OK))
		return 0;
	rc = hes_file_check_plain(path, err);
	return rc ? rc : add(to, path, err);
}

/* The machine's file and the user's, then @path. */
static int add_files(const struct app *app, add_fn *add, void *to, const char *name,
		     const char *path, struct hes_err *err)
{
	char file[64], *own = NULL;
	int rc;

	snprintf(file, sizeof(file), "/etc/heshare/%s", name);
	rc = add_if_there(add, to, file, err);
	if (!rc && !hes_user_file(app_variable(app, "XDG_CONFIG_HOME"), app_variable(app, "HOME"),
				  ".config", name, &own))
		rc = add_if_there(add, to, own, err);
	free(own);
	return rc || !path ? rc : add(to, path, err);
}

/* @param limit_mw  the power limit that is set, 0: unknown; may be NULL */
static const struct hes_gpu_type *type_of(const struct hes_devices *d, size_t i,
					  const struct hes_catalogue *c, uint32_t *limit_mw)
{
	struct hes_device_info info;

	if (hes_device_info(d, i, &info, NULL))
		return NULL;
	if (limit_mw)
		*limit_mw = info.power_limit_mw;
	return hes_gpu_type_of_driver(c, info.name, (uint32_t)(info.memory_bytes >> 20));
}

/* The limit that counts is the one that is set: of several GPUs of a type the highest. */
static void limit_present(const struct hes_devices *d, struct hes_catalogue *c)
{
	for (size_t t = 0; t < c->n; t++) {
		uint32_t most_mw = 0, limit_mw = 0;

		for (size_t i = 0; i < hes_devices_count(d); i++)
			if (type_of(d, i, c, &limit_mw) == &c->types[t] && limit_mw > most_mw)
				most_mw = limit_mw;
		hes_gpu_type_limit(&c->types[t], most_mw);
	}
}

/* GPUs that NVML cannot describe get no row: who needs one of them learns why by app_gpu_type(). */
static int add_present(const struct app *app, struct hes_catalogue *c, struct hes_err *err)
{
	struct hes_devices *d;
	int rc = 0;

	if (app_devices_open(app, c, &d, NULL))
		return 0;
	for (size_t i = 0; i < hes_devices_count(d) && !rc; i++) {
		struct hes_gpu_type g;

		if (type_of(d, i, c, NULL) || hes_device_describe(d, i, &g, NULL))
			continue;
		/* The same name with another memory. */
		if (hes_gpu_type_find(c, g.name, NULL))
			snprintf(g.name + strnlen(g.name, HES_NAME_MAX - 12), 12, "-%uGB",
				 (g.memory_mib + 512) / 1024 % 100000);
		rc = hes_catalogue_put(c, &g, 1, err);
	}
	if (!rc)
		limit_present(d, c);
	hes_devices_close(d);
	return rc;
}

int app_catalogue_load(const struct app *app, const char *path, bool present,
		       struct hes_catalogue *out, struct hes_err *err)
{
	struct hes_catalogue c;
	int rc = hes_catalogue_load(NULL, &c, err);

	if (rc)
		return rc;
	rc = add_files(app, add_types, &c, TYPES_FILE, path, err);
	c.own = path;
	if (!rc && present)
		rc = add_present(app, &c, err);
	if (rc)
		hes_catalogue_free(&c);
	else
		*out = c;
	return rc;
}

void app_catalogue_hold_default_clocks(struct hes_catalogue *c)
{
	for (size_t i = 0; i < c->n; i++) {
		c->types[i].clocks_mhz[0] = c->types[i].clock_default_mhz;
		c->types[i].n_clocks = 1;
	}
}

const struct hes_gpu_type *app_gpu_type(const struct hes_devices *d, size_t i,
					const struct hes_catalogue *c, struct hes_err *err)
{
	const struct hes_gpu_type *g = type_of(d, i, c, NULL);
	struct hes_gpu_type described;

	if (!g && !hes_device_describe(d, i, &described, err))
		hes_fail(err, -ENOENT, "GPU %zu: its type, %s, is not in the catalogue", i,
			 described.name);
	return g;
}

void app_model_tell_derived(const struct app *app, const struct hes_model *m,
			    const struct hes_gpu_type *const *types, size_t n)
{
	char names[400];

	hes_model_derived(m, types, n, names, sizeof(names));
	if (*names)
		app_say(app,
			"derived from data sheets, not fitted to measurements: %s; %s "
			"(docs/gpu-model.md)",
			names, HES_MODEL_DERIVED_ERROR);
}

int app_model_load(const struct app *app, const char *physics, const struct hes_catalogue *c,
		   const struct hes_gpu_type *const *use, size_t n_use, struct hes_model **out,
		   struct hes_err *err)
{
	struct hes_model *m = NULL;
	const bool second = physics && strcmp(physics, APP_SECOND_PHYSICS) == 0;
	int rc = hes_model_load(second ? NULL : physics, &m, err);

	if (!rc && second)
		hes_model_second(m);
	if (!rc)
		rc = hes_model_derive(m, c, err);
	if (!rc)
		rc = add_files(app, add_workloads, m, WORKLOADS_FILE, c->own, err);
	if (rc) {
		hes_model_free(m);
		return rc;
	}
	app_model_tell_derived(app, m, use, n_use);
	*out = m;
	return 0;
}

int app_fleet_load(const char *path, const struct hes_catalogue *c, struct hes_fleet *out,
		   struct hes_err *err)
{
	static const char built_in[] = "fleets/heshare.yaml";
	const char *text;
	size_t len;

	if (path)
		return hes_fleet_load(path, c, out, err);
	text = hes_data_find(built_in, &len);
	return hes_fleet_parse(built_in, text, len, c, out, err);
}

int app_cap_check(double cap_w, const struct hes_fleet *f, struct hes_err *err)
{
	uint64_t idle_mw = 0;

	for (size_t g = 0; g < f->n; g++)
		idle_mw += f->gpus[g].type->idle_power_mw;
	if (cap_w <= 0 || cap_w * 1e3 >= (double)idle_mw)
		return 0;
	return hes_fail(err, -ERANGE,
			"--power-cap: %g W is below the %g W that the %zu GPU%s draw%s idle; give "
			"more, or 0 for no cap",
			cap_w, (double)idle_mw * 1e-3, f->n, hes_s(f->n), f->n == 1 ? "s" : "");
}

static int types_add(const char *name, const struct hes_catalogue *c,
		     const struct hes_gpu_type **out, int n, size_t max, struct hes_err *err)
{
	const struct hes_gpu_type *g = hes_gpu_type_find(c, name, err);

	if (!g)
		return -ENOENT;
	if ((size_t)n == max)
		return hes_fail(err, -E2BIG, "more than %zu GPU types", max);
	for (int i = 0; i < n; i++)
		if (out[i] == g)
			return hes_fail(err, -EEXIST, "GPU type %s is given twice", name);
	out[n] = g;
	return 0;
}

int app_types(const char *list, const struct hes_catalogue *c, const struct hes_gpu_type **out,
	      size_t max, struct hes_err *err)
{
	char name[2 * HES_NAME_MAX];
	int n = 0, rc = 0;

	while (!rc && hes_text_next(&list, name, sizeof(name))) {
		rc = types_add(name, c, out, n, max, err);
		n += !rc;
	}
	return rc ? rc : n;
}
