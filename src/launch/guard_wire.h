/*
 * guard_wire.h - what program and guard say to one another: texts over a socket that keeps them apart.
 *
 *	program: "fresh FOLDER"   undo what is left there, then be the guard    guard: "ok CLOCKS LIMITS DAEMONS JOBS FAILED STUCK PID:STARTED ..."
 *	         "keep FOLDER"    as one that died: go on with its list                "ok"
 *	         "+ DUTY"         put on the list, "- DUTY" take off                   "ok"
 *	         "end"            undo what is left, and end                           "ok ..." as above
 *
 * or "no ERRNO SENTENCE".
 */
#ifndef HES_LAUNCH_GUARD_WIRE_H
#define HES_LAUNCH_GUARD_WIRE_H

#include <limits.h>
#include <stdbool.h>

#include "launch/guard.h"

#define HES_GUARD_TEXT_MAX (PATH_MAX + 16)

enum hes_guard_word {
	HES_GUARD_UNKNOWN,
	HES_GUARD_FRESH,
	HES_GUARD_KEEP,
	HES_GUARD_ADD,
	HES_GUARD_REMOVE,
	HES_GUARD_END,
};

/** What the program says. @param rest  the folder or the duty; written for the words that have one */
enum hes_guard_word hes_guard_word_read(const char *text, const char **rest);

/** What the guard answers when it has undone something. */
void hes_undone_write(const struct hes_undone *m, char out[HES_GUARD_TEXT_MAX]);
/** @return whether the answer lists what was undone, and nothing else; @out is written only then */
bool hes_undone_read(const char *answer, struct hes_undone *out);

/** @return 0 the guard has done it; why it has not; -EPROTO it is no answer */
int hes_guard_answer_read(const char *answer, struct hes_err *err);

#endif
