/*
 * fair_scheduler_state.h - inside of src/streams: what a scheduler consists of, and what its files
 * have of one another.
 *
 * fair_scheduler.c has tenants, fair_stream.c streams and syncs, fair_turn.c the turns. All state
 * is guarded by the scheduler's lock, unless marked otherwise. The executor's functions and those
 * of work are called without it.
 */
#ifndef PAPERS_FAIR_SCHEDULER_STATE_H
#define PAPERS_FAIR_SCHEDULER_STATE_H

#include <pthread.h>

#include "fair_scheduler.h"
#include "latency.h"

/** From submit to its end it is in the list of its stream. */
struct item {
	struct item *next;
	struct hes_fair_stream *stream;
	struct hes_fair_work w;
	uint64_t sequence;     /* of all items of the scheduler */
	uint64_t submitted_ns; /* by the executor's clock */
};

/** A stream is ready while its next item may start. Invariant: it is in its tenant's ring exactly
 * then. */
struct hes_fair_stream {
	struct hes_fair_scheduler *s;
	struct tenant *tenant;
	struct hes_fair_stream *next, *prev; /* list of the tenant's streams */
	struct hes_fair_stream *ready_next,
		*ready_prev;       /* ring of the tenant's ready streams; NULL: not ready */
	struct item *first, *last; /* not ended; those that were started come first */
	struct item *waiting;      /* the first that was not started; NULL */
	uint64_t pending;          /* items not ended */
	uint64_t on_way;           /* of them, started */
	bool gone;                 /* destroyed; freed when its last item has ended */
	bool open;                 /* to the executor; of the thread that runs turns */
	void *handle;              /* the executor's; of that thread, too */
	int rc;                    /* of its first item that failed since the last sync; 0: none */
	uint64_t rc_sequence;
	struct hes_err error;
};

struct tenant {
	uint32_t index; /* in the run queue */
	struct hes_fair_stream *streams;
	struct hes_fair_stream *turn; /* the ready stream that is next; NULL: none */
	uint64_t pending;             /* items not ended */
	uint64_t on_way;              /* of them, started */
	bool leaving;   /* takes and starts no more work; the run queue counts only work that is
			   running */
	double item_ns; /* recent mean time of an item in a turn; 0: not known */
	char name[HES_FAIR_MAX_MEMBER_NAME];
	uint32_t clock_mhz;
	uint64_t turns, items, failed;
	struct latency latency;
};

/** A thread in a sync: it waits for the items of its scope up to a sequence number. */
struct waiter {
	struct waiter *next;
	const struct hes_fair_stream *stream; /* NULL: all of the tenant */
	struct tenant *tenant;                /* NULL: all of the scheduler */
	uint64_t upto;
	uint64_t remain;
};

struct hes_fair_scheduler {
	struct hes_fair_scheduler_config c; /* from here on constant while there are threads */
	void *self;                         /* the executor's */
	struct hes_fair_depth depth;
	pthread_t thread; /* unless manual */

	pthread_mutex_t lock;   /* guards what follows */
	pthread_cond_t work;    /* for the thread: queued, closing or ending have changed */
	pthread_cond_t changed; /* for others: a waiter has nothing left, a turn has ended, a waiter
				   has left */
	struct hes_fair_queue *queue; /* stream 0 of a tenant has all its items */
	struct tenant **tenants;      /* [room], by index; NULL: none */
	uint32_t room;
	uint64_t sequence; /* of the last item */
	uint64_t pending;  /* items not ended */
	uint64_t queued;   /* of them, in the run queue: not those that are being given up */
	struct waiter *waiters;
	struct hes_fair_stream *closing; /* streams that only the executor still knows */
	const struct tenant *running;    /* whose turn it is */
	bool ending;
	uint32_t clock_mhz; /* set last */
	struct hes_fair_totals totals;
	uint32_t last; /* tenant of the last turn, where totals.turns is not 0 */
};

/** @return NULL with a sentence: there is no such tenant, or it is being removed */
struct tenant *scheduler_tenant(const struct hes_fair_scheduler *s, uint32_t tenant,
				struct hes_err *err);

/** Take the item that the tenant runs next. @return NULL: none of its items may start */
struct item *tenant_take_item(struct tenant *t);

/** An item has ended; done was called. Frees it. Lock held. */
void item_end(struct item *i, int rc, const struct hes_err *err, uint64_t now_ns);

/** No item of the tenant is taken or started any more. Lock held. */
void tenant_leave(struct hes_fair_scheduler *s, struct tenant *t);

/**
 * Give up the items of a tenant that leaves, call their done, and drop its streams: the executor's
 * part is closed later. Nothing of it is on the way. Lock held, released meanwhile.
 */
void tenant_cancel(struct hes_fair_scheduler *s, struct tenant *t);

/** Close what the executor still knows of dropped streams. Lock held, released meanwhile; only by
 * the thread that runs turns. */
void scheduler_close_streams(struct hes_fair_scheduler *s);

/** One turn. @return whether a tenant had work */
bool scheduler_run_turn(struct hes_fair_scheduler *s);

/** Turns until the scheduler ends; a thread's function. */
void *scheduler_run(void *scheduler);

#endif
