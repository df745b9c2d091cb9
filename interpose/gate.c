/*
 * gate.c - hold launches up while other processes have the GPU; see gate.h.
 */
#include "gate.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "captures.h"
#include "fair/fair_wire.h"

#define UNSAMPLED    1023    /* mask without sampling: check the context after this many launches */
#define POLL_NS      20000   /* between two looks at events while the GPU drains ... */
#define LONG_NS      5000000 /* ... and, after this time, ... */
#define LONG_POLL_NS 200000  /* ... that */
#define GIVE_UP_NS   10000000000 /* a kernel may wait for a launch that waits at the gate */
/* no other tenant has work: a lease may be idle this many times longer */
#define IDLE_FACTOR     10
#define WINDOW_LEAST_NS 100000
#define WINDOW_ALONE_NS 100000000  /* in a lease without end: an arriving tenant waits for it */
#define ALONE_POLL_NS   50000      /* between two looks at a window that is full there ... */
#define ALONE_WAIT_NS   1000000000 /* ... for so long */

_Thread_local struct gate_thread gate_thread __attribute__((tls_model("initial-exec")));

/* No two leases of any gate have the same one; 0 is in no thread's memory. */
static _Atomic uint64_t last_epoch;

uint64_t gate_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void gate_new_epoch(struct gate *g)
{
	atomic_store(&g->epoch, atomic_fetch_add(&last_epoch, 1) + 1);
}

void gate_init(struct gate *g, const struct fair_driver *driver, const struct gate_link *link)
{
	g->driver = driver;
	g->link = *link;
	g->process = getpid();
	g->state = GATE_FREE;
	g->waiting = 0;
	g->syncing = false;
	g->streams = (struct streams){ .driver = driver };
	g->window = (struct window){ .driver = driver };
	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->opened, NULL);
	pthread_cond_init(&g->quiet, NULL);
	atomic_store(&g->sample_mask, UNSAMPLED);
	atomic_store(&g->word, 0);
	gate_new_epoch(g);
}

int gate_adopt(struct gate *g, void *context)
{
	int rc = 0;

	pthread_mutex_lock(&g->lock);
	if (!g->streams.home) {
		g->streams.home = context;
		rc = streams_prepare(&g->streams);
		if (!rc)
			rc = window_prepare(&g->window);
		gate_new_epoch(g);
	}
	pthread_mutex_unlock(&g->lock);
	return rc;
}

/* --- threads of the program --- */

/* Taking the launch back may be what a closed gate waits for. */
uint64_t gate_wait(struct gate *g)
{
	int error = errno, cancel;
	uint64_t before, last;

	/* A child that was made by clone() without the handlers of fork() has a copy of the gate,
	 * which nobody opens. The driver refuses its calls. */
	if (getpid() != g->process)
		return atomic_load(&g->word);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&g->lock);
	do {
		last = atomic_fetch_sub_explicit(&g->word, GATE_LAUNCH + 1, memory_order_acq_rel);
		g->waiting++;
		if (g->waiting == 1 || (last & GATE_INSIDE) == 1)
			g->link.wake(g->link.self);
		while (atomic_load_explicit(&g->word, memory_order_acquire) & GATE_CLOSED)
			pthread_cond_wait(&g->opened, &g->lock);
		g->waiting--;
		before = atomic_fetch_add_explicit(&g->word, GATE_LAUNCH + 1, memory_order_acq_rel);
	} while (before & GATE_CLOSED);
	pthread_mutex_unlock(&g->lock);
	pthread_setcancelstate(cancel, NULL);
	errno = error;
	return before;
}

/*
 * A query of an event in a thread of the program would end a capture of any other thread, even one
 * that begins at this moment. So these calls are made in the relaxed mode. The old mode is put back
 * by the same function.
 */
static void gate_exchange_mode(const struct gate *g, int *mode)
{
	if (g->driver->capture_mode)
		g->driver->capture_mode(mode);
}

void gate_note(struct gate *g, void *stream, void *context)
{
	int mode = DRIVER_CAPTURE_RELAXED;
	size_t slot = gate_slot(stream);

	pthread_mutex_lock(&g->lock);
	if (g->state != GATE_FREE) {
		gate_exchange_mode(g, &mode);
		streams_note(&g->streams, stream, context, g->link.captures(g->link.self));
		gate_exchange_mode(g, &mode);
	}
	gate_thread.noted[slot].stream = stream;
	/* Under the lock: streams that this epoch has noted are not forgotten in between. */
	gate_thread.noted[slot].epoch = context == g->streams.home ? atomic_load(&g->epoch) : 0;
	pthread_mutex_unlock(&g->lock);
}

