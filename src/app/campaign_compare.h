/*
 * campaign_compare.h - policies on several sets of jobs: means, the differences from a reference
 * set by set, and on how many sets a policy needs no more energy and time. Also how far
 * results vary over draws of the GPU model's uncertain parameters.
 */
#ifndef HES_APP_CAMPAIGN_COMPARE_H
#define HES_APP_CAMPAIGN_COMPARE_H

#include "app/campaign.h"
#include "app/campaign_set.h"

struct compared {
	const struct campaign *c; /* of the first set: its contenders */
	size_t n;                 /* sets */
	size_t n_who;
	struct hes_totals *v;           /* [set * n_who + who], means over the seeds; owned */
	struct hes_report_policy *rows; /* means over the sets; owned */
	size_t reference;
};

/** @param reference  a contender; NULL: exclusive, or the first. @return 0; -ENOMEM; call
 * compared_finish() in any case */
int compared_init(struct compared *x, const struct campaign_sets *s, const char *reference,
		  struct hes_err *err);
void compared_finish(struct compared *x);

struct compared_difference {
	double mean, low, high; /* %; low and high NAN with one set */
};

/** Mean of the differences from the reference on each set, with its 95 % interval. */
struct compared_difference compared_difference(const struct compared *x, size_t who,
					       double (*of)(const struct hes_totals *));
/** Sets on which a contender needs no more fleet energy and no more completion time than another.
 */
size_t compared_no_more(const struct compared *x, size_t who, size_t than);
bool compared_same_method(const struct compared *x, size_t a, size_t b);

/** Percent, rounded: 5th percentile, median, 95th percentile. */
struct draws_range {
	long low, median, high;
};

double draws_time(const struct hes_totals *t);
double draws_energy(const struct hes_totals *t);

/** Change of a figure of contender @who from @reference over the draws.
 * @param v  room for a number a draw */
struct draws_range draws_change(const struct campaign *c, size_t who, size_t reference,
				double (*of)(const struct hes_totals *), double *v);
/** In how many draws a contender has the least product of completion time and fleet energy. */
size_t draws_best(const struct campaign *c, size_t who);

#endif
