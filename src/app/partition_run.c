/*
 * split_run.c - carry a split out with the runner of `heshare run`; see split_run.h.
 *
 * The split becomes a plan of one GPU with one batch. Guard, MPS, clock, joules, logs and the
 * journal are the runner's.
 */
#include "cli/partition/split_run.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "app/gpus_chosen.h"
#include "app/known_store.h"
#include "app/gpus_visible.h"
#include "cli/run/carry_out.h"
#include "cli/run/job_failures.h"
#include "app/run_folder.h"
#include "app/run_begin.h"
#include "app/run_gpus.h"
#include "app/run_identity.h"
#include "cli/run/run_report.h"
#include "cli/run/run_shown.h"
#include "cli/terminal.h"

#define FOLDER     "partition.run" /* of the logs, without --logs */
#define LOG_MAX    "1G"
#define GRACE_US   30000000 /* from requesting a job to end until it is killed */
#define NOMINAL_US 1000000  /* planned time of jobs without --for */

struct split_run {
	const struct partition_answer *a;
	const struct hes_split *s;
	const struct hes_catalogue *catalogue;
	int64_t for_us; /* 0: until the jobs end */
	struct gpus_fleet gpu;
	struct hes_job jobs[HES_PARTITION_MAX_JOBS];
	const char *commands[HES_PARTITION_MAX_JOBS];
	struct hes_plan plan;
	struct hes_devices *devices;
	long index;
	struct hes_store *store;
	struct hes_journal *journal;
	struct hes_run run;
	char mps_folder[PATH_MAX];
	const char *user;
};

static void split_run_close(struct split_run *r)
{
	hes_journal_close(r->journal);
	hes_store_close(r->store);
	hes_devices_close(r->devices);
	hes_plan_finish(&r->plan);
	gpus_fleet_free(&r->gpu);
}

static const struct hes_share_profile *profile_of(const struct split_run *r, size_t i)
{
	return r->a->jobs[r->a->best][i];
}

/* --- the plan --- */

static int job_make(struct split_run *r, size_t i, const char *command, struct hes_err *err)
{
	const struct hes_share_profile *p = profile_of(r, i);
	struct hes_job *j = &r->jobs[i];
	size_t before = 0;

	for (size_t k = 0; k < i; k++)
		before += strcmp(r->jobs[k].workload, p->workload) == 0 &&
			  r->jobs[k].batch_size == p->batch_size;
	snprintf(j->workload, sizeof(j->workload), "%s", p->workload);
	snprintf(j->id, sizeof(j->id), before ? "%.40s-%u-%zu" : "%.40s-%u", p->workload,
		 p->batch_size, before + 1);
	j->batch_size = p->batch_size;
	j->measured_mib = p->memory_mib;
	j->iterations =
		(uint64_t)ceil(r->s->estimate.rate[i] * (double)r->for_us * 1e-6); /* predicted */
	j->weight = 1;
	r->commands[i] = command ? command : p->command;
	return *r->commands[i] ? 0
			       : hes_fail(err, -ENOENT,
					  "no command is known of %s/%u; give one for each job: "
					  "heshare partition ... --run -- 'COMMAND' 'COMMAND'",
					  p->workload, p->batch_size);
}

static struct hes_batch split_batch(const struct split_run *r)
{
	const struct partition_answer *a = r->a;
	const int64_t end_us = r->for_us ? r->for_us : NOMINAL_US;
	struct hes_batch b = { .clock_mhz = a->clocks_mhz[a->best],
			       .n = (uint32_t)a->n,
			       .end_us = end_us,
			       .unlocked = a->clocks_mhz[a->best] == a->g->clock_default_mhz };

	b.energy_mj = (uint64_t)(r->s->estimate.power_w * (double)end_us * 1e-3);
	for (uint32_t i = 0; i < b.n; i++) {
		struct hes_share_point alone;
		double activity_mw;

		hes_share_profile_at(profile_of(r, i), r->s->sm_pct[i], &alone);
		activity_mw = alone.power_w * 1e3 - a->g->idle_power_mw;
		b.jobs[i] = (struct hes_placement){
			.job = i,
			.sm_pct = r->s->sm_pct[i],
			.end_us = end_us,
			.activity_mw = activity_mw > 1 ? (uint32_t)activity_mw : 1,
		};
	}
	return b;
}

