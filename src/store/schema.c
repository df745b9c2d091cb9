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

static const char origins_step[] =
	"CREATE TABLE IF NOT EXISTS origins ("
	"  id     INTEGER PRIMARY KEY AUTOINCREMENT," /* a number is never given again */
	"  at_us  INTEGER NOT NULL,"
	"  source TEXT NOT NULL CHECK (source IN ('measured', 'imported', 'modelled')),"
	"  name   TEXT NOT NULL"
	") STRICT;"
	/* Nothing reads or writes predictors and forecasts any more. */
	"CREATE TABLE IF NOT EXISTS predictors ("
	"  id    INTEGER PRIMARY KEY,"
	"  crc   INTEGER NOT NULL UNIQUE,"
	"  rows  INTEGER NOT NULL,"
	"  at_us INTEGER NOT NULL,"
	"  name  TEXT NOT NULL"
	") STRICT;"
	"CREATE TABLE IF NOT EXISTS forecasts ("
	"  predictor_id INTEGER NOT NULL REFERENCES predictors(id) ON DELETE CASCADE,"
	"  sample_id    INTEGER NOT NULL REFERENCES samples(id) ON DELETE CASCADE,"
	"  fresh        INTEGER NOT NULL CHECK (fresh IN (0, 1))," /* 0: held back from training */
	"  iteration_us REAL NOT NULL CHECK (iteration_us > 0),"
	"  power_mw     INTEGER NOT NULL,"
	"  PRIMARY KEY (predictor_id, sample_id)"
	") STRICT, WITHOUT ROWID;"
	"CREATE INDEX IF NOT EXISTS forecasts_by_sample ON forecasts(sample_id);"
	"CREATE TABLE IF NOT EXISTS tenant_powers ("
	"  tenant    TEXT NOT NULL,"
	"  uid       INTEGER NOT NULL,"
	"  gpu_type  TEXT NOT NULL,"
	"  clock_mhz INTEGER NOT NULL," /* 0: as the driver chooses */
	"  power_w   REAL NOT NULL CHECK (power_w > 0),"
	"  cv        REAL NOT NULL,"
	"  seconds   REAL NOT NULL,"
	"  at_us     INTEGER NOT NULL,"
	"  PRIMARY KEY (tenant, uid, gpu_type, clock_mhz)"
	") STRICT, WITHOUT ROWID;";

/* Runs of plans and the runner's journal; times in microseconds from the run's start, but for
 * started_us and ended_us of runs. */
static const char runs_step[] =
	"CREATE TABLE IF NOT EXISTS runs ("
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
	"  runner_boot  TEXT NOT NULL"
	") STRICT;"
	"CREATE INDEX IF NOT EXISTS runs_by_plan ON runs(plan_key);"
	"CREATE TABLE IF NOT EXISTS run_gpus ("
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
	"CREATE TABLE IF NOT EXISTS run_jobs ("
	"  id               INTEGER PRIMARY KEY,"
	"  run_id           INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,"
	"  job              TEXT NOT NULL,"
	"  workload         TEXT NOT NULL,"
	"  gpu              TEXT NOT NULL,"
	"  sm_pct           INTEGER NOT NULL,"
	"  planned_start_us INTEGER NOT NULL,"
	"  planned_end_us   INTEGER NOT NULL,"
	"  state            TEXT NOT NULL CHECK (state IN ('waiting', 'done', 'failed')),"
	"  start_us         INTEGER,"
	"  end_us           INTEGER,"
	"  energy_mj        INTEGER," /* attributed */
	"  UNIQUE (run_id, job)"
	") STRICT;"
	"CREATE TABLE IF NOT EXISTS attempts ("
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
	"  verdict    TEXT NOT NULL DEFAULT 'open' CHECK (verdict IN"
	"             ('open', 'done', 'failed', 'timeout', 'fell', 'stopped', 'lost')),"
	"  UNIQUE (run_id, job, number)"
	") STRICT;"
	"CREATE TABLE IF NOT EXISTS acts ("
	"  id     INTEGER PRIMARY KEY,"
	"  run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,"
	"  at_us  INTEGER NOT NULL,"
	"  gpu    TEXT,"
	"  job    TEXT,"
	"  what   TEXT NOT NULL"
	") STRICT;"
	"CREATE INDEX IF NOT EXISTS acts_by_run ON acts(run_id);";

