/*
 * job.c - read jobs from CSV and YAML, write CSV; see job.h.
 *
 * Both readers add one job at a time to a struct builder. Its hash map finds a repeated id at the
 * row that repeats it. Ten million ids take 128 MiB.
 */
#include "heshare/job.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/count_pattern.h"
#include "base/csv.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/hash_map.h"
#include "base/num.h"
#include "base/utf8.h"
#include "base/yaml.h"

#define MAX_MEMORY_MIB 16777216u
#define MAX_WEIGHT     1000u
#define MIN_KEEP       0.01
#define MAX_SECONDS    1e9
#define MAX_COMMAND    32768
#define BLANKS         " \t\r\n"

struct builder {
	struct hes_jobs jobs;
	struct hes_hash_map ids; /* of jobs.v */
	const char *pattern;     /* of the commands; NULL: none */
};

static bool job_has_id(const void *jobs, uint32_t index, const void *id)
{
	return strcmp(((const struct hes_job *)jobs)[index].id, id) == 0;
}

static void builder_free(struct builder *b)
{
	hes_jobs_free(&b->jobs);
	hes_hash_map_finish(&b->ids);
}

/*
 * Take over @job, command included. Errors have no place in them: the caller adds it.
 * On failure @job stays the caller's.
 */
static int add(struct builder *b, const struct hes_job *job, struct hes_err *err)
{
	const uint64_t hash = hes_hash_text(HES_HASH_START, job->id);
	struct hes_job *v;
	uint32_t other;

	if (b->jobs.n == HES_MAX_JOBS)
		return hes_fail(err, -E2BIG, "more than %d jobs; split the file", HES_MAX_JOBS);
	other = hes_hash_map_find(&b->ids, hash, job_has_id, b->jobs.v, job->id);
	if (other != HES_HASH_NONE)
		return hes_fail(err, -EEXIST,
				"id: \"%s\" is also job %" PRIu32 " of the file; ids must differ",
				job->id, other + 1);
	v = hes_grow(b->jobs.v, b->jobs.n, sizeof(*v));
	b->jobs.v = v ? v : b->jobs.v;
	if (!v || hes_hash_map_add(&b->ids, hash, (uint32_t)b->jobs.n))
		return hes_fail(err, -ENOMEM, "out of memory at job %zu", b->jobs.n + 1);
	b->jobs.v[b->jobs.n++] = *job;
	return 0;
}

/* Hand the jobs over, or say that there are none. */
static int finish(const char *path, struct builder *b, struct hes_jobs *out, struct hes_err *err)
{
	struct hes_job *fit;

	if (b->jobs.n == 0)
		return hes_fail(err, -EINVAL, "%s: no jobs; at least one is needed", path);
	fit = realloc(b->jobs.v, b->jobs.n * sizeof(*fit));
	if (fit)
		b->jobs.v = fit;
	*out = b->jobs;
	b->jobs = (struct hes_jobs){ 0 };
	return 0;
}

static int set_name(char *to, const char *field, const char *text, bool optional,
		    struct hes_err *err)
{
	int rc = optional && !*text ? 0 : hes_check_name(field, text, HES_NAME_MAX - 1, err);

	if (!rc)
		strcpy(to, text);
	return rc;
}

/* Without a workload, it is the command, or the pattern of all commands. */
static int set_workload(struct hes_job *job, const char *text, const char *pattern,
			struct hes_err *err)
{
	int rc;

	if (*text) {
		rc = set_name(job->workload, "workload", text, false, err);
		return rc ? rc : hes_job_name_unit(job, pattern, err);
	}
	if (!job->command && pattern && strstr(pattern, "{workload}"))
		return hes_fail(err, -EINVAL, "workload: empty; the command needs it: %.80s",
				pattern);
	if (!job->command && !pattern)
		return hes_fail(err, -EINVAL,
				"command: empty; a job needs a command or a workload");
	hes_job_workload_of(job->command ? job->command : pattern, job->workload);
	return hes_job_name_unit(job, pattern, err);
}

