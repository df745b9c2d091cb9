/*
 * estimate.c - least squares on what members of a set do to each other; see
 * estimate.h.
 *
 * Fitted are the logarithm of how much longer a member takes than alone, and the
 * board's power as a mix of what its members' work draws, held at the limit, and of the
 * largest of their own. Over sets of two to four drawn by lot, times are off by some 7 %, powers by 3 %.
 */
#include "plan/estimate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clamp.h"
#include "base/rng.h"
#include "predict/prepared.h"

#define SHARES (HES_SHARE_SUM_PCT / HES_SHARE_STEP_PCT)
#define MOST_ALONE 65536 /* members that are asked about beforehand */
#define SETS   150   /* asked about, for each type */
#define RIDGE  1e-3  /* of a row: keeps constants that nothing tells small */
#define MOST_LONGER 3.0f /* e-folds; of power, more or less */

/* What stretches a member. */
enum feature {
	CROWDED,    /* logarithm of the SMs that all want together, where the member computes */
	SMS,        /* SMs that neighbours compute on, there */
	BANDWIDTH,  /* both's bandwidth, their product */
	TRAFFIC,    /* the neighbours' bandwidth, where the member computes */
	HOST,       /* neighbours' work on the GPU while the member is off it */
	LIMIT,      /* logarithm of the power all want over the limit, where the member computes */
	NUMBER_OFF, /* neighbours while the member is off the GPU, */
	NUMBER_ON,  /* and on it */
	FEATURES
};

struct constants {
	float time[FEATURES];
	float work, largest; /* power: parts of it */
};

struct hes_estimator {
	const struct hes_problem *p;
	struct constants         *types; /* [n_types] */
	struct hes_alone         *alone; /* of the table; NULL: not asked */
	struct hes_alone_table    table;
};

_Static_assert(HES_SHARE_MOST == 4, "a member a lane");

struct hes_alone hes_alone_of(struct hes_rates *r, const struct hes_set *s, uint32_t member)
{
	const struct hes_set own = { .type = s->type, .clock_mhz = s->clock_mhz, .n = 1, .m = { s->m[member] } };
	struct hes_pace pace;

	hes_rates_of(r, &own, &pace);
	return (struct hes_alone){ (float)pace.iteration_us[0], (float)pace.power_mw };
}

struct hes_alone_table hes_estimator_table(const struct hes_estimator *e)
{
	return e->table;
}

/* Of one kind on a type. @return 0 or -ENOMEM */
static int ask_alone(struct hes_estimator *e, uint32_t type, uint16_t kind)
{
	const struct hes_predictor *p = e->p->request->predictor;
	const struct hes_gpu_type *g = e->p->types[type];
	const struct hes_load nobody = { .power_mw = g->idle_power_mw };
	struct hes_prepared_job *j = hes_prepared_job_new(p, g, &e->p->solo[type * e->p->n_kinds + kind]);
	int rc = j ? 0 : -ENOMEM;

	for (uint16_t share = HES_SHARE_STEP_PCT; share <= HES_SHARE_SUM_PCT && !rc; share += HES_SHARE_STEP_PCT)
		for (uint16_t clock = 0; clock < g->n_clocks && !rc; clock++) {
			const struct hes_alone *at = hes_alone_find(&e->table, type, (struct hes_member){ kind, share }, clock);
			struct hes_prepared *one = hes_prepared_new(j, &(struct hes_setting){ share, g->clocks_mhz[clock] });
			struct hes_quick_estimate o;

			rc = one ? 0 : -ENOMEM;
			if (rc)
				break;
			hes_prepared_predict(one, &nobody, &o);
			e->alone[at - e->alone] = (struct hes_alone){ (float)o.iteration_us, (float)o.power_mw };
			hes_prepared_free(one);
		}
	hes_prepared_job_free(j);
	return rc;
}

