/*
 * co_run_text.h - jobs that share a GPU, as text: "NAME/BATCH@SHARE" of each, sorted, commas
 * between them; "" for none.
 *
 * Samples and points name co-runners this way (docs/formats/profiles.md).
 */
#ifndef HES_CORE_CO_RUN_TEXT_H
#define HES_CORE_CO_RUN_TEXT_H

#include <stdbool.h>

#include "heshare/plan.h"
#include "heshare/point.h"
#include "heshare/profile.h"

#define HES_CO_RUN_JOB_MAX (HES_NAME_MAX + 24) /* one job, with the 0 */

#define HES_CO_RUN_ALL_MAX (HES_MAX_SHARING * HES_CO_RUN_JOB_MAX) /* all jobs of a GPU */

struct hes_co_run_job {
	char workload[HES_NAME_MAX];
	uint32_t batch_size;
	uint32_t sm_pct;
};

void hes_co_run_text_job(char out[HES_CO_RUN_JOB_MAX], const char *workload, uint32_t batch_size,
			 uint32_t sm_pct);

/** Sort @n jobs and join them. @return false: @size bytes are too few, and @out is "" */
bool hes_co_run_text_join(char (*jobs)[HES_CO_RUN_JOB_MAX], size_t n, char *out, size_t size);

/** Read the next job of a list. @return false: it ends here, or it is not a list */
bool hes_co_run_text_next(const char **at, struct hes_co_run_job *out);

/** All jobs of a row's point, its own included. */
void hes_co_run_text_all(const struct hes_point *p, char out[HES_CO_RUN_ALL_MAX]);

/** Write the names of a sample's co-runners if they fit. Sorts @jobs; needs the sample's load. */
void hes_co_run_text_put(struct hes_sample *s, char (*jobs)[HES_CO_RUN_JOB_MAX], size_t n);

/** Sort the jobs that a text names; other texts stay as they are. */
void hes_co_run_text_sort(char text[HES_CO_RUN_TEXT_MAX]);

/** Check that a sample names as many co-runners as its load sums up. @return 0 or -EINVAL */
int hes_co_run_text_check(const struct hes_sample *s, struct hes_err *err);

#endif
