/*
 * baseline.c - a roofline of share, clock, memory and host; see baseline.h.
 *
 * Knows data sheets, solo profiles and the state of the GPU, as a planner
 * does. Neighbours are a crowd: their sums stand for all of them, and a
 * task that makes them slower makes each busier in the same measure.
 */
#include "predict/baseline.h"

#include <math.h>
#include <string.h>

#define CROWD_ROUNDS  2      /* task and crowd press on each other this often */
#define LIMIT_ROUNDS  12     /* to find the clock that fits under the power limit */
#define LIMIT_FIT     1e-5   /* of the limit */
#define SHORTEST_US   4000.0 /* iteration of a workload of which nothing else is known */
#define MIN_BUSY      1e-3
#define MIN_SLOWDOWN  1e-3
#define MIN_DYNAMIC   0.01   /* of the power limit */
#define MIN_SERIAL    0.005  /* of the solo iteration */
#define MIN_COMPUTING 1e-3
#define MOST_MISSES   20.0   /* growth of neighbours' traffic */
#define LIKELY_SAVED  0.7    /* of the traffic of neighbours of whom it is not known */
#define NEAR_LIMIT    0.95   /* of the limit: a board that draws this is held there, ... */
#define NEAR_WIDTH    0.015  /* ... with a soft edge */
#define HARDLY_HELD   1e-6   /* what is less within the edge makes no difference */
#define LEAST_SAVED   0.02   /* of the traffic: by L2, alone */
#define MOST_OF_L2    0.98   /* what touches more may be of any size */
#define DRAM_BUSY     0.85   /* of the data sheet's bandwidth is what a neighbour's dram_busy counts in */
#define RISE_STEP     1e-4   /* of the clock, for what it changes */
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

/* Neighbours as one. Parts of time are of an iteration of each by itself, mean. */
struct crowd {
	double n;
	double sms;        /* SMs that each may use, mean */
	double busy;       /* part of the time with a kernel running */
	double computing;  /* ... that SMs compute; the rest of busy waits for memory */
	double serial;     /* ... that it copies or synchronises */
	double sync;       /* ... that it synchronises */
	double launch;     /* ... that launching would take if nothing hid it */
	double sm_busy;    /* SMs that compute for them */
	double dram;       /* bandwidth they draw beside the task */
	double misses;     /* their traffic beside the task, of that without it */
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
	double saved;      /* part of the traffic that L2 can save */
	double fit;        /* what makes launching and GPU fit into the solo iteration */
};

/* A mean neighbour's time. Needs sms and busy_sum. */
static void split_crowd(const struct constants *k, const struct hes_load *o, struct crowd *c)
{
	double sharp = k->shared[HOST_SHARPNESS], compute = c->busy_sum; /* where memory's part is not known */
	bool known = o->pace > 0, by_name = o->computing > 0;

	c->busy = clamp(c->busy_sum / c->n, MIN_BUSY, 0.9999);
	if (by_name)
		compute = o->computing;
	c->computing = clamp(compute / c->n, MIN_COMPUTING, c->busy);
	c->serial = known ? clamp(o->serial / c->n, 0, 1 - c->busy) : 0;
	c->sync = fmin(c->serial, (by_name ? o->syncing : k->shared[SYNC_S] * o->iterations_per_s) / c->n);
	c->launch = pow(fmax(pow(1 - c->serial, sharp) - pow(c->busy, sharp), 0), 1 / sharp);
	c->serving = fmax(c->n - c->busy_sum, 0);
	if (known)
		c->serving = fmin(c->serving, o->serial + k->shared[SYNC_S] * o->iterations_per_s);
}

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
	c.sets = k->shared[SET_SCALE] * (known ? o->l2_sets : n * l2 / (1 - l2));
	split_crowd(k, o, &c);
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

/* What a working set's traffic that L2 can save grows to when @more of other sets joins @set, both in L2 capacities. */
static double more_misses(const struct state *s, double set, double more, double saved)
{
	return 1 + saved * s->k->shared[MISS_GROWTH] * ((set + more) / (set + more + 1) * (set + 1) / set - 1);
}

