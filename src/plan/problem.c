/*
 * problem.c - from a request to numbers; see problem.h.
 */
#include "plan/problem.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/assign/genetic.h"
#include "plan/batch/sharing.h"

#define MAX_TOTAL_US \
	1e17 /* of all jobs, one after the other: far from overflowing a plan's times */

struct arrival {
	int64_t arrival_us;
	uint32_t job;
};

static int earlier(const void *a, const void *b)
{
	const struct arrival *x = a, *y = b;

	if (x->arrival_us != y->arrival_us)
		return x->arrival_us < y->arrival_us ? -1 : 1;
	return x->job < y->job ? -1 : x->job > y->job;
}

static int check_running(const struct hes_request *r, size_t i, struct hes_err *err)
{
	const struct hes_running *run = &r->running[i];
	size_t there = 0;

	if (run->job >= r->jobs->n)
		return hes_fail(err, -EINVAL,
				"running job %zu: job number %" PRIu32 "; there are %zu", i,
				run->job, r->jobs->n);
	if (run->gpu >= r->fleet->n)
		return hes_fail(err, -EINVAL,
				"running job %zu: GPU number %" PRIu32 "; the fleet has %zu", i,
				run->gpu, r->fleet->n);
	if (i && run->gpu < r->running[i - 1].gpu)
		return hes_fail(err, -EINVAL,
				"running job %zu: GPU number %" PRIu32 " after number %" PRIu32
				"; running jobs go by GPU",
				i, run->gpu, r->running[i - 1].gpu);
	while (there <= i && r->running[i - there].gpu == run->gpu)
		there++;
	if (there > HES_MAX_SHARING)
		return hes_fail(err, -EINVAL, "%s: %zu jobs run there; at most %d can",
				r->fleet->gpus[run->gpu].name, there, HES_MAX_SHARING);
	return 0;
}

static int allocate(struct hes_problem *p, const struct hes_request *r, size_t more_jobs)
{
	const size_t n = r->n_waiting, k = r->fleet->n;

	p->jobs = calloc(n + r->n_running + more_jobs + 1, sizeof(*p->jobs));
	p->running = calloc(r->n_running + 1, sizeof(*p->running));
	p->first_running = calloc(k + 1, sizeof(*p->first_running));
	p->gpus = calloc(k + 1, sizeof(*p->gpus));
	p->types = calloc(k + 1, sizeof(const struct hes_gpu_type *));
	if (!p->jobs || !p->gpus || !p->types || !p->running || !p->first_running)
		return -ENOMEM;
	p->n = n;
	p->k = k;
	p->n_running = r->n_running;
	p->n_jobs = n + r->n_running;
	p->room = p->n_jobs + more_jobs;
	return 0;
}

static int order_jobs(struct hes_problem *p)
{
	const struct hes_request *r = p->request;
	struct arrival *order = calloc(p->n + 1, sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < p->n; i++)
		order[i] = (struct arrival){ r->jobs->v[r->waiting[i]].arrival_us, r->waiting[i] };
	qsort(order, p->n, sizeof(*order), earlier);
	for (size_t i = 0; i < p->n; i++) {
		const struct hes_job *job = &r->jobs->v[order[i].job];

		p->jobs[i] = (struct hes_problem_job){
			.job = order[i].job,
			.memory_mib = hes_job_memory_mib(job),
			.iterations = (double)job->iterations,
			.keep = job->keep,
			.deadline_us = job->has_deadline ? (double)(job->deadline_us - r->now_us)
							 : INFINITY,
		};
	}
	free(order);
	return 0;
}

void hes_problem_continue(struct hes_problem *p, size_t number, const struct hes_running *r,
			  int64_t now_us)
{
	struct hes_problem_job *j = &p->jobs[number];

	j->iterations =
		(double)p->request->jobs->v[r->job].iterations * fmin(fmax(r->left, 1e-9), 1);
	j->started_us = r->starting ? fmax(0, (double)(now_us - r->start_us)) : INFINITY;
}

static void take_running(struct hes_problem *p)
{
	const struct hes_request *r = p->request;

	for (size_t i = 0; i < r->n_running; i++) {
		const struct hes_running *run = &r->running[i];
		const struct hes_job *job = &r->jobs->v[run->job];

		p->jobs[p->n + i] = (struct hes_problem_job){
			.job = run->job,
			.memory_mib = hes_job_memory_mib(job),
			.keep = job->keep,
			.deadline_us = INFINITY,
		};
		hes_problem_continue(p, p->n + i, run, r->now_us);
		p->running[i] = (struct hes_problem_running){
			(uint32_t)(p->n + i), (uint16_t)run->sm_pct,
			hes_problem_clock(r->fleet->gpus[run->gpu].type, run->clock_mhz)
		};
		p->first_running[run->gpu + 1]++;
	}
	for (size_t g = 0; g < p->k; g++)
		p->first_running[g + 1] += p->first_running[g];
}

