/*
 * server.c - the loop that serves clients; see server.h.
 *
 * The number of an event is its descriptor's; a client's is its connection. Messages of a client in
 * one wake are bounded, so that all clients have a turn. New clients are accepted last in a wake,
 * so that they cannot get older events.
 */
#include "arbiter/server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "arbiter/gpu_thread.h"
#include "base/clock.h"
#include "base/signals.h"

#define EVENTS       64
#define A_WAKE       16                   /* messages of a client, and new clients */
#define HUNG_NS      UINT64_C(5000000000) /* at one order: the driver does not answer */
#define LOOK_NS      UINT64_C(1000000000)
#define GUARD_FOLDER 200

enum { ID_LISTENER = ARBITER_MAX_CONNECTIONS, ID_SIGNAL, ID_WAKE };

struct served_gpu {
	struct gpu_thread *thread;
	char folder[GUARD_FOLDER];
	bool gone;
};

struct server {
	const struct arbiter_server_config *c;
	struct arbiter *a;
	struct arbiter_gpu_config *configs;
	struct served_gpu *gpus;
	struct listener listener;
	int epoll, signals, wake,
		spare;    /* spare: closed to tell a client that there are no descriptors left */
	int *fds;         /* of connections; -1 */
	bool *writes;     /* waits for room */
	uint64_t look_ns; /* when to look for processes again */
	bool stopping, comes; /* comes: clients wait to be taken in */
};

bool arbiter_parse_uuid(const char *text, uint8_t out[16])
{
	size_t digits = 0;
	unsigned value;

	text += strncmp(text, "GPU-", 4) == 0 ? 4 : 0;
	for (; *text && digits < 32; text++) {
		char digit[2] = { *text };

		if (*text == '-')
			continue;
		if (sscanf(digit, "%1x", &value) != 1)
			return false;
		out[digits / 2] =
			(uint8_t)(digits % 2 ? (unsigned)out[digits / 2] << 4 | value : value);
		digits++;
	}
	return digits == 32 && !*text;
}

static int server_send(void *ctx, uint32_t id, const void *packet, size_t length)
{
	const struct server *s = ctx;

	if (s->fds[id] < 0)
		return -ENOTCONN;
	if (send(s->fds[id], packet, length, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return 0;
	return errno == EWOULDBLOCK ? -EAGAIN : -errno;
}

/* What was not read would make the kernel reset the connection, and the client might not see why it
 * was closed. */
static void client_close(int fd)
{
	char packet[sizeof(union fair_message)];

	for (int i = 0;
	     i < A_WAKE && recv(fd, packet, sizeof(packet), MSG_DONTWAIT | MSG_TRUNC) > 0; i++)
		;
	close(fd);
}

static void server_close(void *ctx, uint32_t id)
{
	struct server *s = ctx;

	if (s->fds[id] >= 0)
		client_close(s->fds[id]);
	s->fds[id] = -1;
	s->writes[id] = false;
}

static bool server_order(void *ctx, size_t gpu, const struct arbiter_order *o)
{
	const struct server *s = ctx;
	const bool stores =
		o->kind == ORDER_FIND || o->kind == ORDER_KEEP || o->kind == ORDER_USAGE;

	return !s->gpus[gpu].gone && (s->c->store || !stores) &&
	       gpu_thread_order(s->gpus[gpu].thread, o);
}

static void server_note(void *ctx, const struct arbiter_note *n)
{
	const struct server *s = ctx;

	s->c->note(s->c->ctx, n);
}

static int server_watch(struct server *s, int fd, uint32_t id, struct hes_err *err)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u32 = id };

	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e)
		       ? hes_fail(err, -errno, "epoll: %s", strerror(errno))
		       : 0;
}

