/*
 * groups_search.c - a good placement, by the annealing of plan/joint/anneal.h; see groups.h.
 *
 * The queue of a GPU is the set of jobs in a slot; it costs what the set is worth, with the other
 * sign. One slot more takes the jobs without a place, each at a penalty. A move brings a job to
 * another slot, or swaps two jobs.
 */
#include "partition/groups.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clamp.h"
#include "plan/joint/anneal.h"

#define CHEAP        (1.0 / 64) /* of a cached value or an impossible move, in calls */
#define LOOK         64         /* moves between two looks at the budget */
#define START_RANDOM 3          /* random starts */
#define START_SLOTS  32         /* slots that a job is tried in by the greedy start */
/* First temperature, in mean changes by a move: the fewer jobs, the higher. */
#define HOT_LEAST 0.5
#define HOT_MOST  2.0
#define HOT_JOBS  60.0
/* part of the search after which only gains are accepted, from the best on */
#define DESCENT     0.95
#define NO_PLACE    40.0  /* the penalty of a job without a place, in mean changes */
#define COLD        0.005 /* last temperature */
#define CACHE_LEAST 1024
#define CACHE_MOST  (1u << 20) /* 16 MiB */

struct job_set {
	uint32_t job[GROUPS_MOST]; /* ascending */
	uint32_t n;
};

struct cached_value {
	uint64_t key; /* 0: none */
	double value;
};

/* What sets are worth. When a bucket is full, the older value goes. A set is known by 63 bits of
 * hash alone: the chance that two of 2^20 sets have the same is 6e-8. */
struct values {
	const struct groups_problem *p;
	struct cached_value *cache; /* [mask + 1], buckets of 2 */
	uint64_t mask;
	uint64_t calls; /* of the callback */
	uint64_t hits;  /* of the cache */
};

/* The set with a job that it does not have; it has fewer than GROUPS_MOST. */
static struct job_set set_with(const struct job_set *s, uint32_t job)
{
	struct job_set t = *s;
	uint32_t at = t.n++;

	for (; at > 0 && t.job[at - 1] > job; at--)
		t.job[at] = t.job[at - 1];
	t.job[at] = job;
	return t;
}

/* @param evaluations  calls to expect. @return 0 or -ENOMEM */
static int values_init(struct values *v, const struct groups_problem *p, uint64_t evaluations)
{
	uint64_t room = CACHE_LEAST;

	while (room < CACHE_MOST && room / 2 < evaluations)
		room *= 2;
	*v = (struct values){ .p = p, .mask = room - 1 };
	v->cache = calloc(room, sizeof(*v->cache));
	return v->cache ? 0 : -ENOMEM;
}

static void values_finish(struct values *v)
{
	free(v->cache);
	v->cache = NULL;
}

/* The finalizer of splitmix64. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/* The jobs that a set's jobs stand in for, ascending. */
static struct job_set set_same(const struct groups_problem *p, const struct job_set *set)
{
	struct job_set same = { .n = 0 };

	for (uint32_t i = 0; i < set->n; i++)
		same = set_with(&same, p->same_as[set->job[i]]);
	return same;
}

static uint64_t set_key(uint32_t kind, const struct job_set *set)
{
	uint64_t key = mix(kind + 0x9e3779b97f4a7c15u);

	for (uint32_t i = 0; i < set->n; i++)
		key = mix(key + set->job[i] + 0x9e3779b97f4a7c15u);
	return key | 1;
}

/* -INFINITY where the value is not a finite number. */
static double cached_value_of(struct values *v, uint32_t kind, const struct job_set *set)
{
	const struct job_set same = v->p->same_as ? set_same(v->p, set) : *set;
	const uint64_t key = set_key(kind, &same);
	struct cached_value *bucket = &v->cache[key & v->mask & ~(uint64_t)1];
	double value;

	for (int i = 0; i < 2; i++)
		if (bucket[i].key == key) {
			v->hits++;
			return bucket[i].value;
		}
	v->calls++;
	value = v->p->value(v->p->ctx, kind, same.job, same.n);
	bucket[1] = bucket[0];
	bucket[0] = (struct cached_value){ key, isfinite(value) ? value : -INFINITY };
	return bucket[0].value;
}

