/*
 * partition_answer.c - find the split, and what it is compared with; see partition_answer.h.
 */
#include "app/partition_answer.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/catalogue.h"
#include "app/gpus_chosen.h"
#include "app/gpus_visible.h"
#include "base/num.h"
#include "base/texts.h"
#include "heshare/profiler.h"

static int floor_of(const char *text, bool in_list, const struct partition_name *jobs, size_t n,
		    double *floor, struct hes_err *err)
{
	const char *equals = strchr(text, '=');
	struct partition_name name = { .batch_size = 0 };
	char job[2 * HES_NAME_MAX] = "";
	bool found = !equals;
	double part;
	int rc;

	if (equals) {
		snprintf(job, sizeof(job), "%.*s", (int)(equals - text), text);
		rc = partition_name_parse(job, &name, err);
		if (rc)
			return hes_fail_in(err, "--floor");
	}
	rc = hes_parse_double("--floor", equals ? equals + 1 : text, 0, 1, &part, err);
	if (!rc && !equals && in_list)
		rc = hes_fail(
			err, -EINVAL,
			"--floor: %s is for all jobs and stands alone; write JOB=%s for one job",
			text, text);
	for (size_t i = 0; i < n && !rc; i++)
		if (!equals || (strcmp(jobs[i].workload, name.workload) == 0 &&
				(!name.batch_size || !jobs[i].batch_size ||
				 name.batch_size == jobs[i].batch_size))) {
			floor[i] = part;
			found = true;
		}
	return rc || found ? rc
			   : hes_fail(err, -ENOENT, "--floor: \"%.60s\" is none of the jobs", job);
}

int partition_floors(const char *list, const struct partition_name *jobs, size_t n, double *floor,
		     struct hes_err *err)
{
	const bool several = list && strchr(list, ',');
	char one[4 * HES_NAME_MAX];
	int rc = 0;

	while (!rc && hes_text_next(&list, one, sizeof(one)))
		rc = floor_of(one, several, jobs, n, floor, err);
	return rc;
}

bool partition_is_index(const char *gpu)
{
	return gpu && *gpu && !gpu[strspn(gpu, "0123456789")];
}

/* The GPU of this machine that an index names. */
static int find_gpu(const struct partition_request *q, const struct hes_catalogue *c,
		    const struct hes_gpu_type **out, struct hes_device_info *info,
		    struct hes_err *err)
{
	struct hes_devices *d = NULL;
	int rc = app_devices_open(q->from.app, c, &d, err);
	long i = rc ? -1 : gpus_find(d, "--gpu", q->gpu, err);

	if (!rc && i < 0)
		rc = (int)i;
	if (!rc)
		rc = hes_device_info(d, (size_t)i, info, err);
	*out = rc ? NULL : app_gpu_type(d, (size_t)i, c, err);
	hes_devices_close(d);
	return rc || *out ? rc : err->code;
}

static int choose_type(const struct partition_request *q, const struct hes_catalogue *c,
		       const struct hes_gpu_type **out, struct hes_device_info *info,
		       struct hes_err *err)
{
	if (partition_is_index(q->gpu))
		return find_gpu(q, c, out, info, err);
	*out = q->gpu || q->from.modelled
		       ? hes_gpu_type_find(c, q->gpu ? q->gpu : PARTITION_MODELLED_TYPE, err)
		       : NULL;
	if (!*out && q->gpu)
		return hes_fail_in(err, "--gpu");
	return *out || (!q->gpu && !q->from.modelled) ? 0 : -ENOENT;
}

static bool all_have(const struct partition_inputs *in, const struct partition_name *jobs, size_t n,
		     const struct hes_gpu_type *g, uint32_t clock_mhz)
{
	for (size_t i = 0; i < n; i++)
		if (!partition_find(in, &jobs[i], g, clock_mhz, NULL))
			return false;
	return true;
}

static int add_clock(struct partition_answer *a, uint32_t mhz, struct hes_err *err)
{
	for (size_t k = 0; k < a->n_clocks; k++)
		if (a->clocks_mhz[k] == mhz)
			return 0;
	if (a->n_clocks == PARTITION_CLOCKS)
		return hes_fail(err, -E2BIG, "--clocks: more than %d clocks", PARTITION_CLOCKS);
	a->clocks_mhz[a->n_clocks++] = mhz;
	return 0;
}

