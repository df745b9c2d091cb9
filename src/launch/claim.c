/*
 * claim.c - a claim is the name of a local socket; see claim.h.
 */
#include "launch/claim.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define LOOKS   50 /* at a GPU that another program has, ... */
#define LOOK_MS 20 /* ... this far apart: a guard restores its GPUs in less */

static int take_name(int fd, const char *uuid)
{
	static const struct timespec nap = { .tv_nsec = LOOK_MS * 1000000l };
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	/* The first byte is 0: an abstract name, no file. */
	int n = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "heshare/gpu/%s", uuid);
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);

	for (int i = 0; bind(fd, (const struct sockaddr *)&name, size); i++) {
		if (errno != EADDRINUSE)
			return -errno;
		if (i == LOOKS)
			return -EBUSY;
		nanosleep(&nap, NULL);
	}
	return 0;
}

static int make_room(struct hes_claims *c)
{
	size_t room = c->room ? 2 * c->room : 8;
	struct hes_claim *more;

	if (c->n < c->room)
		return 0;
	more = reallocarray(c->v, room, sizeof(*more));
	if (!more)
		return -ENOMEM;
	c->v = more;
	c->room = room;
	return 0;
}

int hes_claim_gpu(struct hes_claims *c, const char *uuid, struct hes_err *err)
{
	int fd, rc;

	for (size_t i = 0; i < c->n; i++)
		if (strcmp(c->v[i].uuid, uuid) == 0)
			return 0;
	if (make_room(c))
		return hes_fail(err, -ENOMEM, "no memory for %zu GPUs", c->n);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return hes_fail(err, -errno, "a socket: %s", strerror(errno));
	rc = take_name(fd, uuid);
	if (rc) {
		close(fd);
		return hes_fail(err, rc,
				rc == -EBUSY
					? "GPU %s is in use by another run, profile or "
					  "heshare fair serve on this machine; it has one at a time"
					: "GPU %s: it cannot be claimed: %s",
				uuid, strerror(-rc));
	}
	snprintf(c->v[c->n].uuid, sizeof(c->v[c->n].uuid), "%s", uuid);
	c->v[c->n++].fd = fd;
	return 0;
}

void hes_claims_free(struct hes_claims *c)
{
	for (size_t i = 0; i < c->n; i++)
		close(c->v[i].fd);
	free(c->v);
	*c = (struct hes_claims){ 0 };
}
