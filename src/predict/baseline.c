/*
 * baseline.c - a roofline of share, clock, memory and host; see baseline.h.
 *
 * Knows data sheets, solo profiles and the state of the GPU, as a planner
 * does. Neighbours are a crowd: their sums stand for all of them, and a
 * task that makes them slower makes each busier in the same measure.
 */
#include "predict/baseline.h"

#include <math.h>

#define CROWD_ROUNDS  2      /* task and crowd press on each other this often */
#define LIMIT_ROUNDS  12     /* to find the clock that fits under the power limit */
#define LIMIT_FIT     1e-5   /* of the limit */
#define SHORTEST_US   4000.0 /* iteration of a workload of which nothing else is known */
#define MIN_BUSY      1e-3
#define MIN_SLOWDOWN  1e-3
#define MIN_DYNAMIC   0.01   /* of the power limit */
#define MIN_SERIAL    0.005  /* of the solo iteration */
#define NEAR_LIMIT    0.95   /* of the limit: a board that draws this is held there, ... */
#define NEAR_WIDTH    0.015  /* ... with a soft edge */
#define HARDLY_HELD   1e-6   /* what is less within the edge makes no difference */
#define LEAST_SAVED   0.02   /* of the traffic: by L2, alone */
#define DRAM_BUSY     0.85   /* of the data sheet's bandwidth is what a neighbour's dram_busy counts in */
#define NEGLIGIBLE    0.2    /* ratio at which a smooth maximum is the larger value */

static double clamp(double x, double low, double high)
{
	return fmin(fmax(x, low), high);
}

static double busy_of(const struct hes_profile *task)
{
	return clamp(fmax(task->busy, task->sm_util), MIN_BUSY, 1);
}

double baseline_width(const struct hes_profile *task)
{
	return clamp(task->sm_util / busy_of(task), MIN_BUSY, 1);
}

double baseline_clock_mhz(const struct query *q)
{
	return q->task->clock_mhz ? q->task->clock_mhz : q->gpu->clock_default_mhz;
}

bool baseline_tells(const struct query *q)
{
	const struct hes_load *o = q->beside;

	return o->residents && o->pace > 0 && !o->told_mw && o->power_mw && o->power_mw < NEAR_LIMIT * q->gpu->power_limit_mw;
}

static double soft_max(double a, double b, double sharpness)
{
	double lo = fmin(a, b), hi = fmax(a, b);

	return lo > NEGLIGIBLE * hi ? hi * pow(1 + pow(lo / hi, sharpness), 1 / sharpness) : hi;
}

/* Neighbours as one. */
struct crowd {
	double n;
	double sms;        /* SMs that each may use, mean */
	double busy;       /* part of the time each has a kernel running, mean */
	double sm_busy;    /* SMs that compute for them */
	double dram;       /* bandwidth they draw */
	double sets;       /* their working sets, of the L2 */
	double busy_sum;
	double serving;    /* how many of them synchronise at a time */
};

/* A task beside a crowd; times in us of an iteration. */
struct state {
	const struct constants *k;
	const struct query     *q;
	struct crowd            crowd;
	double solo_us, solo_mhz;
	double compute_part, memory_part; /* of the solo iteration */
	double sms;        /* part of the SMs it computes on */
	double compute_us; /* at the profiled clock, nobody there */
	double memory_us;  /* the crowd there */
	double traffic;    /* against the solo iteration's */
	double launch_us, gap_us;
	double serial_us;  /* synchronisation, the crowd there */
	double copy_us;    /* nobody there */
	double off_gpu;    /* part of the solo iteration */
	double fit;        /* what makes launching and GPU fit into the solo iteration */
};

static struct crowd crowd_of(const struct constants *k, const struct hes_load *o)
{
	double n = fmax(o->residents, 1), share = fmax(o->sm_pct / 100.0, 1e-2);
	double used = clamp(o->sm_util / share, MIN_BUSY, 1);
	bool known = o->pace > 0;
	struct crowd c = {
		.n = o->residents,
		.sms = fmin(share / n, 1),
		.busy_sum = known ? o->busy : n * used,
		.sm_busy = k->shared[SM_SCALE] * (known ? o->sm_busy : o->sm_util),
		.dram = k->shared[DRAM_SCALE] * (known ? o->dram_busy : o->dram_util),
	};
	double l2 = fmin(o->l2_util / n, 0.95);

