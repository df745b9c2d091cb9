/*
 * plan_subjects.c - read the GPUs and jobs of a plan file (docs/formats/plan.md); see plan.h.
 * plan_json.c reads the plan itself.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/texts.h"
#include "base/utf8.h"
#include "core/plan_json.h"
#include "heshare/plan.h"

#define MAX_ITERATIONS 1000000000000
#define MAX_MEMORY_MIB 16777216

struct number {
	const char *name;
	int64_t min, max, value;
	bool optional; /* 0 where it is not there */
};

static int read_numbers(const json_t *o, struct number *v, size_t n, struct hes_err *err)
{
	for (size_t i = 0; i < n; i++) {
		const json_t *value = json_object_get(o, v[i].name);

		v[i].value = json_integer_value(value);
		if (!value && v[i].optional)
			continue;
		if (!json_is_integer(value) || v[i].value < v[i].min || v[i].value > v[i].max)
			return hes_fail(err, -EINVAL, "%s: not a whole number from %lld to %lld",
					v[i].name, (long long)v[i].min, (long long)v[i].max);
	}
	return 0;
}

static int read_text(const json_t *o, const char *key, bool optional, char *out, size_t size,
		     struct hes_err *err)
{
	const json_t *value = json_object_get(o, key);
	const char *text = json_string_value(value);
	int rc;

	if (!value && optional)
		return 0;
	if (!text || strlen(text) != json_string_length(value))
		return hes_fail(err, -EINVAL, "%s: %s", key, value ? "not a name" : "missing");
	rc = hes_check_name(key, text, size - 1, err);
	if (!rc)
		strcpy(out, text);
	return rc;
}

static int read_name(const json_t *o, const char *key, bool optional, char out[HES_NAME_MAX],
		     struct hes_err *err)
{
	return read_text(o, key, optional, out, HES_NAME_MAX, err);
}

static int read_progress(const json_t *o, struct hes_job *out, struct hes_err *err)
{
	const json_t *value = json_object_get(o, "progress");

	if (!value)
		return 0;
	if (!json_is_string(value))
		return hes_fail(err, -EINVAL, "progress: not a text");
	return hes_jobs_set_progress(out, 1, "progress", json_string_value(value), err);
}

static int read_job(const json_t *o, struct hes_job *out, struct hes_err *err)
{
	const char *command = json_string_value(json_object_get(o, "command"));
	const json_t *keep = json_object_get(o, "keep");
	struct number n[] = {
		{ "batch_size", 1, HES_MAX_BATCH_SIZE, 0, false },
		{ "iterations", 1, MAX_ITERATIONS, 0, true },
		{ "memory_mib", 0, MAX_MEMORY_MIB, 0, true },
		{ "measured_mib", 0, MAX_MEMORY_MIB, 0, true },
	};
	int rc = read_name(o, "id", false, out->id, err);

	if (!rc)
		rc = read_name(o, "workload", false, out->workload, err);
	if (!rc)
		rc = read_name(o, "user", true, out->user, err);
	if (!rc)
		rc = read_numbers(o, n, sizeof(n) / sizeof(n[0]), err);
	if (rc)
		return rc;
	out->batch_size = (uint32_t)n[0].value;
	out->whole_run = !n[1].value;
	out->iterations = out->whole_run ? 1 : (uint64_t)n[1].value;
	out->memory_mib = (uint32_t)n[2].value;
	out->measured_mib = (uint32_t)n[3].value;
	out->weight = 1;
	if (keep) {
		out->keep = json_number_value(keep);
		if (!(out->keep > 0 && out->keep <= 1))
			return hes_fail(err, -ERANGE, "keep: not a part above 0, up to 1");
	}
	if (json_object_get(o, "command")) {
		if (!command)
			return hes_fail(err, -EINVAL, "command: not a text");
		out->command = strdup(command);
		if (!out->command)
			return hes_fail(err, -ENOMEM, "command: out of memory");
	}
	rc = hes_job_name_unit(out, NULL, err);
	return rc ? rc : read_progress(o, out, err);
}

static int check_ids(const struct hes_jobs *jobs, struct hes_err *err)
{
	const char **ids = calloc(jobs->n + 1, sizeof(*ids));
	int rc = ids ? 0 : hes_fail(err, -ENOMEM, "out of memory for %zu jobs", jobs->n);

	for (size_t i = 0; !rc && i < jobs->n; i++)
		ids[i] = jobs->v[i].id;
	if (!rc)
		qsort(ids, jobs->n, sizeof(*ids), hes_by_pointed_text);
	for (size_t i = 1; !rc && i < jobs->n; i++)
		if (strcmp(ids[i], ids[i - 1]) == 0)
			rc = hes_fail(err, -EEXIST, "job \"%s\" is there twice; ids must differ",
				      ids[i]);
	free(ids);
	return rc;
}

