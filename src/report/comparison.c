/*
 * comparison.c - which policy is best, and by how much, as a sentence; see heshare/report.h.
 *
 * The strongest rival comes first, common practice second, one clock for each GPU type third.
 */
#include "heshare/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMMON_PRACTICE "exclusive" /* one job per GPU, the next free GPU for the next job */
#define STATIC_CLOCK    "static"
#define STATIC_EQUAL    "static-equal"

static double cost(const struct hes_report_policy *p)
{
	return p->realised.avg_jct_us * (double)p->realised.fleet_energy_mj;
}

static const char *method(const struct hes_report_policy *p)
{
	return p->method ? p->method : p->name;
}

size_t hes_report_best(const struct hes_report_policy *v, size_t n)
{
	size_t best = 0;

	for (size_t i = 1; i < n; i++)
		if (cost(&v[i]) < cost(&v[best]))
			best = i;
	return best;
}

/* As it is, not a variant of it. */
static bool is_common_practice(const struct hes_report_policy *p)
{
	return strcmp(p->name, COMMON_PRACTICE) == 0 && (!p->prefer || !*p->prefer);
}

size_t hes_report_reference(const struct hes_report_policy *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is_common_practice(&v[i]))
			return i;
	return 0;
}

static bool same_method(const struct hes_report_policy *a, const struct hes_report_policy *b)
{
	return strcmp(method(a), method(b)) == 0;
}

size_t hes_report_rival(const struct hes_report_policy *v, size_t n, size_t best)
{
	size_t rival = n;

	for (size_t i = 0; i < n; i++)
		if (!same_method(&v[i], &v[best]) && (rival == n || cost(&v[i]) < cost(&v[rival])))
			rival = i;
	return rival;
}

/* The best of those with one clock for each GPU type; @n: there is none. */
static size_t best_static(const struct hes_report_policy *v, size_t n)
{
	size_t best = n;

	for (size_t i = 0; i < n; i++)
		if ((strcmp(v[i].name, STATIC_CLOCK) == 0 ||
		     strcmp(v[i].name, STATIC_EQUAL) == 0) &&
		    (best == n || cost(&v[i]) < cost(&v[best])))
			best = i;
	return best;
}

static void add_label(FILE *f, const struct hes_report_policy *p)
{
	fprintf(f, "%s%s%s", p->name, p->prefer && *p->prefer ? ":" : "",
		p->prefer ? p->prefer : "");
}

/* "13 % less time", "5 % more time", "the same time". @param noun  with a blank before it, or "" */
static void add_change(FILE *f, long pct, const char *noun)
{
	if (pct)
		fprintf(f, "%ld %% %s%s", labs(pct), pct < 0 ? "less" : "more", noun);
	else
		fprintf(f, *noun ? "the same%s" : "as much%s", noun);
}

static long percent(double v, double reference)
{
	return lround(100 * (v / reference - 1));
}

/* @param named  whether to name time and energy */
static void add_changes(FILE *f, const struct hes_totals *v, const struct hes_totals *reference,
			bool named)
{
	const long energy = percent((double)v->fleet_energy_mj, (double)reference->fleet_energy_mj);

	add_change(f, percent(v->avg_jct_us, reference->avg_jct_us),
		   named ? " average completion time" : "");
	fprintf(f, " and ");
	add_change(f, energy, named ? " fleet energy" : "");
	fprintf(f, energy ? " than " : " as ");
}

static bool comparable(const struct hes_report_policy *p)
{
	return isfinite(cost(p)) && cost(p) > 0;
}

bool hes_report_sentence(const struct hes_report_policy *v, size_t n, char *out, size_t size)
{
	const struct hes_report_policy *best, *rival, *common;
	size_t at, n_rivals = 0;
	FILE *f;

	*out = '\0';
	for (size_t i = 0; i < n; i++)
		if (!comparable(&v[i]))
			return false;
	if (!n)
		return false;
	best = &v[hes_report_best(v, n)];
	at = hes_report_rival(v, n, (size_t)(best - v));
	f = at < n ? fmemopen(out, size, "w") : NULL;
	if (!f)
		return false;
	rival = &v[at];
	for (size_t i = 0; i < n; i++)
		n_rivals += !same_method(&v[i], best);
	common = &v[hes_report_reference(v, n)];
	add_label(f, best);
	fprintf(f, ": ");
	add_changes(f, &best->realised, &rival->realised, true);
	add_label(f, rival);
	if (n_rivals > 1)
		fprintf(f, ", the strongest other policy");
	if (common != rival && common != best && is_common_practice(common)) {
		fprintf(f, "; ");
		add_changes(f, &best->realised, &common->realised, false);
		fprintf(f, "one job per GPU (%s)", common->name);
	}
	at = best_static(v, n);
	if (at < n && &v[at] != rival && &v[at] != best && !same_method(&v[at], best)) {
		fprintf(f, "; ");
		add_changes(f, &best->realised, &v[at].realised, false);
		fprintf(f, "one clock for each GPU type (");
		add_label(f, &v[at]);
		fprintf(f, ")");
	}
	fclose(f);
	if (strlen(out) + 1 == size)
		*out = '\0';
	return *out;
}
