/*
 * processes.c - list the processes that have contexts on a GPU; see heshare/device.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "gpu/nvml.h"

#define ROOM       32 /* rows for processes that come between two calls */
#define NO_READING UINT64_MAX

typedef int list_fn(void *dev, unsigned *n, struct nvml_process *out);

/* Read one of the driver's lists. @return 0; a code of NVML; -ENOMEM */
static int read_processes(list_fn *list, void *dev, struct nvml_process **out, unsigned *n)
{
	struct nvml_process *v = NULL;
	unsigned room = 0;
	int code;

	*n = 0;
	for (;;) {
		struct nvml_process *more = realloc(v, (room + ROOM) * sizeof(*v));

		if (!more) {
			free(v);
			return -ENOMEM;
		}
		v = more;
		room = *n = room + ROOM;
		code = list(dev, n, v);
		if (code != NVML_INSUFFICIENT_SIZE)
			break;
		room = *n;
	}
	if (code || *n > room)
		*n = 0;
	*out = v;
	return code;
}

static int by_pid(const void *a, const void *b)
{
	const struct hes_device_process *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static void process_add(struct hes_device_process *v, size_t *n, const struct nvml_process *p,
			bool mps)
{
	const bool known = p->memory != NO_READING;
	size_t at = 0;

	while (at < *n && v[at].pid != (int32_t)p->pid)
		at++;
	if (at == *n)
		v[(*n)++] = (struct hes_device_process){ .pid = (int32_t)p->pid };
	v[at].mps |= mps;
	v[at].has_memory |= known;
	if (known && p->memory > v[at].memory_bytes)
		v[at].memory_bytes = p->memory;
}

long hes_device_processes(const struct hes_devices *d, size_t i, struct hes_device_process **out,
			  struct hes_err *err)
{
	struct nvml_process *own = NULL, *clients = NULL;
	struct hes_device_process *v = NULL;
	unsigned n_own = 0, n_clients = 0;
	size_t n = 0;
	int code = hes_nvml_has(d, i, err);

	if (code)
		return code;
	code = d->nvml.processes
		       ? read_processes(d->nvml.processes, d->gpus[i].handle, &own, &n_own)
		       : NVML_FUNCTION_MISSING;
	/* Without the list of MPS clients, their server stands for them. */
	if (!code && d->nvml.mps_processes &&
	    read_processes(d->nvml.mps_processes, d->gpus[i].handle, &clients, &n_clients) ==
		    -ENOMEM)
		code = -ENOMEM;
	if (!code)
		v = calloc((size_t)n_own + n_clients + 1, sizeof(*v));
	for (unsigned k = 0; v && k < n_own; k++)
		process_add(v, &n, &own[k], false);
	for (unsigned k = 0; v && k < n_clients; k++)
		process_add(v, &n, &clients[k], true);
	free(own);
	free(clients);
	if (code > 0)
		return hes_nvml_fail(d, i, "listing its processes", code, err);
	if (!v)
		return hes_fail(err, -ENOMEM, "no memory for a list of processes");
	qsort(v, n, sizeof(*v), by_pid);
	*out = v;
	return (long)n;
}

/* @return 0; a code of NVML; -ENOMEM */
static int read_use(const struct hes_devices *d, size_t i, double seconds,
		    struct nvml_process_util **out, unsigned *n)
{
	const unsigned long long since_us =
		(unsigned long long)hes_wall_us() - (unsigned long long)(seconds * 1e6);
	int code = NVML_CALL(d, i, process_util, NULL, n, since_us);

	*n = code == NVML_INSUFFICIENT_SIZE ? *n + ROOM : ROOM;
	*out = calloc(*n, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	code = NVML_CALL(d, i, process_util, *out, n, since_us);
	if (code)
		*n = 0;
	return code == NVML_NOT_FOUND ? 0 : code;
}

long hes_device_active_processes(const struct hes_devices *d, size_t i, double seconds,
				 int32_t **out, struct hes_err *err)
{
	struct nvml_process_util *v = NULL;
	int32_t *pids = NULL;
	unsigned n = 0;
	long found = 0;
	int code = hes_nvml_has(d, i, err);

	if (code)
		return code;
	code = read_use(d, i, seconds, &v, &n);
	if (!code)
		pids = malloc((n + 1) * sizeof(*pids));
	for (unsigned k = 0; pids && k < n; k++)
		if (v[k].sm || v[k].memory || v[k].encoder || v[k].decoder)
			pids[found++] = (int32_t)v[k].pid;
	free(v);
	if (code > 0)
		return hes_nvml_fail(d, i, "listing the use of its processes", code, err);
	if (!pids)
		return hes_fail(err, -ENOMEM, "no memory for a list of processes");
	*out = pids;
	return found;
}
