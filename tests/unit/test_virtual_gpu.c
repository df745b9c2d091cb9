/* test_virtual_gpu.c - virtual GPUs: time and energy as in the physics, MPS, turns, faults. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "frozen.h"
#include "keeper.h"
#include "unit_test.h"
#include "virtual_gpu.h"

#define BENCH_TEST(test) TEST_ON(struct bench, t, test, setup, teardown)

#define NEAR(a, b, part) assert_true(fabs((a) - (b)) <= (part)*fabs((double)(b)))
#define SERVER           900001
#define ME               900002
#define OTHER            900003

static const char fleet_text[] = "name: three\nnodes:\n  - name: n\n    gpus: [ { type: T4, count: "
				 "2 }, { type: A100-SXM-80, count: 1 } ]\n";

struct bench {
	struct hes_catalogue catalogue;
	struct hes_fleet fleet;
	struct hes_model *model;
	struct vgpu_lab *lab;
	struct lab_gpu *t4, *a100;
};

static int setup(void **state)
{
	struct bench *t = calloc(1, sizeof(*t));
	char path[64];

	snprintf(path, sizeof(path), "/tmp/virtual_gpu.%d", (int)getpid());
	unlink(path);
	if (hes_catalogue_load(NULL, &t->catalogue, NULL) ||
	    hes_model_load(NULL, &t->model, NULL) ||
	    hes_fleet_parse("three", fleet_text, strlen(fleet_text), &t->catalogue, &t->fleet,
			    NULL) ||
	    vgpu_create(path, &t->fleet, t->model, 1, &t->lab, NULL))
		return -1;
	unlink(path);
	t->t4 = &t->lab->gpus[0];
	t->a100 = &t->lab->gpus[2];
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct bench *t = *state;

	vgpu_detach(t->lab);
	hes_model_free(t->model);
	hes_fleet_free(&t->fleet);
	hes_catalogue_free(&t->catalogue);
	free(t);
	return 0;
}

static struct vgpu_client *join(struct lab_gpu *b, pid_t pid, pid_t server, uint32_t pct)
{
	int error = 0;
	struct vgpu_client *c = lab_gpu_join(b, pid, server, pct, 0, 1 << 20, &error);

	assert_non_null(c);
	return c;
}

static void launch(struct bench *t, struct lab_gpu *b, struct vgpu_client *c, const char *workload,
		   uint32_t batch, double iterations)
{
	const struct hes_workload *w = hes_model_workload(t->model, workload, NULL);
	struct vgpu_launch l = { .workload = (uint32_t)(w - t->model->workloads),
				 .batch = batch,
				 .left = iterations };

	assert_non_null(w);
	assert_true(lab_gpu_launch(b, c, &l));
}

/* The state of a GPU with these jobs at its default clock, from the physics. */
static struct hes_instant physics(struct bench *t, const struct lab_gpu *b,
				  const struct hes_model_job *r, size_t n, struct hes_rate *rates)
{
	struct hes_instant at;

	assert_int_equal(hes_model_instant(t->model, &b->type, 0, 0, r, n, rates, &at, NULL), 0);
	return at;
}

static struct hes_model_job job(struct bench *t, const char *workload, uint32_t batch, uint32_t pct)
{
	return (struct hes_model_job){ hes_model_workload(t->model, workload, NULL), batch, pct };
}

BENCH_TEST(a_job_alone_takes_the_time_and_energy_of_the_physics)
{
	struct hes_model_job r = job(t, "resnet50", 16, 100);
	struct hes_rate rate;
	struct hes_instant at = physics(t, t->t4, &r, 1, &rate);
	struct vgpu_client *c;
	double seconds = 500 / rate.iterations_per_s;

	lab_gpu_advance(t->lab, t->t4, 1);
	c = join(t->t4, ME, 0, 100);
	launch(t, t->t4, c, "resnet50", 16, 300);
	launch(t, t->t4, c, "resnet50", 16, 200);
	lab_gpu_advance(t->lab, t->t4, 1 + seconds * 0.999);
	assert_int_equal(c->completed, 1);
	NEAR(t->t4->total.energy_j, 10 + at.power_mw * 1e-3 * seconds * 0.999, 1e-4);
	lab_gpu_advance(t->lab, t->t4, 1 + seconds * 1.001);
	assert_int_equal(c->completed, 2);
	NEAR(c->ended_s[1], 1 + seconds, 1e-6);
}

