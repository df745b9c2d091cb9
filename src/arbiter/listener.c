/*
 * listener.c - the arbiter's socket; see listener.h.
 *
 * A lock on a file next to the socket shows that an arbiter lives: the kernel drops it when the
 * process ends. The process that has the lock may replace a socket that refuses connections: an
 * arbiter whose lock file was removed still serves there.
 */
#include "arbiter/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/trust.h"

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif
#define BACKLOG    128
#define MAX_GROUPS 1024

/* Where others could replace the socket, tenants would come to another program. */
static int folder_make(const char *path, struct hes_err *err)
{
	char folder[sizeof(((struct listener *)0)->path)];
	char *slash;
	int rc;

	snprintf(folder, sizeof(folder), "%s", path);
	slash = strrchr(folder, '/');
	if (slash)
		slash[slash == folder] = '\0';
	else
		strcpy(folder, ".");
	if (mkdir(folder, 0755) && errno != EEXIST)
		return hes_fail(err, -errno, "%s: cannot make this folder: %s", folder,
				strerror(errno));
	rc = hes_trust_check_shared(folder, geteuid(), err);
	if (rc)
		hes_fail_in(err, "%s: others could replace the socket; choose another --socket",
			    path);
	return rc;
}

static int lock_take(struct listener *l, struct hes_err *err)
{
	char path[sizeof(l->path) + 8];

	snprintf(path, sizeof(path), "%s.lock", l->path);
	l->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (l->lock < 0)
		return hes_fail(err, -errno, "%s: %s", path, strerror(errno));
	if (!flock(l->lock, LOCK_EX | LOCK_NB))
		return 0;
	return hes_fail(err, errno == EWOULDBLOCK ? -EADDRINUSE : -errno,
			"%s: another arbiter serves there; end it first, or choose "
			"another --socket",
			l->path);
}

static struct sockaddr_un address_of(const struct listener *l)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	memcpy(to.sun_path, l->path, sizeof(to.sun_path));
	return to;
}

/* @return whether no process listens at the socket */
static bool socket_refuses(const struct listener *l)
{
	const struct sockaddr_un to = address_of(l);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool refuses = fd >= 0 && connect(fd, (const struct sockaddr *)&to, sizeof(to)) &&
		       errno == ECONNREFUSED;

	if (fd >= 0)
		close(fd);
	return refuses;
}

/* Remove the socket of an arbiter that is gone. */
static int stale_remove(const struct listener *l, struct hes_err *err)
{
	struct stat st;

	if (lstat(l->path, &st))
		return errno == ENOENT ? 0
				       : hes_fail(err, -errno, "%s: %s", l->path, strerror(errno));
	if (!S_ISSOCK(st.st_mode))
		return hes_fail(err, -EEXIST,
				"%s: not a socket; remove it, or choose another --socket", l->path);
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return hes_fail(err, -EPERM,
				"%s: a socket of user %u; remove it, or choose another --socket",
				l->path, (unsigned)st.st_uid);
	if (!socket_refuses(l))
		return hes_fail(err, -EADDRINUSE,
				"%s: another program serves there; end it first, or choose "
				"another --socket",
				l->path);
	return unlink(l->path) ? hes_fail(err, -errno, "%s: %s", l->path, strerror(errno)) : 0;
}

static int socket_make(struct listener *l, mode_t mode, struct hes_err *err)
{
	const struct sockaddr_un to = address_of(l);
	mode_t before;
	int rc;

	l->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0)
		return hes_fail(err, -errno, "a socket: %s", strerror(errno));
	before = umask(0177);
	rc = bind(l->fd, (const struct sockaddr *)&to, sizeof(to)) ? -errno : 0;
	umask(before);
	if (rc)
		return hes_fail(err, rc, "%s: %s", l->path, strerror(-rc));
	if (chmod(l->path, mode) || listen(l->fd, BACKLOG))
		return hes_fail(err, -errno, "%s: %s", l->path, strerror(errno));
	return 0;
}

int listener_open(struct listener *l, const char *path, const struct listener_allow *a,
		  struct hes_err *err)
{
	bool others = a->n_users || a->n_groups;
	int rc;

	*l = (struct listener){ .fd = -1, .lock = -1 };
	if (strlen(path) >= sizeof(l->path))
		return hes_fail(err, -ENAMETOOLONG,
				"%s: longer than the %zu bytes that a socket's name may have", path,
				sizeof(l->path) - 1);
	snprintf(l->path, sizeof(l->path), "%s", path);
	rc = folder_make(path, err);
	if (!rc)
		rc = lock_take(l, err);
	if (!rc)
		rc = stale_remove(l, err);
	if (!rc)
		rc = socket_make(l, others ? 0666 : 0600, err);
	if (rc) {
		if (l->fd >= 0)
			close(l->fd);
		if (l->lock >= 0)
			close(l->lock);
		*l = (struct listener){ .fd = -1, .lock = -1 };
	}
	return rc;
}

void listener_close(struct listener *l)
{
	if (l->fd < 0)
		return;
	unlink(l->path);
	close(l->fd);
	close(l->lock);
	*l = (struct listener){ .fd = -1, .lock = -1 };
}

static bool group_is_allowed(const struct listener_allow *a, gid_t gid)
{
	for (size_t i = 0; i < a->n_groups; i++)
		if (a->groups[i] == gid)
			return true;
	return false;
}

static bool groups_are_allowed(int fd, const struct listener_allow *a, gid_t first)
{
	gid_t groups[MAX_GROUPS];
	socklen_t size = sizeof(groups);

	if (group_is_allowed(a, first))
		return true;
	if (!a->n_groups || getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size))
		return false;
	for (size_t i = 0; i < size / sizeof(groups[0]); i++)
		if (group_is_allowed(a, groups[i]))
			return true;
	return false;
}

static bool user_is_allowed(const struct listener_allow *a, uid_t uid)
{
	if (uid == 0 || uid == geteuid())
		return true;
	for (size_t i = 0; i < a->n_users; i++)
		if (a->users[i] == uid)
			return true;
	return false;
}

int listener_peer(int fd, const struct listener_allow *a, struct listener_peer *out)
{
	struct ucred who;
	socklen_t size = sizeof(who);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size))
		return -errno;
	*out = (struct listener_peer){
		who.uid, who.pid, user_is_allowed(a, who.uid) || groups_are_allowed(fd, a, who.gid)
	};
	return 0;
}
