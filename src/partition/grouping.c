/*
 * grouping.c - which jobs share which GPU of a fleet; see heshare/partition.h.
 *
 * Work per watt of a fleet is no sum over its GPUs, but made of two: gain (split_gain) and power. So, after Dinkelbach, at
 * a price of a watt gain less price x power is a sum, which groups.h makes large; gain / power of what comes out is the
 * next price, until work per watt grows no more. Jobs dealt to the GPUs in turn give the first price.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "partition/groups.h"
#include "partition/split_search.h"

#define ROUNDS 6
#define GROWS  1e-6 /* of work per watt, for another round */
#define EFFORT 50000      /* groups to look at by default, and */
#define EFFORT_A_JOB 1000 /* ... besides for each job */

struct grouping {
	const struct hes_partition_model *m;
	const struct hes_partition_jobs  *p;
	struct split_job *jobs;      /* [n * n_types]; profile NULL: cannot run there */
	double   *base_w;            /* [n_types] */
	uint32_t  step;
	uint32_t  waves;
	uint32_t *kind_of;           /* [waves * GPUs]: index of the type */
	double    price;
	uint64_t  rounds_done;
};

static struct split_problem problem_of(const struct grouping *x, uint32_t kind, const uint32_t *jobs, uint32_t n)
{
	struct split_problem s = { .m = x->m, .g = x->p->types[kind], .base_w = x->base_w[kind], .objective = x->p->objective,
				   .price = x->price, .step = x->step, .levels = 100 / x->step, .n = n };

	for (uint32_t i = 0; i < n; i++)
		s.job[i] = &x->jobs[jobs[i] * x->p->n_types + kind];
	s.clock_mhz = n ? s.job[0]->profile->clock_mhz : 0;
	return s;
}

static bool can_run(const struct grouping *x, uint32_t kind, const uint32_t *jobs, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!x->jobs[jobs[i] * x->p->n_types + kind].profile)
			return false;
	return true;
}

static double value(void *ctx, uint32_t kind, const uint32_t *jobs, uint32_t n)
{
	const struct grouping *x = ctx;
	struct split_problem s;
	struct hes_split split;

	if (!n)
		return -x->price * x->p->types[kind]->idle_power_mw * 1e-3;
	if (!can_run(x, kind, jobs, n))
		return -INFINITY;
	s = problem_of(x, kind, jobs, n);
	return split_quick(&s, &split) ? split_gain(&s, &split) - x->price * split.estimate.power_w : -INFINITY;
}

/* The fastest of a job's types is what its throughput is a part of. */
static int prepare_job(struct grouping *x, size_t i, struct hes_err *err)
{
	const struct hes_share_profile *const *profiles = x->p->profiles + i * x->p->n_types, *any = NULL;
	double alone = NAN, floor = x->p->floor ? x->p->floor[i] : 0;

	for (size_t t = 0; t < x->p->n_types; t++) {
		any = profiles[t] ? profiles[t] : any;
		if (profiles[t] && !(profiles[t]->alone_rate <= alone))
			alone = profiles[t]->alone_rate;
	}
	if (!any)
		return hes_fail(err, -EINVAL, "job %zu has no share profile on any GPU type of the fleet", i);
	if (isnan(alone) && (x->p->objective != HES_PARTITION_THROUGHPUT || floor > 0))
		return hes_fail(err, -ENODATA, "the throughput of %s/%u alone on a whole GPU was not measured; heshare profile "
				"--shares 10..100 measures it", any->workload, any->batch_size);
	for (size_t t = 0; t < x->p->n_types; t++) {
		struct split_job *j = &x->jobs[i * x->p->n_types + t];

		if (!profiles[t])
			continue;
		if (split_job_init(j, profiles[t], x->p->types[t], x->step, floor))
			return hes_fail(err, -ENOMEM, "out of memory for %zu jobs", x->p->n);
		j->alone_rate = alone;
	}
	return 0;
}

