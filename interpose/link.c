/*
 * link.c - the library's own thread for a GPU; see link.h.
 */
#include "link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "stderr_line.h"

#define RETRY_NS     1000000000u
#define WELCOME_NS   200000000u /* the first launch waits so long for an arbiter to answer */
#define SPIN_NS      200000u    /* after PREPARE */
#define STOP_NS      200000000u
#define LOW_FDS      200        /* programs count on the low numbers */
#define QUIET_NS     500000000u /* who waits for a lease asks after so long without a message */
#define ANSWER_NS    10000000000u
#define EXIT_REFUSED 75         /* EX_TEMPFAIL */
#define MESSAGES     64         /* taken at once */
#define STACK_BYTES  (1u << 20) /* the driver's functions run on it */

/* --- descriptors --- */

/* Above the numbers that programs use for themselves. */
static int link_lift(int fd)
{
	int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, LOW_FDS);

	if (high < 0)
		return fd;
	close(fd);
	return high;
}

static ino_t link_inode(int fd)
{
	struct stat st;

	return fd >= 0 && !fstat(fd, &st) && S_ISSOCK(st.st_mode) ? st.st_ino : 0;
}

static int link_open_wake(struct link *l)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds))
		return -errno;
	l->wake_in = link_lift(fds[0]);
	l->wake_in_inode = link_inode(l->wake_in);
	fds[1] = link_lift(fds[1]);
	l->wake_inode = link_inode(fds[1]);
	atomic_store(&l->wake_out, fds[1]);
	return 0;
}

