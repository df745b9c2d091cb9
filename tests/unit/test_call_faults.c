/*
 * test_call_faults.c - the store and the journal when any one allocation or access to a file fails,
 * and when all fail from there on.
 *
 * Each call is repeated on a copy of the same store, with its first allocation failing, its second,
 * and so on until none is left; then the same with accesses. Every time: an error has its sentence
 * and leaves the outputs alone, the handle goes on, nothing is half written and nothing that was
 * acknowledged is lost. Of calls that differ in their statement alone, one is here.
 */
#include "call_faults.h"
#include "base/file.h"
#include "heshare/journal.h"
#include "heshare/point.h"
#include "store/schema.h"
#include "store_bench.h"
#include "unit_test.h"

#define MOST      1000000 /* faults of one call: more than any has */
#define ALL_UP_TO 6       /* faults of one call that are tried in any case */

/* What a call works on, and what it gave. */
struct bench {
	struct hes_store *store;
	struct hes_journal *journal;
	void *rows; /* of a reader; free() */
	size_t bytes;
};

struct call {
	const char *name;
	size_t image; /* of the store it begins with; 0: none is there */
	bool opens;   /* the call is that of opening */
	bool journal; /* it takes a journal */
	int (*make)(struct bench *b, struct hes_err *err);
};

/* --- stores to begin with --- */

struct image {
	char *bytes;
	size_t n;
};

enum { FIRST = 1, NOW, IMAGES }; /* the first release, this version */
static struct image images[IMAGES];

static struct image image_read(void)
{
	FILE *f = fopen(store_path, "rb");
	struct image i = { calloc(1, 1 << 20), 0 };

	assert_true(f && i.bytes);
	i.n = fread(i.bytes, 1, 1 << 20, f);
	assert_true(i.n < 1 << 20);
	fclose(f);
	return i;
}

static void remove_store(void)
{
	static const char *const suffixes[] = { "", "-wal", "-shm", "-journal" };

	for (size_t i = 0; i < N(suffixes); i++) {
		char name[80];

		snprintf(name, sizeof(name), "%s%s", store_path, suffixes[i]);
		unlink(name);
	}
}

static void image_write(const struct image *i)
{
	FILE *f;

	remove_store();
	if (!i->n)
		return;
	f = fopen(store_path, "wb");
	assert_true(f && fwrite(i->bytes, 1, i->n, f) == i->n);
	assert_int_equal(fclose(f), 0);
}

static const struct hes_run_gpu gpus[] = {
	{ .gpu = "a/0",
	  .gpu_type = "T4",
	  .uuid = "GPU-1",
	  .planned_mj = 7000,
	  .planned_busy_us = 300 },
	{ .gpu = "a/1",
	  .gpu_type = "T4",
	  .uuid = "GPU-2",
	  .planned_mj = 10,
	  .planned_busy_us = 20 },
};
static const struct hes_run_job jobs[] = {
	{ .job = "z",
	  .workload = "net",
	  .gpu = "a/0",
	  .sm_pct = 40,
	  .planned_start_us = 0,
	  .planned_end_us = 100 },
	{ .job = "y",
	  .workload = "net",
	  .gpu = "a/0",
	  .sm_pct = 60,
	  .planned_start_us = 0,
	  .planned_end_us = 300 },
};
static struct hes_point point(uint32_t i)
{
	struct hes_point p = {
		.workload = "net",
		.gpu_type = "T4",
		.batch_size = 4,
		.sm_pct = 50,
		.clock_mhz = 900 + i,
		.iteration_us = 700,
		.cv = 0.01,
		.windows = 5,
		.seconds = 3,
		.memory_mib = 900,
		.power_mw = 60000,
	};

	snprintf(p.command, sizeof(p.command), "train --net");
	return p;
}

/* Rows of every kind. */
static int add_rows(struct bench *b, uint32_t first, struct hes_delivered *done,
		    struct hes_err *err)
{
	struct hes_profile p[2] = { store_profile("net", "T4", first),
				    store_profile("other", "T4", first) };
	struct hes_sample v[3] = { store_sample("T4", first), store_sample("T4", first + 1),
				   store_sample("V100", first) };
	struct hes_point q[2] = { point(first), point(first + 1) };
	struct hes_profiles profiles = { p, N(p) };
	struct hes_samples samples = { .v = v, .n = N(v) };
	struct hes_points points = { q, N(q) };
	struct hes_delivery d = { .source = HES_SOURCE_MEASURED,
				  .at_us = first,
				  .name = "here",
				  .profiles = &profiles,
				  .samples = &samples,
				  .points = &points };

	return hes_store_add(b->store, &d, done, err);
}

