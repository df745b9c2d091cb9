/*
 * driver.h - the functions of the CUDA driver that the library calls itself, and their numbers.
 *
 * places.c fills the table with the real functions; a test fills it with its own. Handles are
 * opaque pointers.
 */
#ifndef HES_INTERPOSE_DRIVER_H
#define HES_INTERPOSE_DRIVER_H

#include <stdint.h>

enum {
	DRIVER_OK = 0,
	DRIVER_NOT_READY = 600,
};

#define DRIVER_EVENT_DEFAULT       0
#define DRIVER_EVENT_BLOCKING_SYNC 1 /* a thread that waits for the event sleeps */
#define DRIVER_CAPTURE_RELAXED \
	2 /* a mode of a thread: its calls do not disturb captures of other threads */

/* Streams that are no handles. */
#define STREAM_LEGACY     ((void *)0) /* also 1 */
#define STREAM_PER_THREAD ((void *)2) /* another stream for each thread that says so */

struct fair_driver {
	int (*context_current)(void **out);
	int (*context_device)(int *out);
	int (*context_push)(void *context);
	int (*context_pop)(void **out);
	int (*context_synchronize)(void);
	int (*stream_context)(void *stream, void **out);       /* may be NULL */
	int (*stream_is_capturing)(void *stream, int *status); /* may be NULL: nothing captures */
	int (*capture_mode)(int *mode);                        /* exchange; may be NULL */
	int (*event_create)(void **out, unsigned flags);
	int (*event_record)(void *event, void *stream);
	int (*event_query)(void *event);
	int (*event_synchronize)(void *event);
	int (*event_elapsed)(float *ms, void *from, void *to);
	int (*device_uuid)(uint8_t out[16], int device);
};

#endif
