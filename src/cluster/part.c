/*
 * part.c - copy the journals of the nodes into the journal of the run; see part.h.
 */
#include "cluster/part.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/grow.h"
#include "run/live.h"

#define STORE_WAIT_MS 5000
#define GAP_MAX_S     1e9
#define CLOCK_MAX_MHZ 1e6
#define LIVE_S        20 /* a runner that has written nothing for so long is not alive */

struct part *part_add(struct head *h, const char *node, unsigned round, uint64_t key)
{
	struct part *v = hes_grow(h->parts, h->n_parts, sizeof(*v));

	if (!v)
		return NULL;
	h->parts = v;
	v += h->n_parts++;
	*v = (struct part){ .round = round, .key = key, .state = PART_WAITING };
	snprintf(v->node, sizeof(v->node), "%s", node);
	return v;
}

void part_free_all(struct head *h)
{
	for (size_t i = 0; i < h->n_parts; i++)
		free(h->parts[i].gpus);
	free(h->parts);
}

bool part_any(const struct head *h, enum part_state state)
{
	for (size_t i = 0; i < h->n_parts; i++)
		if (h->parts[i].state == state)
			return true;
	return false;
}

void part_over(struct head *h, struct part *p)
{
	const size_t at = (size_t)(p - h->parts);

	p->state = PART_OVER;
	for (size_t i = 0; i < h->q->jobs->n; i++)
		if (h->part_of[i] == at)
			h->part_of[i] = PART_NONE;
}

bool part_lives(struct part *p)
{
	struct part_life *life = &p->life;
	struct hes_run_live live;
	int64_t at_us = 0;
	int rc = p->known ? hes_run_live_load(&p->run, &live, NULL) : -ENOENT;

	if (!rc) {
		at_us = live.at_us;
		hes_run_live_free(&live);
	}
	if (rc == -ENOENT)
		return false;
	if (life->looked_s > 0 && at_us == life->at_us)
		return hes_monotonic_s() - life->looked_s < LIVE_S;
	*life = (struct part_life){ .at_us = at_us, .looked_s = hes_monotonic_s() };
	return true;
}

/* --- one journal into the other --- */

/* A node's journal, as far as it was read. */
struct rows {
	struct hes_run_gpu *gpus;
	struct hes_run_job *jobs;
	struct hes_attempt *attempts;
	struct hes_run_meter *meters;
	size_t n_gpus, n_jobs, n_attempts, n_meters;
};

static void rows_free(struct rows *r)
{
	free(r->gpus);
	free(r->jobs);
	free(r->attempts);
	free(r->meters);
}

static int rows_read(struct hes_journal *j, int64_t run, struct rows *r, struct hes_err *err)
{
	int rc = hes_journal_gpus(j, run, &r->gpus, &r->n_gpus, err);

	if (!rc)
		rc = hes_journal_jobs(j, run, &r->jobs, &r->n_jobs, err);
	if (!rc)
		rc = hes_journal_attempts(j, run, &r->attempts, &r->n_attempts, err);
	return rc ? rc : hes_journal_meters(j, run, &r->meters, &r->n_meters, err);
}

/* Attempts of a job are counted over all its parts, which are read in order. */
static int copy_attempts(const struct head *h, const struct rows *r, size_t from, int64_t offset_us,
			 struct hes_err *err)
{
	int rc = 0;

	for (size_t i = from; i < r->n_attempts && !rc; i++) {
		struct hes_attempt a = r->attempts[i];
		const long job = head_find_job(h, a.job);

		if (job < 0)
			continue;
		a.number += h->tries[job];
		a.started_us += offset_us;
		a.ended_us += offset_us;
		rc = hes_journal_copy_attempt(h->q->journal, h->run->id, &a, err);
	}
	return rc;
}

static int copy_jobs(const struct head *h, const struct rows *r, bool all, int64_t offset_us,
		     struct hes_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < r->n_jobs && !rc; i++) {
		struct hes_run_job job = r->jobs[i];
		const long at = head_find_job(h, job.job);

		if (at < 0 || job.state == HES_RUN_JOB_WAITING ||
		    (!all && job.state == h->state[at]))
			continue;
		job.start_us += offset_us;
		job.end_us += offset_us;
		rc = hes_journal_result(h->q->journal, h->run->id, &job, err);
	}
	return rc;
}

/* A GPU's joules over all parts. Of one that died before its first writing they are lost. */
static int copy_gpu(const struct head *h, const char *node, const char *gpu, struct hes_err *err)
{
	struct hes_run_gpu sum = { .measured = false };

	snprintf(sum.gpu, sizeof(sum.gpu), "%s", gpu);
	for (size_t i = 0; i < h->n_parts; i++)
		for (size_t g = 0; g < h->parts[i].n_gpus && strcmp(h->parts[i].node, node) == 0;
		     g++) {
			const struct hes_run_gpu *v = &h->parts[i].gpus[g];

			if (strcmp(v->gpu, gpu) != 0)
				continue;
			sum.measured |= v->measured;
			sum.busy_us += v->busy_us;
			sum.busy_mj += v->busy_mj;
			sum.idle_mj += v->idle_mj;
		}
	return hes_journal_gpu_took(h->q->journal, h->run->id, &sum, err);
}