/* While a client's socket is full of an answer to STATUS, room in it is waited for. */
static void client_watch_room(struct server *s, uint32_t id)
{
	bool waits = arbiter_waits_to_write(s->a, id);
	struct epoll_event e = { .events = waits ? EPOLLIN | EPOLLOUT : EPOLLIN, .data.u32 = id };

	if (s->fds[id] < 0 || waits == s->writes[id])
		return;
	s->writes[id] = waits;
	epoll_ctl(s->epoll, EPOLL_CTL_MOD, s->fds[id], &e);
}

static void client_event(struct server *s, uint32_t id, uint32_t events)
{
	char packet[sizeof(union fair_message) + 1];
	ssize_t n = 0;

	if (events & EPOLLOUT)
		arbiter_writable(s->a, id, hes_monotonic_ns());
	for (int i = 0; i < A_WAKE && s->fds[id] >= 0; i++) {
		n = recv(s->fds[id], packet, sizeof(packet), MSG_DONTWAIT | MSG_TRUNC);
		if (n <= 0)
			break;
		/* A longer packet is of no message's length. */
		arbiter_message(s->a, id, packet,
				(size_t)n < sizeof(packet) ? (size_t)n : sizeof(packet),
				hes_monotonic_ns());
	}
	if (s->fds[id] >= 0 && (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)))
		arbiter_disconnect(s->a, id, hes_monotonic_ns());
	client_watch_room(s, id);
}

static void client_refuse(int fd, int code, const char *text)
{
	union fair_message m;
	size_t length = fair_wire_begin(&m, FAIR_REFUSED);

	m.answer.code = code;
	snprintf(m.answer.text, sizeof(m.answer.text), "%s", text);
	send(fd, &m, length, MSG_DONTWAIT | MSG_NOSIGNAL);
	client_close(fd);
}

static void client_take(struct server *s, int fd)
{
	struct listener_peer who;
	struct hes_process of;
	uint32_t id = 0;

	while (id < s->c->arbiter.connections && s->fds[id] >= 0)
		id++;
	if (listener_peer(fd, &s->c->allow, &who)) {
		close(fd);
	} else if (!who.allowed) {
		const struct arbiter_note n = {
			ARBITER_REFUSED,           SIZE_MAX, who.uid, (uint32_t)who.pid, "",
			"the user is not allowed", 0
		};

		client_refuse(fd, -EACCES,
			      "this user may not use the arbiter; its --allow says who may");
		server_note(s, &n);
	} else if (id == s->c->arbiter.connections) {
		client_refuse(fd, -EUSERS, "the arbiter has as many connections as it takes");
	} else {
		s->fds[id] = fd;
		of = (struct hes_process){ .pid = who.pid };
		hes_process_of(who.pid, &of);
		arbiter_connect(s->a, id, who.uid, &of, hes_monotonic_ns());
		if (s->fds[id] >= 0 && server_watch(s, fd, id, NULL))
			arbiter_disconnect(s->a, id, hes_monotonic_ns());
	}
}

static void clients_take(struct server *s)
{
	for (int i = 0; i < A_WAKE; i++) {
		int fd = accept4(s->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			client_take(s, fd);
			continue;
		}
		if (errno != EMFILE && errno != ENFILE)
			return;
		/* Else it would stay in the queue, and wake the loop for ever. */
		close(s->spare);
		fd = accept4(s->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0)
			client_refuse(fd, -EMFILE, "the arbiter has no descriptors left");
		s->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
		return;
	}
}

static void reports_take(struct server *s)
{
	struct arbiter_report r;
	uint64_t n;

	if (read(s->wake, &n, sizeof(n)) < 0)
		return;
	for (size_t i = 0; i < s->c->n_gpus; i++)
		while (gpu_thread_take(s->gpus[i].thread, &r)) {
			if (r.kind == REPORT_SENTENCE)
				s->c->say(s->c->ctx, i, r.text);
			else
				arbiter_report(s->a, i, &r, hes_monotonic_ns());
			free(r.processes);
		}
}

