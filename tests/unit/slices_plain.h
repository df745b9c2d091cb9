/*
 * slices_plain.h - Algorithm 1 of the paper line by line, the definition that slices.c is tested
 * against.
 */
#ifndef SLICES_PLAIN_H
#define SLICES_PLAIN_H

#include "heshare/fair.h"

/** Called after each quantum that line 6 deals out: @tenant has it. */
typedef void fair_assigned_fn(size_t tenant, const uint64_t *slices, void *ctx);

/** As hes_fair_slices(), in time proportional to T times @n. @assigned may be NULL. */
int fair_slices_plain(const struct hes_fair_request *r, uint64_t *slices,
		      fair_assigned_fn *assigned, void *ctx, struct hes_err *err);

#endif
