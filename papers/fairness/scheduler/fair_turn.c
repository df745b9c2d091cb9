/*
 * fair_turn.c - turns of a fair scheduler: the tenant that the run queue picks runs until its slice
 * is over or it has no work, and is charged; see fair_scheduler.h and
 * fair_scheduler_state.h.
 *
 * The executor is kept busy by items on their way, up to the window: what is queued on the GPU must
 * end before others can run. How long it takes is known from the mean time of an item in the
 * tenant's turns before. In the first turn there is none, so no more are on their way than the
 * executor needs.
 */
#include <errno.h>
#include <math.h>

#include "fair_scheduler_state.h"

#define RECENT 0.25 /* part of the last turn in the mean time of an item */

struct turn {
	struct hes_fair_scheduler *s;
	struct tenant *t;
	uint64_t slice_ns, began_ns;
	double before_j;
	uint64_t started, ended;
	int refused; /* the executor's error at the beginning of the turn */
	struct hes_err refusal;
};

static double meter_read(const struct hes_fair_scheduler *s)
{
	return s->c.meter_j ? s->c.meter_j(s->c.ctx) : NAN;
}

/* The lock is held. @return false: no tenant has work */
static bool turn_pick(struct turn *u)
{
	struct hes_fair_scheduler *s = u->s;
	struct hes_fair_turn pick;

	if (s->closing)
		scheduler_close_streams(s);
	if (s->ending || !hes_fair_queue_pick(s->queue, &pick))
		return false;
	u->t = s->tenants[pick.tenant];
	u->slice_ns = pick.slice_ns;
	s->running = u->t;
	s->totals.switches += s->totals.turns > 0 && s->last != pick.tenant;
	s->totals.turns++;
	s->last = pick.tenant;
	u->t->turns++;
	return true;
}

static void turn_set_clock(struct hes_fair_scheduler *s, uint32_t mhz)
{
	int rc;

	if (!s->c.set_clock || mhz == s->clock_mhz)
		return;
	rc = s->c.set_clock(s->c.ctx, mhz);
	pthread_mutex_lock(&s->lock);
	if (rc)
		s->totals.clock_failures++;
	else
		s->totals.clock_changes++;
	if (!rc)
		s->clock_mhz = mhz;
	pthread_mutex_unlock(&s->lock);
}

static void turn_begin(struct turn *u, uint32_t clock_mhz)
{
	const struct hes_fair_executor *e = u->s->c.executor;

	turn_set_clock(u->s, clock_mhz);
	u->before_j = meter_read(u->s);
	u->refused = e->begin ? e->begin(u->s->self, &u->refusal) : 0;
	u->began_ns = e->now_ns(u->s->self);
}

/* Another item may be on its way, by time and window. */
static bool turn_has_room(const struct turn *u, uint64_t now_ns)
{
	const struct hes_fair_depth *d = &u->s->depth;
	uint64_t on_way = u->started - u->ended;
	double ahead = (double)on_way * u->t->item_ns, used = (double)(now_ns - u->began_ns);

	if (!u->started)
		return true;
	if (u->refused || used >= (double)u->slice_ns)
		return false;
	if (on_way < d->least)
		return true;
	return on_way < d->most && u->t->item_ns > 0 &&
	       ahead + u->t->item_ns <= (double)u->s->c.window_ns &&
	       used + ahead < (double)u->slice_ns;
}

static struct item *turn_take(struct turn *u)
{
	uint64_t now_ns = u->s->c.executor->now_ns(u->s->self);
	struct item *i = NULL;

	pthread_mutex_lock(&u->s->lock);
	if (!u->s->ending && turn_has_room(u, now_ns))
		i = tenant_take_item(u->t);
	pthread_mutex_unlock(&u->s->lock);
	u->started += i != NULL;
	return i;
}

