/*
 * gpus_chosen.c - choose GPUs, and make fleets of them; see gpus_chosen.h.
 */
#include "app/gpus_chosen.h"
#include "app/gpus_visible.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/catalogue.h"
#include "base/texts.h"

int gpus_look(const struct hes_devices *d, size_t i, const struct hes_mps_status *mps,
	      struct gpus_seen *out, struct hes_err *err)
{
	struct gpus_seen s = { .index = i };
	int rc = hes_device_info(d, i, &s.info, err);

	if (!rc)
		rc = hes_device_read(d, i, HES_HAS_ALL, &s.reading, err);
	if (!rc)
		s.n_lacks = hes_capabilities_missing(d, i, mps, s.lacks, err);
	if (rc || s.n_lacks < 0)
		return rc ? rc : (int)s.n_lacks;
	s.activity = hes_activity_source(d, i);
	*out = s;
	return 0;
}

static bool gpu_lacks(const struct gpus_seen *s, const struct hes_missing_capability *l)
{
	for (long k = 0; k < s->n_lacks; k++)
		if (s->lacks[k].capability == l->capability && strcmp(s->lacks[k].why, l->why) == 0)
			return true;
	return false;
}

/* "GPUs 0-3, 6" of those that lack the same. */
static void name_lacking(const struct gpus_seen *s, size_t n,
			 const struct hes_missing_capability *l, char *out, size_t size)
{
	size_t many = 0;
	char list[GPUS_LIST_MAX] = "";

	for (size_t i = 0; i < n; i++) {
		size_t last = i;

		if (!gpu_lacks(&s[i], l))
			continue;
		while (last + 1 < n && s[last + 1].index == s[last].index + 1 &&
		       gpu_lacks(&s[last + 1], l))
			last++;
		hes_text_add(list, sizeof(list), ", ", last > i ? "%zu-%zu" : "%zu", s[i].index,
			     s[last].index);
		many += last - i + 1;
		i = last;
	}
	snprintf(out, size, "GPU%s %s", many > 1 ? "s" : "", list);
}

void gpus_lacks(const struct gpus_seen *s, size_t n, gpus_lack_fn *each, void *ctx)
{
	char gpus[GPUS_LIST_MAX + 8];

	for (size_t i = 0; i < n; i++)
		for (long k = 0; k < s[i].n_lacks; k++) {
			const struct hes_missing_capability *l = &s[i].lacks[k];
			size_t first = 0;

			while (!gpu_lacks(&s[first], l))
				first++;
			if (first < i)
				continue;
			name_lacking(s, n, l, gpus, sizeof(gpus));
			each(ctx, gpus, l);
		}
}

long gpus_find(const struct hes_devices *d, const char *option, const char *name,
	       struct hes_err *err)
{
	struct hes_err why = { .msg = "" };
	struct hes_device_info info;
	long i = hes_devices_find(d, name);
	int rc = i < 0 ? 0 : hes_device_info(d, (size_t)i, &info, err);

	if (i >= 0)
		return rc ? rc : i;
	if (i == -ENOTUNIQ)
		return hes_fail(err, -EINVAL,
				"%s: several UUIDs begin with \"%.80s\"; see heshare gpus", option,
				name);
	hes_devices_refused(d, &why);
	return hes_fail(err, -ENOENT,
			"%s: no GPU \"%.80s\"; there are %zu, from 0 on: see heshare gpus%s%s",
			option, name, hes_devices_count(d), *why.msg ? "; " : "", why.msg);
}

static int check_use(const struct hes_devices *d, size_t i, enum gpus_use use, struct hes_err *err)
{
	return use == GPUS_READ ? 0 : hes_device_check(d, i, use == GPUS_SHARE, err);
}

static int choose(const struct hes_devices *d, const char *name, enum gpus_use use, size_t *chosen,
		  size_t *n, struct hes_err *err)
{
	long i = gpus_find(d, "--gpus", name, err);
	int rc = i < 0 ? (int)i : check_use(d, (size_t)i, use, err);

	if (rc)
		return rc;
	for (size_t k = 0; k < *n; k++)
		if (chosen[k] == (size_t)i)
			return hes_fail(err, -EEXIST, "--gpus: GPU %ld is named twice", i);
	chosen[(*n)++] = (size_t)i;
	return 0;
}

/* Whether a word may name a GPU on some machine. */
static bool is_gpu_name(const char *name)
{
	return strncmp(name, "GPU-", 4) == 0 || strncmp(name, "MIG-", 4) == 0 ||
	       (*name && !name[strspn(name, "0123456789")]) ||
	       (strchr(name, ':') && !name[strspn(name, "0123456789abcdefABCDEF:.")]);
}

