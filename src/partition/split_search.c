/*
 * split_search.c - the split with the most work per watt; see heshare/partition.h.
 *
 * All shares are multiples of a step, so a split is a tuple of levels: share = level x step. What
 * each job does alone at each level is worked out once. Two jobs have few splits: all are
 * predicted. For more, splits that are best without interference are found exactly by dynamic
 * programming, at several prices of a watt; from each of them single steps move between jobs, and
 * to and from free SMs, for as long as work per watt grows.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/plural.h"
#include "partition/split_search.h"

#define PRICES      9     /* of a watt, from nothing to four times what the first split pays */
#define QUICK_TRIES 4     /* floors of a quick split are raised so often, */
#define RAISE       1.002 /* ... each time by the missing part and a little more */
#define SIDE        1.645 /* standard deviations to each side that hold 90 % */

const char *const hes_partition_objectives[] = { "sum", "normalized", "energy", NULL };

/* Splits that were looked at. */
struct search {
	const struct split_problem *p;
	struct hes_splits out;
};

/* What a job's rate is counted in. */
static double unit_of(enum hes_partition_objective objective, double alone_rate)
{
	return objective == HES_PARTITION_SUM ? 1 : alone_rate;
}

double hes_partition_work(enum hes_partition_objective objective, const double *rate,
			  const double *alone, size_t n)
{
	double sum = 0, stretch = 0;

	for (size_t i = 0; i < n; i++) {
		const double unit = unit_of(objective, alone[i]);

		sum += rate[i] / unit;
		stretch += unit / rate[i];
	}
	return objective == HES_PARTITION_ENERGY ? (double)(n * n) / stretch : sum;
}

static double work_of(const struct split_problem *p, const double *rate)
{
	double alone[HES_PARTITION_MAX_JOBS];

	for (size_t i = 0; i < p->n; i++)
		alone[i] = p->job[i]->alone_rate;
	return hes_partition_work(p->objective, rate, alone, p->n);
}

static bool floors_kept(const struct split_problem *p, const double *rate)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->job[i]->floor > 0 && rate[i] < p->job[i]->floor * p->job[i]->alone_rate)
			return false;
	return true;
}

static void split_judge(const struct split_problem *p, struct co_run *r, struct hes_split *out)
{
	type_model_predict(p->m, r, &out->estimate);
	out->work = work_of(p, out->estimate.rate);
	out->per_watt = out->work / out->estimate.power_w;
	out->allowed = floors_kept(p, out->estimate.rate);
}

static void predict_levels(const struct split_problem *p, const uint32_t *level,
			   struct hes_split *out)
{
	struct co_run r = type_model_run(p->m, p->clock_mhz, p->n);

	for (size_t i = 0; i < p->n; i++) {
		r.job[i] = p->job[i]->at[level[i]];
		out->sm_pct[i] = level[i] * p->step;
	}
	split_judge(p, &r, out);
}

/* @return room for one more split; NULL: out of memory */
static struct hes_split *search_room(struct search *s)
{
	struct hes_split *v = hes_grow(s->out.v, s->out.n, sizeof(*v));

	if (!v)
		return NULL;
	s->out.v = v;
	return &v[s->out.n];
}

/* @return the split of these levels, predicted now or before; NULL out of memory. Valid until the
 * next call */
static const struct hes_split *search_look(struct search *s, const uint32_t *level)
{
	struct hes_split one = { .sm_pct = { 0 } }, *room;

	for (size_t i = 0; i < s->p->n; i++)
		one.sm_pct[i] = level[i] * s->p->step;
	for (size_t i = 0; s->p->n != 2 && i < s->out.n; i++)
		if (memcmp(s->out.v[i].sm_pct, one.sm_pct, sizeof(one.sm_pct)) == 0)
			return &s->out.v[i];
	room = search_room(s);
	if (!room)
		return NULL;
	predict_levels(s->p, level, &one);
	s->out.n++;
	*room = one;
	return room;
}

double split_gain(const struct split_problem *p, const struct hes_split *x)
{
	return p->objective == HES_PARTITION_ENERGY ? -(double)(p->n * p->n) / x->work : x->work;
}

/*
 * Work per watt, or gain less the price of its power. Splits below a floor come after all others,
 * the nearer to it the better.
 */
