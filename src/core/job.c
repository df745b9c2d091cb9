/*
 * job.c - read jobs from CSV and YAML, write CSV; see job.h.
 *
 * Both readers make a job of the texts of its fields, which a table describes, and add it to a
 * struct builder. Its hash map finds a repeated id at the row that repeats it. Ten million ids take
 * 128 MiB.
 */
#include "heshare/job.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
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
#include "base/texts.h"
#include "base/utf8.h"
#include "base/yaml.h"

#define MAX_MEMORY_MIB 16777216u
#define MAX_WEIGHT     1000u
#define MIN_KEEP       0.01
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
 * Take over @job, command included. Without an id, it is the number of the job in its file. Errors
 * have no place in them: the caller adds it. On failure @job stays the caller's.
 */
static int add(struct builder *b, struct hes_job *job, struct hes_err *err)
{
	struct hes_job *v;
	uint64_t hash;
	uint32_t other;

	if (b->jobs.n == HES_MAX_JOBS)
		return hes_fail(err, -E2BIG, "more than %d jobs; split the file", HES_MAX_JOBS);
	if (!job->id[0]) {
		snprintf(job->id, sizeof(job->id), "%zu", b->jobs.n + 1);
		b->jobs.made_ids = true;
	}
	hash = hes_hash_text(HES_HASH_START, job->id);
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

/* --- fields --- */

enum {
	JOB_ID,
	JOB_ARRIVAL,
	JOB_WORKLOAD,
	JOB_BATCH,
	JOB_ITERATIONS,
	JOB_MEMORY,
	JOB_DEADLINE,
	JOB_WEIGHT,
	JOB_KEEP,
	JOB_USER,
	JOB_COMMAND,
	JOB_PATTERN,
	JOB_FIELDS
};

#define AT(member) offsetof(struct hes_job, member)

/* What a jobs file may have, in the order in which it is written. From JOB_DEADLINE on a column is
 * written where any job has a value. */
static const struct job_field {
	const char *name;
	enum { FIELD_NAME, FIELD_SECONDS, FIELD_U32, FIELD_U64, FIELD_PART, FIELD_TEXT } kind;
	size_t at;
	uint64_t min, max; /* of a whole number */
} job_fields[JOB_FIELDS] = {
	[JOB_ID] = { "id", FIELD_NAME, AT(id), 0, 0 },
	[JOB_ARRIVAL] = { "arrival_s", FIELD_SECONDS, AT(arrival_us), 0, 0 },
	[JOB_WORKLOAD] = { "workload", FIELD_NAME, AT(workload), 0, 0 },
	[JOB_BATCH] = { "batch_size", FIELD_U32, AT(batch_size), 1, HES_MAX_BATCH_SIZE },
	[JOB_ITERATIONS] = { "iterations", FIELD_U64, AT(iterations), 1, HES_MAX_ITERATIONS },
	[JOB_MEMORY] = { "memory_mib", FIELD_U32, AT(memory_mib), 0, MAX_MEMORY_MIB },
	[JOB_DEADLINE] = { "deadline_s", FIELD_SECONDS, AT(deadline_us), 0, 0 },
	[JOB_WEIGHT] = { "weight", FIELD_U32, AT(weight), 1, MAX_WEIGHT },
	[JOB_KEEP] = { "keep", FIELD_PART, AT(keep), 0, 0 },
	[JOB_USER] = { "user", FIELD_NAME, AT(user), 0, 0 },
	[JOB_COMMAND] = { "command", FIELD_TEXT, AT(command), 0, 0 },
	[JOB_PATTERN] = { "progress", FIELD_TEXT, AT(progress), 0, 0 },
};

static int set_field(struct hes_job *job, size_t i, const char *text, struct hes_err *err)
{
	const struct job_field *f = &job_fields[i];
	void *to = (char *)job + f->at;
	int rc;

	switch (f->kind) {
	case FIELD_NAME:
		rc = hes_check_name(f->name, text, HES_NAME_MAX - 1, err);
		if (!rc)
			strcpy(to, text);
		return rc;
	case FIELD_SECONDS:
		return hes_parse_seconds(f->name, text, to, err);
	case FIELD_U32:
		return hes_parse_u32(f->name, text, (uint32_t)f->min, (uint32_t)f->max, to, err);
	case FIELD_U64:
		return hes_parse_u64(f->name, text, f->min, f->max, to, err);
	case FIELD_PART:
		return hes_parse_double(f->name, text, MIN_KEEP, 1, to, err);
	default:
		return i == JOB_COMMAND ? set_command(job, text, err)
					: hes_jobs_set_progress(job, 1, f->name, text, err);
	}
}

/* Without a workload, it is the command, or the pattern of all commands. */
static int name_workload(struct hes_job *job, const char *pattern, struct hes_err *err)
{
	if (!job->workload[0] && !job->command && pattern && strstr(pattern, "{workload}"))
		return hes_fail(err, -EINVAL, "workload: empty; the command needs it: %.80s",
				pattern);
	if (!job->workload[0] && !job->command && !pattern)
		return hes_fail(err, -EINVAL,
				"command: empty; a job needs a command or a workload");
	if (!job->workload[0])
		hes_job_workload_of(job->command ? job->command : pattern, job->workload);
	return hes_job_name_unit(job, pattern, err);
}

/* @param text  of each field; "": none. On failure hes_job_finish() @job. */
static int fill_job(struct hes_job *job, const char *const text[JOB_FIELDS], const char *pattern,
		    struct hes_err *err)
{
	int rc = 0;

	*job = (struct hes_job){ .batch_size = 1,
				 .iterations = 1,
				 .whole_run = !*text[JOB_ITERATIONS],
				 .weight = 1,
				 .has_deadline = *text[JOB_DEADLINE] };
	for (size_t i = 0; i < JOB_FIELDS && !rc; i++)
		rc = *text[i] ? set_field(job, i, text[i], err) : 0;
	if (!rc)
		rc = name_workload(job, pattern, err);
	if (!rc && job->has_deadline && job->deadline_us < job->arrival_us)
		rc = hes_fail(err, -ERANGE, "deadline_s: %g is before arrival_s %g",
			      (double)job->deadline_us / 1e6, (double)job->arrival_us / 1e6);
	return rc;
}

/* --- CSV --- */

struct columns {
	int of[JOB_FIELDS]; /* -1 when not there */
	/* The same: they only refuse jobs on several GPUs. @gpu: also a type, which nothing reads
	 */
	int gpus, gpu;
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

/* Note the columns that are none of @col's: a misspelt one would be lost without a word. */
static int list_unread(const struct hes_csv *c, const struct columns *col, char **out,
		       struct hes_err *err)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	for (size_t i = 0; f && i < hes_csv_columns(c); i++) {
		bool read = !*hes_csv_column_name(c, i) || col->gpus == (int)i;

		for (size_t k = 0; k < JOB_FIELDS; k++)
			read = read || col->of[k] == (int)i;
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
	const char *needed = "command";
	struct hes_err why;
	bool any = false, named;

	for (size_t k = 0; k < JOB_FIELDS; k++) {
		col->of[k] = hes_csv_find(c, job_fields[k].name);
		any |= col->of[k] >= 0;
	}
	named = col->of[JOB_COMMAND] >= 0 || col->of[JOB_WORKLOAD] >= 0;
	if (!any || (!pattern && !named)) {
		for (size_t i = 0; i < hes_csv_columns(c); i++) {
			const char *name = hes_csv_column_name(c, i);

			if (hes_text_nearest("workload", &name, 1))
				needed = "workload";
		}
		hes_csv_column(c, needed, &why);
		return hes_fail(err, -ENOENT,
				"%s; the first line names the columns, and jobs need the column "
				"command or workload",
				why.msg);
	}
	if (pattern && !named && strstr(pattern, "{workload}")) {
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
	const char *text[JOB_FIELDS];
	struct hes_job job = { 0 };
	int rc = check_gpus(c, col->gpus, false, err);

	for (size_t i = 0; i < JOB_FIELDS; i++)
		text[i] = hes_csv_text(c, col->of[i]);
	if (!rc)
		rc = check_gpus(c, col->gpu, true, err);
	if (!rc)
		rc = fill_job(&job, text, b->pattern, err);
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
	char *text[JOB_FIELDS]; /* NULL: not there */
};

struct doc {
	struct doc_job *jobs;
	unsigned jobs_count;
};

#define TEXT(name, i)                                                                          \
	CYAML_FIELD_STRING_PTR(name, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct doc_job, \
			       text[i], 0, CYAML_UNLIMITED)

static const cyaml_schema_field_t job_schema[] = { TEXT("id", JOB_ID),
						   TEXT("arrival_s", JOB_ARRIVAL),
						   TEXT("workload", JOB_WORKLOAD),
						   TEXT("batch_size", JOB_BATCH),
						   TEXT("iterations", JOB_ITERATIONS),
						   TEXT("memory_mib", JOB_MEMORY),
						   TEXT("deadline_s", JOB_DEADLINE),
						   TEXT("weight", JOB_WEIGHT),
						   TEXT("keep", JOB_KEEP),
						   TEXT("user", JOB_USER),
						   TEXT("command", JOB_COMMAND),
						   TEXT("progress", JOB_PATTERN),
						   CYAML_FIELD_END };

static const cyaml_schema_value_t job_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct doc_job, job_schema),
};

static const cyaml_schema_field_t doc_fields[] = { CYAML_FIELD_SEQUENCE(
							   "jobs", CYAML_FLAG_POINTER, struct doc,
							   jobs, &job_value, 0, CYAML_UNLIMITED),
						   CYAML_FIELD_END };

static const cyaml_schema_value_t doc_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct doc, doc_fields),
};

