/*
 * profiler.h - run jobs on GPUs over a grid of SM shares and clocks, alone and with co-runners, and
 * measure each point.
 *
 * The profiler runs sequences: jobs join one GPU one by one and leave it in the same order. After
 * each change, and at each clock, it measures the GPU until the means are known: a point. A
 * sequence of three jobs needs three processes and gives five co-run sets: the first job, the first
 * two, all three, the last two, and the last. The processes of later sequences start meanwhile, as
 * far as memory allows, and are stopped (SIGSTOP) until their turn.
 *
 * Points are facts. Profiles and samples are derived from them later (hes_points_derive), always
 * with the same result.
 */
#ifndef HESHARE_PROFILER_H
#define HESHARE_PROFILER_H

#include <stdbool.h>

#include "heshare/device.h"
#include "heshare/job.h"
#include "heshare/plan.h"
#include "heshare/point.h"
#include "heshare/profile.h"

#define HES_PROFILER_JOBS  4096 /* at most */
#define HES_PROFILER_AHEAD 32   /* most processes of a GPU that wait for their turn */

/** A job as it is profiled: a workload at a batch size, and what runs it. */
struct hes_profiled {
	char workload[HES_NAME_MAX];
	uint32_t batch_size;
	char command[HES_POINT_COMMAND];     /* for sh -c */
	uint64_t iterations;                 /* of one run of the command; 0: the job prints them
						(docs/profiling.md) */
	uint32_t memory_mib;                 /* 0: unknown */
	char progress[HES_JOB_PROGRESS + 1]; /* pattern of its progress lines; "": none */
};

/** A job of a sequence. */
struct hes_sequence_job {
	uint32_t job; /* index */
	uint32_t sm_pct;
};

struct hes_sequence {
	uint32_t n;
	struct hes_sequence_job jobs[HES_MAX_SHARING]; /* in the order they join and leave */
	uint32_t n_clocks;                             /* 0: the default clock only */
	uint32_t clocks_mhz[HES_MAX_CLOCKS];
};

/** Jobs of a sequence that run together: jobs[from .. to - 1]. */
struct hes_stage {
	uint32_t from, to;
};

/** The number of stages of a sequence, and its @i-th stage: jobs join until all run, then they
 * leave. */
uint32_t hes_sequence_stages(const struct hes_sequence *t);
struct hes_stage hes_sequence_stage(const struct hes_sequence *t, uint32_t i);

/** Sequences for GPUs of one type. */
struct hes_sequences {
	const struct hes_gpu_type *type;
	struct hes_sequence *v;
	size_t n;
};

/**
 * Parse numbers: "10..100" (steps of 10), "10..100:5", "30,60". Ascending.
 * @return how many; -EINVAL, -ERANGE, -E2BIG
 */
int hes_ranges_parse(const char *what, const char *text, uint32_t min, uint32_t max, uint32_t *out,
		     size_t size, struct hes_err *err);

/** The shares and clocks to measure. */
struct hes_grid {
	uint32_t shares[100];
	size_t n_shares;
	uint32_t clocks_mhz[HES_MAX_CLOCKS]; /* the default among them */
	size_t n_clocks;
};

struct hes_co_runners {
	uint32_t n;
	uint32_t job[HES_MAX_SHARING - 1]; /* indices */
};

/**
 * Add the sequences of one job, at every clock: alone at every share; and at every share with each
 * set of co-runners, which divide the rest of the SMs equally. Add each co-runner alone on the
 * whole GPU at the default clock, for its profile.
 * @param sets  each of 1 to HES_MAX_SHARING - 1 co-runners, below HES_PROFILER_JOBS; @n_sets may be
 * 0
 * @param out   type is set; sequences are added; hes_sequences_free it
 * @return 0; -ENOMEM, @out as it was
 */
int hes_sequences_grid(const struct hes_grid *g, uint32_t job, const struct hes_co_runners *sets,
		       size_t n_sets, struct hes_sequences *out, struct hes_err *err);

/**
 * Add sequences of many jobs: each job alone on the whole GPU, then random sequences of two to
 * @most jobs whose shares sum to at most 100 and that fit the GPU's memory. Stops at @samples
 * points with co-runners, or when no new sequence is found. Every job is the first of about the
 * same number of draws.
 * @param n_jobs  1..HES_PROFILER_JOBS
 * @param most    2..HES_MAX_SHARING
 * @param out     as of hes_sequences_grid()
 * @return 0; -ENOMEM, @out as it was
 */
