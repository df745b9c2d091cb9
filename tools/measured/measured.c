/*
 * measured.c - measured GPUs: their folders and gpu.json; the tables in a folder are
 * measured_tables.c's. See measured.h and bench/gpu/measured.md.
 *
 * The figures in gpu.json (limit, idle power, SMs, clocks) replace those of its type in the
 * catalogue.
 */
#include "measured/measured.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* gpu.json, for messages. */
struct json_reader {
	const char *path;
	struct hes_err *err;
	int rc;
};

/* A number, or @fallback where the driver has no value (null) or the key is missing. */
static double json_number_of(struct json_reader *j, const json_t *o, const char *key, double min,
			     double max, double fallback)
{
	const json_t *v = json_object_get(o, key);
	double x = json_number_value(v);

	if (j->rc || !v || json_is_null(v))
		return fallback;
	if (!json_is_number(v))
		j->rc = hes_fail(j->err, -EINVAL, "%s: %s: a number or null is needed", j->path,
				 key);
	else if (!(x >= min && x <= max))
		j->rc = hes_fail(j->err, -ERANGE, "%s: %s: %g; it must be from %g to %g", j->path,
				 key, x, min, max);
	return j->rc ? fallback : x;
}

/* The GPU's own figures, then those of its type. */
static int read_gpu(const char *path, const json_t *doc, const struct hes_gpu_type *g,
		    struct hes_gpu_type *out, struct hes_err *err)
{
	const json_t *gpu = json_object_get(doc, "gpu");
	struct json_reader j = { path, err, 0 };
	struct hes_gpu_type own = *g;

	own.sm_count = (uint32_t)json_number_of(&j, gpu, "sm_count", 1, 10000, g->sm_count);
	own.l2_kib = (uint32_t)json_number_of(&j, gpu, "l2_kib", 16, 16777216, g->l2_kib);
	own.memory_mib =
		(uint32_t)json_number_of(&j, gpu, "memory_mib", 16, 16777216, g->memory_mib);
	own.power_limit_mw =
		(uint32_t)json_number_of(&j, gpu, "power_limit_mw", 1000, 1e7, g->power_limit_mw);
	own.clock_max_mhz = (uint32_t)json_number_of(&j, gpu, "sm_clock_max_mhz", g->clock_min_mhz,
						     10000, g->clock_max_mhz);
	if (own.clock_max_mhz != g->clock_max_mhz)
		own.clock_default_mhz = own.clock_max_mhz;
	own.idle_power_mw = (uint32_t)json_number_of(&j, doc, "idle_power_mw", 1,
						     own.power_limit_mw - 1.0, g->idle_power_mw);
	if (!j.rc && own.idle_power_mw >= own.power_limit_mw)
		j.rc = hes_fail(err, -EINVAL,
				"%s: power_limit_mw: %u is not above the type's idle power, %u mW",
				path, own.power_limit_mw, own.idle_power_mw);
	if (!j.rc)
		*out = own;
	return j.rc;
}

/* A GPU is called by its folder, and that name goes into YAML. */
static int name_gpu(const char *dir, char name[HES_NAME_MAX], struct hes_err *err)
{
	char *real = realpath(dir, NULL);
	const char *base = real ? strrchr(real, '/') + 1 : "";
	int rc = 0;

	if (!base[0] || strlen(base) >= HES_NAME_MAX ||
	    strspn(base, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") !=
		    strlen(base))
		rc = hes_fail(err, -EINVAL,
			      "%s: a measured GPU's folder has a name of 1 to %d letters, digits, "
			      "'.', '_' and '-'",
			      dir, HES_NAME_MAX - 1);
	else
		snprintf(name, HES_NAME_MAX, "%s", base);
	free(real);
	return rc;
}

static int add_gpu(struct hes_observations *out, const char *name, const char *type,
		   struct hes_err *err)
{
	struct hes_measured_gpu *grown;

	for (size_t i = 0; i < out->n_gpus; i++)
		if (strcmp(out->gpus[i].name, name) == 0)
			return hes_fail(err, -EEXIST, "two folders of a measured GPU are called %s",
					name);
	grown = realloc(out->gpus, (out->n_gpus + 1) * sizeof(*grown));
	if (!grown)
		return hes_fail(err, -ENOMEM, "out of memory");
	out->gpus = grown;
	grown[out->n_gpus] = (struct hes_measured_gpu){ 0 };
	snprintf(grown[out->n_gpus].name, HES_NAME_MAX, "%s", name);
	snprintf(grown[out->n_gpus++].type, HES_NAME_MAX, "%s", type);
	return 0;
}

static int observe_gpu(const struct hes_model *m, const struct hes_catalogue *c, const char *dir,
		       bool tests, struct hes_observations *out, struct hes_err *err)
{
	char path[PATH_MAX + 16], name[HES_NAME_MAX];
	struct hes_measured_about about;
	struct hes_gpu_type gpu;
	int rc = hes_measured_about_load(dir, c, tests, &about, err);

	if (rc)
		return rc;
	snprintf(path, sizeof(path), "%s/gpu.json", dir);
	rc = read_gpu(path, about.doc, about.type, &gpu, err);
	json_decref(about.doc);
	if (!rc)
		rc = name_gpu(dir, name, err);
	if (!rc)
		rc = add_gpu(out, name, gpu.name, err);
	return rc ? rc : hes_observe_tables(m, dir, &gpu, about.style, out, err);
}

static bool is_gpu(const char *dir)
{
	char path[PATH_MAX + 16];
	struct stat st;

	snprintf(path, sizeof(path), "%s/gpu.json", dir);
	return stat(path, &st) == 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

int hes_observe_gpus(const struct hes_model *m, const struct hes_catalogue *c, const char *dir,
		     bool tests, struct hes_observations *out, struct hes_err *err)
{
	struct dirent **list;
	int n, rc = 0;

	if (is_gpu(dir))
		return observe_gpu(m, c, dir, tests, out, err);
	n = scandir(dir, &list, NULL, by_name);
	if (n < 0)
		return hes_fail(err, -errno, "%s: %s", dir, strerror(errno));
	for (int i = 0; i < n; i++) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s/%s", dir, list[i]->d_name);
		if (!rc && list[i]->d_name[0] != '.' && is_gpu(path))
			rc = observe_gpu(m, c, path, tests, out, err);
		free(list[i]);
	}
	free(list);
	return rc;
}
