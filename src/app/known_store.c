/*
 * known_store.c - find and open the store; see known_store.h.
 */
#include "app/known_store.h"

#include <errno.h>
#include <libgen.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/trust.h"

static int default_path(const struct app *app, char **out, struct hes_err *err)
{
	const char *named = app_variable(app, "HESHARE_STORE");
	char *copy;
	int rc;

	if (named && *named) {
		copy = strdup(named);
		rc = copy ? 0 : -ENOMEM;
	} else {
		rc = hes_user_file(app_variable(app, "XDG_DATA_HOME"), app_variable(app, "HOME"),
				   ".local/share", "store.db", &copy);
	}
	if (rc == -ENOENT)
		return hes_fail(err, rc,
				"none of HESHARE_STORE, XDG_DATA_HOME and HOME tells where the "
				"store is; name it by --store FILE");
	if (rc)
		return hes_fail(err, rc, "out of memory");
	*out = copy;
	return 0;
}

/* Every folder above the file. */
static int make_folders(char *path, struct hes_err *err)
{
	int rc = 0;

	for (char *slash = strchr(path + 1, '/'); slash && !rc; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		rc = hes_folder_create(path, err);
		*slash = '/';
	}
	return rc;
}

int app_store_open(const struct app *app, const char *path, enum hes_store_mode mode, int wait_ms,
		   struct hes_store **out, struct hes_err *err)
{
	char *standard = NULL;
	int rc;

	if (path)
		return hes_store_open(path, mode, wait_ms, out, err);
	rc = default_path(app, &standard, err);
	if (rc)
		return rc;
	if (mode == HES_STORE_WRITE)
		rc = make_folders(standard, err);
	if (!rc)
		rc = hes_store_open(standard, mode, wait_ms, out, err);
	free(standard);
	return rc;
}

int app_store_check_trust(const struct hes_store *s, const char *user, struct hes_err *err)
{
	/* SQLite writes what these hold into the store. */
	static const char *const suffixes[] = { "-wal", "-shm", "-journal" };
	const struct passwd *owner = user ? getpwnam(user) : NULL;
	const uid_t uid = owner && geteuid() == 0 ? owner->pw_uid : geteuid();
	char real[PATH_MAX], path[PATH_MAX + 16];
	int rc = hes_trust_check(hes_store_path(s), uid, real, err);

	for (size_t i = 0; !rc && i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", real, suffixes[i]);
		rc = hes_trust_check(path, uid, NULL, err);
		rc = rc == -ENOENT ? 0 : rc;
	}
	return rc ? rc : hes_trust_check(dirname(real), uid, NULL, err);
}