struct search {
	const struct groups_problem *p;
	const struct groups_options *o;
	struct values values;
	struct anneal a;
	double budget;     /* calls of the value callback */
	uint64_t reported; /* hundredths of progress */
	struct hes_joint_solution start;
	uint32_t *slot_of, *order; /* [n_jobs] of a start */
	struct job_set *set;       /* [n_slots] of a start */
};

static double set_value(struct search *x, uint32_t slot, const struct job_set *set)
{
	return cached_value_of(&x->values, x->p->kind_of[slot], set);
}

static bool sets_run(struct anneal *a, uint32_t slot, struct anneal_queue *q, double limit)
{
	struct search *x = a->ctx;
	struct job_set set = { .n = 0 };
	double value;

	(void)limit;
	q->cost = (struct hes_timeline_cost){ 0 };
	if (slot == x->p->n_slots) {
		q->cost.late_us = q->n;
		return true;
	}
	if (q->n > x->p->most)
		return false;
	for (uint32_t i = 0; i < q->n; i++)
		set = set_with(&set, q->items[i].job);
	value = set_value(x, slot, &set);
	q->cost.energy_mj = -value;
	return value > -INFINITY;
}

/* A job to another slot, in place of one of its jobs or besides. */
static int sets_propose(struct anneal *a)
{
	const struct groups_problem *p = ((struct search *)a->ctx)->p;
	const uint32_t job = hes_rng_small(&a->rng, p->n_jobs),
		       b = hes_rng_small(&a->rng, p->n_slots + 1),
		       i = hes_rng_small(&a->rng, p->most);
	const struct anneal_position at = a->position_of[job];
	struct hes_timeline_item *mine, *other;

	if (at.gpu == b || (i >= a->queues[b].n && a->queues[b].n >= p->most))
		return 0;
	/* Slots of a kind that would only exchange what they have. */
	if (a->queues[at.gpu].n == 1 && a->queues[b].n <= (i < a->queues[b].n) &&
	    at.gpu < p->n_slots && b < p->n_slots && p->kind_of[at.gpu] == p->kind_of[b])
		return 0;
	if (anneal_begin_move(a, at.gpu, b))
		return -ENOMEM;
	mine = &a->move.queue[0].items[at.at];
	if (i >= a->queues[b].n) {
		anneal_queue_insert(&a->move.queue[1], a->queues[b].n, *mine);
		anneal_queue_remove(&a->move.queue[0], at.at);
		return 1;
	}
	other = &a->move.queue[1].items[i];
	other->job = mine->job;
	mine->job = a->queues[b].items[i].job;
	return 1;
}

static const struct anneal_objective sets_objective = { sets_run, sets_propose };

/* Part of the budget that is spent, 0 to 1 and beyond. */
static double search_spent(void *ctx)
{
	struct search *x = ctx;
	const double cheap = (double)(x->values.hits + x->a.evaluations);
	const double spent = ((double)x->values.calls + CHEAP * cheap) / x->budget;

	if (x->o->progress && (uint64_t)(100 * fmin(spent, 1)) > x->reported) {
		x->reported = (uint64_t)(100 * fmin(spent, 1));
		x->o->progress(x->o->ctx, x->reported, 100);
	}
	return spent;
}

/* Which slot a start gives each job. */
struct start {
	uint32_t step; /* from the slot that took a job to the next one's first: 1 deals, 0 fills */
	bool best;     /* the best of some slots at random */
};

