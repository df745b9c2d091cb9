/*
 * gpu_thread.c - calls for a GPU that may block: readings, clocks, the store; see gpu_thread.h.
 */
#include "arbiter/gpu_thread.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/trust.h"
#include "launch/contexts.h"
#include "launch/guard.h"
#include "launch/process.h"
#include "measure/gauge.h"

#define ROOM    128  /* reports */
#define ORDERS  1024 /* at the end there is one for each tenant */
#define FIND_NS UINT64_C(600000000)
#define LOOK_NS 2000000
#define UNKNOWN_NS \
	UINT64_C(200000000) /* of a counter that did not move twice while it was looked at */
#define SLOWEST_NS    UINT64_C(1000000000)
#define STORE_WAIT_MS 2000
#define STOP_S        10
#define IDLE_S        2 /* a process that has not used the GPU for so long is idle */

struct gpu_thread {
	struct gpu_thread_config c;
	pthread_t thread;
	struct hes_guard *guard; /* it has the claim of the GPU */
	bool clocks;             /* one has been set, or tried */
	struct hes_store *store; /* NULL: none */
	struct hes_gauge gauge;
	struct hes_contexts contexts;
	unsigned left_out; /* said so far */
	int undone;        /* result of the guard's end */
	struct hes_err undone_err;

	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t changed;
	struct arbiter_order orders[ORDERS];
	struct arbiter_report reports[ROOM];
	size_t n_orders, first_order, n_reports, first_report;
	uint64_t busy_ns;
	bool stopping;
};

static void thread_report(struct gpu_thread *t, const struct arbiter_report *r)
{
	const uint64_t one = 1;

	pthread_mutex_lock(&t->lock);
	while (t->n_reports == ROOM && !t->stopping)
		pthread_cond_wait(&t->changed, &t->lock);
	if (t->n_reports < ROOM)
		t->reports[(t->first_report + t->n_reports++) % ROOM] = *r;
	else
		free(r->processes);
	pthread_mutex_unlock(&t->lock);
	if (write(t->c.wake, &one, sizeof(one)) < 0)
		return; /* its counter is full: the server has been woken */
}

/* Say "WHAT: WHY", or why alone. */
static void thread_say(struct gpu_thread *t, const char *what, const char *why)
{
	struct arbiter_report r = { .kind = REPORT_SENTENCE };

	snprintf(r.text, sizeof(r.text), "%s%s%.200s", what, *what ? ": " : "", why);
	thread_report(t, &r);
}

/* Joules from the counter, or from power where the counter cannot be believed. */
static struct arbiter_energy energy_read(struct gpu_thread *t)
{
	struct arbiter_energy e = { .joules = NAN };
	struct hes_gauge_sample s;

	if (!hes_gauge_look(&t->gauge, t->c.devices, t->c.index, HES_HAS_ENERGY | HES_HAS_POWER,
			    &s) ||
	    !(s.has & (HES_HAS_ENERGY | HES_HAS_POWER)))
		return e;
	for (size_t i = 0; i < HES_LEFT_OUTS; i++)
		if (s.left_out[i] && !(t->left_out & 1u << i)) {
			t->left_out |= 1u << i;
			thread_say(t, "left out", hes_left_out_text(i));
		}
	e = (struct arbiter_energy){ .joules = s.energy_j, .at_ns = hes_monotonic_ns() };
	if (s.counted) {
		e.step_j = t->gauge.step.energy_j;
		e.step_ns = (uint64_t)(t->gauge.step.since_s * 1e9);
	}
	return e;
}

static bool counter_read(const struct gpu_thread *t, double *joules)
{
	struct hes_reading r;

	if (hes_device_read(t->c.devices, t->c.index, HES_HAS_ENERGY, &r, NULL) ||
	    !(r.has & HES_HAS_ENERGY))
		return false;
	*joules = (double)r.energy_mj * 1e-3;
	return true;
}

