/*
 * work_folder.c - make and remove temporary folders; see work_folder.h.
 */
#include "app/work_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define YOUNG_S 60 /* one that was just made has no list yet */

static int entry_remove(const char *path, const struct stat *st, int what, struct FTW *at)
{
	(void)st;
	(void)what;
	(void)at;
	return remove(path);
}

void work_folder_remove(const char *folder)
{
	char list[PATH_MAX + 16];

	snprintf(list, sizeof(list), "%s/guard.list", folder);
	if (access(list, F_OK))
		nftw(folder, entry_remove, 8, FTW_DEPTH | FTW_PHYS);
}

/* What commands that were killed have left. */
static void work_folders_sweep(const char *above, const char *start)
{
	DIR *d = opendir(above);
	char folder[PATH_MAX];
	const struct dirent *e;
	struct stat st;

	while (d && (e = readdir(d)))
		if (strncmp(e->d_name, start, strlen(start)) == 0 &&
		    strlen(e->d_name) == strlen(start) + 6 &&
		    !fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
		    st.st_mtime + YOUNG_S < time(NULL) &&
		    snprintf(folder, sizeof(folder), "%s/%s", above, e->d_name) < PATH_MAX)
			work_folder_remove(folder);
	if (d)
		closedir(d);
}

int work_folder_make(const struct app *app, const char *name, char out[PATH_MAX],
		     struct hes_err *err)
{
	const char *tmp = app_variable(app, "TMPDIR");
	char start[64];

	tmp = tmp && *tmp ? tmp : "/tmp";
	snprintf(start, sizeof(start), "heshare-%s-", name);
	work_folders_sweep(tmp, start);
	errno = ENAMETOOLONG;
	if (snprintf(out, PATH_MAX, "%s/%sXXXXXX", tmp, start) < PATH_MAX && mkdtemp(out))
		return 0;
	out[0] = '\0';
	return hes_fail(err, -errno, "%s: no folder can be made there: %s", tmp, strerror(errno));
}
