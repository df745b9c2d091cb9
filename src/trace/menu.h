/*
 * menu.h - the choices a job has, grouped by workload.
 *
 * Sorted, so that what is chosen depends on the set of choices and the
 * random stream, never on their order in a file.
 */
#ifndef HES_TRACE_MENU_H
#define HES_TRACE_MENU_H

#include "base/rng.h"
#include "heshare/trace.h"

/** Choices of one workload, by rising batch size. */
struct menu_group {
	size_t first, n;
};

struct menu {
	struct hes_choice *v;       /* owned copy */
	struct menu_group *groups;
	size_t             n_groups;
};

/** @return 0; -EINVAL nothing left of the mix, or an iteration time that is not positive; -EEXIST; -ENOMEM */
int  menu_init(struct menu *m, const struct hes_choice *choices, size_t n, unsigned mix,
	       struct hes_err *err);
void menu_finish(struct menu *m);

/**
 * @param workload  taken if the menu has it; "": any
 * @param batch     the nearest one is taken, by ratio; 0: any
 */
const struct hes_choice *menu_choose(const struct menu *m, const char *workload, uint32_t batch,
				     struct hes_rng *rng);

#endif
