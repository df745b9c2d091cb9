/*
 * start_jobs.c - start jobs in three steps; see start_jobs.h.
 *
 * Their processes are made and held, then all starts go into the journal together, then the
 * processes are let go. A held process runs nothing. If the journal cannot be written the held
 * processes are dropped.
 */
#include "run/start_jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/children.h"
#include "run/environment.h"
#include "run/gpu_memory.h"
#include "run/solo_point.h"
#include "run/outside.h"
#include "run/steps.h"

#define WRAP_MAX   8
#define STARTS_MAX 3 /* of a job whose process is killed before it runs the command */

/* A file name: bytes that could lead to another folder become %XX, and so does the first byte of
 * "guard", which names a log. */
static void put_name(char *out, size_t size, const char *before, const char *job, const char *after)
{
	size_t n = (size_t)snprintf(out, size, "%s", before);

	for (const char *c = job; *c && n + 4 < size; c++) {
		if (*c == '/' || *c == '%' ||
		    (c == job && (*c == '.' || strcmp(job, "guard") == 0)))
			n += (size_t)snprintf(out + n, size - n, "%%%02X", (unsigned char)*c);
		else
			out[n++] = *c;
	}
	snprintf(out + n, size - n, "%s", after);
}

void run_output_name(const char *job, char out[RUN_FILE_NAME_MAX])
{
	put_name(out, RUN_FILE_NAME_MAX, "", job, ".log");
}

void run_status_name(const char *job, uint32_t number, char out[RUN_FILE_NAME_MAX])
{
	char after[32];

	snprintf(after, sizeof(after), ".%" PRIu32 ".status", number);
	put_name(out, RUN_FILE_NAME_MAX, ".", job, after);
}

static bool behind_mps(const struct run_gpu *g, const struct run_task *t)
{
	/* In exclusive mode the MPS server keeps all others off the GPU. */
	return g->mps.on && (g->exclusive || !run_admit_alone(&g->queue, t->place));
}

static void set_environment(const struct runner *r, const struct run_gpu *g,
			    const struct run_task *t, struct run_environment *e)
{
	run_environment_set(
		e, &(struct run_environment_of){ .job = t->job,
						 .run = r->log.run->id,
						 .attempt = t->attempt.number,
						 .gpu = run_gpu_name(g),
						 .uuid = g->info.uuid,
						 .sm_pct = t->attempt.sm_pct,
						 .limit_mib = t->limit_mib,
						 .mps = behind_mps(g, t) ? &g->mps.daemon : NULL,
						 .mps_folder = r->q->mps_folder });
}

/* @return why a file cannot be made; -ESTALE the run's folder was removed: none ever can */
static int file_error(const struct runner *r, int rc, struct hes_err *err)
{
	return rc == -ENOENT ? hes_fail(err, -ESTALE,
					"%s: the folder of the run was removed while it was in use",
					r->folder.path)
			     : rc;
}

/*
 * Reserve room for the status of a job before it starts, so that it can be written even when the
 * disk is full. The job's wrapper gets the descriptor of this new file, so it needs no right to the
 * folder. @return the descriptor
 */
static int reserve_status(const struct runner *r, const char *name, struct hes_err *err)
{
	char blank[HES_RUN_STATUS_BYTES];
	int fd;

	unlinkat(r->folder.fd, name, 0);
	fd = hes_job_file_make(&r->folder, name, NULL, err);
	if (fd < 0)
		return file_error(r, fd, err);
	memset(blank, ' ', sizeof(blank));
	/* Not O_APPEND: the status goes over the blanks. */
	fcntl(fd, F_SETFL, 0);
	if (pwrite(fd, blank, sizeof(blank), 0) == (ssize_t)sizeof(blank))
		return fd;
	close(fd);
	return hes_fail(err, -ENOSPC, "%s/%s: %s", r->folder.path, name, strerror(ENOSPC));
}

