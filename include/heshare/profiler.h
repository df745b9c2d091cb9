/*
 * profiler.h - run jobs on real GPUs over a grid of SM shares and clocks, alone and beside others, and
 * measure each point.
 *
 * What is run is a list of towers: jobs that join one GPU one after the other, and leave it in the same
 * order. After each change, and at each clock, the GPU is measured until it is steady: a point. So a tower
 * of three, with three starts, gives what the first does alone, what the second meets beside it and the third
 * beside both; and, when the first has left, what it met beside the others; and so on.
 *
 * Points are facts; profiles and samples are told from them afterwards (hes_points_tell), the same
 * however often.
 */
#ifndef HESHARE_PROFILER_H
#define HESHARE_PROFILER_H

#include <stdbool.h>

#include "heshare/device.h"
#include "heshare/plan.h"
#include "heshare/point.h"
#include "heshare/profile.h"

#define HES_PROFILER_JOBS 4096 /* at most */

/** A job as it is profiled: a workload at a batch size, and what runs it. */
struct hes_profiled {
	char     workload[HES_NAME_MAX];
	uint32_t batch_size;
	char     command[HES_POINT_COMMAND]; /* for sh -c */
	uint64_t iterations;                 /* that one run of the command makes; 0: it prints them (docs/profiling.md) */
	uint32_t memory_mib;                 /* 0: unknown */
};

struct hes_storey {
	uint32_t job;      /* index */
	uint32_t sm_pct;
};

struct hes_tower {
	uint32_t n;
	struct hes_storey jobs[HES_MAX_SHARING]; /* in the order they join and leave */
	uint32_t n_clocks;                       /* 0: the default clock alone */
	uint32_t clocks_mhz[HES_MAX_CLOCKS];
};

/** Jobs of a tower that are there together: jobs[from .. to - 1]. */
struct hes_stage {
	uint32_t from, to;
};

/** How many stages a tower has, and its @i-th: jobs come until all are there, then they go. */
uint32_t         hes_tower_stages(const struct hes_tower *t);
struct hes_stage hes_tower_stage(const struct hes_tower *t, uint32_t i);

/** Towers for GPUs of one type. */
struct hes_towers {
	const struct hes_gpu_type *type;
	struct hes_tower          *v;
	size_t                     n;
};

/** Numbers as text: "10..100" (in tens; "10..100:5" in fives), "30,60". Ascending. @return how many; -EINVAL, -ERANGE, -E2BIG */
int hes_ranges_parse(const char *what, const char *text, uint32_t min, uint32_t max, uint32_t *out, size_t size,
		     struct hes_err *err);

/** Shares and clocks to go over. */
struct hes_grid {
	uint32_t shares[100];
	size_t   n_shares;
	uint32_t clocks_mhz[HES_MAX_CLOCKS]; /* the default among them */
	size_t   n_clocks;
};

struct hes_neighbours {
	uint32_t n;
	uint32_t job[HES_MAX_SHARING - 1]; /* indices */
};

/**
 * Towers of a job: alone at every share; with each share beside each set of neighbours that is given, which divide what
 * it leaves; each neighbour alone on the whole GPU, for its profile. At every clock, but for the latter.
 * @param sets  each of 1 to HES_MAX_SHARING - 1 neighbours, which are below HES_PROFILER_JOBS; @n_sets may be 0
 * @param out   type is set; towers are added to those that are there; hes_towers_free it
 * @return 0; -ENOMEM, @out as it was
 */
int  hes_towers_grid(const struct hes_grid *g, uint32_t job, const struct hes_neighbours *sets, size_t n_sets,
		     struct hes_towers *out, struct hes_err *err);

/**
 * Towers of many jobs: each alone on the whole GPU, and then random ones of two to @most jobs whose shares sum to at most
 * 100 and that fit the type's memory, until there are @samples points under sharing, or no more are found: then there are
 * fewer. Jobs take turns at being the one that a tower is drawn for.
 * @param n_jobs  1..HES_PROFILER_JOBS
 * @param most    2..HES_MAX_SHARING
 * @param out     as of hes_towers_grid()
 * @return 0; -ENOMEM, @out as it was
 */