static void threads_watch(struct server *s, uint64_t now)
{
	static const struct arbiter_report gone = { .kind = REPORT_GONE,
						    .text = "its driver does not answer" };

	for (size_t i = 0; i < s->c->n_gpus; i++) {
		uint64_t since = s->gpus[i].gone ? 0 : gpu_thread_busy_since(s->gpus[i].thread);

		if (!since || now < since + HUNG_NS)
			continue;
		s->gpus[i].gone = true;
		arbiter_report(s->a, i, &gone, now);
	}
}

static void processes_request(struct server *s, uint64_t now)
{
	if (now < s->look_ns)
		return;
	for (size_t i = 0; i < s->c->n_gpus; i++)
		server_order(s, i, &(struct arbiter_order){ .kind = ORDER_PROCESSES });
	s->look_ns = now + LOOK_NS;
}

static void signal_take(struct server *s)
{
	struct signalfd_siginfo info;

	if (read(s->signals, &info, sizeof(info)) == sizeof(info))
		s->stopping = true;
}

static void server_event(struct server *s, const struct epoll_event *e)
{
	if (e->data.u32 == ID_LISTENER)
		s->comes = true;
	else if (e->data.u32 == ID_SIGNAL)
		signal_take(s);
	else if (e->data.u32 == ID_WAKE)
		reports_take(s);
	else if (s->fds[e->data.u32] >= 0)
		client_event(s, e->data.u32, e->events);
}

/* epoll's own time limit has milliseconds; its descriptor can be polled with nanoseconds. */
static void server_wait(const struct server *s, uint64_t until)
{
	uint64_t now = hes_monotonic_ns(), left = until > now ? until - now : 0;
	const struct timespec t = { (time_t)(left / 1000000000), (long)(left % 1000000000) };
	struct pollfd fd = { .fd = s->epoll, .events = POLLIN };

	ppoll(&fd, 1, &t, NULL);
}

static void server_loop(struct server *s)
{
	struct epoll_event events[EVENTS];

	while (!s->stopping) {
		int n;

		threads_watch(s, hes_monotonic_ns());
		processes_request(s, hes_monotonic_ns());
		server_wait(s, arbiter_tick(s->a, hes_monotonic_ns()));
		n = epoll_wait(s->epoll, events, EVENTS, 0);
		for (int i = 0; i < n; i++)
			server_event(s, &events[i]);
		if (s->comes)
			clients_take(s);
		s->comes = false;
	}
}

/* By UUID: the next arbiter at the socket finds what this one left. */
static void guard_folder(const struct server *s, const char *uuid, char out[GUARD_FOLDER])
{
	const char *slash = strrchr(s->listener.path, '/');

	snprintf(out, GUARD_FOLDER, "%.*s/guard-%.60s", slash ? (int)(slash - s->listener.path) : 1,
		 slash ? s->listener.path : ".", uuid);
}

static int gpu_open(struct server *s, size_t i, struct hes_err *err)
{
	struct gpu_thread_config c = { .devices = s->c->devices,
				       .index = s->c->gpus[i],
				       .store = s->c->store,
				       .guard = s->c->guard,
				       .folder = s->gpus[i].folder,
				       .wake = s->wake };
	struct hes_gpu_type type;
	int rc = hes_device_info(s->c->devices, c.index, &c.info, err);

	if (rc)
		return rc;
	if (!arbiter_parse_uuid(c.info.uuid, s->configs[i].uuid))
		return hes_fail(err, -EINVAL, "GPU %zu: its UUID \"%s\" is not one", c.index,
				c.info.uuid);
	snprintf(s->configs[i].name, sizeof(s->configs[i].name), "%.*s", FAIR_NAME_MAX - 1,
		 c.info.name);
	s->configs[i].limit_w = c.info.power_limit_mw * 1e-3;
	/* One clock is all that some drivers tell: it is no range. */
	if (!hes_device_describe(s->c->devices, c.index, &type, NULL) &&
	    type.clock_min_mhz < type.clock_max_mhz) {
		s->configs[i].clock_min_mhz = type.clock_min_mhz;
		s->configs[i].clock_max_mhz = type.clock_max_mhz;
	}
	guard_folder(s, c.info.uuid, s->gpus[i].folder);
	return gpu_thread_start(&c, &s->gpus[i].thread, err);
}

