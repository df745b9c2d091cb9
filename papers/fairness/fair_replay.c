/*
 * fair_replay.c - tenants share a GPU on a virtual clock; see fair_replay.h.
 *
 * The clock moves from event to event: a tenant arrives or departs, a request comes or ends, a turn
 * ends, a sample is due. The next arrival, departure or request of each tenant is in a heap, by its
 * time in ns: doubles hold those exactly up to 2^53.
 *
 * Invariant: a tenant is in the queue from its arrival to its departure; the queue's items of it
 * are its requests that are not done.
 */
#include "fair_replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/rng.h"
#include "tenant_heap.h"

#define MOST_STEPS    UINT64_C(2000000000)
#define MOST_REQUESTS UINT64_C(200000000)
#define NOBODY        UINT32_MAX

/* A tenant in the replay. */
struct runner {
	const struct fair_replay_tenant *t;
	struct fair_replay_usage u;
	struct hes_rng rng;
	uint32_t slot; /* of the queue, while it is here */
	bool here, gone;
	uint64_t next_request_ns; /* FAIR_REPLAY_NEVER: none comes by the clock */
	uint64_t progress_ns;     /* of the request at the head */
	uint64_t *times; /* of each request in order: its latency where it is done, else when it was
			    submitted */
	size_t n_times, room;
};

struct replay {
	const struct fair_replay_config *c;
	struct hes_fair_queue *q;
	struct runner *runners; /* [n] */
	size_t n;
	uint32_t *by_slot;         /* [n]: the runner of a slot of the queue */
	struct tenant_heap events; /* runners by the time of their next event */
	uint64_t now_ns, sample_ns, steps, requests;
	/* The turn, while holder is not NOBODY. */
	uint32_t holder, last;
	uint64_t left_ns, used_ns, switch_ns;
	uint64_t charged_ns; /* of used_ns */
	bool alone;          /* no other tenant had work when the turn began */
	size_t busy;         /* tenants with work */
};

