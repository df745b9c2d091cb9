/*
 * timeline.c - an open queue or a group of jobs on one GPU, from event to event; see timeline.h and
 * sharing.h.
 */
#include "plan/timeline.h"

#include <math.h>

#include "base/clamp.h"

#define RAN (UINT32_C(1) << 31) /* added to the position of a job that ran before */

/* A job on the GPU. */
struct live {
	struct hes_member member;
	uint32_t job; /* of the problem */
	uint32_t at;  /* position in the queue, or RAN + position among the running jobs */
	uint32_t clock_mhz;
	double left;      /* iterations */
	double begins_us; /* when its start-up is over */
};

struct timeline {
	const struct hes_problem *p;
	struct hes_rates *rates;
	uint32_t type;
	const struct hes_timeline_stop *stop; /* may be NULL */
	double *starts_us;                    /* may be NULL */
	struct hes_timeline_times *each;      /* may be NULL */
	struct hes_timeline_times *running;   /* may be NULL */
	bool splits;                          /* the energy, among the jobs */
	size_t to_end;                        /* jobs that count and have not ended */
	double now_us;
	struct hes_timeline_cost cost; /* so far */
	bool breaks_floor;             /* in some phase, some job */
	uint64_t memory_mib;
	uint32_t shares_pct;
	uint32_t n;
	struct live live[HES_MAX_SHARING]; /* in the order of a set */
};

static bool is_before(const struct live *a, const struct live *b)
{
	if (a->member.kind != b->member.kind)
		return a->member.kind < b->member.kind;
	return a->member.sm_pct < b->member.sm_pct;
}

static void join(struct timeline *t, const struct live *one)
{
	uint32_t i = t->n++;

	for (; i > 0 && is_before(one, &t->live[i - 1]); i--)
		t->live[i] = t->live[i - 1];
	t->live[i] = *one;
	if (t->p->starts)
		t->live[i].begins_us = t->now_us + hes_problem_start_us(t->p, one->job, t->type);
	t->shares_pct += one->member.sm_pct;
	t->memory_mib += hes_problem_memory_mib(t->p, one->job, t->type);
}

static bool has_room(const struct timeline *t, const struct hes_timeline_item *item)
{
	const struct hes_problem_job *job = &t->p->jobs[item->job];
	const struct hes_gpu_type *type = t->p->types[t->type];

	return t->n < t->p->together && job->ready_us <= t->now_us &&
	       t->shares_pct + hes_timeline_share(type, item) <= t->p->shares_pct[t->type] &&
	       t->memory_mib + hes_memory_on(type, job->memory_mib) <= type->memory_mib;
}

static struct hes_timeline_times times_begin(const struct timeline *t, uint32_t job,
					     uint32_t sm_pct, uint32_t clock_mhz)
{
	return (struct hes_timeline_times){
		.start_us = t->now_us,
		.end_us = t->now_us,
		.activity_w = hes_problem_activity_w(t->p, job, t->type, sm_pct, clock_mhz),
	};
}

static void admit(struct timeline *t, const struct hes_timeline_item *item, size_t at)
{
	const struct hes_problem_job *job = &t->p->jobs[item->job];
	const struct hes_gpu_type *type = t->p->types[t->type];
	const uint32_t clock_mhz = type->clocks_mhz[item->clock];

	if (t->each)
		t->each[at] = times_begin(t, item->job, hes_timeline_share(type, item), clock_mhz);
	if (t->starts_us)
		t->starts_us[at] = t->now_us;
	join(t, &(struct live){
			.member = { (uint16_t)job->kind, hes_timeline_share(type, item) },
			.job = item->job,
			.at = (uint32_t)at,
			.clock_mhz = clock_mhz,
			.left = job->iterations,
		});
}

/* @return the jobs in their start-up, a bit for each
 * @param below  how many are below their floors */
static uint32_t find_rates(const struct timeline *t, struct hes_set_rates *out, uint32_t *below)
{
	struct hes_set set = { .type = t->type, .n = t->n };
	uint32_t starting = 0;

	for (uint32_t i = 0; i < t->n; i++) {
		set.m[i] = t->live[i].member;
		if (t->live[i].clock_mhz > set.clock_mhz)
			set.clock_mhz = t->live[i].clock_mhz;
	}
	for (uint32_t i = 0; i < t->n && t->p->starts; i++)
		starting |= (uint32_t)(t->live[i].begins_us > t->now_us) << i;
	if (starting)
		hes_rates_of_starting(t->rates, &set, starting, out);
	else
		hes_rates_of(t->rates, &set, out);
	*below = 0;
	for (uint32_t i = 0; i < t->n; i++)
		*below += hes_problem_breaks_floor(t->p, t->rates, t->live[i].job, &set, i, out);
	return starting;
}

