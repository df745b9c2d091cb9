/*
 * sweep.c - the settings of a policy one by one; see sweep.h, and sweep_plot.h for the figure.
 *
 * Clocks: all types begin at their default clock. In turn each type gets the clock that is best
 * with the clocks of the others, until no type changes.
 */
#include "cli/simulate/sweep.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "base/texts.h"
#include "cli/cli.h"
#include "cli/simulate/sweep_plot.h"

#define MAX_ROUNDS    6
#define LIMIT_FROM    40 /* % of the default power limits */
#define LIMIT_STEP    5
#define DEFAULT_LIMIT 100

struct sweep {
	struct job_sets *sets;
	const struct hes_policy *policy;
	char label[2 * HES_NAME_MAX];
	struct sweep_curve curves[HES_KNOWN_TYPES];
	size_t n;
};

static double product(const struct sweep_point *p)
{
	return p->fleet_energy_j * p->avg_jct_s;
}

static void set_clock(struct job_sets *s, const char *type, uint32_t mhz)
{
	for (size_t i = 0; i < s->n; i++) {
		struct simulated *set = &s->v[i];

		for (size_t k = 0; k < set->catalogue.n; k++)
			if (strcmp(set->catalogue.types[k].name, type) == 0)
				set->catalogue.types[k].clock_static_mhz = mhz;
		for (size_t k = 0; k < set->fleet.n_limited; k++)
			if (strcmp(set->fleet.limited[k].name, type) == 0)
				set->fleet.limited[k].clock_static_mhz = mhz;
	}
}

static void set_limit(struct job_sets *s, uint32_t pct)
{
	for (size_t i = 0; i < s->n; i++) {
		hes_fleet_free(&s->v[i].campaign.limited);
		s->v[i].campaign.limit_part = pct / 100.0;
	}
}

/* Replay all sets with the setting that they have. */
static int measure(struct job_sets *s, uint32_t value, struct sweep_point *out, struct hes_err *err)
{
	struct hes_err *errs = calloc(s->n, sizeof(*errs));
	double energy = 0, jct = 0;
	int rc = 0;

	if (!errs)
		return hes_fail(err, -ENOMEM, "out of memory");
#pragma omp parallel for schedule(dynamic)
	for (size_t i = 0; i < s->n; i++)
		campaign_run_all(&s->v[i].campaign, 1, &errs[i]);
	for (size_t i = 0; i < s->n; i++) {
		struct campaign *c = &s->v[i].campaign;
		struct hes_report_policy *row = errs[i].code ? NULL : campaign_rows(c);

		if (!rc && !row) {
			*err = errs[i];
			rc = errs[i].code ? errs[i].code : -ENOMEM;
		}
		energy += row ? (double)row->realised.fleet_energy_mj * 1e-3 : 0;
		jct += row ? row->realised.avg_jct_us * 1e-6 : 0;
		free(row);
		campaign_free_runs(c);
	}
	*out = (struct sweep_point){ value, energy / (double)s->n, jct / (double)s->n };
	free(errs);
	return rc;
}

/* @return whether another point than before is the best */
static bool choose_best(struct sweep_curve *c, uint32_t before)
{
	c->best = 0;
	for (size_t i = 1; i < c->n; i++)
		if (product(&c->v[i]) < product(&c->v[c->best]))
			c->best = i;
	return c->v[c->best].value != before;
}

static int sweep_type(struct sweep *w, struct sweep_curve *c, const struct hes_gpu_type *g,
		      bool *changed, struct hes_err *err)
{
	const uint32_t before = g->clock_static_mhz;
	int rc = 0;

	c->n = 0;
	for (size_t i = 0; i < g->n_clocks && !rc; i++) {
		set_clock(w->sets, g->name, g->clocks_mhz[i]);
		rc = measure(w->sets, g->clocks_mhz[i], &c->v[c->n++], err);
	}
	if (!rc && choose_best(c, before))
		*changed = true;
	set_clock(w->sets, g->name, c->v[c->best].value);
	return rc;
}

static int sweep_all_clocks(struct sweep *w, struct hes_err *err)
{
	const struct hes_gpu_type *types[HES_KNOWN_TYPES];
	bool changed = true;
	int rc = 0;

	w->n = hes_fleet_types(&w->sets->v[0].fleet, types, HES_KNOWN_TYPES);
	for (size_t t = 0; t < w->n; t++) {
		set_clock(w->sets, types[t]->name, types[t]->clock_default_mhz);
		w->curves[t] = (struct sweep_curve){ .name = types[t]->name,
						     .default_value = types[t]->clock_default_mhz };
	}
	for (size_t round = 0; round < MAX_ROUNDS && changed && !rc; round++) {
		changed = false;
		for (size_t t = 0; t < w->n && !rc; t++) {
			cli_progress(types[t]->name, round * w->n + t, MAX_ROUNDS * w->n);
			rc = sweep_type(w, &w->curves[t], types[t], &changed, err);
		}
	}
	cli_progress("", w->n, w->n);
	return rc;
}

