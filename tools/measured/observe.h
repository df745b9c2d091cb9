/*
 * observe.h - measurements that the model should reproduce: published data sets, and GPUs measured
 * in our own format.
 *
 * A data directory holds one folder a published set (igniter_v100,
 * zeus_power_limit, ...; those that are not there are skipped), folders of
 * measured GPUs, or is one such folder itself (bench/gpu/measured.md). An
 * observation is the set-up of a measurement in the model's terms and the value
 * that was measured.
 */
#ifndef TOOLS_OBSERVE_H
#define TOOLS_OBSERVE_H

#include "heshare/model.h"

/** Rows of the table of errors; hes_series[] describes each. */
enum hes_series_id {
	HES_SERIES_IGNITER_SOLO,
	HES_SERIES_IGNITER_DRAM,
	HES_SERIES_IGNITER_POWER,
	HES_SERIES_IGNITER_COPIES,
	HES_SERIES_IGNITER_CLOCK,
	HES_SERIES_IGNITER_PAIRS,
	/* The observations of PAIRS, each predicted without pairs of its network: by the model, and
	   by simple rules; see left_out.h. */
	HES_SERIES_IGNITER_HELD,
	HES_SERIES_IGNITER_CONSTANT,
	HES_SERIES_IGNITER_LINE,
	HES_SERIES_JETSON_TIME,
	HES_SERIES_JETSON_POWER,
	HES_SERIES_ZEUS_TIME,
	HES_SERIES_ZEUS_ENERGY,
	HES_SERIES_ZEUS_TYPES_TIME,
	HES_SERIES_ZEUS_TYPES_POWER,
	HES_SERIES_ZEUS_TYPES_CAPPED, /* time and energy against those without a cap */
	HES_SERIES_ZEUS_LOW_TIME,     /* caps at or under half of the limit, which no fit uses */
	HES_SERIES_ZEUS_LOW_V100,
	HES_SERIES_ZEUS_LOW_P100,
	HES_SERIES_ZEUS_LOW_A40,
	HES_SERIES_ZEUS_LOW_DERIVED, /* the observations of LOW_A40, the A40 derived from other
				      * types
				      */
	HES_SERIES_A100_TIME,
	HES_SERIES_A100_POWER,
	HES_SERIES_PARVA_ALONE,
	HES_SERIES_PARVA_SHARED,
	/* The observations of SHARED whose network has a measured sibling, predicted from that
	   one's. */
	HES_SERIES_PARVA_HELD,
	HES_SERIES_PARVA_SIBLING,
	/* Networks whose parameters are derived: no fit saw them. */
	HES_SERIES_PARVA_NEW_ALONE,
	HES_SERIES_PARVA_NEW_SHARED,
	HES_SERIES_PARVA_NEW_SIBLING,
	/* Pairs without SM shares; and the same by time slices. */
	HES_SERIES_TALLY_PAIRS,
	HES_SERIES_TALLY_SLICES,
	HES_SERIES_BERT_TIME,
	HES_SERIES_BERT_RATIO,
	HES_SERIES_DLE_TIME,
	HES_SERIES_DLE_RATIO,
	HES_SERIES_DLE_TESTBED,
	HES_SERIES_DLE_BERT,
	HES_SERIES_IGNITER_TESTBED,
	HES_SERIES_ORION,
	HES_SERIES_SIA_TIME,
	HES_SERIES_SIA_RATIO,
	HES_SERIES_SIA_TYPES,
	HES_SERIES_MISO_TIME,
	HES_SERIES_MISO_SLICES,
	HES_SERIES_MISO_POWER,
	/* Power of kernels at locked clocks, by type; and the same of kernels that the fit did not
	   see. */
	HES_SERIES_LOCKED_V100,
	HES_SERIES_LOCKED_RTX_8000,
	HES_SERIES_LOCKED_A40,
	HES_SERIES_LOCKED_A100_40,
	HES_SERIES_LOCKED_A100_80,
	HES_SERIES_LOCKED_A100_SXM,
	HES_SERIES_LEFT_OUT_V100,
	HES_SERIES_LEFT_OUT_RTX_8000,
	HES_SERIES_LEFT_OUT_A40,
	HES_SERIES_LEFT_OUT_A100_40,
	HES_SERIES_LEFT_OUT_A100_80,
	HES_SERIES_LEFT_OUT_A100_SXM,
	HES_SERIES_TYPES, /* absolute times on types that are derived as if nobody had measured
			     them; of each: */
	HES_SERIES_TYPE_P100,
	HES_SERIES_TYPE_V100,
	HES_SERIES_TYPE_T4,
	HES_SERIES_TYPE_RTX_2080_TI,
	HES_SERIES_TYPE_RTX_6000,
	HES_SERIES_TYPE_A40,
	HES_SERIES_TYPE_A100,
	HES_SERIES_PUBLISHED, /* as many as published ones; from here on those of each measured GPU
			       */
	HES_SERIES_GPU_TIME = HES_SERIES_PUBLISHED,
	HES_SERIES_GPU_POWER,
	HES_SERIES_GPU_DRAM,
	HES_SERIES_GPU_CLOCK,
	HES_SERIES_GPU_PAIRS,
	HES_SERIES_GPU_PAIR_POWER,
	/* The same from fits without the share, without the pair; and the mean of other pairs. */
	HES_SERIES_GPU_LEFT_OUT_TIME,
	HES_SERIES_GPU_LEFT_OUT_POWER,
	HES_SERIES_GPU_LEFT_OUT_PAIRS,
	HES_SERIES_GPU_LEFT_OUT_PAIR_POWER,
	HES_SERIES_GPU_CONSTANT,
	HES_SERIES_GPU_UNSHARED, /* two and more jobs without shares */
	HES_SERIES_GPU_GROUPS,   /* three and more with shares */
	HES_SERIES_GPU_GROUP_POWER,
	HES_SERIES_GPU_START, /* of eager programs */
	HES_SERIES_COUNT
};

