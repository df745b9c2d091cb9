/*
 * powers.c - the powers of tenants: profiles of the store, profiling leases, running averages.
 *
 * A tenant without a profile has, once, a profiling lease that is not charged. It is divided into
 * parts; where their powers differ too much it is repeated. A tenant that always releases early
 * gets no more profiling leases once it has held them for the profiling time. A user may start few
 * of them at a time, so that new names do not buy free time.
 */
#include <math.h>
#include <string.h>

#include "arbiter/arbiter_state.h"

#define ROUNDS      3
#define STEADY_CV   0.05
#define PART_OF_NEW 0.2  /* of a new measurement in the running average */
#define NOTICEABLE  0.02 /* a smaller change of power does not change slices */
#define WORTH_STORE 0.05
#define EXTRA_PARTS \
	2 /* of a profiling lease: the first, which does not count, and one for delays */
#define LIMIT_PART 0.5 /* of the power limit: assumed where nothing is known */
#define UNKNOWN_W  100.0

static struct arbiter_profile power_key(const struct arbiter *a, const struct tenant *t)
{
	struct arbiter_profile p = { .uid = t->uid,
				     .clock_mhz = tenant_clock(&a->gpus[t->gpu], t) };

	memcpy(p.tenant, t->name, sizeof(p.tenant));
	return p;
}

static void power_set(struct arbiter *a, struct tenant *t, double watts)
{
	watts = fmin(fmax(watts, HES_FAIR_MIN_NUMBER), HES_FAIR_MAX_NUMBER);
	if (fabs(watts / t->power_w - 1) < NOTICEABLE)
		return;
	t->power_w = watts;
	tenant_change(a, t);
}

void powers_assume(struct arbiter *a, struct gpu *g)
{
	uint32_t gpu = (uint32_t)(g - a->gpus), n = 0;
	double sum = 0, watts;

	for (uint32_t i = 0; i < a->n_tenants; i++)
		if (a->tenants[i].used && a->tenants[i].gpu == gpu && a->tenants[i].power_known) {
			sum += a->tenants[i].power_w;
			n++;
		}
	watts = n ? sum / n : g->c.limit_w > 0 ? LIMIT_PART * g->c.limit_w : UNKNOWN_W;
	for (uint32_t i = 0; i < a->n_tenants; i++)
		if (a->tenants[i].used && a->tenants[i].gpu == gpu && !a->tenants[i].power_known)
			power_set(a, &a->tenants[i], watts);
}

double tenant_watts(const struct tenant *t)
{
	return t->power_known ? t->mean_w : t->power_w;
}

static void power_learn(struct arbiter *a, struct gpu *g, struct tenant *t, double watts)
{
	bool first = !t->power_known;

	t->power_known = true;
	t->mean_w = watts;
	power_set(a, t, watts);
	if (first)
		powers_assume(a, g);
}

void power_look_up(struct arbiter *a, struct tenant *t)
{
	const struct arbiter_profile p = power_key(a, t);
	const struct gpu *g = &a->gpus[t->gpu];

	t->profile = (struct profile){ .state = PROFILE_NONE };
	t->power_known = false;
	if (!g->gone && a->out.find_profile(a->out.ctx, t->gpu, &p))
		t->profile.state = PROFILE_REQUESTED;
}

void arbiter_profile_found(struct arbiter *a, size_t gpu, const struct arbiter_profile *p,
			   uint64_t now)
{
	struct gpu *g = &a->gpus[gpu];

	for (uint32_t i = 0; i < a->n_tenants; i++) {
		struct tenant *t = &a->tenants[i];

		if (!t->used || t->gpu != gpu || t->uid != p->uid ||
		    t->profile.state != PROFILE_REQUESTED || tenant_clock(g, t) != p->clock_mhz ||
		    strcmp(t->name, p->tenant) != 0)
			continue;
		t->profile.state = PROFILE_NONE;
		if (!(p->power_w >= HES_FAIR_MIN_NUMBER && p->power_w <= HES_FAIR_MAX_NUMBER))
			continue;
		lease_account(a, g, now);
		t->profile.state = PROFILE_KNOWN;
		t->profile.kept_w = p->power_w;
		power_learn(a, g, t, p->power_w);
	}
	arbiter_settle(a, now);
}

