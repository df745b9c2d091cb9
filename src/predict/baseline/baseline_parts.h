/*
 * baseline_parts.h - shared by baseline.c (times) and baseline_power.c (power): a task with its
 * co-runners.
 */
#ifndef HES_PREDICT_BASELINE_PARTS_H
#define HES_PREDICT_BASELINE_PARTS_H

#include "predict/baseline/baseline.h"

/** All co-runners as their mean. Parts of time refer to an iteration of each alone. */
struct crowd {
	double n;
	double sms;       /* SMs that each uses while it is busy, mean */
	double busy;      /* part of the time with a kernel running */
	double computing; /* ... that SMs compute; the rest of busy waits for memory */
	double serial;    /* ... that it copies or synchronises */
	double sync;      /* ... that it synchronises */
	double launch;    /* ... that launching would take if it did not overlap */
	double sm_busy;   /* SMs that compute for them */
	double wide;      /* SMs that their kernels occupy */
	double kernel_us; /* their mean kernel, by SMs; 0: unknown */
	double dram;      /* bandwidth they use while the task runs */
	double misses;    /* their traffic with the task / without it */
	double sets;      /* their working sets, of the L2 */
	double busy_sum;
	double serving; /* how many of them synchronise at a time */
};

/** A task with its setting and its co-runners; times of an iteration in us. */
struct state {
	const struct base_task *t;
	const struct base_setting *b;
	const struct hes_load *co_runners;
	struct crowd crowd;
	double memory_us; /* the crowd there */
	double traffic;   /* against the solo iteration's */
	double serial_us; /* synchronisation, with co-runners */
};

/** An iteration at a clock. */
struct iteration {
	double us;
	double gpu_us; /* with a kernel running */
	double compute_us;
	double kernel_us; /* mean kernel */
	double crowd_sms; /* SMs that co-runners compute on meanwhile */
};

struct state baseline_state(const struct base_task *t, const struct base_setting *b,
			    const struct hes_load *co_runners);
struct iteration baseline_iteration(const struct state *s, double mhz);

/** Clock x voltage^2, of those at the full clock. */
double baseline_switching(const struct base_task *t, double mhz);

/** Watts of all SMs that switch for a task, at the full clock (struct base_task). Needs its other
 * fields. */
double baseline_own(const struct base_task *t);

/** The parts of the GPU's power. */
struct watts {
	double limit, idle;
	double context; /* at the full clock */
	double dram;    /* at the data sheet's bandwidth */
	double others;  /* dynamic power of the co-runners without the task, at the requested clock
			 */
	double others_dram;   /* ... part of it that the memory draws */
	double others_longer; /* computing of co-runners while others compute */
	double profiled; /* GPU power before the task started, from the co-runners' profiles; 0:
			    unknown */
	double alone;    /* an iteration of a mean co-runner without the task / alone */
};

/** What the GPU does at a clock. */
struct moment {
	struct iteration it;
	double power_w;
	double limiter_w; /* what the limiter acts on: between mean power and the power while the
			     GPU is busy */
};

#define BASELINE_MIN_SLOWDOWN 1e-3

struct watts baseline_watts(const struct state *s);

/** @param it  iteration at that clock. @param g  switching there */
struct moment baseline_moment(const struct state *s, const struct watts *w,
			      const struct iteration *it, double mhz, double g);

/** The highest clock up to @high whose power is within the limit. @param top  the power at @high */
struct moment baseline_fit_clock(const struct state *s, const struct watts *w, struct moment top,
				 double high, double *mhz);

/** Power, and time where the limit lowers the clock. */
struct baseline baseline_powered(const struct state *s);

/** How much longer a job computes when @others compute on a part of the SMs, too. */
static inline double crowd_longer(const struct state *s, double others, double crowd)
{
	return 1 + crowd * s->t->k.shared[L2_CROWD] * lesser(1, others);
}

/** What a job waits for SMs, of the time of its own kernels, when @others occupy a part of the SMs
 * besides its own @sms. @param kernels  co-runners' mean kernel, of its own */
static inline double crowd_wait(const struct state *s, double sms, double others, double kernels)
{
	return greater(0, sms + others - 1) * (1 + s->t->k.shared[KERNEL_WAIT] * (kernels - 1));
}

/** ... of a mean co-runner, with the task occupying SMs with kernels. */
double crowd_wait_with(const struct state *s, double wide, double task_wide, double task_kernel_us);

/** An iteration of a mean co-runner without its work off the GPU, when computing takes @longer,
 * memory @queue, and it waits. */
static inline double crowd_paced(const struct state *s, double longer, double queue, double wait)
{
	const struct crowd *c = &s->crowd;

	return smooth_max(s->t->k.host, s->t->k.shared[HOST_SHARPNESS], c->launch,
			  (c->computing * longer + (c->busy - c->computing) * queue) * (1 + wait));
}

/** ... its work off the GPU, when so many others are @busy and synchronise. */
static inline double crowd_serial(const struct state *s, double busy, double serving)
{
	const struct crowd *c = &s->crowd;
	const double *k = s->t->k.shared;

	return (c->serial - c->sync) * (1 + k[COPY_CROWD] * busy) +
	       c->sync * (1 + k[SYNC_CROWD] * serving);
}

#endif
