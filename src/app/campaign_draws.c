/*
 * model_draws.c - the same campaign on models with parameters drawn within their uncertainty, and
 * how far its results vary; see campaign.h.
 *
 * In each draw, parameters vary as far as left-out errors of the GPU model say. Profiles and
 * predictor come from the drawn model unless the user gave them.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "base/visible.h"
#include "app/known_files.h"
#include "cli/simulate/campaign_out.h"

#define LOW  0.05
#define HIGH 0.95

/* The runs on one drawn model; all else is borrowed from @c. */
static int run_draw(struct campaign *c, const struct campaign_files *files, size_t draw,
		    int threads, struct hes_err *err)
{
	struct hes_known k = { .learnt = false };
	struct hes_model *drawn = NULL;
	struct campaign one = *c;
	struct hes_report_policy *rows = NULL;
	struct app_known_from from = files->from;
	int rc = hes_model_varied(c->model, draw + 1, &drawn, err);

	from.model = drawn;
	if (!rc && c->predictor)
		rc = app_known_load(&from, files->catalogue, c->fleet, &k, err);
	one.model = drawn;
	one.profiles = &k.profiles;
	one.predictor = k.predictor;
	one.keep = one.keep_jobs = false;
	one.runs = NULL;
	if (!rc)
		rc = campaign_run_all(&one, threads, err);
	if (!rc && !(rows = campaign_rows(&one)))
		rc = hes_fail(err, -ENOMEM, "out of memory");
	for (size_t w = 0; !rc && w < c->n_who; w++)
		c->draws[draw * c->n_who + w] = rows[w].realised;
	free(rows);
	campaign_free_runs(&one);
	hes_known_free(&k);
	hes_model_free(drawn);
	return rc;
}

int campaign_run_draws(struct campaign *c, const struct campaign_files *files, size_t n,
		       int threads, struct hes_err *err)
{
	int rc = 0;

	c->draws = calloc(n * c->n_who, sizeof(*c->draws));
	if (!c->draws)
		return hes_fail(err, -ENOMEM, "out of memory for %zu draws", n);
	for (size_t i = 0; i < n && !rc; i++) {
		rc = run_draw(c, files, i, threads, err);
		if (rc)
			hes_fail_in(err, "draw %zu of the model", i + 1);
	}
	c->n_draws = rc ? 0 : n;
	return rc;
}

static double time_of(const struct hes_totals *t)
{
	return t->avg_jct_us;
}
static double energy_of(const struct hes_totals *t)
{
	return (double)t->fleet_energy_mj;
}

static int rising(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

struct range {
	long low, median, high; /* percent, as it is printed */
};

static double quantile(const double *sorted, size_t n, double part)
{
	double at = part * (double)(n - 1);
	size_t i = (size_t)at;

	return i + 1 < n ? sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]) : sorted[i];
}

/* Change of a figure of contender @who from @reference, in percent, over the draws. @param v  room
 * for each draw */
static struct range change(const struct campaign *c, size_t who, size_t reference,
			   double (*of)(const struct hes_totals *), double *v)
{
	for (size_t i = 0; i < c->n_draws; i++)
		v[i] = 100 * (of(&c->draws[i * c->n_who + who]) /
				      of(&c->draws[i * c->n_who + reference]) -
			      1);
	qsort(v, c->n_draws, sizeof(*v), rising);
	return (struct range){ lround(quantile(v, c->n_draws, LOW)),
			       lround(quantile(v, c->n_draws, 0.5)),
			       lround(quantile(v, c->n_draws, HIGH)) };
}

/* In how many draws a contender has the least product of completion time and fleet energy. */
static size_t times_best(const struct campaign *c, size_t who)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n_draws; i++) {
		const struct hes_totals *t = &c->draws[i * c->n_who];
		size_t best = 0;

		for (size_t w = 1; w < c->n_who; w++)
			if (time_of(&t[w]) * energy_of(&t[w]) <
			    time_of(&t[best]) * energy_of(&t[best]))
				best = w;
		n += best == who;
	}
	return n;
}

static void put_label(const struct contender *w, int width)
{
	char label[2 * HES_NAME_MAX];

	contender_label(w, label, sizeof(label));
	hes_visible_put(stdout, 0, label);
	printf("%*s", width > (int)strlen(label) ? width - (int)strlen(label) : 0, "");
}

