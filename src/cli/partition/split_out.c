/*
 * split_out.c - print what `heshare partition` finds and runs; see split_out.h.
 */
#include "cli/partition/split_out.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/jobs_load.h"
#include "base/plural.h"
#include "cli/cli.h"
#include "cli/run/run_report.h"

#define STARVED     0.2 /* of its throughput alone: below, the output warns */
#define LARGE_ERROR 0.15
#define MOST_ROWS   12 /* of a table that --all does not ask for */

/* What an objective counts, as a column's head and in a sentence. */
static const struct {
	const char *heading, *unit, *sentence;
} objective_words[] = {
	[HES_PARTITION_SUM] = { "iter/J", "iterations per joule",
				"most iterations per joule, summed over the jobs" },
	[HES_PARTITION_NORMALIZED] = { "work/kJ", "work per joule",
				       "most work per joule, summed over the jobs" },
	[HES_PARTITION_ENERGY] = { "work/kJ", "work per joule",
				   "least energy per unit of work, where every job counts alike" },
};

static double shown(const struct partition_answer *a, const struct hes_split *s)
{
	return a->objective == HES_PARTITION_SUM ? s->per_watt : 1e3 * s->per_watt;
}

static const struct hes_split *best_of(const struct partition_answer *a)
{
	return &a->splits[a->best].v[a->splits[a->best].best];
}

/* @return digits behind the point that give @v four significant ones: a column has the same */
static int digits_of(double v)
{
	return v > 0 ? (int)fmin(fmax(3 - floor(log10(v)), 0), 9) : 0;
}

/* Rows with a column for each job. */
static void split_row(struct table *t, const struct partition_answer *a, const struct hes_split *s,
		      uint32_t clock_mhz, const char *mark)
{
	char shares[5 * HES_PARTITION_MAX_JOBS] = "",
			names[HES_PARTITION_MAX_JOBS][2 * HES_NAME_MAX],
			parts[HES_PARTITION_MAX_JOBS][16], interval[64] = "", title[32];
	const int digits = digits_of(shown(a, best_of(a)));
	struct cell row[6 + HES_PARTITION_MAX_JOBS] = { cell_text(NULL, "", mark) };
	size_t n = 3;

	for (size_t i = 0; i < a->n; i++) {
		const struct hes_share_profile *p = a->jobs[a->best][i];
		const double part = s->estimate.rate[i] / p->alone_rate;

		snprintf(shares + strlen(shares), sizeof(shares) - strlen(shares), "%s%3u",
			 i ? " " : "", s->sm_pct[i]);
		snprintf(names[i], sizeof(names[i]), "%s/%u", p->workload, p->batch_size);
		snprintf(parts[i], sizeof(parts[i]), isnan(part) ? "    -" : "%3.0f %%",
			 100 * part);
		row[n++] = cell_noted(cell_real(NULL, names[i],
						digits_of(best_of(a)->estimate.rate[i]),
						s->estimate.rate[i]),
				      parts[i]);
	}
	if (s != &a->turns)
		snprintf(interval, sizeof(interval), "%.*f to %.*f%s", digits, shown(a, s) * s->low,
			 digits, shown(a, s) * s->high, s->allowed ? "" : "  below a floor");
	snprintf(title, sizeof(title), "%.0f %% interval", 100 * a->model->coverage);
	row[1] = cell_text(NULL, "SM %", shares);
	row[2] = cell_key(cell_count(NULL, "MHz", clock_mhz));
	row[n++] = cell_real(NULL, "GPU W", 1, s->estimate.power_w);
	row[n++] = cell_real(NULL, objective_words[a->objective].heading, digits, shown(a, s));
	row[n++] = cell_text(NULL, title, interval);
	table_row(t, row, n);
}

static int clock_rows(struct table *t, const struct partition_answer *a, size_t clock, bool all,
		      struct hes_err *err)
{
	struct partition_rows rows;

	if (partition_rows(a, clock, all ? SIZE_MAX : MOST_ROWS, &rows))
		return hes_fail(err, -ENOMEM, "out of memory for %zu splits", a->splits[clock].n);
	for (size_t i = 0; i < rows.n; i++)
		split_row(t, a, rows.v[i], a->clocks_mhz[clock],
			  clock == a->best && rows.v[i] == best_of(a) ? "best" : "");
	free(rows.v);
	return 0;
}

/* A command from a file is shown only where a terminal and a shell take it as text. */
static bool is_plain(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return false;
	return true;
}