	if (!o->residents)
		return (struct crowd){ 0 };
	c.busy = clamp(c.busy_sum / n, MIN_BUSY, 0.9999);
	c.sets = k->shared[SET_SCALE] * (known ? o->l2_sets : n * l2 / (1 - l2));
	c.serving = fmax(n - c.busy_sum, 0);
	if (known)
		c.serving = fmin(c.serving, o->serial + k->shared[SYNC_S] * o->iterations_per_s);
	return c;
}

/* SMs and bandwidth that a share gives; both as at the whole GPU where the share is whole. */
static void share_out(struct state *s, double width)
{
	double sharp = s->k->shared[WIDTH_SHARPNESS], narrow = pow(s->q->setting->sm_pct / 100.0, -sharp);
	double saturating = pow(s->k->type[SATURATING], sharp);
	double draw = pow((1 + saturating) / (1 + saturating * narrow), 1 / sharp);
	double queue = fmax(1 + s->k->shared[DRAM_CROWD] * s->crowd.dram, draw + s->crowd.dram);

	s->sms = width * pow(1 + pow(width, sharp) * (narrow - 1), -1 / sharp);
	s->compute_us = s->compute_part * s->solo_us * width / s->sms;
	s->memory_us = s->memory_part * s->solo_us * s->traffic / draw * queue;
}

/* What L2 no longer keeps beside the neighbours' working sets comes from memory. */
static double traffic_beside(const struct state *s, double busy)
{
	double part = clamp(s->q->task->l2_util / busy, 1e-4, 0.98), set = part / (1 - part) + s->crowd.sets;

	const struct hes_profile *t = s->q->task;
	double mb = t->dram_util * s->q->gpu->memory_bandwidth_gbs * t->iteration_us * 1e-3;
	double saved = fmax(1 - s->k->workload[FIXED_MB] / fmax(mb, 1e-6), LEAST_SAVED);

	return fmax(1 + saved * s->k->shared[MISS_GROWTH] * (set / (set + 1) / part - 1), 0.5);
}

/*
 * The solo iteration is the longer of launching and the GPU's work, and a
 * serial rest in which the GPU is idle: synchronisation, once, and copies.
 */
static void split_host(struct state *s, double busy)
{
	const double *k = s->k->shared;
	double paced, serial, sync;

	s->launch_us = s->k->workload[HOST_PART] * (s->q->task->least_us > 0 ? s->q->task->least_us : SHORTEST_US);
	s->gap_us = k[GAP_PART] * s->launch_us;
	paced = soft_max(s->launch_us, busy * s->solo_us + s->gap_us, k[HOST_SHARPNESS]);
	serial = fmax(s->solo_us - paced, MIN_SERIAL * s->solo_us);
	s->fit = fmin(1, (s->solo_us - serial) / paced);
	sync = fmin(s->k->workload[SYNC_US], serial);
	s->off_gpu = serial / s->solo_us;
	s->serial_us = sync * (1 + k[SYNC_CROWD] * s->crowd.serving);
	s->copy_us = serial - sync;
}

static struct state state_of(const struct constants *k, const struct query *q)
{
	double busy = busy_of(q->task);
	struct state s = { .k = k, .q = q, .crowd = crowd_of(k, q->beside) };

	s.solo_us = q->task->iteration_us;
	s.solo_mhz = baseline_clock_mhz(q);
	s.memory_part = fmin(q->task->dram_util / k->type[REACH], 0.98 * busy);
	s.compute_part = busy - s.memory_part;
	s.traffic = traffic_beside(&s, busy);
	share_out(&s, baseline_width(q->task));
	split_host(&s, busy);
	return s;
}

/* An iteration at a clock. */
struct iteration {
	double us;
	double gpu_us;     /* with a kernel running */
	double compute_us;
	double crowd_sms;  /* SMs that neighbours compute on meanwhile */
};

/* How much longer a neighbour computes where @others compute besides on a part of the SMs. */
static double squeeze(const struct state *s, double sms, double others, double crowd)
{
	return fmax(1, sms + others) * (1 + crowd * s->k->shared[L2_CROWD] * fmin(1, others));
}

