/*
 * clock_preload.c - let the clocks and waits of unmodified programs run at the lab's speed.
 *
 * Preloaded if the speed is not 1: then the times that a program measures and sleeps agree with
 * those of the virtual GPUs. CPU clocks do not change. Invariant: without a lab every call behaves
 * as in the C library.
 */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "state.h"

/* Linux 5.11, newer than some C libraries. */
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

#define EXPORT              __attribute__((visibility("default")))
#define BILLION             1000000000ll
#define MONOTONIC_END_S     1000000000
#define KERNEL_SIGSET_BYTES 8

static int64_t ns_of(const struct timespec *t)
{
	return t->tv_sec * BILLION + t->tv_nsec;
}

static struct timespec timespec_of(int64_t ns)
{
	if (ns < 0)
		ns = 0;
	return (struct timespec){ .tv_sec = ns / BILLION, .tv_nsec = ns % BILLION };
}

/* The real time from which a clock runs at the lab's speed; -1: this clock does not change. */
static int64_t clock_origin(const struct vgpu_lab *lab, clockid_t clock)
{
	switch (clock) {
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_BOOTTIME:
		return lab->origin_ns;
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
		return lab->wall_ns;
	default:
		return -1;
	}
}

static int64_t to_virtual(const struct vgpu_lab *lab, int64_t from, int64_t real)
{
	return from + (int64_t)((double)(real - from) * lab->speed);
}

static int64_t to_real(const struct vgpu_lab *lab, int64_t from, int64_t virtual)
{
	return from + (int64_t)((double)(virtual - from) / lab->speed);
}

static int64_t real_duration(int64_t ns)
{
	struct vgpu_lab *lab = vgpu_here();

	return lab ? (int64_t)((double)ns / lab->speed) : ns;
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *t)
{
	struct vgpu_lab *lab = vgpu_here();
	int64_t from;

	if (syscall(SYS_clock_gettime, clock, t))
		return -1;
	from = lab ? clock_origin(lab, clock) : -1;
	if (from >= 0)
		*t = timespec_of(to_virtual(lab, from, ns_of(t)));
	return 0;
}

EXPORT int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	struct timespec t;

	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &t))
		return -1;
	*tv = (struct timeval){ .tv_sec = t.tv_sec, .tv_usec = t.tv_nsec / 1000 };
	return 0;
}

EXPORT time_t time(time_t *out)
{
	struct timespec t;

	if (clock_gettime(CLOCK_REALTIME, &t))
		return -1;
	if (out)
		*out = t.tv_sec;
	return t.tv_sec;
}

EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *t,
			   struct timespec *left)
{
	struct vgpu_lab *lab = vgpu_here();
	int64_t from = lab ? clock_origin(lab, clock) : -1;
	struct timespec real = *t;

	if (from >= 0)
		real = timespec_of(flags & TIMER_ABSTIME ? to_real(lab, from, ns_of(t))
							 : real_duration(ns_of(t)));
	if (!syscall(SYS_clock_nanosleep, clock, flags, &real, left))
		return 0;
	if (left && lab && from >= 0 && !(flags & TIMER_ABSTIME))
		*left = timespec_of((int64_t)((double)ns_of(left) * lab->speed));
	return errno;
}

EXPORT int nanosleep(const struct timespec *t, struct timespec *left)
{
	int rc = clock_nanosleep(CLOCK_MONOTONIC, 0, t, left);

	if (rc)
		errno = rc;
	return rc ? -1 : 0;
}

EXPORT int usleep(useconds_t us)
{
	struct timespec t = timespec_of(us * 1000ll);

	return nanosleep(&t, NULL);
}

EXPORT unsigned sleep(unsigned s)
{
	struct timespec t = { .tv_sec = s }, left = { 0 };

	return nanosleep(&t, &left) ? (unsigned)left.tv_sec : 0;
}

/* Milliseconds of the lab as real time; negative: no limit. */
static struct timespec *wait_ms(int ms, struct timespec *real)
{
	*real = timespec_of(real_duration(ms * 1000000ll));
	return ms < 0 ? NULL : real;
}

