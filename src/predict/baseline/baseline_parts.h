/*
 * baseline_parts.h - between baseline.c, which says how long things take, and
 * baseline_power.c, which says what they draw: a task beside a crowd.
 */
#ifndef HES_PREDICT_BASELINE_PARTS_H
#define HES_PREDICT_BASELINE_PARTS_H

#include "predict/baseline/baseline.h"

/** Neighbours as one. Parts of time are of an iteration of each by itself, mean. */
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

/** A task with its setting beside a crowd; times in us of an iteration. */
struct state {
	const struct base_task    *t;
	const struct base_setting *b;
	const struct hes_load     *co_runners;
	struct crowd               crowd;
	double memory_us;  /* the crowd there */
	double traffic;    /* against the solo iteration's */
	double serial_us;  /* synchronisation, the crowd there */
};

/** An iteration at a clock. */
struct iteration {
	double us;
	double gpu_us;     /* with a kernel running */
	double compute_us;
	double crowd_sms;  /* SMs that neighbours compute on meanwhile */
};

struct state baseline_state(const struct base_task *t, const struct base_setting *b, const struct hes_load *co_runners);
struct iteration baseline_iteration(const struct state *s, double mhz);

/** Clock x voltage^2, of those at the full clock. */
double baseline_switching(const struct base_task *t, double mhz);

/** Watts of all SMs that switch for a task, at the full clock: struct base_task. Needs all else of it. */
double baseline_own(const struct base_task *t);

/** Where the board's watts go. */
struct watts {
	double limit, idle;
	double context;        /* at the full clock */
	double dram;           /* at the data sheet's bandwidth */
	double others;         /* dynamic power of the neighbours, the task not there, at the clock asked for */
	double others_dram;    /* ... part of it that the memory draws */
	double others_longer;  /* neighbours' computing beside each other */
	double told;           /* all of the board's before the task came, by the neighbours' profiles; 0: unknown */
	double alone;          /* an iteration of a mean neighbour without the task, of one by itself */
};

/** What the board does at a clock. */
struct moment {
	struct iteration it;
	double power_w;
	double limiter_w;  /* what the limiter acts on: the power while the board is busy, the more so the longer that is */
};

#define BASELINE_MIN_SLOWDOWN 1e-3

struct watts baseline_watts(const struct state *s);

/** @param it  iteration at that clock. @param g  switching there */
struct moment baseline_moment(const struct state *s, const struct watts *w, const struct iteration *it, double mhz, double g);

/** The highest clock up to @high whose power is within the limit, by false position (Illinois). @param top  at @high */
struct moment baseline_fit_clock(const struct state *s, const struct watts *w, struct moment top, double high, double *mhz);

/** Power, and time where the limit lowers the clock. */
struct baseline baseline_powered(const struct state *s);

/** How much longer a neighbour computes where @others compute besides on a part of the SMs. */
static inline double crowd_squeeze(const struct state *s, double sms, double others, double crowd)
{
	return greater(1, sms + others) * (1 + crowd * s->t->k.shared[L2_CROWD] * lesser(1, others));
}

/** An iteration of a mean neighbour without what it does off the GPU, when computing takes @longer and memory @queue. */
static inline double crowd_paced(const struct state *s, double longer, double queue)
{
	const struct crowd *c = &s->crowd;

	return smooth_max(s->t->k.host, s->t->k.shared[HOST_SHARPNESS], c->launch,
			  c->computing * longer + (c->busy - c->computing) * queue);
}

/** ... with it, where so many others are @busy and serve. */
static inline double crowd_serial(const struct state *s, double busy, double serving)
{
	const struct crowd *c = &s->crowd;
	const double *k = s->t->k.shared;

	return (c->serial - c->sync) * (1 + k[COPY_CROWD] * busy) + c->sync * (1 + k[SYNC_CROWD] * serving);
}

#endif
