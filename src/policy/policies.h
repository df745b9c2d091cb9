/*
 * policies.h - every policy there is, one file each.
 *
 * To add one: write src/policy/NAME.c exporting one struct hes_policy, declare it
 * here, add its row to hes_policies[] in policies.c and its section to docs/policies.md.
 */
#ifndef HES_POLICY_POLICIES_H
#define HES_POLICY_POLICIES_H

#include "heshare/policy.h"

extern const struct hes_policy hes_policy_heshare;
extern const struct hes_policy hes_policy_joint;
extern const struct hes_policy hes_policy_sched_only;
extern const struct hes_policy hes_policy_morak;
extern const struct hes_policy hes_policy_muserve;
extern const struct hes_policy hes_policy_pwr;
extern const struct hes_policy hes_policy_mps_equal;
extern const struct hes_policy hes_policy_exclusive;
extern const struct hes_policy hes_policy_random;

#endif
