/*
 * plan_json.c - write and read plan files, in JSON (docs/formats/plan.md); see plan.h.
 *
 * A plan reads back as it was written. Errors name the file and the JSON path.
 * plan_subjects.c reads the jobs and GPUs of a plan file.
 */
#include "heshare/plan.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/file.h"
#include "base/hash_map.h"
#include "base/json.h"
#include "base/plural.h"
#include "core/plan_json.h"

#define FORMAT  "heshare-plan"
#define DIGITS  15 /* of reals: joules with thousandths are exact */
#define VERSION 4  /* energy_j and power_cap_w; before, energy_mj and power_cap_mw */

/* @return @list with @value at its end; NULL: out of memory, so that no job is lost silently */
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

/* @milli thousandths of a unit, in the unit */
static json_t *milli_json(uint64_t milli)
{
	return json_real((double)milli / 1000);
}

static json_t *outside_json(uint32_t outside)
{
	json_t *list = json_array();

	for (uint32_t one = 1; one & HES_OUTSIDE_ALL; one <<= 1)
		if (outside & one)
			list = list_add(list, json_string(hes_outside_name((enum hes_outside)one)));
	return list;
}

static json_t *placement_json(const struct hes_placement *p, const struct hes_jobs *jobs)
{
	json_t *o = json_pack("{s:s, s:I, s:I, s:I}", "job", jobs->v[p->job].id, "sm_pct",
			      (json_int_t)p->sm_pct, "start_us", (json_int_t)p->start_us, "end_us",
			      (json_int_t)p->end_us);

	if (p->outside)
		o = object_set(o, "extrapolated", outside_json(p->outside));
	return o;
}

/* Of a batch of one job, the energy is the batch's. */
static json_t *energies_json(json_t *o, const struct hes_placement *p, bool alone)
{
	if (p->activity_mw)
		o = object_set(o, "activity_w", milli_json(p->activity_mw));
	if (p->energy_mj && !alone)
		o = object_set(o, "energy_j", milli_json(p->energy_mj));
	return o;
}

static json_t *batch_json(const struct hes_batch *b, const struct hes_gpu_type *g,
			  const struct hes_jobs *jobs)
{
	json_t *list = json_array(), *o;

	for (uint32_t i = 0; i < b->n; i++)
		list = list_add(list, energies_json(placement_json(&b->jobs[i], jobs), &b->jobs[i],
						    b->n == 1));
	o = json_pack("{s:I}", "clock_mhz", (json_int_t)b->clock_mhz);
	if (b->unlocked || hes_gpu_type_is_unlocked(g, b->clock_mhz))
		o = object_set(o, "unlocked", json_boolean(b->unlocked));
	if (b->unknown)
		o = object_set(o, "unknown", json_true());
	o = object_set(o, "start_us", json_integer((json_int_t)b->start_us));
	o = object_set(o, "end_us", json_integer((json_int_t)b->end_us));
	o = object_set(o, "energy_j", milli_json(b->energy_mj));
	return object_set(o, "jobs", list);
}

static json_t *queue_json(const struct hes_queue *q, const struct hes_gpu *g,
			  const struct hes_jobs *jobs)
{
	json_t *o = json_pack("{s:s, s:s}", "gpu", g->name, "gpu_type", g->type->name),
	       *batches = json_array();

	if (g->type->default_limit_mw)
		o = object_set(o, "power_limit_w", json_real(g->type->power_limit_mw * 1e-3));
	if (g->uuid[0])
		o = object_set(o, "uuid", json_string(g->uuid));
	for (size_t i = 0; i < q->n; i++)
		batches = list_add(batches, batch_json(&q->batches[i], g->type, jobs));
	if (q->together)
		o = object_set(o, "together", json_integer((json_int_t)q->together));
	if (hes_queue_shares_pct(q) > 100)
		o = object_set(o, "shares_pct", json_integer((json_int_t)q->shares_pct));
	return object_set(o, "batches", batches);
}

