/*
 * run_samples.c - samples from a run: the time of an iteration and the power of the GPU in each
 * segment; see
 * run_samples.h.
 *
 * A sample needs the progress of its job and profiles of all jobs of the segment. It has the power
 * of the co-runners without the job, so there must be another segment with only them.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"
#include "core/co_run_text.h"
#include "run/run_samples.h"

#define LEAST_US         60000000 /* of progress: output is read every second */
#define LEAST_S          30       /* of power */
#define TRIED_SE         0.01     /* standard error of the rate there */
#define TRIED_S          5        /* of both, in an experiment with lines that have their time */
#define POWER_OVER_CLOCK 2        /* dynamic power grows as the clock to this power */
#define LEARN_US         60000000 /* between two looks for samples */

static bool profile_of(const struct run_samples *s, const struct run_gpu *g,
		       const struct run_task *task, struct hes_profile *out)
{
	const struct hes_job *job = task->job;
	const char *type = g->planned->type->name;

	return (s->profiles &&
		!hes_profile_find(s->profiles, job->workload, job->batch_size, type, out, NULL)) ||
	       !hes_profile_find(&s->own, job->workload, job->batch_size, type, out, NULL);
}

void run_samples_know(struct run_samples *s, const struct hes_point *p)
{
	struct hes_profile *v = s->own.v, new;
	size_t i = 0;

	if (p->clock_mhz || !hes_point_profile(p, &new))
		return;
	while (i < s->own.n &&
	       (v[i].batch_size != p->batch_size || strcmp(v[i].workload, p->workload) ||
		strcmp(v[i].gpu_type, p->gpu_type)))
		i++;
	if (i == s->own.n)
		v = hes_grow(v, i, sizeof(*v));
	if (!v)
		return;
	s->own.v = v;
	s->own.n += i == s->own.n;
	v[i] = new;
	hes_profiles_sort(&s->own);
}

static bool segment_has(const struct run_segment *s, const struct run_task *task)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->rates[i].task == task)
			return true;
	return false;
}

/* Experiments (job_clock.c, job_set.c) take some seconds only. */
static bool is_short(const struct run_segment *s)
{
	bool timed = s->tried;

	for (uint32_t i = 0; i < s->n; i++)
		timed &= !isnan(s->rates[i].first_s);
	return timed;
}

/* A job without progress may not have begun, or may have ended unnoticed. */
static bool is_metered(const struct run_segment *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (!s->rates[i].seen)
			return false;
	return s->has_energy && s->seconds >= (is_short(s) ? TRIED_S : LEAST_S);
}

/* Power with all jobs of @s but @task at the same clock. @return whether it was measured */
static bool power_without(const struct run_samples *of, const struct run_gpu *g,
			  const struct run_segment *s, const struct run_task *task,
			  uint32_t *out_mw)
{
	const double idle_mw = g->planned->type->idle_power_mw,
		     clock = (double)hes_gpu_type_clock(g->planned->type, s->clock_mhz) /
			     g->planned->type->clock_default_mhz;
	struct hes_profile other;

	if (s->n == 1) {
		*out_mw = g->planned->type->idle_power_mw;
		return true;
	}
	for (size_t i = 0; i < g->energy.n_segments; i++) {
		const struct run_segment *o = &g->energy.segments[i];
		bool same = o->n == s->n - 1 && o->clock_mhz == s->clock_mhz && is_metered(o);

		for (uint32_t k = 0; same && k < s->n; k++)
			same = s->rates[k].task == task || segment_has(o, s->rates[k].task);
		if (!same)
			continue;
		*out_mw = (uint32_t)(o->energy_j / o->seconds * 1e3 + 0.5);
		return true;
	}
	/* Of a pair that is tried, the other was measured alone before. */
	if (!s->tried || s->n != 2 ||
	    !profile_of(of, g, s->rates[s->rates[0].task == task].task, &other))
		return false;
	*out_mw = (uint32_t)(idle_mw + (other.power_mw - idle_mw) * pow(clock, POWER_OVER_CLOCK));
	return true;
}

static bool make_sample(const struct run_samples *of, const struct run_gpu *g,
			const struct run_segment *s, const struct run_rate *p,
			struct hes_sample *out)
{
	uint32_t mhz = hes_gpu_type_clock(g->planned->type, s->clock_mhz);
	char jobs[HES_MAX_SHARING][HES_CO_RUN_JOB_MAX];
	struct hes_sample x = { .clock_mhz = s->clock_mhz };
	size_t n = 0;