static uint64_t lesser_ns(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* --- checks of the input --- */

static int range_check(size_t tenant, const char *what, uint64_t ns, struct hes_err *err)
{
	if (ns <= HES_FAIR_MAX_NS)
		return 0;
	return hes_fail(err, -EINVAL,
			"tenant %zu: %s of %" PRIu64 " ns is more than %" PRIu64 " ns", tenant,
			what, ns, HES_FAIR_MAX_NS);
}

static int replay_tenant_check(size_t i, const struct fair_replay_tenant *t, struct hes_err *err)
{
	int rc = range_check(i, "an arrival time", t->arrival_ns, err);

	if (!rc && t->departure_ns != FAIR_REPLAY_NEVER)
		rc = range_check(i, "a departure time", t->departure_ns, err);
	if (!rc)
		rc = range_check(i, "a request", t->request_ns, err);
	if (!rc)
		rc = range_check(i, "a period", t->period_ns, err);
	if (!rc)
		rc = range_check(i, "a piece", t->piece_ns, err);
	if (!rc && t->departure_ns <= t->arrival_ns)
		rc = hes_fail(err, -EINVAL,
			      "tenant %zu: it departs at %" PRIu64
			      " ns, not after its arrival at %" PRIu64 " ns",
			      i, t->departure_ns, t->arrival_ns);
	if (!rc && t->period_ns && !t->request_ns)
		rc = hes_fail(err, -EINVAL, "tenant %zu: requests at a rate need a length", i);
	return rc;
}

static int replay_check(const struct fair_replay_config *c, const struct fair_replay_tenant *t,
			size_t n, struct hes_err *err)
{
	int rc = 0;

	if (n < 1 || n > FAIR_REPLAY_MAX_TENANTS)
		return hes_fail(err, -EINVAL, "%zu tenants are outside 1 to %d", n,
				FAIR_REPLAY_MAX_TENANTS);
	if (c->duration_ns < 1 || c->duration_ns > HES_FAIR_MAX_NS ||
	    c->switch_ns > HES_FAIR_MAX_NS)
		return hes_fail(err, -EINVAL,
				"a duration of %" PRIu64 " ns or a switch of %" PRIu64
				" ns is outside 1 to %" PRIu64 " ns",
				c->duration_ns, c->switch_ns, HES_FAIR_MAX_NS);
	for (size_t i = 0; i < n && !rc; i++)
		rc = replay_tenant_check(i, &t[i], err);
	return rc;
}

/* --- requests --- */

static int turn_charge(struct replay *p, uint64_t until_ns, struct hes_err *err)
{
	const struct runner *r = &p->runners[p->holder];
	uint64_t ns = until_ns - p->charged_ns;

	p->charged_ns = until_ns;
	return hes_fair_queue_charge(p->q, r->slot, ns, r->t->power_w * (double)ns / 1e9, err);
}

static int turn_end(struct replay *p, struct hes_err *err)
{
	int rc = turn_charge(p, p->used_ns, err);

	p->last = p->holder;
	p->holder = NOBODY;
	return rc;
}

/* The slice is used up. What has begun runs to the end of its piece. */
static int turn_expire(struct replay *p, struct hes_err *err)
{
	const struct runner *r = &p->runners[p->holder];
	uint64_t begun = r->t->piece_ns ? r->progress_ns % r->t->piece_ns : 0;

	if (!begun)
		return turn_end(p, err);
	p->left_ns = r->t->piece_ns - begun;
	return 0;
}

/* Another tenant got work during the turn of one that was alone: the turn is now as long as its
 * slice of both tenants. */
static int turn_cut(struct replay *p, struct hes_err *err)
{
	struct hes_fair_usage u;
	struct hes_fair_turn next;
	uint64_t slice_ns;
	int rc;

	p->alone = false;
	hes_fair_queue_pick(p->q, &next); /* computes the slices */
	rc = hes_fair_queue_usage(p->q, p->runners[p->holder].slot, &u, err);
	if (rc)
		return rc;
	slice_ns = u.slice * p->c->queue.quantum_ns;
	p->left_ns = slice_ns > p->used_ns ? slice_ns - p->used_ns : 0;
	return p->left_ns ? 0 : turn_expire(p, err);
}

static int request_keep(struct replay *p, struct runner *r, struct hes_err *err)
{
	if (++p->requests > MOST_REQUESTS)
		return hes_fail(err, -E2BIG,
				"more than %" PRIu64
				" requests: shorten the duration, or lower the rates",
				MOST_REQUESTS);
	if (r->n_times == r->room) {
		size_t room = r->room ? 2 * r->room : 64;
		uint64_t *grown = reallocarray(r->times, room, sizeof(*grown));

		if (!grown)
			return hes_fail(err, -ENOMEM, "out of memory for %zu requests of a tenant",
					room);
		r->times = grown;
		r->room = room;
	}
	r->times[r->n_times++] = p->now_ns;
	p->busy += !r->u.waiting;
	r->u.waiting++;
	return 0;
}

/*
 * A newcomer starts at the vruntime of the one that was alone. That one has used its time by then,
 * so it is charged first; but for a nanosecond, since a GPU takes time to drain: the newcomer is
 * next.
 */
static int request_submit(struct replay *p, struct runner *r, struct hes_err *err)
{
	bool cut = p->holder != NOBODY && p->alone && r != &p->runners[p->holder];
	int rc = request_keep(p, r, err);

	if (!rc && cut && p->used_ns > p->charged_ns)
		rc = turn_charge(p, p->used_ns - 1, err);
	if (!rc)
		rc = hes_fair_queue_submit(p->q, r->slot, 1, err);
	return !rc && cut ? turn_cut(p, err) : rc;
}

/* The request at the head of the holder's is done. Its last one ends the turn, which is charged
 * before the work is gone. */
static int request_end(struct replay *p, struct hes_err *err)
{
	struct runner *r = &p->runners[p->holder];
	int rc = r->t->period_ns ? 0 : request_submit(p, r, err);

	if (rc)
		return rc;
	r->times[r->u.requests] = p->now_ns - r->times[r->u.requests];
	r->u.requests++;
	r->u.waiting--;
	r->progress_ns = 0;
	if (!r->u.waiting) {
		p->busy--;
		rc = turn_end(p, err);
	}
	return rc ? rc : hes_fair_queue_done(p->q, r->slot, 1, err);
}

/* --- arrivals and departures --- */

static void event_set(struct replay *p, uint32_t i)
{
	const struct runner *r = &p->runners[i];
	uint64_t at =
		r->here ? lesser_ns(r->t->departure_ns, r->next_request_ns) : r->t->arrival_ns;

	if (r->gone || at == FAIR_REPLAY_NEVER)
		tenant_heap_remove(&p->events, i);
	else
		tenant_heap_raise(&p->events, i, (double)at);
}

static int tenant_arrive(struct replay *p, uint32_t i, struct hes_err *err)
{
	struct runner *r = &p->runners[i];
	const struct hes_fair_tenant t = { r->t->power_w, r->t->weight, HES_FAIR_BACKLOGGED };
	int rc = hes_fair_queue_add(p->q, 0, &t, &r->slot, err);

	if (rc)
		return rc;
	p->by_slot[r->slot] = i;
	r->here = true;
	r->next_request_ns = FAIR_REPLAY_NEVER;
	if (!r->t->period_ns)
		return request_submit(p, r, err);
	r->next_request_ns = p->now_ns;
	if (r->t->random)
		r->next_request_ns +=
			(uint64_t)hes_rng_exponential(&r->rng, (double)r->t->period_ns);
	return 0;
}

static int tenant_depart(struct replay *p, uint32_t i, struct hes_err *err)
{
	struct runner *r = &p->runners[i];
	int rc = p->holder == i ? turn_end(p, err) : 0;

	p->busy -= r->u.waiting > 0;
	r->here = false;
	r->gone = true;
	r->u.present_ns = p->now_ns - r->t->arrival_ns;
	return rc ? rc : hes_fair_queue_remove(p->q, r->slot, err);
}

static int request_arrive(struct replay *p, struct runner *r, struct hes_err *err)
{
	double period = (double)r->t->period_ns;

	r->next_request_ns +=
		r->t->random ? 1 + (uint64_t)hes_rng_exponential(&r->rng, period) : r->t->period_ns;
	return request_submit(p, r, err);
}

static int events_run(struct replay *p, struct hes_err *err)
{
	int rc = 0;

	while (!rc && p->events.n && (uint64_t)p->events.keys[0].vruntime <= p->now_ns) {
		uint32_t i = p->events.keys[0].tenant;
		struct runner *r = &p->runners[i];

		if (!r->here)
			rc = tenant_arrive(p, i, err);
		else if (r->t->departure_ns <= p->now_ns)
			rc = tenant_depart(p, i, err);
		else
			rc = request_arrive(p, r, err);
		event_set(p, i);
	}
	return rc;
}

/* --- turns --- */

static bool turn_begin(struct replay *p)
{
	struct hes_fair_turn turn;

	if (!hes_fair_queue_pick(p->q, &turn))
		return false;
	p->holder = p->by_slot[turn.tenant];
	p->left_ns = turn.slice_ns;
	p->used_ns = p->charged_ns = 0;
	p->alone = p->busy == 1;
	p->switch_ns = p->last == NOBODY || p->last == p->holder ? 0 : p->c->switch_ns;
	p->runners[p->holder].u.turns++;
	return true;
}

/* Time until the turn or the request at its head ends. */
static uint64_t turn_step(const struct replay *p)
{
	const struct runner *r = &p->runners[p->holder];

	if (p->switch_ns)
		return p->switch_ns;
	return r->t->request_ns ? lesser_ns(p->left_ns, r->t->request_ns - r->progress_ns)
				: p->left_ns;
}

static int turn_run(struct replay *p, uint64_t ns, struct hes_err *err)
{
	struct runner *r = &p->runners[p->holder];
	int rc = 0;

	if (p->switch_ns) {
		p->switch_ns -= ns;
		return 0;
	}
	p->left_ns -= ns;
	p->used_ns += ns;
	r->progress_ns += ns;
	r->u.time_ns += ns;
	if (r->t->request_ns && r->progress_ns == r->t->request_ns)
		rc = request_end(p, err);
	return rc || p->holder == NOBODY || p->left_ns ? rc : turn_expire(p, err);
}

/* --- the clock --- */

static void usage_fill(const struct replay *p, struct fair_replay_usage *out)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct runner *r = &p->runners[i];

		out[i] = r->u;
		out[i].energy_j = r->t->power_w * (double)r->u.time_ns / 1e9;
		if (r->here)
			out[i].present_ns = p->now_ns - r->t->arrival_ns;
	}
}

