/*
 * trust.c - who can write or replace a file; see trust.h.
 *
 * Each folder and link on the way is looked at, because others may own a link in a sticky folder.
 * What was looked at stays as it is: only root and the user can change it.
 */
#include "base/trust.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define MOST_LINKS 40 /* as the kernel follows */

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

/* @param sticky  it may be, though others may write it */
static int trust_look(const char *path, uid_t user, bool sticky, struct stat *st,
		      struct hes_err *err)
{
	char real[PATH_MAX];
	const char *name;

	if (lstat(path, st))
		return hes_fail(err, -errno, "%s: %s", path, strerror(errno));
	name = !S_ISLNK(st->st_mode) && realpath(path, real) ? real : path;
	if (st->st_uid != 0 && st->st_uid != user)
		return hes_fail(err, -EPERM, "%s: user %u owns it and could replace it", name,
				(unsigned)st->st_uid);
	if (sticky && S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX)
		return 0;
	return others_may_write(path, st, user)
		       ? hes_fail(err, -EPERM, "%s: others may write it (mode %04o)", name,
				  st->st_mode & 07777)
		       : 0;
}

/* Look at all folders and links that lead to @path, which is absolute, and at it.
 * @param sticky  it may be
 * @param links   that were followed so far */
static int trust_walk(const char *path, uid_t user, bool sticky, unsigned *links,
		      struct hes_err *err)
{
	char part[PATH_MAX], target[PATH_MAX], next[PATH_MAX];
	bool last = false;
	struct stat st;
	ssize_t length;
	int rc = 0;

	for (size_t n = 1; !rc && !last; n += strcspn(path + n, "/")) {
		snprintf(part, sizeof(part), "%.*s", (int)n, path);
		n += strspn(path + n, "/");
		last = !path[n];
		rc = trust_look(part, user, sticky || !last, &st, err);
		if (rc || !S_ISLNK(st.st_mode))
			continue;
		errno = ELOOP;
		length = ++*links > MOST_LINKS ? -1 : readlink(part, target, sizeof(target) - 1);
		if (length < 0)
			return hes_fail(err, -errno, "%s: %s", part, strerror(errno));
		target[length] = '\0';
		if (snprintf(next, sizeof(next), "%.*s%s",
			     *target == '/' ? 0 : (int)(strrchr(part, '/') + 1 - part), part,
			     target) >= (int)sizeof(next))
			return hes_fail(err, -ENAMETOOLONG, "%s: too long a name", part);
		rc = trust_walk(next, user, sticky || !last, links, err);
	}
	return rc;
}

static int trust_check(const char *path, uid_t user, bool sticky, struct hes_err *err)
{
	char here[PATH_MAX] = "", whole[PATH_MAX];
	unsigned links = 0;

	if (*path != '/' && !getcwd(here, sizeof(here)))
		return hes_fail(err, -errno, "%s: %s", path, strerror(errno));
	if (snprintf(whole, sizeof(whole), "%s%s%s", here, *here ? "/" : "", path) >=
	    (int)sizeof(whole))
		return hes_fail(err, -ENAMETOOLONG, "%.80s...: too long a name", path);
	return trust_walk(whole, user, sticky, &links, err);
}

int hes_trust_check(const char *path, uid_t user, char real[PATH_MAX], struct hes_err *err)
{
	const int rc = trust_check(path, user, false, err);

	return rc || !real || realpath(path, real)
		       ? rc
		       : hes_fail(err, -errno, "%s: %s", path, strerror(errno));
}

int hes_trust_check_shared(const char *path, uid_t user, struct hes_err *err)
{
	return trust_check(path, user, true, err);
}
