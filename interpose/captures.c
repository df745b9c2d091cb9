/*
 * captures.c - the streams that capture; see captures.h.
 */
#include "captures.h"

#include <pthread.h>
#include <stddef.h>

#define CAPTURES_MAX 64

_Atomic unsigned captures_count;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static void *streams[CAPTURES_MAX];
static size_t n_streams;

void captures_begin(void *stream)
{
	pthread_mutex_lock(&lock);
	/* Without room the count stays above 0, and from then on each launch queries the driver. */
	if (n_streams < CAPTURES_MAX)
		streams[n_streams++] = stream;
	atomic_fetch_add(&captures_count, 1);
	pthread_mutex_unlock(&lock);
}

void captures_end(void *stream)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < n_streams; i++) {
		if (streams[i] == stream) {
			streams[i] = streams[--n_streams];
			atomic_fetch_sub(&captures_count, 1);
			break;
		}
	}
	pthread_mutex_unlock(&lock);
}

bool captures_has(const void *stream)
{
	bool has = false;

	if (!captures_any())
		return false;
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < n_streams; i++)
		has |= streams[i] == stream;
	pthread_mutex_unlock(&lock);
	return has;
}

bool captures_hold(const struct fair_driver *d, void *stream)
{
	int status = 0;

	return d->stream_is_capturing && (d->stream_is_capturing(stream, &status) || status);
}

void captures_after_fork(void)
{
	pthread_mutex_init(&lock, NULL);
	n_streams = 0;
	atomic_store(&captures_count, 0);
}
