/*
 * run.c - carry a plan out: make the state of the run, begin, loop, restore, report; see
 * run_state.h and heshare/run.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
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
#include "heshare/capabilities.h"
#include "run/environment.h"
#include "run/result.h"
#include "run/fit_gpus.h"
#include "run/solo_point.h"
#include "run/outside.h"
#include "run/steps.h"

/* --- made --- */

/* A command without a number of iterations may have more work today than when it was measured. */
static int64_t limit_of(const struct hes_run_request *q, const struct run_task *t)
{
	const double us = q->timeout_factor * (double)(t->planned_end_us - t->planned_start_us);

	if (q->for_us)
		return q->for_us;
	if (q->timeout_factor <= 0 || t->unknown || t->job->whole_run || us >= (double)RUN_NEVER_US)
		return RUN_NEVER_US;
	return us > (double)q->timeout_least_us ? (int64_t)us : q->timeout_least_us;
}

void run_task_init(const struct hes_run_request *q, struct run_task *t, struct run_gpu *g,
		   struct run_place *place)
{
	const struct hes_job *job = t->job;

	t->gpu = g;
	t->place = place;
	t->child = (struct hes_child){ .pidfd = -1, .gate = -1 };
	t->progress.fd = -1;
	t->limit_us = limit_of(q, t);
	t->kill_us = RUN_NEVER_US;
	if (t->activity <= 0)
		t->activity = run_activity(q->profiles, g->planned->type, job, place->sm_pct,
					   place->clock_mhz == RUN_UNLOCKED
						   ? g->planned->type->clock_default_mhz
						   : place->clock_mhz);
	t->start_up_us = run_start_up_us(q->profiles, g->planned->type, job);
	place->task = t;
	place->memory_mib = hes_memory_on(g->planned->type, hes_job_memory_mib(job));
	place->user = g->mps.wanted ? run_user(job->user) : 0;
}

static struct run_task *make_task(const struct hes_run_request *q, struct run_gpu *g,
				  struct run_place *place, const struct hes_placement *p,
				  bool unknown)
{
	struct run_task *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->job = &q->jobs->v[p->job];
	t->command = q->commands[p->job];
	t->planned_start_us = p->start_us;
	t->planned_end_us = t->expected_end_us = p->end_us;
	t->unknown = unknown;
	t->activity = p->activity_mw * 1e-3;
	place->sm_pct = p->sm_pct;
	run_task_init(q, t, g, place);
	return t;
}

/* Joules of the jobs of a batch, where the plan does not have them: split like measured ones, in
 * one piece. */
static void split_planned(const struct run_gpu *g, const struct hes_batch *batch,
			  struct run_task *const *tasks)
{
	double seconds = (double)(batch->end_us - batch->start_us) * 1e-6;
	struct hes_sharer v[HES_MAX_SHARING];

	for (uint32_t i = 0; i < batch->n; i++)
		v[i] = (struct hes_sharer){
			.start_s = (double)(batch->jobs[i].start_us - batch->start_us) * 1e-6,
			.end_s = fmin((double)(batch->jobs[i].end_us - batch->start_us) * 1e-6,
				      seconds),
			.sm_pct = batch->jobs[i].sm_pct,
			.activity = tasks[i]->activity,
		};
	if (!hes_attribute_known((double)batch->energy_mj * 1e-3,
				 g->planned->type->idle_power_mw * 1e-3, seconds, v, batch->n))
		for (uint32_t i = 0; i < batch->n; i++)
			tasks[i]->planned_mj = batch->jobs[i].energy_mj
						       ? batch->jobs[i].energy_mj
						       : (uint64_t)(v[i].energy_j * 1e3 + 0.5);
}

