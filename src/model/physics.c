/*
 * physics.c - the equations: rates and power of jobs on one GPU.
 *
 * docs/gpu-model.md numbers them; so do the comments here. Everything is a
 * mean over the steady state: a job is in its compute phase, memory
 * phase, launch gaps or host part for a fraction of its iteration, and
 * meets its co-runners with the fractions that they spend in theirs. Those
 * fractions and the iteration times are solved together, as a fixed point in
 * which pressure only adds time. An outer loop finds the clock that fits the
 * power limit.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/bracket.h"
#include "model/params.h"

#define A100_TF32_RATE 1024
/* (18) As an H100 counted them: warps on an SM that has as many blocks as it takes, of those that
 * fit; and the blocks that this needs, of those that keep it busy. */
#define MOST_WARPS  0.45
#define FULL_BLOCKS 1.5
#define WINOGRAD_SAVING \
	(1 - 1 / 2.25)  /* of the multiplications: F(2x2, 3x3) of Lavin and Gray, CVPR 2016 */
#define NEGLIGIBLE 1e-3 /* ratio at which a smooth maximum is the larger value */
#define MAX_ROUNDS 60
/* change of a time fraction at which the fixed point has converged */
#define SETTLED             1e-8
#define CLOCK_TOLERANCE_GHZ 1e-6

/* A job; first what is independent of clock and co-runners. */
struct state {
	double sms;      /* SMs its share and parallelism let it use */
	double parallel; /* SMs that its blocks could keep busy */
	double draw;     /* part of the bandwidth those can draw */
	double gcycles;  /* compute of an iteration, SM x 10^9 cycles */
	double fixed_gb; /* DRAM traffic of an iteration: that which L2 cannot save, and ... */
	double item_gb;  /* ... what L2 would save if all fitted */
	double set_mib;  /* working set */
	double kernels;
	double gaps_s; /* launch gaps */
	double host_s;
	double copy_s;  /* copies over PCIe, GPU idle */
	double items_s; /* host work of each item, GPU idle */
	double sync_s;  /* synchronisation, GPU idle */
	double activity;
	/* The fixed point: seconds an iteration spends in each (gpu_s includes those it waits for
	 * SMs), ... */
	double compute_s, memory_s, gpu_s, iteration_s, traffic_gb;
	/* ... and the fractions of its time in which co-runners meet it. */
	double waiting, busy, running, serving;
};

struct gpu {
	const struct hes_nature *nature;
	const struct hes_gpu_physics *p;
	const struct hes_gpu_type *g;
	double sms, l2_mib, bandwidth_gbs, clock_max_ghz;
	struct state s[HES_MODEL_MAX_JOBS];
	size_t n;
};

/* (1) Smooth minimum and maximum of two positive values; sharper with k. */
static double soft_min(double a, double b, double k)
{
	double lo = a < b ? a : b, hi = a < b ? b : a;

	return lo / pow(1 + pow(lo / hi, k), 1 / k);
}

static double soft_max(double a, double b, double k)
{
	double lo = a < b ? a : b, hi = a < b ? b : a;

	return lo > hi * NEGLIGIBLE ? hi * pow(1 + pow(lo / hi, k), 1 / k) : hi;
}

/*
 * (2) Flop a cycle and SM that a workload reaches. Its efficiency in TF32 is of
 * the A100's units; units without TF32 do as well until their FP32 rate stops them. There
 * Winograd's algorithm saves a part of the operations.
 */
double hes_model_rate(const struct hes_model *m, const struct hes_gpu_physics *p,
		      const struct hes_workload *w)
{
	const double *rate = p->rate;

	if (w->math != HES_MATH_TF32 || rate[HES_MATH_TF32] > 0)
		return w->efficiency * rate[w->math];
	return soft_min(w->efficiency * A100_TF32_RATE,
			m->nature.fp32_reach * rate[HES_MATH_FP32] /
				(1 - WINOGRAD_SAVING * w->winograd),
			4);
}

