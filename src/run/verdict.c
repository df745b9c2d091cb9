/*
 * verdict.c - what is known of jobs that ended, for failure_rules.h; what follows from the verdict.
 * See verdict.h.
 */
#include "run/verdict.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "run/gpu_memory.h"
#include "run/start_jobs.h"
#include "run/steps.h"
#include "run/failure_rules.h"

#define LAST_WORDS 16384 /* bytes of output that are searched for errors of CUDA */
#define SIGNALLED  128   /* exit status of a shell whose child a signal ended, less the signal */
#define SIGNALS    64

/* The end of what an attempt printed; "" where it cannot be read. */
static void read_last_words(const struct runner *r, const struct run_task *t,
			    char text[LAST_WORDS + 1])
{
	char name[RUN_FILE_NAME_MAX];
	struct hes_err err;
	ssize_t n = 0;
	off_t size;
	int fd;

	text[0] = '\0';
	run_output_name(t->job->id, name);
	fd = hes_job_file_read(&r->folder, name, &err);
	if (fd < 0) {
		run_tell(&r->log, "job %s: %s; passed over", t->job->id, err.msg);
		return;
	}
	size = lseek(fd, 0, SEEK_END);
	if (size >= 0) {
		off_t from = size > LAST_WORDS ? size - LAST_WORDS : 0;

		n = pread(fd, text, LAST_WORDS,
			  from > (off_t)t->output_from ? from : (off_t)t->output_from);
	}
	close(fd);
	text[n > 0 ? n : 0] = '\0';
}

static struct run_seen evidence(const struct runner *r, const struct run_gpu *g, struct run_task *t)
{
	bool failed = t->state == TASK_ENDED, there = t->state == TASK_RUNNING;
	char text[LAST_WORDS + 1] = "";