/* Experiments of all parts. */
static int copy_learning(const struct head *h, struct hes_err *err)
{
	struct hes_run_learning sum = { 0 };

	for (size_t i = 0; i < h->n_parts; i++) {
		const struct hes_run_learning *l = &h->parts[i].run.learning;

		sum.experiments += l->experiments;
		sum.took_us += l->took_us;
		sum.energy_mj += l->energy_mj;
		sum.iterations += l->iterations;
	}
	h->run->learning = sum;
	return sum.experiments ? hes_journal_learning(h->q->journal, h->run->id, &sum, err) : 0;
}

static int copy_rows(const struct head *h, const struct part *p, const struct rows *r, bool all,
		     struct hes_err *err)
{
	const int64_t offset_us = p->run.started_us - h->run->started_us;
	const bool place = all || !p->placed;
	struct hes_journal *j = h->q->journal;
	int rc;

	/* The plan that the run began with counts from the start of the run: what the nodes take
	 * to start is a difference to it. */
	for (size_t i = 0; p->round > 1 && i < r->n_jobs; i++) {
		r->jobs[i].planned_start_us += offset_us;
		r->jobs[i].planned_end_us += offset_us;
	}
	rc = hes_journal_replan(j, h->run->id, p->gpus, p->n_gpus, r->jobs, place ? r->n_jobs : 0,
				err);
	if (!rc)
		rc = copy_attempts(h, r, all ? 0 : p->n_copied, offset_us, err);
	if (!rc)
		rc = copy_jobs(h, r, place, offset_us, err);
	for (size_t i = 0; i < p->n_gpus && !rc; i++)
		rc = copy_gpu(h, p->node, p->gpus[i].gpu, err);
	for (size_t i = 0; i < r->n_meters && !rc; i++) {
		r->meters[i].session = (uint32_t)(p - h->parts) + 1;
		rc = hes_journal_meter(j, h->run->id, &r->meters[i], err);
	}
	return rc ? rc : copy_learning(h, err);
}

static void swap_gpus(struct part *p, struct rows *r)
{
	struct hes_run_gpu *gpus = p->gpus;
	const size_t n = p->n_gpus;

	p->gpus = r->gpus;
	p->n_gpus = r->n_gpus;
	r->gpus = gpus;
	r->n_gpus = n;
}

/* What the rows say holds from now on. */
static void rows_hold(struct head *h, struct part *p, const struct rows *r, bool settle)
{
	p->placed = true;
	for (size_t i = 0; i < r->n_jobs; i++) {
		const long job = head_find_job(h, r->jobs[i].job);

		if (job >= 0 && r->jobs[i].state != HES_RUN_JOB_WAITING)
			h->state[job] = r->jobs[i].state;
	}
	while (p->n_copied < r->n_attempts && r->attempts[p->n_copied].verdict != HES_VERDICT_OPEN)
		p->n_copied++;
	for (size_t i = 0; i < r->n_attempts && settle; i++) {
		const long job = head_find_job(h, r->attempts[i].job);

		if (job >= 0)
			h->tries[job]++;
	}
}

static int copy_journal(struct head *h, struct part *p, struct hes_journal *j, bool settle,
			struct hes_err *err)
{
	struct rows r = { 0 };
	int rc = rows_read(j, p->run.id, &r, err);

	if (!rc)
		rc = hes_journal_begin_light(h->q->journal, err);
	if (!rc) {
		swap_gpus(p, &r);
		rc = copy_rows(h, p, &r, settle, err);
		rc = hes_journal_end(h->q->journal, rc, err);
		if (rc)
			swap_gpus(p, &r);
		else
			rows_hold(h, p, &r, settle);
	}
	rows_free(&r);
	return rc;
}

/* Samples that the runner measured. */
static int copy_samples(const struct head *h, const struct part *p, struct hes_store *node,
			struct hes_err *err)
{
	const struct hes_store_query all = { 0 };
	char name[HES_STORE_ORIGIN_NAME];
	struct hes_samples samples = { 0 };
	struct hes_delivery d = { .source = HES_SOURCE_MEASURED,
				  .at_us = p->run.ended_us,
				  .name = name,
				  .samples = &samples };
	struct hes_delivered done;
	int rc = hes_store_samples(node, &all, &samples, err);

	snprintf(name, sizeof(name), "run %lld on node %s", (long long)h->run->id, p->node);
	if (!rc && samples.n)
		rc = hes_store_add(h->q->store, &d, &done, err);
	hes_samples_free(&samples);
	return rc;
}