/* The crowd's busy part when computing takes @longer: more work, the same pauses. */
static double busier(double busy, double longer)
{
	return longer * busy / (1 - busy + longer * busy);
}

static struct iteration iteration_at(const struct state *s, double mhz)
{
	const struct crowd *c = &s->crowd;
	double asked = s->q->setting->clock_mhz, rest = c->n > 1 ? c->sm_busy * (c->n - 1) / c->n : 0;
	struct iteration it = { .crowd_sms = c->sm_busy };
	double busy_sum = c->busy_sum;

	for (int round = 0; ; round++) {
		double gpu, longer, copy_us = s->copy_us * (1 + s->k->shared[COPY_CROWD] * busy_sum);

		it.compute_us = s->compute_us * s->solo_mhz / mhz * squeeze(s, s->sms, it.crowd_sms, 1);
		gpu = it.compute_us + s->memory_us + s->gap_us;
		it.us = soft_max(s->launch_us, gpu, s->k->shared[HOST_SHARPNESS]) * s->fit + s->serial_us + copy_us;
		it.gpu_us = gpu * s->fit;
		it.compute_us *= s->fit;
		if (round == CROWD_ROUNDS || c->n == 0)
			return it;
		longer = squeeze(s, c->sms, it.compute_us / it.us * s->sms + rest, 1) * asked / mhz;
		busy_sum = c->n * busier(c->busy, longer);
		it.crowd_sms = c->sm_busy * busy_sum / c->busy_sum;
		rest = it.crowd_sms * (c->n - 1) / c->n;
	}
}

/* Voltage at a part of the full clock, of that there: flat to a knee, then rising. */
static double voltage(const double *type, double clock)
{
	double above = (clock - type[KNEE]) / (1 - type[KNEE]);

	return type[VOLTAGE_FLOOR] + (above > 0 ? (1 - type[VOLTAGE_FLOOR]) * pow(above, type[BEND]) : 0);
}

/* Where the board's watts go. */
struct watts {
	double limit, idle;
	double context;        /* at the full clock */
	double dram;           /* at the data sheet's bandwidth */
	double own;            /* switching of all SMs by the task, at the full clock */
	double asked;          /* clock x voltage^2 at the clock asked for */
	double others;         /* dynamic power of the neighbours, the task not there, at that clock */
	double others_dram;    /* ... part of it that the memory draws */
	double others_longer;  /* neighbours' computing beside each other */
	double told;           /* all of the board's before the task came, by the neighbours' profiles; 0: unknown */
};

static double switching(const struct state *s, double mhz)
{
	double clock = mhz / s->q->gpu->clock_max_mhz, volt = voltage(s->k->type, clock);

	return clock * volt * volt;
}

/* The neighbours' dynamic power by their profiles: V^2 of their solo clocks brought to the one asked for. */
static double others_told(const struct state *s, const struct watts *w)
{
	const struct hes_load *o = s->q->beside;
	double asked = s->q->setting->clock_mhz, solo = o->solo_clock_mhz > 0 ? o->solo_clock_mhz : asked;
	double at_solo = switching(s, solo), dram = w->dram * DRAM_BUSY * o->dram_busy;
	double slow = w->others_longer / busier(s->crowd.busy, w->others_longer) * s->crowd.busy;
	double moving = o->solo_power_mw * 1e-3 - w->context * at_solo * o->pace - dram;

	slow += s->k->shared[COPY_CROWD] * o->serial / s->crowd.n * s->crowd.busy_sum * (s->crowd.n - 1) / s->crowd.n; /* copies */
	slow *= 1 + s->k->shared[NEIGHBOUR_DRAM] * s->crowd.dram * (s->crowd.n - 1) / s->crowd.n;
	return (s->k->type[POWER_SCALE] * fmax(moving, 0) * w->asked / asked * solo / at_solo + dram) / fmax(slow, 0.5);
}

/*
 * What was read of the board, and what the neighbours' profiles tell: weighed, as
 * both are off, but a board held at its limit tells nothing of what they want.
 */
