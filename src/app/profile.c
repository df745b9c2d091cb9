/*
 * profile_gpus.c - `heshare profile NAME -- COMMAND`: measure on the GPUs of this machine, into the
 * store.
 *
 * Each point is in the store before the next one starts. Profiles and samples follow from the
 * points at the end, or after an interruption at the end of the next run.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/plural.h"
#include "base/signals.h"
#include "app/catalogue.h"
#include "app/gpus_environment.h"
#include "app/gpus_chosen.h"
#include "cli/run/carry_out.h"
#include "cli/cli.h"
#include "cli/profiling_text.h"
#include "cli/terminal.h"
#include "cli/profile/profile.h"
#include "app/known_store.h"
#include "app/work_folder.h"
#include "app/gpus_visible.h"

#define SETTLE_PART 0.5 /* of the warm-up, after a change of the clock */

struct gpus_profile {
	const struct profile_opts *o;
	struct hes_catalogue catalogue;
	struct hes_devices *devices;
	size_t *gpus, n_gpus;
	struct hes_store *store;
	struct hes_points known;
	struct profile_jobs jobs;
	struct hes_sequences *sequences;
	size_t n_types;
	struct hes_profile_timing timing;
	bool clocks;
	char name[HES_STORE_ORIGIN_NAME];
	int64_t origin; /* of this run's rows; 0: none yet */
	size_t points_new;
	double end_s; /* stop then */
	bool in_line; /* a line of progress has no end yet */
};

/* Set by a signal; read by every thread. */
static volatile sig_atomic_t interrupted;

static void interrupt(int sig)
{
	(void)sig;
	interrupted = 1;
}

static bool stop(void *ctx)
{
	const struct gpus_profile *b = ctx;

	return interrupted || hes_monotonic_s() > b->end_s;
}

static int keep(void *ctx, const struct hes_points *p, const struct hes_profiling_cost *cost,
		struct hes_err *err)
{
	struct gpus_profile *b = ctx;
	const struct hes_delivery d = { .source = HES_SOURCE_MEASURED,
					.at_us = hes_wall_us(),
					.name = b->name,
					.points = p,
					.into = b->origin,
					.cost = cost };
	struct hes_delivered done;
	int rc = hes_store_add(b->store, &d, &done, err);

	if (!rc) {
		b->origin = done.origin ? done.origin : b->origin;
		b->points_new += done.points_new;
	}
	return rc;
}

/* After Ctrl-C the terminal has ^C in the line: keep it and end it. */
static void leave_line(struct gpus_profile *b)
{
	if (b->in_line)
		fputs(interrupted ? "\n" : "\r\033[K", stderr);
	b->in_line = false;
}

