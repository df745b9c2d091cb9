/*
 * deliver.c - add and remove rows; see heshare/store.h.
 *
 * A delivery is one transaction: its origin, its rows, and forecasts of its samples. A delivery
 * without new rows has no origin.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/co_run_text.h"
#include "store/forecasts.h"
#include "store/row_sql.h"

/* Statements for the rows of one table. */
struct inserter {
	const struct hes_row_table *t;
	sqlite3_stmt *insert; /* ?1 origin, ?2 key, then the values */
	sqlite3_stmt *origin; /* whether the row with key ?1 is a modelled one */
	sqlite3_stmt
		*named;     /* of samples: names of the one with these values, the names left out */
	sqlite3_stmt *name; /* of samples: ?1 names, ?2 the key with them, ?3 the key without */
};

static int open_inserter(struct hes_store *s, const struct hes_row_table *t, struct inserter *in,
			 struct hes_err *err)
{
	char names[HES_ROW_SQL_MAX], sql[2 * HES_ROW_SQL_MAX];
	int at, rc;

	*in = (struct inserter){ .t = t };
	hes_row_names(t, "", names);
	at = snprintf(sql, sizeof(sql), "INSERT INTO %s (origin_id,key,%s) VALUES (?,?", t->what,
		      names);
	for (size_t i = 0; i < t->n_columns; i++)
		at += snprintf(sql + at, sizeof(sql) - (size_t)at, ",?");
	snprintf(sql + at, sizeof(sql) - (size_t)at, ") ON CONFLICT (key) DO NOTHING");
	rc = hes_db_prepare(s, sql, &in->insert, err);
	snprintf(sql, sizeof(sql),
		 "SELECT o.source = 'modelled' FROM %s r JOIN origins o ON o.id = r.origin_id "
		 "WHERE r.key = ?1",
		 t->what);
	return rc ? rc : hes_db_prepare(s, sql, &in->origin, err);
}

static void close_inserter(struct inserter *in)
{
	sqlite3_finalize(in->insert);
	sqlite3_finalize(in->origin);
	sqlite3_finalize(in->named);
	sqlite3_finalize(in->name);
}

/* What was drawn and what was measured must not be taken for one another. */
static int check_known(struct hes_store *s, struct inserter *in, const unsigned char *key,
		       enum hes_source source, const char *what, struct hes_err *err)
{
	bool was, is = source == HES_SOURCE_MODELLED;
	int rc;

	sqlite3_bind_blob(in->origin, 1, key, HES_ROW_KEY_BYTES, SQLITE_STATIC);
	rc = hes_db_step(s, in->origin, err);
	was = rc > 0 ? sqlite3_column_int(in->origin, 0) : is;
	sqlite3_reset(in->origin);
	if (rc >= 0 && was != is)
		return hes_fail(err, -EEXIST,
				"%s: it is in %s already, as %s; this one comes as %s", what,
				s->path, was ? "modelled" : "measured or imported",
				hes_source_names[source]);
	return rc < 0 ? rc : 0;
}

/* @return 1 new; 0 known; negative errno */
static int insert(struct hes_store *s, struct inserter *in, int64_t origin, enum hes_source source,
		  const void *row, const char *what, struct hes_err *err)
{
	unsigned char key[HES_ROW_KEY_BYTES];
	int rc = hes_row_check(in->t, row, what, err);

	if (!rc)
		rc = hes_row_key(in->t, row, key, err);
	if (rc)
		return rc;
	sqlite3_bind_int64(in->insert, 1, origin);
	sqlite3_bind_blob(in->insert, 2, key, sizeof(key), SQLITE_STATIC);
	hes_row_bind(in->insert, 3, in->t, row);
	rc = hes_db_run(s, in->insert, err);
	if (rc)
		return rc;
	return sqlite3_changes(s->db) ? 1 : check_known(s, in, key, source, what, err);
}

static int open_names(struct hes_store *s, struct inserter *in, struct hes_err *err)
{
	char sql[2 * HES_ROW_SQL_MAX] = "SELECT co_runners FROM samples WHERE co_runners <> ''";
	size_t at = strlen(sql);
	int rc;

	for (size_t i = 0; i < in->t->n_columns; i++)
		if (in->t->columns[i].kind != HES_ROW_LINE)
			at += (size_t)snprintf(sql + at, sizeof(sql) - at, " AND %s = ?%zu",
					       in->t->columns[i].name, i + 1);
	rc = hes_db_prepare(s, sql, &in->named, err);
	return rc ? rc
		  : hes_db_prepare(
			    s,
			    "UPDATE OR IGNORE samples SET co_runners = ?1, key = ?2 WHERE key = ?3",
			    &in->name, err);
}

/*
 * A sample with the names of its co-runners and the same sample without them are one: it gets the
 * names, stays with its delivery and keeps its forecasts.
 * @return 1 the store's sample has the names now; 0; negative errno
 */
