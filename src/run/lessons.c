/*
 * lessons.c - what a run teaches: for stretches with the same jobs and clock, how long an iteration of a job took
 * and what the board drew; see runner.h and heshare/profile.h.
 *
 * A job must have told its progress, every resident be profiled, and the board have run without the job too: the
 * power of the neighbours alone is part of a sample.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/co_run_text.h"
#include "run/runner.h"

#define LEAST_US 60000000    /* of progress: lines are looked at every RUN_LOOK_US */
#define LEAST_S  30          /* of power */

static const struct hes_gpu_type *type_of(const struct runner *r, const struct run_board *b)
{
	return r->q->fleet->gpus[b->gpu].type;
}

static bool profile_of(const struct runner *r, const struct run_board *b, uint32_t task, struct hes_profile *out)
{
	const struct hes_job *job = r->tasks[task].job;

	return !hes_profile_find(r->q->profiles, job->workload, job->batch_size, type_of(r, b)->name, out, NULL);
}

static bool resides(const struct run_segment *s, uint32_t task)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->paces[i].task == task)
			return true;
	return false;
}

/* Somebody who tells of nothing may not have begun, or be at an end that nobody knows of yet. */
static bool metered(const struct run_segment *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (!s->paces[i].seen)
			return false;
	return s->has_energy && s->seconds >= LEAST_S;
}

/* The board's power with all of @s but @task at the same clock. @return whether that was seen */
static bool power_without(const struct runner *r, const struct run_board *b, const struct run_segment *s, uint32_t task,
			  uint32_t *out_mw)
{
	if (s->n == 1) {
		*out_mw = type_of(r, b)->idle_power_mw;
		return true;
	}
	for (size_t i = 0; i < b->n_segments; i++) {
		const struct run_segment *o = &b->segments[i];
		bool same = o->n == s->n - 1 && o->clock_mhz == s->clock_mhz && metered(o);

		for (uint32_t k = 0; same && k < s->n; k++)
			same = s->paces[k].task == task || resides(o, s->paces[k].task);
		if (!same)
			continue;
		*out_mw = (uint32_t)(o->energy_j / o->seconds * 1e3 + 0.5);
		return true;
	}
	return false;
}

static bool make(const struct runner *r, const struct run_board *b, const struct run_segment *s, const struct run_pace *p,
		 struct hes_sample *out)
{
	uint32_t mhz = s->clock_mhz ? s->clock_mhz : type_of(r, b)->clock_default_mhz;
	char jobs[HES_MAX_SHARING][HES_CO_RUN_JOB_MAX];
	struct hes_sample x = { .clock_mhz = mhz };
	size_t n = 0;

	if (!p->seen || p->last_us - p->first_us < LEAST_US || p->last <= p->first || !metered(s) ||
	    !profile_of(r, b, p->task, &x.task))
		return false;
	for (uint32_t i = 0; i < s->n; i++) {
		const struct run_task *t = &r->tasks[s->paces[i].task];
		uint32_t sm_pct = b->queue.v[t->place].sm_pct;
		struct hes_profile solo;

		if (s->paces[i].task == p->task) {
			x.sm_pct = sm_pct;
			continue;
		}
		if (!profile_of(r, b, s->paces[i].task, &solo))
			return false;
		hes_load_add(&x.co_runners, type_of(r, b), &solo, sm_pct, mhz);
		hes_co_run_text_job(jobs[n++], solo.workload, solo.batch_size, sm_pct);
	}
	hes_co_run_text_put(&x, jobs, n);
	if (!power_without(r, b, s, p->task, &x.co_runners.power_mw))
		return false;
	x.iteration_us = (double)(p->last_us - p->first_us) / (double)(p->last - p->first);
	x.power_mw = (uint32_t)(s->energy_j / s->seconds * 1e3 + 0.5);
	*out = x;
	return true;
}

static int add(struct hes_samples *out, size_t *room, const struct hes_sample *s, struct hes_err *err)
{
	if (out->n == *room) {
		size_t more = *room ? 2 * *room : 64;
		struct hes_sample *v = reallocarray(out->v, more, sizeof(*v));

		if (!v)
			return hes_fail(err, -ENOMEM, "out of memory for %zu samples", more);
		out->v = v;
		*room = more;
	}
	out->v[out->n++] = *s;
	return 0;
}

int run_samples(const struct runner *r, struct hes_samples *out, struct hes_err *err)
{
	struct hes_samples samples = { 0 };
	size_t room = 0;
	int rc = 0;

	for (size_t i = 0; r->q->profiles && i < r->n_boards; i++) {
		const struct run_board *b = &r->boards[i];

		/* Without MPS jobs take turns: no shares to learn of. */
		for (size_t k = 0; k < b->n_segments && !(b->shares && b->mps_refused); k++) {
			const struct run_segment *s = &b->segments[k];
			struct hes_sample x;

			for (uint32_t j = 0; j < s->n && !rc; j++)
				if (make(r, b, s, &s->paces[j], &x))
					rc = add(&samples, &room, &x, err);
		}
	}
	if (rc)
		hes_samples_free(&samples);
	else
		*out = samples;
	return rc;
}
