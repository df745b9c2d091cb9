/*
 * fair_stream.c - streams of a fair scheduler: submit and sync; see fair_scheduler.h and
 * fair_scheduler_state.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "fair_scheduler_state.h"

/* Last in the ring: before the stream that is next. */
static void ring_add(struct hes_fair_stream *st)
{
	struct tenant *t = st->tenant;

	if (!t->turn) {
		st->ready_next = st->ready_prev = t->turn = st;
		return;
	}
	st->ready_next = t->turn;
	st->ready_prev = t->turn->ready_prev;
	st->ready_prev->ready_next = t->turn->ready_prev = st;
}

static void ring_remove(struct hes_fair_stream *st)
{
	struct tenant *t = st->tenant;

	if (t->turn == st)
		t->turn = st->ready_next == st ? NULL : st->ready_next;
	st->ready_prev->ready_next = st->ready_next;
	st->ready_next->ready_prev = st->ready_prev;
	st->ready_next = st->ready_prev = NULL;
}

static void stream_update_ready(struct hes_fair_stream *st)
{
	bool ready = st->waiting && (!st->on_way || st->s->c.executor->keeps_order);

	if (ready && !st->ready_next)
		ring_add(st);
	else if (!ready && st->ready_next)
		ring_remove(st);
}

static void list_add(struct hes_fair_stream **list, struct hes_fair_stream *st)
{
	st->prev = NULL;
	st->next = *list;
	if (*list)
		(*list)->prev = st;
	*list = st;
}

static void list_remove(struct hes_fair_stream **list, struct hes_fair_stream *st)
{
	if (st->prev)
		st->prev->next = st->next;
	else
		*list = st->next;
	if (st->next)
		st->next->prev = st->prev;
}

/* A stream without items leaves its tenant; the executor's part is closed between turns. */
static void stream_drop(struct hes_fair_stream *st)
{
	struct hes_fair_scheduler *s = st->s;

	list_remove(&st->tenant->streams, st);
	st->tenant = NULL;
	list_add(&s->closing, st);
	pthread_cond_signal(&s->work);
}

void scheduler_close_streams(struct hes_fair_scheduler *s)
{
	struct hes_fair_stream *st = s->closing;

	s->closing = NULL;
	pthread_mutex_unlock(&s->lock);
	while (st) {
		struct hes_fair_stream *next = st->next;

		if (st->open && s->c.executor->stream_close)
			s->c.executor->stream_close(s->self, st->handle);
		free(st);
		st = next;
	}
	pthread_mutex_lock(&s->lock);
}

int hes_fair_stream_create(struct hes_fair_scheduler *s, uint32_t tenant,
			   struct hes_fair_stream **out, struct hes_err *err)
{
	struct hes_fair_stream *st = calloc(1, sizeof(*st));
	struct tenant *t;
	int rc = 0;

	if (!st)
		return hes_fail(err, -ENOMEM, "out of memory for a stream");
	pthread_mutex_lock(&s->lock);
	t = scheduler_tenant(s, tenant, err);
	if (!t)
		rc = -ENOENT;
	else if (s->ending || t->leaving)
		rc = hes_fail(err, -ECANCELED, "tenant %s leaves the scheduler", t->name);
	if (!rc) {
		st->s = s;
		st->tenant = t;
		list_add(&t->streams, st);
		*out = st;
	}
	pthread_mutex_unlock(&s->lock);
	if (rc)
		free(st);
	return rc;
}

void hes_fair_stream_destroy(struct hes_fair_stream *st)
{
	struct hes_fair_scheduler *s = st ? st->s : NULL;

	if (!st)
		return;
	pthread_mutex_lock(&s->lock);
	st->gone = true;
	if (!st->first)
		stream_drop(st);
	pthread_mutex_unlock(&s->lock);
}

static int work_check(const struct hes_fair_executor *e, const struct hes_fair_work *w,
		      struct hes_err *err)
{
	if (!w->run == !w->kernel)
		return hes_fail(err, -EINVAL,
				"an item has %s run and kernel; it must have one of them",
				w->run ? "both" : "neither");
	if (w->run ? !e->runs_functions : !e->launches_kernels)
		return hes_fail(err, -EINVAL, "the executor \"%s\" cannot %s", e->name,
				w->run ? "run functions" : "launch kernels");
	return 0;
}

