/*
 * learn_table.c - a table of numbers as rows to learn from; see learn_table.h.
 */
#include "cli/learn_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "heshare/regressor.h"

static bool is_among(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static size_t count_names(const char *list)
{
	size_t n = 1;

	for (; *list; list++)
		n += *list == ',';
	return n;
}

int name_list_parse(const char *what, const char *list, struct name_list *out, struct hes_err *err)
{
	struct name_list l = { 0 };
	char *rest, *name;
	int rc = 0;

	*out = l;
	if (!list)
		return 0;
	l.text = strdup(list);
	l.v = calloc(count_names(list), sizeof(*l.v));
	if (!l.text || !l.v)
		rc = hes_fail(err, -ENOMEM, "out of memory");
	rest = l.text;
	while (!rc && (name = strsep(&rest, ","))) {
		if (!*name)
			rc = hes_fail(err, -EINVAL, "%s: an empty name in \"%.64s\"", what, list);
		else if (is_among(l.v, l.n, name))
			rc = hes_fail(err, -EINVAL, "%s: \"%.64s\" is named twice", what, name);
		else
			l.v[l.n++] = name;
	}
	if (rc)
		name_list_free(&l);
	else
		*out = l;
	return rc;
}

void name_list_free(struct name_list *l)
{
	free(l->text);
	free(l->v);
	*l = (struct name_list){ 0 };
}

static int check_counts(size_t features, size_t outputs, struct hes_err *err)
{
	if (features < 1 || features > HES_REGRESSOR_MAX_FEATURES)
		return hes_fail(err, -EINVAL, "%zu columns are left as features; there must be from 1 to %d",
				features, HES_REGRESSOR_MAX_FEATURES);
	if (outputs < 1 || outputs > HES_REGRESSOR_MAX_OUTPUTS)
		return hes_fail(err, -EINVAL, "--target: %zu columns; there must be from 1 to %d", outputs,
				HES_REGRESSOR_MAX_OUTPUTS);
	return 0;
}

int learn_columns_of(const struct hes_table *t, const struct name_list *targets, struct learn_columns *out,
		     struct hes_err *err)
{
	struct learn_columns c = { 0 };
	int rc = check_counts(t->n_columns - targets->n, targets->n, err);

	if (rc)
		return rc;
	c.names = calloc(t->n_columns, sizeof(*c.names));
	c.at = calloc(t->n_columns, sizeof(*c.at));
	if (!c.names || !c.at) {
		learn_columns_free(&c);
		return hes_fail(err, -ENOMEM, "out of memory for %zu columns", t->n_columns);
	}
	for (size_t i = 0; i < t->n_columns; i++)
		if (!is_among(targets->v, targets->n, t->names[i]))
			c.at[c.n_features++] = i;
	for (; c.n_outputs < targets->n; c.n_outputs++)
		c.at[c.n_features + c.n_outputs] = (size_t)hes_table_find(t, targets->v[c.n_outputs]);
	for (size_t i = 0; i < t->n_columns; i++)
		c.names[i] = t->names[c.at[i]];
	*out = c;
	return 0;
}

void learn_columns_free(struct learn_columns *c)
{
	free(c->names);
	free(c->at);
	*c = (struct learn_columns){ 0 };
}

int learn_rows_take(const struct hes_table *t, const struct learn_columns *c, const uint32_t *pick, size_t n,
		    enum learn_layout layout, struct learn_rows *out, struct hes_err *err)
{
	size_t features = c->n_features, outputs = c->n_outputs;
	size_t row_step = layout == BY_ROW ? features : 1, column_step = layout == BY_ROW ? 1 : n;
	struct learn_rows r = { n, malloc((n * features + 1) * sizeof(*r.x)), malloc((n * outputs + 1) * sizeof(*r.y)) };

	if (!r.x || !r.y) {
		learn_rows_free(&r);
		return hes_fail(err, -ENOMEM, "out of memory for %zu rows", n);
	}
	for (size_t i = 0; i < n; i++) {
		const double *from = t->v + (pick ? pick[i] : i) * t->n_columns;

		for (size_t f = 0; f < features; f++)
			r.x[i * row_step + f * column_step] = (float)from[c->at[f]];
		for (size_t k = 0; k < outputs; k++)
			r.y[k * n + i] = from[c->at[features + k]];
	}
	*out = r;
	return 0;
}

void learn_rows_free(struct learn_rows *r)
{
	free(r->x);
	free(r->y);
	*r = (struct learn_rows){ 0 };
}
