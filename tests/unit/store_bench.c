/*
 * store_bench.c - a folder with a store in it; see store_bench.h.
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
	static const char *const beside[] = { "", "-wal", "-shm", "-journal" };

	(void)state;
	for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++) {
		char name[80];

		snprintf(name, sizeof(name), "%s%s", store_path, beside[i]);
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