int part_sync(struct head *h, struct part *p, bool settle, struct hes_err *err)
{
	struct hes_store *store = NULL;
	struct hes_journal *j = NULL;
	char path[HES_JOURNAL_PATH_MAX];
	int rc;

	head_path(h, p->node, 0, ".db", path);
	/* The runner has not begun. */
	if (access(path, F_OK))
		return 0;
	rc = hes_store_open(path, settle ? HES_STORE_WRITE : HES_STORE_READ, STORE_WAIT_MS, &store,
			    err);
	/* It is at its first words. */
	if (rc == -EINVAL && !settle)
		return 0;
	if (!rc)
		rc = hes_journal_open(store, &j, err);
	if (!rc)
		rc = hes_journal_last_run(j, p->key, &p->run, err);
	p->known |= !rc;
	/* Whatever a job made of the journal, the head stays in its own folder. */
	if (!rc)
		snprintf(p->run.folder, sizeof(p->run.folder), "%.*s/%s",
			 HES_JOURNAL_PATH_MAX - HES_NAME_MAX - 2, h->run->folder, p->node);
	if (!rc && settle)
		rc = hes_run_settle(j, &p->run, err);
	if (!rc && settle)
		rc = copy_samples(h, p, store, err);
	if (!rc)
		rc = copy_journal(h, p, j, settle, err);
	hes_journal_close(j);
	hes_store_close(store);
	return rc == -ENOENT ? 0 : rc;
}

/* --- in the report --- */

static uint32_t observed_gpus(const json_t *doc, const char *key, const struct part *p)
{
	const json_int_t n = json_integer_value(json_object_get(doc, key));

	return n > 0 && (size_t)n <= p->n_gpus ? (uint32_t)n : 0;
}

/* Mean clocks of jobs whose last place is that of the report. */
static void observed_clocks(const struct head *h, const json_t *doc, struct hes_run_report *out)
{
	const json_t *jobs = json_object_get(doc, "jobs"), *row;
	size_t i;

	json_array_foreach(jobs, i, row)
	{
		const char *id = json_string_value(json_object_get(row, "job")),
			   *gpu = json_string_value(json_object_get(row, "gpu"));
		const double mhz = json_number_value(json_object_get(row, "mean_clock_mhz"));
		const long at = id ? head_find_job(h, id) : -1;
		const struct hes_run_job *j = at < 0 ? NULL : &out->jobs[at];

		if (!j || !gpu || strcmp(j->gpu, gpu) != 0 || !(mhz > 0 && mhz < CLOCK_MAX_MHZ))
			continue;
		out->records[at].clock_mhz = mhz;
		out->records[at].clock_s = (double)(j->end_us - j->start_us) * 1e-6;
	}
}

void part_add_observed(const struct head *h, struct hes_run_report *out)
{
	for (size_t i = 0; i < h->n_parts; i++) {
		const struct part *p = &h->parts[i];
		json_t *doc = NULL;
		double gap_s;

		/* Each node has the report of its last part. */
		if (!p->known || run_live_document(&p->run, "report.json", &doc, NULL))
			continue;
		out->clocks_refused += observed_gpus(doc, "clocks_refused", p);
		out->clocks_missed += observed_gpus(doc, "clocks_missed", p);
		observed_clocks(h, doc, out);
		gap_s = json_number_value(json_object_get(doc, "longest_gap_s"));
		out->longest_gap_s = gap_s > out->longest_gap_s && gap_s < GAP_MAX_S
					     ? gap_s
					     : out->longest_gap_s;
		json_decref(doc);
	}
}

static bool has_part(const struct head *h, const char *node)
{
	for (size_t i = 0; i < h->n_parts; i++)
		if (h->parts[i].known && strcmp(h->parts[i].node, node) == 0)
			return true;
	return false;
}

static int note_idle(const struct head *h, const struct offer *o, const struct offer_gpu *g,
		     struct hes_err *err)
{
	struct hes_run_gpu row = { .measured = true };
	int rc;

	snprintf(row.gpu, sizeof(row.gpu), "%.*s/%zu", HES_NAME_MAX - 8, o->node, g->index);
	memcpy(row.gpu_type, g->type, sizeof(row.gpu_type));
	snprintf(row.uuid, sizeof(row.uuid), "%s", g->uuid);
	rc = hes_journal_replan(h->q->journal, h->run->id, &row, 1, NULL, 0, err);
	return rc ? rc : hes_journal_gpu_took(h->q->journal, h->run->id, &row, err);
}

int part_note_idle(struct head *h, struct hes_err *err)
{
	size_t idle = 0;
	int rc = hes_journal_begin(h->q->journal, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < h->q->launcher->n; i++) {
		const struct offer *o = &h->offers[i];

		for (size_t g = 0; o->good && !has_part(h, o->node) && g < o->n && !rc; g++, idle++)
			rc = note_idle(h, o, &o->gpus[g], err);
	}
	rc = hes_journal_end(h->q->journal, rc, err);
	if (!rc && idle)
		run_tell(&h->log,
			 "%zu GPU%s on nodes where no job ran: not measured, and 0 J in the report",
			 idle, idle == 1 ? " is" : "s are");
	return rc;
}
