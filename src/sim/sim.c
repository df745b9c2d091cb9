/*
 * sim.c - the events of a simulation; see sim.h.
 *
 * At one moment, in this order: jobs end (by GPU), jobs arrive (by index)
 * and are planned for, GPUs start what is next. So a job that
 * arrives when a GPU becomes idle can start there at once.
 */
#include "heshare/sim.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "sim/engine.h"

static int by_arrival(const void *a, const void *b)
{
	const struct sim_arrival *x = a, *y = b;

	if (x->at_us != y->at_us)
		return x->at_us < y->at_us ? -1 : 1;
	return (x->job > y->job) - (x->job < y->job);
}

/* calloc that returns memory for no elements, too. */
static void *room_for(size_t n, size_t size)
{
	return calloc(n ? n : 1, size);
}

static int allocate(struct sim *s, struct hes_err *err)
{
	size_t n = s->in->jobs->n, g = s->in->fleet->n;

	s->jobs = room_for(n, sizeof(*s->jobs));
	s->arrivals = room_for(n, sizeof(*s->arrivals));
	s->waiting = room_for(n, sizeof(*s->waiting));
	s->gpus = room_for(g, sizeof(*s->gpus));
	s->free_at_us = room_for(g, sizeof(*s->free_at_us));
	s->running = room_for(g * HES_MAX_SHARING, sizeof(*s->running));
	s->freed = room_for(g, sizeof(*s->freed));
	s->next_us = room_for(g, sizeof(*s->next_us));
	s->out.jobs = room_for(n, sizeof(*s->out.jobs));
	s->out.n_jobs = n;
	if (s->in->carried_out && hes_plan_init(&s->carried_out, g))
		return hes_fail(err, -ENOMEM, "out of memory for %zu GPUs", g);
	if (!s->jobs || !s->arrivals || !s->waiting || !s->gpus || !s->free_at_us || !s->running ||
	    !s->freed || !s->next_us || !s->out.jobs)
		return hes_fail(err, -ENOMEM, "out of memory for %zu jobs on %zu GPUs", n, g);
	for (size_t i = 0; i == 0 || i < g; i++)
		s->next_us[i] = INT64_MAX;
	return 0;
}

static void release(struct sim *s)
{
	free(s->jobs);
	free(s->arrivals);
	free(s->waiting);
	free(s->gpus);
	free(s->free_at_us);
	free(s->running);
	free(s->freed);
	free(s->next_us);
	hes_plan_finish(&s->own);
	hes_plan_finish(&s->carried_out);
	hes_replay_free(&s->out);
}

static int resolve_jobs(struct sim *s, struct hes_err *err)
{
	const struct hes_jobs *jobs = s->in->jobs;

	for (size_t i = 0; i < jobs->n; i++) {
		const struct hes_job *j = &jobs->v[i];

		s->jobs[i].workload = hes_model_workload(s->in->model, j->workload, err);
		if (!s->jobs[i].workload)
			return hes_fail_in(err, "job %s", j->id);
		if (j->iterations < 1)
			return hes_fail(err, -EINVAL,
					"job %s: 0 iterations where at least 1 is right", j->id);
		if (j->arrival_us < 0 || j->arrival_us > SIM_LONGEST_US)
			return hes_fail(err, -EINVAL,
					"job %s: arrival at %" PRId64 " us is outside 0 to 10^16",
					j->id, j->arrival_us);
		s->arrivals[i] = (struct sim_arrival){ j->arrival_us, (uint32_t)i };
	}
	qsort(s->arrivals, jobs->n, sizeof(*s->arrivals), by_arrival);
	return 0;
}

static int check_request(const struct hes_sim *in, struct hes_err *err)
{
	if (!in->plan == !in->replan)
		return hes_fail(err, -EINVAL, "a simulation needs either a plan or a planner");
	if (in->jobs->n > UINT32_MAX || in->fleet->n > HES_MAX_GPUS)
		return hes_fail(err, -EINVAL, "%zu jobs on %zu GPUs are too many", in->jobs->n,
				in->fleet->n);
	if (!(in->time_noise >= 0 && in->time_noise <= HES_SIM_MAX_NOISE) ||
	    !(in->power_noise >= 0 && in->power_noise <= HES_SIM_MAX_NOISE))
		return hes_fail(err, -EINVAL, "noise %g and %g: 0 to %g is right", in->time_noise,
				in->power_noise, HES_SIM_MAX_NOISE);
	if (in->clock_change_us < 0 || in->clock_change_us > SIM_LONGEST_US)
		return hes_fail(err, -EINVAL,
				"a clock change of %" PRId64 " us is outside 0 to 10^16",
				in->clock_change_us);
	return 0;
}

