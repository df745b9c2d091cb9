/*
 * job_files.h - files that jobs can reach: outputs and statuses in a run's folder.
 *
 * A job may replace its files, and a folder that it can write. So the folder is held open, names
 * are opened below it and never through a link, no open blocks, and only plain files are accepted.
 */
#ifndef HES_LAUNCH_JOB_FILES_H
#define HES_LAUNCH_JOB_FILES_H

#include <limits.h>
#include <sys/types.h>

#include "heshare/err.h"

/** An open folder. */
struct hes_job_folder {
	int fd; /* -1: none */
	char path[PATH_MAX];
};

/** The owner of a new file. */
struct hes_owner {
	uid_t uid;
	gid_t gid;
};

/** @return 0; -ENOENT, -ENOTDIR, -ELOOP the last part of @path is a link */
int hes_job_folder_open(struct hes_job_folder *out, const char *path, struct hes_err *err);
/** Harmless on a folder that is not open. */
void hes_job_folder_close(struct hes_job_folder *f);

/**
 * Whether only root can write and replace the folder: root owns it and all folders above it, and no
 * other user may write them; folders above it may be sticky (/tmp). Root starts jobs of other users
 * in no other folder.
 * @return 0; -EPERM, @err names the folder that fails
 */
int hes_job_folder_check(const struct hes_job_folder *f, struct hes_err *err);
/** As hes_job_folder_check(), for a folder that will be made in @f; @f may be sticky. */
int hes_job_folder_check_above(const struct hes_job_folder *f, struct hes_err *err);

/**
 * Open the plain file @name to read.
 * @param f     the folder of @name, which has no "/"; NULL: @name is a path
 * @return the descriptor; -ENOENT; -EINVAL not a plain file
 */
int hes_job_file_read(const struct hes_job_folder *f, const char *name, struct hes_err *err);

/**
 * Open the plain file @name to append; make it if it is not there.
 * @param owner  owner of the file, with mode 644; another owner's file is refused. NULL: ourselves,
 * with our umask
 * @return the descriptor; -EINVAL not a plain file; -EPERM another owner's
 */
int hes_job_file_append(const struct hes_job_folder *f, const char *name,
			const struct hes_owner *owner, struct hes_err *err);

/** Make a new file @name to write. @return the descriptor; -EEXIST */
int hes_job_file_make(const struct hes_job_folder *f, const char *name,
		      const struct hes_owner *owner, struct hes_err *err);

#endif
