/*
 * replanner.h - plan as jobs arrive without planning everything again: a policy with open queues
 * plans once, then each arriving job is inserted into its plan (plan/replan.h).
 */
#ifndef HES_POLICY_REPLANNER_H
#define HES_POLICY_REPLANNER_H

#include "heshare/policy.h"

struct hes_replanner;

/** @return NULL out of memory */
struct hes_replanner *hes_replanner_new(const struct hes_policy *policy);
void hes_replanner_free(struct hes_replanner *r);

/**
 * Plan the waiting jobs. Jobs that wait and were not there at the last call have arrived.
 * @param out    of the waiting jobs alone; written only on success
 * @param front  of the first plan; untouched later
 * @return 0, or the error of hes_policy_plan() or hes_replan_arrive()
 */
int hes_replanner_plan(struct hes_replanner *r, const struct hes_request *q, struct hes_plan *out,
		       struct hes_front *front, struct hes_err *err);

#endif
