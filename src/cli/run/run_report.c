/*
 * run_report.c - print the report of a run as text or JSON; see run_report.h.
 */
#include "cli/run/run_report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/plural.h"
#include "base/quantity.h"
#include "base/visible.h"
#include "cli/cli.h"
#include "cli/gpu/measure_report.h"
#include "cli/run/job_failures.h"
#include "app/known_files.h"
#include "heshare/measure.h"

/* --- text --- */

static void put(FILE *f, int width, bool known, run_report_unit *text, double v)
{
	char out[HES_QUANTITY_MAX];

	fprintf(f, " %*s", width, known ? text(out, v) : "-");
}

static void put_time(FILE *f, bool known, double us)
{
	put(f, 11, known, hes_time_text, us);
}

static void put_energy(FILE *f, bool known, double mj)
{
	put(f, 8, known, hes_energy_text, mj);
}

void run_report_compare(FILE *f, const char *what, double planned, double measured,
			run_report_unit *text, bool known)
{
	fprintf(f, "  %-20s", what);
	put(f, 11, planned > 0, text, planned);
	put(f, 11, known, text, measured);
	if (known && planned > 0)
		fprintf(f, " %+6.1f %%", 100 * (measured / planned - 1));
	fputc('\n', f);
}

static void gpu_row(FILE *f, const struct hes_run_gpu *g, int type_width)
{
	hes_visible_put(f, 14, g->gpu);
	fputc(' ', f);
	hes_visible_put(f, type_width, g->gpu_type);
	put_time(f, g->planned_busy_us > 0, (double)g->planned_busy_us);
	put_time(f, g->measured, (double)g->busy_us);
	put_energy(f, g->planned_busy_us > 0, (double)g->planned_mj);
	put_energy(f, g->measured, (double)g->busy_mj);
	put_energy(f, g->measured, (double)g->idle_mj);
	fputc('\n', f);
}

static void gpu_rows(FILE *f, const struct hes_run_report *r)
{
	int width = 14;

	for (size_t i = 0; i < r->n_gpus; i++)
		width = (int)strlen(r->gpus[i].gpu_type) > width ? (int)strlen(r->gpus[i].gpu_type)
								 : width;
	fprintf(f, "\n%-14s %-*s %11s %11s %8s %8s %8s\n", "GPU", width, "type", "busy plan.",
		"measured", "en.plan.", "measured", "idle");
	for (size_t i = 0; i < r->n_gpus; i++)
		gpu_row(f, &r->gpus[i], width);
}

static void job_row(FILE *f, const struct hes_run_job *j, uint64_t planned_mj, uint32_t attempts)
{
	const bool done = j->state == HES_RUN_JOB_DONE, ran = done || j->state == HES_RUN_JOB_EARLY,
		   planned = j->planned_end_us > j->planned_start_us;

	hes_visible_put(f, 12, j->job);
	fputc(' ', f);
	hes_visible_put(f, 14, j->gpu);
	fprintf(f, " %4" PRIu32, j->sm_pct);
	put_time(f, planned, (double)(j->planned_end_us - j->planned_start_us));
	put_time(f, ran, (double)(j->end_us - j->start_us));
	put_time(f, planned, (double)j->planned_end_us);
	put_time(f, ran, (double)j->end_us);
	put_energy(f, planned, (double)planned_mj);
	put_energy(f, done && j->has_energy, (double)j->energy_mj);
	fprintf(f, " %4" PRIu32 "  %-11s  ", attempts, hes_run_job_state_names[j->state]);
	hes_visible_put(f, 0, j->workload);
	fputc('\n', f);
}

static void power_cap(FILE *f, const struct hes_run_report *r)
{
	fprintf(f, "Power cap %.0f W: ", (double)r->cap_mw * 1e-3);
	if (!r->run.peak_mw)
		fputs("the power of all GPUs together was never measured", f);
	else if (r->run.over_cap_us)
		fprintf(f, "above it for %.1f s, at most %.0f W", (double)r->run.over_cap_us * 1e-6,
			(double)r->run.peak_mw * 1e-3);
	else
		fprintf(f, "kept, at most %.0f W", (double)r->run.peak_mw * 1e-3);
	if (r->held)
		fprintf(f, "; %zu job%s waited for it", r->held, hes_s(r->held));
	fputs(".\n", f);
}

static void remarks(FILE *f, const struct hes_run_report *r)
{
	if (!r->has_energy)
		fputs("Some GPUs gave no readings for a while: energies are missing, not 0.\n", f);
	else if (r->longest_gap_s > 1)
		fprintf(f, "Without a power reading for up to %.1f s in a row.\n",
			r->longest_gap_s);
	if (r->early)
		fputs("Jobs that ended early do not run again by themselves: --resume runs them "
		      "again, --resume --early-ok accepts them.\n",
		      f);
	for (size_t i = 0; i < HES_LEFT_OUTS; i++)
		if (r->left_out & 1u << i)
			fprintf(f, "Left out: %s.\n", hes_left_out_text(i));
	if (r->lost)
		fprintf(f,
			"heshare died during the run: joules of at most %.0f s before are in none "
			"of these sums.\n",
			r->lost_s);
	if (r->cap_mw)
		power_cap(f, r);
	if (r->clocks_refused)
		fprintf(f,
			"Clocks were not set on %" PRIu32
			" GPU%s: times and energies are those of the GPUs' own clocks.\n",
			r->clocks_refused, hes_s(r->clocks_refused));
	if (r->clocks_missed)
		fprintf(f, "%" PRIu32 " GPU%s did not hold the clock at some time.\n",
			r->clocks_missed, hes_s(r->clocks_missed));
}

