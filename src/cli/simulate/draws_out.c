/*
 * draws_out.c - print how far the results of a campaign vary with the model's uncertain parameters;
 * see campaign_out.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/campaign_draws.h"
#include "base/plural.h"
#include "base/visible.h"
#include "cli/simulate/campaign_out.h"

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

static void put_range(struct draws_range r)
{
	put_pct("  ", 5, r.median);
	put_pct("  ", 4, r.low);
	put_pct(" to ", 4, r.high);
}

static void print_row(const struct campaign *c, size_t who, size_t reference, int width, double *v)
{
	put_label(&c->who[who], width);
	put_range(draws_change(c, who, reference, draws_time, v));
	put_range(draws_change(c, who, reference, draws_energy, v));
	printf("  %4zu\n", draws_best(c, who));
}

/* "18 % less time (14 to 22 %)", "the same time (-1 to +2 %)" */
static void print_change(const char *noun, struct draws_range r)
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
	print_change("average completion time", draws_change(c, best, rival, draws_time, v));
	printf(" and ");
	print_change("fleet energy", draws_change(c, best, rival, draws_energy, v));
	printf(" than ");
	put_label(&c->who[rival], 0);
	printf(" over the model's uncertainty; it is the best policy in %zu of %zu draw%s.\n",
	       draws_best(c, best), c->n_draws, hes_s(c->n_draws));
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
