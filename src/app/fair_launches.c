/*
 * fair_launches.c - count the launches of a command; see fair_launches.h.
 *
 * A lease lasts until it is stopped. Its release has the number of launches and the GPU time by
 * events. A process keeps its lease through pauses.
 */
#include "app/fair_launches.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "app/fair_tenant.h"
#include "fair/fair_wire.h"

#define WINDOW_NS UINT64_C(2000000) /* of work that is queued, as heshare fair serve has it */
#define RELEASE_S 1.0               /* to wait for a release */

int launch_counter_open(struct launch_counter *c, const struct app *app, const char *place,
			const char *folder, struct hes_err *err)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int n = snprintf(at.sun_path, sizeof(at.sun_path), "%s/fair.sock", folder), rc;

	*c = (struct launch_counter){ .fd = -1 };
	if (n >= (int)sizeof(at.sun_path))
		return hes_fail(err, -ENAMETOOLONG, "%s: too long a name for a socket", folder);
	rc = fair_library_preload(app, place, &c->preload, err);
	if (rc)
		return rc;
	if (asprintf(&c->socket, "HESHARE_FAIR_SOCKET=%s", at.sun_path) < 0)
		c->socket = NULL;
	c->fd = c->socket ? socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1;
	if (c->fd >= 0 && !bind(c->fd, (struct sockaddr *)&at, sizeof(at)) &&
	    !listen(c->fd, LAUNCH_COUNTER_PROCESSES))
		return 0;
	rc = c->socket ? -errno : -ENOMEM;
	launch_counter_close(c);
	return hes_fail(err, rc, "%s: %s", at.sun_path, strerror(-rc));
}

void launch_counter_close(struct launch_counter *c)
{
	for (size_t i = 0; i < c->n; i++)
		close(c->process[i].fd);
	if (c->fd >= 0) {
		close(c->fd);
		unlink(strchr(c->socket, '=') + 1);
	}
	free(c->preload);
	free(c->socket);
	*c = (struct launch_counter){ .fd = -1 };
}

static void process_send(struct launch_counter *c, size_t i, union fair_message *m, size_t size)
{
	send(c->process[i].fd, m, size, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void process_grant(struct launch_counter *c, size_t i)
{
	union fair_message m;
	const size_t size = fair_wire_begin(&m, FAIR_GRANT);

	c->process[i].wants = false;
	c->process[i].lease = m.grant.lease = ++c->lease;
	process_send(c, i, &m, size);
}

static void process_take(struct launch_counter *c, size_t i, const union fair_message *got)
{
	union fair_message m;
	size_t size;

	switch (got->head.type) {
	case FAIR_HELLO:
		size = fair_wire_begin(&m, FAIR_WELCOME);
		m.welcome.window_ns = WINDOW_NS;
		m.welcome.idle_ns = UINT64_MAX / 4; /* a pause is part of the lease */
		process_send(c, i, &m, size);
		break;
	case FAIR_WANT:
		c->process[i].wants = !c->process[i].lease;
		break;
	case FAIR_RELEASE:
		if (got->release.lease != c->process[i].lease)
			break;
		c->process[i].lease = 0;
		c->process[i].wants = got->release.more;
		c->released += got->release.launches > 0;
		c->launches += got->release.launches;
		c->gpu_ns += got->release.gpu_ns;
		break;
	default:
		break;
	}
}

/* @return false: it is gone */
static bool process_serve(struct launch_counter *c, size_t i)
{
	union fair_message m;
	char packet[sizeof(m) + 1];
	ssize_t n;

	while ((n = recv(c->process[i].fd, packet, sizeof(packet), MSG_DONTWAIT)) > 0) {
		if (fair_wire_parse(packet, (size_t)n, &m))
			return false;
		process_take(c, i, &m);
	}
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

static void processes_serve(struct launch_counter *c, bool grant)
{
	int fd;

	while (c->n < LAUNCH_COUNTER_PROCESSES &&
	       (fd = accept4(c->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		c->process[c->n].fd = fd;
		c->process[c->n].lease = 0;
		c->process[c->n++].wants = false;
	}
	for (size_t i = 0; i < c->n;) {
		if (process_serve(c, i)) {
			if (grant && c->process[i].wants)
				process_grant(c, i);
			i++;
			continue;
		}
		close(c->process[i].fd);
		c->process[i] = c->process[--c->n];
	}
}

void launch_counter_serve(struct launch_counter *c)
{
	if (c->fd >= 0)
		processes_serve(c, true);
}

static bool has_lease(const struct launch_counter *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->process[i].lease)
			return true;
	return false;
}

static void leases_stop(struct launch_counter *c)
{
	const double end_s = hes_monotonic_s() + RELEASE_S;
	union fair_message m;
	const size_t size = fair_wire_begin(&m, FAIR_STOP);

	for (size_t i = 0; i < c->n; i++) {
		m.stop.lease = c->process[i].lease;
		if (m.stop.lease)
			process_send(c, i, &m, size);
	}
	while (has_lease(c) && hes_monotonic_s() < end_s) {
		poll(NULL, 0, 1);
		processes_serve(c, false);
	}
}

void launch_counter_begin(struct launch_counter *c)
{
	if (c->fd < 0)
		return;
	leases_stop(c);
	c->released = 0;
	c->launches = c->gpu_ns = 0;
	processes_serve(c, true);
}

bool launch_counter_end(struct launch_counter *c, uint64_t *launches, double *gpu_s)
{
	if (c->fd < 0)
		return false;
	leases_stop(c);
	*launches = c->launches;
	*gpu_s = (double)c->gpu_ns * 1e-9;
	processes_serve(c, true);
	return c->released == 1 && c->launches && c->gpu_ns;
}
