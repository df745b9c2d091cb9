/*
 * profile_gpus.c - measure on the GPUs of this machine, into the store, or draw from modelled ones;
 * see profile.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/catalogue.h"
#include "app/gpus_chosen.h"
#include "app/gpus_visible.h"
#include "app/known.h"
#include "app/known_folder.h"
#include "app/known_store.h"
#include "app/profile.h"
#include "app/work_folder.h"
#include "base/clock.h"
#include "base/num.h"
#include "heshare/draw.h"

#define LIST_MAX    128 /* values of a list */
#define SETTLE_PART 0.5 /* of the warm-up, after a change of the clock */

static bool session_stops(void *ctx)
{
	const struct profile_session *s = ctx;

	return (s->q->stop && s->q->stop(s->q->ctx)) || hes_monotonic_s() > s->end_s;
}

static void session_report(void *ctx, const struct hes_profile_progress *t)
{
	const struct profile_session *s = ctx;

	if (s->q->report)
		s->q->report(s->q->ctx, t);
}

static int session_keep(void *ctx, const struct hes_points *p,
			const struct hes_profiling_cost *cost, struct hes_err *err)
{
	struct profile_session *s = ctx;
	const struct hes_delivery d = { .source = HES_SOURCE_MEASURED,
					.at_us = hes_wall_us(),
					.name = s->name,
					.points = p,
					.into = s->origin,
					.cost = cost };
	struct hes_delivered done;
	int rc = hes_store_add(s->store, &d, &done, err);

	if (!rc) {
		s->origin = done.origin ? done.origin : s->origin;
		s->points_new += done.points_new;
	}
	return rc;
}

/* "3..10" or "5" */
static int parse_repeats(const char *text, uint32_t *least, uint32_t *most, struct hes_err *err)
{
	char copy[32], *dots;
	int rc;

	snprintf(copy, sizeof(copy), "%s", text);
	dots = strstr(copy, "..");
	if (dots)
		*dots = '\0';
	rc = hes_parse_u32("--repeats", copy, 2, 64, least, err);
	*most = *least;
	if (!rc && dots)
		rc = hes_parse_u32("--repeats", dots + 2, *least, 64, most, err);
	return rc;
}

static int read_manner(struct profile_session *s, struct hes_err *err)
{
	const struct profile_request *q = s->q;

	s->timing = (struct hes_profile_timing){ .warm_up_s = q->warm_up_s,
						 .settle_s = SETTLE_PART * q->warm_up_s,
						 .window_s = q->window_s,
						 .error = q->error_pct / 100,
						 .patience_s = q->patience_s };
	return parse_repeats(q->repeats, &s->timing.least, &s->timing.most, err);
}

static int grid_clocks(const struct profile_request *q, const struct hes_gpu_type *g,
		       struct hes_grid *grid, struct hes_err *err)
{
	uint32_t wanted[HES_MAX_CLOCKS];
	int n;

	if (strcmp(q->clocks, "auto") == 0) {
		memcpy(grid->clocks_mhz, g->clocks_mhz, g->n_clocks * sizeof(*g->clocks_mhz));
		grid->n_clocks = g->n_clocks;
		return 0;
	}
	grid->clocks_mhz[0] = g->clock_default_mhz;
	grid->n_clocks = 1;
	if (strcmp(q->clocks, "default") == 0)
		return 0;
	n = hes_ranges_parse("--clocks", q->clocks, 1, 10000, wanted, HES_MAX_CLOCKS - 1, err);
	if (n < 0)
		return n;
	/* The profile of a job is of the default clock, so that this one is always there; and it is
	 * the last. */
	grid->n_clocks = 0;
	for (int i = 0; i < n; i++) {
		if (!hes_gpu_type_has_clock(g, wanted[i]))
			return hes_fail(err, -ERANGE,
					"--clocks: %s does not run at %u MHz; it has %u to %u MHz",
					g->name, wanted[i], g->clock_min_mhz, g->clock_max_mhz);
		if (wanted[i] != g->clock_default_mhz)
			grid->clocks_mhz[grid->n_clocks++] = wanted[i];
	}
	grid->clocks_mhz[grid->n_clocks++] = g->clock_default_mhz;
	return 0;
}

static int make_grid(const struct profile_request *q, const struct hes_gpu_type *g,
		     struct hes_grid *grid, struct hes_err *err)
{
	int n = hes_ranges_parse("--shares", q->shares, 1, 100, grid->shares, 100, err);

	if (n < 0)
		return n;
	grid->n_shares = (size_t)n;
	return grid_clocks(q, g, grid, err);
}

