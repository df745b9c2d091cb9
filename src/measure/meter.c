/*
 * meter.c - the sampling thread and its windows; see heshare/measure.h.
 *
 * Power between two samples is their mean (trapezoid); if one of them has no power, the time is a
 * gap. A window takes its own sample at both ends. gauge.c makes joules of counter and power.
 */
#include "heshare/measure.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "measure/gauge.h"

#define FIND_S      0.5 /* time to find the refresh */
#define FIND_STEP_S 0.01
#define RATES_S \
	0.5 /* between two samples of activity; drivers' rates are means of up to a second */
#define COUNTERS_S 2.0 /* between two samples of counters, which cost more */
#define WANT       (HES_HAS_POWER | HES_HAS_ENERGY | HES_HAS_CLOCK | HES_HAS_REASONS)

struct sum {
	struct hes_gauge_sample first, last;
	struct hes_activity_sums activity; /* as it was when the window began */
	double integral_j, power_s, peak_w, longest_gap_s, gap_s;
	double clock_s, clock_mhz_s, reasons_s, capped_s;
	uint64_t samples;
};

struct hes_window {
	struct hes_meter *meter;
	struct hes_window *next;
	struct sum sums[];
};

struct hes_meter {
	const struct hes_devices *d;
	size_t *gpus;
	size_t n;
	double period_s;
	double refresh_s; /* of the quickest sensor */
	pthread_t thread;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t stop;  /* signalled when the meter ends */
	bool stopping;
	struct hes_window *windows;
	struct hes_gauge *gauges;     /* one a GPU */
	struct hes_gauge_sample *now; /* one a GPU */
	struct hes_watch *watch;
	double watched_s, counted_s; /* times of its last samples: of rates, of counters */
	struct hes_meter_power power;
	double power_limit_w, power_s; /* what counts as over; time of the last sum, 0: none */
};

static struct hes_gauge_sample meter_read(struct hes_meter *m, size_t i)
{
	struct hes_gauge_sample s;

	hes_gauge_look(&m->gauges[i], m->d, m->gpus[i], WANT, &s);
	return s;
}

static void sum_add(struct sum *w, const struct hes_gauge_sample *s)
{
	const struct hes_gauge_sample *last = &w->last;
	double dt = s->time_s - last->time_s;
	unsigned both = s->has & last->has;

	w->samples++;
	w->peak_w = s->has & HES_HAS_POWER ? fmax(w->peak_w, s->power_w) : w->peak_w;
	if (both & HES_HAS_POWER) {
		w->integral_j += (s->power_w + last->power_w) / 2 * dt;
		w->power_s += dt;
		w->gap_s = 0;
	} else {
		w->gap_s += dt;
		w->longest_gap_s = fmax(w->longest_gap_s, w->gap_s);
	}
	if (both & HES_HAS_CLOCK) {
		w->clock_mhz_s += (s->clock_mhz + last->clock_mhz) / 2 * dt;
		w->clock_s += dt;
	}
	if (both & HES_HAS_REASONS) {
		w->capped_s += (s->capped + last->capped) / 2.0 * dt;
		w->reasons_s += dt;
	}
	w->last = *s;
}

/* Sample one GPU for all windows; the meter is locked. */
static void sample_one(struct hes_meter *m, size_t i)
{
	m->now[i] = meter_read(m, i);
	for (struct hes_window *w = m->windows; w; w = w->next)
		sum_add(&w->sums[i], &m->now[i]);
}

static void sample_all(struct hes_meter *m)
{
	for (size_t i = 0; i < m->n; i++)
		sample_one(m, i);
}

/* After the samples of the thread alone: those that windows take of one GPU come at any time. */
static void sum_power(struct hes_meter *m)
{
	const double before_s = m->power_s;

	m->power.now_w = 0;
	m->power_s = 0;
	for (size_t i = 0; i < m->n; i++) {
		if (!(m->now[i].has & HES_HAS_POWER)) {
			m->power.now_w = 0;
			return;
		}
		m->power.now_w += m->now[i].power_w;
		m->power_s = m->now[i].time_s;
	}
	m->power.peak_w = fmax(m->power.peak_w, m->power.now_w);
	if (before_s > 0 && m->power.now_w > m->power_limit_w)
		m->power.over_s += m->power_s - before_s;
}

static void meter_watch(struct hes_meter *m, bool counters)
{
	hes_watch_look(m->watch, counters);
	m->watched_s = hes_monotonic_s();
	m->counted_s = counters ? m->watched_s : m->counted_s;
}

