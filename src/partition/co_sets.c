/*
 * co_sets.c - jobs that were measured together, out of rows of points; see co_run.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/co_run_text.h"
#include "partition/co_run.h"

/* A row with the text of all jobs of its point. */
struct row {
	const struct hes_point *p;
	char all[HES_CO_RUN_ALL_MAX];
};

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int d = (x->p->clock_mhz > y->p->clock_mhz) - (x->p->clock_mhz < y->p->clock_mhz);

	if (!d)
		d = strcmp(x->all, y->all);
	return d ? d : (x->p > y->p) - (x->p < y->p);
}

static bool same_set(const struct row *a, const struct row *b)
{
	return a->p->clock_mhz == b->p->clock_mhz && strcmp(a->all, b->all) == 0;
}

/* Rate and power of one job of a set: means over its rows, [n]. @return false: it has no row */
static bool measured_rate(const struct row *v, size_t n, const struct hes_co_run_job *j,
			  double *rate)
{
	double sum = 0;
	size_t rows = 0;

	for (size_t i = 0; i < n; i++)
		if (v[i].p->sm_pct == j->sm_pct && v[i].p->batch_size == j->batch_size &&
		    strcmp(v[i].p->workload, j->workload) == 0) {
			sum += 1e6 / v[i].p->iteration_us;
			rows++;
		}
	*rate = rows ? sum / (double)rows : 0;
	return rows > 0;
}

/* @return false: a job was never profiled alone, or its row is missing */
static bool set_of(const struct row *v, size_t n, const struct hes_share_profiles *solo,
		   const struct hes_gpu_type *g, struct co_set *out)
{
	const char *at = v[0].all;
	struct hes_co_run_job job;

	*out = (struct co_set){ .g = g };
	for (; out->n < HES_PARTITION_MAX_JOBS && hes_co_run_text_next(&at, &job); out->n++) {
		size_t i = out->n;

		out->jobs[i] = hes_share_profile_find(solo, g->name, job.workload, job.batch_size,
						      v[0].p->clock_mhz);
		out->sm_pct[i] = job.sm_pct;
		if (!out->jobs[i] || !measured_rate(v, n, &job, &out->rate[i]))
			return false;
	}
	for (size_t i = 0; i < n; i++)
		out->power_w += v[i].p->power_mw * 1e-3 / (double)n;
	return !*at && out->n > 1;
}

int co_sets_from(const struct hes_points *p, const struct hes_share_profiles *solo,
		 const struct hes_gpu_type *g, struct co_sets *out, struct hes_err *err)
{
	struct row *v = calloc(p->n + 1, sizeof(*v));
	struct co_sets sets = { .v = calloc(p->n + 1, sizeof(*sets.v)) };
	size_t n = 0;
	int rc = v && sets.v ? 0
			     : hes_fail(err, -ENOMEM, "out of memory for %zu rows of points", p->n);

	for (size_t i = 0; i < p->n && !rc; i++)
		if (p->v[i].co_runners[0] && strcmp(p->v[i].gpu_type, g->name) == 0) {
			v[n].p = &p->v[i];
			hes_co_run_text_all(&p->v[i], v[n++].all);
		}
	if (n)
		qsort(v, n, sizeof(*v), compare_rows);
	for (size_t i = 0, k; i < n && !rc; i = k) {
		for (k = i + 1; k < n && same_set(&v[i], &v[k]);)
			k++;
		sets.n += set_of(v + i, k - i, solo, g, &sets.v[sets.n]);
	}
	free(v);
	if (rc) {
		free(sets.v);
		return rc;
	}
	*out = sets;
	return 0;
}
