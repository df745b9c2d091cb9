/*
 * status_out.c - print runs for `heshare status`; see status_out.h.
 */
#include "cli/run/status_out.h"

#include <inttypes.h>
#include <string.h>

#include "base/plural.h"
#include "base/quantity.h"
#include "base/visible.h"
#include "cli/cli.h"
#include "app/known_store.h"
#include "cli/run/job_failures.h"
#include "app/run_identity.h"

#define STALE_US 5000000 /* the runner writes once a second */

static const char *const runners[] = { NULL, "alive", "dead", "elsewhere" };

/* --- text --- */

static const char *time_text(char out[HES_QUANTITY_MAX], int64_t us)
{
	return hes_time_text(out, (double)us);
}

static void print_state(FILE *f, const struct run_view *v)
{
	const struct hes_run *r = &v->run;

	fprintf(f, "run %" PRId64 "  ", r->id);
	if (v->runner == RUN_VIEW_DEAD)
		fprintf(f,
			"interrupted: its process %" PRId64
			" is dead; heshare run %s --resume, with the options of its start, goes on",
			r->runner.pid, run_plan_name(r));
	else if (v->runner == RUN_VIEW_ELSEWHERE)
		fprintf(f,
			"going on %s, as process %" PRId64
			"; whether it lives cannot be seen from here",
			r->host, r->runner.pid);
	else if (v->runner == RUN_VIEW_ALIVE)
		fprintf(f, "going, process %" PRId64, r->runner.pid);
	else if (r->state == HES_RUN_STOPPED)
		fprintf(f,
			"stopped; heshare run %s --resume, with the options of its start, goes on",
			run_plan_name(r));
	else
		fputs(hes_run_state_names[r->state], f);
	fputs("\n  plan    ", f);
	hes_visible_put(f, 0, r->plan);
	fputs("\n  output  ", f);
	hes_visible_put(f, 0, r->folder);
	fputc('\n', f);
	for (size_t i = 0; i < 2 && *v->warnings[i]; i++) {
		fputs("  warning ", f);
		hes_visible_put(f, 0, v->warnings[i]);
		fputc('\n', f);
	}
}

static void print_counts(FILE *f, const struct run_view *v)
{
	fprintf(f, "  jobs    %zu running, %zu waiting, %zu done, %zu failed", v->n_running,
		v->waiting, v->done, v->failed);
	if (v->early)
		fprintf(f, ", %zu ended early", v->early);
	if (v->added)
		fprintf(f, "; %zu of them added", v->added);
	fputc('\n', f);
}

static void print_amounts(FILE *f, const struct run_view *v)
{
	char a[HES_QUANTITY_MAX], b[HES_QUANTITY_MAX];

	fprintf(f, "  time    %s", time_text(a, v->now_us));
	if (v->has_live && v->runner == RUN_VIEW_ALIVE && v->live.left_us > v->age_us)
		fprintf(f, ", about %s left", time_text(b, v->live.left_us - v->age_us));
	fputs("\n  energy  ", f);
	fputs(v->has_energy ? hes_energy_text(a, v->energy_j * 1e3) : "not known", f);
	if (v->has_power)
		fprintf(f, ", %.0f W now", v->power_w);
	fputc('\n', f);
	if (v->has_live && v->runner != RUN_VIEW_ALIVE)
		fprintf(f,
			"  time and energy are those of %s ago, the last that the runner wrote\n",
			time_text(a, v->age_us));
	else if (v->has_live && v->age_us > STALE_US)
		fprintf(f, "  power, progress and times left are %s old\n",
			time_text(a, v->age_us));
	else if (!v->has_live && v->runner == RUN_VIEW_ALIVE)
		fputs("  power, progress and times left are not there yet\n", f);
}