static int make_sequences(struct profile_session *s, struct hes_sequences *t,
			  size_t share_of_samples, struct hes_err *err)
{
	struct hes_grid grid;
	int rc = make_grid(s->q, t->type, &grid, err);

	if (rc)
		return rc;
	if (s->q->jobs)
		return hes_sequences_draw(&grid, s->jobs.v, s->jobs.n, s->q->most, share_of_samples,
					  s->q->seed, t, err);
	for (size_t i = 0; i < s->jobs.own && !rc; i++)
		rc = hes_sequences_grid(&grid, (uint32_t)i, s->jobs.sets, s->jobs.n_sets, t, err);
	return rc;
}

static bool has_type(const struct profile_session *s, const struct hes_gpu_type *g)
{
	for (size_t k = 0; k < s->n_types; k++)
		if (s->sequences[k].type == g)
			return true;
	return false;
}

static int find_types(struct profile_session *s, struct hes_err *err)
{
	s->sequences = calloc(s->n_gpus + 1, sizeof(*s->sequences));
	if (!s->sequences)
		return hes_fail(err, -ENOMEM, "out of memory for %zu GPUs", s->n_gpus);
	for (size_t i = 0; i < s->n_gpus; i++) {
		struct hes_device_info info;
		const struct hes_gpu_type *g;
		int rc = hes_device_info(s->devices, s->gpus[i], &info, err);

		if (rc)
			return rc;
		g = app_gpu_type(s->devices, s->gpus[i], &s->catalogue, err);
		if (!g)
			return err->code;
		s->clocks |= (info.can & HES_CAN_LOCK_CLOCK) != 0;
		if (!has_type(s, g))
			s->sequences[s->n_types++].type = g;
	}
	return 0;
}

int profile_open(const struct profile_request *q, struct profile_session *s, struct hes_err *err)
{
	const struct hes_store_query all = { 0 };
	char driver[HES_DRIVER_MAX];
	int rc;

	*s = (struct profile_session){ .q = q };
	rc = app_catalogue_load(q->app, q->catalogue, true, &s->catalogue, err);

	if (!rc)
		rc = read_manner(s, err);
	if (!rc)
		rc = app_devices_open(s->q->app, &s->catalogue, &s->devices, err);
	if (!rc)
		rc = gpus_choose(s->q->app, s->devices, s->q->gpus, GPUS_RUN, &s->gpus, &s->n_gpus,
				 err);
	if (!rc)
		rc = find_types(s, err);
	if (!rc)
		rc = app_store_open(s->q->app, s->q->store, HES_STORE_WRITE, HES_STORE_WAIT_MS,
				    &s->store, err);
	if (!rc)
		rc = hes_store_points(s->store, &all, &s->known, err);
	if (!rc)
		rc = profile_jobs_choose(s->q, &s->known, &s->jobs, err);
	for (size_t k = 0; k < s->n_types && !rc; k++)
		rc = make_sequences(s, &s->sequences[k],
				    (s->q->samples + s->n_types - 1) / s->n_types, err);
	if (rc)
		return rc;
	hes_devices_driver(s->devices, driver);
	snprintf(s->name, sizeof(s->name), "heshare profile %.150s, driver %s",
		 s->q->jobs ? s->q->jobs : s->q->args[0], driver);
	s->end_s = s->q->minutes > 0 ? hes_monotonic_s() + 60 * s->q->minutes : INFINITY;
	return 0;
}

void profile_close(struct profile_session *s)
{
	for (size_t k = 0; k < s->n_types; k++)
		hes_sequences_free(&s->sequences[k]);
	free(s->sequences);
	profile_jobs_free(&s->jobs);
	hes_points_free(&s->known);
	hes_store_close(s->store);
	free(s->gpus);
	hes_devices_close(s->devices);
	hes_catalogue_free(&s->catalogue);
}

/* The same measurement, imported earlier with fewer columns, or kept by an earlier heshare with
 * the default clock where none was locked. */
static bool same_measurement(const struct hes_catalogue *c, const struct hes_sample *a,
			     const struct hes_sample *s)
{
	const struct hes_gpu_type *g = hes_gpu_type_find(c, a->task.gpu_type, NULL);

	return g && a->iteration_us == s->iteration_us && a->power_mw == s->power_mw &&
	       a->sm_pct == s->sm_pct &&
	       hes_gpu_type_clock(g, a->clock_mhz) == hes_gpu_type_clock(g, s->clock_mhz) &&
	       a->task.batch_size == s->task.batch_size &&
	       a->co_runners.power_mw == s->co_runners.power_mw &&
	       strcmp(a->task.workload, s->task.workload) == 0 &&
	       strcmp(a->task.gpu_type, s->task.gpu_type) == 0;
}