static int plan_make(struct split_run *r, char *const *commands, struct hes_err *err)
{
	struct hes_batch b;
	int rc = hes_plan_init(&r->plan, 1);

	for (size_t i = 0; i < r->a->n && !rc; i++)
		rc = job_make(r, i, commands ? commands[i] : NULL, err);
	if (rc)
		return rc;
	b = split_batch(r);
	snprintf(r->plan.policy, sizeof(r->plan.policy), "partition");
	return hes_plan_append(&r->plan, 0, &b) ? hes_fail(err, -ENOMEM, "out of memory") : 0;
}

/* --- where --- */

static int gpu_open(const struct partition_opts *o, struct split_run *r, struct hes_err *err)
{
	const struct run_gpus use = { cli_app(), &r->gpu.fleet, &r->plan, NULL, NULL, &r->index };
	struct run_gpus open = use;
	int rc = gpus_fleet_load(cli_app(), o->gpu, r->catalogue, false, &r->gpu, err);

	if (!rc)
		rc = app_devices_open(cli_app(), r->catalogue, &r->devices, err);
	open.devices = r->devices;
	if (!rc)
		rc = run_gpus_fit(&open, false, false, err);
	return rc ? rc : run_gpus_check(&open, r->journal, 0, err);
}

/* Commands come from the store: only one that others cannot change may start programs. */
static int store_open(const struct partition_opts *o, struct split_run *r, bool stored,
		      struct hes_err *err)
{
	int rc = app_store_open(cli_app(), o->from.store, HES_STORE_WRITE, RUN_STORE_WAIT_MS,
				&r->store, err);

	if (!rc && stored && !o->from.points) {
		rc = app_store_check_trust(r->store, r->user, err);
		if (rc)
			hes_fail_in(err, "commands of a store that other users can change are not "
					 "run; give them after --");
	}
	return rc ? rc : hes_journal_open(r->store, &r->journal, err);
}

static int folder_open(const struct partition_opts *o, struct split_run *r, struct hes_err *err)
{
	const bool others = !geteuid() && r->user;
	int rc = run_folder_choose(o->logs ? o->logs : FOLDER, "", others, r->run.folder, err);

	if (!rc)
		rc = run_folder_choose_mps(r->run.folder, others, r->mps_folder, err);
	memcpy(r->run.plan, r->run.folder, sizeof(r->run.plan));
	gethostname(r->run.host, sizeof(r->run.host) - 1);
	r->run.host[strcspn(r->run.host, ".")] = '\0';
	return rc;
}

/* --- while it runs --- */

static void show_message(void *ctx, const char *sentence)
{
	(void)ctx;
	run_show_message("partition", sentence);
}

/* Iterations of each job, as the runner published them a second ago. */
static void show_progress(void *ctx, const struct hes_run_progress *p)
{
	const struct split_run *r = ctx;
	char since[HES_QUANTITY_MAX], left[HES_QUANTITY_MAX];
	struct hes_run_live live;

	if (!terminal_is_live(STDERR_FILENO) || hes_run_live_load(&r->run, &live, NULL))
		return;
	fputc('\r', stderr);
	for (size_t i = 0; i < live.n_jobs; i++)
		fprintf(stderr, "%s %llu, ", live.jobs[i].job,
			(unsigned long long)live.jobs[i].iterations);
	if (live.n_gpus && live.gpus[0].has_power)
		fprintf(stderr, "%.0f W; ", live.gpus[0].power_w);
	fputs(cli_rough_time(since, (double)p->now_us), stderr);
	if (p->left_us)
		fprintf(stderr, ", about %s left", cli_rough_time(left, (double)p->left_us));
	fputs("\033[K", stderr);
	fflush(stderr);
	hes_run_live_free(&live);
}

