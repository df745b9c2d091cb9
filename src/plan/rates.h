/*
 * rates.h - the rate cache: how fast the jobs of a co-run set run, and the power of the GPU.
 *
 * A member is a kind (workload and batch size) with an SM share. A co-run set is a multiset of
 * members on a GPU type at a clock. A search meets the same sets again and again, so each is
 * predicted once.
 *
 * The time of a member is predicted with the others as co-runners. The power of the co-runners is
 * itself predicted: they are added one at a time, by kind, then by share. The power of the set is
 * the mean, over its members, of the power predicted when that member is added last. A cache
 * belongs to one thread at a time.
 */
#ifndef HES_PLAN_RATES_H
#define HES_PLAN_RATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heshare/plan.h"
#include "heshare/predict.h"

struct hes_rates;

struct hes_member {
	uint16_t kind;
	uint16_t sm_pct;
};

/** Members in rising order of kind, then share. */
struct hes_set {
	uint32_t type;
	uint32_t clock_mhz;
	uint32_t n;
	struct hes_member m[HES_MAX_SHARING];
};

struct hes_set_rates {
	double iteration_us[HES_MAX_SHARING]; /* of each member, in the set's order */
	double power_mw;                      /* of the GPU */
	uint8_t outside[HES_MAX_SHARING]; /* what is outside of the training range: enum hes_outside
					   */
	bool far; /* share, clock or co-runners of a member are far outside of it */
};

/** With an interval this much wider (struct hes_estimate), a setting is far out of distribution:
 * planners avoid it. */
#define HES_RATES_FAR 1.5

/**
 * @param types  by number
 * @param solo   [type * n_kinds + kind]: solo profiles; predictor, types and profiles must outlive
 * the cache
 * @return NULL out of memory
 */
struct hes_rates *hes_rates_new(const struct hes_predictor *p,
				const struct hes_gpu_type *const *types,
				const struct hes_profile *solo, size_t n_kinds);
void hes_rates_free(struct hes_rates *r);

/** Forget all sets if the cache holds more than @most. Without this call it forgets them at 256
 * MiB. */
void hes_rates_forget(struct hes_rates *r, size_t most);

/** Let the entries take at most this many bytes from now on; without a call 256 MiB. */
void hes_rates_limit(struct hes_rates *r, size_t bytes);

/** Rates of a set of one or more members. Never fails: without memory for more sets, it predicts
 * again. */
void hes_rates_of(struct hes_rates *r, const struct hes_set *s, struct hes_set_rates *out);

/**
 * The same while some members are in their start-up: they put no load on the GPU, and their
 * iterations take INFINITY.
 * @param starting  a bit for each member, the lowest for the first
 */
void hes_rates_of_starting(struct hes_rates *r, const struct hes_set *s, uint32_t starting,
			   struct hes_set_rates *out);

/** A member alone, to seven digits. */
struct hes_alone {
	float iteration_us, power_mw;
};

/** Faster than hes_rates_of() for a set of one. */
struct hes_alone hes_rates_alone(struct hes_rates *r, uint32_t type, struct hes_member m,
				 uint32_t clock_mhz);

typedef void hes_rates_set_fn(void *ctx, const struct hes_set *s,
			      const struct hes_set_rates *rates);
/** Call @each for every set that the cache holds, in the order of the first queries. */
void hes_rates_each(const struct hes_rates *r, hes_rates_set_fn *each, void *ctx);

/** Predictions made so far. */
uint64_t hes_rates_queries(const struct hes_rates *r);

#endif
