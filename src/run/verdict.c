/*
 * verdict.c - decide why jobs failed; see verdict.h.
 */
#include "run/verdict.h"

#include <string.h>

#define CANNOT_RUN 126 /* a shell: found, but no program */
#define NOT_FOUND  127

/* 805, 806, 807 and 810, as the driver's interface and the runtime's name them. */
static const char *const mps_errors[] = {
	"MPS_CONNECTION_FAILED", "MPS_RPC_FAILURE", "MPS_SERVER_NOT_READY", "MPS_CLIENT_TERMINATED",
	"MpsConnectionFailed",   "MpsRpcFailure",   "MpsServerNotReady",    "MpsClientTerminated",
};

bool run_tells_of_mps(const char *text)
{
	for (size_t i = 0; i < sizeof(mps_errors) / sizeof(mps_errors[0]); i++)
		if (strstr(text, mps_errors[i]))
			return true;
	return false;
}

/* Failures that no co-runner can cause. */
static bool surely_own(const struct run_seen *s)
{
	return s->code == CANNOT_RUN || s->code == NOT_FOUND ||
	       s->co_failures >= RUN_MAX_CO_FAILURES;
}

static bool may_be_to_blame(const struct run_seen *s)
{
	return s->failed && !surely_own(s) && !s->orphaned;
}

/* The only one that a signal ended, its own fault's or somebody's; -1: none or several. */
static long killed_one(const struct run_seen *v, size_t n)
{
	long found = -1;

	for (size_t i = 0; i < n; i++) {
		if (!may_be_to_blame(&v[i]) || !v[i].signal)
			continue;
		if (found >= 0)
			return -1;
		found = (long)i;
	}
	return found;
}

static long first_to_end(const struct run_seen *v, size_t n)
{
	long first = -1;

	for (size_t i = 0; i < n; i++)
		if (may_be_to_blame(&v[i]) && (first < 0 || v[i].end_us < v[first].end_us))
			first = (long)i;
	return first;
}

bool run_judge(const struct run_seen *v, size_t n, bool waited, enum run_blame *out)
{
	size_t failed = 0, unknown = 0, may = 0;
	long one, first;

	for (size_t i = 0; i < n; i++) {
		failed += v[i].failed;
		unknown += !v[i].failed && !v[i].lives;
		may += may_be_to_blame(&v[i]);
	}
	/* Somebody who lives has a server: then everybody who failed did so alone. */
	if (may && unknown && !waited && failed + unknown == n)
		return false;
	one = killed_one(v, n);
	first = first_to_end(v, n);
	for (size_t i = 0; i < n; i++) {
		if (!v[i].failed)
			out[i] = RUN_BLAME_NONE;
		else if (surely_own(&v[i]))
			out[i] = RUN_BLAME_OWN;
		else if (v[i].orphaned)
			out[i] = RUN_BLAME_CO_FAILED;
		else if (failed < n || failed == 1 || (may == 1 && one >= 0))
			out[i] = RUN_BLAME_OWN;
		else if (one >= 0)
			out[i] = (long)i == one ? RUN_BLAME_OWN : RUN_BLAME_CO_FAILED;
		else
			out[i] = (long)i == first ? RUN_BLAME_SUSPECT : RUN_BLAME_CO_FAILED;
	}
	return true;
}
