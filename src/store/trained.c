/*
 * trained.c - predictors that were trained for plans, kept for the next ones; see heshare/store.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "store/db.h"

#define MOST_BYTES (1 << 20) /* of a row: hes_db_limit() */

int hes_store_mark(struct hes_store *s, uint64_t *out, struct hes_err *err)
{
	uint64_t h = HES_HASH_START;
	sqlite3_stmt *q;
	int rc = hes_db_prepare(s,
				"SELECT r.key FROM samples r JOIN origins o ON o.id = r.origin_id "
				"WHERE o.source <> 'modelled' ORDER BY r.id",
				&q, err);

	if (rc)
		return rc;
	while ((rc = hes_db_step(s, q, err)) > 0)
		h = hes_hash_bytes(h, sqlite3_column_blob(q, 0),
				   (size_t)sqlite3_column_bytes(q, 0));
	sqlite3_finalize(q);
	if (!rc)
		*out = h;
	return rc;
}

int hes_store_trained(struct hes_store *s, uint64_t key, char **out, size_t *n, struct hes_err *err)
{
	sqlite3_stmt *q;
	char *bytes = NULL;
	int rc = hes_db_prepare(s, "SELECT model FROM trained WHERE key = ?1", &q, err), len = 0;

	if (rc)
		return rc;
	hes_db_bind(q, HES_DB(db_uint(key)));
	rc = hes_db_step(s, q, err);
	if (rc > 0) {
		len = sqlite3_column_bytes(q, 0);
		bytes = malloc((size_t)len + 1);
		if (bytes && len)
			memcpy(bytes, sqlite3_column_blob(q, 0), (size_t)len);
		rc = bytes ? 0 : hes_fail(err, -ENOMEM, "out of memory for a predictor");
	} else if (!rc) {
		rc = hes_fail(err, -ENOENT, "%s: no such predictor", s->path);
	}
	sqlite3_finalize(q);
	if (rc)
		return rc;
	*out = bytes;
	*n = (size_t)len;
	return 0;
}

int hes_store_keep_trained(struct hes_store *s, uint64_t key, int64_t at_us, const char *bytes,
			   size_t n, struct hes_err *err)
{
	int rc = n < MOST_BYTES - 64 ? hes_db_begin(s, err)
				     : hes_fail(err, -E2BIG, "a predictor of %zu bytes", n);

	if (rc)
		return rc;
	rc = hes_db_do(s, "INSERT OR REPLACE INTO trained (key, at_us, model) VALUES (?, ?, ?)",
		       HES_DB(db_uint(key), db_int(at_us), db_bytes(bytes, n)), err);
	if (!rc)
		rc = hes_db_exec(s,
				 "DELETE FROM trained WHERE key NOT IN (SELECT key FROM trained "
				 "ORDER BY at_us DESC, key LIMIT 8)",
				 err);
	return hes_db_end(s, rc, err);
}
