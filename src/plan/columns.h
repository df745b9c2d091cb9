/*
 * columns.h - a linear program that grows by columns: least cost over the
 * columns given so far, and the rows' prices there.
 *
 * Revised primal simplex with the inverse of the basis at hand. Each row starts with a
 * variable of its own: a slack, or one so dear that it leaves. Prices may be off by rounding; who needs
 * proof (bound.h) takes them as a guess and proves from there.
 */
#ifndef HES_PLAN_COLUMNS_H
#define HES_PLAN_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

/** A column's entry. */
struct hes_entry {
	uint32_t row;
	double   v;
};

struct hes_columns;

/**
 * @param right  [rows] right-hand sides, 0 and more; copied
 * @param dear   [rows] cost of the row's own variable; 0: a slack
 * @return NULL out of memory
 */
struct hes_columns *hes_columns_new(size_t rows, const double *right, const double *dear);
void hes_columns_free(struct hes_columns *c);

/** @return 0 or -ENOMEM */
int hes_columns_add(struct hes_columns *c, double cost, const struct hes_entry *v, size_t n);

/** Go on from the last basis, at most so many exchanges. @return the cost there */
double hes_columns_solve(struct hes_columns *c, size_t most);

/** [rows], owned by @c: what one more of each right-hand side adds to the cost. */
const double *hes_columns_prices(const struct hes_columns *c);

#endif