static int by_measurement(const void *a, const void *b)
{
	const struct hes_sample *x = a, *y = b;
	int d = strcmp(x->task.workload, y->task.workload);

	if (!d)
		d = strcmp(x->task.gpu_type, y->task.gpu_type);
	if (!d)
		d = (x->iteration_us > y->iteration_us) - (x->iteration_us < y->iteration_us);
	return d;
}

static void leave_out_known(const struct hes_catalogue *c, struct hes_samples *s,
			    struct hes_samples *there)
{
	size_t n = 0;

	if (there->n)
		qsort(there->v, there->n, sizeof(*there->v), by_measurement);
	for (size_t i = 0; i < s->n; i++) {
		size_t low = 0, high = there->n;
		bool known = false;

		while (low < high) {
			size_t mid = low + (high - low) / 2;

			if (by_measurement(&there->v[mid], &s->v[i]) < 0)
				low = mid + 1;
			else
				high = mid;
		}
		for (; low < there->n && !known && by_measurement(&there->v[low], &s->v[i]) == 0;
		     low++)
			known = same_measurement(c, &there->v[low], &s->v[i]);
		if (!known)
			s->v[n++] = s->v[i];
	}
	s->n = n;
}

/* Points of other workloads were not measured here: what follows from them is not new. */
static void leave_out_others(const struct profile_session *s, struct hes_points *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		for (size_t k = 0; k < s->jobs.n; k++)
			if (!strcmp(s->jobs.v[k].workload, p->v[i].workload)) {
				p->v[n++] = p->v[i];
				break;
			}
	p->n = n;
}

/* Profiles and samples of all points of the jobs. */
static int tell_store(struct profile_session *s, struct hes_delivered *done, struct hes_err *err)
{
	const struct hes_store_query all = { 0 };
	struct hes_points points = { 0 };
	struct hes_profiles profiles = { 0 };
	struct hes_samples samples = { 0 }, there = { 0 };
	int rc = hes_store_points(s->store, &all, &points, err);

	if (!rc)
		leave_out_others(s, &points);
	if (!rc)
		rc = hes_points_derive(&points, &s->catalogue, &profiles, &samples, err);
	if (!rc)
		rc = hes_store_samples(s->store, &all, &there, err);
	if (!rc) {
		const struct hes_delivery d = { .source = HES_SOURCE_MEASURED,
						.at_us = hes_wall_us(),
						.name = s->name,
						.profiles = &profiles,
						.samples = &samples,
						.into = s->origin };

		leave_out_known(&s->catalogue, &samples, &there);
		rc = hes_store_add(s->store, &d, done, err);
	}
	hes_points_free(&points);
	hes_profiles_free(&profiles);
	hes_samples_free(&samples);
	hes_samples_free(&there);
	return rc;
}

static struct hes_profiler profiler_of(struct profile_session *s)
{
	return (struct hes_profiler){
		.devices = s->devices,
		.gpus = s->gpus,
		.n_gpus = s->n_gpus,
		.jobs = s->jobs.v,
		.n_jobs = s->jobs.n,
		.sequences = s->sequences,
		.n_types = s->n_types,
		.known = &s->known,
		.timing = s->timing,
		.clocks = s->clocks,
		.ahead = s->q->ahead,
		.keep = session_keep,
		.report = session_report,
		.stop = session_stops,
		.ctx = s,
	};
}

int profile_estimate(struct profile_session *s, size_t type, struct hes_profile_work *out,
		     double *minutes, struct hes_err *err)
{
	const struct hes_profiler p = profiler_of(s);
	const struct hes_profile_timing *t = &s->timing;
	int rc = hes_profile_estimate(&p, type, out, err);

	if (!rc)
		*minutes = ((double)out->starts * t->warm_up_s +
			    (double)out->points * (t->settle_s + t->least * t->window_s)) /
			   60;
	return rc;
}

int profile_run(struct profile_session *s, struct hes_profiled_result *r,
		struct hes_delivered *derived, struct hes_err *err)
{
	struct hes_profiler p = profiler_of(s);
	char folder[PATH_MAX];
	int rc = work_folder_make(s->q->app, "profile", folder, err);

