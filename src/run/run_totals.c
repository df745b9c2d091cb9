/*
 * run_totals.c - the report of a run, next to its plan; see run_state.h and heshare/run.h. It is
 * read from the journal, so it covers all processes that carried the run out.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_map.h"
#include "base/plural.h"
#include "run/run_state.h"

void hes_run_report_free(struct hes_run_report *r)
{
	free(r->gpus);
	free(r->jobs);
	free(r->records);
	hes_samples_free(&r->samples);
	for (size_t i = 0; i < r->n_notes; i++)
		free(r->notes[i]);
	free(r->notes);
	*r = (struct hes_run_report){ 0 };
}

static int load_rows(struct hes_journal *j, int64_t run, struct hes_run_report *out,
		     struct hes_err *err)
{
	int rc = hes_journal_gpus(j, run, &out->gpus, &out->n_gpus, err);

	if (!rc)
		rc = hes_journal_jobs(j, run, &out->jobs, &out->n_jobs, err);
	out->records = calloc(out->n_jobs + 1, sizeof(*out->records));
	if (!rc && !out->records)
		rc = hes_fail(err, -ENOMEM, "out of memory for %zu jobs", out->n_jobs);
	return rc;
}

static void count_attempts(const struct hes_attempt *v, size_t n, struct hes_run_report *out)
{
	for (size_t i = 0; i < n; i++) {
		out->co_failed += v[i].verdict == HES_VERDICT_CO_FAILED;
		out->timeouts += v[i].verdict == HES_VERDICT_TIMEOUT;
		out->lost += v[i].verdict == HES_VERDICT_LOST;
		out->retried += v[i].number > 1;
	}
}

/* Jobs in the journal are in the order of tasks: that of the plan, then that in which they were
 * added. */
static int take_attempts(struct runner *r, struct hes_run_report *out, struct hes_err *err)
{
	struct hes_attempt *v = NULL;
	size_t n = 0;
	int rc = hes_journal_attempts(r->log.journal, r->log.run->id, &v, &n, err);

	if (!rc)
		count_attempts(v, n, out);
	free(v);
	for (size_t i = 0; !rc && i < out->n_jobs && i < r->tasks.n; i++)
		out->records[i] = r->tasks.v[i]->record;
	return rc;
}

static size_t task_index(const struct runner *r, const struct run_task *t)
{
	size_t i = 0;

	while (r->tasks.v[i] != t)
		i++;
	return i;
}

static void take_together(const struct runner *r, struct hes_run_together *out)
{
	const struct run_segment *most = NULL;

	for (size_t i = 0; i < r->gpus.n; i++)
		for (size_t k = 0; k < r->gpus.v[i].energy.n_segments; k++) {
			const struct run_segment *s = &r->gpus.v[i].energy.segments[k];

			if (s->settled && s->has_energy && s->seconds > 0 &&
			    (!most || s->n > most->n ||
			     (s->n == most->n && s->seconds > most->seconds)))
				most = s;
		}
	if (!most)
		return;
	*out = (struct hes_run_together){ .n = most->n,
					  .seconds = most->seconds,
					  .energy_j = most->energy_j };
	for (uint32_t i = 0; i < most->n; i++) {
		const struct run_rate *p = &most->rates[i];
		const double us = run_rate_us(p);

		out->job[i] = task_index(r, p->task);
		out->per_s[i] = p->seen && us > 0 ? (double)(p->last - p->first) / us * 1e6 : NAN;
	}
}

static void add_job(struct hes_totals *t, const struct hes_run_job *j, int64_t end_us)
{
	t->avg_jct_us += (double)(end_us - j->arrival_us);
	t->makespan_us = end_us > t->makespan_us ? end_us : t->makespan_us;
}

static void sum_jobs(struct hes_run_report *out)
{
	size_t unplanned = 0;

	for (size_t i = 0; i < out->n_jobs; i++) {
		const struct hes_run_job *j = &out->jobs[i];
		const bool done = j->state == HES_RUN_JOB_DONE;

		out->added += j->arrival_us > 0;
		out->done += done;
		out->failed += j->state == HES_RUN_JOB_FAILED;
		out->early += j->state == HES_RUN_JOB_EARLY;
		out->waiting += j->state == HES_RUN_JOB_WAITING;
		out->aborted_mj += j->aborted_mj;
		add_job(&out->planned, j, j->planned_end_us);
		unplanned += j->planned_end_us <= j->planned_start_us;
		if (!done)
			continue;
		add_job(&out->measured, j, j->end_us);
		out->jobs_mj += j->energy_mj;
		if (j->planned_end_us <= j->planned_start_us)
			continue;
		out->n_part++;
		add_job(&out->part, j, j->planned_end_us);
		add_job(&out->part_measured, j, j->end_us);
		out->part.busy_energy_mj += out->records[i].planned_mj;
		out->part_measured.busy_energy_mj += j->energy_mj;
	}
	out->planned.avg_jct_us /= out->n_jobs ? (double)out->n_jobs : 1;
	out->measured.avg_jct_us /= out->done ? (double)out->done : 1;
	out->part.avg_jct_us /= out->n_part ? (double)out->n_part : 1;
	out->part_measured.avg_jct_us /= out->n_part ? (double)out->n_part : 1;
	/* Of a part of the jobs the sums would mean nothing. */
	if (unplanned)
		out->planned = (struct hes_totals){ 0 };
}