/* All that it takes to run the job, so that a plan needs no other file. */
static json_t *job_json(const struct hes_job *job)
{
	json_t *o = json_pack("{s:s, s:s, s:I}", "id", job->id, "workload", job->workload,
			      "batch_size", (json_int_t)job->batch_size);

	if (!job->whole_run)
		o = object_set(o, "iterations", json_integer((json_int_t)job->iterations));
	if (job->memory_mib)
		o = object_set(o, "memory_mib", json_integer((json_int_t)job->memory_mib));
	if (job->measured_mib)
		o = object_set(o, "measured_mib", json_integer((json_int_t)job->measured_mib));
	if (job->user[0])
		o = object_set(o, "user", json_string(job->user));
	if (job->command)
		o = object_set(o, "command", json_string(job->command));
	if (job->keep > 0)
		o = object_set(o, "keep", json_real(job->keep));
	if (job->progress)
		o = object_set(o, "progress", json_string(job->progress));
	return o;
}

static json_t *jobs_json(const struct hes_jobs *jobs)
{
	json_t *list = json_array();

	for (size_t i = 0; i < jobs->n; i++)
		list = list_add(list, job_json(&jobs->v[i]));
	return list;
}

static json_t *totals_json(const struct hes_plan *p, const struct hes_jobs *jobs)
{
	const struct hes_totals *t = &p->predicted;
	json_t *o = json_pack("{s:f, s:I, s:o, s:o}", "avg_jct_us", t->avg_jct_us, "makespan_us",
			      (json_int_t)t->makespan_us, "busy_energy_j",
			      milli_json(t->busy_energy_mj), "fleet_energy_j",
			      milli_json(t->fleet_energy_mj));

	if (hes_jobs_due(jobs) > 0)
		o = object_set(o, "deadlines_missed",
			       json_integer((json_int_t)hes_plan_missed(p, jobs)));
	if (p->power_cap_mw) {
		o = object_set(o, "power_cap_w", milli_json(p->power_cap_mw));
		o = object_set(o, "peak_w", milli_json(p->peak_mw));
	}
	return o;
}

const char *const hes_known_sources[] = { "measured", "known", "derived", "unknown", NULL };

static json_t *known_json(const struct hes_plan *p)
{
	json_t *o = json_object();

	for (int i = 0; i < HES_KNOWN_SOURCES; i++)
		o = object_set(o, hes_known_sources[i], json_integer(p->known[i]));
	return o;
}

static json_t *plan_json(const struct hes_plan *p, const struct hes_fleet *f,
			 const struct hes_jobs *jobs)
{
	json_t *gpus = json_array(), *doc;

	for (size_t g = 0; g < p->n_gpus; g++)
		gpus = list_add(gpus, queue_json(&p->queues[g], &f->gpus[g], jobs));
	doc = json_pack("{s:s, s:i, s:s, s:s, s:I, s:o, s:o, s:o}", "format", FORMAT, "version",
			VERSION, "policy", p->policy, "prefer", p->prefer, "seed",
			(json_int_t)p->seed, "predicted", totals_json(p, jobs), "gpus", gpus,
			"jobs", jobs_json(jobs));
	for (int i = 0; i < HES_KNOWN_SOURCES; i++)
		if (p->known[i] && !json_object_get(doc, "jobs_known"))
			doc = object_set(doc, "jobs_known", known_json(p));
	/* A name that is no UTF-8 cannot be kept. */
	if (jobs->file && json_object_set_new(doc, "jobs_file", json_string(jobs->file)))
		json_object_del(doc, "jobs_file");
	return doc;
}