static int run_once(struct bench *b, struct hes_run *out, struct hes_err *err)
{
	*out = (struct hes_run){ .plan_key = 9,
				 .plan = "plan.json",
				 .folder = "/runs/1",
				 .host = "here",
				 .started_us = 1000,
				 .runner = { 12, 34, "boot" } };
	return hes_journal_new_run(b->journal, out, gpus, N(gpus), jobs, N(jobs), err);
}

static int add_named(struct hes_journal *j, size_t n, const char *last, struct hes_err *err);

/* A store of today with two deliveries, a run and an attempt. */
static void make_image(void)
{
	struct hes_attempt a = { .job = "y", .number = 1, .gpu = "a/0", .sm_pct = 60 };
	struct hes_delivered done;
	struct hes_run run;
	struct bench b = { .store = store_opened(HES_STORE_WRITE) };

	assert_int_equal(add_rows(&b, 1, &done, NULL), 0);
	assert_int_equal(add_rows(&b, 50, &done, NULL), 0);
	assert_int_equal(done.samples_new, 3);
	assert_int_equal(hes_journal_open(b.store, &b.journal, NULL), 0);
	assert_int_equal(run_once(&b, &run, NULL), 0);
	assert_int_equal(hes_journal_attempt(b.journal, run.id, &a, NULL), 0);
	assert_int_equal(add_named(b.journal, 1, "first", NULL), 0);
	hes_journal_close(b.journal);
	hes_store_close(b.store);
	images[NOW] = image_read();
}

/* One that the first release made, with an origin. */
static void make_first_image(void)
{
	struct hes_store old = { .path = store_path, .wait_ms = 0 };
	size_t n = 0;

	while (hes_schema_steps[n].version == HES_SCHEMA_FIRST)
		n++;
	remove_store();
	assert_int_equal(sqlite3_open(store_path, &old.db), SQLITE_OK);
	assert_int_equal(hes_schema_bring_up(&old, hes_schema_steps, n, NULL), 0);
	assert_int_equal(
		hes_db_exec(&old,
			    "INSERT INTO origins (at_us, source, name) VALUES (3, 'imported', 'x')",
			    NULL),
		0);
	sqlite3_close(old.db);
	images[FIRST] = image_read();
}

static int set_up_images(void **state)
{
	if (store_set_up(state))
		return -1;
	make_image();
	make_first_image();
	return 0;
}

static int tear_down_images(void **state)
{
	for (size_t i = 0; i < N(images); i++)
		free(images[i].bytes);
	remove_store();
	return store_tear_down(state);
}

/* --- what a store holds --- */

static uint64_t mix(uint64_t hash, const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3;
	return hash;
}

static uint64_t mix_rows(sqlite3 *db, const char *table, uint64_t hash)
{
	char sql[64];
	sqlite3_stmt *q;

	snprintf(sql, sizeof(sql), "SELECT * FROM %.32s ORDER BY 1", table);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &q, NULL), SQLITE_OK);
	while (sqlite3_step(q) == SQLITE_ROW)
		for (int i = 0; i < sqlite3_column_count(q); i++) {
			int n = sqlite3_column_bytes(q, i);

			hash = mix(mix(hash, &n, sizeof(n)), sqlite3_column_blob(q, i), (size_t)n);
		}
	assert_int_equal(sqlite3_finalize(q), SQLITE_OK);
	return mix(hash, table, strlen(table));
}

/* Tables, their rows and their version: two stores with the same hash hold the same. */
static uint64_t contents(sqlite3 *db)
{
	static const char tables[] = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name "
				     "NOT LIKE 'sqlite_%' ORDER BY name";
	uint64_t hash = mix_rows(db, "pragma_user_version", 0xcbf29ce484222325);
	sqlite3_stmt *q;

	assert_int_equal(sqlite3_prepare_v2(db, tables, -1, &q, NULL), SQLITE_OK);
	while (sqlite3_step(q) == SQLITE_ROW)
		hash = mix_rows(db, (const char *)sqlite3_column_text(q, 0), hash);
	assert_int_equal(sqlite3_finalize(q), SQLITE_OK);
	return hash;
}

/* As another program sees the file at this moment, whole and undamaged. */
static uint64_t contents_now(void)
{
	uint64_t hash;
	sqlite3_stmt *q;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(store_path, &db), SQLITE_OK);
	sqlite3_busy_timeout(db, 0);
	assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &q, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(q), SQLITE_ROW);
	assert_string_equal((const char *)sqlite3_column_text(q, 0), "ok");
	sqlite3_finalize(q);
	hash = contents(db);
	sqlite3_close(db);
	return hash;
}

