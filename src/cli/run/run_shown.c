/*
 * run_shown.c - what a run says while it goes on; see run_shown.h.
 */
#include "cli/run/run_shown.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/quantity.h"
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