/* To find a sample by its values (deliver.c): hardly two took the same time to nine digits. */
static const char times_step[] =
	"CREATE INDEX IF NOT EXISTS samples_by_time ON samples(iteration_us);";

/* Joules of every attempt, of the meter, and what the fleet drew above its power cap. */
static const char run_joules_step[] =
	"ALTER TABLE attempts ADD COLUMN energy_mj INTEGER;" /* attributed so far; NULL: not known
							      */
	"ALTER TABLE runs ADD COLUMN over_cap_us INTEGER NOT NULL DEFAULT 0;" /* time above the
										 plan's power cap */
	"ALTER TABLE runs ADD COLUMN peak_mw INTEGER NOT NULL DEFAULT 0;" /* highest power of its
									     GPUs; 0: not measured
									   */
	"CREATE TABLE run_meters ("
	"  run_id      INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,"
	"  session     INTEGER NOT NULL," /* a process that carried the run out, from 1 */
	"  gpu         TEXT NOT NULL,"
	"  measured_us INTEGER NOT NULL,"
	"  energy_mj   INTEGER NOT NULL,"
	"  PRIMARY KEY (run_id, session, gpu)"
	") STRICT, WITHOUT ROWID;";

/* Jobs that were added to a run: what running them takes, in the order in which they join the
 * queues. Their rows in run_jobs have the rest. */
static const char added_step[] =
	"ALTER TABLE run_jobs ADD COLUMN arrival_us INTEGER NOT NULL DEFAULT 0;" /* above 0: of an
										    added job */
	"CREATE TABLE added_jobs ("
	"  id         INTEGER PRIMARY KEY,"
	"  run_id     INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,"
	"  job        TEXT NOT NULL,"
	"  batch_size INTEGER NOT NULL CHECK (batch_size > 0),"
	"  iterations INTEGER NOT NULL CHECK (iterations > 0),"
	"  memory_mib INTEGER NOT NULL,"
	"  command    TEXT NOT NULL,"
	"  clock_mhz  INTEGER NOT NULL,"
	"  together   INTEGER NOT NULL,"
	"  shares_pct INTEGER NOT NULL,"
	"  before_job TEXT NOT NULL," /* '': last in the queue */
	"  planned_mj INTEGER NOT NULL,"
	"  activity_mw INTEGER NOT NULL,"                                 /* 0: not known */
	"  taken      INTEGER NOT NULL DEFAULT 0 CHECK (taken IN (0, 1))" /* the runner has it */
	") STRICT;"
	"CREATE INDEX added_jobs_by_run ON added_jobs(run_id);";

/* Jobs and attempts that ended early: SQLite changes a CHECK only in a new table. */
static const char early_step[] =
	"ALTER TABLE run_jobs RENAME TO old_run_jobs;"
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
	"  UNIQUE (run_id, job)"
	") STRICT;"
	"INSERT INTO run_jobs SELECT id, run_id, job, workload, gpu, sm_pct, planned_start_us,"
	"  planned_end_us, state, start_us, end_us, energy_mj, arrival_us FROM old_run_jobs;"
	"DROP TABLE old_run_jobs;"
	"ALTER TABLE attempts RENAME TO old_attempts;"
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
	"             'timeout', 'fell', 'stopped', 'lost', 'ended early')),"
	"  energy_mj  INTEGER," /* attributed so far; NULL: not known */
	"  seen       TEXT,"    /* why it ended early, or is tried again alone */
	"  UNIQUE (run_id, job, number)"
	") STRICT;"
	"INSERT INTO attempts SELECT id, run_id, job, number, gpu, sm_pct, clock_mhz, started_us,"
	"  pid, pid_start, pid_boot, ended_us, status, verdict, energy_mj, NULL FROM old_attempts;"
	"DROP TABLE old_attempts;";

