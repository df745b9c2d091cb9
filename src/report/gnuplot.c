/*
 * gnuplot.c - run gnuplot; see gnuplot.h. No other file of the report starts a process.
 *
 * Script, drawing and error output are memory files, not pipes, so neither side can block.
 */
#include "report/gnuplot.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/signals.h"

FILE *gnuplot_scratch(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w+");

	if (fd >= 0 && !f)
		close(fd);
	return f;
}

static int spawn(pid_t *pid, FILE *in, FILE *out, FILE *complaints)
{
	static char locale[] = "LC_ALL=C.UTF-8";
	static char name[] = "gnuplot", defaults[] = "--default-settings";
	char *const argv[] = { name, defaults, NULL };
	const char *search = getenv("PATH");
	char *path = NULL;
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int rc;

	if (search && asprintf(&path, "PATH=%s", search) < 0)
		return ENOMEM;
	rc = posix_spawn_file_actions_init(&actions);
	if (!rc) {
		char *const env[] = { locale, path, NULL };

		rc = posix_spawn_file_actions_adddup2(&actions, fileno(in), 0);
		if (!rc)
			rc = posix_spawn_file_actions_adddup2(&actions, fileno(out), 1);
		if (!rc)
			rc = posix_spawn_file_actions_adddup2(&actions, fileno(complaints), 2);
		if (!rc)
			rc = posix_spawnattr_init(&attr);
		if (!rc) {
			hes_signals_spawn(&attr, 0);
			rc = posix_spawnp(pid, name, &actions, &attr, argv, env);
			posix_spawnattr_destroy(&attr);
		}
		posix_spawn_file_actions_destroy(&actions);
	}
	free(path);
	return rc;
}

/* gnuplot quotes the line and points at it before it says what is wrong: the last line counts. */
static int failed(FILE *complaints, int status, struct hes_err *err)
{
	char line[256], last[256] = "it gave no reason";

	rewind(complaints);
	while (fgets(line, sizeof(line), complaints)) {
		size_t from = strspn(line, " \t\n"), n = strcspn(line + from, "\n");

		if (n) {
			memcpy(last, line + from, n);
			last[n] = '\0';
		}
	}
	if (WIFSIGNALED(status))
		return hes_fail(err, -EIO, "gnuplot was killed by signal %d", WTERMSIG(status));
	return hes_fail(err, -EIO, "gnuplot failed with status %d: %s", WEXITSTATUS(status), last);
}

static int await(pid_t pid, FILE *complaints, struct hes_err *err)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return hes_fail(err, -errno, "waiting for gnuplot: %s", strerror(errno));
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : failed(complaints, status, err);
}

int gnuplot_run(FILE *script, FILE *output, struct hes_err *err)
{
	FILE *complaints = gnuplot_scratch("gnuplot-stderr");
	pid_t pid;
	int rc;

	if (!complaints || fflush(script) || ferror(script) ||
	    lseek(fileno(script), 0, SEEK_SET) < 0)
		rc = errno ? errno : EIO;
	else
		rc = spawn(&pid, script, output, complaints);
	if (rc == ENOENT)
		rc = hes_fail(err, -ENOENT,
			      "gnuplot, which draws the figures, is not in PATH; "
			      "install the package gnuplot-nox (apt-get install gnuplot-nox)");
	else if (rc)
		rc = hes_fail(err, -rc, "cannot run gnuplot: %s", strerror(rc));
	else
		rc = await(pid, complaints, err);
	if (complaints)
		fclose(complaints);
	if (!rc)
		rewind(output);
	return rc;
}