/* What L2 no longer keeps, the task's and its neighbours' sets together, comes from memory. */
static void share_cache(struct state *s, double busy)
{
	const struct hes_profile *t = s->q->task;
	const struct hes_load *o = s->q->beside;
	struct crowd *c = &s->crowd;
	double part = clamp(t->l2_util / busy, 1e-4, MOST_OF_L2), set = part / (1 - part);
	double mb = t->dram_util * s->q->gpu->memory_bandwidth_gbs * t->iteration_us * 1e-3;
	double theirs, saved = LIKELY_SAVED;

	s->saved = fmax(1 - s->k->workload[FIXED_MB] / fmax(mb, 1e-6), LEAST_SAVED);
	s->traffic = fmax(more_misses(s, set, c->sets, s->saved), 0.5);
	if (c->n == 0)
		return;
	theirs = fmax(c->sets / c->n * (1 / c->busy + c->n - 1), 1e-4);
	if (o->dram_busy > 0 && o->saved > 0)
		saved = fmin(o->saved / o->dram_busy, 1);
	c->misses = fmin(more_misses(s, theirs, busy * set, saved), MOST_MISSES);
	c->dram *= c->misses;
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
	share_cache(&s, busy);
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

/* An iteration of a mean neighbour without what it does off the GPU, when computing takes @longer and memory @queue. */
static double crowd_paced(const struct state *s, double longer, double queue)
{
	const struct crowd *c = &s->crowd;

	return soft_max(c->launch, c->computing * longer + (c->busy - c->computing) * queue, s->k->shared[HOST_SHARPNESS]);
}

/* ... with it, where so many others are @busy and serve. */
static double crowd_serial(const struct state *s, double busy, double serving)
{
	const struct crowd *c = &s->crowd;

	return (c->serial - c->sync) * (1 + s->k->shared[COPY_CROWD] * busy) + c->sync * (1 + s->k->shared[SYNC_CROWD] * serving);
}

static struct iteration iteration_at(const struct state *s, double mhz)
{
	const struct crowd *c = &s->crowd;
	double asked = s->q->setting->clock_mhz, rest = c->n > 1 ? c->sm_busy * (c->n - 1) / c->n : 0;
	struct iteration it = { .crowd_sms = c->sm_busy };
	double busy_sum = c->busy_sum;

	for (int round = 0; ; round++) {
		double gpu, longer, slow, copy_us = s->copy_us * (1 + s->k->shared[COPY_CROWD] * busy_sum);

		it.compute_us = s->compute_us * s->solo_mhz / mhz * squeeze(s, s->sms, it.crowd_sms, 1);
		gpu = it.compute_us + s->memory_us + s->gap_us;
		it.us = soft_max(s->launch_us, gpu, s->k->shared[HOST_SHARPNESS]) * s->fit + s->serial_us + copy_us;
		it.gpu_us = gpu * s->fit;
		it.compute_us *= s->fit;
		if (round == CROWD_ROUNDS || c->n == 0)
			return it;
		longer = squeeze(s, c->sms, it.compute_us / it.us * s->sms + rest, 1) * asked / mhz;
		slow = crowd_paced(s, longer, c->misses) + c->serial;
		busy_sum = c->n * (c->computing * longer + (c->busy - c->computing) * c->misses) / slow;
		it.crowd_sms = c->sm_busy * longer / slow;
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
	double slow = 1 - s->crowd.busy + w->others_longer * s->crowd.busy;
	double moving = o->solo_power_mw * 1e-3 - w->context * at_solo * o->pace - dram;

	slow += s->k->shared[COPY_CROWD] * o->serial / s->crowd.n * s->crowd.busy_sum * (s->crowd.n - 1) / s->crowd.n; /* copies */
	slow *= 1 + s->k->shared[DRAM_CROWD] * s->k->shared[NEIGHBOUR_DRAM] * s->crowd.dram * (s->crowd.n - 1) / s->crowd.n;
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
	w->others_dram = w->dram * s->k->type[REACH] * (s->q->beside->pace > 0 ? s->q->beside->dram_busy : s->q->beside->dram_util);
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

/* How much longer an iteration of a mean neighbour takes with the task there than without it. */
static double crowd_slowdown(const struct state *s, const struct iteration *it, double mhz)
{
	const struct crowd *c = &s->crowd;
	double task = it->compute_us / it->us * s->sms, draws = s->memory_part * s->solo_us * s->traffic / it->us;
	double others = (c->n - 1) / c->n, rest = c->sm_busy * others, crowd = s->k->shared[NEIGHBOUR_CROWD];
	double queue = c->misses * (1 + s->k->shared[DRAM_CROWD] * s->k->shared[NEIGHBOUR_DRAM] * draws);
	double with = crowd_paced(s, squeeze(s, c->sms, rest + task, crowd) * s->q->setting->clock_mhz / mhz, queue) +
		crowd_serial(s, c->busy_sum * others + it->gpu_us / it->us, c->serving * others + s->off_gpu);
	double without = crowd_paced(s, squeeze(s, c->sms, rest, crowd), 1) +
		crowd_serial(s, c->busy_sum * others, c->serving * others);

	return fmax(with / without, 0.5);
}

static struct moment moment_of(const struct state *s, const struct watts *w, struct iteration it, double mhz)
{
	const struct crowd *c = &s->crowd;
	const struct hes_profile *t = s->q->task;
	struct moment m = { .it = it };
	double g = switching(s, mhz), asked = s->q->setting->clock_mhz, us = m.it.us, pause, window, moving;
	double computing = fmax(t->sm_util - s->memory_part * baseline_width(t), 1e-4) * s->solo_mhz / mhz;

	moving = w->own * g * (computing * s->solo_us + s->k->type[STALL] * s->memory_us * s->sms) / us +
		 w->dram * t->dram_util * s->traffic * s->solo_us / us;
	pause = clamp(1 - m.it.gpu_us / us, 0, 1);
	if (c->n > 0) {
		double slow = crowd_slowdown(s, &m.it, mhz);

		moving += ((w->others - w->others_dram) * g / w->asked * asked / mhz + w->others_dram * c->misses) / slow;
		for (int i = 0; i < (int)c->n; i++)
			pause *= 1 - fmin(c->busy, 0.98);
	}
	window = us / (us + s->k->type[LIMITER_S] * 1e6);
	m.power_w = w->idle + w->context * g + moving;
	m.limiter_w = m.power_w + moving * window * (1 / (1 - pause + 1e-6) - 1);
	return m;
}

static struct moment moment_at(const struct state *s, const struct watts *w, double mhz)
{
	return moment_of(s, w, iteration_at(s, mhz), mhz);
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

/* How much is to be told anew when a constant moves; what lies above is as it was. */
enum depth {
	POWER,     /* watts and what comes of them */
	ITERATION, /* and the iteration */
	HOST,      /* how the solo iteration is split, and the iteration; not the watts */
	ALL,
};

struct reach {
	enum depth depth;
	bool       beside; /* nothing without neighbours */
};

static const struct reach shared_reach[SHARED_CONSTANTS] = {
	[WIDTH_SHARPNESS] = { ALL, false },
	[HOST_SHARPNESS]  = { ALL, false },
	[L2_CROWD]        = { ITERATION, true },
	[DRAM_CROWD]      = { ALL, true },
	[COPY_CROWD]      = { ITERATION, true },
	[SYNC_CROWD]      = { HOST, true },
	[MISS_GROWTH]     = { ALL, true },
	[SET_SCALE]       = { ALL, true },
	[GAP_PART]        = { HOST, false },
	[SM_SCALE]        = { ALL, true },
	[DRAM_SCALE]      = { ALL, true },
	[NEIGHBOUR_CROWD] = { POWER, true },
	[NEIGHBOUR_DRAM]  = { POWER, true },
	[HELD_SCALE]      = { POWER, true },
	[POWER_TRUST]     = { POWER, true },
	[CROWD_TRUST]     = { POWER, true },
	[NAMED_TRUST]     = { POWER, true },
	[CHAIN_TRUST]     = { POWER, true },
	[SYNC_S]          = { ALL, true },
};

static const struct reach type_reach[TYPE_CONSTANTS] = {
	[REACH] = { ALL, false }, [SATURATING] = { ALL, false }, [POWER_SCALE] = { POWER, true }, /* others: power, always */
};

static const struct reach workload_reach[WORKLOAD_CONSTANTS] = {
	[HOST_PART] = { HOST, false }, [SYNC_US] = { HOST, false }, [FIXED_MB] = { ALL, false },
};

/* A query's answer, from which constants are moved. */
struct rest {
	struct state     s;
	struct watts     w;
	struct moment    m;
	double           mhz;
	struct moment    rise;    /* m's change by a MHz, where the limit holds the clock; else 0 */
};

static struct moment rise_of(const struct rest *r)
{
	double h = RISE_STEP * r->mhz;
	struct moment m = moment_at(&r->s, &r->w, r->mhz - h);

	return (struct moment){ .it = { .us = (r->m.it.us - m.it.us) / h }, .power_w = (r->m.power_w - m.power_w) / h,
				.limiter_w = (r->m.limiter_w - m.limiter_w) / h };
}

static struct rest rest_of(const struct constants *k, const struct query *q)
{
	struct rest r = { .s = state_of(k, q), .mhz = q->setting->clock_mhz };

	r.w = watts_of(&r.s);
	r.m = moment_at(&r.s, &r.w, r.mhz);
	if (r.m.limiter_w > r.w.limit) {
		r.m = fit_clock(&r.s, &r.w, r.m, r.mhz, &r.mhz);
		if (r.mhz > q->gpu->clock_min_mhz)
			r.rise = rise_of(&r);
	}
	return r;
}

static struct baseline_answer answer_of(const struct state *s, const struct watts *w, double us, double power_w)
{
	return (struct baseline_answer){ fmax(us / s->solo_us, MIN_SLOWDOWN), fmax(power_w, 1e-3), fmax(w->told, 1e-3) };
}

/* The clock moves as far as the limiter's power must come back (implicit function theorem). */
static struct baseline_answer move(const struct rest *r, const struct constants *k, enum depth depth)
{
	struct state s = r->s;
	struct iteration it = r->m.it;
	struct watts w = r->w;
	struct moment m;
	double mhz = 0;

	s.k = k;
	if (depth == ALL)
		s = state_of(k, r->s.q);
	else if (depth == HOST)
		split_host(&s, busy_of(s.q->task));
	if (depth != POWER)
		it = iteration_at(&s, r->mhz);
	if (depth != HOST)
		w = watts_of(&s);
	m = moment_of(&s, &w, it, r->mhz);
	if (r->rise.limiter_w > 0)
		mhz = (r->m.limiter_w - m.limiter_w) / r->rise.limiter_w;
	return answer_of(&s, &w, m.it.us + mhz * r->rise.it.us, m.power_w + mhz * r->rise.power_w);
}

/* @param own  one of a copy of the constants */
static void move_each(const struct rest *r, const struct constants *k, double *own, const double *moved,
		      const struct reach *reach, size_t n, struct baseline_answer *out)
{
	struct baseline_answer at = answer_of(&r->s, &r->w, r->m.it.us, r->m.power_w);

	for (size_t i = 0; i < n; i++) {
		double kept = own[i];

		out[i] = at;
		if (reach[i].beside && r->s.crowd.n == 0)
			continue;
		own[i] = moved[i];
		out[i] = move(r, k, reach[i].depth);
		own[i] = kept;
	}
}

void baseline_move(const struct constants *k, const struct constants *moved, const struct query *q,
		   struct baseline_moves *out)
{
	double shared[SHARED_CONSTANTS], type[TYPE_CONSTANTS], workload[WORKLOAD_CONSTANTS];
	const struct constants own = { shared, type, workload };
	const struct rest r = rest_of(k, q);

	memcpy(shared, k->shared, sizeof(shared));
	memcpy(type, k->type, sizeof(type));
	memcpy(workload, k->workload, sizeof(workload));
	out->at = answer_of(&r.s, &r.w, r.m.it.us, r.m.power_w);
	move_each(&r, &own, shared, moved->shared, shared_reach, SHARED_CONSTANTS, out->shared);
	move_each(&r, &own, type, moved->type, type_reach, TYPE_CONSTANTS, out->type);
	move_each(&r, &own, workload, moved->workload, workload_reach, WORKLOAD_CONSTANTS, out->workload);
}

/* Dynamic energy of an iteration alone, of the solo one's; voltage apart. */
static double joules_alone(const struct state *s)
{
	double waiting = s->memory_part * baseline_width(s->q->task), stall = s->k->type[STALL];
	double computing = fmax(s->q->task->sm_util - waiting, 1e-4);
	double waits = s->memory_us / s->solo_us * s->sms * s->q->setting->clock_mhz / s->solo_mhz;

	return (computing + stall * waits) / (computing + stall * waiting);
}

static void join_power(const struct state *s, const struct iteration *it, struct hes_load *load)
{
	double pace = joules_alone(s) * s->solo_us / it->us, before = load->solo_power_mw;
	double power_mw = pace * fmax((double)s->q->task->power_mw - s->q->gpu->idle_power_mw, 1);

	load->pace += pace;
	load->solo_power_mw += power_mw;
	load->solo_clock_mhz = (load->solo_clock_mhz * before + s->solo_mhz * power_mw) / (before + power_mw);
}

void baseline_join(const struct constants *k, const struct query *q, struct hes_load *load)
{
	static const struct hes_load nobody;
	const struct query alone = { .gpu = q->gpu, .task = q->task, .setting = q->setting, .beside = &nobody };
	const struct hes_profile *t = q->task;
	const struct state s = state_of(k, &alone);
	const struct iteration it = iteration_at(&s, q->setting->clock_mhz);
	double share = q->setting->sm_pct / 100.0, held = t->sm_util > share ? share / t->sm_util : 1;
	double draws = s.memory_part * s.solo_us * s.fit / it.us, l2 = clamp(t->l2_util / busy_of(t), 1e-4, MOST_OF_L2);

	load->sm_util += t->sm_util * held;
	load->dram_util += t->dram_util * held;
	load->l2_util += t->l2_util * held;
	load->residents++;
	load->sm_pct += q->setting->sm_pct;
	load->busy += it.gpu_us / it.us;
	load->computing += it.compute_us / it.us;
	load->sm_busy += it.compute_us / it.us * s.sms;
	load->dram_busy += draws;
	load->saved += draws * s.saved;
	load->l2_sets += it.gpu_us / it.us * l2 / (1 - l2);
	load->serial += (s.serial_us + s.copy_us) / it.us;
	load->syncing += s.serial_us / it.us;
	load->iterations_per_s += 1e6 / it.us;
	join_power(&s, &it, load);
}
