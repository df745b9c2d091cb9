/*
 * status_out.c - print runs for `heshare status`; see status_out.h.
 */
#include "cli/run/status_out.h"
#include "cli/inputs/inputs.h"

#include <inttypes.h>
#include <string.h>

#include "base/plural.h"
#include "base/quantity.h"
#include "base/visible.h"
#include "cli/cli.h"
#include "app/known_store.h"
#include "cli/run/run_report.h"
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

static struct table gpus_table(const struct run_view *v)
{
	struct table t = { 0 };

	for (size_t i = 0; i < v->n_gpus; i++) {
		const struct hes_run_gpu *g = &v->gpus[i];
		const struct hes_run_live_gpu none = { 0 }, *live = NULL;

		for (size_t k = 0; v->has_live && k < v->live.n_gpus && !live; k++)
			live = strcmp(v->live.gpus[k].gpu, g->gpu) == 0 ? &v->live.gpus[k] : NULL;
		const struct hes_run_live_gpu *now = v->has_power && live ? live : &none;
		const struct cell row[] = {
			cell_text("gpu", "GPU", g->gpu),
			cell_text("gpu_type", NULL, g->gpu_type),
			cell_text("uuid", NULL, g->uuid),
			cell_if(now->has_power, cell_real("power_w", "W", 0, now->power_w)),
			cell_if(now->clock_mhz, cell_count("clock_mhz", "MHz", now->clock_mhz)),
			cell_if(live ? live->has_energy : g->measured,
				cell_energy("energy_j", "energy",
					    live ? live->energy_j * 1e3
						 : (double)(g->busy_mj + g->idle_mj))),
		};
		TABLE_ROW(&t, row);
	}
	return t;
}

/* @param j  with its attempt @r; NULL: it does not run */
static void job_row(struct table *t, const struct run_view *v, const struct hes_run_job *j,
		    const struct run_view_job *r)
{
	const bool over = j->state != HES_RUN_JOB_WAITING;
	const uint32_t mhz = r ? r->attempt->clock_mhz : 0;
	const uint64_t iterations = r ? r->iterations : 0;
	const double done = r ? r->done : -1;
	char progress[32] = "-";

	if (done >= 0)
		snprintf(progress, sizeof(progress), "%.0f %%", done * 100);
	else if (iterations)
		snprintf(progress, sizeof(progress), "at %" PRIu64, iterations);
	const struct cell row[] = {
		cell_text("job", "job", j->job),
		cell_text("gpu", "GPU", j->gpu),
		cell_count(NULL, "SM %", r ? r->attempt->sm_pct : j->sm_pct),
		cell_count("sm_pct", NULL, j->sm_pct),
		cell_if(mhz, cell_count("clock_mhz", "MHz", mhz)),
		cell_text("state", r ? "state" : NULL,
			  !r        ? hes_run_job_state_names[j->state]
			  : r->held ? "held"
				    : "running"),
		cell_flag("added", NULL, j->arrival_us > 0),
		cell_shown(cell_if(done >= 0, cell_real("done", "done", 0, done)), progress),
		cell_if(r && r->has_left,
			cell_time("left_s", "time left", r ? (double)r->left_us : 0)),
		cell_text("workload", "workload", j->workload),
		cell_time("planned_end_s", NULL, (double)j->planned_end_us),
		cell_if(over || r, cell_time("start_s", NULL,
					     (double)(r ? r->attempt->started_us : j->start_us))),
		cell_if(over, cell_time("end_s", NULL, (double)j->end_us)),
		cell_if(iterations, cell_count("iterations", NULL, (int64_t)iterations)),
		cell_if(over && j->has_energy,
			cell_energy("attributed_j", NULL, (double)j->energy_mj)),
		cell_json("failure", job_failure_json(j, v->run.folder, v->by_node)),
	};
	TABLE_ROW(t, row);
}

static struct table running_table(const struct run_view *v)
{
	struct table t = { 0 };

	for (size_t i = 0; i < v->n_running; i++)
		job_row(&t, v, v->running[i].job, &v->running[i]);
	return t;
}

void status_print(FILE *f, const struct run_view *v)
{
	struct table gpus = gpus_table(v), running = running_table(v);
	char more[64];

	snprintf(more, sizeof(more), "heshare status %" PRId64 " --json has all of them",
		 v->run.id);
	print_state(f, v);
	print_counts(f, v);
	print_amounts(f, v);
	if (v->has_live && v->runner == RUN_VIEW_ALIVE) {
		fputc('\n', f);
		cli_print_table(&gpus, f, 2);
	}
	if (v->n_running) {
		fputc('\n', f);
		cli_print_table(&running, f, 2);
	}
	table_free(&gpus);
	table_free(&running);
	job_failures_print(f, v->jobs, v->n_jobs, v->run.folder, v->by_node, more);
}

void status_row(struct table *t, const struct run_view *v)
{
	char when[20], jobs[64];

	cli_format_when(v->run.started_us, when);
	snprintf(jobs, sizeof(jobs), "%zu of %zu", v->done, v->n_jobs);
	const struct cell row[] = {
		cell_count(NULL, "run", v->run.id),
		cell_text(NULL, "state", hes_run_state_names[v->run.state]),
		cell_text(NULL, "started, UTC", when),
		cell_shown(cell_count(NULL, "done of jobs", 0), jobs),
		cell_count(NULL, "failed", (int64_t)v->failed),
		cell_count(NULL, "early", (int64_t)v->early),
		cell_time(NULL, "time", (double)v->now_us),
		cell_if(v->has_energy, cell_energy(NULL, "energy", v->energy_j * 1e3)),
		cell_text(NULL, "plan", run_plan_name(&v->run)),
	};
	TABLE_ROW(t, row);
}

/* --- JSON --- */

static json_t *seconds(bool there, int64_t us)
{
	return cli_json_maybe(there, (double)us * 1e-6);
}

static json_t *jobs_json(const struct run_view *v)
{
	struct table t = { 0 };

	for (size_t i = 0; i < v->n_jobs; i++) {
		const struct run_view_job *running = NULL;

		for (size_t k = 0; k < v->n_running && !running; k++)
			running = v->running[k].job == &v->jobs[i] ? &v->running[k] : NULL;
		job_row(&t, v, &v->jobs[i], running);
	}
	return table_json(&t);
}

json_t *status_json(const struct run_view *v, bool all)
{
	const bool alive = v->runner == RUN_VIEW_ALIVE && v->has_live;
	struct table gpus = gpus_table(v);
	json_t *warnings = json_array(), *doc;

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
		seconds(v->has_live, v->age_us), "warnings", warnings, "gpus", table_json(&gpus));
	if (doc && all)
		json_object_set_new(doc, "jobs", jobs_json(v));
	return doc;
}
