/*
 * verdict.h - decide why jobs failed: by their own fault, or because a co-runner failed. Pure.
 *
 * The MPS clients of a GPU share a server: a fault of one ends all, and no error code names it. A
 * job that fails while others go on failed by itself. A job whose output says that it lost the MPS
 * server did not. If several fail together and one alone was killed by a signal, that one is to
 * blame. Else the first to end is a suspect: it is tried again alone, where a failure is its own
 * and a success clears it.
 */
#ifndef HES_RUN_VERDICT_H
#define HES_RUN_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUN_MAX_CO_FAILURES \
	16 /* after so many failures because of co-runners, the next one is its own */

/** What was seen of one job that ran with others behind MPS. */
struct run_seen {
	bool failed;    /* it ended badly, and not because we ended it; else it still runs, or ended
			   well */
	bool orphaned;  /* failed: its last words tell of MPS that was gone (run_tells_of_mps) */
	bool lives;     /* not failed: it ended well, or made progress after the first failure */
	int signal;     /* that ended it; 0: none */
	int code;       /* as shells tell it */
	int64_t end_us; /* order of ends */
	unsigned co_failures; /* how often it failed so because of a co-runner */
};

enum run_blame {
	RUN_BLAME_NONE,      /* it did not fail */
	RUN_BLAME_OWN,       /* its own failure: charged */
	RUN_BLAME_CO_FAILED, /* a co-runner took the MPS server down: tried again, not charged */
	RUN_BLAME_SUSPECT,   /* the same, and with the GPU to itself */
};

/** Whether what a job printed last names an error of CUDA that says: the MPS server or daemon is
 * gone. */
bool run_tells_of_mps(const char *text);

/**
 * Judge jobs that ran together when the first of them failed.
 * @param waited  no more will be seen: as long as is reasonable was waited
 * @param out     one a job; written only when judged
 * @return whether enough was seen
 */
bool run_judge(const struct run_seen *v, size_t n, bool waited, enum run_blame *out);

#endif
