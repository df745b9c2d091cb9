/*
 * profile.h - measurements of workloads, real or modelled: solo profiles, which give a
 * planner the features of a job, and samples of jobs that share a GPU, which train a
 * predictor.
 */
#ifndef HESHARE_PROFILE_H
#define HESHARE_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "heshare/gpu_type.h"

#define HES_PROFILE_DIGITS 9 /* significant digits of real numbers in the files */

/** A workload alone on a whole GPU, its clock not locked. Utilisations are 0..1. */
struct hes_profile {
	char workload[HES_NAME_MAX];
	char gpu_type[HES_NAME_MAX];
	uint32_t batch_size;
	uint32_t memory_mib;
	uint32_t clock_mhz; /* SM clock that it held; 0: the type's default */
	double iteration_us;
	double busy; /* part of the time with a kernel running: NVML's GPU utilisation; 0: unknown,
			then sm_util is used */
	double sm_util;    /* part of the SMs at work, mean over time: at most busy */
	double dram_util;  /* share of memory bandwidth */
	double l2_util;    /* part of the L2 capacity in use; 0: unknown, since GPUs have no counter
			      for it */
	uint32_t power_mw; /* mean GPU power */
	double least_us;   /* shortest known iteration of the workload, on any type;
			      hes_profiles_sort() fills it; 0: unknown */
	double time_se;    /* standard error of iteration_us, as a part of it; 0: unknown */
	double start_s; /* from the start of the process to its first progress, with the GPU almost
			   idle; 0: unknown */
};

/** Profiles sorted by (workload, type, batch size). */
struct hes_profiles {
	struct hes_profile *v;
	size_t n;
};

/**
 * Read a file (docs/formats/profiles.md, .gz too), and sort.
 * @param out  written on success only; hes_profiles_free it
 * @return 0; -EINVAL, -ERANGE with file, line, field and value; -ENODATA no row; -EEXIST two rows
 * with the same workload, type and batch size; -ENOENT a missing column; -E2BIG too many rows, or a
 * row that is too long; -EIO damaged .gz; -ENOMEM; -errno of reading the file
 */
int hes_profiles_load(const char *path, struct hes_profiles *out, struct hes_err *err);
/** Write one; @path "-" is standard output. The file is written completely or not at all. @return
 * 0; -errno of creating or writing it */
int hes_profiles_save(const char *path, const struct hes_profiles *p, struct hes_err *err);
/** Free what they hold and clear them. */
void hes_profiles_free(struct hes_profiles *p);
/**
 * All profiles of @first, and those of @rest whose workload, type and batch size @first does not
 * have. Both are sorted.
 * @param out  to be freed by hes_profiles_free()
 * @return 0; -ENOMEM
 */
int hes_profiles_join(const struct hes_profiles *first, const struct hes_profiles *rest,
		      struct hes_profiles *out);
/** The order of profiles, for qsort: workload, type, batch size. */
int hes_profile_compare(const void *a, const void *b);
/** Sort for hes_profile_find(), and fill least_us. Call it after you fill profiles by hand. */
void hes_profiles_sort(struct hes_profiles *p);

/** The rows between which hes_profile_find() interpolates; one twice: it is of this batch size.
 * @return false: there are none */
bool hes_profile_rows(const struct hes_profiles *p, const char *workload, uint32_t batch_size,
		      const char *gpu_type, size_t *low, size_t *high);

/**
 * The profile of a workload at a batch size on a type; between two profiled
 * batch sizes, linear interpolation.
 * @return 0; -ENOENT workload or type never profiled; -ERANGE batch size outside the profiled ones
 */
int hes_profile_find(const struct hes_profiles *p, const char *workload, uint32_t batch_size,
		     const char *gpu_type, struct hes_profile *out, struct hes_err *err);

