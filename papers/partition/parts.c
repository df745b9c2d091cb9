/*
 * parts.c - parts of a study, several at a time; see parts.h.
 */
#include "parts.h"

#include <omp.h>

int parts_run(size_t n, uint64_t threads, parts_fn *part, void *ctx, struct hes_err *err)
{
	int team = threads ? (int)threads : omp_get_num_procs(), rc = 0;

#pragma omp parallel for schedule(dynamic) num_threads(team)
	for (size_t i = 0; i < n; i++) {
		struct hes_err why;
		int failed = part(ctx, i, &why);

#pragma omp critical
		if (failed && !rc) {
			rc = failed;
			*err = why;
		}
	}
	return rc;
}
