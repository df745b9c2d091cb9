/*
 * run_queue.c - who runs next on a GPU that tenants share by turns; see heshare/fair_queue.h.
 *
 * A GPU has some hundreds of tenants at most, so a pick looks at all of them.
 *
 * Invariant: no tenant with work is below the minimum, which never falls. So a tenant that gets
 * work cannot have saved up turns. The minimum is the least vruntime of the tenants with work, and
 * of the last tenant that had work while there is none. Slices are those of the tenants with work,
 * unless the queue is stale.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clamp.h"
#include "fair/fair_request.h"
#include "fair/slices.h"
#include "heshare/fair_queue.h"

#define NO_SLOT      UINT32_MAX
#define LEAST_SLOTS  16
#define REBASE_AFTER 0x1p20 /* slices; keeps vruntimes exact to 2^-32 of a slice */

struct stream {
	uint64_t items;      /* not done */
	uint32_t next, prev; /* ring of the tenant's streams with items */
};

struct slot {
	double vruntime;
	double slice_ns;
	uint64_t slice;   /* quanta; 0: never had one */
	uint64_t time_ns; /* sums of charges */
	double energy_j;
	uint64_t items;         /* of all streams */
	struct stream *streams; /* [n_streams]; NULL: the slot is free */
	uint32_t n_streams;
	uint32_t turn; /* the stream that is next, where items is not 0; of a free slot: the next
			  free one */
	struct hes_fair_tenant tenant;
};

struct hes_fair_queue {
	struct hes_fair_queue_config c;
	uint32_t n_busy;    /* tenants with work */
	double floor;       /* the minimum while there are none */
	bool stale;         /* slices must be computed before the next pick */
	struct slot *slots; /* [room], the first n_slots were used */
	double *turns;      /* [room]: vruntime of a tenant with work; INFINITY: it has none */
	uint32_t n_slots, room;
	uint32_t free;                /* list of free slots below n_slots; NO_SLOT */
	struct hes_fair_tenant *busy; /* [room], scratch: tenants with work */
	uint64_t *slices;             /* [room], scratch: their slices */
	void *slices_room;            /* scratch of fair_slices_fill() */
};

static struct slot *slot_find(const struct hes_fair_queue *q, uint32_t tenant, struct hes_err *err)
{
	if (tenant < q->n_slots && q->slots[tenant].streams)
		return &q->slots[tenant];
	hes_fail(err, -ENOENT, "there is no tenant %" PRIu32, tenant);
	return NULL;
}

static int config_check(const struct hes_fair_queue_config *c, struct hes_err *err)
{
	const struct hes_fair_tenant any = { 1, 1, HES_FAIR_BACKLOGGED };
	const struct hes_fair_request r = { c->policy, c->interval, c->phi, &any, 1 };
	int rc = fair_request_check(&r, err);

	if (rc)
		return rc;
	if (c->quantum_ns < 1 || c->quantum_ns > HES_FAIR_MAX_NS / c->interval)
		return hes_fail(err, -EINVAL,
				"a quantum of %" PRIu64 " ns is outside 1 to %" PRIu64
				" ns for %" PRIu64 " quanta",
				c->quantum_ns, HES_FAIR_MAX_NS / c->interval, c->interval);
	return 0;
}

static int spec_check(uint32_t tenant, const struct hes_fair_tenant *t, struct hes_err *err)
{
	if (t->demand < 1)
		return hes_fail(err, -EINVAL,
				"tenant %" PRIu32 ": the demand is 0 quanta; it must be at least 1",
				tenant);
	return fair_tenant_check(tenant, t, err);
}

int hes_fair_queue_create(const struct hes_fair_queue_config *c, struct hes_fair_queue **out,
			  struct hes_err *err)
{
	int rc = config_check(c, err);
	struct hes_fair_queue *q = rc ? NULL : calloc(1, sizeof(*q));

	if (rc)
		return rc;
	if (!q)
		return hes_fail(err, -ENOMEM, "out of memory for a run queue");
	q->c = *c;
	q->free = NO_SLOT;
	*out = q;
	return 0;
}