/* The batches of a GPU as tasks, with the energy and time that are planned for them. */
static int make_tasks(struct runner *r, struct run_gpu *g, const struct hes_queue *queue)
{
	struct run_task **tasks = &r->tasks[r->n_tasks];
	bool unknown = false;
	size_t n = 0;

	g->row.planned_busy_us = hes_queue_busy_us(queue);
	for (size_t i = 0; i < queue->n; i++) {
		const struct hes_batch *batch = &queue->batches[i];

		g->row.planned_mj += batch->energy_mj;
		for (uint32_t k = 0; k < batch->n; k++) {
			struct run_place *place = &g->queue.v[n + k];

			*place = (struct run_place){
				.batch = (uint32_t)i,
				.clock_mhz = batch->unlocked ? RUN_UNLOCKED : batch->clock_mhz,
				.held_mhz =
					batch->unlocked && !batch->unknown ? batch->clock_mhz : 0,
				.alone = batch->unknown,
			};
			tasks[n + k] = make_task(r->q, g, place, &batch->jobs[k], batch->unknown);
			if (!tasks[n + k])
				return -ENOMEM;
			r->n_tasks++;
		}
		split_planned(g, batch, &tasks[n]);
		n += batch->n;
		unknown |= batch->unknown;
	}
	/* Behind a job of which nothing is known, no time is. */
	if (unknown)
		g->row.planned_busy_us = 0;
	return 0;
}

/* The plan's part for one GPU of the fleet. */
static int make_gpu(struct runner *r, struct run_gpu *g, size_t at, struct hes_err *err)
{
	const struct hes_queue *queue = &r->q->plan->queues[at];
	int rc;

	*g = (struct run_gpu){ .planned = &r->q->fleet->gpus[at],
			       .device = (size_t)r->q->gpus[at],
			       .lock = { .verify_us = RUN_NEVER_US, .refused = r->q->no_clocks } };
	g->mps.wanted = g->mps.due = !r->q->no_mps && run_shares(queue);
	if (r->q->gpus[at] == HES_RUN_GPU_LOST) {
		g->lost = g->absent = g->closed = true;
		memcpy(g->info.uuid, g->planned->uuid, sizeof(g->info.uuid));
	}
	rc = g->absent ? 0 : hes_device_info(r->q->devices, g->device, &g->info, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < queue->n; i++)
		g->queue.n += queue->batches[i].n;
	g->queue.together = queue->together;
	g->queue.shares_pct = hes_queue_shares_pct(queue);
	g->queue.memory_mib = g->planned->type->memory_mib;
	g->queue.v = calloc(g->queue.n + 1, sizeof(*g->queue.v));
	if (!g->queue.v || make_tasks(r, g, queue))
		return hes_fail(err, -ENOMEM, "out of memory for %zu jobs", g->queue.n);
	g->exclusive = !g->absent && hes_device_is_exclusive(r->q->devices, g->device);
	if (g->exclusive && !g->mps.wanted)
		run_admit_one_by_one(&g->queue);
	snprintf(g->row.gpu, sizeof(g->row.gpu), "%s", run_gpu_name(g));
	snprintf(g->row.gpu_type, sizeof(g->row.gpu_type), "%s", g->planned->type->name);
	snprintf(g->row.uuid, sizeof(g->row.uuid), "%s", g->info.uuid);
	return 0;
}

static int make(struct runner *r, struct hes_err *err)
{
	size_t tasks = 0, n = 0;
	int rc = 0;

	for (size_t at = 0; at < r->q->fleet->n; at++) {
		const struct hes_queue *q = &r->q->plan->queues[at];

		r->n_gpus += r->q->gpus[at] != RUN_NO_GPU;
		for (size_t i = 0; i < q->n && r->q->gpus[at] != RUN_NO_GPU; i++)
			tasks += q->batches[i].n;
	}
	r->gpus = calloc(r->n_gpus + 1, sizeof(*r->gpus));
	r->tasks = calloc(tasks + 1, sizeof(struct run_task *));
	r->ended = calloc(tasks + 1, sizeof(struct run_task *));
	if (!r->gpus || !r->tasks || !r->ended)
		return hes_fail(err, -ENOMEM, "out of memory for %zu jobs on %zu GPUs", tasks,
				r->n_gpus);
	for (size_t at = 0; at < r->q->fleet->n && !rc; at++)
		if (r->q->gpus[at] != RUN_NO_GPU)
			rc = make_gpu(r, &r->gpus[n++], at, err);
	if (!rc)
		run_cap_init(&r->cap, r->q->plan, r->q->fleet, r->q->gpus, r->gpus);
	return rc;
}