static int read_jobs(const json_t *doc, struct hes_jobs *out, struct hes_err *err)
{
	const json_t *list = json_object_get(doc, "jobs");
	size_t n = json_array_size(list);
	int rc = 0;

	if (list && !json_is_array(list))
		return hes_fail(err, -EINVAL, "jobs: not a list");
	if (n > HES_MAX_JOBS)
		return hes_fail(err, -E2BIG, "jobs: more than %d", HES_MAX_JOBS);
	out->v = calloc(n + 1, sizeof(*out->v));
	if (!out->v)
		return hes_fail(err, -ENOMEM, "out of memory for %zu jobs", n);
	for (; out->n < n && !rc; out->n++)
		if ((rc = read_job(json_array_get(list, out->n), &out->v[out->n], err)))
			hes_fail_in(err, "jobs[%zu]", out->n);
	return rc ? rc : check_ids(out, err);
}

/* The file that the jobs were planned from, if the plan says so. */
static int read_jobs_file(const json_t *doc, struct hes_jobs *out, struct hes_err *err)
{
	const json_t *file = json_object_get(doc, "jobs_file");

	if (!file)
		return 0;
	if (!json_is_string(file) || !*json_string_value(file))
		return hes_fail(err, -EINVAL, "jobs_file: not the name of a file");
	out->file = strdup(json_string_value(file));
	return out->file ? 0 : hes_fail(err, -ENOMEM, "out of memory for jobs_file");
}

/* The power limit that the plan counts with: without the member, the default one. */
static double limit_of(const json_t *o, const struct hes_gpu_type *g)
{
	const double limit_w = json_number_value(json_object_get(o, "power_limit_w"));

	return limit_w >= 1 && limit_w <= 10000 ? limit_w : hes_gpu_type_default_limit_mw(g) * 1e-3;
}

const char *hes_plan_gpu_type_key(const json_t *o)
{
	return !json_object_get(o, "gpu_type") && json_object_get(o, "type") ? "type" : "gpu_type";
}

/* @param f  gets the limited types */
static int read_gpu(const json_t *o, const struct hes_catalogue *c, struct hes_fleet *f,
		    struct hes_gpu *out, struct hes_err *err)
{
	const char *const key = hes_plan_gpu_type_key(o), *slash;
	char type[HES_NAME_MAX] = "";
	int rc = read_name(o, "gpu", false, out->name, err);

	if (!rc && !json_object_get(o, key))
		rc = hes_fail(err, -EINVAL,
			      "gpu_type: missing: GPU %s needs its type, such as \"gpu_type\": "
			      "\"T4\"; "
			      "heshare gpus --types lists them",
			      out->name);
	if (!rc)
		rc = read_name(o, key, false, type, err);
	if (rc)
		return rc;
	rc = read_text(o, "uuid", true, out->uuid, sizeof(out->uuid), err);
	if (rc)
		return rc;
	slash = strrchr(out->name, '/');
	if (slash)
		memcpy(out->node, out->name, (size_t)(slash - out->name));
	out->type = hes_gpu_type_find(c, type, err);
	if (out->type)
		out->type = hes_fleet_limit(f, out->type, limit_of(o, out->type));
	return out->type ? 0 : -ENOENT;
}

static int read_gpus(const json_t *doc, const struct hes_catalogue *c, struct hes_fleet *out,
		     struct hes_err *err)
{
	const json_t *list = json_object_get(doc, "gpus");
	size_t n = json_array_size(list), limits = 0;
	int rc = 0;

	if (!list)
		return hes_fail(err, -EINVAL, "gpus: missing");
	if (!json_is_array(list) || n > HES_MAX_GPUS)
		return hes_fail(err, -EINVAL, "gpus: not a list of at most %d", HES_MAX_GPUS);
	strcpy(out->name, "plan");
	for (size_t i = 0; i < n; i++)
		limits += json_object_get(json_array_get(list, i), "power_limit_w") != NULL;
	out->gpus = calloc(n + 1, sizeof(*out->gpus));
	out->limited = calloc(limits + c->n + 1, sizeof(*out->limited));
	if (!out->gpus || !out->limited)
		return hes_fail(err, -ENOMEM, "out of memory for %zu GPUs", n);
	for (; out->n < n && !rc; out->n++)
		if ((rc = read_gpu(json_array_get(list, out->n), c, out, &out->gpus[out->n], err)))
			hes_fail_in(err, "gpus[%zu]", out->n);
	return rc;
}

int hes_plan_subjects(const char *path, const struct hes_catalogue *c, struct hes_fleet *fleet,
		      struct hes_jobs *jobs, struct hes_err *err)
{
	struct hes_fleet f = { 0 };
	struct hes_jobs j = { 0 };
	json_t *doc;
	int rc = hes_plan_parse(path, &doc, err);

	if (rc)
		return rc;
	rc = read_gpus(doc, c, &f, err);
	if (!rc)
		rc = read_jobs(doc, &j, err);
	if (!rc)
		rc = read_jobs_file(doc, &j, err);
	json_decref(doc);
	if (rc) {
		hes_fail_in(err, "%s", path);
		hes_fleet_free(&f);
		hes_jobs_free(&j);
		return rc;
	}
	*fleet = f;
	*jobs = j;
	return 0;
}
