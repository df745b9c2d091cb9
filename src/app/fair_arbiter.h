/*
 * fair_arbiter.h - run an arbiter: its GPUs, its socket and its store, chosen as options name them.
 */
#ifndef HES_APP_FAIR_ARBITER_H
#define HES_APP_FAIR_ARBITER_H

#include "app/app.h"
#include "arbiter/server.h"

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
