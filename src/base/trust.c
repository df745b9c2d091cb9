/*
 * trust.c - who can write or replace a file; see trust.h.
 *
 * A path is followed name by name, because others may own a link in a sticky folder. What was
 * looked at stays as it is: only root and the user can change it.
 */
#include "base/trust.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define MOST_LINKS 40 /* as the kernel follows */

/* A path on the way: @done has no links and was looked at, @rest is to come. */
struct trust_walk {
	uid_t user;
	unsigned links;
	char done[PATH_MAX], rest[PATH_MAX];
};

static bool group_is_private_to(gid_t gid, uid_t user)
{
	const struct passwd *p = getpwuid(user);
	char name[256];
	const struct group *g;

	/* Members of root's group are not root. */
	if (!user || !p || p->pw_gid != gid || snprintf(name, sizeof(name), "%s", p->pw_name) < 0)
		return false;
	g = getgrgid(gid);
	if (!g || strcmp(g->gr_name, name) != 0)
		return false;
	for (char *const *member = g->gr_mem; *member; member++)
		if (strcmp(*member, name) != 0)
			return false;
	return true;
}

/* With a list of access the bits of the group are those of everybody whom it names. */
static bool others_may_write(const char *path, const struct stat *st, uid_t user)
{
	if (S_ISLNK(st->st_mode) || !(st->st_mode & (S_IWGRP | S_IWOTH)))
		return false;
	return st->st_mode & S_IWOTH || getxattr(path, "system.posix_acl_access", NULL, 0) > 0 ||
	       !group_is_private_to(st->st_gid, user);
}

/* Look at w->done. @param sticky  it may be, though others may write it */
static int walk_look(const struct trust_walk *w, bool sticky, struct stat *st, struct hes_err *err)
{
	const char *path = *w->done ? w->done : "/";

	if (lstat(path, st))
		return hes_fail(err, -errno, "%s: %s", path, strerror(errno));
	if (st->st_uid != 0 && st->st_uid != w->user)
		return hes_fail(err, -EPERM, "%s: user %u owns it and could replace it", path,
				(unsigned)st->st_uid);
	if (sticky && S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX)
		return 0;
	return others_may_write(path, st, w->user)
		       ? hes_fail(err, -EPERM, "%s: others may write it (mode %04o)", path,
				  st->st_mode & 07777)
		       : 0;
}

/* A link leads on from its folder, or from the root. */
static int walk_follow(struct trust_walk *w, struct hes_err *err)
{
	char target[PATH_MAX], rest[PATH_MAX];
	const ssize_t n = readlink(w->done, target, sizeof(target) - 1);

	if (n < 0 || ++w->links > MOST_LINKS)
		return hes_fail(err, n < 0 ? -errno : -ELOOP, "%s: %s", w->done,
				strerror(n < 0 ? errno : ELOOP));
	target[n] = '\0';
	if (snprintf(rest, sizeof(rest), "%s/%s", target, w->rest) >= (int)sizeof(rest))
		return hes_fail(err, -ENAMETOOLONG, "%s: too long a name", w->done);
	strcpy(w->rest, rest);
	*strrchr(w->done, '/') = '\0';
	if (*target == '/')
		w->done[0] = '\0';
	return 0;
}

/* The next name of the path. */
static int walk_step(struct trust_walk *w, struct hes_err *err)
{
	const char *name = w->rest + strspn(w->rest, "/");
	const size_t length = strcspn(name, "/"), at = strlen(w->done);
	const bool up = length == 2 && strncmp(name, "..", 2) == 0,
		   stay = !length || (length == 1 && *name == '.');
	struct stat st = { .st_mode = S_IFDIR };
	int rc = 0;

	if (up && at)
		*strrchr(w->done, '/') = '\0';
	if (!up && !stay && at + length + 1 >= sizeof(w->done))
		return hes_fail(err, -ENAMETOOLONG, "%.80s...: too long a name", w->done);
	if (!up && !stay) {
		snprintf(w->done + at, sizeof(w->done) - at, "/%.*s", (int)length, name);
		rc = walk_look(w, true, &st, err);
	}
	memmove(w->rest, name + length, strlen(name + length) + 1);
	return rc || !S_ISLNK(st.st_mode) ? rc : walk_follow(w, err);
}

/* @param sticky  the last folder may be */
static int walk(const char *path, uid_t user, bool sticky, char real[PATH_MAX], struct hes_err *err)
{
	struct trust_walk w = { .user = user };
	char here[PATH_MAX] = "";
	struct stat st;
	int rc;

	if (*path != '/' && !getcwd(here, sizeof(here)))
		return hes_fail(err, -errno, "%s: %s", path, strerror(errno));
	if (snprintf(w.rest, sizeof(w.rest), "%s/%s", here, path) >= (int)sizeof(w.rest))
		return hes_fail(err, -ENAMETOOLONG, "%.80s...: too long a name", path);
	rc = walk_look(&w, true, &st, err);
	while (!rc && w.rest[strspn(w.rest, "/")])
		rc = walk_step(&w, err);
	if (!rc)
		rc = walk_look(&w, sticky, &st, err);
	if (!rc && real)
		strcpy(real, *w.done ? w.done : "/");
	return rc;
}

int hes_trust_check(const char *path, uid_t user, char real[PATH_MAX], struct hes_err *err)
{
	return walk(path, user, false, real, err);
}

int hes_trust_check_shared(const char *path, uid_t user, struct hes_err *err)
{
	return walk(path, user, true, NULL, err);
}