/* --- begun --- */

static int note_new_run(struct runner *r, struct hes_err *err)
{
	struct hes_run_job *jobs = calloc(r->n_tasks + 1, sizeof(*jobs));
	struct hes_run_gpu *gpus = calloc(r->n_gpus + 1, sizeof(*gpus));
	int rc =
		jobs && gpus ? 0 : hes_fail(err, -ENOMEM, "out of memory for %zu jobs", r->n_tasks);

	for (size_t i = 0; !rc && i < r->n_gpus; i++)
		gpus[i] = r->gpus[i].row;
	for (size_t i = 0; !rc && i < r->n_tasks; i++) {
		const struct run_task *t = r->tasks[i];

		snprintf(jobs[i].job, sizeof(jobs[i].job), "%s", t->job->id);
		snprintf(jobs[i].workload, sizeof(jobs[i].workload), "%s", t->job->workload);
		snprintf(jobs[i].gpu, sizeof(jobs[i].gpu), "%s", run_gpu_name(t->gpu));
		jobs[i].sm_pct = t->place->sm_pct;
		jobs[i].planned_start_us = t->planned_start_us;
		jobs[i].planned_end_us = run_planned_end_us(t);
		jobs[i].planned_mj = t->planned_mj;
	}
	r->log.run->started_us = hes_wall_us();
	if (!rc)
		rc = hes_journal_new_run(r->log.journal, r->log.run, gpus, r->n_gpus, jobs,
					 r->n_tasks, err);
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

static int open_events(struct runner *r, const sigset_t *stops, struct hes_err *err)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = NULL }; /* see loop.c */

	r->events.signals = signalfd(-1, stops, SFD_CLOEXEC | SFD_NONBLOCK);
	r->events.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (r->events.signals < 0 || r->events.epoll < 0 ||
	    epoll_ctl(r->events.epoll, EPOLL_CTL_ADD, r->events.signals, &e))
		return hes_fail(err, -errno, "cannot wait for events: %s", strerror(errno));
	return 0;
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

	for (size_t i = 0; i < r->n_gpus && !rc; i++) {
		rc = hes_guard_claim(r->settings.guard, r->gpus[i].info.uuid, err);
		if (rc)
			hes_fail_in(err, "%s", run_gpu_name(&r->gpus[i]));
	}
	return rc;
}

/* Whether root is to start a job of another user. @return 1; 0; -ENOENT no such user */
static int has_others(const struct runner *r, struct hes_err *err)
{
	const char *last = NULL;
	struct hes_owner owner;
	int rc = 0;

	for (size_t i = 0; !geteuid() && !rc && i < r->n_tasks; i++) {
		const char *user = r->tasks[i]->job->user[0] ? r->tasks[i]->job->user : r->q->user;

		if (!user || (last && strcmp(user, last) == 0))
			continue;
		last = user;
		rc = hes_launch_owner(user, &owner, err);
	}
	return rc;
}

static int open_folder(struct runner *r, struct hes_err *err)
{
	int rc = hes_job_folder_open(&r->folder, r->q->folder, err);

	if (!rc)
		rc = has_others(r, err);
	return rc > 0 ? hes_job_folder_check(&r->folder, err) : rc;
}