	if (rc)
		return rc;
	p.folder = folder;
	p.guard = s->q->guard;
	if (!s->clocks && strcmp(s->q->clocks, "default"))
		app_say(s->q->app,
			"clocks cannot be locked here: only the default clock is measured");
	rc = hes_profile_gpus(&p, r, err);
	work_folder_remove(folder);
	return rc || !r->measured ? rc : tell_store(s, derived, err);
}

int profile_check(const struct profile_request *q, struct hes_err *err)
{
	const bool named = strcmp(q->clocks, "auto") == 0 || strcmp(q->clocks, "default") == 0;
	uint32_t v[LIST_MAX];
	int n = q->jobs ? 0
			: hes_ranges_parse("--batch", q->batch, 1, HES_MAX_BATCH_SIZE, v, LIST_MAX,
					   err);

	if (n >= 0 && q->pattern)
		n = hes_jobs_set_progress(NULL, 0, "--progress", q->pattern, err);
	if (n >= 0)
		n = hes_ranges_parse("--shares", q->shares, 1, 100, v, LIST_MAX, err);
	if (n >= 0 && !named)
		n = hes_ranges_parse("--clocks", q->clocks, 1, 10000, v, LIST_MAX, err);
	if (n >= 0 && q->co_runners)
		n = profile_co_runners_check(q->co_runners, err);
	return n < 0 ? n : gpus_check(q->gpus, err);
}

static int draw_types(const struct profile_request *q, const struct hes_catalogue *c,
		      const struct hes_gpu_type **types, struct hes_err *err)
{
	struct hes_fleet f;
	int rc;

	if (!q->fleet) {
		rc = app_types(q->types, c, types, APP_KNOWN_TYPES, err);
		return rc < 0 ? hes_fail_in(err, "--types") : rc;
	}
	rc = hes_fleet_load(q->fleet, c, &f, err);
	if (rc)
		return rc;
	rc = (int)hes_fleet_types(&f, types, APP_KNOWN_TYPES);
	hes_fleet_free(&f);
	return rc;
}

static int draw_keep(const struct profile_request *q, const struct hes_profiles *p,
		     const struct hes_samples *s, struct hes_delivered *done, struct hes_err *err)
{
	char name[64];
	struct hes_delivery d = { .source = HES_SOURCE_MODELLED,
				  .at_us = hes_wall_us(),
				  .name = name,
				  .profiles = p,
				  .samples = s };
	struct hes_store *store = NULL;
	int rc = app_store_open(q->app, q->store, HES_STORE_WRITE, HES_STORE_WAIT_MS, &store, err);

	snprintf(name, sizeof(name), "heshare profile --seed %" PRIu64, q->seed);
	if (!rc)
		rc = hes_store_add(store, &d, done, err);
	hes_store_close(store);
	return rc;
}

static void draw_progress(const struct profile_request *q, uint64_t done)
{
	if (q->progress)
		q->progress("drawing profiles and samples, part", done, 2);
}

static int draw_rows(const struct profile_request *q, const struct hes_draw *d,
		     struct profile_drawn *out, struct hes_err *err)
{
	struct app_rows r = { 0 };
	int rc;

	draw_progress(q, 0);
	rc = hes_draw_profiles(d, &r.profiles, err);
	draw_progress(q, 1);
	if (!rc)
		rc = hes_draw_samples(d, &r.profiles, q->samples, &r.samples, err);
	draw_progress(q, 2);
	if (!rc && q->folder)
		rc = app_rows_save(q->folder, &r, err);
	*out = (struct profile_drawn){ .profiles = r.profiles.n, .samples = r.samples.n };
	if (!rc && q->store)
		rc = draw_keep(q, &r.profiles, &r.samples, &out->stored, err);
	app_rows_free(&r);
	return rc;
}

int profile_draw(const struct profile_request *q, struct profile_drawn *out, struct hes_err *err)
{
	const struct hes_gpu_type *types[APP_KNOWN_TYPES];
	struct hes_draw d = { .types = types, .noise = q->noise_pct / 100, .seed = q->seed };
	struct hes_catalogue c;
	struct hes_model *model = NULL;
	int rc = app_catalogue_load(q->app, q->catalogue, false, &c, err);

	if (rc)
		return rc;
	rc = draw_types(q, &c, types, err);
	if (rc > 0) {
		d.n_types = (size_t)rc;
		rc = app_model_load(q->app, q->physics, &c, types, d.n_types, &model, err);
	}
	if (!rc) {
		d.model = model;
		rc = draw_rows(q, &d, out, err);
	}
	hes_model_free(model);
	hes_catalogue_free(&c);
	return rc;
}