/* The job's output, opened to append to. @return the descriptor */
static int open_output(const struct runner *r, struct run_task *t, const struct hes_owner *owner,
		       struct hes_err *err)
{
	char name[RUN_FILE_NAME_MAX];
	struct stat st;
	int fd;

	run_output_name(t->job->id, name);
	fd = hes_job_file_append(&r->folder, name, owner, err);
	if (fd < 0)
		return file_error(r, fd, err);
	t->output_from = fstat(fd, &st) ? 0 : (uint64_t)st.st_size;
	return fd;
}

/* Start the wrapper (wrap.c), which writes the status of the job to its standard input. */
static int hold_wrapped(struct runner *r, struct run_task *t, struct hes_launch *l,
			struct hes_err *err)
{
	const char *argv[WRAP_MAX + 3] = { NULL };
	size_t n = 0;

	while (n < WRAP_MAX && r->q->wrap[n]) {
		argv[n] = r->q->wrap[n];
		n++;
	}
	argv[n] = t->command;
	argv[n + 1] = t->job->progress;
	l->argv = argv;
	return hes_guard_hold(r->settings.guard, l, &t->child, err);
}

static int hold(struct runner *r, struct run_gpu *g, struct run_task *t, struct hes_err *err)
{
	struct run_environment e = { .v = { NULL } };
	struct hes_launch l = { .variables = e.v,
				.output_fd = -1,
				.user = t->job->user[0] ? t->job->user : r->q->user,
				.no_new_rights = !r->q->allow_setuid };
	struct hes_owner owner;
	char status[RUN_FILE_NAME_MAX];
	int rc = hes_launch_owner(l.user, &owner, err), other = rc;

	if (rc < 0)
		return rc;
	t->attempt = (struct hes_attempt){ .number = t->tries + 1,
					   .sm_pct = t->place->alone ? 100 : t->place->sm_pct };
	t->alone = t->place->alone;
	run_usage_reset(t, behind_mps(g, t) ? run_memory_limit(t->job, g->queue.memory_mib) : 0);
	t->energy_j = 0;
	t->energy_missing = false;
	snprintf(t->attempt.job, sizeof(t->attempt.job), "%s", t->job->id);
	snprintf(t->attempt.gpu, sizeof(t->attempt.gpu), "%s", run_gpu_name(g));
	run_status_name(t->job->id, t->attempt.number, status);
	set_environment(r, g, t, &e);
	l.input_fd = reserve_status(r, status, err);
	if (l.input_fd < 0)
		return l.input_fd;
	l.output_fd = open_output(r, t, other ? &owner : NULL, err);
	rc = l.output_fd < 0 ? l.output_fd : hold_wrapped(r, t, &l, err);
	if (l.output_fd >= 0)
		close(l.output_fd);
	close(l.input_fd);
	return rc;
}

/* What kills this program may kill its jobs' processes, too: one that was killed before it ran its
 * command is tried again. */
static bool was_killed(struct run_task *t, int rc)
{
	return rc == -ESRCH && ++t->killed_starts < STARTS_MAX;
}

/* The job ends with a failure of its own, or is stopped. */
static void cannot_start(struct runner *r, struct run_task *t, bool again,
			 const struct hes_err *err)
{
	run_tell(&r->log, "job %s cannot be started and is %s: %s", t->job->id,
		 again ? "tried again" : "given up", err->msg);
	t->tries++;
	t->attempt.started_us = t->ended_us = run_now_us(&r->clock);
	t->end = (struct hes_child_end){ .code = HES_RUN_NOT_STARTED };
	t->state = TASK_JUDGED;
	t->verdict = again ? HES_VERDICT_STOPPED : HES_VERDICT_FAILED;
	t->over = !again;
	r->ended[r->n_ended++] = t;
}

static bool may_pass(int rc)
{
	return rc == -EAGAIN || rc == -ENOMEM || rc == -EMFILE || rc == -ENFILE || rc == -ENOSPC ||
	       rc == -EIO || rc == -EROFS || rc == -EDQUOT;
}

