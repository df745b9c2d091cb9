/*
 * cmd_fair.c - `heshare fair`: share the time of one GPU between tenants, fair in time and in
 * energy.
 */
#include <stdio.h>
#include <string.h>

#include "base/texts.h"
#include "cli/commands.h"
#include "cli/inputs/inputs.h"
#include "cli/fair/fair.h"
#include "app/known_store.h"
#include "heshare/fair.h"

#define FAIR_MAX_ARGS 4096

static void offer_policies(opt_say_fn *say, void *ctx)
{
	for (const struct hes_fair_policy *p = hes_fair_policies; p->name; p++)
		say(p->name, ctx);
}

/* Bits of words that take an option, in the order of the actions below. */
enum {
	SLICES = 1 << 0,
	RUN = 1 << 1,
	SERVE = 1 << 2,
	TOP = 1 << 3,
	SET = 1 << 4,
	PROFILE = 1 << 5
};

#define AT(member) .offset = offsetof(struct fair_opts, member)

/* clang-format off */
static const struct opt fair_opts[] = {
	{ .heading = "time and parts",
	  .name = "interval", .words = SLICES | SERVE, .kind = OPT_TEXT, AT(interval),
	  .arg = "QUANTA|TIME",
	  .help = "slices: number of quanta to share. serve: length of an interval, default "
		  "200ms" },
	{ .name = "power", .words = SLICES, .kind = OPT_TEXT, AT(power), .arg = "LIST",
	  .help = "slices: power of each tenant while it runs, W, with commas" },
	{ .name = "phi", .words = SLICES | SERVE | SET, .kind = OPT_DOUBLE, AT(phi),
	  .given = offsetof(struct fair_opts, phi_given), .arg = "PHI", .def = "0.7", .max = 1,
	  .help = "guaranteed part of the fair share of time (policy etf) or energy (etf-energy)" },
	{ .name = "weight", .words = SLICES | RUN | SET, .kind = OPT_TEXT, AT(weight),
	  .arg = "LIST",
	  .help = "slices: weight of each tenant, with commas, 1 if empty. run, set: weight of the "
		  "tenant" },
	{ .name = "demand", .words = SLICES, .kind = OPT_TEXT, AT(demand), .arg = "LIST",
	  .help = "slices: most quanta that each tenant can use, with commas; no limit if empty" },
	{ .name = "policy", .words = SLICES | SERVE, .kind = OPT_CHOICE, AT(policy),
	  .arg = "NAME", .def = "etf", .offer = offer_policies,
	  .help = "what to make fair" },
	{ .name = "quantum", .words = SERVE, .kind = OPT_TEXT, AT(quantum), .arg = "TIME",
	  .def = "1ms",
	  .help = "serve: slices are multiples of this" },
	{ .heading = "tenants",
	  .name = "tenant", .words = RUN | PROFILE | SET, .kind = OPT_TEXT, AT(tenant),
	  .arg = "NAME",
	  .help = "run, profile, set: the name that the command's GPU time is counted under; "
		  "commands of one user with the same name share it" },
	{ .name = "user", .words = SET, .kind = OPT_TEXT, AT(user), .arg = "USER",
	  .help = "set: user name or number, if several users have a tenant of this name" },
	{ .name = "clock", .words = RUN | PROFILE, .kind = OPT_TEXT, AT(clock), .arg = "MHZ",
	  .help = "run: SM clock while it has the GPU, MHz; without it, the driver chooses. "
		  "profile: clocks to measure, with commas; 0: the driver chooses" },
	{ .name = "socket", .words = RUN | SERVE | TOP | SET, .kind = OPT_FILE, AT(socket),
	  .arg = "PATH",
	  .help = "run, serve, top, set: where the arbiter listens; without it "
		  "$HESHARE_FAIR_SOCKET, $XDG_RUNTIME_DIR/heshare/fair.sock or "
		  "/run/heshare/fair.sock" },
	{ .heading = "serve",
	  .name = "gpus", .words = SERVE | SET | PROFILE, .letter = 'g', .kind = OPT_TEXT, AT(gpus),
	  .arg = "LIST",
	  .help = "serve: GPUs to share: all, or indices, UUIDs, PCI addresses with commas; "
		  "without it, all. set: one of them. profile: the one to measure on, 0 without "
		  "it" },
	{ .name = "allow", .words = SERVE, .kind = OPT_TEXT, AT(allow), .arg = "LIST",
	  .help = "serve: who may connect besides root and this user: USER or @GROUP, with "
		  "commas" },
	{ .name = "max-weight", .words = SERVE, .kind = OPT_DOUBLE, AT(max_weight), .arg = "W",
	  .def = "1", .min = HES_FAIR_MIN_NUMBER, .max = HES_FAIR_MAX_NUMBER,
	  .help = "serve: highest weight that users may request; root, this user and set may "
		  "exceed it" },
	{ .name = "patience", .words = SERVE, .kind = OPT_DOUBLE, AT(patience), .arg = "S",
	  .def = "2", .min = 0.001, .max = 3600,
	  .help = "serve: take the GPU from a tenant that does not release it, after this time, "
		  "seconds" },
	{ .name = "profile-for", .words = SERVE, .kind = OPT_DOUBLE, AT(profile_for), .arg = "S",
	  .def = "5", .max = 3600,
	  .help = "serve: let a new tenant run alone for this time, uncharged, to measure its "
		  "power, seconds; 0: do not" },
	{ .name = "store", .words = SERVE | PROFILE, .letter = 's', .kind = OPT_FILE, AT(store),
		.arg = "FILE",
	  .help = "serve, profile: store with the powers of tenants; without it " CLI_STORE_PLACE },
	{ .name = "catalogue", .words = SERVE | PROFILE, .kind = OPT_FILE, AT(catalogue),
	  .arg = "FILE",
	  .help = "serve, profile: add the GPU types of this YAML file; a row replaces the one of "
		  "the same name" },
	{ .name = "no-clocks", .words = SERVE, .kind = OPT_FLAG, AT(no_clocks),
	  .help = "serve: do not set the clocks that tenants request" },
	{ .heading = "output",
	  .name = "once", .words = TOP, .kind = OPT_FLAG, AT(once),
	  .help = "top: print once, also on a terminal" },
	{ .name = "list", .words = PROFILE, .kind = OPT_FLAG, AT(list),
	  .help = "profile: print the powers in the store" },
	{ .name = "json", .words = SLICES | SERVE | TOP | PROFILE, .kind = OPT_FLAG, AT(json),
	  .help = "print one JSON document; serve: one for each event" },
	{ 0 }
};
/* clang-format on */

