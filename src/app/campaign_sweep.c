/*
 * campaign_sweep.c - the settings of a policy one by one; see campaign_sweep.h.
 *
 * All types begin at their default clock or power limit. In turn each type gets the one that is
 * best with those of the others, until no type changes.
 */
#include "app/campaign_sweep.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/texts.h"

#define MAX_ROUNDS 6
#define LIMIT_FROM 40 /* % of the default power limits */
#define LIMIT_STEP 5
#define EQUAL      1e-9 /* difference of products by rounding */

double sweep_product(const struct sweep_point *p)
{
	return p->fleet_energy_j * p->avg_jct_s;
}

static void type_set(struct hes_gpu_type *g, bool limit, uint32_t value)
{
	if (limit)
		g->limit_static_mw = value * 1000;
	else
		g->clock_static_mhz = value;
}

static void sweep_set(const struct campaign_sweep *w, const char *type, uint32_t value)
{
	const bool limit = w->policy->limits_power;

	for (size_t i = 0; i < w->sets->n; i++) {
		struct campaign_set *set = &w->sets->v[i];

		for (size_t k = 0; k < set->catalogue.n; k++)
			if (strcmp(set->catalogue.types[k].name, type) == 0)
				type_set(&set->catalogue.types[k], limit, value);
		for (size_t k = 0; k < set->fleet.n_limited; k++)
			if (strcmp(set->fleet.limited[k].name, type) == 0)
				type_set(&set->fleet.limited[k], limit, value);
		if (limit)
			hes_fleet_free(&set->campaign.limited);
	}
}

/* The settings of a type, rising; the last one is its default. @return how many */
static size_t type_values(const struct campaign_sweep *w, const struct hes_gpu_type *g,
			  uint32_t out[SWEEP_MAX_POINTS])
{
	size_t n = 0;

	if (!w->policy->limits_power) {
		memcpy(out, g->clocks_mhz, g->n_clocks * sizeof(*out));
		return g->n_clocks;
	}
	for (uint32_t pct = LIMIT_FROM; pct <= 100; pct += LIMIT_STEP) {
		const uint32_t watts = (uint32_t)lround(pct * 1e-5 * g->power_limit_mw);

		if (watts * 1000 > g->idle_power_mw)
			out[n++] = watts;
	}
	return n;
}

/* Replay all sets with the setting that they have. */
static int sweep_measure(struct campaign_sets *s, uint32_t value, struct sweep_point *out,
			 struct hes_err *err)
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

/* Of equal ones the nearest to the default: a type that no job runs on keeps it. @return whether
 * another point than before is the best */
static bool curve_choose_best(struct sweep_curve *c, uint32_t before)
{
	c->best = 0;
	for (size_t i = 1; i < c->n; i++)
		if (sweep_product(&c->v[i]) <= (1 + EQUAL) * sweep_product(&c->v[c->best]))
			c->best = i;
	return c->v[c->best].value != before;
}

static int sweep_type(struct campaign_sweep *w, struct sweep_curve *c, const struct hes_gpu_type *g,
		      bool *changed, struct hes_err *err)
{
	const uint32_t before = c->v[c->best].value;
	uint32_t values[SWEEP_MAX_POINTS];
	const size_t n = type_values(w, g, values);
	int rc = 0;

	c->n = 0;
	for (size_t i = 0; i < n && !rc; i++) {
		sweep_set(w, g->name, values[i]);
		rc = sweep_measure(w->sets, values[i], &c->v[c->n++], err);
	}
	if (!rc && curve_choose_best(c, before))
		*changed = true;
	sweep_set(w, g->name, c->v[c->best].value);
	return rc;
}

static int sweep_all(struct campaign_sweep *w, const struct campaign_request *q,
		     struct hes_err *err)
{
	const struct hes_gpu_type *types[APP_KNOWN_TYPES];
	bool changed = true;
	int rc = 0;

	w->n = hes_fleet_types(&w->sets->v[0].fleet, types, APP_KNOWN_TYPES);
	for (size_t t = 0; t < w->n; t++) {
		const uint32_t standard = w->policy->limits_power ? types[t]->power_limit_mw / 1000
								  : types[t]->clock_default_mhz;

		sweep_set(w, types[t]->name, standard);
		w->curves[t] = (struct sweep_curve){ .name = types[t]->name };
	}
	for (size_t round = 0; round < MAX_ROUNDS && changed && !rc; round++) {
		changed = false;
		for (size_t t = 0; t < w->n && !rc; t++) {
			if (q->progress)
				q->progress(types[t]->name, round * w->n + t, MAX_ROUNDS * w->n);
			rc = sweep_type(w, &w->curves[t], types[t], &changed, err);
		}
	}
	if (q->progress)
		q->progress("", w->n, w->n);
	return rc;
}

void sweep_option(const struct campaign_sweep *w, char *out, size_t size)
{
	snprintf(out, size, "%s ", w->policy->limits_power ? "--power-limits" : "--static-clocks");
	for (size_t i = 0; i < w->n; i++)
		hes_text_add(out, size, i ? "," : "", "%s=%u", w->curves[i].name,
			     w->curves[i].v[w->curves[i].best].value);
}

int campaign_sweep_check(const struct campaign_sets *s, struct hes_err *err)
{
	const struct campaign *first = &s->v[0].campaign;
	const struct hes_policy *p = first->who[0].policy;

	if (first->n_who == 1 && (p->limits_power || p->static_clock))
		return 0;
	return hes_fail(err, -EINVAL,
			"--sweep: --policy must be one policy that has a setting for all jobs: "
			"static, static-equal or cap, or a variant of these");
}

int campaign_sweep_run(struct campaign_sets *s, const struct campaign_request *q,
		       struct campaign_sweep *out, struct hes_err *err)
{
	const struct contender *who = &s->v[0].campaign.who[0];
	int rc = 0;

	*out = (struct campaign_sweep){ .sets = s,
					.policy = who->policy,
					.unit = who->policy->limits_power ? "W" : "MHz" };
	campaign_contender_label(who, out->label, sizeof(out->label));
	for (size_t i = 0; i < s->n && !rc; i++) {
		rc = campaign_set_learn(&s->v[i], q, err);
		s->v[i].campaign.progress = NULL;
	}
	if (!rc)
		rc = sweep_all(out, q, err);
	return rc;
}
