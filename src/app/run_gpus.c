/*
 * run_gpus.c - the GPUs of this machine that a run uses; see run_gpus.h.
 */
#include "app/run_gpus.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/fit_gpus.h"
#include "app/run_identity.h"
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