int hes_plan_save(const char *path, const struct hes_plan *p, const struct hes_fleet *f,
		  const struct hes_jobs *jobs, struct hes_err *err)
{
	struct hes_file file;
	json_t *doc;
	int rc;

	if (p->n_gpus != f->n)
		return hes_fail(err, -EINVAL, "%s: the plan is for %zu GPUs, the fleet has %zu",
				path, p->n_gpus, f->n);
	if (p->seed > INT64_MAX)
		return hes_fail(err, -ERANGE, "%s: seed %" PRIu64 " is above 2^63 - 1", path,
				p->seed);
	doc = plan_json(p, f, jobs);
	if (!doc)
		return hes_fail(err, -ENOMEM, "%s: out of memory for the plan", path);
	rc = hes_file_create(&file, path, err);
	if (rc) {
		json_decref(doc);
		return rc;
	}
	errno = 0;
	if (json_dumpf(doc, file.f, JSON_INDENT(1) | JSON_REAL_PRECISION(DIGITS)) ||
	    fputc('\n', file.f) == EOF) {
		rc = errno ? -errno : -EIO;
		hes_file_abort(&file);
		hes_fail(err, rc, "%s: cannot write: %s",
			 strcmp(path, "-") ? path : "standard output", strerror(-rc));
	} else {
		rc = hes_file_commit(&file, err);
	}
	json_decref(doc);
	return rc;
}

/* A file being read: what its names mean and where the reader is. The first error stays; later
 * reads return 0. */
struct reader {
	const char *file;
	const struct hes_fleet *fleet;
	const struct hes_jobs *jobs;
	struct hes_text_map ids; /* of jobs */
	bool predicted;          /* the plan has times and energies; else they are not read */
	char at[96];             /* JSON path of the current object; "" at the top */
	int rc;
	struct hes_err *err;
};

static void set_path(struct reader *r, const char *fmt, ...) HES_PRINTF(2, 3);

static void set_path(struct reader *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->at, sizeof(r->at), fmt, ap);
	va_end(ap);
}

static void refuse_as(struct reader *r, int code, const char *key, const char *fmt, ...)
	HES_PRINTF(4, 5);

static void refuse_as(struct reader *r, int code, const char *key, const char *fmt, ...)
{
	char what[HES_ERR_MAX / 2];
	va_list ap;

	if (r->rc)
		return;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	r->rc = hes_fail(r->err, code, "%s: %s%s%s: %s", r->file, r->at, *r->at ? "." : "", key,
			 what);
}

static void refuse(struct reader *r, const char *key, const char *what)
{
	refuse_as(r, -EINVAL, key, "%s", what);
}

/* @return the member; NULL, with an error, where it is missing or not of this type */
static json_t *get(struct reader *r, const json_t *o, const char *key, bool (*is)(const json_t *),
		   const char *not_so)
{
	json_t *v = json_object_get(o, key);

	if (v && is(v))
		return v;
	refuse(r, key, v ? not_so : "missing");
	return NULL;
}

static bool is_integer(const json_t *v)
{
	return json_is_integer(v);
}
static bool is_string(const json_t *v)
{
	return json_is_string(v);
}
static bool is_list(const json_t *v)
{
	return json_is_array(v);
}
static bool is_time(const json_t *v)
{
	return json_is_number(v) && json_number_value(v) >= 0;
}

static int64_t get_int(struct reader *r, const json_t *o, const char *key, int64_t min, int64_t max)
{
	const json_t *v = get(r, o, key, is_integer, "not a whole number");
	const int64_t x = json_integer_value(v);

	if (v && (x < min || x > max))
		refuse_as(r, -EINVAL, key, "%" PRId64 " is outside %" PRId64 " to %" PRId64, x, min,
			  max);
	return r->rc ? 0 : x;
}

static uint32_t get_u32(struct reader *r, const json_t *o, const char *key, uint32_t min,
			uint32_t max)
{
	return (uint32_t)get_int(r, o, key, min, max);
}

static uint64_t get_u64(struct reader *r, const json_t *o, const char *key)
{
	return (uint64_t)get_int(r, o, key, 0, INT64_MAX);
}

static bool is_amount(const json_t *v)
{
	return json_is_number(v) && json_number_value(v) >= 0 && json_number_value(v) < 9e15;
}

/* Thousandths of a unit: of @key, which is in the unit, or of @older, a whole number of files
 * before version 4. */
static uint64_t get_milli(struct reader *r, const json_t *o, const char *key, const char *older)
{
	const json_t *v;

	if (json_object_get(o, older) && !json_object_get(o, key))
		return get_u64(r, o, older);
	v = get(r, o, key, is_amount, "not a number from 0 to 9e15");
	return r->rc ? 0 : (uint64_t)llround(json_number_value(v) * 1000);
}