/* Clocks that every job was profiled at; the default where there is none, so that the error says
 * what is missing. */
static int add_all_clocks(const struct partition_inputs *in, const struct partition_name *jobs,
			  struct partition_answer *a, struct hes_err *err)
{
	uint32_t standard = a->g->clock_default_mhz;
	int rc = all_have(in, jobs, a->n, a->g, standard) ? add_clock(a, standard, err) : 0;

	for (size_t i = 0; i < in->profiles.n && !rc; i++)
		if (all_have(in, jobs, a->n, a->g, in->profiles.v[i].clock_mhz))
			rc = add_clock(a, in->profiles.v[i].clock_mhz, err);
	return rc || a->n_clocks ? rc : add_clock(a, standard, err);
}

static int choose_clocks(const struct partition_request *q, const struct partition_inputs *in,
			 const struct partition_name *jobs, struct partition_answer *a,
			 struct hes_err *err)
{
	uint32_t mhz[PARTITION_CLOCKS];
	int n, rc = 0;

	if (strcmp(q->clocks, "default") == 0)
		return add_clock(a, a->g->clock_default_mhz, err);
	if (strcmp(q->clocks, "all") == 0)
		return add_all_clocks(in, jobs, a, err);
	n = hes_ranges_parse("--clocks", q->clocks, 1, 10000, mhz, PARTITION_CLOCKS, err);
	for (int i = 0; i < n && !rc; i++)
		rc = add_clock(a, mhz[i], err);
	return n < 0 ? n : rc;
}

static int find_jobs(const struct partition_inputs *in, const struct partition_name *jobs,
		     const struct partition_answer *a, uint32_t clock_mhz,
		     const struct hes_share_profile **out, struct hes_err *err)
{
	for (size_t i = 0; i < a->n; i++) {
		out[i] = partition_find(in, &jobs[i], a->g, clock_mhz, err);
		if (!out[i])
			return -ENOENT;
	}
	return 0;
}

/* Jobs that take turns alone on the whole GPU, equal times each, at a clock: measured, not
 * predicted. The best clock is kept. Nothing where 100 % was not profiled. */
static void judge_turns(size_t clock, const struct hes_partition_goal *goal,
			struct partition_answer *a)
{
	double n = (double)a->n, alone[HES_PARTITION_MAX_JOBS], turns_w[HES_PARTITION_MAX_JOBS];
	struct hes_split turns = { .low = 1, .high = 1, .allowed = true };

	for (size_t i = 0; i < a->n; i++) {
		const struct hes_share_profile *p = a->jobs[clock][i];
		const struct hes_share_point *whole = &p->at[p->n - 1];

		if (whole->sm_pct < 100)
			return;
		alone[i] = p->alone_rate;
		turns.sm_pct[i] = 100;
		turns.estimate.rate[i] = whole->rate / n;
		turns_w[i] = whole->power_w;
		turns.estimate.power_w += whole->power_w / n;
		turns.allowed &= !(turns.estimate.rate[i] < goal->floor[i] * alone[i]);
	}
	turns.work = hes_partition_work(a->objective, turns.estimate.rate, alone, a->n);
	turns.per_watt = turns.work / turns.estimate.power_w;
	if (turns.allowed > a->turns.allowed ||
	    (turns.allowed == a->turns.allowed && turns.per_watt > a->turns.per_watt)) {
		a->turns = turns;
		memcpy(a->turns_w, turns_w, sizeof(turns_w));
		a->turns_mhz = a->clocks_mhz[clock];
	}
}

/* Turns of equal length favour no job; a split may do more of the job that needs less power. It is
 * to gain against turns that do the same work, too. @return NULL: the jobs share */
static const char *turns_reason(const struct partition_answer *a)
{
	const struct hes_split *best = &a->splits[a->best].v[a->splits[a->best].best];
	double same_work_w = 0;

	for (size_t i = 0; i < a->n && a->turns.allowed; i++)
		same_work_w += best->estimate.rate[i] / ((double)a->n * a->turns.estimate.rate[i]) *
			       a->turns_w[i];
	if (!a->turns.allowed)
		return NULL;
	if (best->per_watt <= a->turns.per_watt)
		return "No split does more work per watt.";
	if (best->per_watt * best->low <= a->turns.per_watt)
		return "The gain of the best split is within its interval.";
	return best->estimate.power_w < same_work_w
		       ? NULL
		       : "Turns that do the work of the best split need less energy.";
}

