/*
 * err.h - why a call failed, in a sentence a person can act on.
 *
 * Every fallible function returns 0 or a negative errno and, given a
 * struct hes_err, fills it. The struct is owned by the caller and left
 * untouched on success; NULL is allowed when only the code matters.
 *
 * Threads, for all headers of this folder. The library has no variables that change: a call touches what it is given.
 * So any number of threads may be in it at a time; several may read one object, and who changes one must be alone with
 * it. Where an object allows more or less its header says so (device.h, measure.h; store.h, journal.h, activity.h). Some
 * calls use threads of their own, which may then call what the caller passed; that is told there, too.
 *
 * What belongs to the process is the caller's to look after: the environment is read by what starts programs (mps.h,
 * report.h, profiler.h, run.h); hes_run_carry_out() takes signals.
 */
#ifndef HESHARE_ERR_H
#define HESHARE_ERR_H

#define HES_ERR_MAX 512

struct hes_err {
	int  code;              /* negative errno */
	char msg[HES_ERR_MAX];  /* one sentence, no newline; cut, never overrun */
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
