/*
 * session.c - profile one GPU: its MPS daemon, its clock, its sequences of jobs. See session.h.
 */
#include "profile/session.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/plural.h"

#define GRACE_S  1    /* for an MPS daemon to end */
#define CAPPED   0.05 /* of the time */
#define FAILURES 3    /* starts of a job alone that end in the same way, before any progress */

static void session_quiet(struct session *s, double seconds)
{
	s->quiet_s = fmax(s->quiet_s, hes_monotonic_s() + seconds);
}

/* If unlocking fails locked_mhz stays set, so that no point is measured as if nothing was locked.
 */
static int session_unlock(struct session *s, struct hes_err *err)
{
	int rc = 0;

	if (s->locked_mhz) {
		pthread_mutex_lock(&s->all->guard_lock);
		rc = hes_guard_unlock_clock(s->all->guard, s->all->p->devices, s->gpu, err);
		pthread_mutex_unlock(&s->all->guard_lock);
	}
	if (!rc && s->locked_mhz)
		session_quiet(s, s->all->p->timing.settle_s);
	if (!rc)
		s->locked_mhz = 0;
	return rc;
}

/* @param mhz  0: none. @return 0; -EPERM, -ENOTSUP clocks cannot be locked */
static int set_clock(struct session *s, uint32_t mhz, struct hes_err *err)
{
	int rc;

	if (!mhz)
		return session_unlock(s, err);
	if (mhz == s->locked_mhz)
		return 0;
	pthread_mutex_lock(&s->all->guard_lock);
	rc = hes_guard_lock_clock(s->all->guard, s->all->p->devices, s->gpu, mhz, err);
	pthread_mutex_unlock(&s->all->guard_lock);
	if (!rc) {
		s->locked_mhz = mhz;
		session_quiet(s, s->all->p->timing.settle_s);
	}
	return rc;
}

static void refuse_clocks(struct session *s, const struct hes_err *why)
{
	char note[HES_ERR_MAX + 80];
	size_t there;
	bool first;

	pthread_mutex_lock(&s->all->lock);
	first = s->all->clocks;
	s->all->clocks = false;
	s->all->result.clocks_refused = true;
	if (first)
		profiling_count(s->all, &there);
	pthread_mutex_unlock(&s->all->lock);
	snprintf(note, sizeof(note), "%s: measuring only the default clock", why->msg);
	if (first)
		profiling_report(s->all, note);
}

static void end_mps(struct session *s)
{
	if (s->has_mps) {
		pthread_mutex_lock(&s->all->guard_lock);
		hes_guard_mps_quit(s->all->guard, &s->mps, GRACE_S, NULL);
		pthread_mutex_unlock(&s->all->guard_lock);
	}
	s->has_mps = false;
	s->host.mps = NULL;
}

static int start_mps(struct session *s, struct hes_err *err)
{
	char dir[HES_MPS_PATH_MAX];
	int rc;

	/* Socket names must be short: use the index, not the UUID. */
	if (snprintf(dir, sizeof(dir), "%s/%zu", s->all->p->folder, s->gpu) >= (int)sizeof(dir))
		return hes_fail(err, -ENAMETOOLONG, "%s: the name is too long for MPS",
				s->all->p->folder);
	rc = hes_folder_create(dir, err);
	if (rc)
		return rc;
	pthread_mutex_lock(&s->all->guard_lock);
	rc = hes_guard_mps_start(s->all->guard, &s->mps, s->uuid, dir, err);
	pthread_mutex_unlock(&s->all->guard_lock);
	s->has_mps = !rc;
	s->host.mps = rc ? NULL : &s->mps;
	return rc;
}

/* End all jobs and unlock the clock. @return 0; -EBUSY a job cannot be killed */
static int session_clear(struct session *s, struct hes_err *err)
{
	int rc = pool_end(s, err);

	session_unlock(s, NULL);
	return rc;
}

