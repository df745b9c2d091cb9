/*
 * run_folder.c - name and make the folders of a run; see run_folder.h.
 */
#include "app/run_folder.h"

#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/trust.h"
#include "heshare/job.h"
#include "launch/job_files.h"

/* of a file name, in addition to the job's name: "/.JOB.4294967295.status" */
#define FILE_ROOM 32
#define SOCKET_ROOM \
	80 /* of a socket's name: that of a folder for MPS, which adds "/63/pipe/control" */

/* Nothing is made in a folder that other users could replace, nor below one. */
static int check_folder(const char *name, struct hes_err *err)
{
	char *real = realpath(name, NULL), *above = real ? NULL : strdup(name);
	struct hes_job_folder f = { .fd = -1 };
	int rc;

	if (above)
		real = realpath(dirname(above), NULL);
	rc = real ? hes_job_folder_open(&f, real, err)
		  : hes_fail(err, -errno, "%s: %s", name, strerror(errno));
	if (!rc && !above)
		rc = hes_job_folder_check(&f, err);
	else if (!rc)
		rc = hes_job_folder_check_above(&f, err);
	hes_job_folder_close(&f);
	free(above);
	free(real);
	return rc;
}

int run_folder_choose(const char *named, const char *plan, bool others,
		      char out[HES_JOURNAL_PATH_MAX], bool *made, struct hes_err *err)
{
	static const char *const ends[] = { ".json", ".csv", ".csv.gz", ".yaml", ".yml" };
	size_t len = strlen(plan);
	char name[PATH_MAX], *real;
	int rc;

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (len > strlen(ends[i]) && strcmp(plan + len - strlen(ends[i]), ends[i]) == 0) {
			len -= strlen(ends[i]);
			break;
		}

	if (named)
		snprintf(name, sizeof(name), "%s", named);
	else
		snprintf(name, sizeof(name), "%.*s.run", (int)len, plan);
	rc = others ? check_folder(name, err) : 0;
	if (made)
		*made = access(name, F_OK) != 0;
	if (!rc)
		rc = hes_folder_create(name, err);
	if (rc)
		return rc;
	real = realpath(name, NULL);
	if (!real || strlen(real) >= HES_JOURNAL_PATH_MAX - HES_NAME_MAX * 3 - FILE_ROOM)
		rc = hes_fail(err, real ? -ENAMETOOLONG : -errno, "%s: %s", name,
			      real ? "too long a name" : strerror(errno));
	else
		strcpy(out, real);
	/* Once more: what was checked above may have been replaced before it was root's alone. */
	if (!rc && others)
		rc = check_folder(real, err);
	free(real);
	return rc;
}

/* In the run's folder; in /tmp where that is too deep for a socket's name, may be closed to a job's
 * user, or others could replace it: the daemon would write where they want. */
int run_folder_choose_mps(const char *folder, bool others, char out[PATH_MAX], struct hes_err *err)
{
	struct stat st;

	if (strlen(folder) + strlen("/mps") <= SOCKET_ROOM && !others &&
	    !hes_trust_check(folder, geteuid(), NULL, NULL))
		snprintf(out, PATH_MAX, "%s/mps", folder);
	else
		snprintf(out, PATH_MAX, "/tmp/heshare-%u-%016" PRIx64, (unsigned)geteuid(),
			 hes_hash_text(HES_HASH_START, folder));
	if (mkdir(out, 0755) && errno != EEXIST)
		return hes_fail(err, -errno, "%s: %s", out, strerror(errno));
	if (lstat(out, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return hes_fail(err, -EPERM, "%s: not a folder of this user; remove it", out);
	/* Whatever our umask is. */
	if (chmod(out, 0755))
		return hes_fail(err, -errno, "%s: %s", out, strerror(errno));
	return 0;
}