static int prepare(struct grouping *x, struct hes_err *err)
{
	const struct hes_partition_jobs *p = x->p;
	size_t gpus = p->fleet->n;
	int rc = 0;

	x->waves = (uint32_t)((p->n + gpus * p->most - 1) / (gpus * p->most));
	x->jobs = calloc(p->n * p->n_types + 1, sizeof(*x->jobs));
	x->base_w = calloc(p->n_types + 1, sizeof(*x->base_w));
	x->kind_of = calloc(x->waves * gpus + 1, sizeof(*x->kind_of));
	if (!x->jobs || !x->base_w || !x->kind_of)
		return hes_fail(err, -ENOMEM, "out of memory for %zu jobs", p->n);
	for (size_t t = 0; t < p->n_types; t++)
		x->base_w[t] = partition_base_w(x->m, p->types[t], p->types[t]->clock_default_mhz);
	for (size_t s = 0; s < x->waves * gpus; s++)
		while (x->kind_of[s] < p->n_types && p->types[x->kind_of[s]] != p->fleet->gpus[s % gpus].type)
			x->kind_of[s]++;
	for (size_t s = 0; s < gpus; s++)
		if (x->kind_of[s] == p->n_types)
			return hes_fail(err, -EINVAL, "the type of GPU %s is not among the types given", p->fleet->gpus[s].name);
	for (size_t i = 0; i < p->n && !rc; i++)
		rc = prepare_job(x, i, err);
	return rc;
}

static void finish(struct grouping *x)
{
	for (size_t i = 0; x->jobs && i < x->p->n * x->p->n_types; i++)
		free(x->jobs[i].at);
	free(x->jobs);
	free(x->base_w);
	free(x->kind_of);
}

/* The best split of a group at the price. */
static int split_group(const struct grouping *x, uint32_t kind, struct hes_partition_group *g, double *gain, struct hes_err *err)
{
	struct split_problem p = problem_of(x, kind, g->job, g->n);
	struct hes_splits splits;
	int rc;

	g->split.estimate.power_w = p.g->idle_power_mw * 1e-3;
	if (!g->n)
		return 0;
	if (!can_run(x, kind, g->job, g->n))
		return hes_fail(err, -ENOSPC, "a job cannot run on a %s", p.g->name);
	rc = split_search(&p, &splits, err);
	if (rc)
		return rc;
	g->split = splits.v[splits.best];
	*gain += split_gain(&p, &g->split);
	hes_splits_free(&splits);
	return 0;
}

/* Groups of a placement, each with its best split at the price; what they do together. */
static int realise(const struct grouping *x, const uint32_t *slot_of, struct hes_partition_groups *out, struct hes_err *err)
{
	size_t gpus = x->p->fleet->n;
	double gain = 0, n = (double)x->p->n;
	int rc = 0;

	*out = (struct hes_partition_groups){ .v = calloc(x->waves * gpus, sizeof(*out->v)), .n = x->waves * gpus, .waves = x->waves };
	if (!out->v)
		return hes_fail(err, -ENOMEM, "out of memory for groups");
	for (uint32_t i = 0; i < x->p->n; i++) {
		struct hes_partition_group *g = &out->v[slot_of[i]];

		g->job[g->n++] = i;
	}
	for (size_t s = 0; s < out->n && !rc; s++) {
		out->v[s].gpu = (uint32_t)(s % gpus);
		out->v[s].wave = (uint32_t)(s / gpus);
		rc = split_group(x, x->kind_of[s], &out->v[s], &gain, err);
		out->power_w += out->v[s].split.estimate.power_w / x->waves;
	}
	out->work = (x->p->objective == HES_PARTITION_ENERGY ? n * n / -gain : gain) / x->waves;
	out->per_watt = out->work / out->power_w;
	if (rc)
		hes_partition_groups_free(out);
	return rc;
}

