/*
 * result.c - results into the journal; see run_state.h.
 */
#include "run/run_state.h"

#include <stdio.h>
#include <string.h>

#include "run/run_files.h"

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

static int attempt_write(struct runner *r, const struct run_task *t, struct hes_err *err)
{
	return t->attempt.id
		       ? hes_journal_attempt_took(r->log.journal, t->attempt.id, !t->energy_missing,
						  thousandths(t->energy_j), t->energy_split, err)
		       : 0;
}

static int task_write(struct runner *r, const struct run_task *t, struct hes_err *err)
{
	struct hes_run_job j = task_result(t);
	int rc = t->attempt.id
			 ? hes_journal_attempt_ended(r->log.journal, t->attempt.id, t->ended_us,
						     t->end.code, t->verdict, t->seen, err)
			 : 0;

	if (!rc)
		rc = attempt_write(r, t, err);
	return rc || !t->over ? rc : hes_journal_result(r->log.journal, r->log.run->id, &j, err);
}

/* Also of the jobs that run there: the parts must sum to the meter. */
static int gpu_write(struct runner *r, const struct run_gpu *g, struct hes_err *err)
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
	for (uint32_t i = 0; !rc && i < run_gpu_started(g); i++)
		rc = attempt_write(r, g->running[i], err);
	return rc ? rc : hes_journal_meter(r->log.journal, r->log.run->id, &m, err);
}

/* The power cap: what was drawn so far. */
static int power_write(struct runner *r, struct hes_err *err)
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

static int learning_write(struct runner *r, struct hes_err *err)
{
	struct hes_run *run = r->log.run;

	run->learning = run_learner_sum(&r->learner);
	return run->learning.experiments
		       ? hes_journal_learning(r->log.journal, run->id, &run->learning, err)
		       : 0;
}

static int ended_write(struct runner *r, struct hes_err *err)
{
	int rc = hes_journal_begin(r->log.journal, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < r->tasks.n_ended && !rc; i++) {
		const struct run_task *t = r->tasks.ended[i];

		if (task_state(t) != TASK_JUDGED)
			continue;
		rc = task_write(r, t, err);
		if (!rc)
			rc = gpu_write(r, t->gpu, err);
	}
	if (!rc)
		rc = learning_write(r, err);
	return hes_journal_end(r->log.journal, rc, err);
}

int run_keep_gpus(struct runner *r, struct hes_err *err)
{
	int rc = hes_journal_begin(r->log.journal, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < r->gpus.n && !rc; i++)
		rc = gpu_write(r, &r->gpus.v[i], err);
	if (!rc)
		rc = power_write(r, err);
	if (!rc)
		rc = learning_write(r, err);
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
	if (r->log.paused)
		return;
	rc = hes_journal_begin_light(r->log.journal, &err);
	if (rc) {
		/* Jobs go on. Another writer may need the store for long. */
		r->meter.keep_us = now + KEEP_MOST_US;
		return;
	}
	for (size_t i = 0; i < r->gpus.n && !rc; i++) {
		run_account_so_far(&r->meter, &r->gpus.v[i]);
		if (!r->gpus.v[i].energy.missing)
			rc = gpu_write(r, &r->gpus.v[i], &err);
	}
	if (!rc)
		rc = power_write(r, &err);
	if (!rc)
		rc = learning_write(r, &err);
	hes_journal_end(r->log.journal, rc, &err);
}

/* Tasks that are in the journal leave the list. */
static void ended_settle(struct runner *r)
{
	for (size_t i = 0; i < r->tasks.n_ended; i++) {
		struct run_task *t = r->tasks.ended[i];

		if (!task_settle(&r->tasks, t))
			continue;
		run_status_remove(r->log.folder, t->job->id, t->attempt.number);
		run_observe_free(t->observed);
		t->observed = NULL;
		if (t->over)
			run_replan_ended(&r->replans, t);
	}
	run_tasks_close_ranks(&r->tasks);
}

static int ended_keep_points(struct runner *r, struct hes_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < r->tasks.n_ended && !rc; i++)
		if (task_state(r->tasks.ended[i]) == TASK_JUDGED)
			rc = run_observe_keep(&r->samples, r->tasks.ended[i], true, err);
	return rc;
}

void run_finish(struct runner *r)
{
	struct hes_err err;
	size_t judged = 0;

	for (size_t i = 0; i < r->gpus.n; i++)
		if (r->gpus.v[i].failure.open)
			run_judge_gpu(&r->judge, &r->gpus.v[i]);
	for (size_t i = 0; i < r->tasks.n_ended; i++) {
		if (task_state(r->tasks.ended[i]) != TASK_JUDGED)
			continue;
		run_decide(&r->judge, r->tasks.ended[i]);
		run_learn_clock_over(&r->learner, r->tasks.ended[i]);
		judged++;
	}
	if (r->log.paused || !judged)
		return;
	/* What was measured goes before the end, which no run looks at again. */
	if (ended_keep_points(r, &err) || ended_write(r, &err)) {
		run_pause(&r->log, &err);
		return;
	}
	run_go_on(&r->log);
	ended_settle(r);
}