/* Jobs that were added are not in what the plan has of their GPUs. With one that has no planned
 * time, nothing is planned for the GPU that compares with what is measured. */
static void plan_added(struct hes_run_report *out)
{
	bool says_known = false;

	for (int i = 0; i < HES_KNOWN_SOURCES; i++)
		says_known |= out->known[i] > 0;
	for (size_t i = 0; i < out->n_jobs; i++) {
		const struct hes_run_job *j = &out->jobs[i];
		const bool planned = j->planned_end_us > j->planned_start_us;

		out->known[HES_KNOWN_UNKNOWN] += says_known && j->arrival_us > 0 && !planned;
		for (size_t k = 0; k < out->n_gpus && j->arrival_us > 0; k++) {
			struct hes_run_gpu *g = &out->gpus[k];

			if (strcmp(g->gpu, j->gpu) != 0)
				continue;
			g->planned_mj += out->records[i].planned_mj;
			if (!planned)
				g->planned_busy_us = 0;
			else if (g->planned_busy_us && j->planned_end_us > g->planned_busy_us)
				g->planned_busy_us = j->planned_end_us;
		}
	}
}

static void plan_gpu(struct hes_run_report *out, const struct hes_run_gpu *g,
		     const struct hes_gpu_type *type)
{
	const int64_t busy_us = g->planned_busy_us, end_us = out->planned.makespan_us,
		      idle_us = busy_us < end_us ? end_us - busy_us : 0;

	if (!end_us)
		return;
	out->planned.busy_energy_mj += g->planned_mj;
	out->planned.fleet_energy_mj +=
		g->planned_mj +
		(uint64_t)((double)idle_us * 1e-6 * (type ? type->idle_power_mw : 0));
}

static void sum_gpus(struct hes_run_report *out)
{
	uint64_t busy_mj = 0, parts_mj;

	out->has_energy = true;
	for (size_t i = 0; i < out->n_gpus; i++) {
		const struct hes_run_gpu *g = &out->gpus[i];

		busy_mj += g->busy_mj;
		out->idle_mj += g->idle_mj;
		out->has_energy &= g->measured;
	}
	out->measured.busy_energy_mj = out->done < out->n_jobs ? out->jobs_mj : busy_mj;
	out->measured.fleet_energy_mj = busy_mj + out->idle_mj;
	parts_mj = out->jobs_mj + out->aborted_mj + out->run.learning.energy_mj;
	out->unattributed_mj = busy_mj > parts_mj ? busy_mj - parts_mj : 0;
	if (out->n_part == out->n_jobs)
		out->part = out->planned;
	if (out->n_part == out->done)
		out->part_measured = out->measured;
	out->part_measured.fleet_energy_mj = out->measured.fleet_energy_mj;
}

static int sum_meters(struct hes_journal *j, int64_t run, struct hes_run_report *out,
		      struct hes_err *err)
{
	struct hes_run_meter *v = NULL;
	size_t n = 0;
	int rc = hes_journal_meters(j, run, &v, &n, err);

	for (size_t i = 0; !rc && i < n; i++) {
		out->meter_mj += v[i].energy_mj;
		out->sessions = v[i].session > out->sessions ? v[i].session : out->sessions;
	}
	free(v);
	return rc;
}

/* An end that only the wall clock has may be before the start: the clock may have been set back. */
static void correct_ends(const struct runner *r, struct hes_run_report *out)
{
	size_t n = 0;

	for (size_t i = 0; i < out->n_jobs; i++) {
		struct hes_run_job *j = &out->jobs[i];

		if (j->state != HES_RUN_JOB_DONE || j->end_us >= j->start_us)
			continue;
		j->end_us = j->start_us;
		n++;
	}
	if (n)
		run_tell(&r->log,
			 "%zu job%s ended before %s began by the clock of this machine, which was "
			 "set; how long %s took is not known and reported as 0",
			 n, hes_s(n), n == 1 ? "it" : "they", n == 1 ? "it" : "they");
}