/* The run goes on after the last time that the journal has. */
static int resume_clock(struct runner *r, struct hes_err *err)
{
	struct hes_attempt *v = NULL;
	int64_t last = 0;
	size_t n = 0;
	int rc = hes_journal_attempts(r->log.journal, r->log.run->id, &v, &n, err);

	for (size_t i = 0; !rc && i < n; i++) {
		last = v[i].started_us > last ? v[i].started_us : last;
		if (v[i].verdict != HES_VERDICT_OPEN && v[i].ended_us > last)
			last = v[i].ended_us;
	}
	free(v);
	if (!rc && run_clock_resume(&r->clock, r->log.run, last))
		run_tell(&r->log,
			 "the clock of this machine was set back while the run was interrupted; "
			 "the run goes on at %.1f s",
			 (double)last * 1e-6);
	return rc;
}

static void tell_absent(const struct runner *r)
{
	for (size_t i = 0; i < r->n_gpus; i++)
		if (r->gpus[i].absent)
			run_tell(&r->log, "%s is lost: %s is not there, or cannot be used",
				 run_gpu_name(&r->gpus[i]), r->gpus[i].info.uuid);
}

static int begin(struct runner *r, const sigset_t *stops, struct hes_err *err)
{
	bool resumed = r->log.run->id != 0;
	int rc = open_events(r, stops, err);

	r->clock.mono_s = hes_monotonic_s();
	if (!rc)
		rc = open_folder(r, err);
	/* The guard holds the folder: from here on nobody else carries this run out. */
	if (!rc)
		rc = hes_guard_start(&r->settings.guard, r->q->guard, r->q->folder, &r->repaired,
				     err);
	if (!rc)
		report_restored(r, &r->repaired);
	if (!rc)
		rc = claim_gpus(r, err);
	if (!rc)
		rc = hes_run_note_runner(r->log.run, err);
	if (!rc)
		rc = resumed ? hes_journal_take_over(r->log.journal, r->log.run, err)
			     : note_new_run(r, err);
	if (!rc && resumed)
		run_clock_load(&r->clock, &r->folder, r->log.run->runner.boot);
	if (!rc && resumed)
		rc = run_take_added(r, err);
	if (!rc && resumed)
		rc = run_reconcile(r, err);
	tell_absent(r);
	if (resumed)
		run_replan_want(r, "the run is resumed");
	if (!rc && !r->q->replan)
		rc = run_move_jobs(r, err);
	if (rc)
		return rc;
	run_tell_foreign(r);
	for (size_t i = 0; i < r->n_gpus; i++)
		run_start_mps(&r->settings, &r->gpus[i]);
	rc = run_meter_start(&r->meter, r->q->devices, r->gpus, r->n_gpus, err);
	if (!rc && r->cap.cap_w > 0)
		hes_meter_watch_power(r->meter.meter, r->cap.cap_w);
	r->cap.earlier_over_us = r->log.run->over_cap_us;
	r->cap.earlier_peak_mw = r->log.run->peak_mw;
	if (!rc && resumed)
		rc = resume_clock(r, err);
	r->clock.mono_s = hes_monotonic_s();
	return rc;
}

/* --- ended --- */

static void drop_all(struct runner *r)
{
	for (size_t i = 0; i < r->n_tasks; i++) {
		if (r->tasks[i]->stuck)
			hes_child_forget(&r->tasks[i]->child);
		hes_child_drop(&r->tasks[i]->child);
		hes_progress_close(&r->tasks[i]->progress);
	}
}

static void unmake(struct runner *r)
{
	drop_all(r);
	hes_meter_stop(r->meter.meter);
	for (size_t i = 0; r->gpus && i < r->n_gpus; i++) {
		free(r->gpus[i].queue.v);
		free(r->gpus[i].energy.segments);
		hes_contexts_free(&r->gpus[i].contexts);
	}
	if (r->events.epoll >= 0)
		close(r->events.epoll);
	if (r->events.signals >= 0)
		close(r->events.signals);
	hes_job_folder_close(&r->folder);
	for (size_t i = 0; i < r->n_tasks; i++) {
		hes_run_added_free(r->tasks[i]->added, 1);
		run_observe_free(r->tasks[i]->observed);
		free(r->tasks[i]);
	}
	free(r->gpus);
	free(r->tasks);
	free(r->ended);
	hes_samples_free(&r->samples);
}