/* Put an item into its stream. Lock held. */
static int item_submit(struct item *i, struct hes_err *err)
{
	struct hes_fair_stream *st = i->stream;
	struct hes_fair_scheduler *s = st->s;
	struct tenant *t = st->tenant;
	int rc;

	if (s->ending || t->leaving)
		return hes_fail(err, -ECANCELED, "tenant %s leaves the scheduler", t->name);
	rc = hes_fair_queue_submit(s->queue, t->index, 1, err);
	if (rc)
		return rc;
	i->sequence = ++s->sequence;
	if (st->last)
		st->last->next = i;
	else
		st->first = i;
	st->last = i;
	if (!st->waiting)
		st->waiting = i;
	st->pending++;
	t->pending++;
	s->pending++;
	s->queued++;
	stream_update_ready(st);
	if (s->running == t && s->c.executor->wake)
		s->c.executor->wake(s->self);
	else if (s->queued == 1)
		pthread_cond_signal(&s->work);
	return 0;
}

int hes_fair_stream_submit(struct hes_fair_stream *st, const struct hes_fair_work *w,
			   struct hes_err *err)
{
	struct hes_fair_scheduler *s = st->s;
	int rc = work_check(s->c.executor, w, err);
	struct item *i = rc ? NULL : malloc(sizeof(*i));

	if (rc)
		return rc;
	if (!i)
		return hes_fail(err, -ENOMEM, "out of memory for an item");
	*i = (struct item){ .stream = st, .w = *w, .submitted_ns = s->c.executor->now_ns(s->self) };
	pthread_mutex_lock(&s->lock);
	rc = item_submit(i, err);
	pthread_mutex_unlock(&s->lock);
	if (rc)
		free(i);
	return rc;
}

struct item *tenant_take_item(struct tenant *t)
{
	struct hes_fair_stream *st = t->turn;
	struct item *i;

	if (!st || t->leaving)
		return NULL;
	i = st->waiting;
	st->waiting = i->next;
	st->on_way++;
	t->on_way++;
	t->turn = st->ready_next;
	stream_update_ready(st);
	return i;
}

static void stream_unlink(struct hes_fair_stream *st, struct item *i)
{
	struct item *before = NULL;

	for (struct item *at = st->first; at != i; at = at->next)
		before = at;
	if (before)
		before->next = i->next;
	else
		st->first = i->next;
	if (st->last == i)
		st->last = before;
}

static bool waiter_covers(const struct waiter *w, const struct item *i)
{
	return i->sequence <= w->upto && (!w->stream || w->stream == i->stream) &&
	       (!w->tenant || w->tenant == i->stream->tenant);
}

/* An item is no more. Its stream may go with it. @queued: the run queue counts it */
static void item_remove(struct item *i, bool queued)
{
	struct hes_fair_stream *st = i->stream;
	struct hes_fair_scheduler *s = st->s;

	for (struct waiter *w = s->waiters; w; w = w->next)
		if (waiter_covers(w, i) && --w->remain == 0)
			pthread_cond_broadcast(&s->changed);
	stream_unlink(st, i);
	st->pending--;
	st->tenant->pending--;
	s->pending--;
	if (queued) {
		s->queued--;
		hes_fair_queue_done(s->queue, st->tenant->index, 1, NULL);
	}
	stream_update_ready(st);
	if (st->gone && !st->first)
		stream_drop(st);
	free(i);
}

void item_end(struct item *i, int rc, const struct hes_err *err, uint64_t now_ns)
{
	struct hes_fair_stream *st = i->stream;
	struct tenant *t = st->tenant;

	t->items++;
	t->failed += rc != 0;
	if (rc && !st->rc) {
		st->rc = rc;
		st->rc_sequence = i->sequence;
		st->error = *err;
	}
	latency_add(&t->latency, now_ns > i->submitted_ns ? now_ns - i->submitted_ns : 0);
	st->on_way--;
	t->on_way--;
	item_remove(i, true);
}

static struct item *tenant_waiting(const struct tenant *t)
{
	for (struct hes_fair_stream *st = t->streams; st; st = st->next)
		if (st->waiting)
			return st->waiting;
	return NULL;
}

