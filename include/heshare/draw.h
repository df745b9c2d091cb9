/*
 * draw.h - draw profiles, samples and points from the GPU model, with measurement noise, as if GPUs
 * were profiled.
 *
 * It lets heshare plan for GPUs that this machine does not have. The same arguments give the same
 * results.
 */
#ifndef HESHARE_DRAW_H
#define HESHARE_DRAW_H

#include "heshare/gpu_type.h"
#include "heshare/model.h"
#include "heshare/point.h"
#include "heshare/profile.h"

#define HES_DRAW_MAX_BATCH      64 /* batch sizes are the powers of two up to this */
#define HES_DRAW_MAX_CO_RUNNERS 3  /* of a sample */
#define HES_DRAW_MAX_SAMPLES    1000000

struct hes_draw {
	const struct hes_model *model;
	const struct hes_gpu_type *const *types;
	size_t n_types;
	double noise; /* coefficient of variation of one measurement; 0.017 was measured */
	uint64_t seed;
};

/** A profile is the mean of this many solo runs. */
#define HES_DRAW_REPEATS 10

/**
 * Solo profiles of every testbed workload on every type at its default clock,
 * at the batch sizes that fit its memory; sorted.
 * @return 0; -EINVAL no types, or noise outside 0..0.5; -ENOENT a type without physics; -ENOMEM
 */
int hes_draw_profiles(const struct hes_draw *d, struct hes_profiles *out, struct hes_err *err);

/** The profile of one workload at one batch size on one type. @return 0; -EINVAL, -ERANGE */
int hes_draw_profile(const struct hes_draw *d, const struct hes_gpu_type *g,
		     const struct hes_workload *w, uint32_t batch, struct hes_profile *out,
		     struct hes_err *err);

/**
 * Samples under sharing (HeShare, section III-A), each a distinct combination
 * of workload, batch size, share, clock, type and co-runners.
 * @param profiles  of the same types; the features are computed from them
 * @param n         1..HES_DRAW_MAX_SAMPLES
 * @param out       written on success only; hes_samples_free it
 * @return 0; -EINVAL no types, noise outside 0..0.5, or @n out of its range; -ENOENT a type without
 * physics; -ENOENT, -ERANGE a workload and batch size that @profiles does not have; -ENOSPC there
 * are fewer distinct ones; -ENOMEM
 */
int hes_draw_samples(const struct hes_draw *d, const struct hes_profiles *profiles, size_t n,
		     struct hes_samples *out, struct hes_err *err);

/**
 * Draw what `heshare profile` would measure for one job alone or for a co-run set: a row for each
 * job. Each iteration_us and the GPU's power get a random factor with the coefficient of variation
 * @d->noise. The factors depend on @d->seed, the type, the clock and the jobs with their shares,
 * not on the order of jobs or calls. The call uses the model, noise and seed of @d; its types may
 * be NULL.
 *
 * A row has 3 windows of 2 s, the default, between which time and power vary by @d->noise. It has
 * no command.
 * @param clock_mhz  SM clock requested; 0: the type's default
 * @param r          @n of them, 1..HES_MODEL_MAX_JOBS; shares may sum to more than 100
 * @param rows       @n of them, in the order of @r; written on success only
 * @return 0; -ENOSPC the jobs do not fit the type's memory; -EINVAL no job, noise outside 0..0.5,
 * batch or share out of range; -E2BIG too many jobs; -ERANGE a clock outside the type's range;
 * -ENOENT no parameters for the type
 */
int hes_draw_point(const struct hes_draw *d, const struct hes_gpu_type *g, uint32_t clock_mhz,
		   const struct hes_model_job *r, size_t n, struct hes_point *rows,
		   struct hes_err *err);

#endif