/* Equal shares, at the default clock where the jobs were profiled there. */
static int judge_equal(const struct partition_inputs *in, const struct partition_name *jobs,
		       const struct hes_partition_goal *goal, struct partition_answer *a,
		       struct hes_err *err)
{
	const struct hes_share_profile *at[HES_PARTITION_MAX_JOBS];
	uint32_t shares[HES_PARTITION_MAX_JOBS];
	int rc;

	a->equal_mhz = all_have(in, jobs, a->n, a->g, a->g->clock_default_mhz)
			       ? a->g->clock_default_mhz
			       : a->clocks_mhz[0];
	for (size_t i = 0; i < a->n; i++)
		shares[i] = 100 / (uint32_t)a->n;
	rc = find_jobs(in, jobs, a, a->equal_mhz, at, err);
	if (rc)
		return rc;
	rc = hes_partition_judge(in->model, a->g, at, a->n, goal, shares, &a->equal, err);
	return rc == -ERANGE ? 0 : rc; /* equal shares were not profiled: nothing to compare with */
}

/* The shares of --split, one for each of @n_jobs. */
static int split_parse(const char *split, size_t n_jobs, uint32_t *shares, struct hes_err *err)
{
	const char *rest = split;
	char one[32];
	size_t n = 0;
	uint32_t sum = 0;
	int rc = 0;

	while (!rc && n < n_jobs && hes_text_next(&rest, one, sizeof(one))) {
		rc = hes_parse_u32("--split", one, 1, 100, &shares[n], err);
		sum += rc ? 0 : shares[n++];
	}
	if (!rc && (n < n_jobs || rest))
		rc = hes_fail(err, -EINVAL,
			      "--split: %s does not give one share for each of %zu jobs", split,
			      n_jobs);
	if (!rc && sum > 100)
		rc = hes_fail(err, -ERANGE,
			      "--split: shares that sum to %u %%; they may sum to 100 %% at most",
			      sum);
	return rc;
}

/* Clocks are numbers, or a word that the GPUs know. */
static int check_clocks(const char *clocks, struct hes_err *err)
{
	uint32_t mhz[PARTITION_CLOCKS];
	int n = strcmp(clocks, "default") && strcmp(clocks, "all")
			? hes_ranges_parse("--clocks", clocks, 1, 10000, mhz, PARTITION_CLOCKS, err)
			: 0;

	return n < 0 ? n : 0;
}

/* The split of --split, at the best clock. */
static int judge_given(const struct partition_request *q, const struct partition_inputs *in,
		       const struct hes_partition_goal *goal, struct partition_answer *a,
		       struct hes_err *err)
{
	uint32_t shares[HES_PARTITION_MAX_JOBS];
	int rc = split_parse(q->split, a->n, shares, err);

	if (rc)
		return rc;
	rc = hes_partition_judge(in->model, a->g, a->jobs[a->best], a->n, goal, shares, &a->given,
				 err);
	return rc ? hes_fail_in(err, "--split") : 0;
}

/* The best split of each clock. A clock at which no split keeps the floors is passed over where
 * there are others. */
static int search_clocks(const struct partition_inputs *in, const struct partition_name *jobs,
			 const struct hes_partition_goal *goal, struct partition_answer *a,
			 struct hes_err *err)
{
	struct hes_err why = { .code = 0 };
	bool found = false;

	for (size_t c = 0; c < a->n_clocks; c++) {
		int rc = find_jobs(in, jobs, a, a->clocks_mhz[c], a->jobs[c], err);

		if (rc)
			return rc;
		judge_turns(c, goal, a);
		rc = hes_partition_search(in->model, a->g, a->jobs[c], a->n, goal, &a->splits[c],
					  &why);
		if (rc == -ERANGE)
			continue;
		if (rc)
			return hes_fail(err, rc, "%s", why.msg);
		if (!found || a->splits[c].v[a->splits[c].best].per_watt >
				      a->splits[a->best].v[a->splits[a->best].best].per_watt)
			a->best = c;
		found = true;
	}
	if (!found)
		return hes_fail(err, why.code, "%s", why.msg);
	a->take_turns = turns_reason(a);
	return 0;
}