static int match_names(struct hes_store *s, struct inserter *in, struct hes_sample *row,
		       struct hes_err *err)
{
	unsigned char with[HES_ROW_KEY_BYTES], without[HES_ROW_KEY_BYTES];
	struct hes_sample unnamed = *row;
	int rc;

	if (!*row->co_runner_names) {
		hes_row_bind(in->named, 1, in->t, row);
		rc = hes_db_step(s, in->named, err);
		if (rc > 0)
			hes_db_text(in->named, 0, row->co_runner_names,
				    sizeof(row->co_runner_names));
		sqlite3_reset(in->named);
		return rc < 0 ? rc : 0;
	}
	*unnamed.co_runner_names = '\0';
	rc = hes_row_key(in->t, row, with, err);
	if (!rc)
		rc = hes_row_key(in->t, &unnamed, without, err);
	if (rc)
		return rc;
	sqlite3_bind_text(in->name, 1, row->co_runner_names, -1, SQLITE_STATIC);
	sqlite3_bind_blob(in->name, 2, with, sizeof(with), SQLITE_STATIC);
	sqlite3_bind_blob(in->name, 3, without, sizeof(without), SQLITE_STATIC);
	rc = hes_db_run(s, in->name, err);
	return rc ? rc : sqlite3_changes(s->db) > 0;
}

static int add_origin(struct hes_store *s, const struct hes_delivery *d, int64_t *out,
		      struct hes_err *err)
{
	int len = (int)strnlen(d->name, HES_STORE_ORIGIN_NAME - 1);
	sqlite3_stmt *q;
	int rc;

	if (d->into) {
		*out = d->into;
		return 0;
	}
	rc = hes_db_prepare(s, "INSERT INTO origins (at_us, source, name) VALUES (?, ?, ?)", &q,
			    err);
	if (!rc) {
		sqlite3_bind_int64(q, 1, d->at_us);
		sqlite3_bind_text(q, 2, hes_source_names[d->source], -1, SQLITE_STATIC);
		sqlite3_bind_text(q, 3, d->name, len, SQLITE_STATIC);
		rc = hes_db_run(s, q, err);
	}
	sqlite3_finalize(q);
	*out = sqlite3_last_insert_rowid(s->db);
	return rc;
}

static int add_profiles(struct hes_store *s, const struct hes_delivery *d,
			struct hes_delivered *out, struct hes_err *err)
{
	struct inserter in;
	int rc = open_inserter(s, &hes_profile_table, &in, err);

	for (size_t i = 0; i < d->profiles->n && rc >= 0; i++) {
		const struct hes_profile *p = &d->profiles->v[i];
		char what[HES_STORE_ORIGIN_NAME + 2 * HES_NAME_MAX + 40];

		snprintf(what, sizeof(what), "%.*s: %.*s on %.*s at batch size %u",
			 HES_STORE_ORIGIN_NAME, d->name, HES_NAME_MAX, p->workload, HES_NAME_MAX,
			 p->gpu_type, p->batch_size);
		rc = insert(s, &in, out->origin, d->source, p, what, err);
		out->profiles_new += rc == 1;
		out->profiles_known += rc == 0;
	}
	close_inserter(&in);
	return rc < 0 ? rc : 0;
}

static int add_samples(struct hes_store *s, const struct hes_delivery *d, struct hes_delivered *out,
		       struct hes_err *err)
{
	struct forecasts f = { 0 };
	struct inserter in;
	int rc = open_inserter(s, &hes_sample_table, &in, err);

	if (!rc)
		rc = open_names(s, &in, err);
	if (!rc && d->predictor)
		rc = forecasts_open(s, d->predictor, true, &f, err);
	for (size_t i = 0; i < d->samples->n && rc >= 0; i++) {
		struct hes_sample row = d->samples->v[i];
		char what[HES_STORE_ORIGIN_NAME + 40];

		snprintf(what, sizeof(what), "%.*s: sample %zu", HES_STORE_ORIGIN_NAME, d->name,
			 i + 1);
		hes_co_run_text_sort(row.co_runner_names);
		rc = row.co_runners.jobs ? match_names(s, &in, &row, err) : 0;
		out->samples_named += rc > 0;
		if (rc >= 0)
			rc = insert(s, &in, out->origin, d->source, &row, what, err);
		out->samples_new += rc == 1;
		out->samples_known += rc == 0;
		if (rc != 1 || !d->predictor || !(d->forecasts[i].iteration_us > 0))
			continue;
		rc = forecasts_add(s, &f, sqlite3_last_insert_rowid(s->db), &d->forecasts[i], err);
		out->forecasts += !rc;
	}
	forecasts_close(&f);
	close_inserter(&in);
	return rc < 0 ? rc : 0;
}

