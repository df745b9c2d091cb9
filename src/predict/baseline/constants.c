/*
 * constants.c - priors, copies and files of the baseline's constants; see constants.h.
 *
 * Priors are round numbers that hold for GPUs in general, with a standard deviation. Values of a
 * file must be within the ranges here, so that the baseline is always positive and finite.
 */
#include "predict/baseline/constants.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/texts.h"

const struct prior shared_priors[SHARED_CONSTANTS] = {
	[WIDTH_SHARPNESS] = { "width_sharpness", 8, 1, 1.5, 30, false },
	[HOST_SHARPNESS] = { "host_sharpness", 5, 1, 1.5, 30, false },
	[L2_CROWD] = { "l2_crowd", 0.1, 0.4, 0, 3, true },
	[COPY_CROWD] = { "copy_crowd", 0.3, 0.6, 0, 5, true },
	[SYNC_CROWD] = { "sync_crowd", 1, 1, 0, 5, true },
	[MISS_GROWTH] = { "miss_growth", 0.8, 1, 0, 3, true },
	[SET_SCALE] = { "set_scale", 1, 1, 0.05, 10, false },
	[GAP_PART] = { "gap_part", 0.1, 2, 1e-3, 1, false },
	[SM_SCALE] = { "sm_scale", 1, 0.6, 0.3, 3, false },
	[DRAM_SCALE] = { "dram_scale", 1, 0.6, 0.2, 4, false },
	[CO_RUNNER_CROWD] = { "co_runner_crowd", 1, 1, 0, 10, true },
	[CO_RUNNER_DRAM] = { "co_runner_dram", 1, 1, 0, 10, true },
	[HELD_SCALE] = { "held_scale", 1, 0.6, 0.2, 4, false },
	[POWER_TRUST] = { "power_trust", 0.2, 0.3, 0, 1, true },
	[CROWD_TRUST] = { "crowd_trust", 0.2, 0.3, 0, 1, true },
	[NAMED_TRUST] = { "named_trust", 0.8, 0.3, 0, 1, true },
	[CHAIN_TRUST] = { "chain_trust", 0.7, 0.3, 0, 1, true },
	[SYNC_S] = { "sync_s", 1.5e-3, 1.4, 1e-5, 1, false },
	[KERNELS] = { "kernels", 250, 1, 1, 1e5, false },
	[KERNEL_WAIT] = { "kernel_wait", 0.5, 0.5, 0, 1, true },
};

const struct prior type_priors[TYPE_CONSTANTS] = {
	[REACH] = { "bandwidth_reached", 0.88, 0.1, 0.4, 1, false },
	[SATURATING] = { "saturating_share", 0.5, 0.4, 0.05, 1.5, false },
	[CONTEXT] = { "context_power", 0.05, 1, 1e-4, 0.5, false },
	[DRAM_POWER] = { "dram_power", 0.15, 0.7, 1e-3, 1, false },
	[STALL] = { "stall", 0.3, 0.7, 1e-2, 2, false },
	[VOLTAGE_FLOOR] = { "voltage_floor", 0.7, 0.15, 0.3, 0.99, false },
	[KNEE] = { "voltage_knee", 0.6, 0.25, 0.05, 0.97, false },
	[VOLTAGE_BEND] = { "voltage_bend", 1.3, 0.3, 0.3, 5, false },
	[POWER_SCALE] = { "power_scale", 1, 0.2, 0.2, 4, false },
	[LIMITER_S] = { "limiter_s", 0.1, 1.5, 1e-4, 100, false },
	[DRAM_CROWD] = { "dram_crowd", 0.1, 0.4, 0, 10, true },
};

const struct prior workload_priors[WORKLOAD_CONSTANTS] = {
	[HOST_PART] = { "host_part", 0.8, 0.5, 1e-3, 100, false },
	[SYNC_US] = { "sync_us", 1500, 1, 1, 1e9, false },
	[FIXED_MB] = { "fixed_mb", 100, 1.5, 1e-2, 1e7, false },
	[ISSUE_US] = { "issue_us", 20, 0.7, 0.1, 1e4, false },
};

