/*
 * run_report.c - print the report of a run as text or JSON; see run_report.h.
 */
#include "cli/run/run_report.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "app/known.h"
#include "app/run_view.h"
#include "base/plural.h"
#include "base/quantity.h"
#include "base/visible.h"
#include "cli/cli.h"
#include "cli/gpu/measure_report.h"
#include "cli/inputs/inputs.h"
#include "heshare/measure.h"
#include "heshare/run.h"

/* --- tables --- */

/* Part of the windows; NaN: none */
static double floor_kept(const struct hes_run_job_record *r)
{
	return r->floor_windows ? (double)r->floor_kept / r->floor_windows : NAN;
}

static void job_row(struct table *t, const struct hes_run_report *r, size_t i)
{
	const struct hes_run_job *j = &r->jobs[i];
	const bool done = j->state == HES_RUN_JOB_DONE, ran = done || j->state == HES_RUN_JOB_EARLY,
		   planned = j->planned_end_us > j->planned_start_us;
	const struct cell energy = cell_energy("attributed_j", "energy", (double)j->energy_mj);
	char joules[HES_QUANTITY_MAX], split[HES_QUANTITY_MAX + 1];

	snprintf(split, sizeof(split), "~%s", hes_energy_text(joules, (double)j->energy_mj));
	const struct cell row[] = {
		cell_text("job", "job", j->job),
		cell_text("gpu", "GPU", j->gpu),
		cell_count("sm_pct", "SM %", j->sm_pct),
		cell_count("attempts", "try", r->records[i].attempts),
		cell_text("state", "state", hes_run_job_state_names[j->state]),
		cell_text("workload", "workload", j->workload),
		cell_if(ran,
			cell_time(NULL, "time", (double)(j->end_us - j->start_us - j->held_us))),
		cell_if(ran, cell_time("held_s", NULL, (double)j->held_us)),
		cell_if(planned, cell_time(NULL, "planned time",
					   (double)(j->planned_end_us - j->planned_start_us))),
		cell_if(ran, cell_time("start_s", NULL, (double)j->start_us)),
		cell_if(planned, cell_time("planned_start_s", NULL, (double)j->planned_start_us)),
		cell_if(ran, cell_time("end_s", "end", (double)j->end_us)),
		cell_if(planned,
			cell_time("planned_end_s", "planned end", (double)j->planned_end_us)),
		cell_if(done && j->has_energy,
			j->energy_split ? cell_shown(energy, split) : energy),
		cell_flag("energy_split", NULL, j->energy_split),
		cell_if(planned, cell_energy("planned_j", "planned energy",
					     (double)r->records[i].planned_mj)),
		cell_energy("aborted_j", NULL, (double)j->aborted_mj),
		cell_if(r->records[i].floor_windows,
			cell_real("floor_kept", NULL, 0, floor_kept(&r->records[i]))),
		cell_count("floor_windows", NULL, r->records[i].floor_windows),
		cell_if(r->records[i].clock_s > 0,
			cell_count("mean_clock_mhz", "MHz",
				   (int64_t)(r->records[i].clock_mhz + 0.5))),
		cell_json("failure", job_failure_json(j, r->run.folder, r->by_node)),
	};

	TABLE_ROW(t, row);
}

static struct table jobs_table(const struct hes_run_report *r)
{
	struct table t = { 0 };

	for (size_t i = 0; i < r->n_jobs; i++)
		job_row(&t, r, i);
	return t;
}

static struct table gpus_table(const struct hes_run_report *r)
{
	struct table t = { 0 };

	for (size_t i = 0; i < r->n_gpus; i++) {
		const struct hes_run_gpu *g = &r->gpus[i];
		const bool planned = g->planned_busy_us > 0;
		const struct cell row[] = {
			cell_text("gpu", "GPU", g->gpu),
			cell_text("gpu_type", "type", g->gpu_type),
			cell_text("uuid", NULL, g->uuid),
			cell_if(g->measured, cell_time("busy_s", "busy", (double)g->busy_us)),
			cell_if(planned, cell_time("planned_busy_s", "planned busy",
						   (double)g->planned_busy_us)),
			cell_if(g->measured,
				cell_energy("busy_energy_j", "energy", (double)g->busy_mj)),
			cell_if(planned, cell_energy("planned_busy_energy_j", "planned energy",
						     (double)g->planned_mj)),
			cell_if(g->measured, cell_energy("idle_j", "idle", (double)g->idle_mj)),
		};

		TABLE_ROW(&t, row);
	}
	return t;
}

