/*
 * baseline_move.c - the baseline when a constant is moved a little; see baseline.h. The tables say
 * which steps a constant affects.
 */
#include <string.h>

#include "predict/baseline/baseline_parts.h"

#define RISE_STEP 1e-4 /* of the clock, for what it changes */

/* The steps to compute again when a constant moves: this one and all before it, with the exceptions
 * below. */
enum depth {
	POWER,     /* watts and what follows from them */
	OWN,       /* the task's own watts and the voltage; not the iteration */
	ITERATION, /* the iteration; not the task's own watts */
	STATE,     /* the effect of co-runners on the task; not its own watts */
	HOST,      /* the task; not what its share gives */
	BY_POWERS, /* the same, without the table of the smooth maximum, which is of the constant
		      that moves */
	ALL,
};

struct reach {
	enum depth depth;
	bool co_runners; /* only with co-runners */
};

static const struct reach shared_reach[SHARED_CONSTANTS] = {
	[WIDTH_SHARPNESS] = { ALL, false }, [HOST_SHARPNESS] = { BY_POWERS, false },
	[L2_CROWD] = { ITERATION, true },   [KERNEL_WAIT] = { ITERATION, true },
	[COPY_CROWD] = { ITERATION, true }, [SYNC_CROWD] = { STATE, true },
	[MISS_GROWTH] = { STATE, true },    [SET_SCALE] = { STATE, true },
	[GAP_PART] = { HOST, false },       [SM_SCALE] = { STATE, true },
	[DRAM_SCALE] = { STATE, true },     [CO_RUNNER_CROWD] = { POWER, true },
	[CO_RUNNER_DRAM] = { POWER, true }, [HELD_SCALE] = { POWER, true },
	[POWER_TRUST] = { POWER, true },    [CROWD_TRUST] = { POWER, true },
	[NAMED_TRUST] = { POWER, true },    [CHAIN_TRUST] = { POWER, true },
	[SYNC_S] = { STATE, true },         [KERNELS] = { STATE, true },
};

static const struct reach type_reach[TYPE_CONSTANTS] = {
	[REACH] = { ALL, false },        [SATURATING] = { ALL, false },
	[CONTEXT] = { OWN, false },      [DRAM_POWER] = { OWN, false },
	[STALL] = { OWN, false },        [VOLTAGE_FLOOR] = { OWN, false },
	[KNEE] = { OWN, false },         [VOLTAGE_BEND] = { OWN, false },
	[POWER_SCALE] = { POWER, true }, [LIMITER_S] = { POWER, false },
	[DRAM_CROWD] = { STATE, true },
};

static const struct reach workload_reach[WORKLOAD_CONSTANTS] = {
	[HOST_PART] = { HOST, false },
	[SYNC_US] = { HOST, false },
	[FIXED_MB] = { HOST, false },
	[ISSUE_US] = { HOST, true },
};

/* The outputs from which constants are moved. */
struct rest {
	const struct query *q;
	struct base_task t;
	struct base_setting b;
	struct state s;
	struct watts w;
	struct moment m;
	double mhz, switching;
	struct moment rise; /* m's change by a MHz, where the limit holds the clock; else 0 */
};

static struct moment rise_of(const struct rest *r)
{
	double h = RISE_STEP * r->mhz, mhz = r->mhz - h;
	const struct iteration it = baseline_iteration(&r->s, mhz);
	const struct moment m =
		baseline_moment(&r->s, &r->w, &it, mhz, baseline_switching(&r->t, mhz));

	return (struct moment){
		.it = { .us = (r->m.it.us - it.us) / h },
		.power_w = (r->m.power_w - m.power_w) / h,
		.limiter_w = (r->m.limiter_w - m.limiter_w) / h,
	};
}