static void link_wake(void *self)
{
	struct link *l = self;
	int fd = atomic_load(&l->wake_out);

	/* A number that the program has given to a socket of its own is left alone. */
	if (fd >= 0 && link_inode(fd) == l->wake_inode)
		send(fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static bool link_captures(void *self)
{
	const struct link *l = self;

	return l->captures && l->captures(self);
}

static void link_disconnect(struct link *l)
{
	if (l->fd >= 0 && link_inode(l->fd) == l->inode)
		close(l->fd);
	l->fd = -1;
	l->welcome = l->broken = false;
	l->query_ns = 0;
	l->retry_ns = gate_now_ns() + RETRY_NS;
	if (l->refused)
		gate_shut(&l->gate);
	else
		gate_disconnect(&l->gate);
}

/* A socket that takes nothing is a socket without an arbiter. */
static int link_send(void *self, const void *message, size_t size)
{
	struct link *l = self;

	if (l->fd < 0 || l->broken)
		return -ENOTCONN;
	if (link_inode(l->fd) != l->inode ||
	    send(l->fd, message, size, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)size)
		l->broken = true;
	return l->broken ? -EPIPE : 0;
}

/* --- messages --- */

static void link_hello(struct link *l)
{
	union fair_message m;
	size_t size = fair_wire_begin(&m, FAIR_HELLO);

	memcpy(m.hello.gpu, l->uuid, sizeof(m.hello.gpu));
	m.hello.weight = l->settings->weight;
	m.hello.clock_mhz = l->settings->clock_mhz;
	memcpy(m.hello.tenant, l->settings->tenant, sizeof(m.hello.tenant));
	/* An arbiter that has refused already takes nothing: what it said is read. */
	send(l->fd, &m, size, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void link_complain(struct link *l, const char *why)
{
	if (l->said != LINK_SAID_NO_ARBITER)
		tell("no arbiter at %s (%s): running unscheduled", l->path, why);
	l->said = LINK_SAID_NO_ARBITER;
}

/* A GPU that is not shared has no other tenants. */
static void link_refuse(struct link *l, const struct fair_answer *a)
{
	static const char *const acts[] = { [IF_REFUSED_WAIT] = "waiting until it accepts",
					    [IF_REFUSED_RUN] = "running unscheduled",
					    [IF_REFUSED_EXIT] = "the program ends" };
	enum if_refused act = a->code == -ENODEV ? IF_REFUSED_RUN : l->settings->if_refused;

	if (l->said != LINK_SAID_REFUSED)
		tell("the arbiter at %s refuses: %.*s: %s", l->path, FAIR_TEXT_MAX, a->text,
		     acts[act]);
	l->said = LINK_SAID_REFUSED;
	if (act == IF_REFUSED_EXIT)
		_exit(EXIT_REFUSED);
	l->refused = act == IF_REFUSED_WAIT;
	link_disconnect(l);
}

static int link_connect_path(struct link *l, const char path[SOCKET_PATH_MAX])
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error;

	if (fd < 0)
		return -errno;
	l->path = path;
	memcpy(to.sun_path, path, sizeof(to.sun_path));
	if (!connect(fd, (const struct sockaddr *)&to, sizeof(to)))
		return fd;
	error = errno;
	close(fd);
	return -error;
}

/* An arbiter that has ended may leave its socket. */
static int link_connect_socket(struct link *l)
{
	int fd = link_connect_path(l, l->settings->socket);

	if ((fd == -ECONNREFUSED || fd == -ENOENT) && *l->settings->second)
		fd = link_connect_path(l, l->settings->second);
	return fd;
}

static void link_connect(struct link *l)
{
	int fd = l->connect(l);

	if (fd < 0)
		l->retry_ns = gate_now_ns() + RETRY_NS;
	/* An arbiter that hangs takes no connections: its queue is full. */
	if (!l->query_ns && (fd >= 0 || fd == -EAGAIN))
		l->query_ns = gate_now_ns();
	if (fd == -EAGAIN)
		return;
	if (fd < 0) {
		l->query_ns = 0;
		l->refused = false;
		gate_disconnect(&l->gate);
		link_complain(l, strerror(-fd));
		return;
	}
	l->fd = link_lift(fd);
	l->inode = link_inode(l->fd);
	link_hello(l);
}

static void link_progress(struct link *l, enum link_progress progress)
{
	pthread_mutex_lock(&l->lock);
	l->progress = progress;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
}

static void link_take(struct link *l, const union fair_message *m)
{
	switch (m->head.type) {
	case FAIR_WELCOME:
		l->welcome = true;
		if (l->said || l->settings->verbose)
			tell("scheduled by the arbiter at %s as tenant %s", l->path,
			     l->settings->tenant);
		l->said = LINK_SAID_NOTHING;
		l->refused = false;
		gate_connect(&l->gate, m->welcome.window_ns, m->welcome.idle_ns);
		break;
	case FAIR_REFUSED:
		link_refuse(l, &m->answer);
		break;
	case FAIR_GRANT:
		if (l->welcome)
			gate_grant(&l->gate, m->grant.lease, m->grant.slice_ns);
		break;
	case FAIR_STOP:
		gate_stop(&l->gate, m->stop.lease);
		break;
	default:
		break;
	}
}

/* @return whether there was a message; *@prepare: a lease is about to come */
static bool link_receive(struct link *l, bool *prepare)
{
	union fair_message m;
	struct fair_answer other = { .code = 0 };
	char packet[sizeof(m) + 1];
	bool ours = link_inode(l->fd) == l->inode;
	int rc;
	ssize_t n = ours ? recv(l->fd, packet, sizeof(packet), MSG_DONTWAIT) : 0;

	/* What came before a reset can be read after it. */
	if (n < 0 && errno == ECONNRESET)
		n = recv(l->fd, packet, sizeof(packet), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	rc = n <= 0 ? -EPIPE : fair_wire_parse(packet, (size_t)n, &m);
	if (rc == -EPROTONOSUPPORT) {
		other.code = rc;
		fair_wire_say_version(packet, "it", "this library", other.text);
		link_refuse(l, &other);
	} else if (rc) {
		l->broken = true;
	}
	if (rc)
		return false;
	l->heard_ns = gate_now_ns();
	l->query_ns = 0;
	*prepare = m.head.type == FAIR_PREPARE;
	link_take(l, &m);
	return true;
}

/* The GPU is about to be free: the grant is taken as soon as it comes. */
static void link_spin(struct link *l)
{
	uint64_t end = gate_now_ns() + SPIN_NS;
	bool prepare;

	while (!l->broken && !link_receive(l, &prepare) && gate_now_ns() < end)
		sched_yield();
}

static void link_messages(struct link *l)
{
	bool prepare = false;

	for (int i = 0; i < MESSAGES && l->fd >= 0 && !l->broken && link_receive(l, &prepare); i++)
		if (prepare)
			link_spin(l);
}

/* --- an arbiter that hangs --- */

/* When to do something about the arbiter's silence. */
static uint64_t link_due_ns(struct link *l)
{
	if (l->query_ns)
		return l->query_ns + l->answer_ns;
	return l->welcome && gate_wants(&l->gate) ? l->heard_ns + QUIET_NS : GATE_NEVER;
}

/* An arbiter that dies ends the connection; one that hangs does not. @now is from before messages
 * were taken, because this process may have been stopped, too. */
static void link_look_after(struct link *l, uint64_t now)
{
	union fair_message m;

	if (l->broken || now < link_due_ns(l))
		return;
	if (!l->query_ns) {
		link_send(l, &m, fair_wire_begin(&m, FAIR_PING));
		l->query_ns = now;
		return;
	}
	if (l->said != LINK_SAID_SILENT)
		tell("the arbiter at %s does not answer: running unscheduled", l->path);
	l->said = LINK_SAID_SILENT;
	l->refused = false;
	l->query_ns = 0;
	/* A connection that was not welcomed may be welcomed yet. */
	if (l->welcome)
		link_disconnect(l);
	else
		gate_disconnect(&l->gate);
}

/* --- the thread --- */

static void link_wait(struct link *l, uint64_t until)
{
	struct pollfd fds[] = { { .fd = l->wake_in, .events = POLLIN },
				{ .fd = l->fd, .events = POLLIN } };
	uint64_t now = gate_now_ns(), due = link_due_ns(l), ns;
	struct timespec t;
	char bytes[64];
	bool ours = link_inode(l->wake_in) == l->wake_in_inode;

	if (l->fd < 0 && l->retry_ns < until)
		until = l->retry_ns;
	until = due < until ? due : until;
	ns = until > now ? until - now : 0;
	/* The descriptors are looked after at least each second: the program may have closed them.
	 */
	if (ns > RETRY_NS)
		ns = RETRY_NS;
	t = (struct timespec){ .tv_sec = (time_t)(ns / 1000000000u),
			       .tv_nsec = (long)(ns % 1000000000u) };
	if (!ours)
		link_open_wake(l);
	else if (ppoll(fds, 2, &t, NULL) > 0 && fds[0].revents)
		recv(l->wake_in, bytes, sizeof(bytes), MSG_DONTWAIT);
}

static void link_prepare_thread(struct link *l)
{
	const struct fair_driver *d = l->gate.driver;
	int mode = DRIVER_CAPTURE_RELAXED;
	void *old;

	prctl(PR_SET_NAME, "heshare-fair");
	prctl(PR_SET_TIMERSLACK, 1ul);
	gate_thread.inside = 1;
	if (d->capture_mode)
		d->capture_mode(&mode);
	if (d->context_push(l->context) == 0) {
		if (gate_adopt(&l->gate, l->context) && l->settings->verbose)
			tell("the driver makes no events: slices end with the whole context");
		d->context_pop(&old);
	}
}

static void *link_run(void *arg)
{
	struct link *l = arg;
	uint64_t welcome_end, now;

	link_prepare_thread(l);
	link_connect(l);
	welcome_end = gate_now_ns() + WELCOME_NS;
	while (!atomic_load(&l->stop)) {
		uint64_t next = gate_work(&l->gate);

		if (l->progress == LINK_STARTING) {
			if (l->fd < 0 || l->welcome || gate_now_ns() >= welcome_end)
				link_progress(l, LINK_ON);
			else if (next > welcome_end)
				next = welcome_end;
		}
		if (!l->broken)
			link_wait(l, next);
		now = gate_now_ns();
		if (l->fd >= 0)
			link_messages(l);
		link_look_after(l, now);
		if (l->broken) {
			/* The gate opens first: threads wait at it. */
			l->refused = false;
			link_disconnect(l);
			link_complain(l, "the connection has ended");
		}
		if (l->fd < 0 && gate_now_ns() >= l->retry_ns)
			link_connect(l);
	}
	l->refused = false;
	link_disconnect(l);
	link_progress(l, LINK_ENDED);
	return NULL;
}

void link_init(struct link *l, const struct fair_driver *driver, const struct settings *settings,
	       bool (*captures)(void *self), int (*connect)(struct link *l))
{
	struct gate_link to = {
		.send = link_send, .wake = link_wake, .captures = link_captures, .self = l
	};

	gate_init(&l->gate, driver, &to);
	l->settings = settings;
	l->path = settings->socket;
	l->captures = captures;
	l->connect = connect ? connect : link_connect_socket;
	l->fd = l->wake_in = -1;
	atomic_store(&l->wake_out, -1);
	atomic_store(&l->stop, false);
	l->progress = LINK_OFF;
	l->welcome = l->broken = l->refused = false;
	l->said = LINK_SAID_NOTHING;
	l->retry_ns = l->heard_ns = l->query_ns = 0;
	l->answer_ns = ANSWER_NS;
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->changed, NULL);
}

/* @return whether the progress is more than @than within @ns */
static bool link_await(struct link *l, enum link_progress than, uint64_t ns)
{
	struct timespec end;
	bool more;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += (time_t)(((uint64_t)end.tv_nsec + ns) / 1000000000u);
	end.tv_nsec = (long)(((uint64_t)end.tv_nsec + ns) % 1000000000u);
	pthread_mutex_lock(&l->lock);
	while (l->progress <= than && !pthread_cond_timedwait(&l->changed, &l->lock, &end))
		;
	more = l->progress > than;
	pthread_mutex_unlock(&l->lock);
	return more;
}

int link_start(struct link *l, void *context)
{
	sigset_t all, old;
	pthread_attr_t attr;
	int rc;

	l->context = context;
	rc = link_open_wake(l);
	if (rc)
		return rc;
	l->progress = LINK_STARTING;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	rc = pthread_create(&l->thread, &attr, link_run, l);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc) {
		l->progress = LINK_OFF;
		return -rc;
	}
	link_await(l, LINK_STARTING, 2 * (uint64_t)WELCOME_NS);
	return 0;
}

void link_stop(struct link *l)
{
	bool on;

	pthread_mutex_lock(&l->lock);
	on = l->progress == LINK_STARTING || l->progress == LINK_ON;
	pthread_mutex_unlock(&l->lock);
	if (!on)
		return;
	atomic_store(&l->stop, true);
	link_wake(l);
	link_await(l, LINK_ON, STOP_NS);
}

void link_after_fork(struct link *l)
{
	int wake = atomic_load(&l->wake_out);

	if (l->fd >= 0 && link_inode(l->fd) == l->inode)
		close(l->fd);
	if (l->wake_in >= 0 && link_inode(l->wake_in) == l->wake_in_inode)
		close(l->wake_in);
	if (wake >= 0 && link_inode(wake) == l->wake_inode)
		close(wake);
	link_init(l, l->gate.driver, l->settings, l->captures,
		  l->connect == link_connect_socket ? NULL : l->connect);
}
