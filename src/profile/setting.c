/*
 * setting.c - the setting of a point as a number; see session.h.
 */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "profile/session.h"

/* @param clock_mhz  0: nothing is locked */
static uint64_t setting_number(const char *type, uint32_t clock_mhz, const char *text)
{
	char clock[16];

	snprintf(clock, sizeof(clock), " %u ", clock_mhz);
	return hes_hash_text(hes_hash_text(hes_hash_text(HES_HASH_START, type), clock), text) | 1;
}

uint32_t setting_lock(const struct hes_gpu_type *type, uint32_t clock_mhz)
{
	return hes_gpu_type_is_unlocked(type, clock_mhz) ? 0 : clock_mhz;
}

uint64_t setting_of(const struct profiling *all, const struct hes_gpu_type *type,
		    const struct hes_sequence *t, struct hes_stage stage, uint32_t clock_mhz)
{
	char jobs[HES_MAX_SHARING][HES_CO_RUN_JOB_MAX], text[HES_CO_RUN_ALL_MAX];

	for (uint32_t i = stage.from; i < stage.to; i++) {
		const struct hes_profiled *j = &all->p->jobs[t->jobs[i].job];

		hes_co_run_text_job(jobs[i - stage.from], j->workload, j->batch_size,
				    t->jobs[i].sm_pct);
	}
	hes_co_run_text_join(jobs, stage.to - stage.from, text, sizeof(text));
	return setting_number(type->name, setting_lock(type, clock_mhz), text);
}

uint64_t setting_of_point(const struct hes_gpu_type *type, const struct hes_point *p)
{
	char text[HES_CO_RUN_ALL_MAX];

	hes_co_run_text_all(p, text);
	return setting_number(p->gpu_type, setting_lock(type, p->clock_mhz), text);
}
