/*
 * point_windows.c - the windows of a point, and which of them count; see point_windows.h.
 */
#include "profile/point_windows.h"

#include <math.h>
#include <string.h>

#include "measure/gpu_point.h"

#define SAME 0.01 /* means that differ by less do not differ */

static double window_value(const struct series *w, size_t job, size_t k)
{
	const struct series_window *v = &w->v[k];

	return job < w->jobs ? 1e6 * v->job_s[job] / v->iterations[job] : v->gpu.mean_w;
}

size_t series_values(const struct series *w, size_t job, size_t from, double out[SERIES_WINDOWS])
{
	for (size_t k = from; k < w->n; k++)
		out[k - from] = window_value(w, job, k);
	return w->n - from;
}

static size_t count_starts(const struct series *w)
{
	size_t n = 0;

	for (size_t k = 0; k < w->n; k++)
		n += w->v[k].start;
	return n;
}

static void series_drop(struct series *w, size_t k)
{
	w->n--;
	memmove(&w->v[k], &w->v[k + 1], (w->n - k) * sizeof(w->v[0]));
}

void series_add(struct series *w, const struct series_window *v)
{
	size_t k = 0;

	if (v->start && count_starts(w) >= SERIES_WINDOWS / 2) {
		while (!w->v[k].start)
			k++;
		series_drop(w, k);
	}
	w->v[w->n++] = *v;
}

/* The values of the windows that overlap a start, or of the others. @return how many */
static size_t split_values(const struct series *w, size_t job, bool start,
			   double out[SERIES_WINDOWS])
{
	size_t n = 0;

	for (size_t k = 0; k < w->n; k++)
		if (w->v[k].start == start)
			out[n++] = window_value(w, job, k);
	return n;
}

static double mean_of(const double *v, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += v[i];
	return sum / (double)n;
}

/* Drop the windows of starts with a value that the variation of the others does not explain. */
static void drop_outliers(struct series *w, size_t job)
{
	double v[SERIES_WINDOWS];
	const size_t n = split_values(w, job, false, v);
	const double mean = mean_of(v, n), most = fmax(SAME, 2 * steady_se(v, n) * sqrt((double)n));

	for (size_t k = w->n; k-- > 0;)
		if (w->v[k].start && !(fabs(window_value(w, job, k) / mean - 1) <= most))
			series_drop(w, k);
}

/* Whether the mean of the windows of starts differs by more than @error, or than is explained by
 * standard errors. */
static bool mean_differs(const struct series *w, size_t job, double error)
{
	double v[SERIES_WINDOWS], mean, se, other, other_se;
	size_t n = split_values(w, job, false, v);

	mean = mean_of(v, n);
	se = steady_se(v, n);
	n = split_values(w, job, true, v);
	if (!n)
		return false;
	other = mean_of(v, n);
	other_se = n > 1 ? steady_se(v, n) : se;
	return !(fabs(other / mean - 1) <=
		 fmax(SAME, fmin(error, 2 * sqrt(se * se + other_se * other_se))));
}

/* Whether the windows without starts are enough. */
static bool others_suffice(const struct series *w, double error)
{
	double v[SERIES_WINDOWS];

	for (size_t i = 0; i <= w->jobs; i++)
		if (!(steady_se(v, split_values(w, i, false, v)) < error))
			return false;
	return true;
}

void series_compare(struct series *w, size_t least, double error)
{
	const size_t starts = count_starts(w);
	bool drop;

	if (!starts || w->n - starts < least)
		return;
	drop = others_suffice(w, error);
	for (size_t i = 0; i <= w->jobs && !drop; i++)
		drop_outliers(w, i);
	for (size_t i = 0; i <= w->jobs && !drop; i++)
		drop = mean_differs(w, i, error);
	for (size_t k = w->n; k-- > 0;) {
		if (w->v[k].start && drop)
			series_drop(w, k);
		else
			w->v[k].start = false;
	}
}

/* The largest standard error of the jobs' times and of power. */
static double largest_se(const struct series *w, size_t from)
{
	double v[SERIES_WINDOWS], se = 0;

	for (size_t i = 0; i <= w->jobs && !isnan(se); i++) {
		const double of = steady_se(v, series_values(w, i, from, v));

		se = isnan(of) ? NAN : fmax(se, of);
	}
	return se;
}

size_t series_from(const struct series *w, size_t least, double *se)
{
	size_t from = 0;

	*se = w->n < least ? NAN : largest_se(w, 0);
	for (size_t k = 1; k <= w->n / 2 && w->n - k >= least; k++) {
		const double of = largest_se(w, k);

		if (of < *se) {
			*se = of;
			from = k;
		}
	}
	return from;
}

bool series_done(const struct series *w, const struct hes_profile_timing *m, double se)
{
	return !count_starts(w) && (se < m->error || w->n >= m->most);
}