static void joules_row(FILE *f, const char *what, uint64_t mj)
{
	char energy[HES_QUANTITY_MAX];

	fprintf(f, "  %-33s %8s\n", what, hes_energy_text(energy, (double)mj));
}

/* The parts of what the GPUs' counters counted. */
static void joules_sum(FILE *f, const struct hes_run_report *r)
{
	char meter[HES_QUANTITY_MAX];

	fputs("\nwhere the energy went\n", f);
	joules_row(f, r->done == r->n_jobs ? "jobs" : "jobs that are done", r->jobs_mj);
	joules_row(f, "aborted and repeated attempts", r->aborted_mj);
	joules_row(f, "GPUs without a job", r->idle_mj);
	if (r->unattributed_mj * 1000 > r->meter_mj)
		joules_row(f, "jobs in gaps of the readings", r->unattributed_mj);
	fprintf(f, "  %-33s %8s", "the GPUs' meters", hes_energy_text(meter, (double)r->meter_mj));
	fprintf(f, r->sessions > 1 ? " in %zu sessions\n" : "\n", r->sessions);
}

/* Whether the plan says how its jobs are known. */
static bool is_known(const struct hes_run_report *r)
{
	uint32_t n = 0;

	for (int i = 0; i < HES_KNOWN_SOURCES; i++)
		n += r->known[i];
	return n > 0;
}

void run_report_text(FILE *f, const struct hes_run_report *r)
{
	bool any = r->done > 0, energy = r->has_energy, all = r->done == r->n_jobs;

	fprintf(f, "%-12s %-14s %4s %11s %11s %11s %11s %8s %8s %4s  %-11s  %s\n", "job", "GPU",
		"SM %", "time plan.", "measured", "end plan.", "measured", "en.plan.", "attrib.",
		"try", "state", "workload");
	for (size_t i = 0; i < r->n_jobs; i++)
		job_row(f, &r->jobs[i], r->planned_mj[i], r->attempts[i]);
	job_failures_print(f, r->jobs, r->n_jobs, r->run.folder, r->by_node,
			   "report.json has their last lines");
	gpu_rows(f, r);
	fprintf(f, "\nrun %" PRId64 ": %zu of %zu job%s done", r->run.id, r->done, r->n_jobs,
		hes_s(r->n_jobs));
	if (r->added)
		fprintf(f, ", %zu of them added", r->added);
	if (r->failed)
		fprintf(f, ", %zu failed", r->failed);
	if (r->early)
		fprintf(f, ", %zu ended early", r->early);
	if (r->waiting)
		fprintf(f, ", %zu wait for --resume", r->waiting);
	if (r->retried)
		fprintf(f,
			"; attempts: %zu repeated, %zu failed with a co-runner, MPS or the GPU, "
			"%zu timed out",
			r->retried, r->co_failed, r->timeouts);
	if (!any)
		fputs("\nno job is done", f);
	else if (!all)
		fprintf(f, "\nthe %zu job%s that %s done, against %s part of the plan", r->done,
			hes_s(r->done), r->done == 1 ? "is" : "are",
			r->done == 1 ? "its" : "their");
	if (is_known(r)) {
		putc('\n', f);
		cli_known_print(f, r->known);
	}
	fprintf(f, "\n%34s %11s\n", "planned", "measured");
	run_report_compare(f, "average completion", r->part.avg_jct_us, r->measured.avg_jct_us,
			   hes_time_text, any);
	run_report_compare(f, "last job", (double)r->part.makespan_us,
			   (double)r->measured.makespan_us, hes_time_text, any);
	run_report_compare(f, all ? "busy energy" : "energy of these jobs",
			   (double)r->part.busy_energy_mj, (double)r->measured.busy_energy_mj,
			   hes_energy_text, energy);
	run_report_compare(f, "fleet energy", (double)r->part.fleet_energy_mj,
			   (double)r->measured.fleet_energy_mj, hes_energy_text, energy);
	if (energy)
		joules_sum(f, r);
	remarks(f, r);
}

/* --- JSON --- */

static json_t *seconds(bool there, int64_t us)
{
	return cli_json_maybe(there, (double)us * 1e-6);
}

static json_t *joules(bool there, uint64_t mj)
{
	return cli_json_maybe(there, (double)mj * 1e-3);
}