static bool has_either(const json_t *o, const char *key, const char *older)
{
	return json_object_get(o, key) || json_object_get(o, older);
}

static double get_time(struct reader *r, const json_t *o, const char *key)
{
	return json_number_value(get(r, o, key, is_time, "not a number from 0 on"));
}

static const char *get_text(struct reader *r, const json_t *o, const char *key)
{
	const json_t *v = get(r, o, key, is_string, "not a string");

	if (v && (json_string_length(v) >= HES_NAME_MAX ||
		  strlen(json_string_value(v)) != json_string_length(v)))
		refuse(r, key, "not a name of at most 47 bytes");
	return r->rc ? "" : json_string_value(v);
}

static json_t *get_list(struct reader *r, const json_t *o, const char *key, size_t max)
{
	json_t *v = get(r, o, key, is_list, "not a list");

	if (json_array_size(v) > max)
		refuse(r, key, "too long a list");
	return r->rc ? NULL : v;
}

/* A job without the list is within the training range. */
static uint32_t read_outside(struct reader *r, const json_t *o)
{
	const json_t *list = json_object_get(o, "extrapolated");
	uint32_t outside = 0;

	if (list && !json_is_array(list))
		refuse(r, "extrapolated", "not a list");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *name = json_string_value(json_array_get(list, i));
		uint32_t one = name ? hes_outside_find(name) : 0;

		if (!one)
			refuse(r, "extrapolated",
			       "not a list of GPU type, workload, batch size, share, clock, "
			       "co-runners");
		outside |= one;
	}
	return outside;
}

static void read_times(struct reader *r, const json_t *o, int64_t *start_us, int64_t *end_us)
{
	if (!r->predicted)
		return;
	*start_us = get_int(r, o, "start_us", 0, HES_PLAN_LONGEST_US);
	*end_us = get_int(r, o, "end_us", *start_us, HES_PLAN_LONGEST_US);
}

static uint32_t read_activity(struct reader *r, const json_t *o)
{
	const uint64_t mw = get_milli(r, o, "activity_w", "activity_mw");

	if (!r->rc && (!mw || mw > UINT32_MAX))
		refuse(r, "activity_w", "outside 0.001 to 4294967.295");
	return (uint32_t)mw;
}

static void read_placement(struct reader *r, const json_t *o, struct hes_placement *out)
{
	const char *id = get_text(r, o, "job");

	out->job = hes_text_map_find(&r->ids, id);
	if (out->job == HES_HASH_NONE)
		refuse_as(r, -ENOENT, "job", "no job \"%s\" among the jobs", id);
	out->sm_pct = get_u32(r, o, "sm_pct", 1, 100);
	read_times(r, o, &out->start_us, &out->end_us);
	out->outside = read_outside(r, o);
	if (has_either(o, "activity_w", "activity_mw"))
		out->activity_mw = read_activity(r, o);
	if (has_either(o, "energy_j", "energy_mj"))
		out->energy_mj = get_milli(r, o, "energy_j", "energy_mj");
}

/* Files that do not say it had their default clocks from measurements without a lock. */
static bool read_unlocked(struct reader *r, const json_t *o, const struct hes_gpu_type *g,
			  uint32_t clock_mhz)
{
	const json_t *unlocked = json_object_get(o, "unlocked");

	if (unlocked && !json_is_boolean(unlocked))
		refuse(r, "unlocked", "neither true nor false");
	return unlocked ? json_is_true(unlocked) : hes_gpu_type_is_unlocked(g, clock_mhz);
}