static void *sample_loop(void *meter)
{
	struct hes_meter *m = meter;
	double next = hes_monotonic_s() + m->period_s;

	pthread_mutex_lock(&m->lock);
	while (!m->stopping) {
		struct timespec until = { .tv_sec = (time_t)next,
					  .tv_nsec = (long)((next - floor(next)) * 1e9) };

		if (pthread_cond_clockwait(&m->stop, &m->lock, CLOCK_MONOTONIC, &until) !=
		    ETIMEDOUT)
			continue;
		sample_all(m);
		sum_power(m);
		if (hes_monotonic_s() >= m->watched_s + RATES_S)
			meter_watch(m, hes_monotonic_s() >= m->counted_s + COUNTERS_S);
		/* When late, skip samples instead of taking several at once. */
		next = fmax(next + m->period_s, hes_monotonic_s());
	}
	pthread_mutex_unlock(&m->lock);
	return NULL;
}

/* The shortest time between two steps of a GPU's counter or power, at most FIND_S. */
static double find_refresh(struct hes_meter *m)
{
	double start = hes_monotonic_s(), found = FIND_S, last[m->n];
	struct hes_gauge_sample before[m->n];
	const struct timespec step = { .tv_nsec = (long)(FIND_STEP_S * 1e9) };

	for (size_t i = 0; i < m->n; i++) {
		before[i] = meter_read(m, i);
		last[i] = 0;
	}
	while (hes_monotonic_s() < start + FIND_S) {
		nanosleep(&step, NULL);
		for (size_t i = 0; i < m->n; i++) {
			double since_s = m->gauges[i].step.since_s;
			struct hes_gauge_sample s = meter_read(m, i);
			double at = m->gauges[i].known ? m->gauges[i].step.since_s : s.time_s;
			bool moved =
				m->gauges[i].known ? at != since_s : s.power_w != before[i].power_w;

			if (moved && last[i] > 0)
				found = fmin(found, at - last[i]);
			if (moved)
				last[i] = at;
			before[i] = s;
		}
	}
	return fmin(fmax(found, HES_METER_FASTEST_S), HES_METER_SLOWEST_S);
}

static void meter_free(struct hes_meter *m)
{
	hes_watch_stop(m->watch);
	free(m->gpus);
	free(m->gauges);
	free(m->now);
	free(m);
}

static int meter_prepare(struct hes_meter *m, const size_t *gpus, struct hes_err *err)
{
	m->gpus = calloc(m->n + 1, sizeof(*m->gpus));
	m->gauges = calloc(m->n + 1, sizeof(*m->gauges));
	m->now = calloc(m->n + 1, sizeof(*m->now));
	if (!m->gpus || !m->gauges || !m->now)
		return hes_fail(err, -ENOMEM, "no memory for a meter of %zu GPUs", m->n);
	for (size_t i = 0; i < m->n; i++) {
		struct hes_reading r;
		int rc;

		if (gpus[i] >= hes_devices_count(m->d))
			return hes_fail(err, -EINVAL, "no GPU %zu; there are %zu", gpus[i],
					hes_devices_count(m->d));
		rc = hes_device_read(m->d, gpus[i], WANT, &r, err);
		if (rc)
			return rc;
		m->gpus[i] = gpus[i];
		hes_gauge_begin(&m->gauges[i], hes_device_most_mw(m->d, gpus[i]) * 1e-3,
				hes_device_least_mw(m->d, gpus[i]) * 1e-3);
	}
	return hes_watch_start(&m->watch, m->d, m->gpus, m->n, err);
}

/* The meter's thread takes no signals of the program. */
static int start_thread(struct hes_meter *m)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = -pthread_create(&m->thread, NULL, sample_loop, m);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

int hes_meter_start(struct hes_meter **out, const struct hes_devices *d, const size_t *gpus,
		    size_t n, struct hes_err *err)
{
	return hes_meter_start_every(out, d, gpus, n, 0, err);
}

int hes_meter_start_every(struct hes_meter **out, const struct hes_devices *d, const size_t *gpus,
			  size_t n, double period_s, struct hes_err *err)
{
	struct hes_meter *m = calloc(1, sizeof(*m));
	int rc;

	if (!m)
		return hes_fail(err, -ENOMEM, "no memory for a meter of %zu GPUs", n);
	m->d = d;
	m->n = n;
	m->power_limit_w = INFINITY;
	rc = meter_prepare(m, gpus, err);
	if (!rc) {
		m->refresh_s = HES_METER_SLOWEST_S;
		m->refresh_s = n ? find_refresh(m) : HES_METER_SLOWEST_S;
		m->period_s = period_s > 0 ? period_s : m->refresh_s;
		pthread_mutex_init(&m->lock, NULL);
		pthread_cond_init(&m->stop, NULL);
		sample_all(m);
		rc = start_thread(m);
		if (rc)
			hes_fail(err, rc, "no thread for a meter: %s", strerror(-rc));
	}
	if (rc)
		meter_free(m);
	else
		*out = m;
	return rc;
}