static void prepare(const struct hes_model *m, const struct gpu *b, const struct hes_model_job *r,
		    struct state *s)
{
	const struct hes_workload *w = r->workload;
	double k = b->nature->sm_sharpness, batch = r->batch, share = b->sms * r->sm_pct / 100;
	double items = pow(batch, 1 + w->padding), host = b->p->host_factor;
	double parallel = w->parallel_sms * pow(batch, w->parallel_growth);

	*s = (struct state){
		.sms = soft_min(share, parallel, k), /* (3) */
		.parallel = parallel,
		.draw = soft_min(share / (b->sms * b->p->saturating_share), 1, k), /* (4) */
		.gcycles = w->gflop_per_item * items / hes_model_rate(m, b->p, w),
		.fixed_gb = w->traffic_mib / HES_MIB_PER_GB,
		.item_gb = w->traffic_mib_per_item * items / HES_MIB_PER_GB,
		.set_mib = w->working_set_mib * batch,
		.kernels = w->kernels,
		.gaps_s = w->kernels * b->p->launch_us * 1e-6,
		.host_s = w->host_us * host * 1e-6,
		.copy_s = batch * w->copy_mib_per_item / HES_MIB_PER_GB / b->p->pcie_gbs,
		.items_s = batch * w->serial_us_per_item * host * 1e-6,
		.sync_s = w->serial_us * host * 1e-6,
		.activity = w->activity,
	};
}

/* The load of a job's co-runners, as means over time. */
struct pressure {
	double sms;      /* SMs that their kernels occupy or wait for */
	double running;  /* ... those that they occupy */
	double kernel_s; /* their mean kernel, by SMs; 0: no kernels are counted */
	double draw;     /* part of the bandwidth they draw */
	double busy;     /* how many of them have work on the GPU */
	double serving;  /* how many of them copy or run on the host */
};

static double running_s(const struct state *s)
{
	return s->compute_s + s->memory_s + s->gaps_s;
}

/*
 * (6) What a job waits for SMs, for each GPU's worth of SMs that all want too much: time slices as
 * long as its own kernels; or, with crowding, its co-runners' mean kernel before each of its own.
 */
static double slice_s(double crowding, const struct state *s, const struct pressure *o)
{
	double own = running_s(s);

	if (s->kernels == 0 || o->kernel_s == 0)
		return own;
	return own + crowding * (s->kernels * o->kernel_s - own);
}

static struct pressure pressure_on(const struct gpu *b, size_t i)
{
	struct pressure o = { 0 };
	double counted = 0;

	for (size_t j = 0; j < b->n; j++) {
		const struct state *s = &b->s[j];

		if (j == i)
			continue;
		o.sms += s->busy * s->sms;
		o.running += s->running * s->sms;
		if (s->kernels > 0) {
			counted += s->busy * s->sms;
			o.kernel_s += s->busy * s->sms * running_s(s) / s->kernels;
		}
		o.draw += s->waiting * s->draw;
		o.busy += s->busy;
		o.serving += s->serving;
	}
	if (counted > 0)
		o.kernel_s /= counted;
	return o;
}

