/*
 * run.c - carry a plan out: make the owners of the state, begin, loop, restore, report; see
 * run_state.h and heshare/run.h.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/plural.h"
#include "base/signals.h"
#include "run/gpu_memory.h"
#include "run/resume.h"
#include "run/run_state.h"

/* --- made --- */

static struct runner runner_of(const struct hes_run_request *q, struct hes_journal *journal,
			       struct hes_run *run)
{
	return (struct runner){
		.q = q,
		.folder = { .fd = -1 },
		.clock = { .boot_us = RUN_NEVER_US },
		.events = { .epoll = -1, .signals = -1 },
		.log = { .listener = &q->listener,
			 .journal = journal,
			 .run = run,
			 .retry_us = RUN_NEVER_US,
			 .blocked_us = RUN_NEVER_US },
		.gpus = { .devices = q->devices, .fleet = q->fleet },
		.meter = { .session = 1 },
		.settings = { .devices = q->devices, .mps_folder = q->mps_folder },
		.samples = { .store = q->store, .profiles = q->profiles },
		.live = { .plans_again = q->replan && !q->waiting_stay },
	};
}

/* Who uses whom. */
static void runner_wire(struct runner *r)
{
	r->log.clock = r->meter.clock = &r->clock;
	r->log.folder = &r->folder;
	r->settings.log = &r->log;
	r->settings.meter = &r->meter;
	r->places = (struct run_places){ r->q, &r->log, &r->tasks, &r->gpus, &r->cap };
	r->replans = (struct run_replans){ .q = r->q,
					   .log = &r->log,
					   .tasks = &r->tasks,
					   .gpus = &r->gpus,
					   .places = &r->places,
					   .learner = &r->learner,
					   .epoll = r->events.epoll };
	r->samples.log = &r->log;
	r->samples.gpus = &r->gpus;
	r->samples.meter = &r->meter;
	r->holder = (struct run_holder){ &r->log,   &r->tasks, &r->settings,
					 &r->meter, &r->stop,  &r->learner };
	r->learner = (struct run_learner){
		.q = r->q, .log = &r->log, .gpus = &r->gpus, .meter = &r->meter
	};
	r->judge = (struct run_judge){ r->q, &r->log, &r->stop, &r->tasks, &r->settings };
	r->children = (struct run_children){ .q = r->q,
					     .log = &r->log,
					     .tasks = &r->tasks,
					     .settings = &r->settings,
					     .meter = &r->meter,
					     .samples = &r->samples,
					     .holder = &r->holder,
					     .judge = &r->judge,
					     .epoll = r->events.epoll };
	r->starter = (struct run_starter){ .q = r->q,
					   .log = &r->log,
					   .clock = &r->clock,
					   .stop = &r->stop,
					   .tasks = &r->tasks,
					   .gpus = &r->gpus,
					   .cap = &r->cap,
					   .children = &r->children,
					   .learner = &r->learner };
	r->results = (struct run_results){ &r->log,     &r->tasks, &r->gpus,    &r->meter,  &r->cap,
					   &r->samples, &r->judge, &r->replans, &r->learner };
	r->live.log = &r->log;
	r->live.tasks = &r->tasks;
	r->live.gpus = &r->gpus;
	r->live.meter = &r->meter;
}

/* --- begun --- */

static int runner_open_events(struct runner *r, const sigset_t *stops, struct hes_err *err)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = NULL }; /* see loop.c */

	r->events.signals = signalfd(-1, stops, SFD_CLOEXEC | SFD_NONBLOCK);
	r->events.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (r->events.signals < 0 || r->events.epoll < 0 ||
	    epoll_ctl(r->events.epoll, EPOLL_CTL_ADD, r->events.signals, &e))
		return hes_fail(err, -errno, "cannot wait for events: %s", strerror(errno));
	return 0;
}

static int note_new_run(struct runner *r, struct hes_err *err)
{
	struct hes_run_job *jobs = calloc(r->tasks.n + 1, sizeof(*jobs));
	struct hes_run_gpu *gpus = calloc(r->gpus.n + 1, sizeof(*gpus));
	int rc =
		jobs && gpus ? 0 : hes_fail(err, -ENOMEM, "out of memory for %zu jobs", r->tasks.n);

	for (size_t i = 0; !rc && i < r->gpus.n; i++)
		gpus[i] = r->gpus.v[i].row;
	for (size_t i = 0; !rc && i < r->tasks.n; i++) {
		const struct run_task *t = r->tasks.v[i];

		snprintf(jobs[i].job, sizeof(jobs[i].job), "%s", t->job->id);
		snprintf(jobs[i].workload, sizeof(jobs[i].workload), "%s", t->job->workload);
		snprintf(jobs[i].gpu, sizeof(jobs[i].gpu), "%s", run_gpu_name(t->gpu));
		jobs[i].sm_pct = t->place->sm_pct;
		jobs[i].planned_start_us = t->planned_start_us;
		jobs[i].planned_end_us = task_journal_end_us(t);
		jobs[i].planned_mj = t->record.planned_mj;
	}
	r->log.run->started_us = hes_wall_us();
	if (!rc)
		rc = hes_journal_new_run(r->log.journal, r->log.run, gpus, r->gpus.n, jobs,
					 r->tasks.n, err);
	free(jobs);
	free(gpus);
	return rc;
}

