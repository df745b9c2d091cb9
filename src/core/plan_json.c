/*
 * plan_json.c - a plan as a file: JSON by jansson, jobs and GPUs by name
 * (docs/formats/plan.md); see plan.h.
 *
 * What is written reads back exactly: whole numbers as such, the one real
 * number with 17 digits. An error names the file and the JSON path. What a
 * file tells of its jobs and GPUs themselves is read by plan_subjects.c.
 */
#include "heshare/plan.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "core/plan_json.h"

#define FORMAT    "heshare-plan"
#define VERSION   1
#define OPEN      2 /* with open queues: a reader of version 1 would put barriers between their jobs */
#define OVER      3 /* with shares that may sum to more than 100 %: a reader of version 2 would admit jobs later */

/* @return @list with @value at its end; NULL without memory: a plan must not lose a job without a word */
static json_t *list_add(json_t *list, json_t *value)
{
	if (!json_array_append_new(list, value))
		return list;
	json_decref(list);
	return NULL;
}

/* @return @o with the member; NULL without memory */
static json_t *object_set(json_t *o, const char *key, json_t *value)
{
	if (!json_object_set_new(o, key, value))
		return o;
	json_decref(o);
	return NULL;
}

static json_t *beyond_json(uint32_t outside)
{
	json_t *list = json_array();

	for (uint32_t one = 1; one & HES_OUTSIDE_ALL; one <<= 1)
		if (outside & one)
			list = list_add(list, json_string(hes_outside_name((enum hes_outside)one)));
	return list;
}

static json_t *placement_json(const struct hes_placement *p, const struct hes_jobs *jobs)
{
	json_t *o = json_pack("{s:s, s:I, s:I, s:I}", "job", jobs->v[p->job].id, "sm_pct", (json_int_t)p->sm_pct,
			      "start_us", (json_int_t)p->start_us, "end_us", (json_int_t)p->end_us);

	if (p->outside)
		o = object_set(o, "extrapolated", beyond_json(p->outside));
	return o;
}

static json_t *batch_json(const struct hes_batch *b, const struct hes_jobs *jobs)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < b->n; i++)
		list = list_add(list, placement_json(&b->jobs[i], jobs));
	return json_pack("{s:I, s:I, s:I, s:I, s:o}", "clock_mhz", (json_int_t)b->clock_mhz, "start_us",
			 (json_int_t)b->start_us, "end_us", (json_int_t)b->end_us, "energy_mj",
			 (json_int_t)b->energy_mj, "jobs", list);
}

static json_t *queue_json(const struct hes_queue *q, const struct hes_gpu *g, const struct hes_jobs *jobs)
{
	json_t *o = json_pack("{s:s, s:s}", "gpu", g->name, "type", g->type->name), *batches = json_array();

	for (size_t i = 0; i < q->n; i++)
		batches = list_add(batches, batch_json(&q->batches[i], jobs));
	if (q->together)
		o = object_set(o, "together", json_integer((json_int_t)q->together));
	if (hes_queue_shares_pct(q) > 100)
		o = object_set(o, "shares_pct", json_integer((json_int_t)q->shares_pct));
	return object_set(o, "batches", batches);
}

/* Enough of a job to run it: the plan then needs no other file. */
static json_t *job_json(const struct hes_job *job)
{
	json_t *o = json_pack("{s:s, s:s, s:I, s:I, s:I}", "id", job->id, "workload", job->workload, "batch_size",
			      (json_int_t)job->batch_size, "iterations", (json_int_t)job->iterations, "memory_mib",
			      (json_int_t)job->memory_mib);

	if (job->user[0])
		o = object_set(o, "user", json_string(job->user));
	if (job->command)
		o = object_set(o, "command", json_string(job->command));
	return o;
}

static json_t *jobs_json(const struct hes_jobs *jobs)
{
	json_t *list = json_array();

	for (size_t i = 0; i < jobs->n; i++)
		list = list_add(list, job_json(&jobs->v[i]));
	return list;
}

