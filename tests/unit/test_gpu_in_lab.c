/*
 * test_gpu_in_lab.c - src/gpu on GPUs: discovery, readings, settings, MPS. Run inside the lab
 * (tests/meson.build); jobs and faults are the lab's programs.
 */
#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "gpu/nvml.h"
#include "heshare/device.h"
#include "heshare/measure.h"
#include "heshare/mps.h"
#include "launch/contexts.h"
#include "unit_test.h"

#define T4   0
#define V100 4
#define A100 6

static struct hes_catalogue catalogue;
static struct hes_devices *devices;

static int open_gpus(void **state)
{
	struct hes_err err;

	(void)state;
	if (!hes_catalogue_load(NULL, &catalogue, &err) &&
	    !hes_devices_open(&catalogue, &devices, &err))
		return 0;
	print_error("%s\n", err.msg);
	return -1;
}

static int close_gpus(void **state)
{
	(void)state;
	hes_devices_close(devices);
	hes_catalogue_free(&catalogue);
	return 0;
}

static void fault(const char *spec)
{
	char line[64];

	snprintf(line, sizeof(line), "vgpu-fault %s", spec);
	assert_int_equal(system(line), 0);
}

static int clear(void **state)
{
	(void)state;
	fault("all:clear");
	return 0;
}

static void sleep_s(double s)
{
	struct timespec t = { .tv_sec = (time_t)s, .tv_nsec = (long)((s - floor(s)) * 1e9) };

	nanosleep(&t, NULL);
}

/* A job on a GPU; @m: through MPS. */
static pid_t start_job(const char *device, const char *iterations, const struct hes_mps *m,
		       unsigned pct, uint32_t memory_mib)
{
	char rows[4][HES_MPS_VARIABLE_MAX];
	size_t n = m ? hes_mps_variables(m, pct, memory_mib, rows) : 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	setsid();
	for (size_t i = 0; i < n; i++)
		putenv(rows[i]);
	if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
		_exit(126);
	execlp("vgpu-task", "vgpu-task", "--workload", "resnet50", "--batch", "16", "--iterations",
	       iterations, "--device", m ? "0" : device, (char *)NULL);
	_exit(127);
}