/* Without an id, it is the number of the job in its file. */
static int set_id(struct hes_job *job, const char *text, size_t number, bool *made,
		  struct hes_err *err)
{
	if (*text)
		return set_name(job->id, "id", text, false, err);
	snprintf(job->id, sizeof(job->id), "%zu", number);
	*made = true;
	return 0;
}

bool hes_job_is_numbered(const struct hes_job *job, size_t index)
{
	char number[HES_NAME_MAX];

	snprintf(number, sizeof(number), "%zu", index + 1);
	return strcmp(job->id, number) == 0;
}

static int set_command(struct hes_job *job, const char *text, struct hes_err *err)
{
	size_t n;

	text += strspn(text, BLANKS);
	for (n = strlen(text); n && strchr(BLANKS, text[n - 1]);)
		n--;
	if (!n)
		return 0;
	if (n > MAX_COMMAND)
		return hes_fail(err, -ERANGE, "command: longer than %d bytes", MAX_COMMAND);
	job->command = strndup(text, n);
	return job->command ? 0 : hes_fail(err, -ENOMEM, "command: out of memory");
}

_Static_assert(HES_JOB_PROGRESS == HES_COUNT_PATTERN_MAX, "a pattern has one longest length");

int hes_jobs_set_progress(struct hes_job *v, size_t n, const char *what, const char *pattern,
			  struct hes_err *err)
{
	struct hes_count_pattern p;
	int rc = hes_count_pattern_make(&p, what, pattern, err);

	if (rc)
		return rc;
	hes_count_pattern_free(&p);
	for (size_t i = 0; i < n; i++)
		if (!v[i].progress && !(v[i].progress = strdup(pattern)))
			return hes_fail(err, -ENOMEM, "%s: out of memory", what);
	return 0;
}

static int set_progress(struct hes_job *job, const char *text, struct hes_err *err)
{
	return *text ? hes_jobs_set_progress(job, 1, "progress", text, err) : 0;
}

static int check_deadline(const struct hes_job *job, struct hes_err *err)
{
	if (job->has_deadline && job->deadline_us < job->arrival_us)
		return hes_fail(err, -ERANGE, "deadline_s: %g is before arrival_s %g",
				(double)job->deadline_us / 1e6, (double)job->arrival_us / 1e6);
	return 0;
}

/* --- CSV --- */

struct columns {
	/* -1 when not there */
	int id, workload, batch, iterations, memory, arrival, deadline, weight, keep, user, command,
		gpus, progress;
	int gpu; /* the same: a number of GPUs, or a type, which nothing reads */
};

/* A column that says on how many GPUs a job is to run, in lower or upper case, with any blanks. */
static bool counts_gpus(const char *name)
{
	static const char *const names[] = { "numgpu",    "ngpu",       "gpucount",  "gpunum",
					     "gpuperjob", "gpupertask", "gpupernode" };
	char letters[32];
	size_t n = 0;

	for (; *name && n + 1 < sizeof(letters); name++)
		if (isalpha((unsigned char)*name))
			letters[n++] = (char)tolower((unsigned char)*name);
	letters[n] = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(letters, names[i]) == 0)
			return true;
	return strstr(letters, "gpus") != NULL;
}

/* What a jobs file may have. A column of GPUs only refuses jobs on several. */
static const struct {
	const char *name;
	size_t at; /* in struct columns */
} job_columns[] = {
	{ "command", offsetof(struct columns, command) },
	{ "workload", offsetof(struct columns, workload) },
	{ "id", offsetof(struct columns, id) },
	{ "batch_size", offsetof(struct columns, batch) },
	{ "iterations", offsetof(struct columns, iterations) },
	{ "memory_mib", offsetof(struct columns, memory) },
	{ "arrival_s", offsetof(struct columns, arrival) },
	{ "deadline_s", offsetof(struct columns, deadline) },
	{ "weight", offsetof(struct columns, weight) },
	{ "keep", offsetof(struct columns, keep) },
	{ "user", offsetof(struct columns, user) },
	{ "progress", offsetof(struct columns, progress) },
};

#define JOB_COLUMNS (sizeof(job_columns) / sizeof(job_columns[0]))

static int *column_at(struct columns *col, size_t k)
{
	return (int *)((char *)col + job_columns[k].at);
}

