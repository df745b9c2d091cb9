/*
 * schema.c - the tables of a store, as steps from one version to the next; see schema.h.
 * docs/store.md draws them.
 *
 * Tables of profiles, samples and points have the columns of their files (core/row.h), after an id,
 * an origin and the key of the row (row_sql.h).
 */
#include "store/schema.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

static const char knowledge_tables[] =
	"CREATE TABLE origins ("
	"  id       INTEGER PRIMARY KEY AUTOINCREMENT," /* a number is never given again */
	"  at_us    INTEGER NOT NULL,"
	"  source   TEXT NOT NULL CHECK (source IN ('measured', 'imported', 'modelled')),"
	"  name     TEXT NOT NULL,"
	"  gpu_s    REAL," /* NULL: not measured */
	"  energy_j REAL"
	") STRICT;"
	"CREATE TABLE tenant_powers ("
	"  tenant    TEXT NOT NULL,"
	"  uid       INTEGER NOT NULL,"
	"  gpu_type  TEXT NOT NULL,"
	"  clock_mhz INTEGER NOT NULL," /* 0: as the driver chooses */
	"  power_w   REAL NOT NULL CHECK (power_w > 0),"
	"  cv        REAL NOT NULL,"
	"  seconds   REAL NOT NULL,"
	"  at_us     INTEGER NOT NULL,"
	"  PRIMARY KEY (tenant, uid, gpu_type, clock_mhz)"
	") STRICT, WITHOUT ROWID;"
	/* The key is a hash of all that a predictor was trained on. */
	"CREATE TABLE trained ("
	"  key   INTEGER PRIMARY KEY,"
	"  at_us INTEGER NOT NULL,"
	"  model BLOB NOT NULL"
	") STRICT;"
	/* To find a sample by its values (deliver.c): hardly two took the same time. */
	"CREATE INDEX samples_by_time ON samples(iteration_us);";

