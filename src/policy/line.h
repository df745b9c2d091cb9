/*
 * line.h - plan only as far into a queue as is needed: for policies that take jobs in an order of
 * their own, so that the first batches of a plan do not depend on the jobs behind (struct
 * hes_policy's looks_ahead).
 *
 * The line keeps the order between calls. A plan of it is the beginning of the plan that
 * hes_policy_plan() makes of all waiting jobs; hes_line_more() makes the same plan longer.
 */
#ifndef HES_POLICY_LINE_H
#define HES_POLICY_LINE_H

#include "heshare/policy.h"

struct hes_line;

/**
 * @param prefer  variant of the policy, or ""
 * @return NULL: the policy has no such order, or out of memory
 */
struct hes_line *hes_line_new(const struct hes_policy *policy, const char *prefer);
void hes_line_free(struct hes_line *l);

/** Whether hes_line_new() has a line for it. */
bool hes_line_can(const struct hes_policy *policy, const char *prefer);

/**
 * Plan the first of the waiting jobs; none where no GPU is free.
 * @param q    its fleet, jobs, predictor and profiles must outlive the line
 * @param out  of the waiting jobs alone; written only on success
 * @return 0, or the error of hes_policy_plan()
 */
int hes_line_plan(struct hes_line *l, const struct hes_request *q, struct hes_plan *out,
		  struct hes_err *err);

/** The plan of the last call with more of its jobs, unless all are in it: its batches stay the
 * same, and more follow. @return as hes_line_plan() */
int hes_line_more(struct hes_line *l, struct hes_plan *out, struct hes_err *err);

#endif
