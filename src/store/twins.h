/*
 * twins.h - inside of src/store: the same sample with and without the names of its neighbours.
 *
 * Files written before samples named neighbours hold the same measurements without names. A sample is
 * in the store once, and named where any file named it.
 */
#ifndef HES_STORE_TWINS_H
#define HES_STORE_TWINS_H

#include "store/row_sql.h"

struct twins {
	sqlite3_stmt *find; /* the values of a sample: key of its twin */
	sqlite3_stmt *name; /* ?1 the new key, ?2 names, ?3 the old key */
};

/** @out is the caller's to close, also on failure. */
int  twins_open(struct hes_store *s, struct twins *out, struct hes_err *err);
void twins_close(struct twins *t);

/**
 * The row that differs from @sample in one thing: the one names neighbours, the other does not.
 * @return 1 and its key; 0 there is none; negative errno
 */
int twins_find(struct hes_store *s, struct twins *t, const struct hes_sample *sample,
	       unsigned char key[HES_ROW_KEY_BYTES], struct hes_err *err);

/** Let the row with @key name the neighbours that @sample names, unless a row does. @return 1 done; 0 a row does; negative errno */
int twins_name(struct hes_store *s, struct twins *t, const struct hes_sample *sample,
	       const unsigned char key[HES_ROW_KEY_BYTES], struct hes_err *err);

#endif
