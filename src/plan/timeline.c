/*
 * timeline.c - an open queue on one board, event by event; see timeline.h.
 */
#include "plan/timeline.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/clamp.h"

struct flow {
	const struct hes_problem   *p;
	uint32_t                    type;
	struct hes_timeline_state       s;        /* of v nothing is read beyond n */
	size_t                      to_count; /* jobs that count, all in all */
	const struct hes_timeline_stop *stop;     /* may be NULL */
	struct hes_timeline_state      *marks;    /* may be NULL */
	struct hes_timeline_times      *each;     /* of the items; may be NULL */
	struct hes_timeline_times      *running;  /* of those that ran before; may be NULL */
};

static bool before(const struct hes_timeline_live *a, const struct hes_timeline_live *b)
{
	if (a->member.kind != b->member.kind)
		return a->member.kind < b->member.kind;
	return a->member.sm_pct < b->member.sm_pct;
}

static void join(struct flow *f, const struct hes_timeline_live *one)
{
	struct hes_timeline_state *s = &f->s;
	uint32_t i = s->n++;

	for (; i > 0 && before(one, &s->v[i - 1]); i--)
		s->v[i] = s->v[i - 1];
	s->v[i] = *one;
	s->shares_pct += one->member.sm_pct;
	s->memory_mib += f->p->jobs[one->job].memory_mib;
}

/* States are copied more often than anything else is done with them: no more of one than there is. */
static void copy(struct hes_timeline_state *to, const struct hes_timeline_state *from)
{
	memcpy(to, from, offsetof(struct hes_timeline_state, v));
	for (uint32_t i = 0; i < from->n; i++)
		to->v[i] = from->v[i];
}

static bool has_room(const struct flow *f, const struct hes_timeline_item *item)
{
	const struct hes_timeline_taken taken = hes_timeline_taken_of(&f->s);

	return hes_timeline_has_room(f->p, f->type, &taken, item);
}

static void admit(struct flow *f, const struct hes_timeline_item *item, size_t at)
{
	const struct hes_problem_job *job = &f->p->jobs[item->job];

	if (f->each)
		f->each[at] = (struct hes_timeline_times){ f->s.now_us, f->s.now_us, 0, 0 };
	join(f, &(struct hes_timeline_live){
		.member = { (uint16_t)job->kind, hes_timeline_share(f->p->types[f->type], item) },
		.job = item->job, .at = (uint32_t)at, .clock = item->clock, .left = job->iterations,
	});
}

/* Who answers: one of them. */
struct source {
	struct hes_paces *paces;
	struct hes_rates *rates;
	struct hes_pace  *pace;  /* room for what rates say: times of jobs are told by these alone */
};

static struct hes_brief rates_of(const struct flow *f, struct source *from)
{
	struct hes_set set;
	uint16_t clock = 0;

	for (uint32_t i = 0; i < f->s.n; i++) {
		set.m[i] = f->s.v[i].member;
		clock = f->s.v[i].clock > clock ? f->s.v[i].clock : clock;
	}
	set.type = f->type;
	set.n = f->s.n;
	set.clock_mhz = f->p->types[f->type]->clocks_mhz[clock];
	if (from->paces)
		return hes_paces_of(from->paces, &set, clock, f->stop->roughly);
	hes_rates_of(from->rates, &set, from->pace);
	return (struct hes_brief){ from->pace->iteration_us, from->pace->power_mw, true, from->pace->far };
}

/* Where a job's times go; NULL: nowhere. */
static struct hes_timeline_times *times_of(const struct flow *f, const struct hes_timeline_live *l)
{
	if (l->at >= HES_TIMELINE_RAN)
		return f->running ? &f->running[l->at - HES_TIMELINE_RAN] : NULL;
	return f->each ? &f->each[l->at] : NULL;
}

static void end(struct flow *f, const struct hes_timeline_live *l, struct hes_timeline_times *times)
{
	const struct hes_problem_job *job = &f->p->jobs[l->job];
	struct hes_timeline_state *s = &f->s;

	s->shares_pct -= l->member.sm_pct;
	s->memory_mib -= job->memory_mib;
	if (times)
		times->end_us = s->now_us;
	if (l->at >= HES_TIMELINE_RAN && !f->p->counts_running)
		return;
	s->ended++;
	s->cost.ends_us += s->now_us;
	s->cost.late_us += greater(0, s->now_us - job->deadline_us);
}

/* Until the first of those who run has ended, or until the next job arrives. */
static void phase(struct flow *f, struct source *from, double arrival_us)
{
	const struct hes_brief pace = rates_of(f, from);
	struct hes_timeline_state *s = &f->s;
	const uint32_t n = s->n, shares_pct = s->shares_pct;
	double us = INFINITY, mj;
	uint32_t still = 0;

	for (uint32_t i = 0; i < n; i++)
		us = lesser(us, s->v[i].left * pace.us[i]);
	if (arrival_us > s->now_us)
		us = lesser(us, arrival_us - s->now_us);
	mj = us * pace.power_mw * 1e-6;
	s->now_us += us;
	s->cost.energy_mj += mj;
	s->cost.peak_mw = greater(s->cost.peak_mw, pace.power_mw);
	s->cost.rough_us += pace.known ? 0 : us;
	s->cost.far_us += pace.far ? us : 0;
	for (uint32_t i = 0; i < n; i++) {
		struct hes_timeline_live *l = &s->v[i];
		struct hes_timeline_times *times = times_of(f, l);

		if (times) {
			times->energy_mj += mj * l->member.sm_pct / shares_pct;
			times->outside |= from->pace->outside[i];
		}
		/* Against rounding: what is left below a billionth of the phase has ended. */
		if (l->left * pace.us[i] <= us * (1 + 1e-9)) {
			end(f, l, times);
		} else {
			l->left -= us / pace.us[i];
			if (still++ != i)
				s->v[still - 1] = *l;
		}
	}
	s->n = still;
}