void power_keep(struct arbiter *a, struct tenant *t, double cv, double seconds)
{
	struct arbiter_profile p = power_key(a, t);

	if (!t->power_known || fabs(t->mean_w / t->profile.kept_w - 1) < WORTH_STORE)
		return;
	p.power_w = t->profile.kept_w = t->mean_w;
	p.cv = cv;
	p.seconds = seconds;
	a->out.keep_profile(a->out.ctx, t->gpu, &p);
}

static double parts_cv(const struct profile *p)
{
	double mean = p->sum_w / p->parts, variance = p->sum_w2 / p->parts - mean * mean;

	return variance > 0 && mean > 0 ? sqrt(variance) / mean : 0;
}

/* Its parts are steady, or have been tried often enough. */
static void profile_finish(struct arbiter *a, struct gpu *g, struct tenant *t)
{
	struct profile *p = &t->profile;
	double watts = p->sum_w / p->parts;
	struct arbiter_note n = { ARBITER_PROFILED, t->gpu, t->uid, t->pid, t->name, "", watts };

	p->over = true;
	p->state = PROFILE_KNOWN;
	power_learn(a, g, t, watts);
	p->kept_w = 0;
	power_keep(a, t, parts_cv(p), (double)p->measured_ns * 1e-9);
	a->out.note(a->out.ctx, &n);
}

static void profile_end_round(struct arbiter *a, struct gpu *g, struct tenant *t)
{
	struct profile *p = &t->profile;

	p->rounds++;
	if (p->parts >= 2 && (parts_cv(p) <= STEADY_CV || p->rounds >= ROUNDS))
		profile_finish(a, g, t);
	else
		p->over = p->rounds >= ROUNDS;
	p->parts = 0;
	p->sum_w = p->sum_w2 = 0;
	p->measured_ns = p->held_ns = 0;
}

static void profile_add(struct arbiter *a, struct gpu *g, struct tenant *t, double watts,
			uint64_t ns)
{
	struct profile *p = &t->profile;

	if (p->state != PROFILE_NONE || p->over || !a->c.profile_ns)
		return;
	p->parts++;
	p->sum_w += watts;
	p->sum_w2 += watts * watts;
	p->measured_ns += ns;
	if (p->measured_ns + g->part_ns / 2 >= a->c.profile_ns)
		profile_end_round(a, g, t);
}

void power_measured(struct arbiter *a, struct gpu *g, struct tenant *t, double watts, uint64_t ns,
		    bool first_part)
{
	/* The first part has what the sensor still shows of the time before. */
	if (!(watts > 0) || !isfinite(watts) || (first_part && !t->power_known))
		return;
	power_learn(a, g, t,
		    t->power_known ? (1 - PART_OF_NEW) * t->mean_w + PART_OF_NEW * watts : watts);
	if (!first_part)
		profile_add(a, g, t, watts, ns);
}

bool profiling_may_begin(struct arbiter *a, const struct gpu *g, const struct tenant *t,
			 uint64_t now)
{
	const struct user *u;

	if (!a->c.profile_ns || !g->refresh_ns || g->gone || t->profile.state != PROFILE_NONE ||
	    t->profile.over)
		return false;
	u = user_find(a, t->uid, now);
	return t->profile.begun || (u && u->profilings >= 1);
}

uint64_t profiling_length(const struct arbiter *a, const struct gpu *g, const struct tenant *t)
{
	uint64_t measured = t->profile.measured_ns;

	return EXTRA_PARTS * g->part_ns +
	       (measured < a->c.profile_ns ? a->c.profile_ns - measured : 0);
}

void profiling_begin(struct arbiter *a, struct tenant *t, uint64_t now)
{
	struct user *u = user_find(a, t->uid, now);

	if (u && !t->profile.begun)
		u->profilings--;
	t->profile.begun = true;
}

void profiling_end(struct arbiter *a, struct gpu *g, struct tenant *t, const struct lease *l,
		   uint64_t held_ns)
{
	struct profile *p = &t->profile;

	if (p->state != PROFILE_NONE || p->over || p->rounds != l->rounds)
		return;
	p->held_ns += held_ns;
	if (p->held_ns >= a->c.profile_ns + 2 * EXTRA_PARTS * g->part_ns)
		profile_end_round(a, g, t);
}