/* @param q  the queue it is for. A batch without a clock is not locked. */
static void read_batch(struct reader *r, size_t entry, size_t gpu, const struct hes_queue *q,
		       const json_t *o, struct hes_batch *out)
{
	const struct hes_gpu_type *g = r->fleet->gpus[gpu].type;
	const json_t *list;

	set_path(r, "gpus[%zu].batches[%zu]", entry, q->n);
	out->clock_mhz = g->clock_default_mhz;
	if (json_object_get(o, "clock_mhz"))
		out->clock_mhz = get_u32(r, o, "clock_mhz", 1, 100000);
	out->unlocked = read_unlocked(r, o, g, out->clock_mhz);
	out->unknown = json_is_true(json_object_get(o, "unknown"));
	read_times(r, o, &out->start_us, &out->end_us);
	if (r->predicted)
		out->energy_mj = get_milli(r, o, "energy_j", "energy_mj");
	list = get_list(r, o, "jobs", HES_MAX_SHARING);
	out->n = (uint32_t)json_array_size(list);
	if (out->n == 0)
		refuse(r, "jobs", "a batch without jobs");
	if ((q->together || out->unknown) && out->n != 1)
		refuse(r, "jobs",
		       out->unknown ? "several jobs in a batch of a job that is unknown"
				    : "several jobs in a batch of an open queue");
	for (uint32_t i = 0; i < out->n && !r->rc; i++) {
		set_path(r, "gpus[%zu].batches[%zu].jobs[%" PRIu32 "]", entry, q->n, i);
		read_placement(r, json_array_get(list, i), &out->jobs[i]);
	}
	if (out->n == 1)
		out->jobs[0].energy_mj = out->energy_mj;
}

/* The GPU of an entry. Files in the order of the fleet need no search. */
static size_t read_gpu_name(struct reader *r, size_t entry, const json_t *o)
{
	const char *const key = hes_plan_gpu_type_key(o);
	const char *name, *type;
	long gpu;

	set_path(r, "gpus[%zu]", entry);
	name = get_text(r, o, "gpu");
	type = json_object_get(o, key) ? get_text(r, o, key) : NULL;
	if (r->rc)
		return 0;
	gpu = entry < r->fleet->n && strcmp(r->fleet->gpus[entry].name, name) == 0
		      ? (long)entry
		      : hes_fleet_find(r->fleet, name);
	if (gpu < 0)
		refuse_as(r, -ENOENT, "gpu", "no GPU \"%s\" in fleet %s", name, r->fleet->name);
	else if (type && strcmp(r->fleet->gpus[gpu].type->name, type) != 0)
		refuse_as(r, -EINVAL, key, "%s is %s %s in the fleet, not %s %s", name,
			  hes_article(r->fleet->gpus[gpu].type->name),
			  r->fleet->gpus[gpu].type->name, hes_article(type), type);
	return r->rc ? 0 : (size_t)gpu;
}

static void read_queue(struct reader *r, size_t entry, const json_t *o, struct hes_plan *out)
{
	const size_t gpu = read_gpu_name(r, entry, o);
	const json_t *batches = get_list(r, o, "batches", SIZE_MAX);
	struct hes_queue *q = &out->queues[gpu];

	if (!r->rc && q->n)
		refuse(r, "gpu", "given twice");
	if (!r->rc && json_object_get(o, "together"))
		q->together = get_u32(r, o, "together", 1, HES_MAX_SHARING);
	if (!r->rc && json_object_get(o, "shares_pct"))
		q->shares_pct = get_u32(r, o, "shares_pct", 100, HES_MAX_SHARING * 100);
	for (size_t b = 0; b < json_array_size(batches) && !r->rc; b++) {
		struct hes_batch batch = { 0 };

		read_batch(r, entry, gpu, q, json_array_get(batches, b), &batch);
		if (!r->rc && hes_plan_append(out, gpu, &batch))
			r->rc = hes_fail(r->err, -ENOMEM, "%s: out of memory", r->file);
	}
}

static bool has(const json_t *o, const char *key)
{
	return json_object_get(o, key) != NULL;
}

/* A plan written by hand may lack all of it. */
static void read_head(struct reader *r, const json_t *doc, struct hes_plan *out)
{
	if (has(doc, "format") && strcmp(get_text(r, doc, "format"), FORMAT) != 0)
		refuse(r, "format", "not \"" FORMAT "\"");
	if (has(doc, "version"))
		get_int(r, doc, "version", 1, VERSION);
	if (has(doc, "policy"))
		strcpy(out->policy, get_text(r, doc, "policy"));
	if (has(doc, "prefer"))
		strcpy(out->prefer, get_text(r, doc, "prefer"));
	if (has(doc, "seed"))
		out->seed = get_u64(r, doc, "seed");
}