static void turn_item_ended(struct turn *u, struct item *i, int rc, const struct hes_err *err)
{
	uint64_t now_ns = u->s->c.executor->now_ns(u->s->self);

	if (i->w.done)
		i->w.done(i->w.arg, rc);
	u->ended++;
	pthread_mutex_lock(&u->s->lock);
	item_end(i, rc, err, now_ns);
	pthread_mutex_unlock(&u->s->lock);
}

/* A stream with an item on its way is not closed meanwhile. */
static int turn_open_stream(struct turn *u, struct hes_fair_stream *st, struct hes_err *err)
{
	const struct hes_fair_executor *e = u->s->c.executor;
	int rc = st->open || !e->stream_open ? 0 : e->stream_open(u->s->self, &st->handle, err);

	st->open |= !rc;
	return rc;
}

static void turn_start(struct turn *u, struct item *i)
{
	struct hes_err err = u->refusal;
	int rc = u->refused;

	if (!rc)
		rc = turn_open_stream(u, i->stream, &err);
	if (!rc)
		rc = u->s->c.executor->start(u->s->self, i->stream->handle, &i->w, i, &err);
	if (rc)
		turn_item_ended(u, i, rc, &err);
}

static void turn_collect(struct turn *u)
{
	struct hes_fair_ended ended[16];
	unsigned n = u->s->c.executor->collect(u->s->self, ended, sizeof(ended) / sizeof(ended[0]));

	for (unsigned k = 0; k < n; k++)
		turn_item_ended(u, ended[k].item, ended[k].rc, &ended[k].err);
}

static void tenant_learn(struct tenant *t, uint64_t used_ns, uint64_t items)
{
	double item_ns = items ? (double)used_ns / (double)items : t->item_ns;

	t->item_ns = t->item_ns > 0 ? (1 - RECENT) * t->item_ns + RECENT * item_ns : item_ns;
}

/* A turn that used no time would be picked for ever. */
static void turn_end(struct turn *u)
{
	struct hes_fair_scheduler *s = u->s;
	uint64_t used_ns = s->c.executor->end(s->self);
	double joules = meter_read(s) - u->before_j;
	struct hes_fair_usage usage;

	used_ns = used_ns < 1 ? 1 : used_ns > HES_FAIR_MAX_NS ? HES_FAIR_MAX_NS : used_ns;
	pthread_mutex_lock(&s->lock);
	hes_fair_queue_usage(s->queue, u->t->index, &usage, NULL);
	if (!(joules >= 0 && isfinite(joules)))
		joules = usage.tenant.power_w * (double)used_ns * 1e-9;
	hes_fair_queue_charge(s->queue, u->t->index, used_ns, joules, NULL);
	tenant_learn(u->t, used_ns, u->ended);
	s->running = NULL;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

bool scheduler_run_turn(struct hes_fair_scheduler *s)
{
	struct turn u = { .s = s };
	uint32_t clock_mhz = 0;
	bool picked;

	pthread_mutex_lock(&s->lock);
	picked = turn_pick(&u);
	if (picked)
		clock_mhz = u.t->clock_mhz;
	pthread_mutex_unlock(&s->lock);
	if (!picked)
		return false;
	turn_begin(&u, clock_mhz);
	for (;;) {
		struct item *i = turn_take(&u);

		if (i)
			turn_start(&u, i);
		else if (u.started > u.ended)
			turn_collect(&u);
		else
			break;
	}
	turn_end(&u);
	return true;
}

void *scheduler_run(void *scheduler)
{
	struct hes_fair_scheduler *s = scheduler;

	pthread_mutex_lock(&s->lock);
	while (!s->ending) {
		if (!s->queued && !s->closing) {
			pthread_cond_wait(&s->work, &s->lock);
			continue;
		}
		pthread_mutex_unlock(&s->lock);
		scheduler_run_turn(s);
		pthread_mutex_lock(&s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

int hes_fair_scheduler_turn(struct hes_fair_scheduler *s, struct hes_err *err)
{
	if (!s->c.manual)
		return hes_fail(err, -EINVAL, "the scheduler has a thread that runs its turns");
	return scheduler_run_turn(s);
}
