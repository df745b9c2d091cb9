/*
 * rehearse.c - report every act of a run in order, with planned times, without doing it; see
 * heshare/run.h. The tasks and queues are those of a run; admit.c decides the order.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/visible.h"
#include "run/environment.h"
#include "run/run_place.h"
#include "run/settings.h"

#define TEXT_MAX 1024

static void rehearse_act(const struct hes_run_request *q, int64_t at_us, const struct run_gpu *g,
			 const char *job, const char *fmt, ...) HES_PRINTF(5, 6);

static void rehearse_act(const struct hes_run_request *q, int64_t at_us, const struct run_gpu *g,
			 const char *job, const char *fmt, ...)
{
	char text[TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (q->listener.act)
		q->listener.act(q->listener.ctx, at_us, run_gpu_name(g), job, text);
}

static void rehearse_clock(const struct hes_run_request *q, struct run_gpu *g, int64_t now_us)
{
	const uint32_t mhz = run_clock_wanted(g);

	if (!mhz)
		return;
	g->lock.mhz = mhz == RUN_UNLOCKED ? 0 : mhz;
	if (g->lock.mhz)
		rehearse_act(q, now_us, g, NULL, "lock the clock at %" PRIu32 " MHz", mhz);
	else
		rehearse_act(q, now_us, g, NULL, "unlock the clock");
}

/* A line for the start, then one for each variable of CUDA: the line says what the HESHARE_ ones
 * hold. What came from outside cannot end a line. */
static void put_start(FILE *f, const struct hes_run_request *q, const struct run_task *t)
{
	const struct run_gpu *g = t->gpu;
	const struct hes_job *job = t->job;
	const bool mps = g->mps.wanted && !run_admit_alone(&g->queue, t->place);
	const char *user = job->user[0] ? job->user : q->user;
	struct run_environment e = { .v = { NULL } };

	run_environment_set(
		&e, &(struct run_environment_of){
			    .job = job,
			    .attempt = 1,
			    .gpu = run_gpu_name(g),
			    .uuid = g->info.uuid,
			    .sm_pct = t->place->sm_pct,
			    .limit_mib = mps ? run_memory_limit(job, g->queue.memory_mib) : 0,
			    .mps = mps ? &g->mps.daemon : NULL,
			    .mps_folder = q->mps_folder });
	fputs("start attempt 1", f);
	if (user) {
		fputs(" as ", f);
		hes_visible_put(f, 0, user);
	}
	fprintf(f, " with %" PRIu32 " %% of the SMs: ", t->place->sm_pct);
	hes_visible_put(f, 0, t->command);
	for (const char *const *v = e.v; *v; v++) {
		if (strncmp(*v, "HESHARE_", 8) == 0)
			continue;
		fputc('\n', f);
		hes_visible_put(f, 0, *v);
	}
}

static int rehearse_start(const struct hes_run_request *q, struct run_task *t, int64_t now_us,
			  struct hes_err *err)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	int rc = -ENOMEM;

	if (f) {
		put_start(f, q, t);
		rc = fclose(f) ? -ENOMEM : 0;
	}
	if (rc)
		hes_fail(err, rc, "job %s: no memory for its command", t->job->id);
	else if (__builtin_add_overflow(now_us, task_planned_us(t), &t->ended_us))
		rc = hes_fail(err, -ERANGE, "job %s: planned times sum to more than 2^63 us",
			      t->job->id);
	else if (q->listener.act)
		q->listener.act(q->listener.ctx, now_us, run_gpu_name(t->gpu), t->job->id, text);
	free(text);
	return rc;
}

/* Start what may; the clock comes first. */
static int rehearse_starts(const struct run_places *ps, struct run_gpu *g, int64_t now_us,
			   struct hes_err *err)
{
	struct run_task *tasks[HES_MAX_SHARING];
	size_t n = 0;
	long next;
	int rc = 0;

