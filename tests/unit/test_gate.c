/* test_gate.c - launches wait at the gate while other tenants have the GPU: with a made-up driver
 * and arbiter. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include "captures.h"
#include "fake_driver.h"
#include "link.h"
#include "places.h"
#include "unit_test.h"

#define THREADS 4
#define LEASES  300
#define WAIT_MS 20000 /* longer than anything takes */
#define US      UINT64_C(1000)

static const struct settings settings = {
	.socket = "nowhere", .tenant = "test", .weight = 2, .clock_mhz = 900
};
static struct link link_;
static int ends[8], n_ends,
	next_end; /* the process's ends of connections to come; -1: nobody listens */
static pthread_mutex_t ends_lock = PTHREAD_MUTEX_INITIALIZER;

/* What the library's places.c has in a program. */
struct place *_Atomic place_only;
struct fair_driver places_driver;
static struct place place = { .context = FAKE_CONTEXT, .gate = &link_.gate };

struct place *place_find(void *stream)
{
	(void)stream;
	return NULL;
}

void place_check(const struct place *p)
{
	(void)p;
}

static int connect_next(struct link *l)
{
	int fd;

	(void)l;
	pthread_mutex_lock(&ends_lock);
	fd = next_end < n_ends ? ends[next_end++] : -1;
	pthread_mutex_unlock(&ends_lock);
	return fd < 0 ? -ECONNREFUSED : fd;
}

static bool captures_now(void *self)
{
	(void)self;
	return atomic_load(&fake_captures);
}

/* @return the arbiter's end of a connection that the link will make */
static int offer(void)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	pthread_mutex_lock(&ends_lock);
	ends[n_ends++] = fds[0];
	pthread_mutex_unlock(&ends_lock);
	return fds[1];
}

static int begin(void **state)
{
	(void)state;
	fake_reset(false);
	n_ends = next_end = 0;
	places_driver = fake_driver;
	atomic_store(&place_only, &place);
	link_init(&link_, &fake_driver, &settings, captures_now, connect_next);
	return 0;
}

static int finish(void **state)
{
	(void)state;
	link_stop(&link_);
	return 0;
}

static void launch(void *stream, uint64_t ns)
{
	struct pass p = pass_begin(stream);

	fake_launch(stream, ns);
	pass_end(&p);
}

static void send_message(int fd, union fair_message *m)
{
	assert_int_equal(send(fd, m, fair_wire_size(m->head.type), MSG_NOSIGNAL),
			 fair_wire_size(m->head.type));
}

static void grant(int fd, uint64_t lease, uint64_t slice_ns)
{
	union fair_message m;

	fair_wire_begin(&m, FAIR_GRANT);
	m.grant.lease = lease;
	m.grant.slice_ns = slice_ns;
	atomic_store(&fake_allowed, true);
	send_message(fd, &m);
}

static void stop(int fd, uint64_t lease)
{
	union fair_message m;

	fair_wire_begin(&m, FAIR_STOP);
	m.stop.lease = lease;
	send_message(fd, &m);
}

/* The next message. @return its type; 0: the connection has ended */
static unsigned receive_any(int fd, union fair_message *m)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char packet[512];
	ssize_t n;

	assert_int_equal(poll(&p, 1, WAIT_MS), 1);
	n = recv(fd, packet, sizeof(packet), 0);
	if (n <= 0)
		return 0;
	assert_int_equal(fair_wire_parse(packet, (size_t)n, m), 0);
	return m->head.type;
}

/* The same, of an arbiter that answers. */
static unsigned receive(int fd, union fair_message *m)
{
	unsigned type;

	while ((type = receive_any(fd, m)) == FAIR_PING) {
		fair_wire_begin(m, FAIR_PONG);
		send_message(fd, m);
	}
	return type;
}

static void welcomes(int fd)
{
	union fair_message m;

	atomic_store(&fake_allowed, false);
	fair_wire_begin(&m, FAIR_WELCOME);
	m.welcome.window_ns = 2000 * US;
	m.welcome.idle_ns = 500 * US;
	send_message(fd, &m);
}

