/*
 * fuzz_store.c - any file is a store or an error with a sentence, and what the readers then give is
 * within the ranges of what they read. Adding to it ends well, or with a sentence, too.
 *
 * Bytes that begin like a database are the file. Others are SQL that somebody has run on a store
 * with a row of everything: so come the stores whose pages are sound and whose schema or rows are
 * not heshare's.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "fuzz_file.h"
#include "heshare/journal.h"
#include "heshare/point.h"
#include "heshare/store.h"

#define MAGIC      "SQLite format 3"
#define MOST_SQL   4096
#define MOST_STEPS 200000 /* of the SQL that makes a store */

static char folder[] =
	"/dev/shm/fuzz-store-XXXXXX"; /* in memory: every commit waits for the disk */
static char path[64];
static uint8_t *plain; /* the store with a row of everything */
static size_t n_plain;

static void remove_all(void)
{
	static const char *const co_runners[] = { "", "-wal", "-shm", "-journal" };

	for (size_t i = 0; i < sizeof(co_runners) / sizeof(co_runners[0]); i++) {
		char name[80];

		snprintf(name, sizeof(name), "%s%s", path, co_runners[i]);
		unlink(name);
	}
}

static void clean_up(void)
{
	remove_all();
	rmdir(folder);
}

static void write_store(const uint8_t *data, size_t len)
{
	int fd;

	remove_all();
	fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, data, len) != (ssize_t)len || close(fd))
		abort();
}

/* A failure says why. */
static int checked(int rc, struct hes_err *err)
{
	if (rc > 0 || (rc < 0 && (!err->msg[0] || err->code != rc)))
		abort();
	*err = (struct hes_err){ 0 };
	return rc;
}

static void read_rows(struct hes_store *s)
{
	const struct hes_store_query all = { NULL, true };
	struct hes_profiles profiles = { 0 };
	struct hes_samples samples = { 0 };
	struct hes_points points = { 0 };
	struct hes_err err = { 0 };

	checked(hes_store_profiles(s, &all, &profiles, &err), &err);
	checked(hes_store_samples(s, &all, &samples, &err), &err);
	checked(hes_store_points(s, &all, &points, &err), &err);
	for (size_t i = 0; i < samples.n; i++)
		if (samples.v[i].sm_pct > 100 || !samples.v[i].task.workload[0])
			abort();
	hes_profiles_free(&profiles);
	hes_samples_free(&samples);
	hes_points_free(&points);
}

static void read_lists(struct hes_store *s)
{
	struct hes_store_holding *holdings = NULL;
	struct hes_store_origin *origins = NULL;
	struct hes_err err = { 0 };
	size_t n;

	checked(hes_store_holdings(s, &holdings, &n, &err), &err);
	checked(hes_store_origins(s, &origins, &n, &err), &err);
	free(holdings);
	free(origins);
}

static void read_journal(struct hes_store *s)
{
	struct hes_journal *j = NULL;
	struct hes_run *runs = NULL;
	struct hes_run_gpu *gpus = NULL;
	struct hes_run_job *jobs = NULL;
	struct hes_attempt *attempts = NULL;
	struct hes_err err = { 0 };
	size_t n;

	if (checked(hes_journal_open(s, &j, &err), &err))
		return;
	checked(hes_journal_going(j, 0, &runs, &n, &err), &err);
	checked(hes_journal_gpus(j, 1, &gpus, &n, &err), &err);
	checked(hes_journal_jobs(j, 1, &jobs, &n, &err), &err);
	checked(hes_journal_attempts(j, 1, &attempts, &n, &err), &err);
	checked(hes_journal_act(j, 1, 7, "a/0", NULL, "lock the clock", &err), &err);
	hes_journal_close(j);
	free(runs);
	free(gpus);
	free(jobs);
	free(attempts);
}

/* A sample, a profile and a point; @further makes the sample another, @name names
 * its co-runner. */
