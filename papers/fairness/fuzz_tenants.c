/* fuzz_tenants.c - any bytes are a tenants file or an error with a sentence; who is in it can be
 * replayed, in no more time than passes. */
#include "tenants_file.h"
#include "fuzz_loader.h"

#define DURATION_NS 200000

static void replay(const struct fair_tenants *t)
{
	const struct fair_replay_config c = { .queue = { &hes_fair_policies[2], 0.7, 20, 1000 },
					      .duration_ns = DURATION_NS };
	struct fair_replay_usage *u = calloc(t->n, sizeof(*u));
	uint64_t sum = 0;

	if (!u || fair_replay(&c, t->v, t->n, NULL, NULL, u, NULL))
		abort();
	for (size_t i = 0; i < t->n; i++)
		sum += u[i].time_ns;
	if (sum > DURATION_NS)
		abort();
	free(u);
}

static int load(const char *path, struct hes_err *err)
{
	struct fair_tenants t;
	int rc = fair_tenants_load(path, &t, err);

	if (rc)
		return rc;
	replay(&t);
	fair_tenants_free(&t);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	return fuzz_loader(data, len, ".csv", load);
}
