/*
 * dcgm.c - DCGM by dlopen; see dcgm.h. The names of fields changed between versions of DCGM, their
 * numbers did not.
 *
 * Each GPU has its own group: DCGM refuses groups of different GPU types. A value is the mean since
 * the value before it.
 */
#include "gpu/dcgm.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "gpu/dcgm_abi.h"
#include "gpu/port_owner.h"
#include "gpu/watch.h"

#define ENGINE        "127.0.0.1"
#define ENGINE_PORT   5555
#define CONNECT_MS    500
#define EVERY_US      ((long long)(HES_WATCH_FASTEST_S * 1e6))
#define KEEP_S        30.0
#define BYTES_PER_MIB (1024.0 * 1024.0)

static const struct {
	unsigned short field;
	enum hes_act act;
	double unit;
} fields[] = {
	/* The first N_ESSENTIAL fields are those of every GPU with profiling. */
	{ DCGM_FIELD_SM, HES_ACT_SM, 1 },
	{ DCGM_FIELD_OCCUPANCY, HES_ACT_OCCUPANCY, 1 },
	{ DCGM_FIELD_DRAM, HES_ACT_DRAM, 1 },
	{ DCGM_FIELD_GRAPHICS, HES_ACT_BUSY, 1 },
	{ DCGM_FIELD_TENSOR, HES_ACT_TENSOR, 1 },
	{ DCGM_FIELD_FP32, HES_ACT_FP32, 1 },
	{ DCGM_FIELD_PCIE_TX, HES_ACT_PCIE_OUT, 1 / BYTES_PER_MIB },
	{ DCGM_FIELD_PCIE_RX, HES_ACT_PCIE_IN, 1 / BYTES_PER_MIB },
};
#define N_FIELDS    (sizeof(fields) / sizeof(fields[0]))
#define N_ESSENTIAL 3

struct gpu {
	unsigned id; /* DCGM's */
	uintptr_t group, field_group;
	long long since_us;        /* time of the first value that was not read yet */
	int64_t last_us[N_FIELDS]; /* time of the last value */
	struct hes_activity_sums *sums;
};

struct hes_dcgm {
	void *library;
	uintptr_t handle;
	bool embedded;
	struct gpu gpus[DCGM_MAX_GPUS];
	size_t n;
	int (*init)(void);
	int (*shutdown)(void);
	int (*connect)(const char *address, struct dcgm_connect *how, uintptr_t *handle);
	int (*disconnect)(uintptr_t handle);
	int (*start)(int mode, uintptr_t *handle);
	int (*stop)(uintptr_t handle);
	int (*list)(uintptr_t handle, unsigned *ids, int *n);
	int (*ask)(uintptr_t handle, struct dcgm_entity *e, unsigned n, unsigned short *fields,
		   unsigned n_fields, unsigned flags, struct dcgm_entity_value *out);
	int (*group)(uintptr_t handle, int type, const char *name, uintptr_t *out);
	int (*group_add)(uintptr_t handle, uintptr_t group, unsigned id);
	int (*group_free)(uintptr_t handle, uintptr_t group);
	int (*fields)(uintptr_t handle, int n, unsigned short *fields, const char *name,
		      uintptr_t *out);
	int (*fields_free)(uintptr_t handle, uintptr_t fields);
	int (*watch)(uintptr_t handle, uintptr_t group, uintptr_t fields, long long every_us,
		     double keep_s, int keep);
	int (*unwatch)(uintptr_t handle, uintptr_t group, uintptr_t fields);
	int (*update)(uintptr_t handle, int wait);
	int (*values)(uintptr_t handle, uintptr_t group, uintptr_t fields, long long since_us,
		      long long *next_us, dcgm_deliver_fn *deliver, void *ctx);
};

