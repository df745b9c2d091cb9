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

#define HES_GUARD_TEXT_MAX (PATH_MAX + 16)

#endif
