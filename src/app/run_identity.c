/*
 * run_identity.c - which plan a run carries out, and whether its process lives; see run_identity.h.
 */
#include "app/run_identity.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/num.h"
#include "heshare/plan.h"
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