int gpus_check(const char *list, struct hes_err *err)
{
	const char *at = list && strcmp(list, "all") != 0 ? list : NULL;

	while (at) {
		char name[HES_UUID_MAX];
		size_t n = strcspn(at, ",");

		snprintf(name, sizeof(name), "%.*s", (int)n, at);
		if (n >= sizeof(name) || !is_gpu_name(name))
			return hes_fail(
				err, -EINVAL,
				"--gpus: \"%s\" names no GPU; write all, or indices, UUIDs, "
				"PCI addresses with commas: see heshare gpus",
				name);
		at = at[n] ? at + n + 1 : NULL;
	}
	return 0;
}

/* @return 0; there are GPUs and none can be used: why the first cannot */
static int choose_all(const struct app *app, const struct hes_devices *d, enum gpus_use use,
		      size_t *chosen, size_t *n, struct hes_err *err)
{
	struct hes_err first = { .code = 0 };

	for (size_t i = 0; i < hes_devices_count(d); i++) {
		struct hes_device_info info;
		struct hes_err why;

		if (!hes_device_info(d, i, &info, &why) && !check_use(d, i, use, &why)) {
			chosen[(*n)++] = i;
			continue;
		}
		if (!first.code)
			first = why;
		app_say(app, "left out: %s", why.msg);
	}
	return *n || !first.code ? 0 : hes_fail(err, first.code, "%s", first.msg);
}

int gpus_choose(const struct app *app, const struct hes_devices *d, const char *list,
		enum gpus_use use, size_t **out, size_t *n, struct hes_err *err)
{
	const bool all = !list || strcmp(list, "all") == 0;
	size_t *chosen = calloc(hes_devices_count(d) + 1, sizeof(*chosen)), many = 0;
	char *text = strdup(all ? "" : list), *at = text, *name;
	int rc = 0;

	if (!chosen || !text)
		rc = hes_fail(err, -ENOMEM, "no memory for a list of GPUs");
	if (!rc && all)
		rc = choose_all(app, d, use, chosen, &many, err);
	while (!rc && !all && (name = strsep(&at, ",")))
		rc = choose(d, name, use, chosen, &many, err);
	free(text);
	if (rc) {
		free(chosen);
		return rc;
	}
	*out = chosen;
	*n = many;
	return 0;
}

/* The capabilities that planning needs. */
enum { CLOCK = 1, MPS = 2 };

static unsigned capabilities_missing(const struct gpus_seen *s)
{
	unsigned without = 0;

	for (long k = 0; k < s->n_lacks; k++)
		without |= s->lacks[k].capability == HES_CAPABILITY_LOCK_CLOCK ? CLOCK
			   : s->lacks[k].capability == HES_CAPABILITY_MPS      ? MPS
									       : 0;
	return without;
}

/* A GPU's type as it can be used: a row of @types for each type, power limit and set of
 * capabilities. */
static const struct hes_gpu_type *usable(const struct hes_gpu_type *g, unsigned without,
					 struct gpus_fleet *b)
{
	struct hes_gpu_type *o = NULL;

	for (size_t k = 0; k < b->n_types && !o; k++)
		if (strcmp(b->types[k].name, g->name) == 0 &&
		    b->types[k].power_limit_mw == g->power_limit_mw &&
		    b->types[k].alone == ((without & MPS) != 0) &&
		    (b->types[k].n_clocks == 1) == (without & CLOCK || g->n_clocks == 1))
			o = &b->types[k];
	if (o)
		return o;
	o = &b->types[b->n_types++];
	*o = *g;
	o->alone = without & MPS;
	if (without & CLOCK) {
		o->clocks_mhz[0] = g->clock_default_mhz;
		o->n_clocks = 1;
	}
	return o;
}

int gpus_fleet_make(struct gpus_fleet *b, const char *name, size_t n, struct hes_err *err)
{
	*b = (struct gpus_fleet){ .types = calloc(n + 1, sizeof(*b->types)) };
	b->fleet.gpus = calloc(n + 1, sizeof(*b->fleet.gpus));
	snprintf(b->fleet.name, sizeof(b->fleet.name), "%s", name);
	return b->types && b->fleet.gpus ? 0 : hes_fail(err, -ENOMEM, "no memory for %zu GPUs", n);
}

