/*
 * window.c - bound the work that waits on the GPU; see window.h.
 */
#include "window.h"

#define TRUST 0.5 /* of a new sample of a launch's time */

int window_prepare(struct window *w)
{
	int rc = 0;

	for (int i = 0; !rc && i < WINDOW_EVENTS; i++)
		rc = w->driver->event_create(&w->ring[i].event, DRIVER_EVENT_BLOCKING_SYNC);
	w->ready = !rc;
	return rc;
}

void window_forget(struct window *w)
{
	w->ready = false;
	w->recorded = w->passed = 0;
}

/* The greatest power of two of launches that takes a part of the window. */
static uint32_t window_every(const struct window *w)
{
	uint32_t k = 1;

	while (k < WINDOW_EVERY_MAX && 2 * k * w->launch_ns <= (double)w->size_ns / WINDOW_PARTS)
		k *= 2;
	return k;
}

void window_begin(struct window *w, uint64_t size_ns, uint64_t launches)
{
	w->size_ns = size_ns;
	w->recorded = w->passed = 0;
	w->passed_launches = w->first_launch = launches;
	w->start = NULL;
	/* What was launched in the last lease may not be what comes now. */
	w->every = w->launch_ns > 0 && size_ns ? (window_every(w) + 7) / 8 : 1;
}

static void window_learn(struct window *w, void *from, uint64_t before, void *to, uint64_t launches)
{
	uint32_t want;
	float ms;

	if (!from || launches <= before || w->driver->event_elapsed(&ms, from, to))
		return;
	w->launch_ns += (w->launch_ns > 0 ? TRUST : 1) *
			((double)ms * 1e6 / (double)(launches - before) - w->launch_ns);
	want = window_every(w);
	w->every = want > 2 * w->every ? 2 * w->every : want;
}

void window_look(struct window *w)
{
	while (w->ready && w->passed < w->recorded) {
		uint64_t at = w->passed % WINDOW_EVENTS,
			 last = (w->passed + WINDOW_EVENTS - 1) % WINDOW_EVENTS;

		if (w->driver->event_query(w->ring[at].event) == DRIVER_NOT_READY)
			return;
		if (w->passed)
			window_learn(w, w->ring[last].event, w->ring[last].launches,
				     w->ring[at].event, w->ring[at].launches);
		else
			window_learn(w, w->start, w->first_launch, w->ring[at].event,
				     w->ring[at].launches);
		w->passed_launches = w->ring[at].launches;
		w->passed++;
	}
}

void window_record(struct window *w, void *stream, uint64_t launches)
{
	uint64_t i = w->recorded % WINDOW_EVENTS;

	if (!w->ready || !w->size_ns || w->recorded - w->passed >= WINDOW_EVENTS - 1)
		return;
	if (w->driver->event_record(w->ring[i].event, stream))
		return;
	w->ring[i].launches = launches;
	w->recorded++;
}

void *window_full(const struct window *w)
{
	double part = (double)w->every * w->launch_ns, size = (double)w->size_ns;
	uint64_t most = WINDOW_PENDING_MAX;

	/* Nothing is known yet, or one launch takes longer than a part. */
	if (!(w->launch_ns > 0) || part > size)
		most = 1;
	else if (part * WINDOW_PENDING_MAX > size)
		most = (uint64_t)(size / part);
	return w->ready && w->size_ns && w->recorded - w->passed > most
		       ? w->ring[w->passed % WINDOW_EVENTS].event
		       : NULL;
}

uint64_t window_pending_ns(const struct window *w, uint64_t launches)
{
	return launches > w->passed_launches
		       ? (uint64_t)((double)(launches - w->passed_launches) * w->launch_ns)
		       : 0;
}