/* The number of a type, which is added if it is new. */
static uint32_t number_type(const struct hes_gpu_type *type, const struct hes_gpu_type **types,
			    size_t *n)
{
	uint32_t t = 0;

	while (t < *n && types[t] != type)
		t++;
	if (t == *n)
		types[(*n)++] = type;
	return t;
}

static void number_types(struct hes_problem *p)
{
	const struct hes_request *r = p->request;

	for (size_t g = 0; g < p->k; g++) {
		p->gpus[g].type = number_type(r->fleet->gpus[g].type, p->types, &p->n_types);
		p->gpus[g].wait_us =
			r->free_at_us[g] > r->now_us ? (double)(r->free_at_us[g] - r->now_us) : 0;
	}
}

/* A job with a floor can always have the GPU to itself, by a share of all SMs. */
static void limit_floor(struct hes_problem *p, const struct hes_problem_job *j)
{
	for (size_t t = 0; t < p->n_types && j->keep > 0; t++)
		p->shares_pct[t] = HES_SHARE_SUM_PCT;
}

bool hes_problem_breaks_floor(const struct hes_problem *p, struct hes_rates *rates, size_t job,
			      const struct hes_set *s, uint32_t i, const struct hes_set_rates *r)
{
	const struct hes_member alone = { s->m[i].kind, HES_SHARE_SUM_PCT };
	const double keep = p->jobs[job].keep;

	return keep > 0 && (s->n > 1 || s->m[i].sm_pct < HES_SHARE_SUM_PCT) &&
	       isfinite(r->iteration_us[i]) &&
	       r->iteration_us[i] * keep >
		       hes_rates_alone(rates, s->type, alone, s->clock_mhz).iteration_us;
}

/* The predictor knows how far the SM shares in its samples exceeded 100 %. */
static int limit_shares(struct hes_problem *p)
{
	p->shares_pct = calloc(p->n_types + 1, sizeof(*p->shares_pct));
	for (size_t t = 0; t < p->n_types && p->shares_pct; t++) {
		const uint32_t sampled =
			hes_predictor_share_sum(p->request->predictor, p->types[t]->name);

		p->shares_pct[t] = sampled < HES_SHARE_SUM_PCT || p->types[t]->alone
					   ? HES_SHARE_SUM_PCT
				   : sampled > HES_SHARE_OVER_PCT ? HES_SHARE_OVER_PCT
								  : sampled;
	}
	for (size_t i = 0; i < p->n_jobs && p->shares_pct; i++)
		limit_floor(p, &p->jobs[i]);
	return p->shares_pct ? 0 : -ENOMEM;
}

static int compare_kinds(const struct hes_job *a, const struct hes_job *b)
{
	int order = strcmp(a->workload, b->workload);

	return order ? order : (a->batch_size > b->batch_size) - (a->batch_size < b->batch_size);
}

struct keyed_job {
	const struct hes_job *job;
	uint32_t at; /* among the problem's jobs */
};

static int by_kind(const void *a, const void *b)
{
	const struct keyed_job *x = a, *y = b;
	int order = compare_kinds(x->job, y->job);

	return order ? order : x->at < y->at ? -1 : x->at > y->at;
}

/* Kinds are numbered in the order of their names, so that sets have one order whatever the jobs'
 * order. @return how many kinds there are */
static size_t sort_kinds(struct keyed_job *keys, size_t n, uint32_t *kinds)
{
	size_t n_kinds = 0;

	qsort(keys, n, sizeof(*keys), by_kind);
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || compare_kinds(keys[i - 1].job, keys[i].job) != 0)
			n_kinds++;
		kinds[keys[i].at] = (uint32_t)n_kinds - 1;
	}
	return n_kinds;
}

