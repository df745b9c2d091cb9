/*
 * table1.c - Table 1: compute and memory use of the modelled workloads, compared with the paper's.
 */
#include <math.h>

#include "study.h"

#define MOST_POINTS 10 /* that a use may differ from the paper's, in percentage points */

int study_table1(struct study *s, const struct testbed *t, struct hes_err *err)
{
	FILE *f = study_csv(s, "table1.csv",
			    "workload,compute_pct,paper_compute_pct,memory_pct,paper_memory_pct",
			    err);
	double compute_off = 0, memory_off = 0;

	if (!f)
		return -1;
	printf("\nTable 1 (the input): use of the GPU alone, %%: modelled (paper)\n%-20s %17s "
	       "%17s\n",
	       "workload", "compute", "memory");
	for (size_t i = 0; i < TESTBED_JOBS; i++) {
		const struct hes_share_profile *p = t->profile[i];
		double compute = 100 * p->at[p->n - 1].metric[HES_METRIC_SM],
		       memory = 100 * p->at[p->n - 1].metric[HES_METRIC_DRAM];
		double paper_compute = 100 * paper_jobs[i].compute,
		       paper_memory = 100 * paper_jobs[i].memory;

		printf("%-20s %8.1f (%5.1f) %8.1f (%5.1f)\n", paper_jobs[i].name, compute,
		       paper_compute, memory, paper_memory);
		fprintf(f, "%s,%.2f,%.1f,%.2f,%.1f\n", paper_jobs[i].name, compute, paper_compute,
			memory, paper_memory);
		compute_off = fmax(compute_off, fabs(compute - paper_compute));
		memory_off = fmax(memory_off, fabs(memory - paper_memory));
	}
	printf("%zu pairs fit in memory (the input); the paper has 121\n"
	       "The workloads' parameters were fitted to both.\n",
	       t->n_pairs);
	study_claim_text(s, AN_INPUT, "Table 1", "use of the GPU: workloads were fitted to it");
	study_claim_text(s, AN_INPUT, "Section 4",
			 "%zu pairs fit in memory: workloads were fitted to it", t->n_pairs);
	study_check(s, "Table 1, compute, greatest difference in points", compute_off, MOST_POINTS);
	study_check(s, "Table 1, memory, greatest difference in points", memory_off, MOST_POINTS);
	return study_csv_end(f, err);
}