void hes_fair_queue_destroy(struct hes_fair_queue *q)
{
	if (!q)
		return;
	for (uint32_t i = 0; i < q->n_slots; i++)
		free(q->slots[i].streams);
	free(q->slots);
	free(q->turns);
	free(q->busy);
	free(q->slices);
	free(q->slices_room);
	free(q);
}

/* @array is the address of a pointer, of any type. */
static bool array_grow(void *array, size_t size)
{
	void *old, *grown;

	memcpy(&old, array, sizeof(old));
	grown = realloc(old, size);
	if (grown)
		memcpy(array, &grown, sizeof(grown));
	return grown;
}

/* Arrays that have grown stay so when a later one cannot: only the room counts. */
static bool queue_grow(struct hes_fair_queue *q)
{
	uint32_t room = q->room ? 2 * q->room : LEAST_SLOTS;

	if (!array_grow(&q->slots, room * sizeof(*q->slots)) ||
	    !array_grow(&q->turns, room * sizeof(*q->turns)) ||
	    !array_grow(&q->busy, room * sizeof(*q->busy)) ||
	    !array_grow(&q->slices, room * sizeof(*q->slices)) ||
	    !array_grow(&q->slices_room, fair_slices_room(room)))
		return false;
	q->room = room;
	return true;
}

static uint32_t slot_take(struct hes_fair_queue *q)
{
	uint32_t i = q->free;

	if (i == NO_SLOT)
		return q->n_slots++;
	q->free = q->slots[i].turn;
	return i;
}

int hes_fair_queue_add(struct hes_fair_queue *q, const struct hes_fair_tenant *t,
		       uint32_t n_streams, uint32_t *tenant, struct hes_err *err)
{
	bool full = q->free == NO_SLOT;
	int rc = spec_check(full ? q->n_slots : q->free, t, err);
	struct stream *streams;

	if (rc)
		return rc;
	if (n_streams < 1 || n_streams > HES_FAIR_MAX_STREAMS)
		return hes_fail(err, -EINVAL, "%" PRIu32 " streams are outside 1 to %d", n_streams,
				HES_FAIR_MAX_STREAMS);
	if (full && q->n_slots == HES_FAIR_MAX_TENANTS)
		return hes_fail(err, -ENOSPC, "there are %d tenants already", HES_FAIR_MAX_TENANTS);
	streams = calloc(n_streams, sizeof(*streams));
	if (!streams || (full && q->n_slots == q->room && !queue_grow(q))) {
		free(streams);
		return hes_fail(err, -ENOMEM, "out of memory for a tenant with %" PRIu32 " streams",
				n_streams);
	}
	*tenant = slot_take(q);
	q->turns[*tenant] = INFINITY;
	q->slots[*tenant] =
		(struct slot){ .streams = streams, .n_streams = n_streams, .tenant = *t };
	return 0;
}

/* The tenant with work that has the least vruntime, and of these the lowest index; @other than one.
 * NO_SLOT: there is none. */
static uint32_t queue_first(const struct hes_fair_queue *q, uint32_t other)
{
	uint32_t first = NO_SLOT;
	double least = INFINITY;

	for (uint32_t i = 0; i < q->n_slots; i++)
		if (q->turns[i] < least && i != other) {
			least = q->turns[i];
			first = i;
		}
	return first;
}

static double queue_minimum(const struct hes_fair_queue *q)
{
	return q->n_busy ? q->turns[queue_first(q, NO_SLOT)] : q->floor;
}

static void slot_set_slice(const struct hes_fair_queue *q, struct slot *s, uint64_t slice)
{
	s->slice = slice ? slice : 1;
	s->slice_ns = (double)(s->slice * q->c.quantum_ns);
}

static void tenant_arrives(struct hes_fair_queue *q, uint32_t tenant)
{
	struct slot *s = &q->slots[tenant];

	s->vruntime = greater(s->vruntime, queue_minimum(q));
	q->turns[tenant] = s->vruntime;
	q->n_busy++;
	q->stale = true;
}