static int number_kinds(struct hes_problem *p, size_t more_kinds)
{
	const struct hes_request *r = p->request;
	const size_t n = p->n + p->n_running;
	struct keyed_job *keys = r->kinds ? NULL : calloc(n + 1, sizeof(*keys));
	uint32_t *kinds = r->kinds ? NULL : calloc(n + 1, sizeof(*kinds));
	int rc = r->kinds || (keys && kinds) ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !rc && !r->kinds; i++)
		keys[i] = (struct keyed_job){ &r->jobs->v[p->jobs[i].job], (uint32_t)i };
	if (!rc)
		p->n_kinds_now = r->kinds ? r->kinds->n : sort_kinds(keys, n, kinds);
	for (size_t i = 0; i < n && !rc; i++)
		p->jobs[i].kind = r->kinds ? r->kinds->of[p->jobs[i].job] : kinds[i];
	p->n_kinds = p->n_kinds_now + more_kinds;
	free(keys);
	free(kinds);
	return rc;
}

/* A kind must be profiled on one type at least. Of several errors, a batch size out of range says
 * most. */
static int find_profiles_of(struct hes_problem *p, const struct hes_problem_job *j,
			    struct hes_err *err)
{
	const struct hes_job *job = &p->request->jobs->v[j->job];
	struct hes_err why = { 0 }, one;
	size_t found = 0;

	for (size_t t = 0; t < p->n_types; t++) {
		struct hes_profile *solo = &p->solo[t * p->n_kinds + j->kind];

		if (solo->iteration_us > 0 ||
		    hes_profile_find(p->request->profiles, job->workload, job->batch_size,
				     p->types[t]->name, solo, &one) == 0)
			found++;
		else if (!why.code || one.code == -ERANGE)
			why = one;
		p->starts |= solo->start_s > 0;
	}
	if (!found && why.code == -ENOENT && hes_job_is_script(job))
		return hes_job_fail_script(job, err);
	return found ? 0 : hes_fail(err, why.code, "job %s: %s", job->id, why.msg);
}

static int find_profiles(struct hes_problem *p, struct hes_err *err)
{
	int rc = 0;

	if (p->n_kinds > UINT16_MAX)
		return hes_fail(err, -E2BIG,
				"%zu different workloads and batch sizes are more than %d",
				p->n_kinds, UINT16_MAX);
	p->solo = p->request->kinds ? p->request->kinds->solo
				    : calloc(p->n_types * p->n_kinds + 1, sizeof(*p->solo));
	if (!p->solo)
		return -ENOMEM;
	for (size_t i = 0; i < p->n + p->n_running && !rc; i++)
		rc = find_profiles_of(p, &p->jobs[i], err);
	return rc;
}

static int fail_memory(const struct hes_problem *p, size_t job, struct hes_err *err)
{
	const struct hes_job *j = &p->request->jobs->v[p->jobs[job].job];
	const struct hes_gpu_type *largest = NULL;

	for (size_t t = 0; t < p->n_types; t++)
		if (p->solo[t * p->n_kinds + p->jobs[job].kind].iteration_us > 0 &&
		    (!largest || p->types[t]->memory_mib > largest->memory_mib))
			largest = p->types[t];
	return hes_fail(err, -ENOSPC,
			"job %s needs %" PRIu32
			" MiB; the largest GPU it can run on, %s, has %" PRIu32 " MiB",
			j->id, p->jobs[job].memory_mib, largest->name, largest->memory_mib);
}

static struct hes_cost alone_at(const struct hes_problem *p, size_t job, uint32_t type,
				uint32_t clock_mhz)
{
	const struct hes_set alone = {
		.type = type,
		.clock_mhz = clock_mhz,
		.n = 1,
		.m = { { (uint16_t)p->jobs[job].kind, 100 } },
	};
	struct hes_set_rates rates;
	double time_us, start_us;

	if (!hes_problem_runs(p, job, type))
		return (struct hes_cost){ INFINITY, INFINITY };
	hes_rates_of(p->rates, &alone, &rates);
	time_us = rates.iteration_us[0] * p->jobs[job].iterations;
	start_us = hes_problem_start_us(p, job, type);
	return (struct hes_cost){ start_us + time_us, (start_us * p->types[type]->idle_power_mw +
						       time_us * rates.power_mw) *
							      1e-6 };
}

struct hes_cost hes_problem_alone(const struct hes_problem *p, size_t job, uint32_t type)
{
	return alone_at(p, job, type, p->types[type]->clock_default_mhz);
}

#define CO_RUN_GAIN \
	0.001 /* largest part of a run time that co-runners were ever predicted to save */