/* Whatever comes, no job ends before now. */
static bool is_lost(const struct flow *f)
{
	const struct hes_timeline_cost *c = &f->s.cost;
	const double to_end = (double)(f->to_count - f->s.ended);

	return c->energy_mj + f->stop->lambda * (c->ends_us + to_end * f->s.now_us) > f->stop->limit_mj;
}

static void take_running(struct flow *f, size_t gpu)
{
	const struct hes_problem *p = f->p;
	const size_t first = p->first_running[gpu];

	for (size_t i = first; i < p->first_running[gpu + 1]; i++) {
		const struct hes_problem_running *r = &p->running[i];

		if (f->running)
			f->running[i - first] = (struct hes_timeline_times){ f->s.now_us, f->s.now_us, 0, 0 };
		join(f, &(struct hes_timeline_live){
			.member = { (uint16_t)p->jobs[r->at].kind, r->sm_pct }, .job = r->at,
			.at = (uint32_t)(HES_TIMELINE_RAN + i - first), .clock = r->clock, .left = p->jobs[r->at].iterations,
		});
	}
	/* Of what holds a board nothing else may be known than until when. */
	if (f->s.n == 0)
		f->s.now_us = fmax(p->gpus[gpu].wait_us, p->from_us);
}

/* From the state f->s is in, in which the first @next items were admitted. @return false given up */
static bool run(struct flow *f, struct source *from, const struct hes_timeline_item *items, size_t next, size_t n)
{
	bool lost = false;

	while ((f->s.n || next < n) && !lost) {
		for (; next < n && has_room(f, &items[next]); next++) {
			admit(f, &items[next], next);
			if (f->marks)
				copy(&f->marks[next + 1], &f->s);
		}
		if (f->s.n)
			phase(f, from, next < n ? f->p->jobs[items[next].job].ready_us : 0);
		else if (next < n)
			f->s.now_us = f->p->jobs[items[next].job].ready_us;
		lost = f->stop && is_lost(f);
	}
	f->s.cost.last_us = f->s.now_us;
	return !lost;
}

/* All of a flow but the state. */
static void set_up(struct flow *f, const struct hes_problem *p, size_t gpu, size_t n)
{
	f->p = p;
	f->type = p->gpus[gpu].type;
	f->to_count = n;
	if (p->counts_running)
		f->to_count += p->first_running[gpu + 1] - p->first_running[gpu];
	f->stop = NULL;
	f->marks = NULL;
	f->each = f->running = NULL;
}

/* @param from  a state to go on from; NULL: the queue is empty, and those that run are there */
static void begin(struct flow *f, size_t gpu, const struct hes_timeline_state *from)
{
	if (from) {
		copy(&f->s, from);
		return;
	}
	memset(&f->s, 0, offsetof(struct hes_timeline_state, v));
	f->s.now_us = f->p->from_us;
	take_running(f, gpu);
}

void hes_timeline_run_all(const struct hes_problem *p, struct hes_rates *rates, size_t gpu, const struct hes_timeline_item *items,
		      size_t n, struct hes_timeline_cost *out, struct hes_timeline_times *each, struct hes_timeline_times *running)
{
	struct hes_pace pace;
	struct flow f;

	set_up(&f, p, gpu, n);
	f.each = each;
	f.running = running;
	begin(&f, gpu, NULL);
	run(&f, &(struct source){ .rates = rates, .pace = &pace }, items, 0, n);
	*out = f.s.cost;
}

void hes_timeline_run(const struct hes_problem *p, struct hes_rates *rates, size_t gpu, const struct hes_timeline_item *items,
		  size_t n, struct hes_timeline_cost *out, struct hes_timeline_times *each)
{
	hes_timeline_run_all(p, rates, gpu, items, n, out, each, NULL);
}

bool hes_timeline_try(const struct hes_problem *p, struct hes_paces *paces, size_t gpu, const struct hes_timeline_item *items,
		  size_t n, const struct hes_timeline_state *marks, size_t same, const struct hes_timeline_stop *stop,
		  struct hes_timeline_cost *out)
{
	struct flow f;
	bool done;

	set_up(&f, p, gpu, n);
	f.stop = stop;
	begin(&f, gpu, same ? &marks[same] : NULL);
	done = run(&f, &(struct source){ .paces = paces }, items, same, n);
	*out = f.s.cost;
	return done;
}

void hes_timeline_mark(const struct hes_problem *p, struct hes_paces *paces, size_t gpu, const struct hes_timeline_item *items,
		   size_t n, size_t same, struct hes_timeline_state *marks)
{
	static const struct hes_timeline_stop never = { 0, INFINITY, false };
	struct flow f;

	set_up(&f, p, gpu, n);
	f.stop = &never;
	f.marks = marks;
	begin(&f, gpu, same ? &marks[same] : NULL);
	if (!same)
		copy(&marks[0], &f.s);
	run(&f, &(struct source){ .paces = paces }, items, same, n);
}