/* A script that applies a split, with MPS in a folder of its own. */
static void print_commands(const struct partition_answer *a, const struct hes_split *s)
{
	uint32_t clock_mhz = a->clocks_mhz[a->best];
	const char *gpu = a->uuid[0] ? a->uuid : "0", *unlock = "";
	char text[160];

	printf("\nTo run the jobs with this split, as a script%s:\n\n  #!/bin/sh\n",
	       a->uuid[0] ? "" : " (--gpu INDEX names one of several GPUs)");
	if (a->uuid[0])
		printf("  export CUDA_VISIBLE_DEVICES=%s\n", a->uuid);
	if (clock_mhz != a->g->clock_default_mhz) {
		printf("  nvidia-smi -i %s -lgc %u,%u || exit\n", gpu, clock_mhz, clock_mhz);
		snprintf(text, sizeof(text), "nvidia-smi -i %s -rgc; ", gpu);
		unlock = text;
	}
	printf("  mps=$(mktemp -d)\n  export CUDA_MPS_PIPE_DIRECTORY=$mps "
	       "CUDA_MPS_LOG_DIRECTORY=$mps\n"
	       "  trap '%secho quit | nvidia-cuda-mps-control; rm -r \"$mps\"' EXIT\n  trap 'exit "
	       "1' INT TERM\n"
	       "  nvidia-cuda-mps-control -d\n",
	       unlock);
	for (size_t i = 0; i < a->n; i++) {
		const struct hes_share_profile *p = a->jobs[a->best][i];

		printf("  CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=%u sh -c ", s->sm_pct[i]);
		if (p->command[0] && is_plain(p->command))
			app_put_quoted(stdout, p->command);
		else
			printf("'COMMAND of %s/%u'", p->workload, p->batch_size);
		printf(" &\n");
	}
	printf("  wait\n");
}

static void print_model(const struct partition_answer *a)
{
	const struct hes_partition_info *m = a->model;
	const struct hes_share_profile *p = a->jobs[a->best][0], *q = a->jobs[a->best][1];

	printf("Predicted from each job alone at several shares (%s)", a->what);
	if (!m->learnt) {
		printf(".\n%zu co-run%s of jobs on %s %s %s measured. %s To measure more:\n"
		       "heshare profile %s --batch %u --co-runners %s/%u --clocks default -- %s\n",
		       m->sets, hes_s(m->sets), hes_article(a->g->name), a->g->name,
		       m->sets == 1 ? "was" : "were",
		       m->sets == 1  ? "It sets how much jobs slow each other down."
		       : m->sets > 1 ? "They set how much jobs slow each other down."
				     : "How much jobs slow each other down is a guess.",
		       p->workload, p->batch_size, q->workload, q->batch_size,
		       p->command[0] && is_plain(p->command) ? partition_command(p->command)
							     : "COMMAND");
		return;
	}
	printf(", corrected by %zu co-runs of jobs on %s %s.\n", m->sets, hes_article(a->g->name),
	       a->g->name);
	printf("Error on %s: %.1f %% of throughput, %.1f %% of GPU power.%s\n",
	       m->unseen ? "jobs never seen together" : "splits never seen, of the same jobs",
	       100 * m->rate_error, 100 * m->power_error,
	       fmax(m->rate_error, m->power_error) > LARGE_ERROR
		       ? " This is much: do not rely on the answer."
		       : "");
}

/* What limits the answer. */
static void print_notes(const struct partition_answer *a)
{
	const struct hes_split *best = best_of(a);

	for (size_t i = 0; i < a->n; i++) {
		const struct hes_share_profile *p = a->jobs[a->best][i];
		double first = p->at[0].sm_pct, last = p->at[p->n - 1].sm_pct,
		       part = best->estimate.rate[i] / p->alone_rate;

		if (first >= 2.0 * a->step || last <= 100 - 2.0 * a->step)
			printf("%s/%u was profiled from %.0f to %.0f %%: other shares were not "
			       "looked at.\n",
			       p->workload, p->batch_size, first, last);
		if (part < STARVED)
			printf("%s/%u keeps %.0f %% of its throughput alone; --objective energy or "
			       "--floor %s=0.5 give it more.\n",
			       p->workload, p->batch_size, 100 * part, p->workload);
	}
	if (a->all_clocks && a->n_clocks == 1)
		printf("Only %u MHz was profiled for all jobs; heshare profile --clocks measures "
		       "others.\n",
		       a->clocks_mhz[0]);
}

