/*
 * carry_out.c - call the runner; see carry_out.h.
 */
#include "cli/run/carry_out.h"

#include <signal.h>
#include <stddef.h>

#include "base/signals.h"
#include "app/gpus_environment.h"

void run_keep_stops(void)
{
	struct hes_signals stops;

	hes_signals_take(&stops, hes_signals_stop);
	signal(SIGPIPE, SIG_IGN);
}

int run_carry_out(struct hes_run_request *q, const char *log_max, struct hes_journal *journal,
		  struct hes_run *run, struct hes_run_report *out, struct hes_err *err)
{
	static const char *const guard[] = { "/proc/self/exe", "restore", "--guard", NULL };
	const char *const wrap[] = { "/proc/self/exe", "run", "--wrap", "--log-max",
				     log_max,          "--",  NULL };

	q->guard = guard;
	q->wrap = wrap;
	cuda_environment_tell(q->devices, q->gpus, q->fleet->n, !q->user, q->listener.message,
			      q->listener.ctx);
	cuda_environment_clear();
	run_keep_stops();
	return hes_run_carry_out(q, journal, run, out, err);
}