int hes_sequences_draw(const struct hes_grid *g, const struct hes_profiled *jobs, size_t n_jobs,
		       size_t most, size_t samples, uint64_t seed, struct hes_sequences *out,
		       struct hes_err *err);
/** Free the sequences; the type stays. */
void hes_sequences_free(struct hes_sequences *s);

/** How long to measure. */
struct hes_profile_timing {
	double warm_up_s; /* after a job has joined and all jobs have shown progress */
	double settle_s;  /* after a change of the clock */
	double window_s;
	uint32_t least, most; /* windows of a point; it ends at the first window at which all means
				 are known */
	double error; /* known: the standard errors of all times and of power are below this part */
	double patience_s; /* a job without progress for this long has failed */
};

/** Progress of the profiler. */
struct hes_profile_progress {
	size_t points, all;   /* measured or failed; to be measured in all */
	size_t known, failed; /* points that were known before; that failed */
	double left_s;        /* estimated time left; below 0: not known yet */
	const char *note;     /* a message for the user, once; may be NULL */
};

struct hes_profiler {
	const struct hes_devices *devices;
	const size_t *gpus; /* GPUs to use */
	size_t n_gpus;
	const struct hes_profiled *jobs;
	size_t n_jobs;
	const struct hes_sequences *sequences; /* one entry for each type of the GPUs */
	size_t n_types;
	const struct hes_points *known; /* points that are not measured again */
	struct hes_profile_timing timing;
	const char *folder;       /* empty: for the undo file and MPS; the caller removes it */
	const char *const *guard; /* program of the guard, as for hes_guard_start */
	bool clocks;              /* clocks may be locked */
	size_t ahead; /* most processes of a GPU that start while others are measured, or are
			 stopped until their turn; 0: each starts when it is its turn, and ends */
	/* The callbacks are called from several threads, one at a time. */
	/** Store the rows of one point at once, and what profiling took so far. At the end of each
	 * GPU's work there are no rows. @return 0; a negative errno, which ends the profiler */
	int (*keep)(void *ctx, const struct hes_points *p, const struct hes_profiling_cost *cost,
		    struct hes_err *err);
	void (*report)(void *ctx, const struct hes_profile_progress *p);
	bool (*stop)(void *ctx); /* called often: whether to end early */
	void *ctx;
};

struct hes_profiled_result {
	size_t measured, known, failed,
		uncertain;    /* uncertain: measured, with larger standard errors */
	size_t left;          /* not tried, because it was stopped or GPUs were lost */
	size_t starts, ahead; /* processes that were started; of them while others were measured */
	struct hes_profiling_cost cost;
	bool stopped;
	bool clocks_refused;
};

/** The work for one type of the GPUs. */
struct hes_profile_work {
	size_t points, known; /* to be measured; known already */
	size_t starts;        /* of jobs, in sequences with points to measure */
};
/** Count the work for entry @type of @p's sequences; nothing runs. @return 0; -ENOMEM */
int hes_profile_estimate(const struct hes_profiler *p, size_t type, struct hes_profile_work *out,
			 struct hes_err *err);

/**
 * Measure. Leaves no job, no MPS daemon and no locked clock behind, however it ends.
 * @return 0, also when stopped early or when points failed; a negative errno: nothing could be
 * done, or @p->keep failed
 */
int hes_profile_gpus(const struct hes_profiler *p, struct hes_profiled_result *out,
		     struct hes_err *err);

/**
 * Derive profiles and samples from points. A job that ran alone on the whole GPU at the default
 * clock gives a profile. A point gives a sample if its job and all co-runners have profiles; their
 * power is 0, unknown, if they were not measured without the job at the same clock. Noisy
 * points without a standard error get cv / sqrt(windows), single windows 5 %. Points of one setting
 * that agree within their errors are combined by the inverse squares of these; where they do not,
 * the last one counts.
 * @return 0; -ENOENT a type that @c does not have; -ENOMEM
 */
int hes_points_derive(const struct hes_points *p, const struct hes_catalogue *c,
		      struct hes_profiles *profiles, struct hes_samples *samples,
		      struct hes_err *err);

#endif