int hes_run_note_runner(struct hes_run *run, struct hes_err *err)
{
	struct hes_process self;
	int rc = hes_process_of(getpid(), &self);

	if (rc)
		return hes_fail(err, rc, "/proc: this process does not find itself: %s",
				strerror(-rc));
	run->runner = (struct hes_run_process){ .pid = self.pid, .start = (int64_t)self.started };
	return hes_process_boot(run->runner.boot, err);
}

static void report_restored(const struct runner *r, const struct hes_undone *m)
{
	if (m->clocks + m->daemons + m->jobs)
		run_tell(&r->log,
			 "what a run before had left was set right: %u clock%s, %u MPS daemon%s, "
			 "%u job%s",
			 m->clocks, hes_s(m->clocks), m->daemons, hes_s(m->daemons), m->jobs,
			 hes_s(m->jobs));
	if (m->failed)
		run_tell(&r->log,
			 "%u change%s that a run before had left cannot be undone now; tried again "
			 "at the end; guard.log in %s "
			 "says why",
			 m->failed, hes_s(m->failed), r->q->folder);
}

static int claim_gpus(struct runner *r, struct hes_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < r->gpus.n && !rc; i++) {
		rc = hes_guard_claim(r->settings.guard, r->gpus.v[i].info.uuid, err);
		if (rc)
			hes_fail_in(err, "%s", run_gpu_name(&r->gpus.v[i]));
	}
	return rc;
}

/* Whether root is to start a job of another user. @return 1; 0; -ENOENT no such user */
static int runner_has_other_users(const struct runner *r, struct hes_err *err)
{
	const char *last = NULL;
	struct hes_owner owner;
	int rc = 0;

	for (size_t i = 0; !geteuid() && !rc && i < r->tasks.n; i++) {
		const char *user =
			r->tasks.v[i]->job->user[0] ? r->tasks.v[i]->job->user : r->q->user;

		if (!user || (last && strcmp(user, last) == 0))
			continue;
		last = user;
		rc = hes_launch_owner(user, &owner, err);
	}
	return rc;
}

static int runner_open_folder(struct runner *r, struct hes_err *err)
{
	int rc = hes_job_folder_open(&r->folder, r->q->folder, err);

	if (!rc)
		rc = runner_has_other_users(r, err);
	return rc > 0 ? hes_job_folder_check(&r->folder, err) : rc;
}

static void tell_absent_gpus(const struct runner *r)
{
	for (size_t i = 0; i < r->gpus.n; i++)
		if (r->gpus.v[i].absent)
			run_tell(&r->log, "%s is lost: %s is not there, or cannot be used",
				 run_gpu_name(&r->gpus.v[i]), r->gpus.v[i].info.uuid);
}

static int runner_resume(struct runner *r, const struct hes_undone *repaired, struct hes_err *err)
{
	struct run_resume x = {
		.log = &r->log,
		.tasks = &r->tasks,
		.gpus = &r->gpus,
		.judge = &r->judge,
		.repaired = repaired,
		.boot = r->log.run->runner.boot,
		.early_ok = r->q->early_ok,
		.session = r->meter.session,
	};
	int rc;

	run_clock_load(&r->clock, &r->folder, r->log.run->runner.boot);
	rc = run_take_added(&r->replans, err);
	if (!rc)
		rc = run_take_over(&x, err);
	r->meter.session = x.session;
	run_replan_want(&r->replans, "the run is resumed");
	return rc;
}

/* A run has its plan once it is in the journal, and until then an earlier run has its own. */
static int keep_plan(const struct hes_run_request *q, struct hes_err *err)
{
	if (q->plan_next && rename(q->plan_next, q->plan_file) && errno != ENOENT)
		return hes_fail(err, -errno, "%s: cannot get this name: %s", q->plan_file,
				strerror(errno));
	return 0;
}

