/*
 * run_identity.h - which plan a run carries out, for which users, whether its process lives, and
 * its folders: for the output of jobs, and for the sockets of MPS.
 */
#ifndef HES_APP_RUN_IDENTITY_H
#define HES_APP_RUN_IDENTITY_H

#include <limits.h>
#include <stdbool.h>

#include "app/app.h"
#include "heshare/journal.h"

/** Whether the process that carries out a run lives on this machine. */
bool run_is_alive(const struct hes_run *run);

#define RUN_HEAD_LOCK "head.lock" /* in the folder of a run on several nodes */
/** Whether a head of several nodes carries out a run. */
bool run_is_on_nodes(const struct hes_run *run);

/** A hash that names the plan in a file, on a node, in the journal. @param node  NULL: all nodes */
int run_plan_key(const char *path, const char *node, uint64_t *out, struct hes_err *err);
/** The same of a round: two rounds may have the same plan, in files of different names. */
int run_round_key(const char *path, uint64_t *out, struct hes_err *err);
/** That of a node's part of a round. */
uint64_t run_part_key(uint64_t round, const char *node);

/** The name of a plan's file for all folders: absolute where it can be. */
void run_plan_path(const char *path, char out[HES_JOURNAL_PATH_MAX]);
/** The same without folders, for messages. */
const char *run_plan_name(const struct hes_run *run);

/** With sudo, which clocks may need, jobs run as the user who called sudo. @return NULL: as this
 * user */
const char *run_user_behind_sudo(const struct app *app);

/** @return NULL: this user has no name here */
const char *run_own_name(void);

/** Who may start jobs of others. @return 0; -EPERM */
int run_users_check(const struct hes_jobs *jobs, struct hes_err *err);

/** Whether root starts jobs of other users. @param user  as whom jobs without a user of their own
 * run; NULL: as this one */
bool run_has_other_users(const struct hes_jobs *jobs, const char *user);

/** The number of a run, as a person writes it. @return 0; -EINVAL */
int run_parse_id(const char *text, int64_t *out, struct hes_err *err);

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