static int load_yaml(const char *path, struct builder *b, struct hes_err *err)
{
	const struct doc *d;
	void *data;
	int rc = hes_yaml_load_file(path, &doc_schema, &data, err);

	if (rc)
		return rc;
	d = data;
	for (unsigned i = 0; i < d->jobs_count && !rc; i++) {
		const char *text[JOB_FIELDS];
		struct hes_job job;

		for (size_t k = 0; k < JOB_FIELDS; k++)
			text[k] = d->jobs[i].text[k] ? d->jobs[i].text[k] : "";
		rc = fill_job(&job, text, b->pattern, err);
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

static bool has_field(const struct hes_job *job, size_t i)
{
	switch (i) {
	case JOB_ITERATIONS:
		return !job->whole_run;
	case JOB_MEMORY:
		return job->memory_mib;
	case JOB_DEADLINE:
		return job->has_deadline;
	case JOB_WEIGHT:
		return job->weight != 1;
	case JOB_KEEP:
		return job->keep > 0;
	case JOB_USER:
		return job->user[0];
	case JOB_COMMAND:
		return job->command;
	case JOB_PATTERN:
		return job->progress;
	default:
		return true;
	}
}

static void put_field(FILE *f, const struct hes_job *job, size_t i)
{
	const void *at = (const char *)job + job_fields[i].at;

	switch (job_fields[i].kind) {
	case FIELD_NAME:
		hes_csv_put(f, at);
		break;
	case FIELD_SECONDS:
		put_seconds(f, *(const int64_t *)at);
		break;
	case FIELD_U32:
		fprintf(f, "%" PRIu32, *(const uint32_t *)at);
		break;
	case FIELD_U64:
		fprintf(f, "%" PRIu64, *(const uint64_t *)at);
		break;
	case FIELD_PART:
		fprintf(f, "%.6g", *(const double *)at);
		break;
	case FIELD_TEXT:
		hes_csv_put(f, *(char *const *)at);
	}
}

/* @param job  NULL: the header */
static void put_row(FILE *f, const bool used[JOB_FIELDS], const struct hes_job *job)
{
	for (size_t i = 0; i < JOB_FIELDS; i++) {
		if (!used[i])
			continue;
		fputs(i ? "," : "", f);
		if (!job)
			fputs(job_fields[i].name, f);
		else if (i == JOB_WEIGHT || has_field(job, i))
			put_field(f, job, i);
	}
	fputc('\n', f);
}

int hes_jobs_save(const char *path, const struct hes_jobs *jobs, struct hes_err *err)
{
	bool used[JOB_FIELDS];
	struct hes_file out;
	int rc = hes_file_create(&out, path, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < JOB_FIELDS; i++) {
		used[i] = i < JOB_DEADLINE;
		for (size_t k = 0; k < jobs->n && !used[i]; k++)
			used[i] = has_field(&jobs->v[k], i);
	}
	put_row(out.f, used, NULL);
	for (size_t k = 0; k < jobs->n; k++)
		put_row(out.f, used, &jobs->v[k]);
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
