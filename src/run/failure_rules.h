/*
 * failure_rules.h - decide why jobs failed: by their own fault, or because a co-runner failed; and
 * whether a job that ended with 0 has done its work. Pure.
 *
 * The MPS clients of a GPU share a server: a fault of one ends all, and no error code names it. A
 * job that fails while others go on failed by itself. A job whose output says that it lost the MPS
 * server did not. If several fail together and one alone was killed by a signal, that one is to
 * blame. A job that got no memory, or no place among the clients of MPS, ended no co-runner. Else
 * the first to end is a suspect: it is tried again alone, where a failure is its own and a success
 * clears it.
 */
#ifndef HES_RUN_FAILURE_RULES_H
#define HES_RUN_FAILURE_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUN_MAX_CO_FAILURES \
	16 /* after so many failures because of co-runners, the next one is its own */

/** What a job that failed did not get, by its last words. */
enum run_lack { RUN_LACK_NONE, RUN_LACK_MEMORY, RUN_LACK_CLIENTS };

/** What was seen of one job that ran with others behind MPS. */
struct run_seen {
	bool failed;   /* it ended badly, and not because we ended it; else it still runs, or ended
			  well */
	bool orphaned; /* failed: its last words tell of MPS that was gone (run_tells_of_mps) */
	enum run_lack lack; /* failed: see run_tells_of_lack() */
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

/** Whether what a job printed last says that it got no GPU memory, or was one client too many for
 * MPS. @progress  pattern of its progress lines; NULL: none */
enum run_lack run_tells_of_lack(const char *text, const char *progress);

/** What a job took of a GPU that it shared. */
struct run_use {
	uint32_t limit_mib; /* memory that it may use; 0: no limit */
	uint32_t most_mib;  /* most that all its processes together were seen to use; where that is
			       not known, what is planned */
	uint32_t contexts;  /* most that all its processes together were seen to have */
};

/**
 * Find the job that took what another did not get: memory or a place among the clients of MPS.
 * @param v  jobs that ran together; @failed is the one that lacked @lack
 * @return its index; @failed: it reached a limit of its own; -1: each job kept to its limit, and
 * the GPU had too little for all
 */
long run_find_taker(const struct run_use *v, size_t n, size_t failed, enum run_lack lack,
		    uint32_t gpu_mib);

/**
 * Judge jobs that ran together when the first of them failed.
 * @param waited  no more will be seen: as long as is reasonable was waited
 * @param out     one a job; written only when judged
 * @return whether enough was seen
 */
bool run_judge(const struct run_seen *v, size_t n, bool waited, enum run_blame *out);

/** What was seen of a job that ended with exit status 0. Times are from its start. */
struct run_work_seen {
	bool known;                  /* it printed progress lines: the next three are valid */
	bool several;                /* at least two */
	uint64_t iterations;         /* of the last line of this attempt */
	uint64_t step;               /* most iterations from one line to the next */
	uint64_t wanted;             /* iterations of the job */
	int64_t took_us, planned_us; /* planned_us 0: not known */
	unsigned left;               /* processes that it left running, which were killed */
	size_t outside;              /* contexts on its GPU that began after it, of no job */
};

enum run_work {
	RUN_WORK_DONE,
	RUN_WORK_UNSEEN, /* much faster than planned, and it printed no progress */
	RUN_WORK_EARLY,  /* not all of it was done */
};

/**
 * Judge a job that ended with 0. A job may be faster than planned: its progress lines count, if it
 * prints any. Lines need not come at the end: the iterations from one line to the next, and half as
 * many for a job that got faster, may follow the last one. Without lines only an end in less than a
 * tenth of the planned time is early, or in less than a third while its work may go on outside.
 * @param why  a phrase that says what was seen, unless RUN_WORK_DONE
 */
enum run_work run_judge_work(const struct run_work_seen *s, char *why, size_t size);

#endif
