/*
 * twins.c - the same sample with and without the names of its neighbours; see twins.h.
 */
#include "store/twins.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Every column is the same but the names, which the one has. */
static void find_sql(char *sql, size_t size)
{
	const struct hes_row_table *t = &hes_sample_table;
	size_t at = (size_t)snprintf(sql, size, "SELECT key FROM %s WHERE", t->what);

	for (size_t i = 0; i < t->n_columns && at < size; i++) {
		bool names = t->columns[i].kind == HES_ROW_LINE;

		at += (size_t)snprintf(sql + at, size - at, names ? "%s (%s = '') = (?%zu <> '')" : "%s %s = ?%zu",
				       i ? " AND" : "", t->columns[i].name, i + 1);
	}
}

int twins_open(struct hes_store *s, struct twins *out, struct hes_err *err)
{
	char sql[2 * HES_ROW_SQL_MAX];
	int rc;

	*out = (struct twins){ 0 };
	find_sql(sql, sizeof(sql));
	rc = hes_db_prepare(s, sql, &out->find, err);
	return rc ? rc : hes_db_prepare(s, "UPDATE samples SET key = ?1, beside = ?2 WHERE key = ?3 "
					"AND NOT EXISTS (SELECT 1 FROM samples WHERE key = ?1)", &out->name, err);
}

void twins_close(struct twins *t)
{
	sqlite3_finalize(t->find);
	sqlite3_finalize(t->name);
}

/* Who wrote the file may have dropped the rule that keys are of one length. @return 1; -EBADMSG */
static int copy_key(struct hes_store *s, sqlite3_stmt *q, unsigned char key[HES_ROW_KEY_BYTES], struct hes_err *err)
{
	const void *blob = sqlite3_column_blob(q, 0);

	if (!blob || sqlite3_column_bytes(q, 0) != HES_ROW_KEY_BYTES)
		return hes_fail(err, -EBADMSG, "%s: damaged: a sample without its key; put a copy in its place", s->path);
	memcpy(key, blob, HES_ROW_KEY_BYTES);
	return 1;
}

int twins_find(struct hes_store *s, struct twins *t, const struct hes_sample *sample,
	       unsigned char key[HES_ROW_KEY_BYTES], struct hes_err *err)
{
	int rc;

	if (!sample->co_runners.residents)
		return 0;
	hes_row_bind(t->find, 1, &hes_sample_table, sample);
	rc = hes_db_step(s, t->find, err);
	if (rc > 0)
		rc = copy_key(s, t->find, key, err);
	sqlite3_reset(t->find);
	return rc;
}

int twins_name(struct hes_store *s, struct twins *t, const struct hes_sample *sample,
	       const unsigned char key[HES_ROW_KEY_BYTES], struct hes_err *err)
{
	unsigned char named[HES_ROW_KEY_BYTES];
	int rc = hes_row_key(&hes_sample_table, sample, named, err);

	if (rc)
		return rc;
	sqlite3_bind_blob(t->name, 1, named, sizeof(named), SQLITE_STATIC);
	sqlite3_bind_text(t->name, 2, sample->co_runner_names, -1, SQLITE_STATIC);
	sqlite3_bind_blob(t->name, 3, key, HES_ROW_KEY_BYTES, SQLITE_STATIC);
	rc = hes_db_run(s, t->name, err);
	return rc ? rc : sqlite3_changes(s->db) > 0;
}