/* By and by they would fill a memo of rates: 10 shares, a dozen clocks each. @return 0 or -ENOMEM */
static int make_table(struct hes_estimator *e)
{
	const struct hes_problem *p = e->p;
	size_t clocks = 0, n;

	for (size_t t = 0; t < p->n_types; t++)
		clocks = p->types[t]->n_clocks > clocks ? p->types[t]->n_clocks : clocks;
	n = p->n_types * p->n_kinds * SHARES * clocks;
	if (n > MOST_ALONE)
		return 0;
	e->alone = calloc(n + 1, sizeof(*e->alone));
	if (!e->alone)
		return -ENOMEM;
	e->table = (struct hes_alone_table){ e->alone, p->n_kinds, clocks };
	return 0;
}

/* A set's members by themselves, one a lane. In lanes of nobody all is 0, but the time. */
struct crew {
	hes_lanes us, power_mw;
	hes_lanes width;   /* part of the SMs while it is on the GPU */
	hes_lanes busy;    /* part of the time that it is */
	hes_lanes dram;    /* part of the bandwidth */
	hes_lanes work_mw; /* power that its work draws, beyond the idle board's */
};

static inline struct crew crew_of(const struct hes_problem *p, const struct hes_set *s, const struct hes_alone *a)
{
	static const float there[2 * HES_SHARE_MOST] = { 1, 1, 1, 1 }; /* from the (4 - n)th on: n ones, and zeros */
	const hes_lanes least = hes_lanes_of(1e-3f), one = hes_lanes_of(1);
	struct crew c = { .us = one };
	hes_lanes solo_us = one, busy = { 0 }, sms = { 0 }, dram = { 0 }, share = { 0 }, is, faster;

	for (uint32_t i = 0; i < s->n; i++) {
		const struct hes_profile *solo = &p->solo[s->type * p->n_kinds + s->m[i].kind];

		c.us[i] = a[i].us;
		c.power_mw[i] = a[i].power_mw;
		solo_us[i] = (float)solo->iteration_us;
		busy[i] = (float)solo->busy;
		sms[i] = (float)solo->sm_util;
		dram[i] = (float)solo->dram_util;
		share[i] = (float)s->m[i].sm_pct * 0.01f;
	}
	memcpy(&is, &there[HES_SHARE_MOST - s->n], sizeof(is));
	faster = hes_lanes_min(solo_us / c.us, 1 / least);
	busy = hes_lanes_min(hes_lanes_max(hes_lanes_max(busy, sms), least), one);
	c.width = hes_lanes_min(share, hes_lanes_max(sms / busy, least)) * is;
	c.busy = hes_lanes_max(1 - (1 - busy) * faster, least) * is;
	c.dram = dram * faster;
	c.work_mw = hes_lanes_max(c.power_mw - (float)p->types[s->type]->idle_power_mw, hes_lanes_of(0));
	return c;
}

/* Of what there is no more of than there can be, 0. */
static inline hes_lanes log_over(hes_lanes x)
{
	return hes_rough_log4(hes_lanes_max(x, hes_lanes_of(1)));
}

static inline void features_of(const struct hes_gpu_type *g, const struct crew *c, uint32_t n, hes_lanes x[FEATURES])
{
	const hes_lanes off = 1 - c->busy, used = c->width * c->busy;
	const hes_lanes sms = hes_lanes_sum(used) - used, dram = hes_lanes_sum(c->dram) - c->dram;
	const float wanted = ((float)g->idle_power_mw + hes_lanes_sum(c->work_mw)) / (float)g->power_limit_mw;

	x[CROWDED] = log_over(c->width + sms) * c->busy;
	x[SMS] = sms * c->busy;
	x[BANDWIDTH] = dram * c->dram;
	x[TRAFFIC] = dram * c->busy;
	x[HOST] = (hes_lanes_sum(c->busy) - c->busy) * off;
	x[LIMIT] = log_over(hes_lanes_of(wanted)) * c->busy;
	x[NUMBER_OFF] = (float)(n - 1) * off;
	x[NUMBER_ON] = (float)(n - 1) * c->busy;
}

/* Power that the members' work takes, each as much longer as it is, held at the limit; and the largest of their own. */
static inline void powers_of(const struct hes_gpu_type *g, const struct crew *c, hes_lanes us, float *work, float *largest)
{
	const float all = (float)g->idle_power_mw + hes_lanes_sum(c->work_mw * c->us / us);
	float limit = (float)g->power_limit_mw;

	*largest = 0;
	for (int i = 0; i < HES_SHARE_MOST; i++)
		*largest = c->power_mw[i] > *largest ? c->power_mw[i] : *largest;
	limit = *largest > limit ? *largest : limit;
	*work = all < limit ? all : limit;
}

