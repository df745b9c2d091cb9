/*
 * live.h - replace live.json in a run's folder.
 */
#ifndef HES_RUN_LIVE_H
#define HES_RUN_LIVE_H

#include <jansson.h>

#include "launch/job_files.h"

/** Replace it by @doc, which is released; NULL: leave it. Not synced to the disk: after a crash the
 * journal counts. */
void run_live_put(const struct hes_job_folder *folder, json_t *doc);

#endif