static json_t *job_json(const struct hes_run_report *r, const struct hes_run_job *j,
			uint64_t planned_mj, uint32_t attempts)
{
	const bool done = j->state == HES_RUN_JOB_DONE, ran = done || j->state == HES_RUN_JOB_EARLY,
		   planned = j->planned_end_us > j->planned_start_us;

	return json_pack("{s:s, s:s, s:s, s:I, s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:f, s:o}",
			 "job", j->job, "workload", j->workload, "gpu", j->gpu, "sm_pct",
			 (json_int_t)j->sm_pct, "state", hes_run_job_state_names[j->state],
			 "attempts", (json_int_t)attempts, "planned_start_s",
			 seconds(planned, j->planned_start_us), "planned_end_s",
			 seconds(planned, j->planned_end_us), "start_s", seconds(ran, j->start_us),
			 "end_s", seconds(ran, j->end_us), "planned_j", joules(planned, planned_mj),
			 "attributed_j", joules(done && j->has_energy, j->energy_mj), "aborted_j",
			 (double)j->aborted_mj * 1e-3, "failure",
			 job_failure_json(j, r->run.folder, r->by_node));
}

static json_t *gpu_json(const struct hes_run_gpu *g)
{
	return json_pack("{s:s, s:s, s:s, s:f, s:o, s:f, s:o, s:o}", "gpu", g->gpu, "type",
			 g->gpu_type, "uuid", g->uuid, "planned_busy_s",
			 (double)g->planned_busy_us * 1e-6, "busy_s",
			 seconds(g->measured, g->busy_us), "planned_j",
			 (double)g->planned_mj * 1e-3, "busy_j", joules(g->measured, g->busy_mj),
			 "idle_j", joules(g->measured, g->idle_mj));
}

/* The parts sum to the meter. */
static json_t *joules_json(const struct hes_run_report *r)
{
	const bool known = r->has_energy;

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:I, s:f}", "jobs_j", joules(known, r->jobs_mj),
			 "aborted_j", joules(known, r->aborted_mj), "idle_j",
			 joules(known, r->idle_mj), "unattributed_j",
			 joules(known, r->unattributed_mj), "meter_j", joules(known, r->meter_mj),
			 "sessions", (json_int_t)r->sessions, "lost_s", r->lost_s);
}

static json_t *power_cap_json(const struct hes_run_report *r)
{
	if (!r->cap_mw)
		return json_null();
	return json_pack("{s:f, s:o, s:o, s:I}", "cap_w", (double)r->cap_mw * 1e-3, "peak_w",
			 cli_json_maybe(r->run.peak_mw > 0, (double)r->run.peak_mw * 1e-3),
			 "over_s", seconds(r->run.peak_mw > 0, r->run.over_cap_us), "jobs_held",
			 (json_int_t)r->held);
}

static json_t *totals_json(const struct hes_totals *t, bool any, bool energy)
{
	return json_pack("{s:o, s:o, s:o, s:o}", "avg_jct_s",
			 seconds(any, (int64_t)llround(t->avg_jct_us)), "makespan_s",
			 seconds(any, t->makespan_us), "busy_j", joules(energy, t->busy_energy_mj),
			 "fleet_j", joules(energy && t->fleet_energy_mj, t->fleet_energy_mj));
}

json_t *run_report_json(const struct hes_run_report *r)
{
	json_t *jobs = json_array(), *gpus = json_array();
	const bool planned = r->planned.makespan_us > 0;

	for (size_t i = 0; i < r->n_jobs; i++)
		json_array_append_new(jobs,
				      job_json(r, &r->jobs[i], r->planned_mj[i], r->attempts[i]));
	for (size_t i = 0; i < r->n_gpus; i++)
		json_array_append_new(gpus, gpu_json(&r->gpus[i]));
	return json_pack(
		"{s:I, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, "
		"s:o, s:o, "
		"s:o, s:o, s:o, s:o, s:o, s:o, s:o*}",
		"run", (json_int_t)r->run.id, "plan", r->run.plan, "folder", r->run.folder, "state",
		hes_run_state_names[r->run.state], "jobs_done", (json_int_t)r->done, "jobs_failed",
		(json_int_t)r->failed, "jobs_early", (json_int_t)r->early, "jobs_waiting",
		(json_int_t)r->waiting, "jobs_added", (json_int_t)r->added, "repeated",
		(json_int_t)r->retried, "co_failed", (json_int_t)r->co_failed, "timeouts",
		(json_int_t)r->timeouts, "clocks_refused", (json_int_t)r->clocks_refused,
		"clocks_missed", (json_int_t)r->clocks_missed, "samples", (json_int_t)r->samples.n,
		"longest_gap_s", r->longest_gap_s, "left_out", measure_left_out_json(r->left_out),
		"planned", totals_json(&r->planned, planned, planned), "part",
		totals_json(&r->part, r->done > 0 && planned, planned), "measured",
		totals_json(&r->measured, r->done > 0, r->has_energy), "energy", joules_json(r),
		"power_cap", power_cap_json(r), "jobs", jobs, "gpus", gpus, "jobs_known",
		is_known(r) ? cli_known_json(r->known) : NULL);
}