	/* What the lines of a job without iterations count is not that of its profile. */
	if (p->task->job->whole_run || !p->seen ||
	    run_rate_us(p) < (is_short(s) ? TRIED_S * 1e6 : LEAST_US) || p->last <= p->first ||
	    !is_metered(s) || !profile_of(of, g, p->task, &x.task))
		return false;
	for (uint32_t i = 0; i < s->n; i++) {
		const struct run_task *t = s->rates[i].task;
		uint32_t sm_pct = t->place->sm_pct;
		struct hes_profile solo;

		if (s->rates[i].task == p->task) {
			x.sm_pct = sm_pct;
			continue;
		}
		if (!profile_of(of, g, s->rates[i].task, &solo))
			return false;
		hes_load_add(&x.co_runners, g->planned->type, &solo, sm_pct, mhz);
		hes_co_run_text_job(jobs[n++], solo.workload, solo.batch_size, sm_pct);
	}
	hes_co_run_text_put(&x, jobs, n);
	if (!power_without(of, g, s, p->task, &x.co_runners.power_mw))
		return false;
	x.time_se = is_short(s) ? TRIED_SE : 0;
	x.iteration_us = run_rate_us(p) / (double)(p->last - p->first);
	x.power_mw = (uint32_t)(s->energy_j / s->seconds * 1e3 + 0.5);
	*out = x;
	return true;
}

static int samples_add(struct hes_samples *out, const struct hes_sample *s, struct hes_err *err)
{
	struct hes_sample *v = hes_grow(out->v, out->n, sizeof(*v));

	if (!v)
		return hes_fail(err, -ENOMEM, "out of memory for %zu samples", out->n);
	out->v = v;
	out->v[out->n++] = *s;
	return 0;
}

/* Segments that have ended. One may lack the power without a job, or a profile, that a later one
 * brings. */
static int learn_gpu(struct run_samples *of, struct run_gpu *g, struct hes_err *err)
{
	int rc = 0;

	/* A sample would be taken for one at the GPU's own clock. Without MPS jobs take turns: no
	 * shares to learn of. */
	if (g->lock.foreign || (g->mps.wanted && g->mps.refused))
		return 0;
	for (size_t k = 0; k < g->energy.n_segments; k++) {
		struct run_segment *s = &g->energy.segments[k];
		struct hes_sample x;

		for (uint32_t j = 0; j < s->n && !rc; j++) {
			if (s->rates[j].learnt || !make_sample(of, g, s, &s->rates[j], &x))
				continue;
			rc = samples_add(&of->v, &x, err);
			s->rates[j].learnt = !rc;
		}
	}
	return rc;
}

int run_deliver(struct run_samples *s, struct hes_delivery *d, struct hes_err *err)
{
	char name[HES_STORE_ORIGIN_NAME], driver[HES_DRIVER_MAX];
	const char *file = strrchr(s->log->run->plan, '/');
	struct hes_delivered done;
	int rc;

	hes_devices_driver(s->gpus->devices, driver);
	snprintf(name, sizeof(name), "run %" PRId64 " of %.150s, driver %s", s->log->run->id,
		 file ? file + 1 : s->log->run->plan, driver);
	d->source = HES_SOURCE_MEASURED;
	d->at_us = hes_wall_us();
	d->name = name;
	d->into = s->origin;
	rc = hes_store_add(s->store, d, &done, err);
	/* Somebody may have removed that delivery. */
	if (rc == -EINVAL && d->into) {
		d->into = s->origin = 0;
		rc = hes_store_add(s->store, d, &done, err);
	}
	if (!rc && done.origin)
		s->origin = done.origin;
	if (rc != -EINVAL && rc != -ERANGE && rc != -EEXIST)
		return rc;
	run_tell(s->log, "what was measured is not kept: %s", err->msg);
	return 0;
}

int run_learn(struct run_samples *s, struct hes_err *err)
{
	struct hes_samples new;
	struct hes_delivery d = { .samples = &new };
	int rc = 0;

	s->look_us = run_now_us(s->log->clock) + LEARN_US;
	for (size_t i = 0; i < s->gpus->n && !rc; i++)
		rc = learn_gpu(s, &s->gpus->v[i], err);
	if (rc || s->v.n == s->kept || !s->store)
		return rc;
	new = (struct hes_samples){ .v = s->v.v + s->kept, .n = s->v.n - s->kept };
	rc = run_deliver(s, &d, err);
	s->kept = rc ? s->kept : s->v.n;
	return rc;
}
