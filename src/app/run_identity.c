/*
 * run_identity.c - which plan a run carries out, whether its process lives, and its folders; see
 * run_identity.h.
 */
#include "app/run_identity.h"

#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/num.h"
#include "base/trust.h"
#include "heshare/job.h"
#include "heshare/plan.h"
#include "launch/job_files.h"
#include "launch/process.h"

bool run_is_alive(const struct hes_run *run)
{
	struct hes_process p = { .pid = (pid_t)run->runner.pid,
				 .started = (uint64_t)run->runner.start };
	char boot[HES_BOOT_MAX];

	return !hes_process_boot(boot, NULL) && strcmp(boot, run->runner.boot) == 0 &&
	       hes_process_runs(&p);
}

bool run_is_on_nodes(const struct hes_run *run)
{
	char path[HES_JOURNAL_PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/" RUN_HEAD_LOCK, run->folder);
	return !access(path, F_OK);
}

int run_plan_key(const char *path, const char *node, uint64_t *out, struct hes_err *err)
{
	char *text;
	size_t len;
	int rc = hes_file_slurp(path, HES_PLAN_MAX_BYTES, &text, &len, err);

	if (rc)
		return rc;
	*out = hes_hash_bytes(HES_HASH_START, text, len);
	if (node)
		*out = hes_hash_text(*out, node);
	free(text);
	return 0;
}

int run_round_key(const char *path, uint64_t *out, struct hes_err *err)
{
	const char *slash = strrchr(path, '/');
	int rc = hes_file_check_plain(path, err);

	return rc ? rc : run_plan_key(path, slash ? slash + 1 : path, out, err);
}

uint64_t run_part_key(uint64_t round, const char *node)
{
	return hes_hash_text(round, node);
}

void run_plan_path(const char *path, char out[HES_JOURNAL_PATH_MAX])
{
	char *real = realpath(path, NULL);

	snprintf(out, HES_JOURNAL_PATH_MAX, "%s",
		 real && strlen(real) < HES_JOURNAL_PATH_MAX ? real : path);
	free(real);
}

const char *run_plan_name(const struct hes_run *run)
{
	const char *slash = strrchr(run->plan, '/');

	return slash ? slash + 1 : run->plan;
}

const char *run_user_behind_sudo(const struct app *app)
{
	const char *user = geteuid() ? NULL : app_variable(app, "SUDO_USER");

	return user && strcmp(user, "root") != 0 ? user : NULL;
}

const char *run_own_name(void)
{
	const struct passwd *self = getpwuid(geteuid());

	return self ? self->pw_name : NULL;
}

int run_users_check(const struct hes_jobs *jobs, struct hes_err *err)
{
	const char *self = run_own_name();

	for (size_t i = 0; geteuid() && i < jobs->n; i++)
		if (jobs->v[i].user[0] && (!self || strcmp(self, jobs->v[i].user) != 0))
			return hes_fail(err, -EPERM,
					"job %s is to run as %s, and only root may start jobs of "
					"others; run as root, or plan without "
					"the column user",
					jobs->v[i].id, jobs->v[i].user);
	return 0;
}

bool run_has_other_users(const struct hes_jobs *jobs, const char *user)
{
	bool others = user != NULL;

	for (size_t i = 0; !others && i < jobs->n; i++)
		others = jobs->v[i].user[0] && strcmp(jobs->v[i].user, "root") != 0;
	return !geteuid() && others;
}

int run_parse_id(const char *text, int64_t *out, struct hes_err *err)
{
	uint64_t id;

	if (hes_parse_u64("RUN", text, 1, INT64_MAX, &id, err))
		return hes_fail(err, -EINVAL,
				"\"%.60s\" is no number of a run; heshare status prints them",
				text);
	*out = (int64_t)id;
	return 0;
}

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
