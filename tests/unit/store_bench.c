/*
 * store_bench.c - a folder with a store in it, and rows to add; see store_bench.h.
 */
#include "store_bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define WAIT_MS 60000

char store_folder[] = "/tmp/hes-store-XXXXXX";
char store_path[64];

int store_set_up(void **state)
{
	(void)state;
	strcpy(store_folder + sizeof("/tmp/hes-store-") - 1, "XXXXXX");
	if (!mkdtemp(store_folder))
		return -1;
	snprintf(store_path, sizeof(store_path), "%s/store.db", store_folder);
	return 0;
}

int store_tear_down(void **state)
{
	static const char *const suffixes[] = { "", "-wal", "-shm", "-journal" };

	(void)state;
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		char name[80];

		snprintf(name, sizeof(name), "%s%s", store_path, suffixes[i]);
		unlink(name);
	}
	return rmdir(store_folder);
}

struct hes_store *store_opened(enum hes_store_mode mode)
{
	struct hes_store *s = NULL;
	struct hes_err err = { 0 };

	if (hes_store_open(store_path, mode, WAIT_MS, &s, &err))
		fail_msg("%s", err.msg);
	return s;
}

struct hes_profile store_profile(const char *workload, const char *type, uint32_t batch_size)
{
	struct hes_profile p = {
		.batch_size = batch_size,
		.memory_mib = 900,
		.clock_mhz = 1500,
		.iteration_us = 1000.0 / 3 * batch_size,
		.busy = 0.8,
		.sm_util = 0.5,
		.dram_util = 0.25,
		.l2_util = 0.125,
		.power_mw = 60000,
	};

	snprintf(p.workload, sizeof(p.workload), "%s", workload);
	snprintf(p.gpu_type, sizeof(p.gpu_type), "%s", type);
	return p;
}

struct hes_sample store_sample(const char *type, uint32_t i)
{
	return (struct hes_sample){
		.task = store_profile("net", type, 4),
		.sm_pct = 50,
		.clock_mhz = 1000 + i,
		.co_runners = { .sm_util = 0.5,
				.dram_util = 0.25,
				.l2_util = 0.125,
				.power_mw = 40000,
				.jobs = 1,
				.sm_pct = 50 },
		.iteration_us = 2000.0 + i,
		.power_mw = 80000,
	};
}

struct hes_delivered store_add(struct hes_store *s, enum hes_source source, int64_t at_us,
			       struct hes_profile *p, size_t n_p, struct hes_sample *v, size_t n_v)
{
	struct hes_profiles profiles = { p, n_p };
	struct hes_samples samples = { .v = v, .n = n_v };
	struct hes_delivery d = { .source = source,
				  .at_us = at_us,
				  .name = "here",
				  .profiles = &profiles,
				  .samples = &samples };
	struct hes_delivered done = { 0 };
	struct hes_err err = { 0 };

	if (hes_store_add(s, &d, &done, &err))
		fail_msg("%s", err.msg);
	return done;
}