static double score(const struct split_problem *p, const struct hes_split *x)
{
	double missing = 0;

	for (size_t i = 0; i < p->n && !x->allowed; i++)
		missing +=
			fmax(p->job[i]->floor * p->job[i]->alone_rate / x->estimate.rate[i] - 1, 0);
	if (!x->allowed)
		return -1e9 * (1 + missing);
	return isnan(p->price) ? x->per_watt : split_gain(p, x) - p->price * x->estimate.power_w;
}

static int look_at_pairs(struct search *s)
{
	const struct split_problem *p = s->p;
	uint32_t level[HES_PARTITION_MAX_JOBS] = { 0 };

	for (level[0] = p->job[0]->least; level[0] <= p->job[0]->most; level[0]++)
		for (level[1] = p->job[1]->least;
		     level[1] <= p->job[1]->most && level[0] + level[1] <= p->levels; level[1]++)
			if (!search_look(s, level))
				return -ENOMEM;
	return 0;
}

/*
 * The best step from a split: from job @from to job @to, where job n stands for free SMs. from ==
 * to: no step is better.
 */
static int best_step(struct search *s, const uint32_t *level, uint32_t used, size_t *from,
		     size_t *to)
{
	const struct split_problem *p = s->p;
	const struct hes_split *x = search_look(s, level);
	double best = x ? score(p, x) : 0;

	*from = *to = 0;
	for (size_t a = 0; a <= p->n && x; a++)
		for (size_t b = 0; b <= p->n && x; b++) {
			uint32_t next[HES_PARTITION_MAX_JOBS] = { 0 };

			if (a == b ||
			    (a < p->n ? level[a] <= p->job[a]->least : used >= p->levels) ||
			    (b < p->n && level[b] >= p->job[b]->most))
				continue;
			memcpy(next, level, p->n * sizeof(*next));
			if (a < p->n)
				next[a]--;
			if (b < p->n)
				next[b]++;
			x = search_look(s, next);
			if (x && score(p, x) > best) {
				best = score(p, x);
				*from = a;
				*to = b;
			}
		}
	return x ? 0 : -ENOMEM;
}

static int search_climb(struct search *s, uint32_t *level)
{
	size_t n = s->p->n, from, to;
	uint32_t used = 0;
	int rc;

	for (size_t i = 0; i < n; i++)
		used += level[i];
	while ((rc = best_step(s, level, used, &from, &to)) == 0 && from != to) {
		if (from < n)
			level[from]--;
		if (to < n)
			level[to]++;
		used = used + (from == n) - (to == n);
	}
	return rc;
}

/* What a job adds to the gain at a level without interference, less the price of its power. */
static double gain_alone(const struct split_problem *p, size_t i, uint32_t level, double price,
			 double floor)
{
	const struct hes_share_point *x = &p->job[i]->at[level].alone;
	double unit = unit_of(p->objective, p->job[i]->alone_rate),
	       work = p->objective == HES_PARTITION_ENERGY ? -unit / x->rate : x->rate / unit;
	double missing = floor > 0 ? floor * p->job[i]->alone_rate / x->rate - 1 : 0;

	return work - price * (x->power_w - p->base_w) - (missing > 0 ? 1e6 * (1 + missing) : 0);
}

/* Levels that gain most together without interference: a knapsack of steps, exact. @param floor [n]
 */
static void best_alone(const struct split_problem *p, double price, const double *floor,
		       uint32_t *level)
{
	double gain[SPLIT_LEVELS + 1] = { 0 };
	uint32_t took[HES_PARTITION_MAX_JOBS][SPLIT_LEVELS + 1];
	uint32_t left = p->levels;

	for (size_t i = 0; i < p->n; i++) {
		double alone[SPLIT_LEVELS + 1] = { 0 };

		for (uint32_t l = p->job[i]->least; l <= p->job[i]->most; l++)
			alone[l] = gain_alone(p, i, l, price, floor[i]);
		for (uint32_t steps = p->levels + 1; steps-- > 0;) {
			double best = -INFINITY;

			took[i][steps] = 0;
			for (uint32_t l = p->job[i]->least; l <= steps && l <= p->job[i]->most; l++)
				if (gain[steps - l] + alone[l] > best) {
					best = gain[steps - l] + alone[l];
					took[i][steps] = l;
				}
			gain[steps] = best;
		}
	}
	for (size_t i = p->n; i-- > 0; left -= level[i])
		level[i] = took[i][left];
}

