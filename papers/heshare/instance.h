/*
 * instance.h - an assignment problem from two tables: run time and energy of each job (rows) on
 * each GPU (columns). Equal columns are GPUs of one type.
 */
#ifndef HES_ASSIGN_INSTANCE_H
#define HES_ASSIGN_INSTANCE_H

#include "matrix.h"
#include "plan/assign/assign.h"

#define HES_INSTANCE_MAX_GPUS 1000000

struct hes_instance {
	struct hes_assign a;
	struct hes_cost *cost;       /* [type * n + job] */
	struct hes_assign_gpu *gpus; /* [k], column by column */
	struct hes_usage *usage;     /* [type * n + job]; NULL: not known */
};

/**
 * @param in  written on success only; hes_instance_finish it
 * @param time_s, energy_j  s and J, of one shape, a row and a column at least; copied. NAN in both:
 * the job cannot run there
 * @param counts  [columns], copied: how many GPUs each column stands for, from 1,
 * HES_INSTANCE_MAX_GPUS in all; NULL: one
 * @return 0; -EINVAL with a sentence that names row and column; -ENOMEM
 */
int hes_instance_init(struct hes_instance *in, const struct hes_matrix *time_s,
		      const struct hes_matrix *energy_j, const uint32_t *counts,
		      struct hes_err *err);
/**
 * Let recovery compare jobs by their usage (plan/assign/assign.h) in place of their run times.
 * @param usage   the jobs of @in as rows; for each column of its tables three: parts of the SMs, of
 * the bandwidth and of the memory; copied
 * @param counts  as given to hes_instance_init()
 * @return 0; -EINVAL with a sentence; -ENOMEM
 */
int hes_instance_set_usage(struct hes_instance *in, const struct hes_matrix *usage,
			   const uint32_t *counts, struct hes_err *err);
void hes_instance_finish(struct hes_instance *in);

#endif
