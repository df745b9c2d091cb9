/*
 * profiler.c - one thread for each GPU; GPUs of one type share a list of sequences. See
 * heshare/profiler.h.
 */
#include "heshare/profiler.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "profile/session.h"

#define METER_PART 0.1 /* of a window, between two samples */

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

void profiling_report(struct profiling *all, const char *note)
{
	struct hes_profile_progress *t = &all->progress;

	pthread_mutex_lock(&all->lock);
	t->note = note;
	t->left_s = -1;
	if (all->result.measured && t->all >= t->points)
		t->left_s = (hes_monotonic_s() - all->start_s) / (double)all->result.measured *
			    (double)(t->all - t->points);
	if (all->p->report)
		all->p->report(all->p->ctx, t);
	pthread_mutex_unlock(&all->lock);
}

int profiling_keep(struct profiling *all, size_t at, const struct hes_points *p)
{
	static const struct hes_measured nothing;
	struct hes_profiling_cost cost = { 0 };

	hes_window_look_at(all->whole, at, &all->spent[at]);
	for (size_t i = 0; i < all->p->n_gpus; i++) {
		const struct hes_measured m = hes_measured_between(&nothing, &all->spent[i]);

		cost.gpu_s += m.seconds;
		if (m.seconds > 0)
			cost.energy_j += m.from == HES_ENERGY_UNKNOWN ? NAN : m.mean_w * m.seconds;
	}
	all->result.cost = cost;
	if (!all->rc)
		all->rc = all->p->keep(all->p->ctx, p, &cost, &all->err);
	return all->rc;
}

static int add_known(struct profiling *all, struct hes_err *err)
{
	const struct hes_points *known = all->p->known;

	for (size_t k = 0; known && k < all->p->n_types; k++) {
		const struct hes_gpu_type *g = all->p->sequences[k].type;

		for (size_t i = 0; i < known->n; i++)
			if (strcmp(known->v[i].gpu_type, g->name) == 0 &&
			    hes_hash_set_add(&all->seen, setting_of_point(g, &known->v[i])) < 0)
				return hes_fail(err, -ENOMEM,
						"out of memory for %zu rows of points", known->n);
	}
	return 0;
}

/* Count the points of a sequence that are missing and those that are known; each setting counts
 * once. */
static int count_sequence(const struct profiling *all, const struct hes_gpu_type *type,
			  const struct hes_sequence *t, struct hes_hash_set *counted,
			  size_t *missing, size_t *there)
{
	for (uint32_t i = 0; i < hes_sequence_stages(t); i++)
		for (size_t c = 0; c < (t->n_clocks ? t->n_clocks : 1); c++) {
			uint32_t mhz = t->n_clocks ? t->clocks_mhz[c] : type->clock_default_mhz;
			uint64_t setting = setting_of(all, type, t, hes_sequence_stage(t, i), mhz);
			bool known = hes_hash_set_has(&all->seen, setting);
			int rc;

			if (!all->clocks && setting_lock(type, mhz))
				continue;
			rc = hes_hash_set_add(counted, setting);
			if (rc < 0)
				return rc;
			*missing += rc && !known;
			*there += rc && known;
		}
	return 0;
}

int profiling_count(struct profiling *all, size_t *there)
{
	struct hes_hash_set counted = { 0 };
	size_t missing = 0;
	int rc = 0;

	*there = 0;
	for (size_t k = 0; k < all->p->n_types && !rc; k++)
		for (size_t i = 0; i < all->p->sequences[k].n && !rc; i++)
			rc = count_sequence(all, all->p->sequences[k].type,
					    &all->p->sequences[k].v[i], &counted, &missing, there);
	hes_hash_set_finish(&counted);
	if (!rc)
		all->progress.all = all->progress.points + missing;
	return rc;
}

int hes_profile_estimate(const struct hes_profiler *p, size_t type, struct hes_profile_work *out,
			 struct hes_err *err)
{
	const struct hes_sequences *sequences = &p->sequences[type];
	struct profiling all = { .p = p, .clocks = p->clocks };
	struct hes_profile_work w = { 0 };
	struct hes_hash_set counted = { 0 };
	int rc = add_known(&all, err);

