/*
 * fair_client.c - connect to an arbiter, or run one; see fair_client.h.
 */
#include "app/fair_client.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "app/catalogue.h"
#include "app/gpus_chosen.h"
#include "app/gpus_visible.h"
#include "app/known_store.h"

#define WAIT_MS 5000

static int socket_name(char out[FAIR_SOCKET_MAX], struct hes_err *err, const char *folder,
		       const char *name)
{
	if (snprintf(out, FAIR_SOCKET_MAX, "%s%s", folder, name) < FAIR_SOCKET_MAX)
		return 0;
	return hes_fail(err, -ENAMETOOLONG,
			"%s%s: longer than the %d bytes that a socket's name may have", folder,
			name, FAIR_SOCKET_MAX - 1);
}

/* @return what the option or the environment names; NULL: nothing */
static const char *socket_named(const struct app *app, const char *given)
{
	const char *named = given ? given : app_variable(app, "HESHARE_FAIR_SOCKET");

	return named && *named ? named : NULL;
}

/* An arbiter that has ended may leave its socket. */
static bool socket_answers(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool answers;

	memcpy(to.sun_path, path, strlen(path));
	answers = fd >= 0 && (!connect(fd, (const struct sockaddr *)&to, sizeof(to)) ||
			      (errno != ENOENT && errno != ECONNREFUSED));
	if (fd >= 0)
		close(fd);
	return answers;
}

int fair_socket_find(const struct app *app, const char *given, char out[FAIR_SOCKET_MAX],
		     struct hes_err *err)
{
	const char *named = socket_named(app, given),
		   *folder = app_variable(app, "XDG_RUNTIME_DIR");

	if (named)
		return socket_name(out, err, "", named);
	if (folder && *folder && !socket_name(out, NULL, folder, "/heshare/fair.sock") &&
	    socket_answers(out))
		return 0;
	return socket_name(out, err, "", FAIR_SOCKET);
}

int fair_socket_own(const struct app *app, const char *given, char out[FAIR_SOCKET_MAX],
		    struct hes_err *err)
{
	const char *named = socket_named(app, given),
		   *folder = app_variable(app, "XDG_RUNTIME_DIR");

	if (named)
		return socket_name(out, err, "", named);
	if (!geteuid())
		return socket_name(out, err, "", FAIR_SOCKET);
	if (!folder || !*folder)
		return hes_fail(err, -ENOENT,
				"XDG_RUNTIME_DIR is not set; name the socket by --socket PATH");
	return socket_name(out, err, folder, "/heshare/fair.sock");
}

int fair_client_open(const char *path, struct hes_err *err)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	const struct timeval wait = { .tv_sec = WAIT_MS / 1000 };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), rc;

	if (fd < 0)
		return hes_fail(err, -errno, "a socket: %s", strerror(errno));
	memcpy(to.sun_path, path, strlen(path));
	/* A program that takes no connections delays no other. */
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	if (!connect(fd, (struct sockaddr *)&to, sizeof(to)))
		return fd;
	rc = -errno;
	close(fd);
	return hes_fail(err, rc,
			"%s: no arbiter answers there (%s); start one with heshare fair serve, or "
			"name its --socket",
			path,
			rc == -ECONNREFUSED ? "Connection refused: the arbiter that made this "
					      "socket has ended; heshare fair serve replaces it"
					    : strerror(-rc));
}

int fair_client_send(int fd, const union fair_message *m, size_t length, struct hes_err *err)
{
	/* A refused client can still read why. */
	if (send(fd, m, length, MSG_NOSIGNAL) < 0 && errno != EPIPE)
		return hes_fail(err, -errno, "the arbiter is gone: %s", strerror(errno));
	return 0;
}

int fair_client_receive(int fd, union fair_message *out, struct hes_err *err)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	char packet[sizeof(*out) + 1], text[FAIR_TEXT_MAX];
	ssize_t n;
	int rc;

	if (poll(&ready, 1, WAIT_MS) <= 0)
		return hes_fail(err, -ETIMEDOUT, "the arbiter does not answer");
	n = recv(fd, packet, sizeof(packet), 0);
	/* What came before a reset can be read after it. */
	if (n < 0 && errno == ECONNRESET)
		n = recv(fd, packet, sizeof(packet), 0);
	if (n <= 0)
		return hes_fail(err, n ? -errno : -EPIPE, "the arbiter closed the connection");
	rc = fair_wire_parse(packet, (size_t)n, out);
	if (rc == -EPROTONOSUPPORT) {
		fair_wire_say_version(packet, "the arbiter", "this program", text);
		return hes_fail(err, rc, "%s", text);
	}
	if (rc)
		return hes_fail(err, rc, "what answers there is no arbiter");
	if (out->head.type == FAIR_REFUSED || (out->head.type == FAIR_ANSWER && out->answer.code))
		return hes_fail(err, out->answer.code < 0 ? out->answer.code : -EPROTO, "%s",
				out->answer.text);
	return 0;
}

/* The store that profiles go to. A user without a home has none. */
static int store_choose(const struct fair_arbiter_request *q, char **out, struct hes_err *err)
{
	struct hes_store *s;
	int rc = app_store_open(q->app, q->store, HES_STORE_WRITE, HES_STORE_WAIT_MS, &s, err);

	*out = NULL;
	if (rc)
		return rc;
	*out = strdup(hes_store_path(s));
	hes_store_close(s);
	return *out ? 0 : hes_fail(err, -ENOMEM, "out of memory");
}

int fair_arbiter_run(const struct fair_arbiter_request *q, struct hes_err *err)
{
	struct arbiter_server_config c = q->config;
	struct hes_catalogue types = { 0 };
	struct hes_devices *d = NULL;
	char path[FAIR_SOCKET_MAX], *store = NULL;
	size_t *gpus = NULL;
	int rc = gpus_check(q->gpus, err);

	if (!rc)
		rc = fair_socket_own(q->app, q->socket, path, err);
	if (!rc)
		rc = app_catalogue_load(q->app, q->catalogue, true, &types, err);
	if (!rc)
		rc = app_devices_open(q->app, &types, &d, err);
	hes_catalogue_free(&types);
	if (!rc)
		rc = gpus_choose(q->app, d, q->gpus, GPUS_SHARE, &gpus, &c.n_gpus, err);
	if (!rc && c.n_gpus > ARBITER_MAX_GPUS)
		rc = hes_fail(err, -EINVAL,
			      "%zu GPUs are more than the %d that an arbiter takes; choose some "
			      "with --gpus",
			      c.n_gpus, ARBITER_MAX_GPUS);
	if (!rc && store_choose(q, &store, err)) {
		app_say(q->app, "%s", err->msg);
		app_say(q->app, "profiles of tenants are not kept");
	}
	if (!rc) {
		c.gpus = gpus;
		c.devices = d;
		c.socket = path;
		c.store = store;
		q->chosen(c.ctx, gpus);
		rc = arbiter_serve(&c, err);
	}
	/* A thread that hangs in the driver still uses these. */
	if (rc == -ETIMEDOUT)
		return rc;
	hes_devices_close(d);
	free(gpus);
	free(store);
	return rc;
}
