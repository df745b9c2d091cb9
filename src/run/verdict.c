/*
 * verdict.c - the verdict on attempts; see verdict.h. The decision that a job failed, and whether
 * it is tried again, is made here: run_judge_gpu(), run_judge_alone(), run_decide().
 */
#include "run/verdict.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "run/gpu_memory.h"
#include "run/run_files.h"

#define LAST_WORDS 16384 /* bytes of output that are searched for errors of CUDA */
#define SIGNALLED  128   /* exit status of a shell whose child a signal ended, less the signal */
#define SIGNALS    64

static struct run_seen evidence_of(const struct run_judge *j, const struct run_gpu *g,
				   struct run_task *t)
{
	bool failed = task_state(t) == TASK_ENDED, there = task_runs(t);
	char text[LAST_WORDS + 1] = "";
	struct hes_err err;

	if (failed &&
	    run_output_last(j->log->folder, t->job->id, t->output_from, text, sizeof(text), &err))
		run_tell(j->log, "job %s: %s; passed over", t->job->id, err.msg);
	t->lack = run_tells_of_lack(text, t->job->progress);
	return (struct run_seen){
		.failed = failed,
		.orphaned = run_tells_of_mps(text),
		.lack = t->lack,
		.lives = !failed && (!there || t->progress_us > g->failure.from_us),
		.signal = t->end.signal ? t->end.signal
			  : t->end.code > SIGNALLED && t->end.code <= SIGNALLED + SIGNALS
				  ? t->end.code - SIGNALLED
				  : 0,
		.code = t->end.code,
		.end_us = t->ended_us,
		.co_failures = t->co_failures,
	};
}

/* No job is charged for a GPU that is lost. */
static void gpu_check_lost(const struct run_judge *j, struct run_gpu *g)
{
	struct hes_device_info info;
	struct hes_err why;

	if (!g->lost && hes_device_info(j->q->devices, g->device, &info, &why)) {
		g->lost = true;
		run_tell(j->log, "%s is lost: %s", run_gpu_name(g), why.msg);
	}
}

void run_judge_gpu(struct run_judge *j, struct run_gpu *g)
{
	struct run_seen v[HES_MAX_SHARING];
	enum run_blame blame[HES_MAX_SHARING];

	for (uint32_t i = 0; i < g->failure.n; i++)
		v[i] = evidence_of(j, g, g->failure.v[i]);
	/* Without MPS, a job that fails ends no co-runner. */
	if (!run_judge(v, g->failure.n,
		       !g->mps.on || run_now_us(j->log->clock) >= g->failure.until_us, blame))
		return;
	g->failure.open = false;
	gpu_check_lost(j, g);
	for (uint32_t i = 0; i < g->failure.n; i++) {
		struct run_task *t = g->failure.v[i];
		enum hes_verdict verdict = !g->lost && (blame[i] == RUN_BLAME_OWN || !g->mps.on)
						   ? HES_VERDICT_FAILED
						   : HES_VERDICT_CO_FAILED;

		if (task_state(t) != TASK_ENDED)
			continue;
		t->cause = g->lost         ? "its GPU was lost"
			   : v[i].orphaned ? "its MPS server ended"
					   : "a co-runner failed";
		if (blame[i] == RUN_BLAME_SUSPECT && g->mps.on && !g->lost) {
			t->place->alone = true;
			snprintf(t->seen, sizeof(t->seen),
				 "all jobs on %s failed together, and it was the first",
				 run_gpu_name(g));
			run_tell(j->log,
				 "%s: all jobs there failed together; job %s, which was the first, "
				 "is tried again by itself",
				 run_gpu_name(g), t->job->id);
		}
		if (t->lack != RUN_LACK_NONE && !g->lost && run_judge_lack(g, i))
			verdict = HES_VERDICT_CO_FAILED;
		task_judge(j->tasks, t, verdict);
	}
	if (!g->lost)
		run_revive_mps(j->settings, g);
}

enum hes_verdict run_judge_work_of(const struct run_judge *j, struct run_task *t)
{
	const bool open = j->q->open_ended || t->job->whole_run;
	struct run_work_seen seen = {
		.known = t->progress.known,
		.several = t->progress.several,
		.iterations = t->progress.iterations,
		.step = t->progress.step,
		.wanted = open ? 0 : t->job->iterations,
		.took_us = task_ran_us(t, t->ended_us),
		.planned_us = open || t->unknown ? 0 : t->planned_end_us - t->planned_start_us,
		.left = t->end.left,
		.outside = t->outside,
	};
	char why[HES_JOURNAL_SEEN_MAX];
	struct run_status status;

	if (!run_status_read(j->log->folder, t->job->id, t->attempt.number, &status))
		seen.left += status.left;
	switch (run_judge_work(&seen, why, sizeof(why))) {
	case RUN_WORK_DONE:
		break;
	case RUN_WORK_UNSEEN:
		run_tell(j->log,
			 "job %s ended with status 0, but %s; whether all of its work is done "
			 "cannot be seen",
			 t->job->id, why);
		break;
	case RUN_WORK_EARLY:
		memcpy(t->seen, why, sizeof(why));
		return HES_VERDICT_EARLY;
	}
	return HES_VERDICT_DONE;
}

