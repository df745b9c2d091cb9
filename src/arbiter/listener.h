/*
 * listener.h - the arbiter's socket: one arbiter a path, and who may connect.
 */
#ifndef HES_ARBITER_LISTENER_H
#define HES_ARBITER_LISTENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "heshare/err.h"

/** Who may connect, in addition to the arbiter's own user and root. Zero: nobody. */
struct listener_allow {
	const uid_t *users;
	size_t n_users;
	const gid_t *groups;
	size_t n_groups;
};

struct listener {
	int fd, lock; /* -1: closed */
	char path[108];
};

/**
 * Make the socket at @path and its folder. A socket that refuses connections is replaced, if it is
 * ours or root's.
 * @return 0; -EADDRINUSE an arbiter serves there; -ENAMETOOLONG; -EEXIST something else is there;
 * -EPERM a socket of another user; -EACCES
 */
int listener_open(struct listener *l, const char *path, const struct listener_allow *a,
		  struct hes_err *err);
/** Remove the socket. Harmless on one that is closed. */
void listener_close(struct listener *l);

struct listener_peer {
	uid_t uid;
	pid_t pid;
	bool allowed;
};

/** Who is at the other end of a connection. @return 0; -errno */
int listener_peer(int fd, const struct listener_allow *a, struct listener_peer *out);

#endif
