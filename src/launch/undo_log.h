/*
 * undo_log.h - what a guard has to undo, as a line of text and as a list.
 */
#ifndef HES_LAUNCH_UNDO_LOG_H
#define HES_LAUNCH_UNDO_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include "launch/guard.h"

#define HES_UNDO_LINE_MAX 1600

/** Duties, each once, in the order they came. Zero is empty. */
struct hes_undo_log {
	struct hes_undo *d;
	size_t           n, room;
};

/** @return 0; -EINVAL a name with a line break or an empty one; -ENAMETOOLONG */
int hes_undo_format(const struct hes_undo *d, char out[HES_UNDO_LINE_MAX], struct hes_err *err);
/** @return 0; -EINVAL not a duty */
int hes_undo_parse(const char *line, struct hes_undo *out, struct hes_err *err);

/** @return its index, -1: it is not there */
long hes_undo_log_find(const struct hes_undo_log *l, const struct hes_undo *d);
/** What is there stays as it is: the first power limit is the one to set back. @return 0; -ENOMEM */
int  hes_undo_log_add(struct hes_undo_log *l, const struct hes_undo *d, struct hes_err *err);
void hes_undo_log_remove(struct hes_undo_log *l, size_t i);
void hes_undo_log_free(struct hes_undo_log *l);

/** What is on the list of @g now. */
const struct hes_undo_log *hes_guard_log(const struct hes_guard *g);

#endif