static void welcome(int fd)
{
	union fair_message m;

	assert_int_equal(receive(fd, &m), FAIR_HELLO);
	assert_string_equal(m.hello.tenant, "test");
	assert_true(m.hello.weight == 2 && m.hello.clock_mhz == 900 && m.hello.gpu[0] == 7);
	welcomes(fd);
}

/* An arbiter that welcomes while link_start() waits for it. */
static void *welcome_later(void *fd)
{
	welcome(*(int *)fd);
	return NULL;
}

/* @return the arbiter's end; the gate is closed */
static int start_scheduled(void)
{
	pthread_t t;
	int fd = offer();

	memset(link_.uuid, 7, sizeof(link_.uuid));
	assert_int_equal(pthread_create(&t, NULL, welcome_later, &fd), 0);
	assert_int_equal(link_start(&link_, FAKE_CONTEXT), 0);
	pthread_join(t, NULL);
	return fd;
}

static void expect(int fd, enum fair_message_type type, union fair_message *m)
{
	assert_int_equal(receive(fd, m), type);
}

/* --- a program --- */

struct worker {
	pthread_t thread;
	int number;
	uint64_t launches, kernel_ns;
	_Atomic bool done;
};

static void *work(void *arg)
{
	struct worker *w = arg;

	for (uint64_t i = 0; i < w->launches; i++)
		launch(i % 7   ? FAKE_STREAM(2 + w->number)
		       : i % 2 ? NULL
			       : FAKE_STREAM(20 + i % 3),
		       w->kernel_ns);
	atomic_store(&w->done, true);
	return NULL;
}

static void start_work(struct worker *w, int number, uint64_t launches, uint64_t kernel_ns)
{
	*w = (struct worker){ .number = number, .launches = launches, .kernel_ns = kernel_ns };
	assert_int_equal(pthread_create(&w->thread, NULL, work, w), 0);
}

static void wait_work(struct worker *w)
{
	pthread_join(w->thread, NULL);
	assert_true(atomic_load(&w->done));
}

/* Grant leases without end until all of @w is launched. It may take several: a slow thread lets one
 * go. @return leases */
static uint64_t serve(int fd, struct worker *w)
{
	uint64_t launches = 0, lease = 0;
	union fair_message m = { 0 };

	while (launches < w->launches) {
		unsigned type = receive(fd, &m);

		assert_true(type == FAIR_WANT || type == FAIR_RELEASE);
		if (type == FAIR_RELEASE) {
			assert_int_equal(m.release.lease, lease);
			assert_int_equal(fake_pending_ns(), 0);
			assert_true(m.release.gpu_ns == 0 ||
				    m.release.gpu_ns >= m.release.launches * w->kernel_ns * 9 / 10);
			atomic_store(&fake_allowed, false);
			launches += m.release.launches;
		}
		if (type == FAIR_WANT || m.release.more)
			grant(fd, ++lease, 0);
	}
	assert_int_equal(launches, w->launches);
	assert_int_equal(atomic_load(&fake_wrong), 0);
	wait_work(w);
	return lease;
}

/* --- the tests --- */

TEST_WITH(launches_pass_where_there_is_no_arbiter, begin, finish)
{
	assert_int_equal(link_start(&link_, FAKE_CONTEXT), 0);
	for (int i = 0; i < 5000; i++)
		launch(FAKE_STREAM(i % 40), 0);
	assert_int_equal(atomic_load(&fake_launches), 5000);
}

/* Leases with and without an end; four threads on many streams; every release is checked against
 * the GPU. */
