/*
 * cmd_restore.c - `heshare restore`: restore GPUs after a run that was killed together with its
 * guard. Also the guard itself, which heshare starts.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "launch/guard.h"

struct restore_opts {
	bool guard, json;
};

#define AT(member) .offset = offsetof(struct restore_opts, member)

/* clang-format off */
static const struct opt restore_opts[] = {
	{ .name = "json", .kind = OPT_FLAG, AT(json),
	  .help = "print what was undone as one JSON document" },
	{ .name = "guard", .kind = OPT_FLAG, AT(guard), .hidden = true,
	  .help = "internal: be the guard of the program at the other end of standard input" },
	{ 0 }
};
/* clang-format on */

static void print_undone(const struct restore_opts *o, const char *folder,
			 const struct hes_undone *m, bool any)
{
	if (o->json)
		cli_print_json("heshare-restore",
			       json_pack("{s:s, s:I, s:I, s:I}", "folder", folder,
					 "clocks_unlocked", (json_int_t)m->clocks,
					 "mps_daemons_ended", (json_int_t)m->daemons, "jobs_killed",
					 (json_int_t)m->jobs));
	else if (any)
		printf("%s: clocks unlocked %u, MPS daemons ended %u, jobs killed %u\n", folder,
		       m->clocks, m->daemons, m->jobs);
	else
		printf("%s: nothing to restore\n", folder);
}

static int run_restore(const struct call *call, struct hes_err *err)
{
	const struct restore_opts *o = call->opts;
	struct hes_undone m = { 0 };
	int rc;

	if (o->guard == (call->n == 1))
		return opt_usage(err, "name the folder of one run");
	if (o->guard)
		return hes_guard_serve(STDIN_FILENO, err);
	rc = hes_guard_restore(call->args[0], &m, err);
	if (rc == -ENOENT && !access(call->args[0], F_OK)) {
		print_undone(o, call->args[0], &m, false);
		return 0;
	}
	if (!rc || m.clocks + m.daemons + m.jobs)
		print_undone(o, call->args[0], &m, true);
	return rc;
}

const struct command cmd_restore = {
	.name = "restore",
	.args = "DIR",
	.max_args = 1,
	.summary = "restore GPUs after a run that was killed together with its guard",
	.text = "Unlocks clocks, kills jobs and ends MPS daemons of a run that was killed. "
		"Normally the guard of the run, a second process, does this. If both were killed, "
		"restore does it from the file guard.list in the folder DIR of the run. The next "
		"run in that folder does the same before it starts. While the run is alive, "
		"restore does nothing.",
	.example = "  heshare restore plan.run",
	.opts = restore_opts,
	.opts_size = sizeof(struct restore_opts),
	.run = run_restore,
};