void run_report_compare(struct table *t, const char *what, const char *heading, double expected,
			double measured, run_report_unit *unit, bool known)
{
	char a[HES_QUANTITY_MAX], b[HES_QUANTITY_MAX], change[HES_QUANTITY_MAX] = "";

	if (known && expected > 0)
		snprintf(change, sizeof(change), "%+.1f %%", 100 * (measured / expected - 1));
	const struct cell row[] = {
		cell_text(NULL, "", what),
		cell_shown(cell_count(NULL, heading, 0), expected > 0 ? unit(a, expected) : "-"),
		cell_shown(cell_count(NULL, "measured", 0), known ? unit(b, measured) : "-"),
		cell_shown(cell_count(NULL, "", 0), change),
	};
	TABLE_ROW(t, row);
}

/* --- text --- */

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
	if (r->waited_power)
		fprintf(f, "; %zu job%s waited for it", r->waited_power, hes_s(r->waited_power));
	fputs(".\n", f);
}

static void remarks(FILE *f, const struct hes_run_report *r)
{
	bool split = false;

	for (size_t i = 0; i < r->n_jobs; i++)
		split |= r->jobs[i].energy_split && r->jobs[i].has_energy;
	if (split)
		fputs("~ estimated: the job shared a GPU and has no profile. Its joules are split "
		      "by its power when alone, else by its SM share.\n",
		      f);
	for (size_t i = 0; i < r->n_notes; i++)
		fprintf(f, "Learnt: %s.\n", r->notes[i]);
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
	if (r->clocks_untried)
		fprintf(f,
			"Clocks cannot be set on %" PRIu32
			" GPU%s, so none was tried: jobs ran at the default clock.\n",
			r->clocks_untried, hes_s(r->clocks_untried));
	if (r->without_progress)
		fprintf(f, "%zu job%s showed no progress: nothing was tried with %s.\n",
			r->without_progress, hes_s(r->without_progress),
			r->without_progress == 1 ? "it" : "them");
	for (size_t i = 0; i < r->n_jobs; i++)
		if (r->records[i].floor_windows)
			fprintf(f,
				"Job %s kept its floor in %.0f %% of %" PRIu32
				" windows of 10 s next to others.\n",
				r->jobs[i].job, 100 * floor_kept(&r->records[i]),
				r->records[i].floor_windows);
	if (r->clocks_missed)
		fprintf(f, "%" PRIu32 " GPU%s did not hold the clock at some time.\n",
			r->clocks_missed, hes_s(r->clocks_missed));
}

static void joules_row(struct table *t, const char *what, uint64_t mj)
{
	const struct cell row[] = { cell_text(NULL, "", what), cell_energy(NULL, "", (double)mj) };

	TABLE_ROW(t, row);
}

/* What experiments took more than the same work would have without them. */
static void learning_row(struct table *t, const struct hes_run_learning *l)
{
	char what[120], time[HES_QUANTITY_MAX];

	if (!l->experiments)
		return;
	hes_time_text(time, (double)l->took_us);
	snprintf(what, sizeof(what),
		 "learning: %" PRIu64 " experiment%s, %s, %" PRIu64 " iterations", l->experiments,
		 hes_s(l->experiments), time, l->iterations);
	joules_row(t, what, l->energy_mj);
}

/* The parts of what the GPUs' counters counted. */
static void joules_sum(FILE *f, const struct hes_run_report *r)
{
	struct table t = { 0 };
	char meters[64] = "the GPUs' meters";

	if (r->sessions > 1)
		snprintf(meters, sizeof(meters), "the GPUs' meters in %zu sessions", r->sessions);
	joules_row(&t, r->done == r->n_jobs ? "jobs" : "jobs that are done", r->jobs_mj);
	joules_row(&t, "aborted and repeated attempts", r->aborted_mj);
	joules_row(&t, "GPUs without a job", r->idle_mj);
	learning_row(&t, &r->run.learning);
	if (r->unattributed_mj * 1000 > r->meter_mj)
		joules_row(&t, "jobs in gaps of the readings", r->unattributed_mj);
	joules_row(&t, meters, r->meter_mj);
	fputs("\nwhere the energy went\n", f);
	cli_print_table(&t, f, 2);
}

/* Jobs of which is said how they are known; 0: the plan does not say it. */
static size_t count_known(const struct hes_run_report *r)
{
	size_t n = 0;

	for (int i = 0; i < HES_KNOWN_SOURCES; i++)
		n += r->known[i];
	return n;
}

/* What became of the jobs. */
static void run_summary(FILE *f, const struct hes_run_report *r)
{
	const size_t known = count_known(r);

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
	if (!r->done)
		fputs("\nno job is done", f);
	else if (r->n_part && r->n_part < r->n_jobs)
		fprintf(f, "\nthe %zu job%s that %s%s done, against %s part of the plan", r->n_part,
			hes_s(r->n_part), r->n_part < r->done ? "had a planned time and " : "",
			r->n_part == 1 ? "is" : "are", r->n_part == 1 ? "its" : "their");
	if (known) {
		putc('\n', f);
		cli_known_print(f, r->known);
	}
	if (known && known < r->n_jobs)
		fprintf(f, " %zu that %s added had a planned time, too.", r->n_jobs - known,
			r->n_jobs - known == 1 ? "was" : "were");
	fputc('\n', f);
}

