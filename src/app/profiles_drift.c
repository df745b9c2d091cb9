/*
 * profiles_drift.c - errors of a predictor of the store after its training against those at
 * validation, for each GPU type, for time and for power; see profiles_drift.h.
 */
#include "app/profiles_drift.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/known_store.h"
#include "base/texts.h"

static const char all[] = "all";

/* Errors of one output on one type, or on all; room for every miss on both sides. */
struct sides {
	double *validation, *recent;
	size_t n_validation, n_recent;
};

static void sides_fill(const struct hes_store_miss *v, size_t n, const char *type, bool time,
		       size_t last, struct sides *out)
{
	out->n_validation = out->n_recent = 0;
	for (size_t i = 0; i < n; i++) {
		double error = time ? v[i].time : v[i].power;

		if (type != all && strcmp(type, v[i].gpu_type))
			continue;
		if (!v[i].fresh)
			out->validation[out->n_validation++] = error;
		else if (out->n_recent < last)
			out->recent[out->n_recent++] = error;
	}
}

static int drift_add_group(struct drift_report *r, const struct hes_store_miss *v, size_t n,
			   const char *type, bool time, size_t last, struct sides *sides,
			   struct hes_err *err)
{
	struct drift_group *g = &r->groups[r->n_groups];
	int rc;

	sides_fill(v, n, type, time, last, sides);
	rc = hes_drift_judge(sides->validation, sides->n_validation, sides->recent, sides->n_recent,
			     &g->drift, err);
	if (rc)
		return rc;
	snprintf(g->gpu_type, sizeof(g->gpu_type), "%s", type);
	g->output = time ? "time" : "power";
	r->n_groups++;
	r->n_due += g->drift.verdict == HES_DRIFT_DUE;
	return 0;
}

static int drift_add_type(struct drift_report *r, const struct hes_store_miss *v, size_t n,
			  const char *type, size_t last, struct sides *sides, struct hes_err *err)
{
	int rc = drift_add_group(r, v, n, type, true, last, sides, err);

	return rc ? rc : drift_add_group(r, v, n, type, false, last, sides, err);
}

static int drift_add_groups(struct drift_report *r, const struct hes_store_miss *v, size_t n,
			    size_t last, const char **types, struct sides *sides,
			    struct hes_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < n; i++)
		types[i] = v[i].gpu_type;
	qsort(types, n, sizeof(*types), hes_by_pointed_text);
	for (size_t i = 0; i < n && !rc; i++)
		if (i == 0 || strcmp(types[i], types[i - 1]))
			rc = drift_add_type(r, v, n, types[i], last, sides, err);
	return rc ? rc : drift_add_type(r, v, n, all, last, sides, err);
}

static int drift_judge(struct drift_report *r, const struct hes_store_miss *v, size_t n,
		       size_t last, struct hes_err *err)
{
	struct sides sides = { calloc(n, sizeof(double)), calloc(n, sizeof(double)), 0, 0 };
	const char **types = calloc(n, sizeof(*types));
	int rc;

	r->groups = calloc(2 * n + 2, sizeof(*r->groups));
	if (sides.validation && sides.recent && types && r->groups)
		rc = drift_add_groups(r, v, n, last, types, &sides, err);
	else
		rc = hes_fail(err, -ENOMEM, "out of memory for %zu predictions", n);
	free(sides.validation);
	free(sides.recent);
	free(types);
	return rc;
}

/* The given one, or the one that predicted last. */
static int choose_forecaster(struct hes_store *s, const struct drift_request *q,
			     struct hes_store_forecaster *out, struct hes_err *err)
{
	struct hes_store_forecaster *v = NULL;
	struct hes_store_predictor wanted = { 0 };
	struct hes_predictor *p = NULL;
	size_t n = 0, i = 0;
	int rc = q->predictor ? hes_predictor_load(q->predictor, &p, err) : 0;

	if (!rc && p)
		rc = app_store_predictor(q->predictor, p, &wanted, err);
	if (!rc)
		rc = hes_store_forecasters(s, &v, &n, err);
	while (p && i < n && v[i].crc != wanted.crc)
		i++;
	if (!rc && i < n)
		*out = v[i];
	else if (!rc)
		rc = hes_fail(
			err, -ENOENT,
			"the store has nothing that %s predicted; import samples with --predictor",
			p ? q->predictor : "a predictor");
	free(v);
	hes_predictor_free(p);
	return rc;
}

int drift_report_make(struct hes_store *s, const struct drift_request *q, struct drift_report *out,
		      struct hes_err *err)
{
	struct drift_report r = { 0 };
	struct hes_store_miss *v = NULL;
	size_t n = 0;
	int rc = choose_forecaster(s, q, &r.of, err);

	if (!rc)
		rc = hes_store_misses(s, r.of.crc, q->with_modelled, &v, &n, err);
	if (!rc)
		rc = drift_judge(&r, v, n, q->last, err);
	free(v);
	if (rc)
		drift_report_free(&r);
	else
		*out = r;
	return rc;
}

void drift_report_free(struct drift_report *r)
{
	free(r->groups);
	*r = (struct drift_report){ 0 };
}