/* (5)-(11): one job's iteration under a given pressure, at a clock. */
static void iterate(const struct gpu *b, struct state *s, const struct pressure *o, double ghz)
{
	const struct hes_nature *k = b->nature;
	double squeeze = fmax(1, (s->sms + o->sms) / b->sms);
	double room = fmax(0, b->sms - s->sms);
	/* At the same instant: co-runners draw while they run, and that is on the SMs left to them.
	 */
	double draw = o->running > room ? o->draw * room / o->running : o->draw;
	double queue =
		fmax(1 + b->p->interference * k->transfer_interference * draw, s->draw + draw);
	double miss = s->set_mib > 0 ? s->set_mib / (s->set_mib + b->l2_mib) : 1;
	double serial = s->items_s + s->copy_s * (1 + k->transfer_interference * o->busy) +
			s->sync_s * (1 + k->host_interference * o->serving);
	double paced;

	s->compute_s = s->gcycles / (ghz * s->sms);
	s->traffic_gb = s->fixed_gb + s->item_gb * miss;
	s->memory_s = s->traffic_gb / (b->bandwidth_gbs * s->draw) * queue;
	s->gpu_s = running_s(s) + (squeeze - 1) * slice_s(k->crowding, s, o);
	paced = soft_max(s->host_s, s->gpu_s, k->host_sharpness);
	s->iteration_s = paced + serial;
	paced += s->items_s + s->copy_s + s->sync_s;
	s->waiting = s->memory_s / paced;
	s->busy = s->gpu_s / paced;
	s->running = running_s(s) / paced;
}

/*
 * The start of the fixed point: each job as if alone, at the requested clock. Its time off the GPU
 * stays the same for its co-runners, even if it is itself slowed down there.
 */
static void start(struct gpu *b, double ghz)
{
	static const struct pressure none;

	for (size_t i = 0; i < b->n; i++) {
		struct state *s = &b->s[i];

		iterate(b, s, &none, ghz);
		s->serving = (s->items_s + s->copy_s + s->sync_s) / s->iteration_s;
	}
}

/* All jobs at a clock, from the current fractions until they converge. */
static void settle(struct gpu *b, double ghz)
{
	for (int round = 0; round < MAX_ROUNDS; round++) {
		double change = 0;

		for (size_t i = 0; i < b->n; i++) {
			struct state *s = &b->s[i];
			struct pressure o = pressure_on(b, i);
			double busy = s->busy, waiting = s->waiting;

			iterate(b, s, &o, ghz);
			change += fabs(s->busy - busy) + fabs(s->waiting - waiting);
		}
		if (b->n < 2 || change < SETTLED)
			break;
	}
}

/* (12) Voltage at a clock, of that at the full clock: flat to the knee, then rising. */
static double voltage(const struct gpu *b, double ghz)
{
	const struct hes_gpu_physics *p = b->p;
	double x = (ghz / b->clock_max_ghz - p->volt_knee) / (1 - p->volt_knee);

	return x > 0 ? p->volt_min + (1 - p->volt_min) * pow(x, p->volt_bend) : p->volt_min;
}

struct power {
	double mean_w;    /* what a meter reads */
	double limiter_w; /* what the limiter acts on */
};

/* (13)-(15) */
static struct power power_at(const struct gpu *b, double ghz)
{
	const struct hes_gpu_physics *p = b->p;
	double v = voltage(b, ghz), scale = ghz / b->clock_max_ghz * v * v;
	double still =
		b->g->idle_power_mw * 1e-3 + (b->n ? p->context_w + p->clocked_w * scale : 0);
	double moving = 0, idle = 1, longest_s = 0, window;

	for (size_t i = 0; i < b->n; i++) {
		const struct state *s = &b->s[i];
		double computing = s->gcycles / (ghz * s->iteration_s) / b->sms;
		double waiting = s->memory_s / s->iteration_s * s->sms / b->sms;

		moving += p->switch_w * scale * s->activity * (computing + p->stall * waiting) +
			  p->dram_w * s->traffic_gb / s->iteration_s / b->bandwidth_gbs;
		idle *= 1 - s->gpu_s / s->iteration_s;
		longest_s = fmax(longest_s, s->iteration_s);
	}
	window = longest_s / (longest_s + p->limiter_ms * 1e-3 + 1e-12);
	return (struct power){ still + moving,
			       still + moving * (1 + window * (1 / (1 - idle + 1e-12) - 1)) };
}

static struct power try_clock(struct gpu *b, double ghz)
{
	settle(b, ghz);
	return power_at(b, ghz);
}

/*
 * (16) The highest clock in [low, high] whose power is within the limit, by false
 * position (Illinois) on a function that rises with the clock. The GPU is left
 * settled at that clock, *@p is its power there.
 */