static int version_of(const struct hes_plan *p)
{
	int version = VERSION;

	for (size_t g = 0; g < p->n_gpus; g++) {
		if (hes_queue_shares_pct(&p->queues[g]) > 100)
			return OVER;
		if (p->queues[g].together)
			version = OPEN;
	}
	return version;
}

static json_t *totals_json(const struct hes_plan *p, const struct hes_jobs *jobs)
{
	const struct hes_totals *t = &p->predicted;
	json_t *o = json_pack("{s:f, s:I, s:I, s:I}", "avg_jct_us", t->avg_jct_us, "makespan_us",
			      (json_int_t)t->makespan_us, "busy_energy_mj", (json_int_t)t->busy_energy_mj,
			      "fleet_energy_mj", (json_int_t)t->fleet_energy_mj);

	if (p->least_energy_mj)
		o = object_set(o, "least_energy_mj", json_integer((json_int_t)p->least_energy_mj));
	if (p->least_avg_jct_us > 0)
		o = object_set(o, "least_avg_jct_us", json_real(p->least_avg_jct_us));
	if (hes_jobs_due(jobs) > 0)
		o = object_set(o, "deadlines_missed", json_integer((json_int_t)hes_plan_missed(p, jobs)));
	if (p->power_cap_mw) {
		o = object_set(o, "power_cap_mw", json_integer((json_int_t)p->power_cap_mw));
		o = object_set(o, "peak_mw", json_integer((json_int_t)p->peak_mw));
	}
	return o;
}

static json_t *plan_json(const struct hes_plan *p, const struct hes_fleet *f, const struct hes_jobs *jobs)
{
	json_t *gpus = json_array();

	for (size_t g = 0; g < p->n_gpus; g++)
		gpus = list_add(gpus, queue_json(&p->queues[g], &f->gpus[g], jobs));
	return json_pack("{s:s, s:i, s:s, s:s, s:I, s:o, s:o, s:o}", "format", FORMAT, "version", version_of(p), "policy",
			 p->policy, "prefer", p->prefer, "seed", (json_int_t)p->seed, "predicted", totals_json(p, jobs),
			 "gpus", gpus, "jobs", jobs_json(jobs));
}

int hes_plan_save(const char *path, const struct hes_plan *p, const struct hes_fleet *f,
		  const struct hes_jobs *jobs, struct hes_err *err)
{
	struct hes_file file;
	json_t *doc;
	int rc;

	if (p->n_gpus != f->n)
		return hes_fail(err, -EINVAL, "%s: the plan is for %zu GPUs, the fleet has %zu", path, p->n_gpus, f->n);
	if (p->seed > INT64_MAX)
		return hes_fail(err, -ERANGE, "%s: seed %" PRIu64 " is above 2^63 - 1", path, p->seed);
	doc = plan_json(p, f, jobs);
	if (!doc)
		return hes_fail(err, -ENOMEM, "%s: out of memory for the plan", path);
	rc = hes_file_create(&file, path, err);
	if (rc) {
		json_decref(doc);
		return rc;
	}
	errno = 0;
	if (json_dumpf(doc, file.f, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) || fputc('\n', file.f) == EOF) {
		rc = errno ? -errno : -EIO;
		hes_file_abort(&file);
		hes_fail(err, rc, "%s: cannot write: %s", strcmp(path, "-") ? path : "standard output", strerror(-rc));
	} else {
		rc = hes_file_commit(&file, err);
	}
	json_decref(doc);
	return rc;
}

struct job_name {
	const char *id;
	uint32_t    job;
};

/* A file being read: what its names mean and where the reader stands. */
struct reader {
	const char             *file;
	const struct hes_fleet *fleet;
	const struct hes_jobs  *jobs;
	struct job_name        *names;  /* sorted by id */
	char                    at[96]; /* JSON path of the object in hand; "" at the top */
	struct hes_err         *err;
};

static void stand_at(struct reader *r, const char *fmt, ...) HES_PRINTF(2, 3);

static void stand_at(struct reader *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->at, sizeof(r->at), fmt, ap);
	va_end(ap);
}

static int wrong(const struct reader *r, const char *key, const char *what)
{
	return hes_fail(r->err, -EINVAL, "%s: %s%s%s: %s", r->file, r->at, *r->at ? "." : "", key, what);
}

