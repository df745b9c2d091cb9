/*
 * fair_library.c - find the library that is preloaded into commands; see fair_library.h.
 */
#include "app/fair_library.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/trust.h"

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
