/*
 * quickscorer.h - fast evaluation of ensembles of small trees (QuickScorer; Lucchese et al., SIGIR
 * 2015).
 *
 * Each feature of a row excludes leaves of all trees at once; the first leaf that remains is the
 * one the row reaches. Rows with common features share the work on them. Same bits as
 * ensemble_predict(). Constant once made.
 */
#ifndef HES_TREES_QUICKSCORER_H
#define HES_TREES_QUICKSCORER_H

#include "trees/ensemble.h"

#define QUICKSCORER_TREES 256 /* at most */
#define QUICKSCORER_ALIGN 16

struct quickscorer;

/** Leaves that are not excluded yet: a byte per tree, a bit per leaf. */
struct leaf_sets {
	_Alignas(QUICKSCORER_ALIGN) uint8_t of[QUICKSCORER_TREES];
};

/**
 * @param e    copied; its trees must be sound (ensemble.h)
 * @param out  NULL when trees are too large or too many
 * @return 0 or -ENOMEM
 */
int quickscorer_create(const struct ensemble *e, struct quickscorer **out);
void quickscorer_destroy(struct quickscorer *s);

/** No leaf is excluded. */
void quickscorer_start(const struct quickscorer *s, struct leaf_sets *out);

/**
 * Exclude leaves by some of a row's features.
 * @param row  by feature; others than these are not read
 * @param out  may be @from
 */
void quickscorer_exclude(const struct quickscorer *s, const uint8_t *features, size_t n,
			 const float *row, const struct leaf_sets *from, struct leaf_sets *out);

/** The prediction once every feature has excluded its leaves. */
void quickscorer_sum(const struct quickscorer *s, const struct leaf_sets *left, double *out);

/** All steps for one row. */
void quickscorer_predict(const struct quickscorer *s, const float *row, double *out);

#endif