static int get_int(const struct reader *r, const json_t *o, const char *key, int64_t min, int64_t max,
		   int64_t *out)
{
	const json_t *v = json_object_get(o, key);
	char range[80];

	if (!json_is_integer(v))
		return wrong(r, key, v ? "not a whole number" : "missing");
	if (json_integer_value(v) < min || json_integer_value(v) > max) {
		snprintf(range, sizeof(range), "%" PRId64 " is outside %" PRId64 " to %" PRId64,
			 (int64_t)json_integer_value(v), min, max);
		return wrong(r, key, range);
	}
	*out = json_integer_value(v);
	return 0;
}

static int get_u32(const struct reader *r, const json_t *o, const char *key, uint32_t min, uint32_t max,
		   uint32_t *out)
{
	int64_t v;
	int rc = get_int(r, o, key, min, max, &v);

	if (!rc)
		*out = (uint32_t)v;
	return rc;
}

static int get_u64(const struct reader *r, const json_t *o, const char *key, uint64_t *out)
{
	int64_t v;
	int rc = get_int(r, o, key, 0, INT64_MAX, &v);

	if (!rc)
		*out = (uint64_t)v;
	return rc;
}

static int get_text(const struct reader *r, const json_t *o, const char *key, const char **out)
{
	const json_t *v = json_object_get(o, key);

	if (!json_is_string(v))
		return wrong(r, key, v ? "not a string" : "missing");
	if (json_string_length(v) >= HES_NAME_MAX || strlen(json_string_value(v)) != json_string_length(v))
		return wrong(r, key, "not a name of at most 47 bytes");
	*out = json_string_value(v);
	return 0;
}

static int get_list(const struct reader *r, const json_t *o, const char *key, size_t max, json_t **out)
{
	json_t *v = json_object_get(o, key);

	if (!json_is_array(v))
		return wrong(r, key, v ? "not a list" : "missing");
	if (json_array_size(v) > max)
		return wrong(r, key, "too long a list");
	*out = v;
	return 0;
}

static int by_id(const void *a, const void *b)
{
	return strcmp(((const struct job_name *)a)->id, ((const struct job_name *)b)->id);
}

/* A job without the list was predicted within the samples, or by a version that did not tell. */
static int read_beyond(const struct reader *r, const json_t *o, uint32_t *out)
{
	const json_t *list = json_object_get(o, "extrapolated");
	uint32_t outside = 0;

	if (list && !json_is_array(list))
		return wrong(r, "extrapolated", "not a list");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *name = json_string_value(json_array_get(list, i));
		uint32_t one = name ? hes_outside_find(name) : 0;

		if (!one)
			return wrong(r, "extrapolated", "not a list of GPU type, workload, batch size, share, clock, neighbours");
		outside |= one;
	}
	*out = outside;
	return 0;
}

static int read_placement(const struct reader *r, const json_t *o, struct hes_placement *out)
{
	const struct job_name *found;
	struct job_name key;
	int rc = get_text(r, o, "job", &key.id);

	if (rc)
		return rc;
	found = bsearch(&key, r->names, r->jobs->n, sizeof(key), by_id);
	if (!found)
		return hes_fail(r->err, -ENOENT, "%s: %s.job: no job \"%s\" among the jobs", r->file, r->at, key.id);
	out->job = found->job;
	rc = get_u32(r, o, "sm_pct", 1, 100, &out->sm_pct);
	if (!rc)
		rc = get_int(r, o, "start_us", 0, HES_PLAN_LONGEST_US, &out->start_us);
	if (!rc)
		rc = get_int(r, o, "end_us", out->start_us, HES_PLAN_LONGEST_US, &out->end_us);
	return rc ? rc : read_beyond(r, o, &out->outside);
}

