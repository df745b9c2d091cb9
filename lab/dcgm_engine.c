/*
 * dcgm_engine.c - stand-in for libdcgm: profiling fields of the lab's GPUs, from an embedded or a
 * host engine.
 *
 * The lab's options --dcgm and --host-engine install it as libdcgm.so.4. A watch keeps each GPU's
 * integrals at its last two updates; a value is the mean between them. Counters for root only are
 * refused to an embedded engine and allowed to the host engine, which runs as a service.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/dcgm_abi.h"
#include "products.h"
#include "virtual_gpu.h"

#define EXPORT               __attribute__((visibility("default")))
#define MAX_GROUPS           64
#define FIRST_WITH_PROFILING 7 /* compute capability */
#define GROUP_INCOMPATIBLE   (-23)
#define BYTES_PER_MIB        (1024 * 1024)
#define NOT_SUPPORTED_DOUBLE (DCGM_BLANK_DOUBLE + 2)

enum { EMBEDDED = 1, HOST_ENGINE = 2 };

/* A group of GPUs or of fields. */
struct group {
	bool used;
	unsigned ids[DCGM_MAX_GPUS]; /* GPUs, or at most as many fields */
	size_t n;
};

/* A watched GPU: its integrals at the last two updates. */
struct watched {
	struct vgpu_sample before, last;
};

struct watch {
	bool used;
	uintptr_t group, fields;
	double every_s;
	struct watched gpus[DCGM_MAX_GPUS];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static struct group groups[MAX_GROUPS];
static struct group field_groups[MAX_GROUPS];
static struct watch watches[MAX_GROUPS];

EXPORT int dcgmInit(void)
{
	return vgpu_here() ? DCGM_OK : DCGM_UNINITIALIZED;
}

EXPORT int dcgmShutdown(void)
{
	return DCGM_OK;
}

EXPORT int dcgmStartEmbedded(int mode, uintptr_t *handle)
{
	if (!handle || (mode != DCGM_MODE_AUTO && mode != DCGM_MODE_MANUAL))
		return DCGM_BAD_PARAMETER;
	*handle = EMBEDDED;
	return DCGM_OK;
}

EXPORT int dcgmStopEmbedded(uintptr_t handle)
{
	return handle == EMBEDDED ? DCGM_OK : DCGM_BAD_PARAMETER;
}

EXPORT int dcgmConnect_v2(const char *address, const struct dcgm_connect *how, uintptr_t *handle)
{
	if (!address || !how || !handle)
		return DCGM_BAD_PARAMETER;
	if (how->version != DCGM_CONNECT_VERSION)
		return DCGM_VERSION_MISMATCH;
	if (!vgpu_here() || !vgpu_here()->host_engine)
		return DCGM_CONNECTION_NOT_VALID;
	*handle = HOST_ENGINE;
	return DCGM_OK;
}

EXPORT int dcgmDisconnect(uintptr_t handle)
{
	return handle == HOST_ENGINE ? DCGM_OK : DCGM_BAD_PARAMETER;
}

EXPORT int dcgmGetAllDevices(uintptr_t handle, unsigned *ids, int *n)
{
	if (!handle || !ids || !n)
		return DCGM_BAD_PARAMETER;
	for (*n = 0; *n < DCGM_MAX_GPUS && *n < (int)vgpu_here()->n_gpus; ++*n)
		ids[*n] = (unsigned)*n;
	return DCGM_OK;
}

/* Only UUIDs; other fields are read through watches. */
EXPORT int dcgmEntitiesGetLatestValues(uintptr_t handle, const struct dcgm_entity *e, unsigned n,
				       const unsigned short *fields, unsigned n_fields,
				       unsigned flags, struct dcgm_entity_value *out)
{
	struct vgpu_lab *lab = vgpu_here();

	if (!handle || !e || !fields || !out || !(flags & DCGM_LIVE_DATA))
		return DCGM_BAD_PARAMETER;
	for (unsigned i = 0; i < n; i++)
		for (unsigned f = 0; f < n_fields; f++) {
			struct dcgm_entity_value *v = &out[i * n_fields + f];
			bool known = e[i].group == DCGM_ENTITY_GPU && e[i].id < lab->n_gpus &&
				     fields[f] == DCGM_FIELD_UUID;

			*v = (struct dcgm_entity_value){ .version = DCGM_VERSION(
								 struct dcgm_entity_value, 2u),
							 .entity_group = e[i].group,
							 .entity = e[i].id,
							 .field = fields[f],
							 .type = 's',
							 .code = known ? DCGM_OK : DCGM_NO_DATA };
			if (known)
				snprintf(v->value.text, sizeof(v->value.text), "%s",
					 lab->gpus[e[i].id].uuid);
		}
	return DCGM_OK;
}

/* Take a free group of @all. @return DCGM's code, *@out its index */
static int take_group(struct group *all, uintptr_t *out)
{
	size_t i = 0;

	pthread_mutex_lock(&lock);
	while (i < MAX_GROUPS && all[i].used)
		i++;
	if (i < MAX_GROUPS)
		all[i] = (struct group){ .used = true };
	pthread_mutex_unlock(&lock);
	*out = i;
	return i < MAX_GROUPS ? DCGM_OK : DCGM_MAX_LIMIT;
}

static int give_group(uintptr_t handle, struct group *all, uintptr_t i)
{
	pthread_mutex_lock(&lock);
	if (handle && i < MAX_GROUPS)
		all[i].used = false;
	pthread_mutex_unlock(&lock);
	return DCGM_OK;
}

EXPORT int dcgmGroupCreate(uintptr_t handle, int type, const char *name, uintptr_t *out)
{
	return handle && type == DCGM_GROUP_EMPTY && name && out ? take_group(groups, out)
								 : DCGM_BAD_PARAMETER;
}

EXPORT int dcgmGroupAddDevice(uintptr_t handle, uintptr_t group, unsigned id)
{
	struct vgpu_lab *lab = vgpu_here();
	int rc = DCGM_OK;

	pthread_mutex_lock(&lock);
	if (!handle || group >= MAX_GROUPS || !groups[group].used || id >= lab->n_gpus ||
	    groups[group].n == DCGM_MAX_GPUS)
		rc = DCGM_BAD_PARAMETER;
	else
		groups[group].ids[groups[group].n++] = id;
	pthread_mutex_unlock(&lock);
	return rc;
}

EXPORT int dcgmGroupDestroy(uintptr_t handle, uintptr_t group)
{
	return give_group(handle, groups, group);
}

EXPORT int dcgmFieldGroupCreate(uintptr_t handle, int n, const unsigned short *ids,
				const char *name, uintptr_t *out)
{
	int rc;

	if (!handle || n < 1 || n > DCGM_MAX_GPUS || !ids || !name || !out)
		return DCGM_BAD_PARAMETER;
	rc = take_group(field_groups, out);
	pthread_mutex_lock(&lock);
	for (int i = 0; !rc && i < n; i++)
		field_groups[*out].ids[field_groups[*out].n++] = ids[i];
	pthread_mutex_unlock(&lock);
	return rc;
}

EXPORT int dcgmFieldGroupDestroy(uintptr_t handle, uintptr_t fields)
{
	return give_group(handle, field_groups, fields);
}

static struct vgpu_sample present(unsigned id)
{
	struct vgpu_lab *lab = vgpu_here();
	struct vgpu_sample s;

