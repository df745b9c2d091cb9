/*
 * forecasts.c - write and read forecasts of predictors for samples; see heshare/store.h.
 */
#include "store/forecasts.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "store/row_sql.h"

static int enter(struct hes_store *s, const struct hes_store_predictor *p, struct hes_err *err)
{
	int len = (int)strnlen(p->name, HES_STORE_ORIGIN_NAME - 1);
	sqlite3_stmt *q;
	int rc = hes_db_prepare(
		s,
		"INSERT INTO predictors (crc, rows, at_us, name) VALUES (?, ?, ?, ?) "
		"ON CONFLICT (crc) DO NOTHING",
		&q, err);

	if (!rc) {
		sqlite3_bind_int64(q, 1, p->crc);
		sqlite3_bind_int64(q, 2, p->rows);
		sqlite3_bind_int64(q, 3, p->at_us);
		sqlite3_bind_text(q, 4, p->name, len, SQLITE_STATIC);
		rc = hes_db_run(s, q, err);
	}
	sqlite3_finalize(q);
	return rc;
}

int forecasts_open(struct hes_store *s, const struct hes_store_predictor *p, bool fresh,
		   struct forecasts *out, struct hes_err *err)
{
	char sql[256];
	int rc = enter(s, p, err);

	snprintf(sql, sizeof(sql),
		 "INSERT INTO forecasts (predictor_id, sample_id, fresh, iteration_us, power_mw) "
		 "SELECT id, ?1, %d, ?2, ?3 FROM predictors WHERE crc = %u ON CONFLICT DO NOTHING",
		 fresh, p->crc);
	return rc ? rc : hes_db_prepare(s, sql, &out->insert, err);
}

int forecasts_add(struct hes_store *s, struct forecasts *f, int64_t sample_id,
		  const struct hes_forecast *said, struct hes_err *err)
{
	sqlite3_bind_int64(f->insert, 1, sample_id);
	sqlite3_bind_double(f->insert, 2, said->iteration_us);
	sqlite3_bind_int64(f->insert, 3, said->power_mw);
	return hes_db_run(s, f->insert, err);
}

void forecasts_close(struct forecasts *f)
{
	sqlite3_finalize(f->insert);
	*f = (struct forecasts){ 0 };
}

static int add_by_key(struct hes_store *s, struct forecasts *f, sqlite3_stmt *find,
		      const struct hes_sample *sample, const struct hes_forecast *said,
		      struct hes_err *err)
{
	unsigned char key[HES_ROW_KEY_BYTES];
	int64_t id = 0;
	int rc = hes_row_key(&hes_sample_table, sample, key, err);

	if (rc)
		return rc;
	sqlite3_bind_blob(find, 1, key, sizeof(key), SQLITE_STATIC);
	rc = hes_db_step(s, find, err);
	if (rc > 0)
		id = sqlite3_column_int64(find, 0);
	sqlite3_reset(find);
	return rc > 0 ? forecasts_add(s, f, id, said, err) : rc;
}

int hes_store_keep_validation(struct hes_store *s, const struct hes_store_predictor *p,
			      const struct hes_samples *held_back, const struct hes_forecast *said,
			      struct hes_err *err)
{
	struct forecasts f = { 0 };
	sqlite3_stmt *find = NULL;
	int rc = hes_db_begin(s, err);

	if (rc)
		return rc;
	rc = forecasts_open(s, p, false, &f, err);
	if (!rc)
		rc = hes_db_prepare(s, "SELECT id FROM samples WHERE key = ?1", &find, err);
	for (size_t i = 0; i < held_back->n && !rc; i++)
		if (said[i].iteration_us > 0)
			rc = add_by_key(s, &f, find, &held_back->v[i], &said[i], err);
	sqlite3_finalize(find);
	forecasts_close(&f);
	return hes_db_end(s, rc, err);
}

static int read_forecaster(struct hes_store *s, sqlite3_stmt *q, void *out, struct hes_err *err)
{
	struct hes_store_forecaster *f = out;

	(void)s;
	(void)err;
	f->crc = (uint32_t)sqlite3_column_int64(q, 0);
	f->rows = (uint32_t)sqlite3_column_int64(q, 1);
	f->at_us = sqlite3_column_int64(q, 2);
	hes_db_text(q, 3, f->name, sizeof(f->name));
	f->held_back = (uint32_t)sqlite3_column_int64(q, 4);
	f->fresh = (uint32_t)sqlite3_column_int64(q, 5);
	return 0;
}

int hes_store_forecasters(struct hes_store *s, struct hes_store_forecaster **out, size_t *out_n,
			  struct hes_err *err)
{
	sqlite3_stmt *q;
	void *v;
	int rc = hes_db_prepare(
		s,
		"SELECT p.crc, p.rows, p.at_us, p.name, sum(NOT f.fresh), sum(f.fresh),"
		" max(CASE WHEN f.fresh THEN f.sample_id END) AS latest "
		"FROM predictors p JOIN forecasts f ON f.predictor_id = p.id "
		"GROUP BY p.id ORDER BY latest DESC NULLS LAST, p.at_us DESC, p.id DESC",
		&q, err);

	if (!rc)
		rc = hes_db_collect(s, q, sizeof(**out), read_forecaster, &v, out_n, err);
	if (!rc)
		*out = v;
	return rc;
}

static int read_miss(struct hes_store *s, sqlite3_stmt *q, void *out, struct hes_err *err)
{
	struct hes_store_miss *m = out;
	double time = sqlite3_column_double(q, 2), power = sqlite3_column_double(q, 3);

	if (!(time > 0) || !(power > 0))
		return hes_fail(
			err, -EBADMSG,
			"%s: damaged: a sample without time or power; put a copy in its place",
			s->path);
	hes_db_text(q, 0, m->gpu_type, sizeof(m->gpu_type));
	m->fresh = sqlite3_column_int(q, 1);
	m->time = fabs(time - sqlite3_column_double(q, 4)) / time;
	m->power = fabs(power - sqlite3_column_double(q, 5)) / power;
	return 0;
}

int hes_store_misses(struct hes_store *s, uint32_t crc, bool with_modelled,
		     struct hes_store_miss **out, size_t *out_n, struct hes_err *err)
{
	sqlite3_stmt *q;
	size_t n = 0;
	void *v = NULL;
	int rc = hes_db_prepare(
		s,
		"SELECT s.gpu_type, f.fresh, s.iteration_us, s.power_mw, f.iteration_us, "
		"f.power_mw "
		"FROM predictors p JOIN forecasts f ON f.predictor_id = p.id "
		"JOIN samples s ON s.id = f.sample_id JOIN origins o ON o.id = s.origin_id "
		"WHERE p.crc = ?1 AND (?2 OR NOT f.fresh OR o.source <> 'modelled') "
		"ORDER BY f.fresh, o.at_us DESC, s.id DESC",
		&q, err);

	if (rc)
		return rc;
	sqlite3_bind_int64(q, 1, crc);
	sqlite3_bind_int(q, 2, with_modelled);
	rc = hes_db_collect(s, q, sizeof(**out), read_miss, &v, &n, err);
	if (!rc && !n)
		return hes_fail(err, -ENOENT, "%s: nothing that predictor %08x predicted%s",
				s->path, crc, with_modelled ? "" : " of measured or imported rows");
	if (!rc) {
		*out = v;
		*out_n = n;
	}
	return rc;
}
