/*
 * run_clock.c - time of a run over its lives; see runner.h.
 *
 * Within a life it is the monotonic clock's. Between two lives it is the time since the machine's start, which nobody
 * can set: when the run began by it is in the file .clock of the run's folder, with the machine's start. After a new start of the machine there is the wall clock alone.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "run/runner.h"

#define CLOCK_FILE ".clock"
#define LINE_MAX_BYTES 128

void run_begin_clock(struct runner *r)
{
	char line[LINE_MAX_BYTES];
	int fd, n;

	if (r->offset_us)
		return;
	r->mono_s = hes_monotonic_s();
	r->boot_us = hes_boottime_us();
	/* Without it a resumed run has the wall clock. */
	unlinkat(r->folder.fd, CLOCK_FILE, 0);
	fd = hes_job_file_make(&r->folder, CLOCK_FILE, NULL, NULL);
	if (fd < 0)
		return;
	n = snprintf(line, sizeof(line), "%s %" PRId64 "\n", r->run->runner.boot, r->boot_us);
	if (write(fd, line, (size_t)n) != n)
		unlinkat(r->folder.fd, CLOCK_FILE, 0);
	close(fd);
}

void run_load_clock(struct runner *r)
{
	char line[LINE_MAX_BYTES] = "", boot[HES_BOOT_MAX];
	int fd = hes_job_file_read(&r->folder, CLOCK_FILE, NULL);
	ssize_t n = fd < 0 ? 0 : read(fd, line, sizeof(line) - 1);
	int64_t at;

	if (fd >= 0)
		close(fd);
	line[n > 0 ? n : 0] = '\0';
	if (sscanf(line, "%39s %" SCNd64, boot, &at) == 2 && strcmp(boot, r->run->runner.boot) == 0 && at >= 0 &&
	    at <= hes_boottime_us())
		r->boot_us = at;
}

int64_t run_time_of(const struct runner *r, int64_t wall_us, int64_t boot_us)
{
	return boot_us && r->boot_us != RUN_NEVER_US ? boot_us - r->boot_us : wall_us - r->run->started_us;
}

/* The latest time of the run that the journal knows. */
static int last_us(struct runner *r, int64_t *out, struct hes_err *err)
{
	struct hes_attempt *v = NULL;
	size_t n = 0;
	int rc = hes_journal_attempts(r->journal, r->run->id, &v, &n, err);

	*out = 0;
	for (size_t i = 0; !rc && i < n; i++) {
		*out = v[i].started_us > *out ? v[i].started_us : *out;
		if (v[i].verdict != HES_VERDICT_OPEN && v[i].ended_us > *out)
			*out = v[i].ended_us;
	}
	free(v);
	return rc;
}

int run_resume_clock(struct runner *r, struct hes_err *err)
{
	int64_t now = run_time_of(r, hes_wall_us(), hes_boottime_us()), last;
	int rc = last_us(r, &last, err);

	if (rc)
		return rc;
	if (now < last)
		run_tell(r, "the clock of this machine was set back while the run was interrupted; the run goes on at %.1f s", (double)last * 1e-6);
	r->offset_us = now > last ? now : last;
	return 0;
}
