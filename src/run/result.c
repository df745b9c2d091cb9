/*
 * result.c - results of jobs that ended: judged (verdict.h), written into the journal, then over or
 * tried again; see result.h.
 */
#include "run/result.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "run/verdict.h"
#include "run/solo_point.h"
#include "run/start_jobs.h"
#include "run/steps.h"

#define KEEP_LEAST_US 2000000 /* between two writes of joules */
#define KEEP_MOST_US  60000000
#define KEEP_PART     1000 /* of the run so far */

static uint64_t thousandths(double value)
{
	return (uint64_t)(value * 1e3 + 0.5);
}

static struct hes_run_job task_result(const struct run_task *t)
{
	const bool done = t->verdict == HES_VERDICT_DONE;
	struct hes_run_job j = {
		.state = done                              ? HES_RUN_JOB_DONE
			 : t->verdict == HES_VERDICT_EARLY ? HES_RUN_JOB_EARLY
							   : HES_RUN_JOB_FAILED,
		.start_us = t->attempt.started_us,
		.end_us = t->ended_us,
		.has_energy = done && !t->energy_missing,
		.energy_mj = thousandths(t->energy_j),
	};

	snprintf(j.job, sizeof(j.job), "%s", t->job->id);
	return j;
}

static int write_took(struct runner *r, const struct run_task *t, struct hes_err *err)
{
	return t->attempt.id
		       ? hes_journal_attempt_took(r->log.journal, t->attempt.id, !t->energy_missing,
						  thousandths(t->energy_j), err)
		       : 0;
}

static int write_task(struct runner *r, const struct run_task *t, struct hes_err *err)
{
	struct hes_run_job j = task_result(t);
	int rc = t->attempt.id
			 ? hes_journal_attempt_ended(r->log.journal, t->attempt.id, t->ended_us,
						     t->end.code, t->verdict, t->seen, err)
			 : 0;

	if (!rc)
		rc = write_took(r, t, err);
	return rc || !t->over ? rc : hes_journal_result(r->log.journal, r->log.run->id, &j, err);
}

/* Also of the jobs that run there: the parts must sum to the meter. */
static int write_gpu(struct runner *r, const struct run_gpu *g, struct hes_err *err)
{
	struct hes_run_meter m = { .session = r->meter.session,
				   .measured_us = (int64_t)(g->energy.last.seconds * 1e6),
				   .energy_mj = thousandths(g->energy.meter_j) };
	struct hes_run_gpu row = g->row;
	int rc;

	if (g->absent)
		return 0;
	memcpy(m.gpu, row.gpu, sizeof(m.gpu));
	row.measured = !g->energy.missing;
	row.busy_us = g->before.busy_us + (int64_t)(g->energy.busy_s * 1e6);
	row.busy_mj = g->before.busy_mj + thousandths(g->energy.busy_j);
	row.idle_mj = g->before.idle_mj + thousandths(g->energy.idle_j);
	rc = hes_journal_gpu_took(r->log.journal, r->log.run->id, &row, err);
	for (uint32_t i = 0; !rc && i < g->n_running; i++)
		rc = write_took(r, g->running[i], err);
	return rc ? rc : hes_journal_meter(r->log.journal, r->log.run->id, &m, err);
}

/* The power cap: what was drawn so far. */
static int write_power(struct runner *r, struct hes_err *err)
{
	struct hes_run *run = r->log.run;
	struct hes_meter_power now;

	if (r->cap.cap_w <= 0)
		return 0;
	hes_meter_power(r->meter.meter, &now);
	run->over_cap_us = r->cap.earlier_over_us + (int64_t)(now.over_s * 1e6);
	run->peak_mw = thousandths(now.peak_w) > r->cap.earlier_peak_mw ? thousandths(now.peak_w)
									: r->cap.earlier_peak_mw;
	return hes_journal_power(r->log.journal, run->id, run->over_cap_us, run->peak_mw, err);
}

static int write_ended(struct runner *r, struct hes_err *err)
{
	int rc = hes_journal_begin(r->log.journal, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < r->n_ended && !rc; i++) {
		const struct run_task *t = r->ended[i];

		if (t->state != TASK_JUDGED)
			continue;
		rc = write_task(r, t, err);
		if (!rc)
			rc = write_gpu(r, t->gpu, err);
	}
	return hes_journal_end(r->log.journal, rc, err);
}

