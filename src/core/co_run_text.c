/*
 * co_run_text.c - jobs that share a GPU, as text; see co_run_text.h.
 */
#include "core/co_run_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/plural.h"
#include "base/texts.h"

#define MAX_BATCH  65536
#define MAX_PCT    100
#define LEAST_TEXT 6 /* bytes of a job in a list: "a/1@1," */

void hes_co_run_text_job(char out[HES_CO_RUN_JOB_MAX], const char *workload, uint32_t batch_size,
			 uint32_t sm_pct)
{
	snprintf(out, HES_CO_RUN_JOB_MAX, "%.*s/%u@%u", HES_NAME_MAX - 1, workload, batch_size,
		 sm_pct);
}

bool hes_co_run_text_join(char (*jobs)[HES_CO_RUN_JOB_MAX], size_t n, char *out, size_t size)
{
	size_t at = 0;

	if (n)
		qsort(jobs, n, sizeof(jobs[0]), hes_by_text);
	out[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		at += (size_t)snprintf(out + at, size - at, "%s%s", i ? "," : "", jobs[i]);
		if (at >= size) {
			out[0] = '\0';
			return false;
		}
	}
	return true;
}

bool hes_co_run_text_next(const char **at, struct hes_co_run_job *out)
{
	size_t len = strcspn(*at, ",");
	char text[HES_CO_RUN_JOB_MAX], *slash, *share;
	struct hes_co_run_job job;

	if (!len || len >= sizeof(text) || ((*at)[len] && !(*at)[len + 1]))
		return false;
	memcpy(text, *at, len);
	text[len] = '\0';
	slash = strrchr(text, '/');
	share = slash ? strchr(slash, '@') : NULL;
	if (!share || slash == text || slash - text >= HES_NAME_MAX)
		return false;
	*slash = *share = '\0';
	if (hes_parse_u32("batch size", slash + 1, 1, MAX_BATCH, &job.batch_size, NULL) ||
	    hes_parse_u32("share", share + 1, 1, MAX_PCT, &job.sm_pct, NULL))
		return false;
	strcpy(job.workload, text);
	*out = job;
	*at += len + ((*at)[len] == ',');
	return true;
}

void hes_co_run_text_all(const struct hes_point *p, char out[HES_CO_RUN_ALL_MAX])
{
	char jobs[HES_MAX_SHARING][HES_CO_RUN_JOB_MAX];
	const char *at = p->co_runners;
	struct hes_co_run_job job;
	size_t n = 1;

	hes_co_run_text_job(jobs[0], p->workload, p->batch_size, p->sm_pct);
	while (n < HES_MAX_SHARING && hes_co_run_text_next(&at, &job))
		hes_co_run_text_job(jobs[n++], job.workload, job.batch_size, job.sm_pct);
	hes_co_run_text_join(jobs, n, out, HES_CO_RUN_ALL_MAX);
}

void hes_co_run_text_put(struct hes_sample *s, char (*jobs)[HES_CO_RUN_JOB_MAX], size_t n)
{
	/* A workload whose name has a comma looks like two. */
	if (!hes_co_run_text_join(jobs, n, s->co_runner_names, sizeof(s->co_runner_names)) ||
	    hes_co_run_text_check(s, NULL))
		s->co_runner_names[0] = '\0';
}

void hes_co_run_text_sort(char text[HES_CO_RUN_TEXT_MAX])
{
	char jobs[HES_CO_RUN_TEXT_MAX / LEAST_TEXT][HES_CO_RUN_JOB_MAX],
		sorted[HES_CO_RUN_TEXT_MAX];
	const char *at = text;
	struct hes_co_run_job job;
	size_t n = 0;

	while (n < sizeof(jobs) / sizeof(jobs[0]) && hes_co_run_text_next(&at, &job))
		hes_co_run_text_job(jobs[n++], job.workload, job.batch_size, job.sm_pct);
	if (!*at && hes_co_run_text_join(jobs, n, sorted, sizeof(sorted)))
		strcpy(text, sorted);
}

int hes_co_run_text_check(const struct hes_sample *s, struct hes_err *err)
{
	const char *at = s->co_runner_names;
	struct hes_co_run_job job;
	uint32_t n = 0, sm_pct = 0;

	while (hes_co_run_text_next(&at, &job)) {
		n++;
		sm_pct += job.sm_pct;
	}
	if (*at)
		return hes_fail(err, -EINVAL,
				"co_runners: \"%.60s\" is not NAME/BATCH@SHARE, with commas", at);
	if (n && (n != s->co_runners.jobs || sm_pct != s->co_runners.sm_pct))
		return hes_fail(err, -EINVAL,
				"co_runners: %u co-runner%s with %u %% of the SMs named; "
				"co_runner_count and co_runner_sm_pct say %u and %u",
				n, hes_s(n), sm_pct, s->co_runners.jobs, s->co_runners.sm_pct);
	return 0;
}