	vgpu_lock(lab, &lab->gpus[id]);
	s = lab->gpus[id].total;
	vgpu_unlock(&lab->gpus[id]);
	return s;
}

/* Whether the counters of a group may be read. */
static int allowed(uintptr_t handle, const struct group *g)
{
	struct vgpu_lab *lab = vgpu_here();

	for (size_t i = 0; i < g->n; i++) {
		struct lab_gpu *b = &lab->gpus[g->ids[i]];
		bool refused;

		if (strcmp(b->type.name, lab->gpus[g->ids[0]].type.name) != 0)
			return GROUP_INCOMPATIBLE;
		if (vgpu_product(&b->type).major < FIRST_WITH_PROFILING)
			return DCGM_PROFILING_NOT_SUPPORTED;
		vgpu_lock(lab, b);
		refused = handle == EMBEDDED && lab_gpu_has_fault(b, VGPU_FAULT_NO_COUNTERS);
		vgpu_unlock(b);
		if (refused)
			return DCGM_REQUIRES_ROOT;
	}
	return DCGM_OK;
}

static int add_watch(uintptr_t group, uintptr_t fields, double every_s)
{
	size_t i = 0;

	while (i < MAX_GROUPS && watches[i].used)
		i++;
	if (i == MAX_GROUPS)
		return DCGM_MAX_LIMIT;
	watches[i] = (struct watch){
		.used = true, .group = group, .fields = fields, .every_s = every_s
	};
	for (size_t k = 0; k < groups[group].n; k++)
		watches[i].gpus[k].before = watches[i].gpus[k].last = present(groups[group].ids[k]);
	return DCGM_OK;
}

EXPORT int dcgmWatchFields(uintptr_t handle, uintptr_t group, uintptr_t fields, long long every_us,
			   double keep_s, int keep)
{
	int rc = DCGM_BAD_PARAMETER;

	(void)keep_s;
	(void)keep;
	pthread_mutex_lock(&lock);
	if (handle && group < MAX_GROUPS && groups[group].used && fields < MAX_GROUPS &&
	    field_groups[fields].used && every_us > 0)
		rc = allowed(handle, &groups[group]);
	if (!rc)
		rc = add_watch(group, fields, (double)every_us * 1e-6);
	pthread_mutex_unlock(&lock);
	return rc;
}

static struct watch *find_watch(uintptr_t group, uintptr_t fields)
{
	for (size_t i = 0; i < MAX_GROUPS; i++)
		if (watches[i].used && watches[i].group == group && watches[i].fields == fields)
			return &watches[i];
	return NULL;
}

EXPORT int dcgmUnwatchFields(uintptr_t handle, uintptr_t group, uintptr_t fields)
{
	struct watch *w;

	pthread_mutex_lock(&lock);
	w = handle ? find_watch(group, fields) : NULL;
	if (w)
		w->used = false;
	pthread_mutex_unlock(&lock);
	return w ? DCGM_OK : DCGM_BAD_PARAMETER;
}

EXPORT int dcgmUpdateAllFields(uintptr_t handle, int wait)
{
	(void)wait;
	pthread_mutex_lock(&lock);
	for (size_t i = 0; handle && i < MAX_GROUPS; i++) {
		struct watch *w = &watches[i];

		for (size_t k = 0; w->used && k < groups[w->group].n; k++) {
			struct vgpu_sample now = present(groups[w->group].ids[k]);

			if (now.time_s - w->gpus[k].last.time_s < w->every_s)
				continue;
			w->gpus[k].before = w->gpus[k].last;
			w->gpus[k].last = now;
		}
	}
	pthread_mutex_unlock(&lock);
	return handle ? DCGM_OK : DCGM_BAD_PARAMETER;
}

static struct dcgm_value value_of(const struct watched *w, struct lab_gpu *b, unsigned field)
{
	const struct vgpu_sample *from = &w->before, *to = &w->last;
	struct vgpu_means means;
	struct dcgm_value v = { .version = DCGM_VERSION(struct dcgm_value, 1u),
				.field = (unsigned short)field,
				.type = 'd',
				.time_us = (int64_t)vgpu_wall_us(vgpu_here(), to->time_s) };