static void report_progress(void *ctx, const struct hes_profile_progress *t)
{
	struct gpus_profile *b = ctx;
	const bool terminal = terminal_is_live(STDERR_FILENO);
	char left[HES_QUANTITY_MAX];

	if (t->note || interrupted)
		leave_line(b);
	if (t->note)
		cli_say("profile", t->note);
	if (!terminal || interrupted)
		return;
	fprintf(stderr, "\rpoint %zu of %zu, ", t->points, t->all);
	if (t->left_s < 0)
		fputs("time left unknown yet\033[K", stderr);
	else
		fprintf(stderr, "about %s left\033[K", cli_rough_time(left, t->left_s * 1e6));
	b->in_line = true;
	if (t->points == t->all)
		leave_line(b);
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

static int read_manner(struct gpus_profile *b, struct hes_err *err)
{
	const struct profile_opts *o = b->o;

	b->timing = (struct hes_profile_timing){ .warm_up_s = o->warm_up_s,
						 .settle_s = SETTLE_PART * o->warm_up_s,
						 .window_s = o->window_s,
						 .error = o->error_pct / 100,
						 .patience_s = o->patience_s };
	return parse_repeats(o->repeats, &b->timing.least, &b->timing.most, err);
}

static int grid_clocks(const struct profile_opts *o, const struct hes_gpu_type *g,
		       struct hes_grid *grid, struct hes_err *err)
{
	uint32_t wanted[HES_MAX_CLOCKS];
	int n;

	if (strcmp(o->clocks, "auto") == 0) {
		memcpy(grid->clocks_mhz, g->clocks_mhz, g->n_clocks * sizeof(*g->clocks_mhz));
		grid->n_clocks = g->n_clocks;
		return 0;
	}
	grid->clocks_mhz[0] = g->clock_default_mhz;
	grid->n_clocks = 1;
	if (strcmp(o->clocks, "default") == 0)
		return 0;
	n = hes_ranges_parse("--clocks", o->clocks, 1, 10000, wanted, HES_MAX_CLOCKS - 1, err);
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

static int make_grid(const struct profile_opts *o, const struct hes_gpu_type *g,
		     struct hes_grid *grid, struct hes_err *err)
{
	int n = hes_ranges_parse("--shares", o->shares, 1, 100, grid->shares, 100, err);

	if (n < 0)
		return n;
	grid->n_shares = (size_t)n;
	return grid_clocks(o, g, grid, err);
}

static int make_sequences(struct gpus_profile *b, struct hes_sequences *t, size_t share_of_samples,
			  struct hes_err *err)
{
	struct hes_grid grid;
	int rc = make_grid(b->o, t->type, &grid, err);

	if (rc)
		return rc;
	if (b->o->jobs)
		return hes_sequences_draw(&grid, b->jobs.v, b->jobs.n, b->o->most, share_of_samples,
					  b->o->seed, t, err);
	for (size_t i = 0; i < b->jobs.own && !rc; i++)
		rc = hes_sequences_grid(&grid, (uint32_t)i, b->jobs.sets, b->jobs.n_sets, t, err);
	return rc;
}

static bool has_type(const struct gpus_profile *b, const struct hes_gpu_type *g)
{
	for (size_t k = 0; k < b->n_types; k++)
		if (b->sequences[k].type == g)
			return true;
	return false;
}

static int find_types(struct gpus_profile *b, struct hes_err *err)
{
	b->sequences = calloc(b->n_gpus + 1, sizeof(*b->sequences));
	if (!b->sequences)
		return hes_fail(err, -ENOMEM, "out of memory for %zu GPUs", b->n_gpus);
	for (size_t i = 0; i < b->n_gpus; i++) {
		struct hes_device_info info;
		const struct hes_gpu_type *g;
		int rc = hes_device_info(b->devices, b->gpus[i], &info, err);

		if (rc)
			return rc;
		g = app_gpu_type(b->devices, b->gpus[i], &b->catalogue, err);
		if (!g)
			return err->code;
		b->clocks |= (info.can & HES_CAN_LOCK_CLOCK) != 0;
		if (!has_type(b, g))
			b->sequences[b->n_types++].type = g;
	}
	return 0;
}

static int get_ready(struct gpus_profile *b, int n_args, char **args, struct hes_err *err)
{
	const struct hes_store_query all = { 0 };
	char driver[HES_DRIVER_MAX];
	int rc = app_catalogue_load(cli_app(), b->o->catalogue, true, &b->catalogue, err);

	if (!rc)
		rc = read_manner(b, err);
	if (!rc)
		rc = app_devices_open(cli_app(), &b->catalogue, &b->devices, err);
	if (!rc)
		rc = gpus_choose(cli_app(), b->devices, b->o->gpus, GPUS_RUN, &b->gpus, &b->n_gpus,
				 err);
	if (!rc)
		rc = find_types(b, err);
	if (!rc)
		rc = app_store_open(cli_app(), b->o->store, HES_STORE_WRITE, HES_STORE_WAIT_MS,
				    &b->store, err);
	if (!rc)
		rc = hes_store_points(b->store, &all, &b->known, err);
	if (!rc)
		rc = profile_jobs_choose(b->o, n_args, args, &b->known, &b->jobs, err);
	for (size_t k = 0; k < b->n_types && !rc; k++)
		rc = make_sequences(b, &b->sequences[k],
				    (b->o->samples + b->n_types - 1) / b->n_types, err);
	if (rc)
		return rc;
	hes_devices_driver(b->devices, driver);
	snprintf(b->name, sizeof(b->name), "heshare profile %.150s, driver %s",
		 b->o->jobs ? b->o->jobs : args[0], driver);
	b->end_s = b->o->minutes > 0 ? hes_monotonic_s() + 60 * b->o->minutes : INFINITY;
	return 0;
}

static void release(struct gpus_profile *b)
{
	for (size_t k = 0; k < b->n_types; k++)
		hes_sequences_free(&b->sequences[k]);
	free(b->sequences);
	profile_jobs_free(&b->jobs);
	hes_points_free(&b->known);
	hes_store_close(b->store);
	free(b->gpus);
	hes_devices_close(b->devices);
	hes_catalogue_free(&b->catalogue);
}

/* The same measurement, imported earlier with fewer columns, or kept by an earlier heshare with
 * the default clock where none was locked. */
static bool same_measurement(const struct hes_catalogue *c, const struct hes_sample *a,
			     const struct hes_sample *b)
{
	const struct hes_gpu_type *g = hes_gpu_type_find(c, a->task.gpu_type, NULL);

	return g && a->iteration_us == b->iteration_us && a->power_mw == b->power_mw &&
	       a->sm_pct == b->sm_pct &&
	       hes_gpu_type_clock(g, a->clock_mhz) == hes_gpu_type_clock(g, b->clock_mhz) &&
	       a->task.batch_size == b->task.batch_size &&
	       a->co_runners.power_mw == b->co_runners.power_mw &&
	       strcmp(a->task.workload, b->task.workload) == 0 &&
	       strcmp(a->task.gpu_type, b->task.gpu_type) == 0;
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

/* Profiles and samples of all points there are. */
static int tell_store(struct gpus_profile *b, struct hes_delivered *done, struct hes_err *err)
{
	const struct hes_store_query all = { 0 };
	struct hes_points points = { 0 };
	struct hes_profiles profiles = { 0 };
	struct hes_samples samples = { 0 }, there = { 0 };
	int rc = hes_store_points(b->store, &all, &points, err);

	if (!rc)
		rc = hes_points_derive(&points, &b->catalogue, &profiles, &samples, err);
	if (!rc)
		rc = hes_store_samples(b->store, &all, &there, err);
	if (!rc) {
		const struct hes_delivery d = { .source = HES_SOURCE_MEASURED,
						.at_us = hes_wall_us(),
						.name = b->name,
						.profiles = &profiles,
						.samples = &samples,
						.into = b->origin };

		leave_out_known(&b->catalogue, &samples, &there);
		rc = hes_store_add(b->store, &d, done, err);
	}
	hes_points_free(&points);
	hes_profiles_free(&profiles);
	hes_samples_free(&samples);
	hes_samples_free(&there);
	return rc;
}

static int report(const struct gpus_profile *b, const struct hes_profiled_result *r,
		  const struct hes_delivered *d)
{
	char text[CLI_PROFILING_MAX];

	if (b->o->json)
		return cli_print_json(
			"heshare-profile",
			json_pack(
				"{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:I, s:I, s:I, s:o, "
				"s:o}",
				"measured", (json_int_t)r->measured, "known", (json_int_t)r->known,
				"failed", (json_int_t)r->failed, "left", (json_int_t)r->left,
				"uncertain", (json_int_t)r->uncertain, "starts",
				(json_int_t)r->starts, "ahead", (json_int_t)r->ahead, "stopped",
				r->stopped, "clocks_refused", r->clocks_refused, "rows",
				(json_int_t)b->points_new, "profiles", (json_int_t)d->profiles_new,
				"samples", (json_int_t)d->samples_new, "gpu_s",
				cli_json_maybe(isfinite(r->cost.gpu_s), r->cost.gpu_s), "energy_j",
				cli_json_maybe(isfinite(r->cost.energy_j), r->cost.energy_j)));
	printf("points: %zu measured, %zu known before, %zu failed", r->measured, r->known,
	       r->failed);
	if (r->uncertain)
		printf(", %zu of those measured with a standard error above %g %%", r->uncertain,
		       b->o->error_pct);
	printf("\nprofiles: %zu new, %zu known; samples: %zu new\n", d->profiles_new,
	       d->profiles_known, d->samples_new);
	if (r->cost.gpu_s > 0)
		printf("profiling: %s\n", cli_profiling_text(text, &r->cost));
	return 0;
}

static void watch_signals(void)
{
	struct sigaction act = { .sa_handler = interrupt };

	sigemptyset(&act.sa_mask);
	for (const int *sig = hes_signals_stop; *sig; sig++)
		if (!hes_signals_ignored(*sig))
			sigaction(*sig, &act, NULL);
}

static struct hes_profiler profiler_of(struct gpus_profile *b)
{
	return (struct hes_profiler){
		.devices = b->devices,
		.gpus = b->gpus,
		.n_gpus = b->n_gpus,
		.jobs = b->jobs.v,
		.n_jobs = b->jobs.n,
		.sequences = b->sequences,
		.n_types = b->n_types,
		.known = &b->known,
		.timing = b->timing,
		.clocks = b->clocks,
		.ahead = b->o->ahead,
		.keep = keep,
		.report = report_progress,
		.stop = stop,
		.ctx = b,
	};
}

static int measure(struct gpus_profile *b, const char *folder, struct hes_profiled_result *r,
		   struct hes_err *err)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *const guard[] = { self, "restore", "--guard", NULL };
	struct hes_profiler p = profiler_of(b);

	p.folder = folder;
	p.guard = guard;
	if (n < 0)
		return hes_fail(err, -errno, "/proc/self/exe: %s", strerror(errno));
	self[n] = '\0';
	if (!b->clocks && strcmp(b->o->clocks, "default"))
		fputs("heshare profile: clocks cannot be locked here: only the default clock is "
		      "measured\n",
		      stderr);
	run_clear_environment();
	watch_signals();
	return hes_profile_gpus(&p, r, err);
}

static int in_folder(struct gpus_profile *b, struct hes_profiled_result *r, struct hes_err *err)
{
	char folder[PATH_MAX];
	int rc = work_folder_make(cli_app(), "profile", folder, err);

	if (rc)
		return rc;
	rc = measure(b, folder, r, err);
	leave_line(b);
	work_folder_remove(folder);
	return rc;
}

static int dry_run(struct gpus_profile *b, struct hes_err *err)
{
	const struct hes_profiler p = profiler_of(b);
	struct hes_profile_work w;
	int rc = 0;

	for (size_t k = 0; k < b->n_types && !rc; k++) {
		rc = hes_profile_estimate(&p, k, &w, err);
		if (rc)
			break;
		printf("%s: %zu point%s, for which jobs are started at most %zu time%s; %.0f "
		       "min of one GPU at least",
		       b->sequences[k].type->name, w.points, hes_s(w.points), w.starts,
		       hes_s(w.starts),
		       ((double)w.starts * b->timing.warm_up_s +
			(double)w.points *
				(b->timing.settle_s + b->timing.least * b->timing.window_s)) /
			       60);
		if (w.known)
			printf("; known: %zu", w.known);
		putchar('\n');
	}
	return rc ? cli_fail("profile", err) : 0;
}

static int run(struct gpus_profile *b, struct hes_err *err)
{
	struct hes_profiled_result r = { 0 };
	struct hes_delivered d = { 0 };
	int rc = in_folder(b, &r, err);

	if (!rc)
		rc = tell_store(b, &d, err);
	if (rc)
		return cli_fail("profile", err);
	rc = report(b, &r, &d);
	if (r.left)
		fprintf(stderr,
			"heshare profile: %s, %zu point%s left; the same command goes on from "
			"here\n",
			r.stopped ? "stopped early" : "GPUs were given up or have no MPS", r.left,
			hes_s(r.left));
	return rc ? rc : r.left || r.failed;
}

int profile_gpus(const struct profile_opts *o, int n_args, char **args)
{
	struct gpus_profile b = { .o = o };
	struct hes_err err;
	int rc = get_ready(&b, n_args, args, &err);

	if (rc)
		rc = cli_fail("profile", &err);
	else if (o->dry_run)
		rc = dry_run(&b, &err);
	else
		rc = run(&b, &err);
	release(&b);
	return rc;
}
