/*
 * residents.h - what a predictor works out once of each job with a share at
 * a clock, for those who ask about sets of them (rates.c).
 *
 * It has memory for so many and no more: full, it forgets all and starts
 * anew. What is told does not depend on that.
 */
#ifndef HES_PLAN_RESIDENTS_H
#define HES_PLAN_RESIDENTS_H

#include "plan/rates.h"
#include "predict/prepared.h"

struct hes_residents;

/** All must outlive it. @return NULL out of memory */
struct hes_residents *hes_residents_new(const struct hes_predictor *p, const struct hes_gpu_type *const *types,
					const struct hes_profile *solo, size_t n_kinds);
void hes_residents_free(struct hes_residents *r);

/**
 * Each member of a set.
 * @param out  [s->n]: theirs until the next call
 * @return false: memory is short
 */
bool hes_residents_of(struct hes_residents *r, const struct hes_set *s, const struct hes_prepared **out);

#endif