static void find_others(const struct state *s, struct watts *w)
{
	double before = s->q->beside->power_mw * 1e-3, room = w->limit - w->idle - w->context * w->asked;
	double rest = s->crowd.sm_busy * (s->crowd.n - 1) / fmax(s->crowd.n, 1), held, told = 0, trust = 0;
	uint32_t told_mw = s->q->beside->told_mw;

	w->others_longer = 1;
	if (s->crowd.n == 0)
		return;
	w->others_longer = squeeze(s, s->crowd.sms, rest, 1);
	w->others = fmax(before - w->idle - w->context * w->asked, 0);
	w->others_dram = w->dram * s->q->beside->dram_util;
	held = 1 / (1 + exp(clamp((NEAR_LIMIT - before / w->limit) / NEAR_WIDTH, -50, 50)));
	if (s->q->beside->pace > 0 && (!told_mw || held > HARDLY_HELD)) {
		told = others_told(s, w);
		w->told = w->idle + w->context * w->asked + told;
		w->others += held * fmax(s->k->shared[HELD_SCALE] * told - w->others, 0);
		trust = s->k->shared[s->crowd.n > 1 ? CROWD_TRUST : POWER_TRUST];
	}
	if (told_mw) {
		told = told_mw * 1e-3 - w->idle - w->context * w->asked;
		trust = s->k->shared[s->crowd.n > 1 ? CHAIN_TRUST : NAMED_TRUST];
	}
	if (trust > 0)
		w->others += (1 - held) * trust * (clamp(told, 0, fmax(room, 0)) - w->others);
	w->others_dram = clamp(w->others_dram / fmax(w->others, 1e-3), 0, 0.8) * w->others;
}

static struct watts watts_of(const struct state *s)
{
	const struct hes_gpu_type *g = s->q->gpu;
	const double *type = s->k->type;
	const struct hes_profile *t = s->q->task;
	double limit = g->power_limit_mw * 1e-3, width = baseline_width(t), waiting = s->memory_part * width;
	double computing = fmax(t->sm_util - waiting, 1e-4), solo = switching(s, s->solo_mhz), dynamic;
	struct watts w = {
		.limit = limit,
		.idle = g->idle_power_mw * 1e-3,
		.context = type[CONTEXT] * limit,
		.dram = type[DRAM_POWER] * limit,
		.asked = switching(s, s->q->setting->clock_mhz),
	};

	dynamic = t->power_mw * 1e-3 - w.idle - w.context * solo - w.dram * t->dram_util;
	w.own = fmax(dynamic, MIN_DYNAMIC * limit) / solo / (computing + type[STALL] * waiting);
	find_others(s, &w);
	return w;
}

/* What the board does at a clock. */
struct moment {
	struct iteration it;
	double power_w;
	double limiter_w;  /* what the limiter acts on: the power while the board is busy, the more so the longer that is */
};

static struct moment moment_at(const struct state *s, const struct watts *w, double mhz)
{
	const struct crowd *c = &s->crowd;
	const struct hes_profile *t = s->q->task;
	struct moment m = { .it = iteration_at(s, mhz) };
	double g = switching(s, mhz), asked = s->q->setting->clock_mhz, us = m.it.us, pause, window, moving;
	double computing = fmax(t->sm_util - s->memory_part * baseline_width(t), 1e-4) * s->solo_mhz / mhz;

	moving = w->own * g * (computing * s->solo_us + s->k->type[STALL] * s->memory_us * s->sms) / us +
		 w->dram * t->dram_util * s->traffic * s->solo_us / us;
	pause = clamp(1 - m.it.gpu_us / us, 0, 1);
	if (c->n > 0) {
		double rest = c->sm_busy * (c->n - 1) / c->n;
		double longer = fmax(1, c->sms + m.it.compute_us / us * s->sms + rest) / fmax(1, c->sms + rest) *
			(1 + s->k->shared[NEIGHBOUR_CROWD] * s->k->shared[L2_CROWD] * m.it.compute_us / us * s->sms) *
			asked / mhz;
		double slow = longer * c->busy / busier(c->busy, longer) *
			(1 + s->k->shared[NEIGHBOUR_DRAM] * t->dram_util * c->dram);

		moving += ((w->others - w->others_dram) * g / w->asked * asked / mhz + w->others_dram) / fmax(slow, 0.5);
		for (int i = 0; i < (int)c->n; i++)
			pause *= 1 - fmin(c->busy, 0.98);
	}
	window = us / (us + s->k->type[LIMITER_S] * 1e6);
	m.power_w = w->idle + w->context * g + moving;
	m.limiter_w = m.power_w + moving * window * (1 / (1 - pause + 1e-6) - 1);
	return m;
}

