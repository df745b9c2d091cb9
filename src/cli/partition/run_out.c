/*
 * run_out.c - print a split that was carried out, next to what was predicted; see split_out.h.
 */
#include <math.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/partition/split_out.h"
#include "cli/run/job_failures.h"
#include "cli/run/run_report.h"

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
