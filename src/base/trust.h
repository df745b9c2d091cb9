/*
 * trust.h - whether other users can write or replace a file.
 *
 * Root and one user are trusted. A file is theirs if they own it, with every folder and link that
 * leads to it, and no other user may write these. A folder that others may write and that is
 * sticky, such as /tmp, keeps what is in it: no other user can rename or remove it.
 */
#ifndef HES_BASE_TRUST_H
#define HES_BASE_TRUST_H

#include <limits.h>
#include <sys/types.h>

#include "heshare/err.h"

/**
 * Whether no user but root and @user can write or replace the file or folder @path.
 * A group may write if it has the name of @user, who is not root, is that user's own, and has no
 * other member.
 * @param real  its name without links; may be NULL
 * @return 0; -EPERM another user can; -ENOENT, -errno it cannot be looked at
 */
int hes_trust_check(const char *path, uid_t user, char real[PATH_MAX], struct hes_err *err);

/** The same of a folder in which others may make files, but replace none: @path may be sticky. */
int hes_trust_check_shared(const char *path, uid_t user, struct hes_err *err);

#endif
