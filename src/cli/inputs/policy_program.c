/*
 * policy_program.c - run a program that decides a plan; see policy_program.h.
 *
 * The request is a file in memory, so that a program that does not read it blocks nobody; the
 * answer is a pipe.
 */
#include "cli/inputs/policy_program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "base/signals.h"
#include "core/plan_json.h"

#define FIRST_BYTES 65536

/* @return a descriptor of the request as a text, at its start; negative errno */
static int write_request(const struct hes_request *r)
{
	json_t *doc = policy_request_json(r);
	int fd = doc ? memfd_create("request", MFD_CLOEXEC) : -1, rc = fd < 0 ? -ENOMEM : 0;

	if (!rc &&
	    (json_dumpfd(doc, fd, JSON_COMPACT | JSON_REAL_PRECISION(9)) || lseek(fd, 0, SEEK_SET)))
		rc = -EIO;
	json_decref(doc);
	if (rc && fd >= 0)
		close(fd);
	return rc ? rc : fd;
}

/* Signals as a program expects them; its input and output are ours. */
static int spawn(const char *path, int in, int out, pid_t *pid)
{
	char *argv[] = { (char *)(uintptr_t)path, NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	int rc;

	posix_spawn_file_actions_init(&files);
	posix_spawnattr_init(&attributes);
	rc = posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
	if (!rc)
		rc = posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
	hes_signals_spawn(&attributes, 0);
	if (!rc)
		rc = posix_spawnp(pid, path, &files, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	return -rc;
}

/* All that comes from @fd. @return 0, with *text to be freed; -EFBIG more than a plan has; -ENOMEM;
 * -errno */
static int read_all(int fd, char **text, size_t *len)
{
	size_t room = FIRST_BYTES;
	char *v = malloc(room);
	ssize_t got = 0;

	*len = 0;
	while (v && (got = read(fd, v + *len, room - *len)) != 0) {
		char *more = v;

		if (got < 0 && errno != EINTR)
			break;
		*len += got > 0 ? (size_t)got : 0;
		if (*len > HES_PLAN_MAX_BYTES)
			break;
		if (*len == room) {
			room *= 2;
			more = realloc(v, room);
		}
		if (!more) {
			free(v);
			return -ENOMEM;
		}
		v = more;
	}
	if (v && !got) {
		*text = v;
		return 0;
	}
	free(v);
	return !v ? -ENOMEM : got < 0 ? -errno : -EFBIG;
}

/* @return 0, with *text to be freed, when the program has ended well */
static int run(const char *path, int in, char **text, size_t *len, struct hes_err *err)
{
	int ends[2], status = 0, rc;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return hes_fail(err, -errno, "a pipe: %s", strerror(errno));
	rc = spawn(path, in, ends[1], &pid);
	close(ends[1]);
	if (rc) {
		close(ends[0]);
		return hes_fail(err, rc, "cannot run %s: %s", path, strerror(-rc));
	}
	rc = read_all(ends[0], text, len);
	close(ends[0]);
	if (rc)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (rc == -EFBIG)
		return hes_fail(err, rc, "its answer is larger than 1024 MiB");
	if (rc)
		return hes_fail(err, rc, "its answer cannot be read: %s", strerror(-rc));
	if (status)
		rc = WIFSIGNALED(status)
			     ? hes_fail(err, -EPROTO, "it was ended by signal %d", WTERMSIG(status))
			     : hes_fail(err, -EPROTO,
					"it ended with exit status %d; a program that has a plan "
					"ends with 0",
					WEXITSTATUS(status));
	if (rc)
		free(*text);
	return rc;
}

static int decide(void *ctx, const struct hes_request *r, const struct hes_jobs *waiting,
		  struct hes_plan *out, struct hes_err *err)
{
	const struct policy_program *p = ctx;
	int in = write_request(r), rc;
	json_t *doc;
	char *text = NULL;
	size_t len = 0;

	if (in < 0)
		return hes_fail(err, in, "no memory for the request: %s", strerror(-in));
	rc = run(p->path, in, &text, &len, err);
	close(in);
	if (rc)
		return rc;
	rc = hes_json_parse("its answer", text, len, &doc, err);
	free(text);
	if (rc)
		return rc;
	rc = hes_plan_read(doc, "its answer", r->fleet, waiting, out, err);
	json_decref(doc);
	return rc;
}

bool policy_program_is(const char *name)
{
	return strncmp(name, POLICY_PROGRAM, strlen(POLICY_PROGRAM)) == 0;
}

struct policy_program *policy_program_new(const char *name, struct hes_err *err)
{
	const char *path = name + strlen(POLICY_PROGRAM), *slash = strrchr(path, '/'),
		   *file = slash ? slash + 1 : path;
	struct policy_program *p;

	if (!*file) {
		hes_fail(err, -EINVAL, "policy \"%.80s\" names no program; exec:./PROGRAM is right",
			 name);
		return NULL;
	}
	p = calloc(1, sizeof(*p));
	if (!p || !(p->path = strdup(path))) {
		free(p);
		hes_fail(err, -ENOMEM, "out of memory");
		return NULL;
	}
	snprintf(p->name, sizeof(p->name), POLICY_PROGRAM "%.40s", file);
	p->policy = (struct hes_policy){
		.name = p->name,
		.summary = p->path,
		.external = decide,
		.external_ctx = p,
		.max_work = UINT64_MAX,
	};
	return p;
}

void policy_program_free(struct policy_program *p)
{
	if (p)
		free(p->path);
	free(p);
}
