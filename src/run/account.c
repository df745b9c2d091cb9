/*
 * account.c - joules of GPUs and progress of jobs; see account.h.
 *
 * A segment is a stretch of time with the same jobs and clock. Its joules are those of the meter
 * between its two ends; hes_attribute_known() splits them, as it splits the predicted joules of a
 * plan.
 */
#include "run/account.h"
#include "base/grow.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define LONGEST_US 3600000000 /* of a segment */
#define WHOLE      0.9        /* part of a segment whose joules must be known */

int run_meter_start(struct run_meter *m, const struct hes_devices *devices, struct run_gpu *gpus,
		    size_t n, struct hes_err *err)
{
	size_t *metered = calloc(n + 1, sizeof(*metered)), many = 0;
	int rc = metered ? 0 : hes_fail(err, -ENOMEM, "out of memory for %zu GPUs", n);

	for (size_t i = 0; !rc && i < n; i++) {
		if (gpus[i].absent)
			continue;
		gpus[i].energy.metered = many;
		metered[many++] = gpus[i].device;
	}
	if (!rc)
		rc = hes_meter_start(&m->meter, devices, metered, many, err);
	free(metered);
	if (!rc)
		rc = hes_window_begin(m->meter, &m->window, err);
	for (size_t i = 0; !rc && i < n; i++)
		if (!gpus[i].absent)
			hes_window_look_at(m->window, gpus[i].energy.metered, &gpus[i].energy.last);
	return rc;
}

double run_activity(const struct hes_profiles *profiles, const struct hes_gpu_type *type,
		    const struct hes_job *job, uint32_t sm_pct, uint32_t clock_mhz)
{
	struct hes_profile solo;

	if (!profiles ||
	    hes_profile_find(profiles, job->workload, job->batch_size, type->name, &solo, NULL))
		return 0;
	return hes_activity_w(type, &solo, sm_pct, clock_mhz);
}

int64_t run_start_up_us(const struct hes_profiles *profiles, const struct hes_gpu_type *type,
			const struct hes_job *job)
{
	struct hes_profile solo;

	if (!profiles ||
	    hes_profile_find(profiles, job->workload, job->batch_size, type->name, &solo, NULL))
		return 0;
	return (int64_t)(solo.start_s * 1e6);
}

/* Joules between two readings. @return false: not known */
static bool joules_between(const struct hes_measured *from, const struct hes_measured *to,
			   double *out)
{
	const double s = to->seconds - from->seconds, known_s = to->known_s - from->known_s;
	const bool whole = known_s >= WHOLE * s;

	*out = s > 0 && whole ? (to->energy_j - from->energy_j) * s / known_s : 0;
	return whole;
}

static void alone_power_add(struct run_task *t, double joules, double seconds)
{
	if (t->alone_power.sm_pct != t->attempt.sm_pct)
		t->alone_power = (struct run_alone_power){ .sm_pct = t->attempt.sm_pct };
	t->alone_power.joules += joules - seconds * t->gpu->planned->type->idle_power_mw * 1e-3;
	t->alone_power.seconds += seconds;
}

/* Where joules of several jobs are split by another measure than the activities of profiles. */
static void mark_split(const struct run_gpu *g, const struct hes_sharer *v)
{
	bool known = true;

	for (uint32_t i = 0; i < g->n_running; i++)
		known &= v[i].activity > 0;
	for (uint32_t i = 0; i < g->n_running && g->n_running > 1; i++)
		g->running[i]->energy_split |= !known || g->running[i]->activity <= 0;
}

/* Charge the jobs up to their ends. What remains is of an idle GPU. */
static void split_segment(struct run_gpu *g, double joules, double seconds, int64_t now)
{
	struct run_energy *e = &g->energy;
	struct hes_sharer v[HES_MAX_SHARING];
	double idle_s = seconds, idle_j = joules;

	for (uint32_t i = 0; i < g->n_running; i++) {
		const struct run_task *t = g->running[i];
		const double late_s = fmin((double)t->late_us * 1e-6, seconds);

		v[i] = (struct hes_sharer){ .end_s = seconds - late_s,
					    .sm_pct = t->place->sm_pct,
					    .activity = task_activity(t),
					    .starting = task_is_starting(t, now) };
		idle_s = fmin(idle_s, late_s);
	}
	if (g->n_running == 1 && !v[0].starting && idle_s <= 0)
		alone_power_add(g->running[0], joules, seconds);
	mark_split(g, v);
	if (hes_attribute_known(joules, g->planned->type->idle_power_mw * 1e-3, seconds, v,
				g->n_running))
		return;
	for (uint32_t i = 0; i < g->n_running; i++) {
		g->running[i]->energy_j += v[i].energy_j;
		idle_j -= v[i].energy_j;
	}
	if (idle_s <= 0 || idle_j <= 0)
		return;
	e->busy_s -= idle_s;
	e->busy_j -= idle_j;
	e->idle_j += idle_j;
}

static void keep_segment(struct run_energy *e)
{
	struct run_segment *v = hes_grow(e->segments, e->n_segments, sizeof(*v));

	/* Without memory there are fewer samples. */
	if (!v)
		return;
	e->segments = v;
	e->segments[e->n_segments++] = e->now;
}

/*
 * Over a gap of the readings the counter still gives the joules of the GPU. How they split is not
 * known, so the energy of the jobs that ran is missing.
 */