static void set_priors(double *v, const struct prior *priors, size_t n)
{
	for (size_t i = 0; i < n; i++)
		v[i] = priors[i].start;
}

int constants_init(struct constants_table *t, size_t n_types, size_t n_workloads)
{
	struct constants_table made = {
		.types = calloc(n_types, sizeof(*made.types)),
		.n_types = n_types,
		.workloads = calloc(n_workloads, sizeof(*made.workloads)),
		.n_workloads = n_workloads,
	};

	if (!made.types || !made.workloads) {
		constants_finish(&made);
		return -ENOMEM;
	}
	set_priors(made.shared, shared_priors, SHARED_CONSTANTS);
	for (size_t i = 0; i < n_types; i++)
		set_priors(made.types[i].v, type_priors, TYPE_CONSTANTS);
	for (size_t i = 0; i < n_workloads; i++)
		set_priors(made.workloads[i].v, workload_priors, WORKLOAD_CONSTANTS);
	*t = made;
	return 0;
}

void constants_finish(struct constants_table *t)
{
	free(t->types);
	free(t->workloads);
	*t = (struct constants_table){ 0 };
}

int constants_copy(const struct constants_table *t, struct constants_table *out)
{
	struct constants_table made;
	int rc = constants_init(&made, t->n_types, t->n_workloads);

	if (rc)
		return rc;
	memcpy(made.shared, t->shared, sizeof(made.shared));
	memcpy(made.types, t->types, t->n_types * sizeof(*t->types));
	memcpy(made.workloads, t->workloads, t->n_workloads * sizeof(*t->workloads));
	*out = made;
	return 0;
}

size_t constants_type(const struct constants_table *t, const char *name)
{
	return hes_texts_find(t->types[0].name, sizeof(*t->types), t->n_types - 1, name);
}

size_t constants_workload(const struct constants_table *t, const char *name)
{
	return hes_texts_find(t->workloads[0].name, sizeof(*t->workloads), t->n_workloads - 1,
			      name);
}

void constants_settle(struct constants_table *t)
{
	smooth_max_init(&t->host, t->shared[HOST_SHARPNESS]);
	t->settled = true;
}

struct constants constants_at(const struct constants_table *t, size_t type, size_t workload)
{
	return (struct constants){ t->shared, t->types[type].v, t->workloads[workload].v,
				   t->settled ? &t->host : NULL };
}

struct constants constants_of(const struct constants_table *t, const char *type,
			      const char *workload)
{
	return constants_at(t, constants_type(t, type), constants_workload(t, workload));
}

static void values_io(struct model_io *io, double *v, const struct prior *priors, size_t n)
{
	for (size_t i = 0; i < n; i++)
		model_io_f64(io, &v[i], priors[i].min, priors[i].max);
}

void constants_io(struct model_io *io, struct constants_table *t)
{
	model_io_part(io, "a constant");
	t->types = model_io_array(io, t->types, &t->n_types, sizeof(*t->types), TYPE_CONSTANTS);
	t->workloads = model_io_array(io, t->workloads, &t->n_workloads, sizeof(*t->workloads),
				      WORKLOAD_CONSTANTS);
	model_io_check(io, t->n_types && t->n_workloads);
	values_io(io, t->shared, shared_priors, SHARED_CONSTANTS);
	for (size_t i = 0; i < t->n_types && !io->rc; i++) {
		model_io_text(io, t->types[i].name, HES_NAME_MAX);
		values_io(io, t->types[i].v, type_priors, TYPE_CONSTANTS);
	}
	for (size_t i = 0; i < t->n_workloads && !io->rc; i++) {
		model_io_text(io, t->workloads[i].name, HES_NAME_MAX);
		values_io(io, t->workloads[i].v, workload_priors, WORKLOAD_CONSTANTS);
	}
	if (io->reads && !io->rc)
		constants_settle(t);
}
