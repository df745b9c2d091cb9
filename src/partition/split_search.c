/*
 * split_search.c - the split with the most work per watt; see heshare/partition.h.
 *
 * All shares are multiples of a step, so a split is a tuple of levels: share = level x step. What each job does
 * alone at each level is worked out once. Two jobs have few splits: all are predicted. For more, splits that are best
 * without interference are found exactly by dynamic programming, at several prices of a watt; from each of them
 * single steps move between jobs, and to and from SMs that nobody has, for as long as work per watt grows.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "partition/partition_model.h"

#define MAX_LEVELS 100
#define PRICES     9   /* of a watt, from nothing to four times what the equal split pays */

const char *const hes_partition_objectives[] = { "throughput", "normalized", "energy", NULL };

struct search {
	const struct hes_partition_model *m;
	const struct hes_partition_goal  *goal;
	const struct hes_share_profile *const *jobs;
	struct co_run  run;                               /* what all splits have in common */
	size_t         n;
	uint32_t       step, levels;                      /* levels: steps in 100 % */
	uint32_t       least[HES_PARTITION_MAX_JOBS];     /* level of the least share that was profiled */
	struct co_job *at[HES_PARTITION_MAX_JOBS];        /* [levels + 1]; from least on */
	struct hes_splits out;
	size_t         room;
};

static double work_of(const struct search *s, const double *rate)
{
	double sum = 0, stretch = 0;

	for (size_t i = 0; i < s->n; i++) {
		double alone = s->goal->objective == HES_PARTITION_THROUGHPUT ? 1 : s->jobs[i]->alone_rate;

		sum += rate[i] / alone;
		stretch += alone / rate[i];
	}
	return s->goal->objective == HES_PARTITION_ENERGY ? (double)(s->n * s->n) / stretch : sum;
}

static bool floors_kept(const struct search *s, const double *rate)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->goal->floor[i] > 0 && rate[i] < s->goal->floor[i] * s->jobs[i]->alone_rate)
			return false;
	return true;
}

static void judge(const struct search *s, struct co_run *r, struct hes_split *out)
{
	partition_predict_run(s->m, r, &out->estimate);
	out->work = work_of(s, out->estimate.rate);
	out->per_watt = out->work / out->estimate.power_w;
	out->allowed = floors_kept(s, out->estimate.rate);
}

static void predict_levels(const struct search *s, const uint32_t *level, struct hes_split *out)
{
	struct co_run r = s->run;

	for (size_t i = 0; i < s->n; i++) {
		r.job[i] = s->at[i][level[i]];
		out->sm_pct[i] = level[i] * s->step;
	}
	judge(s, &r, out);
}

static void predict_equal(const struct search *s, struct hes_split *out)
{
	struct co_run r = s->run;

	for (size_t i = 0; i < s->n; i++) {
		out->sm_pct[i] = 100 / (uint32_t)s->n;
		co_job_at(s->jobs[i], out->sm_pct[i], &r.job[i]);
	}
	judge(s, &r, out);
}

/* @return the split of these levels, predicted now or before; NULL out of memory. Valid until the next call */
static const struct hes_split *look(struct search *s, const uint32_t *level)
{
	struct hes_split one = { .sm_pct = { 0 } };

	for (size_t i = 0; i < s->n; i++)
		one.sm_pct[i] = level[i] * s->step;
	for (size_t i = 0; i < s->out.n; i++)
		if (memcmp(s->out.v[i].sm_pct, one.sm_pct, sizeof(one.sm_pct)) == 0)
			return &s->out.v[i];
	if (s->out.n == s->room) {
		size_t room = s->room ? 2 * s->room : 64;
		struct hes_split *v = realloc(s->out.v, room * sizeof(*v));

		if (!v)
			return NULL;
		s->out.v = v;
		s->room = room;
	}
	predict_levels(s, level, &one);
	s->out.v[s->out.n] = one;
	return &s->out.v[s->out.n++];
}

/* More work per watt; a split that keeps the floors before one that does not, and then the one that is nearer to them. */
static double score(const struct search *s, const struct hes_split *x)
{
	double missing = 0;

	for (size_t i = 0; i < s->n && !x->allowed; i++)
		if (s->goal->floor[i] > 0)
			missing += fmax(s->goal->floor[i] * s->jobs[i]->alone_rate / x->estimate.rate[i] - 1, 0);
	return x->allowed ? x->per_watt : -missing;
}

