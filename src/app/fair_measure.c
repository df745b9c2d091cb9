/*
 * fair_measure.c - measure the power of a command alone on a GPU at each clock; see fair_measure.h.
 *
 * Five seconds of GPU time are measured in parts, and again if the parts differ too much. Parts in
 * which the GPU was idle do not count. The preload library counts launches meanwhile, of all
 * processes, in a file.
 */
#include "app/fair_measure.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "app/catalogue.h"
#include "app/fair_tenant.h"
#include "app/gpus_chosen.h"
#include "app/gpus_visible.h"
#include "app/known_store.h"
#include "app/work_folder.h"
#include "base/clock.h"
#include "heshare/measure.h"
#include "launch/guard.h"

#define MAX_PARTS  64
#define PART_S     0.5
#define REFRESHES  5 /* of the sensor in a part */
#define MEASURE_S  5.0
#define STEADY_CV  0.05
#define ROUNDS     3
#define PATIENCE_S 120.0 /* for GPU time at one clock */
#define GRACE_MS   2000
#define IDLE_ENDS  5
#define NAP_NS     20000000
#define LAUNCHES   "HESHARE_LAUNCHES="

struct measuring {
	struct hes_devices *devices;
	size_t gpu;
	struct hes_device_info info;
	struct hes_guard *guard;
	struct hes_meter *meter;
	struct hes_child child; /* zero: none runs */
	const char *const *argv;
	char variable[128];
	int launches_fd; /* a file in the folder that the preload library counts in; -1: none */
	char launches[PATH_MAX + 32], *preload; /* variables that make it count */
	uint64_t first_launch; /* the count, and the time, at the start of a round */
	double first_s;
	struct hes_store *store;
	char folder[PATH_MAX];
	unsigned started;
	unsigned idle_ends; /* runs of the command in a row without GPU work */
};

/* What is missing to count launches is said, and they are not counted. */
static void launches_open(struct measuring *m, const struct fair_measure_request *q)
{
	const uint64_t none = 0;
	struct hes_err err;
	const char *path = m->launches + strlen(LAUNCHES);

	snprintf(m->launches, sizeof(m->launches), LAUNCHES "%s/launches", m->folder);
	if (fair_library_preload(q->app, q->place, &m->preload, &err)) {
		app_say(q->app, "launches are not counted: %s", err.msg);
		return;
	}
	m->launches_fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (m->launches_fd < 0 || pwrite(m->launches_fd, &none, sizeof(none), 0) != sizeof(none))
		app_say(q->app, "launches are not counted: %s: %s", path, strerror(errno));
}

static void launches_close(struct measuring *m)
{
	if (m->launches_fd >= 0) {
		close(m->launches_fd);
		unlink(m->launches + strlen(LAUNCHES));
	}
	free(m->preload);
}

static uint64_t launches_read(const struct measuring *m)
{
	uint64_t n;

	return m->launches_fd >= 0 && pread(m->launches_fd, &n, sizeof(n), 0) == sizeof(n) ? n : 0;
}

static int command_start(struct measuring *m, struct hes_err *err)
{
	/* It is no tenant meanwhile. */
	const char *variables[] = { m->variable,
				    "HESHARE_FAIR_SOCKET=",
				    "HESHARE_FAIR_TENANT=",
				    m->launches_fd >= 0 ? m->preload : NULL,
				    m->launches,
				    NULL };
	const struct hes_launch l = { .argv = m->argv,
				      .variables = variables,
				      .output_fd = STDERR_FILENO };
	int rc = hes_guard_fork(m->guard, &l, &m->child, err);

	m->started++;
	return rc ? rc : hes_guard_go(m->guard, &m->child, err);
}

static void command_end(struct measuring *m)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	struct hes_child_end end;

	if (!m->child.id.pid)
		return;
	hes_child_terminate(&m->child);
	for (int i = 0; i < GRACE_MS * 1000000 / NAP_NS && m->child.id.pid; i++) {
		nanosleep(&nap, NULL);
		hes_guard_reap(m->guard, &m->child, &end, NULL);
	}
	if (m->child.id.pid)
		hes_child_kill(&m->child, NULL);
	/* What cannot be killed stays with the guard. */
	for (int i = 0; i < GRACE_MS * 1000000 / NAP_NS && m->child.id.pid; i++) {
		nanosleep(&nap, NULL);
		hes_guard_reap(m->guard, &m->child, &end, NULL);
	}
}