static void put_pct(const char *before, int width, long pct)
{
	printf(pct ? "%s%+*ld" : "%s%*ld", before, width, pct);
}

static void put_range(struct range r)
{
	put_pct("  ", 5, r.median);
	put_pct("  ", 4, r.low);
	put_pct(" to ", 4, r.high);
}

static void print_row(const struct campaign *c, size_t who, size_t reference, int width, double *v)
{
	put_label(&c->who[who], width);
	put_range(change(c, who, reference, time_of, v));
	put_range(change(c, who, reference, energy_of, v));
	printf("  %4zu\n", times_best(c, who));
}

/* "18 % less time (14 to 22 %)", "the same time (-1 to +2 %)" */
static void print_change(const char *noun, struct range r)
{
	const bool less = r.median < 0;

	if (!r.median) {
		printf("the same %s (", noun);
		put_pct("", 0, r.low);
		put_pct(" to ", 0, r.high);
		fputs(" %)", stdout);
		return;
	}
	printf("%ld %% %s %s (%ld to %ld %%)", labs(r.median), less ? "less" : "more", noun,
	       less ? -r.high : r.low, less ? -r.low : r.high);
}

static void print_sentence(const struct campaign *c, size_t best, size_t rival, double *v)
{
	put_label(&c->who[best], 0);
	printf(" needs ");
	print_change("average completion time", change(c, best, rival, time_of, v));
	printf(" and ");
	print_change("fleet energy", change(c, best, rival, energy_of, v));
	printf(" than ");
	put_label(&c->who[rival], 0);
	printf(" over the model's uncertainty; it is the best policy in %zu of %zu draw%s.\n",
	       times_best(c, best), c->n_draws, hes_s(c->n_draws));
}

int campaign_print_draws(const struct campaign *c, struct hes_err *err)
{
	struct hes_report_policy *rows = campaign_rows(c);
	double *v = calloc(c->n_draws, sizeof(*v));
	size_t reference, best, rival;
	int width = (int)strlen("policy");
	char label[2 * HES_NAME_MAX];

	if (!rows || !v) {
		free(rows);
		free(v);
		return hes_fail(err, -ENOMEM, "out of memory");
	}
	reference = hes_report_reference(rows, c->n_who);
	for (size_t w = 0; w < c->n_who; w++) {
		contender_label(&c->who[w], label, sizeof(label));
		width = (int)strlen(label) > width ? (int)strlen(label) : width;
	}
	contender_label(&c->who[reference], label, sizeof(label));
	printf("\n%zu draw%s of the GPU model's uncertain parameters. Difference from ", c->n_draws,
	       hes_s(c->n_draws));
	hes_visible_put(stdout, 0, label);
	printf(" in %%:\nmedian, 5th to 95th percentile. best: draws with the least product of "
	       "both.\n\n"
	       "%-*s  %21s  %21s  %4s\n",
	       width, "policy", "avg JCT", "fleet energy", "best");
	for (size_t w = 0; w < c->n_who; w++)
		print_row(c, w, reference, width, v);
	best = hes_report_best(rows, c->n_who);
	rival = hes_report_rival(rows, c->n_who, best);
	if (rival < c->n_who) {
		putchar('\n');
		print_sentence(c, best, rival, v);
	}
	free(rows);
	free(v);
	return 0;
}

json_t *campaign_draws_json(const struct campaign *c)
{
	json_t *list = c->n_draws ? json_array() : NULL;

	for (size_t i = 0; i < c->n_draws; i++) {
		json_t *draw = json_array();

		for (size_t w = 0; w < c->n_who; w++) {
			const struct hes_totals *t = &c->draws[i * c->n_who + w];

			json_array_append_new(
				draw, json_pack("{s:s, s:s, s:f, s:f, s:f}", "name", c->who[w].name,
						"prefer", c->who[w].prefer, "avg_jct_s",
						t->avg_jct_us * 1e-6, "busy_energy_j",
						(double)t->busy_energy_mj * 1e-3, "fleet_energy_j",
						(double)t->fleet_energy_mj * 1e-3));
		}
		json_array_append_new(list, draw);
	}
	return list;
}