/* Where a job's times are written; NULL: nowhere. */
static struct hes_timeline_times *times_of(const struct timeline *t, const struct live *l)
{
	if (l->at >= RAN)
		return t->running ? &t->running[l->at - RAN] : NULL;
	return t->each ? &t->each[l->at] : NULL;
}

static void end_job(struct timeline *t, const struct live *l, struct hes_timeline_times *times)
{
	const struct hes_problem_job *job = &t->p->jobs[l->job];

	t->shares_pct -= l->member.sm_pct;
	t->memory_mib -= hes_problem_memory_mib(t->p, l->job, t->type);
	if (times)
		times->end_us = t->now_us;
	if (l->at >= RAN && !t->p->counts_running)
		return;
	t->to_end--;
	t->cost.ends_us += t->now_us;
	t->cost.late_us += greater(0, t->now_us - job->deadline_us);
}

/* Attribute a phase. */
static void add_parts(const struct timeline *t, uint32_t starting, double mj, double us)
{
	struct hes_timeline_times *times[HES_MAX_SHARING];
	struct hes_sharer v[HES_MAX_SHARING];

	for (uint32_t i = 0; i < t->n; i++) {
		times[i] = times_of(t, &t->live[i]);
		v[i] = (struct hes_sharer){ .end_s = us * 1e-6,
					    .sm_pct = t->live[i].member.sm_pct,
					    .activity = times[i] ? times[i]->activity_w : 0,
					    .starting = starting >> i & 1 };
	}
	if (hes_attribute_known(mj * 1e-3, t->p->types[t->type]->idle_power_mw * 1e-3, us * 1e-6, v,
				t->n))
		return;
	for (uint32_t i = 0; i < t->n; i++)
		if (times[i])
			times[i]->energy_mj += v[i].energy_j * 1e3;
}

/* Until the first co-runner ends or its start-up is over, or until the next job arrives. */
static void run_phase(struct timeline *t, double arrival_us)
{
	const uint32_t n = t->n;
	struct hes_set_rates rates;
	double us = INFINITY, mj;
	uint32_t still = 0, below, starting = find_rates(t, &rates, &below);

	for (uint32_t i = 0; i < n; i++)
		us = lesser(us, t->live[i].left * rates.iteration_us[i]);
	for (uint32_t i = 0; starting >> i; i++)
		if (starting >> i & 1)
			us = lesser(us, t->live[i].begins_us - t->now_us);
	if (arrival_us > t->now_us)
		us = lesser(us, arrival_us - t->now_us);
	mj = us * rates.power_mw * 1e-6;
	t->now_us += us;
	t->cost.energy_mj += mj;
	t->cost.peak_mw = greater(t->cost.peak_mw, rates.power_mw);
	t->cost.far_us += rates.far ? us : 0;
	t->cost.late_us += below * us;
	t->breaks_floor |= below > 0;
	if (t->splits)
		add_parts(t, starting, mj, us);
	for (uint32_t i = 0; i < n; i++) {
		struct live *l = &t->live[i];
		struct hes_timeline_times *times = times_of(t, l);

		if (times)
			times->outside |= rates.outside[i];
		/* Against rounding: a job has ended if less than a billionth of the phase is left
		 * of it. */
		if (l->left * rates.iteration_us[i] <= us * (1 + 1e-9)) {
			end_job(t, l, times);
		} else {
			l->left -= us / rates.iteration_us[i];
			if (still++ != i)
				t->live[still - 1] = *l;
		}
	}
	t->n = still;
}

/* No job ends before now, whatever follows. */
static bool is_lost(const struct timeline *t)
{
	const double ends_us = t->cost.ends_us + (double)t->to_end * t->now_us;

	return t->cost.energy_mj + t->stop->lambda * ends_us > t->stop->limit_mj;
}

static void take_running(struct timeline *t, size_t gpu)
{
	const struct hes_problem *p = t->p;
	const size_t first = p->first_running[gpu];

	for (size_t i = first; i < p->first_running[gpu + 1]; i++) {
		const struct hes_problem_running *r = &p->running[i];
		const uint32_t clock_mhz = p->types[t->type]->clocks_mhz[r->clock];

		if (t->running)
			t->running[i - first] = times_begin(t, r->at, r->sm_pct, clock_mhz);
		join(t, &(struct live){
				.member = { (uint16_t)p->jobs[r->at].kind, r->sm_pct },
				.job = r->at,
				.at = (uint32_t)(RAN + i - first),
				.clock_mhz = clock_mhz,
				.left = p->jobs[r->at].iterations,
			});
	}
	/* The GPU may also be held by something of which only the end is known. */
	if (t->n == 0)
		t->now_us = fmax(p->gpus[gpu].wait_us, p->from_us);
}

