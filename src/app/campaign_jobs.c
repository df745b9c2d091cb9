/*
 * campaign_jobs.c - a CSV row for each job, policy and seed of a campaign; see campaign.h and
 * docs/formats/simulate.md.
 *
 * A GPU's joules are attributed to its jobs as in runs (heshare/measure.h): idle power by SM share,
 * the rest by what each job would draw alone with its share at its clock. The jobs' joules of a
 * replay sum to its busy energy.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/csv.h"
#include "base/file.h"
#include "app/campaign.h"
#include "heshare/measure.h"

/* The jobs of a replay by GPU and then start, and what is computed of each. */
struct job_table {
	const struct campaign *c;
	const struct hes_replay *replay;
	uint32_t *order;
	size_t *first;    /* [GPUs + 1]: where each GPU's begin in order */
	double *alone_s;  /* [jobs]: alone on the whole GPU at its default clock */
	double *activity; /* [jobs]: watts above idle, alone with its share at its clock */
	double *energy_j; /* [jobs] */
};

static int by_gpu_and_start(const void *a, const void *b, void *outcomes)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct hes_outcome *v = outcomes;

	if (v[x].gpu != v[y].gpu)
		return v[x].gpu < v[y].gpu ? -1 : 1;
	if (v[x].start_us != v[y].start_us)
		return v[x].start_us < v[y].start_us ? -1 : 1;
	return (x > y) - (x < y);
}

static void sort_jobs(struct job_table *t)
{
	const size_t n = t->replay->n_jobs;

	for (uint32_t i = 0; i < n; i++) {
		t->order[i] = i;
		t->first[t->replay->jobs[i].gpu + 1]++;
	}
	for (size_t g = 0; g < t->c->fleet->n; g++)
		t->first[g + 1] += t->first[g];
	qsort_r(t->order, n, sizeof(*t->order), by_gpu_and_start, t->replay->jobs);
}

/* Each job by itself, from the model that was replayed on. */
static int model_alone(struct job_table *t, struct hes_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < t->replay->n_jobs && !rc; i++) {
		const struct hes_job *job = &t->c->jobs->v[i];
		const struct hes_outcome *o = &t->replay->jobs[i];
		const struct hes_gpu_type *g = t->c->fleet->gpus[o->gpu].type;
		struct hes_model_job alone = { hes_model_workload(t->c->model, job->workload, err),
					       job->batch_size, 100 };
		struct hes_instant now;
		struct hes_rate rate;

		if (!alone.workload)
			return -ENOENT;
		rc = hes_model_instant(t->c->model, g, 0, 0, &alone, 1, &rate, &now, err);
		if (rc)
			break;
		t->alone_s[i] = (double)job->iterations / rate.iterations_per_s;
		alone.sm_pct = o->sm_pct;
		rc = hes_model_instant(t->c->model, g, o->clock_mhz, 0, &alone, 1, &rate, &now,
				       err);
		t->activity[i] = rc ? 0 : fmax(0, ((double)now.power_mw - g->idle_power_mw) * 1e-3);
	}
	return rc;
}

/* Add the joules of one period of a GPU to the jobs that ran. @param from  of order: those before
 * have ended */
static int attribute(struct job_table *t, const struct hes_segment *s, size_t *from,
		     struct hes_err *err)
{
	const struct hes_outcome *v = t->replay->jobs;
	const size_t end = t->first[s->gpu + 1];
	const double seconds = (double)(s->end_us - s->start_us) * 1e-6;
	struct hes_sharer sharers[HES_MAX_SHARING];
	uint32_t jobs[HES_MAX_SHARING] = { 0 };
	size_t n = 0;
	double nobody_j;
	int rc;

	while (*from < end && v[t->order[*from]].end_us <= s->start_us)
		(*from)++;
	for (size_t k = *from;
	     k < end && v[t->order[k]].start_us <= s->start_us && n < HES_MAX_SHARING; k++) {
		const uint32_t job = t->order[k];

		if (v[job].end_us <= s->start_us)
			continue;
		sharers[n] = (struct hes_sharer){ .end_s = seconds,
						  .sm_pct = v[job].sm_pct,
						  .activity = t->activity[job] };
		jobs[n++] = job;
	}
	rc = hes_attribute(s->power_mw * 1e-3 * seconds,
			   t->c->fleet->gpus[s->gpu].type->idle_power_mw * 1e-3, seconds, sharers,
			   n, &nobody_j, err);
	for (size_t i = 0; i < n && !rc; i++)
		t->energy_j[jobs[i]] += sharers[i].energy_j;
	return rc;
}

static int attribute_all(struct job_table *t, struct hes_err *err)
{
	size_t *from = calloc(t->c->fleet->n + 1, sizeof(*from));
	int rc = from ? 0 : hes_fail(err, -ENOMEM, "out of memory for %zu GPUs", t->c->fleet->n);

	for (size_t g = 0; from && g < t->c->fleet->n; g++)
		from[g] = t->first[g];
	for (size_t i = 0; i < t->replay->n_segments && !rc; i++)
		if (t->replay->segments[i].jobs)
			rc = attribute(t, &t->replay->segments[i],
				       &from[t->replay->segments[i].gpu], err);
	free(from);
	return rc;
}

