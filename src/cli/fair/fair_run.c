/*
 * fair_run.c - `heshare fair run`: run a command as a tenant of an arbiter; see fair.h.
 *
 * The command is started with the preload library (interpose/), which reads the name of the tenant
 * from the environment.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/num.h"
#include "base/signals.h"
#include "base/trust.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "cli/fair/fair.h"
#include "app/fair_client.h"
#include "fair/fair_wire.h"
#include "heshare/fair.h"

#define LIBRARY       "libheshare-fair.so"
#define BUILT_PROGRAM "/src/cli" /* folders in a build tree */
#define BUILT_LIBRARY "../../interpose/" LIBRARY
#define PRELOAD       "LD_PRELOAD"
#define NOT_FOUND     127 /* as shells say it */
#define NOT_RUN       126

static void run_warn(const char *sentence)
{
	cli_say("fair run", sentence);
}

/* --- the library --- */

static bool folder_is_of_build(const char *folder)
{
	const size_t n = strlen(folder), m = strlen(BUILT_PROGRAM);

	return n > m && strcmp(folder + n - m, BUILT_PROGRAM) == 0;
}

/* @return 0; -ENOENT there is none; -EPERM others could replace it; -errno */
static int library_take(const char *name, char out[PATH_MAX], struct hes_err *err)
{
	int rc = hes_trust_check(name, geteuid(), out, err);

	return rc || !access(out, R_OK) ? rc
					: hes_fail(err, -errno, "%s: %s", out, strerror(errno));
}

/*
 * The library that is named, that is installed, that lies next to the program, or that is in the
 * program's build tree. One that others could replace would run as this user: it is passed over.
 */
static int library_find(char out[PATH_MAX], struct hes_err *err)
{
	static const char *const places[] = { FAIR_LIBRARY_PLACE, LIBRARY, BUILT_LIBRARY };
	const char *given = getenv("HESHARE_FAIR_LIBRARY");
	char program[PATH_MAX], name[PATH_MAX * 2];
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
	int rc = -ENOENT;

	if (given && *given)
		return library_take(given, out, err);
	program[n > 0 ? n : 0] = '\0';
	if (strrchr(program, '/'))
		*strrchr(program, '/') = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const bool whole = places[i][0] == '/';
		int found;

		if (places[i] == places[2] && !folder_is_of_build(program))
			continue;
		snprintf(name, sizeof(name), "%s%s%s", whole ? "" : program, whole ? "" : "/",
			 places[i]);
		found = library_take(name, out, rc == -ENOENT ? err : NULL);
		if (!found)
			return 0;
		rc = rc == -ENOENT ? found : rc;
	}
	return rc == -ENOENT ? hes_fail(err, rc,
					"%s is not found: make builds it; HESHARE_FAIR_LIBRARY "
					"can name it",
					LIBRARY)
			     : rc;
}

/* LD_PRELOAD takes names apart at blanks and colons. */
int fair_library_preload(char **out, struct hes_err *err)
{
	const char *before = getenv("LD_PRELOAD");
	char library[PATH_MAX];
	int rc = library_find(library, err);

	if (rc == -EPERM)
		hes_fail_in(err, "the library must be root's or this user's alone, with all "
				 "folders above it");
	if (rc)
		return rc;
	if (strpbrk(library, ": \t\n"))
		return hes_fail(err, -EINVAL,
				"%s: a name with blanks or colons cannot be preloaded; set "
				"HESHARE_FAIR_LIBRARY to another",
				library);
	if (asprintf(out, PRELOAD "=%s%s%s", library, before && *before ? ":" : "",
		     before ? before : "") < 0)
		return hes_fail(err, -ENOMEM, "out of memory");
	return 0;
}

static int library_preload(struct hes_err *err)
{
	char *variable;
	int rc = fair_library_preload(&variable, err);

	if (rc)
		return rc;
	if (setenv(PRELOAD, variable + strlen(PRELOAD "="), 1))
		rc = hes_fail(err, -errno, PRELOAD ": %s", strerror(errno));
	free(variable);
	return rc;
}

/* --- the command --- */

/* @return whether the file is an ELF program without a dynamic loader */
static bool program_is_static(int fd)
{
	Elf64_Ehdr h;
	Elf64_Phdr p;

	if (pread(fd, &h, sizeof(h), 0) != sizeof(h) || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 ||
	    h.e_ident[EI_CLASS] != ELFCLASS64 || (h.e_type != ET_EXEC && h.e_type != ET_DYN) ||
	    h.e_phentsize != sizeof(p))
		return false;
	for (unsigned i = 0; i < h.e_phnum; i++)
		if (pread(fd, &p, sizeof(p), (off_t)(h.e_phoff + i * sizeof(p))) != sizeof(p) ||
		    p.p_type == PT_INTERP)
			return false;
	return true;
}

