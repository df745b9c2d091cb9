/*
 * expected_error.h - the error to expect of an added workload, from measured networks.
 */
#ifndef HES_MODEL_EXPECTED_ERROR_H
#define HES_MODEL_EXPECTED_ERROR_H

#include "model/fit_profile.h"

/* of a profile, at most: as many points say as much as more */
#define HES_EXPECTED_ERROR_POINTS 12

/**
 * Leave each measured inference network out of the model with its family (the networks whose names
 * begin with the same letters), add it again from its own facts of the kinds in @facts and from its
 * modelled times at @points, and compare. With facts->like only networks count that have a known
 * sibling, which is then what they are like.
 * @return 0; -ENODATA no network can be left out; -ENOMEM
 */
int hes_expect_error(const struct hes_model *m, const struct hes_catalogue *c,
		     const struct hes_workload_facts *facts, const struct hes_fit_point *points,
		     size_t n, struct hes_expected_error *out, struct hes_err *err);

#endif
