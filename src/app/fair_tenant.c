/*
 * fair_tenant.c - find the preload library, and make the environment of a tenant's command; see
 * fair_tenant.h.
 */
#include "app/fair_tenant.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/fair_client.h"
#include "base/num.h"
#include "base/trust.h"
#include "base/utf8.h"
#include "heshare/fair.h"

#define PRELOAD "LD_PRELOAD"

static int library_preload(const struct fair_tenant *q, struct hes_err *err)
{
	char *variable;
	int rc = fair_library_preload(q->app, q->place, &variable, err);

	if (rc)
		return rc;
	rc = app_set_variable(q->app, PRELOAD, variable + strlen(PRELOAD "="));
	if (rc)
		hes_fail(err, rc, PRELOAD ": %s", strerror(-rc));
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
static void program_check(const struct app *app, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
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
	if (why)
		app_say(app, "%s %s: it runs unscheduled", path, why);
}

/* The file that execvp() would take. @return whether there is one */
static bool program_find(const struct app *app, const char *name, char out[PATH_MAX])
{
	const char *path = app_variable(app, "PATH");
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

static int tenant_export(const struct fair_tenant *q, const char *socket_path, struct hes_err *err)
{
	char clock[32];
	uint32_t mhz = 0;
	double weight;
	int rc = q->clock ? hes_parse_u32("--clock", q->clock, 0, 100000, &mhz, err) : 0;

	if (!rc && q->weight)
		rc = hes_parse_double("--weight", q->weight, HES_FAIR_MIN_NUMBER,
				      HES_FAIR_MAX_NUMBER, &weight, err);
	if (rc)
		return rc;
	snprintf(clock, sizeof(clock), "%u", mhz);
	rc = app_set_variable(q->app, "HESHARE_FAIR_TENANT", q->name);
	if (!rc)
		rc = app_set_variable(q->app, "HESHARE_FAIR_SOCKET", socket_path);
	if (!rc)
		rc = app_set_variable(q->app, "HESHARE_FAIR_WEIGHT", q->weight ? q->weight : "1");
	if (!rc)
		rc = app_set_variable(q->app, "HESHARE_FAIR_CLOCK", clock);
	if (!rc)
		rc = app_set_variable(q->app, "HESHARE_FAIR_IF_REFUSED", q->if_refused);
	if (rc)
		hes_fail(err, rc, "the environment: %s", strerror(-rc));
	return rc;
}

/* The numbers of GPUs are those of the arbiter's --gpus, unless the user has chosen GPUs by CUDA's
 * order: it has the fastest GPU first. */
static int tenant_number_gpus(const struct app *app, struct hes_err *err)
{
	int rc = 0;

	if (!app_variable(app, "CUDA_DEVICE_ORDER") && !app_variable(app, "CUDA_VISIBLE_DEVICES"))
		rc = app_set_variable(app, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
	return rc ? hes_fail(err, rc, "the environment: %s", strerror(-rc)) : 0;
}

int fair_tenant_prepare(const struct fair_tenant *q, struct hes_err *err)
{
	char path[FAIR_SOCKET_MAX], program[PATH_MAX];
	int rc = q->name ? hes_check_name("--tenant", q->name, FAIR_NAME_MAX - 1, err)
			 : hes_fail(err, -EINVAL,
				    "--tenant is missing: the name that the arbiter counts the "
				    "command under");

	if (!rc && fair_socket_find(q->app, q->socket, path, err))
		rc = -EINVAL;
	if (!rc)
		rc = tenant_export(q, path, err);
	if (!rc)
		rc = tenant_number_gpus(q->app, err);
	if (!rc)
		rc = library_preload(q, err);
	if (rc)
		return rc;
	if (program_find(q->app, q->program, program))
		program_check(q->app, program);
	return 0;
}

#define LIBRARY       "libheshare-fair.so"
#define BUILT_PROGRAM "/src/cli" /* folders in a build tree */
#define BUILT_LIBRARY "../../interpose/" LIBRARY

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
static int library_find(const struct app *app, const char *place, char out[PATH_MAX],
			struct hes_err *err)
{
	const char *const places[] = { place, LIBRARY, BUILT_LIBRARY };
	const char *given = app_variable(app, "HESHARE_FAIR_LIBRARY");
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
int fair_library_preload(const struct app *app, const char *place, char **out, struct hes_err *err)
{
	const char *before = app_variable(app, "LD_PRELOAD");
	char library[PATH_MAX];
	int rc = library_find(app, place, library, err);

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
	if (asprintf(out, "LD_PRELOAD=%s%s%s", library, before && *before ? ":" : "",
		     before ? before : "") < 0)
		return hes_fail(err, -ENOMEM, "out of memory");
	return 0;
}
