/*
 * runner.h - inside of src/run: a plan being carried out; who does what with it.
 *
 * run.c makes it and takes it apart, loop.c waits for what happens, start_jobs.c starts jobs, finish.c
 * says what becomes of those that ended, settings.c sets boards up and back, account.c splits their joules,
 * reconcile.c finds out what a runner before did. admit.c, verdict.c, fit_boards.c and words.c decide, and know nothing of it.
 */
#ifndef HES_RUN_RUNNER_H
#define HES_RUN_RUNNER_H

#include "heshare/measure.h"
#include "heshare/mps.h"
#include "heshare/run.h"
#include "launch/guard.h"
#include "launch/progress.h"
#include "run/admit.h"

#define RUN_TEXT_MAX 512
#define RUN_FILE_NAME_MAX (3 * HES_NAME_MAX + 32)
#define RUN_NEVER_US INT64_MAX
#define RUN_LOOK_US 2000000   /* between two looks at what jobs print */

enum run_task_state {
	TASK_WAITING,
	TASK_RUNNING,
	TASK_ENDED,    /* not judged yet */
	TASK_JUDGED,   /* the journal does not have it yet */
	TASK_DONE,
	TASK_FAILED,   /* given up */
};

enum run_ending {
	ENDING_OWN,      /* by itself */
	ENDING_TIMEOUT,  /* we ended it */
	ENDING_STOP,
	ENDING_LEFT,     /* by itself, and what it left running is being killed */
};

/** A job of the plan on this machine. */
struct run_task {
	const struct hes_job *job;
	const char *command;
	uint32_t    board;            /* of the runner */
	uint32_t    place;            /* in its queue */
	int64_t     planned_start_us, planned_end_us;
	uint64_t    planned_mj;
	enum run_task_state state;
	unsigned    tries;            /* attempts so far */
	unsigned    charged;          /* of them, failures of its own in this run's life */
	unsigned    falls;
	struct hes_attempt attempt;   /* the last */
	struct hes_child   child;
	struct hes_progress progress;
	unsigned    mps_daemon;       /* that it was started with: 1 is the GPU's first; 0: none */
	int64_t     told_us;          /* of the last progress; 0: none in this attempt */
	uint64_t    output_from;      /* bytes that earlier attempts have printed */
	int64_t     limit_us;         /* how long an attempt may take; RUN_NEVER_US: as long as it likes */
	int64_t     deadline_us, kill_us;
	int64_t     stuck_us;         /* when, being killed, it counts as one that cannot be; RUN_NEVER_US: it is not killed */
	bool        stuck;            /* it cannot be killed: its GPU is set aside until it ends */
	enum run_ending ending;
	struct hes_child_end end;
	int64_t     ended_us;
	enum hes_verdict verdict;     /* of the attempt, once judged */
	bool        over;             /* with the verdict: it is not tried again */
	bool        decided;          /* over is known, and was told */
	double      activity;         /* to split joules by */
	double      energy_j;         /* of all attempts in this life of the run */
	double      earlier_j;        /* of lives before */
	bool        energy_missing;
};

/** What a resident did in a segment: iterations between two of its lines. */
struct run_pace {
	uint32_t task;
	bool     seen;
	int64_t  first_us, last_us;
	uint64_t first, last;
};

/** A stretch of time with the same jobs and clock on a board. */
struct run_segment {
	int64_t  start_us, end_us;
	uint32_t clock_mhz;           /* asked for; 0: none */
	uint32_t n;
	struct run_pace paces[HES_MAX_SHARING];
	bool     has_energy;
	double   energy_j;
	double   seconds;             /* of the meter */
};

struct run_board {
	size_t      gpu;              /* of the fleet */
	size_t      device;
	struct hes_device_info info;
	struct run_queue queue;
	uint32_t    residents[HES_MAX_SHARING]; /* tasks */
	uint32_t    n_residents;
	bool        shares;           /* the plan wants MPS here */
	bool        mps_on;
	struct hes_mps mps;
	char        mps_dir[HES_MPS_PATH_MAX];
	bool        mps_refused;
	bool        mps_due;   /* is to be started before the next job */
	unsigned    mps_gone;         /* daemons so far that were gone or did not answer */
	uint32_t    clock_mhz;        /* locked; 0: not */
	bool        clock_refused;
	bool        clock_missed;     /* told once */
	int64_t     verify_us;        /* when to read the clock back */
	bool        lost;             /* off the bus: its jobs wait for --resume */
	unsigned    stuck;            /* jobs there that cannot be killed; nothing starts beside them */
	bool        closed;           /* set back: everything is over */
	/* Jobs that ran together when one of them failed, while nobody knows why. */
	bool        judging;
	int64_t     judge_until_us, judge_from_us;
	uint32_t    members[HES_MAX_SHARING];
	uint32_t    n_members;
	/* The meter's last word. */
	size_t      metered;          /* index in the meter */
	struct hes_measured last;
	double      busy_j, idle_j, busy_s;
	bool        energy_missing;   /* at present: since last */
	bool        lost_busy;        /* while it was, jobs were there */
	struct run_segment now;
	struct run_segment *segments;
	size_t      n_segments, room;
	struct hes_run_gpu before;    /* of lives before */
};