void hes_meter_stop(struct hes_meter *m)
{
	if (!m)
		return;
	pthread_mutex_lock(&m->lock);
	m->stopping = true;
	pthread_cond_signal(&m->stop);
	pthread_mutex_unlock(&m->lock);
	pthread_join(m->thread, NULL);
	while (m->windows) {
		struct hes_window *w = m->windows;

		m->windows = w->next;
		free(w);
	}
	pthread_cond_destroy(&m->stop);
	pthread_mutex_destroy(&m->lock);
	meter_free(m);
}

void hes_meter_watch_power(struct hes_meter *m, double watts)
{
	pthread_mutex_lock(&m->lock);
	m->power_limit_w = watts;
	pthread_mutex_unlock(&m->lock);
}

void hes_meter_power(struct hes_meter *m, struct hes_meter_power *out)
{
	pthread_mutex_lock(&m->lock);
	*out = m->power;
	pthread_mutex_unlock(&m->lock);
}

double hes_meter_period_s(const struct hes_meter *m)
{
	return m->period_s;
}

int hes_window_begin(struct hes_meter *m, struct hes_window **out, struct hes_err *err)
{
	struct hes_window *w = calloc(1, sizeof(*w) + m->n * sizeof(w->sums[0]));

	if (!w)
		return hes_fail(err, -ENOMEM, "no memory for a window of %zu GPUs", m->n);
	w->meter = m;
	pthread_mutex_lock(&m->lock);
	sample_all(m);
	meter_watch(m, true);
	for (size_t i = 0; i < m->n; i++) {
		w->sums[i] =
			(struct sum){ .first = m->now[i],
				      .last = m->now[i],
				      .samples = 1,
				      .peak_w = m->now[i].has & HES_HAS_POWER ? m->now[i].power_w
									      : 0 };
		hes_watch_sums(m->watch, i, &w->sums[i].activity);
	}
	w->next = m->windows;
	m->windows = w;
	pthread_mutex_unlock(&m->lock);
	*out = w;
	return 0;
}

static struct hes_measured window_result(const struct sum *w)
{
	struct hes_measured o = {
		.seconds = w->last.time_s - w->first.time_s,
		.integral_j = w->integral_j,
		.power_s = w->power_s,
		.peak_w = w->peak_w,
		.longest_gap_s = w->longest_gap_s,
		.clock_s = w->clock_s,
		.clock_mhz = w->clock_s > 0 ? w->clock_mhz_s / w->clock_s : 0,
		.reasons_s = w->reasons_s,
		.capped_s = w->capped_s,
		.samples = w->samples,
		.lost = w->last.lost,
	};

	hes_gauge_between(&w->first, &w->last, &o);
	return o;
}

static void window_read(struct hes_window *w, struct hes_measured *out)
{
	struct hes_meter *m = w->meter;
	struct hes_activity_sums now;

	sample_all(m);
	meter_watch(m, true);
	for (size_t i = 0; i < m->n; i++) {
		out[i] = window_result(&w->sums[i]);
		hes_watch_sums(m->watch, i, &now);
		hes_activity_between(&w->sums[i].activity, &now, &out[i].activity);
	}
}

void hes_window_look_at(struct hes_window *w, size_t i, struct hes_measured *out)
{
	pthread_mutex_lock(&w->meter->lock);
	sample_one(w->meter, i);
	*out = window_result(&w->sums[i]);
	pthread_mutex_unlock(&w->meter->lock);
}

void hes_window_read_at(struct hes_window *w, size_t i, struct hes_measured *out)
{
	struct hes_activity_sums now;

	pthread_mutex_lock(&w->meter->lock);
	sample_one(w->meter, i);
	hes_watch_look_at(w->meter->watch, i);
	hes_watch_sums(w->meter->watch, i, &now);
	*out = window_result(&w->sums[i]);
	hes_activity_between(&w->sums[i].activity, &now, &out->activity);
	pthread_mutex_unlock(&w->meter->lock);
}

void hes_window_end(struct hes_window *w, struct hes_measured *out)
{
	struct hes_meter *m = w->meter;
	struct hes_window **at = &m->windows;

	pthread_mutex_lock(&m->lock);
	window_read(w, out);
	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	pthread_mutex_unlock(&m->lock);
	free(w);
}
