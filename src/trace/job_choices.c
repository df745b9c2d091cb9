/*
 * job_choices.c - choosing a workload and a batch size; see job_choices.h.
 */
#include "trace/job_choices.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_name_and_batch(const void *a, const void *b)
{
	const struct hes_choice *x = a, *y = b;
	int c = strcmp(x->workload, y->workload);

	return c ? c : (x->batch_size > y->batch_size) - (x->batch_size < y->batch_size);
}

static int check(const struct hes_choice *c, const struct hes_choice *before, struct hes_err *err)
{
	if (!(isfinite(c->iteration_us) && c->iteration_us > 0))
		return hes_fail(err, -EINVAL,
				"%s at batch size %u: iteration time %g us; it must be above 0",
				c->workload, c->batch_size, c->iteration_us);
	if (before && by_name_and_batch(before, c) == 0)
		return hes_fail(err, -EEXIST, "%s at batch size %u is given twice", c->workload,
				c->batch_size);
	return 0;
}

static int choices_group(struct choices *m, size_t n, struct hes_err *err)
{
	for (size_t i = 0; i < n; i++) {
		const struct hes_choice *before = i ? &m->v[i - 1] : NULL;
		int rc = check(&m->v[i], before, err);

		if (rc)
			return rc;
		if (!before || strcmp(before->workload, m->v[i].workload) != 0)
			m->groups[m->n_groups++] = (struct choice_group){ i, 0 };
		m->groups[m->n_groups - 1].n++;
	}
	return 0;
}

int choices_init(struct choices *m, const struct hes_choice *choices, size_t n, unsigned mix,
		 struct hes_err *err)
{
	size_t kept = 0;
	int rc;

	*m = (struct choices){ calloc(n + 1, sizeof(*m->v)), calloc(n + 1, sizeof(*m->groups)), 0 };
	if (!m->v || !m->groups) {
		choices_finish(m);
		return hes_fail(err, -ENOMEM, "out of memory for %zu choices", n);
	}
	for (size_t i = 0; i < n; i++)
		if (choices[i].mix & mix)
			m->v[kept++] = choices[i];
	qsort(m->v, kept, sizeof(*m->v), by_name_and_batch);
	rc = kept ? choices_group(m, kept, err)
		  : hes_fail(err, -EINVAL, "no workload left to choose from: none is of this mix");
	if (rc)
		choices_finish(m);
	return rc;
}

void choices_finish(struct choices *m)
{
	free(m->v);
	free(m->groups);
	*m = (struct choices){ 0 };
}

/* How far apart two batch sizes are, as a ratio of at least 1. */
static double ratio(uint32_t a, uint32_t b)
{
	return a > b ? (double)a / b : (double)b / a;
}

const struct hes_choice *choices_choose(const struct choices *m, const char *workload,
					uint32_t batch, struct hes_rng *rng)
{
	const struct choice_group *g = &m->groups[hes_rng_below(rng, m->n_groups)];
	const struct hes_choice *best = NULL, *random;

	for (size_t i = 0; workload[0] && i < m->n_groups; i++)
		if (strcmp(m->v[m->groups[i].first].workload, workload) == 0)
			g = &m->groups[i];
	random = &m->v[g->first + hes_rng_below(rng, g->n)];
	if (!batch || strcmp(random->workload, workload) != 0)
		return random;
	for (size_t i = g->first; i < g->first + g->n; i++)
		if (!best || ratio(m->v[i].batch_size, batch) < ratio(best->batch_size, batch))
			best = &m->v[i];
	return best;
}
