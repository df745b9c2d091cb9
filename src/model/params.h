/*
 * params.h - the physics parameters in memory, and one table a kind that
 * says where each lies, its name and range. Reading, checking, writing and
 * fitting all go by these tables.
 */
#ifndef HES_MODEL_PARAMS_H
#define HES_MODEL_PARAMS_H

#include <stddef.h>

#include "heshare/model.h"

#define HES_MATHS      3
#define HES_MIB_PER_GB 953.67431640625 /* 10^9 bytes */

/** How a GPU type behaves beyond its data sheet. */
struct hes_gpu_physics {
	char type[HES_NAME_MAX];   /* name in the catalogue of GPU types */
	char origin[HES_NAME_MAX]; /* data set it was fitted on, or "derived" */
	double rate[HES_MATHS]; /* flop a cycle and SM at efficiency 1; TF32 0: the type has none */
	double bandwidth_fraction; /* of the data sheet's bandwidth that can be reached */
	double saturating_share;   /* share of the SMs that can draw all of it */
	double launch_us;          /* gap between two kernels */
	double pcie_gbs;
	double host_factor; /* host time of the machine it was measured in, against those that the
			       workloads were fitted on */
	double context_w;   /* above idle when a context exists, whatever the clock */
	double switch_w;    /* all SMs computing at full clock and voltage */
	double stall;       /* switching of an SM that waits for memory, of a computing one */
	double dram_w;      /* memory at full traffic */
	double volt_min;    /* voltage below the knee, of that at full clock */
	double volt_knee;   /* clock of the knee, of full clock */
	double volt_bend;   /* exponent of the rise above the knee */
	double limiter_ms;  /* window over which the power limiter averages */
	double clocked_w; /* clocks of a GPU with jobs, whatever they do, at full clock and voltage;
			     a file without it: 0 */
	double interference; /* of co-runners' traffic, against nature's; a file without it: 1 */
	double volt_spread;  /* standard deviation of the logarithm of the voltage at low clocks,
				from left-out errors; 0: nothing was measured at locked clocks */
	double interference_spread; /* ... of interference; 0: no jobs that share were measured */
};

/** What does not depend on workload or GPU type. */
struct hes_nature {
	double sm_sharpness;   /* how abruptly share gives way to parallelism as the limit */
	double host_sharpness; /* how abruptly host time gives way to GPU time */
	double fp32_reach;     /* part of the FP32 rate that networks written for TF32 can reach */
	double transfer_interference; /* slowdown of memory phases by co-runners' traffic, below
					 saturation, and of copies by a busy co-runner */
	double host_interference;     /* slowdown of synchronisation by co-runners off the GPU */
	double crowding; /* part of the wait for SMs that is for co-runners' kernels, whatever the
			    length of one's own; a file without it: 0 */
};

/** Programs that issue their kernels one by one, whatever the network. */
struct hes_eager {
	char origin[HES_NAME_MAX];        /* measured GPU */
	double host_us;                   /* of an iteration */
	double start_s;                   /* until the first iteration */
	double host_spread, start_spread; /* standard deviations of the logarithms */
};

/** What nature is when fitted without pairs of one workload: the check of that workload's pairs
 * uses it. */
struct hes_held_out {
	char workload[HES_NAME_MAX];
	struct hes_nature nature;
};

/* Rates and power at a clock of at most @requested_ghz within a limit, for jobs that were checked.
 */
struct hes_steady;
typedef void hes_physics_fn(const struct hes_model *m, const struct hes_gpu_type *g,
			    double requested_ghz, double limit_w, const struct hes_model_job *r,
			    size_t n, struct hes_rate *rates, struct hes_steady *out);

struct hes_model {
	hes_physics_fn *other; /* NULL: the equations of physics.c */
	struct hes_nature nature;
	struct hes_eager eager; /* a file without it: 0 */
	struct hes_gpu_physics *gpus;
	size_t n_gpus;
	struct hes_workload *workloads;
	size_t n_workloads;
	struct hes_held_out *held_out;
	size_t n_held_out;
	struct hes_gpu_physics *left_out; /* measured types as they would be derived if they had not
					     been measured */
	size_t n_left_out;
};

struct hes_param {
	const char *name;
	size_t offset; /* of a double */
	double min, max;
};

extern const struct hes_param hes_workload_params[];
extern const size_t hes_workload_param_count;
extern const struct hes_param hes_gpu_params[];
extern const size_t hes_gpu_param_count;
extern const struct hes_param hes_eager_params[];
extern const size_t hes_eager_param_count;
extern const struct hes_param hes_nature_params[];
extern const size_t hes_nature_param_count;

/** The value of a table row in @object. */
static inline double *hes_param_in(const struct hes_param *p, void *object)
{
	return (double *)(void *)((char *)object + p->offset);
}

/** Add @n workloads; one replaces that of the same name. Pointers to workloads become invalid.
 * @return 0; -ENOMEM */
int hes_model_put(struct hes_model *m, const struct hes_workload *v, size_t n, struct hes_err *err);

const char *hes_style_name(enum hes_style s);
/** Give a workload the host time and start-up of its program style, where it has none of its own;
 * one of graphs has no host time. */
void hes_workload_take_style(const struct hes_model *m, struct hes_workload *w);

/* In physics.c, which needs no file and no library: stand-ins for drivers are made of it. */
const struct hes_gpu_physics *hes_model_gpu(const struct hes_model *m, const char *type);

/** (2) Flop a cycle and SM that a workload reaches. */
double hes_model_rate(const struct hes_model *m, const struct hes_gpu_physics *p,
		      const struct hes_workload *w);

/** What contexts with nothing to do add to the idle GPU, watts; 0 for a type @m does not know. */
double hes_model_context_w(const struct hes_model *m, const char *type);

/** hes_model_instant without the rounding: what a fit differentiates. */
struct hes_steady {
	double power_w;
	double clock_ghz;
};
int hes_model_steady(const struct hes_model *m, const struct hes_gpu_type *g, uint32_t clock_mhz,
		     uint32_t power_limit_mw, const struct hes_model_job *r, size_t n,
		     struct hes_rate *rates, struct hes_steady *out, struct hes_err *err);

/**
 * How far jobs use the parts of a GPU, means over time: what its counters show.
 * A workload whose efficiency is above 1 can use more than all of a pipe: operations that its
 * algorithm saves count.
 */
struct hes_model_activity {
	double busy;         /* part of the time with a kernel of any job running */
	double memory_busy;  /* part of the time with device memory being read or written */
	double sm;           /* SMs with work, of all */
	double occupancy;    /* active warps, of those that fit on all SMs */
	double dram;         /* bandwidth used, of the data sheet's */
	double fp32, tensor; /* pipes at work, of all of the kind */
	double pcie_in_mib_s, pcie_out_mib_s; /* to the GPU, from it */
};

/** @param rates  from hes_model_steady() for the jobs @r at @clock_ghz; the model must know the
 * type @g */
void hes_model_activity(const struct hes_model *m, const struct hes_gpu_type *g, double clock_ghz,
			const struct hes_model_job *r, const struct hes_rate *rates, size_t n,
			struct hes_model_activity *out);

#endif