/* The least run time over all types and clocks. */
static double least_alone_us(const struct hes_problem *p, size_t job)
{
	double least_us = INFINITY;

	for (uint32_t t = 0; t < p->n_types; t++)
		for (size_t c = 0; c < p->types[t]->n_clocks; c++)
			least_us = fmin(least_us,
					alone_at(p, job, t, p->types[t]->clocks_mhz[c]).time_us);
	return least_us;
}

/*
 * A deadline that no plan can meet is no constraint. A search keeps only the plans with the
 * smallest violation, so such a deadline would cost all other jobs. Most deadlines are met at a
 * default clock: try these first.
 */
static void drop_infeasible(const struct hes_problem *p, size_t job)
{
	struct hes_problem_job *j = &p->jobs[job];
	const double left_us = j->deadline_us - j->ready_us;
	double least_us;

	if (!isfinite(left_us))
		return;
	for (uint32_t t = 0; t < p->n_types; t++)
		if (hes_problem_alone(p, job, t).time_us <= left_us)
			return;
	least_us = least_alone_us(p, job);
	if (least_us <= left_us * (1 + CO_RUN_GAIN))
		return;
	j->deadline_us = INFINITY;
	j->least_us = least_us;
}

/* @return the longest run time of a job over all types; negative: it runs on none */
static double find_costs_of(struct hes_problem *p, size_t job)
{
	double longest_us = -1;

	for (size_t t = 0; t < p->n_types; t++) {
		struct hes_cost *c = &p->cost[t * p->n + job];
		const struct hes_profile *solo = &p->solo[t * p->n_kinds + p->jobs[job].kind];

		*c = hes_problem_alone(p, job, (uint32_t)t);
		p->usage[t * p->n + job] = (struct hes_usage){
			.sm = solo->sm_util,
			.bandwidth = solo->dram_util,
			.memory = (double)p->jobs[job].memory_mib / p->types[t]->memory_mib,
		};
		if (isfinite(c->time_us))
			longest_us = fmax(longest_us, c->time_us);
	}
	return longest_us;
}

static int find_costs(struct hes_problem *p, struct hes_err *err)
{
	double total_us = 0;

	p->rates = p->request->kinds
			   ? p->request->kinds->rates
			   : hes_rates_new(p->request->predictor, p->types, p->solo, p->n_kinds);
	p->cost = calloc(p->n_types * p->n + 1, sizeof(*p->cost));
	p->usage = calloc(p->n_types * p->n + 1, sizeof(*p->usage));
	if (!p->rates || !p->cost || !p->usage)
		return -ENOMEM;
	for (size_t i = 0; i < p->n; i++) {
		double longest_us = find_costs_of(p, i);

		if (longest_us < 0)
			return fail_memory(p, i, err);
		total_us += longest_us;
		if (total_us > MAX_TOTAL_US)
			return hes_fail(err, -ERANGE,
					"job %s: with it, the jobs would run more than %.0f years",
					p->request->jobs->v[p->jobs[i].job].id,
					MAX_TOTAL_US / 365.25 / 86400e6);
		drop_infeasible(p, i);
	}
	return 0;
}

int hes_problem_init_for_more(struct hes_problem *p, const struct hes_request *r, size_t more_jobs,
			      size_t more_kinds, struct hes_err *err)
{
	int rc = 0;

	*p = (struct hes_problem){ .request = r, .together = HES_SHARE_MOST };
	for (size_t i = 0; i < r->n_running && !rc; i++)
		rc = check_running(r, i, err);
	if (!rc)
		rc = allocate(p, r, more_jobs);
	if (!rc)
		rc = order_jobs(p);
	if (!rc) {
		take_running(p);
		number_types(p);
		rc = limit_shares(p);
	}
	if (!rc)
		rc = number_kinds(p, more_kinds);
	if (!rc)
		rc = find_profiles(p, err);
	if (!rc)
		rc = find_costs(p, err);
	if (rc == -ENOMEM)
		hes_fail(err, rc, "out of memory for %zu jobs on %zu GPUs", r->n_waiting,
			 r->fleet->n);
	if (rc)
		hes_problem_finish(p);
	return rc;
}

int hes_problem_init(struct hes_problem *p, const struct hes_request *r, struct hes_err *err)
{
	return hes_problem_init_for_more(p, r, 0, 0, err);
}

/* @return n_kinds_now: a new kind */
static uint32_t kind_of(const struct hes_problem *p, const struct hes_job *job)
{
	for (size_t i = 0; i < p->n_jobs; i++)
		if (compare_kinds(job, &p->request->jobs->v[p->jobs[i].job]) == 0)
			return p->jobs[i].kind;
	return (uint32_t)p->n_kinds_now;
}

