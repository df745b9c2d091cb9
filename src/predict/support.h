/*
 * support.h - where samples were taken, and how far a query is from there.
 *
 * Settings are within the samples when each of their values lies between the
 * smallest and the largest sampled on the GPU type; a workload or type, when
 * it was sampled at all. For those that were not, the distance to the most
 * similar ones tells how much a prediction is worth (interval.h). A query's
 * neighbours are known by their sums: whoever adds them up asks about each.
 */
#ifndef HES_PREDICT_SUPPORT_H
#define HES_PREDICT_SUPPORT_H

#include "heshare/training_range.h"
#include "trees/model_bytes.h"
#include "predict/baseline/calibrate.h"

/** What a setting is measured by. */
enum support_axis {
	SUPPORT_CLOCK,     /* of the type's highest */
	SUPPORT_SHARE,     /* % */
	SUPPORT_JOBS,      /* on the board, the task included */
	SUPPORT_SHARE_SUM, /* %, the task's included */
	SUPPORT_AXES
};

#define SUPPORT_TYPE_PLACES 5
#define SUPPORT_TASK_PLACES 7
#define SUPPORT_MAX_TASKS   512

struct support_range {
	double low, high;
};

struct support_type {
	char   name[HES_NAME_MAX];
	struct support_range range[SUPPORT_AXES];
	double place[SUPPORT_TYPE_PLACES]; /* logarithms of its data sheet */
};

struct support_workload {
	char   name[HES_NAME_MAX];
	struct support_range batch_size;
};

/** A task of which there are samples, by its solo profile. */
struct support_task {
	double place[SUPPORT_TASK_PLACES]; /* in standard deviations over all tasks */
};

struct support {
	struct support_type     *types;     /* sorted; the last, nameless, has the ranges of all */
	size_t                   n_types;   /* 2 and more */
	struct support_workload *workloads; /* sorted */
	size_t                   n_workloads;
	char                   (*co_runner_names)[HES_NAME_MAX]; /* sorted: workloads sampled beside others only, where samples name them */
	size_t                   n_neighbours;
	bool                    *pairs;     /* [type * n_workloads + workload], of the types with a name: whether sampled */
	double                   spread[SUPPORT_TASK_PLACES]; /* a standard deviation */
	struct support_task     *tasks;
	size_t                   n_tasks;   /* 1 and more */
};

struct support_distance {
	uint32_t outside;  /* enum hes_outside */
	double   setting; /* e-folds by which clock, share and batch size lie outside of their ranges, root of the sum of squares */
	double   crowd;   /* the same of jobs on the board and the sum of their shares */
	double   task;    /* of an unsampled workload: standard deviations to the sampled tasks nearest to it */
	double   type;    /* of an unsampled type: e-folds from the data sheet of the nearest sampled one */
	double   strange; /* of unsampled neighbours: root of their summed squares of what a task's is */
	double   guess[2]; /* of an unsampled workload: logarithms by which time and power move with what is guessed of it */
};

/** How far a task on a type is from the samples, as far as that is told yet. */
struct support_place {
	const struct support_type *type;
	uint32_t outside;
	double   setting;     /* squared */
	double   task, type_distance;
};

/** The greatest sum of shares sampled on a type, with its slack; of an unsampled one, on all. */
double support_share_sum(const struct support *s, const char *gpu_type);
/** @return 0 or -ENOMEM */
int  support_learn(const struct observation *v, size_t n, struct support *out);
void support_finish(struct support *s);

/** Whatever its setting. Pure, no allocation; it points into @s. */
struct support_place support_place_task(const struct support *s, const struct hes_gpu_type *g,
					const struct hes_profile *task);
/** ... with its setting. */
struct support_place support_place_setting(const struct support_place *task, const struct hes_gpu_type *g,
					   const struct hes_setting *setting);
/** ... and beside others. */
struct support_distance support_place_beside(const struct support_place *p, const struct hes_setting *setting,
					     const struct hes_load *co_runners);

/** All of that at once. Pure, no allocation. Does not read q->base. */
struct support_distance support_distance(const struct support *s, const struct query *q);

/**
 * How unlike all that was sampled a neighbour is, squared, and above 0; 0: its workload was sampled, as a task or
 * beside one. Pure, no allocation.
 */
double support_strangeness(const struct support *s, const struct hes_gpu_type *g, const struct hes_profile *solo);

void support_put(struct model_writer *b, const struct support *s);
/** @return 0; -EINVAL unsound; -ENOMEM */
int  support_get(struct model_reader *r, struct support *out, struct hes_err *err);

#endif