static void print_gain(const struct partition_answer *a)
{
	const struct hes_split *best = best_of(a);

	if (a->equal.estimate.power_w > 0 && a->equal_mhz == a->clocks_mhz[a->best] &&
	    memcmp(a->equal.sm_pct, best->sm_pct, sizeof(best->sm_pct)) == 0)
		printf("\nEqual shares are the best split.\n");
	else if (a->equal.estimate.power_w > 0)
		printf("\nThe best split does %+.1f %% %s against equal shares at %u MHz.\n",
		       100 * partition_gain(best, &a->equal), objective_words[a->objective].unit,
		       a->equal_mhz);
	if (a->turns.estimate.power_w > 0)
		printf("Against jobs that take turns alone on the GPU: %+.1f %%.\n",
		       100 * partition_gain(best, &a->turns));
	if (a->take_turns)
		printf("Take turns: run one job at a time on the whole GPU, without MPS. %s\n",
		       a->take_turns);
}

int partition_print(const struct partition_answer *a, bool all, bool script, struct hes_err *err)
{
	const struct hes_split *s = partition_chosen(a);
	struct table t = { 0 };
	int rc = 0;

	for (size_t i = 0; i < a->n; i++)
		printf("%s%s/%u", i ? " + " : "", a->jobs[a->best][i]->workload,
		       a->jobs[a->best][i]->batch_size);
	printf(" on %s: %s\n", a->g->name, objective_words[a->objective].sentence);
	print_model(a);
	for (size_t c = 0; c < a->n_clocks && !rc; c++)
		if (a->n_clocks == 1 || c == a->best || all)
			rc = clock_rows(&t, a, c, all, err);
	if (a->equal.estimate.power_w > 0)
		split_row(&t, a, &a->equal, a->equal_mhz, "equal");
	if (a->turns.estimate.power_w > 0)
		split_row(&t, a, &a->turns, a->turns_mhz, "turns");
	if (a->given.estimate.power_w > 0)
		split_row(&t, a, &a->given, a->clocks_mhz[a->best], "given");
	puts("Below a job: its iterations a second, and those in % of the job alone.\n");
	cli_print_table(&t, stdout, 0);
	if (rc)
		return rc;
	print_gain(a);
	print_notes(a);
	if (script && s)
		print_commands(a, s);
	return 0;
}

static json_t *split_json(const struct partition_answer *a, const struct hes_split *s,
			  uint32_t clock_mhz)
{
	json_t *shares = json_array(), *rates = json_array(), *normalized = json_array();

	for (size_t i = 0; i < a->n; i++) {
		double alone = a->jobs[a->best][i]->alone_rate;

		json_array_append_new(shares, json_integer(s->sm_pct[i]));
		json_array_append_new(rates, json_real(s->estimate.rate[i]));
		json_array_append_new(normalized,
				      cli_json_maybe(!isnan(alone), s->estimate.rate[i] / alone));
	}
	return json_pack("{s:o, s:i, s:o, s:o, s:f, s:f, s:[f,f], s:b}", "sm_pct", shares,
			 "clock_mhz", (int)clock_mhz, "throughput", rates, "normalized", normalized,
			 "power_w", s->estimate.power_w, "per_watt", s->per_watt,
			 "per_watt_interval", s->per_watt * s->low, s->per_watt * s->high,
			 "floors_kept", s->allowed);
}

static json_t *maybe_split(const struct partition_answer *a, const struct hes_split *s,
			   uint32_t clock_mhz)
{
	return s->estimate.power_w > 0 ? split_json(a, s, clock_mhz) : json_null();
}

json_t *partition_json(const struct partition_answer *a)
{
	json_t *jobs = json_array(), *splits = json_array(), *model, *out;
	json_int_t best = (json_int_t)a->splits[a->best].best;
	const struct hes_partition_info *m = a->model;

	for (size_t i = 0; i < a->n; i++)
		json_array_append_new(jobs, json_pack("{s:s, s:i, s:s}", "workload",
						      a->jobs[a->best][i]->workload, "batch_size",
						      (int)a->jobs[a->best][i]->batch_size,
						      "command", a->jobs[a->best][i]->command));
	for (size_t c = 0; c < a->n_clocks; c++) {
		best += c < a->best ? (json_int_t)a->splits[c].n : 0;
		for (size_t i = 0; i < a->splits[c].n; i++)
			json_array_append_new(splits,
					      split_json(a, &a->splits[c].v[i], a->clocks_mhz[c]));
	}
	model = json_pack("{s:s, s:I, s:b, s:f, s:o, s:o}", "points", a->what, "co_runs",
			  (json_int_t)m->sets, "learnt", m->learnt, "coverage_pct",
			  100 * m->coverage, "throughput_error",
			  cli_json_maybe(!isnan(m->rate_error), m->rate_error), "power_error",
			  cli_json_maybe(!isnan(m->power_error), m->power_error));
	out = json_pack("{s:s, s:s, s:o, s:o, s:I, s:o, s:o, s:o, s:o}", "gpu_type", a->g->name,
			"objective", hes_partition_objectives[a->objective], "jobs", jobs, "splits",
			splits, "best", best, "equal", maybe_split(a, &a->equal, a->equal_mhz),
			"turns", maybe_split(a, &a->turns, a->turns_mhz), "given",
			maybe_split(a, &a->given, a->clocks_mhz[a->best]), "model", model);
	json_object_set_new(out, "recommendation", json_string(a->take_turns ? "turns" : "share"));
	json_object_set_new(out, "gain_over_equal",
			    a->equal.estimate.power_w > 0
				    ? json_real(partition_gain(best_of(a), &a->equal))
				    : json_null());
	return out;
}

