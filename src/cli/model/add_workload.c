/*
 * add_workload.c - add a workload to the GPU model and to a file; see add_workload.h.
 */
#include "cli/model/add_workload.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/plural.h"
#include "base/utf8.h"
#include "base/visible.h"
#include "cli/cli.h"
#include "cli/inputs/fitted.h"
#include "app/known_folder.h"
#include "model/workload_file.h"

#define LOCK_SECONDS  30
#define LOCK_PAUSE_NS 20000000
#define LOCK_TRIES    (LOCK_SECONDS * (1000000000 / LOCK_PAUSE_NS))

const char *const add_workload_arithmetic[] = { "fp32", "tf32", "fp16",
						NULL }; /* as enum hes_math */

void offer_known_networks(opt_say_fn *say, void *ctx)
{
	struct hes_model *m = NULL;
	struct hes_err err;

	if (hes_model_load(NULL, &m, &err))
		return;
	for (size_t i = 0; i < hes_model_workloads(m); i++)
		if (hes_prior_counts(m, i))
			say(hes_model_workload_at(m, i)->name, ctx);
	hes_model_free(m);
}

bool add_workload_has_fact(const struct add_workload_opts *o)
{
	return o->gflop > 0 || o->weights_mib > 0 || o->kernels > 0 || o->traffic_mib > 0 ||
	       o->arithmetic || o->like;
}

const char *add_workload_misuse(const struct add_workload_opts *o, const char *profiles)
{
	return o->gflop > 0 || profiles ? NULL
					: "--add-workload needs --gflop N, the operations of an "
					  "item, or --profiles FILE, or both";
}

static struct hes_workload_facts facts_of(const struct add_workload_opts *o, bool measured)
{
	struct hes_workload_facts f = {
		.gflop_per_item = o->gflop,
		.weights_mib = o->weights_mib,
		.traffic_mib_per_item = o->traffic_mib,
		.kernels = o->kernels,
		.like = o->like,
		.has_math = o->arithmetic || !measured,
		.math = HES_MATH_TF32,
	};

	for (size_t i = 0; o->arithmetic && add_workload_arithmetic[i]; i++)
		if (!strcmp(o->arithmetic, add_workload_arithmetic[i]))
			f.math = (enum hes_math)i;
	return f;
}

static int add(struct hes_model *m, const struct hes_catalogue *c,
	       const struct add_workload_opts *o, const char *profiles, struct hes_model_fit *fit,
	       struct hes_err *err)
{
	const struct hes_workload_facts facts = facts_of(o, profiles);
	struct hes_profiles p = { 0 };
	int rc = hes_check_name("--add-workload", o->name, HES_NAME_MAX - 1, err);

	if (!rc && profiles)
		rc = app_profiles_load(profiles, &p, err);
	if (!rc)
		rc = hes_model_add_workload(m, c, o->name, &facts, profiles ? &p : NULL, fit, err);
	hes_profiles_free(&p);
	return rc;
}

/* The workloads that the file has already. */
static int load_kept(const char *path, struct hes_model **out, struct hes_err *err)
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
static int lock_folder(const char *path, struct hes_err *err)
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

static int write_file(const struct hes_workload *added, const char *path, struct hes_err *err)
{
	struct hes_model *kept = NULL;
	struct hes_file out;
	int lock = strcmp(path, "-") ? lock_folder(path, err) : -1;
	int rc = lock == -EBUSY ? lock : load_kept(path, &kept, err);

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

static void print(const struct hes_model_fit *f, const struct add_workload_opts *o)
{
	const struct hes_expected_error *e = &f->expected;
	const struct {
		const char *what;
		double median;
	} rows[] = {
		{ "time alone", e->time_alone },
		{ "time with a co-runner", e->time_shared },
		{ "the co-runner's time", e->co_runner },
		{ "GPU power", e->power_median },
	};

	hes_visible_put(stdout, 0, o->name);
	printf(": added from %s%s%s; nearest network %s\n\n", f->points ? "its profile" : "",
	       f->points && add_workload_has_fact(o) ? " and " : "",
	       add_workload_has_fact(o) ? "public facts" : "", f->nearest);
	printf("error besides the model's own: medians over %zu measured network%s, left out and "
	       "added in the same way\n",
	       e->networks, hes_s(e->networks));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		printf("  %-22s %5.1f %%\n", rows[i].what, 100 * rows[i].median);
	putchar('\n');
	cli_fits_print(f, 1);
}

int add_workload(struct hes_model *m, const struct hes_catalogue *c,
		 const struct add_workload_opts *o, const char *profiles, bool json)
{
	struct hes_model_fit fit;
	struct hes_err err;
	int rc = add(m, c, o, profiles, &fit, &err);

	if (!rc && o->output)
		rc = write_file(hes_model_workload(m, o->name, NULL), o->output, &err);
	if (rc)
		return cli_fail("model", &err);
	if (json)
		return cli_print_json("heshare-model-fit",
				      json_pack("{s:o}", "fitted", cli_fits_json(&fit, 1)));
	print(&fit, o);
	return 0;
}
