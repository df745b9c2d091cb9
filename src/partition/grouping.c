/*
 * grouping.c - which jobs share which GPU of a fleet; see heshare/partition.h.
 *
 * Work per watt of a fleet is no sum over its GPUs, but made of two: gain (split_gain) and power.
 * So, after Dinkelbach, at a price of a watt gain less price x power is a sum, which groups.h makes
 * large; gain / power of the result is the next price. Jobs assigned to the GPUs in turn give the
 * first one. The harmonic mean is no ratio of sums; there other prices find better groups now and
 * then.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "partition/groups.h"
#include "partition/split_search.h"

#define MAX_TYPES    64
#define ROUNDS       5
#define DEAL_ROUNDS  3
#define EFFORT       50000 /* groups to look at by default, and */
#define EFFORT_A_JOB 700   /* ... besides for each job */

struct grouping {
	const struct hes_partition_model *m;
	const struct hes_partition_jobs *p;
	const struct hes_gpu_type *types[MAX_TYPES];
	size_t n_types;
	struct split_job *jobs; /* [n * n_types]; profile NULL: cannot run there */
	uint32_t *same_as;      /* [n]: the first job with the same profiles, memory and floor */
	uint32_t step;
	uint32_t waves;
	uint32_t *kind_of; /* [waves * GPUs]: index of the type */
	double price;
	uint64_t rounds_done;
};

static struct split_problem problem_of(const struct grouping *x, uint32_t kind,
				       const uint32_t *jobs, uint32_t n)
{
	const struct hes_gpu_type *g = x->types[kind];
	struct split_problem s = { .m = partition_type_model(x->m, g),
				   .g = g,
				   .clock_mhz = g->clock_default_mhz,
				   .n = n,
				   .objective = x->p->objective,
				   .price = x->price,
				   .step = x->step,
				   .levels = 100 / x->step };

	s.base_w = type_model_base_w(s.m, g->clock_default_mhz);
	for (uint32_t i = 0; i < n; i++)
		s.job[i] = &x->jobs[jobs[i] * x->n_types + kind];
	return s;
}

static bool can_run(const struct grouping *x, uint32_t kind, const uint32_t *jobs, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!x->jobs[jobs[i] * x->n_types + kind].profile)
			return false;
	return true;
}

static double group_value(void *ctx, uint32_t kind, const uint32_t *jobs, uint32_t n)
{
	const struct grouping *x = ctx;
	struct split_problem s;
	struct hes_split split;

	if (!n)
		return -x->price * x->types[kind]->idle_power_mw * 1e-3;
	if (!can_run(x, kind, jobs, n))
		return -INFINITY;
	s = problem_of(x, kind, jobs, n);
	return split_quick(&s, &split) ? split_gain(&s, &split) - x->price * split.estimate.power_w
				       : -INFINITY;
}

/* The throughput of a job is relative to its fastest type. */
static int prepare_job(struct grouping *x, size_t i, struct hes_err *err)
{
	const struct hes_share_profile *const *profiles = x->p->profiles + i * x->n_types,
					      *any = NULL;
	double alone = NAN, floor = x->p->floor ? x->p->floor[i] : 0;

	for (size_t t = 0; t < x->n_types; t++) {
		any = profiles[t] ? profiles[t] : any;
		if (profiles[t])
			alone = fmax(alone,
				     profiles[t]->alone_rate); /* of a number and NaN, the number */
	}
	if (!any)
		return hes_fail(err, -EINVAL,
				"job %zu has no share profile on any GPU type of the fleet", i);
	if (isnan(alone) && (x->p->objective != HES_PARTITION_SUM || floor > 0))
		return hes_fail(err, -ENODATA,
				"the throughput of %s/%u alone on a whole GPU was not measured; "
				"heshare profile "
				"--shares 10..100 measures it",
				any->workload, any->batch_size);
	for (size_t t = 0; t < x->n_types; t++) {
		struct split_job *j = &x->jobs[i * x->n_types + t];

		if (!profiles[t])
			continue;
		if (split_job_init(j, profiles[t], x->types[t], x->step, floor))
			return hes_fail(err, -ENOMEM, "out of memory for %zu jobs", x->p->n);
		j->alone_rate = alone;
		if (x->p->memory_mib && x->p->memory_mib[i] > j->memory_mib)
			j->memory_mib = x->p->memory_mib[i];
	}
	return 0;
}

