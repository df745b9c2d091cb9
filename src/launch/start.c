/*
 * start.c - prepare program, environment, user and descriptors of a job; see start.h. start_run.c
 * runs in the new process.
 */
#include "launch/start.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define SHELL      "/bin/sh"
#define USER_PATH  "/usr/local/bin:/usr/bin:/bin"
#define USER_ROOM  16384 /* for a passwd row */
#define MAX_GROUPS 65536 /* limit of the kernel */

static const char *env_find(const char *const *rows, const char *name)
{
	size_t n = strlen(name);

	for (; rows && *rows; rows++)
		if (strncmp(*rows, name, n) == 0 && (*rows)[n] == '=')
			return *rows + n + 1;
	return NULL;
}

/* A new mark; inside a job it begins with that job's mark. */
static int make_mark(char mark[HES_MARK_MAX], struct hes_err *err)
{
	const char *outer = env_find((const char *const *)environ, HES_MARK_VARIABLE);
	unsigned long long number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return hes_fail(err, -EIO, "random numbers: %s", strerror(errno));
	/* Ignore a value that is not a mark: a blank would end it in the undo file. */
	if (outer && *outer && strlen(outer) + 18 < HES_MARK_MAX &&
	    !outer[strspn(outer, "0123456789abcdef/")])
		snprintf(mark, HES_MARK_MAX, "%.*s/%016llx", HES_MARK_MAX - 18, outer, number);
	else
		snprintf(mark, HES_MARK_MAX, "%016llx", number);
	return 0;
}

static bool same_name(const char *a, const char *b)
{
	size_t n = strcspn(a, "=");

	return strncmp(a, b, n) == 0 && b[n] == '=';
}

static bool env_add(const char **env, size_t *n, const char *row)
{
	for (size_t i = 0; i < *n; i++)
		if (same_name(env[i], row))
			return false;
	env[(*n)++] = row;
	return true;
}

/* Variables of root's environment that another user's job gets. */
static bool for_others(const char *row)
{
	return same_name(row, "LANG=") || same_name(row, "TERM=");
}

/* In order of precedence: the mark, the job's variables, the user's, our environment. Python holds
 * back what it prints into a pipe or file, and so the progress, without the last variable. */
static int make_env(struct hes_start *s, const char *const *variables, struct hes_err *err)
{
	size_t room = 1 + HES_USER_VARIABLES + 2, n = 0;

	for (size_t i = 0; variables && variables[i]; i++) {
		if (!strchr(variables[i], '=') || variables[i][0] == '=')
			return hes_fail(err, -EINVAL, "\"%s\" is no variable; write NAME=VALUE",
					variables[i]);
		room++;
	}
	for (size_t i = 0; environ[i]; i++)
		room++;
	s->env = calloc(room, sizeof(*s->env));
	if (!s->env)
		return hes_fail(err, -ENOMEM, "no memory for an environment of %zu variables",
				room);
	env_add(s->env, &n, s->mark_variable);
	for (size_t i = 0; variables && variables[i]; i++)
		env_add(s->env, &n, variables[i]);
	for (size_t i = 0; s->user.other && i < HES_USER_VARIABLES; i++)
		env_add(s->env, &n, s->user.variables[i]);
	for (size_t i = 0; environ[i]; i++)
		if (!s->user.other || for_others(environ[i]))
			env_add(s->env, &n, environ[i]);
	env_add(s->env, &n, "PYTHONUNBUFFERED=1");
	return 0;
}

static int make_argv(struct hes_start *s, const struct hes_launch *l, struct hes_err *err)
{
	size_t n = 0;

	while (!l->shell && l->argv[n])
		n++;
	if (!l->shell && !n)
		return hes_fail(err, -EINVAL, "an empty command; name a program");
	s->argv = calloc(n + 4, sizeof(*s->argv));
	if (!s->argv)
		return hes_fail(err, -ENOMEM, "no memory for a command of %zu words", n);
	if (l->shell) {
		s->argv[0] = "sh";
		s->argv[1] = "-c";
		s->argv[2] = l->shell;
	} else {
		memcpy(s->argv, l->argv, n * sizeof(*s->argv));
	}
	return 0;
}

/* Find the program: as named, or the first executable in PATH. */
static int make_path(struct hes_start *s, bool shell, struct hes_err *err)
{
	const char *name = shell ? SHELL : s->argv[0], *path = env_find(s->env, "PATH");
	bool denied = false;

	s->path = strchr(name, '/') ? strdup(name) : NULL;
	for (const char *at = path ? path : "/usr/bin:/bin"; !s->path && !strchr(name, '/'); at++) {
		size_t n = strcspn(at, ":");
		char *tried;

		if (asprintf(&tried, "%.*s%s%s", (int)n, at, n ? "/" : "", name) < 0)
			break;
		if (!access(tried, X_OK)) {
			s->path = tried;
			return 0;
		}
		denied = denied || errno == EACCES;
		free(tried);
		at += n;
		if (!*at)
			return hes_fail(err, denied ? -EACCES : -ENOENT,
					denied ? "%s: it may not be run"
					       : "%s: there is no such program in PATH",
					name);
	}
	return s->path ? 0 : hes_fail(err, -ENOMEM, "no memory for the name of %s", name);
}

