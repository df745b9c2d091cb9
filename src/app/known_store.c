/*
 * known_store.c - find and open the store; dates; forecasts; see known_store.h.
 */
#include "app/known_store.h"

#include <errno.h>
#include <libgen.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/trust.h"

static int default_path(char **out, struct hes_err *err)
{
	const char *named = getenv("HESHARE_STORE");
	char *copy;
	int rc;

	if (named && *named) {
		copy = strdup(named);
		rc = copy ? 0 : -ENOMEM;
	} else {
		rc = hes_user_file(getenv("XDG_DATA_HOME"), getenv("HOME"), ".local/share",
				   "store.db", &copy);
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

int cli_store_open(const char *path, enum hes_store_mode mode, int wait_ms, struct hes_store **out,
		   struct hes_err *err)
{
	char *standard = NULL;
	int rc;

	if (path)
		return hes_store_open(path, mode, wait_ms, out, err);
	rc = default_path(&standard, err);
	if (rc)
		return rc;
	if (mode == HES_STORE_WRITE)
		rc = make_folders(standard, err);
	if (!rc)
		rc = hes_store_open(standard, mode, wait_ms, out, err);
	free(standard);
	return rc;
}

int cli_store_check_trust(const struct hes_store *s, const char *user, struct hes_err *err)
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

int cli_parse_when(const char *what, const char *text, int64_t *out_us, struct hes_err *err)
{
	static const char *const forms[] = { "%Y-%m-%d", "%Y-%m-%dT%H:%M:%SZ" };

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct tm t = { 0 };
		const char *end = strptime(text, forms[i], &t);
		int day = t.tm_mday;
		time_t s;

		if (!end || *end)
			continue;
		s = timegm(&t);
		/* The 31st of February was taken for a day of March. */
		if (t.tm_mday != day)
			continue;
		*out_us = (int64_t)s * 1000000;
		return 0;
	}
	return hes_fail(err, -EINVAL,
			"%s: \"%.40s\" is no date such as 2026-11-21 or 2026-11-21T14:30:00Z (UTC)",
			what, text);
}

void cli_format_when(int64_t us, char out[20])
{
	time_t s = (time_t)(us / 1000000);
	struct tm t;

	if (!gmtime_r(&s, &t) || !strftime(out, 20, "%Y-%m-%d %H:%M", &t))
		strcpy(out, "?");
}

int cli_store_predictor(const char *path, const struct hes_predictor *p,
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

int cli_forecasts(const struct hes_predictor *p, const struct hes_catalogue *c,
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
