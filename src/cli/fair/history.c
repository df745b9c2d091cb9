/*
 * history.c - `heshare fair history`: print what tenants have used, day by day, and what it cost;
 * see fair.h.
 */
#include <math.h>
#include <stdlib.h>

#include "app/known_store.h"
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/fair/fair.h"
#include "cli/inputs/inputs.h"
#include "heshare/tenant_usage.h"

#define DAY_US    INT64_C(86400000000)
#define J_PER_KWH 3.6e6

struct history_opts {
	uint64_t days;
	double kwh_price, carbon;
	const char *kwh_price_given, *carbon_given, *store; /* NULL: not given */
	bool json;
};

#define AT(member)    .offset = offsetof(struct history_opts, member)
#define GIVEN(member) .given = offsetof(struct history_opts, member)

/* clang-format off */
static const struct opt history_opts[] = {
	{ .name = "days", .kind = OPT_U64, AT(days), .arg = "N", .min = 1, .max = 100000,
	  .def = "31", .help = "print the last N days, today included (UTC)" },
	{ .name = "kwh-price", .kind = OPT_DOUBLE, AT(kwh_price), GIVEN(kwh_price_given),
	  .arg = "PRICE", .max = 1e6, .help = "price of a kWh; adds a column with the cost" },
	{ .name = "carbon", .kind = OPT_DOUBLE, AT(carbon), GIVEN(carbon_given), .arg = "G",
	  .max = 1e6, .help = "CO2 of a kWh, grams; adds a column with the CO2" },
	FAIR_STORE_OPT(offsetof(struct history_opts, store)),
	{ .name = "json", .kind = OPT_FLAG, AT(json), .help = "print one JSON document" },
	{ 0 }
};
/* clang-format on */

/* @return digits behind the point: at least two, and three that are not 0, so that little is not
 * shown as nothing */
static int digits_of(double x)
{
	return x > 0 && x < 1 ? 2 - (int)floor(log10(x)) : 2;
}

static void usage_row(struct table *t, const struct hes_tenant_usage *u,
		      const struct history_opts *o)
{
	const double kwh = u->joules / J_PER_KWH, cost = kwh * o->kwh_price,
		     co2_g = kwh * o->carbon;
	char day[20];

	cli_format_when(u->day_us, day);
	day[10] = '\0';
	const struct cell row[] = {
		cell_text("day", "day, UTC", day),
		cell_count("uid", "uid", u->uid),
		cell_text("tenant", "tenant", u->tenant),
		cell_text("gpu_type", "GPU type", u->gpu_type),
		cell_time("time_s", "GPU time", u->seconds * 1e6),
		cell_energy("energy_j", "energy", u->joules * 1e3),
		cell_real("kwh", "kWh", digits_of(kwh), kwh),
		cell_real(o->kwh_price_given ? "cost" : NULL, o->kwh_price_given ? "cost" : NULL,
			  digits_of(cost), cost),
		cell_real(o->carbon_given ? "co2_g" : NULL, o->carbon_given ? "CO2 g" : NULL,
			  digits_of(co2_g), co2_g),
	};
	TABLE_ROW(t, row);
}

static int history_run(const struct call *call, struct hes_err *err)
{
	const struct history_opts *o = call->opts;
	const int64_t today_us = hes_wall_us() / DAY_US * DAY_US;
	struct hes_tenant_usage *u = NULL;
	struct table t = { 0 };
	struct hes_store *s;
	size_t n = 0;
	int rc = app_store_open(cli_app(), o->store, HES_STORE_READ, HES_STORE_WAIT_MS, &s, err);

	if (rc)
		return rc;
	rc = hes_store_tenant_usages(s, today_us - (int64_t)(o->days - 1) * DAY_US, &u, &n, err);
	hes_store_close(s);
	for (size_t i = 0; i < n && !rc; i++)
		usage_row(&t, &u[i], o);
	free(u);
	return rc ? rc : cli_table_out(&t, "heshare-fair-history", "days", o->json);
}

const struct command cmd_fair_history = {
	.name = "fair history",
	.args = "",
	.summary = "show what tenants have used, day by day",
	.text = "Shows GPU time and joules of each tenant, user and day, as the arbiter charged "
		"them and keeps them in its store.",
	.example = "  heshare fair history --days 7 --kwh-price 0.30 --carbon 380",
	.opts = history_opts,
	.opts_size = sizeof(struct history_opts),
	.run = history_run,
};