	vgpu_lock(vgpu_here(), b);
	means = lab_gpu_counters(b, from, to);
	vgpu_unlock(b);
	switch (field) {
	case DCGM_FIELD_GRAPHICS:
		v.value.d = means.graphics;
		break;
	case DCGM_FIELD_SM:
		v.value.d = means.sm;
		break;
	case DCGM_FIELD_OCCUPANCY:
		v.value.d = means.occupancy;
		break;
	case DCGM_FIELD_DRAM:
		v.value.d = means.dram;
		break;
	case DCGM_FIELD_TENSOR:
		v.value.d = means.tensor;
		break;
	case DCGM_FIELD_FP32:
		v.value.d = means.fp32;
		break;
	case DCGM_FIELD_PCIE_RX:
		v.value.i = (int64_t)(means.pcie_in_mib_s * BYTES_PER_MIB);
		v.type = 'i';
		break;
	case DCGM_FIELD_PCIE_TX:
		v.value.i = (int64_t)(means.pcie_out_mib_s * BYTES_PER_MIB);
		v.type = 'i';
		break;
	default:
		v.value.d = NOT_SUPPORTED_DOUBLE;
	}
	return v;
}

EXPORT int dcgmGetValuesSince_v2(uintptr_t handle, uintptr_t group, uintptr_t fields,
				 long long since_us, long long *next_us, dcgm_deliver_fn *deliver,
				 void *ctx)
{
	struct watch *w;

	if (!handle || !next_us || !deliver)
		return DCGM_BAD_PARAMETER;
	pthread_mutex_lock(&lock);
	w = find_watch(group, fields);
	for (size_t k = 0; w && k < groups[group].n; k++)
		for (size_t f = 0; f < field_groups[fields].n; f++) {
			struct dcgm_value v;

			if (w->gpus[k].last.time_s <= w->gpus[k].before.time_s)
				continue;
			v = value_of(&w->gpus[k], &vgpu_here()->gpus[groups[group].ids[k]],
				     field_groups[fields].ids[f]);
			if (v.time_us < since_us)
				continue;
			deliver(DCGM_ENTITY_GPU, groups[group].ids[k], &v, 1, ctx);
			*next_us = v.time_us + 1;
		}
	pthread_mutex_unlock(&lock);
	return w ? DCGM_OK : DCGM_BAD_PARAMETER;
}
