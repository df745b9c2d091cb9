/*
 * live.h - write the state of a run for others, live.json in its folder. hes_run_live_load() reads
 * it. A runner writes its own; the head of several nodes writes what theirs add up to.
 */
#ifndef HES_RUN_LIVE_H
#define HES_RUN_LIVE_H

#include <jansson.h>

#include "heshare/run.h"
#include "run/account.h"
#include "run/run_log.h"

/** Where the state of this runner is read from. */
struct run_live_of {
	const struct run_log *log;
	const struct run_tasks *tasks;
	const struct run_gpus *gpus;
	const struct run_meter *meter;
	bool plans_again; /* then plans know what was late */
};

/** Time that the run still takes, by the plan and by how it went so far, us; 0: not known, as with
 * unknown jobs. */
int64_t run_left_us(const struct run_live_of *x, int64_t now);
/** Write live.json, which `heshare status` reads, as the run is at @now. */
void run_live_write(const struct run_live_of *x, int64_t now);

/** Replace the file. Not synced to the disk: after a crash the journal counts. */
void run_live_put(const struct hes_job_folder *folder, int64_t run, const struct hes_run_live *l);
/** A document of a run in its folder, which jobs may reach: no link is followed and no pipe waited
 * for. @return 0; -ENOENT none, or of another run; errors of hes_json_load() */
int run_live_document(const struct hes_run *run, const char *name, json_t **out,
		      struct hes_err *err);
/** The run is over, and the journal has all. Harmless where there is no file. */
void run_live_remove(const struct hes_job_folder *folder);

#endif
