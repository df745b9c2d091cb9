/*
 * environment.c - set the environment of a job; see environment.h.
 */
#include "run/environment.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MEMORY_ROOM \
	10 /* part of what a job says it needs that its limit is above it: contexts, rounding */

static void environment_add(struct run_environment *e, size_t *n, const char *fmt, ...)
	HES_PRINTF(3, 4);

static void environment_add(struct run_environment *e, size_t *n, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(e->own[*n], sizeof(e->own[*n]), fmt, ap);
	va_end(ap);
	e->v[*n] = e->own[*n];
	(*n)++;
}

void run_environment_set(struct run_environment *out, const struct run_environment_of *of)
{
	size_t n = 0, rows = 0;

	if (of->run)
		environment_add(out, &n, "HESHARE_RUN=%" PRId64, of->run);
	environment_add(out, &n, "HESHARE_JOB=%s", of->job->id);
	environment_add(out, &n, "HESHARE_ATTEMPT=%" PRIu32, of->attempt);
	environment_add(out, &n, "HESHARE_WORKLOAD=%.*s", hes_job_workload_given(of->job),
			of->job->workload);
	environment_add(out, &n, "HESHARE_BATCH=%" PRIu32, of->job->batch_size);
	if (!of->job->whole_run)
		environment_add(out, &n, "HESHARE_ITERATIONS=%" PRIu64, of->job->iterations);
	environment_add(out, &n, "HESHARE_GPU=%s", of->gpu);
	environment_add(out, &n, "HESHARE_SM_PCT=%" PRIu32, of->sm_pct);
	if (of->mps)
		rows = hes_mps_variables(of->mps, of->sm_pct, of->limit_mib, out->mps);
	else /* CUDA finds no daemon there, and uses none: neither an inherited one nor that of
		/tmp/nvidia-mps */
		environment_add(out, &n, "CUDA_MPS_PIPE_DIRECTORY=%s/none", of->mps_folder);
	/* Behind MPS too: indices that were meant for heshare itself would be none of the daemon's.
	 */
	environment_add(out, &n, "CUDA_VISIBLE_DEVICES=%s", of->uuid);
	for (size_t i = 0; i < rows; i++)
		out->v[n++] = out->mps[i];
	if (of->mps && of->yields)
		environment_add(out, &n, "CUDA_MPS_CLIENT_PRIORITY=1"); /* below normal */
	if (of->preload &&
	    strlen(of->launches) + sizeof("HESHARE_LAUNCHES=") <= sizeof(out->own[0])) {
		environment_add(out, &n, "HESHARE_LAUNCHES=%s", of->launches);
		out->v[n++] = of->preload;
	}
	out->v[n] = NULL;
}

uint32_t run_memory_limit(const struct hes_job *job, uint32_t gpu_mib)
{
	const uint32_t memory_mib = hes_job_memory_mib(job),
		       limit_mib = memory_mib + memory_mib / MEMORY_ROOM;

	return limit_mib < gpu_mib ? limit_mib : 0;
}

uint32_t run_user(const char *name)
{
	uint32_t h = 0x811c9dc5u; /* FNV-1a */

	for (const char *c = name; *c; c++)
		h = (h ^ (unsigned char)*c) * 0x01000193u;
	return *name ? h : 0;
}

bool run_shares(const struct hes_queue *q)
{
	for (size_t i = 0; i < q->n; i++) {
		if (q->batches[i].n > 1 || (q->together > 1 && q->n > 1))
			return true;
		for (uint32_t k = 0; k < q->batches[i].n; k++)
			if (q->batches[i].jobs[k].sm_pct < 100)
				return true;
	}
	return false;
}