/* @param r  in its place: its parts point to one another */
static void rest_init(struct rest *r, const struct constants *k, const struct query *q)
{
	struct iteration it;

	r->q = q;
	r->t = baseline_task(k, q->gpu, q->task);
	r->b = baseline_setting(&r->t, q->setting);
	r->s = baseline_state(&r->t, &r->b, q->co_runners);
	r->w = baseline_watts(&r->s);
	r->mhz = r->b.clock_mhz;
	it = baseline_iteration(&r->s, r->mhz);
	r->m = baseline_moment(&r->s, &r->w, &it, r->mhz, r->b.switching);
	r->rise = (struct moment){ .power_w = 0 };
	r->switching = r->b.switching;
	if (!(r->m.limiter_w > r->w.limit))
		return;
	r->m = baseline_fit_clock(&r->s, &r->w, r->m, r->mhz, &r->mhz);
	r->switching = baseline_switching(&r->t, r->mhz);
	if (r->mhz > q->gpu->clock_min_mhz)
		r->rise = rise_of(r);
}

static struct baseline_outputs answer_of(const struct base_task *t, const struct watts *w,
					 double us, double power_w)
{
	return (struct baseline_outputs){
		greater(us / t->solo_us, BASELINE_MIN_SLOWDOWN),
		greater(power_w, 1e-3),
		greater(w->profiled, 1e-3),
	};
}

/* The clock moves so that the limiter's power stays at the limit (implicit function theorem). */
static struct baseline_outputs move(const struct rest *r, const struct constants *k,
				    enum depth depth)
{
	struct base_task t = r->t;
	struct base_setting b = r->b;
	struct state s = r->s;
	struct iteration it = r->m.it;
	struct moment m;
	struct watts w;
	double mhz = 0;

	t.k = *k;
	if (depth == BY_POWERS)
		t.k.host = NULL;
	if (depth >= HOST)
		t = baseline_task(&t.k, t.gpu, t.task);
	if (depth == ALL)
		b = baseline_setting(&t, r->q->setting);
	if (depth == OWN) {
		t.own = baseline_own(&t);
		b.switching = baseline_switching(&t, b.clock_mhz);
	}
	s.t = &t;
	s.b = &b;
	if (depth >= STATE)
		s = baseline_state(&t, &b, r->q->co_runners);
	if (depth >= ITERATION)
		it = baseline_iteration(&s, r->mhz);
	w = baseline_watts(&s);
	m = baseline_moment(&s, &w, &it, r->mhz,
			    depth == OWN ? baseline_switching(&t, r->mhz) : r->switching);
	if (r->rise.limiter_w > 0)
		mhz = (r->m.limiter_w - m.limiter_w) / r->rise.limiter_w;
	return answer_of(&t, &w, it.us + mhz * r->rise.it.us, m.power_w + mhz * r->rise.power_w);
}

/* @param k, own  a copy of the constants, some of which are moved one by one */
static void move_each(const struct rest *r, const struct constants *k, double *own,
		      const double *moved, const struct reach *reach, size_t n,
		      struct baseline_outputs *out)
{
	const struct baseline_outputs at = answer_of(&r->t, &r->w, r->m.it.us, r->m.power_w);

	for (size_t i = 0; i < n; i++) {
		double kept = own[i];

		out[i] = at;
		if (reach[i].co_runners && !r->q->co_runners->jobs)
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
	const struct constants own = { shared, type, workload, k->host };
	struct rest r;

	memcpy(shared, k->shared, sizeof(shared));
	memcpy(type, k->type, sizeof(type));
	memcpy(workload, k->workload, sizeof(workload));
	rest_init(&r, &own, q);
	out->at = answer_of(&r.t, &r.w, r.m.it.us, r.m.power_w);
	move_each(&r, &own, shared, moved->shared, shared_reach, SHARED_CONSTANTS, out->shared);
	move_each(&r, &own, type, moved->type, type_reach, TYPE_CONSTANTS, out->type);
	move_each(&r, &own, workload, moved->workload, workload_reach, WORKLOAD_CONSTANTS,
		  out->workload);
}
