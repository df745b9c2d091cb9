/*
 * fair_client.h - a connection to an arbiter, to query or change it; and an arbiter of one's own,
 * with its GPUs, its socket and its store as options name them.
 */
#ifndef HES_APP_FAIR_CLIENT_H
#define HES_APP_FAIR_CLIENT_H

#include <stddef.h>

#include "app/app.h"
#include "arbiter/server.h"
#include "fair/fair_wire.h"
#include "heshare/err.h"

#define FAIR_SOCKET_MAX 108

/** The arbiter that a client looks for: @given, HESHARE_FAIR_SOCKET, the user's own if one answers
 * there, else root's. */
int fair_socket_find(const struct app *app, const char *given, char out[FAIR_SOCKET_MAX],
		     struct hes_err *err);
/** Where an arbiter of this user listens: @given, HESHARE_FAIR_SOCKET, else root's or the user's
 * own. */
int fair_socket_own(const struct app *app, const char *given, char out[FAIR_SOCKET_MAX],
		    struct hes_err *err);

/** @return a descriptor; -ENOENT, -ECONNREFUSED no arbiter is there; -errno */
int fair_client_open(const char *path, struct hes_err *err);
int fair_client_send(int fd, const union fair_message *m, size_t length, struct hes_err *err);
/** Wait for a message, some seconds at most. What the arbiter refuses is an error with its
 * sentence. @return 0; -errno */
int fair_client_receive(int fd, union fair_message *out, struct hes_err *err);

struct fair_arbiter_request {
	const struct app *app;
	const char *gpus, *socket, *catalogue, *store; /* NULL: the usual ones */
	struct arbiter_server_config config; /* devices, GPUs, socket and store are filled in */
	/** The indices of the GPUs, with the context of the configuration; they stay valid. */
	void (*chosen)(void *ctx, const size_t *gpus);
};

/** Serve until a signal ends it. @return 0; -errno */
int fair_arbiter_run(const struct fair_arbiter_request *q, struct hes_err *err);

#endif
