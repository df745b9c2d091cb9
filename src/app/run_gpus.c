/*
 * run_gpus.c - the GPUs of this machine that a run uses; see run_gpus.h.
 */
#include "app/run_gpus.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/run_identity.h"
#include "base/num.h"
#include "base/plural.h"
#include "heshare/capabilities.h"
#include "heshare/run.h"

#define LIMIT_DIFFERS 0.02 /* of a power limit: less is no difference */

/* The power limit of a GPU may have changed since the plan was made. */
static void warn_of_limits(const struct run_gpus *u)
{
	for (size_t g = 0; g < u->fleet->n; g++) {
		const double planned_w = u->fleet->gpus[g].type->power_limit_mw * 1e-3;
		struct hes_device_info info;

		if (u->gpus[g] < 0 || !u->plan->queues[g].n ||
		    hes_device_info(u->devices, (size_t)u->gpus[g], &info, NULL) ||
		    !info.power_limit_mw ||
		    fabs(info.power_limit_mw * 1e-3 - planned_w) < LIMIT_DIFFERS * planned_w)
			continue;
		app_say(u->app,
			"%s has a power limit of %g W, and the plan counts with %g W: "
			"times and joules will differ; plan again",
			u->fleet->gpus[g].name, info.power_limit_mw * 1e-3, planned_w);
	}
}

/* fit_gpus() with the GPUs of this machine. */
static int fit_devices(const struct hes_fleet *f, const struct hes_plan *p, const char *node,
		       unsigned how, const struct hes_devices *d, long *out, struct hes_err *err)
{
	size_t n = hes_devices_count(d);
	struct hes_device_info *info = calloc(n + 1, sizeof(*info));
	struct fit_gpu *types = calloc(n + 1, sizeof(*types));
	struct hes_err sick, why;
	int rc = info && types ? 0 : hes_fail(err, -ENOMEM, "out of memory for %zu GPUs", n);

	for (size_t i = 0; !rc && i < n; i++) {
		/* A GPU that cannot be used matches nothing; the plan may do without it. */
		hes_device_info(d, i, &info[i], NULL);
		types[i] = (struct fit_gpu){ info[i].type, info[i].uuid };
	}
	if (!rc) {
		rc = fit_gpus(f, p, node, how, types, n, out, err);
		if (rc == -ENODEV && hes_devices_check(d, &sick)) {
			why = *err;
			hes_fail(err, rc, "%s; %s", sick.msg, why.msg);
		}
	}
	free(info);
	free(types);
	return rc;
}

int run_gpus_fit(const struct run_gpus *u, bool others, bool resume, struct hes_err *err)
{
	const char *visible = app_variable(u->app, "CUDA_VISIBLE_DEVICES");
	bool named = false;
	int rc = fit_devices(u->fleet, u->plan, u->node,
			     (others ? FIT_OTHERS : 0) | (resume ? FIT_LOST : 0), u->devices,
			     u->gpus, err);

	for (size_t g = 0; g < u->fleet->n; g++)
		named |= u->fleet->gpus[g].uuid[0] != '\0';
	for (size_t g = 0; g < u->fleet->n && !rc; g++)
		if (u->gpus[g] >= 0 && u->plan->queues[g].n)
			rc = hes_device_check(u->devices, (size_t)u->gpus[g], false, err);
	if (!rc)
		warn_of_limits(u);
	return rc == -ENODEV && visible && named
		       ? hes_fail_in(err, "CUDA_VISIBLE_DEVICES is \"%.100s\"", visible)
		       : rc;
}

int run_gpus_bind(const struct run_gpus *u, struct hes_journal *j, int64_t run, struct hes_err *err)
{
	struct hes_run_gpu *v = NULL;
	size_t n = 0;
	int rc = hes_journal_gpus(j, run, &v, &n, err);

	for (size_t i = 0; !rc && i < n; i++) {
		const long g = hes_fleet_find(u->fleet, v[i].gpu);

		if (g >= 0)
			memcpy(u->fleet->gpus[g].uuid, v[i].uuid, sizeof(v[i].uuid));
	}
	free(v);
	return rc;
}

int run_gpus_check(const struct run_gpus *u, struct hes_journal *j, int64_t run,
		   struct hes_err *err)
{
	struct hes_run *v = NULL;
	size_t n = 0;
	int rc = hes_journal_going(j, run, &v, &n, err);