/* Rows that are not there, or are of another delivery, are passed over. */
static int remove_points(struct hes_store *s, const struct hes_delivery *d, struct hes_err *err)
{
	sqlite3_stmt *q;
	int rc = hes_db_prepare(s, "DELETE FROM points WHERE key = ?1 AND origin_id = ?2", &q, err);

	for (size_t i = 0; i < d->replaced->n && !rc; i++) {
		unsigned char key[HES_ROW_KEY_BYTES];

		rc = hes_row_key(&hes_point_table, &d->replaced->v[i], key, err);
		if (rc)
			break;
		sqlite3_bind_blob(q, 1, key, sizeof(key), SQLITE_STATIC);
		sqlite3_bind_int64(q, 2, d->into);
		rc = hes_db_run(s, q, err);
	}
	sqlite3_finalize(q);
	return rc;
}

static int add_points(struct hes_store *s, const struct hes_delivery *d, struct hes_delivered *out,
		      struct hes_err *err)
{
	struct inserter in;
	int rc = open_inserter(s, &hes_point_table, &in, err);

	for (size_t i = 0; i < d->points->n && rc >= 0; i++) {
		char what[HES_STORE_ORIGIN_NAME + 40];

		snprintf(what, sizeof(what), "%.*s: row %zu of points", HES_STORE_ORIGIN_NAME,
			 d->name, i + 1);
		rc = insert(s, &in, out->origin, d->source, &d->points->v[i], what, err);
		out->points_new += rc == 1;
		out->points_known += rc == 0;
	}
	close_inserter(&in);
	return rc < 0 ? rc : 0;
}

/* A number that no row has. */
static int take_back_origin(struct hes_store *s, const struct hes_delivery *d,
			    struct hes_delivered *out, struct hes_err *err)
{
	char sql[80];

	snprintf(sql, sizeof(sql), "DELETE FROM origins WHERE id = %" PRId64, out->origin);
	out->origin = 0;
	return d->into ? 0 : hes_db_exec(s, sql, err);
}

static int set_cost(struct hes_store *s, int64_t origin, const struct hes_profiling_cost *cost,
		    struct hes_err *err)
{
	sqlite3_stmt *q;
	int rc = hes_db_prepare(s, "UPDATE origins SET gpu_s = ?2, energy_j = ?3 WHERE id = ?1", &q,
				err);

	if (!rc) {
		sqlite3_bind_int64(q, 1, origin);
		sqlite3_bind_double(q, 2, cost->gpu_s); /* NaN becomes NULL */
		sqlite3_bind_double(q, 3, cost->energy_j);
		rc = hes_db_run(s, q, err);
	}
	sqlite3_finalize(q);
	return rc;
}

/* @return 1 something has changed; 0 nothing; negative errno */
static int deliver(struct hes_store *s, const struct hes_delivery *d, struct hes_delivered *out,
		   struct hes_err *err)
{
	int rc = add_origin(s, d, &out->origin, err);

	if (!rc && d->profiles)
		rc = add_profiles(s, d, out, err);
	if (!rc && d->samples)
		rc = add_samples(s, d, out, err);
	if (!rc && d->replaced)
		rc = remove_points(s, d, err);
	if (!rc && d->points)
		rc = add_points(s, d, out, err);
	if (!rc && d->cost)
		rc = set_cost(s, out->origin, d->cost, err);
	if (rc || out->profiles_new + out->samples_new + out->points_new)
		return rc ? rc : 1;
	rc = take_back_origin(s, d, out, err);
	return rc ? rc : out->samples_named > 0 || (d->into && d->cost);
}

int hes_store_add(struct hes_store *s, const struct hes_delivery *d, struct hes_delivered *out,
		  struct hes_err *err)
{
	struct hes_delivered done = { 0 };
	int rc = hes_db_begin(s, err);

	if (rc)
		return rc;
	rc = deliver(s, d, &done, err);
	if (rc == 0)
		rc = hes_db_drop(s, err);
	else
		rc = hes_db_end(s, rc < 0 ? rc : 0, err);
	if (!rc)
		*out = done;
	return rc;
}

int hes_store_forget(struct hes_store *s, int64_t origin, struct hes_err *err)
{
	sqlite3_stmt *q = NULL;
	int rc = hes_db_begin(s, err);

	if (rc)
		return rc;
	rc = hes_db_prepare(s, "DELETE FROM origins WHERE id = ?1", &q, err);
	if (!rc) {
		sqlite3_bind_int64(q, 1, origin);
		rc = hes_db_run(s, q, err);
	}
	if (!rc && !sqlite3_changes(s->db))
		rc = hes_fail(err, -ENOENT, "%s: nothing came as number %" PRId64, s->path, origin);
	sqlite3_finalize(q);
	return hes_db_end(s, rc, err);
}
