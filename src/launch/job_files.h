/*
 * job_files.h - files that jobs can reach: outputs and statuses in a run's folder.
 *
 * A job may put anything in place of its files, and of the folder where it may write. So the folder is held by a
 * descriptor, names are opened beneath it and never through a link, no open waits, and what is no plain file is refused.
 */
#ifndef HES_LAUNCH_JOB_FILES_H
#define HES_LAUNCH_JOB_FILES_H

#include <limits.h>
#include <sys/types.h>

#include "heshare/err.h"

/** A folder that is held. */
struct hes_job_folder {
	int  fd;  /* -1: none */
	char path[PATH_MAX];
};

/** Whose a new file is. */
struct hes_owner {
	uid_t uid;
	gid_t gid;
};

/** @return 0; -ENOENT, -ENOTDIR, -ELOOP the last part of @path is a link */
int hes_job_folder_open(struct hes_job_folder *out, const char *path, struct hes_err *err);
/** Harmless on none. */
void hes_job_folder_close(struct hes_job_folder *f);

/**
 * Whether root alone can write the folder and replace it: it and all above it are root's and closed to others, but for
 * sticky folders above it (/tmp). Root starts jobs of other users in no other.
 * @return 0; -EPERM, @err names the folder that is not so
 */
int hes_job_folder_check(const struct hes_job_folder *f, struct hes_err *err);
/** As hes_job_folder_check for a folder that is to be made in @f, which may be sticky. */
int hes_job_folder_check_above(const struct hes_job_folder *f, struct hes_err *err);

/**
 * Open the plain file @name to read.
 * @param f     beneath it, and @name has no "/"; NULL: @name is a path
 * @return the descriptor; -ENOENT; -EINVAL it is no plain file
 */
int hes_job_file_read(const struct hes_job_folder *f, const char *name, struct hes_err *err);

/**
 * Open the plain file @name to append to; made if it is not there.
 * @param owner  whose it is to be, with mode 644; another's file is refused. NULL: ourselves and our umask
 * @return the descriptor; -EINVAL it is no plain file; -EPERM another's
 */
int hes_job_file_append(const struct hes_job_folder *f, const char *name, const struct hes_owner *owner, struct hes_err *err);

/** Make the file @name, which must not be there, to write. @return the descriptor; -EEXIST */
int hes_job_file_make(const struct hes_job_folder *f, const char *name, const struct hes_owner *owner, struct hes_err *err);

#endif
