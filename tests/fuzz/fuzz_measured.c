/*
 * fuzz_measured.c - any bytes in the files of a measured GPU are observations or an
 * error with a sentence. A line "%%" ends one file and begins the next: gpu.json,
 * solo.csv, pairs.csv, groups.csv.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz_file.h"
#include "heshare/model.h"
#include "measured/check.h"
#include "measured/measured.h"

static const char *const names[] = { "gpu.json", "solo.csv", "pairs.csv", "groups.csv" };
#define N_FILES (sizeof(names) / sizeof(names[0]))

static struct hes_model *model;
static struct hes_catalogue types;
static char dir[] = "/tmp/hes-fuzz-XXXXXX";
static int fds[N_FILES];

static void clean_up(void)
{
	char path[64];

	for (size_t i = 0; i < N_FILES; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	rmdir(dir);
	hes_model_free(model);
	hes_catalogue_free(&types);
}

/* Names in a folder of our own for files that live in memory. */
static void set_up(void)
{
	struct hes_err err;

	if (hes_model_load(NULL, &model, &err) || hes_model_add_inference(model, &err) ||
	    hes_catalogue_load(NULL, &types, &err) || !mkdtemp(dir))
		abort();
	for (size_t i = 0; i < N_FILES; i++) {
		char path[64], target[32];

		fds[i] = memfd_create("fuzz", MFD_CLOEXEC);
		snprintf(target, sizeof(target), "/proc/self/fd/%d", fds[i]);
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		if (fds[i] < 0 || symlink(target, path))
			abort();
	}
	atexit(clean_up);
}

static void write_file(int fd, const uint8_t *data, size_t len)
{
	if (ftruncate(fd, 0) || pwrite(fd, data, len, 0) != (ssize_t)len)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct hes_observations o = { 0 };
	struct hes_check table;
	struct hes_err err = { 0 };

	if (!model)
		set_up();
	for (size_t i = 0; i < N_FILES; i++) {
		const uint8_t *end = memmem(data, len, "%%\n", 3);
		size_t n = end && i + 1 < N_FILES ? (size_t)(end - data) : len;

		write_file(fds[i], data, n);
		n += end && i + 1 < N_FILES ? 3 : 0;
		data += n;
		len -= n;
	}
	if (hes_observe(model, &types, dir, true, &o, &err)) {
		if (!err.msg[0] || o.n)
			abort();
	} else if (hes_model_check(model, &o, &table, &err)) {
		if (!err.msg[0])
			abort();
	} else {
		hes_check_free(&table);
	}
	hes_observations_free(&o);
	return 0;
}
