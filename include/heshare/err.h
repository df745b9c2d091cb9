/*
 * err.h - why a call failed, in a sentence a person can act on.
 *
 * Every fallible function returns 0 or a negative errno and, given a
 * struct hes_err, fills it. The struct is owned by the caller and left
 * untouched on success; NULL is allowed when only the code matters.
 *
 * Threads, for all headers of this folder: the library has no global state. Any number of threads
 * may call it. Several threads may read one object; a thread that changes an object must be the
 * only one that uses it. Exceptions are in the headers (device.h, measure.h; store.h, journal.h,
 * activity.h). Calls that run callbacks in other threads say so.
 *
 * Process-wide state: functions that start programs read the environment (mps.h, report.h,
 * profiler.h, run.h), and hes_run_carry_out() handles signals.
 */
#ifndef HESHARE_ERR_H
#define HESHARE_ERR_H

#define HES_ERR_MAX 512

struct hes_err {
	int code;              /* negative errno */
	char msg[HES_ERR_MAX]; /* one sentence, no newline; cut, never overrun */
};

#if defined(__GNUC__)
#define HES_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define HES_PRINTF(fmt, args)
#endif

/** Fill @err and return @code, so that a failure is one statement. */
int hes_fail(struct hes_err *err, int code, const char *fmt, ...) HES_PRINTF(3, 4);

/**
 * Put context before a message that is already there ("plan.json: ...").
 * @return err->code, or -EINVAL when @err is NULL
 */
int hes_fail_in(struct hes_err *err, const char *fmt, ...) HES_PRINTF(2, 3);

#endif
