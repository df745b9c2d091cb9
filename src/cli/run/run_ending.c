/*
 * run_ending.c - keep and print what a run measured; see run_ending.h.
 */
#include "cli/run/run_ending.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/plural.h"
#include "cli/cli.h"
#include "cli/inputs/inputs.h"
#include "app/run_baseline.h"
#include "app/run_identity.h"
#include "cli/run/run_report.h"
#include "cli/run/run_shown.h"

/* @param p  NULL: it could not be read */
static void profiling_row(struct table *t, const struct hes_store_profiling *p, const char *what,
			  const char *amount)
{
	const char *shown = !p                         ? "not known"
			    : !p->origins              ? "none"
			    : p->unknown == p->origins ? "not measured"
						       : amount;
	const struct cell row[] = {
		cell_text(NULL, "", what),
		cell_shown(cell_count(NULL, "estimated", 0), "none"),
		cell_shown(cell_count(NULL, "measured", 0), shown),
		cell_shown(cell_count(NULL, "", 0), ""),
	};

	TABLE_ROW(t, row);
}

static void profiling_rows(struct table *t, const struct hes_store_profiling *p)
{
	char energy[HES_QUANTITY_MAX] = "", time[HES_QUANTITY_MAX] = "";

	if (p) {
		hes_energy_text(energy, p->cost.energy_j * 1e3);
		hes_time_text(time, p->cost.gpu_s * 1e6);
	}
	profiling_row(t, p, "profiling, once", energy);
	profiling_row(t, p, "its GPU time", time);
}

static void estimate_rows(struct table *t, const struct run_baseline *b,
			  const struct hes_run_report *r)
{
	if (b->energies)
		run_report_compare(t, "energy of these jobs", "estimated", (double)b->alone_mj,
				   (double)b->measured_mj, hes_energy_text, true);
	if (!b->has_times)
		return;
	run_report_compare(t, "average completion", "estimated", b->alone.avg_jct_us,
			   r->measured.avg_jct_us, hes_time_text, true);
	run_report_compare(t, "last job", "estimated", (double)b->alone.makespan_us,
			   (double)r->measured.makespan_us, hes_time_text, true);
	run_report_compare(t, "fleet energy", "estimated", (double)b->alone.fleet_energy_mj,
			   (double)r->measured.fleet_energy_mj, hes_energy_text, r->has_energy);
}

/* Rows "what, estimated, measured" behind the report; one sentence where nothing is known. */
static void baseline_text(FILE *f, const struct run_baseline *b,
			  const struct hes_store_profiling *p, const struct hes_run_report *r)
{
	const size_t n = b->profiled + b->modelled;
	struct table t = { 0 };

	if (!r->done)
		return;
	if (!n) {
		fputs("\nWhat the run saved against one job per GPU at the default clock is not "
		      "known: its jobs have no profile (heshare profile), and the GPU model does "
		      "not know them.\n",
		      f);
		return;
	}
	fprintf(f,
		"\nagainst one job per GPU at the default clock, estimated for %zu of %zu job%s "
		"(%zu by measurements, %zu by the GPU model)\n",
		n, r->done, hes_s(r->done), b->profiled, b->modelled);
	estimate_rows(&t, b, r);
	profiling_rows(&t, p);
	cli_print_table(&t, f, 2);
	if (p && p->unknown && p->unknown < p->origins)
		fprintf(f, "  profiling: %zu of %zu sessions were not measured\n", p->unknown,
			p->origins);
	if (!b->has_times)
		fputs("  no times and no fleet energy: they need an estimate and joules of every "
		      "job, and that it is done\n",
		      f);
}

static json_t *baseline_json(const struct run_baseline *b, const struct hes_store_profiling *p,
			     const struct hes_run_report *r)
{
	if (!b->profiled && !b->modelled)
		return json_null();
	return json_pack(
		"{s:s, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "estimate_of",
		"one job per GPU at the default clock", "jobs_done", (json_int_t)r->done,
		"by_profiles", (json_int_t)b->profiled, "by_model", (json_int_t)b->modelled,
		"jobs_j", cli_json_maybe(b->energies, (double)b->alone_mj * 1e-3),
		"measured_jobs_j", cli_json_maybe(b->energies, (double)b->measured_mj * 1e-3),
		"avg_jct_s", cli_json_maybe(b->has_times, b->alone.avg_jct_us * 1e-6), "makespan_s",
		cli_json_maybe(b->has_times, (double)b->alone.makespan_us * 1e-6), "fleet_energy_j",
		cli_json_maybe(b->has_times, (double)b->alone.fleet_energy_mj * 1e-3), "profiling",
		p ? cli_known_profiling_json(p) : json_null());
}

static int save_report(const struct hes_run_report *r, json_t *doc, struct hes_err *err)
{
	char path[HES_JOURNAL_PATH_MAX + 16];
	struct hes_file file;
	int rc;

	snprintf(path, sizeof(path), "%s/report.json", r->run.folder);
	rc = hes_file_create_own(&file, path, err);
	if (rc)
		return rc;
	if (json_dumpf(doc, file.f, JSON_INDENT(2) | JSON_REAL_PRECISION(10)))
		rc = hes_fail(err, -EIO, "%s: cannot be written", path);
	if (rc) {
		hes_file_abort(&file);
		return rc;
	}
	fputc('\n', file.f);
	return hes_file_commit(&file, err);
}

/* What the run itself took of this machine's processor and memory, its jobs left out. */
static json_t *with_overhead(json_t *doc)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	if (doc)
		json_object_set_new(
			doc, "runner",
			json_pack("{s:f, s:f}", "cpu_s",
				  (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
					  (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6,
				  "peak_mib", (double)u.ru_maxrss / 1024));
	return doc;
}

/* What follows goes nowhere. */
static void let_reader_go(void)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	fflush(stdout);
	if (fd >= 0 && dup2(fd, STDOUT_FILENO) == STDOUT_FILENO)
		clearerr(stdout);
	if (fd >= 0)
		close(fd);
}

/* A reader that went away has what it wanted: that is no failure of the run. @return exit status */
static int print_report(const struct run_ending *e, json_t *doc, const struct hes_run_report *r,
			const struct run_baseline *b)
{
	errno = 0;
	if (!e->json) {
		run_report_text(stdout, r);
		baseline_text(stdout, b, e->profiling, r);
	} else if (!json_dumpf(doc, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(10))) {
		putchar('\n');
	}
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	if (errno == EPIPE) {
		let_reader_go();
		return 0;
	}
	fprintf(stderr, "heshare run: cannot write standard output: %s\n", strerror(errno));
	return 1;
}

int run_ending_tell(const struct run_ending *e, const struct hes_run_report *r, json_t *more)
{
	json_t *doc = hes_json_document("heshare-report", with_overhead(run_report_json(r)));
	struct run_baseline saved = { 0 };
	struct hes_err err;
	int status = 0;

	if (doc && more)
		json_object_update(doc, more);
	json_decref(more);
	if (run_baseline_estimate(cli_app(), r, e->jobs, &e->from, e->catalogue, &saved, &err))
		status = cli_fail("run", &err);
	if (doc)
		json_object_set_new(doc, "baseline", baseline_json(&saved, e->profiling, r));
	run_clear_line();
	if (!doc || save_report(r, doc, &err))
		status = doc ? cli_fail("run", &err) : 1;
	if (print_report(e, doc, r, &saved))
		status = 1;
	json_decref(doc);
	return status || r->done + (e->early_ok ? r->early : 0) < r->n_jobs;
}
