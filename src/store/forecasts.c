/*
 * forecasts.c - write and read forecasts of predictors for samples; see heshare/store.h.
 */
#include "store/forecasts.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/row_sql.h"

int forecasts_open(struct hes_store *s, const struct hes_store_predictor *p, bool fresh,
		   struct forecasts *out, struct hes_err *err)
{
	char sql[256];
	int rc = hes_db_do(s,
			   "INSERT INTO predictors (crc, rows, at_us, name) VALUES (?, ?, ?, ?) "
			   "ON CONFLICT (crc) DO NOTHING",
			   HES_DB(db_int(p->crc), db_int(p->rows), db_int(p->at_us),
				  db_cut(p->name, HES_STORE_ORIGIN_NAME - 1)),
			   err);

	snprintf(sql, sizeof(sql),
		 "INSERT INTO forecasts (predictor_id, sample_id, fresh, iteration_us, power_mw) "
		 "SELECT id, ?1, %d, ?2, ?3 FROM predictors WHERE crc = %u ON CONFLICT DO NOTHING",
		 fresh, p->crc);
	return rc ? rc : hes_db_prepare(s, sql, &out->insert, err);
}

int forecasts_add(struct hes_store *s, struct forecasts *f, int64_t sample_id,
		  const struct hes_forecast *said, struct hes_err *err)
{
	hes_db_bind(f->insert,
		    HES_DB(db_int(sample_id), db_real(said->iteration_us), db_int(said->power_mw)));
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
	hes_db_bind(find, HES_DB(db_bytes(key, sizeof(key))));
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

static const struct hes_db_rows forecaster_rows = {
	(const struct hes_db_field[]){
		DB_INT("p.crc", struct hes_store_forecaster, crc),
		DB_INT("p.rows", struct hes_store_forecaster, rows),
		DB_INT("p.at_us", struct hes_store_forecaster, at_us),
		DB_TEXT("p.name", struct hes_store_forecaster, name),
		DB_INT("sum(NOT f.fresh)", struct hes_store_forecaster, held_back),
		DB_INT("sum(f.fresh)", struct hes_store_forecaster, fresh),
		DB_FIELDS_END,
	},
	sizeof(struct hes_store_forecaster),
	NULL,
};

int hes_store_forecasters(struct hes_store *s, struct hes_store_forecaster **out, size_t *out_n,
			  struct hes_err *err)
{
	return hes_db_select(
		s, &forecaster_rows,
		"predictors p JOIN forecasts f ON f.predictor_id = p.id GROUP BY p.id "
		"ORDER BY max(CASE WHEN f.fresh THEN f.sample_id END) DESC NULLS LAST, "
		"p.at_us DESC, p.id DESC",
		NULL, out, out_n, err);
}

#define MISS(value) "abs(s." value " - f." value ") * 1.0 / nullif(max(s." value ", 0), 0)"

static int check_miss(const struct hes_store *s, const void *row, struct hes_err *err)
{
	const struct hes_store_miss *m = row;

	return isnan(m->time) || isnan(m->power)
		       ? hes_fail(err, -EBADMSG,
				  "%s: damaged: a sample without time or power; put a copy in its "
				  "place",
				  s->path)
		       : 0;
}

static const struct hes_db_rows miss_rows = {
	(const struct hes_db_field[]){
		DB_TEXT("s.gpu_type", struct hes_store_miss, gpu_type),
		DB_BOOL("f.fresh", struct hes_store_miss, fresh),
		DB_REAL(MISS("iteration_us"), struct hes_store_miss, time),
		DB_REAL(MISS("power_mw"), struct hes_store_miss, power),
		DB_FIELDS_END,
	},
	sizeof(struct hes_store_miss),
	check_miss,
};

int hes_store_misses(struct hes_store *s, uint32_t crc, bool with_modelled,
		     struct hes_store_miss **out, size_t *out_n, struct hes_err *err)
{
	struct hes_store_miss *v;
	size_t n = 0;
	int rc = hes_db_select(
		s, &miss_rows,
		"predictors p JOIN forecasts f ON f.predictor_id = p.id "
		"JOIN samples s ON s.id = f.sample_id JOIN origins o ON o.id = s.origin_id "
		"WHERE p.crc = ?1 AND (?2 OR NOT f.fresh OR o.source <> 'modelled') "
		"ORDER BY f.fresh, o.at_us DESC, s.id DESC",
		HES_DB(db_int(crc), db_int(with_modelled)), &v, &n, err);

	if (!rc && !n)
		return hes_fail(err, -ENOENT, "%s: nothing that predictor %08x predicted%s",
				s->path, crc, with_modelled ? "" : " of measured or imported rows");
	if (!rc) {
		*out = v;
		*out_n = n;
	}
	return rc;
}
