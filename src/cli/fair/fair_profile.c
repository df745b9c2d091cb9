/*
 * fair_profile.c - `heshare fair profile`: measure the power of a command alone on a GPU at each
 * clock, or list the powers in the store; see fair.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/fair_measure.h"
#include "app/known_store.h"
#include "base/num.h"
#include "base/texts.h"
#include "cli/cli.h"
#include "cli/fair/fair.h"
#include "cli/inputs/inputs.h"

#define MAX_CLOCKS 64

struct profile_opts {
	const char *tenant, *clock, *gpus, *store, *catalogue; /* NULL: not given */
	bool list, json;
};

#define AT(member) .offset = offsetof(struct profile_opts, member)

/* clang-format off */
static const struct opt profile_opts[] = {
	{ .name = "tenant", .kind = OPT_TEXT, AT(tenant), .arg = "NAME",
	  .help = "the name that the arbiter will know the command by" },
	{ .name = "clock", .kind = OPT_TEXT, AT(clock), .arg = "LIST",
	  .help = "clocks to measure, MHz, with commas; 0, and without it: the driver chooses" },
	{ .name = "gpus", .letter = 'g', .kind = OPT_TEXT, AT(gpus), .arg = "GPU",
	  .help = "the GPU to measure on: index, UUID or PCI address; 0 without it" },
	FAIR_STORE_OPT(offsetof(struct profile_opts, store)),
	CLI_CATALOGUE_OPT(offsetof(struct profile_opts, catalogue)),
	{ .name = "list", .kind = OPT_FLAG, AT(list), .help = "print the powers in the store" },
	{ .name = "json", .kind = OPT_FLAG, AT(json), .help = "print one JSON document" },
	{ 0 }
};
/* clang-format on */

/* @param s  NULL: the store does not have it */
static void power_row(struct table *t, const struct hes_tenant_power *p,
		      const struct fair_service *s)
{
	const struct fair_service none = { .mean_us = NAN }, *measured = s ? s : &none;
	const bool known = !isnan(measured->mean_us);
	char when[20];

	cli_format_when(p->at_us, when);
	const struct cell row[] = {
		cell_text("tenant", "tenant", p->tenant),
		cell_count("uid", "uid", p->uid),
		cell_text("gpu_type", "GPU type", p->gpu_type),
		cell_key(cell_shown(cell_count("clock_mhz", "MHz", p->clock_mhz),
				    p->clock_mhz ? NULL : "-")),
		cell_real("power_w", "W", 1, p->power_w),
		cell_real(NULL, "cv %", 1, 100 * p->cv),
		cell_real("cv", NULL, 0, p->cv),
		cell_real("seconds", "s", 1, p->seconds),
		cell_if(known, cell_real(s ? "launch_us" : NULL, s ? "us/launch" : NULL, 1,
					 measured->mean_us)),
		cell_if(known,
			cell_count(s ? "launches" : NULL, NULL, (int64_t)measured->launches)),
		cell_count("at_us", NULL, p->at_us),
		cell_text(NULL, "measured, UTC", when),
	};
	TABLE_ROW(t, row);
}

static int clocks_parse(const char *list, uint32_t *out, size_t *n, struct hes_err *err)
{
	char one[32];
	int rc = 0;

	list = list ? list : "0";
	for (*n = 0; !rc && hes_text_next(&list, one, sizeof(one));) {
		if (*n == MAX_CLOCKS)
			rc = hes_fail(err, -EINVAL, "--clock: more than %d clocks", MAX_CLOCKS);
		else
			rc = hes_parse_u32("--clock", one, 0, 100000, &out[(*n)++], err);
	}
	return rc;
}

static int powers_list(const struct profile_opts *o, struct hes_err *err)
{
	struct hes_tenant_power *p = NULL;
	struct table t = { 0 };
	struct hes_store *s;
	size_t n = 0;
	int rc = app_store_open(cli_app(), o->store, HES_STORE_READ, HES_STORE_WAIT_MS, &s, err);

	if (rc)
		return rc;
	rc = hes_store_tenant_powers(s, &p, &n, err);
	for (size_t i = 0; !rc && i < n; i++)
		power_row(&t, &p[i], NULL);
	free(p);
	hes_store_close(s);
	return rc ? rc : cli_table_out(&t, "heshare-tenant-powers", "powers", o->json);
}

static int options_check(const struct profile_opts *o, int n_args, struct hes_err *err)
{
	if (o->list)
		return n_args ? hes_fail(err, -EINVAL, "--list takes no command") : 0;
	if (!o->tenant || !*o->tenant || strlen(o->tenant) >= HES_TENANT_NAME)
		return hes_fail(err, -EINVAL,
				"--tenant: give the name that the arbiter will know the command "
				"by, 1 to %d bytes",
				HES_TENANT_NAME - 1);
	return n_args ? 0
		      : hes_fail(err, -EINVAL,
				 "no command; usage: heshare fair profile --tenant NAME --clock "
				 "LIST -- COMMAND");
}

static void power_measured(void *ctx, const struct hes_tenant_power *p,
			   const struct fair_service *s)
{
	power_row(ctx, p, s);
}

static int measure(const struct profile_opts *o, const char *const *argv, const uint32_t *clocks,
		   size_t n, struct hes_err *err)
{
	struct table t = { 0 };
	const struct fair_measure_request q = {
		.app = cli_app(),
		.place = FAIR_LIBRARY_PLACE,
		.gpus = o->gpus,
		.catalogue = o->catalogue,
		.store = o->store,
		.tenant = o->tenant,
		.clocks = clocks,
		.n_clocks = n,
		.argv = argv,
		.measured = power_measured,
		.ctx = &t,
	};
	const int rc = fair_measure(&q, err);

	/* What was measured before a failure is kept, and shown. */
	if (!rc || !o->json)
		return cli_table_out(&t, "heshare-tenant-powers", "powers", o->json) ? 1 : rc;
	table_free(&t);
	return rc;
}

static int profile_run(const struct call *call, struct hes_err *err)
{
	const struct profile_opts *o = call->opts;
	uint32_t clocks[MAX_CLOCKS];
	size_t n = 0;

	if (options_check(o, call->n, err) || (!o->list && clocks_parse(o->clock, clocks, &n, err)))
		return OPT_USAGE;
	return o->list ? powers_list(o, err)
		       : measure(o, (const char *const *)call->args, clocks, n, err);
}

const struct command cmd_fair_profile = {
	.name = "fair profile",
	.args = "--tenant NAME --clock LIST -- COMMAND [ARGUMENT]...",
	.max_args = FAIR_MAX_ARGS,
	.summary = "measure the power of a tenant's command",
	.text = "Runs COMMAND alone at each clock until its power was measured for five seconds, "
		"and stores the power. Prints the mean GPU time of a launch, too. See "
		"docs/fairness.md.",
	.example = "  heshare fair profile --tenant alice --clock 0,1200 -- python3 train.py",
	.opts = profile_opts,
	.opts_size = sizeof(struct profile_opts),
	.run = profile_run,
};
