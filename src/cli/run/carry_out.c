/*
 * carry_out.c - call the runner; see carry_out.h.
 */
#include "cli/run/carry_out.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/signals.h"
#include "app/fair_tenant.h"
#include "app/gpus_environment.h"
#include "cli/cli.h"

void run_clear_environment(void)
{
	char name[256];

	unsetenv("CUDA_VISIBLE_DEVICES");
	for (size_t i = 0; environ[i];) {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(environ[i], "="), environ[i]);
		if (strncmp(name, "CUDA_MPS_", strlen("CUDA_MPS_")) == 0 && !unsetenv(name))
			i = 0;
		else
			i++;
	}
}

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

	char *preload = NULL;
	int rc;

	q->guard = guard;
	q->wrap = wrap;
	/* Without the library launches are not counted. */
	if (!fair_library_preload(cli_app(), FAIR_LIBRARY_PLACE, &preload, NULL))
		q->preload = preload;
	gpus_environment_tell(cli_app(), q->devices, q->gpus, q->fleet->n, !q->user);
	run_clear_environment();
	run_keep_stops();
	rc = hes_run_carry_out(q, journal, run, out, err);
	free(preload);
	q->preload = NULL;
	return rc;
}
