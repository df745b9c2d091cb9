/*
 * gate.h - the gate of a GPU: launches pass while the process holds a lease, and wait while it
 * holds none.
 *
 * One atomic word counts the calls inside of the driver and the launches so far, and has the bit
 * that closes the gate. A launch adds to it, calls the driver, subtracts: no lock, no allocation,
 * no clock. The library's thread grants, closes, drains and releases (gate_work()). Without an
 * arbiter the gate is open. Invariant: a release is sent only when the gate is closed, no call is
 * inside, and the GPU has done all work.
 */
#ifndef HES_INTERPOSE_GATE_H
#define HES_INTERPOSE_GATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "driver.h"
#include "streams.h"
#include "window.h"

#define GATE_CLOSED (UINT64_C(1) << 24)
#define GATE_INSIDE (GATE_CLOSED - 1)
#define GATE_LAUNCH (UINT64_C(1) << 25)
#define GATE_NEVER  UINT64_MAX

enum gate_state {
	GATE_FREE,     /* no arbiter: open */
	GATE_IDLE,     /* no lease, and nobody has requested one */
	GATE_WANTING,  /* WANT is sent, or the gate is shut */
	GATE_HOLDING,  /* open */
	GATE_ENTERED,  /* closed: calls are still inside of the driver */
	GATE_DRAINING, /* closed: the GPU still works */
};

/* What a gate needs of its connection. Both may be called with the gate's lock held. */
struct gate_link {
	int (*send)(void *self, const void *message,
		    size_t size);     /* by gate_work() alone. 0 or -errno */
	void (*wake)(void *self);     /* call gate_work() soon; from any thread */
	bool (*captures)(void *self); /* whether any stream captures */
	void *self;
};

struct gate {
	_Alignas(64) _Atomic uint64_t
		word; /* launches * GATE_LAUNCH + GATE_CLOSED or 0 + calls inside */
	_Alignas(64) _Atomic uint64_t
		epoch; /* of the lease: streams are noted once in each. No two gates share one. */
	_Atomic uint32_t sample_mask; /* a launch whose number has none of these bits is sampled */
	const struct fair_driver *driver;
	struct gate_link link;
	pid_t process; /* that the link's thread is in */

	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t opened, quiet;
	enum gate_state state;
	unsigned waiting;            /* threads */
	bool syncing;                /* the library's thread waits for a context without the lock */
	uint64_t window_ns, idle_ns; /* of WELCOME */
	uint64_t lease;
	uint64_t end_ns;       /* of the lease; GATE_NEVER: until STOP */
	uint64_t first_launch; /* launches before the lease; in the word threads that turn back are
				  counted, too */
	uint64_t lease_launches; /* in it, when all calls have left */
	uint64_t drain_since_ns;
	uint64_t seen_launches, seen_ns; /* idle: the last change that was seen, and when */
	unsigned looks;                  /* since then */
	struct streams streams;
	struct window window;
};

/* What a thread remembers. */
#define GATE_NOTED 32 /* streams, a power of two */
struct gate_thread {
	unsigned inside; /* of a hook: calls that the driver makes itself pass */
	struct {
		void *stream;
		uint64_t epoch;
	} noted[GATE_NOTED];
};
extern _Thread_local struct gate_thread gate_thread __attribute__((tls_model("initial-exec")));

/** An open gate without arbiter. */
void gate_init(struct gate *g, const struct fair_driver *driver, const struct gate_link *link);
/** Make the events, in @context, which is current. @return 0, or the driver's error: nothing is
 * sampled then */
int gate_adopt(struct gate *g, void *context);

/* --- threads of the program --- */

/** Wait until the gate is open. The caller's launch is counted. @return the word before it was */
uint64_t gate_wait(struct gate *g);
void gate_note(struct gate *g, void *stream, void *context);
void gate_sample(struct gate *g, void *stream, uint64_t launches);
void gate_left(struct gate *g);

static inline size_t gate_slot(const void *stream)
{
	uintptr_t at = (uintptr_t)stream;

	return (at >> 4 ^ at >> 9 ^ at) % GATE_NOTED;
}

/* @return the number of the launch, for gate_leave() */
static inline uint64_t gate_enter(struct gate *g, void *stream, void *context)
{
	uint64_t before =
		atomic_fetch_add_explicit(&g->word, GATE_LAUNCH + 1, memory_order_acq_rel);
	size_t slot = gate_slot(stream);

	if (__builtin_expect((before & GATE_CLOSED) != 0, 0))
		before = gate_wait(g);
	if (__builtin_expect(gate_thread.noted[slot].stream != stream ||
				     gate_thread.noted[slot].epoch !=
					     atomic_load_explicit(&g->epoch, memory_order_relaxed),
			     0))
		gate_note(g, stream, context);
	return before / GATE_LAUNCH + 1;
}

/* A call that is not held up, but that a release waits for. */
static inline void gate_enter_freely(struct gate *g)
{
	atomic_fetch_add_explicit(&g->word, 1, memory_order_acq_rel);
}

static inline void gate_leave_freely(struct gate *g)
{
	uint64_t before = atomic_fetch_sub_explicit(&g->word, 1, memory_order_acq_rel);

	if (__builtin_expect((before & (GATE_CLOSED | GATE_INSIDE)) == GATE_CLOSED + 1, 0))
		gate_left(g);
}

static inline void gate_leave(struct gate *g, void *stream, uint64_t launch)
{
	if (__builtin_expect(
		    !(launch & atomic_load_explicit(&g->sample_mask, memory_order_relaxed)), 0))
		gate_sample(g, stream, launch);
	gate_leave_freely(g);
}

/** @stream begins to capture when this has returned, after captures_begin(). Its work so far is
 * marked. */
void gate_capture_begins(struct gate *g, void *stream);
void gate_forget_stream(struct gate *g, void *stream);
/** Before a context is destroyed. */
void gate_forget_context(struct gate *g, void *context);

/* --- the thread of the library --- */

/** The arbiter has welcomed the process. */
void gate_connect(struct gate *g, uint64_t window_ns, uint64_t idle_ns);
/** Launches wait until the next gate_connect() or gate_disconnect(). */
void gate_shut(struct gate *g);
/** There is no arbiter (any more). */
void gate_disconnect(struct gate *g);
void gate_grant(struct gate *g, uint64_t lease, uint64_t slice_ns);
void gate_stop(struct gate *g, uint64_t lease);
/** Run all actions whose time has come. @return when to call again, ns of gate_now_ns();
 * GATE_NEVER: at the next event */
uint64_t gate_work(struct gate *g);

/** @return whether threads wait for a lease */
bool gate_wants(struct gate *g);

uint64_t gate_now_ns(void);

#endif