static bool same_jobs(const struct grouping *x, size_t a, size_t b)
{
	const struct hes_share_profile *const *p = x->p->profiles;
	const uint32_t *memory_mib = x->p->memory_mib;
	const double *floor = x->p->floor;

	return memcmp(&p[a * x->n_types], &p[b * x->n_types], x->n_types * sizeof(*p)) == 0 &&
	       (!memory_mib || memory_mib[a] == memory_mib[b]) && (!floor || floor[a] == floor[b]);
}

/* Slots of a number of waves. */
static int grouping_waves(struct grouping *x, uint32_t waves, struct hes_err *err)
{
	const struct hes_fleet *f = x->p->fleet;

	free(x->kind_of);
	x->waves = waves;
	x->kind_of = calloc(waves * f->n, sizeof(*x->kind_of));
	if (!x->kind_of)
		return hes_fail(err, -ENOMEM, "out of memory for %zu GPUs", f->n);
	for (size_t s = 0; s < waves * f->n; s++)
		while (x->types[x->kind_of[s]] != f->gpus[s % f->n].type)
			x->kind_of[s]++;
	return 0;
}

/* A job that no GPU can run even alone has no place in any number of waves. */
static int check_alone(const struct grouping *x, struct hes_err *err)
{
	for (uint32_t i = 0; i < x->p->n; i++) {
		bool runs = false;

		for (uint32_t t = 0; t < x->n_types && !runs; t++) {
			struct split_problem s;
			struct hes_split split;

			if (!can_run(x, t, &i, 1))
				continue;
			s = problem_of(x, t, &i, 1);
			runs = split_quick(&s, &split);
		}
		if (!runs)
			return hes_fail(err, -ENOSPC,
					"job %u needs %u MiB of memory and a floor of %g, which no "
					"GPU of the fleet has for it "
					"alone",
					i + 1, x->jobs[i * x->n_types].memory_mib,
					x->jobs[i * x->n_types].floor);
	}
	return 0;
}

static int grouping_prepare(struct grouping *x, struct hes_err *err)
{
	const struct hes_partition_jobs *p = x->p;
	int rc;

	x->n_types = hes_fleet_types(p->fleet, x->types, MAX_TYPES);
	for (size_t t = 0; t < x->n_types; t++)
		if (!partition_type_model(x->m, x->types[t]))
			return hes_fail(err, -EINVAL, "the model was not trained for %s %s",
					hes_article(x->types[t]->name), x->types[t]->name);
	x->jobs = calloc(p->n * x->n_types, sizeof(*x->jobs));
	x->same_as = calloc(p->n, sizeof(*x->same_as));
	if (!x->jobs || !x->same_as)
		return hes_fail(err, -ENOMEM, "out of memory for %zu jobs", p->n);
	rc = grouping_waves(
		x, (uint32_t)((p->n + p->fleet->n * p->most - 1) / (p->fleet->n * p->most)), err);
	for (size_t i = 0; i < p->n && !rc; i++) {
		while (!same_jobs(x, x->same_as[i], i))
			x->same_as[i]++;
		rc = prepare_job(x, i, err);
	}
	return rc ? rc : check_alone(x, err);
}

static void grouping_finish(struct grouping *x)
{
	for (size_t i = 0; x->jobs && i < x->p->n * x->n_types; i++)
		free(x->jobs[i].at);
	free(x->jobs);
	free(x->same_as);
	free(x->kind_of);
}

/* The best split of a group at the price. */
static int split_group(const struct grouping *x, uint32_t kind, struct hes_partition_group *g,
		       double *gain, struct hes_err *err)
{
	struct split_problem p = problem_of(x, kind, g->job, g->n);
	struct hes_splits splits;
	int rc;

	g->split.estimate.power_w = p.g->idle_power_mw * 1e-3;
	if (!g->n)
		return 0;
	if (!can_run(x, kind, g->job, g->n))
		return hes_fail(err, -ENOSPC, "a job cannot run on %s %s", hes_article(p.g->name),
				p.g->name);
	rc = split_search(&p, &splits, err);
	if (rc)
		return rc;
	g->split = splits.v[splits.best];
	*gain += split_gain(&p, &g->split);
	hes_splits_free(&splits);
	return 0;
}

/* Groups of a placement, each with its best split at the price; what they do together. */
static int realise_groups(const struct grouping *x, const uint32_t *slot_of,
			  struct hes_partition_groups *out, struct hes_err *err)
{
	size_t gpus = x->p->fleet->n;
	double gain = 0, n = (double)x->p->n;
	int rc = 0;

	*out = (struct hes_partition_groups){ .v = calloc(x->waves * gpus, sizeof(*out->v)),
					      .n = x->waves * gpus,
					      .waves = x->waves };
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

	return (x->p->objective == HES_PARTITION_ENERGY ? n * n / work : work) /
	       (g->power_w * x->waves);
}

