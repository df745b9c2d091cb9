/*
 * flow.c - an open queue on one board, event by event; see flow.h.
 */
#include "plan/flow.h"

#include <math.h>

#define RAN (SIZE_MAX / 2)

struct live {
	struct hes_member member;
	uint32_t          job;
	uint16_t          clock;
	size_t            at;    /* among the items; RAN and more: among those that ran before */
	double            left;  /* iterations */
};

struct flow {
	const struct hes_problem *p;
	uint32_t                  type;
	struct live               v[HES_MAX_SHARING]; /* in the order of their set */
	uint32_t                  n;
	uint32_t                  shares_pct;
	uint64_t                  memory_mib;
	double                    now_us;
	size_t                    to_end;   /* jobs that count and have not */
	const struct hes_flow_stop *stop;   /* may be NULL */
	struct hes_flow_times    *running;  /* times of those that ran before; may be NULL */
};

static bool before(const struct live *a, const struct live *b)
{
	if (a->member.kind != b->member.kind)
		return a->member.kind < b->member.kind;
	return a->member.sm_pct < b->member.sm_pct;
}

static void join(struct flow *f, const struct live *one)
{
	uint32_t i = f->n++;

	for (; i > 0 && before(one, &f->v[i - 1]); i--)
		f->v[i] = f->v[i - 1];
	f->v[i] = *one;
	f->shares_pct += one->member.sm_pct;
	f->memory_mib += f->p->jobs[one->job].memory_mib;
}

static bool has_room(const struct flow *f, const struct hes_flow_item *item)
{
	return f->n < HES_SHARE_MOST && f->p->jobs[item->job].ready_us <= f->now_us &&
	       f->shares_pct + hes_flow_share(f->p->types[f->type], item) <= f->p->shares_pct[f->type] &&
	       f->memory_mib + f->p->jobs[item->job].memory_mib <= f->p->types[f->type]->memory_mib;
}

/* Who answers: one of them. */
struct source {
	struct hes_paces *paces;
	struct hes_rates *rates;
	struct hes_pace   pace;  /* what rates said last: times of jobs are told by these alone */
};

static struct hes_brief rates_of(const struct flow *f, struct source *from)
{
	struct hes_set set = { .type = f->type, .n = f->n };
	uint16_t clock = 0;

	for (uint32_t i = 0; i < f->n; i++) {
		set.m[i] = f->v[i].member;
		clock = f->v[i].clock > clock ? f->v[i].clock : clock;
	}
	set.clock_mhz = f->p->types[f->type]->clocks_mhz[clock];
	if (from->paces)
		return hes_paces_of(from->paces, &set, f->stop->roughly);
	hes_rates_of(from->rates, &set, &from->pace);
	return (struct hes_brief){ from->pace.iteration_us, from->pace.power_mw, true, from->pace.far };
}

/* Where a job's times go; NULL: nowhere. */
static struct hes_flow_times *times_of(const struct flow *f, const struct live *l, struct hes_flow_times *each)
{
	if (l->at >= RAN)
		return f->running ? &f->running[l->at - RAN] : NULL;
	return each ? &each[l->at] : NULL;
}

static void end(struct flow *f, const struct live *l, struct hes_flow_cost *c, struct hes_flow_times *times)
{
	const struct hes_problem_job *job = &f->p->jobs[l->job];

	f->shares_pct -= l->member.sm_pct;
	f->memory_mib -= job->memory_mib;
	if (times)
		times->end_us = f->now_us;
	if (l->at >= RAN && !f->p->counts_running)
		return;
	f->to_end--;
	c->ends_us += f->now_us;
	c->late_us += fmax(0, f->now_us - job->deadline_us);
}

/* Until the first of those who run has ended, or until the next job arrives. */
static void phase(struct flow *f, struct source *from, double arrival_us, struct hes_flow_cost *c,
		  struct hes_flow_times *each)
{
	const struct hes_brief pace = rates_of(f, from);
	double us = INFINITY;
	uint32_t still = 0;
	const uint32_t n = f->n, shares_pct = f->shares_pct;