void gate_left(struct gate *g)
{
	g->link.wake(g->link.self);
}

static uint64_t gate_launches(struct gate *g)
{
	return atomic_load_explicit(&g->word, memory_order_acquire) / GATE_LAUNCH;
}

/* When to close so that the GPU is done at the end of the slice. The lock is held. */
static uint64_t gate_close_ns(struct gate *g)
{
	uint64_t pending;

	if (g->end_ns == GATE_NEVER)
		return GATE_NEVER;
	pending = window_pending_ns(&g->window, gate_launches(g));
	return pending < g->end_ns ? g->end_ns - pending : 0;
}

/* The lock is held. */
static void gate_close(struct gate *g)
{
	g->state = GATE_ENTERED;
	atomic_fetch_or_explicit(&g->word, GATE_CLOSED, memory_order_acq_rel);
	g->drain_since_ns = gate_now_ns();
}

/* @return whether the work up to @event is done. In a lease without end it may wait for a launch of
 * this thread. */
static bool gate_await(struct gate *g, void *event, bool endless)
{
	uint64_t end = gate_now_ns() + ALONE_WAIT_NS;
	struct timespec t = { .tv_nsec = ALONE_POLL_NS };
	int cancel;

	if (!endless)
		return !g->driver->event_synchronize(event);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	while (g->driver->event_query(event) == DRIVER_NOT_READY && gate_now_ns() < end)
		nanosleep(&t, NULL);
	pthread_setcancelstate(cancel, NULL);
	return g->driver->event_query(event) != DRIVER_NOT_READY;
}

/* The lock is held, but given up while the thread waits. */
static void gate_bound(struct gate *g, void *stream, uint64_t launches)
{
	bool endless, done = true;
	uint64_t lease = g->lease;
	void *event;

	if (g->streams.started)
		g->window.start = g->streams.start;
	window_look(&g->window);
	window_record(&g->window, stream, launches);
	while (done && (event = window_full(&g->window))) {
		endless = g->end_ns == GATE_NEVER;
		pthread_mutex_unlock(&g->lock);
		done = gate_await(g, event, endless);
		pthread_mutex_lock(&g->lock);
		window_look(&g->window);
	}
	/* No bound for the rest of the lease. */
	if (!done && g->lease == lease && g->state == GATE_HOLDING) {
		g->window.size_ns = 0;
		atomic_store(&g->sample_mask, UNSAMPLED);
	}
}

static bool gate_is_sampled(const struct gate *g)
{
	return g->state == GATE_HOLDING && g->window.size_ns && g->streams.home;
}

/* After a launch: bound what waits on the GPU, and close in time. The caller is counted as inside.
 */
void gate_sample(struct gate *g, void *stream, uint64_t launches)
{
	int error = errno, mode = DRIVER_CAPTURE_RELAXED;

	pthread_mutex_lock(&g->lock);
	if (gate_is_sampled(g) && ((uintptr_t)stream > 1 || !g->link.captures(g->link.self))) {
		gate_exchange_mode(g, &mode);
		gate_bound(g, stream, launches);
		gate_exchange_mode(g, &mode);
	}
	if (gate_is_sampled(g)) {
		atomic_store_explicit(&g->sample_mask, g->window.every - 1, memory_order_relaxed);
		if (gate_now_ns() >= gate_close_ns(g)) {
			gate_close(g);
			g->link.wake(g->link.self);
		}
	}
	pthread_mutex_unlock(&g->lock);
	errno = error;
}

/* Make the home context the thread's. The lock is held, so that the context stays. @return whether
 * there is one */
static bool gate_use_context(struct gate *g)
{
	return g->streams.home && g->streams.ready && !g->driver->context_push(g->streams.home);
}

static void gate_leave_context(struct gate *g)
{
	void *context;

	g->driver->context_pop(&context);
}

/*
 * The lock keeps events out of the stream from here until the capture is known to all. With no
 * other capture the legacy stream is marked as well: who begins one meanwhile waits for the lock.
 */
void gate_capture_begins(struct gate *g, void *stream)
{
	int mode = DRIVER_CAPTURE_RELAXED;

	pthread_mutex_lock(&g->lock);
	if (g->state == GATE_HOLDING || g->state == GATE_ENTERED) {
		gate_exchange_mode(g, &mode);
		if (gate_use_context(g)) {
			streams_mark(&g->streams, atomic_load(&captures_count) > 1, stream);
			gate_leave_context(g);
		}
		gate_exchange_mode(g, &mode);
	}
	pthread_mutex_unlock(&g->lock);
}

void gate_forget_stream(struct gate *g, void *stream)
{
	pthread_mutex_lock(&g->lock);
	streams_forget(&g->streams, stream);
	/* Its number may come again. */
	gate_new_epoch(g);
	pthread_mutex_unlock(&g->lock);
}