static int descriptors_open(struct server *s, const sigset_t *signals, struct hes_err *err)
{
	int rc;

	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->signals = signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK);
	s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (s->epoll < 0 || s->signals < 0 || s->wake < 0 || s->spare < 0)
		return hes_fail(err, -errno, "no descriptors: %s", strerror(errno));
	rc = server_watch(s, s->signals, ID_SIGNAL, err);
	return rc ? rc : server_watch(s, s->wake, ID_WAKE, err);
}

static int server_open(struct server *s, const sigset_t *signals, struct hes_err *err)
{
	const struct arbiter_server_config *c = s->c;
	const struct arbiter_out out = { s, server_send, server_close, server_order, server_note };
	struct arbiter_config arbiter = c->arbiter;
	int rc;

	s->configs = calloc(c->n_gpus, sizeof(*s->configs));
	s->gpus = calloc(c->n_gpus, sizeof(*s->gpus));
	s->fds = malloc(arbiter.connections * sizeof(*s->fds));
	s->writes = calloc(arbiter.connections, sizeof(*s->writes));
	if (!s->configs || !s->gpus || !s->fds || !s->writes)
		return hes_fail(err, -ENOMEM, "out of memory for an arbiter");
	for (uint32_t i = 0; i < arbiter.connections; i++)
		s->fds[i] = -1;
	rc = listener_open(&s->listener, c->socket, &c->allow, err);
	if (!rc)
		rc = descriptors_open(s, signals, err);
	for (size_t i = 0; !rc && i < c->n_gpus; i++)
		rc = gpu_open(s, i, err);
	arbiter.gpus = s->configs;
	arbiter.n_gpus = c->n_gpus;
	if (!rc)
		rc = arbiter_create(&arbiter, &out, hes_monotonic_ns(), &s->a, err);
	return rc ? rc : server_watch(s, s->listener.fd, ID_LISTENER, err);
}

static void descriptor_close(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* The first error counts. */
static int server_finish(struct server *s, int rc, struct hes_err *err)
{
	bool hung = false;

	listener_close(&s->listener);
	if (s->a)
		arbiter_keep(s->a, hes_monotonic_ns());
	for (uint32_t i = 0; s->fds && i < s->c->arbiter.connections; i++)
		descriptor_close(s->fds[i]);
	for (size_t i = 0; s->gpus && i < s->c->n_gpus; i++) {
		int undone = gpu_thread_stop(s->gpus[i].thread, rc ? NULL : err);

		hung |= undone == -ETIMEDOUT;
		rc = rc ? rc : undone;
	}
	arbiter_destroy(s->a);
	descriptor_close(s->epoll);
	descriptor_close(s->signals);
	descriptor_close(s->spare);
	/* A thread that hangs may wake up yet. */
	if (!hung) {
		descriptor_close(s->wake);
		free(s->gpus);
	}
	free(s->configs);
	free(s->fds);
	free(s->writes);
	return rc;
}

int arbiter_serve(const struct arbiter_server_config *c, struct hes_err *err)
{
	struct server s = { .c = c,
			    .listener = { .fd = -1, .lock = -1 },
			    .epoll = -1,
			    .signals = -1,
			    .wake = -1,
			    .spare = -1 };
	struct hes_signals stops;
	int rc;

	hes_signals_take(&stops, hes_signals_stop);
	rc = server_open(&s, &stops.set, err);
	if (!rc) {
		c->started(c->ctx, s.configs, c->n_gpus);
		server_loop(&s);
	}
	rc = server_finish(&s, rc, err);
	hes_signals_leave(&stops);
	return rc;
}