int  hes_towers_draw(const struct hes_grid *g, const struct hes_profiled *jobs, size_t n_jobs, size_t most, size_t samples,
		     uint64_t seed, struct hes_towers *out, struct hes_err *err);
/** Free the towers; the type stays. */
void hes_towers_free(struct hes_towers *t);

/** How long to look. */
struct hes_manner {
	double   warm_up_s;   /* after a job has joined and everybody has shown progress */
	double   settle_s;    /* after a clock has changed */
	double   window_s;
	uint32_t least, most; /* windows of a point; the first at which all is steady ends it */
	double   cv;          /* steady: coefficients of variation of every job's time and of power below this */
	double   patience_s;  /* without progress of a job */
};

/** What happens meanwhile; called from several threads, one at a time. */
struct hes_profiler_told {
	size_t      points, all;      /* done, to be done */
	size_t      known, failed;    /* those that were there; that came to nothing */
	double      left_s;           /* estimated; below 0: not known yet */
	const char *note;             /* something to tell a person, once; may be NULL */
};

struct hes_profiler {
	const struct hes_devices  *devices;
	const size_t              *gpus;       /* GPUs to use */
	size_t                     n_gpus;
	const struct hes_profiled *jobs;
	size_t                     n_jobs;
	const struct hes_towers   *towers;     /* one a type of the GPUs */
	size_t                     n_types;
	const struct hes_points   *known;      /* rows of points that are not measured again */
	struct hes_manner          manner;
	const char                *folder;     /* empty: for the guard's list and MPS; the caller removes it */
	const char *const         *guard;      /* program that guards it, as hes_guard_start has it */
	bool                       clocks;     /* may clocks be locked? */
	/** Rows of one point; to be kept at once. @return 0, or a negative errno that ends it all */
	int  (*keep)(void *ctx, const struct hes_points *p, struct hes_err *err);
	void (*tell)(void *ctx, const struct hes_profiler_told *t);
	bool (*stop)(void *ctx);               /* asked often: whether to end early */
	void *ctx;
};

struct hes_profiled_result {
	size_t measured, known, failed, unsteady;
	size_t left;           /* not tried: it was stopped, or GPUs were lost */
	bool   stopped;
	bool   clocks_refused;
};

/** What is to be done for one type of the GPUs. */
struct hes_profile_work {
	size_t points, known;  /* to be measured; those that are not measured again */
	size_t starts;         /* of jobs, for the towers with points to measure */
};
/** Of type number @type of @p's towers; nothing runs. @return 0; -ENOMEM */
int hes_profile_foresee(const struct hes_profiler *p, size_t type, struct hes_profile_work *out, struct hes_err *err);

/**
 * Measure. However it ends, no job and no MPS daemon of it is left and no clock is locked.
 * @return 0, also when stopped early or when points failed; a negative errno when nothing could be done, or what keep returned
 */
int hes_profile_gpus(const struct hes_profiler *p, struct hes_profiled_result *out, struct hes_err *err);

/**
 * Profiles and samples that points tell: a profile of every job that was alone on the whole GPU at the default clock; a sample of
 * every point whose job has a profile and whose neighbours, each profiled, were measured without it at the same clock. Points less
 * steady than @cv are left out. Of several of one setting the last counts.
 * @return 0; -ENOENT a type that @c does not have; -ENOMEM
 */
int hes_points_tell(const struct hes_points *p, const struct hes_catalogue *c, double cv, struct hes_profiles *profiles,
		    struct hes_samples *samples, struct hes_err *err);

/**
 * Of a job alone at the default clock: iterations a second on the whole GPU, and how they grow with the share (Han et al.:
 * the slope of a straight line through them, iterations a second for each percent). NaN: not measured.
 */
void hes_points_sensitivity(const struct hes_points *p, const struct hes_point *job, uint32_t default_mhz,
			    double *solo_per_s, double *slope);

#endif
