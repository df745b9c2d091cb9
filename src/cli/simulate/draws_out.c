/*
 * draws_out.c - print how far the results of a campaign vary with the model's uncertain parameters;
 * see campaign_out.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/campaign_compare.h"
#include "base/plural.h"
#include "base/visible.h"
#include "cli/cli.h"
#include "cli/simulate/campaign_out.h"

static void put_label(const struct contender *w)
{
	char label[2 * HES_NAME_MAX];

	campaign_contender_label(w, label, sizeof(label));
	hes_visible_put(stdout, 0, label);
}

/* "+3", "0" */
static const char *pct_text(char out[16], long pct)
{
	snprintf(out, 16, pct ? "%+ld" : "%ld", pct);
	return out;
}

/* A median with "low to high" next to it. */
static struct cell range_cell(const char *heading, struct draws_range r, char text[16],
			      char note[40])
{
	char low[16], high[16];

	snprintf(note, 40, "%s to %s", pct_text(low, r.low), pct_text(high, r.high));
	return cell_noted(cell_shown(cell_count(NULL, heading, 0), pct_text(text, r.median)), note);
}

static void draws_row(struct table *t, const struct campaign *c, size_t who, size_t reference,
		      double *v)
{
	char label[2 * HES_NAME_MAX], text[2][16], note[2][40];

	campaign_contender_label(&c->who[who], label, sizeof(label));
	const struct cell row[] = {
		cell_text(NULL, "policy", label),
		range_cell("avg JCT", draws_change(c, who, reference, draws_time, v), text[0],
			   note[0]),
		range_cell("fleet energy", draws_change(c, who, reference, draws_energy, v),
			   text[1], note[1]),
		cell_count(NULL, "best", (int64_t)draws_best(c, who)),
	};
	TABLE_ROW(t, row);
}

/* "18 % less time (14 to 22 %)", "the same time (-1 to +2 %)" */
static void print_change(const char *noun, struct draws_range r)
{
	const bool less = r.median < 0;
	char low[16], high[16];

	if (!r.median) {
		printf("the same %s (%s to %s %%)", noun, pct_text(low, r.low),
		       pct_text(high, r.high));
		return;
	}
	printf("%ld %% %s %s (%ld to %ld %%)", labs(r.median), less ? "less" : "more", noun,
	       less ? -r.high : r.low, less ? -r.low : r.high);
}

static void print_sentence(const struct campaign *c, size_t best, size_t rival, double *v)
{
	put_label(&c->who[best]);
	printf(" needs ");
	print_change("average completion time", draws_change(c, best, rival, draws_time, v));
	printf(" and ");
	print_change("fleet energy", draws_change(c, best, rival, draws_energy, v));
	printf(" than ");
	put_label(&c->who[rival]);
	printf(" over the model's uncertainty; it is the best policy in %zu of %zu draw%s.\n",
	       draws_best(c, best), c->n_draws, hes_s(c->n_draws));
}

int campaign_print_draws(const struct campaign *c, struct hes_err *err)
{
	struct hes_report_policy *rows = campaign_rows(c);
	double *v = calloc(c->n_draws, sizeof(*v));
	size_t reference, best, rival;
	struct table t = { 0 };

	if (!rows || !v) {
		free(rows);
		free(v);
		return hes_fail(err, -ENOMEM, "out of memory");
	}
	reference = hes_report_reference(rows, c->n_who);
	printf("\n%zu draw%s of the GPU model's uncertain parameters. Difference from ", c->n_draws,
	       hes_s(c->n_draws));
	put_label(&c->who[reference]);
	puts(" in %:\nmedian, 5th to 95th percentile. best: draws with the least product of "
	     "both.\n");
	for (size_t w = 0; w < c->n_who; w++)
		draws_row(&t, c, w, reference, v);
	cli_print_table(&t, stdout, 0);
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