/* How often the counter moves; 0: there is none. */
static uint64_t refresh_find(const struct gpu_thread *t)
{
	const struct timespec step = { .tv_nsec = LOOK_NS };
	uint64_t start = hes_monotonic_ns(), now = start, first = 0, last = 0, n = 0, found;
	double before, joules;

	if (!counter_read(t, &before))
		return 0;
	while ((now = hes_monotonic_ns()) - start < FIND_NS) {
		nanosleep(&step, NULL);
		if (!counter_read(t, &joules) || joules == before)
			continue;
		before = joules;
		last = hes_monotonic_ns();
		first = n++ ? first : last;
	}
	found = n > 1 ? (last - first) / (n - 1) : UNKNOWN_NS;
	return found < SLOWEST_NS ? found + !found : SLOWEST_NS;
}

/* Undo the clock lock of an earlier run whose guard was killed too. */
static void folder_undo(struct gpu_thread *t)
{
	struct hes_undone m = { 0 };
	struct hes_err err;
	int rc = hes_guard_restore(t->c.folder, &m, &err);

	if (rc && rc != -ENOENT)
		thread_say(t, "what was changed before is not undone", err.msg);
	else if (!rc && m.clocks)
		thread_say(t, "", "a clock that was left locked is set back");
}

static void store_open(struct gpu_thread *t)
{
	struct hes_err err;

	if (t->c.store &&
	    hes_store_open(t->c.store, HES_STORE_WRITE, STORE_WAIT_MS, &t->store, &err))
		thread_say(t, "powers of tenants and what they used are not kept", err.msg);
}

static int guard_begin(struct gpu_thread *t, struct hes_err *err)
{
	int rc = hes_folder_create(t->c.folder, err);

	if (!rc)
		rc = hes_trust_check(t->c.folder, geteuid(), NULL, err);
	if (!rc)
		rc = hes_guard_start(&t->guard, t->c.guard, t->c.folder, NULL, err);
	if (!rc)
		rc = hes_guard_claim(t->guard, t->c.info.uuid, err);
	if (rc && t->guard) {
		hes_guard_finish(t->guard, NULL);
		t->guard = NULL;
	}
	return rc;
}

static int clock_set(struct gpu_thread *t, uint32_t mhz, struct hes_err *err)
{
	if (!t->clocks && !mhz)
		return 0;
	t->clocks = true;
	if (hes_guard_renew(t->guard, err) < 0)
		return -EPIPE;
	return mhz ? hes_guard_lock_clock(t->guard, t->c.devices, t->c.index, mhz, err)
		   : hes_guard_unlock_clock(t->guard, t->c.devices, t->c.index, err);
}

/* A GPU of no type of the catalogue goes by the driver's name. */
static void type_name(const struct gpu_thread *t, char out[HES_NAME_MAX])
{
	snprintf(out, HES_NAME_MAX, "%.*s", HES_NAME_MAX - 1,
		 *t->c.info.type ? t->c.info.type : t->c.info.name);
}

static void order_find(struct gpu_thread *t, const struct arbiter_order *o)
{
	struct arbiter_report r = { .kind = REPORT_PROFILE, .power = o->power };

	type_name(t, r.power.gpu_type);
	if (t->store)
		hes_store_find_tenant_power(t->store, &r.power, NULL);
	thread_report(t, &r);
}

static void order_keep(struct gpu_thread *t, struct arbiter_order *o)
{
	struct hes_err err;

	type_name(t, o->power.gpu_type);
	o->power.at_us = hes_wall_us();
	if (t->store && hes_store_keep_tenant_power(t->store, &o->power, &err))
		thread_say(t, "", err.msg);
}

static void order_usage(struct gpu_thread *t, struct arbiter_order *o)
{
	struct hes_err err;

	type_name(t, o->usage.gpu_type);
	o->usage.day_us = hes_wall_us();
	if (t->store && hes_store_add_tenant_usage(t->store, &o->usage, &err))
		thread_say(t, "", err.msg);
}