static json_t *jobs_json(const struct partition_fleet *t, const struct hes_partition_group *g)
{
	json_t *jobs = json_array();

	for (uint32_t i = 0; i < g->n; i++)
		json_array_append_new(jobs,
				      json_pack("{s:s, s:i, s:f}", "job", t->jobs.v[g->job[i]].id,
						"sm_pct", (int)g->split.sm_pct[i], "throughput",
						g->split.estimate.rate[i]));
	return jobs;
}

/* "a resnet50/8 @ 40 %, b ..." @return NULL without memory; to free() */
static char *jobs_text(const struct partition_fleet *t, const struct hes_partition_group *g)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	for (uint32_t i = 0; f && i < g->n; i++)
		fprintf(f, "%s%s %s/%u @ %u %%", i ? ", " : "", t->jobs.v[g->job[i]].id,
			t->jobs.v[g->job[i]].workload, t->jobs.v[g->job[i]].batch_size,
			g->split.sm_pct[i]);
	if (f)
		fclose(f);
	return text;
}

static struct table groups_table(const struct partition_fleet *t)
{
	const struct hes_partition_groups *g = &t->groups;
	struct table out = { 0 };

	for (size_t i = 0; i < g->n; i++) {
		const struct hes_partition_group *one = &g->v[i];
		const struct hes_gpu *gpu = &t->fleet.gpus[one->gpu];
		char *text = jobs_text(t, one);
		const struct cell row[] = {
			cell_text("gpu", "GPU", gpu->name),
			cell_text(NULL, "type", gpu->type->name),
			cell_count("wave", NULL, one->wave),
			cell_count(NULL, g->waves > 1 ? "wave" : NULL, one->wave + 1),
			cell_real("power_w", "GPU W", 1, one->split.estimate.power_w),
			cell_text(NULL, "jobs @ SM share", one->n ? text : "idle"),
			cell_json("jobs", jobs_json(t, one)),
		};

		TABLE_ROW(&out, row);
		free(text);
	}
	return out;
}

void partition_fleet_print(const struct partition_fleet *t)
{
	const struct hes_partition_groups *g = &t->groups;
	bool raw = t->q->objective == HES_PARTITION_SUM;
	struct table groups = groups_table(t);

	printf("%zu job%s on %zu GPU%s, at most %llu on one at a time%s\nPredicted from %s.\n",
	       t->jobs.n, hes_s(t->jobs.n), t->fleet.n, hes_s(t->fleet.n),
	       (unsigned long long)t->q->most,
	       g->waves > 1 ? ", in waves: one after the other" : "", t->in.what);
	putchar('\n');
	cli_print_table(&groups, stdout, 0);
	printf("\nThe fleet does %.4g %s at %.1f W, idle GPUs included: %.4g %s.\n", g->work,
	       raw ? "iterations a second" : "GPUs' worth of work", g->power_w,
	       raw ? g->per_watt : 1e3 * g->per_watt,
	       raw ? "iterations a joule" : "GPU-seconds of work a kilojoule");
}

json_t *partition_fleet_json(const struct partition_fleet *t)
{
	const struct hes_partition_groups *g = &t->groups;
	struct table groups = groups_table(t);

	return json_pack("{s:s, s:o, s:i, s:f, s:f, s:f}", "objective",
			 hes_partition_objectives[t->q->objective], "groups", table_json(&groups),
			 "waves", (int)g->waves, "work", g->work, "power_w", g->power_w, "per_watt",
			 g->per_watt);
}

static const char *watts_text(char out[HES_QUANTITY_MAX], double w)
{
	snprintf(out, HES_QUANTITY_MAX, "%.1f W", w);
	return out;
}

static const char *number_text(char out[HES_QUANTITY_MAX], double v)
{
	snprintf(out, HES_QUANTITY_MAX, "%.4g", v);
	return out;
}