static int carry_out(struct split_run *r, struct hes_run_report *out, struct hes_err *err)
{
	const struct hes_jobs jobs = { .v = r->jobs, .n = r->a->n };
	struct hes_run_request q = {
		.plan = &r->plan,
		.fleet = &r->gpu.fleet,
		.jobs = &jobs,
		.commands = r->commands,
		.devices = r->devices,
		.gpus = &r->index,
		.folder = r->run.folder,
		.mps_folder = r->mps_folder,
		.user = r->user,
		.open_ended = true,
		.for_us = r->for_us,
		.grace_us = GRACE_US,
		.listener = { .ctx = r, .message = show_message, .progress = show_progress },
	};
	int rc = run_carry_out(&q, LOG_MAX, r->journal, &r->run, out, err);

	run_clear_line();
	return rc;
}

/* --- the result --- */

/* What was measured while all jobs ran together; NaN: it was not. */
struct measured {
	double rate[HES_PARTITION_MAX_JOBS], power_w, work;
};

static struct measured measured_of(const struct split_run *r, const struct hes_run_report *report)
{
	const struct hes_run_together *t = &report->together;
	const bool all = t->n == r->a->n;
	double alone[HES_PARTITION_MAX_JOBS];
	struct measured m = { .power_w = all ? t->energy_j / t->seconds : NAN };

	for (size_t i = 0; i < r->a->n; i++) {
		m.rate[i] = NAN;
		alone[i] = profile_of(r, i)->alone_rate;
		for (size_t k = 0; all && k < t->n; k++)
			if (t->job[k] == i)
				m.rate[i] = t->per_s[k];
	}
	m.work = hes_partition_work(r->a->objective, m.rate, alone, r->a->n);
	return m;
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

static struct table jobs_table(const struct split_run *r, const struct hes_run_report *report,
			       const struct measured *m)
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
			cell_text("command", NULL, r->commands[i]),
			cell_if(report->iterations[i], cell_count("iterations", "iterations",
								  (int64_t)report->iterations[i])),
			cell_real("predicted_per_s", "predicted/s", -4, predicted),
			cell_real("per_s", "measured/s", -4, m->rate[i]),
			cell_shown(cell_count(NULL, "", 0), change),
			cell_if(j->has_energy,
				cell_energy("energy_j", "energy", (double)j->energy_mj)),
			cell_text("state", "state", hes_run_job_state_names[j->state]),
			cell_json("failure", job_failure_json(j, report->run.folder, false)),
		};
		TABLE_ROW(&t, row);
	}
	return t;
}

static void result_print(const struct split_run *r, const struct hes_run_report *report)
{
	const struct hes_run_together *t = &report->together;
	const struct measured m = measured_of(r, report);
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

static json_t *result_json(const struct split_run *r, const struct hes_run_report *report)
{
	const struct measured m = measured_of(r, report);
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

static int result_tell(const struct partition_opts *o, const struct split_run *r,
		       const struct hes_run_report *report)
{
	json_t *doc;

	if (!o->json) {
		result_print(r, report);
		return report->done < report->n_jobs;
	}
	doc = partition_json(r->a);
	if (doc)
		json_object_set_new(doc, "run", result_json(r, report));
	return cli_print_json("heshare-partition", doc) || report->done < report->n_jobs;
}

int partition_run(const struct partition_opts *o, const struct partition_answer *a,
		  const struct hes_catalogue *c, char *const *commands, int *status,
		  struct hes_err *err)
{
	struct split_run r = { .a = a,
			       .catalogue = c,
			       .for_us = (int64_t)(o->for_s * 1e6),
			       .s = partition_chosen(a),
			       .user = run_user_behind_sudo(cli_app()) };
	struct hes_run_report report = { 0 };
	int rc;

	if (!r.s)
		return hes_fail(err, -EINVAL,
				"nothing was run: the jobs are to take turns, one at a time "
				"without MPS; --split SHARES shares the GPU all the same");
	rc = plan_make(&r, commands, err);

	if (!rc)
		rc = store_open(o, &r, !commands, err);
	if (!rc)
		rc = gpu_open(o, &r, err);
	if (!rc)
		rc = folder_open(o, &r, err);
	fflush(stdout);
	if (!rc)
		rc = carry_out(&r, &report, err);
	if (!rc)
		*status = result_tell(o, &r, &report);
	hes_run_report_free(&report);
	split_run_close(&r);
	return rc;
}
