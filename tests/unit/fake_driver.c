/*
 * fake_driver.c - a CUDA driver for tests of the gate; see fake_driver.h.
 */
#include "fake_driver.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#define MAX_EVENTS 512

_Atomic bool fake_allowed, fake_captures;
_Atomic unsigned fake_wrong;
_Atomic uint64_t fake_launches, fake_syncs, fake_most_ns;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static bool still_time;
static uint64_t now_ns, end_ns; /* of the GPU: a still one's time; when all work is done */
static struct {
	uint64_t at_ns;
} events[MAX_EVENTS];
static size_t n_events;

static uint64_t fake_now(void)
{
	struct timespec t;

	if (still_time)
		return now_ns;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void fake_reset(bool still)
{
	pthread_mutex_lock(&lock);
	still_time = still;
	now_ns = end_ns = 1;
	n_events = 0;
	pthread_mutex_unlock(&lock);
	atomic_store(&fake_allowed, true);
	atomic_store(&fake_captures, false);
	atomic_store(&fake_wrong, 0);
	atomic_store(&fake_launches, 0);
	atomic_store(&fake_syncs, 0);
	atomic_store(&fake_most_ns, 0);
}

void fake_launch(void *stream, uint64_t ns)
{
	(void)stream;
	pthread_mutex_lock(&lock);
	if (!atomic_load(&fake_allowed))
		atomic_fetch_add(&fake_wrong, 1);
	atomic_fetch_add(&fake_launches, 1);
	end_ns = (end_ns > fake_now() ? end_ns : fake_now()) + ns;
	if (end_ns - fake_now() > atomic_load(&fake_most_ns))
		atomic_store(&fake_most_ns, end_ns - fake_now());
	pthread_mutex_unlock(&lock);
}

void fake_finish(void)
{
	pthread_mutex_lock(&lock);
	now_ns = end_ns;
	pthread_mutex_unlock(&lock);
}

uint64_t fake_pending_ns(void)
{
	uint64_t ns;

	pthread_mutex_lock(&lock);
	ns = end_ns > fake_now() ? end_ns - fake_now() : 0;
	pthread_mutex_unlock(&lock);
	return ns;
}

static int context_current(void **out)
{
	*out = FAKE_CONTEXT;
	return 0;
}

static int context_device(int *out)
{
	*out = 0;
	return 0;
}

static int context_push(void *context)
{
	return context == FAKE_CONTEXT ? 0 : 201;
}

static void wait_until(uint64_t at)
{
	for (;;) {
		struct timespec t = { .tv_nsec = 20000 };
		bool done;

		pthread_mutex_lock(&lock);
		if (still_time && now_ns < at)
			now_ns = at;
		done = fake_now() >= at;
		pthread_mutex_unlock(&lock);
		if (done)
			return;
		nanosleep(&t, NULL);
	}
}

static int context_synchronize(void)
{
	uint64_t at;

	atomic_fetch_add(&fake_syncs, 1);
	pthread_mutex_lock(&lock);
	at = end_ns;
	pthread_mutex_unlock(&lock);
	wait_until(at);
	return 0;
}

static int stream_is_capturing(void *stream, int *status)
{
	*status = atomic_load(&fake_captures) && stream == FAKE_STREAM(1);
	return 0;
}

static int event_create(void **out, unsigned flags)
{
	int rc = 2;

	(void)flags;
	pthread_mutex_lock(&lock);
	if (n_events < MAX_EVENTS) {
		events[n_events].at_ns = 0;
		*out = &events[n_events++];
		rc = 0;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

static int event_record(void *event, void *stream)
{
	size_t i = (size_t)((char *)event - (char *)events) / sizeof(events[0]);

	if (stream == FAKE_FOREIGN)
		return 400;
	pthread_mutex_lock(&lock);
	if (atomic_load(&fake_captures) && (!stream || stream == FAKE_STREAM(1)))
		atomic_fetch_add(&fake_wrong, 1);
	events[i].at_ns = end_ns > fake_now() ? end_ns : fake_now();
	pthread_mutex_unlock(&lock);
	return 0;
}

static uint64_t event_at(void *event)
{
	uint64_t at;

	pthread_mutex_lock(&lock);
	at = events[(size_t)((char *)event - (char *)events) / sizeof(events[0])].at_ns;
	pthread_mutex_unlock(&lock);
	return at;
}

static int event_query(void *event)
{
	uint64_t at = event_at(event);
	bool done;

	pthread_mutex_lock(&lock);
	done = fake_now() >= at;
	pthread_mutex_unlock(&lock);
	return done ? 0 : DRIVER_NOT_READY;
}

static int event_synchronize(void *event)
{
	wait_until(event_at(event));
	return 0;
}

static int event_elapsed(float *ms, void *from, void *to)
{
	*ms = (float)((double)(event_at(to) - event_at(from)) * 1e-6);
	return 0;
}

static int device_uuid(uint8_t out[16], int device)
{
	memset(out, device + 1, 16);
	return 0;
}

const struct fair_driver fake_driver = {
	.context_current = context_current,
	.context_device = context_device,
	.context_push = context_push,
	.context_pop = context_current,
	.context_synchronize = context_synchronize,
	.stream_is_capturing = stream_is_capturing,
	.event_create = event_create,
	.event_record = event_record,
	.event_query = event_query,
	.event_synchronize = event_synchronize,
	.event_elapsed = event_elapsed,
	.device_uuid = device_uuid,
};
