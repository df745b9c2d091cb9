/*
 * holdings.c - read rows, and count them for each workload; see heshare/store.h.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash_map.h"
#include "store/row_sql.h"

/* Newest first within a workload, type and batch size, drawn ones last. */
#define BEST_FIRST                                           \
	"PARTITION BY r.workload, r.gpu_type, r.batch_size " \
	"ORDER BY o.source = 'modelled', o.at_us DESC, r.id DESC"

/* @param ctx  table of the rows */
static int read_row(const struct hes_store *s, sqlite3_stmt *q, const void *ctx, void *out,
		    struct hes_err *err)
{
	return hes_row_read(s, q, ctx, out, err);
}

/* Rows of a statement whose columns are the key and then those of @t; free() @out. */
static int select_rows(struct hes_store *s, const char *sql, const struct hes_row_table *t,
		       const struct hes_store_query *want, void *out, size_t *n,
		       struct hes_err *err)
{
	sqlite3_stmt *q;
	int rc = hes_db_prepare(s, sql, &q, err);

	if (rc)
		return rc;
	hes_db_bind(q, HES_DB(db_text(want->workload), db_int(want->with_modelled)));
	return hes_db_collect(s, q, read_row, t, t->row_size, out, n, err);
}

int hes_store_profiles(struct hes_store *s, const struct hes_store_query *want,
		       struct hes_profiles *out, struct hes_err *err)
{
	char names[HES_ROW_SQL_MAX], sql[2 * HES_ROW_SQL_MAX];
	struct hes_profiles p = { 0 };
	int rc;

	hes_row_names(&hes_profile_table, "", names);
	snprintf(sql, sizeof(sql),
		 "SELECT key,%s FROM (SELECT r.*, row_number() OVER (" BEST_FIRST ") AS nth "
		 "FROM profiles r JOIN origins o ON o.id = r.origin_id "
		 "WHERE (?1 IS NULL OR r.workload = ?1) AND (?2 OR o.source <> 'modelled')) WHERE "
		 "nth = 1",
		 names);
	rc = select_rows(s, sql, &hes_profile_table, want, &p.v, &p.n, err);
	if (rc)
		return rc;
	hes_profiles_sort(&p);
	*out = p;
	return 0;
}

/* A table's rows in the order in which they came; free() them. */
static int rows_of(struct hes_store *s, const struct hes_row_table *t,
		   const struct hes_store_query *want, void *out, size_t *n, struct hes_err *err)
{
	char names[HES_ROW_SQL_MAX], sql[2 * HES_ROW_SQL_MAX];

	hes_row_names(t, "r.", names);
	snprintf(sql, sizeof(sql),
		 "SELECT r.key,%s FROM %s r JOIN origins o ON o.id = r.origin_id "
		 "WHERE (?1 IS NULL OR r.workload = ?1) AND (?2 OR o.source <> 'modelled') ORDER "
		 "BY r.id",
		 names, t->what);
	return select_rows(s, sql, t, want, out, n, err);
}

int hes_store_samples(struct hes_store *s, const struct hes_store_query *want,
		      struct hes_samples *out, struct hes_err *err)
{
	return rows_of(s, &hes_sample_table, want, &out->v, &out->n, err);
}

int hes_store_points(struct hes_store *s, const struct hes_store_query *want,
		     struct hes_points *out, struct hes_err *err)
{
	return rows_of(s, &hes_point_table, want, &out->v, &out->n, err);
}

#define COUNT_OF(table) "(SELECT count(*) FROM " table " WHERE origin_id = o.id)"

static const struct hes_db_rows origin_rows = {
	(const struct hes_db_field[]){
		DB_INT("id", struct hes_store_origin, id),
		DB_INT("at_us", struct hes_store_origin, at_us),
		DB_WORD("source", struct hes_store_origin, source, hes_source_names),
		DB_TEXT("name", struct hes_store_origin, name),
		DB_INT(COUNT_OF("profiles"), struct hes_store_origin, profiles),
		DB_INT(COUNT_OF("samples"), struct hes_store_origin, samples),
		DB_INT(COUNT_OF("points"), struct hes_store_origin, points),
		DB_REAL("gpu_s", struct hes_store_origin, cost.gpu_s),
		DB_REAL("energy_j", struct hes_store_origin, cost.energy_j),
		DB_FIELDS_END,
	},
	sizeof(struct hes_store_origin),
	NULL,
};

int hes_store_origins(struct hes_store *s, struct hes_store_origin **out, size_t *out_n,
		      struct hes_err *err)
{
	return hes_db_select(s, &origin_rows, "origins o ORDER BY id", NULL, out, out_n, err);
}

