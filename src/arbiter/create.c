/*
 * create.c - create and destroy an arbiter; see arbiter_state.h.
 */
#include <errno.h>
#include <stdlib.h>

#include "arbiter/arbiter.h"
#include "arbiter/arbiter_state.h"

#define SPARE 64 /* tenants that left, in addition to those of all connections */

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
	if (c->n_user_weights > c->connections)
		return hes_fail(err, -EINVAL, "%zu weights of users are more than %u",
				c->n_user_weights, c->connections);
	if (!(c->max_weight >= HES_FAIR_MIN_NUMBER && c->max_weight <= HES_FAIR_MAX_NUMBER))
		return hes_fail(err, -EINVAL, "a greatest weight of %g is outside %g to %g",
				c->max_weight, HES_FAIR_MIN_NUMBER, HES_FAIR_MAX_NUMBER);
	return 0;
}

static int gpus_create(struct arbiter *a)
{
	a->gpus = calloc(a->c.n_gpus, sizeof(*a->gpus));
	for (uint32_t i = 0; a->gpus && i < a->c.n_gpus; i++) {
		a->gpus[i] = (struct gpu){ .c = &a->c,
					   .out = &a->out,
					   .connections = &a->connections,
					   .tenants = &a->tenants };
		gpu_create(&a->gpus[i], i);
	}
	return a->gpus ? 0 : -ENOMEM;
}

static int listing_create(struct arbiter *a, uint64_t now)
{
	struct listing *l = &a->listing;

	*l = (struct listing){ .c = &a->c,
			       .connections = &a->connections,
			       .tenants = &a->tenants,
			       .gpus = a->gpus,
			       .started_ns = now };
	l->measured = calloc(2 * (size_t)a->tenants.n, sizeof(*l->measured));
	l->who = calloc(a->tenants.n, sizeof(*l->who));
	return l->measured && l->who ? 0 : -ENOMEM;
}

int arbiter_create(const struct arbiter_config *c, const struct arbiter_out *out, uint64_t now,
		   struct arbiter **made, struct hes_err *err)
{
	int rc = config_check(c, err);
	struct arbiter *a = rc ? NULL : calloc(1, sizeof(*a));
	uint32_t n = c->connections + SPARE;

	if (rc)
		return rc;
	if (!a)
		return hes_fail(err, -ENOMEM, "out of memory for an arbiter");
	a->c = *c;
	a->out = *out;
	a->next_sweep_ns = now;
	rc = users_create(&a->users, &a->c, n);
	if (!rc)
		rc = connections_create(&a->connections, &a->c, &a->out);
	if (!rc)
		rc = tenants_create(&a->tenants, &a->c, &a->out, &a->connections, &a->users, n);
	if (!rc)
		rc = gpus_create(a);
	if (!rc)
		rc = listing_create(a, now);
	a->c.gpus = NULL;
	if (rc) {
		arbiter_destroy(a);
		return hes_fail(err, rc, "out of memory for an arbiter");
	}
	*made = a;
	return 0;
}

void arbiter_destroy(struct arbiter *a)
{
	if (!a)
		return;
	users_free(&a->users);
	connections_free(&a->connections);
	if (a->tenants.c)
		tenants_free(&a->tenants);
	free(a->gpus);
	free(a->listing.measured);
	free(a->listing.who);
	free(a);
}
