/*
 * report_sample.c - see report_sample.h. Nothing here is physics; the figures
 * only have to be consistent: energy is power over time, JCT is end less arrival.
 */
#include "report_sample.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"

const char sample_fleet[] = "name: heshare\n"
			    "nodes:\n"
			    "  - name: turing\n    gpus: [ { type: T4, count: 4 } ]\n"
			    "  - name: volta\n    gpus: [ { type: V100-SXM2-32, count: 2 } ]\n"
			    "  - name: ampere\n    gpus: [ { type: A100-SXM-80, count: 2 } ]\n";

static const char *const workloads[] = { "resnet50",    "bert-large",   "vgg19",      "gpt2",
					 "densenet161", "mobilenet-v2", "transformer" };

static void fill_jobs(struct sample *s, size_t n, struct hes_rng *rng)
{
	s->jobs = (struct hes_jobs){ .v = calloc(n + 1, sizeof(struct hes_job)), .n = n };
	for (size_t i = 0; i < n; i++) {
		struct hes_job *j = &s->jobs.v[i];

		snprintf(j->id, sizeof(j->id), "job-%04zu", i + 1);
		snprintf(j->workload, sizeof(j->workload), "%s", workloads[hes_rng_below(rng, 7)]);
		j->batch_size = 1u << hes_rng_below(rng, 7);
		j->iterations = 1000;
		j->weight = 1;
	}
}

static double speed_of(const struct hes_gpu_type *g)
{
	return g->sm_count * g->clock_default_mhz / 40.0 / 1590;
}

/* One batch of up to four of the jobs left onto a GPU. @return when it ends */
static int64_t run_batch(struct sample *s, uint32_t gpu, int64_t at_us, size_t *next,
			 struct hes_rng *rng)
{
	const struct hes_gpu_type *g = s->fleet.gpus[gpu].type;
	uint32_t n = (uint32_t)hes_rng_below(rng, 4) + 1, left = 100;
	uint32_t clock = g->clocks_mhz[g->n_clocks - 1 - hes_rng_below(rng, 6)];
	int64_t latest = at_us;

	for (uint32_t i = 0; i < n && *next < s->jobs.n; i++, (*next)++) {
		uint32_t pct =
			i + 1 == n
				? left
				: 10 * (1 + (uint32_t)hes_rng_below(rng, left / 10 - (n - 1 - i)));
		double work = 120 + 900 * pow(hes_rng_unit(rng), 3);
		double took = 3 * work / speed_of(g) / pow(pct / 100.0, 0.7) *
			      g->clock_default_mhz / clock;
		struct hes_outcome *o = &s->replay.jobs[*next];

		left -= pct;
		*o = (struct hes_outcome){ gpu,
					   pct,
					   clock,
					   at_us,
					   at_us + (int64_t)(took * 1e6),
					   at_us + (int64_t)(took * 0.95e6) };
		latest = o->end_us > latest ? o->end_us : latest;
	}
	return latest;
}

