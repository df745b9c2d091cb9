/* test_store_file.c - the file of a store: other programs' files, damage, versions before and to
 * come. */
#include <sys/stat.h>

#include <sqlite3.h>

#include "base/file.h"
#include "store/db.h"
#include "store/schema.h"
#include "store_bench.h"
#include "unit_test.h"

/* Open must fail with @code, say @says, and leave the file byte for byte. */
static void refused(enum hes_store_mode mode, int code, const char *says)
{
	char *before = NULL, *after = NULL;
	struct hes_store *s = NULL;
	struct hes_err err = { 0 };
	size_t n_before = 0, n_after = 0;

	assert_int_equal(hes_file_slurp(store_path, 1 << 24, &before, &n_before, NULL), 0);
	assert_int_equal(hes_store_open(store_path, mode, 100, &s, &err), code);
	assert_null(s);
	if (!strstr(err.msg, says) || !strstr(err.msg, store_path))
		fail_msg("\"%s\" does not say \"%s\"", err.msg, says);
	assert_int_equal(hes_file_slurp(store_path, 1 << 24, &after, &n_after, NULL), 0);
	assert_int_equal(n_before, n_after);
	assert_memory_equal(before, after, n_before);
	free(before);
	free(after);
}

static void write_file(const void *bytes, size_t n)
{
	FILE *f = fopen(store_path, "we");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	fclose(f);
}

/* By SQLite itself, as another program would. */
static void by_hand(const char *sql)
{
	char *why = NULL;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(store_path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &why))
		fail_msg("%s: %s", sql, why);
	sqlite3_close(db);
}

TEST_WITH(files_that_are_no_store_are_not_changed, store_set_up, store_tear_down)
{
	static const char text[] = "workload,gpu_type\nthis is a table of something else, and long "
				   "enough for a header "
				   "of SQLite's, which takes a hundred bytes\n";
	struct hes_store *s = NULL;
	struct hes_err err;

	assert_int_equal(hes_store_open(store_path, HES_STORE_READ, 100, &s, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "no store there"));
	assert_int_equal(access(store_path, F_OK), -1);
	assert_int_equal(hes_store_open(store_folder, HES_STORE_WRITE, 100, &s, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "no plain file"));
	write_file(text, sizeof(text));
	refused(HES_STORE_WRITE, -EINVAL, "not a store: no SQLite database");
	refused(HES_STORE_READ, -EINVAL, "not a store: no SQLite database");
	write_file("", 0);
	refused(HES_STORE_READ, -EINVAL, "not a store: an empty file");
	by_hand("CREATE TABLE t (x); PRAGMA user_version = 1");
	refused(HES_STORE_WRITE, -EINVAL, "not a store of heshare's");
	by_hand("DROP TABLE t; PRAGMA user_version = 3");
	refused(HES_STORE_WRITE, -EINVAL, "not a store of heshare's");
}

TEST_WITH(a_newer_store_is_not_changed, store_set_up, store_tear_down)
{
	hes_store_close(store_opened(HES_STORE_WRITE));
	by_hand("PRAGMA user_version = 99");
	refused(HES_STORE_WRITE, -ENOTSUP,
		"written by a newer heshare (version 99 of the store; this one knows up to ");
	refused(HES_STORE_READ, -ENOTSUP, "newer");
}

static int64_t number(struct hes_store *s, const char *sql)
{
	int64_t x = -1;

	assert_int_equal(hes_db_number(s, sql, &x, NULL), 0);
	return x;
}

