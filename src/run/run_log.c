/*
 * run_log.c - the journal and the listener of a run; see run_log.h.
 */
#include "run/run_log.h"

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

void run_retry(struct run_log *l)
{
	l->retry_us = run_now_us(l->clock) + RUN_RETRY_US;
}

void run_hold(struct run_log *l, const struct hes_err *err)
{
	if (!l->hold_reported)
		run_tell(l, "the journal cannot be written, so nothing new starts until it can: %s",
			 err->msg);
	l->held = l->hold_reported = true;
	run_retry(l);
}
