/*
 * device.c - find GPUs, list their properties and change their settings; see heshare/device.h.
 * reading.c reads sensors.
 */
#include "heshare/device.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/nvml.h"

/* Of any GPU. */
#define MOST_MW  3000000
#define MOST_MHZ 5000
/* No GPU draws less: parts of a type's idle power, of the limit of a GPU without a type. */
#define LEAST_OF_IDLE  4
#define LEAST_OF_LIMIT 200

static int find_gpus(struct hes_devices *d, struct hes_err *err)
{
	unsigned n = 0;
	int code = d->nvml.init();

	if (code)
		return hes_nvml_refuse_all(d, "NVML does not start", code, err);
	d->started = true;
	code = d->nvml.count(&n);
	if (code)
		return hes_nvml_refuse_all(d, "NVML cannot count them", code, err);
	d->gpus = calloc(n ? n : 1, sizeof(*d->gpus));
	if (!d->gpus)
		return hes_fail(err, -ENOMEM, "no memory for %u GPUs", n);
	for (d->n = 0; d->n < n; d->n++) {
		void *dev = NULL;

		d->gpus[d->n].refused = d->nvml.handle((unsigned)d->n, &dev);
		d->gpus[d->n].handle = d->gpus[d->n].refused ? NULL : dev;
		if (d->gpus[d->n].handle &&
		    d->nvml.uuid(dev, d->gpus[d->n].uuid, sizeof(d->gpus[d->n].uuid)))
			d->gpus[d->n].uuid[0] = '\0';
	}
	return 0;
}

/* Newer drivers report instant power in a separate field. */
static void find_fields(struct hes_devices *d)
{
	for (size_t i = 0; i < d->n && d->nvml.fields; i++) {
		struct nvml_field f = { .id = NVML_FIELD_POWER_INSTANT };

		d->gpus[i].instant =
			d->gpus[i].handle && !d->nvml.fields(d->gpus[i].handle, 1, &f) && !f.code;
	}
}

/* A GPU may exceed its power limit for moments, and its highest clock by an offset. */
static void find_most(struct hes_devices *d)
{
	for (size_t i = 0; i < d->n; i++) {
		unsigned set_mw = 0, default_mw = 0, mhz = 0, mw;
		void *dev = d->gpus[i].handle;

		if (dev && d->nvml.power_limit)
			d->nvml.power_limit(dev, &set_mw);
		if (dev && d->nvml.default_limit)
			d->nvml.default_limit(dev, &default_mw);
		if (dev && d->nvml.max_clock)
			d->nvml.max_clock(dev, NVML_CLOCK_SM, &mhz);
		mw = set_mw > default_mw ? set_mw : default_mw;
		d->gpus[i].most_mw = mw && mw < MOST_MW ? mw + mw / 2 : MOST_MW;
		d->gpus[i].least_mw = mw < MOST_MW ? mw / LEAST_OF_LIMIT : 0;
		d->gpus[i].most_mhz = mhz && mhz < MOST_MHZ ? mhz + mhz / 10 : MOST_MHZ;
	}
}

static void find_types(struct hes_devices *d, const struct hes_catalogue *c)
{
	for (size_t i = 0; i < d->n; i++) {
		const struct hes_gpu_type *g;
		struct hes_device_info info;

		if (hes_device_info(d, i, &info, NULL))
			continue;
		g = c ? hes_gpu_type_of_driver(c, info.name, (uint32_t)(info.memory_bytes >> 20))
		      : NULL;
		hes_gpu_type_name(info.name, d->gpus[i].type);
		if (!g)
			continue;
		strcpy(d->gpus[i].type, g->name);
		d->gpus[i].least_mw = g->idle_power_mw / LEAST_OF_IDLE;
	}
}

int hes_devices_open(const struct hes_catalogue *c, struct hes_devices **out, struct hes_err *err)
{
	struct hes_devices *d = calloc(1, sizeof(*d));
	int rc;

	if (!d)
		return hes_fail(err, -ENOMEM, "no memory for NVML");
	rc = hes_nvml_find(d, err);
	if (!rc)
		rc = find_gpus(d, err);
	if (rc) {
		hes_devices_close(d);
		return rc;
	}
	find_fields(d);
	find_most(d);
	find_types(d, c);
	*out = d;
	return 0;
}

/* A GPU that a list names by a UUID that NVML does not have is one whose UUID NVML refuses to tell.
 * @return the first of these that the list does not have yet; -1 */
static long unreadable(const struct hes_devices *d, const char *name, const size_t *order, size_t n)
{
	for (size_t i = 0; i < d->n && strncmp(name, "GPU-", 4) == 0; i++) {
		bool taken = *d->gpus[i].uuid;

		for (size_t k = 0; k < n; k++)
			taken |= order[k] == i;
		if (!taken)
			return (long)i;
	}
	return -1;
}