/* Whether a point is left to measure. */
static bool is_left(struct session *s, const struct hes_gpu_type *type,
		    const struct hes_sequence *t, struct hes_stage stage, uint32_t mhz)
{
	bool left;

	pthread_mutex_lock(&s->all->lock);
	left = !hes_hash_set_has(&s->all->seen, setting_of(s->all, type, t, stage, mhz)) &&
	       (s->all->clocks || !setting_lock(type, mhz));
	pthread_mutex_unlock(&s->all->lock);
	return left;
}

static size_t clocks_of(const struct hes_gpu_type *type, const struct hes_sequence *t,
			const uint32_t **out)
{
	*out = t->n_clocks ? t->clocks_mhz : &type->clock_default_mhz;
	return t->n_clocks ? t->n_clocks : 1;
}

/* @return the last stage with a point to measure; -1: none */
static long last_left(struct session *s, const struct hes_sequence *t)
{
	const uint32_t *clocks;
	size_t n = clocks_of(s->type, t, &clocks);

	for (uint32_t i = hes_sequence_stages(t); i-- > 0;)
		for (size_t c = 0; c < n; c++)
			if (is_left(s, s->type, t, hes_sequence_stage(t, i), clocks[c]))
				return i;
	return -1;
}

static int session_keep(struct session *s, const struct hes_sequence *t, struct hes_stage stage,
			uint32_t mhz, struct hes_point *rows, bool sure)
{
	struct profiling *all = s->all;
	const struct hes_points points = { rows, s->n };
	uint64_t setting = setting_of(all, s->type, t, stage, mhz);
	int rc = 0;

	pthread_mutex_lock(&all->lock);
	if (!profiling_keep(all, s->at, &points))
		all->rc = hes_hash_set_add(&all->seen, setting) < 0
				  ? hes_fail(&all->err, -ENOMEM, "out of memory")
				  : 0;
	rc = all->rc;
	if (!rc) {
		all->progress.points++;
		all->result.measured++;
		all->result.uncertain += !sure;
	}
	pthread_mutex_unlock(&all->lock);
	if (!rc)
		profiling_report(all, NULL);
	return rc;
}

/* Say once that the GPU does not hold the clock that is locked. */
static void report_missed(struct session *s, const struct hes_point *row)
{
	char note[240];
	int n;

	if (s->missed || !row->clock_mhz ||
	    !(fabs(row->held_mhz - row->clock_mhz) > HES_CLOCK_MISSED * row->clock_mhz))
		return;
	s->missed = true;
	n = snprintf(note, sizeof(note),
		     "GPU %zu does not hold its clock: %u MHz were set, it held %.0f MHz", s->gpu,
		     row->clock_mhz, row->held_mhz);
	if (row->capped >= CAPPED)
		snprintf(note + n, sizeof(note) - (size_t)n, ", held down by power or heat");
	else
		snprintf(note + n, sizeof(note) - (size_t)n, " and does not say why");
	profiling_report(s->all, note);
}

/* Measure a stage at every clock that is left. @return 0; 1 stopped; -errno */
static int measure_stage(struct session *s, const struct hes_sequence *t, struct hes_stage stage,
			 struct hes_err *err)
{
	struct hes_point rows[HES_MAX_SHARING];
	const uint32_t *clocks;
	size_t n = clocks_of(s->type, t, &clocks);
	int rc = 0;

	for (size_t c = 0; c < n && !rc; c++) {
		const uint32_t lock_mhz = setting_lock(s->type, clocks[c]);
		bool sure;

		if (!is_left(s, s->type, t, stage, clocks[c]))
			continue;
		/* Jobs start at the default clock. */
		rc = lock_mhz ? session_await_starts(s, err) : 0;
		if (!rc)
			rc = set_clock(s, lock_mhz, err);
		if (rc == -EPERM || rc == -ENOTSUP) {
			refuse_clocks(s, err);
			rc = 0;
			continue;
		}
		if (!rc)
			rc = session_measure(s, lock_mhz, rows, &sure, err);
		if (!rc)
			report_missed(s, &rows[0]);
		if (!rc)
			rc = session_keep(s, t, stage, clocks[c], rows, sure) ? 1 : 0;
	}
	return rc;
}

