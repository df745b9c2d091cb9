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
void hes_instance_finish(struct hes_instance *in);

#endif
