/*
 * sweep_out.c - show the settings of a sweep, as text and as JSON; see campaign_out.h.
 */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/simulate/campaign_out.h"

static void curve_rows(struct table *t, const struct campaign_sweep *w, const struct sweep_curve *c)
{
	const struct sweep_point *base = &c->v[c->n - 1];

	for (size_t i = 0; i < c->n; i++) {
		const struct sweep_point *p = &c->v[i];
		char setting[32], energy[32], jct[32], product[32];

		snprintf(setting, sizeof(setting), "%u %s", p->value, w->unit);
		snprintf(energy, sizeof(energy), "%+.1f",
			 100 * (p->fleet_energy_j / base->fleet_energy_j - 1));
		snprintf(jct, sizeof(jct), "%+.1f", 100 * (p->avg_jct_s / base->avg_jct_s - 1));
		snprintf(product, sizeof(product), "%+.1f",
			 100 * (sweep_product(p) / sweep_product(base) - 1));
		const struct cell row[] = {
			cell_text(NULL, "GPU type", c->name),
			cell_key(cell_shown(
				cell_count(NULL, w->policy->limits_power ? "limit" : "clock", 0),
				setting)),
			cell_noted(cell_energy(NULL, "fleet energy", p->fleet_energy_j * 1e3),
				   energy),
			cell_noted(cell_time(NULL, "avg JCT", p->avg_jct_s * 1e6), jct),
			cell_shown(cell_count(NULL, "product", 0), product),
			cell_text(NULL, "", i == c->best ? "*" : ""),
		};
		TABLE_ROW(t, row);
	}
}

void sweep_print(const struct campaign_sweep *w)
{
	struct table t = { 0 };
	char option[400];

	sets_heading(w->sets);
	printf("%s with each %s of a GPU type, other types at their best one.\n"
	       "Next to a value: its difference from the type's last row, in %%.\n"
	       "*: the least product of fleet energy and average completion time, means over the "
	       "sets.\n\n",
	       w->label, w->policy->limits_power ? "power limit" : "clock");
	for (size_t i = 0; i < w->n; i++)
		curve_rows(&t, w, &w->curves[i]);
	cli_print_table(&t, stdout, 0);
	sweep_option(w, option, sizeof(option));
	printf("\nTo use it: %s\n", option);
}

json_t *sweep_json(const struct campaign_sweep *w)
{
	const char *const value = w->policy->limits_power ? "power_limit_w" : "clock_mhz";
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
				      json_pack("{s:s, s:I, s:o}", "gpu_type", c->name, value,
						(json_int_t)c->v[c->best].value, "points", points));
	}
	sweep_option(w, option, sizeof(option));
	return json_pack("{s:s, s:I, s:o, s:s}", "policy", w->label, "sets", (json_int_t)w->sets->n,
			 "sweep", curves, "option", option);
}
