/*
 * range.h - the training range of a predictor, and out-of-distribution distances from it.
 *
 * A setting is inside when each of its values is between the smallest and the largest sampled on
 * the GPU type; a workload or a type, when it was sampled at all. The distance of others to the
 * most similar samples widens intervals (interval.h). A query knows its co-runners only as sums, so
 * range_unseen_distance() is summed with them.
 */
#ifndef HES_PREDICT_RANGE_H
#define HES_PREDICT_RANGE_H

#include "heshare/training_range.h"
#include "predict/baseline/calibrate.h"

/** The values of a setting. */
enum range_axis {
	RANGE_CLOCK,     /* of the type's highest */
	RANGE_SHARE,     /* % */
	RANGE_JOBS,      /* on the GPU, this one included */
	RANGE_SHARE_SUM, /* %, the task's included */
	RANGE_AXES
};

#define RANGE_TYPE_FEATURES 5
#define RANGE_TASK_FEATURES 7
#define RANGE_MAX_TASKS     512

struct limits {
	double low, high;
};

struct range_type {
	char name[HES_NAME_MAX];
	struct limits range[RANGE_AXES];
	double place[RANGE_TYPE_FEATURES]; /* logarithms of data sheet values */
};

struct range_workload {
	char name[HES_NAME_MAX];
	struct limits batch_size;
};

/** A sampled task, by its solo profile. */
struct range_task {
	double place[RANGE_TASK_FEATURES]; /* in standard deviations over all tasks */
};

struct training_range {
	struct range_type *types;         /* sorted; the last has no name and the ranges of all */
	size_t n_types;                   /* 2 and more */
	struct range_workload *workloads; /* sorted */
	size_t n_workloads;
	/* sorted: workloads that were sampled only as co-runners */
	char (*co_runner_names)[HES_NAME_MAX];
	size_t n_co_runner_names;
	/* [type * n_workloads + workload], for types with a name: sampled together */
	bool *pairs;
	double spread[RANGE_TASK_FEATURES]; /* a standard deviation */
	struct range_task *tasks;
	size_t n_tasks; /* 1 and more */
};

struct range_distance {
	uint32_t outside; /* enum hes_outside */
	/* of clock, share and batch size: e-folds outside of their ranges, root of the sum of
	 * squares */
	double setting;
	double crowd; /* the same of the jobs on the GPU and the sum of their shares */
	double task;  /* of an unsampled workload: standard deviations to the nearest sampled tasks
		       */
	double type;  /* of an unsampled type: e-folds to the nearest sampled data sheet */
	double co_runner; /* of unsampled co-runners: root of their summed squared distances, as of
			     tasks */
	double time_se;   /* standard error of the task's time alone, of which every prediction is a
			     multiple; 0: unknown */
	double guess[2];  /* of an unsampled workload: change of log(time) and log(power) with its
			     guessed constants */
};

/** Distances of a task on a type, as far as they are known yet. */
struct range_position {
	const struct range_type *type;
	uint32_t outside;
	double setting; /* squared */
	double task, type_distance;
};

/** The greatest sum of shares sampled on a type, with slack; for an unsampled type, on all types.
 */
double range_share_sum(const struct training_range *s, const char *gpu_type);
/** Whether a clock is within those sampled on the type of @g; true for an unsampled type. */
bool range_has_clock(const struct training_range *s, const struct hes_gpu_type *g,
		     uint32_t clock_mhz);
/** @return 0 or -ENOMEM */
int range_fit(const struct observation *v, size_t n, struct training_range *out);
void range_finish(struct training_range *s);

/** For any setting. Pure, no allocation; it points into @s. */
struct range_position range_position_of_job(const struct training_range *s,
					    const struct hes_gpu_type *g,
					    const struct hes_profile *task);
/** ... with its setting. */
struct range_position range_position_of_setting(const struct range_position *task,
						const struct hes_gpu_type *g,
						const struct hes_setting *setting);
/** ... and with its co-runners. */
struct range_distance range_distance_with(const struct range_position *p,
					  const struct hes_setting *setting,
					  const struct hes_load *co_runners);

/** All steps. Pure, no allocation. Does not read q->base. */
struct range_distance range_distance_of(const struct training_range *s, const struct query *q);

/**
 * Squared distance of a co-runner to the sampled tasks, above 0; 0: its workload was sampled, as a
 * task or as a co-runner. Pure, no allocation.
 */
double range_unseen_distance(const struct training_range *s, const struct hes_gpu_type *g,
			     const struct hes_profile *solo);

/** Write a training range, or read one. */
void range_io(struct model_io *io, struct training_range *s);

#endif