/* One more job joins: it goes on or starts. Wait until it has made progress and is warm. */
static int join_job(struct session *s, const struct hes_sequence *t, uint32_t at,
		    struct hes_err *err)
{
	const struct hes_profile_timing *m = &s->all->p->timing;
	struct lane *l;
	int rc = pool_join(s, t, at, err);

	if (rc)
		return rc;
	l = s->lanes[s->n - 1];
	rc = session_wait(s, 0, l->job->iterations || l->was_stopped ? 1 : 2, err);
	pthread_mutex_lock(&s->all->lock);
	s->all->facts[l->job - s->all->p->jobs].works |= !rc;
	pthread_mutex_unlock(&s->all->lock);
	session_quiet(s, l->warm ? m->settle_s : m->warm_up_s);
	return rc;
}

/* Leave out the points of a sequence that are missing. @return how many */
static size_t leave_out(struct session *s, const struct hes_gpu_type *type,
			const struct hes_sequence *t)
{
	const uint32_t *clocks;
	size_t n = clocks_of(type, t, &clocks), failed = 0;

	for (uint32_t i = 0; i < hes_sequence_stages(t); i++)
		for (size_t c = 0; c < n; c++)
			if (is_left(s, type, t, hes_sequence_stage(t, i), clocks[c])) {
				pthread_mutex_lock(&s->all->lock);
				/* Other sequences must not try this point again. */
				hes_hash_set_add(&s->all->seen,
						 setting_of(s->all, type, t,
							    hes_sequence_stage(t, i), clocks[c]));
				pthread_mutex_unlock(&s->all->lock);
				failed++;
			}
	return failed;
}

static bool has_job(const struct hes_sequence *t, size_t job)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (t->jobs[i].job == job)
			return true;
	return false;
}

/* A job that no other start will help fails in all its sequences. */
static size_t leave_out_job(struct session *s, const struct lane *broken)
{
	const size_t job = (size_t)(broken->job - s->all->p->jobs);
	size_t failed = 0;

	for (size_t k = 0; k < s->all->p->n_types; k++) {
		const struct hes_sequences *of = &s->all->p->sequences[k];

		/* On another type of GPU a command that can be run may work. */
		for (size_t i = 0; i < of->n && (broken->broken || of->type == s->type); i++)
			if (has_job(&of->v[i], job))
				failed += leave_out(s, of->type, &of->v[i]);
	}
	return failed;
}

static void count_failed(struct session *s, const struct hes_sequence *t, const struct lane *broken,
			 const struct hes_err *err)
{
	char note[HES_ERR_MAX + 160];
	size_t failed = broken ? leave_out_job(s, broken) : leave_out(s, s->type, t);

	pthread_mutex_lock(&s->all->lock);
	for (uint32_t i = 0; i < t->n; i++)
		s->all->facts[t->jobs[i].job].fails_ahead = true;
	s->all->result.failed += failed;
	s->all->progress.failed += failed;
	s->all->progress.points += failed;
	pthread_mutex_unlock(&s->all->lock);
	snprintf(note, sizeof(note), "GPU %zu: %s%s; left out: %zu point%s", s->gpu, err->msg,
		 broken && !broken->broken ? ", as each time before: it is not started again" : "",
		 failed, hes_s(failed));
	if (failed)
		profiling_report(s->all, note);
}

static int run_stages(struct session *s, const struct hes_sequence *t, uint32_t last,
		      struct hes_err *err)
{
	int rc = 0;

	rc = pool_prepare(s, t, err);
	for (uint32_t i = 0; i <= last && !rc; i++) {
		rc = session_unlock(s, err);
		if (!rc && i < t->n) {
			rc = join_job(s, t, i, err);
		} else if (!rc) {
			rc = pool_leave_first(s, err);
			session_quiet(s, s->all->p->timing.settle_s);
		}
		if (!rc)
			rc = measure_stage(s, t, hes_sequence_stage(t, i), err);
	}
	while (!rc && s->n)
		rc = pool_leave_first(s, err);
	return rc;
}