TEST_WITH(no_launch_passes_a_closed_gate_and_releases_come_last, begin, finish)
{
	struct worker w[THREADS];
	uint64_t launches = 0, lease = 0, all;
	union fair_message m;
	int fd = start_scheduled(), running = THREADS;

	for (int i = 0; i < THREADS; i++)
		start_work(&w[i], i, 20000, 1 * US);
	while (running) {
		unsigned type = receive(fd, &m);

		assert_true(type == FAIR_WANT || type == FAIR_RELEASE);
		if (type == FAIR_RELEASE) {
			assert_int_equal(m.release.lease, lease);
			assert_int_equal(fake_pending_ns(), 0);
			atomic_store(&fake_allowed, false);
			launches += m.release.launches;
			assert_int_equal(launches, atomic_load(&fake_launches));
		}
		running = 0;
		for (int i = 0; i < THREADS; i++)
			running += !atomic_load(&w[i].done);
		if (!running || (type == FAIR_RELEASE && !m.release.more))
			continue;
		lease++;
		grant(fd, lease, lease < LEASES && lease % 2 ? 300 * US : 0);
		if (lease < LEASES && lease % 2 == 0)
			stop(fd, lease);
		/* All is launched: the process lets the lease go by itself. */
	}
	for (int i = 0; i < THREADS; i++)
		wait_work(&w[i]);
	all = atomic_load(&fake_launches);
	assert_int_equal(all, THREADS * 20000);
	assert_int_equal(launches, all);
	assert_int_equal(atomic_load(&fake_wrong), 0);
	close(fd);
}

TEST_WITH(calls_on_a_capturing_stream_never_wait, begin, finish)
{
	struct worker w;
	int fd = start_scheduled();

	atomic_store(&fake_captures, true);
	captures_begin(FAKE_STREAM(1));
	atomic_store(&fake_allowed, true); /* a captured call does nothing */
	for (int i = 0; i < 100; i++)
		launch(FAKE_STREAM(1), 0);
	assert_int_equal(atomic_load(&fake_launches), 100);
	/* The gate still holds other streams up, the legacy stream is not disturbed, and nothing of
	 * it was counted. */
	atomic_store(&fake_allowed, false);
	start_work(&w, 3, 50, 0);
	serve(fd, &w);
	captures_end(FAKE_STREAM(1));
	assert_false(captures_any());
	close(fd);
}

/* Its work from before the capture is still waited for; work of other streams too. */
TEST_WITH(a_stream_with_work_may_capture, begin, finish)
{
	union fair_message m;
	struct worker w;
	int fd = start_scheduled();

	/* Busy for so long that the lease is not idle before the next launch. */
	/* The lease must not end before the next launch, on a slow machine either. */
	start_work(&w, 1, 1, 1000000 * US);
	expect(fd, FAIR_WANT, &m);
	grant(fd, 3, 0);
	wait_work(&w);
	launch(FAKE_STREAM(1), 10000 * US);
	captures_begin(FAKE_STREAM(1));
	gate_capture_begins(&link_.gate, FAKE_STREAM(1));
	atomic_store(&fake_captures, true);
	launch(FAKE_STREAM(1), 0);
	expect(fd, FAIR_RELEASE, &m);
	assert_int_equal(fake_pending_ns(), 0);
	assert_int_equal(atomic_load(&fake_wrong), 0);
	assert_int_equal(m.release.launches, 2);
	assert_true(m.release.gpu_ns >= 299000 * US);
	atomic_store(&fake_captures, false);
	captures_end(FAKE_STREAM(1));
	close(fd);
}

/* Work that no event follows is waited for with the context. */
TEST_WITH(the_gate_waits_for_work_without_an_event, begin, finish)
{
	union fair_message m;
	struct worker w;
	int fd = start_scheduled();

	start_work(&w, 1, 1, 300000 * US);
	expect(fd, FAIR_WANT, &m);
	grant(fd, 3, 0);
	wait_work(&w);
	launch(FAKE_FOREIGN, 30000 * US);
	stop(fd, 3);
	expect(fd, FAIR_RELEASE, &m);
	assert_int_equal(fake_pending_ns(), 0);
	assert_true(atomic_load(&fake_syncs) > 0 && m.release.gpu_ns == 0);
	close(fd);
}