/* Note the columns that are none of @col's: a misspelt one would be lost without a word. */
static int list_unread(const struct hes_csv *c, struct columns *col, char **out,
		       struct hes_err *err)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	for (size_t i = 0; f && i < hes_csv_columns(c); i++) {
		bool read = !*hes_csv_column_name(c, i) || col->gpus == (int)i;

		for (size_t k = 0; k < JOB_COLUMNS; k++)
			read = read || *column_at(col, k) == (int)i;
		if (!read)
			fprintf(f, "%s\n", hes_csv_column_name(c, i));
	}
	if (!f || fclose(f)) {
		free(text);
		return hes_fail(err, -ENOMEM, "out of memory for the names of columns");
	}
	if (!size) {
		free(text);
		text = NULL;
	}
	*out = text;
	return 0;
}

/* With a command for all jobs, any column of a jobs file is enough. A file without one is
 * something else. */
static int find_columns(const struct hes_csv *c, const char *pattern, struct columns *col,
			struct hes_err *err)
{
	struct hes_err why;
	bool any = false;

	for (size_t k = 0; k < JOB_COLUMNS; k++) {
		*column_at(col, k) = hes_csv_find(c, job_columns[k].name);
		any |= *column_at(col, k) >= 0;
	}
	if (!any || (!pattern && col->command < 0 && col->workload < 0)) {
		hes_csv_column(c, "command", &why);
		return hes_fail(err, -ENOENT,
				"%s; the first line names the columns, and jobs need the column "
				"command or workload",
				why.msg);
	}
	if (pattern && col->command < 0 && col->workload < 0 && strstr(pattern, "{workload}")) {
		hes_csv_column(c, "workload", &why);
		return hes_fail(err, -ENOENT, "%s; the command needs it: %.80s", why.msg, pattern);
	}
	col->gpu = hes_csv_find(c, "gpu");
	col->gpus = -1;
	for (size_t i = 0; i < hes_csv_columns(c); i++)
		if (counts_gpus(hes_csv_column_name(c, i)))
			col->gpus = (int)i;
	return 0;
}

static int read_numbers(const struct hes_csv *c, const struct columns *col, struct hes_job *job,
			struct hes_err *err)
{
	int rc = 0;

	if (hes_csv_text(c, col->arrival)[0])
		rc = hes_csv_seconds(c, col->arrival, &job->arrival_us, err);
	job->batch_size = 1;
	if (!rc && hes_csv_text(c, col->batch)[0])
		rc = hes_csv_u32(c, col->batch, 1, HES_MAX_BATCH_SIZE, &job->batch_size, err);
	job->whole_run = !hes_csv_text(c, col->iterations)[0];
	job->iterations = 1;
	if (!rc && !job->whole_run)
		rc = hes_csv_u64(c, col->iterations, 1, HES_MAX_ITERATIONS, &job->iterations, err);
	if (!rc && hes_csv_text(c, col->memory)[0])
		rc = hes_csv_u32(c, col->memory, 0, MAX_MEMORY_MIB, &job->memory_mib, err);
	job->weight = 1;
	if (!rc && hes_csv_text(c, col->weight)[0])
		rc = hes_csv_u32(c, col->weight, 1, MAX_WEIGHT, &job->weight, err);
	if (!rc && hes_csv_text(c, col->keep)[0])
		rc = hes_csv_double(c, col->keep, MIN_KEEP, 1, &job->keep, err);
	job->has_deadline = hes_csv_text(c, col->deadline)[0] != '\0';
	if (!rc && job->has_deadline)
		rc = hes_csv_seconds(c, col->deadline, &job->deadline_us, err);
	return rc;
}

