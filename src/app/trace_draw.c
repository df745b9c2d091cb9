/*
 * trace_draw.c - jobs of a trace; see trace_draw.h.
 */
#include "app/trace_draw.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/catalogue.h"
#include "app/known_folder.h"
#include "base/grow.h"
#include "base/texts.h"
#include "heshare/model.h"
#include "heshare/profile.h"

static bool is_profile(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
}

bool trace_is_generator(const char *path)
{
	return strcmp(path, HES_TRACE_GENERATOR) == 0 || is_profile(path);
}

int trace_open(const struct trace_source *s, struct hes_trace **out, struct hes_err *err)
{
	static const char *const generator = HES_TRACE_GENERATOR;
	const struct hes_trace_format *f = s->format ? hes_trace_format_find(s->format, err) : NULL;
	int rc;

	if (trace_is_generator(s->path))
		return hes_trace_generate(is_profile(s->path) ? s->path : NULL, s->seed, s->rows,
					  out, err);
	rc = s->columns ? hes_trace_open_columns(s->path, s->columns, out, err)
			: hes_trace_open(s->path, f, out, err);
	if (rc == -ENOENT && hes_text_nearest(s->path, &generator, 1))
		return hes_fail(err, rc, "%s: %s; did you mean the generator %s?", s->path,
				strerror(ENOENT), generator);
	if (!rc && s->local_time)
		hes_trace_use_local_time(*out);
	return rc;
}

int trace_draw(struct hes_trace *t, const struct trace_choices_from *from,
	       const struct hes_trace_options *d, struct hes_jobs *out,
	       struct hes_trace_account *account, struct hes_err *err)
{
	struct trace_choices choices;
	int rc = trace_choices_load(from, &choices, err);

	if (rc)
		return rc;
	rc = hes_trace_jobs(t, choices.v, choices.n, d, out, account, err);
	trace_choices_free(&choices);
	return rc;
}

int trace_draw_jobs(const struct app *app, const char *path, uint64_t seed, struct hes_jobs *out,
		    struct hes_err *err)
{
	const struct trace_choices_from from = { .app = app,
						 .reference = TRACE_REFERENCE,
						 .max_memory_mib = TRACE_MAX_MEMORY_MIB };
	struct hes_trace_account account;
	struct hes_trace_options d;
	struct hes_trace *t;
	int rc = trace_open(
		&(struct trace_source){ .path = path, .rows = TRACE_ROWS, .seed = seed }, &t, err);

	if (rc)
		return rc;
	hes_trace_options_defaults(&d);
	d.seed = seed;
	d.fewer = true;
	rc = trace_draw(t, &from, &d, out, &account, err);
	hes_trace_close(t);
	return rc;
}

#define MAX_BATCH 64 /* batch sizes are the powers of two up to it */

struct builder {
	const struct trace_choices_from *from;
	const struct hes_catalogue *types;
	const struct hes_model *model;
	struct trace_choices made;
	char known[320];  /* names of workloads, for errors */
	const char *last; /* workload listed last in known */
};

/* Whether @name is an item of a comma-separated list. */
static bool choices_name(const char *list, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
		if (strncmp(p, name, n) == 0 && (p[n] == ',' || p[n] == '\0'))
			return true;
	return false;
}

static void choices_note(struct builder *b, const char *workload)
{
	if (b->last && strcmp(b->last, workload) == 0)
		return;
	hes_text_add(b->known, sizeof(b->known), ", ", "%s", workload);
	b->last = workload;
}

static unsigned mix_of(const struct hes_model *m, const char *workload)
{
	static const unsigned mixes[] = {
		[HES_LOAD_LOW] = HES_MIX_LOW,
		[HES_LOAD_MEDIUM] = HES_MIX_MEDIUM,
		[HES_LOAD_HIGH] = HES_MIX_HIGH,
	};
	const struct hes_workload *w = hes_model_workload(m, workload, NULL);

	return w ? mixes[w->load] : HES_MIX_ALL;
}

static int choices_add(struct builder *b, const struct hes_choice *c, struct hes_err *err)
{
	struct hes_choice *v = hes_grow(b->made.v, b->made.n, sizeof(*v));

	if (!v)
		return hes_fail(err, -ENOMEM, "out of memory for %zu choices", b->made.n);
	b->made.v = v;
	b->made.v[b->made.n++] = *c;
	return 0;
}

static int choices_add_workload(struct builder *b, const struct hes_gpu_type *g,
				const struct hes_workload *w, struct hes_err *err)
{
	int rc = 0;

	choices_note(b, w->name);
	for (uint32_t batch = 1; batch <= MAX_BATCH && !rc; batch *= 2) {
		const struct hes_model_job alone = { w, batch, 100 };
		struct hes_choice c = {
			.batch_size = batch,
			.memory_mib = hes_workload_memory_mib(w, batch),
			.mix = mix_of(b->model, w->name),
		};
		struct hes_instant now;
		struct hes_rate rate;

		if (c.memory_mib > g->memory_mib)
			break;
		rc = hes_model_instant(b->model, g, 0, 0, &alone, 1, &rate, &now, err);
		if (rc)
			break;
		memcpy(c.workload, w->name, sizeof(c.workload));
		c.iteration_us = 1e6 / rate.iterations_per_s;
		rc = choices_add(b, &c, err);
	}
	return rc;
}

