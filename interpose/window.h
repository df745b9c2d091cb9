/*
 * window.h - how much work of a lease waits on the GPU: sampled by events, and bounded.
 *
 * Every k launches an event is recorded. k follows the GPU time of a launch so that the time
 * between two events is about a quarter of the window. Who launches while too many events are
 * pending waits for the oldest. The caller holds the gate's lock; the context of the events is
 * current.
 */
#ifndef HES_INTERPOSE_WINDOW_H
#define HES_INTERPOSE_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver.h"

#define WINDOW_EVENTS 8
#define WINDOW_PARTS  4 /* events that a full window has */
#define WINDOW_PENDING_MAX \
	(WINDOW_EVENTS - 2)  /* ... and where launches are so short that the parts are smaller */
#define WINDOW_EVERY_MAX 256 /* launches between two events at most */

struct window {
	const struct fair_driver *driver;
	bool ready;                /* the events are there */
	uint64_t size_ns;          /* 0: no bound, nothing is sampled */
	uint32_t every;            /* k, a power of two */
	double launch_ns;          /* GPU time of a launch; 0: not known */
	void *start;               /* event before the first launch of the lease; NULL: none */
	uint64_t first_launch;     /* launches before it */
	uint64_t recorded, passed; /* events so far; the ring has those between, and one before */
	uint64_t passed_launches;  /* launches before the last event that passed */
	struct {
		void *event;
		uint64_t launches; /* made before it */
	} ring[WINDOW_EVENTS];
};

/** @return 0, or the driver's error */
int window_prepare(struct window *w);
/** The context of the events is gone. */
void window_forget(struct window *w);
/** A lease begins after @launches. @size_ns 0: no bound */
void window_begin(struct window *w, uint64_t size_ns, uint64_t launches);
/** Take note of the events that have passed. */
void window_look(struct window *w);
/** Record an event after launch number @launches. */
void window_record(struct window *w, void *stream, uint64_t launches);
/** @return the event to wait for before the next launch; NULL: there is room */
void *window_full(const struct window *w);
/** @return GPU time of the launches that wait, ns, by what is known */
uint64_t window_pending_ns(const struct window *w, uint64_t launches);

#endif