static void tenant_departs(struct hes_fair_queue *q, uint32_t tenant)
{
	q->turns[tenant] = INFINITY;
	if (!--q->n_busy)
		q->floor = q->slots[tenant].vruntime;
	q->stale = true;
}

int hes_fair_queue_remove(struct hes_fair_queue *q, uint32_t tenant, struct hes_err *err)
{
	struct slot *s = slot_find(q, tenant, err);

	if (!s)
		return -ENOENT;
	if (s->items)
		tenant_departs(q, tenant);
	free(s->streams);
	*s = (struct slot){ .turn = q->free };
	q->free = tenant;
	return 0;
}

int hes_fair_queue_change(struct hes_fair_queue *q, uint32_t tenant,
			  const struct hes_fair_tenant *t, struct hes_err *err)
{
	struct slot *s = slot_find(q, tenant, err);
	int rc = s ? spec_check(tenant, t, err) : -ENOENT;

	if (rc)
		return rc;
	s->tenant = *t;
	q->stale |= s->items > 0;
	return 0;
}

int hes_fair_queue_set_phi(struct hes_fair_queue *q, double phi, struct hes_err *err)
{
	if (!(phi >= 0 && phi <= 1))
		return hes_fail(err, -EINVAL, "phi %g is outside 0 to 1", phi);
	q->c.phi = phi;
	q->stale = true;
	return 0;
}

static int stream_check(const struct slot *s, uint32_t tenant, uint32_t stream, struct hes_err *err)
{
	if (stream < s->n_streams)
		return 0;
	return hes_fail(err, -ENOENT,
			"tenant %" PRIu32 " has no stream %" PRIu32 "; it has %" PRIu32, tenant,
			stream, s->n_streams);
}

/* Last in the ring: before the one that is next. */
static void ring_add(struct slot *s, uint32_t stream)
{
	struct stream *a = &s->streams[stream], *first = &s->streams[s->turn];

	if (!s->items) {
		a->next = a->prev = s->turn = stream;
		return;
	}
	a->next = s->turn;
	a->prev = first->prev;
	s->streams[a->prev].next = first->prev = stream;
}

static void ring_remove(struct slot *s, uint32_t stream)
{
	struct stream *a = &s->streams[stream];

	s->streams[a->prev].next = a->next;
	s->streams[a->next].prev = a->prev;
	if (s->turn == stream)
		s->turn = a->next;
}

int hes_fair_queue_submit(struct hes_fair_queue *q, uint32_t tenant, uint32_t stream,
			  uint64_t items, struct hes_err *err)
{
	struct slot *s = slot_find(q, tenant, err);
	int rc = s ? stream_check(s, tenant, stream, err) : -ENOENT;

	if (rc || !items)
		return rc;
	if (items > HES_FAIR_MAX_ITEMS - s->streams[stream].items)
		return hes_fail(err, -EINVAL,
				"tenant %" PRIu32 ", stream %" PRIu32 ": more than %" PRIu64
				" items",
				tenant, stream, HES_FAIR_MAX_ITEMS);
	if (!s->streams[stream].items)
		ring_add(s, stream);
	s->streams[stream].items += items;
	s->items += items;
	if (s->items == items)
		tenant_arrives(q, tenant);
	return 0;
}

int hes_fair_queue_done(struct hes_fair_queue *q, uint32_t tenant, uint32_t stream, uint64_t items,
			struct hes_err *err)
{
	struct slot *s = slot_find(q, tenant, err);
	int rc = s ? stream_check(s, tenant, stream, err) : -ENOENT;

	if (rc || !items)
		return rc;
	if (items > s->streams[stream].items)
		return hes_fail(err, -EINVAL,
				"tenant %" PRIu32 ", stream %" PRIu32 ": %" PRIu64
				" items done of %" PRIu64,
				tenant, stream, items, s->streams[stream].items);
	s->streams[stream].items -= items;
	s->items -= items;
	if (!s->streams[stream].items)
		ring_remove(s, stream);
	if (!s->items)
		tenant_departs(q, tenant);
	return 0;
}

