/*
 * holdings.c - read rows, and count them for each workload; see heshare/store.h.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hash_map.h"

#include "store/row_sql.h"

/* Newest first within a workload, type and batch size, drawn ones last. */
#define BEST_FIRST                                           \
	"PARTITION BY r.workload, r.gpu_type, r.batch_size " \
	"ORDER BY o.source = 'modelled', o.at_us DESC, r.id DESC"

static int read_profile(struct hes_store *s, sqlite3_stmt *q, void *out, struct hes_err *err)
{
	return hes_row_read(s, q, &hes_profile_table, out, err);
}

static int read_sample(struct hes_store *s, sqlite3_stmt *q, void *out, struct hes_err *err)
{
	return hes_row_read(s, q, &hes_sample_table, out, err);
}

static int read_point(struct hes_store *s, sqlite3_stmt *q, void *out, struct hes_err *err)
{
	return hes_row_read(s, q, &hes_point_table, out, err);
}

static int select_rows(struct hes_store *s, const char *sql, const struct hes_store_query *want,
		       sqlite3_stmt **q, struct hes_err *err)
{
	int rc = hes_db_prepare(s, sql, q, err);

	if (rc)
		return rc;
	sqlite3_bind_text(*q, 1, want->workload, -1, SQLITE_STATIC);
	sqlite3_bind_int(*q, 2, want->with_modelled);
	return 0;
}

int hes_store_profiles(struct hes_store *s, const struct hes_store_query *want,
		       struct hes_profiles *out, struct hes_err *err)
{
	char names[HES_ROW_SQL_MAX], sql[2 * HES_ROW_SQL_MAX];
	struct hes_profiles p = { 0 };
	sqlite3_stmt *q;
	void *v = NULL;
	int rc;

	hes_row_names(&hes_profile_table, "", names);
	snprintf(sql, sizeof(sql),
		 "SELECT key,%s FROM (SELECT r.*, row_number() OVER (" BEST_FIRST ") AS nth "
		 "FROM profiles r JOIN origins o ON o.id = r.origin_id "
		 "WHERE (?1 IS NULL OR r.workload = ?1) AND (?2 OR o.source <> 'modelled')) WHERE "
		 "nth = 1",
		 names);
	rc = select_rows(s, sql, want, &q, err);
	if (!rc)
		rc = hes_db_collect(s, q, sizeof(*p.v), read_profile, &v, &p.n, err);
	if (rc)
		return rc;
	p.v = v;
	hes_profiles_sort(&p);
	*out = p;
	return 0;
}

/* A table's rows in the order in which they came; free() them. */
static int rows_of(struct hes_store *s, const char *table, const struct hes_row_table *columns,
		   size_t size,
		   int (*read)(struct hes_store *s, sqlite3_stmt *q, void *out,
			       struct hes_err *err),
		   const struct hes_store_query *want, void **v, size_t *n, struct hes_err *err)
{
	char names[HES_ROW_SQL_MAX], sql[2 * HES_ROW_SQL_MAX];
	sqlite3_stmt *q;
	int rc;

	hes_row_names(columns, "r.", names);
	snprintf(sql, sizeof(sql),
		 "SELECT r.key,%s FROM %s r JOIN origins o ON o.id = r.origin_id "
		 "WHERE (?1 IS NULL OR r.workload = ?1) AND (?2 OR o.source <> 'modelled') ORDER "
		 "BY r.id",
		 names, table);
	rc = select_rows(s, sql, want, &q, err);
	return rc ? rc : hes_db_collect(s, q, size, read, v, n, err);
}

int hes_store_samples(struct hes_store *s, const struct hes_store_query *want,
		      struct hes_samples *out, struct hes_err *err)
{
	size_t n;
	void *v;
	int rc = rows_of(s, "samples", &hes_sample_table, sizeof(*out->v), read_sample, want, &v,
			 &n, err);

	if (!rc)
		*out = (struct hes_samples){ .v = v, .n = n };
	return rc;
}

int hes_store_points(struct hes_store *s, const struct hes_store_query *want,
		     struct hes_points *out, struct hes_err *err)
{
	size_t n;
	void *v;
	int rc = rows_of(s, "points", &hes_point_table, sizeof(*out->v), read_point, want, &v, &n,
			 err);

	if (!rc)
		*out = (struct hes_points){ v, n };
	return rc;
}

static int read_holding(struct hes_store *s, sqlite3_stmt *q, void *out, struct hes_err *err)
{
	struct hes_store_holding *h = out;

	(void)s;
	(void)err;
	hes_db_text(q, 0, h->workload, sizeof(h->workload));
	hes_db_text(q, 1, h->gpu_type, sizeof(h->gpu_type));
	h->profiles = (uint32_t)sqlite3_column_int64(q, 2);
	h->profiles_modelled = h->profiles - (uint32_t)sqlite3_column_int64(q, 3);
	h->batch_min = (uint32_t)sqlite3_column_int64(q, 4);
	h->batch_max = (uint32_t)sqlite3_column_int64(q, 5);
	h->samples = (uint32_t)sqlite3_column_int64(q, 6);
	h->samples_modelled = (uint32_t)sqlite3_column_int64(q, 7);
	h->points = (uint32_t)sqlite3_column_int64(q, 8);
	h->newest_us = sqlite3_column_int64(q, 9);
	return 0;
}