/* One row for each word: its operands and its function. */
static const struct fair_action {
	const char *word;
	int min_args, max_args;
	int (*run)(const struct fair_opts *o, int n_args, char **args);
	const char *usage; /* of its operands */
} actions[] = {
	{ "slices", 0, 0, fair_slices, "" },
	{ "run", 1, FAIR_MAX_ARGS, fair_run,
	  "--tenant NAME [--weight W] [--clock MHZ] [--socket PATH] -- COMMAND [ARGUMENT]..." },
	{ "serve", 0, 0, fair_serve, "" },
	{ "top", 0, 0, fair_top, "" },
	{ "set", 0, 0, fair_set, "" },
	{ "profile", 0, FAIR_MAX_ARGS, fair_profile,
	  "--tenant NAME --clock LIST -- COMMAND [ARGUMENT]..." },
};

#define N_ACTIONS (sizeof(actions) / sizeof(actions[0]))

/* The words of the rows above, for completion and for "did you mean". */
static const char *const fair_words[N_ACTIONS + 1] = { "slices", "run",     "serve", "top",
						       "set",    "profile", NULL };

static int unknown_action(const char *word)
{
	const char *near = hes_text_nearest(word, fair_words, N_ACTIONS);

	fprintf(stderr, "heshare fair: nothing called \"%.60s\"%s%s%s; there is ", word,
		near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
	for (size_t i = 0; i < N_ACTIONS; i++)
		fprintf(stderr, "%s%s", fair_words[i], i + 1 < N_ACTIONS ? ", " : "\n");
	return 2;
}

static int run_fair(const void *opts, int n_args, char **args)
{
	for (size_t i = 0; i < N_ACTIONS; i++) {
		const struct fair_action *a = &actions[i];

		if (strcmp(args[0], a->word) != 0)
			continue;
		if (n_args - 1 >= a->min_args && n_args - 1 <= a->max_args)
			return a->run(opts, n_args - 1, args + 1);
		fprintf(stderr, "heshare fair: %s; usage: heshare fair %s%s%s\n",
			n_args - 1 < a->min_args ? "missing operand" : "too many operands", a->word,
			*a->usage ? " " : "", a->usage);
		return 2;
	}
	return unknown_action(args[0]);
}

const struct command cmd_fair = {
	.name = "fair",
	.args = "ACTION [OPERAND]...",
	.min_args = 1,
	.max_args = FAIR_MAX_ARGS,
	.words = fair_words,
	.summary = "share a GPU over time between tenants, fair in time and in energy",
	.text = "slices: computes how many quanta of an interval each tenant gets (Energy-Time "
		"Fairness, Liang et al., SEC 2023). Each tenant is guaranteed the part phi of its "
		"fair share of time. The other quanta go, one by one, to the tenant with the least "
		"energy so far for its weight.\n\n"
		"Policies. etf: as above. etf-energy: phi of equal energy is guaranteed, and the "
		"rest goes to the tenant with the least time. time: equal time for equal weights, "
		"whatever the powers. energy: equal energy for equal weights, as etf with phi "
		"0.\n\n"
		"Fairness of time is the least time of a tenant divided by the greatest, each "
		"relative to the weight; 1 is equal. Fairness of energy is the same for energy. "
		"System fairness is the lesser of both. phi_fair is the greatest phi at which "
		"energy can still be equal. Energy is in W times quanta: joules if a quantum is a "
		"second.\n\n"
		"run: starts the unmodified COMMAND as a tenant. A preloaded library delays its "
		"CUDA launches while other tenants have the GPU. Without an arbiter the command "
		"runs unscheduled, and the library tries to connect every second. Static and "
		"setuid programs cannot be scheduled. The exit status is the command's.\n\n"
		"serve: starts the arbiter. It gives one tenant at a time a lease, the right to "
		"run, for its slice. It divides each interval by the powers that it measures. If "
		"it may set clocks, it sets a tenant's clock before its lease. At its end the "
		"clocks are restored, by the guard if it is killed. Stop it by Ctrl-C or SIGTERM; "
		"tenants then keep running unscheduled.\n\n"
		"top: shows what each tenant uses now and has used since it came; on a terminal "
		"once a second.\n\n"
		"set: changes phi, or the weight of a tenant; for root and the arbiter's user.\n\n"
		"profile: runs COMMAND alone at each clock until its power was measured for five "
		"seconds, and stores the power. Prints the mean GPU time of a launch, too. See "
		"docs/fairness.md.",
	.example = "  heshare fair slices --interval 30 --phi 0.7 --power 2,3,8\n"
		   "  heshare fair slices --interval 1000 --power 250,120 --weight 2,1 --demand "
		   ",300 --json\n"
		   "  heshare fair serve --gpus 0 --phi 0.7 --allow @gpu-users\n"
		   "  heshare fair run --tenant alice -- python3 train.py\n"
		   "  heshare fair top --json\n"
		   "  heshare fair set --tenant alice --weight 2\n"
		   "  heshare fair profile --tenant alice --clock 0,1200 -- python3 train.py",
	.opts = fair_opts,
	.opts_size = sizeof(struct fair_opts),
	.run = run_fair,
};
