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
#include "cli/cli.h"
#include "app/run_baseline.h"
#include "app/run_identity.h"
#include "cli/run/run_report.h"
#include "cli/run/run_shown.h"

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
		run_baseline_text(stdout, b, r);
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
	json_t *doc = with_overhead(run_report_json(r));
	struct run_baseline saved = { 0 };
	struct hes_err err;
	int status = 0;

	if (doc && more)
		json_object_update(doc, more);
	json_decref(more);
	if (run_baseline_estimate(r, e->jobs, e->profiles, e->catalogue, &saved, &err))
		status = cli_fail("run", &err);
	if (doc)
		json_object_set_new(doc, "baseline", run_baseline_json(&saved, r));
	run_clear_line();
	if (!doc || save_report(r, doc, &err))
		status = doc ? cli_fail("run", &err) : 1;
	if (print_report(e, doc, r, &saved))
		status = 1;
	json_decref(doc);
	return status || r->done + (e->early_ok ? r->early : 0) < r->n_jobs;
}
