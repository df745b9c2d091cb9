/*
 * job_sets.c - load and run several sets of jobs; see job_sets.h, and sets_compared.c for what is
 * printed.
 */
#include "cli/simulate/job_sets.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/inputs/inputs.h"
#include "cli/simulate/sweep.h"
#include "cli/trace/draw_jobs.h"

/* Draws: seeds as text, of which a plain number is how many. @param out  its seeds; free() */
static int draw_seeds(const char *draws, struct campaign *out, struct hes_err *err)
{
	char text[64];

	snprintf(text, sizeof(text), "%s%s", draws[strspn(draws, "0123456789")] ? "" : "1..",
		 draws);
	return campaign_seeds(out, "--draws", text, err);
}

/* @param file  NULL: draw the jobs by @seed */
static int load_set(struct simulated *set, const struct simulate_opts *o, const char *source,
		    const char *file, uint64_t seed, struct hes_err *err)
{
	struct simulate_opts own = *o;
	char text[24];
	const char *slash = file ? strrchr(file, '/') : NULL;
	int rc = 0;

	if (file) {
		snprintf(set->name, sizeof(set->name), "%s", slash ? slash + 1 : file);
	} else {
		snprintf(set->name, sizeof(set->name), "draw %" PRIu64, seed);
		snprintf(text, sizeof(text), "%" PRIu64, seed);
		own.seeds = text;
		rc = trace_draw_jobs(source, seed, &set->jobs, err);
	}
	if (!rc && simulated_load(set, &own, file, err))
		rc = 1;
	if (!rc && simulated_choose(set, &own, err))
		rc = 2;
	return rc < 0 ? 1 : rc;
}

int job_sets_load(struct job_sets *s, const struct simulate_opts *o, size_t n_args, char **args,
		  struct hes_err *err)
{
	struct campaign draws = { 0 };
	int status = 0;
	size_t n;

	*s = (struct job_sets){ .source = o->draws ? args[0] : NULL };
	if (o->draws && n_args > 1) {
		hes_fail(err, -EINVAL, "--draws: it draws from one trace, not from %zu files",
			 n_args);
		return 2;
	}
	if (o->draws && draw_seeds(o->draws, &draws, err))
		return 2;
	n = o->draws ? draws.n_seeds : n_args;
	s->v = calloc(n, sizeof(*s->v));
	if (!s->v) {
		hes_fail(err, -ENOMEM, "out of memory for %zu sets of jobs", n);
		status = 1;
	}
	for (size_t i = 0; i < n && !status; i++) {
		s->n = i + 1;
		status = load_set(&s->v[i], o, s->source, o->draws ? NULL : args[i],
				  o->draws ? draws.seeds[i] : 0, err);
	}
	campaign_free(&draws);
	return status;
}

void job_sets_free(struct job_sets *s)
{
	for (size_t i = 0; i < s->n; i++)
		simulated_free(&s->v[i]);
	free(s->v);
}

/* Options that are for one set of jobs. */
static int refuse_others(const struct simulate_opts *o, struct hes_err *err)
{
	const char *given = "";
	const struct {
		const char *name, *value;
	} single[] = {
		{ "--plan", o->plan },
		{ "--csv", o->csv },
		{ "--per-job", o->per_job },
		{ "--report", o->pages.report },
		{ "--figures", o->pages.figures },
		{ "--wide", o->wide ? given : NULL },
		{ "--model-draws", o->model_draws && !o->json ? given : NULL },
	};

	for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++)
		if (single[i].value)
			return hes_fail(err, -EINVAL,
					"%s: it goes with one jobs file; --json has every set's "
					"results",
					single[i].name);
	return 0;
}

static int run_sets(struct job_sets *s, const struct simulate_opts *o, struct hes_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < s->n && !rc; i++) {
		rc = simulated_learn(&s->v[i], o, err);
		if (!rc)
			rc = simulated_run(&s->v[i], o, NULL, err);
		if (rc)
			hes_fail_in(err, "%s", s->v[i].name);
	}
	return rc;
}

int simulate_sets(const struct simulate_opts *o, size_t n_args, char **args)
{
	struct job_sets s = { 0 };
	struct hes_err err = { 0 };
	struct simulate_opts own = *o;
	int status;

	if (o->sweep && !o->policy)
		own.policy = SWEEP_POLICY;
	status = refuse_others(o, &err) ? 2 : job_sets_load(&s, &own, n_args, args, &err);
	if (!status && o->sweep)
		status = sweep_settings(&s, o, &err);
	else if (!status && run_sets(&s, o, &err))
		status = 1;
	else if (!status && o->json)
		status = cli_print_json("heshare-simulate-sets", job_sets_json(&s, o));
	else if (!status && job_sets_print(&s, o, &err))
		status = 2;
	if (*err.msg)
		status = cli_fail("simulate", &err) == 2 ? 2 : status;
	job_sets_free(&s);
	return status;
}