	while (n < HES_MAX_SHARING && run_admit_running(&g->queue) < HES_MAX_SHARING &&
	       (next = run_admit_next(&g->queue)) >= 0) {
		tasks[n] = g->queue.v[next].task;
		task_go(ps->tasks, tasks[n], TASK_FORKED);
		task_go(ps->tasks, tasks[n++], TASK_RUNNING);
	}
	rehearse_clock(ps->q, g, now_us);
	for (size_t i = 0; i < n && !rc; i++)
		rc = rehearse_start(ps->q, tasks[i], now_us, err);
	return rc;
}

static void rehearse_close(const struct hes_run_request *q, struct run_gpu *g, int64_t now_us)
{
	if (g->closed || !run_admit_over(&g->queue))
		return;
	g->closed = true;
	if (g->lock.mhz)
		rehearse_act(q, now_us, g, NULL, "unlock the clock");
	if (g->mps.wanted)
		rehearse_act(q, now_us, g, NULL, "end the MPS daemon of %s", g->info.uuid);
}

static void rehearse_end(const struct run_places *ps, struct run_task *t)
{
	task_end(ps->tasks, t);
	task_judge(ps->tasks, t, HES_VERDICT_DONE);
	t->over = true;
	task_settle(ps->tasks, t);
	run_tasks_close_ranks(ps->tasks);
	if (t->unknown)
		rehearse_act(ps->q, t->ended_us, t->gpu, t->job->id,
			     "ends, if it takes %.0f s: how long it takes is not known",
			     (double)task_planned_us(t) * 1e-6);
	else
		rehearse_act(ps->q, t->ended_us, t->gpu, t->job->id, "ends, as planned");
}

/* The next job to end, on any GPU; of several at a time, the first in order. @return NULL: nothing
 * runs */
static struct run_task *next_end(const struct run_gpus *gs)
{
	struct run_task *found = NULL;

	for (size_t i = 0; i < gs->n; i++) {
		const struct run_queue *q = &gs->v[i].queue;

		for (size_t k = q->over; k < q->reach; k++) {
			struct run_task *t = q->v[k].task;

			if (task_runs(t) && (!found || t->ended_us < found->ended_us))
				found = t;
		}
	}
	return found;
}

static void rehearse_mps(const struct hes_run_request *q, struct run_gpu *g)
{
	struct hes_mps *m = &g->mps.daemon;

	g->mps.wanted &= g->queue.n > 0 && !g->lost;
	snprintf(m->pipe_dir, sizeof(m->pipe_dir), "%.400s/%zu/pipe", q->mps_folder, g->device);
	snprintf(m->log_dir, sizeof(m->log_dir), "%.400s/%zu/log", q->mps_folder, g->device);
	if (g->mps.wanted)
		rehearse_act(q, 0, g, NULL, "start the MPS daemon of %s in %s/%zu", g->info.uuid,
			     q->mps_folder, g->device);
}

int hes_run_rehearse(const struct hes_run_request *q, struct hes_err *err)
{
	struct run_tasks tasks = { 0 };
	struct run_gpus gpus = { .devices = q->devices, .fleet = q->fleet };
	struct run_cap cap;
	struct run_places ps = { q, NULL, &tasks, &gpus, &cap };
	struct run_task *t;
	int rc = run_places_make(&ps, err);

	for (size_t i = 0; i < gpus.n && !rc; i++)
		rehearse_mps(q, &gpus.v[i]);
	for (size_t i = 0; i < gpus.n && !rc; i++)
		if (!gpus.v[i].lost)
			rc = rehearse_starts(&ps, &gpus.v[i], 0, err);
	while (!rc && (t = next_end(&gpus))) {
		rehearse_end(&ps, t);
		rc = rehearse_starts(&ps, t->gpu, t->ended_us, err);
		rehearse_close(q, t->gpu, t->ended_us);
	}
	for (size_t i = 0; i < gpus.n; i++)
		free(gpus.v[i].queue.v);
	free(gpus.v);
	run_tasks_free(&tasks);
	return rc;
}