BENCH_TEST(energy_does_not_depend_on_when_it_is_read)
{
	struct lab_gpu *other = &t->lab->gpus[1];

	for (int gpu = 0; gpu < 2; gpu++)
		launch(t, &t->lab->gpus[gpu], join(&t->lab->gpus[gpu], ME, 0, 100), "vgg19", 8, 40);
	lab_gpu_advance(t->lab, t->t4, 30);
	for (int i = 1; i <= 3000; i++)
		lab_gpu_advance(t->lab, other, i * 0.01);
	assert_true(t->t4->total.energy_j > 300);
	NEAR(other->total.energy_j, t->t4->total.energy_j, 1e-9);
	NEAR(lab_gpu_sample(other, 29).energy_j, lab_gpu_sample(t->t4, 29).energy_j, 1e-9);
}

BENCH_TEST(clients_of_one_server_run_together_with_their_shares)
{
	struct hes_model_job r[2] = { job(t, "bert-large", 8, 60), job(t, "resnet50", 16, 40) };
	struct hes_rate rates[2];
	struct hes_instant at = physics(t, t->a100, r, 2, rates);
	struct vgpu_client *a = join(t->a100, ME, SERVER, 60),
			   *b = join(t->a100, OTHER, SERVER, 40);

	launch(t, t->a100, a, "bert-large", 8, 1e6);
	launch(t, t->a100, b, "resnet50", 16, 1e6);
	lab_gpu_advance(t->lab, t->a100, 1);
	NEAR(a->rate, rates[0].iterations_per_s, 1e-9);
	NEAR(b->rate, rates[1].iterations_per_s, 1e-9);
	NEAR(t->a100->power_w, at.power_mw * 1e-3, 1e-4);
}

/* 1.2 times as long next to the other is 1.8 times as long with four times the interference. */
BENCH_TEST(co_runners_interfere_as_much_as_the_fault_says)
{
	struct hes_model_job r[2] = { job(t, "bert-large", 8, 60), job(t, "resnet50", 16, 40) };
	struct hes_rate shared[2], alone;
	struct vgpu_client *c[2] = { join(t->a100, ME, SERVER, 60),
				     join(t->a100, OTHER, SERVER, 40) };
	static const double times[] = { 4, 0 };
	double slower;

	physics(t, t->a100, r, 2, shared);
	launch(t, t->a100, c[0], "bert-large", 8, 1e6);
	launch(t, t->a100, c[1], "resnet50", 16, 1e6);
	for (int k = 0; k < 2; k++) {
		lab_gpu_set_interference(t->a100, times[k], 10);
		lab_gpu_advance(t->lab, t->a100, k + 1);
		for (int i = 0; i < 2; i++) {
			physics(t, t->a100, &r[i], 1, &alone);
			slower = alone.iterations_per_s / shared[i].iterations_per_s - 1;
			assert_true(fabs(alone.iterations_per_s / c[i]->rate - 1 -
					 times[k] * slower) < 1e-6);
		}
	}
	lab_gpu_advance(t->lab, t->a100, 13);
	NEAR(c[0]->rate, shared[0].iterations_per_s, 1e-9);
}

BENCH_TEST(without_mps_processes_run_in_turns)
{
	struct hes_model_job r = job(t, "resnet50", 16, 100);
	struct vgpu_client *a = join(t->a100, ME, 0, 30), *b = join(t->a100, OTHER, 0, 100);
	struct hes_rate rate;

	physics(t, t->a100, &r, 1, &rate);
	launch(t, t->a100, a, "resnet50", 16, 1e6);
	launch(t, t->a100, b, "resnet50", 16, 1e6);
	lab_gpu_advance(t->lab, t->a100, 1);
	NEAR(a->rate, rate.iterations_per_s / 2, 1e-9);
	NEAR(b->rate, rate.iterations_per_s / 2, 1e-9);
	lab_gpu_leave(t->a100, b);
	lab_gpu_advance(t->lab, t->a100, 2);
	NEAR(a->rate, rate.iterations_per_s, 1e-9);
}

