/*
 * learn_table.h - a table of numbers as rows to learn from: which columns
 * are outputs, which rows are kept back.
 */
#ifndef HES_CLI_LEARN_TABLE_H
#define HES_CLI_LEARN_TABLE_H

#include <stdint.h>

#include "base/table.h"
#include "heshare/err.h"

/** Names out of "a,b,c". */
struct name_list {
	char            *text; /* behind the names */
	const char     **v;
	size_t           n;
};

/** @param list  NULL: no names. @return 0; -EINVAL an empty name or one given twice; -ENOMEM */
int  name_list_parse(const char *what, const char *list, struct name_list *out, struct hes_err *err);
void name_list_free(struct name_list *l);

/** Which columns of a table are what. */
struct learn_columns {
	const char **names;     /* features, then outputs; of the table */
	size_t      *at;        /* their columns */
	size_t       n_features, n_outputs;
};

/** @param targets  columns of the table. @return 0; -EINVAL no feature, or more than a regressor takes; -ENOMEM */
int  learn_columns_of(const struct hes_table *t, const struct name_list *targets, struct learn_columns *out,
		      struct hes_err *err);
void learn_columns_free(struct learn_columns *c);

enum learn_layout { BY_COLUMN, BY_ROW };

/** Some rows of a table, apart. */
struct learn_rows {
	size_t  n;
	float  *x; /* features: x[feature * n + row] or x[row * n_features + feature] */
	double *y; /* y[output * n + row] */
};

/** @param pick  rows of the table; NULL: the first @n. @return 0 or -ENOMEM */
int  learn_rows_take(const struct hes_table *t, const struct learn_columns *c, const uint32_t *pick, size_t n,
		     enum learn_layout layout, struct learn_rows *out, struct hes_err *err);
void learn_rows_free(struct learn_rows *r);

#endif