/* @return false stopped early */
static bool run(struct timeline *t, size_t gpu, const struct hes_timeline_item *items, size_t n,
		struct hes_timeline_cost *out)
{
	const struct hes_problem *p = t->p;
	size_t next = 0;
	bool lost = false;

	t->type = p->gpus[gpu].type;
	t->now_us = p->from_us;
	t->to_end = n + (p->counts_running ? p->first_running[gpu + 1] - p->first_running[gpu] : 0);
	take_running(t, gpu);
	while ((t->n || next < n) && !lost) {
		for (; next < n && has_room(t, &items[next]); next++)
			admit(t, &items[next], next);
		if (t->n)
			run_phase(t, next < n ? p->jobs[items[next].job].ready_us : 0);
		else if (next < n)
			t->now_us = p->jobs[items[next].job].ready_us;
		lost = t->stop && is_lost(t);
	}
	t->cost.last_us = t->now_us;
	*out = t->cost;
	return !lost;
}

void hes_timeline_run_all(const struct hes_problem *p, struct hes_rates *rates, size_t gpu,
			  const struct hes_timeline_item *items, size_t n,
			  struct hes_timeline_cost *out, struct hes_timeline_times *each,
			  struct hes_timeline_times *running)
{
	struct timeline t;

	t = (struct timeline){
		.p = p, .rates = rates, .each = each, .running = running, .splits = each || running
	};
	run(&t, gpu, items, n, out);
}

void hes_timeline_run(const struct hes_problem *p, struct hes_rates *rates, size_t gpu,
		      const struct hes_timeline_item *items, size_t n,
		      struct hes_timeline_cost *out, struct hes_timeline_times *each)
{
	hes_timeline_run_all(p, rates, gpu, items, n, out, each, NULL);
}

bool hes_timeline_try(const struct hes_problem *p, struct hes_rates *rates, size_t gpu,
		      const struct hes_timeline_item *items, size_t n,
		      const struct hes_timeline_stop *stop, double *starts_us,
		      struct hes_timeline_cost *out)
{
	struct timeline t;

	t = (struct timeline){ .p = p, .rates = rates, .stop = stop, .starts_us = starts_us };
	return run(&t, gpu, items, n, out);
}

void hes_group_run_parts(const struct hes_problem *p, uint32_t type, uint32_t clock_mhz,
			 const struct hes_group *g, struct hes_group_cost *out,
			 struct hes_timeline_times *parts)
{
	struct hes_timeline_times own[HES_MAX_SHARING] = { 0 }, *each = parts ? parts : own;
	struct timeline t;

	t = (struct timeline){ .p = p,
			       .rates = p->rates,
			       .type = type,
			       .each = each,
			       .splits = parts,
			       .to_end = g->n };
	for (uint32_t i = 0; i < g->n; i++) {
		const uint32_t job = g->m[i].job, sm_pct = g->m[i].sm_pct;

		if (parts)
			each[i] = times_begin(&t, job, sm_pct, clock_mhz);
		join(&t, &(struct live){
				 .member = { (uint16_t)p->jobs[job].kind, (uint16_t)sm_pct },
				 .job = job,
				 .at = i,
				 .clock_mhz = clock_mhz,
				 .left = p->jobs[job].iterations,
			 });
	}
	while (t.n)
		run_phase(&t, 0);
	*out = (struct hes_group_cost){ .ends_us = t.cost.ends_us,
					.last_us = t.now_us,
					.energy_mj = t.cost.energy_mj,
					.peak_mw = t.cost.peak_mw,
					.far = t.cost.far_us > 0,
					.breaks_floor = t.breaks_floor };
	for (uint32_t i = 0; i < g->n; i++) {
		out->end_us[i] = each[i].end_us;
		out->outside[i] = (uint8_t)each[i].outside;
	}
}

void hes_group_run(const struct hes_problem *p, uint32_t type, uint32_t clock_mhz,
		   const struct hes_group *g, struct hes_group_cost *out)
{
	hes_group_run_parts(p, type, clock_mhz, g, out, NULL);
}
