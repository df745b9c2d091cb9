/*
 * run_gpu.h - the GPUs of a run: the data that its mechanisms share. Each sub-struct has one owner:
 * the file named with it changes it, the others read it.
 */
#ifndef HES_RUN_RUN_GPU_H
#define HES_RUN_RUN_GPU_H

#include "heshare/attribute.h"
#include "heshare/fleet.h"
#include "heshare/measure.h"
#include "heshare/mps.h"
#include "heshare/run.h"
#include "launch/contexts.h"
#include "launch/guard.h"
#include "run/run_task.h"
#include "run/work_count.h"

/* Progress of a job within a segment: iterations between two of its lines. */
struct run_rate {
	const struct run_task *task;
	struct run_count from; /* when the segment began */
	bool seen;
	bool learnt;               /* there is a sample of it */
	int64_t first_us, last_us; /* when they were read */
	double first_s, last_s;    /* what they say; NaN: nothing */
	uint64_t first, last;
};

/* A stretch of time with the same jobs and clock on a GPU. */
struct run_segment {
	int64_t start_us, end_us;
	uint32_t clock_mhz; /* set; 0: none */
	bool tried;         /* an experiment */
	bool settled;       /* all jobs make progress */
	uint32_t n;
	struct run_rate rates[HES_MAX_SHARING];
	bool has_energy;
	double energy_j;
	double seconds; /* of the meter */
};

/* account.c */
struct run_energy {
	size_t metered; /* index in the meter */
	struct hes_measured last;
	double busy_j, idle_j, busy_s;
	double meter_j; /* since this process began: busy and idle */
	bool missing;   /* no reading since last */
	bool lost_busy; /* jobs ran meanwhile */
	struct run_segment now;
	struct run_segment *segments;
	size_t n_segments;
};

/* settings.c */
struct run_lock {
	uint32_t mhz; /* locked; 0: not */
	bool refused;
	bool missed;       /* the GPU has another clock; reported */
	bool untried;      /* one would have been tried (job_clock.c), but cannot be set */
	bool foreign;      /* the same, where this run has locked none */
	uint32_t low_mhz;  /* of the last look, without a lock and below the plan's clock */
	int64_t verify_us; /* when to read the clock back */
};

/* settings.c */
struct run_mps {
	bool wanted; /* the plan shares this GPU, */
	bool open;   /* or jobs that run alone are its clients, so that others can join them */
	bool on;
	bool refused;
	bool due;  /* to be started before the next job */
	bool late; /* wanted since jobs were added: starts when jobs that run without it have ended
		    */
	struct hes_mps daemon;
	char folder[HES_MPS_PATH_MAX];
	unsigned gone; /* daemons that ended or did not answer */
};

/* children.c: jobs that ran together when one of them failed, while the cause is not known. */
struct run_failure {
	bool open;
	int64_t from_us, until_us;
	struct run_task *v[HES_MAX_SHARING];
	uint32_t n;
};

/* hold.c: the jobs that ran on when others were held. */
struct run_watch {
	int64_t from_us, until_us; /* until_us 0: nothing is watched */
	int64_t look_us, begun_us; /* when the first was being stopped */
	bool has_activity, active; /* of the GPU: whether it was read, and ever seen at work */
	uint32_t n;
	struct {
		const struct run_task *task;
		struct run_count from;
		double before_per_s; /* its progress lines or launches a second; 0: not known */
		double quiet_s;      /* without one when the other was held; 0: not known */
		bool at_work;
	} v[HES_MAX_SHARING];
	/* One that seems to stall: whether it works again when the others go on. */
	const struct run_task *stalled; /* NULL: none */
	struct run_count stalled_at;
	bool stalled_before; /* it had paused when the other was held */
	int64_t confirm_us;  /* until then */
};

enum run_set_state {
	RUN_SET_NONE,    /* one job, or none */
	RUN_SET_NEW,     /* its members are looked at next */
	RUN_SET_ALONE,   /* a member is measured alone */
	RUN_SET_WATCHED, /* it is measured */
	RUN_SET_KEPT,
	RUN_SET_FLOOR,    /* a member has a floor: others are held while it is below */
	RUN_SET_SEPARATE, /* a member is held until the others have ended */
};

/* job_set.c: the jobs that share the GPU. */
struct run_set {
	enum run_set_state state;
	bool invited; /* it is an experiment: a job was let in without evidence */
	uint32_t n;
	const struct run_task *v[HES_MAX_SHARING];
	struct run_task *alone;
	int64_t held_us; /* since when the others are held for it; 0: they are not */
	int64_t attempts[HES_MAX_SHARING];
	double work; /* of the set before it, as turns at a time; 0: one job, or not known */
	int64_t from_us;
	int64_t again_us, wait_us; /* job_floor.c: when a held job is tried again, and the wait */
};

struct run_gpu {
	const struct hes_gpu *planned; /* of the fleet */
	size_t device;
	struct hes_device_info info;
	struct run_queue queue;
	double planned_most_w;  /* with a power cap: highest sum of the activities that the plan has
				   at a time */
	struct hes_run_gpu row; /* what was planned, as the journal has it */
	struct hes_run_gpu before;                 /* what earlier lives of the run measured */
	struct run_task *running[HES_MAX_SHARING]; /* n_running that run, then n_held */
	uint32_t n_running, n_held;
	bool exclusive; /* it takes one process at a time, or one MPS server */
	struct run_lock lock;
	struct run_mps mps;
	struct run_failure failure;
	struct run_watch watch;
	struct run_set set;
	double experiment_s; /* what the one that goes on may cost; learner.c */
	struct run_energy energy;
	struct hes_contexts contexts; /* gpu_memory.c: of the last look, since jobs last left */
	bool lost;                    /* cannot be used: its jobs move, or wait for --resume */
	bool unmoved_reported;        /* why its jobs do not move; lost_gpus.c */
	bool emptied;   /* it cannot be used, and its jobs were planned again; plan_again.c */
	bool absent;    /* lost from the start of this process, which has no device for it */
	unsigned stuck; /* jobs there that are killed and do not end; nothing starts there */
	bool closed;    /* all jobs are over, the GPU is restored */
};

/** All GPUs of a run, in the order of the fleet. */
struct run_gpus {
	struct run_gpu *v;
	size_t n;
	const struct hes_devices *devices;
	const struct hes_fleet *fleet; /* of the plan: other machines' GPUs, too */
};

static inline size_t run_fleet_index(const struct run_gpus *gs, const struct run_gpu *g)
{
	return (size_t)(g->planned - gs->fleet->gpus);
}

/** Whether jobs may start there. */
static inline bool run_gpu_is_usable(const struct run_gpu *g)
{
	return !g->lost && !g->stuck;
}

/** How many jobs have processes there: they run or are held. */
static inline uint32_t run_gpu_started(const struct run_gpu *g)
{
	return g->n_running + g->n_held;
}

static inline const char *run_gpu_name(const struct run_gpu *g)
{
	return g->planned->name;
}

#endif
