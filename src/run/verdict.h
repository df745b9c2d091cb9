/*
 * verdict.h - why jobs ended: by their own fault, or because a neighbour felled them. Pure.
 *
 * Behind MPS all clients of a board share a server: a fault of one ends all, and no error code tells
 * whose it was. What is seen: which jobs of those that ran together ended badly, how and in
 * which order, and whether those that still run show that they live. A job that failed while others
 * went on failed by itself. One that says that it lost its server did not. Of several that failed
 * together one is to blame if it alone was killed by a signal; else nobody is yet: the first to end
 * becomes a suspect and is tried again with the board to itself, where a failure is its own and a
 * success clears it. The others are tried again as before.
 */
#ifndef HES_RUN_VERDICT_H
#define HES_RUN_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUN_MAX_FALLS 16 /* so often a job may fall with others before it counts as its own failure */

/** What was seen of one job that ran with others behind MPS. */
struct run_seen {
	bool     failed;     /* it ended badly, and not because we ended it; else it still runs, or ended well */
	bool     orphaned;   /* failed: its last words tell of MPS that was gone (run_tells_of_mps) */
	bool     lives;      /* not failed: it ended well, or told of progress after the first failure */
	int      signal;     /* that ended it; 0: none */
	int      code;       /* as shells tell it */
	int64_t  end_us;     /* order of ends */
	unsigned falls;      /* how often it has fallen with others so far */
};

enum run_blame {
	RUN_BLAME_NONE,      /* it did not fail */
	RUN_BLAME_OWN,       /* its own failure: charged */
	RUN_BLAME_FELL,      /* felled: tried again, not charged */
	RUN_BLAME_SUSPECT,   /* the same, and with the board to itself */
};

/** Whether what a job printed last names an error of CUDA that says: the MPS server or daemon is gone. */
bool run_tells_of_mps(const char *text);

/**
 * Judge jobs that ran together when the first of them failed.
 * @param waited  no more will be seen: as long as is reasonable was waited
 * @param out     one a job; written only when judged
 * @return whether enough was seen
 */
bool run_judge(const struct run_seen *v, size_t n, bool waited, enum run_blame *out);

#endif