struct hes_guess hes_estimate(const struct hes_estimator *e, const struct hes_set *s, const struct hes_alone *a,
			      const struct hes_off *off)
{
	const struct hes_gpu_type *g = e->p->types[s->type];
	const struct constants *k = &e->types[s->type];
	const struct crew c = crew_of(e->p, s, a);
	const float idle = (float)g->idle_power_mw;
	hes_lanes x[FEATURES], longer = off->us;
	struct hes_guess out;
	float work, largest;

	features_of(g, &c, s->n, x);
	for (int f = 0; f < FEATURES; f++)
		longer += k->time[f] * x[f];
	longer = hes_lanes_max(hes_lanes_min(longer, hes_lanes_of(MOST_LONGER)), hes_lanes_of(0));
	out.us = c.us * hes_rough_exp4(longer);
	powers_of(g, &c, out.us, &work, &largest);
	out.power_mw = (k->work * work + k->largest * largest) * hes_rough_exp4(hes_lanes_of((float)clamp((double)off->power, -MOST_LONGER, MOST_LONGER)))[0];
	out.power_mw = out.power_mw > idle ? out.power_mw : idle;
	return out;
}

/* Sums of squares and products of the rows so far. */
struct normal {
	double xx[FEATURES][FEATURES], xy[FEATURES];
	double ww, wl, ll, w1, l1; /* of the two parts of power, each in parts of the power asked for */
};

static void learn(const struct hes_problem *p, struct hes_rates *r, const struct hes_set *s, struct normal *m)
{
	const struct hes_gpu_type *g = p->types[s->type];
	struct hes_alone a[HES_SHARE_MOST];
	hes_lanes x[FEATURES], us = hes_lanes_of(1);
	struct hes_pace pace;
	struct crew crew;
	float work, largest;

	hes_rates_of(r, s, &pace);
	for (uint32_t i = 0; i < s->n; i++) {
		a[i] = hes_alone_of(r, s, i);
		us[i] = (float)pace.iteration_us[i];
	}
	crew = crew_of(p, s, a);
	features_of(g, &crew, s->n, x);
	for (uint32_t i = 0; i < s->n; i++)
		for (int f = 0; f < FEATURES; f++) {
			m->xy[f] += (double)x[f][i] * (double)hes_rough_log4(us / crew.us)[i];
			for (int h = 0; h < FEATURES; h++)
				m->xx[f][h] += (double)x[f][i] * (double)x[h][i];
		}
	powers_of(g, &crew, us, &work, &largest);
	work /= (float)pace.power_mw;
	largest /= (float)pace.power_mw;
	m->ww += (double)work * (double)work;
	m->wl += (double)work * (double)largest;
	m->ll += (double)largest * (double)largest;
	m->w1 += (double)work;
	m->l1 += (double)largest;
}

/* Gauss without pivots: the ridge keeps the matrix positive definite. */
static void solve(struct normal *m, size_t rows, struct constants *k)
{
	double det;

	for (int f = 0; f < FEATURES; f++)
		m->xx[f][f] += RIDGE * (double)(rows + 1);
	for (int f = 0; f < FEATURES; f++)
		for (int h = f + 1; h < FEATURES; h++) {
			const double part = m->xx[h][f] / m->xx[f][f];

			for (int c = f; c < FEATURES; c++)
				m->xx[h][c] -= part * m->xx[f][c];
			m->xy[h] -= part * m->xy[f];
		}
	for (int f = FEATURES; f-- > 0;) {
		double rest = m->xy[f];

		for (int c = f + 1; c < FEATURES; c++)
			rest -= m->xx[f][c] * (double)k->time[c];
		k->time[f] = (float)(rest / m->xx[f][f]);
	}
	m->ww += RIDGE * (double)(rows + 1);
	m->ll += RIDGE * (double)(rows + 1);
	det = m->ww * m->ll - m->wl * m->wl;
	k->work = (float)((m->w1 * m->ll - m->l1 * m->wl) / det);
	k->largest = (float)((m->l1 * m->ww - m->w1 * m->wl) / det);
}

