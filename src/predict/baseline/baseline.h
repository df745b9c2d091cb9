/*
 * baseline.h - time and power of a query as a closed form: a roofline of share, clock, memory and
 * host.
 *
 * Its constants are fitted to samples (calibrate.h); boosted trees learn the residual
 * (docs/predictor.md).
 */
#ifndef HES_PREDICT_BASELINE_H
#define HES_PREDICT_BASELINE_H

#include "heshare/predict.h"
#include "predict/baseline/smooth_max.h"

/** Constants of GPUs and jobs in general. */
enum shared_constant {
	WIDTH_SHARPNESS, /* how sharply a share bends into the SMs that a task can use */
	HOST_SHARPNESS,  /* ... launching into the GPU's work, of which the longer counts */
	L2_CROWD,        /* slowdown of computing when co-runners compute on all SMs */
	COPY_CROWD,      /* slowdown of copies for each busy co-runner */
	SYNC_CROWD,      /* slowdown of synchronisation for each co-runner that synchronises */
	MISS_GROWTH,     /* growth of traffic with the misses caused by co-runners' working sets */
	SET_SCALE,       /* co-runners' working sets / L2 utilisation in their profiles */
	GAP_PART,        /* launch gaps on the GPU, of the host's launch time */
	SM_SCALE,        /* co-runners' SMs and ... */
	DRAM_SCALE,      /* ... bandwidth / that of their profiles */
	CO_RUNNER_CROWD, /* slowdown of the co-runners' computing, of L2_CROWD */
	CO_RUNNER_DRAM,  /* slowdown of the co-runners' memory phases by the task's traffic, of
			    DRAM_CROWD */
	HELD_SCALE,      /* co-runners' power without a limit / that of their profiles */
	POWER_TRUST,     /* weight of one co-runner's profile against the power reading, 0..1 */
	CROWD_TRUST,     /* ... of the summed profiles of several co-runners */
	NAMED_TRUST,     /* ... of one co-runner that is known by name */
	CHAIN_TRUST,     /* ... of several, each predicted with those before it */
	SYNC_S,      /* synchronisation per iteration of a co-runner that is known only by sums */
	KERNELS,     /* of an iteration of a co-runner that is known only by sums */
	KERNEL_WAIT, /* part of the wait for SMs that is for co-runners' kernels, whatever the
			length of one's own */
	SHARED_CONSTANTS
};

/** Constants of a GPU type. */
enum type_constant {
	REACH,      /* part of the data sheet's bandwidth that is reached */
	SATURATING, /* part of the SMs that draws all of it */
	CONTEXT,    /* power of a GPU that is not idle, as part of its limit, at the full clock */
	DRAM_POWER, /* power of the memory at the data sheet's bandwidth, of the limit */
	STALL,      /* power of an SM that waits, of one that computes */
	VOLTAGE_FLOOR, /* lowest voltage, of that at the full clock */
	KNEE,          /* clock up to which it is enough, of the full one */
	VOLTAGE_BEND,  /* exponent of the rise from there */
	POWER_SCALE,   /* co-runners' dynamic power / that of their profiles */
	LIMITER_S,     /* time over which the power limit is held */
	DRAM_CROWD,    /* slowdown of memory phases when co-runners use all of the bandwidth */
	TYPE_CONSTANTS
};

/** Constants of a workload. */
enum workload_constant {
	HOST_PART, /* launch time as part of the shortest known iteration; overlaps with the GPU's
		      work */
	SYNC_US,   /* one synchronisation per iteration, with the GPU idle */
	FIXED_MB,  /* traffic of an iteration that no cache saves: weights */
	ISSUE_US,  /* launch time of a kernel */
	WORKLOAD_CONSTANTS
};

/** One value of each; pointers to the owner's. */
struct constants {
	const double *shared, *type, *workload;
	const struct smooth_max *host; /* by HOST_SHARPNESS; NULL: by powers */
};

/** A task on a GPU type, before its setting and its co-runners are known. Times of an iteration in
 * us. */
