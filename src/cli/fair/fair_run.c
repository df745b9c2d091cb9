/*
 * fair_run.c - `heshare fair run`: run a command as a tenant of an arbiter; see fair.h.
 *
 * The command is started with the preload library (interpose/), which reads the name of the tenant
 * from the environment.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/fair_tenant.h"
#include "base/signals.h"
#include "cli/cli.h"
#include "cli/fair/fair.h"

#define NOT_FOUND 127 /* as shells say it */
#define NOT_RUN   126

struct run_opts {
	const char *tenant, *weight, *clock, *socket; /* NULL: not given */
	const char *if_refused;
};

static const char *const if_refused_names[] = { "wait", "run", "exit", NULL };

#define AT(member) .offset = offsetof(struct run_opts, member)

/* clang-format off */
static const struct opt run_opts[] = {
	{ .name = "tenant", .kind = OPT_TEXT, AT(tenant), .arg = "NAME",
	  .help = "the name that the command's GPU time is counted under; commands of one user "
		  "with the same name share it" },
	{ .name = "weight", .kind = OPT_TEXT, AT(weight), .arg = "W",
	  .help = "weight of the tenant; 1 without it" },
	{ .name = "clock", .kind = OPT_TEXT, AT(clock), .arg = "MHZ",
	  .help = "SM clock while it has the GPU, MHz; without it, the driver chooses" },
	{ .name = "if-refused", .kind = OPT_CHOICE, AT(if_refused), .arg = "WHAT", .def = "wait",
	  .choices = if_refused_names,
	  .help = "if the arbiter refuses the command: wait, run unscheduled, or exit with status "
		  "75" },
	FAIR_SOCKET_OPT(offsetof(struct run_opts, socket)),
	{ 0 }
};
/* clang-format on */

static int run_run(const struct call *call, struct hes_err *err)
{
	const struct run_opts *o = call->opts;
	const struct fair_tenant tenant = { .app = cli_app(),
					    .place = FAIR_LIBRARY_PLACE,
					    .name = o->tenant,
					    .weight = o->weight,
					    .clock = o->clock,
					    .socket = o->socket,
					    .if_refused = o->if_refused,
					    .program = call->args[0] };
	int rc = fair_tenant_prepare(&tenant, err);

	if (rc)
		return rc == -EINVAL || rc == -ERANGE ? OPT_USAGE : rc;
	hes_signals_as_started();
	execvp(call->args[0], call->args);
	rc = errno;
	hes_fail(err, -rc, "%s: %s", call->args[0], strerror(rc));
	cli_fail("fair run", err);
	return rc == ENOENT ? NOT_FOUND : NOT_RUN;
}

const struct command cmd_fair_run = {
	.name = "fair run",
	.args = "--tenant NAME -- COMMAND [ARGUMENT]...",
	.min_args = 1,
	.max_args = FAIR_MAX_ARGS,
	.summary = "run an unmodified command as a tenant",
	.text = "Starts the unmodified COMMAND as a tenant. A preloaded library delays its CUDA "
		"launches while other tenants have the GPU. Without an arbiter the command runs "
		"unscheduled, and the library tries to connect every second. Static and setuid "
		"programs cannot be scheduled. Unless CUDA_VISIBLE_DEVICES or CUDA_DEVICE_ORDER is "
		"set, CUDA counts GPUs as heshare gpus and serve --gpus do. The exit status is the "
		"command's.",
	.example = "  heshare fair run --tenant alice -- python3 train.py",
	.opts = run_opts,
	.opts_size = sizeof(struct run_opts),
	.run = run_run,
};