static const struct {
	const char *name;
	size_t slot;
} symbols[] = {
	{ "dcgmInit", offsetof(struct hes_dcgm, init) },
	{ "dcgmShutdown", offsetof(struct hes_dcgm, shutdown) },
	{ "dcgmConnect_v2", offsetof(struct hes_dcgm, connect) },
	{ "dcgmDisconnect", offsetof(struct hes_dcgm, disconnect) },
	{ "dcgmStartEmbedded", offsetof(struct hes_dcgm, start) },
	{ "dcgmStopEmbedded", offsetof(struct hes_dcgm, stop) },
	{ "dcgmGetAllDevices", offsetof(struct hes_dcgm, list) },
	{ "dcgmEntitiesGetLatestValues", offsetof(struct hes_dcgm, ask) },
	{ "dcgmGroupCreate", offsetof(struct hes_dcgm, group) },
	{ "dcgmGroupAddDevice", offsetof(struct hes_dcgm, group_add) },
	{ "dcgmGroupDestroy", offsetof(struct hes_dcgm, group_free) },
	{ "dcgmFieldGroupCreate", offsetof(struct hes_dcgm, fields) },
	{ "dcgmFieldGroupDestroy", offsetof(struct hes_dcgm, fields_free) },
	{ "dcgmWatchFields", offsetof(struct hes_dcgm, watch) },
	{ "dcgmUnwatchFields", offsetof(struct hes_dcgm, unwatch) },
	{ "dcgmUpdateAllFields", offsetof(struct hes_dcgm, update) },
	{ "dcgmGetValuesSince_v2", offsetof(struct hes_dcgm, values) },
};

static void *dcgm_load(void)
{
	static const char *const libraries[] = { "libdcgm.so.4", "libdcgm.so.3", "libdcgm.so" };
	void *library = NULL;

	for (size_t i = 0; i < 3 && !library; i++)
		library = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
	return library;
}

bool hes_dcgm_installed(void)
{
	void *library = dcgm_load();

	if (library)
		dlclose(library);
	return library;
}

static bool dcgm_find_symbols(struct hes_dcgm *c)
{
	c->library = dcgm_load();
	for (size_t i = 0; c->library && i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *f = dlsym(c->library, symbols[i].name);

		if (!f)
			return false;
		memcpy((char *)c + symbols[i].slot, &f, sizeof(f));
	}
	return c->library;
}

/*
 * A host engine has the rights of its user, usually more than ours. Our own engine reads counters
 * only on request and has no periodic thread.
 */
static bool connect_engine(struct hes_dcgm *c)
{
	struct dcgm_connect how = { .version = DCGM_CONNECT_VERSION, .timeout_ms = CONNECT_MS };

	/* Do not trust another user's program on this port. */
	if (hes_port_is_trusted(ENGINE_PORT, geteuid()) && !c->connect(ENGINE, &how, &c->handle) &&
	    c->handle)
		return true;
	c->handle = 0;
	c->embedded = !c->start(DCGM_MODE_MANUAL, &c->handle) && c->handle;
	return c->embedded;
}

struct hes_dcgm *hes_dcgm_open(void)
{
	struct hes_dcgm *c = calloc(1, sizeof(*c));
	bool found = c && dcgm_find_symbols(c);

	if (found && !c->init()) {
		if (connect_engine(c))
			return c;
		c->shutdown();
	}
	if (c && c->library)
		dlclose(c->library);
	free(c);
	return NULL;
}

void hes_dcgm_close(struct hes_dcgm *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n; i++) {
		c->unwatch(c->handle, c->gpus[i].group, c->gpus[i].field_group);
		c->fields_free(c->handle, c->gpus[i].field_group);
		c->group_free(c->handle, c->gpus[i].group);
	}
	if (c->embedded)
		c->stop(c->handle);
	else
		c->disconnect(c->handle);
	c->shutdown();
	/* DCGM's threads may still run: keep the library loaded. */
	free(c);
}

