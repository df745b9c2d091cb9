/*
 * run_clock.c - the time of a run; see run_clock.h.
 *
 * Within a process it is the monotonic clock's. From one process to the next it is the time since
 * the machine's start, which cannot be set: the file .clock of the run's folder has the moment when
 * the run began. After a restart of the machine only the wall clock is left.
 */
#include "run/run_clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "launch/process.h"

#define CLOCK_FILE     ".clock"
#define LINE_MAX_BYTES 128

int64_t run_now_us(const struct run_clock *c)
{
	return c->offset_us + (int64_t)((hes_monotonic_s() - c->mono_s) * 1e6);
}

int64_t run_clock_wake(struct run_clock *c)
{
	c->woken_us = run_now_us(c);
	return c->woken_us;
}

void run_clock_begin(struct run_clock *c, const struct hes_job_folder *folder, const char *boot)
{
	char line[LINE_MAX_BYTES];
	int fd, n;

	if (c->offset_us)
		return;
	c->mono_s = hes_monotonic_s();
	c->boot_us = hes_boottime_us();
	/* Without the file a resumed run uses the wall clock. */
	unlinkat(folder->fd, CLOCK_FILE, 0);
	fd = hes_job_file_make(folder, CLOCK_FILE, NULL, NULL);
	if (fd < 0)
		return;
	n = snprintf(line, sizeof(line), "%s %" PRId64 "\n", boot, c->boot_us);
	if (write(fd, line, (size_t)n) != n)
		unlinkat(folder->fd, CLOCK_FILE, 0);
	close(fd);
}

void run_clock_load(struct run_clock *c, const struct hes_job_folder *folder, const char *boot)
{
	char line[LINE_MAX_BYTES] = "", at_boot[HES_BOOT_MAX];
	int fd = hes_job_file_read(folder, CLOCK_FILE, NULL);
	ssize_t n = fd < 0 ? 0 : read(fd, line, sizeof(line) - 1);
	int64_t at;

	if (fd >= 0)
		close(fd);
	line[n > 0 ? n : 0] = '\0';
	if (sscanf(line, "%39s %" SCNd64, at_boot, &at) == 2 && strcmp(at_boot, boot) == 0 &&
	    at >= 0 && at <= hes_boottime_us())
		c->boot_us = at;
}

int64_t run_clock_at(const struct run_clock *c, const struct hes_run *run, int64_t wall_us,
		     int64_t boot_us)
{
	return boot_us && c->boot_us != RUN_NEVER_US ? boot_us - c->boot_us
						     : wall_us - run->started_us;
}

bool run_clock_resume(struct run_clock *c, const struct hes_run *run, int64_t last_us)
{
	const int64_t now = run_clock_at(c, run, hes_wall_us(), hes_boottime_us());

	c->offset_us = now > last_us ? now : last_us;
	return now < last_us;
}
