/* fuzz_plan.c - any bytes are a plan for the paper's fleet and three jobs, and tell of jobs and
 * GPUs of their own, or an error with a sentence. */
#include <string.h>

#include "base/data.h"
#include "fuzz_loader.h"
#include "heshare/plan.h"

static struct hes_catalogue catalogue;
static struct hes_fleet fleet;
static struct hes_job job[] = {
	{ .id = "a",
	  .workload = "resnet50",
	  .batch_size = 32,
	  .iterations = 100,
	  .memory_mib = 4000,
	  .weight = 1 },
	{ .id = "b",
	  .workload = "resnet50",
	  .batch_size = 64,
	  .iterations = 100,
	  .memory_mib = 9000,
	  .weight = 1 },
	{ .id = "c",
	  .workload = "bert",
	  .batch_size = 8,
	  .iterations = 10,
	  .memory_mib = 20000,
	  .weight = 1 },
};
static const struct hes_jobs jobs = { .v = job, .n = 3 };

static void set_up(void)
{
	size_t len;
	const char *text = hes_data_find("fleets/heshare.yaml", &len);

	if (!text || hes_catalogue_load(NULL, &catalogue, NULL) ||
	    hes_fleet_parse("fleet", text, len, &catalogue, &fleet, NULL))
		abort();
}

/* What loads must also save, and what was validated must name jobs and GPUs that exist. */
static int load(const char *path, struct hes_err *err)
{
	struct hes_plan plan;
	int rc = hes_plan_load(path, &fleet, &jobs, &plan, err);

	if (rc)
		return rc;
	for (size_t g = 0; g < plan.n_gpus; g++)
		for (size_t i = 0; i < plan.queues[g].n; i++)
			for (uint32_t k = 0; k < plan.queues[g].batches[i].n; k++)
				if (plan.queues[g].batches[i].jobs[k].job >= jobs.n)
					abort();
	rc = hes_plan_validate(&plan, &fleet, &jobs, 100, err);
	hes_plan_finish(&plan);
	return rc;
}

/* Its own jobs and GPUs; each job has a name. */
static int load_subjects(const char *path, struct hes_err *err)
{
	struct hes_fleet own;
	struct hes_jobs its;
	int rc = hes_plan_subjects(path, &catalogue, &own, &its, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < its.n; i++)
		if (!its.v[i].id[0])
			abort();
	hes_fleet_free(&own);
	hes_jobs_free(&its);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (!fleet.n)
		set_up();
	fuzz_loader(data, len, ".json", load_subjects);
	return fuzz_loader(data, len, ".json", load);
}