	for (uint32_t i = 0; i < n; i++)
		us = fmin(us, f->v[i].left * pace.us[i]);
	if (arrival_us > f->now_us)
		us = fmin(us, arrival_us - f->now_us);
	f->now_us += us;
	c->energy_mj += us * pace.power_mw * 1e-6;
	c->peak_mw = fmax(c->peak_mw, pace.power_mw);
	c->rough_us += pace.known ? 0 : us;
	c->far_us += pace.far ? us : 0;
	for (uint32_t i = 0; i < n; i++) {
		struct live *l = &f->v[i];
		struct hes_flow_times *times = times_of(f, l, each);

		if (times) {
			times->energy_mj += us * pace.power_mw * 1e-6 * l->member.sm_pct / shares_pct;
			times->beyond |= from->pace.beyond[i];
		}
		/* Against rounding: what is left below a billionth of the phase has ended. */
		if (l->left * pace.us[i] <= us * (1 + 1e-9)) {
			end(f, l, c, times);
		} else {
			l->left -= us / pace.us[i];
			f->v[still++] = *l;
		}
	}
	f->n = still;
}

/* Whatever comes, no job ends before now. */
static bool is_lost(const struct flow *f, const struct hes_flow_cost *c, const struct hes_flow_stop *stop)
{
	return c->energy_mj + stop->lambda * (c->ends_us + (double)f->to_end * f->now_us) > stop->limit_mj;
}

static void take_running(struct flow *f, size_t gpu)
{
	const struct hes_problem *p = f->p;

	const size_t first = p->first_running[gpu];

	for (size_t i = first; i < p->first_running[gpu + 1]; i++) {
		const struct hes_problem_running *r = &p->running[i];

		f->to_end += p->counts_running;
		if (f->running)
			f->running[i - first] = (struct hes_flow_times){ f->now_us, f->now_us, 0, 0 };
		join(f, &(struct live){ { (uint16_t)p->jobs[r->at].kind, r->sm_pct }, r->at, r->clock, RAN + i - first,
					p->jobs[r->at].iterations });
	}
	/* Of what holds a board nothing else may be known than until when. */
	if (f->n == 0)
		f->now_us = fmax(p->gpus[gpu].wait_us, p->from_us);
}

/* @param stop, each, running  may be NULL */
static bool run(const struct hes_problem *p, struct source *from, size_t gpu, const struct hes_flow_item *items,
		size_t n, const struct hes_flow_stop *stop, struct hes_flow_cost *out, struct hes_flow_times *each,
		struct hes_flow_times *running)
{
	struct flow f = { .p = p, .type = p->gpus[gpu].type, .now_us = p->from_us, .to_end = n, .stop = stop, .running = running };
	struct hes_flow_cost c = { .energy_mj = 0 };
	size_t next = 0;
	bool lost = false;

	take_running(&f, gpu);
	while ((f.n || next < n) && !lost) {
		for (; next < n && has_room(&f, &items[next]); next++) {
			const struct hes_flow_item *item = &items[next];
			const struct hes_problem_job *job = &p->jobs[item->job];

			if (each)
				each[next] = (struct hes_flow_times){ f.now_us, f.now_us, 0, 0 };
			join(&f, &(struct live){ { (uint16_t)job->kind, hes_flow_share(p->types[f.type], item) }, item->job,
						 item->clock, next, job->iterations });
		}
		if (f.n)
			phase(&f, from, next < n ? p->jobs[items[next].job].ready_us : 0, &c, each);
		else if (next < n)
			f.now_us = p->jobs[items[next].job].ready_us;
		lost = stop && is_lost(&f, &c, stop);
	}
	c.last_us = f.now_us;
	*out = c;
	return !lost;
}

void hes_flow_run(const struct hes_problem *p, struct hes_rates *rates, size_t gpu, const struct hes_flow_item *items,
		  size_t n, struct hes_flow_cost *out, struct hes_flow_times *each)
{
	run(p, &(struct source){ .rates = rates }, gpu, items, n, NULL, out, each, NULL);
}

void hes_flow_run_all(const struct hes_problem *p, struct hes_rates *rates, size_t gpu, const struct hes_flow_item *items,
		      size_t n, struct hes_flow_cost *out, struct hes_flow_times *each, struct hes_flow_times *running)
{
	run(p, &(struct source){ .rates = rates }, gpu, items, n, NULL, out, each, running);
}

bool hes_flow_try(const struct hes_problem *p, struct hes_paces *paces, size_t gpu, const struct hes_flow_item *items,
		  size_t n, const struct hes_flow_stop *stop, struct hes_flow_cost *out)
{
	return run(p, &(struct source){ .paces = paces }, gpu, items, n, stop, out, NULL, NULL);
}
