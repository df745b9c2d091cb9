/*
 * fairness_study.h - what all figures share: replays through the run queue, rows of "paper, ours,
 * difference", and limits.
 */
#ifndef PAPERS_FAIRNESS_FAIRNESS_STUDY_H
#define PAPERS_FAIRNESS_FAIRNESS_STUDY_H

#include <stdbool.h>
#include <stdio.h>

#include "fair_replay.h"
#include "fair_series.h"
#include "panels.h"
#include "tx2.h"

#define STUDY_TENANTS 3             /* at most */
#define STUDY_QUANTA  1000          /* of an interval of 200 ms */
#define STUDY_PHI     0.7           /* of the paper, where it names none */
#define STUDY_NONE    ((double)NAN) /* the paper gives no number */

/* The paper's A1 is ResNet50 at 1300 MHz, its A2 MobileNetV2 at 726 MHz. A2's profile is not
 * published: F_E = 0.19 under time fairness (Fig. 5) means that it draws 0.19 of A1's power. */
#define MOBILENET_PART 0.19

enum study_policy {
	STUDY_TIME,
	STUDY_ENERGY,
	STUDY_ETF,
	STUDY_POLICIES, /* of the paper's figures */
	STUDY_ETF_ENERGY = STUDY_POLICIES,
};

/* What papers/README.md says of a figure: the worst that one of its claims gives. */
enum study_state { STUDY_WITHIN, STUDY_AT_LEAST, STUDY_MISSED, STUDY_INPUT };

struct study_verdict {
	const char *figure; /* NULL: none */
	enum study_state state;
	char note[120];
};

#define STUDY_FIGURES 11
#define STUDY_NEAR    0.1 /* of a part or a ratio: 10 points */

struct study {
	struct tx2 tx2;
	const char *folder; /* NULL: no pictures */
	FILE *csv;          /* rows of claims; NULL: none */
	uint64_t seconds;   /* of a replay, where the figure names none */
	size_t limits, broken;
	struct study_verdict verdicts[STUDY_FIGURES + 1]; /* by the figure's number */
};

struct shares {
	struct fair_replay_usage u[STUDY_TENANTS];
	struct hes_fairness f;
	double time[STUDY_TENANTS], energy[STUDY_TENANTS]; /* parts of the sums */
	double time_gap_s, energy_gap_j;                   /* greatest less least, by weights */
	double slice_s, slice_j;                           /* greatest of a mean turn, by weights */
};

/** A tenant that always has requests. */
struct fair_replay_tenant study_tenant(double power_w, uint64_t request_ns);
/** ResNet50 at the clock nearest to @mhz. */
struct fair_replay_tenant study_resnet50(const struct study *s, double mhz);
/** A1 and A2 of Figures 2, 5, 7 and 11, where A1 draws @ratio times A2's power. */
void study_pair(const struct study *s, double ratio, struct fair_replay_tenant t[2]);

/** One replay of s->seconds; @series may be NULL, else gets a sample a second. */
int study_replay(const struct study *s, enum study_policy policy, double phi,
		 const struct fair_replay_tenant *t, size_t n, struct fair_series *series,
		 struct shares *out, struct hes_err *err);

void study_heading(const char *figure, const char *text);
/** A row of the table: what the paper reports, or STUDY_NONE, and our value. */
void study_claim(struct study *s, const char *figure, const char *what, double paper, double ours);
/** A limit that must be held. */
void study_must(struct study *s, const char *figure, const char *what, bool held);
/** A worse state for a figure, or STUDY_INPUT. */
void study_verdict(struct study *s, const char *figure, enum study_state state, const char *note);
/** A line for each figure, and summary.csv in the folder of results. */
int study_summary(const struct study *s, struct hes_err *err);
/** A picture, unless none are wanted. */
int study_draw(const struct study *s, const char *title, const struct panel *p, size_t n,
	       const char *name, struct hes_err *err);

/* The figures. @return 0, or negative errno where a replay or a picture failed */
int figure_1(struct study *s, struct hes_err *err);
int figure_2(struct study *s, struct hes_err *err);
int figure_3(struct study *s, struct hes_err *err);
int figure_5(struct study *s, struct hes_err *err);
int figure_6(struct study *s, struct hes_err *err);
int figure_7(struct study *s, struct hes_err *err);
int figure_8(struct study *s, struct hes_err *err);
int figure_9(struct study *s, struct hes_err *err);
int figure_10(struct study *s, struct hes_err *err);
int figure_11(struct study *s, struct hes_err *err);
/** The mirror of ETF, policy etf-energy (section 4.1, last sentence). */
int mirror(struct study *s, struct hes_err *err);
/** Eq. 2 and Eq. 11 as they are printed. */
int equations(struct study *s, struct hes_err *err);
/** What power ratios the paper's numbers imply, and what each ratio would give. */
int implied_ratios(struct study *s, struct hes_err *err);

#endif