static int runner_begin(struct runner *r, struct hes_err *err)
{
	bool resumed = r->log.run->id != 0;
	struct hes_undone repaired = { 0 };
	int rc;

	r->clock.mono_s = hes_monotonic_s();
	rc = runner_open_folder(r, err);
	/* The guard holds the folder: from here on nobody else carries this run out. */
	if (!rc)
		rc = hes_guard_start(&r->settings.guard, r->q->guard, r->q->folder, &repaired, err);
	if (!rc)
		report_restored(r, &repaired);
	if (!rc)
		rc = claim_gpus(r, err);
	if (!rc)
		rc = hes_run_note_runner(r->log.run, err);
	if (!rc)
		rc = resumed ? hes_journal_take_over(r->log.journal, r->log.run, err)
			     : note_new_run(r, err);
	if (!rc && !resumed)
		rc = keep_plan(r->q, err);
	if (!rc && resumed)
		rc = runner_resume(r, &repaired, err);
	tell_absent_gpus(r);
	if (rc)
		return rc;
	run_tell_foreign(&r->gpus, &r->log);
	for (size_t i = 0; i < r->gpus.n; i++)
		run_start_mps(&r->settings, &r->gpus.v[i]);
	rc = run_meter_start(&r->meter, r->q->devices, r->gpus.v, r->gpus.n, err);
	if (!rc && r->cap.cap_w > 0)
		hes_meter_watch_power(r->meter.meter, r->cap.cap_w);
	r->cap.earlier_over_us = r->log.run->over_cap_us;
	r->cap.earlier_peak_mw = r->log.run->peak_mw;
	run_learner_begin(&r->learner);
	if (!rc && resumed)
		rc = run_resume_clock(&r->log, &r->clock, err);
	r->clock.mono_s = hes_monotonic_s();
	return rc;
}

/* --- ended --- */

static void runner_drop_children(struct runner *r)
{
	for (size_t i = 0; i < r->tasks.n; i++) {
		struct run_task *t = r->tasks.v[i];

		if (task_state(t) == TASK_STUCK)
			hes_child_forget(&t->child);
		hes_child_drop(&t->child);
		hes_progress_close(&t->progress);
		run_launches_close(t);
		run_observe_free(t->observed);
		t->observed = NULL;
	}
}

static void runner_free(struct runner *r)
{
	runner_drop_children(r);
	hes_meter_stop(r->meter.meter);
	for (size_t i = 0; i < r->gpus.n; i++) {
		free(r->gpus.v[i].queue.v);
		free(r->gpus.v[i].energy.segments);
		hes_contexts_free(&r->gpus.v[i].contexts);
	}
	if (r->events.epoll >= 0)
		close(r->events.epoll);
	if (r->events.signals >= 0)
		close(r->events.signals);
	hes_job_folder_close(&r->folder);
	run_tasks_free(&r->tasks);
	free(r->gpus.v);
	hes_samples_free(&r->samples.v);
	hes_profiles_free(&r->samples.own);
	run_learner_free(&r->learner);
}

static int runner_end(struct runner *r, struct hes_run_report *out, struct hes_err *err)
{
	const size_t good = r->tasks.done + (r->q->early_ok ? r->tasks.early : 0);
	enum hes_run_state state = good == r->tasks.n           ? HES_RUN_DONE
				   : !run_tasks_left(&r->tasks) ? HES_RUN_FAILED
								: HES_RUN_STOPPED;
	struct hes_err why;
	int rc;

	for (size_t i = 0; i < r->gpus.n; i++)
		run_close_gpu(&r->settings, &r->gpus.v[i]);
	rmdir(r->q->mps_folder); /* unless there are logs */
	/* GPUs that were done before the others have idled until now. */
	for (size_t i = 0; i < r->gpus.n; i++)
		run_account(&r->meter, &r->gpus.v[i]);
	if (run_learn(&r->samples, &why))
		run_tell(&r->log, "samples of this run are not kept: %s", why.msg);
	rc = run_keep_gpus(&r->results, err);
	if (rc)
		return rc;
	r->log.run->ended_us = hes_wall_us();
	run_live_remove(&r->folder);
	/* Before the report, which then has all jobs: to a run that is done or failed none can be
	 * added. */
	rc = hes_journal_run_ended(r->log.journal, r->log.run->id, &state, r->log.run->ended_us,
				   err);
	r->log.run->state = state;
	return rc ? rc : run_report(r, out, err);
}

int hes_run_carry_out(const struct hes_run_request *q, struct hes_journal *journal,
		      struct hes_run *run, struct hes_run_report *out, struct hes_err *err)
{
	struct runner r = runner_of(q, journal, run);
	struct hes_run_report report = { 0 };
	struct hes_err late = { 0 };
	struct hes_signals stops;
	int rc, undone;

	hes_signals_take(&stops, hes_signals_stop);
	rc = runner_open_events(&r, &stops.set, err);
	runner_wire(&r);
	if (!rc)
		rc = run_places_make(&r.places, err);
	if (!rc)
		rc = runner_begin(&r, err);
	if (!rc)
		rc = run_loop(&r, err);
	run_replan_stop(&r.replans);
	runner_drop_children(&r);
	if (!rc)
		rc = runner_end(&r, &report, err);
	undone = hes_guard_finish(r.settings.guard, &late);
	if (undone)
		run_tell(&r.log, "not everything could be set back: %s", late.msg);
	runner_free(&r);
	hes_signals_leave(&stops);
	if (rc)
		hes_run_report_free(&report);
	else
		*out = report;
	return rc;
}