/* After a failure the MPS server may hang: start a new daemon. */
static int session_recover(struct session *s, struct hes_err *err)
{
	if (!s->has_mps)
		return 0;
	end_mps(s);
	return start_mps(s, err);
}

static bool is_lost(const struct session *s)
{
	struct hes_reading r;

	return hes_device_read(s->all->p->devices, s->gpu, HES_HAS_POWER, &r, NULL) == -ENODEV;
}

/* A process of a sequence that no other start will help. @return NULL: none */
static const struct lane *find_broken(const struct session *s, const struct hes_sequence *t)
{
	for (size_t k = 0; k < SESSION_POOL; k++) {
		const struct lane *l = &s->pool[k];

		if (l->state != LANE_NONE && l->broken &&
		    has_job(t, (size_t)(l->job - s->all->p->jobs)))
			return l;
	}
	return NULL;
}

/* A job that has failed alone, in its first starts and always in the same way. What kills jobs from
 * outside does not count. @return NULL: none */
static const struct lane *find_failing(struct session *s)
{
	const struct lane *l = s->n == 1 && !pool_waiting(s) ? s->lanes[0] : NULL;
	bool works;

	if (!l || !l->status || l->status == 128 + SIGKILL || l->status == 128 + SIGTERM)
		return NULL;
	pthread_mutex_lock(&s->all->lock);
	works = s->all->facts[l->job - s->all->p->jobs].works;
	pthread_mutex_unlock(&s->all->lock);
	if (s->failing != l->job || s->failing_status != l->status)
		s->failures = 0;
	s->failing = l->job;
	s->failing_status = l->status;
	return ++s->failures >= FAILURES && !works ? l : NULL;
}

/*
 * A sequence has failed while other processes waited or started: they may be the cause. It runs
 * once more, alone. If jobs make progress then, and did not before, processes that are stopped hold
 * up others here: from now on none is.
 */
static int run_again_alone(struct session *s, const struct hes_sequence *t, uint32_t last,
			   struct hes_err *err)
{
	char note[HES_ERR_MAX + 120];
	const bool stood = err->code == -ETIME;
	int rc = session_clear(s, err);

	if (!rc)
		rc = session_recover(s, err);
	if (rc)
		return rc;
	s->alone = true;
	snprintf(note, sizeof(note),
		 "GPU %zu: %.400s; from here on no process starts ahead or is "
		 "stopped",
		 s->gpu, err->msg);
	rc = run_stages(s, t, last, err);
	s->alone = (stood && !rc) || !s->has_mps;
	if (stood && !rc)
		profiling_report(s->all, note);
	return rc;
}

/* @return 0 go on; 1 stopped; -errno the GPU cannot be used any more */
static int run_sequence(struct session *s, const struct hes_sequence *t, struct hes_err *err)
{
	long last = last_left(s, t);
	const struct lane *broken;
	struct hes_err why;
	int rc;

	if (last < 0)
		return 0;
	rc = run_stages(s, t, (uint32_t)last, err);
	if (rc < 0 && rc != -ENODEV && !is_lost(s) && pool_waiting(s) &&
	    (rc != -ECHILD || !find_broken(s, t)))
		rc = run_again_alone(s, t, (uint32_t)last, err);
	if (rc >= 0)
		return rc;
	broken = find_broken(s, t);
	broken = broken ? broken : find_failing(s);
	if (session_clear(s, &why)) {
		*err = why;
		return -EBUSY;
	}
	/* The points stay for other GPUs of the type, or for another run. */
	if (rc == -ENODEV || is_lost(s))
		return rc;
	count_failed(s, t, broken, err);
	return session_recover(s, err);
}

/* Shares below 100 % and co-runners need MPS. */
static bool is_possible(const struct session *s, const struct hes_sequence *t)
{
	return s->has_mps || (t->n == 1 && t->jobs[0].sm_pct == 100);
}

