/*
 * quickscorer.h - small trees as sets of leaves: each feature of a row rules
 * leaves out, of all trees at once, and the first one that none rules out is
 * where the row comes to (QuickScorer; Lucchese et al., SIGIR 2015).
 *
 * What the features that rows have in common rule out need be found once.
 * Gives the same bits as ensemble_predict(). Constant once made.
 */
#ifndef HES_TREES_QUICKSCORER_H
#define HES_TREES_QUICKSCORER_H

#include "trees/ensemble.h"

#define SIEVE_TREES 256 /* at most; */
#define SIEVE_BYTE  16

struct sieve;

/** Leaves that are not ruled out: a byte a tree, a bit a leaf. As far as sieve_bytes() go; the rest is never touched. */
struct sieve_left {
	_Alignas(SIEVE_BYTE) uint8_t of[SIEVE_TREES];
};

/**
 * @param e    need not outlive it; its trees must be sound (ensemble.h)
 * @param out  NULL where trees are too large, or too many
 * @return 0 or -ENOMEM
 */
int  sieve_create(const struct ensemble *e, struct sieve **out);
void sieve_destroy(struct sieve *s);

/** Bytes of struct sieve_left that count. */
size_t sieve_bytes(const struct sieve *s);

/** Rule out none. */
void sieve_fill(const struct sieve *s, struct sieve_left *out);

/**
 * Rule leaves out by some of a row's features.
 * @param row  by feature; others than these are not read
 * @param out  may be @from
 */
void sieve_pass(const struct sieve *s, const uint8_t *features, size_t n, const float *row, const struct sieve_left *from,
		struct sieve_left *out);

/** As ensemble_predict(). */
void sieve_predict(const struct sieve *s, const float *row, double *out);

/** What is said of a row all of whose features have passed. */
void sieve_say(const struct sieve *s, const struct sieve_left *left, double *out);

#endif