static int answer_find(const struct partition_request *q, struct partition_inputs *in,
		       const struct partition_name *jobs, struct partition_answer *a,
		       struct hes_err *err)
{
	struct hes_partition_goal goal = { .objective = a->objective, .step = a->step };
	int rc = 0;

	if (!a->g)
		a->g = partition_only_type(in, jobs, a->n, err);
	if (!a->g)
		return -ENOENT;
	rc = choose_clocks(q, in, jobs, a, err);
	if (!rc)
		rc = find_jobs(in, jobs, a, a->clocks_mhz[0], a->jobs[0], err);
	if (!rc)
		rc = partition_inputs_train(in, &a->g, 1, err);
	if (!rc)
		rc = partition_floors(q->floor, jobs, a->n, goal.floor, err);
	if (!rc)
		rc = search_clocks(in, jobs, &goal, a, err);
	if (!rc)
		rc = judge_equal(in, jobs, &goal, a, err);
	if (!rc && q->split)
		rc = judge_given(q, in, &goal, a, err);
	if (rc)
		return rc;
	a->all_clocks = strcmp(q->clocks, "all") == 0;
	a->model = hes_partition_about(in->model, a->g);
	return 0;
}

int partition_check(const struct partition_request *q, const struct partition_name *jobs, size_t n,
		    struct hes_err *err)
{
	uint32_t shares[HES_PARTITION_MAX_JOBS];
	double floor[HES_PARTITION_MAX_JOBS];
	int rc = check_clocks(q->clocks, err);

	if (!rc && q->split)
		rc = split_parse(q->split, n, shares, err);
	return rc ? rc : partition_floors(q->floor, jobs, n, floor, err);
}

int partition_answer(const struct partition_request *q, const struct partition_name *jobs, size_t n,
		     struct partition_inputs *in, struct hes_device_info *info,
		     struct partition_answer *out, struct hes_err *err)
{
	int rc = app_catalogue_load(q->from.app, q->catalogue, !q->from.modelled, &in->catalogue,
				    err);

	*out = (struct partition_answer){ .n = n,
					  .uuid = info->uuid,
					  .what = in->what,
					  .step = (uint32_t)q->step,
					  .objective = q->objective };
	if (!rc)
		rc = choose_type(q, &in->catalogue, &out->g, info, err);
	if (!rc)
		rc = partition_inputs_load(&q->from, jobs, n, &out->g, 1, in, err);
	return rc ? rc : answer_find(q, in, jobs, out, err);
}

void partition_answer_free(struct partition_answer *a)
{
	for (size_t c = 0; c < a->n_clocks; c++)
		hes_splits_free(&a->splits[c]);
}

double partition_gain(const struct hes_split *s, const struct hes_split *than)
{
	return s->per_watt / than->per_watt - 1;
}

static const struct hes_split *best_of(const struct partition_answer *a)
{
	return &a->splits[a->best].v[a->splits[a->best].best];
}

static uint32_t share_sum(const struct partition_answer *a, const struct hes_split *s)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < a->n; i++)
		sum += s->sm_pct[i];
	return sum;
}

static int by_worth(const void *a, const void *b)
{
	const struct hes_split *x = *(const struct hes_split *const *)a,
			       *y = *(const struct hes_split *const *)b;

	if (x->allowed != y->allowed)
		return x->allowed ? -1 : 1;
	return (x->per_watt < y->per_watt) - (x->per_watt > y->per_watt);
}

int partition_rows(const struct partition_answer *a, size_t clock, size_t most,
		   struct partition_rows *out)
{
	const struct hes_splits *s = &a->splits[clock];

	*out = (struct partition_rows){ .v = malloc((s->n + 1) * sizeof(*out->v)) };
	if (!out->v)
		return -ENOMEM;
	for (size_t i = 0; i < s->n; i++)
		if (a->n > 2 || most == SIZE_MAX || i == s->best ||
		    share_sum(a, &s->v[i]) + a->step > 100)
			out->v[out->n++] = &s->v[i];
	if (a->n > 2 && most < out->n) {
		qsort(out->v, out->n, sizeof(*out->v), by_worth);
		out->n = most;
	}
	return 0;
}

const struct hes_split *partition_chosen(const struct partition_answer *a)
{
	if (a->given.estimate.power_w > 0)
		return &a->given;
	return a->take_turns ? NULL : best_of(a);
}