BENCH_TEST(a_crash_fails_the_clients_of_its_server_only)
{
	struct vgpu_client *a = join(t->a100, ME, SERVER, 50),
			   *b = join(t->a100, OTHER, SERVER, 50);
	struct vgpu_client *c = join(t->a100, ME, 0, 100);

	launch(t, t->a100, a, "resnet50", 16, 1e6);
	lab_gpu_advance(t->lab, t->a100, 1);
	lab_gpu_set_fault(t->a100, VGPU_FAULT_CRASH, 10);
	lab_gpu_advance(t->lab, t->a100, 2);
	assert_int_equal(a->error, VGPU_CUDA_LAUNCH_FAILED);
	assert_int_equal(b->error, VGPU_CUDA_LAUNCH_FAILED);
	assert_int_equal(c->error, 0);
	assert_int_equal(t->a100->xid, 31);
	launch(t, t->a100, c, "resnet50", 16, 10);
	lab_gpu_advance(t->lab, t->a100, 9);
	assert_int_equal(c->error, 0);
	assert_int_equal(c->completed, 1);
}

BENCH_TEST(a_hanging_launch_continues_when_the_fault_ends)
{
	struct vgpu_client *c = join(t->t4, ME, 0, 100);
	struct hes_model_job r = job(t, "resnet50", 16, 100);
	struct hes_rate rate;

	physics(t, t->t4, &r, 1, &rate);
	launch(t, t->t4, c, "resnet50", 16, rate.iterations_per_s * 5);
	lab_gpu_advance(t->lab, t->t4, 1);
	lab_gpu_set_fault(t->t4, VGPU_FAULT_HANG, 100);
	lab_gpu_advance(t->lab, t->t4, 100);
	assert_int_equal(c->completed, 0);
	assert_true(isinf(lab_gpu_next_s(t->t4)));
	lab_gpu_advance(t->lab, t->t4, 104.9);
	assert_int_equal(c->completed, 0);
	lab_gpu_advance(t->lab, t->t4, 105.1);
	assert_int_equal(c->completed, 1);
}

BENCH_TEST(a_locked_clock_holds_without_power_limit_or_fault)
{
	struct vgpu_client *c = join(t->t4, ME, 0, 100);

	launch(t, t->t4, c, "resnet50", 16, 1e9);
	t->t4->lock_min_mhz = t->t4->lock_max_mhz = 600;
	lab_gpu_reconfigure(t->t4);
	lab_gpu_advance(t->lab, t->t4, 1);
	NEAR(t->t4->clock_mhz, 600, 1e-9);
	assert_false(t->t4->throttled);
	lab_gpu_set_fault(t->t4, VGPU_FAULT_LOCK_IGNORED, 5);
	lab_gpu_advance(t->lab, t->t4, 3);
	assert_true(t->t4->clock_mhz > 700);
	lab_gpu_advance(t->lab, t->t4, 7);
	NEAR(t->t4->clock_mhz, 600, 1e-9);
	t->t4->lock_min_mhz = t->t4->lock_max_mhz = 1590;
	lab_gpu_reconfigure(t->t4);
	lab_gpu_advance(t->lab, t->t4, 8);
	assert_true(t->t4->throttled);
	assert_true(t->t4->clock_mhz < 1400);
}

BENCH_TEST(memory_is_allocated_once)
{
	uint64_t all = lab_gpu_memory_total(t->t4), used;
	struct vgpu_client *a = join(t->t4, ME, 0, 100), *b;
	int error = 0;

	used = lab_gpu_memory_used(t->t4);
	assert_int_equal(lab_gpu_allocate(t->t4, a, all - used + 1), VGPU_CUDA_OUT_OF_MEMORY);
	assert_int_equal(lab_gpu_memory_used(t->t4), used);
	assert_int_equal(lab_gpu_allocate(t->t4, a, all - used), 0);
	assert_null(lab_gpu_join(t->t4, OTHER, 0, 100, 0, 1, &error));
	assert_int_equal(error, VGPU_CUDA_OUT_OF_MEMORY);
	lab_gpu_leave(t->t4, a);
	b = lab_gpu_join(t->t4, OTHER, SERVER, 100, 64 << 20, 1 << 20, &error);
	assert_non_null(b);
	assert_int_equal(lab_gpu_allocate(t->t4, b, 64 << 20), VGPU_CUDA_OUT_OF_MEMORY);
	assert_int_equal(lab_gpu_allocate(t->t4, b, 63 << 20), 0);
}

BENCH_TEST(the_forty_ninth_context_is_refused)
{
	int error = 0;

	for (int i = 0; i < VGPU_MAX_CLIENTS; i++)
		join(t->a100, ME + i, SERVER, 10);
	assert_null(lab_gpu_join(t->a100, OTHER, SERVER, 10, 0, 0, &error));
	assert_int_equal(error, VGPU_CUDA_MPS_MAX_CLIENTS);
}