struct runner {
	const struct hes_run_request *q;
	struct hes_journal *journal;
	struct hes_run     *run;
	struct hes_guard   *guard;
	struct hes_job_folder folder; /* of the jobs' files */
	struct hes_meter   *meter;
	struct hes_window  *window;
	struct run_board   *boards;
	size_t              n_boards;
	struct run_task    *tasks;
	size_t              n_tasks;
	uint32_t           *ended;    /* tasks that ended and that the journal does not have yet */
	size_t              n_ended;
	struct hes_run_gpu *gpus;     /* as the journal has them, one a board */
	double              mono_s;   /* the clock when the run was at offset_us */
	int64_t             offset_us;
	int64_t             boot_us;  /* since the machine's start, when the run was at 0 (run_clock.c); RUN_NEVER_US: not known */
	bool                begun;    /* the first jobs were let go */
	int                 epoll, signals;
	struct hes_undone   mended;   /* what a run before had left */
	unsigned            stopping; /* signals that came */
	int64_t             retry_us; /* when what could not be done is tried again; RUN_NEVER_US: nothing waits */
	bool                held;     /* the journal could not be written: nothing starts until it is tried again */
	bool                hold_told;
	int64_t             look_us;
	int64_t             woken_us; /* when the loop was last told of something */
	size_t              done, failed, running;
	size_t              stuck;    /* of those that run: they cannot be killed */
	size_t              retried, felled, timeouts;
	bool                clocks_told, mps_told, start_told;
	double              planned_sum_us, took_sum_us; /* of jobs that are done */
	double              longest_gap_s;
};

/** Time of the run. */
int64_t run_now_us(const struct runner *r);
/** Tell the listener a sentence. */
void run_tell(const struct runner *r, const char *fmt, ...) HES_PRINTF(2, 3);
/** Write an act into the journal and tell the listener. */
int run_act(struct runner *r, const struct run_board *b, const struct run_task *t, struct hes_err *err, const char *fmt, ...)
	HES_PRINTF(5, 6);
const char *run_gpu_name(const struct runner *r, const struct run_board *b);
/** The journal could not be written: nothing starts until it can. */
void run_hold(struct runner *r, const struct hes_err *err);

/* run_clock.c */
/** Planned times begin with the first jobs of a new run, now. */
void run_begin_clock(struct runner *r);
/** A run goes on: its time is that since the machine's start where it has not been restarted, else the wall clock's, and never before the journal's last. */
int  run_resume_clock(struct runner *r, struct hes_err *err);
/** Time of the run at a moment by both clocks; @boot_us 0: not known. */
int64_t run_time_of(const struct runner *r, int64_t wall_us, int64_t boot_us);
/** Read when a run that is resumed began. */
void run_load_clock(struct runner *r);

/* loop.c */
int run_loop(struct runner *r, struct hes_err *err);
/** Watch a child that was let go. */
int run_watch(struct runner *r, struct run_task *t);

/* start_jobs.c */
/**
 * Start whatever may start. What cannot be started now is told and tried again.
 * @return whether a job could not be started at all: run_finish has work
 */
bool run_start(struct runner *r);
/** Names of a task's files in the run's folder. */
void run_output_name(const struct run_task *t, char out[RUN_FILE_NAME_MAX]);
void run_status_name(const char *job, uint32_t number, char out[RUN_FILE_NAME_MAX]);

/* finish.c */
/** Tasks whose process has ended are reaped, judged and written down. */
void run_finish(struct runner *r);
/** Boards of which everything is over are set back. */
void run_close_done(struct runner *r);
/** Take in the end of a task, if it has ended with all that it left running; else look again soon. */
void run_reap(struct runner *r, struct run_task *t);
/** A task was killed long ago and is still there: its GPU is set aside, the others go on. */
void run_set_aside(struct runner *r, struct run_task *t);
/** What all boards took so far, into the journal. */
int  run_keep_gpus(struct runner *r, struct hes_err *err);
/** Ask a task to end, or kill it when it was asked before. */
void run_end(struct runner *r, struct run_task *t, enum run_ending why);

/* settings.c */
/** After starts and ends: an open queue's board runs at the clock of those that are left. */
void run_settle_clocks(struct runner *r);
/** Start MPS where the plan shares. Without it the run goes on. */
void run_open_boards(struct runner *r);
/** The clock for what runs there; 0: none is to be set. */
uint32_t run_clock_wanted(const struct run_board *b);
void run_set_clock(struct runner *r, struct run_board *b, uint32_t mhz);
/** Read the clock back, when it is due. */
void run_verify_clock(struct runner *r, struct run_board *b);
/** Set the board back: clock, MPS. */
void run_close_board(struct runner *r, struct run_board *b);
/** See to MPS after something failed: a daemon that is gone is started again. */
void run_revive_mps(struct runner *r, struct run_board *b);
/** Start the daemons that are due; a journal that cannot be written holds the run, and they stay due. */
void run_start_mps(struct runner *r);

/* account.c */
int  run_meter_start(struct runner *r, struct hes_err *err);
/** What the board took until now goes to those who were there; call before they, or its clock, change. */
void run_account(struct runner *r, struct run_board *b);
/** Residents or clock have changed. */
void run_segment_begin(struct runner *r, struct run_board *b);
/** Read what a task printed. */
void run_look(struct runner *r, struct run_task *t);
double run_activity(const struct runner *r, const struct run_board *b, const struct hes_job *job, uint32_t sm_pct, uint32_t clock_mhz);

/* lessons.c */
int run_samples(const struct runner *r, struct hes_samples *out, struct hes_err *err);

/* reconcile.c */
/** What the journal and the files know of the run's jobs. */
int run_reconcile(struct runner *r, struct hes_err *err);

/* outcome.c */
int run_report(struct runner *r, struct hes_run_report *out, struct hes_err *err);

#endif
