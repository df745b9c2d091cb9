/*
 * model_add.c - add a workload to the GPU model and to a file; see model_add.h.
 */
#include "app/model_add.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "app/known_folder.h"
#include "base/file.h"
#include "base/utf8.h"
#include "model/workload_file.h"

#define LOCK_SECONDS  30
#define LOCK_PAUSE_NS 20000000
#define LOCK_TRIES    (LOCK_SECONDS * (1000000000 / LOCK_PAUSE_NS))

int model_add(struct hes_model *m, const struct hes_catalogue *c, const char *name,
	      const struct hes_workload_facts *facts, const char *profiles,
	      struct hes_model_fit *fit, struct hes_err *err)
{
	struct hes_profiles p = { 0 };
	int rc = hes_check_name("--add-workload", name, HES_NAME_MAX - 1, err);

	if (!rc && profiles)
		rc = app_profiles_load(profiles, &p, err);
	if (!rc)
		rc = hes_model_add_workload(m, c, name, facts, profiles ? &p : NULL, fit, err);
	hes_profiles_free(&p);
	return rc;
}

/* The workloads that the file has already. */
static int file_load_kept(const char *path, struct hes_model **out, struct hes_err *err)
{
	struct hes_catalogue types = { 0 };
	struct stat st;
	int rc = hes_model_load(NULL, out, err);

	if (rc || !strcmp(path, "-") || stat(path, &st) || !S_ISREG(st.st_mode))
		return rc;
	rc = hes_catalogue_load(path, &types, err);
	if (!rc && types.n)
		rc = hes_fail(
			err, -EEXIST,
			"-o %s: it has GPU types, too, which would be lost; name another file",
			path);
	if (!rc)
		rc = hes_model_add_file(*out, path, err);
	hes_catalogue_free(&types);
	return rc;
}

/*
 * Who adds to a file of a folder has the folder to itself meanwhile: the file is read and replaced,
 * and what others add in between would be lost. Folders that cannot be locked are not.
 * @return a descriptor to be closed, -1 without a lock; -EBUSY
 */
static int file_lock_folder(const char *path, struct hes_err *err)
{
	const struct timespec pause = { .tv_nsec = LOCK_PAUSE_NS };
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX];
	int fd;

	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path + 1) : 1,
		 slash ? path : ".");
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; fd >= 0 && flock(fd, LOCK_EX | LOCK_NB); i++) {
		if (errno != EWOULDBLOCK && errno != EINTR) {
			close(fd);
			return -1;
		}
		if (i == LOCK_TRIES) {
			close(fd);
			return hes_fail(err, -EBUSY,
					"-o %s: another program has locked its folder for %d s; "
					"try again, or name another file",
					path, LOCK_SECONDS);
		}
		nanosleep(&pause, NULL);
	}
	return fd < 0 ? -1 : fd;
}

int model_add_to_file(const struct hes_workload *added, const char *path, struct hes_err *err)
{
	struct hes_model *kept = NULL;
	struct hes_file out;
	int lock = strcmp(path, "-") ? file_lock_folder(path, err) : -1;
	int rc = lock == -EBUSY ? lock : file_load_kept(path, &kept, err);

	if (!rc)
		rc = hes_file_create(&out, path, err);
	if (!rc) {
		hes_workloads_write_head(out.f);
		for (size_t i = 0; i < hes_model_workloads(kept); i++) {
			const struct hes_workload *w = hes_model_workload_at(kept, i);

			if (w->own && strcmp(w->name, added->name))
				hes_workload_write(w, out.f);
		}
		hes_workload_write(added, out.f);
		rc = hes_file_commit(&out, err);
	}
	hes_model_free(kept);
	if (lock >= 0)
		close(lock);
	return rc;
}

static struct hes_model_fit *fits_grow(struct app_fits *fits, struct hes_err *err)
{
	struct hes_model_fit *v = reallocarray(fits->v, fits->n + 1, sizeof(*v));

	if (!v) {
		hes_fail(err, -ENOMEM, "out of memory");
		return NULL;
	}
	fits->v = v;
	return &v[fits->n];
}

int app_fits_own(const struct hes_workload *w, struct app_fits *fits, struct hes_err *err)
{
	struct hes_model_fit *v;

	for (size_t i = 0; i < fits->n; i++)
		if (!strcmp(fits->v[i].workload, w->name))
			return 0;
	v = w->own ? fits_grow(fits, err) : NULL;
	if (!v)
		return w->own ? -ENOMEM : 0;
	*v = (struct hes_model_fit){ .expected = { .time = w->time_factors,
						   .power = w->power_factors } };
	strcpy(v->workload, w->name);
	fits->n++;
	return 0;
}

/* Unless the model knows it. */
static int fits_add(struct hes_model *m, const struct hes_catalogue *c,
		    const struct hes_profiles *profiles, const char *workload,
		    struct app_fits *fits, struct hes_err *err)
{
	struct hes_model_fit *v;
	int rc;

	if (hes_model_workload(m, workload, NULL))
		return 0;
	v = fits_grow(fits, err);
	if (!v)
		return -ENOMEM;
	rc = hes_model_add_workload(m, c, workload, NULL, profiles, v, err);
	fits->n += !rc;
	return rc;
}

int app_fits_all(struct hes_model *m, const struct hes_catalogue *c, const char *profiles,
		 struct app_fits *fits, struct hes_err *err)
{
	struct hes_profiles p;
	int rc = app_profiles_load(profiles, &p, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < p.n && !rc; i++)
		rc = fits_add(m, c, &p, p.v[i].workload, fits, err);
	if (rc)
		hes_fail_in(err, "%s", profiles);
	hes_profiles_free(&p);
	return rc;
}
