/*
 * plan_bench.c - see plan_bench.h.
 */
#include "plan_bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predict/prepared.h"

struct stand_in stand_in;

/*
 * A job with a share below its utilisation is slower in proportion, and by the part of the
 * bandwidth that its co-runners use. Half of its time follows the clock. Where shares sum to more
 * than the GPU, all jobs are slower by that factor. Each job adds 200 mW a percent of share, times
 * the clock squared.
 */
void hes_predict(const struct hes_predictor *p, const struct hes_gpu_type *g,
		 const struct hes_profile *task, const struct hes_setting *s,
		 const struct hes_load *co_runners, struct hes_estimate *out)
{
	double clock = (double)s->clock_mhz / g->clock_default_mhz, share = s->sm_pct / 100.0;
	double held = task->sm_util > share ? task->sm_util / share : 1;
	double used = fmin(s->sm_pct, 100 * task->sm_util),
	       crowd = fmax(1, share + co_runners->sm_pct / 100.0);

	(void)p;
#pragma omp atomic
	stand_in.queries++;
	*out = (struct hes_estimate){ .widening = 1 };
	if (s->clock_mhz < stand_in.from_mhz)
		out->outside |= HES_OUTSIDE_CLOCK;
	if (co_runners->jobs + 1 > stand_in.jobs)
		out->outside |= HES_OUTSIDE_CO_RUN;
	if (co_runners->unseen_distance > 0)
		out->outside |= HES_OUTSIDE_CO_RUNNER;
	if (out->outside)
		out->widening = 5;
	out->iteration_us = task->iteration_us * held * (1 + co_runners->dram_util) *
			    (stand_in.clock_free ? 1 : 0.5 + 0.5 / clock) * crowd;
	out->power_mw =
		co_runners->power_mw +
		(uint32_t)(200.0 * (stand_in.power_by_use ? used : s->sm_pct) * clock * clock);
}

void hes_predict_load_add(const struct hes_predictor *p, const struct hes_gpu_type *g,
			  const struct hes_profile *solo, const struct hes_setting *s,
			  struct hes_load *load)
{
	(void)p;
	hes_load_add(load, g, solo, s->sm_pct, s->clock_mhz);
	load->unseen_distance += stand_in.never && !strcmp(solo->workload, stand_in.never);
}

void hes_prepare(const struct hes_predictor *p, const struct hes_gpu_type *g,
		 const struct hes_profile *task, const struct hes_setting *s,
		 struct hes_prepared *out)
{
	*out = (struct hes_prepared){ .p = p, .gpu = g, .task = task, .setting = *s };
	hes_predict_load_add(p, g, task, s, &out->load);
}

void hes_prepared_predict(const struct hes_prepared *r, const struct hes_load *co_runners,
			  struct hes_quick_estimate *out)
{
	struct hes_estimate e;

	hes_predict(NULL, r->gpu, r->task, &r->setting, co_runners, &e);
	*out = (struct hes_quick_estimate){ e.iteration_us, e.power_mw, e.outside };
}

double hes_prepared_widening(const struct hes_prepared *r, const struct hes_load *co_runners)
{
	struct hes_estimate e;

	hes_predict(NULL, r->gpu, r->task, &r->setting, co_runners, &e);
#pragma omp atomic
	stand_in.queries--;
	return e.widening;
}

uint32_t hes_predictor_share_sum(const struct hes_predictor *p, const char *gpu_type)
{
	(void)p;
	(void)gpu_type;
	return stand_in.shares_pct;
}

static void profile(struct bench *b, const char *workload, const char *type, double iteration_us,
		    double sm_util, double dram_util)
{
	struct hes_profile *v = reallocarray(b->profiles.v, b->profiles.n + 1, sizeof(*v));

	assert_non_null(v);
	b->profiles.v = v;
	v = &v[b->profiles.n++];
	*v = (struct hes_profile){ .batch_size = 1,
				   .memory_mib = 1000,
				   .iteration_us = iteration_us,
				   .sm_util = sm_util,
				   .dram_util = dram_util,
				   .power_mw = 1 };
	snprintf(v->workload, sizeof(v->workload), "%s", workload);
	snprintf(v->gpu_type, sizeof(v->gpu_type), "%s", type);
}