/* What the next price is: gain for each watt. */
static double price_of(const struct grouping *x, const struct hes_partition_groups *g)
{
	double n = (double)x->p->n, work = g->work * x->waves;

	return (x->p->objective == HES_PARTITION_ENERGY ? n * n / work : work) / (g->power_w * x->waves);
}

/* Jobs dealt to the GPUs in turn. @return whether they fit so */
static bool deal(struct grouping *x, uint32_t *slot_of, struct hes_partition_groups *out)
{
	for (uint32_t i = 0; i < x->p->n; i++)
		slot_of[i] = i % (uint32_t)(x->waves * x->p->fleet->n);
	return realise(x, slot_of, out, NULL) == 0;
}

static void progress(void *ctx, uint64_t done, uint64_t of, double total)
{
	struct grouping *x = ctx;

	(void)total;
	if (x->p->progress)
		x->p->progress(x->p->ctx, x->rounds_done * of + done, ROUNDS * of);
}

static int solve(struct grouping *x, struct hes_partition_groups *out, struct hes_err *err)
{
	const struct groups_problem problem = { .n_jobs = (uint32_t)x->p->n, .n_slots = (uint32_t)(x->waves * x->p->fleet->n),
						.kind_of = x->kind_of, .most = x->p->most, .value = value, .ctx = x };
	uint64_t effort = x->p->effort ? x->p->effort : EFFORT + EFFORT_A_JOB * x->p->n;
	const struct groups_options o = { .seed = x->p->seed, .evaluations = effort / ROUNDS + 1, .progress = progress, .ctx = x };
	uint32_t *slot_of = malloc((x->p->n + 1) * sizeof(*slot_of));
	struct hes_partition_groups best = { .v = NULL };
	int rc = slot_of ? 0 : hes_fail(err, -ENOMEM, "out of memory for groups");

	for (int round = 0; round < ROUNDS && !rc; round++) {
		struct hes_partition_groups now = { .v = NULL };
		double total;

		if (!round && deal(x, slot_of, &best))
			x->price = price_of(x, &best);
		x->rounds_done = (uint64_t)round;
		rc = groups_solve(&problem, &o, slot_of, &total, err);
		if (rc == -ENOSPC)
			hes_fail_in(err, "with these floors, memories and at most %u jobs on a GPU", x->p->most);
		if (!rc)
			rc = realise(x, slot_of, &now, err);
		if (rc || (best.v && now.per_watt <= best.per_watt * (1 + GROWS))) {
			hes_partition_groups_free(&now);
			break;
		}
		hes_partition_groups_free(&best);
		best = now;
		x->price = price_of(x, &best);
	}
	free(slot_of);
	if (rc)
		hes_partition_groups_free(&best);
	else
		*out = best;
	return rc;
}

int hes_partition_group(const struct hes_partition_model *m, const struct hes_partition_jobs *p,
			struct hes_partition_groups *out, struct hes_err *err)
{
	struct grouping x = { .m = m, .p = p, .step = p->step ? p->step : 10 };
	int rc;

	if (!p->n || !p->fleet->n)
		return hes_fail(err, -EINVAL, "%zu jobs on %zu GPUs; both must be at least 1", p->n, (size_t)p->fleet->n);
	if (x.step > 50)
		return hes_fail(err, -EINVAL, "a step of %u %%; it must be from 1 to 50", x.step);
	if (!p->most || p->most > HES_PARTITION_MAX_JOBS)
		return hes_fail(err, -EINVAL, "%u jobs on a GPU at a time; from 1 to %d can share one", p->most, HES_PARTITION_MAX_JOBS);
	rc = prepare(&x, err);
	if (!rc)
		rc = solve(&x, out, err);
	finish(&x);
	return rc;
}

void hes_partition_groups_free(struct hes_partition_groups *g)
{
	free(g->v);
	*g = (struct hes_partition_groups){ 0 };
}