/* Two to four jobs of those that run on a type, in the order of sets. @return false these do not fit it together */
static bool draw(const struct hes_problem *p, uint32_t type, struct hes_rng *rng, struct hes_set *out)
{
	const uint32_t n = 2 + (uint32_t)hes_rng_below(rng, HES_SHARE_MOST - 1);
	uint64_t memory_mib = 0;
	uint32_t shares_pct = 0;

	*out = (struct hes_set){ .type = type };
	out->clock_mhz = p->types[type]->clocks_mhz[hes_rng_below(rng, p->types[type]->n_clocks)];
	while (out->n < n) {
		const uint32_t job = (uint32_t)hes_rng_below(rng, p->n);
		const uint32_t tens = 1 + (uint32_t)hes_rng_below(rng, HES_SHARE_SUM_PCT / HES_SHARE_STEP_PCT);
		const struct hes_member one = { (uint16_t)p->jobs[job].kind, (uint16_t)(tens * HES_SHARE_STEP_PCT) };
		uint32_t at = out->n++;

		for (; at > 0 && (one.kind < out->m[at - 1].kind ||
				  (one.kind == out->m[at - 1].kind && one.sm_pct < out->m[at - 1].sm_pct)); at--)
			out->m[at] = out->m[at - 1];
		out->m[at] = one;
		memory_mib += p->jobs[job].memory_mib;
		shares_pct += one.sm_pct;
		if (!hes_problem_runs(p, job, type))
			return false;
	}
	return memory_mib <= p->types[type]->memory_mib && shares_pct <= p->shares_pct[type];
}

/* @return 0 or -ENOMEM */
static int fit(const struct hes_problem *p, uint32_t type, struct hes_rng rng, struct constants *k)
{
	struct hes_rates *rates = hes_rates_new(p->request->predictor, p->types, p->solo, p->n_kinds);
	struct normal m = { .ww = 0 };
	size_t rows = 0;

	if (!rates)
		return -ENOMEM;
	for (size_t tries = 0, sets = 0; sets < SETS && tries < 20 * SETS; tries++) {
		struct hes_set s;

		if (!draw(p, type, &rng, &s))
			continue;
		learn(p, rates, &s, &m);
		rows += s.n;
		sets++;
	}
	hes_rates_free(rates);
	if (rows)
		solve(&m, rows, k);
	else
		*k = (struct constants){ .work = 1 };
	return 0;
}

/* Constants of each type, and members alone where there is a table for them. @return 0 or -ENOMEM */
static int fill(struct hes_estimator *e, uint64_t seed)
{
	const struct hes_problem *p = e->p;
	struct hes_rng all;
	int rc = 0;

	hes_rng_seed(&all, seed);
	for (uint32_t t = 0; t < p->n_types; t++) {
#pragma omp task shared(rc, all)
		if (fit(p, t, hes_rng_fork(&all, t), &e->types[t])) {
#pragma omp atomic write
			rc = -ENOMEM;
		}
	}
	for (uint32_t t = 0; t < p->n_types && e->alone; t++)
		for (uint16_t kind = 0; kind < p->n_kinds; kind++) {
			if (!(p->solo[t * p->n_kinds + kind].iteration_us > 0))
				continue;
#pragma omp task shared(rc)
			if (ask_alone(e, t, kind)) {
#pragma omp atomic write
				rc = -ENOMEM;
			}
		}
#pragma omp taskwait
	return rc;
}

int hes_estimator_new(const struct hes_problem *p, uint64_t seed, bool knows_all, struct hes_estimator **out)
{
	struct hes_estimator *e = calloc(1, sizeof(*e));
	int rc = -ENOMEM;

	if (!e)
		return rc;
	e->p = p;
	e->types = calloc(p->n_types + 1, sizeof(*e->types));
	if (e->types)
		rc = knows_all ? make_table(e) : 0;
	if (!rc)
		rc = fill(e, seed);
	if (rc)
		hes_estimator_free(e);
	else
		*out = e;
	return rc;
}

void hes_estimator_free(struct hes_estimator *e)
{
	if (!e)
		return;
	free(e->types);
	free(e->alone);
	free(e);
}
