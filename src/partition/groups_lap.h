/*
 * groups_lap.h - linear assignment: each row gets a column of its own at the
 * least total cost.
 *
 * Shortest augmenting paths with prices (Jonker and Volgenant, Computing 38, 1987): n_rows^2 *
 * n_columns steps.
 */
#ifndef HES_PARTITION_GROUPS_LAP_H
#define HES_PARTITION_GROUPS_LAP_H

#include <stdbool.h>
#include <stdint.h>

#define GROUPS_LAP_MOST 64 /* rows and columns, at most */
#define GROUPS_LAP_FREE UINT32_MAX

/**
 * @param cost    [n_rows * n_columns], n_rows <= n_columns; INFINITY: not possible
 * @param row_of  [n_columns]: the row that has it, or GROUPS_LAP_FREE
 * @return false: there is no assignment of all rows
 */
bool groups_lap(uint32_t n_rows, uint32_t n_columns, const double *cost, uint32_t *row_of);

#endif