static struct table jobs_table(const struct partition_run *r, const struct hes_run_report *report,
			       const struct partition_measured *m)
{
	struct table t = { 0 };

	for (size_t i = 0; i < r->a->n; i++) {
		const struct hes_run_job *j = &report->jobs[i];
		const double predicted = r->s->estimate.rate[i];
		char name[2 * HES_NAME_MAX], change[HES_QUANTITY_MAX] = "";

		snprintf(name, sizeof(name), "%s/%u", r->jobs[i].workload, r->jobs[i].batch_size);
		if (!isnan(m->rate[i]))
			snprintf(change, sizeof(change), "%+.1f %%",
				 100 * (m->rate[i] / predicted - 1));
		const struct cell row[] = {
			cell_text(NULL, "job", name),
			cell_text("workload", NULL, r->jobs[i].workload),
			cell_count("batch_size", NULL, r->jobs[i].batch_size),
			cell_count("sm_pct", "SM %", r->s->sm_pct[i]),
			cell_text("command", NULL, r->jobs[i].command),
			cell_if(report->records[i].iterations,
				cell_count("iterations", "iterations",
					   (int64_t)report->records[i].iterations)),
			cell_real("predicted_throughput", "predicted/s", -4, predicted),
			cell_real("throughput", "measured/s", -4, m->rate[i]),
			cell_shown(cell_count(NULL, "", 0), change),
			cell_if(j->has_energy,
				cell_energy("attributed_j", "energy", (double)j->energy_mj)),
			cell_text("state", "state", hes_run_job_state_names[j->state]),
			cell_json("failure", job_failure_json(j, report->run.folder, false)),
		};
		TABLE_ROW(&t, row);
	}
	return t;
}

void partition_run_print(const struct partition_run *r, const struct hes_run_report *report)
{
	const struct hes_run_together *t = &report->together;
	const struct partition_measured m = partition_run_measured(r, report);
	const double unit = r->a->objective == HES_PARTITION_SUM ? 1 : 1e3;
	struct table jobs = jobs_table(r, report, &m), sums = { 0 };
	char time[HES_QUANTITY_MAX];

	putchar('\n');
	cli_print_table(&jobs, stdout, 0);
	run_report_compare(&sums, "GPU power", "predicted", r->s->estimate.power_w, m.power_w,
			   watts_text, !isnan(m.power_w));
	run_report_compare(&sums, unit == 1 ? "iterations per J" : "work per kJ", "predicted",
			   unit * r->s->per_watt, unit * m.work / m.power_w, number_text,
			   !isnan(m.work));
	run_report_compare(&sums, "GPU energy", "predicted",
			   r->s->estimate.power_w * t->seconds * 1e3, t->energy_j * 1e3,
			   hes_energy_text, !isnan(m.power_w));
	putchar('\n');
	cli_print_table(&sums, stdout, 2);
	if (isnan(m.power_w))
		printf("The jobs never made progress together, so that there is nothing to "
		       "compare.\n");
	else
		printf("Measured over %s in which all jobs made progress.\n",
		       hes_time_text(time, t->seconds * 1e6));
	if (report->clocks_refused || report->clocks_missed)
		printf("The clock of %u MHz was not set or not held: the GPU ran at its own.\n",
		       r->a->clocks_mhz[r->a->best]);
	job_failures_print(stdout, report->jobs, report->n_jobs, report->run.folder, false,
			   "their logs are there");
	printf("Logs are in %s.\n", report->run.folder);
}

json_t *partition_run_json(const struct partition_run *r, const struct hes_run_report *report)
{
	const struct partition_measured m = partition_run_measured(r, report);
	const bool together = !isnan(m.power_w);
	struct table jobs = jobs_table(r, report, &m);

	return json_pack("{s:I, s:s, s:i, s:o, s:o, s:f, s:o, s:f, s:o, s:o, s:o}", "run",
			 (json_int_t)report->run.id, "folder", report->run.folder, "clock_mhz",
			 (int)r->a->clocks_mhz[r->a->best], "clock_held",
			 json_boolean(!report->clocks_refused && !report->clocks_missed), "seconds",
			 cli_json_maybe(together, report->together.seconds), "predicted_power_w",
			 r->s->estimate.power_w, "power_w", cli_json_maybe(together, m.power_w),
			 "predicted_per_watt", r->s->per_watt, "per_watt",
			 cli_json_maybe(!isnan(m.work), m.work / m.power_w), "energy_j",
			 cli_json_maybe(together, report->together.energy_j), "jobs",
			 table_json(&jobs));
}