/* GPU time stands still until a thread waits: whatever is pending was let through. */
TEST_WITH(the_work_in_the_queue_is_bounded_by_the_window, begin, finish)
{
	static const uint64_t kernels[] = { 3 * US, 50 * US, 300 * US, 1500 * US };
	struct gate_link none = { .wake = NULL };

	for (size_t k = 0; k < sizeof(kernels) / sizeof(kernels[0]); k++) {
		struct gate *g = &link_.gate;

		fake_reset(true);
		none = g->link;
		gate_init(g, &fake_driver, &none);
		assert_int_equal(gate_adopt(g, FAKE_CONTEXT), 0);
		gate_connect(g, 2000 * US, 500 * US);
		gate_grant(g, 1, 3600000000u * US);
		for (int i = 0; i < 3000; i++)
			launch(FAKE_STREAM(5), kernels[k]);
		assert_true(atomic_load(&fake_most_ns) <=
			    2000 * US + 2 * kernels[k] + 2000 * US / WINDOW_PARTS);
		/* More than one kernel waits where they are short: the GPU does not run dry. */
		assert_true(atomic_load(&fake_most_ns) >= 2 * kernels[k]);
		gate_disconnect(g);
	}
}

/* @slice_ns 0: no end. @return the most work that waited, after @n launches */
static uint64_t most_after(bool still, uint64_t slice_ns, int n, uint64_t kernel_ns)
{
	struct gate *g = &link_.gate;
	struct gate_link to = g->link;

	fake_reset(still);
	gate_init(g, &fake_driver, &to);
	assert_int_equal(gate_adopt(g, FAKE_CONTEXT), 0);
	gate_connect(g, 2000 * US, 500 * US);
	gate_grant(g, 1, slice_ns);
	for (int i = 0; i < n; i++)
		launch(FAKE_STREAM(5), kernel_ns);
	gate_disconnect(g);
	return atomic_load(&fake_most_ns);
}

/* Somebody may arrive, and has to wait for what is queued. */
TEST_WITH(queued_work_of_a_lease_without_end_is_bounded, begin, finish)
{
	assert_true(most_after(false, 0, 40, 20000 * US) <= (100 + 2 * 20 + 25) * 1000 * US);
	assert_true(most_after(false, 0, 2000, 300 * US) <= (100 + 2 + 25) * 1000 * US);
}

/* A kernel may wait for a launch that comes after it: a lease without end goes on without the
 * bound. */
TEST_WITH(work_that_never_ends_does_not_stop_launches_of_a_lease_without_end, begin, finish)
{
	assert_true(most_after(true, 0, 200, 20000 * US) > 0);
	assert_int_equal(atomic_load(&fake_launches), 200);
}

TEST_WITH(a_lease_without_work_is_released, begin, finish)
{
	struct worker w;
	int fd = start_scheduled();

	start_work(&w, 1, 10, 200 * US);
	assert_true(serve(fd, &w) >= 1);
	close(fd);
}

TEST_WITH(a_stop_of_another_lease_stops_nothing, begin, finish)
{
	union fair_message m;
	struct worker w;
	int fd = start_scheduled();

	start_work(&w, 1, 5, 20000 * US);
	expect(fd, FAIR_WANT, &m);
	grant(fd, 9, 0);
	stop(fd, 8);
	/* The GPU is busy all the time: nothing but a stop could end the lease. */
	wait_work(&w);
	expect(fd, FAIR_RELEASE, &m);
	assert_true(m.release.lease == 9 && m.release.launches == 5 &&
		    m.release.gpu_ns >= 5 * 19000 * US);
	close(fd);
}

/* A stream that is destroyed takes its events along: its work is waited for with the context. */
TEST_WITH(the_gate_waits_for_work_of_a_destroyed_stream, begin, finish)
{
	union fair_message m;
	struct worker w;
	int fd = start_scheduled();

	start_work(&w, 1, 3, 50000 * US);
	expect(fd, FAIR_WANT, &m);
	grant(fd, 2, 0);
	wait_work(&w);
	for (int i = 0; i < 40; i++)
		gate_forget_stream(&link_.gate, FAKE_STREAM(i));
	gate_forget_stream(&link_.gate, NULL);
	expect(fd, FAIR_RELEASE, &m);
	assert_int_equal(fake_pending_ns(), 0);
	assert_true(atomic_load(&fake_syncs) > 0);
	assert_int_equal(m.release.gpu_ns, 0);
	close(fd);
}

