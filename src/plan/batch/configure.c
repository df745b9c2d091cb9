/*
 * configure.c - Algorithm 1 over a front; see configure.h.
 *
 * Energy and the sum of completion times are sums over batches: a batch counts with its own jobs'
 * ends, and with its length times the number of jobs behind it. So each batch has a list of
 * trade-offs of its own, one for each clock. A solution starts with every batch at its fastest
 * clock. Then, step by step, the batch that saves most energy for its delay takes a slower clock:
 * these steps follow the lower convex hull of all settings. Queues that occur in several solutions
 * are configured once.
 */
#include "plan/batch/configure.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/batch/compose.h"
#include "plan/batch/sharing.h"

/* A batch at one clock. */
struct option {
	uint32_t clock_mhz;
	bool far;        /* far outside of the predictor's training range, or below a floor */
	double delay_us; /* its part of the sum of completion times */
	double energy_mj;
};

struct batch {
	struct hes_group group;
	uint32_t n;                            /* options that can be best: */
	struct option options[HES_MAX_CLOCKS]; /* a convex curve from the fastest to the one with
						  least energy */
};

struct queue {
	uint32_t type;
	struct batch *v;
	size_t n;
};

/* One GPU's queue in one solution. */
struct queue_ref {
	uint32_t type;
	uint32_t n;
	const uint32_t *jobs;
	size_t at; /* solution * k + gpu */
	struct hes_sharing_aim aim;
};

/* Slowing one batch to its next option. */
struct step {
	double saved; /* energy per delay, mJ/us */
	uint32_t gpu, batch;
	uint32_t option; /* the one stepped to */
};

struct hes_configured {
	const struct hes_problem *p;
	const struct hes_assign_front *front;
	const struct hes_sharing_aim *aims; /* [front->n] or NULL; during hes_configure() */
	struct queue *queues;
	size_t n_queues;
	uint32_t *queue_of;      /* [solution * k + gpu] */
	struct step *steps;      /* room for one solution's */
	struct hes_pareto found; /* tag: solution << 32 | (1 + steps); 0: as in stage 1 */
};

static int compare_contents(const struct queue_ref *x, const struct queue_ref *y)
{
	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	if (x->n != y->n)
		return x->n < y->n ? -1 : 1;
	if (x->aim.jct_price != y->aim.jct_price)
		return x->aim.jct_price < y->aim.jct_price ? -1 : 1;
	if (x->aim.overlap != y->aim.overlap)
		return x->aim.overlap ? 1 : -1;
	for (uint32_t i = 0; i < x->n; i++)
		if (x->jobs[i] != y->jobs[i])
			return x->jobs[i] < y->jobs[i] ? -1 : 1;
	return 0;
}

static int by_contents(const void *a, const void *b)
{
	const struct queue_ref *x = a, *y = b;
	int order = compare_contents(x, y);

	return order ? order : x->at < y->at ? -1 : x->at > y->at;
}

static int by_delay(const void *a, const void *b)
{
	const struct option *x = a, *y = b;

	if (x->delay_us != y->delay_us)
		return x->delay_us < y->delay_us ? -1 : 1;
	/* Of equal delays, the front keeps the one with the least energy. */
	return x->clock_mhz < y->clock_mhz ? -1 : x->clock_mhz > y->clock_mhz;
}

static double saving(const struct option *from, const struct option *to)
{
	return (from->energy_mj - to->energy_mj) / (to->delay_us - from->delay_us);
}

/* Keep the lower convex hull of options sorted by delay. @return how many */
static uint32_t keep_hull(struct option *o, uint32_t n)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (kept && o[i].energy_mj >= o[kept - 1].energy_mj)
			continue;
		while (kept > 1 &&
		       saving(&o[kept - 2], &o[kept - 1]) <= saving(&o[kept - 2], &o[i]))
			kept--;
		o[kept++] = o[i];
	}
	return kept;
}

/* Remove options far outside of the training range, unless there are no others. @return how many
 * stay */
static uint32_t drop_far(struct option *o, uint32_t n)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++)
		if (!o[i].far)
			o[kept++] = o[i];
	return kept ? kept : n;
}

/*
 * Every clock of the type for one batch (lines 12-13), from the highest down. Power falls with the
 * clock to a floor while time only rises: once a clock takes a tenth more energy than a faster one,
 * all lower clocks do, too.
 */
static void try_clocks(const struct hes_problem *p, uint32_t type, double behind, struct batch *b)
{
	const struct hes_gpu_type *g = p->types[type];
	double least_mj = INFINITY, last_mj = 0;

	for (size_t c = g->n_clocks; c-- > 0 && last_mj <= 1.1 * least_mj;) {
		struct hes_group_cost cost;

		hes_group_run(p, type, g->clocks_mhz[c], &b->group, &cost);
		b->options[b->n++] = (struct option){
			g->clocks_mhz[c],
			cost.far || cost.breaks_floor,
			cost.ends_us + cost.last_us * behind,
			cost.energy_mj,
		};
		if (!b->options[b->n - 1].far) {
			last_mj = cost.energy_mj;
			least_mj = fmin(least_mj, last_mj);
		}
	}
	b->n = drop_far(b->options, b->n);
	qsort(b->options, b->n, sizeof(b->options[0]), by_delay);
	b->n = keep_hull(b->options, b->n);
}

