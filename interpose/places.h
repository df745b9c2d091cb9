/*
 * places.h - the contexts of the process, and the gate of each: which GPU a call goes to.
 *
 * A process with one context has one place, found by one load. With more, launched in or not, the
 * stream or the calling thread's context tells. The first gated call of a GPU starts its link.
 * Before that the library does nothing but count contexts.
 */
#ifndef HES_INTERPOSE_PLACES_H
#define HES_INTERPOSE_PLACES_H

#include <stdatomic.h>

#include "captures.h"
#include "gate.h"

struct place {
	void *_Atomic context; /* NULL: free */
	struct gate *gate;
	int device;
};

extern struct place *_Atomic place_only; /* NULL: none, or several */
extern struct fair_driver places_driver;

/** @return the place of a call; NULL: let it pass */
struct place *place_find(void *stream);
/** Whether the calling thread is where the only place is; several places otherwise. */
void place_check(const struct place *p);
/** A context is there: the process may launch in it. */
void places_note(void *context);
/** A context is about to go. @return its place, which it has no more; NULL: it had none */
struct place *places_forget(void *context);
/** @return the context that a release of the device's primary context may destroy; NULL: none is
 * known */
void *places_primary(int device);
void places_note_primary(int device, void *context);
/** For each gate there is. */
void places_forget_stream(void *stream);
void places_capture_begins(void *stream);

#define PLACE_CHECK_EVERY 1024 /* launches */

/* A call that has begun. */
struct pass {
	struct place *place;
	void *stream;
	uint64_t launch;
	bool works; /* on the GPU: it is no part of another call, and is not captured */
};

static inline struct pass pass_begin(void *stream)
{
	struct pass p = { .stream = stream };

	/* What the driver calls itself belongs to the call that passed. */
	if (__builtin_expect(gate_thread.inside++ != 0, 0))
		return p;
	if (__builtin_expect(captures_any(), 0) && captures_hold(&places_driver, stream))
		return p;
	p.works = true;
	p.place = atomic_load_explicit(&place_only, memory_order_acquire);
	if (__builtin_expect(!p.place, 0))
		p.place = place_find(stream);
	if (p.place)
		p.launch =
			gate_enter(p.place->gate, stream,
				   atomic_load_explicit(&p.place->context, memory_order_relaxed));
	return p;
}

static inline void pass_end(const struct pass *p)
{
	if (p->place) {
		gate_leave(p->place->gate, p->stream, p->launch);
		if (__builtin_expect(p->launch % PLACE_CHECK_EVERY == 0, 0))
			place_check(p->place);
	}
	gate_thread.inside--;
}

#endif