static int sweep_limits(struct sweep *w, struct hes_err *err)
{
	struct sweep_curve *c = &w->curves[0];
	int rc = 0;

	w->n = 1;
	*c = (struct sweep_curve){ .name = "", .default_value = DEFAULT_LIMIT };
	for (uint32_t pct = LIMIT_FROM; pct <= DEFAULT_LIMIT && !rc; pct += LIMIT_STEP) {
		set_limit(w->sets, pct);
		rc = measure(w->sets, pct, &c->v[c->n++], err);
	}
	choose_best(c, 0);
	return rc;
}

/* The option that sets what was found. */
static void option_text(const struct sweep *w, char *out, size_t size)
{
	if (w->policy->limits_power) {
		snprintf(out, size, "--power-limit %u", w->curves[0].v[w->curves[0].best].value);
		return;
	}
	*out = '\0';
	for (size_t i = 0; i < w->n; i++)
		hes_text_add(out, size, i ? "," : "", "%s%s=%u", i ? "" : "--static-clocks ",
			     w->curves[i].name, w->curves[i].v[w->curves[i].best].value);
}

static void print_curve(const struct sweep_curve *c, const char *unit)
{
	const struct sweep_point *base = &c->v[c->n - 1];

	for (size_t i = 0; i < c->n; i++) {
		const struct sweep_point *p = &c->v[i];
		char energy[HES_QUANTITY_MAX], jct[HES_QUANTITY_MAX];

		printf("%-20s %5u %-3s  %12s %+5.1f  %12s %+6.1f  %+6.1f%s\n", c->name, p->value,
		       unit, hes_energy_text(energy, p->fleet_energy_j * 1e3),
		       100 * (p->fleet_energy_j / base->fleet_energy_j - 1),
		       hes_time_text(jct, p->avg_jct_s * 1e6),
		       100 * (p->avg_jct_s / base->avg_jct_s - 1),
		       100 * (product(p) / product(base) - 1), i == c->best ? "  *" : "");
	}
}

static void print_sweep(const struct sweep *w, const char *unit)
{
	char option[400];

	job_sets_heading(w->sets);
	printf("%s with each %s%s. Next to a value: its difference from the last row of the "
	       "block, in %%.\n*: the least product of fleet energy and average completion time, "
	       "each a mean over the sets of jobs.\n\n"
	       "%-20s %9s  %12s %5s  %12s %6s  %7s\n",
	       w->label,
	       w->policy->limits_power ? "power limit, as a part of the GPUs' default ones"
				       : "clock of a GPU type",
	       w->policy->limits_power ? "" : ", other types at their best clock",
	       w->policy->limits_power ? "" : "GPU type",
	       w->policy->limits_power ? "limit" : "clock", "fleet energy", "", "avg JCT", "",
	       "product");
	for (size_t i = 0; i < w->n; i++)
		print_curve(&w->curves[i], unit);
	option_text(w, option, sizeof(option));
	printf("\nTo use it: %s\n", option);
}

static json_t *sweep_json(const struct sweep *w)
{
	const char *const value = w->policy->limits_power ? "limit_pct" : "clock_mhz";
	json_t *curves = json_array();
	char option[400];

	for (size_t i = 0; i < w->n; i++) {
		const struct sweep_curve *c = &w->curves[i];
		json_t *points = json_array();

		for (size_t k = 0; k < c->n; k++)
			json_array_append_new(points,
					      json_pack("{s:I, s:f, s:f}", value,
							(json_int_t)c->v[k].value, "fleet_energy_j",
							c->v[k].fleet_energy_j, "avg_jct_s",
							c->v[k].avg_jct_s));
		json_array_append_new(curves,
				      json_pack("{s:s*, s:I, s:o}", "gpu_type",
						*c->name ? c->name : NULL, value,
						(json_int_t)c->v[c->best].value, "points", points));
	}
	option_text(w, option, sizeof(option));
	return json_pack("{s:s, s:I, s:o, s:s}", "policy", w->label, "sets", (json_int_t)w->sets->n,
			 "sweep", curves, "option", option);
}

int sweep_settings(struct job_sets *s, const struct simulate_opts *o, struct hes_err *err)
{
	struct campaign *first = &s->v[0].campaign;
	struct sweep w = { .sets = s, .policy = first->who[0].policy };
	const char *unit;
	int rc = 0;

	if (first->n_who != 1 || !(w.policy->limits_power || w.policy->static_clock)) {
		hes_fail(err, -EINVAL,
			 "--sweep: --policy must be one policy that has a setting for all jobs: "
			 "static, static-equal or cap, or a variant of these");
		return 2;
	}
	contender_label(&first->who[0], w.label, sizeof(w.label));
	unit = w.policy->limits_power ? "%" : "MHz";
	for (size_t i = 0; i < s->n && !rc; i++) {
		rc = simulated_learn(&s->v[i], o, err);
		s->v[i].campaign.progress = NULL;
	}
	if (!rc)
		rc = w.policy->limits_power ? sweep_limits(&w, err) : sweep_all_clocks(&w, err);
	if (!rc && o->sweep_figure)
		rc = sweep_draw(o->sweep_figure, w.curves, w.n, unit, err);
	if (rc)
		return 1;
	if (o->json)
		return cli_print_json("heshare-simulate-sweep", sweep_json(&w));
	print_sweep(&w, unit);
	return 0;
}