/* Whether a job waits for the power cap. */
static bool waits_for_power(struct runner *r, struct run_task *t)
{
	struct hes_meter_power now;
	double with_w;

	if (r->cap.cap_w <= 0)
		return false;
	hes_meter_power(r->meter.meter, &now);
	if (!run_cap_holds(&r->cap, r->gpus, r->n_gpus, t, now.now_w, &with_w))
		return false;
	if (!t->held && with_w > r->cap.cap_w)
		run_tell(&r->log,
			 "job %s waits for the power cap of %.0f W: with it the GPUs might draw "
			 "%.0f W",
			 t->job->id, r->cap.cap_w, with_w);
	r->cap.held += !t->held;
	t->held = true;
	return true;
}

/* Whether a job that was added without a place waits for the plan that gives it one. */
static bool waits_for_plan(const struct runner *r, const struct run_task *t)
{
	return t->unplaced &&
	       (r->replanning.planning || run_replan_time(r) <= run_now_us(&r->clock));
}

/* Hold the jobs that may start on a GPU. @return how many were added to @list */
static size_t hold_jobs(struct runner *r, struct run_gpu *g, struct run_task **list)
{
	struct hes_err err;
	size_t n = 0;
	long next;

	while (g->n_running + n < HES_MAX_SHARING && (next = run_admit_next(&g->queue)) >= 0) {
		struct run_place *p = &g->queue.v[next];
		struct run_task *t = p->task;
		int rc;

		if (waits_for_plan(r, t) || waits_for_power(r, t) || run_waits_for_outside(r, t))
			break;
		rc = hold(r, g, t, &err);
		if (rc == -ESTALE) {
			run_tell(&r->log, "nothing new starts: %s; --resume makes it again",
				 err.msg);
			r->events.stopping += !r->events.stopping;
			break;
		}
		if (rc && (may_pass(rc) || was_killed(t, rc))) {
			if (!r->start_reported)
				run_tell(&r->log,
					 "jobs cannot be started now, and will be tried again: %s",
					 err.msg);
			r->start_reported = true;
			run_retry(&r->log, &err);
			break;
		}
		p->state = RUN_STARTED;
		if (rc)
			cannot_start(r, t, false, &err);
		else
			list[n++] = t;
	}
	return n;
}

static void drop_held(struct runner *r, struct run_task *const *list, size_t n)
{
	struct hes_child_end end;

	for (size_t i = 0; i < n; i++) {
		struct run_task *t = list[i];

		hes_child_kill(&t->child, NULL);
		while (t->child.id.pid && !hes_guard_reap(r->settings.guard, &t->child, &end, NULL))
			;
		t->place->state = RUN_WAITING;
	}
}

static int note_starts(struct runner *r, struct run_task *const *list, size_t n,
		       struct hes_err *err)
{
	int64_t now = run_now_us(&r->clock);
	int rc = hes_journal_begin(r->log.journal, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < n && !rc; i++) {
		struct run_task *t = list[i];
		struct run_gpu *g = t->gpu;
		uint32_t mhz = run_clock_wanted(g);
		struct hes_run_process p = { .pid = t->child.id.pid,
					     .start = (int64_t)t->child.id.started };

		memcpy(p.boot, r->log.run->runner.boot, sizeof(p.boot));
		if (mhz && (!i || list[i - 1]->gpu != g))
			rc = run_note_clock(&r->log, g, mhz, err);
		t->attempt.started_us = now;
		t->attempt.clock_mhz = mhz == RUN_UNLOCKED ? 0 : mhz ? mhz : g->lock.mhz;
		if (!rc)
			rc = run_act(&r->log, run_gpu_name(g), t->job->id, err,
				     "start attempt %" PRIu32 " with %" PRIu32
				     " %% of the SMs: %.*s",
				     t->attempt.number, t->attempt.sm_pct, 300, t->command);
		if (!rc)
			rc = hes_journal_attempt(r->log.journal, r->log.run->id, &t->attempt, err);
		if (!rc)
			rc = hes_journal_attempt_runs(r->log.journal, t->attempt.id, &p, err);
		if (!rc && t->unplaced)
			rc = run_note_place(r, t, err);
	}
	return hes_journal_end(r->log.journal, rc, err);
}

