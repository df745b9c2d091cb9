/*
 * known_store.h - find and open the store.
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

#endif