static double start_gain(struct search *x, uint32_t slot, uint32_t job)
{
	struct job_set set;

	if (x->set[slot].n >= x->p->most)
		return -INFINITY;
	set = set_with(&x->set[slot], job);
	return set_value(x, slot, &set) - set_value(x, slot, &x->set[slot]);
}

/* @return n_slots: none takes it */
static uint32_t start_slot(struct search *x, struct start how, uint32_t first, uint32_t job)
{
	const uint32_t n = x->p->n_slots, tries = how.best && n > START_SLOTS ? START_SLOTS : n;
	uint32_t found = n;
	double most = -INFINITY;

	for (uint32_t i = 0; i < tries && (how.best || found == n); i++) {
		const uint32_t slot = tries < n ? hes_rng_small(&x->a.rng, n) : (first + i) % n;
		const double gain = start_gain(x, slot, job);

		if (gain > most) {
			most = gain;
			found = slot;
		}
	}
	return found;
}

/* Place the jobs in the order of @x->order. The archive keeps the best. */
static int search_start(struct search *x, struct start how)
{
	const uint32_t n_slots = x->p->n_slots;
	uint32_t first = 0, n = 0;

	memset(x->set, 0, n_slots * sizeof(*x->set));
	for (uint32_t i = 0; i < x->p->n_jobs; i++) {
		const uint32_t job = x->order[i], slot = start_slot(x, how, first, job);

		x->slot_of[job] = slot;
		if (slot == n_slots)
			continue;
		x->set[slot] = set_with(&x->set[slot], job);
		first = slot + how.step;
	}
	for (uint32_t slot = 0; slot <= n_slots; slot++) {
		x->start.first[slot] = n;
		for (uint32_t job = 0; job < x->p->n_jobs; job++)
			if (x->slot_of[job] == slot)
				x->start.items[n++] = (struct hes_timeline_item){ .job = job };
	}
	x->start.first[n_slots + 1] = n;
	return anneal_start(&x->a, x->start);
}

static int search_starts(struct search *x)
{
	int rc;

	for (uint32_t i = 0; i < x->p->n_jobs; i++)
		x->order[i] = i;
	rc = search_start(x, (struct start){ .step = 1 });
	if (!rc)
		rc = search_start(x, (struct start){ .step = 0 });
	for (int i = 0; i < START_RANDOM && !rc; i++) {
		hes_rng_shuffle(&x->a.rng, x->order, x->p->n_jobs);
		rc = search_start(x, (struct start){ .step = 1 });
	}
	return rc ? rc : search_start(x, (struct start){ .best = true });
}

static int search_return(struct search *x)
{
	return anneal_start(&x->a, plan_archive_member(&x->a.archive, 0));
}

/* The mean change by a move that is possible. */
static double mean_change(struct search *x)
{
	struct anneal *a = &x->a;
	double sum = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < 4 * LOOK; i++) {
		double change = 0;
		bool can = sets_propose(a) == 1;

		for (uint32_t k = 0; k < a->move.n && can; k++) {
			can = a->move.gpu[k] < x->p->n_slots &&
			      sets_run(a, a->move.gpu[k], &a->move.queue[k], INFINITY);
			change += a->move.queue[k].cost.energy_mj -
				  a->queues[a->move.gpu[k]].cost.energy_mj;
		}
		if (can) {
			sum += fabs(change);
			n++;
		}
	}
	return n ? sum / n : 0;
}

static int search_run(struct search *x)
{
	const double hot = clamp(HOT_JOBS / x->p->n_jobs, HOT_LEAST, HOT_MOST);
	struct anneal_budget b = { .spent = search_spent, .spent_ctx = x, .to = DESCENT };
	double scale;
	int rc = search_return(x);

	if (rc)
		return rc;
	scale = mean_change(x);
	x->a.penalty = scale > 0 ? NO_PLACE * scale : 1;
	b.from = fmin(search_spent(x), DESCENT / 2);
	rc = anneal_run(&x->a, &b, scale, hot, COLD);
	if (!rc)
		rc = search_return(x);
	b = (struct anneal_budget){
		.spent = search_spent, .spent_ctx = x, .from = DESCENT, .to = 1
	};
	return rc ? rc : anneal_run(&x->a, &b, 1e-9 * scale, COLD, COLD);
}