int hes_store_holdings(struct hes_store *s, struct hes_store_holding **out, size_t *out_n,
		       struct hes_err *err)
{
	static const char sql[] =
		"SELECT workload, gpu_type, count(DISTINCT CASE kind WHEN 1 THEN batch END),"
		" count(DISTINCT CASE WHEN kind = 1 AND source <> 'modelled' THEN batch END),"
		" min(batch), max(batch), sum(kind = 2), sum(kind = 2 AND source = 'modelled'),"
		" sum(kind = 3), max(at_us) "
		"FROM (SELECT workload, gpu_type, batch_size AS batch, 1 AS kind, source, at_us"
		"      FROM profiles r JOIN origins o ON o.id = r.origin_id"
		"      UNION ALL SELECT workload, gpu_type, NULL, 2, source, at_us"
		"      FROM samples r JOIN origins o ON o.id = r.origin_id"
		"      UNION ALL SELECT workload, gpu_type, batch_size, 3, source, at_us"
		"      FROM points r JOIN origins o ON o.id = r.origin_id) "
		"GROUP BY workload, gpu_type ORDER BY workload, gpu_type";
	sqlite3_stmt *q;
	void *v;
	int rc = hes_db_prepare(s, sql, &q, err);

	if (!rc)
		rc = hes_db_collect(s, q, sizeof(**out), read_holding, &v, out_n, err);
	if (!rc)
		*out = v;
	return rc;
}

/* Seconds and joules. */
static struct hes_profiling_cost read_cost(sqlite3_stmt *q, int column)
{
	double v[2];

	for (int i = 0; i < 2; i++)
		v[i] = sqlite3_column_type(q, column + i) == SQLITE_NULL
			       ? NAN
			       : sqlite3_column_double(q, column + i);
	return (struct hes_profiling_cost){ v[0], v[1] };
}

static int read_origin(struct hes_store *s, sqlite3_stmt *q, void *out, struct hes_err *err)
{
	const char *source = (const char *)sqlite3_column_text(q, 2);
	struct hes_store_origin *o = out;

	o->id = sqlite3_column_int64(q, 0);
	o->at_us = sqlite3_column_int64(q, 1);
	while (source && o->source < HES_SOURCE_MODELLED &&
	       strcmp(source, hes_source_names[o->source]) != 0)
		o->source++;
	hes_db_text(q, 3, o->name, sizeof(o->name));
	o->profiles = (uint32_t)sqlite3_column_int64(q, 4);
	o->samples = (uint32_t)sqlite3_column_int64(q, 5);
	o->points = (uint32_t)sqlite3_column_int64(q, 6);
	o->cost = read_cost(q, 7);
	(void)s;
	(void)err;
	return 0;
}

int hes_store_origins(struct hes_store *s, struct hes_store_origin **out, size_t *out_n,
		      struct hes_err *err)
{
	static const char sql[] =
		"SELECT id, at_us, source, name, (SELECT count(*) FROM profiles WHERE origin_id = "
		"o.id),"
		" (SELECT count(*) FROM samples WHERE origin_id = o.id),"
		" (SELECT count(*) FROM points WHERE origin_id = o.id), gpu_s, energy_j FROM "
		"origins o ORDER BY id";
	sqlite3_stmt *q;
	void *v;
	int rc = hes_db_prepare(s, sql, &q, err);

	if (!rc)
		rc = hes_db_collect(s, q, sizeof(**out), read_origin, &v, out_n, err);
	if (!rc)
		*out = v;
	return rc;
}

/* Rows are workloads of deliveries; a delivery counts once. */
static int sum_costs(struct hes_store *s, sqlite3_stmt *q, const struct hes_text_map *wanted,
		     struct hes_store_profiling *out, struct hes_err *err)
{
	int64_t counted = 0;
	int rc;

	while ((rc = hes_db_step(s, q, err)) > 0) {
		const struct hes_profiling_cost cost = read_cost(q, 2);
		char workload[HES_NAME_MAX];

		hes_db_text(q, 1, workload, sizeof(workload));
		if (sqlite3_column_int64(q, 0) == counted ||
		    hes_text_map_find(wanted, workload) == HES_HASH_NONE)
			continue;
		counted = sqlite3_column_int64(q, 0);
		out->origins++;
		if (isnan(cost.gpu_s) || isnan(cost.energy_j)) {
			out->unknown++;
			continue;
		}
		out->cost.gpu_s += cost.gpu_s;
		out->cost.energy_j += cost.energy_j;
	}
	return rc;
}

int hes_store_profiling(struct hes_store *s, const struct hes_jobs *jobs,
			struct hes_store_profiling *out, struct hes_err *err)
{
	static const char sql[] =
		"SELECT o.id, r.workload, o.gpu_s, o.energy_j FROM origins o JOIN"
		" (SELECT origin_id, workload FROM points"
		"  UNION SELECT origin_id, workload FROM profiles) r ON r.origin_id = o.id "
		"WHERE o.source = 'imported'"
		" OR (o.source = 'measured' AND o.name NOT GLOB 'run [0-9]* of *') ORDER BY o.id";
	struct hes_store_profiling sum = { 0 };
	struct hes_text_map wanted = { 0 };
	sqlite3_stmt *q = NULL;
	int rc = hes_text_map_make(&wanted, jobs->n ? jobs->v->workload : NULL, sizeof(*jobs->v),
				   jobs->n);

	if (rc)
		rc = hes_fail(err, rc, "out of memory for %zu jobs", jobs->n);
	if (!rc)
		rc = hes_db_prepare(s, sql, &q, err);
	if (!rc)
		rc = sum_costs(s, q, &wanted, &sum, err);
	sqlite3_finalize(q);
	hes_hash_map_finish(&wanted.map);
	if (!rc)
		*out = sum;
	return rc;
}
