/*
 * forecasts.h - write forecasts of predictors for samples, within a transaction of the caller.
 * Private to src/store.
 */
#ifndef HES_STORE_FORECASTS_H
#define HES_STORE_FORECASTS_H

#include "store/db.h"

/* Statement that adds forecasts of one predictor; zeroed: none. */
struct forecasts {
	sqlite3_stmt *insert;
};

/** Enter the predictor unless it is known, and get ready for its forecasts. */
int forecasts_open(struct hes_store *s, const struct hes_store_predictor *p, bool fresh,
		   struct forecasts *out, struct hes_err *err);
/** One that is there is kept. */
int forecasts_add(struct hes_store *s, struct forecasts *f, int64_t sample_id,
		  const struct hes_forecast *said, struct hes_err *err);
void forecasts_close(struct forecasts *f);

#endif
