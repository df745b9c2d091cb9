/*
 * work_folder.h - a temporary folder for a guard and its MPS daemons while a command measures.
 */
#ifndef HES_APP_WORK_FOLDER_H
#define HES_APP_WORK_FOLDER_H

#include <limits.h>

#include "app/app.h"

/**
 * Make heshare-NAME-XXXXXX below TMPDIR, or /tmp. Folders of that name that killed commands of this
 * user left are removed, where a guard has nothing on its list there.
 * @return 0; -ENAMETOOLONG, -errno
 */
int work_folder_make(const struct app *app, const char *name, char out[PATH_MAX],
		     struct hes_err *err);

/** Remove it, unless a guard's list is there: what could not be undone is for `heshare restore`. */
void work_folder_remove(const char *folder);

#endif