struct base_task {
	struct constants k;
	const struct hes_gpu_type *gpu;
	const struct hes_profile *task;
	double busy;       /* part of the time with a kernel running */
	double width;      /* part of the SMs that it uses meanwhile */
	double bending;    /* width^sharpness */
	double saturating; /* the type's saturating share, to the same */
	double solo_us, solo_mhz;
	double compute_part, memory_part; /* of the solo iteration */
	double set;                       /* its working set while it is busy, in L2 capacities */
	double saved;                     /* part of the traffic that L2 can save */
	double launch_us, gap_us;
	double kernels;          /* of an iteration */
	double sync_us, copy_us; /* nobody there */
	double off_gpu;          /* part of the solo iteration */
	double fit;       /* factor that makes launching and GPU work fit into the solo iteration */
	double computing; /* SMs that compute, of all, mean over the solo iteration */
	double own;       /* watts of all SMs that switch for it, at the full clock */
};

/** ... with a share at a clock. */
struct base_setting {
	double clock_mhz;
	double share;
	double sms;        /* part of the SMs it computes on */
	double draw;       /* part of the bandwidth that its share can draw */
	double compute_us; /* at the profiled clock, without co-runners */
	double switching;  /* clock x voltage^2 */
};

struct baseline {
	double slowdown; /* time of an iteration, of its time alone at the profiled clock */
	double demand_w; /* power without a limit */
	double power_w;  /* what it draws */
	double clock;    /* held clock / requested clock */
	double others_w; /* dynamic power of the co-runners before the task started */
	/* GPU power before the task started, from the co-runners' profiles alone:
	 * baseline_reads_power() */
	double predicted_w;
	double off_gpu;    /* part of the solo iteration that overlaps with nothing */
	double crowded_sm; /* SMs that co-runners compute on while the task runs */
};

/** All that is known when a job is about to join a GPU. */
struct query {
	const struct hes_gpu_type *gpu;
	const struct hes_profile *task;
	const struct hes_setting *setting;
	const struct hes_load *co_runners;
	struct baseline base; /* of the above: baseline_of */
};

/** Keeps pointers to its arguments. */
struct base_task baseline_task(const struct constants *k, const struct hes_gpu_type *g,
			       const struct hes_profile *task);
struct base_setting baseline_setting(const struct base_task *t, const struct hes_setting *s);

/** Time and power of a task and its setting with co-runners. */
struct baseline baseline_with(const struct base_task *t, const struct base_setting *b,
			      const struct hes_load *co_runners);

/**
 * All steps at once. Does not read q->base. Times and powers are positive and finite for any query
 * and constants within their ranges.
 */
struct baseline baseline_of(const struct constants *k, const struct query *q);

/** What a fit compares with measurements, as in struct baseline. */
struct baseline_outputs {
	double slowdown, power_w, predicted_w;
};

/** The outputs, and the outputs when one constant at a time is moved. */
struct baseline_moves {
	struct baseline_outputs at;
	struct baseline_outputs shared[SHARED_CONSTANTS];
	struct baseline_outputs type[TYPE_CONSTANTS];
	struct baseline_outputs workload[WORKLOAD_CONSTANTS];
};

/**
 * baseline_of() with each constant in turn as in @moved, for derivatives. What a constant cannot
 * change is not computed again, and a clock held by the limit moves linearly, so moves must be
 * small.
 */
void baseline_move(const struct constants *k, const struct constants *moved, const struct query *q,
		   struct baseline_moves *out);

/** hes_load_add() with constants: what a co-runner does alone under its setting. */
void baseline_join(const struct base_task *t, const struct base_setting *b,
		   const struct hes_setting *s, struct hes_load *load);

/**
 * Whether the power reading before the task can be compared with co-runners' profiles: they are
 * known, and no limit held the clock.
 */
bool baseline_reads_power(const struct query *q);

/** Clock the solo profile holds for. */
double baseline_clock_mhz(const struct query *q);

/** Part of the SMs a task uses while it has a kernel running. */
double baseline_width(const struct hes_profile *task);

#endif