static int read_batch(struct reader *r, size_t gpu, size_t batch, bool open, const json_t *o, struct hes_batch *out)
{
	json_t *list = NULL;
	int rc;

	stand_at(r, "gpus[%zu].batches[%zu]", gpu, batch);
	rc = get_u32(r, o, "clock_mhz", 1, 100000, &out->clock_mhz);
	if (!rc)
		rc = get_int(r, o, "start_us", 0, HES_PLAN_LONGEST_US, &out->start_us);
	if (!rc)
		rc = get_int(r, o, "end_us", out->start_us, HES_PLAN_LONGEST_US, &out->end_us);
	if (!rc)
		rc = get_u64(r, o, "energy_mj", &out->energy_mj);
	if (!rc)
		rc = get_list(r, o, "jobs", HES_MAX_SHARING, &list);
	if (rc)
		return rc;
	out->n = (uint32_t)json_array_size(list);
	if (out->n == 0)
		return wrong(r, "jobs", "a batch without jobs");
	if (open && out->n != 1)
		return wrong(r, "jobs", "several jobs in a batch of an open queue");
	for (uint32_t i = 0; i < out->n && !rc; i++) {
		stand_at(r, "gpus[%zu].batches[%zu].jobs[%" PRIu32 "]", gpu, batch, i);
		rc = read_placement(r, json_array_get(list, i), &out->jobs[i]);
	}
	return rc;
}

/* Which GPU an entry is for. Files in the fleet's own order need no search. */
static int read_gpu_name(struct reader *r, size_t entry, const json_t *o, size_t *out)
{
	const char *name, *type;
	long gpu;
	int rc;

	stand_at(r, "gpus[%zu]", entry);
	rc = get_text(r, o, "gpu", &name);
	if (!rc)
		rc = get_text(r, o, "type", &type);
	if (rc)
		return rc;
	if (entry < r->fleet->n && strcmp(r->fleet->gpus[entry].name, name) == 0)
		gpu = (long)entry;
	else
		gpu = hes_fleet_find(r->fleet, name);
	if (gpu < 0)
		return hes_fail(r->err, -ENOENT, "%s: %s.gpu: no GPU \"%s\" in fleet %s", r->file, r->at, name,
				r->fleet->name);
	if (strcmp(r->fleet->gpus[gpu].type->name, type) != 0)
		return hes_fail(r->err, -EINVAL, "%s: %s.type: %s is a %s in the fleet, not a %s", r->file, r->at,
				name, r->fleet->gpus[gpu].type->name, type);
	*out = (size_t)gpu;
	return 0;
}

static int read_queue(struct reader *r, size_t entry, const json_t *o, struct hes_plan *out)
{
	json_t *batches = NULL;
	size_t gpu = 0;
	int rc = read_gpu_name(r, entry, o, &gpu);

	if (!rc)
		rc = get_list(r, o, "batches", SIZE_MAX, &batches);
	if (rc)
		return rc;
	if (out->queues[gpu].n)
		return wrong(r, "gpu", "given twice");
	if (json_object_get(o, "together"))
		rc = get_u32(r, o, "together", 1, HES_MAX_SHARING, &out->queues[gpu].together);
	if (!rc && out->queues[gpu].together && json_object_get(o, "shares_pct"))
		rc = get_u32(r, o, "shares_pct", 100, HES_MAX_SHARING * 100, &out->queues[gpu].shares_pct);
	if (rc)
		return rc;
	for (size_t b = 0; b < json_array_size(batches) && !rc; b++) {
		struct hes_batch batch = { 0 };

		rc = read_batch(r, entry, b, out->queues[gpu].together > 0, json_array_get(batches, b), &batch);
		if (!rc && hes_plan_append(out, gpu, &batch))
			rc = hes_fail(r->err, -ENOMEM, "%s: out of memory", r->file);
	}
	return rc;
}

static int read_head(struct reader *r, const json_t *doc, struct hes_plan *out)
{
	const char *format, *policy, *prefer;
	int64_t version;
	int rc = get_text(r, doc, "format", &format);

	if (!rc && strcmp(format, FORMAT) != 0)
		rc = wrong(r, "format", "not \"" FORMAT "\"");
	if (!rc)
		rc = get_int(r, doc, "version", VERSION, OVER, &version);
	if (!rc)
		rc = get_text(r, doc, "policy", &policy);
	if (!rc)
		rc = get_text(r, doc, "prefer", &prefer);
	if (!rc)
		rc = get_u64(r, doc, "seed", &out->seed);
	if (rc)
		return rc;
	strcpy(out->policy, policy);
	strcpy(out->prefer, prefer);
	return 0;
}

