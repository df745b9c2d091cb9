/*
 * study.h - what all studies share: how to run, where results go, what must hold.
 *
 * A study prints a table to standard output, writes its CSV file and pictures into the output
 * folder, and has its limits checked.
 */
#ifndef PAPERS_STUDY_H
#define PAPERS_STUDY_H

#include <stdio.h>

#include "parts.h"
#include "testbed.h"

#define STUDY_CLAIMS 32
#define STUDY_POINTS 10 /* percentage points that count as reproduced */

/** How a statement of the paper came out: the first three by falling favour. */
enum verdict { WITHIN_POINTS, AT_LEAST, MISSED, AN_INPUT, NEEDS_HARDWARE };

struct claim {
	enum verdict verdict;
	char where[16], what[144];
};

/** Options of `evaluate`; where the results of a run go. */
struct study {
	const char *output; /* folder */
	const char *only;   /* study to run; NULL: all */
	uint64_t seed;
	double noise_pct;
	uint64_t threads; /* 0: all processors */
	uint64_t trees;   /* 0: the library's default */
	bool quick;       /* fewer repetitions */
	size_t failed;    /* checks that failed */
	struct claim claims[STUDY_CLAIMS];
	size_t n_claims;
};

/** The paper's method with extra trees, and heshare's model. */
enum { METHOD_PAPER_ET, METHOD_CORRECTED, METHODS };

extern const char *const method_names[METHODS];

/** Print whether @value is at most @limit, and count it where not. NaN fails. */
void study_check(struct study *s, const char *what, double value, double limit);
/**
 * Note how a percentage of the paper came out: within STUDY_POINTS, else at least as good, else
 * missed.
 * @param where   figure or table
 * @param better  1: more is better, -1: less is, 0: neither
 */
void study_claim(struct study *s, const char *where, const char *what, double paper, double ours,
		 int better);
/** Note a statement of the paper that holds (at least) or not (missed), an input, or what needs
 * hardware. */
void study_claim_text(struct study *s, enum verdict verdict, const char *where, const char *fmt,
		      ...) HES_PRINTF(4, 5);
/** Print a line for each; write summary.csv with a row for each figure and table, whose least
 * favourable statement gives its state (papers/README.md). */
int study_summary(const struct study *s, struct hes_err *err);
/** Create a CSV file NAME in the output folder and write its header line. @return NULL with a
 * reason */
FILE *study_csv(const struct study *s, const char *name, const char *header, struct hes_err *err);
/** Close it. @return 0; -EIO with a reason: not everything was written */
int study_csv_end(FILE *f, struct hes_err *err);
/**
 * The paper's random split of rows: they fall into ten subsets, and of these @tenths are drawn to
 * learn from.
 * @param use  [n]; filled
 */
int study_choose_rows(uint64_t seed, size_t n, uint32_t tenths, bool *use, struct hes_err *err);

/** A pair at a split, as predicted. */
struct predicted {
	double rate, power_w;
};

/** Errors of the sum of throughputs and of power on rows that were not learnt from; loss of the
 * chosen split against the oracle's throughput per watt; percent. */
enum { SCORE_RATE, SCORE_POWER, SCORE_LOSS, SCORES };

/** Learn from the pairs that @use marks, and predict all. @param out  one for each set of t->pairs
 */
int study_learn(const struct study *s, const struct testbed *t, int method, const bool *use,
		struct predicted *out, struct hes_err *err);
/** What a model predicts. @param out  as above */
void study_predict(const struct testbed *t, const struct hes_partition_model *m,
		   struct predicted *out);
/** Of a pair, the split with the most predicted throughput per watt. */
size_t study_best_split(const struct predicted *p, size_t pair);
/**
 * @param use   rows that do not count in the errors
 * @param with  the loss is of the pairs with this workload; TESTBED_JOBS: of all
 */
void study_score(const struct testbed *t, const struct predicted *p, const bool *use, size_t with,
		 double out[SCORES]);

/** Progress to standard error. */
void study_progress(const char *fmt, ...) HES_PRINTF(1, 2);
double study_seconds(void);
/** Processor time of this thread. */
double study_cpu_seconds(void);

/* The studies, in the order of the paper. Each returns 0 or a negative errno with a reason. */
int study_table1(struct study *s, const struct testbed *t, struct hes_err *err);
int study_learning(struct study *s, const struct testbed *t,
		   struct hes_err *err); /* figures 1 and 2 */
int study_unseen(struct study *s, const struct testbed *t,
		 struct hes_err *err); /* figures 3 and 4 */
int study_many_jobs(struct study *s, const struct testbed *t, struct hes_err *err);
int study_predictor(struct study *s, const struct testbed *t,
		    struct hes_err *err); /* heshare's co-run predictor */
int study_export(struct study *s, const struct testbed *t,
		 struct hes_err *err); /* rows for compare_sklearn.py */

#endif