static void copy_floors(const struct split_problem *p, double *floor)
{
	for (size_t i = 0; i < p->n; i++)
		floor[i] = p->job[i]->floor;
}

/* The best levels without interference that keep the floors with it: floors are raised by what
 * interference takes. */
static bool quick_levels(const struct split_problem *p, double price, uint32_t *level,
			 struct hes_split *out)
{
	double floor[HES_PARTITION_MAX_JOBS];

	copy_floors(p, floor);
	for (int tries = 0; tries < QUICK_TRIES; tries++) {
		*out = (struct hes_split){ .sm_pct = { 0 } };
		best_alone(p, price, floor, level);
		predict_levels(p, level, out);
		if (out->allowed)
			return true;
		for (size_t i = 0; i < p->n; i++)
			floor[i] *= fmax(1, RAISE * p->job[i]->floor * p->job[i]->alone_rate /
						    out->estimate.rate[i]);
	}
	return false;
}

/* The first price is that of the split which is best where power is free. */
static int look_by_search(struct search *s)
{
	double floor[HES_PARTITION_MAX_JOBS], paid = s->p->price;
	uint32_t level[HES_PARTITION_MAX_JOBS];
	struct hes_split split;
	int rc = 0;

	copy_floors(s->p, floor);
	best_alone(s->p, 0, floor, level);
	predict_levels(s->p, level, &split);
	if (isnan(paid))
		paid = fabs(split_gain(s->p, &split)) / split.estimate.power_w;
	for (int k = 0; k < PRICES && !rc; k++) {
		best_alone(s->p, paid * k / 2.0, floor, level);
		rc = search_climb(s, level);
	}
	if (!rc && quick_levels(s->p, paid, level, &split))
		rc = search_climb(s, level);
	return rc;
}

bool split_quick(const struct split_problem *p, struct hes_split *out)
{
	uint32_t level[HES_PARTITION_MAX_JOBS], least = 0;
	uint64_t memory = 0;

	for (size_t i = 0; i < p->n; i++) {
		if (p->job[i]->least > p->job[i]->most)
			return false;
		least += p->job[i]->least;
		memory += p->job[i]->memory_mib;
	}
	return least <= p->levels && memory <= p->g->memory_mib &&
	       quick_levels(p, p->price, level, out);
}