static int add_rows(struct hes_store *s, int further, const char *name, struct hes_err *err)
{
	struct hes_profile p = { .workload = "net",
				 .gpu_type = "T4",
				 .batch_size = 4,
				 .memory_mib = 900,
				 .clock_mhz = 1500,
				 .iteration_us = 1000,
				 .busy = 0.5,
				 .sm_util = 0.5,
				 .dram_util = 0.25,
				 .l2_util = 0.125,
				 .power_mw = 60000 };
	struct hes_sample v = { .task = p,
				.sm_pct = 50,
				.clock_mhz = 1000,
				.co_runners = { .power_mw = 40000, .jobs = 1, .sm_pct = 50 },
				.iteration_us = 2000 + further,
				.power_mw = 80000 };
	struct hes_point q = { .workload = "net",
			       .gpu_type = "T4",
			       .batch_size = 4,
			       .sm_pct = 50,
			       .clock_mhz = 900,
			       .command = "train",
			       .iteration_us = 700,
			       .cv = 0.01,
			       .windows = 5,
			       .seconds = 3,
			       .memory_mib = 900,
			       .power_mw = 60000 };
	const struct hes_profiles profiles = { &p, 1 };
	const struct hes_samples samples = { .v = &v, .n = 1 };
	const struct hes_points points = { &q, 1 };
	const struct hes_delivery d = { .source = HES_SOURCE_MEASURED,
					.at_us = 2,
					.name = "here",
					.profiles = &profiles,
					.samples = &samples,
					.points = &points };
	struct hes_delivered done;

	snprintf(v.co_runner_names, sizeof(v.co_runner_names), "%s", name);
	return hes_store_add(s, &d, &done, err);
}

static void add_run(struct hes_store *s)
{
	const struct hes_run_gpu gpu = { .gpu = "a/0", .gpu_type = "T4", .uuid = "GPU-1" };
	const struct hes_run_job job = {
		.job = "z", .workload = "net", .gpu = "a/0", .sm_pct = 40
	};
	struct hes_attempt a = { .job = "z", .number = 1, .gpu = "a/0", .sm_pct = 40 };
	struct hes_run run = {
		.plan_key = 9, .plan = "plan.json", .folder = "/runs/1", .host = "here"
	};
	struct hes_journal *j;

	if (hes_journal_open(s, &j, NULL) || hes_journal_new_run(j, &run, &gpu, 1, &job, 1, NULL) ||
	    hes_journal_attempt(j, run.id, &a, NULL))
		abort();
	hes_journal_close(j);
}

static void set_up(void)
{
	struct hes_store *s;
	FILE *f;

	if (access("/dev/shm", W_OK))
		strcpy(folder, "/tmp/fuzz-store-XXXXXX");
	if (!mkdtemp(folder) || atexit(clean_up))
		abort();
	snprintf(path, sizeof(path), "%s/store.db", folder);
	if (hes_store_open(path, HES_STORE_WRITE, 0, &s, NULL) || add_rows(s, 0, "", NULL))
		abort();
	add_run(s);
	hes_store_close(s);
	f = fopen(path, "rb");
	plain = calloc(1, 1 << 20);
	if (!f || !plain)
		abort();
	n_plain = fread(plain, 1, 1 << 20, f);
	fclose(f);
}

/* Only the store is changed. */
static int allow(void *ctx, int what, const char *first, const char *second, const char *db,
		 const char *from)
{
	static const char *const pragmas[] = { "writable_schema", "user_version", "application_id",
					       "foreign_keys", "encoding" };

	(void)ctx;
	(void)second;
	(void)db;
	(void)from;
	if (what == SQLITE_ATTACH || what == SQLITE_DETACH)
		return SQLITE_DENY;
	for (size_t i = 0; what == SQLITE_PRAGMA && i < sizeof(pragmas) / sizeof(pragmas[0]); i++)
		if (strcmp(first, pragmas[i]) == 0)
			return SQLITE_OK;
	return what == SQLITE_PRAGMA ? SQLITE_DENY : SQLITE_OK;
}

static int stop(void *ctx)
{
	(void)ctx;
	return 1;
}

static void change_store(const uint8_t *data, size_t len)
{
	char sql[MOST_SQL];
	sqlite3 *db;

	write_store(plain, n_plain);
	memcpy(sql, data, len);
	sql[len] = '\0';
	if (sqlite3_open(path, &db))
		abort();
	sqlite3_set_authorizer(db, allow, NULL);
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 1 << 20);
	sqlite3_progress_handler(db, MOST_STEPS, stop, NULL);
	sqlite3_exec(db, sql, NULL, NULL, NULL);
	sqlite3_close(db);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct hes_store *s = NULL;
	struct hes_err err = { 0 };

	if (!plain)
		set_up();
	if (len >= sizeof(MAGIC) && memcmp(data, MAGIC, sizeof(MAGIC)) == 0)
		write_store(data, len);
	else if (len < MOST_SQL)
		change_store(data, len);
	else
		return -1;
	if (checked(hes_store_open(path, HES_STORE_READ, 0, &s, &err), &err))
		return 0;
	read_rows(s);
	read_lists(s);
	read_journal(s);
	hes_store_close(s);
	if (checked(hes_store_open(path, HES_STORE_WRITE, 0, &s, &err), &err))
		return 0;
	checked(add_rows(s, 0, "net/4@50", &err), &err);
	checked(add_rows(s, 1, "", &err), &err);
	checked(hes_store_forget(s, 1, &err), &err);
	hes_store_close(s);
	return 0;
}
