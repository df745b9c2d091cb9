/*
 * known_files.c - load what is known of workloads for a command; see known_files.h.
 */
#include "app/known_files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/catalogue.h"
#include "app/known_folder.h"

/* There may be none at the usual place. */
static int open_store(const char *path, struct hes_store **out, struct hes_err *err)
{
	struct hes_store *s = NULL;
	struct hes_err why;
	int rc = cli_store_open(path, HES_STORE_READ, HES_STORE_WAIT_MS, &s, &why);

	if (rc == -ENOENT && !path)
		rc = 0;
	else if (rc)
		hes_fail(err, rc, "%s", why.msg);
	if (!rc && s && (rc = cli_store_check_trust(s, NULL, &why)))
		hes_fail(err, rc, "%s; a store belongs to one user (docs/store.md)", why.msg);
	if (rc)
		hes_store_close(s);
	else
		*out = s;
	return rc;
}

static void say(void *ctx, const char *sentence)
{
	fprintf(stderr, "heshare %s: %s\n", (const char *)ctx, sentence);
}

/* What is read, opened. */
struct sources {
	struct hes_model *model; /* owned where it is the built-in one */
	struct hes_store *store;
	struct hes_profiles profiles;
};

static int open_sources(const struct cli_known_from *from, const struct hes_catalogue *c,
			const struct hes_gpu_type *const *types, size_t n_types, struct sources *s,
			struct hes_err *err)
{
	const bool own = from->predictor && from->profiles;
	int rc = from->profiles ? cli_profiles_load(from->profiles, &s->profiles, err) : 0;

	if (!rc && !own)
		rc = open_store(from->store, &s->store, err);
	if (!rc && !from->model)
		rc = cli_model_load(NULL, c, types, own || from->again ? 0 : n_types, &s->model,
				    err);
	return rc;
}

int cli_known_load_types(const struct cli_known_from *from, const struct hes_catalogue *c,
			 const struct hes_gpu_type *const *types, size_t n_types,
			 struct hes_known *out, struct hes_err *err)
{
	struct sources s = { .model = NULL };
	int rc = open_sources(from, c, types, n_types, &s, err);
	const struct hes_known_request q = {
		.catalogue = c,
		.types = types,
		.n_types = n_types,
		.model = from->model ? from->model : s.model,
		.store = s.store,
		.profiles = from->profiles ? &s.profiles : NULL,
		.predictor = from->predictor,
		.jobs = from->jobs,
		.fit_all = from->replayed,
		.profiles_only = from->profiles_only,
		.keep = !from->model,
		.say = from->again ? NULL : say,
		.ctx = (void *)(uintptr_t)from->command,
	};

	if (!rc)
		rc = hes_known_load(&q, out, err);
	hes_profiles_free(&s.profiles);
	hes_store_close(s.store);
	hes_model_free(s.model);
	return rc;
}

int cli_known_load(const struct cli_known_from *from, const struct hes_catalogue *c,
		   const struct hes_fleet *f, struct hes_known *out, struct hes_err *err)
{
	const struct hes_gpu_type *types[HES_KNOWN_TYPES];
	size_t n = hes_fleet_types(f, types, HES_KNOWN_TYPES);

	return cli_known_load_types(from, c, types, n, out, err);
}

void cli_known_fit(const struct hes_known *k, bool file, struct hes_gpu_type *types, size_t n)
{
	hes_known_hold(k, types, n);
	for (size_t i = 0; file && i < n; i++)
		hes_predictor_offer(k->predictor, &types[i]);
}

void cli_known_print(FILE *f, const uint32_t known[HES_KNOWN_SOURCES])
{
	static const char *const words[][2] = { { "measured", "measured" },
						{ "known network", "known networks" },
						{ "derived", "derived" },
						{ "unknown", "unknown" } };
	size_t put = 0;

	fputs("Jobs:", f);
	for (int i = 0; i < HES_KNOWN_SOURCES; i++)
		if (known[i])
			fprintf(f, "%s %" PRIu32 " %s", put++ ? "," : "", known[i],
				words[i][known[i] > 1]);
	fputs(".", f);
}

json_t *cli_known_json(const uint32_t known[HES_KNOWN_SOURCES])
{
	json_t *o = json_object();

	for (int i = 0; i < HES_KNOWN_SOURCES; i++)
		json_object_set_new(o, hes_known_sources[i], json_integer(known[i]));
	return o;
}

static int add_type(const char *name, const struct hes_catalogue *c,
		    const struct hes_gpu_type **out, int n, size_t max, struct hes_err *err)
{
	const struct hes_gpu_type *g = hes_gpu_type_find(c, name, err);

	if (!g)
		return -ENOENT;
	if ((size_t)n == max)
		return hes_fail(err, -E2BIG, "more than %zu GPU types", max);
	for (int i = 0; i < n; i++)
		if (out[i] == g)
			return hes_fail(err, -EEXIST, "GPU type %s is given twice", name);
	out[n] = g;
	return 0;
}

int cli_types(const char *list, const struct hes_catalogue *c, const struct hes_gpu_type **out,
	      size_t max, struct hes_err *err)
{
	char *text = strdup(list), *rest, *name;
	int n = 0, rc = text ? 0 : hes_fail(err, -ENOMEM, "out of memory");

	for (name = text ? strtok_r(text, ",", &rest) : NULL; name && !rc;
	     name = strtok_r(NULL, ",", &rest)) {
		rc = add_type(name, c, out, n, max, err);
		n += !rc;
	}
	free(text);
	if (!rc && !n)
		rc = hes_fail(err, -ENOENT, "no GPU type in \"%.60s\"", list);
	return rc ? rc : n;
}