static void table_free(struct job_table *t)
{
	free(t->order);
	free(t->first);
	free(t->alone_s);
	free(t->activity);
	free(t->energy_j);
}

static int table_init(struct job_table *t, const struct campaign *c,
		      const struct hes_replay *replay, struct hes_err *err)
{
	const size_t n = replay->n_jobs + 1;
	int rc;

	*t = (struct job_table){
		.c = c,
		.replay = replay,
		.order = calloc(n, sizeof(*t->order)),
		.first = calloc(c->fleet->n + 1, sizeof(*t->first)),
		.alone_s = calloc(n, sizeof(*t->alone_s)),
		.activity = calloc(n, sizeof(*t->activity)),
		.energy_j = calloc(n, sizeof(*t->energy_j)),
	};
	if (!t->order || !t->first || !t->alone_s || !t->activity || !t->energy_j)
		return hes_fail(err, -ENOMEM, "out of memory for %zu jobs", replay->n_jobs);
	sort_jobs(t);
	rc = model_alone(t, err);
	return rc ? rc : attribute_all(t, err);
}

/* Ids of the jobs that ran on the GPU at some time while @job did, by start, commas between them.
 */
static int put_co_runners(FILE *f, const struct job_table *t, uint32_t job)
{
	const struct hes_outcome *v = t->replay->jobs, *own = &v[job];
	char *text = NULL;
	size_t len;
	FILE *ids = open_memstream(&text, &len);

	if (!ids)
		return -ENOMEM;
	for (size_t k = t->first[own->gpu];
	     k < t->first[own->gpu + 1] && v[t->order[k]].start_us < own->end_us; k++)
		if (t->order[k] != job && v[t->order[k]].end_us > own->start_us)
			fprintf(ids, "%s%s", ftell(ids) ? "," : "", t->c->jobs->v[t->order[k]].id);
	if (fclose(ids) || !text) {
		free(text);
		return -ENOMEM;
	}
	hes_csv_put(f, text);
	free(text);
	return 0;
}

static double seconds(int64_t us)
{
	return (double)us * 1e-6;
}

/* A cell that may be empty. */
static void put_if(FILE *f, bool there, int64_t us)
{
	fputc(',', f);
	if (there)
		fprintf(f, "%.6f", seconds(us));
}

static int put_job(FILE *f, const struct campaign_run *r, const struct job_table *t, uint32_t i)
{
	const struct hes_job *job = &t->c->jobs->v[i];
	const struct hes_outcome *o = &t->replay->jobs[i];
	const struct hes_gpu *gpu = &t->c->fleet->gpus[o->gpu];
	const char *const names[] = { r->who->name, r->who->prefer };
	const char *const more[] = { job->id, job->workload, gpu->name, gpu->type->name };

	for (size_t k = 0; k < 2; k++) {
		hes_csv_put(f, names[k]);
		fputc(',', f);
	}
	fprintf(f, "%" PRIu64, r->seed);
	for (size_t k = 0; k < 4; k++) {
		fputc(',', f);
		hes_csv_put(f, more[k]);
	}
	fprintf(f, ",%" PRIu32 ",%" PRIu64 ",%" PRIu32 ",%" PRIu32, job->batch_size,
		job->iterations, o->sm_pct, o->clock_mhz);
	fprintf(f, ",%.6f,%.6f,%.6f,%.6f", seconds(job->arrival_us), seconds(o->start_us),
		seconds(o->end_us), seconds(o->end_us - job->arrival_us));
	put_if(f, contender_predicts(r->who), o->predicted_end_us);
	put_if(f, job->has_deadline, job->deadline_us);
	fprintf(f, ",%.6f,%.3f,", t->alone_s[i], t->energy_j[i]);
	return put_co_runners(f, t, i);
}

static int put_run(FILE *f, const struct campaign *c, const struct campaign_run *r,
		   struct hes_err *err)
{
	struct job_table t;
	int rc = table_init(&t, c, &r->replay, err);

	for (uint32_t i = 0; i < r->replay.n_jobs && !rc; i++) {
		if (put_job(f, r, &t, i))
			rc = hes_fail(err, -ENOMEM, "out of memory for the co-runners of job %s",
				      c->jobs->v[i].id);
		fputc('\n', f);
	}
	table_free(&t);
	return rc;
}

int campaign_write_jobs(const struct campaign *c, const char *path, struct hes_err *err)
{
	struct hes_file out;
	int rc = hes_file_create(&out, path, err);

	if (rc)
		return rc;
	fputs("policy,prefer,seed,job,workload,gpu,gpu_type,batch_size,iterations,sm_pct,clock_mhz,"
	      "arrival_s,start_s,end_s,jct_s,"
	      "predicted_end_s,deadline_s,alone_s,energy_j,co_runners\n",
	      out.f);
	for (size_t i = 0; i < c->n_who * c->n_seeds && !rc; i++)
		rc = put_run(out.f, c, &c->runs[i], err);
	if (rc) {
		hes_file_abort(&out);
		return rc;
	}
	return hes_file_commit(&out, err);
}