int hes_fair_queue_stream(struct hes_fair_queue *q, uint32_t tenant, uint32_t *stream,
			  struct hes_err *err)
{
	struct slot *s = slot_find(q, tenant, err);

	if (!s)
		return -ENOENT;
	if (!s->items)
		return hes_fail(err, -EAGAIN, "tenant %" PRIu32 " has no work", tenant);
	*stream = s->turn;
	s->turn = s->streams[s->turn].next;
	return 0;
}

/* In the order of the tenants: ties of Algorithm 1 go to the lowest index. */
static void queue_slice(struct hes_fair_queue *q)
{
	struct hes_fair_request r = { q->c.policy, q->c.interval, q->c.phi, q->busy, 0 };
	size_t k = 0;

	for (uint32_t i = 0; i < q->n_slots; i++)
		if (q->slots[i].items)
			q->busy[r.n++] = q->slots[i].tenant;
	fair_slices_fill(&r, q->slices_room, q->slices);
	for (uint32_t i = 0; i < q->n_slots; i++)
		if (q->slots[i].items)
			slot_set_slice(q, &q->slots[i], q->slices[k++]);
	q->stale = false;
}

static bool queue_turn(struct hes_fair_queue *q, uint32_t tenant, struct hes_fair_turn *out)
{
	if (tenant == NO_SLOT)
		return false;
	if (q->stale)
		queue_slice(q);
	*out = (struct hes_fair_turn){ tenant, q->slots[tenant].slice,
				       q->slots[tenant].slice * q->c.quantum_ns };
	return true;
}

bool hes_fair_queue_pick(struct hes_fair_queue *q, struct hes_fair_turn *out)
{
	return queue_turn(q, queue_first(q, NO_SLOT), out);
}

bool hes_fair_queue_second(struct hes_fair_queue *q, struct hes_fair_turn *out)
{
	return queue_turn(q, queue_first(q, queue_first(q, NO_SLOT)), out);
}

/* Large vruntimes would lose short turns. Tenants without work that are behind would start at the
 * minimum anyway. */
static void queue_rebase(struct hes_fair_queue *q)
{
	const double zero = queue_minimum(q);

	for (uint32_t i = 0; i < q->n_slots; i++) {
		q->slots[i].vruntime = greater(q->slots[i].vruntime - zero, 0);
		if (q->slots[i].items)
			q->turns[i] = q->slots[i].vruntime;
	}
	q->floor = 0;
}

int hes_fair_queue_charge(struct hes_fair_queue *q, uint32_t tenant, uint64_t time_ns,
			  double energy_j, struct hes_err *err)
{
	struct slot *s = slot_find(q, tenant, err);

	if (!s)
		return -ENOENT;
	if (time_ns > HES_FAIR_MAX_NS || !(energy_j >= 0 && isfinite(energy_j)))
		return hes_fail(err, -EINVAL,
				"tenant %" PRIu32 ": a charge of %" PRIu64
				" ns, %g J is out of range",
				tenant, time_ns, energy_j);
	if (!s->slice)
		return hes_fail(err, -EINVAL,
				"tenant %" PRIu32 " never had a slice, so it cannot have run",
				tenant);
	s->time_ns += time_ns;
	s->energy_j += energy_j;
	s->vruntime += (double)time_ns / s->slice_ns;
	if (s->items)
		q->turns[tenant] = s->vruntime;
	else if (!q->n_busy)
		q->floor = greater(q->floor, s->vruntime);
	if (queue_minimum(q) > REBASE_AFTER)
		queue_rebase(q);
	return 0;
}

int hes_fair_queue_usage(const struct hes_fair_queue *q, uint32_t tenant,
			 struct hes_fair_usage *out, struct hes_err *err)
{
	const struct slot *s = slot_find(q, tenant, err);

	if (!s)
		return -ENOENT;
	*out = (struct hes_fair_usage){
		.tenant = s->tenant,
		.time_ns = s->time_ns,
		.energy_j = s->energy_j,
		.items = s->items,
		.slice = s->slice,
		.vruntime = s->vruntime,
	};
	return 0;
}