static int end_job(pid_t pid, int sig)
{
	int status = 0;

	if (sig)
		kill(pid, sig);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Wait until the GPU is busy. */
static void await_load(size_t gpu)
{
	struct hes_reading r = { 0 };

	for (int i = 0; i < 20000 && !(r.busy_pct > 50); i++) {
		assert_int_equal(hes_device_read(devices, gpu, HES_HAS_ALL, &r, NULL), 0);
		sleep_s(0.1);
	}
	assert_true(r.busy_pct > 50);
}

TEST(the_testbed_is_found)
{
	static const char *const types[] = { "T4",          "T4",           "T4",
					     "T4",          "V100-PCIe-32", "V100-PCIe-32",
					     "A100-SXM-80", "A100-SXM-80" };
	struct hes_device_info b;

	assert_int_equal(hes_devices_count(devices), N(types));
	for (size_t i = 0; i < N(types); i++) {
		assert_int_equal(hes_device_info(devices, i, &b, NULL), 0);
		assert_string_equal(b.type, types[i]);
		assert_int_equal(hes_devices_find(devices, b.uuid), i);
		assert_int_equal(hes_devices_find(devices, b.bus), i);
		assert_int_equal(b.can & HES_CAN_READ_ENERGY, HES_CAN_READ_ENERGY);
	}
	assert_int_equal(b.power_limit_mw, 400000);
	assert_int_equal(hes_devices_find(devices, "7"), 7);
	assert_int_equal(hes_devices_find(devices, "8"), -ENOENT);
	assert_int_equal(hes_devices_find(devices, ""), -ENOENT);
	assert_int_equal(hes_device_info(devices, 8, &b, NULL), -EINVAL);
}

/* @return code, of GPUs of the testbed's types, of which @list is kept */
static int kept(const char *list, struct hes_devices **out, struct hes_err *err)
{
	if (hes_devices_open(&catalogue, out, err))
		fail_msg("%s", err->msg);
	return hes_devices_keep(*out, "LIST", list, err);
}

TEST(gpus_that_a_list_names_are_kept_and_numbered_in_its_order)
{
	struct hes_device_info first, b;
	struct hes_devices *d;
	char list[100];
	struct hes_err err = { 0 };

	assert_int_equal(hes_device_info(devices, T4, &first, NULL), 0);
	snprintf(list, sizeof(list), "%d,%s,%d", A100, first.uuid, V100);
	assert_int_equal(kept(list, &d, &err), 0);
	assert_int_equal(hes_devices_count(d), 3);
	assert_int_equal(hes_device_info(d, 0, &b, NULL), 0);
	assert_string_equal(b.type, "A100-SXM-80");
	assert_int_equal(hes_device_info(d, 1, &b, NULL), 0);
	assert_string_equal(b.uuid, first.uuid);
	assert_int_equal(hes_devices_find(d, "2"), 2);
	assert_int_equal(hes_devices_find(d, "3"), -ENOENT);
	hes_devices_close(d);
}

TEST(lists_that_name_no_gpu_leave_none)
{
	static const char *const none[] = { "", "-1", "NoDevFiles" };

	for (size_t i = 0; i < N(none); i++) {
		struct hes_devices *d;
		struct hes_err err = { 0 };

		assert_int_equal(kept(none[i], &d, &err), 0);
		assert_int_equal(hes_devices_count(d), 0);
		hes_devices_close(d);
	}
}

TEST(a_list_that_is_wrong_is_refused_and_all_gpus_stay)
{
	static const struct {
		const char *list;
		int rc;
		const char *sentence;
	} bad[] = {
		{ "8", -ENOENT,
		  "LIST names GPU \"8\", and there is no such GPU; NVML shows 8, from 0 on" },
		{ "0,x", -ENOENT, "LIST names GPU \"x\"" },
		{ "GPU-1ab", -EINVAL, "LIST names GPU \"GPU-1ab\", and several UUIDs begin so" },
		{ "0,", -ENOENT, "LIST names GPU \"\"" },
		{ "2,1,2", -EEXIST, "LIST names GPU \"2\" twice" },
		{ "MIG-GPU-1/2/0", -ENOTSUP, "LIST names MIG-GPU-1/2/0, a MIG instance" },
		{ "MIG-41b36e0e-5f8b", -ENOTSUP, "LIST names MIG-41b36e0e-5f8b, a MIG instance" },
	};

	for (size_t i = 0; i < N(bad); i++) {
		struct hes_devices *d;
		struct hes_err err = { 0 };

		assert_int_equal(kept(bad[i].list, &d, &err), bad[i].rc);
		if (!strstr(err.msg, bad[i].sentence))
			fail_msg("%s", err.msg);
		assert_int_equal(hes_devices_count(d), 8);
		hes_devices_close(d);
	}
}

TEST(a_gpu_is_described_as_its_row_does)
{
	static const char *const as[] = { "T4", "V100-PCIe-32", "A100-SXM-80" };
	static const size_t gpus[] = { 0, 4, 6 };

	for (size_t i = 0; i < N(gpus); i++) {
		const struct hes_gpu_type *row = hes_gpu_type_find(&catalogue, as[i], NULL);
		struct hes_gpu_type g;

		assert_int_equal(hes_device_describe(devices, gpus[i], &g, NULL), 0);
		assert_string_equal(g.name, as[i]);
		assert_string_equal(g.driver_names[0], row->driver_names[0]);
		assert_int_equal(g.compute, row->compute);
		assert_int_equal(g.sm_count, row->sm_count);
		assert_int_equal(g.memory_mib, row->memory_mib);
		assert_int_equal(g.memory_bandwidth_gbs, row->memory_bandwidth_gbs);
		assert_int_equal(g.power_limit_mw, row->power_limit_mw);
		assert_true(g.pcie_gbs == row->pcie_gbs && g.clock_step_mhz == row->clock_step_mhz);
		assert_int_equal(g.n_clocks, row->n_clocks);
		assert_memory_equal(g.clocks_mhz, row->clocks_mhz, sizeof(g.clocks_mhz));
		assert_in_range(g.l2_kib, row->l2_kib * 3 / 4, row->l2_kib * 5 / 4);
	}
}

TEST(what_nvml_does_not_report_is_named)
{
	int (*bus_width)(void *, unsigned *) = devices->nvml.bus_width;
	struct hes_gpu_type g = { .sm_count = 99 };
	struct hes_err err;

	devices->nvml.bus_width = NULL;
	assert_int_equal(hes_device_describe(devices, V100, &g, &err), -ENOTSUP);
	devices->nvml.bus_width = bus_width;
	assert_string_equal(err.msg, "GPU 4: NVML does not report its memory's bus width and "
				     "clock; give its type a row in a catalogue");
	assert_int_equal(g.sm_count, 99);
	assert_int_equal(hes_device_describe(devices, 8, &g, &err), -EINVAL);
}

TEST_WITH(a_lock_holds_under_load_and_the_power_limit_caps_it, NULL, clear)
{
	struct hes_reading r;
	pid_t job = start_job("0", "1000000", NULL, 0, 0);

	await_load(T4);
	assert_int_equal(hes_device_lock_clock(devices, T4, 600, NULL), 0);
	assert_int_equal(hes_device_read(devices, T4, HES_HAS_ALL, &r, NULL), 0);
	assert_int_equal(hes_lock_state(&r, 600), HES_LOCK_HELD);
	assert_int_equal(hes_device_lock_clock(devices, T4, 1590, NULL), 0);
	assert_int_equal(hes_device_read(devices, T4, HES_HAS_ALL, &r, NULL), 0);
	assert_int_equal(hes_lock_state(&r, 1590), HES_LOCK_CAPPED);
	fault("0:lock-ignored");
	assert_int_equal(hes_device_lock_clock(devices, T4, 600, NULL), 0);
	assert_int_equal(hes_device_read(devices, T4, HES_HAS_ALL, &r, NULL), 0);
	assert_int_equal(hes_lock_state(&r, 600), HES_LOCK_IGNORED);
	assert_int_equal(hes_device_unlock_clock(devices, T4, NULL), 0);
	assert_int_equal(end_job(job, SIGKILL), 128 + SIGKILL);
}

TEST_WITH(without_rights_the_error_says_who_has_them, NULL, clear)
{
	struct hes_err err = { 0 };

	fault("4:no-permission");
	assert_int_equal(hes_device_lock_clock(devices, V100, 900, &err), -EPERM);
	assert_non_null(
		strstr(err.msg,
		       "GPU 4: locking its clock at 900 MHz: the driver allows it to root alone"));
}

TEST_WITH(a_missing_reading_is_not_valid, NULL, clear)
{
	struct hes_reading r;

	fault("0:sensor-gap");
	assert_int_equal(hes_device_read(devices, T4, HES_HAS_ALL, &r, NULL), 0);
	assert_int_equal(r.has & (HES_HAS_POWER | HES_HAS_ENERGY | HES_HAS_CLOCK), 0);
	assert_true(r.has & HES_HAS_TEMPERATURE);
	assert_int_equal(hes_lock_state(&r, 600), HES_LOCK_UNKNOWN);
}

TEST_WITH(a_lost_gpu_differs_from_one_without_a_sensor, NULL, clear)
{
	struct hes_reading r = { .has = 12345 };
	struct hes_err err = { 0 };

	fault("1:gpu-lost");
	assert_int_equal(hes_device_read(devices, 1, HES_HAS_ALL, &r, &err), -ENODEV);
	assert_non_null(strstr(err.msg, "GPU 1: reading its sensors: the GPU is lost"));
	assert_int_equal(r.has, 12345);
	assert_int_equal(hes_device_read(devices, 2, HES_HAS_ALL, &r, &err), 0);
}

TEST(windows_nest_and_sum)
{
	const size_t gpus[] = { A100, T4 };
	struct hes_measured outer[2], inner[2];
	struct hes_window *o, *i;
	struct hes_meter *m;

	assert_int_equal(hes_meter_start(&m, devices, gpus, 2, NULL), 0);
	assert_true(hes_meter_period_s(m) >= HES_METER_FASTEST_S &&
		    hes_meter_period_s(m) <= HES_METER_SLOWEST_S);
	assert_int_equal(hes_window_begin(m, &o, NULL), 0);
	sleep_s(8);
	assert_int_equal(hes_window_begin(m, &i, NULL), 0);
	sleep_s(20);
	hes_window_end(i, inner);
	sleep_s(8);
	hes_window_end(o, outer);
	hes_meter_stop(m);
	assert_true(inner[0].seconds >= 20 && outer[0].seconds >= inner[0].seconds + 16);
	for (int k = 0; k < 2; k++) {
		double idle_w = k ? 10 : 55;

		assert_int_equal(inner[k].from, HES_ENERGY_COUNTER);
		/* The counter moves ten times a second: at both ends a tenth is uncertain, less
		 * what the meter corrects. */
		assert_true(fabs(inner[k].mean_w / idle_w - 1) < 0.03);
		assert_true(fabs(inner[k].integral_j / inner[k].seconds / idle_w - 1) < 0.02);
		assert_true(fabs(inner[k].power_s - inner[k].seconds) < 1e-6);
		assert_true(outer[k].energy_j > inner[k].energy_j &&
			    outer[k].samples > inner[k].samples);
	}
}

TEST_WITH(a_gap_is_reported_and_the_counter_bridges_it, NULL, clear)
{
	const size_t gpus[] = { A100 };
	struct hes_measured m[1];
	struct hes_window *w;
	struct hes_meter *meter;

	assert_int_equal(hes_meter_start(&meter, devices, gpus, 1, NULL), 0);
	assert_int_equal(hes_window_begin(meter, &w, NULL), 0);
	sleep_s(5);
	fault("6:sensor-gap");
	hes_window_look_at(w, 0, m);
	assert_int_equal(m[0].from, HES_ENERGY_INTEGRAL);
	assert_true(fabs(m[0].mean_w / 55 - 1) < 0.02);
	sleep_s(10);
	fault("6:clear");
	sleep_s(5);
	hes_window_look_at(w, 0, m);
	assert_int_equal(m[0].from, HES_ENERGY_COUNTER);
	assert_true(m[0].seconds - m[0].power_s >= 10 && m[0].power_s > 5);
	assert_true(m[0].longest_gap_s >= 10);
	assert_true(fabs(m[0].mean_w / 55 - 1) < 0.05);
	hes_window_end(w, m);
	hes_meter_stop(meter);
}

static struct hes_mps start_mps(size_t gpu, char dir[32])
{
	struct hes_device_info b;
	struct hes_mps m;
	struct hes_err err;

	strcpy(dir, "/tmp/heshare-mps-XXXXXX");
	assert_non_null(mkdtemp(dir));
	assert_int_equal(hes_device_info(devices, gpu, &b, NULL), 0);
	if (hes_mps_start(&m, b.uuid, dir, &err))
		fail_msg("%s", err.msg);
	return m;
}

static void remove_dir(const char *dir)
{
	char line[64];

	snprintf(line, sizeof(line), "rm -rf %s", dir);
	assert_int_equal(system(line), 0);
}

TEST(mps_serves_one_gpu_with_shares_and_limits)
{
	pid_t jobs[2], clients[8], server;
	struct hes_mps m, twice;
	struct hes_err err;
	char dir[32];

	m = start_mps(A100, dir);
	assert_int_equal(hes_mps_start(&twice, m.uuid, dir, &err), -EEXIST);
	assert_int_equal(hes_mps_server(&m, &server, NULL), -ESRCH);
	assert_int_equal(hes_mps_clients(&m, clients, N(clients), NULL), 0);
	jobs[0] = start_job("", "1000000", &m, 0, 0);
	jobs[1] = start_job("", "1000000", &m, 30, 0);
	await_load(A100);
	while (hes_mps_clients(&m, clients, N(clients), NULL) < 2)
		sleep_s(0.1);
	assert_true(clients[0] == jobs[0] || clients[1] == jobs[0]);
	assert_int_equal(hes_mps_server(&m, &server, NULL), 0);
	/* A job that wants more than its limit does not get it. */
	assert_int_equal(end_job(start_job("", "10", &m, 10, 1024), 0), 1);
	/* A client that is terminated fails; the other goes on. */
	assert_int_equal(hes_mps_terminate(&m, jobs[0], NULL), 0);
	assert_int_equal(end_job(jobs[0], 0), 1);
	assert_int_equal(waitpid(jobs[1], NULL, WNOHANG), 0);
	assert_int_equal(hes_mps_quit(&m, 1, NULL), 0);
	assert_int_equal(end_job(jobs[1], 0), 1);
	assert_false(hes_mps_alive(&m));
	assert_int_equal(hes_mps_quit(&m, 1, NULL), -EPIPE);
	assert_int_equal(kill(server, 0), -1);
	remove_dir(dir);
}

TEST(a_server_that_dies_takes_its_clients_and_a_new_one_comes)
{
	pid_t job, server, next;
	struct hes_mps m;
	char dir[32];

	m = start_mps(V100, dir);
	job = start_job("", "1000000", &m, 50, 0);
	await_load(V100);
	assert_int_equal(hes_mps_server(&m, &server, NULL), 0);
	fault("4:mps-death");
	assert_int_equal(end_job(job, 0), 1);
	while (!kill(server, 0))
		sleep_s(0.1);
	assert_int_equal(end_job(start_job("", "10", &m, 50, 0), 0), 0);
	assert_int_equal(hes_mps_server(&m, &next, NULL), 0);
	assert_int_not_equal(next, server);
	assert_int_equal(hes_mps_quit(&m, 1, NULL), 0);
	remove_dir(dir);
}

/* Look until GPU @gpu has so many contexts besides those of MPS servers. */
static void await_contexts(size_t gpu, size_t want, const struct hes_member_rule *rules, size_t n,
			   struct hes_contexts *c)
{
	size_t clients = SIZE_MAX;

	for (int i = 0; i < 20000 && clients != want; i++) {
		struct hes_err err;

		if (hes_contexts_look(devices, gpu, rules, n, c, &err))
			fail_msg("%s", err.msg);
		clients = 0;
		for (size_t k = 0; k < c->n; k++)
			clients += !c->v[k].server;
		sleep_s(0.1);
	}
	assert_int_equal(clients, want);
}

TEST(processes_that_use_a_gpu_are_listed_while_they_do)
{
	int32_t *active = NULL;
	pid_t job;

	assert_int_equal(hes_device_active_processes(devices, A100, 2, &active, NULL), 0);
	free(active);
	job = start_job("6", "1000000", NULL, 0, 0);
	await_load(A100);
	assert_int_equal(hes_device_active_processes(devices, A100, 2, &active, NULL), 1);
	assert_int_equal(active[0], job);
	free(active);
	end_job(job, SIGKILL);
	assert_int_equal(hes_device_active_processes(devices, 99, 2, &active, NULL), -EINVAL);
}

/* Two jobs by MPS, one of them ours, and one without MPS that belongs to nobody. */
TEST(contexts_are_listed_with_the_job_they_belong_to)
{
	struct hes_contexts c = { 0 };
	struct hes_member_rule rules[2] = { { .mark = "", .cgroup = "", .mps_pipe = "" },
					    { .mark = "", .cgroup = "" } };
	struct hes_mps m;
	uint64_t all = 0;
	size_t servers = 0;
	pid_t ours, other, foreign;
	char dir[32], text[160];

	m = start_mps(V100, dir);
	rules[1].mps_pipe = m.pipe_dir;
	ours = start_job("", "1000000", &m, 50, 0);
	other = start_job("", "1000000", &m, 50, 0);
	assert_int_equal(hes_process_of(ours, &rules[0].leader), 0);
	await_contexts(V100, 2, rules, 2, &c);
	/* One that comes later is found, too. */
	foreign = start_job("4", "1000000", NULL, 0, 0);
	await_contexts(V100, 3, rules, 2, &c);
	for (size_t i = 0; i < c.n; i++) {
		const struct hes_context *o = &c.v[i];

		servers += o->server;
		all += o->server ? 0 : o->memory_bytes;
		assert_int_equal(o->of, o->server           ? 1
					: o->id.pid == ours ? 0
							    : HES_CONTEXT_FOREIGN);
		assert_true(o->has_memory && o->memory_bytes >= 256 << 20);
		assert_int_equal(o->user, getuid());
		assert_true(i == 0 || o[-1].id.pid < o->id.pid);
	}
	assert_int_equal(servers, 1);
	assert_true(all > 3ull * 256 << 20);
	for (size_t i = 0; i < c.n; i++)
		if (c.v[i].id.pid == foreign) {
			hes_context_text(&c.v[i], text, sizeof(text));
			assert_non_null(strstr(text, " (vgpu-task) of user "));
			assert_non_null(strstr(text, " MiB"));
		}
	end_job(ours, SIGKILL);
	end_job(other, SIGKILL);
	end_job(foreign, SIGKILL);
	await_contexts(V100, 0, rules, 2, &c);
	hes_contexts_free(&c);
	assert_int_equal(hes_mps_quit(&m, 0, NULL), 0);
	remove_dir(dir);
}

TEST(a_killed_daemons_directory_can_be_used_again)
{
	struct hes_mps m;
	struct hes_err err;
	char dir[32], path[HES_MPS_PATH_MAX + 40], uuid[80];
	int pid = 0;
	FILE *f;

	m = start_mps(5, dir);
	snprintf(uuid, sizeof(uuid), "%s", m.uuid);
	snprintf(path, sizeof(path), "%s/nvidia-cuda-mps-control.pid", m.pipe_dir);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d", &pid), 1);
	fclose(f);
	kill(pid, SIGKILL);
	while (hes_mps_alive(&m))
		sleep_s(0.1);
	if (hes_mps_start(&m, uuid, dir, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(hes_mps_quit(&m, 0, NULL), 0);
	remove_dir(dir);
}

int main(void)
{
	return run_unit_tests(open_gpus, close_gpus);
}
