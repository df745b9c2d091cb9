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

#endif