/* --- one call with one fault --- */

static void bench_begin(const struct call *c, struct bench *b)
{
	*b = (struct bench){ 0 };
	image_write(&images[c->image]);
	if (c->opens)
		return;
	assert_int_equal(hes_store_open(store_path, HES_STORE_WRITE, 0, &b->store, NULL), 0);
	if (c->journal)
		assert_int_equal(hes_journal_open(b->store, &b->journal, NULL), 0);
}

static void bench_end(struct bench *b)
{
	hes_journal_close(b->journal);
	hes_store_close(b->store);
	b->journal = NULL;
	b->store = NULL;
}

static void drop_rows(struct bench *b)
{
	free(b->rows);
	b->rows = NULL;
	b->bytes = 0;
}

/* What a call should leave and give, from one without a fault. */
struct wanted {
	uint64_t before, after; /* contents */
	uint64_t given;
};

static struct wanted wanted_of(const struct call *c)
{
	struct hes_err err = { 0 };
	struct wanted w = { 0 };
	struct bench b;

	bench_begin(c, &b);
	w.before = contents_now();
	if (c->make(&b, &err))
		fail_msg("%s without a fault: %s", c->name, err.msg);
	assert_int_equal(err.msg[0], 0);
	bench_end(&b);
	w.after = contents_now();
	w.given = mix(0, b.rows, b.bytes);
	drop_rows(&b);
	return w;
}

/* The sentence of an error, and its kind: who reads it must not take a lack of memory for damage.
 */
static void check_error(const struct call *c, enum fault_kind kind, uint32_t n, int rc,
			const struct hes_err *err)
{
	bool expected = kind == FAULT_MEMORY ? rc == -ENOMEM : rc == -EIO || rc == -ENOSPC;

	if (rc > 0 || !expected || !err->msg[0] || err->code != rc)
		fail_msg("%s, %s %u: %d, %d, \"%s\"", c->name,
			 kind == FAULT_MEMORY ? "allocation" : "access", n, rc, err->code,
			 err->msg);
}

/* One that succeeded all the same has done everything. */
static void check_success(const struct call *c, uint32_t n, struct bench *b, const struct wanted *w,
			  const struct hes_err *err)
{
	assert_int_equal(err->msg[0], 0);
	if (mix(0, b->rows, b->bytes) != w->given)
		fail_msg("%s, %u: the rows it gave are not those of the store", c->name, n);
	drop_rows(b);
	bench_end(b);
	assert_true(contents_now() == w->after);
}

/* After one that failed the same call does it, with the same handle. */
static void retry(const struct call *c, uint32_t n, struct bench *b, const struct wanted *w)
{
	struct hes_err err = { 0 };

	if (c->make(b, &err))
		fail_msg("%s, again after %u failed: %s", c->name, n, err.msg);
	check_success(c, n, b, w, &err);
}

/* @return whether there was an n-th call to fail */
static bool try_fault(const struct call *c, enum fault_kind kind, uint32_t n, bool lasting,
		      const struct wanted *w)
{
	struct hes_err err = { 0 };
	struct bench b;
	uint64_t now;
	bool failed;
	int rc;

	bench_begin(c, &b);
	faults_arm(kind, n, lasting);
	rc = c->make(&b, &err);
	if (lasting)
		bench_end(&b);
	failed = faults_disarm();
	if (!rc) {
		check_success(c, n, &b, w, &err);
		return failed;
	}
	check_error(c, kind, n, rc, &err);
	assert_null(b.rows);
	now = contents_now();
	if (now != w->before &&
	    !(now == w->after && kind == FAULT_IO && strstr(err.msg, "wholly or not at all")))
		fail_msg("%s, %u: what it left is neither the old store nor the new one", c->name,
			 n);
	if (lasting)
		return failed;
	assert_true(now == w->before || c->opens);
	retry(c, n, &b, w);
	return failed;
}

/* Each call with HES_ALL_FAULTS set, else the first ones and some of the others. */
static uint32_t step(uint32_t n)
{
	return n < ALL_UP_TO || getenv("HES_ALL_FAULTS") ? 1 : n / ALL_UP_TO;
}

static void try_faults(const struct call *c)
{
	const struct wanted w = wanted_of(c);
	const sqlite3_int64 before = sqlite3_memory_used();

	for (int lasting = 0; lasting < 2; lasting++)
		for (int kind = FAULT_MEMORY; kind <= FAULT_IO; kind++) {
			uint32_t n = 1;

			while (n < MOST && try_fault(c, (enum fault_kind)kind, n, lasting, &w))
				n += step(n);
			assert_true(n < MOST);
		}
	assert_true(sqlite3_memory_used() == before);
}