TEST_WITH(a_lost_arbiter_opens_the_gate_and_a_new_one_closes_it, begin, finish)
{
	union fair_message m;
	struct worker w[2];
	int fd = start_scheduled(), again;

	start_work(&w[0], 1, 100, 0);
	expect(fd, FAIR_WANT, &m);
	assert_false(atomic_load(&w[0].done));
	assert_int_equal(atomic_load(&fake_launches), 0);
	atomic_store(&fake_allowed, true);
	again = offer();
	close(fd);
	wait_work(&w[0]);
	/* A second later it tries again. */
	welcome(again);
	while (!(atomic_load(&link_.gate.word) & GATE_CLOSED))
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	start_work(&w[1], 1, 100, 0);
	assert_int_equal(atomic_load(&fake_launches), 100);
	serve(again, &w[1]);
	close(again);
}

/* A program that waits asks whether the arbiter is alive. */
TEST_WITH(launches_pass_while_the_arbiter_hangs, begin, finish)
{
	union fair_message m;
	struct worker w[2];
	int fd, again;

	link_.answer_ns = 2000000 * US;
	fd = start_scheduled();
	start_work(&w[0], 1, 100, 0);
	assert_int_equal(receive_any(fd, &m), FAIR_WANT);
	assert_int_equal(receive_any(fd, &m), FAIR_PING);
	fair_wire_begin(&m, FAIR_PONG);
	send_message(fd, &m);
	assert_int_equal(receive_any(fd, &m), FAIR_PING);
	assert_int_equal(atomic_load(&fake_launches), 0);
	atomic_store(&fake_allowed, true);
	again = offer();
	wait_work(&w[0]);
	assert_int_equal(receive_any(fd, &m), 0);
	close(fd);
	/* Nor does it answer a new connection; then it does. */
	assert_int_equal(receive_any(again, &m), FAIR_HELLO);
	start_work(&w[1], 1, 100, 0);
	wait_work(&w[1]);
	welcomes(again);
	while (!(atomic_load(&link_.gate.word) & GATE_CLOSED))
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	start_work(&w[0], 1, 100, 0);
	serve(again, &w[0]);
	close(again);
}

static void refuse(int fd, uint16_t version)
{
	union fair_message m;

	expect(fd, FAIR_HELLO, &m);
	fair_wire_begin(&m, FAIR_REFUSED);
	m.head.version = version;
	m.answer.code = -EUSERS;
	send_message(fd, &m);
	expect(fd, 0, &m);
	close(fd);
}

static void *refuse_first(void *fd)
{
	refuse(*(int *)fd, FAIR_WIRE_VERSION);
	return NULL;
}

static void start_refused(int *fd)
{
	pthread_t t;

	memset(link_.uuid, 7, sizeof(link_.uuid));
	assert_int_equal(pthread_create(&t, NULL, refuse_first, fd), 0);
	assert_int_equal(link_start(&link_, FAKE_CONTEXT), 0);
	pthread_join(t, NULL);
}

/* Also of one that speaks to an arbiter of an earlier version. */
TEST_WITH(launches_of_a_refused_program_wait, begin, finish)
{
	int fds[] = { offer(), offer(), offer() };
	struct worker w;

	start_refused(&fds[0]);
	start_work(&w, 0, 100, 0);
	refuse(fds[1], FAIR_WIRE_VERSION - 1);
	welcome(fds[2]);
	assert_int_equal(atomic_load(&fake_launches), 0);
	serve(fds[2], &w);
	assert_int_equal(atomic_load(&fake_launches), 100);
	close(fds[2]);
}

/* The arbiter has left before the program says who it is. */
TEST_WITH(a_refusal_is_read_behind_the_end_of_the_connection, begin, finish)
{
	int fds[] = { offer(), offer() };
	union fair_message m;
	struct worker w;

	fair_wire_begin(&m, FAIR_REFUSED);
	send_message(fds[0], &m);
	close(fds[0]);
	memset(link_.uuid, 7, sizeof(link_.uuid));
	assert_int_equal(link_start(&link_, FAKE_CONTEXT), 0);
	start_work(&w, 0, 100, 0);
	welcome(fds[1]);
	assert_int_equal(atomic_load(&fake_launches), 0);
	serve(fds[1], &w);
	close(fds[1]);
}

TEST_WITH(a_refused_program_goes_on_when_the_arbiter_is_gone, begin, finish)
{
	int fds[] = { offer(), offer() };
	struct worker w;

	close(fds[1]);
	start_refused(&fds[0]);
	start_work(&w, 0, 100, 0);
	wait_work(&w);
}

