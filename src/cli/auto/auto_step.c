/*
 * auto_step.c - print and run commands of heshare; see auto_step.h.
 *
 * A command is this program in a process of its own, so that what is printed is what is done.
 * Ctrl-C reaches it from the terminal; a signal that was sent to this process alone is passed on.
 */
#include "cli/auto/auto_step.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/signals.h"
#include "base/visible.h"

#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=+,@%"

static volatile sig_atomic_t stopped_by; /* the last signal; 0: none */
static volatile sig_atomic_t child;      /* process that runs; 0: none */

static void pass_on(int sig, siginfo_t *info, void *context)
{
	(void)context;
	stopped_by = sig;
	if (child && info->si_code <= 0) /* by a process, not by the terminal */
		kill((pid_t)child, sig);
}

void auto_watch(void)
{
	struct sigaction act = { .sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART };

	sigemptyset(&act.sa_mask);
	for (const int *sig = hes_signals_stop; *sig; sig++)
		if (!hes_signals_ignored(*sig))
			sigaction(*sig, &act, NULL);
}

void auto_add(struct auto_command *c, const char *word)
{
	if (!c->n)
		c->v[c->n++] = "heshare";
	if (c->n <= AUTO_WORDS)
		c->v[c->n++] = word;
}

void auto_add_option(struct auto_command *c, const char *name, const char *value)
{
	if (!value)
		return;
	auto_add(c, name);
	auto_add(c, value);
}

void auto_explain(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

static void print_word(FILE *f, const char *word)
{
	if (*word && !word[strspn(word, PLAIN)]) {
		fputs(word, f);
		return;
	}
	fputc('\'', f);
	for (; *word; word += *word != '\0') {
		size_t plain = strcspn(word, "'");

		hes_visible_put_part(f, word, plain);
		word += plain;
		if (*word)
			fputs("'\\''", f);
	}
	fputc('\'', f);
}

/* One line, however narrow the terminal is, so that it can be copied. @return 0; -1: it cannot be
 * written */
static int print_command(const struct auto_command *c)
{
	char *line = NULL;
	FILE *f = open_memstream(&line, &(size_t){ 0 });
	int rc = -1;

	for (size_t i = 0; f && i < c->n; i++) {
		fputs(i ? " " : "$ ", f);
		print_word(f, c->v[i]);
	}
	if (f && !fclose(f) && !fflush(stdout))
		rc = dprintf(STDOUT_FILENO, "%s\n", line) < 0 ? -1 : 0;
	free(line);
	return rc;
}

/* Wait, and leave no process for a signal once it is gone. @return its exit status */
static int wait_for(pid_t pid)
{
	siginfo_t end;
	int status = 0;

	while (waitid(P_PID, (id_t)pid, &end, WEXITED | WNOWAIT) && errno == EINTR)
		;
	child = 0;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int auto_run(const struct auto_command *c, bool print_only)
{
	pid_t pid;
	int rc, status;

	if (print_command(c)) {
		fprintf(stderr, "heshare auto: cannot write standard output: %s\n",
			strerror(errno));
		return 1;
	}
	if (print_only || stopped_by)
		return print_only ? 0 : 128 + stopped_by;
	rc = posix_spawn(&pid, "/proc/self/exe", NULL, NULL, (char *const *)(uintptr_t)c->v,
			 environ);
	if (rc) {
		fprintf(stderr, "heshare auto: cannot run /proc/self/exe: %s\n", strerror(rc));
		return 1;
	}
	child = (sig_atomic_t)pid;
	if (stopped_by) /* between the two lines above; a second time does no harm here */
		kill(pid, stopped_by);
	status = wait_for(pid);
	return status || !stopped_by ? status : 128 + stopped_by;
}
