/*
 * fair_arbiter.c - an arbiter with its GPUs and its store; see fair_arbiter.h.
 */
#include "app/fair_arbiter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/catalogue.h"
#include "app/fair_client.h"
#include "app/gpus_chosen.h"
#include "app/gpus_visible.h"
#include "app/known_store.h"

/* The store that profiles go to. A user without a home has none. */
static int store_choose(const struct fair_arbiter_request *q, char **out, struct hes_err *err)
{
	struct hes_store *s;
	int rc = app_store_open(q->app, q->store, HES_STORE_WRITE, HES_STORE_WAIT_MS, &s, err);

	*out = NULL;
	if (rc)
		return rc;
	*out = strdup(hes_store_path(s));
	hes_store_close(s);
	return *out ? 0 : hes_fail(err, -ENOMEM, "out of memory");
}

int fair_arbiter_run(const struct fair_arbiter_request *q, struct hes_err *err)
{
	struct arbiter_server_config c = q->config;
	struct hes_catalogue types = { 0 };
	struct hes_devices *d = NULL;
	char path[FAIR_SOCKET_MAX], *store = NULL;
	size_t *gpus = NULL;
	int rc = gpus_check(q->gpus, err);

	if (!rc)
		rc = fair_socket_own(q->app, q->socket, path, err);
	if (!rc)
		rc = app_catalogue_load(q->app, q->catalogue, true, &types, err);
	if (!rc)
		rc = app_devices_open(q->app, &types, &d, err);
	hes_catalogue_free(&types);
	if (!rc)
		rc = gpus_choose(q->app, d, q->gpus, GPUS_SHARE, &gpus, &c.n_gpus, err);
	if (!rc && c.n_gpus > ARBITER_MAX_GPUS)
		rc = hes_fail(err, -EINVAL,
			      "%zu GPUs are more than the %d that an arbiter takes; choose some "
			      "with --gpus",
			      c.n_gpus, ARBITER_MAX_GPUS);
	if (!rc && store_choose(q, &store, err)) {
		app_say(q->app, "%s", err->msg);
		app_say(q->app, "profiles of tenants are not kept");
	}
	if (!rc) {
		c.gpus = gpus;
		c.devices = d;
		c.socket = path;
		c.store = store;
		q->chosen(c.ctx, gpus);
		rc = arbiter_serve(&c, err);
	}
	/* A thread that hangs in the driver still uses these. */
	if (rc == -ETIMEDOUT)
		return rc;
	hes_devices_close(d);
	free(gpus);
	free(store);
	return rc;
}