BENCH_TEST(an_idle_context_draws_power)
{
	struct vgpu_client *c;

	lab_gpu_advance(t->lab, t->a100, 1);
	NEAR(t->a100->power_w, 55, 1e-9);
	c = join(t->a100, ME, 0, 100);
	lab_gpu_advance(t->lab, t->a100, 2);
	assert_true(t->a100->power_w > 60 && t->a100->power_w < 110);
	lab_gpu_leave(t->a100, c);
	lab_gpu_advance(t->lab, t->a100, 3);
	NEAR(t->a100->power_w, 55, 1e-9);
}

BENCH_TEST(a_process_that_has_ended_has_no_start_time)
{
	assert_true(vgpu_process_started(getpid()) > 0);
	assert_int_equal(vgpu_process_started(0x3fffffff), 0);
}

/* An idle process that ends with the test. */
static pid_t process(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* As a real driver's, whose locks are in the kernel: a stopped process holds up no other. */
BENCH_TEST(the_owner_of_a_lock_can_be_stopped)
{
	int ends[2], status;
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		vgpu_lock(t->lab, t->t4);
		write(ends[1], "l", 1);
		raise(SIGSTOP);
		vgpu_unlock(t->t4);
		pause();
	}
	assert_int_equal(read(ends[0], &byte, 1), 1);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	vgpu_lock(t->lab, t->t4);
	vgpu_unlock(t->t4);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(ends[0]);
	close(ends[1]);
}

static void write_text(const char *folder, const char *file, const char *text)
{
	char path[FROZEN_FOLDER_MAX + 32];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	f = fopen(path, "we");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

BENCH_TEST(the_owner_of_a_lock_can_be_frozen_with_its_cgroup)
{
	char own[FROZEN_FOLDER_MAX - 32], folder[FROZEN_FOLDER_MAX], in[FROZEN_FOLDER_MAX], byte;
	int ends[2], status;
	pid_t pid;

	if (!frozen_folder(getpid(), in) || strlen(in) >= sizeof(own))
		skip();
	snprintf(own, sizeof(own), "%s", in);
	snprintf(folder, sizeof(folder), "%s/lab-%d", own, (int)getpid());
	if (mkdir(folder, 0755))
		skip();
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		vgpu_lock(t->lab, t->t4);
		write(ends[1], "l", 1);
		raise(SIGSTOP);
		vgpu_unlock(t->t4);
		for (;;)
			pause();
	}
	assert_int_equal(read(ends[0], &byte, 1), 1);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	snprintf(in, sizeof(in), "%d", (int)pid);
	write_text(folder, "cgroup.procs", in);
	write_text(folder, "cgroup.freeze", "1");
	kill(pid, SIGCONT);
	while (!frozen_in(pid, in))
		usleep(1000);
	vgpu_lock(t->lab, t->t4);
	vgpu_unlock(t->t4);
	while (!frozen_in(pid, in))
		usleep(1000);
	assert_string_equal(in, folder);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	while (rmdir(folder) && errno == EBUSY)
		usleep(1000);
	close(ends[0]);
	close(ends[1]);
}

BENCH_TEST(a_stopped_client_of_mps_holds_up_the_others_by_the_fault_alone)
{
	pid_t server = process(), other = process();
	struct vgpu_client *c = join(t->a100, getpid(), server, 50),
			   *stopped = join(t->a100, other, server, 50);
	double left;
	int status;

	launch(t, t->a100, c, "resnet50", 16, 1e9);
	launch(t, t->a100, stopped, "resnet50", 16, 1e9);
	kill(other, SIGSTOP);
	assert_int_equal(waitpid(other, &status, WUNTRACED), other);
	lab_gpu_advance(t->lab, t->a100, 1);
	left = c->queue[c->head].left;
	assert_true(left < 1e9);
	lab_gpu_set_fault(t->a100, VGPU_FAULT_STALL, 100);
	lab_gpu_advance(t->lab, t->a100, 2);
	assert_true(c->queue[c->head].left == left && t->a100->busy == 0);
	kill(other, SIGCONT);
	assert_int_equal(waitpid(other, &status, WCONTINUED), other);
	lab_gpu_advance(t->lab, t->a100, 3);
	lab_gpu_advance(t->lab, t->a100, 4);
	assert_true(c->queue[c->head].left < left);
	end(other);
	end(server);
}

