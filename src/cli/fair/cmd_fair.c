/*
 * cmd_fair.c - `heshare fair`: share the time of one GPU between tenants, fair in time and in
 * energy. The commands behind it are in files of their own.
 */
#include "cli/commands.h"
#include "cli/fair/fair.h"
#include "heshare/fair.h"

void fair_offer_policies(opt_say_fn *say, void *ctx)
{
	for (const struct hes_fair_policy *p = hes_fair_policies; p->name; p++)
		say(p->name, ctx);
}

static const struct command *const subs[] = { &cmd_fair_slices,  &cmd_fair_run, &cmd_fair_serve,
					      &cmd_fair_top,     &cmd_fair_set, &cmd_fair_profile,
					      &cmd_fair_history, NULL };

const struct command cmd_fair = {
	.name = "fair",
	.args = "ACTION [OPERAND]...",
	.min_args = 1,
	.max_args = FAIR_MAX_ARGS,
	.subs = subs,
	.summary = "share a GPU over time between tenants, fair in time and in energy",
	.text = "An arbiter gives one tenant at a time the right to run on a GPU, for a slice of "
		"each interval. Energy-Time Fairness (Liang et al., SEC 2023) guarantees each "
		"tenant the part phi of its fair share of time. The other quanta go, one by one, "
		"to the tenant with the least energy so far for its weight.\n\n"
		"Policies. etf: as above. etf-energy: phi of equal energy is guaranteed, and the "
		"rest goes to the tenant with the least time. time: equal time for equal weights, "
		"whatever the powers. energy: equal energy for equal weights, as etf with phi "
		"0. See docs/fairness.md.",
	.example = "  heshare fair serve --gpus 0 --phi 0.7 --allow @gpu-users\n"
		   "  heshare fair run --tenant alice -- python3 train.py\n"
		   "  heshare fair top",
};