/* A GPU that a list names. @return its index; -ENOENT, -ENOTSUP */
static long named(const struct hes_devices *d, const char *what, const char *name,
		  struct hes_err *err)
{
	struct hes_err why = { .msg = "" };
	long i = -1;

	if (strncmp(name, "MIG-", 4) == 0)
		return hes_fail(err, -ENOTSUP,
				"%s names %.80s, a MIG instance; heshare plans whole GPUs and MPS "
				"shares of them: use a GPU "
				"without MIG",
				what, name);
	/* Not a PCI address: CUDA takes none. */
	if (strncmp(name, "GPU-", 4) == 0 || (*name && !name[strspn(name, "0123456789")]))
		i = hes_devices_find(d, name);
	if (i >= 0)
		return i;
	if (i == -ENOTUNIQ)
		return hes_fail(
			err, -EINVAL,
			"%s names GPU \"%.80s\", and several UUIDs begin so: write more of it",
			what, name);
	hes_devices_refused(d, &why);
	return hes_fail(err, -ENOENT,
			"%s names GPU \"%.80s\", and there is no such GPU; NVML shows %zu, from 0 "
			"on%s%s",
			what, name, d->n, *why.msg ? "; " : "", why.msg);
}

/* @param order  room for d->n indices */
static int read_list(const struct hes_devices *d, const char *what, char *text, size_t *order,
		     size_t *n, struct hes_err *err)
{
	struct hes_err why;
	char *name;

	while ((name = strsep(&text, ","))) {
		long i;

		name += strspn(name, " ");
		for (size_t n_name = strlen(name); n_name && name[n_name - 1] == ' ';)
			name[--n_name] = '\0';
		if (strcmp(name, "-1") == 0) /* CUDA shows what stands before it */
			return 0;
		if (strchr(name, ' '))
			return hes_fail(err, -EINVAL,
					"%s names GPU \"%.80s\"; GPUs are separated by commas",
					what, name);
		i = named(d, what, name, &why);
		if (i == -ENOENT && unreadable(d, name, order, *n) >= 0)
			i = unreadable(d, name, order, *n);
		if (i < 0)
			return hes_fail(err, (int)i, "%s", why.msg);
		for (size_t k = 0; k < *n; k++)
			if (order[k] == (size_t)i)
				return hes_fail(err, -EEXIST, "%s names GPU \"%.80s\" twice", what,
						name);
		order[(*n)++] = (size_t)i;
	}
	return 0;
}

static bool names_none(const char *list)
{
	return !*list || strcmp(list, "-1") == 0 || strcmp(list, "NoDevFiles") == 0;
}

/* The GPUs in this order. @return -ENOMEM, all as it was */
static int reorder(struct hes_devices *d, const size_t *order, size_t n)
{
	struct nvml_gpu *gpus = calloc(n + 1, sizeof(*gpus));

	if (!gpus)
		return -ENOMEM;
	for (size_t k = 0; k < n; k++)
		gpus[k] = d->gpus[order[k]];
	free(d->gpus);
	d->gpus = gpus;
	d->n = n;
	return 0;
}

int hes_devices_keep(struct hes_devices *d, const char *what, const char *list, struct hes_err *err)
{
	size_t *order = calloc(d->n + 1, sizeof(*order)), n = 0;
	char *text = strdup(list);
	int rc = order && text ? 0 : hes_fail(err, -ENOMEM, "no memory for a list of GPUs");

	if (!rc && !names_none(list))
		rc = read_list(d, what, text, order, &n, err);
	if (!rc && reorder(d, order, n))
		rc = hes_fail(err, -ENOMEM, "no memory for a list of GPUs");
	free(order);
	free(text);
	return rc;
}

void hes_devices_close(struct hes_devices *d)
{
	if (!d)
		return;
	if (d->started)
		d->nvml.shutdown();
	if (d->library)
		dlclose(d->library);
	free(d->gpus);
	free(d);
}

void hes_devices_driver(const struct hes_devices *d, char *out)
{
	if (!d->nvml.driver || d->nvml.driver(out, HES_DRIVER_MAX))
		snprintf(out, HES_DRIVER_MAX, "unknown");
}

size_t hes_devices_count(const struct hes_devices *d)
{
	return d->n;
}

const char *hes_device_uuid(const struct hes_devices *d, size_t i)
{
	return d->gpus[i].uuid;
}

uint32_t hes_device_most_mw(const struct hes_devices *d, size_t i)
{
	return d->gpus[i].most_mw;
}

uint32_t hes_device_least_mw(const struct hes_devices *d, size_t i)
{
	return d->gpus[i].least_mw;
}