void gate_forget_context(struct gate *g, void *context)
{
	pthread_mutex_lock(&g->lock);
	while (g->syncing)
		pthread_cond_wait(&g->quiet, &g->lock);
	if (context == g->streams.home)
		window_forget(&g->window);
	streams_forget_context(&g->streams, context);
	gate_new_epoch(g);
	pthread_mutex_unlock(&g->lock);
}

/* --- the thread of the library --- */

static void gate_open(struct gate *g)
{
	atomic_fetch_and_explicit(&g->word, ~GATE_CLOSED, memory_order_acq_rel);
	pthread_cond_broadcast(&g->opened);
}

/* The lock is held. */
static void gate_close_without_lease(struct gate *g, enum gate_state state)
{
	g->state = state;
	g->first_launch =
		atomic_fetch_or_explicit(&g->word, GATE_CLOSED, memory_order_acq_rel) / GATE_LAUNCH;
}

void gate_connect(struct gate *g, uint64_t window_ns, uint64_t idle_ns)
{
	pthread_mutex_lock(&g->lock);
	g->window_ns = window_ns;
	g->idle_ns = idle_ns ? idle_ns : 1;
	gate_close_without_lease(g, GATE_IDLE);
	pthread_mutex_unlock(&g->lock);
}

void gate_shut(struct gate *g)
{
	pthread_mutex_lock(&g->lock);
	gate_close_without_lease(g, GATE_WANTING);
	pthread_mutex_unlock(&g->lock);
}

void gate_disconnect(struct gate *g)
{
	pthread_mutex_lock(&g->lock);
	g->state = GATE_FREE;
	g->window.size_ns = 0;
	atomic_store(&g->sample_mask, UNSAMPLED);
	gate_open(g);
	pthread_mutex_unlock(&g->lock);
}

static uint64_t gate_window_ns(const struct gate *g, uint64_t slice_ns)
{
	uint64_t ns = g->window_ns;

	if (!slice_ns)
		return ns < WINDOW_ALONE_NS ? WINDOW_ALONE_NS : ns;
	if (ns > slice_ns / 2)
		ns = slice_ns / 2;
	return ns > WINDOW_LEAST_NS ? ns : WINDOW_LEAST_NS;
}

void gate_grant(struct gate *g, uint64_t lease, uint64_t slice_ns)
{
	uint64_t now = gate_now_ns();

	pthread_mutex_lock(&g->lock);
	/* While an old lease drains its release takes the new number. */
	g->lease = lease;
	g->end_ns = slice_ns && slice_ns < GATE_NEVER - now ? now + slice_ns : GATE_NEVER;
	if (g->state == GATE_IDLE || g->state == GATE_WANTING) {
		g->seen_launches = g->first_launch;
		g->seen_ns = now;
		g->looks = 0;
		streams_clear(&g->streams);
		window_begin(&g->window, gate_window_ns(g, slice_ns), g->first_launch);
		atomic_store(&g->sample_mask, g->window.size_ns ? g->window.every - 1 : UNSAMPLED);
		gate_new_epoch(g);
		g->state = GATE_HOLDING;
		gate_open(g);
	}
	pthread_mutex_unlock(&g->lock);
}

void gate_stop(struct gate *g, uint64_t lease)
{
	pthread_mutex_lock(&g->lock);
	if (g->state == GATE_HOLDING && g->lease == lease)
		gate_close(g);
	pthread_mutex_unlock(&g->lock);
}

static bool gate_captures(struct gate *g)
{
	return g->link.captures(g->link.self);
}

/* The process launches nothing. Whether the GPU does nothing either; what cannot be seen counts as
 * nothing. */
static bool gate_gpu_is_idle(struct gate *g)
{
	bool idle = true;

	if (gate_use_context(g)) {
		if (g->looks == 1)
			streams_mark(&g->streams, gate_captures(g), NULL);
		idle = streams_passed(&g->streams);
		gate_leave_context(g);
	}
	return idle;
}

static uint64_t gate_work_holding(struct gate *g, uint64_t now)
{
	uint64_t word = atomic_load_explicit(&g->word, memory_order_acquire), close;
	uint64_t idle_ns = g->end_ns == GATE_NEVER ? IDLE_FACTOR * g->idle_ns : g->idle_ns;

	if (g->end_ns != GATE_NEVER && gate_use_context(g)) {
		window_look(&g->window);
		gate_leave_context(g);
	}
	close = gate_close_ns(g);
	if (now >= close) {
		gate_close(g);
		return now;
	}
	if ((word & GATE_INSIDE) || word / GATE_LAUNCH != g->seen_launches) {
		g->seen_launches = word / GATE_LAUNCH;
		g->seen_ns = now;
		g->looks = 0;
	} else {
		g->looks++;
		if (!gate_gpu_is_idle(g))
			g->seen_ns = now;
		else if (now - g->seen_ns >= idle_ns)
			gate_close(g);
		if (g->state != GATE_HOLDING)
			return now;
	}
	now += idle_ns / 2 + 1;
	return now < close ? now : close;
}