/* @param types  the column may also hold a type of GPU */
static int check_gpus(const struct hes_csv *c, int column, bool types, struct hes_err *err)
{
	const char *text = hes_csv_text(c, column);
	double gpus = 1;

	if (!text[0])
		return 0;
	if (hes_csv_double(c, column, 0, 1e9, &gpus, NULL)) {
		if (types && !isdigit((unsigned char)text[0]) && !strchr(text, ':'))
			return 0;
		return hes_fail(err, -EINVAL,
				"%s: \"%.60s\" is no number of GPUs; a job of heshare runs on one "
				"GPU or a part of it: write 1, or leave it empty",
				hes_csv_column_name(c, (size_t)column), text);
	}
	if (gpus <= 1)
		return 0;
	return hes_fail(
		err, -ENOTSUP,
		"%s: %g, but a job of heshare runs on one GPU or a part of it; take the job "
		"out of the file and run it by itself, on GPUs that the plan does not use",
		hes_csv_column_name(c, (size_t)column), gpus);
}

static int read_row(const struct hes_csv *c, const struct columns *col, struct builder *b,
		    struct hes_err *err)
{
	struct hes_job job = { 0 };
	int rc = read_numbers(c, col, &job, err);

	if (rc)
		return rc;
	rc = check_gpus(c, col->gpus, false, err);
	if (!rc)
		rc = check_gpus(c, col->gpu, true, err);
	if (!rc)
		rc = set_id(&job, hes_csv_text(c, col->id), b->jobs.n + 1, &b->jobs.made_ids, err);
	if (!rc)
		rc = set_command(&job, hes_csv_text(c, col->command), err);
	if (!rc)
		rc = set_workload(&job, hes_csv_text(c, col->workload), b->pattern, err);
	if (!rc)
		rc = set_name(job.user, "user", hes_csv_text(c, col->user), true, err);
	if (!rc)
		rc = set_progress(&job, hes_csv_text(c, col->progress), err);
	if (!rc)
		rc = check_deadline(&job, err);
	if (!rc)
		rc = add(b, &job, err);
	if (rc) {
		hes_job_finish(&job);
		hes_fail_in(err, "%s:%zu", hes_csv_path(c), hes_csv_line(c));
	}
	return rc;
}

static int load_csv(const char *path, struct builder *b, struct hes_err *err)
{
	struct hes_csv *c;
	struct columns col = { 0 };
	int rc = hes_csv_open(path, &c, err);

	if (rc)
		return rc;
	rc = find_columns(c, b->pattern, &col, err);
	if (!rc)
		rc = list_unread(c, &col, &b->jobs.unread, err);
	while (!rc) {
		rc = hes_csv_next(c, err);
		if (rc <= 0)
			break;
		rc = read_row(c, &col, b, err);
	}
	hes_csv_close(c);
	return rc;
}

/* --- YAML --- */

struct doc_job {
	char *id, *workload, *user, *command, *progress;
	char *iterations; /* libcyaml would wrap a negative 64-bit number */
	double arrival_s;
	double *deadline_s, *keep;
	uint32_t *weight, *batch_size;
	uint32_t memory_mib;
};

struct doc {
	struct doc_job *jobs;
	unsigned jobs_count;
};

static const cyaml_schema_field_t job_fields[] = {
	CYAML_FIELD_STRING_PTR("id", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct doc_job, id,
			       0, CYAML_UNLIMITED),
	CYAML_FIELD_FLOAT("arrival_s", CYAML_FLAG_OPTIONAL, struct doc_job, arrival_s),
	CYAML_FIELD_STRING_PTR("workload", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct doc_job,
			       workload, 0, CYAML_UNLIMITED),
	CYAML_FIELD_UINT_PTR("batch_size", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct doc_job,
			     batch_size),
	CYAML_FIELD_STRING_PTR("iterations", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
			       struct doc_job, iterations, 0, 32),
	CYAML_FIELD_UINT("memory_mib", CYAML_FLAG_OPTIONAL, struct doc_job, memory_mib),
	CYAML_FIELD_FLOAT_PTR("deadline_s", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
			      struct doc_job, deadline_s),
	CYAML_FIELD_UINT_PTR("weight", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct doc_job,
			     weight),
	CYAML_FIELD_FLOAT_PTR("keep", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct doc_job,
			      keep),
	CYAML_FIELD_STRING_PTR("user", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct doc_job,
			       user, 0, CYAML_UNLIMITED),
	CYAML_FIELD_STRING_PTR("command", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct doc_job,
			       command, 0, CYAML_UNLIMITED),
	CYAML_FIELD_STRING_PTR("progress", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct doc_job,
			       progress, 0, CYAML_UNLIMITED),
	CYAML_FIELD_END
};

