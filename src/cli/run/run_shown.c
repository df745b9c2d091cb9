/*
 * run_shown.c - what a run says while it goes on; see run_shown.h.
 */
#include "cli/run/run_shown.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/quantity.h"
#include "base/visible.h"
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

void run_show_act(void *ctx, int64_t at_us, const char *gpu, const char *job, const char *what)
{
	size_t first = strcspn(what, "\n");

	(void)ctx;
	printf("%12.3f  ", (double)at_us * 1e-6);
	hes_visible_put(stdout, 12, gpu ? gpu : "");
	putchar(' ');
	hes_visible_put(stdout, 12, job ? job : "");
	putchar(' ');
	hes_visible_put_part(stdout, what, first);
	putchar('\n');
	for (const char *line = what + first; *line;) {
		size_t len = strcspn(++line, "\n");

		printf("%42s", "");
		hes_visible_put_part(stdout, line, len);
		putchar('\n');
		line += len;
	}
}