/* --- the calls --- */

static int open_to_write(struct bench *b, struct hes_err *err)
{
	return hes_store_open(store_path, HES_STORE_WRITE, 0, &b->store, err);
}

static int open_to_read(struct bench *b, struct hes_err *err)
{
	return hes_store_open(store_path, HES_STORE_READ, 0, &b->store, err);
}

static int add_new(struct bench *b, struct hes_err *err)
{
	struct hes_delivered done = { .origin = 99 };
	int rc = add_rows(b, 100, &done, err);

	assert_int_equal(done.origin, rc ? 99 : 3);
	assert_int_equal(done.samples_new, rc ? 0 : 3);
	return rc;
}

static int add_known(struct bench *b, struct hes_err *err)
{
	struct hes_delivered done = { .origin = 99 };
	int rc = add_rows(b, 1, &done, err);

	assert_int_equal(done.origin, rc ? 99 : 0);
	assert_int_equal(done.samples_known, rc ? 0 : 3);
	return rc;
}

static int forget(struct bench *b, struct hes_err *err)
{
	return hes_store_forget(b->store, 1, err);
}

static const struct hes_store_query all = { NULL, true };

/* What a reader gave is kept in @b; a failure must have left it alone. */
static int give(struct bench *b, int rc, void *rows, size_t n, size_t size)
{
	if (rc) {
		assert_null(rows);
		assert_int_equal(n, 0);
		return rc;
	}
	b->rows = rows;
	b->bytes = n * size;
	return 0;
}

#define READ(what, type, call, ...)                                  \
	static int read_##what(struct bench *b, struct hes_err *err) \
	{                                                            \
		type *v = NULL;                                      \
		size_t n = 0;                                        \
		int rc = call(__VA_ARGS__, &v, &n, err);             \
		return give(b, rc, v, n, sizeof(*v));                \
	}
#define READ_ALL(what, type, call)                                   \
	static int read_##what(struct bench *b, struct hes_err *err) \
	{                                                            \
		type p = { 0 };                                      \
		int rc = call(b->store, &all, &p, err);              \
		return give(b, rc, p.v, p.n, sizeof(*p.v));          \
	}
READ_ALL(profiles, struct hes_profiles, hes_store_profiles)
READ_ALL(samples, struct hes_samples, hes_store_samples)
READ_ALL(points, struct hes_points, hes_store_points)
READ(holdings, struct hes_store_holding, hes_store_holdings, b->store)

static int open_journal(struct bench *b, struct hes_err *err)
{
	return hes_journal_open(b->store, &b->journal, err);
}

static int new_run(struct bench *b, struct hes_err *err)
{
	struct hes_run run;
	int rc = run_once(b, &run, err);

	assert_int_equal(run.id, rc ? 0 : 2);
	return rc;
}

static int new_attempt(struct bench *b, struct hes_err *err)
{
	struct hes_attempt a = { .job = "z",
				 .number = 1,
				 .gpu = "a/0",
				 .sm_pct = 40,
				 .clock_mhz = 900,
				 .started_us = 5 };
	int rc = hes_journal_attempt(b->journal, 1, &a, err);

	assert_int_equal(a.id, rc ? 0 : 2);
	return rc;
}

static int attempt_ended(struct bench *b, struct hes_err *err)
{
	return hes_journal_attempt_ended(b->journal, 1, 99, 0, HES_VERDICT_DONE, NULL, err);
}

static int job_result(struct bench *b, struct hes_err *err)
{
	const struct hes_run_job r = { .job = "z",
				       .state = HES_RUN_JOB_DONE,
				       .start_us = 5,
				       .end_us = 99,
				       .has_energy = true,
				       .energy_mj = 42 };

	return hes_journal_result(b->journal, 1, &r, err);
}

static int act(struct bench *b, struct hes_err *err)
{
	return hes_journal_act(b->journal, 1, 7, "a/0", "z", "lock the clock", err);
}

static int run_ended(struct bench *b, struct hes_err *err)
{
	enum hes_run_state state = HES_RUN_DONE;

	return hes_journal_run_ended(b->journal, 1, &state, 5000, err);
}

/* An attempt's end and the job's result, as the runner writes them. */
static int several(struct bench *b, struct hes_err *err)
{
	int rc = hes_journal_begin(b->journal, err);

	if (rc)
		return rc;
	rc = attempt_ended(b, err);
	if (!rc)
		rc = job_result(b, err);
	if (!rc)
		rc = act(b, err);
	return hes_journal_end(b->journal, rc, err);
}

