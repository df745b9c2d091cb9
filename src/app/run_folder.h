/*
 * run_folder.h - the folder for the output of jobs, and the folder for the sockets of MPS.
 */
#ifndef HES_APP_RUN_FOLDER_H
#define HES_APP_RUN_FOLDER_H

#include <limits.h>
#include <stdbool.h>

#include "heshare/journal.h"

/**
 * The run's folder, made if it is not there.
 * @param named   by name; NULL: the name of the plan or jobs file with .run in place of .json or
 * .csv. May be @out
 * @param others  root starts jobs of other users: only a folder that root alone can write and
 * replace will do
 * @param out     its name without links
 * @param made    whether it was not there; may be NULL
 * @return 0; -EPERM others could replace it; -ENAMETOOLONG; -errno
 */
int run_folder_choose(const char *named, const char *plan, bool others,
		      char out[HES_JOURNAL_PATH_MAX], bool *made, struct hes_err *err);

/** A folder for MPS, with a name that is short enough for sockets, the same for every try. @return
 * as run_folder_choose() */
int run_folder_choose_mps(const char *folder, bool others, char out[PATH_MAX], struct hes_err *err);

#endif