static void read_totals(struct reader *r, const json_t *doc, struct hes_plan *plan)
{
	const json_t *o = json_object_get(doc, "predicted");
	struct hes_totals *out = &plan->predicted;

	set_path(r, "predicted");
	out->avg_jct_us = get_time(r, o, "avg_jct_us");
	out->makespan_us = get_int(r, o, "makespan_us", 0, HES_PLAN_LONGEST_US);
	out->busy_energy_mj = get_milli(r, o, "busy_energy_j", "busy_energy_mj");
	out->fleet_energy_mj = get_milli(r, o, "fleet_energy_j", "fleet_energy_mj");
	if (has_either(o, "power_cap_w", "power_cap_mw") || has_either(o, "peak_w", "peak_mw")) {
		plan->power_cap_mw = get_milli(r, o, "power_cap_w", "power_cap_mw");
		plan->peak_mw = get_milli(r, o, "peak_w", "peak_mw");
	}
}

static void read_known(struct reader *r, const json_t *o, struct hes_plan *out)
{
	set_path(r, "jobs_known");
	for (int i = 0; i < HES_KNOWN_SOURCES; i++)
		out->known[i] = get_u32(r, o, hes_known_sources[i], 0, HES_MAX_JOBS);
}

static void read_plan(struct reader *r, const json_t *doc, struct hes_plan *out)
{
	const json_t *gpus;

	if (!json_is_object(doc)) {
		r->rc = hes_fail(r->err, -EINVAL, "%s: not a JSON object", r->file);
		return;
	}
	read_head(r, doc, out);
	gpus = get_list(r, doc, "gpus", HES_MAX_GPUS);
	r->predicted = has(doc, "predicted");
	out->unpredicted = !r->predicted;
	if (r->predicted)
		read_totals(r, doc, out);
	if (has(doc, "jobs_known"))
		read_known(r, json_object_get(doc, "jobs_known"), out);
	for (size_t i = 0; !r->rc && i < json_array_size(gpus); i++)
		read_queue(r, i, json_array_get(gpus, i), out);
}

/* Of several jobs with one id the first is found. */
static int index_jobs(struct reader *r)
{
	int rc = hes_text_map_make(&r->ids, r->jobs->v, sizeof(*r->jobs->v), r->jobs->n);

	return rc ? hes_fail(r->err, rc, "%s: out of memory for %zu jobs", r->file, r->jobs->n) : 0;
}

int hes_plan_parse(const char *path, json_t **out, struct hes_err *err)
{
	int rc = hes_json_load(path, HES_PLAN_MAX_BYTES, out, err);
	struct hes_err why;

	if (rc != -EINVAL || !err)
		return rc;
	why = *err;
	return hes_fail(err, rc, "%s; a plan is a JSON file that heshare plan -o FILE writes",
			why.msg);
}

int hes_plan_read(const json_t *doc, const char *name, const struct hes_fleet *f,
		  const struct hes_jobs *jobs, struct hes_plan *out, struct hes_err *err)
{
	struct reader r = { .file = name, .fleet = f, .jobs = jobs, .err = err };
	struct hes_plan plan = { 0 };
	int rc = index_jobs(&r);

	if (!rc && hes_plan_init(&plan, f->n))
		rc = hes_fail(err, -ENOMEM, "%s: out of memory for %zu GPUs", name, f->n);
	if (!rc) {
		read_plan(&r, doc, &plan);
		rc = r.rc;
	}
	if (rc)
		hes_plan_finish(&plan);
	else
		*out = plan;
	hes_hash_map_finish(&r.ids.map);
	return rc;
}

int hes_plan_load(const char *path, const struct hes_fleet *f, const struct hes_jobs *jobs,
		  struct hes_plan *out, struct hes_err *err)
{
	json_t *doc;
	int rc = hes_plan_parse(path, &doc, err);

	if (rc)
		return rc;
	rc = hes_plan_read(doc, path, f, jobs, out, err);
	json_decref(doc);
	return rc;
}
