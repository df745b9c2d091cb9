/*
 * streams.h - the streams that a lease has used, and whether the GPU has done all their work.
 *
 * A table of fixed size with an event for each stream. Work that no event of the library's thread
 * can follow (more streams than rows, default streams of threads, further contexts) is waited for
 * with the whole context. The caller holds the gate's lock, unless said otherwise.
 */
#ifndef HES_INTERPOSE_STREAMS_H
#define HES_INTERPOSE_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver.h"

#define STREAMS_MAX  64
#define CONTEXTS_MAX 16

struct stream_row {
	void *stream;
	void *event;  /* at the end of its work, once recorded */
	bool pending; /* the event is recorded and was not seen to pass */
};

struct streams {
	const struct fair_driver *driver;
	void *home;     /* context of the events; NULL: none yet */
	bool ready;     /* the events are there */
	bool untracked; /* a row or its event is missing: wait for the whole context */
	bool started;   /* the first launch of the lease has its event before it */
	void *start;
	size_t n; /* rows in use */
	struct stream_row rows[STREAMS_MAX];
	size_t n_others;
	void *others[CONTEXTS_MAX]; /* further contexts that the lease has used */
};

/** Make the events of @home. Its context is current. @return 0, or the driver's error */
int streams_prepare(struct streams *s);
/** A lease begins: nothing is used yet. */
void streams_clear(struct streams *s);
/** A stream has work from now on. The calling thread is about to launch into it. */
void streams_note(struct streams *s, void *stream, void *context, bool captures);
/** A stream is about to go. Its work has to be waited for with the context. */
void streams_forget(struct streams *s, void *stream);
/** A context is about to go, with all its work and events. */
void streams_forget_context(struct streams *s, void *context);

/**
 * Mark the end of all work so far. The home context is current. @captures: streams capture, which
 * must not be touched;
 * @begins is about to, and can be marked still. What cannot be marked is untracked.
 */
void streams_mark(struct streams *s, bool captures, const void *begins);
/** @return whether all that streams_mark() marked has passed. The home context is current. */
bool streams_passed(struct streams *s);
/** @return GPU time from the first launch to the last end, ns; 0: not known. After
 * streams_passed(). */
uint64_t streams_gpu_ns(const struct streams *s);

#endif
