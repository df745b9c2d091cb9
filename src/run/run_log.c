/*
 * run_log.c - the journal and the listener of a run; see run_log.h.
 */
#include "run/run_log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#define RUN_TEXT_MAX 512

void run_tell(const struct run_log *l, const char *fmt, ...)
{
	char text[HES_ERR_MAX + RUN_TEXT_MAX];
	va_list ap;

	if (!l->listener->message)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	l->listener->message(l->listener->ctx, text);
}

int run_act(struct run_log *l, const char *gpu, const char *job, struct hes_err *err,
	    const char *fmt, ...)
{
	const int64_t now = run_now_us(l->clock);
	char text[RUN_TEXT_MAX];
	va_list ap;
	int rc;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	rc = hes_journal_act(l->journal, l->run->id, now, gpu, job, text, err);
	if (!rc && l->listener->act)
		l->listener->act(l->listener->ctx, now, gpu, job, text);
	return rc;
}

void run_retry(struct run_log *l, const struct hes_err *err)
{
	const int64_t now = run_now_us(l->clock);

	l->retry_us = now + RUN_RETRY_US;
	l->blocked_us = l->blocked_us == RUN_NEVER_US ? now : l->blocked_us;
	snprintf(l->why, sizeof(l->why), "%s", err->msg);
}

void run_pause(struct run_log *l, const struct hes_err *err)
{
	if (!l->pause_reported)
		run_tell(l, "the journal cannot be written, so nothing new starts until it can: %s",
			 err->msg);
	l->paused = l->pause_reported = true;
	run_retry(l, err);
}

void run_go_on(struct run_log *l)
{
	if (l->pause_reported)
		run_tell(l, "the journal can be written again");
	l->pause_reported = false;
	l->blocked_us = RUN_NEVER_US;
}

int run_blocked(struct run_log *l, bool runs, bool stopping, struct hes_err *err)
{
	const int64_t now = run_now_us(l->clock), most_us = stopping ? RUN_STOP_US : RUN_BLOCKED_US;

	if (l->blocked_us == RUN_NEVER_US)
		return 0;
	if (runs || l->blocked_us > now)
		l->blocked_us = now;
	if (now - l->blocked_us < most_us)
		return 0;
	return hes_fail(err, -ETIME,
			"given up, because for %.0f s nothing could go on: %s. What jobs did is "
			"kept: once that is corrected, the same command with --resume goes on",
			(double)(now - l->blocked_us) * 1e-6, l->why);
}