/* Times of a run are in microseconds from its start, but for started_us and ended_us of runs. */
static const char journal_tables[] =
	"CREATE TABLE runs ("
	"  id           INTEGER PRIMARY KEY AUTOINCREMENT,"
	"  plan_key     INTEGER NOT NULL,"
	"  plan         TEXT NOT NULL,"
	"  folder       TEXT NOT NULL,"
	"  host         TEXT NOT NULL,"
	"  started_us   INTEGER NOT NULL,"
	"  ended_us     INTEGER NOT NULL DEFAULT 0,"
	"  state        TEXT NOT NULL CHECK (state IN ('going', 'done', 'failed', 'stopped')),"
	"  runner_pid   INTEGER NOT NULL,"
	"  runner_start INTEGER NOT NULL,"
	"  runner_boot  TEXT NOT NULL,"
	"  over_cap_us  INTEGER NOT NULL DEFAULT 0," /* time above the plan's power cap */
	"  peak_mw      INTEGER NOT NULL DEFAULT 0," /* highest of its GPUs; 0: not measured */
	"  progress     TEXT NOT NULL DEFAULT ''"    /* '': only heshare's own lines count */
	") STRICT;"
	"CREATE INDEX runs_by_plan ON runs(plan_key);"
	"CREATE TABLE run_gpus ("
	"  id              INTEGER PRIMARY KEY,"
	"  run_id          INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,"
	"  gpu             TEXT NOT NULL,"
	"  gpu_type        TEXT NOT NULL,"
	"  uuid            TEXT NOT NULL,"
	"  planned_mj      INTEGER NOT NULL,"
	"  planned_busy_us INTEGER NOT NULL,"
	"  busy_us         INTEGER," /* this and the next: NULL, not measured */
	"  busy_mj         INTEGER,"
	"  idle_mj         INTEGER,"
	"  UNIQUE (run_id, gpu)"
	") STRICT;"
	"CREATE TABLE run_jobs ("
	"  id               INTEGER PRIMARY KEY,"
	"  run_id           INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,"
	"  job              TEXT NOT NULL,"
	"  workload         TEXT NOT NULL,"
	"  gpu              TEXT NOT NULL,"
	"  sm_pct           INTEGER NOT NULL,"
	"  planned_start_us INTEGER NOT NULL,"
	"  planned_end_us   INTEGER NOT NULL,"
	"  state            TEXT NOT NULL CHECK (state IN"
	"                   ('waiting', 'done', 'failed', 'ended early')),"
	"  start_us         INTEGER,"
	"  end_us           INTEGER,"
	"  energy_mj        INTEGER,"                    /* attributed */
	"  arrival_us       INTEGER NOT NULL DEFAULT 0," /* above 0: of an added job */
	"  planned_mj       INTEGER,"
	"  UNIQUE (run_id, job)"
	") STRICT;"
	"CREATE TABLE attempts ("
	"  id         INTEGER PRIMARY KEY,"
	"  run_id     INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,"
	"  job        TEXT NOT NULL,"
	"  number     INTEGER NOT NULL,"
	"  gpu        TEXT NOT NULL,"
	"  sm_pct     INTEGER NOT NULL,"
	"  clock_mhz  INTEGER NOT NULL,"
	"  started_us INTEGER NOT NULL,"
	"  pid        INTEGER NOT NULL DEFAULT 0," /* 0: about to be started */
	"  pid_start  INTEGER NOT NULL DEFAULT 0,"
	"  pid_boot   TEXT NOT NULL DEFAULT '',"
	"  ended_us   INTEGER,"
	"  status     INTEGER,"
	"  verdict    TEXT NOT NULL DEFAULT 'open' CHECK (verdict IN ('open', 'done', 'failed',"
	"             'timeout', 'co-failed', 'stopped', 'lost', 'ended early')),"
	"  energy_mj  INTEGER," /* attributed so far; NULL: not known */
	"  seen       TEXT,"    /* why it ended early, or is tried again alone */
	"  UNIQUE (run_id, job, number)"
	") STRICT;"
	"CREATE TABLE acts ("
	"  id     INTEGER PRIMARY KEY,"
	"  run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,"
	"  at_us  INTEGER NOT NULL,"
	"  gpu    TEXT,"
	"  job    TEXT,"
	"  what   TEXT NOT NULL"
	") STRICT;"
	"CREATE INDEX acts_by_run ON acts(run_id);"
	"CREATE TABLE run_meters ("
	"  run_id      INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,"
	"  session     INTEGER NOT NULL," /* a process that carried the run out, from 1 */
	"  gpu         TEXT NOT NULL,"
	"  measured_us INTEGER NOT NULL,"
	"  energy_mj   INTEGER NOT NULL,"
	"  PRIMARY KEY (run_id, session, gpu)"
	") STRICT, WITHOUT ROWID;"
	/* What running a job takes that was added to a run, in the order in which jobs join the
	 * queues. Its row in run_jobs has the rest. */
	"CREATE TABLE added_jobs ("
	"  id          INTEGER PRIMARY KEY,"
	"  run_id      INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,"
	"  job         TEXT NOT NULL,"
	"  batch_size  INTEGER NOT NULL CHECK (batch_size > 0),"
	"  iterations  INTEGER NOT NULL CHECK (iterations > 0),"
	"  memory_mib  INTEGER NOT NULL,"
	"  command     TEXT NOT NULL,"
	"  clock_mhz   INTEGER NOT NULL,"
	"  together    INTEGER NOT NULL,"
	"  shares_pct  INTEGER NOT NULL,"
	"  before_job  TEXT NOT NULL," /* '': last in the queue */
	"  planned_mj  INTEGER NOT NULL,"
	"  activity_mw INTEGER NOT NULL," /* 0: not known */
	"  taken       INTEGER NOT NULL DEFAULT 0 CHECK (taken IN (0, 1)),"
	"  whole_run   INTEGER NOT NULL DEFAULT 0," /* its iterations were not given */
	"  progress    TEXT NOT NULL DEFAULT ''"
	") STRICT;"
	"CREATE INDEX added_jobs_by_run ON added_jobs(run_id);";

