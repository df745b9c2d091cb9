/*
 * known_store.c - find and open the store, and make forecasts for it; see known_store.h.
 */
#include "app/known_store.h"

#include <errno.h>
#include <libgen.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
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

int app_store_predictor(const char *path, const struct hes_predictor *p,
			struct hes_store_predictor *out, struct hes_err *err)
{
	uint32_t crc;
	int rc = hes_predictor_checksum(p, &crc, err);

	if (rc)
		return rc;
	*out = (struct hes_store_predictor){
		.crc = crc,
		.rows = hes_predictor_about(p)->rows,
		.at_us = hes_wall_us(),
		.name = path,
	};
	return 0;
}

int app_forecasts(const struct hes_predictor *p, const struct hes_catalogue *c,
		  const struct hes_samples *s, struct hes_forecast **out, struct hes_err *err)
{
	struct hes_forecast *v = calloc(s->n + 1, sizeof(*v));
	struct hes_estimate *forecasts = calloc(s->n + 1, sizeof(*forecasts));
	struct hes_samples known = { .v = calloc(s->n + 1, sizeof(*known.v)), .known = s->known };
	int rc = v && forecasts && known.v
			 ? 0
			 : hes_fail(err, -ENOMEM, "out of memory for %zu predictions", s->n);

	for (size_t i = 0; i < s->n && !rc; i++)
		if (hes_predictor_knows(p, s->v[i].task.gpu_type))
			known.v[known.n++] = s->v[i];
	if (!rc)
		rc = hes_predict_samples(p, &known, c, forecasts, err);
	for (size_t i = 0, at = 0; i < s->n && !rc; i++)
		if (hes_predictor_knows(p, s->v[i].task.gpu_type)) {
			v[i] = (struct hes_forecast){ forecasts[at].iteration_us,
						      forecasts[at].power_mw };
			at++;
		}
	hes_samples_free(&known);
	free(forecasts);
	if (rc)
		free(v);
	else
		*out = v;
	return rc;
}
