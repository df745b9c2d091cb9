/*
 * settle.c - close the journal of a runner that will not come back; see heshare/run.h.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/start_jobs.h"
#include "run/steps.h"
#include "run/failure_rules.h"

/* Done or ended early if its wrapper wrote so, else lost with the runner. */
static int settle_attempt(struct hes_journal *j, const struct hes_run *run,
			  const struct hes_job_folder *folder, const struct hes_attempt *a,
			  struct hes_err *err)
{
	const struct run_clock wall_only = { .boot_us = RUN_NEVER_US };
	struct run_status status = { .code = -1 };
	struct hes_run_job result = { .start_us = a->started_us, .end_us = a->started_us };
	char name[RUN_FILE_NAME_MAX], why[HES_JOURNAL_SEEN_MAX] = "";
	enum hes_verdict verdict = HES_VERDICT_LOST;
	int rc;

	run_status_name(a->job, a->number, name);
	run_status_read(folder, name, &status);
	memcpy(result.job, a->job, sizeof(result.job));
	if (status.code >= 0)
		result.end_us = run_clock_at(&wall_only, run, status.wall_us, 0);
	if (result.end_us < a->started_us)
		result.end_us = a->started_us;
	if (!status.code)
		verdict = run_judge_work(&(struct run_work_seen){ .left = status.left }, why,
					 sizeof(why)) == RUN_WORK_EARLY
				  ? HES_VERDICT_EARLY
				  : HES_VERDICT_DONE;
	result.state = verdict == HES_VERDICT_DONE ? HES_RUN_JOB_DONE : HES_RUN_JOB_EARLY;
	result.has_energy = a->has_energy && verdict == HES_VERDICT_DONE;
	result.energy_mj = a->energy_mj;
	rc = hes_journal_attempt_ended(j, a->id, result.end_us, status.code, verdict, why, err);
	if (!rc && !status.code)
		rc = hes_journal_result(j, run->id, &result, err);
	return rc;
}

/* All at once: an attempt that is done without its job's result would be done again. */
static int settle_attempts(struct hes_journal *j, const struct hes_run *run,
			   const struct hes_job_folder *folder, const struct hes_attempt *v,
			   size_t n, struct hes_err *err)
{
	int rc = hes_journal_begin(j, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < n && !rc; i++)
		if (v[i].verdict == HES_VERDICT_OPEN)
			rc = settle_attempt(j, run, folder, &v[i], err);
	rc = hes_journal_end(j, rc, err);
	for (size_t i = 0; i < n && !rc; i++) {
		char name[RUN_FILE_NAME_MAX];

		run_status_name(v[i].job, v[i].number, name);
		if (v[i].verdict == HES_VERDICT_OPEN)
			unlinkat(folder->fd, name, 0);
	}
	return rc;
}

int hes_run_settle(struct hes_journal *j, struct hes_run *run, struct hes_err *err)
{
	enum hes_run_state state = HES_RUN_STOPPED;
	struct hes_job_folder folder = { .fd = -1 };
	struct hes_attempt *v = NULL;
	int64_t last_us = 0;
	size_t n = 0;
	int rc;

	if (run->state != HES_RUN_GOING)
		return 0;
	rc = hes_job_folder_open(&folder, run->folder, err);
	if (!rc)
		rc = hes_journal_attempts(j, run->id, &v, &n, err);
	if (!rc)
		rc = settle_attempts(j, run, &folder, v, n, err);
	for (size_t i = 0; i < n && !rc; i++)
		last_us = v[i].started_us > last_us ? v[i].started_us : last_us;
	free(v);
	hes_job_folder_close(&folder);
	run->ended_us = run->started_us + last_us;
	if (!rc)
		rc = hes_journal_run_ended(j, run->id, &state, run->ended_us, err);
	if (!rc)
		run->state = state;
	return rc;
}