const struct hes_schema_step hes_schema_steps[] = {
	{ HES_SCHEMA_FIRST,
	  "profiles, samples, points, predictors and powers",
	  knowledge_tables,
	  { &hes_profile_table, &hes_sample_table, &hes_point_table } },
	{ HES_SCHEMA_FIRST, "runs and their journal", journal_tables, { NULL } },
	{ 14,
	  "what tenants have used",
	  "CREATE TABLE tenant_usages ("
	  "  day      INTEGER NOT NULL," /* since 1970, UTC */
	  "  tenant   TEXT NOT NULL,"
	  "  uid      INTEGER NOT NULL,"
	  "  gpu_type TEXT NOT NULL,"
	  "  seconds  REAL NOT NULL,"
	  "  joules   REAL NOT NULL,"
	  "  PRIMARY KEY (day, tenant, uid, gpu_type)"
	  ") STRICT, WITHOUT ROWID;",
	  { NULL } },
	{ 15,
	  "what experiments of a run took, and floors of jobs",
	  "ALTER TABLE runs ADD COLUMN experiments INTEGER NOT NULL DEFAULT 0;"
	  "ALTER TABLE runs ADD COLUMN learning_us INTEGER NOT NULL DEFAULT 0;" /* below 0: they
										   gained */
	  "ALTER TABLE runs ADD COLUMN learning_mj INTEGER NOT NULL DEFAULT 0;"
	  "ALTER TABLE runs ADD COLUMN learning_iterations INTEGER NOT NULL DEFAULT 0;"
	  "ALTER TABLE added_jobs ADD COLUMN keep REAL NOT NULL DEFAULT 0;", /* 0: none */
	  { NULL } },
	{ 16,
	  "how long attempts were held, and workloads that are not held",
	  "ALTER TABLE attempts ADD COLUMN held_us INTEGER NOT NULL DEFAULT 0;"
	  "CREATE TABLE never_held ("
	  "  workload TEXT PRIMARY KEY,"
	  "  run_id   INTEGER NOT NULL" /* in which co-runners stalled */
	  ") STRICT, WITHOUT ROWID;",
	  { NULL } },
	{ 17,
	  "joules that are split without profiles",
	  "ALTER TABLE attempts ADD COLUMN energy_split INTEGER NOT NULL DEFAULT 0;",
	  { NULL } },
	{ 18,
	  "co-run sets that were judged",
	  "CREATE TABLE co_run_sets ("
	  "  gpu_type TEXT NOT NULL,"
	  "  jobs     TEXT NOT NULL," /* NAME/BATCH@SHARE of each, sorted, commas between them */
	  "  time     REAL NOT NULL," /* of the set / of its jobs in turns */
	  "  energy   REAL,"          /* the same of joules; NULL: not measured */
	  "  se       REAL NOT NULL," /* standard error of time, as a part of it */
	  "  at_us    INTEGER NOT NULL,"
	  "  PRIMARY KEY (gpu_type, jobs)"
	  ") STRICT, WITHOUT ROWID;",
	  { NULL } },
};

const size_t hes_schema_n_steps = sizeof(hes_schema_steps) / sizeof(hes_schema_steps[0]);

struct header {
	int64_t owner, version, tables;
};

static int read_header(struct hes_store *s, struct header *h, struct hes_err *err)
{
	int rc = hes_db_number(s, "PRAGMA application_id", &h->owner, err);

	if (!rc)
		rc = hes_db_number(s, "PRAGMA user_version", &h->version, err);
	return rc ? rc : hes_db_number(s, "SELECT count(*) FROM sqlite_schema", &h->tables, err);
}

static int check_header(struct hes_store *s, const struct hes_schema_step *steps, size_t n,
			struct header *h, struct hes_err *err)
{
	const size_t first = steps[0].version, last = steps[n - 1].version;
	bool alone = sqlite3_get_autocommit(s->db);
	/* One look: another process may be making the store between two. */
	int rc = alone ? hes_db_exec(s, "BEGIN", err) : 0;

	if (!rc)
		rc = read_header(s, h, err);
	if (alone)
		rc = hes_db_end(s, rc, err);
	if (rc)
		return rc;
	if (h->owner != HES_SCHEMA_APPLICATION && (h->owner || h->version || h->tables))
		return hes_fail(err, -EINVAL,
				"%s: an SQLite database, but not a store of heshare's", s->path);
	if (h->version < 0 || (h->owner && !h->version))
		return hes_fail(err, -EINVAL, "%s: not a store: its version is %" PRId64, s->path,
				h->version);
	if (h->version && (size_t)h->version < first)
		return hes_fail(err, -ENOTSUP,
				"%s: written by heshare before 0.1.0 (version %" PRId64
				" of the store; this one reads %zu to %zu); name another file",
				s->path, h->version, first, last);
	if ((size_t)h->version > last)
		return hes_fail(err, -ENOTSUP,
				"%s: written by a newer heshare (version %" PRId64
				" of the store; this one "
				"knows up to %zu)",
				s->path, h->version, last);
	return 0;
}

int hes_schema_version(struct hes_store *s, const struct hes_schema_step *steps, size_t n,
		       size_t *out, struct hes_err *err)
{
	struct header h;
	int rc = check_header(s, steps, n, &h, err);

	if (!rc)
		*out = (size_t)h.version;
	return rc;
}