static int look_at_pairs(struct search *s)
{
	uint32_t level[HES_PARTITION_MAX_JOBS] = { 0 };

	for (level[0] = s->least[0]; level[0] + s->least[1] <= s->levels; level[0]++)
		for (level[1] = s->least[1]; level[0] + level[1] <= s->levels; level[1]++)
			if (!look(s, level))
				return -ENOMEM;
	return 0;
}

/* Move steps between jobs, and to and from SMs that nobody has (job n), for as long as the score grows. */
static int climb(struct search *s, uint32_t *level)
{
	uint32_t used = 0;

	for (size_t i = 0; i < s->n; i++)
		used += level[i];
	for (;;) {
		const struct hes_split *now = look(s, level);
		double best = now ? score(s, now) : 0;
		size_t from = 0, to = 0;

		if (!now)
			return -ENOMEM;
		for (size_t a = 0; a <= s->n; a++)
			for (size_t b = 0; b <= s->n; b++) {
				uint32_t next[HES_PARTITION_MAX_JOBS + 1] = { 0 };
				const struct hes_split *x;

				if (a == b || (a < s->n ? level[a] <= s->least[a] : used >= s->levels))
					continue;
				memcpy(next, level, s->n * sizeof(*next));
				next[a] -= a < s->n;
				next[b] += b < s->n;
				x = look(s, next);
				if (!x)
					return -ENOMEM;
				if (score(s, x) > best) {
					best = score(s, x);
					from = a;
					to = b;
				}
			}
		if (from == to)
			return 0;
		level[from] -= from < s->n;
		level[to] += to < s->n;
		used = used + (from == s->n) - (to == s->n);
	}
}

/* What a job adds at a level when nobody disturbs it: work less the price of its power; below the floor nothing is worth it. */
static double gain_alone(const struct search *s, size_t i, uint32_t level, double price)
{
	const struct hes_share_point *p = &s->at[i][level].alone;
	double alone = s->goal->objective == HES_PARTITION_THROUGHPUT ? 1 : s->jobs[i]->alone_rate;
	double work = s->goal->objective == HES_PARTITION_ENERGY ? -alone / p->rate : p->rate / alone;
	double missing = s->goal->floor[i] > 0 ? s->goal->floor[i] * s->jobs[i]->alone_rate / p->rate - 1 : 0;

	return work - price * (p->power_w - s->run.base_w) - (missing > 0 ? 1e6 * missing : 0);
}

/* Levels that gain most together without interference: a knapsack of steps, exact. */
static void best_alone(const struct search *s, double price, uint32_t *level)
{
	double gain[MAX_LEVELS + 1] = { 0 };
	uint32_t took[HES_PARTITION_MAX_JOBS][MAX_LEVELS + 1];
	uint32_t left = s->levels;

	for (size_t i = 0; i < s->n; i++)
		for (uint32_t steps = s->levels + 1; steps-- > 0;) {
			double best = -INFINITY;

			took[i][steps] = 0;
			for (uint32_t l = s->least[i]; l <= steps; l++) {
				double g = gain[steps - l] + gain_alone(s, i, l, price);

				if (g > best) {
					best = g;
					took[i][steps] = l;
				}
			}
			gain[steps] = best;
		}
	for (size_t i = s->n; i-- > 0; left -= level[i])
		level[i] = took[i][left];
}

static int look_by_search(struct search *s)
{
	/* What the equal split pays for a watt, in units of gain_alone(). */
	double work = s->goal->objective == HES_PARTITION_ENERGY ? (double)(s->n * s->n) / s->out.equal.work : s->out.equal.work;
	double paid = work / s->out.equal.estimate.power_w;

	for (int k = 0; k < PRICES; k++) {
		uint32_t level[HES_PARTITION_MAX_JOBS];

		best_alone(s, paid * k / 2.0, level);
		if (climb(s, level))
			return -ENOMEM;
	}
	return 0;
}

static int by_shares(const void *a, const void *b)
{
	const struct hes_split *x = a, *y = b;

	for (size_t i = 0; i < HES_PARTITION_MAX_JOBS; i++)
		if (x->sm_pct[i] != y->sm_pct[i])
			return x->sm_pct[i] > y->sm_pct[i] ? -1 : 1;
	return 0;
}