/* Jobs assigned to the GPUs in turn: nothing if they do not fit. */
static void deal_jobs(struct grouping *x, uint32_t *slot_of, struct hes_partition_groups *out)
{
	struct hes_partition_groups now;

	for (uint32_t i = 0; i < x->p->n; i++)
		slot_of[i] = i % (uint32_t)(x->waves * x->p->fleet->n);
	for (int round = 0; round < DEAL_ROUNDS && realise_groups(x, slot_of, &now, NULL) == 0;
	     round++) {
		hes_partition_groups_free(out);
		*out = now;
		x->price = price_of(x, out);
	}
}

static void group_progress(void *ctx, uint64_t done, uint64_t of)
{
	struct grouping *x = ctx;

	if (x->p->progress)
		x->p->progress(x->p->ctx, x->rounds_done * of + done, ROUNDS * of);
}

/* In the waves there are. @return also -ENOSPC: too few of them */
static int grouping_solve(struct grouping *x, struct hes_partition_groups *out, struct hes_err *err)
{
	static const double aside[ROUNDS] = { 1, 1, 0.6, 1.6, 1 };
	const struct groups_problem problem = { .n_jobs = (uint32_t)x->p->n,
						.n_slots = (uint32_t)(x->waves * x->p->fleet->n),
						.kind_of = x->kind_of,
						.most = x->p->most,
						.value = group_value,
						.ctx = x,
						.same_as = x->same_as };
	uint64_t effort = x->p->effort ? x->p->effort : EFFORT + EFFORT_A_JOB * x->p->n;
	const struct groups_options o = { .seed = x->p->seed,
					  .evaluations = effort / ROUNDS + 1,
					  .progress = group_progress,
					  .ctx = x };
	uint32_t *slot_of = calloc(x->p->n + 1, sizeof(*slot_of));
	struct hes_partition_groups best = { .v = NULL };
	int rc = slot_of ? 0 : hes_fail(err, -ENOMEM, "out of memory for groups");

	x->price = 0;
	if (!rc)
		deal_jobs(x, slot_of, &best);
	for (int round = 0; round < ROUNDS && !rc; round++) {
		struct hes_partition_groups now = { .v = NULL };
		double total;

		x->rounds_done = (uint64_t)round;
		x->price = best.v ? aside[round] * price_of(x, &best) : 0;
		rc = groups_solve(&problem, &o, slot_of, &total, err);
		if (!rc)
			rc = realise_groups(x, slot_of, &now, err);
		if (!rc && (!best.v || now.per_watt > best.per_watt)) {
			hes_partition_groups_free(&best);
			best = now;
		} else {
			hes_partition_groups_free(&now);
		}
	}
	free(slot_of);
	if (rc)
		hes_partition_groups_free(&best);
	else
		*out = best;
	return rc;
}

/* More waves, for as long as jobs have no place; in as many as there are jobs, each has a GPU. */
static int grouping_solve_in_waves(struct grouping *x, struct hes_partition_groups *out,
				   struct hes_err *err)
{
	int rc = grouping_solve(x, out, err);

	while (rc == -ENOSPC && x->waves < x->p->n) {
		uint32_t waves = x->waves + 1 + x->waves / 4;

		rc = grouping_waves(x, waves < x->p->n ? waves : (uint32_t)x->p->n, err);
		if (!rc)
			rc = grouping_solve(x, out, err);
	}
	return rc;
}

int hes_partition_group(const struct hes_partition_model *m, const struct hes_partition_jobs *p,
			struct hes_partition_groups *out, struct hes_err *err)
{
	struct grouping x = { .m = m, .p = p, .step = p->step ? p->step : 10 };
	int rc;

	if (!p->n || !p->fleet->n)
		return hes_fail(err, -EINVAL, "%zu jobs on %zu GPUs; both must be at least 1", p->n,
				(size_t)p->fleet->n);
	if (x.step > 50)
		return hes_fail(err, -EINVAL, "a step of %u %%; it must be from 1 to 50", x.step);
	if (!p->most || p->most > HES_PARTITION_MAX_JOBS)
		return hes_fail(err, -EINVAL,
				"%u jobs on a GPU at a time; from 1 to %d can share one", p->most,
				HES_PARTITION_MAX_JOBS);
	rc = grouping_prepare(&x, err);
	if (!rc)
		rc = grouping_solve_in_waves(&x, out, err);
	grouping_finish(&x);
	return rc;
}

void hes_partition_groups_free(struct hes_partition_groups *g)
{
	free(g->v);
	*g = (struct hes_partition_groups){ 0 };
}