/* Contexts that no event follows. The lock is given up meanwhile. */
static void gate_synchronize(struct gate *g)
{
	void *contexts[CONTEXTS_MAX + 1], *old;
	size_t n = 0;

	for (size_t i = 0; i < g->streams.n_others; i++)
		contexts[n++] = g->streams.others[i];
	if (g->streams.untracked && g->streams.home)
		contexts[n++] = g->streams.home;
	/* It would end a capture. */
	if (!n || gate_captures(g))
		return;
	g->syncing = true;
	pthread_mutex_unlock(&g->lock);
	for (size_t i = 0; i < n; i++) {
		if (g->driver->context_push(contexts[i]))
			continue;
		g->driver->context_synchronize();
		g->driver->context_pop(&old);
	}
	pthread_mutex_lock(&g->lock);
	g->syncing = false;
	pthread_cond_broadcast(&g->quiet);
}

static void gate_release(struct gate *g)
{
	union fair_message m;
	size_t size = fair_wire_begin(&m, FAIR_RELEASE);
	bool here = gate_use_context(g);

	m.release.lease = g->lease;
	m.release.launches = g->lease_launches;
	m.release.gpu_ns = here && m.release.launches ? streams_gpu_ns(&g->streams) : 0;
	m.release.more = g->waiting > 0;
	if (here)
		gate_leave_context(g);
	g->state = m.release.more ? GATE_WANTING : GATE_IDLE;
	g->link.send(g->link.self, &m, size);
}

/* Calls are still inside, or none is: then all work is marked, if the look for an idle GPU has not
 * done so. */
static uint64_t gate_work_entered(struct gate *g)
{
	uint64_t word = atomic_load_explicit(&g->word, memory_order_acquire);

	if (word & GATE_INSIDE)
		return GATE_NEVER;
	g->lease_launches = (word / GATE_LAUNCH - g->first_launch) % (UINT64_MAX / GATE_LAUNCH + 1);
	g->first_launch = word / GATE_LAUNCH;
	if (!(g->looks && word / GATE_LAUNCH == g->seen_launches) && gate_use_context(g)) {
		streams_mark(&g->streams, gate_captures(g), NULL);
		gate_leave_context(g);
	}
	g->state = GATE_DRAINING;
	return 0;
}

static uint64_t gate_work_draining(struct gate *g, uint64_t now)
{
	bool passed = true, give_up = g->waiting && now - g->drain_since_ns > GIVE_UP_NS;

	if (gate_use_context(g)) {
		passed = streams_passed(&g->streams);
		if (passed)
			window_look(&g->window);
		gate_leave_context(g);
	}
	if (!passed && !give_up)
		return now + (now - g->drain_since_ns > LONG_NS ? LONG_POLL_NS : POLL_NS);
	if (passed)
		gate_synchronize(g);
	if (g->state == GATE_DRAINING)
		gate_release(g);
	return 0;
}

static void gate_want(struct gate *g)
{
	union fair_message m;
	size_t size = fair_wire_begin(&m, FAIR_WANT);

	g->state = GATE_WANTING;
	g->link.send(g->link.self, &m, size);
}

/* @return 0: there is more to do at once */
static uint64_t gate_step(struct gate *g, uint64_t now)
{
	switch (g->state) {
	case GATE_IDLE:
		if (g->waiting)
			gate_want(g);
		return GATE_NEVER;
	case GATE_HOLDING:
		now = gate_work_holding(g, now);
		return g->state == GATE_HOLDING ? now : 0;
	case GATE_ENTERED:
		return gate_work_entered(g);
	case GATE_DRAINING:
		return gate_work_draining(g, now);
	default:
		return GATE_NEVER;
	}
}

uint64_t gate_work(struct gate *g)
{
	uint64_t next;

	pthread_mutex_lock(&g->lock);
	do {
		next = gate_step(g, gate_now_ns());
	} while (!next);
	pthread_mutex_unlock(&g->lock);
	return next;
}

bool gate_wants(struct gate *g)
{
	bool wants;

	pthread_mutex_lock(&g->lock);
	wants = g->state == GATE_WANTING && g->waiting;
	pthread_mutex_unlock(&g->lock);
	return wants;
}
