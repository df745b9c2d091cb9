/*
 * spread.h - the least and the greatest of what tenants had, and how equal that is (section 6.1).
 */
#ifndef HES_FAIR_SPREAD_H
#define HES_FAIR_SPREAD_H

#include "base/clamp.h"
#include "heshare/fair.h"

struct spread {
	double least, greatest;
};

#define SPREAD_NONE      \
	{                \
		1e300, 0 \
	}

static inline void spread_add(struct spread *s, double x)
{
	s->least = lesser(s->least, x);
	s->greatest = greater(s->greatest, x);
}

static inline struct hes_fairness spread_fairness(const struct spread *time,
						  const struct spread *energy)
{
	const double t = time->greatest > 0 ? time->least / time->greatest : 1,
		     e = energy->greatest > 0 ? energy->least / energy->greatest : 1;

	return (struct hes_fairness){ t, e, lesser(t, e) };
}

#endif