static int prepare(struct sim *s, struct hes_err *err)
{
	const struct hes_fleet *f = s->in->fleet;
	int rc = check_request(s->in, err);

	for (size_t g = 0; g < f->n && !rc; g++)
		if (!hes_model_knows_gpu(s->in->model, f->gpus[g].type->name))
			rc = hes_fail(err, -ENOENT, "GPU %s: the model has no physics of type %s",
				      f->gpus[g].name, f->gpus[g].type->name);
	if (!rc)
		rc = allocate(s, err);
	if (!rc)
		rc = resolve_jobs(s, err);
	if (rc)
		return rc;
	hes_rng_seed(&s->noise, s->in->seed);
	for (size_t g = 0; g < f->n; g++) {
		s->gpus[g].type = f->gpus[g].type;
		s->gpus[g].clock_mhz = f->gpus[g].type->clock_default_mhz;
	}
	return s->in->plan ? sim_adopt(s, s->in->plan, s->in->jobs->n, err) : 0;
}

static int keep_segment(struct sim *s, const struct hes_segment *seg, struct hes_err *err)
{
	struct hes_segment *v = hes_grow(s->out.segments, s->out.n_segments, sizeof(*v));

	if (!v)
		return hes_fail(err, -ENOMEM, "out of memory for %zu segments", s->out.n_segments);
	s->out.segments = v;
	v[s->out.n_segments++] = *seg;
	return 0;
}

static void end_finished(struct sim *s, struct sim_gpu *b)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < b->n; i++) {
		if (sim_task_done(&b->tasks[i])) {
			s->out.jobs[b->tasks[i].job].end_us = s->now_us;
			s->n_ended++;
		} else {
			b->tasks[n++] = b->tasks[i];
		}
	}
	b->n = n;
}

void sim_window(const struct sim *s, uint32_t gpu, struct hes_sim_window *out)
{
	const struct sim_gpu *b = &s->gpus[gpu];

	*out = (struct hes_sim_window){
		.gpu = gpu,
		.from_us = b->now.start_us,
		.until_us = s->now_us,
		.clock_mhz = b->clock_mhz,
		.power_mw = b->now.power_mw,
		.n = b->n,
	};
	for (uint32_t i = 0; i < b->n; i++)
		out->members[i] = (struct hes_sim_member){
			.job = b->tasks[i].job,
			.sm_pct = b->tasks[i].sm_pct,
			.clock_mhz = b->tasks[i].clock_mhz,
			.starting = b->tasks[i].begins_us > b->now.start_us,
			.held = b->tasks[i].held,
			.rate = b->tasks[i].seen,
		};
}

int sim_settle(struct sim *s, uint32_t gpu, struct hes_err *err)
{
	struct sim_gpu *b = &s->gpus[gpu];
	struct hes_sim_window w;
	struct hes_segment seg;
	int rc;

	if (b->now.start_us == s->now_us)
		return 0;
	if (s->in->saw) {
		sim_window(s, gpu, &w);
		rc = s->in->saw(s->in->ctx, &w, err);
		if (rc < 0)
			return rc;
		s->plan_again |= rc > 0;
	}
	sim_gpu_settle(b, s->now_us, &seg);
	return keep_segment(s, &seg, err);
}

/* Process the event of a GPU. */
static int advance(struct sim *s, uint32_t gpu, struct hes_err *err)
{
	struct sim_gpu *b = &s->gpus[gpu];
	int rc;

	s->freed[s->n_freed++] = gpu;
	if (b->state == SIM_SWITCHING)
		return sim_begin(s, gpu, err);
	rc = sim_settle(s, gpu, err);
	if (rc)
		return rc;
	end_finished(s, b);
	if (b->n)
		return sim_schedule(s, gpu, err);
	b->state = SIM_IDLE;
	return 0;
}

static int start_after_replan(struct sim *s, struct hes_err *err)
{
	int rc = sim_replan(s, err);

	for (uint32_t g = 0; g < s->in->fleet->n && !rc; g++)
		rc = sim_start(s, g, err);
	return rc;
}

/* Start on GPUs where jobs ended, and in a fixed plan where jobs have arrived. */
static int start_affected(struct sim *s, size_t first_arrival, struct hes_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < s->n_freed && !rc; i++)
		rc = sim_start(s, s->freed[i], err);
	for (size_t i = first_arrival; i < s->n_arrived && !rc; i++)
		rc = sim_start(s, s->jobs[s->arrivals[i].job].gpu, err);
	return rc;
}