/* Time until something happens, at most to the end. */
static uint64_t next_step(const struct replay *p)
{
	uint64_t step = p->c->duration_ns - p->now_ns;

	if (p->events.n)
		step = lesser_ns(step, (uint64_t)p->events.keys[0].vruntime - p->now_ns);
	if (p->c->every_ns)
		step = lesser_ns(step, p->sample_ns - p->now_ns);
	return p->holder == NOBODY ? step : lesser_ns(step, turn_step(p));
}

static int replay_run(struct replay *p, fair_replay_sample_fn *sample, void *ctx,
		      struct fair_replay_usage *out, struct hes_err *err)
{
	p->sample_ns = p->c->every_ns;
	while (p->now_ns < p->c->duration_ns) {
		int rc = events_run(p, err);
		uint64_t step;

		if (rc)
			return rc;
		if (p->holder == NOBODY)
			turn_begin(p);
		if (++p->steps > MOST_STEPS)
			return hes_fail(err, -E2BIG,
					"more than %" PRIu64
					" steps: shorten the duration, or lengthen the quantum",
					MOST_STEPS);
		step = next_step(p);
		p->now_ns += step;
		if (p->holder != NOBODY)
			rc = turn_run(p, step, err);
		if (rc)
			return rc;
		if (p->c->every_ns && p->now_ns == p->sample_ns && p->now_ns < p->c->duration_ns) {
			usage_fill(p, out);
			if (sample)
				sample(p->now_ns, out, p->n, ctx);
			p->sample_ns += p->c->every_ns;
		}
	}
	return 0;
}

