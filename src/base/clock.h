/*
 * clock.h - the clocks of the machine, by their use.
 *
 * Monotonic: differences within a process; it cannot be set. Boottime: the same with the time that
 * the machine slept, equal for all processes since it started. Wall: the date, since 1970; an
 * administrator can set it back.
 */
#ifndef HES_BASE_CLOCK_H
#define HES_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t hes_clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline uint64_t hes_monotonic_ns(void)
{
	return (uint64_t)hes_clock_ns(CLOCK_MONOTONIC);
}

static inline int64_t hes_monotonic_ms(void)
{
	return (int64_t)(hes_monotonic_ns() / 1000000);
}

static inline double hes_monotonic_s(void)
{
	return (double)hes_monotonic_ns() * 1e-9;
}

static inline int64_t hes_boottime_us(void)
{
	return hes_clock_ns(CLOCK_BOOTTIME) / 1000;
}

static inline int64_t hes_wall_us(void)
{
	return hes_clock_ns(CLOCK_REALTIME) / 1000;
}

#endif