/* Equal shares, which need not be multiples of the step, are a candidate as well. */
static int look_at_equal(struct search *s)
{
	const struct split_problem *p = s->p;
	uint32_t share = 100 / (uint32_t)p->n;
	struct hes_split *last;
	struct co_run r = type_model_run(p->m, p->clock_mhz, p->n);

	if (share % p->step == 0 && p->n == 2)
		return 0; /* among all pairs */
	for (size_t i = 0; i < p->n; i++)
		if (share < p->job[i]->profile->at[0].sm_pct ||
		    share > p->job[i]->profile->at[p->job[i]->profile->n - 1].sm_pct)
			return 0;
	last = search_room(s);
	if (!last)
		return -ENOMEM;
	*last = (struct hes_split){ .work = 0 };
	for (size_t i = 0; i < p->n; i++) {
		last->sm_pct[i] = share;
		co_job_at(p->job[i]->profile, p->g, share, &r.job[i]);
	}
	for (size_t i = 0; i < s->out.n; i++)
		if (memcmp(s->out.v[i].sm_pct, last->sm_pct, sizeof(last->sm_pct)) == 0)
			return 0;
	split_judge(p, &r, last);
	s->out.n++;
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
static int search_choose(struct search *s, struct hes_err *err)
{
	const struct split_problem *p = s->p;
	struct hes_splits *o = &s->out;

	qsort(o->v, o->n, sizeof(*o->v), by_shares);
	for (size_t i = 1; i < o->n; i++)
		if (score(p, &o->v[i]) > score(p, &o->v[o->best]))
			o->best = i;
	for (size_t i = 0; i < p->n; i++) {
		double part = o->v[o->best].estimate.rate[i] / p->job[i]->alone_rate;

		if (part < p->job[i]->floor)
			return hes_fail(err, -ERANGE,
					"no split in steps of %u %% keeps every floor: in the "
					"nearest one %s/%u has %.1f %% of its "
					"throughput alone and is to have %.1f %%; take a smaller "
					"step, a lower floor or fewer jobs",
					p->step, p->job[i]->profile->workload,
					p->job[i]->profile->batch_size, 100 * part,
					100 * p->job[i]->floor);
	}
	return 0;
}

/* Whether the jobs can share the GPU at all. */
static int split_check(const struct split_problem *p, struct hes_err *err)
{
	uint64_t memory = 0;
	uint32_t least = 0;

	for (size_t i = 0; i < p->n; i++) {
		const struct split_job *j = p->job[i];

		if (!(j->floor >= 0 && j->floor <= 1))
			return hes_fail(err, -EINVAL,
					"the floor of %s is %g; it must be from 0 to 1",
					j->profile->workload, j->floor);
		if (isnan(j->alone_rate) && (p->objective != HES_PARTITION_SUM || j->floor > 0))
			return hes_fail(err, -ENODATA,
					"%s needs the throughput of %s/%u alone on a whole %s at "
					"%u MHz, which was not "
					"measured; heshare profile --shares 10..100 measures it%s",
					j->floor > 0 ? "a floor" : "the objective",
					j->profile->workload, j->profile->batch_size, p->g->name,
					p->g->clock_default_mhz,
					j->floor > 0 ? "" : ", and --objective sum does without");
		memory += j->memory_mib;
		least += j->least;
		if (j->least > j->most)
			return hes_fail(err, -EINVAL,
					"%s was profiled at %.0f to %.0f %% of the SMs, where "
					"there is no multiple of %u %%; take "
					"a smaller step",
					j->profile->workload, j->profile->at[0].sm_pct,
					j->profile->at[j->profile->n - 1].sm_pct, p->step);
	}
	if (memory > p->g->memory_mib)
		return hes_fail(err, -ENOSPC,
				"these jobs need %llu MiB of memory and %s %s has %u MiB; share "
				"with fewer jobs, or take smaller "
				"batches",
				(unsigned long long)memory, hes_article(p->g->name), p->g->name,
				p->g->memory_mib);
	if (least > p->levels)
		return hes_fail(err, -EINVAL,
				"%zu jobs have no split in steps of %u %% with at least the shares "
				"that they were profiled "
				"at; take a smaller step or fewer jobs",
				p->n, p->step);
	return 0;
}

int split_job_init(struct split_job *j, const struct hes_share_profile *p,
		   const struct hes_gpu_type *g, uint32_t step, double floor)
{
	uint32_t levels = 100 / step;

	*j = (struct split_job){ .profile = p,
				 .alone_rate = p->alone_rate,
				 .floor = floor,
				 .memory_mib = p->memory_mib,
				 .least = (uint32_t)ceil(p->at[0].sm_pct / step),
				 .most = (uint32_t)(p->at[p->n - 1].sm_pct / step),
				 .at = malloc((levels + 1) * sizeof(*j->at)) };
	if (!j->at)
		return -ENOMEM;
	for (uint32_t l = 0; l <= levels; l++)
		co_job_at(p, g, l * step, &j->at[l]);
	return 0;
}

/* The constants of the closed form one after the other at one standard deviation more, and what
 * they do not explain. With trees, what cross-validation found. */
static void split_interval(const struct split_problem *p, struct hes_split *out)
{
	const struct interference *x = &p->m->interference;
	struct co_run r = type_model_run(p->m, p->clock_mhz, p->n);
	double variance = x->rest * x->rest;
	struct hes_split moved;

	out->low = p->m->info.low;
	out->high = p->m->info.high;
	if (p->m->info.learnt)
		return;
	for (size_t i = 0; i < p->n; i++)
		co_job_at(p->job[i]->profile, p->g, out->sm_pct[i], &r.job[i]);
	for (size_t k = 0; k < CO_CONSTANTS; k++) {
		r.constant[k] += x->sd[k];
		split_judge(p, &r, &moved);
		r.constant[k] -= x->sd[k];
		variance += pow(log(moved.per_watt / out->per_watt), 2);
	}
	out->low = exp(-SIDE * sqrt(variance));
	out->high = exp(SIDE * sqrt(variance));
}

int split_search(const struct split_problem *p, struct hes_splits *out, struct hes_err *err)
{
	struct search s = { .p = p };
	int rc = split_check(p, err);

	if (rc)
		return rc;
	rc = p->n == 2 ? look_at_pairs(&s) : look_by_search(&s);
	if (!rc)
		rc = look_at_equal(&s);
	rc = rc ? hes_fail(err, rc, "out of memory for splits") : search_choose(&s, err);
	if (rc)
		free(s.out.v);
	else
		*out = s.out;
	return rc;
}

/* A problem of jobs for one GPU; free job[].at. */
static int problem_init(struct split_problem *p, struct split_job *job,
			const struct hes_partition_model *m, const struct hes_gpu_type *g,
			const struct hes_share_profile *const *jobs, size_t n,
			const struct hes_partition_goal *goal, struct hes_err *err)
{
	*p = (struct split_problem){ .m = partition_type_model(m, g),
				     .g = g,
				     .objective = goal->objective,
				     .price = NAN,
				     .n = n,
				     .step = goal->step ? goal->step : 10 };
	if (!n || n > HES_PARTITION_MAX_JOBS)
		return hes_fail(err, -EINVAL, "%zu jobs; from 1 to %d can share a GPU", n,
				HES_PARTITION_MAX_JOBS);
	if (p->step > 50)
		return hes_fail(err, -EINVAL, "a step of %u %%; it must be from 1 to 50", p->step);
	if (!p->m)
		return hes_fail(err, -EINVAL, "the model was not trained for %s %s",
				hes_article(g->name), g->name);
	p->levels = 100 / p->step;
	p->clock_mhz = jobs[0]->clock_mhz;
	p->base_w = type_model_base_w(p->m, jobs[0]->clock_mhz);
	for (size_t i = 0; i < n; i++) {
		if (split_job_init(&job[i], jobs[i], g, p->step, goal->floor[i]))
			return hes_fail(err, -ENOMEM, "out of memory for splits");
		p->job[i] = &job[i];
	}
	return 0;
}

static void free_levels(struct split_job *job)
{
	for (size_t i = 0; i < HES_PARTITION_MAX_JOBS; i++)
		free(job[i].at);
}

int hes_partition_search(const struct hes_partition_model *m, const struct hes_gpu_type *g,
			 const struct hes_share_profile *const *jobs, size_t n,
			 const struct hes_partition_goal *goal, struct hes_splits *out,
			 struct hes_err *err)
{
	struct split_job job[HES_PARTITION_MAX_JOBS] = { { .profile = NULL } };
	struct split_problem p;
	int rc = problem_init(&p, job, m, g, jobs, n, goal, err);

	if (!rc)
		rc = split_search(&p, out, err);
	for (size_t i = 0; i < out->n && !rc; i++)
		split_interval(&p, &out->v[i]);
	free_levels(job);
	return rc;
}

int hes_partition_judge(const struct hes_partition_model *m, const struct hes_gpu_type *g,
			const struct hes_share_profile *const *jobs, size_t n,
			const struct hes_partition_goal *goal, const uint32_t *sm_pct,
			struct hes_split *out, struct hes_err *err)
{
	struct split_job job[HES_PARTITION_MAX_JOBS] = { { .profile = NULL } };
	struct hes_split split = { .work = 0 };
	struct split_problem p;
	struct co_run r;
	uint32_t sum = 0;
	int rc = problem_init(&p, job, m, g, jobs, n, goal, err);

	if (!rc)
		rc = split_check(&p, err);
	for (size_t i = 0; i < n && !rc; i++) {
		double least = jobs[i]->at[0].sm_pct, most = jobs[i]->at[jobs[i]->n - 1].sm_pct;

		sum += sm_pct[i];
		if (sm_pct[i] < least || sm_pct[i] > most)
			rc = hes_fail(err, -ERANGE,
				      "%u %% of the SMs for %s/%u, which was profiled from %.0f to "
				      "%.0f %%",
				      sm_pct[i], jobs[i]->workload, jobs[i]->batch_size, least,
				      most);
	}
	if (!rc && (!sum || sum > 100))
		rc = hes_fail(err, -EINVAL,
			      "shares that sum to %u %%; they may sum to 100 %% at most", sum);
	if (!rc) {
		r = type_model_run(p.m, p.clock_mhz, n);
		for (size_t i = 0; i < n; i++) {
			split.sm_pct[i] = sm_pct[i];
			co_job_at(jobs[i], g, sm_pct[i], &r.job[i]);
		}
		split_judge(&p, &r, &split);
		split_interval(&p, &split);
		*out = split;
	}
	free_levels(job);
	return rc;
}

void hes_splits_free(struct hes_splits *s)
{
	free(s->v);
	*s = (struct hes_splits){ 0 };
}
