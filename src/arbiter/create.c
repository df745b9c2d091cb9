/*
 * create.c - create and destroy an arbiter, with all of its memory; see arbiter_state.h.
 */
#include <errno.h>
#include <stdlib.h>

#include "arbiter/arbiter_state.h"

static int config_check(const struct arbiter_config *c, struct hes_err *err)
{
	if (c->n_gpus < 1 || c->n_gpus > ARBITER_MAX_GPUS)
		return hes_fail(err, -EINVAL, "%zu GPUs are outside 1 to %d", c->n_gpus,
				ARBITER_MAX_GPUS);
	if (c->connections < 1 || c->connections > ARBITER_MAX_CONNECTIONS)
		return hes_fail(err, -EINVAL, "%u connections are outside 1 to %d", c->connections,
				ARBITER_MAX_CONNECTIONS);
	if (c->kept >= c->connections)
		return hes_fail(err, -EINVAL, "%u of %u connections cannot be kept", c->kept,
				c->connections);
	if (c->per_user < 1 || c->per_user > ARBITER_MAX_PER_USER)
		return hes_fail(err, -EINVAL, "%u connections of a user are outside 1 to %d",
				c->per_user, ARBITER_MAX_PER_USER);
	if (!(c->max_weight >= HES_FAIR_MIN_NUMBER && c->max_weight <= HES_FAIR_MAX_NUMBER))
		return hes_fail(err, -EINVAL, "a greatest weight of %g is outside %g to %g",
				c->max_weight, HES_FAIR_MIN_NUMBER, HES_FAIR_MAX_NUMBER);
	return 0;
}

static int gpu_create(struct arbiter *a, size_t i, struct hes_err *err)
{
	struct gpu *g = &a->gpus[i];

	g->c = a->c.gpus[i];
	g->phi = a->c.queue.phi;
	g->next = g->switching = NONE;
	g->clocks = a->c.clocks;
	g->by_queue = calloc(a->n_tenants, sizeof(*g->by_queue));
	if (!g->by_queue)
		return hes_fail(err, -ENOMEM, "out of memory for an arbiter");
	return hes_fair_queue_create(&a->c.queue, &g->queue, err);
}

int arbiter_create(const struct arbiter_config *c, const struct arbiter_out *out, uint64_t now,
		   struct arbiter **made, struct hes_err *err)
{
	int rc = config_check(c, err);
	struct arbiter *a = rc ? NULL : calloc(1, sizeof(*a));

	if (rc)
		return rc;
	if (!a)
		return hes_fail(err, -ENOMEM, "out of memory for an arbiter");
	a->c = *c;
	a->out = *out;
	a->started_ns = a->next_sweep_ns = now;
	a->n_tenants = c->connections + SPARE;
	a->gpus = calloc(c->n_gpus, sizeof(*a->gpus));
	a->connections = calloc(c->connections, sizeof(*a->connections));
	a->tenants = calloc(a->n_tenants, sizeof(*a->tenants));
	a->users = calloc(a->n_tenants, sizeof(*a->users));
	a->measured = calloc(a->n_tenants, sizeof(*a->measured));
	a->sums = calloc(a->n_tenants, sizeof(*a->sums));
	if (!a->gpus || !a->connections || !a->tenants || !a->users || !a->measured || !a->sums)
		rc = hes_fail(err, -ENOMEM, "out of memory for an arbiter");
	for (size_t i = 0; !rc && i < c->n_gpus; i++)
		rc = gpu_create(a, i, err);
	a->c.gpus = NULL;
	if (rc)
		arbiter_destroy(a);
	else
		*made = a;
	return rc;
}

void arbiter_destroy(struct arbiter *a)
{
	if (!a)
		return;
	for (size_t i = 0; a->gpus && i < a->c.n_gpus; i++) {
		hes_fair_queue_destroy(a->gpus[i].queue);
		free(a->gpus[i].by_queue);
	}
	free(a->gpus);
	free(a->connections);
	free(a->tenants);
	free(a->users);
	free(a->measured);
	free(a->sums);
	free(a);
}
