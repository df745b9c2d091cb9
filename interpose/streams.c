/*
 * streams.c - streams of a lease; see streams.h.
 */
#include "streams.h"

#include "captures.h"

static bool stream_is_legacy(const void *stream)
{
	return (uintptr_t)stream <= 1;
}

int streams_prepare(struct streams *s)
{
	const struct fair_driver *d = s->driver;
	int rc = d->event_create(&s->start, DRIVER_EVENT_DEFAULT);

	for (size_t i = 0; !rc && i < STREAMS_MAX; i++)
		rc = d->event_create(&s->rows[i].event, DRIVER_EVENT_DEFAULT);
	s->ready = !rc;
	return rc;
}

void streams_clear(struct streams *s)
{
	s->n = s->n_others = 0;
	s->untracked = s->started = false;
}

static void context_note(struct streams *s, void *context)
{
	size_t i = 0;

	while (i < s->n_others && s->others[i] != context)
		i++;
	if (i == s->n_others && i < CONTEXTS_MAX)
		s->others[s->n_others++] = context;
}

void streams_note(struct streams *s, void *stream, void *context, bool captures)
{
	size_t i = 0;

	if (context != s->home) {
		context_note(s, context);
		return;
	}
	if (s->ready && !s->started && !(captures && stream_is_legacy(stream)))
		s->started = !s->driver->event_record(s->start, stream);
	while (i < s->n && s->rows[i].stream != stream)
		i++;
	if (!s->ready || stream == STREAM_PER_THREAD || i == STREAMS_MAX) {
		s->untracked = true;
	} else if (i == s->n) {
		s->rows[i].stream = stream;
		s->rows[i].pending = false;
		s->n++;
	}
}

void streams_forget(struct streams *s, void *stream)
{
	for (size_t i = 0; i < s->n; i++) {
		if (s->rows[i].stream == stream) {
			struct stream_row gone = s->rows[i];

			s->rows[i] = s->rows[--s->n];
			s->rows[s->n] = gone;
			s->untracked = true;
			return;
		}
	}
}

void streams_forget_context(struct streams *s, void *context)
{
	for (size_t i = 0; i < s->n_others; i++)
		if (s->others[i] == context)
			s->others[i--] = s->others[--s->n_others];
	if (context != s->home)
		return;
	s->home = NULL;
	s->ready = s->started = s->untracked = false;
	s->n = 0;
}

/* An event in a stream that captures would end the capture, and in the legacy stream that of any
 * blocking stream. */
static bool row_mark(const struct streams *s, struct stream_row *r, bool captures,
		     const void *begins)
{
	if (captures && stream_is_legacy(r->stream))
		return false;
	/* Its event is from before the capture: streams_mark() was called then. */
	if (r->stream != begins && captures_has(r->stream))
		return r->pending;
	/* This one has joined a capture, by an event. */
	if (captures && captures_hold(s->driver, r->stream))
		return false;
	return !s->driver->event_record(r->event, r->stream);
}

void streams_mark(struct streams *s, bool captures, const void *begins)
{
	for (size_t i = 0; i < s->n; i++) {
		struct stream_row *r = &s->rows[i];

		r->pending = row_mark(s, r, captures, begins);
		if (!r->pending)
			s->untracked = true;
	}
}

bool streams_passed(struct streams *s)
{
	bool all = true;

	for (size_t i = 0; i < s->n; i++) {
		struct stream_row *r = &s->rows[i];

		/* A context that has failed does no more work: an error is an end, too. */
		if (r->pending && s->driver->event_query(r->event) == DRIVER_NOT_READY)
			all = false;
	}
	return all;
}

uint64_t streams_gpu_ns(const struct streams *s)
{
	float ms, most = 0;

	if (!s->started || s->untracked || s->n_others)
		return 0;
	for (size_t i = 0; i < s->n; i++)
		if (s->rows[i].pending &&
		    !s->driver->event_elapsed(&ms, s->start, s->rows[i].event) && ms > most)
			most = ms;
	return (uint64_t)((double)most * 1e6);
}
