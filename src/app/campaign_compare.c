/*
 * campaign_compare.c - policies on several sets of jobs, or on several models; see
 * campaign_compare.h.
 */
#include "app/campaign_compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void compared_finish(struct compared *x)
{
	free(x->v);
	free(x->rows);
}

static void compared_means(struct compared *x)
{
	const double n = (double)x->n;

	for (size_t w = 0; w < x->n_who; w++) {
		double jct = 0, makespan = 0, busy = 0, fleet = 0;

		for (size_t i = 0; i < x->n; i++) {
			const struct hes_totals *t = &x->v[i * x->n_who + w];

			jct += t->avg_jct_us / n;
			makespan += (double)t->makespan_us / n;
			busy += (double)t->busy_energy_mj / n;
			fleet += (double)t->fleet_energy_mj / n;
		}
		x->rows[w].realised =
			(struct hes_totals){ jct, llround(makespan), (uint64_t)llround(busy),
					     (uint64_t)llround(fleet) };
	}
}

int compared_init(struct compared *x, const struct campaign_sets *s, const char *reference,
		  struct hes_err *err)
{
	const struct campaign *c = &s->v[0].campaign;

	*x = (struct compared){ .c = c,
				.n = s->n,
				.n_who = c->n_who,
				.v = calloc(s->n * c->n_who + 1, sizeof(*x->v)),
				.rows = campaign_rows(c) };
	if (!x->v || !x->rows)
		return hes_fail(err, -ENOMEM, "out of memory for the comparison");
	for (size_t i = 0; i < s->n; i++) {
		struct hes_report_policy *rows = campaign_rows(&s->v[i].campaign);

		if (!rows)
			return hes_fail(err, -ENOMEM, "out of memory for the comparison");
		for (size_t w = 0; w < x->n_who; w++)
			x->v[i * x->n_who + w] = rows[w].realised;
		free(rows);
	}
	compared_means(x);
	x->reference = reference ? (size_t)campaign_find(c, reference)
				 : hes_report_reference(x->rows, x->n_who);
	return 0;
}

static double compared_change(const struct compared *x, size_t set, size_t who,
			      double (*of)(const struct hes_totals *))
{
	const struct hes_totals *t = &x->v[set * x->n_who];

	return 100 * (of(&t[who]) / of(&t[x->reference]) - 1);
}

/* The 97.5th percentile of Student's t: a table, then the expansion of Cornish and Fisher. */
static double student_t(size_t freedom)
{
	static const double few[] = { 12.706, 4.303, 3.182, 2.776 };
	const double z = 1.959964, n = (double)freedom, z3 = z * z * z, z5 = z3 * z * z;

	if (freedom <= 4)
		return few[freedom - 1];
	return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n) +
	       (3 * z5 * z * z + 19 * z5 + 17 * z3 - 15 * z) / (384 * n * n * n);
}

/* Mean of the differences from the reference on each set, with its 95 % interval. */
struct compared_difference compared_difference(const struct compared *x, size_t who,
					       double (*of)(const struct hes_totals *))
{
	const double n = (double)x->n;
	double mean = 0, squares = 0, half = NAN;

	for (size_t i = 0; i < x->n; i++)
		mean += compared_change(x, i, who, of) / n;
	for (size_t i = 0; i < x->n; i++)
		squares += pow(compared_change(x, i, who, of) - mean, 2);
	if (x->n > 1)
		half = student_t(x->n - 1) * sqrt(squares / (n - 1) / n);
	return (struct compared_difference){ mean, mean - half, mean + half };
}

/* Sets on which a contender needs no more fleet energy and no more completion time than another. */
size_t compared_no_more(const struct compared *x, size_t who, size_t than)
{
	size_t n = 0;

	for (size_t i = 0; i < x->n; i++) {
		const struct hes_totals *t = &x->v[i * x->n_who];

		n += t[who].avg_jct_us <= t[than].avg_jct_us &&
		     t[who].fleet_energy_mj <= t[than].fleet_energy_mj;
	}
	return n;
}

bool compared_same_method(const struct compared *x, size_t a, size_t b)
{
	return strcmp(x->c->who[a].name, x->c->who[b].name) == 0;
}

#define LOW  0.05
#define HIGH 0.95

double draws_time(const struct hes_totals *t)
{
	return t->avg_jct_us;
}
double draws_energy(const struct hes_totals *t)
{
	return (double)t->fleet_energy_mj;
}

static int rising(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double quantile(const double *sorted, size_t n, double part)
{
	double at = part * (double)(n - 1);
	size_t i = (size_t)at;

	return i + 1 < n ? sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]) : sorted[i];
}

/* Change of a figure of contender @who from @reference, in percent, over the draws. @param v  room
 * for each draw */
struct draws_range draws_change(const struct campaign *c, size_t who, size_t reference,
				double (*of)(const struct hes_totals *), double *v)
{
	for (size_t i = 0; i < c->n_draws; i++)
		v[i] = 100 * (of(&c->draws[i * c->n_who + who]) /
				      of(&c->draws[i * c->n_who + reference]) -
			      1);
	qsort(v, c->n_draws, sizeof(*v), rising);
	return (struct draws_range){ lround(quantile(v, c->n_draws, LOW)),
				     lround(quantile(v, c->n_draws, 0.5)),
				     lround(quantile(v, c->n_draws, HIGH)) };
}

/* In how many draws a contender has the least product of completion time and fleet energy. */
size_t draws_best(const struct campaign *c, size_t who)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n_draws; i++) {
		const struct hes_totals *t = &c->draws[i * c->n_who];
		size_t best = 0;

		for (size_t w = 1; w < c->n_who; w++)
			if (draws_time(&t[w]) * draws_energy(&t[w]) <
			    draws_time(&t[best]) * draws_energy(&t[best]))
				best = w;
		n += best == who;
	}
	return n;
}