static int find_groups(struct hes_user *u, const char *name, struct hes_err *err)
{
	int n = 64;

	for (;;) {
		gid_t *groups = realloc(u->groups, (size_t)n * sizeof(*groups));

		if (!groups)
			return hes_fail(err, -ENOMEM, "no memory for the groups of %s", name);
		u->groups = groups;
		u->n_groups = n;
		if (getgrouplist(name, u->gid, groups, &u->n_groups) >= 0)
			return 0;
		if (n >= MAX_GROUPS)
			return hes_fail(err, -ERANGE, "%s is in more than %d groups", name,
					MAX_GROUPS);
		n *= 2;
	}
}

/* The passwd row of a name, else of a number. */
static int look_up(const char *name, struct passwd *row, char *room, size_t size,
		   struct passwd **found)
{
	char *end;
	unsigned long uid;
	int rc = getpwnam_r(name, row, room, size, found);

	if (*found || !*name)
		return rc;
	uid = strtoul(name, &end, 10);
	return *end || uid > UINT32_MAX ? rc : getpwuid_r((uid_t)uid, row, room, size, found);
}

/* The passwd row of a user. @return 1 another user; 0 ourselves; -errno */
static int find_user(const char *name, struct passwd *row, char *room, size_t size,
		     struct hes_err *err)
{
	struct passwd *found = NULL;

	look_up(name, row, room, size, &found);
	if (!found)
		return hes_fail(err, -ENOENT, "\"%s\" is no user of this machine", name);
	if (row->pw_uid == geteuid())
		return 0;
	if (geteuid() != 0)
		return hes_fail(err, -EPERM, "a job of user %s: only root may run jobs of others",
				row->pw_name);
	return 1;
}

int hes_launch_owner(const char *user, struct hes_owner *out, struct hes_err *err)
{
	struct passwd row;
	char room[USER_ROOM];
	int rc = user ? find_user(user, &row, room, sizeof(room), err) : 0;

	if (rc > 0)
		*out = (struct hes_owner){ row.pw_uid, row.pw_gid };
	return rc;
}

static int make_user(struct hes_user *u, const char *name, struct hes_err *err)
{
	struct passwd row;
	char room[USER_ROOM];
	int rc = name ? find_user(name, &row, room, sizeof(room), err) : 0;

	if (rc <= 0)
		return rc;
	u->other = true;
	u->uid = row.pw_uid;
	u->gid = row.pw_gid;
	snprintf(u->variables[0], sizeof(u->variables[0]), "HOME=%s", row.pw_dir);
	snprintf(u->variables[1], sizeof(u->variables[1]), "USER=%s", row.pw_name);
	snprintf(u->variables[2], sizeof(u->variables[2]), "LOGNAME=%s", row.pw_name);
	snprintf(u->variables[3], sizeof(u->variables[3]), "SHELL=%s",
		 *row.pw_shell ? row.pw_shell : SHELL);
	snprintf(u->variables[4], sizeof(u->variables[4]), "PATH=%s", USER_PATH);
	return find_groups(u, row.pw_name, err);
}

static int make_output(struct hes_start *s, const struct hes_launch *l, struct hes_err *err)
{
	const struct hes_owner owner = { s->user.uid, s->user.gid };

	s->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (s->null_fd < 0)
		return hes_fail(err, -errno, "/dev/null: %s", strerror(errno));
	s->output_fd = l->output_fd < 0 ? s->null_fd : l->output_fd;
	s->input_fd = l->input_fd <= 0 ? s->null_fd : l->input_fd;
	if (!l->output)
		return 0;
	s->output_fd = hes_job_file_append(NULL, l->output, s->user.other ? &owner : NULL, err);
	s->own_output = s->output_fd >= 0;
	return s->own_output ? 0 : s->output_fd;
}

int hes_start_make(struct hes_start *out, const struct hes_launch *l, char mark[HES_MARK_MAX],
		   struct hes_err *err)
{
	int rc;

	*out = (struct hes_start){ .folder = l->folder,
				   .output_fd = -1,
				   .null_fd = -1,
				   .parent = getpid(),
				   .no_new_rights = l->no_new_rights };
	rc = make_mark(mark, err);
	snprintf(out->mark_variable, sizeof(out->mark_variable), "%s=%s", HES_MARK_VARIABLE, mark);
	if (!rc)
		rc = make_user(&out->user, l->user, err);
	if (!rc)
		rc = make_argv(out, l, err);
	if (!rc)
		rc = make_env(out, l->variables, err);
	if (!rc)
		rc = make_path(out, l->shell != NULL, err);
	if (!rc)
		rc = make_output(out, l, err);
	if (rc)
		hes_start_finish(out);
	return rc;
}

void hes_start_finish(struct hes_start *s)
{
	if (s->own_output)
		close(s->output_fd);
	if (s->null_fd >= 0)
		close(s->null_fd);
	free(s->user.groups);
	free(s->path);
	free(s->argv);
	free(s->env);
}
