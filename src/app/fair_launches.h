/*
 * fair_launches.h - count the launches of one command, by the preload library: an arbiter that
 * gives the GPU to the process that wants it (fair/fair_wire.h).
 */
#ifndef HES_APP_FAIR_LAUNCHES_H
#define HES_APP_FAIR_LAUNCHES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/app.h"

#define LAUNCH_COUNTER_PROCESSES 8

struct launch_counter {
	int fd;                 /* -1: it is not open */
	char *preload, *socket; /* variables for the command; owned */
	struct {
		int fd;
		uint64_t lease; /* 0: it has none */
		bool wants;
	} process[LAUNCH_COUNTER_PROCESSES];
	size_t n;
	uint64_t lease; /* the last one */
	size_t released;
	uint64_t launches, gpu_ns; /* of leases that were released since the last begin */
};

/** @param place  as of fair_library_preload(). @param folder  for the socket. @return 0; -ENOENT,
 * -EPERM no library; -errno */
int launch_counter_open(struct launch_counter *c, const struct app *app, const char *place,
			const char *folder, struct hes_err *err);
void launch_counter_close(struct launch_counter *c);
/** Answer what came; call it every few milliseconds. Harmless on one that is not open. */
void launch_counter_serve(struct launch_counter *c);
/** Count from now on. */
void launch_counter_begin(struct launch_counter *c);
/**
 * End the leases, and tell what was counted.
 * @param launches  kernels, graphs, copies and host functions
 * @param gpu_s     from the first one to the end of the last one
 * @return false: nothing is known, or several processes launched
 */
bool launch_counter_end(struct launch_counter *c, uint64_t *launches, double *gpu_s);

#endif
