/*
 * test_arbiter_in_lab.c - the arbiter's server in a thread, its GPU threads on virtual GPUs, and
 * clients in further threads.
 *
 * Clients come, work, go and send nonsense at once; then the server gets the order to end. Built
 * with ThreadSanitizer this shows that the server and its threads share nothing without a lock.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "arbiter/gpu_thread.h"
#include "arbiter/server.h"
#include "base/clock.h"
#include "guarded.h"
#include "heshare/tenant_power.h"
#include "unit_test.h"

#define CLIENTS 6
#define GPUS    2

struct world {
	char folder[64], socket[96], store[96];
	struct hes_devices *devices;
	size_t gpus[GPUS];
	struct arbiter_server_config c;
	uint8_t uuids[GPUS][16];
	atomic_bool serves;
	atomic_uint notes;
	int rc;
	struct hes_err err;
};

struct client {
	const struct world *w;
	pthread_t thread;
	unsigned number, leases, refused;
};

static void world_started(void *ctx, const struct arbiter_gpu_config *gpus, size_t n)
{
	struct world *w = ctx;

	for (size_t i = 0; i < n; i++)
		memcpy(w->uuids[i], gpus[i].uuid, 16);
	atomic_store(&w->serves, true);
}

static void world_note(void *ctx, const struct arbiter_note *n)
{
	struct world *w = ctx;

	(void)n;
	atomic_fetch_add(&w->notes, 1);
}

static void world_say(void *ctx, size_t gpu, const char *sentence)
{
	(void)ctx;
	print_message("# GPU %zu: %s\n", gpu, sentence);
}

static void world_open(struct world *w)
{
	memset(w, 0, sizeof(*w));
	guarded_folder(w->folder);
	snprintf(w->socket, sizeof(w->socket), "%s/fair.sock", w->folder);
	snprintf(w->store, sizeof(w->store), "%s/store.db", w->folder);
	assert_int_equal(hes_devices_open(NULL, &w->devices, NULL), 0);
	w->gpus[1] = 4;
	w->c = (struct arbiter_server_config){
		.arbiter = { .queue = { hes_fair_policy_find("etf", NULL), 0.7, 20, 1000000 },
			     .connections = 32,
			     .per_user = 16,
			     .max_weight = 1,
			     .owner = getuid(),
			     .patience_ns = 300000000,
			     .profile_ns = 500000000,
			     .window_ns = 2000000,
			     .idle_ns = 500000,
			     .clocks = true },
		.devices = w->devices,
		.gpus = w->gpus,
		.n_gpus = GPUS,
		.socket = w->socket,
		.store = w->store,
		.guard = guarded_argv,
		.started = world_started,
		.note = world_note,
		.say = world_say,
		.ctx = w,
	};
}

static void world_close(struct world *w)
{
	hes_devices_close(w->devices);
	guarded_remove(w->folder);
}

static void *serve(void *ctx)
{
	struct world *w = ctx;

	w->rc = arbiter_serve(&w->c, &w->err);
	return NULL;
}

static int client_connect(const struct world *w)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	memcpy(to.sun_path, w->socket, sizeof(w->socket));
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

static void client_hello(const struct client *c, int fd)
{
	union fair_message m;
	size_t length = fair_wire_begin(&m, FAIR_HELLO);

	memcpy(m.hello.gpu, c->w->uuids[c->number % GPUS], 16);
	m.hello.weight = 1;
	m.hello.clock_mhz = c->number % 3 ? 0 : 600;
	snprintf(m.hello.tenant, sizeof(m.hello.tenant), "t%u", c->number);
	send(fd, &m, length, MSG_NOSIGNAL);
	send(fd, &m, fair_wire_begin(&m, FAIR_WANT), MSG_NOSIGNAL);
}

static void client_release(int fd, const struct fair_grant *g)
{
	const struct timespec work = { .tv_nsec = 3000000 };
	union fair_message m;
	size_t length = fair_wire_begin(&m, FAIR_RELEASE);

	nanosleep(&work, NULL);
	m.release.lease = g->lease;
	m.release.gpu_ns = 3000000;
	m.release.more = 1;
	send(fd, &m, length, MSG_NOSIGNAL);
}

/* Leases for a while; the last client sends what is no packet, and asks for STATUS again and again.
 */
