/*
 * fair_scheduler.c - a fair scheduler and its tenants; see fair_scheduler.h and
 * fair_scheduler_state.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fair_scheduler_state.h"

#define WINDOW_NS  2000000
#define LEAST_ROOM 16

struct tenant *scheduler_tenant(const struct hes_fair_scheduler *s, uint32_t tenant,
				struct hes_err *err)
{
	if (tenant < s->room && s->tenants[tenant] && !s->tenants[tenant]->leaving)
		return s->tenants[tenant];
	hes_fail(err, -ENOENT, "there is no tenant %" PRIu32, tenant);
	return NULL;
}

static int executor_check(const struct hes_fair_executor *e, struct hes_err *err)
{
	if (!e)
		return hes_fail(err, -EINVAL, "no executor");
	if (!e->open || !e->close || !e->now_ns || !e->start || !e->collect || !e->end ||
	    !e->stream_open != !e->stream_close)
		return hes_fail(err, -EINVAL,
				"the executor \"%s\" lacks a function that is required",
				e->name ? e->name : "?");
	return 0;
}

static int executor_open(struct hes_fair_scheduler *s, struct hes_err *err)
{
	const struct hes_fair_executor *e = s->c.executor;
	int rc = e->open(s->c.executor_config, &s->self, &s->depth, err);

	if (rc)
		return rc;
	if (s->depth.least >= 1 && s->depth.least <= s->depth.most &&
	    s->depth.most <= HES_FAIR_MAX_DEPTH)
		return 0;
	e->close(s->self);
	return hes_fail(err, -EINVAL, "the executor \"%s\" takes %u to %u items, not 1 to %d",
			e->name, s->depth.least, s->depth.most, HES_FAIR_MAX_DEPTH);
}

static int scheduler_start(struct hes_fair_scheduler *s, struct hes_err *err)
{
	int rc = s->c.manual ? 0 : pthread_create(&s->thread, NULL, scheduler_run, s);

	return rc ? hes_fail(err, -rc, "no thread for a scheduler: %s", strerror(rc)) : 0;
}

static void scheduler_free(struct hes_fair_scheduler *s)
{
	pthread_cond_destroy(&s->changed);
	pthread_cond_destroy(&s->work);
	pthread_mutex_destroy(&s->lock);
	hes_fair_queue_destroy(s->queue);
	free(s->tenants);
	free(s);
}

int hes_fair_scheduler_create(const struct hes_fair_scheduler_config *c,
			      struct hes_fair_scheduler **out, struct hes_err *err)
{
	int rc = executor_check(c->executor, err);
	struct hes_fair_scheduler *s = rc ? NULL : calloc(1, sizeof(*s));

	if (rc)
		return rc;
	if (!s)
		return hes_fail(err, -ENOMEM, "out of memory for a scheduler");
	s->c = *c;
	s->c.window_ns = c->window_ns ? c->window_ns : WINDOW_NS;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->work, NULL);
	pthread_cond_init(&s->changed, NULL);
	rc = hes_fair_queue_create(&c->queue, &s->queue, err);
	if (!rc)
		rc = executor_open(s, err);
	if (!rc) {
		rc = scheduler_start(s, err);
		if (rc)
			c->executor->close(s->self);
	}
	if (rc) {
		scheduler_free(s);
		return rc;
	}
	s->c.executor_config = NULL;
	*out = s;
	return 0;
}

/* The thread has ended, or there is none. */
static void scheduler_clear(struct hes_fair_scheduler *s)
{
	pthread_mutex_lock(&s->lock);
	while (s->waiters)
		pthread_cond_wait(&s->changed, &s->lock);
	for (uint32_t i = 0; i < s->room; i++) {
		if (!s->tenants[i])
			continue;
		tenant_leave(s, s->tenants[i]);
		tenant_cancel(s, s->tenants[i]);
		free(s->tenants[i]);
		s->tenants[i] = NULL;
	}
	scheduler_close_streams(s);
	pthread_mutex_unlock(&s->lock);
}

void hes_fair_scheduler_destroy(struct hes_fair_scheduler *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->ending = true;
	pthread_cond_broadcast(&s->work);
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	if (!s->c.manual)
		pthread_join(s->thread, NULL);
	scheduler_clear(s);
	if (s->clock_mhz)
		s->c.set_clock(s->c.ctx, 0);
	s->c.executor->close(s->self);
	scheduler_free(s);
}

static bool scheduler_grow(struct hes_fair_scheduler *s, uint32_t tenant)
{
	uint32_t room = s->room ? s->room : LEAST_ROOM;
	struct tenant **grown;

	if (tenant < s->room)
		return true;
	while (room <= tenant)
		room *= 2;
	grown = realloc(s->tenants, room * sizeof(struct tenant *));
	if (!grown)
		return false;
	memset(grown + s->room, 0, (room - s->room) * sizeof(struct tenant *));
	s->tenants = grown;
	s->room = room;
	return true;
}

static struct hes_fair_tenant member_in_queue(const struct hes_fair_member *m)
{
	return (struct hes_fair_tenant){ m->power_w, m->weight, HES_FAIR_BACKLOGGED };
}

