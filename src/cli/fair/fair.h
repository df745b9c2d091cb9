/*
 * fair.h - the commands behind `heshare fair`, and options that several of them have.
 */
#ifndef HES_CLI_FAIR_FAIR_H
#define HES_CLI_FAIR_FAIR_H

#include "arbiter/arbiter_config.h"
#include "cli/opt.h"

extern const struct command cmd_fair_slices, cmd_fair_run, cmd_fair_serve, cmd_fair_top,
	cmd_fair_set, cmd_fair_history;

#define FAIR_MAX_ARGS 4096 /* of a command that is started */

/** Offer the policies of slices and serve. */
void fair_offer_policies(opt_say_fn *say, void *ctx);

#define FAIR_POLICY_OPT(at)                                                                      \
	{                                                                                        \
		.name = "policy", .kind = OPT_CHOICE, .offset = at, .arg = "NAME", .def = "etf", \
		.offer = fair_offer_policies, .help = "what to make fair"                        \
	}
#define FAIR_SOCKET_OPT(at)                                                            \
	{                                                                              \
		.name = "socket", .kind = OPT_FILE, .offset = at, .arg = "PATH",       \
		.help = "where the arbiter listens; without it $HESHARE_FAIR_SOCKET, " \
			"$XDG_RUNTIME_DIR/heshare/fair.sock or /run/heshare/fair.sock" \
	}
#define FAIR_STORE_OPT(at)                                                                      \
	{                                                                                       \
		.name = "store", .letter = 's', .kind = OPT_FILE, .offset = at, .arg = "FILE",  \
		.help = "store with powers and history of tenants; without it " CLI_STORE_PLACE \
	}

/* Users as values of options: a name, or a number. */

#define FAIR_MAX_WEIGHTS 64

/** @what names the option. @return 0; -EINVAL there is no such user */
int fair_user_parse(const char *what, const char *name, uint32_t *uid, struct hes_err *err);
/** USER=W, commas between them. @param list  NULL: none. @return 0; -EINVAL; -ENOMEM */
int fair_user_weights_parse(const char *what, const char *list,
			    struct arbiter_user_weight out[FAIR_MAX_WEIGHTS], size_t *n,
			    struct hes_err *err);

#endif