BENCH_TEST(a_server_that_died_early_fails_its_clients)
{
	pid_t server = process();
	struct vgpu_client *client = join(t->a100, getpid(), server, 50),
			   *alone = join(t->t4, getpid(), 0, 100);
	struct vgpu_keeper k;

	assert_int_equal(vgpu_keeper_init(&k, t->lab, -1), 0);
	end(server);
	vgpu_keeper_wait(&k, 0);
	assert_int_equal(client->error, VGPU_CUDA_MPS_RPC_FAILURE);
	assert_int_equal(client->pid, getpid());
	assert_int_equal(alone->error, 0);
	vgpu_keeper_finish(&k);
}

BENCH_TEST(contexts_of_ended_processes_close_and_a_dead_server_fails_its_clients)
{
	pid_t server = process(), other = process();
	struct vgpu_client *client = join(t->a100, getpid(), server, 50),
			   *second = join(t->a100, other, server, 50);
	struct vgpu_keeper k;

	assert_int_equal(vgpu_keeper_init(&k, t->lab, -1), 0);
	vgpu_keeper_wait(&k, 0);
	assert_int_equal(second->pid, other);
	end(other);
	vgpu_keeper_wait(&k, 0);
	assert_int_equal(second->pid, 0);
	assert_int_equal(client->error, 0);
	end(server);
	vgpu_keeper_wait(&k, 0);
	assert_int_equal(client->error, VGPU_CUDA_MPS_RPC_FAILURE);
	vgpu_keeper_finish(&k);
}

static void spin(struct lab_gpu *b, struct vgpu_client *c, double us)
{
	assert_true(
		lab_gpu_launch(b, c, &(struct vgpu_launch){ .workload = VGPU_SPIN, .left = us }));
}

BENCH_TEST(a_spin_takes_the_same_time_at_any_clock)
{
	struct vgpu_client *c = join(t->a100, ME, 0, 100);
	double energy, busy_w, slow_w;

	spin(t->a100, c, 2e6);
	lab_gpu_advance(t->lab, t->a100, 1);
	busy_w = t->a100->power_w;
	t->a100->lock_min_mhz = t->a100->lock_max_mhz = 600;
	lab_gpu_reconfigure(t->a100);
	lab_gpu_advance(t->lab, t->a100, 1.5);
	slow_w = t->a100->power_w;
	energy = t->a100->total.energy_j;
	lab_gpu_advance(t->lab, t->a100, 3);
	assert_int_equal(c->completed, 1);
	NEAR(c->ended_s[0], 2, 1e-9);
	assert_true(busy_w > 1.2 * slow_w && slow_w > t->a100->power_w);
	assert_true(energy > busy_w);
}

static double account_of(const struct lab_gpu *b, pid_t pid)
{
	double gpu_s = 0;

	for (size_t i = 0; i < VGPU_ACCOUNTS; i++)
		gpu_s += b->accounts[i].pid == pid ? b->accounts[i].gpu_s : 0;
	return gpu_s;
}

/* One alone for a second, two in turns for two seconds, the first again; clients of a server share
 * a turn. */
BENCH_TEST(gpu_time_is_counted_per_process_and_kept_after_its_end)
{
	struct vgpu_client *a = join(t->t4, ME, 0, 100), *b;

	spin(t->t4, a, 10e6);
	lab_gpu_advance(t->lab, t->t4, 1);
	b = join(t->t4, OTHER, 0, 100);
	spin(t->t4, b, 1e6);
	lab_gpu_advance(t->lab, t->t4, 4);
	NEAR(a->gpu_s, 3, 1e-9);
	NEAR(b->gpu_s, 1, 1e-9);
	NEAR(t->t4->held_s, 4, 1e-9);
	lab_gpu_leave(t->t4, b);
	b = join(t->t4, OTHER, 0, 100);
	spin(t->t4, b, 0.5e6);
	lab_gpu_advance(t->lab, t->t4, 6);
	lab_gpu_leave(t->t4, b);
	lab_gpu_leave(t->t4, a);
	lab_gpu_advance(t->lab, t->t4, 8);
	NEAR(account_of(t->t4, OTHER), 1.5, 1e-9);
	NEAR(account_of(t->t4, ME), 4.5, 1e-9);
	NEAR(t->t4->held_s, 6, 1e-9);
	spin(t->a100, join(t->a100, ME, SERVER, 50), 1e6);
	spin(t->a100, b = join(t->a100, OTHER, SERVER, 50), 2e6);
	lab_gpu_advance(t->lab, t->a100, 3);
	NEAR(b->gpu_s, 1.5, 1e-9);
	NEAR(t->a100->held_s, 2, 1e-9);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
