/*
 * run_shown.c - call the runner, and show what it says; see run_shown.h.
 */
#include "cli/run/run_shown.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/fair_tenant.h"
#include "app/gpus_chosen.h"
#include "base/quantity.h"
#include "base/signals.h"
#include "cli/cli.h"
#include "cli/terminal.h"

void run_clear_line(void)
{
	if (terminal_is_live(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

void run_show_message(void *ctx, const char *sentence)
{
	/* The reader may be gone. */
	if (ferror(stderr))
		return;
	run_clear_line();
	cli_say(ctx ? ctx : "run", sentence);
}

void run_show_progress(void *ctx, const struct hes_run_progress *p)
{
	char since[HES_QUANTITY_MAX], left[HES_QUANTITY_MAX];

	(void)ctx;
	if (!terminal_is_live(STDERR_FILENO))
		return;
	fprintf(stderr, "\r%zu of %zu jobs done, %zu running", p->done, p->jobs, p->running);
	if (p->failed)
		fprintf(stderr, ", %zu failed", p->failed);
	if (p->early)
		fprintf(stderr, ", %zu ended early", p->early);
	fprintf(stderr, "; %s", cli_rough_time(since, (double)p->now_us));
	if (p->left_us)
		fprintf(stderr, ", about %s left", cli_rough_time(left, (double)p->left_us));
	fputs("\033[K", stderr);
	fflush(stderr);
}

static void act_row(struct table *t, const char *at, const char *gpu, const char *job,
		    const char *what)
{
	const struct cell row[] = {
		cell_shown(cell_count(NULL, "", 0), at),
		cell_text(NULL, "", gpu),
		cell_text(NULL, "", job),
		cell_text(NULL, "", what),
	};

	TABLE_ROW(t, row);
}

void run_show_act(void *ctx, int64_t at_us, const char *gpu, const char *job, const char *what)
{
	char at[32], *lines = strdup(what), *rest = lines, *line;

	snprintf(at, sizeof(at), "%.3f", (double)at_us * 1e-6);
	/* Further lines are variables and commands of the act. */
	for (bool first = true; (line = strsep(&rest, "\n")); first = false)
		act_row(ctx, first ? at : "", first && gpu ? gpu : "", first && job ? job : "",
			line);
	free(lines);
}

void run_show_rehearsal(void *ctx, const char *sentence)
{
	(void)ctx;
	run_show_message(NULL, sentence);
}

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