int run_report(struct runner *r, struct hes_run_report *out, struct hes_err *err)
{
	int rc = load_rows(r->log.journal, r->log.run->id, out, err);

	if (!rc)
		rc = take_attempts(r, out, err);
	if (!rc)
		rc = sum_meters(r->log.journal, r->log.run->id, out, err);
	if (rc)
		return rc;
	out->samples = r->samples.v;
	r->samples.v = (struct hes_samples){ 0 };
	take_together(r, &out->together);
	out->sessions = r->meter.session;
	correct_ends(r, out);
	sum_jobs(out);
	memcpy(out->known, r->q->plan->known, sizeof(out->known));
	plan_added(out);
	for (size_t i = 0; i < out->n_gpus; i++) {
		plan_gpu(out, &out->gpus[i], r->gpus.v[i].planned->type);
		out->clocks_refused += r->gpus.v[i].lock.refused && !r->q->no_clocks;
		out->clocks_missed += r->gpus.v[i].lock.missed;
		out->clocks_untried += r->gpus.v[i].lock.untried && !r->q->no_clocks;
	}
	out->run = *r->log.run;
	sum_gpus(out);
	out->lost_s = out->lost ? (double)run_keep_pause_us(run_now_us(&r->clock)) * 1e-6 : 0;
	out->cap_mw = (uint64_t)(r->cap.cap_w * 1e3);
	out->without_progress = r->learner.without_progress;
	out->notes = r->learner.notes;
	out->n_notes = r->learner.n_notes;
	r->learner.notes = NULL;
	r->learner.n_notes = 0;
	out->waited_power = r->cap.delayed;
	out->longest_gap_s = r->meter.longest_gap_s;
	out->left_out = r->meter.left_out;
	return 0;
}

/* --- without a runner --- */

/* Attempts and planned energy of each job. */
static int count_by_job(const struct hes_attempt *v, size_t n, const struct hes_plan *plan,
			const struct hes_jobs *jobs, struct hes_run_report *out)
{
	struct hes_text_map names = { 0 };
	uint32_t at;
	int rc = hes_text_map_make(&names, out->jobs, sizeof(*out->jobs), out->n_jobs);

	for (size_t i = 0; i < n && !rc; i++)
		if ((at = hes_text_map_find(&names, v[i].job)) != HES_HASH_NONE)
			out->records[at].attempts++;
	for (size_t g = 0; g < plan->n_gpus && !rc; g++)
		for (size_t b = 0; b < plan->queues[g].n; b++) {
			const struct hes_batch *batch = &plan->queues[g].batches[b];

			for (uint32_t k = 0; k < batch->n; k++)
				if ((at = hes_text_map_find(&names,
							    jobs->v[batch->jobs[k].job].id)) !=
				    HES_HASH_NONE)
					out->records[at].planned_mj =
						batch->jobs[k].energy_mj
							? batch->jobs[k].energy_mj
							: batch->energy_mj / batch->n;
		}
	hes_hash_map_finish(&names.map);
	return rc;
}

int hes_run_report_load(struct hes_journal *j, const struct hes_run *run,
			const struct hes_catalogue *c, const struct hes_plan *plan,
			const struct hes_jobs *jobs, struct hes_run_report *out,
			struct hes_err *err)
{
	struct hes_run_report r = { .run = *run };
	struct hes_attempt *v = NULL;
	size_t n = 0;
	int rc = load_rows(j, run->id, &r, err);

	if (!rc)
		rc = hes_journal_attempts(j, run->id, &v, &n, err);
	if (!rc && count_by_job(v, n, plan, jobs, &r))
		rc = hes_fail(err, -ENOMEM, "out of memory for %zu jobs", r.n_jobs);
	if (!rc)
		rc = sum_meters(j, run->id, &r, err);
	if (rc) {
		free(v);
		hes_run_report_free(&r);
		return rc;
	}
	count_attempts(v, n, &r);
	free(v);
	memcpy(r.known, plan->known, sizeof(r.known));
	sum_jobs(&r);
	plan_added(&r);
	for (size_t i = 0; i < r.n_gpus; i++)
		plan_gpu(&r, &r.gpus[i], hes_gpu_type_find(c, r.gpus[i].gpu_type, NULL));
	sum_gpus(&r);
	/* What a runner loses that dies: the time between two of its writes. */
	r.lost_s = r.lost ? (double)run_keep_pause_us(r.measured.makespan_us) * 1e-6 : 0;
	*out = r;
	return 0;
}
