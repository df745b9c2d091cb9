/*
 * cuda_session.c - CUDA_VISIBLE_DEVICES and MPS; see cuda_session.h.
 *
 * If the pipe directory has a control daemon, the process becomes an MPS client and sees the GPUs
 * of the server. The process's own environment can only restrict that further.
 */
#include "cuda_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda_stand_in.h"
#include "mps_wire.h"
#include "products.h"

/* Find a GPU by UUID, or by index among those of the session. @return -1: none */
static int find_gpu(const struct cuda_session *s, const char *name)
{
	char *end;
	unsigned long i = strtoul(name, &end, 10);

	if (*name && !*end)
		return i < (unsigned long)s->n ? (int)s->gpus[i] : -1;
	for (int k = 0; k < s->n; k++)
		if (strncmp(s->lab->gpus[s->gpus[k]].uuid, name, strlen(name)) == 0)
			return (int)s->gpus[k];
	return -1;
}

/* Keep only the GPUs of a list; as in a real driver the list ends at the first name that is no GPU.
 */
static void keep_gpus(struct cuda_session *s, const char *list)
{
	struct cuda_session kept = *s;
	char text[4096], *at = text, *name;

	snprintf(text, sizeof(text), "%s", list);
	kept.n = 0;
	while ((name = strsep(&at, ","))) {
		int gpu = find_gpu(s, name);

		if (gpu < 0 || kept.n == VGPU_MAX_GPUS)
			break;
		kept.gpus[kept.n++] = (uint32_t)gpu;
	}
	*s = kept;
}

static double speed_of(const struct hes_gpu_type *g)
{
	return (double)g->sm_count * vgpu_product(g).cores_per_sm * g->clock_max_mhz;
}

/* The fastest first; equal ones in the order of their bus numbers. */
static void sort_by_speed(struct cuda_session *s)
{
	for (int i = 1; i < s->n; i++) {
		uint32_t gpu = s->gpus[i];
		int at = i;

		for (; at > 0 && speed_of(&s->lab->gpus[s->gpus[at - 1]].type) <
					 speed_of(&s->lab->gpus[gpu].type);
		     at--)
			s->gpus[at] = s->gpus[at - 1];
		s->gpus[at] = gpu;
	}
}

/* Parse "0=1G,1=512M"; the smallest limit of server and process counts. */
static void limit(struct cuda_session *s, const char *list)
{
	char text[1024], *at = text, *part;

	snprintf(text, sizeof(text), "%s", list);
	while ((part = strsep(&at, ","))) {
		unsigned long long size;
		char unit = 'M';
		int device;

		if (sscanf(part, "%d=%llu%c", &device, &size, &unit) < 2 || device < 0 ||
		    device >= s->n)
			continue;
		size <<= unit == 'G' ? 30 : unit == 'K' ? 10 : 20;
		if (!s->limits[device] || size < s->limits[device])
			s->limits[device] = size;
	}
}

static int join_mps(struct cuda_session *s)
{
	char line[64], answer[VGPU_MPS_ANSWER], uuids[3600], limits[400];
	int server, code;
	unsigned pct;
	int rc;

	snprintf(line, sizeof(line), "client %d", (int)getpid());
	rc = vgpu_mps_request(vgpu_mps_directory(), line, answer, sizeof(answer));
	if (rc == VGPU_MPS_NOT_THERE)
		return 0;
	if (rc)
		return CUDA_MPS_NO_CONNECTION;
	if (sscanf(answer, "error %d", &code) == 1)
		return code;
	if (sscanf(answer, "server %d %u %399s %3599s", &server, &pct, limits, uuids) != 4)
		return CUDA_MPS_SERVER_NOT_READY;
	s->server = server;
	s->sm_pct = pct;
	if (strcmp(uuids, "-") != 0)
		keep_gpus(s, uuids);
	limit(s, limits);
	return 0;
}

int cuda_session_open(struct vgpu_lab *lab, struct cuda_session *out)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES"),
		   *pct = getenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
	const char *limits = getenv("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"),
		   *order = getenv("CUDA_DEVICE_ORDER");
	struct cuda_session s = { .lab = lab, .sm_pct = 100 };
	double own;
	int rc;

	/* CUDA sees no GPU in MIG mode: it has no instances. */
	for (uint32_t i = 0; i < lab->n_gpus; i++)
		if (!lab->gpus[i].mig)
			s.gpus[s.n++] = i;
	if (!order || strcmp(order, "PCI_BUS_ID") != 0)
		sort_by_speed(&s);
	rc = join_mps(&s);
	if (rc)
		return rc;
	if (visible)
		keep_gpus(&s, visible);
	own = s.server && pct ? strtod(pct, NULL) : 100;
	if (own >= 1 && own < s.sm_pct)
		s.sm_pct = (uint32_t)own;
	if (s.server && limits)
		limit(&s, limits);
	if (!s.n)
		return CUDA_NO_DEVICE;
	*out = s;
	return 0;
}