/* A command that has ended is started again. @return 0; -ECHILD it failed */
static int command_keep(struct measuring *m, struct hes_err *err)
{
	struct hes_child_end end;
	int rc = m->child.id.pid ? hes_guard_reap(m->guard, &m->child, &end, err) : 0;

	if (rc < 0)
		return rc;
	if (rc > 0 && end.code)
		return hes_fail(err, -ECHILD, "%s: the command ended with status %d", m->argv[0],
				end.code);
	m->idle_ends += rc > 0;
	if (m->idle_ends > IDLE_ENDS)
		return hes_fail(err, -ECHILD,
				"%s: the command ended %u times without keeping GPU %zu busy; give "
				"one that uses it for seconds",
				m->argv[0], m->idle_ends, m->gpu);
	return m->child.id.pid ? 0 : command_start(m, err);
}

static bool gpu_is_busy(const struct measuring *m)
{
	struct hes_reading r;

	return !hes_device_read(m->devices, m->gpu, HES_HAS_UTILISATION, &r, NULL) &&
	       (!(r.has & HES_HAS_UTILISATION) || r.busy_pct > 0);
}

/* @return 0 and the mean power of a part, NaN where the GPU was not busy */
static int part_measure(struct measuring *m, double seconds, double *watts, double *busy_part,
			struct hes_err *err)
{
	double end = hes_monotonic_s() + seconds;
	const struct timespec nap = { .tv_nsec = NAP_NS };
	struct hes_measured got;
	struct hes_window *w;
	bool busy = gpu_is_busy(m);
	int rc = hes_window_begin(m->meter, &w, err);

	if (rc)
		return rc;
	while (!rc && hes_monotonic_s() < end) {
		rc = command_keep(m, err);
		nanosleep(&nap, NULL);
	}
	hes_window_end(w, &got);
	*busy_part = got.activity.of[HES_ACT_BUSY].seconds > 0 ? got.activity.of[HES_ACT_BUSY].value
							       : NAN;
	if (!rc && got.from == HES_ENERGY_UNKNOWN)
		rc = hes_fail(err, -ENOTSUP, "GPU %zu: its power cannot be read", m->gpu);
	*watts = busy && gpu_is_busy(m) ? got.mean_w : NAN;
	if (!isnan(*watts))
		m->idle_ends = 0;
	return rc;
}

static double parts_mean(const double *w, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += w[i];
	return n ? sum / (double)n : 0;
}

static double parts_cv(const double *w, size_t n)
{
	double mean = parts_mean(w, n), sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (w[i] - mean) * (w[i] - mean);
	return n && mean > 0 ? sqrt(sum / (double)n) / mean : 0;
}

/* @param busy  part of the time with a kernel; NaN: not known */
static void service_end(const struct measuring *m, double busy, struct fair_service *out)
{
	const uint64_t n = launches_read(m) - m->first_launch;
	const double busy_s = (hes_monotonic_s() - m->first_s) * busy;

	*out = (struct fair_service){ n, n ? busy_s / (double)n * 1e6 : NAN };
}

/* Five seconds with the GPU at work; the first part warms up. */
static int round_measure(struct measuring *m, double give_up_s, struct hes_tenant_power *p,
			 struct fair_service *service, struct hes_err *err)
{
	double seconds = fmax(PART_S, REFRESHES * hes_meter_period_s(m->meter)), watts[MAX_PARTS],
	       busy[MAX_PARTS], one, part;
	size_t need = (size_t)ceil(MEASURE_S / seconds), n = 0;
	bool warm = false;
	int rc = 0;

	while (!rc && n < need && n < MAX_PARTS) {
		rc = part_measure(m, seconds, &one, &part, err);
		if (!rc && hes_monotonic_s() > give_up_s)
			rc = hes_fail(err, -ETIME,
				      "%s: not %g s of GPU time in %g s; is it a program that uses "
				      "GPU %zu?",
				      m->argv[0], MEASURE_S, PATIENCE_S, m->gpu);
		if (!rc && !isnan(one) && warm) {
			busy[n] = part;
			watts[n++] = one;
		} else if (!rc && !isnan(one)) {
			m->first_launch = launches_read(m);
			m->first_s = hes_monotonic_s();
			warm = true;
		}
	}
	service_end(m, parts_mean(busy, n), service);
	p->power_w = parts_mean(watts, n);
	p->cv = parts_cv(watts, n);
	p->seconds = (double)n * seconds;
	return rc;
}

static int clock_measure(struct measuring *m, uint32_t mhz, struct hes_tenant_power *p,
			 struct fair_service *service, struct hes_err *err)
{
	double give_up_s = hes_monotonic_s() + PATIENCE_S;
	int rc = mhz ? hes_guard_lock_clock(m->guard, m->devices, m->gpu, mhz, err)
		     : hes_guard_unlock_clock(m->guard, m->devices, m->gpu, err);

