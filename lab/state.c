/*
 * state.c - make, map and lock the lab's state; see state.h.
 *
 * Clocks are read by system call: in processes of the lab, functions of the C library run at the
 * lab's speed (clock_preload.c).
 */
#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "frozen.h"
#include "virtual_gpu.h"

#define MAGIC 0x3162616c65726873ull
/* a spin draws the power of this workload, or of the first one */
#define SPIN_LIKE       "resnet50"
#define LONGEST_SLEEP_S 1.0      /* real time; then the waiting process checks again */
#define LOCK_NS         20000000 /* real time until the owner of a lock is looked at */

static int64_t real_ns(clockid_t clock)
{
	struct timespec t;

	syscall(SYS_clock_gettime, clock, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void init_lock(pthread_mutex_t *lock)
{
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(lock, &a);
	pthread_mutexattr_destroy(&a);
}

static int check_size(const struct hes_fleet *f, const struct hes_model *m, struct hes_err *err)
{
	if (f->n > VGPU_MAX_GPUS)
		return hes_fail(err, -E2BIG, "%s: %zu GPUs; the lab has room for %d", f->name, f->n,
				VGPU_MAX_GPUS);
	if (m->n_gpus > VGPU_MAX_TYPES || m->n_workloads > VGPU_MAX_WORKLOADS)
		return hes_fail(err, -E2BIG,
				"physics of %zu GPU types and %zu workloads; the lab has room for "
				"%d and %d",
				m->n_gpus, m->n_workloads, VGPU_MAX_TYPES, VGPU_MAX_WORKLOADS);
	for (size_t i = 0; i < f->n; i++)
		if (!hes_model_gpu(m, f->gpus[i].type->name))
			return hes_fail(err, -ENOENT,
					"%s: the model has no parameters for GPU type \"%s\"",
					f->gpus[i].name, f->gpus[i].type->name);
	return 0;
}

static void fill_state(struct vgpu_lab *lab, const struct hes_fleet *f, const struct hes_model *m,
		       double speed)
{
	lab->bytes = sizeof(*lab);
	lab->keeper = getpid();
	lab->origin_ns = real_ns(CLOCK_MONOTONIC);
	lab->wall_ns = real_ns(CLOCK_REALTIME);
	lab->speed = speed;
	lab->nature = m->nature;
	lab->n_types = (uint32_t)m->n_gpus;
	lab->n_workloads = (uint32_t)m->n_workloads;
	memcpy(lab->types, m->gpus, m->n_gpus * sizeof(*m->gpus));
	memcpy(lab->workloads, m->workloads, m->n_workloads * sizeof(*m->workloads));
	for (uint32_t i = 0; i < lab->n_workloads; i++)
		if (strcmp(lab->workloads[i].name, SPIN_LIKE) == 0)
			lab->spin_workload = i;
	for (size_t i = 0; i < f->n; i++) {
		struct lab_gpu *b = &lab->gpus[i];

		init_lock(&b->lock);
		b->type = *f->gpus[i].type;
		b->power_limit_mw = b->type.power_limit_mw;
		b->stale = true;
		b->persistence = true;
		snprintf(b->node, sizeof(b->node), "%s", f->gpus[i].node);
		/* Two labs have different UUIDs. */
		snprintf(b->uuid, sizeof(b->uuid), "GPU-1ab00000-%04x-4%03x-8%03x-%012zx",
			 (unsigned)getpid() & 0xffff, (unsigned)(lab->origin_ns >> 8) & 0xfff,
			 (unsigned)(lab->origin_ns >> 20) & 0xfff, i + 1);
		b->temperature_c = VGPU_COOL_C;
	}
	lab->n_gpus = (uint32_t)f->n;
	lab->magic = MAGIC;
}

void vgpu_name_machine(struct vgpu_lab *lab, uint64_t machine)
{
	for (uint32_t i = 0; i < lab->n_gpus; i++) {
		struct lab_gpu *b = &lab->gpus[i];
		const uint64_t type = hes_hash_text(machine, b->type.name);
		unsigned of_type = 1;

		for (uint32_t k = 0; k < i; k++)
			of_type += strcmp(lab->gpus[k].type.name, b->type.name) == 0;
		snprintf(b->uuid, sizeof(b->uuid), "GPU-1ab00000-%04x-4%03x-8%03x-%08x%04x",
			 (unsigned)machine & 0xffff, (unsigned)(machine >> 16) & 0xfff,
			 (unsigned)(machine >> 28) & 0xfff, (unsigned)(type ^ type >> 32), of_type);
	}
}

static int map_state(const char *path, int fd, struct vgpu_lab **out, struct hes_err *err)
{
	void *at = mmap(NULL, sizeof(**out), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return hes_fail(err, -errno, "%s: cannot be mapped: %s", path, strerror(errno));
	*out = at;
	return 0;
}

int vgpu_create(const char *path, const struct hes_fleet *f, const struct hes_model *m,
		double speed, struct vgpu_lab **out, struct hes_err *err)
{
	int rc = check_size(f, m, err), fd;

	if (rc)
		return rc;
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return hes_fail(err, -errno, "%s: %s", path, strerror(errno));
	/* All users of the lab share it; ignore the umask. */
	if (fchmod(fd, 0666) || ftruncate(fd, (off_t)sizeof(**out)))
		rc = hes_fail(err, -errno, "%s: %s", path, strerror(errno));
	if (!rc)
		rc = map_state(path, fd, out, err);
	close(fd);
	if (!rc)
		fill_state(*out, f, m, speed);
	return rc;
}

int vgpu_attach(const char *path, struct vgpu_lab **out, struct hes_err *err)
{
	int fd = open(path, O_RDWR | O_CLOEXEC), rc;
	struct vgpu_lab *lab = NULL;
	struct stat st;

	if (fd < 0)
		return hes_fail(err, -errno, "%s: no lab: %s", path, strerror(errno));
	if (fstat(fd, &st) || st.st_size != (off_t)sizeof(*lab)) {
		close(fd);
		return hes_fail(err, -EINVAL, "%s: is not the state of a lab of this version",
				path);
	}
	rc = map_state(path, fd, &lab, err);
	close(fd);
	if (rc)
		return rc;
	if (lab->magic != MAGIC || lab->bytes != sizeof(*lab)) {
		vgpu_detach(lab);
		return hes_fail(err, -EINVAL, "%s: is not the state of a lab of this version",
				path);
	}
	*out = lab;
	return 0;
}

void vgpu_detach(struct vgpu_lab *lab)
{
	if (lab)
		munmap(lab, sizeof(*lab));
}

static struct vgpu_lab *here;

static void find_here(void)
{
	const char *path = getenv(VGPU_ENV);

	if (path && vgpu_attach(path, &here, NULL))
		here = NULL;
}

struct vgpu_lab *vgpu_here(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_here);
	return here;
}

double vgpu_now(const struct vgpu_lab *lab)
{
	return (double)(real_ns(CLOCK_MONOTONIC) - lab->origin_ns) * 1e-9 * lab->speed;
}

uint64_t vgpu_wall_us(const struct vgpu_lab *lab, double now_s)
{
	return (uint64_t)(lab->wall_ns / 1000) + (uint64_t)(now_s * 1e6);
}

/* @return 0; -1 no such process */
static int read_stat(pid_t pid, char *state, uint64_t *started)
{
	char path[32], text[512];
	unsigned long long ticks;
	const char *after;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	/* The name in parentheses may contain anything: fields count from its end. */
	after = strrchr(text, ')');
	if (!after || sscanf(after + 1,
			     " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
			     "%*d %*d %llu",
			     state, &ticks) != 2)
		return -1;
	*started = ticks;
	return 0;
}

uint64_t vgpu_process_started(pid_t pid)
{
	uint64_t started;
	char state;

	return read_stat(pid, &state, &started) || state == 'Z' || state == 'X' ? 0 : started;
}

bool vgpu_process_stands_still(pid_t pid)
{
	char state, folder[FROZEN_FOLDER_MAX];
	uint64_t started;

	return !read_stat(pid, &state, &started) && (state == 'T' || frozen_in(pid, folder));
}

/* A process that stood still and goes on for a moment. */
struct woken {
	pid_t pid;                      /* 0: none */
	char folder[FROZEN_FOLDER_MAX]; /* of its frozen cgroup; "": it was stopped by a signal */
};

/* A driver's locks are in the kernel, where no process is stopped: the owner goes on, if it stands
 * still, until it has given the lock back. */
static void wake_owner(const struct lab_gpu *b, struct woken *w)
{
	const pid_t owner = b->owner;
	struct woken now = { .pid = owner };
	uint64_t started;
	char state;

	if (!owner || read_stat(owner, &state, &started) || started != b->owner_started)
		return;
	if (state == 'T' ? !kill(owner, SIGCONT)
			 : frozen_in(owner, now.folder) && frozen_leave(owner, now.folder))
		*w = now;
}

static void woken_return(const struct woken *w)
{
	if (w->pid && *w->folder)
		frozen_return(w->pid, w->folder);
	else if (w->pid)
		kill(w->pid, SIGSTOP);
}

void vgpu_lock(struct vgpu_lab *lab, struct lab_gpu *b)
{
	static _Thread_local pid_t self;
	static _Thread_local uint64_t started;
	struct woken woken = { 0 };
	int rc;

	if (self != getpid()) {
		self = getpid();
		started = vgpu_process_started(self);
	}
	do {
		const int64_t until = real_ns(CLOCK_REALTIME) + LOCK_NS;
		const struct timespec t = { until / 1000000000, until % 1000000000 };

		rc = pthread_mutex_timedlock(&b->lock, &t);
		if (rc == ETIMEDOUT && !woken.pid)
			wake_owner(b, &woken);
	} while (rc == ETIMEDOUT);
	b->owner = self;
	b->owner_started = started;
	/* If the owner died, the state is still valid for an earlier moment. */
	if (rc == EOWNERDEAD)
		pthread_mutex_consistent(&b->lock);
	woken_return(&woken);
	lab_gpu_advance(lab, b, vgpu_now(lab));
}

void vgpu_unlock(struct lab_gpu *b)
{
	b->owner = 0;
	pthread_mutex_unlock(&b->lock);
}

void vgpu_wake(struct lab_gpu *b)
{
	__atomic_add_fetch(&b->changed, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &b->changed, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

void vgpu_sleep(const struct vgpu_lab *lab, struct lab_gpu *b, uint32_t seen, double until_s)
{
	double s = fmin((until_s - vgpu_now(lab)) / lab->speed, LONGEST_SLEEP_S);
	struct timespec t;

	if (!(s > 0))
		return;
	t.tv_sec = (time_t)s;
	t.tv_nsec = (long)((s - (double)t.tv_sec) * 1e9);
	syscall(SYS_futex, &b->changed, FUTEX_WAIT, seen, &t, NULL, 0);
}