static const struct hes_db_rows holding_rows = {
	(const struct hes_db_field[]){
		DB_TEXT("workload", struct hes_store_holding, workload),
		DB_TEXT("gpu_type", struct hes_store_holding, gpu_type),
		DB_INT("count(DISTINCT iif(kind = 1, batch, NULL))", struct hes_store_holding,
		       profiles),
		DB_INT("count(DISTINCT iif(kind = 1, batch, NULL)) - count(DISTINCT iif(kind = 1 "
		       "AND source <> 'modelled', batch, NULL))",
		       struct hes_store_holding, profiles_modelled),
		DB_INT("min(batch)", struct hes_store_holding, batch_min),
		DB_INT("max(batch)", struct hes_store_holding, batch_max),
		DB_INT("sum(kind = 2)", struct hes_store_holding, samples),
		DB_INT("sum(kind = 2 AND source = 'modelled')", struct hes_store_holding,
		       samples_modelled),
		DB_INT("sum(kind = 3)", struct hes_store_holding, points),
		DB_INT("max(at_us)", struct hes_store_holding, newest_us),
		DB_FIELDS_END,
	},
	sizeof(struct hes_store_holding),
	NULL,
};

int hes_store_holdings(struct hes_store *s, struct hes_store_holding **out, size_t *out_n,
		       struct hes_err *err)
{
	return hes_db_select(
		s, &holding_rows,
		"(SELECT workload, gpu_type, batch_size AS batch, 1 AS kind, source, at_us"
		"  FROM profiles r JOIN origins o ON o.id = r.origin_id"
		" UNION ALL SELECT workload, gpu_type, NULL, 2, source, at_us"
		"  FROM samples r JOIN origins o ON o.id = r.origin_id"
		" UNION ALL SELECT workload, gpu_type, batch_size, 3, source, at_us"
		"  FROM points r JOIN origins o ON o.id = r.origin_id) "
		"GROUP BY workload, gpu_type ORDER BY workload, gpu_type",
		NULL, out, out_n, err);
}

/* A workload of a delivery. */
struct delivered_workload {
	int64_t origin;
	char workload[HES_NAME_MAX];
	struct hes_profiling_cost cost; /* of the delivery */
};

static const struct hes_db_rows delivered_rows = {
	(const struct hes_db_field[]){
		DB_INT("o.id", struct delivered_workload, origin),
		DB_TEXT("r.workload", struct delivered_workload, workload),
		DB_REAL("o.gpu_s", struct delivered_workload, cost.gpu_s),
		DB_REAL("o.energy_j", struct delivered_workload, cost.energy_j),
		DB_FIELDS_END,
	},
	sizeof(struct delivered_workload),
	NULL,
};

/* A delivery counts once. */
static void sum_costs(const struct delivered_workload *v, size_t n,
		      const struct hes_text_map *wanted, struct hes_store_profiling *out)
{
	int64_t counted = 0;

	for (size_t i = 0; i < n; i++) {
		if (v[i].origin == counted ||
		    hes_text_map_find(wanted, v[i].workload) == HES_HASH_NONE)
			continue;
		counted = v[i].origin;
		out->origins++;
		if (isnan(v[i].cost.gpu_s) || isnan(v[i].cost.energy_j)) {
			out->unknown++;
			continue;
		}
		out->cost.gpu_s += v[i].cost.gpu_s;
		out->cost.energy_j += v[i].cost.energy_j;
	}
}

int hes_store_profiling(struct hes_store *s, const struct hes_jobs *jobs,
			struct hes_store_profiling *out, struct hes_err *err)
{
	struct hes_store_profiling sum = { 0 };
	struct delivered_workload *v = NULL;
	struct hes_text_map wanted = { 0 };
	size_t n = 0;
	int rc = hes_text_map_make(&wanted, jobs->n ? jobs->v->workload : NULL, sizeof(*jobs->v),
				   jobs->n);

	if (rc)
		rc = hes_fail(err, rc, "out of memory for %zu jobs", jobs->n);
	if (!rc)
		rc = hes_db_select(
			s, &delivered_rows,
			"origins o JOIN (SELECT origin_id, workload FROM points"
			"  UNION SELECT origin_id, workload FROM profiles) r ON r.origin_id = o.id "
			"WHERE o.source = 'imported' OR (o.source = 'measured' AND o.name NOT GLOB "
			"'run [0-9]* of *') ORDER BY o.id",
			NULL, &v, &n, err);
	sum_costs(v, n, &wanted, &sum);
	free(v);
	hes_hash_map_finish(&wanted.map);
	if (!rc)
		*out = sum;
	return rc;
}
