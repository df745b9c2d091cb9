/*
 * profiler.c - a thread a GPU, all of one type taking from one list of towers; see heshare/profiler.h.
 */
#include "heshare/profiler.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "profile/session.h"

#define METER_PART 0.1  /* of a window, between two looks at the sensors */

bool profiling_stopped(struct profiling *all)
{
	bool stopped = all->p->stop && all->p->stop(all->p->ctx);

	if (stopped) {
		pthread_mutex_lock(&all->lock);
		all->result.stopped = true;
		pthread_mutex_unlock(&all->lock);
	}
	return stopped;
}

void profiling_tell(struct profiling *all, const char *note)
{
	struct hes_profiler_told *t = &all->told;

	pthread_mutex_lock(&all->lock);
	t->note = note;
	t->left_s = -1;
	if (all->result.measured && t->all >= t->points)
		t->left_s = (hes_monotonic_s() - all->start_s) / (double)all->result.measured * (double)(t->all - t->points);
	if (all->p->tell)
		all->p->tell(all->p->ctx, t);
	pthread_mutex_unlock(&all->lock);
}

static int know(struct profiling *all, struct hes_err *err)
{
	const struct hes_points *known = all->p->known;

	for (size_t i = 0; known && i < known->n; i++)
		if (settings_add(&all->seen, setting_of_point(&known->v[i])) < 0)
			return hes_fail(err, -ENOMEM, "out of memory for %zu rows of points", known->n);
	return 0;
}

/* Points of a tower that are not there yet, and that are, each counted once. */
static int count_tower(const struct profiling *all, const struct hes_gpu_type *type, const struct hes_tower *t,
		       struct settings *counted, size_t *missing, size_t *there)
{
	for (uint32_t i = 0; i < hes_tower_stages(t); i++)
		for (size_t c = 0; c < (t->n_clocks ? t->n_clocks : 1); c++) {
			uint32_t mhz = t->n_clocks ? t->clocks_mhz[c] : type->clock_default_mhz;
			uint64_t setting = setting_of(all, type, t, hes_tower_stage(t, i), mhz);
			bool known = settings_has(&all->seen, setting);
			int rc;

			if (!all->clocks && mhz != type->clock_default_mhz)
				continue;
			rc = settings_add(counted, setting);
			if (rc < 0)
				return rc;
			*missing += rc && !known;
			*there += rc && known;
		}
	return 0;
}

int profiling_count(struct profiling *all, size_t *there)
{
	struct settings counted = { 0 };
	size_t missing = 0;
	int rc = 0;

	*there = 0;
	for (size_t k = 0; k < all->p->n_types && !rc; k++)
		for (size_t i = 0; i < all->p->towers[k].n && !rc; i++)
			rc = count_tower(all, all->p->towers[k].type, &all->p->towers[k].v[i], &counted, &missing, there);
	free(counted.v);
	if (!rc)
		all->told.all = all->told.points + missing;
	return rc;
}

int hes_profile_foresee(const struct hes_profiler *p, size_t type, struct hes_profile_work *out, struct hes_err *err)
{
	const struct hes_towers *towers = &p->towers[type];
	struct profiling all = { .p = p, .clocks = p->clocks };
	struct hes_profile_work w = { 0 };
	struct settings counted = { 0 };
	int rc = know(&all, err);

	for (size_t i = 0; i < towers->n && !rc; i++) {
		size_t before = w.points;

		rc = count_tower(&all, towers->type, &towers->v[i], &counted, &w.points, &w.known);
		w.starts += w.points > before ? towers->v[i].n : 0;
		if (rc)
			hes_fail(err, rc, "out of memory for the points of %zu towers", towers->n);
	}
	free(all.seen.v);
	free(counted.v);
	if (!rc)
		*out = w;
	return rc;
}