static int choices_from_model(struct builder *b, struct hes_err *err)
{
	const struct hes_gpu_type *g = hes_gpu_type_find(b->types, b->from->reference, err);
	int rc = 0;

	if (!g) {
		hes_fail_in(err, "--reference");
		return -ENOENT;
	}
	app_model_tell_derived(b->from->app, b->model, &g, 1);
	for (size_t i = 0; i < hes_model_workloads(b->model) && !rc; i++) {
		const struct hes_workload *w = hes_model_workload_at(b->model, i);

		if (w->testbed || w->own)
			rc = choices_add_workload(b, g, w, err);
	}
	return rc;
}

static int choices_from_profiles(struct builder *b, struct hes_err *err)
{
	struct hes_profiles p;
	int rc = app_profiles_load(b->from->profiles, &p, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < p.n && !rc; i++) {
		const struct hes_profile *v = &p.v[i];
		struct hes_choice c = {
			.batch_size = v->batch_size,
			.memory_mib = v->memory_mib,
			.iteration_us = v->iteration_us,
			.mix = mix_of(b->model, v->workload),
		};

		if (strcmp(v->gpu_type, b->from->reference) != 0)
			continue;
		choices_note(b, v->workload);
		memcpy(c.workload, v->workload, sizeof(c.workload));
		rc = choices_add(b, &c, err);
	}
	if (!rc && !b->last)
		rc = hes_fail(
			err, -ENOENT,
			"%s: no profile on %s, the reference GPU; name another with --reference",
			b->from->profiles, b->from->reference);
	b->last = NULL; /* it points into the profiles */
	hes_profiles_free(&p);
	return rc;
}

/* A workload that was named must be there and have a batch size that fits. */
static int choices_check_named(const struct builder *b, const char *name, struct hes_err *err)
{
	bool found = false, fits = false;

	for (size_t i = 0; i < b->made.n; i++) {
		if (strcmp(b->made.v[i].workload, name) != 0)
			continue;
		found = true;
		fits |= b->made.v[i].memory_mib <= b->from->max_memory_mib;
	}
	if (!found)
		return hes_fail(err, -ENOENT,
				"--workloads: unknown workload \"%s\"; there are: %s; %s", name,
				b->known,
				b->from->profiles ? "its profile on the reference GPU would add it"
						  : "heshare model --add-workload adds one");
	if (!fits)
		return hes_fail(err, -EINVAL,
				"--workloads: %s needs more than %u MiB at any batch size; raise "
				"--max-memory",
				name, b->from->max_memory_mib);
	return 0;
}

/* Keep the wanted workloads that are small enough. */
static int choices_narrow(struct builder *b, struct hes_err *err)
{
	size_t kept = 0;

	for (const char *p = b->from->workloads; p;
	     p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
		char name[HES_NAME_MAX];
		int rc;

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(p, ","), p);
		rc = choices_check_named(b, name, err);
		if (rc)
			return rc;
	}
	for (size_t i = 0; i < b->made.n; i++) {
		const struct hes_choice *c = &b->made.v[i];

		if (c->memory_mib <= b->from->max_memory_mib &&
		    (!b->from->workloads || choices_name(b->from->workloads, c->workload)))
			b->made.v[kept++] = *c;
	}
	b->made.n = kept;
	return kept ? 0
		    : hes_fail(err, -ENOSPC, "no workload fits in %u MiB; raise --max-memory",
			       b->from->max_memory_mib);
}

int trace_choices_load(const struct trace_choices_from *from, struct trace_choices *out,
		       struct hes_err *err)
{
	struct hes_catalogue types;
	struct hes_model *model = NULL;
	struct builder b = { .from = from, .types = &types };
	int rc = app_catalogue_load(from->app, from->catalogue, false, &types, err);

	if (rc)
		return rc;
	rc = app_model_load(from->app, NULL, &types, NULL, 0, &model, err);
	b.model = model;
	if (!rc)
		rc = from->profiles ? choices_from_profiles(&b, err) : choices_from_model(&b, err);
	if (!rc)
		rc = choices_narrow(&b, err);
	hes_model_free(model);
	hes_catalogue_free(&types);
	if (rc)
		trace_choices_free(&b.made);
	else
		*out = b.made;
	return rc;
}

void trace_choices_free(struct trace_choices *c)
{
	free(c->v);
	*c = (struct trace_choices){ 0 };
}
