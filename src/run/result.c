/*
 * result.c - results into the journal; see result.h.
 */
#include "run/result.h"

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

static int attempt_write(struct run_results *rs, const struct run_task *t, struct hes_err *err)
{
	return t->attempt.id
		       ? hes_journal_attempt_took(rs->log->journal, t->attempt.id,
						  !t->energy_missing, thousandths(t->energy_j),
						  t->energy_split, err)
		       : 0;
}

static int task_write(struct run_results *rs, const struct run_task *t, struct hes_err *err)
{
	struct hes_run_job j = task_result(t);
	int rc = t->attempt.id
			 ? hes_journal_attempt_ended(rs->log->journal, t->attempt.id, t->ended_us,
						     t->end.code, t->verdict, t->seen, err)
			 : 0;

	if (!rc)
		rc = attempt_write(rs, t, err);
	return rc || !t->over ? rc
			      : hes_journal_result(rs->log->journal, rs->log->run->id, &j, err);
}

/* Also of the jobs that run there: the parts must sum to the meter. */
static int gpu_write(struct run_results *rs, const struct run_gpu *g, struct hes_err *err)
{
	struct hes_run_meter m = { .session = rs->meter->session,
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
	rc = hes_journal_gpu_took(rs->log->journal, rs->log->run->id, &row, err);
	for (uint32_t i = 0; !rc && i < run_gpu_started(g); i++)
		rc = attempt_write(rs, g->running[i], err);
	return rc ? rc : hes_journal_meter(rs->log->journal, rs->log->run->id, &m, err);
}

/* The power cap: what was drawn so far. */
static int power_write(struct run_results *rs, struct hes_err *err)
{
	struct hes_run *run = rs->log->run;
	struct hes_meter_power now;

	if (rs->cap->cap_w <= 0)
		return 0;
	hes_meter_power(rs->meter->meter, &now);
	run->over_cap_us = rs->cap->earlier_over_us + (int64_t)(now.over_s * 1e6);
	run->peak_mw = thousandths(now.peak_w) > rs->cap->earlier_peak_mw
			       ? thousandths(now.peak_w)
			       : rs->cap->earlier_peak_mw;
	return hes_journal_power(rs->log->journal, run->id, run->over_cap_us, run->peak_mw, err);
}

static int learning_write(struct run_results *rs, struct hes_err *err)
{
	struct hes_run *run = rs->log->run;

	run->learning = run_learner_sum(rs->learner);
	return run->learning.experiments
		       ? hes_journal_learning(rs->log->journal, run->id, &run->learning, err)
		       : 0;
}

static int ended_write(struct run_results *rs, struct hes_err *err)
{
	int rc = hes_journal_begin(rs->log->journal, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < rs->tasks->n_ended && !rc; i++) {
		const struct run_task *t = rs->tasks->ended[i];

		if (task_state(t) != TASK_JUDGED)
			continue;
		rc = task_write(rs, t, err);
		if (!rc)
			rc = gpu_write(rs, t->gpu, err);
	}
	if (!rc)
		rc = learning_write(rs, err);
	return hes_journal_end(rs->log->journal, rc, err);
}

int run_keep_gpus(struct run_results *rs, struct hes_err *err)
{
	int rc = hes_journal_begin(rs->log->journal, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < rs->gpus->n && !rc; i++)
		rc = gpu_write(rs, &rs->gpus->v[i], err);
	if (!rc)
		rc = power_write(rs, err);
	if (!rc)
		rc = learning_write(rs, err);
	return hes_journal_end(rs->log->journal, rc, err);
}

int64_t run_keep_pause_us(int64_t now)
{
	const int64_t pause = now / KEEP_PART;

	return pause < KEEP_LEAST_US ? KEEP_LEAST_US : pause > KEEP_MOST_US ? KEEP_MOST_US : pause;
}

void run_keep_joules(struct run_results *rs, int64_t now)
{
	struct hes_err err;
	int rc;

	rs->meter->keep_us = now + run_keep_pause_us(now);
	if (rs->log->paused)
		return;
	rc = hes_journal_begin_light(rs->log->journal, &err);
	if (rc) {
		/* Jobs go on. Another writer may need the store for long. */
		rs->meter->keep_us = now + KEEP_MOST_US;
		return;
	}
	for (size_t i = 0; i < rs->gpus->n && !rc; i++) {
		run_account_so_far(rs->meter, &rs->gpus->v[i]);
		if (!rs->gpus->v[i].energy.missing)
			rc = gpu_write(rs, &rs->gpus->v[i], &err);
	}
	if (!rc)
		rc = power_write(rs, &err);
	if (!rc)
		rc = learning_write(rs, &err);
	hes_journal_end(rs->log->journal, rc, &err);
}

/* Tasks that are in the journal leave the list. */
static void ended_settle(struct run_results *rs)
{
	for (size_t i = 0; i < rs->tasks->n_ended; i++) {
		struct run_task *t = rs->tasks->ended[i];

		if (!task_settle(rs->tasks, t))
			continue;
		run_status_remove(rs->log->folder, t->job->id, t->attempt.number);
		run_observe_free(t->observed);
		t->observed = NULL;
		if (t->over)
			run_replan_ended(rs->replans, t);
	}
	run_tasks_close_ranks(rs->tasks);
}

static int ended_keep_points(struct run_results *rs, struct hes_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < rs->tasks->n_ended && !rc; i++)
		if (task_state(rs->tasks->ended[i]) == TASK_JUDGED)
			rc = run_observe_keep(rs->samples, rs->tasks->ended[i], true, err);
	return rc;
}

void run_finish(struct run_results *rs)
{
	struct hes_err err;
	size_t judged = 0;

	for (size_t i = 0; i < rs->gpus->n; i++)
		if (rs->gpus->v[i].failure.open)
			run_judge_gpu(rs->judge, &rs->gpus->v[i]);
	for (size_t i = 0; i < rs->tasks->n_ended; i++) {
		if (task_state(rs->tasks->ended[i]) != TASK_JUDGED)
			continue;
		run_decide(rs->judge, rs->tasks->ended[i]);
		run_learn_clock_over(rs->learner, rs->tasks->ended[i]);
		judged++;
	}
	if (rs->log->paused || !judged)
		return;
	/* What was measured goes before the end, which no run looks at again. */
	if (ended_keep_points(rs, &err) || ended_write(rs, &err)) {
		run_pause(rs->log, &err);
		return;
	}
	run_go_on(rs->log);
	ended_settle(rs);
}
