/*
 * known_rows.c - collect rows of what is known; see known_rows.h.
 */
#include "app/known_rows.h"

#include <errno.h>
#include <stdlib.h>

int known_rows_put(struct known_load *l, const struct hes_profile *p, struct app_known_row about,
		   struct hes_err *err)
{
	struct known_row *rows;
	size_t i = 0;

	while (i < l->n && hes_profile_compare(&l->rows[i], p))
		i++;
	rows = i < l->n ? l->rows : reallocarray(l->rows, l->n + 1, sizeof(*rows));
	if (!rows)
		return hes_fail(err, -ENOMEM, "out of memory for %zu profiles", l->n);
	l->rows = rows;
	l->n += i == l->n;
	rows[i] = (struct known_row){ *p, about };
	return 0;
}