static int configure_queue(const struct hes_problem *p, const struct queue_ref *r, struct queue *q)
{
	struct hes_batches b;
	double behind = r->n;
	int rc = hes_sharing_batches(p, r->type, &r->aim, r->jobs, r->n, &b);

	if (rc)
		return rc;
	q->v = calloc(b.n + 1, sizeof(*q->v));
	q->type = r->type;
	q->n = q->v ? b.n : 0;
	for (size_t i = 0; i < q->n; i++) {
		behind -= b.v[i].n;
		q->v[i].group = b.v[i];
		try_clocks(p, r->type, behind, &q->v[i]);
	}
	free(b.v);
	return q->v ? 0 : -ENOMEM;
}

/* Configure every distinct queue of the front once. */
static int configure_queues(struct hes_configured *c)
{
	const size_t k = c->p->k, n = c->front->n * k;
	struct queue_ref *refs = calloc(n + 1, sizeof(*refs));
	int rc = refs ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && refs; i++) {
		const struct hes_assignment *x = &c->front->v[i / k];
		size_t g = i % k;

		refs[i] = (struct queue_ref){
			c->p->gpus[g].type, x->first[g + 1] - x->first[g], &x->queue[x->first[g]],
			i, c->aims ? c->aims[i / k] : (struct hes_sharing_aim){ .jct_price = 0 }
		};
	}
	if (refs)
		qsort(refs, n, sizeof(*refs), by_contents);
	for (size_t i = 0; i < n && !rc; i++) {
		if (i == 0 || compare_contents(&refs[i - 1], &refs[i]) != 0)
			rc = configure_queue(c->p, &refs[i], &c->queues[c->n_queues++]);
		c->queue_of[refs[i].at] = (uint32_t)c->n_queues - 1;
	}
	free(refs);
	return rc;
}

static const struct queue *queue_at(const struct hes_configured *c, size_t solution, size_t gpu)
{
	return &c->queues[c->queue_of[solution * c->p->k + gpu]];
}

static int by_saving(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	if (x->saved != y->saved)
		return x->saved > y->saved ? -1 : 1;
	if (x->gpu != y->gpu)
		return x->gpu < y->gpu ? -1 : 1;
	if (x->batch != y->batch)
		return x->batch < y->batch ? -1 : 1;
	return x->option < y->option ? -1 : x->option > y->option;
}

/* The steps of a solution, most saving first. A batch's steps come in order, since its curve is
 * convex. */
static size_t list_steps(const struct hes_configured *c, size_t solution, struct step *steps)
{
	size_t n = 0;

	for (size_t g = 0; g < c->p->k; g++) {
		const struct queue *q = queue_at(c, solution, g);

		for (size_t b = 0; b < q->n; b++)
			for (uint32_t o = 1; o < q->v[b].n; o++)
				steps[n++] = (struct step){
					saving(&q->v[b].options[o - 1], &q->v[b].options[o]),
					(uint32_t)g,
					(uint32_t)b,
					o,
				};
	}
	qsort(steps, n, sizeof(*steps), by_saving);
	return n;
}

/* Every batch at its fastest clock. */
static struct hes_objectives fastest(const struct hes_configured *c, size_t solution)
{
	const struct hes_assignment *x = &c->front->v[solution];
	struct hes_objectives at = { 0, 0 };

	for (size_t g = 0; g < c->p->k; g++) {
		const struct queue *q = queue_at(c, solution, g);

		at.jct_us += c->p->gpus[g].wait_us * (x->first[g + 1] - x->first[g]);
		for (size_t b = 0; b < q->n; b++) {
			at.jct_us += q->v[b].options[0].delay_us;
			at.energy_mj += q->v[b].options[0].energy_mj;
		}
	}
	return at;
}

/* Lines 11-20 for one solution. */
static int take_steps(struct hes_configured *c, size_t solution)
{
	struct hes_objectives at = fastest(c, solution);
	size_t n = list_steps(c, solution, c->steps);
	int rc = hes_pareto_insert(&c->found, &at, (uint64_t)solution << 32 | 1);

	for (size_t i = 0; i < n && rc >= 0; i++) {
		const struct batch *b =
			&queue_at(c, solution, c->steps[i].gpu)->v[c->steps[i].batch];
		const struct option *to = &b->options[c->steps[i].option], *from = to - 1;

		at.jct_us += to->delay_us - from->delay_us;
		at.energy_mj += to->energy_mj - from->energy_mj;
		rc = hes_pareto_insert(&c->found, &at, (uint64_t)solution << 32 | (i + 2));
	}
	return rc < 0 ? rc : 0;
}