static void process_find_forks(struct arbiter_process *p)
{
	struct hes_proc proc;
	pid_t pid = p->id.pid;

	while (p->n_forked < ARBITER_FORKS && !hes_proc_read(pid, &proc) && proc.forked) {
		struct hes_process *from = &p->forked_from[p->n_forked];

		/* A parent that is gone is replaced by one that may be younger. */
		if (hes_process_of(proc.parent, from) || from->started > proc.id.started)
			return;
		pid = from->pid;
		p->n_forked++;
	}
}

/* Append the processes that are idle, or those that are not. Of a process that is not in /proc
 * nobody knows whether it is connected. The server of MPS has its clients' contexts. */
static void processes_add(const struct hes_contexts *cs, const bool *idle, bool want,
			  struct arbiter_report *r)
{
	for (size_t i = 0; i < cs->n; i++) {
		const struct hes_context *c = &cs->v[i];
		struct arbiter_process *p = &r->processes[r->n_processes];

		if (!c->id.started || c->server || idle[i] != want)
			continue;
		p->id = c->id;
		p->uid = c->user;
		p->idle = want;
		memcpy(p->name, c->name, sizeof(p->name));
		process_find_forks(p);
		r->n_processes++;
	}
}

/* Clients of MPS work through its server. */
static void processes_find_idle(const struct gpu_thread *t, bool *idle)
{
	int32_t *active = NULL;
	long n = hes_device_active_processes(t->c.devices, t->c.index, IDLE_S, &active, NULL);
	bool may = n >= 0;

	for (size_t i = 0; i < t->contexts.n; i++)
		may &= !t->contexts.v[i].server;
	for (size_t i = 0; may && i < t->contexts.n; i++) {
		idle[i] = true;
		for (long k = 0; k < n; k++)
			idle[i] &= active[k] != t->contexts.v[i].id.pid;
	}
	free(active);
}

/* Those that are not idle come first: not all may be remembered. */
static void order_processes(struct gpu_thread *t)
{
	struct arbiter_report r = { .kind = REPORT_PROCESSES };
	bool *idle;

	if (hes_contexts_look(t->c.devices, t->c.index, NULL, 0, &t->contexts, NULL))
		return;
	r.processes = calloc(t->contexts.n + 1, sizeof(*r.processes));
	idle = calloc(t->contexts.n + 1, sizeof(*idle));
	if (r.processes && idle) {
		processes_find_idle(t, idle);
		processes_add(&t->contexts, idle, false, &r);
		processes_add(&t->contexts, idle, true, &r);
		thread_report(t, &r);
	} else {
		free(r.processes);
	}
	free(idle);
}

static void order_do(struct gpu_thread *t, struct arbiter_order *o)
{
	struct arbiter_report r = { .tag = o->tag };
	struct hes_err err = { 0 };

	if (o->kind == ORDER_ENERGY) {
		r.kind = REPORT_ENERGY;
		r.energy = energy_read(t);
		thread_report(t, &r);
	} else if (o->kind == ORDER_CLOCK) {
		r.kind = REPORT_CLOCK;
		r.rc = clock_set(t, o->mhz, &err);
		snprintf(r.text, sizeof(r.text), "%.*s", (int)sizeof(r.text) - 1, err.msg);
		thread_report(t, &r);
	} else if (o->kind == ORDER_FIND) {
		order_find(t, o);
	} else if (o->kind == ORDER_USAGE) {
		order_usage(t, o);
	} else if (o->kind == ORDER_PROCESSES) {
		order_processes(t);
	} else {
		order_keep(t, o);
	}
}

