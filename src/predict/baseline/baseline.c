/*
 * baseline.c - time as a roofline of share, clock, memory and host; see baseline.h.
 * baseline_power.c has the power.
 *
 * It knows what a planner knows: data sheets, solo profiles, the state of the GPU. Co-runners are
 * represented by their sums (struct crowd), and a task that slows them down makes each of them
 * busier by the same factor. What does not depend on co-runners is computed first, because planners
 * reuse it.
 */
#include "predict/baseline/baseline_parts.h"

#define CROWD_ROUNDS  2      /* rounds in which task and co-runners slow each other down */
#define SHORTEST_US   4000.0 /* iteration of a workload without a profile */
#define MIN_BUSY      1e-3
#define MIN_SERIAL    0.005 /* of the solo iteration */
#define MIN_COMPUTING 1e-3
#define MOST_MISSES   20.0 /* growth of co-runners' traffic */
#define LIKELY_SAVED  0.7  /* of the traffic, when co-runners' profiles do not say it */
#define LEAST_SAVED   0.02 /* of the traffic: by L2, alone */
#define MOST_OF_L2    0.98 /* a larger working set may have any size */

static double busy_of(const struct hes_profile *task)
{
	return clamp(greater(task->busy, task->sm_util), MIN_BUSY, 1);
}

double baseline_width(const struct hes_profile *task)
{
	return clamp(task->sm_util / busy_of(task), MIN_BUSY, 1);
}

static double clock_of(const struct hes_gpu_type *g, const struct hes_profile *task)
{
	return task->clock_mhz ? task->clock_mhz : g->clock_default_mhz;
}

double baseline_clock_mhz(const struct query *q)
{
	return clock_of(q->gpu, q->task);
}

/* A mean co-runner's time. Needs sms and busy_sum. */
static void split_crowd(const struct constants *k, const struct hes_load *o, struct crowd *c)
{
	double sharp = k->shared[HOST_SHARPNESS],
	       compute = c->busy_sum; /* the memory part is unknown */
	bool known = o->pace > 0, by_name = o->computing > 0;

	c->busy = clamp(c->busy_sum / c->n, MIN_BUSY, 0.9999);
	if (by_name)
		compute = o->computing;
	c->computing = clamp(compute / c->n, MIN_COMPUTING, c->busy);
	c->serial = known ? clamp(o->serial / c->n, 0, 1 - c->busy) : 0;
	c->sync = lesser(c->serial,
			 (by_name ? o->syncing : k->shared[SYNC_S] * o->iterations_per_s) / c->n);
	c->launch = pow(greater(pow(1 - c->serial, sharp) - pow(c->busy, sharp), 0), 1 / sharp);
	c->serving = greater(c->n - c->busy_sum, 0);
	if (known)
		c->serving =
			lesser(c->serving, o->serial + k->shared[SYNC_S] * o->iterations_per_s);
}

static struct crowd crowd_of(const struct constants *k, const struct hes_load *o)
{
	double n = greater(o->jobs, 1), share = greater(o->sm_pct / 100.0, 1e-2);
	double used = clamp(o->sm_util / share, MIN_BUSY, 1);
	bool known = o->pace > 0;
	struct crowd c = {
		.n = o->jobs,
		.sms = lesser(share / n, 1),
		.busy_sum = known ? o->busy : n * used,
		.sm_busy = k->shared[SM_SCALE] * (known ? o->sm_busy : o->sm_util),
		.dram = k->shared[DRAM_SCALE] * (known ? o->dram_busy : o->dram_util),
	};
	double l2 = lesser(o->l2_util / n, 0.95);

	c.wide = o->wide > 0 ? k->shared[SM_SCALE] * o->wide : c.sm_busy;
	if (o->wide > 0) {
		c.sms = lesser(c.wide / greater(c.busy_sum, MIN_BUSY), 1);
		c.kernel_us = o->kernel_us / o->wide;
	} else if (known && o->iterations_per_s > 0) {
		c.kernel_us = 1e6 * c.busy_sum / o->iterations_per_s / k->shared[KERNELS];
	}
	c.sets = k->shared[SET_SCALE] * (known ? o->l2_sets : n * l2 / (1 - l2));
	split_crowd(k, o, &c);
	return c;
}

/* SMs and bandwidth that a share gives; a share of 100 % gives what the whole GPU has. */
static void share_out(const struct base_task *t, struct base_setting *b)
{
	double sharp = t->k.shared[WIDTH_SHARPNESS], narrow = pow(b->share, -sharp);

	b->draw = pow((1 + t->saturating) / (1 + t->saturating * narrow), 1 / sharp);
	b->sms = t->width * pow(1 + t->bending * (narrow - 1), -1 / sharp);
	b->compute_us = t->compute_part * t->solo_us * t->width / b->sms;
}

