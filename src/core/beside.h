/*
 * beside.h - jobs that share a board, as a text: "NAME/BATCH@SHARE" of each,
 * sorted, commas between them; "" where there is none. Samples and points name
 * neighbours so (docs/formats/profiles.md).
 */
#ifndef HES_CORE_BESIDE_H
#define HES_CORE_BESIDE_H

#include <stdbool.h>

#include "heshare/plan.h"
#include "heshare/point.h"
#include "heshare/profile.h"

#define HES_BESIDE_JOB_MAX (HES_NAME_MAX + 24) /* a job and what ends its text */

#define HES_BESIDE_ALL_MAX (HES_MAX_SHARING * HES_BESIDE_JOB_MAX) /* a text of all jobs of a GPU */

struct hes_beside_job {
	char     workload[HES_NAME_MAX];
	uint32_t batch_size;
	uint32_t sm_pct;
};

void hes_beside_job(char out[HES_BESIDE_JOB_MAX], const char *workload, uint32_t batch_size, uint32_t sm_pct);

/** Sort @n jobs and join them. @return false: @size bytes do not hold them, and @out is "" */
bool hes_beside_join(char (*jobs)[HES_BESIDE_JOB_MAX], size_t n, char *out, size_t size);

/** Take one job out of a list. @return false: the list ends, or is none */
bool hes_beside_next(const char **at, struct hes_beside_job *out);

/** All jobs of a row's point, itself among them. */
void hes_beside_all(const struct hes_point *p, char out[HES_BESIDE_ALL_MAX]);

/** Have a sample name its neighbours, where a text can: sorts @jobs. Needs its load. */
void hes_beside_put(struct hes_sample *s, char (*jobs)[HES_BESIDE_JOB_MAX], size_t n);

/** Put the jobs that a text names into their order; what is no such list stays as it is. */
void hes_beside_sort(char text[HES_BESIDE_MAX]);

/** Whether the neighbours that a sample names are those that its load sums up. @return 0 or -EINVAL */
int hes_beside_check(const struct hes_sample *s, struct hes_err *err);

#endif