static double fit_clock(struct gpu *b, double low, double high, double limit_w, struct power *p)
{
	struct hes_bracket k = { .low = low, .high = high };
	double mid;

	*p = try_clock(b, high);
	k.over = p->limiter_w - limit_w;
	if (k.over <= 0 || low >= high)
		return high;
	/* Power goes with about the cube of the clock: most often this is below, and near. */
	mid = fmax(low, 0.85 * high * cbrt(limit_w / p->limiter_w));
	*p = try_clock(b, mid);
	k.under = p->limiter_w - limit_w;
	if (k.under > 0) {
		k.high = mid;
		k.over = k.under;
		*p = try_clock(b, low);
		k.under = p->limiter_w - limit_w;
		if (k.under >= 0)
			return low;
	} else {
		k.low = mid;
	}
	for (int round = 0; round < MAX_ROUNDS && k.high - k.low > CLOCK_TOLERANCE_GHZ; round++) {
		double at;

		mid = hes_bracket_next(&k);
		*p = try_clock(b, mid);
		at = p->limiter_w - limit_w;
		if (fabs(at) < 1e-6 * limit_w)
			return mid;
		hes_bracket_narrow(&k, mid, at);
	}
	*p = try_clock(b, k.low);
	return k.low;
}

const struct hes_gpu_physics *hes_model_gpu(const struct hes_model *m, const char *type)
{
	for (size_t i = 0; i < m->n_gpus; i++)
		if (strcmp(m->gpus[i].type, type) == 0)
			return &m->gpus[i];
	return NULL;
}

double hes_model_context_w(const struct hes_model *m, const char *type)
{
	const struct hes_gpu_physics *p = hes_model_gpu(m, type);

	return p ? p->context_w + p->clocked_w : 0;
}

static int check_jobs(const struct hes_model_job *r, size_t n, struct hes_err *err)
{
	if (n > HES_MODEL_MAX_JOBS)
		return hes_fail(err, -E2BIG, "%zu jobs on a GPU; the model takes at most %d", n,
				HES_MODEL_MAX_JOBS);
	for (size_t i = 0; i < n; i++) {
		if (r[i].batch < 1 || r[i].batch > HES_MODEL_MAX_BATCH)
			return hes_fail(err, -EINVAL, "%s: batch size %u; it must be from 1 to %d",
					r[i].workload->name, r[i].batch, HES_MODEL_MAX_BATCH);
		if (r[i].sm_pct < 1 || r[i].sm_pct > 100)
			return hes_fail(err, -EINVAL,
					"%s: SM share %u %%; it must be from 1 to 100",
					r[i].workload->name, r[i].sm_pct);
	}
	return 0;
}

/* (18) Mean warps on an SM with work, of those that fit. Blocks drain at the end of each kernel,
 * for about as long as the gap that follows. */
static double active_warps(const struct gpu *b, const struct state *s)
{
	double running = s->compute_s + s->memory_s;

	return MOST_WARPS *
	       soft_min(s->parallel / (s->sms * FULL_BLOCKS), 1, b->nature->sm_sharpness) *
	       running / (running + s->gaps_s);
}

/* Utilisations; the parts of a GPU never sum to more than all of it. */
static void fill_rates(const struct gpu *b, double ghz, struct hes_rate *rates)
{
	double sm = 0, dram = 0, sets = b->l2_mib, most;

	for (size_t i = 0; i < b->n; i++)
		sets += b->s[i].set_mib;
	for (size_t i = 0; i < b->n; i++) {
		const struct state *s = &b->s[i];

		rates[i] = (struct hes_rate){
			.iterations_per_s = 1 / s->iteration_s,
			.busy = fmin(1, (s->compute_s + s->memory_s) / s->iteration_s),
			.sm_util =
				(s->gcycles / ghz + s->memory_s * s->sms) / s->iteration_s / b->sms,
			.dram_util = s->traffic_gb / s->iteration_s / b->g->memory_bandwidth_gbs,
			.l2_util = s->gpu_s / s->iteration_s * s->set_mib / sets,
		};
		rates[i].occupancy = rates[i].sm_util * active_warps(b, s);
		sm += rates[i].sm_util;
		dram += rates[i].dram_util;
	}
	most = fmax(1, fmax(sm, dram));
	for (size_t i = 0; i < b->n && most > 1; i++) {
		rates[i].sm_util /= fmax(1, sm);
		rates[i].occupancy /= fmax(1, sm);
		rates[i].dram_util /= fmax(1, dram);
	}
}