	if (failed)
		read_last_words(r, t, text);
	t->lack = run_tells_of_lack(text, t->job->progress);
	return (struct run_seen){
		.failed = failed,
		.orphaned = run_tells_of_mps(text),
		.lack = t->lack,
		.lives = !failed && (!there || t->progress_us > g->trial.from_us),
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
static void check_lost(struct runner *r, struct run_gpu *g)
{
	struct hes_device_info info;
	struct hes_err why;

	if (!g->lost && hes_device_info(r->q->devices, g->device, &info, &why)) {
		g->lost = true;
		run_tell(&r->log, "%s is lost: %s", run_gpu_name(g), why.msg);
	}
}

void run_judge_gpu(struct runner *r, struct run_gpu *g)
{
	struct run_seen v[HES_MAX_SHARING];
	enum run_blame blame[HES_MAX_SHARING];

	for (uint32_t i = 0; i < g->trial.n; i++)
		v[i] = evidence(r, g, g->trial.v[i]);
	/* Without MPS, a job that fails ends no co-runner. */
	if (!run_judge(v, g->trial.n, !g->mps.on || run_now_us(&r->clock) >= g->trial.until_us,
		       blame))
		return;
	g->trial.open = false;
	check_lost(r, g);
	for (uint32_t i = 0; i < g->trial.n; i++) {
		struct run_task *t = g->trial.v[i];

		if (t->state != TASK_ENDED)
			continue;
		t->state = TASK_JUDGED;
		t->verdict = !g->lost && (blame[i] == RUN_BLAME_OWN || !g->mps.on)
				     ? HES_VERDICT_FAILED
				     : HES_VERDICT_CO_FAILED;
		t->excuse = g->lost         ? "its GPU was lost"
			    : v[i].orphaned ? "its MPS server ended"
					    : "a co-runner failed";
		if (blame[i] == RUN_BLAME_SUSPECT && g->mps.on && !g->lost) {
			t->place->alone = true;
			snprintf(t->seen, sizeof(t->seen),
				 "all jobs on %s failed together, and it was the first",
				 run_gpu_name(g));
			run_tell(&r->log,
				 "%s: all jobs there failed together; job %s, which was the first, "
				 "is tried again by itself",
				 run_gpu_name(g), t->job->id);
		}
		if (t->lack != RUN_LACK_NONE && !g->lost)
			run_judge_lack(g, i);
	}
	if (!g->lost)
		run_revive_mps(&r->settings, g);
}

void run_judge_done(struct runner *r, struct run_task *t)
{
	const bool open = r->q->open_ended || t->job->whole_run;
	struct run_work_seen seen = {
		.known = t->progress.known,
		.several = t->progress.several,
		.iterations = t->progress.iterations,
		.step = t->progress.step,
		.wanted = open ? 0 : t->job->iterations,
		.took_us = t->ended_us - t->attempt.started_us,
		.planned_us = open || t->unknown ? 0 : t->planned_end_us - t->planned_start_us,
		.left = t->end.left,
		.outside = t->outside,
	};
	char name[RUN_FILE_NAME_MAX], why[HES_JOURNAL_SEEN_MAX];
	struct run_status status;

	run_status_name(t->job->id, t->attempt.number, name);
	if (!run_status_read(&r->folder, name, &status))
		seen.left += status.left;
	t->verdict = HES_VERDICT_DONE;
	switch (run_judge_work(&seen, why, sizeof(why))) {
	case RUN_WORK_DONE:
		break;
	case RUN_WORK_UNSEEN:
		run_tell(&r->log,
			 "job %s ended with status 0, but %s; whether all of its work is done "
			 "cannot be seen",
			 t->job->id, why);
		break;
	case RUN_WORK_EARLY:
		t->verdict = HES_VERDICT_EARLY;
		memcpy(t->seen, why, sizeof(why));
		break;
	}
}

void run_decide(struct runner *r, struct run_task *t)
{
	bool own = t->verdict == HES_VERDICT_FAILED || t->verdict == HES_VERDICT_TIMEOUT;
	char log[RUN_FILE_NAME_MAX];
	const char *then;

	run_output_name(t->job->id, log);
	if (t->decided)
		return;
	t->decided = true;
	if (t->over) /* it could not be started, which was said */
		return;
	t->over = t->verdict == HES_VERDICT_DONE || t->verdict == HES_VERDICT_EARLY ||
		  (own && (t->charged >= r->q->retries || hes_run_why_no_command(t->end.code)));
	then = t->over                        ? "it is given up"
	       : r->events.stopping           ? "it waits for --resume"
	       : t->gpu->lost                 ? "it waits for another GPU, or for --resume"
	       : t->place->alone && !t->alone ? "it is tried again alone"
					      : "it is tried again";
	if (t->verdict == HES_VERDICT_FAILED && hes_run_why_no_command(t->end.code))
		run_tell(&r->log,
			 "job %s: %s, status %d in attempt %" PRIu32
			 "; another attempt would end like this, so %s; %s/%s has its output",
			 t->job->id, hes_run_why_no_command(t->end.code), t->end.code,
			 t->attempt.number, then, r->q->folder, log);
	else if (t->verdict == HES_VERDICT_FAILED)
		run_tell(&r->log,
			 "job %s failed with status %d in attempt %" PRIu32
			 "%s%s; %s; %s/%s has its output",
			 t->job->id, t->end.code, t->attempt.number, t->seen[0] ? ": " : "",
			 t->seen, then, r->q->folder, log);
	else if (t->verdict == HES_VERDICT_EARLY)
		run_tell(&r->log,
			 "job %s ended early, with status 0: %s; it is not tried again, and %s/%s "
			 "has its output",
			 t->job->id, t->seen, r->q->folder, log);
	else if (t->verdict == HES_VERDICT_TIMEOUT)
		run_tell(&r->log, "job %s timed out in attempt %" PRIu32 "; %s", t->job->id,
			 t->attempt.number, then);
	else if (t->verdict == HES_VERDICT_CO_FAILED)
		run_tell(&r->log, "job %s failed because %s, status %d in attempt %" PRIu32 "; %s",
			 t->job->id, t->excuse, t->end.code, t->attempt.number, then);
}