static int end(struct runner *r, struct hes_run_report *out, struct hes_err *err)
{
	const size_t over = r->counts.done + r->counts.failed + r->counts.early,
		     good = r->counts.done + (r->q->early_ok ? r->counts.early : 0);
	enum hes_run_state state = good == r->n_tasks   ? HES_RUN_DONE
				   : over == r->n_tasks ? HES_RUN_FAILED
							: HES_RUN_STOPPED;
	struct hes_err why;
	int rc;

	for (size_t i = 0; i < r->n_gpus; i++)
		run_close_gpu(&r->settings, &r->gpus[i]);
	/* GPUs that were done before the others have idled until now. */
	for (size_t i = 0; i < r->n_gpus; i++)
		run_account(&r->meter, &r->gpus[i]);
	if (run_learn(r, &why))
		run_tell(&r->log, "samples of this run are not kept: %s", why.msg);
	rc = run_keep_gpus(r, err);
	if (rc)
		return rc;
	r->log.run->ended_us = hes_wall_us();
	run_live_end(r);
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
	struct runner r = {
		.q = q,
		.folder = { .fd = -1 },
		.clock = { .boot_us = RUN_NEVER_US },
		.events = { .epoll = -1, .signals = -1 },
		.log = { .listener = &q->listener,
			 .journal = journal,
			 .run = run,
			 .clock = &r.clock,
			 .retry_us = RUN_NEVER_US,
			 .blocked_us = RUN_NEVER_US },
		.meter = { .clock = &r.clock, .session = 1 },
		.settings = { .log = &r.log,
			      .meter = &r.meter,
			      .devices = q->devices,
			      .mps_folder = q->mps_folder },
	};
	struct hes_run_report report = { 0 };
	struct hes_err late = { 0 };
	struct hes_signals stops;
	int rc, undone;

	hes_signals_take(&stops, hes_signals_stop);
	rc = make(&r, err);
	if (!rc)
		rc = begin(&r, &stops.set, err);
	if (!rc)
		rc = run_loop(&r, err);
	run_replan_stop(&r);
	drop_all(&r);
	if (!rc)
		rc = end(&r, &report, err);
	undone = hes_guard_finish(r.settings.guard, &late);
	if (undone)
		run_tell(&r.log, "not everything could be set back: %s", late.msg);
	unmake(&r);
	hes_signals_leave(&stops);
	if (rc)
		hes_run_report_free(&report);
	else
		*out = report;
	return rc;
}

/* --- which GPUs --- */

int hes_run_fit(const struct hes_fleet *f, const struct hes_plan *p, const char *node, unsigned how,
		const struct hes_devices *d, long *out, struct hes_err *err)
{
	size_t n = hes_devices_count(d);
	struct hes_device_info *info = calloc(n + 1, sizeof(*info));
	struct run_fit_type *types = calloc(n + 1, sizeof(*types));
	struct hes_err sick, why;
	int rc = info && types ? 0 : hes_fail(err, -ENOMEM, "out of memory for %zu GPUs", n);

	for (size_t i = 0; !rc && i < n; i++) {
		/* A GPU that cannot be used matches nothing; the plan may do without it. */
		hes_device_info(d, i, &info[i], NULL);
		types[i] = (struct run_fit_type){ info[i].type, info[i].uuid };
	}
	if (!rc) {
		rc = run_fit(f, p, node, how, types, n, out, err);
		if (rc == -ENODEV && hes_devices_check(d, &sick)) {
			why = *err;
			hes_fail(err, rc, "%s; %s", sick.msg, why.msg);
		}
	}
	free(info);
	free(types);
	return rc;
}
