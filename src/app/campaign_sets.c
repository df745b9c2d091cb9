/*
 * campaign_sets.c - load and run several sets of jobs; see campaign_sets.h.
 */
#include "app/campaign_sets.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/trace_draw.h"

/* Seeds as text, of which a plain number is how many. */
static int sets_draw_seeds(const char *draws, struct campaign_sets *s, size_t *n,
			   struct hes_err *err)
{
	struct campaign seeds = { 0 };
	char text[64];
	int rc;

	snprintf(text, sizeof(text), "%s%s", draws[strspn(draws, "0123456789")] ? "" : "1..",
		 draws);
	rc = campaign_seeds(&seeds, "--draws", text, err);
	s->seeds = seeds.seeds;
	*n = seeds.n_seeds;
	return rc;
}

/* @param name  a file, or the trace to draw from */
static int sets_load_one(struct campaign_sets *s, size_t i, const struct campaign_request *q,
			 const char *name, struct hes_err *err)
{
	struct campaign_set *set = &s->v[i];
	const char *slash = strrchr(name, '/');
	int rc = 0;

	if (s->source) {
		snprintf(set->name, sizeof(set->name), "draw %" PRIu64, s->seeds[i]);
		rc = trace_draw_jobs(q->app, name, s->seeds[i], &set->jobs, err);
	} else {
		snprintf(set->name, sizeof(set->name), "%s", slash ? slash + 1 : name);
	}
	return rc ? rc : campaign_set_load(set, q, s->source ? NULL : name, err);
}

int campaign_sets_load(struct campaign_sets *s, const struct campaign_request *q, const char *draws,
		       size_t n, char *const *names, struct hes_err *err)
{
	int rc = 0;

	*s = (struct campaign_sets){ .source = draws ? names[0] : NULL };
	if (draws && n > 1)
		return hes_fail(err, -EINVAL,
				"--draws: it draws from one trace, not from %zu files", n);
	if (draws)
		rc = sets_draw_seeds(draws, s, &n, err);
	if (rc)
		return rc;
	s->v = calloc(n, sizeof(*s->v));
	if (!s->v)
		return hes_fail(err, -ENOMEM, "out of memory for %zu sets of jobs", n);
	for (size_t i = 0; i < n && !rc; i++) {
		s->n = i + 1;
		rc = sets_load_one(s, i, q, names[draws ? 0 : i], err);
	}
	return rc;
}

int campaign_sets_choose(struct campaign_sets *s, const struct campaign_request *q,
			 struct hes_err *err)
{
	struct campaign_request own = *q;
	char seed[24];
	int rc = 0;

	for (size_t i = 0; i < s->n && !rc; i++) {
		if (s->source) {
			snprintf(seed, sizeof(seed), "%" PRIu64, s->seeds[i]);
			own.seeds = seed;
		}
		rc = campaign_set_choose(&s->v[i], &own, err);
	}
	return rc;
}

/* A session of profiling counts once, whatever sets have its workloads. */
static int sets_sum_profiling(struct campaign_sets *s, const struct campaign_request *q,
			      struct hes_err *err)
{
	struct hes_jobs all = { 0 };
	const struct app_known_request from = {
		.app = q->app,
		.store = q->store,
		.profiles = q->profiles,
		.jobs = &all,
	};
	size_t n = 0;
	int rc;

	for (size_t i = 0; i < s->n; i++)
		n += s->v[i].jobs.n;
	all.v = calloc(n, sizeof(*all.v));
	if (!all.v)
		return hes_fail(err, -ENOMEM, "out of memory for %zu jobs", n);
	for (size_t i = 0; i < s->n; i++) {
		const struct hes_jobs *jobs = &s->v[i].jobs;

		memcpy(all.v + all.n, jobs->v, jobs->n * sizeof(*all.v));
		all.n += jobs->n;
	}
	rc = app_known_profiling_of(&from, &s->profiling, err);
	free(all.v);
	return rc;
}

int campaign_sets_run(struct campaign_sets *s, const struct campaign_request *q,
		      struct hes_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < s->n && !rc; i++) {
		rc = campaign_set_learn(&s->v[i], q, err);
		if (!rc)
			rc = campaign_run_all(&s->v[i].campaign, (int)q->threads, err);
		if (!rc && q->model_draws)
			rc = campaign_set_draw(&s->v[i], q, err);
		if (rc)
			hes_fail_in(err, "%s", s->v[i].name);
	}
	return rc ? rc : sets_sum_profiling(s, q, err);
}

void campaign_sets_free(struct campaign_sets *s)
{
	for (size_t i = 0; i < s->n; i++)
		campaign_set_free(&s->v[i]);
	free(s->v);
	free(s->seeds);
}