/* Say so where the library cannot be loaded into the program. */
static void program_check(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	char line[PATH_MAX + 80];
	const char *why = NULL;

	if (fd < 0)
		return;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode)) {
		if (((st.st_mode & S_ISUID) && st.st_uid != getuid()) ||
		    ((st.st_mode & S_ISGID) && st.st_gid != getgid()))
			why = "changes its user or group, so nothing can be preloaded";
		else if (program_is_static(fd))
			why = "is a static program, so nothing can be preloaded";
	}
	close(fd);
	if (!why)
		return;
	snprintf(line, sizeof(line), "%s %s: it runs unscheduled", path, why);
	run_warn(line);
}

/* The file that execvp() would take. @return whether there is one */
static bool program_find(const char *name, char out[PATH_MAX])
{
	const char *path = getenv("PATH");
	struct stat st;

	if (strchr(name, '/') || !path)
		return snprintf(out, PATH_MAX, "%s", name) < PATH_MAX;
	for (const char *at = path;; at++) {
		size_t n = strcspn(at, ":");

		if (snprintf(out, PATH_MAX, "%.*s%s%s", (int)n, at, n ? "/" : "", name) <
			    PATH_MAX &&
		    access(out, X_OK) == 0 && stat(out, &st) == 0 && S_ISREG(st.st_mode))
			return true;
		at += n;
		if (!*at)
			return false;
	}
}

/* --- the tenant --- */

static int tenant_check(const char *name, struct hes_err *err)
{
	size_t n = strlen(name);

	if (!n || n >= FAIR_NAME_MAX)
		return hes_fail(err, -EINVAL, "--tenant: a name has 1 to %d bytes, not %zu",
				FAIR_NAME_MAX - 1, n);
	for (size_t i = 0; i < n; i++)
		if (hes_utf8_is_control(name + i))
			return hes_fail(err, -EINVAL,
					"--tenant: byte %zu of the name is a control character",
					i + 1);
	return hes_is_utf8(name) ? 0 : hes_fail(err, -EINVAL, "--tenant: the name is not UTF-8");
}

static void socket_check(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	char line[PATH_MAX + 200];

	memcpy(to.sun_path, path, strlen(path));
	if (fd >= 0 && connect(fd, (const struct sockaddr *)&to, sizeof(to)) && errno != EAGAIN) {
		snprintf(line, sizeof(line),
			 "no arbiter at %s (%s): the command runs unscheduled until there is one",
			 path, fair_client_why(errno));
		run_warn(line);
	}
	if (fd >= 0)
		close(fd);
}

static int tenant_export(const struct fair_opts *o, const char *socket_path, struct hes_err *err)
{
	char clock[32];
	uint32_t mhz = 0;
	double weight;
	int rc = o->clock ? hes_parse_u32("--clock", o->clock, 0, 100000, &mhz, err) : 0;

	if (!rc && o->weight)
		rc = hes_parse_double("--weight", o->weight, HES_FAIR_MIN_NUMBER,
				      HES_FAIR_MAX_NUMBER, &weight, err);
	if (rc)
		return rc;
	snprintf(clock, sizeof(clock), "%u", mhz);
	if (setenv("HESHARE_FAIR_TENANT", o->tenant, 1) ||
	    setenv("HESHARE_FAIR_SOCKET", socket_path, 1) ||
	    setenv("HESHARE_FAIR_WEIGHT", o->weight ? o->weight : "1", 1) ||
	    setenv("HESHARE_FAIR_CLOCK", clock, 1))
		rc = hes_fail(err, -errno, "the environment: %s", strerror(errno));
	return rc;
}

static int run_prepare(const struct fair_opts *o, struct hes_err *err)
{
	char path[FAIR_SOCKET_MAX];
	int rc = o->tenant ? tenant_check(o->tenant, err)
			   : hes_fail(err, -EINVAL,
				      "--tenant is missing: the name that the arbiter counts the "
				      "command under");

	if (!rc && fair_socket_find(o->socket, path, err))
		rc = -EINVAL;
	if (!rc)
		rc = tenant_export(o, path, err);
	if (!rc)
		rc = library_preload(err);
	if (!rc)
		socket_check(path);
	return rc;
}

int fair_run(const struct fair_opts *o, int n_args, char **args)
{
	char **argv = calloc((size_t)n_args + 1, sizeof(*argv)), path[PATH_MAX];
	struct hes_err err;
	int rc = argv ? run_prepare(o, &err) : hes_fail(&err, -ENOMEM, "out of memory");

	if (rc) {
		free(argv);
		cli_fail("fair run", &err);
		return rc == -EINVAL || rc == -ERANGE ? 2 : 1;
	}
	memcpy(argv, args, (size_t)n_args * sizeof(*argv));
	if (program_find(argv[0], path))
		program_check(path);
	hes_signals_as_started();
	execvp(argv[0], argv);
	rc = errno;
	hes_fail(&err, -rc, "%s: %s", argv[0], strerror(rc));
	cli_fail("fair run", &err);
	free(argv);
	return rc == ENOENT ? NOT_FOUND : NOT_RUN;
}