/** The co-runners of a job, as sums (Table II, collocation features). */
struct hes_load {
	double sm_util; /* sum of solo utilisations, each limited by its share; may exceed 1 */
	double dram_util;
	double l2_util;
	uint32_t power_mw; /* GPU power with only the co-runners at this clock; without any, idle
			      power; 0 in a sample: unknown */
	uint32_t jobs;     /* number of co-runners */
	uint32_t sm_pct;   /* sum of their shares */
	/* Sums of what each would do alone with its share at the clock, from its profile. pace 0:
	 * unknown. */
	double busy;      /* part of the time with a kernel running */
	double sm_busy;   /* part of the SMs that compute, mean over time */
	double l2_sets;   /* working set in L2 capacities, mean over time */
	double dram_busy; /* part of the bandwidth, mean over time */
	double serial; /* part of the time for copies and synchronisation; launches take some ms an
			  iteration */
	double pace;   /* switching activity / that of the solo run: speed, plus a part for waiting
			  SMs */
	double iterations_per_s;
	double solo_power_mw;  /* dynamic: solo GPU power above idle, at its activity */
	double solo_clock_mhz; /* not a sum: mean clock of the profiles, weighted by solo_power_mw
				*/
	/* Of a predictor, and in no file: hes_predict_load_add() sums them. */
	double unseen_distance; /* squared out-of-distribution distances of unseen co-runners; 0:
				   all were sampled */
	double computing; /* part of the time that SMs compute; 0: this and the next two are unknown
			   */
	double syncing;   /* part of serial that is synchronisation */
	double saved;     /* part of dram_busy that a larger L2 would save */
	double wide; /* part of the SMs that kernels occupy; 0: this and the next are unknown */
	double kernel_us;      /* ... times the mean kernel's length */
	uint32_t predicted_mw; /* power_mw if it is predicted, one co-runner joining after another;
				  0: it is measured */
};

/**
 * Add a co-runner with a share at a clock to a load: everything but power_mw, which is that of the
 * GPU, measured or predicted for all co-runners together.
 */
void hes_load_add(struct hes_load *load, const struct hes_gpu_type *g,
		  const struct hes_profile *solo, uint32_t sm_pct, uint32_t clock_mhz);

/** Add the load of other co-runners: everything but power_mw and predicted_mw. */
void hes_load_join(struct hes_load *load, const struct hes_load *more);

/**
 * Make the clock that GPUs held without a lock the default clock of their types, where it differs
 * from the row's by more than 2 %: the highest one of a type's profiles. A lower one counts only
 * if a profile drew so little that power cannot have held it down. Clocks from it on, and the
 * row's default, are no longer offered to planners: they were not measured as locks, or they are
 * above what the GPU reaches by itself.
 */
void hes_profiles_hold(const struct hes_profiles *p, struct hes_gpu_type *types, size_t n);
#define HES_CO_RUN_TEXT_MAX 576 /* bytes for the names of co-runners: seven at least */

/** One observation under sharing: the row a predictor learns from. */
struct hes_sample {
	struct hes_profile task; /* the incoming job's solo profile on this type */
	uint32_t sm_pct;         /* its share */
	uint32_t clock_mhz;      /* that was locked; 0: none */
	struct hes_load co_runners;
	char co_runner_names[HES_CO_RUN_TEXT_MAX]; /* "NAME/BATCH@SHARE", sorted, commas between
						      them; "": unknown */
	double iteration_us; /* measured, with this setting and these co-runners */
	uint32_t power_mw;   /* measured GPU power after it started */
	double time_se;      /* standard error of iteration_us, as a part of it; 0: unknown */
};

struct hes_samples {
	struct hes_sample *v;
	size_t n;
	const struct hes_profiles *known; /* profiles of named co-runners; not owned. NULL: only
					     their sums are known */
};

/**
 * Read a file (docs/formats/profiles.md, .gz too); the order is kept.
 * @param out  written on success only, with known NULL; hes_samples_free it
 * @return 0; -EINVAL, -ERANGE with file, line, field and value; -ENODATA no row; -EINVAL co-runners
 * that differ from the counted ones; -ENOENT a missing column; -E2BIG too many rows, or a row that
 * is too long; -EIO damaged .gz; -ENOMEM; -errno of reading the file
 */
int hes_samples_load(const char *path, struct hes_samples *out, struct hes_err *err);
/** Write one; @path "-" is standard output. The file is written completely or not at all. @return
 * 0; -errno of creating or writing it */
int hes_samples_save(const char *path, const struct hes_samples *s, struct hes_err *err);
/** Free what they hold and clear them; known is not owned. */
void hes_samples_free(struct hes_samples *s);

#endif