void tenant_leave(struct hes_fair_scheduler *s, struct tenant *t)
{
	t->leaving = true;
	s->queued -= t->pending - t->on_way;
	hes_fair_queue_done(s->queue, t->index, t->pending - t->on_way, NULL);
}

void tenant_cancel(struct hes_fair_scheduler *s, struct tenant *t)
{
	struct item *i;

	while ((i = tenant_waiting(t))) {
		i->stream->waiting = i->next;
		stream_update_ready(i->stream);
		if (i->w.done) {
			pthread_mutex_unlock(&s->lock);
			i->w.done(i->w.arg, -ECANCELED);
			pthread_mutex_lock(&s->lock);
		}
		item_remove(i, false);
	}
	while (t->streams)
		stream_drop(t->streams);
}

struct first_error {
	int rc; /* 0: none */
	uint64_t sequence;
	const struct tenant *tenant;
	struct hes_err error;
};

/* The first error of a tenant's streams, or of one of them, where it is before @out's; all are
 * forgotten. */
static void tenant_take_error(struct tenant *t, const struct hes_fair_stream *only,
			      struct first_error *out)
{
	for (struct hes_fair_stream *st = t->streams; st; st = st->next) {
		if ((only && st != only) || !st->rc)
			continue;
		if (!out->rc || st->rc_sequence < out->sequence)
			*out = (struct first_error){ st->rc, st->rc_sequence, t, st->error };
		st->rc = 0;
	}
}

/* The error of the first item that failed, of the waiter's scope; it is reported once. */
static int waiter_report(struct hes_fair_scheduler *s, const struct waiter *w, struct hes_err *err)
{
	struct first_error first = { 0 };

	if (w->tenant)
		tenant_take_error(w->tenant, w->stream, &first);
	for (uint32_t i = 0; i < s->room && !w->tenant; i++)
		if (s->tenants[i])
			tenant_take_error(s->tenants[i], NULL, &first);
	if (!first.rc)
		return 0;
	if (first.error.msg[0])
		return hes_fail(err, first.rc, "tenant %s: %s", first.tenant->name,
				first.error.msg);
	return hes_fail(err, first.rc, "an item of tenant %s failed with error %d",
			first.tenant->name, -first.rc);
}

/* Wait for the items that are queued now. The lock is held, and released while waiting. */
static int waiter_wait(struct hes_fair_scheduler *s, struct waiter *w, struct hes_err *err)
{
	struct waiter **at = &s->waiters;
	int rc;

	w->upto = s->sequence;
	w->next = s->waiters;
	s->waiters = w;
	while (w->remain && !s->ending) {
		if (s->c.manual) {
			pthread_mutex_unlock(&s->lock);
			scheduler_run_turn(s);
			pthread_mutex_lock(&s->lock);
		} else {
			pthread_cond_wait(&s->changed, &s->lock);
		}
	}
	rc = w->remain ? hes_fail(err, -ECANCELED, "the scheduler ends") : waiter_report(s, w, err);
	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	pthread_cond_broadcast(&s->changed);
	return rc;
}

int hes_fair_stream_sync(struct hes_fair_stream *st, struct hes_err *err)
{
	struct hes_fair_scheduler *s = st->s;
	struct waiter w = { .stream = st, .tenant = st->tenant };
	int rc;

	pthread_mutex_lock(&s->lock);
	w.remain = st->pending;
	rc = waiter_wait(s, &w, err);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

int hes_fair_tenant_sync(struct hes_fair_scheduler *s, uint32_t tenant, struct hes_err *err)
{
	struct waiter w = { 0 };
	struct tenant *t;
	int rc = -ENOENT;

	pthread_mutex_lock(&s->lock);
	t = scheduler_tenant(s, tenant, err);
	if (t) {
		w.tenant = t;
		w.remain = t->pending;
		rc = waiter_wait(s, &w, err);
	}
	pthread_mutex_unlock(&s->lock);
	return rc;
}

int hes_fair_scheduler_sync(struct hes_fair_scheduler *s, struct hes_err *err)
{
	struct waiter w = { 0 };
	int rc;

	pthread_mutex_lock(&s->lock);
	w.remain = s->pending;
	rc = waiter_wait(s, &w, err);
	pthread_mutex_unlock(&s->lock);
	return rc;
}