/* What heshare 0.1.0 wrote has what came later, and its rows keep their keys. */
TEST_WITH(a_store_of_the_first_release_gets_later_tables_and_columns, store_set_up, store_tear_down)
{
	struct hes_profile p[] = { store_profile("net", "T4", 4), store_profile("net", "T4", 8) };
	struct hes_store *s = store_opened(HES_STORE_WRITE);
	const struct hes_store_query all = { 0 };
	struct hes_profiles got;

	p[1].start_s = 4.5;
	store_add(s, HES_SOURCE_MEASURED, 1, p, N(p), NULL, 0);
	hes_store_close(s);
	by_hand("DROP TABLE tenant_usages; ALTER TABLE runs DROP COLUMN "
		"experiments; ALTER TABLE runs DROP COLUMN learning_us; ALTER TABLE runs DROP "
		"COLUMN learning_mj; ALTER TABLE runs DROP COLUMN learning_iterations; ALTER TABLE "
		"added_jobs DROP COLUMN keep; ALTER TABLE attempts DROP COLUMN held_us; ALTER "
		"TABLE attempts DROP COLUMN energy_split; DROP TABLE "
		"never_held; DROP TABLE co_run_sets; PRAGMA user_version = 13");
	s = store_opened(HES_STORE_WRITE);
	assert_int_equal(store_add(s, HES_SOURCE_MEASURED, 2, p, N(p), NULL, 0).profiles_known, 2);
	assert_int_equal(hes_store_profiles(s, &all, &got, NULL), 0);
	assert_int_equal(got.n, 2);
	assert_int_equal(number(s, "SELECT count(*) FROM tenant_usages"), 0);
	assert_float_equal(got.v[0].start_s, 0, 0);
	assert_float_equal(got.v[1].start_s, 4.5, 1e-9);
	hes_profiles_free(&got);
	hes_store_close(s);
}

TEST_WITH(a_store_from_before_the_first_release_is_refused, store_set_up, store_tear_down)
{
	hes_store_close(store_opened(HES_STORE_WRITE));
	by_hand("PRAGMA user_version = 12");
	refused(HES_STORE_WRITE, -ENOTSUP,
		"written by heshare before 0.1.0 (version 12 of the store; this one reads 13 to ");
	refused(HES_STORE_READ, -ENOTSUP, "before 0.1.0");
}

/* A store of a few hundred rows, closed. */
static void fill(void)
{
	struct hes_sample v[300];
	struct hes_store *s = store_opened(HES_STORE_WRITE);

	for (uint32_t i = 0; i < N(v); i++)
		v[i] = store_sample("T4", i);
	store_add(s, HES_SOURCE_MEASURED, 1, NULL, 0, v, N(v));
	hes_store_close(s);
}

TEST_WITH(a_damaged_file_is_refused, store_set_up, store_tear_down)
{
	struct stat st;
	char junk[4096];
	FILE *f;

	fill();
	memset(junk, 0x5a, sizeof(junk));
	assert_int_equal(stat(store_path, &st), 0);
	f = fopen(store_path, "r+e");
	assert_non_null(f);
	fseek(f, st.st_size / 2 / 4096 * 4096, SEEK_SET);
	assert_int_equal(fwrite(junk, 1, sizeof(junk), f), sizeof(junk));
	fclose(f);
	refused(HES_STORE_WRITE, -EBADMSG, "damaged");
}

TEST_WITH(a_cut_file_is_refused, store_set_up, store_tear_down)
{
	struct stat st;

	fill();
	assert_int_equal(stat(store_path, &st), 0);
	assert_int_equal(truncate(store_path, st.st_size / 2 / 4096 * 4096), 0);
	refused(HES_STORE_WRITE, -EBADMSG, "damaged");
}