/* The GPU that changes first, of several the one with the lowest number. */
static uint32_t first_to_change(const struct sim *s)
{
	uint32_t first = 0;

	for (uint32_t g = 1; g < s->in->fleet->n; g++)
		if (s->next_us[g] < s->next_us[first])
			first = g;
	return first;
}

/* Everything that happens at now_us. */
static int step(struct sim *s, struct hes_err *err)
{
	size_t first = s->n_arrived, n = s->in->jobs->n;
	uint32_t gpu;
	int rc = 0;

	s->n_freed = 0;
	while (!rc && s->next_us[gpu = first_to_change(s)] <= s->now_us) {
		s->next_us[gpu] = INT64_MAX;
		rc = advance(s, gpu, err);
	}
	while (s->n_arrived < n && s->arrivals[s->n_arrived].at_us <= s->now_us)
		s->waiting[s->n_waiting++] = s->arrivals[s->n_arrived++].job;
	if (rc)
		return rc;
	if (!s->in->replan || s->n_arrived == first)
		rc = s->plan_again ? 0 : start_affected(s, first, err);
	if (!rc && s->in->replan && (s->n_arrived > first || s->plan_again)) {
		s->plan_again = false;
		rc = start_after_replan(s, err);
	}
	return rc;
}

static int run(struct sim *s, struct hes_err *err)
{
	size_t n = s->in->jobs->n;
	int rc = 0;

	while (s->n_ended < n && !rc) {
		const int64_t next_us = s->next_us[first_to_change(s)];
		bool arrives = s->n_arrived < n;

		if (next_us == INT64_MAX && !arrives)
			return hes_fail(err, -EINVAL, "%zu jobs never start", n - s->n_ended);
		s->now_us = s->plan_again ? s->now_us : next_us;
		if (!s->plan_again && arrives && s->arrivals[s->n_arrived].at_us < s->now_us)
			s->now_us = s->arrivals[s->n_arrived].at_us;
		rc = step(s, err);
	}
	return rc;
}

static int by_start(const void *a, const void *b)
{
	const struct hes_segment *x = a, *y = b;

	if (x->start_us != y->start_us)
		return x->start_us < y->start_us ? -1 : 1;
	return (x->gpu > y->gpu) - (x->gpu < y->gpu);
}

/* Totals of the plans' predictions. */
static void sum_predictions(struct sim *s)
{
	struct hes_totals *p = &s->out.predicted;
	double jct = 0;

	for (size_t i = 0; i < s->out.n_jobs; i++) {
		int64_t end = s->out.jobs[i].predicted_end_us;

		jct += (double)(end - s->in->jobs->v[i].arrival_us);
		if (end > p->makespan_us)
			p->makespan_us = end;
	}
	if (s->out.n_jobs)
		p->avg_jct_us = jct / (double)s->out.n_jobs;
	p->busy_energy_mj = (uint64_t)llround(fmax(s->predicted_mj, 0));
	p->fleet_energy_mj = p->busy_energy_mj;
	for (size_t g = 0; g < s->in->fleet->n; g++) {
		double idle_us = (double)p->makespan_us - s->gpus[g].predicted_busy_us;

		if (idle_us > 0)
			p->fleet_energy_mj +=
				(uint64_t)(idle_us * 1e-6 * s->gpus[g].type->idle_power_mw);
	}
}

/* Move the results to the caller; release() finds nothing left of them. */
static void hand_over(struct sim *s, struct hes_replay *out)
{
	*out = s->out;
	s->out = (struct hes_replay){ 0 };
	if (!s->in->carried_out)
		return;
	if (s->plan) {
		strcpy(s->carried_out.policy, s->plan->policy);
		strcpy(s->carried_out.prefer, s->plan->prefer);
		s->carried_out.seed = s->plan->seed;
	}
	s->carried_out.predicted = out->predicted;
	*s->in->carried_out = s->carried_out;
	s->carried_out = (struct hes_plan){ 0 };
}

int hes_sim_run(const struct hes_sim *in, struct hes_replay *out, struct hes_err *err)
{
	struct sim s = { .in = in };
	int rc = prepare(&s, err);

	if (!rc)
		rc = run(&s, err);
	if (!rc) {
		if (s.out.n_segments)
			qsort(s.out.segments, s.out.n_segments, sizeof(*s.out.segments), by_start);
		sum_predictions(&s);
		rc = hes_replay_summarise(&s.out, in->fleet, in->jobs);
		if (rc)
			hes_fail(err, rc, "out of memory for the totals");
	}
	if (!rc)
		hand_over(&s, out);
	release(&s);
	return rc;
}