int run_keep_gpus(struct runner *r, struct hes_err *err)
{
	int rc = hes_journal_begin(r->log.journal, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < r->n_gpus && !rc; i++)
		rc = write_gpu(r, &r->gpus[i], err);
	if (!rc)
		rc = write_power(r, err);
	return hes_journal_end(r->log.journal, rc, err);
}

int64_t run_keep_pause_us(int64_t now)
{
	const int64_t pause = now / KEEP_PART;

	return pause < KEEP_LEAST_US ? KEEP_LEAST_US : pause > KEEP_MOST_US ? KEEP_MOST_US : pause;
}

void run_keep_joules(struct runner *r, int64_t now)
{
	struct hes_err err;
	int rc;

	r->meter.keep_us = now + run_keep_pause_us(now);
	if (r->log.held)
		return;
	rc = hes_journal_begin_light(r->log.journal, &err);
	if (rc) {
		/* Jobs go on. Another writer may need the store for long. */
		r->meter.keep_us = now + KEEP_MOST_US;
		return;
	}
	for (size_t i = 0; i < r->n_gpus && !rc; i++) {
		run_account_so_far(&r->meter, &r->gpus[i]);
		if (!r->gpus[i].energy.missing)
			rc = write_gpu(r, &r->gpus[i], &err);
	}
	if (!rc)
		rc = write_power(r, &err);
	hes_journal_end(r->log.journal, rc, &err);
}

/* The task is in the journal. */
static void task_settle(struct runner *r, struct run_task *t)
{
	struct run_place *p = t->place;
	char name[RUN_FILE_NAME_MAX];

	run_status_name(t->job->id, t->attempt.number, name);
	unlinkat(r->folder.fd, name, 0);
	run_observe_free(t->observed);
	t->observed = NULL;
	t->decided = false;
	t->charged += t->verdict == HES_VERDICT_FAILED || t->verdict == HES_VERDICT_TIMEOUT;
	t->co_failures += t->verdict == HES_VERDICT_CO_FAILED;
	if (!t->over) {
		t->state = TASK_WAITING;
		p->state = RUN_WAITING;
		return;
	}
	p->state = RUN_OVER;
	t->state = t->verdict == HES_VERDICT_DONE    ? TASK_DONE
		   : t->verdict == HES_VERDICT_EARLY ? TASK_EARLY
						     : TASK_FAILED;
	r->counts.done += t->state == TASK_DONE;
	r->counts.failed += t->state == TASK_FAILED;
	r->counts.early += t->state == TASK_EARLY;
	run_replan_ended(r, t);
	if (t->state == TASK_DONE) {
		r->counts.planned_us += (double)(t->planned_end_us - t->planned_start_us);
		r->counts.took_us += (double)(t->ended_us - t->attempt.started_us);
	}
}

/* Tasks that are in the journal leave the list. */
static void settle_ended(struct runner *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n_ended; i++) {
		if (r->ended[i]->state == TASK_JUDGED)
			task_settle(r, r->ended[i]);
		else
			r->ended[n++] = r->ended[i];
	}
	r->n_ended = n;
}

static int keep_ended(struct runner *r, struct hes_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < r->n_ended && !rc; i++)
		if (r->ended[i]->state == TASK_JUDGED)
			rc = run_observe_keep(r, r->ended[i], true, err);
	return rc;
}

void run_finish(struct runner *r)
{
	struct hes_err err;
	size_t judged = 0;

	for (size_t i = 0; i < r->n_gpus; i++)
		if (r->gpus[i].trial.open)
			run_judge_gpu(r, &r->gpus[i]);
	for (size_t i = 0; i < r->n_ended; i++) {
		if (r->ended[i]->state != TASK_JUDGED)
			continue;
		run_decide(r, r->ended[i]);
		judged++;
	}
	if (r->log.held || !judged)
		return;
	/* What was measured goes before the end, which no run looks at again. */
	if (keep_ended(r, &err) || write_ended(r, &err)) {
		run_hold(&r->log, &err);
		return;
	}
	if (r->log.hold_reported)
		run_tell(&r->log, "the journal can be written again");
	r->log.hold_reported = false;
	r->log.blocked_us = RUN_NEVER_US;
	settle_ended(r);
}