static int by_time(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Cut one GPU's time where jobs start or end; power rises with shares and clock. */
static void add_segments(struct sample *s, uint32_t gpu)
{
	const struct hes_gpu_type *g = s->fleet.gpus[gpu].type;
	int64_t *cut = calloc(2 * s->jobs.n + 1, sizeof(*cut));
	size_t n = 0;

	for (size_t j = 0; j < s->jobs.n; j++) {
		if (s->replay.jobs[j].gpu == gpu) {
			cut[n++] = s->replay.jobs[j].start_us;
			cut[n++] = s->replay.jobs[j].end_us;
		}
	}
	qsort(cut, n, sizeof(*cut), by_time);
	for (size_t i = 1; i < n; i++) {
		struct hes_segment seg = { .gpu = gpu, .start_us = cut[i - 1], .end_us = cut[i] };
		uint32_t pct = 0;

		for (size_t j = 0; j < s->jobs.n; j++) {
			const struct hes_outcome *o = &s->replay.jobs[j];

			if (o->gpu == gpu && o->start_us <= cut[i - 1] && o->end_us >= cut[i]) {
				pct += o->sm_pct;
				seg.clock_mhz = o->clock_mhz;
				seg.jobs++;
			}
		}
		if (!seg.jobs || seg.end_us == seg.start_us)
			continue;
		seg.power_mw =
			(uint32_t)(g->idle_power_mw +
				   (g->power_limit_mw - g->idle_power_mw) * 0.9 * pct / 100 *
					   pow((double)seg.clock_mhz / g->clock_default_mhz, 2));
		seg.sm_util = (float)pct / 100;
		s->replay.segments[s->replay.n_segments++] = seg;
	}
	free(cut);
}

static void run_all(struct sample *s, struct hes_rng *rng)
{
	struct hes_replay *r = &s->replay;
	int64_t *free_at = calloc(s->fleet.n, sizeof(*free_at));
	size_t next = 0;

	*r = (struct hes_replay){ .n_jobs = s->jobs.n };
	r->jobs = calloc(s->jobs.n + 1, sizeof(*r->jobs));
	r->segments = calloc(2 * s->jobs.n + 1, sizeof(*r->segments));
	while (next < s->jobs.n) {
		uint32_t first = 0;

		for (uint32_t g = 1; g < s->fleet.n; g++)
			first = free_at[g] < free_at[first] ? g : first;
		free_at[first] = run_batch(s, first, free_at[first], &next, rng);
	}
	for (uint32_t g = 0; g < s->fleet.n; g++)
		add_segments(s, g);
	assert_int_equal(hes_replay_summarise(r, &s->fleet, &s->jobs), 0);
	free(free_at);
}

static void add_policy(struct sample *s, size_t i, const char *name, const char *prefer,
		       double energy, double time, double miss)
{
	const struct hes_totals *t = &s->replay.totals;
	struct hes_report_policy *p = &s->policies[i];
	double *jct = calloc(s->jobs.n + 1, sizeof(*jct));

	*p = (struct hes_report_policy){ .name = name,
					 .prefer = prefer,
					 .has_prediction = miss != 0,
					 .mean_util = s->replay.mean_util / time,
					 .jct_s = jct,
					 .n_jct = s->jobs.n };
	for (size_t j = 0; j < s->jobs.n; j++)
		jct[j] = (double)s->replay.jobs[j].end_us * time / 1e6;
	p->p50_jct_us = (int64_t)(time * (double)s->replay.p50_jct_us);
	p->p95_jct_us = (int64_t)(time * (double)s->replay.p95_jct_us);
	p->realised =
		(struct hes_totals){ t->avg_jct_us * time, (int64_t)((double)t->makespan_us * time),
				     (uint64_t)((double)t->busy_energy_mj * energy),
				     (uint64_t)((double)t->fleet_energy_mj * energy * 1.05) };
	p->predicted = (struct hes_totals){ .avg_jct_us = t->avg_jct_us * time * (1 - miss),
					    .busy_energy_mj = (uint64_t)((double)t->busy_energy_mj *
									 energy * (1 + miss / 2)) };
}

static void add_policies(struct sample *s)
{
	add_policy(s, 0, "exclusive", "", 1.42, 2.05, 0.02);
	add_policy(s, 1, "random", "", 1.47, 2.2, 0.03);
	add_policy(s, 2, "mps-equal", "", 1.3, 1.55, 0.06);
	add_policy(s, 3, "pwr", "", 1.22, 1.8, 0.01);
	add_policy(s, 4, "morak", "", 1.34, 1.46, 0.05);
	add_policy(s, 5, "muserve", "", 1.36, 1.58, 0.02);
	add_policy(s, 6, "sched-only", "", 1.12, 1.3, 0.03);
	add_policy(s, 7, "heshare", "energy", 0.93, 1.22, 0.04);
	add_policy(s, 8, "heshare", "balanced", 1.0, 1.0, 0.05);
	add_policy(s, 9, "heshare", "jct", 1.15, 0.92, 0.07);
	s->front = (struct hes_front){ .v = calloc(40, sizeof(struct hes_front_point)), .n = 40 };
	for (size_t i = 0; i < 40; i++) {
		double e = 0.9486 + 0.0062 * (double)i; /* through the predictions of heshare */

		s->front.v[i] =
			(struct hes_front_point){ (double)s->replay.totals.busy_energy_mj / 1e3 * e,
						  s->replay.totals.avg_jct_us / 1e6 *
							  (0.7788 + 0.02322 / (e - 0.8894)) };
	}
}

void sample_init(struct sample *s, const char *fleet, size_t n_jobs, uint64_t seed)
{
	struct hes_rng rng;
	struct hes_err err;

	memset(s, 0, sizeof(*s));
	hes_rng_seed(&rng, seed);
	assert_int_equal(hes_catalogue_load(NULL, &s->catalogue, &err), 0);
	assert_int_equal(
		hes_fleet_parse("fleet", fleet, strlen(fleet), &s->catalogue, &s->fleet, &err), 0);
	fill_jobs(s, n_jobs, &rng);
	run_all(s, &rng);
	add_policies(s);
	s->plan = (struct hes_plan){ .policy = "heshare", .prefer = "balanced", .seed = seed };
	s->report =
		(struct hes_report){ .title = "Sixty jobs on eight GPUs",
				     .modelled = true,
				     .command = "heshare simulate jobs.csv --fleet heshare.yaml "
						"--policy all --report report.html",
				     .fleet = &s->fleet,
				     .jobs = &s->jobs,
				     .plan = &s->plan,
				     .replay = &s->replay,
				     .front = &s->front,
				     .policies = s->policies,
				     .n_policies = 10,
				     .chosen = 8,
				     .reference = 4 };
}

void sample_finish(struct sample *s)
{
	for (size_t i = 0; i < 10; i++)
		free((double *)(uintptr_t)s->policies[i].jct_s);
	free(s->front.v);
	hes_replay_free(&s->replay);
	free(s->jobs.v);
	hes_fleet_free(&s->fleet);
	hes_catalogue_free(&s->catalogue);
}