static int make_session(struct profiling *all, size_t at, struct session *s, struct hes_err *err)
{
	struct hes_device_info info;
	int rc = hes_device_info(all->p->devices, all->p->gpus[at], &info, err);

	if (rc)
		return rc;
	*s = (struct session){ .all = all, .gpu = all->p->gpus[at], .at = at };
	snprintf(s->uuid, sizeof(s->uuid), "%s", info.uuid);
	for (size_t k = 0; k < all->p->n_types && !s->work; k++)
		if (strcmp(all->p->towers[k].type->name, info.type) == 0)
			s->work = &all->work[k];
	if (!s->work)
		return hes_fail(err, -EINVAL, "GPU %zu: no towers for a %s", s->gpu, *info.type ? info.type : info.name);
	s->type = s->work->towers->type;
	return 0;
}

static void *run(void *session)
{
	session_run(session);
	return NULL;
}

/* Signals are for the program's own thread. */
static int start_thread(struct session *s, struct hes_err *err)
{
	sigset_t everything, before;
	int rc;

	sigfillset(&everything);
	pthread_sigmask(SIG_SETMASK, &everything, &before);
	rc = pthread_create(&s->thread, NULL, run, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc ? hes_fail(err, -rc, "no thread for GPU %zu: %s", s->gpu, strerror(rc)) : 0;
}

static int run_sessions(struct profiling *all, struct session *s, struct hes_err *err)
{
	size_t started = 0;
	int rc = 0;

	all->start_s = hes_monotonic_s();
	for (size_t i = 0; i < all->p->n_gpus && !rc; i++) {
		rc = start_thread(&s[i], err);
		started += !rc;
	}
	for (size_t i = 0; i < started; i++)
		pthread_join(s[i].thread, NULL);
	if (!rc && all->rc) {
		rc = all->rc;
		if (err)
			*err = all->err;
	}
	return rc;
}

static int prepare(struct profiling *all, struct session *s, struct hes_err *err)
{
	int rc = know(all, err);

	for (size_t k = 0; k < all->p->n_types; k++)
		all->work[k].towers = &all->p->towers[k];
	for (size_t i = 0; i < all->p->n_gpus && !rc; i++)
		rc = make_session(all, i, &s[i], err);
	if (!rc && profiling_count(all, &all->told.known))
		rc = hes_fail(err, -ENOMEM, "out of memory for a list of points");
	all->result.known = all->told.known;
	return rc;
}

int hes_profile_gpus(const struct hes_profiler *p, struct hes_profiled_result *out, struct hes_err *err)
{
	struct profiling all = { .p = p, .clocks = p->clocks, .lock = PTHREAD_MUTEX_INITIALIZER,
				 .guard_lock = PTHREAD_MUTEX_INITIALIZER };
	struct session *s = calloc(p->n_gpus + 1, sizeof(*s));
	int rc = 0;

	all.work = calloc(p->n_types + 1, sizeof(*all.work));
	if (!s || !all.work)
		rc = hes_fail(err, -ENOMEM, "out of memory for %zu GPUs", p->n_gpus);
	if (!rc)
		rc = prepare(&all, s, err);
	if (!rc && all.told.all)
		rc = hes_guard_start(&all.guard, p->guard, p->folder, NULL, err);
	for (size_t i = 0; !rc && all.told.all && i < p->n_gpus; i++)
		rc = hes_guard_claim(all.guard, s[i].uuid, err);
	if (!rc && all.told.all)
		rc = hes_meter_start_every(&all.meter, p->devices, p->gpus, p->n_gpus, METER_PART * p->manner.window_s, err);
	if (!rc && all.told.all)
		rc = run_sessions(&all, s, err);
	hes_meter_stop(all.meter);
	if (all.guard) {
		int undone = hes_guard_finish(all.guard, rc ? NULL : err);

		rc = rc ? rc : undone;
	}
	all.result.left = all.told.all > all.told.points ? all.told.all - all.told.points : 0;
	free(all.seen.v);
	free(all.work);
	free(s);
	if (!rc)
		*out = all.result;
	return rc;
}
