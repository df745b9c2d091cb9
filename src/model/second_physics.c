/*
 * second_physics.c - other equations for the same parameters, to test what planners and predictors
 * make of a GPU that does not follow physics.c; see hes_model_second() in heshare/model.h.
 *
 * Everything that physics.c assumes is assumed otherwise: compute and memory overlap, work comes in
 * waves, co-runners wait for a full memory and evict each other's sets, every pair has a factor of
 * its own, memory slows with the SM clock, power does not add up, and counters are biased. No
 * number here is fitted.
 */
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "model/params.h"

#define ROUNDS      40
#define OVERLAP     3    /* exponent: memory hides behind compute */
#define NEVER_HIT   0.2  /* part of the traffic that misses L2 even if all fits */
#define SLOW_MEMORY 0.6  /* part of the top clock below which bandwidth falls */
#define PAIR        0.08 /* mean and spread of the logarithm of a pair's own factor */
#define COUNTERS    0.12 /* spread of a counter's bias */
#define CROWDED     0.85 /* exponent: twice the work draws less than twice the power */
#define WARPS       0.5  /* active on an SM with work, of those that fit */
#define MEMORY_ON   0.4  /* part of the memory's power that any job draws */

struct load {
	const struct hes_workload *w;
	double sms, gcycles, waves, gaps_s, host_s, serial_s, copy_s;
	double fixed_gb, item_gb, set_mib, draw;
	double compute_s, memory_s, gpu_s, iteration_s, traffic_gb, busy;
};

struct second {
	const struct hes_gpu_physics *p;
	const struct hes_gpu_type *g;
	double sms, l2_mib, gbs, top_ghz;
	struct load v[HES_MODEL_MAX_JOBS];
	double pair[HES_MODEL_MAX_JOBS]
		   [HES_MODEL_MAX_JOBS]; /* logarithm of a co-runner's own factor */
	size_t n;
};

static uint64_t hash_text(uint64_t h, const char *text)
{
	h = hes_hash_bytes(h, text, strlen(text));
	return h ^ h >> 29;
}

/* From -1.7 to 1.7 with variance 1, always the same for these names. */
static double deviation(const char *a, const char *b, const char *c)
{
	uint64_t h = hash_text(hash_text(hash_text(HES_HASH_START, a) * 31, b) * 31, c);

	h = (h ^ h >> 31) * 0x9e3779b97f4a7c15u;
	return ((double)(h >> 11) / 9007199254740992.0 - 0.5) * sqrt(12);
}

static void second_prepare(const struct hes_model *m, const struct second *s,
			   const struct hes_model_job *r, struct load *l)
{
	const struct hes_workload *w = r->workload;
	double items = pow(r->batch, 1 + w->padding), share = s->sms * r->sm_pct / 100;
	double wanted = w->parallel_sms * pow(r->batch, w->parallel_growth),
	       smooth = fmax(1, wanted / share);

	*l = (struct load){
		.w = w,
		.sms = fmin(share, wanted),
		/* Half of the work in whole waves of the share. */
		.waves = (smooth + ceil(smooth)) / 2 * fmin(share, wanted) / wanted,
		.gcycles = w->gflop_per_item * items / hes_model_rate(m, s->p, w),
		.gaps_s = w->kernels * s->p->launch_us * 1e-6,
		.host_s = w->host_us * s->p->host_factor * 1e-6,
		.serial_s = (w->serial_us + r->batch * w->serial_us_per_item) * s->p->host_factor *
			    1e-6,
		.copy_s = r->batch * w->copy_mib_per_item / (s->p->pcie_gbs * HES_MIB_PER_GB),
		.fixed_gb = w->traffic_mib / HES_MIB_PER_GB,
		.item_gb = w->traffic_mib_per_item * items / HES_MIB_PER_GB,
		.set_mib = w->working_set_mib * r->batch,
		.draw = fmin(1, pow(share / (s->sms * s->p->saturating_share), 0.8)),
	};
	l->iteration_s = 1e9; /* nothing runs yet */
}

/* One job, given what the others do. */
static void second_iterate(struct second *s, size_t i, double ghz)
{
	struct load *l = &s->v[i];
	double gbs = s->gbs * fmin(1, sqrt(ghz / (SLOW_MEMORY * s->top_ghz)));
	double others_sms = 0, others_gbs = 0, sets = l->set_mib, own = 0, copying = 0, l2, full;

	for (size_t j = 0; j < s->n; j++) {
		const struct load *o = &s->v[j];

		if (j == i)
			continue;
		others_sms += o->busy * o->sms;
		others_gbs += o->traffic_gb / o->iteration_s;
		sets += o->set_mib;
		copying += o->copy_s / o->iteration_s;
		own += o->busy * s->pair[i][j];
	}
	own = exp(own);
	full = fmin(others_gbs / gbs, 1);
	l2 = sets > 0 ? s->l2_mib * l->set_mib / sets : s->l2_mib;
	l->traffic_gb =
		l->fixed_gb +
		l->item_gb * fmax(NEVER_HIT, 1 - (1 - NEVER_HIT) * l2 / fmax(l->set_mib, l2));
	l->compute_s = l->gcycles / (ghz * l->sms) * l->waves *
		       fmax(1, (l->sms + others_sms) / s->sms) * own;
	l->memory_s = l->traffic_gb / (gbs * l->draw) * (1 + 1.5 * full * full) * own;
	l->gpu_s = pow(pow(l->compute_s, OVERLAP) + pow(l->memory_s, OVERLAP), 1.0 / OVERLAP) +
		   l->gaps_s;
	l->iteration_s = fmax(l->host_s, l->gpu_s) + l->serial_s + l->copy_s * (1 + copying);
	l->busy = l->gpu_s / l->iteration_s;
}

