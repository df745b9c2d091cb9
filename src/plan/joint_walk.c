/*
 * joint_walk.c - moves and annealing; see joint_walk.h.
 *
 * A move makes one or two queues anew in w->trial, which are run; if it is taken,
 * they change places with the old ones.
 */
#include "plan/joint_walk.h"

#include <stdio.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/sharing.h"

#define LOOK   64 /* moves between two looks at what is spent, unless the caller says otherwise */
#define PLACES 4  /* where a job that goes elsewhere is tried */

/* Jobs by their least run time. */
static void weigh(struct joint_walk *w)
{
	const struct hes_problem *p = w->p;
	double sum = 0;

	for (size_t i = 0; i < p->n; i++) {
		double least_us = INFINITY;

		for (size_t t = 0; t < p->n_types; t++)
			least_us = fmin(least_us, p->cost[t * p->n + i].time_us);
		w->weight_to[i] = sum += least_us;
	}
}

/* Every second time by lot, else in proportion to run time: a few long jobs make most of the cost. */
static uint32_t draw_job(struct joint_walk *w)
{
	size_t lo = 0, hi = w->p->n - 1;
	double at;

	if (hes_rng_below(&w->rng, 2))
		return (uint32_t)hes_rng_below(&w->rng, w->p->n);
	at = hes_rng_unit(&w->rng) * w->weight_to[hi];
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (w->weight_to[mid] <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return (uint32_t)lo;
}

/* Boards of one type on which nothing runs and that are free at the same time. */
static uint32_t first_like(const struct hes_problem *p, uint32_t gpu)
{
	for (uint32_t g = 0; g < gpu; g++)
		if (p->gpus[g].type == p->gpus[gpu].type && p->gpus[g].wait_us == p->gpus[gpu].wait_us &&
		    p->first_running[g] == p->first_running[g + 1] && p->first_running[gpu] == p->first_running[gpu + 1])
			return g;
	return gpu;
}

int joint_walk_init(struct joint_walk *w, const struct hes_problem *p, struct hes_paces *paces)
{
	*w = (struct joint_walk){
		.p = p, .paces = paces, .screens = hes_paces_estimate(paces), .look = LOOK,
		.archive = { .n = p->n, .k = p->k },
	};
	w->boards = calloc(p->k + 1, sizeof(*w->boards));
	w->gpu_of = calloc(p->n + 1, sizeof(*w->gpu_of));
	w->weight_to = calloc(p->n + 1, sizeof(*w->weight_to));
	w->pool = joint_pool_new();
	if (w->boards && w->gpu_of && w->weight_to && w->pool) {
		weigh(w);
		for (uint32_t g = 0; g < p->k; g++)
			w->boards[g].like = first_like(p, g);
		return 0;
	}
	joint_walk_finish(w);
	return -ENOMEM;
}

void joint_walk_finish(struct joint_walk *w)
{
	for (size_t g = 0; w->boards && g < w->p->k; g++) {
		free(w->boards[g].queue.items);
		free(w->boards[g].marks);
	}
	free(w->boards);
	free(w->gpu_of);
	free(w->weight_to);
	free(w->trial[0].items);
	free(w->trial[1].items);
	free(w->trial[2].items);
	joint_archive_finish(&w->archive);
	joint_pool_free(w->pool);
	*w = (struct joint_walk){ 0 };
}

static int make_room(struct joint_queue *q, uint32_t n)
{
	struct hes_flow_item *items;

	if (n <= q->room)
		return 0;
	items = reallocarray(q->items, 2 * n, sizeof(*items));
	if (!items)
		return -ENOMEM;
	q->items = items;
	q->room = 2 * n;
	return 0;
}

static int copy(struct joint_queue *to, const struct joint_queue *from)
{
	if (make_room(to, from->n + 1))
		return -ENOMEM;
	if (from->n)
		memcpy(to->items, from->items, from->n * sizeof(*from->items));
	to->n = from->n;
	to->same = from->same;
	return 0;
}

/* Items from one on change. */
static void touch(struct joint_queue *q, uint32_t at)
{
	q->same = q->same < at ? q->same : at;
}

static void put(struct joint_queue *q, uint32_t at, struct hes_flow_item item)
{
	touch(q, at);
	memmove(&q->items[at + 1], &q->items[at], (q->n - at) * sizeof(*q->items));
	q->items[at] = item;
	q->n++;
}

static struct hes_flow_item take(struct joint_queue *q, uint32_t at)
{
	struct hes_flow_item item = q->items[at];

	touch(q, at);
	q->n--;
	memmove(&q->items[at], &q->items[at + 1], (q->n - at) * sizeof(*q->items));
	return item;
}

/* @return false given up, as its energy and priced completion times exceed a limit */
static bool run(struct joint_walk *w, size_t gpu, struct joint_queue *q, double limit_mj, bool roughly)
{
	const struct hes_flow_stop stop = { w->lambda, limit_mj, roughly };

	w->evaluations++;
	if (!hes_flow_try(w->p, w->paces, gpu, q->items, q->n, w->boards[gpu].marks, q->same, &stop, &q->cost))
		return false;
	/* A board that runs nothing draws its idle power, whatever the plan. */
	q->cost.peak_mw = fmax(q->cost.peak_mw, w->p->types[w->p->gpus[gpu].type]->idle_power_mw);
	if (w->shun_far)
		q->cost.late_us += q->cost.far_us;
	return true;
}

/* Note the states on the way through a board's queue, from where it is no longer the one they are of. */
static int mark(struct joint_walk *w, size_t gpu)
{
	struct joint_board *b = &w->boards[gpu];
	struct joint_queue *q = &b->queue;

	if (b->room < q->n + 1) {
		struct hes_flow_state *marks = reallocarray(b->marks, 2 * (q->n + 1), sizeof(*marks));

		if (!marks)
			return -ENOMEM;
		b->marks = marks;
		b->room = 2 * (q->n + 1);
	}
	hes_flow_mark(w->p, w->paces, gpu, q->items, q->n, q->same, b->marks);
	q->same = q->n;
	if (!(q->cost.late_us > 0))
		joint_pool_put(w->pool, b->like, q->items, q->n, &q->cost);
	return 0;
}

/* What the constraints are missed by, in microseconds and milliwatts: units do not matter, 0 does. */
static double excess_of(const struct joint_walk *w, double late_us, double peak_mw)
{
	double over_mw = w->power_cap_mw > 0 ? fmax(0, peak_mw - w->power_cap_mw) : 0;

	return late_us + 1e6 * over_mw;
}

static double cost_of(const struct joint_walk *w, const struct hes_objectives *at, double excess)
{
	return at->energy_mj + w->lambda * at->jct_us + w->penalty * excess;
}

/* Sums anew: moves add and subtract, and rounding would gather. */
static void sum_up(struct joint_walk *w)
{
	w->at = (struct hes_objectives){ 0, 0 };
	w->late_us = w->peak_mw = 0;
	for (size_t g = 0; g < w->p->k; g++) {
		const struct hes_flow_cost *c = &w->boards[g].queue.cost;

		w->at.energy_mj += c->energy_mj;
		w->at.jct_us += c->ends_us;
		w->late_us += c->late_us;
		w->peak_mw += c->peak_mw;
	}
}

static int keep(struct joint_walk *w)
{
	size_t slot;
	struct hes_flow_item *items;
	uint32_t *first, n = 0;
	int rc = joint_archive_offer(&w->archive, &w->at, excess_of(w, w->late_us, w->peak_mw), &slot);

	if (rc <= 0)
		return rc;
	items = &w->archive.items[slot * w->p->n];
	first = w->archive.first + slot * (w->p->k + 1);
	for (size_t g = 0; g < w->p->k; g++) {
		first[g] = n;
		if (w->boards[g].queue.n)
			memcpy(&items[n], w->boards[g].queue.items, w->boards[g].queue.n * sizeof(*items));
		n += w->boards[g].queue.n;
	}
	first[w->p->k] = n;
	return 0;
}

int joint_walk_start(struct joint_walk *w, const struct hes_joint_solution *s)
{
	for (size_t g = 0; g < w->p->k; g++) {
		struct joint_queue *q = &w->boards[g].queue;

		q->n = q->same = 0;
		if (make_room(q, s->first[g + 1] - s->first[g] + 1))
			return -ENOMEM;
		for (uint32_t i = s->first[g]; i < s->first[g + 1]; i++) {
			q->items[q->n++] = s->items[i];
			w->gpu_of[s->items[i].job] = (uint32_t)g;
		}
		run(w, g, q, INFINITY, false);
		if (mark(w, g))
			return -ENOMEM;
	}
	sum_up(w);
	return keep(w);
}

int joint_walk_restart(struct joint_walk *w)
{
	const struct joint_archive *a = &w->archive;
	double least = cost_of(w, &w->at, excess_of(w, w->late_us, w->peak_mw));
	size_t best = SIZE_MAX;

	for (size_t m = 0; m < a->front.n; m++) {
		double cost = cost_of(w, &a->front.v[m].at, a->excess);

		if (cost < least) {
			least = cost;
			best = a->front.v[m].tag;
		}
	}
	if (best == SIZE_MAX)
		return 0;
	return joint_walk_start(w, &(struct hes_joint_solution){ &a->items[best * a->n], &a->first[best * (a->k + 1)] });
}

#define HULL 32
/* Boards' queues of the same jobs as a solution's: each has those that are best at some weight, and stands at one. */
struct mix {
	struct joint_pooled v[HULL];
	size_t              n, at;
};

/* Time that a board's next queue saves, for its energy; of none, 0. */
static double saved_for_energy(const struct mix *m)
{
	const struct hes_flow_cost *a, *b;

	if (m->at + 1 >= m->n)
		return 0;
	a = &m->v[m->at].cost;
	b = &m->v[m->at + 1].cost;
	return (a->ends_us - b->ends_us) / (b->energy_mj - a->energy_mj);
}

/* A pool knows sets of jobs by a number that others may have, too. */
static bool are_on(const struct joint_walk *w, const struct joint_pooled *v, size_t n, uint32_t gpu)
{
	for (size_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < w->boards[gpu].queue.n; j++)
			if (w->gpu_of[v[i].items[j].job] != gpu)
				return false;
	return true;
}

static void seat(struct joint_walk *w, uint32_t gpu, const struct joint_pooled *x)
{
	struct joint_queue *q = &w->boards[gpu].queue;

	if (q->n)
		memcpy(q->items, x->items, q->n * sizeof(*q->items));
	q->cost = x->cost;
}

/*
 * From everybody's most frugal queue on, always the step that saves most time for its energy: that visits all
 * that is best at some weight.
 */
static int keep_all(struct joint_walk *w, struct mix *mixes)
{
	for (;;) {
		double most = 0;
		uint32_t which = 0;
		int rc;

		sum_up(w);
		rc = keep(w);
		if (rc < 0)
			return rc;
		for (uint32_t g = 0; g < w->p->k; g++) {
			const double here = saved_for_energy(&mixes[g]);

			if (here > most) {
				most = here;
				which = g;
			}
		}
		if (!(most > 0))
			return 0;
		mixes[which].at++;
		seat(w, which, &mixes[which].v[mixes[which].at]);
	}
}

/* The jobs of a solution on the boards they are on. */
static int recombine(struct joint_walk *w, struct mix *mixes)
{
	for (uint32_t g = 0; g < w->p->k; g++) {
		const struct joint_board *b = &w->boards[g];
		struct mix *m = &mixes[g];

		m->at = 0;
		m->n = joint_pool_hull(w->pool, b->like, b->queue.items, b->queue.n, m->v, HULL);
		if (!m->n || !are_on(w, m->v, m->n, g))
			return 0;
	}
	for (uint32_t g = 0; g < w->p->k; g++)
		seat(w, g, &mixes[g].v[0]);
	return keep_all(w, mixes);
}

static int lay_out(struct joint_walk *w, const struct hes_joint_solution *s, uint64_t *jobs)
{
	*jobs = 0;
	for (uint32_t g = 0; g < w->p->k; g++) {
		struct joint_queue *q = &w->boards[g].queue;

		q->n = q->same = 0;
		if (make_room(q, s->first[g + 1] - s->first[g] + 1))
			return -ENOMEM;
		for (uint32_t i = s->first[g]; i < s->first[g + 1]; i++) {
			q->items[q->n++] = s->items[i];
			w->gpu_of[s->items[i].job] = g;
		}
		*jobs += joint_pool_key(w->boards[g].like, q->items, q->n);
	}
	return 0;
}

int joint_walk_recombine(struct joint_walk *w)
{
	const size_t members = w->archive.front.n;
	struct joint_archive was = { .n = w->p->n, .k = w->p->k };
	uint64_t *seen = calloc(members + 1, sizeof(*seen));
	struct mix *mixes = calloc(w->p->k + 1, sizeof(*mixes));
	size_t n_seen = 0;
	int rc = seen && mixes ? joint_archive_merge(&was, &w->archive) : -ENOMEM;

	for (size_t i = 0; i < was.front.n && !rc; i++) {
		const size_t s = was.front.v[i].tag;
		size_t at = 0;

		rc = lay_out(w, &(struct hes_joint_solution){ &was.items[s * was.n], &was.first[s * (was.k + 1)] }, &seen[n_seen]);
		while (seen[at] != seen[n_seen])
			at++;
		if (at < n_seen || rc)
			continue;
		n_seen++;
		rc = recombine(w, mixes);
	}
	if (getenv("V")) fprintf(stderr, "recombine %zu (%zu) -> %zu\n", members, n_seen, w->archive.front.n);
	w->at = (struct hes_objectives){ INFINITY, INFINITY };
	joint_archive_finish(&was);
	free(seen);
	free(mixes);
	return rc;
}

static uint32_t place_of(const struct joint_queue *q, uint32_t job)
{
	uint32_t at = 0;

	while (q->items[at].job != job)
		at++;
	return at;
}

/* A job's item, to be changed. */
static struct hes_flow_item *change(struct joint_queue *q, uint32_t job)
{
	const uint32_t at = place_of(q, job);

	touch(q, at);
	return &q->items[at];
}

static uint16_t random_share(struct joint_walk *w)
{
	return (uint16_t)(HES_SHARE_STEP_PCT * (1 + hes_rng_below(&w->rng, HES_SHARE_SUM_PCT / HES_SHARE_STEP_PCT)));
}

/* The clock a job takes in a queue: that of a neighbour, or its own in proportion. */
static uint16_t clock_there(struct joint_walk *w, const struct joint_queue *q, uint32_t at, uint16_t own,
			    uint32_t from_type, uint32_t to_type)
{
	const size_t from = w->p->types[from_type]->n_clocks, to = w->p->types[to_type]->n_clocks;

	if (from_type == to_type && hes_rng_below(&w->rng, 2))
		return own;
	if (q->n)
		return q->items[at < q->n ? at : q->n - 1].clock;
	return (uint16_t)((own + 1u) * to / from > 0 ? (own + 1u) * to / from - 1 : 0);
}

/* A move: which queues it touches, as w->trial[0..n) has them. */
struct move {
	uint32_t n;
	uint32_t gpu[2];
	bool     screened; /* estimates have been asked */
};

static int begin(struct joint_walk *w, struct move *m, uint32_t a, uint32_t b)
{
	m->gpu[0] = a;
	m->gpu[1] = b;
	m->n = a == b ? 1 : 2;
	if (copy(&w->trial[0], &w->boards[a].queue))
		return -ENOMEM;
	return m->n == 2 ? copy(&w->trial[1], &w->boards[b].queue) : 0;
}

static double queue_cost(const struct joint_walk *w, const struct hes_flow_cost *c)
{
	return c->energy_mj + w->lambda * c->ends_us;
}

/* A job put somewhere in a queue of a board, with some share and clock; in @q, which has the queue without it. */
static int insert(struct joint_walk *w, struct joint_queue *q, struct hes_flow_item item, uint32_t from, uint32_t to)
{
	const uint32_t at = (uint32_t)hes_rng_below(&w->rng, q->n + 1u);

	item.clock = clock_there(w, q, at, item.clock, w->p->gpus[from].type, w->p->gpus[to].type);
	if (hes_rng_below(&w->rng, 2))
		item.sm_pct = random_share(w);
	put(q, at, item);
	return 1;
}

static void swap_trials(struct joint_walk *w, int a, int b)
{
	const struct joint_queue one = w->trial[a];

	w->trial[a] = w->trial[b];
	w->trial[b] = one;
}

/* Taken out once and put in some places: the one that estimates like best, in trial[1]. @return 0 none will do */
static int relocate_screened(struct joint_walk *w, struct move *m, struct hes_flow_item item)
{
	const struct hes_problem *p = w->p;
	const uint32_t from = m->gpu[0];
	const double had = queue_cost(w, &w->boards[from].queue.cost);
	double without, least = w->slack;

	run(w, from, &w->trial[0], INFINITY, true);
	without = queue_cost(w, &w->trial[0].cost);
	m->n = 0;
	for (int i = 0; i < PLACES; i++) {
		const uint32_t to = (uint32_t)hes_rng_below(&w->rng, p->k);
		const double old = to == from ? had : had - without + queue_cost(w, &w->boards[to].queue.cost);

		if (!hes_problem_runs(p, item.job, p->gpus[to].type))
			continue;
		if (copy(&w->trial[2], to == from ? &w->trial[0] : &w->boards[to].queue))
			return -ENOMEM;
		insert(w, &w->trial[2], item, from, to);
		if (!run(w, to, &w->trial[2], (old + least) * (1 + 1e-9), true))
			continue;
		least = queue_cost(w, &w->trial[2].cost) - old;
		m->gpu[1] = to;
		m->n = to == from ? 1 : 2;
		swap_trials(w, 1, 2);
	}
	if (m->n == 1)
		swap_trials(w, 0, 1);
	m->screened = true;
	return m->n > 0;
}

static int relocate(struct joint_walk *w, struct move *m)
{
	const struct hes_problem *p = w->p;
	const uint32_t job = draw_job(w), from = w->gpu_of[job];
	const uint32_t to = w->screens ? from : (uint32_t)hes_rng_below(&w->rng, p->k);
	struct hes_flow_item item;

	if (!hes_problem_runs(p, job, p->gpus[to].type))
		return 0;
	if (begin(w, m, from, to))
		return -ENOMEM;
	item = take(&w->trial[0], place_of(&w->trial[0], job));
	return w->screens ? relocate_screened(w, m, item) : insert(w, &w->trial[m->n - 1], item, from, to);
}

static int swap(struct joint_walk *w, struct move *m)
{
	const struct hes_problem *p = w->p;
	const uint32_t a = draw_job(w), b = (uint32_t)hes_rng_below(&w->rng, p->n);
	const uint32_t ga = w->gpu_of[a], gb = w->gpu_of[b];
	struct hes_flow_item *ia, *ib, old;

	if (a == b || !hes_problem_runs(p, a, p->gpus[gb].type) || !hes_problem_runs(p, b, p->gpus[ga].type))
		return 0;
	if (begin(w, m, ga, gb))
		return -ENOMEM;
	ia = change(&w->trial[0], a);
	ib = change(&w->trial[m->n - 1], b);
	old = *ia;
	/* Places and clocks belong to the queue, shares to the job or to the place, by lot. */
	ia->job = b;
	ib->job = a;
	if (hes_rng_below(&w->rng, 2)) {
		ia->sm_pct = ib->sm_pct;
		ib->sm_pct = old.sm_pct;
	}
	return 1;
}

static int reshare(struct joint_walk *w, struct move *m)
{
	const uint32_t job = draw_job(w), gpu = w->gpu_of[job];
	struct joint_queue *q = &w->trial[0];
	uint32_t at;

	if (begin(w, m, gpu, gpu))
		return -ENOMEM;
	at = place_of(q, job);
	if (at + 1 < q->n && hes_rng_below(&w->rng, 2)) {
		/* Between neighbours. */
		int step = hes_rng_below(&w->rng, 2) ? HES_SHARE_STEP_PCT : -HES_SHARE_STEP_PCT;
		int a = q->items[at].sm_pct + step, b = q->items[at + 1].sm_pct - step;

		if (a < HES_SHARE_STEP_PCT || b < HES_SHARE_STEP_PCT || a > HES_SHARE_SUM_PCT || b > HES_SHARE_SUM_PCT)
			return 0;
		touch(q, at);
		q->items[at].sm_pct = (uint16_t)a;
		q->items[at + 1].sm_pct = (uint16_t)b;
		return 1;
	}
	touch(q, at);
	q->items[at].sm_pct = random_share(w);
	return q->items[at].sm_pct != w->boards[gpu].queue.items[at].sm_pct;
}

static int reclock(struct joint_walk *w, struct move *m)
{
	const uint32_t job = draw_job(w), gpu = w->gpu_of[job];
	const int last = (int)w->p->types[w->p->gpus[gpu].type]->n_clocks - 1;
	const int step = hes_rng_below(&w->rng, 2) ? 1 : -1;
	struct joint_queue *q = &w->trial[0];
	uint32_t lo, hi;
	bool any = false;

	if (begin(w, m, gpu, gpu))
		return -ENOMEM;
	lo = place_of(q, job);
	hi = lo + 1;
	/* One job, those from it on, or all. */
	switch (hes_rng_below(&w->rng, 4)) {
	case 0: hi = q->n; break;
	case 1: lo = 0; hi = q->n; break;
	default: break;
	}
	touch(q, lo);
	for (uint32_t i = lo; i < hi; i++) {
		int to = q->items[i].clock + step;

		if (to < 0 || to > last)
			continue;
		q->items[i].clock = (uint16_t)to;
		any = true;
	}
	return any;
}

static const struct {
	uint32_t weight;
	int    (*make)(struct joint_walk *w, struct move *m);
} moves[] = {
	{ 40, relocate }, { 25, swap }, { 15, reshare }, { 20, reclock },
};

/* @return 1 a move in w->trial; 0 none came of it; -ENOMEM */
static int propose(struct joint_walk *w, struct move *m)
{
	uint32_t draw = (uint32_t)hes_rng_below(&w->rng, 100), i = 0;

	while (draw >= moves[i].weight)
		draw -= moves[i++].weight;
	return moves[i].make(w, m);
}

static int accept(struct joint_walk *w, const struct move *m)
{
	for (uint32_t i = 0; i < m->n; i++) {
		struct joint_queue *q = &w->boards[m->gpu[i]].queue, old = *q;

		*q = w->trial[i];
		w->trial[i] = old;
		for (uint32_t j = 0; j < q->n; j++)
			w->gpu_of[q->items[j].job] = m->gpu[i];
		if (mark(w, m->gpu[i]))
			return -ENOMEM;
	}
	return 0;
}

/* Whether a move may be taken, as far as estimates can tell. */
static bool is_hopeful(struct joint_walk *w, const struct move *m, double left)
{
	for (uint32_t i = 0; i < m->n; i++) {
		if (!run(w, m->gpu[i], &w->trial[i], left * (1 + 1e-9), true))
			return false;
		left -= queue_cost(w, &w->trial[i].cost);
	}
	return true;
}

/* Take a proposed move if it is better, or worse by no more than a lot drawn beforehand allows. */
static int decide(struct joint_walk *w, const struct move *m, double allowed)
{
	const double had = w->penalty * excess_of(w, w->late_us, w->peak_mw);
	struct hes_objectives at = w->at;
	double late_us = w->late_us, peak_mw = w->peak_mw, rise, left = w->slack;

	for (uint32_t i = 0; i < m->n; i++)
		left += queue_cost(w, &w->boards[m->gpu[i]].queue.cost);
	if (w->screens && !m->screened && !is_hopeful(w, m, left))
		return 0;
	for (uint32_t i = 0; i < m->n; i++) {
		const struct hes_flow_cost *old = &w->boards[m->gpu[i]].queue.cost, *new = &w->trial[i].cost;

		if ((!w->screens || new->rough_us > 0) && !run(w, m->gpu[i], &w->trial[i], left * (1 + 1e-9), false))
			return 0;
		left -= queue_cost(w, new);
		at.energy_mj += new->energy_mj - old->energy_mj;
		at.jct_us += new->ends_us - old->ends_us;
		late_us += new->late_us - old->late_us;
		peak_mw += new->peak_mw - old->peak_mw;
	}
	rise = cost_of(w, &at, excess_of(w, late_us, peak_mw)) - cost_of(w, &w->at, 0) - had;
	if (rise > allowed)
		return 0;
	if (accept(w, m))
		return -ENOMEM;
	sum_up(w);
	return keep(w);
}

double joint_walk_spent(const struct joint_walk *w)
{
	if (w->spent)
		return (w->spent(w->spent_ctx) - w->from) / (w->to - w->from);
	return (double)w->evaluations / (double)w->budget;
}

double joint_walk_expects(const struct joint_walk *w)
{
	return w->spent ? (double)w->evaluations / fmax(joint_walk_spent(w), 1e-9) : (double)w->budget;
}

double joint_walk_scale(const struct joint_walk *w)
{
	return cost_of(w, &w->at, 0) / (double)w->p->n;
}

int joint_walk_anneal(struct joint_walk *w, double until, double hot, double cold)
{
	const double scale = joint_walk_scale(w), from = joint_walk_spent(w);
	double part = from, temperature = scale * hot, allowed;
	int rc = 0;

	for (uint64_t made = 0; part < until; made++) {
		struct move m = { 0 };

		if (made % w->look == 0) {
			part = joint_walk_spent(w);
			temperature = scale * hot * pow(cold / hot, fmin((part - from) / (until - from), 1));
		}
		allowed = -temperature * log(1 - hes_rng_unit(&w->rng));
		w->slack = allowed + w->penalty * excess_of(w, w->late_us, w->peak_mw);
		rc = propose(w, &m);
		if (rc > 0)
			rc = decide(w, &m, allowed);
		else if (rc == 0)
			w->evaluations++; /* so that the walk ends even where nothing can be moved */
		if (rc < 0)
			return rc;
	}
	return 0;
}
