/*
 * cuda_driver.h - functions of the CUDA driver, found at run time.
 *
 * NVIDIA's versions by name: those with _v2 are what every CUDA from 3.2 or 4.0 on has under the
 * base name.
 */
#ifndef HES_PAPERS_CUDA_DRIVER_H
#define HES_PAPERS_CUDA_DRIVER_H

#include "heshare/err.h"

#define CUDA_NOT_READY           600
#define CUDA_STREAM_NON_BLOCKING 1u

struct cuda_driver {
	void *library;
	int (*init)(unsigned flags);
	int (*device_get)(int *out, int ordinal);
	int (*primary_retain)(void **context, int device);
	int (*primary_release)(int device);
	int (*push)(void *context);
	int (*pop)(void **context);
	int (*stream_create)(void **out, unsigned flags);
	int (*stream_destroy)(void *stream);
	int (*event_create)(void **out, unsigned flags);
	int (*event_destroy)(void *event);
	int (*event_record)(void *event, void *stream);
	int (*event_query)(void *event);
	int (*event_elapsed)(float *ms, void *from, void *to);
	int (*launch)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
		      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
		      void *stream, void **params, void **extra);
	int (*error_name)(int code, const char **out);
};

/** Load the driver and initialise it. @return 0; -ENODEV there is none; -EIO it refuses */
int cuda_driver_open(struct cuda_driver *d, struct hes_err *err);

void cuda_driver_close(struct cuda_driver *d);

/** A sentence with the driver's name of the error. @return -EIO; -ENOMEM and -ENODEV where the code
 * says so */
int cuda_driver_fail(const struct cuda_driver *d, const char *what, int code, struct hes_err *err);

#endif
