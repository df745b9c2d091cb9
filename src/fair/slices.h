/*
 * slices.h - slices of an interval in memory of the caller's.
 */
#ifndef HES_FAIR_SLICES_H
#define HES_FAIR_SLICES_H

#include "heshare/fair.h"

/** Bytes that fair_slices_fill() needs for @n tenants. */
size_t fair_slices_room(size_t n);

/**
 * As hes_fair_slices() for a request that was checked, without allocating.
 * @param room fair_slices_room(r->n) bytes, aligned as malloc() does
 */
void fair_slices_fill(const struct hes_fair_request *r, void *room, uint64_t *slices);

/**
 * Mean power of the tenants in a slice of @slice quanta, W, where quanta are infinitely short: no
 * slice is rounded. The interval of @r does not count.
 * @param room fair_slices_room(r->n) bytes
 */
double fair_mean_power(const struct hes_fair_request *r, double slice, void *room);

/** The number in the middle of the doubles between two that are not negative. */
double fair_middle(double low, double high);

/** Bytes that fair_users_fill() needs for @n tenants of @n_users users. */
size_t fair_users_room(size_t n, size_t n_users);

/**
 * As hes_fair_slices_of_users() for a request that was checked, without allocating.
 * @param room        fair_users_room(r->n, n_users) bytes, aligned as malloc() does
 * @param user_slices [n_users]
 */
void fair_users_fill(const struct hes_fair_request *r, const struct hes_fair_user *users,
		     size_t n_users, void *room, uint64_t *user_slices, uint64_t *slices);

#endif