	for (size_t i = 0; !rc && i < n; i++) {
		struct hes_run_gpu *g = NULL;
		size_t n_gpus = 0;

		if (!run_is_alive(&v[i]))
			continue;
		rc = hes_journal_gpus(j, v[i].id, &g, &n_gpus, err);
		for (size_t k = 0; !rc && k < n_gpus; k++)
			for (size_t b = 0; !rc && b < u->fleet->n; b++) {
				struct hes_device_info info;

				if (u->gpus[b] < 0 ||
				    hes_device_info(u->devices, (size_t)u->gpus[b], &info, NULL) ||
				    strcmp(info.uuid, g[k].uuid) != 0)
					continue;
				rc = hes_fail(err, -EBUSY,
					      "GPU %ld is in use by run %" PRId64
					      " of %.200s, process %" PRId64,
					      u->gpus[b], v[i].id, run_plan_name(&v[i]),
					      v[i].runner.pid);
			}
		free(g);
	}
	free(v);
	return rc;
}

bool fit_has_node(const struct hes_fleet *f, const char *name)
{
	for (size_t g = 0; g < f->n; g++)
		if (strcmp(f->gpus[g].node, name) == 0)
			return true;
	return false;
}

static bool ours(const struct hes_fleet *f, size_t g, const char *node)
{
	return !node || strcmp(f->gpus[g].node, node) == 0;
}

/* The number in NODE/NUMBER. @return SIZE_MAX: there is none */
static size_t own_number(const char *name)
{
	const char *slash = strrchr(name, '/');
	uint64_t number;

	return slash && !hes_parse_u64(name, slash + 1, 0, SIZE_MAX - 1, &number, NULL)
		       ? (size_t)number
		       : SIZE_MAX;
}

/* What is to be matched. */
struct fit {
	const struct hes_fleet *f;
	const struct hes_plan *p;
	const char *node;
	unsigned how; /* enum fit_how */
	const struct fit_gpu *gpus;
	size_t n_gpus;
	bool *taken; /* one a GPU of the machine */
	long *out;   /* one a GPU of the fleet */
};

static size_t find_uuid(const struct fit *t, const char *uuid)
{
	size_t b = 0;

	while (b < t->n_gpus && strcmp(t->gpus[b].uuid, uuid) != 0)
		b++;
	return b;
}

static void take(struct fit *t, size_t g, size_t b)
{
	t->out[g] = (long)b;
	t->taken[b] = true;
}

/* Whether a GPU of the fleet has none yet and may have any of its type. */
static bool wants_any(const struct fit *t, size_t g, bool idle_too)
{
	return t->out[g] == HES_RUN_NO_GPU && ours(t->f, g, t->node) &&
	       (idle_too || t->p->queues[g].n) && (!t->f->gpus[g].uuid[0] || t->how & FIT_OTHERS);
}

static bool is_free(const struct fit *t, size_t g, size_t b)
{
	return !t->taken[b] && strcmp(t->gpus[b].type, t->f->gpus[g].type->name) == 0;
}

/* GPUs to those of their UUID; the others to GPUs of the same type: first to those of their own
 * number, then in their order. @return the first GPU that has work and gets none; -1: all do */
static long match(struct fit *t, bool idle_too)
{
	const struct hes_fleet *f = t->f;

	memset(t->taken, 0, t->n_gpus * sizeof(*t->taken));
	for (size_t g = 0; g < f->n; g++) {
		size_t b = f->gpus[g].uuid[0] && ours(f, g, t->node) ? find_uuid(t, f->gpus[g].uuid)
								     : t->n_gpus;

		t->out[g] = HES_RUN_NO_GPU;
		if (b < t->n_gpus)
			take(t, g, b);
	}
	for (size_t g = 0; g < f->n; g++) {
		size_t b = own_number(f->gpus[g].name);

		if (wants_any(t, g, idle_too) && b < t->n_gpus && is_free(t, g, b))
			take(t, g, b);
	}
	for (size_t g = 0; g < f->n; g++)
		for (size_t b = 0; b < t->n_gpus && wants_any(t, g, idle_too); b++)
			if (is_free(t, g, b))
				take(t, g, b);
	for (size_t g = 0; g < f->n; g++)
		if (t->out[g] == HES_RUN_NO_GPU && ours(f, g, t->node) && t->p->queues[g].n)
			return (long)g;
	return -1;
}