static void *client_run(void *ctx)
{
	struct client *c = ctx;
	int fd = client_connect(c->w);
	union fair_message m;
	uint64_t end = hes_monotonic_ns() + 2500000000;
	char packet[512];
	ssize_t n;

	client_hello(c, fd);
	while (hes_monotonic_ns() < end && (n = recv(fd, packet, sizeof(packet), 0)) > 0) {
		assert_int_equal(fair_wire_parse(packet, (size_t)n, &m), 0);
		if (m.head.type == FAIR_GRANT) {
			c->leases++;
			client_release(fd, &m.grant);
			if (c->number == 1 && c->leases % 4 == 0)
				send(fd, &m, fair_wire_begin(&m, FAIR_STATUS), MSG_NOSIGNAL);
			if (c->number == 5 && c->leases > 10)
				send(fd, packet, 3, MSG_NOSIGNAL);
		}
		c->refused += m.head.type == FAIR_REFUSED;
	}
	close(fd);
	return NULL;
}

TEST(clients_and_threads_of_gpus_work_at_once)
{
	const struct timespec nap = { .tv_nsec = 10000000 };
	struct client clients[CLIENTS];
	struct hes_store *store;
	pthread_t server;
	struct world w;

	world_open(&w);
	assert_int_equal(pthread_create(&server, NULL, serve, &w), 0);
	while (!atomic_load(&w.serves))
		nanosleep(&nap, NULL);
	for (unsigned i = 0; i < CLIENTS; i++) {
		clients[i] = (struct client){ .w = &w, .number = i };
		assert_int_equal(pthread_create(&clients[i].thread, NULL, client_run, &clients[i]),
				 0);
	}
	for (unsigned i = 0; i < CLIENTS; i++) {
		pthread_join(clients[i].thread, NULL);
		assert_true(clients[i].leases > 0);
		assert_int_equal(clients[i].refused, 0);
	}
	kill(getpid(), SIGTERM);
	pthread_join(server, NULL);
	if (w.rc)
		fail_msg("%s", w.err.msg);
	assert_true(atomic_load(&w.notes) >= 2 * CLIENTS);
	assert_int_not_equal(access(w.socket, F_OK), 0);
	assert_int_equal(hes_store_open(w.store, HES_STORE_READ, 0, &store, NULL), 0);
	hes_store_close(store);
	world_close(&w);
}

TEST(a_second_server_is_refused_and_changes_nothing)
{
	const struct timespec nap = { .tv_nsec = 10000000 };
	struct world w, second;
	pthread_t server;
	int fd;

	world_open(&w);
	assert_int_equal(pthread_create(&server, NULL, serve, &w), 0);
	while (!atomic_load(&w.serves))
		nanosleep(&nap, NULL);
	second = w;
	second.c.ctx = &second;
	serve(&second);
	assert_int_equal(second.rc, -EADDRINUSE);
	fd = client_connect(&w);
	close(fd);
	kill(getpid(), SIGTERM);
	pthread_join(server, NULL);
	assert_int_equal(w.rc, 0);
	world_close(&w);
}

TEST(orders_of_a_gpu_are_bounded_and_answered_in_turn)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	struct gpu_thread_config c = { .guard = guarded_argv };
	struct gpu_thread *t;
	struct arbiter_report r;
	struct world w;
	uint64_t ordered = 0, answered = 0;

	world_open(&w);
	c.devices = w.devices;
	c.folder = w.folder;
	c.wake = open("/dev/null", O_WRONLY | O_CLOEXEC); /* nobody is woken */
	assert_int_equal(hes_device_info(w.devices, 0, &c.info, NULL), 0);
	assert_int_equal(gpu_thread_start(&c, &t, NULL), 0);
	while (ordered < 5000 &&
	       gpu_thread_order(t, &(struct arbiter_order){ .kind = ORDER_ENERGY, .tag = ordered }))
		ordered++;
	assert_true(ordered >= 64 && ordered < 5000);
	while (answered < ordered) {
		if (!gpu_thread_take(t, &r)) {
			nanosleep(&nap, NULL);
		} else if (r.kind == REPORT_READY) {
			assert_true(r.refresh_ns > 10000000 && r.refresh_ns < 1000000000);
		} else {
			assert_int_equal(r.kind, REPORT_ENERGY);
			assert_int_equal(r.tag, answered++);
			assert_true(r.energy.joules >= 0);
		}
	}
	assert_int_equal(gpu_thread_stop(t, NULL), 0);
	close(c.wake);
	world_close(&w);
}

int main(int argc, char **argv)
{
	sigset_t end;
	int status;

	if (guarded_main(argc, argv, &status))
		return status;
	/* The server's descriptor takes the signal, whichever thread gets it. */
	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &end, NULL);
	return run_unit_tests(NULL, NULL);
}
