/*
 * inputs.c - load a fleet; check a power cap; move arrivals to time 0; see inputs.h.
 */
#include "cli/inputs/inputs.h"

#include <errno.h>

#include "base/data.h"
#include "base/plural.h"

int cli_fleet_load(const char *path, const struct hes_catalogue *c, struct hes_fleet *out,
		   struct hes_err *err)
{
	static const char built_in[] = "fleets/heshare.yaml";
	const char *text;
	size_t len;

	if (path)
		return hes_fleet_load(path, c, out, err);
	text = hes_data_find(built_in, &len);
	return hes_fleet_parse(built_in, text, len, c, out, err);
}

int cli_cap_check(double cap_w, const struct hes_fleet *f, struct hes_err *err)
{
	uint64_t idle_mw = 0;

	for (size_t g = 0; g < f->n; g++)
		idle_mw += f->gpus[g].type->idle_power_mw;
	if (cap_w <= 0 || cap_w * 1e3 >= (double)idle_mw)
		return 0;
	return hes_fail(err, -ERANGE,
			"--power-cap: %g W is below the %g W that the %zu GPU%s draw%s idle; give "
			"more, or 0 for no cap",
			cap_w, (double)idle_mw * 1e-3, f->n, hes_s(f->n), f->n == 1 ? "s" : "");
}

void cli_arrive_at_once(struct hes_jobs *jobs)
{
	for (size_t i = 0; i < jobs->n; i++) {
		jobs->v[i].deadline_us -= jobs->v[i].has_deadline ? jobs->v[i].arrival_us : 0;
		jobs->v[i].arrival_us = 0;
	}
}
