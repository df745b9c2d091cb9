/*
 * guard_wire.h - the messages of program and guard, over a socket that keeps message boundaries.
 *
 *	program: "fresh FOLDER"  undo what an earlier run left, then guard   guard: "ok CLOCKS
 *LIMITS DAEMONS JOBS FAILED STUCK PID:STARTED ..." "keep FOLDER"   replace a guard that died: keep
 *its log            "ok"
 *	         "+ ENTRY"       register an undo entry; "- ENTRY" remove it        "ok"
 *	         "end"           undo what is left, and end                         "ok ..." as
 *above
 *
 * The guard's other answer is "no ERRNO SENTENCE".
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

/** The word of a message. @param rest  folder or entry; written for words that have one */
enum hes_guard_word hes_guard_word_read(const char *text, const char **rest);

/** Write the answer to "fresh" and "end". */
void hes_undone_write(const struct hes_undone *m, char out[HES_GUARD_TEXT_MAX]);
/** Read that answer. @return whether it is complete and correct; @out is written only then */
bool hes_undone_read(const char *answer, struct hes_undone *out);

/** @return 0 "ok"; the guard's error; -EPROTO it is no answer */
int hes_guard_answer_read(const char *answer, struct hes_err *err);

#endif
