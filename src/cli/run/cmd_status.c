/*
 * cmd_status.c - `heshare status`: what runs do now and did last, from any terminal. It reads and
 * changes nothing.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/signals.h"
#include "cli/cli.h"
#include "cli/inputs/inputs.h"
#include "cli/commands.h"
#include "app/known_store.h"
#include "app/run_identity.h"
#include "cli/run/status_out.h"

#define STORE_WAIT_MS 2000
#define RECENT        5

struct status_opts {
	bool watch, json;
	const char *store;
};

#define AT(member) .offset = offsetof(struct status_opts, member)

/* clang-format off */
static const struct opt status_opts[] = {
	{ .name = "watch", .letter = 'w', .kind = OPT_FLAG, AT(watch),
	  .help = "print again every second, until Ctrl-C or until the named run has ended" },
	{ .name = "store", .kind = OPT_FILE, AT(store), .arg = "FILE",
	  .help = "store with the journals of the runs; without it " CLI_STORE_PLACE },
	{ .name = "json", .kind = OPT_FLAG, AT(json), .help = "print one JSON document" },
	{ 0 }
};
/* clang-format on */

struct status {
	const struct status_opts *o;
	struct hes_store *store;
	struct hes_journal *journal;
	int64_t id; /* 0: all */
	struct run_view *views;
	size_t n;
};

static void drop_views(struct status *s)
{
	for (size_t i = 0; i < s->n; i++)
		run_view_free(&s->views[i]);
	free(s->views);
	s->views = NULL;
	s->n = 0;
}

static int list_runs(const struct status *s, struct hes_run **runs, size_t *n, struct hes_err *err)
{
	int rc;

	if (!s->id)
		return hes_journal_recent(s->journal, RECENT, runs, n, err);
	*runs = calloc(1, sizeof(**runs));
	rc = *runs ? hes_journal_run(s->journal, s->id, *runs, err)
		   : hes_fail(err, -ENOMEM, "out of memory");
	*n = 1;
	return rc;
}

static int look(struct status *s, struct hes_err *err)
{
	struct hes_run *runs = NULL;
	size_t n = 0;
	int rc = list_runs(s, &runs, &n, err);

	drop_views(s);
	s->views = rc ? NULL : calloc(n + 1, sizeof(*s->views));
	if (!rc && !s->views)
		rc = hes_fail(err, -ENOMEM, "out of memory for %zu runs", n);
	for (size_t i = 0; i < n && !rc; i++) {
		rc = run_view_load(s->journal, &runs[i], &s->views[i], err);
		if (!rc)
			run_view_check(&s->views[s->n++], hes_store_path(s->store));
	}
	free(runs);
	return rc;
}

static bool in_full(const struct status *s, const struct run_view *v)
{
	return s->id || v->run.state == HES_RUN_GOING;
}

static void print_text(const struct status *s, FILE *f)
{
	int64_t failed = 0; /* the last run that ended with jobs that failed */
	struct table ended = { 0 };

	if (!s->n)
		fprintf(f, "no run yet in %s\n", hes_store_path(s->store));
	for (size_t i = 0; i < s->n; i++)
		if (in_full(s, &s->views[i])) {
			status_print(f, &s->views[i]);
			fputs(i + 1 < s->n ? "\n" : "", f);
		}
	for (size_t i = s->n; i > 0; i--)
		if (!in_full(s, &s->views[i - 1])) {
			status_row(&ended, &s->views[i - 1]);
			if (!failed && s->views[i - 1].failed)
				failed = s->views[i - 1].run.id;
		}
	if (ended.n_rows)
		fputs("ended, the last first:\n", f);
	cli_print_table(&ended, f, 0);
	if (failed)
		fprintf(f, "heshare status %" PRId64 " says why its jobs failed\n", failed);
}

static int print_json(const struct status *s)
{
	json_t *doc = s->id ? NULL : json_array();

	for (size_t i = 0; i < s->n; i++) {
		json_t *run = status_json(&s->views[i], in_full(s, &s->views[i]));

		if (s->id)
			doc = run;
		else
			json_array_append_new(doc, run);
	}
	return s->id ? cli_print_json("heshare-status", doc)
		     : cli_print_json("heshare-status-list", json_pack("{s:o}", "runs", doc));
}

/* --- again and again --- */