static int check_gpu(const struct hes_gpu_type *g, uint32_t requested, uint32_t limit,
		     struct hes_err *err)
{
	if (requested < g->clock_min_mhz || requested > g->clock_max_mhz)
		return hes_fail(err, -ERANGE, "clock %u MHz; %s runs from %u to %u MHz", requested,
				g->name, g->clock_min_mhz, g->clock_max_mhz);
	if (limit <= g->idle_power_mw)
		return hes_fail(err, -EINVAL,
				"a limit of %u mW is not above the idle power of %s, %u mW", limit,
				g->name, g->idle_power_mw);
	return 0;
}

int hes_model_steady(const struct hes_model *m, const struct hes_gpu_type *g, uint32_t clock_mhz,
		     uint32_t power_limit_mw, const struct hes_model_job *r, size_t n,
		     struct hes_rate *rates, struct hes_steady *out, struct hes_err *err)
{
	uint32_t requested = clock_mhz ? clock_mhz : g->clock_default_mhz;
	uint32_t limit = power_limit_mw ? power_limit_mw : g->power_limit_mw;
	struct gpu b = { .nature = &m->nature, .p = hes_model_gpu(m, g->name), .g = g, .n = n };
	struct power power;
	int rc = check_jobs(r, n, err);

	if (!rc && !b.p)
		rc = hes_fail(err, -ENOENT, "the model has no parameters for GPU type \"%s\"",
			      g->name);
	if (!rc)
		rc = check_gpu(g, requested, limit, err);
	if (rc)
		return rc;
	if (m->other) {
		m->other(m, g, requested * 1e-3, limit * 1e-3, r, n, rates, out);
		return 0;
	}
	b.sms = g->sm_count;
	b.l2_mib = g->l2_kib / 1024.0;
	b.bandwidth_gbs = g->memory_bandwidth_gbs * b.p->bandwidth_fraction;
	b.clock_max_ghz = g->clock_max_mhz * 1e-3;
	for (size_t i = 0; i < n; i++)
		prepare(m, &b, &r[i], &b.s[i]);
	start(&b, requested * 1e-3);
	out->clock_ghz =
		fit_clock(&b, g->clock_min_mhz * 1e-3, requested * 1e-3, limit * 1e-3, &power);
	out->power_w = power.mean_w;
	fill_rates(&b, out->clock_ghz, rates);
	return 0;
}

int hes_model_instant(const struct hes_model *m, const struct hes_gpu_type *g, uint32_t clock_mhz,
		      uint32_t power_limit_mw, const struct hes_model_job *r, size_t n,
		      struct hes_rate *rates, struct hes_instant *out, struct hes_err *err)
{
	double requested_mhz = clock_mhz ? clock_mhz : g->clock_default_mhz;
	struct hes_steady s;
	int rc = hes_model_steady(m, g, clock_mhz, power_limit_mw, r, n, rates, &s, err);

	if (rc)
		return rc;
	*out = (struct hes_instant){
		.power_mw = (uint32_t)lround(s.power_w * 1e3),
		.clock_mhz = (uint32_t)(s.clock_ghz * 1e3 + 1e-6),
		.throttled = s.clock_ghz * 1e3 < requested_mhz - 0.5,
	};
	return 0;
}