static void print_gpus(FILE *f, const struct hes_run_live *l)
{
	char joules[HES_QUANTITY_MAX];

	fprintf(f, "\n  %-16s %8s %8s %10s\n", "GPU", "W", "MHz", "energy");
	for (size_t i = 0; i < l->n_gpus; i++) {
		const struct hes_run_live_gpu *g = &l->gpus[i];

		fputs("  ", f);
		hes_visible_put(f, 16, g->gpu);
		if (g->has_power)
			fprintf(f, " %8.0f", g->power_w);
		else
			fprintf(f, " %8s", "-");
		if (g->clock_mhz)
			fprintf(f, " %8" PRIu32, g->clock_mhz);
		else
			fprintf(f, " %8s", "-");
		fprintf(f, " %10s\n",
			g->has_energy ? hes_energy_text(joules, g->energy_j * 1e3) : "-");
	}
}

static void print_running(FILE *f, const struct run_view *v)
{
	char left[HES_QUANTITY_MAX], done[32], clock[16];

	fprintf(f, "\n  %-16s %-16s %5s %6s %9s %12s  %s\n", "job", "GPU", "SM %", "MHz", "done",
		"time left", "workload");
	for (size_t i = 0; i < v->n_running; i++) {
		const struct run_view_job *r = &v->running[i];

		snprintf(done, sizeof(done), "-");
		if (r->done >= 0)
			snprintf(done, sizeof(done), "%.0f %%", r->done * 100);
		else if (r->iterations)
			snprintf(done, sizeof(done), "at %" PRIu64, r->iterations);
		snprintf(clock, sizeof(clock), "%" PRIu32, r->attempt->clock_mhz);
		fputs("  ", f);
		hes_visible_put(f, 16, r->job->job);
		fputc(' ', f);
		hes_visible_put(f, 16, r->job->gpu);
		fprintf(f, " %5" PRIu32 " %6s %9s %12s  ", r->attempt->sm_pct,
			r->attempt->clock_mhz ? clock : "-", done,
			r->has_left ? time_text(left, r->left_us) : "-");
		hes_visible_put(f, 0, r->job->workload);
		fputc('\n', f);
	}
}

void status_print(FILE *f, const struct run_view *v)
{
	char more[64];

	snprintf(more, sizeof(more), "heshare status %" PRId64 " --json has all of them",
		 v->run.id);
	print_state(f, v);
	print_counts(f, v);
	print_amounts(f, v);
	if (v->has_live && v->runner == RUN_VIEW_ALIVE)
		print_gpus(f, &v->live);
	if (v->n_running)
		print_running(f, v);
	job_failures_print(f, v->jobs, v->n_jobs, v->run.folder, v->by_node, more);
}

void status_print_line(FILE *f, const struct run_view *v)
{
	char took[HES_QUANTITY_MAX], joules[HES_QUANTITY_MAX], when[20], early[40] = "";

	cli_format_when(v->run.started_us, when);
	if (v->early)
		snprintf(early, sizeof(early), ", %zu ended early", v->early);
	fprintf(f, "run %-4" PRId64 " %-8s %s  %4zu of %zu job%s done, %zu failed%s  %12s %10s  ",
		v->run.id, hes_run_state_names[v->run.state], when, v->done, v->n_jobs,
		hes_s(v->n_jobs), v->failed, early, time_text(took, v->now_us),
		v->has_energy ? hes_energy_text(joules, v->energy_j * 1e3) : "-");
	hes_visible_put(f, 0, run_plan_name(&v->run));
	fputc('\n', f);
}

/* --- JSON --- */

static json_t *seconds(bool there, int64_t us)
{
	return cli_json_maybe(there, (double)us * 1e-6);
}