	for (size_t i = 0; i < sequences->n && !rc; i++) {
		size_t before = w.points;

		rc = count_sequence(&all, sequences->type, &sequences->v[i], &counted, &w.points,
				    &w.known);
		w.starts += w.points > before ? sequences->v[i].n : 0;
		if (rc)
			hes_fail(err, rc, "out of memory for the points of %zu sequences",
				 sequences->n);
	}
	hes_hash_set_finish(&all.seen);
	hes_hash_set_finish(&counted);
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
		if (strcmp(all->p->sequences[k].type->name, info.type) == 0)
			s->work = &all->work[k];
	if (!s->work)
		return hes_fail(err, -EINVAL, "GPU %zu: no sequences for a %s", s->gpu,
				*info.type ? info.type : info.name);
	s->work->gpus++;
	s->type = s->work->sequences->type;
	return 0;
}

static void *run(void *session)
{
	session_run(session);
	return NULL;
}

/* Threads of the profiler take no signals of the program. */
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

static int make_lists(struct profiling *all, struct hes_err *err)
{
	bool enough;

	all->work = calloc(all->p->n_types + 1, sizeof(*all->work));
	all->facts = calloc(all->p->n_jobs + 1, sizeof(*all->facts));
	all->spent = calloc(all->p->n_gpus + 1, sizeof(*all->spent));
	enough = all->work && all->facts && all->spent;
	for (size_t i = 0; enough && i < all->p->n_jobs; i++)
		all->facts[i].memory_mib = all->p->jobs[i].memory_mib;
	for (size_t k = 0; enough && k < all->p->n_types; k++) {
		all->work[k].sequences = &all->p->sequences[k];
		all->work[k].taken = calloc(all->p->sequences[k].n + 1, sizeof(bool));
		enough = all->work[k].taken != NULL;
	}
	return enough ? 0 : hes_fail(err, -ENOMEM, "out of memory for lists of sequences");
}

static void free_lists(struct profiling *all)
{
	for (size_t k = 0; all->work && k < all->p->n_types; k++)
		free(all->work[k].taken);
	free(all->work);
	free(all->facts);
	free(all->spent);
}

static int profiling_prepare(struct profiling *all, struct session *s, struct hes_err *err)
{
	int rc = add_known(all, err);

	for (size_t i = 0; i < all->p->n_gpus && !rc; i++)
		rc = make_session(all, i, &s[i], err);
	if (!rc && profiling_count(all, &all->progress.known))
		rc = hes_fail(err, -ENOMEM, "out of memory for a list of points");
	all->result.known = all->progress.known;
	return rc;
}

int hes_profile_gpus(const struct hes_profiler *p, struct hes_profiled_result *out,
		     struct hes_err *err)
{
	struct profiling all = { .p = p,
				 .clocks = p->clocks,
				 .lock = PTHREAD_MUTEX_INITIALIZER,
				 .guard_lock = PTHREAD_MUTEX_INITIALIZER };
	struct session *s = calloc(p->n_gpus + 1, sizeof(*s));
	int rc = make_lists(&all, err);

	if (!s)
		rc = hes_fail(err, -ENOMEM, "out of memory for %zu GPUs", p->n_gpus);
	if (!rc)
		rc = profiling_prepare(&all, s, err);
	if (!rc && all.progress.all)
		rc = hes_guard_start(&all.guard, p->guard, p->folder, NULL, err);
	for (size_t i = 0; !rc && all.progress.all && i < p->n_gpus; i++)
		rc = hes_guard_claim(all.guard, s[i].uuid, err);
	if (!rc && all.progress.all)
		rc = hes_meter_start_every(&all.meter, p->devices, p->gpus, p->n_gpus,
					   METER_PART * p->timing.window_s, err);
	if (!rc && all.progress.all)
		rc = hes_window_begin(all.meter, &all.whole, err);
	if (!rc && all.progress.all)
		rc = run_sessions(&all, s, err);
	hes_meter_stop(all.meter);
	if (all.guard) {
		int undone = hes_guard_finish(all.guard, rc ? NULL : err);

		rc = rc ? rc : undone;
	}
	all.result.left =
		all.progress.all > all.progress.points ? all.progress.all - all.progress.points : 0;
	hes_hash_set_finish(&all.seen);
	free_lists(&all);
	free(s);
	if (!rc)
		*out = all.result;
	return rc;
}
