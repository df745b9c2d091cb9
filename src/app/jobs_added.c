/*
 * jobs_added.c - place jobs that are added to a run of a plan; see jobs_added.h.
 *
 * Open queues are replanned as `heshare simulate` does when a job arrives (plan/replan.h), but only
 * the new jobs move.
 */
#include "app/jobs_added.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/replan.h"

/* --- open queues --- */

static int place_each(const struct hes_request *r, const struct hes_run_now *now,
		      struct hes_plan *out, struct hes_err *err)
{
	struct hes_replan *s = NULL;
	int rc = hes_replan_open(r, now->staying, 0, &s, err);

	for (size_t i = 0; i < now->n_waiting && !rc; i++) {
		rc = hes_replan_place(s, now->waiting[i], now->now_us, err);
		if (rc == -EXFULL)
			hes_fail(err, rc, "%zu jobs are too many to add at once; add them in parts",
				 now->n_waiting);
	}
	for (size_t g = 0; g < r->fleet->n && !rc; g++) {
		rc = hes_replan_write(s, g, out);
		if (rc)
			hes_fail(err, rc, "%s: its queue cannot be planned: %s",
				 r->fleet->gpus[g].name, strerror(-rc));
	}
	hes_replan_close(s);
	return rc;
}

static int plan_open(struct hes_request r, const struct hes_run_now *now, struct hes_plan *out,
		     struct hes_err *err)
{
	const struct hes_plan *stay = now->staying;
	uint32_t *waiting = calloc(r.jobs->n + 1, sizeof(*waiting));
	int64_t *free_at_us = calloc(r.fleet->n + 1, sizeof(*free_at_us));
	int rc = -ENOMEM;

	for (size_t g = 0; waiting && free_at_us && g < stay->n_gpus; g++) {
		free_at_us[g] = now->now_us;
		for (size_t b = 0; b < stay->queues[g].n; b++)
			waiting[r.n_waiting++] = stay->queues[g].batches[b].jobs[0].job;
	}
	r.waiting = waiting;
	r.free_at_us = free_at_us;
	if (waiting && free_at_us)
		rc = hes_plan_init(out, r.fleet->n);
	rc = rc ? hes_fail(err, rc, "out of memory for %zu jobs", r.jobs->n)
		: place_each(&r, now, out, err);
	free(waiting);
	free(free_at_us);
	return rc;
}

/* --- behind all others --- */

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Of a queue with barriers: when what runs and what stays has ended. */
static int64_t queue_ends(const struct hes_run_now *now, size_t gpu)
{
	const struct hes_queue *q = &now->staying->queues[gpu];
	int64_t end_us = now->now_us;

	for (size_t i = 0; i < now->n_running; i++)
		if (now->running[i].gpu == gpu)
			end_us = later(end_us, now->running[i].end_us);
	for (size_t b = 0; b < q->n; b++)
		end_us += q->batches[b].end_us - q->batches[b].start_us;
	return end_us;
}

/* With batches, policies see of other jobs only when a GPU is free: one job that runs until then
 * stands for all. */
static int plan_behind(const struct hes_policy *policy, struct hes_request r,
		       const struct hes_known *known, const struct hes_run_now *now, bool open,
		       struct hes_plan *out, struct hes_err *err)
{
	struct hes_running *running = calloc(now->n_running + r.fleet->n + 1, sizeof(*running));
	int rc;

	if (!running)
		return hes_fail(err, -ENOMEM, "out of memory for %zu GPUs", r.fleet->n);
	for (size_t i = 0; i < now->n_running; i++)
		running[i] = now->running[i];
	r.waiting = now->waiting;
	r.n_waiting = now->n_waiting;
	r.n_running = now->n_running;
	r.running = running;
	for (size_t g = 0; g < r.fleet->n && !open; g++)
		if (now->staying->queues[g].n)
			running[r.n_running++] = (struct hes_running){
				.job = now->staying->queues[g].batches[0].jobs[0].job,
				.gpu = (uint32_t)g,
				.sm_pct = 100,
				.start_us = now->now_us,
				.end_us = queue_ends(now, g),
				.left = 1,
			};
	rc = app_plan_around(policy, &r, known, now->usable, out, NULL, err);
	free(running);
	return rc;
}

static bool is_open(const struct hes_plan *p)
{
	for (size_t g = 0; g < p->n_gpus; g++)
		if (p->queues[g].n && !p->queues[g].together)
			return false;
	return true;
}

static bool all_known(const struct hes_request *r, const struct hes_run_now *now)
{
	for (size_t i = 0; i < now->n_waiting; i++)
		if (!app_is_known(r->profiles, r->fleet, &r->jobs->v[now->waiting[i]]))
			return false;
	for (size_t g = 0; g < now->staying->n_gpus; g++)
		for (size_t b = 0; b < now->staying->queues[g].n; b++)
			if (now->staying->queues[g].batches[b].unknown)
				return false;
	return true;
}

int jobs_added_plan(const struct hes_policy *policy, const struct hes_request *r,
		    const struct hes_known *known, const struct hes_run_now *now,
		    struct hes_plan *out, struct hes_err *err)
{
	struct hes_request q = *r;
	const bool open = now->open && is_open(now->staying);

	q.running = now->running;
	q.n_running = now->n_running;
	q.now_us = now->now_us;
	if (open && all_known(&q, now))
		return plan_open(q, now, out, err);
	if (!policy)
		return hes_fail(err, -ENOTSUP, "the plan is that of a program, which plans once");
	return plan_behind(policy, q, known, now, open, out, err);
}