static int keep_trained(struct bench *b, struct hes_err *err)
{
	return hes_store_keep_trained(b->store, 7, 1, "model", 5, err);
}

static int find_trained(struct bench *b, struct hes_err *err)
{
	char *bytes = NULL;
	struct hes_err why;
	uint64_t mark = 0;
	size_t n = 0;
	int rc = hes_store_mark(b->store, &mark, err);

	if (rc)
		return rc;
	rc = hes_store_trained(b->store, mark, &bytes, &n, &why);
	assert_true(rc && !bytes && !n);
	return rc == -ENOENT ? 0 : hes_fail(err, rc, "%s", why.msg);
}

static int read_last_run(struct bench *b, struct hes_err *err)
{
	struct hes_run *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return hes_fail(err, -ENOMEM, "no memory for the test itself");
	rc = hes_journal_last_run(b->journal, 9, r, err);
	if (!rc)
		return give(b, 0, r, 1, sizeof(*r));
	assert_int_equal(r->id, 0);
	free(r);
	return rc;
}

READ(jobs, struct hes_run_job, hes_journal_jobs, b->journal, 1)

/* Two jobs, or another one in the store that all begin with. */
static int add_named(struct hes_journal *j, size_t n, const char *last, struct hes_err *err)
{
	struct hes_run_added v[2] = {
		{ .job = { .workload = "net", .batch_size = 1, .iterations = 9 } },
		{ .job = { .id = "q", .workload = "net", .batch_size = 2, .iterations = 9 } },
	};
	char command[] = "true";

	strcpy(v[0].job.id, last);
	v[0].job.command = v[1].job.command = command;
	return hes_journal_add(j, 1, v, n, 7, INT64_MAX, err);
}

static int add_jobs(struct bench *b, struct hes_err *err)
{
	return add_named(b->journal, 2, "p", err);
}

static int read_added(struct bench *b, struct hes_err *err)
{
	struct hes_run_added *v = NULL;
	size_t n = 0;
	int rc = hes_journal_added(b->journal, 1, 0, &v, &n, err);

	if (!rc)
		assert_int_equal(n, 1);
	hes_run_added_free(v, n);
	return rc;
}

/* Name; the store, whether it opens it and whether it takes a journal; the call. */
static const struct call opening[] = {
	{ "make a store", 0, true, false, open_to_write },
	{ "open a store to write", NOW, true, false, open_to_write },
	{ "open a store to read", NOW, true, false, open_to_read },
	{ "open a store of the first release", FIRST, true, false, open_to_write },
};
static const struct call writing[] = {
	{ "add rows", NOW, false, false, add_new },
	{ "add rows that are there", NOW, false, false, add_known },
	{ "forget rows", NOW, false, false, forget },
	{ "keep a predictor", NOW, false, false, keep_trained },
};
static const struct call reading[] = {
	{ "read profiles", NOW, false, false, read_profiles },
	{ "read samples", NOW, false, false, read_samples },
	{ "read points", NOW, false, false, read_points },
	{ "read holdings", NOW, false, false, read_holdings },
	{ "find a predictor", NOW, false, false, find_trained },
};
static const struct call journal[] = {
	{ "open a journal", NOW, false, false, open_journal },
	{ "a new run", NOW, false, true, new_run },
	{ "an attempt", NOW, false, true, new_attempt },
	{ "an attempt ended", NOW, false, true, attempt_ended },
	{ "a run ended", NOW, false, true, run_ended },
	{ "a transaction", NOW, false, true, several },
	{ "read the last run", NOW, false, true, read_last_run },
	{ "read a run's jobs", NOW, false, true, read_jobs },
	{ "add jobs", NOW, false, true, add_jobs },
	{ "read added jobs", NOW, false, true, read_added },
};

static void try_all(const struct call *calls, size_t n)
{
	uint32_t before = faults_tried();

	for (size_t i = 0; i < n; i++) {
		uint32_t from = faults_tried();

		try_faults(&calls[i]);
		if (getenv("HES_FAULTS_OF_EACH"))
			print_message("%s: %u faults\n", calls[i].name, faults_tried() - from);
	}
	print_message("%u faults\n", faults_tried() - before);
}

TEST(a_store_is_opened_completely_or_not_at_all)
{
	try_all(opening, N(opening));
}

TEST(rows_are_added_and_removed_completely_or_not_at_all)
{
	try_all(writing, N(writing));
}

TEST(rows_are_read_unchanged_or_not_at_all)
{
	try_all(reading, N(reading));
}

TEST(the_journal_has_what_it_acknowledged)
{
	try_all(journal, N(journal));
}

int main(void)
{
	faults_install();
	return run_unit_tests(set_up_images, tear_down_images);
}
