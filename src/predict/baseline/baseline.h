/*
 * baseline.h - time and power as a closed form of what a query says: a
 * roofline of share, clock, memory and host. Its constants are learnt from
 * samples (calibrate.h); the regressors learn what it misses (docs/predictor.md).
 */
#ifndef HES_PREDICT_BASELINE_H
#define HES_PREDICT_BASELINE_H

#include "heshare/predict.h"
#include "predict/baseline/smooth_max.h"

/** Constants of GPUs and jobs in general. */
enum shared_constant {
	WIDTH_SHARPNESS,  /* how sharply a share bends into the SMs that a task can use */
	HOST_SHARPNESS,   /* ... launching into the GPU's work, of which the longer counts */
	L2_CROWD,         /* slowdown of computing beside neighbours that compute on all SMs */
	DRAM_CROWD,       /* slowdown of memory phases beside neighbours that draw all of the bandwidth */
	COPY_CROWD,       /* slowdown of copies for each busy neighbour */
	SYNC_CROWD,       /* slowdown of synchronisation for each neighbour that synchronises */
	MISS_GROWTH,      /* growth of traffic with the misses that neighbours' working sets cause */
	SET_SCALE,        /* neighbours' working sets against what their L2 utilisation tells */
	GAP_PART,         /* launch gaps on the GPU, of the host's launch time */
	SM_SCALE,         /* neighbours' SMs and ... */
	DRAM_SCALE,       /* ... bandwidth against what their profiles tell */
	NEIGHBOUR_CROWD,  /* slowdown of the neighbours' computing, of L2_CROWD */
	NEIGHBOUR_DRAM,   /* slowdown of the neighbours' memory phases by the task's traffic, of DRAM_CROWD */
	HELD_SCALE,       /* what neighbours would draw without a limit, against what their profiles tell */
	POWER_TRUST,      /* weight of what one neighbour's profile tells beside the power that was read, 0..1 */
	CROWD_TRUST,      /* ... of what the summed profiles of several tell */
	NAMED_TRUST,      /* ... of what one neighbour with a name tells */
	CHAIN_TRUST,      /* ... of what several tell, each beside those before it */
	SYNC_S,           /* synchronisation in an iteration of a neighbour that is known by its sums */
	SHARED_CONSTANTS
};

/** Constants of a GPU type. */
enum type_constant {
	REACH,         /* part of the data sheet's bandwidth that is reached */
	SATURATING,    /* part of the SMs that draws all of it */
	CONTEXT,       /* power of a board that is not idle, of its limit, at the full clock */
	DRAM_POWER,    /* power of the memory at the data sheet's bandwidth, of the limit */
	STALL,         /* power of an SM that waits, of one that computes */
	VOLTAGE_FLOOR, /* lowest voltage, of that at the full clock */
	KNEE,          /* clock up to which it is enough, of the full one */
	VOLTAGE_BEND,  /* exponent of the rise from there */
	POWER_SCALE,   /* neighbours' dynamic power against what their profiles tell */
	LIMITER_S,     /* time over which the power limit is held */
	TYPE_CONSTANTS
};

/** Constants of a workload. */
enum workload_constant {
	HOST_PART,     /* launching an iteration, of the shortest one known; hides behind the GPU's work */
	SYNC_US,       /* synchronising once an iteration, the GPU idle */
	FIXED_MB,      /* traffic of an iteration that no cache saves: weights */
	WORKLOAD_CONSTANTS
};

/** One value of each; somebody else's. */
struct constants {
	const double *shared, *type, *workload;
	const struct smooth_max *host; /* by HOST_SHARPNESS; NULL: by powers */
};

/** A task on boards of a type, whatever its setting and who is beside it. Times in us of an iteration. */
struct base_task {
	struct constants           k;
	const struct hes_gpu_type *gpu;
	const struct hes_profile  *task;
	double busy;       /* part of the time with a kernel running */
	double width;      /* part of the SMs that it uses meanwhile */
	double bending;    /* width^sharpness */
	double saturating; /* the type's saturating share, to the same */
	double solo_us, solo_mhz;
	double compute_part, memory_part; /* of the solo iteration */
	double set;        /* its working set while it is busy, in L2 capacities */
	double saved;      /* part of the traffic that L2 can save */
	double launch_us, gap_us;
	double sync_us, copy_us;          /* nobody there */
	double off_gpu;    /* part of the solo iteration */
	double fit;        /* what makes launching and GPU fit into the solo iteration */
	double computing;  /* SMs that compute, of all, mean over the solo iteration */
	double own;        /* watts of all SMs that switch for it, at the full clock */
};

/** ... with a share at a clock. */
struct base_setting {
	double clock_mhz;
	double share;
	double sms;        /* part of the SMs it computes on */
	double draw;       /* part of the bandwidth that its share can draw */
	double compute_us; /* at the profiled clock, nobody there */
	double switching;  /* clock x voltage^2 */
};

struct baseline {
	double slowdown;   /* time of an iteration, of its time alone at the profiled clock */
	double demand_w;   /* what the board would draw if it had no limit */
	double power_w;    /* what it draws */
	double clock;      /* that it holds, of the one asked for */
	double others_w;   /* dynamic power of the neighbours before the task came */
	double told_w;     /* board power before the task came, by the neighbours' profiles alone: baseline_tells() */
	double off_gpu;    /* part of the solo iteration that nothing hides */
	double crowded_sm; /* SMs that neighbours compute on beside the task */
};

/** All that is known when a job is about to join a GPU. */
struct query {
	const struct hes_gpu_type *gpu;
	const struct hes_profile  *task;
	const struct hes_setting  *setting;
	const struct hes_load     *co_runners;
	struct baseline            base;    /* of the above: baseline_of */
};

/** It keeps pointers to what it is given. */
struct base_task baseline_task(const struct constants *k, const struct hes_gpu_type *g, const struct hes_profile *task);
struct base_setting baseline_setting(const struct base_task *t, const struct hes_setting *s);

/** What is told of a task and its setting beside others. */
struct baseline baseline_beside(const struct base_task *t, const struct base_setting *b, const struct hes_load *co_runners);

/** All of that at once. Does not read q->base. Times and powers are positive and finite for any query and constants within their ranges. */
struct baseline baseline_of(const struct constants *k, const struct query *q);

/** What a fit compares with measurements; as in struct baseline. */
struct baseline_answer {
	double slowdown, power_w, told_w;
};

/** An answer, and what it is when one constant after the other is moved. */
struct baseline_moves {
	struct baseline_answer at;
	struct baseline_answer shared[SHARED_CONSTANTS];
	struct baseline_answer type[TYPE_CONSTANTS];
	struct baseline_answer workload[WORKLOAD_CONSTANTS];
};

/**
 * baseline_of() with each constant in turn as in @moved, for derivatives: what a constant cannot change is not asked
 * anew, and a clock held by the limit moves in proportion. So small moves only.
 */
void baseline_move(const struct constants *k, const struct constants *moved, const struct query *q,
		   struct baseline_moves *out);

/** hes_load_add() by constants: what a neighbour does alone under its setting. */
void baseline_join(const struct base_task *t, const struct base_setting *b, const struct hes_setting *s,
		   struct hes_load *load);

/** Whether neighbours' profiles tell the board power that was read before the task came: they are known, and no limit held it. */
bool baseline_tells(const struct query *q);

/** Clock the solo profile holds for. */
double baseline_clock_mhz(const struct query *q);

/** Part of the SMs a task uses while it has a kernel running. */
double baseline_width(const struct hes_profile *task);

#endif
