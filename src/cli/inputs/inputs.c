/*
 * inputs.c - load a fleet; move arrivals to time 0; see inputs.h.
 */
#include "cli/inputs/inputs.h"

#include "base/data.h"

int cli_fleet_load(const char *path, const struct hes_catalogue *c, struct hes_fleet *out, struct hes_err *err)
{
	static const char built_in[] = "fleets/heshare.yaml";
	const char *text;
	size_t len;

	if (path)
		return hes_fleet_load(path, c, out, err);
	text = hes_data_find(built_in, &len);
	return hes_fleet_parse(built_in, text, len, c, out, err);
}

void cli_arrive_at_once(struct hes_jobs *jobs)
{
	for (size_t i = 0; i < jobs->n; i++) {
		jobs->v[i].deadline_us -= jobs->v[i].has_deadline ? jobs->v[i].arrival_us : 0;
		jobs->v[i].arrival_us = 0;
	}
}
