/*
 * cmd_fair.c - `heshare fair`: share the time of one GPU between tenants, fair in time and in
 * energy. The commands behind it are in files of their own. Also users as values of options.
 */
#include "cli/fair/fair.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/texts.h"
#include "cli/commands.h"
#include "heshare/fair.h"

void fair_offer_policies(opt_say_fn *say, void *ctx)
{
	for (const struct hes_fair_policy *p = hes_fair_policies; p->name; p++)
		say(p->name, ctx);
}

static const struct command *const subs[] = {
	&cmd_fair_slices,  &cmd_fair_run, &cmd_fair_serve, &cmd_fair_top, &cmd_fair_set,
	&cmd_fair_history, NULL
};

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
		"whatever the powers. energy: equal energy for equal weights, as etf with phi 0. "
		"See docs/fairness.md.",
	.example = "  heshare fair serve --gpus 0 --phi 0.7 --allow @gpu-users\n"
		   "  heshare fair run --tenant alice -- python3 train.py\n"
		   "  heshare fair top",
};

int fair_user_parse(const char *what, const char *name, uint32_t *uid, struct hes_err *err)
{
	const struct passwd *user = getpwnam(name);

	if (user)
		*uid = user->pw_uid;
	else if (hes_parse_u32(what, name, 0, FAIR_ANY_USER - 1, uid, NULL))
		return hes_fail(err, -EINVAL, "%s: there is no user \"%.60s\"", what, name);
	return 0;
}

static int weight_parse(const char *what, char *pair, struct arbiter_user_weight *out,
			struct hes_err *err)
{
	char *weight = strchr(pair, '=');

	if (!weight)
		return hes_fail(err, -EINVAL, "%s: \"%.60s\" is not USER=W", what, pair);
	*weight++ = '\0';
	if (fair_user_parse(what, pair, &out->uid, err))
		return -EINVAL;
	return hes_parse_double(what, weight, HES_FAIR_MIN_NUMBER, HES_FAIR_MAX_NUMBER,
				&out->weight, err);
}

int fair_user_weights_parse(const char *what, const char *list,
			    struct arbiter_user_weight out[FAIR_MAX_WEIGHTS], size_t *n,
			    struct hes_err *err)
{
	char one[256];
	int rc = 0;

	*n = 0;
	while (!rc && hes_text_next(&list, one, sizeof(one))) {
		if (*n == FAIR_MAX_WEIGHTS)
			rc = hes_fail(err, -EINVAL, "%s: more than %d users", what,
				      FAIR_MAX_WEIGHTS);
		else
			rc = weight_parse(what, one, &out[(*n)++], err);
	}
	return rc;
}
