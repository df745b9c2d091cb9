/*
 * replanner.h - planning as jobs arrive without planning anew: a policy with
 * open queues plans once, then arriving jobs are placed among what is there
 * (plan/replan.h), for a simulation or anything else that asks at arrivals.
 */
#ifndef HES_POLICY_REPLANNER_H
#define HES_POLICY_REPLANNER_H

#include "heshare/policy.h"

struct hes_replanner;

/** @return NULL out of memory */
struct hes_replanner *hes_replanner_new(const struct hes_policy *policy);
void hes_replanner_free(struct hes_replanner *r);

/**
 * Plan the waiting jobs: those that were planned stay where they are.
 * @param q      as a policy's; jobs that wait and were not there the time before have arrived
 * @param out    of the waiting jobs alone; written only on success
 * @param front  as a policy's, of the first time; untouched later
 * @return 0, or what the policy fails with, or hes_replan_arrive
 */
int hes_replanner_plan(struct hes_replanner *r, const struct hes_request *q, struct hes_plan *out, struct hes_front *front,
		   struct hes_err *err);

#endif