/* Lock held. */
static int tenant_add(struct hes_fair_scheduler *s, struct tenant *t,
		      const struct hes_fair_member *m, struct hes_err *err)
{
	const struct hes_fair_tenant spec = member_in_queue(m);
	int rc;

	if (s->ending)
		return hes_fail(err, -ECANCELED, "the scheduler ends");
	rc = hes_fair_queue_add(s->queue, 0, &spec, &t->index, err);
	if (rc)
		return rc;
	if (!scheduler_grow(s, t->index)) {
		hes_fair_queue_remove(s->queue, t->index, NULL);
		return hes_fail(err, -ENOMEM, "out of memory for a tenant");
	}
	s->tenants[t->index] = t;
	return 0;
}

int hes_fair_scheduler_add(struct hes_fair_scheduler *s, const struct hes_fair_member *m,
			   uint32_t *tenant, struct hes_err *err)
{
	size_t length = m->name ? strnlen(m->name, HES_FAIR_MAX_MEMBER_NAME) : 0;
	struct tenant *t;
	int rc;

	if (!length || length == HES_FAIR_MAX_MEMBER_NAME)
		return hes_fail(err, -EINVAL, "a tenant's name must have 1 to %d bytes",
				HES_FAIR_MAX_MEMBER_NAME - 1);
	t = calloc(1, sizeof(*t));
	if (!t)
		return hes_fail(err, -ENOMEM, "out of memory for a tenant");
	memcpy(t->name, m->name, length);
	t->clock_mhz = m->clock_mhz;
	pthread_mutex_lock(&s->lock);
	rc = tenant_add(s, t, m, err);
	if (!rc)
		*tenant = t->index;
	pthread_mutex_unlock(&s->lock);
	if (rc)
		free(t);
	return rc;
}

int hes_fair_scheduler_change(struct hes_fair_scheduler *s, uint32_t tenant,
			      const struct hes_fair_member *m, struct hes_err *err)
{
	const struct hes_fair_tenant spec = member_in_queue(m);
	int rc;

	pthread_mutex_lock(&s->lock);
	rc = hes_fair_queue_change(s->queue, tenant, &spec, err);
	if (!rc)
		s->tenants[tenant]->clock_mhz = m->clock_mhz;
	pthread_mutex_unlock(&s->lock);
	return rc;
}

int hes_fair_scheduler_set_phi(struct hes_fair_scheduler *s, double phi, struct hes_err *err)
{
	int rc;

	pthread_mutex_lock(&s->lock);
	rc = hes_fair_queue_set_phi(s->queue, phi, err);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

/* Whether a thread waits for the tenant's items. */
static bool tenant_is_awaited(const struct hes_fair_scheduler *s, const struct tenant *t)
{
	const struct waiter *w = s->waiters;

	while (w && w->tenant != t)
		w = w->next;
	return w != NULL;
}

int hes_fair_scheduler_remove(struct hes_fair_scheduler *s, uint32_t tenant, struct hes_err *err)
{
	struct tenant *t;

	pthread_mutex_lock(&s->lock);
	t = scheduler_tenant(s, tenant, err);
	if (t) {
		tenant_leave(s, t);
		while (s->running == t)
			pthread_cond_wait(&s->changed, &s->lock);
		tenant_cancel(s, t);
		while (tenant_is_awaited(s, t))
			pthread_cond_wait(&s->changed, &s->lock);
		hes_fair_queue_remove(s->queue, tenant, NULL);
		s->tenants[tenant] = NULL;
	}
	pthread_mutex_unlock(&s->lock);
	free(t);
	return t ? 0 : -ENOENT;
}

int hes_fair_scheduler_statistics(struct hes_fair_scheduler *s, uint32_t tenant,
				  struct hes_fair_statistics *out, struct hes_err *err)
{
	struct hes_fair_usage u;
	const struct tenant *t;

	pthread_mutex_lock(&s->lock);
	t = scheduler_tenant(s, tenant, err);
	if (t) {
		hes_fair_queue_usage(s->queue, tenant, &u, NULL);
		*out = (struct hes_fair_statistics){
			.weight = u.tenant.weight,
			.power_w = u.tenant.power_w,
			.clock_mhz = t->clock_mhz,
			.slice_ns = u.slice * s->c.queue.quantum_ns,
			.time_ns = u.time_ns,
			.energy_j = u.energy_j,
			.turns = t->turns,
			.items = t->items,
			.failed = t->failed,
			.waiting = t->pending,
			.latency_mean_ns = latency_mean(&t->latency),
			.latency_p50_ns = latency_percentile(&t->latency, 0.5),
			.latency_p99_ns = latency_percentile(&t->latency, 0.99),
			.latency_max_ns = t->latency.n ? (double)t->latency.greatest : NAN,
		};
		memcpy(out->name, t->name, sizeof(out->name));
	}
	pthread_mutex_unlock(&s->lock);
	return t ? 0 : -ENOENT;
}

void hes_fair_scheduler_totals(struct hes_fair_scheduler *s, struct hes_fair_totals *out)
{
	pthread_mutex_lock(&s->lock);
	*out = s->totals;
	pthread_mutex_unlock(&s->lock);
}