void set_start(struct bench *b, const char *workload, double start_s)
{
	for (size_t i = 0; i < b->profiles.n; i++)
		if (strcmp(b->profiles.v[i].workload, workload) == 0)
			b->profiles.v[i].start_s = start_s;
}

int plan_bench_setup(void **state)
{
	static const char yaml[] =
		"name: test\nnodes:\n  - name: a\n    gpus: [ { type: T4, count: 1 }, "
		"{ type: A100-SXM-80, count: 1 } ]\n";
	struct bench *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	stand_in = (struct stand_in){ .jobs = HES_MAX_SHARING, .shares_pct = 100 };
	assert_int_equal(hes_catalogue_load(NULL, &b->catalogue, &b->err), 0);
	assert_int_equal(
		hes_fleet_parse("test", yaml, strlen(yaml), &b->catalogue, &b->fleet, &b->err), 0);
	profile(b, "full", "T4", 1000, 1, 0.25);
	profile(b, "full", "A100-SXM-80", 200, 1, 0.25);
	profile(b, "half", "T4", 1000, 0.5, 0.1);
	profile(b, "half", "A100-SXM-80", 500, 0.3, 0.1);
	profile(b, "light", "T4", 1000, 0.2, 0.05);
	profile(b, "light", "A100-SXM-80", 900, 0.1, 0.05);
	profile(b, "small", "T4", 1000, 0.2, 0.05);
	hes_profiles_sort(&b->profiles);
	b->jobs.v = b->v;
	b->request = (struct hes_request){ .fleet = &b->fleet,
					   .jobs = &b->jobs,
					   .waiting = b->waiting,
					   .free_at_us = b->free_at_us,
					   .profiles = &b->profiles,
					   .seed = 1 };
	*state = b;
	return 0;
}

int plan_bench_teardown(void **state)
{
	struct bench *b = *state;

	if (b->p.request)
		hes_problem_finish(&b->p);
	hes_profiles_free(&b->profiles);
	hes_fleet_free(&b->fleet);
	hes_catalogue_free(&b->catalogue);
	free(b);
	return 0;
}

struct hes_job *add_job(struct bench *b, const char *workload, uint64_t iterations,
			uint32_t memory_mib)
{
	struct hes_job *j = &b->v[b->jobs.n];

	*j = (struct hes_job){
		.batch_size = 1, .iterations = iterations, .memory_mib = memory_mib, .weight = 1
	};
	snprintf(j->id, sizeof(j->id), "j%zu", b->jobs.n);
	snprintf(j->workload, sizeof(j->workload), "%s", workload);
	b->waiting[b->jobs.n] = (uint32_t)b->jobs.n;
	b->request.n_waiting = ++b->jobs.n;
	return j;
}

void make_problem(struct bench *b)
{
	assert_int_equal(hes_problem_init(&b->p, &b->request, &b->err), 0);
}

static void add_six_jobs(struct bench *b)
{
	static const struct {
		const char *workload;
		uint64_t iterations;
	} jobs[] = {
		{ "full", 3000 },   { "half", 20000 }, { "light", 4000 },
		{ "light", 30000 }, { "half", 5000 },  { "full", 9000 },
	};

	for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++)
		add_job(b, jobs[i].workload, jobs[i].iterations, 1000);
}

void make_six_jobs(struct bench *b)
{
	add_six_jobs(b);
	make_problem(b);
}

void make_twelve_jobs(struct bench *b)
{
	add_six_jobs(b);
	add_six_jobs(b);
	make_problem(b);
}