static void energy_lose(struct run_gpu *g)
{
	for (uint32_t i = 0; i < g->n_running; i++)
		g->running[i]->energy_missing = true;
	g->energy.now.has_energy = false;
	g->energy.lost_busy |= g->n_running > 0;
}

static void add_clock(struct run_gpu *g, const struct hes_measured *now)
{
	const struct hes_measured x = hes_measured_between(&g->energy.last, now);

	for (uint32_t i = 0; i < g->n_running && x.clock_s > 0; i++) {
		struct hes_run_job_record *r = &g->running[i]->record;
		const double mhz_s = r->clock_mhz * r->clock_s + x.clock_mhz * x.clock_s;

		r->clock_s += x.clock_s;
		r->clock_mhz = mhz_s / r->clock_s;
	}
}

static void energy_account(struct run_meter *m, struct run_gpu *g, bool changes)
{
	struct run_energy *e = &g->energy;
	struct hes_measured now;
	double joules, seconds;
	bool known;

	if (!m->window || g->absent)
		return;
	for (uint32_t i = 0; i < g->n_running; i++)
		run_look(m, g->running[i]);
	hes_window_look_at(m->window, e->metered, &now);
	known = joules_between(&e->last, &now, &joules);
	if (!known && !changes)
		return;
	seconds = now.seconds - e->last.seconds;
	m->longest_gap_s = fmax(m->longest_gap_s, now.longest_gap_s);
	m->left_out |= now.left_out;
	if (!known || e->missing)
		energy_lose(g);
	e->missing = !known;
	if (!known)
		return;
	add_clock(g, &now);
	e->last = now;
	e->meter_j = now.from == HES_ENERGY_COUNTER ? now.energy_j : e->meter_j + joules;
	if (!g->n_running && !e->lost_busy) {
		e->idle_j += joules;
		return;
	}
	e->busy_j += joules;
	e->busy_s += seconds;
	e->now.energy_j += joules;
	e->now.seconds += seconds;
	if (e->now.has_energy)
		split_segment(g, joules, seconds, run_now_us(m->clock));
	e->lost_busy = false;
}

void run_account(struct run_meter *m, struct run_gpu *g)
{
	energy_account(m, g, true);
}

void run_account_so_far(struct run_meter *m, struct run_gpu *g)
{
	energy_account(m, g, false);
}

void run_segment_begin(const struct run_meter *m, struct run_gpu *g)
{
	struct run_energy *e = &g->energy;
	int64_t now = run_now_us(m->clock);

	if (e->now.n) {
		e->now.end_us = now;
		keep_segment(e);
	}
	e->now = (struct run_segment){
		.start_us = now,
		.clock_mhz = g->lock.mhz,
		.tried = (g->n_running == 1 && g->running[0]->clock.trying_mhz) ||
			 g->set.state == RUN_SET_NEW || g->set.state == RUN_SET_ALONE ||
			 g->set.state == RUN_SET_WATCHED,
		.n = g->n_running,
		.has_energy = true
	};
	for (uint32_t i = 0; i < g->n_running; i++)
		e->now.rates[i] = (struct run_rate){ .task = g->running[i],
						     .from = run_count_of(g->running[i], now) };
}

/* A job without progress lines makes progress while it launches. */
static bool has_launched(const struct run_rate *p, int64_t now)
{
	const struct run_count to = run_count_of(p->task, now);

	return to.source == RUN_COUNT_LAUNCHES && to.n > p->from.n;
}

void run_segment_settle(struct run_meter *m, struct run_gpu *g)
{
	struct run_segment *s = &g->energy.now;
	const int64_t now = run_now_us(m->clock);

	/* What ends is learnt from, so a runner that dies loses no long time. */
	if (s->settled && now - s->start_us >= LONGEST_US) {
		run_account(m, g);
		run_segment_begin(m, g);
	}
	if (s->settled || !s->n)
		return;
	for (uint32_t i = 0; i < s->n; i++)
		if (!s->rates[i].seen && !has_launched(&s->rates[i], now))
			return;
	run_account(m, g);
	s->n = 0; /* not kept */
	run_segment_begin(m, g);
	s->settled = true;
}

double run_rate_us(const struct run_rate *p)
{
	const double said_us = (p->last_s - p->first_s) * 1e6;

	return isnan(said_us) ? (double)(p->last_us - p->first_us) : said_us;
}

void run_look(const struct run_meter *m, struct run_task *t)
{
	struct run_segment *s = &t->gpu->energy.now;

	if (t->progress.fd < 0 || hes_progress_read(&t->progress) <= 0)
		return;
	t->progress_us = run_now_us(m->clock);
	t->moved_us = task_ran_us(t, t->progress_us);
	if (!t->begun_us) {
		t->begun_us = t->moved_us;
		t->begun_part = fmax(task_part_done(t), 0);
	}
	for (uint32_t i = 0; i < s->n; i++) {
		struct run_rate *p = &s->rates[i];

		if (p->task != t)
			continue;
		if (!p->seen)
			*p = (struct run_rate){ .task = t,
						.from = p->from,
						.seen = true,
						.first_us = t->progress_us,
						.first_s = t->progress.seconds,
						.first = t->progress.iterations };
		p->last_us = t->progress_us;
		p->last_s = t->progress.seconds;
		p->last = t->progress.iterations;
	}
}
