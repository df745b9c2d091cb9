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
#include "base/utf8.h"
#include "cli/cli.h"
#include "cli/fair/fair.h"
#include "app/fair_client.h"
#include "app/fair_library.h"
#include "fair/fair_wire.h"
#include "heshare/fair.h"

#define PRELOAD   "LD_PRELOAD"
#define NOT_FOUND 127 /* as shells say it */
#define NOT_RUN   126

struct run_opts {
	const char *tenant, *weight, *clock, *socket; /* NULL: not given */
};

#define AT(member) .offset = offsetof(struct run_opts, member)

/* clang-format off */
static const struct opt run_opts[] = {
	{ .name = "tenant", .kind = OPT_TEXT, AT(tenant), .arg = "NAME",
	  .help = "the name that the command's GPU time is counted under; commands of one user "
		  "with the same name share it" },
	{ .name = "weight", .kind = OPT_TEXT, AT(weight), .arg = "W",
	  .help = "weight of the tenant; 1 without it" },
	{ .name = "clock", .kind = OPT_TEXT, AT(clock), .arg = "MHZ",
	  .help = "SM clock while it has the GPU, MHz; without it, the driver chooses" },
	FAIR_SOCKET_OPT(offsetof(struct run_opts, socket)),
	{ 0 }
};
/* clang-format on */

static void run_warn(const char *sentence)
{
	cli_say("fair run", sentence);
}

static int library_preload(struct hes_err *err)
{
	char *variable;
	int rc = fair_library_preload(cli_app(), FAIR_LIBRARY_PLACE, &variable, err);

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

static int tenant_export(const struct run_opts *o, const char *socket_path, struct hes_err *err)
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

static int run_prepare(const struct run_opts *o, struct hes_err *err)
{
	char path[FAIR_SOCKET_MAX];
	int rc = o->tenant ? tenant_check(o->tenant, err)
			   : hes_fail(err, -EINVAL,
				      "--tenant is missing: the name that the arbiter counts the "
				      "command under");

	if (!rc && fair_socket_find(cli_app(), o->socket, path, err))
		rc = -EINVAL;
	if (!rc)
		rc = tenant_export(o, path, err);
	if (!rc)
		rc = library_preload(err);
	if (!rc)
		socket_check(path);
	return rc;
}

static int run_run(const void *opts, int n_args, char **args)
{
	const struct run_opts *o = opts;
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

const struct command cmd_fair_run = {
	.name = "fair run",
	.args = "--tenant NAME -- COMMAND [ARGUMENT]...",
	.min_args = 1,
	.max_args = FAIR_MAX_ARGS,
	.summary = "run an unmodified command as a tenant",
	.text = "Starts the unmodified COMMAND as a tenant. A preloaded library delays its CUDA "
		"launches while other tenants have the GPU. Without an arbiter the command runs "
		"unscheduled, and the library tries to connect every second. Static and setuid "
		"programs cannot be scheduled. The exit status is the command's.",
	.example = "  heshare fair run --tenant alice -- python3 train.py",
	.opts = run_opts,
	.opts_size = sizeof(struct run_opts),
	.run = run_run,
};