long hes_problem_add(struct hes_problem *p, uint32_t job, double ready_us, struct hes_err *err)
{
	const struct hes_job *from = &p->request->jobs->v[job];
	struct hes_problem_job *j = &p->jobs[p->n_jobs];
	int rc;

	if (p->n_jobs == p->room)
		return hes_fail(err, -EXFULL, "job %s: no room is left for more jobs", from->id);
	*j = (struct hes_problem_job){
		.job = job,
		.kind = kind_of(p, from),
		.memory_mib = from->memory_mib,
		.keep = from->keep,
		.iterations = (double)from->iterations,
		.ready_us = ready_us,
		.deadline_us = from->has_deadline ? (double)(from->deadline_us - p->request->now_us)
						  : INFINITY,
	};
	if (j->kind == p->n_kinds)
		return hes_fail(err, -EXFULL, "job %s: no room is left for more workloads",
				from->id);
	rc = find_profiles_of(p, j, err);
	if (rc)
		return rc;
	limit_floor(p, j);
	p->n_kinds_now += j->kind == p->n_kinds_now;
	drop_infeasible(p, p->n_jobs);
	return (long)p->n_jobs++;
}

void hes_problem_limit_overlap(const struct hes_problem *p, size_t job)
{
	const struct hes_member whole = { (uint16_t)p->jobs[job].kind, HES_SHARE_SUM_PCT };

	for (uint32_t t = 0; t < p->n_types; t++) {
		const struct hes_set pair = { .type = t,
					      .clock_mhz = p->types[t]->clock_default_mhz,
					      .n = 2,
					      .m = { whole, whole } };
		struct hes_set_rates rates;

		if (p->shares_pct[t] < 2 * HES_SHARE_SUM_PCT || !hes_problem_runs(p, job, t))
			continue;
		hes_rates_of(p->rates, &pair, &rates);
		if (rates.outside[0] & HES_OUTSIDE_CO_RUNNER)
			p->shares_pct[t] = 2 * HES_SHARE_SUM_PCT - HES_SHARE_STEP_PCT;
	}
}

int hes_problem_assign(const struct hes_problem *p, uint64_t seed, struct hes_assign_front *out)
{
	struct hes_genetic_options o = hes_genetic_defaults;
	struct hes_assign a;
	int rc = hes_assign_init(&a, p->n, p->k, p->n_types, p->cost, p->gpus);

	if (rc)
		return rc;
	a.usage = p->usage;
	o.seed = seed;
	rc = hes_genetic_run(&a, &o, out);
	hes_assign_finish(&a);
	return rc;
}

void hes_problem_finish(struct hes_problem *p)
{
	free(p->jobs);
	free(p->running);
	free(p->first_running);
	free(p->gpus);
	free(p->types);
	free(p->shares_pct);
	free(p->cost);
	free(p->usage);
	if (!p->request || !p->request->kinds) {
		free(p->solo);
		hes_rates_free(p->rates);
	}
	*p = (struct hes_problem){ 0 };
}

struct hes_kinds *hes_kinds_new(const struct hes_request *r)
{
	const size_t n = r->jobs->n;
	struct hes_kinds *k = calloc(1, sizeof(*k));
	struct keyed_job *keys = calloc(n + 1, sizeof(*keys));
	size_t n_types = 0;

	if (!k || !keys) {
		free(k);
		free(keys);
		return NULL;
	}
	k->of = calloc(n + 1, sizeof(*k->of));
	k->types = calloc(r->fleet->n + 1, sizeof(const struct hes_gpu_type *));
	for (size_t i = 0; i < n; i++)
		keys[i] = (struct keyed_job){ &r->jobs->v[i], (uint32_t)i };
	if (k->of && k->types) {
		k->n = sort_kinds(keys, n, k->of);
		for (size_t g = 0; g < r->fleet->n; g++)
			number_type(r->fleet->gpus[g].type, k->types, &n_types);
		k->solo = calloc(n_types * k->n + 1, sizeof(*k->solo));
	}
	free(keys);
	if (k->solo && k->n <= UINT16_MAX)
		k->rates = hes_rates_new(r->predictor, k->types, k->solo, k->n);
	if (k->rates)
		return k;
	hes_kinds_free(k);
	return NULL;
}

void hes_kinds_free(struct hes_kinds *k)
{
	if (!k)
		return;
	hes_rates_free(k->rates);
	free(k->solo);
	free(k->types);
	free(k->of);
	free(k);
}
