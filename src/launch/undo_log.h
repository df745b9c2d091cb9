/*
 * undo_log.h - undo entries as lines of text, and the list of them.
 */
#ifndef HES_LAUNCH_UNDO_LOG_H
#define HES_LAUNCH_UNDO_LOG_H

#include <stddef.h>

#include "launch/guard.h"

#define HES_UNDO_LINE_MAX 1600

/** Undo entries, each once, in the order in which they were registered. All zero: empty. */
struct hes_undo_log {
	struct hes_undo *v;
	size_t n, room;
};

/** @return 0; -EINVAL a name with a line break or an empty one; -ENAMETOOLONG */
int hes_undo_format(const struct hes_undo *d, char out[HES_UNDO_LINE_MAX], struct hes_err *err);
/** @return 0; -EINVAL not an undo entry */
int hes_undo_parse(const char *line, struct hes_undo *out, struct hes_err *err);

/** @return the index of the entry; -1: none */
long hes_undo_log_find(const struct hes_undo_log *l, const struct hes_undo *d);
/** Harmless if the entry is there. @return 0; -ENOMEM */
int hes_undo_log_add(struct hes_undo_log *l, const struct hes_undo *d, struct hes_err *err);
void hes_undo_log_remove(struct hes_undo_log *l, size_t i);
void hes_undo_log_free(struct hes_undo_log *l);

/** The undo log of @g. */
const struct hes_undo_log *hes_guard_log(const struct hes_guard *g);

#endif
