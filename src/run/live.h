/*
 * live.h - write the state of a run for others, live.json in its folder. hes_run_live_load() reads
 * it. A runner writes its own; the head of several nodes writes what theirs add up to.
 */
#ifndef HES_RUN_LIVE_H
#define HES_RUN_LIVE_H

#include <jansson.h>

#include "heshare/run.h"
#include "launch/job_files.h"

/** Replace the file. Not synced to the disk: after a crash the journal counts. */
void run_live_put(const struct hes_job_folder *folder, int64_t run, const struct hes_run_live *l);
/** A document of a run in its folder, which jobs may reach: no link is followed and no pipe waited
 * for. @return 0; -ENOENT none, or of another run; errors of hes_json_load() */
int run_live_document(const struct hes_run *run, const char *name, json_t **out,
		      struct hes_err *err);
/** The run is over, and the journal has all. Harmless where there is no file. */
void run_live_remove(const struct hes_job_folder *folder);

#endif