/* SQLite has no checksums: a flipped bit in a value is found by the row's key. */
TEST_WITH(a_value_that_changed_is_found, store_set_up, store_tear_down)
{
	static const struct {
		const char *sql, *says;
	} damage[] = {
		{ "UPDATE samples SET power_mw = power_mw + 1 WHERE id = 7",
		  "(net on T4) is not what was added" },
		{ "UPDATE samples SET power_mw = power_mw - 1, workload = 'nest' WHERE id = 7",
		  "(nest on T4)" },
		{ "UPDATE samples SET workload = 'net', sm_pct = 500 WHERE id = 7",
		  "500 is not within 1 to 100" },
		{ "UPDATE samples SET sm_pct = -9223372036854775807 WHERE id = 7",
		  "is not within 1 to 100" },
		{ "UPDATE samples SET sm_pct = 50, key = zeroblob(16) WHERE id = 7",
		  "is not what was added" },
	};
	const struct hes_store_query all = { 0 };
	struct hes_samples got = { .n = 77 };
	struct hes_err err;

	fill();
	for (size_t i = 0; i < N(damage); i++) {
		struct hes_store *s;

		by_hand(damage[i].sql);
		s = store_opened(HES_STORE_READ);
		assert_int_equal(hes_store_samples(s, &all, &got, &err), -EBADMSG);
		assert_non_null(strstr(err.msg, "damaged"));
		if (!strstr(err.msg, damage[i].says))
			fail_msg("\"%s\" does not say \"%s\"", err.msg, damage[i].says);
		assert_int_equal(got.n, 77);
		hes_store_close(s);
	}
}

/* Versions to come, made up: two steps, then one that cannot be taken. */
static const struct hes_schema_step future[] = {
	{ 1,
	  "a table",
	  "CREATE TABLE a (x INTEGER NOT NULL) STRICT; INSERT INTO a VALUES (1), (2)",
	  { NULL } },
	{ 2,
	  "a column",
	  "ALTER TABLE a ADD COLUMN y INTEGER NOT NULL DEFAULT 0; UPDATE a SET y = 10 * x",
	  { NULL } },
	{ 3,
	  "what fails half way",
	  "CREATE TABLE b (x INTEGER) STRICT; INSERT INTO a (x) VALUES (NULL)",
	  { NULL } },
};

TEST_WITH(an_older_store_is_migrated_with_its_rows, store_set_up, store_tear_down)
{
	struct hes_store s = { .path = store_path, .wait_ms = 100 };
	struct hes_err err;
	size_t version = 77;

	assert_int_equal(sqlite3_open(store_path, &s.db), SQLITE_OK);
	assert_int_equal(hes_schema_bring_up(&s, future, 1, &err), 0);
	by_hand("INSERT INTO a VALUES (5)");
	assert_int_equal(hes_schema_bring_up(&s, future, 2, &err), 0);
	assert_int_equal(number(&s, "SELECT sum(y) FROM a"), 80);
	assert_int_equal(hes_schema_version(&s, future, 2, &version, &err), 0);
	assert_int_equal(version, 2);
	assert_int_equal(hes_schema_bring_up(&s, future, 2, &err), 0); /* once only */
	assert_int_equal(number(&s, "SELECT count(*) FROM a"), 3);
	assert_int_equal(hes_schema_bring_up(&s, future, 1, &err), -ENOTSUP);
	sqlite3_close(s.db);
}

TEST_WITH(a_failed_migration_leaves_the_old_version, store_set_up, store_tear_down)
{
	struct hes_store s = { .path = store_path, .wait_ms = 100 };
	struct hes_err err;
	size_t version;

	assert_int_equal(sqlite3_open(store_path, &s.db), SQLITE_OK);
	assert_int_equal(hes_schema_bring_up(&s, future, 1, &err), 0);
	assert_true(hes_schema_bring_up(&s, future, 3, &err) < 0);
	assert_non_null(strstr(err.msg, "to version 3 (what fails half way): "));
	assert_int_equal(hes_schema_version(&s, future, 3, &version, &err), 0);
	assert_int_equal(version, 1); /* the second step, which would do, is not taken alone */
	assert_int_equal(number(&s, "SELECT count(*) FROM pragma_table_info('a')"), 1);
	assert_int_equal(number(&s, "SELECT count(*) FROM sqlite_schema WHERE name = 'b'"), 0);
	sqlite3_close(s.db);
}