static double second_power_at(struct second *s, double ghz)
{
	double x = ghz / s->top_ghz,
	       v = fmax(s->p->volt_min, s->p->volt_min + (1 - s->p->volt_min) * (2 * x - 1));
	double working = 0, moving = 0;

	for (size_t i = 0; i < s->n; i++)
		s->v[i].busy = s->v[i].traffic_gb = 0;
	for (int round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < s->n; i++)
			second_iterate(s, i, ghz);
	for (size_t i = 0; i < s->n; i++) {
		const struct load *l = &s->v[i];

		working += l->w->activity *
			   fmin(l->compute_s + s->p->stall * l->memory_s, l->gpu_s) /
			   l->iteration_s * l->sms / s->sms;
		moving += l->traffic_gb / l->iteration_s / s->gbs;
	}
	return s->g->idle_power_mw * 1e-3 +
	       (s->n ? s->p->context_w * v * v + MEMORY_ON * s->p->dram_w : 0) +
	       s->p->switch_w * x * v * v * pow(fmin(working, 1.2), CROWDED) +
	       (1 - MEMORY_ON) * s->p->dram_w * fmin(moving, 1);
}

/* The highest clock within the limit. */
static struct hes_steady second_fit_clock(struct second *s, double low, double high, double limit_w)
{
	double w = second_power_at(s, high);

	if (w <= limit_w || low >= high)
		return (struct hes_steady){ w, high };
	for (int round = 0; round < 30; round++) {
		double mid = (low + high) / 2;

		if (second_power_at(s, mid) <= limit_w)
			low = mid;
		else
			high = mid;
	}
	return (struct hes_steady){ second_power_at(s, low), low };
}

/* As counters show it: each off by a bias that repeats. */
static double seen(const struct second *s, const struct load *l, const char *counter, double v)
{
	return fmin(1, v * exp(COUNTERS * deviation(l->w->name, counter, s->g->name)));
}

static void second_fill_rates(const struct second *s, struct hes_rate *rates)
{
	double sm = 0, dram = 0, sets = s->l2_mib;

	for (size_t i = 0; i < s->n; i++)
		sets += s->v[i].set_mib;
	for (size_t i = 0; i < s->n; i++) {
		const struct load *l = &s->v[i];

		rates[i] = (struct hes_rate){
			.iterations_per_s = 1 / l->iteration_s,
			.busy = seen(s, l, "busy", (l->gpu_s - l->gaps_s) / l->iteration_s),
			.sm_util = seen(s, l, "sm", l->busy * l->sms / s->sms),
			.dram_util =
				seen(s, l, "dram",
				     l->traffic_gb / l->iteration_s / s->g->memory_bandwidth_gbs),
			.l2_util = seen(s, l, "l2", l->busy * l->set_mib / sets),
		};
		rates[i].occupancy = seen(s, l, "warps", WARPS * rates[i].sm_util);
		sm += rates[i].sm_util;
		dram += rates[i].dram_util;
	}
	for (size_t i = 0; i < s->n; i++) {
		rates[i].sm_util /= fmax(1, sm);
		rates[i].occupancy /= fmax(1, sm);
		rates[i].dram_util /= fmax(1, dram);
		rates[i].l2_util /= (double)s->n;
	}
}

static void second_steady(const struct hes_model *m, const struct hes_gpu_type *g,
			  double requested_ghz, double limit_w, const struct hes_model_job *r,
			  size_t n, struct hes_rate *rates, struct hes_steady *out)
{
	const struct hes_gpu_physics *p = hes_model_gpu(m, g->name);
	struct second s = {
		.p = p,
		.g = g,
		.sms = g->sm_count,
		.l2_mib = g->l2_kib / 1024.0,
		.gbs = g->memory_bandwidth_gbs * p->bandwidth_fraction,
		.top_ghz = g->clock_max_mhz * 1e-3,
		.n = n,
	};

	for (size_t i = 0; i < n; i++)
		second_prepare(m, &s, &r[i], &s.v[i]);
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			s.pair[i][j] = PAIR * (1 + deviation(r[i].workload->name,
							     r[j].workload->name, g->name));
	*out = second_fit_clock(&s, g->clock_min_mhz * 1e-3, requested_ghz, limit_w);
	second_fill_rates(&s, rates);
}

void hes_model_second(struct hes_model *m)
{
	m->other = second_steady;
}