/* @return whether there is an order; false: the thread is to end */
static bool order_await(struct gpu_thread *t, struct arbiter_order *out)
{
	bool is;

	pthread_mutex_lock(&t->lock);
	t->busy_ns = 0;
	while (!t->n_orders && !t->stopping)
		pthread_cond_wait(&t->changed, &t->lock);
	is = t->n_orders > 0;
	if (is) {
		*out = t->orders[t->first_order];
		t->first_order = (t->first_order + 1) % ORDERS;
		t->n_orders--;
		t->busy_ns = hes_monotonic_ns();
	}
	pthread_mutex_unlock(&t->lock);
	return is;
}

static void *thread_run(void *ctx)
{
	struct gpu_thread *t = ctx;
	struct arbiter_report ready = { .kind = REPORT_READY };
	struct arbiter_order o;

	store_open(t);
	ready.refresh_ns = refresh_find(t);
	hes_gauge_begin(&t->gauge, hes_device_most_mw(t->c.devices, t->c.index) * 1e-3,
			hes_device_least_mw(t->c.devices, t->c.index) * 1e-3);
	thread_report(t, &ready);
	while (order_await(t, &o))
		order_do(t, &o);
	t->undone = hes_guard_finish(t->guard, &t->undone_err);
	hes_store_close(t->store);
	return NULL;
}

int gpu_thread_start(const struct gpu_thread_config *c, struct gpu_thread **out,
		     struct hes_err *err)
{
	struct gpu_thread *t = calloc(1, sizeof(*t));
	sigset_t all, before;
	int rc;

	if (!t)
		return hes_fail(err, -ENOMEM, "out of memory for the thread of GPU %zu", c->index);
	t->c = *c;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->changed, NULL);
	folder_undo(t);
	rc = guard_begin(t, err);
	if (rc) {
		free(t);
		hes_fail_in(err, "GPU %zu", c->index);
		return rc;
	}
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&t->thread, NULL, thread_run, t);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc) {
		hes_guard_finish(t->guard, NULL);
		free(t);
		return hes_fail(err, -rc, "no thread for GPU %zu: %s", c->index, strerror(rc));
	}
	*out = t;
	return 0;
}

bool gpu_thread_order(struct gpu_thread *t, const struct arbiter_order *o)
{
	bool room;

	pthread_mutex_lock(&t->lock);
	room = t->n_orders < ORDERS && !t->stopping;
	if (room)
		t->orders[(t->first_order + t->n_orders++) % ORDERS] = *o;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
	return room;
}

bool gpu_thread_take(struct gpu_thread *t, struct arbiter_report *out)
{
	bool is;

	pthread_mutex_lock(&t->lock);
	is = t->n_reports > 0;
	if (is) {
		*out = t->reports[t->first_report];
		t->first_report = (t->first_report + 1) % ROOM;
		t->n_reports--;
		pthread_cond_broadcast(&t->changed);
	}
	pthread_mutex_unlock(&t->lock);
	return is;
}

uint64_t gpu_thread_busy_since(struct gpu_thread *t)
{
	uint64_t since;

	pthread_mutex_lock(&t->lock);
	since = t->busy_ns;
	pthread_mutex_unlock(&t->lock);
	return since;
}

int gpu_thread_stop(struct gpu_thread *t, struct hes_err *err)
{
	struct timespec until;
	int rc;

	if (!t)
		return 0;
	pthread_mutex_lock(&t->lock);
	t->stopping = true;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += STOP_S;
	rc = pthread_timedjoin_np(t->thread, NULL, &until);
	/* The thread may still use its memory, so that it is not freed. */
	if (rc)
		return hes_fail(
			err, -ETIMEDOUT,
			"GPU %zu: its driver does not answer; the guard sets its clock back",
			t->c.index);
	rc = t->undone;
	if (rc && err)
		*err = t->undone_err;
	for (size_t i = 0; i < t->n_reports; i++)
		free(t->reports[(t->first_report + i) % ROOM].processes);
	hes_contexts_free(&t->contexts);
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->lock);
	free(t);
	return rc;
}
