/*
 * journal.h - the open journal. Private to src/store.
 */
#ifndef HES_STORE_JOURNAL_H
#define HES_STORE_JOURNAL_H

#include "heshare/journal.h"
#include "store/db.h"

struct hes_journal {
	struct hes_store *store;
	bool light; /* the transaction does not wait for the disk */
};

#endif