/* The best split, or why there is none. */
static int choose(struct search *s, struct hes_err *err)
{
	struct hes_splits *o = &s->out;

	qsort(o->v, o->n, sizeof(*o->v), by_shares);
	for (size_t i = 1; i < o->n; i++)
		if (score(s, &o->v[i]) > score(s, &o->v[o->best]))
			o->best = i;
	if (o->v[o->best].allowed)
		return 0;
	for (size_t i = 0; i < s->n; i++) {
		double part = o->v[o->best].estimate.rate[i] / s->jobs[i]->alone_rate;

		if (part < s->goal->floor[i])
			return hes_fail(err, -ERANGE, "no split keeps every floor: in the nearest one %s has %.0f %% of its throughput alone "
					"and is to have %.0f %%; lower a floor or share with fewer jobs", s->jobs[i]->workload, 100 * part,
					100 * s->goal->floor[i]);
	}
	return hes_fail(err, -ERANGE, "no split keeps every floor");
}

static int check(const struct search *s, struct hes_err *err)
{
	const struct hes_partition_goal *goal = s->goal;
	uint64_t memory = 0;
	uint32_t least = 0;

	if (s->step < 1 || s->step > 50)
		return hes_fail(err, -EINVAL, "a step of %u %%; it must be from 1 to 50", s->step);
	for (size_t i = 0; i < s->n; i++) {
		bool normal = goal->objective != HES_PARTITION_THROUGHPUT || goal->floor[i] > 0;

		if (!(goal->floor[i] >= 0 && goal->floor[i] <= 1))
			return hes_fail(err, -EINVAL, "the floor of %s is %g; it must be from 0 to 1", s->jobs[i]->workload, goal->floor[i]);
		if (normal && isnan(s->jobs[i]->alone_rate))
			return hes_fail(err, -ENODATA, "%s, batch size %u, was never measured alone on a whole %s at %u MHz, which %s",
					s->jobs[i]->workload, s->jobs[i]->batch_size, s->run.g->name, s->run.g->clock_default_mhz,
					goal->floor[i] > 0 ? "a floor needs" : "this objective needs");
		memory += s->jobs[i]->memory_mib;
		least += s->least[i];
	}
	if (memory > s->run.g->memory_mib)
		return hes_fail(err, -ENOSPC, "these jobs need %llu MiB of memory and a %s has %u MiB; share with fewer jobs or smaller "
				"batches", (unsigned long long)memory, s->run.g->name, s->run.g->memory_mib);
	if (least > s->levels)
		return hes_fail(err, -EINVAL, "%zu jobs have no split in steps of %u %% above the least shares they were profiled at; "
				"take a smaller step or fewer jobs", s->n, s->step);
	return 0;
}

static int prepare(struct search *s, struct hes_err *err)
{
	for (size_t i = 0; i < s->n; i++) {
		double first = s->jobs[i]->at[0].sm_pct;

		s->least[i] = (uint32_t)ceil(first / s->step);
		s->at[i] = malloc((s->levels + 1) * sizeof(*s->at[i]));
		if (!s->at[i])
			return hes_fail(err, -ENOMEM, "out of memory for splits");
		for (uint32_t l = 0; l <= s->levels; l++)
			co_job_at(s->jobs[i], l * s->step, &s->at[i][l]);
	}
	return check(s, err);
}

int hes_partition_search(const struct hes_partition_model *m, const struct hes_gpu_type *g,
			 const struct hes_share_profile *const *jobs, size_t n, const struct hes_partition_goal *goal,
			 struct hes_splits *out, struct hes_err *err)
{
	struct search s = { .m = m, .goal = goal, .jobs = jobs, .n = n, .step = goal->step ? goal->step : 10 };
	int rc = n && n <= HES_PARTITION_MAX_JOBS ? 0 : hes_fail(err, -EINVAL, "%zu jobs; from 1 to %d can share a GPU", n,
								      HES_PARTITION_MAX_JOBS);

	if (rc)
		return rc;
	s.levels = s.step <= 100 ? 100 / s.step : 0;
	s.run = (struct co_run){ .g = g, .clock_mhz = jobs[0]->clock_mhz, .n = n,
				 .base_w = partition_base_w(m, g, jobs[0]->clock_mhz) };
	rc = prepare(&s, err);
	if (!rc) {
		predict_equal(&s, &s.out.equal);
		rc = n == 2 ? look_at_pairs(&s) : look_by_search(&s);
		rc = rc ? hes_fail(err, rc, "out of memory for splits") : choose(&s, err);
	}
	for (size_t i = 0; i < n; i++)
		free(s.at[i]);
	if (rc)
		free(s.out.v);
	else
		*out = s.out;
	return rc;
}

void hes_splits_free(struct hes_splits *s)
{
	free(s->v);
	*s = (struct hes_splits){ 0 };
}
