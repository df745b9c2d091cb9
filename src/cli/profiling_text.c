/*
 * profiling_text.c - print what profiling took; see profiling_text.h.
 */
#include "cli/profiling_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/quantity.h"
#include "cli/cli.h"

const char *cli_profiling_text(char out[CLI_PROFILING_MAX], const struct hes_profiling_cost *cost)
{
	char energy[HES_QUANTITY_MAX], time[HES_QUANTITY_MAX];

	hes_time_text(time, cost->gpu_s * 1e6);
	if (isnan(cost->energy_j))
		snprintf(out, CLI_PROFILING_MAX, "energy not measured, %s of GPU time", time);
	else
		snprintf(out, CLI_PROFILING_MAX, "%s in %s of GPU time",
			 hes_energy_text(energy, cost->energy_j * 1e3), time);
	return out;
}

const char *cli_known_profiling_text(char out[CLI_PROFILING_MAX],
				     const struct hes_store_profiling *p)
{
	size_t at;

	if (!p->origins)
		return "none";
	if (p->unknown == p->origins)
		return "not measured";
	cli_profiling_text(out, &p->cost);
	at = strlen(out);
	if (p->unknown)
		snprintf(out + at, CLI_PROFILING_MAX - at, "; %zu of %zu sessions not measured",
			 p->unknown, p->origins);
	return out;
}

json_t *cli_known_profiling_json(const struct hes_store_profiling *p)
{
	const bool known = !p->origins || p->unknown < p->origins;

	return json_pack("{s:I, s:I, s:o, s:o}", "sessions", (json_int_t)p->origins, "not_measured",
			 (json_int_t)p->unknown, "gpu_s", cli_json_maybe(known, p->cost.gpu_s),
			 "energy_j", cli_json_maybe(known, p->cost.energy_j));
}
