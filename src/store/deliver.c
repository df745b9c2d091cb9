/*
 * deliver.c - add and remove rows; see heshare/store.h.
 *
 * A delivery is one transaction: its origin and its rows. A delivery
 * without new rows has no origin.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/co_run_text.h"
#include "store/row_sql.h"

/* Statements for the rows of one table. */
struct inserter {
	const struct hes_row_table *t;
	sqlite3_stmt *insert; /* ?1 origin, ?2 key, then the values */
	sqlite3_stmt *origin; /* whether the row with key ?1 is a modelled one */
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
}

/* What was drawn and what was measured must not be taken for one another. */
static int check_known(struct hes_store *s, struct inserter *in, const unsigned char *key,
		       enum hes_source source, const char *what, struct hes_err *err)
{
	bool was, is = source == HES_SOURCE_MODELLED;
	int rc;

	hes_db_bind(in->origin, HES_DB(db_bytes(key, HES_ROW_KEY_BYTES)));
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
	hes_db_bind(in->insert, HES_DB(db_int(origin), db_bytes(key, sizeof(key))));
	hes_row_bind(in->insert, 3, in->t, row);
	rc = hes_db_run(s, in->insert, err);
	if (rc)
		return rc;
	return sqlite3_changes(s->db) ? 1 : check_known(s, in, key, source, what, err);
}

static int add_origin(struct hes_store *s, const struct hes_delivery *d, int64_t *out,
		      struct hes_err *err)
{
	int rc =
		d->into ? 0
			: hes_db_do(s, "INSERT INTO origins (at_us, source, name) VALUES (?, ?, ?)",
				    HES_DB(db_int(d->at_us), db_text(hes_source_names[d->source]),
					   db_cut(d->name, HES_STORE_ORIGIN_NAME - 1)),
				    err);

	*out = d->into ? d->into : sqlite3_last_insert_rowid(s->db);
	return rc;
}

/* @param t  table of the @n rows */
static int add_rows(struct hes_store *s, const struct hes_delivery *d,
		    const struct hes_row_table *t, const void *rows, size_t n, int64_t origin,
		    size_t *new, size_t *known, struct hes_err *err)
{
	struct inserter in;
	int rc = open_inserter(s, t, &in, err);

	for (size_t i = 0; i < n && rc >= 0; i++) {
		const void *row = (const char *)rows + i * t->row_size;
		char what[HES_STORE_ORIGIN_NAME + 40];
		struct hes_sample sorted;

		snprintf(what, sizeof(what), "%.*s: %.*s %zu", HES_STORE_ORIGIN_NAME, d->name,
			 (int)strlen(t->what) - 1, t->what, i + 1);
		if (t == &hes_sample_table) {
			sorted = d->samples->v[i];
			hes_co_run_text_sort(sorted.co_runner_names);
			row = &sorted;
		}
		rc = insert(s, &in, origin, d->source, row, what, err);
		*new += rc == 1;
		*known += rc == 0;
	}
	close_inserter(&in);
	return rc < 0 ? rc : 0;
}

/* Rows that are not there, or are of another delivery, are passed over. */
static int remove_points(struct hes_store *s, const struct hes_delivery *d, struct hes_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < d->replaced->n && !rc; i++) {
		unsigned char key[HES_ROW_KEY_BYTES];

		rc = hes_row_key(&hes_point_table, &d->replaced->v[i], key, err);
		if (!rc)
			rc = hes_db_do(s, "DELETE FROM points WHERE key = ?1 AND origin_id = ?2",
				       HES_DB(db_bytes(key, sizeof(key)), db_int(d->into)), err);
	}
	return rc;
}

/* @return 1 something has changed; 0 nothing; negative errno */
static int deliver(struct hes_store *s, const struct hes_delivery *d, struct hes_delivered *out,
		   struct hes_err *err)
{
	int rc = add_origin(s, d, &out->origin, err);

	if (!rc && d->profiles)
		rc = add_rows(s, d, &hes_profile_table, d->profiles->v, d->profiles->n, out->origin,
			      &out->profiles_new, &out->profiles_known, err);
	if (!rc && d->samples)
		rc = add_rows(s, d, &hes_sample_table, d->samples->v, d->samples->n, out->origin,
			      &out->samples_new, &out->samples_known, err);
	if (!rc && d->replaced)
		rc = remove_points(s, d, err);
	if (!rc && d->points)
		rc = add_rows(s, d, &hes_point_table, d->points->v, d->points->n, out->origin,
			      &out->points_new, &out->points_known, err);
	if (!rc && d->cost)
		rc = hes_db_do(s, "UPDATE origins SET gpu_s = ?2, energy_j = ?3 WHERE id = ?1",
			       HES_DB(db_int(out->origin), db_real(d->cost->gpu_s),
				      db_real(d->cost->energy_j)),
			       err);
	if (rc || out->profiles_new + out->samples_new + out->points_new)
		return rc ? rc : 1;
	out->origin = 0;
	return d->into && d->cost;
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
	int rc = hes_db_begin(s, err);

	if (rc)
		return rc;
	rc = hes_db_do(s, "DELETE FROM origins WHERE id = ?", HES_DB(db_int(origin)), err);
	if (!rc && !sqlite3_changes(s->db))
		rc = hes_fail(err, -ENOENT, "%s: nothing came as number %" PRId64, s->path, origin);
	return hes_db_end(s, rc, err);
}