/* The highest clock up to @high whose power is within the limit, by false position (Illinois). */
static struct moment fit_clock(const struct state *s, const struct watts *w, struct moment top, double high,
			       double *mhz)
{
	double low = s->q->gpu->clock_min_mhz, over = top.limiter_w - w->limit, under, mid;
	struct moment m = moment_at(s, w, low);
	int side = 0;

	*mhz = low;
	under = m.limiter_w - w->limit;
	if (under >= 0 || low >= high)
		return m;
	mid = clamp(0.95 * high * cbrt(w->limit / top.limiter_w), low, high);
	for (int round = 0; round < LIMIT_ROUNDS; round++) {
		double at;

		m = moment_at(s, w, mid);
		*mhz = mid;
		at = m.limiter_w - w->limit;
		if (fabs(at) < LIMIT_FIT * w->limit)
			break;
		if (at > 0) {
			high = mid;
			over = at;
			under *= side > 0 ? 0.5 : 1;
			side = 1;
		} else {
			low = mid;
			under = at;
			over *= side < 0 ? 0.5 : 1;
			side = -1;
		}
		mid = (low * over - high * under) / (over - under);
	}
	return m;
}

struct baseline baseline_of(const struct constants *k, const struct query *q)
{
	double asked = q->setting->clock_mhz, mhz = asked;
	struct state s = state_of(k, q);
	struct watts w = watts_of(&s);
	struct moment m = moment_at(&s, &w, asked);
	struct baseline b = { .demand_w = fmax(m.power_w, 1e-3), .others_w = w.others, .told_w = fmax(w.told, 1e-3), .off_gpu = s.off_gpu };

	if (m.limiter_w > w.limit)
		m = fit_clock(&s, &w, m, asked, &mhz);
	b.slowdown = fmax(m.it.us / s.solo_us, MIN_SLOWDOWN);
	b.power_w = fmax(m.power_w, 1e-3);
	b.clock = mhz / asked;
	b.crowded_sm = m.it.crowd_sms;
	return b;
}

static const struct hes_load nobody;

void baseline_join(const struct constants *k, const struct query *q, struct hes_load *load)
{
	const struct hes_profile *t = q->task;
	struct query alone = *q;
	struct state s;
	struct iteration it;
	double share = q->setting->sm_pct / 100.0, part = t->sm_util > share ? share / t->sm_util : 1, l2, memory_us;

	alone.beside = &nobody;
	s = state_of(k, &alone);
	it = iteration_at(&s, q->setting->clock_mhz);
	memory_us = s.memory_us * s.fit;
	l2 = clamp(t->l2_util / busy_of(t), 1e-4, 0.98);
	load->sm_util += t->sm_util * part;
	load->dram_util += t->dram_util * part;
	load->l2_util += t->l2_util * part;
	load->residents++;
	load->sm_pct += q->setting->sm_pct;
	load->busy += it.gpu_us / it.us;
	load->sm_busy += it.compute_us / it.us * s.sms;
	load->dram_busy += memory_us / it.us * s.memory_part * s.solo_us / s.memory_us;
	load->l2_sets += it.gpu_us / it.us * l2 / (1 - l2);
	load->serial += (s.serial_us + s.copy_us) / it.us;
	load->iterations_per_s += 1e6 / it.us;
	{
		double width = baseline_width(t), waiting = s.memory_part * width, computing = fmax(t->sm_util - waiting, 1e-4);
		double joules = (computing * s.solo_us + k->type[STALL] * s.memory_us * s.sms * q->setting->clock_mhz / s.solo_mhz) / (computing + k->type[STALL] * waiting) / s.solo_us;
		double dynamic_mw = fmax((double)t->power_mw - q->gpu->idle_power_mw, 1), before = load->solo_power_mw;
		double power_mw = dynamic_mw * joules * s.solo_us / it.us;

		load->pace += joules * s.solo_us / it.us;
		load->solo_power_mw += power_mw;
		load->solo_clock_mhz = (load->solo_clock_mhz * before + s.solo_mhz * power_mw) / (before + power_mw);
	}
}