struct hes_series {
	const char *set; /* folder below the data directory; NULL: the GPU's */
	const char *what;
	double target;      /* median absolute relative error; 0: none set */
	double target_p90;  /* of the 90th percentile; 0: none set */
	double target_sign; /* of the part of changes with the right sign; 0: none set */
	bool fitted;        /* parameters were fitted on these values */
	bool chosen;        /* equations or rules were chosen with these values in view */
};

extern const struct hes_series hes_series[HES_SERIES_COUNT];

enum hes_metric {
	HES_METRIC_TIME_S,      /* an iteration of the subject */
	HES_METRIC_GPU_S,       /* of an iteration with a kernel running */
	HES_METRIC_ITEMS_PER_S, /* of all jobs */
	HES_METRIC_POWER_W,     /* GPU */
	HES_METRIC_ENERGY_J,    /* GPU, over an iteration of the subject */
	HES_METRIC_DRAM_UTIL,   /* of the subject */
	HES_METRIC_CLOCK_GHZ,   /* that the GPU holds */
	HES_METRIC_START_S,     /* of the program */
};

/** Jobs on a GPU at a clock. */
struct hes_setup {
	struct hes_gpu_type gpu;
	uint32_t clock_mhz;      /* 0: default */
	uint32_t power_limit_mw; /* 0: the type's */
	struct hes_model_job r[HES_MODEL_MAX_JOBS];
	size_t n;
};

/** What is known of a kernel whose power is to be predicted at a locked clock: its row at the
 * highest clock. */
struct hes_locked {
	double mhz, time_s, power_w;
	double dram;   /* active; NAN: not measured, so ... */
	double memory; /* ... this part of the time is memory's */
};

/** What is known of two jobs without SM shares of which the heavy one's slowdown is to be
 * predicted: their times alone, and the slowdown of the light one. */
struct hes_crowded {
	double light_s, heavy_s, light_slowdown;
};

struct hes_observation {
	enum hes_series_id series;
	enum hes_metric metric;
	struct hes_setup at; /* the subject is job 0 */
	bool relative;       /* the value is at / against */
	struct hes_setup against;
	double measured;
	bool noise;            /* nothing can have changed: the cap is above what the job draws */
	double l2_use;         /* of a job alone, measured in the same row; 0: not known */
	double co_l2, co_dram; /* of slowdowns: the co-runner's measured use of both, alone; 0: not
				  known */
	size_t gpu;            /* 0: published; k: GPUs[k - 1] */
	bool held;             /* of a GPU's part that no fit may use */
	struct hes_locked locked;   /* of kernels at locked clocks; mhz 0: no such observation */
	struct hes_crowded crowded; /* of pairs without shares; heavy_s 0: no such observation */
	uint32_t fold;              /* of rows that the check leaves out together; 0: none */
	double left_out; /* the model's value from a fit without its fold; 0: there is none */
};

/** A GPU measured in our own format. */
struct hes_measured_gpu {
	char name[HES_NAME_MAX]; /* of its folder */
	char type[HES_NAME_MAX]; /* in the catalogue of GPU types */
	/* Rows left out: of workloads that the model does not have, ... */
	size_t unknown;
	size_t unsteady;    /* ... not in a steady state, ... */
	size_t undescribed; /* ... of sharing that the model does not describe: jobs in turn, or
			       without MPS */
};

struct hes_observations {
	struct hes_observation *v;
	size_t n, capacity;
	struct hes_measured_gpu *gpus;
	size_t n_gpus;
};

/**
 * Read every set and measured GPU found in or below @dir and add them to @out,
 * zeroed before the first call. Workloads are looked up in @m, which must outlive the
 * observations; values of workloads it does not have are left out.
 * @param tests  take GPUs whose folder says that it is a test; else they are refused
 * @return 0; -ENOENT nothing there; -EINVAL, -ERANGE with file, line, column and value;
 *         @out is as before then
 */
int hes_observe(const struct hes_model *m, const struct hes_catalogue *c, const char *dir,
		bool tests, struct hes_observations *out, struct hes_err *err);
void hes_observations_free(struct hes_observations *o);

/** A fold by a name: never 0. */
uint32_t hes_fold(const char *name);

/** Append @v. @return 0; -ENOMEM */
int hes_observations_add(struct hes_observations *o, const struct hes_observation *v,
			 struct hes_err *err);

#endif