	if (rc == -EPERM && !mhz)
		rc = 0; /* the clock is not locked either */
	p->clock_mhz = mhz;
	for (int i = 0; !rc && i < ROUNDS; i++) {
		rc = round_measure(m, give_up_s, p, service, err);
		if (!rc && p->cv <= STEADY_CV)
			break;
	}
	p->at_us = hes_wall_us();
	return rc ? rc : hes_store_keep_tenant_power(m->store, p, err);
}

static int clocks_measure(struct measuring *m, const struct fair_measure_request *q,
			  struct hes_err *err)
{
	struct hes_tenant_power p = { .uid = getuid() };
	struct fair_service service;
	int rc = 0;

	snprintf(p.tenant, sizeof(p.tenant), "%s", q->tenant);
	snprintf(p.gpu_type, sizeof(p.gpu_type), "%.*s", (int)sizeof(p.gpu_type) - 1,
		 *m->info.type ? m->info.type : m->info.name);
	for (size_t i = 0; !rc && i < q->n_clocks; i++) {
		rc = clock_measure(m, q->clocks[i], &p, &service, err);
		if (!rc)
			q->measured(q->ctx, &p, &service);
	}
	command_end(m);
	return rc;
}

static int guard_begin(struct measuring *m, const struct app *app, struct hes_err *err)
{
	static const char *const guard[] = { "/proc/self/exe", "restore", "--guard", NULL };
	int rc = work_folder_make(app, "fair-profile", m->folder, err);

	if (!rc)
		rc = hes_guard_start(&m->guard, guard, m->folder, NULL, err);
	return rc ? rc : hes_guard_claim(m->guard, m->info.uuid, err);
}

static int gpu_choose(struct measuring *m, const struct fair_measure_request *q,
		      struct hes_err *err)
{
	size_t *gpus = NULL, n = 0;
	struct hes_catalogue c = { 0 };
	int rc = gpus_check(q->gpus, err);

	if (!rc)
		rc = app_catalogue_load(q->app, q->catalogue, true, &c, err);
	if (!rc)
		rc = app_devices_open(q->app, &c, &m->devices, err);
	hes_catalogue_free(&c);

	if (!rc)
		rc = gpus_choose(q->app, m->devices, q->gpus, GPUS_RUN, &gpus, &n, err);
	if (!rc && q->gpus && n != 1)
		rc = hes_fail(err, -EINVAL, "--gpus: profile measures on one GPU, not on %zu", n);
	if (!rc) {
		m->gpu = gpus[0];
		rc = hes_device_info(m->devices, m->gpu, &m->info, err);
	}
	free(gpus);
	snprintf(m->variable, sizeof(m->variable), "CUDA_VISIBLE_DEVICES=%s", m->info.uuid);
	return rc;
}

static int clocks_check(const struct measuring *m, const uint32_t *clocks, size_t n,
			struct hes_err *err)
{
	struct hes_gpu_type g;

	/* Where the range is not known, the driver says what it can when a clock is locked. */
	if (hes_device_describe(m->devices, m->gpu, &g, NULL) || g.clock_min_mhz == g.clock_max_mhz)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (clocks[i] && (clocks[i] < g.clock_min_mhz || clocks[i] > g.clock_max_mhz))
			return hes_fail(err, -ERANGE,
					"--clock: %s does not run at %u MHz; it has %u to %u MHz",
					m->info.name, clocks[i], g.clock_min_mhz, g.clock_max_mhz);
	return 0;
}

int fair_measure(const struct fair_measure_request *q, struct hes_err *err)
{
	struct measuring m = { .argv = q->argv, .launches_fd = -1 };
	int rc = gpu_choose(&m, q, err), undone = 0;

	if (!rc)
		rc = clocks_check(&m, q->clocks, q->n_clocks, err);
	if (!rc)
		rc = app_store_open(q->app, q->store, HES_STORE_WRITE, HES_STORE_WAIT_MS, &m.store,
				    err);
	if (!rc)
		rc = guard_begin(&m, q->app, err);
	if (!rc)
		launches_open(&m, q);
	if (!rc)
		rc = hes_meter_start(&m.meter, m.devices, &m.gpu, 1, err);
	if (!rc)
		rc = clocks_measure(&m, q, err);
	hes_meter_stop(m.meter);
	if (m.guard)
		undone = hes_guard_finish(m.guard, rc ? NULL : err);
	launches_close(&m);
	if (*m.folder)
		work_folder_remove(m.folder);
	hes_store_close(m.store);
	hes_devices_close(m.devices);
	return rc ? rc : undone;
}
