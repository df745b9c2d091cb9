/*
 * draw.h - profiles, samples and points drawn from the testbed's physics, as
 * profiling real GPUs would give them: with measurement noise.
 *
 * For machines without the GPUs to be planned for. Results depend on the
 * arguments alone.
 */
#ifndef HESHARE_DRAW_H
#define HESHARE_DRAW_H

#include "heshare/gpu_type.h"
#include "heshare/model.h"
#include "heshare/point.h"
#include "heshare/profile.h"

#define HES_DRAW_MAX_BATCH   64 /* batch sizes are the powers of two up to this */
#define HES_DRAW_MAX_CO_RUNNERS  3  /* co-runners of a sample */
#define HES_DRAW_MAX_SAMPLES 1000000

struct hes_draw {
	const struct hes_model           *model;
	const struct hes_gpu_type *const *types;
	size_t                            n_types;
	double                            noise; /* coefficient of variation of one measurement; 0.017 was measured */
	uint64_t                          seed;
};

/** How many solo runs a profile is the mean of. */
#define HES_DRAW_REPEATS 10

/**
 * Solo profiles of every testbed workload on every type at its default clock,
 * at the batch sizes that fit its memory; sorted.
 * @return 0; -EINVAL no types, or noise outside 0..0.5; -ENOENT a type without physics; -ENOMEM
 */
int hes_draw_profiles(const struct hes_draw *d, struct hes_profiles *out, struct hes_err *err);

/**
 * Samples under sharing (HeShare, section III-A), each a distinct combination
 * of workload, batch size, share, clock, type and co-runners.
 * @param profiles  whence the features come: those of the same types
 * @param n         1..HES_DRAW_MAX_SAMPLES
 * @param out       written on success only; hes_samples_free it
 * @return 0; -EINVAL no types, noise outside 0..0.5, or @n out of its range; -ENOENT a type without physics; -ENOENT,
 *         -ERANGE a workload and batch size that @profiles does not have; -ENOSPC there are fewer distinct ones; -ENOMEM
 */
int hes_draw_samples(const struct hes_draw *d, const struct hes_profiles *profiles, size_t n,
		     struct hes_samples *out, struct hes_err *err);

/**
 * What `heshare profile` would measure of jobs that share a GPU, or of one alone: a row for each job. Every job's
 * iteration_us and the GPU's power are off by a random factor with the coefficient of variation @d->noise; the factors
 * depend on @d->seed, the type, the clock and the jobs with their shares, not on the order of jobs or calls. Of @d the
 * model, noise and seed are used; its types may be NULL.
 *
 * As rows measured in the default manner: 3 windows of 2 s, between which time and power vary by @d->noise; no command;
 * sm_occupancy NaN, as the physics knows no warps; memory_busy is dram_active. The physics sends nothing back over PCIe.
 * @param clock_mhz  SM clock requested; 0: the type's default
 * @param r          @n of them, 1..HES_MODEL_MAX_JOBS; shares may sum to more than 100
 * @param rows       @n of them, in the order of @r; written on success only
 * @return 0; -ENOSPC the jobs do not fit the type's memory; -EINVAL no job, noise outside 0..0.5, batch or share out of
 *         range; -E2BIG too many jobs; -ERANGE a clock outside the type's range; -ENOENT no parameters for the type
 */
int hes_draw_point(const struct hes_draw *d, const struct hes_gpu_type *g, uint32_t clock_mhz,
		   const struct hes_model_job *r, size_t n, struct hes_point *rows, struct hes_err *err);

#endif