void gpus_fleet_put(struct gpus_fleet *b, const char *node, size_t index, const char *uuid,
		    const struct hes_gpu_type *g, uint32_t limit_mw, bool clocks, bool mps)
{
	struct hes_gpu *o = &b->fleet.gpus[b->fleet.n++];
	struct hes_gpu_type limited = *g;

	hes_gpu_type_limit(&limited, limit_mw);

	snprintf(o->node, sizeof(o->node), "%.41s", node);
	snprintf(o->name, sizeof(o->name), "%.41s/%zu", node, index);
	snprintf(o->uuid, sizeof(o->uuid), "%s", uuid);
	o->type = usable(&limited, (clocks ? 0 : CLOCK) | (mps ? 0 : MPS), b);
}

static int add_gpu(const struct hes_devices *d, const struct gpus_seen *s, const char *host,
		   const struct hes_catalogue *c, struct gpus_fleet *b, struct hes_err *err)
{
	const unsigned without = capabilities_missing(s);
	const struct hes_gpu_type *g;

	for (long k = 0; k < s->n_lacks; k++)
		if (s->lacks[k].capability == HES_CAPABILITY_COMPUTE_MODE)
			return hes_fail(err, -EPERM, "GPU %zu: %s; %s; or leave it out with --gpus",
					s->index, s->lacks[k].why, s->lacks[k].what_to_do);
	g = app_gpu_type(d, s->index, c, err);
	if (!g)
		return err->code;
	gpus_fleet_put(b, host, s->index, s->info.uuid, g, s->info.power_limit_mw,
		       !(without & CLOCK), !(without & MPS));
	return 0;
}

/* @param n  of @gpus; afterwards of @s
 * @param all  a GPU that cannot be planned for is left out */
static int fill_fleet(const struct app *app, const struct hes_devices *d, const size_t *gpus,
		      size_t *n, bool all, const struct hes_catalogue *c, struct gpus_seen *s,
		      struct gpus_fleet *b, struct hes_err *err)
{
	const size_t many = *n;
	struct hes_mps_status mps;
	char host[HES_NAME_MAX] = "";
	int rc = 0;

	hes_mps_find(app_variable(app, "PATH"), app_variable(app, "CUDA_MPS_PIPE_DIRECTORY"), &mps);
	if (gethostname(host, sizeof(host) - 1) || !*host)
		snprintf(host, sizeof(host), "localhost");
	rc = gpus_fleet_make(b, host, many, err);
	*n = 0;
	for (size_t i = 0; i < many && !rc; i++) {
		struct hes_err why;

		rc = gpus_look(d, gpus[i], &mps, &s[*n], &why);
		if (!rc)
			rc = add_gpu(d, &s[*n], host, c, b, &why);
		*n += !rc;
		if (rc && all && (*n || i + 1 < many)) {
			app_say(app, "left out: %s", why.msg);
			rc = 0;
		} else if (rc) {
			hes_fail(err, rc, "%s", why.msg);
		}
	}
	return rc;
}

/* What planning does without. */
static void say_lack(void *app, const char *gpus, const struct hes_missing_capability *l)
{
	const char *instead = l->capability == HES_CAPABILITY_LOCK_CLOCK
				      ? "planned at the default clock"
			      : l->capability == HES_CAPABILITY_MPS ? "planned one job at a time"
								    : NULL;

	if (instead)
		app_say(app, "%s: %s; %s", gpus, l->why, instead);
}

int gpus_fleet_load(const struct app *app, const char *list, const struct hes_catalogue *c,
		    bool notes, struct gpus_fleet *out, struct hes_err *err)
{
	struct gpus_fleet b = { .n_types = 0 };
	struct hes_devices *d = NULL;
	struct gpus_seen *s = NULL;
	size_t *gpus = NULL, n = 0;
	int rc = gpus_check(list, err);

	if (!rc)
		rc = app_devices_open(app, c, &d, err);
	if (!rc)
		rc = gpus_choose(app, d, list, GPUS_READ, &gpus, &n, err);
	if (!rc) {
		s = calloc(n + 1, sizeof(*s));
		if (!s)
			rc = hes_fail(err, -ENOMEM, "no memory for %zu GPUs", n);
	}
	if (!rc)
		rc = fill_fleet(app, d, gpus, &n, !list || strcmp(list, "all") == 0, c, s, &b, err);
	if (!rc && notes) {
		gpus_lacks(s, n, say_lack, (void *)(uintptr_t)app);
	}
	free(s);
	free(gpus);
	hes_devices_close(d);
	if (rc)
		gpus_fleet_free(&b);
	else
		*out = b;
	return rc;
}

void gpus_fleet_free(struct gpus_fleet *b)
{
	hes_fleet_free(&b->fleet);
	free(b->types);
	*b = (struct gpus_fleet){ .n_types = 0 };
}
