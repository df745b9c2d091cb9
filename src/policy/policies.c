/*
 * policies.c - the table of policies; see policy.h.
 */
#include "policy/policies.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/plural.h"

#define WORK_A_JOB 100 /* beside that of each GPU */

const struct hes_policy *const hes_policies[] = {
	&hes_policy_heshare,
	&hes_policy_joint,
	&hes_policy_sched_only,
	&hes_policy_morak,
	&hes_policy_muserve,
	&hes_policy_pwr,
	&hes_policy_mps_equal,
	&hes_policy_exclusive,
	&hes_policy_random,
	NULL
};

double hes_policy_effort(const struct hes_policy *p, size_t n_jobs, size_t n_gpus)
{
	if (p->effort)
		return p->effort(n_jobs, n_gpus);
	return (double)n_jobs * (double)(n_gpus + WORK_A_JOB) / (double)p->max_work;
}

size_t hes_policy_most_jobs(const struct hes_policy *p, size_t n_gpus)
{
	size_t lo = 0, hi = HES_MAX_JOBS;

	while (lo < hi) {
		const size_t mid = hi - (hi - lo) / 2;

		if (hes_policy_effort(p, mid, n_gpus) <= 1)
			lo = mid;
		else
			hi = mid - 1;
	}
	return lo;
}

static size_t append(char *out, size_t size, size_t at, const char *name)
{
	return at < size ? at + (size_t)snprintf(out + at, size - at, "%s%s", at ? ", " : "", name) : at;
}

int hes_policy_check_work(const struct hes_policy *p, size_t n_jobs, size_t n_gpus, struct hes_err *err)
{
	char others[200] = "";
	size_t at = 0;

	if (n_jobs <= hes_policy_most_jobs(p, n_gpus))
		return 0;
	for (size_t i = 0; hes_policies[i]; i++)
		if (n_jobs <= hes_policy_most_jobs(hes_policies[i], n_gpus))
			at = append(others, sizeof(others), at, hes_policies[i]->name);
	return hes_fail(err, -E2BIG, "policy %s plans at most %zu jobs at once on %zu GPU%s, not %zu; split the jobs%s%s", p->name,
			hes_policy_most_jobs(p, n_gpus), n_gpus, hes_s(n_gpus), n_jobs, at ? ", or take one that plans as many: " : "", others);
}

bool hes_policy_searches(const struct hes_policy *p)
{
	return p->searches;
}

void hes_policy_names(hes_policy_is *is, char *out, size_t size)
{
	size_t at = 0;

	*out = '\0';
	for (size_t i = 0; hes_policies[i]; i++)
		if (!is || is(hes_policies[i]))
			at = append(out, size, at, hes_policies[i]->name);
}

const struct hes_policy *hes_policy_find(const char *name, struct hes_err *err)
{
	char have[200];

	for (size_t i = 0; hes_policies[i]; i++)
		if (strcmp(hes_policies[i]->name, name) == 0)
			return hes_policies[i];
	hes_policy_names(NULL, have, sizeof(have));
	hes_fail(err, -ENOENT, "unknown policy \"%.40s\"; known: %s", name, have);
	return NULL;
}

const char *hes_policy_preference(const struct hes_policy *p, const char *name, struct hes_err *err)
{
	char have[100] = "";
	size_t at = 0;

	for (size_t i = 0; p->prefers && p->prefers[i]; i++) {
		if (strcmp(p->prefers[i], name) == 0)
			return p->prefers[i];
		at = append(have, sizeof(have), at, p->prefers[i]);
	}
	if (*have)
		hes_fail(err, -EINVAL, "policy %s: preference \"%.40s\" is not one of %s", p->name, name, have);
	else
		hes_fail(err, -EINVAL, "policy %s has no preference, so not \"%.40s\"", p->name, name);
	return NULL;
}

const struct hes_policy *hes_policy_parse(const char *text, const char **prefer, struct hes_err *err)
{
	const char *colon = strchr(text, ':'), *own = NULL;
	char name[2 * HES_NAME_MAX];
	const struct hes_policy *p;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(text, ":"), text);
	p = hes_policy_find(name, err);
	if (p && colon)
		own = hes_policy_preference(p, colon + 1, err);
	if (!p || (colon && !own))
		return NULL;
	*prefer = own;
	return p;
}