TEST_WITH(a_refused_program_goes_on_when_the_arbiter_hangs, begin, finish)
{
	int fds[] = { offer(), offer() };
	struct worker w;

	link_.answer_ns = 2000000 * US;
	start_refused(&fds[0]);
	start_work(&w, 0, 100, 0);
	wait_work(&w);
	close(fds[1]);
}

TEST_WITH(junk_from_the_arbiter_opens_the_gate, begin, finish)
{
	union fair_message m;
	struct worker w;
	int fd = start_scheduled();

	start_work(&w, 1, 10, 0);
	expect(fd, FAIR_WANT, &m);
	atomic_store(&fake_allowed, true);
	assert_int_equal(send(fd, "junk", 4, MSG_NOSIGNAL), 4);
	wait_work(&w);
	assert_int_equal(receive(fd, &m), 0);
	close(fd);
}

TEST_WITH(launches_of_a_forked_child_pass, begin, finish)
{
	struct worker w;
	int fd = start_scheduled(), status;
	pid_t child;

	child = fork();
	if (!child) {
		link_after_fork(&link_);
		atomic_store(&fake_allowed, true);
		for (int i = 0; i < 100; i++)
			launch(FAKE_STREAM(2), 0);
		_exit(atomic_load(&fake_launches) == 100 &&
				      !(atomic_load(&link_.gate.word) & GATE_CLOSED)
			      ? 0
			      : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	/* The parent is still a tenant. */
	start_work(&w, 1, 10, 0);
	serve(fd, &w);
	close(fd);
}

/* clone() and _Fork() run no handlers; nobody opens the gate in their child. */
TEST_WITH(launches_of_a_child_without_fork_handlers_pass, begin, finish)
{
	int fd = start_scheduled(), status;
	pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);

	if (!child) {
		alarm(20);
		atomic_store(&fake_allowed, true);
		launch(FAKE_STREAM(2), 0);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	close(fd);
}

static int bind_socket(struct sockaddr_un *at, const char *name, bool listens)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	*at = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(at->sun_path, sizeof(at->sun_path), "%s/gate-%d-%s",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", (int)getpid(), name);
	assert_int_equal(bind(fd, (const struct sockaddr *)at, sizeof(*at)), 0);
	if (listens)
		assert_int_equal(listen(fd, 4), 0);
	else
		close(fd);
	return fd;
}

/* The user's own arbiter has ended and left its socket: the gate connects to root's. */
TEST_WITH(a_stale_socket_does_not_hide_the_second_one, begin, finish)
{
	static struct settings two;
	struct sockaddr_un stale, there;
	union fair_message m;
	int server, fd;

	two = settings;
	bind_socket(&stale, "stale", false);
	server = bind_socket(&there, "there", true);
	memcpy(two.socket, stale.sun_path, sizeof(two.socket));
	memcpy(two.second, there.sun_path, sizeof(two.second));
	link_init(&link_, &fake_driver, &two, captures_now, NULL);
	assert_int_equal(link_start(&link_, FAKE_CONTEXT), 0);
	fd = accept(server, NULL, NULL);
	expect(fd, FAIR_HELLO, &m);
	link_stop(&link_);
	close(fd);
	close(server);
	unlink(stale.sun_path);
	unlink(there.sun_path);
}

/* A program may close what it did not open: all descriptors from 3 on, before it becomes a daemon.
 */
TEST_WITH(descriptors_that_the_program_closes_open_the_gate, begin, finish)
{
	union fair_message m;
	struct worker w;
	int fd = start_scheduled(), first = link_.wake_in, last = atomic_load(&link_.wake_out) + 1;

	start_work(&w, 1, 10, 0);
	expect(fd, FAIR_WANT, &m);
	atomic_store(&fake_allowed, true);
	/* Behind the back of ThreadSanitizer, which rightly calls it a race. */
	for (int i = first; i <= last; i++)
		syscall(SYS_close, i);
	wait_work(&w);
	assert_int_equal(receive(fd, &m), 0);
	close(fd);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