void run_report_text(FILE *f, const struct hes_run_report *r)
{
	const struct hes_totals *measured = r->n_part ? &r->part_measured : &r->measured;
	const bool any = r->done > 0, energy = r->has_energy,
		   all = (r->n_part ? r->n_part : r->done) == r->n_jobs;
	struct table t = jobs_table(r);

	cli_print_table(&t, f, 0);
	job_failures_print(f, r->jobs, r->n_jobs, r->run.folder, r->by_node,
			   "report.json has their last lines");
	fputc('\n', f);
	t = gpus_table(r);
	cli_print_table(&t, f, 0);
	run_summary(f, r);
	run_report_compare(&t, "average completion", "planned", r->part.avg_jct_us,
			   measured->avg_jct_us, hes_time_text, any);
	run_report_compare(&t, "last job", "planned", (double)r->part.makespan_us,
			   (double)measured->makespan_us, hes_time_text, any);
	run_report_compare(&t, all ? "busy energy" : "energy of these jobs", "planned",
			   (double)r->part.busy_energy_mj, (double)measured->busy_energy_mj,
			   hes_energy_text, energy);
	run_report_compare(&t, "fleet energy", "planned", (double)r->part.fleet_energy_mj,
			   (double)measured->fleet_energy_mj, hes_energy_text, energy);
	cli_print_table(&t, f, 2);
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

/* The parts sum to the meter. */
static json_t *joules_json(const struct hes_run_report *r)
{
	const bool known = r->has_energy;

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:f}", "jobs_j",
			 joules(known, r->jobs_mj), "aborted_j", joules(known, r->aborted_mj),
			 "idle_j", joules(known, r->idle_mj), "learning_j",
			 joules(known, r->run.learning.energy_mj), "unattributed_j",
			 joules(known, r->unattributed_mj), "meter_j", joules(known, r->meter_mj),
			 "sessions", (json_int_t)r->sessions, "lost_s", r->lost_s);
}

static json_t *learning_json(const struct hes_run_report *r)
{
	const struct hes_run_learning *l = &r->run.learning;
	json_t *notes = json_array();

	for (size_t i = 0; i < r->n_notes; i++)
		json_array_append_new(notes, json_string(r->notes[i]));
	return json_pack("{s:I, s:f, s:f, s:I, s:I, s:I, s:o}", "experiments",
			 (json_int_t)l->experiments, "took_s", (double)l->took_us * 1e-6,
			 "energy_j", (double)l->energy_mj * 1e-3, "iterations",
			 (json_int_t)l->iterations, "gpus_without_clocks",
			 (json_int_t)r->clocks_untried, "jobs_without_progress",
			 (json_int_t)r->without_progress, "notes", notes);
}

static json_t *power_cap_json(const struct hes_run_report *r)
{
	if (!r->cap_mw)
		return json_null();
	return json_pack("{s:f, s:o, s:o, s:I}", "power_cap_w", (double)r->cap_mw * 1e-3, "peak_w",
			 cli_json_maybe(r->run.peak_mw > 0, (double)r->run.peak_mw * 1e-3),
			 "over_s", seconds(r->run.peak_mw > 0, r->run.over_cap_us), "jobs_held",
			 (json_int_t)r->waited_power);
}

static json_t *totals_json(const struct hes_totals *t, bool any, bool energy)
{
	return json_pack("{s:o, s:o, s:o, s:o}", "avg_jct_s",
			 seconds(any, (int64_t)llround(t->avg_jct_us)), "makespan_s",
			 seconds(any, t->makespan_us), "busy_energy_j",
			 joules(energy, t->busy_energy_mj), "fleet_energy_j",
			 joules(energy && t->fleet_energy_mj, t->fleet_energy_mj));
}