long hes_devices_find(const struct hes_devices *d, const char *name)
{
	char *end;
	unsigned long index = strtoul(name, &end, 10);
	long found = -ENOENT;

	if (*name >= '0' && *name <= '9' && !*end)
		return index < d->n ? (long)index : -ENOENT;
	/* Also a GPU that cannot be used: who names it learns why. */
	for (size_t i = 0; *name && i < d->n; i++) {
		struct nvml_pci pci;

		if (strcmp(d->gpus[i].uuid, name) == 0)
			return (long)i;
		if (strncmp(d->gpus[i].uuid, name, strlen(name)) == 0) {
			if (found >= 0)
				return -ENOTUNIQ;
			found = (long)i;
		}
		if (d->gpus[i].handle && !NVML_CALL(d, i, pci, &pci) &&
		    strncasecmp(pci.bus_id, name, sizeof(pci.bus_id)) == 0)
			return (long)i;
	}
	return found;
}

int hes_devices_refused(const struct hes_devices *d, struct hes_err *err)
{
	struct hes_device_info info;

	for (size_t i = 0; i < d->n; i++)
		if (!*d->gpus[i].uuid)
			return hes_device_info(d, i, &info, err);
	return 0;
}

int hes_devices_check(const struct hes_devices *d, struct hes_err *err)
{
	struct hes_device_info info;
	int rc = 0;

	for (size_t i = 0; !rc && i < d->n; i++)
		rc = hes_device_info(d, i, &info, err);
	return rc;
}

static unsigned abilities(const struct hes_devices *d, size_t i)
{
	struct hes_reading r;
	unsigned can = 0;

	if (!hes_device_read(d, i, HES_HAS_ALL, &r, NULL)) {
		can |= r.has & HES_HAS_POWER ? HES_CAN_READ_POWER : 0;
		can |= r.has & HES_HAS_ENERGY ? HES_CAN_READ_ENERGY : 0;
		can |= r.has & HES_HAS_CLOCK ? HES_CAN_READ_CLOCK : 0;
		can |= r.has & HES_HAS_REASONS ? HES_CAN_READ_REASONS : 0;
	}
	can |= d->nvml.lock_clocks && d->nvml.unlock_clocks ? HES_CAN_LOCK_CLOCK : 0;
	can |= d->nvml.set_power_limit ? HES_CAN_LIMIT_POWER : 0;
	return can;
}

int hes_device_info(const struct hes_devices *d, size_t i, struct hes_device_info *out,
		    struct hes_err *err)
{
	struct hes_device_info o = { 0 };
	struct nvml_memory memory;
	struct nvml_pci pci;
	unsigned limit_mw;
	void *dev;
	int code;

	code = hes_nvml_has(d, i, err);
	if (code)
		return code;
	dev = d->gpus[i].handle;
	code = d->nvml.name(dev, o.name, sizeof(o.name));
	if (code)
		return hes_nvml_refuse(d, i, "reading its name", code, err);
	code = d->nvml.uuid(dev, o.uuid, sizeof(o.uuid));
	if (code)
		return hes_nvml_refuse(d, i, "reading its UUID", code, err);
	if (d->nvml.pci && !d->nvml.pci(dev, &pci))
		snprintf(o.bus, sizeof(o.bus), "%.*s", (int)sizeof(pci.bus_id) - 1, pci.bus_id);
	code = d->nvml.memory ? d->nvml.memory(dev, &memory) : NVML_FUNCTION_MISSING;
	/* Some GPUs have no memory of their own: missing. */
	if (code && code != NVML_NOT_SUPPORTED && code != NVML_FUNCTION_MISSING)
		return hes_nvml_refuse(d, i, "reading its memory", code, err);
	o.memory_bytes = code ? 0 : memory.total;
	strcpy(o.type, d->gpus[i].type);
	if (d->nvml.power_limit && !d->nvml.power_limit(dev, &limit_mw))
		o.power_limit_mw = limit_mw;
	o.can = abilities(d, i);
	*out = o;
	return 0;
}

int hes_device_lock_clock(const struct hes_devices *d, size_t i, uint32_t mhz, struct hes_err *err)
{
	char what[48];
	int code = hes_nvml_has(d, i, err);

	if (code)
		return code;
	code = NVML_CALL(d, i, lock_clocks, mhz, mhz);
	snprintf(what, sizeof(what), "locking its clock at %u MHz", mhz);
	return code ? hes_nvml_fail(d, i, what, code, err) : 0;
}

int hes_device_unlock_clock(const struct hes_devices *d, size_t i, struct hes_err *err)
{
	int code = hes_nvml_has(d, i, err);

	if (code)
		return code;
	code = d->nvml.unlock_clocks ? d->nvml.unlock_clocks(d->gpus[i].handle)
				     : NVML_FUNCTION_MISSING;
	return code ? hes_nvml_fail(d, i, "unlocking its clock", code, err) : 0;
}