static bool task_complete(const struct run_task *t)
{
	return t->end.code == 0 && t->progress.known && !t->job->whole_run &&
	       t->progress.iterations >= t->job->iterations;
}

/* A job whose MPS daemon does not answer is not charged for its timeout. */
static enum hes_verdict judge_timeout(struct run_judge *j, struct run_task *t)
{
	struct run_gpu *g = t->gpu;

	run_revive_mps(j->settings, g);
	t->cause = "its MPS daemon ended or does not answer";
	return t->mps_daemon && t->mps_daemon <= g->mps.gone ? HES_VERDICT_CO_FAILED
							     : HES_VERDICT_TIMEOUT;
}

bool run_judge_alone(struct run_judge *j, struct run_task *t)
{
	enum hes_verdict verdict;

	if (t->end.code == 0 &&
	    (t->ending == ENDING_OWN || t->ending == ENDING_LEFT || task_complete(t)))
		verdict = run_judge_work_of(j, t);
	else if (t->ending == ENDING_OVER || (t->ending == ENDING_STOP && j->q->open_ended))
		verdict = HES_VERDICT_DONE;
	else if (t->ending == ENDING_STOP || (j->stop->signals && t->end.code == 128 + SIGTERM))
		verdict = HES_VERDICT_STOPPED;
	else if (t->ending == ENDING_TIMEOUT)
		verdict = judge_timeout(j, t);
	else if (t->ending == ENDING_MEMORY)
		verdict = HES_VERDICT_FAILED;
	else
		return false;
	return task_judge(j->tasks, t, verdict);
}

void run_judge_not_started(struct run_judge *j, struct run_task *t, bool again,
			   const struct hes_err *why)
{
	run_tell(j->log, "job %s cannot be started and is %s: %s", t->job->id,
		 again ? "tried again" : "given up", why->msg);
	t->record.attempts++;
	t->attempt.started_us = t->ended_us = run_now_us(j->log->clock);
	t->end = (struct hes_child_end){ .code = HES_RUN_NOT_STARTED };
	t->over = !again;
	task_judge(j->tasks, t, again ? HES_VERDICT_STOPPED : HES_VERDICT_FAILED);
}

/* "; FOLDER/LOG has its output", or that there is none. */
static const char *output_words(const struct run_judge *j, const struct run_task *t,
				char out[PATH_MAX + 32])
{
	char log[RUN_FILE_NAME_MAX], text[2];

	run_output_name(t->job->id, log);
	if (!run_output_last(j->log->folder, t->job->id, t->output_from, text, sizeof(text),
			     NULL) &&
	    !text[0])
		return "it wrote no output";
	snprintf(out, PATH_MAX + 32, "%s/%s has its output", j->q->folder, log);
	return out;
}

void run_decide(const struct run_judge *j, struct run_task *t)
{
	bool own = t->verdict == HES_VERDICT_FAILED || t->verdict == HES_VERDICT_TIMEOUT;
	char output[PATH_MAX + 32];
	const char *then;

	if (t->decided)
		return;
	t->decided = true;
	if (t->over) /* it could not be started, which was said */
		return;
	t->over = t->verdict == HES_VERDICT_DONE || t->verdict == HES_VERDICT_EARLY ||
		  (own && (t->charged >= j->q->retries || hes_run_why_no_command(t->end.code)));
	then = t->over                        ? "it is given up"
	       : j->stop->signals             ? "it waits for --resume"
	       : t->gpu->lost                 ? "it waits for another GPU, or for --resume"
	       : t->place->alone && !t->alone ? "it is tried again alone"
					      : "it is tried again";
	if (t->verdict == HES_VERDICT_FAILED && hes_run_why_no_command(t->end.code))
		run_tell(j->log,
			 "job %s: %s, status %d in attempt %" PRIu32
			 "; another attempt would end like this, so %s; %s",
			 t->job->id, hes_run_why_no_command(t->end.code), t->end.code,
			 t->attempt.number, then, output_words(j, t, output));
	else if (t->verdict == HES_VERDICT_FAILED)
		run_tell(j->log, "job %s failed with status %d in attempt %" PRIu32 "%s%s; %s; %s",
			 t->job->id, t->end.code, t->attempt.number, t->seen[0] ? ": " : "",
			 t->seen, then, output_words(j, t, output));
	else if (t->verdict == HES_VERDICT_EARLY)
		run_tell(j->log, "job %s ended early, with status 0: %s; it is not tried again; %s",
			 t->job->id, t->seen, output_words(j, t, output));
	else if (t->verdict == HES_VERDICT_TIMEOUT)
		run_tell(j->log, "job %s timed out in attempt %" PRIu32 "; %s", t->job->id,
			 t->attempt.number, then);
	else if (t->verdict == HES_VERDICT_CO_FAILED)
		run_tell(j->log, "job %s failed because %s, status %d in attempt %" PRIu32 "; %s",
			 t->job->id, t->cause, t->end.code, t->attempt.number, then);
}