json_t *run_report_json(const struct hes_run_report *r)
{
	const bool planned = r->planned.makespan_us > 0;
	struct table jobs = jobs_table(r), gpus = gpus_table(r);

	return json_pack(
		"{s:I, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, "
		"s:o, s:o, s:o, "
		"s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o*}",
		"run", (json_int_t)r->run.id, "plan", r->run.plan, "folder", r->run.folder, "state",
		hes_run_state_names[r->run.state], "jobs_done", (json_int_t)r->done, "jobs_failed",
		(json_int_t)r->failed, "jobs_early", (json_int_t)r->early, "jobs_waiting",
		(json_int_t)r->waiting, "jobs_added", (json_int_t)r->added, "repeated",
		(json_int_t)r->retried, "co_failed", (json_int_t)r->co_failed, "timeouts",
		(json_int_t)r->timeouts, "clocks_refused", (json_int_t)r->clocks_refused,
		"clocks_missed", (json_int_t)r->clocks_missed, "samples", (json_int_t)r->samples.n,
		"longest_gap_s", r->longest_gap_s, "left_out", measure_left_out_json(r->left_out),
		"planned", totals_json(&r->planned, planned, planned), "part",
		totals_json(&r->part, r->n_part > 0, r->n_part > 0), "measured",
		totals_json(&r->measured, r->done > 0, r->has_energy), "part_measured",
		totals_json(&r->part_measured, r->n_part > 0, r->n_part > 0 && r->has_energy),
		"energy", joules_json(r), "learning", learning_json(r), "power_cap",
		power_cap_json(r), "jobs", table_json(&jobs), "gpus", table_json(&gpus),
		"jobs_known", count_known(r) ? cli_known_json(r->known) : NULL);
}

#define MOST_FAILURES 10 /* shown in text */

/* Where the files of a job are. */
static const char *folder_of(const struct hes_run_job *j, const char *folder, bool by_node,
			     char out[PATH_MAX])
{
	const char *slash = by_node ? strrchr(j->gpu, '/') : NULL;

	snprintf(out, PATH_MAX, "%s%s%.*s", folder, slash ? "/" : "",
		 slash ? (int)(slash - j->gpu) : 0, j->gpu);
	return out;
}

static bool was_started(const struct hes_run_job *j)
{
	return j->last_verdict != HES_VERDICT_OPEN && j->last_status != HES_RUN_NOT_STARTED;
}

static void put_end(FILE *f, const struct hes_run_job *j)
{
	const char *why = hes_run_why_no_command(j->last_status);

	if (!was_started(j))
		fputs("could not be started", f);
	else if (j->state == HES_RUN_JOB_EARLY)
		fprintf(f, "ended early, with status 0: %s", j->seen);
	else if (j->last_verdict == HES_VERDICT_TIMEOUT)
		fputs("timed out", f);
	else if (why)
		fprintf(f, "failed: %s (status %" PRId32 ")", why, j->last_status);
	else
		fprintf(f, "failed with status %" PRId32 "%s%s", j->last_status,
			j->seen[0] ? ": " : "", j->seen);
}

/* Whether it failed, or ended early. */
static bool did_not_work(const struct hes_run_job *j)
{
	return j->state == HES_RUN_JOB_FAILED || j->state == HES_RUN_JOB_EARLY;
}

static void failure_print(FILE *f, const struct hes_run_job *j, const char *folder)
{
	struct last_lines last;

	last_lines_read(folder, j->job, &last);
	fputs("\njob ", f);
	hes_visible_put(f, 0, j->job);
	fputc(' ', f);
	put_end(f, j);
	fputs(last.n ? "; the end of " : "; no output in ", f);
	hes_visible_put(f, 0, last.log ? last.log : folder);
	fputs(last.n ? ":\n" : "\n", f);
	for (size_t k = 0; k < last.n; k++)
		fprintf(f, "    %s\n", last.v[k]);
	last_lines_free(&last);
}

void job_failures_print(FILE *f, const struct hes_run_job *jobs, size_t n, const char *folder,
			bool by_node, const char *more)
{
	size_t shown = 0, failed = 0;
	char place[PATH_MAX];

	for (size_t i = 0; i < n; i++) {
		if (!did_not_work(&jobs[i]))
			continue;
		failed++;
		if (failed > MOST_FAILURES)
			continue;
		shown++;
		failure_print(f, &jobs[i], folder_of(&jobs[i], folder, by_node, place));
	}
	if (shown < failed)
		fprintf(f, "\n%zu more jobs failed or ended early; %s\n", failed - shown, more);
}

json_t *job_failure_json(const struct hes_run_job *j, const char *folder, bool by_node)
{
	char place[PATH_MAX];
	struct last_lines last;
	json_t *lines, *o;

	if (!did_not_work(j))
		return json_null();
	last_lines_read(folder_of(j, folder, by_node, place), j->job, &last);
	lines = json_array();
	for (size_t k = 0; k < last.n; k++)
		json_array_append_new(lines, json_string(last.v[k]));
	o = json_pack("{s:s, s:o, s:s?, s:s?, s:o}", "verdict", hes_verdict_names[j->last_verdict],
		      "status", was_started(j) ? json_integer(j->last_status) : json_null(), "seen",
		      j->seen[0] ? j->seen : NULL, "log", last.log, "last_lines", lines);
	last_lines_free(&last);
	return o;
}