static int configure(struct hes_configured *c)
{
	int rc = configure_queues(c);
	const bool as_assigned =
		!c->aims && !hes_default_is_far(c->p); /* members as stage 1 left them */

	for (size_t s = 0; s < c->front->n && !rc && as_assigned; s++) {
		rc = hes_pareto_insert(&c->found, &c->front->v[s].at, (uint64_t)s << 32);
		rc = rc < 0 ? rc : 0;
	}
	for (size_t s = 0; s < c->front->n && !rc; s++)
		rc = take_steps(c, s);
	return rc;
}

int hes_configure(const struct hes_problem *p, const struct hes_assign_front *front,
		  const struct hes_sharing_aim *aims, struct hes_configured **out)
{
	struct hes_configured *c = calloc(1, sizeof(*c));
	int rc = -ENOMEM;

	if (!c)
		return rc;
	c->p = p;
	c->front = front;
	c->aims = aims;
	c->queues = calloc(front->n * p->k + 1, sizeof(*c->queues));
	c->queue_of = calloc(front->n * p->k + 1, sizeof(*c->queue_of));
	c->steps = calloc(p->n * HES_MAX_CLOCKS + 1, sizeof(*c->steps));
	if (c->queues && c->queue_of && c->steps)
		rc = configure(c);
	if (rc)
		hes_configured_free(c);
	else
		*out = c;
	return rc;
}

void hes_configured_free(struct hes_configured *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n_queues; i++)
		free(c->queues[i].v);
	free(c->queues);
	free(c->queue_of);
	free(c->steps);
	hes_pareto_free(&c->found);
	free(c);
}

const struct hes_pareto *hes_configured_front(const struct hes_configured *c)
{
	return &c->found;
}

/*
 * The option of each batch of a member. @return 0 or -ENOMEM
 * @param out  [n] free(): a GPU's batches from its first job on; NULL: the member is as in stage 1
 */
static int member_options(const struct hes_configured *c, uint64_t tag, uint32_t **out)
{
	const size_t solution = (size_t)(tag >> 32), n_steps = (size_t)(tag & UINT32_MAX);
	struct step *steps;

	*out = NULL;
	if (!n_steps)
		return 0;
	steps = calloc(c->p->n * HES_MAX_CLOCKS + 1, sizeof(*steps));
	*out = calloc(c->p->n + 1, sizeof(**out));
	if (steps && *out) {
		list_steps(c, solution, steps);
		for (size_t i = 0; i + 1 < n_steps; i++)
			(*out)[c->front->v[solution].first[steps[i].gpu] + steps[i].batch] =
				steps[i].option;
	}
	free(steps);
	return steps && *out ? 0 : -ENOMEM;
}

int hes_configured_plan(const struct hes_configured *c, size_t member, struct hes_plan *plan)
{
	const uint64_t tag = c->found.v[member].tag;
	const size_t solution = (size_t)(tag >> 32);
	const struct hes_assignment *x = &c->front->v[solution];
	uint32_t *option;
	int rc = member_options(c, tag, &option);

	if (!rc && !option)
		rc = hes_compose_assignment(c->p, x, plan);
	for (size_t g = 0; g < c->p->k && option; g++) {
		const struct queue *q = queue_at(c, solution, g);

		for (size_t b = 0; b < q->n && !rc; b++)
			rc = hes_compose_batch(c->p, plan, g,
					       q->v[b].options[option[x->first[g] + b]].clock_mhz,
					       &q->v[b].group);
	}
	free(option);
	if (!rc)
		hes_compose_totals(c->p, plan);
	return rc;
}

int hes_configured_open(const struct hes_configured *c, size_t member,
			struct hes_timeline_item *items, uint32_t *first)
{
	const uint64_t tag = c->found.v[member].tag;
	const size_t solution = (size_t)(tag >> 32);
	const struct hes_assignment *x = &c->front->v[solution];
	uint32_t *option, n = 0;
	const int rc = member_options(c, tag, &option);

	for (size_t g = 0; g < c->p->k && !rc; g++) {
		const struct queue *q = queue_at(c, solution, g);
		const struct hes_gpu_type *type = c->p->types[c->p->gpus[g].type];

		first[g] = n;
		for (uint32_t i = x->first[g]; i < x->first[g + 1] && !option; i++)
			items[n++] = (struct hes_timeline_item){
				x->queue[i], 100, hes_problem_clock(type, type->clock_default_mhz)
			};
		for (size_t b = 0; b < q->n && option; b++) {
			const struct option *o = &q->v[b].options[option[x->first[g] + b]];
			const struct hes_group *group = &q->v[b].group;

			for (uint32_t i = 0; i < group->n; i++)
				items[n++] = (struct hes_timeline_item){
					group->m[i].job, (uint16_t)group->m[i].sm_pct,
					hes_problem_clock(type, o->clock_mhz)
				};
		}
	}
	first[c->p->k] = n;
	free(option);
	return rc;
}
