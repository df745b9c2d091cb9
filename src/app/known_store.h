/*
 * known_store.h - find and open the store, and make forecasts for it.
 */
#ifndef HES_APP_KNOWN_STORE_H
#define HES_APP_KNOWN_STORE_H

#include "app/app.h"
#include "heshare/predict.h"
#include "heshare/store.h"

/** Open the store at @path; NULL: HESHARE_STORE, or heshare/store.db below
 * XDG_DATA_HOME or ~/.local/share; its folder is made for HES_STORE_WRITE. */
int app_store_open(const struct app *app, const char *path, enum hes_store_mode mode, int wait_ms,
		   struct hes_store **out, struct hes_err *err);

/**
 * Whether what is in a store may make a process of this user start programs: no user but root and
 * this user can write or replace it, make the files that SQLite has next to it, or replace its
 * folder.
 * @param user  for root: the user as whom its jobs run; NULL: root
 * @return 0; -EPERM others can; -errno
 */
int app_store_check_trust(const struct hes_store *s, const char *user, struct hes_err *err);

/** The predictor @p, with its file @path, as the store describes it; @out keeps @path. */
int app_store_predictor(const char *path, const struct hes_predictor *p,
			struct hes_store_predictor *out, struct hes_err *err);

/** Forecasts of @p for each sample, except those of GPU types that it does not know. free() @out.
 */
int app_forecasts(const struct hes_predictor *p, const struct hes_catalogue *c,
		  const struct hes_samples *s, struct hes_forecast **out, struct hes_err *err);

#endif
