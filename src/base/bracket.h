/*
 * bracket.h - a root of a rising function between two points, by false position (Illinois).
 *
 * Start with the values at both ends, then repeat: evaluate at hes_bracket_next(), narrow.
 */
#ifndef HES_BASE_BRACKET_H
#define HES_BASE_BRACKET_H

struct hes_bracket {
	double low, high;
	double under,
		over; /* weights of the ends: the value at low, below 0, and at high, above 0 */
	int side;     /* the end that moved last: 1 high, -1 low */
};

static inline double hes_bracket_next(const struct hes_bracket *b)
{
	return (b->low * b->over - b->high * b->under) / (b->over - b->under);
}

/** Move the end on the side of @x. An end that stays twice in a row loses half of its weight. */
static inline void hes_bracket_narrow(struct hes_bracket *b, double x, double value)
{
	if (value > 0) {
		b->high = x;
		b->over = value;
		b->under *= b->side > 0 ? 0.5 : 1;
		b->side = 1;
	} else {
		b->low = x;
		b->under = value;
		b->over *= b->side < 0 ? 0.5 : 1;
		b->side = -1;
	}
}

#endif