/* @return NULL: none is left that this GPU can run, or the profile has failed */
static const struct hes_sequence *take_sequence(struct session *s)
{
	const struct hes_sequence *t = NULL;
	struct work *w = s->work;

	pthread_mutex_lock(&s->all->lock);
	for (size_t i = w->next; i < w->sequences->n && !t && !s->all->rc; i++)
		if (!w->taken[i] && is_possible(s, &w->sequences->v[i])) {
			t = &w->sequences->v[i];
			w->taken[i] = true;
		}
	while (w->next < w->sequences->n && w->taken[w->next])
		w->next++;
	pthread_mutex_unlock(&s->all->lock);
	return t;
}

/* Take one sequence, and with processes that start ahead more, at most a GPU's part of them. */
static void fill_queue(struct session *s)
{
	const struct hes_sequence *t;
	size_t most;

	pthread_mutex_lock(&s->all->lock);
	most = (s->work->sequences->n - s->work->next) / s->work->gpus;
	pthread_mutex_unlock(&s->all->lock);
	most = s->alone || most < 1 ? 1 : most > SESSION_QUEUE ? SESSION_QUEUE : most;
	while (s->n_queue < most && (t = take_sequence(s)))
		if (last_left(s, t) >= 0)
			s->queue[s->n_queue++] = t;
}

/* Leave what this GPU has not run to others. */
static void return_queue(struct session *s)
{
	struct work *w = s->work;

	pthread_mutex_lock(&s->all->lock);
	for (size_t i = 0; i < s->n_queue; i++) {
		const size_t at = (size_t)(s->queue[i] - w->sequences->v);

		w->taken[at] = false;
		w->next = at < w->next ? at : w->next;
	}
	s->n_queue = 0;
	pthread_mutex_unlock(&s->all->lock);
}

/* Of the sequences that were taken the one that can be measured first. @return NULL: none */
static const struct hes_sequence *next_sequence(struct session *s)
{
	const struct hes_sequence *t;
	size_t best = 0;

	fill_queue(s);
	if (!s->n_queue)
		return NULL;
	for (size_t i = 1; i < s->n_queue; i++)
		if (pool_cost(s, s->queue[i]) < pool_cost(s, s->queue[best]))
			best = i;
	t = s->queue[best];
	s->n_queue--;
	memmove(&s->queue[best], &s->queue[best + 1], (s->n_queue - best) * sizeof(s->queue[0]));
	return t;
}

static void open_gpu(struct session *s)
{
	struct hes_reading r;
	struct hes_err why;
	int rc;

	s->host = (struct lane_host){ .guard = s->all->guard, .guard_lock = &s->all->guard_lock };
	snprintf(s->host.uuid, sizeof(s->host.uuid), "%s", s->uuid);
	rc = start_mps(s, &why);
	if (rc) {
		char note[HES_ERR_MAX + 100];

		snprintf(note, sizeof(note),
			 "GPU %zu: %s: measuring only jobs alone on the whole GPU", s->gpu,
			 why.msg);
		profiling_report(s->all, note);
	}
	if (!hes_device_read(s->all->p->devices, s->gpu, HES_HAS_MEMORY, &r, NULL) &&
	    r.has & HES_HAS_MEMORY) {
		s->idle_bytes = r.memory_used_bytes;
		s->idle_known = true;
	}
}

void session_run(struct session *s)
{
	const struct hes_sequence *t;
	struct hes_err err;
	int rc = 0;

	open_gpu(s);
	/* Without MPS jobs take turns, also with one that starts. */
	s->alone = !s->all->p->ahead || !s->has_mps;
	s->looked_s = hes_monotonic_s();
	while (!rc && !profiling_stopped(s->all) && (t = next_sequence(s)))
		rc = run_sequence(s, t, &err);
	if (rc < 0) {
		char note[HES_ERR_MAX + 80];

		snprintf(note, sizeof(note), "GPU %zu is given up: %s", s->gpu, err.msg);
		profiling_report(s->all, note);
	}
	session_clear(s, NULL);
	return_queue(s);
	end_mps(s);
	pthread_mutex_lock(&s->all->lock);
	profiling_keep(s->all, s->at, &(struct hes_points){ 0 });
	pthread_mutex_unlock(&s->all->lock);
}