/* --- the end --- */

static int by_time(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void latencies_fill(struct runner *r)
{
	size_t n = r->u.requests;
	double sum = 0;

	if (!n)
		return;
	qsort(r->times, n, sizeof(*r->times), by_time);
	for (size_t i = 0; i < n; i++)
		sum += (double)r->times[i];
	r->u.mean_latency_ns = sum / (double)n;
	r->u.median_latency_ns = r->times[(n - 1) / 2];
	r->u.p99_latency_ns = r->times[(n - 1) * 99 / 100];
}

static void replay_free(struct replay *p)
{
	for (size_t i = 0; p->runners && i < p->n; i++)
		free(p->runners[i].times);
	free(p->runners);
	free(p->by_slot);
	free(p->events.keys);
	free(p->events.at);
	hes_fair_queue_destroy(p->q);
}

static int replay_start(struct replay *p, const struct fair_replay_tenant *tenants,
			struct hes_err *err)
{
	struct hes_rng rng;
	int rc = hes_fair_queue_create(&p->c->queue, &p->q, err);

	if (rc)
		return rc;
	p->runners = calloc(p->n, sizeof(*p->runners));
	p->by_slot = calloc(p->n, sizeof(*p->by_slot));
	p->events.keys = calloc(p->n, sizeof(*p->events.keys));
	p->events.at = calloc(p->n, sizeof(*p->events.at));
	if (!p->runners || !p->by_slot || !p->events.keys || !p->events.at)
		return hes_fail(err, -ENOMEM, "out of memory for %zu tenants", p->n);
	hes_rng_seed(&rng, p->c->seed);
	for (uint32_t i = 0; i < p->n; i++) {
		p->runners[i].t = &tenants[i];
		p->runners[i].rng = hes_rng_fork(&rng, i);
		tenant_heap_push(&p->events, i, (double)tenants[i].arrival_ns);
	}
	return 0;
}

int fair_replay(const struct fair_replay_config *c, const struct fair_replay_tenant *tenants,
		size_t n, fair_replay_sample_fn *sample, void *ctx, struct fair_replay_usage *out,
		struct hes_err *err)
{
	struct replay p = { .c = c, .n = n, .holder = NOBODY, .last = NOBODY };
	int rc = replay_check(c, tenants, n, err);
	struct fair_replay_usage *usage = rc ? NULL : calloc(n, sizeof(*usage));

	if (rc)
		return rc;
	rc = usage ? replay_start(&p, tenants, err)
		   : hes_fail(err, -ENOMEM, "out of memory for %zu tenants", n);
	if (!rc)
		rc = replay_run(&p, sample, ctx, usage, err);
	for (size_t i = 0; i < n && !rc; i++)
		latencies_fill(&p.runners[i]);
	if (!rc) {
		usage_fill(&p, out);
		if (sample)
			sample(p.now_ns, out, n, ctx);
	}
	replay_free(&p);
	free(usage);
	return rc;
}

void fair_replay_measure(const struct fair_replay_tenant *tenants,
			 const struct fair_replay_usage *usage, size_t n, struct hes_fairness *out)
{
	double least[2] = { -1, -1 }, most[2] = { 0, 0 };

	for (size_t i = 0; i < n; i++) {
		double per = (double)usage[i].present_ns * tenants[i].weight;
		const double got[2] = { (double)usage[i].time_ns / per, usage[i].energy_j / per };

		for (int k = 0; k < 2 && usage[i].present_ns; k++) {
			least[k] = least[k] < 0 || got[k] < least[k] ? got[k] : least[k];
			most[k] = got[k] > most[k] ? got[k] : most[k];
		}
	}
	out->time = most[0] > 0 ? least[0] / most[0] : 1;
	out->energy = most[1] > 0 ? least[1] / most[1] : 1;
	out->system = out->time < out->energy ? out->time : out->energy;
}
