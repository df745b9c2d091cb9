/*
 * admit.c - choose the jobs of a GPU that may start now; see admit.h.
 */
#include "run/admit.h"

/* What runs now. */
struct co_run {
	size_t n;
	uint64_t sm_pct, memory_mib;
	uint32_t clock_mhz, user;
	bool alone;
};

static size_t first_open(struct run_queue *q)
{
	while (q->over < q->n && q->v[q->over].state == RUN_OVER)
		q->over++;
	return q->over;
}

static struct co_run co_run_of(const struct run_queue *q)
{
	struct co_run c = { 0 };

	for (size_t i = q->over; i < q->reach; i++) {
		const struct run_place *p = &q->v[i];

		if (p->state != RUN_STARTED && p->state != RUN_HELD)
			continue;
		c.n++;
		c.sm_pct += p->sm_pct;
		c.memory_mib += p->memory_mib;
		if (p->state != RUN_HELD && p->clock_mhz > c.clock_mhz)
			c.clock_mhz = p->clock_mhz;
		c.user = p->user;
		c.alone |= p->alone;
	}
	return c;
}

static bool place_fits(const struct run_queue *q, const struct co_run *c, const struct run_place *p)
{
	if (!c->n)
		return true;
	if (p->alone || c->alone || p->user != c->user)
		return false;
	return !q->together || (c->n < q->together && c->sm_pct + p->sm_pct <= q->shares_pct &&
				c->memory_mib + p->memory_mib <= q->memory_mib);
}

static long queue_take(struct run_queue *q, size_t i)
{
	q->reach = i + 1 > q->reach ? i + 1 : q->reach;
	return (long)i;
}

/* Whether a job may start before one that waits to run alone. It wins what runs now and that job,
 * which loses what it takes longer than what runs now. */
static bool place_may_pass(const struct run_queue *q, const struct run_place *p,
			   const struct run_place *waits)
{
	return p->takes_us - q->left_us <= q->left_us + waits->takes_us;
}

long run_admit_next(struct run_queue *q)
{
	const struct run_place *waits = NULL; /* to run alone */
	size_t i = first_open(q);
	uint32_t batch;
	struct co_run c;

	if (i == q->n)
		return -1;
	batch = q->v[i].batch;
	c = co_run_of(q);
	for (size_t k = i; k < q->n; k++)
		if (q->v[k].invited && q->v[k].state == RUN_WAITING)
			return queue_take(q, k);
	for (; i < q->n && (q->together || q->v[i].batch == batch); i++) {
		struct run_place *p = &q->v[i];

		if (p->state != RUN_WAITING)
			continue;
		if (place_fits(q, &c, p) && (!waits || place_may_pass(q, p, waits))) {
			p->backfilled = waits != NULL;
			return queue_take(q, i);
		}
		/* Within a batch there is no order to keep: a suspect waits for the others. */
		if (c.alone || (q->together && (!p->alone || p->prompt || q->left_us <= 0)))
			return -1;
		waits = q->together && !waits ? p : waits;
	}
	return -1;
}

bool run_admit_alone(const struct run_queue *q, const struct run_place *p)
{
	const size_t i = (size_t)(p - q->v);

	if (p->alone)
		return true;
	if (p->sm_pct < 100)
		return false;
	if (q->together)
		return q->together == 1 || p->sm_pct >= q->shares_pct ||
		       p->memory_mib >= q->memory_mib;
	return (!i || p[-1].batch != p->batch) && (i + 1 == q->n || p[1].batch != p->batch);
}

uint32_t run_admit_clock(const struct run_queue *q)
{
	return co_run_of(q).clock_mhz;
}

void run_admit_one_by_one(struct run_queue *q)
{
	for (size_t i = 0; i < q->n; i++)
		q->v[i].alone = true;
}

size_t run_admit_running(const struct run_queue *q)
{
	return co_run_of(q).n;
}

bool run_admit_over(struct run_queue *q)
{
	return first_open(q) == q->n;
}