static const cyaml_schema_value_t job_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct doc_job, job_fields),
};

static const cyaml_schema_field_t doc_fields[] = { CYAML_FIELD_SEQUENCE(
							   "jobs", CYAML_FLAG_POINTER, struct doc,
							   jobs, &job_value, 0, CYAML_UNLIMITED),
						   CYAML_FIELD_END };

static const cyaml_schema_value_t doc_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct doc, doc_fields),
};

struct range {
	const char *field;
	double value, min, max;
};

static int check_ranges(const struct doc_job *d, struct hes_err *err)
{
	const struct range ranges[] = {
		{ "arrival_s", d->arrival_s, 0, MAX_SECONDS },
		{ "batch_size", d->batch_size ? *d->batch_size : 1, 1, HES_MAX_BATCH_SIZE },
		{ "memory_mib", d->memory_mib, 0, MAX_MEMORY_MIB },
		{ "deadline_s", d->deadline_s ? *d->deadline_s : 0, 0, MAX_SECONDS },
		{ "weight", d->weight ? *d->weight : 1, 1, MAX_WEIGHT },
		{ "keep", d->keep ? *d->keep : 1, MIN_KEEP, 1 },
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		const struct range *r = &ranges[i];

		if (!(r->value >= r->min && r->value <= r->max))
			return hes_fail(err, -ERANGE, "%s: %g is outside %g to %g", r->field,
					r->value, r->min, r->max);
	}
	return 0;
}

static const char *text_of(const char *text)
{
	return text ? text : "";
}

static int convert_job(const struct doc_job *d, const char *pattern, struct hes_job *job,
		       struct hes_err *err)
{
	int rc = check_ranges(d, err);

	job->whole_run = !d->iterations;
	job->iterations = 1;
	if (!rc && d->iterations)
		rc = hes_parse_u64("iterations", d->iterations, 1, HES_MAX_ITERATIONS,
				   &job->iterations, err);
	if (!rc)
		rc = set_command(job, text_of(d->command), err);
	if (!rc)
		rc = set_workload(job, text_of(d->workload), pattern, err);
	if (!rc)
		rc = set_name(job->user, "user", text_of(d->user), true, err);
	if (!rc)
		rc = set_progress(job, text_of(d->progress), err);
	if (rc)
		return rc;
	job->arrival_us = (int64_t)llround(d->arrival_s * 1e6);
	job->batch_size = d->batch_size ? *d->batch_size : 1;
	job->memory_mib = d->memory_mib;
	job->weight = d->weight ? *d->weight : 1;
	job->keep = d->keep ? *d->keep : 0;
	job->has_deadline = d->deadline_s;
	job->deadline_us = d->deadline_s ? (int64_t)llround(*d->deadline_s * 1e6) : 0;
	return check_deadline(job, err);
}

static int load_yaml(const char *path, struct builder *b, struct hes_err *err)
{
	const struct doc *d;
	void *data;
	int rc = hes_yaml_load_file(path, &doc_schema, &data, err);

	if (rc)
		return rc;
	d = data;
	for (unsigned i = 0; i < d->jobs_count && !rc; i++) {
		struct hes_job job = { 0 };

		rc = convert_job(&d->jobs[i], b->pattern, &job, err);
		if (!rc)
			rc = set_id(&job, text_of(d->jobs[i].id), i + 1, &b->jobs.made_ids, err);
		if (!rc)
			rc = add(b, &job, err);
		if (rc) {
			hes_job_finish(&job);
			hes_fail_in(err, "%s: jobs[%u]", path, i);
		}
	}
	hes_yaml_free(&doc_schema, data);
	return rc;
}

static bool is_yaml(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
}

int hes_jobs_load(const char *path, struct hes_jobs *out, struct hes_err *err)
{
	return hes_jobs_load_for(NULL, path, out, err);
}

int hes_jobs_load_for(const char *pattern, const char *path, struct hes_jobs *out,
		      struct hes_err *err)
{
	struct builder b = { .pattern = pattern };
	int rc = is_yaml(path) ? load_yaml(path, &b, err) : load_csv(path, &b, err);