static int get_time(struct reader *r, const json_t *o, const char *key, double *out)
{
	const json_t *time_us = json_object_get(o, key);

	if (!json_is_number(time_us) || !(json_number_value(time_us) >= 0))
		return wrong(r, key, time_us ? "not a number from 0 on" : "missing");
	*out = json_number_value(time_us);
	return 0;
}

static int read_totals(struct reader *r, const json_t *doc, struct hes_plan *plan)
{
	const json_t *o = json_object_get(doc, "predicted");
	struct hes_totals *out = &plan->predicted;
	int rc;

	stand_at(r, "predicted");
	rc = get_time(r, o, "avg_jct_us", &out->avg_jct_us);
	if (!rc)
		rc = get_int(r, o, "makespan_us", 0, HES_PLAN_LONGEST_US, &out->makespan_us);
	if (!rc)
		rc = get_u64(r, o, "busy_energy_mj", &out->busy_energy_mj);
	if (!rc)
		rc = get_u64(r, o, "fleet_energy_mj", &out->fleet_energy_mj);
	if (!rc && json_object_get(o, "least_energy_mj"))
		rc = get_u64(r, o, "least_energy_mj", &plan->least_energy_mj);
	if (!rc && json_object_get(o, "least_avg_jct_us"))
		rc = get_time(r, o, "least_avg_jct_us", &plan->least_avg_jct_us);
	if (!rc && (json_object_get(o, "power_cap_mw") || json_object_get(o, "peak_mw"))) {
		rc = get_u64(r, o, "power_cap_mw", &plan->power_cap_mw);
		if (!rc)
			rc = get_u64(r, o, "peak_mw", &plan->peak_mw);
	}
	return rc;
}

static int read_plan(struct reader *r, const json_t *doc, struct hes_plan *out)
{
	json_t *gpus = NULL;
	int rc;

	if (!json_is_object(doc))
		return hes_fail(r->err, -EINVAL, "%s: not a JSON object", r->file);
	rc = read_head(r, doc, out);
	if (!rc)
		rc = get_list(r, doc, "gpus", HES_MAX_GPUS, &gpus);
	if (!rc)
		rc = read_totals(r, doc, out);
	for (size_t i = 0; !rc && i < json_array_size(gpus); i++)
		rc = read_queue(r, i, json_array_get(gpus, i), out);
	return rc;
}

static int name_jobs(struct reader *r)
{
	r->names = calloc(r->jobs->n ? r->jobs->n : 1, sizeof(*r->names));
	if (!r->names)
		return hes_fail(r->err, -ENOMEM, "%s: out of memory for %zu jobs", r->file, r->jobs->n);
	for (size_t i = 0; i < r->jobs->n; i++)
		r->names[i] = (struct job_name){ r->jobs->v[i].id, (uint32_t)i };
	qsort(r->names, r->jobs->n, sizeof(*r->names), by_id);
	return 0;
}

int hes_plan_parse(const char *path, json_t **out, struct hes_err *err)
{
	return hes_json_load(path, HES_PLAN_MAX_BYTES, out, err);
}

int hes_plan_load(const char *path, const struct hes_fleet *f, const struct hes_jobs *jobs,
		  struct hes_plan *out, struct hes_err *err)
{
	struct reader r = { .file = path, .fleet = f, .jobs = jobs, .err = err };
	struct hes_plan plan = { 0 };
	json_t *doc;
	int rc = hes_plan_parse(path, &doc, err);

	if (rc)
		return rc;
	rc = name_jobs(&r);
	if (!rc && hes_plan_init(&plan, f->n))
		rc = hes_fail(err, -ENOMEM, "%s: out of memory for %zu GPUs", path, f->n);
	if (!rc)
		rc = read_plan(&r, doc, &plan);
	if (rc)
		hes_plan_finish(&plan);
	else
		*out = plan;
	free(r.names);
	json_decref(doc);
	return rc;
}