/* Growth of the traffic that L2 can save when @more of other working sets joins @set, both in L2
 * capacities. */
static double more_misses(const struct base_task *t, double set, double more, double saved)
{
	return 1 + saved * t->k.shared[MISS_GROWTH] *
			   ((set + more) / (set + more + 1) * (set + 1) / set - 1);
}

/* What does not fit in L2, of all working sets together, comes from memory. */
static void share_cache(struct state *s)
{
	const struct base_task *t = s->t;
	const struct hes_load *o = s->co_runners;
	struct crowd *c = &s->crowd;
	double theirs, saved = LIKELY_SAVED;

	s->traffic = greater(more_misses(t, t->set, c->sets, t->saved), 0.5);
	if (c->n < 1)
		return;
	theirs = greater(c->sets / c->n * (1 / c->busy + c->n - 1), 1e-4);
	if (o->dram_busy > 0 && o->saved > 0)
		saved = lesser(o->saved / o->dram_busy, 1);
	c->misses = lesser(more_misses(t, theirs, t->busy * t->set, saved), MOST_MISSES);
	c->dram *= c->misses;
}

/*
 * The solo iteration is the longer of launching and the GPU's work, plus a serial part in which the
 * GPU is idle: one synchronisation, and copies.
 */
static void split_host(struct base_task *t)
{
	const double *k = t->k.shared;
	double paced, serial;

	t->launch_us = t->k.workload[HOST_PART] *
		       (t->task->least_us > 0 ? t->task->least_us : SHORTEST_US);
	t->gap_us = k[GAP_PART] * t->launch_us;
	t->kernels = t->launch_us / t->k.workload[ISSUE_US];
	paced = smooth_max(t->k.host, k[HOST_SHARPNESS], t->launch_us,
			   t->busy * t->solo_us + t->gap_us);
	serial = greater(t->solo_us - paced, MIN_SERIAL * t->solo_us);
	t->fit = lesser(1, (t->solo_us - serial) / paced);
	t->sync_us = lesser(t->k.workload[SYNC_US], serial);
	t->off_gpu = serial / t->solo_us;
	t->copy_us = serial - t->sync_us;
}

static double working_set(const struct base_task *t)
{
	double part = clamp(t->task->l2_util / t->busy, 1e-4, MOST_OF_L2);

	return part / (1 - part);
}

struct base_task baseline_task(const struct constants *k, const struct hes_gpu_type *g,
			       const struct hes_profile *task)
{
	double sharp = k->shared[WIDTH_SHARPNESS],
	       mb = task->dram_util * g->memory_bandwidth_gbs * task->iteration_us * 1e-3;
	struct base_task t = {
		.k = *k,
		.gpu = g,
		.task = task,
		.busy = busy_of(task),
		.width = baseline_width(task),
		.solo_us = task->iteration_us,
		.solo_mhz = clock_of(g, task),
		.saturating = pow(k->type[SATURATING], sharp),
		.saved = greater(1 - k->workload[FIXED_MB] / greater(mb, 1e-6), LEAST_SAVED),
	};

	t.bending = pow(t.width, sharp);
	t.memory_part = lesser(task->dram_util / k->type[REACH], 0.98 * t.busy);
	t.compute_part = t.busy - t.memory_part;
	t.computing = greater(task->sm_util - t.memory_part * t.width, 1e-4);
	t.set = working_set(&t);
	split_host(&t);
	t.own = baseline_own(&t);
	return t;
}

struct base_setting baseline_setting(const struct base_task *t, const struct hes_setting *s)
{
	struct base_setting b = {
		.clock_mhz = s->clock_mhz,
		.share = s->sm_pct / 100.0,
		.switching = baseline_switching(t, s->clock_mhz),
	};

	share_out(t, &b);
	return b;
}

struct state baseline_state(const struct base_task *t, const struct base_setting *b,
			    const struct hes_load *co_runners)
{
	struct state s = { .t = t, .b = b, .co_runners = co_runners };
	double queue;

	if (co_runners->jobs)
		s.crowd = crowd_of(&t->k, co_runners);
	share_cache(&s);
	queue = greater(1 + t->k.type[DRAM_CROWD] * s.crowd.dram, b->draw + s.crowd.dram);
	s.memory_us = t->memory_part * t->solo_us * s.traffic / b->draw * queue;
	s.serial_us = t->sync_us * (1 + t->k.shared[SYNC_CROWD] * s.crowd.serving);
	return s;
}

double crowd_wait_with(const struct state *s, double wide, double task_wide, double task_kernel_us)
{
	const struct crowd *c = &s->crowd;
	double all = wide + task_wide, kernels = 1;

	if (c->kernel_us > 0 && all > 0)
		kernels = (wide + task_wide * task_kernel_us / c->kernel_us) / all;
	return crowd_wait(s, c->sms, all, kernels);
}