EXPORT int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *t, const sigset_t *mask)
{
	struct timespec real = t ? timespec_of(real_duration(ns_of(t))) : (struct timespec){ 0 };

	return (int)syscall(SYS_ppoll, fds, n, t ? &real : NULL, mask, KERNEL_SIGSET_BYTES);
}

EXPORT int poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	struct timespec real;

	return (int)syscall(SYS_ppoll, fds, n, wait_ms(timeout_ms, &real), NULL,
			    KERNEL_SIGSET_BYTES);
}

EXPORT int pselect(int n, fd_set *restrict r, fd_set *restrict w, fd_set *restrict x,
		   const struct timespec *restrict t, const sigset_t *restrict mask)
{
	struct timespec real = t ? timespec_of(real_duration(ns_of(t))) : (struct timespec){ 0 };
	const struct {
		const sigset_t *set;
		size_t bytes;
	} with = { mask, KERNEL_SIGSET_BYTES };

	return (int)syscall(SYS_pselect6, n, r, w, x, t ? &real : NULL, &with);
}

EXPORT int select(int n, fd_set *restrict r, fd_set *restrict w, fd_set *restrict x,
		  struct timeval *restrict t)
{
	struct timespec real = { 0 };

	if (t)
		real = timespec_of(t->tv_sec * BILLION + t->tv_usec * 1000ll);
	return pselect(n, r, w, x, t ? &real : NULL, NULL);
}

/* Without epoll_pwait2: ppoll reduces @t by the time that has passed. Another thread may take the
 * event first. */
static int wait_by_poll(int fd, struct epoll_event *events, int max, struct timespec *t)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	int n = 0;

	while (n == 0 && (n = (int)syscall(SYS_ppoll, &ready, 1, t, NULL, KERNEL_SIGSET_BYTES)) > 0)
		n = (int)syscall(SYS_epoll_pwait, fd, events, max, 0, NULL, KERNEL_SIGSET_BYTES);
	return n;
}

EXPORT int epoll_wait(int fd, struct epoll_event *events, int max, int timeout_ms)
{
	struct timespec real, *t = wait_ms(timeout_ms, &real);
	/* epoll_wait() cannot wait for less than a millisecond. */
	int n = (int)syscall(SYS_epoll_pwait2, fd, events, max, t, NULL, KERNEL_SIGSET_BYTES);

	return n < 0 && errno == ENOSYS ? wait_by_poll(fd, events, max, t) : n;
}

/* Convert a deadline of the lab to a real one, for the C library. */
static struct timespec real_deadline(clockid_t clock, const struct timespec *t)
{
	struct vgpu_lab *lab = vgpu_here();
	int64_t from = lab ? clock_origin(lab, clock) : -1;

	return from >= 0 ? timespec_of(to_real(lab, from, ns_of(t))) : *t;
}

static void *find_next(void **at, const char *name)
{
	if (!*at)
		*at = dlsym(RTLD_NEXT, name);
	return *at;
}

EXPORT int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *lock, clockid_t clock,
				  const struct timespec *t)
{
	static int (*next)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
	struct timespec real = real_deadline(clock, t);

	find_next((void **)&next, __func__);
	return next(cond, lock, clock, &real);
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict lock,
				  const struct timespec *restrict t)
{
	static int (*next)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
	/* The clock of a condition cannot be queried; monotonic times are far below wall times. */
	struct timespec real =
		real_deadline(t->tv_sec > MONOTONIC_END_S ? CLOCK_REALTIME : CLOCK_MONOTONIC, t);

	find_next((void **)&next, __func__);
	return next(cond, lock, &real);
}

EXPORT int sem_clockwait(sem_t *restrict sem, clockid_t clock, const struct timespec *restrict t)
{
	static int (*next)(sem_t *, clockid_t, const struct timespec *);
	struct timespec real = real_deadline(clock, t);

	find_next((void **)&next, __func__);
	return next(sem, clock, &real);
}

EXPORT int sem_timedwait(sem_t *restrict sem, const struct timespec *restrict t)
{
	static int (*next)(sem_t *, const struct timespec *);
	struct timespec real = real_deadline(CLOCK_REALTIME, t);

	find_next((void **)&next, __func__);
	return next(sem, &real);
}