/* Whether the screen can be drawn over. */
static bool has_screen(void)
{
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

/* Past stdout, which would part long lines and keep back what has no line end. */
static int put_on_screen(const char *text)
{
	return dprintf(STDOUT_FILENO, "%s", text) < 0 ? -EIO : 0;
}

/* As many lines as fit, over the old ones. */
static int draw(const char *text)
{
	struct winsize size;
	int rows = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row ? 24 : size.ws_row, rc;
	char *frame = NULL;
	size_t length;
	FILE *f = open_memstream(&frame, &length);

	if (!f)
		return -ENOMEM;
	fputs("\033[H", f);
	for (int row = 1; *text && row < rows; row++) {
		size_t n = strcspn(text, "\n");

		fprintf(f, "%.*s\033[K\n", (int)n, text);
		text += n + (text[n] == '\n');
	}
	fputs("\033[J", f);
	rc = fclose(f) || !frame ? -ENOMEM : put_on_screen(frame);
	free(frame);
	return rc;
}

static int show(const struct status *s, bool screen)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	int rc = 0;

	if (!f)
		return -ENOMEM;
	print_text(s, f);
	if (fclose(f) || !text) {
		free(text);
		return -ENOMEM;
	}
	if (screen)
		rc = draw(text);
	else if (fputs(text, stdout) == EOF || fflush(stdout))
		rc = -errno;
	free(text);
	return rc;
}

static bool is_over(const struct status *s)
{
	return s->id && (!s->n || s->views[0].runner == RUN_VIEW_NONE ||
			 s->views[0].runner == RUN_VIEW_DEAD);
}

/* The terminal is as before when this returns, also after a signal. */
static int watch(struct status *s, struct hes_err *err)
{
	const struct timespec second = { .tv_sec = 1 };
	const bool screen = has_screen();
	struct hes_signals stops;
	int rc = 0;

	hes_signals_take(&stops, hes_signals_stop);
	/* Another screen, on which long lines are cut. */
	if (screen)
		put_on_screen("\033[?1049h\033[?7l");
	do {
		rc = look(s, err);
		if (!rc && show(s, screen))
			break;
	} while (!rc && !is_over(s) && (screen || putchar('\n') != EOF) &&
		 sigtimedwait(&stops.set, NULL, &second) < 0);
	if (screen)
		put_on_screen("\033[?7h\033[?1049l");
	/* The last look stays. */
	if (screen && !rc)
		rc = show(s, false);
	return rc;
}

static int run_status(const struct call *call, struct hes_err *err)
{
	const struct status_opts *o = call->opts;
	struct status s = { .o = o };
	int rc;

	if (o->watch && o->json)
		return opt_usage(err, "--json: one document, so not with --watch");
	if (call->n && run_parse_id(call->args[0], &s.id, err))
		return OPT_USAGE;
	rc = app_store_open(cli_app(), o->store, HES_STORE_READ, STORE_WAIT_MS, &s.store, err);
	/* Before the first run there is no store at the usual place. */
	if (rc == -ENOENT && !o->store && !call->n && !o->watch)
		return o->json ? print_json(&s) : (printf("no run yet (%s)\n", err->msg), 0);
	if (!rc)
		rc = hes_journal_open(s.store, &s.journal, err);
	if (!rc)
		rc = o->watch ? watch(&s, err) : look(&s, err);
	if (!rc && o->json)
		rc = print_json(&s);
	else if (!rc && !o->watch)
		print_text(&s, stdout);
	drop_views(&s);
	hes_journal_close(s.journal);
	hes_store_close(s.store);
	return rc;
}

const struct command cmd_status = {
	.name = "status",
	.args = "[RUN]",
	.takes_run = true,
	.max_args = 1,
	.summary = "what runs do now: jobs, progress, watts, joules, time left",
	.text = "Prints the runs that go on, and the last five that have ended; with the number "
		"RUN, that run alone. A run whose process has died is interrupted, and can be "
		"resumed. Jobs that run are printed with their GPU, SM share, clock, progress by "
		"the lines that they print, and time left. Without progress the time left is that "
		"of the plan. Power is that of all GPUs of the run now; energy is what they took "
		"so far, idle energy included. Jobs that failed are printed with the end of their "
		"output.\n\n"
		"It reads the journal in the store, and what the runner writes once a second to "
		"live.json in the folder of the run. It changes nothing.",
	.example =
		"  heshare status\n"
		"  heshare status 3 --watch\n"
		"  heshare status --json | jq '.runs[] | select(.runner == \"alive\") | .power_w'",
	.opts = status_opts,
	.opts_size = sizeof(struct status_opts),
	.run = run_status,
};