struct iteration baseline_iteration(const struct state *s, double mhz)
{
	const struct base_task *t = s->t;
	const struct crowd *c = &s->crowd;
	const double *k = t->k.shared;
	double slowed = s->b->clock_mhz / mhz, others = c->n > 1 ? (c->n - 1) / c->n : 0,
	       rest = c->sm_busy * others, wide = c->wide;
	struct iteration it = { .crowd_sms = c->sm_busy };
	double busy_sum = c->busy_sum, compute_us = s->b->compute_us * t->solo_mhz / mhz;

	for (int round = 0;; round++) {
		double gpu, gpu_of_each, longer, rate, wait;
		double copy_us = t->copy_us * (1 + k[COPY_CROWD] * busy_sum);

		it.compute_us = compute_us * crowd_longer(s, it.crowd_sms, 1);
		gpu = it.compute_us + s->memory_us + t->gap_us;
		it.kernel_us = gpu / t->kernels;
		gpu *= 1 + crowd_wait(s, s->b->sms, wide,
				      c->kernel_us > 0 ? c->kernel_us / it.kernel_us : 1);
		it.us = smooth_max(t->k.host, k[HOST_SHARPNESS], t->launch_us, gpu) * t->fit +
			s->serial_us + copy_us;
		it.gpu_us = gpu * t->fit;
		it.compute_us *= t->fit;
		if (round == CROWD_ROUNDS || c->n < 1)
			return it;
		longer = crowd_longer(s, it.compute_us / it.us * s->b->sms + rest, 1) * slowed;
		wait = crowd_wait_with(s, wide * others, it.gpu_us / it.us * s->b->sms,
				       it.kernel_us);
		gpu_of_each =
			(c->computing * longer + (c->busy - c->computing) * c->misses) * (1 + wait);
		rate = 1 / (crowd_paced(s, longer, c->misses, wait) + c->serial);
		busy_sum = c->n * gpu_of_each * rate;
		wide = busy_sum * c->sms;
		it.crowd_sms = c->sm_busy * longer * rate;
		rest = it.crowd_sms * others;
	}
}

struct baseline baseline_with(const struct base_task *t, const struct base_setting *b,
			      const struct hes_load *co_runners)
{
	const struct state s = baseline_state(t, b, co_runners);

	return baseline_powered(&s);
}

struct baseline baseline_of(const struct constants *k, const struct query *q)
{
	const struct base_task t = baseline_task(k, q->gpu, q->task);
	const struct base_setting b = baseline_setting(&t, q->setting);

	return baseline_with(&t, &b, q->co_runners);
}

/* Dynamic energy of an iteration alone, as part of the solo one's, without the voltage. */
static double joules_alone(const struct state *s)
{
	const struct base_task *t = s->t;
	double waiting = t->memory_part * t->width, stall = t->k.type[STALL];
	double waits = s->memory_us / t->solo_us * s->b->sms * s->b->clock_mhz / t->solo_mhz;

	return (t->computing + stall * waits) / (t->computing + stall * waiting);
}

static void join_power(const struct state *s, const struct iteration *it, struct hes_load *load)
{
	const struct base_task *t = s->t;
	double pace = joules_alone(s) * t->solo_us / it->us, before = load->solo_power_mw;
	double power_mw = pace * greater((double)t->task->power_mw - t->gpu->idle_power_mw, 1);

	load->pace += pace;
	load->solo_power_mw += power_mw;
	load->solo_clock_mhz =
		(load->solo_clock_mhz * before + t->solo_mhz * power_mw) / (before + power_mw);
}

void baseline_join(const struct base_task *t, const struct base_setting *b,
		   const struct hes_setting *setting, struct hes_load *load)
{
	static const struct hes_load nobody;
	const struct hes_profile *p = t->task;
	const struct state s = baseline_state(t, b, &nobody);
	const struct iteration it = baseline_iteration(&s, b->clock_mhz);
	double held = p->sm_util > b->share ? b->share / p->sm_util : 1;
	double draws = t->memory_part * t->solo_us * t->fit / it.us;

	load->sm_util += p->sm_util * held;
	load->dram_util += p->dram_util * held;
	load->l2_util += p->l2_util * held;
	load->jobs++;
	load->sm_pct += setting->sm_pct;
	load->busy += it.gpu_us / it.us;
	load->computing += it.compute_us / it.us;
	load->sm_busy += it.compute_us / it.us * b->sms;
	load->wide += it.gpu_us / it.us * b->sms;
	load->kernel_us += it.gpu_us / it.us * b->sms * it.kernel_us;
	load->dram_busy += draws;
	load->saved += draws * t->saved;
	load->l2_sets += it.gpu_us / it.us * t->set;
	load->serial += (s.serial_us + t->copy_us) / it.us;
	load->syncing += s.serial_us / it.us;
	load->iterations_per_s += 1e6 / it.us;
	join_power(&s, &it, load);
}
