/*
 * server.h - the arbiter as a process: its socket, its clock, a thread for each GPU.
 *
 * One thread serves all clients, and nothing in it may block. A GPU whose driver does not answer is
 * still shared, without clocks and by known powers.
 */
#ifndef HES_ARBITER_SERVER_H
#define HES_ARBITER_SERVER_H

#include "arbiter/arbiter.h"
#include "arbiter/listener.h"
#include "heshare/device.h"

struct arbiter_server_config {
	struct arbiter_config arbiter; /* gpus and n_gpus are filled in */
	const struct hes_devices *devices;
	const size_t *gpus; /* [n_gpus], indices of devices */
	size_t n_gpus;
	const char *socket;
	struct listener_allow allow;
	const char *store;        /* NULL: none */
	const char *const *guard; /* program of the guard; ends with NULL */
	/** It serves; or something happened. Called by the serving thread. */
	void (*started)(void *ctx, const struct arbiter_gpu_config *gpus, size_t n);
	void (*note)(void *ctx, const struct arbiter_note *n);
	/** A sentence about a GPU. */
	void (*say)(void *ctx, size_t gpu, const char *sentence);
	void *ctx;
};

/**
 * Serve until SIGINT or SIGTERM. Then clocks are set back and the socket is gone.
 * @return 0; -EADDRINUSE another arbiter serves at the socket; -EBUSY a run, a profile or another
 * arbiter has one of the GPUs; -EIO, -ETIMEDOUT a clock could not be set back; -ENODEV, -ENOMEM,
 * ...
 */
int arbiter_serve(const struct arbiter_server_config *c, struct hes_err *err);

/** The 16 bytes of a UUID such as GPU-7d4c...; @return whether the text is a UUID */
bool arbiter_parse_uuid(const char *text, uint8_t out[16]);

#endif