/* What SQLite does goes by the text, whatever type says. */
static const char foreign[] =
	"SELECT CASE WHEN sql GLOB 'CREATE VIEW *' THEN 'view' WHEN sql GLOB 'CREATE TRIGGER *' "
	"THEN 'trigger' "
	"  WHEN sql GLOB 'CREATE VIRTUAL *' THEN 'virtual table' ELSE substr(type, 1, 20) END || ' "
	"' || substr(name, 1, 60) "
	"FROM sqlite_schema WHERE type NOT IN ('table', 'index') OR (sql IS NOT NULL AND "
	"  NOT (sql GLOB 'CREATE TABLE *' OR sql GLOB 'CREATE INDEX *' OR sql GLOB 'CREATE UNIQUE "
	"INDEX *')) LIMIT 1";
static const char computed[] = "SELECT 'computed column ' || substr(c.name, 1, 60) FROM "
			       "sqlite_schema t, pragma_table_xinfo(t.name) c "
			       "WHERE t.type = 'table' AND c.hidden <> 0 "
			       "UNION ALL SELECT 'computed index ' || substr(i.name, 1, 60) FROM "
			       "sqlite_schema i, pragma_index_xinfo(i.name) c "
			       "WHERE i.type = 'index' AND c.cid = -2 LIMIT 1";

static int refuse_rows(struct hes_store *s, const char *sql, struct hes_err *err)
{
	char what[HES_ERR_MAX / 2];
	int rc = hes_db_line(s, sql, what, sizeof(what), err);

	return rc > 0 ? hes_fail(err, -EINVAL,
				 "%s: not a store: it has a %s, which no store of heshare's has",
				 s->path, what)
		      : rc;
}

int hes_schema_check_kinds(struct hes_store *s, struct hes_err *err)
{
	int rc = refuse_rows(s, foreign, err);

	return rc ? rc : refuse_rows(s, computed, err);
}

static const char *const column_types[] = {
	[HES_ROW_TEXT] = "TEXT NOT NULL",   [HES_ROW_LINE] = "TEXT NOT NULL",
	[HES_ROW_U32] = "INTEGER NOT NULL", [HES_ROW_REAL] = "REAL NOT NULL",
	[HES_ROW_MAYBE] = "REAL",
};

static int create_rows(struct hes_store *s, const struct hes_row_table *t, struct hes_err *err)
{
	char sql[4 * HES_ROW_SQL_MAX];
	size_t at = (size_t)snprintf(
		sql, sizeof(sql),
		"CREATE TABLE %s (id INTEGER PRIMARY KEY, origin_id INTEGER NOT NULL "
		"REFERENCES origins(id) ON DELETE CASCADE, key BLOB NOT NULL UNIQUE CHECK "
		"(length(key) = 16)",
		t->what);

	for (size_t i = 0; i < t->n_columns; i++)
		at += (size_t)snprintf(sql + at, sizeof(sql) - at, ", %s %s", t->columns[i].name,
				       column_types[t->columns[i].kind]);
	snprintf(sql + at, sizeof(sql) - at, ") STRICT; CREATE INDEX %s_by_origin ON %s(origin_id)",
		 t->what, t->what);
	return hes_db_exec(s, sql, err);
}

static int take_step(struct hes_store *s, const struct hes_schema_step *step, struct hes_err *err)
{
	char pragmas[96];
	int rc = 0;

	for (size_t i = 0; !rc && i < HES_SCHEMA_ROWS && step->rows[i]; i++)
		rc = create_rows(s, step->rows[i], err);
	if (!rc)
		rc = hes_db_exec(s, step->sql, err);
	snprintf(pragmas, sizeof(pragmas), "PRAGMA application_id = %d; PRAGMA user_version = %zu",
		 HES_SCHEMA_APPLICATION, step->version);
	if (!rc)
		rc = hes_db_exec(s, pragmas, err);
	return rc && err ? hes_fail_in(err, "to version %zu (%s)", step->version, step->what) : rc;
}

int hes_schema_bring_up(struct hes_store *s, const struct hes_schema_step *steps, size_t n,
			struct hes_err *err)
{
	struct header h;
	int rc = check_header(s, steps, n, &h, err);

	if (rc || (size_t)h.version == steps[n - 1].version)
		return rc;
	rc = hes_db_begin(s, err);
	if (rc)
		return rc;
	/* Another process may have been faster. */
	rc = check_header(s, steps, n, &h, err);
	for (size_t i = 0; i < n && !rc; i++)
		if (steps[i].version > (size_t)h.version)
			rc = take_step(s, &steps[i], err);
	return hes_db_end(s, rc, err);
}
