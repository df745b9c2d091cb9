/*
 * policy_program.h - a policy that is a program: `--policy exec:PROGRAM` (docs/formats/policy.md).
 */
#ifndef HES_APP_POLICY_PROGRAM_H
#define HES_APP_POLICY_PROGRAM_H

#include <jansson.h>

#include "heshare/policy.h"

#define POLICY_PROGRAM "exec:"

struct policy_program {
	struct hes_policy policy; /* refers to the rest: do not move it */
	char name[HES_NAME_MAX];  /* "exec:" and the file's name */
	char *path;
	double limit_s;
};

/** Whether the name of a policy is that of a program. */
bool policy_program_is(const char *name);

/**
 * A policy that runs a program each time that it plans: the request on its standard input, a plan
 * on its standard output, its standard error ours. Any number of threads may plan.
 * @param name  "exec:PROGRAM", PROGRAM searched in PATH if it has no slash
 * @param limit_s  for one plan; then it and its processes are ended
 * @return policy_program_free() it; NULL, with -EINVAL or -ENOMEM in @err
 */
struct policy_program *policy_program_new(const char *name, double limit_s, struct hes_err *err);
void policy_program_free(struct policy_program *p);

#endif