static json_t *job_json(const struct run_view *v, const struct hes_run_job *j,
			const struct run_view_job *r)
{
	const bool over = j->state != HES_RUN_JOB_WAITING;
	const uint32_t mhz = r ? r->attempt->clock_mhz : 0;

	return json_pack(
		"{s:s, s:s, s:s, s:I, s:o, s:s, s:b, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
		"job", j->job, "workload", j->workload, "gpu", j->gpu, "sm_pct",
		(json_int_t)j->sm_pct, "clock_mhz", cli_json_maybe(mhz > 0, mhz), "state",
		r ? "running" : hes_run_job_state_names[j->state], "added", j->arrival_us > 0,
		"planned_end_s", (double)j->planned_end_us * 1e-6, "start_s",
		seconds(over || r, r ? r->attempt->started_us : j->start_us), "end_s",
		seconds(over, j->end_us), "done",
		cli_json_maybe(r && r->done >= 0, r ? r->done : 0), "iterations",
		r && r->iterations ? json_integer((json_int_t)r->iterations) : json_null(),
		"left_s", seconds(r && r->has_left, r ? r->left_us : 0), "attributed_j",
		cli_json_maybe(over && j->has_energy, (double)j->energy_mj * 1e-3), "failure",
		job_failure_json(j, v->run.folder, v->by_node));
}

static json_t *jobs_json(const struct run_view *v)
{
	json_t *out = json_array();

	for (size_t i = 0; i < v->n_jobs; i++) {
		const struct run_view_job *running = NULL;

		for (size_t k = 0; k < v->n_running && !running; k++)
			running = v->running[k].job == &v->jobs[i] ? &v->running[k] : NULL;
		json_array_append_new(out, job_json(v, &v->jobs[i], running));
	}
	return out;
}

static json_t *gpu_json(const struct run_view *v, const struct hes_run_gpu *g)
{
	const struct hes_run_live_gpu *live = NULL;

	for (size_t i = 0; v->has_live && i < v->live.n_gpus && !live; i++)
		live = strcmp(v->live.gpus[i].gpu, g->gpu) == 0 ? &v->live.gpus[i] : NULL;
	return json_pack(
		"{s:s, s:s, s:s, s:o, s:o, s:o}", "gpu", g->gpu, "type", g->gpu_type, "uuid",
		g->uuid, "power_w",
		cli_json_maybe(v->has_power && live && live->has_power, live ? live->power_w : 0),
		"clock_mhz",
		cli_json_maybe(v->has_power && live && live->clock_mhz, live ? live->clock_mhz : 0),
		"energy_j",
		cli_json_maybe(live ? live->has_energy : g->measured,
			       live ? live->energy_j : (double)(g->busy_mj + g->idle_mj) * 1e-3));
}

json_t *status_json(const struct run_view *v, bool all)
{
	const bool alive = v->runner == RUN_VIEW_ALIVE && v->has_live;
	json_t *gpus = json_array(), *warnings = json_array(), *doc;

	for (size_t i = 0; i < v->n_gpus; i++)
		json_array_append_new(gpus, gpu_json(v, &v->gpus[i]));
	for (size_t i = 0; i < 2 && *v->warnings[i]; i++)
		json_array_append_new(warnings, json_string(v->warnings[i]));
	doc = json_pack(
		"{s:I, s:s, s:s, s:s, s:s, s:s?, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:o, s:o, "
		"s:o, s:o, s:o, s:o}",
		"run", (json_int_t)v->run.id, "plan", v->run.plan, "folder", v->run.folder, "host",
		v->run.host, "state", hes_run_state_names[v->run.state], "runner",
		runners[v->runner], "pid", (json_int_t)v->run.runner.pid, "jobs_running",
		(json_int_t)v->n_running, "jobs_waiting", (json_int_t)v->waiting, "jobs_done",
		(json_int_t)v->done, "jobs_failed", (json_int_t)v->failed, "jobs_early",
		(json_int_t)v->early, "jobs_added", (json_int_t)v->added, "time_s",
		(double)v->now_us * 1e-6, "left_s",
		seconds(alive && v->live.left_us,
			v->live.left_us > v->age_us ? v->live.left_us - v->age_us : 0),
		"power_w", cli_json_maybe(v->has_power, v->power_w), "energy_j",
		cli_json_maybe(v->has_energy, v->energy_j), "age_s",
		seconds(v->has_live, v->age_us), "warnings", warnings, "gpus", gpus);
	if (doc && all)
		json_object_set_new(doc, "jobs", jobs_json(v));
	return doc;
}