static bool find_gpu(const struct hes_dcgm *c, const char *uuid, unsigned *out)
{
	struct dcgm_entity_value *v = calloc(1, sizeof(*v));
	unsigned short field = DCGM_FIELD_UUID;
	unsigned ids[DCGM_MAX_GPUS];
	bool found = false;
	int n = 0;

	if (!v || c->list(c->handle, ids, &n))
		n = 0;
	for (int i = 0; i < n && i < DCGM_MAX_GPUS && !found; i++) {
		struct dcgm_entity e = { DCGM_ENTITY_GPU, ids[i] };

		*v = (struct dcgm_entity_value){ .version = DCGM_VERSION(struct dcgm_entity_value,
									 2u) };
		if (c->ask(c->handle, &e, 1, &field, 1, DCGM_LIVE_DATA, v) || v->code)
			continue;
		*out = ids[i];
		found = strncmp(v->value.text, uuid, sizeof(v->value.text)) == 0;
	}
	free(v);
	return found;
}

/* @return whether the first @n fields are watched for the group */
static bool watch_fields(const struct hes_dcgm *c, struct gpu *b, const char *name, size_t n)
{
	unsigned short ids[N_FIELDS];

	for (size_t i = 0; i < n; i++)
		ids[i] = fields[i].field;
	if (c->fields(c->handle, (int)n, ids, name, &b->field_group))
		return false;
	if (!c->watch(c->handle, b->group, b->field_group, EVERY_US, KEEP_S, 0))
		return true;
	c->fields_free(c->handle, b->field_group);
	return false;
}

bool hes_dcgm_watch(struct hes_dcgm *c, const char *uuid, struct hes_activity_sums *sums)
{
	struct gpu b = { .sums = sums, .since_us = hes_wall_us() };
	char name[64];

	if (c->n == DCGM_MAX_GPUS || !find_gpu(c, uuid, &b.id))
		return false;
	for (size_t i = 0; i < N_FIELDS; i++)
		b.last_us[i] = b.since_us;
	snprintf(name, sizeof(name), "heshare-%d-%u", (int)getpid(), b.id);
	if (c->group(c->handle, DCGM_GROUP_EMPTY, name, &b.group))
		return false;
	if (c->group_add(c->handle, b.group, b.id) ||
	    (!watch_fields(c, &b, name, N_FIELDS) && !watch_fields(c, &b, name, N_ESSENTIAL))) {
		c->group_free(c->handle, b.group);
		return false;
	}
	c->gpus[c->n++] = b;
	return true;
}

static int dcgm_take_values(unsigned entity_group, unsigned entity, struct dcgm_value *values,
			    int n, void *ctx)
{
	struct gpu *b = ctx;

	(void)entity_group;
	(void)entity;
	for (int k = 0; k < n; k++) {
		const struct dcgm_value *v = &values[k];
		double value = NAN;
		size_t f = 0;

		while (f < N_FIELDS && fields[f].field != v->field)
			f++;
		if (f == N_FIELDS || v->time_us <= b->last_us[f])
			continue;
		/* Some versions report PCIe bytes as integers. */
		if (!v->code && v->type == 'd' && v->value.d < DCGM_BLANK_DOUBLE)
			value = v->value.d;
		else if (!v->code && v->type == 'i' && v->value.i < DCGM_BLANK_INTEGER)
			value = (double)v->value.i;
		hes_activity_add(b->sums, fields[f].act, value * fields[f].unit,
				 (double)(v->time_us - b->last_us[f]) * 1e-6);
		b->last_us[f] = v->time_us;
	}
	return 0;
}

void hes_dcgm_look(struct hes_dcgm *c)
{
	c->update(c->handle, 1);
	for (size_t i = 0; i < c->n; i++) {
		struct gpu *b = &c->gpus[i];
		long long next = b->since_us;

		if (!c->values(c->handle, b->group, b->field_group, b->since_us, &next,
			       dcgm_take_values, b))
			b->since_us = next;
	}
}