/* GPUs that are named by UUID and missing are lost, if another is there: it is the machine that
 * they were on. @return as match() */
static long mark_lost(struct fit *t, long missing)
{
	bool same_machine = false;

	for (size_t g = 0; g < t->f->n; g++)
		same_machine |= t->out[g] >= 0 && t->f->gpus[g].uuid[0];
	if (!same_machine || !(t->how & FIT_LOST))
		return missing;
	for (size_t g = 0; g < t->f->n; g++) {
		if (t->out[g] != HES_RUN_NO_GPU || !ours(t->f, g, t->node))
			continue;
		if (t->f->gpus[g].uuid[0])
			t->out[g] = HES_RUN_GPU_LOST;
		else if (t->p->queues[g].n)
			return (long)g;
	}
	return -1;
}

/* The GPU of this machine that is most like one of the plan. */
static const char *uuid_like(const struct fit *t, size_t g)
{
	const size_t own = own_number(t->f->gpus[g].name);
	const char *like = "";

	for (size_t b = t->n_gpus; b-- > 0;)
		if (t->gpus[b].uuid[0] &&
		    (!*like || b == own || strcmp(t->gpus[b].type, t->f->gpus[g].type->name) == 0))
			like = t->gpus[b].uuid;
	return like;
}

static int refuse_other(const struct fit *t, size_t g, struct hes_err *err)
{
	const struct hes_gpu *gpu = &t->f->gpus[g];
	const char *like = uuid_like(t, g);

	return hes_fail(
		err, -ENODEV,
		"%s (%s of the plan) is not on this machine%s%s; plan for the GPUs that it has, or "
		"let others of the same types stand for those of the plan by --other-gpus",
		gpu->uuid, gpu->name, *like ? ", which has " : "", like);
}

static int refuse(const struct hes_fleet *f, const struct hes_plan *p, const char *node,
		  const char *type, const struct fit_gpu *gpus, size_t n_gpus, struct hes_err *err)
{
	size_t have = 0, need = 0;

	for (size_t b = 0; b < n_gpus; b++)
		have += strcmp(gpus[b].type, type) == 0;
	for (size_t g = 0; g < f->n; g++)
		need += ours(f, g, node) && p->queues[g].n &&
			strcmp(f->gpus[g].type->name, type) == 0;
	return hes_fail(err, -ENODEV,
			"the plan has work for %zu GPU%s of type %s%s%s, this machine has %zu, of "
			"%zu GPU%s in all; plan for "
			"the GPUs that are here, or name one node of the plan by --node",
			need, hes_s(need), type, node ? " on node " : "", node ? node : "", have,
			n_gpus, hes_s(n_gpus));
}

int fit_gpus(const struct hes_fleet *f, const struct hes_plan *p, const char *node, unsigned how,
	     const struct fit_gpu *gpus, size_t n_gpus, long *out, struct hes_err *err)
{
	struct fit t = { f, p, node, how, gpus, n_gpus, NULL, NULL };
	long missing;
	int rc = 0;

	if (node && !fit_has_node(f, node))
		return hes_fail(err, -ENOENT,
				"no GPU of the plan is on a node \"%s\"; the first is %s", node,
				f->n ? f->gpus[0].name : "missing");
	t.out = calloc(f->n + 1, sizeof(*t.out));
	t.taken = calloc(n_gpus + 1, sizeof(*t.taken));
	if (!t.out || !t.taken) {
		free(t.out);
		free(t.taken);
		return hes_fail(err, -ENOMEM, "out of memory for %zu GPUs", f->n);
	}
	/* Where the whole fleet is here, idle GPUs keep their places. */
	missing = match(&t, true);
	if (missing >= 0)
		missing = match(&t, false);
	missing = mark_lost(&t, missing);
	if (missing >= 0 && f->gpus[missing].uuid[0] && !(how & FIT_OTHERS))
		rc = refuse_other(&t, (size_t)missing, err);
	else if (missing >= 0)
		rc = refuse(f, p, node, f->gpus[missing].type->name, gpus, n_gpus, err);
	else
		memcpy(out, t.out, f->n * sizeof(*out));
	free(t.out);
	free(t.taken);
	return rc;
}