	b.jobs.file = strdup(path);
	if (!rc && !b.jobs.file)
		rc = hes_fail(err, -ENOMEM, "%s: out of memory", path);
	if (!rc)
		rc = finish(path, &b, out, err);
	builder_free(&b);
	return rc;
}

/* --- writing --- */

/* Microseconds as seconds, no digit lost and none more than needed. */
static void put_seconds(FILE *f, int64_t us)
{
	char text[32];
	size_t n = (size_t)snprintf(text, sizeof(text), "%" PRId64 ".%06" PRId64, us / 1000000,
				    us % 1000000);

	while (text[n - 1] == '0')
		n--;
	if (text[n - 1] == '.')
		n--;
	fwrite(text, 1, n, f);
}

/* Optional columns appear when any job uses them. */
struct used {
	bool deadline, weight, keep, user, command, progress;
};

static struct used find_used(const struct hes_jobs *jobs)
{
	struct used u = { 0 };

	for (size_t i = 0; i < jobs->n; i++) {
		const struct hes_job *job = &jobs->v[i];

		u.deadline |= job->has_deadline;
		u.weight |= job->weight != 1;
		u.keep |= job->keep > 0;
		u.user |= job->user[0] != '\0';
		u.command |= job->command != NULL;
		u.progress |= job->progress != NULL;
	}
	return u;
}

static void put_job(FILE *f, const struct hes_job *job, const struct used *u)
{
	hes_csv_put(f, job->id);
	fputc(',', f);
	put_seconds(f, job->arrival_us);
	fputc(',', f);
	hes_csv_put(f, job->workload);
	fprintf(f, ",%" PRIu32 ",", job->batch_size);
	if (!job->whole_run)
		fprintf(f, "%" PRIu64, job->iterations);
	fputc(',', f);
	if (job->memory_mib)
		fprintf(f, "%" PRIu32, job->memory_mib);
	if (u->deadline) {
		fputc(',', f);
		if (job->has_deadline)
			put_seconds(f, job->deadline_us);
	}
	if (u->weight)
		fprintf(f, ",%" PRIu32, job->weight);
	if (u->keep) {
		fputc(',', f);
		if (job->keep > 0)
			fprintf(f, "%.6g", job->keep);
	}
	if (u->user) {
		fputc(',', f);
		hes_csv_put(f, job->user);
	}
	if (u->command) {
		fputc(',', f);
		hes_csv_put(f, job->command ? job->command : "");
	}
	if (u->progress) {
		fputc(',', f);
		hes_csv_put(f, job->progress ? job->progress : "");
	}
	fputc('\n', f);
}

int hes_jobs_save(const char *path, const struct hes_jobs *jobs, struct hes_err *err)
{
	const struct used u = find_used(jobs);
	struct hes_file out;
	int rc = hes_file_create(&out, path, err);

	if (rc)
		return rc;
	fprintf(out.f, "id,arrival_s,workload,batch_size,iterations,memory_mib%s%s%s%s%s%s\n",
		u.deadline ? ",deadline_s" : "", u.weight ? ",weight" : "", u.keep ? ",keep" : "",
		u.user ? ",user" : "", u.command ? ",command" : "", u.progress ? ",progress" : "");
	for (size_t i = 0; i < jobs->n; i++)
		put_job(out.f, &jobs->v[i], &u);
	return hes_file_commit(&out, err);
}

size_t hes_jobs_due(const struct hes_jobs *jobs)
{
	size_t n = 0;

	for (size_t i = 0; i < jobs->n; i++)
		n += jobs->v[i].has_deadline;
	return n;
}

void hes_job_finish(struct hes_job *job)
{
	free(job->command);
	free(job->progress);
}

void hes_jobs_free(struct hes_jobs *jobs)
{
	for (size_t i = 0; i < jobs->n; i++)
		hes_job_finish(&jobs->v[i]);
	free(jobs->v);
	free(jobs->file);
	free(jobs->unread);
	*jobs = (struct hes_jobs){ 0 };
}