/* Another word for attempts that failed through no fault of their own. */
static const char co_failed_step[] =
	"ALTER TABLE attempts RENAME TO old_attempts;"
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
	"INSERT INTO attempts SELECT id, run_id, job, number, gpu, sm_pct, clock_mhz, started_us,"
	"  pid, pid_start, pid_boot, ended_us, status,"
	"  CASE verdict WHEN 'fell' THEN 'co-failed' ELSE verdict END, energy_mj, seen"
	"  FROM old_attempts;"
	"DROP TABLE old_attempts;";

/* Jobs whose iterations were not given; what counts in lines of progress, '': only heshare's own.
 */
static const char commands_step[] =
	"ALTER TABLE added_jobs ADD COLUMN whole_run INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE added_jobs ADD COLUMN progress TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE runs ADD COLUMN progress TEXT NOT NULL DEFAULT '';";

/* The key is a hash of all that a predictor was trained on. */
static const char trained_step[] = "CREATE TABLE trained ("
				   "  key   INTEGER PRIMARY KEY,"
				   "  at_us INTEGER NOT NULL,"
				   "  model BLOB NOT NULL"
				   ") STRICT;";

const struct hes_schema_step hes_schema_steps[] = {
	{ "profiles, samples, points, predictions and powers",
	  origins_step,
	  { &hes_profile_table, &hes_sample_table, &hes_point_table } },
	{ "runs and their journal", runs_step, { NULL } },
	{ "samples by their values", times_step, { NULL } },
	{ "joules of attempts and sessions", run_joules_step, { NULL } },
	{ "jobs that are added to a run", added_step, { NULL } },
	{ "jobs that ended early", early_step, { NULL } },
	/* Points, samples and added jobs may have clock 0: none was locked. */
	{ "clocks without a lock", "", { NULL } },
	{ "start-up, standard errors and temperatures",
	  "",
	  { &hes_profile_table, &hes_sample_table, &hes_point_table } },
	{ "jobs that are a command", commands_step, { &hes_point_table } },
	{ "predictors that plans trained", trained_step, { NULL } },
	{ "planned joules of jobs",
	  "ALTER TABLE run_jobs ADD COLUMN planned_mj INTEGER;",
	  { NULL } },
	{ "names of co-runners", co_failed_step, { &hes_sample_table, &hes_point_table } },
	{ "what profiling took",
	  "ALTER TABLE origins ADD COLUMN gpu_s REAL;" /* NULL: not measured */
	  "ALTER TABLE origins ADD COLUMN energy_j REAL;",
	  { NULL } },
	{ "what tenants have used",
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
	{ "what experiments of a run took, and floors of jobs",
	  "ALTER TABLE runs ADD COLUMN experiments INTEGER NOT NULL DEFAULT 0;"
	  "ALTER TABLE runs ADD COLUMN learning_us INTEGER NOT NULL DEFAULT 0;" /* below 0: they
										   gained */
	  "ALTER TABLE runs ADD COLUMN learning_mj INTEGER NOT NULL DEFAULT 0;"
	  "ALTER TABLE runs ADD COLUMN learning_iterations INTEGER NOT NULL DEFAULT 0;"
	  "ALTER TABLE added_jobs ADD COLUMN keep REAL NOT NULL DEFAULT 0;", /* 0: none */
	  { NULL } },
	{ "how long attempts were held, and workloads that are not held",
	  "ALTER TABLE attempts ADD COLUMN held_us INTEGER NOT NULL DEFAULT 0;"
	  "CREATE TABLE never_held ("
	  "  workload TEXT PRIMARY KEY,"
	  "  run_id   INTEGER NOT NULL" /* in which co-runners stalled */
	  ") STRICT, WITHOUT ROWID;",
	  { NULL } },
	{ "joules that are split without profiles",
	  "ALTER TABLE attempts ADD COLUMN energy_split INTEGER NOT NULL DEFAULT 0;",
	  { NULL } },
	{ "co-run sets that were judged",
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

static int check_header(struct hes_store *s, size_t n, struct header *h, struct hes_err *err)
{
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
	if ((size_t)h->version > n)
		return hes_fail(err, -ENOTSUP,
				"%s: written by a newer heshare (version %" PRId64
				" of the store; this one "
				"knows up to %zu)",
				s->path, h->version, n);
	return 0;
}

int hes_schema_version(struct hes_store *s, size_t n, size_t *out, struct hes_err *err)
{
	struct header h;
	int rc = check_header(s, n, &h, err);

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

/* Add a later column to a table that was created without it. */
static int add_column(struct hes_store *s, const struct hes_row_table *t,
		      const struct hes_row_column *c, struct hes_err *err)
{
	char sql[256];
	int64_t there;
	int rc;

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM pragma_table_info('%s') WHERE name = '%s'",
		 t->what, c->name);
	rc = hes_db_number(s, sql, &there, err);
	if (rc || there)
		return rc;
	snprintf(sql, sizeof(sql), "ALTER TABLE %s ADD COLUMN %s %s%s", t->what, c->name,
		 column_types[c->kind],
		 c->kind == HES_ROW_MAYBE  ? ""
		 : c->kind == HES_ROW_LINE ? " DEFAULT ''"
					   : " DEFAULT 0");
	return hes_db_exec(s, sql, err);
}

static int rename_columns(struct hes_store *s, const struct hes_row_table *t, struct hes_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < t->n_columns && !rc; i++) {
		const char *name = t->columns[i].name, *older = hes_row_older_name(name);
		int64_t there = 0;
		char sql[256];

		if (!older)
			continue;
		snprintf(sql, sizeof(sql),
			 "SELECT count(*) FROM pragma_table_info('%s') WHERE name = '%s'", t->what,
			 older);
		rc = hes_db_number(s, sql, &there, err);
		snprintf(sql, sizeof(sql), "ALTER TABLE %s RENAME COLUMN %s TO %s", t->what, older,
			 name);
		if (!rc && there)
			rc = hes_db_exec(s, sql, err);
	}
	return rc;
}

static int create_rows(struct hes_store *s, const struct hes_row_table *t, struct hes_err *err)
{
	int rc;
	char sql[4 * HES_ROW_SQL_MAX];
	size_t at = (size_t)snprintf(
		sql, sizeof(sql),
		"CREATE TABLE IF NOT EXISTS %s (id INTEGER PRIMARY KEY, origin_id INTEGER NOT NULL "
		"REFERENCES origins(id) ON DELETE CASCADE, key BLOB NOT NULL UNIQUE CHECK "
		"(length(key) = 16)",
		t->what);

	for (size_t i = 0; i < t->n_columns; i++)
		at += (size_t)snprintf(sql + at, sizeof(sql) - at, ", %s %s", t->columns[i].name,
				       column_types[t->columns[i].kind]);
	snprintf(sql + at, sizeof(sql) - at,
		 ") STRICT; CREATE INDEX IF NOT EXISTS %s_by_origin ON %s(origin_id)", t->what,
		 t->what);
	rc = hes_db_exec(s, sql, err);
	if (!rc)
		rc = rename_columns(s, t, err);
	for (size_t i = 0; i < t->n_columns && !rc; i++)
		if (t->columns[i].presence == HES_ROW_LATER)
			rc = add_column(s, t, &t->columns[i], err);
	return rc;
}

static int take_step(struct hes_store *s, const struct hes_schema_step *step, size_t version,
		     struct hes_err *err)
{
	char pragmas[96];
	int rc = hes_db_exec(s, step->sql, err);

	for (size_t i = 0; !rc && i < HES_SCHEMA_ROWS && step->rows[i]; i++)
		rc = create_rows(s, step->rows[i], err);
	snprintf(pragmas, sizeof(pragmas), "PRAGMA application_id = %d; PRAGMA user_version = %zu",
		 HES_SCHEMA_APPLICATION, version);
	if (!rc)
		rc = hes_db_exec(s, pragmas, err);
	return rc && err ? hes_fail_in(err, "to version %zu (%s)", version, step->what) : rc;
}

int hes_schema_bring_up(struct hes_store *s, const struct hes_schema_step *steps, size_t n,
			struct hes_err *err)
{
	struct header h;
	int rc = check_header(s, n, &h, err);

	if (rc || (size_t)h.version == n)
		return rc;
	rc = hes_db_begin(s, err);
	if (rc)
		return rc;
	/* Another process may have been faster. */
	rc = check_header(s, n, &h, err);
	for (size_t i = (size_t)h.version; i < n && !rc; i++)
		rc = take_step(s, &steps[i], i + 1, err);
	return hes_db_end(s, rc, err);
}