TEST(file_systems_of_several_machines_have_no_write_ahead_log)
{
	static const uint32_t remote[] = { 0x6969 /* NFS */, 0x0bd00bd0 /* Lustre */,
					   0x65735546 /* FUSE */, 0x01161970 /* GFS2 */ };
	static const uint32_t local[] = { 0xef53 /* ext4 */, 0x01021994 /* tmpfs */,
					  0x58465342 /* XFS */, 0x9123683e /* btrfs */,
					  0x794c7630 /* overlay */ };

	for (size_t i = 0; i < N(remote); i++)
		assert_true(hes_store_is_remote(remote[i]));
	for (size_t i = 0; i < N(local); i++)
		assert_false(hes_store_is_remote(local[i]));
}

TEST_WITH(the_schema_has_the_properties_declared_to_sqlite, store_set_up, store_tear_down)
{
	struct hes_store *s = store_opened(HES_STORE_WRITE);
	struct hes_err err;

	assert_int_equal(number(s, "PRAGMA foreign_keys"), 1);
	assert_int_equal(number(s, "PRAGMA synchronous"), 2); /* FULL */
	assert_int_equal(number(s, "SELECT journal_mode = 'wal' FROM pragma_journal_mode"), 1);
	assert_int_equal(number(s, "PRAGMA application_id"), HES_SCHEMA_APPLICATION);
	assert_int_equal(number(s, "PRAGMA user_version"),
			 (int64_t)hes_schema_steps[hes_schema_n_steps - 1].version);
	assert_true(hes_db_exec(s, "INSERT INTO acts (run_id, at_us, what) VALUES (1, 1, 'x')",
				&err) < 0);
	hes_store_close(s);
}

/* A view or a trigger can count to infinity; its kind, as the file tells it, may be a lie. */
TEST_WITH(a_store_with_programs_in_it_is_refused, store_set_up, store_tear_down)
{
	static const char *const programs[] = {
		("ALTER TABLE points RENAME TO p; CREATE VIEW points AS WITH RECURSIVE c(i) AS "
		 "(SELECT 1 UNION ALL SELECT i + 1 FROM c) SELECT * FROM c"),
		"CREATE TRIGGER t AFTER INSERT ON origins BEGIN SELECT RAISE(ABORT, 'no'); END",
		"CREATE VIRTUAL TABLE f USING fts5(x)",
		"ALTER TABLE points ADD COLUMN g TEXT AS (printf('%.*c', 1000000, 'x'))",
		"CREATE TABLE t (x); CREATE INDEX i ON t(printf('%.*c', 1000000, x))",
	};
	static const char lie[] = "PRAGMA writable_schema = ON; INSERT INTO sqlite_schema VALUES "
				  "('table', 'v', 'v', 0, 'CREATE VIEW v AS SELECT 1')";

	for (size_t i = 0; i < N(programs); i++) {
		unlink(store_path);
		fill();
		by_hand("PRAGMA journal_mode = DELETE");
		by_hand(programs[i]);
		refused(HES_STORE_READ, -EINVAL, "which no store of heshare's has");
		refused(HES_STORE_WRITE, -EINVAL, "which no store of heshare's has");
	}
	unlink(store_path);
	fill();
	by_hand("PRAGMA journal_mode = DELETE");
	by_hand(lie);
	refused(HES_STORE_READ, -EBADMSG, "damaged");
}

/* Whatever makes a query long: without the indexes a join of few rows takes the square of their
 * number. */
TEST_WITH(a_query_ends_after_steps_that_suit_the_file, store_set_up, store_tear_down)
{
	struct hes_store *s = store_opened(HES_STORE_WRITE);
	struct hes_err err;
	int64_t n = 0;

	assert_int_equal(hes_db_number(s,
				       "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
				       "FROM c) SELECT count(*) FROM c",
				       &n, &err),
			 -EBADMSG);
	assert_non_null(strstr(err.msg, "a query took more than"));
	/* The next one has its own steps. */
	assert_int_equal(hes_db_number(s, "SELECT count(*) FROM origins", &n, &err), 0);
	hes_store_close(s);
}

int main(void)
{
	return run_unit_tests(NULL, NULL);
}
