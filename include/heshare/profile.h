/*
 * profile.h - what was measured (or modelled) of workloads: solo profiles,
 * from which a planner takes a task's features, and samples under sharing,
 * from which a predictor is trained.
 */
#ifndef HESHARE_PROFILE_H
#define HESHARE_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "heshare/gpu_type.h"

#define HES_PROFILE_DIGITS 9 /* significant digits of real numbers in the files */

/** A workload alone on a whole GPU at the type's default clock. Utilisations are 0..1. */
struct hes_profile {
	char     workload[HES_NAME_MAX];
	char     gpu_type[HES_NAME_MAX];
	uint32_t batch_size;
	uint32_t memory_mib;
	uint32_t clock_mhz;    /* SM clock it held: below the default where the power limit binds; 0: the default */
	double   iteration_us;
	double   busy;         /* part of the time with a kernel running: what NVML calls GPU utilisation; 0: unknown, sm_util then */
	double   sm_util;      /* part of the SMs at work, mean over time: at most busy */
	double   dram_util;    /* share of memory bandwidth */
	double   l2_util;      /* share of L2 capacity touched; 0: unknown, as no counter of a board tells it */
	uint32_t power_mw;     /* mean board power */
	double   least_us;     /* shortest iteration known of the workload, on any type; hes_profiles_sort() fills it; 0: unknown */
};

/** Profiles sorted by (workload, type, batch size). */
struct hes_profiles {
	struct hes_profile *v;
	size_t              n;
};

/**
 * Read a file (docs/formats/profiles.md, .gz too), and sort.
 * @param out  written on success only; hes_profiles_free it
 * @return 0; -EINVAL, -ERANGE with file, line, field and value; -EINVAL no row; -EEXIST a workload given twice on one type at one batch size; -ENOENT a
 *         column that is missing; -E2BIG too many rows or too long a one; -EIO damaged .gz; -ENOMEM; -errno of reading the file
 */
int  hes_profiles_load(const char *path, struct hes_profiles *out, struct hes_err *err);
/** Write one; @path "-" is standard output. The file appears whole or not at all. @return 0; -errno of creating or writing it */
int  hes_profiles_save(const char *path, const struct hes_profiles *p, struct hes_err *err);
/** Free what they hold and clear them. */
void hes_profiles_free(struct hes_profiles *p);
/**
 * All profiles of @first, and those of @rest of workloads, types and batch sizes that @first has none of; both sorted.
 * @param out  to be freed by hes_profiles_free()
 * @return 0; -ENOMEM
 */
int  hes_profiles_join(const struct hes_profiles *first, const struct hes_profiles *rest, struct hes_profiles *out);
/** Sort into the order the look-ups need, and see to what profiles tell of one another; call after filling by hand. */
void hes_profiles_sort(struct hes_profiles *p);

/**
 * The profile of a workload at a batch size on a type; between two profiled
 * batch sizes, linear interpolation.
 * @return 0; -ENOENT workload or type never profiled; -ERANGE batch size outside the profiled ones
 */
int hes_profile_find(const struct hes_profiles *p, const char *workload, uint32_t batch_size,
		     const char *gpu_type, struct hes_profile *out, struct hes_err *err);

/** What the other residents of a GPU do, summed over them (Table II, collocation features). */
struct hes_load {
	double   sm_util;      /* sum of solo utilisations limited by each one's share; may exceed 1 */
	double   dram_util;
	double   l2_util;
	uint32_t power_mw;     /* board power with the neighbours alone at this clock; with none, idle power */
	uint32_t residents;
	uint32_t sm_pct;       /* sum of their shares */
	/* What each would do alone with its share at the clock, told from its profile, summed. pace 0: unknown. */
	double   busy;             /* part of the time it has a kernel running */
	double   sm_busy;          /* part of the SMs that compute for it, mean over time */
	double   l2_sets;          /* its working set, in L2 capacities, mean over time */
	double   dram_busy;        /* part of the bandwidth it draws, mean over time */
	double   serial;           /* part of the time it copies or synchronises, launching taken as some ms an iteration */
	double   pace;             /* what it switches a second, of its solo run: its speed, and more of it the longer its SMs wait */
	double   iterations_per_s;
	double   solo_power_mw;    /* dynamic: its solo board power above idle, at its activity */
	double   solo_clock_mhz;   /* not a sum: mean of the profiles' clocks, by solo_power_mw */
	/* Of a predictor, not of the board, and in no file: hes_predict_load_add() adds them up. */
	double   unseen_distance;      /* squared distances of the neighbours that it never saw to what it saw, summed; 0: it knows all */
	double   computing;        /* part of the time that SMs compute for it; 0: this and the next two are unknown */
	double   syncing;          /* ... that it synchronises: of serial */
	double   saved;            /* part of the bandwidth that it draws for want of L2, and would not with more of it: of dram_busy */
	uint32_t predicted_mw;          /* power_mw as predicted, one neighbour joining after the other; 0: nobody asked */
};

/**
 * Add a neighbour with a share at a clock to a load: everything but power_mw, which is
 * the board's and known (measured, or predicted) for the set of neighbours as a whole.
 */
void hes_load_add(struct hes_load *load, const struct hes_gpu_type *g, const struct hes_profile *solo,
		  uint32_t sm_pct, uint32_t clock_mhz);

/** Add neighbours' loads: everything but power_mw and predicted_mw. */
void hes_load_join(struct hes_load *load, const struct hes_load *more);

#define HES_CO_RUN_TEXT_MAX 576 /* bytes that name neighbours: seven at least */

/** One observation under sharing: the row a predictor learns from. */
struct hes_sample {
	struct hes_profile task;       /* the incoming job's solo profile on this type */
	uint32_t           sm_pct;     /* its share */
	uint32_t           clock_mhz;
	struct hes_load    co_runners;
	char               co_runner_names[HES_CO_RUN_TEXT_MAX]; /* who they are, "NAME/BATCH@SHARE" sorted, commas between them; "": not told */
	double             iteration_us; /* measured, under this setting and these neighbours */
	uint32_t           power_mw;     /* measured board power after it arrived */
};

struct hes_samples {
	struct hes_sample         *v;
	size_t                     n;
	const struct hes_profiles *known; /* of the neighbours that samples name; somebody else's. NULL: their sums are all that is known */
};

/**
 * Read a file (docs/formats/profiles.md, .gz too); the order is kept.
 * @param out  written on success only, with known NULL; hes_samples_free it
 * @return 0; -EINVAL, -ERANGE with file, line, field and value; -EINVAL no row, or neighbours that are not those counted;
 *         -ENOENT a column that is missing; -E2BIG too many rows or too long a one; -EIO damaged .gz; -ENOMEM; -errno of
 *         reading the file
 */
int  hes_samples_load(const char *path, struct hes_samples *out, struct hes_err *err);
/** Write one; @path "-" is standard output. The file appears whole or not at all. @return 0; -errno of creating or writing it */
int  hes_samples_save(const char *path, const struct hes_samples *s, struct hes_err *err);
/** Free what they hold and clear them; known is somebody else's. */
void hes_samples_free(struct hes_samples *s);

#endif
