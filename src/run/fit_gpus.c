/*
 * fit_gpus.c - match the GPUs of a plan with those of this machine; see fit_gpus.h.
 */
#include "run/fit_gpus.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/plural.h"

bool run_has_node(const struct hes_fleet *f, const char *name)
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

/* GPUs to GPUs of the same type: first to those of their own number, then in their order. @return
 * the first GPU that has work and gets none; -1: all do */
static long match(const struct hes_fleet *f, const struct hes_plan *p, const char *node,
		  bool idle_too, const struct run_fit_type *gpus, size_t n_gpus, bool *taken,
		  long *out)
{
	long missing = -1;

	memset(taken, 0, n_gpus * sizeof(*taken));
	for (size_t g = 0; g < f->n; g++) {
		size_t b = own_number(f->gpus[g].name);

		out[g] = RUN_NO_GPU;
		if (!ours(f, g, node) || (!idle_too && !p->queues[g].n) || b >= n_gpus ||
		    taken[b] || strcmp(gpus[b].type, f->gpus[g].type->name) != 0)
			continue;
		out[g] = (long)b;
		taken[b] = true;
	}
	for (size_t g = 0; g < f->n; g++) {
		size_t b = 0;

		if (out[g] != RUN_NO_GPU || !ours(f, g, node) || (!idle_too && !p->queues[g].n))
			continue;
		while (b < n_gpus && (taken[b] || strcmp(gpus[b].type, f->gpus[g].type->name) != 0))
			b++;
		if (b < n_gpus) {
			out[g] = (long)b;
			taken[b] = true;
		} else if (missing < 0 && p->queues[g].n) {
			missing = (long)g;
		}
	}
	return missing;
}

static int refuse(const struct hes_fleet *f, const struct hes_plan *p, const char *node,
		  const char *type, const struct run_fit_type *gpus, size_t n_gpus,
		  struct hes_err *err)
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

int run_fit(const struct hes_fleet *f, const struct hes_plan *p, const char *node,
	    const struct run_fit_type *gpus, size_t n_gpus, long *out, struct hes_err *err)
{
	long *found, missing;
	bool *taken;
	int rc = 0;

	if (node && !run_has_node(f, node))
		return hes_fail(err, -ENOENT,
				"no GPU of the plan is on a node \"%s\"; the first is %s", node,
				f->n ? f->gpus[0].name : "missing");
	found = calloc(f->n + 1, sizeof(*found));
	taken = calloc(n_gpus + 1, sizeof(*taken));
	if (!found || !taken) {
		free(found);
		free(taken);
		return hes_fail(err, -ENOMEM, "out of memory for %zu GPUs", f->n);
	}
	/* Where the whole fleet is here, idle GPUs keep their places. */
	missing = match(f, p, node, true, gpus, n_gpus, taken, found);
	if (missing >= 0)
		missing = match(f, p, node, false, gpus, n_gpus, taken, found);
	if (missing >= 0)
		rc = refuse(f, p, node, f->gpus[missing].type->name, gpus, n_gpus, err);
	else
		memcpy(out, found, f->n * sizeof(*out));
	free(found);
	free(taken);
	return rc;
}