static void let_go(struct runner *r, struct run_task *t)
{
	char output[RUN_FILE_NAME_MAX];
	struct run_gpu *g = t->gpu;
	struct hes_err err;
	int rc = hes_guard_go(r->settings.guard, &t->child, &err);

	if (rc) {
		cannot_start(r, t, was_killed(t, rc), &err);
		return;
	}
	t->tries++;
	t->state = TASK_RUNNING;
	t->ending = ENDING_OWN;
	t->kill_us = t->stuck_us = RUN_NEVER_US;
	t->progress_us = t->begun_us = 0;
	t->late_us = 0;
	t->seen[0] = '\0';
	t->waits_outside = false;
	t->began = t->began ? t->began : t->child.id.started;
	t->mps_daemon = behind_mps(g, t) ? g->mps.gone + 1 : 0;
	t->attempt.started_us = run_now_us(&r->clock);
	t->deadline_us =
		t->limit_us == RUN_NEVER_US ? RUN_NEVER_US : t->attempt.started_us + t->limit_us;
	run_output_name(t->job->id, output);
	if (hes_progress_open(&t->progress, &r->folder, output, t->output_from, t->job->progress,
			      &err))
		run_tell(&r->log, "job %s: its progress cannot be seen: %s", t->job->id, err.msg);
	g->running[g->n_running++] = t;
	r->counts.running++;
	if (run_watch(r, t))
		run_end(r, t, ENDING_STOP);
}

/* Jobs whose starts are in the journal. Clocks first: setting them takes time. */
static void let_go_all(struct runner *r, struct run_task *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct run_gpu *g = list[i]->gpu;

		if (i && list[i - 1]->gpu == g)
			continue;
		run_account(&r->meter, g);
		run_set_clock(&r->settings, g, run_clock_wanted(g));
	}
	if (n && !r->begun)
		run_clock_begin(&r->clock, &r->folder, r->log.run->runner.boot);
	r->begun |= n > 0;
	for (size_t i = 0; i < n; i++) {
		let_go(r, list[i]);
		if (i + 1 < n && list[i + 1]->gpu == list[i]->gpu)
			continue;
		run_segment_begin(&r->meter, list[i]->gpu);
		run_observe_begin(r, list[i]);
	}
}

bool run_start(struct runner *r)
{
	struct run_task **list;
	struct hes_err err;
	size_t n = 0, ended = r->n_ended;

	for (size_t i = 0; !r->events.stopping && i < r->n_gpus; i++)
		run_start_mps(&r->settings, &r->gpus[i]);
	if (r->events.stopping || r->log.held)
		return false;
	list = calloc(r->n_gpus * HES_MAX_SHARING + 1, sizeof(struct run_task *));
	if (!list) {
		hes_fail(&err, -ENOMEM, "out of memory");
		run_retry(&r->log, &err);
		return false;
	}
	run_cap_round(&r->cap);
	for (size_t i = 0; i < r->n_gpus; i++)
		if (!r->gpus[i].trial.open && !r->gpus[i].closed && !r->gpus[i].lost &&
		    !r->gpus[i].stuck && !r->gpus[i].mps.late)
			n += hold_jobs(r, &r->gpus[i], list + n);
	if (n && note_starts(r, list, n, &err)) {
		drop_held(r, list, n);
		run_hold(&r->log, &err);
		n = 0;
	}
	r->log.blocked_us = n ? RUN_NEVER_US : r->log.blocked_us;
	let_go_all(r, list, n);
	free(list);
	return r->n_ended > ended;
}
