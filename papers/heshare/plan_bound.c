/*
 * plan_bound.c - how far a plan of `joint` is from lower bounds (bound.h), for a jobs file and a
 * fleet. All jobs wait at time 0, and nothing was measured. Prints one JSON document.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/known.h"
#include "bound.h"
#include "usage.h"

#define MOST_JOBS 300 /* for which bounds are found in minutes */

/* In the order of enum hes_joint_wanted. */
static const char *const preferences[] = { "balanced", "energy", "jct", NULL };

struct plan_bound_opts {
	const char *prefer;
	uint64_t seed, evaluations;
};

/* clang-format off */
static const struct opt plan_bound_opts[] = {
	{ .name = "prefer", .kind = OPT_CHOICE, .offset = offsetof(struct plan_bound_opts, prefer),
	  .arg = "NAME", .def = "balanced", .choices = preferences,
	  .help = "what the plan favours: balanced, energy or jct" },
	{ .name = "seed", .letter = 's', .kind = OPT_U64,
	  .offset = offsetof(struct plan_bound_opts, seed), .arg = "S", .def = "1", .max = 0x1p62,
	  .help = "random seed of the search" },
	{ .name = "evaluations", .kind = OPT_U64,
	  .offset = offsetof(struct plan_bound_opts, evaluations), .arg = "N", .def = "0",
	  .max = 0x1p62,
	  .help = "of the search; 0: as many as suit the jobs" },
	{ 0 }
};
/* clang-format on */

/* What a problem is made of. */
struct inputs {
	struct hes_catalogue catalogue;
	struct hes_fleet fleet;
	struct hes_jobs jobs;
	struct hes_model *model;
	struct app_known known;
	uint32_t *waiting;
	int64_t *free_at_us;
};

static void inputs_free(struct inputs *in)
{
	free(in->free_at_us);
	free(in->waiting);
	app_known_free(&in->known);
	hes_model_free(in->model);
	hes_jobs_free(&in->jobs);
	hes_fleet_free(&in->fleet);
	hes_catalogue_free(&in->catalogue);
}

static int inputs_load_known(struct inputs *in, struct hes_err *err)
{
	static const struct app no_store;
	const struct app_known_request q = {
		.app = &no_store,
		.catalogue = &in->catalogue,
		.fleet = &in->fleet,
		.model = in->model,
		.jobs = &in->jobs,
	};

	return app_known_load(&q, &in->known, err);
}

static int inputs_load(const char *jobs, const char *fleet, struct inputs *in, struct hes_err *err)
{
	int rc = hes_catalogue_load(NULL, &in->catalogue, err);

	if (!rc)
		rc = hes_fleet_load(fleet, &in->catalogue, &in->fleet, err);
	if (!rc)
		rc = hes_jobs_load(jobs, &in->jobs, err);
	if (!rc && in->jobs.n > MOST_JOBS)
		rc = hes_fail(err, -E2BIG, "%s: bounds are found for at most %d jobs, not %zu",
			      jobs, MOST_JOBS, in->jobs.n);
	if (!rc)
		rc = hes_model_load(NULL, &in->model, err);
	if (!rc)
		rc = hes_model_derive(in->model, &in->catalogue, err);
	if (!rc)
		rc = inputs_load_known(in, err);
	if (rc)
		return rc;
	in->waiting = calloc(in->jobs.n + 1, sizeof(*in->waiting));
	in->free_at_us = calloc(in->fleet.n + 1, sizeof(*in->free_at_us));
	if (!in->waiting || !in->free_at_us)
		return hes_fail(err, -ENOMEM, "out of memory for %zu jobs", in->jobs.n);
	for (size_t i = 0; i < in->jobs.n; i++) {
		in->jobs.v[i].arrival_us = 0;
		in->jobs.v[i].has_deadline = false;
		in->waiting[i] = (uint32_t)i;
	}
	return 0;
}

/* By how much a value is above its bound, %; null where no bound was proven. */
static json_t *above(double value, double bound)
{
	return bound > 0 ? json_real(100 * (value / bound - 1)) : json_null();
}

static int print_bounds(const struct plan_bound_opts *o, const struct hes_problem *p,
			const struct hes_objectives *at, const struct hes_bounds *least,
			struct hes_err *err)
{
	const double n = (double)p->n;
	json_t *doc =
		json_pack("{s:s, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:o, s:o}", "prefer", o->prefer,
			  "seed", (json_int_t)o->seed, "jobs", (json_int_t)p->n, "gpus",
			  (json_int_t)p->k, "busy_energy_j", at->energy_mj * 1e-3, "least_energy_j",
			  least->least_mj * 1e-3, "avg_jct_s", at->jct_us / n * 1e-6,
			  "least_avg_jct_s", least->least_jct_us / n * 1e-6, "energy_above_pct",
			  above(at->energy_mj, least->least_mj), "avg_jct_above_pct",
			  above(at->jct_us, least->least_jct_us));
	int rc = 0;

	if (!doc || json_dumpf(doc, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(10)) ||
	    putchar('\n') == EOF)
		rc = hes_fail(err, -EIO, "cannot write JSON to standard output");
	json_decref(doc);
	return rc;
}

static int find_bounds(const struct plan_bound_opts *o, const struct hes_problem *p,
		       struct hes_err *err)
{
	struct hes_joint_options search = { .seed = o->seed, .evaluations = o->evaluations };
	struct hes_bounds least;
	struct hes_joint *j;
	size_t chosen;
	int rc;

	while (strcmp(preferences[search.wanted], o->prefer) != 0)
		search.wanted++;
	rc = hes_joint_search(p, &search, &j);
	if (rc)
		return hes_fail(err, rc, "out of memory for %zu jobs", p->n);
	chosen = hes_joint_wanted(j);
	rc = hes_bound_joint(p, j, chosen, &least);
	rc = rc ? hes_fail(err, rc, "out of memory for %zu jobs", p->n)
		: print_bounds(o, p, &hes_joint_front(j)->v[chosen].at, &least, err);
	hes_joint_free(j);
	return rc;
}

static int run(const struct plan_bound_opts *o, char **paths, struct hes_err *err)
{
	struct inputs in = { .model = NULL };
	struct hes_problem p;
	int rc = inputs_load(paths[0], paths[1], &in, err);
	const struct hes_request r = {
		.fleet = &in.fleet,
		.jobs = &in.jobs,
		.waiting = in.waiting,
		.n_waiting = in.jobs.n,
		.free_at_us = in.free_at_us,
		.predictor = in.known.predictor,
		.profiles = &in.known.profiles,
		.prefer = o->prefer,
		.seed = o->seed,
	};

	if (!rc)
		rc = hes_problem_init(&p, &r, err);
	if (!rc) {
		rc = find_bounds(o, &p, err);
		hes_problem_finish(&p);
	}
	inputs_free(&in);
	return rc;
}

static const struct command program = {
	.name = "plan_bound",
	.args = "JOBS.csv FLEET.yaml",
	.min_args = 2,
	.max_args = 2,
	.summary = "Plan jobs by joint, and find lower bounds: the energy of any plan with this\n"
		   "completion time, and the completion time of any plan with this energy.",
	.opts = plan_bound_opts,
	.opts_size = sizeof(struct plan_bound_opts),
};

int main(int argc, char **argv)
{
	struct plan_bound_opts o = { 0 };
	struct hes_err err;
	int status;

	if (usage_parse(&program, argc, argv, &o, &status) < 0)
		return status;
	if (!run(&o, argv + 1, &err))
		return 0;
	fprintf(stderr, "plan_bound: %s\n", err.msg);
	return 1;
}