/* Write the best placement if every job has a place. */
static int search_result(const struct search *x, uint32_t *slot_of, double *total,
			 struct hes_err *err)
{
	const struct groups_problem *p = x->p;
	const struct plan_archive *found = &x->a.archive;
	const struct hes_joint_solution best = plan_archive_member(found, 0);

	if (found->excess > 0)
		return hes_fail(err, -ENOSPC, "%.0f of %u jobs have no place", found->excess,
				p->n_jobs);
	*total = -found->front.v[0].at.energy_mj;
	for (uint32_t slot = 0; slot < p->n_slots; slot++)
		for (uint32_t i = best.first[slot]; i < best.first[slot + 1]; i++)
			slot_of[best.items[i].job] = slot;
	return 0;
}

static int search_init(struct search *x)
{
	const struct groups_problem *p = x->p;
	const double calls = 20000 + 2000 * (double)p->n_jobs;
	int rc;

	x->a = (struct anneal){ .objective = &sets_objective,
				.ctx = x,
				.n = p->n_jobs,
				.k = (size_t)p->n_slots + 1,
				.look = LOOK };
	x->budget = x->o->evaluations ? (double)x->o->evaluations : calls;
	hes_rng_seed(&x->a.rng, x->o->seed);
	rc = values_init(&x->values, p, (uint64_t)x->budget);
	if (!rc)
		rc = anneal_init(&x->a);
	x->start.items = calloc(p->n_jobs + (size_t)1, sizeof(*x->start.items));
	x->start.first = calloc(p->n_slots + (size_t)2, sizeof(*x->start.first));
	x->slot_of = calloc(p->n_jobs + (size_t)1, sizeof(*x->slot_of));
	x->order = calloc(p->n_jobs + (size_t)1, sizeof(*x->order));
	x->set = calloc(p->n_slots + (size_t)1, sizeof(*x->set));
	return x->start.items && x->start.first && x->slot_of && x->order && x->set ? rc : -ENOMEM;
}

static void search_finish(struct search *x)
{
	values_finish(&x->values);
	anneal_finish(&x->a);
	free(x->start.items);
	free(x->start.first);
	free(x->slot_of);
	free(x->order);
	free(x->set);
}

static int problem_check(const struct groups_problem *p, struct hes_err *err)
{
	if (p->most < 1 || p->most > GROUPS_MOST)
		return hes_fail(err, -EINVAL, "a GPU cannot take %u jobs at most: give 1 to %u",
				p->most, GROUPS_MOST);
	for (uint32_t i = 0; i < p->n_slots; i++)
		if (p->kind_of[i] == UINT32_MAX)
			return hes_fail(err, -EINVAL, "slot %u has kind %u: give a lower number", i,
					p->kind_of[i]);
	if (p->n_jobs > (uint64_t)p->n_slots * p->most)
		return hes_fail(err, -ENOSPC,
				"%u of %u jobs have no place: %u GPUs take %u jobs each",
				p->n_jobs - p->n_slots * p->most, p->n_jobs, p->n_slots, p->most);
	return 0;
}

int groups_solve(const struct groups_problem *p, const struct groups_options *o, uint32_t *slot_of,
		 double *total, struct hes_err *err)
{
	struct search x = { .p = p, .o = o };
	int rc = problem_check(p, err);

	if (rc)
		return rc;
	rc = search_init(&x);
	if (!rc)
		rc = search_starts(&x);
	if (!rc && p->n_jobs)
		rc = search_run(&x);
	rc = rc ? hes_fail(err, rc, "out of memory") : search_result(&x, slot_of, total, err);
	search_finish(&x);
	return rc;
}
